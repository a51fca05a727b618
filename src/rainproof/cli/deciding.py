"""Commands for who acts on a forecast: ``policy`` and ``decide``, ``threshold``, and ``switch`` to
another forecast.
"""

from __future__ import annotations

import argparse
import sys
from collections import Counter
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
from rainproof.core.files import load_kind
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
from rainproof.verdict import words
from rainproof.verdict.assessing import assess
from rainproof.verdict.result import Assessment

NOT_PROVEN = 1
_ACTIONS = ("wait", "act")
_WAYS_OUT = {
    "recalibrate": "Fit a map with 'rainproof recalibrate' and pass it as --map.",
    "avoid": "Use another forecast, or act alike in every case.",
}


def run_policy(arguments: argparse.Namespace) -> int:
    """Read the files, choose the grid, and write the policy."""
    task = _task(arguments)
    recalibration = _map(arguments)
    rows: Sample = read_rows(arguments)
    # 'rainproof decide' notes predictions outside of those that the map was fitted to
    with without_warnings():
        policy, cost, loss, finer = _made(arguments, task, rows, recalibration)
    policy.save(arguments.output, overwrite=arguments.force)
    if arguments.quiet and not arguments.json:
        return 0
    found = None
    if recalibration is None:  # a map that is applied first is its own answer
        with without_warnings():
            found = assess(rows, measures=[], n_resamples=99, rng=arguments.seed)
    grade = None if found is None else found.verdict.grade
    if arguments.json:
        document = {
            "rainproof": VERSION,
            "n": rows.n,
            "grade": grade,
            "grid": policy.grid,
            "loss": loss,
        }
        document |= {"random_between": _between(policy), "cost": cost.to_dict(), "finer": finer}
        say(sys.stdout, output.write_json({**document, "policy": policy.to_dict()}, None))
    else:
        first = [
            output.rows_read(files_read(arguments), rows, arguments.weight),
            one_line(str(task)),
        ]
        random = _acts_at_random(policy, cost, weighted=arguments.weight is not None)
        say_paragraphs([*first, _guaranteed(policy, loss, rows.grid), random])
        say(sys.stdout, _cost_table(task, cost, rows.grid))
        say_paragraphs(
            [*_price(task, cost, loss, finer, grade), written("Policy", arguments.output)]
        )
    if found is not None and not arguments.quiet:
        _warn(found)
    return 0


def _made(
    arguments: argparse.Namespace,
    task: FiniteTask,
    rows: Sample,
    recalibration: PiecewiseMap | None,
) -> tuple[RoundingPolicy, PolicyCost, float, dict[str, Any] | None]:
    """Choose the grid, unless it is given: the policy, what it costs and loses on these rows, and
    on the next grid.
    """
    acted_on = rows if recalibration is None else rows.map(recalibration)
    choice = choose_grid(acted_on, max_grid=arguments.grid)
    losses = dict(zip(choice.grids.tolist(), choice.losses.tolist(), strict=True))

    def on(grid: int) -> tuple[RoundingPolicy, PolicyCost]:
        policy = RoundingPolicy(task, grid, seed=arguments.seed, recalibration=recalibration)
        return policy, policy_cost(policy, rows)

    grid: int = arguments.grid or choice.grid
    next_one = 2 * grid
    finer = (
        {"grid": next_one, "loss": losses[next_one], "cost": on(next_one)[1].policy}
        if next_one in losses
        else None
    )
    return *on(grid), losses[grid], finer


def _map(arguments: argparse.Namespace) -> PiecewiseMap | None:
    """The map to apply first, if any."""
    if arguments.map is None:
        return None
    recalibrator: Recalibrator = load_kind(arguments.map, "recalibrator")
    if recalibrator.by_ is not None:
        raise InputError(
            "--map must be a map without segments: with segments, use 'rainproof apply' before 'rainproof policy'"
        )
    recalibrator.check_one_event("--map")
    found: PiecewiseMap = recalibrator.map_
    return found


def _warn(found: Assessment) -> None:
    """Say on stderr if the forecast should not be acted on as it is."""
    verdict = found.verdict
    way_out = (
        words.other_event(words.SHELL)
        if found.evidence.is_reversed
        else _WAYS_OUT.get(verdict.grade)
    )
    if way_out is not None:
        text = f"{verdict.headline} {verdict.reason} {way_out}"
        say(sys.stderr, f"{wrapped(f'rainproof: warning: {one_line(text)}')}\n")


