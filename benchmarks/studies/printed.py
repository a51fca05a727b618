"""How often the intervals that no other study covers contain the population's value.

    python -m benchmarks.studies.printed docs/data/printed.csv

The mean prediction less the event rate (`Assessment.calibration.difference`), the difference of
costs of two forecasts (`AssessmentSet.pairs`), the loss by a switch at one threshold
(`SwitchGuarantee.band`), the event rates of a reliability diagram (`reliability_curve`), and those
of `grade_table`, whose coverage is computed, not simulated. At 95%.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from scipy.stats import beta, binom

import rainproof
from benchmarks.studies.populations import Floats, logit_scaled
from benchmarks.studies.tables import write
from rainproof.inference.bands import soft_bins
from rainproof.verdict.calibration import how_calibrated
from rainproof.verdict.rankings import cost_difference

LEVEL, THRESHOLD, BINS = 0.95, 0.2, 8
# which acts from THRESHOLD on
TASK = rainproof.DecisionTask.from_costs(false_positive=1, false_negative=4)
UNIFORM = (np.arange(4096) + 0.5) / 4096
POPULATIONS = {  # equally likely predictions, the event rate at each, and another forecast
    "calibrated": (UNIFORM, UNIFORM, UNIFORM**1.5),
    "overconfident": (UNIFORM, logit_scaled(UNIFORM, 0.4), np.full(len(UNIFORM), 0.5)),
    "rare": (0.03 * UNIFORM**0.5, 0.015 * UNIFORM, 0.4 * UNIFORM),
    "three values": tuple(
        np.repeat(x, 1365) for x in ([0.1, 0.3, 0.8], [0.2, 0.3, 0.6], [0.3, 0.1, 0.9])
    ),
}
SIZES = (100, 1000)
# obligors, default rate
GRADES = ((20, 0.009), (100, 0.01), (100, 0.1), (1000, 0.003), (1000, 0.2))


def truths(prob: Floats, rate: Floats, other: Floats) -> dict[str, Any]:
    """The population's values."""

    def cost(p: Floats) -> float:
        return float(np.where(p >= THRESHOLD, 1 - rate, 4 * rate).mean())

    acts = (other > THRESHOLD) * 1.0 - (prob > THRESHOLD)
    hat = np.maximum(1 - np.abs(BINS * prob - np.arange(BINS + 1)[:, None]), 0)
    with np.errstate(invalid="ignore"):
        bins = hat @ rate / hat.sum(axis=1)
    return {
        "difference of means": float((prob - rate).mean()),
        "difference of costs": cost(prob) - cost(other),
        "loss by a switch": -float(((rate - THRESHOLD) * acts).mean()),
        "event rates of bins": bins,
    }


def covered(y: Any, prob: Floats, other: Floats, true: dict[str, Any]) -> dict[str, Floats]:
    """Whether each interval of one sample has the population's value."""
    pair = rainproof.Sample(y, {"one": prob, "other": other})
    one, two = pair["one"], pair["other"]
    ends: dict[str, tuple[float, float]] = {}
    mean = how_calibrated(one, 1.0, LEVEL).difference
    paid = cost_difference(TASK, one, two, LEVEL, paired=True)
    assert paid is not None
    ends["difference of means"], ends["difference of costs"] = (
        (mean.low, mean.high),
        (paid.low, paid.high),
    )
    band = rainproof.switch_guarantee(pair, confidence_level=LEVEL).band()
    ends["loss by a switch"] = tuple(
        np.interp(THRESHOLD, band["threshold"], band[k]) for k in ("low", "high")
    )
    found = {name: np.array([low <= true[name] <= high]) for name, (low, high) in ends.items()}
    bins = soft_bins(one, BINS, confidence_level=LEVEL)
    at = np.rint(BINS * bins.prediction).astype(int)
    found["event rates of bins"] = (bins.low <= true["event rates of bins"][at]) & (
        true["event rates of bins"][at] <= bins.high
    )
    return {name: np.asarray(inside, float) for name, inside in found.items()}


def study(simulations: int) -> Iterator[dict[str, Any]]:
    """A line for each interval, population and number of rows."""
    for name, (prob, rate, other) in POPULATIONS.items():
        true = truths(prob, rate, other)
        for n in SIZES:
            found: dict[str, list[Floats]] = {}
            for k in range(simulations):
                rng = np.random.default_rng([k, n])
                at = rng.integers(0, len(prob), n)
                for what, inside in covered(
                    rng.random(n) < rate[at], prob[at], other[at], true
                ).items():
                    found.setdefault(what, []).append(inside)
            for what, many in found.items():
                every = np.concatenate(many)
                line = {
                    "interval": what,
                    "population": name,
                    "n": n,
                    "events": f"{n * rate.mean():.1f}",
                }
                yield line | {"intervals": len(every), "coverage": f"{every.mean():.4f}"}
    for n, rate_ in GRADES:
        k = np.arange(n + 1)
        low = np.where(k == 0, 0.0, beta.ppf((1 - LEVEL) / 2, k + 0.5, n - k + 0.5))
        high = np.where(k == n, 1.0, beta.ppf((1 + LEVEL) / 2, k + 0.5, n - k + 0.5))
        share = float(binom.pmf(k, n, rate_)[(low <= rate_) & (rate_ <= high)].sum())
        line = {
            "interval": "default rate of a grade",
            "population": f"rate {rate_}",
            "n": n,
            "events": f"{n * rate_:.1f}",
        }
        yield line | {"intervals": "exact", "coverage": f"{share:.4f}"}


def main(arguments: list[str] | None = None) -> None:
    """Write the table."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.studies.printed", description=__doc__
    )
    parser.add_argument("path", type=Path)
    parser.add_argument("--simulations", type=int, default=400)
    options = parser.parse_args(arguments)
    write(options.path, list(study(options.simulations)))


if __name__ == "__main__":
    main()
