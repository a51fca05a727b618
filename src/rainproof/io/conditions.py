"""Which rows of a source are read: the same conditions for every engine."""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeVar

from rainproof.errors import InputError

Literal = str | int | float | bool

_WORD = r"""\s*(?: (?P<number>[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?)
             | '(?P<text>(?:[^']|'')*)'
             | "(?P<quoted>(?:[^"]|"")+)"
             | (?P<op><=|>=|<>|!=|==|=|<|>)
             | (?P<mark>[(),])
             | (?P<name>[^\W\d][\w.]*) )"""
_OPPOSITE = {"=": "!=", "!=": "=", "<": ">=", ">=": "<", ">": "<=", "<=": ">"}
_SPELT = {"==": "=", "<>": "!="}
_DEEPEST = 100  # nested parentheses
_KEYWORDS = {"and", "or", "not", "in", "is", "null", "nan", "true", "false"}


@dataclass(frozen=True, slots=True)
class Condition:
    """A test of one column, which is false for a null and for NaN, or several conditions that are
    joined.

    Attributes
    ----------
    op : str
        A comparison (``=``, ``!=``, ``<``, ``<=``, ``>``, ``>=``), ``in``, ``null`` or ``nan``,
        each of the last three also with ``not`` before it; or ``and`` or ``or``.
    column : str
        The column.
    values : tuple
        The literals that it is compared with; of ``and`` and ``or`` the conditions that are joined.
    """

    op: str
    column: str = ""
    values: tuple[Any, ...] = ()

    @property
    def negated(self) -> bool:
        """Whether the test begins with ``not``."""
        return self.op.startswith("not ")


Result = TypeVar("Result")


def quoted_column(name: str) -> str:
    """Return the name of a column as a condition has it: quoted where it must be."""
    if re.fullmatch(r"[^\W\d][\w.]*", name) and name.lower() not in _KEYWORDS:
        return name
    return '"{}"'.format(name.replace('"', '""'))


def columns_of(condition: Condition) -> set[str]:
    """Return the columns of a condition."""
    if condition.op in ("and", "or"):
        return set().union(*map(columns_of, condition.values))
    return {condition.column}


def fold(
    condition: Condition,
    leaf: Callable[[Condition], Result],
    both: Callable[[Result, Result], Result],
    either: Callable[[Result, Result], Result],
) -> Result:
    """Translate a condition, given the translations of leaves, of `and` and of `or`."""
    if condition.op not in ("and", "or"):
        return leaf(condition)
    join = both if condition.op == "and" else either
    parts = [fold(part, leaf, both, either) for part in condition.values]
    while len(parts) > 1:  # in pairs, as databases limit the depth of expressions
        pairs = [join(a, b) for a, b in zip(parts[::2], parts[1::2], strict=False)]
        parts = pairs + parts[2 * len(pairs) :]
    return parts[0]


def parse(text: str) -> Condition:
    """Parse a condition; `not` is moved to the leaves, which are negated."""
    parser = _Parser(text)
    condition = parser.either(False)
    parser.end()
    return condition


class _Parser:
    """A recursive descent parser, with one method for each level of the grammar."""

    def __init__(self, text: str) -> None:
        self._text, self._token = text, re.compile(_WORD, re.VERBOSE)
        self._at = 0
        self._depth = 0
        self._kind, self._value = "", ""
        self._next()

    def either(self, negated: bool) -> Condition:
        return self._joined("or", "and" if negated else "or", self._both, negated)

    def end(self) -> None:
        if self._kind:
            raise self._error("'and', 'or' or the end")

    def _both(self, negated: bool) -> Condition:
        return self._joined("and", "or" if negated else "and", self._one, negated)

    def _joined(
        self, word: str, op: str, part: Callable[[bool], Condition], negated: bool
    ) -> Condition:
        parts = [part(negated)]
        while self._take(word):
            parts.append(part(negated))
        return parts[0] if len(parts) == 1 else Condition(op, values=tuple(parts))

    def _one(self, negated: bool) -> Condition:
        while self._take("not"):
            negated = not negated
        if self._take("("):
            self._depth += 1
            if self._depth > _DEEPEST:
                raise InputError(f"where must not nest more than {_DEEPEST} parentheses")
            inside = self.either(negated)
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
                return Condition(f"{'not ' * negated}{self._next()}", column)
            raise self._error("null or nan")
        opposite = self._take("not")
        if opposite:
            self._must("in")
        if opposite or self._take("in"):
            self._must("(")
            values = [self._literal()]
            while self._take(","):
                values.append(self._literal())
            self._must(")")
            return Condition("not in" if negated ^ opposite else "in", column, tuple(values))
        if self._kind != "op":
            raise self._error("a comparison")
        op = self._next()
        op = _SPELT.get(op, op)
        return Condition(_OPPOSITE[op] if negated else op, column, (self._literal(),))

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
        match = self._token.match(self._text, self._at)
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
