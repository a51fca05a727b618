"""Frames of PySpark: the statement of `rainproof.io.sql_statement` is run where their rows are."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from rainproof.core.grouped_rows import columns_of_table
from rainproof.core.validation import no_outcome
from rainproof.errors import InputError, RainproofError
from rainproof.io.column_spec import ColumnSpec
from rainproof.io.conditions import literals_as_numbers
from rainproof.io.dialects import find_dialect
from rainproof.io.source_errors import check_columns, first_line, need_pyarrow
from rainproof.io.sql_statement import statement

_FLOATS = ("float", "double")
_NUMBERS = ("tinyint", "smallint", "int", "bigint", "float", "double", "decimal", "boolean")


def read_spark(frame: Any, spec: ColumnSpec, m: int) -> dict[str, Any]:
    """Return the groups of a frame, made by one statement on a temporary view of it."""
    need_pyarrow()
    name = "the frame of pyspark"
    # A name of its own, as the session may have views of any name.
    view = f"rainproof_{os.urandom(8).hex()}"
    session = frame.sparkSession
    check_columns(name, spec.all_columns(), frame.columns)
    types = dict(frame.dtypes)
    _check_numbers(spec, types)
    try:
        if spec.where is not None:
            floats = [column for column, type_name in types.items() if type_name in _FLOATS]
            spec = replace(spec, where=literals_as_numbers(spec.where, floats))
        frame.createTempView(view)
        groups = session.sql(statement(view, spec, m, find_dialect("spark"))).toArrow()
    except RainproofError:
        raise
    except Exception as error:
        raise InputError(f"cannot read {name}: {first_line(error)}") from error
    finally:
        session.catalog.dropTempView(view)
    return columns_of_table(groups)


def _check_numbers(spec: ColumnSpec, types: Mapping[str, str]) -> None:
    """Refuse columns that are not numbers, of which Spark would convert some."""
    for column in spec.value_columns():
        type_name = types[column]
        is_outcome = column == spec.outcome
        is_label = is_outcome and spec.pos_label is not None
        is_number = type_name.partition("(")[0] in _NUMBERS
        if is_number or is_label:
            continue
        held = "text" if type_name == "string" else f"values of type {type_name}"
        if is_outcome:
            raise no_outcome(column, held)
        raise InputError(f"{column} must hold numbers; it holds {held}")
