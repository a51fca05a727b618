"""SQL dialects: how each writes names, literals, conversions and conditions.

A new dialect is one entry of `DIALECTS`. The statement itself is in `rainproof.io.sql_statement`.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from rainproof.core.conversion import is_built_in_number
from rainproof.errors import InputError
from rainproof.io.conditions import Condition, translate

# Each precision has all integers up to these: their significands have 24 and 53 bits (IEEE 754).
_MAX_EXACT_IN_SINGLE = 1 << 24
_MAX_EXACT_IN_DOUBLE = 1 << 53


def _doubled(text: str) -> str:
    """Quote a text for databases where a backslash has no special meaning."""
    doubled = text.replace("'", "''")
    return f"'{doubled}'"


def _common(text: str) -> str:
    """Quote a text for any database; refuse backslashes, whose meaning differs between them."""
    if "\\" in text:
        rule = "text must not contain a backslash in dialect 'ansi': name the dialect"
        raise InputError(f"{rule}; it is {text!r}")
    return _doubled(text)


def _escaped(text: str) -> str:
    """Quote a text for PostgreSQL with any setting of standard_conforming_strings."""
    if "\\" not in text:
        return _doubled(text)
    return "E" + _doubled(text.replace("\\", "\\\\"))


def _hexadecimal(text: str) -> str:
    """Quote a text for Spark, where the meaning of backslashes and doubled quotes depends on
    settings.
    """
    if "\\" in text or "'" in text:
        return f"CAST(X'{text.encode().hex()}' AS STRING)"
    return f"'{text}'"


@dataclass(frozen=True, kw_only=True, slots=True)
class Dialect:
    """One SQL dialect. In its expressions `{}` stands for a value.

    Attributes
    ----------
    name : str
        The name by which users choose it.
    quote : str
        The character around names.
    double : str
        The value as a double.
    floor : str
        The value, which is not negative, rounded down to an integer.
    is_nan : str or None
        Whether a double is NaN; None where doubles have no NaN.
    statistics_skip_nan : bool
        Whether comparisons are decided by statistics of a column, which leave NaN out.
    text : callable
        Quotes a text.
    is_text : str or None
        Whether the value is text, where a column of numbers may hold text that a cast would
        convert.
    as_text : str
        The value as text.
    is_whole : str or None
        Whether the value is an integer, where booleans are integers.
    has_single : bool
        Whether a column may be of single precision, to which a number that it is compared with
        would be rounded.
    """

    name: str
    quote: str = '"'
    double: str = "CAST({} AS DOUBLE PRECISION)"
    floor: str = "CAST(FLOOR({}) AS BIGINT)"
    is_nan: str | None = "LOWER(CAST({} AS VARCHAR(32))) = 'nan'"
    statistics_skip_nan: bool = False
    text: Callable[[str], str] = _doubled
    is_text: str | None = None
    as_text: str = "CAST({} AS VARCHAR(4000))"
    is_whole: str | None = None
    has_single: bool = True

    def identifier(self, *parts: str) -> str:
        """Quote a name, such as that of a table in a schema."""
        quoted = []
        for part in parts:
            if "\0" in part:
                raise InputError("names must not contain a zero byte")
            doubled = part.replace(self.quote, 2 * self.quote)
            quoted.append(f"{self.quote}{doubled}{self.quote}")
        return ".".join(quoted)

    def literal(self, value: Any) -> str:
        """Write a text, a number or a bool as a literal."""
        if isinstance(value, bool):
            return "TRUE" if value else "FALSE"
        if isinstance(value, int) or (isinstance(value, float) and math.isfinite(value)):
            return repr(value)
        if not isinstance(value, str):
            rule = "pos_label must be text, a finite number or a bool in SQL"
            raise InputError(f"{rule}; it is {value!r}")
        if "\0" in value:
            raise InputError("text must not contain a zero byte")
        return self.text(value)

    def nan(self, value: str) -> str:
        """Return the condition that a double is NaN."""
        return "1 = 0" if self.is_nan is None else self.is_nan.format(value)

    def breaks(self, value: str, rule: str) -> str:
        """Return the condition that a double breaks a rule, which NaN does."""
        is_wrong = f"NOT ({rule.format(value)})"
        if self.statistics_skip_nan:
            return f"({self.nan(value)} OR {is_wrong})"
        return is_wrong

    def condition(self, condition: Condition) -> str:
        """Return a condition in SQL, which is false or null for a null and for NaN."""
        return translate(condition, self._test, "({} AND {})".format, "({} OR {})".format)

    def _test(self, test: Condition) -> str:
        column = self.identifier(test.column)
        is_nan = self.nan(self.double.format(column))
        if test.operator in ("null", "not null"):
            return f"({column} IS {test.operator.upper()})"
        if test.operator == "nan":
            return f"({column} IS NOT NULL AND {is_nan})"
        if test.operator == "not nan":
            return f"({column} IS NULL OR NOT ({is_nan}))"
        if self.is_whole is not None and any(map(_is_large_double, test.values)):
            # As other databases do; SQLite compares integers with doubles exactly.
            as_double = self.double.format(column)
            column = f"CASE WHEN {self.is_whole.format(column)} THEN {as_double} ELSE {column} END"
        values = ", ".join([self._compared(value) for value in test.values])
        if test.operator in ("in", "not in"):
            comparison = f"{column} {test.operator.upper()} ({values})"
        elif test.operator == "!=":
            comparison = f"{column} <> {values}"
        else:
            comparison = f"{column} {test.operator} {values}"
        is_numeric = any(is_built_in_number(value) for value in test.values)
        if self.is_nan is not None and is_numeric:
            return f"({comparison} AND NOT ({is_nan}))"
        return f"({comparison})"

    def _compared(self, value: Any) -> str:
        """Write a literal that a column is compared with.

        A number that single precision does not have is written as a double, to which a column of
        single precision is then converted.
        """
        if not self.has_single or not is_built_in_number(value):
            return self.literal(value)
        if isinstance(value, int):
            is_exact_in_single = abs(value) <= _MAX_EXACT_IN_SINGLE
            # Integers that a double may not have are compared exactly.
            if is_exact_in_single or abs(value) >= _MAX_EXACT_IN_DOUBLE:
                return repr(value)
        number = repr(float(value))
        with_exponent = number if "e" in number else f"{number}e0"
        return self.double.format(with_exponent)


def _is_large_double(value: Any) -> bool:
    """Whether a number is a double near which integers are rounded to doubles."""
    return isinstance(value, float) and abs(value) >= _MAX_EXACT_IN_DOUBLE


_ANSI = Dialect(name="ansi", text=_common)

_DUCKDB = Dialect(
    name="duckdb",
    is_nan="ISNAN({})",
    statistics_skip_nan=True,
    as_text="CAST({} AS VARCHAR)",
)

_POSTGRESQL = Dialect(
    name="postgresql",
    is_nan="{} = CAST('NaN' AS DOUBLE PRECISION)",
    text=_escaped,
    as_text="CAST({} AS TEXT)",
)

_SPARK = Dialect(
    name="spark",
    quote="`",
    double="CAST({} AS DOUBLE)",
    is_nan="ISNAN({})",
    text=_hexadecimal,
    as_text="CAST({} AS STRING)",
)

_SQLITE = Dialect(
    name="sqlite",
    double="CAST({} AS REAL)",
    floor="CAST({} AS INTEGER)",  # rounds towards zero; not every build has FLOOR
    is_nan=None,
    is_text="TYPEOF({}) IN ('text', 'blob')",
    as_text="CAST({} AS TEXT)",
    is_whole="TYPEOF({}) = 'integer'",
    has_single=False,
)

DIALECTS = {dialect.name: dialect for dialect in (_ANSI, _DUCKDB, _POSTGRESQL, _SPARK, _SQLITE)}


def find_dialect(name: str) -> Dialect:
    """Return the dialect of this name."""
    if name not in DIALECTS:
        known = ", ".join(map(repr, DIALECTS))
        raise InputError(f"dialect must be one of {known}; it is {name!r}")
    return DIALECTS[name]
