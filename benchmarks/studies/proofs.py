"""How often the lower bounds fail, and how often they prove anything: `loss_at_least`,
`switch_guarantee`, worth.

    python -m benchmarks.studies.proofs docs/data/proofs.csv

Draws samples from populations meant to break the bounds, whose true largest values are known
exactly: the most that any decision loses by acting on the predictions as they are (CDL), the most
that any gains by switching to the true event rates, and the most that acting on the predictions
gains over no forecast, as a share of perfect foresight. Counts the samples whose bound is above the
truth at a confidence of 50%, where a failure is easiest to see, and at 95% those that prove
anything, with the mean bound.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

import rainproof
from benchmarks.studies.populations import Floats, logit_scaled
from benchmarks.studies.tables import written
from rainproof.inference.proven_gains import worth
from rainproof.inference.switch_gains import gain_of_choice

GROUP = 9  # rows of the largest group
UNIFORM = (np.arange(2048) + 0.5) / 2048
# equally likely predictions, and their rates
POPULATIONS: dict[str, tuple[Floats, Callable[[Floats], Floats]]] = {
    "calibrated": (UNIFORM, lambda p: p),
    "constant": (np.array([0.37]), lambda p: 0 * p + 0.3),
    "rare": (0.03 * UNIFORM**2, lambda p: 3 * p),
    "few events": (0.02 * UNIFORM, lambda p: p / 2),
    "three values": (np.array([0.1, 0.5, 0.9]), lambda p: 0.25 + 0.4 * p),
    "inverted": (np.array([0.2, 0.8]), lambda p: 1 - p),
    "overconfident": (UNIFORM, lambda p: logit_scaled(p, 0.4)),
    "too high": (UNIFORM, lambda p: p**1.5),
    "alternating": (
        UNIFORM,
        lambda p: np.clip(p + np.where((10 * p).astype(int) % 2, 0.15, -0.15), 0, 1),
    ),
}
FAILURES = [(name, "rows") for name in POPULATIONS]
FAILURES += [
    (name, rows)
    for name in ("three values", "inverted", "constant")
    for rows in ("groups", "weights")
]
POWER = [("overconfident", n) for n in (300, 1000, 3000)]
POWER += [(name, 1000) for name in ("too high", "alternating", "three values")] + [("rare", 3000)]
STATEMENTS = ("loss", "gain", "worth")


def truth(name: str) -> tuple[float, float, float]:
    """The largest loss, gain and relative worth in the population."""
    prob, rate = POPULATIONS[name][0], POPULATIONS[name][1](POPULATIONS[name][0])
    outcome, weight = np.repeat([0, 1], len(prob)), np.concatenate([1 - rate, rate])
    loss = rainproof.measures.calibration_decision_loss(
        outcome, np.tile(prob, 2), sample_weight=weight
    )
    gain = rainproof.switch_guarantee(
        outcome, np.tile(prob, 2), np.tile(rate, 2), sample_weight=weight
    ).gain
    # act on what is above each `least`
    overall, least, most = rate.mean(), np.append(0.0, prob), np.append(prob, 1.0)
    best = 0.0
    for low, high, acted in zip(least, most, [prob > x for x in least], strict=True):
        mu = np.linspace(low, high, 9)[1:]
        value = ((rate - mu[:, None]) * acted).mean(axis=1) - np.maximum(0.0, overall - mu)
        perfect = np.minimum(mu * (1 - overall), (1 - mu) * overall)
        best = max(best, float(np.max(value[perfect > 0] / perfect[perfect > 0], initial=0.0)))
    return loss, gain, best


def draw(
    name: str, n: int, rows: str, rng: np.random.Generator
) -> tuple[Any, Floats, Floats, dict[str, Any]]:
    """Draw about n rows: outcomes, predictions, rates, and the groups (of unequal size, one
    outcome) or weights.
    """
    prob, rate = POPULATIONS[name]
    if rows == "groups":
        size = rng.integers(1, GROUP + 1, 2 * n // (GROUP + 1))
        group = np.repeat(np.arange(len(size)), size)
        p = rng.choice(prob, len(size))[group]
        return rng.random(len(size))[group] < rate(p), p, rate(p), {"groups": group}
    p = rng.choice(prob, n)
    weight = {"sample_weight": ((np.arange(n) + 0.5) / n) ** -0.6} if rows == "weights" else {}
    return rng.random(n) < rate(p), p, rate(p), weight


def bounds(
    y: Any, p: Floats, rate: Floats, options: dict[str, Any], level: float
) -> tuple[float, float, float]:
    """The three bounds from one sample."""
    loss = rainproof.inference.loss_at_least(y, p, **options, confidence_level=level).bound
    gain = rainproof.switch_guarantee(y, p, rate, **options, confidence_level=level).gain_at_least
    assert gain is not None
    return loss, gain, worth(rainproof.Sample(y, p, **options), level).relative_at_least


def study(repeats: int) -> Iterator[dict[str, Any]]:
    """A line for each population and kind of rows, or number of rows."""
    cases = [(name, rows, 300, 0.5) for name, rows in FAILURES] + [
        (name, "rows", n, 0.95) for name, n in POWER
    ]
    for number, (name, rows, n, level) in enumerate(cases):
        true, found, held = truth(name), [], []
        for k in range(repeats):
            rng = np.random.default_rng([number, k])
            y, p, rate, options = draw(name, n, rows, rng)
            found.append(bounds(y, p, rate, options, level))
            # a quarter of the rows is held out and judges a switch that the others choose a task
            # for
            if level == 0.95:
                pair, last = (
                    rainproof.Sample(y, {"old": p, "new": rate}),
                    np.arange(n) >= 3 * n // 4,
                )
                held.append(
                    gain_of_choice(
                        pair.without_segments().take(~last),
                        pair.without_segments().take(last),
                        1 - level,
                    )[1]
                )
        line = {
            "population": name,
            "rows": rows,
            "n": n,
            "confidence_level": level,
            "repeats": repeats,
        }
        for statement, bound, most in zip(STATEMENTS, np.array(found).T, true, strict=True):
            line |= {
                f"true_{statement}": f"{most:.6f}",
                f"{statement}_failed": int((bound > most + 1e-9).sum()),
                f"{statement}_proven": int((bound > 0).sum()),
                f"{statement}_at_least": f"{bound.mean():.6f}",
            }
        kept = np.array(held)
        yield line | {
            "held_out_proven": int((kept > 0).sum()),
            "held_out": f"{kept.mean() if held else 0.0:.6f}",
        }


def main(arguments: list[str] | None = None) -> None:
    """Write the table."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.studies.proofs", description=__doc__
    )
    parser.add_argument("path", type=Path)
    parser.add_argument("--repeats", type=int, default=20)
    options = parser.parse_args(arguments)
    for line in written(options.path, study(options.repeats)):
        print(line["population"], line["rows"], line["n"], file=sys.stderr)


if __name__ == "__main__":
    main()
