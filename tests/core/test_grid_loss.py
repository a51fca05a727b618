"""The losses on a grid are computed once and shared."""

from __future__ import annotations

import numpy as np
import pytest

import rainproof
from rainproof.core import tables as module
from rainproof.core.curve import SwapCurve

rng = np.random.default_rng(3)
P = rng.random(3000)
Y = rng.random(3000) < P**1.5


def test_each_grid_is_rounded_and_swept_once(monkeypatch):
    rounded, swept = [], []
    round_once, curve_once = module.bins, SwapCurve.from_table
    monkeypatch.setattr(module, "bins", lambda *sums: rounded.append(sums[3]) or round_once(*sums))
    monkeypatch.setattr(
        SwapCurve, "from_table", lambda t, swaps="all": swept.append(t) or curve_once(t, swaps)
    )
    sample = rainproof.Sample(Y, P)
    profile, choice, bound = (
        rainproof.measures.soft_binned_profile(sample),
        rainproof.choose_grid(sample),
        rainproof.guarantee(sample),
    )
    curve = rainproof.regret_curve(sample, grid=16)
    assert sorted(rounded) == sorted(set(rounded))
    assert len(swept) == len(choice.grids)
    assert curve.loss == choice.losses[choice.grids == 16] == bound.plug_ins[bound.grids == 16]
    assert profile.losses[profile.grids == 16] == sample.on_grid(16).worst[0] / 3000


def test_losses_on_one_grid():
    found = rainproof.Sample(Y, P).on_grid(8)
    assert found.loss == pytest.approx(2 * found.curve().chord.value)
    assert found.bound == pytest.approx(2 * found.worst[0] / 3000 + 2 / 8)
    assert found.curve("monotone").chord.loss <= found.loss
    assert found.curve("monotone") is found.curve("monotone")
    hard = rainproof.Sample(Y, P).on_grid(8, "hard")
    assert hard.weight[0] == np.count_nonzero(P < 1 / 8)


def test_large_grids_are_not_kept(monkeypatch):
    sample = rainproof.Sample(Y, P)
    assert sample.on_grid(16) is sample.on_grid(16)
    monkeypatch.setattr(module, "_KEPT_POINTS", 16)
    assert sample.on_grid(32) is not sample.on_grid(32)
    assert sample.on_grid(32).loss == sample.on_grid(32).loss
