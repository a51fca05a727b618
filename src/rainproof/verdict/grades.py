"""The grades of a verdict, and the ladder that leads to one.

A new grade is a member of `Grade`, a line of `GRADES` and a rung of `grade`. Nothing heavy is
imported here: options of the command name the grades before anything is computed.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal, NamedTuple

Grade = Literal["use", "recalibrate", "avoid", "unknown"]


class GradeInfo(NamedTuple):
    """How a grade is shown: in words as well as in colours."""

    badge: str
    icon: str
    colour: str  # on a terminal


GRADES: Mapping[Grade, GradeInfo] = {
    "use": GradeInfo("Use", "✓", "green"),
    "recalibrate": GradeInfo("Recalibrate", "!", "yellow"),
    "avoid": GradeInfo("Avoid", "✗", "red"),
    "unknown": GradeInfo("Not sure yet", "?", "bold"),
}


class Findings(NamedTuple):
    """What a grade rests on, of one event and of several classes alike.

    Attributes
    ----------
    decidable : bool
        Whether there is anything to tell apart: more than one outcome.
    useless : bool
        Whether the forecast is a constant, or surely has next to no skill.
    useful : bool
        Whether skill is shown.
    rejected : bool
        Whether the test rejects calibration.
    better : bool
        Whether recalibrated probabilities are better.
    negligible : bool
        Whether recalibration surely gains next to nothing in any decision.
    costs_more : bool
        Whether recalibration surely saves nothing in the user's own decision.
    harmless : bool
        Whether no decision loses more than is acceptable, and recalibration is not known to help.
    """

    decidable: bool
    useless: bool
    useful: bool
    rejected: bool
    better: bool
    negligible: bool
    costs_more: bool
    harmless: bool


def grade(findings: Findings) -> Grade:
    """The verdict in a word: the first that applies of avoid, recalibrate, use, unknown."""
    if not findings.decidable:
        return "unknown"
    if findings.useless:
        return "avoid"
    pays = findings.better and not findings.negligible and not findings.costs_more
    if findings.rejected and pays:
        return "recalibrate"
    may_stay = not findings.rejected or findings.harmless or findings.costs_more
    if findings.useful and may_stay:
        return "use"
    return "unknown"
