"""``brolly policy``: make a policy from costs and past predictions."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

from brolly.cli.options import (
    add_columns,
    add_costs,
    add_quiet,
    add_seed,
    check_result,
    files_read,
    new_command,
    probability,
    read,
    task_of,
)
from brolly.cli.output import one_line
from brolly.cli.results import rows_read, say_paragraphs, written
from brolly.core.text import at_most
from brolly.decisions.grid import choose_grid
from brolly.decisions.policy import RoundingPolicy
from brolly.decisions.task import DecisionTask
from brolly.errors import InputError

if TYPE_CHECKING:
    from brolly.cli.options import Commands

_DESCRIPTION = """\
Make a policy: how to act on probabilities with a small loss for every decision.

State the decision by two costs, or by the threshold from which to act. The policy
rounds probabilities to a grid before it acts: the grid with the smallest loss on
the past predictions and outcomes in files.
"""
_EPILOG = """\
examples:
  brolly policy past.csv --prob probability --outcome rained \\
      --cost-fp 35 --cost-fn 65 -o policy.json
  brolly policy loans.parquet --prob p_default --outcome status \\
      --pos-label default --threshold 0.1 --actions lend refuse -o policy.json

'brolly decide' applies the policy. For decisions with more than two actions use
Python: brolly.RoundingPolicy(task, sample=...).save("policy.json").
Exit code: 0 if there is a policy, 2 if there is an error (one line on stderr).
"""


def add_command(commands: Commands) -> None:
    """Add the command and its options."""
    summary = "make a policy from costs and past predictions, for 'brolly decide'"
    parser = new_command(commands, run, "policy", summary, _DESCRIPTION, _EPILOG)
    add_columns(parser)
    add_costs(parser)
    parser.add_argument(
        "--threshold", metavar="P", type=probability, help="instead of costs: act from this probability on"
    )
    parser.add_argument(
        "--actions",
        metavar=("LOW", "HIGH"),
        nargs=2,
        default=["wait", "act"],
        help="names of the two actions (default: wait act)",
    )
    add_seed(parser)
    parser.add_argument("-o", "--output", metavar="FILE", type=Path, required=True, help="the policy to write, as JSON")
    add_quiet(parser)


def run(arguments: argparse.Namespace) -> int:
    """Read the files, choose the grid, and write the policy."""
    task = _task(arguments)
    check_result(arguments)
    sample = read(arguments)
    choice = choose_grid(sample)
    RoundingPolicy(task, choice.grid, seed=arguments.seed).save(arguments.output)
    if not arguments.quiet:
        say_paragraphs(
            [
                rows_read(files_read(arguments), sample, arguments.weight),
                one_line(str(task)),
                f"Grid 1/{choice.grid}: on these rows nobody who acts on probabilities rounded to it, whatever the "
                f"decision and its costs, loses more than {at_most(choice.loss)} of what is at stake per case (best "
                "minus worst outcome), compared with the best change of actions in hindsight.",
                written("Policy", arguments.output),
            ]
        )
    return 0


def _task(arguments: argparse.Namespace) -> DecisionTask:
    """The decision, by its costs or its threshold."""
    costs = [arguments.cost_fp, arguments.cost_fn]
    if (arguments.threshold is None) == (costs == [None, None]) or (None in costs and arguments.threshold is None):
        raise InputError("state the decision: either --cost-fp and --cost-fn, or --threshold")
    task = task_of(arguments, arguments.actions)
    return DecisionTask.threshold(arguments.threshold, actions=arguments.actions) if task is None else task
