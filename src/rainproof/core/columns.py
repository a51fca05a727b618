"""Columns: what a caller gave, with the names that messages use, and the rules on their values.

The kernels check values in the pass that adds them up, and only say that some rule is broken;
which one, how often and where first is found here.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from rainproof.core._scan import scan
from rainproof.core.arrays import Array
from rainproof.errors import InputError, Place

OUTCOME_RULE = "must be 0 or 1 (pos_label names the event among other labels)"
WEIGHT_RULE = "must be finite and not negative"

ROWS_AT_ONCE = 1 << 16
"""Rows that are checked at a time when a bad one is searched for: memory stays small."""


@dataclass(frozen=True, slots=True, eq=False)
class ColumnNames:
    """What the caller calls the columns, for error messages."""

    label: str = "y_true"
    prob: str = "y_prob"
    weight: str = "sample_weight"
    old: str = "p_old"  # another forecast for the same rows
    first: int = 0  # the number of the first row, where the rows are one batch of several
    source: str = ""  # the name of the source, where there are several

    def at(self, name: str, row: int) -> Place:
        """Return the place of a value."""
        return Place(name, self.first + row, self.source)


USUAL_NAMES = ColumnNames()


# not frozen, which would cost a small sample more time than its rows
@dataclass(slots=True, eq=False)
class Columns:
    """Arrays of one length and of types that the kernels read in place; their values are not
    checked yet.
    """

    outcome: Array
    prob: Array
    weight: Array | None
    names: ColumnNames = USUAL_NAMES
    other: Any = None  # the label besides pos_label, where there is one

    def __len__(self) -> int:
        return len(self.prob)

    def check(self) -> None:
        """Raise the rule that the rows break, if any; one pass over them."""
        if not scan(self.prob, self.outcome, self.weight, 2, None, 0, len(self)):
            raise self.explain()

    def explain(self) -> InputError:
        """Return the error for the rule that the rows break."""
        names = self.names
        error = explain_probabilities(self.prob, names)
        if error is not None:
            return error
        error = offenders(names.label, self.outcome, _is_no_outcome, OUTCOME_RULE, names)
        if error is not None:
            return self._explain_outcomes(error)
        if self.weight is not None:
            error = offenders(names.weight, self.weight, _is_no_weight, WEIGHT_RULE, names)
        return error or InputError("the rows changed while they were read")

    def _explain_outcomes(self, error: InputError) -> InputError:
        """Say what outcomes seem to be that are not 0 or 1: predictions, shares or labels."""
        names = self.names
        outcome = self.outcome
        low = outcome.min()  # of all rows: the first may be unlike the rest
        high = outcome.max()
        are_shares = low >= 0 and high <= 1
        are_two = all_hold(outcome, lambda y: (y == low) | (y == high))
        seem_predictions = are_shares or (low < high and not are_two)
        # 1 in percent is 0.01
        if seem_predictions and all_hold(self.prob, lambda p: (p == 0) | (p == 1) | (p == 0.01)):
            return error.revised(hint=f"; were {names.label} and {names.prob} swapped?")
        if are_shares:
            return error.revised(
                hint="; if these are shares (a draw is half a win), ",
                remedy="make a Sample with fractional=True",
                option=("fractional", ""),
            )
        if are_two and low < high < np.inf and low > -np.inf:
            return error.revised(
                hint=f"; the labels are {low:g} and {high:g}: if {high:g} is the event, ",
                remedy=f"pass pos_label={high:g}",
                option=("pos_label", f"{high:g}"),
            )
        return error


def blocks(values: Array) -> Iterator[tuple[int, Array]]:
    """Go through rows a block at a time, each with the number of its first row."""
    for start in range(0, len(values), ROWS_AT_ONCE):
        yield start, values[start : start + ROWS_AT_ONCE]


def offenders(
    name: str, values: Array, is_bad: Callable[[Array], Any], rule: str, names: ColumnNames
) -> InputError | None:
    """Return the error for the bad values, if there are any."""
    count = 0
    first = -1
    for start, block in blocks(values):
        bad = is_bad(block)
        if bad.any():
            if not count:
                first = start + int(bad.argmax())
            count += int(bad.sum())
    if not count:
        return None
    missing = is_bad is np.isnan
    return InputError.from_offenders(
        f"{name} {rule}",
        count,
        names.at(name, first),
        None if missing else values[first],
        missing=missing,
    )


def all_hold(values: Array, rule: Callable[[Array], Any]) -> bool:
    """Return whether all values keep a rule."""
    return all(rule(block).all() for _, block in blocks(values))


def _is_no_outcome(outcome: Array) -> Any:
    return (outcome != 0) & (outcome != 1)


def _is_no_weight(weight: Array) -> Any:
    return ~((weight >= 0) & (weight < np.inf))


def _is_no_share(share: Array) -> Any:
    return ~((share >= 0) & (share <= 1))


def _is_outside(prob: Array) -> Any:
    return (prob < 0) | (prob > 1)


def explain_shares(shares: Array, names: ColumnNames) -> InputError | None:
    """Return the error for outcomes that are no shares, if there are any."""
    rule = "must be a share of the event, in [0, 1]"
    return offenders(names.label, shares, _is_no_share, rule, names)


def explain_probabilities(prob: Array, names: ColumnNames) -> InputError | None:
    """Return the error for predictions that break a rule, if there are any."""
    missing = offenders(names.prob, prob, np.isnan, "must not contain NaN", names)
    if missing is not None:
        return missing
    error = offenders(names.prob, prob, _is_outside, "must lie in [0, 1]", names)
    if error is None:
        return None
    first_rows = prob[:ROWS_AT_ONCE]
    low = first_rows.min()
    high = first_rows.max()
    # in percent most are above 1, and some far above it
    if low >= 0 and 10 < high <= 100 and np.median(first_rows) > 1:
        return error.revised(
            hint="; if it is in percent, ", remedy="divide by 100", option=("percent", "")
        )
    if low < 0 and high > 1:
        return error.revised(
            hint="; if these are log-odds, apply the logistic function first: 1 / (1 + exp(-x))"
        )
    if low < 0 and high <= 0:
        return error.revised(hint="; if these are logarithms of probabilities, apply exp first")
    return error
