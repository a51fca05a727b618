"""The result of one part: computed in chunks that are stored, written as tables, and shown on one
page.
"""

from __future__ import annotations

import base64
import csv
import hashlib
import io
import json
import math
import multiprocessing
import re
import secrets
import signal
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ProcessPoolExecutor
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from html import escape
from pathlib import Path
from queue import SimpleQueue
from typing import Any

import rainproof
from rainproof import InputError

Cell = str | int | float | bool | None
Progress = Callable[[str, int, int], None]

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
    "Every table, figure and numbered statement of Bairaktari, Hu, Nguyen and Ullman, 'Testable "
    "and Actionable Calibration for Full Swap Regret' (arXiv:2605.17749), recomputed by "
    "rainproof and compared with the printed values."
)


@contextmanager
def new_file(path: Path) -> Iterator[Path]:
    """Yield a temporary name in the same folder; the file replaces `path` at the end, and is
    removed on failure.
    """
    temporary = path.with_name(f".paper-{secrets.token_hex(8)}.tmp")
    try:
        with write_errors(path):
            yield temporary
            temporary.replace(path)
    finally:
        temporary.unlink(missing_ok=True)


def write_text(path: Path, text: str) -> None:
    """Write a text file; readers see all of it or what was there before."""
    with new_file(path) as temporary:
        temporary.write_text(text, encoding="utf-8", newline="\n")


@contextmanager
def write_errors(path: Path) -> Iterator[None]:
    """Raise what goes wrong inside as an error of one line that names the file."""
    try:
        yield
    except OSError as error:
        raise InputError(f"cannot write {path}: {error.strerror or error}") from error


@dataclass(frozen=True, kw_only=True, slots=True)
class Table:
    """A table of values with named columns.

    Attributes
    ----------
    name : str
        The name of its file, without ending.
    title : str
        The caption.
    columns : tuple of str
    rows : tuple of tuples
        Text, numbers and booleans; None for no value.
    printed : bool
        Whether the page and the command show it; if not (points of a picture), it is in its CSV
        file alone.
    """

    name: str
    title: str
    columns: tuple[str, ...]
    rows: tuple[tuple[Cell, ...], ...]
    printed: bool = True

    @classmethod
    def of(
        cls, name: str, title: str, rows: Sequence[Mapping[str, Cell]], *, printed: bool = True
    ) -> Table:
        """Build a table from records that all have the same fields."""
        columns = tuple(rows[0])
        cells = tuple(tuple(row[c] for c in columns) for row in rows)
        return cls(name=name, title=title, columns=columns, rows=cells, printed=printed)

    def records(self) -> list[dict[str, Cell]]:
        """Return each row as a dict."""
        return [dict(zip(self.columns, row, strict=True)) for row in self.rows]

    def to_csv(self) -> str:
        """Return the table as CSV, numbers in full precision."""
        out = io.StringIO()
        writer = csv.writer(out, lineterminator="\n")
        writer.writerow(self.columns)
        writer.writerows(["" if cell is None else cell for cell in row] for row in self.rows)
        return out.getvalue()

    def to_markdown(self, *columns: str) -> str:
        """Return some columns as a table in Markdown."""
        rows = [columns, ["---"] * len(columns)]
        rows += [
            [re.sub(r"[|*]", r"\\\g<0>", shown(row[column])) for column in columns]
            for row in self.records()
        ]
        return "".join(f"| {' | '.join(row)} |\n" for row in rows)

    def __str__(self) -> str:
        rows = [self.columns, *([shown(cell) for cell in row] for row in self.rows)]
        widths = [min(60, max(map(len, column))) for column in zip(*rows, strict=True)]
        lines = [
            "  ".join(c[:60].ljust(w) for c, w in zip(row, widths, strict=True)).rstrip()
            for row in rows
        ]
        return "\n".join([self.title, lines[0], "-" * max(map(len, lines)), *lines[1:]])


