"""Rows from any source, compressed in one pass: the public function of the engines."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Literal, TypedDict, Unpack, overload

from rainproof.core.cells import check_grid
from rainproof.core.sample import Sample
from rainproof.core.segments import Segments, from_grouped
from rainproof.errors import InputError
from rainproof.io.databases import Table, is_database, read_database
from rainproof.io.files import need, need_pyarrow
from rainproof.io.where import ColumnSpec

Progress = Callable[[int, int], object]
_Names = str | Sequence[str]
_PAIR_GRID = 1 << 10  # the default for two forecasts, of which a row has two cells
GRID = 1 << 16
_FRAMES = ("dask", "pyspark", "ibis", "sqlframe", "narwhals")  # packages whose frames are not in this process


class _Options(TypedDict, total=False):
    """The options of `scan` that do not change the type of its result."""

    weight: str | None
    where: Any
    grid: int | None
    pos_label: Any
    labels: Sequence[Any] | None
    percent: bool
    confidence_words: Mapping[str, float] | None
    trials: str | None
    drop_missing: bool
    sep: str | None
    progress: Progress | None


@overload
def scan(
    source: Any,
    prob: str | list[str] | tuple[str, ...] = ...,
    outcome: str = ...,
    *,
    by: None = ...,
    view: Literal["top-label"] | None = ...,
    **options: Unpack[_Options],
) -> Sample: ...
@overload
def scan(
    source: Any,
    prob: _Names = ...,
    outcome: str = ...,
    *,
    by: _Names,
    view: Literal["top-label", "one-vs-rest"] | None = ...,
    **options: Unpack[_Options],
) -> Segments: ...
@overload
def scan(
    source: Any,
    prob: _Names = ...,
    outcome: str = ...,
    *,
    by: None = ...,
    view: Literal["one-vs-rest"],
    **options: Unpack[_Options],
) -> Segments: ...
def scan(
    source: Any,
    prob: str | Sequence[str] = "p",
    outcome: str = "y",
    *,
    weight: str | None = None,
    by: str | Sequence[str] | None = None,
    where: Any = None,
    grid: int | None = None,
    pos_label: Any = None,
    view: Literal["top-label", "one-vs-rest"] | None = None,
    labels: Sequence[Any] | None = None,
    percent: bool = False,
    confidence_words: Mapping[str, float] | None = None,
    trials: str | None = None,
    drop_missing: bool = False,
    sep: str | None = None,
    progress: Progress | None = None,
) -> Sample | Segments:
    """Read predictions and outcomes from a data frame, files or a database, and compress them in one pass.

    Rows are read in batches and compressed at once (see `Sample.compress`), so memory does not grow with their
    number. `soft_binned_cdl` is the same as on the rows for every grid up to `grid`.

    Explained in docs/guide/data.md.

    Parameters
    ----------
    source : data frame, table, relation, mapping, path or list of paths
        A pandas or Polars data frame (also lazy), a PyArrow table, batch, reader or dataset, a DuckDB relation,
        any other object with ``__arrow_c_stream__``, or a mapping from column to array; a PySpark or Dask
        frame, a `Table` of a database or its address; or the name of a CSV (.csv, .csv.gz, .tsv, .tsv.gz),
        text (.txt, .txt.gz), JSON lines (.jsonl, .jsonl.gz, .ndjson, .ndjson.gz), JSON (.json, .json.gz), Excel (.xlsx,
        .xlsb, .xls, .ods), Parquet (.parquet, .pq) or Feather (.feather, .arrow) file, also in an object store (s3://,
        gs://, abfs://), a pattern such as ``"data/*.parquet"``, or a list of files and patterns.
    prob : str or sequence of str
        The column of predicted probabilities. Two columns, the old and the new forecast, give a sample of two
        forecasts for `switch_guarantee`; with `view` they are one column for each class.
    outcome : str
        The column of outcomes: 0 and 1, true and false, or any two labels with `pos_label`.
    weight : str, optional
        The column of sample weights.
    by : str or sequence of str, optional
        The columns that define segments, all in the same pass. Null and NaN are the segment None.
    where : str or expression, optional
        The rows to read: text such as ``"p is not null and region = 'north'"``, which means the same for every
        source (see Notes), or an expression of the library that holds the rows (of PyArrow for files).
    grid : int, optional
        The grid of the compression: a power of two, up to ``2**20``. Default: ``2**16``, for two forecasts ``2**10``.
    pos_label : object, optional
        The label of the event, where labels are not 0 and 1. Text is converted to the type of the column.
    view : {"top-label", "one-vs-rest"}, optional
        For several classes, see `Sample.from_multiclass`; "one-vs-rest" gives a segment for each class.
    labels : sequence, optional
        The labels of the classes in the outcome column, in the order of `prob`. Default: the names of those
        columns, or 0, 1, ... where the outcome column holds integers.
    percent : bool
        Whether the predictions are in percent, from 0 to 100.
    confidence_words : mapping of str to float, optional
        The prediction that each word in `prob` stands for: ``{"almost certain": 0.95, "unlikely": 0.2}``.
    trials : str, optional
        The column of trials: a row is that many rows with the same prediction, and `outcome` is the number of them with
        the event. They count as independent; if the trials of a row can depend on each other, as the loans of
        one grade in one year do, no bound or test of this sample holds.
    drop_missing : bool
        Whether rows with a null or a NaN in a column that is read (also of `by`) are left out, with a warning that
        counts them, instead of being an error.
    sep : str, optional
        What separates the columns of text files. Default: recognised from the first line.
    progress : callable, optional
        Called after each batch with the number of rows read so far and in total (0 if unknown).

    Returns
    -------
    Sample or Segments
        Compressed to `grid`. With `by`, or with ``view="one-vs-rest"``, a mapping from segment to `Sample`.

    Raises
    ------
    InputError
        If the source cannot be read, lacks a column, or holds a null, a NaN or another value that breaks a
        rule. The message counts them over all rows and names the first. Rows are counted from 0, after
        `where`.
    MissingExtraError
        If PyArrow is not installed.

    Notes
    -----
    A condition is ``column op literal`` (op one of ``= != < <= > >=``), ``column is [not] null``, ``column is
    [not] nan`` or ``column [not] in (literal, ...)``, joined by ``and``, ``or``, ``not`` and parentheses. Columns may
    stand in double quotes; text stands in single quotes. A comparison with a null or a NaN is false.

    With `by`, memory grows with the occupied (segment, cell, outcome): 24 bytes each, 56 with weights, about twice
    that while rows are read, and never more of them than rows. Choose a smaller `grid` for very many segments. With two
    forecasts the cell of the old one takes the place of the segment.

    Examples
    --------
    >>> import rainproof
    >>> rows = {"p": [0.1, 0.8, 0.6, None], "y": [0, 1, 1, 0], "region": ["n", "n", "s", "s"]}
    >>> rainproof.scan(rows, where="p is not null")
    Sample(n=3, events=2, grid=65536)
    >>> rainproof.scan(rows, by="region", where="p is not null")
    Segments(2 by region, n=3)
    >>> rainproof.scan(rows)
    Traceback (most recent call last):
      ...
    rainproof.errors.InputError: p must not contain nulls (missing values); 1 value does, the first is p[3]
    """
    classes = view is not None or labels is not None
    pair = not isinstance(prob, str) and len(prob) == 2 and not classes
    spec = ColumnSpec.from_arguments(
        prob,
        outcome,
        weight=weight,
        by=by,
        where=where,
        pos_label=pos_label,
        pair=pair,
        percent=percent,
        confidence_words=confidence_words,
        trials=trials,
        drop_missing=drop_missing,
    )
    grid = check_grid((_PAIR_GRID if pair else GRID) if grid is None else grid)
    if isinstance(source, list) and len(source) == 1:
        source = source[0]  # the address of a database may be in a list, as the names of files are
    here = classes or not spec.is_plain
    if not _is_path(source) and is_remote(source) and not (here and is_database(source)):
        if here:
            raise InputError(
                "view, labels, percent, confidence_words, trials and drop_missing are for rows in this process, "
                "not for those of another engine"
            )
        return aggregate(source, spec, grid, progress=progress)
    need_pyarrow()
    from rainproof.io.ingest import BinaryIngest, MulticlassIngest, feed
    from rainproof.io.sources import local_sources

    sources = local_sources(source, spec.all_columns(), spec.native, sep=sep)
    parse = sources[0].parse
    ingest: BinaryIngest | MulticlassIngest
    if classes or not isinstance(spec.prob, str):
        ingest = MulticlassIngest(spec, grid, view, labels, parse=parse)
    else:
        ingest = BinaryIngest(spec, grid, parse=parse)
    feed(sources, spec, ingest, progress)
    return ingest.result()


def _is_path(source: Any) -> bool:
    """Whether a source is the name of a file, rather than the address of a database."""
    return isinstance(source, os.PathLike) or (isinstance(source, str) and "://" not in source)


def is_remote(source: object) -> bool:
    """Whether another engine holds the rows; nothing is imported to find out."""
    return isinstance(source, Table) or is_database(source) or _package(source) in _FRAMES


def aggregate(source: Any, spec: ColumnSpec, m: int, *, progress: Progress | None = None) -> Sample | Segments:
    """Return the compressed rows, grouped by the engine that holds them: only the groups are fetched.

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
    if _package(source) == "dask":
        from rainproof.io.partitions import read_partitions

        found = read_partitions(source, spec, m)
    else:
        read = read_database if isinstance(source, Table) or is_database(source) else _read_lazy
        groups = read(source, spec, m)
        by = spec.group_columns()
        found = from_grouped(groups, by, spec.names, pos_label=spec.pos_label, forecasts=spec.forecasts)
    if progress is not None:
        rows = found.n if isinstance(found, Sample) else sum(found.counts.values())
        progress(rows, rows)
    return found


def _read_lazy(source: Any, spec: ColumnSpec, m: int) -> dict[str, Any]:
    name = f"frame of {_package(source)}"
    need("narwhals.stable.v2", f"reading a {name}", "narwhals", "narwhals pyarrow")
    from rainproof.io.frames import read_frame

    return read_frame(source, spec, m, f"the {name}")


def _package(source: object) -> str:
    return type(source).__module__.partition(".")[0]
