"""Numbers that are written as text: decimal commas, percent signs, words for numbers and for none.

What Arrow itself reads as a number is left to Arrow.
"""

from __future__ import annotations

import math
import re
import reprlib
from collections.abc import Iterable, Mapping, Sequence
from decimal import Decimal
from typing import Any

import numpy as np
import pyarrow as pa

from rainproof.errors import InputError
from rainproof.io.arrow_arrays import Array, array_of_texts, as_arrow, as_numpy
from rainproof.io.column_types import MISSING_WORDS, is_text

NUMBER = r"(?i)^[+-]?(inf(inity)?|nan|(\d+\.?\d*|\.\d+)(e[+-]?\d+)?)$"
"""What Arrow reads as a number."""

TRUE_AND_FALSE = {"true": "1", "false": "0"}
"""The numbers of these words, which outcomes may be written as."""

_PERCENT = r"^([+-]?(?:\d+\.?\d*|\.\d+))\s*%$"
_DECIMAL_COMMA = r"^([+-]?\d*),(\d+\s*%?)$"
_THOUSANDS = r"^[+-]?[1-9]\d{0,2},\d{3}$"  # or three decimals after a comma

_LOWER_CASE = np.uint8(32)  # the bit by which small letters differ from capitals in ASCII
_REAL_NUMBERS = (int, float, np.integer, np.floating)


def numbers_of_words(words: Any, *, percent: bool) -> dict[str, str]:
    """Check a table of words, and return the number of each word as text.

    Parameters
    ----------
    words : mapping of str to float
        The probability of each word, in [0, 1].
    percent : bool
        Whether the numbers that stand beside the words are in percent, as the result then is.
    """
    if not isinstance(words, Mapping):
        rule = "confidence_words must map words to probabilities, numbers in [0, 1]"
        held = type(words).__name__
        raise InputError(f"{rule}; it is of type {held}", parameter="confidence_words")
    normalized: list[str] = []
    not_words = []
    repeated = []
    not_probabilities = []
    for word, number in words.items():
        plain = word.strip().lower() if isinstance(word, str) else ""
        if not plain or _is_number(plain):
            not_words.append((word, number))
        if plain in normalized:
            repeated.append((word, number))
        if not _is_probability(number):
            not_probabilities.append((word, number))
        normalized.append(plain)
    _refuse_entries("must have words for keys, no numbers and no blanks", not_words)
    rule = "must have each word once, whatever its capitals and the spaces around it"
    _refuse_entries(rule, repeated)
    _refuse_entries("must map words to probabilities, numbers in [0, 1]", not_probabilities)
    # As decimals, so that 0.07 is "7.00" and not "7.000000000000001" in percent.
    exact = [Decimal(repr(float(number))) for number in words.values()]
    if percent:
        exact = [100 * number for number in exact]
    return dict(zip(normalized, map(str, exact), strict=True))


def _is_number(word: str) -> bool:
    with_point = re.sub(_DECIMAL_COMMA, r"\1.\2", word)
    without_sign = re.sub(_PERCENT, r"\1", with_point)
    return re.match(NUMBER, without_sign) is not None


def _is_probability(number: Any) -> bool:
    if isinstance(number, bool) or not isinstance(number, _REAL_NUMBERS):
        return False
    return bool(0 <= number <= 1)


def _refuse_entries(rule: str, entries: Sequence[tuple[Any, Any]]) -> None:
    if not entries:
        return
    word, number = entries[0]
    raise InputError.from_offenders(
        f"confidence_words {rule}",
        len(entries),
        f"confidence_words[{word!r}]",
        reprlib.repr(number),
        parameter="confidence_words",
    )


def to_doubles(text: pa.Array) -> Array:
    """Return text as doubles; a number slightly outside [0, 1] stays outside.

    The nearest double to 1.00000000000000001 is 1, which would pass for a probability.
    """
    doubles = as_numpy(text.cast(pa.float64()))
    at_ends = np.flatnonzero((doubles == 0) | (doubles == 1))
    if not at_ends.size:
        return doubles
    written = text.take(as_arrow(at_ends)).dictionary_encode()
    exact = [Decimal(number.strip()) for number in written.dictionary.to_pylist()]
    # By distinct text, of which there are few: 0, 1, 0.0 and the like.
    doubles_of_texts = np.array([_double_on_same_side(number) for number in exact])
    if ((doubles_of_texts < 0) | (doubles_of_texts > 1)).any():
        doubles = doubles.copy()  # as Arrow's buffer is read-only
        doubles[at_ends] = doubles_of_texts[as_numpy(written.indices)]
    return doubles


def _double_on_same_side(number: Decimal) -> float:
    """Return the nearest double; for a number outside of [0, 1], one that is outside too."""
    if number > 1:
        return math.nextafter(1, 2)
    if number < 0:
        return math.nextafter(0, -1)
    return float(number)


def with_decimal_points(text: pa.Array, *, percent: bool, unbounded: bool) -> pa.Array:
    """Return numbers with a decimal comma or a percent sign as Arrow reads them.

    Parameters
    ----------
    text : Array
        Text without spaces around it.
    percent : bool
        Whether the column is in percent, so that 59.2% is 59.2; else it is 0.592.
    unbounded : bool
        Whether numbers may be large: a comma in 1,234 may then mark thousands, and stays.
    """
    import pyarrow.compute as pc  # here, as it takes long to import

    # A probability is at most 1, so its comma never marks thousands.
    decimal = pc.replace_substring_regex(text, _DECIMAL_COMMA, r"\1.\2")
    if unbounded:
        decimal = pc.if_else(pc.match_substring_regex(text, _THOUSANDS), text, decimal)
    # With an exponent 59.2% is the nearest double to 0.592; a division would round again.
    return pc.replace_substring_regex(decimal, _PERCENT, r"\1" if percent else r"\1e-2")


def replace_words(text: pa.Array, numbers: Mapping[str, str]) -> pa.Array:
    """Return text with numbers in place of words, whatever their capitals."""
    import pyarrow.compute as pc

    words = array_of_texts(numbers, text.type)
    replacements = array_of_texts(numbers.values(), text.type)
    word_numbers = pc.index_in(pc.utf8_lower(text), words)
    return pc.coalesce(replacements.take(word_numbers), text)


def nulls_for_missing_words(text: pa.Array) -> pa.Array:
    """Return text with null in place of each word that means a missing number, such as NA."""
    buffer = text.buffers()[2]
    codes = np.frombuffer(b"" if buffer is None else buffer, np.uint8)
    # Every such word has an n: nearly all columns of numbers have none.
    if not np.equal(codes | _LOWER_CASE, ord("n")).any():
        return text
    import pyarrow.compute as pc

    is_missing = pc.is_in(text, array_of_texts(MISSING_WORDS, text.type))
    return pc.if_else(is_missing, pa.nulls(1, text.type)[0], text)


def without_missing_words(batch: pa.RecordBatch, columns: Iterable[str]) -> pa.RecordBatch:
    """Return a batch of a text file with null for words such as NA in these columns of numbers."""
    for name in columns:
        number = batch.schema.get_field_index(name)
        values = batch.column(number)
        if is_text(values.type):
            batch = batch.set_column(number, name, nulls_for_missing_words(values))
    return batch
