"""The one record: what it owns, what it counts, and that every function reads it once and keeps no
rows.
"""

from __future__ import annotations

import copy
import pickle

import numpy as np
import pandas as pd
import pytest
from helpers.cases import for_each

import rainproof
from rainproof.core import cells, distinct
from rainproof.core.arrays import places_of_groups
from rainproof.core.sample import Sample
from rainproof.core.validation import as_columns

RNG = np.random.default_rng(5)
N = 3000
P = RNG.random(N)
Q = np.clip(P**1.3, 0, 1)
Y = (RNG.random(N) < Q).astype(int)
W = RNG.choice([0.5, 1.0, 2.0, 0.0], N)
G = np.arange(N) // 3
S = np.array(["a", "b", "c"])[RNG.integers(0, 3, N)]
TASK = rainproof.DecisionTask.from_costs(false_positive=1, false_negative=5)


def counted(monkeypatch):
    """Count the conversions of rows, the passes over them by grid, and the sorts."""
    calls: dict[str, int] = {}

    def counting(name, function):
        def call(*args, **options):
            key = name
            if name == "pass":
                key = f"pass of {len(args[0].prob)} rows at {args[1]}"
            elif name == "pool":
                key = f"pool of {len(args[1])} rows"
            calls[key] = calls.get(key, 0) + 1
            return function(*args, **options)

        return call

    for module in ("arguments", "sample"):
        counter = counting("read", as_columns)
        monkeypatch.setattr(f"rainproof.core.{module}.as_columns", counter)
    for module in ("reading", "sample", "tables"):
        counter = counting("pass", cells.sum_cells)
        monkeypatch.setattr(f"rainproof.core.{module}.sum_cells", counter)
    pool = distinct.DistinctTable.from_rows
    monkeypatch.setattr(distinct.DistinctTable, "from_rows", counting("pool", lambda *a: pool(*a)))
    return calls


@for_each("options", [{}, {"groups": G}, {"sample_weight": W + 1}])
def test_an_assessment_reads_sums_and_pools_the_rows_once(monkeypatch, options):
    calls = counted(monkeypatch)
    str(rainproof.assess(Y, P, task=TASK, rng=0, **options))
    assert calls["read"] == 1
    whole = {key: times for key, times in calls.items() if f" of {N} rows" in key}
    # sums of weights depend on the order of the rows in the last bit
    again = 1 + ("sample_weight" in options)
    assert max(whole.values()) == again, whole


@for_each("make", ["plain", "grouped", "several", "by", "shares", "cells", "weighted"])
def test_copies_and_pickles_keep_every_number(make):
    made = {
        "plain": lambda: Sample(Y, P),
        "grouped": lambda: Sample(Y, P, groups=G),
        "several": lambda: Sample(Y, {"a": P, "b": Q}, groups=G),
        "by": lambda: Sample(Y, P, by={"s": S}),
        "shares": lambda: Sample(np.round(2 * Q) / 2, P, fractional=True),
        "cells": lambda: Sample(Y, P).compress(256),
        "weighted": lambda: Sample(Y, P, sample_weight=W, groups=G),
    }[make]()
    for other in (copy.copy(made), copy.deepcopy(made), pickle.loads(pickle.dumps(made))):
        assert repr(other) == repr(made)
        for name in (
            "n",
            "n_draws",
            "groups",
            "effective_n",
            "event_rate",
            "total_weight",
            "forecasts",
            "grid",
        ):
            assert getattr(other, name) == getattr(made, name)
        if make == "several":
            assert (
                rainproof.switch_guarantee(other, rng=0).harm_bound
                == rainproof.switch_guarantee(made, rng=0).harm_bound
            )
            assert rainproof.measures.brier_score(other["b"]) == rainproof.measures.brier_score(
                made["b"]
            )
        elif make == "by":
            assert other.by_segment().counts == made.by_segment().counts
        else:
            assert rainproof.guarantee(other).bound == rainproof.guarantee(made).bound


