"""What MkDocs runs while it builds the site: it writes reports and the gallery, and tidies
pages.
"""

from __future__ import annotations

import logging
import re
import sys
from html import escape, unescape
from pathlib import Path
from textwrap import shorten
from typing import Any

from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page

HERE = Path(__file__).parent
LOG = logging.getLogger("mkdocs.hooks.stories")
# ignored by git; a report is written again when the code has changed
FOLDER = HERE.parent / "build" / "stories"
GALLERY = HERE.parent / "build" / "gallery"  # likewise


def on_files(files: Files, config: Any) -> Files:
    """Add the reports to the site, and warn (in a strict build: fail) where the page quotes them
    wrongly.
    """
    sys.path.insert(0, str(HERE))
    from make_gallery import write_pages
    from make_stories import changed, misquoted, write_reports

    for page in write_reports(FOLDER):
        files.append(File.generated(config, f"guide/stories/{page.name}", abs_src_path=str(page)))
    for file in write_pages(GALLERY, changed()):
        files.append(File.generated(config, f"gallery/{file.name}", abs_src_path=str(file)))
    for quotation in misquoted(
        (HERE.parent / "docs" / "guide" / "stories.md").read_text(encoding="utf-8"), FOLDER
    ):
        LOG.warning("docs/guide/stories.md quotes what is not in the report: %s", quotation)
    return files


def on_page_content(html: str, page: Page, **_: Any) -> str:
    """Describe the page in its head, keep options in one line, and draw formulas and link pages of
    docstrings.
    """
    from docstrings import with_formulas, with_links  # beside this file, as above

    page.meta["description"] = description(html)
    html = with_options(html)
    return with_links(with_formulas(html)) if page.url.startswith("reference/") else html


def description(html: str) -> str:
    """Return the first paragraph of a page as plain text that fits into a result of a search."""
    paragraph = re.sub(r"<[^>]+>", "", html.partition("<p>")[2].partition("</p>")[0])
    return escape(shorten(unescape(paragraph), 160, placeholder=" ..."))


def with_options(html: str) -> str:
    """Return the page with options of commands that do not break after their dashes."""
    return re.sub(
        r"<code>[^<]*</code>",
        lambda code: re.sub(r"--[a-z][\w-]*", r'<span class="option">\g<0></span>', code[0]),
        html,
    )


def on_page_markdown(markdown: str, page: Page, **_: Any) -> str:
    """Show examples as sessions: what they print is no Python, and empty lines are not the sign
    that doctest needs.

    Whoever searches finds what the library does before how it was measured.
    """
    if page.url.startswith("benchmarks/"):
        page.meta["search"] = {"boost": 0.5}
    return markdown.replace("<BLANKLINE>\n", "\n").replace("```python\n>>> ", "```pycon\n>>> ")
