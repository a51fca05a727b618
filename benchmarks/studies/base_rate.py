"""Rows that were undersampled, and the population with its own base rate as the judge.

    python -m benchmarks.studies.base_rate docs/data

Each of eight forecasters is a population with a base rate of its own, of which rows are drawn by
outcome, 1:1 or 1:10. The population that all statements are about has the same predictions given
the outcome, and another base rate; its losses, costs and scores are known exactly. Counted are the
samples for which a bound is below the loss (or a proven loss above it), how often the test rejects
forecasters that are calibrated there, how often intervals contain the population's value, and what
maps do to the predictions.
"""

from __future__ import annotations

import argparse
import sys
import warnings
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

import rainproof
from benchmarks.studies.populations import Population, populations
from benchmarks.studies.tables import written
from rainproof import Sample

Floats = NDArray[np.float64]
NAMES = (
    "calibrated",
    "bell",
    "overconfident",
    "underconfident",
    "nonmonotone",
    "skewed",
    "rare",
    "quadratic",
)
RATES = (0.005, 0.05)  # and the range between them
DESIGNS = {"1:1": 0.5, "1:10": 1 / 11}


class Shifted:
    """A population by outcome: predictions given the event and given none, at any base rate."""

    def __init__(self, name: str, prob: Floats, mass: Floats, rate: Floats) -> None:
        self.name, self.prob = name, prob
        with_event, without = mass * rate, mass * (1 - rate)
        self.given = without / without.sum(), with_event / with_event.sum()

    @classmethod
    def of(cls, population: Population) -> Shifted:
        return cls(population.name, population.prob, population.mass, population.rate)

    def draw(
        self, n: int, share: float, rng: np.random.Generator
    ) -> tuple[NDArray[np.int8], Floats]:
        """So many rows, of which a given share has the event."""
        events = round(n * share)
        y = np.repeat(np.array([0, 1], np.int8), [n - events, events])
        p = [
            rng.choice(self.prob, rows, p=given)
            for rows, given in zip((n - events, events), self.given, strict=True)
        ]
        return y, np.concatenate(p)

    def at(self, rate: float, prob: Floats | None = None) -> Sample:
        """The population with a base rate, and with other predictions if they are given, as a
        weighted sample.
        """
        prob = self.prob if prob is None else prob
        weight = np.concatenate([(1 - rate) * self.given[0], rate * self.given[1]])
        return Sample(np.repeat([0, 1], len(prob)), np.tile(prob, 2), sample_weight=weight)


def moved(p: Floats, odds: float) -> Floats:
    """Multiply the odds."""
    return p * odds / (p * odds + 1 - p)


def _loss(sample: Sample) -> float:
    return rainproof.measures.calibration_decision_loss(sample, swaps="monotone")


def _stream(*key: Any) -> np.random.Generator:
    return np.random.default_rng(zlib.crc32(repr(key).encode()))


def bounds(repeats: int) -> Iterator[dict[str, Any]]:
    """How often the bound on the loss as they are is too small, for a rate and for a range."""
    for name in NAMES:
        shifted = Shifted.of(populations()[name])
        truth = {rate: _loss(shifted.at(rate)) for rate in RATES}
        for design, share in DESIGNS.items():
            for n in (200, 2000):
                rng, found = _stream(name, design, n), []
                for _ in range(repeats):
                    rows = shifted.draw(n, share, rng)
                    found.append(
                        [
                            [
                                rainproof.guarantee(
                                    *rows, base_rate=r, response="as_is", confidence_level=level
                                ).bound
                                for r in RATES
                            ]
                            for level in (0.9, 0.5)
                        ]
                    )
                bound, losses = np.array(found), np.array([truth[rate] for rate in RATES])
                n_eff = [1 / ((1 - r) ** 2 / (n * (1 - share)) + r**2 / (n * share)) for r in RATES]
                for k, level in enumerate((0.9, 0.5)):
                    failed = (bound[:, k] < losses).sum(axis=0)
                    yield {
                        "population": name,
                        "design": design,
                        "n": n,
                        "confidence_level": level,
                        "repeats": repeats,
                        **{
                            f"violations_{rate}": int(f)
                            for rate, f in zip(RATES, failed, strict=True)
                        },
                        "violations_range": int((bound[:, k].max(axis=1) < losses.max()).sum()),
                        **{f"truth_{rate}": f"{truth[rate]:.5f}" for rate in RATES},
                        **{
                            f"bound_{r}": f"{b:.5f}"
                            for r, b in zip(RATES, bound[:, k].mean(axis=0), strict=True)
                        },
                        **{
                            f"hoeffding_slack_{r}": f"{np.sqrt(2 * np.log(1 / (1 - level)) / e):.5f}"
                            for r, e in zip(RATES, n_eff, strict=True)
                        },
                    }


