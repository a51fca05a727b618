"""What can go wrong, in one tree.

::

    BrollyError
      InputError         (also a ValueError)   the data or an option break a stated rule
      MissingExtraError  (also an ImportError) an optional package is not installed

    BrollyWarning        (a UserWarning)       the answer stands, but read it with care
      FewRowsWarning       so few rows that chance alone explains much of the value
      OneClassWarning      every outcome is the same
      ResolutionWarning    the value is finer than the grid the data was compressed to
"""

from __future__ import annotations

from typing import Any


class BrollyError(Exception):
    """Base class of every error that brolly raises on purpose."""


class InputError(BrollyError, ValueError):
    """The data or an option break a rule; the message names which, how often and where first.

    Attributes
    ----------
    rule : str or None
        What was broken, the same for every row that breaks it: ``"y_prob must lie in [0, 1]"``.
    count : int
        How many values break it (0 where counting makes no sense, as for a wrong shape).
    first : str or None
        The first of them: ``"y_prob[17] = 1.2"``.
    """

    def __init__(self, message: str, *, rule: str | None = None, count: int = 0, first: str | None = None) -> None:
        super().__init__(message)
        self.rule = rule
        self.count = count
        self.first = first

    @classmethod
    def from_offenders(cls, rule: str, count: int, where: str, value: Any = None, hint: str = "") -> InputError:
        """Say that `count` values break `rule`, the first at `where` (and what it is)."""
        values = "1 value does" if count == 1 else f"{count:,} values do"
        refusal = "" if " must not " in rule else " not"
        first = where if value is None else f"{where} = {value}"
        return cls(f"{rule}; {values}{refusal}, the first is {first}{hint}", rule=rule, count=count, first=first)


class MissingExtraError(BrollyError, ImportError):
    """An optional package is needed; the message gives the command that installs it."""

    def __init__(self, task: str, package: str, extra: str) -> None:
        super().__init__(f"{task} needs {package}: pip install 'brolly[{extra}]'")
        self._asked = (task, package, extra)

    def __reduce__(self) -> tuple[type[MissingExtraError], tuple[str, str, str]]:
        return type(self), self._asked  # not the message, which is made of them


class BrollyWarning(UserWarning):
    """Base class of every warning that brolly gives."""


class FewRowsWarning(BrollyWarning):
    """So few rows that chance alone explains much of the value."""


class OneClassWarning(BrollyWarning):
    """Every outcome is the same."""


class ResolutionWarning(BrollyWarning):
    """The value is finer than the grid that the sample was compressed to."""
