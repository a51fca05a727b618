"""File formats: how each is read in batches and written. A new format is one entry of `FORMATS`."""

from __future__ import annotations

import difflib
import fnmatch
import glob
import gzip
import json
import math
import os
import queue
import re
import threading
import warnings
from codecs import BOM_UTF8
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager, suppress
from functools import partial
from importlib import import_module
from itertools import islice
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, NamedTuple, TypeVar
from urllib.parse import unquote

from rainproof.core.files import file_errors
from rainproof.errors import InputError, MissingExtraError, RainproofError, RainproofWarning
from rainproof.io.column_types import Batches

if TYPE_CHECKING:
    import pyarrow as pa


_SHOWN_COLUMNS = 10


def need(module: str, doing: str, package: str, install: str) -> Any:
    """Return an optional module, or raise the error that says how to install its package."""
    try:
        return import_module(module)
    except ImportError:
        raise MissingExtraError(doing, package, install) from None


def need_pyarrow() -> None:
    """Raise the error that says how to install PyArrow, if it is missing."""
    need("pyarrow", "reading data frames and files", "PyArrow", "pyarrow")


def check_columns(source: str, columns: list[str], available: Sequence[Any]) -> None:
    """Refuse a source that does not have each of the columns exactly once; names that are no text
    name none of them.
    """
    names = [name for name in available if isinstance(name, str)]
    for name in columns:
        if names.count(name) > 1:
            raise InputError(
                f"{source} has {names.count(name)} columns called {name!r}; it must have one"
            )
        if name not in names:
            plain = {other.strip().lower(): other for other in names}
            close = difflib.get_close_matches(name.strip().lower(), plain, n=1)
            suggestion = f" (did you mean {plain[close[0]]!r}?)" if close else ""
            listed = ", ".join(map(repr, available[:_SHOWN_COLUMNS])) or "none"
            more = (
                f" and {len(available) - _SHOWN_COLUMNS:,} more"
                if len(available) > _SHOWN_COLUMNS
                else ""
            )
            raise InputError(f"{source} has no column {name!r}{suggestion}; it has {listed}{more}")


def hide_password(address: str) -> str:
    """Return an address for a message: from the first colon of its authority to the last @, and in
    its query.
    """
    address = re.sub(r"(://[^:@]*:).*@", r"\1***@", address, flags=re.DOTALL)
    return re.sub(r"(?i)([?&]\w*(?:passw|secret|token)\w*=)[^&#]*", r"\1***", address)


def first_line(error: Exception) -> str:
    """Return the first non-empty line of another library's message."""
    return next(
        (line.strip() for line in str(error).splitlines() if line.strip()), type(error).__name__
    )


def without_password(error: Exception, address: str) -> str:
    """Return the first line of another library's message without the password of an address,
    however it is written.
    """
    message = first_line(error)
    given = re.findall(r"(?is)://[^:@/]*:(.*)@|[?&]\w*(?:passw|secret|token)\w*=([^&#]*)", address)
    for secret in {part for found in given for part in found if part}:
        for written in (secret, unquote(secret)):
            message = message.replace(written, "***")
    return message


Item = TypeVar("Item")

_AHEAD = 2  # items that wait, or are being read
_GRACE = 1.0  # seconds to close the file in; reading from a pipe without a writer never ends


def prefetch(items: Iterator[Item]) -> Iterator[Item]:
    """Yield the same items, produced in another thread, whose errors are raised here and which ends
    with this one.
    """
    line: queue.SimpleQueue[tuple[list[Item], BaseException | None]] = queue.SimpleQueue()
    room, left = threading.Semaphore(_AHEAD), threading.Event()

    def work() -> None:
        try:
            for item in items:
                line.put(([item], None))
                room.acquire()
                if left.is_set():
                    break
            line.put(([], None))
        except BaseException as error:
            line.put(([], error))
        finally:
            # a generator closes its file here, in the thread that ran it
            getattr(items, "close", int)()

    thread = threading.Thread(target=work, name="rainproof-read", daemon=True)
    thread.start()
    try:
        while True:
            found, error = line.get()
            if error is not None:
                raise error
            if not found:
                return
            yield found[0]
            room.release()
    finally:
        left.set()
        room.release()
        thread.join(_GRACE)


