"""Conditions on rows, such as ``p > 0.5 and region = 'north'``: what they mean for every engine.

A condition is parsed here. `rainproof.io.dialects` writes it in SQL, and `rainproof.io.filtering`
selects rows of Arrow by it.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Collection
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any, TypeVar

from rainproof.errors import InputError

Literal = str | int | float | bool

_PLAIN_NAME = r"[^\W\d][\w.]*"  # names of columns that need no quotes
_TOKEN = re.compile(
    rf"""\s*(?: (?P<number>[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?)
             | '(?P<text>(?:[^']|'')*)'
             | "(?P<quoted>(?:[^"]|"")+)"
             | (?P<operator><=|>=|<>|!=|==|=|<|>)
             | (?P<mark>[(),])
             | (?P<name>{_PLAIN_NAME}) )""",
    re.VERBOSE,
)
_KEYWORDS = {"and", "or", "not", "in", "is", "null", "nan", "true", "false"}
_SYNONYMS = {"==": "=", "<>": "!="}
_OPPOSITE = {"=": "!=", "!=": "=", "<": ">=", ">=": "<", ">": "<=", "<=": ">"}
_MAX_DEPTH = 100  # of parentheses: Python's stack and those of databases are limited
_MAX_INTEGER = (1 << 63) - 1  # of 64 bits; larger numbers are compared as doubles


@dataclass(frozen=True, slots=True)
class Condition:
    """A test of one column, or several conditions that are joined by ``and`` or ``or``.

    A test is false for a null and for NaN, unless it asks for them.

    Attributes
    ----------
    operator : str
        A comparison (``=``, ``!=``, ``<``, ``<=``, ``>``, ``>=``), ``in``, ``null`` or ``nan``,
        each of the last three also with ``not`` before it; or ``and`` or ``or``.
    column : str
        The column; empty for ``and`` and ``or``.
    values : tuple
        The literals that the column is compared with; for ``and`` and ``or`` the joined conditions.
    """

    operator: str
    column: str = ""
    values: tuple[Any, ...] = ()

    @property
    def is_joined(self) -> bool:
        """Whether this joins other conditions."""
        return self.operator in ("and", "or")

    @property
    def negated(self) -> bool:
        """Whether the test begins with ``not``."""
        return self.operator.startswith("not ")


Translation = TypeVar("Translation")


def quoted_column(name: str) -> str:
    """Return the name of a column as it stands in a condition: quoted where it must be."""
    if re.fullmatch(_PLAIN_NAME, name) and name.lower() not in _KEYWORDS:
        return name
    doubled = name.replace('"', '""')
    return f'"{doubled}"'


def columns_of(condition: Condition) -> set[str]:
    """Return the columns that a condition tests."""
    if not condition.is_joined:
        return {condition.column}
    columns: set[str] = set()
    for part in condition.values:
        columns |= columns_of(part)
    return columns


def translate(
    condition: Condition,
    translate_test: Callable[[Condition], Translation],
    both: Callable[[Translation, Translation], Translation],
    either: Callable[[Translation, Translation], Translation],
) -> Translation:
    """Translate a condition, given how tests, ``and`` and ``or`` are translated."""
    if not condition.is_joined:
        return translate_test(condition)
    join = both if condition.operator == "and" else either
    parts = [translate(part, translate_test, both, either) for part in condition.values]
    # In pairs, then pairs of pairs: databases limit how deep an expression may be nested.
    while len(parts) > 1:
        joined = [join(a, b) for a, b in zip(parts[::2], parts[1::2], strict=False)]
        is_odd = len(parts) % 2 == 1
        parts = [*joined, parts[-1]] if is_odd else joined
    return parts[0]


def literals_as_numbers(condition: Condition, columns: Collection[str]) -> Condition:
    """Return a condition in which texts are numbers, where these columns are compared with them.

    The columns hold floating-point numbers: with a number, the comparison is one of doubles, and
    false for NaN.
    """
    if condition.is_joined:
        parts = [literals_as_numbers(part, columns) for part in condition.values]
        return replace(condition, values=tuple(parts))
    if condition.column not in columns:
        return condition
    return replace(condition, values=tuple(_as_number(value) for value in condition.values))


def _as_number(value: Any) -> Any:
    """Return text that is a finite number as the number, anything else as it is."""
    with suppress(ValueError):
        if isinstance(value, str) and math.isfinite(float(value)):
            return float(value)
    return value


def parse(text: str) -> Condition:
    """Parse a condition; ``not`` is moved to the single tests."""
    parser = _Parser(text)
    condition = parser.disjunction(negated=False)
    parser.expect_end()
    return condition


class _Parser:
    """A recursive descent parser, with one method for each level of the grammar.

    ``not`` before a condition is handed down as `negated`: ``not (a and b)`` becomes
    ``not a or not b``.
    """

    def __init__(self, text: str) -> None:
        self._text = text
        self._start = 0  # of the current token
        self._end = 0
        self._kind = ""  # of the current token; empty at the end of the text
        self._value = ""
        self._depth = 0  # of parentheses
        self._advance()

    def disjunction(self, *, negated: bool) -> Condition:
        """Parse conditions joined by ``or``."""
        parts = [self._conjunction(negated=negated)]
        while self._accept("or"):
            parts.append(self._conjunction(negated=negated))
        return _joined("and" if negated else "or", parts)

    def expect_end(self) -> None:
        if self._kind:
            raise self._error("'and', 'or' or the end")

    def _conjunction(self, *, negated: bool) -> Condition:
        parts = [self._factor(negated=negated)]
        while self._accept("and"):
            parts.append(self._factor(negated=negated))
        return _joined("or" if negated else "and", parts)

    def _factor(self, *, negated: bool) -> Condition:
        """Parse a test or a condition in parentheses, and each ``not`` before it."""
        while self._accept("not"):
            negated = not negated
        if not self._accept("("):
            return self._test(negated=negated)
        self._depth += 1
        if self._depth > _MAX_DEPTH:
            raise InputError(f"where must not nest more than {_MAX_DEPTH} parentheses")
        condition = self.disjunction(negated=negated)
        self._expect(")")
        self._depth -= 1
        return condition

    def _test(self, *, negated: bool) -> Condition:
        if self._kind not in ("name", "quoted"):
            raise self._error("a column")
        column = self._advance()
        if self._accept("is"):
            return self._missing_test(column, negated=negated)
        if self._accept("not"):
            self._expect("in")
            return self._membership(column, negated=not negated)
        if self._accept("in"):
            return self._membership(column, negated=negated)
        return self._comparison(column, negated=negated)

    def _missing_test(self, column: str, *, negated: bool) -> Condition:
        if self._accept("not"):
            negated = not negated
        if self._kind != "keyword" or self._value not in ("null", "nan"):
            raise self._error("null or nan")
        operator = self._advance()
        return Condition(f"not {operator}" if negated else operator, column)

    def _membership(self, column: str, *, negated: bool) -> Condition:
        self._expect("(")
        values = [self._literal()]
        while self._accept(","):
            values.append(self._literal())
        self._expect(")")
        return Condition("not in" if negated else "in", column, tuple(values))

    def _comparison(self, column: str, *, negated: bool) -> Condition:
        if self._kind != "operator":
            raise self._error("a comparison")
        written = self._advance()
        operator = _SYNONYMS.get(written, written)
        if negated:
            operator = _OPPOSITE[operator]
        return Condition(operator, column, (self._literal(),))

    def _literal(self) -> Literal:
        if self._kind == "number":
            return self._number()
        if self._kind == "text":
            return self._advance()
        if self._kind == "keyword" and self._value in ("true", "false"):
            return self._advance() == "true"
        raise self._error("a number, 'text', true or false")

    def _number(self) -> int | float:
        number = float(self._value)
        if math.isinf(number):
            raise self._error("a number that a double can hold")
        written = self._advance()
        if re.search("[.eE]", written) or abs(number) > _MAX_INTEGER:
            return number
        return int(written)

    def _accept(self, word: str) -> bool:
        """Move on if the current token is this keyword or mark, and return whether it is."""
        if self._kind not in ("keyword", "mark") or self._value != word:
            return False
        self._advance()
        return True

    def _expect(self, word: str) -> None:
        if not self._accept(word):
            raise self._error(repr(word))

    def _advance(self) -> str:
        """Move to the next token, and return the value of the one before it."""
        previous = self._value
        self._start = self._end
        match = _TOKEN.match(self._text, self._start)
        if match is None:
            if self._text[self._start :].strip():
                raise self._error("a column, a comparison or a literal")
            self._kind = ""
            self._value = ""
            self._end = len(self._text)
            return previous
        self._end = match.end()
        self._kind = match.lastgroup or ""
        self._value = match[self._kind]
        if self._kind == "text":
            self._value = self._value.replace("''", "'")
        elif self._kind == "quoted":
            self._value = self._value.replace('""', '"')
        elif self._kind == "name" and self._value.lower() in _KEYWORDS:
            self._kind = "keyword"
            self._value = self._value.lower()
        return previous

    def _error(self, wanted: str) -> InputError:
        rest = self._text[self._start :].strip()
        present = repr(rest) if rest else "its end"
        rule = "where must be a condition such as \"p is not null and region = 'north'\""
        return InputError(f"{rule}; {self._text!r} has {present} where {wanted} should be")


def _joined(operator: str, parts: list[Condition]) -> Condition:
    if len(parts) == 1:
        return parts[0]
    return Condition(operator, values=tuple(parts))
