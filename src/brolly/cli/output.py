"""What leaves the program: words that any terminal can show, and files that are whole."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TextIO

from brolly.errors import InputError


def one_line(text: str) -> str:
    """The text with whatever would move a terminal's cursor written out."""
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in text)


def say(stream: TextIO | None, text: str) -> None:
    """Write text, with characters that the stream has no code for written out."""
    if stream is None:  # closed before Python started
        return
    encoding = stream.encoding or "utf-8"
    stream.write(text.encode(encoding, "backslashreplace").decode(encoding))


def let_go(stream: TextIO | None) -> None:
    """Send what is still unwritten nowhere, so that Python does not fail over it while it shuts down."""
    if stream is not None:
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, stream.fileno())
        os.close(nowhere)


def check_output(path: Path, source: Path) -> None:
    """Refuse a path that the result cannot go to, before any work is done for it."""
    with _writing(path):
        if path.exists():
            if source.exists() and path.samefile(source):
                raise InputError(f"{path} is the file to read: the result would overwrite it")
            if not path.is_file():
                raise InputError(f"cannot write {path}: it is not a regular file")
        with _beside(path):
            pass


def write_whole(path: Path, text: str) -> None:
    """Write a file so that whoever looks sees all of it, or what was there before."""
    with _writing(path), _beside(path) as (file, temporary):
        file.write(text)
        file.flush()
        os.fsync(file.fileno())
        file.close()
        temporary.replace(path.resolve())


@contextmanager
def _writing(path: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise InputError(f"cannot write {path}: {error.strerror}") from error


@contextmanager
def _beside(path: Path) -> Iterator[tuple[TextIO, Path]]:
    """A new file in the same folder, which does not stay there whatever happens."""
    temporary = path.resolve().with_name(f".brolly-{os.getpid()}.tmp")
    with temporary.open("x", encoding="utf-8") as file:
        try:
            yield file, temporary
        finally:
            file.close()  # some systems do not remove an open file
            temporary.unlink(missing_ok=True)
