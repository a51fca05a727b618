"""Results of commands: paragraphs on the terminal, JSON and pictures in files."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Any, Protocol

from rainproof.cli.options import local_files
from rainproof.cli.output import one_line, say
from rainproof.core.files import atomic_output, check_output, write_atomic
from rainproof.core.result import rows, wrapped
from rainproof.core.sample import Sample
from rainproof.errors import InputError

_PICTURES = (".png", ".svg", ".pdf")


class Drawable(Protocol):
    """A result that draws itself."""

    def plot(self, ax: Any = None) -> Any:
        """Draw into axes."""


def say_paragraphs(paragraphs: Iterable[str]) -> None:
    """Print paragraphs, each wrapped to the width of a terminal."""
    say(sys.stdout, "".join(f"{wrapped(text)}\n" for text in paragraphs))


def write_json(document: dict[str, Any], path: Path | None) -> str:
    """Return a result as JSON, and write it to a file if one is given."""
    text = json.dumps(document, indent=2, allow_nan=False) + "\n"
    if path is not None:
        write_atomic(path, text)
    return text


def written(what: str, path: Path) -> str:
    """Say where a result was written."""
    return f"{what} written to {one_line(str(path))}"


def rows_read(file: str, sample: Sample, weight: str | None) -> str:
    """Describe what was read in a line."""
    read = rows(sample.n)
    if weight is not None:
        read += f" weighted by {one_line(weight)} ({sample.effective_n:,.0f} effective rows)"
    return f"{one_line(file)}: {read}, event rate {100 * sample.event_rate:.3g}%"


def add_plot(parser: argparse.ArgumentParser, what: str) -> None:
    """Add the option that draws the result."""
    parser.add_argument("--plot", metavar="FILE", type=Path, help=f"also draw {what}: .png, .svg or .pdf")


def check_plot(arguments: argparse.Namespace) -> None:
    """Refuse, before the work, a picture that cannot be written or is one of the files to read."""
    path: Path | None = arguments.plot
    if path is None:
        return
    if path.suffix not in _PICTURES:
        raise InputError(f"--plot must name a .png, .svg or .pdf file; it is {str(path)!r}")
    if arguments.output is not None and path.resolve() == arguments.output.resolve():
        raise InputError(f"--plot and --output must be different files; both are {str(path)!r}")
    check_output(path, *local_files(arguments))


def draw(result: Drawable, path: Path) -> None:
    """Draw a result into a file, which is written whole or not at all."""
    from rainproof.plots.style import new_figure

    figure = new_figure(figsize=(8, 4.5))
    result.plot(figure.add_subplot())
    with atomic_output(path) as temporary:
        figure.savefig(temporary, format=path.suffix[1:], bbox_inches="tight")
