from rainproof.inference.bands import null_band as null_band
from rainproof.inference.bets import Bet as Bet
from rainproof.inference.class_bounds import class_guarantee as class_guarantee
from rainproof.inference.proven_losses import loss_at_least as loss_at_least
from rainproof.inference.segments import segment_tests as segment_tests

__all__: list[str]
