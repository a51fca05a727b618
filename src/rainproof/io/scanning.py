"""Rows from any source, compressed in one pass: the public function of the engines, and what it is
asked to read.

An option of `scan` that says how rows are read is one of its parameters and a field of
`ColumnSpec`. How it changes values is in `rainproof.io.columns`, how it changes rows in
`rainproof.io.ingest`.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, TypedDict, Unpack, overload

from rainproof.core.cells import check_grid
from rainproof.core.classes import ClassSample
from rainproof.core.sample import Sample, with_rate
from rainproof.core.segments import OLD_CELL, Segments, from_grouped
from rainproof.core.validation import BaseRate, ColumnNames, plain
from rainproof.errors import InputError
from rainproof.io.conditions import Condition, columns_of, parse
from rainproof.io.databases import Table, is_database, read_database, read_spark
from rainproof.io.files import need_pyarrow
from rainproof.io.queries import find_dialect, statement

Progress = Callable[[int, int], object]
_Names = str | Sequence[str]
_View = Literal["top-label", "one-vs-rest"] | None
_PAIR_GRID = 1 << 10  # the default for two forecasts, of which a row has two cells
GRID = 1 << 16
_FRAMES = ("dask", "pyspark")  # packages whose frames are not in this process


@dataclass(frozen=True, kw_only=True, slots=True)
class ColumnSpec:
    """The columns and rows to read from a source.

    Attributes
    ----------
    prob : str or tuple of str
        The column of predictions; with several classes one column for each.
    outcome : str
        The column of outcomes.
    others : tuple of str
        The columns of other forecasts for the same rows; where rows are compressed, the one that
        `prob` is to replace.
    weight : str or None
        The column of weights.
    by : tuple of str
        The columns that define segments.
    where : Condition or None
        The condition on rows, where it was given as text.
    native : object
        The condition on rows, where it was given as an expression of the source's own library.
    pos_label : object
        The label of the event, or None for labels 0 and 1.
    percent : bool
        Whether predictions are in percent.
    confidence_words : mapping of str to float, or None
        The number that each word in the columns of predictions stands for.
    trials : str or None
        The column of trials, of which the outcome is the number with the event.
    drop_missing : bool
        Whether rows with a missing value in one of these columns are left out.
    costs : tuple of str
        The columns of costs of each case, where rows are kept.
    """

    prob: str | tuple[str, ...]
    outcome: str
    others: tuple[str, ...] = ()
    weight: str | None = None
    by: tuple[str, ...] = ()
    where: Condition | None = None
    native: Any = None
    pos_label: Any = None
    percent: bool = False
    confidence_words: Mapping[str, float] | None = None
    trials: str | None = None
    drop_missing: bool = False
    costs: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if self.prob in self.others or len(set(self.others)) < len(self.others):
            forecasts = [*self.others, str(self.prob)]
            raise InputError(
                f"the forecasts must be different columns; they are {', '.join(forecasts)}"
            )
        if self.trials is not None and self.pos_label is not None:
            raise InputError(
                "trials cannot be combined with pos_label: the outcome is then a number of events"
            )
        columns = [*self.value_columns(), *(name for name in self.by if name not in self.others)]
        if len(set(columns)) < len(columns):
            also = " and by" if self.by else ""
            raise InputError(
                f"prob, outcome and weight{also} must be different columns; they are {', '.join(columns)}"
            )
        reserved = [column for column in self.by if column.lower().startswith("rainproof_")]
        if reserved:
            raise InputError(
                f"by must not name columns that begin with rainproof_, as the sums do; it is {reserved[0]!r}"
            )

    @classmethod
    def from_arguments(
        cls,
        prob: _Names,
        outcome: str,
        *,
        by: _Names | None = None,
        where: Any = None,
        pos_label: Any = None,
        pair: bool = False,
        **options: Any,
    ) -> ColumnSpec:
        """Check the arguments of `scan` and its relatives, and read a condition that is text."""
        predictions, segments = _names("prob", prob), () if by is None else _names("by", by)
        if pair and segments:
            raise InputError(
                "by cannot be combined with two forecasts: select the rows of a segment with where"
            )
        for argument, name in {"outcome": outcome, **options}.items():
            if argument in ("outcome", "weight", "trials") and (
                name is not None or argument == "outcome"
            ):
                _check_name(argument, name)
        text = isinstance(where, str)
        return cls(
            prob=predictions[-1] if pair or isinstance(prob, str) else predictions,
            others=predictions[:1] if pair else (),
            outcome=outcome,
            by=segments,
            where=parse(where) if text else None,
            native=None if text else where,
            pos_label=plain(pos_label),
            **options,
        )

    @property
    def old(self) -> str | None:
        """The column of the forecast that `prob` is to replace, if there is one."""
        return self.others[0] if self.others else None

    @property
    def names(self) -> ColumnNames:
        """The names of the columns, for error messages."""
        prob = self.prob if isinstance(self.prob, str) else ", ".join(self.prob)
        return ColumnNames(
            label=self.outcome, prob=prob, weight=self.weight or "", old=self.old or ""
        )

    @property
    def is_plain(self) -> bool:
        """Whether all rows and values are read as they are, which every engine can do."""
        return (
            not (self.percent or self.drop_missing)
            and self.confidence_words is None
            and self.trials is None
        )

    @property
    def has_other_labels(self) -> bool:
        """Whether the labels besides `pos_label` have to be checked: a bool has one opposite only."""
        return self.pos_label is not None and not isinstance(self.pos_label, bool)

    @property
    def complete(self) -> Condition | None:
        """The condition that no value is missing, if rows that miss one are left out."""
        columns = (
            list(dict.fromkeys([*self.value_columns(), *self.costs, *self.by]))
            if self.drop_missing
            else []
        )
        tests = tuple(Condition(op, column) for column in columns for op in ("not null", "not nan"))
        return Condition("and", values=tests) if tests else None

    @property
    def outcome_missing(self) -> Condition:
        """The condition that the outcome is missing, and nothing else."""
        columns = [
            name for name in (*self.value_columns(), *self.costs, *self.by) if name != self.outcome
        ]
        tests = tuple(Condition(op, column) for column in columns for op in ("not null", "not nan"))
        missing = Condition(
            "or", values=tuple(Condition(op, self.outcome) for op in ("null", "nan"))
        )
        return Condition("and", values=(missing, *tests))

    def roles(self) -> dict[str, tuple[str, str]]:
        """Return the role and the name of each column of rows that another engine compresses, by
        its letter there.
        """
        named: dict[str, tuple[str, Any]] = {"p": ("prob", self.prob), "y": ("label", self.outcome)}
        named |= {"w": ("weight", self.weight), "q": ("old", self.old)}
        return {
            letter: (role, str(name)) for letter, (role, name) in named.items() if name is not None
        }

    def value_columns(self) -> list[str]:
        """List the columns that sums are made of."""
        prob = [self.prob] if isinstance(self.prob, str) else [*self.prob]
        return [
            *prob,
            self.outcome,
            *(name for name in (self.weight, *self.others, self.trials) if name is not None),
        ]

    @property
    def forecasts(self) -> tuple[str, ...]:
        """The names of the forecasts, if there are several."""
        return (*self.others, str(self.prob)) if self.others else ()

    def group_columns(self) -> tuple[str, ...]:
        """List the columns that groups are made by, besides the cell of the prediction and the
        outcome.
        """
        return (OLD_CELL,) if self.others else self.by

    def number_columns(self) -> list[str]:
        """List the columns that are no labels: there text such as NA is a missing value."""
        return list(dict.fromkeys([*self.value_columns(), *self.costs]))

    def label_columns(self) -> list[str]:
        """List the columns whose values are labels, or are compared with others, rather than
        numbers in any form.
        """
        labels = list(self.by) if self.pos_label is None else [*self.by, self.outcome]
        asked = [] if self.where is None else columns_of(self.where) - set(self.value_columns())
        return list(dict.fromkeys([*labels, *sorted(asked)]))

    def all_columns(self) -> list[str]:
        """List every column to read, each once."""
        asked = [] if self.where is None else sorted(columns_of(self.where))
        return list(dict.fromkeys([*self.value_columns(), *self.costs, *self.by, *asked]))


def _names(argument: str, value: Any) -> tuple[str, ...]:
    names = tuple(value) if isinstance(value, Sequence) and not isinstance(value, str) else (value,)
    if not names:
        raise InputError(f"{argument} must name at least one column")
    for name in names:
        _check_name(argument, name)
    return names


def _check_name(argument: str, name: Any) -> None:
    if not isinstance(name, str):
        raise InputError(f"{argument} must be the name of a column, as text; it is {name!r}")


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
    prob: _Names = ...,
    outcome: str = ...,
    *,
    by: _Names,
    view: _View = ...,
    **options: Unpack[_Options],
) -> Segments: ...
@overload
def scan(
    source: Any,
    prob: _Names = ...,
    outcome: str = ...,
    *,
    view: Literal["one-vs-rest"],
    **options: Unpack[_Options],
) -> Segments: ...
@overload
def scan(
    source: Any,
    prob: _Names = ...,
    outcome: str = ...,
    *,
    classes: Sequence[str],
    **options: Unpack[_Options],
) -> ClassSample: ...
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
    view: _View = None,
    classes: Sequence[str] | None = None,
    labels: Sequence[Any] | None = None,
    percent: bool = False,
    confidence_words: Mapping[str, float] | None = None,
    trials: str | None = None,
    drop_missing: bool = False,
    base_rate: BaseRate | None = None,
    sep: str | None = None,
    progress: Progress | None = None,
) -> Sample | Segments | ClassSample:
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
        compressed, 8 bytes for each prediction, in a `ClassSample`. For rows in this process.
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
        `Sample`. With `classes` a `ClassSample` of the rows; of two classes, the `Sample` of the
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
    A condition is ``column op literal`` (op one of ``= != < <= > >=``), ``column is [not] null``, ``column is
    [not] nan`` or ``column [not] in (literal, ...)``, joined by ``and``, ``or``, ``not`` and parentheses. Columns may
    stand in double quotes; text stands in single quotes. A comparison with a null or a NaN is false.

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
    rainproof.errors.InputError: p must not contain nulls (missing values); 1 value does, the first
    is p[3]
    """
    how: dict[str, Any] = {
        "weight": weight,
        "where": where,
        "pos_label": pos_label,
        "percent": percent,
    }
    how |= {"confidence_words": confidence_words, "trials": trials, "drop_missing": drop_missing}
    if classes is not None:
        remote = not _is_path(source) and is_remote(source)
        if view is not None or by is not None or grid is not None or remote:
            raise InputError("classes keep rows of this process: they go without view, by and grid")
        need_pyarrow()
        from rainproof.io.kept_rows import keep_classes

        how |= {"labels": labels, "base_rate": base_rate, "sep": sep, "progress": progress}
        return keep_classes(source, classes, outcome, **how)
    several = view is not None or labels is not None
    pair = not isinstance(prob, str) and len(prob) == 2 and not several
    spec = ColumnSpec.from_arguments(prob, outcome, by=by, pair=pair, **how)
    grid = check_grid((_PAIR_GRID if pair else GRID) if grid is None else grid)
    if _package(source) == "narwhals":
        source = source.to_native()
    if isinstance(source, list) and len(source) == 1:
        source = source[0]  # the address of a database may be in a list, as the names of files are
    here = several or not spec.is_plain
    if not _is_path(source) and is_remote(source) and not (here and is_database(source)):
        if here:
            raise InputError(
                "view, labels, percent, confidence_words, trials and drop_missing are for rows in this process, "
                "not for those of another engine"
            )
        return stating(aggregate(source, spec, grid, progress=progress), base_rate)
    need_pyarrow()
    from rainproof.io.ingest import BinaryIngest, MulticlassIngest, feed
    from rainproof.io.sources import local_sources

    sources = local_sources(source, spec.all_columns(), spec.native, sep=sep)
    parse = sources[0].parse
    ingest: BinaryIngest | MulticlassIngest
    if several or not isinstance(spec.prob, str):
        ingest = MulticlassIngest(spec, grid, view, labels, parse=parse)
    else:
        ingest = BinaryIngest(spec, grid, parse=parse)
    feed(sources, spec, ingest, progress)
    return stating(ingest.result(), base_rate)


