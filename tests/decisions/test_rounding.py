"""The numbers that decide the rounding are uniform, for ids as people have them, and independent
between seeds.
"""

from __future__ import annotations

import numpy as np
from helpers.cases import for_each
from scipy import stats

from rainproof.decisions._rounding import key_of, uniforms
from rainproof.decisions.ids import as_ids, id_numbers

N = 1 << 16
COUNT = np.arange(N)
IDS = {
    "counted from 0": COUNT,
    "negative": -1 - COUNT,
    "every thousandth": 1000 * COUNT + 17,
    "powers of two apart": COUNT << 40,
    "bytes of an address": COUNT << 48 | 7,
    "from the top": np.uint64(2**64 - 1) - COUNT.astype(np.uint64),
    "a common beginning": np.char.add("patient-", COUNT.astype(str)),
    "a common end": np.char.add(COUNT.astype(str), "@example.org"),
    "fixed width": np.char.mod("%08x", COUNT),
    "leading zeros": np.char.mod("0%d", COUNT),
    "two words": np.char.add(np.char.mod("%d", COUNT // 256), np.char.mod("/%d", COUNT % 256)),
}
SEEDS = (0, 1, 2**63)
SURE = 1e-4  # about 200 p-values are looked at, all of fixed inputs


def draw(ids, seed):
    return uniforms(id_numbers(as_ids(ids)), key_of(seed))


@for_each("seed", SEEDS)
@for_each("case", IDS)
def test_uniform(case, seed):
    """Kolmogorov and Smirnov over all, chi-square over 256 classes, of u and of its low bits."""
    u = draw(IDS[case], seed)
    assert u.min() >= 0
    assert u.max() < 1
    assert stats.kstest(u, "uniform").pvalue > SURE
    for part in (u, u * 2**16 % 1, u * 2**45 % 1):
        assert stats.chisquare(np.bincount((256 * part).astype(int), minlength=256)).pvalue > SURE


@for_each("case", IDS)
def test_neighbours_do_not_know_of_each_other(case):
    """Pairs of neighbouring ids over 16 x 16 classes, and rank correlations at a few distances."""
    u = draw(IDS[case], 0)
    pairs = (16 * u[:-1:2]).astype(int) * 16 + (16 * u[1::2]).astype(int)
    assert stats.chisquare(np.bincount(pairs, minlength=256)).pvalue > SURE
    for lag in (1, 2, 10, 256):
        assert stats.spearmanr(u[:-lag], u[lag:]).pvalue > SURE


@for_each("pair", [(0, 1), (1, 2), (0, 2**32), (5, 2**63 + 5), (2**64 - 1, 0)])
@for_each("case", ["counted from 0", "a common beginning"])
def test_seeds_do_not_know_of_each_other(case, pair):
    first, second = (draw(IDS[case], seed) for seed in pair)
    joint = (16 * first).astype(int) * 16 + (16 * second).astype(int)
    assert stats.chisquare(np.bincount(joint, minlength=256)).pvalue > SURE
    assert not np.intersect1d(first, second).size  # no stretch of one stream in the other


def test_every_bit_of_the_id_and_of_the_seed_moves_half_of_the_bits():
    """Avalanche: over 2,000 ids each flipped input bit flips each of the 32 top output bits about
    half the time.
    """
    x = np.random.default_rng(5).integers(0, 2**64, 2000, dtype=np.uint64)
    base = (uniforms(x, key_of(9)) * 2**32).astype(np.int64)
    # 64 x 32 proportions: one beyond this is a 1-in-500 event
    chance = 4.9 * np.sqrt(0.25 / len(x))
    for bit in range(64):
        moved = (uniforms(x ^ np.uint64(1 << bit), key_of(9)) * 2**32).astype(np.int64) ^ base
        shares = (moved[:, None] >> np.arange(32) & 1).mean(axis=0)
        assert np.abs(shares - 0.5).max() < chance
        reseeded = (uniforms(x, key_of(9 ^ 1 << bit)) * 2**32).astype(np.int64) ^ base
        assert abs((reseeded[:, None] >> np.arange(32) & 1).mean() - 0.5) < chance / 5
