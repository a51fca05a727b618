"""Which measures reward the truth: the expected value of a report, by enumerating every outcome of a few rows."""

from __future__ import annotations

import numpy as np

from rainproof.core.arrays import Floats
from rainproof.core.sample.sample import Sample
from rainproof.measures.catalogue import CATALOGUE
from rainproof.measures.measure import Measure
from rainproof.paper.chunks import Chunk, Runner
from rainproof.paper.results import Cell, Table

JUDGED = (
    "two_bin_calibration_error",
    "brier_score",
    "expected_calibration_error",
    "binned_calibration_error",
    "smooth_calibration_error",
    "cutoff_calibration_error",
    "soft_binned_cdl",
    "calibration_decision_loss",
)
ROWS = range(2, 7)
WORDS = (
    "A measure is truthful if a forecaster who knows the probabilities q_t of a few rows, with independent outcomes, "
    "expects the smallest value by reporting them (Hartline, Hu, Wu 2025). For each measure and number of rows, the "
    "table has the smallest ratio found of the expected value of another report to that of the truth, over random q_t; "
    "the expectation is a sum over all 2^n outcomes, without sampling. A ratio below 1 is a lie that pays. The "
    "averaged two-bin error and the Brier score have none, which is proved (1: the truth, or pooled probabilities)."
)


def expected_value(measure: Measure, truth: Floats, report: Floats) -> float:
    """Compute the expectation of a measure of the predictions `report`, over independent outcomes.

    Examples
    --------
    Two rows of probability 0.4 and 0.6. ECE expects less if both are reported as 0.5:

    >>> import numpy as np
    >>> from rainproof.measures.catalogue import CATALOGUE
    >>> from rainproof.paper.truthful import expected_value
    >>> q, ece = np.array([0.4, 0.6]), CATALOGUE["expected_calibration_error"]
    >>> round(expected_value(ece, q, q), 6), round(expected_value(ece, q, np.array([0.5, 0.5])), 6)
    (0.48, 0.24)
    """
    outcomes = np.arange(1 << len(truth))[:, None] >> np.arange(len(truth)) & 1
    chance = np.where(outcomes, truth, 1 - truth).prod(axis=1)
    return float(sum(c * measure(Sample(y, report)) for c, y in zip(chance, outcomes, strict=True)))


def reports(truth: Floats, rng: np.random.Generator, tries: int) -> list[Floats]:
    """Return what a forecaster might report instead: all equal, closer together, further apart, or moved at random."""
    mean = np.full(len(truth), truth.mean())
    lies = [mean, np.round(truth), *(mean + (truth - mean) * s for s in (0.5, 0.9, 1.1, 1.5))]
    while len(lies) < tries:
        moved = truth + rng.normal(size=len(truth)) * 10 ** -rng.uniform(0, 3)
        lies.append(moved if rng.random() < 0.5 else np.where(rng.random(len(truth)) < 0.5, moved, truth))
    return [np.clip(lie, 0, 1) for lie in lies]


def best_lie(name: str, rows: int, seed: int, truths: int, tries: int) -> float:
    """Return the smallest ratio of the expected value of a report to that of the truth, over random probabilities."""
    rng = np.random.default_rng([seed, 11, JUDGED.index(name), rows])
    measure, smallest = CATALOGUE[name], np.inf
    for _ in range(truths):
        truth = rng.random(rows) if rng.random() < 0.7 else rng.choice([0.2, 0.5, 0.9], rows)
        honest = expected_value(measure, truth, truth)
        smallest = min(smallest, *(expected_value(measure, truth, lie) / honest for lie in reports(truth, rng, tries)))
    return smallest


def truthful(runner: Runner, *, seed: int, truths: int, tries: int) -> Table:
    """Compute the best of `tries` lies about each of `truths`, for every measure of `JUDGED` and 2 to 6 rows."""
    places = [(name, rows) for name in JUDGED for rows in ROWS]
    chunks = [
        Chunk(f"seed{seed}-{name}-{rows}-{truths}-{tries}", best_lie, (name, rows, seed, truths, tries))
        for name, rows in places
    ]
    found = dict(zip(places, runner("truthful", chunks), strict=True))
    table: list[dict[str, Cell]] = []
    for name in JUDGED:
        ratios = {f"n = {rows}": found[name, rows] for rows in ROWS}
        table.append({"measure": name, **ratios, "truthful here": min(ratios.values()) > 1 - 1e-9})
    return Table.of("truthful", "Smallest expected value of a lie, as a multiple of the truth's", table)
