"""Options that several commands share: costs of a decision, and what an assessment is asked."""

from __future__ import annotations

import argparse
import math

from brolly.decisions.task import DecisionTask
from brolly.errors import InputError


def add_costs(parser: argparse.ArgumentParser) -> None:
    """Add the costs of a decision between two actions."""
    parser.add_argument("--cost-fp", metavar="COST", type=cost, help="cost of a false alarm: acting without the event")
    parser.add_argument("--cost-fn", metavar="COST", type=cost, help="cost of a miss: not acting before the event")


def task_of(arguments: argparse.Namespace) -> DecisionTask | None:
    """The decision that the costs describe, or None where none are given."""
    false_positive, false_negative = arguments.cost_fp, arguments.cost_fn
    if false_positive is None and false_negative is None:
        return None
    if false_positive is None or false_negative is None:
        raise InputError("--cost-fp and --cost-fn belong together: only their ratio says when to act")
    return DecisionTask.from_costs(false_positive=false_positive, false_negative=false_negative)


def add_questions(parser: argparse.ArgumentParser) -> None:
    """Add what an assessment is asked: segments, costs, confidence, tolerance, seed."""
    parser.add_argument("--by", metavar="COL", nargs="+", help="also assess each segment: each value of these columns")
    add_costs(parser)
    parser.add_argument(
        "--confidence-level", metavar="C", type=share, default=0.95, help="of every bound and interval (default: 0.95)"
    )
    parser.add_argument(
        "--tolerance",
        metavar="T",
        type=share,
        default=0.05,
        help="share of the stakes to lose at most (default: 0.05)",
    )
    parser.add_argument("--seed", metavar="N", type=int, default=0, help="seed of the resamples (default: 0)")


def cost(text: str) -> float:
    """Read a cost; what is wrong is said with the option's name, not the library's."""
    return _number(text, 0.0, math.inf, "a positive, finite number")


def share(text: str) -> float:
    """Read a probability that is neither 0 nor 1."""
    return _number(text, 0.0, 1.0, "a number above 0 and below 1")


def _number(text: str, low: float, high: float, rule: str) -> float:
    try:
        number = float(text)
    except ValueError:
        number = math.nan
    if not low < number < high:
        raise argparse.ArgumentTypeError(f"must be {rule}; it is {text!r}")
    return number
