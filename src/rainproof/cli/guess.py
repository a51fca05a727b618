"""Columns that were not named, guessed from their values and names; an ambiguous guess is refused."""

from __future__ import annotations

import argparse
import re
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pyarrow import csv

from rainproof.cli.options import as_list, cost_columns
from rainproof.cli.output import option_words, shell_line, shell_word
from rainproof.cli.reading import RECALIBRATED
from rainproof.errors import InputError
from rainproof.io.column_types import is_text
from rainproof.io.label_columns import suggest_label
from rainproof.io.source_errors import check_columns

_PROB = re.compile(
    r"(?i)prob|^(p|q|phat|p_hat|score|risk|forecast|pred|prediction|y_pred|y_score)$|^p_"
)
_OUTCOME = re.compile(
    r"(?i)outcome|target|label|event|observ|actual|^(y|y_true|truth|happened|class)$"
)
# text that means a missing value
_NULLS = pa.array(csv.ConvertOptions().null_values, pa.large_string())


def guess_columns(arguments: argparse.Namespace) -> str:
    """Name the column of probabilities and that of outcomes in the arguments, from the first rows
    of the first file.

    Returns what was taken, and the other columns that each could have been.
    """
    prob, outcome, pos_label = arguments.prob, arguments.outcome, arguments.pos_label
    name = arguments.opened.name
    batch = arguments.opened.head
    if batch is None:
        raise InputError(f"{name} has columns but no rows")
    available = batch.schema.names
    check_columns(name, [*as_list(prob), *as_list(outcome)], available)
    costs = cost_columns(arguments)
    columns = {
        name: _values(column)
        for name, column in zip(available, batch.columns, strict=True)
        if name not in costs
    }
    others: dict[str, list[str]] = {"--prob": [], "--outcome": []}
    if outcome is None:
        outcomes = _outcomes(columns, prob, pos_label)
        outcome = _one(name, "--outcome", outcomes, _OUTCOME, _labels_hint(columns, pos_label))
        others["--outcome"] = [one for one in outcomes if one != outcome]
    if prob is None:
        probs = _probabilities(columns, outcome, 100.0 if arguments.percent else 1.0)
        # Not a forecast that stands beside its recalibrated form, as 'rainproof apply' writes it.
        newest = [one for one in probs if f"{one}{RECALIBRATED}" not in probs]
        prob = _one(name, "--prob", newest, _PROB, _scale_hint(columns))
        others["--prob"] = [one for one in probs if one != prob]
    check_columns(name, [*as_list(prob), outcome], available)  # a column may be there twice
    arguments.prob, arguments.outcome = prob, outcome
    could = [
        f"{', '.join(map(repr, names))} could be {option} too"
        for option, names in others.items()
        if names
    ]
    also = f" ({'; '.join(could)})" if could else ""
    named = [*option_words("--prob", as_list(prob)), *option_words("--outcome", [outcome])]
    return f"{shell_line(named)}{also}"


def _values(column: pa.Array) -> Any:
    """Return the values of a column that are not missing: numbers, with 1 and 0 for true and false,
    or text.
    """
    if pa.types.is_dictionary(column.type):
        column = column.dictionary_decode()
    if is_text(column.type):
        column = pc.utf8_trim_whitespace(column.cast(pa.large_string()))
        column = pc.if_else(pc.is_in(column, _NULLS), None, column)
    column = column.drop_null()
    try:
        known = column.cast(pa.float64()).to_numpy(zero_copy_only=False)
    except pa.ArrowException:  # decimal commas, percent signs, words
        values = column.to_pylist()
        numbers = [_number(value) for value in values]
        if None in numbers:
            return values
        known = np.array(numbers, np.float64)
    return known[~np.isnan(known)]


def _number(value: Any) -> float | None:
    """Return a value as a number, also with a decimal comma or a percent sign; None if it is none."""
    word = str(value).lower()
    share = 0.01 if word.endswith("%") else 1.0
    try:
        known = {"true": 1.0, "false": 0.0}.get(word)
        return share * float(word.removesuffix("%").replace(",", ".")) if known is None else known
    except ValueError:
        return None


