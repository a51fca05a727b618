"""The page about the paper shows what the last full run found."""

from __future__ import annotations

import csv
from pathlib import Path

from helpers.cases import for_each

from paper import Table, all_claims
from paper.claims import KNOWN_SLIPS

DOCS = Path(__file__).parent.parent.parent / "docs"


def rows(name):
    with (DOCS / "data" / "paper" / f"{name}.csv").open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def coverage():
    """The table of statements, as the run wrote it."""
    found = [
        {**row, "tightest": round(float(row["tightest"]), 3) if row["tightest"] else None}
        for row in rows("coverage")
    ]
    return Table.of("coverage", "", found).to_markdown(
        "statement", "checked", "tightest", "fails for"
    )


def test_the_coverage_table_is_that_of_the_run():
    assert coverage() in (DOCS / "theory" / "paper.md").read_text(encoding="utf-8")


def test_every_statement_was_run_held_and_can_fail():
    found = rows("coverage")
    assert [row["statement"] for row in found] == list(all_claims())
    assert all(row["held"] == "True" and row["fails for"] for row in found)
    failed = {
        (row["statement"], row["quantity"]) for row in rows("claims") if row["held"] != "True"
    }
    assert failed == KNOWN_SLIPS


@for_each("name", ["smCE", "Cutoff", "bECE, 10 bins", "SCDL, first crossing"])
def test_the_fitting_readings_of_table_2_fit(name):
    found = [row for row in rows("table2") if row["measure"] == name]
    assert len(found) == 4
    assert all(abs(float(row["off by (printed sd)"])) < 0.2 for row in found)


def test_markdown_escapes_bars_and_stars():
    table = Table.of("t", "", [{"a": "|x*|", "b": 1.5, "c": None}])
    assert table.to_markdown("a", "c") == "| a | c |\n| --- | --- |\n| \\|x\\*\\| |  |\n"
