"""Columns that were not named, guessed from their values and names; an ambiguous guess is refused."""

from __future__ import annotations

import math
import re
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pyarrow import csv

from brolly.engines.columns import is_text
from brolly.engines.files import file_batches
from brolly.engines.sources import expand
from brolly.errors import InputError

_PROB = re.compile(r"(?i)prob|^(p|q|phat|p_hat|score|risk|forecast|pred|prediction|y_pred|y_score)$|^p_")
_OUTCOME = re.compile(r"(?i)outcome|target|label|event|observ|actual|^(y|y_true|truth|happened|class)$")
_LOOKED_AT = 1 << 16  # rows
_NULLS = pa.array(csv.ConvertOptions().null_values, pa.large_string())  # text that means a missing value


def guess_columns(
    files: list[str], prob: str | list[str] | None, outcome: str | None, pos_label: str | None
) -> tuple[str, str]:
    """Return the column of probabilities and that of outcomes, from the first rows of the first file."""
    path = expand(files)[0]
    batch = next(file_batches(path, [], others=True), None)
    if batch is None:
        raise InputError(f"{path} has columns but no rows")
    batch = batch.slice(0, _LOOKED_AT)
    columns = {name: _values(batch.column(name)) for name in batch.schema.names}
    if outcome is None:
        outcome = _one(
            path, "--outcome", _outcomes(columns, prob, pos_label), _OUTCOME, _labels_hint(columns, pos_label)
        )
    if prob is None:
        prob = _one(path, "--prob", _probabilities(columns, outcome), _PROB, _percent_hint(columns))
    return prob if isinstance(prob, str) else " ".join(prob), outcome


def _values(column: pa.Array) -> Any:
    """Return the values of a column that are not missing: numbers, with 1 and 0 for true and false, or text."""
    if pa.types.is_dictionary(column.type):
        column = column.dictionary_decode()
    if is_text(column.type):
        column = pc.utf8_trim_whitespace(column.cast(pa.large_string()))
        column = pc.if_else(pc.is_in(column, _NULLS), None, column)
    values = column.drop_null().to_pylist()
    numbers = [_number(value) for value in values]
    return values if None in numbers else np.array([x for x in numbers if not math.isnan(x or 0)], np.float64)


def _number(value: Any) -> float | None:
    """Return a value as a number; None if it is none."""
    word = str(value).lower()
    try:
        return {"true": 1.0, "false": 0.0}[word] if word in ("true", "false") else float(word)
    except ValueError:
        return None


def _probabilities(columns: dict[str, Any], outcome: str) -> list[str]:
    """Numbers from 0 to 1 that are not 0 and 1 alone."""

    def fits(values: Any) -> bool:
        if not isinstance(values, np.ndarray) or not len(values):
            return False
        return bool(((values >= 0) & (values <= 1)).all() and ((values > 0) & (values < 1)).any())

    return [name for name, values in columns.items() if name != outcome and fits(values)]


def _outcomes(columns: dict[str, Any], prob: str | list[str] | None, pos_label: str | None) -> list[str]:
    """Columns of 0 and 1; with a label of the event, columns of two labels with it."""
    taken = prob if isinstance(prob, list) else [prob]

    def fits(values: Any) -> bool:
        distinct = set(values.tolist() if isinstance(values, np.ndarray) else values)
        if pos_label is not None:
            return len(distinct) == 2 and not distinct.isdisjoint((pos_label, _number(pos_label)))
        return bool(distinct) and distinct <= {0.0, 1.0}

    return [name for name, values in columns.items() if name not in taken and fits(values)]


def _one(path: str, option: str, candidates: list[str], usual: re.Pattern[str], hint: str) -> str:
    """Return the one candidate, or the one with a usual name."""
    named = [name for name in candidates if usual.search(name)]
    for found in (candidates, named):
        if len(found) == 1:
            return found[0]
    if not candidates:
        raise InputError(f"{option} is missing, and no column of {path} looks like it{hint}")
    listed = ", ".join(map(repr, candidates))
    raise InputError(f"{option} is missing, and {path} has {len(candidates)} columns that it could be: {listed}")


def _percent_hint(columns: dict[str, Any]) -> str:
    for name, values in columns.items():
        numbers = isinstance(values, np.ndarray) and len(values)
        if numbers and _PROB.search(name) and values.min() >= 0 and 1 < values.max() <= 100:
            return f" (probabilities lie in [0, 1]; {name!r} may be in percent: divide it by 100)"
    return " (numbers from 0 to 1)"


def _labels_hint(columns: dict[str, Any], pos_label: str | None) -> str:
    if pos_label is not None:
        return f" (two labels, one of them {pos_label!r})"
    for name, values in columns.items():
        distinct = sorted(set(values)) if isinstance(values, list) else []
        if len(distinct) == 2:
            labels = " or ".join(distinct)
            return f" (0 and 1; for {name!r} name the event: --outcome {name} --pos-label {labels})"
    return " (0 and 1, or true and false)"
