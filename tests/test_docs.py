"""What pages quote and draw is what the code does."""

from __future__ import annotations

import inspect
import os
import re
import sys
import tomllib
from pathlib import Path
from types import SimpleNamespace

import material
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import yaml
from helpers.cases import for_each
from markdown import markdown
from mkdocs.commands.build import build
from mkdocs.config import load_config

import rainproof
from rainproof.cli import main
from tools.hooks import description, with_options

ROOT = Path(__file__).parent.parent
PAGES = {
    path.relative_to(ROOT / "docs").as_posix(): path.read_text()
    for path in (ROOT / "docs").rglob("*.md")
}


@pytest.fixture
def stories(monkeypatch):
    monkeypatch.syspath_prepend(str(ROOT / "tools"))
    import make_stories

    yield make_stories
    sys.modules.pop("make_stories")


@pytest.fixture
def docstrings(monkeypatch):
    monkeypatch.syspath_prepend(str(ROOT / "tools"))
    import docstrings

    yield docstrings
    sys.modules.pop("docstrings")


def test_formulas_and_tables_of_docstrings_are_drawn(docstrings):
    text = (
        "Is\n\n.. math:: a_1 <\n    \\tfrac12.\n\n=== ==\na   b\n=== ==\n1   `2`\n    3\n4\n=== =="
    )
    thing = SimpleNamespace(docstring=SimpleNamespace(value=text))
    docstrings.Docstrings().on_instance(obj=thing)
    written = (
        "Is\n\n:math:`a_1 < \\tfrac12.`\n\n\n| a | b |\n| --- | --- |\n| 1 | `2` 3 |\n| 4 |  |"
    )
    assert thing.docstring.value == written
    alone = docstrings.with_formulas("<p>:math:<code>a_1 &lt; \\tfrac12</code></p>")
    assert alone.startswith("<math ")
    assert 'display="block"' in alone
    assert "<mfrac>" in alone
    inside = docstrings.with_formulas("<p>:math:<code>a</code> is <code>b</code>.</p>")
    assert re.fullmatch(r'<p><math [^>]* display="inline">.*</math> is <code>b</code>.</p>', inside)
    assert "<mi>s</mi></msub><mi>\u2033</mi>" in docstrings.with_formulas(
        ":math:<code>r_s''</code>"
    )
    assert (
        docstrings.with_links("See docs/guide/data.md.")
        == 'See <a href="../../guide/data/">data</a>.'
    )


def test_every_formula_can_be_drawn(docstrings):
    text = "".join(path.read_text() for path in (ROOT / "src").rglob("*.py"))
    formulas = re.findall(r":math:`(.+?)`", docstrings._BLOCK.sub(r":math:`\2`", text), re.DOTALL)
    assert len(formulas) > 200
    for formula in formulas:
        assert "<merror" not in docstrings.with_formulas(f":math:<code>{formula}</code>")


def test_a_wrong_quotation_is_found(stories, tmp_path):
    (tmp_path / "one.html").write_text("<li>Act on it. It loses 3% at most, &#x27;wait&#x27;.</li>")
    page = (
        "**[The report](stories/one.html)** says:\n\n> Act on it. [...] 3% at\n> most, "
        "'wait'.\n\nAnd then.\n"
    )
    assert stories.misquoted(page, tmp_path) == []
    assert stories.misquoted(page.replace("3%", "2%"), tmp_path) == ["one: 2% at most, 'wait'."]


def test_every_report_is_quoted(stories):
    text = (ROOT / "docs" / "guide" / "stories.md").read_text()
    for name in stories.STORIES:
        assert f"](stories/{name}.html)" in text


def test_a_report_is_written_once_until_the_code_changes(stories, tmp_path, monkeypatch):
    written = []

    class Assessed:
        def to_html(self, path, title):
            written.append(title)
            path.write_text(title)

    monkeypatch.setattr(stories, "STORIES", {"one": ("One", Assessed)})
    assert [page.name for page in stories.write_reports(tmp_path)] == ["one.html"]
    stories.write_reports(tmp_path)
    assert written == ["One"]
    os.utime(tmp_path / "one.html", (0, 0))
    stories.write_reports(tmp_path)
    assert written == ["One", "One"]


def drawings():
    """Return the functions named in each drawing of docs/theory/how-it-works.md, from top to
    bottom.
    """
    text = (ROOT / "docs" / "theory" / "how-it-works.md").read_text()
    blocks = re.findall(r"```text\n(.*?)```", text, re.DOTALL)
    return [
        re.findall(r"^ +\| +((?:[a-z]\w*\.){2,}\w[\w.]*)", block, re.MULTILINE) for block in blocks
    ]


def first_calls(call):
    """Return the functions of rainproof that a call runs, in the order in which each is first
    entered.
    """
    seen = {}

    def enter(frame, event, _):
        module = frame.f_globals.get("__name__", "")
        # the body of a class runs when its module is imported, and only then
        is_function = frame.f_code.co_flags & inspect.CO_NEWLOCALS
        if event == "call" and is_function and module.startswith("rainproof."):
            name = frame.f_code.co_qualname.removesuffix(".__init__")
            seen.setdefault(f"{module.removeprefix('rainproof.')}.{name}", len(seen))

    sys.setprofile(enter)
    try:
        call()
    finally:
        sys.setprofile(None)
    return seen


