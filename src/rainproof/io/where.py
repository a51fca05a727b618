"""Which columns and rows of a source are read: the same names and conditions for every engine."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar
from typing import Literal as Choice

from rainproof.core.door import ColumnNames, plain
from rainproof.core.segments import OLD_CELL
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


class Complete:
    """A condition on rows, or None, beside which rows that miss a value in one of some columns are left out.

    Attributes
    ----------
    where : str or None
        The condition.
    there : Condition
        That no value is missing.
    counts : tuple of int or None
        How many of the rows that meet the condition were left out, and how many meet it, once they are read.
    """

    def __init__(self, columns: Sequence[str], where: str | None) -> None:
        quoted = ['"' + column.replace('"', '""') + '"' for column in columns]
        self._text = " and ".join(f"{column} is not null and {column} is not nan" for column in quoted)
        self.where, self.there = where, parse(self._text)
        self.counts: tuple[int, int] | None = None

    def __str__(self) -> str:
        return self._text if self.where is None else f"({self.where}) and {self._text}"


@dataclass(frozen=True, kw_only=True, slots=True)
class ColumnSpec:
    """The columns and rows to read from a source.

    Attributes
    ----------
    prob : str or tuple of str
        The column of predictions; with several classes one column for each.
    outcome : str
        The column of outcomes.
    old : str or None
        The column of another forecast for the same rows, which `prob` is to replace.
    weight : str or None
        The column of weights.
    by : tuple of str
        The columns that define segments.
    where : Condition or None
        The condition on rows, where it was given as text.
    native : object
        The condition on rows, where it was given as an expression of the source's own library.
    complete : Complete or None
        The columns of which no value may be missing, if rows that miss one are left out.
    pos_label : object
        The label of the event, or None for labels 0 and 1.
    percent : bool
        Whether predictions are in percent.
    confidence_words : mapping of str to float, or None
        The number that each word in the columns of predictions stands for.
    trials : str or None
        The column of trials, of which the outcome is the number with the event.
    """

    prob: str | tuple[str, ...]
    outcome: str
    old: str | None = None
    weight: str | None = None
    by: tuple[str, ...] = ()
    where: Condition | None = None
    native: Any = None
    complete: Complete | None = None
    pos_label: Any = None
    percent: bool = False
    confidence_words: Mapping[str, float] | None = None
    trials: str | None = None

    def __post_init__(self) -> None:
        if self.old == self.prob:
            raise InputError(f"the two forecasts must be different columns; both are {self.prob}")
        if self.trials is not None and self.pos_label is not None:
            raise InputError("trials cannot be combined with pos_label: the outcome is then a number of events")
        columns = [*self.value_columns(), *self.by]
        if len(set(columns)) < len(columns):
            also = " and by" if self.by else ""
            raise InputError(f"prob, outcome and weight{also} must be different columns; they are {', '.join(columns)}")
        reserved = [column for column in self.by if column.lower().startswith("rainproof_")]
        if reserved:
            raise InputError(
                f"by must not name columns that begin with rainproof_, as the sums do; it is {reserved[0]!r}"
            )

    @classmethod
    def from_arguments(
        cls,
        prob: str | Sequence[str],
        outcome: str,
        *,
        weight: str | None,
        by: str | Sequence[str] | None,
        where: Any,
        pos_label: Any,
        pair: bool = False,
        percent: bool = False,
        confidence_words: Mapping[str, float] | None = None,
        trials: str | None = None,
    ) -> ColumnSpec:
        """Check the arguments of `scan` and `sql`, and read a condition that is text."""
        segments = () if by is None else _names("by", by)
        predictions = _names("prob", prob)
        if pair and segments:
            raise InputError("by cannot be combined with two forecasts: select the rows of a segment with where")
        complete = where if isinstance(where, Complete) else None
        where = where if complete is None else complete.where
        text = isinstance(where, str)
        return cls(
            prob=predictions[-1] if pair or isinstance(prob, str) else predictions,
            old=predictions[0] if pair else None,
            outcome=_name("outcome", outcome),
            weight=None if weight is None else _name("weight", weight),
            by=segments,
            where=parse(where) if text else None,
            native=None if text else where,
            complete=complete,
            pos_label=plain(pos_label),
            percent=percent,
            confidence_words=confidence_words,
            trials=None if trials is None else _name("trials", trials),
        )

    @property
    def names(self) -> ColumnNames:
        """The names of the columns, for error messages."""
        prob = self.prob if isinstance(self.prob, str) else ", ".join(self.prob)
        return ColumnNames(label=self.outcome, prob=prob, weight=self.weight or "", old=self.old or "")

    @property
    def is_plain(self) -> bool:
        """Whether the values are read as they are, which every engine can do."""
        special = (self.confidence_words, self.trials, self.complete)
        return not self.percent and all(one is None for one in special)

    @property
    def has_other_labels(self) -> bool:
        """Whether the labels besides `pos_label` have to be checked: a bool has one opposite only."""
        return self.pos_label is not None and not isinstance(self.pos_label, bool)

    def value_columns(self) -> list[str]:
        """List the columns that sums are made of."""
        prob = [self.prob] if isinstance(self.prob, str) else [*self.prob]
        others = [name for name in (self.weight, self.old, self.trials) if name is not None]
        return [*prob, self.outcome, *others]

    @property
    def forecasts(self) -> tuple[str, ...]:
        """The names of the two forecasts, if there are two."""
        return () if self.old is None else (self.old, str(self.prob))

    def group_columns(self) -> tuple[str, ...]:
        """List the columns that groups are made by, besides the cell of the prediction and the outcome."""
        return self.by if self.old is None else (OLD_CELL,)

    def all_columns(self) -> list[str]:
        """List every column to read, each once."""
        conditions = (self.where, None if self.complete is None else self.complete.there)
        asked = (name for one in conditions if one is not None for name in sorted(columns_of(one)))
        return list(dict.fromkeys([*self.value_columns(), *self.by, *asked]))


def _names(argument: str, value: Any) -> tuple[str, ...]:
    several = isinstance(value, Sequence) and not isinstance(value, str)
    names = tuple(_name(argument, one) for one in (value if several else [value]))
    if not names:
        raise InputError(f"{argument} must name at least one column")
    return names


def _name(argument: str, value: Any) -> str:
    if not isinstance(value, str):
        raise InputError(f"{argument} must be the name of a column, as text; it is {value!r}")
    return value
