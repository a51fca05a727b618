"""A recalibrator in other places: its records as JSON has them, as SQL, and as an ONNX model."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import fields
from types import NoneType
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from rainproof.core.piecewise import SLOPE_UNIT, UNIT, PiecewiseMap
from rainproof.core.result import Result
from rainproof.core.validation import ThresholdRange, check_base_rate, check_range, is_plain_label
from rainproof.errors import InputError, MissingExtraError
from rainproof.inference.options import check_share
from rainproof.io.dialects import Dialect, find_dialect
from rainproof.recalibration.certificate import SegmentMap

if TYPE_CHECKING:
    from onnx import ModelProto


_TYPES = {
    "float": (float,),
    "int": (int,),
    "bool": (bool,),
    "str": (str,),
    "int | None": (int, NoneType),
}
_TYPES["float | None"] = (float, NoneType)
_TYPES["BaseRate | None"] = (float, list, NoneType)

Record = TypeVar("Record", bound=Result)
Labels = tuple[str | None, ...]
"""What the labels of a segment say, one for each column."""


def list_of(values: Any, name: str, kind: type) -> list[Any]:
    """Return a list of text or of objects, if it is one."""
    if not isinstance(values, list) or not all(isinstance(value, kind) for value in values):
        raise InputError(f"{name!r} must be a list of {'objects' if kind is dict else 'text'}")
    return values


def number_of(value: Any, name: str, least: int) -> int:
    """Return a whole number, if it is one, of this size or more."""
    if type(value) is not int:
        raise InputError(f"{name!r} must be a whole number; it is {value!r}")
    if value < least:
        raise InputError(f"{name!r} must be {least} or more; it is {value}")
    return value


_ROUNDING = 1e-9  # by which a computed share may lie beyond 0 or 1
_SHARE = (0.0, 1.0)
_LIMITS = {
    **dict.fromkeys(
        ("weight", "harm_bound", "gain_at_least", "harm", "gain", "loss_bound"), _SHARE
    ),
    "gain_estimate": (-1.0, 1.0),
    "log_loss": (0.0, math.inf),
    "brier_score": (0.0, 2.0),  # of several classes the squares are summed
    "saving_at_least": (0.0, math.inf),
    "max_weight": (0.0, math.inf),
    "n": (0, math.inf),
    "groups": (1, math.inf),
    "grid": (1, math.inf),
}
"""The values that the fields of the records of a map can have; None is none."""


def range_of(value: Any) -> ThresholdRange | None:
    """Return a range of thresholds, if it is one; None for every decision."""
    if value is None:
        return None
    if not isinstance(value, dict) or set(value) != {"low", "high"}:
        raise InputError(
            f"'threshold_range' must be null, or have 'low' and 'high'; it is {value!r:.60}"
        )
    return check_range((value["low"], value["high"]))


def segment_of(data: dict[str, Any], columns: int) -> tuple[SegmentMap, PiecewiseMap | None]:
    """Read a segment, with its map if it has one."""
    if "map" not in data:
        raise InputError("a segment must have 'map'")
    own = None if data["map"] is None else PiecewiseMap.from_dict(data["map"])
    labels = data.get("segment")
    if (
        not isinstance(labels, list)
        or not len(labels) == columns > 0
        or not all(map(is_plain_label, labels))
    ):
        raise InputError("a segment must have one label for each name in 'by'")
    key = tuple(labels) if columns > 1 else labels[0]
    rest = {name: value for name, value in data.items() if name != "map"}
    segment = record_of(SegmentMap, {**rest, "segment": key})
    if segment.corrected != (own is not None):
        raise InputError("a segment must have a map if it is corrected, and only then")
    return segment, own


def record_of(cls: type[Record], data: Any) -> Record:
    """Make a result from its fields, each of its type."""
    kinds = {field.name: str(field.type) for field in fields(cls)}
    if not isinstance(data, dict) or set(data) != set(kinds):
        raise InputError(f"a {cls.__name__} must have {', '.join(map(repr, kinds))}")
    for name, kind in kinds.items():
        if kind == "ThresholdRange | None":
            data = {**data, name: range_of(data[name])}
        elif kind != "Any" and type(data[name]) not in _TYPES[kind]:
            raise InputError(
                f"{name!r} of a {cls.__name__} must be of type {kind}; it is {data[name]!r}"
            )
    for name, (low, high) in _LIMITS.items():
        value = data.get(name)
        if value is not None and not low - _ROUNDING <= value <= high + _ROUNDING:
            rule = f"{low:g} or more" if high == math.inf else f"from {low:g} to {high:g}"
            raise InputError(f"{name!r} of a {cls.__name__} must be {rule}; it is {value!r}")
    if "confidence_level" in data:
        check_share(data["confidence_level"], f"'confidence_level' of a {cls.__name__}")
    if data.get("base_rate") is not None:
        data = {**data, "base_rate": check_base_rate(data["base_rate"])}
    return cls(**data)


def as_sql(
    column: str,
    dialect: str,
    whole: PiecewiseMap,
    maps: Mapping[Labels, PiecewiseMap],
    others: Sequence[Labels] | None,
    columns: Sequence[str],
) -> str:
    """Write the maps of segments, which `columns` tell apart, as one expression.

    The segments in `others` use the map of all rows, and those that are in neither get NULL;
    without `others`, all that have no map of their own use it.
    """
    spoken = find_dialect(dialect)
    value, wrong = checked_column(column, spoken)
    names, known = list(map(spoken.identifier, columns)), {*maps, *(others or ())}

    def is_one_of(keys: Sequence[Labels]) -> str:
        if len(keys) > 1:  # halved, as the depth of expressions is limited
            middle = len(keys) // 2
            return f"({is_one_of(keys[:middle])} OR {is_one_of(keys[middle:])})"
        return " AND ".join(
            _says(name, label, spoken, known) for name, label in zip(names, keys[0], strict=True)
        )

    cases = [
        f"WHEN {is_one_of([key])} THEN {tree(own, value, spoken)}" for key, own in maps.items()
    ]
    rest = tree(whole, value, spoken)
    if others is not None:
        cases += [f"WHEN {is_one_of(others)} THEN {rest}"] if others else []
        rest = "NULL"
    return f"CASE WHEN {' OR '.join(wrong)} THEN NULL {' '.join([*cases, 'ELSE'])} {rest} END"


def checked_column(column: str, dialect: Dialect) -> tuple[str, list[str]]:
    """Write a column of probabilities as doubles, and the conditions that a value is none."""
    name = dialect.identifier(column)
    value = dialect.double.format(name)
    wrong = [f"{name} IS NULL", dialect.breaks(value, "{0} >= 0 AND {0} <= 1")]
    return value, wrong if dialect.is_text is None else [*wrong, dialect.is_text.format(name)]


def _says(name: str, label: str | None, dialect: Dialect, known: set[Labels]) -> str:
    """Write that a column of any type says this label, in all spellings of engines for what is the
    same.
    """
    if label is None:
        return f"{name} IS NULL"
    written = [label]
    if label in ("True", "False"):
        written += [label.lower(), label.upper()]
    digits = label.removeprefix("-")
    if digits.isdecimal() and (digits == "0" or digits[0] != "0"):
        sign, power, short = label[: -len(digits)], len(digits) - 1, digits.rstrip("0")
        written.append(f"{label}.0")
        if power >= _FIRST_POWER:
            mantissa = f"{sign}{short[0]}.{short[1:] or '0'}"
            written += [
                f"{mantissa}E{power}",
                f"{mantissa}e+{power:02}",
                f"{mantissa.removesuffix('.0')}e+{power:02}",
            ]
    test = f"{dialect.as_text.format(name)} IN ({', '.join(map(dialect.literal, written))})"
    bit = {"True": "1", "False": "0"}.get(label)
    if bit is None or dialect.is_whole is None or any(bit in key for key in known):
        return test
    return f"({test} OR {dialect.is_whole.format(name)} AND {name} = {bit})"


_FIRST_POWER = 7  # of ten from which engines write doubles with an exponent, each in its way


def tree(pieces: PiecewiseMap, value: str, dialect: Dialect) -> str:
    """Find the piece by halving, so that expressions stay shallow and quick."""
    edges, starts = (
        [int(x) for x in (values * UNIT).tolist()] for values in (pieces.edges, pieces.start)
    )
    slopes = [int(x) for x in (pieces.slope * SLOPE_UNIT).tolist()]

    def piece(k: int) -> str:
        if slopes[k] == 0:
            return dialect.double.format(starts[k])
        # as written: scaled, the smallest doubles would be rounded twice
        if edges[k] == 0 and starts[k] == 0:
            steep = (
                f"{value} * ({dialect.double.format(slopes[k])} / {int(SLOPE_UNIT)}) * {int(UNIT)}"
            )
            return f"CASE WHEN {value} > 0 THEN {steep} ELSE {dialect.double.format(0)} END"
        return f"{starts[k]} + ({value} * {int(UNIT)} - {edges[k]}) * ({slopes[k]}) / {int(SLOPE_UNIT)}"

    def between(first: int, last: int) -> str:
        if first == last:
            return piece(first)
        middle = (first + last + 1) // 2
        lower = f"{value} * {int(UNIT)} < {edges[middle]}"
        return (
            f"CASE WHEN {lower} THEN {between(first, middle - 1)} ELSE {between(middle, last)} END"
        )

    return f"({between(0, len(starts) - 1)}) / {int(UNIT)}"


def columns_of(
    by: str | Sequence[str] | Mapping[str, str] | None, names: tuple[str, ...]
) -> list[str]:
    """Return the columns of the segments, in the order of the names that the map was fitted with."""
    if isinstance(by, Mapping):
        if set(by) != set(names):
            raise InputError(
                f"by must name {', '.join(names)}; it names {', '.join(map(str, by)) or 'nothing'}"
            )
        return [by[name] for name in names]
    columns = [] if by is None else [by] if isinstance(by, str) else list(by)
    if len(columns) != len(names):
        fitted = (
            f"one for each of {', '.join(names)}"
            if names
            else "nothing, as the map was fitted without segments"
        )
        raise InputError(
            f"by must name {fitted}; it names {', '.join(map(str, columns)) or 'nothing'}"
        )
    return columns


_OPERATORS, _FORMAT = 16, 8  # versions that are read since onnxruntime 1.11


class Graph:
    """The nodes of an ONNX model from doubles "p" to doubles of the same shape."""

    def __init__(self) -> None:
        try:
            import onnx
        except ImportError as error:
            raise MissingExtraError("to_onnx", "onnx", "onnx") from error
        self._onnx: Any = onnx
        self._nodes: list[Any] = []
        self._constants: list[Any] = []

    def constant(self, value: Any) -> str:
        """Add a constant, and return its name."""
        name = f"constant_{len(self._constants)}"
        self._constants.append(self._onnx.numpy_helper.from_array(np.asarray(value), name))
        return name

    def node(
        self, operator: str, *inputs: str, output: str | None = None, **attributes: Any
    ) -> str:
        """Add a node, and return the name of its output."""
        output = output or f"{operator}_{len(self._nodes)}"
        self._nodes.append(
            self._onnx.helper.make_node(operator, list(inputs), [output], **attributes)
        )
        return output

    def pieces(self, p: str, pieces: PiecewiseMap) -> str:
        """Add a map of a column, and return the name of its values."""
        levels = (len(pieces.start) - 1).bit_length()
        padding = np.full((1 << levels) - len(pieces.start), np.nan)  # which no prediction reaches
        lower = self.constant(np.concatenate([pieces.edges[:-1], padding]))
        at = self.constant(np.int64(0))
        for level in reversed(range(levels)):
            step = self.constant(np.int64(1 << level))
            reached = self.node(
                "GreaterOrEqual", p, self.node("Gather", lower, self.node("Add", at, step))
            )
            as_int = self.node("Cast", reached, to=self._onnx.TensorProto.INT64)
            at = self.node("Add", at, self.node("Mul", as_int, step))
        beyond = self.node("Sub", p, self.node("Gather", lower, at))
        rise = self.node("Mul", beyond, self.node("Gather", self.constant(pieces.slope), at))
        return self.node("Add", self.node("Gather", self.constant(pieces.start), at), rise)

    def model(self, output: str, *shape: int) -> ModelProto:
        """Return the model: "p" of shape (n, *shape) to this output."""
        make, double = self._onnx.helper, self._onnx.TensorProto.DOUBLE
        ends = [make.make_tensor_value_info(name, double, ["n", *shape]) for name in ("p", output)]
        graph = make.make_graph(self._nodes, "recalibration", ends[:1], ends[1:], self._constants)
        versions = [make.make_opsetid("", _OPERATORS)]
        model: ModelProto = make.make_model(
            graph, opset_imports=versions, producer_name="rainproof"
        )
        model.ir_version = _FORMAT
        return model


def as_onnx(pieces: PiecewiseMap) -> ModelProto:
    """Write a map as a model: doubles "p" of shape (n,) to doubles "probability" of the same shape."""
    graph = Graph()
    value = graph.pieces("p", pieces)
    limits = [
        graph.node("GreaterOrEqual", "p", graph.constant(0.0)),
        graph.node("LessOrEqual", "p", graph.constant(1.0)),
    ]
    graph.node(
        "Where", graph.node("And", *limits), value, graph.constant(np.nan), output="probability"
    )
    return graph.model("probability")
