"""Rows with a column of predictions for each class.

They are added up by class or for the top label, or kept.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

from rainproof.core.arrays import Ints
from rainproof.core.classes import check_labels, unknown_label
from rainproof.core.columns import ColumnNames, Columns
from rainproof.core.labels import Key
from rainproof.core.rows import top_label
from rainproof.core.sample import Sample
from rainproof.core.segment_sums import SegmentSums
from rainproof.core.segments import Segments, from_sums
from rainproof.core.validation import as_columns
from rainproof.errors import InputError
from rainproof.io.arrow_arrays import Array
from rainproof.io.batches import BatchConsumer
from rainproof.io.column_spec import ColumnSpec
from rainproof.io.column_types import is_text
from rainproof.io.label_columns import encode_labels, segment_numbers
from rainproof.io.number_columns import amount_column, forecast_columns
from rainproof.io.violations import (
    Violations,
    amount_violations,
    class_violations,
    null_violations,
    raise_first,
    read_column,
    split_nulls,
)


class ClassRows(NamedTuple):
    """Rows of a batch."""

    occurred: Ints  # the number of the class
    prob: Array  # a column for each class
    weight: Array | None
    segment: Ints  # the number of the segment, or group


class _ClassConsumer(BatchConsumer):
    """Takes rows with a column of predictions for each class.

    Parameters
    ----------
    spec : ColumnSpec
        The columns.
    labels : sequence or None
        The labels of the classes in the outcome column; None for the names of the columns, or 0, 1,
        ...
    parse : bool
        Whether text is read as numbers, as in a CSV file.
    """

    def __init__(self, spec: ColumnSpec, labels: Sequence[Any] | None, *, parse: bool) -> None:
        super().__init__(spec.names)
        # Which label is the event is asked for one event; classes are named.
        if spec.pos_label is not None:
            raise InputError("pos_label is for two classes; give the labels of several with labels")
        self._spec = spec
        self._parse = parse
        self._are_named = labels is not None
        self._classes: list[Any] = list(spec.prob)
        if labels is not None:
            self._classes = check_labels(labels, len(spec.prob))
        self._columns = forecast_columns(spec.prob, spec, parse=parse)
        self._weight = amount_column(spec.weight, parse=parse)
        self._segments: dict[Key, int] = {}  # the number of each segment, or group
        self._group_columns: Sequence[str] = ()  # in which no value may be missing

    def take(self, batch: pa.RecordBatch, names: ColumnNames) -> None:
        raise_first(class_violations(self._columns, batch, names))
        predictions = [read_column(column, batch, names) for column in self._columns]
        prob = np.column_stack(predictions).astype(np.float64)
        occurred, errors = self._class_numbers(batch, names)
        raise_first(errors)
        raise_first(null_violations(self._group_columns, batch, names))
        weight = None if self._weight is None else read_column(self._weight, batch, names)
        segment = segment_numbers(self._segments, self._spec.by, batch)
        self._add_rows(ClassRows(occurred, prob, weight, segment), names)

    def violations(self, batch: pa.RecordBatch, names: ColumnNames) -> Violations:
        """Yield every rule that a batch breaks."""
        yield from class_violations(self._columns, batch, names)
        _, errors = self._class_numbers(batch, names)
        yield from errors
        yield from null_violations(self._group_columns, batch, names)
        if self._weight is not None:
            yield from amount_violations(self._weight, batch, names)

    @abstractmethod
    def _add_rows(self, rows: ClassRows, names: ColumnNames) -> None:
        """Check the weights of rows, and take them."""

    def _class_numbers(
        self, batch: pa.RecordBatch, names: ColumnNames
    ) -> tuple[Ints, list[InputError]]:
        """Return the class of each row, and what is wrong with the rows that have none."""
        outcome = self._spec.outcome
        values, nulls = split_nulls(outcome, batch.column(outcome), names)
        errors = [] if nulls is None else [nulls]
        codes, labels = encode_labels(values, outcome)
        numbers = self._numbers_by_label(values.type)
        occurred = np.array([numbers.get(label, -1) for label in labels], np.int64)[codes]
        is_unknown = occurred < 0
        if is_unknown.any():
            first = int(is_unknown.argmax())
            count = int(is_unknown.sum())
            classes = len(self._columns)
            are_numbered = 0 in numbers and not self._are_named
            errors.append(
                unknown_label(labels[codes[first]], first, count, classes, are_numbered, names)
            )
        return occurred, errors

    def _numbers_by_label(self, arrow_type: pa.DataType) -> Mapping[Any, int]:
        """Return the number of each class by its label in the outcome column.

        Without labels from the user, a class is called by its number or, in text, by the name of
        its column. In a text file numbers are text too.
        """
        numbers = range(len(self._classes))
        if is_text(arrow_type):
            known = {str(label): number for number, label in enumerate(self._classes)}
            if self._parse and not self._are_named:
                # A name wins over a number: classes may be called 1, 0.
                for number in numbers:
                    known.setdefault(str(number), number)
            return known
        if self._are_named:
            return {label: number for number, label in enumerate(self._classes)}
        return {number: number for number in numbers}


class ClassCompressor(_ClassConsumer):
    """Adds up rows by class, or for the top label.

    Parameters
    ----------
    spec, labels, parse
        As for rows of several classes in general.
    m : int
        The grid of the sums.
    view : str or None
        As in `scan`.
    """

    def __init__(
        self,
        spec: ColumnSpec,
        m: int,
        view: str | None,
        labels: Sequence[Any] | None,
        *,
        parse: bool,
    ) -> None:
        _check_classes(spec)
        if view not in ("top-label", "one-vs-rest"):
            rule = "view must be 'top-label' or 'one-vs-rest' with several columns of predictions"
            raise InputError(f"{rule}; it is {view!r}")
        super().__init__(spec, labels, parse=parse)
        self._view = view
        is_one = not spec.by and view == "top-label"  # which needs no table of segments
        self._sums = SegmentSums(m, weighted=spec.weight is not None, one=is_one)

    def result(self) -> Sample | Segments:
        """Return the compressed rows; a class is the last label of a segment."""
        keys = list(self._segments)
        weight_name = self.names.weight
        if self._view == "top-label":
            compressed = from_sums(self._spec.by, keys, self._sums, weight_name)
            return self.missing_outcomes.attached_to(compressed)
        columns = (*self._spec.by, "class")
        keys_of_classes: list[Key] = []
        for key in keys:
            keys_of_classes += [(*key, label) for label in self._classes]
        return from_sums(columns, keys_of_classes, self._sums, weight_name)

    def _add_rows(self, rows: ClassRows, names: ColumnNames) -> None:
        if self._view == "top-label":
            self._sums.add(_of_top_label(rows, names), rows.segment)
            return
        # Each class is a segment of its own, in which all rows are.
        classes = len(self._columns)
        for number in range(classes):
            of_class = as_columns(
                rows.occurred == number, rows.prob[:, number], rows.weight, names=names
            )
            self._sums.add(of_class, rows.segment * classes + number)


class ClassKeeper(_ClassConsumer):
    """Keeps all rows; the columns `by` are groups.

    Parameters
    ----------
    spec, labels, parse
        As for rows of several classes in general.
    """

    def __init__(self, spec: ColumnSpec, labels: Sequence[Any] | None, *, parse: bool) -> None:
        _check_classes(spec)
        super().__init__(spec, labels, parse=parse)
        self._group_columns = spec.by
        self._parts: list[ClassRows] = []

    def result(self) -> Sample:
        """Return all rows."""
        parts = self._parts
        occurred = np.concatenate([part.occurred for part in parts])
        weights = [part.weight for part in parts if part.weight is not None]
        groups = [part.segment for part in parts] if self._spec.by else []
        return Sample.from_classes(
            np.array(self._classes, object)[occurred],
            np.concatenate([part.prob for part in parts]),
            sample_weight=np.concatenate(weights) if weights else None,
            groups=np.concatenate(groups) if groups else None,
            labels=self._classes,
        )

    def _add_rows(self, rows: ClassRows, names: ColumnNames) -> None:
        # Predictions and classes are checked already; this looks at the weights.
        _of_top_label(rows, names).check()
        self._parts.append(rows)


def _of_top_label(rows: ClassRows, names: ColumnNames) -> Columns:
    """Return the same rows with the event that the most likely class occurred."""
    was_right, largest = top_label(rows.occurred, rows.prob)
    return as_columns(was_right, largest, rows.weight, names=names)


def _check_classes(spec: ColumnSpec) -> None:
    if isinstance(spec.prob, str) or len(spec.prob) < 2:
        rule = "prob must name a column for each class with view and labels"
        raise InputError(f"{rule}; it is {spec.prob!r}")
    if spec.trials is not None:
        raise InputError("trials are for one event, not for several classes")
