"""The gallery: every notebook runs, is short, asks a question, and has its page."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tools.make_gallery import FOLDER, GALLERY, index, write_page, write_pages

ROOT = Path(__file__).parent.parent


@pytest.mark.parametrize("name", GALLERY)
def test_a_notebook_runs_and_answers_its_question(name, tmp_path, monkeypatch):
    monkeypatch.setenv("MPLBACKEND", "agg")
    before = set(ROOT.iterdir())
    text = write_page(FOLDER / f"{name}.py", tmp_path).read_text()
    assert set(ROOT.iterdir()) == before
    question, *rest = text.splitlines()
    assert re.fullmatch(r"# .*\?", question)
    assert any(line.startswith("**So:** ") for line in rest)
    code = "".join(re.findall(r"```python\n(.*?)```", text, re.DOTALL))
    statements = [line for line in code.splitlines() if line and not line.startswith(("import ", "from "))]
    assert len(statements) <= 15
    assert re.search(r"```text\n\S", text)
    pictures = re.findall(r"\]\((.*\.png)\)", text)
    assert pictures
    assert all((tmp_path / picture).stat().st_size > 5000 for picture in pictures)


def test_a_page_has_what_its_cells_print_and_draw(tmp_path):
    file = tmp_path / "one.py"
    file.write_text("# %% [markdown]\n# # Why?\n#\n# Because.\n\n# %%\nx = 2\nprint(x)\n\n# %%\nx + 1\n")
    text = write_page(file, tmp_path).read_text()
    assert text.startswith(
        "# Why?\n\nBecause.\n\n```python\nx = 2\nprint(x)\n```\n\n```text\n2\n```\n\n```python\nx + 1\n```\n"
    )
    assert ".png" not in text


def test_a_cell_that_fails_stops_the_build(tmp_path):
    file = tmp_path / "one.py"
    file.write_text("# %%\n1 / 0\n")
    with pytest.raises(ZeroDivisionError, match="division by zero"):
        write_page(file, tmp_path)


def test_a_page_is_written_again_when_the_code_is_newer(tmp_path, monkeypatch):
    written = []
    monkeypatch.setattr("tools.make_gallery.GALLERY", ["one"])
    monkeypatch.setattr(
        "tools.make_gallery.write_page", lambda file, folder: written.append((folder / "one.md").write_text("# Why?\n"))
    )
    for changed in (0, 0, 1e18):
        [first, page] = write_pages(tmp_path, changed)
    assert len(written) == 2
    assert (first.name, page.name) == ("index.md", "one.md")
    assert "## [Why?](one.md)" in index([page])


def test_every_notebook_has_its_page_in_the_site():
    assert {file.stem for file in FOLDER.glob("*.py")} == set(GALLERY)
    assert re.findall(r" gallery/(\w+)\.md\n", (ROOT / "mkdocs.yml").read_text()) == ["index", *GALLERY]
