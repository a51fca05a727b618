"""Results of a GROUP BY in every form, and everything that can be wrong with them."""

from __future__ import annotations

import decimal
import math
import re
import sqlite3
from collections import namedtuple

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from helpers.cases import for_each

import rainproof
from rainproof.core.grouped_rows import COLUMNS, VIOLATIONS, violation_code
from rainproof.core.validation import as_columns
from rainproof.errors import InputError

Y, P, W = [0, 1, 1, 0, 1], [0.1, 0.8, 0.6, 0.3, 1.0], [1.0, 2.0, 0.5, 3.0, 1.5]
SAMPLE = rainproof.Sample(Y, P, sample_weight=W).compress(8)
# By hand: cell floor(8 p), rise w (8 p - cell).
ROWS = [
    (8, 0, 0, 1, 1.0, 0.8, 1.0),
    (8, 6, 1, 1, 2.0, 0.8, 4.0),
    (8, 4, 1, 1, 0.5, 0.4, 0.25),
    (8, 2, 0, 1, 3.0, 1.2, 9.0),
    (8, 8, 1, 1, 1.5, 0.0, 2.25),
]
DICTS = [dict(zip(COLUMNS, row, strict=True)) for row in ROWS]
Named = namedtuple("Named", COLUMNS)


def cursor():
    connection = sqlite3.connect(":memory:")
    values = ", ".join(str(row) for row in ROWS)
    return connection.execute(f"WITH t ({', '.join(COLUMNS)}) AS (VALUES {values}) SELECT * FROM t")


def sqlite_rows():
    rows = cursor()
    rows.row_factory = sqlite3.Row
    return rows.fetchall()


FORMS = {
    "tuples": lambda: ROWS,
    "a generator": lambda: iter(ROWS),
    "mappings": lambda: DICTS,
    "in upper case": lambda: [
        {name.upper(): value for name, value in row.items()} for row in DICTS
    ],
    "decimals": lambda: [
        {name: decimal.Decimal(str(value)) for name, value in row.items()} for row in DICTS
    ],
    "named tuples": lambda: [Named(*row) for row in ROWS],
    "a cursor": cursor,
    "sqlite3 rows": sqlite_rows,
    "columns": lambda: dict(zip(COLUMNS, zip(*ROWS, strict=True), strict=True)),
    "pandas": lambda: pd.DataFrame(DICTS),
    "pyarrow": lambda: pa.Table.from_pylist(DICTS),
    "in another order": lambda: [dict(reversed(row.items())) for row in reversed(DICTS)],
}


@for_each("form", FORMS)
def test_a_sample_from_every_form(form):
    sample = rainproof.Sample.from_table(FORMS[form]())
    np.testing.assert_array_equal(sample.counts, SAMPLE.counts)
    np.testing.assert_allclose(sample.y_prob, SAMPLE.y_prob, rtol=1e-14)
    np.testing.assert_allclose(sample.sample_weight, SAMPLE.sample_weight, rtol=0)
    assert sample.grid == 8
    assert math.isclose(rainproof.soft_binned_cdl(sample), rainproof.soft_binned_cdl(SAMPLE))


def test_polars():
    import polars as pl

    assert repr(rainproof.Sample.from_table(pl.DataFrame(DICTS))) == repr(SAMPLE)


@for_each("named", [True, False])
def test_segments(named):
    regions = ["n", "s", None, math.nan, "s"]
    rows = [(*row, region) for row, region in zip(ROWS, regions, strict=True)]
    if named:
        rows = [dict(zip([*COLUMNS, "region"], row, strict=True)) for row in rows]
    segments = rainproof.io.Segments.from_table(rows, None if named else "region")
    assert segments.by == ("region",)
    assert segments.counts == {"n": 1, "s": 2, None: 2}
    assert repr(segments.pooled) == repr(SAMPLE)
    with pytest.raises(
        InputError, match=r"^rows are of segments by region: read them with Segments.from_table$"
    ):
        rainproof.Sample.from_table([{**row, "region": "n"} for row in DICTS])
    with pytest.raises(
        InputError, match=r"^rows have no columns of segments: read them with Sample.from_table$"
    ):
        rainproof.io.Segments.from_table(DICTS)


def test_by_says_the_order_and_must_say_all():
    rows = [{**row, "a": 1, "b": np.int64(2)} for row in DICTS]
    assert list(rainproof.io.Segments.from_table(rows, ["b", "a"])) == [(2, 1)]
    message = "by must name the columns of the segments; they are ['a', 'b'], and by is ['a']"
    with pytest.raises(InputError, match=re.escape(message)):
        rainproof.io.Segments.from_table(rows, "a")


def test_pandas_missing_values_are_no_segment():
    rows = [
        {**row, "r": region} for row, region in zip(DICTS, [1, pd.NA, 1, pd.NaT, None], strict=True)
    ]
    assert rainproof.io.Segments.from_table(rows).counts == {1: 2, None: 3}


