from rainproof.decisions.capacity import decide as decide
from rainproof.decisions.case_tasks import CaseTask as CaseTask
from rainproof.decisions.class_tasks import ClassTask as ClassTask
from rainproof.decisions.tasks import FiniteTask as FiniteTask
from rainproof.decisions.tasks import QuadraticTask as QuadraticTask
from rainproof.decisions.values import risk_coverage as risk_coverage

__all__: list[str]
