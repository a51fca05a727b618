"""Soft-binned CDL (SCDL), and the search for its grid m*."""

from __future__ import annotations

import math
import warnings
from dataclasses import dataclass
from typing import Any, ClassVar, Literal, get_args

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rainproof.core.arguments import as_sample
from rainproof.core.cells import Rounding, check_rounding
from rainproof.core.distinct import FINEST_GRID
from rainproof.core.result import Result
from rainproof.core.sample import Sample
from rainproof.core.text import rows
from rainproof.errors import (
    FEW_ROWS,
    ClassesWarning,
    FewRowsWarning,
    InputError,
    OneClassWarning,
    RainproofWarning,
    ResolutionWarning,
)

# Relative difference up to which a loss equals 1/m: rounding must not decide which grid is m*.
TIE = 1e-12
_NEVER_FINE_ENOUGH = 1100  # exponent of a grid, beyond those of all doubles
# Twice the number of exponents by which the first grid tried is finer than halfway: m* of
# calibrated predictions is near it. Any other first grid leads to the same m*, by more trials.
_FINER_THAN_HALFWAY = 5


def _loss_on_grid(sample: Sample, m: int, soft: bool) -> tuple[float, int]:
    """Return SCDL_m and the i of its threshold i/m, computed once for each grid of a sample."""
    loss, threshold = sample.tables.worst(m, soft)
    return loss / sample.total_weight, threshold


