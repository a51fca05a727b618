"""Whose recalibrated probabilities of several classes are best, on rows that no map was fitted
to.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from scipy.special import softmax

from benchmarks.race.calls import CallError, call
from benchmarks.race.contestants import BY_NAME
from benchmarks.race.parts import Cell, Lines, Part, entries, generator
from benchmarks.race.recalibration import CLIPPED, differences, failures

SIZES = {200: 4, 1_000: 2, 5_000: 1}  # rows: samples of a block, more where they vary more
JUDGED = 4_000  # rows, of which the probabilities are known, or at most
LARGEST_REAL = 1_000  # rows to fit to, as the digits have 1,797
# of costs, drawn once: each action is for one class, and what it costs in another one is uniform
MATRICES = 20
MEASURES = {
    "cost": ("cost, percent of the best fixed action's", 100),
    "wrong": ("wrong class, percent", 100),
    "brier": ("Brier score, thousandths", 1000),
    "log_loss": ("log loss, thousandths", 1000),
}
# From the true log-odds of three classes to those that are said.
MADE: dict[str, Callable[[Any], Any]] = {
    "calibrated": lambda z: z,
    "overconfident": lambda z: 2.5 * z,
    "underconfident": lambda z: 0.5 * z,
    "one class too high": lambda z: z + np.array([1.5, 0.0, 0.0]),
    "one class bent": lambda z: z + np.column_stack([np.abs(z[:, 0]), 0 * z[:, 1], 0 * z[:, 2]]),
}


@cache
def _real() -> dict[str, tuple[Any, Any]]:
    """Out-of-fold predictions of ten digits."""
    from sklearn.datasets import load_digits
    from sklearn.ensemble import RandomForestClassifier
    from sklearn.linear_model import LogisticRegression
    from sklearn.model_selection import cross_val_predict
    from sklearn.naive_bayes import GaussianNB

    x, y = load_digits(return_X_y=True)
    models = {
        "digits, naive Bayes": GaussianNB(),
        "digits, random forest": RandomForestClassifier(50, min_samples_leaf=3, random_state=0),
        "digits, logistic regression": LogisticRegression(max_iter=200),
    }
    with warnings.catch_warnings(action="ignore"):
        return {
            name: (y, cross_val_predict(m, x, y, cv=5, method="predict_proba"))
            for name, m in models.items()
        }


def drawn(name: str, n: int, block: int) -> tuple[Any, Any, Any, Any]:
    """Outcomes and predictions to fit to; predictions to judge, and the probabilities of the
    classes there.
    """
    rng = generator(name, n, block)
    if name in MADE:
        z = 1.5 * rng.standard_normal((n + JUDGED, 3)) + np.array([0.5, 0.0, -0.5])
        true, said = softmax(z, axis=1), softmax(MADE[name](z), axis=1)
        y = (rng.random((n, 1)) > true[:n].cumsum(axis=1)[:, :2]).sum(axis=1)
        return y, said[:n], said[n:], true[n:]
    y, p = _real()[name]
    order = rng.permutation(len(y))
    fit, judge = order[:n], order[n : n + JUDGED]
    return y[fit], p[fit], p[judge], np.eye(p.shape[1])[y[judge]]


def cells(block: int, quick: bool) -> Iterator[Cell]:
    """Every map on every data set that is large enough."""
    for n, samples in SIZES.items():
        names = [*MADE, *_real()] if n <= LARGEST_REAL and not quick else list(MADE)
        for name in [] if quick and n > min(SIZES) else names:
            for k in range(1 if quick else samples):
                for one, label in entries("class_maps"):
                    yield name, n, one.name, label, samples * block + k


def run(data_set: str, n: int, package: str, entry: str, block: int) -> dict[str, object]:
    """Fit to a sample, and judge on other rows."""
    y, p, q, true = drawn(data_set, n, block)
    try:
        found, _ = call(BY_NAME[package], "class_maps", entry, y, p, q)
    except CallError as error:
        return {"note": str(error)[:200]}
    found = np.asarray(found, np.float64)
    if (
        found.shape != q.shape
        or not np.isfinite(found).all()
        or abs(found.sum(axis=1) - 1).max() > 1e-4
    ):
        return {"note": "rows are no probabilities that sum to 1"}
    return judged(found, true)


def judged(found: Any, true: Any) -> dict[str, object]:
    """The mean cost over tables of costs, the share of wrong classes, and both scores."""
    k = found.shape[1]
    tables = generator("costs", k).random((MATRICES, k, k)) * (1 - np.eye(k))  # action, class
    shares = []
    for table in tables:
        expected = true @ table.T
        acts = (found @ table.T).argmin(axis=1)
        shares.append(expected[np.arange(len(acts)), acts].mean() / expected.mean(axis=0).min())
    top = np.arange(len(true)), found.argmax(axis=1)
    log = np.log(np.clip(found, CLIPPED, 1))
    return {
        "cost": f"{np.mean(shares):.6f}",
        "wrong": f"{1 - true[top].mean():.6f}",
        "brier": f"{((found - 1) ** 2 * true + found**2 * (1 - true)).sum(axis=1).mean():.6f}",
        "log_loss": f"{-(true * log).sum(axis=1).mean():.6f}",
    }


def page(lines: Lines, pictures: Path) -> str:  # noqa: ARG001
    """The differences."""
    return "\n\n".join([*differences(lines, MEASURES), *failures(lines)])


PART = Part(
    name="classes",
    keys=("data_set", "n", "package", "entry", "block"),
    values=(*MEASURES, "note"),
    blocks=6,
    cells=cells,
    run=run,
    page=page,
)
