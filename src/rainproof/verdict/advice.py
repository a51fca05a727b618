"""Event rates in ranges of predictions, with intervals that hold for every range at once."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from rainproof.core.arrays import Floats
from rainproof.core.result import Result, result_class
from rainproof.core.sample import Sample
from rainproof.core.validation import ThresholdRange
from rainproof.inference.bands import clopper_pearson
from rainproof.inference.bound_inputs import draw_table
from rainproof.inference.rate_slack import rate_slack, slack_of_groups
from rainproof.verdict.advice_statements import advice
from rainproof.verdict.evidence import RARE
from rainproof.verdict.renderer import PYTHON

_FINEST = 1 << 16


Rates = tuple[Floats, Floats, Floats, Floats, Floats, Floats]


def rate_intervals(sample: Sample, *, confidence_level: float) -> Rates:
    r"""Bound the event rate in every range of predictions that a fixed set of cells can form.

    Returns
    -------
    low, high : ndarray of shape (k,)
        The ends of each occupied cell: it holds predictions from `low` to below `high` (the last
        one also 1).
    share, events : ndarray of shape (k,)
        Its share of the weight of all rows, and the part of that with the event.
    at_least, at_most : ndarray of shape (k, k)
        Entry ``[i, j]``, for ``i <= j``: the population's event rate in the cells from i to j lies
        between these, for all i and j at once with the confidence asked for. They are 0 and 1 where
        the rate of these rows lies in the range itself: no interval around it proves an action
        wrong.

    Notes
    -----
    The cells have edges that are fixed before any row is seen: 1/128 wide, and near 0 and 1 eight
    to each halving of the distance, down to :math:`2^{-13}` (multiples of 1/m in a sample
    compressed to m cells). Given how many rows fall into each cell, the events in a run I of cells
    are binomial with :math:`q_I = P(y = 1 | p \in I)`. With k occupied cells there are :math:`J = k
    (k + 1) / 2` runs; Clopper and Pearson's interval at error :math:`\delta / J` for each covers
    all of them at once with probability :math:`1 - \delta` (Bonferroni).

    Where weights are unequal, Hoeffding's inequality takes the place of Clopper and Pearson's,
    given the weights and how many rows of each weight fall into each cell. The weights must not
    depend on predictions or outcomes: else a part of the run where few rows weigh much can be
    missing from the sample, and with it a part of its rate.

    With a base rate, the interval is that of two binomial numbers, of events and of other rows,
    given how many there are of each. For groups of rows, each of which is one draw, Hoeffding's
    inequality is applied to the sums of :math:`w (y - q_I)` over the rows of a group that fall into
    the run (`slack_of_groups`): rows of a group may depend on each other in any way, and sizes must
    not depend on predictions or outcomes. Nor is that needed where the largest weight of a draw is
    stated: the interval is then for the rate in the population in which rows count with their
    weight. In both cases all runs of all cells, occupied or not, share the error.
    """
    cuts = _edges(sample.grid)
    cells = len(cuts) - 1
    table = draw_table(sample, _FINEST)
    cell = np.minimum(np.searchsorted(cuts, (table.slot >> 1) / table.m, "right") - 1, cells - 1)
    event = table.slot & 1 == 1

    def by_cell(values: NDArray[Any]) -> Floats:
        return np.bincount(cell, values, cells).astype(np.float64)

    weight = by_cell(table.weight[0])
    events = by_cell(table.weight[0] * event)
    count = by_cell(table.count)
    some = np.flatnonzero(count)
    pairs = np.triu_indices(len(some))

    def runs(values: Floats) -> Floats:
        """The sums over the cells from i to j, for all pairs; no differences, in which small
        weights would vanish.
        """
        return np.asarray(
            np.cumsum(np.triu(np.broadcast_to(values[some], (len(some),) * 2)), axis=1)[pairs]
        )

    grouped = sample.units.unit is not None and sample.design.clustered
    max_weight = sample.design.max_weight
    # Which cells are occupied is not given where the weight in a run is random.
    runs_tried = cells * (cells + 1) / 2 if grouped or max_weight is not None else len(pairs[0])
    doubt = (1 - confidence_level) / runs_tried
    rate = np.clip(runs(events) / runs(weight), 0.0, 1.0)
    if sample.design.strata is not None:
        ends = _given_outcomes(
            sample, runs(by_cell(table.count * event)), runs(by_cell(table.count * ~event)), doubt
        )
    elif max_weight is None and table.has_equal_weights:
        ends = np.zeros(len(rate)), np.ones(len(rate))
        off = (rate < cuts[some][pairs[0]]) | (rate > cuts[some + 1][pairs[1]])
        ends[0][off], ends[1][off] = clopper_pearson(rate[off], runs(count)[off], doubt)
    else:
        squares = by_cell(table.squares)
        if max_weight is not None:
            slack = rate_slack(runs(weight) / max_weight, doubt)
        elif grouped:
            slack = slack_of_groups(runs(weight), runs(squares), sample.units.weight, doubt)
        else:
            slack = np.sqrt(math.log(2 / doubt) * runs(squares) / 2) / runs(weight)
        ends = np.maximum(rate - slack, 0.0), np.minimum(rate + slack, 1.0)
    at_least = np.zeros((len(some),) * 2)
    at_most = np.ones((len(some),) * 2)
    at_least[pairs], at_most[pairs] = ends
    total = sample.total_weight
    return cuts[some], cuts[some + 1], weight[some] / total, events[some] / total, at_least, at_most


def _given_outcomes(
    sample: Sample, events: Floats, others: Floats, doubt: float
) -> tuple[Floats, Floats]:
    """Bound the event rate at a base rate in ranges with so many rows of each outcome.

    Given the outcomes the two numbers are binomial, each with half of the error probability.
    """
    (low, high), (least, most) = (
        clopper_pearson(rows / n, np.full(len(rows), float(n)), doubt / 2)
        for rows, n in ((events, sample.events), (others, sample.n - sample.events))
    )
    rate = sample.event_rate
    at_least, at_most = (
        rate * a / (rate * a + (1 - rate) * b) for a, b in ((low, most), (high, least))
    )
    return at_least, at_most


def _edges(grid: int | None) -> Floats:
    """Where cells begin, and 1: multiples of 1/grid, finer where events (or their absence) are
    rare.
    """
    near = np.ldexp(np.arange(8, 16) / 8, np.arange(-13, -4)[:, None]).ravel()  # from 2^-13 to 1/16
    cuts = np.unique(np.concatenate([np.arange(8, 121) / 128, near, 1 - near, [0.0, 1.0]]))
    return np.asarray(cuts[cuts * min(grid or _FINEST, _FINEST) % 1 == 0])


Action = Literal["act", "wait"]

_STEPS = 200
_AROUND = 2.0 ** np.arange(-4.5, 4.5, 0.25)  # times that share
_NEAR_THE_ENDS = (0.0005, 0.001, 0.002, 0.003, 0.004)  # where events, or their absence, are rare


@result_class
class PredictionSwap(Result):
    """A range of predictions where the other action is better on average.

    Attributes
    ----------
    low, high : float
        The range of predictions.
    says, do : {"act", "wait"}
        What the forecast says, and what is better.
    share : float
        The share of rows in the range.
    saves : float
        What the other action saved per row (over all rows), in the units of the regret curve.
    """

    low: float
    high: float
    says: Action
    do: Action
    share: float
    saves: float


@result_class
class ThresholdAdvice(Result):
    """What to do differently in a decision that acts from a threshold on.

    Attributes
    ----------
    threshold : float
        Act from this probability on: a false alarm costs the threshold, a miss 1 minus it.
    regret : float
        The regret curve at this threshold: the loss per row on these rows, in these units.
    net_benefit : float
        The net benefit of acting on the forecast on these rows: true positives per row, less false
        positives at the odds of the threshold. Never acting has 0.
    null_high : float
        What the regret of a perfectly calibrated forecast stays below at this threshold.
    swaps : tuple of PredictionSwap
        The ranges where the other action is better on average, by increasing prediction. With the
        assessment's confidence they are right at all thresholds at once. Weights, and sizes of
        groups, must not depend on predictions or outcomes, unless `max_weight` is stated.
    """

    _also: ClassVar = ("cost_ratio", "share_of_stakes", "text")

    threshold: float
    regret: float
    net_benefit: float
    null_high: float
    swaps: tuple[PredictionSwap, ...]

    @property
    def cost_ratio(self) -> float:
        """The cost of a false alarm over that of a miss."""
        return self.threshold / (1 - self.threshold)

    @property
    def share_of_stakes(self) -> float:
        """The regret as a share of what is at stake."""
        return self.regret / max(self.threshold, 1 - self.threshold)

    @property
    def text(self) -> str:
        """The advice in words."""
        return PYTHON.passage(advice(self))

    def __str__(self) -> str:
        return self.text


def thresholds(
    own: Iterable[float] = (), event_rate: float = 0.5, within: ThresholdRange | None = None
) -> Floats:
    """Return the thresholds to give advice for: every half percent, some near 0 and 1, and the
    user's own.

    If few rows have the event, or few do not, there are more around their share: there the
    decisions differ. With a range, they are its ends and those of them that lie in it.
    """
    near = np.array(_NEAR_THE_ENDS)
    inner = [mu for mu in (*own, *(within or ())) if 0 < mu < 1]
    low, high = within or (0.0, 1.0)
    rarer = min(event_rate, 1 - event_rate)
    around = rarer * _AROUND if 0 < rarer < RARE else np.empty(0)
    more = around if event_rate < RARE else 1 - around
    found = np.unique(np.concatenate([np.arange(1, _STEPS) / _STEPS, near, 1 - near, inner, more]))
    # a share next to 1 may round to it
    return found[(found > 0) & (found < 1) & (found >= low) & (found <= high)]


def advise(
    rates: Rates, threshold: float, *, regret: float, net_benefit: float, null_high: float
) -> ThresholdAdvice:
    """Find where the other action is better, given intervals that hold for every range of
    predictions at once.

    Below the threshold the forecast says to wait: acting is better where the event rate is above
    the threshold. Above it, the other way round. Of all ranges of which the intervals prove that,
    the one that saved most on these rows comes first, then those in what is left on either side of
    it. The cell that contains the threshold is in none.

    Where the intervals hold, which they do with the assessment's confidence, every such range is
    right, at every threshold: nothing else here is random. For a calibrated forecast no range can
    be right.
    """
    low, high, share, events, at_least, at_most = rates
    # of what acting gains, before each cell
    total = np.concatenate([[0.0], np.cumsum(events - share * threshold)])
    below, above = (
        int(np.searchsorted(*side))
        for side in ((high, threshold, "right"), (low, threshold, "left"))
    )
    sides: tuple[tuple[Action, Action, int, NDArray[np.bool_], Floats], ...] = (
        ("act", "wait", 0, at_least[:below, :below] > threshold, total[: below + 1]),
        ("wait", "act", above, at_most[above:, above:] < threshold, -total[above:]),
    )
    swaps = [
        PredictionSwap(
            low=float(low[start + i]),
            high=float(high[start + j]),
            says=says,
            do=do,
            share=float(share[start + i : start + j + 1].sum()),
            saves=saves,
        )
        for do, says, start, proven, gained in sides
        for i, j, saves in _best_ranges(proven, gained)
    ]
    swaps.sort(key=lambda swap: swap.low)
    return ThresholdAdvice(
        threshold=threshold,
        regret=regret,
        net_benefit=net_benefit,
        null_high=null_high,
        swaps=tuple(swaps),
    )


def _best_ranges(proven: NDArray[np.bool_], gained: Floats) -> list[tuple[int, int, float]]:
    """First and last cells of disjoint ranges that are proven, and what each saves; the one that
    saves most first.

    `gained` has what the other action gains in the cells before each, and in all.
    """
    if not proven.any():
        return []
    saves = np.where(proven, gained[None, 1:] - gained[:-1, None], 0.0)
    found = []
    parts = [(0, len(saves))]
    while parts:
        i, j = parts.pop()
        part = saves[i:j, i:j]
        if part.size and part.max() > 0:
            a, b = (i + int(k) for k in np.unravel_index(part.argmax(), part.shape))
            found.append((a, b, float(saves[a, b])))
            parts += [(i, a), (b + 1, j)]
    return found
