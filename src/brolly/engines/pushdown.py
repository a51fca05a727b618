"""Rows that stay where they are: the engine that holds them groups them, and only the groups travel."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from brolly.core.input.rows import ColumnNames
from brolly.core.sample.groupby_result import as_columns, from_grouped
from brolly.core.sample.segments import GroupedCells
from brolly.engines.column_spec import ColumnSpec
from brolly.engines.databases import Table, first_line, is_database, read_database
from brolly.engines.files import check_columns
from brolly.errors import BrollyError, InputError, MissingExtraError

_FRAMES = ("pyspark", "ibis", "sqlframe", "narwhals")  # their lazy frames, told by the package they come from


def is_remote(source: object) -> bool:
    """Whether the rows of this source are elsewhere; nothing is imported to find out."""
    return isinstance(source, Table) or is_database(source) or _package(source) in ("dask", *_FRAMES)


def aggregate(
    source: Any, spec: ColumnSpec, m: int, *, progress: Callable[[int, int], object] | None = None
) -> GroupedCells:
    """The grouped sums of all rows that count, made by the engine that holds them.

    Parameters
    ----------
    source : Table, str, or a lazy frame
        A table of a database, or a frame of PySpark, Dask, Polars, DuckDB or whatever else narwhals knows.
    spec : ColumnSpec
        Which column is what.
    m : int
        The grid of the compression.
    progress : callable, optional
        Called once at the end, with the number of rows twice: engines do not say how far they are.

    Raises
    ------
    InputError
        Where the source cannot be read, lacks a column, or holds values that break a rule: how many, of all.
    MissingExtraError
        Where a package is needed that is not installed.
    """
    if not isinstance(spec.prob, str):
        raise InputError("several columns of predictions can be read from rows in this process only")
    if spec.native is not None:
        raise InputError('where must be a condition in words for rows that are elsewhere, such as "p is not null"')
    if isinstance(source, Table) or is_database(source):
        sums = _sums(read_database(source, spec, m), spec)
    elif _package(source) == "dask":
        from brolly.engines.dask_backend import read_partitions

        sums = read_partitions(source, spec, m)
    else:
        sums = _sums(read_frame(source, spec, m), spec)
    if progress is not None:
        rows = int(sums.store.counts(len(sums.keys)).sum())
        progress(rows, rows)
    return sums


def read_frame(source: Any, spec: ColumnSpec, m: int) -> dict[str, Any]:
    """The groups of a lazy frame, by one expression that its own engine runs."""
    try:
        import narwhals.stable.v2 as nw
    except ImportError:
        raise MissingExtraError(f"reading a frame of {_package(source)}", "narwhals", "frames") from None
    from brolly.engines.narwhals_backend import grouped

    frame = nw.from_native(nw.to_native(source, pass_through=True)).lazy()
    what = f"the frame of {_package(source)}"
    check_columns(what, spec.needed(), frame.collect_schema().names())
    # In memory Polars would first make all the columns; its other engine takes the rows a part at a time.
    polars = {"backend": "polars", "engine": "streaming"}
    options: dict[str, Any] = polars if frame.implementation.is_polars() else {"backend": "pyarrow"}
    try:
        return as_columns(nw.to_native(grouped(frame, spec, m).collect(**options)))
    except BrollyError:
        raise
    except Exception as error:  # whatever the engine raises
        raise InputError(f"{what} could not be read: {first_line(error)}") from error


def _sums(columns: dict[str, Any], spec: ColumnSpec) -> GroupedCells:
    names = ColumnNames(label=spec.outcome, prob=str(spec.prob), weight=spec.weight or "")
    return from_grouped(columns, spec.by, names, pos_label=spec.pos_label)


def _package(source: object) -> str:
    return type(source).__module__.partition(".")[0]
