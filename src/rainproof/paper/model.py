"""The model of the paper's experiments and the logistic predictor fitted to it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rainproof.core.arrays import Floats
from rainproof.errors import InputError, RainproofError

Seed = int | np.random.Generator | None

_STEPS = 100
_CLOSE = 1e-13  # size of the last Newton step


@dataclass(frozen=True, kw_only=True, slots=True)
class LogisticPredictor:
    r"""A predictor :math:`f(x) = 1 / (1 + e^{-(a + b x)})`, or :math:`1 - f`.

    Attributes
    ----------
    intercept, slope : float
        a and b.
    flipped : bool
        Whether the predictor is 1 - f, which the paper uses "to break monotonicity".

    Examples
    --------
    >>> from rainproof.paper import LogisticPredictor
    >>> f = LogisticPredictor(intercept=0.0, slope=1.0)
    >>> float(f(0.0)), float(f.flip()(0.0))
    (0.5, 0.5)
    """

    intercept: float
    slope: float
    flipped: bool = False

    def __call__(self, x: ArrayLike) -> Floats:
        """Return the prediction at x."""
        z = self._score(x)
        with np.errstate(over="ignore"):  # exp(-z) = inf gives the correct limit 0
            p: Floats = 1.0 / (1.0 + np.exp(-z))
        return p

    def flip(self) -> LogisticPredictor:
        """Return the predictor 1 - f."""
        return LogisticPredictor(intercept=self.intercept, slope=self.slope, flipped=not self.flipped)

    def inverse(self, p: ArrayLike) -> Floats:
        """Return the x at which the prediction is p, for 0 < p < 1 and a nonzero slope."""
        p = np.asarray(p, np.float64)
        logit = np.log(p) - np.log1p(-p)
        x: Floats = ((-logit if self.flipped else logit) - self.intercept) / self.slope
        return x

    def mean(self, low: ArrayLike, high: ArrayLike) -> Floats:
        """Return the mean prediction over each interval of x, by eight-point Gauss-Legendre quadrature."""
        return interval_means(self, low, high)

    def _score(self, x: ArrayLike) -> Floats:
        z = self.intercept + self.slope * np.asarray(x, np.float64)
        return -z if self.flipped else z


@dataclass(frozen=True, slots=True)
class ExampleModel:
    r"""The paper's example model: X uniform on [0, 1], and an event rate that mixes a parabola with a line.

    :math:`\mathrm{E}[Y \mid X = x] = \alpha (1 - 2x)^2 + (1 - \alpha) x`. At :math:`\alpha = 0` it increases with x, as
    a logistic regression does; at :math:`\alpha = 1` it decreases and increases again, as no monotone predictor does.

    Parameters
    ----------
    alpha : float
        The share of the parabola, in [0, 1].

    Notes
    -----
    No sample is needed to evaluate a predictor in this model: `population` computes every measure by quadrature, with a
    bound on the error.

    References
    ----------
    arXiv:2605.17749, Section 9, after Rossellini et al. (arXiv:2502.19851).

    Examples
    --------
    >>> from rainproof.paper import ExampleModel
    >>> model = ExampleModel(0.5)
    >>> model.mean([0.0, 0.5, 1.0]).tolist()
    [0.5, 0.25, 1.0]
    >>> f = model.fit(500, rng=0)
    >>> value = model.population(f, "expected_calibration_error")["expected_calibration_error"]
    >>> f"{value.value:.4f} +- {value.error:.0e}"
    '0.1247 +- 6e-08'
    """

    alpha: float

    def __post_init__(self) -> None:
        if not 0 <= self.alpha <= 1:
            raise InputError(f"alpha must lie in [0, 1]; it is {self.alpha}")

    def mean(self, x: ArrayLike) -> Floats:
        """Return the probability of the event at x."""
        x = np.asarray(x, np.float64)
        return self.alpha * (1 - 2 * x) ** 2 + (1 - self.alpha) * x

    def sample(self, n: int, rng: Seed = None) -> tuple[Floats, NDArray[np.bool_]]:
        """Draw n rows: feature x and outcome y."""
        generator = np.random.default_rng(rng)
        x = generator.random(n)
        return x, generator.random(n) < self.mean(x)

    def fit(self, n: int = 500, rng: Seed = None) -> LogisticPredictor:
        """Fit an unpenalized logistic regression to n new rows."""
        return fit_logistic(*self.sample(n, rng))

    def population(self, predictor: LogisticPredictor, *names: str, cells: int = 1 << 14) -> dict[str, Any]:
        """Compute measures of the catalogue for this predictor on the population (see `population_values`)."""
        from rainproof.paper.population import population_values

        return population_values(self, predictor, *names, cells=cells)

    def limit(self) -> LogisticPredictor:
        """Fit the same regression to the population: the limit of `fit` for many rows."""
        edges = np.linspace(0.0, 1.0, 4097)
        x = (edges[:-1] + edges[1:]) / 2
        y = np.repeat([0.0, 1.0], len(x))
        q = interval_means(self.mean, edges[:-1], edges[1:])
        return fit_logistic(np.tile(x, 2), y, weight=np.concatenate([1 - q, q]))


def fit_logistic(x: ArrayLike, y: ArrayLike, *, weight: ArrayLike | None = None) -> LogisticPredictor:
    """Fit an unpenalized logistic regression of y on one feature x, by Newton's method.

    Parameters
    ----------
    x, y : array_like of shape (n,)
        The feature, and the outcome as 0 and 1.
    weight : array_like of shape (n,), optional
        The weight of each row.

    Returns
    -------
    LogisticPredictor

    Raises
    ------
    RainproofError
        If there is no finite optimum: one class only, or classes separated by a threshold on x.

    Examples
    --------
    >>> from rainproof.paper import fit_logistic
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
        step /= max(1.0, float(np.abs(step).max()) / 10)  # limits the step where the likelihood is flat
        beta = beta + step
        if np.abs(step).max() <= _CLOSE * (1 + np.abs(beta).max()):
            return LogisticPredictor(intercept=float(beta[0]), slope=float(beta[1]))
    raise RainproofError(
        "the logistic regression has no finite optimum: a threshold on x separates the classes, or x is constant"
    )


_NODES, _WEIGHTS = np.polynomial.legendre.leggauss(8)


def interval_means(function: Any, low: ArrayLike, high: ArrayLike) -> Floats:
    """Return the mean of a function over each interval, by eight-point Gauss-Legendre quadrature.

    For a logistic function on a short interval the error is below the rounding error of the sum.
    """
    low, high = np.asarray(low, np.float64), np.asarray(high, np.float64)
    at = low[..., None] + (high - low)[..., None] * (_NODES + 1) / 2
    means: Floats = function(at) @ (_WEIGHTS / 2)
    return means
