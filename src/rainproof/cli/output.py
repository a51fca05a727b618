"""What the user sees: text that any terminal can show, colours, progress, and results in files."""

from __future__ import annotations

import argparse
import json
import os
import re
import shlex
import sys
import time
import warnings
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, TextIO

from rainproof.core import VERSION
from rainproof.core.files import atomic_output, write_atomic
from rainproof.core.text import one_line as one_line
from rainproof.core.text import rows, wrapped
from rainproof.errors import RainproofWarning

if TYPE_CHECKING:
    from rainproof.core.sample import Sample

# How terminals are told of colours: ANSI X3.64, "select graphic rendition".
_RESET = "\x1b[0m"
_STYLES = {
    "bold": "\x1b[1m",
    "green": "\x1b[1;32m",
    "yellow": "\x1b[1;33m",
    "red": "\x1b[1;31m",
    "cyan": "\x1b[36m",
}
_COLORED = re.compile(f"({'|'.join(map(re.escape, (_RESET, *_STYLES.values())))})")
_ESCAPES = {"\n": "\\n", "\t": "\\t", "\r": "\\r"}
# In help: a line such as 'examples:', and what begins with one or two dashes.
_HEADING = re.compile(r"^(\w[\w ]*:)(?=$| )", re.MULTILINE)
_OPTION = re.compile(r"(?<![\w-])(--?[a-z][\w-]*)")
_PATIENCE = 2.0  # seconds that need no explanation
_PAUSE = 0.2  # seconds between two lines, each over the last
_BAR_WIDTH = 30  # characters


def say(stream: TextIO | None, text: str) -> None:
    """Write text, escaping what would move a terminal's cursor, and characters that the stream
    cannot encode.

    Whoever puts a name into a line makes it one (`one_line`); this is the last guard. Line ends are
    those of the text, and colors are ours, where the stream has them.
    """
    if stream is None:  # closed before Python started
        return
    # Of the parts, every second one is a colour.
    parts = _COLORED.split(text) if has_colours(stream) else [text]
    for number in range(0, len(parts), 2):
        lines = parts[number].split("\n")
        parts[number] = "\n".join(map(one_line, lines))
    # A terminal of another encoding than UTF-8 gets escapes instead of an error.
    encoding = stream.encoding or "utf-8"
    stream.write("".join(parts).encode(encoding, "backslashreplace").decode(encoding))


def let_go(stream: TextIO | None) -> None:
    """Discard what is still unwritten, so that Python does not fail over it while it shuts down."""
    if stream is not None:
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, stream.fileno())
        os.close(nowhere)


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


def option_words(flag: str, values: Iterable[str]) -> list[str]:
    """An option with its values; one that begins with a dash would be taken for another option."""
    words = list(values)
    if len(words) == 1 and words[0].startswith("-"):
        return [f"{flag}={words[0]}"]
    return [flag, *words]


def shell_line(line: Iterable[str]) -> str:
    """The line as it is typed into a shell: quoted only where it must be, and nothing in it moves a
    cursor.
    """
    return " ".join(map(shell_word, line))


def shell_word(word: str) -> str:
    """A word for a shell; what cannot be seen is written as Bash, Zsh and POSIX 2024 read it:
    $'a\\nb'.
    """
    if word.isprintable():
        return shlex.quote(word)
    escaped = "".join(map(_escaped, word))
    return f"$'{escaped}'"


def _escaped(character: str) -> str:
    """A character between $' and ', where a backslash begins an escape."""
    code = ord(character)
    if character in "\\'":
        return f"\\{character}"
    if character.isprintable():
        return character
    if 0xDC80 <= code <= 0xDCFF:  # a byte of a file's name that is not UTF-8
        return f"\\x{code - 0xDC00:02x}"
    if character in _ESCAPES:
        return _ESCAPES[character]
    if code < 0x80:
        return f"\\{code:03o}"
    return f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"


def rows_read(file: str, sample: Sample, weight: str | None) -> str:
    """Describe what was read in a line."""
    read = rows(sample.n)
    if weight is not None:
        units = "rows" if sample.groups is None else "groups"
        effective = f"{sample.effective_n:,.0f} effective {units}"
        read = f"{read} weighted by {one_line(weight)} ({effective})"
    if sample.classes:
        about = f"{len(sample.classes)} classes"
    else:
        about = f"event rate {100 * sample.event_rate:.3g}%"
    return f"{one_line(file)}: {read}, {about}"


def without_warnings() -> warnings.catch_warnings[None]:
    """Ignore the warnings of rainproof: the verdict states them."""
    return warnings.catch_warnings(action="ignore", category=RainproofWarning)


