"""Proven lower bounds: there is a decision that loses, or gains, at least this."""

from __future__ import annotations

import math
from dataclasses import replace
from operator import attrgetter
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rainproof.core.arrays import Floats, Ints
from rainproof.core.cells import split
from rainproof.core.curve import Chord, SwitchCurve, envelope
from rainproof.core.result import Result
from rainproof.core.sample import Sample, as_sample
from rainproof.core.text import percent
from rainproof.decisions.swaps import worst_task
from rainproof.decisions.tasks import DecisionTask
from rainproof.errors import InputError
from rainproof.inference.bounds import one_way_curve
from rainproof.inference.options import Seed, as_seed, check_max_weight, check_share

BETS: Floats = 2.0 ** -np.arange(1.0, 11.0)  # at most 1/2, so that no factor of the martingale is negative
_FINEST = 1 << 10
_STEPS = 40  # halvings of the interval that contains a bound
_GRID = 1 << 10  # of the thresholds among which half of the rows chooses a task


class ActionChange(Result):
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


class LossAtLeast(Result):
    """The result of `loss_at_least`.

    Attributes
    ----------
    bound : float
        In the population there is a decision that loses at least this by acting on the predictions as they are, in
        expectation, as a share of what is at stake. 0 if the rows prove no loss.
    task : DecisionTask or None
        That decision, with payoffs in [0, 1]. None if `bound` is 0.
    changes : tuple of ActionChange
        What it is compared with: the fixed change of actions that gains at least `bound` for this task.
    confidence_level : float
        The probability, at least, that the bound holds for a sample drawn as stated.
    n : int
        The number of rows.
    groups : int or None
        The number of groups, if rows were drawn in groups.
    seed : int or None
        The seed of the split into halves, if one was given.
    """

    _kind = "loss_at_least"
    bound: float
    task: DecisionTask | None
    changes: tuple[ActionChange, ...]
    confidence_level: float
    n: int
    groups: int | None
    seed: int | None

    def __str__(self) -> str:
        if self.task is None:
            return "These rows do not prove that any decision loses by acting on the predictions as they are."
        changes = "; ".join(
            f"{c.replacement!r} instead of {c.action!r} for predictions from {c.low:.4g} to {c.high:.4g}"
            for c in self.changes
        )
        return (
            f"With {percent(self.confidence_level)} confidence, there is a decision that acts on these predictions as "
            f"they are and loses at least {100 * self.bound:.3g}% of what is at stake, in expectation.\n{self.task}\n"
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
    r"""Bound from below what some decision loses by acting on these predictions as they are.

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
    with half of the error probability, and the larger bound counts. Proof: docs/theory/bounds.md.

    It uses half of the rows for the proof, so a small loss needs many rows. Rows must be drawn independently from the
    population (groups of rows, with `groups`), and the forecast must not have been fitted on them. A compressed sample
    gives the same answer as its rows if their weights are equal; unequal weights and groups need rows.

    Examples
    --------
    >>> import numpy as np, rainproof
    >>> rng = np.random.default_rng(0)
    >>> p = rng.random(5000)
    >>> y = rng.random(5000) < 0.5 + (p - 0.5) / 4       # overconfident
    >>> found = rainproof.inference.loss_at_least(y, p, rng=0)
    >>> found.bound > 0.05
    True
    """
    sample = as_sample(y_true, y_prob, sample_weight=sample_weight, pos_label=pos_label, groups=groups)
    confidence_level = check_share(confidence_level, "confidence_level")
    generator, seed = as_seed(rng)
    (coins,) = generator.spawn(1)  # not the generator itself: rows simulated with the same seed would decide their coin
    finest = min(_FINEST, sample.grid or _FINEST)
    rows, count = _rows_by_slot(sample, finest, max_weight)
    halves = _halves(rows, count, coins)
    doubt = (1 - confidence_level) / 2
    bound, task, changes = 0.0, None, tuple[ActionChange, ...]()
    for first, second in (halves, halves[::-1]):
        rule = _choose(rows, first, doubt, coins)
        if rule is None:
            continue
        chord, swap, bet = rule
        proven = at_least(*_gains(rows, second, chord, swap), doubt, bets=np.array([bet]))
        if proven > bound:
            bound, task = proven, worst_task(chord)
            changes = () if task is None else _changes(chord, swap, task)
    return LossAtLeast(
        bound=bound,
        task=task,
        changes=changes,
        confidence_level=confidence_level,
        n=sample.n,
        groups=sample.groups,
        seed=seed,
    )


_Rule = tuple[Chord, Ints, float]  # a task by its chord, a change of actions by cell, and how much to bet on it


# A grid; and by entry its slot (cell, outcome), the weight of each of its rows over the largest one, and its group.
_Rows = tuple[int, Ints, Floats, Ints | None]


def _rows_by_slot(sample: Sample, grid: int, max_weight: float | None) -> tuple[_Rows, Ints]:
    """The rows by slot of a grid, and how many are alike in each entry."""
    table = sample._cell_table(grid).coarsen(grid)
    each = table.weight[0] / table.count
    if sample._group is None and table.has_equal_weights:  # counts say it all
        return (grid, table.slot, each / check_max_weight(max_weight, float(each.max())), None), table.count
    if sample.grid is not None:
        raise InputError("unequal weights and groups need rows: a compressed sample cannot be split row by row")
    weight, group = sample.mass, sample._group
    largest = check_max_weight(max_weight, float((weight if group is None else sample._draw_weight).max()))
    slot = 2 * split(sample.prob, grid)[0] + sample.event
    return (grid, slot, weight / largest, group), np.ones(len(slot), np.int64)


def _on_grid(rows: _Rows, grid: int) -> Ints:
    """The slots on a coarser grid; predictions of 1 are in the last cell."""
    finest, slot, *_ = rows
    coarse: Ints = 2 * np.minimum((slot >> 1) * grid // finest, grid - 1) + (slot & 1)
    return coarse


def _gains(rows: _Rows, count: Ints, chord: Chord, swap: Ints) -> tuple[Floats, Floats]:
    """The weight of every draw, and what it gains by a change of actions for the task of a chord."""
    ends, mass = np.array([chord.mu_a, chord.mu_b]), 2 * np.array([chord.share, 1 - chord.share])
    by_slot = np.stack([(swap * mass * (y - ends)).sum(axis=1) for y in (0, 1)], axis=1)
    gain, weight, group = by_slot.ravel()[_on_grid(rows, len(swap))], count * rows[2], rows[3]
    return (weight, gain) if group is None else _by_group(group, weight, gain)


def _halves(rows: _Rows, count: Ints, rng: np.random.Generator) -> tuple[Ints, Ints]:
    """Toss a coin for each row, or for each group; how many of each entry are in either half."""
    group = rows[3]
    if group is None:
        first: Ints = rng.binomial(count, 0.5)
    else:
        first = count * rng.integers(0, 2, int(group.max()) + 1)[group]
    return first, count - first


def _choose(rows: _Rows, count: Ints, doubt: float, rng: np.random.Generator) -> _Rule | None:
    """The rule on the most promising grid. Nothing here needs a proof: it only must not see the other half."""
    fit, check = _halves(rows, count, rng)
    grids = [2**k for k in range(3, rows[0].bit_length())] or [rows[0]]
    scores = []
    for grid in grids:
        scores.append(-math.inf)
        if (rule := _rule(rows, fit, grid, doubt)) is not None:
            chord, swap, bet = rule
            weight, gain = _gains(rows, check, chord, swap)
            scores[-1] = float(weight @ (gain - bet / 2 * gain**2))
    return _rule(rows, count, grids[int(np.argmax(scores))], doubt)


def _rule(rows: _Rows, count: Ints, grid: int, doubt: float) -> _Rule | None:
    """The task and the change with the largest loss, where gains count ``1 - bet/2`` times and losses ``1 + bet/2``."""
    weight = count * rows[2]
    total = float(weight.sum())
    if total == 0:
        return None
    shares = np.bincount(_on_grid(rows, grid), weight, 2 * grid).reshape(-1, 2) / total
    prob, edges = (np.arange(grid) + 0.5) / grid, np.arange(grid + 1) / grid
    found = [(*_discounted(shares, prob, edges, bet), bet) for bet in BETS.tolist()]
    return max(found, key=lambda one: 2 * one[0].value - math.log(1 / doubt) / (total * one[2]))


def _discounted(shares: Floats, prob: Floats, edges: Floats, bet: float) -> tuple[Chord, Ints]:
    more, less = shares * (1 - bet / 2), shares * (1 + bet / 2)
    up, down = (less[:, 0], more[:, 1]), (more[:, 0], less[:, 1])
    value = (one_way_curve(prob, *up, edges, up=True) + one_way_curve(prob, *down, edges, up=False)).min(axis=0)
    chord, rates = envelope(edges, value), []
    ends = np.array([chord.mu_a, chord.mu_b])
    for negative, positive in (up, down):
        both = negative + positive
        rates.append(np.divide(positive, both, out=prob.copy(), where=both > 0)[:, None])
    rises = (prob[:, None] < ends) & (rates[0] > ends)
    falls = (prob[:, None] > ends) & (rates[1] < ends)
    return chord, rises.astype(np.int64) - falls


def at_least(weight: Floats, gain: Floats, delta: float, *, per: ArrayLike = 1.0, bets: Floats = BETS) -> float:
    """Bound the mean of `gain` from below, as a multiple of that of `per`, by bets on draws of these weights.

    It is the largest r in [0, 1] for which bets on ``gain - r per``, some share of the stake on each, multiply it on
    average by more than ``1/delta``: if the mean of `gain` were r times that of `per`, that would happen with
    probability at most `delta`. 0 if there is none. Every proven gain of rainproof is this bound.
    """

    def proven(share: float) -> bool:
        logs = weight @ np.log1p(bets * (gain - share * np.asarray(per))[:, None])
        return bool(np.logaddexp.reduce(logs) - math.log(len(bets)) > -math.log(delta))

    if not proven(0.0):
        return 0.0
    low, high = 0.0, 1.0
    for _ in range(_STEPS):
        middle = (low + high) / 2
        low, high = (middle, high) if proven(middle) else (low, middle)
    return low


def _changes(chord: Chord, swap: Ints, task: DecisionTask) -> tuple[ActionChange, ...]:
    """Neighbouring cells with the same change, as one range."""
    grid = len(swap)
    ends = np.array([chord.mu_a, chord.mu_b])
    used = np.array([chord.share > 0 and chord.regret_a > 0, chord.share < 1 and chord.regret_b > 0])
    action = ((np.arange(grid)[:, None] / grid >= ends) & used).sum(axis=1)
    replacement = action + (swap * used).sum(axis=1)
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


def gain_at_least(sample: Sample, delta: float, rng: np.random.Generator) -> float | None:
    """There is a decision that gains at least this by the second forecast of a sample in place of the first.

    One half of the draws names a task and a bet, the other bounds its gain; both ways round. None if compressed rows of
    unequal weights cannot be divided.
    """
    (coins,) = rng.spawn(1)  # not `rng` itself: rows simulated with the same seed would decide their own coin
    if not sample._divisible:
        return None
    weight = None if sample.grid is not None else sample.sample_weight
    if weight is not None and not (weight > 0).all():  # rows of weight zero are no draws
        sample = sample._at(weight > 0)
    one, other = sample._halves(coins)
    return max(gain_of_choice(a, b, delta / 2)[1] for a, b in ((one, other), (other, one)))


def gain_of_choice(chooser: Sample, judge: Sample, delta: float) -> tuple[float, float]:
    """Name a task and a bet on some rows, and bound the gain of the task on others, which are independent of them.

    Returns the mean gain, an estimate without bias, and its lower bound.
    """
    (m, first, second, weight), (_, *judged, mass) = _pairs(chooser), _pairs(judge)
    total, group = float(weight.sum()), judge._group
    if total == 0 or not mass.any():
        return 0.0, 0.0
    largest = 1.0 if judge.counts is not None else float((mass if group is None else np.bincount(group, mass)).max())
    curve = SwitchCurve._from_cells(first, second, chooser.event, weight, m)
    price = math.log(1 / delta) * largest / total
    # Gains count 1 - bet/2 times and losses 1 + bet/2 times, as in the logarithm of the bet to second order.
    found = [(curve.chord(-bet / 2, back=True), bet) for bet in BETS.tolist()]
    chord, bet = max(found, key=lambda one: 2 * one[0].value - price / one[1])
    ends = [round(m * mu) for mu in (chord.mu_a, chord.mu_b)]
    acts = [(cell >= ends[0]).view(np.uint8) + (cell >= ends[1]) for cell in judged]
    kind = 6 * acts[0] + 2 * acts[1] + judge.event  # how many thresholds each prediction reaches, and the outcome
    old, new, event = (part.reshape(-1, 1) for part in np.unravel_index(np.arange(18), (3, 3, 2)))
    stake = 2 * np.array([chord.share, 1 - chord.share]) * (event - np.array([chord.mu_a, chord.mu_b]))
    gain: Floats = (stake * ((new > [0, 1]) * 1.0 - (old > [0, 1]))).sum(axis=1)  # of the new forecast, by kind
    if group is None:
        weight = np.bincount(kind, mass, 18).astype(np.float64)
    else:
        weight, gain = _by_group(group, mass, gain[kind])
    estimate = float(weight @ gain) / float(weight.sum())
    return estimate, at_least(weight / largest, gain, delta, bets=np.array([bet]))


def _pairs(sample: Sample) -> tuple[int, NDArray[np.int32], NDArray[np.int32], Floats]:
    """The cells ``floor(m p)`` of both predictions of each row, with m, and the weight of each row.

    They are the thresholds among which a decision is chosen.
    """
    if sample.grid is not None:
        return sample.grid, *sample._pair_cells(), sample._cells.count.astype(np.float64)
    old, new = ((_GRID * sample._predictions(name)).astype(np.int32) for name in sample.forecasts)
    return _GRID, old, new, sample.mass


def _by_group(group: Ints, weight: Floats, gain: Floats) -> tuple[Floats, Floats]:
    """The weight of each group that has some, and its mean gain."""
    total = np.bincount(group, weight).astype(np.float64)
    some = total > 0
    return total[some], np.bincount(group, weight * gain)[some] / total[some]


_THRESHOLDS = 256  # that the rows choose from
_LEAST = 1e-12


class ProvenGain(Result):
    """What some decision gains by acting on the forecast over no forecast, in expectation, in the population.

    No forecast means the better of always and never acting. Each of the two bounds holds by itself.

    Attributes
    ----------
    relative_at_least : float
        A share of what perfect foresight would gain, at `relative_threshold`: 1 is perfect, 0 if nothing is proven.
    relative_threshold : float or None
        The probability from which on that decision acts.
    gain_at_least : float
        A share of what is at stake, at `gain_threshold`; 0 if nothing is proven.
    gain_threshold : float or None
        The probability from which on that decision acts.
    confidence_level : float
        The probability, at least, that a bound holds for a sample drawn as stated.
    """

    relative_at_least: float
    relative_threshold: float | None
    gain_at_least: float
    gain_threshold: float | None
    confidence_level: float

    @property
    def proven(self) -> bool:
        """Whether some decision gains, in shares of perfect foresight."""
        return self.relative_at_least > 0


def worth(rows: Sample, confidence_level: float, rng: np.random.Generator) -> ProvenGain:
    """Name a threshold on one half of the rows and bound the gain there on the other; both ways round."""
    level = 1 - (1 - confidence_level) / 2
    one, other = rows._halves(rng)
    found = [worth_of_choice(a, b, level) for a, b in ((one, other), (other, one))]
    relative = max(found, key=attrgetter("relative_at_least"))
    gain = max(found, key=attrgetter("gain_at_least"))
    return replace(
        relative,
        gain_at_least=gain.gain_at_least,
        gain_threshold=gain.gain_threshold,
        confidence_level=confidence_level,
    )


def worth_of_choice(chooser: Sample, judge: Sample, confidence_level: float) -> ProvenGain:
    """Name a threshold on some rows, and bound the gain there on others, which are independent of them."""
    relative, gain = _best_thresholds(chooser, judge, confidence_level)
    bounds = [0.0, 0.0]
    for k, threshold in enumerate((relative, gain)):
        if threshold is not None and judge.n:
            bounds[k] = _bound(judge, threshold, relative=k == 0, delta=1 - confidence_level)
    stakes = 1.0 if gain is None else max(gain, 1 - gain)
    return ProvenGain(
        relative_at_least=bounds[0],
        relative_threshold=relative if bounds[0] > 0 else None,
        gain_at_least=min(bounds[1] / stakes, 1.0),
        gain_threshold=gain if bounds[1] > 0 else None,
        confidence_level=confidence_level,
    )


def _best_thresholds(rows: Sample, judge: Sample, confidence_level: float) -> tuple[float | None, float | None]:
    """The thresholds at which a bound should be largest, in shares of perfect foresight and of what is at stake."""
    mass, prob, event = rows.mass, rows.prob, rows.event
    order = np.argsort(prob)
    total = float(mass.sum())
    if total == 0:
        return None, None
    prob, event = prob[order], event[order]
    negative, positive = (np.cumsum((mass[order] * which)[::-1])[::-1] / total for which in (~event, event))
    first = np.flatnonzero(np.diff(prob, prepend=-1.0))  # act from these predictions on
    below = np.append(0.0, prob[first[1:] - 1])  # the predictions before them
    some = np.unique(np.linspace(0, len(first) - 1, _THRESHOLDS).astype(np.int64))
    first, mu = np.repeat(first[some], 2), np.repeat(prob[first[some]], 2)
    mu[1::2] = (mu[1::2] + below[some]) / 2  # acting from half-way on is the same
    false_alarms, hits = negative[first], positive[first]
    rate = float(positive[0])
    never = hits * (1 - mu) - false_alarms * mu
    value = np.minimum(never, never - (rate - mu))
    perfect = np.minimum(mu * (1 - rate), (1 - mu) * rate)
    missed, spared = rate - hits, 1 - rate - false_alarms
    against_never, against_always = (a * (1 - mu) ** 2 + b * mu**2 for a, b in ((hits, false_alarms), (missed, spared)))
    square = np.maximum(np.where(rate <= mu, against_never, against_always), 0.0)
    error = np.sqrt(2 * math.log(1 / (1 - confidence_level)) * square / max(float(judge.mass.sum()), 1.0))
    inside = perfect > _LEAST  # elsewhere nothing is at stake
    if not inside.any():
        return None, None
    likely = np.where(inside, value - error, -np.inf)
    shares = (likely / np.where(inside, perfect, 1.0), likely / np.maximum(mu, 1 - mu))
    relative, gain = (float(mu[int(np.argmax(share))]) for share in shares)
    return relative, gain


def _bound(rows: Sample, mu: float, *, relative: bool, delta: float) -> float:
    """The smaller of what is proven against never acting and against always acting: one of them is no forecast."""
    acts, event = rows.prob >= mu, rows.event
    gains = (acts * (event - mu), ~acts * (mu - event))
    perfect = ((1 - mu) * event, mu * ~event) if relative else (np.ones(len(acts)),) * 2
    kind = 2 * acts + event
    found = []
    for gain, best in zip(gains, perfect, strict=True):
        weight, (gained, foreseen) = _worth_draws(rows, kind, np.stack([gain, best]))
        found.append(at_least(weight, gained, delta, per=foreseen))
    return min(found)


def _worth_draws(rows: Sample, kind: Ints, columns: Floats) -> tuple[Floats, Floats]:
    """The weight of each draw over the largest one, and its means; rows that are alike are one."""
    mass, group = rows.mass, rows._group
    if group is None:
        largest = 1.0 if rows.counts is not None else float(mass.max())
        _, first = np.unique(kind, return_index=True)
        weight = np.bincount(kind, mass, 4)[kind[first]]
        return weight / largest, columns[:, first]
    weights, means = zip(*(_by_group(group, mass, column) for column in columns), strict=True)
    return weights[0] / weights[0].max(), np.stack(means)
