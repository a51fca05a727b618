"""What is at stake, as options say it."""

from __future__ import annotations

import argparse

from brolly.decisions.task import DecisionTask
from brolly.errors import InputError


def add_costs(parser: argparse.ArgumentParser) -> None:
    """What is at stake, by two costs."""
    parser.add_argument("--cost-fp", metavar="COST", type=float, help="what acting costs where the event stays out")
    parser.add_argument("--cost-fn", metavar="COST", type=float, help="what waiting costs where the event happens")


def task_of(arguments: argparse.Namespace) -> DecisionTask | None:
    """The decision that the costs describe, or None where none are given."""
    false_positive, false_negative = arguments.cost_fp, arguments.cost_fn
    if false_positive is None and false_negative is None:
        return None
    if false_positive is None or false_negative is None:
        raise InputError("--cost-fp and --cost-fn belong together: only their ratio says when to act")
    return DecisionTask.from_costs(false_positive=false_positive, false_negative=false_negative)
