"""How often `find_threshold` is false, how often it finds a threshold, and how many cases that
flags.

    python -m benchmarks.studies.targets docs/data/targets.csv [--mapie PYTHON]

Draws samples from populations in which precision, recall and false positive rate are known exactly
at every threshold. On the same rows: "sequence", a fixed sequence on all rows, from the smallest
number of flagged cases that could be proof down to the first failure (for precision, which is then
proven only if it crosses the target once); and, run by a PYTHON that has it,
`BinaryClassificationController` of MAPIE with its defaults.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from scipy.special import betainc, expit, ndtri

import rainproof
from benchmarks.studies.populations import Floats, Population, logit_scaled
from benchmarks.studies.tables import written

LEVEL = 0.95
POINTS = 1 << 14
GROUP = 9  # rows of the largest group


@cache
def populations() -> dict[str, Population]:
    """The populations by name, on equally likely predictions."""
    at = (np.arange(POINTS) + 0.5) / POINTS
    wide = expit(2.2 * ndtri(at))  # many predictions near 0 and 1
    rare = expit(-4.5 + 1.5 * ndtri(at))
    tied = np.round(20 * wide) / 20
    made: list[tuple[str, str, Floats, Floats]] = [
        ("dense", "calibrated, half of the cases have the event", wide, wide),
        ("overconfident", "log odds too large by 1/0.6", wide, logit_scaled(wide, 0.6)),
        ("rare", "calibrated, 3% have the event", rare, rare),
        ("ties", "21 predictions", tied, 0.05 + 0.9 * tied),
        ("waves", "the rate rises and falls", at, np.clip(at + 0.12 * np.sin(25 * at), 0, 1)),
        ("answers", "answers of a language model, overconfident", at**0.2, at**0.26),
        ("at the target", "89.9% wherever the prediction is above one half", at, np.where(at > 0.5, 0.899, 0.1)),
        ("crossing", "precision is above the target, below it, above it, and below it",
         at, np.select([at > 0.97, at > 0.9, at > 0.75], [0.95, 0.79, 0.83], 0.3)),
    ]  # fmt: skip
    mass = np.full(POINTS, 1 / POINTS)
    return {
        name: Population(name=name, about=about, prob=p, mass=mass, rate=r)
        for name, about, p, r in made
    }


class Case(NamedTuple):
    """What is asked of samples of n rows of a population."""

    population: str
    n: int
    targets: dict[str, float]
    rows: str = "rows"

    def draw(self, k: int) -> tuple[Any, Floats, dict[str, Any]]:
        """The k-th sample: outcomes, predictions and further arguments."""
        rng = np.random.default_rng([len(self.population), self.n, k])
        source = populations()[self.population]
        # of unequal size, with nearly one prediction and one draw of the outcome each
        if self.rows == "groups":
            size = rng.integers(1, GROUP + 1, 2 * self.n // (GROUP + 1))
            group = np.repeat(np.arange(len(size)), size)
            at = rng.integers(0, POINTS, len(size))[group]
            return (
                rng.random(len(size))[group] < source.rate[at],
                source.prob[at],
                {"groups": group},
            )
        y, p = source.draw(self.n, rng)
        # one of two events is kept: the rate of the population is the whole one
        if self.rows == "base rate":
            some = (y == 0) | (rng.random(self.n) < 0.5)
            return y[some], p[some], {"base_rate": float(source.rate.mean())}
        return y, p, {}

    def judge(self, threshold: float | None) -> tuple[bool, bool, float]:
        """Whether a threshold was found, whether it is false, and the share of the population that
        it flags.
        """
        if threshold is None:
            return False, False, 0.0
        source = populations()[self.population]
        flag, rate = source.prob >= threshold, source.rate
        true = {
            "precision": rate[flag].mean() if flag.any() else 1.0,
            "recall": rate[flag].sum() / rate.sum(),
            "false_positive_rate": (1 - rate[flag]).sum() / (1 - rate).sum(),
        }
        kept = [
            true[k] <= v + 1e-9 if k == "false_positive_rate" else true[k] >= v - 1e-9
            for k, v in self.targets.items()
        ]
        return True, not all(kept), float(flag.mean())


CASES = [Case("dense", n, {"precision": 0.9}) for n in (300, 1000, 5000)]
CASES += [Case("overconfident", n, {"precision": 0.8}) for n in (300, 1000, 5000)]
CASES += [Case("rare", n, {"precision": 0.3}) for n in (1000, 5000, 20000)]
CASES += [Case("ties", 1000, {"precision": 0.85}), Case("waves", 1000, {"precision": 0.85})]
CASES += [Case("answers", n, {"precision": 0.95}) for n in (1000, 5000)]
CASES += [
    Case("at the target", 1000, {"precision": 0.9}),
    Case("crossing", 1000, {"precision": 0.8}),
]
CASES += [Case("dense", 1000, {"recall": 0.9}), Case("rare", 5000, {"recall": 0.8})]
CASES += [
    Case("dense", 1000, {"false_positive_rate": 0.05}),
    Case("rare", 5000, {"false_positive_rate": 0.02}),
]
CASES += [Case("dense", 2000, {"precision": 0.8, "recall": 0.6})]
CASES += [Case(name, 2000, {"precision": 0.8}, "groups") for name in ("dense", "ties", "crossing")]
CASES += [
    Case("dense", 2000, {"recall": 0.9}, "groups"),
    Case("rare", 5000, {"precision": 0.2}, "base rate"),
]


def sequence(y: Any, p: Floats, targets: dict[str, float]) -> float | None:
    """The fixed sequence on all rows, for precision."""
    share, order = targets["precision"], np.argsort(-p, kind="stable")
    last = np.append(np.diff(p[order]) != 0, True)
    hits, flagged = np.cumsum(y[order])[last], np.flatnonzero(last) + 1.0
    start = int(np.searchsorted(flagged, np.ceil(np.log(1 - LEVEL) / np.log(share))))
    tail = (
        np.where(hits > 0, betainc(np.maximum(hits, 1), flagged - hits + 1, share), 1.0)[start:]
        <= 1 - LEVEL
    )
    passed = int(np.argmin(np.append(tail, False)))
    return float(p[order][last][start + passed - 1]) if passed else None


MAPIE = """
import sys, warnings
import numpy as np
from mapie.risk_control import BinaryClassificationController
warnings.simplefilter("ignore")
data = np.load(sys.argv[1])
names, levels = [str(x) for x in data["names"]], [float(x) for x in data["levels"]]
names = ["fpr" if x == "false_positive_rate" else x for x in names]
best = "auto" if len(names) == 1 else "recall"
for k in range(int(data["repeats"])):
    asked = (names, levels) if len(names) > 1 else (names[0], levels[0])
    found = BinaryClassificationController(
        lambda x: np.stack([1 - x[:, 0], x[:, 0]], axis=1), *asked, confidence_level=0.95,
        best_predict_param_choice=best,
    ).calibrate(data[f"p{k}"][:, None], data[f"y{k}"])
    print("none" if found.best_predict_param is None else repr(float(found.best_predict_param)))