def has_colours(stream: TextIO | None) -> bool:
    """Whether to colour what goes to a stream: terminals, unless NO_COLOR is set (no-color.org)."""
    if stream is None or os.environ.get("NO_COLOR") or os.environ.get("TERM") == "dumb":
        return False
    return stream.isatty() and (os.name != "nt" or "WT_SESSION" in os.environ)


def coloured(text: str, style: str, stream: TextIO | None) -> str:
    """Return the text in bold or a colour, where the stream has them."""
    return f"{_STYLES[style]}{text}{_RESET}" if has_colours(stream) else text


def coloured_help(text: str, stream: TextIO | None) -> str:
    """Return a help text with coloured headings and options; the visible characters stay the
    same.
    """
    if not has_colours(stream):
        return text
    bold = rf"{_STYLES['bold']}\1{_RESET}"
    cyan = rf"{_STYLES['cyan']}\1{_RESET}"
    return _OPTION.sub(cyan, _HEADING.sub(bold, text))


Progress = Callable[..., None] | None
"""Called with the number of rows done so far, and of all if it is known; None if nobody looks."""


@contextmanager
def shown_progress(
    stream: TextIO | None,
    *,
    quiet: bool = False,
    patience: float = _PATIENCE,
    what: str = "rows read",
) -> Iterator[Progress]:
    """Yield what shows the rows done so far on a terminal, once the work takes long; with a bar
    where the end is known.

    Parameters
    ----------
    stream : text stream or None
        Where to show it; nothing is shown where it is not a terminal.
    quiet : bool
        Whether to show nothing at all.
    patience : float
        Seconds to wait before anything is shown.
    what : str
        What is counted.
    """
    if quiet or stream is None or not stream.isatty():
        yield None
        return
    due = time.monotonic() + patience  # when the next line is shown
    shown = ""

    def show(text: str) -> None:
        nonlocal shown
        # Blanks over the last line, as the next one may be shorter.
        stream.write(f"\r{' ' * len(shown)}\r{text}")
        stream.flush()
        shown = text

    def progress(rows: int, total: int = 0) -> None:
        nonlocal due
        now = time.monotonic()
        if now >= due:
            due = now + _PAUSE
            show(f"{bar(rows, total)}{rows:,} {what}")

    try:
        yield progress
    finally:
        if shown:
            show("")


@contextmanager
def watched(arguments: argparse.Namespace, what: str = "steps done") -> Iterator[Progress]:
    """Show the progress of a computation; its warnings are ignored, as the verdict states them."""
    with (
        shown_progress(sys.stderr, quiet=arguments.quiet, what=what) as progress,
        without_warnings(),
    ):
        yield progress


def bar(done: int, total: int) -> str:
    """A bar; empty where the number of all rows is not known."""
    if not total:
        return ""
    share = min(1.0, done / total)
    return f"[{'#' * int(share * _BAR_WIDTH):{_BAR_WIDTH}}] {100 * share:3.0f}%  "


def draw(result: Any, path: Path) -> None:
    """Draw a result into a file, which is written whole or not at all."""
    from rainproof.plots.style import figure_for_a_file

    # Not by pyplot, which would open a window system.
    figure = figure_for_a_file(figsize=(8, 4.5))
    result.plot(figure.add_subplot())
    with atomic_output(path) as temporary:
        figure.savefig(
            temporary,
            format=path.suffix[1:],
            bbox_inches="tight",
            metadata={"Creator": "rainproof"},
        )


def finish(
    arguments: argparse.Namespace,
    document: Callable[[], dict[str, Any]],
    text: Callable[[], object],
    drawn: Any = None,
) -> None:
    """Write the files that were asked for, and print the result as JSON or as text.

    Parameters
    ----------
    arguments : argparse.Namespace
        The arguments of the command.
    document : callable
        Returns the result for JSON: all numbers may take longer than those that are printed.
    text : callable
        Prints the result.
    drawn : result
        What ``--plot`` draws.
    """
    plot: Path | None = getattr(arguments, "plot", None)
    output: Path | None = arguments.output
    made = ""
    if arguments.json or output is not None:
        made = write_json(document(), output)
    if plot is not None:
        draw(drawn, plot)
    if arguments.json:
        say(sys.stdout, made)
    elif not arguments.quiet:
        text()
        say_written(Result=output, Picture=plot)


def say_written(**paths: Path | None) -> None:
    """Print where results were written, by what they are; nothing of those that were not asked
    for.
    """
    say_paragraphs([written(what, path) for what, path in paths.items() if path is not None])


def finish_result(arguments: argparse.Namespace, result: Any) -> None:
    """Finish with a result that prints, writes and draws itself."""

    def document() -> dict[str, Any]:
        return {"rainproof": VERSION, **result.to_dict()}

    lines = map(one_line, str(result).splitlines())
    finish(arguments, document, partial(say_paragraphs, lines), result)
