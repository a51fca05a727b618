"""Conditions on rows, as text that means the same for every engine.

::

    condition = column op literal          op: = == != <> < <= > >=
              | column is [not] null
              | column is [not] nan
              | column [not] in (literal, ...)
              | not condition | condition and condition | condition or condition | (condition)

A column is a name, perhaps in double quotes; a literal is a number, 'text', true or false. Every condition is true
or false for a row: every comparison with a null or a NaN is false.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal as Choice
from typing import TypeVar

from rainproof.errors import InputError

Literal = str | int | float | bool

_TOKEN = re.compile(
    r"""\s*(?: (?P<number>[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?)
             | '(?P<text>(?:[^']|'')*)'
             | "(?P<quoted>(?:[^"]|"")+)"
             | (?P<op><=|>=|<>|!=|==|=|<|>)
             | (?P<mark>[(),])
             | (?P<name>[^\W\d][\w.]*) )""",
    re.VERBOSE,
)
_OPPOSITE = {"=": "!=", "!=": "=", "<": ">=", ">=": "<", ">": "<=", "<=": ">"}
_SPELT = {"==": "=", "<>": "!="}
_DEEPEST = 100  # nested parentheses
_KEYWORDS = {"and", "or", "not", "in", "is", "null", "nan", "true", "false"}


@dataclass(frozen=True, slots=True)
class Comparison:
    """A column compared with a literal; false for null and NaN."""

    column: str
    op: str
    value: Literal


@dataclass(frozen=True, slots=True)
class IsIn:
    """A column that is (not) one of some literals; false for null and NaN, also if negated."""

    column: str
    values: tuple[Literal, ...]
    negated: bool


@dataclass(frozen=True, slots=True)
class IsMissing:
    """A column that is (not) null, or (not) NaN."""

    column: str
    kind: Choice["null", "nan"]
    negated: bool


@dataclass(frozen=True, slots=True)
class And:
    """A condition of which all parts must hold."""

    parts: tuple[Condition, ...]


@dataclass(frozen=True, slots=True)
class Or:
    """A condition of which at least one part must hold."""

    parts: tuple[Condition, ...]


Condition = Comparison | IsIn | IsMissing | And | Or
Result = TypeVar("Result")


def columns_of(condition: Condition) -> set[str]:
    """Return the columns of a condition."""
    if isinstance(condition, And | Or):
        return set().union(*map(columns_of, condition.parts))
    return {condition.column}


def fold(
    condition: Condition,
    leaf: Callable[[Comparison | IsIn | IsMissing], Result],
    both: Callable[[Result, Result], Result],
    either: Callable[[Result, Result], Result],
) -> Result:
    """Translate a condition, given the translations of leaves, of `and` and of `or`."""
    if not isinstance(condition, And | Or):
        return leaf(condition)
    join = both if isinstance(condition, And) else either
    parts = [fold(part, leaf, both, either) for part in condition.parts]
    while len(parts) > 1:  # in pairs, as databases limit the depth of expressions
        pairs = [join(a, b) for a, b in zip(parts[::2], parts[1::2], strict=False)]
        parts = pairs + parts[2 * len(pairs) :]
    return parts[0]


def parse(text: str) -> Condition:
    """Parse a condition; `not` is moved to the leaves, which are negated."""
    parser = _Parser(text)
    condition = parser.either(negated=False)
    parser.end()
    return condition


class _Parser:
    """A recursive descent parser, with one method for each level of the grammar."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._at = 0
        self._depth = 0
        self._kind, self._value = "", ""
        self._next()

    def either(self, *, negated: bool) -> Condition:
        parts = [self._both(negated)]
        while self._take("or"):
            parts.append(self._both(negated))
        return parts[0] if len(parts) == 1 else (And if negated else Or)(tuple(parts))

    def end(self) -> None:
        if self._kind:
            raise self._error("'and', 'or' or the end")

    def _both(self, negated: bool) -> Condition:
        parts = [self._one(negated)]
        while self._take("and"):
            parts.append(self._one(negated))
        return parts[0] if len(parts) == 1 else (Or if negated else And)(tuple(parts))

    def _one(self, negated: bool) -> Condition:
        while self._take("not"):
            negated = not negated
        if self._take("("):
            self._depth += 1
            if self._depth > _DEEPEST:
                raise InputError(f"where must not nest more than {_DEEPEST} parentheses")
            inside = self.either(negated=negated)
            self._must(")")
            self._depth -= 1
            return inside
        return self._leaf(negated)

    def _leaf(self, negated: bool) -> Condition:
        if self._kind not in ("name", "quoted"):
            raise self._error("a column")
        column = self._next()
        if self._take("is"):
            negated ^= self._take("not")
            if self._kind == "keyword" and self._value in ("null", "nan"):
                return IsMissing(column, "null" if self._next() == "null" else "nan", negated)
            raise self._error("null or nan")
        opposite = self._take("not")
        if opposite:
            self._must("in")
        if opposite or self._take("in"):
            return IsIn(column, self._list(), negated ^ opposite)
        if self._kind != "op":
            raise self._error("a comparison")
        op = self._next()
        op = _SPELT.get(op, op)
        return Comparison(column, _OPPOSITE[op] if negated else op, self._literal())

    def _list(self) -> tuple[Literal, ...]:
        self._must("(")
        values = [self._literal()]
        while self._take(","):
            values.append(self._literal())
        self._must(")")
        return tuple(values)

    def _literal(self) -> Literal:
        kind, value = self._kind, self._value
        if kind == "number":
            number = float(value)
            if math.isinf(number):
                raise self._error("a number that a double can hold")
            self._next()
            return number if re.search("[.eE]", value) or abs(number) >= 1 << 63 else int(value)
        if kind == "text" or (kind == "keyword" and value in ("true", "false")):
            self._next()
            return value if kind == "text" else value == "true"
        raise self._error("a number, 'text', true or false")

    def _take(self, word: str) -> bool:
        if self._kind not in ("keyword", "mark") or self._value != word:
            return False
        self._next()
        return True

    def _must(self, word: str) -> None:
        if not self._take(word):
            raise self._error(repr(word))

    def _next(self) -> str:
        """Move to the next token, and return the value of the last one."""
        last = self._value
        self._before = self._at
        match = _TOKEN.match(self._text, self._at)
        if match is None:
            if self._text[self._at :].strip():
                raise self._error("a column, a comparison or a literal")
            self._kind, self._value, self._at = "", "", len(self._text)
            return last
        self._at = match.end()
        self._kind = match.lastgroup or ""
        self._value = match[self._kind]
        if self._kind == "name" and self._value.lower() in _KEYWORDS:
            self._kind, self._value = "keyword", self._value.lower()
        if self._kind in ("text", "quoted"):
            quote = "'" if self._kind == "text" else '"'
            self._value = self._value.replace(2 * quote, quote)
        return last

    def _error(self, wanted: str) -> InputError:
        found = self._text[self._before :].strip()
        return InputError(
            f"where must be a condition such as \"p is not null and region = 'north'\"; {self._text!r} has "
            f"{repr(found) if found else 'its end'} where {wanted} should be"
        )
