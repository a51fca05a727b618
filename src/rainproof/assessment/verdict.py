"""The verdict: is the forecast useful, is it honest, what would recalibration gain, and what to do next."""

from __future__ import annotations

import math
from html import escape
from typing import ClassVar, Literal

from rainproof.assessment import words
from rainproof.assessment.costs import TaskResult
from rainproof.assessment.segments import SegmentTable
from rainproof.assessment.words import PYTHON, KeyFigure, Statement, Voice
from rainproof.core.result import Result
from rainproof.core.text import html_rows, wrapped
from rainproof.inference.guarantees import Guarantee
from rainproof.inference.proofs import ProvenGain
from rainproof.inference.tests import CalibrationTest
from rainproof.recalibration.certificate import Certificate

Grade = Literal["use", "recalibrate", "avoid", "unknown"]

_COLUMN = 22  # where the answers of the table begin
_USELESS = 0.25  # of what perfect foresight is worth: if no decision can gain more, the forecast is not worth using
_SLIGHT = 0.2  # of the tolerance: recalibration that provably gains no more can wait


class Evidence(Result):
    """What a verdict rests on. Each bound holds at the confidence level, by itself.

    Attributes
    ----------
    n : int
        The number of rows.
    event_rate : float
        The share of rows with the event.
    mean_prediction : float
        The mean of the predictions.
    confidence_level, tolerance : float
        As for `assess`.
    worth, worth_recalibrated : ProvenGain or None
        What the forecast gains over no forecast at some threshold, as it is and recalibrated. None where rows of
        unequal weight are compressed and cannot be divided.
    as_is, rounded : Guarantee
        What no decision loses more than, acting on the probabilities as they are, and rounded at random.
    method : str or None
        The method of recalibration that was chosen.
    certificate : Certificate or None
        What is proven of recalibration.
    ignored : float or None
        No decision loses more than this, in expectation, by ignoring the recalibrated forecast.
    test : CalibrationTest or None
        The test of perfect calibration; None with groups, as it needs independent outcomes.
    p_grouped : float or None
        With groups: a p-value of perfect calibration, whatever the dependence within groups (`grouped_p_value`).
    groups : int or None
        The number of groups, if rows depend on each other.
    brier_score : float
        The Brier score on these rows.
    constant : bool
        Whether all predictions are known to be equal.
    rarer : int or None
        The number of rows with the rarer outcome, where it is rare and rows have no weights.
    auroc : float or None
        The area under the ROC curve on these rows: below 0.5, higher predictions go with fewer events.
    is_reversed : bool
        Whether it is so far below 0.5 that the event, or the forecast, may be the wrong way round.
    """

    n: int
    event_rate: float
    mean_prediction: float
    brier_score: float
    confidence_level: float
    tolerance: float
    worth: ProvenGain | None
    worth_recalibrated: ProvenGain | None
    as_is: Guarantee
    rounded: Guarantee
    method: str | None
    certificate: Certificate | None
    ignored: float | None
    test: CalibrationTest | None
    groups: int | None
    auroc: float | None = None
    is_reversed: bool = False
    p_grouped: float | None = None
    rarer: int | None = None
    constant: bool = False

    @property
    def foresight(self) -> float:
        """What perfect foresight is worth in the decision that gains most by it, as a share of what is at stake."""
        return min(self.event_rate, 1 - self.event_rate)

    @property
    def brier_without(self) -> float:
        """The Brier score of the event rate of the other rows, for each row (of equal weights)."""
        return self.event_rate * (1 - self.event_rate) * (self.n / max(self.n - 1, 1)) ** 2

    @property
    def useful(self) -> bool:
        """Whether the forecast as it is provably gains at some threshold."""
        return self.worth is not None and self.worth.proven

    @property
    def useful_recalibrated(self) -> bool:
        """Whether the recalibrated forecast provably gains at some threshold."""
        return self.worth_recalibrated is not None and self.worth_recalibrated.proven

    @property
    def useless(self) -> bool:
        """Whether no gain is proven, and no decision can gain more than a quarter of what foresight is worth."""
        if self.useful or self.useful_recalibrated or self.ignored is None or self.foresight == 0:
            return False
        return self.ignored <= _USELESS * self.foresight

    @property
    def safe(self) -> bool:
        """Whether no decision loses more than the tolerance by acting on the probabilities as they are."""
        return self.as_is.bound <= self.tolerance

    @property
    def slight(self) -> float:
        """The gain by recalibration that can wait: a fifth of the tolerance, and less for rare events."""
        return _SLIGHT * self.tolerance * 2 * self.foresight

    @property
    def improvable(self) -> bool:
        """Whether recalibration gains more than a little, by the estimate."""
        return self.certificate is not None and self.certificate.gain_estimate > self.slight

    @property
    def improves(self) -> bool:
        """Whether recalibration provably gains, and more than a little by the estimate."""
        return self.certificate is not None and self.improvable and self.certificate.gain_at_least > 0

    @property
    def p_value(self) -> float | None:
        """The p-value of perfect calibration, for rows that are independent or for groups."""
        return self.p_grouped if self.test is None else self.test.p_value

    @property
    def miscalibrated(self) -> bool:
        """Whether the test rejects perfect calibration."""
        if self.test is not None:
            return self.test.rejects(1 - self.confidence_level)
        return self.p_grouped is not None and self.p_grouped <= 1 - self.confidence_level

    @property
    def better_recalibrated(self) -> bool:
        """Whether recalibrated probabilities are the better guess although nothing is proven of them."""
        return self.grade == "unknown" and self.miscalibrated and self.improvable and not (self.useful and self.safe)

    @property
    def grade(self) -> Grade:
        """The verdict in a word.

        The estimate of what recalibration gains says which of "use" and "recalibrate" is possible; bounds say whether
        it is proven. So with the same estimates, weaker bounds lead to "unknown", never from one to the other.
        """
        if self.useless:
            return "avoid"
        if self.improvable:
            return "recalibrate" if self.improves and (self.useful or self.useful_recalibrated) else "unknown"
        return "use" if self.useful and self.safe else "unknown"

    @property
    def rows_needed(self) -> int | None:
        """An estimate of the rows that would prove that the loss is tolerable; None if these rows do not tell.

        It is for a forecast that recalibration does not seem to improve: its loss should vanish, and the bound shrink
        like n to the power -2/3.
        """
        if self.improvable or self.safe:
            return None
        return math.ceil(self.n * math.pow(self.as_is.bound / self.tolerance, 1.5))


