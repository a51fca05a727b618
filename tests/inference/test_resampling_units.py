"""What is redrawn, against the slow and obvious way: rows, one by one."""

from __future__ import annotations

import numpy as np
import pytest
from helpers.cases import for_each
from helpers.strategies import samples
from hypothesis import given
from hypothesis import strategies as st

import rainproof
from rainproof.core.arguments import as_sample
from rainproof.inference._draws import binomials, binomials_along, multinomial, repeats, tosses
from rainproof.inference.resampling import Draw, _UnevenResampler, as_resampler, coins, whole


def random_rows(n=400, seed=0, decimals=None, weighted=False):
    rng = np.random.default_rng(seed)
    p = rng.random(n) if decimals is None else rng.random(n).round(decimals)
    return (rng.random(n) < p).astype(int), p, rng.exponential(size=n) if weighted else None


def means(draws):
    """Mean and variance of the events, and the mean weight, over many draws."""
    positive = np.array([draw.positive for draw in draws], float)
    return positive.mean(axis=0), positive.var(axis=0)


def outcomes(atoms, rng, repeated, chance):
    """One sample of a population with these event probabilities."""
    (draw,) = atoms.outcomes([chance])(rng, repeated)
    return Draw(draw.weight, draw.spread()[0])


KINDS = {
    "rows": lambda: rainproof.Sample(*random_rows()[:2]),
    "ties": lambda: rainproof.Sample(*random_rows(decimals=1)[:2]),
    "some ties": lambda: rainproof.Sample(*random_rows(decimals=2)[:2]),
    "weights": lambda: rainproof.Sample(
        *random_rows()[:2], sample_weight=random_rows(weighted=True)[2]
    ),
    "weights and ties": lambda: rainproof.Sample(
        *random_rows(decimals=1)[:2], sample_weight=random_rows(weighted=True)[2]
    ),
    "cells": lambda: rainproof.Sample(*random_rows()[:2]).compress(64),
    "cells of doubled rows": lambda: rainproof.Sample(
        *random_rows()[:2], sample_weight=np.full(400, 2.0)
    ).compress(64),
    "uneven cells": lambda: rainproof.Sample(
        *random_rows()[:2], sample_weight=random_rows(weighted=True)[2]
    ).compress(16),
}
every_kind = pytest.mark.parametrize("kind", KINDS)


@every_kind
def test_atoms_hold_the_sample(kind):
    sample = KINDS[kind]()
    atoms, table = as_resampler(sample), sample.distinct()
    assert atoms.n == sample.n == atoms.units
    np.testing.assert_allclose(atoms.distinct, table.prob, rtol=1e-15)
    np.testing.assert_allclose(atoms.weight, table.negative + table.positive, rtol=1e-12)
    np.testing.assert_allclose(atoms.observed().positive, table.positive, rtol=1e-12, atol=1e-12)
    assert atoms.observed().weight is None


@every_kind
def test_redrawn_outcomes_have_the_mean_and_the_variance_of_coins(kind):
    """Var of the weight of events is p (1 - p) times the sum of the squared weights, at each
    prediction.
    """
    sample = KINDS[kind]()
    atoms, rng = as_resampler(sample), np.random.default_rng(1)
    chance = 0.2 + 0.5 * atoms.prob
    coin = atoms.coin(chance)
    mean, variance = means([atoms.redraw(rng, coin) for _ in range(1500)])
    expected = atoms.expected(chance).positive
    squares = squared_weights(sample)
    at = chance if atoms.start is None else chance[atoms.start]
    spread = squares * at * (1 - at)
    assert np.abs(mean - expected).max() < 5 * np.sqrt(spread.max() / 1500)
    assert (np.abs(variance - spread) < 0.35 * spread + 1e-12).all()


def squared_weights(sample):
    table = sample.distinct()
    if sample.grid is not None:
        cells = sample.cells
        return np.bincount(np.unique(cells.slot >> 1, return_inverse=True)[1], cells.squares)
    w = np.ones(sample.n) if sample.sample_weight is None else sample.sample_weight
    return np.bincount(np.searchsorted(table.prob, sample.y_prob), w**2)


