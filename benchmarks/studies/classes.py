"""Which map to recalibrate several classes with? That of `Recalibrator` beside others, on the same
rows.

    pip install scikit-learn
    python -m benchmarks.studies.classes docs/data/classes.csv docs/data/classes-violations.csv
    python -m benchmarks.studies.classes docs/data/classes-torch.csv --torch        (pip install
    torch)

Classifiers are trained on some rows of data sets that come with scikit-learn or are made by it.
Each way to recalibrate gets the predictions for other rows, and is judged on the rest: by log loss,
Brier score, and the mean cost of twenty random tasks (a random cost for each wrong answer, and one
for abstaining) as a share of that of the best fixed action. The second file counts how often the
bound for all classes at once is wrong, for made populations.
"""

from __future__ import annotations

import argparse
import sys
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

import rainproof
from benchmarks.studies.tables import write
from rainproof.inference.class_bounds import loss_bound
from rainproof.recalibration.class_scaling import ClassRows, fit_classes
from rainproof.recalibration.maps import ClassMap
from rainproof.recalibration.method_names import CLASS_METHODS
from rainproof.recalibration.selection import mean_class_map

Floats = NDArray[np.float64]
SIZES = (200, 600, 2_000, 6_000)
REPEATS, TASKS = 2, 20
TRAINING = 800
OURS, CHOSEN = "rainproof", "one map, by log loss"


def sources() -> Iterator[tuple[str, Floats, NDArray[np.int64]]]:
    """Rows of features and classes."""
    from sklearn.datasets import load_digits, make_classification, make_gaussian_quantiles

    digits = load_digits()
    yield "digits", digits.data, digits.target
    kinds: dict[str, dict[str, Any]] = {
        "4 classes": {
            "n_classes": 4,
            "n_informative": 8,
            "n_clusters_per_class": 2,
            "class_sep": 0.8,
        },
        "10 classes, rare ones": {
            "n_classes": 10,
            "n_informative": 12,
            "n_clusters_per_class": 1,
            "weights": [0.4, 0.2, 0.1, 0.1, 0.06, 0.05, 0.04, 0.02, 0.02, 0.01],
        },
    }
    for name, options in kinds.items():
        yield (
            name,
            *make_classification(20_000, n_features=20, random_state=1, flip_y=0.05, **options),
        )
    yield (
        "3 rings",
        *make_gaussian_quantiles(n_samples=20_000, n_features=6, n_classes=3, random_state=2),
    )


def models() -> dict[str, Any]:
    """Classifiers that are off in different ways."""
    from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier
    from sklearn.naive_bayes import GaussianNB
    from sklearn.neural_network import MLPClassifier

    return {
        "naive Bayes": GaussianNB(),
        "forest": RandomForestClassifier(100, random_state=0),
        "boosted trees": HistGradientBoostingClassifier(max_iter=60, random_state=0),
        "network": MLPClassifier((64,), max_iter=300, random_state=0),
    }


class TorchNetwork:
    """A small network of PyTorch, trained for long enough to be overconfident."""

    def fit(self, x: Floats, y: Any) -> None:
        """Train it on all rows at once."""
        import torch

        torch.manual_seed(0)
        self.mean, self.scale = x.mean(axis=0), x.std(axis=0) + 1e-9
        hidden = [
            torch.nn.Linear(x.shape[1], 128),
            torch.nn.ReLU(),
            torch.nn.Linear(128, 128),
            torch.nn.ReLU(),
        ]
        self.layers = torch.nn.Sequential(*hidden, torch.nn.Linear(128, int(y.max()) + 1))
        optimizer = torch.optim.Adam(self.layers.parameters(), 1e-3)
        rows, classes = self._rows(x), torch.tensor(y, dtype=torch.int64)
        for _ in range(200):
            optimizer.zero_grad()
            torch.nn.functional.cross_entropy(self.layers(rows), classes).backward()  # type: ignore[no-untyped-call]
            optimizer.step()

    def predict_proba(self, x: Floats) -> Floats:
        """Return the probabilities of all classes."""
        import torch

        with torch.no_grad():
            found: Floats = self.layers(self._rows(x)).double().softmax(dim=1).numpy()
        return found

    def _rows(self, x: Floats) -> Any:
        import torch

        return torch.tensor((x - self.mean) / self.scale, dtype=torch.float32)


