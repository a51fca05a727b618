"""The search for the grid m* that decides SCDL."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Literal, get_args

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rainproof.core.cells import Rounding, check_rounding
from rainproof.core.distinct import FINEST_GRID
from rainproof.core.result import Result
from rainproof.core.sample import Sample, as_sample
from rainproof.core.text import rows
from rainproof.errors import (
    ClassesWarning,
    FewRowsWarning,
    InputError,
    OneClassWarning,
    RainproofWarning,
    ResolutionWarning,
)

TIE = 1e-12  # a loss this close to 1/m is equal to it: rounding must not decide which grid is m*
_FINEST = 1100  # an exponent beyond those of doubles


class GridSearch:
    """The search for m*, the smallest m = 2, 4, ... with SCDL_{2m} >= 1/m (Definition 3.2).

    Parameters
    ----------
    worst : callable
        Returns for a grid m the loss, as a sum over the rows, and its threshold i.
    grids : list of int
        The grids at which computing the loss becomes more expensive, increasing; none finer than the last is tried.
    total : float
        The weight of all rows.
    otherwise : int or float
        m* if no grid has SCDL_{2m} >= 1/m.
    """

    def __init__(
        self, worst: Callable[[int], tuple[float, int]], grids: Sequence[int], total: float, otherwise: int | float
    ) -> None:
        self._worst = worst
        self._total = total
        self.tried: dict[int, tuple[float, int]] = {}  # by grid m: SCDL_m and its threshold i
        self.m_star = self._find(grids, otherwise)

    @property
    def value(self) -> float:
        """SCDL."""
        return 0.0 if isinstance(self.m_star, float) else max(self.loss(self.m_star), 1 / self.m_star)

    def loss(self, m: int) -> float:
        """Return SCDL_m, computed once."""
        if m not in self.tried:
            loss, i = self._worst(m)
            self.tried[m] = loss / self._total, i
        return self.tried[m][0]

    def _find(self, grids: Sequence[int], otherwise: int | float) -> int | float:
        """Find m* on the cheapest grids first, as SCDL_m never decreases with m (Lemma 3.2).

        With ``e = _needed(SCDL_2m)``, ``m = 2^guess`` is fine enough if ``e <= guess``. Then no coarser grid than
        2^e is, as SCDL is no larger there; otherwise 2^e is, as SCDL is no smaller there.
        """
        low = 0  # exponents: 2^low is too coarse
        for grid in grids:
            high = grid.bit_length() - 2  # the finest that this grid can check
            found = high + 1  # the coarsest that is known to be fine enough, if any
            guess = min((low + high + 5) // 2, high)
            while low < min(found - 1, high):
                needed = _needed(self.loss(2 << guess))
                if needed <= guess:
                    low, found = max(low, needed - 1), guess
                    guess = low + 1
                else:
                    low, found = guess, min(found, needed)
                    guess = max(found - 1, low + 1)
            if found <= high:
                return 1 << found
        return otherwise


def balancing_loss(exponent: int | NDArray[np.int64]) -> Any:
    """Return the loss that grid 2m must have for m = 2^exponent to be fine enough: 1/m, or as good as."""
    return 0.5**exponent * (1 - TIE)


def _needed(loss: float) -> int:
    """Return the smallest exponent whose `balancing_loss` is at most this."""
    return 1 - math.frexp(loss / (1 - TIE))[1] if loss > 0 else _FINEST


Rule = Literal["balance", "first_crossing"]

_SHOWN_GRID = 1 << 16  # a profile has every grid up to this one, and finer ones if the search needed them
_FEW_ROWS = 100
_MANY_CLASSES = 20  # in so many rows probabilities are not all 0 or 1


@dataclass(frozen=True, kw_only=True, slots=True, eq=False, repr=False)
class SoftBinnedProfile(Result):
    """SCDL_m on every grid, and the grid m* that determines SCDL.

    Attributes
    ----------
    value : float
        SCDL, in [0, 1/2]; 0 is perfect.
    m_star : int or inf
        m*, the grid on which loss and rounding are about equal; infinite for a perfectly calibrated sample.
    grids : ndarray of int
        The grids, increasing, up to ``2 * m_star`` (for a compressed sample, up to its own): all up to 2**16, and of
        finer ones those that the search needed.
    losses : ndarray of float
        SCDL_m for each grid. It increases with m, while ``1 / grids`` decreases.
    thresholds : ndarray of float
        For each grid the ``i/m`` with the largest loss: the decisions with a threshold between ``i/m`` and
        ``(i+1)/m`` lose most.
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
        """An upper bound on the loss of every decision that acts on predictions rounded to ``1/m_star``.

        The expected loss per row of this sample, as a share of what is at stake, compared with the best swap of
        actions in hindsight: ``2 SCDL_m + 2/m`` at ``m = m_star`` (Theorem 4.2 of the paper), and 0 for a perfectly
        calibrated sample.
        """
        if math.isinf(self.m_star):
            return 0.0
        return min(1.0, 2 * float(self.losses[self.grids == self.m_star][0]) + 2 / self.m_star)

    @property
    def worst_threshold(self) -> tuple[float, float] | None:
        """The two probabilities between which the threshold with the largest loss lies; None without any loss."""
        if math.isinf(self.m_star):
            return None
        low = float(self.thresholds[self.grids == self.m_star][0])
        return low, min(1.0, low + 1 / self.m_star)

    @property
    def resolved(self) -> bool:
        """Whether the value is that of the rows; False if it is the smallest value that the compression can tell."""
        return bool(2 * self.m_star <= self.grids[-1]) or math.isinf(self.m_star)


