"""The verdict follows from the evidence: what a bound does not support is not said."""

from __future__ import annotations

import itertools
from dataclasses import replace
from types import SimpleNamespace

import pytest

import rainproof
from rainproof.assessment import words as text
from rainproof.assessment.costs import Rule, TaskResult
from rainproof.assessment.segments import Segment, SegmentTable
from rainproof.assessment.verdict import Evidence, judge
from rainproof.core.result import Interval
from rainproof.core.text import at_most
from rainproof.inference.proofs import ProvenGain
from rainproof.recalibration.certificate import Certificate


def worth(share, threshold=0.3):
    return ProvenGain(
        relative_at_least=share,
        relative_threshold=threshold if share else None,
        gain_at_least=share / 10,
        gain_threshold=threshold if share else None,
        confidence_level=0.95,
    )


def certificate(gain, harm=0.01, estimate=None):
    return Certificate(
        harm_bound=harm,
        gain_at_least=gain,
        gain_estimate=gain + 0.001 * (gain > 0) if estimate is None else estimate,
        harm=0.0,
        gain=gain,
        loss_bound=0.02,
        confidence_level=0.95,
        n=1000,
        groups=None,
        grid=None,
    )


def evidence(**changed):
    p_value = changed.pop("p_value", 0.3)
    bound, rounded = changed.pop("bound", 0.02), changed.pop("rounded", 0.03)
    return Evidence(
        **{
            "n": 4000,
            "event_rate": 0.3,
            "mean_prediction": 0.312345,
            "brier_score": 0.15,
            "confidence_level": 0.95,
            "tolerance": 0.05,
            "worth": worth(0.4),
            "worth_recalibrated": worth(0.45),
            "as_is": SimpleNamespace(bound=bound, plug_in=bound / 2),
            "rounded": SimpleNamespace(bound=rounded, grid=32),
            "method": "logistic",
            "certificate": certificate(0.0),
            "ignored": 0.2,
            "test": SimpleNamespace(p_value=p_value, rejects=lambda alpha: p_value <= alpha + 1e-12),
            "groups": None,
            **changed,
        }
    )


YOURS = "probability of at least false-alarm cost / (false-alarm + miss cost)."
SIMPLE = "your threshold (false-alarm cost / (false-alarm + miss cost))"
USEFUL = (worth(0.4), worth(0.45))
USELESS = (worth(0.0), worth(0.0))
ONLY_RECALIBRATED = (worth(0.0), worth(0.3))


@pytest.mark.parametrize(
    ("worths", "bound", "gain", "estimate", "ignored", "grade"),
    [
        (USEFUL, 0.05, 0.0, 0.0, 0.2, "use"),
        (USEFUL, 0.05, 0.0, -0.1, 0.2, "use"),
        (USEFUL, 0.05, 0.006, 0.006, 0.2, "use"),  # up to a fifth of the tolerance, times twice the event rate
        (USEFUL, 0.05, 0.0, 0.0061, 0.2, "unknown"),  # seems to gain more, but no gain is proven
        (USEFUL, 0.001, 0.0, 0.0061, 0.2, "unknown"),
        (USEFUL, 0.05, 0.0001, 0.0061, 0.2, "recalibrate"),
        (USEFUL, 0.001, 0.0001, 0.0061, 0.2, "recalibrate"),
        (USEFUL, 0.051, 0.0, 0.0, 0.2, "unknown"),
        (USEFUL, 0.4, 0.1, 0.2, 0.2, "recalibrate"),
        (ONLY_RECALIBRATED, 0.01, 0.1, 0.2, 0.2, "recalibrate"),
        (ONLY_RECALIBRATED, 0.01, 0.0, 0.0, 0.01, "unknown"),
        (USELESS, 0.01, 0.0, 0.0, 0.075, "avoid"),
        (USELESS, 0.01, 0.3, 0.4, 0.075, "avoid"),  # a better constant is no reason to use it
        (USELESS, 0.01, 0.0, 0.0, 0.076, "unknown"),
        (USELESS, 0.01, 0.3, 0.4, 0.076, "unknown"),
        (USELESS, 0.01, 0.0, 0.0, None, "unknown"),
        ((None, None), 0.01, 0.1, 0.1, 0.01, "avoid"),
    ],
)
def test_the_grade_follows_from_the_bounds(worths, bound, gain, estimate, ignored, grade):
    found = evidence(
        worth=worths[0],
        worth_recalibrated=worths[1],
        bound=bound,
        certificate=certificate(gain, estimate=estimate),
        ignored=ignored,
    )
    assert found.grade == grade


