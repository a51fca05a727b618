"""Exceptions and warnings.

::

    RainproofError
      InputError         (also a ValueError)   the data or an argument breaks a stated rule
      MissingExtraError  (also an ImportError) an optional package is not installed

    RainproofWarning        (a UserWarning)       the result is valid, but needs care in reading
      ClassesWarning       every prediction is 0 or 1: a class, not a probability
      ExtrapolationWarning predictions lie outside of those that a map was fitted to
      FewRowsWarning       chance alone explains much of the value in so few rows
      MissingOutcomesWarning  outcomes are missing more often in some periods: these are not judged
      OneClassWarning      every outcome is the same
      ResolutionWarning    the value is finer than the grid of the compressed sample
"""

from __future__ import annotations

import re
from typing import Any, NamedTuple


def one_line(text: str) -> str:
    """Return text of users, such as a name, as it is printed: what would move a terminal's cursor
    is escaped.

    That is whatever Python's own representation of text escapes: control characters, line ends,
    marks of direction. It stands here as messages quote names too; `rainproof.core.text` has it for
    all other text.
    """
    return text if text.isprintable() else "".join(map(_escaped, text))


def _escaped(character: str) -> str:
    return character if character.isprintable() else character.encode("unicode_escape").decode()


class RainproofError(Exception):
    """Base class of all errors that rainproof raises on purpose."""


class Place(NamedTuple):
    """Where a value stands: ``p[17] of a.csv``."""

    column: str
    row: int
    source: str = ""  # the name of the source, where there are several

    def __str__(self) -> str:
        return f"{self.column}[{self.row}]{self.source and f' of {self.source}'}"


class InputError(RainproofError, ValueError):
    """The data or an argument breaks a rule; the message names the rule, the count and the first
    offender.

    The message is `problem`, `hint` and `remedy`, one after the other. A program with options of
    its own, such as the command, says `option` in its own words instead of `remedy`.

    Attributes
    ----------
    problem : str
        What is wrong.
    rule : str or None
        The broken rule, the same for every row that breaks it: ``"y_prob must lie in [0, 1]"``.
    count : int
        The number of values that break it; 0 where they cannot be counted, as for a wrong shape.
    first : str or None
        The first offender: ``"y_prob[17] = 1.2"``.
    place : Place or None
        The column, the row and the source of the first offender, where rows have an order.
    missing : bool
        Whether the values are missing.
    labels : tuple
        Labels that occur besides the one that was asked for.
    hint : str
        What may have happened, with its punctuation.
    remedy : str
        What to do about it in Python.
    parameter : str
        What `problem` begins with, where it is a parameter that a program with options calls
        otherwise.
    option : tuple of str and (str or None), or None
        The parameter that is the way out, and the value to pass: ``("pos_label", "2")``,
        ``("percent", "")`` for a switch, ``("pos_label", None)`` where the value is not known.
    """

    def __init__(
        self,
        problem: str,
        *,
        rule: str | None = None,
        count: int = 0,
        first: str | None = None,
        place: Place | None = None,
        missing: bool = False,
        labels: tuple[Any, ...] = (),
        hint: str = "",
        remedy: str = "",
        option: tuple[str, str | None] | None = None,
        parameter: str = "",
    ) -> None:
        # what is refused may be an address where something else should be
        problem = one_line(hide_passwords(problem))
        hint = one_line(hint)
        remedy = one_line(remedy)
        super().__init__(f"{problem}{hint}{remedy}")
        self.problem = problem
        self.rule = None if rule is None else one_line(rule)
        self.count = count
        self.first = None if first is None else one_line(hide_passwords(first))
        self.place = place
        self.missing = missing
        self.labels = labels
        self.hint = hint
        self.remedy = remedy
        self.option = option
        self.parameter = parameter

    @classmethod
    def from_offenders(
        cls,
        rule: str,
        count: int,
        where: Place | str | None = None,
        value: Any = None,
        **details: Any,
    ) -> InputError:
        """Make the error for `count` values that break `rule`, the first of them `value` at
        `where`.

        Without `where` there is no first one: rows that another engine holds have no order.
        """
        values = "1 value does" if count == 1 else f"{count:,} values do"
        negation = "" if " must not " in rule else " not"
        first = where if where is None or value is None else f"{where} = {value}"
        named = "" if first is None else f", the first is {first}"
        problem = f"{rule}; {values}{negation}{named}"
        details = {"place": where if isinstance(where, Place) else None, **details}
        return cls(
            problem, rule=rule, count=count, first=None if first is None else str(first), **details
        )

    def revised(self, *, count: int | None = None, **details: Any) -> InputError:
        """Return the same error of offenders with another count, or with other details."""
        kept = {
            name: getattr(self, name)
            for name in ("place", "missing", "labels", "hint", "remedy", "option")
        }
        many = self.count if count is None else count
        return self.from_offenders(self.rule or "", many, self.first, **{**kept, **details})


class MissingExtraError(RainproofError, ImportError):
    """An optional package is missing; the message gives the command that installs it.

    It names the package, not an extra of rainproof, so that it is right however rainproof was
    installed.
    """

    def __init__(self, task: str, package: str, install: str) -> None:
        super().__init__(f"{task} needs {package}: pip install {install}")
        self._arguments = (task, package, install)

    def __reduce__(self) -> tuple[type[MissingExtraError], tuple[str, str, str]]:
        return type(self), self._arguments  # ImportError would pass on the message alone


class RainproofWarning(UserWarning):
    """Base class of all warnings that rainproof gives."""

    def __init__(self, message: str = "") -> None:
        super().__init__(one_line(message))


class ClassesWarning(RainproofWarning):
    """Every prediction is 0 or 1: a class, not a probability."""


class ExtrapolationWarning(RainproofWarning):
    """Predictions lie outside of those that a map was fitted to."""


FEW_ROWS = 100
"""Of fewer rows chance alone can explain much of any value, which differs by about n^-1/2."""


class FewRowsWarning(RainproofWarning):
    """Chance alone explains much of the value in so few rows."""


class MissingOutcomesWarning(RainproofWarning):
    """Outcomes are missing more often in some periods than in the others: these are not judged."""


class OneClassWarning(RainproofWarning):
    """Every outcome is the same."""


class ResolutionWarning(RainproofWarning):
    """The value is finer than the grid of the compressed sample."""


HIDDEN_PARAMETER = (
    r"(?:[?&](?:\w*(?:passw|pwd|secret|token|key)\w*|sig|sas)|\b\w*passw(?:or)?d\s*)="
)
"""What stands before a secret in the query of an address, such as ``?account_key=``, or among the
words that PostgreSQL takes in place of an address: ``host=h password=``. A pattern without
capitals.
"""

_SECRET = re.compile(
    rf"""(:/{{0,2}}[^:@/\s'"]*:)[^\s'"]*@|({HIDDEN_PARAMETER}\s*)[^&#;\s'"]*""", re.IGNORECASE
)


def hide_passwords(text: str) -> str:
    """Return a message without the passwords of addresses in it, such as
    postgresql://me:***@host/name.
    """
    return _SECRET.sub(lambda found: f"{found[1]}***@" if found[1] else f"{found[2]}***", text)
