"""One table of cases for every engine: equal counts, sums that agree to twelve digits, equal
errors.
"""

from __future__ import annotations

import math
import re

import numpy as np
import pyarrow as pa
import pytest
from helpers.cases import for_each
from helpers.engine_loading import ENGINES

import rainproof
from rainproof.io.kept_rows import keep_rows

rng = np.random.default_rng(20260517)
N = 300
M = 1024
P = rng.random(N)
P[:12] = (
    0.0,
    1.0,
    0.5,
    -0.0,
    1e-12,
    5e-324,
    1 - 2**-53,
    700 / M,
    np.nextafter(700 / M, 0),
    0.7 / M,
    1 / 3,
    1.0,
)
Y = (rng.random(N) < P**1.3).astype(np.int64)
Y[:4] = 1, 0, 1, 1
W = rng.random(N) * 10.0 ** rng.integers(-3, 4, N)
W[20:25] = 0.0
REGION = np.array(["north", "south", "it's"])[rng.integers(0, 3, N)]
MONTH = rng.integers(1, 4, N)
NULLS = {3, 60, N - 1}  # where cases that need some have theirs


def with_nulls(values, rows=NULLS):
    return [None if row in rows else value for row, value in enumerate(np.asarray(values).tolist())]


def spoiled(values, rows, value):
    spoiled = np.array(values, dtype=float)
    spoiled[list(rows)] = value
    return spoiled


def table(**columns):
    return pa.table(
        {
            name: column if isinstance(column, pa.Array) else pa.array(column)
            for name, column in columns.items()
        }
    )


EXACT = np.round(P * 1e8) / 1e8
ODD = np.flatnonzero(MONTH % 2)
THERE = np.array([row not in NULLS for row in range(N)])
GOOD = {
    # the columns, the options of scan, and which rows (and what else) the answer is made of
    "integers": ({"p": P, "y": Y}, {}, {}),
    "bytes": ({"p": P, "y": Y.astype(np.int8)}, {}, {}),
    "booleans": ({"p": P, "y": Y == 1}, {}, {}),
    "floats": ({"p": P, "y": np.where(Y == 0, -0.0, 1.0)}, {}, {}),
    "float32": ({"p": P.astype(np.float32), "y": Y.astype(np.float32)}, {}, {"p": P.astype(np.float32)}),
    "decimals": (
        {"p": pa.array([f"{p:.8f}" for p in EXACT]).cast(pa.decimal128(12, 8)), "y": Y},
        {},
        {"p": np.array([float(f"{p:.8f}") for p in EXACT])},
    ),
    "predictions of 0 and 1": ({"p": Y, "y": Y[::-1].copy()}, {}, {"p": Y, "y": Y[::-1]}),
    "weights": ({"p": P, "y": Y, "w": W}, {"weight": "w"}, {"w": W}),
    "float32 weights": (
        {"p": P, "y": Y, "w": W.astype(np.float32)},
        {"weight": "w"},
        {"w": W.astype(np.float32).astype(float)},
    ),
    "one row": ({"p": [0.25], "y": [1]}, {}, {"p": [0.25], "y": [1]}),
    "one class": ({"p": P, "y": np.ones(N, np.int64)}, {}, {"y": np.ones(N)}),
    "nulls and NaN dropped": (
        {"p": with_nulls(spoiled(P, {5}, np.nan)), "y": Y, "w": W},
        {"weight": "w", "where": "p is not null and p is not nan"},
        {"w": W, "rows": THERE & (np.arange(N) != 5)},
    ),
    "a condition": (
        {"p": P, "y": Y, "month": MONTH, "region": REGION, "q": with_nulls(spoiled(P, {7}, np.nan))},
        {"where": "(month in (1, 3) and q >= 0.25) or (region = 'it''s' and not q >= 0)"},
        {"rows": np.isin(MONTH, (1, 3)) & THERE & (np.arange(N) != 7) & (P >= 0.25)},
    ),
    "labels": ({"p": P, "y": np.where(Y, "yes", "no")}, {"pos_label": "yes"}, {}),
    "numbered labels": ({"p": P, "y": Y + 1}, {"pos_label": "2"}, {}),
}  # fmt: skip


def scan(engine, columns, request, **options):
    return rainproof.scan(ENGINES[engine](table(**columns), request), grid=M, **options)


