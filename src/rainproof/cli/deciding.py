"""Commands for who acts on a forecast: ``policy`` and ``decide``, ``threshold``, and ``switch`` to
another forecast.
"""

from __future__ import annotations

import argparse
import sys
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, field
from functools import partial
from operator import itemgetter
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rainproof.cli import output
from rainproof.cli.ids import note_repeated_ids
from rainproof.cli.options import (
    cost_columns,
    costs_of,
    files_read,
    inference,
    refuse_cost_columns,
    task_of,
)
from rainproof.cli.output import (
    finish_result,
    one_line,
    say,
    say_paragraphs,
    without_warnings,
    written,
)
from rainproof.cli.reading import (
    check_costs,
    copy_with,
    keep,
    note,
    read,
    read_matrix,
    read_rows,
)
from rainproof.core import VERSION
from rainproof.core.documents import load_kind
from rainproof.core.piecewise import PiecewiseMap
from rainproof.core.sample import Sample
from rainproof.core.text import aligned, at_most, wrapped
from rainproof.core.text import rows as rows_text
from rainproof.decisions.capacity import Selection, allowed_cases, decide
from rainproof.decisions.grid_choice import choose_grid
from rainproof.decisions.policies import PolicyCost, RoundingPolicy, policy_cost
from rainproof.decisions.tasks import DecisionTask, FiniteTask, as_finite, show_threshold
from rainproof.errors import InputError
from rainproof.inference.switches import switch_guarantee
from rainproof.inference.targets import find_threshold
from rainproof.recalibration.recalibrator import Recalibrator
from rainproof.verdict.assessing import assess
from rainproof.verdict.facts import other_event
from rainproof.verdict.renderer import SHELL
from rainproof.verdict.result import Assessment

NOT_PROVEN = 1  # exit code where no threshold is proven to keep the targets
_ACTIONS = ("wait", "act")
_WAYS_OUT = {
    "recalibrate": "Fit a map with 'rainproof recalibrate' and pass it as --map.",
    "avoid": "Use another forecast, or act alike in every case.",
}


@dataclass(frozen=True)
class _FinerGrid:
    """What a policy on the next grid would cost and lose on these rows."""

    grid: int
    loss: float
    cost: float  # per case


@dataclass(frozen=True)
class _MadePolicy:
    """A policy, and what it costs and loses on the rows that it was made with."""

    policy: RoundingPolicy
    cost: PolicyCost
    loss: float  # the most that a decision loses on these rows
    finer: _FinerGrid | None


def run_policy(arguments: argparse.Namespace) -> int:
    """Read the files, choose the grid, and write the policy."""
    task = _task(arguments)
    recalibration = _map(arguments)
    rows: Sample = read_rows(arguments)
    # 'rainproof decide' notes predictions outside of those that the map was fitted to.
    with without_warnings():
        made = _make_policy(arguments, task, rows, recalibration)
    made.policy.save(arguments.output, overwrite=arguments.force)
    if arguments.quiet and not arguments.json:
        return 0
    assessment = None
    if recalibration is None:  # a map that is applied first is its own answer
        with without_warnings():
            assessment = assess(rows, measures=[], n_resamples=99, rng=arguments.seed)
    grade = None if assessment is None else assessment.verdict.grade
    if arguments.json:
        document = {
            "rainproof": VERSION,
            "n": rows.n,
            "grade": grade,
            "grid": made.policy.grid,
            "loss": made.loss,
            "random_between": _between(made.policy),
            "cost": made.cost.to_dict(),
            "finer": None if made.finer is None else asdict(made.finer),
            "policy": made.policy.to_dict(),
        }
        say(sys.stdout, output.write_json(document, None))
    else:
        _say_policy(arguments, task, rows, made, grade)
    if assessment is not None and not arguments.quiet:
        _warn(assessment)
    return 0


def _say_policy(
    arguments: argparse.Namespace,
    task: FiniteTask,
    rows: Sample,
    made: _MadePolicy,
    grade: str | None,
) -> None:
    """Print what the policy promises, where it acts at random, and what that costs."""
    say_paragraphs(
        [
            output.rows_read(files_read(arguments), rows, arguments.weight),
            one_line(str(task)),
            _guaranteed(made, rows.grid),
            _acts_at_random(made, weighted=arguments.weight is not None),
        ]
    )
    say(sys.stdout, _cost_table(task, made.cost, rows.grid))
    say_paragraphs([*_price(task, made, grade), written("Policy", arguments.output)])