_MAGIC = re.compile(r"[*?]|\[.+\]")
_STORES = {
    "s3": "the environment (AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY, AWS_REGION), ~/.aws or the machine's role; "
    "a public bucket is s3://anonymous@bucket/...",
    "gs": "GOOGLE_APPLICATION_CREDENTIALS or 'gcloud auth application-default login'; "
    "a public bucket is gs://anonymous@bucket/...",
    "abfs": "AZURE_CLIENT_ID and its relatives, 'az login' or the machine's identity; "
    "an address is abfs://container@account.dfs.core.windows.net/...",
}
"""Object stores by the scheme of their addresses, and where PyArrow finds the credentials of each.
"""

_ALIASES = {"gcs": "gs", "abfss": "abfs"}


class Location(NamedTuple):
    """One file: its path, or the address of an object.

    Parameters
    ----------
    path : str
        The path or address.
    sep : str, optional
        What separates the columns of a text file. Default: recognised.
    keeps_empty : bool
        Whether an empty line of a text file of one column is a row, whose value is missing.
    """

    path: str
    sep: str | None = None
    keeps_empty: bool = False

    @property
    def name(self) -> str:
        """What messages call it: without a password."""
        return hide_password(self.path)

    @property
    def is_stored(self) -> bool:
        """Whether the file is in an object store."""
        return _scheme(self.path) is not None

    def open(self) -> Any:
        """Open the file for Arrow, at any position; Arrow takes names that are not UTF-8 only as
        bytes.
        """
        import pyarrow as pa

        if not self.is_stored:
            return pa.OSFile(os.fsencode(self.path))
        from pyarrow import fs

        system, path = fs.FileSystem.from_uri(self.path)
        return system.open_input_file(path)

    def stream(self) -> Any:
        """Open the file from its start, and decompress it where its name says so."""
        import pyarrow as pa

        name = self.path.partition("?")[0] if self.is_stored else self.path
        return pa.input_stream(
            self.open(), compression="gzip" if name.lower().endswith(".gz") else None
        )

    @contextmanager
    def errors(self) -> Iterator[None]:
        """Raise what goes wrong inside as an `InputError` of one line that names the file."""
        import pyarrow as pa

        try:
            with self.open() if self.is_stored else Path(self.path).open("rb") as file:
                if not file.read(1):
                    raise InputError(f"{self.name} is empty")
            yield
        except RainproofError:
            raise
        except (OSError, ValueError, pa.ArrowException) as error:
            # a NUL in the name is a ValueError
            raise _error(self.path, error) from (
                error if hide_password(self.path) == self.path else None
            )


def expand(patterns: Sequence[str]) -> list[str]:
    """Return the files that names and patterns match; refuse one that they match twice, under any
    of its names.
    """
    paths = [path for pattern in patterns for path in _matches(pattern)]
    known: dict[Any, str] = {}
    for path in paths if len(paths) > 1 else ():
        identity = _identity(path)
        if identity in known:
            both = f"{hide_password(known[identity])} and {hide_password(path)}"
            raise InputError(f"{both} are the same file: its rows would count twice; name it once")
        known[identity] = path
    return paths


def _identity(path: str) -> Any:
    """Return what all names of one file share: also links, which have no other sign of it than the
    file's number.
    """
    if _scheme(path) is None:
        with suppress(OSError, ValueError):  # reading the file says what is wrong with its name
            found = os.stat(path)  # noqa: PTH116 - not to change the name
            return found.st_dev, found.st_ino
    return path


def _matches(pattern: str) -> list[str]:
    """Return the files that a pattern matches, in order; the name of an existing file is not a
    pattern.
    """
    stored = _scheme(pattern) is not None
    if not _MAGIC.search(pattern.partition("?")[0] if stored else pattern):
        return [pattern]
    if not stored and os.path.exists(pattern):  # noqa: PTH110 - not to change the name
        return [pattern]
    # The pattern may be absolute, so pathlib does not take it.
    paths = _stored(pattern) if stored else sorted(glob.glob(pattern, recursive=True))  # noqa: PTH207
    if not paths:
        raise InputError(f"no file matches {hide_password(pattern)!r}")
    return paths


def _stored(pattern: str) -> list[str]:
    """Return the addresses of the objects that a pattern matches."""
    import pyarrow as pa
    from pyarrow import fs

    address, mark, query = pattern.partition("?")
    folder = address[: address.rfind("/", 0, _MAGIC.search(address).start())]  # type: ignore[union-attr]
    try:
        system, base = fs.FileSystem.from_uri(folder + mark + query)
        found = system.get_file_info(fs.FileSelector(base, recursive=True))
    except (OSError, pa.ArrowException) as error:
        raise _error(pattern, error) from None
    names = [folder + one.path[len(base) :] for one in found if one.type == fs.FileType.File]
    return sorted(name + mark + query for name in names if fnmatch.fnmatchcase(name, address))