def test_the_drawings_show_what_the_code_does(tmp_path):
    rng = np.random.default_rng(0)
    p = rng.random(300)
    y = rng.random(300) < p
    file = tmp_path / "file.parquet"
    pq.write_table(pa.table({"p": p, "y": y}), file)
    report = [
        "report",
        str(file),
        "--prob",
        "p",
        "--outcome",
        "y",
        "-o",
        str(tmp_path / "a.html"),
        "--quiet",
    ]
    _, assess, command = drawings()
    for drawn, call in (
        (assess, lambda: rainproof.assess(y, p, measures=[], n_resamples=19, rng=0)),
        (command, lambda: main(report)),
    ):
        seen = first_calls(call)
        assert [name for name in drawn if name not in seen] == []
        assert sorted(drawn, key=seen.__getitem__) == drawn
    assert len(assess) >= 10
    assert len(command) >= 6


def test_the_drawing_of_the_packages_is_what_the_linter_holds():
    layers = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["importlinter"][
        "contracts"
    ][0]["layers"]
    text = (ROOT / "docs" / "theory" / "how-it-works.md").read_text()
    drawing = re.search(r"```text\n(.*?)```", text, re.DOTALL)[1]
    drawn = [
        set(re.findall(r"[a-z]+", line[:34]))
        for line in drawing.splitlines()
        if re.search(r"[a-z]", line[:34])
    ]
    assert drawn == [set(layer.split(" | ")) for layer in layers]
    assert (
        f"    {' -> '.join(f'({layer})' if '|' in layer else layer for layer in layers)}\n"
        in (ROOT / "CONTRIBUTING.md").read_text()
    )


def test_every_file_that_the_page_names_exists():
    text = (ROOT / "docs" / "theory" / "how-it-works.md").read_text()
    there = {
        file.name for folder in ("src/rainproof", "paper") for file in (ROOT / folder).rglob("*.*")
    }
    assert set(re.findall(r"`(\w+\.(?:py|js))`", text)) <= there


def titles():
    """Return what the navigation calls each page: a label of its own, or the page's first
    heading.
    """
    found = {}
    for part in yaml.safe_load((ROOT / "mkdocs.yml").read_text())["nav"]:
        [pages] = part.values()
        for page in [pages] if isinstance(pages, str) else pages:
            label, path = next(iter(page.items())) if isinstance(page, dict) else (None, page)
            found[path] = label or (
                PAGES[path].partition("\n")[0].removeprefix("# ") if path in PAGES else path
            )
    return found


def test_every_page_has_a_title_and_a_description_of_its_own():
    assert set(PAGES) <= titles().keys()
    assert len(set(titles().values())) == len(titles())
    said = {description(markdown(text)) for text in PAGES.values()}
    assert len(said) == len(PAGES)
    assert all(30 < len(text) < 200 for text in said)
    assert (
        description('<h1>T</h1><p>Says "a&lt;b",\n<em>not</em> c.</p><p>d</p>')
        == "Says &quot;a&lt;b&quot;, not c."
    )


@for_each("page", ["index.md", "reference/index.md"])
def test_tables_call_pages_what_the_navigation_calls_them(page):
    links = re.findall(
        r"\[([^\]]+)\]\(([\w/-]+\.md)\)", "".join(re.findall(r"^\|.*", PAGES[page], re.MULTILINE))
    )
    assert len(links) >= 9
    folder = Path(page).parent
    for label, path in links:
        assert label.lower() == titles()[(folder / path).as_posix()].lower()


def test_no_page_has_formulas_that_nothing_draws():
    for page, text in PAGES.items():
        assert "$" not in re.sub(r"```.*?```|`[^`]*`", "", text, flags=re.DOTALL), page


def test_options_do_not_break_after_their_dashes():
    assert (
        with_options("<code>a --b-c 1</code> --d")
        == '<code>a <span class="option">--b-c</span> 1</code> --d'
    )


def test_of_a_session_the_code_is_copied():
    """The theme marks what it copies, Pygments prompts (gp) and output (go), and a rule hides
    them.
    """
    [script] = (Path(material.__file__).parent / "templates/assets/javascripts").glob("bundle.*.js")
    assert "data-md-copying" in script.read_text()
    session = markdown(
        "```pycon\n>>> 1 + 1\n2\n```", extensions=["pymdownx.superfences", "pymdownx.highlight"]
    )
    assert '<span class="gp">&gt;&gt;&gt; </span>' in session
    assert '<span class="go">2</span>' in session
    rule = "[data-md-copying] :is(.gp, .go) { display: none; }"
    assert rule in (ROOT / "docs" / "stylesheets" / "extra.css").read_text()


def test_the_site_has_an_icon_and_says_where_to_go_from_a_page_that_is_not_there(tmp_path):
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs" / "index.md").write_text("# Home\n")
    mine = {
        "docs_dir": str(tmp_path / "docs"),
        "site_dir": str(tmp_path / "site"),
        "hooks": [],
        "plugins": ["search"],
    }
    build(load_config(str(ROOT / "mkdocs.yml"), nav=["index.md"], **mine))
    text = (tmp_path / "site" / "404.html").read_text()
    icon = re.search(r'<link rel="icon" href="/rainproof/(.*?)">', text)[1]
    assert (ROOT / "docs" / icon).read_text().startswith("<svg")
    article = text.partition("<article")[2].partition("</article>")[0]
    links = re.findall(r'href="/rainproof/(.*?)"', article)
    assert links == [".", "gallery/", "reference/", ".?q="]
    assert {"index.md", "gallery/index.md", "reference/index.md"} <= titles().keys()
