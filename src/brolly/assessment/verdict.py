"""The verdict: what may be said of a forecast, and nothing that the evidence does not carry."""

from __future__ import annotations

from dataclasses import dataclass
from html import escape
from typing import Any, Literal

from brolly.assessment.text import HINDSIGHT, STAKES, chance, wrapped
from brolly.core.text import at_least, at_most, rows
from brolly.decisions.task import DecisionTask

Grade = Literal["trust", "care", "distrust", "unknown"]
About = Literal["trust", "cost", "precision", "who", "task", "segments", "unknown", "note"]


@dataclass(frozen=True, kw_only=True, slots=True)
class Evidence:
    """All that a verdict is made of.

    Attributes
    ----------
    n : int
        The number of rows.
    confidence_level : float
        At which bound, interval and test speak.
    tolerance : float
        The share of the stakes that may be lost before it matters.
    grid : int
        The grid of which `loss` is the loss.
    loss : float
        What the worst decision gave up on these rows, acting on predictions rounded to ``1/grid``.
    at_least : float
        What somebody loses at least on new rows, at this confidence; 0 if nothing is sure.
    bound, bound_grid : float, int
        What nobody loses more than on new rows, acting on predictions rounded to ``1/bound_grid``.
    slack : float
        How much of the bound is there because the rows are few.
    p_value : float
        Of perfect calibration.
    chance_value : float
        The SCDL that a perfectly calibrated forecast stays below with this confidence.
    one_class : bool
        Whether all outcomes are the same.
    whom : str or None
        The decision with the largest loss, in words; None if no decision loses anything.
    """

    n: int
    confidence_level: float
    tolerance: float
    grid: int
    loss: float
    at_least: float
    bound: float
    bound_grid: int
    slack: float
    p_value: float
    chance_value: float
    one_class: bool
    whom: str | None

    @property
    def off(self) -> bool:
        """Whether the test tells the forecast from a perfectly calibrated one."""
        return self.p_value <= 1 - self.confidence_level + 1e-12  # 1 - 0.95 is a last bit above 0.05

    @property
    def grade(self) -> Grade:
        """What may be said in a word: a promise or a warning only where new rows are bound to keep it."""
        if self.bound <= self.tolerance:
            return "trust"
        if self.off and self.at_least > self.tolerance:
            return "distrust"
        return "care" if self.off else "unknown"


@dataclass(frozen=True, kw_only=True, slots=True)
class Sentence:
    """One sentence of a verdict, and what it is about."""

    about: About
    text: str


@dataclass(frozen=True, kw_only=True, slots=True)
class Verdict:
    """What is to be said of a forecast, in words.

    Attributes
    ----------
    grade : {"trust", "care", "distrust", "unknown"}
        In a word: nobody can lose more than is tolerated; it is off by more than chance, how much it costs
        is not sure; somebody surely loses more than is tolerated; too few rows to tell.
    headline : str
        In a sentence.
    sentences : tuple of Sentence
        The reasons, in the order of reading.
    """

    grade: Grade
    headline: str
    sentences: tuple[Sentence, ...]

    def to_dict(self) -> dict[str, Any]:
        """All of it in built-in types, ready for JSON."""
        return {
            "grade": self.grade,
            "headline": self.headline,
            "sentences": [{"about": s.about, "text": s.text} for s in self.sentences],
            "text": str(self),
        }

    def __str__(self) -> str:
        return "\n".join([wrapped(self.headline), "", *(wrapped(s.text) for s in self.sentences)])

    def _repr_html_(self) -> str:
        points = "".join(f"<li>{escape(s.text)}</li>" for s in self.sentences)
        return f"<p><b>{escape(self.headline)}</b></p><ul>{points}</ul>"


def judge(evidence: Evidence, more: tuple[Sentence, ...] = ()) -> Verdict:
    """The verdict that the evidence carries; `more` is what else was found, said before what is unknown."""
    sentences = [
        Sentence(about="trust", text=_tested(evidence)),
        Sentence(about="precision", text=_promised(evidence)),
        Sentence(about="cost", text=_found(evidence)),
        *([] if evidence.whom is None else [Sentence(about="who", text=_hurt(evidence))]),
        *(s for s in more if s.about != "note"),
        Sentence(about="unknown", text=_unknown(evidence)),
        *(s for s in more if s.about == "note"),
    ]
    return Verdict(grade=evidence.grade, headline=_headline(evidence), sentences=tuple(sentences))


