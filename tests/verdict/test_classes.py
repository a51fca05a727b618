"""The assessment of several classes: its estimates from their definitions, its verdicts, and what
they say.
"""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pytest
from helpers.cases import for_each

import rainproof
from rainproof import DecisionTask, assess
from rainproof.core.result import Interval
from rainproof.verdict.advice import thresholds
from rainproof.verdict.classes import _gain

ANIMALS = ["cat", "dog", "eel"]
TASK = DecisionTask.from_cost_matrix(
    [[0, 9, 9], [2, 0, 4], [2, 4, 0]], actions=ANIMALS, abstain=1.5
)


def rows(n, power, seed=0, k=3):
    rng = np.random.default_rng(seed)
    said = rng.dirichlet(np.linspace(1.5, 0.5, k), n)
    true = said**power
    true /= true.sum(axis=1, keepdims=True)
    return (rng.random((n, 1)) > true.cumsum(axis=1)).sum(axis=1).clip(max=k - 1), said


@pytest.fixture(scope="module")
def overconfident():
    y, p = rows(2500, 0.5)
    return y, p, assess(y, p, labels=ANIMALS, task=TASK, n_resamples=199)


def test_each_class_is_said_and_happens(overconfident):
    y, p, a = overconfident
    for k, label in enumerate(ANIMALS):
        c = a[label].calibration
        assert c.mean_prediction == pytest.approx(p[:, k].mean(), abs=1e-12)
        assert c.event_rate == pytest.approx((y == k).mean(), abs=1e-12)
        alone = rainproof.calibration_test(y == k, p[:, k], n_resamples=199, rng=0).p_value
        assert alone <= c.p_value <= 3 * max(alone, 1 / 200) + 1e-12
    assert set(a.rejected) == set(ANIMALS)
    assert a.exact
    assert a["cat"].calibration.direction == "too extreme"
    rates = a["cat"].reliability
    assert rates.overall == pytest.approx((y == 0).mean())


def test_holm_allows_for_the_number_of_classes(monkeypatch):
    values = iter([0.04, 0.01, 0.5, 0.012])

    class Tested:
        @property
        def p_value(self):
            return next(values)

    monkeypatch.setattr("rainproof.verdict.classes.quick_test", lambda *_: Tested())
    a = assess(*rows(200, 1.0, k=4))
    assert [c.calibration.p_value for c in a.classes] == pytest.approx([0.08, 0.04, 0.5, 0.04])
    assert a.rejected == (1, 3)


def test_resamples_that_holm_cannot_reject_with_are_not_used():
    y, p = rows(600, 0.3, k=4)
    few, enough = (assess(y, p, n_resamples=n) for n in (49, 79))
    assert (few.exact, enough.exact) == (False, True)
    assert len(few.rejected) == len(enough.rejected) == 4


def test_costs_and_skill_by_their_definition(overconfident):
    y, p, a = overconfident
    cost, task = a.task.costs, a.task
    paid = -TASK.payoff(TASK.best_response(p), y)
    assert cost["as is"].value == pytest.approx(paid.mean(), rel=1e-12)
    assert cost["as is"].low < paid.mean() < cost["as is"].high
    fixed = {action: -TASK.payoff(action, y).mean() for action in TASK.actions}
    assert task.fixed_action == min(fixed, key=fixed.get)
    assert cost["always"].value == pytest.approx(min(fixed.values()), rel=1e-12)
    assert cost["perfect"].value == 0
    skill = (min(fixed.values()) - paid.mean()) / min(fixed.values())
    assert a.skill_as_is.value == pytest.approx(skill, rel=1e-9)
    for rule, saved in task.saved.items():
        assert cost["as is"].value - cost[rule].value == pytest.approx(saved.value, abs=1e-12)
    assert task.saved["recalibrated"].low > 0
    assert task.regret == rainproof.swap_regret(y, p, TASK)
    assert task.acted["abstain"] == pytest.approx((TASK.best_response(p) == "abstain").mean())
    assert a.log_loss.value == pytest.approx(-np.log(p[np.arange(len(y)), y]).mean(), rel=1e-9)
    assert a.accuracy.value == pytest.approx((p.argmax(axis=1) == y).mean())
    assert a.guarantee == rainproof.inference.class_guarantee(y, p, labels=ANIMALS)


