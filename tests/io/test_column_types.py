"""A column has one type from its first row to its last, over batches and files, and no key is
lost.
"""

from __future__ import annotations

import datetime
import json
import sqlite3
from decimal import Decimal
from pathlib import Path

import dask
import dask.dataframe as dd
import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from helpers.cases import for_each

import rainproof
from rainproof.cli import main
from rainproof.io import containers, databases, json_files, spreadsheets
from rainproof.io.column_types import as_text
from rainproof.io.kept_rows import keep_rows

BATCH = 4
N = 10


@pytest.fixture(autouse=True)
def small_batches(monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(json_files, "ROWS_PER_BATCH", BATCH)
    monkeypatch.setattr(spreadsheets, "ROWS_PER_BATCH", BATCH)
    monkeypatch.setattr(databases, "ROWS_PER_BATCH", BATCH)
    monkeypatch.setattr(containers, "ROWS_PER_BATCH", BATCH)


def write(name, values, **late):
    """Write objects with a column of these values; each late key is in the last object only."""
    rows = [{"p": 0.5, "y": row % 2, "g": value} for row, value in enumerate(values)]
    rows[-1] |= late
    Path(name).write_text("".join(json.dumps(row) + "\n" for row in rows))
    return name


READ = {
    "scan": lambda source: rainproof.scan(source, by="g"),
    "keep_rows": lambda source: keep_rows(source, "p", "y", groups="g"),
    "where": lambda source: rainproof.scan(source, where="g is null or g is not null"),
}


@for_each("read", READ)
@for_each(
    "values, kinds",
    [
        ([*range(N - 1), "last"], "numbers, and text"),
        ([*range(N - 1), True], "numbers, and true and false"),
        ([None] * 5 + [1, 2, 3, 4, "last"], "numbers, and text"),
        ([True] * (N - 1) + ["last"], "true and false, and text"),
        ([*range(N - 1), 2**70], "numbers, and numbers of another type"),
    ],
)
def test_another_type_in_a_later_batch_is_refused(read, values, kinds):
    path = write("g.jsonl", values)
    with pytest.raises(rainproof.InputError) as caught:
        READ[read](path)
    message = str(caught.value)
    assert message.startswith(f"g must hold values of one type; it holds {kinds} from g[")
    assert " of g.jsonl on" in message
    assert "another type" in kinds or f"g[{N - 1}]" in message  # the very row


@for_each(
    "values, labels",
    [
        # text in the first batch: all is text
        ([1, "1", 1.0, 2, 2.0, 2, "2", 1, 1, 2], {"1": 5, "2": 5}),
        (["1"] * 5 + [1, 1.0, 2, 2, 2], {"1": 7, "2": 3}),
        ([1] * 5 + [1.0, 1.0, 2.0, 2, 2], {1: 7, 2: 3}),
        ([None] * 5 + [1, 1, 2, 2, 2], {None: 5, 1: 2, 2: 3}),
    ],
)
def test_the_same_label_in_another_form_is_one_label(values, labels):
    assert rainproof.scan(write("g.jsonl", values), by="g").counts == labels


@for_each("read", READ)
def test_another_type_in_another_file_is_refused(read):
    names = [write("a.jsonl", range(N)), write("b.jsonl", ["a"] * N)]
    with pytest.raises(
        rainproof.InputError, match=r"it holds numbers, and text from g\[0\] of b.jsonl on"
    ):
        READ[read](names)


DAY = datetime.date(2026, 3, 2)
MIDNIGHT = datetime.datetime(2026, 3, 2)
ZONED = MIDNIGHT.replace(tzinfo=datetime.UTC)
HALVES = ("numbers of single precision", "numbers of double precision")
ALIKE = {
    "a day and its midnight": ([DAY], [MIDNIGHT], ("dates", "dates and times")),
    "a time and the same with a zone": (
        [MIDNIGHT],
        [ZONED],
        ("dates and times", "dates and times with a time zone"),
    ),
    "two precisions": (pa.array([0.1], pa.float32()), [0.1], HALVES),
    "integers between them": (pa.array([0.1], pa.float32()), [1], [0.1], HALVES),
    "decimals": ([Decimal("0.1")], [0.1], ("decimal numbers", HALVES[1])),
    "dates and times of day": ([DAY], [datetime.time(1)], ("dates", "times of day")),
    "times and durations": (
        [MIDNIGHT],
        [datetime.timedelta(1)],
        ("dates and times", "durations"),
    ),
}


def typed_files(*labels):
    """Write a file for each column of labels."""
    names = [f"{number}.parquet" for number in range(len(labels))]
    for name, column in zip(names, labels, strict=True):
        pq.write_table(pa.table({"p": [0.5], "y": [1], "g": column}), name)
    return names


@for_each("case", ALIKE)
def test_labels_that_look_alike_and_are_not_equal_are_refused(case):
    """They would be two segments, or two groups, of one day or one number."""
    *labels, kinds = ALIKE[case]
    names = typed_files(*labels)
    message = f"g must hold values of one type; it holds {kinds[0]}, and {kinds[1]} from "
    for read in ("scan", "keep_rows"):
        with pytest.raises(rainproof.InputError) as caught:
            READ[read](names)
        assert str(caught.value) == f"{message}g[0] of {names[-1]} on"
    assert READ["where"](names).n == len(names)  # a condition converts them


@for_each(
    "labels",
    [
        ([1], [1.0]),
        ([MIDNIGHT], pa.array([MIDNIGHT], pa.timestamp("ns"))),
        ([ZONED], pa.array([ZONED], pa.timestamp("us", "Europe/Berlin"))),
        (["a"], pa.array(["a"], pa.large_string()), pa.array(["a"]).dictionary_encode()),
    ],
)
def test_equal_labels_of_two_types_are_one_label(labels):
    assert [*READ["scan"](typed_files(*labels)).counts.values()] == [len(labels)]


def test_nan_beside_text_is_missing():
    assert rainproof.scan(write("g.jsonl", ["a", float("nan"), None, "NaN"]), by="g").counts == {
        "NaN": 1,
        "a": 1,
        None: 2,
    }


def test_the_outcome_of_classes_has_one_type():
    rows = {"a": [0.5] * 2, "b": [0.3] * 2, "c": [0.2] * 2}
    pq.write_table(pa.table({**rows, "y": ["a", "b"]}), "text.parquet")
    pq.write_table(pa.table({**rows, "y": [0, 1]}), "numbers.parquet")
    with pytest.raises(rainproof.InputError, match="y must hold values of one type; it holds text"):
        rainproof.scan(["text.parquet", "numbers.parquet"], classes=["a", "b", "c"])


def test_text_and_objects_are_two_types_as_well(tmp_path):
    (tmp_path / "a.csv").write_text("p,y,g\n0.5,1,5\n0.2,0,6\n")
    with pytest.raises(
        rainproof.InputError,
        match="g must hold values of one type; it holds text, and numbers from",
    ):
        rainproof.scan(["a.csv", write("b.jsonl", range(N))], by="g")


def test_numbers_may_be_text_in_another_file(tmp_path):
    (tmp_path / "a.csv").write_text("p,y,g\n0.5,1,5\n0.2,0,6\n")
    assert rainproof.scan(["a.csv", write("b.jsonl", range(N))]).n == N + 2


def test_objects_of_pandas_that_change_their_type_are_refused():
    labels = pd.Series([*range(N - 2), "a", "b"], dtype=object)
    frame = pd.DataFrame({"p": 0.5, "y": np.arange(N) % 2, "g": labels})
    with pytest.raises(
        rainproof.InputError,
        match=r"g must hold values of one type; it holds numbers, and text from",
    ):
        rainproof.scan(frame, by="g")


def test_partitions_of_several_types_are_refused():
    frame = pd.DataFrame(
        {"p": 0.5, "y": np.arange(N) % 2, "g": pd.Series([*range(N - 2), "a", "b"], dtype=object)}
    )
    with dask.config.set({"dataframe.convert-string": False}):
        parts = dd.from_map(
            lambda part: part, [frame.iloc[: N - 2], frame.iloc[N - 2 :]], meta=frame.iloc[:0]
        )
    with pytest.raises(
        rainproof.InputError, match="g must hold values of one type; it holds numbers and text"
    ):
        rainproof.scan(parts, by="g")


def test_a_column_of_sqlite_that_changes_its_type_is_refused(tmp_path):
    with sqlite3.connect(tmp_path / "a.db") as connection:
        connection.execute("CREATE TABLE t (p REAL, y INTEGER, g)")
        rows = [(0.5, row % 2, row if row < N - 1 else "last") for row in range(N)]
        connection.executemany("INSERT INTO t VALUES (?, ?, ?)", rows)
    connection.close()
    with pytest.raises(
        rainproof.InputError, match=r"g must hold values of one type; it holds numbers, and text"
    ):
        keep_rows(f"sqlite:///{tmp_path}/a.db#t", "p", "y", groups="g")
    with pytest.raises(
        rainproof.InputError, match="g must hold values of one type; it holds numbers and text"
    ):
        rainproof.scan(f"sqlite:///{tmp_path}/a.db#t", by="g")


def test_a_batch_without_any_value_meets_no_comparison():
    path = write("g.jsonl", [None] * 5 + [1, 2, 3, 4, 5])
    assert rainproof.scan(path, where="g > 1").n == 4


def fitted():
    map_ = rainproof.Recalibrator("logistic", rng=0).fit(
        [0.1, 0.9, 0.4, 0.6] * 50, [0, 1, 1, 0] * 50
    )
    map_.save("map.json")
    return ["--map", "map.json", "--prob", "p"]


def test_a_key_that_first_occurs_late_is_copied():
    write("late.jsonl", range(N), note="x", more=[1])
    assert main(["apply", "late.jsonl", *fitted(), "-o", "out.jsonl", "--quiet"]) == 0
    found = [json.loads(line) for line in Path("out.jsonl").read_text().splitlines()]
    assert (found[-1]["note"], found[-1]["more"]) == ("x", [1])
    assert [row["g"] for row in found] == list(range(N))


@for_each("name", ["out.csv", "out.parquet"])
def test_a_file_whose_columns_are_fixed_refuses_a_late_key(name, capsys):
    write("late.jsonl", range(N), note="x")
    assert main(["apply", "late.jsonl", *fitted(), "-o", name, "--quiet"]) == 2
    message = (
        f"{name} cannot have 'note', which first occurs after 8 rows: write "
        ".jsonl, which can have it"
    )
    assert message in capsys.readouterr().err


def test_a_typed_file_keeps_the_type_of_a_column_or_refuses(capsys):
    options = [*fitted(), "--quiet"]
    write("whole.jsonl", [1] * 5 + [2.0] * 5)
    assert main(["apply", "whole.jsonl", *options, "-o", "out.parquet"]) == 0
    assert pq.read_table("out.parquet")["g"].to_pylist() == [1] * 5 + [2] * 5
    write("half.jsonl", [1] * 5 + [0.5] * 5)
    assert main(["apply", "half.jsonl", *options, "-o", "half.parquet"]) == 2
    assert (
        "half.parquet cannot have 'g', which holds values of type int64" in capsys.readouterr().err
    )


def test_ids_that_change_their_type_are_refused(capsys):
    policy = rainproof.RoundingPolicy(rainproof.DecisionTask.threshold(0.3), 16)
    policy.save("policy.json")
    write("ids.jsonl", [*range(N - 1), "last"])
    command = [
        "decide",
        "ids.jsonl",
        "--policy",
        "policy.json",
        "--prob",
        "p",
        "--id",
        "g",
        "-o",
        "out.jsonl",
    ]
    assert main([*command, "--quiet"]) == 2
    assert (
        "g must hold values of one type; it holds numbers, and text from g[9]"
        in capsys.readouterr().err
    )


@for_each(
    "value, text",
    [
        (1.0, "1"),
        (1.5, "1.5"),
        (datetime.date(2026, 3, 2), "2026-03-02"),
        (datetime.datetime(2026, 3, 2), "2026-03-02"),
        (datetime.datetime(2026, 3, 2, 14, 5), "2026-03-02 14:05:00"),
        (True, "true"),
        ("007", "007"),
        ({"a": "é"}, '{"a": "é"}'),
    ],
)
def test_values_beside_text_keep_their_form(value, text):
    assert as_text(value) == text
