"""The gallery: every notebook runs, is short, asks a question, and has its page."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from helpers.cases import for_each

from tools.make_gallery import FOLDER, GALLERY, index, write_page, write_pages

ROOT = Path(__file__).parent.parent


@pytest.fixture(scope="module")
def gallery():
    """Return the folder of the pages that `make docs` has made; those that are older than the code
    are made again.
    """
    from tools.make_stories import changed  # with all that stories need

    folder = ROOT / "build" / "gallery"
    write_pages(folder, changed())
    return folder


@pytest.mark.parametrize("name", GALLERY)
def test_a_notebook_runs_and_answers_its_question(name, gallery):
    text = (gallery / f"{name}.md").read_text()
    question, *rest = text.splitlines()
    assert re.fullmatch(r"# .*\?", question)
    assert any(line.startswith("**So:** ") for line in rest)
    code = "".join(re.findall(r"```python\n(.*?)```", text, re.DOTALL))
    statements = [
        line for line in code.splitlines() if line and not line.startswith(("import ", "from "))
    ]
    assert len(statements) <= 15
    assert re.search(r"```text\n\S", text)
    pictures = re.findall(r"!\[(.*)\]\((.*\.png)\)", text)
    assert pictures
    assert all(
        len(seen) > 40 and (gallery / picture).stat().st_size > 5000 for seen, picture in pictures
    )
    assert f"/blob/main/examples/gallery/{name}.py)" in rest[-1]


def test_a_page_has_what_its_cells_print_and_draw(tmp_path):
    file = tmp_path / "one.py"
    file.write_text(
        "# %% [markdown]\n# # Why?\n#\n# Because.\n\n# %%\nx = 2\nprint(x)\n\n# %%\nx + 1\n"
    )
    text = write_page(file, tmp_path).read_text()
    assert text.startswith(
        "# Why?\n\nBecause.\n\n```python\nx = "
        "2\nprint(x)\n```\n\n```text\n2\n```\n\n```python\nx + 1\n```\n"
    )
    assert ".png" not in text


@for_each(
    "code, error",
    [
        ("1 / 0", pytest.raises(ZeroDivisionError, match="division by zero")),
        ("import warnings\nwarnings.warn('old')", pytest.raises(UserWarning, match="old")),
        (
            "open('left.txt', 'w').close()",
            pytest.raises(RuntimeError, match=r"^one\.py leaves left\.txt in the repos"),
        ),
    ],
)
def test_a_cell_that_fails_warns_or_leaves_a_file_stops_the_build(
    code, error, tmp_path, monkeypatch
):
    monkeypatch.setattr("tools.make_gallery.ROOT", tmp_path / "root")
    (tmp_path / "root").mkdir()
    file = tmp_path / "one.py"
    file.write_text(f"# %%\n{code}\n")
    with error:
        write_page(file, tmp_path)


def test_a_page_is_written_again_when_the_code_is_newer(tmp_path, monkeypatch):
    written = []
    monkeypatch.setattr("tools.make_gallery.GALLERY", ["one"])
    monkeypatch.setattr(
        "tools.make_gallery.write_page",
        lambda file, folder: written.append((folder / "one.md").write_text("# Why?\n")),
    )
    for changed in (0, 0, 1e18):
        [first, page] = write_pages(tmp_path, changed)
    assert len(written) == 2
    assert (first.name, page.name) == ("index.md", "one.md")
    assert "- [Why? ![](one-1.png)](one.md)\n" in index([page])


def test_every_notebook_has_its_page_in_the_site():
    assert {file.stem for file in FOLDER.glob("*.py")} == set(GALLERY)
    assert re.findall(r" gallery/(\w+)\.md\n", (ROOT / "mkdocs.yml").read_text()) == [
        "index",
        *GALLERY,
    ]
