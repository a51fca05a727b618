"""JSON files: one object a line, or an array of objects."""

from __future__ import annotations

import json
import math
from codecs import BOM_UTF8
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from io import TextIOWrapper
from itertools import islice
from typing import IO, TYPE_CHECKING, Any

from rainproof.errors import InputError, RainproofError
from rainproof.io.column_types import BatchBuilder
from rainproof.io.locations import Batches, Location
from rainproof.io.opening import ROWS_PER_BATCH, OpenFile, ReadOptions
from rainproof.io.source_errors import check_columns

if TYPE_CHECKING:
    import pyarrow as pa

    from rainproof.io.formats import Write

_BLOCK = 1 << 20  # bytes read at a time; lines may be longer


class JsonFile(OpenFile):
    """An open JSON file; a key that an object lacks is a missing value."""

    def __init__(self, file: Location, _options: ReadOptions) -> None:
        self._file = file
        self._stream = file.stream()
        records = (record for record, _ in json_objects(file, self._stream))
        self._first_records = list(islice(records, ROWS_PER_BATCH))
        self._later_records = records

    def head(self) -> pa.RecordBatch | None:
        """Return the objects of the first batch, with all of their keys."""
        if not self._first_records:
            return None
        names = _keys_of(self._first_records)
        return _built(BatchBuilder(self._file.name), names, self._first_records)

    def batches(self, columns: list[str], others: bool) -> Batches:
        """Yield the rows.

        With `others` a batch has the keys of all objects so far: a key may come first in a later
        batch.
        """
        builder = BatchBuilder(self._file.name)
        records = self._first_records
        self._first_records = []  # not kept in memory while later ones are read
        # What the first batch has are the columns of the file.
        names = _keys_of(records)
        if records:
            check_columns(self._file.name, columns, list(names))
        while records:
            if others:
                names |= _keys_of(records)
            yield _built(builder, names if others else columns, records)
            records = list(islice(self._later_records, ROWS_PER_BATCH))

    def close(self) -> None:
        """Close the file."""
        self._stream.close()


def _keys_of(records: list[Mapping[str, Any]]) -> dict[str, None]:
    """Return the keys of objects as a set in order."""
    keys: dict[str, None] = {}
    for record in records:
        keys.update(dict.fromkeys(record))
    return keys


def _built(
    builder: BatchBuilder, names: Iterable[str], records: list[Mapping[str, Any]]
) -> pa.RecordBatch:
    """Return the values of objects by their keys."""
    columns = [[record.get(name) for record in records] for name in names]
    return builder.build(list(names), columns)


def lines_of_objects(file: Location, _options: ReadOptions) -> Iterator[int]:
    """Yield the line of each object of JSON lines, for messages; this reads the file again."""
    with TextIOWrapper(file.stream(), encoding="utf-8") as text:
        for number, line in enumerate(text, 1):
            if line.strip():
                yield number


def json_objects(file: Location, stream: Any) -> Iterator[tuple[Mapping[str, Any], str]]:
    """Yield the objects of a JSON file, and what messages call each.

    An object with a key that comes twice is refused.
    """
    start = stream.read(_BLOCK).removeprefix(BOM_UTF8)
    if start.lstrip().startswith(b"["):
        text = start + stream.read()
        records = _parsed(text, file.name, json.detect_encoding(text))
        for number, record in enumerate(records):
            place = f"entry {number:,} of {file.name}"
            yield _checked_object(record, place), place
        return
    for number, line in enumerate(_lines(start, stream), 1):
        if line.strip():
            place = f"line {number:,} of {file.name}"
            yield _checked_object(_parsed(line, place), place), place


def _lines(start: bytes, stream: Any) -> Iterator[bytes]:
    """Yield the lines of a stream, of which the start has been read."""
    rest = start
    while block := stream.read(_BLOCK):
        *lines, rest = (rest + block).split(b"\n")
        yield from lines
    yield from rest.split(b"\n")


