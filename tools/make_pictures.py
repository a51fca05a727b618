"""Draw the pictures of the docs: `python tools/make_pictures.py`, or some of them by name (needs
the extra `paper`, and pandas). The picture `costs` needs a quiet machine.

The samples are those of docs/guide/which-measure.md; the table there is what `--table` prints.
"""

from __future__ import annotations

import argparse
import runpy
import time
from pathlib import Path

import matplotlib as mpl
import matplotlib.pyplot as plt
import numpy as np

import rainproof

HERE = Path(__file__).parent.parent / "docs" / "pictures"
# safe for the colour-blind
COLOURS = {"calibrated": "#0072B2", "overconfident": "#E69F00", "alternating": "#D55E00"}
HATCHES = {"calibrated": "", "overconfident": "//", "alternating": "xx"}  # and readable in grey
SHOWN = [
    name for name, measure in rainproof.list_measures().items() if measure.kind == "calibration"
]


def samples() -> dict[str, tuple[np.ndarray, np.ndarray]]:
    """Return outcomes and predictions of three forecasters, 10,000 rows each."""
    rng = np.random.default_rng(0)
    n = 10_000
    p = rng.random(n)
    band = rng.integers(0, 8, n)
    p_band = (1 + (band + rng.random(n)) / 8) / 3
    forecasts = {
        "calibrated": (p, p),
        "overconfident": (p, 0.5 + (p - 0.5) / 2),
        "alternating": (p_band, p_band + np.where(band % 2, 1, -1) / 3),
    }
    return {name: (rng.random(n) < q, prediction) for name, (prediction, q) in forecasts.items()}


def values() -> dict[str, rainproof.results.Measurements]:
    """Return every measure of each forecaster."""
    return {name: rainproof.measure_all(y, p) for name, (y, p) in samples().items()}


def draw_measures() -> None:
    """Draw the three samples and the value of each measure."""
    figure = plt.figure(figsize=(9, 9), layout="constrained")
    grid = figure.add_gridspec(2, 3, height_ratios=[1, 2.6])
    for column, (name, (y, p)) in enumerate(samples().items()):
        ax = figure.add_subplot(grid[0, column])
        edges = np.linspace(0, 1, 49)
        which = np.digitize(p, edges[1:-1])
        rows = np.bincount(which, minlength=48)
        with np.errstate(invalid="ignore"):
            rate = np.bincount(which, y, 48) / np.where(rows >= 20, rows, np.nan)
        ax.plot([0, 1], [0, 1], color="0.6", linewidth=1)
        ax.plot((edges[1:] + edges[:-1]) / 2, rate, ".", color=COLOURS[name])
        ax.set(title=name, xlabel="prediction", xlim=(0, 1), ylim=(0, 1), aspect="equal")
        if column == 0:
            ax.set_ylabel("event rate")
    ax = figure.add_subplot(grid[1, :])
    at = np.arange(len(SHOWN))[::-1]
    for k, (name, measured) in enumerate(values().items()):
        heights = [measured[measure] for measure in SHOWN]
        style = {
            "color": COLOURS[name],
            "hatch": HATCHES[name],
            "edgecolor": "white",
            "label": name,
        }
        bars = ax.barh(at + 0.27 * (1 - k), heights, height=0.26, **style)
        ax.bar_label(bars, fmt="%.3f", padding=2, fontsize=7)
    ax.set_yticks(at, SHOWN)
    ax.set_xlabel("value on 10,000 rows (0 is perfect)")
    ax.legend(loc="lower right")
    ax.spines[["top", "right"]].set_visible(False)
    figure.savefig(HERE / "measures.png", dpi=110)


def draw_costs(sizes: tuple[int, ...] = (10**3, 10**4, 10**5, 10**6)) -> None:
    """Draw seconds against rows for every measure: the minimum of three calls."""
    figure, ax = plt.subplots(figsize=(8, 6.5), layout="constrained")
    rng = np.random.default_rng(1)
    p = rng.random(max(sizes))
    y = rng.random(max(sizes)) < p**1.3
    names = [name for name in rainproof.list_measures() if "[" not in name]
    styles = ["-", "--", ":", "-."]
    for k, name in enumerate(names):
        seconds = [min(_seconds(name, y[:n], p[:n]) for _ in range(3)) for n in sizes]
        ax.loglog(
            sizes,
            seconds,
            styles[k % 4],
            marker="o",
            markersize=3,
            label=name,
            color=mpl.colormaps["tab20"](k),
        )
    argsort = [min(_argsort_seconds(p[:n]) for _ in range(5)) for n in sizes]
    ax.loglog(sizes, argsort, color="black", linewidth=2.5, label="np.argsort(p)")
    ax.set(xlabel="rows", ylabel="seconds", title="Computing time of each measure")
    ax.grid(alpha=0.3)
    figure.legend(fontsize=8, loc="outside lower center", ncols=3)
    figure.savefig(HERE / "costs.png", dpi=110)