"""


def mapie(python: str, case: Case, repeats: int) -> list[float | None]:
    """The thresholds of MAPIE for the same samples."""
    with tempfile.TemporaryDirectory() as folder:
        path, arrays = Path(folder) / "rows.npz", {}
        for k in range(repeats):
            arrays[f"y{k}"], arrays[f"p{k}"], _ = case.draw(k)
        names, levels = zip(*case.targets.items(), strict=True)
        np.savez(path, names=names, levels=levels, repeats=repeats, **arrays)
        command = [python, "-c", MAPIE, path]
        told = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    return [None if line == "none" else float(line) for line in told.split()]


def study(repeats: int, python: str | None, fewer: int) -> Iterator[dict[str, Any]]:
    """A line for each case; the others are run on the first `fewer` samples."""
    for case in CASES:
        found: dict[str, list[tuple[bool, bool, float]]] = {"ours": [], "sequence": [], "mapie": []}
        for k in range(repeats):
            y, p, more = case.draw(k)
            told = rainproof.find_threshold(y, p, **case.targets, **more, confidence_level=LEVEL)
            found["ours"].append(case.judge(told.threshold))
            if list(case.targets) == ["precision"] and not more and k < fewer:
                found["sequence"].append(case.judge(sequence(y, p, case.targets)))
        if python is not None and case.rows == "rows":
            found["mapie"] = [case.judge(threshold) for threshold in mapie(python, case, fewer)]
        targets = "; ".join(f"{name} {share:g}" for name, share in case.targets.items())
        line: dict[str, Any] = {
            "population": case.population,
            "rows": case.rows,
            "n": case.n,
            "targets": targets,
        }
        for name, told in found.items():
            many = np.array(told, float).reshape(-1, 3)
            line |= {
                f"{name}_repeats": len(many),
                f"{name}_found": int(many[:, 0].sum()),
                f"{name}_false": int(many[:, 1].sum()),
            }
            line[f"{name}_flagged"] = f"{many[:, 2].mean():.4f}" if len(many) else ""
        same = np.array(found["ours"][:fewer], float)
        yield line | {
            "same_found": int(same[:, 0].sum()),
            "same_flagged": f"{same[:, 2].mean():.4f}",
        }


def main(arguments: list[str] | None = None) -> None:
    """Write the table."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.studies.targets", description=__doc__
    )
    parser.add_argument("path", type=Path)
    parser.add_argument("--repeats", type=int, default=2000)
    parser.add_argument("--fewer", type=int, default=200, help="samples for the others")
    parser.add_argument("--mapie", metavar="PYTHON", help="an interpreter that has MAPIE")
    options = parser.parse_args(arguments)
    for line in written(
        options.path, study(options.repeats, options.mapie, min(options.fewer, options.repeats))
    ):
        print(line["population"], line["rows"], line["n"], file=sys.stderr)


if __name__ == "__main__":
    main()
