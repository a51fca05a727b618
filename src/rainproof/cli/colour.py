"""Colours on terminals that show them."""

from __future__ import annotations

import os
import re
from typing import TextIO

_RESET = "\x1b[0m"
_STYLES = {"bold": "\x1b[1m", "green": "\x1b[1;32m", "yellow": "\x1b[1;33m", "red": "\x1b[1;31m", "cyan": "\x1b[36m"}
_HEADING = re.compile(r"^(\w[\w ]*:)(?=$| )", re.MULTILINE)
_OPTION = re.compile(r"(?<![\w-])(--?[a-z][\w-]*)")


def has_colours(stream: TextIO | None) -> bool:
    """Whether to colour what goes to a stream: terminals, unless NO_COLOR is set (no-color.org)."""
    if stream is None or os.environ.get("NO_COLOR") or os.environ.get("TERM") == "dumb":
        return False
    return stream.isatty() and (os.name != "nt" or "WT_SESSION" in os.environ)


def coloured(text: str, style: str, stream: TextIO | None) -> str:
    """Return the text in bold or a colour, where the stream has them."""
    return f"{_STYLES[style]}{text}{_RESET}" if has_colours(stream) else text


def coloured_help(text: str, stream: TextIO | None) -> str:
    """Return a help text with coloured headings and options; the visible characters stay the same."""
    if not has_colours(stream):
        return text
    text = _HEADING.sub(lambda found: f"{_STYLES['bold']}{found[1]}{_RESET}", text)
    return _OPTION.sub(lambda found: f"{_STYLES['cyan']}{found[1]}{_RESET}", text)
