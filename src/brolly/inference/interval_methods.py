"""From redrawn values to the ends of an interval: one law for each method, to be asked at any level."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from brolly.core.arrays import Floats
from brolly.core.grid.rounded import split, sum_on_grid
from brolly.core.sample.sample import Sample
from brolly.inference.resampling import Progress, draw_many, quantile
from brolly.inference.resampling_units import Atoms, Rng
from brolly.inference.statistic import Evaluate

_FEW_DISTINCT = 20  # rows behind each distinct prediction from which on its own frequency is looked at
_PRIOR_ROWS = 2.0  # rows without bias that every estimate of a bias is diluted with
_STEPS = 9  # populations from calibrated to far beyond the estimate
_PILOTS = 12
_FARTHEST = 2.0**12


class IntervalMethod(Protocol):
    """What the redrawn values tell about the population's."""

    @property
    def corrected(self) -> float: ...

    def ends(self, confidence_level: float) -> tuple[float, float]: ...


@dataclass(frozen=True, slots=True, eq=False)
class Percentile:
    """The bootstrap's own quantiles."""

    estimate: float
    draws: Floats  # increasing

    @property
    def corrected(self) -> float:
        return 2 * self.estimate - float(self.draws.mean())

    def ends(self, confidence_level: float) -> tuple[float, float]:
        tail = (1 - confidence_level) / 2
        return quantile(self.draws, tail), quantile(self.draws, 1 - tail)


@dataclass(frozen=True, slots=True, eq=False)
class Basic(Percentile):
    """The estimate less what redrawn values exceed it by, times `scale`."""

    scale: float = 1.0

    @property
    def corrected(self) -> float:
        return self.estimate - self.scale * (float(self.draws.mean()) - self.estimate)

    def ends(self, confidence_level: float) -> tuple[float, float]:
        low, high = Percentile(self.estimate, self.draws).ends(confidence_level)
        return self.estimate - self.scale * (high - self.estimate), self.estimate - self.scale * (low - self.estimate)


@dataclass(frozen=True, slots=True, eq=False)
class Inversion:
    """A line of populations, from calibrated to worse than estimated, and what samples of each would show."""

    estimate: float
    values: Floats  # the measure of each population
    draws: Floats  # one row for each population: the measure of samples of it, increasing

    @property
    def corrected(self) -> float:
        """The population whose samples show more than was seen half of the time."""
        return self._where(0.5)

    def ends(self, confidence_level: float) -> tuple[float, float]:
        """The values of the first and the last population for which what was seen is not in a tail.

        Values that samples share (SCDL has them at 1/m) count as seen in either tail, and an end that lies anywhere
        between two populations is then the outer one.
        """
        tail = (1 - confidence_level) / 2
        return self._where(1 - tail), self._where(tail, last=True)

    def _where(self, share: float, *, last: bool = False) -> float:
        """The value of the first (or last) population for which what was seen is this quantile of what samples show."""
        seen = np.array([quantile(row, share) for row in self.draws])
        seen = np.maximum.accumulate(seen)  # samples of worse populations show more, but for the noise of few draws
        at = int(np.searchsorted(seen, self.estimate, "right" if last else "left"))
        if at in (0, len(seen)):
            return float(self.values[at and -1])
        inside = (self.estimate - seen[at - 1]) / (seen[at] - seen[at - 1])
        if inside in (0.0, 1.0):
            inside = 1.0 - inside
        return float(self.values[at - 1] + inside * (self.values[at] - self.values[at - 1]))


def residual_curve(sample: Sample, atoms: Atoms) -> Floats:
    """The bias to be expected at each atom: by distinct prediction if they have many rows each, else smoothed.

    Smoothing is linear between the points of a grid of about ``n^(1/3)`` cells, where noise and bias balance.
    """
    weight, positive = atoms.weight, atoms.observed().positive.astype(np.float64)
    each = sample.total_weight / sample.effective_n  # the weight of a row
    prob = atoms.distinct
    if len(prob) * _FEW_DISTINCT <= sample.effective_n:
        residual = (positive - weight * prob) / (weight + _PRIOR_ROWS * each)
    else:
        m = 1 << min(6, max(2, round(math.log2(sample.effective_n) / 3)))
        rounded = sample._on_grid(m).rounded
        # The predictions on average at a grid point are those of the rows that are rounded there, not the point itself.
        cell, up = split(prob, m)
        said = sum_on_grid(cell, (1 - up) * weight * prob, up * weight * prob, m)
        bias = np.zeros(m + 2)  # the last beside predictions of 1, which are not rounded up
        at = rounded.index
        bias[at] = (rounded.positive - said[at]) / (rounded.weight + _PRIOR_ROWS * each)
        residual = (1 - up) * bias[cell] + up * bias[cell + 1]
    if atoms.start is None:
        return residual
    return np.repeat(residual, np.diff(np.append(atoms.start, len(atoms.prob))))


class PopulationPath:
    """Populations with the sample's predictions, from calibrated (step 0) through the estimated one (step 1) and on.

    With `keep` their samples have the very predictions of this one, and the outcomes alone are drawn.
    """

    def __init__(self, sample: Sample, atoms: Atoms, evaluate: Evaluate, *, keep: bool) -> None:
        self._atoms, self._evaluate, self._keep = atoms, evaluate, keep
        self.observed = evaluate(atoms.observed())
        self._bias = residual_curve(sample, atoms)
        if not self._bias.any():  # nothing to be seen: look where forecasters mostly err, towards 0 and 1
            self._bias = (0.5 - atoms.prob) * math.sqrt(1 / sample.effective_n)

    def _chance(self, step: float) -> Floats:
        return np.clip(self._atoms.prob + step * self._bias, 0.0, 1.0)

    def value(self, step: float) -> float:
        """The measure of that population."""
        return self._evaluate(self._atoms.expected(self._chance(step)))

    def draw(self, stream: Rng, *steps: float) -> list[float]:
        """The measure of a sample of each, all drawn by the same chance: their differences are not noise."""
        repeated = self._atoms.count if self._keep else self._atoms.repeat(stream)
        state = stream.bit_generator.state
        found = []
        for step in steps:
            stream.bit_generator.state = state
            found.append(self._evaluate(self._atoms.outcomes(stream, repeated, self._chance(step))))
        return found


def invert(line: PopulationPath, size: int, rng: Rng, progress: Progress | None, *, threads: int = 1) -> Inversion:
    """Draw samples of populations from the calibrated one to one whose samples all show more than was seen."""
    farthest = 1.0
    (pilot,) = rng.spawn(1)
    while farthest < _FARTHEST and min(line.draw(pilot, farthest)[0] for _ in range(_PILOTS)) <= line.observed:
        farthest *= 2
    steps = (farthest * np.linspace(0.0, 1.0, _STEPS) ** 1.5).tolist()
    draws = draw_many(lambda stream: line.draw(stream, *steps), size, rng, progress, width=_STEPS, threads=threads)
    values = np.array([line.value(step) for step in steps])
    return Inversion(line.observed, np.maximum.accumulate(values), np.sort(draws.T, axis=1))
