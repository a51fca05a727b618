"""Compressed samples as small Parquet files, which can be merged later."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from rainproof.core.cells import CellTable, check_grid
from rainproof.core.files import atomic_output, write_errors
from rainproof.core.sample import Sample
from rainproof.errors import InputError
from rainproof.io.files import Location, first_line, need_pyarrow

if TYPE_CHECKING:
    import pyarrow as pa


_FORMAT = 1
_KEY = b"rainproof"
_INTEGERS = ("cell", "outcome", "count")
_SUMS = ("weight", "weight_rest", "rise", "rise_rest", "squares")


def save_sample(sample: Sample, path: str | os.PathLike[str], *, grid: int = 2**16) -> None:
    """Write a sample to a small Parquet file that `load_sample` reads back to the last bit.

    The file has one row for each occupied (cell, outcome). Samples of different days can be added after
    loading: the sum is the sample of all their rows.

    Explained in docs/guide/data.md.

    Parameters
    ----------
    sample : Sample
        The sample; one that holds rows is compressed to `grid` first.
    path : str or path-like
        The file to write, completely or not at all.
    grid : int
        The grid of the compression: a power of two, up to 2**20.

    Examples
    --------
    >>> import rainproof, tempfile, os
    >>> monday = rainproof.Sample([0, 1, 1], [0.1, 0.8, 0.6])
    >>> path = os.path.join(tempfile.mkdtemp(), "2026-03-02.parquet")
    >>> rainproof.save_sample(monday, path)
    >>> rainproof.load_sample(path)
    Sample(n=3, events=2, grid=65536)
    """
    need_pyarrow()
    from pyarrow import parquet

    cells = (sample if sample.grid is not None else sample.compress(grid))._cells
    target = Path(path)
    with atomic_output(target) as temporary, write_errors(target):
        parquet.write_table(_table(cells), temporary, compression="zstd", write_page_checksum=True)


def load_sample(path: str | os.PathLike[str]) -> Sample:
    """Read a sample that `save_sample` wrote.

    Explained in docs/guide/data.md.

    Parameters
    ----------
    path : str or path-like
        The file.

    Raises
    ------
    InputError
        If the file cannot be read, or is not a stored sample.
    """
    need_pyarrow()
    import pyarrow as pa
    from pyarrow import parquet

    path = os.fspath(path)
    with Location(path).errors():
        try:
            table = parquet.read_table(path, page_checksum_verification=True)
        except (OSError, pa.ArrowException):
            raise  # handled by `Location.errors`
        except Exception as error:  # PyArrow may raise anything for a damaged file
            raise InputError(f"{path} is a damaged sample: {first_line(error)}") from error
        return Sample._from_cells(_cells(path, table))


def load_samples(folder: str | os.PathLike[str]) -> dict[str, Sample]:
    """Read the stored samples of a folder, by the names of their files without the suffix, in their order.

    Names such as ``2026-03-02.parquet`` keep days in order.

    Explained in docs/guide/data.md.

    Parameters
    ----------
    folder : str or path-like
        A folder with files that `save_sample` wrote; files of other suffixes are ignored.
    """
    folder = Path(folder)
    if not folder.is_dir():
        raise InputError(f"{folder} is not a folder")
    paths = sorted(p for p in folder.iterdir() if p.suffix == ".parquet" and not p.name.startswith("."))
    if not paths:
        raise InputError(
            f"{folder} holds no .parquet files: write some with 'rainproof store' or rainproof.save_sample"
        )
    return {path.stem: load_sample(path) for path in paths}


def _table(cells: CellTable) -> pa.Table:
    import pyarrow as pa

    columns = {
        "cell": cells.slot >> 1,
        "outcome": cells.slot & 1,
        "count": cells.count,
        "weight": cells.weight[0],
        "weight_rest": cells.weight[1],
        "rise": cells.rise[0],
        "rise_rest": cells.rise[1],
        "squares": cells.squares,
    }
    about = {"format": _FORMAT, "grid": cells.m, "digest": _digest(cells.m, columns)}
    return pa.table(columns).replace_schema_metadata({_KEY: json.dumps(about)})


def _digest(grid: int, columns: Mapping[str, NDArray[Any]]) -> str:
    """Return the checksum of a stored sample, which detects changed bits."""
    digest = hashlib.sha256(f"{_FORMAT} {grid}".encode())
    for name in (*_INTEGERS, *_SUMS):
        kind = "<i8" if name in _INTEGERS else "<f8"
        digest.update(np.ascontiguousarray(columns[name], kind).tobytes())
    return digest.hexdigest()


def _cells(path: str, table: pa.Table) -> CellTable:
    m, digest = _about(path, table)
    for names, kind in ((_INTEGERS, np.int64), (_SUMS, np.float64)):
        for name in names:
            if name not in table.column_names or table[name].null_count:
                raise InputError(f"{path} is a damaged sample: its column {name!r} is missing or has nulls")
            if not np.can_cast(table[name].type.to_pandas_dtype(), kind):
                raise InputError(f"{path} is a damaged sample: its column {name!r} has the type {table[name].type}")
    column: dict[str, Any] = {name: np.array(table[name]) for name in (*_INTEGERS, *_SUMS)}
    cells = CellTable(
        m=m,
        slot=2 * column["cell"] + column["outcome"],
        count=column["count"],
        weight=np.stack([column["weight"], column["weight_rest"]]),
        rise=np.stack([column["rise"], column["rise_rest"]]),
        squares=column["squares"],
    )
    fault = cells.fault()
    if fault is not None or not np.isin(column["outcome"], (0, 1)).all():
        raise InputError(f"{path} is a damaged sample: {fault or 'an outcome is neither 0 nor 1'}")
    if _digest(m, column) != digest:
        raise InputError(f"{path} is a damaged sample: its content does not match its checksum")
    return cells


def _about(path: str, table: pa.Table) -> tuple[int, str]:
    """Return the grid and the checksum that the file states."""
    about = (table.schema.metadata or {}).get(_KEY)
    if about is None:
        raise InputError(f"{path} is not a stored sample: write one with 'rainproof store' or rainproof.save_sample")
    try:
        stated = json.loads(about)
        stored, grid, digest = stated["format"], stated["grid"], stated["digest"]
    except (ValueError, TypeError, KeyError, RecursionError):
        raise InputError(f"{path} is a damaged sample: its metadata cannot be read") from None
    if stored != _FORMAT:
        raise InputError(f"{path} was stored in format {stored!r:.20}; this rainproof reads format {_FORMAT}")
    return check_grid(grid, f"the grid of {path}"), digest
