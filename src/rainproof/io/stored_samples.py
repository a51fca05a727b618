"""Compressed samples as small Parquet files, which can be merged later."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from rainproof.core.cells import CellTable, check_grid
from rainproof.core.documents import check_replaced
from rainproof.core.files import atomic_output, file_errors
from rainproof.core.labels import check_label
from rainproof.core.sample import Sample
from rainproof.core.segments import Segments
from rainproof.errors import InputError
from rainproof.io.locations import Location, expand
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
    parts = [_columns_of(table) for table in tables]
    columns: Columns = {}
    for name in parts[0]:
        columns[name] = np.concatenate([part[name] for part in parts])
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
    expand([str(path) for path in paths])  # a link to another of them would count twice
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

    file = Location(str(path))
    with file.errors(), file.open() as source:
        try:
            table = parquet.read_table(source, page_checksum_verification=True)
        except (OSError, pa.ArrowException):
            raise  # handled by `Location.errors`
        except Exception as error:  # PyArrow may raise anything for a damaged file
            raise _damaged(path, first_line(error)) from error
        return _read(path, table)


def _cells_of(sample: Sample, grid: int) -> CellTable:
    sample.require_one_forecast()
    compressed = sample.compress(grid) if sample.grid is None else sample
    return compressed.cells


def _columns_of(cells: CellTable) -> Columns:
    """Return the columns of a file for the cells of one segment."""
    return {
        "cell": cells.slot >> 1,
        "outcome": cells.slot & 1,
        "count": cells.count,
        "weight": cells.weight[0],
        "weight_rest": cells.weight[1],
        "rise": cells.rise[0],
        "rise_rest": cells.rise[1],
        "squares": cells.squares,
    }


def _cells_in(columns: Columns, m: int) -> CellTable:
    """Return the cells of one segment in the columns of a file."""
    return CellTable(
        m=m,
        slot=2 * columns["cell"] + columns["outcome"],
        count=columns["count"],
        weight=np.stack([columns["weight"], columns["weight_rest"]]),
        rise=np.stack([columns["rise"], columns["rise_rest"]]),
        squares=columns["squares"],
    )


def _labels_of(key: Any, columns: int) -> list[Any]:
    """Return the labels of a segment, which must be those that a file can have."""
    labels = list(key) if columns > 1 else [key]
    for label in labels:
        check_label(label, "to be stored")
    return labels


def _read(path: Path, table: pa.Table) -> Sample | Segments:
    metadata = _metadata_of(path, table)
    has_segments = "by" in metadata
    columns = _checked_columns(path, table, has_segments=has_segments)
    if not has_segments:
        sample = _sample_in(path, columns, metadata)
        _check_digest(path, metadata, columns)
        return sample
    keys = metadata["segments"]
    edges = np.searchsorted(columns[_SEGMENT], np.arange(len(keys) + 1))
    samples = {}
    for key, (start, stop) in zip(keys, pairwise(edges), strict=True):
        part = {name: column[start:stop] for name, column in columns.items()}
        label = tuple(key) if len(key) > 1 else key[0]
        samples[label] = _sample_in(path, part, metadata)
    _check_digest(path, metadata, columns)
    return Segments.from_samples(samples, metadata["by"])


def _sample_in(path: Path, columns: Columns, metadata: Mapping[str, Any]) -> Sample:
    """Return the sample of one segment, or refuse cells that no sample has."""
    cells = _cells_in(columns, metadata["grid"])
    fault = cells.fault()
    if fault is None and not np.isin(columns["outcome"], (0, 1)).all():
        fault = "an outcome is neither 0 nor 1"
    if fault is not None:
        raise _damaged(path, fault)
    return Sample.from_cells(cells)


def _check_digest(path: Path, metadata: Mapping[str, Any], columns: Columns) -> None:
    if _digest(metadata, columns) != metadata["digest"]:
        raise _damaged(path, "its content does not match its checksum")


def _checked_columns(path: Path, table: pa.Table, *, has_segments: bool) -> Columns:
    """Return the columns of a file as arrays, or refuse what `save_table` does not write."""
    integers = (*_INTEGERS, _SEGMENT) if has_segments else _INTEGERS
    dtypes: dict[str, Any] = dict.fromkeys(integers, np.int64) | dict.fromkeys(_SUMS, np.float64)
    for name, dtype in dtypes.items():
        if name not in table.column_names or table[name].null_count:
            raise _damaged(path, f"its column {name!r} is missing or has nulls")
        if not np.can_cast(table[name].type.to_pandas_dtype(), dtype):
            raise _damaged(path, f"its column {name!r} has the type {table[name].type}")
    return {name: np.array(table[name]) for name in dtypes}


def _metadata_of(path: Path, table: pa.Table) -> dict[str, Any]:
    """Return what a file states of itself, or refuse a file that is no stored sample."""
    text = (table.schema.metadata or {}).get(_METADATA_KEY)
    if text is None:
        raise InputError(
            f"{path} is not a stored sample: it is a Parquet file of other columns, which "
            "rainproof.scan reads; 'rainproof store' and Sample.save write samples"
        )
    metadata = _readable_metadata(text)
    if metadata is None:
        raise _damaged(path, "its metadata cannot be read")
    file_format = metadata["format"]
    if file_format != _FORMAT:
        rule = f"this rainproof reads format {_FORMAT}"
        raise InputError(f"{path} was stored in format {file_format!r:.20}; {rule}")
    check_grid(metadata["grid"], f"the grid of {path}")
    return metadata


def _readable_metadata(text: bytes) -> dict[str, Any] | None:
    """Return what a file states of itself; None if that cannot be read."""
    try:
        metadata: dict[str, Any] = json.loads(text)
        if not {"format", "grid", "digest"} <= metadata.keys():
            return None
        if "by" in metadata:
            columns = len(metadata["by"])
            for key in metadata["segments"]:
                if columns == 0 or len(key) != columns:
                    return None
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError):
        return None
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
