"""Every column of a sample in every operation: none is lost, misaligned or stale.

Each case has a prediction of its own, by which its values are known again in whatever sample it
ends up in.
"""

from __future__ import annotations

import copy
import pickle
from collections.abc import Callable, Iterator

import numpy as np
import pytest
from helpers.cases import for_each

import rainproof
from rainproof.core.rows import Rows
from rainproof.core.sample import Sample

N = 240
RNG = np.random.default_rng(11)
P = RNG.permutation(np.arange(1, N + 1) / (N + 1))
Y = (RNG.random(N) < P).astype(np.uint8)
SHARES = np.where(RNG.random(N) < 0.3, 0.25, Y)
W = RNG.choice([0.5, 1.0, 3.0], N)
G = RNG.permutation(np.arange(N) // 3)
S = np.array(["north", "east", "south"])[RNG.integers(0, 3, N)]
Q = np.round(P**2, 3)
COSTS = RNG.random((N, 2))
FEES = RNG.random(N)
PLACE = {float(p): place for place, p in enumerate(P)}

DESIGNS: dict[str, Callable[[], Sample]] = {
    "rows": lambda: Sample(Y, P),
    "weights": lambda: Sample(Y, P, sample_weight=W),
    "clusters": lambda: Sample(Y, P, groups=G),
    "clusters of one": lambda: Sample(Y, P, groups=np.arange(N)).with_single_cases(),
    "clusters and weights": lambda: Sample(Y, P, groups=G, sample_weight=W),
    "segments": lambda: Sample(Y, P, by=S),
    "shares": lambda: Sample(SHARES, P, fractional=True),
    "shares, clusters, weights, segments": lambda: Sample(
        SHARES, P, fractional=True, groups=G, sample_weight=W, by={"place": S, "same": S}
    ),
    "base rate": lambda: Sample(Y, P, base_rate=0.1),
    "range of base rates": lambda: Sample(Y, P, base_rate=(0.05, 0.2)),
    "two forecasts": lambda: Sample(Y, {"a": P, "b": Q}, groups=G, by=S, sample_weight=W),
    "two forecasts, base rate": lambda: Sample(Y, {"a": P, "b": Q}, base_rate=0.1),
    "two forecasts of shares": lambda: Sample(SHARES, {"a": P, "b": Q}, fractional=True),
}


def full(design: str) -> Sample:
    """A sample of this design with the costs of each case and a column of a file beside."""
    return DESIGNS[design]().with_costs(COSTS).with_columns_beside({"fee": FEES})


def half(sample: Sample) -> Sample:
    """Whole units: those of even number, or the cases of even place."""
    unit = sample.rows.unit
    unit = np.arange(len(sample.rows)) if unit is None else unit
    return sample.take(unit % 2 == 0)


OPERATIONS: dict[str, Callable[[Sample], Sample]] = {
    "take": half,
    "take places": lambda s: s.take(np.arange(len(s.rows))[::-1]) if plain(s) else half(s),
    "part of a deal": lambda s: s.split(folds=2, rng=np.random.default_rng(0))[1],
    "held out": lambda s: s.split(folds=2, held_out=[0.4], rng=np.random.default_rng(0))[2],
    "in order": lambda s: s.in_order(),
    "a half in order": lambda s: half(s).in_order(),
    "in order, a half": lambda s: half(s.in_order()),
    "copy": copy.copy,
    "deepcopy": copy.deepcopy,
    "pickle": lambda s: pickle.loads(pickle.dumps(s)),
    "concat": lambda s: Sample.concat(s.split(folds=3, rng=np.random.default_rng(1))),
    "middle": lambda s: s.middle(),
    "upper end": lambda s: s.scenarios()[-1],
    "single cases": lambda s: s.with_single_cases(),
}


def plain(sample: Sample) -> bool:
    """Whether each case is one entry."""
    return not sample.design.shares


def facts(sample: Sample) -> dict[str, object]:
    """Everything that is counted once and kept."""
    names = (
        "n",
        "n_draws",
        "groups",
        "total_weight",
        "event_rate",
        "effective_n",
        "events",
        "base_rate",
        "digest",
        "forecasts",
    )
    return {name: getattr(sample, name) for name in names}


def ask_everything(sample: Sample) -> None:
    """Fill every cache of a sample."""
    facts(sample)
    repr(sample)
    if not sample.forecasts:
        rainproof.soft_binned_cdl(sample.middle())
        sample.distinct()
        sample.on_grid(64)
    assert len(sample.units.weight) > 0


def columns_by_case(rows: Rows) -> Iterator[tuple[int, int, dict[str, object]]]:
    """The place of each entry among all cases, its outcome, and its other columns."""
    for k, p in enumerate(rows.prob.tolist()):
        entry: dict[str, object] = {}
        if rows.costs is not None:
            entry["costs"] = tuple(rows.costs[k].tolist())
        if rows.segment is not None:
            entry["segment"] = rows.segment.labels[rows.segment.number[k]]
        for columns in (rows.others, rows.beside):
            entry |= {name: float(column[k]) for name, column in (columns or {}).items()}
        yield PLACE[p], int(rows.outcome[k]), entry


def check_columns(before: Sample, after: Sample) -> None:
    """Each entry has the values of its case, and weighs what it did."""
    for name in ("costs", "segment", "others", "beside", "cases", "unit", "weight"):
        if getattr(before.rows, name) is not None:
            assert getattr(after.rows, name) is not None, f"{name} is lost"
    known = {(place, y): entry for place, y, entry in columns_by_case(before.rows)}
    for place, y, entry in columns_by_case(after.rows):
        assert entry == known[place, y]
        assert entry["costs"] == tuple(COSTS[place].tolist())
        assert entry["fee"] == FEES[place]
        if "segment" in entry:
            assert entry["segment"] in (S[place], (S[place], S[place]))
        if "b" in entry:
            assert entry["b"] == Q[place]
    places = [place for place, *_ in columns_by_case(after.rows)]
    if before.sample_weight is not None and before.design.strata is None:
        weight = dict(zip(known, before.mass, strict=True))
        for (place, y, _), mass in zip(columns_by_case(after.rows), after.mass, strict=True):
            assert mass == weight[place, y]
    if before.design.clusters == "cases":
        group = G[places]
        unit = after.units.unit
        assert unit is not None
        pairs = set(zip(group.tolist(), unit.tolist(), strict=True))
        assert len(pairs) == len(set(group.tolist())) == len(set(unit.tolist()))
        assert after.groups == len(pairs)
    assert after.n == len(set(places))
    assert after.n_draws == (after.groups or after.n)


def fresh(sample: Sample) -> Sample:
    """The same sample, made of its rows anew."""
    case = sample.rows.case_of_entry()
    first = np.flatnonzero(np.diff(case, prepend=-1))
    rows = sample.rows
    strata = sample.design.strata
    weight = None if strata is not None or rows.weight is None else rows.weight
    outcome = rows.outcome
    shares = sample.design.shares
    if shares:
        assert weight is not None
        total = np.bincount(case, weight)
        outcome = np.bincount(case, weight * sample.event) / total
        weight = total
    prob: object = rows.prob[first]
    if sample.forecasts:
        prob = {name: sample.predictions(name)[first] for name in sample.forecasts}
    groups = None
    if sample.design.clusters == "cases":
        assert rows.unit is not None
        groups = rows.unit[first]
    return Sample(
        outcome,
        prob,
        sample_weight=weight,
        groups=groups,
        fractional=shares,
        base_rate=sample.base_rate,
    )


def check_facts(sample: Sample) -> None:
    """What is kept is what the rows say."""
    mine, theirs = facts(sample), facts(fresh(sample))
    if sample.design.clusters == "single cases":
        mine["groups"] = None
    for name, value in theirs.items():
        if name == "digest" and sample.design.shares:
            continue  # the shares that are put together again are rounded
        if isinstance(value, float):
            assert mine[name] == pytest.approx(value, rel=1e-12), name
        else:
            assert mine[name] == value, name


@for_each("design", DESIGNS)
@for_each("asked", [False, True])
def test_no_column_is_lost_misaligned_or_stale(design: str, asked: bool) -> None:
    for name, operation in OPERATIONS.items():
        before = full(design)
        if asked:
            ask_everything(before)
        after = operation(before)
        try:
            check_columns(before, after)
            check_facts(after)
        except AssertionError as error:
            raise AssertionError(f"{name}: {error}") from error


@for_each("design", DESIGNS)
def test_other_predictions_leave_all_else(design: str) -> None:
    """Facts are the same to the last bit, whatever was asked before."""
    kept = [name for name in facts(full(design)) if name not in ("digest", "forecasts")]
    for make in (
        lambda s: s.with_forecasts(old=s.rows.prob, new=s.rows.prob / 2),
        lambda s: s.with_predictions(s.rows.prob / 2),
        lambda s: s.map(lambda p: p / 2) if not s.forecasts else s[s.forecasts[-1]],
    ):
        before = full(design)
        late = make(before)
        ask_everything(before)
        early = make(before)
        for after in (late, early):
            for name in kept:
                assert getattr(after, name) == getattr(before, name), name
            for name in ("outcome", "weight", "cases", "unit", "segment", "costs", "beside"):
                assert getattr(after.rows, name) is getattr(before.rows, name)
            assert after.digest != before.digest
            check_facts(after)


@for_each("design", [name for name in DESIGNS if "segments" in name or "two" in name])
def test_segments_hold_their_rows(design: str) -> None:
    before = full(design)
    if before.rows.segment is None:
        return
    for sample in (before, before.in_order(), half(before)):
        segments = sample.by_segment()
        assert sum(part.n for part in segments.values()) == sample.n
        for label, part in segments.items():
            check_columns(sample.without_segments(), part)
            for place, *_ in columns_by_case(part.rows):
                assert S[place] in label if isinstance(label, tuple) else S[place] == label
            with pytest.raises(rainproof.InputError, match="has no segments"):
                part.by_segment()


@for_each("design", ["rows", "weights", "clusters of one", "base rate"])
def test_compression_keeps_what_cells_can_hold(design: str) -> None:
    before = DESIGNS[design]()
    cells = before.compress(256)
    for name, value in facts(before).items():
        if isinstance(value, float):
            assert getattr(cells, name) == pytest.approx(value, rel=1e-12), name
        elif name != "digest":
            assert getattr(cells, name) == value, name
    assert cells.in_order() is cells
    for other in (copy.copy(cells), pickle.loads(pickle.dumps(cells))):
        assert facts(other) == facts(cells)
    moved = cells.with_predictions(cells.prob / 2)
    for name in ("n", "groups", "base_rate", "events"):
        assert getattr(moved, name) == getattr(cells, name)


def test_entries_of_cells_count_their_cases() -> None:
    cells = Sample(Y, P).compress(16)
    for entries in (
        cells.with_forecasts(old=cells.prob, new=cells.prob**2),
        cells.at_cell_means(),
    ):
        assert (entries.n, entries.events, entries.effective_n) == (N, Y.sum(), N)
        part = entries.take(np.arange(len(entries.rows)) % 2 == 0)
        assert part.rows.cases is not None
        assert part.n == part.rows.cases.sum() == part.total_weight
        assert part.events == part.rows.cases[part.event].sum()
        again = pickle.loads(pickle.dumps(part))
        assert facts(again) == facts(part)


@for_each("design", [name for name in DESIGNS if "shares" not in name])
def test_rows_taken_of_ordered_ones_are_put_in_order_again(design: str) -> None:
    ordered = DESIGNS[design]().in_order()
    turned = ordered.take(np.arange(len(ordered.rows))[::-1])
    assert turned.rows.prob.tolist() == ordered.rows.prob.tolist()[::-1]
    assert turned.in_order().rows.prob.tolist() == ordered.rows.prob.tolist()


def test_cells_with_other_forecasts_are_in_order_already() -> None:
    cells = Sample(Y, P, base_rate=0.1).compress(16)
    pair = cells.with_forecasts(old=cells.prob, new=1 - cells.prob)
    assert pair.in_order() is pair


def test_clusters_of_one_case_are_still_counted() -> None:
    single = DESIGNS["clusters of one"]()
    assert (single.groups, single.units.unit) == (N, None)
    assert single.compress(64).groups == N
    assert single.ungrouped().groups is None


def test_a_base_rate_weighs_each_part_anew() -> None:
    before = full("base rate")
    part = half(before)
    assert part.event_rate == 0.1
    assert part.mass[part.event].sum() / part.mass.sum() == pytest.approx(0.1, rel=1e-12)
    drawn = part.as_drawn()
    assert drawn.sample_weight is None
    assert drawn.event_rate == part.events / part.n
    assert drawn.rows.costs is part.rows.costs
