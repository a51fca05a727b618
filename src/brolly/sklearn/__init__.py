"""brolly for scikit-learn: scorers, a recalibrated classifier, and displays.

``import brolly.sklearn`` needs scikit-learn (``pip install scikit-learn``); `import brolly` does not.
"""

from brolly.errors import MissingExtraError

try:
    import sklearn as _sklearn  # noqa: F401
except ImportError as error:
    raise MissingExtraError("brolly.sklearn", "scikit-learn", "scikit-learn") from error

from brolly.sklearn.classifier import RecalibratedClassifier
from brolly.sklearn.displays import DecisionCurveDisplay, RegretDisplay, ReliabilityDisplay
from brolly.sklearn.scorers import (
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
