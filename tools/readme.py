"""Write README.md for PyPI, which has no files of the repository beside it: every link gets its
whole address.

``python -m tools.readme`` changes the file in place; the workflow of releases runs it before it
builds.
"""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

ROOT = Path(__file__).parent.parent


def with_addresses(text: str) -> str:
    """Return Markdown whose links to files of the repository are those of its address in
    pyproject.toml.
    """
    urls = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["urls"]
    repository = urls["Repository"]
    text = re.sub(r"(!\[[^\]]*\]\()(?!https?:)", rf"\1{repository}/raw/main/", text)
    return re.sub(r"(\]\()(?!https?:|#)", rf"\1{repository}/blob/main/", text)


if __name__ == "__main__":
    readme = ROOT / "README.md"
    readme.write_text(
        with_addresses(readme.read_text(encoding="utf-8")), encoding="utf-8", newline="\n"
    )
