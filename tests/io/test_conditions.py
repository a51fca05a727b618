"""Conditions: the grammar, and what they mean on record batches, against plain Python."""

from __future__ import annotations

import datetime
import math
import re

import pyarrow as pa
import pytest
from helpers.cases import for_each
from hypothesis import given
from hypothesis import strategies as st

import rainproof
from rainproof.io.arrow_arrays import without_views
from rainproof.io.conditions import Condition, columns_of, parse
from rainproof.io.filtering import filter_batch

NAN = float("nan")
X = [0.0, 0.5, 1.0, None, NAN, -2.0]
TEXT = ["a", "it's", None, "B", "", "a"]
ROWS = without_views(
    pa.record_batch(
        {
            "x": X,
            "n": pa.array([1, 2, None, 4, 5, 6], pa.int16()),
            "t": TEXT,
            "v": pa.array(TEXT, pa.string_view()),
            "c": pa.array(TEXT).dictionary_encode(),
            "b": [True, False, None, True, False, True],
            "d": [datetime.date(2026, 1, day) for day in range(1, 7)],
            'odd "name"': range(6),
            "csv": ["0.5", " 1 ", None, "nan", "0", "7"],
            "flag": ["true", " False", None, "TRUE", "no", ""],
            "at": range(6),
        }
    )
)


A, B, C = (Condition("=", name, (value,)) for name, value in (("a", 1), ("b", 2), ("c", 3)))


def joined(op, *conditions):
    return Condition(op, values=conditions)


@for_each("text, condition", [
        ("x = 1", Condition("=", "x", (1,))),
        ("x == -1.5e3", Condition("=", "x", (-1500.0,))),
        ("x<>'it''s'", Condition("!=", "x", ("it's",))),
        ('"odd ""name""" >= .5', Condition(">=", 'odd "name"', (0.5,))),
        ("a.b is null", Condition("null", "a.b")),
        ("x IS NOT NaN", Condition("not nan", "x")),
        ("not x is null", Condition("not null", "x")),
        ("x in (1, 'b', true)", Condition("in", "x", (1, "b", True))),
        ("x not in (1)", Condition("not in", "x", (1,))),
        ("not x not in (1)", Condition("in", "x", (1,))),
        ("a=1 or b=2 and c=3", joined("or", A, joined("and", B, C))),
        ("(a=1 or b=2) and c=false", joined("and", joined("or", A, B), Condition("=", "c", (False,)))),
        ("not (a<1 or b>=2)", joined("and", Condition(">=", "a", (1,)), Condition("<", "b", (2,)))),
        ("not (a<=1 and not b!=2)", joined("or", Condition(">", "a", (1,)), Condition("!=", "b", (2,)))),
        ("not not a = 1", A),
        ("größe > 1", Condition(">", "größe", (1,))),
    ])  # fmt: skip
def test_the_grammar(text, condition):
    assert parse(text) == condition


@for_each(
    "text, found, wanted",
    [
        ("", "its end", "a column"),
        ("x", "its end", "a comparison"),
        ("x >", "its end", "a number, 'text', true or false"),
        ("x > y", "'y'", "a number, 'text', true or false"),
        ('x > "true"', "'\"true\"'", "a number, 'text', true or false"),
        ("x is 'null'", "\"'null'\"", "null or nan"),
        ("x = 1 y = 2", "'y = 2'", "'and', 'or' or the end"),
        ("(x = 1", "its end", "')'"),
        ("x in 1", "'1'", "'('"),
        ("x not like 'a'", "\"like 'a'\"", "'in'"),
        ("3 > x", "'3 > x'", "a column"),
        ("x = 1; drop table", "'; drop table'", "a column, a comparison or a literal"),
        ("x = 'open", '"\'open"', "a column, a comparison or a literal"),
        ("and", "'and'", "a column"),
    ],
)
def test_what_is_no_condition(text, found, wanted):
    message = (
        f"where must be a condition such as \"p is not null and region = 'north'\"; {text!r} has "
        f"{found} where {wanted} should be"
    )
    with pytest.raises(rainproof.InputError, match=f"^{re.escape(message)}$"):
        parse(text)


def test_columns():
    assert columns_of(parse("a = 1 or (b is null and not c in (1)) or a > 3")) == {"a", "b", "c"}


