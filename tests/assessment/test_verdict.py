"""The sentences follow from the evidence: what a test, a bound or an interval does not support is not said."""

from __future__ import annotations

import itertools

import pytest

import brolly
from brolly.assessment import text
from brolly.assessment.segments import Segment, SegmentTable
from brolly.assessment.verdict import Evidence, Sentence, judge

EVIDENCE = {
    "n": 4000,
    "confidence_level": 0.95,
    "tolerance": 0.05,
    "grid": 32,
    "bound": 0.08,
    "slack": 0.03,
    "at_least": 0.02,
    "at_least_thresholds": (0.2,),
    "shown_grid": 16,
    "loss": 0.04,
    "loss_low": 0.03125,
    "loss_high": 0.0555,
    "worst_thresholds": (0.5,),
    "p_value": 0.3,
    "chance_value": 0.012,
    "one_class": False,
}


def verdict(*more, **changed):
    return judge(Evidence(**{**EVIDENCE, **changed}), more)


def said(found, about):
    return " ".join(s.text for s in found.sentences if s.about == about)


CAN = "You can act on these probabilities, rounded to multiples of 1/32"
SLIGHTLY = "they are miscalibrated, but the expected loss is small for every decision"
CARE = "Act on these probabilities with care: they are miscalibrated beyond chance."
DO_NOT = "Do not act on these probabilities as they are."
TOO_FEW = "No sign of miscalibration, but these rows are too few for a useful guarantee."


@pytest.mark.parametrize(
    ("bound", "at_least", "p_value", "grade", "headline"),
    [
        (0.05, 0.0, 0.3, "trust", f"{CAN}."),
        (
            0.04,
            0.01,
            0.01,
            "trust",
            f"{CAN}: they are miscalibrated, but the expected loss is small for every decision.",
        ),
        (0.051, 0.0, 0.3, "unknown", TOO_FEW),
        (0.3, 0.05, 0.05, "care", CARE),
        (0.3, None, 0.05, "care", CARE),
        (0.3, 0.051, 0.05, "distrust", DO_NOT),
        (0.3, 0.051, 0.3, "distrust", DO_NOT),  # a proof needs no test
        (1.0, 0.051, 0.001, "distrust", DO_NOT),
        (1.0, 0.0, 1.0, "unknown", TOO_FEW),
    ],
)
def test_the_grade_follows_from_the_bounds_and_the_test(bound, at_least, p_value, grade, headline):
    found = verdict(bound=bound, at_least=at_least, p_value=p_value)
    assert (found.grade, found.headline) == (grade, headline)


def test_no_sentence_claims_more_than_the_evidence():
    """Over all outcomes of test and bounds: each claim appears only where what it needs is there."""
    values = itertools.product(
        (0.001, 0.05, 0.0501, 0.8), (0.01, 0.05, 0.2, 1.0), (None, 0.0, 0.01, 0.2), (0.02, 0.05, 0.4)
    )
    for p_value, bound, low, tolerance in values:
        found = verdict(p_value=p_value, bound=bound, at_least=low, tolerance=tolerance)
        words = " ".join([found.headline, *(s.text for s in found.sentences)])
        rejected = p_value <= 0.05
        assert ("You can act" in words) == (bound <= tolerance)
        assert ("Do not act" in words) == (bool(low) and low > tolerance and bound > tolerance)
        assert ("test rejects" in words) == rejected
        assert ("does not prove that the probabilities" in words) == (not rejected)
        assert ("loses at least" in words) == bool(low)
        assert ("do not prove that anybody loses" in words) == (low == 0)
        assert ("perhaps by chance" in words) == (not rejected)
        assert ("guarantee nothing" in words) == (bound >= 1)
        assert ("the expected loss of every decision" in words) == (bound < 1)
        assert "hindsight" not in words  # nothing is promised against hindsight on new rows
        assert "by itself, not all of them together" in words


