"""Quotes in text files: a value whose closing quote is missing takes in the lines below it, and is
refused.
"""

from __future__ import annotations

import re
from codecs import BOM_UTF8
from collections.abc import Iterable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rainproof.core.arrays import Ints

_QUOTE = b'"'
_QUOTE_CODE = ord(_QUOTE)
_LINE_ENDS = b"\r\n"
_LINE_END_CODE = ord("\n")
_BLANKS = b" \t"
_SPACE = re.compile(rb"[ \t]*")
_COUNTED = 1 << 18  # bytes at a time, which stay in the processor's cache


class LineCounter:
    """A stream of the bytes of a text file that counts the lines while they are read.

    Where there are as many rows as lines, no value takes in a line end, and only the quotes of the
    last line need to be looked at. To count takes about 4% of the time of reading; to follow every
    quote would take more than half of it.

    Parameters
    ----------
    stream : file of PyArrow
        The decompressed bytes of a text file, from its start.

    Attributes
    ----------
    has_quotes : bool
        Whether there is a quote in what was read.
    """

    def __init__(self, stream: Any) -> None:
        self.closed = False
        self.has_quotes = False
        self._stream = stream
        self._line_ends = 0
        self._ending: list[Any] = []  # the last two blocks, which hold the last line
        self._found = np.empty(_COUNTED, np.bool_)

    @property
    def lines(self) -> int:
        """The number of lines that were read; line ends at the end of the file begin no further
        line.
        """
        ending = self._last_bytes()
        return self._line_ends + 1 - (len(ending) - len(ending.rstrip(_LINE_ENDS[-1:])))

    @property
    def last_line(self) -> bytes:
        """The last line that is not empty, and what follows it."""
        ending = self._last_bytes()
        start = ending.rstrip(_LINE_ENDS).rfind(_LINE_ENDS[-1:])
        return ending[start + 1 :]

    def read_buffer(self, size: int = -1) -> Any:
        """Return the next bytes as a buffer of PyArrow; they are not copied."""
        block = self._stream.read_buffer(size)
        if not block.size:
            return block
        self._ending = [*self._ending[-1:], block]
        codes = np.frombuffer(block, np.uint8)
        for start in range(0, len(codes), _COUNTED):
            part = codes[start : start + _COUNTED]
            found = self._found[: len(part)]
            self._line_ends += int(np.count_nonzero(np.equal(part, _LINE_END_CODE, out=found)))
            self.has_quotes = self.has_quotes or bool(np.equal(part, _QUOTE_CODE, out=found).any())
        return block

    def read(self, size: int = -1) -> bytes:
        """Return the next bytes."""
        block: bytes = self.read_buffer(size).to_pybytes()
        return block

    def close(self) -> None:
        """Close the stream."""
        self.closed = True
        self._stream.close()

    def readable(self) -> bool:
        """Whether bytes can be read: yes."""
        return True

    def writable(self) -> bool:
        """Whether bytes can be written: no."""
        return False

    def seekable(self) -> bool:
        """Whether the position can be changed: no."""
        return False

    def _last_bytes(self) -> bytes:
        return b"".join(block.to_pybytes() for block in self._ending)


def find_unclosed(blocks: Iterable[bytes], separator: str) -> int | None:
    """Return the place, in bytes, of a quote that is not closed; None if there is none.

    As for Arrow, a quote opens a value only where the value begins, and the next quote that is not
    doubled closes it. The closing quote of a value of several lines is missing if the file ends
    before it, or if anything but blanks stands between the quote that would be it and the next
    separator: then that quote was to open another value.

    Parameters
    ----------
    blocks : iterable of bytes
        The decompressed bytes of a text file, from its start.
    separator : str
        What separates its columns.
    """
    quotes = _Quotes(separator)
    held = b""  # quotes and blanks at the end of a block: what follows them is in the next one
    for block in blocks:
        window = held + block
        checked = window.rstrip(_QUOTE + _BLANKS)
        held = window[len(checked) :]
        quotes.follow(checked)
        if quotes.unclosed is not None:
            return quotes.unclosed
    quotes.follow(held)
    return quotes.opened if quotes.unclosed is None else quotes.unclosed


class _Quotes:
    """The quotes of a text file, followed block by block; none but the last ends in a quote or a
    blank.
    """

    def __init__(self, separator: str) -> None:
        self.unclosed: int | None = None  # the place of a quote that is not closed
        # the place of the quote of the value in which the last block ended
        self.opened: int | None = None
        self._takes_in_lines = False  # whether there is a line end in that value
        # what a value ends at, and another begins after
        self._ends = separator.encode() + _LINE_ENDS
        # by code: what may stand beside a quote that opens or closes a value
        self._beside = np.zeros(256, np.bool_)
        self._beside[list(self._ends + _QUOTE)] = True
        self._place = 0  # of the first byte of the block
        self._last = _LINE_END_CODE  # the code of the byte before it

    def follow(self, block: bytes) -> None:
        """Follow the quotes of the next block."""
        if not block:
            return
        codes = np.frombuffer(block, np.uint8)
        quotes = np.flatnonzero(codes == _QUOTE_CODE)
        if quotes.size:
            before = codes[quotes - 1]
            if quotes[0] == 0:
                before[0] = self._last
            if self._place == 0 and block[: quotes[0]] == BOM_UTF8:
                before[0] = _LINE_END_CODE
            if not self._alternate(codes, quotes, before):
                self._one_by_one(block, quotes, before)
        if self.opened is not None:
            self._takes_in_lines |= _has_line_end(block, self.opened - self._place, len(block))
        self._place += len(block)
        self._last = block[-1]

    def _alternate(self, codes: NDArray[np.uint8], quotes: Ints, before: NDArray[np.uint8]) -> bool:
        """Whether all quotes open and close values in turn, as in nearly all files; this is quick
        to see.

        Of a doubled quote the first closes the value and the second opens it again.
        """
        first = 0 if self.opened is None else 1  # the first quote that opens a value
        closing = quotes[1 - first :: 2]
        # at the end of the file the quote itself
        after = codes[np.minimum(closing + 1, len(codes) - 1)]
        if not (self._beside[before[first::2]].all() and self._beside[after].all()):
            return False
        if (first + quotes.size) % 2 == 0:
            self.opened = None
            return True
        opening = quotes[first::2][before[first::2] != _QUOTE_CODE]
        if opening.size:
            self.opened = self._place + int(opening[-1])
            self._takes_in_lines = False
        return True

    def _one_by_one(self, block: bytes, quotes: Ints, before: NDArray[np.uint8]) -> None:
        """Follow the quotes where some stand inside of values or before other text."""
        may_open = (self._beside[before] & (before != _QUOTE_CODE)).tolist()
        places = quotes.tolist()
        is_doubled = False
        for number, place in enumerate(places):
            if self.opened is None:
                if may_open[number]:
                    self.opened = self._place + place
                    self._takes_in_lines = False
                continue
            if is_doubled:
                is_doubled = False
                continue
            is_doubled = places[number + 1 : number + 2] == [place + 1]
            if is_doubled:
                continue
            after = _SPACE.match(block, place + 1).end()  # type: ignore[union-attr]
            takes_in_lines = self._takes_in_lines or _has_line_end(
                block, self.opened - self._place, place
            )
            if takes_in_lines and after < len(block) and block[after] not in self._ends:
                self.unclosed = self.opened
                return
            self.opened = None


def _has_line_end(block: bytes, start: int, stop: int) -> bool:
    """Whether there is a line end between two places of a block; a place before it is its start."""
    value = block[max(start, 0) : stop]
    return b"\n" in value or b"\r" in value
