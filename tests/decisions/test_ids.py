"""An id has one name, whatever array it comes in; what cannot be an id is refused by count and
place.
"""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from helpers import rounding_oracle as oracle
from helpers.cases import for_each
from hypothesis import given
from hypothesis import strategies as st

import rainproof
from rainproof.decisions.ids import as_ids, explain_ids, id_numbers

EDGES = [0, 1, -1, 5, 127, -128, 2**31, -(2**31), 2**53 + 1, 2**63 - 1, -(2**63), 2**63, 2**64 - 1]
TEXTS = [
    "",
    "a",
    "patient-17",
    "Þór",
    "日本",
    "🌂",
    "é" * 40,
    "5 ",
    " 5",
    "+5",
    "05",
    "-0",
    "-",
    "--1",
    "1e3",
    "0x1",
    "٣",
]
TEXTS += [
    "05",
    "18446744073709551616",
    "-9223372036854775809",
    "99999999999999999999",
    "100000000000000000000",
    "a\0b",
]


def name(ids):
    return id_numbers(as_ids(ids)).tolist()


@for_each(
    "dtype", ["i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8", ">i4", ">u8", "intc", "longlong"]
)
def test_an_integer_is_itself_in_every_type(dtype):
    info = np.iinfo(np.dtype(dtype))
    some = [i for i in EDGES if info.min <= i <= info.max]
    expected = [i % 2**64 for i in some]
    array = np.array(some, dtype)
    assert name(array) == expected
    assert name(np.repeat(array, 3)[::3]) == expected
    assert name([np.dtype(dtype).newbyteorder("=").type(i) for i in some]) == expected


def test_lists_are_taken_value_by_value():
    """NumPy would make floats of the first list and text of the second."""
    assert name(EDGES) == [i % 2**64 for i in EDGES]
    assert name([7, "seven", b"7"]) == [7, oracle.fnv(b"seven"), 7]
    assert name((1, 2)) == name(range(1, 3)) == [1, 2]
    assert name([]) == []


def test_text_that_spells_an_integer_is_that_integer():
    """So that a text file and a typed file of the same ids agree."""
    assert name([str(i) for i in EDGES]) == [i % 2**64 for i in EDGES]
    assert name(np.array(EDGES, object).astype(str)) == [i % 2**64 for i in EDGES]
    assert name(np.array([str(i).encode() for i in EDGES])) == [i % 2**64 for i in EDGES]


@for_each("text", TEXTS)
def test_other_text_is_hashed_as_utf8(text):
    expected = [oracle.fnv(text.encode())]
    assert name([text]) == name([text.encode()]) == name(pd.Series([text])) == expected
    assert (
        name(np.array([text, "x" * 50])[:1])
        == name(np.array([text.encode(), b"x" * 50])[:1])
        == expected
    )
    assert name(np.array([text]).astype(">U45")) == expected
    if hasattr(np.dtypes, "StringDType"):
        assert name(np.array([text], np.dtypes.StringDType())) == expected


@given(st.one_of(st.integers(-(2**63), 2**64 - 1), st.text(max_size=30), st.binary(max_size=30)))
def test_any_id_has_the_name_of_the_definition(ident):
    assert name([ident]) == [oracle.name(ident)]


@given(st.text(st.characters(min_codepoint=1, exclude_categories=["Cs"]), min_size=1, max_size=12))
def test_any_text_in_an_array(text):
    assert name(np.array([text])) == [oracle.name(text)]


def test_published_values_of_fnv():
    """From the authors' own list (draft-eastlake-fnv, 64-bit FNV-1a)."""
    published = {"": 0xCBF29CE484222325, "a": 0xAF63DC4C8601EC8C, "foobar": 0x85944171F73967E8}
    assert name(list(published)) == list(published.values())


def test_many_texts_with_a_common_beginning_do_not_collide():
    ids = np.char.add("customer/2026/", np.arange(200_000).astype(str))
    assert len(np.unique(id_numbers(ids))) == 200_000


BAD = {
    "a float": ([1, 2.5, 3.5], "2 values do not, the first is ids[1] = 2.5"),
    "too large": ([2**64], "1 value does not, the first is ids[0] = 18446744073709551616"),
    "too small": (
        [0, -(2**63) - 1],
        "1 value does not, the first is ids[1] = -9223372036854775809",
    ),
    "nothing": (["a", None], "1 value does not, the first is ids[1] = None"),
    "a bool": ([True], "1 value does not, the first is ids[0] = True"),
    "a surrogate": (["ok", "\ud800"], "1 value does not, the first is ids[1] = '\\ud800'"),
    "a time span": ([np.timedelta64(5, "s")], "1 value does not, the first is ids[0] = "),
    "a list": ([[1], [2, 3]], "2 values do not, the first is ids[0] = [1]"),
}


@for_each("case", BAD)
def test_values_that_are_no_ids(case):
    values, offenders = BAD[case]
    array = as_ids(values)
    assert id_numbers(array) is None
    message = str(explain_ids(array))
    assert message.startswith(
        f"ids must be integers from -2**63 to 2**64 - 1, or text that UTF-8 can encode; {offenders}"
    )


def test_code_points_that_do_not_exist():
    broken = np.array([0xD800, 0x110000], np.uint32)
    assert id_numbers(broken[:1].view("U1")) is None
    assert id_numbers(np.array(["ok"], "U2")).tolist() == [oracle.fnv(b"ok")]
    assert explain_ids(np.array(["ok", 5], object)) is None


@for_each(
    "values, message",
    [
        (np.array([1.0]), r"they are of type float64 \(floats are not reliable ids; use "),
        (np.array([True]), r"they are of type bool \(two values cannot identify rows\)$"),
        (
            np.array(["2026-05-17"], "M8[D]"),
            r"they are of type datetime64\[D\] \(use \.astype\(str\)\)$",
        ),
        (np.array([5], "m8[s]"), r"they are of type timedelta64\[s\] \(use \.astype\(str\)\)$"),
        (pd.Series([1, None]), r"they are of type float64 \(floats"),
        (np.array([1j]), r"they are of type complex128$"),
    ],
)
def test_types_that_are_no_ids(values, message):
    with pytest.raises(rainproof.InputError, match=f"^ids must be integers or text; {message}"):
        as_ids(values)


def test_shapes_that_are_no_ids():
    with pytest.raises(
        rainproof.InputError, match=r"^ids must be one-dimensional; its shape is \(2, 2\)$"
    ):
        as_ids([[1, 2], [3, 4]])
    with pytest.raises(
        rainproof.InputError, match=r"^ids must be one-dimensional; its shape is \(\)$"
    ):
        as_ids("abc")


def test_a_masked_id_is_missing():
    ids = np.ma.array([1, 2, 3], mask=[False, True, True])
    with pytest.raises(
        rainproof.InputError,
        match=r"^ids must not contain masked values; 2 values do, the first is ids\[",
    ):
        as_ids(ids)
    assert id_numbers(as_ids(np.ma.array([1, 2]))).tolist() == [1, 2]
