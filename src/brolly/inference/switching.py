"""Should a new forecast replace an old one? The most that anybody loses and gains by the switch."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from brolly.core.arrays import Floats
from brolly.core.grid.cell_accumulator import sum_cells
from brolly.core.input.rows import ColumnNames, as_rows
from brolly.core.regret import Chord
from brolly.core.text import at_least, at_most, percent, rows
from brolly.decisions.curve import worst_task
from brolly.decisions.switch_curve import SwitchCurve
from brolly.decisions.task import DecisionTask
from brolly.decisions.text import decision_with
from brolly.inference.bounds import adaptive_loss, charges
from brolly.inference.clusters import numbered_groups
from brolly.inference.loss_at_least import BETS, betting_bound
from brolly.inference.resampling import Seed, as_seed, check_share

_GRID = 1 << 10  # of the thresholds among which half of the rows chooses a task


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class SwitchGuarantee:
    """What `switch_guarantee` returns. All losses and gains are shares of the range of a task's payoffs.

    Attributes
    ----------
    harm, gain : float
        On these rows, exactly: the most that any decision maker loses, and gains, by the switch.
    harm_bound : float
        In the population nobody loses more by the switch, in expectation.
    gain_at_least : float
        In the population somebody gains at least this by the switch, in expectation; 0 if the rows prove no gain.
    worst_task, best_task : DecisionTask or None
        The tasks that lose `harm` and gain `gain`; None if nobody does.
    curve : SwitchCurve
        The loss by the switch at each threshold.
    confidence_level : float
        Of `harm_bound` and of `gain_at_least`, each by itself.
    n : int
        The number of rows.
    groups : int or None
        The number of groups, if rows depend on each other.
    effective_n : float
        How many equally weighted independent rows would tell as much.
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
        start, end = self.curve.limits()
        return {
            "result": "switch_guarantee",
            **{name: getattr(self, name) for name in names},
            "worst_task": self.worst_task and self.worst_task.to_dict(),
            "best_task": self.best_task and self.best_task.to_dict(),
            "threshold": np.repeat(self.curve.edges, 2)[1:-1].tolist(),
            "loss": np.stack([start, end], axis=1).ravel().tolist(),
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
    r"""Bound what any decision maker loses, and gains, by acting on a new forecast in place of an old one.

    A calibration error is no reason to switch, as a constant forecast can be perfectly calibrated. These bounds are:
    they hold for every decision task at once, whatever its actions and payoffs.

    Parameters
    ----------
    y_true : array_like of shape (n,)
        The outcomes: 0 or 1, or any two labels with `pos_label`.
    p_old, p_new : array_like of shape (n,)
        The predicted probabilities of both forecasts for the same rows, in [0, 1].
    sample_weight : array_like of shape (n,), optional
        How much each row counts: fixed weights, as for `guarantee`.
    pos_label : object, optional
        Which label is the event, where labels are not 0 and 1.
    groups : array_like of shape (n,), optional
        Which rows depend on each other: only groups need to be independent.
    confidence_level : float
        The chance, at least, of a sample whose bound holds; for each of the two bounds by itself.
    rng : numpy.random.Generator or int, optional
        The source of randomness for the split behind `gain_at_least`.

    Returns
    -------
    SwitchGuarantee

    Notes
    -----
    Every task with payoffs in [0, 1] is a mixture :math:`\nu` of thresholds with :math:`\int (1-\mu)\,d\nu \le 1` and
    :math:`\int \mu\,d\nu \le 1`. Its loss by the switch is :math:`\int D\,d\nu` with the curve of `SwitchCurve`. So the
    largest loss is twice the concave envelope of :math:`\max(D, 0)` at 1/2, and its chord is the task that loses it.

    The bound on the population is that of `guarantee`: the population's worst task is one fixed function with values in
    [-1, 1], and rows where both forecasts are on the same side of its thresholds carry no chance. `gain_at_least` names
    a task on one half of the rows and bounds its gain on the other, as `loss_at_least` does. Both need rows that were
    drawn independently and that neither forecast was fitted on. Proofs: docs/inference-bounds.md. O(n log n).

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
    event, old, new, weight = _columns(y_true, p_old, p_new, sample_weight, pos_label)
    group = None if groups is None else numbered_groups(groups, len(event))
    some = weight > 0
    event, old, new, weight = event[some], old[some], new[some], weight[some]
    share = weight / weight.sum()
    together = share
    draws = len(share)
    if group is not None:
        group = np.unique(group[some], return_inverse=True)[1].reshape(-1)
        together, draws = np.bincount(group, share)[group], int(group.max()) + 1
    effective_n = min(1 / float(share @ together), float(draws))
    curve = SwitchCurve.from_rows(event, old, new, share)
    plain = group is None and sample_weight is None
    squares = curve if plain else SwitchCurve.from_rows(event, old, new, share * together)
    worst, best = curve.chord(), curve.reversed().chord()
    return SwitchGuarantee(
        harm=min(2 * worst.value, 1.0),
        gain=min(2 * best.value, 1.0),
        harm_bound=_harm_bound(curve, squares, draws, effective_n, 1 - confidence_level),
        gain_at_least=_gain_at_least(event, old, new, weight, group, (1 - confidence_level) / 2, generator),
        worst_task=worst_task(worst),
        best_task=worst_task(best),
        curve=curve,
        confidence_level=confidence_level,
        n=len(event),
        groups=None if group is None else draws,
        effective_n=effective_n,
        seed=seed,
    )


def _columns(
    y_true: ArrayLike, p_old: ArrayLike, p_new: ArrayLike, sample_weight: ArrayLike | None, pos_label: Any
) -> tuple[NDArray[np.bool_], Floats, Floats, Floats]:
    """Check the rows of both forecasts, each under its own name."""
    columns = []
    for name, prob in (("p_old", p_old), ("p_new", p_new)):
        read = as_rows(y_true, prob, sample_weight, pos_label, names=ColumnNames(prob=name))
        sum_cells(read, 2)  # which refuses bad values
        columns.append(read)
    old, new = columns
    weight = np.ones(len(old)) if old.weight is None else old.weight.astype(np.float64)
    return old.label == 1, old.prob.astype(np.float64), new.prob.astype(np.float64), weight


def _harm_bound(curve: SwitchCurve, squares: SwitchCurve, draws: int, effective_n: float, delta: float) -> float:
    def charged_loss(tilt: float) -> float:
        pairs = ((curve.only_old, squares.only_old), (curve.only_new, squares.only_new))
        extra = [charges(share, square, draws, effective_n, tilt) for share, square in pairs]
        more = (curve.only_old + extra[0], curve.only_new + extra[1])
        less = (curve.only_old - extra[0], curve.only_new - extra[1])
        return 2 * curve.chord(curve.limits(losses=more, gains=less)).value

    return adaptive_loss(charged_loss, draws, effective_n, delta)


def _gain_at_least(
    event: NDArray[np.bool_],
    old: Floats,
    new: Floats,
    weight: Floats,
    group: NDArray[np.intp] | None,
    doubt: float,
    rng: np.random.Generator,
) -> float:
    """Name a task and a bet on one half of the rows, and bound the task's gain on the other; both ways round."""
    (stream,) = rng.spawn(1)  # not `rng` itself: rows simulated with the same seed would decide their own coin
    coins = stream.integers(0, 2, len(event) if group is None else int(group.max()) + 1)
    first = (coins if group is None else coins[group]) == 1
    largest = float((weight if group is None else np.bincount(group, weight)).max())
    best = 0.0
    for half in (first, ~first):
        if not half.any() or half.all():
            continue
        total = float(weight[half].sum())
        cells_old, cells_new = (np.floor(_GRID * p[half]) / _GRID for p in (old, new))
        curve = SwitchCurve.from_rows(event[half], cells_old, cells_new, weight[half] / total).reversed()
        found = [(_discounted(curve, bet), bet) for bet in BETS.tolist()]
        price = math.log(1 / doubt) * largest / total
        chord, bet = max(found, key=lambda one: 2 * one[0].value - price / one[1])
        rest = ~half
        gain = _gains(event[rest], old[rest], new[rest], chord)
        u = weight[rest] / largest
        if group is None:  # few values: two thresholds, crossed or not
            gain, at = np.unique(gain, return_inverse=True)
            u = np.bincount(at, u).astype(np.float64)
        else:
            together = np.bincount(group[rest], u).astype(np.float64)
            gain = np.bincount(group[rest], u * gain)[together > 0] / together[together > 0]
            u = together[together > 0]
        best = max(best, betting_bound(u, gain, bet, doubt))
    return best


def _discounted(curve: SwitchCurve, bet: float) -> Chord:
    """The task with the largest gain where gains count ``1 - bet/2`` times and losses ``1 + bet/2`` times."""
    less = (curve.only_old * (1 - bet / 2), curve.only_new * (1 - bet / 2))
    more = (curve.only_old * (1 + bet / 2), curve.only_new * (1 + bet / 2))
    end = curve.limits(losses=less, gains=more)[1]
    return curve.chord(np.stack([np.insert(end[:-1], 0, 0.0), end]))  # a cell acts from its threshold on, not above it


def _gains(event: NDArray[np.bool_], old: Floats, new: Floats, chord: Chord) -> Floats:
    """What each row gains by the switch, for the task of a chord that acts from its thresholds on."""
    gain = np.zeros(len(event))
    for threshold, share in ((chord.mu_a, chord.share), (chord.mu_b, 1 - chord.share)):
        gain += 2 * share * (event - threshold) * ((new >= threshold).astype(np.float64) - (old >= threshold))
    return gain
