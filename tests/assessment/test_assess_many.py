"""Side by side: pairs where the rows are the same, and a best one only where there is no doubt."""

from __future__ import annotations

import json

import numpy as np
import pytest

import brolly
from brolly.assessment.assess_many import AssessmentSet, Pair

FAST = {"rng": 0, "measures": ["soft_binned_cdl"], "n_resamples": 199}


def rows(n=2000):
    rng = np.random.default_rng(0)
    p = rng.random(n)
    return rng.random(n) < p, p


def test_the_better_of_two_on_the_same_rows():
    y, p = rows()
    s = brolly.assess_many({"plain": (y, p), "bold": (list(y), np.round(p))}, **FAST)
    assert s.best == "plain"
    assert s.headline == "plain is the best calibrated of 2 forecasts."
    (pair,) = s.pairs
    assert pair.comparison.paired
    assert pair.comparison.difference == pytest.approx(s["plain"].profile.value - s["bold"].profile.value)
    assert str(pair).startswith("plain is better calibrated than bold on the same rows: its SCDL is lower by ")
    assert list(s) == ["plain", "bold"]
    assert len(s) == 2
    assert repr(s) == "AssessmentSet('plain', 'bold'; best='plain')"
    assert str(s).startswith("plain is the best calibrated of 2 forecasts.\n\nplain is better")
    assert s["bold"].name == "bold"


def test_each_is_assessed_as_on_its_own():
    y, p = rows()
    s = brolly.assess_many({"one": (y, p)}, **(FAST | {"rng": 5}))
    own = brolly.assess(y, p, **(FAST | {"rng": 5}))
    assert {**s["one"].to_dict(), "name": None} == own.to_dict()
    assert s.pairs == ()
    assert s.best is None
    assert s.headline == own.verdict.headline
    assert str(s).replace("\n", " ") == own.verdict.headline


def test_no_difference_is_said_so():
    y, p = rows(300)
    s = brolly.assess_many({"a": (y, p), "b": (y, p)}, **FAST)
    assert s.best is None
    assert s.headline == "No forecast is better calibrated than the other beyond chance."
    assert str(s.pairs[0]).startswith(
        "a and b do not differ beyond chance on the same rows: the difference in SCDL is 0 ("
    )


def test_different_rows_and_samples_are_compared_as_two_samples():
    y, p = rows()
    s = brolly.assess_many({"a": brolly.Sample(y[:999], p[:999]), "b": (y[999:], p[999:]), "c": (y, p)}, **FAST)
    assert [(pair.a, pair.b) for pair in s.pairs] == [("a", "b"), ("a", "c"), ("b", "c")]
    assert not any(pair.comparison.paired for pair in s.pairs)
    assert "on different rows" in str(s.pairs[0])


def test_shared_options_reach_every_forecast():
    y, p = rows(600)
    w = np.random.default_rng(1).random(600)
    task = brolly.DecisionTask.threshold(0.3)
    forecasts = {"a": (np.where(y, "y", "n"), p), "b": (np.where(y, "y", "n"), p / 2)}
    seen = []
    s = brolly.assess_many(
        forecasts,
        sample_weight=w,
        pos_label="y",
        by=np.arange(600) % 2,
        task=task,
        progress=lambda done, total: seen.append((done, total)),
        **FAST,
    )
    assert s["b"].profile.value == brolly.soft_binned_cdl(y, p / 2, sample_weight=w)
    assert len(s["b"].segments.rows) == 2
    assert s["a"].task.task is task
    assert seen[-1][0] == seen[-1][1] == len(seen)
    assert s.pairs[0].comparison.difference == pytest.approx(s["a"].profile.value - s["b"].profile.value)


def test_the_dict_and_the_html(tmp_path):
    y, p = rows(300)
    s = brolly.assess_many({"<b>a</b>": (y, p), "b": (y, p**2)}, **FAST)
    found = s.to_dict()
    assert json.loads(s.to_json(tmp_path / "s.json")) == found
    assert json.loads((tmp_path / "s.json").read_text()) == found
    assert found["names"] == [a["name"] for a in found["assessments"]] == ["<b>a</b>", "b"]
    assert set(found["pairs"][0]) == {
        *("a", "b", "measure", "difference", "low", "high", "p_value", "paired", "better", "text")
    }
    assert found["verdict"]["text"] == str(s)
    assert "<b>a</b>" not in s._repr_html_()
    assert "&lt;b&gt;a&lt;/b&gt;" in s._repr_html_()


def test_doubts_of_all_are_warned_of_once():
    y, p = rows(20)
    with pytest.warns(brolly.BrollyWarning) as caught:
        s = brolly.assess_many({"a": (y, p), "b": (y, p / 2)}, **FAST)
    texts = [str(w.message) for w in caught]
    assert len(set(texts)) == len(texts)
    assert set(s["a"].warnings) | set(s["b"].warnings) <= set(texts)


@pytest.mark.parametrize(
    ("forecasts", "message"),
    [
        ({}, "forecasts must be a mapping from names to"),
        ([1], "forecasts must be a mapping from names to"),
        ({"a": 3}, r"forecasts\['a'\] must be \(y_true, y_prob\), a Sample or Segments; it is 3"),
        ({"a": ([1], [1], [1])}, r"forecasts\['a'\] must be \(y_true, y_prob\)"),
    ],
)
def test_what_is_no_forecast(forecasts, message):
    with pytest.raises(brolly.InputError, match=message):
        brolly.assess_many(forecasts, **FAST)


def test_the_words_follow_the_interval():
    y, p = rows(300)
    s = brolly.assess_many({"a": (y, p), "b": (y, p)}, **FAST)
    assert isinstance(s, AssessmentSet)
    assert isinstance(s.pairs[0], Pair)