def lower(repeats: int) -> Iterator[dict[str, Any]]:
    """How often a proven loss is more than there is, against any change of actions by
    prediction.
    """
    for name in NAMES:
        shifted = Shifted.of(populations()[name])
        truth = rainproof.measures.calibration_decision_loss(shifted.at(0.05))
        rng, found = _stream(name, "lower"), []
        for _ in range(repeats):
            y, p = shifted.draw(1000, 0.5, rng)
            found.append(rainproof.inference.loss_at_least(y, p, base_rate=0.05).bound)
        yield {
            "population": name,
            "n": 1000,
            "repeats": repeats,
            "violations": int((np.array(found) > truth).sum()),
            "truth": f"{truth:.5f}",
            "mean_bound": f"{np.mean(found):.5f}",
        }


def _calibrated() -> dict[str, tuple[Shifted, float]]:
    """Forecasters that are calibrated at their base rate, and the rate."""
    at = (np.arange(4096) + 0.5) / 4096
    densities: dict[str, Callable[[Floats], Floats]] = {
        "uniform": np.ones_like,
        "low": lambda p: p**-0.5 * (1 - p) ** 8,
        "rare": lambda p: np.exp(-p / 0.01),
        "nearly constant": lambda p: np.exp(-(((p - 0.02) / 0.004) ** 2)),
    }
    found = {}
    for name, density in densities.items():
        mass = density(at) / density(at).sum()
        found[name] = Shifted(name, at, mass, at), float(mass @ at)
    return found


ERRORS: dict[str, Callable[[Floats], Floats]] = {
    "none": lambda p: p,
    "odds x 1.5": lambda p: moved(p, 1.5),
    "odds x 20": lambda p: moved(p, 20.0),
    "log odds x 0.7": lambda p: p**0.7 / (p**0.7 + (1 - p) ** 0.7),
}


def tests(repeats: int) -> Iterator[dict[str, Any]]:
    """How often the test rejects at the 5% level."""
    for name, (shifted, rate) in _calibrated().items():
        for design, share in DESIGNS.items():
            for n in (100, 1000):
                rng = _stream(name, design, n, "test")
                rejected = dict.fromkeys(ERRORS, 0)
                for number in range(repeats):
                    y, p = shifted.draw(n, share, rng)
                    for error, off in ERRORS.items():
                        if error == "none" or number < repeats // 4:
                            test = rainproof.calibration_test(
                                y, off(p), base_rate=rate, n_resamples=99, rng=rng
                            )
                            rejected[error] += test.rejects()
                for error, count in rejected.items():
                    tried = repeats if error == "none" else repeats // 4
                    line = {
                        "forecaster": name,
                        "base_rate": f"{rate:.5f}",
                        "design": design,
                        "n": n,
                        "error": error,
                    }
                    yield line | {"repeats": tried, "rejected": count}