def _scheme(path: str) -> str | None:
    """Return the object store that an address is of, or None for a path."""
    scheme, mark, _ = path.partition("://")
    scheme = _ALIASES.get(scheme.lower(), scheme.lower())
    return scheme if mark and scheme in _STORES else None


def _error(path: str, error: Exception) -> InputError:
    """Return the error of a file that cannot be read; for an object store it says where credentials
    come from.
    """
    store = _scheme(path)
    reason = getattr(error, "strerror", None) or (
        str(error) if store is None else without_password(error, path)
    )
    hint = "" if store is None else f" (credentials are taken from {_STORES[store]})"
    return InputError(f"cannot read {hide_password(path)}: {' '.join(reason.split())}{hint}")


_BATCH = 1 << 16  # rows
_JSON_BLOCK = 1 << 20  # bytes


def _read_json(file: Location, columns: list[str], others: bool) -> Iterator[pa.RecordBatch]:
    """Yield the rows of JSON objects, one a line or all in one array; a key that one lacks is a
    missing value.

    With `others` a batch has the keys of all objects so far: a key may come first in a later batch.
    """
    batches = Batches(file.name)
    names: dict[str, None] = {}
    with file.stream() as stream:
        records = (record for record, _ in json_objects(file, stream))
        while batch := list(islice(records, _BATCH)):
            if not names:
                names = dict.fromkeys(name for record in batch for name in record)
                check_columns(file.name, columns, list(names))
                names = names if others else dict.fromkeys(columns)
            elif others and not names.keys() >= set().union(*batch):
                names |= dict.fromkeys(name for record in batch for name in record)
            yield batches.batch(
                [*names], [[record.get(name) for record in batch] for name in names]
            )


def json_objects(file: Location, stream: Any) -> Iterator[tuple[Mapping[str, Any], str]]:
    """Yield the JSON objects of a file, one a line or all in one array, and what messages call
    each.

    An object with a key that comes twice is refused.
    """

    def parsed(raw: bytes, what: str, encoding: str = "utf-8") -> Any:
        try:
            text = raw.decode(encoding, "surrogatepass")
            value = json.loads(text)
            if not _may_repeat_keys(text, value):
                return value
            return json.loads(text, object_pairs_hook=partial(_object, what=what))
        except RainproofError:
            raise
        except (ValueError, RecursionError) as error:
            raise InputError(f"{what} must be JSON: {error}") from None

    def checked(record: Any, what: str) -> tuple[Mapping[str, Any], str]:
        if not isinstance(record, dict):
            raise InputError(f'{what} must be a JSON object such as {{"p": 0.7, "y": 1}}')
        return record, what

    rest = stream.read(_JSON_BLOCK).removeprefix(BOM_UTF8)
    if rest.lstrip().startswith(b"["):
        text = rest + stream.read()
        for number, record in enumerate(parsed(text, file.name, json.detect_encoding(text))):
            yield checked(record, f"entry {number:,} of {file.name}")
        return
    for number, line in enumerate(_lines(rest, stream), 1):
        if line.strip():
            what = f"line {number:,} of {file.name}"
            yield checked(parsed(line, what), what)


def _lines(start: bytes, stream: Any) -> Iterator[bytes]:
    """Yield the lines of a stream, of which the start has been read."""
    rest = start
    while block := stream.read(_JSON_BLOCK):
        *lines, rest = (rest + block).split(b"\n")
        yield from lines
    yield from rest.split(b"\n")


def _may_repeat_keys(text: str, value: Any) -> bool:
    """Whether an object in the text may have a key twice; to compare the keys of each would take
    twice as long.

    Each key ends in a quote and a colon. With as many of these as there are different keys, none is
    twice.
    """
    if isinstance(value, dict):
        keys = len(value)
    else:
        keys = (
            sum(len(record) for record in value if isinstance(record, dict))
            if isinstance(value, list)
            else 0
        )
    if text.count('":') != keys:
        return True
    # a key may end in these, too
    return " :" in text or "\t:" in text or "\n:" in text or "\r:" in text


