"""A path of populations with the predictions of a sample: calibrated, then as estimated, then worse."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from brolly.core.arrays import Floats, Ints
from brolly.core.grid.rounded import split
from brolly.core.sample.sample import Sample
from brolly.inference.resampling_units import Atoms, Draw, Rng
from brolly.inference.statistic import Evaluate

ENOUGH_ROWS = 20  # rows per distinct prediction from which on each has a bias of its own
_PRIOR_ROWS = 2.0  # rows without bias that every estimate of a bias is diluted with
_MOST_NODES = 65  # at which a population is moved on its own
_UPHILL = 3  # steps along the gradient
_TINY = 1e-300


def repeats_often(sample: Sample, atoms: Atoms) -> bool:
    """Return whether distinct predictions have so many rows that the event rate of each can be seen."""
    return len(atoms.distinct) * ENOUGH_ROWS <= sample.effective_n


class PopulationPath:
    """Populations by step: calibrated at 0, as estimated at 1, and beyond 1 where the measure grows fastest.

    The bias of the predictions is estimated at nodes: the distinct predictions if they repeat often, else the points of
    a grid of about ``n^(1/3)`` cells, linear in between. Beyond step 1 the path does not scale the estimated bias: that
    would scale noise and biases that the measure ignores, and samples of such populations would look worse than those
    of populations where one bias alone is large. It moves in the direction in which the measure is largest two standard
    errors away (the least favourable family of DiCiccio and Romano).

    With `keep` samples have the predictions of this one, and only outcomes are drawn. With clusters, whole clusters
    are drawn with their predictions, and two rows of a cluster share one random number with the probability that gives
    their outcomes the correlation seen in the sample.
    """

    def __init__(self, sample: Sample, atoms: Atoms, evaluate: Evaluate, *, keep: bool) -> None:
        self._atoms, self._evaluate, self._keep = atoms, evaluate, keep
        self.observed = evaluate(atoms.observed())
        node, share, bias = estimated_bias(sample, atoms)
        self._bias = self._by_atom((share * bias[node]).sum(axis=0))
        if not self._bias.any():  # no bias to be seen: go where forecasters mostly err, towards 0 and 1
            self._bias = (0.5 - atoms.prob) * math.sqrt(1 / sample.effective_n)
        self._rise = self._steepest(node, share)
        if atoms.group is not None:
            self._clusters, self._alike = self._correlation()

    def rate(self, step: float) -> Floats:
        """The event probability at each atom."""
        beyond = max(step - 1.0, 0.0)
        return np.clip(self._atoms.prob + min(step, 1.0) * self._bias + beyond * self._rise, 0.0, 1.0)

    def value(self, step: float) -> float:
        """The measure of that population."""
        return self._evaluate(self._atoms.expected(self.rate(step)))

    def draw(self, stream: Rng, *steps: float) -> list[float]:
        """The measure of a sample of each population, all from the same random numbers: differences are not noise."""
        if self._atoms.group is not None:
            return self._draw_clusters(stream, steps)
        repeated = self._atoms.count if self._keep else self._atoms.repeat(stream)
        state = stream.bit_generator.state
        found = []
        for step in steps:
            stream.bit_generator.state = state
            found.append(self._evaluate(self._atoms.outcomes(stream, repeated, self.rate(step))))
        return found

    def _draw_clusters(self, stream: Rng, steps: tuple[float, ...]) -> list[float]:
        atoms, (order, start, size) = self._atoms, self._clusters
        drawn = np.arange(len(size)) if self._keep else stream.integers(0, len(size), len(size))
        many = size[drawn]
        copy = np.repeat(np.arange(len(drawn)), many)
        row = order[np.arange(len(copy)) - np.repeat(np.cumsum(many) - many - start[drawn], many)]
        shared = stream.random(len(row)) < math.sqrt(self._alike)
        chance = np.where(shared, stream.random(len(drawn))[copy], stream.random(len(row)))
        weight = atoms._pooled(np.bincount(row, minlength=len(order)))
        events = (np.bincount(row, chance < self.rate(step)[row], len(order)) for step in steps)
        return [self._evaluate(Draw(weight, atoms._pooled(each))) for each in events]

    def _correlation(self) -> tuple[tuple[Ints, Ints, Ints], float]:
        """The rows of each cluster, and the correlation of their outcomes: a moment estimate plus a standard error.

        The plain moment is too small: the estimated bias takes up part of what the rows of a cluster share.
        """
        group, single = self._atoms.group, self._atoms.single
        assert group is not None
        assert single is not None
        size = np.bincount(group)
        rows = np.argsort(group, kind="stable"), np.cumsum(size) - size, size
        unit = 1.0 if self._atoms.unit is None else self._atoms.unit
        rate = self.rate(1.0)
        off, spread = unit * (single - rate), unit * np.sqrt(rate * (1 - rate))
        seen, most = (np.bincount(group, x) ** 2 - np.bincount(group, x**2) for x in (off, spread))
        total = max(float(most.sum()), _TINY)
        alike = float(seen.sum()) / total
        error = math.sqrt(float(((seen - alike * most) ** 2).sum())) / total
        return rows, min(max(alike + error, 0.0), 1.0)

    def _steepest(self, node: Ints, share: Floats) -> Floats:
        """The change of the event probabilities, two standard errors in all, that raises the measure most.

        The best change at a single node, then steps along the gradient from there, as long as they help.
        """
        atoms, nodes = self._atoms, int(node.max()) + 1
        if nodes > _MOST_NODES:  # neighbours move together
            node, nodes = node * _MOST_NODES // nodes, _MOST_NODES
        moved = np.flatnonzero(error := 2 * self._standard_errors(node, share, nodes))

        def change(at: Floats) -> Floats:
            return self._by_atom((share * at[node]).sum(axis=0))

        def value(at: Floats) -> float:
            return self._evaluate(atoms.expected(np.clip(atoms.prob + self._bias + change(at), 0.0, 1.0)))

        single = [error * (np.arange(nodes) == k) for k in moved]
        trials = [sign * one for one in single for sign in (1, -1)]
        found, best = max(((value(at), k) for k, at in enumerate(trials)), default=(-math.inf, 0))
        if not found > value(np.zeros(nodes)) * (1 + 1e-9):
            return self._bias
        at = trials[best]
        for _ in range(_UPHILL):
            slope = np.zeros(nodes)
            slope[moved] = [value(at + one / 2) - value(at - one / 2) for one in single]
            further = error * slope / max(math.sqrt(float(slope @ slope)), _TINY)
            if not value(further) > found * (1 + 1e-9):
                break
            found, at = value(further), further
        return change(at)

    def _standard_errors(self, node: Ints, share: Floats, nodes: int) -> Floats:
        atoms = self._atoms
        bias = self._bias if atoms.start is None else self._bias[atoms.start]
        prob = atoms.distinct
        rate = np.clip(prob + bias, prob / 2, (1 + prob) / 2)  # no rate is known without error
        weight, noise = (
            np.bincount(node.ravel(), x.ravel(), nodes)
            for x in (share * atoms.weight, share * atoms.squares * rate * (1 - rate))
        )
        return np.asarray(np.sqrt(noise) / np.maximum(weight, _TINY))

    def _by_atom(self, by_prediction: Floats) -> Floats:
        start = self._atoms.start
        if start is None:
            return by_prediction
        return np.repeat(by_prediction, np.diff(np.append(start, len(self._atoms.prob))))


def estimated_bias(sample: Sample, atoms: Atoms) -> tuple[NDArray[np.int64], Floats, Floats]:
    """The two nodes next to each distinct prediction, its share of each, and the bias (event rate less prediction).

    A bias r whose noise has the variance v is shrunk to ``r (1 - v/r^2)+`` (James and Stein, a node at a time).
    """
    weight, positive, prob = atoms.weight, atoms.observed().positive.astype(np.float64), atoms.distinct
    if repeats_often(sample, atoms):
        m, cell, up = len(prob) - 1, np.arange(len(prob)), np.zeros(len(prob))
    else:
        m = 1 << min(6, max(2, round(math.log2(sample.effective_n) / 3)))
        cell, up = split(prob, m)
    node, share = np.stack([cell, np.minimum(cell + 1, m)]), np.stack([1 - up, up])
    residual, noise, total = (
        np.bincount(node.ravel(), x.ravel(), m + 1)
        for x in (share * (positive - weight * prob), share**2 * atoms.squares * prob * (1 - prob), share * weight)
    )
    kept = np.maximum(1 - noise / np.maximum(residual**2, _TINY), 0.0)
    each = sample.total_weight / sample.effective_n  # the weight of a row
    return node, share, kept * residual / (total + _PRIOR_ROWS * each)
