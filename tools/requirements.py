#!/usr/bin/env python3
"""Print what rainproof and some of its extras need, for the Makefile: ``tools/requirements.py
[EXTRA ...]``.

So that these packages can be fetched while the kernels are compiled.
"""

from __future__ import annotations

import re
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path

PROJECT = tomllib.loads((Path(__file__).parent.parent / "pyproject.toml").read_text())["project"]


def needed(lines: list[str]) -> Iterator[str]:
    """Yield requirements, with those of extras of rainproof in the place of their names."""
    for line in lines:
        own = re.fullmatch(r"rainproof\[(.*)\]", line)
        extras = own[1].split(",") if own else []
        yield from (
            one for extra in extras for one in needed(PROJECT["optional-dependencies"][extra])
        )
        if not own:
            yield line


if __name__ == "__main__":
    print(
        *dict.fromkeys(
            needed([*PROJECT["dependencies"], *(f"rainproof[{extra}]" for extra in sys.argv[1:])])
        ),
        sep="\n",
    )
