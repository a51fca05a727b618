"""Results of commands: paragraphs on the terminal, JSON in files."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from brolly.assessment.text import wrapped
from brolly.cli.output import one_line, say
from brolly.core.atomic_write import write_atomic
from brolly.core.sample.sample import Sample
from brolly.core.text import rows


def say_paragraphs(paragraphs: Iterable[str]) -> None:
    """Print paragraphs, each wrapped to the width of a terminal."""
    say(sys.stdout, "".join(f"{wrapped(text)}\n" for text in paragraphs))


def write_json(document: dict[str, Any], path: Path | None) -> str:
    """Return a result as JSON, and write it to a file if one is given."""
    text = json.dumps(document, indent=2, allow_nan=False) + "\n"
    if path is not None:
        write_atomic(path, text)
    return text


def written(what: str, path: Path) -> str:
    """Say where a result was written."""
    return f"{what} written to {one_line(str(path))}"


def rows_read(file: str, sample: Sample, weight: str | None) -> str:
    """Describe what was read in a line."""
    read = rows(sample.n)
    if weight is not None:
        read += f" weighted by {one_line(weight)} ({sample.effective_n:,.0f} effective rows)"
    return f"{one_line(file)}: {read}, event rate {100 * sample.event_rate:.3g}%"