@dataclass(frozen=True, kw_only=True, slots=True)
class PartResult:
    """The result of one part of the paper.

    Attributes
    ----------
    name, title : str
    words : tuple of str
        Paragraphs of explanation.
    tables : tuple of Table
    pictures : tuple of str
        Names of the figures' files, without ending.
    settings : mapping
        Repeats and seed.
    """

    name: str
    title: str
    words: tuple[str, ...]
    tables: tuple[Table, ...]
    pictures: tuple[str, ...] = ()
    settings: Mapping[str, Any] = field(default_factory=dict)

    def to_dict(self) -> dict[str, Any]:
        """Return the result in built-in types, ready for JSON."""
        tables = [
            {
                "name": t.name,
                "title": t.title,
                "columns": list(t.columns),
                "rows": [list(map(_plain, r)) for r in t.rows],
                "printed": t.printed,
            }
            for t in self.tables
        ]
        return {
            "name": self.name,
            "title": self.title,
            "words": list(self.words),
            "tables": tables,
            "pictures": list(self.pictures),
            "settings": dict(self.settings),
        }

    @classmethod
    def from_dict(cls, found: Mapping[str, Any]) -> PartResult:
        """Build the result from what `to_dict` returned."""
        tables = tuple(
            Table(
                name=t["name"],
                title=t["title"],
                columns=tuple(t["columns"]),
                rows=tuple(map(tuple, t["rows"])),
                printed=t["printed"],
            )
            for t in found["tables"]
        )
        words, pictures = tuple(found["words"]), tuple(found["pictures"])
        name, title, settings = found["name"], found["title"], found["settings"]
        return cls(
            name=name, title=title, words=words, tables=tables, pictures=pictures, settings=settings
        )

    def write(self, folder: Path) -> list[Path]:
        """Write a CSV file per table and one JSON file, and return their paths."""
        files = []
        for table in self.tables:
            write_text(folder / f"{table.name}.csv", table.to_csv())
            files.append(folder / f"{table.name}.csv")
        write_text(folder / f"{self.name}.json", json.dumps(self.to_dict(), indent=1) + "\n")
        return [*files, folder / f"{self.name}.json"]

    def __repr__(self) -> str:
        return (
            f"PartResult(name={self.name!r}, tables={len(self.tables)}, "
            f"pictures={len(self.pictures)})"
        )

    def __str__(self) -> str:
        return "\n\n".join(
            [self.title, *self.words, *(str(table) for table in self.tables if table.printed)]
        )


def _plain(cell: Cell) -> Cell:
    """Replace NaN and infinity by None, as JSON has neither."""
    return None if isinstance(cell, float) and not math.isfinite(cell) else cell


def shown(cell: Cell) -> str:
    """Format a cell for display."""
    if cell is None or (isinstance(cell, float) and math.isnan(cell)):
        return ""
    if isinstance(cell, bool):
        return "yes" if cell else "NO"
    if isinstance(cell, float):
        return f"{cell:.4g}"
    return str(cell)


@dataclass(frozen=True, slots=True)
class Chunk:
    """A function call: a module-level function, so that other processes can import it, and its
    arguments.

    The result must depend on the arguments alone (a seed is one of them) and be serializable as
    JSON.
    """

    key: str
    function: Callable[..., Any]
    arguments: tuple[Any, ...]


@dataclass(frozen=True, kw_only=True, slots=True)
class Runner:
    """Run chunks, optionally on several processes, and store their results.

    Attributes
    ----------
    folder : Path
        Where finished chunks are stored.
    jobs : int
        The number of processes. 1: run in this process.
    progress : callable or None
        Called with the name of the part, the number of chunks done, and the number of all.
    """

    folder: Path
    jobs: int = 1
    progress: Progress | None = None

    def __call__(self, part: str, chunks: Sequence[Chunk]) -> list[Any]:
        """Return the result of each chunk, in order; stored ones are not run again."""
        folder = self.folder / fingerprint() / part
        folder.mkdir(parents=True, exist_ok=True)
        found = {chunk.key: _stored(folder, chunk.key) for chunk in chunks}
        missing = [chunk for chunk in chunks if found[chunk.key] is None]
        self._say(part, len(chunks) - len(missing), len(chunks))
        with closing(self._run(missing)) as running:  # ends the workers with the loop
            for done, (chunk, value) in enumerate(running, len(chunks) - len(missing) + 1):
                text = json.dumps(value)
                write_text(folder / f"{chunk.key}.json", text)
                found[chunk.key] = json.loads(text)  # the same as when it is read from the file
                self._say(part, done, len(chunks))
        return [found[chunk.key] for chunk in chunks]

    def _say(self, part: str, done: int, total: int) -> None:
        if self.progress is not None:
            self.progress(part, done, total)

    def _run(self, chunks: list[Chunk]) -> Generator[tuple[Chunk, Any], None, None]:
        if self.jobs == 1 or len(chunks) < 2:
            for chunk in chunks:
                yield chunk, chunk.function(*chunk.arguments)
            return
        context = multiprocessing.get_context("spawn")  # the same on every system
        others = multiprocessing.active_children()
        size = min(self.jobs, len(chunks))
        with ProcessPoolExecutor(
            size, mp_context=context, initializer=_leave_stopping_to_the_parent
        ) as pool:
            # Not wait(): an interrupt while it locks futures would leave some locked, and their
            # pool without an end.
            submitted, finished = dict[Future[Any], Chunk](), SimpleQueue[Future[Any]]()
            try:
                for chunk in chunks:
                    future = pool.submit(chunk.function, *chunk.arguments)
                    submitted[future] = chunk
                    future.add_done_callback(finished.put)
                for _ in chunks:
                    future = finished.get()
                    yield submitted[future], future.result()
            except BaseException:  # an interrupt must not wait for chunks that will not be stored
                for worker in set(multiprocessing.active_children()).difference(others):
                    worker.terminate()
                # its thread joins the workers; here it would compete for their end
                pool.shutdown(cancel_futures=True)
                raise


