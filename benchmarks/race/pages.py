"""The pages of the race, from its tables: every number on them is computed from the lines of a
part.
"""

from __future__ import annotations

import csv
import platform
from dataclasses import dataclass
from pathlib import Path

from benchmarks.machine import processor
from benchmarks.race import advice, bad_input, classes, coverage, power, recalibration, speed
from benchmarks.race.calls import version
from benchmarks.race.contestants import CONTESTANTS, NO_PACKAGE
from benchmarks.race.parts import Line, Lines, Part, markdown


@dataclass(frozen=True)
class Page:
    """A part, and the words above its tables."""

    part: Part
    title: str
    above: str
    picture: str = ""  # what it shows


PARTS = {
    "power": Page(
        power.PART,
        "Race: who finds the miscalibration",
        """
Every test of calibration that a package has, on the same samples: eight ways to be miscalibrated. With n rows the
deviation is multiplied by the root of 1,000 / n, so that more rows do not make it easier. *At equal size*: a sample
counts as rejected if its p-value is below the value that 5% of calibrated samples are below, so that a test gains
nothing by p-values that are too small (the table of sizes). A test built for one alternative is the best there and
blind elsewhere (`compute_bias` tests the mean only, Spiegelhalter's z the variance, MAPIE's on one side only): read the
mean and the columns that could happen to you. probcal's kernel test takes n squared numbers for each draw and has fewer
samples from 1,000 rows on.
        """,
        "Mean power by the number of rows",
    ),
    "recalibration": Page(
        recalibration.PART,
        "Race: whose recalibrated probabilities are best",
        """
Each map is fitted to n rows and judged on others: twelve made data sets on their whole population, eight of real
models (those that come with rainproof and scikit-learn) on up to 10,000 rows held out. *Cost* is the mean over five
decisions (a miss costs 1, 2, 5, 10 or 20 false alarms), in percent of the cost of the better of always and never
acting. Scores are in thousandths; the log loss takes probabilities as at least 10⁻⁶ from 0 and 1. *Worst task* is the
most that any decision loses by the map in place of the true event rate, in thousandths of what is at stake: for made
data sets only, as it needs the truth. Rows are differences from rainproof's map on the same data: **above 0
rainproof's is better, below 0 worse**, ± the standard error over data sets. The data sets are from
[the study](study-recalibration.md) that rainproof's way of recalibrating was chosen by, with other rows, which favours
it; from 2,000 rows on it keeps a quarter of them for its certificate, which costs it something. calibre's
`SplineCalibrator` is left out, as one fit takes seconds.

Where one map has the right shape, it alone is better than a mean of nine: few rows cannot tell it from the others. Here
these are, all with 200 rows, margins of support vector machines (one logistic curve of the margin, or few steps), naive
Bayes on cancer and the rain of the demo (one line in the log-odds). scikit-learn's sigmoid, the one
logistic curve of the prediction itself and not of its log-odds, was tried as a tenth map of the mean with 200 rows:
over the data sets it changed the cost by no more than its standard error, so it was not added. [Several
classes](race-classes.md) have a page of their own.
        """,
        "Cost beyond that of rainproof's map, by the number of rows",
    ),
    "classes": Page(
        classes.PART,
        "Race: several classes recalibrated",
        """
Each map for several classes is fitted to n rows and judged on others: five made data sets of three classes on 4,000
predictions whose probabilities are known, and three models of ten digits on the rows held out. *Cost* is the mean over
20 tables of random costs (an action for each class, what it costs in another one uniform between 0 and 1), in percent
of that of the best fixed action. Scores are in thousandths; the log loss takes probabilities as at least 10⁻⁶. Rows are
differences from rainproof's map on the same data: **above 0 rainproof's is better, below 0 worse**, ± the standard
error over data sets. From 2,000 rows on rainproof keeps a quarter of them for its certificate. Maps whose rows do not
sum to 1 (uncertainty-calibration) and packages with maps for two classes only are not in this part.

The first race showed that probmetrics' matrix had the smaller log loss where a forecast is far too confident (naive
Bayes on the digits): rainproof's priors were around slopes of 1, however confident a forecast was. They are now around
the best temperature, and as wide as it is.
        """,
    ),
    "coverage": Page(
        coverage.PART,
        "Race: whose intervals cover",
        """
Every 95% interval that two or more packages give, on samples of four populations whose values are known: calibrated,
overconfident, mostly low predictions that are too high, and rare events (1%) that are said a third too low.
Bootstraps draw 199 times, in every package; uncertainty-calibration's 100 times, as it fixes that, and its
`alpha=0.05` are the percentiles 0.025 and 99.975. probcal's redraw all rows (`stratify=False`), as its default takes
the number of events as given; its ECE is `ece_debiased`. Its smooth ECE is of log-odds, another quantity than
rainproof's, and left out. In a reliability diagram the share is that of its points, pointwise. Those of calibre and
model-diagnostics are isotonic, at each prediction; those of rainproof and probcal are of bins, and their truth is the
mean rate of the rows in a bin. model-diagnostics draws its intervals and does not return them: they are read from the
figure, at the ends of its steps. The pair of probabilities that venn-abers, MAPIE and probcal give for one case has no
level and is left out.
        """,
        "The share of intervals that contain the truth, all populations and sizes",
    ),
    "advice": Page(
        advice.PART,
        "Race: whose advice costs least",
        """
Random populations (nine kinds, event rates from 3% to 50%, a miss at 1/3 to 19 false alarms), a sample of each: what
does it cost to do what a package recommends? *Regret* is the cost in the population above that of acting on the true
event rate of each prediction, in percent of the cost of the better of always and never acting. The populations are
not those on which the rules of rainproof's verdict were [chosen](study-verdict.md), but of the same kinds, which
favours rainproof. A recommendation is what a package returns or its guide says: the verdict; a calibrated classifier
with the method that scikit-learn's guide names for so many rows; a tuned threshold; the method that probcal selects;
the map that probmetrics recommends; the best of model, all and none by dcurves' net benefit; empulse's default; the
best of the forecast, an isotonic map, all and none by calibre. Packages without a recommendation for given costs are
not in this part.
        """,
        "Mean regret by the number of rows",
    ),
    "bad-input": Page(
        bad_input.PART,
        "Race: bad input",
        """
Forty inputs: twenty that are wrong, and twenty that are in order and look unusual. For the first an error is right
(NaN, which is no number, counts as one), and so is the plain number where a package may read them on purpose:
log-odds, outcomes 1 and 2 or -1 and 1, numbers as words. For the second the number is right that plain arrays of the
same rows give. Each package gets them through its main function for one number about the rows; the tensors of
torchmetrics are made by `torch.as_tensor`, the frame of dcurves by `pandas.DataFrame`, which refuse some inputs
before they see them. The cases are ours, which favours rainproof. One is a matter of taste: pandas columns with the
same labels in another order are paired by position nearly everywhere (here: wrong, unless refused).
        """,
    ),
    "speed": Page(
        speed.PART,
        "Race: time, memory, installation",
        """
Processor time of one call on one core, the least of several, all in one run on the same arrays: compare ratios. It is
not the time on the wall, so other work on the machine disturbs it less; but it shares caches and memory, which makes
the largest sizes slower for those that read much (it was busy when this was measured). What is computed differs: each
package's own number, test or map; the second table is of the same quantity. A call that would take more than ten
seconds, judged by a tenth of the rows, is over budget. *Growth* is the power of n between the last two sizes. Memory is
that at the peak of a call beyond the inputs, in a process of its own. [Speed and memory](speed.md) has all jobs of
rainproof.
        """,
        "Processor seconds of one number about calibration, by the number of rows",
    ),
}
START, END = "<!-- race -->", "<!-- end of race -->"


