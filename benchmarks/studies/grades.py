"""How often `assess` gives each grade, and how often what it says is right, on populations that are
known.

    python -m benchmarks.studies.grades docs/data

Writes grades.csv and statements.csv. Lines that are there already are not computed again.

What is true of a map is that of the map that was fitted to the sample, in the population. An
estimate by cross-fitting is of the mean of this over samples, and of maps that were fitted to four
fifths of the rows: nearly the same.
"""

from __future__ import annotations

import argparse
import csv
import sys
import warnings
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from scipy.special import expit, logit

import rainproof
from rainproof.inference.logistic_estimates import calibration_slope
from rainproof.verdict.costs import Rule
from rainproof.verdict.grades import GRADES

SIZES = (100, 300, 1_000, 3_000, 10_000)
KINDS: dict[str, tuple[int, ...]] = {"rows": SIZES, "groups": (300, 3_000), "weights": (300, 3_000)}
LARGEST = 9  # rows of a group
MISSES = (1, 4, 9, 19)  # what a miss costs, where a false alarm costs 1
WORTH = 0.1  # skill below which a forecast may be called useless
FIELDS = {
    "grades.csv": ["population", "rows", "costs", "n", "simulations", *GRADES],
    "statements.csv": ["population", "rows", "costs", "n", "statement", "given", "right"],
}
_POINTS = (np.arange(20_000) + 0.5) / 20_000
_TIE = 1e-9
Curve = Callable[[Any], Any]
Lines = dict[str, list[dict[str, Any]]]


def _odds(p: Any, factor: float) -> Any:
    """Multiply the log odds."""
    return expit(factor * logit(np.clip(p, 1e-9, 1 - 1e-9)))


# Predictions from uniform numbers, and the event rate at each prediction.
POPULATIONS: dict[str, tuple[Curve, Curve]] = {
    "calibrated": (lambda u: u, lambda p: p),
    "calibrated, weak": (lambda u: 0.3 + 0.1 * u, lambda p: p),
    "calibrated, three values": (
        lambda u: np.choose((3 * u).astype(int), [0.1, 0.4, 0.8]),
        lambda p: p,
    ),
    "calibrated, rare": (lambda u: 0.1 * u**4, lambda p: p),
    "constant": (lambda u: 0 * u + 0.2, lambda p: 0 * p + 0.25),
    "noise": (lambda u: u, lambda p: 0 * p + 0.3),
    "too high": (lambda u: u, lambda p: p**1.5),
    "rare, three times too low": (lambda u: 0.1 * u**4, lambda p: 3 * p),
    "too extreme": (lambda u: u, lambda p: _odds(p, 0.4)),
    "too timid": (lambda u: 0.3 + 0.4 * u, lambda p: _odds(p, 2.0)),
    "alternating": (
        lambda u: u,
        lambda p: np.clip(p + 0.15 * np.where(np.floor(10 * p) % 2, 1, -1), 0, 1),
    ),
    "inverted": (lambda u: u, lambda p: 1 - p),
}


def draw(name: str, kind: str, n: int, rng: np.random.Generator) -> tuple[Any, Any, dict[str, Any]]:
    """Predictions, outcomes and the groups or weights of some rows.

    Groups have up to nine rows, half of their predictions alike, and in half of the groups common
    outcomes.
    """
    predict, rate = POPULATIONS[name]
    if kind != "groups":
        p = predict(rng.random(n))
        y = rng.random(n) < rate(p)
        return p, y, {} if kind == "rows" else {"sample_weight": rng.exponential(size=n)}
    group = np.repeat(np.arange(n), rng.integers(1, LARGEST + 1, n))[:n]
    own, shared, coin = rng.random(n), rng.random(n)[group], rng.random((2, n))
    p = predict(np.where(coin[0] < 0.5, shared, own))
    together = rng.random(n)[group]
    y = np.where(coin[1][group] < 0.5, together, rng.random(n)) < rate(p)
    return p, y, {"groups": group}


def skill(acts: Any, rate: Any, threshold: float | None) -> float:
    """What acting on some of the cases gains over no forecast, as a share of what perfect foresight
    gains.
    """
    base = float(rate.mean())
    if threshold is None:
        return float((rate * acts).mean() / base - ((1 - rate) * acts).mean() / (1 - base))
    best = min(threshold * (1 - base), (1 - threshold) * base)
    return float((((rate - threshold) * acts).mean() - max(0.0, base - threshold)) / best)


