"""The verdict follows from the evidence, and its words say no more than the evidence does."""

from __future__ import annotations

import itertools
import re
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
from helpers.cases import for_each

import rainproof
from rainproof.core.result import Interval, PredictionRange
from rainproof.core.text import p_value
from rainproof.core.validation import ThresholdRange
from rainproof.verdict.assessing import _chosen
from rainproof.verdict.calibration import Calibration
from rainproof.verdict.costs import Rule, TaskResult
from rainproof.verdict.evidence import Evidence, Gain
from rainproof.verdict.facts import span
from rainproof.verdict.renderer import PYTHON, SHELL
from rainproof.verdict.segment_statements import segment_order, segment_statements
from rainproof.verdict.segments import Segment, SegmentTable
from rainproof.verdict.values import Share, money, shares_apart
from rainproof.verdict.verdict import advised, judge

PLAIN = rainproof.DecisionTask.from_costs(false_positive=1, false_negative=4)


def interval(value, low, high):
    return Interval(value=value, low=low, high=high, confidence_level=0.95)


def calibration(p_value=0.3, direction="none", **changed):
    return Calibration(
        **{
            "p_value": p_value,
            "rejected": p_value <= 0.05,
            "direction": direction,
            "mean_prediction": 0.62,
            "event_rate": 0.57,
            "difference": interval(0.05, 0.03, 0.07),
            "intercept": None,
            "slope": None,
            "most_biased": PredictionRange(
                low=0.85, high=0.95, mean_prediction=0.9, event_rate=7 / 11, n=11.0, events=7.0
            ),
            **changed,
        }
    )


def gain(low, high, log_score=0.01):
    share = interval((low + high) / 2, low, high)
    return Gain(
        share=share, threshold=0.71, mean_prediction=0.57, log_score=log_score, brier_score=0.001
    )


def evidence(**changed):
    bound = changed.pop("bound", 0.02)
    return Evidence(
        **{
            "n": 4000,
            "groups": None,
            "confidence_level": 0.95,
            "tolerance": 0.05,
            "calibration": calibration(),
            "skill": interval(0.3, 0.2, 0.4),
            "skill_as_is": interval(0.25, 0.15, 0.35),
            "auroc": 0.7,
            "gain": gain(0.005, 0.017),
            "guarantee": SimpleNamespace(
                bound=bound,
                plug_in=bound / 2,
                threshold_range=None,
                max_weight=None,
                weighted=False,
            ),
            "rounded_guarantee": SimpleNamespace(bound=0.03, grid=32),
            "certificate": None,
            **changed,
        }
    )


OFF = calibration(0.001, "too high")
NONE = {"skill_as_is": interval(0.02, -0.1, 0.0999)}
SAVES, UNCLEAR, COSTLY = (
    interval(0.25, 0.2, 0.32),
    interval(-0.01, -0.1, 0.1),
    interval(-0.1, -0.2, -0.05),
)


@for_each(
    "changed, grade",
    [
        ({}, "use"),
        # a wide guarantee does not speak against a forecast that no test rejects
        ({"bound": 0.5}, "use"),
        ({"skill": interval(0.3, -0.01, 0.6)}, "unknown"),
        ({"skill": interval(0.03, -0.01, 0.0999)} | NONE, "avoid"),
        # few events
        (
            {"skill": interval(0.03, -0.01, 0.0999), "skill_as_is": interval(0.1, -0.8, 1.0)},
            "unknown",
        ),
        # it may have some
        ({"skill": interval(0.0, 0.0, 0.02), "skill_as_is": interval(0.0, -0.1, 0.1)}, "unknown"),
        (
            {"skill": interval(0.0, 0.0, 0.02), "skill_at_best": interval(0.0, -0.1, 0.1)} | NONE,
            "unknown",
        ),
        (
            {"skill": interval(0.0, 0.0, 0.02), "skill_at_best": interval(0.0, -0.1, 0.0999)}
            | NONE,
            "avoid",
        ),
        ({"skill": interval(0.03, -0.01, 0.1)} | NONE, "unknown"),
        ({"skill": None}, "unknown"),
        ({"skill": interval(0.05, 0.01, 0.0999)}, "use"),  # shown, if small
        # it may pay in the user's decision
        ({"skill": interval(0.03, -0.01, 0.05), "saved": UNCLEAR}, "unknown"),
        ({"skill": interval(-0.03, -0.1, 0.05), "saved": UNCLEAR} | NONE, "avoid"),
        ({"constant": True}, "avoid"),
        ({"calibration": OFF}, "recalibrate"),
        ({"calibration": OFF, "constant": True}, "avoid"),
        ({"calibration": OFF, "skill": interval(0.03, -0.01, 0.05)} | NONE, "avoid"),
        ({"calibration": OFF, "skill": interval(0.3, -0.1, 0.7)}, "recalibrate"),
        ({"calibration": calibration(0.0501, "none")}, "use"),
        # no map helps
        ({"calibration": OFF, "gain": gain(0.005, 0.017, log_score=0.0)}, "unknown"),
        ({"calibration": OFF, "gain": None}, "unknown"),
        # nothing could be fitted
        ({"skill": interval(0.03, -0.01, 0.05), "gain": None}, "unknown"),
        # negligible: below 0.05 * 0.05 * 2 * 0.43
        ({"calibration": OFF, "gain": gain(-0.001, 0.0021)}, "use"),
        ({"calibration": OFF, "gain": gain(-0.001, 0.0022)}, "recalibrate"),
        ({"calibration": OFF, "gain": gain(-0.001, 0.0021), "bound": 0.051}, "unknown"),
        ({"calibration": OFF, "saved": interval(-0.01, -0.1, 0.001)}, "recalibrate"),
        # the map does not pay in the decision
        ({"calibration": OFF, "saved": interval(-0.1, -0.2, 0.0)}, "use"),
        (
            {
                "calibration": OFF,
                "saved": interval(-0.1, -0.2, 0.0),
                "skill": interval(0.3, -0.1, 0.7),
            },
            "unknown",
        ),
        ({"calibration": calibration(0.001, "too high", event_rate=1.0)}, "unknown"),
        ({"calibration": OFF, "saved": UNCLEAR, "by_rank": True}, "use"),  # only the order counts
        ({"calibration": OFF, "by_rank": True, "skill": interval(0.3, -0.1, 0.7)}, "unknown"),
    ],
)
def test_the_grade_is_the_first_row_of_the_rule_that_applies(changed, grade):
    assert evidence(**changed).grade == grade


