"""Soft-Binned Calibration Decision Loss (SCDL): the measure that decisions can lean on."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from brolly.core.arrays import Frozen, freeze
from brolly.core.grid.rounded import Rounding, check_rounding
from brolly.core.sample.sample import Sample, as_sample
from brolly.errors import BrollyWarning, FewRowsWarning, OneClassWarning, ResolutionWarning

_TIE = 1e-12  # a loss this close to 1/m is equal to it: rounding must not decide which grid is m*
_SHOWN_GRID = 1 << 16  # a profile shows every grid up to this, finer ones where the search went
_FEW_ROWS = 100


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class SoftBinnedProfile(Frozen):
    """How SCDL comes about: the loss on each grid looked at, and where it balances.

    Attributes
    ----------
    value : float
        SCDL, in [0, 1/2]; 0 is perfect.
    m_star : int or inf
        The grid that balances loss and rounding; infinite when the sample is perfectly calibrated.
    grids : ndarray of int
        The grids looked at, increasing, the last of them ``2 * m_star`` (for a compressed sample none finer
        than its own): all up to 2**16, and of finer ones those that the search needed.
    losses : ndarray of float
        SCDL_m for each of them. It grows with m, while ``1 / grids`` falls.
    thresholds : ndarray of float
        For each grid the ``i/m`` at which the loss is largest: those who act above a probability
        between ``i/m`` and ``(i+1)/m`` are hurt most.
    rounding : {"soft", "hard"}
        How predictions are rounded to a grid.
    n : int
        The number of rows.
    warnings : tuple of str
        Reasons to read the value with care.
    """

    value: float
    m_star: int | float
    grids: NDArray[np.int64]
    losses: NDArray[np.float64]
    thresholds: NDArray[np.float64]
    rounding: Rounding
    n: int
    warnings: tuple[str, ...]

    def __post_init__(self) -> None:
        freeze(self.grids, self.losses, self.thresholds)

    @property
    def regret_bound(self) -> float:
        """What anyone who acts on predictions rounded to ``1/m_star`` gives up at most.

        A share of the range of their payoffs, per row of this sample, against the best swap of their
        actions in hindsight: ``2 SCDL_m + 2/m`` at ``m = m_star`` (Theorem 4.2 of the paper), and 0 for
        a perfectly calibrated sample.
        """
        if math.isinf(self.m_star):
            return 0.0
        return min(1.0, 2 * float(self.losses[self.grids == self.m_star][0]) + 2 / self.m_star)

    @property
    def worst_threshold(self) -> tuple[float, float] | None:
        """Between which probabilities those act who are hurt most; None if nobody is."""
        if math.isinf(self.m_star):
            return None
        low = float(self.thresholds[self.grids == self.m_star][0])
        return low, min(1.0, low + 1 / self.m_star)

    def to_dict(self) -> dict[str, Any]:
        """All of it in built-in types, ready for JSON (where an infinite `m_star` is None)."""
        return {
            "measure": "soft_binned_cdl",
            "value": self.value,
            "m_star": None if math.isinf(self.m_star) else self.m_star,
            "regret_bound": self.regret_bound,
            "worst_threshold": self.worst_threshold and list(self.worst_threshold),
            "rounding": self.rounding,
            "n": self.n,
            "grids": self.grids.tolist(),
            "losses": self.losses.tolist(),
            "thresholds": self.thresholds.tolist(),
            "warnings": list(self.warnings),
        }

    def __repr__(self) -> str:
        how = f"m_star={self.m_star}, rounding={self.rounding!r}, n={self.n}"
        return f"SoftBinnedProfile(value={self.value:.6g}, {how})"

    def _repr_html_(self) -> str:
        rows = "".join(
            f"<tr><td>{m}{' *' * (m == self.m_star)}</td><td>{loss:.6f}</td><td>{1 / m:.6f}</td></tr>"
            for m, loss in zip(self.grids.tolist(), self.losses.tolist(), strict=True)
        )
        return (
            f"<p>SCDL = <b>{self.value:.4g}</b> ({self.rounding} rounding, {self.n:,} rows)</p>"
            f"<table><tr><th>m</th><th>SCDL<sub>m</sub></th><th>1/m</th></tr>{rows}</table>"
        )


def soft_binned_cdl(
    y_true: ArrayLike | Sample,
    y_prob: ArrayLike | None = None,
    *,
    sample_weight: ArrayLike | None = None,
    pos_label: Any = None,
    rounding: Rounding = "soft",
) -> float:
    r"""Soft-Binned Calibration Decision Loss: what acting on these probabilities can cost.

    If it is small, everyone can act on the probabilities: whoever rounds each of them to a multiple of
    ``1/m`` (at random, unbiased) and takes the action that is best at the rounded value, gives up at
    most four times this share of what is at stake, whatever the decision. No other measure promises
    that and can also be measured from a few thousand rows.

    Between 0 and 1/2; 0 is perfect.

    Parameters
    ----------
    y_true : array_like of shape (n,), or Sample
        The outcomes: 0 or 1, or any two labels with `pos_label`.
    y_prob : array_like of shape (n,)
        The predicted probability of the event, in [0, 1].
    sample_weight : array_like of shape (n,), optional
        How much each row counts.
    pos_label : object, optional
        Which label is the event, where labels are not 0 and 1.
    rounding : {"soft", "hard"}
        "soft" rounds to the grid at random, without bias; "hard" rounds down. Hard rounding keeps the
        promises, but a tiny change of the predictions can change the value a lot.

    Returns
    -------
    float
        SCDL of the sample.

    Notes
    -----
    With :math:`\pi_j` the weight of the rows rounded to :math:`j/m` and :math:`q_j` the frequency of the
    event among them,

    .. math:: \mathrm{SCDL}_m = \max_{0 \le i \le m} \sum_{j \le i} \pi_j (q_j - \tfrac{i+1}{m})_+
        + \sum_{j > i} \pi_j (\tfrac{i}{m} - q_j)_+, \qquad
        \mathrm{SCDL} = \min_{m = 2, 4, 8, \dots} \max(\mathrm{SCDL}_m, \tfrac1m).

    SCDL_m grows with m, so the minimum is where it crosses 1/m. One pass over the rows, without sorting,
    and O(m) after it. On T rows of a perfectly calibrated forecaster it is not 0 but about
    :math:`T^{-1/2}`: compare values from samples of similar size. Values below :math:`2^{-49}` cannot be
    told from 0 in double precision and are reported as 0. Of a sample compressed to m cells, what is below
    about 1/m is not known; the value is then the bound :math:`\max(\mathrm{SCDL}_m, 1/m)`.

    References
    ----------
    Bairaktari, Hu, Nguyen, Ullman (2026), "Testable and Actionable Calibration for Full Swap Regret",
    arXiv:2605.17749: Definition 1.1 (SCDL), Theorem 4.2 (what it promises), Theorem 7.1 (how well a
    sample tells it).

    Examples
    --------
    >>> import brolly
    >>> y, p = [0, 0, 1, 0, 1, 1, 0, 1], [0.1, 0.2, 0.3, 0.4, 0.6, 0.7, 0.8, 0.9]
    >>> brolly.soft_binned_cdl(y, p)
    0.125
    """
    sample = as_sample(y_true, y_prob, sample_weight=sample_weight, pos_label=pos_label)
    return _balance(sample, rounding).value


def soft_binned_profile(
    y_true: ArrayLike | Sample,
    y_prob: ArrayLike | None = None,
    *,
    sample_weight: ArrayLike | None = None,
    pos_label: Any = None,
    rounding: Rounding = "soft",
) -> SoftBinnedProfile:
    """The whole balance behind `soft_binned_cdl`: the loss on each grid, and which grid to act on.

    Parameters
    ----------
    y_true, y_prob, sample_weight, pos_label, rounding
        As for `soft_binned_cdl`.

    Returns
    -------
    SoftBinnedProfile

    Warns
    -----
    FewRowsWarning, OneClassWarning, ResolutionWarning
        Where the value needs care; the result keeps the text.

    References
    ----------
    arXiv:2605.17749, Definition 3.2 and Lemma 3.3 (m* and the interval [1/m*, 2/m*) SCDL lies in).

    Examples
    --------
    >>> import numpy as np, brolly
    >>> rng = np.random.default_rng(0)
    >>> p = rng.random(1000)
    >>> y = rng.random(1000) < p**2      # the event is rarer than predicted
    >>> prof = brolly.soft_binned_profile(y, p)
    >>> prof
    SoftBinnedProfile(value=0.0292492, m_star=64, rounding='soft', n=1000)
    >>> prof.grids
    array([  2,   4,   8,  16,  32,  64, 128])
    """
    sample = as_sample(y_true, y_prob, sample_weight=sample_weight, pos_label=pos_label)
    balance = _balance(sample, rounding)
    m = 2
    while m <= min(2 * balance.m_star, sample.grid or _SHOWN_GRID, _SHOWN_GRID):
        balance.loss(m)
        m *= 2
    notes = _notes(sample, balance.m_star)
    for note in notes:
        warnings.warn(note, stacklevel=2)
    grids = sorted(m for m in balance.looked_at if m <= 2 * balance.m_star)
    losses, thresholds = zip(*(balance.looked_at[m] for m in grids), strict=True)
    return SoftBinnedProfile(
        value=balance.value,
        m_star=balance.m_star,
        grids=np.array(grids, np.int64),
        losses=np.array(losses),
        thresholds=np.array(thresholds) / np.array(grids),
        rounding=rounding,
        n=sample.n,
        warnings=tuple(map(str, notes)),
    )


def _balance(sample: Sample, rounding: Rounding) -> Balance:
    check_rounding(rounding)
    # Of a compressed sample nothing finer is known: its own grid gives the best bound.
    return Balance(
        lambda m: sample._on_grid(m, rounding).worst,
        sample._grids(),
        sample.total_weight,
        otherwise=sample.grid or math.inf,
    )


class Balance:
    """The search for m*, the smallest m = 2, 4, ... with SCDL_{2m} >= 1/m (Definition 3.2).

    Parameters
    ----------
    worst : callable
        Gives for a grid m the loss, as a sum over the rows, and the threshold i that has it.
    grids : list of int
        The grids to stop at on the way, the cheapest first; none finer than the last is looked at.
    total : float
        The weight of all rows.
    otherwise : int or float
        m* where none of the grids balances.
    """

    def __init__(
        self, worst: Callable[[int], tuple[float, int]], grids: Sequence[int], total: float, otherwise: int | float
    ) -> None:
        self._worst = worst
        self._total = total
        self.looked_at: dict[int, tuple[float, int]] = {}  # m: SCDL_m and the threshold i that has it
        self.m_star = self._search(grids, otherwise)

    @property
    def value(self) -> float:
        """SCDL."""
        return 0.0 if isinstance(self.m_star, float) else max(self.loss(self.m_star), 1 / self.m_star)

    def loss(self, m: int) -> float:
        """SCDL_m, computed once."""
        if m not in self.looked_at:
            loss, i = self._worst(m)
            self.looked_at[m] = loss / self._total, i
        return self.looked_at[m][0]

    def _search(self, grids: Sequence[int], otherwise: int | float) -> int | float:
        """SCDL_m never falls as m grows (Lemma 3.2), so bisect: first on the grids that cost least."""
        low = 0
        for grid in grids:
            high = grid.bit_length() - 2  # exponents: 2^low is too coarse, 2^high the finest to judge here
            if self._balanced(high):
                while high - low > 1:
                    middle = (low + high) // 2
                    low, high = (low, middle) if self._balanced(middle) else (middle, high)
                return 1 << high
            low = high
        return otherwise

    def _balanced(self, exponent: int) -> bool:
        return self.loss(2 << exponent) >= 2.0**-exponent * (1 - _TIE)


def _notes(sample: Sample, m_star: int | float) -> list[BrollyWarning]:
    notes: list[BrollyWarning] = []
    if sample.n < _FEW_ROWS:
        rows = "1 row is" if sample.n == 1 else f"{sample.n} rows are"
        notes.append(FewRowsWarning(f"{rows} few: chance alone can explain much of the value"))
    if sample.event_rate in (0.0, 1.0):
        notes.append(OneClassWarning(f"every outcome is {sample.event_rate:.0f}: the other side is untested"))
    if sample.grid is not None and 2 * m_star > sample.grid:
        notes.append(
            ResolutionWarning(
                f"the rows' value is below what a sample compressed to grid = {sample.grid:,} can resolve: "
                "it is at most the one given"
            )
        )
    return notes
