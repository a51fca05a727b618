"""A recalibrator in other places: as JSON with a digest, as SQL, and as an ONNX model."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, fields
from types import NoneType
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from rainproof.core.files import check_document, digest_of
from rainproof.core.piecewise import SLOPE_UNIT, UNIT, PiecewiseMap
from rainproof.errors import InputError, MissingExtraError
from rainproof.io.sql import Dialect, find_dialect
from rainproof.recalibration.certificate import Certificate, SegmentMap
from rainproof.recalibration.methods import METHODS
from rainproof.recalibration.selection import Candidate

if TYPE_CHECKING:
    from onnx import ModelProto


_VERSION = 1
_KEYS = ("method", "methods", "by", "map", "candidates", "certificate", "segments", "digest")
_TYPES = {"float": (float,), "int": (int,), "bool": (bool,), "str": (str,), "int | None": (int, NoneType)}

Record = TypeVar("Record", Candidate, Certificate, SegmentMap)


@dataclass(frozen=True, kw_only=True, slots=True)
class Fitted:
    """All that a fitted recalibrator knows."""

    method: str
    methods: str | Sequence[str]
    by: tuple[str, ...] | None
    map: PiecewiseMap
    candidates: tuple[Candidate, ...]
    certificate: Certificate
    segments: tuple[SegmentMap, ...]
    maps: Mapping[Any, PiecewiseMap]

    def to_dict(self) -> dict[str, Any]:
        """Return it in built-in types, ready for JSON."""
        content = {
            "format": "rainproof recalibrator",
            "version": _VERSION,
            "method": self.method,
            "methods": _names(self.methods),
            "by": None if self.by is None else list(self.by),
            "map": self.map.to_dict(),
            "candidates": list(map(asdict, self.candidates)),
            "certificate": self.certificate.to_dict(),
            "segments": [self._segment(segment) for segment in self.segments],
        }
        return {**content, "digest": digest_of(content)}

    def _segment(self, segment: SegmentMap) -> dict[str, Any]:
        key = segment.segment
        labels = list(key) if self.by is not None and len(self.by) > 1 else [key]
        for label in labels:
            check_label(label, "to be stored")
        own = self.maps.get(key)
        return {**asdict(segment), "segment": labels, "map": None if own is None else own.to_dict()}

    @classmethod
    def from_dict(cls, data: Any) -> Fitted:
        """Read what `to_dict` wrote; refuse what was changed since."""
        data = check_document(data, "recalibrator", version=_VERSION, keys=_KEYS)
        try:
            digest = digest_of({key: value for key, value in data.items() if key != "digest"})
        except (RecursionError, TypeError, ValueError) as error:
            raise InputError(f"it is not in types of JSON: {error}") from error
        if digest != data["digest"]:
            raise InputError("it is damaged: its digest does not fit its content")
        by = None if data["by"] is None else tuple(_list(data["by"], "by", str))
        methods = data["methods"] if data["methods"] == "auto" else _list(data["methods"], "methods", str)
        for method in (data["method"], *([] if methods == "auto" else methods)):
            if not isinstance(method, str) or method not in METHODS:
                raise InputError(f"methods must be among {', '.join(METHODS)}; {method!r} is not")
        parts = [_segment_of(part, 0 if by is None else len(by)) for part in _list(data["segments"], "segments", dict)]
        return cls(
            method=data["method"],
            methods=methods,
            by=by,
            map=PiecewiseMap.from_dict(data["map"]),
            candidates=tuple(_record(Candidate, c) for c in _list(data["candidates"], "candidates", dict)),
            certificate=_record(Certificate, data["certificate"]),
            segments=tuple(segment for segment, _ in parts),
            maps={segment.segment: own for segment, own in parts if own is not None},
        )


def as_text(document: Mapping[str, Any]) -> str:
    """Write a document as JSON, a line for each entry."""
    lines = [f"  {json.dumps(key)}: {json.dumps(value, allow_nan=False)}" for key, value in document.items()]
    return "{\n" + ",\n".join(lines) + "\n}\n"


def _names(methods: str | Sequence[str]) -> str | list[str]:
    return "auto" if methods == "auto" else [methods] if isinstance(methods, str) else list(methods)


def check_label(label: Any, where: str) -> None:
    """Refuse a label that other programs would not understand."""
    if not _is_label(label):
        raise InputError(f"segments must be text, finite numbers, bools or None {where}; one is {label!r}")


def _is_label(value: Any) -> bool:
    return value is None or isinstance(value, str | bool | int) or (isinstance(value, float) and math.isfinite(value))


def _list(values: Any, name: str, of: type) -> list[Any]:
    if not isinstance(values, list) or not all(isinstance(value, of) for value in values):
        raise InputError(f"{name!r} must be a list of {'objects' if of is dict else 'text'}")
    return values


def _segment_of(data: dict[str, Any], columns: int) -> tuple[SegmentMap, PiecewiseMap | None]:
    if "map" not in data:
        raise InputError("a segment must have 'map'")
    own = None if data["map"] is None else PiecewiseMap.from_dict(data["map"])
    labels = data.get("segment")
    if not isinstance(labels, list) or not len(labels) == columns > 0 or not all(map(_is_label, labels)):
        raise InputError("a segment must have one label for each name in 'by'")
    key = tuple(labels) if columns > 1 else labels[0]
    rest = {name: value for name, value in data.items() if name != "map"}
    segment = _record(SegmentMap, {**rest, "segment": key})
    if segment.corrected != (own is not None):
        raise InputError("a segment must have a map if it is corrected, and only then")
    return segment, own


def _record(cls: type[Record], data: Any) -> Record:
    """Make a result from its fields, each of its type."""
    kinds = {field.name: str(field.type) for field in fields(cls)}
    if not isinstance(data, dict) or set(data) != set(kinds):
        raise InputError(f"a {cls.__name__} must have {', '.join(map(repr, kinds))}")
    for name, kind in kinds.items():
        if kind != "Any" and type(data[name]) not in _TYPES[kind]:
            raise InputError(f"{name!r} of a {cls.__name__} must be of type {kind}; it is {data[name]!r}")
    return cls(**data)


def recalibrated(
    column: str, dialect: str, whole: PiecewiseMap, maps: Mapping[Any, PiecewiseMap], columns: Sequence[str]
) -> str:
    """Write the maps of segments, which are told by `columns`, and the one of all other rows as one expression."""
    spoken = find_dialect(dialect)
    name = spoken.identifier(column)
    value = spoken.double.format(name)
    wrong = [f"{name} IS NULL", spoken.breaks(value, "{0} >= 0 AND {0} <= 1")]
    if spoken.is_text is not None:
        wrong.append(spoken.is_text.format(name))
    cases = [f"WHEN {_is_segment(key, columns, spoken)} THEN {_tree(own, value, spoken)}" for key, own in maps.items()]
    return f"CASE WHEN {' OR '.join(wrong)} THEN NULL {' '.join([*cases, 'ELSE'])} {_tree(whole, value, spoken)} END"


def _is_segment(key: Any, columns: Sequence[str], dialect: Dialect) -> str:
    tests = []
    for column, label in zip(columns, key if len(columns) > 1 else [key], strict=True):
        check_label(label, "in SQL")
        name = dialect.identifier(column)
        tests.append(f"{name} IS NULL" if label is None else f"{name} = {dialect.literal(label)}")
    return " AND ".join(tests)


def _tree(pieces: PiecewiseMap, value: str, dialect: Dialect) -> str:
    """Find the piece by halving, so that expressions stay shallow and quick."""
    edges, starts = ([int(x) for x in (values * UNIT).tolist()] for values in (pieces.edges, pieces.start))
    slopes = [int(x) for x in (pieces.slope * SLOPE_UNIT).tolist()]

    def piece(k: int) -> str:
        if slopes[k] == 0:
            return dialect.double.format(starts[k])
        if edges[k] == 0 and starts[k] == 0:  # as written: scaled, the smallest doubles would be rounded twice
            steep = f"{value} * ({dialect.double.format(slopes[k])} / {int(SLOPE_UNIT)}) * {int(UNIT)}"
            return f"CASE WHEN {value} > 0 THEN {steep} ELSE {dialect.double.format(0)} END"
        return f"{starts[k]} + ({value} * {int(UNIT)} - {edges[k]}) * ({slopes[k]}) / {int(SLOPE_UNIT)}"

    def between(first: int, last: int) -> str:
        if first == last:
            return piece(first)
        middle = (first + last + 1) // 2
        lower = f"{value} * {int(UNIT)} < {edges[middle]}"
        return f"CASE WHEN {lower} THEN {between(first, middle - 1)} ELSE {between(middle, last)} END"

    return f"({between(0, len(starts) - 1)}) / {int(UNIT)}"


def columns_of(by: str | Sequence[str] | Mapping[str, str] | None, names: tuple[str, ...]) -> list[str]:
    """Return the columns of the segments, in the order of the names that the map was fitted with."""
    if isinstance(by, Mapping):
        if set(by) != set(names):
            raise InputError(f"by must name {', '.join(names)}; it names {', '.join(map(str, by)) or 'nothing'}")
        return [by[name] for name in names]
    columns = [] if by is None else [by] if isinstance(by, str) else list(by)
    if len(columns) != len(names):
        fitted = f"one for each of {', '.join(names)}" if names else "nothing, as the map was fitted without segments"
        raise InputError(f"by must name {fitted}; it names {', '.join(map(str, columns)) or 'nothing'}")
    return columns


_OPERATORS, _FORMAT = 16, 8  # versions that are read since onnxruntime 1.11


def as_onnx(pieces: PiecewiseMap) -> ModelProto:
    """Write a map as a model: doubles "p" of shape (n,) to doubles "probability" of the same shape."""
    try:
        from onnx import TensorProto, helper, numpy_helper
    except ImportError as error:
        raise MissingExtraError("to_onnx", "onnx", "onnx") from error
    nodes: list[Any] = []
    constants: list[Any] = []

    def constant(name: str, value: Any) -> str:
        constants.append(numpy_helper.from_array(np.asarray(value), name))
        return name

    def node(operator: str, *inputs: str, output: str | None = None, **attributes: Any) -> str:
        output = output or f"{operator}_{len(nodes)}"
        nodes.append(helper.make_node(operator, list(inputs), [output], **attributes))
        return output

    levels = (len(pieces.start) - 1).bit_length()
    padding = np.full((1 << levels) - len(pieces.start), np.nan)  # which no prediction reaches
    lower = constant("lower", np.concatenate([pieces.edges[:-1], padding]))
    at = constant("first", np.int64(0))
    for level in reversed(range(levels)):
        step = constant(f"step_{level}", np.int64(1 << level))
        reached = node("GreaterOrEqual", "p", node("Gather", lower, node("Add", at, step)))
        at = node("Add", at, node("Mul", node("Cast", reached, to=TensorProto.INT64), step))
    beyond = node("Sub", "p", node("Gather", lower, at))
    rise = node("Mul", beyond, node("Gather", constant("slope", pieces.slope), at))
    value = node("Add", node("Gather", constant("start", pieces.start), at), rise)
    limits = [node("GreaterOrEqual", "p", constant("zero", 0.0)), node("LessOrEqual", "p", constant("one", 1.0))]
    node("Where", node("And", *limits), value, constant("nan", np.nan), output="probability")
    ends = [helper.make_tensor_value_info(name, TensorProto.DOUBLE, ["n"]) for name in ("p", "probability")]
    graph = helper.make_graph(nodes, "recalibration", ends[:1], ends[1:], constants)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", _OPERATORS)], producer_name="rainproof")
    model.ir_version = _FORMAT
    return model
