"""Writing to the terminal: text that any terminal can show."""

from __future__ import annotations

import os
from typing import TextIO


def one_line(text: str) -> str:
    """Escape whatever would move a terminal's cursor."""
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in text)


def say(stream: TextIO | None, text: str) -> None:
    """Write text, escaping characters that the stream cannot encode."""
    if stream is None:  # closed before Python started
        return
    encoding = stream.encoding or "utf-8"
    stream.write(text.encode(encoding, "backslashreplace").decode(encoding))


def let_go(stream: TextIO | None) -> None:
    """Discard what is still unwritten, so that Python does not fail over it while it shuts down."""
    if stream is not None:
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, stream.fileno())
        os.close(nowhere)