def own(costs, saved=None, task=PLAIN):
    """The user's decision with these costs by rule."""
    known = {rule: interval(cost, cost - 0.01, cost + 0.01) for rule, cost in costs.items()}
    found = {
        rule: interval(costs[Rule.AS_IS] - costs[rule], *(saved or (0.02, 0.05)))
        for rule in (Rule.RECALIBRATED, Rule.ALWAYS, Rule.NEVER)
        if rule in costs
    }
    acted = dict.fromkeys(costs, 0.061)
    regret = rainproof.swap_regret([0, 1, 1], [0.1, 0.4, 0.9], task=task)
    return TaskResult(
        task=task, regret=regret, grid=32, costs=known, saved=found, acted=acted, n=4000
    )


COSTS = {
    Rule.AS_IS: 0.41,
    Rule.RECALIBRATED: 0.16,
    Rule.ALWAYS: 0.98,
    Rule.NEVER: 0.42,
    Rule.PERFECT: 0.0,
}


@for_each(
    "changed, costs, rule",
    [
        ({}, None, Rule.AS_IS),
        ({}, COSTS, Rule.AS_IS),  # calibration is not rejected
        ({"calibration": OFF}, None, Rule.RECALIBRATED),
        ({"calibration": OFF, "saved": SAVES}, COSTS, Rule.RECALIBRATED),
        (
            {"calibration": OFF, "saved": UNCLEAR},
            COSTS | {Rule.RECALIBRATED: 0.41},
            Rule.RECALIBRATED,
        ),
        ({"calibration": OFF, "saved": UNCLEAR}, COSTS | {Rule.RECALIBRATED: 0.42}, Rule.AS_IS),
        ({"constant": True}, None, None),
        ({"constant": True}, COSTS, Rule.NEVER),
        ({"constant": True}, COSTS | {Rule.ALWAYS: 0.1}, Rule.ALWAYS),
        ({"skill": interval(0.3, -0.1, 0.6)}, None, Rule.AS_IS),
        ({"skill": interval(0.3, -0.1, 0.6)}, COSTS, Rule.RECALIBRATED),
        ({"skill": interval(0.3, -0.1, 0.6)}, COSTS | {Rule.RECALIBRATED: 0.41}, Rule.AS_IS),
        ({"calibration": OFF, "saved": COSTLY}, COSTS | {Rule.RECALIBRATED: 0.51}, Rule.AS_IS),
        # 0.0076 and 0.0077 less than the original forecast; the standard error is (0.05 - 0.02) / 2
        # / 1.96 = 0.00765
        (
            {"skill": interval(0.1, -0.1, 0.6)},
            COSTS | {Rule.RECALIBRATED: 0.5, Rule.NEVER: 0.4024},
            Rule.AS_IS,
        ),
        (
            {"skill": interval(0.1, -0.1, 0.6)},
            COSTS | {Rule.RECALIBRATED: 0.5, Rule.NEVER: 0.4023},
            Rule.NEVER,
        ),
        (
            {
                "skill": interval(0.1, 0.01, 0.6),
                "calibration": OFF,
                "gain": gain(0.005, 0.017, log_score=0.0),
            },
            COSTS | {Rule.RECALIBRATED: 0.5, Rule.NEVER: 0.4023},
            Rule.AS_IS,  # skill is shown
        ),
    ],
)
def test_what_is_advised(changed, costs, rule):
    task = None if costs is None else own(costs)
    found = judge(evidence(**changed), task)
    assert found.rule is rule
    assert advised(evidence(**changed), task) is rule
    acts = rule in (Rule.AS_IS, Rule.RECALIBRATED)
    assert found.threshold == (0.2 if acts and costs is not None else None)
    assert bool(found.commands) == (rule is Rule.RECALIBRATED)


def test_doing_without_must_be_cheaper_than_the_map_too():
    e = evidence(skill=interval(0.1, -0.1, 0.6))
    task = own(COSTS | {Rule.RECALIBRATED: 0.35, Rule.NEVER: 0.3})
    # of a standard error of 0.00765
    for saved, rule in ((0.0076, Rule.RECALIBRATED), (0.0077, Rule.NEVER)):
        over_map = {Rule.NEVER: interval(saved, 0.02, 0.05)}
        assert advised(e, replace(task, saved_recalibrated=over_map)) is rule


def test_a_map_surely_worse_than_none_is_not_recommended():
    sure = evidence(calibration=OFF, saved=SAVES, skill=interval(-0.3, -0.5, -0.0001))
    assert sure.grade == "unknown"
    assert replace(sure, skill=interval(-0.3, -0.5, 0.0)).grade == "recalibrate"


