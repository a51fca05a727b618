"""Which columns and rows of a source are read, and how their values are: the options of `scan`.

An option that says how rows are read is a parameter of `scan` and a field of `ColumnSpec`. What it
does to values is in `rainproof.io.number_columns` and `rainproof.io.label_columns`, what it does to
rows in `rainproof.io.batches`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from rainproof.core.columns import ColumnNames
from rainproof.core.grouped_rows import OLD_CELL
from rainproof.core.labels import plain
from rainproof.errors import InputError
from rainproof.io.column_types import MISSING_WORDS
from rainproof.io.conditions import Condition, columns_of, parse

Names = str | Sequence[str]
"""One column or several."""


class Role(NamedTuple):
    """What a column is for, in rows that another engine compresses."""

    alias: str  # its name in the statement, after rainproof_
    name: str  # of the role, as codes of violations name it
    column: str


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
        The columns of other forecasts for the same rows; where rows are compressed, the one that
        `prob` is to replace.
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
    labels : tuple
        The labels of several classes; empty for the names of their columns.
    percent : bool
        Whether predictions are in percent.
    confidence_words : mapping of str to float, or None
        The number that each word in the columns of predictions stands for.
    trials : str or None
        The column of trials, of which the outcome is the number with the event.
    drop_missing : bool
        Whether rows with a missing value in one of these columns are left out.
    costs : tuple of str
        The columns of costs of each case, where rows are kept.
    """

    prob: str | tuple[str, ...]
    outcome: str
    others: tuple[str, ...] = ()
    weight: str | None = None
    by: tuple[str, ...] = ()
    where: Condition | None = None
    native: Any = None
    pos_label: Any = None
    labels: tuple[Any, ...] = ()
    percent: bool = False
    confidence_words: Mapping[str, float] | None = None
    trials: str | None = None
    drop_missing: bool = False
    costs: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if self.prob in self.others or _has_duplicates(self.others):
            forecasts = ", ".join([*self.others, str(self.prob)])
            raise InputError(f"the forecasts must be different columns; they are {forecasts}")
        if self.trials is not None and self.pos_label is not None:
            raise InputError(
                "trials cannot be combined with pos_label: the outcome is then a number of events"
            )
        segments = [name for name in self.by if name not in self.others]
        columns = [*self.value_columns(), *segments]
        if _has_duplicates(columns):
            also = " and by" if self.by else ""
            rule = f"prob, outcome and weight{also} must be different columns"
            raise InputError(f"{rule}; they are {', '.join(columns)}")
        # The columns of a statement's result are told by their names.
        for column in self.by:
            if column.lower().startswith("rainproof_"):
                rule = "by must not name columns that begin with rainproof_, as the sums do"
                raise InputError(f"{rule}; it is {column!r}")

    @classmethod
    def from_arguments(
        cls,
        prob: Names,
        outcome: str,
        *,
        by: Names | None = None,
        weight: str | None = None,
        trials: str | None = None,
        where: Any = None,
        pos_label: Any = None,
        pair: bool = False,
        **options: Any,
    ) -> ColumnSpec:
        """Check the arguments of `scan` and its relatives, and read a condition that is text.

        With `pair` the two columns in `prob` are the old and the new forecast.
        """
        predictions = _checked_names("prob", prob)
        segments = () if by is None else _checked_names("by", by)
        if pair and segments:
            raise InputError(
                "by cannot be combined with two forecasts: select the rows of a segment with where"
            )
        _check_name("outcome", outcome)
        for argument, name in (("weight", weight), ("trials", trials)):
            if name is not None:
                _check_name(argument, name)
        is_one_column = pair or isinstance(prob, str)
        condition = parse(where) if isinstance(where, str) else None
        return cls(
            prob=predictions[-1] if is_one_column else predictions,
            others=predictions[:1] if pair else (),
            outcome=outcome,
            weight=weight,
            trials=trials,
            by=segments,
            where=condition,
            native=where if condition is None else None,
            pos_label=plain(pos_label),
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
        return ColumnNames(
            label=self.outcome, prob=prob, weight=self.weight or "", old=self.old or ""
        )

    @property
    def is_plain(self) -> bool:
        """Whether all rows and values are read as they are, which every engine can do."""
        are_values_plain = not self.percent and self.confidence_words is None
        are_rows_plain = not self.drop_missing and self.trials is None
        return are_values_plain and are_rows_plain

    @property
    def checks_other_labels(self) -> bool:
        """Whether the labels besides `pos_label` have to be checked.

        A bool has one opposite only.
        """
        return self.pos_label is not None and not isinstance(self.pos_label, bool)

    @property
    def forecasts(self) -> tuple[str, ...]:
        """The names of the forecasts, if there are several."""
        return (*self.others, str(self.prob)) if self.others else ()

    def complete_rows(self) -> Condition | None:
        """Return the condition that no value is missing, if rows that miss one are left out."""
        if not self.drop_missing:
            return None
        return Condition("and", values=_are_present(self._columns_of_rows()))

    def only_outcome_missing(self) -> Condition:
        """Return the condition that the outcome is missing, and nothing else."""
        outcome = (Condition("null", self.outcome), Condition("nan", self.outcome))
        missing = Condition("or", values=outcome)
        rest = [name for name in self._columns_of_rows() if name != self.outcome]
        return Condition("and", values=(missing, *_are_present(rest)))

    def roles(self) -> list[Role]:
        """List the columns that another engine compresses."""
        roles = [Role("p", "prob", str(self.prob)), Role("y", "label", self.outcome)]
        if self.weight is not None:
            roles.append(Role("w", "weight", self.weight))
        if self.old is not None:
            roles.append(Role("q", "old", self.old))
        return roles

    def value_columns(self) -> list[str]:
        """List the columns that sums are made of."""
        prob = [self.prob] if isinstance(self.prob, str) else self.prob
        columns = [*prob, self.outcome]
        if self.weight is not None:
            columns.append(self.weight)
        columns += self.others
        if self.trials is not None:
            columns.append(self.trials)
        return columns

    def group_columns(self) -> tuple[str, ...]:
        """List the columns that sums are grouped by, besides the cell of the prediction and the
        outcome.
        """
        return (OLD_CELL,) if self.others else self.by

    def number_columns(self) -> list[str]:
        """List the columns in which text such as NA is a missing value.

        An outcome may be missing in the same words, unless one of its labels is such a word.
        """
        columns = _distinct([*self.value_columns(), *self.costs])
        if MISSING_WORDS.intersection(map(str, self._labels_of_outcome())):
            columns.remove(self.outcome)
        return columns

    def label_columns(self) -> list[str]:
        """List the columns whose values are labels or are compared with others, which must be of
        one kind.
        """
        labels = list(self.by)
        if self._labels_of_outcome():
            labels.append(self.outcome)
        compared = [name for name in self._tested_columns() if name not in self.value_columns()]
        return _distinct([*labels, *compared])

    def all_columns(self) -> list[str]:
        """List every column to read, each once."""
        return _distinct([*self._columns_of_rows(), *self._tested_columns()])

    def _labels_of_outcome(self) -> tuple[Any, ...]:
        """List the labels that are known: that of the event, or those of several classes."""
        if not isinstance(self.prob, str):
            return self.labels or self.prob
        return () if self.pos_label is None else (self.pos_label,)

    def _columns_of_rows(self) -> list[str]:
        """List the columns that a complete row has."""
        return _distinct([*self.value_columns(), *self.costs, *self.by])

    def _tested_columns(self) -> list[str]:
        return [] if self.where is None else sorted(columns_of(self.where))


def _are_present(columns: Sequence[str]) -> tuple[Condition, ...]:
    """Return the conditions that no value is missing in these columns."""
    conditions: list[Condition] = []
    for name in columns:
        conditions += [Condition("not null", name), Condition("not nan", name)]
    return tuple(conditions)


def _distinct(names: Sequence[str]) -> list[str]:
    return list(dict.fromkeys(names))


def _has_duplicates(names: Sequence[str]) -> bool:
    return len(set(names)) < len(names)


def _checked_names(argument: str, value: Any) -> tuple[str, ...]:
    is_several = isinstance(value, Sequence) and not isinstance(value, str)
    names = tuple(value) if is_several else (value,)
    if not names:
        raise InputError(f"{argument} must name at least one column")
    for name in names:
        _check_name(argument, name)
    return names


def _check_name(argument: str, name: Any) -> None:
    if not isinstance(name, str):
        raise InputError(f"{argument} must be the name of a column, as text; it is {name!r}")
