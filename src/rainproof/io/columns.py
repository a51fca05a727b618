"""Arrow columns as NumPy arrays, with errors that count what cannot be converted, and conditions on
Arrow rows.
"""

from __future__ import annotations

import difflib
import math
import re
import reprlib
from collections.abc import Iterable, Mapping
from contextlib import suppress
from decimal import Decimal
from functools import reduce
from itertools import compress
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from rainproof.core.validation import ColumnNames, no_outcome, refuse_misspelt_event
from rainproof.errors import InputError
from rainproof.io.conditions import Condition, fold

if TYPE_CHECKING:
    from rainproof.io.scanning import ColumnSpec

# what Arrow casts from text
_NUMBER = r"(?i)^[+-]?(inf(inity)?|nan|(\d+\.?\d*|\.\d+)(e[+-]?\d+)?)$"
_PERCENT = r"^([+-]?(?:\d+\.?\d*|\.\d+))\s*%$"
_DECIMAL_COMMA = r"^([+-]?\d*),(\d+\s*%?)$"
# or a decimal comma: in a column of weights it cannot be known
_THOUSANDS = r"^[+-]?[1-9]\d{0,2},\d{3}$"
_PLAIN_NUMBER = r"^-?(0|[1-9]\d*)(\.\d+)?$"  # 01 is a label, not the number 1
_WORDS = {"true": "1", "false": "0"}
_NUMBERS = (int, float, np.integer, np.floating)  # in Python; a bool is none
_SHOWN = 3  # examples in an error message

_MISSING = (
    *("#N/A", "#N/A N/A", "#NA", "-1.#IND", "-1.#QNAN", "-NaN", "-nan", "1.#IND", "1.#QNAN"),
    *("N/A", "NA", "NULL", "NaN", "n/a", "nan", "null"),
)  # what PyArrow takes for a missing value in text, beside nothing at all
_LOWER = np.uint8(32)  # the bit of small letters in ASCII
_VIEWS = {"string_view": pa.large_string(), "binary_view": pa.large_binary()}
# where the names of Arrow and NumPy differ
_DTYPES = {"halffloat": "f2", "float": "f4", "double": "f8"}

LABELS = "must hold labels, which are text, numbers or dates"

Array = NDArray[Any]
ReadResult = tuple[Array, InputError | None]


def _words_as_text(words: Any, *, percent: bool) -> dict[str, str]:
    """Check a table of words, and return the number of each as text: in percent where the other
    numbers are.
    """
    rule = "confidence_words must map words to probabilities, numbers in [0, 1]"
    if not isinstance(words, Mapping):
        raise InputError(
            f"{rule}; it is of type {type(words).__name__}", parameter="confidence_words"
        )
    plain = [word.strip().lower() if isinstance(word, str) else "" for word in words]
    points = [re.sub(_PERCENT, r"\1", re.sub(_DECIMAL_COMMA, r"\1.\2", word)) for word in plain]
    bad: dict[str, list[bool]] = {
        "confidence_words must have words for keys, no numbers and no blanks": [
            not point or re.match(_NUMBER, point) is not None for point in points
        ],
        "confidence_words must have each word once, whatever its capitals and the spaces around it": [
            word in plain[:at] for at, word in enumerate(plain)
        ],
        rule: [
            isinstance(number, bool) or not isinstance(number, _NUMBERS) or not 0 <= number <= 1
            for number in words.values()
        ],
    }
    for broken, where in bad.items():
        entries = list(compress(words.items(), where))
        if entries:
            word, number = entries[0]
            place = f"confidence_words[{word!r}]"
            raise InputError.from_offenders(
                broken, len(entries), place, reprlib.repr(number), parameter="confidence_words"
            )
    scale = 100 if percent else 1
    return {
        word: str(scale * Decimal(repr(float(x))))
        for word, x in zip(plain, words.values(), strict=True)
    }


