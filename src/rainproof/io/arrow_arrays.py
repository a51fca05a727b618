"""Arrow arrays as NumPy arrays and back, and the types that few functions of Arrow take.

Numbers are not copied: both sides share a buffer. Arrow's own conversions would import pandas if
it is installed, which takes longer than to read a small file.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from rainproof.errors import InputError

Array = NDArray[Any]

_PLAIN_TYPES = {"string_view": pa.large_string(), "binary_view": pa.large_binary()}
_MAX_INTEGER = (1 << 63) - 1  # of 64 bits
# By Arrow's names, where NumPy has others.
_DTYPES = {"halffloat": "f2", "float": "f4", "double": "f8"}


def as_numpy(values: pa.Array) -> Array:
    """Return numbers without nulls as an array on the buffer of Arrow."""
    arrow_name = str(values.type)
    dtype = np.dtype(_DTYPES.get(arrow_name, arrow_name))
    buffer = values.buffers()[1]
    if buffer is None:  # as Arrow may leave it out where there are no values
        return np.zeros(0, dtype)
    return np.frombuffer(buffer, dtype, len(values), values.offset * dtype.itemsize)


def as_arrow(array: Array) -> pa.Array:
    """Return contiguous numbers as an Arrow array on the buffer of NumPy."""
    arrow_type = pa.from_numpy_dtype(array.dtype)
    return pa.Array.from_buffers(arrow_type, len(array), [None, pa.py_buffer(array)])


@contextmanager
def text_errors(batch: pa.RecordBatch) -> Iterator[None]:
    """Raise what fails inside over text that is not UTF-8 as the error that names its column.

    Arrow does not check the text of typed files and of frames when it reads them, which would take
    longer than to read them.
    """
    try:
        yield
    except (UnicodeDecodeError, pa.ArrowInvalid):
        for name, column in zip(batch.schema.names, batch.columns, strict=True):
            try:
                column.validate(full=True)
            except pa.ArrowInvalid:
                raise InputError(f"{name} must hold text in UTF-8") from None
        raise


def as_mask(values: pa.Array) -> NDArray[np.bool_]:
    """Return booleans without nulls as an array; Arrow stores them as bits."""
    mask: NDArray[np.bool_] = as_numpy(values.cast(pa.uint8())).view(np.bool_)
    return mask


def array_of_texts(texts: Iterable[str], arrow_type: pa.DataType | None = None) -> pa.Array:
    """Return texts as an Arrow array of this type, by default of large strings."""
    encoded = [text.encode() for text in texts]
    ends = np.cumsum([0, *map(len, encoded)], dtype=np.int64)
    buffers = [None, pa.py_buffer(ends), pa.py_buffer(b"".join(encoded))]
    array = pa.Array.from_buffers(pa.large_string(), len(encoded), buffers)
    return array if arrow_type is None else array.cast(arrow_type)


def array_of_one(value: Any) -> pa.Array:
    """Return an Arrow array of one value."""
    if isinstance(value, str):
        return array_of_texts([value])
    if isinstance(value, bool | np.bool_):
        bits = pa.py_buffer(bytes([bool(value)]))
        return pa.Array.from_buffers(pa.bool_(), 1, [None, bits])
    if isinstance(value, float):
        return as_arrow(np.array([value], np.float64))
    if isinstance(value, int) and abs(value) <= _MAX_INTEGER:
        return as_arrow(np.array([value], np.int64))
    return pa.array([value])


def decoded(values: pa.Array) -> pa.Array:
    """Return a column with its values in place of a dictionary, which may hold a null."""
    if pa.types.is_dictionary(values.type):
        return values.dictionary_decode()
    return values


def without_views(batch: pa.RecordBatch) -> pa.RecordBatch:
    """Convert views, and runs of equal values, to plain columns."""
    for number, field in enumerate(batch.schema):
        arrow_name = str(field.type)
        column = batch.column(number)
        if arrow_name in _PLAIN_TYPES:
            plain = column.cast(_PLAIN_TYPES[arrow_name])
        elif arrow_name.startswith("run_end_encoded"):
            import pyarrow.compute as pc  # here, as it takes long to import

            plain = pc.run_end_decode(column)
        else:
            continue
        batch = batch.set_column(number, field.name, plain)
    return batch
