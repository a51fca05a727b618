"""Labels are numbered in their order, whatever holds them; missing ones are one label."""

from __future__ import annotations

import datetime

import numpy as np
import pandas as pd
import pytest
from helpers.cases import for_each

import rainproof
from rainproof.core.labels import code_labels, number_rows, number_segments, segment_column
from rainproof.errors import InputError

DAY, NEXT = datetime.date(2026, 3, 2), datetime.date(2026, 3, 3)
COLUMNS = {
    "integers": (np.array([7, -1, 7]), [-1, 7], [1, 0, 1]),
    "floats": (np.array([np.nan, 0.5, np.nan]), [0.5, None], [1, 0, 1]),
    "text": (np.array(["b", "a", "b"]), ["a", "b"], [1, 0, 1]),
    "booleans": (np.array([True, False, True]), [False, True], [1, 0, 1]),
    "objects": (np.array(["b", None, 2], object), [2, "b", None], [1, 2, 0]),
    "a list": (["b", 2, "b"], [2, "b"], [1, 0, 1]),
    "missing in four ways": ([None, np.nan, pd.NA, pd.NaT, "a"], ["a", None], [1, 1, 1, 1, 0]),
    "days": (np.array(["2026-03-03", "NaT", "2026-03-02"], "M8[D]"), [DAY, NEXT, None], [1, 2, 0]),
    "nanoseconds": (
        np.array(["2026-03-02T12"], "M8[ns]"),
        [datetime.datetime(2026, 3, 2, 12)],
        [0],
    ),
    "NumPy scalars": ([np.int64(3), 3, np.float32(0.5)], [0.5, 3], [1, 1, 0]),
    "none": ([], [], []),
}


@for_each("case", COLUMNS)
def test_labels_are_built_in_types_in_order(case):
    column, expected, numbers = COLUMNS[case]
    codes, labels = code_labels(column)
    assert labels == expected
    assert [type(label) for label in labels] == [type(label) for label in expected]
    assert codes.tolist() == numbers


def test_numbers_are_kept_from_batch_to_batch():
    index = {}
    first = number_rows(index, [code_labels(["b", "a", "b"]), code_labels([1, 1, None])], 3)
    assert [[*index][k] for k in first] == [("b", 1), ("a", 1), ("b", None)]
    known = [*index]
    second = number_rows(index, [code_labels(["c", "a"]), code_labels([1, 1])], 2)
    assert [*index] == [*known, ("c", 1)]
    assert [[*index][k] for k in second] == [("c", 1), ("a", 1)]
    assert number_segments(index, [("new", 0), ("a", 1)]).tolist() == [4, known.index(("a", 1))]


@for_each("rows", [0, 3])
def test_without_columns_all_rows_are_one_segment(rows):
    index = {}
    assert number_rows(index, [], rows).tolist() == [0] * rows
    assert [*index] == [()] * (rows > 0)


def test_labels_that_cannot_be_hashed_or_ordered_are_refused():
    with pytest.raises(InputError, match="must be plain values; unhashable type: 'dict'"):
        code_labels([{}])
    with pytest.raises(
        InputError, match="must be plain values; '<' not supported between instances of 'complex'"
    ):
        code_labels([1j, 2j])


MISSING_BESIDE_TEXT = {
    "NaN": ["a", np.nan, "b", "b"],
    "None": ["a", None, "b", "b"],
    "NaN in a tuple": ("a", np.nan, "b", "b"),
    "pandas": ["a", pd.NA, "b", "b"],
}


@for_each("labels", MISSING_BESIDE_TEXT.values())
def test_a_missing_label_in_a_list_of_text_is_no_label(labels):
    """NumPy writes it as the text "nan", which would be a group, or the opposite of the event."""
    y, p = [0, 1, 0, 1], [0.1, 0.2, 0.3, 0.4]
    with pytest.raises(InputError, match=r"groups must not contain missing values; 1 value does"):
        rainproof.Sample(y, p, groups=labels)
    assert [*rainproof.Sample(y, p, by=labels).by_segment()] == ["a", "b", None]
    with pytest.raises(InputError, match=r"y_true must not contain missing labels; 1 value does"):
        rainproof.Sample(list(labels[1:]), p[1:], pos_label="b")


def test_masked_labels_in_a_list_are_refused():
    labels = list(np.ma.masked_array(["a", "b", "b"], [True, False, False]))
    y, p = [0, 1, 0], [0.1, 0.2, 0.3]
    for options in ({"groups": labels}, {"by": labels}):
        with pytest.raises(InputError, match="must not contain masked values; 1 value does"):
            rainproof.Sample(y, p, **options)
    with pytest.raises(InputError, match="y_true must not contain masked values; 1 value does"):
        rainproof.Sample(labels, p, pos_label="b")


def test_text_and_numbers_in_a_list_are_different_labels():
    sample = rainproof.Sample([0, 1, 0], [0.1, 0.2, 0.3], groups=[1, "1", "a"])
    assert sample.groups == 3
    assert rainproof.Sample([1, "1", 1], [0.1, 0.2, 0.3], pos_label="1").y_true.tolist() == [
        0,
        1,
        0,
    ]


def test_the_segment_of_each_row():
    segment = segment_column({"a": ["x", 1, "x"], "b": [0, 0, 0]}, 3)
    assert segment.by == ("a", "b")
    found = {key: places.tolist() for key, places in segment.places().items()}
    assert found == {("x", 0): [0, 2], (1, 0): [1]}
    segment = segment_column(np.array(["x", "y", "x"]), 3)
    assert segment.by == ("segment",)
    found = {key: places.tolist() for key, places in segment.places().items()}
    assert found == {"x": [0, 2], "y": [1]}
    with pytest.raises(InputError, match="by must name at least one column"):
        segment_column({}, 3)
    with pytest.raises(
        InputError,
        match=r"by\['a'\] must hold one label for each of the 3 rows; its shape is \(2,\)",
    ):
        segment_column({"a": [1, 2]}, 3)
