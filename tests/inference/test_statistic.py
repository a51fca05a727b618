"""Measures of redrawn samples are those of the rows that they stand for."""

from __future__ import annotations

import numpy as np
import pytest
from helpers.cases import for_each
from helpers.strategies import samples
from hypothesis import given, settings
from hypothesis import strategies as st

import rainproof
from rainproof.core.cells import split, sum_on_grid
from rainproof.inference._draws import repeats
from rainproof.inference._soft_sums import placed, soft_sums
from rainproof.inference.resampling import Draw, as_resampler, draw_batches, each_time
from rainproof.inference.statistics import SoftBinned, as_statistic, as_test_statistic, bootstrapped
from rainproof.measures.catalogue import CATALOGUE

close = {"abs": 1e-12, "rel": 1e-9}
QUICK = [name for name in CATALOGUE if name != "lower_distance_to_calibration"]


def rows_of(atoms, draw):
    """The redrawn sample as weighted rows."""
    weight = atoms.weight if draw.weight is None else draw.weight.astype(float)
    prob = atoms.distinct
    positive = draw.positive.astype(float)
    y = np.repeat([0, 1], len(prob))
    return y, np.tile(prob, 2), np.concatenate([np.maximum(weight - positive, 0), positive])


@pytest.mark.parametrize("name", QUICK)
@given(sample=samples(), seed=st.integers(0, 100))
@settings(max_examples=25)
def test_a_redrawn_sample_has_the_value_of_its_rows(name, sample, seed):
    y, p, w = sample
    atoms, rng = as_resampler(rainproof.Sample(y, p, sample_weight=w)), np.random.default_rng(seed)
    evaluate = as_statistic(name).on(atoms)
    for draw in (atoms.observed(), atoms.redraw(rng, atoms.coin(atoms.prob)), atoms.resample(rng)):
        label, prob, weight = rows_of(atoms, draw)
        expected = CATALOGUE[name](label, prob, sample_weight=weight)
        slack = {"abs": 3e-4} if name == "smooth_ece" else close
        assert evaluate(draw) == pytest.approx(expected, **slack)


@for_each("name", ["soft_binned_cdl", "soft_binned_cdl[hard]"])
@for_each("n", [50, 3000])
@for_each("scale", [1.0, 1e-3, 1e-8])
def test_the_short_way_to_scdl_balances_on_every_grid(name, n, scale):
    """Tiny predictions balance on grids of many cells, past those that are held densely."""
    rng = np.random.default_rng(n)
    p = rng.random(n) * scale
    y = (rng.random(n) < 0.5 * p).astype(int)
    atoms = as_resampler(rainproof.Sample(y, p))
    evaluate = as_statistic(name).on(atoms)
    for draw in [atoms.observed(), *(atoms.resample(rng) for _ in range(3))]:
        label, prob, weight = rows_of(atoms, draw)
        assert evaluate(draw) == pytest.approx(
            CATALOGUE[name](label, prob, sample_weight=weight), **close
        )


@for_each("name", ["soft_binned_cdl", "soft_binned_cdl[hard]"])
@for_each("n, power", [(300, 1.0), (300, 3.0), (3000, 1.0), (3000, 3.0)])
def test_rows_drawn_by_outcome_have_the_value_of_the_rows(name, n, power):
    rng = np.random.default_rng(n)
    p = rng.random(n)
    y = (rng.random(n) < p**power).astype(int)
    sample = rainproof.Sample(y, p)
    one = bootstrapped(as_statistic(name).on(as_resampler(sample)), as_resampler(sample))
    order = np.lexsort([p, y])
    for seed in range(30):
        source = np.random.default_rng(seed)
        times = repeats(source.bit_generator.capsule, n)
        rows = np.repeat(order, times)
        assert one(np.random.default_rng(seed)) == pytest.approx(
            CATALOGUE[name](y[rows], p[rows]), **close
        )


@for_each("name", ["soft_binned_cdl", "soft_binned_cdl[hard]"])
def test_resamples_without_the_only_event_need_a_finer_grid(name, monkeypatch):
    n, rng = 2000, np.random.default_rng(0)
    p, y = np.sort(rng.random(n)) * 1e-4, np.arange(n) == 700
    atoms = as_resampler(rainproof.Sample(y, p))
    one, order = bootstrapped(as_statistic(name).on(atoms), atoms), np.argsort(y, kind="stable")
    finer, evaluate = [], SoftBinned.__call__
    monkeypatch.setattr(
        SoftBinned, "__call__", lambda self, draw: finer.append(draw) or evaluate(self, draw)
    )
    for seed in range(10):
        source = np.random.default_rng(seed)
        rows = np.repeat(order, repeats(source.bit_generator.capsule, n))
        assert one(np.random.default_rng(seed)) == pytest.approx(
            CATALOGUE[name](y[rows], p[rows]), **close
        )
    assert 0 < len(finer) < 10