def assert_agree(sample, expected):
    assert sample.n == expected.n
    np.testing.assert_array_equal(sample.y_true, expected.y_true)
    np.testing.assert_array_equal(sample.counts, expected.counts)
    np.testing.assert_allclose(sample.sample_weight, expected.sample_weight, rtol=1e-12, atol=0)
    # The kernel counts offsets in units of 2^-52 of a cell: in the lowest cell engines are finer.
    np.testing.assert_allclose(sample.y_prob, expected.y_prob, rtol=1e-12, atol=2.0**-52 / M)
    assert math.isclose(sample.effective_n, expected.effective_n, rel_tol=1e-12)
    assert sample.grid == expected.grid


def rows_of(*, p=P, y=Y, w=None, rows=slice(None)):
    weight = None if w is None else np.asarray(w)[rows]
    return rainproof.Sample(
        np.asarray(y)[rows], np.asarray(p, float)[rows], sample_weight=weight
    ).compress(M)


@for_each("case", GOOD)
@pytest.mark.parametrize("engine", ENGINES)
def test_every_engine_gives_what_the_arrays_give(engine, case, request):
    columns, options, answer = GOOD[case]
    assert_agree(scan(engine, columns, request, **options), rows_of(**answer))


# not one of the first four is the double of that name
SINGLE = np.float32([0.1, 0.1, 0.3, 0.7, 0.2, 1.0])
LARGE = np.float32([2**24, 2**24 + 2, -(2**24), 0.5, 3, 2**30])
MONEY = ["0.07", "0.29", "0.57", "0.58", "1.13", "4.35"]
IDS = [2**53, 2**53 + 1, 2**53 + 2, 1, 2, 3]
CONDITIONS = {
    "p > 0.1": SINGLE.astype(float) > 0.1,
    "p >= 0.1 and p <= 0.3": (SINGLE.astype(float) >= 0.1) & (SINGLE.astype(float) <= 0.3),
    "p = 0.7 or p = 1": SINGLE.astype(float) == 1,
    "p in (0.1, 0.3, 0.7, 1e0)": SINGLE.astype(float) == 1,
    "p not in (0.1)": np.ones(6, bool),
    "p > '0.1'": SINGLE.astype(float) > 0.1,
    "p < 7e-1": SINGLE.astype(float) < 0.7,
    "k > 16777217": LARGE > 2**24 + 1,
    "k >= -16777217 and k < 16777217": (LARGE.astype(float) >= -(2**24) - 1)
    & (LARGE.astype(float) < 2**24 + 1),
    "k = 3 or k > 2.5e0": LARGE > 2.5,
    "d > 0.07 and d <= 0.57": [False, True, True, False, False, False],
    "d in (0.29, 0.58, 4.35)": [False, True, False, True, False, True],
    "d >= 1.13 or d < 1": [True] * 6,
    "d > 1": [False] * 4 + [True, True],
    "i > 9007199254740992": [False, True, True, False, False, False],
    "i = 9007199254740993": [False, True, False, False, False, False],
    "i in (1, 9007199254740992)": [True, False, False, True, False, False],
    "i > 1.5": [True, True, True, False, True, True],
}


@pytest.mark.parametrize("engine", ENGINES)
def test_every_engine_selects_the_same_rows(engine, request):
    """A number is compared as a double, whatever the width of the column."""
    decimals = pa.array(MONEY).cast(pa.decimal128(12, 8))
    columns = {"p": SINGLE, "y": [0, 1, 0, 1, 0, 1], "k": LARGE, "d": decimals, "i": IDS}
    source = ENGINES[engine](table(**columns), request)
    found = {where: rainproof.scan(source, grid=M, where=where).n for where in CONDITIONS}
    assert found == {where: sum(expected) for where, expected in CONDITIONS.items()}


# Rows of the others are never kept in this process.
@pytest.mark.parametrize("engine", sorted(set(ENGINES) - {"spark", "dask", "duckdb_table"}))
def test_rows_that_are_kept_are_those_that_are_compressed(engine, request):
    source = ENGINES[engine](table(p=SINGLE, y=[0, 1, 0, 1, 0, 1]), request)
    if isinstance(source, rainproof.io.Table):
        source = f"{source.database}#{source.name}"
    assert (
        keep_rows(source, "p", "y", where="p > 0.1").y_prob.tolist()
        == SINGLE.astype(float).tolist()
    )