def soft_binned_cdl(
    y_true: ArrayLike | Sample,
    y_prob: ArrayLike | None = None,
    *,
    sample_weight: ArrayLike | None = None,
    pos_label: Any = None,
    rounding: Rounding = "soft",
) -> float:
    r"""Compute the Soft-Binned Calibration Decision Loss (SCDL), which bounds the loss of every decision.

    Whoever rounds each prediction to a multiple of ``1/m`` (at random, without bias) and takes the action that is
    best at the rounded value loses at most four times this share of what is at stake, whatever the decision, compared
    with the best swap of actions in hindsight. No other measure bounds this loss and can also be estimated from a few
    thousand rows.

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
    rounding : {"soft", "hard"}
        "soft" rounds to the grid at random, without bias; "hard" rounds down. With hard rounding the bound holds too,
        but a tiny change of the predictions can change the value a lot.

    Returns
    -------
    float
        SCDL of the sample.

    Notes
    -----
    With :math:`\pi_j` the weight of the rows rounded to :math:`j/m` and :math:`q_j` their event rate,

    .. math:: \mathrm{SCDL}_m = \max_{0 \le i \le m} \sum_{j \le i} \pi_j (q_j - \tfrac{i+1}{m})_+
        + \sum_{j > i} \pi_j (\tfrac{i}{m} - q_j)_+, \qquad
        \mathrm{SCDL} = \min_{m = 2, 4, 8, \dots} \max(\mathrm{SCDL}_m, \tfrac1m).

    SCDL_m increases with m, so the minimum is where it crosses 1/m. One pass over the rows, without sorting, and O(m)
    after it. On T rows of a perfectly calibrated forecaster it is not 0 but about :math:`T^{-1/2}`: compare values
    from samples of similar size. Values below :math:`2^{-49}` cannot be distinguished from 0 in double precision and
    are reported as 0. A sample compressed to m cells cannot resolve values below about 1/m; the value is then the
    upper bound :math:`\max(\mathrm{SCDL}_m, 1/m)`.

    References
    ----------
    Bairaktari, Hu, Nguyen, Ullman (2026), "Testable and Actionable Calibration for Full Swap Regret",
    arXiv:2605.17749: Definition 1.1 (SCDL), Theorem 4.2 (the bound on the loss), Theorem 7.1 (estimation from a
    sample).

    Examples
    --------
    >>> import rainproof
    >>> y, p = [0, 0, 1, 0, 1, 1, 0, 1], [0.1, 0.2, 0.3, 0.4, 0.6, 0.7, 0.8, 0.9]
    >>> rainproof.soft_binned_cdl(y, p)
    0.125
    """
    sample = as_sample(y_true, y_prob, sample_weight=sample_weight, pos_label=pos_label)
    return _search(sample, rounding).value


