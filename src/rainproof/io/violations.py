"""Reading a column of a batch, and every rule that its values break, each with its count.

After the first broken rule, the values that break it in later batches are counted too: so each
rule is looked for on its own, in the rows that break none of those before it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from rainproof.core.classes import violations
from rainproof.core.columns import ColumnNames, explain_probabilities
from rainproof.core.validation import as_columns
from rainproof.errors import InputError
from rainproof.io.arrow_arrays import Array, as_mask, decoded
from rainproof.io.label_columns import EventColumn
from rainproof.io.number_columns import NumberColumn

Violations = Iterator[InputError]


def raise_first(violations: Iterable[InputError]) -> None:
    """Raise the first broken rule, if there is one."""
    for error in violations:
        raise error


def split_nulls(
    name: str, values: pa.Array, names: ColumnNames
) -> tuple[pa.Array, InputError | None]:
    """Return the values that are not null, and the error for those that are."""
    values = decoded(values)
    count = values.null_count
    if not count:
        return values, None
    first = int(np.argmax(as_mask(values.is_null())))
    rule = f"{name} must not contain nulls (missing values)"
    error = InputError.from_offenders(rule, count, names.at(name, first), missing=True)
    return values.drop_null(), error


def null_violations(
    columns: Iterable[str], batch: pa.RecordBatch, names: ColumnNames
) -> Violations:
    """Yield the error for each of these columns in which a value is missing."""
    for name in columns:
        _, error = split_nulls(name, batch.column(name), names)
        if error is not None:
            yield error


def read_values(
    column: NumberColumn | EventColumn, batch: pa.RecordBatch, names: ColumnNames
) -> tuple[Array, list[InputError]]:
    """Return the values that can be read, and what is wrong with the others."""
    values, nulls = split_nulls(column.name, batch.column(column.name), names)
    array, error = column.read(values, names)
    return array, [broken for broken in (nulls, error) if broken is not None]


def read_column(
    column: NumberColumn | EventColumn, batch: pa.RecordBatch, names: ColumnNames
) -> Array:
    """Return all values, or raise the first thing that is wrong."""
    array, errors = read_values(column, batch, names)
    raise_first(errors)
    return array


def read_forecast(column: NumberColumn, batch: pa.RecordBatch, names: ColumnNames) -> Array:
    """Return the predictions of another forecast, or raise the first thing that is wrong."""
    names = replace(names, prob=column.name)
    prob = read_column(column, batch, names)
    error = explain_probabilities(prob, names)
    if error is not None:
        raise error
    return prob


def read_amounts(column: NumberColumn, batch: pa.RecordBatch, names: ColumnNames) -> Array:
    """Return amounts that are finite and not negative, or raise the first thing that is wrong."""
    names = replace(names, weight=column.name)
    amounts = read_column(column, batch, names)
    raise_first(_weights_out_of_range(amounts, names))
    return amounts


def forecast_violations(
    column: NumberColumn, batch: pa.RecordBatch, names: ColumnNames
) -> Violations:
    """Yield every rule that the predictions of a column break."""
    names = replace(names, prob=column.name)
    prob, errors = read_values(column, batch, names)
    yield from errors
    # Apart, as a check names one rule only: NaN, or numbers outside of [0, 1].
    is_nan = np.isnan(prob)
    for part in (prob[is_nan], prob[~is_nan]):
        yield from broken_rule(np.zeros(len(part)), part, None, names)


def amount_violations(
    column: NumberColumn, batch: pa.RecordBatch, names: ColumnNames
) -> Violations:
    """Yield every rule that amounts, such as weights, break."""
    names = replace(names, weight=column.name)
    amounts, errors = read_values(column, batch, names)
    yield from errors
    yield from _weights_out_of_range(amounts, names)


def class_violations(
    columns: Sequence[NumberColumn],
    batch: pa.RecordBatch,
    names: ColumnNames,
    is_present: NDArray[np.bool_] | None = None,
) -> Violations:
    """Yield every rule that the predictions of several classes break.

    With `is_present` the rules on a whole row are only for rows where it is true.
    """
    # All columns are read first: what cannot be a number at all is raised before what is counted.
    results = [read_values(column, batch, names) for column in columns]
    for _, errors in results:
        yield from errors
    predictions = [values for values, _ in results]
    if any(len(values) < batch.num_rows for values in predictions):
        return  # a row without all of its predictions has no sum
    prob = np.column_stack(predictions).astype(np.float64)
    if is_present is not None:
        prob[~is_present] = 1 / len(columns)  # which breaks no rule
    yield from violations(prob, names)


def broken_rule(label: Array, prob: Array, weight: Array | None, names: ColumnNames) -> Violations:
    """Yield the rule of `Sample` that these rows break, if any."""
    try:
        as_columns(label, prob, weight, names=names).check()
    except InputError as error:
        yield error


def _weights_out_of_range(weight: Array, names: ColumnNames) -> Violations:
    zeros = np.zeros(len(weight))  # outcomes and predictions that break no rule
    return broken_rule(zeros, zeros, weight, names)
