"""The exact test: could a perfectly calibrated forecaster have got this value?"""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from html import escape
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from brolly.core.arrays import Floats, freeze
from brolly.core.sample.sample import Sample, as_sample
from brolly.core.text import rows
from brolly.errors import ResolutionWarning
from brolly.inference.resampling import Progress, Seed, as_seed, check_resamples, check_share, draw_many, quantile
from brolly.inference.resampling_units import as_atoms
from brolly.inference.statistic import Measuring, Statistic, as_statistic

_CELLS_A_BIN = 8


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class CalibrationTest:
    """Whether chance alone explains a measure's value.

    Attributes
    ----------
    statistic : float
        The measure of the sample.
    p_value : float
        How often a perfectly calibrated forecaster with the same predictions gets as much: no more than this. Small
        values speak against calibration; a large one does not speak for it.
    measure : str
        Which measure.
    null_mean : float
        What the measure is on average for a calibrated forecaster on so many rows.
    null_band : tuple of float
        Between which values 95% of the calibrated ones lie.
    null : ndarray
        All values drawn, increasing.
    n_resamples : int
        How many.
    n : int
        The number of rows.
    seed : int or None
        The seed, where it was given as one.
    warnings : tuple of str
        Reasons to read the result with care.
    """

    statistic: float
    p_value: float
    measure: str
    null_mean: float
    null_band: tuple[float, float]
    null: Floats
    n_resamples: int
    n: int
    seed: int | None
    warnings: tuple[str, ...]

    def __post_init__(self) -> None:
        freeze(self.null)

    @property
    def excess(self) -> float:
        """How much of the statistic is more than chance gives on average; below 0 if it is less."""
        return self.statistic - self.null_mean

    def rejects(self, alpha: float = 0.05) -> bool:
        """Whether the test at level `alpha` says that the forecaster is not calibrated.

        Of calibrated forecasters it says so of a share `alpha` at most, whatever the number of rows.
        """
        return self.p_value <= check_share(alpha, "alpha")

    def null_quantile(self, share: float) -> float:
        """The value that a calibrated forecaster stays below with this probability."""
        return quantile(self.null, check_share(share, "share"))

    def to_dict(self) -> dict[str, Any]:
        """All but the single draws in built-in types, ready for JSON."""
        return {
            "result": "calibration_test",
            "method": "exact Monte Carlo test: predictions kept, outcomes redrawn",
            "measure": self.measure,
            "statistic": self.statistic,
            "p_value": self.p_value,
            "null_mean": self.null_mean,
            "null_band": list(self.null_band),
            "confidence_level": 0.95,
            "n_resamples": self.n_resamples,
            "n": self.n,
            "seed": self.seed,
            "warnings": list(self.warnings),
        }

    def __repr__(self) -> str:
        return (
            f"CalibrationTest(statistic={self.statistic:.6g}, p_value={self.p_value:.4g}, measure={self.measure!r}, "
            f"n_resamples={self.n_resamples}, n={self.n})"
        )

    def __str__(self) -> str:
        low, high = self.null_band
        verdict = "a calibrated forecaster would hardly get that" if self.rejects() else "chance alone can explain it"
        return (
            f"{self.measure} = {self.statistic:.4g} on {rows(self.n)}: {verdict} (p = {self.p_value:.3g}).\n"
            f"Calibrated forecasters with these predictions get {self.null_mean:.4g} on average, and 95% of them "
            f"between {low:.4g} and {high:.4g}."
        )

    def _repr_html_(self) -> str:
        return "".join(f"<p>{escape(line)}</p>" for line in str(self).split("\n"))


