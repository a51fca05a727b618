"""The ladder of grades: which findings lead to which grade."""

from __future__ import annotations

from itertools import product
from typing import get_args

from rainproof.verdict.grades import GRADES, Findings, Grade, grade

CALM = Findings(
    decidable=True,
    useless=False,
    useful=True,
    rejected=False,
    better=False,
    negligible=False,
    costs_more=False,
    harmless=False,
)
EVERY = [Findings(*values) for values in product((False, True), repeat=len(Findings._fields))]


def test_each_rung_of_the_ladder():
    """The first that applies: each finding that leads away from a grade is tried by itself."""
    off = CALM._replace(rejected=True, better=True)
    cases = {
        "one outcome": (CALM._replace(decidable=False, useless=True), "unknown"),
        "useless": (off._replace(useless=True), "avoid"),
        "calibrated": (CALM, "use"),
        "off": (off, "recalibrate"),
        "off, without skill": (off._replace(useful=False), "recalibrate"),
        "off, but no better": (off._replace(better=False), "unknown"),
        "off, but negligible": (off._replace(negligible=True), "unknown"),
        "off, but harmless": (off._replace(negligible=True, harmless=True), "use"),
        "off, but it costs more": (off._replace(costs_more=True), "use"),
        "no skill": (CALM._replace(useful=False), "unknown"),
        "no skill, and it costs more": (off._replace(useful=False, costs_more=True), "unknown"),
    }
    assert {name: grade(findings) for name, (findings, _) in cases.items()} == {
        name: expected for name, (_, expected) in cases.items()
    }


def test_no_grade_is_better_than_its_findings():
    for findings in EVERY:
        found = grade(findings)
        assert findings.useful or found != "use"
        assert (findings.rejected and not findings.negligible) or found != "recalibrate"
        assert findings.useless or found != "avoid"


def test_every_grade_can_be_reached_and_shown():
    assert {grade(findings) for findings in EVERY} == set(GRADES) == set(get_args(Grade))
    icons = {info.icon for info in GRADES.values()}
    assert len(icons) == len(GRADES)  # told apart without colours