def stating(found: Sample | Segments, base_rate: BaseRate | None) -> Sample | Segments:
    """State the base rate of rows that were read; refuse that of segments."""
    if base_rate is None:
        return found
    if isinstance(found, Segments):
        raise InputError(
            "base_rate cannot be combined with by: that of a segment is not that of all rows"
        )
    return with_rate(found, base_rate, rates=True)


def sql(
    table: str | Sequence[str],
    prob: str,
    outcome: str,
    grid: int = 2**16,
    by: str | Sequence[str] | None = None,
    *,
    weight: str | None = None,
    where: str | None = None,
    pos_label: Any = None,
    dialect: str = "ansi",
) -> str:
    """Write the GROUP BY statement that compresses a table inside its database.

    This is for databases that rainproof does not connect to: run the statement there with any tool,
    and pass the result to `Sample.from_table`, or with `by` to `Segments.from_table`. At most ``2
    (m + 1)`` rows per segment leave the database.

    Explained in docs/guide/engines.md.

    Parameters
    ----------
    table : str or sequence of str
        The table or view: ``"predictions"``, ``"schema.predictions"``, or its parts ``("schema",
        "a.b")``.
    prob, outcome, weight : str
        The columns, as in `scan`. A boolean outcome needs ``pos_label=True`` where the database
        will not turn booleans into numbers (PostgreSQL, Snowflake, BigQuery).
    grid : int
        The grid of the compression: a power of two, up to 2**20.
    by : str or sequence of str, optional
        The columns that define segments.
    where : str, optional
        The rows to read, as in `scan`.
    pos_label : object, optional
        The label of the event, where labels are not 0 and 1: text, a number or a bool.
    dialect : {'ansi', 'duckdb', 'postgresql', 'spark', 'sqlite'}
        The SQL dialect. All but 'ansi' are tested on the database itself; 'ansi' uses what most of
        them share.

    Returns
    -------
    str
        One SELECT statement, without a semicolon. It changes nothing in the database.

    Notes
    -----
    For each cell ``floor(m p)`` and outcome the statement sums the number of rows, ``w``, ``w (m p - floor(m p))``
    and ``w^2``. Rows that break a rule go to negative cells, one for each rule, so that reading the result raises
    an error with their count. Databases add doubles in any order: sums may differ in the last digits from run to
    run.

    Examples
    --------
    >>> import rainproof, sqlite3
    >>> db = sqlite3.connect(":memory:")
    >>> _ = db.execute("CREATE TABLE predictions (p REAL, y INTEGER)")
    >>> _ = db.executemany("INSERT INTO predictions VALUES (?, ?)", [(0.1, 0), (0.8, 1), (0.6, 1), (0.3, 0)])
    >>> statement = rainproof.io.sql("predictions", "p", "y", 1024, dialect="sqlite")
    >>> rainproof.Sample.from_table(db.execute(statement))
    Sample(n=4, events=2, grid=1024)
    """
    spec = ColumnSpec.from_arguments(
        prob, outcome, weight=weight, by=by, where=where, pos_label=pos_label
    )
    if not isinstance(spec.prob, str):
        raise InputError(f"prob must be one column in SQL; it is {prob!r}")
    if spec.native is not None:
        raise InputError(f"where must be text in SQL; it is {where!r}")
    return statement(table, spec, check_grid(grid), find_dialect(dialect))


def _is_path(source: Any) -> bool:
    """Whether a source is the name of a file, rather than the address of a database."""
    return isinstance(source, os.PathLike) or (isinstance(source, str) and "://" not in source)


def is_remote(source: object) -> bool:
    """Whether another engine holds the rows; nothing is imported to find out."""
    return isinstance(source, Table) or is_database(source) or _package(source) in _FRAMES


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
    if _package(source) == "dask":
        from rainproof.io.dask_frames import read_partitions

        found = read_partitions(source, spec, m)
    else:
        groups = (read_spark if _package(source) == "pyspark" else read_database)(source, spec, m)
        by = spec.group_columns()
        found = from_grouped(
            groups, by, spec.names, pos_label=spec.pos_label, forecasts=spec.forecasts
        )
    if progress is not None:
        rows = found.n if isinstance(found, Sample) else sum(found.counts.values())
        progress(rows, rows)
    return found


def _package(source: object) -> str:
    return type(source).__module__.partition(".")[0]
