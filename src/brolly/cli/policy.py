"""``brolly policy``: make a policy from costs and past predictions."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from brolly.assessment.assess import assess
from brolly.cli.assess import without_warnings
from brolly.cli.options import (
    add_columns,
    add_costs,
    add_groups,
    add_quiet,
    add_seed,
    check_result,
    files_read,
    new_command,
    probability,
    read,
    task_of,
)
from brolly.cli.output import one_line, say
from brolly.cli.results import rows_read, say_paragraphs, written
from brolly.cli.rows import read_rows
from brolly.core.atomic_write import check_output
from brolly.core.piecewise import PiecewiseMap
from brolly.core.sample.mapped import mapped
from brolly.core.text import at_most, wrapped
from brolly.decisions.grid import choose_grid
from brolly.decisions.policy import RoundingPolicy
from brolly.decisions.task import DecisionTask
from brolly.errors import InputError
from brolly.recalibration.recalibrator import load_recalibrator

if TYPE_CHECKING:
    from brolly.cli.options import Commands

_DESCRIPTION = """\
Make a policy: how to act on probabilities with a small loss for every decision.

State the decision by two costs, or by the threshold from which to act. The policy
rounds probabilities to a grid before it acts: the grid with the smallest loss on
the past predictions and outcomes in files. With --map it recalibrates them first,
by a map of 'brolly recalibrate', which is stored in the policy.
"""
_EPILOG = """\
examples:
  brolly policy past.csv --prob probability --outcome rained \\
      --cost-fp 35 --cost-fn 65 -o policy.json
  brolly policy loans.parquet --prob p_default --outcome status \\
      --pos-label default --threshold 0.1 --actions lend refuse -o policy.json
  brolly policy past.csv --prob probability --outcome rained --threshold 0.3 \\
      --map map.json -o policy.json

'brolly decide' applies the policy. For decisions with more than two actions use
Python: brolly.RoundingPolicy(task, sample=...).save("policy.json").
A forecast that 'brolly assess' grades "avoid" or "recalibrate" gets a warning;
--groups is for that grade alone.
Exit code: 0 if there is a policy, 2 if there is an error (one line on stderr).
"""
_WAYS_OUT = {
    "recalibrate": "Fit a map with 'brolly recalibrate' and pass it as --map.",
    "avoid": "Use another forecast, or act alike in every case.",
}
_REVERSED = "Did you mean 1 - p, or the other outcome as the event (--pos-label)?"


def add_command(commands: Commands) -> None:
    """Add the command and its options."""
    summary = "make a policy from costs and past predictions, for 'brolly decide'"
    parser = new_command(commands, run, "policy", summary, _DESCRIPTION, _EPILOG)
    add_columns(parser)
    add_groups(parser)
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
    parser.add_argument("--map", metavar="FILE", help="a map of 'brolly recalibrate' to apply before anything else")
    add_seed(parser)
    parser.add_argument("-o", "--output", metavar="FILE", type=Path, required=True, help="the policy to write, as JSON")
    add_quiet(parser)


def run(arguments: argparse.Namespace) -> int:
    """Read the files, choose the grid, and write the policy."""
    task, recalibration = _task(arguments), _map(arguments)
    check_result(arguments)
    sample = read(arguments)
    choice = choose_grid(sample if recalibration is None else mapped(sample, recalibration))
    policy = RoundingPolicy(task, choice.grid, seed=arguments.seed, recalibration=recalibration)
    policy.save(arguments.output)
    if not arguments.quiet:
        acts = "on these rows nobody who acts on probabilities"
        if recalibration is not None:
            acts = f"on these rows, pooled to 1/{sample.grid}, nobody who acts on the recalibrated probabilities"
        say_paragraphs(
            [
                rows_read(files_read(arguments), sample, arguments.weight),
                one_line(str(task)),
                f"Grid 1/{choice.grid}: {acts} rounded to it, whatever the decision and its costs, loses more "
                f"than {at_most(choice.loss)} of what is at stake per case (best minus worst outcome), compared with "
                "the best change of actions in hindsight.",
                written("Policy", arguments.output),
            ]
        )
        _warn(arguments)
    return 0


def _map(arguments: argparse.Namespace) -> PiecewiseMap | None:
    """The map to apply first, if any."""
    if arguments.map is None:
        return None
    check_output(arguments.output, Path(arguments.map))
    recalibrator = load_recalibrator(arguments.map)
    if recalibrator._by is not None:
        raise InputError(
            "--map must be a map without segments: with segments, use 'brolly apply' before 'brolly policy'"
        )
    return recalibrator.map_


def _warn(arguments: argparse.Namespace) -> None:
    """Say on stderr if the forecast should not be acted on as it is; a map that is applied first is its own answer."""
    if arguments.map is not None:
        return
    rows, groups = read_rows(arguments)
    with without_warnings():
        found = assess(rows, groups=groups, measures=[], n_resamples=99, rng=arguments.seed)
    verdict = found.verdict
    way_out = _REVERSED if found.evidence.is_reversed else _WAYS_OUT.get(verdict.grade)
    if way_out is not None:
        text = f"{verdict.headline} {verdict.reason} {way_out}"
        say(sys.stderr, f"{wrapped(f'brolly: warning: {one_line(text)}')}\n")


def _task(arguments: argparse.Namespace) -> DecisionTask:
    """The decision, by its costs or its threshold."""
    costs = [arguments.cost_fp, arguments.cost_fn]
    if (arguments.threshold is None) == (costs == [None, None]) or (None in costs and arguments.threshold is None):
        raise InputError("state the decision: either --cost-fp and --cost-fn, or --threshold")
    task = task_of(arguments, arguments.actions)
    return DecisionTask.threshold(arguments.threshold, actions=arguments.actions) if task is None else task
