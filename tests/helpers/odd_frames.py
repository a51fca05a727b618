"""Frames as people have them, beyond plain numbers and text: a column of each kind, by container
and name.
"""

from __future__ import annotations

import datetime
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa

N = 4
P = np.array([0.1, 0.9, 0.4, 0.6])
Y = np.array([0, 1, 0, 1])
DAYS = [datetime.date(2026, 3, day) for day in range(1, N + 1)]
MIXED = ["a", 0.5, None, 1]


def objects(values):
    array = np.empty(len(values), object)
    array[:] = values
    return array


NUMPY = {
    "long double": P.astype(np.longdouble),
    "big endian": P.astype(">f8"),
    "big endian integers": Y.astype(">i4"),
    "half precision": P.astype(np.float16),
    "masked": np.ma.masked_array(P, mask=[1, 0, 0, 0]),
    "masked text": np.ma.masked_array(np.array(list("abcd")), mask=[1, 0, 0, 0]),
    "masked, nothing under it": np.ma.masked_array(P),
    "complex": P.astype(complex),
    "bytes": np.array([b"a", b"b", b"c", b"d"]),
    "text": np.array(list("abcd")),
    "structured": np.zeros(N, [("a", int)]),
    "void": np.zeros(N, "V8"),
    "two-dimensional": P.reshape(2, 2),
    "a column of a matrix": P.reshape(-1, 1),
    "no dimension": np.array(0.5),
    "strided": np.repeat(P, 2)[::2],
    "reversed": P[::-1],
    "dates": np.array(DAYS, "M8[D]"),
    "dates in attoseconds": np.zeros(N, "M8[as]"),
    "no dates": np.array(["NaT"] * N, "M8[ns]"),
    "spans": np.ones(N, "m8[s]"),
    "decimals": objects([Decimal("0.1")] * N),
    "infinite decimals": objects(
        [Decimal("Infinity"), Decimal("0.5"), Decimal("0.5"), Decimal("0.5")]
    ),
    "no decimals": objects([Decimal("NaN"), Decimal("0.5"), Decimal("0.5"), Decimal("0.5")]),
    "fractions": objects([Fraction(1, 2)] * N),
    "mixed": objects(MIXED),
    "numbers and bools": objects([True, 0.5, 1, 0]),
    "numbers and dates": objects([0.5, DAYS[0], 0.5, 0.5]),
    "large integers": objects([2**70, 1, 0, 1]),
    "lists": objects([[0.5]] * N),
    "ragged lists": objects([[0.5], 0.5, [[1]], "a"]),
    "dictionaries": objects([{"a": 1}] * N),
    "sets": objects([{1}] * N),
    "plain objects": objects([object() for _ in range(N)]),
    "missing values": objects([None, np.nan, pd.NA, pd.NaT]),
    "lone surrogates": objects(["\ud800"] * N),
    "nothing": np.zeros(0),
}
PANDAS = {
    **{
        name: pd.Series(values, dtype=values.dtype if values.dtype.kind == "O" else None)
        for name, values in NUMPY.items()
        if getattr(values, "ndim", 1) == 1 and len(values) == N and values.dtype.kind not in "VT"
    },
    "sparse": pd.Series(pd.arrays.SparseArray(P)),
    "sparse integers": pd.Series(pd.arrays.SparseArray(Y, fill_value=0)),
    "sparse with gaps": pd.Series(pd.arrays.SparseArray([0.1, np.nan, np.nan, 0.6])),
    "nullable": pd.Series(P, dtype="Float64"),
    "nullable with NA": pd.Series([0.1, None, 0.4, 0.6], dtype="Float64"),
    "nullable bools": pd.Series([True, None, False, True], dtype="boolean"),
    "categories": pd.Series(list("abab"), dtype="category"),
    "categories of numbers": pd.Series(P).astype("category"),
    "categories of mixed types": pd.Series(pd.Categorical(["a", 1, "a", 1], categories=["a", 1])),
    "periods": pd.Series(pd.period_range("2026-03", periods=N, freq="M")),
    "intervals": pd.Series(pd.interval_range(0, N)),
    "time zones": pd.Series(pd.date_range("2026-03-01", periods=N, tz="Europe/Berlin")),
    "time zones, mixed": pd.Series(
        [pd.Timestamp("2026-03-01", tz=zone) for zone in ("UTC", "Asia/Tokyo", "UTC", "UTC")],
        dtype=object,
    ),
    "text of Python": pd.Series(list("abcd"), dtype="string[python]"),
    "text of Arrow": pd.Series(list("abcd"), dtype="string[pyarrow]"),
    "Arrow": pd.Series(P, dtype="float64[pyarrow]"),
}
POLARS = {
    "Decimal": pl.Series([Decimal("0.1")] * N),
    "Object": pl.Series([object() for _ in range(N)], dtype=pl.Object),
    "Categorical": pl.Series(list("abab"), dtype=pl.Categorical),
    "Enum": pl.Series(list("abab"), dtype=pl.Enum(["a", "b"])),
    "Struct": pl.Series([{"a": 1}] * N),
    "List": pl.Series([[0.5]] * N),
    "Array": pl.Series([[0.5]] * N, dtype=pl.Array(pl.Float64, 1)),
    "Null": pl.Series([None] * N),
    "Binary": pl.Series([b"a"] * N),
    "Time": pl.Series([datetime.time(1)] * N),
    "Duration": pl.Series([datetime.timedelta(1)] * N),
    "Date": pl.Series(DAYS),
    "Boolean": pl.Series([True, False, None, True]),
    "UInt64": pl.Series([0, 1, 2**64 - 1, 1], dtype=pl.UInt64),
    "Float32": pl.Series(P, dtype=pl.Float32),
}
_TEXT = pa.array(list("abab"))
ARROW = {
    "float16": pa.array(P.astype(np.float16)),
    "decimal256": pa.array([Decimal("0.1")] * N, pa.decimal256(50, 20)),
    "dictionary of numbers": pa.array(P).dictionary_encode(),
    "dictionary of text": _TEXT.dictionary_encode(),
    "runs": pa.RunEndEncodedArray.from_arrays(pa.array([2, N], pa.int32()), pa.array([0.1, 0.9])),
    "runs of text": pa.RunEndEncodedArray.from_arrays(
        pa.array([2, N], pa.int32()), pa.array(["a", "b"])
    ),
    "string_view": _TEXT.cast(pa.string_view()),
    "binary_view": pa.array([b"a"] * N, pa.binary_view()),
    "fixed binary": pa.array([b"a"] * N, pa.binary(1)),
    "list": pa.array([[0.5]] * N),
    "list_view": pa.array([[0.5]] * N, pa.list_view(pa.float64())),
    "fixed list": pa.array([[0.5]] * N, pa.list_(pa.float64(), 1)),
    "map": pa.array([[("a", 1)]] * N, pa.map_(pa.string(), pa.int64())),
    "struct": pa.array([{"a": 1}] * N),
    "union": pa.UnionArray.from_sparse(pa.array([0] * N, pa.int8()), [pa.array(P)]),
    "null": pa.nulls(N),
    "month interval": pa.array([pa.MonthDayNano([1, 2, 3])] * N),
    "duration": pa.array([1] * N, pa.duration("s")),
    "time": pa.array([1] * N, pa.time32("s")),
    "timestamp": pa.array([1] * N, pa.timestamp("ns")),
    "far timestamp": pa.array([2**62] * N, pa.timestamp("s")),
    "far date": pa.array([2**30] * N, pa.date32()),
    "zone": pa.array([1] * N, pa.timestamp("ns", "No/Where")),
    "large text": _TEXT.cast(pa.large_string()),
    "tensor": pa.ExtensionArray.from_storage(
        pa.fixed_shape_tensor(pa.float64(), [1]), pa.array([[0.5]] * N, pa.list_(pa.float64(), 1))
    ),
}
PYTHON = {
    "tuple": tuple(P.tolist()),
    "range": range(N),
    "iterator": iter(P.tolist()),
    "one number": 0.5,
    "text": "abcd",
    "nothing": None,
    "set": {0.1, 0.9, 0.4, 0.6},
    "bytes": b"abcd",
    "memory": memoryview(P),
    "decimals": [Decimal("Infinity"), Decimal("0.5"), Decimal("0.5"), Decimal("0.5")],
    "mixed": MIXED,
    "large integers": [2**70, 1, 0, 1],
    "rows": [[0.5], [0.5], [0.5], [0.5]],
    "ragged": [[0.5], 0.5, [[1]], "a"],
}
# Kinds that the oldest versions of the libraries do not have.
if hasattr(np.dtypes, "StringDType"):
    NUMPY["variable text"] = np.array(list("abcd"), dtype=np.dtypes.StringDType())
if hasattr(pl, "Int128"):
    POLARS["Int128"] = pl.Series([0, 1, 0, 1], dtype=pl.Int128)
    POLARS["large Int128"] = pl.Series([2**100, 1, 0, 1], dtype=pl.Int128)
if hasattr(pa, "decimal32"):
    ARROW["decimal32"] = pa.array([Decimal("0.1")] * N, pa.decimal32(5, 2))
if hasattr(pa, "bool8"):
    ARROW["uuid"] = pa.ExtensionArray.from_storage(
        pa.uuid(), pa.array([b"a" * 16] * N, pa.binary(16))
    )
    ARROW["bool8"] = pa.ExtensionArray.from_storage(pa.bool8(), pa.array([0, 1, 0, 1], pa.int8()))

KINDS = {"numpy": NUMPY, "pandas": PANDAS, "polars": POLARS, "pyarrow": ARROW, "python": PYTHON}


def frame(container, **columns):
    """Return columns in a container."""
    if container == "pandas":
        return pd.DataFrame(columns)
    if container == "polars":
        return pl.DataFrame(columns)
    if container == "pyarrow":
        return pa.table(columns)
    return columns
