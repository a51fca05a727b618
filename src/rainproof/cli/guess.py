"""Columns that were not named, guessed from their values and names; an ambiguous guess is
refused.
"""

from __future__ import annotations

import argparse
import re
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pyarrow import csv

from rainproof.cli.options import as_list, cost_columns
from rainproof.cli.output import option_words, shell_line, shell_word
from rainproof.cli.reading import RECALIBRATED
from rainproof.errors import InputError
from rainproof.io.arrow_arrays import decoded
from rainproof.io.column_types import is_text
from rainproof.io.label_columns import suggest_label
from rainproof.io.source_errors import check_columns
from rainproof.io.text_numbers import TRUE_AND_FALSE

# Names that forecasts and outcomes usually have; they decide only between columns that fit.
_PROB = re.compile(
    r"(?i)prob|^(p|q|phat|p_hat|score|risk|forecast|pred|prediction|y_pred|y_score)$|^p_"
)
_OUTCOME = re.compile(
    r"(?i)outcome|target|label|event|observ|actual|^(y|y_true|truth|happened|class)$"
)
# Text that means a missing value.
_NULLS = pa.array(csv.ConvertOptions().null_values, pa.large_string())

Columns = dict[str, Any]
"""The values of each column that are not missing: an array of numbers, or a list of texts."""


def guess_columns(arguments: argparse.Namespace) -> str:
    """Name the column of probabilities and that of outcomes in the arguments, from the first rows
    of the first file.

    Returns what was taken, and the other columns that each could have been.
    """
    prob = arguments.prob
    outcome = arguments.outcome
    source = arguments.opened.name
    head = arguments.opened.head
    if head is None:
        raise InputError(f"{source} has columns but no rows")
    names = head.schema.names
    check_columns(source, [*as_list(prob), *as_list(outcome)], names)
    columns = _columns_of(head, without=cost_columns(arguments))
    # The outcome first, as the forecast must be another column.
    could_be: dict[str, list[str]] = {}
    if outcome is None:
        candidates = _outcomes(columns, prob, arguments.pos_label)
        hint = partial(_labels_hint, columns, arguments.pos_label)
        outcome = _choice(source, "--outcome", candidates, _OUTCOME, hint)
        could_be["--outcome"] = [name for name in candidates if name != outcome]
    if prob is None:
        candidates = _probabilities(columns, outcome, 100.0 if arguments.percent else 1.0)
        # Not a forecast that stands beside its recalibrated form, as 'rainproof apply' writes it.
        newest = [name for name in candidates if f"{name}{RECALIBRATED}" not in candidates]
        prob = _choice(source, "--prob", newest, _PROB, partial(_scale_hint, columns))
        could_be["--prob"] = [name for name in candidates if name != prob]
    check_columns(source, [*as_list(prob), outcome], names)  # a column may be there twice
    arguments.prob = prob
    arguments.outcome = outcome
    taken = [*option_words("--prob", as_list(prob)), *option_words("--outcome", [outcome])]
    doubts = []
    for option in ("--prob", "--outcome"):
        others = could_be.get(option)
        if others:
            doubts.append(f"{', '.join(map(repr, others))} could be {option} too")
    return f"{shell_line(taken)} ({'; '.join(doubts)})" if doubts else shell_line(taken)


def _columns_of(head: pa.RecordBatch, without: list[str]) -> Columns:
    """Return the values of the columns that may be guessed."""
    columns = {}
    for name, column in zip(head.schema.names, head.columns, strict=True):
        if name not in without:
            columns[name] = _values(column)
    return columns


def _values(column: pa.Array) -> Any:
    """Return the values of a column that are not missing: numbers, with 1 and 0 for true and false,
    or text.
    """
    column = decoded(column)
    if is_text(column.type):
        column = pc.utf8_trim_whitespace(column.cast(pa.large_string()))
        column = pc.if_else(pc.is_in(column, _NULLS), None, column)
    column = column.drop_null()
    try:
        numbers = column.cast(pa.float64()).to_numpy(zero_copy_only=False)
    except pa.ArrowException:  # decimal commas, percent signs, words
        texts = column.to_pylist()
        read = [_number(text) for text in texts]
        if None in read:
            return texts
        numbers = np.array(read, np.float64)
    return numbers[~np.isnan(numbers)]


def _number(value: Any) -> float | None:
    """Return a value as a number, also with a decimal comma or a percent sign; None if it is
    none.
    """
    word = str(value).lower()
    if word in TRUE_AND_FALSE:
        return float(TRUE_AND_FALSE[word])
    unit = 0.01 if word.endswith("%") else 1.0
    try:
        return unit * float(word.removesuffix("%").replace(",", "."))
    except ValueError:
        return None


