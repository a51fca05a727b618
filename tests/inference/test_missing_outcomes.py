"""Outcomes that come late: periods in which they are missing more often are named, and not
judged.
"""

from __future__ import annotations

import json
import sqlite3
import warnings

import numpy as np
import pyarrow as pa
import pytest
from helpers.cases import for_each
from scipy import stats

import rainproof
from rainproof.cli import main
from rainproof.inference.missing_outcomes import late_periods, more_missing_p_value


def delayed(days=60, n=400, seed=0):
    """A calibrated forecast: events are known after 1 to 30 days, that there is none after 30."""
    rng = np.random.default_rng(seed)
    day = np.repeat(np.arange(days), n)
    p = rng.beta(1, 20, days * n)
    y = (rng.random(days * n) < p).astype(float)
    age = days - 1 - day
    known = np.where(y == 1, rng.integers(1, 31, days * n) <= age, age >= 30)
    return {
        "p": p,
        "y": np.where(known, y, np.nan),
        "day": [f"2026-{1 + d // 28:02}-{1 + d % 28:02}" for d in day],
    }


def at_random(share, days=40, n=300, seed=0):
    rng = np.random.default_rng(seed)
    p = rng.beta(2, 6, days * n)
    y = np.where(rng.random(days * n) < share, np.nan, rng.random(days * n) < p)
    return {"p": p, "y": y, "day": np.repeat(np.arange(100, 100 + days), n)}


def read(table, **options):
    with warnings.catch_warnings(action="ignore", category=rainproof.RainproofWarning):
        return rainproof.scan(table, "p", "y", by="day", drop_missing=True, **options)


def test_days_with_outcomes_that_are_known_early_are_not_judged():
    """Of the last thirty days events alone are known: "100% observed", and an alarm."""
    table = delayed()
    labels = sorted(set(table["day"]))
    with pytest.warns(
        rainproof.MissingOutcomesWarning,
        match="they are not judged, as outcomes that are known early",
    ):
        found = rainproof.monitor(read(table))
    assert set(found.not_judged) == set(labels[30:])
    assert found.changes == ()
    assert not found.in_alarm
    shown = {window.label: window for window in found.windows}
    assert [shown[label].judged for label in labels[:30]] == [True] * 30
    late = [window for window in found.windows if not window.judged]
    assert late[0].event_rate == 1
    assert late[0].missing_outcomes > 350
    assert {window.evidence for window in late} == {shown[labels[29]].evidence}
    assert "not judged" in found.table().splitlines()[-1]
    assert found.warnings[0] in " ".join(found.sentences())
    assert json.loads(json.dumps(found.to_dict()))["warnings"] == list(found.warnings)
    assert found.guarantee.n == 30 * 400


def test_without_the_missing_rows_it_is_in_alarm():
    """What is left out cannot be seen in the samples alone."""
    alone = dict(read(delayed()))
    assert rainproof.monitor(alone).in_alarm


@for_each("share", [0.02, 0.3])
def test_outcomes_that_are_missing_at_one_rate_leave_all_periods_judged(share):
    for seed in range(20):
        found = rainproof.monitor(read(at_random(share, seed=seed)))
        assert found.not_judged == ()
        assert all(window.judged for window in found.windows)


def test_a_change_before_the_late_days_is_found_and_is_new():
    table = delayed(seed=1)
    day = np.array(table["day"])
    labels = sorted(set(day))
    wrong = day == labels[29]
    p = np.where(wrong, 0.6, table["p"])
    with pytest.warns(rainproof.MissingOutcomesWarning):
        found = rainproof.monitor(read({**table, "p": p}), window=7)
    assert found.in_alarm
    assert found.is_new
    assert found.changes[0].alarm == labels[29]


@for_each("engine", ["arrow", "csv", "sqlite"])
def test_rows_without_an_outcome_are_counted_by_period_in_every_source(engine, tmp_path):
    rows = [
        ("a", 0.5, 1),
        ("a", 0.5, None),
        ("a", None, None),
        ("b", 0.25, 0),
        (None, 0.5, None),
        ("c", 0.5, None),
    ]
    day, p, y = zip(*rows, strict=True)
    if engine == "arrow":
        source = pa.table({"day": day, "p": p, "y": y})
    elif engine == "csv":
        source = tmp_path / "rows.csv"
        source.write_text(
            "day,p,y\n"
            + "".join(",".join("" if x is None else str(x) for x in r) + "\n" for r in rows)
        )
    else:
        with sqlite3.connect(tmp_path / "rows.db") as db:
            db.execute("CREATE TABLE rows (day TEXT, p REAL, y INTEGER)")
            db.executemany("INSERT INTO rows VALUES (?, ?, ?)", rows)
        db.close()
        source = f"sqlite:///{tmp_path / 'rows.db'}#rows"
    found = read(source)
    assert found.counts == {"a": 1, "b": 1}
    assert found.missing_outcomes == {"a": 1, "c": 1}


