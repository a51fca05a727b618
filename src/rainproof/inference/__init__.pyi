from rainproof.inference.bands import null_band as null_band
from rainproof.inference.calibration_tests import calibration_test as calibration_test
from rainproof.inference.classes import class_guarantee as class_guarantee
from rainproof.inference.comparisons import compare as compare
from rainproof.inference.guarantees import guarantee as guarantee
from rainproof.inference.intervals import confidence_interval as confidence_interval
from rainproof.inference.monitoring import monitor as monitor
from rainproof.inference.planning import sample_size as sample_size
from rainproof.inference.proofs import loss_at_least as loss_at_least
from rainproof.inference.segments import segment_tests as segment_tests
from rainproof.inference.sequential import Bet as Bet
from rainproof.inference.sequential import SequentialTest as SequentialTest
from rainproof.inference.switches import switch_guarantee as switch_guarantee
from rainproof.inference.targets import find_threshold as find_threshold

__all__: list[str]