class Verdict(Result):
    """The verdict on a forecast in words.

    Attributes
    ----------
    grade : {"use", "recalibrate", "avoid", "unknown"}
        "use": the forecast provably gains at some threshold, and no decision loses more than the tolerance by acting on
        it as it is. "recalibrate": recalibration provably gains. "avoid": no decision can gain much by it, even
        recalibrated. "unknown": these rows prove none of that.
    headline : str
        The verdict in a sentence.
    reason : str
        Why, in a sentence.
    next_step : str
        What to do now.
    commands : tuple of str
        The code, or the command lines, that do it; empty if there are none.
    answers : tuple of KeyFigure
        Is it useful, what does miscalibration cost, what would recalibration gain, what does it cost you.
    sentences : tuple of Statement
        The details, in the order of reading.
    """

    _also: ClassVar = ("text",)
    _shown: ClassVar = ("grade", "headline")

    grade: Grade
    headline: str
    reason: str
    next_step: str
    commands: tuple[str, ...]
    answers: tuple[KeyFigure, ...]
    sentences: tuple[Statement, ...]

    @property
    def text(self) -> str:
        """Headline, reason, next step and answers."""
        return "\n".join([wrapped(self.headline), self.body()])

    def __str__(self) -> str:
        return self.text

    def body(self) -> str:
        """What follows the headline: the reason, the next step and the table of answers."""
        code = [f"    {command}" for command in self.commands]
        return "\n".join([wrapped(self.reason), wrapped(self.next_step), *code, "", self.table()])

    def table(self) -> str:
        """The answers as lines of a table."""
        return "\n".join(wrapped(str(answer), answer.question, _COLUMN) for answer in self.answers)

    @property
    def details(self) -> str:
        """The details, as paragraphs."""
        return "\n".join(wrapped(s.text) for s in self.sentences)

    def _repr_html_(self) -> str:
        code = f"<pre>{escape(chr(10).join(self.commands))}</pre>" if self.commands else ""
        answers = html_rows([], [(a.question, a.value, a.meaning) for a in self.answers])
        return (
            f"<p><b>{escape(self.headline)}</b> {escape(self.reason)}</p><p>{escape(self.next_step)}</p>{code}"
            f"<table>{answers}</table>"
        )


def judge(
    e: Evidence,
    task: TaskResult | None = None,
    segments: SegmentTable | None = None,
    notes: tuple[str, ...] = (),
    voice: Voice = PYTHON,
) -> Verdict:
    """Return the verdict that the evidence allows, in the words of Python or of a shell; `notes` are warnings."""
    return Verdict(
        grade=e.grade,
        headline=words.headline(e),
        reason=words.reason(e),
        next_step=words.next_step(e, task, voice),
        commands=words.commands(e, task, voice),
        answers=tuple(words.answers(e, task)),
        sentences=tuple(words.details(e, task, segments, notes, voice)),
    )