class NumberColumn:
    """A column of numbers, or in a text file of text that is read as numbers.

    Parameters
    ----------
    name : str
        The name of the column.
    holds : {"probabilities", "outcomes", "amounts"}
        Probabilities may be in percent or words, as `spec` says. Outcomes may also be true or
        false, as text. Amounts may be large: text such as 1,234 is refused, as its comma may mark
        thousands.
    spec : ColumnSpec
        How values are read.
    parse : bool
        Whether text is read as numbers, as in a CSV file.

    Attributes
    ----------
    largest : float
        The largest value that was read in percent; infinite where none is.

    Notes
    -----
    Text with a decimal comma or a percent sign is read too: ``59,2%`` is 0.592. Capitals and spaces around a word do
    not matter.
    """

    def __init__(
        self,
        name: str,
        holds: Literal["probabilities", "outcomes", "amounts"],
        spec: ColumnSpec,
        *,
        parse: bool,
    ) -> None:
        self.name, self._parse = name, parse
        self._outcome, self._unbounded = holds == "outcomes", holds == "amounts"
        self._percent = holds == "probabilities" and spec.percent
        self.largest = 0.0 if self._percent else math.inf
        said = holds == "probabilities" and spec.confidence_words is not None
        self._words = _words_as_text(spec.confidence_words, percent=self._percent) if said else {}

    def read(self, values: pa.Array, names: ColumnNames) -> ReadResult:
        """Return the values that can be read, of an array without nulls, and what is wrong with the
        others.

        Raises at once what later rows cannot change, such as a column of dates.
        """
        array, error = self._numbers(values, names)
        if not self._percent:
            return array, error
        self.largest = max(self.largest, array.max(initial=0.0))
        return array / 100, error

    def _numbers(self, values: pa.Array, names: ColumnNames) -> ReadResult:
        kind = values.type
        if pa.types.is_integer(kind) or pa.types.is_floating(kind):
            return as_numpy(values), None
        if pa.types.is_boolean(kind):
            return as_numpy(values.cast(pa.uint8())), None
        if pa.types.is_decimal(kind) or pa.types.is_null(kind):
            # Through text, as Arrow's cast can miss the nearest double.
            return _from_text(values.cast(pa.string())), None
        if not is_text(kind):
            raise InputError(f"{self.name} must hold numbers; it holds values of type {kind}")
        if not self._words:
            if not self._parse:
                raise self._is_no_number(values)
            with suppress(pa.ArrowInvalid):
                return _from_text(values), None
        return self._parsed(values, names)

    def _parsed(self, values: pa.Array, names: ColumnNames) -> ReadResult:
        """Read text with spaces, words or other text among the numbers."""
        import pyarrow.compute as pc  # here, as it takes long to import and numbers do not need it

        text = pc.utf8_trim_whitespace(values)
        if self._outcome or self._words:
            text = _without_words(text, self._words or _WORDS)
        text = _with_points(text, percent=self._percent, unbounded=self._unbounded)
        matches = pc.match_substring_regex(text, _NUMBER)
        good = as_mask(matches)
        if names.first == 0 and not good.any():
            raise self._is_no_number(values)
        error = None
        if not good.all():
            first = int(np.argmin(good))
            rule = "must hold numbers or words of the table" if self._words else "must hold numbers"
            error = InputError.from_offenders(
                f"{self.name} {rule}",
                int((~good).sum()),
                names.at(self.name, first),
                repr(values[first].as_py()),
            )
        return _from_text(text.filter(matches)), error

    def _is_no_number(self, values: pa.Array) -> InputError:
        labels = values.unique().slice(0, _SHOWN).to_pylist()
        examples = ", ".join(map(repr, labels))
        if not self._outcome:
            problem = f"{self.name} must hold numbers; it holds text such as {examples}"
            if self._unbounded or len(labels) == 2:
                return InputError(problem, hint="; is it the outcome?" * (not self._unbounded))
            way_out = "pass confidence_words={...}"
            hint = "; if these words say how likely it is, "
            return InputError(
                problem, hint=hint, remedy=way_out, option=("confidence_words", "FILE")
            )
        return no_outcome(self.name, f"text such as {examples}")


