"""rainproof for scikit-learn: scorers, a recalibrated classifier, and displays.

``import rainproof.sklearn`` needs scikit-learn (``pip install scikit-learn``); `import rainproof` does not.
"""

from rainproof.errors import MissingExtraError

try:
    import sklearn as _sklearn  # noqa: F401
except ImportError as error:
    raise MissingExtraError("rainproof.sklearn", "scikit-learn", "scikit-learn") from error

from rainproof.sklearn.classifier import RecalibratedClassifier
from rainproof.sklearn.displays import DecisionCurveDisplay, RegretDisplay, ReliabilityDisplay
from rainproof.sklearn.scorers import (
    calibration_scorer,
    expected_cost_scorer,
    net_benefit_scorer,
    worst_task_scorer,
)

__all__ = [
    "DecisionCurveDisplay",
    "RecalibratedClassifier",
    "RegretDisplay",
    "ReliabilityDisplay",
    "calibration_scorer",
    "expected_cost_scorer",
    "net_benefit_scorer",
    "worst_task_scorer",
]
