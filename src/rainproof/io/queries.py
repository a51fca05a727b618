"""The SQL statement that compresses a table inside its database. A new dialect is one entry of
`DIALECTS`.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from rainproof.core.segments import OLD_CELL, violation_code
from rainproof.errors import InputError
from rainproof.io.conditions import Condition, fold

if TYPE_CHECKING:
    from rainproof.io.scanning import ColumnSpec


_SINGLE = 1 << 24  # single precision has all integers up to here
# double precision has all up to here: columns of larger ones are compared exactly
_DOUBLE = 1 << 53


def _doubled(text: str) -> str:
    """Quote a text for databases where a backslash has no special meaning."""
    return "'" + text.replace("'", "''") + "'"


def _common(text: str) -> str:
    """Quote a text for any database; refuse backslashes, whose meaning differs between them."""
    if "\\" in text:
        raise InputError(
            f"text must not contain a backslash in dialect 'ansi': name the dialect; it is {text!r}"
        )
    return _doubled(text)


def _escaped(text: str) -> str:
    """Quote a text for PostgreSQL with any setting of standard_conforming_strings."""
    return _doubled(text) if "\\" not in text else "E" + _doubled(text.replace("\\", "\\\\"))


def _hexadecimal(text: str) -> str:
    """Quote a text for Spark, where the meaning of backslashes and doubled quotes depends on
    settings.
    """
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
    # where a column of numbers may hold text, which a cast would convert
    is_text: str | None = None
    as_text: str = "CAST({} AS VARCHAR(4000))"
    is_whole: str | None = None  # where booleans are integers: whether a value is one
    # whether a column may be of single precision, to which numbers would be rounded
    has_single: bool = True

    def identifier(self, *parts: str) -> str:
        """Quote a name."""
        if any("\0" in part for part in parts):
            raise InputError("names must not contain a zero byte")
        return ".".join(
            self.quote + part.replace(self.quote, 2 * self.quote) + self.quote for part in parts
        )

    def literal(self, value: Any) -> str:
        """Write a text, a number or a bool as a literal."""
        if isinstance(value, bool):
            return "TRUE" if value else "FALSE"
        if isinstance(value, int) or (isinstance(value, float) and math.isfinite(value)):
            return repr(value)
        if not isinstance(value, str):
            raise InputError(
                f"pos_label must be text, a finite number or a bool in SQL; it is {value!r}"
            )
        if "\0" in value:
            raise InputError("text must not contain a zero byte")
        return self.text(value)

    def compared(self, value: Any) -> str:
        """Write a literal that a column is compared with: a number that single precision does not
        have as a double.
        """
        if not self.has_single or not is_number(value):
            return self.literal(value)
        if isinstance(value, int) and not _SINGLE < abs(value) < _DOUBLE:
            return repr(value)
        number = repr(float(value))
        return self.double.format(number if "e" in number else f"{number}e0")

    def nan(self, value: str) -> str:
        return "1 = 0" if self.is_nan is None else self.is_nan.format(value)

    def breaks(self, value: str, rule: str) -> str:
        """Return the condition that a double breaks a rule, which NaN does."""
        wrong = f"NOT ({rule.format(value)})"
        return f"({self.nan(value)} OR {wrong})" if self.folds else wrong

    def condition(self, condition: Condition) -> str:
        """Return a condition in SQL, which is false or null for a null and for NaN."""
        return fold(condition, self._leaf, "({} AND {})".format, "({} OR {})".format)

    def _leaf(self, leaf: Condition) -> str:
        column = self.identifier(leaf.column)
        if leaf.op.endswith("null"):
            return f"({column} IS {leaf.op.upper()})"
        if leaf.op.endswith("nan"):
            test = self.nan(self.double.format(column))
            return (
                f"({column} IS NULL OR NOT ({test}))"
                if leaf.negated
                else f"({column} IS NOT NULL AND {test})"
            )
        values = ", ".join(map(self.compared, leaf.values))
        is_list = leaf.op.endswith("in")
        test = (
            f"{column} {leaf.op.upper()} ({values})"
            if is_list
            else f"{column} {leaf.op.replace('!=', '<>')} {values}"
        )
        if self.is_nan is None or not any(is_number(value) for value in leaf.values):
            return f"({test})"
        return f"({test} AND NOT ({self.nan(self.double.format(column))}))"


DIALECTS = {
    dialect.name: dialect
    for dialect in (
        Dialect(name="ansi", text=_common),
        Dialect(name="duckdb", is_nan="ISNAN({})", folds=True, as_text="CAST({} AS VARCHAR)"),
        Dialect(
            name="postgresql",
            is_nan="{} = CAST('NaN' AS DOUBLE PRECISION)",
            text=_escaped,
            as_text="CAST({} AS TEXT)",
        ),
        Dialect(
            name="spark",
            quote="`",
            double="CAST({} AS DOUBLE)",
            is_nan="ISNAN({})",
            text=_hexadecimal,
            as_text="CAST({} AS STRING)",
        ),
        Dialect(
            name="sqlite",
            double="CAST({} AS REAL)",
            floor="CAST({} AS INTEGER)",  # rounds towards zero; not every build has FLOOR
            is_nan=None,
            is_text="TYPEOF({}) IN ('text', 'blob')",
            as_text="CAST({} AS TEXT)",
            is_whole="TYPEOF({}) = 'integer'",
            has_single=False,
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


_RULES = {
    "prob": "{0} >= 0 AND {0} <= 1",
    "label": "{0} = 0 OR {0} = 1",
    "weight": "{0} >= 0 AND {0} <= 1.7976931348623157E308",  # the largest finite double
    "old": "{0} >= 0 AND {0} <= 1",
}


def table_parts(table: str | Sequence[str]) -> tuple[str, ...]:
    """Return the parts of the name of a table; text is split at its dots."""
    parts = (
        tuple(table.split("."))
        if isinstance(table, str)
        else tuple(table)
        if isinstance(table, Sequence)
        else ()
    )
    if not parts or not all(isinstance(part, str) and part for part in parts):
        raise InputError(f"table must be the name of a table; it is {table!r}")
    return parts


def statement(table: str | Sequence[str], spec: ColumnSpec, m: int, dialect: Dialect) -> str:
    """Write the statement; `rainproof.core.segments` describes its result."""
    by = [dialect.identifier(column) for column in spec.by]
    keys = "".join(f"{key}, " for key in by)
    groups = keys if spec.old is None else f"{OLD_CELL}, "
    where = "" if spec.where is None else f"\n  WHERE {dialect.condition(spec.where)}"
    count = dialect.double.format("COUNT(*)")
    sums = {"count": "COUNT(*)", "weight": count, "rise": "SUM(rainproof_rise)", "squares": count}
    if spec.weight is not None:
        sums = {
            "count": "SUM(CASE WHEN rainproof_cell < 0 OR rainproof_w > 0 THEN 1 ELSE 0 END)",
            "weight": "SUM(rainproof_w)",
            "rise": "SUM(rainproof_w * rainproof_rise)",
            "squares": "SUM(rainproof_w * rainproof_w)",
        }
    if spec.has_other_labels:
        sums |= {"least": "MIN(rainproof_other)", "most": "MAX(rainproof_other)"}
    named = [f"{value} AS rainproof_{name}" for name, value in {"grid": m, **sums}.items()]
    old = [] if spec.old is None else [OLD_CELL]
    chosen = [named[0], "rainproof_cell", "rainproof_outcome", *named[1:], *old, *by]
    return f"""\
