"""Which columns and rows of a source are read: the same names and conditions for every engine."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

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
class Condition:
    """A test of one column, which is false for a null and for NaN, or several conditions that are joined.

    Attributes
    ----------
    op : str
        A comparison (``=``, ``!=``, ``<``, ``<=``, ``>``, ``>=``), ``in``, ``null`` or ``nan``, each of the last three
        also with ``not`` before it; or ``and`` or ``or``.
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
        self._text = text
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

    def _joined(self, word: str, op: str, part: Callable[[bool], Condition], negated: bool) -> Condition:
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


@dataclass(frozen=True, kw_only=True, slots=True)
class ColumnSpec:
    """The columns and rows to read from a source.

    Attributes
    ----------
    prob : str or tuple of str
        The column of predictions; with several classes one column for each.
    outcome : str
        The column of outcomes.
    others : tuple of str
        The columns of other forecasts for the same rows; where rows are compressed, the one that `prob` is to replace.
    weight : str or None
        The column of weights.
    by : tuple of str
        The columns that define segments.
    where : Condition or None
        The condition on rows, where it was given as text.
    native : object
        The condition on rows, where it was given as an expression of the source's own library.
    pos_label : object
        The label of the event, or None for labels 0 and 1.
    percent : bool
        Whether predictions are in percent.
    confidence_words : mapping of str to float, or None
        The number that each word in the columns of predictions stands for.
    trials : str or None
        The column of trials, of which the outcome is the number with the event.
    drop_missing : bool
        Whether rows with a missing value in one of these columns are left out.
    """

    prob: str | tuple[str, ...]
    outcome: str
    others: tuple[str, ...] = ()
    weight: str | None = None
    by: tuple[str, ...] = ()
    where: Condition | None = None
    native: Any = None
    pos_label: Any = None
    percent: bool = False
    confidence_words: Mapping[str, float] | None = None
    trials: str | None = None
    drop_missing: bool = False

    def __post_init__(self) -> None:
        if self.prob in self.others or len(set(self.others)) < len(self.others):
            forecasts = [*self.others, str(self.prob)]
            raise InputError(f"the forecasts must be different columns; they are {', '.join(forecasts)}")
        if self.trials is not None and self.pos_label is not None:
            raise InputError("trials cannot be combined with pos_label: the outcome is then a number of events")
        columns = [*self.value_columns(), *(name for name in self.by if name not in self.others)]
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
        weight: str | None = None,
        by: str | Sequence[str] | None = None,
        where: Any = None,
        pos_label: Any = None,
        trials: str | None = None,
        pair: bool = False,
        **options: Any,
    ) -> ColumnSpec:
        """Check the arguments of `scan` and its relatives, and read a condition that is text."""
        segments = () if by is None else _names("by", by)
        predictions = _names("prob", prob)
        if pair and segments:
            raise InputError("by cannot be combined with two forecasts: select the rows of a segment with where")
        text = isinstance(where, str)
        return cls(
            prob=predictions[-1] if pair or isinstance(prob, str) else predictions,
            others=predictions[:1] if pair else (),
            outcome=_name("outcome", outcome),
            weight=None if weight is None else _name("weight", weight),
            by=segments,
            where=parse(where) if text else None,
            native=None if text else where,
            pos_label=plain(pos_label),
            trials=None if trials is None else _name("trials", trials),
            **options,
        )

    @property
    def old(self) -> str | None:
        """The column of the forecast that `prob` is to replace, if there is one."""
        return self.others[0] if self.others else None

    @property
    def names(self) -> ColumnNames:
        """The names of the columns, for error messages."""
        prob = self.prob if isinstance(self.prob, str) else ", ".join(self.prob)
        return ColumnNames(label=self.outcome, prob=prob, weight=self.weight or "", old=self.old or "")

    @property
    def is_plain(self) -> bool:
        """Whether all rows and values are read as they are, which every engine can do."""
        return not (self.percent or self.drop_missing) and self.confidence_words is None and self.trials is None

    @property
    def has_other_labels(self) -> bool:
        """Whether the labels besides `pos_label` have to be checked: a bool has one opposite only."""
        return self.pos_label is not None and not isinstance(self.pos_label, bool)

    @property
    def complete(self) -> Condition | None:
        """The condition that no value is missing, if rows that miss one are left out."""
        columns = list(dict.fromkeys([*self.value_columns(), *self.by])) if self.drop_missing else []
        tests = tuple(Condition(op, column) for column in columns for op in ("not null", "not nan"))
        return Condition("and", values=tests) if tests else None

    def roles(self) -> dict[str, tuple[str, str]]:
        """Return the role and the name of each column of rows that another engine compresses, by its letter there."""
        named: dict[str, tuple[str, Any]] = {"p": ("prob", self.prob), "y": ("label", self.outcome)}
        named |= {"w": ("weight", self.weight), "q": ("old", self.old)}
        return {letter: (role, str(name)) for letter, (role, name) in named.items() if name is not None}

    def value_columns(self) -> list[str]:
        """List the columns that sums are made of."""
        prob = [self.prob] if isinstance(self.prob, str) else [*self.prob]
        return [*prob, self.outcome, *(name for name in (self.weight, *self.others, self.trials) if name is not None)]

    @property
    def forecasts(self) -> tuple[str, ...]:
        """The names of the forecasts, if there are several."""
        return (*self.others, str(self.prob)) if self.others else ()

    def group_columns(self) -> tuple[str, ...]:
        """List the columns that groups are made by, besides the cell of the prediction and the outcome."""
        return (OLD_CELL,) if self.others else self.by

    def all_columns(self) -> list[str]:
        """List every column to read, each once."""
        asked = [] if self.where is None else sorted(columns_of(self.where))
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
