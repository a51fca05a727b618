"""What it means to open a file: how its text is cut into values, and what every format then offers.

How the values are read is in `rainproof.io.column_spec`; which formats there are, in
`rainproof.io.formats`.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import TYPE_CHECKING

from rainproof.io.locations import Batches

if TYPE_CHECKING:
    import pyarrow as pa

ROWS_PER_BATCH = 1 << 16
"""Rows of Python values in a batch: tens of megabytes at a time, and few batches."""

HEAD_ROWS = 1 << 16
"""The most rows of a head: enough to guess columns by, and few to keep."""


@dataclass(frozen=True, kw_only=True, slots=True)
class ReadOptions:
    """How the text of files is cut into rows and values.

    The command line fills each field from the option of its name.

    Attributes
    ----------
    sep : str or None
        What separates the columns of a text file; None if it is recognised from the first line.
    keep_missing : bool
        Whether an empty line of a text file of one column is a row, whose value is missing.
    """

    sep: str | None = None
    keep_missing: bool = False


class OpenFile(ABC):
    """A file that is open: its head, and then its rows, of the same bytes.

    Attributes
    ----------
    rows : int
        The number of rows that the file states; 0 if it states none.
    """

    rows: int = 0

    @abstractmethod
    def head(self) -> pa.RecordBatch | None:
        """Return the first rows with all columns, before `batches` is called; None if there are no
        rows.
        """

    @abstractmethod
    def batches(self, columns: list[str], others: bool) -> Batches:
        """Yield all rows, once: these columns, or with `others` all columns."""

    @abstractmethod
    def close(self) -> None:
        """Close the file."""
