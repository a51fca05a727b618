"""brolly: what can anyone lose by acting on these predicted probabilities?

>>> import brolly
>>> y = [0, 0, 1, 0, 1, 1, 0, 1]
>>> p = [0.1, 0.2, 0.3, 0.4, 0.6, 0.7, 0.8, 0.9]
>>> brolly.soft_binned_cdl(y, p)
0.125
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from brolly.assessment.advice import PredictionSwap, ThresholdAdvice
    from brolly.assessment.assess import assess
    from brolly.assessment.assess_many import AssessmentSet, Pair, assess_many
    from brolly.assessment.components import DataSummary, Estimate, Histogram, RegretBand, Reliability, TaskResult
    from brolly.assessment.result import Assessment
    from brolly.assessment.segments import Segment, SegmentTable
    from brolly.assessment.verdict import Sentence, Verdict
    from brolly.core.sample.accumulator import Accumulator
    from brolly.core.sample.sample import Sample
    from brolly.core.sample.segments import Segments
    from brolly.decisions.curve import RegretProfile, regret_curve
    from brolly.decisions.finite_task import FiniteTask
    from brolly.decisions.grid import GridChoice, choose_grid
    from brolly.decisions.policy import RoundingPolicy, load_policy
    from brolly.decisions.quadratic_task import QuadraticTask
    from brolly.decisions.swap import Swap, SwapRegret, swap_regret
    from brolly.decisions.switch_curve import SwitchCurve
    from brolly.decisions.task import DecisionTask, ThresholdMixture
    from brolly.engines.databases import Table
    from brolly.engines.scan import scan
    from brolly.engines.sql import sql
    from brolly.engines.store import load_sample, load_samples, save_sample
    from brolly.errors import (
        BrollyError,
        BrollyWarning,
        FewRowsWarning,
        InputError,
        MissingExtraError,
        OneClassWarning,
        ResolutionWarning,
    )
    from brolly.inference.bands import NullBand, null_band
    from brolly.inference.calibration_test import CalibrationTest, calibration_test
    from brolly.inference.change_points import Change, find_changes
    from brolly.inference.comparison import Comparison, compare
    from brolly.inference.guarantee import Guarantee, guarantee
    from brolly.inference.intervals import ConfidenceInterval, confidence_interval
    from brolly.inference.loss_at_least import ActionChange, LossAtLeast, loss_at_least
    from brolly.inference.monitoring import MonitoringWindow, Timeline, monitor
    from brolly.inference.power import MinimumDetectable, minimum_detectable
    from brolly.inference.sample_size import SampleSize, sample_size
    from brolly.inference.segments import SegmentTests, segment_tests
    from brolly.inference.switching import SwitchGuarantee, switch_guarantee
    from brolly.measures.binned import binned_calibration_error
    from brolly.measures.catalogue import Catalogue, Measurements, list_measures, measure_all
    from brolly.measures.cutoff import cutoff_calibration_error
    from brolly.measures.decision_loss import calibration_decision_loss, u_calibration_error
    from brolly.measures.expected import expected_calibration_error
    from brolly.measures.interval import interval_calibration_error
    from brolly.measures.lower_distance import lower_distance_to_calibration
    from brolly.measures.measure import Measure
    from brolly.measures.scores import ScoreDecomposition, brier_score, log_score, score_decomposition
    from brolly.measures.smooth_calibration import smooth_calibration_error
    from brolly.measures.smooth_ece import smooth_ece
    from brolly.measures.soft_binned import SoftBinnedProfile, soft_binned_cdl, soft_binned_profile

__version__ = "0.1.0.dev0"

__all__ = [
    "Accumulator",
    "ActionChange",
    "Assessment",
    "AssessmentSet",
    "BrollyError",
    "BrollyWarning",
    "CalibrationTest",
    "Catalogue",
    "Change",
    "Comparison",
    "ConfidenceInterval",
    "DataSummary",
    "DecisionTask",
    "Estimate",
    "FewRowsWarning",
    "FiniteTask",
    "GridChoice",
    "Guarantee",
    "Histogram",
    "InputError",
    "LossAtLeast",
    "Measure",
    "Measurements",
    "MinimumDetectable",
    "MissingExtraError",
    "MonitoringWindow",
    "NullBand",
    "OneClassWarning",
    "Pair",
    "PredictionSwap",
    "QuadraticTask",
    "RegretBand",
    "RegretProfile",
    "Reliability",
    "ResolutionWarning",
    "RoundingPolicy",
    "Sample",
    "SampleSize",
    "ScoreDecomposition",
    "Segment",
    "SegmentTable",
    "SegmentTests",
    "Segments",
    "Sentence",
    "SoftBinnedProfile",
    "Swap",
    "SwapRegret",
    "SwitchCurve",
    "SwitchGuarantee",
    "Table",
    "TaskResult",
    "ThresholdAdvice",
    "ThresholdMixture",
    "Timeline",
    "Verdict",
    "assess",
    "assess_many",
    "binned_calibration_error",
    "brier_score",
    "calibration_decision_loss",
    "calibration_test",
    "choose_grid",
    "compare",
    "confidence_interval",
    "cutoff_calibration_error",
    "expected_calibration_error",
    "find_changes",
    "guarantee",
    "interval_calibration_error",
    "list_measures",
    "load_policy",
    "load_sample",
    "load_samples",
    "log_score",
    "loss_at_least",
    "lower_distance_to_calibration",
    "measure_all",
    "minimum_detectable",
    "monitor",
    "null_band",
    "regret_curve",
    "sample_size",
    "save_sample",
    "scan",
    "score_decomposition",
    "segment_tests",
    "smooth_calibration_error",
    "smooth_ece",
    "soft_binned_cdl",
    "soft_binned_profile",
    "sql",
    "swap_regret",
    "switch_guarantee",
    "u_calibration_error",
]

# All is loaded when it is first asked for. `import brolly` stays light, and the command is ready for Ctrl-C at once.
_PACKAGES = ("paper", "plots")
_INNER_PACKAGES = ("assessment", "core", "decisions", "engines", "inference", "measures", "report")
_NAMES: dict[str, tuple[str, ...]] = {
    "assessment.advice": ("PredictionSwap", "ThresholdAdvice"),
    "assessment.assess": ("assess",),
    "assessment.assess_many": ("AssessmentSet", "Pair", "assess_many"),
    "assessment.components": ("DataSummary", "Estimate", "Histogram", "RegretBand", "Reliability", "TaskResult"),
    "assessment.result": ("Assessment",),
    "assessment.segments": ("Segment", "SegmentTable"),
    "assessment.verdict": ("Sentence", "Verdict"),
    "core.sample.accumulator": ("Accumulator",),
    "core.sample.sample": ("Sample",),
    "core.sample.segments": ("Segments",),
    "decisions.curve": ("RegretProfile", "regret_curve"),
    "decisions.finite_task": ("FiniteTask",),
    "decisions.grid": ("GridChoice", "choose_grid"),
    "decisions.policy": ("RoundingPolicy", "load_policy"),
    "decisions.quadratic_task": ("QuadraticTask",),
    "decisions.swap": ("Swap", "SwapRegret", "swap_regret"),
    "decisions.switch_curve": ("SwitchCurve",),
    "decisions.task": ("DecisionTask", "ThresholdMixture"),
    "engines.databases": ("Table",),
    "engines.scan": ("scan",),
    "engines.sql": ("sql",),
    "engines.store": ("load_sample", "load_samples", "save_sample"),
    "errors": (
        "BrollyError",
        "BrollyWarning",
        "FewRowsWarning",
        "InputError",
        "MissingExtraError",
        "OneClassWarning",
        "ResolutionWarning",
    ),
    "inference.bands": ("NullBand", "null_band"),
    "inference.calibration_test": ("CalibrationTest", "calibration_test"),
    "inference.change_points": ("Change", "find_changes"),
    "inference.comparison": ("Comparison", "compare"),
    "inference.guarantee": ("Guarantee", "guarantee"),
    "inference.intervals": ("ConfidenceInterval", "confidence_interval"),
    "inference.loss_at_least": ("ActionChange", "LossAtLeast", "loss_at_least"),
    "inference.monitoring": ("MonitoringWindow", "Timeline", "monitor"),
    "inference.power": ("MinimumDetectable", "minimum_detectable"),
    "inference.sample_size": ("SampleSize", "sample_size"),
    "inference.segments": ("SegmentTests", "segment_tests"),
    "inference.switching": ("SwitchGuarantee", "switch_guarantee"),
    "measures.binned": ("binned_calibration_error",),
    "measures.catalogue": ("Catalogue", "Measurements", "list_measures", "measure_all"),
    "measures.cutoff": ("cutoff_calibration_error",),
    "measures.decision_loss": ("calibration_decision_loss", "u_calibration_error"),
    "measures.expected": ("expected_calibration_error",),
    "measures.interval": ("interval_calibration_error",),
    "measures.lower_distance": ("lower_distance_to_calibration",),
    "measures.measure": ("Measure",),
    "measures.scores": ("ScoreDecomposition", "brier_score", "log_score", "score_decomposition"),
    "measures.smooth_calibration": ("smooth_calibration_error",),
    "measures.smooth_ece": ("smooth_ece",),
    "measures.soft_binned": ("SoftBinnedProfile", "soft_binned_cdl", "soft_binned_profile"),
}
_MODULES = {name: f"brolly.{module}" for module, names in _NAMES.items() for name in names}


def __getattr__(name: str) -> Any:
    if name in _PACKAGES or name in _INNER_PACKAGES:
        return import_module(f"brolly.{name}")
    if name in _MODULES:
        value = globals()[name] = getattr(import_module(_MODULES[name]), name)
        return value
    raise AttributeError(f"module 'brolly' has no attribute {name!r}")


def __dir__() -> list[str]:
    return [*__all__, "__version__", *_PACKAGES]