@every_kind
def test_the_bootstrap_keeps_means_and_has_the_variance_of_drawn_rows(kind):
    sample = KINDS[kind]()
    atoms, rng = as_resampler(sample), np.random.default_rng(2)
    draws = [atoms.resample(rng) for _ in range(1500)]
    table = sample.distinct()
    weight = np.array([draw.weight for draw in draws], float)
    total = table.negative + table.positive
    squares = squared_weights(sample)
    # n times the variance of w 1{row is here}, rows drawn with equal chances
    spread = squares - total**2 / sample.n
    assert np.abs(weight.mean(axis=0) - total).max() < 5 * np.sqrt(squares.max() / 1500)
    assert (np.abs(weight.var(axis=0) - spread) < 0.35 * spread + 1e-9).all()
    positive, _ = means(draws)
    assert np.abs(positive - table.positive).max() < 5 * np.sqrt(squares.max() / 1500)


@every_kind
def test_repeated_predictions_with_drawn_outcomes(kind):
    sample = KINDS[kind]()
    atoms, rng = as_resampler(sample), np.random.default_rng(3)
    chance = 0.9 - 0.6 * atoms.prob
    draws = [outcomes(atoms, rng, atoms.repeat(rng), chance) for _ in range(1500)]
    positive, _ = means(draws)
    squares = squared_weights(sample)
    assert np.abs(positive - atoms.expected(chance).positive).max() < 5 * np.sqrt(
        squares.max() / 1500
    )


def test_many_repetitions_are_drawn_as_binomial_and_multinomial_numbers():
    y, p, _ = random_rows(n=5000, decimals=1)
    atoms, rng = as_resampler(rainproof.Sample(y, p)), np.random.default_rng(4)
    assert len(atoms.prob) == 11
    repeated = atoms.repeat(rng)
    assert repeated.sum() == 5000
    drawn = outcomes(atoms, rng, repeated, atoms.prob)
    assert (drawn.positive <= repeated).all()
    assert atoms.resample(rng).weight.sum() == 5000


def test_groups_come_whole():
    y, p, w = random_rows(60, weighted=True)
    groups = np.repeat(list("edcba"), 12)
    atoms = as_resampler(rainproof.Sample(y, p, sample_weight=w, groups=groups))
    assert atoms.units == 5
    rng = np.random.default_rng(0)
    position = np.argsort(p)
    seen = set()
    for draw in [atoms.resample(rng) for _ in range(50)]:
        times = (draw.weight / w[position]).round(9)
        by_group = [set(times[groups[position] == g].tolist()) for g in "abcde"]
        assert all(len(one) == 1 for one in by_group)
        seen.add(sum(one.pop() for one in by_group))
    assert seen == {5.0}


def test_rows_without_weight_and_their_groups_are_left_out():
    y, p, w = random_rows(20, weighted=True)
    w[::2] = 0
    groups = np.array([7, 8] * 5 + [7, 9] * 5)  # the rows of 7 have no weight
    atoms = as_resampler(rainproof.Sample(y, p, sample_weight=w, groups=groups))
    assert atoms.n == 10
    assert atoms.units == 2


@for_each(
    "groups, message",
    [
        ([1, 2], r"groups must have one entry for each of the 4 rows; its shape is \(2,\)"),
        ([1, 1, 1, 1], "groups must have at least two different values; all rows have the same"),
        (
            [1, 2, np.nan, np.nan],
            r"groups must not contain missing values; 2 values do, the first is groups\[2\]",
        ),
        (
            ["a", None, "b", "b"],
            r"groups must not contain missing values; 1 value does, the first is groups\[1\]",
        ),
    ],
)
def test_groups_that_cannot_be(groups, message):
    with pytest.raises(rainproof.InputError, match=message):
        as_resampler(rainproof.Sample([0, 1, 1, 0], [0.1, 0.2, 0.3, 0.4], groups=groups))


def test_compressed_samples_have_no_groups():
    sample = rainproof.Sample([0, 1, 1, 0], [0.1, 0.2, 0.3, 0.4]).compress(8)
    with pytest.raises(
        rainproof.InputError, match="groups need rows: a compressed sample does not keep them"
    ):
        as_sample(sample, groups=[0, 0, 1, 1])


