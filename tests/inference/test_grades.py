"""Default rates by grade: from the definitions, from rows and from counts, and at the edges."""

from __future__ import annotations

import json

import numpy as np
import pytest
from helpers.cases import for_each
from scipy import stats

import rainproof

COUNTS = {"by": ["A", "B", "C"], "trials": [1000, 800, 60]}


def test_the_tests_are_those_of_the_distributions():
    events, prob = [2, 19, 0], [0.001, 0.01, 0.03]
    found = rainproof.clinical.grade_table(events, prob, **COUNTS)
    for k, (d, p, n) in enumerate(zip(events, prob, COUNTS["trials"], strict=True)):
        assert found.p_binomial[k] == pytest.approx(stats.binom.sf(d - 1, n, p))
        assert found.p_mid[k] == pytest.approx(
            stats.binom.sf(d, n, p) + stats.binom.pmf(d, n, p) / 2
        )
        posterior = stats.beta(d + 0.5, n - d + 0.5)
        assert found.p_jeffreys[k] == pytest.approx(posterior.cdf(p))
        assert found.low[k] == pytest.approx(posterior.ppf(0.025) if d else 0.0)
        assert found.high[k] == pytest.approx(posterior.ppf(0.975))
    assert found.lights == ("green", "red", "green")
    assert found.event_rate == pytest.approx([0.002, 0.02375, 0.0])


def test_rows_and_counts_agree():
    rng = np.random.default_rng(0)
    grade = rng.integers(0, 4, 500)
    prob = np.array([0.05, 0.1, 0.2, 0.4])[grade]
    y = rng.random(500) < prob
    rows = rainproof.clinical.grade_table(y, prob)
    events, n = np.bincount(grade, y), np.bincount(grade)
    counts = rainproof.clinical.grade_table(events, [0.05, 0.1, 0.2, 0.4], trials=n)
    assert (rows.n.tolist(), rows.events.tolist()) == (counts.n.tolist(), counts.events.tolist())
    for name in ("prob", "low", "high", "p_binomial", "p_jeffreys"):
        assert getattr(rows, name) == pytest.approx(getattr(counts, name))
    assert rows.names == ("0.05", "0.1", "0.2", "0.4")
    text = rainproof.clinical.grade_table(np.where(y, "yes", "no"), prob, by=grade, pos_label="yes")
    assert text.events.tolist() == rows.events.tolist()


def test_grades_are_in_the_order_of_their_mean_predictions():
    found = rainproof.clinical.grade_table(
        [0, 1, 0, 1], [0.5, 0.3, 0.1, 0.4], by=["x", "y", "x", "y"]
    )
    assert found.names == ("x", "y")
    assert found.prob == pytest.approx([0.3, 0.35])
    assert rainproof.clinical.grade_table([0, 1], [0.5, 0.1], by=["x", "y"]).names == ("y", "x")


def test_an_empty_grade_is_left_out():
    assert rainproof.clinical.grade_table(
        [0, 3], [0.5, 0.1], by=["x", "y"], trials=[0, 9]
    ).names == ("y",)


@for_each("n", [20, 300])
@for_each("p", [0.002, 0.0088, 0.1, 0.5])
def test_lights_are_wrong_no_oftener_than_they_say(n, p):
    """Enumerated, not drawn: the light errs in 5% at most; one from Jeffreys' test would in 16% of
    20 at 0.88%.
    """
    events = np.arange(n + 1)
    chance = stats.binom.pmf(events, n, p)
    found = [rainproof.clinical.grade_table([d], [p], trials=[n]) for d in events]
    assert chance @ [f.lights[0] != "green" for f in found] <= 0.05
    assert chance @ [f.lights[0] == "red" for f in found] <= 0.005
    jeffreys = chance @ [f.p_jeffreys[0] < 0.05 for f in found]
    assert (n, p) != (20, 0.0088) or jeffreys > 0.15


def test_a_risk_that_is_predicted_too_high_is_green_unless_both_sides_are_tested():
    """9.2% predicted, 2.2% observed: the lights of supervisors ask whether risk is predicted too
    low.
    """
    counts = {"by": ["A", "B"], "trials": [500, 1000]}
    one = rainproof.clinical.grade_table([11, 30], [0.092, 0.03], **counts)
    both = rainproof.clinical.grade_table([11, 30], [0.092, 0.03], **counts, two_sided=True)
    assert dict(zip(one.names, one.lights, strict=True)) == {"A": "green", "B": "green"}
    assert dict(zip(both.names, both.lights, strict=True)) == {"A": "red", "B": "green"}
    assert (one.two_sided, both.two_sided) == (False, True)
    footer = " ".join(str(one).split())
    assert (
        "a grade whose risk is predicted too high is green (two_sided=True looks for both)"
        in footer
    )
    assert "two-sided. They ask whether risk is predicted too low or too high." in " ".join(
        str(both).split()
    )
    assert "two-sided p" in str(both)
    assert "Jeffreys p" not in str(both)


