"""Which of several forecasts: by cost, else by proven switches; a best one only where there is no
doubt.
"""

from __future__ import annotations

import json
import re

import numpy as np
import pytest
from helpers.cases import for_each
from helpers.interval_oracle import slow_interval

import rainproof
from rainproof.core.text import rounded

TASK = rainproof.DecisionTask.from_costs(false_positive=1, false_negative=3)
FAST = {"rng": 0, "measures": ["soft_binned_cdl"], "n_resamples": 199}


def rows(n=2000):
    rng = np.random.default_rng(0)
    p = rng.random(n)
    return rng.random(n) < p, p


# one forecast is rounded to 0 and 1
@pytest.mark.filterwarnings("ignore::rainproof.ClassesWarning")
def test_the_best_by_cost():
    y, p = rows()
    forecasts = {"plain": (y, p), "bold": (list(y), np.round(p).clip(0.01, 0.99))}
    s = rainproof.assess_many(forecasts, task=TASK, **FAST)
    assert s.best == "plain"
    assert s.ranking == ("plain", "bold")
    (pair,) = s.pairs
    cost = {
        name: np.mean(np.where(q >= 0.25, 1.0 - y, 3.0 * y)) for name, (_, q) in forecasts.items()
    }
    assert pair.cost_difference.value == pytest.approx(cost["plain"] - cost["bold"])
    assert {one.name: one.cost.value for one in s.standings} == pytest.approx(cost)
    assert (
        s.headline
        == f"For your costs, take plain: {cost['plain']:.3f} per case, the least of 2 forecasts."
    )
    assert (s.taken.name, s.taken.rule) == ("plain", "as is")
    assert str(pair).startswith(
        f"plain costs less per case than bold: by {rounded(cost['bold'] - cost['plain'], 3)} ("
    )
    assert list(s) == ["plain", "bold"]
    assert len(s) == 2
    assert repr(s) == "AssessmentSet('plain', 'bold'; best='plain')"
    assert str(s).startswith(f"{s.headline}\n{s.next_step}\n\nforecast ")
    assert s["bold"].name == "bold"
    own = s["plain"].verdict
    assert (
        s.next_step
        == s.to_dict()["verdict"]["next_step"]
        == own.next_step.replace("Next:", "Next, with plain:")
    )


# one forecast is rounded to 0 and 1
@pytest.mark.filterwarnings("ignore::rainproof.ClassesWarning")
def test_rules_without_a_forecast_stand_beside_the_models():
    """All costs are of the same rows, so that they can be compared."""
    y, p = rows()
    s = rainproof.assess_many(
        {"plain": (y, p), "bold": (y, np.round(p).clip(0.01, 0.99))}, task=TASK, **FAST
    )
    costs = {rule: cost.value for rule, cost in s.references.items()}
    assert costs == pytest.approx(
        {"always": np.mean(1.0 - y), "never": np.mean(3.0 * y), "perfect": 0.0}
    )
    lines = s.table().splitlines()
    assert lines[-1].split() == ["(perfect", "foresight)", "0"]
    assert [line.split("  ")[0] for line in lines[-3:]] == [
        "(always act)",
        "(never act)",
        "(perfect foresight)",
    ]
    assert s.to_dict()["references"] == {
        str(rule): cost.to_dict() for rule, cost in s.references.items()
    }
    assert "(always act)" in s._repr_html_()
    for one in s.standings:
        assert one.cost.value == pytest.approx(s[one.name].task.cost.value)
        assert s[one.name].task.cost_always == s.references["always"]
        assert one.cost_recalibrated == s[one.name].task.cost_recalibrated
    assert rainproof.assess_many({"plain": (y, p)}, **FAST).references == {}
    apart = rainproof.assess_many(
        {"a": rainproof.Sample(y, p), "b": rainproof.Sample(y, p**2)}, task=TASK, **FAST
    )
    assert apart.references == {}  # which rows belong together is not known


