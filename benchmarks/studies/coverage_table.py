"""Put tables of docs/data into docs/benchmarks/study-tests.md: ``python -m
benchmarks.studies.coverage_table``.
"""

from __future__ import annotations

from pathlib import Path

from benchmarks.studies.tables import filled, markdown, read

DOCS = Path(__file__).parents[2] / "docs"
STRENGTH = 0.6  # of the miscalibration in the table of power
SHOWN = (
    "combined",
    "brier_score",
    "smooth_calibration_error",
    "soft_binned_cdl",
)


def coverage() -> str:
    """Coverage of 95% intervals by measure and method; a column for each population, with all
    numbers of rows.
    """
    lines = read("coverage.csv")
    sizes = sorted({int(x["n"]) for x in lines})
    names = list(dict.fromkeys(x["population"] for x in lines))
    cell = {(x["measure"], x["method"], x["population"], int(x["n"])): _percent(x) for x in lines}
    head = ["measure", *names]
    rows = []
    for measure, method in sorted(dict.fromkeys(key[:2] for key in cell), key=lambda key: key[1]):
        label = f"`{measure}`" + ("" if method == "inversion" else f", {method} bootstrap")
        rows.append(
            [
                label,
                *(" / ".join(cell.get((measure, method, p, n), "-") for n in sizes) for p in names),
            ]
        )
    return markdown(head, rows)


def totals() -> str:
    """The share of intervals by inversion that contained the value, over all simulations, and the
    lowest of a cell.
    """
    lines = [x for x in read("coverage.csv") if x["method"] == "inversion"]
    total = sum(int(x["simulations"]) for x in lines)
    held = [100 * sum(int(x[name]) for x in lines) / total for name in ("covered_95", "covered_90")]
    least = min(lines, key=lambda x: int(x["covered_95"]) / int(x["simulations"]))
    return (
        f"Over all {total:,} simulations {held[0]:.1f}% of the 95% intervals and {held[1]:.1f}% "
        "of the 90% intervals contained the population value. The lowest share in the table is "
        f"{_percent(least)}%: `{least['measure']}` of *{least['population']}*, "
        f"{int(least['n']):,} rows."
    )


SHORT = {
    "observed_expected": "O : E",
    "calibration_intercept": "intercept",
    "calibration_slope": "slope",
}
ENOUGH = 9.5  # draws of the rarer outcome, on average over the samples


def few_events() -> str:
    """The lowest coverage over all numbers of rows: of rows by population, of others by kind and
    number of events.
    """
    lines, cells = read("intervals.csv"), dict[tuple[str, str], float]()
    for x in lines:
        name = x["population"]
        if x["rows"] != "rows":
            fewer = "" if float(x["few"]) >= ENOUGH else ", fewer than 10 of the rarer outcome"
            name = f"{x['rows'].replace('groups ', 'groups: ').replace(' unequal', ', unequal')}{fewer}"
        key = name, x["interval"]
        cells[key] = min(cells.get(key, 100.0), 100 * int(x["covered"]) / int(x["simulations"]))
    names, intervals = (list(dict.fromkeys(key[k] for key in cells)) for k in (0, 1))
    head = ["population", *(SHORT.get(x, x.replace("_", " ")) for x in intervals)]
    return markdown(head, [[name, *(f"{cells[name, x]:.0f}" for x in intervals)] for name in names])


def few_totals() -> str:
    """How many intervals contained the value, over all simulations, with enough events and
    without.
    """
    said = []
    for enough, where in (
        (True, "Where at least 10 rows or groups have the rarer outcome"),
        (False, "With fewer"),
    ):
        lines = [x for x in read("intervals.csv") if (float(x["few"]) >= ENOUGH) == enough]
        total = sum(int(x["simulations"]) for x in lines)
        least = min(lines, key=lambda x: int(x["covered"]) / int(x["simulations"]))
        held = 100 * sum(int(x["covered"]) for x in lines) / total
        what = (
            f"{SHORT.get(least['interval'], least['interval'].replace('_', ' '))}, "
            f"*{least['population']}*"
        )
        lowest = 100 * int(least["covered"]) / int(least["simulations"])
        said.append(
            f"{where} {held:.1f}% of {total:,} intervals contained the population's value; the "
            f"lowest share of a cell is {lowest:.1f}% ({what}, {least['rows']}, n = "
            f"{int(least['n']):,})."
        )
    return " ".join(said)


def power() -> str:
    """Power in percent, by alternative and statistic, and the best of all statistics."""
    lines = [x for x in read("power.csv") if float(x["strength"]) == STRENGTH]
    found = {
        (x["alternative"], x["measure"]): round(100 * int(x["rejected"]) / int(x["draws"]))
        for x in lines
    }
    rows = []
    for name in dict.fromkeys(x["alternative"] for x in lines):
        best = max((power, measure) for (other, measure), power in found.items() if other == name)
        rows.append(
            [name, *(str(found[name, measure]) for measure in SHOWN), f"{best[0]} (`{best[1]}`)"]
        )
    return markdown(["alternative", *(f"`{measure}`" for measure in SHOWN), "best of all"], rows)


def _percent(line: dict[str, str]) -> str:
    return f"{100 * int(line['covered_95']) / int(line['simulations']):.0f}"


TABLES = (power, coverage, totals, few_events, few_totals)


def main() -> None:
    """Write the page."""
    path = DOCS / "benchmarks" / "study-tests.md"
    path.write_text(filled(path.read_text(encoding="utf-8"), TABLES), encoding="utf-8")


if __name__ == "__main__":
    main()