def test_less_evidence_never_turns_recalibrate_into_use_nor_back():
    """Over all pairs of bounds with the same estimates, the second no stronger than the first in anything."""
    shares, bounds, gains, ignored = (0.0, 0.1, 0.4), (0.001, 0.02, 0.05, 0.051, 0.3), (0.0, 0.004, 0.02), (0.05, 0.3)
    for estimate in (-0.01, 0.0, 0.005, 0.0061, 0.03):
        possible = [gain for gain in gains if gain <= max(estimate, 0.0)]  # a bound is below its estimate
        all_bounds = list(itertools.product(shares, shares, bounds, possible, ignored))
        grades = {
            one: evidence(
                worth=worth(one[0]),
                worth_recalibrated=worth(one[1]),
                bound=one[2],
                certificate=certificate(one[3], estimate=estimate),
                ignored=one[4],
            ).grade
            for one in all_bounds
        }
        for strong, weak in itertools.product(all_bounds, repeat=2):
            lower, upper = (0, 1, 3), (2, 4)
            if all(weak[i] <= strong[i] for i in lower) and all(weak[i] >= strong[i] for i in upper):
                assert {grades[strong], grades[weak]} != {"use", "recalibrate"}
                assert grades[weak] not in ("use", "recalibrate") or grades[strong] == grades[weak]


def test_a_slight_gain_is_smaller_for_rare_events():
    rare = {"event_rate": 0.01, "certificate": certificate(0.0003)}
    assert evidence(**rare).grade == "recalibrate"
    assert evidence(**rare | {"certificate": certificate(0.0001, estimate=0.0002)}).grade == "use"


def test_one_class_has_no_verdict():
    found = judge(evidence(event_rate=1.0, worth=worth(0.0), worth_recalibrated=None, certificate=None, ignored=None))
    assert found.grade == "unknown"
    assert "All outcomes on these 4,000 rows are the same" in found.reason
    assert "both outcomes" in found.next_step


def test_no_sentence_claims_more_than_the_evidence():
    """Over all outcomes of the bounds: each claim appears only where what it needs is there."""
    values = itertools.product(
        (0.01, 0.05, 0.2, 1.0), (None, 0.0, 0.4), (None, 0.0, 0.4), (0.0, 0.002, 0.2), (0.01, 0.3), (0.01, 0.5)
    )
    for bound, share, recalibrated, gain, ignored, p_value in values:
        e = evidence(
            bound=bound,
            worth=None if share is None else worth(share),
            worth_recalibrated=None if recalibrated is None else worth(recalibrated),
            certificate=None if share is None else certificate(gain),
            ignored=ignored,
            p_value=p_value,
        )
        found = judge(e)
        words = " ".join(
            [found.headline, found.reason, found.next_step, *(s.text for s in found.sentences)]
            + [f"{a.value} {a.meaning}" for a in found.answers]
        )
        assert ("Use these probabilities" in words) == (found.grade == "use")
        assert found.grade != "use" or (bound <= 0.05 and share)
        assert found.grade != "recalibrate" or (gain > 0 and (share or recalibrated))
        assert found.grade != "avoid" or (not share and not recalibrated and ignored == 0.01)
        assert ("in some decision" in words) == (bool(gain) and share is not None)
        assert ("this forecast gains at least" in words) == bool(share)
        assert ("proven useful at" in words) == (found.grade == "unknown" and bool(share) and bound > 0.05)
        assert ("guarantee nothing" in words) == (bound >= 1)
        assert ("test rejects" in words) == (p_value <= 0.05)
        assert "hindsight" not in words  # nothing is promised against hindsight on new rows
        assert "holds with 95% confidence by itself" in words


