"""The verdict on a forecast: what to do, why, and from which probability on to act."""

from __future__ import annotations

from dataclasses import dataclass
from html import escape
from typing import ClassVar

from rainproof.core.result import Result
from rainproof.core.text import aligned, html_rows, wrapped
from rainproof.verdict import words
from rainproof.verdict.costs import Rule, TaskResult
from rainproof.verdict.evidence import Evidence, RangeCosts, Savings, standard_error
from rainproof.verdict.grades import Findings, Grade, grade
from rainproof.verdict.segments import SegmentTable
from rainproof.verdict.words import PYTHON, KeyFigure, Statement, Voice


@dataclass(frozen=True, kw_only=True, slots=True, eq=False, repr=False)
class Verdict(Result):
    """The verdict on a forecast.

    Attributes
    ----------
    grade : {"use", "recalibrate", "avoid", "unknown"}
        "avoid": a constant, or surely next to no skill. "recalibrate": the test rejects
        calibration, and recalibrated probabilities are better. "use": skill is shown, and
        calibration is not rejected, or correcting it gains nothing. "unknown": rows are too few for
        any of these.
    rule : Rule or None
        The way of acting that is advised: "as is", "recalibrated", "always" or "never". None if it
        depends on costs that are not given.
    threshold : float or None
        The probability from which on to act, if the decision has one; compared with the
        recalibrated probability where the rule is "recalibrated".
    headline : str
        The verdict and whether the forecast is honest, in a sentence or two.
    reason : str
        What it costs or gains.
    next_step : str
        What to do now.
    commands : tuple of str
        The code, or the command lines, that do it; empty if there are none.
    table : tuple of tuple of str
        The numbers, with a column for each way of acting; the first row has their names. Empty for
        a constant without costs.
    basis : str
        What the numbers rest on.
    answers : tuple of KeyFigure
        Is it calibrated, has it skill, what does it cost you, what can any decision lose.
    sentences : tuple of Statement
        The details, in the order of reading.
    """

    _also: ClassVar = ("text",)
    _shown: ClassVar = ("grade", "headline")

    grade: Grade
    rule: Rule | None
    threshold: float | None
    headline: str
    reason: str
    next_step: str
    commands: tuple[str, ...]
    table: tuple[tuple[str, ...], ...]
    basis: str
    answers: tuple[KeyFigure, ...]
    sentences: tuple[Statement, ...]

    @property
    def text(self) -> str:
        """Headline, reason, next step, table and basis; then segments and notes."""
        asides = ["", *map(wrapped, self.asides)] if self.asides else []
        return "\n".join([wrapped(self.headline), self.body(), *asides])

    def __str__(self) -> str:
        return self.text

    def body(self) -> str:
        """What follows the headline."""
        code = [f"    {command}" for command in self.commands]
        said = [wrapped(self.reason), wrapped(self.next_step), *code]
        table = [*aligned(self.table, left=1)] if self.table else []
        return "\n".join([*said, "", *table, wrapped(self.basis)])

    @property
    def asides(self) -> tuple[str, ...]:
        """The sentences that no reader should miss: which segments are off, and reasons to read
        this with care.
        """
        return tuple(s.text for s in self.sentences if s.about in ("segments", "note"))

    @property
    def details(self) -> str:
        """The details, as paragraphs."""
        return "\n".join(wrapped(s.text) for s in self.sentences)

    def _repr_html_(self) -> str:
        code = f"<pre>{escape(chr(10).join(self.commands))}</pre>" if self.commands else ""
        table = f"<table>{html_rows(self.table[0], self.table[1:])}</table>" if self.table else ""
        return (
            f"<p><b>{escape(self.headline)}</b> {escape(self.reason)}</p><p>{escape(self.next_step)}</p>{code}{table}"
            + "".join(f"<p>{escape(text)}</p>" for text in (self.basis, *self.asides))
        )


def advised(e: Evidence, task: TaskResult | None) -> Rule | None:
    """The way of acting that the evidence speaks for."""
    known: Savings | None = e.range_costs if task is None else task
    without = _without(e, known)
    if e.rarer == 0:
        return without
    negative = e.within is not None and e.skill is not None and e.skill.value < 0
    if task is None and e.grade == "recalibrate":
        # The costs of a range are means over its decisions; the map is advised for the one that
        # gains most.
        return Rule.RECALIBRATED
    return advised_rule(e.findings, known, without, negative=negative)


def advised_rule(
    findings: Findings, known: Savings | None, without: Rule | None, *, negative: bool = False
) -> Rule | None:
    """The way of acting that findings and costs speak for; `without` is the rule to follow without
    a forecast.

    A map is never advised that costs more in the user's decision, by the estimate, than the
    original forecast, or that has a `negative` skill in the range of thresholds. Where no skill is
    shown, always or never acting is advised if it is estimated to cost less than the original and
    the map, by more than the standard error of both differences.
    """
    found = grade(findings)
    if found == "avoid":
        return without
    unclear = found == "unknown"
    if unclear and not findings.useful and known is not None and surpasses(known, without):
        return without
    saves = 0.0
    if known is not None and Rule.RECALIBRATED in known.saved:
        saves = known.saved[Rule.RECALIBRATED].value
    if found == "recalibrate" and saves >= 0:
        return Rule.RECALIBRATED
    if unclear and saves > 0:
        return without if negative else Rule.RECALIBRATED
    return Rule.AS_IS


def _without(e: Evidence, known: Savings | None) -> Rule | None:
    """The rule to follow without a forecast; None where it depends on costs that are not given."""
    if known is None:
        return None
    within = e.within if isinstance(known, RangeCosts) else None
    if within is not None and within.low < e.calibration.event_rate < within.high:
        return None  # always below the event rate, never above it
    return known.simplest


def surpasses(known: Savings, without: Rule | None) -> bool:
    """Whether a rule without a forecast costs less than every use of the forecast, by more than a
    standard error.
    """
    if without is None:
        return False
    over = [known.saved, known.saved_recalibrated]
    saved = [savings[without] for savings in over if without in savings]
    return bool(saved) and all(one.value > standard_error(one) for one in saved)


def judge(
    e: Evidence,
    task: TaskResult | None = None,
    segments: SegmentTable | None = None,
    notes: tuple[str, ...] = (),
    voice: Voice = PYTHON,
) -> Verdict:
    """Return the verdict that the evidence allows, in the words of Python or of a shell; `notes`
    are warnings.
    """
    rule = advised(e, task)
    threshold = None
    if task is not None and task.capacity is None and rule in (Rule.AS_IS, Rule.RECALIBRATED):
        threshold = task.task.thresholds[0] if len(task.task.thresholds) == 1 else None
    return Verdict(
        grade=e.grade,
        rule=rule,
        threshold=threshold,
        headline=words.headline(e, task),
        reason=words.reason(e, task, rule),
        next_step=words.next_step(e, task, rule, voice),
        commands=words.commands(e, task, rule, voice),
        table=tuple(map(tuple, words.table(e, task))),
        basis=words.basis(e, task, rule, voice),
        answers=tuple(words.answers(e, task, rule)),
        sentences=tuple(words.details(e, task, segments, notes, voice)),
    )