def _parsed(raw: bytes, place: str, encoding: str = "utf-8") -> Any:
    """Return the value of a JSON text."""
    try:
        # A lone surrogate is read, as json reads an escaped one.
        text = raw.decode(encoding, "surrogatepass")
        value = json.loads(text)
        if not _may_repeat_keys(text, value):
            return value

        def with_each_key_once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
            return _object_of_pairs(pairs, place)

        return json.loads(text, object_pairs_hook=with_each_key_once)
    except RainproofError:
        raise
    except (ValueError, RecursionError) as error:
        raise InputError(f"{place} must be JSON: {error}") from None


def _checked_object(record: Any, place: str) -> Mapping[str, Any]:
    if not isinstance(record, dict):
        raise InputError(f'{place} must be a JSON object such as {{"p": 0.7, "y": 1}}')
    return record


def _may_repeat_keys(text: str, value: Any) -> bool:
    """Whether an object in the text may have a key twice.

    Each key ends in a quote and a colon. With as many of these as there are different keys, none is
    twice. (To compare the keys of each object would take twice as long.)
    """
    different_keys = 0
    if isinstance(value, dict):
        different_keys = len(value)
    elif isinstance(value, list):
        different_keys = sum(len(record) for record in value if isinstance(record, dict))
    if text.count('":') != different_keys:
        return True
    # Blanks may stand before the colon.
    return " :" in text or "\t:" in text or "\n:" in text or "\r:" in text


def _object_of_pairs(pairs: list[tuple[str, Any]], place: str) -> dict[str, Any]:
    """Return an object of JSON, or refuse one that has a key twice."""
    values = dict(pairs)
    if len(values) == len(pairs):
        return values
    names = [name for name, _ in pairs]
    repeated = next(name for name in names if names.count(name) > 1)
    count = names.count(repeated)
    raise InputError(f"{place} has {count} keys called {repeated!r}; it must have one")


@contextmanager
def write_json_lines(file: IO[bytes]) -> Iterator[Write]:
    """Write one JSON object a line."""
    yield _ObjectWriter(file, before="", between="\n").write
    file.write(b"\n")


@contextmanager
def write_json_array(file: IO[bytes]) -> Iterator[Write]:
    """Write an array of JSON objects."""
    yield _ObjectWriter(file, before="[", between=",\n").write
    file.write(b"]\n")


class _ObjectWriter:
    """Writes rows as JSON objects; what is missing, NaN or infinite is null."""

    def __init__(self, file: IO[bytes], before: str, between: str) -> None:
        self._file = file
        self._before = before
        self._between = between

    def write(self, batch: pa.RecordBatch) -> None:
        """Append the rows of a batch."""
        names = batch.schema.names
        repeated = sorted({name for name in names if names.count(name) > 1})
        if repeated:
            name = repeated[0]
            count = names.count(name)
            raise InputError(f"JSON has each key once: {name!r} is the name of {count} columns")
        for field in batch.schema:
            if "binary" in str(field.type):
                held = f"it holds values of type {field.type}"
                raise InputError(f"{field.name} cannot be written as JSON: {held}")
        rows = self._between.join([_json_object(row) for row in batch.to_pylist()])
        self._file.write(f"{self._before}{rows}".encode())
        self._before = self._between


def _json_object(row: dict[str, Any]) -> str:
    """Return a row as an object of JSON, which has neither NaN nor infinity."""
    try:
        return json.dumps(row, default=str, ensure_ascii=False, allow_nan=False)
    except ValueError:
        return json.dumps(_finite(row), default=str, ensure_ascii=False, allow_nan=False)


def _finite(value: Any) -> Any:
    """Return a value with null for NaN and infinity."""
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, dict):
        return {name: _finite(part) for name, part in value.items()}
    if isinstance(value, list | tuple):
        return [_finite(part) for part in value]
    return value
