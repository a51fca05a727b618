"""Should a new forecast replace an old one? The most that anybody loses, and gains, by the switch."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from statistics import NormalDist
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from brolly.core.arrays import Floats, Ints
from brolly.core.grid.cell_accumulator import sum_cells
from brolly.core.input.rows import ColumnNames, as_rows, refuse_reordered
from brolly.core.text import at_least, at_most, percent, rows
from brolly.decisions.curve import worst_task
from brolly.decisions.switch_curve import SwitchCurve
from brolly.decisions.task import DecisionTask
from brolly.decisions.text import decision_with
from brolly.errors import InputError
from brolly.inference.bounds import adaptive_loss, charge_rate
from brolly.inference.clusters import numbered_groups
from brolly.inference.resampling import Seed, as_seed, check_share
from brolly.inference.switch_gain import PairDraws, gain_bound

if TYPE_CHECKING:
    from brolly.plots import Axes

_GRID = 1 << 10  # of the thresholds among which half of the rows chooses a task


class SwitchBand(NamedTuple):
    """The loss by the switch and its interval; between the thresholds it is linear, at a jump they occur twice."""

    threshold: Floats
    loss: Floats
    low: Floats
    high: Floats


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class SwitchGuarantee:
    """The result of `switch_guarantee`. Losses and gains are shares of the range of a task's payoffs.

    Attributes
    ----------
    harm, gain : float
        On these rows, exactly: the most that any decision maker loses, and gains, by the switch.
    harm_bound : float
        In the population nobody loses more than this by the switch, in expectation.
    gain_at_least : float
        In the population somebody gains at least this by the switch, in expectation; 0 if the rows prove no gain.
    worst_task, best_task : DecisionTask or None
        On these rows, the decision tasks that lose `harm` and gain `gain`; None if nobody does (up to rounding).
    curve : SwitchCurve
        On these rows, the loss by the switch at each threshold.
    confidence_level : float
        The probability, at least, that `harm_bound` holds, and that `gain_at_least` holds; each by itself.
    n : int
        The number of rows of positive weight.
    groups : int or None
        The number of groups, if rows were drawn in groups.
    effective_n : float
        The number of independent draws of equal weight that allow the same Hoeffding bound.
    seed : int or None
        The seed of the split behind `gain_at_least`, if one was given.
    """

    harm: float
    gain: float
    harm_bound: float
    gain_at_least: float
    worst_task: DecisionTask | None
    best_task: DecisionTask | None
    curve: SwitchCurve
    confidence_level: float
    n: int
    groups: int | None
    effective_n: float
    seed: int | None

    def band(self) -> SwitchBand:
        """Return the loss at each threshold with an interval: an estimate, for each threshold by itself.

        The interval is that of the normal approximation, at `confidence_level`. It proves nothing; the bounds do.
        """
        loss, error = self.curve.limits(), self.curve.standard_error(self.effective_n)
        reach = -NormalDist().inv_cdf((1 - self.confidence_level) / 2) * error
        threshold = np.repeat(self.curve.edges, 2)[1:-1]
        return SwitchBand(threshold, *(part.T.ravel() for part in (loss, loss - reach, loss + reach)))

    def plot(self, ax: Axes | None = None) -> Axes:
        """Draw the loss at each threshold into axes (default: new ones) and return them; see `brolly.plots.switch`."""
        from brolly.plots import switch

        return switch(self, ax)

    def to_dict(self) -> dict[str, Any]:
        """Return the result in built-in types, ready for JSON."""
        names = (
            "harm",
            "gain",
            "harm_bound",
            "gain_at_least",
            "confidence_level",
            "n",
            "groups",
            "effective_n",
            "seed",
        )
        band = self.band()
        return {
            "result": "switch_guarantee",
            **{name: getattr(self, name) for name in names},
            "worst_task": self.worst_task and self.worst_task.to_dict(),
            "best_task": self.best_task and self.best_task.to_dict(),
            **{name: values.tolist() for name, values in band._asdict().items()},
        }

    def __repr__(self) -> str:
        found = f"harm={self.harm:.6g}, gain={self.gain:.6g}, harm_bound={self.harm_bound:.6g}"
        return f"SwitchGuarantee({found}, gain_at_least={self.gain_at_least:.6g}, n={self.n})"

    def __str__(self) -> str:
        level = percent(self.confidence_level)
        lines = [
            f"With {level} confidence, nobody loses more than {at_most(self.harm_bound)} of the range of their payoffs "
            "by switching to the new forecast, in expectation.",
            f"With {level} confidence, somebody gains at least {at_least(self.gain_at_least)}, in expectation."
            if self.gain_at_least > 0
            else "These rows do not prove that anybody gains.",
            f"On these {rows(self.n)} the largest loss is {at_most(self.harm)}{_of(self.worst_task)}, and the largest "
            f"gain {at_least(self.gain)}{_of(self.best_task)}.",
        ]
        return "\n".join(lines)


def _of(task: DecisionTask | None) -> str:
    return "" if task is None else f" ({decision_with(task.thresholds)})"


def switch_guarantee(
    y_true: ArrayLike,
    p_old: ArrayLike,
    p_new: ArrayLike,
    *,
    sample_weight: ArrayLike | None = None,
    pos_label: Any = None,
    groups: ArrayLike | None = None,
    confidence_level: float = 0.95,
    rng: Seed = None,
) -> SwitchGuarantee:
    r"""Bound what any decision maker loses, and gains, by acting on a new forecast instead of an old one.

    A smaller calibration error is no reason to switch: a constant forecast can be perfectly calibrated. These bounds
    compare what decisions based on the two forecasts earn, for every decision task at once.

    Parameters
    ----------
    y_true : array_like of shape (n,)
        The outcomes: 0 or 1, or any two labels with `pos_label`.
    p_old, p_new : array_like of shape (n,)
        The predicted probability of the event in each row by the old and by the new forecast, in [0, 1].
    sample_weight : array_like of shape (n,), optional
        The weight of each row (default: all equal). Weights must be fixed in advance, as for `guarantee`.
    pos_label : object, optional
        The label of the event, if labels are not 0 and 1.
    groups : array_like of shape (n,), optional
        The group of each row (patient, site, day): rows of a group may depend on each other, groups must be
        independent.
    confidence_level : float
        The probability, at least, that a bound holds for a sample drawn as stated; for each of the two bounds by
        itself.
    rng : numpy.random.Generator or int, optional
        The source of randomness for the split behind `gain_at_least`; the same seed gives the same answer. Do not try
        several seeds and keep the best: the confidence is for one.

    Returns
    -------
    SwitchGuarantee

    Notes
    -----
    Every task with payoffs in [0, 1] is a mixture :math:`\nu` of thresholds with :math:`\int (1-\mu)\,d\nu \le 1` and
    :math:`\int \mu\,d\nu \le 1`. Its loss by the switch is :math:`\int D\,d\nu`, where :math:`D(\mu) = E[(y - \mu)
    (1\{p_{old} > \mu\} - 1\{p_{new} > \mu\})]` is the loss at one threshold. So the largest loss is twice the concave
    envelope of :math:`\max(D, 0)` at 1/2; the task that loses it has at most two thresholds.

    `harm_bound` is the adaptive bound of `guarantee`, without its grid: the worst task of the population is one fixed
    function of a row with values in [-1, 1]. Rows on which both forecasts lead to the same action carry no chance, so
    the bound is small if the forecasts rarely differ. For `gain_at_least` one half of the rows names a task, and the
    other half bounds its gain, as in `loss_at_least`.

    Both bounds need rows that were drawn independently from the population (groups of rows, with `groups`) and that
    neither forecast was fitted on. Proofs: docs/inference-bounds.md. O(n log n).

    Examples
    --------
    >>> import numpy as np, brolly
    >>> rng = np.random.default_rng(0)
    >>> p = rng.random(10_000)
    >>> y = rng.random(10_000) < p**1.5
    >>> found = brolly.switch_guarantee(y, p, p**1.5, rng=0)
    >>> found.harm_bound < 0.005 < found.gain_at_least
    True
    """
    confidence_level = check_share(confidence_level, "confidence_level")
    generator, seed = as_seed(rng)
    pairs = _read(y_true, p_old, p_new, sample_weight, pos_label, groups)
    draws, effective_n = pairs.sizes()
    curve = pairs.curve()
    worst, best = curve.chord(), curve.chord(back=True)
    doubt = 1 - confidence_level
    return SwitchGuarantee(
        harm=min(2 * worst.value, 1.0),
        gain=min(2 * best.value, 1.0),
        harm_bound=harm_bound(curve, draws, effective_n, doubt),
        gain_at_least=gain_bound(pairs.draws(), doubt, generator),
        worst_task=worst_task(worst),
        best_task=worst_task(best),
        curve=curve,
        confidence_level=confidence_level,
        n=len(pairs.event),
        groups=None if pairs.group is None else draws,
        effective_n=effective_n,
        seed=seed,
    )


@dataclass(frozen=True, slots=True, eq=False)
class Pairs:
    """Checked rows of positive weight; weights are None if all are 1. With counts, each stands for so many rows."""

    event: NDArray[np.bool_]
    old: Floats
    new: Floats
    weight: Floats | None
    group: Ints | None
    counts: Ints | None = None

    def by_group(self) -> Floats | None:
        """The weight of each group; None without groups."""
        return None if self.group is None else np.bincount(self.group, self.weight).astype(np.float64)

    def sizes(self) -> tuple[int, float]:
        """The number of independent draws, and the number of equal weight that allow the same Hoeffding bound."""
        if self.counts is not None:
            return int(self.counts.sum()), float(self.counts.sum())
        each = self.weight if self.group is None else self.by_group()
        if each is None:
            return len(self.event), float(len(self.event))
        return len(each), min(float(each.sum() ** 2 / (each @ each)), float(len(each)))

    def curve(self) -> SwitchCurve:
        """The loss by the switch at each threshold."""
        if self.counts is not None:
            curve = SwitchCurve._from_rows(self.event, self.old, self.new, self.counts.astype(np.float64))
            return replace(curve, squares=None)
        together = self.by_group()
        group_weight = None if together is None else together[self.group]
        return SwitchCurve._from_rows(self.event, self.old, self.new, self.weight, group_weight)

    def draws(self) -> PairDraws:
        """The rows on the grid of thresholds that `gain_at_least` chooses from."""
        old, new = ((_GRID * p).astype(np.int32) for p in (self.old, self.new))
        weight = self.weight if self.counts is None else self.counts.astype(np.float64)
        weight = np.ones(len(old)) if weight is None else weight
        counts = self.counts is not None
        return PairDraws(m=_GRID, old=old, new=new, event=self.event, weight=weight, group=self.group, counts=counts)


def _read(
    y_true: ArrayLike,
    p_old: ArrayLike,
    p_new: ArrayLike,
    sample_weight: ArrayLike | None,
    pos_label: Any,
    groups: ArrayLike | None,
) -> Pairs:
    """Check the rows of both forecasts, each under its own name, and leave out those of weight zero."""
    columns = []
    refuse_reordered("p_old", p_old, "p_new", p_new)
    for name, prob in (("p_old", p_old), ("p_new", p_new)):
        refuse_reordered(name, prob, "groups", groups)
        read = as_rows(y_true, prob, sample_weight, pos_label, names=ColumnNames(prob=name))
        sum_cells(read, 2)  # which refuses bad values
        columns.append(read)
    old, new = (np.ascontiguousarray(read.prob, np.float64) for read in columns)
    event, weight = np.ascontiguousarray(columns[0].label == 1), columns[0].weight
    group = None if groups is None else numbered_groups(groups, len(event))
    if weight is not None:
        some = weight > 0
        if not some.any():
            raise InputError("sample_weight must not be zero for every row")
        # By a power of two, so that squares of weights neither vanish nor overflow.
        weight = np.ldexp(weight.astype(np.float64), -math.frexp(float(weight.max()))[1])
        if not some.all():
            event, old, new, weight = event[some], old[some], new[some], weight[some]
            group = None if group is None else np.unique(group[some], return_inverse=True)[1].reshape(-1)
    return Pairs(event, old, new, weight, group)


def harm_bound(curve: SwitchCurve, draws: int, effective_n: float, delta: float) -> float:
    """In the population nobody loses more by the switch than this, with a probability of at least ``1 - delta``."""

    def charged_loss(tilt: float) -> float:
        rate, by_square = charge_rate(draws, effective_n, tilt)
        return 2 * curve.chord(rate, by_square=by_square).value

    return adaptive_loss(charged_loss, draws, effective_n, delta)
