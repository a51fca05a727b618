"""How each database spells what the one statement needs."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from brolly.engines.where import Comparison, Condition, IsIn, IsMissing, fold
from brolly.errors import InputError


def _doubled(text: str) -> str:
    """Quote a text for databases to which a backslash is a character like any other."""
    return "'" + text.replace("'", "''") + "'"


def _common(text: str) -> str:
    """Quote a text for any database, or refuse it: what a backslash means differs between them."""
    if "\\" in text:
        raise InputError(f"text must not contain a backslash in dialect 'ansi': name the dialect; it is {text!r}")
    return _doubled(text)


def _escaped(text: str) -> str:
    """Quote a text for PostgreSQL, whatever its setting of standard_conforming_strings."""
    return _doubled(text) if "\\" not in text else "E" + _doubled(text.replace("\\", "\\\\"))


def _hexadecimal(text: str) -> str:
    """Quote a text for Spark, whose settings decide what backslashes and doubled quotes mean."""
    return f"CAST(X'{text.encode().hex()}' AS STRING)" if set(text) & {"\\", "'"} else f"'{text}'"


@dataclass(frozen=True, kw_only=True, slots=True)
class Dialect:
    """The words of one kind of database; `{}` stands for an expression."""

    name: str
    quote: str = '"'
    double: str = "CAST({} AS DOUBLE PRECISION)"
    floor: str = "CAST(FLOOR({}) AS BIGINT)"
    is_nan: str | None = "LOWER(CAST({} AS VARCHAR(32))) = 'nan'"  # None where doubles have no NaN
    folds: bool = False  # whether comparisons are decided from statistics that leave NaN out
    text: Callable[[str], str] = _doubled  # a text as a literal
    is_text: str | None = None  # where a column of numbers may hold text, and a cast makes a number of it

    def identifier(self, *parts: str) -> str:
        """A name, quoted so that it can be nothing else."""
        if any("\0" in part for part in parts):
            raise InputError("names must not contain a zero byte")
        return ".".join(self.quote + part.replace(self.quote, 2 * self.quote) + self.quote for part in parts)

    def literal(self, value: Any) -> str:
        """A text, a number or a bool, written so that it can be nothing else."""
        if isinstance(value, bool):
            return "TRUE" if value else "FALSE"
        if isinstance(value, int) or (isinstance(value, float) and math.isfinite(value)):
            return repr(value)
        if not isinstance(value, str):
            raise InputError(f"pos_label must be text, a finite number or a bool in SQL; it is {value!r}")
        if "\0" in value:
            raise InputError("text must not contain a zero byte")
        return self.text(value)

    def nan(self, value: str) -> str:
        return "1 = 0" if self.is_nan is None else self.is_nan.format(value)

    def breaks(self, value: str, rule: str) -> str:
        """Whether a double breaks a rule; NaN breaks every rule, wherever it sorts."""
        wrong = f"NOT ({rule.format(value)})"
        return f"({self.nan(value)} OR {wrong})" if self.folds else wrong

    def condition(self, condition: Condition) -> str:
        """A condition that is false, or null, for a null and for NaN."""
        return fold(condition, self._leaf, "({} AND {})".format, "({} OR {})".format)

    def _leaf(self, leaf: Comparison | IsIn | IsMissing) -> str:
        column = self.identifier(leaf.column)
        if isinstance(leaf, IsMissing):
            return self._missing(column, leaf)
        if isinstance(leaf, Comparison):
            values: tuple[Any, ...] = (leaf.value,)
            test = f"{column} {leaf.op.replace('!=', '<>')} {self.literal(leaf.value)}"
        else:
            values = leaf.values
            test = f"{column} {'NOT IN' if leaf.negated else 'IN'} ({', '.join(map(self.literal, values))})"
        if self.is_nan is None or not any(is_number(value) for value in values):
            return f"({test})"
        return f"({test} AND NOT ({self.nan(self.double.format(column))}))"

    def _missing(self, column: str, condition: IsMissing) -> str:
        if condition.kind == "null":
            return f"({column} IS {'NOT ' if condition.negated else ''}NULL)"
        test = self.nan(self.double.format(column))
        return f"({column} IS NULL OR NOT ({test}))" if condition.negated else f"({column} IS NOT NULL AND {test})"


DIALECTS = {
    dialect.name: dialect
    for dialect in (
        Dialect(name="ansi", text=_common),
        Dialect(name="duckdb", is_nan="ISNAN({})", folds=True),
        Dialect(name="postgresql", is_nan="{} = CAST('NaN' AS DOUBLE PRECISION)", text=_escaped),
        Dialect(name="spark", quote="`", double="CAST({} AS DOUBLE)", is_nan="ISNAN({})", text=_hexadecimal),
        Dialect(
            name="sqlite",
            double="CAST({} AS REAL)",
            floor="CAST({} AS INTEGER)",  # towards zero; not every build has FLOOR
            is_nan=None,
            is_text="TYPEOF({}) IN ('text', 'blob')",
        ),
    )
}


def find_dialect(name: str) -> Dialect:
    """The dialect of this name."""
    if name not in DIALECTS:
        raise InputError(f"dialect must be one of {', '.join(map(repr, DIALECTS))}; it is {name!r}")
    return DIALECTS[name]


def is_number(value: Any) -> bool:
    """Whether a value of a condition is a number: true and false are none."""
    return isinstance(value, int | float) and not isinstance(value, bool)