def _object(pairs: list[tuple[str, Any]], *, what: str) -> dict[str, Any]:
    """Return an object of JSON, or refuse one that has a key twice."""
    found = dict(pairs)
    if len(found) < len(pairs):
        names = [name for name, _ in pairs]
        twice = next(name for name in names if names.count(name) > 1)
        raise InputError(f"{what} has {names.count(twice)} keys called {twice!r}; it must have one")
    return found


@contextmanager
def _write_json(file: IO[bytes], *, array: bool) -> Iterator[Write]:
    """Write one JSON object a line, or an array of them; what is missing, NaN or infinite is null."""
    between = ",\n" if array else "\n"
    before = "[" if array else ""

    def write(batch: pa.RecordBatch) -> None:
        nonlocal before
        names = batch.schema.names
        twice = sorted({name for name in names if names.count(name) > 1})
        if twice:
            raise InputError(
                f"JSON has each key once: {twice[0]!r} is the name of {names.count(twice[0])} columns"
            )
        for field in batch.schema:
            if "binary" in str(field.type):
                raise InputError(
                    f"{field.name} cannot be written as JSON: it holds values of type {field.type}"
                )
        rows = between.join(map(_json_object, batch.to_pylist()))
        file.write(f"{before}{rows}".encode())
        before = between

    yield write
    file.write(b"]\n" if array else b"\n")


def _json_object(row: dict[str, Any]) -> str:
    """Return a row as an object of JSON, which has neither NaN nor infinity."""
    try:
        return json.dumps(row, default=str, ensure_ascii=False, allow_nan=False)
    except ValueError:
        return json.dumps(_finite(row), default=str, ensure_ascii=False, allow_nan=False)


def _finite(value: Any) -> Any:
    """Return a value in which null stands for NaN and infinity."""
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, dict):
        return {name: _finite(part) for name, part in value.items()}
    return list(map(_finite, value)) if isinstance(value, list | tuple) else value


def _read_spreadsheet(file: Location, columns: list[str], others: bool) -> Iterator[pa.RecordBatch]:
    """Yield the rows of the first sheet, whose first row has the names of the columns; empty rows
    are no rows.
    """
    calamine = need(
        "python_calamine", "reading a spreadsheet", "python-calamine", "python-calamine"
    )
    try:
        with file.open() as stream:
            workbook = calamine.load_workbook(stream)
            rows = workbook.get_sheet_by_index(0).to_python()
    except calamine.CalamineError as error:
        raise InputError(f"cannot read {file.name}: {error}") from None
    sheet = workbook.sheets_metadata[0]
    if sheet.visible != calamine.SheetVisibleEnum.Visible:
        message = f"the first sheet of {file.name}, {sheet.name!r}, is hidden; its rows are read"
        warnings.warn(message, RainproofWarning, stacklevel=2)
    filled = [row for row in rows if any(value != "" for value in row)]
    if not filled:
        raise InputError(f"the first sheet of {file.name} is empty")
    available = [str(name) for name in filled[0]]
    check_columns(file.name, columns, available)
    names = available if others else columns
    places = [available.index(name) for name in names] if not others else range(len(available))
    cells = [_cells([row[at] for row in filled[1:]]) for at in places]
    table = Batches(file.name).batch(names, cells)  # as a whole: a column has one type
    for start in range(0, table.num_rows, _BATCH):
        yield table.slice(start, _BATCH)


def _cells(values: list[Any]) -> list[Any]:
    """Return the cells of a column: empty ones as None, and numbers, which are all doubles, as
    integers if all are.
    """
    cells = [None if value == "" else value for value in values]
    if all(
        cell is None or (isinstance(cell, float) and cell.is_integer() and abs(cell) < 1 << 53)
        for cell in cells
    ):
        return [None if cell is None else int(cell) for cell in cells]
    return cells


_CSV_BLOCK = 1 << 20  # bytes; the longest line must fit
_PARQUET_BATCH = 1 << 18  # rows
_PARQUET_BUFFER = 1 << 20  # bytes; without it a row group is read at once


Write = Callable[["pa.RecordBatch"], None]
"""Appends the rows of a batch to a file; all batches have one schema."""


