"""The samples that `tools.freeze` runs functions on: rows, what stands beside them, and rows that
break a rule. Nothing here knows rainproof.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np

Columns = dict[str, Any]
# populations and sizes of the designs that few things depend on
FEW = ("calibrated", "too high", "tied")


class Case(NamedTuple):
    """The rows of one sample: outcomes, predictions, and what stands beside them."""

    name: str
    design: str
    outcome: Any
    prob: Any
    columns: Columns
    slow: bool = False  # whether functions that take long run on it
    quick: bool = False  # whether it belongs to the quick selection

    @property
    def n(self) -> int:
        """The number of rows, as they came."""
        return len(self.outcome)

    @property
    def is_of_classes(self) -> bool:
        """Whether there is a prediction for each of several classes."""
        return np.ndim(self.prob) == 2


def populations(n: int, rng: np.random.Generator) -> Iterator[tuple[str, Any, Any]]:
    """Event rates and predictions of n rows."""
    smooth = rng.beta(1.0, 2.0, n)
    rare = rng.beta(1.0, 30.0, n)
    tied = rng.choice([0.1, 0.25, 0.5, 0.75], n)
    yield "calibrated", smooth, smooth
    yield "too extreme", 0.3 + 0.4 * smooth, smooth
    yield "too high", smooth**1.6, smooth
    yield "rare", rare, rare
    yield "tied", 0.1 + 0.7 * tied, tied
    yield "inverted", 1 - smooth, smooth
    yield "noise", np.full(n, 0.3), smooth
    yield "constant", np.full(n, 0.4), np.full(n, 0.4)
    yield "sure", 0.02 + 0.96 * np.round(smooth), np.round(smooth)


def designs(n: int, rng: np.random.Generator) -> Iterator[tuple[str, Columns]]:
    """What can stand beside the rows, and how they were drawn."""
    weights = rng.exponential(size=n)
    row = np.arange(n)
    clusters = row // 3
    uneven = np.minimum(row // 2, (rng.pareto(1.2, n) * n / 10).astype(int))
    some_zero = np.where(rng.random(n) < 0.25, 0.0, weights)
    empty_clusters = np.where(clusters % 4 == 1, 0.0, weights)
    yield "rows", {}
    yield "weights", {"sample_weight": weights}
    yield "clusters", {"groups": clusters}
    yield "uneven clusters and weights", {"groups": uneven, "sample_weight": weights}
    yield "base rate", {"base_rate": 0.1}
    yield "range of base rates", {"base_rate": (0.05, 0.2)}
    yield "shares", {"fractional": True}
    yield "segments", {"by": row % 3}
    yield "weights of zero", {"sample_weight": some_zero}
    yield "clusters of weight zero", {"groups": clusters, "sample_weight": empty_clusters}
    yield "equal weights", {"sample_weight": np.full(n, 2.5)}
    yield "clusters of one row", {"groups": rng.permutation(n)}
    yield "shares and clusters", {"fractional": True, "groups": clusters}
    yield "shares and weights", {"fractional": True, "sample_weight": some_zero}
    beside = {"by": {"site": row % 3, "sex": np.where(row % 2, "f", "m")}}
    no_last = np.where(row % 6 == 5, 0.0, some_zero)  # one of the six segments
    yield "segments and weights", {"sample_weight": no_last} | beside
    yield "segments and clusters", {"groups": clusters, "by": clusters % 2}


# they run on all populations; the other designs on few
PLAIN = ("rows", "weights", "clusters", "base rate", "shares", "segments")


def cases() -> Iterator[Case]:
    """All samples."""
    for n in (1, 12, 60, 300, 1500):
        rng = np.random.default_rng(n)
        for population, rate, prob in populations(n, rng):
            outcome = (rng.random(n) < rate).astype(np.int64)
            for design, columns in designs(n, rng):
                few = population in FEW
                all_designs = n in (12, 60, 300)
                if not few and (n in (1, 12) or design not in PLAIN):
                    continue
                if n == 1500 and design != "rows" and not (few and design in PLAIN):
                    continue
                if n == 1 and design not in PLAIN:
                    continue
                shown: Any = outcome
                if "fractional" in columns:
                    shown = np.where(rng.random(n) < 0.2, 0.5, outcome)
                slow = all_designs and n > 12 and population == "too high"
                quick = few and n == (300 if population == "too high" else 60)
                name = f"{population}, {design}, n = {n}"
                yield _frozen(Case(name, design, shown, prob, columns, slow, quick))
    yield from of_classes()
    yield from refused()


def of_classes() -> Iterator[Case]:
    """Samples of several classes."""
    for n in (30, 400):
        rng = np.random.default_rng(n)
        prob = rng.dirichlet([1.0, 2.0, 0.5], n)
        sharp = prob**2 / (prob**2).sum(axis=1, keepdims=True)
        outcome = (rng.random(n)[:, None] > prob.cumsum(axis=1)).sum(axis=1)
        weights = rng.exponential(size=n)
        some_zero = {"sample_weight": np.where(rng.random(n) < 0.25, 0.0, weights)}
        clusters = {"groups": np.arange(n) // 4}
        quick = n == 30
        columns: Columns
        for about, predicted, columns in (
            ("calibrated", prob, {}),
            ("too extreme", sharp, {}),
            ("weights", prob, {"sample_weight": weights}),
            ("weights of zero", sharp, some_zero),
            ("clusters", sharp, clusters),
            ("clusters and weights of zero", sharp, clusters | some_zero),
        ):
            name = f"three classes, {about}, n = {n}"
            slow = n == 400 and about != "calibrated"
            yield _frozen(Case(name, "classes", outcome, predicted, columns, slow, quick))


def refused() -> Iterator[Case]:
    """Rows and options that break a rule, or that only some functions can take."""
    n = 12
    rng = np.random.default_rng(7)
    prob = rng.random(n)
    outcome = np.arange(n) % 2
    weights = rng.exponential(size=n)
    groups = np.arange(n) // 2
    one_high = np.where(np.arange(n) == 4, 1.5, prob)
    broken: dict[str, tuple[Any, Any, Columns]] = {
        "no event": (np.zeros(n, int), prob, {}),
        "all events": (np.ones(n, int), prob, {}),
        "one outcome and a base rate": (np.zeros(n, int), prob, {"base_rate": 0.1}),
        "no rows": (outcome[:0], prob[:0], {}),
        "a prediction above 1": (outcome, one_high, {}),
        "a missing prediction": (outcome, np.where(np.arange(n) == 4, np.nan, prob), {}),
        "an outcome of 2": (np.where(np.arange(n) == 4, 2, outcome), prob, {}),
        "labels": (np.where(outcome == 1, "yes", "no"), prob, {}),
        "booleans": (outcome == 1, prob.astype(np.float32), {}),
        "fewer predictions": (outcome, prob[:-1], {}),
        "fewer weights": (outcome, prob, {"sample_weight": weights[:-1]}),
        "a negative weight": (outcome, prob, {"sample_weight": weights - 0.3}),
        "no weight": (outcome, prob, {"sample_weight": 0 * weights}),
        "fewer groups": (outcome, prob, {"groups": groups[:-1]}),
        "one group": (outcome, prob, {"groups": 0 * groups}),
        "fewer segments": (outcome, prob, {"by": groups[:-1]}),
        "a missing group": (outcome, prob, {"groups": np.where(groups == 2, np.nan, groups)}),
        "shares that are not stated": (np.where(outcome == 1, 0.5, 0), prob, {}),
        "a base rate of 1": (outcome, prob, {"base_rate": 1.0}),
        "base rates in the wrong order": (outcome, prob, {"base_rate": (0.3, 0.1)}),
        "a base rate and weights": (outcome, prob, {"base_rate": 0.1, "sample_weight": weights}),
        "a base rate and groups": (outcome, prob, {"base_rate": 0.1, "groups": groups}),
        "a base rate and segments": (outcome, prob, {"base_rate": 0.1, "by": groups}),
        "a base rate and shares": (outcome / 2, prob, {"base_rate": 0.1, "fractional": True}),
    }
    for about, (shown, predicted, columns) in broken.items():
        yield _frozen(Case(f"refused: {about}", "refused", shown, predicted, columns, quick=True))


def _frozen(case: Case) -> Case:
    """The case with arrays that nothing can write to, as all functions share them."""
    for column in (case.outcome, case.prob, *case.columns.values()):
        if isinstance(column, np.ndarray):
            column.flags.writeable = False
    return case