def _task(arguments: argparse.Namespace) -> FiniteTask:
    """The decision, by its costs or its threshold."""
    costs = [arguments.cost_fp, arguments.cost_fn]
    if (arguments.threshold is None) == (costs == [None, None]) or (
        None in costs and arguments.threshold is None
    ):
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
    """The multiples of 1/grid around the threshold: the rounding decides what is done between them."""
    points = np.arange(policy.grid + 1) / policy.grid
    # the first point where the second action is best
    above = int(policy.task.action_codes(points).searchsorted(1))
    # A threshold that is 0 in double precision has no point below it.
    return [(above - 1) / policy.grid, above / policy.grid] if above else None


def _guaranteed(policy: RoundingPolicy, loss: float, pooled: int | None) -> str:
    """What the policy promises, on these rows, which may be `pooled` to a grid: what rounding buys."""
    # Pooling to a finer grid changes no loss on this one, unless a map is applied in between.
    on = "" if pooled is None or policy.recalibration is None else f", pooled to 1/{pooled},"
    whose = "probabilities" if policy.recalibration is None else "the recalibrated probabilities"
    return (
        f"Grid 1/{policy.grid}: on these rows{on} no decision that rests on {whose} rounded to it, whatever its costs, "
        f"loses more than {at_most(loss)} of what is at stake per case (best minus worst outcome), compared with the "
        "best change of actions in hindsight."
    )


def _acts_at_random(policy: RoundingPolicy, cost: PolicyCost, *, weighted: bool) -> str:
    """Where the action is random, and for how many of these rows."""
    between = _between(policy)
    if between is None:
        return "The rounding is random, but it changes no action at this threshold."
    low, high = between
    whose = "recalibrated probability" if policy.recalibration is not None else "probability"
    share = f"{100 * cost.random_share:.3g}% of these rows{' by weight' * weighted}"
    return (
        f"The rounding is random: a row with a {whose} between {low:.6g} and {high:.6g} may get either action, "
        f"depending on its id. That is {share}. All others get the action that the threshold says."
    )


def _cost_table(task: FiniteTask, cost: PolicyCost, pooled: int | None) -> str:
    """The expected cost per case of the policy, without rounding, and of always doing the same."""
    miss, alarm = (task.matrix.max(axis=0) - task.matrix)[[0, 1], [1, 0]].tolist()
    named = {
        "this policy, on average over its rounding": cost.policy,
        f"{_second_from(task)} on, without rounding": cost.unrounded,
        **{f"always {_quoted(name)}": each for name, each in reversed(cost.always.items())},
    }
    lines = aligned([[f"  {name}", f"{each:.4g}"] for name, each in named.items()], left=1)
    on = "" if pooled is None else f" pooled to 1/{pooled}"
    units = f"a false alarm costs {alarm:g}, a miss {miss:g}"
    head = f"Cost per case on these rows{on}, an estimate for new ones ({units}):"
    return "\n".join([wrapped(head), *lines, ""])


def _price(
    task: FiniteTask, cost: PolicyCost, loss: float, finer: dict[str, Any] | None, grade: str | None
) -> list[str]:
    """What rounding costs and buys, the way to round less, and what costs less."""
    extra, least = cost.policy - cost.unrounded, _ROUNDING * task.scale
    said = ["On these rows rounding costs nothing."]
    if extra < -least:
        chance = "If the probabilities are calibrated this is chance, as rounding cannot save on average."
        said = [
            f"On these rows rounding costs {-extra:.4g} per case less than no rounding. {chance}"
        ]
    elif extra > least:
        said = [
            f"Rounding costs {extra:.4g} per case here. It buys the guarantee above, for every decision and "
            "against every change of actions; without rounding, 'rainproof assess' has one that covers corrections "
            "that keep the ranking only."
        ]
    if extra > least and finer is not None:
        said.append(
            f"A finer grid rounds less, but its guarantee is no better: --grid {finer['grid']} costs "
            f"{finer['cost']:.4g} per case, with {at_most(finer['loss'])} instead of {at_most(loss)}."
        )
    name, alike = min(cost.always.items(), key=lambda item: item[1])
    if alike <= min(cost.policy, cost.unrounded) + least:
        said.append(f"Always {_quoted(name)} costs no more than either on these rows.")
    elif extra > least and grade == "use":
        said.append(
            f"'rainproof assess' grades these probabilities \"use\" and recommends {_second_from(task)} on, "
            "which needs no policy. Use this policy if you need its guarantee."
        )
    return said


