"""Which column of the source is what, and which rows count: the same for every engine."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from brolly.engines.where import Condition, columns_of, parse
from brolly.errors import InputError


@dataclass(frozen=True, kw_only=True, slots=True)
class ColumnSpec:
    """What a source is asked for.

    Attributes
    ----------
    prob : str or tuple of str
        The column of predictions; with several classes one column for each.
    outcome : str
        The column of outcomes.
    weight : str or None
        The column of weights.
    by : tuple of str
        The columns that tell segments apart.
    where : Condition or None
        Which rows count, where that was said in words.
    native : object
        Which rows count, where that was said in an expression of the source's own library.
    pos_label : object
        Which label is the event, or None for labels 0 and 1.
    """

    prob: str | tuple[str, ...]
    outcome: str
    weight: str | None = None
    by: tuple[str, ...] = ()
    where: Condition | None = None
    native: Any = None
    pos_label: Any = None

    def __post_init__(self) -> None:
        if isinstance(self.pos_label, np.generic):
            object.__setattr__(self, "pos_label", self.pos_label.item())
        columns = [*self.columns(), *self.by]
        ours = [column for column in self.by if column.lower().startswith("brolly_")]
        if ours:
            raise InputError(f"by must not name columns that begin with brolly_, as the sums do; it is {ours[0]!r}")
        if len(set(columns)) < len(columns):
            also = " and by" if self.by else ""
            raise InputError(f"prob, outcome and weight{also} must be different columns; they are {', '.join(columns)}")

    @classmethod
    def of(
        cls, prob: str | Sequence[str], outcome: str, weight: str | None, by: str | Sequence[str] | None, where: Any
    ) -> ColumnSpec:
        """From what a caller gives: one name or several, a condition in words or another."""
        if by is not None and not len(by):
            raise InputError("by must name at least one column")
        words = isinstance(where, str)
        return cls(
            prob=prob if isinstance(prob, str) else tuple(prob),
            outcome=outcome,
            weight=weight,
            by=() if by is None else (by,) if isinstance(by, str) else tuple(by),
            where=parse(where) if words else None,
            native=None if words else where,
        )

    @property
    def has_other_labels(self) -> bool:
        """Whether rows may hold several labels besides `pos_label`, which has to be checked; of a bool there is one."""
        return self.pos_label is not None and not isinstance(self.pos_label, bool)

    def columns(self) -> list[str]:
        """What the sums are made of."""
        prob = [self.prob] if isinstance(self.prob, str) else [*self.prob]
        return [*prob, self.outcome, *([] if self.weight is None else [self.weight])]

    def needed(self) -> list[str]:
        """Every column to read, each once."""
        asked = () if self.where is None else sorted(columns_of(self.where))
        return list(dict.fromkeys([*self.columns(), *self.by, *asked]))