def test_the_whole_verdict():
    found = judge(evidence(certificate=certificate(0.04225, harm=0.0034), worth=worth(0.4012, 0.12), bound=0.0987))
    assert str(found) == (
        "Recalibrate these probabilities before you use them.\n"
        "Acting on the recalibrated probabilities gains about 4.3% of what is at stake in\n"
        "some decision (estimate). With 95% confidence, it gains at least 4.22% in some\n"
        "decision and loses at most 0.34% in any.\n"
        "Next: apply the map (logistic), as below, and act on cases with a recalibrated\n"
        "probability of at least false-alarm cost / (false-alarm + miss cost).\n"
        "    a.recalibrator.predict(p)\n"
        "\n"
        "Is it useful?         at least 40.1% of perfect foresight's gain over no\n"
        "                      forecast, where it helps most (threshold of about 12%).\n"
        "Miscalibration costs  at most 9.87% of what is at stake, compared with the best\n"
        "                      correction that keeps the ranking. Mean prediction 31.2%,\n"
        "                      event rate 30%.\n"
        "Recalibration gains   about 4.3% of what is at stake in some decision (estimate;\n"
        "                      at least 4.22% proven); none loses over 0.34% (logistic)."
    )


def test_until_there_are_more_rows_recalibrated_probabilities_are_the_better_guess_if_the_test_rejects():
    off = {"bound": 0.2, "certificate": certificate(0.0, estimate=0.0312), "p_value": 0.01}
    found = judge(evidence(**off))
    assert found.grade == "unknown"
    assert found.headline == "Miscalibrated probabilities, and too few rows for a verdict."
    assert found.next_step == (
        "Next: until there is more data, recalibrate (logistic, as below), and act on cases with a recalibrated "
        f"{YOURS} That is the better guess, with an estimated gain of 3.1% of what is at stake. A verdict needs more "
        "rows; these do not tell how many."
    )
    assert found.commands == ("a.recalibrator.predict(p)",)
    for calm in ({"p_value": 0.3}, {"test": None}, {"certificate": certificate(0.0, estimate=0.0)}, {"bound": 0.02}):
        other = judge(evidence(**{**off, **calm}))
        assert "better guess" not in other.next_step
        assert other.commands == ()
    grouped = judge(evidence(**{**off, "test": None, "groups": 90, "p_grouped": 0.01}))
    assert "better guess" in grouped.next_step
    assert "(p = 0.01, whatever the dependence within groups)" in grouped.details.replace("\n", " ")
    turned = judge(evidence(**off, is_reversed=True, auroc=0.2))
    assert "check which outcome" in turned.next_step
    assert turned.commands == ()


def test_the_costs_are_a_fourth_answer():
    task = own_costs((3, 0.5), (2, 0.5), (3, 0.5), (3, 0.5))
    found = judge(evidence(), task)
    assert [a.about for a in found.answers] == ["worth", "loss", "recalibration", "cost"]
    assert found.answers[3].value == "3 per case"
    assert found.answers[3].meaning == (
        "as it is (2.5 to 3.5); recalibrated 2 (1.5 to 2.5); always acting 3, never 3. False alarm 1, miss 9."
    )
    least = "acting on the recalibrated probabilities costs least, 2 per case (an estimate)."
    assert found.next_step == f"Next, for your costs: {least}"
    (said,) = (s.text for s in found.sentences if s.about == "cost")
    assert "cost per case on 4,000 rows" in said
    assert "measured on 1,000 rows that they were not fitted to" in said
    assert "best single cut-off" not in said


def test_ones_own_costs_answer_whether_it_is_useful():
    for always, words in (
        ((2, 0.2), "As it is, always acting costs you less."),
        ((2.8, 0.2), "For your costs, always acting may cost no more."),
        ((5, 0.2), "For your costs, always acting costs more."),
    ):
        for e in (evidence(), evidence(worth=worth(0.0))):
            assert judge(e, own_costs((3, 0.2), (2, 0.2), always, (9, 0.2))).answers[0].meaning.endswith(f". {words}")


