"""JSON files of rainproof: what is read is checked as a whole, and every fault is told in one line."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Mapping, Sequence
from hashlib import sha256
from pathlib import Path
from typing import Any, TypeVar

from rainproof.errors import InputError

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
