"""Reproduction of the paper: its tables, figures and numbered statements.

`run_paper` computes all of them, as ``python -m paper`` does. `ExampleModel` is the model of its
experiments, for which the population value of every measure is known. `all_claims` lists its
statements, each with a check that can be run alone.
"""

from paper.claims import Claim, Finding, all_claims
from paper.constructions import Distribution, worst_distribution
from paper.model import (
    ExampleModel,
    LogisticPredictor,
    PopulationValue,
    fit_logistic,
    population_values,
)
from paper.results import PartResult, Table
from paper.run import PARTS, run_paper

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
