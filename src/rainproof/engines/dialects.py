"""SQL dialects: how each spells what the statement needs. A new dialect is one entry of `DIALECTS`."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from rainproof.engines.where import Comparison, Condition, IsIn, IsMissing, fold
from rainproof.errors import InputError


def _doubled(text: str) -> str:
    """Quote a text for databases where a backslash has no special meaning."""
    return "'" + text.replace("'", "''") + "'"


def _common(text: str) -> str:
    """Quote a text for any database; refuse backslashes, whose meaning differs between them."""
    if "\\" in text:
        raise InputError(f"text must not contain a backslash in dialect 'ansi': name the dialect; it is {text!r}")
    return _doubled(text)


def _escaped(text: str) -> str:
    """Quote a text for PostgreSQL with any setting of standard_conforming_strings."""
    return _doubled(text) if "\\" not in text else "E" + _doubled(text.replace("\\", "\\\\"))


def _hexadecimal(text: str) -> str:
    """Quote a text for Spark, where the meaning of backslashes and doubled quotes depends on settings."""
    return f"CAST(X'{text.encode().hex()}' AS STRING)" if set(text) & {"\\", "'"} else f"'{text}'"


@dataclass(frozen=True, kw_only=True, slots=True)
class Dialect:
    """One SQL dialect; `{}` stands for an expression."""

    name: str
    quote: str = '"'
    double: str = "CAST({} AS DOUBLE PRECISION)"
    floor: str = "CAST(FLOOR({}) AS BIGINT)"
    is_nan: str | None = "LOWER(CAST({} AS VARCHAR(32))) = 'nan'"  # None where doubles have no NaN
    folds: bool = False  # whether comparisons are decided by statistics that leave NaN out
    text: Callable[[str], str] = _doubled  # a text as a literal
    is_text: str | None = None  # where a column of numbers may hold text, which a cast would convert

    def identifier(self, *parts: str) -> str:
        """Quote a name."""
        if any("\0" in part for part in parts):
            raise InputError("names must not contain a zero byte")
        return ".".join(self.quote + part.replace(self.quote, 2 * self.quote) + self.quote for part in parts)

    def literal(self, value: Any) -> str:
        """Write a text, a number or a bool as a literal."""
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
        """Return the condition that a double breaks a rule, which NaN does."""
        wrong = f"NOT ({rule.format(value)})"
        return f"({self.nan(value)} OR {wrong})" if self.folds else wrong

    def condition(self, condition: Condition) -> str:
        """Return a condition in SQL, which is false or null for a null and for NaN."""
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
            floor="CAST({} AS INTEGER)",  # rounds towards zero; not every build has FLOOR
            is_nan=None,
            is_text="TYPEOF({}) IN ('text', 'blob')",
        ),
    )
}


def find_dialect(name: str) -> Dialect:
    """Return the dialect of this name."""
    if name not in DIALECTS:
        raise InputError(f"dialect must be one of {', '.join(map(repr, DIALECTS))}; it is {name!r}")
    return DIALECTS[name]


def is_number(value: Any) -> bool:
    """Whether a value is a number, and not a bool."""
    return isinstance(value, int | float) and not isinstance(value, bool)
