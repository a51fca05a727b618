"""Single rows of a source: kept for statements that sums do not allow, left out, or copied with new
columns.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from rainproof.core import validation
from rainproof.core.classes import ClassSample
from rainproof.core.files import atomic_output
from rainproof.core.sample import Sample, as_sample
from rainproof.core.segments import Segments
from rainproof.core.validation import BaseRate, ColumnNames, Rows
from rainproof.errors import InputError
from rainproof.io import ingest
from rainproof.io.columns import (
    Array,
    NumberColumn,
    as_mask,
    as_numpy,
    is_text,
    split_nulls,
    without_missing_words,
)
from rainproof.io.databases import is_database
from rainproof.io.files import Location, Write, check_writable, file_batches, format_of, open_writer
from rainproof.io.scanning import GRID, ColumnSpec, Progress, scan, stating
from rainproof.io.sources import local_sources


class _TooManyError(Exception):
    """There are more rows than may be kept, and a database has them."""


def keep_rows(
    source: Any,
    prob: str | Sequence[str],
    outcome: str,
    *,
    groups: str | Sequence[str] = (),
    by: Sequence[str] = (),
    at_most: int | None = None,
    fractional: bool = False,
    base_rate: BaseRate | None = None,
    costs: Sequence[str] = (),
    sep: str | None = None,
    progress: Progress | None = None,
    **reading: Any,
) -> Sample | Segments:
    """Read the rows of a source as `scan` does, and keep them: about 20 bytes each.

    Parameters
    ----------
    source, prob, outcome, base_rate, sep, progress
        As for `scan`; for rows in this process. Several columns in `prob` are several forecasts.
    groups : str or sequence of str
        The columns of groups: rows that are the same in all of them are one.
    by : sequence of str
        The columns of segments.
    at_most : int, optional
        With more rows than this, return what `scan` returns: they are compressed in the same pass,
        and those of a database by the database. Rows with groups, several forecasts, shares or
        costs are always kept.
    fractional : bool
        Whether outcomes are shares of the event.
    costs : sequence of str
        The columns of costs of each case; the sample has them, by their names, in `_amounts`.
    reading
        The other options of `scan` that say how rows are read: `weight`, `where`, `pos_label`, ...
    """
    first, *others = [prob] if isinstance(prob, str) else prob
    groups = (groups,) if isinstance(groups, str) else tuple(groups)
    spec = ColumnSpec.from_arguments(
        first, outcome, by=list(dict.fromkeys([*groups, *by])) or None, **reading
    )
    spec = replace(spec, others=tuple(others), costs=tuple(costs))
    if fractional and not (spec.pos_label is None and spec.trials is None):
        raise InputError("fractional outcomes cannot be combined with pos_label or trials")
    sources = local_sources(source, spec.all_columns(), spec.native, sep=sep)
    at_most = None if groups or others or fractional or costs else at_most
    elsewhere = spec.is_plain and is_database(source[0] if isinstance(source, list) else source)
    keeper = _Keeper(
        spec,
        groups,
        by,
        at_most,
        parse=sources[0].parse,
        fractional=fractional,
        elsewhere=elsewhere,
    )
    try:
        ingest.feed(sources, spec, keeper, progress)
    except _TooManyError:
        found = scan(source, first, outcome, by=spec.by or None, progress=progress, **reading)
        return stating(found, base_rate)
    return stating(keeper.result(), base_rate)


class _Keeper(ingest.BinaryIngest):
    """The rows of all batches, or the sums of too many."""

    def __init__(
        self,
        spec: ColumnSpec,
        groups: Sequence[str],
        by: Sequence[str],
        at_most: int | None,
        *,
        parse: bool,
        fractional: bool,
        elsewhere: bool,
    ) -> None:
        super().__init__(spec, GRID, parse=parse)
        self._at_most, self._fractional, self._elsewhere = at_most, fractional, elsewhere
        self._compressed = False
        self._parts: list[Rows] = []
        # of each part the other forecasts, and the costs of each case
        self._forecasts: list[list[Array]] = []
        self._groups, self._by = list(groups), list(by)
        # the number of each group and segment
        self._known: tuple[dict[validation.Key, int], dict[validation.Key, int]] = {}, {}
        # of both, of each part: 4 bytes a row, whatever the labels
        self._numbers: tuple[list[Any], list[Any]] = [], []
        # the columns of segments, while there may be too many rows
        self._replayed: list[pa.RecordBatch] = []

    def _take(self, batch: pa.RecordBatch, names: ColumnNames) -> None:
        for error in ingest.missing_groups(self._groups, batch, names):
            raise error
        super()._take(batch, names)

    def _add(self, rows: Rows, others: list[Array], batch: pa.RecordBatch) -> None:
        if self._compressed:
            super()._add(rows, others, batch)
            return
        shares = validation.explain_shares(rows.label, rows.names) if self._fractional else None
        if shares is not None:
            raise shares
        (replace(rows, label=np.zeros(len(rows), np.uint8)) if self._fractional else rows).check()
        self._parts.append(rows)
        if self._at_most is not None:
            self._replayed.append(batch.select(self._by))
            if sum(map(len, self._parts)) > self._at_most:
                self._compress()
                return
        self._forecasts.append(others)
        for numbers, known, columns in zip(
            self._numbers, self._known, (self._groups, self._by), strict=True
        ):
            if columns:
                numbers.append(ingest.number_batch(known, columns, batch).astype(np.int32))

    def _compress(self) -> None:
        """Go over from rows to sums."""
        if self._elsewhere:
            raise _TooManyError
        self._compressed = True
        for rows, batch in zip(self._parts, self._replayed, strict=True):
            super()._add(rows, [], batch)
        self._parts, self._replayed = [], []

    def _violations(self, batch: pa.RecordBatch, names: ColumnNames) -> Iterator[InputError]:
        yield from super()._violations(batch, names)
        if self._fractional:
            error = validation.explain_shares(
                ingest.read_values(self._outcome, batch, names)[0], names
            )
            yield from [] if error is None else [error]
        yield from ingest.missing_groups(self._groups, batch, names)

    def result(self) -> Sample | Segments:
        """All rows, or their sums."""
        if self._compressed:
            return super().result()
        self._check_event()

        def column(name: str) -> Any:
            found = [getattr(part, name) for part in self._parts]
            return None if found[0] is None else np.concatenate(found)

        groups, by = (np.concatenate(numbers) if numbers else None for numbers in self._numbers)
        self._known[0].clear()  # the labels of groups take more memory than the rows
        label, prob, weight = column("label"), column("prob"), column("weight")
        beside = [np.concatenate(parts) for parts in zip(*self._forecasts, strict=True)]
        if self._fractional or self._others:
            others = {c.name: values for c, values in zip(self._others, beside, strict=False)}
            several = {self._prob.name: prob, **others} if others else prob
            found = Sample(
                label,
                several,
                sample_weight=weight,
                groups=groups,
                by=by,
                fractional=self._fractional,
            )
        else:
            rows = Rows(label=label, prob=prob, weight=weight, names=self._parts[0].names)
            found = as_sample(Sample._from_rows(rows), groups=groups, by=by)
        found._amounts = dict(zip(self._spec.costs, beside[len(self._others) :], strict=True))
        if found._segments is not None:
            labels = {
                key if len(key) > 1 else key[0]: number for key, number in self._known[1].items()
            }
            ordered, places = sorted(labels, key=validation.label_order), found._segments[1]
            found._segments = tuple(self._by), {label: places[labels[label]] for label in ordered}
        return found


def keep_classes(
    source: Any,
    classes: Sequence[str],
    outcome: str,
    *,
    labels: Sequence[Any] | None = None,
    groups: Sequence[str] = (),
    base_rate: BaseRate | None = None,
    sep: str | None = None,
    progress: Progress | None = None,
    **reading: Any,
) -> ClassSample | Sample:
    """Read rows with a column of predictions for each class, and keep them: 8 bytes for each
    prediction.

    The parameters are those of `scan` and `keep_rows`. Two classes are one event, the second of
    them.
    """
    if base_rate is not None:
        raise InputError("base_rate is for one event, not for several classes")
    spec = ColumnSpec.from_arguments(list(classes), outcome, by=list(groups) or None, **reading)
    sources = local_sources(source, spec.all_columns(), spec.native, sep=sep)
    keeper = ingest.MulticlassIngest(spec, GRID, None, labels, parse=sources[0].parse, keep=True)
    ingest.feed(sources, spec, keeper, progress)
    found = keeper.kept()
    return found if len(found) > 2 else found._of(1)


NewColumn = Callable[..., Array]
"""Computes a column from the array of probabilities, that of ids (or None; with `by` rows by
segment), and of costs.
"""


def append_columns(
    path: str | os.PathLike[str],
    output: str | os.PathLike[str],
    *,
    prob: str | Sequence[str],
    ids: str | None = None,
    by: Sequence[str] = (),
    costs: Sequence[str] = (),
    new_columns: Mapping[Any, NewColumn],
    whole: bool = False,
    sep: str | None = None,
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
    path : str or path-like
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
    sep : str, optional
        What separates the columns of a text file. Default: recognised.
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
    for name, others in (("ids", [ids]), ("costs", costs)):
        for both in set(probs) & set(others):
            raise InputError(f"prob and {name} must be different columns; both are {both}")
    file = Location(os.fspath(path), sep, keeps_empty=keep_missing)
    target = Path(output)
    spec = ColumnSpec(prob=tuple(probs), outcome="", costs=tuple(costs), **reading)
    check_writable(target)  # before a file is made
    with atomic_output(target) as temporary, open_writer(temporary, target) as write:
        appender = _ColumnAppender(
            file, spec, ids, by, new_columns, write, keep_missing=keep_missing
        )
        batches = file_batches(file, appender.columns, others=True)
        for batch in _together(batches) if whole else batches:
            appender.add(batch)
            if progress is not None:
                progress(appender.rows)
        if not appender.rows:
            raise InputError(f"{file.name} has columns but no rows")
        appender.finish()
    return appender.rows


def _together(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """All batches as one."""
    every = list(batches)
    if every:
        yield pa.concat_batches(every)


class _ColumnAppender(ingest.BatchIngest):
    """Writes each batch with the new columns beside its own."""

    def __init__(
        self,
        file: Location,
        spec: ColumnSpec,
        ids: str | None,
        by: Sequence[str],
        new_columns: Mapping[Any, NewColumn],
        write: Write,
        *,
        keep_missing: bool,
    ) -> None:
        super().__init__(spec.names)
        self.columns = list(
            dict.fromkeys([*spec.prob, *([] if ids is None else [ids]), *by, *spec.costs])
        )
        self._file, self._ids, self._by, self._new_columns, self._write = (
            file.name,
            ids,
            by,
            new_columns,
            write,
        )
        self._keep_missing, self._parse = keep_missing, format_of(file.path).is_text
        self._prob = [
            NumberColumn(name, "probabilities", spec, parse=self._parse) for name in spec.prob
        ]
        self._probabilities = self._prob if len(self._prob) == 1 else ()
        self._costs = [
            NumberColumn(name, "amounts", spec, parse=self._parse) for name in spec.costs
        ]

    def _take(self, batch: pa.RecordBatch, names: ColumnNames) -> None:
        for name in np.concatenate([np.atleast_1d(names) for names in self._new_columns]).tolist():
            if name in batch.schema.names:
                raise InputError(
                    f"{self._file} has a column {name!r} already: rename it, as the new one is called so"
                )
        inputs, there = self._inputs(batch)
        for error in (*self._of_prob(inputs, there, names), *self._unnamed(inputs, names)):
            raise error
        read = [ingest.read_column(column, inputs, names)[there] for column in self._prob]
        prob = read[0] if len(read) == 1 else np.column_stack(read).astype(np.float64)
        others: Any = (
            None if self._ids is None else _ids(self._ids, inputs.column(self._ids))[there]
        )
        if self._by:
            labels = [
                ingest.encoded_labels(inputs.column(name).filter(pa.array(there)), name)
                for name in self._by
            ]
            others = validation.places_of_segments(labels, int(there.sum()))
        amounts = [ingest.read_amounts(column, inputs, names)[there] for column in self._costs]
        places = pa.array(np.cumsum(there) - 1, mask=~there)
        for named, compute in self._new_columns.items():
            made = compute(prob, others, *amounts)
            for name, column in (
                [(named, made)] if isinstance(named, str) else zip(named, made.T, strict=True)
            ):
                batch = batch.append_column(name, pa.array(column).take(places))
        self._write(batch)

    def _violations(self, batch: pa.RecordBatch, names: ColumnNames) -> Iterator[InputError]:
        inputs, there = self._inputs(batch)
        yield from self._of_prob(inputs, there, names)
        yield from self._unnamed(inputs, names)
        for column in self._costs:
            yield from ingest.weight_violations(column, inputs, replace(names, weight=column.name))

    def _of_prob(
        self, inputs: pa.RecordBatch, there: Any, names: ColumnNames
    ) -> Iterator[InputError]:
        """Yield every rule that the predictions break."""
        if len(self._prob) == 1:
            return ingest.prob_violations(self._prob[0], inputs, names)
        return ingest.class_violations(self._prob, inputs, names, there)

    def _unnamed(self, inputs: pa.RecordBatch, names: ColumnNames) -> list[InputError]:
        """Return the error for ids that are missing, if there are any."""
        error = (
            None
            if self._ids is None
            else split_nulls(self._ids, inputs.column(self._ids), names)[1]
        )
        return [] if error is None else [error]

    def _inputs(self, batch: pa.RecordBatch) -> tuple[pa.RecordBatch, Any]:
        """Return the columns to read, and which rows have a probability (and costs); what may be
        missing is read as 0.

        An empty text, and in a column of numbers text such as NA, is null here, though the batch
        keeps it.
        """
        # here, as it takes long to import and rows that are kept do not need it
        import pyarrow.compute as pc

        inputs = {name: batch.column(name) for name in self.columns}
        if self._parse:
            for name, text in inputs.items():
                if is_text(text.type):
                    inputs[name] = pc.if_else(pc.equal(text, ""), None, text)
            numbers = [one.name for one in (*self._prob, *self._costs)]
            inputs = dict(
                zip(
                    inputs,
                    without_missing_words(pa.record_batch(inputs), numbers).columns,
                    strict=True,
                )
            )
        there = np.ones(batch.num_rows, np.bool_)
        if self._keep_missing:
            for name in (one.name for one in (*self._prob, *self._costs)):
                column = inputs[name]
                if pa.types.is_floating(column.type):
                    column = pc.if_else(pc.is_nan(column), None, column)
                there &= as_mask(column.is_valid())
                inputs[name] = pc.fill_null(column, "0" if is_text(column.type) else 0)
        return pa.record_batch(inputs), there


def _ids(name: str, values: pa.Array) -> Array:
    """Return a column of row ids, which are integers or text."""
    if pa.types.is_dictionary(values.type):
        values = values.dictionary_decode()
    if pa.types.is_integer(values.type):
        return as_numpy(values)
    if not (is_text(values.type) or pa.types.is_null(values.type)):
        raise InputError(
            f"{name} must hold integers or text; it holds values of type {values.type}"
        )
    text: Array = values.to_numpy(zero_copy_only=False)
    return text
