"""Numbers in sentences and in JSON."""

from __future__ import annotations

import datetime
import math

import numpy as np
from helpers.cases import for_each

from rainproof.core.text import (
    at_least,
    at_most,
    finite,
    json_key,
    p_cell,
    p_value,
    percent,
    rounded,
    rows,
    short,
)
from rainproof.inference.assumptions import population


def test_bounds_stay_bounds_when_rounded():
    assert at_most(0.12341) == "12.4%"
    assert at_least(0.12399) == "12.3%"
    assert (at_most(0.0), at_most(1.0), at_least(1.0)) == ("0%", "100%", "100%")


P_VALUES = [
    (1e-9, "p < 0.001"),
    (0.000999, "p < 0.001"),
    (0.001, "p = 0.001"),  # the smallest that 999 resamples can show
    (0.0043, "p = 0.0043"),
    (0.0431, "p = 0.044"),
    (0.05000001, "p = 0.051"),
    (0.054, "p = 0.054"),
    (0.1234, "p = 0.13"),
    (0.2000001, "p = 0.21"),
    (1.0, "p = 1"),
]


@for_each("value, text", P_VALUES)
def test_p_values_have_two_digits_and_are_rounded_up(value, text):
    assert p_value(value) == text
    assert p_cell(value) == text.removeprefix("p ").removeprefix("= ")


def test_no_p_value_is_printed_smaller_than_it_is():
    for value in np.concatenate(
        [np.arange(1, 1001) / 1000, 10 / np.arange(10, 1000), 10.0 ** -np.arange(0, 20, 0.1)]
    ):
        shown = p_value(float(value))
        number = float(shown.removeprefix("p = ").removeprefix("p < "))
        assert value < number if "<" in shown else value <= number < 1.1 * value + 1e-12


@for_each(
    "n, text",
    [
        (1, "1 row"),
        (4000, "4,000 rows"),
        (5.5, "5.5 rows"),
        (0, "0 rows"),
        (1_234_567, "1,234,567 rows"),
    ],
)
def test_counts_of_rows(n, text):
    assert rows(n) == text


@for_each(
    "value, decimals, text",
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