def test_what_is_counted():
    grouped = Sample(Y, P, groups=G)
    assert (grouped.n, grouped.n_draws, grouped.groups, grouped.effective_n) == (
        N,
        1000,
        1000,
        pytest.approx(1000),
    )
    halves = Sample([0.5] * 400, RNG.random(400), fractional=True)
    assert (halves.n, halves.n_draws, halves.groups, halves.effective_n) == (
        400,
        400,
        None,
        pytest.approx(400),
    )
    assert rainproof.guarantee(halves).effective_n == pytest.approx(400)
    weighted = Sample(Y, P, sample_weight=W, groups=G)
    together = np.bincount(G, W)
    assert weighted.n == np.count_nonzero(W)
    assert weighted.n_draws == np.count_nonzero(together)
    assert weighted.effective_n == pytest.approx(together.sum() ** 2 / (together @ together))


def test_groups_in_the_sample_are_those_of_the_argument():
    sample = Sample(Y, P, groups=G)
    assert rainproof.guarantee(sample).bound == rainproof.guarantee(Y, P, groups=G).bound
    assert (
        rainproof.assess(sample, rng=0).to_dict()
        == rainproof.assess(Y, P, groups=G, rng=0).to_dict()
    )
    with pytest.raises(rainproof.InputError, match="the Sample has groups already"):
        rainproof.guarantee(sample, groups=G)


def test_several_forecasts():
    both = Sample(Y, {"old": P, "new": Q}, sample_weight=W, groups=G, by={"s": S})
    one = rainproof.switch_guarantee(both, rng=0)
    assert (
        one.to_dict()
        == rainproof.switch_guarantee(Y, P, Q, sample_weight=W, groups=G, rng=0).to_dict()
    )
    assert rainproof.measures.brier_score(both["new"]) == rainproof.measures.brier_score(
        Y, Q, sample_weight=W
    )
    again = rainproof.compare(both, measure="brier_score", n_resamples=39, rng=0)
    expected = rainproof.compare(
        Y, P, Q, sample_weight=W, groups=G, measure="brier_score", n_resamples=39, rng=0
    )
    assert again.to_dict() == expected.to_dict()
    part = both.by_segment()["b"]
    assert part.forecasts == ("old", "new")
    assert rainproof.measures.brier_score(part["new"]) == rainproof.measures.brier_score(
        Y[S == "b"], Q[S == "b"], sample_weight=W[S == "b"]
    )
    with pytest.raises(
        rainproof.InputError,
        match="several forecasts, 'old', 'new': choose one, as sample\\['old'\\]",
    ):
        rainproof.measures.brier_score(both)
    with pytest.raises(
        rainproof.InputError, match=r"must name at least one forecast, and each once.*'1', '1'"
    ):
        Sample(Y, {1: P, "1": Q})


def test_rows_that_belong_together_are_not_taken_as_more():
    shares, grouped = (
        Sample([0.5, 1, 0], [0.2, 0.6, 0.4], fractional=True),
        Sample([0, 1], [0.2, 0.6], groups=[1, 1]),
    )
    with pytest.raises(rainproof.InputError, match="shares of the event need rows"):
        shares.compress()
    with pytest.raises(
        rainproof.InputError, match=r"compress ungrouped\(\), if rows may be taken as independent"
    ):
        grouped.compress()
    assert grouped.ungrouped().compress().n == 2
    for function in (
        rainproof.calibration_test,
        rainproof.inference.null_band,
        rainproof.clinical.reliability_curve,
    ):
        with pytest.raises(rainproof.InputError, match="cannot take outcomes that are shares"):
            function(shares)
        with pytest.raises(rainproof.InputError, match="takes no groups"):
            function(grouped)


SHUFFLED = np.r_[1:N, 0]
SERIES = {
    name: pd.Series(values)
    for name, values in (("y", Y), ("p", P), ("g", G), ("s", S), ("w", W), ("q", Q))
}