def _make_policy(
    arguments: argparse.Namespace,
    task: FiniteTask,
    rows: Sample,
    recalibration: PiecewiseMap | None,
) -> _MadePolicy:
    """Make the policy on the grid that is given, or that loses least."""
    acted_on = rows if recalibration is None else rows.map(recalibration)
    choice = choose_grid(acted_on, max_grid=arguments.grid)
    loss_of_grid = dict(zip(choice.grids.tolist(), choice.losses.tolist(), strict=True))
    policy_on = partial(RoundingPolicy, task, seed=arguments.seed, recalibration=recalibration)
    grid: int = arguments.grid or choice.grid
    policy = policy_on(grid)
    finer = None
    next_grid = 2 * grid
    if next_grid in loss_of_grid:
        cost_per_case = policy_cost(policy_on(next_grid), rows).policy
        finer = _FinerGrid(next_grid, loss_of_grid[next_grid], cost_per_case)
    return _MadePolicy(policy, policy_cost(policy, rows), loss_of_grid[grid], finer)


def _map(arguments: argparse.Namespace) -> PiecewiseMap | None:
    """The map to apply first, if any."""
    if arguments.map is None:
        return None
    recalibrator: Recalibrator = load_kind(arguments.map, "recalibrator")
    if recalibrator.by_ is not None:
        raise InputError(
            "--map must be a map without segments: with segments, use 'rainproof apply' before "
            "'rainproof policy'"
        )
    recalibrator.check_one_event("--map")
    found: PiecewiseMap = recalibrator.map_
    return found


def _warn(found: Assessment) -> None:
    """Say on stderr if the forecast should not be acted on as it is."""
    verdict = found.verdict
    way_out = (
        SHELL.text(other_event()) if found.evidence.is_reversed else _WAYS_OUT.get(verdict.grade)
    )
    if way_out is not None:
        text = f"{verdict.headline} {verdict.reason} {way_out}"
        say(sys.stderr, f"{wrapped(f'rainproof: warning: {one_line(text)}')}\n")


def _task(arguments: argparse.Namespace) -> FiniteTask:
    """The decision, by its costs or its threshold."""
    costs = [arguments.cost_fp, arguments.cost_fn]
    has_threshold = arguments.threshold is not None
    has_costs = costs != [None, None]
    if has_threshold == has_costs or (not has_threshold and None in costs):
        raise InputError("state the decision: either --cost-fp and --cost-fn, or --threshold")
    refuse_cost_columns(
        arguments, "a policy stores one threshold, and 'rainproof decide' takes columns of costs"
    )
    task = task_of(arguments, arguments.actions)
    if task is None:
        return DecisionTask.threshold(arguments.threshold, actions=arguments.actions)
    return as_finite(task, "--cost-fp")


_ROUNDING = 1e-9  # costs within this share of what is at stake count as equal


def _between(policy: RoundingPolicy) -> list[float] | None:
    """The multiples of 1/grid around the threshold: the rounding decides what is done between
    them.
    """
    points = np.arange(policy.grid + 1) / policy.grid
    # the first point where the second action is best
    above = int(policy.task.action_codes(points).searchsorted(1))
    # A threshold that is 0 in double precision has no point below it.
    return [(above - 1) / policy.grid, above / policy.grid] if above else None


def _guaranteed(made: _MadePolicy, pooled: int | None) -> str:
    """What the policy promises, on these rows, which may be `pooled` to a grid: what rounding
    buys.
    """
    policy = made.policy
    rows = "these rows"
    probabilities = "probabilities"
    if policy.recalibration is not None:
        probabilities = "the recalibrated probabilities"
        # Pooling to a finer grid changes no loss on this one, unless a map is applied in between.
        if pooled is not None:
            rows = f"these rows, pooled to 1/{pooled},"
    return (
        f"Grid 1/{policy.grid}: on {rows} no decision that rests on {probabilities} rounded to "
        f"it, whatever its costs, loses more than {at_most(made.loss)} of what is at stake per "
        "case (best minus worst outcome), compared with the best change of actions in hindsight."
    )