def test_a_map_that_costs_more_is_never_advised():
    skills = (interval(0.3, 0.2, 0.4), interval(0.3, -0.1, 0.6), interval(0.0, -0.1, 0.05))
    for skill, p, score, cost in itertools.product(
        skills, (0.001, 0.3), (-0.1, 0.1), (0.3, 0.41, 0.5)
    ):
        e = evidence(
            skill=skill,
            calibration=calibration(p, "uneven"),
            gain=gain(0.005, 0.017, log_score=score),
            saved=interval(0.41 - cost, 0.31 - cost, 0.51 - cost),
        )
        task = own(COSTS | {Rule.RECALIBRATED: cost})
        assert advised(e, task) is not Rule.RECALIBRATED or cost <= 0.41
        assert cost < 0.41 or "Recalibrate first" not in judge(e, task).headline


def test_the_first_sentence_says_whether_it_is_off_and_how():
    found = judge(evidence(calibration=OFF))
    assert found.headline == (
        "Recalibrate first. These probabilities are too high: they say 62% on average, it "
        "happens 57% (not chance: p = 0.001)."
    )
    assert found.reason == (
        "In the decision that gains most (such as: act from 71% on), recalibrating gains about "
        "1.1% of what is at stake (0.50% to 1.7%)."
    )
    assert found.next_step == (
        "Next: apply the map, then act from your own threshold on (50% if a miss costs as much "
        "as a false alarm)."
    )
    assert found.commands == ("a.recalibrator.predict(p_new)",)


@for_each(
    "direction, where",
    [
        ("too low", "too low: they say 62% on average, it happens 57%"),
        ("too extreme", "too extreme: where they say 90%, it happens 64%"),
        ("too timid", "too timid: where they say 90%, it happens 64%"),
        ("uneven", "off in places: where they say 90%, it happens 64%"),
    ],
)
def test_directions_in_words(direction, where):
    assert where in judge(evidence(calibration=calibration(0.001, direction))).headline


def test_the_second_sentence_is_the_money():
    found = judge(evidence(calibration=OFF, saved=SAVES), own(COSTS, (0.2, 0.32)))
    assert (
        found.reason
        == "Your cost falls from 0.41 to 0.16 per case, recalibrated (saves 0.20 to 0.32)."
    )
    assert (
        found.next_step
        == "Next: apply the map, then act from 20% on. That flags 6.1% of the cases."
    )
    unclear = judge(
        evidence(calibration=OFF, saved=replace(UNCLEAR, value=0.01)), own(COSTS, (-0.1, 0.6))
    )
    assert unclear.headline.endswith(
        "Recalibrating mends that; whether it lowers your cost is not clear."
    )
    costs_more = judge(evidence(calibration=OFF, saved=UNCLEAR), own(COSTS, (-0.1, 0.1)))
    assert costs_more.headline.endswith(
        "For your costs it is not clear whether recalibrating pays."
    )
    assert unclear.reason == (
        "Your cost is 0.41 per case as they are, 0.16 recalibrated; it is not clear which is "
        "less (saves -0.10 to 0.60)."
    )
    worse = judge(
        evidence(calibration=OFF, saved=SAVES), own(COSTS | {Rule.NEVER: 0.17}, (0.2, 0.32))
    )
    assert worse.reason.endswith(
        "recalibrated (saves 0.20 to 0.32). Without them it is 0.17 (never acting)."
    )
    used = judge(evidence(), own(COSTS))
    assert used.reason == (
        "Your cost is 0.410 per case; without them it is 0.420 (never acting). Less by the "
        "estimates, but not advised: recalibrated 0.16 (calibration is not rejected)."
    )
    assert used.next_step == "Next: act from 20% on. That flags 6.1% of the cases."


def test_a_forecast_to_use():
    found = judge(evidence())
    assert found.headline == (
        "Use them. 4,000 rows show no sign of miscalibration: they say 62% on average, it "
        "happens 57% (p = 0.3)."
    )
    assert (
        found.reason
        == "Acting on them loses at most 2% of what is at stake in any decision (95% confidence)."
    )
    slightly = judge(evidence(calibration=calibration(0.08)))
    assert "no clear sign of miscalibration" in slightly.headline
    harmless = judge(evidence(calibration=OFF, gain=gain(-0.001, 0.002)))
    assert harmless.headline.endswith("but correcting that gains next to nothing.")
    not_for_you = judge(
        evidence(calibration=OFF, saved=COSTLY), own(COSTS | {Rule.RECALIBRATED: 0.51})
    )
    assert not_for_you.headline.endswith("but correcting that does not lower your cost.")
    assert not_for_you.rule is Rule.AS_IS


def test_a_forecast_to_do_without():
    constant = judge(
        evidence(constant=True, calibration=calibration(mean_prediction=0.2, event_rate=0.2))
    )
    assert constant.headline == "Do without them. They say 20% for every case; it happens in 20%."
    assert constant.next_step == (
        "Next: use another forecast. Until then act always if you act from less than 20% (the "
        "event rate) on, else never."
    )
    useless = evidence(skill=interval(0.02, -0.03, 0.08), **NONE)
    assert judge(useless).reason == (
        "Recalibrated by the maps tried, they gain at most 8.0% of what perfect foresight would "
        "gain over no forecast (upper end of a 95% interval)."
    )
    mine = judge(useless, own(COSTS))
    assert (
        mine.headline
        == "You can do without them: at your threshold (20%) they gain next to nothing."
    )
    assert mine.next_step == "Next: use another forecast. Until then never act."


