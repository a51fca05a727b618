# The public names, once: type checkers read them here, and __init__.py loads them from here when
# they are asked for.
from rainproof import clinical as clinical
from rainproof import decisions as decisions
from rainproof import inference as inference
from rainproof import io as io
from rainproof import measures as measures
from rainproof import plots as plots
from rainproof import recalibration as recalibration
from rainproof import results as results
from rainproof.core.accumulator import Accumulator as Accumulator
from rainproof.core.documents import load as load
from rainproof.core.sample import Sample as Sample
from rainproof.decisions.grid_choice import choose_grid as choose_grid
from rainproof.decisions.policies import RoundingPolicy as RoundingPolicy
from rainproof.decisions.regret_curves import regret_curve as regret_curve
from rainproof.decisions.swap_regrets import swap_regret as swap_regret
from rainproof.decisions.tasks import DecisionTask as DecisionTask
from rainproof.decisions.values import forecast_value as forecast_value
from rainproof.errors import ClassesWarning as ClassesWarning
from rainproof.errors import ExtrapolationWarning as ExtrapolationWarning
from rainproof.errors import FewRowsWarning as FewRowsWarning
from rainproof.errors import InputError as InputError
from rainproof.errors import MissingExtraError as MissingExtraError
from rainproof.errors import MissingOutcomesWarning as MissingOutcomesWarning
from rainproof.errors import OneClassWarning as OneClassWarning
from rainproof.errors import RainproofError as RainproofError
from rainproof.errors import RainproofWarning as RainproofWarning
from rainproof.errors import ResolutionWarning as ResolutionWarning
from rainproof.inference.calibration_tests import calibration_test as calibration_test
from rainproof.inference.comparisons import compare as compare
from rainproof.inference.guarantees import guarantee as guarantee
from rainproof.inference.intervals import confidence_interval as confidence_interval
from rainproof.inference.monitoring import monitor as monitor
from rainproof.inference.performance import net_benefit as net_benefit
from rainproof.inference.planning import sample_size as sample_size
from rainproof.inference.sequential import SequentialTest as SequentialTest
from rainproof.inference.switches import switch_guarantee as switch_guarantee
from rainproof.inference.targets import find_threshold as find_threshold
from rainproof.io.scanning import scan as scan
from rainproof.measures.catalogue import list_measures as list_measures
from rainproof.measures.catalogue import measure_all as measure_all
from rainproof.measures.scdl import soft_binned_cdl as soft_binned_cdl
from rainproof.recalibration.online import OnlineRecalibrator as OnlineRecalibrator
from rainproof.recalibration.recalibrator import Recalibrator as Recalibrator
from rainproof.verdict.assessing import assess as assess
from rainproof.verdict.clinical import clinical_performance as clinical_performance
from rainproof.verdict.rankings import assess_many as assess_many

__version__: str
__all__: list[str]