@for_each("task, rule", [((1, 90), "always acting"), ((90, 1), "never acting")])
def test_a_rule_that_costs_less_than_every_forecast_is_named(task, rule):
    y, _ = rows(400)
    worse = rainproof.DecisionTask.from_costs(false_positive=task[0], false_negative=task[1])
    noise = np.random.default_rng(6).random((2, 400))
    s = rainproof.assess_many({"one": (y, noise[0]), "two": (y, noise[1])}, task=worse, **FAST)
    least = min(s.references[rule].value for rule in ("always", "never"))
    assert s.taken is None
    assert s.headline.startswith(
        f"Do without them: none of 2 forecasts gains you anything over {rule}, "
    )
    assert float(s.headline.split(", ")[1].split()[0]) == pytest.approx(least, rel=0.05)
    # costs of rare events
    assert s.next_step.endswith(f"lse use another forecast. Until then {rule.split()[0]} act.")
    assert s.commands == ()


def test_forecasts_that_are_all_noise_are_done_without():
    y, _ = rows(2000)
    s = rainproof.assess_many({"a": (y, np.full(2000, 0.4)), "b": (y, np.full(2000, 0.6))}, **FAST)
    assert (s.taken, s.to_dict()["taken"]) == (None, None)
    assert (
        s.headline == "Do without them: none of 2 forecasts tells cases with the event from others."
    )
    assert s.next_step.startswith("Next: use another forecast.")


def test_the_next_step_follows_the_headline():
    """By itself the first forecast is to be recalibrated; never acting costs no more."""
    rng = np.random.default_rng(1)
    n = int(rng.choice([100, 300]))
    c = 1 / (1 + np.exp(-rng.normal(-3, 1, n)))
    y = rng.random(n) < c
    own = {"a": (y, np.round(np.clip(2 * c, 0, 1), 3)), "b": (y, np.round(c, 2))}
    s = rainproof.assess_many(
        own, task=rainproof.DecisionTask.from_costs(false_positive=1, false_negative=4), **FAST
    )
    assert "gains you anything over never acting" in s.headline
    assert s.next_step == "Next: use another forecast. Until then never act."


# one forecast is rounded to 0 and 1
@pytest.mark.filterwarnings("ignore::rainproof.ClassesWarning")
def test_the_interval_of_the_difference_is_that_of_the_rows():
    """The paired interval, from the definition, at the level that two of three pairs leave to
    each.
    """
    y, p = rows()
    q, r = np.round(p).clip(0.01, 0.99), 1 - p
    s = rainproof.assess_many({"p": (y, p), "q": (y, q), "r": (y, r)}, task=TASK, **FAST)
    cost = [np.where(x >= 0.25, 1.0 - y, 3.0 * y) for x in (p, q, r)]
    for pair, (i, j) in zip(s.pairs, [(0, 1), (0, 2), (1, 2)], strict=True):
        found = pair.cost_difference
        expected = slow_interval(cost[i] - cost[j], -3.0, 3.0, confidence_level=1 - 0.05 / 3)
        assert (found.value, found.low, found.high) == pytest.approx(expected)


def test_the_best_for_every_decision():
    y, p = rows(6000)
    s = rainproof.assess_many({"noise": (y, np.full(6000, 0.5)), "plain": (y, p)}, **FAST)
    (pair,) = s.pairs
    level = 1 - 0.05 / 4
    expected = rainproof.switch_guarantee(y, np.full(6000, 0.5), p, confidence_level=level, rng=0)
    assert pair.to_b.harm_bound == expected.harm_bound
    assert pair.to_b.confidence_level == level
    assert pair.to_a.harm == expected.gain
    assert pair.better == s.best == "plain"
    assert s.ranking == ("plain", "noise")
    assert (
        s.headline == "Take plain: a switch to it gains more in one decision than it loses in any."
    )
    assert pair.cost_difference is None
    assert str(pair).startswith("From noise to plain: there is a decision that gains at least ")
    lines = str(s).splitlines()
    at = lines.index("from   to     gains at least  loses at most")
    assert lines[at + 1].split()[:2] == ["noise", "plain"]
    turned = rainproof.assess_many({"plain": (y, p), "noise": (y, np.full(6000, 0.5))}, **FAST)
    assert turned.pairs[0].better == turned.best == "plain"