def _distinct(values: Any) -> set[Any]:
    """Return the distinct values as Python has them, which compares them faster than NumPy."""
    return set(values.tolist() if isinstance(values, np.ndarray) else values)


def _holds_numbers(values: Any) -> bool:
    return isinstance(values, np.ndarray) and len(values) > 0


def _probabilities(columns: Columns, outcome: str, largest: float) -> list[str]:
    """Return the columns of numbers from 0 to 1 (or 100) that are not 0 and 1 alone."""
    names = []
    for name, values in columns.items():
        if name == outcome or not _holds_numbers(values):
            continue
        are_shares = values.min() >= 0 and values.max() <= largest
        is_inside = (values > 0) & (values < largest)
        if are_shares and is_inside.any():
            names.append(name)
    return names


def _outcomes(columns: Columns, prob: Any, pos_label: str | None) -> list[str]:
    """Return the columns of 0 and 1; with a label of the event, of two labels with it."""
    taken = as_list(prob)
    names = []
    for name, values in columns.items():
        labels = _distinct(values)
        if pos_label is None:
            is_outcome = bool(labels) and labels <= {0.0, 1.0}
        else:
            is_outcome = len(labels) == 2 and bool(labels & {pos_label, _number(pos_label)})
        if is_outcome and name not in taken:
            names.append(name)
    return names


def _choice(
    source: str,
    option: str,
    candidates: list[str],
    usual: re.Pattern[str],
    hint: Callable[[], str],
) -> str:
    """Return the one candidate, or the one with a usual name; without any, `hint` says why."""
    named = [name for name in candidates if usual.search(name)]
    for names in (candidates, named):
        if len(names) == 1:
            return names[0]
    if not candidates:
        raise InputError(f"{option} is missing, and no column of {source} looks like it{hint()}")
    listed = ", ".join(map(repr, candidates))
    columns = f"{source} has {len(candidates)} columns that it could be: {listed}"
    raise InputError(f"{option} is missing, and {columns}")


def _scale_hint(columns: Columns) -> str:
    """Say what may be wrong with a column whose name is that of a forecast."""
    named = {name: values for name, values in columns.items() if _PROB.search(name)}
    for name, values in named.items():
        if not _holds_numbers(values):
            continue
        low = values.min()
        high = values.max()
        if low < 0 and high > 1:
            return (
                f" (numbers from 0 to 1; if {name!r} holds log-odds, make them 1 / (1 + exp(-x)) "
                "first)"
            )
        if low >= 0 and 1 < high <= 100:
            return f" (probabilities lie in [0, 1]; if {name!r} is in percent, add --percent)"
        if _distinct(values) <= {0.0, 1.0}:
            return (
                f" (numbers from 0 to 1; {name!r} holds 0 and 1 alone: classes, not probabilities)"
            )
    for name, values in named.items():
        if not isinstance(values, np.ndarray):
            remedy = f"--prob {shell_word(name)} --confidence-words FILE"
            return f" (numbers from 0 to 1; for words in {name!r}: {remedy})"
    return " (numbers from 0 to 1)"


def _labels_hint(columns: Columns, pos_label: str | None) -> str:
    """Name a column of two labels, or of shares, that may be the outcome."""
    labels_of = {}
    for name, values in columns.items():
        labels = sorted(_distinct(values))
        if len(labels) == 2 and all(isinstance(label, str) or label % 1 == 0 for label in labels):
            labels_of[name] = labels
    if pos_label is not None:
        texts = [label for pair in labels_of.values() for label in pair if isinstance(label, str)]
        return f" (two labels, one of them {pos_label!r}{suggest_label(pos_label, texts)})"
    usual_first = sorted(labels_of, key=lambda name: not _OUTCOME.search(name))
    for name in usual_first:
        words = []
        for label in labels_of[name]:
            words.append(shell_word(label) if isinstance(label, str) else f"{label:g}")
        remedy = f"--outcome {shell_word(name)} --pos-label {' or '.join(words)}"
        return f" (0 and 1; for {name!r} name the event: {remedy})"
    for name, values in columns.items():
        # Of no values, too: all of them are missing.
        is_usual = isinstance(values, np.ndarray) and _OUTCOME.search(name)
        if is_usual and ((values >= 0) & (values <= 1)).all():
            return f" (0 and 1; for shares of the event: --outcome {shell_word(name)} --fractional)"
    return " (0 and 1, or true and false)"