class EventColumn:
    """A column of two labels of any type, read as 1 for the event and 0 for the other.

    Parameters
    ----------
    name : str
        The name of the column.
    pos_label : object
        The label of the event. Text is converted to the type of the column, for the command line.
    parse : bool
        Whether the column is from a text file. There text as `pos_label` is compared as text,
        without the spaces around it; a number or a bool also matches text such as 1.0 or true.
    """

    def __init__(self, name: str, *, pos_label: Any, parse: bool) -> None:
        self.name = name
        self._pos_label = pos_label
        self._parse = parse
        # labels besides pos_label that were seen; all but the first are refused
        self.others: list[Any] = []
        self._other: Any = None  # the first of them, as it is written
        self._occurs = False  # whether the event was seen

    def read(self, values: pa.Array, names: ColumnNames) -> ReadResult:
        """Return the values that can be read, as `NumberColumn.read` does."""
        label = self._label(values.type)
        which, shown = encoded(values, self.name)
        labels = [self._meaning(value) for value in shown]
        event = np.array([value == label for value in labels], np.bool_)[which]
        self._occurs |= bool(event.any())
        if not self.others and not event.all():
            other = which[np.argmin(event)]
            self.others.append(labels[other])
            self._other = shown[other]
        further = (
            ~event & ~np.array([value in self.others[:1] for value in labels], np.bool_)[which]
        )
        error = None
        if further.any():
            first = int(np.argmax(further))
            self.others.append(labels[which[first]])
            place, label = names.at(self.name, first), shown[which[first]]
            rule = (
                f"{self.name} must hold {self._pos_label!r} and one other label ({self._other!r})"
            )
            error = InputError.from_offenders(
                rule, int(further.sum()), place, repr(label), labels=(self._other, label)
            )
        return event[~further].view(np.uint8), error

    def check_event(self) -> None:
        """Refuse, after all rows, a column without the event whose one label differs from it in
        capitals only.
        """
        if not self._occurs:
            refuse_misspelt_event(self.name, self._pos_label, self._other)

    def _label(self, kind: pa.DataType) -> Any:
        try:
            return self._meaning(single(self._pos_label).cast(kind)[0].as_py())
        except pa.ArrowException:
            raise InputError(
                f"pos_label must be a label of {self.name}, which holds values of type {kind}; "
                f"it is {self._pos_label!r}"
            ) from None

    def _meaning(self, label: Any) -> Any:
        if not self._parse or not isinstance(label, str):
            return label
        text = label.strip()
        if isinstance(self._pos_label, str):
            return text
        text = _WORDS.get(text.lower(), text)
        return float(text) if re.match(_PLAIN_NUMBER, text) else text


def meant_label(pos_label: Any, labels: Iterable[Any]) -> str:
    """Return the question whether a label was meant that differs in capitals or a letter; nothing
    if there is none.
    """
    plain = {label.strip().casefold(): label for label in labels if isinstance(label, str)}
    close = difflib.get_close_matches(str(pos_label).strip().casefold(), plain, n=1, cutoff=0.75)
    return f"; did you mean {plain[close[0]]!r}?" if close else ""


def split_nulls(
    name: str, values: pa.Array, names: ColumnNames
) -> tuple[pa.Array, InputError | None]:
    """Return the values that are not null, and the error for those that are."""
    if pa.types.is_dictionary(values.type):
        values = values.dictionary_decode()  # the dictionary may hold a null
    count = values.null_count
    if not count:
        return values, None
    first = int(np.argmax(as_mask(values.is_null())))
    rule = f"{name} must not contain nulls (missing values)"
    error = InputError.from_offenders(rule, count, names.at(name, first), missing=True)
    return values.drop_null(), error


def encoded(values: pa.Array, name: str) -> tuple[Array, list[Any]]:
    """Return a column as the number of the label of each row, and the labels; refuse values that
    cannot be labels.
    """
    # types without equality, dates that Python does not have
    with suppress(pa.ArrowException, OverflowError):
        codes = values.dictionary_encode(null_encoding="encode")
        return as_numpy(codes.indices), codes.dictionary.to_pylist()
    raise InputError(f"{name} {LABELS}; it holds values of type {values.type}")


def as_numpy(values: pa.Array) -> Array:
    """Return numbers without nulls as an array on their buffer; Arrow's own conversion would import
    pandas.
    """
    dtype = np.dtype(_DTYPES.get(str(values.type), str(values.type)))
    buffer = values.buffers()[1]
    if buffer is None:
        return np.zeros(0, dtype)
    return np.frombuffer(buffer, dtype, len(values), values.offset * dtype.itemsize)


