"""Progress of long work, on a terminal."""

from __future__ import annotations

import time
from types import TracebackType
from typing import Self, TextIO

_PATIENCE = 2.0  # seconds that need no explanation
_PAUSE = 0.2  # seconds between two lines, each over the last
_WIDTH = 30  # of the bar


class Progress:
    """Call it with the rows done so far: it shows them on a terminal, once the work takes long.

    It draws a bar where the number of all rows is known, as its second argument.

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

    def __init__(
        self, stream: TextIO | None, *, quiet: bool = False, patience: float = _PATIENCE, what: str = "rows read"
    ) -> None:
        self._stream = None if quiet or stream is None or not stream.isatty() else stream
        self._next = time.monotonic() + patience
        self._shown = ""
        self._what = what

    def __call__(self, rows: int, total: int = 0) -> None:
        self.say(f"{bar(rows, total)}{rows:,} {self._what}")

    def say(self, text: str) -> None:
        """Show a text instead of a count."""
        now = time.monotonic()
        if self._stream is not None and now >= self._next:
            self._next = now + _PAUSE
            self._show(text)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._shown:
            self._show("")

    def _show(self, text: str) -> None:
        assert self._stream is not None
        self._stream.write(f"\r{' ' * len(self._shown)}\r{text}")
        self._stream.flush()
        self._shown = text


def bar(done: int, total: int) -> str:
    """A bar; empty where the number of all rows is not known."""
    if not total:
        return ""
    share = min(1.0, done / total)
    return f"[{'#' * int(share * _WIDTH):{_WIDTH}}] {100 * share:3.0f}%  "
