"""A file with columns added: read, answered and written a batch at a time, there whole or not at all."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from numpy.typing import NDArray

from brolly.core.atomic_write import atomic_output, write_errors
from brolly.engines.files import feed, need_pyarrow, separator_of
from brolly.errors import InputError


def append_columns(
    path: str | os.PathLike[str],
    output: str | os.PathLike[str],
    *,
    prob: str,
    ids: str | None,
    answers: Mapping[str, Callable[[NDArray[Any], NDArray[Any] | None], NDArray[Any]]],
    progress: Callable[[int], object] | None = None,
) -> int:
    """Copy a file of predictions with columns added that are computed from them; the number of rows.

    Memory does not grow with the file. The output appears under its name when it is complete, and never
    if anything goes wrong: whoever looks sees all of it, or what was there before.

    Parameters
    ----------
    path : str or path-like
        A CSV or Parquet file (see `scan`).
    output : str or path-like
        The file to write, of the kind that its name says. The columns of a text file are kept as the text
        that they are, and are text in Parquet too.
    prob : str
        The column of predicted probabilities.
    ids : str or None
        The column that says what each row is called: integers or text.
    answers : mapping of str to callable
        For each new column what computes it, from the arrays of probabilities and of ids (or None).
    progress : callable, optional
        Called with the number of rows read so far, after each batch.

    Raises
    ------
    InputError
        As for `scan`; also where the file has a column of a new one's name, and where the output cannot
        be written.
    MissingExtraError
        Where PyArrow is not installed.
    """
    need_pyarrow()
    from brolly.engines.tables import ColumnAppender, open_table

    if prob == ids:
        raise InputError(f"prob and ids must be different columns; both are {prob}")
    path, target = os.fspath(path), Path(output)
    separator_of(str(target))  # before a file is made
    with atomic_output(target) as temporary:
        with write_errors(target):
            table = open_table(temporary, target)
        try:
            rewriting = ColumnAppender(path, target, prob=prob, ids=ids, answers=answers, table=table)
            feed(path, [prob] if ids is None else [prob, ids], rewriting, progress, others=True)
            rewriting.finish()
            with write_errors(target):
                table.close()
        except BaseException:
            with suppress(OSError):  # what went wrong first is what is said
                table.close()
            raise
    return rewriting.rows
