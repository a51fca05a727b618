"""The default statistic of `calibration_test`: residuals along many functions of the prediction at once."""

from __future__ import annotations

import math

import numpy as np

from rainproof.core.arrays import Floats
from rainproof.inference._combined import evidence, functions, until
from rainproof.inference.resampling_units import Atoms, Draw, Rng, UnevenCells

ENOUGH = 10  # draws that reach the observed value, after which a sequential test stops
_AT_ONCE = 1 << 20  # predictions that are redrawn at a time
_ANGLES = 2048  # predictions as close as that share a pool: the variance of its events differs by less than 1e-6


class Combined:
    r"""Evidence against calibration of any kind: log10 of the mean of 1/p over tests of growing order.

    Residuals (events less weight times prediction) are summed in at most 256 runs of neighbouring predictions with
    equal shares of the variance, and projected on orthonormal functions of the prediction: a constant, the log odds,
    then cosines of growing frequency. Under calibration the projections z_1, z_2, ... are uncorrelated with variance 1.
    The tests are chi-squared tests of z_1, ..., z_k for k = 1, 2, 4, ..., 64 (fewer than 128 rows: no more than half of
    them), and of z_1 and z_2 each alone (shift and overconfidence are the most frequent errors). Their nominal p-values
    only weigh the parts: the exact p-value is that of the resampling test. An outcome that was predicted to be
    impossible makes the statistic infinite.
    """

    def __init__(self, atoms: Atoms) -> None:
        self._prob, self._weight = atoms.distinct, atoms.weight
        self._start, self._expected, self._certain, self._along = functions(
            self._prob, self._weight, atoms.squares, max(2, atoms.n // 2)
        )
        self._due = (self._weight * self._prob)[self._certain]

    def __call__(self, draw: Draw) -> float:
        return float(self.many(Draw(draw.weight, draw.positive[None]))[0])

    def many(self, draw: Draw) -> Floats:
        """The statistic of each row of ``draw.positive``."""
        expected, due = self._expected, self._due
        if draw.weight is not None:
            events = draw.weight.astype(np.float64) * self._prob
            expected, due = np.add.reduceat(events, self._start), events[self._certain]
        return evidence(self._start, draw.positive, expected, self._along, self._certain, due)

    def until(self, atoms: Atoms, rng: Rng, hits: int, most: int, likely: int) -> tuple[int, int]:
        """Draw until so many draws reach the observed value, or `most`; return the number of draws and of hits."""
        if atoms.tossed and atoms.unit is None and atoms.start is None:
            rows, runs = (self._prob, atoms.count, atoms.events), (self._start, self._expected, self._along)
            return until(rng.bit_generator.capsule, *rows, *runs, self._certain, hits, most)
        observed = self(atoms.observed())
        if observed == math.inf:  # an impossible outcome: no draw has one
            return most, 0
        size = min(most, likely)
        where = np.flatnonzero(~(self.many(atoms.redraws(rng, atoms.coin(atoms.prob), size)) < observed))[:hits]
        return int(where[-1]) + 1 if len(where) == hits else size, len(where)


def sequential_p_value(atoms: Atoms, most: int, rng: Rng) -> float:
    """The p-value of `Combined` after Besag and Clifford: draw until ten draws reach the observed value, or `most`.

    If the tenth is draw number l, the p-value is 10/l; if g < 10 of `most` draws reach it, (g + 1)/(most + 1).
    """
    combined, drawn, reached = Combined(atoms), 0, 0
    while drawn < most and reached < ENOUGH:
        left = ENOUGH - reached
        likely = left * (drawn + 1) // (reached + 1)  # draws that are needed
        new, hits = combined.until(atoms, rng, left, min(most - drawn, 1 + _AT_ONCE // len(atoms.prob)), likely)
        drawn, reached = drawn + new, reached + hits
    return ENOUGH / drawn if reached == ENOUGH else (reached + 1) / (most + 1)


def with_fewer_cells(atoms: Atoms) -> Atoms:
    """Atoms with many rows each, pooled as far as `Combined` cannot tell: 1e8 rows in 65,536 cells to about 2,000.

    Events of a pool are drawn as one binomial number with its mean prediction. The variance is then too large by the
    share ``var(p) / (p (1 - p))`` of the predictions in it, below 1e-6 where they are closer than 1/2048 of a quarter
    turn on the scale of ``arcsin(sqrt(p))``. No pool reaches over a run, or holds both certain and other predictions.
    """
    prob = atoms.prob
    uneven = isinstance(atoms, UnevenCells) or atoms.unit is not None
    if uneven or len(prob) <= _ANGLES or atoms.tossed:
        return atoms
    new = np.zeros(len(prob), np.bool_)
    new[Combined(atoms)._start] = True
    new[1:] |= np.diff((np.arcsin(np.sqrt(prob)) * (2 / np.pi * _ANGLES)).astype(np.int64)) > 0
    new[1:] |= np.diff((prob <= 0) | (prob >= 1))
    return atoms.merged(np.cumsum(new) - 1)
