"""How far a long read has come, for whoever sits at the terminal."""

from __future__ import annotations

import time
from types import TracebackType
from typing import Self, TextIO

_PATIENCE = 2.0  # seconds that need no explanation
_PAUSE = 0.2  # seconds between two lines, each over the last
_WIDTH = 30  # of the bar


class Progress:
    """Call it with the rows read so far: it says so on a terminal, once the read takes long.

    Where the rows in all are known, as its second argument, it draws a bar too.

    Parameters
    ----------
    stream : text stream or None
        Where to say it: nothing is said where it is not a terminal.
    quiet : bool
        Say nothing at all.
    patience : float
        How many seconds may pass in silence.
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
        self.say(f"{_bar(rows, total)}{rows:,} {self._what}")

    def say(self, text: str) -> None:
        """The same for work that is told in words."""
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


def _bar(done: int, total: int) -> str:
    """How much of all that is, drawn; nothing where all is not known."""
    if not total:
        return ""
    share = min(1.0, done / total)
    return f"[{'#' * int(share * _WIDTH):{_WIDTH}}] {100 * share:3.0f}%  "
