"""The verdict on a forecast: what to do, why, and from which probability on to act."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import field, replace
from typing import Any, ClassVar, Self, cast

from rainproof.core.result import Result, result_class
from rainproof.core.text import aligned, html_rows, wrapped
from rainproof.verdict import ladders
from rainproof.verdict.costs import Rule, TaskResult
from rainproof.verdict.details import Answer, answers, details, notes, table
from rainproof.verdict.evidence import Evidence, RangeCosts, Savings, standard_error
from rainproof.verdict.facts import EventFacts
from rainproof.verdict.grades import Findings, Grade, grade
from rainproof.verdict.renderer import PYTHON, Renderer, Sentence
from rainproof.verdict.segments import SegmentTable
from rainproof.verdict.statements import About, Statement, Step, say

_FIRST = ("headline", "reason", "next", "basis")
_ASIDES = ("segments", "note")


@result_class
class KeyFigure(Result):
    """The answer to one of the questions that people come with.

    Attributes
    ----------
    about : {"calibration", "skill", "cost", "loss"}
        The question.
    question : str
        In words.
    value : str
        The answer, or the number with its unit.
    meaning : str
        What the number is of.
    """

    about: About
    question: str
    value: str
    meaning: str

    def __str__(self) -> str:
        return f"{self.value}, {self.meaning}"


@result_class
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

    _also: ClassVar = (
        "headline",
        "reason",
        "next_step",
        "commands",
        "table",
        "basis",
        "answers",
        "sentences",
        "text",
    )
    _shown: ClassVar = ("grade", "headline")

    grade: Grade
    rule: Rule | None
    threshold: float | None
    _statements: tuple[Statement, ...] = ()
    _steps: tuple[Step, ...] = ()
    _cells: tuple[tuple[Any, ...], ...] = ()
    _answers: tuple[Answer, ...] = ()
    # In whose words this copy is; the verdict itself is data.
    _renderer: Renderer = field(default=PYTHON, compare=False)

    def rendered_by(self, renderer: Renderer) -> Self:
        """Return the verdict in other words: those of a shell, say."""
        return replace(self, _renderer=renderer)

    @property
    def statements(self) -> tuple[Statement, ...]:
        """What is stated, as keys and values."""
        return self._statements

    @property
    def steps(self) -> tuple[Step, ...]:
        """What to do now, as far as there is code for it."""
        return self._steps

    def about(self, about: str) -> list[Statement]:
        """Return what is stated about something: the "headline", the "reason" and so on."""
        return [statement for statement in self._statements if statement.about == about]

    def _told(self, about: str) -> str:
        return self._renderer.passage(self.about(about))

    @property
    def headline(self) -> str:
        """The verdict and whether the forecast is honest, in a sentence or two."""
        return self._told("headline")

    @property
    def reason(self) -> str:
        """What it costs or gains."""
        return self._told("reason")

    @property
    def next_step(self) -> str:
        """What to do now."""
        return self._told("next")

    @property
    def basis(self) -> str:
        """What the numbers rest on."""
        return self._told("basis")

    @property
    def commands(self) -> tuple[str, ...]:
        """The code, or the command lines, that do it; empty if there are none."""
        return self._renderer.commands(self._steps)

    @property
    def table(self) -> tuple[tuple[str, ...], ...]:
        """The numbers, with a column for each way of acting; the first row has their names."""
        return self._renderer.table(self._cells)

    @property
    def answers(self) -> tuple[KeyFigure, ...]:
        """Is it calibrated, has it skill, what does it cost you, what can any decision lose."""
        text = self._renderer.text
        return tuple(
            KeyFigure(
                about=cast("About", answer.about),
                question=text(say(f"question {answer.about}")),
                value=text(answer.value),
                meaning=text(answer.meaning),
            )
            for answer in self._answers
        )

    @property
    def sentences(self) -> tuple[Sentence, ...]:
        """The details, in the order of reading."""
        return self._renderer.sentences(s for s in self._statements if s.about not in _FIRST)

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
        table = aligned(self.table, left=1) if self._cells else []
        lines = [wrapped(self.reason), wrapped(self.next_step), *code]
        return "\n".join([*lines, "", *table, wrapped(self.basis)])

    @property
    def asides(self) -> tuple[str, ...]:
        """The sentences that no reader should miss: which segments are off, and reasons to read
        this with care.
        """
        return tuple(s.text for s in self.sentences if s.about in _ASIDES)

    @property
    def details(self) -> str:
        """The details, as paragraphs."""
        return "\n".join(wrapped(s.text) for s in self.sentences)

    def _repr_html_(self) -> str:
        shown = self.rendered_by(self._renderer.as_html())
        code = table = ""
        if shown.commands:
            code = f"<pre>{chr(10).join(shown.commands)}</pre>"
        if shown.table:
            head, *body = shown.table
            table = f"<table>{html_rows(head, body)}</table>"
        asides = "".join(f"<p>{text}</p>" for text in (shown.basis, *shown.asides))
        headline = f"<p><b>{shown.headline}</b> {shown.reason}</p>"
        return f"{headline}<p>{shown.next_step}</p>{code}{table}{asides}"


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
    warnings: Iterable[str] = (),
) -> Verdict:
    """Return the verdict that the evidence allows."""
    rule = advised(e, task)
    facts = EventFacts(e, task, rule)
    threshold = None
    if task is not None and task.capacity is None and rule in ladders.ON_FORECAST:
        threshold = facts.profile.threshold
    return Verdict(
        grade=e.grade,
        rule=rule,
        threshold=threshold,
        _statements=(*first_screen(facts), *details(facts, segments), *notes(warnings)),
        _steps=ladders.steps(facts),
        _cells=table(facts),
        _answers=tuple(answers(facts)),
    )


def first_screen(facts: ladders.Judged) -> list[Statement]:
    """Headline, reason, next step and basis."""
    found = ladders.headline(facts) + ladders.reason(facts)
    return found + ladders.next_step(facts) + ladders.basis(facts)