def loss(p: Any, rate: Any) -> float:
    """The most that any decision loses in the population by acting on predictions, which the
    guarantee bounds.
    """
    some = slice(None, None, 10)
    weight = np.concatenate([1 - rate[some], rate[some]])
    event = np.repeat([0, 1], len(weight) // 2)
    return rainproof.guarantee(
        event, np.tile(p[some], 2), sample_weight=weight, response="as_is"
    ).plug_in


@cache
def known(name: str) -> tuple[Any, Any, dict[str, bool], float]:
    """The predictions of a population with their event rates, which directions are right, and the
    true loss.
    """
    predict, rate = POPULATIONS[name]
    p = predict(_POINTS)
    q = rate(p)
    sample = rainproof.Sample(
        np.repeat([0, 1], len(p)), np.tile(p, 2), sample_weight=np.concatenate([1 - q, q])
    )
    found = calibration_slope(sample.units, sample.prob, 0.95)
    off, slope = float((p - q).mean()), 1.0 if found is None else found.value
    directions = {
        "too high": off > _TIE,
        "too low": off < -_TIE,
        "too extreme": slope < 1 - 1e-6,
        "too timid": slope > 1 + 1e-6,
    }
    return p, q, directions | {"uneven": bool(np.abs(p - q).max() > _TIE)}, loss(p, q)


def statements(a: rainproof.results.Assessment, name: str) -> Iterator[tuple[str, bool]]:
    """What an assessment says, and whether it is right in the population."""
    p, rate, directions, true_loss = known(name)
    e, c, task = a.evidence, a.evidence.calibration, a.task
    if not directions["uneven"]:
        yield "calibration is not rejected", not c.rejected
    elif c.rejected:
        yield "direction", directions[c.direction]
    yield "guarantee", e.guarantee.bound >= true_loss - _TIE
    if a.recalibrator is None or e.gain is None or e.skill is None:
        return
    mapped = a.recalibrator.predict(p)
    threshold = None if task is None else task.task.thresholds[0]
    acts = mapped > c.event_rate if threshold is None else mapped >= threshold
    true_skill = skill(acts, rate, threshold)
    yield "skill", _covers(e.skill, true_skill)
    if e.useful:
        yield "skill is above 0", true_skill > 0
    if true_skill > WORTH:
        yield "not called useless", a.verdict.grade != "avoid"
    if e.certificate is not None:
        yield "guarantee, recalibrated", e.certificate.loss_bound >= loss(mapped, rate) - _TIE
    mu = e.gain.threshold
    change = (mapped >= mu) * 1.0 - (p >= mu)
    yield "gain", _covers(e.gain.share, float(((rate - mu) * change).mean() / max(mu, 1 - mu)))
    if task is not None and task.errors is not None:
        alarm, miss = task.errors
        acted = {
            Rule.AS_IS: p >= threshold,
            Rule.RECALIBRATED: mapped >= threshold,
            Rule.CUTOFF: p >= task.best_threshold,
        }
        cost = {
            rule: float(np.where(on, alarm * (1 - rate), miss * rate).mean())
            for rule, on in acted.items()
        }
        for rule, true in cost.items():
            yield f"cost, {rule.value}", _covers(task.costs[rule], true)
        saved, true = task.saved[Rule.RECALIBRATED], cost[Rule.AS_IS] - cost[Rule.RECALIBRATED]
        yield "saved", _covers(saved, true)
        if saved.low > 0:
            yield "saves", true > 0


def _covers(found: Any, true: float) -> bool:
    return bool(found.low - _TIE <= true <= found.high + _TIE)


def one(name: str, kind: str, costs: str, n: int, simulations: int) -> Lines:
    """Assess samples of one population and count; the same ones for the same case."""
    grades: Counter[str] = Counter()
    said: Counter[tuple[str, bool]] = Counter()
    for k in range(simulations):
        rng = np.random.default_rng([list(POPULATIONS).index(name), list(KINDS).index(kind), n, k])
        p, y, columns = draw(name, kind, n, rng)
        miss = MISSES[k % len(MISSES)]
        task = (
            rainproof.DecisionTask.from_costs(false_positive=1, false_negative=miss)
            if costs == "yes"
            else None
        )
        a = rainproof.assess(y, p, task=task, measures=[], **columns)
        grades[a.verdict.grade] += 1
        said.update(statements(a, name))
    case = {"population": name, "rows": kind, "costs": costs, "n": n}
    return {
        "grades.csv": [
            {**case, "simulations": simulations, **{grade: grades[grade] for grade in GRADES}}
        ],
        "statements.csv": [
            {
                **case,
                "statement": what,
                "given": said[what, True] + said[what, False],
                "right": said[what, True],
            }
            for what in dict.fromkeys(what for what, _ in said)
        ],
    }


def cases(simulations: int) -> Iterator[tuple[str, str, str, int, int]]:
    """Population, kind of rows, whether there are costs, number of rows, and of samples: fewer of
    many rows.
    """
    for kind, sizes in KINDS.items():
        for costs in ("no", "yes") if kind == "rows" else ("yes",):
            for n in sizes:
                few = n > 3_000 or costs == "yes"
                for name in POPULATIONS:
                    yield name, kind, costs, n, max(1, simulations // 2) if few else simulations


def main(arguments: list[str] | None = None) -> None:
    """Write the tables, case by case."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("folder", type=Path)
    parser.add_argument("--simulations", type=int, default=20)
    options = parser.parse_args(arguments)
    warnings.simplefilter("ignore", rainproof.RainproofWarning)
    done = {
        (x["population"], x["rows"], x["costs"], x["n"])
        for x in lines_of(options.folder / "grades.csv")
    }
    for name, kind, costs, n, simulations in cases(options.simulations):
        if (name, kind, costs, str(n)) not in done:
            print(f"{name}, {kind}, costs: {costs}, n = {n:,}", file=sys.stderr, flush=True)
            for file, lines in one(name, kind, costs, n, simulations).items():
                append(options.folder / file, FIELDS[file], lines)


def lines_of(path: Path) -> list[dict[str, str]]:
    """The lines of a table, if it is there."""
    if not path.exists():
        return []
    with path.open(encoding="utf-8") as file:
        return list(csv.DictReader(file))


def append(path: Path, fields: list[str], lines: Iterable[dict[str, Any]]) -> None:
    """Add lines to a table, with its head where there is none yet."""
    new = not path.exists()
    with path.open("a", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, fields, lineterminator="\n")
        if new:
            writer.writeheader()
        writer.writerows(lines)


if __name__ == "__main__":
    main()
