from rainproof.decisions.capacity import decide as decide
from rainproof.decisions.case_tasks import CaseTask as CaseTask
from rainproof.decisions.class_tasks import ClassTask as ClassTask
from rainproof.decisions.grid_choice import choose_grid as choose_grid
from rainproof.decisions.policies import RoundingPolicy as RoundingPolicy
from rainproof.decisions.regret_curves import regret_curve as regret_curve
from rainproof.decisions.swap_regrets import swap_regret as swap_regret
from rainproof.decisions.tasks import DecisionTask as DecisionTask
from rainproof.decisions.tasks import FiniteTask as FiniteTask
from rainproof.decisions.tasks import QuadraticTask as QuadraticTask
from rainproof.decisions.values import forecast_value as forecast_value
from rainproof.decisions.values import risk_coverage as risk_coverage

__all__: list[str]
