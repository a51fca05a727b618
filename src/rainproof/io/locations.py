"""Where files are: on this machine or in an object store, by name or by pattern."""

from __future__ import annotations

import errno
import fnmatch
import glob
import os
import re
import stat
from collections.abc import Generator, Hashable, Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Any, NamedTuple

from rainproof.errors import InputError, RainproofError
from rainproof.io.source_errors import hide_password, without_password

if TYPE_CHECKING:
    import pyarrow as pa

_WILDCARD = re.compile(r"[*?]|\[.+\]")
_CREDENTIALS = {
    "s3": "the environment (AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY, AWS_REGION), ~/.aws or the "
    "machine's role; a public bucket is s3://anonymous@bucket/...",
    "gs": "GOOGLE_APPLICATION_CREDENTIALS or 'gcloud auth application-default login'; "
    "a public bucket is gs://anonymous@bucket/...",
    "abfs": "AZURE_CLIENT_ID and its relatives, 'az login' or the machine's identity; "
    "an address is abfs://container@account.dfs.core.windows.net/...",
}
"""Object stores by the scheme of their addresses, and where PyArrow finds the credentials of each.
"""

# Schemes by which other tools call the same stores.
_SYNONYMS = {"gcs": "gs", "abfss": "abfs"}


Batches = Generator["pa.RecordBatch", None, None]
"""The rows of a file."""


class Location(NamedTuple):
    """One file: its path, or the address of an object."""

    path: str

    @property
    def name(self) -> str:
        """What messages call it: without a password."""
        return hide_password(self.path)

    @property
    def is_stored(self) -> bool:
        """Whether the file is in an object store."""
        return _object_store(self.path) is not None

    @property
    def lower_name(self) -> str:
        """The name in small letters, without the query of an address: its end states the format."""
        name = self.path.partition("?")[0] if self.is_stored else self.path
        return name.lower()

    def open(self) -> Any:
        """Open the file for Arrow, at any position; refuse an empty one, for which the readers of
        each format have other words.
        """
        import pyarrow as pa

        if self.is_stored:
            from pyarrow import fs

            system, path = fs.FileSystem.from_uri(self.path)
            source = system.open_input_file(path)
            is_empty = source.size() == 0
        else:
            # Arrow has other words for a folder, and for a file that is not there.
            status = os.stat(self.path)  # noqa: PTH116 - not to change the name
            if stat.S_ISDIR(status.st_mode):
                raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR))
            if stat.S_ISFIFO(status.st_mode):
                # Wait until something is written, as who waits can stop; Arrow then refuses a pipe.
                # (A file with an error is read again to find its line, which a pipe cannot be.)
                with open(self.path, "rb") as pipe:  # noqa: PTH123 - not to change the name
                    pipe.read(1)
            # As bytes: Arrow takes no text that is not UTF-8, which names of files may be.
            source = pa.OSFile(os.fsencode(self.path))
            # A named pipe has no size.
            is_empty = stat.S_ISREG(status.st_mode) and status.st_size == 0
        if is_empty:
            raise InputError(f"{self.name} is empty")
        return source

    def stream(self) -> Any:
        """Open the file from its start, and decompress it where its name says so."""
        import pyarrow as pa

        is_compressed = self.lower_name.endswith(".gz")
        return pa.input_stream(self.open(), compression="gzip" if is_compressed else None)

    @contextmanager
    def errors(self) -> Iterator[None]:
        """Raise what goes wrong inside as an `InputError` of one line that names the file."""
        import pyarrow as pa

        try:
            yield
        except RainproofError:
            raise
        except (OSError, ValueError, pa.ArrowException) as error:  # ValueError: a NUL in the name
            has_password = hide_password(self.path) != self.path
            raise _unreadable(self.path, error) from (None if has_password else error)


def expand(patterns: Sequence[str]) -> list[str]:
    """Return the files that names and patterns match; refuse one that they match twice, under any
    of its names.
    """
    paths: list[str] = []
    for pattern in patterns:
        paths += _matches(pattern)
    if len(paths) == 1:
        return paths  # one file cannot be there twice
    path_by_identity: dict[Hashable, str] = {}
    for path in paths:
        identity = _identity(path)
        if identity in path_by_identity:
            both = f"{hide_password(path_by_identity[identity])} and {hide_password(path)}"
            raise InputError(f"{both} are the same file: its rows would count twice; name it once")
        path_by_identity[identity] = path
    return paths


def _identity(path: str) -> Hashable:
    """Return what all names of one file share, also links.

    It is the device and the file's number there.
    """
    if _object_store(path) is None:
        with suppress(OSError, ValueError):  # reading the file says what is wrong with its name
            status = os.stat(path)  # noqa: PTH116 - not to change the name
            return status.st_dev, status.st_ino
    return path


def _matches(pattern: str) -> list[str]:
    """Return the files that a pattern matches, in order; the name of an existing file is not a
    pattern.
    """
    is_stored = _object_store(pattern) is not None
    name = pattern.partition("?")[0] if is_stored else pattern
    if not _WILDCARD.search(name):
        return [pattern]
    if is_stored:
        paths = _matching_objects(pattern)
    elif os.path.exists(pattern):  # noqa: PTH110 - not to change the name
        return [pattern]
    else:
        # The pattern may be absolute, so pathlib does not take it.
        paths = sorted(glob.glob(pattern, recursive=True))  # noqa: PTH207
    if not paths:
        raise InputError(f"no file matches {hide_password(pattern)!r}")
    return paths


def _matching_objects(pattern: str) -> list[str]:
    """Return the addresses of the objects that a pattern matches."""
    import pyarrow as pa
    from pyarrow import fs

    address, mark, query = pattern.partition("?")
    before_wildcard = _WILDCARD.split(address, maxsplit=1)[0]
    folder = before_wildcard.rpartition("/")[0]
    try:
        system, base = fs.FileSystem.from_uri(folder + mark + query)
        entries = system.get_file_info(fs.FileSelector(base, recursive=True))
    except (OSError, pa.ArrowException) as error:
        raise _unreadable(pattern, error) from None
    addresses = []
    for entry in entries:
        name = folder + entry.path[len(base) :]
        if entry.type == fs.FileType.File and fnmatch.fnmatchcase(name, address):
            addresses.append(name + mark + query)
    return sorted(addresses)


def _object_store(path: str) -> str | None:
    """Return the scheme of the object store that an address is of, or None for a path."""
    written, mark, _ = path.partition("://")
    scheme = _SYNONYMS.get(written.lower(), written.lower())
    return scheme if mark and scheme in _CREDENTIALS else None


def _unreadable(path: str, error: Exception) -> InputError:
    """Return the error of a file that cannot be read; for an object store it says where credentials
    come from.
    """
    store = _object_store(path)
    hint = ""
    reason = getattr(error, "strerror", None) or str(error)
    if store is not None:
        hint = f" (credentials are taken from {_CREDENTIALS[store]})"
        reason = getattr(error, "strerror", None) or without_password(error, path)
    elif isinstance(error, OSError) and error.errno is not None:
        reason = os.strerror(error.errno)  # Arrow's own text repeats the name
    return InputError(f"cannot read {hide_password(path)}: {' '.join(reason.split())}{hint}")