def test_coins_are_fair_to_the_last_bit():
    chance = np.array([0.0, 1.0, 2.0**-20, 1 - 2.0**-20, 0.5, 1 / 3])
    heads = coins(chance)(np.random.default_rng(0), 20_000)
    assert not heads[:, 0].any()
    assert heads[:, 1].all()
    assert heads[:, 2].sum() <= 2
    assert heads[:, 3].sum() >= 19_998
    assert heads[:, 4:].mean(axis=0) == pytest.approx([0.5, 1 / 3], abs=0.015)


def test_a_coin_looks_past_its_first_bits():
    """Chances that share their first 16 bits differ in the rest: here by one head in 2^16
    tosses.
    """
    chance = np.full(1 << 20, 0.25 + 0.75 * 2.0**-16)
    heads = sum(int(coins(chance)(np.random.default_rng(k), 1).sum()) for k in range(8))
    n = 8 << 20
    assert abs(heads - n * chance[0]) < 4 * np.sqrt(n * 0.1875)


def test_uneven_cells_are_told_from_even_ones():
    y, p, w = random_rows(weighted=True)
    assert isinstance(
        as_resampler(rainproof.Sample(y, p, sample_weight=w).compress(16)), _UnevenResampler
    )
    even = as_resampler(
        rainproof.Sample(y, p, sample_weight=np.where(p < 0.5, 1.0, 3.0)).compress(16)
    )
    assert not isinstance(even, _UnevenResampler)
    assert set(even.unit.tolist()) == {1.0, 3.0}


@given(samples(), st.sampled_from([None, 2, 64]))
def test_any_sample_can_be_redrawn(sample, m):
    y, p, w = sample
    made = rainproof.Sample(y, p, sample_weight=w)
    atoms = as_resampler(made if m is None else made.compress(m))
    rng = np.random.default_rng(0)
    draws = [atoms.redraw(rng, atoms.coin(atoms.prob)), atoms.resample(rng)]
    draws.append(outcomes(atoms, rng, atoms.repeat(rng), atoms.prob))
    for draw in draws:
        weight = atoms.weight if draw.weight is None else draw.weight
        assert (draw.positive >= 0).all()
        assert (draw.positive <= weight * (1 + 1e-12)).all()
    assert (draws[0].positive[atoms.distinct == 0] == 0).all()


@for_each("n", [1, 7, 19, 40, 1500, 10**6])
@for_each("p", [1e-12, 1e-4, 0.02, 0.3, 0.5, 0.7, 0.99, 1 - 1e-9])
def test_binomial_numbers_follow_their_law(n, p):
    size = 20_000
    source = np.random.default_rng(n).bit_generator
    check_binomial(binomials(source.capsule, np.full(size, n), np.full(size, p), 1)[0], n, p)


def check_binomial(drawn, n, p):
    """The largest gap between the distribution functions, which Massart bounds for any law."""
    from scipy.stats import binom

    at = np.unique(drawn)
    below = np.searchsorted(np.sort(drawn), at, "right") / len(drawn)
    assert np.abs(below - binom.cdf(at, n, p)).max() < np.sqrt(np.log(2 / 1e-6) / (2 * len(drawn)))


@for_each("n", [1, 19, 1500])
def test_binomial_numbers_of_several_chances_differ_by_the_tosses_between(n):
    """Each row has its own law; the heads that are won or lost from one row to the next have one
    too.
    """
    chances, size = np.array([0.3, 0.3, 0.31, 0.9, 0.2, 0.0, 1.0, 0.999]), 20_000
    source = np.random.default_rng(n).bit_generator
    drawn = binomials_along(
        source.capsule, np.full(size, n), np.repeat(chances[:, None], size, axis=1)
    )
    for row, chance in zip(drawn, chances, strict=True):
        check_binomial(row, n, chance)
    for change, moved in zip(np.diff(drawn, axis=0), np.diff(chances), strict=True):
        check_binomial(change * (1 if moved > 0 else -1), n, abs(moved))


