"""Reproduction of the paper: its tables, figures and numbered statements.

`run_paper` computes all of them, as ``rainproof paper`` does. `ExampleModel` is the model of its experiments, for which
the population value of every measure is known. `all_claims` lists its statements, each with a check that can be run
alone.
"""

from rainproof.paper.claims import Claim, Finding, all_claims
from rainproof.paper.constructions import Distribution
from rainproof.paper.model import ExampleModel, LogisticPredictor, fit_logistic
from rainproof.paper.population import PopulationValue, population_values
from rainproof.paper.results import PartResult, Table
from rainproof.paper.run import PARTS, run_paper
from rainproof.paper.search import worst_distribution

__all__ = [
    "PARTS",
    "Claim",
    "Distribution",
    "ExampleModel",
    "Finding",
    "LogisticPredictor",
    "PartResult",
    "PopulationValue",
    "Table",
    "all_claims",
    "fit_logistic",
    "population_values",
    "run_paper",
    "worst_distribution",
]