def test_too_few_rows():
    few = {"n": 143, "skill": interval(0.3, -0.1, 0.6)}
    found = judge(evidence(**few, calibration=calibration(0.11)))
    assert found.headline == (
        "Too few rows to be sure (143). Where they say 90%, it happened in 7 of 11 cases, but "
        "chance could do that (p = 0.11)."
    )
    assert found.reason == (
        "It is not clear whether they gain over no forecast: skill 0.30 (-0.10 to 0.60); 1 is "
        "perfect, 0 is none."
    )
    assert found.next_step.startswith(
        "Next: until there are more rows, act from your own threshold on"
    )
    rare = judge(evidence(**few, events=6, calibration=calibration(0.6, event_rate=0.04)))
    assert rare.headline.startswith(
        "Too few events to be sure (6 in 143 rows). They say 62% on average"
    )
    common = judge(evidence(**few, events=6, calibration=calibration(0.6, event_rate=0.96)))
    assert common.headline.startswith("Too few cases without the event to be sure (6 in 143 rows).")
    grouped = judge(evidence(n=400, groups=8, skill=interval(0.3, -0.1, 0.6)))
    assert grouped.headline.startswith("Too few groups to be sure (8).")
    assert grouped.next_step.startswith("Next: until there are more groups, ")
    shown = judge(evidence(n=143, calibration=OFF, gain=gain(0.0, 0.02, log_score=-0.1)))
    assert shown.headline.endswith("but 143 rows are too few to be sure that a correction helps.")
    assert shown.reason == "Skill 0.30 (0.20 to 0.40); 1 is perfect, 0 is none."


def test_one_outcome_and_reversed_events():
    found = judge(evidence(calibration=calibration(event_rate=0.0), skill=None, auroc=None))
    assert (found.grade, found.headline) == ("unknown", "There is one outcome only: no verdict.")
    assert found.next_step == "Next: get rows with both outcomes."
    inverted = evidence(calibration=OFF, is_reversed=True, auroc=0.2)
    assert judge(inverted).headline.startswith("Check which outcome is the event")
    assert judge(inverted).rendered_by(SHELL).next_step.endswith("as the event (--pos-label)?")
    assert not judge(inverted).commands


def test_one_table_with_a_column_for_each_way_of_acting():
    head, *lines = judge(evidence(calibration=OFF, saved=SAVES), own(COSTS)).table
    assert head == ("", "as they are", "recalibrated", "always", "never", "perfect")
    assert lines == [
        ("cost per case", "0.41", "0.16", "0.98", "0.42", "0.00"),
        ("cases acted on", "6.1%", "6.1%", "6.1%", "6.1%", "6.1%"),
        ("say on average (happens 57%)", "62%", "57%", "", "", ""),
        ("skill (1 perfect, 0 none)", "0.25", "0.30", "", "", ""),
        ("any decision loses at most", "2%", "", "", "", ""),
    ]
    assert judge(evidence(gain=None)).table[0] == ("", "as they are")


def test_a_constant_is_beside_the_rules_that_need_none():
    constant = evidence(constant=True, calibration=calibration(mean_prediction=0.2, event_rate=0.2))
    bare = judge(constant)
    assert bare.table == ()
    assert "\n\nGrade: avoid. 4,000 rows, taken" in str(bare)
    assert "estimate" not in bare.basis
    assert "<table>" not in bare._repr_html_()
    head, *lines = judge(constant, own(COSTS)).table
    assert head == ("", "always", "never", "perfect")
    assert [line[0] for line in lines] == ["cost per case", "cases acted on"]


def test_the_best_cut_off_is_named():
    cut = COSTS | {Rule.CUTOFF: 0.15}
    task = replace(own(cut), best_threshold=0.31)
    found = judge(evidence(calibration=OFF, saved=SAVES), task)
    assert "best cut-off 31%" in found.table[0]
    assert found.reason.endswith(
        " Without a map: acting from 31% on as they are costs least, 0.15 by the estimate."
    )
    assert found.rule is Rule.RECALIBRATED
    alike = judge(
        evidence(calibration=OFF, saved=SAVES),
        replace(own(cut | {Rule.CUTOFF: 0.159}), best_threshold=0.31),
    )
    assert alike.reason.endswith(" As much: best cut-off.")  # 0.16, as the map
    none = judge(evidence(skill=interval(-0.03, -0.1, 0.05), saved=UNCLEAR, **NONE), task)
    assert (none.grade, "Without a map" in none.reason) == ("avoid", False)
    # the same when rounded; more; never acting
    for cost, at in ((0.161, 0.31), (0.17, 0.31), (0.15, 2.0)):
        other = judge(
            evidence(calibration=OFF, saved=SAVES),
            replace(own(cut | {Rule.CUTOFF: cost}), best_threshold=at),
        )
        assert "costs least" not in other.reason
        assert ("best cut-off 31%" in other.table[0]) == (at <= 1)


def test_the_screen_says_that_recalibrated_numbers_are_cross_validated():
    said = judge(evidence(calibration=OFF), own(COSTS)).basis
    assert "are estimates (recalibrated: cross-validated)." in said
    said = judge(evidence(calibration=OFF), own(COSTS | {Rule.CUTOFF: 0.15})).basis
    assert "are estimates (recalibrated, best cut-off: cross-validated)." in said
    assert "cross-validated" not in judge(evidence(calibration=OFF, gain=None)).basis


