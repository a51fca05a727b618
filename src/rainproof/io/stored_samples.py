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
from rainproof.core.files import atomic_output, check_replaced, file_errors
from rainproof.core.sample import Sample
from rainproof.core.segments import Segments
from rainproof.core.validation import check_label
from rainproof.errors import InputError
from rainproof.io.files import Location, first_line, need_pyarrow

if TYPE_CHECKING:
    import pyarrow as pa


_FORMAT = 1
_KEY = b"rainproof"
_INTEGERS = ("cell", "outcome", "count")
_SUMS = ("weight", "weight_rest", "rise", "rise_rest", "squares")
_SEGMENT = "segment"  # its number, where there are segments: their labels are in the metadata


def save_table(found: Sample | Segments, path: Path, grid: int, *, overwrite: bool) -> None:
    """Write a sample or segments, compressed to `grid` unless they are compressed already."""
    need_pyarrow()
    import pyarrow as pa
    from pyarrow import parquet

    tables = [
        _compressed(sample, grid)
        for sample in (found.values() if isinstance(found, Segments) else [found])
    ]
    columns = {
        name: np.concatenate([_column(table, name) for table in tables])
        for name in (*_INTEGERS, *_SUMS)
    }
    about: dict[str, Any] = {"format": _FORMAT, "grid": tables[0].m}
    if isinstance(found, Segments):
        if len({table.m for table in tables}) > 1:
            raise InputError(
                "segments must be on one grid to be saved: compress each to the same one"
            )
        about |= {"by": list(found.by), "segments": [_labels(key, len(found.by)) for key in found]}
        columns[_SEGMENT] = np.repeat(np.arange(len(tables)), [len(table.slot) for table in tables])
    about["digest"] = _digest(about, columns)
    stored = pa.table(columns).replace_schema_metadata({_KEY: json.dumps(about)})
    check_replaced(path, "sample", overwrite=overwrite)
    with atomic_output(path) as temporary, file_errors(path):
        parquet.write_table(stored, temporary, compression="zstd", write_page_checksum=True)


def _compressed(sample: Sample, grid: int) -> CellTable:
    sample._refuse_several()
    return (sample if sample.grid is not None else sample.compress(grid))._cells


def _column(cells: CellTable, name: str) -> NDArray[Any]:
    if name in ("cell", "outcome"):
        return cells.slot >> 1 if name == "cell" else cells.slot & 1
    first = name.removesuffix("_rest")
    column: NDArray[Any] = getattr(cells, first)
    return column[int(first != name)] if first in ("weight", "rise") else column


def _labels(key: Any, columns: int) -> list[Any]:
    labels = list(key) if columns > 1 else [key]
    for label in labels:
        check_label(label, "to be stored")
    return labels


def is_stored(path: Path) -> bool:
    """Whether a Parquet file holds a stored sample or segments."""
    need_pyarrow()
    import pyarrow as pa
    from pyarrow import parquet

    try:
        return _KEY in (parquet.read_schema(path).metadata or {})
    except (OSError, pa.ArrowException):
        return False


def load_folder(folder: Path) -> dict[str, Sample]:
    """Read the stored samples of a folder, by the names of their files without the suffix, in their
    order.
    """
    paths = sorted(
        p for p in folder.iterdir() if p.suffix == ".parquet" and not p.name.startswith(".")
    )
    if not paths:
        raise InputError(
            f"{folder} holds no .parquet files: write some with 'rainproof store' or Sample.save"
        )
    found = {path.stem: load_table(path) for path in paths}
    segments = [name for name, sample in found.items() if isinstance(sample, Segments)]
    if segments:
        raise InputError(
            f"{folder / segments[0]}.parquet holds segments, not a sample: load it by itself"
        )
    return found  # type: ignore[return-value]


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
            raise InputError(f"{path} is a damaged sample: {first_line(error)}") from error
        return _read(path, table)


def _read(path: Path, table: pa.Table) -> Sample | Segments:
    about = _about(path, table)
    keys = about.get("segments", [[]])
    integers = (*_INTEGERS, _SEGMENT) if "by" in about else _INTEGERS
    for names, kind in ((integers, np.int64), (_SUMS, np.float64)):
        for name in names:
            if name not in table.column_names or table[name].null_count:
                raise InputError(
                    f"{path} is a damaged sample: its column {name!r} is missing or has nulls"
                )
            if not np.can_cast(table[name].type.to_pandas_dtype(), kind):
                raise InputError(
                    f"{path} is a damaged sample: its column {name!r} has the type {table[name].type}"
                )
    columns: dict[str, Any] = {name: np.array(table[name]) for name in (*integers, *_SUMS)}
    segment = columns.get(_SEGMENT, np.zeros(table.num_rows, np.int64))
    edges = np.searchsorted(segment, np.arange(len(keys) + 1))
    samples = []
    for low, high in pairwise(edges):
        part = {name: column[low:high] for name, column in columns.items()}
        cells = CellTable(
            m=about["grid"],
            slot=2 * part["cell"] + part["outcome"],
            count=part["count"],
            weight=np.stack([part["weight"], part["weight_rest"]]),
            rise=np.stack([part["rise"], part["rise_rest"]]),
            squares=part["squares"],
        )
        fault = cells.fault()
        if fault is not None or not np.isin(part["outcome"], (0, 1)).all():
            raise InputError(
                f"{path} is a damaged sample: {fault or 'an outcome is neither 0 nor 1'}"
            )
        samples.append(Sample._from_cells(cells))
    if _digest(about, columns) != about["digest"]:
        raise InputError(f"{path} is a damaged sample: its content does not match its checksum")
    if "by" not in about:
        return samples[0]
    labels = [tuple(key) if len(key) > 1 else key[0] for key in keys]
    return Segments.from_samples(dict(zip(labels, samples, strict=True)), about["by"])


def _digest(about: Mapping[str, Any], columns: Mapping[str, NDArray[Any]]) -> str:
    """Return the checksum of a stored sample, which detects changed bits."""
    stated = {name: value for name, value in about.items() if name != "digest"}
    digest = hashlib.sha256(json.dumps(stated, sort_keys=True).encode())
    for name, column in sorted(columns.items()):
        digest.update(np.ascontiguousarray(column, "<f8" if name in _SUMS else "<i8").tobytes())
    return digest.hexdigest()


def _about(path: Path, table: pa.Table) -> dict[str, Any]:
    """Return what the file states of itself."""
    stated = (table.schema.metadata or {}).get(_KEY)
    if stated is None:
        raise InputError(
            f"{path} is not a stored sample: it is a Parquet file of other columns, which rainproof.scan reads; "
            "'rainproof store' and Sample.save write samples"
        )
    try:
        about: dict[str, Any] = json.loads(stated)
        stored, grid, _ = about["format"], about["grid"], about["digest"]
        readable = "by" not in about or all(
            len(key) == len(about["by"]) > 0 for key in about["segments"]
        )
    except (ValueError, TypeError, KeyError, RecursionError):
        readable = False
    if not readable:
        raise InputError(f"{path} is a damaged sample: its metadata cannot be read")
    if stored != _FORMAT:
        raise InputError(
            f"{path} was stored in format {stored!r:.20}; this rainproof reads format {_FORMAT}"
        )
    check_grid(grid, f"the grid of {path}")
    return about
