"""Files that are written completely or not at all, and held by one process.

What files hold is not here: see `rainproof.core.documents`.
"""

from __future__ import annotations

import os
import re
import stat
import threading
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from contextvars import ContextVar
from importlib import import_module
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple

from rainproof.errors import InputError


def behind_links(path: Path) -> Path:
    """Return the file that a path names through symbolic links; it need not exist. A loop of links
    stays as it is.
    """
    return Path(os.path.realpath(path))


def locked(path: Path) -> BinaryIO:
    """Make the file if there is none, and hold it until it is closed or the process ends, however
    it does.

    The file is left where it is: if it were removed, two processes could hold two files of one
    name.

    Raises
    ------
    InputError
        If another process holds it, or it cannot be made.
    """
    with file_errors(path):
        file = path.open("ab")
    try:
        unix = _unix_locks()
        if unix is None:
            windows = import_module("msvcrt")
            windows.locking(file.fileno(), windows.LK_NBLCK, 1)
        else:
            unix.flock(file, unix.LOCK_EX | unix.LOCK_NB)
    except OSError as error:
        file.close()
        raise InputError(
            f"cannot lock {path}: is another process at work? ({error.strerror})"
        ) from error
    return file


def _unix_locks() -> Any:
    """Return the module of locks that every process respects that asks for them; None on Windows,
    which has others.
    """
    try:
        return import_module("fcntl")
    except ImportError:
        return None


_STANDARD_STREAMS = (Path("/dev/fd/1"), Path("/dev/fd/2"))

_unfinished: dict[Path, Callable[[Path], object]] = {}
"""Temporary files and new folders of this process, and how each is removed."""


def check_output(path: Path, *sources: Path) -> None:
    """Refuse a path that cannot be written, before the result is computed."""
    with file_errors(path):
        if _is_one_of(path, sources):
            raise InputError(f"{path} is the file to read: the result would overwrite it")
        if path.exists() and not path.is_file():
            raise InputError(f"cannot write {path}: it is not a regular file")
        # A file that they are redirected to may hold other output, so it is not replaced.
        if _is_one_of(path, _STANDARD_STREAMS):
            raise InputError(f"cannot write {path}: standard output or error is redirected to it")
        temporary, held = _beside(path)
        held.close()
        _remove(temporary)


def _is_one_of(path: Path, others: Iterable[Path]) -> bool:
    """Whether a path names one of these files, under whatever name."""
    if not path.exists():
        return False
    return any(other.exists() and path.samefile(other) for other in others)


def write_atomic(path: Path, text: str, *, now: bool = False) -> None:
    """Write a text file; readers see all of it or what was there before."""
    with atomic_output(path, now=now) as temporary, file_errors(path):
        temporary.write_text(text, encoding="utf-8", newline="\n")


@contextmanager
def atomic_output(path: Path, *, now: bool = False) -> Iterator[Path]:
    """Yield a temporary file, which replaces `path` on success and is removed on failure.

    It is held until then. What a killed process has left in the folder is held no longer, and
    removed.

    Parameters
    ----------
    path : Path
        The file to write.
    now : bool
        Whether to replace it here, even `together` with others.
    """
    with file_errors(path):
        mode = stat.S_IMODE(path.stat().st_mode) if path.exists() else None
        _sweep(behind_links(path).parent)
        temporary, held = _beside(path)
    with ExitStack() as stack:
        stack.callback(_remove, temporary)
        stack.enter_context(held)
        with file_errors(path):
            # the new file must not be readable by more people than the old one
            if mode is not None:
                temporary.chmod(mode | stat.S_IRUSR | stat.S_IWUSR)
        yield temporary
        with file_errors(path):
            with temporary.open("rb+") as file:
                os.fsync(file.fileno())
            if mode is not None:
                temporary.chmod(mode)
        written = _Written(path, temporary, held)
        waiting = _waiting.get()
        if now or waiting is None:
            _name(written)
        else:
            waiting.files.append(written)
            waiting.removals.enter_context(stack.pop_all())


class _Written(NamedTuple):
    """A file that is written, under a temporary name."""

    path: Path  # the name that it is to get
    temporary: Path
    held: BinaryIO  # what holds the temporary file


class _Waiting(NamedTuple):
    """Files that are written, and wait for their names."""

    files: list[_Written]
    removals: ExitStack  # of those that never get their names


_waiting: ContextVar[_Waiting | None] = ContextVar("waiting", default=None)


