"""Make the pages of the gallery: each file of examples/gallery, with what it prints and draws.

MkDocs has them written on each build (tools/hooks.py), and they are not committed. A cell begins
with ``# %%``, as editors and Jupytext know it; the value of its last line is drawn if it is a
picture, which the cell's title describes.
"""

from __future__ import annotations

import ast
import contextlib
import io
import os
import re
import warnings
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parent.parent
FOLDER = ROOT / "examples" / "gallery"
ADDRESS = "https://github.com/rainproof/rainproof/blob/main/examples/gallery"


def run(code: str, names: dict[str, Any]) -> tuple[str, Any]:
    """Run a cell, and return what it prints and the value of its last line."""
    tree = ast.parse(code)
    last = tree.body.pop() if isinstance(tree.body[-1], ast.Expr) else None
    with contextlib.redirect_stdout(io.StringIO()) as printed:
        exec(compile(tree, "<cell>", "exec"), names)  # noqa: S102 - a file of ours
        value = eval(compile(ast.Expression(last.value), "<cell>", "eval"), names) if last else None  # noqa: S307
    return printed.getvalue().rstrip(), value


def _files() -> set[str]:
    """Return what is in the root of the repository, but for what programs that run meanwhile keep
    there.
    """
    return {
        file.name
        for file in ROOT.iterdir()
        if file.name != "build" and not file.name.startswith(".")
    }


def write_page(notebook: Path, folder: Path) -> Path:
    """Run a notebook in the root of the repository; write its page, and its pictures beside it.

    A warning, or a file that it leaves there, is an error.
    """
    parts, pictures, names = [], 0, {"__name__": "__main__"}
    before = _files()
    with contextlib.chdir(ROOT), warnings.catch_warnings(action="error"):
        for cell in re.split(r"^# %%", notebook.read_text(encoding="utf-8"), flags=re.MULTILINE)[
            1:
        ]:
            kind, _, body = cell.partition("\n")
            if kind.strip() == "[markdown]":
                parts.append(re.sub(r"^# ?", "", body.strip(), flags=re.MULTILINE))
                continue
            printed, value = run(body, names)
            parts.append(f"```python\n{body.strip()}\n```")
            parts += [f"```text\n{printed}\n```"] if printed else []
            figure = getattr(value, "figure", value)  # of axes, or itself
            if hasattr(figure, "savefig"):
                pictures += 1
                name = f"{notebook.stem}-{pictures}.png"
                figure.savefig(
                    folder / name, dpi=100, bbox_inches="tight", metadata={"Software": None}
                )
                parts.append(f"![{kind.strip()}]({name})")
    if left := _files() - before:
        raise RuntimeError(f"{notebook.name} leaves {', '.join(sorted(left))} in the repository")
    parts.append(
        f"[`examples/gallery/{notebook.name}`]({ADDRESS}/{notebook.name}) is this page as a "
        "notebook."
    )
    page = folder / f"{notebook.stem}.md"
    page.write_text("\n\n".join(parts) + "\n", encoding="utf-8")
    return page


def index(pages: list[Path]) -> str:
    """Return a page with the question and the first picture of each."""
    lines = [
        "# Gallery",
        "",
        "Questions that people have about a forecast, each answered in a few lines that can be "
        "copied.",
        "",
    ]
    for page in pages:
        question = page.read_text(encoding="utf-8").partition("\n")[0].removeprefix("# ")
        lines.append(f"- [{question} ![]({page.stem}-1.png)]({page.name})")
    return "\n".join(lines) + "\n"


def write_pages(folder: Path, changed: float) -> list[Path]:
    """Write the pages that are older than the code, and return all files of the gallery."""
    folder.mkdir(parents=True, exist_ok=True)
    pages = []
    for notebook in (FOLDER / f"{name}.py" for name in GALLERY):
        page = folder / f"{notebook.stem}.md"
        if not page.exists() or page.stat().st_mtime < changed:
            os.environ.setdefault("MPLBACKEND", "agg")
            write_page(notebook, folder)
        pages.append(page)
    (folder / "index.md").write_text(index(pages), encoding="utf-8")
    return [
        folder / "index.md",
        *pages,
        *(picture for page in pages for picture in folder.glob(f"{page.stem}-*.png")),
    ]


# In the order of the page.
GALLERY = ["digits", "cancer", "rain", "flights", "fraud", "classes", "abstain", "hospitals"]
