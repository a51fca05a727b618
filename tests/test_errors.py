"""Errors travel between processes, and name packages that rainproof's extras name too."""

from __future__ import annotations

import ast
import copy
import pickle
import re
import tomllib
from pathlib import Path

from helpers.cases import for_each

import rainproof


@for_each("travel", [lambda error: pickle.loads(pickle.dumps(error)), copy.copy])
@for_each(
    "error",
    [
        rainproof.MissingExtraError("reading Parquet", "PyArrow", "pyarrow"),
        rainproof.InputError.from_offenders("p must lie in [0, 1]", 2, "p[3]", 1.5),
    ],
)
def test_an_error_arrives_whole(error, travel):
    arrived = travel(error)
    assert type(arrived) is type(error)
    assert str(arrived) == str(error)
    assert vars(arrived) == vars(error)


def packages(requirements):
    return {re.match(r"[\w-]+", text.strip("'"))[0].lower() for text in requirements}


def test_what_a_message_installs_is_what_the_extras_install():
    root = Path(__file__).parent.parent
    extras = tomllib.loads((root / "pyproject.toml").read_text())["project"][
        "optional-dependencies"
    ]
    known = {"mlflow"} | packages(
        text for extra, listed in extras.items() if extra != "test" for text in listed
    )
    trees = [ast.parse(path.read_text()) for path in (root / "src").rglob("*.py")]
    calls = [node for tree in trees for node in ast.walk(tree) if isinstance(node, ast.Call)]
    last = [
        call.args[-1]
        for call in calls
        if getattr(call.func, "id", "") in ("MissingExtraError", "need")
    ]
    named = [argument.value for argument in last if isinstance(argument, ast.Constant)]
    assert len(named) > 9
    assert packages(" ".join(named).split()) <= known