class FileFormat(NamedTuple):
    """One file format."""

    name: str
    suffixes: tuple[str, ...]  # of file names; .gz at the end means that the file is compressed
    # The file, the columns, whether to read all others too.
    read: Callable[[Location, list[str], bool], Iterator[pa.RecordBatch]]
    # None if files are read only
    write: Callable[[IO[bytes]], AbstractContextManager[Write]] | None
    is_text: bool = True  # whether text is read as numbers
    # whether later rows of a file may have other columns, and values of other types
    is_open: bool = False
    separators: str = ""  # of the columns of a text file: the first that is in its first line
    magic: bytes = b""  # what a file begins with, by which standard input is told from a text file
    # the number of rows that a file states, 0 if it states none
    count: Callable[[Location], int] = lambda _: 0


def format_of(path: str) -> FileFormat:
    """Return the format that the name of a file states."""
    name = (path.partition("?")[0] if Location(path).is_stored else path).lower()
    for one in FORMATS:
        if name.endswith(one.suffixes):
            return one
    *suffixes, last = (suffix for one in FORMATS for suffix in one.suffixes)
    rule = f"the name of the file must end in {', '.join(suffixes)} or {last}"
    raise InputError(f"{rule}; it is {hide_password(path)!r}")


def suffix_of(start: bytes) -> str:
    """Return the suffix of the format of a file that begins so: of the first, where nothing tells."""
    known = (one for one in FORMATS if one.magic and start.startswith(one.magic))
    return next(known, FORMATS[0]).suffixes[0]


def describe_formats() -> str:
    """Return the formats and their suffixes, for a help text."""
    *formats, last = (f"{one.name} ({', '.join(one.suffixes)})" for one in FORMATS)
    return f"{', '.join(formats)} or {last}"


def file_batches(
    file: Location, columns: list[str], *, others: bool = False
) -> Iterator[pa.RecordBatch]:
    """Yield the rows of a file: these columns, or with `others` all columns. The next batch is read
    meanwhile.
    """
    read = format_of(file.path).read
    with file.errors():
        yield from prefetch(read(file, columns, others))


def check_writable(target: Path) -> Callable[[IO[bytes]], AbstractContextManager[Write]]:
    """Return what writes the format that the name of a file states, or refuse one that is read
    only.
    """
    kind = format_of(str(target))
    if kind.write is None:
        raise InputError(
            f"{kind.name} files are read, but not written: write .csv or .parquet; it is {str(target)!r}"
        )
    return kind.write


@contextmanager
def open_writer(path: Path, target: Path) -> Iterator[Write]:
    """Yield what appends batches to the file `path`, in the format that the name of `target`
    states.
    """
    kind = format_of(str(target))
    stack = ExitStack()
    first: pa.Schema | None = None
    rows = 0
    with file_errors(target):
        file: Any = stack.enter_context(path.open("wb"))
        # with neither name nor time, so that equal rows make equal files
        if target.name.lower().endswith(".gz"):
            file = stack.enter_context(gzip.GzipFile(filename="", fileobj=file, mode="wb", mtime=0))
        append = stack.enter_context(check_writable(target)(file))

    def write(batch: pa.RecordBatch) -> None:
        nonlocal first, rows
        first = batch.schema if first is None else first
        if not kind.is_open:
            batch = _of_schema(batch, first, rows, target)
        with file_errors(target):
            append(batch)
        rows += batch.num_rows

    try:
        yield write
    except BaseException:
        with suppress(OSError):  # the first error is the one to report
            stack.close()
        raise
    with file_errors(target):
        stack.close()


def _of_schema(batch: pa.RecordBatch, schema: pa.Schema, rows: int, target: Path) -> pa.RecordBatch:
    """Return a batch with the columns that were written already, or say that the file cannot have
    it.
    """
    import pyarrow as pa

    way_out = "write .jsonl, which can have it"
    new = [name for name in batch.schema.names if name not in schema.names]
    if new:
        raise InputError(
            f"{target} cannot have {new[0]!r}, which first occurs after {rows:,} rows: {way_out}"
        )
    if batch.schema.equals(schema):
        return batch
    columns = []
    for field, column in zip(schema, batch.columns, strict=True):
        try:
            columns.append(column.cast(field.type))
        except pa.ArrowException:
            types = f"values of type {field.type}, and of type {column.type} after {rows:,} rows"
            raise InputError(
                f"{target} cannot have {field.name!r}, which holds {types}: {way_out}"
            ) from None
    return pa.RecordBatch.from_arrays(columns, schema=schema)