def theirs(method: str) -> Callable[[Floats, Any], Callable[[Floats], Floats]]:
    """A calibrator of scikit-learn, given predictions."""
    from sklearn.base import BaseEstimator, ClassifierMixin
    from sklearn.calibration import CalibratedClassifierCV
    from sklearn.frozen import FrozenEstimator

    class Given(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
        def fit(self, p: Floats, _: Any) -> Any:
            self.classes_ = np.arange(p.shape[1])
            return self

        def predict_proba(self, p: Floats) -> Floats:
            return p

        def predict(self, p: Floats) -> NDArray[np.int64]:
            return p.argmax(axis=1)

    def fit(p: Floats, y: Any) -> Callable[[Floats], Floats]:
        model = CalibratedClassifierCV(FrozenEstimator(Given().fit(p, y)), method=method).fit(p, y)
        predict: Callable[[Floats], Floats] = model.predict_proba
        return predict

    return fit


def ours(p: Floats, y: Any) -> Callable[[Floats], Floats]:
    """The recalibrator as it comes: from 2,000 rows on a quarter of them is kept for the
    certificate.
    """
    return rainproof.Recalibrator().fit(p, y).predict


def chosen(p: Floats, y: Any) -> Callable[[Floats], Floats]:
    """The one map with the smallest log loss in cross-validation, fitted to all rows."""
    sample = rainproof.Sample(y, p)
    _, candidates = mean_class_map(sample, CLASS_METHODS, np.arange(len(y)) % 5)  # type: ignore[arg-type]
    return fitted(min(candidates, key=lambda c: c.log_loss).method, p, y)


def fitted(method: str, p: Floats, y: Any) -> Callable[[Floats], Floats]:
    """The map of one method."""
    part = fit_classes(method, ClassRows.of(p, np.asarray(y), np.ones(len(y))))
    return ClassMap(classes=tuple(range(p.shape[1])), parts=(part,)).apply


def tasks(k: int, rng: np.random.Generator) -> list[Any]:
    """Random costs of wrong answers, and of abstaining."""
    found = []
    for _ in range(TASKS):
        costs = rng.exponential(size=(k, k)) * (1 - np.eye(k))
        found.append(
            rainproof.DecisionTask.from_cost_matrix(costs, abstain=float(rng.uniform(0.1, 0.6)))
        )
    return found


def cost(task: Any, prob: Floats, y: Any) -> float:
    """What acting on predictions costs per case."""
    return -float(task.matrix[task.best_checked(prob), y].mean())


def compare(
    sizes: tuple[int, ...] = SIZES,
    repeats: int = REPEATS,
    classifiers: Callable[[], dict[str, Any]] = models,
) -> Iterator[dict[str, Any]]:
    """A row for each data set, size, repeat and way."""
    ways: dict[str, Any] = {"no recalibration": lambda *_: np.asarray, OURS: ours, CHOSEN: chosen}
    ways |= {
        f"scikit-learn, {method}": theirs(method)
        for method in ("sigmoid", "isotonic", "temperature")
    }
    for source, features, y in sources():
        order = np.random.default_rng(3).permutation(len(y))
        x, y = features[order], y[order]
        for name, model in classifiers().items():
            model.fit(x[:TRAINING], y[:TRAINING])
            prob, which = model.predict_proba(x[TRAINING:]).astype(np.float64), y[TRAINING:]
            prob /= prob.sum(axis=1, keepdims=True)
            for n in sizes:
                for repeat in range(repeats):
                    rng = np.random.default_rng([n, repeat])
                    at = rng.permutation(len(which))
                    if len(at) < 1.5 * n or len(np.unique(which[at[:n]])) < prob.shape[1]:
                        continue
                    fit, judge = at[:n], at[n:]
                    lines = judged(ways, prob[fit], which[fit], prob[judge], which[judge], rng)
                    yield from (
                        {"data": source, "model": name, "n": n, "repeat": repeat, **line}
                        for line in lines
                    )


def judged(
    ways: dict[str, Any], p: Floats, y: Any, q: Floats, z: Any, rng: np.random.Generator
) -> list[dict[str, Any]]:
    """A line for each way, fitted to p and y and judged on q and z."""
    asked = tasks(p.shape[1], rng)
    fixed = [float(-task.matrix[:, z].mean(axis=1).max()) for task in asked]
    found = []
    for way, fit in ways.items():
        value = fit(p, y)(q)
        right = np.clip(value[np.arange(len(z)), z], 1e-12, 1)
        squares = ((value - np.eye(q.shape[1])[z]) ** 2).sum(axis=1)
        costs = [cost(task, value, z) / least for task, least in zip(asked, fixed, strict=True)]
        found.append(
            {
                "way": way,
                "log_loss": round(float(-np.log(right).mean()), 5),
                "brier": round(float(squares.mean()), 5),
                "cost": round(float(np.mean(costs)), 5),
            }
        )
    return found


def populations(rng: np.random.Generator) -> dict[str, Callable[[int], tuple[Floats, Floats]]]:
    """For each the predictions and the true probabilities of some rows."""

    def overconfident(k: int, alpha: Any) -> Callable[[int], tuple[Floats, Floats]]:
        def draw(n: int) -> tuple[Floats, Floats]:
            true = rng.dirichlet(np.broadcast_to(alpha, k), n)
            said = true**1.4 + 1e-12
            return said / said.sum(axis=1, keepdims=True), true

        return draw

    def calibrated(k: int, alpha: Any) -> Callable[[int], tuple[Floats, Floats]]:
        def draw(n: int) -> tuple[Floats, Floats]:
            true = rng.dirichlet(np.broadcast_to(alpha, k), n)
            return true, true

        return draw

    rare = 3.0 ** -np.arange(10.0)
    return {
        "3 classes, calibrated": calibrated(3, 1.0),
        "3 classes, overconfident": overconfident(3, 1.0),
        "10 classes, calibrated": calibrated(10, 0.5),
        "10 classes, rare ones, overconfident": overconfident(10, 2 * rare),
        "100 classes, calibrated": calibrated(100, 0.1),
        "100 classes, overconfident": overconfident(100, 0.1),
    }


def violations(samples: int = 400, n: int = 300, delta: float = 0.1) -> Iterator[dict[str, Any]]:
    """How often the bound for all classes is below the loss in the population, which many rows
    tell.
    """
    rng = np.random.default_rng(0)
    for name, draw in populations(rng).items():
        prob, true = draw(20_000)
        outcome = (
            (rng.random((len(true), 1)) > true.cumsum(axis=1))
            .sum(axis=1)
            .clip(max=true.shape[1] - 1)
        )
        many = loss_bound(rainproof.Sample(outcome, prob), delta)[1]  # type: ignore[arg-type]
        found = []
        for _ in range(samples if true.shape[1] < 50 else samples // 4):
            prob, true = draw(n)
            y = (rng.random((n, 1)) > true.cumsum(axis=1)).sum(axis=1).clip(max=true.shape[1] - 1)
            found.append(loss_bound(rainproof.Sample(y, prob), delta)[0])  # type: ignore[arg-type]
        yield {
            "population": name,
            "n": n,
            "loss": round(many, 4),
            "mean_bound": round(float(np.mean(found)), 4),
            "violated": f"{sum(bound < many for bound in found)} of {len(found)}",
        }


def summary(lines: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The mean over data sets of each way, by size."""
    found = []
    for n in sorted({line["n"] for line in lines}):
        for way in dict.fromkeys(line["way"] for line in lines):
            own = [line for line in lines if line["n"] == n and line["way"] == way]
            means = {
                key: round(float(np.mean([line[key] for line in own])), 4)
                for key in ("log_loss", "brier", "cost")
            }
            found.append({"n": n, "way": way, "draws": len(own), **means})
    return found


def main() -> None:
    """Run the study."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("compared", type=Path)
    parser.add_argument("violated", type=Path, nargs="?")
    parser.add_argument(
        "--torch", action="store_true", help="a network of PyTorch instead of the four classifiers"
    )
    arguments = parser.parse_args()
    warnings.simplefilter("ignore")
    lines = list(
        compare(classifiers=lambda: {"torch": TorchNetwork()}) if arguments.torch else compare()
    )
    write(arguments.compared, summary(lines))
    if arguments.violated is not None:
        write(arguments.violated, list(violations()))
    for line in summary(lines):
        sys.stdout.write(f"{line}\n")


if __name__ == "__main__":
    main()
