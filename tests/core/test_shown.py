"""What notebooks show of results."""

from __future__ import annotations

import itertools
from dataclasses import FrozenInstanceError, dataclass, field

import numpy as np
import pytest
from helpers.cases import for_each

from rainproof.core.result import Result
from rainproof.core.text import html_fields, html_text


@dataclass(frozen=True, kw_only=True, slots=True, eq=False, repr=False)
class Numbers(Result):
    """A result without a text of its own."""

    n: int = 3


@dataclass(frozen=True, kw_only=True, slots=True, eq=False, repr=False)
class Worded(Numbers):
    """A result with a text."""

    def __str__(self):
        return "It is <fine>."


def test_a_text_comes_before_numbers():
    assert (
        Numbers()._repr_html_()
        == "<p><b>Numbers</b></p><table><tr><th>n</th><td>3</td></tr></table>"
    )
    assert Worded()._repr_html_() == "<p>It is &lt;fine&gt;.</p>"


def test_lines_are_paragraphs_and_columns_stay_aligned():
    text = "Two rows:\n\n  a    b\n  1  <2>\n   more\nThat is\n  all. "
    table = "<pre>  a    b\n  1  &lt;2&gt;\n   more</pre>"
    assert html_text(text) == f"<p>Two rows:</p>{table}<p>That is</p><p>all.</p>"


def test_values_are_shown_as_people_write_them():
    told = {
        "result": "x",
        "a_b": 0.123456,
        "n": 12345,
        "yes": True,
        "no": False,
        "none": None,
        "text": "x" * 200,
    }
    found = html_fields({**told, "two": [0.5, 1], "parts": {"low": 0.25, "name": "<b>"}})
    rows = (
        found.removeprefix("<table><tr><th>")
        .removesuffix("</td></tr></table>")
        .split("</td></tr><tr><th>")
    )
    assert [row.split("</th><td>") for row in rows] == [
        ["a b", "0.1235"],
        ["n", "12,345"],
        ["yes", "yes"],
        ["no", "no"],
        ["none", "\u2013"],
        ["text", "x" * 117 + "..."],
        ["two", "0.5, 1"],
        ["parts", "low 0.25, name &lt;b&gt;"],
    ]


def test_lists_are_columns_and_edges_stand_beside_what_they_bound():
    found = html_fields({"edges": list(range(7)), "share": [0.5] * 6, "rate": [None] * 6})
    assert found.startswith("<table><tr><th>edges</th><th>share</th><th>rate</th></tr>")
    assert found.endswith("<tr><td>5</td><td>0.5</td><td>\u2013</td></tr></table>")
    assert "<caption>" not in found
    long = html_fields({"n": 100, "x": list(range(100))})
    assert (
        "<caption>9 of 100 rows</caption><tr><th>x</th></tr><tr><td>0</td></tr><tr><td>12</td></tr>"
        in long
    )


def test_records_are_rows():
    found = html_fields({"rows": [{"the_name": "<a>", "none": None, "n": k} for k in range(20)]})
    assert (
        "<caption>9 of 20 rows</caption><tr><th>the "
        "name</th><th>n</th></tr><tr><td>&lt;a&gt;</td><td>0</td>"
    ) in found
    assert "<caption>" not in html_fields({"rows": [{"n": 1}]})


@for_each("sizes", list(itertools.permutations([5, 6, 7])))
def test_lists_of_three_lengths_that_follow_each_other(sizes):
    """Edges belong to the list that is one shorter; what is left has its own table."""
    page = html_fields({f"f{size}": list(range(size)) for size in sizes})
    assert "<tr><th>f6</th><th>f5</th></tr>" in page
    assert "<tr><th>f7</th></tr>" in page
    assert page.count("<td>6</td>") == 1


@dataclass(frozen=True, kw_only=True, slots=True, eq=False, repr=False)
class Column(Result):
    """A result with an array, and a part that does not count."""

    name: str
    values: np.ndarray
    _made: object = field(default=None, compare=False)


def test_results_are_equal_if_their_fields_are():
    one, same = (Column(name="a", values=np.array([1.0, 2.0]), _made=object()) for _ in range(2))
    assert one == same
    assert hash(one) == hash(same)
    assert one != Column(name="a", values=np.array([1.0, 3.0]))
    assert one != Column(name="b", values=one.values)
    assert one != Numbers()
    with pytest.raises(FrozenInstanceError):
        one.name = "b"


def test_results_have_their_fields_alone_and_keep_them():
    with pytest.raises(TypeError, match="unexpected keyword argument 'm'"):
        Numbers(m=1)
    found = Numbers(n=4)
    with pytest.raises(FrozenInstanceError, match="cannot delete field 'n'"):
        del found.n