def test_binomial_numbers_at_the_ends():
    source = np.random.default_rng(0).bit_generator
    count, chance = np.array([0, 0, 5, 5, 10**9, 10**9]), np.array([0.0, 1.0, 0.0, 1.0, 0.0, 1.0])
    drawn = binomials(source.capsule, count, chance, 1)[0]
    assert drawn.tolist() == [0, 0, 0, 5, 0, 10**9]


def test_multinomial_numbers_add_up_and_have_their_mean_and_variance():
    source, count = np.random.default_rng(0).bit_generator, np.array([0, 3, 100, 0, 4000, 20, 0])
    drawn = np.array([multinomial(source.capsule, count) for _ in range(4000)])
    assert (drawn.sum(axis=1) == 4123).all()
    spread = count * (1 - count / 4123)
    assert (np.abs(drawn.mean(axis=0) - count) <= 5 * np.sqrt(spread / 4000)).all()
    assert (np.abs(drawn.var(axis=0) - spread) <= 0.15 * spread).all()


@for_each("n", [1, 2, 1023, 1024, 1700, 4096, 99_999])
def test_rows_drawn_with_replacement_follow_their_law(n):
    """Counts add up; one is binomial, at the first, the middle and the last places alike; two are
    multinomial.
    """
    from scipy.stats import binom, chi2

    source, times = np.random.default_rng(n).bit_generator, max(40, 2_000_000 // max(n, 200))
    drawn = np.array([repeats(source.capsule, n) for _ in range(times)])
    assert (drawn.sum(axis=1, dtype=int) == n).all()
    for part in np.array_split(drawn, min(n, 3), axis=1):
        seen = np.bincount(np.minimum(part.ravel(), 6), minlength=7)
        chance = binom.pmf(np.arange(7), n, 1 / n)
        chance[6] = binom.sf(5, n, 1 / n)
        due = part.size * chance
        some = due > 5
        assert ((seen - due)[some] ** 2 / due[some]).sum() < chi2.isf(1e-6, max(1, some.sum() - 1))
        assert (seen[chance < 1e-15] == 0).all()
    # a sum over k places is binomial too: not too narrow, as the total is fixed, and not that of
    # Poisson
    if n > 2:
        k = n // 2
        half = drawn[:, :k].sum(axis=1, dtype=float)
        assert half.var() == pytest.approx(k * (1 - k / n), rel=5 * np.sqrt(2 / times))
        assert abs(half.mean() - k) < 5 * np.sqrt(k * (1 - k / n) / times)


def test_rows_are_drawn_by_the_second_random_number_too():
    """Counts of five and more come only from the few bytes that are left over."""
    from scipy.stats import binom

    source, n = np.random.default_rng(0).bit_generator, 100_000
    drawn = np.concatenate([repeats(source.capsule, n) for _ in range(50)])
    for k in (5, 6, 7, 8):
        due = len(drawn) * binom.pmf(k, n, 1 / n)
        assert abs((drawn == k).sum() - due) < 5 * np.sqrt(due)


@for_each("kind", [np.uint8, np.int64])
def test_outcomes_in_several_populations_are_compared_with_the_same_bits(kind):
    """Against a loop over repetitions: a row that fills a batch by itself, rows never drawn,
    probabilities 0 and 1.
    """
    rng = np.random.default_rng(5)
    repeated = rng.poisson(1.0, 3000).astype(kind)
    repeated[[7, 1500]] = 250 if kind is np.uint8 else 2600
    rates = [rng.random(3000), rng.random(3000), np.zeros(3000), np.ones(3000)]
    source, ends = np.random.PCG64(1), whole([np.minimum.reduce(rates), np.maximum.reduce(rates)])
    events, row, outcome = tosses(source.capsule, repeated, whole(rates), ends)
    found = Draw(repeated, events, row, outcome).spread()
    assert found.shape == (4, 3000)
    assert (found[2] == 0).all()
    assert (found[3] == repeated).all()
    assert ((found[:2].min(axis=0) >= 0) & (found[:2].max(axis=0) <= repeated)).all()
    total = repeated.sum()
    for k in range(2):
        assert found[k].sum() == pytest.approx(
            (repeated * rates[k]).sum(), abs=4 * np.sqrt(total / 4)
        )
    # ordered probabilities have ordered outcomes
    low, high = np.minimum(*rates[:2]), np.maximum(*rates[:2])
    ordered = whole([low, high])
    events, row, outcome = tosses(source.capsule, repeated, ordered, ordered)
    one, other = Draw(repeated, events, row, outcome).spread()
    assert (one <= other).all()
    assert len(row) == (other - one).sum()
    assert len(row) == pytest.approx((repeated * (high - low)).sum(), abs=4 * np.sqrt(total / 4))
    nothing = tosses(source.capsule, np.zeros(3000, kind), ordered, ordered)
    assert nothing[0].sum() == len(nothing[1]) == 0


@for_each("kind", [np.uint8, np.int64])
def test_rows_of_a_cluster_share_random_numbers(kind):
    """All of them: against a loop over repetitions, in which each cluster has one number for each
    of its own.
    """
    rng = np.random.default_rng(6)
    cluster, times = rng.integers(0, 300, 3000), rng.poisson(1.0, 300).astype(kind)
    times[7] = 250
    first, shared = (
        np.cumsum(times, dtype=np.int64) - times,
        rng.integers(2**32, size=times.sum(), dtype=np.uint32),
    )
    rates = whole([rng.random(3000), rng.random(3000)])
    ends = np.stack([rates.min(axis=1), rates.max(axis=1)], axis=1)
    repeated = times[cluster]
    source = np.random.PCG64(1)
    found = Draw(
        None, *tosses(source.capsule, repeated, rates, ends, cluster, first, shared, 2**32)
    ).spread()
    wanted = [
        [
            (shared[first[c] : first[c] + times[c]] >> 1 < rate).sum()
            for c, rate in zip(cluster, one, strict=True)
        ]
        for one in rates.T
    ]
    assert found.tolist() == wanted
    none = Draw(
        None, *tosses(source.capsule, repeated, rates, ends, cluster, first, shared, 0)
    ).spread()
    due = rates.T / 2.0**31 * repeated
    assert none.sum() == pytest.approx(due.sum(), abs=4 * np.sqrt(repeated.sum()))
    assert (none != found).any()


@for_each("correlation", [0.0, 0.3, 1.0])
@for_each("decimals", [None, 1])
def test_outcomes_of_a_cluster_have_the_correlation_that_is_asked_for(correlation, decimals):
    y, p, _ = random_rows(400, decimals=decimals)
    groups = np.repeat(np.arange(200), 2)
    atoms, rng = as_resampler(rainproof.Sample(y, p, groups=groups)), np.random.default_rng(2)
    draw = atoms.outcomes([np.full(400, 0.2), np.full(400, 0.3)], correlation)
    totals = []
    for _ in range(1500):
        (one,) = draw(rng, atoms.count)
        low, high = one.spread().sum(axis=1)
        assert low <= high
        totals.append((low, high))
    mean, variance = np.mean(totals, axis=0), np.var(totals, axis=0)
    rate = np.array([0.2, 0.3])
    each = rate * (1 - rate)
    np.testing.assert_allclose(mean, 400 * rate, rtol=0.02)
    np.testing.assert_allclose(variance, 400 * each * (1 + correlation), rtol=0.15)
    times = atoms.repeat(rng)[np.argsort(atoms.group, kind="stable")].reshape(200, 2)
    assert (times[:, 0] == times[:, 1]).all()
    assert times.sum() == 400


def test_the_names_of_groups_change_nothing():
    rng = np.random.default_rng(9)
    p, q, group = rng.random((3, 300))
    y, group = rng.random(300) < p, (40 * group).astype(int)
    for found in (
        lambda names: rainproof.confidence_interval(y, p, groups=names, n_resamples=99, rng=0),
        lambda names: rainproof.compare(
            y, p, q, groups=names, measure="brier_score", n_resamples=99, rng=0
        ),
    ):
        assert found(group) == found(group.astype(str)) == found(group * 7 % 41)
