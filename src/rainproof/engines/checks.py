"""Checks and error messages that all engines share."""

from __future__ import annotations

import difflib
import re

from rainproof.errors import InputError, MissingExtraError

_SHOWN_COLUMNS = 10


def need_pyarrow() -> None:
    """Raise the error that says how to install PyArrow, if it is missing."""
    try:
        import pyarrow  # noqa: F401
    except ImportError:
        raise MissingExtraError("reading data frames and files", "PyArrow", "pyarrow") from None


def check_columns(source: str, columns: list[str], available: list[str]) -> None:
    """Refuse a source that does not have each of the columns exactly once."""
    for name in columns:
        if available.count(name) > 1:
            raise InputError(f"{source} has {available.count(name)} columns called {name!r}; it must have one")
        if name not in available:
            plain = {other.strip().lower(): other for other in available}
            close = difflib.get_close_matches(name.strip().lower(), plain, n=1)
            suggestion = f" (did you mean {plain[close[0]]!r}?)" if close else ""
            listed = ", ".join(map(repr, available[:_SHOWN_COLUMNS]))
            more = f" and {len(available) - _SHOWN_COLUMNS:,} more" if len(available) > _SHOWN_COLUMNS else ""
            raise InputError(f"{source} has no column {name!r}{suggestion}; it has {listed}{more}")


def hide_password(address: str) -> str:
    """Return an address for a message: from the first colon of its authority to the last @, and in its query."""
    address = re.sub(r"(://[^:@]*:).*@", r"\1***@", address, flags=re.DOTALL)
    return re.sub(r"(?i)([?&]\w*(?:passw|secret|token)\w*=)[^&#]*", r"\1***", address)


def first_line(error: Exception) -> str:
    """Return the first non-empty line of another library's message."""
    return next((line.strip() for line in str(error).splitlines() if line.strip()), type(error).__name__)
