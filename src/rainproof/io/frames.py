"""Rows of another engine: it groups them where they are, and only the groups are fetched."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from rainproof.core.sample import Sample
from rainproof.core.segments import Segments, as_columns, from_grouped
from rainproof.errors import InputError, MissingExtraError, RainproofError
from rainproof.io.databases import Table, is_database, read_database
from rainproof.io.files import check_columns, first_line
from rainproof.io.where import ColumnSpec


def is_remote(source: object) -> bool:
    """Whether another engine holds the rows; nothing is imported to find out."""
    return isinstance(source, Table) or is_database(source) or _package(source) in _FRAMES


def aggregate(
    source: Any, spec: ColumnSpec, m: int, *, progress: Callable[[int, int], object] | None = None
) -> Sample | Segments:
    """Return the compressed rows, grouped by the engine that holds them.

    Parameters
    ----------
    source : Table, str, or a lazy frame
        A table of a database or its address, or a frame of PySpark, Dask or another engine that narwhals supports.
    spec : ColumnSpec
        The columns.
    m : int
        The grid of the compression.
    progress : callable, optional
        Called once, at the end, with the number of rows twice: engines do not report their progress.

    Raises
    ------
    InputError
        If the source cannot be read, lacks a column, or holds values that break a rule; with their count.
    MissingExtraError
        If a package is needed that is not installed.
    """
    if not isinstance(spec.prob, str):
        raise InputError("prob must be one column for rows of another engine: it does not read several classes")
    if spec.native is not None:
        raise InputError('where must be text for rows of another engine, such as "p is not null"')
    if isinstance(source, Table) or is_database(source):
        found = _checked(read_database(source, spec, m), spec)
    else:
        found = _FRAMES.get(_package(source), read_frame)(source, spec, m)
    if progress is not None:
        rows = found.n if isinstance(found, Sample) else sum(found.counts.values())
        progress(rows, rows)
    return found


def read_frame(source: Any, spec: ColumnSpec, m: int) -> Sample | Segments:
    """Compress the rows of a lazy frame, by one expression that its own engine runs."""
    try:
        import narwhals.stable.v2 as nw
    except ImportError:
        raise MissingExtraError(f"reading a frame of {_package(source)}", "narwhals", "narwhals pyarrow") from None
    from rainproof.io.expressions import grouped

    frame = nw.from_native(nw.to_native(source, pass_through=True)).lazy()
    name = f"the frame of {_package(source)}"
    check_columns(name, spec.all_columns(), frame.collect_schema().names())
    # The in-memory engine of Polars would compute all columns first; the streaming engine takes rows in batches.
    polars = {"backend": "polars", "engine": "streaming"}
    options: dict[str, Any] = polars if frame.implementation.is_polars() else {"backend": "pyarrow"}
    try:
        columns = as_columns(nw.to_native(grouped(frame, spec, m).collect(**options)))
    except RainproofError:
        raise
    except Exception as error:  # each engine has its own exceptions
        raise InputError(f"cannot read {name}: {first_line(error)}") from error
    return _checked(columns, spec)


def _read_dask(source: Any, spec: ColumnSpec, m: int) -> Sample | Segments:
    from rainproof.io.partitions import read_partitions

    return read_partitions(source, spec, m)


def _checked(columns: dict[str, Any], spec: ColumnSpec) -> Sample | Segments:
    return from_grouped(columns, spec.group_columns(), spec.names, pos_label=spec.pos_label, forecasts=spec.forecasts)


def _package(source: object) -> str:
    return type(source).__module__.partition(".")[0]


_FRAMES: dict[str, Callable[[Any, ColumnSpec, int], Sample | Segments]] = {
    "dask": _read_dask,
    "pyspark": read_frame,
    "ibis": read_frame,
    "sqlframe": read_frame,
    "narwhals": read_frame,
}
"""How to read a frame, by the package that its type is from."""
