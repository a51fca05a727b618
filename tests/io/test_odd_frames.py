"""Columns of every kind in every container and place: they are read, or refused in one line that
names the column.
"""

from __future__ import annotations

import warnings

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from helpers.cases import for_each
from helpers.odd_frames import KINDS, P, Y, frame

import rainproof
from rainproof.cli import main
from rainproof.io.kept_rows import keep_rows

W = np.ones(len(P))
PLACES = {
    "p": ({"y": Y}, {}),
    "y": ({"p": P}, {}),
    "y with a label": ({"p": P}, {"pos_label": "a"}),
    "y with a number": ({"p": P}, {"pos_label": 1}),
    "w": ({"p": P, "y": Y}, {"weight": "w"}),
    "g": ({"p": P, "y": Y}, {"by": "g"}),
    "g in a condition": ({"p": P, "y": Y}, {"where": "g >= 0.5 or g is null or g is nan"}),
    "g and text": ({"p": P, "y": Y}, {"where": "g = 'a'"}),
    "g left out": ({"p": P, "y": Y}, {"by": "g", "drop_missing": True}),
}


def refusal(read, *arguments, **options):
    """The words of the error if an input is refused, or nothing; any other error is a fault."""
    try:
        with warnings.catch_warnings(action="ignore"):
            read(*arguments, **options)
    except rainproof.InputError as error:
        return str(error)
    return ""


@for_each("container", KINDS)
@for_each("place", PLACES)
def test_columns_are_read_or_refused(container, place):
    others, options = PLACES[place]
    name = place.split()[0]
    for kind, values in KINDS[container].items():
        message = refusal(rainproof.scan, frame(container, **others, **{name: values}), **options)
        named = (name, "the mapping", "no rows")
        assert not message or any(words in message for words in named), (kind, message)
        assert "\n" not in message, (kind, message)


@for_each("container", ["pandas", "polars", "pyarrow", "python"])
def test_kept_rows_are_read_or_refused_too(container):
    for kind, values in KINDS[container].items():
        message = refusal(keep_rows, frame(container, p=P, y=Y, g=values), "p", "y", groups="g")
        assert "\n" not in message, (kind, message)


def sums(sample):
    return sample.y_prob.tolist(), sample.y_true.tolist()


@for_each(
    "values",
    [
        P.astype(np.longdouble),
        P.astype(">f8"),
        np.ma.masked_array(P),
        pd.Series(P.astype(np.longdouble)),
        pd.Series(P.astype(">f8")),
        pd.Series(pd.arrays.SparseArray(P)),
    ],
)
def test_numbers_of_other_widths_are_read(values):
    columns = {"p": values, "y": Y}
    source = pd.DataFrame(columns) if isinstance(values, pd.Series) else columns
    assert sums(rainproof.scan(source)) == sums(rainproof.scan({"p": P, "y": Y}))


def test_what_rounding_to_a_double_would_clip_is_refused():
    above = 1 + np.finfo(np.longdouble).eps
    with pytest.raises(rainproof.InputError, match="p must lie in"):
        rainproof.scan({"p": np.array([0.5, above]), "y": [0, 1]})


def test_small_integers_of_128_bits_are_read():
    if not hasattr(pl, "Int128"):  # an older version, which has none
        return
    outcome = pl.Series(Y, dtype=pl.Int128)
    for make in (pl.DataFrame, pl.LazyFrame):
        assert sums(rainproof.scan(make({"p": P, "y": outcome}))) == sums(
            rainproof.scan({"p": P, "y": Y})
        )


@for_each(
    "names",
    [
        [0, 1],
        [("p", "a"), ("y", "b")],
        ["p", 1],
        [None, "y"],
        [pd.NA, "y"],
        [pd.Timestamp(0), "y"],
        [1.5, b"p"],
    ],
)
def test_names_that_are_no_text_name_no_column(names):
    table = pd.DataFrame(np.column_stack([P, Y]))
    table.columns = (
        pd.MultiIndex.from_tuples(names)
        if isinstance(names[0], tuple)
        else pd.Index(names, dtype=object)
    )
    with pytest.raises(rainproof.InputError, match=r"the data frame has no column '[py]'"):
        rainproof.scan(table)