def soft_binned_profile(
    y_true: ArrayLike | Sample,
    y_prob: ArrayLike | None = None,
    *,
    sample_weight: ArrayLike | None = None,
    pos_label: Any = None,
    rounding: Rounding = "soft",
    rule: Rule = "balance",
) -> SoftBinnedProfile:
    r"""Compute SCDL_m on every grid, and the grid m* that determines `soft_binned_cdl`.

    Explained in docs/guide/which-measure.md.

    Parameters
    ----------
    y_true, y_prob, sample_weight, pos_label, rounding
        As for `soft_binned_cdl`.
    rule : {"balance", "first_crossing"}
        "balance": `value` is SCDL as defined, the smallest ``max(SCDL_m, 1/m)``. "first_crossing": it is SCDL_m on the
        first grid m' with ``SCDL_m >= 1/m``, as the values that the paper prints seem to be. It is never below SCDL,
        has none of its guarantees, and jumps where m' changes.

    Returns
    -------
    SoftBinnedProfile

    Raises
    ------
    InputError
        If `rule` is "first_crossing" and the first such grid is finer than that of a compressed sample.

    Warns
    -----
    ClassesWarning, FewRowsWarning, OneClassWarning, ResolutionWarning
        If the value needs care; the result stores the messages.

    Notes
    -----
    The first crossing m' is m* if :math:`\mathrm{SCDL}_{m^*} \ge 1/m^*`, and 2 m* otherwise. In the first case SCDL is
    :math:`\mathrm{SCDL}_{m'} < 2/m'`, in the second it is :math:`1/m^* = 2/m' \le \mathrm{SCDL}_{m'}`. In both,

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
    sample = as_sample(y_true, y_prob, sample_weight=sample_weight, pos_label=pos_label)
    search = _search(sample, rounding)
    finest = min(2 * search.m_star, sample.grid or math.inf)
    for m in (1 << k for k in range(1, FINEST_GRID.bit_length())):
        if m <= finest and (m <= _SHOWN_GRID or m >= search.m_star):
            search.loss(m)
    notes = _notes(sample, search.m_star)
    for note in notes:
        warnings.warn(note, stacklevel=2)
    grids = sorted(m for m in search.tried if m <= 2 * search.m_star)
    losses, thresholds = zip(*(search.tried[m] for m in grids), strict=True)
    return SoftBinnedProfile(
        value=search.value if rule == "balance" else _first_crossing(search, sample.grid),
        m_star=search.m_star,
        grids=np.array(grids, np.int64),
        losses=np.array(losses),
        thresholds=np.array(thresholds) / np.array(grids),
        rounding=rounding,
        rule=rule,
        n=sample.n,
        warnings=tuple(map(str, notes)),
    )


def _first_crossing(search: GridSearch, finest: int | None) -> float:
    """Return SCDL_m on the first grid with SCDL_m >= 1/m: m*, or 2 m* if m* does not reach it."""
    m = search.m_star
    if isinstance(m, float):
        return 0.0
    if search.loss(m) < (1 - TIE) / m:
        m *= 2
    if finest is not None and m > finest:
        raise InputError(f"rule='first_crossing' needs a sample compressed to a finer grid than {finest:,}")
    return search.loss(m)


def _search(sample: Sample, rounding: Rounding) -> GridSearch:
    soft = check_rounding(rounding)
    # Of a compressed sample nothing finer is known: its own grid gives the best bound.
    return GridSearch(
        lambda m: sample._worst(m, soft),
        sample._grids(),
        sample.total_weight,
        otherwise=sample.grid or math.inf,
    )


def _notes(sample: Sample, m_star: int | float) -> list[RainproofWarning]:
    notes: list[RainproofWarning] = []
    p = sample.y_prob
    if sample.n < _FEW_ROWS:
        notes.append(FewRowsWarning(f"only {rows(sample.n)}: much of the value can be due to chance"))
    if sample.n >= _MANY_CLASSES and all(np.isin(part, (0, 1)).all() for part in (p[:64], p)):
        notes.append(ClassesWarning("every prediction is 0 or 1: these are classes, not probabilities"))
    if sample.event_rate in (0.0, 1.0):
        notes.append(
            OneClassWarning(f"every outcome is {sample.event_rate:.0f}: nothing is known about the other outcome")
        )
    if sample.grid is not None and 2 * m_star > sample.grid:
        notes.append(
            ResolutionWarning(
                f"the value is below the resolution of a sample compressed to grid = {sample.grid:,}: the number given "
                "is an upper bound"
            )
        )
    return notes