def test_skill_without_a_task_is_the_mean_recall():
    y, p = rows(900, 1.0, 3)
    a = assess(y, p, n_resamples=19)
    rate = np.bincount(y) / len(y)
    named = (p / rate).argmax(axis=1)
    recall = [(named[y == k] == k).mean() for k in range(3)]
    assert a.skill_as_is.value == pytest.approx((sum(recall) - 1) / 2, rel=1e-12)
    rng, draws = np.random.default_rng(0), []
    for _ in range(300):
        at = rng.integers(0, 900, 900)
        draws.append((sum((named[at][y[at] == k] == k).mean() for k in range(3)) - 1) / 2)
    assert (a.skill_as_is.high - a.skill_as_is.low) / 3.92 == pytest.approx(np.std(draws), rel=0.2)


def test_recalibrated_rows_were_not_fitted_to():
    """Where outcomes are chance, maps that saw them would seem to have skill."""
    rng = np.random.default_rng(5)
    p = rng.dirichlet([1, 1, 1], 400)
    a = assess(rng.integers(0, 3, 400), p, n_resamples=199)
    assert a.grade == "avoid"
    assert abs(a.skill.value) < 0.1
    assert a.verdict.headline.startswith("Do without them.")
    assert a.verdict.rule is None


def test_verdicts(overconfident):
    _, _, a = overconfident
    assert a.grade == a.verdict.grade == "recalibrate"
    assert a.verdict.rule == "recalibrated"
    assert a.verdict.headline.startswith("Recalibrate first. All 3 classes are off (")
    for words in (
        "Your cost falls from 1.485 to 1.403 per case, recalibrated (saves ",
        "take 'abstain' where you would take 'cat' (would have",
        "  as they are  recalibrated  always 'abstain'  perfect",
        "Next: apply the map",
        "class  says  happens",
        "per case",
    ):
        assert words in str(a)
    good = assess(*rows(1500, 1.0, 1), n_resamples=199)
    assert (good.grade, good.rejected, good.verdict.rule) == ("use", (), "as is")
    assert "Use them. 1,500 rows show no clear sign of miscalibration in any of 3 classes." in str(
        good
    )
    for task in (None, TASK):
        with pytest.warns(rainproof.FewRowsWarning):
            two = assess([0, 1], [[0.9, 0.05, 0.05], [0.0, 1.0, 0.0]], task=task, n_resamples=19)
        assert (two.grade, two.skill.value) == ("unknown", 1)
        assert two.skill.low < 0
    with pytest.warns(rainproof.FewRowsWarning):
        few = assess(*rows(12, 1.0, 2), n_resamples=19)
    assert few.log_loss_gain is None
    assert "Note: " in str(few)
    with pytest.warns(rainproof.OneClassWarning):
        one = assess(np.zeros(60, int), rows(60, 1.0)[1], n_resamples=19)
    assert (one.grade, one.skill) == ("unknown", None)
    assert "There is one outcome only: no verdict." in str(one)


def test_what_recalibration_gains_in_the_decision_about_a_class(overconfident):
    """The best threshold of each fold by the others, and what the maps gain there, row by row."""
    y, p, a = overconfident
    rng = np.random.default_rng(1)
    new, fold, event = (
        p**0.5 / (p**0.5).sum(axis=1, keepdims=True),
        rng.integers(0, 3, len(y)),
        y == 1,
    )
    at, gained = thresholds(event_rate=event.mean()), np.empty(len(y))
    for f in range(3):
        own, gains = fold == f, []
        for mu in at:
            change = (event - mu) * ((new[:, 1] >= mu) * 1.0 - (p[:, 1] >= mu)) / max(mu, 1 - mu)
            gains.append(change[~own].sum())
        mu = at[int(np.argmax(gains))]
        gained[own] = (
            (event - mu) * ((new[:, 1] >= mu) * 1.0 - (p[:, 1] >= mu)) / max(mu, 1 - mu)
        )[own]
    found = _gain(rainproof.Sample(y, p)[1], new[:, 1].copy(), fold, 0.95)
    assert found.value == pytest.approx(gained.mean(), rel=1e-9)
    assert found.low < found.value < found.high
    assert found.confidence_level == 0.95
    assert all(one.gain.high > 0.005 for one in a.classes)
    label = max(a.classes, key=lambda one: one.gain.value).label
    assert (
        f"In the decision about {label!r} that gains most, recalibrating gains about"
        in replace(a, task=None).verdict.reason
    )


