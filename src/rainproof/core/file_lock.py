"""A file that one process at a time may hold."""

from __future__ import annotations

from importlib import import_module
from pathlib import Path
from typing import BinaryIO

from rainproof.core.atomic_write import write_errors
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