@for_each(
    "text, rows",
    [
        ("x > 0", [1, 2]),
        ("x != 0", [1, 2, 5]),
        ("not x = 0", [1, 2, 5]),
        ("not (x > 0)", [0, 5]),
        ("x is null", [3]),
        ("x is not null", [0, 1, 2, 4, 5]),
        ("x is nan", [4]),
        ("x is not nan", [0, 1, 2, 3, 5]),
        ("x in (0, 1.0)", [0, 2]),
        ("x not in (0, 1)", [1, 5]),
        ("n is nan", []),
        ("n is not nan", [0, 1, 2, 3, 4, 5]),
        ("n >= 4.5", [4, 5]),
        ("n = 99999999999999999999", []),
        *((f"{column} = 'a'", [0, 5]) for column in "tvc"),
        *((f"{column} != 'a'", [1, 3, 4]) for column in "tvc"),
        ("t not in ('a', 'B')", [1, 4]),
        ("t is nan", []),
        ("b = true", [0, 3, 5]),
        ("b != true", [1, 4]),
        ("d >= '2026-01-05'", [4, 5]),
        ('"odd ""name""" < 2', [0, 1]),
        ("csv >= 0.5", [0, 1, 5]),
        ("csv is nan", [3]),
        ("csv = '7'", [5]),
        ("flag = true", [0, 3]),
        ("flag = false", [1]),
        ("x > 0 and n < 3", [1]),
        ("x > 0 or n > 4", [1, 2, 4, 5]),
    ],
)
def test_what_conditions_mean(text, rows):
    assert filter_batch(parse(text), ROWS)["at"].to_pylist() == rows


@for_each(
    "text, message",
    [
        ("t > 1", "where cannot compare t, which holds values of type string, with 1"),
        ("n = 'many'", "where cannot compare n, which holds values of type int16, with 'many'"),
        ("d > 3", r"where cannot compare d, which holds values of type date32\[day\], with 3"),
    ],
)
def test_what_cannot_be_compared(text, message):
    with pytest.raises(rainproof.InputError, match=f"^{message}$"):
        filter_batch(parse(text), ROWS)


def compares(value, op, other):
    if value is None or math.isnan(value):
        return False
    return {"=": value == other, "!=": value != other, "<": value < other, ">=": value >= other}[op]


leaves = st.tuples(
    st.sampled_from("xn"),
    st.sampled_from(["=", "!=", "<", ">="]),
    st.sampled_from([0, 0.5, 1, 2, 5]),
)
trees = st.recursive(
    leaves,
    lambda inner: (
        st.tuples(st.sampled_from(["and", "or"]), inner, inner) | st.tuples(st.just("not"), inner)
    ),
)


def words(tree):
    if tree[0] == "not":
        return f"not ({words(tree[1])})"
    if tree[0] in ("and", "or"):
        return f"({words(tree[1])}) {tree[0]} ({words(tree[2])})"
    return " ".join(map(str, tree))


def holds(tree, row, negated=False):
    """By the definition: what is not met is the opposite comparison, which is false for no value
    too.
    """
    opposite = {"=": "!=", "!=": "=", "<": ">=", ">=": "<"}
    if tree[0] == "not":
        return holds(tree[1], row, not negated)
    if tree[0] in ("and", "or"):
        both = [holds(part, row, negated) for part in tree[1:]]
        return all(both) if (tree[0] == "and") != negated else any(both)
    return compares(row[tree[0]], opposite[tree[1]] if negated else tree[1], tree[2])


@given(trees)
def test_any_condition(tree):
    rows = [
        dict(zip("xn", pair, strict=True)) for pair in zip(X, ROWS["n"].to_pylist(), strict=True)
    ]
    expected = [at for at, row in enumerate(rows) if holds(tree, row)]
    assert filter_batch(parse(words(tree)), ROWS)["at"].to_pylist() == expected


@for_each(
    "text, message",
    [
        ("(" * 1500 + "x > 0" + ")" * 1500, "where must not nest more than 100 parentheses"),
        ("not (" * 101 + "x > 0" + ")" * 101, "where must not nest more than 100 parentheses"),
        ("x > " + "9" * 4400, "where a number that a double can hold should be"),
        ("x > 1e999", "where a number that a double can hold should be"),
    ],
)
def test_conditions_past_all_measure_are_refused(text, message):
    with pytest.raises(rainproof.InputError, match=message):
        parse(text)


def test_long_conditions_are_read():
    assert filter_batch(parse("not " * 5001 + "x > 0"), ROWS) == filter_batch(
        parse("not x > 0"), ROWS
    )
    assert filter_batch(parse(" or ".join(["x > 0"] * 3000)), ROWS) == filter_batch(
        parse("x > 0"), ROWS
    )
    assert filter_batch(parse("(" * 100 + "x > 0" + ")" * 100), ROWS) == filter_batch(
        parse("x > 0"), ROWS
    )


def test_numbers_written_with_a_comma_or_a_percent_sign_are_compared(tmp_path):
    """As the columns of probabilities are read; a comma that may mark thousands is refused."""
    rows = tmp_path / "rows.csv"
    rows.write_text("p;y;cost\n0,25;0;1,5\n30%;1;2\n0.75;1;1,234\n")
    assert rainproof.scan(str(rows), where="p > 0.27").n == 2
    assert rainproof.scan(str(rows), where="p <= 0.3").n == 2
    with pytest.raises(
        rainproof.InputError, match=r"^where cannot compare cost, which holds values of type string"
    ):
        rainproof.scan(str(rows), where="cost > 1")