def draw_deviation() -> None:
    """Draw the deviation of the realized loss from its mean, from examples/deviation.py."""
    rows = np.genfromtxt(HERE / "deviation.csv", delimiter=",", names=True)
    figure, ax = plt.subplots(figsize=(7, 4.5), layout="constrained")
    ax.loglog(
        rows["T"], rows["worst_deviation"], "o-", color="#D55E00", label="largest of 40 roundings"
    )
    ax.loglog(
        rows["T"], rows["mean_deviation"], "s--", color="#0072B2", label="mean of 40 roundings"
    )
    line = rows["worst_deviation"][0] * (rows["T"][0] / rows["T"]) ** 0.5
    ax.loglog(rows["T"], line, color="0.5", label="slope -1/2")
    ax.set(
        xlabel="decisions T",
        ylabel="largest regret of any decision\nminus its mean over the rounding",
    )
    ax.grid(alpha=0.3)
    ax.legend()
    figure.savefig(HERE / "deviation.png", dpi=110)


def draw_rates() -> None:
    """Draw the error of each measure on T rows, from `python -m benchmarks.studies.rates`."""
    data = HERE.parent / "data"
    rows = np.genfromtxt(
        data / "rates.csv", delimiter=",", names=True, dtype=None, encoding="utf-8"
    )
    slopes = np.genfromtxt(
        data / "rates-slopes.csv", delimiter=",", names=True, dtype=None, encoding="utf-8"
    )
    figure, axes = plt.subplots(1, 2, figsize=(12, 9.5), layout="constrained", sharey=True)
    for ax, forecaster in zip(axes, dict.fromkeys(rows["forecaster"]), strict=True):
        for k, name in enumerate(dict.fromkeys(rows["measure"])):
            some = rows[(rows["forecaster"] == forecaster) & (rows["measure"] == name)]
            fit = slopes[(slopes["forecaster"] == forecaster) & (slopes["measure"] == name)]
            wide = (
                {"linewidth": 3, "zorder": 3} if name == "soft_binned_cdl" else {"linewidth": 1.2}
            )
            style = {
                "color": mpl.colormaps["tab20"](k % 20),
                "linestyle": ["-", "--", ":", "-."][k % 4],
                **wide,
            }
            symbol = (
                rainproof.list_measures()[name].symbol
                if name in rainproof.list_measures()
                else "bECE, T^1/3 bins"
            )
            label = f"{symbol}: {fit['slope'][0]:.2f}"
            ax.loglog(some["T"], some["deviation"], marker="o", markersize=3, label=label, **style)
        ax.set(xlabel="rows T", title=f"{forecaster}: slopes in the legend")
        ax.grid(alpha=0.3)
        ax.legend(fontsize=8, loc="upper center", bbox_to_anchor=(0.5, -0.07), ncols=2)
    axes[0].set_ylabel("mean absolute error")
    figure.savefig(HERE / "rates.png", dpi=100)


def draw_assessment() -> None:
    """Draw the overview of docs/guide/assess.md, for the same forecast."""
    rng = np.random.default_rng(0)
    chance = rng.random(2_500)
    y = rng.random(2_500) < chance
    task = rainproof.DecisionTask.from_costs(false_positive=1, false_negative=4)
    a = rainproof.assess(y, np.round(np.sqrt(chance), 3), task=task)
    a.plot().savefig(HERE / "assess.png", dpi=80)


def draw_digits() -> None:
    """Draw the assessment of the README."""
    from sklearn.datasets import load_digits
    from sklearn.model_selection import cross_val_predict
    from sklearn.naive_bayes import GaussianNB

    x, digit = load_digits(return_X_y=True)
    y = digit == 3
    p = cross_val_predict(GaussianNB(), x, y, method="predict_proba")[:, 1]
    a = rainproof.assess(y, p, measures=[], rng=0)
    assert a.recalibrator is not None
    figure, (left, right) = plt.subplots(1, 2, figsize=(11, 4.6), layout="constrained")
    rainproof.plots.forecast_value(a.value, left)
    rainproof.plots.reliability(a.reliability, right, recalibration=a.recalibrator.map_)
    figure.savefig(HERE / "digits.png", dpi=80)