def _leave_stopping_to_the_parent() -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C reaches every process of a terminal


def _stored(folder: Path, key: str) -> Any:
    try:
        return json.loads((folder / f"{key}.json").read_text(encoding="utf-8"))
    except FileNotFoundError:
        return None


def fingerprint() -> str:
    """Return a 12-character hash of the source, of rainproof and of this package: other versions
    are not reused.
    """
    digest = hashlib.sha256()
    for home in (Path(rainproof.__file__).parent, Path(__file__).parent):
        for file in sorted([*home.rglob("*.py"), *home.rglob("*.pyx")]):
            digest.update(file.relative_to(home).as_posix().encode() + b"\0" + file.read_bytes())
    return digest.hexdigest()[:12]


def spans(total: int, size: int) -> list[tuple[int, int]]:
    """Split range(total) into (start, stop) pairs of a given size, the last one shorter."""
    return [(start, min(start + size, total)) for start in range(0, total, size)]


def write_page(folder: Path, names: Iterable[str]) -> Path:
    """Write ``index.html`` with those of the parts that are in a folder."""
    parts = [
        read_part(folder / f"{name}.json") for name in names if (folder / f"{name}.json").exists()
    ]
    write_text(folder / "index.html", page(parts, folder))
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
    settings = ", ".join(
        f"{key} {value}" for key, value in part.settings.items() if value not in ([], None)
    )
    again = f'<p class="small">python -m paper {escape(part.name)}: {escape(settings)}</p>'
    pictures = "".join(_picture(folder / f"{name}.png", part.title) for name in part.pictures)
    tables = "".join(map(_table, part.tables))
    return (
        f'<h2 id="{escape(part.name)}">{escape(part.title)}</h2>{words}{pictures}{tables}{again}\n'
    )


def _picture(path: Path, title: str) -> str:
    if not path.exists():
        return ""
    data = base64.b64encode(path.read_bytes()).decode()
    return f'<div><img alt="{escape(title)}" src="data:image/png;base64,{data}"></div>'


def _table(table: Table) -> str:
    if not table.printed:
        return (
            f'<p class="small">{escape(table.title)}: {len(table.rows):,} rows, in '
            f"{escape(table.name)}.csv</p>"
        )
    head = "".join(f"<th>{escape(column)}</th>" for column in table.columns)
    rows = "".join(f"<tr>{''.join(map(_cell, row))}</tr>" for row in table.rows)
    return (
        "<div "
        f'class="scroll"><table><caption>{escape(table.title)}</caption><tr>{head}</tr>{rows}</table></div>'
    )


def _cell(cell: object) -> str:
    text = escape(shown(cell))  # type: ignore[arg-type]
    if cell is False:
        return f'<td class="no">{text}</td>'
    if isinstance(cell, int | float) and not isinstance(cell, bool):
        return f'<td class="number">{text}</td>'
    return f'<td class="long">{text}</td>' if len(text) > _LONG else f"<td>{text}</td>"
