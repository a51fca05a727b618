"""The public functions that `tools.freeze` compares, each as a call on the rows of a case.

A function states the names of rainproof that it needs: where a checkout lacks one, it is skipped
and said so. What a result prints, keeps and refuses is taken by `tools.freeze` itself.
"""

from __future__ import annotations

import contextlib
import copy
import csv
import hashlib
import io
import json
import os
import pickle
import re
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

import rainproof
from tools.freeze.samples import Case

SMALL = {"n_resamples": 19, "rng": 0}
# entries of results, and lines of their text, that are gone on purpose: the changelog says why
REMOVED = ("interval_calibration_error",)
SHOWN = 64  # entries of an array that are compared one by one; of a longer one, its hash
LONG = 1000  # characters of a line that is compared by its hash
DIALECTS = ("ansi", "duckdb", "postgresql", "spark", "sqlite")


class Function(NamedTuple):
    """A call that two checkouts make on the same case."""

    name: str
    call: Callable[[Case], Any]
    needs: tuple[str, ...]
    slow: bool  # runs on the cases for slow functions alone
    whole: bool  # not in the quick selection


FUNCTIONS: dict[str, Function] = {}


def function(
    name: str, *needs: str, slow: bool = False, whole: bool = False
) -> Callable[[Any], Any]:
    """Add a function, with the names of rainproof that it needs."""

    def added(call: Callable[[Case], Any]) -> Callable[[Case], Any]:
        assert name not in FUNCTIONS, name
        FUNCTIONS[name] = Function(name, call, needs, slow, whole)
        return call

    return added


def lacking(name: str) -> bool:
    """Whether rainproof has no such name: ``inference.compare``, ``Sample.split``."""
    place: Any = rainproof
    for part in name.split("."):
        if not hasattr(place, part):
            return True
        place = getattr(place, part)
    return False


# --------------------------------------------------------------------------------------- samples


def sample_of(case: Case) -> Any:
    """The sample of a case."""
    return rainproof.Sample(case.outcome, case.prob, **case.columns)


def compressed(case: Case) -> Any:
    """The sample of a case, on a grid."""
    return sample_of(case).compress(256)


def second(case: Case) -> Any:
    """A second forecast of the same rows."""
    return np.asarray(case.prob) * 0.8 + 0.1


def two_forecasts(case: Case) -> Any:
    """The sample of two forecasts of the same rows."""
    both = {"a": case.prob, "b": second(case)}
    return rainproof.Sample(case.outcome, both, **case.columns)


def arrays(case: Case, *names: str) -> tuple[tuple[Any, Any], dict[str, Any]]:
    """Outcomes and predictions, and the columns beside them that a function takes as arrays."""
    if "fractional" in case.columns:
        return (sample_of(case), None), {}
    columns = {name: column for name, column in case.columns.items() if name in names}
    return (case.outcome, case.prob), columns


def column(values: Any) -> Any:
    """The entries of an array, or the hash of many."""
    if values is None:
        return None
    entries = np.asarray(values)
    if entries.size <= SHOWN:
        return entries
    kept = np.ascontiguousarray(entries, np.float64 if entries.dtype.kind in "biuf" else None)
    return f"{entries.shape} {hashlib.sha256(kept.tobytes()).hexdigest()[:16]}"


def facts(sample: Any) -> dict[str, Any]:
    """What a sample says of itself, and its columns."""
    names = (
        "n",
        "n_draws",
        "groups",
        "total_weight",
        "event_rate",
        "effective_n",
        "grid",
        "mean_prediction",
        "base_rate",
        "forecasts",
        "digest",
    )
    if has_classes(sample):
        names = ("n", "n_draws", "groups", "total_weight", "effective_n", "classes", "rates")
        names = (*names, "digest")
    found = {name: getattr(sample, name) for name in names if hasattr(sample, name)}
    # samples of several classes had a class of their own
    found["repr"] = repr(sample).replace("ClassSample", "Sample")
    found["shown"] = str(sample).replace("ClassSample", "Sample")
    if getattr(sample, "forecasts", ()) and sample.grid is None:
        return found | {name: columns_of(sample[name]) for name in sample.forecasts}
    return found | columns_of(sample)


def has_classes(sample: Any) -> bool:
    """Whether a sample is of several classes; one of one event names none."""
    return bool(getattr(sample, "classes", ()))


def columns_of(sample: Any) -> dict[str, Any]:
    """The columns of a sample of one forecast."""
    names = ("which", "prob", "mass") if has_classes(sample) else ()
    names = names or ("y_true", "y_prob", "sample_weight", "counts")
    if getattr(sample, "forecasts", ()) and sample.grid is not None:
        names = ("sample_weight", "counts")  # cells of pairs have no predictions
    return {name: column(getattr(sample, name)) for name in names}


def segments_facts(segments: Any) -> dict[str, Any]:
    """What segments say of themselves, and of each."""
    about = {"by": segments.by, "shown": str(segments), "digest": segments.digest}
    about["pooled"] = facts(segments.pooled)
    return about | {str(key): facts(segments[key]) for key in segments}


def used(sample: Any) -> Any:
    """The sample after everything that it may keep was computed."""
    facts(sample)
    if not has_classes(sample) and len(sample.forecasts) < 2:
        rainproof.measure_all(sample)
        rainproof.guarantee(sample)
    return sample


def array_bytes(value: Any) -> int:
    """The bytes of all arrays in the pickle of a value."""
    total = 0

    class Pickler(pickle.Pickler):
        def persistent_id(self, part: Any) -> None:
            nonlocal total
            if isinstance(part, np.ndarray):
                total += part.nbytes

    Pickler(io.BytesIO(), protocol=5).dump(value)
    return total