def test_periods_of_several_columns_and_of_times_are_counted_together():
    n = 6000
    rng = np.random.default_rng(2)
    hour = np.arange(n) // 10 % 24
    day = 1 + np.arange(n) // 600
    p = rng.beta(2, 6, n)
    y = np.where((day == 10) & (rng.random(n) < 0.5), np.nan, rng.random(n) < p)
    time = [f"2026-03-{d:02} {h:02}:00" for d, h in zip(day, hour, strict=True)]
    table = {"p": p, "y": y, "day": time, "site": np.where(np.arange(n) % 2, "x", "y")}
    with warnings.catch_warnings(action="ignore", category=rainproof.RainproofWarning):
        segments = rainproof.scan(table, "p", "y", by=["day", "site"], drop_missing=True)
        found = rainproof.monitor(segments, every="day")
    assert found.not_judged == ("2026-03-10",)
    assert found.windows[-1].missing_outcomes == int(np.isnan(y).sum())


def test_the_test_is_fishers():
    for n, missing, n_all, missing_all in (
        (1000, 90, 60_000, 4200),
        (100, 10, 100_000, 10),
        (5, 0, 20, 4),
        (5, 5, 9, 8),
    ):
        expected = stats.hypergeom.sf(missing - 1, n_all, missing_all, n)
        assert more_missing_p_value(n, missing, n_all, missing_all) == pytest.approx(
            expected, rel=1e-6
        )


def test_many_late_periods_do_not_hide_one_another():
    known = {str(k): 1000 for k in range(10)} | {"x": 700} | {f"late {k}": 20 for k in range(20)}
    missing = {"x": 300} | {f"late {k}": 980 for k in range(20)}
    assert late_periods(known, missing, 0.3) == ("x", *(f"late {k}" for k in range(20)))


def test_a_difference_that_changes_no_event_rate_is_none():
    """Three in a thousand more, of ten million rows: beyond chance, but not for an event of half of
    the rows.
    """
    known = {"a": 9_990_000, "b": 9_960_000}
    missing = {"a": 10_000, "b": 40_000}
    assert late_periods(known, missing, 0.5) == ()
    assert late_periods(known, missing, 0.01) == ("b",)
    assert late_periods({"a": 100}, {"a": 100}, 0.3) == ()
    assert late_periods({"a": 1000}, {"b": 1000}, 0.3) == ("b",)


def test_a_difference_counts_from_a_hundredth_of_the_rows_or_a_tenth_of_the_rarer_outcome_on():
    """In a thousand million rows chance is nothing."""
    rows = 10**9
    for rarer, least in ((0.5, 0.01), (0.1, 0.01), (0.02, 0.002)):
        for share, late in ((0.99 * least, ()), (1.01 * least, ("b",))):
            missing = {"a": rows // 20, "b": round((0.05 + share) * rows)}
            known = {period: rows - absent for period, absent in missing.items()}
            assert late_periods(known, missing, rarer) == late


def test_a_period_is_named_where_chance_is_one_in_a_thousand_over_all_periods():
    others = {str(k): 980 for k in range(9)}
    absent = {str(k): 20 for k in range(9)}

    def chance(missing):
        return stats.hypergeom.sf(missing - 1, 10_000, 180 + missing, 1000)

    fewest = next(missing for missing in range(20, 100) if chance(missing) <= 0.001 / 10)
    assert late_periods(others | {"x": 1000 - fewest}, absent | {"x": fewest}, 0.3) == ("x",)
    fewer = fewest - 1
    assert late_periods(others | {"x": 1000 - fewer}, absent | {"x": fewer}, 0.3) == ()


def test_the_command_says_so_and_does_not_fail(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    import pyarrow.parquet as pq

    pq.write_table(
        pa.table({name: pa.array(column, from_pandas=True) for name, column in delayed().items()}),
        "d.parquet",
    )
    command = [
        "monitor",
        "d.parquet",
        "--by",
        "day",
        "--prob",
        "p",
        "--outcome",
        "y",
        "--drop-missing",
    ]
    assert main([*command, "--fail-on", "change"]) == 0
    out = " ".join(capsys.readouterr().out.split())
    assert "Note: outcomes are missing in " in out
    assert "not judged" in out
    assert main([*command, "--fail-on", "new", "--state", "told.json", "--quiet"]) == 0
    assert json.loads((tmp_path / "told.json").read_text())["newest"] == "2026-02-02"