def test_a_gain_that_does_not_matter(overconfident):
    _, _, a = overconfident
    small = Interval(value=1e-5, low=-1e-5, high=2e-5, confidence_level=0.95)
    classes = tuple(replace(one, gain=small) for one in a.classes)
    none = replace(a, task=None, classes=classes, guarantee=replace(a.guarantee, bound=0.04))
    assert none.negligible
    assert (none.grade, none.verdict.rule, none.verdict.commands) == ("use", "as is", ())
    assert none.verdict.headline.endswith(", but correcting that gains next to nothing.")
    assert replace(none, guarantee=replace(a.guarantee, bound=0.06)).grade == "unknown"
    assert replace(none, classes=(a.classes[0], *classes[1:])).grade == "recalibrate"
    much = {"recalibrated": replace(small, value=-2.0, low=-3.0, high=-1.0)}
    costs_more = replace(a, task=replace(a.task, saved=much))
    assert costs_more.grade == "use"
    assert "but correcting that does not lower your cost" in costs_more.verdict.headline
    unclear = replace(
        a,
        task=replace(
            a.task, saved={"recalibrated": replace(small, value=-0.1, low=-1.0, high=1.0)}
        ),
    )
    assert "For your costs it is not clear whether recalibrating pays." in unclear.verdict.headline
    assert unclear.verdict.rule == "as is"


@for_each("label", ANIMALS)
@for_each("rate", [0.1, 0.8])
def test_a_gain_is_negligible_below_a_twentieth_of_the_tolerance_times_twice_the_rarer_rate(
    overconfident, label, rate
):
    """Of each class that is off, by its own rate; of the decision about any one of them."""
    none = Interval(value=0.0, low=0.0, high=0.0, confidence_level=0.95)
    a = replace(overconfident[2], tolerance=0.08)
    most = 0.08 / 20 * 2 * min(rate, 1 - rate)
    for high, negligible in ((0.999 * most, True), (1.001 * most, False)):
        classes = []
        for one in a.classes:
            gain, calibration = none, one.calibration
            if one.label == label:
                gain = replace(none, high=high)
                calibration = replace(calibration, event_rate=rate)
            classes.append(replace(one, gain=gain, calibration=calibration))
        assert replace(a, classes=tuple(classes)).negligible is negligible


@for_each("high, grade", [(0.0999, "avoid"), (0.1, "unknown")])
def test_classes_are_told_apart_by_neither_the_original_nor_the_recalibrated_forecast(high, grade):
    """It is one to avoid if both upper ends of the skill are below a tenth."""
    y, p = rows(1500, 1.0)
    few = Interval(value=0.0, low=-0.1, high=0.05, confidence_level=0.95)
    good = assess(y, p, labels=ANIMALS, n_resamples=99)
    assert replace(good, skill=few, skill_as_is=replace(few, high=high)).grade == grade
    assert replace(good, skill=replace(few, high=high), skill_as_is=few).grade == grade


def test_among_classes_what_is_advised_costs_least_or_the_cheaper_column_is_named(overconfident):
    _, _, a = overconfident
    at = Interval(value=0.0, low=-1.0, high=1.0, confidence_level=0.95)
    costs = dict(a.task.costs) | {
        "as is": replace(at, value=1.0),
        "recalibrated": replace(at, value=0.9),
        "always": replace(at, value=0.8),
    }
    saves = {"recalibrated": replace(at, value=0.1), "always": replace(at, value=0.2)}
    unsure = replace(
        a, skill=replace(at, value=0.0), rejected=(), task=replace(a.task, costs=costs, saved=saves)
    )
    assert (unsure.grade, unsure.verdict.rule) == ("unknown", "recalibrated")
    assert (
        "(always 'abstain'), which is less by the estimates, but that is not established"
        in unsure.verdict.reason
    )
    used = replace(unsure, skill=replace(at, value=0.3, low=0.1), rejected=())
    assert (used.grade, used.verdict.rule) == ("use", "as is")
    assert (
        "Less by the estimates, but not advised: recalibrated 0.90 (not established)."
        in used.verdict.reason
    )
    clear = {"always": replace(at, value=0.6, low=0.1)}
    sure = replace(unsure, task=replace(unsure.task, saved=saves | clear, saved_recalibrated=clear))
    assert (sure.grade, sure.verdict.rule) == ("unknown", "always")
    assert sure.verdict.next_step == "Next: until there are more rows, always 'abstain'."


