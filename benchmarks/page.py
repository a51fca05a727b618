"""The documentation page with the tables: each program writes its own part."""

from __future__ import annotations

import re
import tempfile
from collections.abc import Sequence
from pathlib import Path

from benchmarks.tables import Table

_INTRODUCTION = Path(__file__).with_name("introduction.md")
_START = "# Speed and memory\n\nCompare ratios, not milliseconds, with another machine.\n"


def write_page(path: Path, machine: Sequence[tuple[str, str]], tables: Sequence[Table]) -> None:
    """Write the part about measures."""
    introduction = _INTRODUCTION.read_text(encoding="utf-8").rstrip()
    lines = "\n".join(f"- {name}: {value}" for name, value in machine)
    write_part(
        path,
        "measures",
        "\n\n".join([introduction, lines, *(table.markdown() for table in tables)]),
    )


def write_part(path: Path, name: str, text: str) -> None:
    """Write what stands between the markers of a part atomically: an interrupted run leaves no
    partial page.

    Headings move down by one level. A page or a part that is not there is added.
    """
    first, last = f"<!-- part: {name} -->\n", f"<!-- end of {name} -->\n"
    page = path.read_text(encoding="utf-8") if path.exists() else _START
    before, _, rest = page.partition(first)
    after = rest.partition(last)[2] if rest else ""
    part = re.sub(r"^#", "##", text.strip(), flags=re.MULTILINE)
    path.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.NamedTemporaryFile(
        "w", dir=path.parent, suffix=".md", delete=False, encoding="utf-8"
    ) as file:
        file.write(f"{before.rstrip()}\n\n{first}{part}\n{last}{after}")
    whole = Path(file.name)
    whole.chmod(0o644)  # temporary files are private
    whole.replace(path)