@function("Sample")
def _(case: Case) -> Any:
    return facts(sample_of(case))


@function("Sample, two forecasts")
def _(case: Case) -> Any:
    return facts(two_forecasts(case))


@function("Sample, the second forecast")
def _(case: Case) -> Any:
    return facts(used(two_forecasts(case)["b"]))


@function("compress")
def _(case: Case) -> Any:
    return facts(used(sample_of(case)).compress(256))


@function("add compressed", "Sample.compress")
def _(case: Case) -> Any:
    sample = used(compressed(case))
    return facts(used(sample + sample))


@function("Sample, pickled after use")
def _(case: Case) -> Any:
    sample = sample_of(case)
    fresh = array_bytes(sample)
    after = array_bytes(used(sample))
    again = pickle.loads(pickle.dumps(sample))  # noqa: S301 our own
    return {
        "arrays are no more than columns": after <= 8 * (8 + 2 * _columns(case)) * case.n,
        "grows by use": after - fresh,
        "again": facts(used(again)),
        "array bytes": after,
    }


def _columns(case: Case) -> int:
    """The number of columns of a case."""
    return (case.prob.shape[1] if case.is_of_classes else 1) + len(case.columns)


@function("Sample of two forecasts, pickled after use")
def _(case: Case) -> Any:
    sample = two_forecasts(case)
    for name in sample.forecasts:
        used(sample[name])
    facts(sample)
    again = pickle.loads(pickle.dumps(sample))  # noqa: S301 our own
    return {"again": facts(again), "array bytes": array_bytes(sample)}


@function("compressed, pickled after use")
def _(case: Case) -> Any:
    sample = used(compressed(case))
    again = pickle.loads(pickle.dumps(sample))  # noqa: S301 our own
    return {"again": facts(again), "array bytes": array_bytes(sample)}


@function("copy")
def _(case: Case) -> Any:
    sample = used(sample_of(case))
    return {"copy": facts(copy.copy(sample)), "deep": facts(copy.deepcopy(sample))}


@function("split", "Sample.split")
def _(case: Case) -> Any:
    parts = used(sample_of(case)).split(folds=2, held_out=[0.2], rng=np.random.default_rng(1))
    return [facts(part) for part in parts]


@function("split compressed", "Sample.split")
def _(case: Case) -> Any:
    parts = used(compressed(case)).split(folds=2, rng=np.random.default_rng(1))
    return [facts(used(part)) for part in parts if part.n]


@function("split two forecasts", "Sample.split")
def _(case: Case) -> Any:
    parts = two_forecasts(case).split(folds=2, rng=np.random.default_rng(1))
    return [facts(part) for part in parts]


@function("in order", "Sample.in_order")
def _(case: Case) -> Any:
    return facts(used(sample_of(case)).in_order())


@function("in order, two forecasts", "Sample.in_order")
def _(case: Case) -> Any:
    return facts(two_forecasts(case).in_order())


@function("ungrouped", "Sample.ungrouped")
def _(case: Case) -> Any:
    return facts(used(used(sample_of(case)).ungrouped()))


@function("map")
def _(case: Case) -> Any:
    edges, start, slope = map(np.array, ([0.0, 0.5], [0.1, 0.4], [0.6, 0.9]))
    pieces = rainproof.recalibration.PiecewiseMap(edges, start, slope)
    return facts(used(used(sample_of(case)).map(pieces)))


@function("map, compressed")
def _(case: Case) -> Any:
    edges, start, slope = map(np.array, ([0.0, 0.5], [0.1, 0.4], [0.6, 0.9]))
    pieces = rainproof.recalibration.PiecewiseMap(edges, start, slope)
    return facts(used(used(compressed(case)).map(pieces)))


@function("by_segment")
def _(case: Case) -> Any:
    return segments_facts(used(sample_of(case)).by_segment())


@function("by_segment after use")
def _(case: Case) -> Any:
    segments = used(sample_of(case)).by_segment()
    return {
        "measured": segments.map(rainproof.soft_binned_cdl),
        "cells": {str(key): facts(segments[key].compress(64)) for key in segments},
        "small": [str(key) for key in segments.small(20)],
    }


@function("save and load")
def _(case: Case) -> Any:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "sample.parquet")
        used(sample_of(case)).save(path, grid=1024)
        return facts(used(rainproof.load(path)))


@function("save and load segments")
def _(case: Case) -> Any:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "segments.parquet")
        sample_of(case).by_segment().save(path)
        return segments_facts(rainproof.load(path))


@function("Accumulator")
def _(case: Case) -> Any:
    half = case.n // 2
    gathered = rainproof.Accumulator(128)
    for part in (slice(half), slice(half, None)):
        weight = case.columns.get("sample_weight")
        weight = None if weight is None else weight[part]
        gathered.update(case.outcome[part], case.prob[part], sample_weight=weight)
    return facts(pickle.loads(pickle.dumps(gathered)).sample())  # noqa: S301 our own


