"""Which columns of a source are read, and which rows: the same for every engine."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from rainproof.core.input.labels import plain
from rainproof.core.input.rows import ColumnNames
from rainproof.core.sample.groupby_result import OLD_CELL
from rainproof.engines.where import Condition, columns_of, parse
from rainproof.errors import InputError


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
        text = isinstance(where, str)
        return cls(
            prob=predictions[-1] if pair or isinstance(prob, str) else predictions,
            old=predictions[0] if pair else None,
            outcome=_name("outcome", outcome),
            weight=None if weight is None else _name("weight", weight),
            by=segments,
            where=parse(where) if text else None,
            native=None if text else where,
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
        return not self.percent and self.confidence_words is None and self.trials is None

    @property
    def has_other_labels(self) -> bool:
        """Whether the labels besides `pos_label` have to be checked: a bool has one opposite only."""
        return self.pos_label is not None and not isinstance(self.pos_label, bool)

    def value_columns(self) -> list[str]:
        """List the columns that sums are made of."""
        prob = [self.prob] if isinstance(self.prob, str) else [*self.prob]
        others = [name for name in (self.weight, self.old, self.trials) if name is not None]
        return [*prob, self.outcome, *others]

    def group_columns(self) -> tuple[str, ...]:
        """List the columns that groups are made by, besides the cell of the prediction and the outcome."""
        return self.by if self.old is None else (OLD_CELL,)

    def all_columns(self) -> list[str]:
        """List every column to read, each once."""
        conditions = () if self.where is None else sorted(columns_of(self.where))
        return list(dict.fromkeys([*self.value_columns(), *self.by, *conditions]))


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
