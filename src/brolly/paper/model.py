"""The data of the paper's experiments: a model of which everything is known, and the predictor fitted to it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from brolly.core.arrays import Floats
from brolly.errors import BrollyError, InputError

Seed = int | np.random.Generator | None

_STEPS = 100
_CLOSE = 1e-13  # of a Newton step, in which the error squares


@dataclass(frozen=True, kw_only=True, slots=True)
class LogisticPredictor:
    r"""A predictor :math:`f(x) = 1 / (1 + e^{-(a + b x)})`, or :math:`1 - f`.

    Attributes
    ----------
    intercept, slope : float
        a and b.
    flipped : bool
        Whether it says 1 - f instead, as the paper does "to break monotonicity".

    Examples
    --------
    >>> from brolly.paper import LogisticPredictor
    >>> f = LogisticPredictor(intercept=0.0, slope=1.0)
    >>> float(f(0.0)), float(f.flip()(0.0))
    (0.5, 0.5)
    """

    intercept: float
    slope: float
    flipped: bool = False

    def __call__(self, x: ArrayLike) -> Floats:
        """The prediction at x."""
        z = self._score(x)
        with np.errstate(over="ignore"):  # exp(-z) = inf gives the 0 that is meant
            p: Floats = 1.0 / (1.0 + np.exp(-z))
        return p

    def flip(self) -> LogisticPredictor:
        """The predictor that says 1 - f(x)."""
        return LogisticPredictor(intercept=self.intercept, slope=self.slope, flipped=not self.flipped)

    def inverse(self, p: ArrayLike) -> Floats:
        """Where in x the prediction is p, for 0 < p < 1 and a slope that is not 0."""
        p = np.asarray(p, np.float64)
        logit = np.log(p) - np.log1p(-p)
        x: Floats = ((-logit if self.flipped else logit) - self.intercept) / self.slope
        return x

    def mean(self, low: ArrayLike, high: ArrayLike) -> Floats:
        """The mean prediction over each interval of x, by eight-point Gauss-Legendre quadrature."""
        return interval_means(self, low, high)

    def _score(self, x: ArrayLike) -> Floats:
        z = self.intercept + self.slope * np.asarray(x, np.float64)
        return -z if self.flipped else z


@dataclass(frozen=True, slots=True)
class ExampleModel:
    r"""The paper's example: X uniform on [0, 1], and an event whose probability mixes a valley with a line.

    :math:`\mathrm{E}[Y \mid X = x] = \alpha (1 - 2x)^2 + (1 - \alpha) x`: at :math:`\alpha = 0` it rises with x, which
    a logistic regression can follow; at :math:`\alpha = 1` it falls and rises again, which no monotone predictor can.

    Parameters
    ----------
    alpha : float
        The share of the valley, in [0, 1].

    Notes
    -----
    What a predictor is worth in this model is known without drawing a single row: `population` gives the
    value of every measure by quadrature, with a bound on the error.

    References
    ----------
    arXiv:2605.17749, Section 9, after Rossellini et al. (arXiv:2502.19851).

    Examples
    --------
    >>> from brolly.paper import ExampleModel
    >>> model = ExampleModel(0.5)
    >>> model.mean([0.0, 0.5, 1.0]).tolist()
    [0.5, 0.25, 1.0]
    >>> f = model.fit(500, rng=0)
    >>> value = model.population(f, "expected_calibration_error")["expected_calibration_error"]
    >>> f"{value.value:.4f} give or take {value.error:.0e}"
    '0.1247 give or take 6e-08'
    """

    alpha: float

    def __post_init__(self) -> None:
        if not 0 <= self.alpha <= 1:
            raise InputError(f"alpha must lie in [0, 1]; it is {self.alpha}")

    def mean(self, x: ArrayLike) -> Floats:
        """The probability of the event at x."""
        x = np.asarray(x, np.float64)
        return self.alpha * (1 - 2 * x) ** 2 + (1 - self.alpha) * x

    def sample(self, n: int, rng: Seed = None) -> tuple[Floats, NDArray[np.bool_]]:
        """Draw n rows: the feature x and the outcome y."""
        generator = np.random.default_rng(rng)
        x = generator.random(n)
        return x, generator.random(n) < self.mean(x)

    def fit(self, n: int = 500, rng: Seed = None) -> LogisticPredictor:
        """The logistic regression (without a penalty) on n fresh rows."""
        return fit_logistic(*self.sample(n, rng))

    def population(self, predictor: LogisticPredictor, *names: str, cells: int = 1 << 14) -> dict[str, Any]:
        """The exact value of measures of the catalogue for this predictor (see `population_values`)."""
        from brolly.paper.population import population_values

        return population_values(self, predictor, *names, cells=cells)

    def limit(self) -> LogisticPredictor:
        """What `fit` goes to as the rows go to infinity: the same regression on the population."""
        edges = np.linspace(0.0, 1.0, 4097)
        x = (edges[:-1] + edges[1:]) / 2
        y = np.repeat([0.0, 1.0], len(x))
        q = interval_means(self.mean, edges[:-1], edges[1:])
        return fit_logistic(np.tile(x, 2), y, weight=np.concatenate([1 - q, q]))


def fit_logistic(x: ArrayLike, y: ArrayLike, *, weight: ArrayLike | None = None) -> LogisticPredictor:
    """Logistic regression of y on one feature x, without a penalty, by Newton's method.

    Parameters
    ----------
    x, y : array_like of shape (n,)
        The feature, and the outcome as 0 and 1.
    weight : array_like of shape (n,), optional
        How much each row counts.

    Returns
    -------
    LogisticPredictor

    Raises
    ------
    BrollyError
        Where no finite coefficients are best: one class only, or a threshold on x that tells them apart.

    Examples
    --------
    >>> from brolly.paper import fit_logistic
    >>> f = fit_logistic([0, 0, 0, 1, 1, 1], [0, 0, 1, 0, 1, 1])
    >>> round(float(f(0)), 6), round(float(f(1)), 6)
    (0.333333, 0.666667)
    """
    x, y = np.asarray(x, np.float64), np.asarray(y, np.float64)
    w = np.ones(len(x)) if weight is None else np.asarray(weight, np.float64)
    design = np.stack([np.ones(len(x)), x])
    beta = np.zeros(2)
    for _ in range(_STEPS):
        p = LogisticPredictor(intercept=float(beta[0]), slope=float(beta[1]))(x)
        gradient, curvature = design @ (w * (y - p)), (design * (w * p * (1 - p))) @ design.T
        if np.linalg.cond(curvature) > 1 / np.finfo(np.float64).eps:
            break
        step = np.linalg.solve(curvature, gradient)
        step /= max(1.0, float(np.abs(step).max()) / 10)  # a leap on a flat likelihood would not come back
        beta = beta + step
        if np.abs(step).max() <= _CLOSE * (1 + np.abs(beta).max()):
            return LogisticPredictor(intercept=float(beta[0]), slope=float(beta[1]))
    raise BrollyError("no logistic regression fits best: a threshold on x tells the outcomes apart, or x is constant")


_NODES, _WEIGHTS = np.polynomial.legendre.leggauss(8)


def interval_means(function: Any, low: ArrayLike, high: ArrayLike) -> Floats:
    """The mean of a function over each interval, by eight-point Gauss-Legendre quadrature.

    For a logistic function on a short interval the error is below that of adding doubles.
    """
    low, high = np.asarray(low, np.float64), np.asarray(high, np.float64)
    at = low[..., None] + (high - low)[..., None] * (_NODES + 1) / 2
    means: Floats = function(at) @ (_WEIGHTS / 2)
    return means
