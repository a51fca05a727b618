"""The words follow from the evidence: what a test, a bound or an interval does not carry is not said."""

from __future__ import annotations

import itertools

import pytest

import brolly
from brolly.assessment.text import chance
from brolly.assessment.verdict import Evidence, Sentence, about_segments, about_task, judge

EVIDENCE = {
    "n": 4000,
    "confidence_level": 0.95,
    "tolerance": 0.05,
    "grid": 16,
    "loss": 0.04,
    "at_least": 0.02,
    "bound": 0.08,
    "bound_grid": 32,
    "slack": 0.03,
    "p_value": 0.3,
    "chance_value": 0.012,
    "one_class": False,
    "whom": "a decision with threshold 0.5",
}


def verdict(*more, **changed):
    return judge(Evidence(**{**EVIDENCE, **changed}), more)


def said(found, about):
    return " ".join(s.text for s in found.sentences if s.about == about)


@pytest.mark.parametrize(
    ("bound", "at_least", "p_value", "grade", "headline"),
    [
        (
            0.05,
            0.0,
            0.3,
            "trust",
            "You can act on these probabilities, rounded to multiples of 1/32: for every decision.",
        ),
        (
            0.04,
            0.01,
            0.01,
            "trust",
            "You can act on these probabilities, rounded to multiples of 1/32: not perfect, but good enough for every "
            "decision.",
        ),
        (
            0.051,
            0.0,
            0.3,
            "unknown",
            "Nothing speaks against these probabilities yet, but these rows are too few to promise much.",
        ),
        # A large lower end that the test does not back is chance.
        (
            0.3,
            0.2,
            0.051,
            "unknown",
            "Nothing speaks against these probabilities yet, but these rows are too few to promise much.",
        ),
        (0.3, 0.05, 0.05, "care", "Act on these probabilities with care: they are off by more than chance explains."),
        (0.3, 0.051, 0.05, "distrust", "Do not act on these probabilities as they are."),
        (1.0, 0.051, 0.001, "distrust", "Do not act on these probabilities as they are."),
        (
            1.0,
            0.0,
            1.0,
            "unknown",
            "Nothing speaks against these probabilities yet, but these rows are too few to promise much.",
        ),
    ],
)
def test_the_grade_follows_from_bound_interval_and_test(bound, at_least, p_value, grade, headline):
    found = verdict(bound=bound, at_least=at_least, p_value=p_value)
    assert (found.grade, found.headline) == (grade, headline)


def test_no_word_is_stronger_than_the_evidence():
    """Over all outcomes of test, bound and interval: each claim appears only where what it needs is there."""
    values = itertools.product((0.001, 0.05, 0.0501, 0.8), (0.01, 0.05, 0.2, 1.0), (0.0, 0.01, 0.2), (0.02, 0.05, 0.4))
    for p_value, bound, low, tolerance in values:
        found = verdict(p_value=p_value, bound=bound, at_least=low, tolerance=tolerance)
        text = " ".join([found.headline, *(s.text for s in found.sentences)])
        off = p_value <= 0.05
        assert ("You can act" in text) == (bound <= tolerance)
        assert ("Do not act" in text) == (off and low > tolerance and bound > tolerance)
        assert ("do not match" in text) == off
        assert ("does not prove" in text) == (not off)
        assert ("loses at least" in text) == (off and low > 0)
        assert ("perhaps by chance" in text) == (not off)
        assert ("promise nothing" in text) == (bound >= 1)
        assert ("no decision on new rows like these" in text) == (bound < 1)
        assert "What is not known yet" in text


def test_the_whole_verdict():
    found = verdict(bound=0.1234, at_least=0.0618, p_value=0.001)
    assert str(found) == (
        "Do not act on these probabilities as they are.\n"
        "\n"
        "The probabilities do not match what happened: if they did, as large a mismatch\n"
        "as on these rows would come by chance with a probability of 0.001 at most.\n"
        "Round each probability at random to a neighbouring multiple of 1/32, and act on\n"
        "the rounded value: then, with 95% confidence, no decision on new rows like\n"
        "these, whatever its costs, loses more than 12.4% of what is at stake per case\n"
        "(best minus worst outcome), compared with the best change of actions in\n"
        "hindsight.\n"
        "On these rows, rounded to 1/16, the worst decision gave up 4%; on new rows\n"
        "somebody loses at least 6.17%, with 95% confidence.\n"
        "Largest loss: a decision with threshold 0.5.\n"
        "What is not known yet: on 4,000 rows a perfectly calibrated forecast shows an\n"
        "SCDL of up to 0.012 by chance, so smaller errors cannot be seen; of the 12.4%\n"
        "promised, 3% are there because the rows are few."
    )


def test_nobody_is_hurt():
    found = verdict(whom=None)
    assert not said(found, "who")
    assert said(verdict(), "who").startswith("Largest loss on these rows, perhaps by chance: a decision")


def test_one_class_is_said_instead_of_what_is_unknown():
    assert said(verdict(one_class=True), "unknown") == (
        "All outcomes on these 4,000 rows are the same: how the probabilities fare otherwise is not known."
    )


def test_nothing_promised_has_no_slack_to_speak_of():
    assert said(verdict(bound=1.0), "unknown").endswith("so smaller errors cannot be seen.")


def test_what_else_was_found_comes_before_what_is_unknown_and_notes_come_last():
    note, task = Sentence(about="note", text="Note: x."), Sentence(about="task", text="y")
    found = verdict(note, task)
    assert [s.about for s in found.sentences] == ["trust", "precision", "cost", "who", "task", "unknown", "note"]


def test_the_dict_and_the_html_say_the_same():
    found = verdict(whom="<b>those</b>")
    shown = found.to_dict()
    assert shown["text"] == str(found)
    assert [s["text"] for s in shown["sentences"]] == [s.text for s in found.sentences]
    assert "&lt;b&gt;those" in found._repr_html_()
    assert found.headline in found._repr_html_()


TASK = brolly.DecisionTask.from_costs(false_positive=35, false_negative=65)


@pytest.mark.parametrize(
    ("advice", "off", "text"),
    [
        ((), True, "Your decision: no change of actions would have saved anything on these rows."),
        (("Do b.",), True, "Your decision gave up 2.5% of 65 at stake on these rows. Do b."),
        (("Do b.",), False, "Your decision gave up 2.5% of 65 at stake on these rows. Do b. Perhaps by chance."),
    ],
)
def test_the_users_own_decision(advice, off, text):
    assert about_task(TASK, 0.025, advice, off=off).text == text


@pytest.mark.parametrize(
    ("total", "flagged", "small", "text"),
    [
        (3, (), 0, "Of 3 segments judged none is off by more than chance explains."),
        (3, (), 1, "Of 2 segments judged none is off by more than chance explains. 1 more is too small to be judged."),
        (3, ("a",), 0, "Of 3 segments judged 1 is off by more than chance explains: a."),
        (
            9,
            tuple("abcdef"),
            2,
            "Of 7 segments judged 6 are off by more than chance explains: a, b, c, d, e and 1 more. 2 more are too "
            "small to be judged.",
        ),
        (2, (), 2, "No segment is large enough to be judged (2)."),
    ],
)
def test_segments_in_a_sentence(total, flagged, small, text):
    assert about_segments(total, flagged, small).text == text


def test_p_values_are_rounded_up():
    assert chance(0.01) == "0.01"
    assert chance(0.0121) == "0.013"
    assert chance(1.0) == "1"