def _second_from(task: FiniteTask) -> str:
    return f"{_quoted(task.actions[1])} from {show_threshold(task.thresholds[0])}"


def _quoted(name: str) -> str:
    return one_line(repr(name))


def run_decide(arguments: argparse.Namespace) -> int:
    """Apply the policy to the file, and print how often each action was taken."""
    costs = cost_columns(arguments)
    if arguments.classes and arguments.cost_matrix is None:
        raise InputError("state the decision: --cost-matrix")
    if not arguments.classes and arguments.policy is None and not costs_of(arguments):
        raise InputError("state the decision: --policy, or --cost-fp and --cost-fn, or all of them")
    policy: RoundingPolicy | None = (
        None if arguments.policy is None else load_kind(arguments.policy, "policy")
    )
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
    taken: Counter[str | None] = Counter()
    rounded: Counter[str] = Counter()
    chosen: list[Selection] = []
    columns: dict[str, Any] = {}
    matrix = read_matrix(arguments)
    if matrix is not None:
        columns["action"] = lambda p, _: _counted(
            np.array(matrix.actions)[matrix.best_checked(p)], taken
        )
    elif policy is not None and not costs_of(arguments) and arguments.capacity is None:
        columns["action"] = _counting(policy, taken, rounded)
    else:
        check_costs(arguments)
        columns["action"] = _selecting(arguments, policy, costs, taken, chosen)
    if arguments.rounded and policy is not None:
        columns["rounded"] = lambda p, ids, *_: policy.round(p, ids)
    recalibration = None if policy is None else policy.recalibration
    outside: list[int] = []
    if recalibration is not None:
        columns["action"] = _noting(columns["action"], recalibration, outside)
    with without_warnings():  # which are about a part of the rows
        rows = copy_with(
            columns, arguments, ids=arguments.id, costs=costs, whole=arguments.capacity is not None
        )
    extrapolated = (
        None if recalibration is None else recalibration.note_outside(sum(outside), taken[None])
    )
    note(arguments, extrapolated)
    if not arguments.quiet:
        names = (
            matrix.actions
            if matrix is not None
            else _ACTIONS
            if policy is None
            else policy.task.actions
        )
        counts = ", ".join(f"{one_line(repr(name))} {taken[name]:,} times" for name in names)
        missing = rows - taken[None]
        said = [
            f"{one_line(files_read(arguments))}: {rows_text(taken[None])} decided{counts and ': ' + counts}"
        ]
        if policy is not None and policy.rounding == "soft":
            said.append(
                str(policy).splitlines()[-1]
                if chosen
                else _randomness(policy, taken[None], rounded)
            )
        if arguments.capacity is not None:
            said.append(_within(chosen[0], allowed_cases(arguments.capacity, taken[None])))
        if missing:
            lacking = "a probability or a cost" if costs else "a probability"
            said.append(
                f"{rows_text(missing)} without {lacking}: copied, with nothing in the new columns"
            )
        say_paragraphs([*said, written("Result", arguments.output)])
    return 0


def _noting(answer: Any, recalibration: PiecewiseMap, outside: list[int]) -> Any:
    """Answer the same, and note how many predictions lie outside of those that the map was fitted
    to.
    """

    def noted(p: NDArray[Any], *rest: Any) -> Any:
        outside.append(recalibration.outside(p))
        return answer(p, *rest)

    return noted


def _within(found: Selection, capacity: int) -> str:
    """Say how many rows the capacity leaves out, and what one more would gain."""
    if found.wanted <= capacity:
        return f"Acting pays on {rows_text(found.wanted)}, if the probabilities are right: the capacity is enough."
    most = f"the capacity is {capacity:,}. One more would gain {found.one_more:.4g}"
    return f"Acting pays on {rows_text(found.wanted)}, if the probabilities are right; {most}."


