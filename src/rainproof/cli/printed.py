"""Command lines that are printed: each repeats how the rows of the screen were read, and what was
asked about them.
"""

from __future__ import annotations

import argparse
import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from rainproof.cli.commands import ASSESS, DECISION, RECALIBRATE
from rainproof.cli.options import NEW_CASES, SHARED, as_list, cost_columns, dest
from rainproof.cli.output import option_words, shell_line
from rainproof.cli.reading import RECALIBRATED
from rainproof.io.conditions import quoted_column
from rainproof.io.formats import FORMATS
from rainproof.verdict.renderer import Renderer, Voice
from rainproof.verdict.statements import Step
from rainproof.verdict.templates import OPTIONS

_ID = "ID"  # stands for the column of ids, whose name the reader knows


@dataclass(frozen=True)
class Screen:
    """What a command was given that decides which rows it reads and what it says of them.

    Attributes
    ----------
    files : tuple of str
        The files, as they were named.
    options : mapping of str to tuple of str
        The values of each option that was given, or guessed, as they are typed; none of a flag.
    beside : tuple of str
        The columns that were read beside those that the options of a map name: rows without a value
        in one of them are left out with --drop-missing.
    exists : bool
        Whether the first of the files is one: it is not if it is a pattern, a table of a database
        or standard input.
    several : bool
        Whether it is one of several forecasts, each of which has a map.
    """

    files: tuple[str, ...]
    options: Mapping[str, tuple[str, ...]]
    beside: tuple[str, ...] = ()
    exists: bool = False
    several: bool = False

    @classmethod
    def of(cls, arguments: argparse.Namespace) -> Screen:
        """The screen of a command, after its columns were guessed."""
        options = {}
        for flag in SHARED:
            value = getattr(arguments, dest(flag), None)
            if value not in (None, False, SHARED[flag].get("default")):
                options[flag] = _typed(value)
        by = [
            *as_list(getattr(arguments, "by", None)),
            *as_list(getattr(arguments, "segments", None)),
        ]
        return cls(
            files=tuple(arguments.shown),
            options=options,
            beside=(*by, *cost_columns(arguments)),
            exists=Path(arguments.shown[0]).is_file(),
        )

    def of_forecast(self, name: str) -> Screen:
        """The screen of one of several forecasts."""
        others = [other for other in self.options["--prob"] if other != name]
        options = {**self.options, "--prob": (name,)}
        return replace(self, options=options, beside=(*others, *self.beside), several=True)

    def where(self, *conditions: str) -> Screen:
        """The screen of those of its rows that also meet some conditions."""
        given = [f"({condition})" for condition in self.options.get("--where", ())]
        together = " and ".join([*given, *conditions])
        return replace(self, options={**self.options, "--where": (together,)})

    def assess(self) -> str:
        """The line that prints the verdict on these rows."""
        given = [word for flag in ASSESS for word in self.typed(flag)]
        return shell_line(["rainproof", "assess", *map(_as_file, self.files), *given])

    def recalibrate(self) -> tuple[str, ...]:
        """The lines that fit the map of the screen to its rows and, if they are of one file, apply
        it to new cases.

        Segments have no part in this map: --by would hold out more rows, to prove a map of its own
        for each of them.
        """
        screen = self
        if "--drop-missing" in self.options and self.beside:
            there = (
                f"{quoted_column(column)} is not {missing}"
                for column in dict.fromkeys(self.beside)
                for missing in ("null", "nan")
            )
            screen = self.where(*there)
        map_ = self._map()
        fitted = [word for flag in RECALIBRATE if flag != "--by" for word in screen.typed(flag)]
        lines = [["rainproof", "recalibrate", *map(_as_file, self.files), *fitted, "-o", map_]]
        if len(self.files) == 1 and self.exists:
            applied = ["--map", map_, *self._copied(), "-o", self._new_file("-recalibrated")]
            lines.append(["rainproof", "apply", f"new{self._suffix}", *applied])
        return tuple(map(shell_line, lines))

    def decide(self, ids: str | None = None) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """The lines that act on new cases by the costs and within the capacity: as they are, and
        recalibrated.
        """
        task = [word for flag in DECISION for word in self.typed(flag)]
        ending = [*task, "--id", ids or _ID, "-o", self._new_file("-decided")]
        missing = ["--keep-missing"] if "--drop-missing" in self.options else []
        better = option_words(
            "--prob", [f"{name}{RECALIBRATED}" for name in self.options["--prob"]]
        )
        as_is = ["rainproof", "decide", f"new{self._suffix}", *self._copied(), *ending]
        mapped = [
            "rainproof",
            "decide",
            self._new_file("-recalibrated"),
            *better,
            *missing,
            *ending,
        ]
        return (shell_line(as_is),), (*self.recalibrate(), shell_line(mapped))

    def renderer(self, ids: str | None = None) -> Renderer:
        """Who puts a verdict in words, with options and command lines in place of Python."""
        options = dict(OPTIONS["shell"])
        if "--by" in self.options:
            by = shell_line(self.typed("--by"))
            options["own_maps"] = f"rainproof recalibrate with {by}"
        voice = ShellVoice(options=options, assess=self.assess(), screen=self, ids=ids)
        return Renderer(voice)

    def typed(self, flag: str) -> list[str]:
        """An option as it is typed; nothing if it was not given."""
        return option_words(flag, self.options[flag]) if flag in self.options else []

    def _copied(self) -> list[str]:
        """How a file of new cases is read: rows that were left out for a missing value are
        copied.
        """
        missing = ["--keep-missing"] if "--drop-missing" in self.options else []
        return [word for flag in NEW_CASES for word in self.typed(flag)] + missing

    def _map(self) -> str:
        """The file of the map."""
        if not self.exists:
            return "map.json"
        forecast = ""
        if self.several:
            forecast = "-" + re.sub(r"[^-.0-9A-Za-z]+", "_", self.options["--prob"][0])
        name = Path(self.files[0]).name.removesuffix(self._suffix)
        return _as_file(f"{name}{forecast}-map.json")

    @property
    def _suffix(self) -> str:
        """How the name of a file ends that is like the first one."""
        path = Path(self.files[0])
        return "".join(path.suffixes[-2:] if path.suffix == ".gz" else path.suffixes[-1:])

    def _new_file(self, what: str) -> str:
        """A file that is written for such files: spreadsheets are read only."""
        only_read = any(
            one.open_writer is None and self._suffix.lower() in one.suffixes for one in FORMATS
        )
        return f"new{what}{'.csv' if only_read else self._suffix}"


