"""One number for some rows, which decides how they are dealt: what it depends on, and what it does
not.
"""

from __future__ import annotations

import numpy as np
import pandas as pd
from helpers.cases import for_each
from hypothesis import given
from hypothesis import strategies as st

import rainproof
from rainproof import Sample
from rainproof.core import digests
from rainproof.core.segments import Segments

N = 60
RNG = np.random.default_rng(0)
P = RNG.random(N).astype(np.float32).astype(float)  # which single precision keeps
Y = (RNG.random(N) < P).astype(int)
W = RNG.choice([0.0, 0.5, 1.0, 3.0], N)
G = RNG.integers(0, 25, N)
KINDS = {
    "rows": {},
    "weights": {"sample_weight": W},
    "groups": {"groups": G},
    "both": {"sample_weight": W, "groups": G},
}


def made(kind="rows", at=slice(None), p=P, y=Y, **other):
    columns = {name: column[at] for name, column in KINDS[kind].items()}
    return Sample(np.asarray(y)[at], np.asarray(p)[at], **columns | other)


@for_each("kind", KINDS)
def test_order_and_storage_do_not_matter(kind):
    known = made(kind).digest
    shuffled = np.random.default_rng(1).permutation(N)
    assert made(kind, at=shuffled).digest == known
    assert made(kind, at=shuffled).in_order().digest == known
    assert made(kind, p=P.astype(np.float32), y=Y.astype(bool)).digest == known
    assert made(kind, p=pd.Series(P), y=pd.Series(Y)).digest == known
    words = np.array(["no", "yes"])[Y]
    assert made(kind, y=words, pos_label="yes").digest == known
    assert made(kind, by=np.arange(N) % 3).digest == known
    negative = np.where(P < 0.1, -0.0, P)
    assert made(kind, p=negative).digest == made(kind, p=np.where(P < 0.1, 0.0, P)).digest


def test_names_do_not_matter_and_groups_of_one_row_are_rows():
    names = np.array([f"patient {k * 7 % 25}" for k in G])
    assert Sample(Y, P, groups=names).digest == Sample(Y, P, groups=G).digest
    assert Sample(Y, P, groups=np.arange(N)).digest == Sample(Y, P).digest
    assert Sample(Y, P, groups=G).ungrouped().digest == Sample(Y, P).digest


@given(st.floats(1e-6, 1e6))
def test_the_scale_of_weights_does_not_matter(scale):
    for kind in ("weights", "both"):
        columns = {**KINDS[kind], "sample_weight": W * scale}
        assert Sample(Y, P, **columns).digest == made(kind).digest
    assert Sample(Y, P, sample_weight=np.full(N, scale)).digest == Sample(Y, P).digest


@for_each("kind", KINDS)
def test_what_a_row_is_matters(kind):
    row = int(np.flatnonzero(W)[0])
    other_y, other_p, other_w, other_g = Y.copy(), P.copy(), W.copy(), G.copy()
    other_y[row] = 1 - other_y[row]
    other_p[row] += 1e-5
    other_w[row] *= 1.001
    other_g[row] = 25
    assert made(kind, y=other_y).digest != made(kind).digest
    assert made(kind, p=other_p).digest != made(kind).digest
    assert Sample(Y, P, sample_weight=other_w).digest != made("weights").digest
    assert Sample(Y, P, groups=other_g).digest != made("groups").digest
    moved = G[np.random.default_rng(2).permutation(N)]  # the same sizes
    assert Sample(Y, P, groups=moved).digest != made("groups").digest
    assert Sample(Y, P).digest != Sample(Y[1:], P[1:]).digest


def test_the_last_bits_do_not_matter():
    rng = np.random.default_rng(3)
    p, w = rng.random(2000), rng.random(2000)
    y = (rng.random(2000) < p).astype(int)
    nearly = p / (1 + rng.uniform(-1e-15, 1e-15, 2000))
    one, other = Sample(y, p, sample_weight=w), Sample(y, nearly, sample_weight=w / 3)
    assert one.digest == other.digest
    few = p.round(1) * 0.9
    assert Sample(y, few).digest == Sample(y, few * (1 + 2e-16)).digest


def test_numbers_count_to_25_binary_digits():
    """From 1/2 to 1 what is alike is 2**-25 wide: half of it away, half of the numbers are
    alike.
    """
    prob = np.random.default_rng(8).uniform(0.5, 0.99, 600)

    def alike(step):
        pairs = zip(prob, prob + step, strict=True)
        return np.mean([Sample([1], [p]).digest == Sample([1], [q]).digest for p, q in pairs])

    assert alike(2.0**-25) == 0
    assert 0.4 < alike(2.0**-26) < 0.6
    assert 0.65 < alike(2.0**-27) < 0.85


def test_shares_are_rows():
    share = np.random.default_rng(4).choice([0.0, 0.5, 1.0], N)
    known = Sample(share, P, fractional=True)
    back = Sample(share[::-1], P[::-1], fractional=True)
    assert known.digest == back.digest
    assert Sample(share, P, fractional=True, groups=G).digest != known.digest
    assert Sample(Y, P, fractional=True).digest == Sample(Y, P).digest
    other = share.copy()
    other[0] = 0.25
    assert Sample(other, P, fractional=True).digest != known.digest


