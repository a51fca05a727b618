"""The renderer of statements: a template and its values become text, in a voice and a markup.

A voice has what differs between Python and a shell: names of options, code and command lines. No
result has a voice; whoever prints it chooses the renderer.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from html import escape
from typing import Any, NamedTuple, cast

from rainproof.core.text import one_line
from rainproof.verdict.statements import PLACE, About, Statement, Step
from rainproof.verdict.templates import OPTIONS, TEMPLATES
from rainproof.verdict.values import Listing, Option


@dataclass(frozen=True, kw_only=True)
class Voice:
    """The words of a shell, for options alone: it has no command lines.

    Attributes
    ----------
    options : mapping of str to str
        What options are called.
    assess : str
        The command line that makes the assessment; empty if it was made in Python.
    """

    options: Mapping[str, str] = field(default_factory=lambda: OPTIONS["shell"])
    assess: str = ""

    def commands(self, _step: Step) -> tuple[str, ...]:
        """Code or command lines of a step."""
        return ()

    def of_forecast(self, name: str) -> Voice:  # noqa: ARG002 - of those that differ
        """The voice that speaks of one of several forecasts."""
        return self


@dataclass(frozen=True, kw_only=True)
class PythonVoice(Voice):
    """The words of Python."""

    options: Mapping[str, str] = field(default_factory=lambda: OPTIONS["python"])

    def commands(self, step: Step) -> tuple[str, ...]:
        """The line of code of a step."""
        result = "a" if step.forecast is None else f"s[{step.forecast!r}]"
        predictions = "p_new"
        if step.recalibrated:
            predictions = f"{result}.recalibrator.predict(p_new)"
        if step.action == "recalibrate":
            return (predictions,)
        return (f"rainproof.decisions.decide({predictions}, task, ids, capacity=capacity)",)


class Sentence(NamedTuple):
    """What is said about something, in words."""

    about: About
    text: str


def plain_text(text: str) -> str:
    """Text as it is."""
    return text


def html(text: str) -> str:
    """Text as HTML: what cannot be seen in a name, such as a mark of direction, is escaped as on a
    terminal.
    """
    return escape(one_line(text))


@dataclass(frozen=True)
class Renderer:
    """Statements in the words of a voice, as text or as HTML."""

    voice: Voice = PythonVoice()
    markup: Callable[[str], str] = plain_text

    def text(self, statement: Statement) -> str:
        """A statement in words."""
        return self.markup(self._filled(statement))

    def passage(self, statements: Iterable[Statement]) -> str:
        """Several statements as one paragraph."""
        return self.markup(" ".join(map(self._filled, statements)))

    def sentences(self, statements: Iterable[Statement]) -> tuple[Sentence, ...]:
        """Statements as paragraphs: neighbours about the same are one, but each note is its own."""
        found: list[Sentence] = []
        for statement in statements:
            said = Sentence(cast("About", statement.about), self.text(statement))
            if found and found[-1].about == said.about != "note":
                said = Sentence(said.about, f"{found.pop().text} {said.text}")
            found.append(said)
        return tuple(found)

    def shown(self, value: Any) -> str:
        """A value in words."""
        if isinstance(value, Statement):
            return self._filled(value)
        if isinstance(value, Option):
            return self.voice.options[value.name]
        if isinstance(value, Listing):
            return value.between.join(map(self.shown, value.items))
        return str(value)

    def table(self, cells: Iterable[Iterable[Any]]) -> tuple[tuple[str, ...], ...]:
        """The cells of a table in words, without markup: tables have their own."""
        return tuple(tuple(map(self.shown, line)) for line in cells)

    def commands(self, steps: Iterable[Step]) -> tuple[str, ...]:
        """The code, or the command lines, of steps."""
        return tuple(self.markup(line) for step in steps for line in self.voice.commands(step))

    def as_html(self) -> Renderer:
        """The renderer with the same voice that writes HTML."""
        return replace(self, markup=html)

    def of_forecast(self, name: str) -> Renderer:
        """The renderer that speaks of one of several forecasts."""
        return replace(self, voice=self.voice.of_forecast(name))

    def _filled(self, statement: Statement) -> str:
        template = TEMPLATES[statement.key]
        if not isinstance(template, str):
            singular, plural = template
            template = singular if statement.values["count"].value == 1 else plural

        def fill(place: re.Match[str]) -> str:
            value = statement.values[place[1]]
            if place[2] is not None:
                value = getattr(value, place[2])
            text = self.shown(value)
            if place[3] is None:
                return text
            first = text[:1].upper() if place[3] == "u" else text[:1].lower()
            return first + text[1:]

        return PLACE.sub(fill, template)


PYTHON = Renderer()
SHELL = Renderer(Voice())
