"""Files that are written completely or not at all."""

from __future__ import annotations

import os
import secrets
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from rainproof.errors import InputError

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
