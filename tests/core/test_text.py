"""Numbers in sentences and in JSON."""

from __future__ import annotations

import datetime
import math

import pytest

from rainproof.core.text import at_least, at_most, finite, json_key, percent, population, rounded, rows, short


def test_bounds_stay_bounds_when_rounded():
    assert at_most(0.12341) == "12.4%"
    assert at_least(0.12399) == "12.3%"
    assert (at_most(0.0), at_most(1.0), at_least(1.0)) == ("0%", "100%", "100%")


@pytest.mark.parametrize(
    ("n", "text"),
    [(1, "1 row"), (4000, "4,000 rows"), (5.5, "5.5 rows"), (0, "0 rows"), (1_234_567, "1,234,567 rows")],
)
def test_counts_of_rows(n, text):
    assert rows(n) == text


@pytest.mark.parametrize(
    ("value", "decimals", "text"),
    [
        (32.5, 0, "33"),
        (-2.5, 0, "-3"),
        (math.nextafter(17.5, 0), 0, "18"),
        (0.125, 2, "0.13"),
        (-0.0004, 3, "0.000"),
        (1e30, 1, f"1{',000' * 10}.0"),
    ],
)
def test_a_half_goes_up_whatever_the_last_bits_of_a_sum_are(value, decimals, text):
    assert rounded(value, decimals) == text


def test_shares_as_people_write_them():
    assert (percent(0.95), percent(0.999), percent(1 - 0.95)) == ("95%", "99.9%", "5%")


def test_json_has_neither_infinity_nor_nan():
    assert [finite(value) for value in (0.5, None, math.inf, math.nan)] == [0.5, None, None, None]


def test_segments_in_json():
    assert json_key(("a", 1, 0.5, True, None)) == ["a", 1, 0.5, True, None]
    assert json_key((math.inf, datetime.date(2026, 1, 1))) == ["inf", "2026-01-01"]
    assert json_key("a") == "a"


def test_names_are_cut():
    assert short("a" * 60) == "a" * 60
    assert short("a" * 61) == "a" * 57 + "..."
    assert short("abcdef", 5) == "ab..."


def test_a_population_is_named_by_its_base_rate_or_its_range():
    assert population(0.02) == "a population with a base rate of 2%"
    assert population((0.02, 0.1)) == "a population with a base rate between 2% and 10%"
