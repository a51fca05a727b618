"""Whether the verdict on real forecasts depends on the seed, or on the order of the rows.

    python -m benchmarks.studies.stability docs/data/stability.csv

Forecasts of three models for the data sets that come with scikit-learn (each row by a model that
has not seen it), and for flights (examples/flights.py). Lines that are in the file already are not
computed again.
"""

from __future__ import annotations

import argparse
import runpy
import sys
import warnings
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.datasets import load_breast_cancer, load_diabetes, load_digits, load_wine
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import cross_val_predict
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import rainproof
from benchmarks.studies.grades import append, lines_of

REPEATS = 30  # a third of them with costs
SUBSET = 2_000  # flights
FIELDS = [
    "data",
    "n",
    "event_rate",
    "costs",
    "vary",
    "repeats",
    "grades",
    "rules",
    "headlines",
    "texts",
    "p_values",
]
MODELS = {
    "naive Bayes": GaussianNB(),
    "logistic": make_pipeline(StandardScaler(), LogisticRegression()),
    "forest": RandomForestClassifier(100, random_state=0),
}
Forecasts = Iterator[tuple[str, Any, Any]]


def scikit_learn(first: str = "") -> Forecasts:
    """Outcomes and forecasts by the name of the data, which begins with some text, and of the
    model.
    """
    diabetes, progression = load_diabetes(return_X_y=True)
    wine, sort = load_wine(return_X_y=True)
    digits, digit = load_digits(return_X_y=True)
    data = {
        "breast cancer": load_breast_cancer(return_X_y=True),
        "wine, the second sort": (wine, sort == 1),
        "digits, the eights": (digits, digit == 8),
        "diabetes, above the median": (diabetes, progression > np.median(progression)),
    }
    for name, (x, y) in data.items():
        for model, fitted in MODELS.items() if name.startswith(first) else ():
            p = cross_val_predict(fitted, x, y, cv=5, method="predict_proba")[:, 1]
            yield f"{name}, {model}", y.astype(np.int8), np.clip(p, 0, 1)


def flights() -> Forecasts:
    """All flights of the last months, and some of them."""
    example = runpy.run_path(str(Path(__file__).parents[2] / "examples" / "flights.py"))
    table = example["predictions"](example["flights"]())
    y, p = table["late"].to_numpy(), table["probability"].to_numpy()
    some = np.random.default_rng(0).permutation(len(y))[:SUBSET]
    yield "flights, some, boosted trees", y[some], p[some]
    yield "flights, boosted trees", y, p


def one(name: str, y: Any, p: Any, repeats: int) -> Iterator[dict[str, Any]]:
    """What varies with the seed, also where a miss costs four false alarms, and with the order of
    the rows.
    """
    costs = rainproof.DecisionTask.from_costs(false_positive=1, false_negative=4)
    for task, vary, count in (
        (None, "seed", repeats),
        (costs, "seed", repeats // 3),
        (None, "order", repeats),
    ):
        found = [_verdict(y, p, task, vary, k) for k in range(count)]
        numbers = sorted(a.evidence.calibration.p_value for a in found)
        yield {
            "data": name,
            "n": len(y),
            "event_rate": f"{np.mean(y):.4f}",
            "costs": "no" if task is None else "yes",
            "vary": vary,
            "repeats": count,
            "grades": _counted(Counter(a.verdict.grade for a in found)),
            "rules": _counted(Counter(str(a.verdict.rule) for a in found)),
            "headlines": len({a.verdict.headline for a in found}),
            "texts": len({a.verdict.text for a in found}),
            "p_values": f"{numbers[0]:.3g} to {numbers[-1]:.3g}",
        }


def _verdict(
    y: Any, p: Any, task: rainproof.DecisionTask | None, vary: str, k: int
) -> rainproof.results.Assessment:
    if vary == "seed":
        return rainproof.assess(y, p, task=task, measures=[], rng=k)
    order = np.random.default_rng(k).permutation(len(y))
    return rainproof.assess(y[order], p[order], task=task, measures=[])


def _counted(found: Counter[str]) -> str:
    return ", ".join(f"{name} {count}" for name, count in found.most_common())


def main(arguments: list[str] | None = None) -> None:
    """Write the table, one data set after the other."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("output", type=Path)
    options = parser.parse_args(arguments)
    warnings.simplefilter("ignore")
    done = {x["data"] for x in lines_of(options.output)}
    for forecasts in (scikit_learn, flights):
        for name, y, p in forecasts():
            if name not in done:
                print(name, file=sys.stderr, flush=True)
                append(options.output, FIELDS, one(name, y, p, REPEATS))


if __name__ == "__main__":
    main()