def test_a_forecast_that_may_cost_less_once_recalibrated_is_named():
    """The better model is miscalibrated."""
    y, p = rows(6000)
    noisy = np.clip(p + np.random.default_rng(1).normal(0, 0.12, 6000), 0, 1)
    s = rainproof.assess_many({"noisy": (y, noisy), "low": (y, p**3)}, task=TASK, **FAST)
    assert s.ranking[0] == "noisy"
    cost = s["low"].task.cost_recalibrated.value
    assert cost < s["noisy"].task.cost.value
    assert (s.taken.name, s.taken.rule) == ("low", "recalibrated")
    assert s.taken.advised_cost.value == cost
    assert s.to_dict()["taken"] == {"name": "low", "rule": "recalibrated"}
    assert s.headline.startswith(
        f"For your costs, take low, recalibrated: {cost:.3f} per case (an estimate)."
    )
    assert (
        f"As they are, noisy costs least, {s['noisy'].task.cost.value:.3f} per case." in s.headline
    )
    assert s.next_step.startswith("Next, with low: apply the map, then act from 25% on.")
    assert s.commands == ("s['low'].recalibrator.predict(p_new)",)
    assert "\n    s['low'].recalibrator.predict(p_new)\n" in str(s)
    bare = rainproof.assess_many({"noisy": (y, noisy), "low": (y, p**3)}, **FAST)
    assert bare.headline.startswith(
        "Take low, recalibrated: its Brier score (the cost averaged over all thresholds) is"
    )
    assert bare.headline.endswith("For your own costs it may be another (task=).")
    assert bare.taken.advised_brier == bare.taken.brier_recalibrated < bare.first.brier_score
    better = bare["low"].recalibrator.predict(p**3)
    assert bare.taken.brier_recalibrated == pytest.approx(
        rainproof.measures.brier_score(y, better), abs=0.002
    )


def test_an_infinite_log_score_is_explained():
    y, p = rows(300)
    certain = np.where(y, 0.0, p)
    s = rainproof.assess_many({"a": (y, p), "b": (y, certain)}, **FAST)
    assert "log inf: an event was given probability 0, or a case without it probability 1." in str(
        s
    )
    assert "log inf" in s._repr_html_()
    assert "log inf" not in str(rainproof.assess_many({"a": (y, p), "b": (y, p**2)}, **FAST))


def test_a_calibration_error_alone_ranks_nothing():
    """The constant is perfectly calibrated, and worth nothing."""
    y, p = rows(6000)
    s = rainproof.assess_many(
        {"constant": (y, np.full(6000, y.mean())), "bold": (y, p**1.2)}, **FAST
    )
    assert s["constant"].profile.value < s["bold"].profile.value
    assert s.ranking[0] == s.best == "bold"


def test_each_is_assessed_as_on_its_own():
    y, p = rows()
    s = rainproof.assess_many({"one": (y, p), "two": (y, p / 2)}, **(FAST | {"rng": 5}))
    for name, q in (("one", p), ("two", p / 2)):
        own = rainproof.assess(y, q, **(FAST | {"rng": 5}))
        assert {**s[name].to_dict(), "name": None} == own.to_dict()
    alone = rainproof.assess_many({"two": (y, p / 2)}, **(FAST | {"rng": 5}))
    assert alone.pairs == ()
    assert alone.best is None
    assert alone.headline == own.verdict.headline
    assert alone.next_step == own.verdict.next_step
    assert str(alone) == str(own)


def test_no_difference_is_said_so():
    y, p = rows(300)
    s = rainproof.assess_many({"a": (y, p), "b": (y, p)}, **FAST)
    assert s.best is None
    assert "is the least, " in s.headline
    assert "; as good: b. " in s.headline
    assert s.next_step.startswith("Next, with a: act from your own threshold on")
    s = rainproof.assess_many({"a": (y, p), "b": (y, p), "c": (y, p)}, task=TASK, **FAST)
    assert s.best is None
    assert s.headline.startswith("For your costs, take a: ")
    assert s.headline.endswith(
        "; it is not clear whether it costs less than all others; as good: b; c."
    )
    assert str(s.pairs[0]).startswith("a and b do not differ in cost beyond chance: by 0")