@for_each("soft", [True, False])
@for_each("m", [1, 3, 8, 1024])
@for_each("n", [1, 2, 7, 300, 3000])
@for_each("dtype", [np.uint8, np.int64, np.float64])
def test_amounts_are_shared_out_by_outcome_as_rows_are_rounded(dtype, n, m, soft):
    rng = np.random.default_rng(n + m)
    p = np.sort(np.where(rng.random(n) < 0.2, rng.integers(0, 3, n) / 2, rng.random(n)))
    y, amount = rng.integers(0, 2, n, np.uint8), rng.integers(0, 5, n).astype(dtype)
    expected = []
    for event in (0, 1):
        cell, rise = split(p[y == event], m, soft=soft)
        some = amount[y == event]
        expected.append(sum_on_grid(cell, some * (1 - rise), some * rise, m))
    found = np.empty((1, 2 * (m + 1)))
    soft_sums(*placed(p, y, m, soft), np.concatenate([amount[y == 0], amount[y == 1]])[None], found)
    np.testing.assert_allclose(found.reshape(2, m + 1), expected, rtol=1e-12, atol=1e-12)
    found = np.empty((1, m + 1))
    soft_sums(*placed(p, None, m, soft), amount[None], found)
    np.testing.assert_allclose(found[0], np.sum(expected, axis=0), rtol=1e-12, atol=1e-12)


@for_each("y", [[0, 1], [0, 0], [1, 1], [0]])
def test_few_rows_and_one_class_are_resampled(y):
    sample = rainproof.Sample(np.array(y * 40), np.linspace(0, 1, 40 * len(y)))
    one = bootstrapped(
        as_statistic("soft_binned_cdl").on(as_resampler(sample)), as_resampler(sample)
    )
    assert all(0 <= one(np.random.default_rng(seed)) <= 1 for seed in range(20))


def test_a_calibrated_draw_has_scdl_0():
    atoms = as_resampler(rainproof.Sample([0, 1, 1, 0], [0.0, 1.0, 0.5, 0.5]))
    assert as_statistic("soft_binned_cdl").on(atoms)(atoms.observed()) == 0.0


def test_functions_and_measures_are_statistics_too():
    def mine(sample):
        return sample.event_rate

    assert as_statistic(mine).name == "mine"
    assert as_statistic(CATALOGUE["smooth_ece"]).name == "smooth_ece"
    atoms = as_resampler(rainproof.Sample([0, 1, 1], [0.2, 0.4, 0.6]))
    assert as_statistic(mine).on(atoms)(atoms.observed()) == pytest.approx(2 / 3)


def test_an_unknown_measure_is_refused():
    with pytest.raises(
        rainproof.InputError,
        match=r"measure must be a function or one of soft_binned_cdl, .*it is 'ece'",
    ):
        as_statistic("ece")


@for_each("threads", [2, 3])
def test_redrawn_values_do_not_depend_on_the_number_of_threads(threads):
    rng = np.random.default_rng(0)
    p = rng.random(2000)
    atoms = as_resampler(rainproof.Sample((rng.random(2000) < p).astype(int), p))
    evaluate, told = as_statistic("soft_binned_cdl").on(atoms), []

    def one(stream):
        return [evaluate(atoms.resample(stream))]

    def tell(done, total):
        told.append((done, total))

    single = draw_batches(each_time(one), 100, np.random.default_rng(1))
    together = draw_batches(each_time(one), 100, np.random.default_rng(1), tell, threads=threads)
    np.testing.assert_array_equal(single, together)
    assert told[-1] == (100, 100)
    assert told == sorted(set(told))
    alone = []
    draw_batches(each_time(one), 100, np.random.default_rng(1), lambda done, _: alone.append(done))
    assert alone == [32, 64, 96, 100]
    np.testing.assert_array_equal(
        single, draw_batches(each_time(one), 100, np.random.default_rng(1), threads=threads)
    )


def test_an_error_in_a_thread_is_raised_and_ends_the_work():
    calls = []

    def one(stream):
        calls.append(1)
        raise ValueError("no")

    with pytest.raises(ValueError, match="no"):
        draw_batches(each_time(one), 1000, np.random.default_rng(1), threads=2)
    assert len(calls) <= 2


@for_each("name", ["soft_binned_cdl", "soft_binned_cdl[hard]", "brier_score"])
def test_samples_that_share_rows_have_the_values_of_each(name):
    """Five populations at once, from calibrated to far from it: as one sample after the other."""
    rng = np.random.default_rng(8)
    p = np.append(rng.random(2998), [0.0, 1.0])
    atoms = as_resampler(rainproof.Sample((rng.random(3000) < p).astype(int), p))
    rates = [
        np.clip(atoms.prob + step * np.sin(9 * atoms.prob), 0, 1)
        for step in (0, 0.01, 0.1, 0.5, -0.2)
    ]
    evaluate = as_statistic(name).on(atoms)
    (draw,) = atoms.outcomes(rates)(rng, atoms.repeat(rng))
    one_by_one = [evaluate(Draw(draw.weight, positive)) for positive in draw.spread()]
    assert evaluate.many(draw) == pytest.approx(one_by_one, **close)
    assert len(set(one_by_one)) >= 4  # SCDL is often 1/m


@for_each("name", ["combined", "soft_binned_cdl", "smooth_calibration_error"])
def test_a_batch_of_draws_has_the_values_of_each(name):
    """To the last bit, from the same random numbers: the size of a batch must not decide a tie."""
    rng = np.random.default_rng(9)
    p = rng.random(700)
    atoms = as_resampler(rainproof.Sample((rng.random(700) < p).astype(int), p))
    evaluate, coin = as_test_statistic(name).on(atoms), atoms.coin(atoms.prob)
    together = evaluate.many(atoms.redraws(np.random.default_rng(1), coin, 10))
    same = np.random.default_rng(1)
    assert together.tolist() == [evaluate(atoms.redraw(same, coin)) for _ in range(10)]
