"""A path of populations with the predictions of a sample: calibrated, then as estimated, then worse."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from rainproof.core.arrays import Floats, Ints
from rainproof.core.grid.rounded import split
from rainproof.core.sample.sample import Sample
from rainproof.inference.resampling_units import Atoms, Chances, Draw, Rng
from rainproof.inference.statistic import Statistic

ENOUGH_ROWS = 20  # rows per distinct prediction from which on each has a bias of its own
_PRIOR_ROWS = 2.0  # rows without bias that every estimate of a bias is diluted with
_MOST_NODES = 65  # at which a population is moved on its own
_MOST_PLACES = 2048  # predictions among which a direction is looked for
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

    def __init__(self, sample: Sample, atoms: Atoms, statistic: Statistic) -> None:
        self._atoms, self._statistic, self._keep = atoms, statistic, statistic.pools
        self._evaluate = statistic.on(atoms)
        self.observed = self._evaluate(atoms.observed())
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
        if step == 0 and self._statistic.soft_binned:  # of a calibrated one: no grid would balance it
            return 0.0
        return self._evaluate(self._atoms.expected(self.rate(step)))

    def sampler(self, *steps: float) -> Callable[[Rng], Floats]:
        """Return a function that draws the measure of a sample of each population.

        All come from the same random numbers: differences are not noise.
        """
        atoms, rates = self._atoms, [self.rate(step) for step in steps]
        chances = Chances(rates)

        def draw(stream: Rng) -> Floats:
            if atoms.group is not None:
                draws = [self._draw_clusters(rates, stream)]
            else:
                draws = atoms.outcomes(stream, atoms.count if self._keep else atoms.repeat(stream), chances)
            return np.concatenate([self._evaluate.many(some) for some in draws])

        return draw

    def _draw_clusters(self, rates: list[Floats], stream: Rng) -> Draw:
        atoms, (order, start, size) = self._atoms, self._clusters
        drawn = np.arange(len(size)) if self._keep else stream.integers(0, len(size), len(size))
        many = size[drawn]
        copy = np.repeat(np.arange(len(drawn)), many)
        row = order[np.arange(len(copy)) - np.repeat(np.cumsum(many) - many - start[drawn], many)]
        shared = stream.random(len(row)) < math.sqrt(self._alike)
        chance = np.where(shared, stream.random(len(drawn))[copy], stream.random(len(row)))
        weight = atoms._pooled(np.bincount(row, minlength=len(order)))
        events = [np.bincount(row, chance < rate[row], len(order)) for rate in rates]
        return Draw(weight, atoms._pooled(np.stack(events)))

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

        The best change at a single node, then steps along the gradient from there, as long as they help. Predictions
        are pooled to at most 2,048 meanwhile: it is a direction that is looked for, not a value.
        """
        nodes = int(node.max()) + 1
        if nodes > _MOST_NODES:  # neighbours move together
            node, nodes = node * _MOST_NODES // nodes, _MOST_NODES
        moved = np.flatnonzero(error := 2 * self._standard_errors(node, share, nodes))
        if not len(moved):
            return self._bias
        values, single = self._trials(node, share, error)
        single = single[moved]
        trials = np.stack([single, -single], axis=1).reshape(-1, single.shape[1])
        tried = values(trials)
        best = len(tried) - 1 - int(np.argmax(tried[::-1]))
        if not tried[best] > values(np.zeros((1, single.shape[1])))[0] * (1 + 1e-9):
            return self._bias
        at, found = np.zeros(nodes), tried[best]
        at[moved[best // 2]] = error[moved[best // 2]] * (-1) ** best
        change = trials[best]
        for _ in range(_UPHILL):
            slope = values(change + single / 2) - values(change - single / 2)
            slope /= max(math.sqrt(float((slope**2).sum())), _TINY)
            further = (slope[:, None] * single).sum(axis=0)
            if not (value := values(further[None])[0]) > found * (1 + 1e-9):
                break
            found, change = value, further
            at[moved] = error[moved] * slope
        return self._by_atom((share * at[node]).sum(axis=0))

    def _trials(self, node: Ints, share: Floats, error: Floats) -> tuple[Callable[[Floats], Floats], Floats]:
        """The measure as a function of changes of the event probabilities, one a row; the change by each node alone."""
        atoms, pool = self._atoms.pooled(_MOST_PLACES)
        evaluate = self._evaluate if atoms is self._atoms else self._statistic.on(atoms)
        weight, places, nodes = self._atoms.weight, len(atoms.distinct), len(error)
        held = np.bincount(pool, weight)
        rate = np.bincount(pool, weight * (self._atoms.distinct + self._by_prediction(self._bias))) / held
        single = np.bincount((node * places + pool).ravel(), (share * weight).ravel(), nodes * places)

        def values(changes: Floats) -> Floats:
            return evaluate.many(Draw(None, held * np.clip(rate + changes, 0.0, 1.0)))

        return values, single.reshape(nodes, places) / held * error[:, None]

    def _standard_errors(self, node: Ints, share: Floats, nodes: int) -> Floats:
        atoms = self._atoms
        bias, prob = self._by_prediction(self._bias), atoms.distinct
        rate = np.clip(prob + bias, prob / 2, (1 + prob) / 2)  # no rate is known without error
        weight, noise = (
            np.bincount(node.ravel(), x.ravel(), nodes)
            for x in (share * atoms.weight, share * atoms.squares * rate * (1 - rate))
        )
        return np.asarray(np.sqrt(noise) / np.maximum(weight, _TINY))

    def _by_prediction(self, by_atom: Floats) -> Floats:
        return by_atom if self._atoms.start is None else by_atom[self._atoms.start]

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