def _acts_at_random(made: _MadePolicy, *, weighted: bool) -> str:
    """Where the action is random, and for how many of these rows."""
    between = _between(made.policy)
    if between is None:
        return "The rounding is random, but it changes no action at this threshold."
    low, high = between
    probability = "probability"
    if made.policy.recalibration is not None:
        probability = "recalibrated probability"
    share = f"{100 * made.cost.random_share:.3g}% of these rows"
    if weighted:
        share = f"{share} by weight"
    return (
        f"The rounding is random: a row with a {probability} between {low:.6g} and {high:.6g} "
        f"may get either action, depending on its id. That is {share}. All others get the action "
        "that the threshold says."
    )


def _cost_table(task: FiniteTask, cost: PolicyCost, pooled: int | None) -> str:
    """The expected cost per case of the policy, without rounding, and of always doing the same."""
    losses = task.matrix.max(axis=0) - task.matrix  # by action and outcome
    miss = float(losses[0, 1])
    false_alarm = float(losses[1, 0])
    costs = {
        "this policy, on average over its rounding": cost.policy,
        f"{_second_from(task)} on, without rounding": cost.unrounded,
    }
    for action, cost_of_action in reversed(cost.always.items()):
        costs[f"always {_quoted(action)}"] = cost_of_action
    lines = aligned([[f"  {name}", f"{value:.4g}"] for name, value in costs.items()], left=1)
    pooling = "" if pooled is None else f" pooled to 1/{pooled}"
    units = f"a false alarm costs {false_alarm:g}, a miss {miss:g}"
    head = f"Cost per case on these rows{pooling}, an estimate for new ones ({units}):"
    return "\n".join([wrapped(head), *lines, ""])


def _price(task: FiniteTask, made: _MadePolicy, grade: str | None) -> list[str]:
    """What rounding costs and buys, the way to round less, and what costs less."""
    cost = made.cost
    extra = cost.policy - cost.unrounded
    tolerance = _ROUNDING * task.scale
    is_dearer = extra > tolerance
    if extra < -tolerance:
        chance = (
            "If the probabilities are calibrated this is chance, as rounding "
            "cannot save on average."
        )
        price = (
            f"On these rows rounding costs {-extra:.4g} per case less than no rounding. {chance}"
        )
    elif is_dearer:
        price = (
            f"Rounding costs {extra:.4g} per case here. It buys the guarantee above, for every "
            "decision and against every change of actions; without rounding, 'rainproof assess' "
            "has one that covers corrections that keep the ranking only."
        )
    else:
        price = "On these rows rounding costs nothing."
    paragraphs = [price]
    finer = made.finer
    if is_dearer and finer is not None:
        paragraphs.append(
            f"A finer grid rounds less, but its guarantee is no better: --grid {finer.grid} "
            f"costs {finer.cost:.4g} per case, with {at_most(finer.loss)} instead of "
            f"{at_most(made.loss)}."
        )
    action, cost_of_action = min(cost.always.items(), key=itemgetter(1))
    if cost_of_action <= min(cost.policy, cost.unrounded) + tolerance:
        paragraphs.append(f"Always {_quoted(action)} costs no more than either on these rows.")
    elif is_dearer and grade == "use":
        paragraphs.append(
            "'rainproof assess' grades these probabilities \"use\" and recommends "
            f"{_second_from(task)} on, which needs no policy. Use this policy if you need its "
            "guarantee."
        )
    return paragraphs


def _second_from(task: FiniteTask) -> str:
    return f"{_quoted(task.actions[1])} from {show_threshold(task.thresholds[0])}"


def _quoted(name: str) -> str:
    return one_line(repr(name))


@dataclass
class _Counts:
    """What was decided so far, batch by batch."""

    rows: int = 0
    actions: Counter[str] = field(default_factory=Counter)
    random: int = 0  # rows that could get either of two actions
    other: int = 0  # rows that got another action than without rounding
    outside: int = 0  # rows outside of the predictions that the map was fitted to
    selection: Selection | None = None  # of the last batch; with a capacity there is one batch

    def add(self, names: Sequence[str], numbers: NDArray[Any]) -> NDArray[Any]:
        """Count the actions of a batch, which are numbers, and return their names."""
        self.rows += len(numbers)
        rows_of_action = np.bincount(numbers, minlength=len(names)).tolist()
        self.actions.update(dict(zip(names, rows_of_action, strict=True)))
        return np.array(names).take(numbers)