@contextmanager
def together() -> Iterator[None]:
    """Keep files that are written inside under temporary names until `replace_now`; the others are
    removed.
    """
    with ExitStack() as stack:
        stack.callback(_waiting.reset, _waiting.set(_Waiting([], stack)))
        yield


def replace_now() -> None:
    """Give the files that were written `together` so far their names."""
    waiting = _waiting.get()
    while waiting is not None and waiting.files:
        _name(waiting.files.pop(0))


def _name(written: _Written) -> None:
    """Give a file its name, in place of a file that has it."""
    with file_errors(written.path):
        if _unix_locks() is None:  # Windows does not rename a file that is open
            written.held.close()
        written.temporary.replace(behind_links(written.path))


beginning = threading.RLock()
"""Held while a file is begun; a process that ends takes it, so that none is begun after
`remove_unfinished`.
"""


def remove_unfinished() -> None:
    """Remove the files that are not finished, the last first: for a process that is told to end."""
    for path in reversed(list(_unfinished)):
        _remove(path)


def make_folder(path: Path) -> None:
    """Make a folder and those above it, which are removed if the process is told to end while they
    are empty.
    """
    with file_errors(path), beginning:
        missing = [folder for folder in (path, *path.parents) if not folder.exists()]
        for folder in reversed(missing):
            _unfinished[folder] = Path.rmdir
            folder.mkdir(exist_ok=True)
        path.mkdir(exist_ok=True)  # fails where there is a file


@contextmanager
def temporary_folder() -> Iterator[Path]:
    """Make a folder that only this user can read, and remove it with all that is in it."""
    import shutil
    import tempfile

    folder = Path(tempfile.gettempdir()) / f"rainproof-{os.urandom(8).hex()}"
    with beginning:
        _unfinished[folder] = shutil.rmtree
        folder.mkdir(mode=0o700)
    try:
        yield folder
    finally:
        _remove(folder)


@contextmanager
def file_errors(path: str | os.PathLike[str], doing: str = "write") -> Iterator[None]:
    """Raise what goes wrong inside as an `InputError` of one line that names the file."""
    try:
        yield
    except (OSError, ValueError) as error:  # a NUL in the name is a ValueError
        is_of_content = isinstance(error, UnicodeError) and doing == "write"
        if isinstance(error, InputError) or is_of_content:  # the file is not the cause
            raise
        cause = getattr(error, "strerror", None) or error
        raise InputError(f"cannot {doing} {os.fspath(path)}: {cause}") from error


def _beside(path: Path) -> tuple[Path, BinaryIO]:
    """Create a file in the same folder, which can replace the other in one step, and hold it."""
    with suppress(FileNotFoundError):
        path.stat()  # fails for a loop of links
    # Windows removes no file that is open, so that it need not be locked there
    unix = _unix_locks()
    while True:
        temporary = behind_links(path).with_name(f".rainproof-{os.urandom(8).hex()}.tmp")
        with beginning:
            _unfinished[temporary] = Path.unlink
            file = temporary.open("xb")
        with suppress(OSError):  # a file system without locks, where `_sweep` removes nothing
            if unix is not None:
                unix.flock(file.fileno(), unix.LOCK_EX)
        if temporary.exists():
            return temporary, file
        file.close()  # `_sweep` of another process had it before it was held
        _unfinished.pop(temporary, None)


_TEMPORARY = re.compile(r"\.rainproof-[0-9a-f]{16}\.tmp")


def _sweep(folder: Path) -> None:
    """Remove the temporary files of a folder that no process holds."""
    unix = _unix_locks()
    with suppress(OSError):
        for path in folder.iterdir():
            if not _TEMPORARY.fullmatch(path.name) or not path.is_file() or path.is_symlink():
                continue
            with suppress(OSError), ExitStack() as stack:  # one that is held, or was removed
                if unix is not None:
                    file = stack.enter_context(path.open("rb"))
                    unix.flock(file, unix.LOCK_EX | unix.LOCK_NB)
                path.unlink()


def _remove(path: Path) -> None:
    with suppress(OSError):  # it has its name by now, or others use the folder
        _unfinished.get(path, Path.unlink)(path)
    _unfinished.pop(path, None)


def check_suffix(path: Path, name: str, *suffixes: str) -> None:
    """Refuse a name that ends like that of another kind of file than is written."""
    if suffixes and path.suffix.lower() not in ("", *suffixes):
        raise InputError(
            f"{name} must name a {suffixes[0]} file, as that is what is written; it is "
            f"{str(path)!r}"
        )
