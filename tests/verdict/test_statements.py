"""Statements and their words: every key has a template, every place a value, every profile an
end.
"""

from __future__ import annotations

import ast
from pathlib import Path
from types import SimpleNamespace

from helpers.cases import for_each

import rainproof
from rainproof.decisions.profiles import TaskProfile
from rainproof.verdict.evidence import Rule
from rainproof.verdict.facts import NOTHING, EventFacts
from rainproof.verdict.renderer import PYTHON, SHELL
from rainproof.verdict.statements import PLACE, Statement, say
from rainproof.verdict.templates import OPTIONS, TEMPLATES
from rainproof.verdict.values import Count, Listing, Name, Option, Share

SOURCE = Path(rainproof.__file__).parent
PROFILES = [
    TaskProfile(threshold=0.2, actions=2, ranked=True),
    TaskProfile(per_case=True, actions=2),
    TaskProfile(threshold=0.2, per_case=True, actions=2),
    TaskProfile(actions=3, fixed=True),
    TaskProfile(actions=1),
    TaskProfile(),
]


def texts_in_code():
    """Every text in the modules that choose statements."""
    for folder in ("verdict", "report", "cli"):
        for path in (SOURCE / folder).glob("*.py"):
            if path.name != "templates.py":
                for node in ast.walk(ast.parse(path.read_text("utf-8"))):
                    if isinstance(node, ast.Constant) and isinstance(node.value, str):
                        yield node.value


def test_every_template_is_used():
    """By its whole key, or by the word that such keys begin with: "doing", "mismatch", "status"."""
    ways = {f"{form} {rule}" for form in ("head", "doing", "way") for rule in (*Rule, "at random")}
    used = ways | set(texts_in_code())
    begun = {text for text in used if text.endswith(" ")}
    idle = []
    for key in TEMPLATES:
        own = key.removesuffix(", classes").removesuffix("_like")
        if own not in used and not any(own.startswith(text) for text in begun):
            idle.append(key)
    by_unit = {"too_few_rows", "too_few_groups", "until_more_rows", "until_more_groups"}
    by_name = {"always_act", "never_act", "wait", "act"}
    by_time = {f"{when} {which}" for when in ("after", "if") for which in ("none", "some", "still")}
    assert set(idle) - by_unit - by_name - by_time - {f"{key}, classes" for key in by_unit} == set()


def test_every_key_that_is_stated_has_a_template():
    for path in (SOURCE / "verdict").glob("*.py"):
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            if isinstance(node, ast.Call) and node.args:
                name = getattr(node.func, "id", getattr(node.func, "attr", ""))
                key = node.args[0]
                if name in ("say", "state") and isinstance(key, ast.Constant):
                    assert key.value in TEMPLATES, path.name


def test_no_template_formats_and_every_place_can_be_read():
    for key, template in TEMPLATES.items():
        singular, plural = (template, template) if isinstance(template, str) else template
        for text in (singular, plural):
            rest = PLACE.sub("", text)
            assert "{" not in rest, key
            assert "}" not in rest, key
    assert set(OPTIONS["python"]) == set(OPTIONS["shell"])


@for_each("profile", PROFILES)
@for_each("rule", [*Rule, None])
def test_there_is_a_template_for_every_profile(profile, rule):
    """What to do, where skill is measured, and what is said of a forecast to avoid."""
    facts = EventFacts.__new__(EventFacts)
    facts.__dict__ |= {
        "task": SimpleNamespace(one_more={}, acted={rule: 0.1}, costs={}),
        "profile": profile,
        "rule": rule,
        "within": None,
        "capacity": None,
        "calibration": SimpleNamespace(event_rate=0.3, rejected=False),
    }
    assert set(facts.act) <= set(TEMPLATES)
    for limits in ({}, {rule: 2.0}):
        facts.capacity = 0.1
        facts.task.one_more = limits
        assert set(facts.act) <= set(TEMPLATES)


def test_a_statement_is_rendered_in_both_voices_and_as_html():
    statement = say(
        "losses",
        in_decisions=NOTHING,
        level=Share(0.95),
        held_out=NOTHING,
    )
    assert PYTHON.text(statement) == SHELL.text(statement)
    option = Statement("other_event", "", {"pos_label": Option("other_event")})
    assert PYTHON.text(option).endswith("(pos_label)?")
    assert SHELL.text(option).endswith("(--pos-label)?")
    named = say("of_forecast", name=Name("<b>\u202e"), verdict=Name("x"))
    assert PYTHON.as_html().text(named) == "&lt;b&gt;\\u202e: x"


def test_plurals_are_pairs_and_parts_begin_as_they_are_told_to():
    rows = [PYTHON.text(say("rows", count=Count(n))) for n in (1, 2, 12345, 2.5e6)]
    assert rows == ["1 row", "2 rows", "12,345 rows", "2,500,000 rows"]
    off = say("still_off", mismatch=Name("too high"), p=Name("p = 0.01"))
    text = PYTHON.text(say("is_still_off", still_off=off))
    assert text == "They are too high (not chance: p = 0.01)."
    inner = Listing([say("use_them"), say("do_without")], " ")
    said = PYTHON.text(say("for_decisions", range=Name("x"), verdict=inner))
    assert said == "For decisions x: use them. Do without them."


def test_a_verdict_is_data():
    found = rainproof.assess([0, 1] * 50, [0.1, 0.3] * 50, measures=[], n_resamples=99)
    verdict = found.verdict
    assert [statement.key for statement in verdict.about("headline")] == [
        "recalibrate_first",
        "is_off",
    ]
    off = verdict.about("headline")[1].values["off"]
    assert off.values["p"].value == found.calibration.p_value
    assert [step.action for step in verdict.steps] == ["recalibrate"]
    assert {statement.about for statement in verdict.statements} >= {"reason", "next", "basis"}
