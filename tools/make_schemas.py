"""Write the JSON Schemas of results, from their fields and docstrings: python tools/make_schemas.py.

A schema says what `to_dict` returns: the fields of the class, and the properties in `_also`. The description of each is
the first sentence that the docstring has for it.
"""

from __future__ import annotations

import inspect
import re
import types
import typing
from collections.abc import Mapping
from dataclasses import is_dataclass
from enum import Enum
from pathlib import Path
from typing import Any

import numpy as np

from rainproof.core.result import Result, field_names

FOLDER = Path(__file__).parent.parent / "docs" / "schema"
NUMBER = {"type": ["number", "null"]}  # null: not finite
SIMPLE = {bool: "boolean", int: "integer", str: "string", type(None): "null"}


def schema_of(hint: Any) -> dict[str, Any]:
    """Return the schema of what `plain` makes of a value of this type."""
    origin, parts = typing.get_origin(hint), typing.get_args(hint)
    if origin in (typing.Union, types.UnionType):
        return {"anyOf": [schema_of(part) for part in parts]}
    if origin is typing.Literal:
        return {"enum": list(parts)}
    if origin is np.ndarray or hint is np.ndarray:
        return {"type": "array"}
    if origin in (tuple, list) or (inspect.isclass(origin) and issubclass(origin, typing.Sequence)):
        return {"type": "array", "items": schema_of(parts[0])} if len({*parts} - {...}) == 1 else {"type": "array"}
    if origin is not None and issubclass(origin, Mapping):
        return {"type": "object", "additionalProperties": schema_of(parts[1])}
    if hint is float:
        return NUMBER
    if hint in SIMPLE:
        return {"type": SIMPLE[hint]}
    if inspect.isclass(hint) and issubclass(hint, Enum):
        return {"enum": [one.value for one in hint]}
    if inspect.isclass(hint) and (issubclass(hint, Result) or (is_dataclass(hint) and not hasattr(hint, "to_dict"))):
        return object_schema(hint)
    if inspect.isclass(hint) and hasattr(hint, "_fields"):
        return closed({name: schema_of(kind) for name, kind in typing.get_type_hints(hint).items()})
    return {}


def closed(properties: dict[str, Any]) -> dict[str, Any]:
    """Return the schema of an object with these properties and no others."""
    return {"type": "object", "properties": properties, "required": list(properties), "additionalProperties": False}


def object_schema(kind: type) -> dict[str, Any]:
    """Return the schema of `to_dict` of a result."""
    if issubclass(kind, Result) and kind.to_dict is not Result.to_dict:
        return {"type": "object"}  # written by hand
    hints = typing.get_type_hints(kind)
    names = {name: hints[name] for name in field_names(kind)}
    for name in getattr(kind, "_also", ()):
        found = inspect.getattr_static(kind, name)
        names[name] = typing.get_type_hints(found.fget)["return"] if isinstance(found, property) else Any
    about = descriptions(kind)
    told = {
        name: {**schema_of(hint), **({"description": about[name]} if name in about else {})}
        for name, hint in names.items()
    }
    made_by = getattr(kind, "_kind", "")
    return closed(({"result": {"const": made_by}} if made_by else {}) | told)


def descriptions(kind: type) -> dict[str, str]:
    """Return the first sentence of what a docstring says of each attribute."""
    section = re.search(r"Attributes\n-+\n(.*?)(?:\n\n[A-Z]\w+\n-+\n|\Z)", inspect.getdoc(kind) or "", re.DOTALL)
    found = {}
    for names, text in re.findall(
        r"^([\w, ]+?) :[^\n]*\n((?:    [^\n]*\n?)+)", section[1] if section else "", re.MULTILINE
    ):
        sentence = re.split(r"(?<=\.)\s", " ".join(text.split()), maxsplit=1)[0]
        found |= dict.fromkeys(re.split(r", ", names), sentence.removesuffix("."))
    return found