def _search(sample: Sample, soft: bool) -> tuple[int | float, list[int]]:
    """Find m*, the smallest m = 2, 4, ... with SCDL_{2m} >= 1/m (Definition 3.2), and return it
    with the grids 2m that were tried.

    The search is over exponents k of m = 2^k: k is fine enough if `_exponent_needed` of SCDL_{2m}
    is at most k. SCDL_m never decreases with m (Lemma 3.2). So if k is fine enough, SCDL is no
    larger on coarser grids, and none below the exponent needed is fine enough. If k is too coarse,
    SCDL is no smaller on finer grids, and the exponent needed is fine enough.
    """
    tried = []
    too_coarse = 0  # the largest exponent that is known to be too coarse
    for grid in sample.tables.grids():  # of the passes over the rows, the cheapest first
        finest = grid.bit_length() - 2  # the last exponent that this pass can check, by 2m <= grid
        fine_enough = finest + 1  # the smallest exponent that is known to be fine enough, if any is
        k = min((too_coarse + finest + _FINER_THAN_HALFWAY) // 2, finest)
        while too_coarse < fine_enough - 1:
            doubled = 2 << k
            tried.append(doubled)
            needed = _exponent_needed(_loss_on_grid(sample, doubled, soft)[0])
            if needed <= k:
                too_coarse = max(too_coarse, needed - 1)
                fine_enough = k
                k = too_coarse + 1
            else:
                too_coarse = k
                fine_enough = min(fine_enough, needed)
                k = max(fine_enough - 1, too_coarse + 1)
        if fine_enough <= finest:
            return 1 << fine_enough, tried
    # Of a compressed sample nothing finer is known: its own grid gives the best bound.
    return sample.grid or math.inf, tried


def balancing_loss(exponent: int | NDArray[np.int64]) -> Any:
    """Return the loss that grid 2m must have for m = 2^exponent to be fine enough: 1/m, less
    rounding.
    """
    return 0.5**exponent * (1 - TIE)


def _exponent_needed(loss: float) -> int:
    """Return the smallest exponent whose `balancing_loss` is at most this."""
    if loss <= 0:
        return _NEVER_FINE_ENOUGH
    # The largest power of two that is at most x is 2^(e - 1), for x = f 2^e with 1/2 <= f < 1.
    _, e = math.frexp(loss / (1 - TIE))
    return 1 - e


def _balanced(sample: Sample, m_star: int | float, soft: bool) -> float:
    """Return SCDL, which is max(SCDL_m, 1/m) at m = m*."""
    if isinstance(m_star, float):  # infinite: no grid has a loss
        return 0.0
    return max(_loss_on_grid(sample, m_star, soft)[0], 1 / m_star)


def _first_crossing(sample: Sample, m_star: int | float, soft: bool) -> float:
    """Return SCDL_m on the first grid with SCDL_m >= 1/m: m*, or 2 m* if m* does not reach it."""
    if isinstance(m_star, float):  # infinite
        return 0.0
    crosses = _loss_on_grid(sample, m_star, soft)[0] >= (1 - TIE) / m_star
    m = m_star if crosses else 2 * m_star
    if sample.grid is not None and m > sample.grid:
        raise InputError(
            f"rule='first_crossing' needs a sample compressed to a finer grid than {sample.grid:,}"
        )
    return _loss_on_grid(sample, m, soft)[0]


Rule = Literal["balance", "first_crossing"]

_SHOWN_GRID = 1 << 16  # up to here a profile has every grid; finer ones if the search tried them
# Rows. Fewer forecasts can all be sure; so many predictions of 0 and 1 are predicted classes.
_MIN_ROWS_OF_CLASSES = 20
_QUICK_ROWS = 64  # that are looked at before all are: they show that most samples are no classes


@dataclass(frozen=True, kw_only=True, slots=True, eq=False, repr=False)
class SoftBinnedProfile(Result):
    """SCDL_m on every grid, and the grid m* that determines SCDL.

    Attributes
    ----------
    value : float
        SCDL, in [0, 1/2]; 0 is perfect.
    m_star : int or inf
        m*, the grid on which loss and rounding are about equal; infinite for a perfectly calibrated
        sample.
    grids : ndarray of int
        The grids, increasing, up to ``2 * m_star`` (for a compressed sample, up to its own): all up
        to 2**16, and of finer ones those that the search needed.
    losses : ndarray of float
        SCDL_m for each grid. It increases with m, while ``1 / grids`` decreases.
    thresholds : ndarray of float
        For each grid the ``i/m`` with the largest loss: the decisions with a threshold between
        ``i/m`` and ``(i+1)/m`` lose most.
    rounding : {"soft", "hard"}
        How predictions are rounded to a grid.
    rule : {"balance", "first_crossing"}
        How `value` follows from the losses; see `soft_binned_profile`.
    n : int
        The number of rows.
    warnings : tuple of str
        Reasons to read the value with care.
    """

    _kind = "soft_binned_profile"
    _also = ("measure", "regret_bound", "worst_threshold")
    measure: ClassVar[str] = "soft_binned_cdl"
    value: float
    m_star: int | float
    grids: NDArray[np.int64]
    losses: NDArray[np.float64]
    thresholds: NDArray[np.float64]
    rounding: Rounding
    rule: Rule
    n: int
    warnings: tuple[str, ...]

    @property
    def regret_bound(self) -> float:
        """An upper bound on the loss of every decision that acts on predictions rounded to
        ``1/m_star``.

        The expected loss per row of this sample, as a share of what is at stake, compared with the
        best swap of actions in hindsight: ``2 SCDL_m + 2/m`` at ``m = m_star`` (Theorem 4.2 of the
        paper), and 0 for a perfectly calibrated sample.
        """
        if math.isinf(self.m_star):
            return 0.0
        loss = float(self.losses[self.grids == self.m_star][0])
        return min(1.0, 2 * loss + 2 / self.m_star)

    @property
    def worst_threshold(self) -> tuple[float, float] | None:
        """The two probabilities between which the threshold with the largest loss lies; None
        without any loss.
        """
        if math.isinf(self.m_star):
            return None
        low = float(self.thresholds[self.grids == self.m_star][0])
        return low, min(1.0, low + 1 / self.m_star)

    @property
    def resolved(self) -> bool:
        """Whether the value is that of the rows; False if it is the smallest value that the
        compression can tell.
        """
        return bool(2 * self.m_star <= self.grids[-1]) or math.isinf(self.m_star)


def soft_binned_cdl(
    y_true: ArrayLike | Sample,
    y_prob: ArrayLike | None = None,
    *,
    sample_weight: ArrayLike | None = None,
    pos_label: Any = None,
    base_rate: float | None = None,
    rounding: Rounding = "soft",
) -> float:
    r"""Compute the Soft-Binned Calibration Decision Loss (SCDL), which bounds the loss of every
    decision.

    Whoever rounds each prediction to a multiple of ``1/m`` (at random, without bias) and takes the
    action that is best at the rounded value loses at most four times this share of what is at
    stake, whatever the decision, compared with the best swap of actions in hindsight. No other
    measure bounds this loss and can also be estimated from a few thousand rows.

    Between 0 and 1/2; 0 is perfect.

    Explained in docs/guide/which-measure.md.

    Parameters
    ----------
    y_true : array_like of shape (n,), or Sample
        The outcomes: 0 or 1, or any two labels with `pos_label`.
    y_prob : array_like of shape (n,)
        The predicted probability of the event, in [0, 1].
    sample_weight : array_like of shape (n,), optional
        The weight of each row (default: all equal).
    pos_label : object, optional
        The label of the event, if labels are not 0 and 1.
    base_rate : float, optional
        The event rate of the population, if these rows have another one (see `Sample`).
    rounding : {"soft", "hard"}
        "soft" rounds to the grid at random, without bias; "hard" rounds down. With hard rounding
        the bound holds too, but a tiny change of the predictions can change the value a lot.

    Returns
    -------
    float
        SCDL of the sample.

    Notes
    -----
    With :math:`\pi_j` the weight of the rows rounded to :math:`j/m` and :math:`q_j` their event
    rate,

    .. math:: \mathrm{SCDL}_m = \max_{0 \le i \le m} \sum_{j \le i} \pi_j (q_j - \tfrac{i+1}{m})_+
        + \sum_{j > i} \pi_j (\tfrac{i}{m} - q_j)_+, \qquad
        \mathrm{SCDL} = \min_{m = 2, 4, 8, \dots} \max(\mathrm{SCDL}_m, \tfrac1m).

    SCDL_m increases with m, so the minimum is where it crosses 1/m. One pass over the rows, without
    sorting, and O(m) after it. On T rows of a perfectly calibrated forecaster it is not 0 but about
    :math:`T^{-1/2}`: compare values from samples of similar size. Values below :math:`2^{-49}`
    cannot be distinguished from 0 in double precision and are reported as 0. A sample compressed to
    m cells cannot resolve values below about 1/m; the value is then the upper bound
    :math:`\max(\mathrm{SCDL}_m, 1/m)`.

    References
    ----------
    Bairaktari, Hu, Nguyen, Ullman (2026), "Testable and Actionable Calibration for Full Swap
    Regret", arXiv:2605.17749: Definition 1.1 (SCDL), Theorem 4.2 (the bound on the loss), Theorem
    7.1 (estimation from a sample).

    Examples
    --------
    >>> import rainproof
    >>> y, p = [0, 0, 1, 0, 1, 1, 0, 1], [0.1, 0.2, 0.3, 0.4, 0.6, 0.7, 0.8, 0.9]
    >>> rainproof.soft_binned_cdl(y, p)
    0.125
    """
    sample = as_sample(
        y_true, y_prob, sample_weight=sample_weight, pos_label=pos_label, base_rate=base_rate
    )
    soft = check_rounding(rounding)
    m_star, _ = _search(sample, soft)
    return _balanced(sample, m_star, soft)


def soft_binned_profile(
    y_true: ArrayLike | Sample,
    y_prob: ArrayLike | None = None,
    *,
    sample_weight: ArrayLike | None = None,
    pos_label: Any = None,
    base_rate: float | None = None,
    rounding: Rounding = "soft",
    rule: Rule = "balance",
) -> SoftBinnedProfile:
    r"""Compute SCDL_m on every grid, and the grid m* that determines `soft_binned_cdl`.

    Explained in docs/guide/which-measure.md.

    Parameters
    ----------
    y_true, y_prob, sample_weight, pos_label, base_rate, rounding
        As for `soft_binned_cdl`.
    rule : {"balance", "first_crossing"}
        "balance": `value` is SCDL as defined, the smallest ``max(SCDL_m, 1/m)``. "first_crossing":
        it is SCDL_m on the first grid m' with ``SCDL_m >= 1/m``, as the values that the paper
        prints seem to be. It is never below SCDL, has none of its guarantees, and jumps where m'
        changes.

    Returns
    -------
    SoftBinnedProfile

    Raises
    ------
    InputError
        If `rule` is "first_crossing" and the first such grid is finer than that of a compressed
        sample.

    Warns
    -----
    ClassesWarning, FewRowsWarning, OneClassWarning, ResolutionWarning
        If the value needs care; the result stores the messages.

    Notes
    -----
    The first crossing m' is m* if :math:`\mathrm{SCDL}_{m^*} \ge 1/m^*`, and 2 m* otherwise. In
    the first case SCDL is :math:`\mathrm{SCDL}_{m'} < 2/m'`, in the second it is :math:`1/m^* =
    2/m' \le \mathrm{SCDL}_{m'}`. In both,

    .. math:: \mathrm{SCDL} = \min(\mathrm{SCDL}_{m'}, 2/m').

    References
    ----------
    arXiv:2605.17749, Definition 3.2 and Lemma 3.3 (m*, and SCDL in [1/m*, 2/m*)).

    Examples
    --------
    >>> import numpy as np, rainproof
    >>> rng = np.random.default_rng(0)
    >>> p = rng.random(1000)
    >>> y = rng.random(1000) < p**2      # the event is rarer than predicted
    >>> prof = rainproof.measures.soft_binned_profile(y, p)
    >>> prof
    SoftBinnedProfile(value=0.0292492, m_star=64, rounding='soft', rule='balance', n=1000)
    >>> prof.grids
    array([  2,   4,   8,  16,  32,  64, 128])
    >>> rainproof.measures.soft_binned_profile(y, p, rule="first_crossing")
    SoftBinnedProfile(value=0.0292492, m_star=64, rounding='soft', rule='first_crossing', n=1000)
    """
    if rule not in get_args(Rule):
        raise InputError(f"rule must be 'balance' or 'first_crossing'; it is {rule!r}")
    sample = as_sample(
        y_true, y_prob, sample_weight=sample_weight, pos_label=pos_label, base_rate=base_rate
    )
    soft = check_rounding(rounding)
    m_star, tried = _search(sample, soft)
    notes = _notes(sample, m_star)
    for note in notes:
        warnings.warn(note, stacklevel=2)
    grids = _grids_to_show(m_star, tried, sample.grid)
    on_grids = [_loss_on_grid(sample, m, soft) for m in grids]
    losses, thresholds = zip(*on_grids, strict=True)
    if rule == "balance":
        value = _balanced(sample, m_star, soft)
    else:
        value = _first_crossing(sample, m_star, soft)
    return SoftBinnedProfile(
        value=value,
        m_star=m_star,
        grids=np.array(grids, np.int64),
        losses=np.array(losses),
        thresholds=np.array(thresholds) / np.array(grids),
        rounding=rounding,
        rule=rule,
        n=sample.n,
        warnings=tuple(str(note) for note in notes),
    )


def _grids_to_show(m_star: int | float, tried: list[int], compressed: int | None) -> list[int]:
    """Return the grids of a profile: up to 2 m*, or to that of a compressed sample."""
    grids = {m for m in tried if m <= 2 * m_star}
    finest = min(2 * m_star, compressed or FINEST_GRID)
    m = 2
    while m <= finest:
        if m <= _SHOWN_GRID or m >= m_star:
            grids.add(m)
        m *= 2
    return sorted(grids)


def _notes(sample: Sample, m_star: int | float) -> list[RainproofWarning]:
    """Return the reasons to read the value with care."""
    notes: list[RainproofWarning] = []
    if sample.n < FEW_ROWS:
        notes.append(
            FewRowsWarning(f"only {rows(sample.n)}: much of the value can be due to chance")
        )
    if sample.n >= _MIN_ROWS_OF_CLASSES and _are_classes(sample.y_prob):
        notes.append(
            ClassesWarning("every prediction is 0 or 1: these are classes, not probabilities")
        )
    if sample.event_rate in (0.0, 1.0):
        by_weight = ", by weight" if sample.units.has_weights else ""
        same = f"every outcome is {sample.event_rate:.0f}{by_weight}"
        notes.append(OneClassWarning(f"{same}: nothing is known about the other outcome"))
    if sample.grid is not None and 2 * m_star > sample.grid:
        notes.append(
            ResolutionWarning(
                "the value is below the resolution of a sample compressed to "
                f"grid = {sample.grid:,}: the number given is an upper bound"
            )
        )
    return notes


def _are_classes(prob: NDArray[Any]) -> bool:
    """Return whether every prediction is 0 or 1."""
    first = prob[:_QUICK_ROWS]
    return bool(np.isin(first, (0, 1)).all() and np.isin(prob, (0, 1)).all())