def test_rare_events_are_said_to_leave_little_to_gain():
    rare = calibration(0.001, "too high", mean_prediction=0.02, event_rate=0.0104)
    found = judge(evidence(calibration=rare, gain=gain(-0.001, 0.002), tolerance=0.5))
    assert found.reason.endswith(
        "; events are rare: even perfect foresight gains at most 1.0% over no forecast."
    )
    harmful = judge(evidence(calibration=rare, gain=gain(0.17, 0.18)))
    # it mends harm, which is more than foresight gains over no forecast
    assert "foresight" not in harmful.reason
    assert found.next_step.endswith(
        "your own threshold on (1% if a miss costs 99 times a false alarm)."
    )
    other = judge(evidence(calibration=calibration(mean_prediction=0.97, event_rate=0.98)))
    assert (
        "; cases without the event are rare: even perfect foresight gains at most 2.0% over no"
        in other.reason
    )
    assert other.next_step.endswith("(98% if a false alarm costs 49 times a miss).")
    assert "rare" not in judge(evidence()).reason


@for_each("rate", [1e-5, 0.003, 0.2, 0.5, 0.7, 0.9995])
def test_the_example_of_a_threshold_is_near_the_event_rate(rate):
    at = (
        float(
            re.search(
                r"on \((.*?)% if",
                judge(evidence(calibration=calibration(event_rate=rate))).next_step,
            )[1]
        )
        / 100
    )
    assert abs(np.log(at / (1 - at)) - np.log(rate / (1 - rate))) < 1.2


def test_the_bound_of_the_map_is_marked_as_that_of_fewer_rows():
    certificate = SimpleNamespace(n=1000, loss_bound=0.04, gain_at_least=0.0, harm_bound=0.01)
    found = judge(evidence(calibration=OFF, certificate=certificate))
    assert found.table[-1][1:] == ("2%", "4%*")
    assert (
        "(*: from 1,000 rows that the map was not fitted to, which prove less than all 4,000)"
        in found.basis
    )
    assert "*" not in judge(evidence(calibration=OFF)).basis


def test_a_rate_has_one_rounding_on_a_screen():
    near = calibration(0.001, "too high", mean_prediction=0.6234, event_rate=0.6189)
    text = str(judge(evidence(calibration=near)))
    assert text.count("61.9%") == 3
    assert text.count("62.3%") == 2
    assert "57.0%" in text  # what the map says, in the same digits


@for_each(
    "value, shown",
    [
        (0.0, "0%"),
        (1.0, "100%"),
        (0.62, "62%"),
        (0.098, "9.8%"),
        (0.0034, "0.34%"),
        (0.00034, "0.034%"),
        (0.996, "99.60%"),
        (0.93, "93.0%"),
        (0.9999999999999, "100%"),
        (-0.012, "-1.2%"),
        (1e-12, "0%"),
    ],
)
def test_shares_have_two_digits(value, shown):
    assert str(Share(value)) == shown


def test_two_shares_show_that_they_differ():
    assert [*map(str, shares_apart(0.6234, 0.6189))] == ["62.3%", "61.9%"]
    assert [*map(str, shares_apart(0.6, 0.6))] == ["60%", "60%"]


def test_costs_have_the_digits_of_their_difference():
    assert str(money(0.15321, 0.0042)) == "0.1532"
    assert str(money(1532.1, 250.0)) == "1,532"
    assert str(money(0.0)) == "0.0"


@for_each("p", [0.0004, 0.001, 0.0432, 0.0538, 0.19, 0.2, 0.21, 0.61])
@for_each("skill", [(0.2, 0.4), (-0.1, 0.7)])
def test_the_headline_has_the_p_value_itself(p, skill):
    """No range is printed: "p > 0.05" was said of 0.054, beside an interval of the slope that
    excludes 1.
    """
    found = judge(evidence(calibration=calibration(p), skill=interval(0.3, *skill)))
    assert f"({p_value(p)})" in found.headline.replace("not chance: ", "")
    assert re.findall(r"p [<>] [\d.]+", str(found)) == (["p < 0.001"] if p < 0.001 else [])


def test_what_may_be_chance_is_worth_a_look_up_to_one_in_five():
    few = {"n": 143, "skill": interval(0.3, -0.1, 0.6)}
    at, above = (judge(evidence(**few, calibration=calibration(p))).headline for p in (0.2, 0.2001))
    assert at.endswith(
        "Where they say 90%, it happened in 7 of 11 cases, but chance could do that (p = 0.2)."
    )
    assert above.endswith("They say 62% on average, it happens 57%; that can be chance (p = 0.21).")
    at, above = (judge(evidence(calibration=calibration(p))).headline for p in (0.2, 0.2001))
    assert "no clear sign of miscalibration" in at
    assert "no sign of miscalibration" in above


def test_the_tiles_answer_four_questions():
    found = judge(evidence(calibration=OFF, saved=SAVES), own(COSTS, (0.2, 0.32)))
    said = {a.about: (a.question, a.value) for a in found.answers}
    assert said == {
        "calibration": ("Calibrated?", "Too high"),
        "skill": ("Skill", "0.30"),
        "cost": ("Your cost", "0.41 \u2192 0.16"),
        "loss": ("Guarantee: loses", "at most 2%"),
    }
    assert [a.about for a in judge(evidence()).answers] == ["calibration", "skill", "loss"]