def intervals(repeats: int) -> Iterator[dict[str, Any]]:
    """How often 95% intervals contain the value in the population."""
    mu, rate = np.array([0.02, 0.1]), 0.05
    for name in NAMES[2:7]:
        shifted = Shifted.of(populations()[name])
        whole = shifted.at(rate)
        truth = {
            name: rainproof.list_measures()[name](whole) for name in ("brier_score", "log_score")
        }
        benefit = rainproof.net_benefit(whole, thresholds=mu).value[0]
        rng, covered = (
            _stream(name, "intervals"),
            {**dict.fromkeys(truth, 0), **{f"net benefit at {t}": 0 for t in mu}},
        )
        for _ in range(repeats):
            y, p = shifted.draw(300, 0.5, rng)
            for measure, value in truth.items():
                found = rainproof.confidence_interval(
                    y, p, base_rate=rate, measure=measure, rng=rng, n_resamples=99
                )
                covered[measure] += found.low <= value <= found.high
            curve = rainproof.net_benefit(y, p, mu, base_rate=rate)
            for t, low, high, value in zip(mu, curve.low[0], curve.high[0], benefit, strict=True):
                covered[f"net benefit at {t}"] += bool(low <= value <= high)
        for what, count in covered.items():
            yield {
                "population": name,
                "of": what,
                "n": 300,
                "repeats": repeats,
                "covered": int(count),
            }


def maps(repeats: int) -> Iterator[dict[str, Any]]:
    """What the map makes of the predictions, beside the offset of the log odds alone; the
    population judges.
    """
    for name in NAMES:
        population = populations()[name]
        shifted, own = Shifted.of(population), float(population.mass @ population.rate)
        for rate in RATES:
            rng, found = _stream(name, rate, "maps"), []
            for _ in range(repeats):
                y, p = shifted.draw(2000, 0.5, rng)
                fitted = rainproof.Recalibrator(rng=0).fit(p, y, base_rate=rate)
                offset = moved(shifted.prob, rate / (1 - rate) / (own / (1 - own)))
                made = {
                    "as_is": shifted.prob,
                    "offset": offset,
                    "map": fitted.predict(shifted.prob),
                }
                assert fitted.certificate_ is not None
                line = {
                    "failed": fitted.certificate_.loss_bound < _loss(shifted.at(rate, made["map"]))
                }
                for kind, prob in made.items():
                    whole = shifted.at(rate, prob)
                    line[f"mean_{kind}"] = whole.mean_prediction / rate
                    line[f"loss_{kind}"] = _loss(whole)
                    line[f"cost_{kind}"] = _cost(whole, rate)
                found.append(line)
            names = [key for key in found[0] if key != "failed"]
            means = {key: f"{np.mean([line[key] for line in found]):.5f}" for key in names}
            failed = sum(bool(line["failed"]) for line in found)
            yield {
                "population": name,
                "base_rate": rate,
                "repeats": repeats,
                **means,
                "certificates_failed": failed,
            }


def _cost(sample: Sample, mu: float) -> float:
    """What acting from a threshold on costs, over the better of always and never acting."""
    acts = sample.prob >= mu
    mass = sample.mass / sample.total_weight
    cost = float(mass @ np.where(acts, ~sample.event * mu, sample.event * (1 - mu)))
    rate = sample.event_rate
    return cost / min(mu * (1 - rate), (1 - mu) * rate)


STUDIES: dict[str, tuple[Callable[[int], Iterator[dict[str, Any]]], int]] = {
    "bounds": (bounds, 200),
    "tests": (tests, 400),
    "maps": (maps, 10),
    "intervals": (intervals, 100),
    "lower": (lower, 20),
}


def main(arguments: list[str] | None = None) -> None:
    """Write a table for each part."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--parts", nargs="+", choices=STUDIES, default=list(STUDIES))
    parser.add_argument("--repeats", type=int)
    options = parser.parse_args(arguments)
    warnings.simplefilter("ignore", rainproof.RainproofWarning)
    for part in options.parts:
        study, repeats = STUDIES[part]
        for line in written(
            options.folder / f"base-rate-{part}.csv", study(options.repeats or repeats)
        ):
            print(part, *list(line.values())[:4], file=sys.stderr)


if __name__ == "__main__":
    main()
