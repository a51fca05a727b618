"""Compressed samples as small Parquet files, which can be merged later."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rainproof.core.cells import CellTable, check_grid
from rainproof.core.files import atomic_output, check_replaced, file_errors
from rainproof.core.sample import Sample
from rainproof.core.segments import Segments
from rainproof.core.validation import check_label
from rainproof.errors import InputError
from rainproof.io.locations import Location
from rainproof.io.source_errors import first_line, need_pyarrow

if TYPE_CHECKING:
    import pyarrow as pa

_FORMAT = 1  # the version of the format, which every file states
_METADATA_KEY = b"rainproof"
_INTEGERS = ("cell", "outcome", "count")
_SUMS = ("weight", "weight_rest", "rise", "rise_rest", "squares")  # pairs: two-sum of `core.arrays`
_SEGMENT = "segment"  # its number, where there are segments: their labels are in the metadata

Columns = dict[str, NDArray[Any]]


def save_table(compressed: Sample | Segments, path: Path, grid: int, *, overwrite: bool) -> None:
    """Write a sample or segments, compressed to `grid` unless they are compressed already."""
    need_pyarrow()
    import pyarrow as pa
    from pyarrow import parquet

    samples = compressed.values() if isinstance(compressed, Segments) else [compressed]
    tables = [_cells_of(sample, grid) for sample in samples]
    columns = _joined_columns(tables)
    metadata: dict[str, Any] = {"format": _FORMAT, "grid": tables[0].m}
    if isinstance(compressed, Segments):
        if any(table.m != tables[0].m for table in tables):
            raise InputError(
                "segments must be on one grid to be saved: compress each to the same one"
            )
        metadata["by"] = list(compressed.by)
        metadata["segments"] = [_labels_of(key, len(compressed.by)) for key in compressed]
        rows = [len(table.slot) for table in tables]
        columns[_SEGMENT] = np.repeat(np.arange(len(tables)), rows)
    metadata["digest"] = _digest(metadata, columns)
    table = pa.table(columns).replace_schema_metadata({_METADATA_KEY: json.dumps(metadata)})
    check_replaced(path, "sample", overwrite=overwrite)
    with atomic_output(path) as temporary, file_errors(path):
        parquet.write_table(table, temporary, compression="zstd", write_page_checksum=True)


def is_stored(path: Path) -> bool:
    """Whether a Parquet file holds a stored sample or segments."""
    need_pyarrow()
    import pyarrow as pa
    from pyarrow import parquet

    try:
        metadata = parquet.read_schema(path).metadata
    except (OSError, pa.ArrowException):
        return False
    return metadata is not None and _METADATA_KEY in metadata


def load_folder(folder: Path) -> dict[str, Sample]:
    """Read the stored samples of a folder, by the names of their files without the suffix, in their
    order.
    """
    visible = [path for path in folder.iterdir() if not path.name.startswith(".")]
    paths = sorted(path for path in visible if path.suffix == ".parquet")
    if not paths:
        raise InputError(
            f"{folder} holds no .parquet files: write some with 'rainproof store' or Sample.save"
        )
    samples: dict[str, Sample] = {}
    segments: list[Path] = []
    for path in paths:
        loaded = load_table(path)
        if isinstance(loaded, Segments):
            segments.append(path)
        else:
            samples[path.stem] = loaded
    if segments:
        raise InputError(f"{segments[0]} holds segments, not a sample: load it by itself")
    return samples


def load_table(path: Path) -> Sample | Segments:
    """Read what `save_table` wrote."""
    need_pyarrow()
    import pyarrow as pa
    from pyarrow import parquet

    with Location(str(path)).errors():
        try:
            table = parquet.read_table(path, page_checksum_verification=True)
        except (OSError, pa.ArrowException):
            raise  # handled by `Location.errors`
        except Exception as error:  # PyArrow may raise anything for a damaged file
            raise _damaged(path, first_line(error)) from error
        return _read(path, table)


def _cells_of(sample: Sample, grid: int) -> CellTable:
    sample._refuse_several()
    compressed = sample.compress(grid) if sample.grid is None else sample
    return compressed._cells


def _joined_columns(tables: Sequence[CellTable]) -> Columns:
    """Return the columns of a file, for the cells of all segments."""
    weight = np.concatenate([table.weight for table in tables], axis=1)
    rise = np.concatenate([table.rise for table in tables], axis=1)
    slot = np.concatenate([table.slot for table in tables])
    return {
        "cell": slot >> 1,
        "outcome": slot & 1,
        "count": np.concatenate([table.count for table in tables]),
        "weight": weight[0],
        "weight_rest": weight[1],
        "rise": rise[0],
        "rise_rest": rise[1],
        "squares": np.concatenate([table.squares for table in tables]),
    }


def _cells_in(columns: Columns, m: int, rows: slice) -> CellTable:
    """Return the cells of one segment, which are in these rows of a file."""
    return CellTable(
        m=m,
        slot=2 * columns["cell"][rows] + columns["outcome"][rows],
        count=columns["count"][rows],
        weight=np.stack([columns["weight"][rows], columns["weight_rest"][rows]]),
        rise=np.stack([columns["rise"][rows], columns["rise_rest"][rows]]),
        squares=columns["squares"][rows],
    )


def _labels_of(key: Any, columns: int) -> list[Any]:
    """Return the labels of a segment, which must be those that a file can have."""
    labels = list(key) if columns > 1 else [key]
    for label in labels:
        check_label(label, "to be stored")
    return labels


class _Metadata(NamedTuple):
    """What a file states of itself."""

    stated: dict[str, Any]
    grid: int
    by: list[str] | None  # None for a sample
    segments: list[list[Any]]  # the labels of each


def _read(path: Path, table: pa.Table) -> Sample | Segments:
    metadata = _metadata_of(path, table)
    columns = _columns_of(path, table, metadata)
    segment = columns.get(_SEGMENT, np.zeros(table.num_rows, np.int64))
    edges = np.searchsorted(segment, np.arange(len(metadata.segments) + 1))
    samples = []
    for start, stop in pairwise(edges):
        cells = _cells_in(columns, metadata.grid, slice(start, stop))
        fault = cells.fault()
        if fault is None and not np.isin(columns["outcome"][start:stop], (0, 1)).all():
            fault = "an outcome is neither 0 nor 1"
        if fault is not None:
            raise _damaged(path, fault)
        samples.append(Sample._from_cells(cells))
    if _digest(metadata.stated, columns) != metadata.stated["digest"]:
        raise _damaged(path, "its content does not match its checksum")
    if metadata.by is None:
        return samples[0]
    labels = [tuple(key) if len(key) > 1 else key[0] for key in metadata.segments]
    return Segments.from_samples(dict(zip(labels, samples, strict=True)), metadata.by)


def _columns_of(path: Path, table: pa.Table, metadata: _Metadata) -> Columns:
    """Return the columns of a file as arrays, or refuse what `save_table` does not write."""
    integers = _INTEGERS if metadata.by is None else (*_INTEGERS, _SEGMENT)
    dtypes: dict[str, Any] = dict.fromkeys(integers, np.int64) | dict.fromkeys(_SUMS, np.float64)
    for name, dtype in dtypes.items():
        if name not in table.column_names or table[name].null_count:
            raise _damaged(path, f"its column {name!r} is missing or has nulls")
        if not np.can_cast(table[name].type.to_pandas_dtype(), dtype):
            raise _damaged(path, f"its column {name!r} has the type {table[name].type}")
    return {name: np.array(table[name]) for name in dtypes}


def _metadata_of(path: Path, table: pa.Table) -> _Metadata:
    """Return what a file states of itself, or refuse a file that is no stored sample."""
    text = (table.schema.metadata or {}).get(_METADATA_KEY)
    if text is None:
        raise InputError(
            f"{path} is not a stored sample: it is a Parquet file of other columns, which "
            "rainproof.scan reads; 'rainproof store' and Sample.save write samples"
        )
    try:
        stated: dict[str, Any] = json.loads(text)
        file_format = stated["format"]
        _ = stated["digest"]
        metadata = _Metadata(stated, stated["grid"], stated.get("by"), [[]])
        if "by" in stated:
            metadata = metadata._replace(segments=stated["segments"])
            columns = len(stated["by"])
            is_readable = all(len(key) == columns > 0 for key in metadata.segments)
        else:
            is_readable = True
    except (ValueError, TypeError, KeyError, RecursionError):
        is_readable = False
    if not is_readable:
        raise _damaged(path, "its metadata cannot be read")
    if file_format != _FORMAT:
        raise InputError(
            f"{path} was stored in format {file_format!r:.20}; this rainproof reads format {_FORMAT}"
        )
    check_grid(metadata.grid, f"the grid of {path}")
    return metadata


def _digest(metadata: Mapping[str, Any], columns: Columns) -> str:
    """Return the checksum of a stored sample, which detects changed bits."""
    stated = {name: value for name, value in metadata.items() if name != "digest"}
    digest = hashlib.sha256(json.dumps(stated, sort_keys=True).encode())
    for name, column in sorted(columns.items()):
        dtype = "<f8" if name in _SUMS else "<i8"
        digest.update(np.ascontiguousarray(column, dtype).tobytes())
    return digest.hexdigest()


def _damaged(path: Path, fault: str) -> InputError:
    return InputError(f"{path} is a damaged sample: {fault}")
