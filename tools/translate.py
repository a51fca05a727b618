#!/usr/bin/env python3
"""Translate kernels to C, for meson.build: ``tools/translate.py CYTHON FOLDER [OPTION ...] FILE
...``.

One process for all kernels of a package: what Cython reads before its first file takes longer than
a kernel does. A translation that is as it was keeps its time, so that only what has changed is
compiled again.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
from pathlib import Path


def main(cython: str, folder: str, *arguments: str) -> int:
    """Run Cython, and copy what differs to the folder."""
    with tempfile.TemporaryDirectory() as written:
        code = subprocess.run([cython, "-o", written, *arguments], check=False).returncode  # noqa: S603
        for file in Path(written).iterdir():
            kept = Path(folder) / file.name
            if not kept.exists() or kept.read_bytes() != file.read_bytes():
                kept.write_bytes(file.read_bytes())
    return code


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