def draw_value() -> None:
    """Draw the value of the score of docs/guide/decisions.md."""
    rng = np.random.default_rng(1)
    risk = rng.beta(1.2, 6, 5000)
    infected = rng.random(5000) < risk
    figure, ax = plt.subplots(figsize=(7, 4.5), layout="constrained")
    rainproof.forecast_value(infected, np.round(risk**0.5, 2)).plot(ax)
    figure.savefig(HERE / "value.png", dpi=80)


def draw_threshold() -> None:
    """Draw the threshold of docs/guide/proven-threshold.md."""
    rng = np.random.default_rng(1)
    p = rng.beta(0.6, 1.4, 8000)
    y = rng.random(8000) < p**1.2
    figure, ax = plt.subplots(figsize=(7, 4.5), layout="constrained")
    rainproof.find_threshold(y, p, precision=0.8).plot(ax)
    figure.savefig(HERE / "threshold.png", dpi=80)


def _payments() -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The payments of docs/guide/costs-per-case.md: outcomes, predictions and amounts."""
    rng = np.random.default_rng(0)
    p = 1 / (1 + np.exp(-rng.normal(-5.5, 1.8, 10_000)))
    fraud = rng.random(10_000) < p
    return fraud, p, np.exp(rng.normal(4, 1.2, 10_000)).round(2)


def draw_costs_per_case() -> None:
    """Draw payments with the threshold of each amount, and the cost of each rule."""
    fraud, p, amount = _payments()
    task = rainproof.DecisionTask.from_costs(false_positive=5, false_negative=amount)
    found = rainproof.assess(fraud, p, task=task, measures=[]).task
    figure, (left, right) = plt.subplots(1, 2, figsize=(9, 4), layout="constrained")
    for outcome, style in {False: ("0.75", "no fraud", 3), True: ("#D55E00", "fraud", 14)}.items():
        colour, label, size = style
        left.scatter(
            amount[fraud == outcome],
            p[fraud == outcome],
            s=size,
            color=colour,
            label=label,
            linewidths=0,
        )
    at = np.geomspace(amount.min(), amount.max(), 200)
    left.plot(at, 5 / (5 + at), color="#0072B2", linewidth=2, label="threshold of each amount")
    left.axhline(
        found.best_threshold,
        color="black",
        linestyle="--",
        linewidth=1,
        label="best cut-off for all",
    )
    left.set(xscale="log", yscale="log", xlabel="amount", ylabel="probability", ylim=(1e-4, 1))
    left.legend(loc="lower left", fontsize=8)
    names = {
        "as is": "each its own\nthreshold",
        "cut-off": "best cut-off\nfor all",
        "never": "never",
    }
    for k, (rule, name) in enumerate(names.items()):
        cost = found.costs[rule]
        right.bar(k, cost.value, color="#0072B2" if rule == "as is" else "0.7", width=0.6)
        error = [[cost.value - cost.low], [cost.high - cost.value]]
        right.errorbar(k, cost.value, error, color="black", capsize=4)
        right.text(k + 0.06, cost.value + 0.03, f"{cost.value:.2f}")
        names[rule] = f"{name}\n({found.acted[rule]:.1%} blocked)"
    right.set_xticks(range(len(names)), names.values())
    right.set(ylabel="cost per payment, with 95% interval")
    right.spines[["top", "right"]].set_visible(False)
    figure.savefig(HERE / "costs-per-case.png", dpi=90)


def draw_capacity() -> None:
    """Draw what so many reviews a day cost, and what one more gains."""
    fraud, p, amount = _payments()
    task = rainproof.DecisionTask.from_costs(false_positive=5, false_negative=amount)
    places = np.unique(np.geomspace(1, 1000, 60).astype(int))
    cost, more = [], []
    for k in places.tolist():
        found = rainproof.decisions.decide(p, task, np.arange(len(p)), capacity=k)
        cost.append(np.where(found.action == "act", 5 * ~fraud, amount * fraud).mean())
        more.append(found.one_more)
    figure, (left, right) = plt.subplots(1, 2, figsize=(9, 3.6), layout="constrained")
    left.plot(places, cost, color="#0072B2", linewidth=2)
    left.set(xlabel="reviews a day", ylabel="cost per payment", ylim=(0, None), xlim=(0, 1000))
    right.plot(places, more, color="#0072B2", linewidth=2)
    right.set(xlabel="reviews a day", ylabel="what one more gains", ylim=(0, 60), xlim=(0, 1000))
    for ax in (left, right):
        ax.axvline(200, color="black", linestyle="--", linewidth=1)
        ax.spines[["top", "right"]].set_visible(False)
    left.annotate("200 reviews", (210, 0.1))
    figure.savefig(HERE / "capacity.png", dpi=90)


def draw_base_rate() -> None:
    """Draw the fraud model of docs/guide/base-rate.md: what it says, what the map says, and what
    happens.
    """
    rng = np.random.default_rng(3)
    fraud = np.repeat([1, 0], 2000)
    p = 1 / (1 + np.exp(1.125 - 1.5 * rng.normal(1.5 * fraud)))
    mend = rainproof.Recalibrator(rng=0).fit(p, fraud, base_rate=0.005)
    happens = rng.random(400_000) < 0.005
    says = 1 / (1 + np.exp(1.125 - 1.5 * rng.normal(1.5 * happens)))
    figure, ax = plt.subplots(figsize=(6, 4.5), layout="constrained")
    ax.plot([1e-4, 1], [1e-4, 1], color="0.6", linewidth=1)
    for said, mark, label in (
        (says, "s", "the model, fitted 1:1"),
        (mend.predict(says), "o", "mended to 0.5%"),
    ):
        bins = np.array_split(np.argsort(said), 25)
        at, rate = ([float(values[part].mean()) for part in bins] for values in (said, happens))
        ax.plot(
            at,
            rate,
            mark,
            color="#D55E00" if said is says else "#0072B2",
            label=label,
            markersize=4,
        )
    ax.set(
        xscale="log",
        yscale="log",
        xlim=(1e-4, 1),
        ylim=(1e-4, 1),
        xlabel="prediction",
        ylabel="share that is fraud",
    )
    ax.set_title("400,000 payments, of which 0.5% are fraud, in 25 bins")
    ax.legend()
    figure.savefig(HERE / "base-rate.png", dpi=80)


def draw_recalibration() -> None:
    """Recalibrate flights on two months, draw the next two and print what
    docs/guide/recalibration.md quotes.
    """
    example = runpy.run_path(str(HERE.parent.parent / "examples" / "flights.py"))
    table = example["predictions"](example["flights"]())
    month = table["date"].dt.month
    past, rows = table[month <= 10], ("late", "probability", "carrier")
    late, p, carrier = (past[name].to_numpy() for name in rows)
    r = rainproof.Recalibrator(rng=0).fit(p, late)
    print(r.method_, r.certificate_, *r.candidates_, sep="\n")
    print(
        rainproof.Recalibrator(rng=0)
        .fit(p, late, groups=past["date"].dt.day_of_year.to_numpy())
        .certificate_
    )
    print(
        *rainproof.Recalibrator(rng=0).fit(p, late, by={"carrier": carrier.astype(str)}).segments_,
        sep="\n",
    )
    figure, axes = plt.subplots(1, 3, figsize=(14, 4.6), layout="constrained")
    for ax, name, number in zip(axes[1:], ("November", "December"), (11, 12), strict=True):
        late, p = (table[month == number][name].to_numpy() for name in rows[:2])
        after = r.predict(p)
        if number == 11:
            axes[0].plot([0, 1], [0, 1], color="0.6", linewidth=1)
            for said, mark, label in ((p, "s", "before"), (after, "o", "after recalibration")):
                order = np.array_split(np.argsort(said), 30)
                at, rate = ([values[part].mean() for part in order] for values in (said, late))
                axes[0].plot(
                    at,
                    rate,
                    mark,
                    color="#D55E00" if said is p else "#0072B2",
                    label=label,
                    markersize=4,
                )
            axes[0].set(
                title="November, 30 bins",
                xlabel="prediction",
                ylabel="share late",
                xlim=(0, 0.7),
                ylim=(0, 0.7),
            )
            axes[0].legend()
        found = rainproof.switch_guarantee(late, p, after, rng=0)
        found.plot(ax).set_title(f"{name}: what recalibration loses")
        print(name, len(late), late.mean(), p.mean(), after.mean(), found, sep="\n")
        print(
            [
                (rainproof.soft_binned_cdl(late, said), rainproof.measures.brier_score(late, said))
                for said in (p, after)
            ]
        )
    figure.savefig(HERE / "recalibration.png", dpi=100)


def draw_classes() -> None:
    """The three digits of docs/guide/classes.md."""
    from sklearn.datasets import load_digits
    from sklearn.model_selection import cross_val_predict
    from sklearn.naive_bayes import GaussianNB

    x, y = load_digits(return_X_y=True)
    some = np.isin(y, [3, 5, 8])
    p = cross_val_predict(GaussianNB(), x[some], y[some], cv=5, method="predict_proba")
    rainproof.assess(y[some], p, labels=[3, 5, 8]).plot().savefig(HERE / "classes.png", dpi=100)


def _seconds(name: str, y: np.ndarray, p: np.ndarray) -> float:
    start = time.perf_counter()
    rainproof.list_measures()[name](y, p)
    return time.perf_counter() - start


def _argsort_seconds(p: np.ndarray) -> float:
    start = time.perf_counter()
    np.argsort(p)
    return time.perf_counter() - start


def draw_range() -> None:
    """Draw a clinic's range of thresholds, and what is proven for it, as
    docs/guide/threshold-range.md has them.
    """
    rng = np.random.default_rng(0)
    risk = rng.beta(1, 5, 8000)
    died = rng.random(8000) < risk
    score = np.where(risk > 0.25, 1.6 * risk - 0.15, risk).clip(0, 0.99)
    figure, (left, right) = plt.subplots(
        1, 2, figsize=(9, 3.6), layout="constrained", width_ratios=[1.4, 1]
    )
    rainproof.regret_curve(died, score, swaps="monotone").plot(left)
    left.axvspan(
        0.05, 0.2, color=COLOURS["overconfident"], alpha=0.25, linewidth=0, label="5% to 20%"
    )
    left.set_title("Loss at each threshold, on these rows")
    left.legend(loc="upper right", fontsize="small")
    names, ranges = ("every decision", "5% to 20%", "10%"), (None, (0.05, 0.2), 0.1)
    found = [
        rainproof.guarantee(died, score, response="as_is", threshold_range=some) for some in ranges
    ]
    right.barh(
        names, [100 * g.bound for g in found], color="0.85", label="proven at 95% confidence"
    )
    right.barh(
        names,
        [100 * g.plug_in for g in found],
        color=COLOURS["calibrated"],
        height=0.4,
        label="on these rows",
    )
    for k, g in enumerate(found):
        right.text(100 * g.bound, k, f" {100 * g.bound:.2f}%", va="center")
    right.set(
        xlabel="largest loss, % of what is at stake",
        xlim=(0, 130 * found[0].bound),
        ylim=(3.4, -0.6),
    )
    right.set_title("A decision loses at most")
    right.legend(loc="lower right", fontsize="small")
    figure.savefig(HERE / "range.png", dpi=110)


PICTURES = {
    "measures": draw_measures,
    "costs": draw_costs,
    "deviation": draw_deviation,
    "rates": draw_rates,
    "assess": draw_assessment,
    "digits": draw_digits,
    "value": draw_value,
    "threshold": draw_threshold,
    "costs-per-case": draw_costs_per_case,
    "capacity": draw_capacity,
    "range": draw_range,
    "base-rate": draw_base_rate,
    "recalibration": draw_recalibration,
    "classes": draw_classes,
}


def main() -> None:
    """Draw the pictures, or print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "pictures", nargs="*", choices=[[], *PICTURES], help="which to draw (default: all)"
    )
    parser.add_argument(
        "--table", action="store_true", help="print the values as a Markdown table, draw nothing"
    )
    options = parser.parse_args()
    if options.table:
        found = values()
        print(f"| | {' | '.join(found)} |\n|---|{'---|' * len(found)}")
        for measure in rainproof.list_measures():
            print(
                f"| `{measure}` | {' | '.join(f'{found[name][measure]:.3f}' for name in found)} |"
            )
        return
    HERE.mkdir(exist_ok=True)
    for name in options.pictures or PICTURES:
        PICTURES[name]()


if __name__ == "__main__":
    main()
