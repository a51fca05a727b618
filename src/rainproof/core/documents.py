"""Documents: what rainproof keeps in files, and how it is known again.

Objects are JSON with a kind, a version and a digest, and are checked as a whole when read; samples
are Parquet (`rainproof.io.stored_samples`). How files are written is in `rainproof.core.files`.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Callable, Mapping, Sequence
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from rainproof.core.files import file_errors, write_atomic
from rainproof.core.text import html_text
from rainproof.errors import InputError


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


# the classes by the kind that a file states; imported when there is such a file
_CLASSES = {
    "policy": "rainproof.decisions.policies.RoundingPolicy",
    "recalibrator": "rainproof.recalibration.recalibrator.Recalibrator",
    "online recalibrator": "rainproof.recalibration.online.OnlineRecalibrator",
}
_STORED_SAMPLES = "rainproof.io.stored_samples"  # the module, which knows Parquet
_PARQUET = b"PAR1"  # the first bytes of such a file
_STATED_KIND = re.compile(rb'\{\r?\n  "format": "rainproof ([a-z ]+)",\r?\n')
# what is written and never loaded, and how it begins
_OUTPUTS = {
    "result": re.compile(rb'(?s)\{.{,300}?"rainproof": "\d'),
    "report": re.compile(rb'(?s).*<meta name="generator" content="rainproof '),
    "picture": re.compile(rb"(?s)(\x89PNG|<\?xml|%PDF).*rainproof"),
}
_BYTES_AT_END = 4096  # bytes at either end of a file, where its kind is stated


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
        return import_module(_STORED_SAMPLES).load_folder(place)
    first = _first_bytes(place)
    if first.startswith(_PARQUET):
        return import_module(_STORED_SAMPLES).load_table(place)
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
    import_module(_STORED_SAMPLES).save_table(samples, Path(path), grid, overwrite=overwrite)


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
    if kind in _OUTPUTS:
        is_of_kind = _OUTPUTS[kind].match(first) is not None
    elif kind == "sample":
        is_of_kind = first.startswith(_PARQUET) and import_module(_STORED_SAMPLES).is_stored(path)
    else:
        is_of_kind = _kind(first) == kind
    if not is_of_kind:
        what = f"it is {_described(first)}, and is not overwritten"
        raise InputError(f"{path} exists and holds no {kind}: {what}; {how} replaces it")


def _first_bytes(path: Path) -> bytes:
    """The beginning of a file; of a long one also its end, where a PDF says who wrote it."""
    with file_errors(path, "read"), path.open("rb") as file:
        first = file.read(_BYTES_AT_END)
        file.seek(max(_BYTES_AT_END, file.seek(0, os.SEEK_END) - _BYTES_AT_END))
        return first + file.read()


def _kind(first: bytes) -> str:
    """The kind that a file states that begins so; nothing if it states none."""
    match = _STATED_KIND.match(first)
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