def test_recalibration_is_not_needed_where_the_forecast_can_be_used():
    found = judge(evidence(certificate=certificate(0.0, estimate=0.0012)))
    assert found.grade == "use"
    gains = found.answers[2]
    assert gains.value == "not needed"
    assert gains.meaning == "no decision gains more than about 0.12% of what is at stake (logistic, estimate)."


def own_costs(as_is, recalibrated, always, never):
    """The user's decision with a threshold of 0.1, by the mean and half the interval of each cost."""
    rules = (Rule.AS_IS, Rule.RECALIBRATED, Rule.ALWAYS, Rule.NEVER)
    given = dict(zip(rules, (as_is, recalibrated, always, never), strict=True))
    costs = {rule: between(x, h) for rule, (x, h) in given.items()}
    saved = {rule: between(as_is[0] - x, as_is[1] + h) for rule, (x, h) in given.items() if rule is not Rule.AS_IS}
    task = rainproof.DecisionTask.from_costs(false_positive=1, false_negative=9)
    return TaskResult(
        task=task,
        regret=None,
        rounded=None,
        grid=8,
        costs=costs,
        saved=saved,
        saved_over_simple=between(min(always[0], never[0]) - recalibrated[0], 0.8),
        n=4000,
        n_held_out=1000,
    )


def between(value, half):
    return Interval(value=value, low=value - half, high=value + half, confidence_level=0.95)


ACT = "Next: act on cases with a probability of at least 0.1 (false-alarm cost / (false-alarm + miss cost))."
BETTER = "Recalibrated, they would cost you a little less: 2 instead of 3 per case (an estimate)."
GAINS = "costs least, 3 per case: the forecast gains you nothing (an estimate)."


@pytest.mark.parametrize(
    ("costs", "step"),
    [
        (((3, 0.2), (3.1, 0.2), (5, 0.2), (9, 0.2)), ACT),
        (((3, 0.2), (2.9, 0.2), (5, 0.2), (9, 0.2)), ACT),  # by chance
        (((3, 0.2), (2, 0.2), (5, 0.2), (9, 0.2)), f"{ACT} {BETTER}"),
        (((4, 0.2), (3.5, 0.2), (3, 0.2), (9, 0.2)), f"Next, for your costs: always acting {GAINS}"),
        (((4, 0.2), (3.5, 0.2), (5, 0.2), (3, 0.2)), f"Next, for your costs: never acting {GAINS}"),
        (
            ((4, 2), (2, 2), (3, 0.2), (9, 0.2)),
            "Next, for your costs: acting on the recalibrated probabilities costs least, 2 per case (an estimate).",
        ),
    ],
)
def test_the_next_step_of_a_forecast_to_use_does_not_contradict_the_verdict(costs, step):
    found = judge(evidence(), own_costs(*costs))
    assert found.headline == "Use these probabilities as they are."
    assert found.next_step == step


FROM_MAP = ", and act on cases with a recalibrated probability of at least 0.1. "
FROM = ", and act on cases with a probability of at least 0.1. "


def test_a_useful_and_safe_forecast_can_be_used_until_there_are_more_rows():
    e = evidence(certificate=certificate(0.0, estimate=0.026))
    found = judge(e, own_costs((3, 0.2), (2.9, 0.2), (5, 0.2), (9, 0.2)))
    assert found.grade == "unknown"
    assert found.headline == "These rows do not tell whether to recalibrate these probabilities first."
    assert found.next_step == (
        f"Next: until there is more data, use the probabilities as they are{FROM}For your costs that costs 3 per case, "
        "recalibrated 2.9 (estimates that do not tell which is less). A verdict needs more rows; these do not tell how "
        "many."
    )
    assert judge(e).next_step == (
        f"Next: until there is more data, use the probabilities as they are, and act on cases with a {YOURS} With 95% "
        f"confidence that loses at most {at_most(e.as_is.bound)} of what is at stake in any decision. A verdict needs "
        "more rows; these do not tell how many."
    )
    unsafe = judge(evidence(bound=0.2, certificate=certificate(0.0, estimate=0.026)))
    assert unsafe.headline == "Too few rows for a verdict."
    assert "proven useful at a threshold of about 30%; elsewhere that is a guess." in unsafe.next_step