def as_arrow(array: Array) -> pa.Array:
    """Return contiguous numbers as an Arrow array on their buffer; `pa.array` would import pandas."""
    return pa.Array.from_buffers(
        pa.from_numpy_dtype(array.dtype), len(array), [None, pa.py_buffer(array)]
    )


def as_mask(values: pa.Array) -> NDArray[np.bool_]:
    """Return booleans without nulls as an array."""
    mask: NDArray[np.bool_] = as_numpy(values.cast(pa.uint8())).view(np.bool_)
    return mask


def single(value: Any) -> pa.Array:
    """Return an array of one value, made of buffers where possible, as `pa.array` would import
    pandas.
    """
    if isinstance(value, str):
        text = value.encode()
        offsets = pa.py_buffer(np.array([0, len(text)]))
        return pa.Array.from_buffers(pa.large_string(), 1, [None, offsets, pa.py_buffer(text)])
    if isinstance(value, bool | np.bool_):
        return pa.Array.from_buffers(pa.bool_(), 1, [None, pa.py_buffer(bytes([bool(value)]))])
    if isinstance(value, int | float) and (isinstance(value, float) or abs(value) < 1 << 63):
        return as_arrow(np.array([value], np.int64 if isinstance(value, int) else np.float64))
    return pa.array([value])


def without_views(batch: pa.RecordBatch) -> pa.RecordBatch:
    """Convert views, and runs of equal values, to plain columns, as few functions of Arrow take
    these types.
    """
    for at, field in enumerate(batch.schema):
        kind = str(field.type)
        if kind in _VIEWS:
            batch = batch.set_column(at, field.name, batch.column(at).cast(_VIEWS[kind]))
        elif kind.startswith("run_end_encoded"):
            import pyarrow.compute as pc

            batch = batch.set_column(at, field.name, pc.run_end_decode(batch.column(at)))
    return batch


def without_missing_words(batch: pa.RecordBatch, columns: Iterable[str]) -> pa.RecordBatch:
    """Return a batch of a text file in which words for a missing number, such as NA, are null in
    columns of numbers.
    """
    for name in columns:
        at = batch.schema.get_field_index(name)
        values = batch.column(at)
        if is_text(values.type):
            batch = batch.set_column(at, name, _numbers_there(values))
    return batch


def _numbers_there(values: pa.Array) -> pa.Array:
    """Return text with null for each word that means a missing number."""
    import pyarrow.compute as pc

    text = values.buffers()[2]
    codes = np.frombuffer(b"" if text is None else text, np.uint8)
    if not np.equal(codes | _LOWER, ord("n")).any():  # every such word has one
        return values
    words = pa.concat_arrays(list(map(single, _MISSING))).cast(values.type)
    return pc.if_else(pc.is_in(values, words), single(None).cast(values.type)[0], values)


def is_text(kind: pa.DataType) -> bool:
    """Whether a type is text."""
    return str(kind) in ("string", "large_string", "string_view")


def _from_text(values: pa.Array) -> Array:
    """Return text as doubles; numbers slightly outside [0, 1] stay outside, where rounding would
    clip them.
    """
    doubles = as_numpy(values.cast(pa.float64()))
    ends = np.flatnonzero((doubles == 0) | (doubles == 1))
    if ends.size:
        written = values.take(as_arrow(ends)).dictionary_encode()
        exact = [Decimal(text.strip()) for text in written.dictionary.to_pylist()]
        kept = np.array(
            [
                math.nextafter(1, 2) if x > 1 else math.nextafter(0, -1) if x < 0 else float(x)
                for x in exact
            ]
        )
        if ((kept < 0) | (kept > 1)).any():
            doubles = doubles.copy()
            doubles[ends] = kept[as_numpy(written.indices)]
    return doubles