def test_samples_of_the_same_outcomes_are_compared_by_cost_alone():
    """They do not know which rows belong together."""
    y, p = rows()
    forecasts = {"a": rainproof.Sample(y, p), "b": rainproof.Sample(y, 1 - p), "c": (y, p)}
    s = rainproof.assess_many(forecasts, task=TASK, **FAST)
    assert [(pair.a, pair.b) for pair in s.pairs] == [("a", "b"), ("a", "c"), ("b", "c")]
    assert all(pair.to_a is pair.to_b is None for pair in s.pairs)
    assert [pair.better for pair in s.pairs] == ["a", None, "c"]
    found = {one.name: one.cost for one in s.standings}
    assert s.pairs[0].cost_difference.value == pytest.approx(found["a"].value - found["b"].value)
    assert str(s.pairs[0]).endswith(
        "independent samples: it is not known which rows belong together."
    )
    none = rainproof.assess_many(forecasts, **FAST)
    assert none.pairs == none.sentences == ()
    assert "switch" not in str(none)


def test_equal_outcomes_are_the_same_rows_in_whatever_they_are_held():
    y, p = rows(600)
    labels = np.where(y, "yes", "no")
    for one, other, pos_label in (
        (y, list(y), None),
        (labels, labels.tolist(), "yes"),
        (y, y.astype(float), None),
    ):
        s = rainproof.assess_many(
            {"a": (one, p), "b": (other, p**2)}, task=TASK, pos_label=pos_label, **FAST
        )
        expected = rainproof.assess_many(
            one, {"a": p, "b": p**2}, task=TASK, pos_label=pos_label, **FAST
        )
        assert s.to_dict() == expected.to_dict()


def test_forecasts_of_different_outcomes_are_refused():
    """A model that is right in 10% would cost less than one that is right in 18%: its losses are of
    fewer answers.
    """
    rng = np.random.default_rng(0)
    weak, strong = rng.beta(1, 9, 4000), rng.beta(2, 9, 4000)
    a, b = rng.random(4000) < weak, rng.random(4000) < strong
    few = b.copy()
    few[[7, 9]] = ~few[[7, 9]]
    of = "forecasts must be about the same outcomes; those of 'weak' and 'strong' "
    cells, same = rainproof.Sample(a, weak).compress(64), rainproof.Sample(b, strong)
    for one, other, how in (
        (
            (a, weak),
            (b, strong),
            f"differ in {(a != b).sum():,} of 4,000 rows, the first is row {(a != b).argmax()}",
        ),
        ((few, strong), (b, strong), "differ in 2 of 4,000 rows, the first is row 7"),
        ((a[:999], weak[:999]), (b, strong), "are of 999 and 4,000 rows"),
        (cells, same, f"have {a.sum():,} and {b.sum():,} events in 4,000 rows"),
        (rainproof.Sample(few, strong), (b, strong), "differ in 2 of 4,000 rows"),
        (
            rainproof.Sample(a, weak, base_rate=0.1).compress(64),
            rainproof.Sample(b, strong, base_rate=0.1),
            f"have {a.sum():,} and {b.sum():,} events in 4,000 rows",
        ),
    ):
        for task in (None, TASK):
            with pytest.raises(rainproof.InputError, match=re.escape(of + how)) as refused:
                rainproof.assess_many({"weak": one, "strong": other}, task=task, **FAST)
    assert str(refused.value).endswith(
        "; pass one y_true for all, or assess each forecast by itself"
    )
    by = rainproof.Sample(a, weak, by=np.arange(4000) % 2).by_segment()
    assert list(rainproof.assess_many({"weak": by, "same": rainproof.Sample(a, weak)}, **FAST)) == [
        "weak",
        "same",
    ]


def test_one_row_has_no_interval():
    one = rainproof.Sample([1], [0.3])
    with pytest.warns(rainproof.RainproofWarning):
        s = rainproof.assess_many({"a": one, "b": one}, task=TASK, **FAST)
    assert s.pairs[0].cost_difference is None
    assert s.standings[0].cost is None
    assert s.standings[0].auroc is None