def _misuses() -> dict[str, Callable[[Any, Case], Any]]:
    """Calls that are refused, of a sample and its case."""
    row = np.arange
    return {
        "groups of cells": lambda s, c: rainproof.guarantee(s.compress(8), groups=row(c.n)),
        "segments of cells": lambda s, c: rainproof.assess(s.compress(8), by=row(c.n)),
        "costs of cells": lambda s, c: rainproof.assess(s.compress(8), task=costs_of_cases(c)),
        "a base rate of cells": lambda s, _: rainproof.guarantee(s.compress(8), base_rate=0.2),
        "a finer grid": lambda s, _: s.compress(8).compress(16),
        "a grid of 3": lambda s, _: s.compress(3),
        "rows added": lambda s, _: s + s,
        "other grids added": lambda s, _: s.compress(8) + s.compress(16),
        "a sample and predictions": lambda s, c: rainproof.guarantee(s, c.prob),
        "a sample and weights": lambda s, c: rainproof.guarantee(s, sample_weight=row(c.n)),
        "groups twice": lambda s, c: rainproof.guarantee(s, groups=row(c.n)),
        "a base rate twice": lambda s, _: rainproof.guarantee(s, base_rate=0.3),
        "no predictions": lambda _, c: rainproof.guarantee(c.outcome),
        "another forecast": lambda s, _: s["c"],
        "costs of fewer cases": lambda s, c: rainproof.assess(s, task=costs_of_cases(_fewer(c))),
        "costs of ordered cases": lambda s, c: rainproof.assess(
            s.in_order(), task=costs_of_cases(c)
        ),
        "a measure that there is not": lambda s, _: rainproof.confidence_interval(s, measure="x"),
        "a confidence level of 1": lambda s, _: rainproof.guarantee(s, confidence_level=1),
        "capacity without costs": lambda s, _: rainproof.assess(s, capacity=5),
        "a range without the threshold": lambda s, _: rainproof.assess(
            s, task=costs(), threshold_range=(0.5, 0.6)
        ),
        "two forecasts measured": lambda _, c: rainproof.soft_binned_cdl(two_forecasts(c)),
        "two forecasts assessed": lambda _, c: rainproof.assess(two_forecasts(c)),
        "one forecast switched": lambda s, _: rainproof.switch_guarantee(s),
        "a negative weight stated": lambda s, _: rainproof.guarantee(s, max_weight=-1.0),
        "a small weight stated": lambda s, _: rainproof.guarantee(s, max_weight=0.01),
        "a map before it is fitted": lambda _, c: rainproof.Recalibrator().predict(c.prob),
        "segments not fitted": lambda s, c: (
            rainproof.Recalibrator().fit(s).predict(c.prob, by=c.prob)
        ),
    }


def _fewer(case: Case) -> Case:
    return case._replace(outcome=case.outcome[1:])


for _name, _call in _misuses().items():
    function(f"misuse: {_name}")(lambda case, call=_call: str(call(sample_of(case), case)))


@function("class samples")
def _(case: Case) -> Any:
    sample = sample_of(case)
    each = {str(label): facts(used(sample[label])) for label in sample.classes}
    return facts(sample) | each | {"top": facts(used(sample.top_label))}


# -------------------------------------------------------------------------------------- measures


def _measure(name: str) -> None:
    def on_rows(case: Case) -> Any:
        given, columns = arrays(case, "sample_weight", "base_rate")
        home = rainproof if hasattr(rainproof, name) else rainproof.measures
        return getattr(home, name)(*given, **columns)

    function(name)(on_rows)


for _name in (
    "binned_calibration_error",
    "brier_score",
    "calibration_decision_loss",
    "cutoff_calibration_error",
    "expected_calibration_error",
    "log_score",
    "lower_distance_to_calibration",
    "smooth_calibration_error",
    "smooth_ece",
    "soft_binned_cdl",
    "two_bin_calibration_error",
    "u_calibration_error",
):
    _measure(_name)


def on_samples(name: str, *needs: str, slow: bool = False, cells: bool = True) -> Any:
    """Add a function of a sample: of rows, of two forecasts and of cells."""

    def added(call: Callable[[Any], Any]) -> Any:
        function(name, *needs, slow=slow)(lambda case: call(sample_of(case)))
        if cells:
            function(f"{name}, compressed", *needs, slow=slow)(lambda case: call(compressed(case)))
        return call

    return added


@on_samples("measure_all")
def _(sample: Any) -> Any:
    return rainproof.measure_all(sample)


@on_samples("soft_binned_profile")
def _(sample: Any) -> Any:
    return rainproof.measures.soft_binned_profile(sample)


@on_samples("score_decomposition")
def _(sample: Any) -> Any:
    return rainproof.measures.score_decomposition(sample)


@on_samples("measure_classes", cells=False)
def _(sample: Any) -> Any:
    return rainproof.measures.measure_classes(sample)


# ------------------------------------------------------------------------------------- decisions


def costs() -> Any:
    """A decision between two actions."""
    return rainproof.DecisionTask.from_costs(false_positive=1, false_negative=4)


def three_actions() -> Any:
    """A decision between three actions."""
    return rainproof.DecisionTask.from_cost_matrix([[0, 9], [2, 3], [4, 0]])


def class_costs() -> Any:
    """A decision on three classes."""
    return rainproof.DecisionTask.from_cost_matrix([[0, 5, 5], [5, 0, 2], [5, 2, 0]], abstain=1.5)


def costs_of_cases(case: Case) -> Any:
    """A decision between two actions with the costs of each case."""
    row = np.arange(case.n)
    misses = 1.0 + row % 7
    return rainproof.DecisionTask.from_costs(false_positive=1.0 + row % 2, false_negative=misses)


@on_samples("regret_curve")
def _(sample: Any) -> Any:
    return rainproof.regret_curve(sample, grid=64)


@on_samples("regret_curve, range")
def _(sample: Any) -> Any:
    return rainproof.regret_curve(sample, swaps="monotone", threshold_range=(0.1, 0.4))


@on_samples("swap_regret")
def _(sample: Any) -> Any:
    return rainproof.swap_regret(sample, task=costs())


@on_samples("swap_regret, three actions")
def _(sample: Any) -> Any:
    return rainproof.swap_regret(sample, task=three_actions(), per="prediction")


