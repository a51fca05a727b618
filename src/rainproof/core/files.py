"""Files that are written completely or not at all, held by one process, and checked as a whole when
read.
"""

from __future__ import annotations

import json
import os
import re
import stat
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from contextvars import ContextVar
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO, NamedTuple, TypeVar

from rainproof.core.text import html_text
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

_unfinished: dict[Path, Callable[[Path], object]] = {}  # how each is removed


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
        waiting = _waiting.get()
        if now or waiting is None:
            _replace(path, temporary, held)
        else:
            waiting.files.append((path, temporary, held))
            waiting.removals.enter_context(stack.pop_all())


class _Waiting(NamedTuple):
    """Files that are written, and wait for their names."""

    files: list[tuple[Path, Path, BinaryIO]]  # the name, the temporary file, and what holds it
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
        _replace(*waiting.files.pop(0))


def _replace(path: Path, temporary: Path, held: BinaryIO) -> None:
    with file_errors(path):
        if _unix_locks() is None:  # Windows does not rename a file that is open
            held.close()
        temporary.replace(behind_links(path))


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


class Saved:
    """What can be saved: a class whose `to_dict` is a `document` that its `from_dict` reads."""

    __slots__ = ()

    if TYPE_CHECKING:

        def to_dict(self) -> dict[str, Any]: ...

    def save(self, path: str | os.PathLike[str], *, overwrite: bool = False) -> None:
        """Write it as JSON, completely or not at all; `rainproof.load` reads it, and refuses it if
        it is damaged.

        Parameters
        ----------
        path : str or path-like
            The file to write.
        overwrite : bool
            Whether it may replace a file that holds anything else. One of the same kind is replaced
            in any case.
        """
        document = self.to_dict()
        kind = document["format"].removeprefix("rainproof ")
        check_replaced(Path(path), kind, overwrite=overwrite)
        write_atomic(Path(path), as_text(document))

    def _repr_html_(self) -> str:
        return html_text(str(self))


_CLASSES = {  # by the kind that a file states; imported when there is such a file
    "policy": "rainproof.decisions.policies.RoundingPolicy",
    "recalibrator": "rainproof.recalibration.recalibrator.Recalibrator",
    "online recalibrator": "rainproof.recalibration.online.OnlineRecalibrator",
}
_TABLES = "rainproof.io.stored_samples"  # which knows Parquet
_PARQUET = b"PAR1"
_FIRST = re.compile(rb'\{\r?\n  "format": "rainproof ([a-z ]+)",\r?\n')
_MARKS = {  # of what is written and never loaded
    "result": re.compile(rb'(?s)\{.{,300}?"rainproof": "\d'),
    "report": re.compile(rb'(?s).*<meta name="generator" content="rainproof '),
    "picture": re.compile(rb"(?s)(\x89PNG|<\?xml|%PDF).*rainproof"),
}
_LONGEST = 4096  # bytes at either end of a file, where that is


def load(path: str | os.PathLike[str]) -> Any:
    """Read what `save` wrote: a sample, segments, a recalibrator, a policy, or the state of an
    online recalibrator.

    The file says what it holds. It comes back to the last bit.

    Explained in docs/guide/data.md.

    Parameters
    ----------
    path : str or path-like
        The file; or a folder of stored samples (`.parquet` files), for a dict of them by their
        names without the suffix, in order: names such as ``2026-03-02.parquet`` keep days in order.

    Returns
    -------
    Sample, Segments, dict of str to Sample, Recalibrator, RoundingPolicy or OnlineRecalibrator

    Raises
    ------
    InputError
        If the file cannot be read, holds anything else, or was changed in any way since it was
        written.

    Examples
    --------
    >>> import rainproof, tempfile
    >>> policy = rainproof.RoundingPolicy(rainproof.DecisionTask.threshold(0.35), 32)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     policy.save(f"{folder}/policy.json")
    ...     rainproof.load(f"{folder}/policy.json") == policy
    True
    """
    place = Path(path)
    if place.is_dir():
        return import_module(_TABLES).load_folder(place)
    first = _first_bytes(place)
    if first.startswith(_PARQUET):
        return import_module(_TABLES).load_table(place)
    kind = _kind(first)
    if kind not in _CLASSES:
        raise InputError(
            f"{place} holds nothing that rainproof.load reads: it is {_described(first)}"
        )
    module, _, name = _CLASSES[kind].rpartition(".")
    stored_class = getattr(import_module(module), name)
    return read_json(place, kind, stored_class.from_dict, saved=True)


def save_table(samples: Any, path: str | os.PathLike[str], grid: int, *, overwrite: bool) -> None:
    """Write a sample or segments, as `load` reads them."""
    import_module(_TABLES).save_table(samples, Path(path), grid, overwrite=overwrite)


def load_kind(path: str | os.PathLike[str], kind: str) -> Any:
    """Read a file that must be of this kind, such as a "policy"."""
    loaded = load(path)
    name = type(loaded).__name__
    if f"{type(loaded).__module__}.{name}" != _CLASSES[kind]:
        raise InputError(f"{os.fspath(path)} holds no {kind}: it holds a {name}")
    return loaded


