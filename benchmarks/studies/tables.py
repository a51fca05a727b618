"""Write tables into pages of the documentation from the data under docs/data: ``python -m
benchmarks.studies.tables``.
"""

from __future__ import annotations

import csv
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

DATA = Path(__file__).parents[2] / "docs" / "data"

Lines = list[dict[str, str]]


def read(name: str) -> Lines:
    """A committed table."""
    with (DATA / name).open(encoding="utf-8") as file:
        return list(csv.DictReader(file))


def written(path: Path, lines: Iterable[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    """Write a table line by line, and yield each line once it is in the file."""
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = None
        for line in lines:
            if writer is None:
                writer = csv.DictWriter(file, list(line), lineterminator="\n")
                writer.writeheader()
            writer.writerow(line)
            file.flush()
            yield line


def write(path: Path, lines: Iterable[dict[str, Any]]) -> None:
    """Write a table."""
    for _ in written(path, lines):
        pass


def markdown(head: list[str], rows: list[list[str]]) -> str:
    """Cells as a Markdown table."""
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


def sharper() -> str:
    """Bound and Hoeffding's bound at 95%, by population and number of rows: equal weights."""
    lines = [
        x for x in read("violation.csv") if (x["weights"], x["setting"]) == ("equal", "default")
    ]
    sizes = [
        n for n in dict.fromkeys(x["n"] for x in lines) if int(n) in (100, 1_000, 10_000, 100_000)
    ]
    rows = []
    for name in dict.fromkeys(x["population"] for x in lines):
        some = {x["n"]: x for x in lines if x["population"] == name}
        cells = [
            f"{float(some[n]['bound_adaptive']):.4f} / {float(some[n]['bound_hoeffding']):.4f}"
            for n in sizes
        ]
        rows.append([name, *cells, f"{float(some[sizes[-1]]['truth']):.4f}"])
    return markdown(["population", *(f"n = {int(n):,}" for n in sizes), "true loss"], rows)


def failures() -> str:
    """The largest number of failures over populations and sizes, by weighting and setting."""
    lines, rows = read("violation.csv"), []
    for weights, setting in dict.fromkeys((x["weights"], x["setting"]) for x in lines):
        some = [x for x in lines if (x["weights"], x["setting"]) == (weights, setting)]
        worst = {
            method: max(some, key=lambda x: int(x[f"violations_{method}"]))
            for method in ("adaptive", "hoeffding")
        }
        cells = [
            f"{worst[m][f'violations_{m}']} of {worst[m]['repeats']}"
            + (
                f" ({worst[m]['population']}, n = {int(worst[m]['n']):,})"
                if worst[m][f"violations_{m}"] != "0"
                else ""
            )
            for m in worst
        ]
        rows.append([weights, setting, f"{float(some[0]['allowed']):.0%}", *cells])
    return markdown(
        ["weights", "setting", "may fail", "adaptive, worst case", "Hoeffding, worst case"], rows
    )


def as_is() -> str:
    """The bounds for predictions that are not rounded, and all failures over the sizes, by
    population.
    """
    lines, rows = read("violation-as-is.csv"), []
    sizes = list(dict.fromkeys(x["n"] for x in lines))
    for name in dict.fromkeys(x["population"] for x in lines):
        some = [x for x in lines if x["population"] == name]
        by_size = {x["n"]: x for x in some if x["confidence_level"] == "0.95"}
        cells = [
            (
                f"{float(by_size[n]['bound_adaptive']):.4f} / "
                f"{float(by_size[n]['bound_hoeffding']):.4f}"
            )
            for n in sizes
        ]
        failed = []
        for level in ("0.95", "0.5"):
            at_level = [x for x in some if x["confidence_level"] == level]
            counts = [
                sum(int(x[f"violations_{method}"]) for x in at_level)
                for method in ("adaptive", "hoeffding")
            ]
            failed.append(
                f"{counts[0]} / {counts[1]} of {sum(int(x['repeats']) for x in at_level):,}"
            )
        rows.append([name, *cells, f"{float(some[0]['truth']):.4f}", *failed])
    head = [
        "population",
        *(f"n = {int(n):,}" for n in sizes),
        "true loss",
        "failed at 95%",
        "failed at 50%",
    ]
    return markdown(head, rows)


def switching() -> str:
    """The mean bounds of a switch and their failures over the sizes, by population."""
    lines, rows = read("switching.csv"), []
    sizes = list(dict.fromkeys(x["n"] for x in lines))
    for name in dict.fromkeys(x["population"] for x in lines):
        some = [x for x in lines if x["population"] == name]
        at_95 = {x["n"]: x for x in some if x["confidence_level"] == "0.95"}
        cells = [
            " / ".join(
                f"{float(at_95[n][k]):.4f}" for k in ("harm_bound", "hoeffding", "bootstrap")
            )
            for n in sizes
        ]
        failed = []
        for level in ("0.95", "0.5"):
            at = [x for x in some if x["confidence_level"] == level]
            bound = sum(int(x["violations_harm"]) for x in at)
            redrawn = (
                sum(int(x["violations_bootstrap"]) for x in at),
                sum(int(x["bootstrapped"]) for x in at),
            )
            failed.append(
                f"{bound} of {sum(int(x['repeats']) for x in at):,}; {redrawn[0]} of {redrawn[1]}"
            )
        rows.append([name, *cells, f"{float(some[0]['true_harm']):.4f}", *failed])
    head = ["population", *(f"n = {int(n):,}" for n in sizes), "true loss"]
    return markdown([*head, "failed at 95%", "failed at 50%"], rows)


def lower_bounds() -> str:
    """The failures of the lower bounds at 50%, by population and kind of rows."""
    rows = []
    for x in read("proofs.csv"):
        if x["confidence_level"] == "0.5":
            found = [
                (
                    f"{x[f'{k}_failed']} of {x['repeats']}; {float(x[f'{k}_at_least']):.4f} "
                    f"({float(x[f'true_{k}']):.4f})"
                )
                for k in ("loss", "gain", "worth")
            ]
            rows.append([x["population"], x["rows"], *found])
    return markdown(["population", "rows", "loss", "gain", "worth"], rows)


def lower_power() -> str:
    """The share of samples in which a lower bound proves anything at 95%, and the mean bound."""
    rows = []
    for x in read("proofs.csv"):
        if x["confidence_level"] == "0.95":
            found = [
                f"{int(x[f'{k}_proven']) / int(x['repeats']):.0%}; {float(x[f'{k}_at_least']):.4f} "
                f"({float(x[f'true_{k}']):.4f})"
                for k in ("loss", "gain", "worth")
            ]
            held = (
                f"{int(x['held_out_proven']) / int(x['repeats']):.0%}; {float(x['held_out']):.4f}"
            )
            rows.append([x["population"], f"{int(x['n']):,}", *found, held])
    return markdown(["population", "n", "loss", "gain", "worth", "gain, quarter held out"], rows)


def proven_targets() -> str:
    """How often a proven threshold is false, and how often it is found and what it flags, beside
    others.
    """
    rows = []
    for x in read("targets.csv"):
        cells = [f"{int(x['ours_false']) / int(x['ours_repeats']):.1%}"]
        for name in ("ours", "sequence", "mapie"):
            many = int(x[f"{name}_repeats"])
            cells.append(
                f"{int(x[f'{name}_found']) / many:.0%}; {float(x[f'{name}_flagged']):.2%}"
                if many
                else ""
            )
        rows.append(
            [x["population"], x["rows"], f"{int(x['n']):,}", x["targets"].replace("_", " "), *cells]
        )
    head = [
        "population",
        "rows",
        "n",
        "targets",
        "false",
        "found; flags",
        "sequence on all rows",
        "MAPIE",
    ]
    return markdown(head, rows)


def anytime() -> str:
    """The bound for one number of rows and the one at any time, for both responses, by
    population.
    """
    lines, rows = read("anytime-price.csv"), []
    sizes = list(dict.fromkeys(x["n"] for x in lines))
    for name, response in dict.fromkeys((x["population"], x["response"]) for x in lines):
        some = [x for x in lines if (x["population"], x["response"]) == (name, response)]
        cells = [
            f"{float(x['fixed']):.4f} / {float(x['anytime']):.4f} ({float(x['ratio']) - 1:+.0%})"
            for x in some
        ]
        rows.append([name, f'"{response}"', *cells])
    return markdown(["population", "response", *(f"n = {int(n):,}" for n in sizes)], rows)


def looks() -> str:
    """The series in which a bound failed at some of 1,000 looks, by population."""
    lines, rows = read("anytime.csv"), []
    for name in dict.fromkeys(x["population"] for x in lines):
        some = {x["confidence_level"]: x for x in lines if x["population"] == name}
        cells = [
            f"{some[level][f'failed_{kind}']} of {some[level]['series']}"
            for level in ("0.95", "0.5")
            for kind in ("anytime", "fixed")
        ]
        rows.append([name, *cells])
    head = [
        "95%, at any time",
        "95%, one number of rows",
        "50%, at any time",
        "50%, one number of rows",
    ]
    return markdown(["population", *head], rows)


def sequential_null() -> str:
    """False alarms of the sequential test."""
    rows = [
        [x["series"], f"{x['false_alarms']} of {x['repeats']}"] for x in read("sequential-null.csv")
    ]
    return markdown(["series", "false alarms at 5%"], rows)


def sequential_power() -> str:
    """The median row of the alarm."""
    names = ("betting", "repeated", "probcal")
    rows = [
        [x["miscalibration"], *(f"{float(x[k]):,.0f}" for k in names)]
        for x in read("sequential-power.csv")
    ]
    return markdown(
        ["miscalibration", "SequentialTest", "fixed-n test, 100 looks", "probcal"], rows
    )


def detection_false() -> str:
    """Alarms of `monitor` on calibrated series."""
    found = {(x["series"], x["rows"]): x for x in read("detection-false.csv")}
    rows = []
    for name in dict.fromkeys(name for name, _ in found):
        some = [found.get((name, choice)) for choice in ("one after the other", "dependent")]
        cells = ["" if x is None else f"{x['alarms']} in {int(x['days']):,}" for x in some]
        rows.append([name, *cells])
    return markdown(["series", "alarms in days, rows one after the other", "dependent rows"], rows)


def detection_shift() -> str:
    """How soon a shift is found, and how well it is dated."""
    rows = []
    for x in read("detection-shift.csv"):
        n = int(x["repeats"])
        shares = [f"{100 * int(x[k]) / n:.0f}%" for k in ("found_within_3", "dated_within_3")]
        rows.append(
            [f"+{x['shift']}", x["rows"], x["choice"], f"{float(x['median_delay']):g}", *shares]
        )
    head = [
        "log odds",
        "rows a day",
        "choice",
        "median days to the alarm",
        "found within 3 days",
        "dated within 3 days",
    ]
    return markdown(head, rows)


def detection_delay() -> str:
    """The median delay of each method, and its alarms before the change."""
    names = ("monitor", "dependent", "cusum", "daily", "probcal")
    rows = []
    for x in read("detection-delay.csv"):
        days = [f"{float(x[k]):g}".replace("inf", "over 100") for k in names]
        rows.append(
            [x["change"], *(f"{d} ({x[f'{k}_early']})" for d, k in zip(days, names, strict=True))]
        )
    head = [
        "change",
        "monitor",
        "monitor, dependent rows",
        "CUSUM of residuals",
        "a test a day",
        "probcal",
    ]
    return markdown(head, rows)


def detection_stored() -> str:
    """How often ten periods together are found out, by what is kept of them."""
    found = {(x["predictions"], x["kept"]): x for x in read("detection-stored.csv")}
    kept = list(dict.fromkeys(what for _, what in found))
    shapes = list(dict.fromkeys(shape for shape, _ in found))
    rows = [
        [s, *(f"{found[s, k]['found']} ({found[s, k]['median_log_evidence']})" for k in kept)]
        for s in shapes
    ]
    return markdown(["predictions", *kept], rows)


def _by_stream(name: str, by: str) -> dict[tuple[str, str], dict[str, dict[str, str]]]:
    """The lines of each stream and number of rows; "model" is the better one where there are
    two.
    """
    found: dict[tuple[str, str], dict[str, dict[str, str]]] = {}
    for x in read(name):
        found.setdefault((x["stream"], x["n"]), {})[x[by]] = x
    for some in found.values():
        second = some.pop("second model", some["model"])
        some["model"] = min(some["model"], second, key=lambda x: float(x["brier"]))
    return found


def online() -> str:
    """CDL, Brier and log score of a stream of 100,000 rows, by method."""
    lines = {
        name: some
        for (name, n), some in _by_stream("online.csv", "method").items()
        if n == "100000"
    }
    methods = list(lines["calibrated"])
    rows = [
        [
            name,
            *(
                " / ".join(f"{float(some[m][k]):.4f}" for k in ("cdl", "brier", "log"))
                for m in methods
            ),
        ]
        for name, some in lines.items()
    ]
    return markdown(["stream", *methods], rows)


def online_sizes() -> str:
    """CDL, Brier and log score of the model, and what the online recalibration changes, by number
    of rows.
    """
    lines, rows = _by_stream("online.csv", "method"), []
    sizes = list(dict.fromkeys(n for _, n in lines))
    for name in dict.fromkeys(name for name, _ in lines):
        cells = []
        for n in sizes:
            model, made = lines[name, n]["model"], lines[name, n]["online"]
            more = [f"{float(made[k]) / float(model[k]) - 1:+.2%}" for k in ("brier", "log")]
            cells.append(
                " / ".join([f"{float(model['cdl']):.4f} → {float(made['cdl']):.4f}", *more])
            )
        rows.append([name, *cells])
    return markdown(["stream", *(f"{int(n):,} rows" for n in sizes)], rows)


def online_long() -> str:
    """CDL and Brier score of a stream of 1,000,000 rows, by method."""
    lines = {
        name: some
        for (name, n), some in _by_stream("online.csv", "method").items()
        if n == "1000000"
    }
    methods = ["model", "online", "rolling isotonic", "rolling Platt"]
    rows = [
        [name, *(" / ".join(f"{float(some[m][k]):.4f}" for k in ("cdl", "brier")) for m in methods)]
        for name, some in lines.items()
    ]
    return markdown(["stream", *methods], rows)


def online_costs() -> str:
    """Costs of a stream of 100,000 rows, by method."""
    lines = {
        name: some
        for (name, n), some in _by_stream("online.csv", "method").items()
        if n == "100000"
    }
    methods = list(lines["calibrated"])
    costs = [key for key in lines["calibrated"]["model"] if key.startswith("cost_")]
    rows = [
        [name, *(" / ".join(f"{float(some[m][k]):.4f}" for k in costs) for m in methods)]
        for name, some in lines.items()
    ]
    return markdown(["stream", *methods], rows)


def online_late() -> str:
    """CDL and Brier score of a stream, by how late its outcomes are."""
    lines = {name: some for (name, _), some in _by_stream("online-late.csv", "outcomes").items()}
    ways = list(lines["calibrated"])
    rows = [
        [
            name,
            *(" / ".join(f"{float(some[way][k]):.4f}" for k in ("cdl", "brier")) for way in ways),
        ]
        for name, some in lines.items()
    ]
    return markdown(["stream", *ways], rows)


def adversaries() -> str:
    """CDL against adversaries, by number of rounds."""
    lines, rows = read("online-adversaries.csv"), []
    sizes = list(dict.fromkeys(x["n"] for x in lines))
    for name in dict.fromkeys(x["adversary"] for x in lines):
        some = [x for x in lines if x["adversary"] == name]
        rows.append([name, *(f"{float(x['cdl']):.4f} ({float(x['scaled']):.2f})" for x in some)])
    return markdown(["adversary", *(f"T = {int(n):,}" for n in sizes)], rows)


def other_coverage() -> str:
    """The coverage of the intervals that no other study has, by population and number of rows."""
    rows: dict[str, list[str]] = {}
    for x in read("printed.csv"):
        case = f"{x['population']}, n = {int(x['n']):,}: {100 * float(x['coverage']):.1f}%"
        rows.setdefault(x["interval"], []).append(case)
    return markdown(
        ["interval", "coverage at 95%"], [[name, "; ".join(cases)] for name, cases in rows.items()]
    )


def rates() -> str:
    """The fitted slopes, by measure."""
    lines = read("rates-slopes.csv")
    slope = {
        (x["forecaster"], x["measure"]): f"{x['slope']} ± {x['standard_error']}" for x in lines
    }
    promised = {x["measure"]: x["promised"] for x in lines}
    rows = [
        [f"`{m}`", slope["calibrated", m], slope["overconfident", m], promised[m]] for m in promised
    ]
    return markdown(
        ["measure", "calibrated", "overconfident", "known for a calibrated forecaster"], rows
    )


def grades() -> str:
    """How often each grade is given without costs, by population and number of rows."""
    lines = [x for x in read("grades.csv") if (x["rows"], x["costs"]) == ("rows", "no")]
    sizes, rows = list(dict.fromkeys(x["n"] for x in lines)), []
    for name in dict.fromkeys(x["population"] for x in lines):
        some = {x["n"]: x for x in lines if x["population"] == name}
        rows.append([name, *(_given(some[n]) for n in sizes)])
    return markdown(["population", *(f"n = {int(n):,}" for n in sizes)], rows)


def _given(line: dict[str, str]) -> str:
    return ", ".join(
        f"{grade} {line[grade]}"
        for grade in ("use", "recalibrate", "avoid", "unknown")
        if line[grade] != "0"
    )


def other_grades() -> str:
    """The grades with costs, of independent rows, in groups and with weights: all sizes
    together.
    """
    lines, rows = [x for x in read("grades.csv") if x["costs"] == "yes"], []
    kinds = list(dict.fromkeys(x["rows"] for x in lines))
    for name in dict.fromkeys(x["population"] for x in lines):
        some = [
            [x for x in lines if (x["population"], x["rows"]) == (name, kind)] for kind in kinds
        ]
        added = [
            {
                g: str(sum(int(x[g]) for x in cell))
                for g in ("use", "recalibrate", "avoid", "unknown")
            }
            for cell in some
        ]
        rows.append([name, *map(_given, added)])
    return markdown(["population", *kinds], rows)


STATEMENTS = {  # what is said, and how often it may be wrong
    "calibration is not rejected": ("a calibrated forecast shows no sign of miscalibration", "5%"),
    "direction": ("how the probabilities are off, where the test rejects calibration", "5%"),
    "skill": ("the interval of the skill contains it", "5%"),
    "skill is above 0": ("the skill is above 0, where its interval is", "2.5%"),
    "not called useless": ('not "avoid", where the skill is above 0.1', "5%"),
    "gain": ("the interval of what recalibration gains contains it", "5%"),
    "cost, as is": ("the interval of your cost contains it: as they are", "5%"),
    "cost, recalibrated": ("... recalibrated", "5%"),
    "cost, cut-off": ("... from the best cut-off on", "5%"),
    "saved": ("the interval of what recalibration saves contains it", "5%"),
    "saves": ("recalibration saves, where this interval is above 0", "2.5%"),
    "guarantee": ("no decision loses more than the guarantee", "5%"),
    "guarantee, recalibrated": ("... recalibrated, where a certificate says so", "5%"),
}
_OFTEN = 20  # times that a statement is made, to be named
# with costs and without
_SAME = ("calibration is not rejected", "direction", "guarantee", "guarantee, recalibrated")


def statements() -> str:
    """How often each statement is wrong, by kind of rows, and where most."""
    lines, rows = read("statements.csv"), []
    kinds = list(dict.fromkeys(x["rows"] for x in lines))
    lines = [
        x for x in lines if x["statement"] not in _SAME or x["rows"] != "rows" or x["costs"] == "no"
    ]
    for what, (said, most) in STATEMENTS.items():
        cells = []
        for kind in kinds:
            some = [x for x in lines if (x["statement"], x["rows"]) == (what, kind)]
            given, right = (sum(int(x[k]) for x in some) for k in ("given", "right"))
            cells.append(
                f"{given - right} of {given:,} ({(given - right) / given:.1%})" if given else ""
            )
        by_name: dict[str, list[int]] = {}
        for x in lines:
            if x["statement"] == what:
                one = by_name.setdefault(x["population"], [0, 0])
                one[0], one[1] = (
                    one[0] + int(x["given"]) - int(x["right"]),
                    one[1] + int(x["given"]),
                )
        often = {
            name: counts for name, counts in by_name.items() if counts[0] and counts[1] >= _OFTEN
        }
        worst = max(often, key=lambda name: often[name][0] / often[name][1], default=None)
        rows.append(
            [said, most, *cells, "{}: {} of {}".format(worst, *often[worst]) if worst else ""]
        )
    return markdown(["statement", "may be wrong", *kinds, "most often wrong for"], rows)


_FEW = 9.5  # draws of the rarer outcome, on average over the samples


def costs() -> str:
    """The share of intervals that contain the true cost, by kind of rows and number of events, all
    sizes together.
    """
    lines, cells = read("costs.csv"), dict[tuple[str, str], list[int]]()
    for x in lines:
        kind = x["rows"].removesuffix(" unequal").replace("groups ", "groups: ")
        fewer = ", fewer than 10 of the rarer outcome" if float(x["few"]) < _FEW else ""
        cell = cells.setdefault((kind + fewer, x["interval"]), [0, 0])
        cell[0], cell[1] = cell[0] + int(x["covered"]), cell[1] + int(x["simulations"])
    kinds, names = (list(dict.fromkeys(key[k] for key in cells)) for k in (0, 1))
    rows = []
    for kind in kinds:
        some = [cells.get((kind, name)) for name in names]
        most = max(cell[1] for cell in some if cell)
        rows.append(
            [kind, f"{most:,}", *(f"{cell[0] / cell[1]:.1%}" if cell else "" for cell in some)]
        )
    return markdown(["rows", "samples", *names], rows)


def advice() -> str:
    """The mean regret of following the advice and of simple rules, by number of rows."""
    lines, rows = read("advice.csv"), []
    sizes = list(dict.fromkeys(x["n"] for x in lines))
    names = {
        "advice": "**the advice of `assess`**",
        "own map": "always the map of `Recalibrator`",
        "as is": "as they are",
    }
    names |= {"Platt": "Platt", "isotonic": "isotonic", "cut-off": "best cut-off on the same rows"}
    for rule, name in names.items():
        rows.append([name, *(_mean([float(x[rule]) for x in lines if x["n"] == n]) for n in sizes)])
    count = [sum(x["n"] == n for x in lines) for n in sizes]
    return markdown(
        ["rule", *(f"n = {int(n):,} ({k} populations)" for n, k in zip(sizes, count, strict=True))],
        rows,
    )


def _mean(values: list[float]) -> str:
    mean = sum(values) / len(values)
    error = (sum((x - mean) ** 2 for x in values) / (len(values) - 1) / len(values)) ** 0.5
    return f"{mean:.4f} ± {error:.4f}"


def advice_kinds() -> str:
    """The mean regret of some rules by kind of population, all numbers of rows together."""
    lines, rows = read("advice.csv"), []
    rules = ("advice", "own map", "as is", "Platt", "isotonic")
    for kind in dict.fromkeys(x["kind"] for x in lines):
        some = [x for x in lines if x["kind"] == kind]
        rows.append(
            [kind, *(f"{sum(float(x[rule]) for x in some) / len(some):.4f}" for rule in rules)]
        )
    return markdown(["kind", *rules], rows)


def stability() -> str:
    """The verdicts on real forecasts over seeds and over orders of the rows."""
    lines, rows = read("stability.csv"), []
    for name in dict.fromkeys(x["data"] for x in lines):
        some = {(x["vary"], x["costs"]): x for x in lines if x["data"] == name}
        seeds, costs, orders = some["seed", "no"], some["seed", "yes"], some["order", "no"]
        cells = [
            f"{int(seeds['n']):,}",
            seeds["grades"],
            seeds["headlines"],
            costs["grades"],
            orders["texts"],
        ]
        rows.append([name, *cells])
    head = [
        "forecast",
        "rows",
        "grades, 30 seeds",
        "headlines",
        "with costs, 10 seeds",
        "texts, 30 orders",
    ]
    return markdown(head, rows)


def case_costs() -> str:
    """How often intervals of costs of each case contain the true value."""
    lines, rows = read("case-costs.csv"), []
    names = list(dict.fromkeys(x["interval"] for x in lines))
    for case in dict.fromkeys((x["spread"], x["amounts"]) for x in lines):
        some = {x["interval"]: x for x in lines if (x["spread"], x["amounts"]) == case}
        shares = [
            f"{int(some[name]['covered']) / int(some[name]['simulations']):.1%}" for name in names
        ]
        rows.append([", ".join(case), *shares])
    return markdown(["standard deviation of log amounts", *names], rows)


def range_bounds() -> str:
    """By kind of bound: failures in ranges of thresholds over all populations."""
    lines, rows = read("threshold-range.csv"), []
    for kind in dict.fromkeys(x["bound"] for x in lines):
        cells = []
        for some in ("(0.05, 0.2)", "0.1"):
            for level in ("0.95", "0.5"):
                key = {"bound": kind, "range": some, "confidence_level": level}
                found = [x for x in lines if key.items() <= x.items()]
                cells.append(
                    f"{sum(int(x['violations']) for x in found)} of "
                    f"{sum(int(x['repeats']) for x in found):,}"
                )
        rows.append([kind, *cells])
    head = [
        "bound",
        "5% to 20%, 95% confidence",
        "50% confidence",
        "10%, 95% confidence",
        "50% confidence",
    ]
    return markdown(head, rows)


def range_sharper() -> str:
    """By population: the mean bound as they are at 95% confidence, and the true loss, for each
    range.
    """
    lines, rows = read("threshold-range.csv"), []
    lines = [x for x in lines if (x["bound"], x["confidence_level"]) == ("as is", "0.95")]
    for name in dict.fromkeys(x["population"] for x in lines):
        some = {x["range"]: x for x in lines if x["population"] == name}
        cells = [
            f"{float(some[k]['mean']):.4f} ({float(some[k]['truth']):.4f})"
            for k in ("every", "(0.05, 0.2)", "0.1")
        ]
        rows.append([name, *cells])
    return markdown(["population", "every decision", "5% to 20%", "10%"], rows)


def range_weights() -> str:
    """By range and number of rows: the mean of the largest loss over the best possible, by weights
    of maps.
    """
    lines, rows = read("threshold-range-weights.csv"), []
    sizes = list(dict.fromkeys(x["n"] for x in lines))
    for low, high in dict.fromkeys((x["low"], x["high"]) for x in lines):
        some = {x["n"]: x for x in lines if (x["low"], x["high"]) == (low, high)}
        cells = [
            f"{100 * float(some[n]['everywhere']):.3f}% / {100 * float(some[n]['in_range']):.3f}%"
            for n in sizes
        ]
        rows.append([f"{100 * float(low):g}% to {100 * float(high):g}%", *cells])
    return markdown(["range", *(f"{int(n):,} rows" for n in sizes)], rows)


CLUSTERED = {  # what is counted: of how many, and whether what is counted is right
    "a calibrated forecast is rejected": ("rejected", "simulations", False),
    "a calibrated forecast is graded *recalibrate*": ("recalibrate", "simulations", False),
    "the interval of what it says less what happens misses 0": ("says less happens", "", True),
    "the interval of the slope misses 1": ("slope", "", True),
    "the interval of the cost misses it": ("cost", "", True),
    "the interval of what never acting saves misses it": ("saved, never", "", True),
    "the interval of the skill misses it": ("skill", "", True),
    "found: predictions too high (rates are 0.7 of them)": (
        "found: too high",
        "simulations",
        False,
    ),
    "found: predictions too extreme (slope 1/2)": ("found: overconfident", "simulations", False),
}
ENOUGH_CLUSTERS = 20
OFTEN = 0.08  # a share of samples; 5% are allowed


def clusters() -> str:
    """How often statements about rows in clusters are wrong, and what is off is found: before and
    now.
    """
    lines, rows = read("clusters.csv"), []
    for what, (name, number, right) in CLUSTERED.items():
        cells = []
        for label in ("before", "now"):
            for few in (True, False):
                some = [
                    x
                    for x in lines
                    if x["label"] == label and (float(x["few"]) < ENOUGH_CLUSTERS) == few
                ]
                counted = [_of_clusters(x, name, number, right=right) for x in some]
                total = sum(of for _, of in counted)
                most = max(wrong / of for wrong, of in counted if of)
                cells.append(f"{sum(wrong for wrong, _ in counted) / total:.1%} (up to {most:.0%})")
        rows.append([what, *cells])
    head = [
        "statement",
        "before: below 20",
        "before: from 20 on",
        "now: below 20",
        "now: from 20 on",
    ]
    return markdown(head, rows)


def _of_clusters(line: dict[str, str], name: str, number: str, *, right: bool) -> tuple[int, int]:
    """How many of how many samples of a population."""
    if right:
        total = int(line[f"{name}: number"])
        return total - int(line[f"{name}: covered"]), total
    return int(line[name]), int(line[number])


def clusters_worst() -> str:
    """In how many populations of clusters a calibrated forecast is rejected too often, and in which
    ones now.
    """
    lines = read("clusters.csv")
    found = {
        label: [
            x
            for x in lines
            if x["label"] == label and int(x["rejected"]) > OFTEN * int(x["simulations"])
        ]
        for label in ("before", "now")
    }
    cases = [
        (
            f"{int(x['clusters']):,} clusters ({x['sizes']}{' rows' * (x['sizes'] == '1 or 50')}), "
            f"events in {float(x['rate']):.0%}, {x['dependence']} "
            f"({int(x['rejected']) / int(x['simulations']):.0%})"
        )
        for x in found["now"]
    ]
    total = sum(x["label"] == "now" for x in lines)
    which = f": {'; '.join(cases)}" if cases else ""
    return (
        f"Of {total} populations, a calibrated forecast is rejected in more than {OFTEN:.0%} of "
        f"the samples in {len(found['before'])} before and in {len(found['now'])} now{which}."
    )


def edges() -> str:
    """How often statements are false on hard samples: at the number of rows where they are so most
    often.
    """
    lines = [x for x in read("edges.csv") if not _measures_power(x)]
    rows = []
    for statement, population in dict.fromkeys((x["statement"], x["population"]) for x in lines):
        some = [x for x in lines if (x["statement"], x["population"]) == (statement, population)]
        rows.append(
            [statement, population, _most_false(some, "before"), _most_false(some, "after")]
        )
    return markdown(["statement", "population", "before", "now"], rows)


def edges_power() -> str:
    """How often something is proven, or "avoid" is said of noise, by the number of rows, before and
    now.
    """
    lines = [x for x in read("edges.csv") if _measures_power(x)]
    sizes = sorted({int(x["n"]) for x in lines})
    rows = []
    for statement, population in dict.fromkeys((x["statement"], x["population"]) for x in lines):
        some = [x for x in lines if (x["statement"], x["population"]) == (statement, population)]
        rows.append([statement, population, *(_shares_said(some, n) for n in sizes)])
    return markdown(["statement", "population", *(f"n = {n:,}" for n in sizes)], rows)


def _measures_power(line: dict[str, str]) -> bool:
    """Whether a line counts what is found, of what is true."""
    return "exceeded" in line["statement"] or "noise" in line["statement"]


def _most_false(lines: Lines, version: str) -> str:
    """The largest share of false statements over the numbers of rows, and where it is."""
    some = [x for x in lines if x["version"] == version]
    worst = max(some, key=lambda x: int(x["false"]) / int(x["samples"]))
    return f"{int(worst['false']) / int(worst['samples']):.1%} (n = {int(worst['n']):,})"


def _shares_said(lines: Lines, n: int) -> str:
    """In what share of the samples of n rows something was said, before and now; empty if there
    were none.
    """
    shares = {x["version"]: int(x["said"]) / int(x["samples"]) for x in lines if int(x["n"]) == n}
    return f"{shares['before']:.0%} / {shares['after']:.0%}" if shares else ""


def base_rate_bounds() -> str:
    """Mean bounds at 90% and failures over populations, by design, number of rows and rate."""
    lines, rows = read("base-rate-bounds.csv"), []
    for design, n in dict.fromkeys((x["design"], x["n"]) for x in lines):
        some = [x for x in lines if (x["design"], x["n"]) == (design, n)]
        for rate in ("0.005", "0.05", "range"):
            cells = []
            if rate == "range":
                cells += ["", "", ""]
            else:
                at_90 = [x for x in some if x["confidence_level"] == "0.9"]
                truth, bound, slack = (
                    sum(float(x[f"{k}_{rate}"]) for x in at_90) / len(at_90)
                    for k in ("truth", "bound", "hoeffding_slack")
                )
                cells += [f"{truth:.4f}", f"{bound - truth:.4f}", f"{slack:.4f}"]
            for level in ("0.9", "0.5"):
                at = [x for x in some if x["confidence_level"] == level]
                failed, worst = (
                    sum(int(x[f"violations_{rate}"]) for x in at),
                    max(int(x[f"violations_{rate}"]) for x in at),
                )
                cells.append(
                    f"{failed} of {sum(int(x['repeats']) for x in at):,} (at most {worst} of "
                    f"{at[0]['repeats']})"
                )
            rows.append(
                [design, f"{int(n):,}", rate if rate != "range" else "0.005 to 0.05", *cells]
            )
    head = ["rows", "n", "base rate", "true loss", "bound less that", "Hoeffding's allowance"]
    return markdown([*head, "failed at 90%", "failed at 50%"], rows)


def base_rate_lower() -> str:
    """Proven losses beside the true one, by population."""
    rows = [
        [x["population"], x["truth"], x["mean_bound"], f"{x['violations']} of {x['repeats']}"]
        for x in read("base-rate-lower.csv")
    ]
    return markdown(["population", "true loss", "mean bound", "failed at 95%"], rows)


def base_rate_tests() -> str:
    """How often the test rejects at 5%, by forecaster, design and number of rows."""
    lines, rows = read("base-rate-tests.csv"), []
    errors = list(dict.fromkeys(x["error"] for x in lines))
    for key in dict.fromkeys((x["forecaster"], x["base_rate"], x["design"], x["n"]) for x in lines):
        some = {
            x["error"]: x
            for x in lines
            if (x["forecaster"], x["base_rate"], x["design"], x["n"]) == key
        }
        cells = [f"{int(some[e]['rejected']) / int(some[e]['repeats']):.1%}" for e in errors]
        rows.append([key[0], f"{float(key[1]):.2%}", key[2], f"{int(key[3]):,}", *cells])
    return markdown(["forecaster", "base rate", "rows", "n", "calibrated", *errors[1:]], rows)


def base_rate_intervals() -> str:
    """The share of 95% intervals that contain the population's value."""
    lines = read("base-rate-intervals.csv")
    what = list(dict.fromkeys(x["of"] for x in lines))
    rows = []
    for name in dict.fromkeys(x["population"] for x in lines):
        some = {x["of"]: x for x in lines if x["population"] == name}
        rows.append(
            [name, *(f"{int(some[k]['covered']) / int(some[k]['repeats']):.0%}" for k in what)]
        )
    return markdown(["population", *what], rows)


def base_rate_maps() -> str:
    """What maps say, lose and cost in the population."""
    rows = []
    for x in read("base-rate-maps.csv"):
        cells = [
            " / ".join(
                f"{float(x[f'{k}_{kind}']):.{digits}f}" for kind in ("as_is", "offset", "map")
            )
            for k, digits in (("mean", 2), ("loss", 4), ("cost", 2))
        ]
        rows.append([x["population"], f"{float(x['base_rate']):.1%}", *cells])
    return markdown(
        ["population", "base rate", "mean prediction over the rate", "loss", "cost"], rows
    )


PAGES = {
    "benchmarks/study-base-rate.md": (
        base_rate_bounds,
        base_rate_lower,
        base_rate_tests,
        base_rate_intervals,
        base_rate_maps,
    ),
    "benchmarks/study-bounds.md": (
        sharper,
        as_is,
        failures,
        lower_bounds,
        lower_power,
        anytime,
        looks,
        switching,
        proven_targets,
    ),
    "guide/costs-per-case.md": (case_costs,),
    "benchmarks/study-tests.md": (other_coverage,),
    "theory/paper.md": (rates,),
    "theory/sequential.md": (
        sequential_null,
        sequential_power,
        detection_false,
        detection_shift,
        detection_delay,
        detection_stored,
    ),
    "theory/online.md": (online, online_sizes, online_long, online_costs, online_late, adversaries),
    "guide/assess.md": (grades,),
    "guide/threshold-range.md": (range_weights, range_bounds, range_sharper),
    "benchmarks/study-verdict.md": (
        statements,
        edges,
        edges_power,
        clusters,
        clusters_worst,
        other_grades,
        costs,
        advice,
        advice_kinds,
        stability,
    ),
}


def filled(page: str, tables: Iterable[Callable[[], str]]) -> str:
    """Return the page with each table between its markers, which have the name of its function."""
    for table in tables:
        start, rest = page.split(f"<!-- {table.__name__} -->\n")
        _, stop = rest.split("<!-- end -->", 1)
        page = f"{start}<!-- {table.__name__} -->\n{table()}\n<!-- end -->{stop}"
    return page


def main() -> None:
    """Write the tables into the pages."""
    for name, tables in PAGES.items():
        path = DATA.parent / name
        path.write_text(filled(path.read_text(encoding="utf-8"), tables), encoding="utf-8")


if __name__ == "__main__":
    main()