def separator_of(file: Location) -> str:
    """Return what separates the columns of a text file: as stated, or the first usual one in its
    first line.
    """
    separators = format_of(file.path).separators
    if file.sep is not None:
        return file.sep
    with file.stream() as stream:
        start = stream.read(_CSV_BLOCK).decode("utf-8", "replace")
    outside = "".join(start.split('"')[::2])  # what is between quotes separates nothing
    header = next((line for line in outside.splitlines() if line), "")
    return next((one for one in separators if one in header), separators[0])


def _read_text(file: Location, columns: list[str], others: bool) -> Iterator[pa.RecordBatch]:
    """Yield the columns of a text file as text; how it is read as numbers is decided, and errors
    counted, later.

    With `others` every value is kept as it is; without, an empty one is null.
    """
    import pyarrow as pa
    from pyarrow import csv

    # which needs NumPy: help does without it
    from rainproof.io.unclosed_quotes import LineCounter, find_unclosed

    with file.stream() as stream:
        start = stream.read(_CSV_BLOCK)
    if b"\0" in start[: 1 << 12]:  # Parquet, spreadsheets and compressed files all have zero bytes
        raise InputError(
            f"{file.name} does not hold text, though its name says so: "
            "is it Parquet, compressed, a spreadsheet or UTF-16?"
        )
    separator = separator_of(file)

    lines = LineCounter(file.stream())

    def read(stream: Any, *, keeps_empty: bool = False, **options: Any) -> pa.RecordBatchReader:
        # empty lines above the header
        above = start[: len(start) - len(start.lstrip(b"\r\n"))].count(b"\n")
        return csv.open_csv(
            stream,
            read_options=csv.ReadOptions(
                block_size=_CSV_BLOCK, skip_rows=above if keeps_empty else 0
            ),
            parse_options=csv.ParseOptions(
                delimiter=separator, newlines_in_values=True, ignore_empty_lines=not keeps_empty
            ),
            convert_options=csv.ConvertOptions(**options),
        )

    rows = 1  # the header
    try:
        with read(file.stream()) as header:
            available = header.schema.names
        check_columns(file.name, columns, available)
        options = (
            {}
            if others
            else {"include_columns": columns, "strings_can_be_null": True, "null_values": [""]}
        )
        options["column_types"] = dict.fromkeys(available if others else columns, pa.string())
        keeps_empty = file.keeps_empty and len(available) == 1
        with read(pa.PythonFile(lines, mode="r"), keeps_empty=keeps_empty, **options) as batches:
            for batch in batches:
                rows += batch.num_rows
                yield batch
    except pa.ArrowInvalid:
        # its value may be longer than a block, or take in half of a line
        _refuse_unclosed(file, separator)
        if len(start) == _CSV_BLOCK and b"\n" not in start:
            raise InputError(
                f"cannot read {file.name}: its first line is longer than {_CSV_BLOCK:,} bytes"
            ) from None
        raise
    if lines.has_quotes and (
        rows != lines.lines or find_unclosed([lines.last_line], separator) is not None
    ):
        _refuse_unclosed(file, separator)


def _refuse_unclosed(file: Location, separator: str) -> None:
    """Refuse a text file with a quote that is not closed; this reads it again."""
    from rainproof.io.unclosed_quotes import find_unclosed

    with file.stream() as stream:
        place = find_unclosed(iter(partial(stream.read, _CSV_BLOCK), b""), separator)
    if place is None:
        return
    line_ends = 0
    last = b""
    with file.stream() as stream:
        while place and (block := stream.read(min(place, _CSV_BLOCK))):
            place -= len(block)
            line_ends += block.count(b"\n") + block.count(b"\r") - (last + block).count(b"\r\n")
            last = block[-1:]
    raise InputError(
        f"line {1 + line_ends:,} of {file.name} has a quote that is not closed, and would take in the lines below it: "
        'close it, or write it twice ("") where it belongs to the text'
    )


