"""Populations that could have given a sample, from a calibrated one to worse than estimated: what
intervals by inversion draw from.

How an interval is read off the draws is in `rainproof.inference.intervals`.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from rainproof.core.arrays import Floats, Ints, sums_by
from rainproof.core.cells import split
from rainproof.core.sample import Sample
from rainproof.inference.estimates import products_of_pairs
from rainproof.inference.options import Rng
from rainproof.inference.resampling import Draw, Resampler
from rainproof.inference.statistics import Statistic

ENOUGH_ROWS = 20  # rows per distinct prediction from which on each has a bias of its own
_PRIOR_ROWS = 2.0  # rows without bias that every estimate of a bias is diluted with
# the grid of nodes has about n^(1/3) cells, a power of 2 between these: 4 to 64
_FEWEST_DOUBLINGS = 2
_MOST_DOUBLINGS = 6
_MOST_MOVED = 65  # nodes at which a population is moved on its own: those of the finest grid
_MOST_PLACES = 2048  # predictions among which a direction is looked for
_STANDARD_ERRORS = 2.0  # that a bias is moved by: what a sample of this size can hardly tell apart
_GRADIENT_STEPS = 3
_LEAST_GAIN = 1e-9  # of the measure, relative: less is rounding
_TINY = 1e-300  # in place of a 0 that is divided by


def repeats_often(sample: Sample, atoms: Resampler) -> bool:
    """Return whether distinct predictions have so many rows that the event rate of each can be
    seen.
    """
    return len(atoms.distinct) * ENOUGH_ROWS <= sample.ungrouped().effective_n


@dataclass(frozen=True, slots=True, eq=False)
class _Nodes:
    """The nodes at which a bias is estimated; between them it is linear."""

    count: int
    beside: Ints  # shape (2, predictions): the nodes below and above each distinct prediction
    share: Floats  # of the same shape: how much each of the two counts

    def sums(self, columns: Floats) -> Floats:
        """Sum what predictions give to the nodes beside them: a row for the lower, one for the
        upper.
        """
        return sums_by(self.beside.ravel(), columns.ravel(), self.count)

    def interpolated(self, by_node: Floats) -> Floats:
        """The value at each distinct prediction."""
        return np.asarray((self.share * by_node[self.beside]).sum(axis=0))

    def with_at_most(self, most: int) -> _Nodes:
        """Return fewer nodes, by making neighbours one."""
        if self.count <= most:
            return self
        return _Nodes(most, self.beside * most // self.count, self.share)


def _nodes_of(sample: Sample, atoms: Resampler) -> _Nodes:
    """The distinct predictions if they repeat often, else the points of a grid."""
    prob = atoms.distinct
    if repeats_often(sample, atoms):
        last = len(prob) - 1
        lower = np.arange(len(prob))
        upper_share = np.zeros(len(prob))
    else:
        doublings = round(math.log2(sample.ungrouped().effective_n) / 3)
        last = 1 << min(_MOST_DOUBLINGS, max(_FEWEST_DOUBLINGS, doublings))
        lower, upper_share = split(prob, last)
    beside = np.stack([lower, np.minimum(lower + 1, last)])
    return _Nodes(last + 1, beside, np.stack([1 - upper_share, upper_share]))


def _estimate_bias(sample: Sample, atoms: Resampler, nodes: _Nodes) -> Floats:
    """The bias (event rate less prediction) at each node.

    A bias r whose noise has the variance v is shrunk to ``r (1 - v/r^2)+`` (James and Stein, a node
    at a time).
    """
    prob = atoms.distinct
    weight = atoms.weight
    positive = atoms.observed().positive.astype(np.float64)
    residual = nodes.sums(nodes.share * (positive - weight * prob))
    variance = nodes.sums(nodes.share**2 * atoms.squares * prob * (1 - prob))
    total = nodes.sums(nodes.share * weight)
    shrinkage = np.maximum(1 - variance / np.maximum(residual**2, _TINY), 0.0)
    weight_of_row = sample.total_weight / sample.ungrouped().effective_n
    return shrinkage * residual / (total + _PRIOR_ROWS * weight_of_row)


class PopulationPath:
    """Populations by step: calibrated at 0, as estimated at 1, and beyond 1 where the measure grows
    fastest.

    The bias of the predictions is estimated at nodes: the distinct predictions if they repeat
    often, else the points of a grid of about ``n^(1/3)`` cells, linear in between. Beyond step 1
    the path does not scale the estimated bias: that would scale noise and biases that the measure
    ignores, and samples of such populations would look worse than those of populations where one
    bias alone is large. It moves in the direction in which the measure is largest two standard
    errors away (the least favourable family of DiCiccio and Romano).

    Where the statistic compares each distinct prediction with its own rows, samples have the
    predictions of this one, and only outcomes are drawn. With clusters, whole clusters are drawn
    with their predictions, and two rows of a cluster share one random number with the probability
    that gives their outcomes the correlation seen in the sample.

    Attributes
    ----------
    observed : float
        The measure of the sample.
    correlation : float
        Of the outcomes in a cluster; 0 without clusters.
    """

    def __init__(self, sample: Sample, atoms: Resampler, statistic: Statistic) -> None:
        self._atoms = atoms
        self._statistic = statistic
        self._evaluate = statistic.on(atoms)
        self.observed = self._evaluate(atoms.observed())
        nodes = _nodes_of(sample, atoms)
        bias = nodes.interpolated(_estimate_bias(sample, atoms, nodes))
        self._bias = self._by_atom(bias)
        # no bias to be seen: go where forecasters mostly err, towards 0 and 1
        if not self._bias.any():
            self._bias = (0.5 - atoms.prob) * math.sqrt(1 / sample.ungrouped().effective_n)
        self._beyond = self._steepest(nodes.with_at_most(_MOST_MOVED))
        self.correlation = 0.0 if atoms.group is None else self._correlation(atoms.group)

    def rate(self, step: float) -> Floats:
        """The event probability at each atom."""
        beyond = max(step - 1.0, 0.0)
        change = min(step, 1.0) * self._bias
        return np.clip(self._atoms.prob + change + beyond * self._beyond, 0.0, 1.0)

    def value(self, step: float) -> float:
        """The measure of that population."""
        # of a calibrated one: no grid would balance it
        if step == 0 and self._statistic.soft_binned:
            return 0.0
        return self._evaluate(self._atoms.expected(self.rate(step)))

    def sampler(self, *steps: float) -> Callable[[Rng], Floats]:
        """Return a function that draws the measure of a sample of each population.

        All come from the same random numbers: differences are not noise.
        """
        atoms = self._atoms
        outcomes = atoms.outcomes([self.rate(step) for step in steps], self.correlation)
        keeps_predictions = self._statistic.pools

        def draw(stream: Rng) -> Floats:
            repeated = atoms.count if keeps_predictions else atoms.repeat(stream)
            draws = outcomes(stream, repeated)
            return np.concatenate([self._evaluate.many(samples) for samples in draws])

        return draw

    def _correlation(self, group: Ints) -> float:
        """The correlation of the outcomes in a cluster: a moment estimate plus a standard error.

        The plain moment is too small: the estimated bias takes up part of what the rows of a
        cluster share.
        """
        weight = 1.0 if self._atoms.unit is None else self._atoms.unit
        rate = self.rate(1.0)
        seen = products_of_pairs(group, weight * (self._atoms.events - rate))
        possible = products_of_pairs(group, weight * np.sqrt(rate * (1 - rate)))
        total = max(float(possible.sum()), _TINY)
        moment = float(seen.sum()) / total
        error = math.sqrt(float(((seen - moment * possible) ** 2).sum())) / total
        return min(max(moment + error, 0.0), 1.0)

    def _steepest(self, nodes: _Nodes) -> Floats:
        """The change of the event probabilities, two standard errors in all, that raises the
        measure most.

        The best change at a single node, then steps along the gradient from there, as long as they
        help. Predictions are pooled to at most 2,048 meanwhile: it is a direction that is looked
        for, not a value.
        """
        error = _STANDARD_ERRORS * self._standard_errors(nodes)
        moved = np.flatnonzero(error)
        if not len(moved):
            return self._bias
        error = error[moved]
        values, change_by_node = self._trials(nodes)
        change_by_node = change_by_node[moved] * error[:, np.newaxis]
        # up and down at each node
        trials = np.stack([change_by_node, -change_by_node], axis=1)
        trials = trials.reshape(-1, change_by_node.shape[1])
        measured = values(trials)
        best = len(measured) - 1 - int(np.argmax(measured[::-1]))  # the last of equal ones
        largest = measured[best]
        unmoved = values(np.zeros((1, change_by_node.shape[1])))[0]
        if not largest > unmoved * (1 + _LEAST_GAIN):
            return self._bias
        change = trials[best]
        direction = np.zeros(len(moved))
        node, is_down = divmod(best, 2)
        direction[node] = -1.0 if is_down else 1.0
        for _ in range(_GRADIENT_STEPS):
            slope = values(change + change_by_node / 2) - values(change - change_by_node / 2)
            slope /= max(math.sqrt(float((slope**2).sum())), _TINY)
            further = (slope[:, np.newaxis] * change_by_node).sum(axis=0)
            value = values(further[np.newaxis])[0]
            if not value > largest * (1 + _LEAST_GAIN):
                break
            largest = value
            change = further
            direction = slope
        change_at_node = np.zeros(nodes.count)
        change_at_node[moved] = error * direction
        return self._by_atom(nodes.interpolated(change_at_node))

    def _trials(self, nodes: _Nodes) -> tuple[Callable[[Floats], Floats], Floats]:
        """The measure as a function of changes of the event probabilities, one a row; and what each
        node alone changes if it is raised by 1.
        """
        atoms, pool = self._atoms.pooled(_MOST_PLACES)
        evaluate = self._evaluate if atoms is self._atoms else self._statistic.on(atoms)
        weight = self._atoms.weight
        pool_weight = np.bincount(pool, weight)
        events = weight * (self._atoms.distinct + self._by_prediction(self._bias))
        rate = np.bincount(pool, events) / pool_weight

        def values(changes: Floats) -> Floats:
            return evaluate.many(Draw(None, pool_weight * np.clip(rate + changes, 0.0, 1.0)))

        places = len(atoms.distinct)
        node_and_place = nodes.beside * places + pool
        weight_moved = np.bincount(
            node_and_place.ravel(), (nodes.share * weight).ravel(), nodes.count * places
        )
        return values, weight_moved.reshape(nodes.count, places) / pool_weight

    def _standard_errors(self, nodes: _Nodes) -> Floats:
        """Of the bias at each node."""
        prob = self._atoms.distinct
        rate = prob + self._by_prediction(self._bias)
        rate = np.clip(rate, prob / 2, (1 + prob) / 2)  # no rate is known without error
        weight = nodes.sums(nodes.share * self._atoms.weight)
        variance = nodes.sums(nodes.share * self._atoms.squares * rate * (1 - rate))
        return np.sqrt(variance) / np.maximum(weight, _TINY)

    def _by_prediction(self, by_atom: Floats) -> Floats:
        return by_atom if self._atoms.start is None else by_atom[self._atoms.start]

    def _by_atom(self, by_prediction: Floats) -> Floats:
        start = self._atoms.start
        if start is None:
            return by_prediction
        return np.repeat(by_prediction, np.diff(np.append(start, len(self._atoms.prob))))