@for_each("n", [20, 300])
@for_each("p", [0.002, 0.0088, 0.1, 0.5])
def test_two_sided_lights_are_wrong_no_oftener_than_they_say(n, p):
    """Enumerated: each p-value is twice the smaller tail, and at most 5% in at most 5% of
    samples.
    """
    events = np.arange(n + 1)
    chance = stats.binom.pmf(events, n, p)
    found = [rainproof.clinical.grade_table([d], [p], trials=[n], two_sided=True) for d in events]
    tails = np.minimum(stats.binom.sf(events - 1, n, p), stats.binom.cdf(events, n, p))
    assert [f.p_two_sided[0] for f in found] == pytest.approx(
        np.minimum(1, 2 * tails), rel=1e-6, abs=1e-300
    )
    assert chance @ [f.lights[0] != "green" for f in found] <= 0.05
    assert chance @ [f.lights[0] == "red" for f in found] <= 0.005


def test_the_total_is_all_grades_as_one():
    found = rainproof.clinical.grade_table([2, 19, 0], [0.001, 0.01, 0.03], **COUNTS)
    total, n = found.total, 1860
    rate = (1000 * 0.001 + 800 * 0.01 + 60 * 0.03) / n
    assert (total.n, total.events) == (n, 21)
    assert total.prob == pytest.approx(rate)
    assert total.event_rate == pytest.approx(21 / n)
    assert total.p_binomial == pytest.approx(stats.binom.sf(20, n, rate))
    assert total.low == pytest.approx(stats.beta(21.5, n - 20.5).ppf(0.025))
    assert total.light == "red"
    line = str(found).splitlines()[4].split()
    assert line[:3] == ["total", "1,860", "21"]
    assert found.to_dict()["total"]["light"] == "red"
    alone = rainproof.clinical.grade_table([2], [0.001], trials=[1000])
    assert "total" not in str(alone)
    assert alone.total.p_binomial == alone.p_binomial[0]


def test_it_prints_and_is_json():
    found = rainproof.clinical.grade_table(
        [2, 40, 60], [0.001, 0.01, 0.5], by=["A", "B", "C"], trials=[1000, 800, 60]
    )
    assert str(found).splitlines()[2].split()[:3] == ["B", "800", "40"]
    assert "independent" in str(found)
    assert "<pre>grade" in found._repr_html_()
    assert "\n    B    800        40" in found._repr_html_()
    assert json.loads(json.dumps(found.to_dict(), allow_nan=False))["lights"] == [
        "green",
        "red",
        "red",
    ]


def masked(values):
    """The values, of which the first is masked."""
    return np.ma.masked_array(values, [True, False])


@for_each(
    "call, match",
    [
        (
            lambda: rainproof.clinical.grade_table([3], [0.1], trials=[2]),
            r"must not exceed trials; 1 value does.*y_true\[0\] = 3",
        ),
        (
            lambda: rainproof.clinical.grade_table([1.5], [0.1], trials=[2]),
            "y_true must hold whole numbers",
        ),
        (
            lambda: rainproof.clinical.grade_table([1], [0.1], trials=[-2]),
            "trials must hold whole numbers",
        ),
        (
            lambda: rainproof.clinical.grade_table([1], [0.1], trials=[np.nan]),
            "trials must hold whole numbers",
        ),
        (
            lambda: rainproof.clinical.grade_table(["a"], [0.1], trials=[2]),
            "y_true must hold whole numbers",
        ),
        (
            lambda: rainproof.clinical.grade_table([1], [0.1], trials=[2, 3]),
            "trials must have one entry",
        ),
        (
            lambda: rainproof.clinical.grade_table([0], [0.1], trials=[0]),
            "not be zero for every grade",
        ),
        (lambda: rainproof.clinical.grade_table([1], [1.1], trials=[2]), "y_prob"),
        (
            lambda: rainproof.clinical.grade_table([1], [0.1], trials=[2], pos_label=1),
            "pos_label names a label of rows",
        ),
        (
            lambda: rainproof.clinical.grade_table([0, 1], [0.1, 0.2], by=["a"]),
            "by must hold one label for each of the 2 rows",
        ),
        (lambda: rainproof.clinical.grade_table([0, 2], [0.1, 0.2]), "y_true must be 0 or 1"),
        (
            lambda: rainproof.clinical.grade_table([0, 1], [0.1, 0.2], by=masked(["a", "b"])),
            r"by must not contain masked values; 1 value does, the first is by\[0\]",
        ),
        (
            lambda: rainproof.clinical.grade_table(masked([1, 1]), [0.1, 0.2], trials=[2, 2]),
            "y_true must not contain masked values",
        ),
        (
            lambda: rainproof.clinical.grade_table([1, 1], [0.1, 0.2], trials=masked([2, 2])),
            "trials must not contain masked values",
        ),
    ],
)
def test_bad_input_is_refused(call, match):
    with pytest.raises(rainproof.InputError, match=match):
        call()
