"""What the value of an option may be, and how it is read: numbers, shares, names of files.

The options themselves are in `rainproof.cli.options`. NumPy is imported by what needs it: help and
wrong arguments do not.
"""

from __future__ import annotations

import argparse
import math
from collections.abc import Callable, Container
from decimal import Decimal
from pathlib import Path
from typing import Any


def typed(rule: str, read: Callable[[str], Any]) -> Callable[[str], Any]:
    """Return the type of an option: its errors name the option and the rule, not the library's
    parameter.
    """

    def checked(text: str) -> Any:
        try:
            return read(text)
        except (ArithmeticError, ValueError):  # also an `InputError`
            raise argparse.ArgumentTypeError(f"must be {rule}; it is {text!r}") from None

    return checked


def _above_zero(number: float, limit: float) -> float:
    """Return a number above 0 and below a limit."""
    if not 0 < number < limit:
        raise ValueError
    return number


def _positive(text: str) -> float:
    return _above_zero(float(text), math.inf)


def _probability(text: str) -> float:
    return _above_zero(float(text), 1.0)


def _share(text: str) -> float:
    bare = text.strip()
    if bare.endswith("%"):
        # With an exponent 59.2% is the nearest double to 0.592; a division would round again.
        bare = f"{bare[:-1].strip()}e-2"
    return _above_zero(float(bare), 1.0)


def _shares(text: str) -> list[float]:
    """Read one share, such as 0.005 or 0.5%, or several with commas between them."""
    shares = []
    for part in text.split(","):
        number = Decimal(part.strip().removesuffix("%"))
        shares.append(float(number / 100 if "%" in part else number))
    return shares


def _cost(text: str) -> float | str:
    try:
        number = float(text)
    except ValueError:
        return text  # the name of a column
    return _above_zero(number, math.inf)


def _threshold_range(text: str) -> Any:
    from rainproof.core.validation import check_range

    ends = _shares(text)
    return check_range(ends[0] if len(ends) == 1 else ends)


def _base_rate(text: str) -> Any:
    from rainproof.core.validation import check_base_rate

    low, high = check_base_rate(_shares(text))
    return low if low == high else (low, high)


def _capacity(text: str) -> float:
    from rainproof.core.validation import check_capacity

    (number,) = _shares(text)
    return _above_zero(number, 1.0) if "%" in text else check_capacity(number)


def _separator(text: str) -> str:
    character = {"\\t": "\t", "tab": "\t"}.get(text, text)
    if len(character) != 1 or not character.isascii() or character in '"\r\n':
        raise ValueError
    return character


def _named(text: str) -> str:
    """Return the name of a file; an empty one, as of a variable that is not set, would be the
    current folder.
    """
    if not text:
        raise ValueError
    return text


def _local(text: str) -> str:
    """Return the name of a file on this machine: an address is none, and a folder of its name could
    hold a password.
    """
    if "://" in text:
        raise ValueError
    return _named(text)


def _local_path(text: str) -> Path:
    return Path(_local(text))


def whole_number(rule: str, known: Container[int]) -> Callable[[str], Any]:
    """Return the type of a whole number that is one of those that are known."""

    def read(text: str) -> int:
        if not text.isdecimal() or int(text) not in known:
            raise ValueError
        return int(text)

    return typed(rule, read)


source = typed("the name of a file", _named)
file_name = typed("the name of a file on this machine", _local)
path = typed("the name of a file on this machine", _local_path)
folder = typed("the name of a folder on this machine", _local_path)
separator = typed("one character, such as ';' or tab", _separator)
probability = typed("a number above 0 and below 1", _probability)
share = typed("a share such as 0.9 or 90%", _share)
positive = typed("a positive, finite number", _positive)
cost = typed("a positive, finite number, or the name of a column", _cost)
seed = whole_number("an integer from 0 to 2**64 - 1", range(1 << 64))
base_rate = typed(
    "a number above 0 and below 1, such as 0.5%, or two, the smaller one first, such as 0.3%,1%",
    _base_rate,
)
threshold_range = typed(
    "a number above 0 and below 1, or two from 0 to 1, the smaller one first, such as 5%,20%",
    _threshold_range,
)
capacity = typed(
    "a share of the cases below 1, such as 2% or 0.02, or a whole number of them, such as 200",
    _capacity,
)
