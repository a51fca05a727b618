"""What statements hold: numbers with the digits they are shown with, names and options.

Digits are chosen here, jointly where numbers stand beside each other, when a statement is made;
templates never format. What a statement says is in `templates`.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

from rainproof.core.result import Interval
from rainproof.core.text import at_least, at_most, p_value, percent, rounded


class Share(NamedTuple):
    """A share in percent, to so many significant digits; near 100% as many as its complement
    has.
    """

    value: float
    digits: int = 2

    def __str__(self) -> str:
        points = round(100 * self.value, 9)
        near = abs(points)
        if points > 50:
            near = min(near, abs(100 - points))
        decimals = self.digits - 2
        if 0 < near < 10:
            decimals = self.digits - 1 - math.floor(math.log10(near))
        return f"{rounded(points, decimals)}%"


class Level(NamedTuple):
    """A share that somebody stated, as people write it: 95%."""

    value: float

    def __str__(self) -> str:
        return percent(self.value)


class Money(NamedTuple):
    """A cost with so many decimals."""

    value: float
    decimals: int

    def __str__(self) -> str:
        return rounded(self.value, self.decimals)


class Count(NamedTuple):
    """A number of things, which need not be whole where rows are weighted."""

    value: float

    def __str__(self) -> str:
        return f"{self.value:,.6g}" if self.value < 1e6 else f"{self.value:,.0f}"


class Number(NamedTuple):
    """A number without a unit, in a format."""

    value: float
    form: str

    def __str__(self) -> str:
        return format(self.value, self.form)


class PValue(NamedTuple):
    """A p-value, with its name."""

    value: float

    def __str__(self) -> str:
        return p_value(self.value)


class Bound(NamedTuple):
    """A proven bound of a share, rounded to the side that keeps it one."""

    value: float
    is_upper: bool = True

    def __str__(self) -> str:
        return at_most(self.value) if self.is_upper else at_least(self.value)


class Ranged(NamedTuple):
    """An estimate and the ends of its interval, which has none where nothing varies."""

    value: Share | Money | Number
    low: Share | Money | Number | None = None
    high: Share | Money | Number | None = None

    def __str__(self) -> str:
        return str(self.value) if self.low is None else f"{self.value} ({self.low} to {self.high})"


class Name(str):
    """A name that users gave, as it is shown."""

    __slots__ = ()


class Option(NamedTuple):
    """A parameter of Python, or an option of the command; the voice says which."""

    name: str


class Listing(NamedTuple):
    """Several values with something between them."""

    items: Sequence[Any]
    between: str = ", "


def shares_apart(one: float, other: float) -> tuple[Share, Share]:
    """Two shares, with as many digits as show that they differ."""
    for digits in (2, 3, 4):
        found = Share(one, digits), Share(other, digits)
        if str(found[0]) != str(found[1]):
            return found
    return Share(one), Share(other)


def money(amount: float, difference: float = 0.0) -> Money:
    """A cost with as many decimals as two digits of a difference need; two digits of its own
    without one.
    """
    scale = abs(difference) or abs(amount) or 1.0
    return Money(amount, min(max(0, 1 - math.floor(math.log10(scale))), 12))


def estimated(cost: Interval) -> Ranged:
    """A cost with its interval, with as many decimals as two digits of its error need."""
    error = (cost.high - cost.low) / 2
    if error == 0:
        return Ranged(Number(cost.value, ".3g"))
    return Ranged(money(cost.value, error), money(cost.low, error), money(cost.high, error))


def estimated_share(share: Interval) -> Ranged:
    """A share with its interval."""
    return Ranged(Share(share.value), Share(share.low), Share(share.high))