def _probabilities(columns: dict[str, Any], outcome: str, largest: float) -> list[str]:
    """Columns of numbers from 0 to 1 (or 100) that are not 0 and 1 alone."""

    def fits(values: Any) -> bool:
        if not isinstance(values, np.ndarray) or not len(values):
            return False
        return bool(
            ((values >= 0) & (values <= largest)).all()
            and ((values > 0) & (values < largest)).any()
        )

    return [name for name, values in columns.items() if name != outcome and fits(values)]


def _outcomes(
    columns: dict[str, Any], prob: str | list[str] | None, pos_label: str | None
) -> list[str]:
    """Columns of 0 and 1; with a label of the event, columns of two labels with it."""
    taken = as_list(prob)

    def fits(values: Any) -> bool:
        distinct = set(values.tolist() if isinstance(values, np.ndarray) else values)
        if pos_label is not None:
            return len(distinct) == 2 and not distinct.isdisjoint((pos_label, _number(pos_label)))
        return bool(distinct) and distinct <= {0.0, 1.0}

    return [name for name, values in columns.items() if name not in taken and fits(values)]


def _one(path: str, option: str, candidates: list[str], usual: re.Pattern[str], hint: str) -> str:
    """Return the one candidate, or the one with a usual name."""
    named = [name for name in candidates if usual.search(name)]
    for found in (candidates, named):
        if len(found) == 1:
            return found[0]
    if not candidates:
        raise InputError(f"{option} is missing, and no column of {path} looks like it{hint}")
    listed = ", ".join(map(repr, candidates))
    raise InputError(
        f"{option} is missing, and {path} has {len(candidates)} columns that it could be: {listed}"
    )


def _scale_hint(columns: dict[str, Any]) -> str:
    for name, values in columns.items():
        if isinstance(values, np.ndarray) and len(values) and _PROB.search(name):
            if values.min() < 0 and values.max() > 1:
                return f" (numbers from 0 to 1; if {name!r} holds log-odds, make them 1 / (1 + exp(-x)) first)"
            if values.min() >= 0 and 1 < values.max() <= 100:
                return f" (probabilities lie in [0, 1]; if {name!r} is in percent, add --percent)"
            if set(values.tolist()) <= {0.0, 1.0}:
                return f" (numbers from 0 to 1; {name!r} holds 0 and 1 alone: classes, not probabilities)"
    for name, values in columns.items():
        if _PROB.search(name) and not isinstance(values, np.ndarray):
            return f" (numbers from 0 to 1; for words in {name!r}: --prob {shell_word(name)} --confidence-words FILE)"
    return " (numbers from 0 to 1)"


def _labels_hint(columns: dict[str, Any], pos_label: str | None) -> str:
    found = {name: sorted(set(values)) for name, values in columns.items()}
    found = {
        name: labels
        for name, labels in found.items()
        if len(labels) == 2 and all(isinstance(label, str) or label % 1 == 0 for label in labels)
    }
    if pos_label is not None:
        labels = [label for pair in found.values() for label in pair if isinstance(label, str)]
        return f" (two labels, one of them {pos_label!r}{suggest_label(pos_label, labels)})"
    for name in sorted(found, key=lambda name: not _OUTCOME.search(name)):  # a usual name first
        either = " or ".join(
            f"{label:g}" if isinstance(label, float) else shell_word(label) for label in found[name]
        )
        return f" (0 and 1; for {name!r} name the event: --outcome {shell_word(name)} --pos-label {either})"
    for name, values in columns.items():
        if (
            isinstance(values, np.ndarray)
            and _OUTCOME.search(name)
            and ((values >= 0) & (values <= 1)).all()
        ):
            return f" (0 and 1; for shares of the event: --outcome {shell_word(name)} --fractional)"
    return " (0 and 1, or true and false)"