def run_decide(arguments: argparse.Namespace) -> int:
    """Apply the policy to the file, and print how often each action was taken."""
    policy = _policy_to_apply(arguments)
    recalibration = None if policy is None else policy.recalibration
    counts = _Counts()
    costs = cost_columns(arguments)
    matrix = read_matrix(arguments)
    actions: Sequence[str] = _ACTIONS
    if matrix is not None:
        actions = matrix.actions
        decide_batch = _by_matrix(matrix, counts)
    elif policy is not None and not costs_of(arguments) and arguments.capacity is None:
        actions = policy.task.actions
        decide_batch = _by_policy(policy, counts)
    else:
        check_costs(arguments)
        if policy is not None:
            actions = policy.task.actions
        decide_batch = _by_costs(arguments, policy, costs, actions, counts)

    def decide_and_note(p: NDArray[Any], *beside: Any) -> NDArray[Any]:
        if recalibration is not None:
            counts.outside += recalibration.outside(p)
        return decide_batch(p, *beside)

    new_columns: dict[str, Any] = {"action": decide_and_note}
    if arguments.rounded and policy is not None:
        new_columns["rounded"] = lambda p, ids, *_: policy.round(p, ids)
    with without_warnings():  # which are about a part of the rows
        rows = copy_with(
            new_columns,
            arguments,
            ids=arguments.id,
            costs=costs,
            whole=arguments.capacity is not None,
        )
    if recalibration is not None:
        note(arguments, recalibration.note_outside(counts.outside, counts.rows))
    if not arguments.quiet:
        _say_decisions(arguments, policy, actions, counts, missing=rows - counts.rows)
    return 0


def _policy_to_apply(arguments: argparse.Namespace) -> RoundingPolicy | None:
    """Return the policy, if there is one; refuse options that do not state one decision."""
    if arguments.classes and arguments.cost_matrix is None:
        raise InputError("state the decision: --cost-matrix")
    if not arguments.classes and arguments.policy is None and not costs_of(arguments):
        raise InputError("state the decision: --policy, or --cost-fp and --cost-fn, or all of them")
    policy: RoundingPolicy | None = None
    if arguments.policy is not None:
        policy = load_kind(arguments.policy, "policy")
    if arguments.id is None and policy is not None and policy.rounding == "soft":
        raise InputError(
            "--id is missing: the policy rounds at random, and row ids make that reproducible"
        )
    if arguments.id is None and arguments.capacity is not None:
        raise InputError(
            "--id is missing: with --capacity, a lottery by id decides between equal gains"
        )
    if arguments.rounded and policy is None:
        raise InputError("--rounded needs --policy: without one, probabilities are not rounded")
    return policy


def _say_decisions(
    arguments: argparse.Namespace,
    policy: RoundingPolicy | None,
    actions: Sequence[str],
    counts: _Counts,
    *,
    missing: int,
) -> None:
    """Print how often each action was taken, at random or within the capacity."""
    decided = f"{one_line(files_read(arguments))}: {rows_text(counts.rows)} decided"
    times = [f"{_quoted(name)} {counts.actions[name]:,} times" for name in actions]
    if times:
        decided = f"{decided}: {', '.join(times)}"
    paragraphs = [decided]
    if policy is not None and policy.rounding == "soft":
        paragraphs.append(_randomness(policy, counts))
    if arguments.capacity is not None and counts.selection is not None:
        capacity = allowed_cases(arguments.capacity, counts.rows)
        paragraphs.append(_within(counts.selection, capacity))
    if missing:
        lacking = "a probability or a cost" if cost_columns(arguments) else "a probability"
        paragraphs.append(
            f"{rows_text(missing)} without {lacking}: copied, with nothing in the new columns"
        )
    say_paragraphs([*paragraphs, written("Result", arguments.output)])


def _within(selection: Selection, capacity: int) -> str:
    """Say how many rows the capacity leaves out, and what one more would gain."""
    pays = f"Acting pays on {rows_text(selection.wanted)}, if the probabilities are right"
    if selection.wanted <= capacity:
        return f"{pays}: the capacity is enough."
    one_more = f"One more would gain {selection.one_more:.4g}"
    return f"{pays}; the capacity is {capacity:,}. {one_more}."