@for_each("moved", ["y", "p", "w", "g", "s", "q"])
def test_a_misaligned_index_is_refused_wherever_rows_are_given(moved):
    """One check, where rows come in, for every function and every column."""
    c = {
        name: series.iloc[SHUFFLED] if name == moved else series for name, series in SERIES.items()
    }
    calls = {
        "w": lambda: rainproof.measures.brier_score(c["y"], c["p"], sample_weight=c["w"]),
        "g": lambda: [
            function(c["y"], c["p"], groups=c["g"])
            for function in (
                rainproof.guarantee,
                rainproof.assess,
                rainproof.clinical.discrimination,
                rainproof.net_benefit,
            )
        ],
        "s": lambda: rainproof.assess(c["y"], c["p"], by={"s": c["s"]}),
        "q": lambda: rainproof.compare(c["y"], c["p"], c["q"]),
    }
    with pytest.raises(
        rainproof.InputError, match="have the same index in another order: align them first"
    ):
        calls.get(moved, calls["w"])()
    if moved == "g":
        for function in (
            rainproof.confidence_interval,
            rainproof.clinical_performance,
            rainproof.inference.loss_at_least,
            lambda y, p, groups: rainproof.compare(y, p, p, groups=groups),
            lambda y, p, groups: rainproof.switch_guarantee(y, p, p, groups=groups),
            lambda y, p, groups: rainproof.Recalibrator().fit(p, y, groups=groups),
        ):
            with pytest.raises(rainproof.InputError, match="another order"):
                function(c["y"], c["p"], groups=c["g"])


def test_tables_classes_and_ids_are_aligned_too():
    c, task = SERIES, rainproof.DecisionTask.threshold(0.3)
    moved = {name: series.iloc[SHUFFLED] for name, series in c.items()}
    calls = [
        lambda: rainproof.clinical.grade_table(c["y"], c["p"], by=moved["s"]),
        lambda: rainproof.clinical.grade_table(c["y"], c["p"], trials=moved["y"]),
        lambda: rainproof.RoundingPolicy(task, 8).decide(c["p"], ids=moved["g"]),
        lambda: Sample(moved["y"], pd.DataFrame({0: 1 - P, 1: P})),
        lambda: Sample(c["y"], moved["p"], fractional=True),
    ]
    for call in calls:
        with pytest.raises(
            rainproof.InputError, match="have the same index in another order: align them first"
        ):
            call()


def test_shares_are_checked_as_whole_rows():
    with pytest.raises(
        rainproof.InputError,
        match=r"must lie in \[0, 1\]; 1 value does not, the first is y_prob\[2\]",
    ):
        Sample([0.5] * 3, [0.1, 0.2, 1.5], fractional=True)
    with pytest.raises(
        rainproof.InputError, match="y_true and b must have the same length; they have 3 and 6"
    ):
        Sample(
            [0.5] * 3, {"a": [0.1, 0.2, 0.5], "b": [0.1, 0.2, 0.3, 0.4, 0.5, 0.6]}, fractional=True
        )
    both = Sample([0.5, 1, 0], {"a": [0.1, 0.2, 0.5], "b": [0.4, 0.6, 0.3]}, fractional=True)
    assert rainproof.measures.brier_score(both["b"]) == rainproof.measures.brier_score(
        Sample([0.5, 1, 0], [0.4, 0.6, 0.3], fractional=True)
    )


def test_what_a_record_cannot_give_is_said():
    plain, cells = Sample([0, 1], [0.2, 0.6]), Sample([0, 1], [0.2, 0.6]).compress(8)
    both = rainproof.scan({"a": [0.2, 0.6], "b": [0.3, 0.5], "y": [0, 1]}, ["a", "b"], grid=8)
    with pytest.raises(
        KeyError, match="'c' is not among the forecasts of the sample: one forecast without a name"
    ):
        plain["c"]
    refused = {
        "cannot be combined with pos_label": lambda: Sample(
            [1], [0.5], fractional=True, pos_label=1
        ),
        "groups need rows": lambda: rainproof.guarantee(cells, groups=[1, 2]),
        "keeps pairs of cells: scan each by itself": lambda: both["a"],
        "recalibrated needs rows": lambda: rainproof.forecast_value(cells, recalibrated=[0.2, 0.6]),
        "the sample has no segments": plain.by_segment,
        "must have the same forecasts to be added": lambda: cells + both,
        "must have two forecasts; it has 1": lambda: rainproof.switch_guarantee(plain),
        "cannot be split row by row": Sample([0, 1], [0.2, 0.6], sample_weight=[1, 2])
        .compress(8)
        .at_edges,
    }
    for words, call in refused.items():
        with pytest.raises(rainproof.InputError, match=words):
            call()


