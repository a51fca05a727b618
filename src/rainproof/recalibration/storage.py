"""A recalibrator as a JSON document: what was fitted and what is proven of it, with a digest against damage."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, fields
from types import NoneType
from typing import Any, TypeVar

from rainproof.core.json_file import check_document, digest_of
from rainproof.core.piecewise import PiecewiseMap
from rainproof.errors import InputError
from rainproof.recalibration.certificate import Certificate
from rainproof.recalibration.methods import METHODS
from rainproof.recalibration.segments import SegmentMap
from rainproof.recalibration.selection import Candidate

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