def test_many_rows_are_paired_although_each_forecast_is_compressed(monkeypatch):
    y, p = rows()
    full = rainproof.assess_many({"a": (y, p), "b": (y, p / 2)}, task=TASK, **FAST)
    monkeypatch.setattr("rainproof.verdict.assessing.MANY_ROWS", 100)
    s = rainproof.assess_many({"a": (y, p), "b": (y, p / 2)}, task=TASK, **FAST)
    assert s["a"].to_dict() != full["a"].to_dict()
    one, other = s.pairs[0].to_dict(), full.pairs[0].to_dict()
    assert one["to_b"] == pytest.approx(other["to_b"])
    assert one["cost_difference"] == pytest.approx(other["cost_difference"])


def test_shared_options_reach_every_forecast():
    y, p = rows(600)
    w = np.random.default_rng(1).random(600)
    groups = np.arange(600) // 3
    labels = np.where(y, "y", "n")  # the same object: the same rows
    forecasts = {"a": (labels, p), "b": (labels, p / 2)}
    seen = []
    s = rainproof.assess_many(
        forecasts,
        sample_weight=w,
        pos_label="y",
        groups=groups,
        by=np.arange(600) % 2,
        task=TASK,
        progress=lambda done, total: seen.append((done, total)),
        **FAST,
    )
    assert s["b"].profile.value == rainproof.soft_binned_cdl(y, p / 2, sample_weight=w)
    assert len(s["b"].segments.rows) == 2
    assert s["a"].task.task is TASK
    assert seen[-1][0] == seen[-1][1] == len(seen)
    assert s.pairs[0].to_b.groups == 200
    cost = [np.where(x >= 0.25, 1.0 - y, 3.0 * y) for x in (p, p / 2)]
    assert s.pairs[0].cost_difference.value == pytest.approx(
        np.average(cost[0] - cost[1], weights=w)
    )


def test_the_dict_and_the_html(tmp_path):
    y, p = rows(300)
    s = rainproof.assess_many({"<b>a</b>": (y, p), "b": (y, p**2)}, task=TASK, **FAST)
    found = s.to_dict()
    assert json.loads(s.to_json(tmp_path / "s.json")) == found
    assert json.loads((tmp_path / "s.json").read_text()) == found
    assert found["names"] == [a["name"] for a in found["assessments"]] == ["<b>a</b>", "b"]
    assert set(found["pairs"][0]) == {"a", "b", "cost_difference", "to_b", "to_a", "better", "text"}
    assert found["standings"][1]["brier_score"] == rainproof.measures.brier_score(y, p**2)
    assert found["verdict"]["text"] == str(s)
    assert "<b>a</b>" not in s._repr_html_()
    assert "&lt;b&gt;a&lt;/b&gt;" in s._repr_html_()


def test_doubts_of_all_are_warned_of_once():
    y, p = rows(20)
    with pytest.warns(rainproof.RainproofWarning) as caught:
        s = rainproof.assess_many({"a": (y, p), "b": (y, p / 2)}, **FAST)
    texts = [str(w.message) for w in caught]
    assert len(set(texts)) == len(texts)
    assert set(s["a"].warnings) | set(s["b"].warnings) <= set(texts)


@for_each(
    "forecasts, message",
    [
        ({}, "forecasts must be a mapping from names to"),
        ([1], "forecasts must be a mapping from names to"),
        ({"a": 3}, r"forecasts\['a'\] must be \(y_true, y_prob\), a Sample or Segments; it is 3"),
        ({"a": ([1], [1], [1])}, r"forecasts\['a'\] must be \(y_true, y_prob\)"),
    ],
)
def test_what_is_no_forecast(forecasts, message):
    with pytest.raises(rainproof.InputError, match=message):
        rainproof.assess_many(forecasts, **FAST)


def test_one_outcome_or_reversed_events_are_said_before_any_ranking():
    y, p = rows(300)
    with pytest.warns(rainproof.RainproofWarning):
        s = rainproof.assess_many({"a": (y * 0, p), "b": (y * 0, p**2)}, **FAST)
    assert s.headline == "There is one outcome only: no verdict."
    assert s.next_step == "Next: get rows with both outcomes."
    turned = rainproof.assess_many({"a": (y, 1 - p), "b": (y, 1 - p**2)}, task=TASK, **FAST)
    assert turned.headline == f"{turned.taken.name}: {turned[turned.taken.name].verdict.headline}"
    assert "Check which outcome is the event" in turned.headline
    assert "Did you mean 1 - p" in turned.next_step
