"""The SQL statement that compresses a table inside its database.

It reads the columns as doubles, finds the first rule that each row breaks, places good rows in
cells, and sums by cell and outcome. `rainproof.core.grouped_rows` describes its result. What
differs between databases is in `rainproof.io.dialects`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from rainproof.core.cells import check_grid
from rainproof.core.grouped_rows import OLD_CELL, violation_code
from rainproof.errors import InputError
from rainproof.io.column_spec import ColumnSpec
from rainproof.io.dialects import Dialect, find_dialect

_RULES = {
    "prob": "{0} >= 0 AND {0} <= 1",
    "label": "{0} = 0 OR {0} = 1",
    "weight": "{0} >= 0 AND {0} <= 1.7976931348623157E308",  # the largest finite double
    "old": "{0} >= 0 AND {0} <= 1",
}
"""What the values of a column must be, by its role."""


def sql(
    table: str | Sequence[str],
    prob: str,
    outcome: str,
    grid: int = 2**16,
    by: str | Sequence[str] | None = None,
    *,
    weight: str | None = None,
    where: str | None = None,
    pos_label: Any = None,
    dialect: str = "ansi",
) -> str:
    """Write the GROUP BY statement that compresses a table inside its database.

    This is for databases that rainproof does not connect to: run the statement there with any tool,
    and pass the result to `Sample.from_table`, or with `by` to `Segments.from_table`. At most ``2
    (m + 1)`` rows per segment leave the database.

    Explained in docs/guide/engines.md.

    Parameters
    ----------
    table : str or sequence of str
        The table or view: ``"predictions"``, ``"schema.predictions"``, or its parts ``("schema",
        "a.b")``.
    prob, outcome, weight : str
        The columns, as in `scan`. A boolean outcome needs ``pos_label=True`` where the database
        will not turn booleans into numbers (PostgreSQL, Snowflake, BigQuery).
    grid : int
        The grid of the compression: a power of two, up to 2**20.
    by : str or sequence of str, optional
        The columns that define segments.
    where : str, optional
        The rows to read, as in `scan`.
    pos_label : object, optional
        The label of the event, where labels are not 0 and 1: text, a number or a bool.
    dialect : {'ansi', 'duckdb', 'postgresql', 'spark', 'sqlite'}
        The SQL dialect. All but 'ansi' are tested on the database itself; 'ansi' uses what most of
        them share.

    Returns
    -------
    str
        One SELECT statement, without a semicolon. It changes nothing in the database.

    Notes
    -----
    For each cell ``floor(m p)`` and outcome the statement sums the number of rows, ``w``,
    ``w (m p - floor(m p))`` and ``w^2``. Rows that break a rule go to negative cells, one for each
    rule, so that reading the result raises an error with their count. Databases add doubles in any
    order: sums may differ in the last digits from run to run.

    Examples
    --------
    >>> import rainproof, sqlite3
    >>> db = sqlite3.connect(":memory:")
    >>> _ = db.execute("CREATE TABLE predictions (p REAL, y INTEGER)")
    >>> rows = [(0.1, 0), (0.8, 1), (0.6, 1), (0.3, 0)]
    >>> _ = db.executemany("INSERT INTO predictions VALUES (?, ?)", rows)
    >>> statement = rainproof.io.sql("predictions", "p", "y", 1024, dialect="sqlite")
    >>> rainproof.Sample.from_table(db.execute(statement))
    Sample(n=4, events=2, grid=1024)
    """
    spec = ColumnSpec.from_arguments(
        prob, outcome, weight=weight, by=by, where=where, pos_label=pos_label
    )
    if not isinstance(spec.prob, str):
        raise InputError(f"prob must be one column in SQL; it is {prob!r}")
    if spec.native is not None:
        raise InputError(f"where must be text in SQL; it is {where!r}")
    return statement(table, spec, check_grid(grid), find_dialect(dialect))


def table_parts(table: str | Sequence[str]) -> tuple[str, ...]:
    """Return the parts of the name of a table; text is split at its dots."""
    parts: tuple[Any, ...] = ()
    if isinstance(table, str):
        parts = tuple(table.split("."))
    elif isinstance(table, Sequence):
        parts = tuple(table)
    if not parts or not all(isinstance(part, str) and part for part in parts):
        raise InputError(f"table must be the name of a table; it is {table!r}")
    return parts


def statement(table: str | Sequence[str], spec: ColumnSpec, m: int, dialect: Dialect) -> str:
    """Write the statement for a grid of m cells."""
    by = [dialect.identifier(column) for column in spec.by]
    segments = "".join(f"{column}, " for column in by)
    # With two forecasts the cell of the old one takes the place of the segment.
    groups = segments if spec.old is None else f"{OLD_CELL}, "
    where = ""
    if spec.where is not None:
        where = f"\n  WHERE {dialect.condition(spec.where)}"
    columns = [f"{m} AS rainproof_grid", "rainproof_cell", "rainproof_outcome"]
    columns += [f"{total} AS rainproof_{name}" for name, total in _sums(spec, dialect).items()]
    if spec.old is not None:
        columns.append(OLD_CELL)
    columns += by
    selected = ",\n  ".join(columns)
    return f"""\