def test_a_constant():
    y, _ = rows(300, 1.0)
    a = assess(y, np.tile([0.5, 0.3, 0.2], (300, 1)), n_resamples=19, task=TASK)
    assert (a.grade, a.constant, a.verdict.rule) == ("avoid", True, "always")
    assert a.verdict.headline == "Do without them. They say the same for every case."
    assert "Until then always 'abstain'." in a.verdict.next_step


def test_the_order_of_rows_does_not_matter():
    y, p = rows(300, 0.5, 4)
    at = np.random.default_rng(0).permutation(300)
    assert str(assess(y, p, n_resamples=49)) == str(assess(y[at], p[at], n_resamples=49))


def test_groups_weights_and_many_classes():
    y, p = rows(400, 0.5, 6, k=25)
    a = assess(y, p, n_resamples=19)
    assert not a.exact
    assert "and 13 more classes" in str(a)
    y, p = rows(300, 0.6, 7)
    grouped = assess(np.repeat(y, 2), np.repeat(p, 2, axis=0), groups=np.repeat(np.arange(300), 2))
    alone = assess(y, p)
    assert grouped.groups == 300
    assert (
        "600 rows in 300 groups, taken as independent; sizes must not depend on"
        in grouped.verdict.basis
    )
    assert grouped.guarantee.bound == pytest.approx(alone.guarantee.bound, abs=1e-9)
    assert grouped.skill_as_is.high - grouped.skill_as_is.low == pytest.approx(
        alone.skill_as_is.high - alone.skill_as_is.low, rel=0.05
    )
    weighted = assess(y, p, sample_weight=np.where(np.arange(300) < 200, 1.0, 0.0), task=TASK)
    assert weighted.task.costs["as is"] == assess(y[:200], p[:200], task=TASK).task.costs["as is"]


def test_pages_pictures_and_json(overconfident, tmp_path):
    _, _, a = overconfident
    told = json.loads(a.to_json(tmp_path / "a.json"))
    assert told["result"] == "class_assessment"
    assert told["verdict"]["grade"] == "recalibrate"
    assert told["classes"][0]["label"] == "cat"
    assert told["recalibrator"]["certificate"]["n"] == 625
    assert (
        rainproof.Recalibrator.from_dict(told["recalibrator"]).candidates_
        == a.recalibrator.candidates_
    )
    assert told["task"]["costs"]["as is"]["value"] == a.task.costs["as is"].value
    page = a.to_html(tmp_path / "a.html", title="Animals <3")
    assert "Animals &lt;3" in page
    assert (
        page.count('<figcaption class="flagged">')
        == page.count('aria-label="Reliability diagram"')
        == 3
    )
    assert "<script>" not in page
    assert 'class="verdict recalibrate"' in page
    assert "with intervals of each bin by itself" in page
    assert "with intervals of each bin by itself" not in replace(a, groups=5).to_html()
    assert "script-src 'none'" in page
    a.to_html(tmp_path / "a.html")  # a report may be replaced
    with pytest.raises(rainproof.InputError, match="preset is for one event"):
        a.to_html(preset="clinical")
    figure = a.plot()
    assert [ax.get_title().split(":")[0] for ax in figure.axes] == list(a.rejected)
    assert repr(a).startswith("ClassAssessment('recalibrate', bound=0.")
    assert "<table>" in a._repr_html_()


def test_two_columns_are_one_event():
    y, p = rows(400, 0.6, 8, k=2)
    one = assess(y, p[:, 1], n_resamples=49)
    assert assess(y, p, n_resamples=49).verdict == one.verdict
    words = np.array(["no", "yes"])[y]
    assert assess(words, p, labels=["no", "yes"], n_resamples=49).verdict == one.verdict


def test_what_is_refused():
    y, p = rows(100, 1.0)
    cases = {
        "task must have a payoff for each of 3 classes; it is": lambda: assess(
            y, p, task=DecisionTask.threshold(0.2)
        ),
        "task must have a payoff for each of 4 classes": lambda: assess(
            *rows(50, 1.0, k=4), task=TASK
        ),
        "measures are for one event": lambda: assess(y, p, measures=["brier_score"]),
        "by is for predictions of one event": lambda: assess(y, p, by=y),
        r"confidence_level must lie in \(0, 1\)": lambda: assess(y, p, confidence_level=2),
        "task must be a DecisionTask": lambda: assess(y > 0, p[:, 0], task=TASK),
        "labels name the classes of predictions": lambda: assess(y > 0, p[:, 0], labels=["a", "b"]),
    }
    for message, call in cases.items():
        with pytest.raises(rainproof.InputError, match=message):
            call()
