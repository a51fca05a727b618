"""A proven lower bound: somebody who acts on these predictions as they are loses at least this."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from rainproof.core.arrays import Floats, Ints
from rainproof.core.grid.rounded import split
from rainproof.core.regret import Chord, ends_of_chord
from rainproof.core.sample.sample import Sample, as_sample
from rainproof.core.shown import Shown
from rainproof.decisions.curve import worst_task
from rainproof.decisions.task import DecisionTask
from rainproof.errors import InputError
from rainproof.inference.bounds import one_way_curve
from rainproof.inference.clusters import numbered_groups
from rainproof.inference.guarantee import check_max_weight
from rainproof.inference.resampling import Seed, as_seed, check_share

BETS = 2.0 ** -np.arange(1, 11)  # at most 1/2, so that no factor of the martingale is negative
_FINEST = 1 << 10
_PRECISION = 1e-12


@dataclass(frozen=True, kw_only=True, slots=True)
class ActionChange:
    """Another action for a range of predictions.

    Attributes
    ----------
    low, high : float
        The range: predictions from `low` to below `high`.
    action : str
        The best action of the task if the prediction is right.
    replacement : str
        The action to take instead.
    """

    low: float
    high: float
    action: str
    replacement: str


@dataclass(frozen=True, kw_only=True, slots=True)
class LossAtLeast(Shown):
    """The result of `loss_at_least`.

    Attributes
    ----------
    bound : float
        In the population somebody who acts on the predictions as they are loses at least this, in expectation, as a
        share of what is at stake. 0 if the rows prove no loss.
    task : DecisionTask or None
        Who: a decision task, with payoffs in [0, 1]. None if `bound` is 0.
    changes : tuple of ActionChange
        Compared with what: the fixed change of actions that gains at least `bound` for this task.
    confidence_level : float
        The probability, at least, that the bound holds for a sample drawn as stated.
    n : int
        The number of rows.
    groups : int or None
        The number of groups, if rows were drawn in groups.
    seed : int or None
        The seed of the split into halves, if one was given.
    """

    bound: float
    task: DecisionTask | None
    changes: tuple[ActionChange, ...]
    confidence_level: float
    n: int
    groups: int | None
    seed: int | None

    def to_dict(self) -> dict[str, Any]:
        """Return the result in built-in types, ready for JSON."""
        changes = [{name: getattr(change, name) for name in ActionChange.__slots__} for change in self.changes]
        return {
            "result": "loss_at_least",
            "bound": self.bound,
            "task": self.task and self.task.to_dict(),
            "changes": changes,
            "confidence_level": self.confidence_level,
            "n": self.n,
            "groups": self.groups,
            "seed": self.seed,
        }

    def __repr__(self) -> str:
        level = f"confidence_level={self.confidence_level:g}, n={self.n}"
        return f"LossAtLeast(bound={self.bound:.6g}, changes={len(self.changes)}, {level})"

    def __str__(self) -> str:
        if self.task is None:
            return "These rows do not prove that any decision loses by acting on the predictions as they are."
        changes = "; ".join(
            f"{c.replacement!r} instead of {c.action!r} for predictions from {c.low:.4g} to {c.high:.4g}"
            for c in self.changes
        )
        return (
            f"With {100 * self.confidence_level:.4g}% confidence, some decision that rests on these predictions as "
            f"they are loses at least {100 * self.bound:.3g}% of what is at stake, in expectation.\n{self.task}\n"
            f"It loses that against a fixed change of actions: {changes}."
        )


def loss_at_least(
    y_true: ArrayLike | Sample,
    y_prob: ArrayLike | None = None,
    *,
    sample_weight: ArrayLike | None = None,
    pos_label: Any = None,
    groups: ArrayLike | None = None,
    max_weight: float | None = None,
    confidence_level: float = 0.95,
    rng: Seed = None,
) -> LossAtLeast:
    r"""Bound from below what somebody loses by acting on these predictions as they are.

    The opposite of `guarantee`: a proof of harm. It names a decision task and a fixed change of actions that gains at
    least `bound` for it, in expectation over the population that the rows came from.

    Parameters
    ----------
    y_true : array_like of shape (n,), or Sample
        The outcomes: 0 or 1, or any two labels with `pos_label`.
    y_prob : array_like of shape (n,)
        The predicted probability of the event, in [0, 1].
    sample_weight : array_like of shape (n,), optional
        The weight of each row: fixed weights, or with `max_weight` weights that depend on the predictions.
    pos_label : object, optional
        The label of the event, if labels are not 0 and 1.
    groups : array_like of shape (n,), optional
        The group of each row (patient, site, day): rows of a group may depend on each other, groups must be
        independent.
    max_weight : float, optional
        As for `guarantee`: the largest weight that a row can have (with `groups`, a whole group), known beforehand.
    confidence_level : float
        The probability, at least, that the bound holds for a sample drawn as stated.
    rng : numpy.random.Generator or int, optional
        The source of randomness for the split into halves; the same seed gives the same answer. Do not try several
        seeds and keep the best: the confidence is for one.

    Returns
    -------
    LossAtLeast

    Notes
    -----
    One half of the rows names a task and a change of actions. That makes one function :math:`g(p, y)` with values in
    [-1, 1]: what the change gains on a row. On the other half g is fixed in advance. With u in [0, 1] the weight of a
    draw over the largest possible one, :math:`\theta = E[u g] / E[u]` and a fixed :math:`0 \le x \le 1/2`, the factors
    :math:`1 + x u (g - \theta)` are not negative and have mean 1. So their product exceeds :math:`1/\delta` with
    probability at most :math:`\delta` (Markov), and :math:`\ln(1 + u z) \ge u \ln(1 + z)` gives

    .. math:: \sum u \ln(1 + x (g - \theta)) \le \ln(1/\delta).

    The left side falls in :math:`\theta`; where it meets the right side is the bound. Both halves take both parts, each
    with half of the error probability, and the larger bound counts. Proof: docs/inference-bounds.md.

    It uses half of the rows for the proof, so a small loss needs many rows. Rows must be drawn independently from the
    population (groups of rows, with `groups`), and the forecast must not have been fitted on them. A compressed sample
    gives the same answer as its rows if their weights are equal; unequal weights and groups need rows.

    Examples
    --------
    >>> import numpy as np, rainproof
    >>> rng = np.random.default_rng(0)
    >>> p = rng.random(5000)
    >>> y = rng.random(5000) < 0.5 + (p - 0.5) / 4       # overconfident
    >>> found = rainproof.loss_at_least(y, p, rng=0)
    >>> found.bound > 0.05
    True
    """
    sample = as_sample(y_true, y_prob, sample_weight=sample_weight, pos_label=pos_label)
    confidence_level = check_share(confidence_level, "confidence_level")
    generator, seed = as_seed(rng)
    (coins,) = generator.spawn(1)  # not the generator itself: rows simulated with the same seed would decide their coin
    finest = min(_FINEST, sample.grid or _FINEST)
    draws = _draws(sample, finest, groups, max_weight)
    halves = _halves(draws, coins)
    doubt = (1 - confidence_level) / 2
    best: tuple[float, _Rule | None] = (0.0, None)
    for first, second in (halves, halves[::-1]):
        rule = _choose(first, finest, doubt, coins)
        if rule is not None:
            best = max(best, (betting_bound(*second.gains(rule), rule.bet, doubt), rule), key=lambda found: found[0])
    bound, rule = best
    task = None if rule is None else worst_task(rule.chord)
    return LossAtLeast(
        bound=bound,
        task=task,
        changes=() if rule is None or task is None else _changes(rule, task),
        confidence_level=confidence_level,
        n=sample.n,
        groups=None if draws.group is None else int(draws.group.max()) + 1,
        seed=seed,
    )


@dataclass(frozen=True, kw_only=True, slots=True)
class _Rule:
    """A task by its chord, a change of actions by cell, its gain by cell and outcome, and how much to bet on it."""

    chord: Chord
    swap: Ints
    gain: Floats
    bet: float


@dataclass(frozen=True, kw_only=True, slots=True)
class _Draws:
    """Rows by slot (cell, outcome) of a grid: how many alike, the weight of each over the largest one, its group."""

    grid: int
    slot: Ints
    count: Ints
    weight: Floats
    group: Ints | None

    def at(self, grid: int) -> Ints:
        """The slots on a coarser grid; predictions of 1 are in the last cell."""
        coarse: Ints = 2 * np.minimum((self.slot >> 1) * grid // self.grid, grid - 1) + (self.slot & 1)
        return coarse

    def gains(self, rule: _Rule) -> tuple[Floats, Floats]:
        """Weight and gain of every draw."""
        gain, weight = rule.gain.ravel()[self.at(len(rule.gain))], self.count * self.weight
        if self.group is None:
            return weight, gain
        total: Floats = np.bincount(self.group, weight).astype(np.float64)
        some = total > 0
        return total[some], np.bincount(self.group, weight * gain)[some] / total[some]


def _draws(sample: Sample, grid: int, groups: ArrayLike | None, max_weight: float | None) -> _Draws:
    table = sample._cell_table(grid).coarsen(grid)
    each = table.weight[0] / table.count
    if groups is None and table.has_equal_weights:  # counts say it all
        largest = check_max_weight(max_weight, float(each.max()))
        return _Draws(grid=grid, slot=table.slot, count=table.count, weight=each / largest, group=None)
    if sample.grid is not None:
        raise InputError("unequal weights and groups need rows: a compressed sample cannot be split row by row")
    n = len(sample.y_prob)
    weight = np.ones(n) if sample.sample_weight is None else np.asarray(sample.sample_weight, np.float64)
    cell, _ = split(np.asarray(sample.y_prob, np.float64), grid)
    group = None if groups is None else numbered_groups(groups, n).astype(np.int64)
    largest = check_max_weight(max_weight, float((weight if group is None else np.bincount(group, weight)).max()))
    slot = 2 * cell + np.asarray(sample.y_true, np.int64)
    return _Draws(grid=grid, slot=slot, count=np.ones(n, np.int64), weight=weight / largest, group=group)


def _halves(draws: _Draws, rng: np.random.Generator) -> tuple[_Draws, _Draws]:
    """Toss a coin for each row, or for each group."""
    if draws.group is None:
        first: Ints = rng.binomial(draws.count, 0.5)
    else:
        first = draws.count * rng.integers(0, 2, int(draws.group.max()) + 1)[draws.group]
    return replace(draws, count=first), replace(draws, count=draws.count - first)


def _choose(half: _Draws, finest: int, doubt: float, rng: np.random.Generator) -> _Rule | None:
    """The rule on the most promising grid. Nothing here needs a proof: it only must not see the other half."""
    fit, check = _halves(half, rng)
    grids = [2**k for k in range(3, finest.bit_length())] or [finest]
    scores = []
    for grid in grids:
        rule = _rule(fit, grid, doubt)
        weight, gain = (np.zeros(1), np.zeros(1)) if rule is None else check.gains(rule)
        scores.append(-math.inf if rule is None else float(weight @ (gain - rule.bet / 2 * gain**2)))
    return _rule(half, grids[int(np.argmax(scores))], doubt)


def _rule(half: _Draws, grid: int, doubt: float) -> _Rule | None:
    """The task and the change with the largest loss, where gains count ``1 - bet/2`` times and losses ``1 + bet/2``."""
    weight = half.count * half.weight
    total = float(weight.sum())
    if total == 0:
        return None
    shares = np.bincount(half.at(grid), weight, 2 * grid).reshape(-1, 2) / total
    prob, edges = (np.arange(grid) + 0.5) / grid, np.arange(grid + 1) / grid
    found = [(*_discounted(shares, prob, edges, bet), bet) for bet in BETS.tolist()]
    chord, swap, bet = max(found, key=lambda one: 2 * one[0].value - math.log(1 / doubt) / (total * one[2]))
    ends, mass = np.array([chord.mu_a, chord.mu_b]), 2 * np.array([chord.share, 1 - chord.share])
    gain = np.stack([(swap * mass * (y - ends)).sum(axis=1) for y in (0, 1)], axis=1)
    return _Rule(chord=chord, swap=swap, gain=gain, bet=bet)


def _discounted(shares: Floats, prob: Floats, edges: Floats, bet: float) -> tuple[Chord, Ints]:
    more, less = shares * (1 - bet / 2), shares * (1 + bet / 2)
    up, down = (less[:, 0], more[:, 1]), (more[:, 0], less[:, 1])
    value = (one_way_curve(prob, *up, edges, up=True) + one_way_curve(prob, *down, edges, up=False)).min(axis=0)
    a, b, share = ends_of_chord(edges, value)
    ends, rates = edges[[a, b]], []
    for negative, positive in (up, down):
        both = negative + positive
        rates.append(np.divide(positive, both, out=prob.copy(), where=both > 0)[:, None])
    rises = (prob[:, None] < ends) & (rates[0] > ends)
    falls = (prob[:, None] > ends) & (rates[1] < ends)
    chord = Chord(
        mu_a=float(ends[0]),
        mu_b=float(ends[1]),
        share=share,
        regret_a=float(value[a]),
        regret_b=float(value[b]),
        above_a=True,
        above_b=True,
    )
    return chord, rises.astype(np.int64) - falls


def betting_bound(weight: Floats, gain: Floats, bet: float, doubt: float) -> float:
    """The loss at which ``sum of u ln(1 + bet (g - loss))`` falls to ``ln(1/doubt)``; 0 if it starts below."""
    low, high = 0.0, 1 - _PRECISION
    if weight @ np.log1p(bet * gain) <= -math.log(doubt):
        return 0.0
    while high - low > _PRECISION:
        middle = (low + high) / 2
        proven = weight @ np.log1p(bet * (gain - middle)) > -math.log(doubt)
        low, high = (middle, high) if proven else (low, middle)
    return low


def _changes(rule: _Rule, task: DecisionTask) -> tuple[ActionChange, ...]:
    """Neighbouring cells with the same change, as one range."""
    chord, grid = rule.chord, len(rule.gain)
    ends = np.array([chord.mu_a, chord.mu_b])
    used = np.array([chord.share > 0 and chord.regret_a > 0, chord.share < 1 and chord.regret_b > 0])
    action = ((np.arange(grid)[:, None] / grid >= ends) & used).sum(axis=1)
    replacement = action + (rule.swap * used).sum(axis=1)
    runs = np.split(np.arange(grid), np.flatnonzero(np.diff(3 * action + replacement)) + 1)
    return tuple(
        ActionChange(
            low=float(run[0] / grid),
            high=float((run[-1] + 1) / grid),
            action=task.actions[action[run[0]]],
            replacement=task.actions[replacement[run[0]]],
        )
        for run in runs
        if action[run[0]] != replacement[run[0]]
    )
