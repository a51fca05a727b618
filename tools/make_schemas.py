"""Write the JSON Schema of every result, from its fields and docstring: make schemas.

A schema says what `to_dict` returns: the fields of the class, and the properties in `_also`. The
description of each is the first sentence that the docstring has for it. Documents that are put
together by hand have schemas by hand.
"""

from __future__ import annotations

import inspect
import json
import re
import types
import typing
from collections.abc import Mapping
from dataclasses import is_dataclass
from enum import Enum
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

import rainproof
from rainproof.core.result import Result, field_names

FOLDER = Path(__file__).parent.parent / "docs" / "schema"
DRAFT = "https://json-schema.org/draft/2020-12/schema"
SIMPLE: dict[Any, dict[str, Any]] = {
    bool: {"type": "boolean"},
    int: {"type": "integer"},
    str: {"type": "string"},
    float: {"type": ["number", "null"]},  # null: not finite
    type(None): {"type": "null"},
}


def schema_of(hint: Any) -> dict[str, Any]:
    """Return the schema of what a result's `to_dict` makes of a value of this type."""
    origin, parts = typing.get_origin(hint), typing.get_args(hint)
    if hint in SIMPLE:
        return SIMPLE[hint]
    if origin in (typing.Union, types.UnionType):
        kinds = [schema_of(part) for part in parts if part is not type(None) or float not in parts]
        return kinds[0] if len(kinds) == 1 else {"anyOf": kinds}
    if origin is typing.Literal:
        return {"enum": list(parts)}
    if origin in (np.ndarray, tuple, list):
        same = len(parts) == 2 and parts[1] is ...
        return {"type": "array", "items": schema_of(parts[0])} if same else {"type": "array"}
    if inspect.isclass(origin) and issubclass(origin, Mapping):
        return {"type": "object", "additionalProperties": schema_of(parts[1])}
    if not inspect.isclass(hint):
        return {}
    if issubclass(hint, Enum):
        return {"enum": [one.value for one in hint]}
    if hasattr(hint, "_fields"):  # a named tuple
        return closed({name: schema_of(kind) for name, kind in typing.get_type_hints(hint).items()})
    if hint is rainproof.Recalibrator:
        return {"$ref": "recalibrate.json"}
    if hint in results().values():
        return {"$ref": f"results.json#/$defs/{hint.__name__}"}
    return object_schema(hint) if is_dataclass(hint) and not inspect.isabstract(hint) else {}


def closed(properties: dict[str, Any]) -> dict[str, Any]:
    """Return the schema of an object with these properties and no others."""
    return {
        "type": "object",
        "properties": properties,
        "required": list(properties),
        "additionalProperties": False,
    }


def object_schema(kind: type, **more: Any) -> dict[str, Any]:
    """Return the schema of `to_dict` of a result, with more properties in front."""
    if getattr(kind, "to_dict", Result.to_dict) is not Result.to_dict:
        return {"type": "object"}  # put together by hand
    hints, about = typing.get_type_hints(kind), descriptions(kind)
    told = {name: hints[name] for name in field_names(kind)}
    for name in getattr(kind, "_also", ()):
        found = inspect.getattr_static(kind, name)
        told[name] = (
            typing.get_type_hints(found.fget)["return"] if isinstance(found, property) else Any
        )
    properties = {
        name: {**schema_of(hint), **({"description": about[name]} if name in about else {})}
        for name, hint in told.items()
    }
    made_by = {"result": {"const": kind._kind}} if getattr(kind, "_kind", "") else {}  # noqa: SLF001
    return closed(more | made_by | properties)


def descriptions(kind: type) -> dict[str, str]:
    """Return the first sentence of what a docstring says of each attribute."""
    section = re.search(
        r"Attributes\n-+\n(.*?)(?:\n\n[A-Z]\w+\n-+\n|\Z)", inspect.getdoc(kind) or "", re.DOTALL
    )
    entries = re.findall(
        r"^([\w, ]+?) :[^\n]*\n((?:    [^\n]*\n?)+)", section[1] if section else "", re.MULTILINE
    )
    found = {}
    for names, text in entries:
        sentence = re.split(r"(?<=\.)\s", " ".join(text.split()), maxsplit=1)[0]
        found |= dict.fromkeys(names.split(", "), sentence.removesuffix("."))
    return found


@cache
def results() -> dict[str, type[Result]]:
    """Return the types of results whose `to_dict` their fields make, by name."""
    kinds = {name: getattr(rainproof.results, name) for name in rainproof.results.__all__}
    own = {
        name: kind
        for name, kind in kinds.items()
        if inspect.isclass(kind) and issubclass(kind, Result)
    }
    return {
        name: kind
        for name, kind in own.items()
        if is_dataclass(kind) and kind.to_dict is Result.to_dict
    }


def document(name: str, title: str, schema: dict[str, Any]) -> dict[str, Any]:
    """Return a schema as a file of its own."""
    return {"$schema": DRAFT, "$id": f"{name}.json", "title": title, **schema}


def schemas() -> dict[str, dict[str, Any]]:
    """Return the documents by name."""
    version = {"rainproof": {"type": "string", "description": "the version of rainproof"}}
    kinds = rainproof.results
    return {
        "results": document(
            "results",
            "to_dict() of every result, by the name of its type",
            {"$defs": {name: object_schema(kind) for name, kind in results().items()}},
        ),
        "assess-classes": document(
            "assess-classes",
            "rainproof assess --classes --json",
            {"$ref": "results.json#/$defs/ClassAssessment"},
        ),
        "measure-classes": document(
            "measure-classes",
            "rainproof measure --classes --json",
            object_schema(kinds.ClassMeasurements, **version),
        ),
        "monitor": document(
            "monitor", "rainproof monitor --json", object_schema(kinds.MonitoringResult, **version)
        ),
        "threshold": document(
            "threshold",
            "rainproof threshold --json",
            object_schema(kinds.ProvenThreshold, **version),
        ),
    }


def main() -> None:
    """Write them."""
    for name, schema in schemas().items():
        (FOLDER / f"{name}.json").write_text(json.dumps(schema, indent=1) + "\n")


if __name__ == "__main__":
    main()
