"""``rainproof policy``: make a policy from costs and past predictions."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from numpy.typing import NDArray

from rainproof.assessment.assessing import assess
from rainproof.assessment.result import Assessment
from rainproof.assessment.words import other_event
from rainproof.cli.assess import without_warnings
from rainproof.cli.options import (
    add_columns,
    add_costs,
    add_groups,
    add_quiet,
    add_seed,
    check_result,
    files_read,
    new_command,
    probability,
    task_of,
)
from rainproof.cli.output import one_line, say
from rainproof.cli.policy_text import FinerGrid, MadePolicy
from rainproof.cli.results import rows_read, say_paragraphs, write_json, written
from rainproof.cli.rows import read_rows
from rainproof.core.files import check_output
from rainproof.core.piecewise import PiecewiseMap
from rainproof.core.result import wrapped
from rainproof.core.sample import Sample, mapped
from rainproof.core.version import VERSION
from rainproof.decisions.policies import PolicyCost, RoundingPolicy, choose_grid, policy_cost
from rainproof.decisions.tasks import DecisionTask, FiniteTask, as_finite
from rainproof.errors import InputError
from rainproof.recalibration.recalibrator import load_recalibrator

if TYPE_CHECKING:
    from rainproof.cli.options import Commands

_DESCRIPTION = """\
Make a policy: how to act on probabilities with a small loss for every decision.

State the decision by two costs, or by the threshold from which to act. The policy
rounds probabilities to a grid at random, then acts: the grid with the smallest
loss on the past predictions and outcomes in files. So rows close to the threshold
may get either action; what that costs on these rows is printed, beside the cost
of acting on the probabilities as they are. With --map the policy recalibrates
them first, by a map of 'rainproof recalibrate', which is stored in it.
"""
_EPILOG = """\
examples:
  rainproof policy past.csv --prob probability --outcome rained \\
      --cost-fp 35 --cost-fn 65 -o policy.json
  rainproof policy loans.parquet --prob p_default --outcome status \\
      --pos-label default --threshold 0.1 --actions lend refuse -o policy.json
  rainproof policy past.csv --prob probability --outcome rained --threshold 0.3 \\
      --map map.json -o policy.json