WITH rainproof_read AS (
  SELECT {segments}{_read(spec, dialect)}
  FROM {dialect.identifier(*table_parts(table))}{where}
), rainproof_checked AS (
  SELECT rainproof_read.*,
    {_check(spec, dialect)} AS rainproof_bad
  FROM rainproof_read
), rainproof_placed AS (
  SELECT {segments}{_place(m, spec, dialect)}
  FROM rainproof_checked
)
SELECT
  {selected}
FROM rainproof_placed
GROUP BY {groups}rainproof_cell, rainproof_outcome"""  # noqa: S608 - names and values are quoted


def _sums(spec: ColumnSpec, dialect: Dialect) -> dict[str, str]:
    """Return what is summed over the rows of a cell and outcome, by the name of the sum."""
    if spec.weight is None:
        rows = dialect.double.format("COUNT(*)")
        sums = {"count": "COUNT(*)", "weight": rows, "rise": "SUM(rainproof_rise)", "squares": rows}
    else:
        # Rows that break a rule are counted, whatever their weight; good ones of weight 0 are not.
        is_counted = "rainproof_cell < 0 OR rainproof_w > 0"
        sums = {
            "count": f"SUM(CASE WHEN {is_counted} THEN 1 ELSE 0 END)",
            "weight": "SUM(rainproof_w)",
            "rise": "SUM(rainproof_w * rainproof_rise)",
            "squares": "SUM(rainproof_w * rainproof_w)",
        }
    if spec.checks_other_labels:
        sums["least"] = "MIN(rainproof_other)"
        sums["most"] = "MAX(rainproof_other)"
    return sums


def _read(spec: ColumnSpec, dialect: Dialect) -> str:
    """Select the columns as doubles; with `pos_label` the outcome is 1 or 0."""
    columns = {}
    for role in spec.roles():
        columns[role.alias] = dialect.double.format(dialect.identifier(role.column))
    if spec.pos_label is not None:
        outcome = dialect.identifier(spec.outcome)
        label = dialect.literal(spec.pos_label)
        columns["y"] = f"CASE WHEN {outcome} = {label} THEN 1 WHEN {outcome} IS NOT NULL THEN 0 END"
        if spec.checks_other_labels:
            columns["other"] = f"CASE WHEN {outcome} <> {label} THEN {outcome} END"
    if dialect.is_text is not None:
        columns["text"] = _text_violation(spec, dialect, dialect.is_text)
    return _listed(columns)


def _text_violation(spec: ColumnSpec, dialect: Dialect, is_text: str) -> str:
    """Return the code of the first column that holds text in place of a number; 0 if none does."""
    cases = []
    for role in spec.roles():
        is_label = role.name == "label" and spec.pos_label is not None
        if not is_label:
            test = is_text.format(dialect.identifier(role.column))
            cases.append(f"WHEN {test} THEN {violation_code(role.name, 'text')}")
    return f"CASE {' '.join(cases)} ELSE 0 END"


def _check(spec: ColumnSpec, dialect: Dialect) -> str:
    """Return the negative code of the first rule that a row breaks; 0 for a good row."""
    # Nulls first, of all columns: a comparison with a null is neither true nor false.
    cases = []
    for role in spec.roles():
        code = violation_code(role.name, "null")
        cases.append(f"WHEN rainproof_{role.alias} IS NULL THEN {code}")
    if dialect.is_text is not None:
        cases.append("WHEN rainproof_text < 0 THEN rainproof_text")
    for role in spec.roles():
        column = f"rainproof_{role.alias}"
        if role.name in ("prob", "old"):
            nan_code = violation_code(role.name, "nan")
            range_code = violation_code(role.name, "range")
            is_nan = dialect.nan(column)
            rule_code = f"CASE WHEN {is_nan} THEN {nan_code} ELSE {range_code} END"
        else:
            rule_code = str(violation_code(role.name, "rule"))
        cases.append(f"WHEN {dialect.breaks(column, _RULES[role.name])} THEN {rule_code}")
    lines = "".join(f"      {case}\n" for case in cases)
    return f"CASE\n{lines}      ELSE 0\n    END"


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
        old_floor = dialect.floor.format(f"{m} * rainproof_q")
        columns["old"] = f"CASE WHEN rainproof_bad < 0 THEN 0 ELSE {old_floor} END"
    if spec.checks_other_labels:
        columns["other"] = "rainproof_other"
    return _listed(columns)


def _listed(columns: dict[str, str]) -> str:
    return ",\n    ".join(f"{value} AS rainproof_{name}" for name, value in columns.items())