UNPROVEN = {"bound": 0.2, "worth": worth(0.0), "worth_recalibrated": worth(0.0), "certificate": certificate(0.0)}


@pytest.mark.parametrize(
    ("changed", "costs", "words"),
    [
        (
            {},
            ((4, 0.2), (3.5, 0.2), (3, 0.2), (9, 0.2)),
            "always act, whatever the probability. Your cost per case: always acting 3, as it is 4. That saves 0.6 to "
            "1.4 over as it is (approximate, for these costs; a verdict must hold for all). A verdict",
        ),
        (
            {},
            ((4, 0.2), (3.5, 0.4), (9, 0.2), (3.9, 0.2)),
            "never act, whatever the probability. Your cost per case: never acting 3.9, as it is 4. That saves -0.3 to "
            "0.5 over as it is (approximate), so perhaps nothing. A verdict",
        ),
        (
            {"p_value": 0.01},
            ((4, 0.2), (2, 0.2), (3, 0.2), (9, 0.2)),
            f"recalibrate (logistic, as below){FROM_MAP}Your cost per case: recalibrated 2, always acting 3, as it is "
            "4. That saves 1.6 to 2.4 over as it is (approximate, for these costs; a verdict must hold for all). A "
            "verdict",
        ),
        (
            {},
            ((2, 0.2), (2.5, 0.2), (3, 0.2), (9, 0.2)),
            f"use the probabilities as they are{FROM}For your costs that costs least, 2 per case (an estimate). A",
        ),
    ],
)
def test_until_there_is_more_data_ones_own_costs_decide(changed, costs, words):
    found = judge(evidence(**{**UNPROVEN, **changed}), own_costs(*costs))
    assert found.grade == "unknown"
    assert words in found.next_step
    assert bool(found.commands) == ("recalibrate " in words)


def test_a_safe_forecast_gives_way_to_a_rule_that_clearly_costs_less():
    e = evidence(certificate=certificate(0.0, estimate=0.026))
    assert "always act," in judge(e, own_costs((4, 0.2), (4, 0.2), (3, 0.2), (9, 0.2))).next_step
    assert "as they are, and act" in judge(e, own_costs((4, 0.2), (4, 0.2), (3.9, 0.2), (9, 0.2))).next_step


def test_where_recalibration_gains_ones_own_costs_can_say_otherwise():
    e = evidence(certificate=certificate(0.02))
    assert e.grade == "recalibrate"
    better, worse = own_costs((4, 0.2), (2, 0.2), (3, 0.2), (9, 0.2)), own_costs((4, 0.2), (3, 0.2), (2, 0.2), (9, 0.2))
    assert judge(e, better).next_step == (
        f"Next: apply the map (logistic), as below{FROM_MAP}Your cost per case: recalibrated 2, always acting 3, as it "
        "is 4. That saves 1.6 to 2.4 over as it is (approximate)."
    )
    close = judge(e, own_costs((4, 0.2), (2, 0.2), (2.7, 0.2), (9, 0.2))).next_step
    assert close.endswith(
        "always acting 2.7, as it is 4. That saves 1.6 to 2.4 over as it is (approximate). Recalibrated "
        "is not proven cheaper than always acting."
    )
    assert judge(e, worse).next_step == (
        "Next: apply the map (logistic), as below. For your costs always acting costs least, 2 per case: the forecast "
        "gains you nothing (an estimate)."
    )