def test_draws_are_divided_whole():
    """Rows by their groups, cells by their counts; a part can be empty."""
    grouped = Sample(Y, P, groups=G)
    parts = grouped.split(folds=3, held_out=[0.25], rng=np.random.default_rng(0))
    assert sum(part.n for part in parts) == N
    assert sum(part.n_draws for part in parts) == 1000
    found = [set(part.units.unit.tolist()) for part in parts]
    assert len(set.union(*found)) == sum(map(len, found))
    assert [
        part.n for part in grouped.split(folds=3, held_out=[0.25], rng=np.random.default_rng(0))
    ][-1] == 750
    cells = Sample(Y, P).compress(64)
    parts = cells.split(folds=2, held_out=[0.5], rng=np.random.default_rng(0))
    assert sum(part.n for part in parts) == N
    assert Sample.concat(parts).counts.tolist() == cells.counts.tolist()
    few = Sample([1], [0.3]).compress(8).split(folds=2, rng=np.random.default_rng(0))
    assert sorted(part.n for part in few) == [0, 1]


def test_compressed_rows_of_unequal_weight():
    cells = Sample(Y, P, sample_weight=W + P).compress(64)
    with pytest.warns(rainproof.ResolutionWarning):
        both = rainproof.assess_many({"a": cells, "b": cells}, task=TASK, rng=0)
    assert all(standing.cost is None for standing in both.standings)
    one_class = Sample(np.zeros(300), P[:300], sample_weight=P[:300]).compress(64)
    with pytest.warns(rainproof.OneClassWarning, match="nothing can be fitted to it"):
        assert rainproof.Recalibrator(rng=0).fit(one_class).method_ == "none"


def test_two_indexes_that_differ_pair_by_position_only_if_one_is_the_default():
    dated = pd.Series(P, index=pd.date_range("2026-01-01", periods=N))
    assert rainproof.Sample(SERIES["y"], dated).n == N
    other = pd.Series(Y, index=np.arange(N) + 7)
    with pytest.raises(
        rainproof.InputError, match=r"have different indexes: .* pass y_prob.to_numpy\(\)"
    ):
        rainproof.Sample(other, dated)


def test_fitted_objects_hold_no_rows():
    """Neither a prediction nor an outcome of the training rows can be read from a pickle, whatever
    was asked for.
    """
    rng = np.random.default_rng(0)
    p = rng.random(100_000)
    y = (rng.random(100_000) < p**1.3).astype(int)
    recalibrator = rainproof.Recalibrator(rng=0).fit(p, y)
    assessment = rainproof.assess(y, p, task=TASK, rng=0)
    str(assessment)
    for made, most in ((recalibrator, 60_000), (assessment, 1_000_000)):
        found = pickle.dumps(made)
        assert len(found) < most
        for start in range(0, 100_000, 997):
            assert p[start : start + 4].tobytes() not in found
        assert np.sort(p)[1000:1004].tobytes() not in found
        assert largest_array(pickle.loads(found)) < 10_000


def largest_array(found, seen=None):
    """The number of entries of the largest array that can be reached from an object."""
    seen = set() if seen is None else seen
    if id(found) in seen:
        return 0
    seen.add(id(found))
    if isinstance(found, np.ndarray):
        return found.size
    parts = (
        list(found.values())
        if isinstance(found, dict)
        else list(found)
        if isinstance(found, tuple | list)
        else []
    )
    parts += list(getattr(found, "__dict__", {}).values())
    names = [name for kind in type(found).__mro__ for name in getattr(kind, "__slots__", ())]
    parts += [getattr(found, name) for name in names if hasattr(found, name)]
    return max((largest_array(part, seen) for part in parts), default=0)


_ROWS = 240


def _columns(seed: int) -> dict[str, np.ndarray]:
    rng = np.random.default_rng(seed)
    prob = rng.choice([0.0, 0.1, 0.25, 0.7, 1.0, 1e-12], _ROWS)
    return {
        "y_true": (rng.random(_ROWS) < prob).astype(int),
        "y_prob": prob,
        "sample_weight": rng.choice([0.0, 0.5, 1.0, 3.0], _ROWS),
        "groups": rng.choice(["b", "a", "d"], _ROWS),
        "by": rng.choice(["north", "south"], _ROWS),
    }