@on_samples("swap_regret, quadratic")
def _(sample: Any) -> Any:
    return rainproof.swap_regret(sample, task=rainproof.DecisionTask.quadratic())


@function("swap_regret, costs of cases")
def _(case: Case) -> Any:
    given, columns = arrays(case, "sample_weight", "base_rate")
    return rainproof.swap_regret(*given, costs_of_cases(case), **columns)


@on_samples("swap_regret, classes", cells=False)
def _(sample: Any) -> Any:
    return rainproof.swap_regret(sample, task=class_costs())


@on_samples("forecast_value")
def _(sample: Any) -> Any:
    return rainproof.forecast_value(sample)


@function("forecast_value, recalibrated, range")
def _(case: Case) -> Any:
    given, columns = arrays(case, "sample_weight", "base_rate")
    return rainproof.forecast_value(
        *given, recalibrated=second(case), threshold_range=(0.1, 0.6), **columns
    )


@on_samples("risk_coverage")
def _(sample: Any) -> Any:
    return rainproof.decisions.risk_coverage(sample)


@on_samples("choose_grid")
def _(sample: Any) -> Any:
    return rainproof.choose_grid(sample)


@function("decide")
def _(case: Case) -> Any:
    ids = [f"case {row}" for row in range(case.n)]
    tasks = {"costs": costs(), "cases": costs_of_cases(case)}
    return {
        f"{about}, {capacity}": rainproof.decisions.decide(
            case.prob, task, ids, capacity=capacity, seed=3
        ).to_dict()
        for about, task in tasks.items()
        for capacity in (None, 0.2, 2)
    }


@function("RoundingPolicy")
def _(case: Case) -> Any:
    ids = np.arange(case.n)
    found = {}
    for about, task in {"costs": costs(), "three": three_actions()}.items():
        policy = rainproof.RoundingPolicy(task, 16, seed=7)
        found[about] = [
            policy.to_dict(),
            str(policy),
            policy.round(case.prob, ids),
            policy.decide(case.prob, ids),
            policy.probabilities(case.prob),
        ]
    hard = rainproof.RoundingPolicy(costs(), 8, rounding="hard")
    return found | {"hard": hard.decide(case.prob)}


@function("RoundingPolicy for a sample, saved and loaded")
def _(case: Case) -> Any:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "policy.json")
        rainproof.RoundingPolicy(costs(), sample=sample_of(case)).save(path)
        return path.read_text(), rainproof.load(path).to_dict()


# ------------------------------------------------------------------------------------- inference


@on_samples("calibration_test")
def _(sample: Any) -> Any:
    return rainproof.calibration_test(sample, **SMALL)


@on_samples("calibration_test, a statistic", cells=False)
def _(sample: Any) -> Any:
    return rainproof.calibration_test(sample, statistic="soft_binned_cdl", **SMALL)


@function("calibration_test, arrays")
def _(case: Case) -> Any:
    given, columns = arrays(case, "sample_weight", "groups", "base_rate")
    return rainproof.calibration_test(*given, **columns, **SMALL)


@on_samples("confidence_interval")
def _(sample: Any) -> Any:
    return rainproof.confidence_interval(sample, **SMALL)


@on_samples("confidence_interval, Brier", cells=False)
def _(sample: Any) -> Any:
    return rainproof.confidence_interval(sample, measure="brier_score", **SMALL)


@function("confidence_interval, arrays")
def _(case: Case) -> Any:
    given, columns = arrays(case, "sample_weight", "groups", "base_rate")
    return rainproof.confidence_interval(*given, **columns, **SMALL)


@function("compare", "compare")
def _(case: Case) -> Any:
    return rainproof.compare(two_forecasts(case), **SMALL)


@function("compare, arrays", "compare")
def _(case: Case) -> Any:
    (outcome, prob), columns = arrays(case, "sample_weight", "groups")
    return rainproof.compare(outcome, prob, second(case), **columns, **SMALL)


@on_samples("null_band")
def _(sample: Any) -> Any:
    return rainproof.inference.null_band(sample, **SMALL)


@on_samples("segment_tests", cells=False)
def _(sample: Any) -> Any:
    return rainproof.inference.segment_tests(
        sample.by_segment(), min_rows=5, intervals=1, measure="soft_binned_cdl", **SMALL
    )


@on_samples("guarantee")
def _(sample: Any) -> Any:
    return rainproof.guarantee(sample)


@on_samples("guarantee, as it is, range")
def _(sample: Any) -> Any:
    return rainproof.guarantee(sample, response="as_is", threshold_range=(0.1, 0.3))


@on_samples("guarantee, largest weight, any time")
def _(sample: Any) -> Any:
    return rainproof.guarantee(sample, max_weight=80.0, anytime=True, grid=[4, 16])


@function("guarantee, arrays")
def _(case: Case) -> Any:
    given, columns = arrays(case, "sample_weight", "groups", "base_rate")
    return rainproof.guarantee(*given, max_weight=90.0, **columns)


