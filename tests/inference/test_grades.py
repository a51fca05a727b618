"""Default rates by grade: from the definitions, from rows and from counts, and at the edges."""

from __future__ import annotations

import json

import numpy as np
import pytest
from scipy import stats

import rainproof

COUNTS = {"by": ["A", "B", "C"], "trials": [1000, 800, 60]}


def test_the_tests_are_those_of_the_distributions():
    events, prob = [2, 19, 0], [0.001, 0.01, 0.03]
    found = rainproof.clinical.grade_table(events, prob, **COUNTS)
    for k, (d, p, n) in enumerate(zip(events, prob, COUNTS["trials"], strict=True)):
        assert found.p_binomial[k] == pytest.approx(stats.binom.sf(d - 1, n, p))
        assert found.p_mid[k] == pytest.approx(stats.binom.sf(d, n, p) + stats.binom.pmf(d, n, p) / 2)
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
    found = rainproof.clinical.grade_table([0, 1, 0, 1], [0.5, 0.3, 0.1, 0.4], by=["x", "y", "x", "y"])
    assert found.names == ("x", "y")
    assert found.prob == pytest.approx([0.3, 0.35])
    assert rainproof.clinical.grade_table([0, 1], [0.5, 0.1], by=["x", "y"]).names == ("y", "x")


def test_an_empty_grade_is_left_out():
    assert rainproof.clinical.grade_table([0, 3], [0.5, 0.1], by=["x", "y"], trials=[0, 9]).names == ("y",)


@pytest.mark.parametrize("n", [20, 300])
@pytest.mark.parametrize("p", [0.002, 0.0088, 0.1, 0.5])
def test_lights_are_wrong_no_oftener_than_they_say(n, p):
    """Enumerated, not drawn: the light errs in 5% at most; one from Jeffreys' test would in 16% of 20 at 0.88%."""
    events = np.arange(n + 1)
    chance = stats.binom.pmf(events, n, p)
    found = [rainproof.clinical.grade_table([d], [p], trials=[n]) for d in events]
    assert chance @ [f.lights[0] != "green" for f in found] <= 0.05
    assert chance @ [f.lights[0] == "red" for f in found] <= 0.005
    jeffreys = chance @ [f.p_jeffreys[0] < 0.05 for f in found]
    assert (n, p) != (20, 0.0088) or jeffreys > 0.15


def test_it_prints_and_is_json():
    found = rainproof.clinical.grade_table([2, 40, 60], [0.001, 0.01, 0.5], by=["A", "B", "C"], trials=[1000, 800, 60])
    assert str(found).splitlines()[2].split()[:3] == ["B", "800", "40"]
    assert "independent" in str(found)
    assert "<pre>grade" in found._repr_html_()
    assert "\n    B    800        40" in found._repr_html_()
    assert json.loads(json.dumps(found.to_dict(), allow_nan=False))["lights"] == ["green", "red", "red"]


@pytest.mark.parametrize(
    ("call", "match"),
    [
        (
            lambda: rainproof.clinical.grade_table([3], [0.1], trials=[2]),
            r"must not exceed trials; 1 value does.*y_true\[0\] = 3",
        ),
        (lambda: rainproof.clinical.grade_table([1.5], [0.1], trials=[2]), "y_true must hold whole numbers"),
        (lambda: rainproof.clinical.grade_table([1], [0.1], trials=[-2]), "trials must hold whole numbers"),
        (lambda: rainproof.clinical.grade_table([1], [0.1], trials=[np.nan]), "trials must hold whole numbers"),
        (lambda: rainproof.clinical.grade_table(["a"], [0.1], trials=[2]), "y_true must hold whole numbers"),
        (lambda: rainproof.clinical.grade_table([1], [0.1], trials=[2, 3]), "trials must have one entry"),
        (lambda: rainproof.clinical.grade_table([0], [0.1], trials=[0]), "not be zero for every grade"),
        (lambda: rainproof.clinical.grade_table([1], [1.1], trials=[2]), "y_prob"),
        (
            lambda: rainproof.clinical.grade_table([1], [0.1], trials=[2], pos_label=1),
            "pos_label names a label of rows",
        ),
        (lambda: rainproof.clinical.grade_table([0, 1], [0.1, 0.2], by=["a"]), "by must have one entry"),
        (lambda: rainproof.clinical.grade_table([0, 2], [0.1, 0.2]), "y_true must be 0 or 1"),
    ],
)
def test_bad_input_is_refused(call, match):
    with pytest.raises(rainproof.InputError, match=match):
        call()
