"""Put the table of docs/data/coverage.csv into docs/inference-resampling.md: ``python -m studies.coverage_table``."""

from __future__ import annotations

import csv
from pathlib import Path

DOCS = Path(__file__).parent.parent / "docs"


def table() -> str:
    """Coverage by measure and method; a column for each population and number of rows."""
    with (DOCS / "data" / "coverage.csv").open(encoding="utf-8") as file:
        lines = list(csv.DictReader(file))
    sizes = sorted({int(x["n"]) for x in lines})
    names = list(dict.fromkeys(x["population"] for x in lines))
    cell = {(x["measure"], x["method"], x["population"], int(x["n"])): _percent(x) for x in lines}
    head = ["measure", *(f"{name}, n = {' / '.join(f'{n:,}' for n in sizes)}" for name in names)]
    rows = []
    for measure, method in sorted(dict.fromkeys(key[:2] for key in cell), key=lambda key: key[1]):
        label = f"`{measure}`" + ("" if method == "inversion" else f", {method} bootstrap")
        rows.append([label, *(" / ".join(cell.get((measure, method, p, n), "-") for n in sizes) for p in names)])
    return "\n".join("| " + " | ".join(row) + " |" for row in [head, ["---"] * len(head), *rows])


def _percent(line: dict[str, str]) -> str:
    low, high = (100 * int(line[name]) / int(line["simulations"]) for name in ("covered_90", "covered_95"))
    return f"{high:.0f} ({low:.0f})"


def main() -> None:
    """Write the page."""
    path = DOCS / "inference-resampling.md"
    start, rest = path.read_text(encoding="utf-8").split("<!-- coverage -->\n")
    _, stop = rest.split("<!-- end -->", 1)
    path.write_text(f"{start}<!-- coverage -->\n{table()}\n<!-- end -->{stop}", encoding="utf-8")


if __name__ == "__main__":
    main()
