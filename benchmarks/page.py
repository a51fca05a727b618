"""The documentation page with the tables."""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from pathlib import Path

from benchmarks.tables import Table

_INTRODUCTION = Path(__file__).with_name("introduction.md")


def write_page(path: Path, machine: Sequence[tuple[str, str]], tables: Sequence[Table]) -> None:
    """Write the page atomically: an interrupted run leaves no partial page."""
    parts = [_INTRODUCTION.read_text().rstrip(), "\n".join(f"- {name}: {value}" for name, value in machine)]
    parts += [table.markdown() for table in tables]
    path.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.NamedTemporaryFile("w", dir=path.parent, suffix=".md", delete=False) as file:
        file.write("\n\n".join(parts) + "\n")
    whole = Path(file.name)
    whole.chmod(0o644)  # temporary files are private
    whole.replace(path)
