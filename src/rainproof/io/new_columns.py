"""Copies of files of predictions, with columns that are computed from them."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from rainproof.core.columns import ColumnNames
from rainproof.core.files import atomic_output
from rainproof.core.labels import numbered_segments
from rainproof.errors import InputError
from rainproof.io.arrow_arrays import Array, as_mask, as_numpy, decoded, text_errors
from rainproof.io.batches import BatchConsumer
from rainproof.io.column_spec import ColumnSpec
from rainproof.io.column_types import is_text
from rainproof.io.formats import Write, check_writable, open_writer
from rainproof.io.label_columns import segment_labels
from rainproof.io.number_columns import amount_columns, forecast_columns
from rainproof.io.opening import ReadOptions
from rainproof.io.sources import NamedFile, NamedSource
from rainproof.io.text_numbers import without_missing_words
from rainproof.io.violations import (
    Violations,
    amount_violations,
    class_violations,
    forecast_violations,
    null_violations,
    raise_first,
    read_amounts,
    read_column,
)

NewColumn = Callable[..., Array]
"""Computes a column from the array of probabilities, that of ids (or None; with `by` rows by
segment), and of costs.
"""


def append_columns(
    source: str | os.PathLike[str] | NamedSource,
    output: str | os.PathLike[str],
    *,
    prob: str | Sequence[str],
    ids: str | None = None,
    by: Sequence[str] = (),
    costs: Sequence[str] = (),
    new_columns: Mapping[Any, NewColumn],
    whole: bool = False,
    keep_missing: bool = False,
    progress: Callable[[int], object] | None = None,
    **reading: Any,
) -> int:
    """Copy a file of predictions, add columns that are computed from them, and return the number of
    rows.

    Memory does not grow with the file. The output appears under its name once it is complete; if
    anything goes wrong, what was there before stays.

    Parameters
    ----------
    source : str or path-like, or NamedSource
        The file to read, in any format that `scan` reads.
    output : str or path-like
        The file to write, in the format that its name states. The columns of a text file stay text,
        in Parquet too.
    prob : str or sequence of str
        The column of predicted probabilities; or of each of several classes, whose probabilities
        sum to 1 in each row.
    ids : str, optional
        The column of row ids: integers or text.
    by : sequence of str
        Instead of ids: the columns that segment the rows, as for `scan`.
    costs : sequence of str
        Columns of amounts that new columns are also computed from.
    new_columns : mapping of str, or tuple of str, to callable
        How to compute each new column, by its name; or those of a matrix, by their names.
    whole : bool
        Whether columns are computed from all rows at once; memory then grows with the file.
    keep_missing : bool
        Whether a row without a probability is copied with nothing in the new columns, instead of
        being an error.
    progress : callable, optional
        Called after each batch with the number of rows read so far.
    reading
        The other options of `scan` that say how probabilities are read: `percent`,
        `confidence_words`.

    Raises
    ------
    InputError
        As for `scan`; also if the file has a column of the same name already, or the output cannot
        be written.
    """
    probs = [prob] if isinstance(prob, str) else list(prob)
    for argument, columns in (("ids", [ids]), ("costs", costs)):
        for name in columns:
            if name in probs:
                rule = f"prob and {argument} must be different columns"
                raise InputError(f"{rule}; both are {name}")
    if not isinstance(source, NamedSource):
        source = NamedSource([os.fspath(source)], ReadOptions(keep_missing=keep_missing))
    file = source.files[0]
    if len(source.files) > 1:
        raise InputError(f"one file is copied at a time; {len(source.files):,} were named")
    target = Path(output)
    spec = ColumnSpec(prob=tuple(probs), outcome="", costs=tuple(costs), **reading)
    check_writable(target)  # before a file is made
    with atomic_output(target) as temporary, open_writer(temporary, target) as write:
        appender = _ColumnAppender(
            file, spec, ids, by, new_columns, write, keep_missing=keep_missing
        )
        batches = file.batches(appender.columns, others=True)
        for batch in _together(batches) if whole else batches:
            with text_errors(batch):
                appender.add(batch)
            if progress is not None:
                progress(appender.rows)
        if not appender.rows:
            raise InputError(f"{file.name} has columns but no rows")
        appender.finish()
    return appender.rows


def _together(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Yield all batches as one."""
    parts = list(batches)
    if not parts:
        return
    if any(part.schema != parts[0].schema for part in parts):
        # Of JSON: a key came first in a later batch, or was null before.
        tables = [pa.Table.from_batches([part]) for part in parts]
        parts = pa.concat_tables(tables, promote_options="permissive").to_batches()
    yield pa.concat_batches(parts)


class _Inputs(NamedTuple):
    """The columns that new ones are computed from."""

    batch: pa.RecordBatch  # what may be missing is read as 0
    is_present: NDArray[np.bool_]  # which rows have a probability, and costs


