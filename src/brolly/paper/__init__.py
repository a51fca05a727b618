"""The paper, executable: its examples, tables, figures and claims.

`run_paper` computes all of it, as ``brolly paper`` does; `ExampleModel` is the data of its experiments, of which every
measure is known exactly; `all_claims` lists its statements, each with a check that can be run alone.
"""

from brolly.paper.claims import Claim, Finding, all_claims
from brolly.paper.constructions import Law
from brolly.paper.model import ExampleModel, LogisticPredictor, fit_logistic
from brolly.paper.population import PopulationValue, population_values
from brolly.paper.results import PartResult, Table
from brolly.paper.run import PARTS, run_paper
from brolly.paper.search import worst_law

__all__ = [
    "PARTS",
    "Claim",
    "ExampleModel",
    "Finding",
    "Law",
    "LogisticPredictor",
    "PartResult",
    "PopulationValue",
    "Table",
    "all_claims",
    "fit_logistic",
    "population_values",
    "run_paper",
    "worst_law",
]
