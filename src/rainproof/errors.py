"""Exceptions and warnings.

::

    RainproofError
      InputError         (also a ValueError)   the data or an argument breaks a stated rule
      MissingExtraError  (also an ImportError) an optional package is not installed

    RainproofWarning        (a UserWarning)       the result is valid, but needs care in reading
      ClassesWarning       every prediction is 0 or 1: a class, not a probability
      FewRowsWarning       chance alone explains much of the value in so few rows
      OneClassWarning      every outcome is the same
      ResolutionWarning    the value is finer than the grid of the compressed sample
"""

from __future__ import annotations

from typing import Any


class RainproofError(Exception):
    """Base class of all errors that rainproof raises on purpose."""


class InputError(RainproofError, ValueError):
    """The data or an argument breaks a rule; the message names the rule, the count and the first offender.

    Attributes
    ----------
    rule : str or None
        The broken rule, the same for every row that breaks it: ``"y_prob must lie in [0, 1]"``.
    count : int
        The number of values that break it; 0 where they cannot be counted, as for a wrong shape.
    first : str or None
        The first offender: ``"y_prob[17] = 1.2"``.
    hint : str
        What the message says after the first offender, with its punctuation.
    """

    def __init__(
        self, message: str, *, rule: str | None = None, count: int = 0, first: str | None = None, hint: str = ""
    ) -> None:
        super().__init__(message)
        self.rule = rule
        self.count = count
        self.first = first
        self.hint = hint

    @classmethod
    def from_offenders(
        cls, rule: str, count: int, where: str | None = None, value: Any = None, hint: str = ""
    ) -> InputError:
        """Make the error for `count` values that break `rule`, the first of them `value` at `where`.

        Without `where` there is no first one: rows that another engine holds have no order.
        """
        values = "1 value does" if count == 1 else f"{count:,} values do"
        negation = "" if " must not " in rule else " not"
        first = where if value is None else f"{where} = {value}"
        named = "" if first is None else f", the first is {first}"
        return cls(f"{rule}; {values}{negation}{named}{hint}", rule=rule, count=count, first=first, hint=hint)


class MissingExtraError(RainproofError, ImportError):
    """An optional package is missing; the message gives the command that installs it.

    It names the package, not an extra of rainproof, so that it is right however rainproof was installed.
    """

    def __init__(self, task: str, package: str, install: str) -> None:
        super().__init__(f"{task} needs {package}: pip install {install}")
        self._arguments = (task, package, install)

    def __reduce__(self) -> tuple[type[MissingExtraError], tuple[str, str, str]]:
        return type(self), self._arguments  # ImportError would pass on the message alone


class RainproofWarning(UserWarning):
    """Base class of all warnings that rainproof gives."""


class ClassesWarning(RainproofWarning):
    """Every prediction is 0 or 1: a class, not a probability."""


class FewRowsWarning(RainproofWarning):
    """Chance alone explains much of the value in so few rows."""


class OneClassWarning(RainproofWarning):
    """Every outcome is the same."""


class ResolutionWarning(RainproofWarning):
    """The value is finer than the grid of the compressed sample."""