@for_each(
    "names", [(), ("sample_weight",), ("groups",), ("by",), ("sample_weight", "groups", "by")]
)
@for_each("kind", ["rows", "shares", "several"])
def test_the_canonical_order_does_not_depend_on_how_rows_came(
    names: tuple[str, ...], kind: str
) -> None:
    columns = {
        name: column for name, column in _columns(3).items() if name in ("y_true", "y_prob", *names)
    }
    if kind == "shares":
        columns["y_true"] = np.random.default_rng(4).choice([0.0, 0.3, 1.0], _ROWS)
    other = np.random.default_rng(5).random(_ROWS)

    def ordered(at: np.ndarray) -> Sample:
        prob = columns["y_prob"][at]
        rest = {
            name: column[at] for name, column in columns.items() if name not in ("y_true", "y_prob")
        }
        several = {"a": prob, "b": other[at]}
        given = several if kind == "several" else prob
        return Sample(columns["y_true"][at], given, fractional=kind == "shares", **rest).in_order()

    one = ordered(np.arange(_ROWS))
    if "groups" in columns:  # whatever their names and type
        columns["groups"] = np.unique(columns["groups"], return_inverse=True)[1] * 7 % 5
    another = ordered(np.random.default_rng(6).permutation(_ROWS))
    for name in ("n", "n_draws", "total_weight"):
        assert getattr(one, name) == getattr(another, name), name
    for name in ("outcome", "weight", "cases", "unit", "others"):
        mine, theirs = getattr(one.rows, name), getattr(another.rows, name)
        np.testing.assert_equal(mine, theirs, err_msg=name)
    if "by" in names:
        np.testing.assert_equal(one.rows.segment.places(), another.rows.segment.places())
    if kind != "several":
        np.testing.assert_array_equal(one.y_prob, another.y_prob)
        assert one.effective_n == another.effective_n


def test_groups_are_in_the_order_of_their_rows() -> None:
    rng = np.random.default_rng(8)
    for n, names in ((1, 1), (400, 300), (400, 60), (60, 3)):
        group, kind = rng.integers(0, names, n), rng.integers(0, 3, n)
        kind[group % 2 == 1] = 1  # many are alike
        found = places_of_groups(group, kind)
        rows = {g: sorted(kind[group == g].tolist()) for g in set(group.tolist())}
        assert sorted(found[list(rows)]) == list(range(len(rows)))
        other = rng.permutation(names)
        renamed = places_of_groups(other[group], kind)
        assert {found[g]: rows[g] for g in rows} == {renamed[other[g]]: rows[g] for g in rows}


def test_the_canonical_order_keeps_every_row() -> None:
    columns = _columns(7)
    sample = Sample(**columns)
    found = sample.in_order()
    both = ("y_prob", "y_true", "sample_weight")
    kept = [
        sorted(zip(*(getattr(s, name).tolist() for name in both), strict=True))
        for s in (sample, found)
    ]
    assert kept[0] == kept[1]
    assert (found.groups, found.event_rate) == (sample.groups, pytest.approx(sample.event_rate))
    for key, part in sample.by_segment().items():
        assert sorted(part.y_prob) == sorted(found.by_segment()[key].y_prob)
    cells = Sample(columns["y_true"], columns["y_prob"]).compress(64)
    assert cells.in_order() is cells


def test_what_compressed_samples_and_pairs_are_asked_for():
    cells_ = Sample(Y, P).compress(8)
    assert cells_.in_order() is cells_
    pair = Sample(Y, {"a": P, "b": Q})
    with pytest.raises(
        rainproof.InputError, match="p_new must not be given with a Sample, which holds it already"
    ):
        rainproof.switch_guarantee(pair, p_new=P)
    with pytest.raises(
        rainproof.InputError, match="p_old is missing: pass outcomes and two forecasts"
    ):
        rainproof.switch_guarantee(Y)
    with pytest.raises(
        rainproof.InputError, match="if these are logarithms of probabilities, apply exp first"
    ):
        Sample([0, 1], [-0.5, -2.0])


def test_no_tables_join_to_an_empty_one():
    found = cells.CellTable.join(8, [], [])
    assert (found.m, len(found.slot)) == (8, 0)