@dataclass(frozen=True, kw_only=True)
class ShellVoice(Voice):
    """The words of a shell for what stands on a screen.

    Attributes
    ----------
    screen : Screen
        The screen.
    ids : str or None
        The column of ids, if it is known.
    """

    screen: Screen
    ids: str | None = None

    def commands(self, step: Step) -> tuple[str, ...]:
        """The command lines of a step."""
        screen = self.screen
        if step.forecast is not None:
            screen = screen.of_forecast(step.forecast)
        if step.action == "recalibrate":
            return screen.recalibrate()
        as_is, recalibrated = screen.decide(self.ids)
        return recalibrated if step.recalibrated else as_is

    def of_forecast(self, name: str) -> ShellVoice:
        """The voice that speaks of one of several forecasts."""
        screen = self.screen.of_forecast(name)
        return replace(self, screen=screen, assess=screen.assess())


def _typed(value: object) -> tuple[str, ...]:
    """The value of an option as it is typed, with all digits of a number."""
    if value is True:
        return ()
    if isinstance(value, tuple):
        return (",".join(word for part in value for word in _typed(part)),)
    return tuple(
        repr(one).removesuffix(".0") if isinstance(one, float) else str(one)
        for one in as_list(value)
    )


def _as_file(name: str) -> str:
    """The name of a file that no command takes for an option; - is standard input."""
    return f"./{name}" if name.startswith("-") and name != "-" else name