WITH rainproof_read AS (
  SELECT {keys}{_read(spec, dialect)}
  FROM {dialect.identifier(*table_parts(table))}{where}
), rainproof_checked AS (
  SELECT rainproof_read.*,
    {_check(spec, dialect)} AS rainproof_bad
  FROM rainproof_read
), rainproof_placed AS (
  SELECT {keys}{_place(m, spec, dialect)}
  FROM rainproof_checked
)
SELECT
  {f",{chr(10)}  ".join(chosen)}
FROM rainproof_placed
GROUP BY {groups}rainproof_cell, rainproof_outcome"""  # noqa: S608 - names and values are quoted


def _read(spec: ColumnSpec, dialect: Dialect) -> str:
    """Select the columns as doubles; with `pos_label` the outcome is 1 or 0."""
    outcome = dialect.identifier(spec.outcome)
    names = {letter: dialect.identifier(name) for letter, (_, name) in spec.roles().items()}
    columns = {letter: dialect.double.format(name) for letter, name in names.items()}
    if spec.pos_label is not None:
        label = dialect.literal(spec.pos_label)
        columns["y"] = f"CASE WHEN {outcome} = {label} THEN 1 WHEN {outcome} IS NOT NULL THEN 0 END"
        if spec.has_other_labels:
            columns["other"] = f"CASE WHEN {outcome} <> {label} THEN {outcome} END"
    # the code of the column that holds text instead of a number in this row
    if dialect.is_text is not None:
        cases = (
            f"WHEN {dialect.is_text.format(names[letter])} THEN {violation_code(role, 'text')}"
            for letter, (role, _) in spec.roles().items()
            if spec.pos_label is None or role != "label"
        )
        columns["text"] = f"CASE {' '.join(cases)} ELSE 0 END"
    return _named(columns)


def _named(columns: dict[str, str]) -> str:
    return ",\n    ".join(f"{value} AS rainproof_{column}" for column, value in columns.items())


def _check(spec: ColumnSpec, dialect: Dialect) -> str:
    """Return the negative code of the first rule that a row breaks; 0 for a good row."""
    columns = {f"rainproof_{letter}": role for letter, (role, _) in spec.roles().items()}
    cases = [
        (f"{column} IS NULL", str(violation_code(role, "null"))) for column, role in columns.items()
    ]
    if dialect.is_text is not None:
        cases.append(("rainproof_text < 0", "rainproof_text"))
    for column, role in columns.items():
        if role in ("prob", "old"):
            codes = violation_code(role, "nan"), violation_code(role, "range")
            code = f"CASE WHEN {dialect.nan(column)} THEN {codes[0]} ELSE {codes[1]} END"
        else:
            code = str(violation_code(role, "rule"))
        cases.append((dialect.breaks(column, _RULES[role]), code))
    lines = "\n".join(f"      WHEN {test} THEN {code}" for test, code in cases)
    return f"CASE\n{lines}\n      ELSE 0\n    END"


def _place(m: int, spec: ColumnSpec, dialect: Dialect) -> str:
    """Compute the cell of each good row, and its offset above the lower edge of the cell."""
    scaled = f"{m} * rainproof_p"
    floor = dialect.floor.format(scaled)
    columns = {
        "cell": f"CASE WHEN rainproof_bad < 0 THEN rainproof_bad ELSE {floor} END",
        "outcome": "CASE WHEN rainproof_bad = 0 AND rainproof_y = 1 THEN 1 ELSE 0 END",
        "rise": f"CASE WHEN rainproof_bad = 0 THEN {scaled} - {floor} ELSE 0 END",
    }
    if spec.weight is not None:
        columns["w"] = "CASE WHEN rainproof_bad = 0 THEN rainproof_w ELSE 0 END"
    if spec.old is not None:
        columns["old"] = (
            f"CASE WHEN rainproof_bad < 0 THEN 0 ELSE {dialect.floor.format(f'{m} * rainproof_q')} END"
        )
    if spec.has_other_labels:
        columns["other"] = "rainproof_other"
    return _named(columns)