def _selecting(
    arguments: argparse.Namespace,
    policy: RoundingPolicy | None,
    costs: list[str],
    taken: Counter[str | None],
    chosen: list[Selection],
) -> Any:
    """Decide by the costs, or by those of the policy, within the capacity, and count the decisions
    (as None).
    """
    actions = _ACTIONS if policy is None else policy.task.actions

    def select(p: NDArray[Any], ids: NDArray[Any] | None, *amounts: NDArray[Any]) -> NDArray[Any]:
        given = costs_of(arguments)
        if (
            costs
            and len(costs) == len(set(given.values()))
            and not np.any([amount > 0 for amount in amounts], axis=0).all()
        ):
            raise InputError(
                f"{' and '.join(costs)} must not both be 0 in a row: nothing is at stake"
            )
        task = task_of(arguments, actions, dict(zip(costs, amounts, strict=True)))
        if task is None:
            assert policy is not None
            task = policy.task
        acted_on = p if policy is None else policy.round(p, ids)
        seed = 0 if policy is None else policy.seed
        found = decide(acted_on, task, ids, capacity=arguments.capacity, seed=seed)
        chosen.append(found)
        return _counted(found.action, taken)

    return select


def _counted(action: NDArray[Any], taken: Counter[str | None]) -> NDArray[Any]:
    """Count actions by name, and all of them as None."""
    taken.update(
        {None: len(action), **dict(zip(*np.unique(action, return_counts=True), strict=True))}
    )
    return action


def _randomness(policy: RoundingPolicy, rows: int, rounded: Counter[str]) -> str:
    """Say that actions are random, for how many rows, and how many got another action for it."""
    how = str(policy).splitlines()[-1]
    if not policy.task.actions or not rows:
        return how
    share = f"{rows_text(rounded['random'])} ({100 * rounded['random'] / rows:.3g}%)"
    could = f"{share} could get either of two actions, depending on the id"
    other = f"{rounded['other']:,} got another action than without rounding"
    return f"{how} {could}; {other}. 'rainproof policy' estimates what that costs."


def _counting(policy: RoundingPolicy, taken: Counter[str | None], rounded: Counter[str]) -> Any:
    """The policy, counting its decisions (as None), its actions where they have names, and what
    rounding changed.
    """

    def count(p: NDArray[Any], ids: NDArray[Any] | None) -> NDArray[Any]:
        taken[None] += len(p)
        if not policy.task.actions:
            return policy.decide(p, ids)
        index = policy.decide_index(p, ids)
        for name, count in zip(policy.task.actions, np.bincount(index, minlength=1), strict=False):
            taken[name] += int(count)
        unrounded, random = policy.without_rounding(p)
        rounded["random"] += int(random.sum())
        rounded["other"] += int((index != unrounded).sum())
        return np.array(policy.task.actions).take(index)

    return count


def run_switch(arguments: argparse.Namespace) -> int:
    """Read the files and print the bounds; rows in groups and shares are kept, others are
    compressed at once.
    """
    note_repeated_ids(arguments)
    kept = arguments.fractional or arguments.groups is not None
    sample = (keep if kept else read)(arguments, [arguments.old, arguments.new])
    finish_result(
        arguments, switch_guarantee(sample, max_weight=arguments.max_weight, **inference(arguments))
    )
    return 0


def run_threshold(arguments: argparse.Namespace) -> int:
    """Read the files, find the threshold, and say what is proven there."""
    targets = {
        name: getattr(arguments, name) for name in ("precision", "recall", "false_positive_rate")
    }
    if not any(targets.values()):
        raise InputError(
            "state a target: --precision, --recall, --false-positive-rate, or several of them"
        )
    note_repeated_ids(arguments)
    most = arguments.max_weight
    # a weight bets row by row, and is refused without the largest one, also where all are equal
    by_weight = most is not None or arguments.weight is not None
    sample = keep(arguments, arguments.prob) if by_weight else read_rows(arguments)
    found = find_threshold(sample, max_weight=most, **targets, **inference(arguments))
    finish_result(arguments, found)
    return 0 if found.threshold is not None else NOT_PROVEN
