"""Proven lower bounds: there is a decision that loses, or gains, at least this."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache, partial
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import expit, logit

from rainproof.core import digests
from rainproof.core._switch import sum_cells
from rainproof.core.arrays import Floats, Ints
from rainproof.core.curve import Chord, SwitchCurve, isotonic
from rainproof.core.distinct import DistinctTable
from rainproof.core.result import Result
from rainproof.core.sample import Sample, as_sample
from rainproof.core.text import if_drawn, percent
from rainproof.core.validation import BaseRate, ThresholdRange, check_range
from rainproof.decisions.regret_curves import worst_task
from rainproof.decisions.tasks import DecisionTask
from rainproof.errors import InputError
from rainproof.fits.bins import equal_weight_bins
from rainproof.fits.logistic import NormalPrior, fit_logistic_with_prior
from rainproof.inference.bounds import largest_draws
from rainproof.inference.options import Seed, as_seed, bisected, check_max_weight, check_share

_PARTS, _CHOOSING = 12, 2  # parts that the rows are dealt to, and how many of them choose only
_ORDERS = 8  # of the rows; fewer, but two at least, where rows (or kinds of them) are many
_MANY = 300_000  # of them in all orders
# stakes by which rows of different weights are pooled
_NODES = np.append(2.0 ** (-np.arange(80) / 4), 0.0)
_FEW = 1 << 10  # that are not pooled
_FINE, _HALVINGS = 1e-10, 34  # of a bound
_ALIKE = 1e-11  # between gains that are the same but for rounding


@dataclass(frozen=True, kw_only=True, slots=True, eq=False, repr=False)
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


@dataclass(frozen=True, kw_only=True, slots=True, eq=False, repr=False)
class LossAtLeast(Result):
    """The result of `loss_at_least`.

    Attributes
    ----------
    bound : float
        In the population there is a decision that loses at least this by acting on the predictions
        as they are, in expectation, as a share of what is at stake. 0 if the rows prove no loss.
    task : DecisionTask or None
        An example of such a decision, with payoffs in [0, 1]: the one that these rows suggest, all
        of them. It is not proven that it is this one. None if `bound` is 0.
    changes : tuple of ActionChange
        The fixed change of actions that these rows suggest for `task`.
    threshold_range : ThresholdRange or None
        The decisions that it is about, as for `SwitchGuarantee`; None if about every decision.
    confidence_level : float
        The probability, at least, that the bound holds for a sample drawn as stated.
    n : int
        The number of rows.
    groups : int or None
        The number of groups, if rows were drawn in groups.
    seed : int or None
        The seed of the orders of the rows; None if a generator was given.
    base_rate : float or None
        The event rate of the population, if it was stated.
    max_weight : float or None
        The largest weight that a row (with groups, a group) can have, if it was stated.
    weighted : bool
        Whether rows have weights, equal ones too: other cases may have others.
    """

    _kind = "loss_at_least"
    bound: float
    task: DecisionTask | None
    changes: tuple[ActionChange, ...]
    threshold_range: ThresholdRange | None
    confidence_level: float
    n: int
    groups: int | None
    seed: int | None
    base_rate: BaseRate | None = None
    max_weight: float | None = None
    weighted: bool = False

    def __str__(self) -> str:
        which = "" if self.threshold_range is None else f" {self.threshold_range}"
        if self.bound == 0:
            return f"These rows do not prove that any decision{which} loses by acting on the predictions as they are."
        found = (
            f"With {percent(self.confidence_level)} confidence, there is a decision{which} that acts on these "
            f"predictions as they are and loses at least {100 * self.bound:.3g}% of what is at stake, in expectation, "
            "against a fixed change of actions, if "
            f"{if_drawn(self.groups, 'the predictions', self.base_rate, self.max_weight, weighted=self.weighted)}."
        )
        if self.task is None:
            return found
        changes = "; ".join(
            f"{c.replacement!r} instead of {c.action!r} for predictions from {c.low:.4g} to {c.high:.4g}"
            for c in self.changes
        )
        return (
            f"{found}\nThese rows suggest, as an example that is not proven by itself: {changes}, in this decision.\n"
            f"{self.task}"
        )


def loss_at_least(
    y_true: ArrayLike | Sample,
    y_prob: ArrayLike | None = None,
    *,
    sample_weight: ArrayLike | None = None,
    pos_label: Any = None,
    groups: ArrayLike | None = None,
    base_rate: float | None = None,
    max_weight: float | None = None,
    threshold_range: float | tuple[float, float] | None = None,
    confidence_level: float = 0.95,
    rng: Seed = 0,
) -> LossAtLeast:
    r"""Bound from below what some decision loses by acting on these predictions as they are.

    The opposite of `guarantee`: a proof of harm. There are a decision task and a fixed change of
    actions that gains at least `bound` for it, in expectation over the population that the rows
    came from. So there is a correction of the predictions that some decision gains by.

    Parameters
    ----------
    y_true : array_like of shape (n,), or Sample
        The outcomes: 0 or 1, or any two labels with `pos_label`.
    y_prob : array_like of shape (n,)
        The predicted probability of the event, in [0, 1].
    sample_weight : array_like of shape (n,), optional
        The weight of each row: fixed weights, which do not depend on predictions or outcomes, or
        with `max_weight` any.
    pos_label : object, optional
        The label of the event, if labels are not 0 and 1.
    groups : array_like of shape (n,), optional
        The group of each row (patient, site, day): rows of a group may depend on each other, groups
        must be independent. Their sizes must not depend on predictions or outcomes, unless
        `max_weight` is stated.
    base_rate : float, optional
        The event rate of the population, if these rows have another one (see `Sample`). Rows of
        either outcome are then matched at random, and a draw is one row of the rarer outcome with
        its share of the others.
    max_weight : float, optional
        As for `guarantee`: the largest weight that a row can have (with `groups`, a whole group),
        known beforehand.
    threshold_range : float or (float, float), optional
        Look for decisions with one threshold, or whose thresholds all lie in this range, ends
        included. Default: all.
    confidence_level : float
        The probability, at least, that the bound holds for a sample drawn as stated.
    rng : numpy.random.Generator or int
        The source of randomness for the orders of the rows; the same rows and seed give the same
        answer, in whatever order they come. Do not try several seeds, or edited rows, and keep the
        best: the confidence is for one.

    Returns
    -------
    LossAtLeast

    Notes
    -----
    Rows (or groups) are dealt at random to twelve parts. The first two only choose. Before each other part, a
    correction of the predictions and a task are chosen on all earlier parts. That makes one function :math:`g(p, y)`
    with values in [-1, 1]: what the change of actions gains on a row. With u in [0, 1] the weight of a draw over the
    largest possible one, and a bet :math:`0 < x \le 1/2`, the product over all draws of these parts

    .. math:: \prod (1 + x u (g - \theta))

    has mean at most 1 if no task and change gain more than :math:`\theta` in the population:
    whatever is chosen from earlier rows, each factor then has mean at most 1. So has the mean of
    these products over several bets, three kinds of corrections (logistic, isotonic, bins) and four
    random orders of the rows (fewer, if there are very many). It exceeds :math:`1/\delta` with
    probability at most :math:`\delta` (Markov), and it falls in :math:`\theta`; where it meets
    :math:`1/\delta` is the bound. Proof: docs/theory/bounds.md.

    A small loss needs many rows. Rows must be drawn independently from the population (groups of
    rows, with `groups`), and the forecast must not have been fitted on them. A compressed sample
    gives the same answer as its rows if their weights are equal; unequal weights and groups need
    rows.

    Examples
    --------
    >>> import numpy as np, rainproof
    >>> rng = np.random.default_rng(0)
    >>> p = rng.random(5000)
    >>> y = rng.random(5000) < 0.5 + (p - 0.5) / 4       # overconfident
    >>> found = rainproof.inference.loss_at_least(y, p)
    >>> found.bound > 0.05
    True
    """
    columns = {"sample_weight": sample_weight, "pos_label": pos_label, "groups": groups}
    sample = as_sample(y_true, y_prob, **columns, base_rate=base_rate)
    confidence_level = check_share(confidence_level, "confidence_level")
    seed = as_seed(rng, sample)[1]
    rows, delta = (
        _Rows.read(sample, rng, check_range(threshold_range), max_weight),
        1 - confidence_level,
    )
    bets, price = _costs(rows, delta)

    def choose(sums: Floats, total: float) -> Sequence[_Rule | None]:
        chosen = [_correction(rows, fit, sums, total, bets, price) for fit in _FITS]
        return [_switch_rule(rows, task, new[rows.cells[0]]) for task, new in chosen]

    by_fit = _chains(rows, choose, delta, rng, rules=len(_FITS), orders=_ORDERS // 2)
    bound = at_least([chain for chains in by_fit for chain in chains], delta, bets)
    task, changes = None, tuple[ActionChange, ...]()
    if bound > 0:
        best = max(range(len(_FITS)), key=lambda k: at_least(by_fit[k], delta, bets))
        mass = rows.mass
        chord, new = _correction(
            rows, _FITS[best], rows.sums(slice(None), mass), float(mass.sum()), bets, price
        )
        task = None if chord is None else worst_task(chord)
        changes = () if chord is None or task is None else _changes(rows, chord, new, task)
    return LossAtLeast(
        bound=bound,
        task=task,
        changes=changes,
        threshold_range=rows.within,
        confidence_level=confidence_level,
        n=sample.n,
        groups=sample.groups,
        seed=seed,
        base_rate=sample.base_rate,
        max_weight=None if max_weight is None else float(max_weight),
        weighted=sample._weighted,
    )


# Bets on the draws of one block; draws that are alike are one entry. They are the stake of each,
# its weight over the largest possible one; how many draws are alike; what each gains over each
# alternative, and what the bound is a multiple of (arrays of alternatives and entries); and a
# threshold: of two alternatives, never and always acting, the second is the better one if the event
# rate is at least this.
Wager = tuple[Floats, Floats, Floats, Floats, float]


def at_least(chains: Sequence[Sequence[Wager]], delta: float, bets: Floats) -> float:
    """Bound a gain from below by bets on draws, block after block; each chain of blocks bets on all
    of them anew.

    It is the largest r in [0, 1] for which bets on ``gain - r per``, some share of the stake on
    each draw, multiply it by more than ``1/delta``, on average over the chains and the bets. If
    what each block bets on was chosen without its rows and those after it, and every choice gains
    at most r, then that happens with probability at most `delta`. 0 if there is none. Every proven
    gain of rainproof is this bound.
    """
    if not any(chains):
        return 0.0
    stakes, numbers, gains, shares, thresholds = zip(
        *(block for chain in chains for block in chain), strict=True
    )
    stake, number, threshold = np.concatenate(stakes), np.concatenate(numbers), np.array(thresholds)
    gain, per = np.concatenate(gains, axis=1), np.concatenate(shares, axis=1)
    start = np.cumsum([0, *map(len, stakes[:-1])])
    of_chain = np.repeat(np.eye(len(chains)), [len(chain) for chain in chains], axis=1)

    def excess(share: float) -> float:
        """The logarithm of the mean wealth times delta: against the better alternative, whichever
        that is.
        """
        net = stake * (gain - share * per)
        # by bet and alternative
        logs = np.add.reduceat(number * np.log1p(bets[:, None, None] * net), start, axis=2)
        if len(gain) == 1:
            wealth = of_chain @ logs[:, 0].T
        else:  # for each rate of events that makes a difference
            rates = np.append(-np.inf, np.unique(threshold))
            always = threshold <= rates[:, None, None]
            wealth = of_chain @ np.where(always, logs[:, 1], logs[:, 0]).swapaxes(1, 2)
        wealth = wealth.reshape(-1, len(chains) * len(bets))
        return float(np.logaddexp.reduce(wealth, axis=1).min()) + math.log(delta / wealth.shape[1])

    most = 1 - _FINE
    if not excess(0.0) > 0:
        return 0.0
    if excess(most) > 0:
        return most
    return bisected(lambda share: excess(share) > 0, most, 0.0, _HALVINGS)


def bets_on(draws: int, delta: float) -> Floats:
    """The bets on so many draws, as shares of the stake.

    They are at most 1/2, so that no factor is negative, and not below what can be best for so many
    draws. They depend on nothing but their number.
    """
    bets, least = 2.0 ** -np.arange(1.0, 21.0), math.sqrt(2 * math.log(1 / delta) / max(draws, 1))
    return bets[: max(1, int(np.sum(bets >= least)))]


def _costs(rows: _Rows, delta: float) -> tuple[Floats, float]:
    """The bets, and what a proof costs a choice: its gain, less this over the bet."""
    sample = rows.sample
    size = (
        1.0
        if not sample.n
        else sample.n_draws
        if rows.stated
        else min(sample.effective_n, sample.n_draws)
    )
    return bets_on(sample.n_draws, delta), math.log(1 / delta) / size


_FINEST = 1 << 16  # of which all thresholds are multiples
Cells = NDArray[np.int32]


@cache
def _thresholds(
    grid: int | None, within: ThresholdRange | None = None
) -> tuple[Floats, ThresholdRange | None]:
    """The thresholds that decisions are chosen from, which are multiples of ``1/grid``, and the
    range of them.

    They are the multiples of 1/1024, more near 0 and near 1, where rare events have theirs, and the
    ends of the range; with a grid, the next multiples outside of it.
    """
    finest = min(grid or _FINEST, _FINEST)
    if within is not None and grid is not None:
        within = ThresholdRange(
            math.floor(within.low * grid) / grid, math.ceil(within.high * grid) / grid
        )
    near = np.concatenate([np.arange(1 << j, 2 << j, max(1, 1 << j >> 5)) for j in range(11)])
    edges = np.concatenate([near, _FINEST - near, np.arange(0, _FINEST + 1, _FINEST >> 10)])
    edges = edges[edges % (_FINEST // finest) == 0] / _FINEST
    return np.unique(np.append(edges, within or ())), within


@cache
def _slots(size: int) -> tuple[Cells, NDArray[np.bool_]]:
    """The cell and the outcome of each slot."""
    return np.repeat(np.arange(size, dtype=np.int32), 2), np.tile([False, True], size)


@dataclass(frozen=True, slots=True, eq=False)
class _Rows:
    """Rows that are dealt, chosen from and bet on; an entry is one of them, or all that are alike.

    Attributes
    ----------
    sample : Sample
        Which rows are one draw, and how they are dealt.
    edges : ndarray of shape (m + 1,)
        The thresholds that decisions are chosen from.
    cells : tuple of ndarray
        The number of the last threshold up to each prediction, of one forecast or of an old and a
        new one.
    event : ndarray
        Whether the entries have the event.
    stake : ndarray
        The weight of each row over that of the largest possible draw.
    count : ndarray or None
        The number of rows in each entry, whose stakes are then all equal; None if each is a row.
    within : ThresholdRange or None
        The range that the thresholds of decisions lie in, if not all do; its ends are `edges`.
    stated : bool
        Whether the largest weight was stated: weights may depend on the rows, so that no choice may
        use those to come.
    """

    sample: Sample
    edges: Floats
    cells: tuple[Cells, ...]
    event: NDArray[np.bool_]
    stake: Floats
    count: Ints | None
    within: ThresholdRange | None
    stated: bool

    @classmethod
    def read(
        cls,
        sample: Sample,
        rng: Seed,
        threshold_range: ThresholdRange | None = None,
        max_weight: float | None = None,
    ) -> _Rows:
        """Put the rows in order, or pool those of one forecast, or of cells, that are alike.

        What is dealt then depends neither on how the rows came nor on whether one forecast was
        compressed. Rows with a base rate are matched at random, so that each draw has the mean of
        the population.
        """
        grid, stated = sample.grid, max_weight is not None
        if max_weight is not None:
            largest_draws(sample, max_weight)  # which checks it
        if sample._rates is not None:
            sample = sample._matched(as_seed(rng, sample)[0].spawn(1)[0])
        if not sample._divisible:
            raise InputError(
                "unequal weights and groups need rows: a compressed sample cannot be split row by row"
            )
        weight, counts = sample.sample_weight, sample.counts
        # rows of weight zero are no draws
        if counts is None and weight is not None and not (weight > 0).all():
            sample = sample._at(weight > 0)
        alike = sample._group is None and (
            counts is not None or weight is None or bool(np.ptp(sample.mass) == 0)
        )
        if not alike:
            sample = sample.in_order()
        edges, within = _thresholds(grid, threshold_range)
        cells, event = _reached(sample, edges), sample.event
        if not alike:
            heaviest = float((sample.mass if sample._group is None else sample._draw_weight).max())
            most = check_max_weight(max_weight, heaviest)
            return cls(sample, edges, cells, event, sample.mass / most, None, within, stated)
        each = sample.total_weight / sample.n if sample.n else 1.0
        stake, size = each / check_max_weight(max_weight, each), len(edges)
        if len(cells) == 1:
            pooled = np.bincount(2 * cells[0] + event, counts, 2 * size)
            slots, event = _slots(size)
            cells, counts = (slots,), pooled.astype(np.int64)
        else:
            code = (cells[0].astype(np.int64) * size + cells[1]) * 2 + event
            if counts is None:
                code.sort()
            else:
                code, which = np.unique(code, return_inverse=True)
                counts = np.bincount(which, counts).astype(np.int64)
            cells, event = (
                tuple(part.astype(np.int32) for part in np.divmod(code >> 1, size)),
                code & 1 == 1,
            )
        return cls(sample, edges, cells, event, np.full(len(event), stake), counts, within, stated)

    @property
    def digest(self) -> int:
        """One number for what is dealt (see `rainproof.core.digests`): the same for rows as for
        cells of them.
        """
        if self.count is None:
            return self.sample.digest
        return digests.of_all(digests.of_rows(self.event, self.cells), self.count)

    @property
    def mass(self) -> Floats:
        """What each entry counts where rows choose: its number of rows, or as many rows of equal
        weight.
        """
        if self.count is not None:
            return self.count.astype(np.float64)
        if self.stated:
            return self.sample.mass
        return (
            self.stake * float(self.stake.sum() / (self.stake**2).sum())
            if len(self.stake)
            else self.stake
        )

    def shuffled(self, parts: int, rng: np.random.Generator) -> Iterator[tuple[Ints, Floats]]:
        """Deal whole draws at random to parts of equal size: the entries in each, and how many rows
        of them.
        """
        if self.count is not None:
            for count in rng.multinomial(self.count, [1 / parts] * parts).T:
                at = np.flatnonzero(count)
                yield at, count[at].astype(np.float64)
            return
        part = self.sample._parts(folds=parts, rng=rng)
        for at in np.split(
            np.argsort(part.astype(np.int8), kind="stable"), np.cumsum(np.bincount(part))[:-1]
        ):
            yield at, np.ones(len(at))

    def sums(self, at: Ints | slice, mass: Floats) -> Floats:
        """What a choice needs of some entries: their mass by cell and outcome; of two forecasts,
        where they differ.
        """
        if len(self.cells) == 1:
            slot = 2 * self.cells[0][at] + self.event[at]
            return np.bincount(slot, mass, 2 * len(self.edges)).astype(np.float64)
        old, new = self.cells
        return sum_cells(old[at], new[at], self.event[at].view(np.uint8), mass, len(self.edges) - 1)

    def wager(self, at: Ints, count: Floats, rule: _Rule) -> Wager:
        """Bet on some of the rows."""
        kind, gain, per, threshold = rule(at)
        stake, group = self.stake[at], self.sample._group
        if group is not None:
            total = np.bincount(group[at], stake)
            some = total > 0
            mean = [
                np.bincount(group[at], stake * row[kind])[some] / total[some]
                for row in (*gain, *per)
            ]
            return _pooled(np.array([total[some], *mean]), threshold)
        if (stake != stake[0]).any():
            if len(stake) <= _FEW:
                return stake, count, gain[:, kind], per[:, kind], threshold
            # A stake between two nodes counts as the one or the other, in parts. That proves a
            # little less, as logarithms are concave.
            node = np.minimum(np.floor(-4 * np.log2(stake)), len(_NODES) - 2).astype(np.int64)
            part = np.minimum((stake - _NODES[node + 1]) / (_NODES[node] - _NODES[node + 1]), 1.0)
            kind, count = (
                np.stack([kind, kind]) + gain.shape[1] * np.stack([node, node + 1]),
                count * [part, 1 - part],
            )
        number = np.bincount(np.ravel(kind), np.ravel(count)).astype(np.float64)
        node, some = np.divmod(np.arange(len(number)), gain.shape[1])
        stake = _NODES[node] if np.ndim(kind) > 1 else np.full(len(number), stake[0])
        return stake, number, gain[:, some], per[:, some], threshold


def _pooled(draws: Floats, threshold: float) -> Wager:
    """Bet on draws, columns of a stake, gains and what they are shares of; draws that are alike are
    one entry.
    """
    mix = np.round(np.sqrt([2.0, 3.0, 5.0, 7.0, 11.0])[: len(draws)] @ draws, 12)
    _, first, which = np.unique(mix, return_index=True, return_inverse=True)
    # two kinds that mix to the same number
    if np.abs(draws - draws[:, first[which]]).max(initial=0.0) > _ALIKE:
        first = which = np.arange(draws.shape[1])
    stake, *shares = draws[:, first]
    gain, per = np.split(np.array(shares), 2)
    return stake, np.bincount(which).astype(np.float64), gain, per, threshold


def _reached(sample: Sample, edges: Floats) -> tuple[Cells, ...]:
    """The number of the last threshold up to each prediction, of each forecast."""
    if sample.grid is None:
        several = [sample._predictions(name) for name in sample.forecasts] or [sample.prob]
    else:
        found = sample._pair_cells() if sample.forecasts else (sample._cells.slot >> 1,)
        several = [cell / sample.grid for cell in found]
    return tuple((np.searchsorted(edges, prob, "right") - 1).astype(np.int32) for prob in several)


# What a rule makes of some rows: the kind of each; by kind, what it gains over each alternative and
# what that is a share of; and the threshold of a `Wager`.
_Rule = Callable[[Ints | slice], tuple[Ints, Floats, Floats, float]]
_Sums = tuple[Floats, float]  # what a choice needs of the rows before a block, and their weight


def _chains(
    rows: _Rows,
    choose: Callable[[Floats, float], Sequence[_Rule | None]],
    delta: float,
    rng: Seed,
    known: _Sums | None = None,
    *,
    rules: int = 1,
    orders: int = _ORDERS,
) -> list[list[list[Wager]]]:
    """Bet on the rows in several random orders, block after block, by rules chosen on all rows
    before the block.

    `choose` makes so many rules of the sums of rows; the chains of each are returned. Unless
    something is `known` beforehand, the first sixth of the rows only chooses.
    """
    orders = min(orders, max(2, _MANY // max(len(rows.event), 1)))
    found: list[list[list[Wager]]] = [[[] for _ in range(orders)] for _ in range(rules)]
    if rows.sample.n_draws * math.log(1.5) <= -math.log(delta):
        return found  # no bet can win enough
    (stream,) = as_seed(rng, rows)[0].spawn(
        1
    )  # not `rng` itself: rows simulated with the same seed would decide their own order
    parts, mass = _PARTS if known is None else _PARTS - _CHOOSING, rows.mass
    for order in range(orders):
        sums, total = (np.zeros(()), 0.0) if known is None else known
        for number, (at, count) in enumerate(rows.shuffled(parts, stream)):
            if not len(at):
                continue
            if total > 0 and (number >= _CHOOSING or known is not None):
                for chains, rule in zip(found, choose(sums, total), strict=True):
                    if rule is not None:
                        chains[order].append(rows.wager(at, count, rule))
            some = mass[at] if rows.count is None else count
            sums, total = sums + rows.sums(at, some), total + float(some.sum())
    return found


def _best_task(rows: _Rows, sums: Floats, total: float, bets: Floats, price: float) -> Chord | None:
    """The task with the largest gain by a switch, less what chance costs; None if none gains.

    Gains count ``1 - bet/2`` times and losses ``1 + bet/2`` times, as in the logarithm of the bet
    to second order.
    """
    curve = SwitchCurve(rows.edges, sums / total, None, closed=True).restricted(rows.within)
    found = [(curve.chord(-bet / 2, back=True), bet) for bet in bets.tolist()]
    chord = max(found, key=lambda one: 2 * one[0].value - price / one[1])[0]
    return chord if chord.value > 0 else None


# By kind of row (how many thresholds the old and the new prediction reach, and the outcome):
# whether the new one acts in place of the old one at each of two thresholds.
_OLD, _NEW, _OUTCOME = (part.reshape(-1, 1) for part in np.unravel_index(np.arange(18), (3, 3, 2)))
_SWITCHED = (_NEW > [0, 1]) * 1.0 - (_OLD > [0, 1])


def _switch_rule(rows: _Rows, chord: Chord | None, new: Cells) -> _Rule | None:
    """What entries gain for the task of a chord by acting on new cells in place of those of the
    first forecast.
    """
    if chord is None:
        return None
    mu, mass = np.array([chord.mu_a, chord.mu_b]), 2 * np.array([chord.share, 1 - chord.share])
    first, second = np.searchsorted(rows.edges, mu)
    gain = (_SWITCHED * (_OUTCOME - mu)) @ mass

    def rule(at: Ints | slice) -> tuple[Ints, Floats, Floats, float]:
        both = rows.cells[0][at], new[at]
        # thresholds that are reached
        acts = [(cell >= first).astype(np.int64) + (cell >= second) for cell in both]
        return 6 * acts[0] + 2 * acts[1] + rows.event[at], gain[None], np.ones((1, 18)), 0.0

    return rule


def gain_at_least(
    sample: Sample,
    delta: float,
    rng: Seed,
    within: ThresholdRange | None = None,
    max_weight: float | None = None,
) -> float | None:
    """There is a decision that gains at least this by the second forecast of a sample in place of
    the first.

    None if compressed rows of unequal weights cannot be divided.
    """
    return (
        _switch_gain(_Rows.read(sample, rng, within, max_weight), delta, rng)
        if sample._divisible
        else None
    )


def gain_of_choice(
    chooser: Sample,
    judge: Sample,
    delta: float,
    rng: Seed = 0,
    within: ThresholdRange | None = None,
    max_weight: float | None = None,
) -> tuple[float, float]:
    """Estimate, and bound from below, what some decision gains by the second forecast in place of
    the first.

    Returns the mean gain on the judge's rows of the task that the chooser's rows name, an estimate
    without bias, and the lower bound, for which the judge's rows that come first choose as well.
    The chooser's rows must be independent of them. Of a range of base rates nothing is proven, as
    its ends do not bound the gain between them.
    """
    if not judge.n or not chooser.total_weight > 0:
        return 0.0, 0.0
    rows = _Rows.read(judge, rng, within, max_weight)
    old, new = _reached(chooser, rows.edges)
    known = (
        sum_cells(old, new, chooser.event.view(np.uint8), chooser.mass, len(rows.edges) - 1),
        chooser.total_weight,
    )
    rule, estimate = (
        _switch_rule(rows, _best_task(rows, *known, *_costs(rows, delta)), rows.cells[1]),
        0.0,
    )
    if rule is not None:
        kind, gain, *_ = rule(slice(None))
        estimate = float(np.average(gain[0, kind], weights=rows.mass))
    low, high = judge._rates or (0.0, 0.0)
    return estimate, 0.0 if low < high else _switch_gain(rows, delta, rng, known)


def _switch_gain(rows: _Rows, delta: float, rng: Seed, known: _Sums | None = None) -> float:
    bets, price = _costs(rows, delta)

    def choose(sums: Floats, total: float) -> Sequence[_Rule | None]:
        return [_switch_rule(rows, _best_task(rows, sums, total, bets, price), rows.cells[1])]

    (chains,) = _chains(rows, choose, delta, rng, known)
    return at_least(chains, delta, bets)


Fit = Callable[[DistinctTable], Callable[[Floats], Floats]]
"""Fits a map to distinct predictions in increasing order, with the number of rows of each outcome.
"""


def _correction(
    rows: _Rows, fit: Fit, sums: Floats, total: float, bets: Floats, price: float
) -> tuple[Chord | None, Cells]:
    """The task that gains most by a map, and what the map makes of each cell."""
    edges = rows.edges
    middle = np.append((edges[1:] + edges[:-1]) / 2, 1.0)
    value = np.clip(fit(DistinctTable(middle, sums[::2], sums[1::2]).occupied())(middle), 0.0, 1.0)
    new = (np.searchsorted(edges, value, "right") - 1).astype(np.int32)
    old, outcome = _slots(len(edges))
    lost = sum_cells(old, new[old], outcome.view(np.uint8), sums, len(edges) - 1)
    return _best_task(rows, lost, total, bets, price), new


def _logistic(table: DistinctTable) -> Callable[[Floats], Floats]:
    """A logistic regression on the log odds, with a weak prior around the identity."""

    def columns(p: Floats) -> Floats:
        odds = logit(np.clip(p, _NEAREST, 1 - _NEAREST))
        return np.stack([odds, np.ones_like(odds)])

    negative = table.negative[np.newaxis]
    positive = table.positive[np.newaxis]
    (coefficients,) = fit_logistic_with_prior(columns(table.prob), negative, positive, _PRIOR)
    return lambda p: expit(coefficients @ columns(p))


def _isotonic(table: DistinctTable) -> Callable[[Floats], Floats]:
    rate = isotonic(table)
    return lambda p: np.interp(p, table.prob, rate)


def _bins(table: DistinctTable) -> Callable[[Floats], Floats]:
    """Add in each of 32 bins of equal weight what the predictions there lack, as if some rows more
    lacked nothing.
    """
    total = table.negative + table.positive
    first = equal_weight_bins(total, 32)
    weight = np.add.reduceat(total, first)
    lacking = np.add.reduceat(table.positive - total * table.prob, first)
    shift = lacking / (weight + 4)
    return lambda p: p + shift[np.searchsorted(table.prob[first[1:]], p, "right")]


_NEAREST = 1e-6
_PRIOR = NormalPrior(mean=np.array([1.0, 0.0]), precision=1 / 16)
_FITS: tuple[Fit, ...] = (_logistic, _isotonic, _bins)


def _changes(rows: _Rows, chord: Chord, new: Cells, task: DecisionTask) -> tuple[ActionChange, ...]:
    """Neighbouring cells with the same change, as one range."""
    edges = rows.edges
    ends = np.searchsorted(edges, [chord.mu_a, chord.mu_b])
    used = np.array(
        [chord.share > 0 and chord.regret_a > 0, chord.share < 1 and chord.regret_b > 0]
    )
    action, replacement = (
        ((cell[:, None] >= ends) & used).sum(axis=1) for cell in (np.arange(len(new)), new)
    )
    runs = np.split(np.arange(len(new)), np.flatnonzero(np.diff(3 * action + replacement)) + 1)
    return tuple(
        ActionChange(
            low=float(edges[run[0]]),
            high=float(edges[min(run[-1] + 1, len(edges) - 1)]),
            action=task.actions[action[run[0]]],
            replacement=task.actions[replacement[run[0]]],
        )
        for run in runs
        if action[run[0]] != replacement[run[0]]
    )


_LEAST = 1e-12


@dataclass(frozen=True, kw_only=True, slots=True, eq=False, repr=False)
class ProvenGain(Result):
    """What some decision gains by acting on the forecast over no forecast, in expectation, in the
    population.

    No forecast means the better of always and never acting. Each of the two bounds holds by itself:
    there is a threshold at which acting on the forecast gains at least so much. It is not proven
    which one.

    Attributes
    ----------
    relative_at_least : float
        A share of what perfect foresight would gain: 1 is perfect, 0 if nothing is proven.
    relative_threshold : float or None
        Where these rows suggest the largest such gain: the probability from which on to act. An
        example, of which nothing is proven by itself. None if no gain is proven.
    gain_at_least : float
        A share of what is at stake; 0 if nothing is proven.
    gain_threshold : float or None
        Where these rows suggest the largest such gain, as an example; None if no gain is proven.
    threshold_range : ThresholdRange or None
        The range that the threshold lies in, as for `SwitchGuarantee`; None if it may be any.
    confidence_level : float
        The probability, at least, that a bound holds for a sample drawn as stated.
    """

    relative_at_least: float
    relative_threshold: float | None
    gain_at_least: float
    gain_threshold: float | None
    threshold_range: ThresholdRange | None
    confidence_level: float

    @property
    def proven(self) -> bool:
        """Whether some decision gains, in shares of perfect foresight."""
        return self.relative_at_least > 0


def worth(
    sample: Sample,
    confidence_level: float,
    rng: Seed = 0,
    within: ThresholdRange | None = None,
    max_weight: float | None = None,
) -> ProvenGain:
    """Bound what acting on the forecast gains over no forecast, from all rows."""
    rows = _Rows.read(sample, rng, within, max_weight)
    delta = 1 - confidence_level
    bets, price = _costs(rows, delta)

    def choose(sums: Floats, total: float) -> Sequence[_Rule | None]:
        chosen = _best_thresholds(rows, sums / total, price)
        return [
            None if threshold is None else partial(_worths, rows, threshold, relative=relative)
            for threshold, relative in zip(chosen, (True, False), strict=True)
        ]

    bounds = [
        at_least(chains, delta, bets) for chains in _chains(rows, choose, delta, rng, rules=2)
    ]
    all_rows = rows.sums(slice(None), rows.mass)
    total = float(all_rows.sum())
    at = _best_thresholds(rows, all_rows / total, price) if total > 0 else (None, None)
    relative, gain = (
        None if k is None or bound == 0 else float(rows.edges[k])
        for k, bound in zip(at, bounds, strict=True)
    )
    return ProvenGain(
        relative_at_least=bounds[0],
        relative_threshold=relative,
        gain_at_least=bounds[1],
        gain_threshold=gain,
        threshold_range=rows.within,
        confidence_level=confidence_level,
    )


def _best_thresholds(rows: _Rows, shares: Floats, price: float) -> tuple[int | None, int | None]:
    """The thresholds at which a bound should be largest, in shares of perfect foresight and of what
    is at stake.
    """
    mu, (low, high) = rows.edges, rows.within or (0.0, 1.0)
    # acting from each threshold on
    false_alarms, hits = np.cumsum(shares.reshape(-1, 2)[::-1], axis=0)[::-1].T
    rate = float(hits[0])
    never = hits * (1 - mu) - false_alarms * mu
    value = np.minimum(never, never - (rate - mu))
    perfect = np.minimum(mu * (1 - rate), (1 - mu) * rate)
    missed, spared = rate - hits, 1 - rate - false_alarms
    against_never, against_always = (
        a * (1 - mu) ** 2 + b * mu**2 for a, b in ((hits, false_alarms), (missed, spared))
    )
    square = np.maximum(np.where(rate <= mu, against_never, against_always), _LEAST)
    bet = np.minimum(np.sqrt(2 * price / square), 0.5)
    likely = value - bet / 2 * square - price / bet
    some = (perfect > _LEAST) & (mu >= low) & (mu <= high)  # elsewhere nothing is at stake
    if not some.any():
        return None, None
    relative, gain = (
        int(np.argmax(np.where(some, likely / np.where(some, over, 1.0), -np.inf)))
        for over in (perfect, np.maximum(mu, 1 - mu))
    )
    return relative if value[relative] > 0 else None, gain if value[gain] > 0 else None


def _worths(
    rows: _Rows, number: int, at: Ints | slice, *, relative: bool
) -> tuple[Ints, Floats, Floats, float]:
    """What rows gain over never and over always acting by acting from a threshold on."""
    mu = float(rows.edges[number])
    kind = 2 * (rows.cells[0][at] >= number) + rows.event[at]
    gain = np.array([[0, 0, -mu, 1 - mu], [mu, mu - 1, 0, 0]])
    if relative:
        return kind, gain, np.array([[0, 1 - mu, 0, 1 - mu], [mu, 0, mu, 0]]), mu
    return kind, gain / max(mu, 1 - mu), np.ones((2, 4)), mu
