from rainproof.decisions.classes import ClassTask as ClassTask
from rainproof.decisions.policies import RoundingPolicy as RoundingPolicy
from rainproof.decisions.policies import choose_grid as choose_grid
from rainproof.decisions.policies import decide as decide
from rainproof.decisions.swaps import regret_curve as regret_curve
from rainproof.decisions.swaps import swap_regret as swap_regret
from rainproof.decisions.tasks import CaseTask as CaseTask
from rainproof.decisions.tasks import DecisionTask as DecisionTask
from rainproof.decisions.tasks import FiniteTask as FiniteTask
from rainproof.decisions.tasks import QuadraticTask as QuadraticTask
from rainproof.decisions.values import forecast_value as forecast_value
from rainproof.decisions.values import risk_coverage as risk_coverage

__all__: list[str]