def test_without_a_forecast_two_rules_are_left():
    e = evidence(worth=worth(0.0), worth_recalibrated=worth(0.0), ignored=0.01)
    assert e.grade == "avoid"
    rule = f"always act if {SIMPLE} is below 30% (the event rate), otherwise never."
    assert judge(e).next_step == f"Next: use another forecast. Without one, {rule}"
    step = judge(e, own_costs((3, 0.2), (2, 0.2), (5, 0.2), (4, 0.2))).next_step
    rules = "never acting costs 4 per case, always acting 5 (estimates)."
    assert step.endswith(f"otherwise never. For your costs {rules}")
    assert judge(replace(e, constant=True)).reason.startswith(
        "Every prediction is 0.312. With 95% confidence, ignoring"
    )
    gains = judge(e).answers[2]
    assert (gains.value, gains.meaning) == ("at most 1% over no forecast", "of what is at stake in any decision.")


def test_more_rows_are_asked_for_where_nothing_is_proven():
    found = judge(evidence(bound=0.2, certificate=certificate(0.0)))
    assert found.grade == "unknown"
    assert found.reason == "4,000 rows do not prove that acting on them loses at most 5% of what is at stake."
    needs = "A verdict needs about 32,000 rows in all (an estimate; there are 4,000)."  # 4,000 (0.2 / 0.05)^1.5
    assert found.next_step.endswith(needs)
    useless = judge(evidence(bound=0.2, worth=worth(0.0), groups=80))
    assert useless.reason.endswith(
        "do not prove that these probabilities gain over no forecast at any threshold or that acting on them loses at "
        "most 5% of what is at stake."
    )
    assert useless.next_step.startswith(
        "Next: get more data. A verdict needs more than 32,000 rows in 640 groups in all (an estimate; there are 4,000 "
        "in 80). Until then "
    )
    nothing = judge(evidence(bound=0.01, worth=worth(0.0), worth_recalibrated=worth(0.3)))
    assert nothing.reason == "4,000 rows do not prove that these probabilities gain over no forecast at any threshold."
    assert nothing.next_step == (
        "Next: get more data. A verdict needs more rows; these do not tell how many. Until then use the probabilities "
        f"as they are, and act on cases with a {YOURS} That is a guess: on these rows they come closer to the outcomes "
        "than the event rate of the other rows does (Brier score 0.15 against 0.21)."
    )
    far = judge(evidence(bound=0.01, worth=worth(0.0), worth_recalibrated=worth(0.3), brier_score=0.211, groups=9))
    simple = f"always act if {SIMPLE} is below 30% (the event rate), otherwise never"
    assert f"decide without these probabilities: {simple}. That is a guess" in far.next_step
    assert "come no closer to the outcomes" in far.next_step
    assert "A verdict needs more rows, in new groups; these do not tell how many." in far.next_step


@pytest.mark.parametrize(
    ("rate", "one", "many"),
    [(0.005, "event", "events"), (0.995, "case without the event", "cases without the event")],
)
def test_of_a_rare_outcome_the_number_is_said(rate, one, many):
    found = judge(evidence(event_rate=rate, rarer=20, bound=0.01, worth=worth(0.0)))
    assert found.headline == f"Too few {many} (20) for a verdict."
    assert found.reason.startswith(f"4,000 rows with only 20 {many} do not prove that")
    assert f"A verdict needs more {many}; these do not tell how many." in found.next_step
    off = judge(evidence(event_rate=rate, rarer=1, bound=0.01, worth=worth(0.0), p_value=0.01))
    assert off.headline == f"Miscalibrated probabilities, and too few {many} (1) for a verdict."
    assert off.reason.startswith(f"4,000 rows with only 1 {one} do not prove that")


def test_more_rows_where_recalibration_seems_to_gain():
    found = judge(evidence(bound=0.2, certificate=certificate(0.0, estimate=0.026)))
    assert found.reason == (
        "4,000 rows do not prove that recalibration gains, although it seems to (about 2.6% of what is at stake)."
    )
    assert found.next_step.endswith("A verdict needs more rows; these do not tell how many.")
    proven = judge(evidence(worth=worth(0.0), worth_recalibrated=worth(0.0), certificate=certificate(0.01)))
    assert proven.reason == "4,000 rows do not prove that these probabilities gain over no forecast at any threshold."
    assert "A verdict needs more rows; these do not tell how many." in proven.next_step


