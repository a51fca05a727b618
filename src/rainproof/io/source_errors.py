"""Errors of sources: packages that are missing, columns that are missing or there twice, messages
of other libraries in one line and without passwords; and what messages call types and packages.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Sequence
from importlib import import_module
from typing import Any
from urllib.parse import unquote

from rainproof.errors import HIDDEN_PARAMETER, InputError, MissingExtraError

_SHOWN_COLUMNS = 10  # of a wide table; a similar name is suggested from all

# A password may hold any character, also an @: the last one ends it.
_IN_AUTHORITY = re.compile(r"(://[^:@]*:).*@", re.DOTALL)
_IN_QUERY = re.compile(rf"({HIDDEN_PARAMETER})[^&#]*", re.IGNORECASE)
_SECRETS = re.compile(rf"://[^:@/]*:(.*)@|{HIDDEN_PARAMETER}([^&#]*)", re.DOTALL | re.IGNORECASE)


def need(module: str, doing: str, package: str, install: str) -> Any:
    """Return an optional module, or raise the error that says how to install its package."""
    try:
        return import_module(module)
    except ImportError:
        raise MissingExtraError(doing, package, install) from None


def need_pyarrow() -> None:
    """Raise the error that says how to install PyArrow, if it is missing."""
    need("pyarrow", "reading data frames and files", "PyArrow", "pyarrow")


def check_columns(source: str, columns: Sequence[str], available: Sequence[Any]) -> None:
    """Refuse a source that does not have each of the columns exactly once.

    Names in `available` that are no text, as in a data frame, name none of them.
    """
    names = [name for name in available if isinstance(name, str)]
    for name in columns:
        count = names.count(name)
        if count > 1:
            raise InputError(f"{source} has {count} columns called {name!r}; it must have one")
        if count == 0:
            raise InputError(
                f"{source} has no column {name!r}{_suggestion(name, names)}; "
                f"it has {_listed(available)}"
            )


def _suggestion(name: str, names: Sequence[str]) -> str:
    by_plain_name = {other.strip().lower(): other for other in names}
    close = difflib.get_close_matches(name.strip().lower(), by_plain_name, n=1)
    return f" (did you mean {by_plain_name[close[0]]!r}?)" if close else ""


def _listed(columns: Sequence[Any]) -> str:
    if not columns:
        return "none"
    shown = ", ".join(map(repr, columns[:_SHOWN_COLUMNS]))
    hidden = len(columns) - _SHOWN_COLUMNS
    return f"{shown} and {hidden:,} more" if hidden > 0 else shown


def package_name(value: object) -> str:
    """Return the package that the type of a value is from, without importing it."""
    return type(value).__module__.partition(".")[0]


def type_name(value: object) -> str:
    """Return what messages call the type of a value: its module and name."""
    return f"{type(value).__module__}.{type(value).__qualname__}"


def hide_password(address: str) -> str:
    """Return an address for a message: without a password before its @, and without secrets in its
    query.
    """
    address = _IN_AUTHORITY.sub(r"\1***@", address)
    return _IN_QUERY.sub(r"\1***", address)


def first_line(error: Exception) -> str:
    """Return the first line of another library's message that is not empty."""
    for line in str(error).splitlines():
        if line.strip():
            return line.strip()
    return type(error).__name__


def without_password(error: Exception, address: str) -> str:
    """Return the first line of another library's message without the password of an address,
    however it is written there.
    """
    message = first_line(error)
    for in_authority, in_query in _SECRETS.findall(address):
        secret = in_authority or in_query
        if secret:
            message = message.replace(secret, "***")
            message = message.replace(unquote(secret), "***")
    return message
