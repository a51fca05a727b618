"""What docstrings write in the way of numpydoc, for the site: formulas, tables, and links to pages.

Formulas become MathML, which browsers draw themselves: the site loads nothing from other servers.
"""

from __future__ import annotations

import re
from html import unescape
from typing import Any

from griffe import Extension, Object
from latex2mathml.converter import convert

_BLOCK = re.compile(r"^( *)\.\. math::(.*(?:\n+\1 +\S.*)*)", re.MULTILINE)
_TABLE = re.compile(r"^( *)=+(?: +=+)+\n(?:.*\n)*?\1=+(?: +=+)+$(?!\n\1\S)", re.MULTILINE)
_PAGE = re.compile(r"\bdocs/((?:[\w-]+/)*([\w-]+))\.md\b")
_FORMULA = re.compile(r"(<p>)?:math:<code>(.*?)</code>(?(1)(</p>)?)", re.DOTALL)


class Docstrings(Extension):
    """Write ``.. math::`` as a paragraph with the role ``:math:``, and tables, as Markdown has
    them.
    """

    def on_instance(self, *, obj: Object, **_: Any) -> None:
        """Change the docstring before it is read."""
        if obj.docstring is not None:
            text = _BLOCK.sub(
                lambda m: f"{m[1]}:math:`{' '.join(m[2].split())}`\n", obj.docstring.value
            )
            obj.docstring.value = _TABLE.sub(_table, text)


def _table(found: re.Match[str]) -> str:
    """Return a table as Markdown. A line whose first cell is empty goes on with the row above
    it.
    """
    border, *lines = found[0].splitlines()
    starts = [column.start() for column in re.finditer("=+", border)]
    rows: list[list[str]] = []
    for line in lines:
        cells = [
            line[start:end].strip() for start, end in zip(starts, [*starts[1:], None], strict=True)
        ]
        if cells[0]:
            rows.append(cells)
        else:
            rows[-1] = [" ".join(pair).strip() for pair in zip(rows[-1], cells, strict=True)]
    rules = ["---"] * len(starts)
    header, *rest = (row for row in rows if not row[0].startswith("="))
    return "\n".join(f"{found[1]}| {' | '.join(row)} |" for row in (header, rules, *rest))


def with_formulas(html: str) -> str:
    """Return the page with its formulas as MathML; those in a paragraph of their own stand on a
    line of their own.
    """

    def formula(found: re.Match[str]) -> str:
        alone = found[1] is not None and found[3] is not None
        # as exponents primes would float
        text = unescape(found[2]).replace("''", "\u2033").replace("'", "\u2032")
        drawn = convert(text, display="block" if alone else "inline")
        return drawn if alone else f"{found[1] or ''}{drawn}{found[3] or ''}"

    return _FORMULA.sub(formula, html)


def with_links(html: str) -> str:
    """Return a page of the reference, two folders down, with the pages that docstrings name as
    links.
    """
    return _PAGE.sub(r'<a href="../../\1/">\2</a>', html)
