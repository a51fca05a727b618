from rainproof.inference.bands import null_band as null_band
from rainproof.inference.classes import class_guarantee as class_guarantee
from rainproof.inference.proofs import loss_at_least as loss_at_least
from rainproof.inference.segments import segment_tests as segment_tests
from rainproof.inference.sequential import Bet as Bet

__all__: list[str]