def check_replaced(
    path: Path, kind: str | None, *, overwrite: bool, how: str = "overwrite=True"
) -> None:
    """Refuse to replace a file that holds anything but what is of the same kind; an empty one holds
    nothing.

    Parameters
    ----------
    path : Path
        The file to write.
    kind : str or None
        What is written: of a class that can be loaded, a "sample", "result", "report" or "picture";
        None if nothing in it says that rainproof wrote it.
    overwrite : bool
        Whether the user wants to replace it in any case.
    how : str
        How to say so.
    """
    if overwrite or not path.is_file():
        return
    first = _first_bytes(path)
    if not first:
        return
    if kind is None:
        raise InputError(f"{path} exists and is not overwritten: {how} replaces it")
    if kind in _MARKS:
        is_of_kind = _MARKS[kind].match(first) is not None
    elif kind == "sample":
        is_of_kind = first.startswith(_PARQUET) and import_module(_TABLES).is_stored(path)
    else:
        is_of_kind = _kind(first) == kind
    if not is_of_kind:
        what = f"it is {_described(first)}, and is not overwritten"
        raise InputError(f"{path} exists and holds no {kind}: {what}; {how} replaces it")


def check_suffix(path: Path, name: str, *suffixes: str) -> None:
    """Refuse a name that ends like that of another kind of file than is written."""
    if suffixes and path.suffix.lower() not in ("", *suffixes):
        raise InputError(
            f"{name} must name a {suffixes[0]} file, as that is what is written; it is "
            f"{str(path)!r}"
        )


def _first_bytes(path: Path) -> bytes:
    """The beginning of a file; of a long one also its end, where a PDF says who wrote it."""
    with file_errors(path, "read"), path.open("rb") as file:
        first = file.read(_LONGEST)
        file.seek(max(_LONGEST, file.seek(0, os.SEEK_END) - _LONGEST))
        return first + file.read()


def _kind(first: bytes) -> str:
    """The kind that a file states that begins so; nothing if it states none."""
    match = _FIRST.match(first)
    return match[1].decode() if match else ""


def _described(first: bytes) -> str:
    """What a file is that begins so."""
    kind = _kind(first)
    if kind == "stream":
        return "the state of 'rainproof stream', which that command reads"
    if kind:
        article = "an" if kind[0] in "aeiou" else "a"
        return f"{article} {kind}"
    if first.startswith(_PARQUET):
        return "a Parquet file"
    if first.lstrip()[:1] in (b"{", b"["):
        return "JSON of another kind, or was changed since it was written"
    if not first:
        return "empty"
    return "binary" if b"\0" in first else "text"


def as_text(document: Mapping[str, Any]) -> str:
    """Write a document as JSON, a line for each entry."""
    lines = []
    for key, value in document.items():
        lines.append(f"  {json.dumps(key)}: {json.dumps(value, allow_nan=False)}")
    return "{\n" + ",\n".join(lines) + "\n}\n"


Read = TypeVar("Read")


def read_json(
    path: str | os.PathLike[str], what: str, read: Callable[[Any], Read], *, saved: bool = False
) -> Read:
    """Read a JSON file; `read` makes what it holds from the data, and its errors name the file.

    A file that was `saved` by `as_text` must be as that would write it.
    """
    path = os.fspath(path)
    with file_errors(path, "read"):
        raw = Path(path).read_bytes()
    try:
        data = json.loads(raw, object_pairs_hook=each_key_once, parse_constant=_no_constant)
    except RecursionError:
        raise InputError(f"{path} is not JSON: it is nested too deeply") from None
    except ValueError as error:  # also what is not UTF-8, and numbers of thousands of digits
        raise InputError(f"{path} is not JSON: {error}") from error
    try:
        content = read(data)
        # "1E-5" for "1e-5" has the same content
        if saved and as_text(data).encode() != raw.replace(b"\r\n", b"\n"):
            raise InputError("it is damaged: it is not as it was written")
        return content
    except InputError as error:
        raise InputError(f"{path} holds no {what}: {error}") from error


def document(kind: str, version: int, content: Mapping[str, Any]) -> dict[str, Any]:
    """Return what is written of an object: its kind, a version, its content, and a digest of all
    that.
    """
    undigested = {"format": f"rainproof {kind}", "version": version, **content}
    return {**undigested, "digest": digest_of(undigested)}


def check_document(
    data: Any, kind: str, *, version: int, keys: Sequence[str], optional: Sequence[str] = ()
) -> dict[str, Any]:
    """Return a document if it has the right kind, version, keys and digest."""
    if not isinstance(data, dict) or data.get("format") != f"rainproof {kind}":
        raise InputError(f"a {kind} must be an object with 'format': 'rainproof {kind}'")
    stated = data.get("version")
    if stated is True or stated != version:
        raise InputError(
            f"a {kind} must have version {version}, the only one that this rainproof reads; it "
            f"has {stated!r}"
        )
    keys = ("format", "version", *keys, "digest")
    names = ", ".join(map(repr, keys))
    for key in keys:
        if key not in data:
            raise InputError(f"a {kind} must have {names}; it lacks {key!r}")
    for key in data:
        if key not in keys and key not in optional:
            raise InputError(f"a {kind} must have only {names}; it has {key!r}")
    undigested = {key: value for key, value in data.items() if key != "digest"}
    try:
        digest = digest_of(undigested)
    except (RecursionError, TypeError, ValueError) as error:
        raise InputError(f"it is not in types of JSON: {error}") from error
    if digest != data["digest"]:
        raise InputError("it is damaged: its digest does not fit its content")
    return data


def digest_of(content: Mapping[str, Any]) -> str:
    """Return a digest of a document that does not depend on the order of its entries."""
    from hashlib import sha256  # here, as it takes long to load

    text = json.dumps(content, sort_keys=True, separators=(",", ":"), allow_nan=False)
    return sha256(text.encode()).hexdigest()


def each_key_once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Return an object of JSON, or refuse a repeated key, which two readers may understand
    differently; for `json.loads`.
    """
    data = dict(pairs)
    if len(data) < len(pairs):
        raise ValueError("a key occurs twice")
    return data


def _no_constant(word: str) -> Any:
    raise ValueError(f"{word} is not a number that JSON allows")