def link(name: str) -> str:
    """The file of a page, in the folder of benchmarks."""
    return f"race-{name}.md"


def write(results: Path, docs: Path) -> None:
    """Write the page of every part that has lines, and the table of the README beside the
    folder.
    """
    found = {name: lines for name, one in PARTS.items() if (lines := one.part.lines(results))}
    minutes = sum(map(_minutes, found.values()))
    for name, lines in found.items():
        body, others = (
            PARTS[name].part.page(lines, docs / "pictures"),
            [x for x in found if x != name],
        )
        _write(docs / "benchmarks" / link(name), _text(name, body, _who(results), minutes, others))
    readme = docs.parent / "README.md"
    if readme.exists() and START in readme.read_text(encoding="utf-8"):
        before, _, rest = readme.read_text(encoding="utf-8").partition(START)
        _write(readme, f"{before}{START}\n{table(results)}\n{END}{rest.partition(END)[2]}")


def _minutes(lines: Lines) -> float:
    """At least, of one core; lines that do not say it count like others of the same function and
    number of rows.
    """
    known: dict[tuple[str | None, ...], list[float]] = {}
    for line in lines:
        if line["seconds"]:
            known.setdefault(_kind(line), []).append(float(line["seconds"]))
    means = {kind: sum(some) / len(some) for kind, some in known.items()}
    return sum(float(line["seconds"] or means.get(_kind(line), 0)) for line in lines) / 60


