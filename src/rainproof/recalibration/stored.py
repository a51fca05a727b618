"""A fitted recalibrator as JSON has it: written, and read again.

A file may come from anywhere. Whatever no fit can have written is refused, with the name of what
is wrong, so that a map that is loaded can be trusted as one that is fitted.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import fields
from datetime import date
from decimal import Decimal
from types import NoneType
from typing import Any, NamedTuple, TypeVar

from rainproof.core.documents import check_document, document
from rainproof.core.labels import check_label, is_plain_label, spelled
from rainproof.core.piecewise import PiecewiseMap
from rainproof.core.result import Result, plain
from rainproof.core.validation import ThresholdRange, check_base_rate, check_range
from rainproof.errors import InputError
from rainproof.inference.options import check_share
from rainproof.recalibration.certificate import Certificate, ClassCertificate
from rainproof.recalibration.fitting import MEAN, Fitted
from rainproof.recalibration.maps import ClassMap, read_map
from rainproof.recalibration.method_names import EVENT_METHODS, KNOWN_METHODS
from rainproof.recalibration.methods import check_shape
from rainproof.recalibration.segment_maps import SegmentMap, SpelledKey, check_spelling
from rainproof.recalibration.selection import Candidate

Record = TypeVar("Record", bound=Result)

_KIND = "recalibrator"
_VERSION = 1
_KEYS = (
    "method",
    "methods",
    "confidence_level",
    "threshold_range",
    "by",
    "n",
    "groups",
    "map",
    "candidates",
    "certificate",
    "segments",
)
_WEIGHTS_OFF = 1e-6  # of 1, for the sum of weights that were rounded

_MOST_ROWS = 1 << 53  # numbers of rows are exact as doubles up to here

_TYPES: dict[str, tuple[type, ...]] = {
    "float": (float,),
    "int": (int,),
    "bool": (bool,),
    "str": (str,),
    "int | None": (int, NoneType),
    "float | None": (float, NoneType),
    "BaseRate | None": (float, list, NoneType),
}
_ROUNDING = 1e-9  # by which a computed share may lie beyond 0 or 1
_SHARE = (0.0, 1.0)
_LIMITS = {
    "weight": _SHARE,
    "harm_bound": _SHARE,
    "gain_at_least": _SHARE,
    "harm": _SHARE,
    "gain": _SHARE,
    "loss_bound": _SHARE,
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


class Stored(NamedTuple):
    """What a file says: the parameters of a recalibrator, and what was fitted with them."""

    methods: str | list[str]
    confidence_level: float
    threshold_range: ThresholdRange | None
    fitted: Fitted


def write(stored: Stored) -> dict[str, Any]:
    """Return all of it in built-in types, ready for JSON."""
    fitted = stored.fitted
    if isinstance(fitted.map, ClassMap):
        for label in fitted.map.classes:
            check_label(label, "to be stored")
    segments = []
    for segment in fitted.segments:
        own = fitted.segment_maps.get(segment.key)
        content = segment.to_dict()
        content["segment"] = plain_labels(segment.segment, "to be stored")
        content["map"] = None if own is None else own.to_dict()
        segments.append(content)
    certificate = fitted.certificate
    content = {
        "method": fitted.method,
        "methods": stored.methods,
        "confidence_level": stored.confidence_level,
        "threshold_range": plain(stored.threshold_range),
        "by": None if fitted.by is None else list(fitted.by),
        "n": fitted.n,
        "groups": fitted.groups,
        "map": fitted.map.to_dict(),
        "candidates": [candidate.to_dict() for candidate in fitted.candidates],
        "certificate": None if certificate is None else certificate.to_dict(),
        "segments": segments,
    }
    return document(_KIND, _VERSION, content)


def plain_labels(key: Any, where: str) -> list[Any]:
    """Return the labels of a segment, one for each column, if other programs understand them; dates
    as their text.
    """
    labels = []
    of_columns = key if isinstance(key, tuple) else (key,)
    for label in of_columns:
        as_plain = spelled(label) if isinstance(label, date | Decimal) else label
        check_label(as_plain, where)
        labels.append(as_plain)
    return labels


def read(data: Any) -> Stored:
    """Read what `write` wrote; anything that was changed is refused."""
    data = check_document(data, _KIND, version=_VERSION, keys=_KEYS)
    by = None if data["by"] is None else tuple(_list_of(data["by"], "by", str))
    methods = data["methods"]
    if methods != "auto":
        methods = _list_of(methods, "methods", str)
    has_classes = isinstance(data["map"], dict) and "classes" in data["map"]
    known = KNOWN_METHODS if has_classes else EVENT_METHODS
    if data["method"] != MEAN:
        _check_known("method", [data["method"]], known)
    if methods != "auto":
        _check_known("methods", methods, known)
    if not methods:
        raise InputError("'methods' must name at least one method; it is empty")
    columns = 0 if by is None else len(by)
    segments = []
    segment_maps: dict[SpelledKey, PiecewiseMap] = {}
    for part in _list_of(data["segments"], "segments", dict):
        segment, own = _read_segment(part, columns)
        segments.append(segment)
        if own is not None:
            segment_maps[segment.key] = own
    check_spelling(segment.segment for segment in segments)
    level = check_share(data["confidence_level"], "confidence_level")
    threshold_range = _read_range(data["threshold_range"])
    map_ = read_map(data["map"])
    certificate: Certificate | ClassCertificate | None = None
    if data["certificate"] is not None:
        kind: type[Certificate | ClassCertificate]
        kind = ClassCertificate if has_classes else Certificate
        certificate = _read_record(kind, data["certificate"])
    if isinstance(map_, PiecewiseMap):
        check_shape(map_, data["method"])
    n = _read_number(data["n"], "n", _MOST_ROWS)
    groups = None if data["groups"] is None else _read_number(data["groups"], "groups", n)
    candidates = tuple(
        _read_record(Candidate, candidate)
        for candidate in _list_of(data["candidates"], "candidates", dict)
    )
    _check_candidates(candidates, known, has_classes=has_classes)
    _check_held_out(n, certificate, segments)
    fitted = Fitted(
        map=map_,
        method=data["method"],
        candidates=candidates,
        certificate=certificate,
        n=n,
        groups=groups,
        by=by,
        segments=tuple(segments),
        segment_maps=segment_maps,
    )
    return Stored(methods, level, threshold_range, fitted)


def _list_of(values: Any, name: str, kind: type) -> list[Any]:
    """Return a list of text or of objects, if it is one."""
    if not isinstance(values, list) or not all(isinstance(value, kind) for value in values):
        raise InputError(f"{name!r} must be a list of {'objects' if kind is dict else 'text'}")
    return values


def _read_number(value: Any, name: str, most: int) -> int:
    """Return a whole number, if it is one, from 1 to `most`."""
    if type(value) is not int:
        raise InputError(f"{name!r} must be a whole number; it is {value!r}")
    if value < 1:
        raise InputError(f"{name!r} must be 1 or more; it is {value}")
    if value > most:
        raise InputError(f"{name!r} must be {most:,} or less; it is larger")
    return value


def _check_known(name: str, methods: Sequence[str], known: Sequence[str]) -> None:
    for method in methods:
        if method not in known:
            raise InputError(f"{name!r} must be among {', '.join(known)}; {method!r} is not")


def _read_range(value: Any) -> ThresholdRange | None:
    """Return a range of thresholds, if it is one; None for every decision."""
    if value is None:
        return None
    if not isinstance(value, dict) or set(value) != {"low", "high"}:
        raise InputError(
            f"'threshold_range' must be null, or have 'low' and 'high'; it is {value!r:.60}"
        )
    return check_range((value["low"], value["high"]))


def _read_segment(data: dict[str, Any], columns: int) -> tuple[SegmentMap, PiecewiseMap | None]:
    """Read a segment, with its map if it has one."""
    if "map" not in data:
        raise InputError("a segment must have 'map'")
    own = None if data["map"] is None else PiecewiseMap.from_dict(data["map"])
    labels: Any = data.get("segment")
    is_key = isinstance(labels, list) and len(labels) == columns > 0
    if not is_key or not all(is_plain_label(label) for label in labels):
        raise InputError("a segment must have one label for each name in 'by'")
    key = tuple(labels) if columns > 1 else labels[0]
    rest = {name: value for name, value in data.items() if name != "map"}
    segment = _read_record(SegmentMap, {**rest, "segment": key})
    if segment.corrected != (own is not None):
        raise InputError("a segment must have a map if it is corrected, and only then")
    return segment, own


def _read_record(cls: type[Record], data: Any) -> Record:
    """Make a result from its fields, each of its type."""
    kinds = {field.name: str(field.type) for field in fields(cls)}
    if not isinstance(data, dict) or set(data) != set(kinds):
        raise InputError(f"a {cls.__name__} must have {', '.join(map(repr, kinds))}")
    values = dict(data)
    for name, kind in kinds.items():
        if kind == "ThresholdRange | None":
            values[name] = _read_range(values[name])
        elif kind != "Any" and type(values[name]) not in _TYPES[kind]:
            raise InputError(
                f"{name!r} of a {cls.__name__} must be of type {kind}; it is {values[name]!r}"
            )
    for name, (low, high) in _LIMITS.items():
        value = values.get(name)
        if value is not None and not low - _ROUNDING <= value <= high + _ROUNDING:
            rule = f"{low:g} or more" if high == math.inf else f"from {low:g} to {high:g}"
            raise InputError(f"{name!r} of a {cls.__name__} must be {rule}; it is {value!r}")
    if "confidence_level" in values:
        check_share(values["confidence_level"], f"'confidence_level' of a {cls.__name__}")
    if values.get("base_rate") is not None:
        values["base_rate"] = check_base_rate(values["base_rate"])
    return cls(**values)


def _check_held_out(
    n: int, certificate: Certificate | ClassCertificate | None, segments: Sequence[SegmentMap]
) -> None:
    """Refuse more rows held out than there are."""
    for_certificate = 0 if certificate is None else certificate.n
    for_segments = sum(segment.n for segment in segments)
    held_out = max(for_certificate, for_segments)
    if held_out > n:
        raise InputError(
            f"'n' must be the number of all rows; it is {n:,}, and {held_out:,} are held out"
        )


def _check_candidates(
    candidates: Sequence[Candidate], known: Sequence[str], *, has_classes: bool
) -> None:
    """Refuse candidates that no fit has; only of several classes can a Brier score be above 1."""
    for candidate in candidates:
        if candidate.brier_score > 1 and not has_classes:
            raise InputError(
                f"'brier_score' of a Candidate must be from 0 to 1; it is {candidate.brier_score!r}"
            )
        if candidate.method not in known:
            raise InputError(
                f"'method' of a Candidate must be among {', '.join(known)}; {candidate.method!r} "
                "is not"
            )
    total = sum(candidate.weight for candidate in candidates)
    if candidates and abs(total - 1) > _WEIGHTS_OFF:
        raise InputError(f"the 'weight' of all candidates must sum to 1; they sum to {total:.6g}")