def test_cells_without_weight_are_left_out():
    sample = rainproof.Sample.from_table([*ROWS, (8, 1, 0, 0, 0.0, 0.0, 0.0)])
    assert repr(sample) == repr(SAMPLE)


@for_each("role, kind", VIOLATIONS)
def test_bad_rows_are_counted_over_segments(role, kind):
    bad = (8, violation_code(role, kind), 0, 3, 0.0, 0.0, 0.0)
    name = {"prob": "y_prob", "label": "y_true", "weight": "sample_weight", "old": "p_old"}[role]
    with pytest.raises(InputError, match=rf"^{name} must .*; 6 values do( not)?$") as caught:
        rainproof.io.Segments.from_table([(*row, "n") for row in (*ROWS, bad, bad)], "region")
    assert caught.value.count == 6


def test_refusals_are_those_of_the_arrays():
    """The same rules, in the same words, as for arrays."""
    for values, role, kind in (
        (([0], [2.0], None), "prob", "range"),
        (([0], [math.nan], None), "prob", "nan"),
        (([2], [0.5], None), "label", "rule"),
        (([0], [0.5], [-1.0]), "weight", "rule"),
    ):
        with pytest.raises(InputError, match="1 value does") as caught:
            rainproof.Sample.from_table([(8, violation_code(role, kind), 0, 1, 0.0, 0.0, 0.0)])
        assert caught.value.rule == as_columns(*values).explain().rule


def test_the_first_offence_is_told():
    codes = [
        violation_code("label", "rule"),
        violation_code("prob", "nan"),
        violation_code("prob", "null"),
    ]
    rows = [(8, code, 0, 0 if code == codes[2] else 1, 0.0, 0.0, 0.0) for code in codes]
    with pytest.raises(InputError, match=r"^y_prob must not contain NaN; 1 value does$"):
        rainproof.Sample.from_table(rows)


def changed(**values):
    return [
        {**DICTS[0], **{f"rainproof_{name}": value for name, value in values.items()}},
        *DICTS[1:],
    ]


WRONG = {
    "rainproof_grid must be a power of two from 2 to 1,048,576; it is 9": changed(grid=9),
    "rainproof_grid must be the same in every row; it is 16 and 8": changed(grid=16),
    "rainproof_cell must lie between -14 and 8; it is 9": changed(cell=9),
    "rainproof_cell must lie between -14 and 8; it is -15": changed(cell=-15),
    "rainproof_outcome must lie between 0 and 1; it is 2": changed(outcome=2),
    "rainproof_count must lie between 0 and 9,007,199,254,740,992; it is -1": changed(count=-1),
    "rainproof_count must hold integers": changed(count=1.5),
    "rainproof_cell must hold integers": changed(cell=1e300),
    "rainproof_cell must hold finite numbers": changed(cell=None),
    "rainproof_rise must hold finite numbers": changed(rise=math.inf),
    "rainproof_rise must hold numbers; ": changed(rise="much"),
    "rainproof_weight and rainproof_squares must be positive where rainproof_count is": changed(weight=0),
    "rainproof_rise must lie between 0 and rainproof_weight": changed(rise=1.1),
    "rainproof_squares must lie between": changed(squares=1.1),
    "rainproof_squares must lie between rainproof_weight^2 / rainproof_count and rainproof_weight^2": changed(
        squares=0.9
    ),
    "the table has columns but no rows": [],
    "rows must be the result of rainproof.io.sql's statement; they are of type NoneType": None,
    "rows must be the result of rainproof.io.sql's statement; they are of type int": 3,
    "rows must have the columns of rainproof.io.sql's statement; they lack rainproof_grid, rainproof_cell, "
    "rainproof_outcome, rainproof_count, rainproof_weight, rainproof_rise, rainproof_squares": [{"p": 0.1}],
    "rows must have the 7 columns of rainproof.io.sql's statement in its order, those of by last; they have 2": [
        (1, 2)
    ],
}  # fmt: skip


@for_each("message", WRONG)
def test_tables_that_no_statement_gave(message):
    with pytest.raises(InputError, match=re.escape(message)):
        rainproof.Sample.from_table(WRONG[message])


def test_labels_besides_the_event_of_several_types():
    """A column of SQLite may hold any."""
    rows = [{**row, "rainproof_least": 0, "rainproof_most": "no"} for row in DICTS]
    message = "^y_true must hold the event and one other label; it holds 0 and 'no' too$"
    with pytest.raises(InputError, match=message):
        rainproof.Sample.from_table(rows)


def test_labels_besides_the_event():
    rows = [{**row, "rainproof_least": "no", "rainproof_most": "no"} for row in DICTS]
    rows[0]["rainproof_least"] = rows[0]["rainproof_most"] = None
    assert repr(rainproof.Sample.from_table(rows)) == repr(SAMPLE)
    rows[1]["rainproof_least"] = "maybe"
    message = "^y_true must hold the event and one other label; it holds 'maybe' and 'no' too$"
    with pytest.raises(InputError, match=message):
        rainproof.Sample.from_table(rows)
