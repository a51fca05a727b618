"""Rows in parts: whole draws, each in one part, none lost; and many predictions as few."""

from __future__ import annotations

import numpy as np
import pytest

import rainproof
from rainproof.recalibration.division import divide, read_rows


def draw(n, seed=0, power=1.5):
    rng = np.random.default_rng(seed)
    p = rng.beta(0.8, 1.6, n)
    return p, (rng.random(n) < p**power).astype(int)


def read(p, y, **options):
    names = ("sample_weight", "pos_label", "groups", "by")
    return read_rows(p, y, {name: options.get(name) for name in names}, None)


def test_the_certificate_is_from_rows_that_the_map_has_not_seen():
    p, y = draw(400)
    whole, _ = divide(read(p, y), np.random.default_rng(1))
    held = whole.held_out[0]
    assert held.n == 100
    assert whole.weight.sum() == 300
    seen = np.sort(
        np.concatenate(
            [held.prob, np.repeat(whole.prob, whole.weight.sum(axis=(0, 1)).astype(int))]
        )
    )
    np.testing.assert_allclose(seen, np.sort(p), atol=2**-51, rtol=0)
    assert held.event.sum() + whole.weight[:, 1].sum() == y.sum()
    sizes = whole.weight.sum(axis=(1, 2))
    assert np.ptp(sizes) <= 1


def test_groups_stay_together():
    p, y = draw(600)
    groups = np.arange(600) // 6
    whole, segments = divide(
        read(p, y, groups=groups, by=np.arange(600) % 2), np.random.default_rng(1)
    )
    fold_of, called, group_of = {}, {}, dict(zip(p, groups, strict=True))
    for held in whole.held_out:
        for q, g in zip(held.prob, held.units.unit, strict=True):
            assert called.setdefault((id(held), g), group_of[q]) == group_of[q]
            fold_of.setdefault(group_of[q], id(held))
            assert fold_of[group_of[q]] == id(held)
        assert held.n == 150
    fitted_groups = set(groups[np.isin(p, whole.prob)])
    assert len(fitted_groups) == 50
    assert not fitted_groups & set(fold_of)
    assert sum(part.held_out[0].n for part in segments.values()) == 150


def test_rows_of_a_compressed_sample_are_divided_without_losing_any():
    p, y = draw(20_000)
    sample = rainproof.Sample(y, p).compress(1024)
    whole, none = divide(read(sample, None), np.random.default_rng(0))
    assert none == {}
    held = whole.held_out[0]
    assert held.n + whole.weight.sum() == 20_000
    assert held.n == pytest.approx(5000, abs=300)
    assert held.counts[held.event == 1].sum() + whole.weight[:, 1].sum() == y.sum()
    assert (np.diff(whole.prob) > 0).all()


def test_unequal_weights_count_as_rows_of_the_effective_number():
    p, y = draw(1000)
    weight = np.where(np.arange(1000) % 2, 3.0, 0.0)
    whole, _ = divide(read(p, y, sample_weight=weight), np.random.default_rng(0))
    assert whole.weight.sum() + whole.held_out[0].n == pytest.approx(500)


def test_many_rows_are_pooled():
    rng = np.random.default_rng(0)
    p = rng.random(60_000)
    whole, _ = divide(read(p, (rng.random(60_000) < p).astype(int)), rng)
    assert len(whole.prob) <= 1 << 15
    assert whole.weight.sum() == 45_000
    assert (np.diff(whole.prob) > 0).all()


def test_rows_held_out_do_not_move_the_cells_of_a_compressed_fit():
    p, y = draw(2000)
    whole, _ = divide(read(rainproof.Sample(y, p).compress(32), None), np.random.default_rng(0))
    assert (whole.prob * 64 % 2 == 1).all()  # the middles of cells


def test_segments_that_share_cells_are_pooled():
    rng = np.random.default_rng(0)
    p = rng.integers(0, 8, 400) / 8
    samples = rainproof.scan(
        {"p": p, "y": rng.random(400) < p, "s": np.arange(400) % 2}, by="s", grid=8
    )
    whole, parts = divide(read(samples, None), rng)
    assert (np.diff(whole.prob) > 0).all()
    assert whole.weight.sum() == sum(part.weight.sum() for part in parts.values())