def _headline(e: Evidence) -> str:
    if e.grade == "trust":
        rounded = f"You can act on these probabilities, rounded to multiples of 1/{e.bound_grid}"
        return f"{rounded}: {'not perfect, but good enough for every decision' * e.off or 'for every decision'}."
    if e.grade == "distrust":
        return "Do not act on these probabilities as they are."
    if e.grade == "care":
        return "Act on these probabilities with care: they are off by more than chance explains."
    return "Nothing speaks against these probabilities yet, but these rows are too few to promise much."


def _tested(e: Evidence) -> str:
    share = chance(e.p_value)
    if e.off:
        return (
            "The probabilities do not match what happened: if they did, as large a mismatch as on these rows would "
            f"come by chance with a probability of {share} at most."
        )
    return (
        "What happened agrees with the probabilities as far as these rows can tell: as large a mismatch comes by "
        f"chance with a probability of {share} even if they are right. That does not prove that they are."
    )


def _promised(e: Evidence) -> str:
    level = f"{100 * e.confidence_level:.4g}%"
    if e.bound >= 1:
        return f"With {level} confidence these rows promise nothing: somebody may lose all that is at stake."
    return (
        f"Round each probability at random to a neighbouring multiple of 1/{e.bound_grid}, and act on the rounded "
        f"value: then, with {level} confidence, no decision on new rows like these, whatever its costs, loses more "
        f"than {at_most(e.bound)} of {STAKES}, {HINDSIGHT}."
    )


def _found(e: Evidence) -> str:
    found = f"On these rows, rounded to 1/{e.grid}, the worst decision gave up {at_most(e.loss)}"
    if e.off and e.at_least > 0:
        level = f"{100 * e.confidence_level:.4g}%"
        return f"{found}; on new rows somebody loses at least {at_least(e.at_least)}, with {level} confidence."
    return f"{found}; how much of that is chance is not known."


def _hurt(e: Evidence) -> str:
    return f"Largest loss{'' if e.off else ' on these rows, perhaps by chance'}: {e.whom}."


def _unknown(e: Evidence) -> str:
    if e.one_class:
        return f"All outcomes on these {rows(e.n)} are the same: how the probabilities fare otherwise is not known."
    known = (
        f"What is not known yet: on {rows(e.n)} a perfectly calibrated forecast shows an SCDL of up to "
        f"{e.chance_value:.2g} by chance, so smaller errors cannot be seen"
    )
    if e.bound >= 1:
        return f"{known}."
    return f"{known}; of the {at_most(e.bound)} promised, {at_most(e.slack)} are there because the rows are few."


def about_task(task: DecisionTask, value: float, advice: tuple[str, ...], *, off: bool) -> Sentence:
    """What the user's own decision gave up."""
    if not advice:
        text = "Your decision: no change of actions would have saved anything on these rows."
        return Sentence(about="task", text=text)
    doubt = "" if off else " Perhaps by chance."
    text = (
        f"Your decision gave up {at_most(value)} of {task.scale:.4g} at stake on these rows. {' '.join(advice)}{doubt}"
    )
    return Sentence(about="task", text=text)


def about_segments(total: int, flagged: tuple[str, ...], small: int) -> Sentence:
    """How many segments are off by more than chance, allowing for how many were looked at."""
    judged = total - small
    few = "" if not small else f" {_segments(small)} too small to be judged."
    if not judged:
        return Sentence(about="segments", text=f"No segment is large enough to be judged ({total}).")
    if not flagged:
        text = f"Of {judged} segments judged none is off by more than chance explains.{few}"
    else:
        shown = ", ".join(flagged[:5]) + (f" and {len(flagged) - 5} more" if len(flagged) > 5 else "")
        verb = "is" if len(flagged) == 1 else "are"
        text = f"Of {judged} segments judged {len(flagged)} {verb} off by more than chance explains: {shown}.{few}"
    return Sentence(about="segments", text=text)


def _segments(count: int) -> str:
    return "1 more is" if count == 1 else f"{count} more are"
