"""Acting on predictions with noise added: the response under which smCE and smooth ECE bound the
loss of everybody.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, Literal, get_args

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import ndtr

from paper.constructions import Distribution, Floats, weighted
from rainproof import DecisionTask, InputError, Sample, regret_curve
from rainproof.decisions import FiniteTask

Noise = Literal["laplace", "gaussian"]
# in scales: beyond, the noise has less than 1e-17
_REACH: dict[str, float] = {"laplace": 40.0, "gaussian": 9.0}
_STEEP: dict[str, float] = {
    "laplace": 1.0,
    "gaussian": 9.0,
}  # |slope| of the density, in densities per scale, within that
# of the density, per scale
_VARIATION: dict[str, float] = {"laplace": 1.0, "gaussian": math.sqrt(2 / math.pi)}
_BLOCK = 1 << 21  # values of the distribution function computed together


@dataclass(frozen=True, slots=True)
class NoisyPolicy:
    r"""Add noise to each prediction, then take the best action there: a policy for predictions with
    small smCE.

    Predictions that are close to calibrated ones (a small `smooth_calibration_error`) can still
    mislead whoever acts on them as they are. With noise of scale s they cannot: the expected loss,
    against every swap of actions and for every task, is at most ``2 (smCE / s + 0.37 s)`` of what
    is at stake (Laplace), or ``2 (0.8 smCE / s + 0.34 s)`` (Gaussian, s < 0.79). Noise of scale
    ``1.6 smCE ** 0.5`` is about best, and the loss is then at most 2.44 (or 2.09) times ``smCE **
    0.5``. `RoundingPolicy` with `soft_binned_cdl` promises more for fewer rows, and repeats its
    actions; this class is for comparison.

    Parameters
    ----------
    task : DecisionTask
        The decision.
    scale : float
        The scale of the noise, above 0 and at most 1: the mean size (Laplace) or the standard
        deviation (Gaussian).
    kind : {"laplace", "gaussian"}
        The distribution of the noise. What leaves [0, 1] is reflected at the ends.

    Notes
    -----
    Let k(p, t) be the density of the noisy prediction t, and :math:`\eta` the noise. At each
    threshold the regret is

    .. math:: R(\mu) \le \int |\mathrm{E}[(y - p) k(p, t)]|\,dt + \sup_x x \Pr(|\eta| \ge x),

    the bias, and what noise costs a calibrated prediction at the distance x from the threshold; CDL
    is at most twice the largest R. The integral is :math:`\mathrm{E}[(y - p) w(p)]` for a function
    w in [-1, 1] with slope at most :math:`\int |\partial_p k|\,dt`, 1/s or :math:`\sqrt{2/\pi}/s`;
    so it is at most smCE times the larger of that and
    1. The supremum is s/e = 0.368 s, or 0.340 s. With Gaussian noise the integral is smooth ECE at
       width s. The
    derivations in the documentation have the details.

    References
    ----------
    Hartline, Wu, Yang (2025), "Smooth Calibration and Decision Making",
    doi:10.4230/LIPIcs.FORC.2025.16. Blasiok, Nakkiran (2024), "Smooth ECE", arXiv:2309.12236. Table
    1 of arXiv:2605.17749.

    Examples
    --------
    >>> import rainproof
    >>> from paper.noise import NoisyPolicy
    >>> policy = NoisyPolicy(rainproof.DecisionTask.threshold(0.35), 0.1)
    >>> policy.probabilities([0.3, 0.9]).round(3).tolist()
    [[0.696, 0.304], [0.002, 0.998]]

    Predictions of 0.49 and 0.51, with event rates of 0.6 and 0.4. The noise makes a fifth of the
    loss:

    >>> y, p = [1, 1, 1, 0, 0] + [1, 1, 0, 0, 0], [0.49] * 5 + [0.51] * 5
    >>> low, high = policy.loss_bounds(rainproof.Sample(y, p))
    >>> round(low, 3), round(high, 3), round(rainproof.measures.calibration_decision_loss(y, p), 3)
    (0.041, 0.041, 0.2)
    """

    task: DecisionTask
    scale: float
    kind: Noise = "laplace"

    def __post_init__(self) -> None:
        if not isinstance(self.task, DecisionTask):
            raise InputError(f"task must be a DecisionTask; it is {self.task!r}")
        number = isinstance(self.scale, float | int | np.number) and not isinstance(
            self.scale, bool
        )
        if not number or not 0 < self.scale <= 1:
            raise InputError(f"scale must be a number above 0 and at most 1; it is {self.scale!r}")
        if self.kind not in get_args(Noise):
            raise InputError(f"kind must be 'laplace' or 'gaussian'; it is {self.kind!r}")

    def decide(self, p: ArrayLike, *, rng: int | np.random.Generator | None = None) -> NDArray[Any]:
        """Return the best action at each prediction with noise added, by name.

        Parameters
        ----------
        p : array_like of shape (n,)
            Probabilities, in [0, 1].
        rng : None, int or numpy.random.Generator
            The source of randomness.
        """
        prob, source = _checked(p), np.random.default_rng(rng)
        draw = source.laplace if self.kind == "laplace" else source.normal
        moved = (prob + draw(0.0, self.scale, len(prob))) % 2
        return np.asarray(self.task.best_response(np.where(moved > 1, 2 - moved, moved)))

    def probabilities(self, p: ArrayLike) -> Floats:
        """Return the probability of each action over the noise, of shape (n, k) for the k of
        ``task.actions``.
        """
        task, prob = self.task, _checked(p)
        if not isinstance(task, FiniteTask):
            raise InputError(f"probabilities needs a task with a list of actions; it is {task!r}")
        below = self._below(prob, np.array([0.0, *task.thresholds, 1.0]))
        shares = np.zeros((len(prob), len(task.actions)))
        shares[:, list(task.order)] = np.maximum(np.diff(below), 0.0)
        total: Floats = shares.sum(axis=1, keepdims=True)
        return shares / total

    def loss_bounds(self, sample: Sample, *, cells: int = 1 << 12) -> tuple[float, float]:
        r"""Bound the largest expected loss, over all tasks, of acting on the predictions with this
        noise.

        It is CDL of the noisy predictions, computed on the probabilities that the noise puts into
        equal cells.

        Parameters
        ----------
        sample : Sample
            Predictions and outcomes.
        cells : int
            The number of cells; the bounds are about ``2 / cells`` apart, more for little noise.

        Returns
        -------
        tuple of float
            A lower and an upper bound, as shares of what is at stake.

        Notes
        -----
        With F and G the masses of all noisy predictions and of events in a cell of width d, the
        regret curve at the cells' ends, computed from F and G, is too small: swaps inside a cell
        are missed. They gain nothing where :math:`g - \mu f`, the density of what acting gains,
        keeps its sign in the cell, and elsewhere at most a quarter of d times its variation there.
        Between two ends, :math:`R(\mu)` exceeds its value at the lower one by at most d plus the
        cell's own :math:`|G - \mu F|`. Both are added for the upper bound. O(cells) per distinct
        prediction.
        """
        if isinstance(cells, bool) or not isinstance(cells, int | np.integer) or cells < 2:
            raise InputError(f"cells must be an integer of at least 2; it is {cells!r}")
        edges, width = np.linspace(0, 1, int(cells) + 1), 1 / int(cells)
        negative, positive = self._masses(Distribution.of_sample(sample).pooled(), edges)
        mass = negative + positive
        some = mass > 0
        midpoints = (edges[:-1] + edges[1:]) / 2
        low = regret_curve(weighted(midpoints[some], negative[some], positive[some]))(edges)
        own = np.maximum(*(np.abs(positive - mu * mass) for mu in (edges[:-1], edges[1:])))
        above = (
            low[:-1]
            + width
            + own
            + self._missed(mass[some], positive[some] / mass[some], edges[:-1], width)
        )
        high = np.maximum(np.append(above, 0), np.append(0, above))
        return _twice_envelope(edges, low), min(1.0, _twice_envelope(edges, high))

    def _missed(self, mass: Floats, rate: Floats, mu: Floats, width: float) -> Floats:
        """Bound what swaps inside cells add to the curve at each threshold: cells whose rate is
        near it count.
        """
        order = np.argsort(rate)
        total = np.concatenate([[0.0], np.cumsum(mass[order])])
        near = width * (_STEEP[self.kind] / self.scale + 2)
        close = (
            total[np.searchsorted(rate[order], mu + near, "right")]
            - total[np.searchsorted(rate[order], mu - near)]
        )
        varies = np.minimum(_STEEP[self.kind] * close, _VARIATION[self.kind]) / self.scale
        # the threshold's own cell counts three times
        missed: Floats = 3 * width / 4 * varies + 1e-15
        return missed

    def _masses(self, dist: Distribution, edges: Floats) -> Floats:
        """Return the weight of the noisy predictions in each cell, without and with the event."""
        mass = np.zeros((2, len(edges) - 1))
        step = max(1, _BLOCK // len(edges))
        for start in range(0, len(dist.at), step):
            block = slice(start, start + step)
            rate = dist.frequency[block]
            outcomes = dist.weight[block] * np.stack([1 - rate, rate])
            mass += outcomes @ np.maximum(np.diff(self._below(dist.at[block], edges)), 0.0)
        return mass

    def _below(self, p: Floats, x: Floats) -> Floats:
        """Return the probability that each noisy prediction is at most each x, of shape
        (predictions, x).
        """
        images = range(
            -math.ceil(_REACH[self.kind] * self.scale / 2),
            math.ceil(_REACH[self.kind] * self.scale / 2) + 1,
        )
        below = np.zeros((len(p), len(x)))
        for k in images:
            below += self._noise(2 * k + x - p[:, None]) - self._noise(2 * k - x - p[:, None])
        return below

    def _noise(self, x: Floats) -> Floats:
        """Return the distribution function of the noise."""
        if self.kind == "gaussian":
            normal: Floats = ndtr(x / self.scale)
            return normal
        tail = 0.5 * np.exp(-np.abs(x) / self.scale)
        return np.where(x < 0, tail, 1 - tail)


def _checked(p: ArrayLike) -> Floats:
    prob = np.asarray(p, np.float64)
    if prob.ndim != 1 or not ((prob >= 0) & (prob <= 1)).all():
        raise InputError(f"p must lie in [0, 1], a probability for each row; it is {p!r}")
    return prob


def _twice_envelope(mu: Floats, value: Floats) -> float:
    """Return twice the concave envelope at 1/2 of points whose thresholds increase from 0 to 1.

    It is a point at 1/2, or a chord from the left of 1/2 to its right: one end at a time moves to
    the point that is highest above the chord, until there is none.
    """
    best = max(value[mu == 0.5].tolist(), default=-math.inf)
    mu, value = mu[mu != 0.5], value[mu != 0.5]
    a, b, height = 0, len(mu) - 1, -math.inf
    while True:
        share = float((mu[b] - 0.5) / (mu[b] - mu[a]))
        before, height = height, share * float(value[a]) + (1 - share) * float(value[b])
        if height <= before:
            return 2 * max(best, before)
        above = int(np.argmax(value - (value[b] - value[a]) / (mu[b] - mu[a]) * mu))
        a, b = (above, b) if mu[above] < 0.5 else (a, above)