def test_cells_are_their_sums():
    first, second = Sample(Y[:25], P[:25]), Sample(Y[25:], P[25:])
    a, b = (one.compress(64) for one in (first, second))
    assert (a + b).digest == (b + a).digest == Sample(Y, P).compress(64).digest
    assert a.digest != b.digest
    heavy = [
        Sample(Y[at], P[at], sample_weight=1 + W[at]).compress(64)
        for at in (slice(25), slice(25, N))
    ]
    assert (heavy[0] + heavy[1]).digest == (heavy[1] + heavy[0]).digest


def test_a_base_rate_does_not_matter():
    assert Sample(Y, P, base_rate=0.1).digest == Sample(Y, P).digest
    assert (
        Sample(Y, P, base_rate=(0.1, 0.2)).compress(64).digest == Sample(Y, P).compress(64).digest
    )


def test_a_forecast_has_its_own_and_a_pair_has_both():
    both = Sample(Y, {"a": P, "b": P**2})
    assert both["a"].digest == Sample(Y, P).digest
    assert both["b"].digest == Sample(Y, P**2).digest
    assert both.digest == Sample(Y, {"c": P, "d": P**2}).digest
    assert (
        len(
            {both.digest, both["a"].digest, both["b"].digest, Sample(Y, {"a": P, "b": P**3}).digest}
        )
        == 4
    )
    assert both["a"].with_forecasts(old=P, new=P**2).digest == both.digest


def test_a_segment_has_that_of_its_own_rows():
    label = np.arange(N) % 3
    segments = Sample(Y, P, by=label).by_segment()
    assert segments.digest == Sample(Y, P).digest
    for key in range(3):
        assert segments[key].digest == Sample(Y[label == key], P[label == key]).digest
    cells = Segments.from_samples({key: segments[key].compress(64) for key in segments}, "label")
    assert cells.digest == Sample(Y, P).compress(64).digest


def test_several_classes():
    rng = np.random.default_rng(5)
    p = rng.dirichlet([1, 1, 1], N)
    which, shuffled = rng.integers(0, 3, N), rng.permutation(N)
    known = Sample(which, p, sample_weight=W, groups=G)
    assert (
        Sample(which[shuffled], p[shuffled], sample_weight=W[shuffled], groups=G[shuffled]).digest
        == known.digest
    )
    assert known.in_order().digest == known.digest
    labels = np.array(["cat", "dog", "eel"])
    assert (
        Sample(labels[which], p, sample_weight=2 * W, groups=-G, labels=labels).digest
        == known.digest
    )
    assert Sample(which, p, sample_weight=W).digest != known.digest
    other = which.copy()
    other[0] = (other[0] + 1) % 3
    assert Sample(other, p, sample_weight=W, groups=G).digest != known.digest
    assert (
        Sample(which, p).digest
        == Sample(which, p / (1 + rng.uniform(-1e-15, 1e-15, (N, 1)))).digest
    )


def test_rows_are_sorted_by_rounded_predictions_then_outcomes():
    """Predictions that differ in the last bits are in the order of their outcomes, whatever those
    bits are.
    """
    near = 0.3 * (1 + np.arange(-3, 4) * 2e-16)
    p, y = np.concatenate([near, [0.1, 0.9]]), np.array([1, 0, 1, 0, 1, 0, 1, 1, 0])
    found = Sample(y, p).in_order()
    assert found.y_true.tolist() == [1, 0, 0, 0, 1, 1, 1, 1, 0]
    assert found.y_prob.tolist() == [0.1, *near[[1, 3, 5]], *near[[0, 2, 4, 6]], 0.9]
    grouped = Sample(y, p, sample_weight=np.ones(9) + (p == 0.1)).in_order()
    assert grouped.y_prob.tolist() == found.y_prob.tolist()


@given(st.lists(st.tuples(st.floats(0, 1), st.booleans()), min_size=1))
def test_the_key_of_a_row_is_the_row(rows):
    prob, event = (np.array(column) for column in zip(*rows, strict=True))
    outcome, found = digests.without_outcome(digests.with_outcome(prob, event))
    np.testing.assert_array_equal(found, prob)
    np.testing.assert_array_equal(outcome, event)


@for_each("groups", [None, np.arange(900) // 3])
@for_each("classes", [1, 3])
def test_last_bits_do_not_move_rows_to_other_folds(groups, classes):
    """A map is fitted to folds: with rows divided by sums that are 1 but for rounding it stays the
    same.
    """
    rng = np.random.default_rng(6)
    p = rng.dirichlet([1, 1, 1], 900).round(2)[:, :classes].squeeze()
    p = p if classes == 1 else p / p.sum(axis=1, keepdims=True)
    y = (rng.random(900) < p).astype(int) if classes == 1 else rng.integers(0, 3, 900)
    nearly = p / (1 + rng.uniform(-1e-15, 1e-15, (900, 1) if classes > 1 else 900))
    maps = [
        rainproof.Recalibrator().fit(np.minimum(some, 1.0), y, groups=groups)
        for some in (p, nearly)
    ]
    np.testing.assert_allclose(maps[0].predict(p), maps[1].predict(p), atol=1e-6)