def test_groups_are_said():
    found = judge(evidence(groups=37, test=None))
    assert "the 37 groups of rows" in found.sentences[-1].text
    assert not [s for s in found.sentences if s.about == "test"]


def test_segments_come_before_the_limits_and_warnings_last():
    found = judge(evidence(), None, table(3, (), 0), ("few rows",))
    about = [s.about for s in found.sentences]
    assert about == ["worth", "loss", "rounded", "recalibration", "test", "segments", "limits", "note"]
    assert found.sentences[-1].text == "Note: few rows."
    assert found.details.count("\n") > len(about)


def test_the_dict_and_the_html_say_the_same():
    found = judge(evidence(method="<b>"))
    shown = found.to_dict()
    assert shown["text"] == str(found)
    assert [s["text"] for s in shown["sentences"]] == [s.text for s in found.sentences]
    assert [a["value"] for a in shown["answers"]] == [a.value for a in found.answers]
    assert "&lt;b&gt;" in found._repr_html_()
    assert found.headline in found._repr_html_()
    assert "<pre>" not in found._repr_html_()
    better = judge(evidence(certificate=certificate(0.02)))
    assert better.to_dict()["commands"] == ["a.recalibrator.predict(p)"]
    assert "<pre>a.recalibrator.predict(p)</pre>" in better._repr_html_()


def test_without_a_map_nothing_changes():
    found = judge(evidence(method="none", certificate=certificate(0.0, harm=0.0)))
    assert found.answers[2].value == "no change"


def table(total, flagged, small):
    names = [f"s{k}" for k in range(total)]
    names[: len(flagged)] = flagged
    rows = tuple(
        Segment(
            key=(name,), n=9, share=0.1, event_rate=0.5, value=0.1, small=k >= total - small, flagged=name in flagged
        )
        for k, name in enumerate(names)
    )
    return SegmentTable(by=("s",), fdr=0.05, interval_level=None, min_rows=10, pooled_value=0.0, rows=rows)


@pytest.mark.parametrize(
    ("total", "flagged", "small", "words"),
    [
        (3, (), 0, "Of 3 segments tested, none is miscalibrated beyond chance."),
        (
            3,
            (),
            1,
            "Of 2 segments tested, none is miscalibrated beyond chance. 1 segment has too few rows to be tested.",
        ),
        (1, ("a",), 0, "Of 1 segment tested, 1 is miscalibrated beyond chance (false discovery rate 5%): a. {MAPS}"),
        (
            9,
            tuple("abcde"),
            2,
            "Of 7 segments tested, 5 are miscalibrated beyond chance (false discovery rate 5%): a, b, c and 2 more. "
            "2 segments have too few rows to be tested. {MAPS}",
        ),
        (2, (), 2, "2 segments have too few rows to be tested."),
    ],
)
def test_segments_in_a_sentence(total, flagged, small, words):
    for voice, maps in ((text.PYTHON, "Recalibrator().fit(p, y, by=...)"), (text.SHELL, "rainproof recalibrate --by")):
        said = words.replace("{MAPS}", f"Try a map for each: {maps}.")
        assert text.segments(table(total, flagged, small), voice) == said
        grouped = said.replace("rate 5%", "rate 5% for independent rows")
        assert text.segments(table(total, flagged, small), voice, groups=True) == grouped


def test_a_verdict_for_the_shell_names_options_and_command_lines():
    shell = text.SHELL._replace(recalibrate=("rainproof recalibrate rows.csv",))
    better = evidence(certificate=certificate(0.02))
    assert judge(better, voice=shell).commands == ("rainproof recalibrate rows.csv",)
    assert replace(judge(better, voice=shell), commands=judge(better).commands) == judge(better)
    turned = evidence(is_reversed=True, auroc=0.2)
    assert judge(turned).next_step.endswith("(pos_label)?")
    assert judge(turned, voice=shell).next_step.endswith("(--pos-label)?")
    assert judge(turned, voice=shell).commands == ()


def test_p_values_are_rounded_up():
    assert [text.p_value(p) for p in (0.01, 0.0121, 1.0)] == ["0.01", "0.013", "1"]
