"""Compare what two checkouts return, print, keep and refuse, for the same rows.

    python -m tools.freeze OLD/src NEW/src [--out build/freeze] [--only TEXT]

Each checkout (with its kernels compiled) runs the same functions on the same samples, in a process
of its own and in this environment. JSON, text and pickles of every result must be equal, with no
tolerance, and whatever one refuses the other must refuse, with the same type of error. There are no
golden files: a difference is printed with its size, and is either a mistake or a line of the
changelog. Words of refusals are compared apart, as one table to be read. A function that one of the
checkouts does not have is left out, and named.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import pickle
import subprocess
import sys
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

SMALL = {"n_resamples": 19, "rng": 0}
# of a pickle, from one checkout to the other: one that begins to hold rows or a cache grows more
GROWTH = 1.1
# entries of results, and lines of their text, that are gone on purpose: the changelog says why
REMOVED = ("interval_calibration_error",)
Columns = dict[str, Any]


class Case(NamedTuple):
    """The rows of one sample: outcomes, predictions, and what stands beside them."""

    name: str
    outcome: Any
    prob: Any
    columns: Columns


def populations(n: int, rng: np.random.Generator) -> Iterator[tuple[str, Any, Any]]:
    """Predictions and event rates of n rows."""
    smooth = rng.beta(1.0, 2.0, n)
    rare = rng.beta(1.0, 30.0, n)
    tied = rng.choice([0.1, 0.25, 0.5, 0.75], n)
    yield "calibrated", smooth, smooth
    yield "too extreme", smooth, 0.3 + 0.4 * smooth
    yield "too high", smooth, smooth**1.6
    yield "rare", rare, rare
    yield "tied", tied, 0.1 + 0.7 * tied
    yield "inverted", smooth, 1 - smooth
    yield "noise", smooth, np.full(n, 0.3)
    yield "constant", np.full(n, 0.4), np.full(n, 0.4)
    yield "sure", np.round(smooth), 0.02 + 0.96 * np.round(smooth)


def designs(n: int, rng: np.random.Generator) -> Iterator[tuple[str, Columns]]:
    """What can stand beside the rows, and how they were drawn."""
    weights = rng.exponential(size=n)
    clusters = np.arange(n) // 3
    uneven = np.minimum(np.arange(n) // 2, (rng.pareto(1.2, n) * n / 10).astype(int))
    yield "rows", {}
    yield "weights", {"sample_weight": weights}
    yield "clusters", {"groups": clusters}
    yield "uneven clusters and weights", {"groups": uneven, "sample_weight": weights}
    yield "base rate", {"base_rate": 0.1}
    yield "range of base rates", {"base_rate": (0.05, 0.2)}
    yield "shares", {"fractional": True}
    yield "segments", {"by": np.arange(n) % 3}


def cases() -> Iterator[Case]:
    """All samples."""
    for n in (1, 12, 60, 300, 1500):
        rng = np.random.default_rng(n)
        for about, prob, rate in populations(n, rng):
            outcome = (rng.random(n) < rate).astype(int)
            for design, columns in designs(n, rng):
                if n in (1, 12) and about not in ("calibrated", "tied", "constant"):
                    continue
                if (
                    n == 1500
                    and design != "rows"
                    and about not in ("calibrated", "too high", "tied")
                ):
                    continue
                shown: Any = outcome
                if design == "shares":
                    shown = np.where(rng.random(n) < 0.2, 0.5, outcome)
                yield Case(f"{about}, {design}, n = {n}", shown, prob, columns)
    yield from of_classes()


def of_classes() -> Iterator[Case]:
    """Samples of several classes."""
    for n in (30, 400):
        rng = np.random.default_rng(n)
        prob = rng.dirichlet([1.0, 2.0, 0.5], n)
        sharp = prob**2 / (prob**2).sum(axis=1, keepdims=True)
        outcome = (rng.random(n)[:, None] > prob.cumsum(axis=1)).sum(axis=1)
        yield Case(f"three classes, calibrated, n = {n}", outcome, prob, {})
        yield Case(f"three classes, too extreme, n = {n}", outcome, sharp, {})
        yield Case(
            f"three classes, weights, n = {n}",
            outcome,
            prob,
            {"sample_weight": rng.exponential(size=n)},
        )
        yield Case(
            f"three classes, clusters, n = {n}", outcome, sharp, {"groups": np.arange(n) // 4}
        )


def functions() -> dict[str, Callable[[Case], Any]]:
    """Every public function that takes rows, by name."""
    import rainproof

    inference = rainproof.inference
    measures = rainproof.measures
    costs = rainproof.DecisionTask.from_costs(false_positive=1, false_negative=4)

    def sample(case: Case) -> Any:
        return rainproof.Sample(case.outcome, case.prob, **case.columns)

    def assessed(case: Case, **options: Any) -> Any:
        rows = {name: column for name, column in case.columns.items() if name != "fractional"}
        if "fractional" in case.columns:
            return rainproof.assess(sample(case), **options, **SMALL)
        return rainproof.assess(case.outcome, case.prob, **rows, **options, **SMALL)

    def other(case: Case) -> Any:
        return np.asarray(case.prob) * 0.8 + 0.1

    def two(case: Case) -> Any:
        return rainproof.Sample(case.outcome, {"a": case.prob, "b": other(case)}, **case.columns)

    def fitted(case: Case) -> Any:
        return rainproof.Recalibrator(rng=0).fit(sample(case))

    found: dict[str, Callable[[Case], Any]] = {
        "Sample": lambda case: _facts(sample(case)),
        "compress": lambda case: _facts(sample(case).compress(256)),
        "take a half": lambda case: _facts(
            sample(case).split(folds=2, rng=np.random.default_rng(1))[0]
        ),
        "measure_all": lambda case: rainproof.measure_all(sample(case)),
        "measure_all, compressed": lambda case: rainproof.measure_all(sample(case).compress(256)),
        "soft_binned_profile": lambda case: measures.soft_binned_profile(sample(case)),
        "score_decomposition": lambda case: measures.score_decomposition(sample(case)),
        "measure_classes": lambda case: measures.measure_classes(sample(case)),
        "assess": assessed,
        "assess, costs": lambda case: assessed(case, task=costs),
        "assess, quadratic": lambda case: assessed(case, task=rainproof.DecisionTask.quadratic()),
        "assess, range": lambda case: assessed(case, threshold_range=(0.05, 0.3)),
        "assess, largest weight": lambda case: assessed(case, max_weight=80.0),
        "assess_many": lambda case: rainproof.assess_many(two(case), task=costs, **SMALL),
        "calibration_test": lambda case: rainproof.calibration_test(sample(case), **SMALL),
        "confidence_interval": lambda case: rainproof.confidence_interval(sample(case), **SMALL),
        "compare": lambda case: rainproof.compare(two(case), **SMALL),
        "null_band": lambda case: inference.null_band(sample(case), **SMALL),
        "segment_tests": lambda case: inference.segment_tests(
            sample(case).by_segment(), min_rows=5, **SMALL
        ),
        "guarantee": lambda case: rainproof.guarantee(sample(case)),
        "guarantee, compressed": lambda case: rainproof.guarantee(sample(case).compress(256)),
        "guarantee, range": lambda case: rainproof.guarantee(
            sample(case), threshold_range=(0.1, 0.3)
        ),
        "class_guarantee": lambda case: inference.class_guarantee(sample(case)),
        "loss_at_least": lambda case: inference.loss_at_least(sample(case), rng=0),
        "switch_guarantee": lambda case: rainproof.switch_guarantee(two(case), rng=0),
        "find_threshold": lambda case: rainproof.find_threshold(sample(case), precision=0.6, rng=0),
        "find_threshold, recall": lambda case: rainproof.find_threshold(
            sample(case), recall=0.7, rng=0
        ),
        "Recalibrator": fitted,
        "Recalibrator, logistic": lambda case: rainproof.Recalibrator("logistic", rng=0).fit(
            sample(case)
        ),
        "Recalibrator, none": lambda case: rainproof.Recalibrator("none", rng=0).fit(sample(case)),
        "predict": lambda case: fitted(case).predict(np.asarray(case.prob)[:20]),
        "regret_curve": lambda case: rainproof.regret_curve(sample(case)),
        "swap_regret": lambda case: rainproof.swap_regret(sample(case), task=costs),
        "forecast_value": lambda case: rainproof.forecast_value(sample(case)),
        "risk_coverage": lambda case: rainproof.decisions.risk_coverage(sample(case)),
        "choose_grid": lambda case: rainproof.choose_grid(sample(case)),
        "net_benefit": lambda case: rainproof.net_benefit(sample(case)),
        "clinical_performance": lambda case: rainproof.clinical_performance(sample(case), rng=0),
        "discrimination": lambda case: rainproof.clinical.discrimination(sample(case)),
        "reliability_curve": lambda case: rainproof.clinical.reliability_curve(sample(case), rng=0),
        "grade_table": lambda case: rainproof.clinical.grade_table(case.outcome, case.prob),
        "SequentialTest": lambda case: rainproof.SequentialTest().update(case.outcome, case.prob),
    }
    return found


def _facts(sample: Any) -> dict[str, Any]:
    """What a sample says of itself."""
    names = (
        "n",
        "n_draws",
        "total_weight",
        "event_rate",
        "effective_n",
        "grid",
        "mean_prediction",
        "base_rate",
    )
    facts = {name: getattr(sample, name) for name in names if hasattr(sample, name)}
    return {**facts, "repr": repr(sample)}


def run(path: Path, only: str) -> None:
    """Write a line of JSON for each sample and function, with the library that this process
    imports.
    """
    warnings.simplefilter("ignore")
    every = functions()
    with path.open("w", encoding="utf-8") as file:
        for case in cases():
            for name, function in every.items():
                if only in f"{name} | {case.name}":
                    line = {"case": case.name, "function": name} | outcome_of(function, case)
                    file.write(json.dumps(line) + "\n")


def outcome_of(function: Callable[[Case], Any], case: Case) -> dict[str, Any]:
    """What a function returns, prints and keeps, or which error it raises."""
    try:
        found = function(case)
    except AttributeError as error:
        if str(error).startswith("module 'rainproof"):
            return {"lacks": str(error)}
        return {"refused": type(error).__name__, "words": str(error)}
    except Exception as error:  # the type of every refusal is compared, a mistake's too
        return {"refused": type(error).__name__, "words": str(error)}
    data = found.to_dict() if hasattr(found, "to_dict") else found
    told = {"json": _exact(data), "text": _without_removed(str(found))}
    if hasattr(found, "to_dict"):
        kept = pickle.dumps(found)
        again = pickle.loads(kept)  # noqa: S301 our own
        told["pickle"] = _exact(again.to_dict()) == told["json"]
        told["bytes"] = len(kept)
    return told


def _without_removed(text: str) -> str:
    """The text without the lines about what is gone on purpose."""
    lines = text.splitlines()
    return "\n".join(line for line in lines if not any(name in line for name in REMOVED))


def _is_removed(value: Any) -> bool:
    """Whether an entry of a list is about what is gone on purpose."""
    return isinstance(value, dict) and bool({value.get("name"), value.get("measure")} & {*REMOVED})


def _exact(value: Any) -> Any:
    """The value with every number as text that tells doubles apart."""
    if isinstance(value, dict):
        return {str(key): _exact(part) for key, part in value.items() if key not in REMOVED}
    if isinstance(value, list | tuple):
        return [_exact(part) for part in value if not _is_removed(part)]
    if isinstance(value, np.ndarray):
        return _exact(value.tolist())
    if isinstance(value, float | np.floating):
        return float(value).hex()
    return value if isinstance(value, bool | int | str | None) else str(value)


class Difference(NamedTuple):
    """Where two checkouts disagree, and by how much."""

    function: str
    case: str
    kind: str  # "refusal", "number", "text", "pickle", "shape"
    # largest difference of numbers, relative to the larger one; infinite where it is not of numbers
    size: float
    detail: str


def compared(old: dict[str, Any], new: dict[str, Any]) -> Iterator[Difference]:
    """The differences between two lines of the same sample and function."""
    if "lacks" in old or "lacks" in new:
        return
    where = (old["function"], old["case"])
    if old.get("refused") != new.get("refused"):
        detail = f"{old.get('refused', 'accepted')} -> {new.get('refused', 'accepted')}: {new.get('words', '')}"
        yield Difference(*where, "refusal", math.inf, detail)
        return
    if "refused" in old:
        return
    if not new.get("pickle", True):
        yield Difference(*where, "pickle", math.inf, "does not come back the same")
    if new.get("bytes", 0) > GROWTH * old.get("bytes", 0):
        yield Difference(
            *where, "pickle", new["bytes"] / old["bytes"], f"{old['bytes']} -> {new['bytes']} bytes"
        )
    sizes = list(_sizes(old["json"], new["json"], ""))
    if sizes:
        path, size = max(sizes, key=lambda one: one[1])
        yield Difference(
            *where, "shape" if math.isinf(size) else "number", size, f"{path} ({len(sizes)} values)"
        )
    elif old["text"] != new["text"]:
        yield Difference(
            *where, "text", math.inf, f"{old['text'][:200]!r} -> {new['text'][:200]!r}"
        )


def _sizes(old: Any, new: Any, path: str) -> Iterator[tuple[str, float]]:
    """Where two values differ, with the relative size of each difference."""
    if isinstance(old, dict) and isinstance(new, dict):
        for key in old.keys() | new.keys():
            if key in old and key in new:
                yield from _sizes(old[key], new[key], f"{path}.{key}")
            else:
                yield f"{path}.{key} is {'gone' if key in old else 'new'}", math.inf
    elif isinstance(old, list) and isinstance(new, list) and len(old) == len(new):
        for place, (first, second) in enumerate(zip(old, new, strict=True)):
            yield from _sizes(first, second, f"{path}[{place}]")
    elif old != new:
        yield path, _relative(old, new)


def _relative(old: Any, new: Any) -> float:
    """The relative difference of two numbers; infinite for anything else."""
    try:
        first, second = (
            float.fromhex(one) if isinstance(one, str) else float(one) for one in (old, new)
        )
    except (TypeError, ValueError):
        return math.inf
    return abs(first - second) / max(abs(first), abs(second))


def reworded(old: list[dict[str, Any]], new: list[dict[str, Any]]) -> list[str]:
    """The words of refusals that differ, old and new, each pair once."""
    pairs = zip(old, new, strict=True)
    both = {(a["words"], b["words"]) for a, b in pairs if "refused" in a and "refused" in b}
    return sorted(f"{first}\t{second}" for first, second in both if first != second)


def main(arguments: list[str] | None = None) -> int:
    """Compare, and return 1 if anything differs."""
    parser = argparse.ArgumentParser(prog="python -m tools.freeze", description=__doc__)
    parser.add_argument(
        "sources", nargs="+", type=Path, help="the two folders that hold the package"
    )
    parser.add_argument("--out", type=Path, default=Path("build/freeze"))
    parser.add_argument(
        "--only", default="", help="functions and samples with this text in 'function | sample'"
    )
    # what the two processes are started with
    parser.add_argument("--run", type=Path, help=argparse.SUPPRESS)
    options = parser.parse_args(arguments)
    if options.run is not None:
        run(options.run, options.only)
        return 0
    options.out.mkdir(parents=True, exist_ok=True)
    paths = [options.out / "old.jsonl", options.out / "new.jsonl"]
    started = []
    for source, path in zip(options.sources, paths, strict=True):
        command = [
            sys.executable,
            "-m",
            "tools.freeze",
            str(source),
            "--run",
            str(path),
            "--only",
            options.only,
        ]
        environment = os.environ | {"PYTHONPATH": str(source.resolve()), "OMP_NUM_THREADS": "1"}
        started.append(subprocess.Popen(command, env=environment))  # noqa: S603 this program
    if any(process.wait() for process in started):
        return 2
    old, new = ([json.loads(line) for line in path.open(encoding="utf-8")] for path in paths)
    differences = [found for pair in zip(old, new, strict=True) for found in compared(*pair)]
    for found in differences:
        print(f"{found.kind:8} {found.size:8.1e}  {found.function} | {found.case} | {found.detail}")
    lacking = {line["function"] for line in (*old, *new) if "lacks" in line}
    if lacking:
        print(f"not in both checkouts: {', '.join(sorted(lacking))}")
    words = reworded(old, new)
    (options.out / "words.tsv").write_text("".join(f"{line}\n" for line in words), encoding="utf-8")
    summary = f"{len(differences)} differences in {len(old):,} results"
    print(
        f"{summary}; {len(words)} refusals have other words, listed in {options.out / 'words.tsv'}"
    )
    return 1 if differences else 0


if __name__ == "__main__":
    sys.exit(main())
