"""The verdict: what the evidence allows to be said about a forecast, and no more."""

from __future__ import annotations

from dataclasses import dataclass
from html import escape
from typing import Any, Literal

from brolly.assessment import text

Grade = Literal["trust", "care", "distrust", "unknown"]
About = Literal["calibration", "guarantee", "loss", "decision", "task", "segments", "limits", "note"]


@dataclass(frozen=True, kw_only=True, slots=True)
class Evidence:
    """The numbers that a verdict rests on.

    Attributes
    ----------
    n : int
        The number of rows.
    confidence_level : float
        Of the guarantee, the intervals and the test, each by itself.
    tolerance : float
        The expected loss, as a share of the stakes, that is acceptable.
    grid, bound, slack : int, float, float
        The guarantee: the expected loss of acting on predictions rounded to ``1/grid`` is at most `bound`, of which
        `slack` allows for chance.
    at_least : float or None
        With the same confidence somebody who acts on the predictions as they are loses at least this, in expectation;
        0 if the rows prove no loss, None if that could not be computed (unequal weights in a compressed sample).
    at_least_thresholds : tuple of float
        The thresholds of the decision that loses it.
    shown_grid, loss, loss_low, loss_high : int, float, float, float
        The largest loss of any decision on these rows, acting on predictions rounded to ``1/shown_grid``, and an
        interval of it for the population, by inversion of a test (`confidence_interval`).
    worst_thresholds : tuple of float
        The thresholds of the decision with that loss; empty if no decision loses anything.
    p_value : float
        Of the test of perfect calibration.
    chance_value : float
        The SCDL that a perfectly calibrated forecast stays below with this confidence.
    one_class : bool
        Whether all outcomes are the same.
    """

    n: int
    confidence_level: float
    tolerance: float
    grid: int
    bound: float
    slack: float
    at_least: float | None
    at_least_thresholds: tuple[float, ...]
    shown_grid: int
    loss: float
    loss_low: float
    loss_high: float
    worst_thresholds: tuple[float, ...]
    p_value: float
    chance_value: float
    one_class: bool

    @property
    def rejected(self) -> bool:
        """Whether the test rejects perfect calibration at ``1 - confidence_level``."""
        return self.p_value <= 1 - self.confidence_level + 1e-12  # 1 - 0.95 is a last bit above 0.05

    @property
    def grade(self) -> Grade:
        """The verdict in a word; wrong with probability ``1 - confidence_level`` at most, whichever it is."""
        if self.bound <= self.tolerance:
            return "trust"
        if self.at_least is not None and self.at_least > self.tolerance:
            return "distrust"
        return "care" if self.rejected else "unknown"


@dataclass(frozen=True, kw_only=True, slots=True)
class Sentence:
    """One sentence of a verdict, and what it is about."""

    about: About
    text: str


@dataclass(frozen=True, kw_only=True, slots=True)
class Verdict:
    """The verdict on a forecast in words.

    Attributes
    ----------
    grade : {"trust", "care", "distrust", "unknown"}
        "trust": the guaranteed expected loss is within the tolerance. "distrust": somebody provably loses more than
        the tolerance. "care": miscalibrated beyond chance, but neither of these. "unknown": none of these.
    headline : str
        The verdict in a sentence.
    sentences : tuple of Sentence
        The reasons, in the order of reading.
    """

    grade: Grade
    headline: str
    sentences: tuple[Sentence, ...]

    def to_dict(self) -> dict[str, Any]:
        """Return the verdict in built-in types, ready for JSON."""
        return {
            "grade": self.grade,
            "headline": self.headline,
            "sentences": [{"about": s.about, "text": s.text} for s in self.sentences],
            "text": str(self),
        }

    def __str__(self) -> str:
        return "\n".join([text.wrapped(self.headline), "", *(text.wrapped(s.text) for s in self.sentences)])

    def _repr_html_(self) -> str:
        points = "".join(f"<li>{escape(s.text)}</li>" for s in self.sentences)
        return f"<p><b>{escape(self.headline)}</b></p><ul>{points}</ul>"


def judge(evidence: Evidence, more: tuple[Sentence, ...] = ()) -> Verdict:
    """Return the verdict that the evidence allows; `more` is what else was found, in front of the limits."""
    sentences = [
        Sentence(about="calibration", text=text.calibration(evidence)),
        Sentence(about="guarantee", text=text.guaranteed(evidence)),
        Sentence(about="loss", text=text.loss(evidence)),
        *([Sentence(about="decision", text=text.decision(evidence))] if evidence.worst_thresholds else []),
        *more,
        Sentence(about="limits", text=text.limits(evidence)),
    ]
    return Verdict(grade=evidence.grade, headline=text.headline(evidence), sentences=tuple(sentences))
