"""How each database spells what the one statement needs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from brolly.engines.where import Compare, Condition, Missing, OneOf, fold
from brolly.errors import InputError


@dataclass(frozen=True, kw_only=True, slots=True)
class Dialect:
    """The words of one kind of database; `{}` stands for an expression."""

    name: str
    quote: str = '"'
    double: str = "CAST({} AS DOUBLE PRECISION)"
    floor: str = "CAST(FLOOR({}) AS BIGINT)"
    is_nan: str | None = "LOWER(CAST({} AS VARCHAR(32))) = 'nan'"  # None where doubles have no NaN
    folds: bool = False  # whether comparisons are decided from statistics that leave NaN out
    is_text: str | None = None  # where a column of numbers may hold text, and a cast makes a number of it

    def identifier(self, *parts: str) -> str:
        """A name, quoted so that it can be nothing else."""
        if any("\0" in part for part in parts):
            raise InputError("names must not contain a zero byte")
        return ".".join(self.quote + part.replace(self.quote, 2 * self.quote) + self.quote for part in parts)

    def nan(self, value: str) -> str:
        return "1 = 0" if self.is_nan is None else self.is_nan.format(value)

    def breaks(self, value: str, rule: str) -> str:
        """Whether a double breaks a rule; NaN breaks every rule, wherever it sorts."""
        wrong = f"NOT ({rule.format(value)})"
        return f"({self.nan(value)} OR {wrong})" if self.folds else wrong

    def condition(self, condition: Condition) -> str:
        """A condition that is false, or null, for a null and for NaN."""
        return fold(condition, self._leaf, "({} AND {})".format, "({} OR {})".format)

    def _leaf(self, leaf: Compare | OneOf | Missing) -> str:
        column = self.identifier(leaf.column)
        if isinstance(leaf, Missing):
            return self._missing(column, leaf)
        if isinstance(leaf, Compare):
            values: tuple[Any, ...] = (leaf.value,)
            test = f"{column} {leaf.op.replace('!=', '<>')} {literal(leaf.value)}"
        else:
            values = leaf.values
            test = f"{column} {'NOT IN' if leaf.negated else 'IN'} ({', '.join(map(literal, values))})"
        if self.is_nan is None or not any(is_number(value) for value in values):
            return f"({test})"
        return f"({test} AND NOT ({self.nan(self.double.format(column))}))"

    def _missing(self, column: str, condition: Missing) -> str:
        if condition.kind == "null":
            return f"({column} IS {'NOT ' if condition.negated else ''}NULL)"
        test = self.nan(self.double.format(column))
        return f"({column} IS NULL OR NOT ({test}))" if condition.negated else f"({column} IS NOT NULL AND {test})"


DIALECTS = {
    dialect.name: dialect
    for dialect in (
        Dialect(name="ansi"),
        Dialect(name="duckdb", is_nan="ISNAN({})", folds=True),
        Dialect(name="postgresql", is_nan="{} = CAST('NaN' AS DOUBLE PRECISION)"),
        Dialect(name="spark", quote="`", double="CAST({} AS DOUBLE)", is_nan="ISNAN({})"),
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


def literal(value: Any) -> str:
    """A value, written so that it can be nothing else."""
    if isinstance(value, bool):
        return "TRUE" if value else "FALSE"
    if isinstance(value, str):
        if "\0" in value:
            raise InputError("text must not contain a zero byte")
        return "'" + value.replace("'", "''") + "'"
    return repr(value)