class _ColumnAppender(BatchConsumer):
    """Writes each batch with the new columns beside its own.

    Parameters
    ----------
    file : NamedFile
        The file that is read.
    spec : ColumnSpec
        The columns of predictions and costs, and how they are read.
    ids : str or None
        The column of row ids.
    by : sequence of str
        Instead of ids: the columns of segments.
    new_columns : mapping
        How to compute each new column.
    write : callable
        Appends a batch to the copy.
    keep_missing : bool
        Whether a row without a probability is copied with nothing in the new columns.

    Attributes
    ----------
    columns : list of str
        The columns that are read.
    """

    def __init__(
        self,
        file: NamedFile,
        spec: ColumnSpec,
        ids: str | None,
        by: Sequence[str],
        new_columns: Mapping[Any, NewColumn],
        write: Write,
        *,
        keep_missing: bool,
    ) -> None:
        super().__init__(spec.names)
        self._id_columns = [] if ids is None else [ids]
        self.columns = list(dict.fromkeys([*spec.prob, *self._id_columns, *by, *spec.costs]))
        self._file_name = file.name
        self._ids = ids
        self._by = by
        self._new_columns = new_columns
        self._write = write
        self._keep_missing = keep_missing
        self._parse = file.format.is_text
        self._prob = forecast_columns(spec.prob, spec, parse=self._parse)
        self._costs = amount_columns(spec.costs, parse=self._parse)
        if len(self._prob) == 1:
            self._percent_columns = self._prob

    def take(self, batch: pa.RecordBatch, names: ColumnNames) -> None:
        """Write a batch with its new columns."""
        self._refuse_names_of(batch)
        inputs = self._inputs(batch)
        raise_first(self._forecast_violations(inputs, names))
        raise_first(null_violations(self._id_columns, inputs.batch, names))
        is_present = inputs.is_present
        predictions = [
            read_column(column, inputs.batch, names)[is_present] for column in self._prob
        ]
        prob = predictions[0]
        if len(predictions) > 1:
            prob = np.column_stack(predictions).astype(np.float64)
        ids = self._ids_or_segments(inputs)
        costs = [read_amounts(column, inputs.batch, names)[is_present] for column in self._costs]
        # Values are computed for the rows that have a probability; the others get null.
        row_of_value = pa.array(np.cumsum(is_present) - 1, mask=~is_present)
        for name, compute in self._new_columns.items():
            for column_name, column in _by_name(name, compute(prob, ids, *costs)):
                batch = batch.append_column(column_name, pa.array(column).take(row_of_value))
        self._write(batch)

    def violations(self, batch: pa.RecordBatch, names: ColumnNames) -> Violations:
        """Yield every rule that a batch breaks."""
        inputs = self._inputs(batch)
        yield from self._forecast_violations(inputs, names)
        yield from null_violations(self._id_columns, inputs.batch, names)
        for column in self._costs:
            yield from amount_violations(column, inputs.batch, names)

    def _refuse_names_of(self, batch: pa.RecordBatch) -> None:
        """Refuse a new column that the file has already."""
        for name in self._new_columns:
            new_names = [name] if isinstance(name, str) else name
            for new_name in new_names:
                if new_name in batch.schema.names:
                    raise InputError(
                        f"{self._file_name} has a column {new_name!r} already: rename it, as the "
                        "new one is called so"
                    )

    def _forecast_violations(self, inputs: _Inputs, names: ColumnNames) -> Violations:
        """Yield every rule that the predictions break."""
        if len(self._prob) == 1:
            return forecast_violations(self._prob[0], inputs.batch, names)
        return class_violations(self._prob, inputs.batch, names, inputs.is_present)

    def _ids_or_segments(self, inputs: _Inputs) -> Any:
        """Return the ids of the rows that have a probability, or their places by segment."""
        if self._by:
            mask = pa.array(inputs.is_present)
            columns = {name: inputs.batch.column(name).filter(mask) for name in self._by}
            labels = [segment_labels(column, name) for name, column in columns.items()]
            return numbered_segments((), labels, int(inputs.is_present.sum())).places()
        if self._ids is None:
            return None
        return _read_ids(self._ids, inputs.batch.column(self._ids))[inputs.is_present]

    def _inputs(self, batch: pa.RecordBatch) -> _Inputs:
        """Return the columns to read.

        An empty text, and in a column of numbers text such as NA, is null there, though the copy
        keeps it.
        """
        # Here, as it takes long to import and rows that are kept do not need it.
        import pyarrow.compute as pc

        inputs = {name: batch.column(name) for name in self.columns}
        numbers = [column.name for column in (*self._prob, *self._costs)]
        if self._parse:
            for name, column in inputs.items():
                if is_text(column.type):
                    inputs[name] = pc.if_else(pc.equal(column, ""), None, column)
            # Not in ids and segments, where NA is a label such as that of Namibia.
            cleaned = without_missing_words(pa.record_batch(inputs), numbers)
            inputs = dict(zip(inputs, cleaned.columns, strict=True))
        is_present = np.ones(batch.num_rows, np.bool_)
        if self._keep_missing:
            for name in numbers:
                column = inputs[name]
                if pa.types.is_floating(column.type):
                    column = pc.if_else(pc.is_nan(column), None, column)
                is_present &= as_mask(column.is_valid())
                zero = "0" if is_text(column.type) else 0
                inputs[name] = pc.fill_null(column, zero)
        return _Inputs(pa.record_batch(inputs), is_present)


def _by_name(name: str | Sequence[str], values: Array) -> Iterator[tuple[str, Array]]:
    """Yield the new columns by their names: one, or those of a matrix."""
    if isinstance(name, str):
        yield name, values
    else:
        yield from zip(name, values.T, strict=True)


def _read_ids(name: str, values: pa.Array) -> Array:
    """Return a column of row ids, which are integers or text."""
    values = decoded(values)
    if pa.types.is_integer(values.type):
        return as_numpy(values)
    if not (is_text(values.type) or pa.types.is_null(values.type)):
        raise InputError(
            f"{name} must hold integers or text; it holds values of type {values.type}"
        )
    text: Array = values.to_numpy(zero_copy_only=False)
    return text
