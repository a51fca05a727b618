"""The public function `scan`: rows from any source, compressed in one pass.

Rows of files and of this process come from `rainproof.io.sources`, and are added up by
`rainproof.io.compressing`. Rows that another engine holds are added up there, and only the sums are
fetched. What is read of a source is in `rainproof.io.column_spec`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal, TypedDict, Unpack, overload

from rainproof.core.arguments import with_rate
from rainproof.core.cells import check_grid
from rainproof.core.grouped_rows import from_grouped
from rainproof.core.sample import Sample
from rainproof.core.segments import Segments
from rainproof.core.validation import BaseRate
from rainproof.errors import InputError
from rainproof.io.column_spec import ColumnSpec, Names
from rainproof.io.column_types import check_kinds_of_labels
from rainproof.io.databases import Table, is_database, read_database
from rainproof.io.opening import ReadOptions
from rainproof.io.source_errors import need_pyarrow, package_name
from rainproof.io.sources import NamedSource, Progress, local_sources, named_source
from rainproof.io.spark_frames import read_spark

View = Literal["top-label", "one-vs-rest"] | None
"""What several columns of predictions, one for each class, are made into."""

# In cells, as `Sample.compress` takes it.
DEFAULT_GRID = 1 << 16
DEFAULT_PAIR_GRID = 1 << 10  # of each of two forecasts: a row has a cell of both


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
    base_rate: BaseRate | None
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
    prob: Names = ...,
    outcome: str = ...,
    *,
    by: Names,
    view: View = ...,
    **options: Unpack[_Options],
) -> Segments: ...
@overload
def scan(
    source: Any,
    prob: Names = ...,
    outcome: str = ...,
    *,
    view: Literal["one-vs-rest"],
    **options: Unpack[_Options],
) -> Segments: ...
@overload
def scan(
    source: Any,
    prob: Names = ...,
    outcome: str = ...,
    *,
    classes: Sequence[str],
    **options: Unpack[_Options],
) -> Sample: ...
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
    view: View = None,
    classes: Sequence[str] | None = None,
    labels: Sequence[Any] | None = None,
    percent: bool = False,
    confidence_words: Mapping[str, float] | None = None,
    trials: str | None = None,
    drop_missing: bool = False,
    base_rate: BaseRate | None = None,
    sep: str | None = None,
    progress: Progress | None = None,
) -> Sample | Segments:
    """Read predictions and outcomes from a data frame, files or a database, and compress them in
    one pass.

    Rows are read in batches and compressed at once (see `Sample.compress`), so memory does not grow
    with their number. `soft_binned_cdl` is the same as on the rows for every grid up to `grid`.

    Explained in docs/guide/data.md.

    Parameters
    ----------
    source : data frame, table, relation, mapping, path or list of paths
        A pandas or Polars data frame (also lazy), a PyArrow table, batch, reader or dataset, a
        DuckDB relation, any other object with ``__arrow_c_stream__``, or a mapping from column to
        array; a PySpark or Dask frame, a `Table` of a database or its address; or the name of a CSV
        (.csv, .csv.gz, .tsv, .tsv.gz), text (.txt, .txt.gz), JSON lines (.jsonl, .jsonl.gz,
        .ndjson, .ndjson.gz), JSON (.json, .json.gz), Excel (.xlsx, .xlsb, .xls, .ods), Parquet
        (.parquet, .pq) or Feather (.feather, .arrow) file, also in an object store (s3://, gs://,
        abfs://), a pattern such as ``"data/*.parquet"``, or a list of files and patterns.
    prob : str or sequence of str
        The column of predicted probabilities. Two columns, the old and the new forecast, give a
        sample of two forecasts for `switch_guarantee`; with `view` they are one column for each
        class.
    outcome : str
        The column of outcomes: 0 and 1, true and false, or any two labels with `pos_label`.
    weight : str, optional
        The column of sample weights.
    by : str or sequence of str, optional
        The columns that define segments, all in the same pass. Null and NaN are the segment None.
    where : str or expression, optional
        The rows to read: text such as ``"p is not null and region = 'north'"``, which means the
        same for every source (see Notes), or an expression of the library that holds the rows (of
        PyArrow for files).
    grid : int, optional
        The grid of the compression: a power of two, up to ``2**20``. Default: ``2**16``, for two
        forecasts ``2**10``.
    pos_label : object, optional
        The label of the event, where labels are not 0 and 1. Text is converted to the type of the
        column.
    view : {"top-label", "one-vs-rest"}, optional
        For several columns of `prob`, one for each class: "top-label" is the largest probability of
        each row and whether that class occurred, "one-vs-rest" gives a segment for each class.
    classes : sequence of str, optional
        The columns of predictions, one for each class, in place of `prob`: the rows are kept, not
        compressed, 8 bytes for each prediction, in one `Sample`. For rows in this process.
    labels : sequence, optional
        The labels of the classes in the outcome column, in the order of `prob` or `classes`.
        Default: the names of those columns, or 0, 1, ... where the outcome column holds integers.
    percent : bool
        Whether the predictions are in percent, from 0 to 100.
    confidence_words : mapping of str to float, optional
        The prediction that each word in `prob` stands for: ``{"almost certain": 0.95, "unlikely":
        0.2}``. It is from 0 to 1, also where numbers are in percent.
    trials : str, optional
        The column of trials: a row is that many rows with the same prediction, and `outcome` is the
        number of them with the event. They count as independent; if the trials of a row can depend
        on each other, as the loans of one grade in one year do, no bound or test of this sample
        holds.
    drop_missing : bool
        Whether rows with a null or a NaN in a column that is read (also of `by`) are left out, with
        a warning that counts them, instead of being an error.
    base_rate : float or pair of float, optional
        The event rate of the population, or its range, if these rows have another one (see
        `Sample`). Not together with `weight` or `by`.
    sep : str, optional
        What separates the columns of text files. Default: recognised from the first line.
    progress : callable, optional
        Called after each batch with the number of rows read so far and in total (0 if unknown).

    Returns
    -------
    Sample or Segments
        Compressed to `grid`. With `by`, or with ``view="one-vs-rest"``, a mapping from segment to
        `Sample`. With `classes` a `Sample` of several classes; of two classes, the `Sample` of the
        second.

    Raises
    ------
    InputError
        If the source cannot be read, lacks a column, or holds a null, a NaN or another value that
        breaks a rule. The message counts them over all rows and names the first. Rows are counted
        from 0, after `where`.
    MissingExtraError
        If PyArrow is not installed.

    Notes
    -----
    A condition is ``column op literal`` (op one of ``= != < <= > >=``), ``column is [not] null``,
    ``column is [not] nan`` or ``column [not] in (literal, ...)``, joined by ``and``, ``or``,
    ``not`` and parentheses. Columns may stand in double quotes; text stands in single quotes. A
    comparison with a null or a NaN is false.

    With `by`, memory grows with the occupied (segment, cell, outcome): 24 bytes each, 56 with
    weights, about twice that while rows are read, and never more of them than rows. Choose a
    smaller `grid` for very many segments. With two forecasts the cell of the old one takes the
    place of the segment.

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
    """  # noqa: E501 (the message is one line)
    reading: dict[str, Any] = {
        "weight": weight,
        "where": where,
        "pos_label": pos_label,
        "percent": percent,
        "confidence_words": confidence_words,
        "trials": trials,
        "drop_missing": drop_missing,
    }
    source = named_source(source, ReadOptions(sep=sep))
    if classes is not None:
        if view is not None or by is not None or grid is not None or is_remote(source):
            raise InputError("classes keep rows of this process: they go without view, by and grid")
        need_pyarrow()
        from rainproof.io.kept_rows import keep_classes

        return keep_classes(
            source,
            classes,
            outcome,
            labels=labels,
            base_rate=base_rate,
            progress=progress,
            **reading,
        )
    # Two columns are two forecasts of one event, unless they are said to be classes.
    has_classes = view is not None or labels is not None
    is_several = isinstance(prob, Sequence) and not isinstance(prob, str)
    is_pair = is_several and len(prob) == 2 and not has_classes
    spec = ColumnSpec.from_arguments(
        prob, outcome, by=by, labels=tuple(labels or ()), pair=is_pair, **reading
    )
    if grid is None:
        grid = DEFAULT_PAIR_GRID if is_pair else DEFAULT_GRID
    m = check_grid(grid)
    if package_name(source) == "narwhals":
        source = source.to_native()
    if is_remote(source):
        needs_rows_here = has_classes or not spec.is_plain
        if not needs_rows_here:
            return with_base_rate(aggregate(source, spec, m, progress=progress), base_rate)
        if not isinstance(source, NamedSource):
            raise InputError(
                "view, labels, percent, confidence_words, trials and drop_missing are for rows in "
                "this process, not for those of another engine"
            )
    need_pyarrow()
    from rainproof.io.batches import feed
    from rainproof.io.class_batches import ClassCompressor
    from rainproof.io.compressing import RowCompressor

    sources = local_sources(source, spec.all_columns(), spec.native)
    parse = sources[0].parse
    compressor: RowCompressor | ClassCompressor
    if has_classes or not isinstance(spec.prob, str):
        compressor = ClassCompressor(spec, m, view, labels, parse=parse)
    else:
        compressor = RowCompressor(spec, m, parse=parse)
    feed(sources, spec, compressor, progress)
    return with_base_rate(compressor.result(), base_rate)


def with_base_rate(compressed: Sample | Segments, base_rate: BaseRate | None) -> Sample | Segments:
    """State the base rate of rows that were read; refuse that of segments."""
    if base_rate is None:
        return compressed
    if isinstance(compressed, Segments):
        raise InputError(
            "base_rate cannot be combined with by: that of a segment is not that of all rows"
        )
    return with_rate(compressed, base_rate, rates=True)


def is_remote(source: object) -> bool:
    """Whether another engine holds the rows; nothing is imported to find out."""
    if isinstance(source, NamedSource):
        return source.address is not None
    if isinstance(source, Table) or is_database(source):
        return True
    return package_name(source) in ("dask", "pyspark")


def aggregate(
    source: Any, spec: ColumnSpec, m: int, *, progress: Progress | None = None
) -> Sample | Segments:
    """Return the compressed rows, grouped by the engine that holds them: only the groups are
    fetched.

    Parameters
    ----------
    source : Table, str, or a lazy frame
        A table of a database or its address, or a frame of PySpark or Dask.
    spec : ColumnSpec
        The columns.
    m : int
        The grid of the compression.
    progress : callable, optional
        Called once, at the end, with the number of rows twice: engines do not report their
        progress.

    Raises
    ------
    InputError
        If the source cannot be read, lacks a column, or holds values that break a rule; with their
        count.
    MissingExtraError
        If a package is needed that is not installed.
    """
    if not isinstance(spec.prob, str):
        raise InputError(
            "prob must be one column for rows of another engine: it does not read several classes"
        )
    if spec.native is not None:
        raise InputError('where must be text for rows of another engine, such as "p is not null"')
    if isinstance(source, NamedSource):
        source = source.address
    package = package_name(source)
    if package == "dask":
        from rainproof.io.dask_frames import read_partitions

        compressed = read_partitions(source, spec, m)
    else:
        read = read_spark if package == "pyspark" else read_database
        compressed = from_grouped(
            read(source, spec, m),
            spec.group_columns(),
            spec.names,
            pos_label=spec.pos_label,
            forecasts=spec.forecasts,
        )
        # A column of SQLite may hold values of several types.
        if isinstance(compressed, Segments):
            keys = [label if len(spec.by) > 1 else (label,) for label in compressed]
            check_kinds_of_labels(spec.by, keys)
    if progress is not None:
        counts = [compressed.n] if isinstance(compressed, Sample) else compressed.counts.values()
        rows = sum(counts)
        progress(rows, rows)
    return compressed
