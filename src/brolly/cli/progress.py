"""How far a long read has come, for whoever sits at the terminal."""

from __future__ import annotations

import time
from types import TracebackType
from typing import Self, TextIO

_PATIENCE = 2.0  # seconds that need no explanation
_PAUSE = 0.2  # seconds between two lines, each over the last


class Progress:
    """Call it with the rows read so far: it says so on a terminal, once the read takes long.

    Parameters
    ----------
    stream : text stream or None
        Where to say it: nothing is said where it is not a terminal.
    quiet : bool
        Say nothing at all.
    patience : float
        How many seconds may pass in silence.
    """

    def __init__(self, stream: TextIO | None, *, quiet: bool = False, patience: float = _PATIENCE) -> None:
        self._stream = None if quiet or stream is None or not stream.isatty() else stream
        self._next = time.monotonic() + patience
        self._shown = ""

    def __call__(self, rows: int) -> None:
        self.say(f"{rows:,} rows read")

    def say(self, text: str) -> None:
        """The same for work that is not counted in rows."""
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
