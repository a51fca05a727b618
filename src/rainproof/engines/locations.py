"""Where files are: on this machine, or in an object store that PyArrow reads."""

from __future__ import annotations

import fnmatch
import glob
import os
import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rainproof.engines.checks import first_line, hide_password
from rainproof.errors import InputError, RainproofError

_MAGIC = re.compile(r"[*?]|\[.+\]")
_STORES = {
    "s3": "the environment (AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY, AWS_REGION), ~/.aws or the machine's role; "
    "a public bucket is s3://anonymous@bucket/...",
    "gs": "GOOGLE_APPLICATION_CREDENTIALS or 'gcloud auth application-default login'; "
    "a public bucket is gs://anonymous@bucket/...",
    "abfs": "AZURE_CLIENT_ID and its relatives, 'az login' or the machine's identity; "
    "an address is abfs://container@account.dfs.core.windows.net/...",
}
"""Object stores by the scheme of their addresses, and where PyArrow finds the credentials of each."""

_ALIASES = {"gcs": "gs", "abfss": "abfs"}


@dataclass(frozen=True, slots=True)
class Location:
    """One file: its path, or the address of an object.

    Parameters
    ----------
    path : str
        The path or address.
    sep : str, optional
        What separates the columns of a text file. Default: recognised.
    """

    path: str
    sep: str | None = None

    @property
    def name(self) -> str:
        """What messages call it: without a password."""
        return hide_password(self.path)

    @property
    def is_stored(self) -> bool:
        """Whether the file is in an object store."""
        return _scheme(self.path) is not None

    def open(self) -> Any:
        """Open the file for Arrow, at any position; Arrow takes names that are not UTF-8 only as bytes."""
        import pyarrow as pa

        if not self.is_stored:
            return pa.OSFile(os.fsencode(self.path))
        system, path = _file_system(self.path)
        return system.open_input_file(path)

    def stream(self) -> Any:
        """Open the file from its start, and decompress it where its name says so."""
        import pyarrow as pa

        name = self.path.partition("?")[0] if self.is_stored else self.path
        return pa.input_stream(self.open(), compression="gzip" if name.lower().endswith(".gz") else None)

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
        except (OSError, UnicodeDecodeError, pa.ArrowException) as error:
            raise _error(self.path, error) from (error if hide_password(self.path) == self.path else None)


def expand(patterns: Sequence[str]) -> list[str]:
    """Return the files that names and patterns match."""
    return [path for pattern in patterns for path in _matches(pattern)]


def _matches(pattern: str) -> list[str]:
    """Return the files that a pattern matches, in order; the name of an existing file is not a pattern."""
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
        system, base = _file_system(folder + mark + query)
        found = system.get_file_info(fs.FileSelector(base, recursive=True))
    except (OSError, pa.ArrowException) as error:
        raise _error(pattern, error) from None
    names = [folder + one.path[len(base) :] for one in found if one.type == fs.FileType.File]
    return sorted(name + mark + query for name in names if fnmatch.fnmatchcase(name, address))


def _file_system(address: str) -> tuple[Any, str]:
    from pyarrow import fs

    found: tuple[Any, str] = fs.FileSystem.from_uri(address)
    return found


def _scheme(path: str) -> str | None:
    """Return the object store that an address is of, or None for a path."""
    scheme, mark, _ = path.partition("://")
    scheme = _ALIASES.get(scheme.lower(), scheme.lower())
    return scheme if mark and scheme in _STORES else None


def _error(path: str, error: Exception) -> InputError:
    """Return the error of a file that cannot be read; for an object store it says where credentials come from."""
    store = _scheme(path)
    reason = getattr(error, "strerror", None) or (str(error) if store is None else first_line(error))
    hint = "" if store is None else f" (credentials are taken from {_STORES[store]})"
    return InputError(f"cannot read {hide_password(path)}: {' '.join(reason.split())}{hint}")
