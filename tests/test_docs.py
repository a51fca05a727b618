"""The site's own code: what it quotes from generated reports is in them."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent


@pytest.fixture
def stories(monkeypatch):
    monkeypatch.syspath_prepend(str(ROOT / "docs"))
    import make_stories

    yield make_stories
    sys.modules.pop("make_stories")


def test_a_wrong_quotation_is_found(stories, tmp_path):
    (tmp_path / "one.html").write_text("<li>Act on it. It loses 3% at most, &#x27;wait&#x27;.</li>")
    page = "**[The report](stories/one.html)** says:\n\n> Act on it. [...] 3% at\n> most, 'wait'.\n\nAnd then.\n"
    assert stories.misquoted(page, tmp_path) == []
    assert stories.misquoted(page.replace("3%", "2%"), tmp_path) == ["one: 2% at most, 'wait'."]


def test_every_report_is_quoted(stories):
    text = (ROOT / "docs" / "stories.md").read_text()
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