def test_no_sentence_contradicts_the_grade():
    """Over many kinds of evidence: what is said of chance, of the map and of the costs fits the
    grade and the rule.
    """
    for p, skill, saved, n, rate in itertools.product(
        (0.001, 0.3),
        ((0.2, 0.4), (-0.1, 0.6), (-0.1, 0.05)),
        (None, -0.1, -0.02, 0.02, 0.25),
        (80, 4000),
        (0.57, 0.01),
    ):
        e = evidence(
            n=n,
            calibration=calibration(p, "too high" if p < 0.05 else "none", event_rate=rate),
            skill=interval(sum(skill) / 2, *skill),
            saved=None if saved is None else interval(saved, saved - 0.05, saved + 0.05),
        )
        task = (
            None
            if saved is None
            else own(COSTS | {Rule.RECALIBRATED: 0.41 - saved}, (saved - 0.05, saved + 0.05))
        )
        found = judge(e, task)
        text = " ".join(str(found).split())
        assert ("not chance" in text) == (e.calibration.rejected and e.grade != "avoid")
        assert ("apply the map" in text) == (found.rule is Rule.RECALIBRATED)
        assert "Recalibrate first" not in text or found.rule is Rule.RECALIBRATED
        assert "Use them" not in text or found.rule is Rule.AS_IS
        assert not re.search(r"\b(somebody|nobody|everybody|perhaps|approximate)\b", text)
        assert not re.search(r"gains about -|gains at most -", text)


def test_what_the_numbers_rest_on():
    assert "(rows that belong together: --groups)" in judge(evidence()).rendered_by(SHELL).basis
    grouped = judge(evidence(groups=401)).basis
    assert grouped.startswith(
        "Grade: use. 4,000 rows in 401 groups, taken as independent; sizes must not depend on "
        "predictions or outcomes, "
    )


def segment(label, n=100, *, flagged=False, small=False):
    return Segment(
        key=(label,), n=n, share=0.1, mean_prediction=0.64, event_rate=0.55, value=0.1, small=small, flagged=flagged,
        p_value=None if small else 0.001, q_value=None if small else 0.0014,
    )  # fmt: skip


def in_words(table, renderer=PYTHON):
    return renderer.passage(segment_statements(table))


def segment_table(*rows):
    return SegmentTable(by=("season",), fdr=0.05, min_rows=30, rows=rows)


def test_segments_in_a_line_and_in_a_table():
    off, fine, small = (
        segment("2022", flagged=True),
        segment("2023"),
        segment("2024", 9, small=True),
    )
    assert in_words(segment_table(off, segment("2021", flagged=True))).startswith(
        "All 2 segments (season) are off beyond chance (false discovery rate 5%), most 2022: "
        "says 64%, happens 55%."
    )
    assert in_words(segment_table(off, fine)).startswith(
        "1 of 2 segments (season) is off beyond chance"
    )
    assert in_words(segment_table(fine, small)) == (
        "None of 1 segment (season) is off beyond chance. 1 segment has too few rows to be tested."
    )
    assert in_words(segment_table(small)) == "1 segment has too few rows to be tested."
    assert "rainproof recalibrate with --by" in in_words(segment_table(off), SHELL)
    lines = str(segment_table(off, small)).splitlines()
    assert lines[0].split() == ["season", "rows", "says", "happens", "p", "q"]
    assert lines[1].split() == ["2022", "100", "64%", "55%", "0.001", "0.0014"]
    assert lines[2].split() == ["2024", "9", "64%", "55%"]
    priced = segment_table(replace(off, cost=0.25))
    assert str(priced).splitlines()[1].split()[-1] == "0.25"
    # none is tested
    assert str(segment_table(small)).splitlines()[0].split() == [
        "season",
        "rows",
        "says",
        "happens",
    ]


def test_the_dict_and_the_html_say_the_same():
    found = judge(evidence(calibration=OFF, saved=SAVES), own(COSTS), warnings=("Mind <this>",))
    told = found.to_dict()
    assert (told["grade"], told["rule"], told["threshold"]) == ("recalibrate", "recalibrated", 0.2)
    assert told["text"] == str(found)
    assert told["sentences"][-1] == {"about": "note", "text": "Note: Mind <this>."}
    assert str(found).endswith("\n\nNote: Mind <this>.")
    page = found._repr_html_()
    assert page.endswith("<p>Note: Mind &lt;this&gt;.</p>")
    assert "<b>Recalibrate first." in page
    assert "<td>0.16</td>" in page


def test_the_same_rows_in_any_order_get_the_same_verdict():
    rng = np.random.default_rng(3)
    n = 600
    p = np.round(rng.random(n), 2)
    y, w, g = rng.random(n) < p**1.4, rng.choice([1.0, 2.0], n), rng.integers(0, 90, n)
    for columns in ({}, {"sample_weight": w}, {"groups": g}, {"by": g % 3}):
        texts = set()
        for seed in range(2):
            at = np.random.default_rng(seed).permutation(n)
            some = {name: column[at] for name, column in columns.items()}
            a = rainproof.assess(y[at], p[at], task=PLAIN, measures=[], n_resamples=19, **some)
            texts.add(a.to_json())
        assert len(texts) == 1


