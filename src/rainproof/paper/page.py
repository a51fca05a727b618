"""One self-contained HTML page with all results."""

from __future__ import annotations

import base64
import json
from collections.abc import Iterable, Sequence
from html import escape
from pathlib import Path

from rainproof.core.atomic_write import write_atomic
from rainproof.paper.results import PartResult, Table, shown

_STYLE = """
body { font: 16px/1.5 system-ui, sans-serif; max-width: 100rem; margin: 2rem auto; padding: 0 1rem; color: #222; }
h1, h2 { line-height: 1.2; } h2 { margin-top: 3rem; border-top: 1px solid #ddd; padding-top: 1.5rem; }
p { max-width: 50rem; } .scroll { overflow-x: auto; }
table { border-collapse: collapse; font-size: 0.85rem; margin: 0.5rem 0 1.5rem; }
caption { text-align: left; font-weight: 600; padding-bottom: 0.3rem; }
th, td { text-align: left; padding: 0.2rem 0.7rem; border-bottom: 1px solid #e4e4e4; vertical-align: top; }
td.number { text-align: right; font-variant-numeric: tabular-nums; white-space: nowrap; }
td.no { background: #f6d5d3; font-weight: 600; } td.long { min-width: 10rem; font-size: 0.8rem; }
img { max-width: 100%; height: auto; } .small { color: #666; font-size: 0.85rem; }
"""
_LONG = 40  # characters; longer cells get a minimum width
_INTRO = (
    "Every table, figure and numbered statement of Bairaktari, Hu, Nguyen and Ullman, 'Testable and Actionable "
    "Calibration for Full Swap Regret' (arXiv:2605.17749), recomputed by rainproof and compared with the printed "
    "values."
)


def write_page(folder: Path, names: Iterable[str]) -> Path:
    """Write ``index.html`` with those of the parts that are in a folder."""
    parts = [read_part(folder / f"{name}.json") for name in names if (folder / f"{name}.json").exists()]
    write_atomic(folder / "index.html", page(parts, folder))
    return folder / "index.html"


def read_part(path: Path) -> PartResult:
    """Read a part that `PartResult.write` wrote."""
    return PartResult.from_dict(json.loads(path.read_text(encoding="utf-8")))


def page(parts: Sequence[PartResult], folder: Path) -> str:
    """Return the page as text; figures are read from the folder."""
    links = " · ".join(f'<a href="#{escape(part.name)}">{escape(part.title)}</a>' for part in parts)
    body = "".join(_section(part, folder) for part in parts)
    return (
        '<!doctype html>\n<html lang="en">\n<head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<title>The paper, executed</title><style>{_STYLE}</style></head>\n"
        f"<body><h1>The paper, executed</h1><p>{escape(_INTRO)}</p><p>{links}</p>\n{body}</body>\n</html>\n"
    )


def _section(part: PartResult, folder: Path) -> str:
    words = "".join(f"<p>{escape(text)}</p>" for text in part.words)
    settings = ", ".join(f"{key} {value}" for key, value in part.settings.items() if value not in ([], None))
    again = f'<p class="small">rainproof paper {escape(part.name)}: {escape(settings)}</p>'
    pictures = "".join(_picture(folder / f"{name}.png", part.title) for name in part.pictures)
    tables = "".join(map(_table, part.tables))
    return f'<h2 id="{escape(part.name)}">{escape(part.title)}</h2>{words}{pictures}{tables}{again}\n'


def _picture(path: Path, title: str) -> str:
    if not path.exists():
        return ""
    data = base64.b64encode(path.read_bytes()).decode()
    return f'<div><img alt="{escape(title)}" src="data:image/png;base64,{data}"></div>'


def _table(table: Table) -> str:
    if not table.printed:
        return f'<p class="small">{escape(table.title)}: {len(table.rows):,} rows, in {escape(table.name)}.csv</p>'
    head = "".join(f"<th>{escape(column)}</th>" for column in table.columns)
    rows = "".join(f"<tr>{''.join(map(_cell, row))}</tr>" for row in table.rows)
    return f'<div class="scroll"><table><caption>{escape(table.title)}</caption><tr>{head}</tr>{rows}</table></div>'


def _cell(cell: object) -> str:
    text = escape(shown(cell))  # type: ignore[arg-type]
    if cell is False:
        return f'<td class="no">{text}</td>'
    if isinstance(cell, int | float) and not isinstance(cell, bool):
        return f'<td class="number">{text}</td>'
    return f'<td class="long">{text}</td>' if len(text) > _LONG else f"<td>{text}</td>"