def test_the_whole_verdict():
    found = verdict(bound=0.1234, at_least=0.0618, p_value=0.001)
    assert str(found) == (
        "Do not act on these probabilities as they are.\n"
        "\n"
        "The test rejects perfect calibration (p = 0.001): if the probabilities were\n"
        "right, chance would produce a mismatch as large as on these rows with\n"
        "probability 0.001 at most.\n"
        "Round each probability at random to a neighbouring multiple of 1/32, and act on\n"
        "the rounded value: then, with 95% confidence, the expected loss of every\n"
        "decision, whatever its costs, is at most 12.4% of what is at stake per case\n"
        "(best minus worst outcome), compared with the best fixed change of actions\n"
        "('where I would do this, do that'). This is an average over the population that\n"
        "these rows came from; chance comes on top in any batch of new rows.\n"
        "On these rows, rounded to 1/16, the largest loss of any decision is 4% of what\n"
        "is at stake; for the population the estimate is 3.12% to 5.55% (95% interval by\n"
        "inversion of a test, not a proof). With 95% confidence, somebody who acts on the\n"
        "probabilities as they are loses at least 6.17% in expectation: a decision with\n"
        "threshold 0.2 (a miss costs 4 times a false alarm).\n"
        "Largest loss on these rows: a decision with threshold 0.5 (a false alarm costs\n"
        "as much as a miss).\n"
        "On 4,000 rows a perfectly calibrated forecast shows an SCDL of up to 0.012 by\n"
        "chance, so smaller errors cannot be detected; of the 12.4% guaranteed, 3% allow\n"
        "for chance. Each statement holds with 95% confidence by itself, not all of them\n"
        "together."
    )


def test_no_decision_loses():
    assert not said(verdict(worst_thresholds=()), "decision")
    assert said(verdict(), "decision").startswith("Largest loss on these rows, perhaps by chance: a decision")


def test_one_class_is_said_instead_of_what_chance_shows():
    assert said(verdict(one_class=True), "limits").startswith(
        "All outcomes on these 4,000 rows are the same: nothing is known about the other outcome."
    )


def test_without_a_guarantee_there_is_no_allowance_for_chance():
    assert "so smaller errors cannot be detected. Each statement" in said(verdict(bound=1.0), "limits")


def test_what_else_was_found_comes_before_the_limits():
    found = verdict(Sentence(about="task", text="y"))
    assert [s.about for s in found.sentences] == ["calibration", "guarantee", "loss", "decision", "task", "limits"]


def test_the_dict_and_the_html_say_the_same():
    found = verdict(Sentence(about="note", text="<b>n</b>"))
    shown = found.to_dict()
    assert shown["text"] == str(found)
    assert [s["text"] for s in shown["sentences"]] == [s.text for s in found.sentences]
    assert "&lt;b&gt;n" in found._repr_html_()
    assert found.headline in found._repr_html_()


TASK = brolly.DecisionTask.from_costs(false_positive=35, false_negative=65)


def test_the_users_own_decision():
    regret = brolly.swap_regret([1, 1, 1, 0], [0.2, 0.2, 0.2, 0.2], task=TASK)
    expected = (
        "Your decision lost 61.6% of the 65 at stake on these rows, compared with the best fixed change of actions "
        "('where I would do this, do that'). Replace 'wait' by 'act': saves 61.54% of what is at stake, on 4 rows."
    )
    assert text.own_decision(regret, rejected=True) == expected
    assert text.own_decision(regret, rejected=False) == f"{expected} Chance may explain it."
    none = brolly.swap_regret([0, 1], [0.1, 0.9], task=TASK)
    assert text.own_decision(none, rejected=True) == (
        "Your decision: no fixed change of actions would have saved anything on these rows."
    )


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
        (1, ("a",), 0, "Of 1 segment tested, 1 is miscalibrated beyond chance (false discovery rate 5%): a."),
        (
            9,
            tuple("abcde"),
            2,
            "Of 7 segments tested, 5 are miscalibrated beyond chance (false discovery rate 5%): a, b, c and 2 more. "
            "2 segments have too few rows to be tested.",
        ),
        (2, (), 2, "2 segments have too few rows to be tested."),
    ],
)
def test_segments_in_a_sentence(total, flagged, small, words):
    assert text.segments(table(total, flagged, small)) == words


def test_p_values_are_rounded_up():
    assert [text.p_value(p) for p in (0.01, 0.0121, 1.0)] == ["0.01", "0.013", "1"]