def test_within_a_capacity_that_is_used_up_the_order_counts():
    limits = {
        "capacity": 0.061,
        "one_more": {Rule.AS_IS: 7.5, Rule.RECALIBRATED: 4.2, Rule.PERFECT: 20.0},
    }
    task = replace(own(COSTS | {Rule.RECALIBRATED: 0.41}, saved=(-0.01, 0.01)), **limits)
    assert task.by_rank
    # all that pays is acted on
    assert not replace(task, one_more=limits["one_more"] | {Rule.AS_IS: 0.0}).by_rank
    assert not replace(own(COSTS), **limits).by_rank  # the map is shown to save
    assert not own(COSTS, saved=(-0.01, 0.01)).by_rank
    found = judge(evidence(calibration=OFF, saved=UNCLEAR, by_rank=True), task)
    assert (found.grade, found.rule) == ("use", Rule.AS_IS)
    assert (
        "is not shown to improve their order, which alone counts within your capacity."
        in found.headline
    )
    assert "act on the 6.1% of the cases with the highest probabilities." in found.next_step
    assert (
        "One more case would gain about 4.2, by the recalibrated probabilities." in found.next_step
    )
    assert found.commands == ("rainproof.decisions.decide(p_new, task, ids, capacity=capacity)",)
    assert next(line for line in found.table if line[0] == "one more case gains")[1:3] == (
        "",
        "4.2",
    )
    few = judge(
        evidence(calibration=OFF, saved=UNCLEAR, by_rank=True, skill=interval(0.3, -0.1, 0.7)), task
    )
    assert few.headline.startswith(
        "Too few rows to be sure (4,000). They are too high: they say 62% on average"
    )
    right = judge(evidence(saved=UNCLEAR, by_rank=True), task)
    assert "One more case would gain about 7.5, by the probabilities." in right.next_step
    pays = judge(evidence(calibration=OFF, saved=SAVES), replace(own(COSTS), **limits))
    assert pays.commands == (
        "rainproof.decisions.decide(a.recalibrator.predict(p_new), task, ids, capacity=capacity)",
    )


@for_each(
    "rule, saved, said",
    [
        ("recalibrated", SAVES, "Grade: recalibrate. "),
        ("as is", UNCLEAR, "Grade: recalibrate (for your costs: as"),
    ],
)
def test_the_screen_has_the_grade(rule, saved, said):
    costs = COSTS | ({} if rule == "recalibrated" else {Rule.RECALIBRATED: 0.42})
    found = judge(evidence(calibration=OFF, saved=saved), own(costs))
    assert found.rule == rule
    assert found.basis.startswith(said)


def test_the_screen_says_which_decision_the_skill_is_about():
    for changed, task, where in (
        ({}, None, "at the threshold 57%, the event rate"),
        ({}, own(COSTS), "at your threshold, 20%"),
    ):
        assert f"kill ({where}) " in judge(evidence(**changed), task).basis
    within = SimpleNamespace(
        bound=0.02,
        plug_in=0.01,
        threshold_range=ThresholdRange(0.1, 0.3),
        max_weight=None,
        weighted=False,
    )
    assert judge(evidence(guarantee=within, constant=True)).next_step.endswith(
        "Until then always act."
    )
    assert (
        "at the threshold 30%, of your range the nearest to the event rate"
        in judge(evidence(guarantee=within)).basis
    )


def test_rows_that_may_have_been_chosen_by_outcome_come_first_in_the_next_step():
    found = judge(evidence(calibration=OFF, chosen=True)).rendered_by(SHELL)
    assert found.next_step.startswith(
        "Next: if rows were chosen by outcome (57% have the event), assess them again with"
    )
    assert (
        "(--base-rate): all of this is about 57%. Else apply the map, then act" in found.next_step
    )