'rainproof decide' applies the policy. For decisions with more than two actions
use Python: rainproof.RoundingPolicy(task, sample=...).save("policy.json").
A forecast that 'rainproof assess' grades "avoid" or "recalibrate" gets a warning;
--groups is for that grade alone.
Exit code: 0 if there is a policy, 2 if there is an error (one line on stderr).
"""
_WAYS_OUT = {
    "recalibrate": "Fit a map with 'rainproof recalibrate' and pass it as --map.",
    "avoid": "Use another forecast, or act alike in every case.",
}
_GRIDS = [2**k for k in range(1, 17)]  # up to that of rows that were compressed


def add_command(commands: Commands) -> None:
    """Add the command and its options."""
    summary = "make a policy from costs and past predictions, for 'rainproof decide'"
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
    parser.add_argument("--map", metavar="FILE", help="a map of 'rainproof recalibrate' to apply before anything else")
    parser.add_argument(
        "--grid",
        metavar="M",
        type=_grid,
        help="round to multiples of 1/M, a power of two (default: that with the smallest loss for any decision); "
        "a finer grid acts at random less often, with a weaker guarantee",
    )
    add_seed(parser)
    parser.add_argument("--json", action="store_true", help="print the policy and its costs as JSON instead of text")
    parser.add_argument("-o", "--output", metavar="FILE", type=Path, required=True, help="the policy to write, as JSON")
    add_quiet(parser)


def _grid(text: str) -> int:
    if not text.isdecimal() or int(text) not in _GRIDS:
        raise argparse.ArgumentTypeError(f"must be a power of two from 2 to {_GRIDS[-1]:,}; it is {text!r}")
    return int(text)


def run(arguments: argparse.Namespace) -> int:
    """Read the files, choose the grid, and write the policy."""
    task, recalibration = _task(arguments), _map(arguments)
    check_result(arguments)
    rows, groups = read_rows(arguments)
    assert isinstance(rows, Sample)  # as there is no --by
    made = _made(arguments, task, rows, recalibration)
    made.policy.save(arguments.output)
    if arguments.quiet and not arguments.json:
        return 0
    found = None if recalibration is not None else _assessed(arguments, rows, groups)
    grade = None if found is None else found.verdict.grade
    if arguments.json:
        say(sys.stdout, write_json({"rainproof": VERSION, "n": rows.n, "grade": grade, **made.to_dict()}, None))
    else:
        first = [rows_read(files_read(arguments), rows, arguments.weight), one_line(str(task))]
        say_paragraphs([*first, made.guarantee(), made.randomness(weighted=arguments.weight is not None)])
        say(sys.stdout, made.cost_table())
        say_paragraphs([*made.price(grade), written("Policy", arguments.output)])
    if found is not None and not arguments.quiet:
        _warn(found)
    return 0


def _made(
    arguments: argparse.Namespace, task: FiniteTask, rows: Sample, recalibration: PiecewiseMap | None
) -> MadePolicy:
    """Choose the grid, unless it is given, and compute what the policy costs on it and on the next finer one."""
    acted_on = rows if recalibration is None else mapped(rows, recalibration)
    choice = choose_grid(acted_on, max_grid=arguments.grid)
    losses = dict(zip(choice.grids.tolist(), choice.losses.tolist(), strict=True))

    def on(grid: int) -> tuple[RoundingPolicy, PolicyCost]:
        policy = RoundingPolicy(task, grid, seed=arguments.seed, recalibration=recalibration)
        return policy, policy_cost(policy, rows)

    grid: int = arguments.grid or choice.grid
    finer = FinerGrid(grid=2 * grid, loss=losses[2 * grid], cost=on(2 * grid)[1].policy) if 2 * grid in losses else None
    policy, cost = on(grid)
    return MadePolicy(policy=policy, task=task, pooled=rows.grid, loss=losses[grid], cost=cost, finer=finer)


def _map(arguments: argparse.Namespace) -> PiecewiseMap | None:
    """The map to apply first, if any."""
    if arguments.map is None:
        return None
    check_output(arguments.output, Path(arguments.map))
    recalibrator = load_recalibrator(arguments.map)
    if recalibrator._by is not None:
        raise InputError(
            "--map must be a map without segments: with segments, use 'rainproof apply' before 'rainproof policy'"
        )
    return recalibrator.map_


def _assessed(arguments: argparse.Namespace, rows: Sample, groups: NDArray[Any] | None) -> Assessment:
    """The grade of the forecast; a map that is applied first is its own answer."""
    with without_warnings():
        return assess(rows, groups=groups, measures=[], n_resamples=99, rng=arguments.seed)


def _warn(found: Assessment) -> None:
    """Say on stderr if the forecast should not be acted on as it is."""
    verdict = found.verdict
    way_out = other_event("--pos-label") if found.evidence.is_reversed else _WAYS_OUT.get(verdict.grade)
    if way_out is not None:
        text = f"{verdict.headline} {verdict.reason} {way_out}"
        say(sys.stderr, f"{wrapped(f'rainproof: warning: {one_line(text)}')}\n")


def _task(arguments: argparse.Namespace) -> FiniteTask:
    """The decision, by its costs or its threshold."""
    costs = [arguments.cost_fp, arguments.cost_fn]
    if (arguments.threshold is None) == (costs == [None, None]) or (None in costs and arguments.threshold is None):
        raise InputError("state the decision: either --cost-fp and --cost-fn, or --threshold")
    task = task_of(arguments, arguments.actions)
    if task is None:
        return DecisionTask.threshold(arguments.threshold, actions=arguments.actions)
    return as_finite(task, "--cost-fp")
