"""Files that are written completely or not at all, held by one process, and checked as a whole when read."""

from __future__ import annotations

import json
import os
import secrets
import stat
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from hashlib import sha256
from importlib import import_module
from pathlib import Path
from typing import Any, BinaryIO, TypeVar

from rainproof.errors import InputError


def locked(path: Path) -> BinaryIO:
    """Make the file if there is none, and hold it until it is closed or the process ends, however it does.

    The file is left where it is: if it were removed, two processes could hold two files of one name.

    Raises
    ------
    InputError
        If another process holds it, or it cannot be made.
    """
    with write_errors(path):
        file = path.open("ab")
    try:
        _lock(file.fileno())
    except OSError as error:
        file.close()
        raise InputError(f"cannot lock {path}: is another process at work? ({error.strerror})") from error
    return file


def _lock(descriptor: int) -> None:
    try:
        unix = import_module("fcntl")
    except ImportError:
        windows = import_module("msvcrt")
        windows.locking(descriptor, windows.LK_NBLCK, 1)
    else:
        unix.flock(descriptor, unix.LOCK_EX | unix.LOCK_NB)


_unfinished: set[Path] = set()


def check_output(path: Path, *sources: Path) -> None:
    """Refuse a path that cannot be written, before the result is computed."""
    with write_errors(path):
        if path.exists():
            if any(source.exists() and path.samefile(source) for source in sources):
                raise InputError(f"{path} is the file to read: the result would overwrite it")
            if not path.is_file():
                raise InputError(f"cannot write {path}: it is not a regular file")
            if any(map(path.samefile, _open_streams())):
                raise InputError(f"cannot write {path}: standard output or error is redirected to it")
        _remove(_beside(path))


def write_atomic(path: Path, text: str) -> None:
    """Write a text file; readers see all of it or what was there before."""
    with atomic_output(path) as temporary, write_errors(path):
        temporary.write_text(text, encoding="utf-8", newline="\n")


@contextmanager
def atomic_output(path: Path) -> Iterator[Path]:
    """Yield a temporary file, which replaces `path` on success and is removed on failure."""
    with write_errors(path):
        mode = stat.S_IMODE(path.stat().st_mode) if path.exists() else None
        temporary = _beside(path)
    try:
        with write_errors(path):
            if mode is not None:  # the new file must not be readable by more people than the old one
                temporary.chmod(mode | stat.S_IRUSR | stat.S_IWUSR)
        yield temporary
        with write_errors(path):
            with temporary.open("rb+") as file:
                os.fsync(file.fileno())
            if mode is not None:
                temporary.chmod(mode)
            temporary.replace(path.resolve())
    finally:
        _remove(temporary)


def remove_unfinished() -> None:
    """Remove the files that `whole` has not finished with: for a process that is told to end."""
    for temporary in _unfinished.copy():
        _remove(temporary)


@contextmanager
def write_errors(path: Path) -> Iterator[None]:
    """Raise what goes wrong inside as an `InputError` of one line that names the file."""
    try:
        yield
    except (OSError, ValueError) as error:  # a NUL in the name is a ValueError
        if isinstance(error, InputError | UnicodeError):  # the file is not the cause
            raise
        raise InputError(f"cannot write {path}: {getattr(error, 'strerror', None) or error}") from error


def _open_streams() -> list[str]:
    """Return standard output and error: a file they are redirected to may hold other output, so it is not replaced."""
    return [stream for stream in ("/dev/fd/1", "/dev/fd/2") if Path(stream).exists()]


def _beside(path: Path) -> Path:
    """Create a file in the same folder, so that it can replace the other in one step."""
    with suppress(FileNotFoundError):
        path.stat()  # fails for a loop of links, which `resolve` lets pass since Python 3.13
    # Not the process id: a killed process may have had the same, and left its file.
    temporary = path.resolve().with_name(f".rainproof-{secrets.token_hex(8)}.tmp")
    _unfinished.add(temporary)
    temporary.open("x").close()
    return temporary


def _remove(temporary: Path) -> None:
    temporary.unlink(missing_ok=True)
    _unfinished.discard(temporary)


Read = TypeVar("Read")


def read_json(path: str | os.PathLike[str], what: str, read: Callable[[Any, bytes], Read]) -> Read:
    """Read a JSON file; `read` makes what it holds from the data and the bytes, and its errors name the file."""
    path = os.fspath(path)
    try:
        raw = Path(path).read_bytes()
    except (OSError, ValueError) as error:  # a ValueError for a NUL in the name
        raise InputError(f"cannot read {path}: {getattr(error, 'strerror', None) or error}") from error
    try:
        data = json.loads(raw, object_pairs_hook=_once, parse_constant=_no_constant)
    except RecursionError:
        raise InputError(f"{path} is not JSON: it is nested too deeply") from None
    except ValueError as error:  # also what is not UTF-8, and numbers of thousands of digits
        raise InputError(f"{path} is not JSON: {error}") from error
    try:
        return read(data, raw)
    except InputError as error:
        raise InputError(f"{path} holds no {what}: {error}") from error


def check_document(
    data: Any, what: str, *, version: int, keys: Sequence[str], optional: Sequence[str] = ()
) -> dict[str, Any]:
    """Return a document if it has the right format, version and keys."""
    if not isinstance(data, dict) or data.get("format") != f"rainproof {what}":
        raise InputError(f"a {what} must be an object with 'format': 'rainproof {what}'")
    found = data.get("version")
    if found is True or found != version:
        raise InputError(
            f"a {what} must have version {version}, the only one that this rainproof reads; it has {found!r}"
        )
    keys = ("format", "version", *keys)
    missing = [key for key in keys if key not in data]
    if missing:
        raise InputError(f"a {what} must have {', '.join(map(repr, keys))}; it lacks {missing[0]!r}")
    strange = [key for key in data if key not in (*keys, *optional)]
    if strange:
        raise InputError(f"a {what} must have only {', '.join(map(repr, keys))}; it has {strange[0]!r}")
    return data


def digest_of(content: Mapping[str, Any]) -> str:
    """Return a digest of a document that does not depend on the order of its entries."""
    text = json.dumps(content, sort_keys=True, separators=(",", ":"), allow_nan=False)
    return sha256(text.encode()).hexdigest()


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Refuse an object with a repeated key, which two readers may understand differently."""
    data = dict(pairs)
    if len(data) < len(pairs):
        raise ValueError("a key occurs twice")
    return data


def _no_constant(word: str) -> Any:
    raise ValueError(f"{word} is not a number that JSON allows")