@contextmanager
def _write_text(file: IO[bytes], separator: str) -> Iterator[Write]:
    """Write lines of text with a header; a value is quoted only if it must be, and a missing one is
    empty.
    """
    import pyarrow as pa
    import pyarrow.compute as pc

    def scalar(value: str) -> pa.Scalar:
        return pa.scalar(value, pa.large_string())

    def text(column: pa.Array, name: str) -> pa.Array:
        try:
            values = pc.fill_null(pc.cast(column, pa.large_string()), "")
        except pa.ArrowException:
            raise InputError(
                f"{name} cannot be written as text: it holds values of type {column.type}"
            ) from None
        special = pc.match_substring_regex(values, f'[{separator}"\r\n]')
        if not pc.any(special).as_py():
            return values
        doubled = pc.replace_substring(values, '"', '""')
        quoted = pc.binary_join_element_wise(scalar('"'), doubled, scalar('"'), scalar(""))
        return pc.if_else(special, quoted, values)

    def append(batch: pa.RecordBatch) -> None:
        values = [
            text(column, name)
            for name, column in zip(batch.schema.names, batch.columns, strict=True)
        ]
        lines: list[str] = pc.binary_join_element_wise(*values, scalar(separator)).to_pylist()
        file.write("".join(f"{line}\n" for line in lines).encode())

    has_header = False

    def write(batch: pa.RecordBatch) -> None:
        nonlocal has_header
        if not has_header:
            names = batch.schema.names
            append(pa.record_batch([pa.array([name]) for name in names], names=names))
        has_header = True
        append(batch)

    yield write


@contextmanager
def _write_arrow(file: IO[bytes], *, feather: bool) -> Iterator[Write]:
    """Write a typed file by one of PyArrow's writers, with the schema of the first batch."""
    import pyarrow as pa
    from pyarrow import parquet

    make = pa.ipc.new_file if feather else parquet.ParquetWriter
    with ExitStack() as stack:
        writer: Any = None

        def write(batch: pa.RecordBatch) -> None:
            nonlocal writer
            if writer is None:
                writer = make(file, batch.schema)
                stack.callback(writer.close)
            writer.write_batch(batch)

        yield write


def _read_parquet(file: Location, columns: list[str], others: bool) -> Iterator[pa.RecordBatch]:
    from pyarrow import parquet

    with (
        file.open() as source,
        parquet.ParquetFile(source, buffer_size=_PARQUET_BUFFER, pre_buffer=False) as table,
    ):
        check_columns(file.name, columns, table.schema_arrow.names)
        yield from table.iter_batches(_PARQUET_BATCH, columns=None if others else columns)


def _rows_parquet(file: Location) -> int:
    import pyarrow as pa
    from pyarrow import parquet

    try:
        with file.open() as source:
            return int(parquet.read_metadata(source).num_rows)
    except (OSError, pa.ArrowException):  # which reading the file raises again
        return 0


def _read_feather(file: Location, columns: list[str], others: bool) -> Iterator[pa.RecordBatch]:
    import pyarrow as pa

    with file.open() as source:
        with pa.ipc.open_file(source) as header:
            available = header.schema.names
        check_columns(file.name, columns, available)
        fields = None if others else [available.index(name) for name in columns]
        with pa.ipc.open_file(
            source, options=pa.ipc.IpcReadOptions(included_fields=fields)
        ) as batches:
            for at in range(batches.num_record_batches):
                yield batches.get_batch(at)


def _text_format(name: str, suffix: str, separators: str) -> FileFormat:
    write = partial(_write_text, separator=separators[0])
    return FileFormat(name, (suffix, f"{suffix}.gz"), _read_text, write, separators=separators)


_JSON_LINES = (".jsonl", ".jsonl.gz", ".ndjson", ".ndjson.gz")
_write_parquet, _write_feather = (
    partial(_write_arrow, feather=False),
    partial(_write_arrow, feather=True),
)

FORMATS: tuple[FileFormat, ...] = (
    _text_format("CSV", ".csv", ",;\t|"),
    _text_format("TSV", ".tsv", "\t"),
    _text_format("text", ".txt", "\t;|, "),
    FileFormat(
        "Parquet",
        (".parquet", ".pq"),
        _read_parquet,
        _write_parquet,
        is_text=False,
        magic=b"PAR1",
        count=_rows_parquet,
    ),
    FileFormat(
        "Feather",
        (".feather", ".arrow"),
        _read_feather,
        _write_feather,
        is_text=False,
        magic=b"ARRO",
    ),
    FileFormat(
        "JSON lines",
        _JSON_LINES,
        _read_json,
        partial(_write_json, array=False),
        is_open=True,
        magic=b"{",
    ),
    FileFormat(
        "JSON",
        (".json", ".json.gz"),
        _read_json,
        partial(_write_json, array=True),
        is_open=True,
        magic=b"[",
    ),
    FileFormat(
        "spreadsheet", (".xlsx", ".xlsb", ".xls", ".ods"), _read_spreadsheet, None, magic=b"PK\3\4"
    ),
)