def _with_points(text: pa.Array, *, percent: bool, unbounded: bool) -> pa.Array:
    """Write numbers with a decimal comma or a percent sign as Arrow reads them; those in `percent`
    stay so.
    """
    import pyarrow.compute as pc

    decimal = pc.replace_substring_regex(text, _DECIMAL_COMMA, r"\1.\2")
    if unbounded:
        decimal = pc.if_else(pc.match_substring_regex(text, _THOUSANDS), text, decimal)
    # With an exponent 59.2% is the nearest double to 0.592.
    return pc.replace_substring_regex(decimal, _PERCENT, r"\1" if percent else r"\1e-2")


def _without_words(text: pa.Array, words: Mapping[str, str]) -> pa.Array:
    """Replace words, whatever their capitals, by the numbers that they stand for."""
    import pyarrow.compute as pc

    known, numbers = (
        pa.concat_arrays(list(map(single, half))).cast(text.type)
        for half in (words, words.values())
    )
    return pc.coalesce(numbers.take(pc.index_in(pc.utf8_lower(text), known)), text)


# By their names in Arrow.
_COMPARISONS = {
    "=": "equal",
    "!=": "not_equal",
    "<": "less",
    "<=": "less_equal",
    ">": "greater",
    ">=": "greater_equal",
}


def filter_batch(condition: Condition, batch: pa.RecordBatch) -> pa.RecordBatch:
    """Return the rows of an Arrow batch for which the condition is true."""
    import pyarrow.compute as pc  # here, as it takes long to import

    false = single(False)[0]

    def is_nan(values: pa.Array) -> pa.BooleanArray:
        """Return where values are NaN, or text that means NaN."""
        if pa.types.is_floating(values.type):
            mask = pc.is_nan(values)
        elif is_text(values.type):
            mask = pc.match_substring_regex(values, r"(?i)^\s*[+-]?nan\s*$")
        else:
            return pc.invert(pc.or_(values.is_null(), values.is_valid()))
        return pc.coalesce(mask, false)

    def compared(values: pa.Array, op: str, value: Any, column: str) -> pa.BooleanArray:
        """Compare a column with a literal, of which text is converted to the type of the other;
        false for nulls.
        """
        kind = values.type
        try:
            if pa.types.is_floating(kind):  # compared as doubles, whatever the width
                values = pc.cast(values, pa.float64())
                value = float(value) if type(value) is int else value
            elif pa.types.is_integer(kind) and isinstance(value, float):
                # large ones are rounded, as databases do
                values = pc.cast(values, pa.float64(), safe=False)
            elif pa.types.is_decimal(kind) and isinstance(value, float):
                values = pc.cast(
                    pc.cast(values, pa.string()), pa.float64()
                )  # a direct cast can miss the nearest double
            literal = single(
                str(value).lower() if is_text(kind) and isinstance(value, bool) else value
            )
            if is_text(kind) and isinstance(value, bool):
                values = pc.utf8_lower(pc.utf8_trim_whitespace(values))
            elif is_text(kind) and not isinstance(value, str):
                values = _with_points(
                    pc.utf8_trim_whitespace(_numbers_there(values)), percent=False, unbounded=True
                )
                values = pc.cast(values, pa.float64())
            if is_text(literal.type):
                literal = pc.cast(literal, values.type)
            return pc.coalesce(getattr(pc, _COMPARISONS[op])(values, literal[0]), false)
        except pa.ArrowException:
            raise InputError(
                f"where cannot compare {column}, which holds values of type {kind}, with {value!r}"
            ) from None

    def mask(leaf: Condition) -> pa.BooleanArray:
        values = batch.column(leaf.column)
        if pa.types.is_dictionary(values.type):
            values = values.dictionary_decode()
        if leaf.op.endswith(("null", "nan")):
            missing = values.is_null() if leaf.op.endswith("null") else is_nan(values)
            return pc.invert(missing) if leaf.negated else missing
        if pa.types.is_null(values.type):  # a comparison with a null is false
            return values.is_valid()
        there = pc.and_(values.is_valid(), pc.invert(is_nan(values)))
        op = leaf.op if leaf.op in _COMPARISONS else "="
        met = reduce(pc.or_, [compared(values, op, value, leaf.column) for value in leaf.values])
        return pc.and_(there, pc.invert(met) if leaf.negated else met)

    return batch.filter(fold(condition, mask, pc.and_, pc.or_))
