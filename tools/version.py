#!/usr/bin/env python3
"""Print the version, for meson.build: it is written in src/rainproof/core/__init__.py, and nowhere
else.
"""

from __future__ import annotations

import runpy
from pathlib import Path

if __name__ == "__main__":
    print(
        runpy.run_path(str(Path(__file__).parent.parent / "src/rainproof/core/__init__.py"))[
            "VERSION"
        ]
    )
