"""Write the tables of docs/benchmarks/study-recalibration.md from docs/data.

python -m benchmarks.studies.recalibration_table
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from benchmarks.studies.recalibration import BEST, BY_BRIER, OURS
from benchmarks.studies.recalibration_regret import KINDS
from benchmarks.studies.recalibration_regret import OURS as DEPLOYED
from benchmarks.studies.tables import DATA, Lines, filled, markdown, read

SHOWN = ("no recalibration", "always isotonic (scikit-learn)", "always Platt (logistic)", "smallest log loss",
         "worst task, as before", BY_BRIER, OURS, BEST)  # fmt: skip


def mean(lines: Lines, column: str) -> tuple[float, float]:
    """The mean over data sets, and its standard error from the repetitions; in thousandths."""
    values, errors = (
        np.array([1e3 * float(line[column + end]) for line in lines]) for end in ("", "_error")
    )
    return float(values.mean()), float(np.sqrt((errors**2).sum()) / len(errors))


def worst_tasks() -> str:
    """The largest loss of any decision, by way and number of rows."""
    return _ways("loss")


def costs() -> str:
    """The cost of five decisions, by way and number of rows."""
    return _ways("cost")


def _ways(column: str) -> str:
    lines = read("recalibration.csv")
    sizes = list(dict.fromkeys(line["n"] for line in lines))
    count = {n: len({line["data_set"] for line in lines if line["n"] == n}) for n in sizes}
    rows = []
    for way in dict.fromkeys(line["way"] for line in lines):
        cells = []
        for n in sizes:
            some = [line for line in lines if (line["way"], line["n"]) == (way, n)]
            (value, error), (beyond, doubt) = (
                mean(some, column),
                mean(some, f"{column}_beyond_ours"),
            )
            better = way != BEST and beyond < -2 * doubt
            cells.append(f"{value:.1f} ± {error:.1f}{' (better)' if better else ''}")
        rows.append([f"**{way}**" if way == OURS else way, *cells])
    rows.sort(
        key=lambda row: (BEST in row[0], OURS in row[0], "mean" in row[0], "all rows" in row[0])
    )
    return markdown(["way", *(f"n = {int(n):,} ({count[n]} sets)" for n in sizes)], rows)


def by_data_set() -> str:
    """The largest loss with 1,000 rows, for each data set."""
    lines = [line for line in read("recalibration.csv") if line["n"] == "1000"]
    found = {(line["data_set"], line["way"]): f"{1e3 * float(line['loss']):.1f}" for line in lines}
    names = dict.fromkeys(line["data_set"] for line in lines)
    return markdown(
        ["data set", *SHOWN], [[name, *(found[name, way] for way in SHOWN)] for name in names]
    )


def regrets() -> str:
    """The regret of each rule in random populations, by number of rows."""
    lines, rows = read("recalibration-regret.csv"), []
    sizes = list(dict.fromkeys(line["n"] for line in lines))
    for rule in dict.fromkeys(line["rule"] for line in lines):
        cells = []
        for n in sizes:
            some = [line for line in lines if (line["rule"], line["n"]) == (rule, n)]
            error = np.sqrt(sum(float(line["error"]) ** 2 for line in some)) / len(some)
            cells.append(f"{np.mean([float(line['regret']) for line in some]):.4f} ± {error:.4f}")
        rows.append([f"**{rule}**" if rule == DEPLOYED else rule, *cells])
    rows.sort(key=lambda row: (DEPLOYED in row[0], "mean" in row[0]))
    return markdown(["rule", *(f"n = {int(n):,}" for n in sizes)], rows)


def regrets_by_kind() -> str:
    """The same with 1,000 rows, by kind of population."""
    lines = [line for line in read("recalibration-regret.csv") if line["n"] == "1000"]
    found = {(line["rule"], line["kind"]): f"{float(line['regret']):.4f}" for line in lines}
    rules = dict.fromkeys(line["rule"] for line in lines)
    return markdown(
        ["rule", *KINDS], [[rule, *(found[rule, kind] for kind in KINDS)] for rule in rules]
    )


def certificates() -> str:
    """How often certificates of made data sets are wrong, by number of rows."""
    lines, rows = read("recalibration-certificates.csv"), []
    for n in dict.fromkeys(line["n"] for line in lines):
        some = [line for line in lines if line["n"] == n]
        fits = sum(int(line["repeats"]) for line in some)
        wrong = [
            f"{sum(int(line[name]) for line in some)} of {fits}"
            for name in ("harm_wrong", "gain_wrong")
        ]
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


TABLES: tuple[Callable[[], str], ...] = (
    worst_tasks,
    costs,
    by_data_set,
    regrets,
    regrets_by_kind,
    certificates,
)


def main() -> None:
    """Write the tables into the page."""
    path = DATA.parent / "benchmarks" / "study-recalibration.md"
    path.write_text(filled(path.read_text(encoding="utf-8"), TABLES), encoding="utf-8")


if __name__ == "__main__":
    main()
