"""``python -m benchmarks.scan``: time and memory of scanning many rows, compared with reading
them.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.machine import Company, describe, peak
from benchmarks.page import write_part
from benchmarks.tables import size

_CHUNK = 1_000_000  # rows written or generated together
_SEGMENTS = 10_000
_INTRODUCTION = """\
# Scanning many rows

Each line is measured in its own process: the minimum over rounds of wall time and of processor time (which other
programs hardly affect), and the peak memory of the process, with Python and all imports. The file has two columns,
`p` (float32) and `y` (uint8), in row groups of a million rows, and is in the system's cache. This part is written by
`python -m benchmarks.scan --output docs/benchmarks/speed.md`.
"""


def make_file(path: Path, n: int) -> None:
    """A Parquet file of n predictions and outcomes."""
    import pyarrow as pa
    from pyarrow import parquet

    with parquet.ParquetWriter(path, pa.schema({"p": pa.float32(), "y": pa.uint8()})) as writer:
        for batch in _generated(n):
            writer.write_batch(batch)


def _generated(n: int, *, segments: int = 0) -> Iterator[Any]:
    import pyarrow as pa

    rng = np.random.default_rng(6)
    for start in range(0, n, _CHUNK):
        rows = min(_CHUNK, n - start)
        p = rng.random(rows, np.float32)
        columns = {"p": p, "y": (rng.random(rows, np.float32) < p).astype(np.uint8)}
        if segments:
            columns["s"] = rng.integers(0, segments, rows, np.int32)
        yield pa.record_batch(columns)


def _stream(n: int, *, segments: int = 0) -> Any:
    import pyarrow as pa

    batches = _generated(n, segments=segments)
    first = next(batches)

    def again() -> Iterator[Any]:
        yield first
        yield from batches

    return pa.RecordBatchReader.from_batches(first.schema, again())


def _read(file: str, _: int) -> None:
    from pyarrow import parquet

    with parquet.ParquetFile(file) as opened:
        for _batch in opened.iter_batches(1 << 18, columns=["p", "y"]):
            pass


def _read_lean(file: str, _: int) -> None:
    from pyarrow import parquet

    with parquet.ParquetFile(file, buffer_size=1 << 20, pre_buffer=False) as opened:
        for _batch in opened.iter_batches(1 << 18, columns=["p", "y"]):
            pass


def _scan(source: Any, **options: Any) -> Any:
    import rainproof

    return rainproof.scan(source, **options)


def _polars(file: str, _: int) -> None:
    import polars

    _scan(polars.scan_parquet(file))


def _duckdb(file: str, _: int) -> None:
    import duckdb

    _scan(duckdb.connect().read_parquet(file))


def _generate(_: str, n: int) -> None:
    for _batch in _generated(n):
        pass


def _generate_segments(_: str, n: int) -> None:
    for _batch in _generated(n, segments=_SEGMENTS):
        pass


def _by_segment(n: int, m: int) -> None:
    found = _scan(_stream(n, segments=_SEGMENTS), by="s", grid=m)
    assert len(found) == _SEGMENTS
    assert found.pooled.n == n


TASKS: dict[str, Callable[[str, int], None]] = {
    "reading the two columns": _read_lean,
    "reading them with prefetching (PyArrow's default)": _read,
    "scan, m = 1,024": lambda file, _: _scan(file, grid=1024) and None,
    "scan, m = 65,536": lambda file, _: _scan(file) and None,
    "scan of a Polars LazyFrame, m = 65,536": _polars,
    "scan of a DuckDB relation, m = 65,536": _duckdb,
    "generating rows": _generate,
    "generating and scanning them, m = 65,536": lambda _, n: _scan(_stream(n)) and None,
    "generating rows of 10,000 segments": _generate_segments,
    "scanning them by segment, m = 256": lambda _, n: _by_segment(n, 256),
    "scanning them by segment, m = 65,536": lambda _, n: _by_segment(n, 2**16),
}
_PARTS = (
    ("A Parquet file", 0, 6),
    ("Rows generated on the fly", 6, 8),
    ("10,000 segments in one pass", 8, 11),
)


def main() -> None:
    """Make the file, run every task, print the tables."""
    options = _options()
    if options.task:
        _one(options.task, options.file, int(options.rows))
        return
    company = Company()
    tables = []
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "rows.parquet"
        make_file(file, int(options.rows))
        for (title, low, high), n, rounds in zip(
            _PARTS,
            (options.rows, options.generated, options.segmented),
            (options.rounds, 1, 1),
            strict=True,
        ):
            found: dict[str, list[float]] = {}
            for _ in range(rounds):  # in turn, so that other work affects all alike
                for name in list(TASKS)[low:high]:
                    turn = _apart(name, str(file), int(n))
                    found[name] = [
                        min(pair) for pair in zip(turn, found.get(name, turn), strict=True)
                    ]
            tables.append(_table(f"{title}: {size(int(n))} rows", found))
    packages = ("pyarrow", "polars", "duckdb")
    machine = [*describe(packages), ("other programs meanwhile", str(company))]
    text = "\n".join(f"- {name}: {value}" for name, value in machine)
    page = f"{_INTRODUCTION}\n{text}\n" + "".join(f"\n{table}\n" for table in tables)
    print(page)
    if options.output:
        write_part(options.output, "scan", page)


def _apart(name: str, file: str, n: int) -> list[float]:
    print(f"{name}, {size(n)} rows", file=sys.stderr, flush=True)
    command = [sys.executable, "-m", "benchmarks.scan", "--task", name, "--file", file]
    command += ["--rows", str(n)]
    found: list[float] = json.loads(
        subprocess.run(command, capture_output=True, text=True, check=True).stdout
    )
    return found


def _one(name: str, file: str, n: int) -> None:
    """Print wall time, processor time and peak memory."""
    _scan(_stream(1000))  # so that imports are not measured
    start, before = time.perf_counter(), time.process_time()
    TASKS[name](file, n)
    print(json.dumps([time.perf_counter() - start, time.process_time() - before, peak()]))


def _table(title: str, found: dict[str, list[float]]) -> str:
    base = next(iter(found.values()))
    rows = [
        (
            name,
            *(f"{figure[k]:.2f} s ({figure[k] / base[k]:.2f})" for k in (0, 1)),
            f"{figure[2] / 1e6:.0f} MB",
        )
        for name, figure in found.items()
    ]
    head = (
        "| what | wall time (ratio to the first) | processor time (ratio) | peak memory "
        "|\n|---|---:|---:|---:|\n"
    )
    return f"## {title}\n\n{head}" + "".join(f"| {' | '.join(row)} |\n" for row in rows).rstrip(
        "\n"
    )


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.scan", description=__doc__)
    parser.add_argument("--rows", type=float, default=1e8, help="rows of the Parquet file")
    parser.add_argument("--generated", type=float, default=1e9, help="rows generated on the fly")
    parser.add_argument("--segmented", type=float, default=1e7, help="rows of the 10,000 segments")
    parser.add_argument(
        "--rounds", type=int, default=4, help="rounds for the file; the minimum counts"
    )
    parser.add_argument("--output", type=Path, help="write it into this Markdown file as well")
    parser.add_argument("--task", choices=TASKS, help=argparse.SUPPRESS)
    parser.add_argument("--file", default="", help=argparse.SUPPRESS)
    return parser.parse_args()


if __name__ == "__main__":
    main()