def test_names_that_are_asked_for_must_be_text():
    table = pd.DataFrame(np.column_stack([P, Y]))
    for options in ({"prob": 0}, {"prob": "p", "outcome": 1}, {"prob": ["p", 0]}, {"prob": None}):
        with pytest.raises(rainproof.InputError, match="must be the name of a column, as text"):
            rainproof.scan(table, **options)


def broken_lazy_frame():
    return pl.LazyFrame({"p": P, "y": Y}).with_columns(other=pl.col("gone"))


@for_each(
    "source, message",
    [
        (lambda: pd.Series(P), "must be a table with columns; it is of type pandas.*Series, which"),
        (lambda: pl.Series(P), "must be a table with columns; it is of type polars.*Series, which"),
        (broken_lazy_frame, "cannot read the frame of Polars: .*gone"),
    ],
)
def test_what_is_no_table_or_cannot_be_computed_is_refused(source, message):
    with pytest.raises(rainproof.InputError, match=message):
        rainproof.scan(source())


def no_utf8():
    """Text of Arrow that is not UTF-8, as a typed file may have it."""
    offsets = pa.py_buffer(np.arange(len(P) + 1, dtype=np.int32))
    return pa.Array.from_buffers(
        pa.string(), len(P), [None, offsets, pa.py_buffer(b"\xff" * len(P))]
    )


@for_each("place", PLACES)
def test_text_that_is_not_utf8_is_refused_or_not_looked_at(place):
    others, options = PLACES[place]
    name = place.split()[0]
    message = refusal(rainproof.scan, pa.table({**others, name: no_utf8()}), **options)
    known = ("must hold text in UTF-8", "must hold numbers", "no rows", "cannot compare")
    assert not message or any(words in message for words in known)


def test_no_command_fails_over_text_that_is_not_utf8(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    pq.write_table(pa.table({"p": P, "note": no_utf8()}), "rows.parquet")
    rainproof.Recalibrator("none").fit(np.tile(P, 10), np.tile(Y, 10)).save("map.json")
    for target in ("out.jsonl", "out.csv"):
        command = ["apply", "rows.parquet", "--map", "map.json", "--prob", "p", "-o", target]
        assert main(command) == 2
        assert "UTF-8" in capsys.readouterr().err
        assert not (tmp_path / target).exists()


def test_a_list_of_arrays_without_a_dimension_holds_numbers():
    assert rainproof.Sample(Y, [np.array(value) for value in P]).n == len(P)


def test_columns_beside_names_that_are_no_text_are_read():
    table = pd.DataFrame({"p": P, "y": Y, 0: 1, None: 2})
    assert rainproof.scan(table).n == len(P)


MASK = np.array([True, False, False, False])


@for_each("column, options", [("p", {}), ("y", {}), ("w", {"weight": "w"})])
def test_a_masked_value_is_missing(column, options):
    columns = {"p": P, "y": Y, "w": W}
    columns[column] = np.ma.masked_array(columns[column], MASK)
    with pytest.raises(
        rainproof.InputError,
        match=rf"{column} must not contain nulls .* the first is {column}\[0\]",
    ):
        rainproof.scan(columns, **options)
    with pytest.warns(rainproof.RainproofWarning, match="1 of 4 rows has a missing value"):
        assert rainproof.scan(columns, drop_missing=True, **options).n == 3


@for_each("labels", [np.array([7, 7, 8, 8]), np.array(list("aabb"))])
def test_a_masked_label_is_missing(labels):
    columns = {"p": P, "y": Y, "g": np.ma.masked_array(labels, MASK)}
    assert rainproof.scan(columns, by="g").counts == {labels[0]: 1, labels[2]: 2, None: 1}
    assert rainproof.scan(columns, where="g is not null").n == 3
    with pytest.raises(rainproof.InputError, match="g must not contain nulls"):
        keep_rows(columns, "p", "y", groups="g")
