"""A compressed sample as a small Parquet file: written once a day, merged over any window later."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from brolly.core.atomic_write import atomic_output, write_errors
from brolly.core.grid.cells import CellTable, check_grid
from brolly.core.sample.sample import Sample
from brolly.engines.checks import first_line, need_pyarrow, read_errors
from brolly.errors import InputError

if TYPE_CHECKING:
    import pyarrow as pa

_FORMAT = 1
_KEY = b"brolly"
_INTEGERS = ("cell", "outcome", "count")
_SUMS = ("weight", "weight_rest", "rise", "rise_rest", "squares")


def save_sample(sample: Sample, path: str | os.PathLike[str], *, grid: int = 2**16) -> None:
    """Write a sample to a small Parquet file that `load_sample` reads back to the last bit.

    The file has one row for each occupied (cell, outcome), whatever the number of rows behind them. Samples
    of different days can be added after loading: the sum is the sample of all their rows.

    Parameters
    ----------
    sample : Sample
        Compressed already, or else compressed to `grid` first.
    path : str or path-like
        Where to write; the file is there whole or not at all.
    grid : int
        The grid, where the sample holds rows: a power of two, up to 2**20.

    Examples
    --------
    >>> import brolly, tempfile, os
    >>> monday = brolly.Sample([0, 1, 1], [0.1, 0.8, 0.6])
    >>> path = os.path.join(tempfile.mkdtemp(), "2026-03-02.parquet")
    >>> brolly.save_sample(monday, path)
    >>> brolly.load_sample(path)
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

    Parameters
    ----------
    path : str or path-like
        The file.

    Raises
    ------
    InputError
        Where the file cannot be read, or is no stored sample.
    """
    need_pyarrow()
    import pyarrow as pa
    from pyarrow import parquet

    path = os.fspath(path)
    with read_errors(path):
        try:
            table = parquet.read_table(path, page_checksum_verification=True)
        except (OSError, pa.ArrowException):
            raise  # `reading` says it
        except Exception as error:  # a damaged file can break any rule of its format
            raise InputError(f"{path} is a damaged sample: {first_line(error)}") from error
        return Sample._from_cells(_cells(path, table))


def load_samples(folder: str | os.PathLike[str]) -> dict[str, Sample]:
    """Read every stored sample of a folder, by its file's name without the ending, in the order of the names.

    Names such as ``2026-03-02.parquet`` put the days in order.

    Parameters
    ----------
    folder : str or path-like
        A folder with files that `save_sample` wrote, and perhaps others that do not end in .parquet.
    """
    folder = Path(folder)
    if not folder.is_dir():
        raise InputError(f"{folder} is not a folder")
    paths = sorted(p for p in folder.iterdir() if p.suffix == ".parquet" and not p.name.startswith("."))
    if not paths:
        raise InputError(f"{folder} holds no .parquet files: write some with 'brolly store' or brolly.save_sample")
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
    """A checksum of all that a stored sample holds: a bit that changes on a disk changes it."""
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
        raise InputError(f"{path} is a damaged sample: what it holds does not match its checksum")
    return cells


def _about(path: str, table: pa.Table) -> tuple[int, str]:
    """The grid and the checksum that the file states."""
    about = (table.schema.metadata or {}).get(_KEY)
    if about is None:
        raise InputError(f"{path} is no stored sample: write one with 'brolly store' or brolly.save_sample")
    try:
        said = json.loads(about)
        stored, grid, digest = said["format"], said["grid"], said["digest"]
    except (ValueError, TypeError, KeyError, RecursionError):
        raise InputError(f"{path} is a damaged sample: what it says about itself cannot be read") from None
    if stored != _FORMAT:
        raise InputError(f"{path} was stored in format {stored!r:.20}; this brolly reads format {_FORMAT}")
    return check_grid(grid), digest
