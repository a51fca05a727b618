"""Write the tables of docs/benchmarks/study-recalibration.md from docs/data.

python -m studies.recalibration_table
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from studies.recalibration import BEST, OURS
from studies.tables import DATA, Lines, markdown, read

SHOWN = ("no recalibration", "always isotonic (scikit-learn)", "always Platt (logistic)", "smallest Brier score",
         "smallest SCDL", OURS, BEST)  # fmt: skip


def ways_new() -> str:
    """The data sets that the rule was not chosen on."""
    return _ways([line for line in read("recalibration.csv") if line["tuned"] == "False"])


def ways_all() -> str:
    """All data sets."""
    return _ways(read("recalibration.csv"))


def mean(lines: Lines, column: str = "loss") -> tuple[float, float]:
    """The mean over data sets, and its standard error from the repetitions; in thousandths."""
    values, errors = (np.array([1e3 * float(line[column + end]) for line in lines]) for end in ("", "_error"))
    return float(values.mean()), float(np.sqrt((errors**2).sum()) / len(errors))


def _ways(lines: Lines) -> str:
    sizes = list(dict.fromkeys(line["n"] for line in lines))
    count = {n: len({line["data_set"] for line in lines if line["n"] == n}) for n in sizes}
    rows = []
    for way in dict.fromkeys(line["way"] for line in lines):
        cells = []
        for n in sizes:
            some = [line for line in lines if (line["way"], line["n"]) == (way, n)]
            (value, error), (beyond, doubt) = mean(some), mean(some, "beyond_ours")
            better = way != BEST and beyond < -2 * doubt
            cells.append(f"{value:.1f} ± {error:.1f}{' (better)' if better else ''}")
        rows.append([f"**{way}**" if way == OURS else way, *cells])
    rows.sort(key=lambda row: (BEST in row[0], OURS in row[0], "all rows" in row[0]))
    return markdown(["way", *(f"n = {int(n):,} ({count[n]} sets)" for n in sizes)], rows)


def by_data_set() -> str:
    """With 1,000 rows, for each data set."""
    lines = [line for line in read("recalibration.csv") if line["n"] == "1000"]
    found = {(line["data_set"], line["way"]): f"{1e3 * float(line['loss']):.1f}" for line in lines}
    names = dict.fromkeys((line["data_set"], line["tuned"]) for line in lines)
    rows = [[name + (" †" if tuned == "True" else ""), *(found[name, way] for way in SHOWN)] for name, tuned in names]
    return markdown(["data set", *SHOWN], rows)


def certificates() -> str:
    """How often certificates of made data sets are wrong, by number of rows."""
    lines, rows = read("recalibration-certificates.csv"), []
    for n in dict.fromkeys(line["n"] for line in lines):
        some = [line for line in lines if line["n"] == n]
        fits = sum(int(line["repeats"]) for line in some)
        wrong = [f"{sum(int(line[name]) for line in some)} of {fits}" for name in ("harm_wrong", "gain_wrong")]
        names = ("harm", "harm_bound", "gain", "gain_at_least")
        means = [f"{np.mean([float(line[name]) for line in some]):.2%}" for name in names]
        rows.append([f"{int(n):,}", *wrong, *means])
    head = [
        "rows",
        "`harm_bound` wrong",
        "`gain_at_least` wrong",
        "true harm",
        "`harm_bound`",
        "true gain",
        "`gain_at_least`",
    ]
    return markdown(head, rows)


TABLES: tuple[Callable[[], str], ...] = (ways_new, ways_all, by_data_set, certificates)


def filled(page: str) -> str:
    """Return the page with each table between its markers."""
    for table in TABLES:
        start, rest = page.split(f"<!-- {table.__name__} -->\n")
        _, stop = rest.split("<!-- end -->", 1)
        page = f"{start}<!-- {table.__name__} -->\n{table()}\n<!-- end -->{stop}"
    return page


def main() -> None:
    """Write the tables into the page."""
    path = DATA.parent / "benchmarks" / "study-recalibration.md"
    path.write_text(filled(path.read_text(encoding="utf-8")), encoding="utf-8")


if __name__ == "__main__":
    main()