def _by_matrix(task: Any, counts: _Counts) -> Callable[..., NDArray[Any]]:
    """Return what decides by the costs of several classes."""

    def decide_batch(p: NDArray[Any], _ids: object) -> NDArray[Any]:
        return counts.add(task.actions, task.best_checked(p))

    return decide_batch


def _by_costs(
    arguments: argparse.Namespace,
    policy: RoundingPolicy | None,
    costs: list[str],
    actions: Sequence[str],
    counts: _Counts,
) -> Callable[..., NDArray[Any]]:
    """Return what decides by the costs, or by those of the policy, within the capacity."""
    # A cost that is a number, which is above 0, is at stake in every row.
    are_all_columns = len(costs) == len(set(costs_of(arguments).values()))

    def decide_batch(p: NDArray[Any], ids: Any, *amounts: NDArray[Any]) -> NDArray[Any]:
        if costs and are_all_columns and not np.any([a > 0 for a in amounts], axis=0).all():
            raise InputError(
                f"{' and '.join(costs)} must not both be 0 in a row: nothing is at stake"
            )
        # Columns of costs give each row its own threshold.
        task = task_of(arguments, actions, dict(zip(costs, amounts, strict=True)))
        acted_on = p
        seed = 0
        if policy is not None:
            acted_on = policy.round(p, ids)
            seed = policy.seed
            task = task or policy.task
        assert task is not None
        selection = decide(acted_on, task, ids, capacity=arguments.capacity, seed=seed)
        counts.selection = selection
        counts.rows += len(p)
        names, rows_of_action = np.unique(selection.action, return_counts=True)
        counts.actions.update(dict(zip(names.tolist(), rows_of_action.tolist(), strict=True)))
        return selection.action

    return decide_batch


def _by_policy(policy: RoundingPolicy, counts: _Counts) -> Callable[..., NDArray[Any]]:
    """Return what decides by the policy, and counts what rounding changed."""

    def decide_batch(p: NDArray[Any], ids: Any) -> NDArray[Any]:
        if not policy.task.actions:  # best actions of a task without names are numbers
            counts.rows += len(p)
            return policy.decide(p, ids)
        number = policy.decide_index(p, ids)
        without_rounding, is_random = policy.without_rounding(p)
        counts.random += int(is_random.sum())
        counts.other += int((number != without_rounding).sum())
        return counts.add(policy.task.actions, number)

    return decide_batch


def _randomness(policy: RoundingPolicy, counts: _Counts) -> str:
    """Say that actions are random, for how many rows, and how many got another action for it."""
    rounding = str(policy).splitlines()[-1]
    is_by_policy = counts.selection is None
    if not is_by_policy or not policy.task.actions or not counts.rows:
        return rounding
    share = f"{rows_text(counts.random)} ({100 * counts.random / counts.rows:.3g}%)"
    could = f"{share} could get either of two actions, depending on the id"
    other = f"{counts.other:,} got another action than without rounding"
    return f"{rounding} {could}; {other}. 'rainproof policy' estimates what that costs."


def run_switch(arguments: argparse.Namespace) -> int:
    """Read the files and print the bounds; rows in groups and shares are kept, others are
    compressed at once.
    """
    note_repeated_ids(arguments)
    is_kept = arguments.fractional or arguments.groups is not None
    read_sample = keep if is_kept else read
    sample = read_sample(arguments, [arguments.old, arguments.new])
    bounds = switch_guarantee(sample, max_weight=arguments.max_weight, **inference(arguments))
    finish_result(arguments, bounds)
    return 0


def run_threshold(arguments: argparse.Namespace) -> int:
    """Read the files, find the threshold, and say what is proven there."""
    targets = {}
    for name in ("precision", "recall", "false_positive_rate"):
        targets[name] = getattr(arguments, name)
    if not any(targets.values()):
        raise InputError(
            "state a target: --precision, --recall, --false-positive-rate, or several of them"
        )
    note_repeated_ids(arguments)
    # A weight bets row by row, and is refused without the largest one, also where all are equal.
    by_weight = arguments.max_weight is not None or arguments.weight is not None
    sample = keep(arguments, arguments.prob) if by_weight else read_rows(arguments)
    found = find_threshold(
        sample, max_weight=arguments.max_weight, **targets, **inference(arguments)
    )
    finish_result(arguments, found)
    return 0 if found.threshold is not None else NOT_PROVEN
