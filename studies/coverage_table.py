"""Put tables of docs/data into docs/inference-resampling.md: ``python -m studies.coverage_table``."""

from __future__ import annotations

import csv
from pathlib import Path

from studies.tables import markdown

DOCS = Path(__file__).parent.parent / "docs"
STRENGTH = 0.6  # of the miscalibration in the table of power
SHOWN = ("combined", "brier_score", "smooth_calibration_error", "interval_calibration_error", "soft_binned_cdl")


def read(name: str) -> list[dict[str, str]]:
    """A committed table."""
    with (DOCS / "data" / name).open(encoding="utf-8") as file:
        return list(csv.DictReader(file))


def coverage() -> str:
    """Coverage by measure and method; a column for each population and number of rows."""
    lines = read("coverage.csv")
    sizes = sorted({int(x["n"]) for x in lines})
    names = list(dict.fromkeys(x["population"] for x in lines))
    cell = {(x["measure"], x["method"], x["population"], int(x["n"])): _percent(x) for x in lines}
    head = ["measure", *(f"{name}, n = {' / '.join(f'{n:,}' for n in sizes)}" for name in names)]
    rows = []
    for measure, method in sorted(dict.fromkeys(key[:2] for key in cell), key=lambda key: key[1]):
        label = f"`{measure}`" + ("" if method == "inversion" else f", {method} bootstrap")
        rows.append([label, *(" / ".join(cell.get((measure, method, p, n), "-") for n in sizes) for p in names)])
    return markdown(head, rows)


def power() -> str:
    """Power in percent, by alternative and statistic, and the best of all statistics."""
    lines = [x for x in read("power.csv") if float(x["strength"]) == STRENGTH]
    found = {(x["alternative"], x["measure"]): round(100 * int(x["rejected"]) / int(x["draws"])) for x in lines}
    rows = []
    for name in dict.fromkeys(x["alternative"] for x in lines):
        best = max((power, measure) for (other, measure), power in found.items() if other == name)
        rows.append([name, *(str(found[name, measure]) for measure in SHOWN), f"{best[0]} (`{best[1]}`)"])
    return markdown(["alternative", *(f"`{measure}`" for measure in SHOWN), "best of all"], rows)


def _percent(line: dict[str, str]) -> str:
    low, high = (100 * int(line[name]) / int(line["simulations"]) for name in ("covered_90", "covered_95"))
    return f"{high:.0f} ({low:.0f})"


def main() -> None:
    """Write the page."""
    path = DOCS / "inference-resampling.md"
    page = path.read_text(encoding="utf-8")
    for table in (power, coverage):
        start, rest = page.split(f"<!-- {table.__name__} -->\n")
        _, stop = rest.split("<!-- end -->", 1)
        page = f"{start}<!-- {table.__name__} -->\n{table()}\n<!-- end -->{stop}"
    path.write_text(page, encoding="utf-8")


if __name__ == "__main__":
    main()
