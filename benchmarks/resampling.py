"""Resampling: seconds per redrawn sample, beside the loops that people write and the one library
that has one.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

import rainproof
from benchmarks.data import Data
from benchmarks.timed_functions import Contestant
from rainproof.core.cells import CellTable

SIZE = 10**5
_LARGE, _CELLS = 10**8, 2**16


@dataclass(frozen=True, slots=True)
class Resampling:
    """One way to resample, with the number of samples it draws in a call."""

    contestant: Contestant
    draws: int


def _test(data: Data) -> Any:
    return rainproof.calibration_test(data.y, data.p, n_resamples=200, rng=0)


def _bootstrap(data: Data) -> Any:
    return rainproof.confidence_interval(
        data.y, data.p, method="percentile", n_resamples=200, rng=0
    )


def _compressed_test(data: Data) -> Any:
    return rainproof.calibration_test(_compressed(len(data)), n_resamples=200, rng=0)


def _large_test(_: Data) -> Any:
    return rainproof.calibration_test(_compressed(_LARGE), n_resamples=200, rng=0)


_SAMPLES: dict[int, rainproof.Sample] = {}  # made once, and not within a turn


def _compressed(n: int) -> rainproof.Sample:
    """A compressed sample of n rows, made without the rows: counts by cell are all it holds."""
    if n not in _SAMPLES:
        rng = np.random.default_rng(1)
        rows = rng.multinomial(n, np.full(_CELLS, 1 / _CELLS))
        events = rng.binomial(rows, (np.arange(_CELLS) + 0.5) / _CELLS)
        count = np.stack([rows - events, events], axis=1).ravel()
        slot = np.flatnonzero(count)
        count = count[slot]
        weight = np.stack([count.astype(float), np.zeros(len(count))])
        cells = CellTable(
            m=_CELLS,
            slot=slot,
            count=count,
            weight=weight,
            rise=weight / 2,
            squares=weight[0].copy(),
        )
        _SAMPLES[n] = rainproof.Sample.from_cells(cells)
    return _SAMPLES[n]


def _sklearn_loop(data: Data) -> Any:
    from sklearn.calibration import calibration_curve

    rng, found = np.random.default_rng(0), []
    for _ in range(5):
        row = rng.integers(0, len(data), len(data))
        rate, said = calibration_curve(data.y[row], data.p[row], n_bins=15)
        found.append(np.abs(rate - said).mean())
    return found


def _uncertainty_calibration(data: Data) -> Any:
    from calibration import get_calibration_error
    from calibration.utils import bootstrap_uncertainty

    rows = list(zip(data.p, data.y, strict=True))

    def error(rows: Any) -> Any:
        probs, labels = zip(*rows, strict=True)
        return get_calibration_error(probs, labels, 2, debias=False)

    return bootstrap_uncertainty(rows, error, num_samples=2)


def _entry(
    name: str, call: Callable[[Data], Any], draws: int, peer: str | None = None
) -> Resampling:
    return Resampling(Contestant(name, call, peer=peer), draws)


TEST = _entry("rainproof calibration_test, SCDL", _test, 200)
BOOTSTRAP = _entry("rainproof bootstrap, SCDL", _bootstrap, 200)
COMPRESSED = _entry("rainproof calibration_test, SCDL, compressed, 1e5 rows", _compressed_test, 200)
LARGE = _entry("rainproof calibration_test, SCDL, compressed, 1e8 rows", _large_test, 200)
LOOP = _entry("loop around scikit-learn calibration_curve", _sklearn_loop, 5, peer="scikit-learn")
LIBRARY = _entry(
    # its own statistic and twice more around the draws: two samples cost four evaluations
    "uncertainty-calibration bootstrap", _uncertainty_calibration, 4, peer="uncertainty-calibration"
)  # fmt: skip
ENTRIES = (TEST, BOOTSTRAP, COMPRESSED, LARGE, LOOP, LIBRARY)
