"""Write small files for the tests."""

from __future__ import annotations

import gzip

import pyarrow as pa
import pyarrow.parquet as pq


def write_csv(path, sep=",", **columns):
    """Text, with the numbers spelt as Python spells them."""
    lines = [
        sep.join(columns),
        *(sep.join(map(str, row)) for row in zip(*columns.values(), strict=True)),
    ]
    text = "\n".join(lines) + "\n"
    path.write_bytes(gzip.compress(text.encode()) if path.name.endswith(".gz") else text.encode())
    return path


def write_parquet(path, **columns):
    pq.write_table(pa.table(columns), path)
    return path
