"""Confidence interval methods: from resampled values to the ends of an interval at any level.

A new method is a class with `fit`, `corrected` and `ends`, and an entry in `METHODS`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol, Self

import numpy as np

from rainproof.core.arrays import Floats
from rainproof.core.sample.sample import Sample
from rainproof.inference.population_path import PopulationPath
from rainproof.inference.resampling import Progress, draw_many, quantile
from rainproof.inference.resampling_units import Atoms, Rng
from rainproof.inference.statistic import Statistic, resampler

_STEPS = 9  # populations from calibrated to far beyond the estimate
_PILOTS = 12  # samples of the farthest population that must all have more than was observed; it is then doubled
_FARTHEST = 2.0**12


@dataclass(frozen=True, slots=True, eq=False)
class Resampling:
    """A sample to resample, the number of draws, and the statistic."""

    sample: Sample
    atoms: Atoms
    statistic: Statistic
    size: int
    rng: Rng
    progress: Progress | None = None

    def draws(self, one: Callable[[Rng], Sequence[float] | Floats], width: int = 1) -> Floats:
        """One row for each call of `one`."""
        threads = self.statistic.threads
        return draw_many(one, self.size, self.rng, self.progress, width=width, threads=threads)


class IntervalMethod(Protocol):
    """A fitted method: the interval at any level, and the estimate without the part that chance adds."""

    @classmethod
    def fit(cls, of: Resampling) -> Self: ...

    @property
    def corrected(self) -> float: ...

    def ends(self, confidence_level: float) -> tuple[float, float]: ...


@dataclass(frozen=True, slots=True, eq=False)
class Percentile:
    """The quantiles of the bootstrap."""

    estimate: float
    draws: Floats  # increasing

    @classmethod
    def fit(cls, of: Resampling) -> Self:
        """Draw rows (or clusters) with replacement."""
        evaluate = of.statistic.on(of.atoms)
        one = resampler(evaluate, of.atoms)
        draws = of.draws(lambda stream: [one(stream)])
        return cls(evaluate(of.atoms.observed()), np.sort(draws[:, 0]))

    @property
    def corrected(self) -> float:
        return 2 * self.estimate - float(self.draws.mean())

    def ends(self, confidence_level: float) -> tuple[float, float]:
        tail = (1 - confidence_level) / 2
        return quantile(self.draws, tail), quantile(self.draws, 1 - tail)


@dataclass(frozen=True, slots=True, eq=False)
class Basic(Percentile):
    """The basic (reflected) bootstrap, with deviations multiplied by `scale`."""

    scale: float = 1.0

    def ends(self, confidence_level: float) -> tuple[float, float]:
        low, high = Percentile(self.estimate, self.draws).ends(confidence_level)
        return self.estimate - self.scale * (high - self.estimate), self.estimate - self.scale * (low - self.estimate)


@dataclass(frozen=True, slots=True, eq=False)
class Inversion:
    """A path of populations, from calibrated to worse than estimated, and the values that samples of each have."""

    estimate: float
    values: Floats  # the measure of each population
    draws: Floats  # one row for each population: the measure of samples of it, increasing

    @classmethod
    def fit(cls, of: Resampling) -> Self:
        """Draw samples of populations from the calibrated one to one whose samples all have more than was observed."""
        path = PopulationPath(of.sample, of.atoms, of.statistic)
        farthest = 1.0
        (pilot,) = of.rng.spawn(1)
        while farthest < _FARTHEST:
            draw = path.sampler(farthest)
            if all(draw(pilot)[0] > path.observed for _ in range(_PILOTS)):
                break
            farthest *= 2
        steps = (2 * farthest * np.linspace(0.0, 1.0, _STEPS) ** 1.5).tolist()
        draws = of.draws(path.sampler(*steps), width=_STEPS)
        values = np.array([path.value(step) for step in steps])
        return cls(path.observed, np.maximum.accumulate(values), np.sort(draws.T, axis=1))

    @property
    def corrected(self) -> float:
        """The value of the population whose samples have more than was observed half of the time."""
        return self._where(0.5)

    def ends(self, confidence_level: float) -> tuple[float, float]:
        """The values of the first and the last population for which the observed value is in no tail.

        Values that samples share (SCDL is often a multiple of 1/m) count as being in either tail. An end that could lie
        anywhere between two populations is the outer one.
        """
        tail = (1 - confidence_level) / 2
        return self._where(1 - tail), self._where(tail, last=True)

    def _where(self, share: float, *, last: bool = False) -> float:
        """The value of the first (or last) population of whose samples the observed value is this quantile."""
        seen = np.array([quantile(row, share) for row in self.draws])
        seen = np.maximum.accumulate(seen)  # samples of worse populations have more, but for the noise of few draws
        at = int(np.searchsorted(seen, self.estimate, "right" if last else "left"))
        if at in (0, len(seen)):
            return float(self.values[at and -1])
        inside = (self.estimate - seen[at - 1]) / (seen[at] - seen[at - 1])
        if inside in (0.0, 1.0):
            inside = 1.0 - inside
        return float(self.values[at - 1] + inside * (self.values[at] - self.values[at - 1]))


@dataclass(frozen=True, slots=True, eq=False)
class Nothing:
    """The whole range, for so few rows (or groups) that no method has its level."""

    estimate: float

    @classmethod
    def fit(cls, of: Resampling) -> Self:
        """Draw nothing."""
        return cls(float(of.statistic.function(of.sample)))

    @property
    def corrected(self) -> float:
        return self.estimate

    def ends(self, confidence_level: float) -> tuple[float, float]:  # noqa: ARG002
        return -np.inf, np.inf


METHODS: dict[str, type[IntervalMethod]] = {"inversion": Inversion, "percentile": Percentile, "basic": Basic}
