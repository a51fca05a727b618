"""``brolly policy``: from what is at stake, and past predictions, to a policy that can be applied."""

from __future__ import annotations

import argparse
import math
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from brolly.assessment.text import wrapped
from brolly.cli.columns import add_columns, check_result, files_read, read
from brolly.cli.output import one_line, say
from brolly.cli.verdict import rows_read
from brolly.core.text import at_most
from brolly.decisions.grid import choose_grid
from brolly.decisions.policy import RoundingPolicy
from brolly.decisions.task import DecisionTask
from brolly.errors import InputError

if TYPE_CHECKING:
    Commands = argparse._SubParsersAction[Any]

_DESCRIPTION = """\
Make a policy: how to act on probabilities, so that nobody loses much by it.

State what is at stake, by two costs or by the probability from which to act.
The policy rounds probabilities to a grid before it acts; the grid is the one
that would have lost least on the past predictions and outcomes in a file.
"""
_EPILOG = """\
examples:
  brolly policy past.csv --prob probability --outcome rained \\
      --cost-fp 35 --cost-fn 65 -o policy.json
  brolly policy loans.parquet --prob p_default --outcome status \\
      --pos-label default --threshold 0.1 --actions lend refuse -o policy.json

'brolly decide' applies the policy. Tasks of more than two actions are made in
Python: brolly.RoundingPolicy(task, sample=...).save("policy.json").
Exit code: 0 if there is a policy, 2 if there is an error (one line says which).
"""


def add_command(commands: Commands) -> None:
    """Describe the command and its options."""
    parser = commands.add_parser(
        "policy",
        help="make a policy from what is at stake, for 'brolly decide' to apply",
        description=_DESCRIPTION,
        epilog=_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    parser.set_defaults(run=run)
    add_columns(parser)
    parser.add_argument("--cost-fp", metavar="COST", type=_cost, help="what acting costs where the event stays out")
    parser.add_argument("--cost-fn", metavar="COST", type=_cost, help="what waiting costs where the event happens")
    parser.add_argument(
        "--threshold", metavar="P", type=_probability, help="instead of costs: act from this probability on"
    )
    parser.add_argument(
        "--actions", metavar=("LOW", "HIGH"), nargs=2, default=["wait", "act"], help="names, for 'wait' and 'act'"
    )
    parser.add_argument("--seed", metavar="N", type=int, default=0, help="another seed rounds all rows anew")
    parser.add_argument("-o", "--output", metavar="FILE", type=Path, required=True, help="the policy to write, as JSON")
    parser.add_argument("--quiet", action="store_true", help="print neither words nor progress")


def _cost(text: str) -> float:
    """A cost as an option has it: what is wrong is said with the option's name, not the library's."""
    return _number(text, 0.0, math.inf, "a positive, finite number")


def _probability(text: str) -> float:
    return _number(text, 0.0, 1.0, "a number above 0 and below 1")


def _number(text: str, low: float, high: float, rule: str) -> float:
    try:
        number = float(text)
    except ValueError:
        number = math.nan
    if not low < number < high:
        raise argparse.ArgumentTypeError(f"must be {rule}; it is {text!r}")
    return number


def run(arguments: argparse.Namespace) -> int:
    """Read the file, choose the grid, and write the policy."""
    task = _task(arguments)
    policy = RoundingPolicy(task, 2, seed=arguments.seed)  # a bad seed is said before the file is read
    check_result(arguments)
    sample = read(arguments)
    grid = choose_grid(sample)
    policy = RoundingPolicy(task, grid.grid, seed=arguments.seed)
    policy.save(arguments.output)
    if not arguments.quiet:
        said = [
            rows_read(files_read(arguments), sample, arguments.weight),
            one_line(str(task)),
            f"Grid 1/{grid.grid}: on these rows nobody who acts on probabilities rounded to it, whatever the "
            f"decision and its costs, loses more than {at_most(grid.loss)} of what is at stake per case (best "
            "minus worst outcome), compared with the best change of actions in hindsight.",
            f"Policy written to {one_line(str(arguments.output))}",
        ]
        say(sys.stdout, "".join(f"{wrapped(text)}\n" for text in said))
    return 0


def _task(arguments: argparse.Namespace) -> DecisionTask:
    """The costs or the threshold, whichever was given."""
    costs = [arguments.cost_fp, arguments.cost_fn]
    if (arguments.threshold is None) == (costs == [None, None]) or (None in costs and arguments.threshold is None):
        raise InputError("say what is at stake: either --cost-fp and --cost-fn, or --threshold")
    if arguments.threshold is not None:
        return DecisionTask.threshold(arguments.threshold, actions=arguments.actions)
    return DecisionTask.from_costs(false_positive=costs[0], false_negative=costs[1], actions=arguments.actions)