def _of_a_used_sample(name: str, call: Callable[..., Any], **options: Any) -> None:
    """Add a function of a sample that is used, and then gets groups."""

    def with_groups(case: Case) -> Any:
        columns = {name: part for name, part in case.columns.items() if name != "groups"}
        sample = used(rainproof.Sample(case.outcome, case.prob, **columns))
        return call(sample, groups=np.arange(case.n) // 2, **options)

    function(f"{name}, groups of a used sample")(with_groups)


_of_a_used_sample("guarantee", rainproof.guarantee)
_of_a_used_sample("calibration_test", rainproof.calibration_test, **SMALL)
_of_a_used_sample("confidence_interval", rainproof.confidence_interval, **SMALL)
_of_a_used_sample("find_threshold", rainproof.find_threshold, precision=0.25, rng=1)
_of_a_used_sample("loss_at_least", rainproof.inference.loss_at_least, rng=0)
_of_a_used_sample("clinical_performance", rainproof.clinical_performance, rng=0)


@on_samples("class_guarantee", cells=False)
def _(sample: Any) -> Any:
    return rainproof.inference.class_guarantee(sample)


@on_samples("loss_at_least")
def _(sample: Any) -> Any:
    return rainproof.inference.loss_at_least(sample, rng=0)


@function("loss_at_least, arrays, range")
def _(case: Case) -> Any:
    given, columns = arrays(case, "sample_weight", "groups", "base_rate")
    return rainproof.inference.loss_at_least(
        *given, threshold_range=(0.1, 0.5), max_weight=90.0, rng=1, **columns
    )


@function("switch_guarantee")
def _(case: Case) -> Any:
    return rainproof.switch_guarantee(two_forecasts(case), rng=0)


@function("switch_guarantee, arrays")
def _(case: Case) -> Any:
    (outcome, prob), columns = arrays(case, "sample_weight", "groups", "base_rate")
    return rainproof.switch_guarantee(
        outcome, prob, second(case), max_weight=90.0, rng=0, threshold_range=(0.2, 0.5), **columns
    )


@function("switch_guarantee, any time")
def _(case: Case) -> Any:
    return rainproof.switch_guarantee(two_forecasts(case), rng=0, anytime=True)


@on_samples("find_threshold")
def _(sample: Any) -> Any:
    return rainproof.find_threshold(sample, precision=0.6, rng=0)


@on_samples("find_threshold, low precision")
def _(sample: Any) -> Any:
    return rainproof.find_threshold(sample, precision=0.25, confidence_level=0.6, rng=1)


@on_samples("find_threshold, recall")
def _(sample: Any) -> Any:
    return rainproof.find_threshold(sample, recall=0.7, rng=0)


@function("find_threshold, arrays")
def _(case: Case) -> Any:
    given, columns = arrays(case, "sample_weight", "groups", "base_rate")
    return rainproof.find_threshold(
        *given, false_positive_rate=0.3, max_weight=90.0, rng=0, **columns
    )


@function("sample_size")
def _(case: Case) -> Any:
    return rainproof.sample_size(0.3, like=sample_of(case))


@function("SequentialTest")
def _(case: Case) -> Any:
    test = rainproof.SequentialTest()
    for part in (slice(case.n // 3), slice(case.n // 3, None)):
        test.update(case.outcome[part], case.prob[part])
    return test


@function("monitor")
def _(case: Case) -> Any:
    columns = {name: part for name, part in case.columns.items() if name != "by"}
    day = 8 * np.arange(case.n) // max(case.n, 1)
    sample = rainproof.Sample(case.outcome, case.prob, by={"day": day}, **columns)
    weighted = "sample_weight" in columns
    return rainproof.monitor(sample, window=2, dependent=weighted, task=costs())


@function("monitor, segments")
def _(case: Case) -> Any:
    by = {"day": 5 * np.arange(case.n) // max(case.n, 1), "site": np.arange(case.n) % 2}
    sample = rainproof.Sample(case.outcome, case.prob, by=by)
    found = rainproof.monitor(sample.by_segment(), dependent=True)
    return [found.to_dict(), str(found), found.table()]


# ------------------------------------------------------------------------- clinical, credit rating


@on_samples("net_benefit")
def _(sample: Any) -> Any:
    return rainproof.net_benefit(sample)


@function("net_benefit, arrays")
def _(case: Case) -> Any:
    (outcome, prob), columns = arrays(case, "sample_weight", "groups", "base_rate")
    both = None if prob is None else {"a": prob, "b": second(case)}
    return rainproof.net_benefit(outcome, both, [0.1, 0.3, 0.5], **columns)


@on_samples("clinical_performance")
def _(sample: Any) -> Any:
    return rainproof.clinical_performance(sample, rng=0)


@function("clinical_performance, arrays")
def _(case: Case) -> Any:
    given, columns = arrays(case, "sample_weight", "groups")
    return rainproof.clinical_performance(*given, thresholds=[0.2, 0.6], rng=0, **columns)


@on_samples("discrimination")
def _(sample: Any) -> Any:
    return rainproof.clinical.discrimination(sample)


@on_samples("reliability_curve")
def _(sample: Any) -> Any:
    return rainproof.clinical.reliability_curve(sample, n_resamples=19, rng=0)


@function("grade_table", "clinical.grade_table")
def _(case: Case) -> Any:
    by = case.columns.get("by")
    return rainproof.clinical.grade_table(case.outcome, case.prob, by=by)


# --------------------------------------------------------------------------------- recalibration


def fitted(case: Case, *methods: str, **options: Any) -> Any:
    """A map that is fitted to the rows of a case."""
    return rainproof.Recalibrator(*methods, rng=0).fit(sample_of(case), **options)


def _shown(recalibrator: Any) -> list[Any]:
    return [recalibrator.to_dict(), str(recalibrator), repr(recalibrator)]


@function("Recalibrator")
def _(case: Case) -> Any:
    return fitted(case)


for _name in ("isotonic", "logistic", "beta", "bins_8", "none", "constant", "temperature"):
    function(f"Recalibrator, {_name}")(lambda case, method=_name: _shown(fitted(case, method)))


@function("Recalibrator, compressed")
def _(case: Case) -> Any:
    return _shown(rainproof.Recalibrator(rng=0).fit(compressed(case)))


@function("Recalibrator, arrays")
def _(case: Case) -> Any:
    given, columns = arrays(case, "sample_weight", "groups", "base_rate", "by")
    start = rainproof.Recalibrator(rng=0, threshold_range=(0.1, 0.6))
    rows = given if given[1] is None else given[::-1]
    return _shown(start.fit(*rows, max_weight=90.0, **columns))


@function("Recalibrator, task of classes")
def _(case: Case) -> Any:
    return _shown(fitted(case, task=class_costs()))


@function("predict")
def _(case: Case) -> Any:
    by = case.columns.get("by")
    return fitted(case).predict(case.prob, **({} if by is None else {"by": by}))


@function("Recalibrator, saved and loaded")
def _(case: Case) -> Any:
    recalibrator = fitted(case)
    by = case.columns.get("by")
    columns = {} if by is None else {"by": by}
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "map.json")
        recalibrator.save(path)
        again = rainproof.load(path)
        pickled = pickle.loads(pickle.dumps(recalibrator))  # noqa: S301 our own
        return {
            "file": path.read_text(),
            "again": _shown(again),
            "predictions": again.predict(case.prob, **columns),
            "pickled": _shown(pickled),
            "array bytes": array_bytes(recalibrator),
        }


@function("to_sql")
def _(case: Case) -> Any:
    recalibrator = fitted(case, "logistic")
    names = ["p", "q", "r"] if case.is_of_classes else "p"
    by = case.columns.get("by")
    options: dict[str, Any] = {} if by is None else {"by": [*by] if isinstance(by, dict) else "s"}
    return {
        dialect: _expressions(recalibrator.to_sql(names, dialect=dialect, **options))
        for dialect in DIALECTS
    }


def _expressions(found: Any) -> Any:
    """The expression of one event, or of each class."""
    if isinstance(found, str):
        return short(found)
    return {str(label): short(one) for label, one in found.items()}


@function("to_onnx", slow=True)
def _(case: Case) -> Any:
    return hashlib.sha256(fitted(case).to_onnx().SerializeToString()).hexdigest()


@function("OnlineRecalibrator")
def _(case: Case) -> Any:
    online = rainproof.OnlineRecalibrator(8, rng=0)
    predicted = online.run(case.prob[:60], case.outcome[:60])
    again = pickle.loads(pickle.dumps(online))  # noqa: S301 our own
    return [predicted, again.to_dict(), again.mixture(0.3), again.probabilities(0.3)]


# --------------------------------------------------------------------------------------- verdict


def assessed(case: Case, **options: Any) -> Any:
    """The assessment of the rows of a case, which are given as arrays."""
    given, columns = arrays(case, "sample_weight", "groups", "base_rate", "by")
    return rainproof.assess(*given, **columns, **options, **SMALL)


@function("assess")
def _(case: Case) -> Any:
    return assessed(case)


@function("assess, a sample")
def _(case: Case) -> Any:
    return rainproof.assess(used(sample_of(case)), **SMALL)


@function("assess, compressed")
def _(case: Case) -> Any:
    return rainproof.assess(used(compressed(case)), task=costs(), **SMALL)


@function("assess, groups and segments of a used sample")
def _(case: Case) -> Any:
    row = np.arange(case.n)
    sample = used(rainproof.Sample(case.outcome, case.prob))
    return rainproof.assess(sample, groups=row // 2, by=row // 2 % 3, measures=[], **SMALL)


@function("assess, segments")
def _(case: Case) -> Any:
    return rainproof.assess(sample_of(case).by_segment(), measures=[], **SMALL)


@function("assess, costs")
def _(case: Case) -> Any:
    return assessed(case, task=costs())


@function("assess, costs of cases")
def _(case: Case) -> Any:
    return assessed(case, task=costs_of_cases(case), measures=[])


@function("assess, costs of cases, capacity")
def _(case: Case) -> Any:
    return assessed(case, task=costs_of_cases(case), capacity=0.2, measures=[])


@function("assess, costs, capacity")
def _(case: Case) -> Any:
    return assessed(case, task=costs(), capacity=5, measures=[])


@function("assess, three actions")
def _(case: Case) -> Any:
    return assessed(case, task=three_actions(), measures=[])


@function("assess, quadratic")
def _(case: Case) -> Any:
    return assessed(case, task=rainproof.DecisionTask.quadratic(), measures=[])


@function("assess, costs of classes")
def _(case: Case) -> Any:
    return assessed(case, task=class_costs())


@function("assess, range")
def _(case: Case) -> Any:
    return assessed(case, threshold_range=(0.05, 0.3), measures=[])


@function("assess, largest weight")
def _(case: Case) -> Any:
    return assessed(case, max_weight=80.0, measures=["brier_score"])


@function("assess_many")
def _(case: Case) -> Any:
    return rainproof.assess_many(two_forecasts(case), task=costs(), measures=[], **SMALL)


@function("assess_many, arrays")
def _(case: Case) -> Any:
    (outcome, prob), columns = arrays(case, "sample_weight", "groups", "base_rate", "by")
    both = {"a": prob, "b": second(case)}
    return rainproof.assess_many(outcome, both, measures=[], **columns, **SMALL)


@function("to_html", slow=True)
def _(case: Case) -> Any:
    return _page(assessed(case, task=costs()).to_html())


@function("to_html, clinical", slow=True)
def _(case: Case) -> Any:
    return _page(assessed(case).to_html(preset="clinical", title="A <title>"))


@function("to_html, two forecasts", slow=True, whole=True)
def _(case: Case) -> Any:
    return _page(rainproof.assess_many(two_forecasts(case), **SMALL).to_html())


def _page(text: str) -> dict[str, Any]:
    """The lines of a page without scripts and styles, and without their hashes; and its data."""
    data = [json.loads(found) for found in re.findall(r"(?s)<script[^>]*json[^>]*>(.*?)<", text)]
    for tag in ("script", "style"):
        text = re.sub(rf"(?s)<{tag}.*?</{tag}>", f"<{tag}>", text)
    text = re.sub(r"""sha256-[^' ]*| data-row="\d+\"""", "", text)
    text = re.sub("<(tr|li)", r"\n<\1", text).replace("; SintCE", "")
    return {"lines": [short(line) for line in lines_of(text)], "data": data}


def lines_of(text: str) -> list[str]:
    """The lines of a text without those about what is gone on purpose."""
    return [line for line in text.splitlines() if not any(name in line for name in REMOVED)]


def short(line: str) -> str:
    """A line, or the hash of a long one."""
    return line if len(line) < LONG else hashlib.sha256(line.encode()).hexdigest()


@function("plot", slow=True, whole=True)
def _(case: Case) -> Any:
    import matplotlib as mpl

    mpl.use("svg")
    from matplotlib import pyplot as plt

    mpl.rcParams["svg.hashsalt"] = "freeze"
    assessed(case, measures=[]).plot()
    file = io.StringIO()
    plt.savefig(file, format="svg", metadata={"Date": None})
    plt.close("all")
    return hashlib.sha256(file.getvalue().encode()).hexdigest()


@function("mlflow metrics", slow=True)
def _(case: Case) -> Any:
    from rainproof.integrations import mlflow

    return mlflow.metrics(assessed(case, task=costs()))


@function("RecalibratedClassifier", slow=True)
def _(case: Case) -> Any:
    from rainproof.integrations.sklearn import RecalibratedClassifier

    prob = np.asarray(case.prob)
    noise = np.random.default_rng(0).normal(size=case.n)
    inputs = np.column_stack([prob, noise])
    columns = {
        name: part for name, part in case.columns.items() if name in ("sample_weight", "groups")
    }
    classifier = RecalibratedClassifier(cv=3).fit(inputs, case.outcome, **columns)
    return [classifier.predict_proba(inputs)[:30], classifier.recalibrator_.to_dict()]


# ----------------------------------------------------------------------------------------- files


def table_of(case: Case) -> dict[str, Any]:
    """The rows of a case as the columns of a file."""
    names = ("p", "q", "r")
    predicted = {"p": case.prob, "q": second(case)}
    if case.is_of_classes:
        predicted = {name: case.prob[:, k] for k, name in enumerate(names)}
    columns: dict[str, Any] = {"y": case.outcome, **predicted, "row": np.arange(case.n)}
    by = case.columns.get("by")
    beside = by if isinstance(by, dict) else {"s": by}
    others = {"w": case.columns.get("sample_weight"), "g": case.columns.get("groups"), **beside}
    columns |= {name: part for name, part in others.items() if part is not None}
    return {name: list(np.asarray(part).tolist()) for name, part in columns.items()}


def _segments_of(case: Case) -> list[str]:
    by = case.columns.get("by")
    return [*by] if isinstance(by, dict) else [] if by is None else ["s"]


@function("scan")
def _(case: Case) -> Any:
    by = _segments_of(case)
    columns: dict[str, Any] = {"by": by} if by else {}
    columns |= {"weight": "w"} if "sample_weight" in case.columns else {}
    columns |= {"base_rate": case.columns["base_rate"]} if "base_rate" in case.columns else {}
    found = rainproof.scan(table_of(case), grid=512, where="row > 0", **columns)
    return segments_facts(found) if by else facts(found)


@function("scan, two forecasts")
def _(case: Case) -> Any:
    weight = "w" if "sample_weight" in case.columns else None
    found = rainproof.scan(table_of(case), prob=["p", "q"], weight=weight, grid=64)
    return [facts(found), rainproof.switch_guarantee(found, rng=0).to_dict()]


@function("scan, classes")
def _(case: Case) -> Any:
    table = table_of(case)
    names = [name for name in ("p", "q", "r") if name in table]
    labels = list(range(len(names)))
    return {
        "rows": facts(rainproof.scan(table, classes=names, labels=labels)),
        "top": facts(rainproof.scan(table, names, labels=labels, view="top-label")),
        "each": segments_facts(rainproof.scan(table, names, labels=labels, view="one-vs-rest")),
    }


@function("scan, missing, percent, trials")
def _(case: Case) -> Any:
    table = table_of(case)
    missing = {**table, "p": [None, *table["p"][1:]]}
    percent = {**table, "p": [100 * p for p in table["p"]]}
    trials = {**table, "k": [2 + (row % 3) for row in table["row"]]}
    return {
        "missing": facts(rainproof.scan(missing, drop_missing=True)),
        "percent": facts(rainproof.scan(percent, percent=True)),
        "trials": facts(rainproof.scan(trials, trials="k")),
    }


@function("sql")
def _(case: Case) -> Any:
    by = _segments_of(case) or None
    weight = "w" if "sample_weight" in case.columns else None
    return {
        dialect: rainproof.io.sql("t", "p", "y", 64, by, weight=weight, dialect=dialect)
        for dialect in DIALECTS
    }


@function("from_table")
def _(case: Case) -> Any:
    import sqlite3

    table = table_of(case)
    database = sqlite3.connect(":memory:")
    database.execute(f"CREATE TABLE t ({', '.join(table)})")
    places = ", ".join("?" for _ in table)
    insert = f"INSERT INTO t VALUES ({places})"  # noqa: S608 ours
    database.executemany(insert, zip(*table.values(), strict=True))
    weight = "w" if "sample_weight" in case.columns else None
    statement = rainproof.io.sql("t", "p", "y", 64, weight=weight, dialect="sqlite")
    return facts(used(rainproof.Sample.from_table(database.execute(statement))))


def run_commands(case: Case, *commands: list[str]) -> Any:
    """What commands print and write, in a folder with the rows of the case."""
    from rainproof.cli import main

    here = Path.cwd()
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        try:
            table = table_of(case)
            with Path("rows.csv").open("w", newline="", encoding="utf-8") as file:
                writer = csv.writer(file)
                writer.writerow(table)
                writer.writerows(zip(*table.values(), strict=True))
            Path("costs.json").write_text("[[0, 5, 5], [5, 0, 2], [5, 2, 0]]", encoding="utf-8")
            found: dict[str, Any] = {}
            for command in commands:
                out, error = io.StringIO(), io.StringIO()
                with contextlib.redirect_stdout(out), contextlib.redirect_stderr(error):
                    try:
                        code = main(command)
                    except SystemExit as stop:
                        code = stop.code  # type: ignore[assignment]
                shown = {"code": code, "out": _printed(out.getvalue())}
                found[" ".join(command)] = shown | {"error": error.getvalue().splitlines()}
            made = sorted(Path().glob("made*"))
            return found | {path.name: _file(path) for path in made}
        finally:
            os.chdir(here)


def _printed(text: str) -> Any:
    """What a command prints: JSON, or lines."""
    return json.loads(text) if text.startswith("{") else lines_of(text)


def _file(path: Path) -> Any:
    """What a file holds."""
    if path.suffix == ".html":
        return _page(path.read_text(encoding="utf-8"))
    if path.suffix == ".json":
        return json.loads(path.read_text(encoding="utf-8"))
    return hashlib.sha256(path.read_bytes()).hexdigest()


def _options(case: Case, *names: str) -> list[str]:
    """The options of a command that state the design of a case."""
    rates = np.atleast_1d(case.columns.get("base_rate", 0.0)).tolist()
    known = {
        "sample_weight": ["--weight", "w"],
        "groups": ["--groups", "g"],
        "base_rate": ["--base-rate", ",".join(map(str, rates))],
        "fractional": ["--fractional"],
        "by": ["--by", *_segments_of(case)],
    }
    found = ["--classes", "p", "q", "r"] if case.is_of_classes else ["--prob", "p"]
    return [
        *found,
        *(part for name in names if name in case.columns for part in known[name]),
        *("--outcome", "y"),
    ]


_ALL = ("sample_weight", "groups", "base_rate", "fractional", "by")


@function("command assess", slow=True)
def _(case: Case) -> Any:
    options = _options(case, *_ALL)
    return run_commands(
        case,
        ["assess", "rows.csv", *options],
        ["assess", "rows.csv", *options, "--cost-fp", "1", "--cost-fn", "4", "--verbose"],
        ["assess", "rows.csv", *options, "--json"],
        ["rows.csv"],
    )


@function("command assess-many", slow=True)
def _(case: Case) -> Any:
    options = _options(case, *_ALL[:-1])[2:]
    return run_commands(
        case,
        ["assess-many", "rows.csv", "--prob", "p", "q", *options, "--cost-fp", "1", "--cost-fn=4"],
        ["assess-many", "rows.csv", "--prob", "p", "q", *options],
    )


@function("command measure", slow=True)
def _(case: Case) -> Any:
    options = _options(case, "sample_weight", "base_rate", "by")
    commands = [["measure", "rows.csv", *options, *more] for more in ([], ["--json"])]
    return run_commands(case, *commands)


@function("command report", slow=True)
def _(case: Case) -> Any:
    return run_commands(case, ["report", "rows.csv", *_options(case, *_ALL), "-o", "made.html"])


@function("commands recalibrate, apply", slow=True)
def _(case: Case) -> Any:
    columns = _options(case)[:-2]
    by = _segments_of(case)
    segments = ["--by", *by] if by else []
    apply = ["apply", "rows.csv", *columns, "--map", "made.json", *segments, "-o", "made.csv"]
    recalibrate = ["recalibrate", "rows.csv", *_options(case, *_ALL), "-o", "made.json"]
    return run_commands(case, recalibrate, apply)


@function("commands policy, decide", slow=True)
def _(case: Case) -> Any:
    options = _options(case, "sample_weight", "groups", "base_rate")
    at_costs = ["--cost-fp", "1", "--cost-fn", "4"]
    policy = ["policy", "rows.csv", *options, *at_costs, "-o", "made.json"]
    decide = ["decide", "rows.csv", "--prob", "p", "--id", "row"]
    return run_commands(
        case,
        policy,
        [*decide, "--policy", "made.json", "-o", "made.csv"],
        [*decide, *at_costs, "--capacity", "5", "-o", "made_few.csv"],
    )


@function("commands switch, threshold", slow=True)
def _(case: Case) -> Any:
    options = _options(case, *_ALL[:-1])
    switch = ["switch", "rows.csv", "--old", "p", "--new", "q", *options[2:]]
    threshold = ["threshold", "rows.csv", *options, "--precision", "0.6"]
    return run_commands(case, switch, threshold, [*threshold, "--json"])


@function("commands store, monitor", slow=True)
def _(case: Case) -> Any:
    options = _options(case, "sample_weight")
    return run_commands(
        case,
        ["store", "rows.csv", *options, "-o", "made.parquet"],
        ["measure", "made.parquet"],
        ["monitor", "rows.csv", *options, "--by", "row", "--window", "3"],
        ["monitor", "rows.csv", *options, "--by", "row", "--dependent-rows", "--json"],
    )