@for_each(
    "events, mean, miss, asked",
    [
        (200, 0.5, None, True),  # exactly half
        (201, 0.5, None, False),  # games
        (195, 0.2, None, True),  # predictions of a rarer event
        (195, 0.3, None, False),
        (195, 0.5, 1, False),
        (195, 0.5, 20, True),  # costs of a rarer event
        (100, 0.05, 20, False),  # not nearly half
    ],
)
def test_when_rows_may_have_been_chosen_by_outcome(events, mean, miss, asked):
    y, p = np.arange(400) < events, np.tile([mean * 0.8, mean * 1.2], 200)
    task = miss and rainproof.DecisionTask.from_costs(false_positive=1, false_negative=miss)
    assert _chosen(rainproof.Sample(y, p), task) == asked
    assert not _chosen(rainproof.Sample(y, p, base_rate=0.1), task)
    assert not _chosen(rainproof.Sample(y, p, groups=np.arange(400) // 2), task)
    assert not _chosen(rainproof.Sample(y[::20], p[::20]), task)


def test_segments_that_are_all_on_one_side_are_said_to_be():
    segments = [
        Segment(
            key=(name,),
            n=60,
            share=0.5,
            mean_prediction=said,
            event_rate=0.3,
            value=0.1,
            small=True,
        )
        for name, said in (("a", 0.5), ("b", 0.4))
    ]
    table = SegmentTable(by=("s",), fdr=0.05, min_rows=100, rows=tuple(segments))
    said = in_words(table)
    assert (
        said == "2 segments have too few rows to be tested. In all 2 they say more than happened."
    )
    mixed = replace(table, rows=(segments[0], replace(segments[1], mean_prediction=0.2)))
    assert in_words(mixed) == "2 segments have too few rows to be tested."
    assert str(table).endswith("First come those where a decision can lose most.")
    alike = replace(
        segments[0], mean_prediction=0.31, small=False, p_value=0.001, q_value=0.001, flagged=True
    )
    off = replace(alike, mean_prediction=0.5)
    assert (
        PYTHON.passage(segment_order(replace(table, rows=(off,))))
        == "First come those where a decision can lose most."
    )
    both = replace(table, rows=(alike, off))
    assert PYTHON.passage(segment_order(both)).endswith(
        "about the same, some probabilities are too high and others too low."
    )


def test_rows_that_are_all_treated_alike_do_not_prove_that_there_is_no_skill():
    with pytest.warns(rainproof.FewRowsWarning):
        few = rainproof.assess([0, 1, 1], [0.8, 0.7, 0.9], measures=[])
    assert "skill 0.00 (0.00 to 0.95); 1 is perfect" in few.verdict.reason
    assert PYTHON.text(span(interval(1.0, 1.0, 1.0))) == "no interval: no row is treated wrongly"
    assert PYTHON.text(span(interval(0.5, 0.25, 0.75))) == "0.25 to 0.75"


@pytest.mark.filterwarnings("ignore::rainproof.errors.FewRowsWarning")
@for_each("costs", [None, (1, 1)])
def test_a_forecast_that_finds_the_only_event_is_not_one_to_avoid(costs):
    """Maps that were fitted without this event find it at most by a formula: one event does not
    show skill, nor its absence.
    """
    y, p = np.r_[1, np.zeros(99, int)], np.r_[0.9, np.linspace(0.001, 0.01, 99)]
    task = (
        None
        if costs is None
        else rainproof.DecisionTask.from_costs(false_positive=1, false_negative=1)
    )
    a = rainproof.assess(y, p, task=task, measures=[], n_resamples=19)
    skill = a.evidence.skill
    assert a.verdict.grade == "unknown"
    # 0 of 1: at most 95%
    assert skill.low <= 0
    assert skill.high >= 0.95 - 1e-9
    # whoever acts on these finds nothing, and one event does not show that
    for other in (p / 100, 1 - p):
        assert (
            rainproof.assess(y, other, task=task, measures=[], n_resamples=19).verdict.grade
            != "avoid"
        )


def test_costs_without_the_forecast_are_said_where_they_may_be_less():
    e = evidence(
        calibration=OFF,
        saved=UNCLEAR,
        skill=interval(-0.06, -0.2, 0.1),
        skill_as_is=interval(0.1, -0.1, 0.3),
    )
    said = judge(
        e, own(COSTS | {Rule.RECALIBRATED: 0.4, Rule.NEVER: 0.3}, saved=(-0.1, 0.1))
    ).reason
    assert said.endswith(
        "Without them it is 0.3000 (never acting), which is less by the estimates, but that is "
        "not established."
    )
    unclear = judge(e, own(COSTS | {Rule.RECALIBRATED: 0.4}, saved=(0.005, 0.02))).reason
    assert unclear.endswith(
        "Without them it is 0.4200 (never acting); it is not clear which is less."
    )
    sure = replace(e, skill=interval(0.3, 0.2, 0.4))
    assert (
        "Without them"
        not in judge(sure, own(COSTS | {Rule.RECALIBRATED: 0.4}, saved=(0.005, 0.02))).reason
    )
    as_is = judge(
        evidence(skill_as_is=interval(0.1, -0.1, 0.3)), own(COSTS | {Rule.RECALIBRATED: 0.41})
    ).reason
    assert as_is == (
        "Your cost is 0.410 per case; without them it is 0.420 (never acting); it is not clear "
        "which is less."
    )


def test_savings_of_rounding_alone_choose_no_rule():
    y = np.tile([0, 0, 0, 1, 1], 20)
    task = rainproof.DecisionTask.from_costs(false_positive=1, false_negative=9)
    a = rainproof.assess(y, np.full(100, 0.3), task=task, capacity=0.9, measures=[], n_resamples=19)
    assert a.task.saved[Rule.ALWAYS].value == 0.0
    assert a.verdict.reason == "Your cost is 0.90 per case, acting at random or as they are."


def test_compressed_rows_of_unequal_weight_have_no_grade():
    rng = np.random.default_rng(0)
    p, weight = rng.random(900), rng.choice([1.0, 2.0], 900)
    sample = rainproof.Sample(rng.random(900) < p**2, p, sample_weight=weight).compress()
    task = rainproof.DecisionTask.from_costs(false_positive=1, false_negative=4)
    said = rainproof.assess(sample, task=task, measures=[], n_resamples=19).verdict
    assert said.headline.endswith(
        "No grade: of compressed rows of unequal weight, skill, costs and a map cannot be "
        "estimated."
    )
    assert (
        "262,144, drawn at random, or fewer. Until then act from 20% on. That flags"
        in said.next_step
    )
    limited = rainproof.assess(sample, task=task, capacity=0.1, measures=[], n_resamples=19).verdict
    assert limited.next_step.endswith("or fewer.")
    assert limited.commands == ()


def test_doing_without_a_forecast_is_said_of_the_maps_tried():
    """A map of its own for each of 400 scores would gain; those that are fitted cannot."""
    rng = np.random.default_rng(0)
    score = rng.integers(0, 400, 1500)
    y = rng.random(1500) < np.where(score % 2, 0.9, 0.1)
    said = rainproof.assess(y, (1 + score) / 401, measures=[], n_resamples=19).verdict
    assert said.grade == "avoid"
    assert said.headline.endswith("even recalibrated by the maps tried here.")
    assert said.reason.startswith("Recalibrated by the maps tried, they gain at most")


def test_what_is_not_chance_has_a_p_value_that_says_so():
    off = calibration(rejected=True, p_value=0.17)
    assert (
        "(not chance: p = 0.17)" in judge(evidence(calibration=off, confidence_level=0.8)).headline
    )
