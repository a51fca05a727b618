"""The next step of a verdict as command lines that can be run as they are."""

from __future__ import annotations

import argparse
import shlex
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from rainproof.assessment.result import Assessment
from rainproof.assessment.words import Means, commands, next_step
from rainproof.cli.output import one_line


def with_commands(found: Assessment, lines: tuple[str, ...]) -> Assessment:
    """Return the assessment with command lines for the next step, in place of Python."""
    means = Means(recalibrate=lines, other_event="--pos-label")
    step = next_step(found.evidence, found.task, means)
    return replace(
        found, verdict=replace(found.verdict, next_step=step, commands=commands(found.evidence, found.task, means))
    )


def chosen_options(arguments: argparse.Namespace) -> list[str]:
    """The options that change what recalibration does, where they are not the defaults."""
    named = {
        "--weight": arguments.weight,
        "--pos-label": arguments.pos_label,
        "--where": arguments.where,
        "--trials": arguments.trials,
        "--groups": arguments.groups,
        "--confidence-level": None if arguments.confidence_level == 0.95 else str(arguments.confidence_level),
        "--seed": str(arguments.seed) if arguments.seed else None,
    }
    chosen = [part for option, value in named.items() if value is not None for part in (option, value)]
    return [*chosen, *(["--fractional"] if arguments.fractional else [])]


def reading_options(arguments: argparse.Namespace) -> list[str]:
    """The options for how files are read."""
    named = {"--sep": arguments.sep, "--confidence-words": arguments.confidence_words}
    chosen = [part for option, value in named.items() if value is not None for part in (option, value)]
    return [*chosen, *(["--percent"] if arguments.percent else [])]


def recalibrate_lines(
    files: Sequence[str],
    prob: str,
    outcome: str,
    options: Sequence[str] = (),
    reading: Sequence[str] = (),
    *,
    missing: bool = False,
) -> tuple[str, ...]:
    """The command lines that fit the map of the verdict to these files and, if it is one file, apply it.

    With `missing`, rows without a probability are left out by the first (as `options` say), and copied by the second.
    """
    columns = ["--prob", prob, "--outcome", outcome]
    lines = [["rainproof", "recalibrate", *files, *columns, *options, *reading, "-o", "map.json"]]
    path = Path(files[0])
    if len(files) == 1 and path.is_file():
        suffix = "".join(path.suffixes[-2:] if path.suffix == ".gz" else path.suffixes[-1:])
        applied = ["--map", "map.json", "--prob", prob, *reading, *(["--keep-missing"] if missing else [])]
        lines.append(["rainproof", "apply", files[0], *applied, "-o", f"better{suffix}"])
    return tuple(one_line(shlex.join(line)) for line in lines)
