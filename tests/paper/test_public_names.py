"""The reproduction stands outside the package: it is not installed, and uses public names alone."""

from __future__ import annotations

import ast
import re
from pathlib import Path

from helpers.cases import for_each
from helpers.public import PACKAGES

import paper
import rainproof

ROOT = Path(__file__).parent.parent.parent
FILES = sorted((ROOT / "paper").glob("*.py"))


def private(source):
    """Whatever a source uses of rainproof that is not public, and every attribute of another object
    that is private.
    """
    found = []
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            found += [name.name for name in node.names if name.name.startswith("rainproof.")]
        elif isinstance(node, ast.ImportFrom) and (node.module or "").split(".")[0] == "rainproof":
            home = node.module.partition(".")[2]
            listed = (
                rainproof.__all__
                if not home
                else getattr(rainproof, home).__all__
                if home in PACKAGES
                else ()
            )
            found += [
                f"{node.module}.{name.name}" for name in node.names if name.name not in listed
            ]
        elif (
            isinstance(node, ast.Attribute)
            and re.match("_[^_]", node.attr)
            and ast.unparse(node.value) not in ("self", "os")
        ):
            found.append(ast.unparse(node))
        elif isinstance(node, ast.Call) and ast.unparse(node.func).endswith("import_module"):
            found += [
                ast.unparse(node)
                for part in ast.walk(node)
                if "rainproof" in str(getattr(part, "value", ""))
            ]
    return found


@for_each("file", FILES)
def test_only_public_names_are_used(file):
    assert private(file.read_text()) == []
    examples = re.findall(r"(?:>>>|\.\.\.) (.*(?:import|rainproof).*)", file.read_text())
    assert not [
        line for line in examples if re.search(r"rainproof\.\w+\.\w+ import|rainproof\.paper", line)
    ]


@for_each(
    "source",
    [
        "import rainproof.core",
        "from rainproof.core.curve import SwapCurve",
        "from rainproof.errors import InputError",
        "from rainproof import core",
        "from rainproof import _STUB",
        "sample._cells",
        "import_module('rainproof.core')",
    ],
)
def test_what_is_private_is_noticed(source):
    assert private(source)


def test_it_is_not_in_the_package():
    assert not hasattr(rainproof, "paper")
    assert not (ROOT / "src" / "rainproof" / "paper").exists()
    assert "paper" not in (ROOT / "src" / "rainproof" / "meson.build").read_text()
    assert Path(paper.__file__).parent == ROOT / "paper"
