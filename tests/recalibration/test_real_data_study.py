"""The study on real data, without the packages that ship the data: its loaders, its draws, its
costs, and what is committed under docs/data.
"""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from benchmarks.studies.real_data import page, sets, splits, study
from benchmarks.studies.real_data.maps import PLATT, RAINPROOF, cut_off
from benchmarks.studies.real_data.models import MODELS, predict
from benchmarks.studies.tables import filled, read


def a_table(**fields):
    """A table of no package."""
    given = {"name": "fake", "distribution": "fake", "file": "fake.csv", "event": "late > 15"}
    return sets.Table(**(given | fields))


def a_frame(n=400):
    """Rows of a table: a number, a text, one that gives the event away, a year and a city."""
    rng = np.random.default_rng(0)
    return pd.DataFrame(
        {
            "late": np.where(np.arange(n) % 7 == 0, np.nan, rng.normal(10, 20, n)),
            "distance": np.where(np.arange(n) % 5 == 0, np.nan, rng.random(n)),
            "carrier": rng.choice(["AA", "UA", "DL"], n),
            "arrival": rng.random(n),
            "year": np.arange(n) // 100,
            "city": rng.choice(["Rome", "Oslo", "Lima", "Bonn"], n),
        }
    )


def test_a_number_makes_an_event_and_columns_known_with_it_are_dropped():
    table = a_table(drop="arrival", time="year", site="city")
    data = a_frame()
    rows = sets.rows(table, data)
    known = data["late"].notna()
    assert len(rows.y) == known.sum()
    np.testing.assert_array_equal(rows.y, data["late"][known] > 15)
    assert rows.x.shape[1] == 1 + 3  # the distance, and a column for each carrier
    assert np.isfinite(rows.x).all()
    assert rows.time.max() == 3
    assert rows.site.max() == 3


def test_a_table_without_the_column_of_its_event_is_refused():
    with pytest.raises(KeyError, match="late"):
        sets.rows(a_table(), a_frame().drop(columns="late"))


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("plain.csv", "a,y\n1,0\n2,1\n"),
        ("bankmarketing.csv.gz", "a;y\n1;0\n2;1\n"),
        ("relation.dat", "@relation r\n@attribute a real\n@attribute y {0,1}\n@data\n1, 0\n2, 1\n"),
        ("named.arff", "% note\n@attribute a real\n@attribute y {0,1}\n@data\n1,0\n2,1\n"),
    ],
)
def test_every_format_of_file_is_read(tmp_path, name, text):
    file = tmp_path / name
    if name.endswith(".gz"):
        import gzip

        file.write_bytes(gzip.compress(text.encode()))
    else:
        file.write_text(text)
    data = sets.frame(file)
    assert list(data.columns) == ["a", "y"]
    assert data["a"].tolist() == [1, 2]
    assert data["y"].tolist() == [0, 1]


def test_a_package_that_is_not_installed_is_left_out(monkeypatch):
    monkeypatch.setattr(sets, "TABLES", (a_table(distribution="no-such-distribution"),))
    assert list(sets.installed()) == []


def test_tables_have_names_of_their_own_and_two_halves():
    names = [table.name for table in sets.TABLES]
    assert len(set(names)) == len(names) >= 100
    assert {table.distribution for table in sets.TABLES} == set(sets.LICENSES)
    share = np.mean([table.half == "A" for table in sets.TABLES])
    assert 0.4 < share < 0.6


@pytest.mark.parametrize("kind", ["random", "time", "site"])
def test_no_row_trains_and_is_held_out(kind):
    rows = sets.rows(a_table(time="year", site="city"), a_frame())
    split = splits.divide(rows, kind, np.random.default_rng(0))
    assert not set(split.trained) & set(split.held_out)
    assert len(split.trained) + len(split.held_out) == len(rows.y)
    if kind == "time":
        assert rows.time[split.trained].max() <= rows.time[split.held_out].min()
        assert (np.diff(rows.time[split.held_out]) >= 0).all()
    if kind == "site":
        assert not set(rows.site[split.trained]) & set(rows.site[split.held_out])


def test_rows_that_judge_are_not_fitted_and_come_later_in_time():
    p = np.arange(1_000) / 1_000
    y = np.arange(1_000) % 2
    for in_time in (False, True):
        drawn = splits.draw(p, y, n=300, in_time=in_time, rng=np.random.default_rng(0))
        assert len(drawn.p) == 300
        assert not set(drawn.p) & set(drawn.new)
        if in_time:
            assert drawn.p.max() < drawn.new.min()
    assert splits.draw(p, y, n=950, in_time=False, rng=np.random.default_rng(0)) is None


def test_a_cost_is_a_share_of_the_better_fixed_rule():
    event = np.array([0, 0, 0, 1])
    assert study.cost(np.ones(4, bool), event, 3.0) == 100  # always and never cost alike
    assert study.cost(np.array([False, False, False, True]), event, 3.0) == 0
    assert study.cost(np.array([True, False, False, True]), event, 9.0) == pytest.approx(100 / 3)


def test_the_cut_off_costs_least_on_its_own_rows():
    p = np.array([0.1, 0.2, 0.2, 0.8])
    assert cut_off(np.array([0, 1, 0, 1]), p, 3.0) == 0.2
    assert cut_off(np.array([0, 0, 0, 1]), p, 1.0) == 0.8
    assert cut_off(np.array([1, 0, 0, 0]), p, 0.1) == 2


@pytest.mark.parametrize("kind", MODELS)
def test_models_predict_probabilities(kind):
    rng = np.random.default_rng(0)
    x = rng.normal(size=(200, 3))
    y = (x[:, 0] + rng.normal(size=200) > 0).astype(np.int64)
    p = predict(kind, x[:150], y[:150], x[150:])
    assert p.shape == (50,)
    assert ((p >= 0) & (p <= 1)).all()
    assert p[y[150:] == 1].mean() > p[y[150:] == 0].mean()


def test_the_advice_is_one_of_its_alternatives():
    rng = np.random.default_rng(0)
    p = rng.random(400)
    y = (rng.random(400) < p**2).astype(np.int64)
    line = study.costs_of_advice(
        splits.Drawn(p=p[:100], y=y[:100], new=p[100:], event=y[100:]), 3.0
    )
    alternatives = [line[name] for name in ("as is", "recalibrated", "always", "never", "cut-off")]
    assert line["advice"] in alternatives


def test_each_table_counts_once():
    lines = [
        {"table": "a", "n": "100", "one": "10", "two": "12"},
        {"table": "a", "n": "100", "one": "10", "two": "10"},
        {"table": "b", "n": "100", "one": "10", "two": "7"},
        {"table": "c", "n": "100", "one": "10", "two": ""},
    ]
    found = page.difference(lines, "one", "two")
    assert found.mean == pytest.approx((-1 + 3) / 2)
    assert found.error == pytest.approx(2)
    assert (found.wins, found.ties, found.losses) == (1, 0, 1)


def test_the_page_says_what_is_in_the_data():
    text = page.PAGE.read_text(encoding="utf-8")
    assert filled(text, page.BLOCKS) == text


def test_the_committed_tables_are_those_of_the_program():
    lines = read(page.TABLES_FILE)
    by_name = {table.name: table for table in sets.TABLES}
    for line in lines:
        assert line["half"] == by_name[line["table"]].half
    measured = {line["table"] for line in read(page.MAPS_FILE)}
    assert measured <= {line["table"] for line in lines}
    assert {RAINPROOF, PLATT} <= set(read(page.MAPS_FILE)[0])
