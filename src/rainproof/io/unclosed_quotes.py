"""Quotes in text files: a value whose closing quote is missing takes in the lines below it, and is
refused.

Arrow reads such a file without complaint, with fewer rows.
"""

from __future__ import annotations

import re
from codecs import BOM_UTF8
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rainproof.core.arrays import Ints

_QUOTE = ord('"')
_LINE_END = ord("\n")
_LINE_ENDS = b"\r\n"
_BLANKS_AND_QUOTES = b' \t"'
_BLANKS = re.compile(rb"[ \t]*")
_BYTES_COUNTED = 1 << 18  # at a time, which stay in the processor's cache

Codes = NDArray[np.uint8]


class LineCounter:
    """A stream of the bytes of a text file that counts the lines while they are read.

    Where there are as many rows as lines, no value takes in a line end, and only the quotes of the
    last line need to be looked at. To count takes about 4% of the time of reading; to follow every
    quote would take more than half of it.

    Parameters
    ----------
    start : sequence of buffers
        The first blocks of a text file, decompressed.
    stream : file of PyArrow
        The bytes that follow them.

    Attributes
    ----------
    has_quotes : bool
        Whether there is a quote in what was read.
    """

    def __init__(self, start: Sequence[Any], stream: Any) -> None:
        self.closed = False
        self.has_quotes = False
        self._start = list(start)
        self._stream = stream
        self._line_ends = 0
        self._last_blocks: list[Any] = []  # two of them, which hold the last line
        self._matches = np.empty(_BYTES_COUNTED, np.bool_)  # memory for comparisons

    @property
    def lines(self) -> int:
        """The number of lines that were read; line ends at the end of the file begin no further
        line.
        """
        ending = self._ending()
        empty_lines = len(ending) - len(ending.rstrip(b"\n"))
        return self._line_ends + 1 - empty_lines

    @property
    def last_line(self) -> bytes:
        """The last line that is not empty, and what follows it."""
        ending = self._ending()
        before = ending.rstrip(_LINE_ENDS).rfind(b"\n")
        return ending[before + 1 :]

    def read_buffer(self, size: int = -1) -> Any:
        """Return the next bytes as a buffer of PyArrow; they are not copied."""
        # The first blocks have the size that Arrow asks for.
        block = self._start.pop(0) if self._start else self._stream.read_buffer(size)
        if block.size:
            self._last_blocks = [*self._last_blocks[-1:], block]
            self._count(np.frombuffer(block, np.uint8))
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

    def _count(self, codes: Codes) -> None:
        for start in range(0, len(codes), _BYTES_COUNTED):
            part = codes[start : start + _BYTES_COUNTED]
            matches = self._matches[: len(part)]
            np.equal(part, _LINE_END, out=matches)
            self._line_ends += int(np.count_nonzero(matches))
            if not self.has_quotes:
                np.equal(part, _QUOTE, out=matches)
                self.has_quotes = bool(matches.any())

    def _ending(self) -> bytes:
        return b"".join([block.to_pybytes() for block in self._last_blocks])


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
        checked = window.rstrip(_BLANKS_AND_QUOTES)
        held = window[len(checked) :]
        quotes.follow(checked)
        if quotes.unclosed is not None:
            return quotes.unclosed
    quotes.follow(held)
    return quotes.opened if quotes.unclosed is None else quotes.unclosed


class _Quotes:
    """The quotes of a text file, followed block by block.

    No block but the last ends in a quote or a blank.

    Attributes
    ----------
    unclosed : int or None
        The place of a quote that is not closed.
    opened : int or None
        The place of the quote of the value in which the last block ended.
    """

    def __init__(self, separator: str) -> None:
        self.unclosed: int | None = None
        self.opened: int | None = None
        self._takes_in_lines = False  # whether there is a line end in the value that is open
        self._value_ends = separator.encode() + _LINE_ENDS  # what a value ends at
        # By code: what may stand beside a quote that opens or closes a value.
        self._may_be_beside = np.zeros(256, np.bool_)
        self._may_be_beside[[*self._value_ends, _QUOTE]] = True
        self._block_start = 0
        self._previous_code = _LINE_END  # of the byte before the block

    def follow(self, block: bytes) -> None:
        """Follow the quotes of the next block."""
        if not block:
            return
        codes = np.frombuffer(block, np.uint8)
        quotes = np.flatnonzero(codes == _QUOTE)
        if quotes.size:
            before = codes[quotes - 1]
            if quotes[0] == 0:
                before[0] = self._previous_code
            is_after_mark = self._block_start == 0 and block[: quotes[0]] == BOM_UTF8
            if is_after_mark:
                before[0] = _LINE_END
            if not self._follow_in_turn(codes, quotes, before):
                self._follow_one_by_one(block, quotes, before)
        if self.opened is not None:
            start = self.opened - self._block_start
            self._takes_in_lines |= _has_line_end(block, start, len(block))
        self._block_start += len(block)
        self._previous_code = block[-1]

    def _follow_in_turn(self, codes: Codes, quotes: Ints, before: Codes) -> bool:
        """Follow quotes that open and close values in turn, and return whether they do.

        In nearly all files they do, which is quick to see. Of a doubled quote the first closes the
        value and the second opens it again.
        """
        first_opening = 0 if self.opened is None else 1
        first_closing = 1 - first_opening
        before_opening = before[first_opening::2]
        closing = quotes[first_closing::2]
        # At the end of the file the quote itself stands for what follows it.
        after_closing = codes[np.minimum(closing + 1, len(codes) - 1)]
        if not self._may_be_beside[before_opening].all():
            return False
        if not self._may_be_beside[after_closing].all():
            return False
        is_closed_at_end = (first_opening + quotes.size) % 2 == 0
        if is_closed_at_end:
            self.opened = None
            return True
        is_not_doubled = before_opening != _QUOTE
        opening = quotes[first_opening::2][is_not_doubled]
        if opening.size:
            self._open(int(opening[-1]))
        return True

    def _follow_one_by_one(self, block: bytes, quotes: Ints, before: Codes) -> None:
        """Follow the quotes where some stand inside of values or before other text."""
        may_open = self._may_be_beside[before] & (before != _QUOTE)
        places = quotes.tolist()
        is_second_of_two = False
        for number, place in enumerate(places):
            if self.opened is None:
                if may_open[number]:
                    self._open(place)
                continue
            if is_second_of_two:
                is_second_of_two = False
                continue
            is_doubled = places[number + 1 : number + 2] == [place + 1]
            if is_doubled:
                is_second_of_two = True
                continue
            if self._is_to_open_another(block, place):
                self.unclosed = self.opened
                return
            self.opened = None

    def _open(self, place: int) -> None:
        """Take the quote at a place of the block for one that opens a value."""
        self.opened = self._block_start + place
        self._takes_in_lines = False

    def _is_to_open_another(self, block: bytes, place: int) -> bool:
        """Whether the quote at a place, which closes a value of several lines, was to open one."""
        assert self.opened is not None
        start = self.opened - self._block_start
        if not (self._takes_in_lines or _has_line_end(block, start, place)):
            return False
        blanks = _BLANKS.match(block, place + 1)
        assert blanks is not None
        after = blanks.end()
        return after < len(block) and block[after] not in self._value_ends


def _has_line_end(block: bytes, start: int, stop: int) -> bool:
    """Whether there is a line end between two places of a block; a place before it is its start."""
    value = block[max(start, 0) : stop]
    return b"\n" in value or b"\r" in value