def _kind(line: Line) -> tuple[str | None, ...]:
    return tuple(line.get(key) for key in ("package", "entry", "quantity", "job", "n"))


def table(results: Path) -> str:
    """One line for each part that can be said in one: ours, and the best of the others."""
    rows = []
    for name, one in PARTS.items():
        found = one.part.summary(one.part.lines(results))
        if found is not None:
            what, ours, others = found
            rows.append(
                [
                    f"[{what.partition(':')[0]}](docs/benchmarks/{link(name)}):{what.partition(':')[2]}",
                    ours,
                    others,
                ]
            )
    return markdown(["", "rainproof", "best of the others"], rows)


def _text(name: str, body: str, who: str, minutes: float, others: list[str]) -> str:
    one = PARTS[name]
    parts = [f"# {one.title}", one.above.strip()]
    if one.picture:
        parts.append(f"![{one.picture}](../pictures/race-{name}.png)")
    source = (
        f"`make race` measures this ([data](../data/race/{name}.csv)); a race that was stopped "
        f"goes on where it was. All parts took {minutes:.0f} minutes of one core at least."
    )
    more = " · ".join(f"[{PARTS[x].title.partition(': ')[2]}]({link(x)})" for x in others)
    return (
        "\n\n".join([*parts, body, "## Who took part", who, f"{source} The other parts: {more}."])
        + "\n"
    )


def write_who(results: Path) -> None:
    """Write who takes part, at which version, and on what machine, beside the tables whose numbers
    it made.
    """
    found = [("Python", platform.python_version()), ("processor", processor())]
    found += [(one.name, version(one) or "") for one in CONTESTANTS if one.name != NO_PACKAGE]
    results.mkdir(parents=True, exist_ok=True)
    with (results / "contestants.csv").open("w", encoding="utf-8", newline="") as file:
        csv.writer(file, lineterminator="\n").writerows([("name", "version"), *found])


def _who(results: Path) -> str:
    with (results / "contestants.csv").open(encoding="utf-8", newline="") as file:
        found = {line["name"]: line["version"] for line in csv.DictReader(file)}
    python, machine = found.pop("Python"), found.pop("processor")
    words = (
        f"Python {python}, one core of {machine}: "
        f"{', '.join(f'{name} {x}' for name, x in found.items() if x)}."
    )
    words += "".join(
        f" {one.name} needs Python {one.python} and ran there."
        for one in CONTESTANTS
        if one.python and found[one.name]
    )
    absent = [name for name, x in found.items() if not x]
    return words + (f" Not installed: {', '.join(absent)}." if absent else "")


def _write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
