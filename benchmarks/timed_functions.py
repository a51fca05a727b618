"""The functions that `make bench` times: the floor, rainproof, and those of other packages.

The packages of the race, which `make race` compares, are in `benchmarks.race.contestants`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

import rainproof
from benchmarks.data import Data
from benchmarks.machine import cores

_BINS = 15


@dataclass(frozen=True, slots=True)
class Contestant:
    """One function of predictions and outcomes."""

    name: str
    call: Callable[[Data], Any]
    peer: str | None = None  # the package it comes from, if optional
    threads: int | None = None  # the number of cores it may use; None: all


def _floor(data: Data) -> Any:
    return data.p.sum() + data.y.sum()


def _scdl(data: Data) -> float:
    return rainproof.soft_binned_cdl(data.y, data.p)


def _weighted(data: Data) -> float:
    return rainproof.soft_binned_cdl(data.y, data.p, sample_weight=data.w)


def _compress(data: Data) -> rainproof.Sample:
    return rainproof.Sample(data.y, data.p).compress(2**16)


def _bincount_ece(data: Data) -> float:
    """Compute ECE by the fastest plain NumPy: one sum of y - p per bin, instead of one of y and one
    of p.
    """
    cell = np.minimum((data.p * _BINS).astype(np.intp), _BINS - 1)
    return float(np.abs(np.bincount(cell, weights=data.y - data.p, minlength=_BINS)).sum()) / len(
        data
    )


def _calibration_curve(data: Data) -> Any:
    from sklearn.calibration import calibration_curve

    return calibration_curve(data.y, data.p, n_bins=_BINS)


def _relplot_binned(data: Data) -> Any:
    from relplot.metrics import binnedECE

    return binnedECE(data.p, data.y, nbins=_BINS)


def _relplot_smooth(data: Data) -> Any:
    from relplot import smECE

    return smECE(data.p, data.y)


def _netcal(data: Data) -> Any:
    from netcal.metrics import ECE

    return ECE(_BINS).measure(data.p, data.y)


def _torchmetrics(data: Data) -> Any:
    import torch
    from torchmetrics.functional.classification import binary_calibration_error

    # The tensors share the memory of the arrays, so nothing is charged for the way in.
    return binary_calibration_error(
        torch.from_numpy(data.p), torch.from_numpy(data.y), n_bins=_BINS
    )


FLOOR = Contestant("floor: p.sum() + y.sum()", _floor)
BINCOUNT = Contestant("NumPy bincount ECE", _bincount_ece)
CURVE = Contestant("scikit-learn calibration_curve", _calibration_curve, peer="scikit-learn")
SMOOTH = Contestant("relplot smECE", _relplot_smooth, peer="relplot")
BY_THREADS = {
    k: Contestant(
        f"rainproof SCDL, {k} thread{'s' * (k > 1)}", _scdl, threads=k if k < cores() else None
    )
    for k in sorted({1, min(2, cores()), cores()})
}
RAINPROOF = BY_THREADS[cores()]  # as a user calls it

PEERS = ("scikit-learn", "relplot", "netcal", "torchmetrics", "uncertainty-calibration")
CONTESTANTS = (
    FLOOR,
    *BY_THREADS.values(),
    Contestant("rainproof SCDL, weighted", _weighted),
    Contestant("rainproof Sample.compress(2**16)", _compress),
    BINCOUNT,
    Contestant("relplot binned ECE", _relplot_binned, peer="relplot"),
    CURVE,
    Contestant("torchmetrics binary_calibration_error", _torchmetrics, peer="torchmetrics"),
    Contestant("netcal ECE", _netcal, peer="netcal"),
    SMOOTH,
)
# Enough to judge the targets on a calibrated forecaster too: what the others do hardly depends on
# the outcomes.
CALIBRATED = (FLOOR, *BY_THREADS.values(), BINCOUNT, CURVE)
