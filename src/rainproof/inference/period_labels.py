"""Whether periods that are sorted as text are in order of time; those that are not are refused,
with what to write.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import pairwise
from typing import NamedTuple

from rainproof.errors import InputError

_DAY_FIRST = re.compile(r"\d{1,2}([./-])\d{1,2}\1\d{2,4}.*", re.DOTALL)  # 3/2/2026
_HALF_DAY = re.compile(r".*\d:\d\d.*\b[ap]\.?m\b.*", re.DOTALL | re.IGNORECASE)  # 2:05 pm
_ZONE = re.compile(r"\d:\d\d[\d:.,]*\s*(Z|UTC|[+-]\d\d(?::?\d\d)?)$")
_YEAR = re.compile(r"(?<!\d)(?:19|20)\d\d(?!\d)")
# Q1 26, 1H26: of two digits, only the last are a year
_PART_AND_SHORT_YEAR = re.compile(r"\s*(?:[hqst]\d\W+|\d[hqst]\W*)(\d\d)\s*", re.IGNORECASE)
_CENTURY = 2000
_ORDINAL_ENDINGS = ("st", "nd", "rd", "th")
_WORD_AND_YEAR = re.compile(r"\s*([^\W\d_]{3,})\W*(?:19|20)\d\d\s*")  # a month in any language
_YEAR_AND_MONTH = re.compile(r"(?:19|20)\d\d\.\d\d?")
_NUMBER_OR_WORD = re.compile(r"\d+|[^\W\d_]+")
_MONTHS = (
    "january",
    "february",
    "march",
    "april",
    "may",
    "june",
    "july",
    "august",
    "september",
    "october",
    "november",
    "december",
)
_WEEKDAYS = ("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday")
_SHORT = 3  # letters of an abbreviation: Mar, Mon


def _numbered(names: Sequence[str]) -> dict[str, int]:
    """Number names, and their abbreviations, from 1 on."""
    numbers = {}
    for number, name in enumerate(names, 1):
        numbers[name] = number
        numbers[name[:_SHORT]] = number
    return numbers


_MONTH_NUMBERS = {**_numbered(_MONTHS), "sept": 9}
_WEEKDAY_NUMBERS = _numbered(_WEEKDAYS)


class _Time(NamedTuple):
    """What puts labels of one form in order of time."""

    year: int
    month: int
    numbers: tuple[int, ...]
    weekday: int


def are_numbers(labels: Sequence[str]) -> bool:
    """Whether labels are numbers; 2026.9 and 2026.10 are months."""
    if all(map(_YEAR_AND_MONTH.fullmatch, labels)):
        return False
    try:
        for label in labels:
            float(label)
    except ValueError:
        return False
    return True


def check_text_order(name: str, labels: Sequence[str]) -> None:
    """Refuse labels of periods whose order as text, in which they are given, is not that of time.

    Labels of one form, such as "Mar 2026" and "Apr 2026", are compared with each other.

    Parameters
    ----------
    name : str
        What messages call the column.
    labels : sequence of str
        The labels, sorted as text.
    """
    rule = f"{name} must be in order as text"
    for label in labels:
        if _DAY_FIRST.fullmatch(label):
            raise InputError(f"{rule}, such as 2026-03-02; it has {label!r}")
        if _HALF_DAY.fullmatch(label):
            raise InputError(f"{rule}, such as 2026-03-02 14:05; it has {label!r}")
    zones: dict[str, str] = {}
    for label in labels:
        zones.setdefault(_zone(label), label)
    if len(zones) > 1:
        first, second, *_ = zones.values()
        example = "2026-03-02 14:05+00:00"
        raise InputError(
            f"{name} must be in one time zone, such as {example}; it has {first!r} and {second!r}"
        )
    words = {}
    for label in labels:
        found = _WORD_AND_YEAR.fullmatch(label)
        if found is not None:
            words[found[1].lower()] = label
    if len(words) > 1 and not set(words) <= set(_MONTH_NUMBERS):
        first, second, *_ = words.values()
        raise InputError(f"{rule}, such as 2026-03; it has {first!r} before {second!r}")
    forms: dict[str, list[tuple[_Time, str]]] = {}
    for label in labels:
        form, time = _read(label)
        forms.setdefault(form, []).append((time, label))
    for times in forms.values():
        for (earlier, label), (later, following) in pairwise(times):
            if later < earlier:
                example = _example(following, labels)
                raise InputError(
                    f"{rule}, such as {example}; it has {label!r} before {following!r}"
                )


def _zone(label: str) -> str:
    """Return the time zone that a time states, or nothing."""
    found = _ZONE.search(label)
    zone = "" if found is None else found[1].replace(":", "")
    return "+0000" if zone in ("Z", "UTC", "+00", "-0000") else zone


class _Year(NamedTuple):
    """A year, and where it stands in a label."""

    number: int
    start: int
    end: int


def _year_of(label: str) -> _Year | None:
    """Return the year that a label states; of two digits only after a quarter or a half."""
    found = _YEAR.search(label)
    if found is not None:
        return _Year(int(found[0]), *found.span())
    found = _PART_AND_SHORT_YEAR.fullmatch(label)
    if found is not None:
        return _Year(_CENTURY + int(found[1]), *found.span(1))
    return None


def _read(label: str) -> tuple[str, _Time]:
    """Return the form of a label, in which numbers and names of months and weekdays are left out,
    and its time.
    """
    year = _year_of(label)
    months: list[int] = []
    weekdays: list[int] = []
    numbers: list[int] = []

    def form_of(part: re.Match[str]) -> str:
        """What stands for a number or a word in the form; its time is noted."""
        word = part[0].lower()
        if year is not None and part.span() == (year.start, year.end):
            return "Y"
        if word in _ORDINAL_ENDINGS and label[: part.start()][-1:].isdecimal():
            return _ORDINAL_ENDINGS[0]
        for number_of, named in ((_MONTH_NUMBERS, months), (_WEEKDAY_NUMBERS, weekdays)):
            if word in number_of and not named:
                named.append(number_of[word])
                return "M"
        if not part[0].isdecimal():
            return part[0]
        numbers.append(int(part[0]))
        return "0"

    form = _NUMBER_OR_WORD.sub(form_of, label)
    return form, _Time(
        0 if year is None else year.number,
        months[0] if months else 0,
        tuple(numbers),
        weekdays[0] if weekdays else 0,
    )


def _example(label: str, labels: Sequence[str]) -> str:
    """Return what to write for a label, so that its order as text is that of time."""
    _, time = _read(label)
    if time.month or time.weekday:
        return "2026-03-02" if time.weekday or time.numbers else "2026-03"
    year = _year_of(label)
    if year is not None and year.start > 0:
        rest = " ".join(f"{label[: year.start]} {label[year.end :]}".split())
        return repr(f"{year.number} {rest}")
    # the longest of all numbers but years: shorter ones are filled with zeros
    width = 0
    for other in labels:
        numbers = re.findall(r"\d+", _YEAR.sub("", other))
        width = max([width, *map(len, numbers)])
    return repr(re.sub(r"\d+", lambda number: number[0].zfill(width), label))