@for_each("weight", [None, "w"])
@pytest.mark.parametrize("engine", ENGINES)
def test_segments_are_the_samples_of_their_rows(engine, weight, request):
    columns = {"p": P, "y": Y, "w": W, "region": with_nulls(REGION), "month": MONTH}
    segments = scan(engine, columns, request, weight=weight, by=["region", "month"])
    weights = W if weight else None
    keys = list(zip(with_nulls(REGION), MONTH.tolist(), strict=True))
    assert set(segments) == set(keys)
    for key in set(keys):
        assert_agree(segments[key], rows_of(w=weights, rows=[other == key for other in keys]))
    assert_agree(segments.pooled, rows_of(w=weights))


@pytest.mark.parametrize("engine", ENGINES)
def test_every_engine_says_that_the_event_never_occurs(engine, request):
    """An event that differs from the one label in capitals alone is misspelt; another may be one
    that is rare.
    """
    source = ENGINES[engine](table(p=P, y=np.full(len(P), "yes")), request)
    with pytest.raises(
        rainproof.InputError, match=r"^y must hold 'Yes', which never occurs; every label is 'yes'$"
    ):
        rainproof.scan(source, grid=M, pos_label="Yes")
    assert rainproof.scan(source, grid=M, pos_label="no").event_rate == 0


NAN, INF = math.nan, math.inf
P_RULE, Y_RULE = (
    "p must lie in [0, 1]",
    "y must be 0 or 1 (pos_label names the event among other labels)",
)
W_RULE = "w must be finite and not negative"
BAD = {
    "null predictions": ({"p": with_nulls(P)}, "p must not contain nulls (missing values)", 3),
    "NaN predictions": ({"p": spoiled(P, NULLS, NAN)}, "p must not contain NaN", 3),
    "predictions above 1": ({"p": spoiled(P, {0, 8}, 1 + 2**-52)}, P_RULE, 2),
    "predictions below 0": ({"p": spoiled(P, {0, 8}, -5e-324)}, P_RULE, 2),
    "huge predictions": ({"p": spoiled(spoiled(P, {0}, 1e308), {1, 2}, INF)}, P_RULE, 3),
    "null outcomes": ({"y": with_nulls(Y)}, "y must not contain nulls (missing values)", 3),
    "null booleans": ({"y": with_nulls(Y == 1)}, "y must not contain nulls (missing values)", 3),
    "an outcome of 2": ({"y": np.where(np.arange(N) == 9, 2, Y)}, Y_RULE, 1),
    "an outcome of one half": ({"y": spoiled(Y, {9, 10}, 0.5)}, Y_RULE, 2),
    "NaN outcomes": ({"y": spoiled(np.ones(N), {9, 10}, NAN)}, Y_RULE, 2),
    "null weights": ({"w": with_nulls(W)}, "w must not contain nulls (missing values)", 3),
    "negative weights": ({"w": spoiled(W, {9, 10}, -5e-324)}, W_RULE, 2),
    "NaN weights": ({"w": spoiled(W, {9, 10}, NAN)}, W_RULE, 2),
    "infinite weights": ({"w": spoiled(W, {9, 10}, INF)}, W_RULE, 2),
    "several offences": ({"p": spoiled(P, {9}, 3), "y": spoiled(Y, {200}, 2), "w": spoiled(W, {100}, -1)}, P_RULE, 1),
}  # fmt: skip


def said(engine, rule):
    """SQLite has no NaN and stores a null; NumPy's floats in pandas have no null and store NaN."""
    nan = {"p must not contain NaN": "p", Y_RULE: "y", W_RULE: "w"}
    if engine == "sqlite" and rule in nan:
        return f"{nan[rule]} must not contain nulls (missing values)"
    if engine == "pandas_numpy" and "nulls" in rule:
        return {"p": "p must not contain NaN", "y": Y_RULE, "w": W_RULE}[rule[0]]
    return rule


@for_each("case", BAD)
@pytest.mark.parametrize("engine", ENGINES)
def test_every_engine_refuses_with_a_count(engine, case, request):
    columns, rule, count = BAD[case]
    columns = {"p": P, "y": Y, "w": W} | columns
    words = {rule}
    if "NaN" in case or case.startswith("null"):
        words = {rule, said(engine, rule)}
    with pytest.raises(rainproof.InputError, match=rf"; {count} values? do(es)?") as caught:
        scan(engine, columns, request, weight="w")
    assert caught.value.rule in words
    assert caught.value.count == count
    assert re.match(re.escape(caught.value.rule), str(caught.value))
