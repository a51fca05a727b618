"""The size of `calibration_test`, and its power by measure on the same alternatives.

    python -m benchmarks.studies.power docs/data/size.csv docs/data/power.csv

Size: the share of samples of calibrated forecasters that the test at level 5% rejects (19
resamples, with which the exact level is 5%). Power: 1,000 rows with fixed predictions, so that the
null has to be drawn once for each statistic; outcomes are drawn from alternatives of growing
strength.
"""

from __future__ import annotations

import argparse
import sys
import warnings
import zlib
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

import rainproof
from benchmarks.studies.populations import logit_scaled, populations
from benchmarks.studies.tables import write
from rainproof.inference.resampling import Resampler, as_resampler
from rainproof.inference.statistics import Evaluate, as_test_statistic

Floats = NDArray[np.float64]

SLOW = ("lower_distance_to_calibration",)
MEASURES = ["combined", *(name for name in rainproof.list_measures() if name not in SLOW)]
SIZES = {20: 100, 200: 60, 5_000: 20}  # simulations by number of rows
CALIBRATED = ("calibrated", "rare")
ROWS, NULL, DRAWS = 1_000, 399, 200
STRENGTHS = (0.0, 0.2, 0.4, 0.6, 0.8, 1.0)


def alternatives(strength: float) -> dict[str, tuple[Floats, Floats]]:
    """Predictions and the event probabilities behind them; strength 0 is calibrated."""
    p = np.sort(np.random.default_rng(1).random(ROWS))
    rare = 0.1 * p**2
    wave = np.sin(16 * np.pi * p) * np.minimum(p, 1 - p)
    return {
        "overconfident": (p, logit_scaled(p, 1 - 0.4 * strength)),
        "underconfident": (p, logit_scaled(p, 1 + 0.6 * strength)),
        "too high everywhere": (p, p - 0.08 * strength * 4 * p * (1 - p)),
        "waves": (p, p + 0.6 * strength * wave),
        "one region": (p, p - 0.25 * strength * ((p > 0.8) & (p < 0.95))),
        "rare events": (rare, rare * (1 + 0.8 * strength)),
    }


def size_lines(share: float, sizes: dict[int, int] | None = None) -> Iterator[dict[str, Any]]:
    """The share of calibrated forecasters that are rejected."""
    everything = populations()
    for name in CALIBRATED:
        population = everything[name]
        for n, most in (sizes or SIZES).items():
            simulations = max(2, round(most * share))
            _say(f"size, {name}, n = {n:,}")
            rejected = dict.fromkeys(MEASURES, 0)
            for k in range(simulations):
                rng = np.random.default_rng([zlib.crc32(name.encode()), n, k])
                p = population.draw(n, rng)[1]
                # the predictions of the population, and calibrated
                y = (rng.random(n) < p).astype(np.int8)
                for measure in MEASURES:
                    rejected[measure] += rainproof.calibration_test(
                        y, p, statistic=measure, n_resamples=19, rng=rng
                    ).rejects(0.05)
            for measure, count in rejected.items():
                yield {
                    "population": name, "n": n, "measure": measure, "simulations": simulations, "rejected": count,
                    "alpha": 0.05,
                }  # fmt: skip


def power_lines(share: float, measures: Sequence[str] = MEASURES) -> Iterator[dict[str, Any]]:
    """The share of miscalibrated forecasters that are rejected."""
    null, draws = max(19, round((NULL + 1) * share) - 1), max(2, round(DRAWS * share))
    for measure in measures:
        _say(f"power, {measure}")
        chance: dict[bytes, Floats] = {}  # values of calibrated forecasters, by their predictions
        for strength in STRENGTHS:
            for name, (p, rate) in alternatives(strength).items():
                atoms = as_resampler(rainproof.Sample(np.zeros(ROWS, int), p))
                evaluate = as_test_statistic(measure).on(atoms)
                if p.tobytes() not in chance:
                    chance[p.tobytes()] = np.sort(
                        _values(atoms, evaluate, p, null, np.random.default_rng(2))
                    )
                seen = _values(
                    atoms,
                    evaluate,
                    rate,
                    draws,
                    np.random.default_rng([3, zlib.crc32(name.encode())]),
                )
                p_value = (1 + null - np.searchsorted(chance[p.tobytes()], seen)) / (null + 1)
                rejected = int((p_value <= 0.05).sum())
                yield {
                    "alternative": name, "strength": strength, "measure": measure, "n": ROWS, "draws": draws,
                    "rejected": rejected, "alpha": 0.05, "truth": f"{evaluate(atoms.expected(rate)):.6g}",
                }  # fmt: skip


def _values(
    atoms: Resampler, evaluate: Evaluate, rate: Floats, size: int, rng: np.random.Generator
) -> Floats:
    """The statistic of samples with these event probabilities."""
    coin = atoms.coin(np.clip(rate, 0.0, 1.0))
    return np.array([evaluate(atoms.redraw(rng, coin)) for _ in range(size)])


def _say(what: str) -> None:
    print(what, file=sys.stderr, flush=True)


def main() -> None:
    """Write both tables."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.studies.power", description=__doc__)
    parser.add_argument("size", type=Path)
    parser.add_argument("power", type=Path)
    parser.add_argument(
        "--share", type=float, default=1.0, help="of the simulations (default: %(default)s)"
    )
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    write(options.size, list(size_lines(options.share)))
    write(options.power, list(power_lines(options.share)))


if __name__ == "__main__":
    main()