def calibration_test(
    y_true: ArrayLike | Sample,
    y_prob: ArrayLike | None = None,
    *,
    sample_weight: ArrayLike | None = None,
    pos_label: Any = None,
    measure: str | Measuring = "soft_binned_cdl",
    n_resamples: int = 999,
    rng: Seed = None,
    progress: Progress | None = None,
) -> CalibrationTest:
    r"""Test whether a forecaster is perfectly calibrated: exact at every sample size, for every measure.

    No sample has a miscalibration of exactly 0: some is always there by chance. The test tells how much, and whether
    there is more. It does not tell whether the excess matters, which `confidence_interval` and `guarantee` do:
    with enough rows a harmless miscalibration is significant too.

    Parameters
    ----------
    y_true : array_like of shape (n,), or Sample
        The outcomes: 0 or 1, or any two labels with `pos_label`.
    y_prob : array_like of shape (n,)
        The predicted probability of the event, in [0, 1].
    sample_weight : array_like of shape (n,), optional
        How much each row counts; taken as given, not as random.
    pos_label : object, optional
        Which label is the event, where labels are not 0 and 1.
    measure : str or callable
        A name of `list_measures()`, or a function that takes one `Sample`. Large values must speak against calibration.
    n_resamples : int
        How many calibrated forecasters are drawn. The p-value is a multiple of ``1/(n_resamples + 1)``.
    rng : None, int or numpy.random.Generator
        The source of chance; the same seed gives the same result.
    progress : callable, optional
        Called now and then with the number of forecasters drawn so far and in all.

    Returns
    -------
    CalibrationTest
        The statistic, its p-value, and what calibrated forecasters get.

    Warns
    -----
    ResolutionWarning
        For SCDL of a compressed sample whose cells are too coarse to redraw it.

    Notes
    -----
    The predictions are kept and the outcomes redrawn, :math:`y^*_t \sim \mathrm{Bernoulli}(p_t)`, B times:

    .. math:: \text{p-value} = \frac{1 + \#\{b : T^*_b \ge T\}}{B + 1}.

    If the forecaster is calibrated row by row (:math:`\mathrm{P}(y_t = 1) = p_t`, independently), the sample is
    one more draw of the same kind, its rank among all B + 1 is uniform up to ties, and
    :math:`\mathrm{P}(\text{p-value} \le \alpha) \le \alpha` for every n, B and measure: no asymptotics. Redrawn
    samples and the observed one go through the same code, so that rounding cannot break a tie in one direction
    only. Rows that depend on each other (clusters, time series) are not redrawn rightly: there the test rejects too
    often. So it takes no `groups`; `confidence_interval` does.

    On a compressed sample the events of each cell are redrawn as a binomial number with the mean prediction of the
    cell. The exact law, of rows whose predictions differ by up to 1/m, has the same mean and a variance smaller by a
    share of :math:`1/(4 m^2 p (1-p))` at most: no simulation could tell for ``m = 2**16``. Where weights differ
    within a cell, their sum and their sum of squares are kept. The observed statistic is there taken of the same pooled
    cells, so the test is of the measure as far as cells can tell it.

    A resample of SCDL costs one pass over the distinct predictions, without sorting; other measures cost what they cost
    on sorted rows.

    References
    ----------
    Barnard (1963), discussion of Bartlett, JRSS B 25, 294 (Monte Carlo tests). Brocker, Smith (2007), "Increasing the
    Reliability of Reliability Diagrams", doi:10.1175/WAF993.1 (consistency resampling). Phipson, Smyth (2010),
    "Permutation P-values Should Never Be Zero", doi:10.2202/1544-6115.1585.

    Examples
    --------
    >>> import numpy as np, brolly
    >>> rng = np.random.default_rng(0)
    >>> p = rng.random(1000)
    >>> y = rng.random(1000) < p**2      # the event is rarer than predicted
    >>> test = brolly.calibration_test(y, p, rng=0)
    >>> test.p_value, test.rejects()
    (0.001, True)
    """
    sample = as_sample(y_true, y_prob, sample_weight=sample_weight, pos_label=pos_label)
    statistic = as_statistic(measure)
    size = check_resamples(n_resamples)
    generator, seed = as_seed(rng)
    atoms = as_atoms(sample)
    evaluate, coin = statistic.on(atoms), atoms.coin(atoms.prob)
    observed = evaluate(atoms.observed())
    threads = statistic.threads
    null = draw_many(lambda stream: [evaluate(atoms.redraw(stream, coin))], size, generator, progress, threads=threads)
    null = np.sort(null[:, 0])
    return CalibrationTest(
        statistic=float(statistic.function(sample)),
        p_value=(1 + int((null >= observed).sum())) / (size + 1),
        measure=statistic.name,
        null_mean=float(null.mean()),
        null_band=(quantile(null, 0.025), quantile(null, 0.975)),
        null=null,
        n_resamples=size,
        n=sample.n,
        seed=seed,
        warnings=coarse(sample, statistic, float(null.mean())),
    )


def coarse(sample: Sample, statistic: Statistic, value: float) -> tuple[str, ...]:
    """Warn where a redrawn SCDL balances on a grid so fine that the cells of the sample show in it."""
    if sample.grid is None or not statistic.soft_binned or value * sample.grid >= _CELLS_A_BIN:
        return ()
    note = ResolutionWarning(
        f"SCDL redrawn from cells is about {value:.2g}, too fine for grid = {sample.grid:,}: the rows of a cell are "
        f"taken to share one prediction, which calls for a grid of {_CELLS_A_BIN}/SCDL or more"
    )
    warnings.warn(note, stacklevel=3)
    return (str(note),)
