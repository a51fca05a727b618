"""Draw docs/pictures/power.png from docs/data/power.csv: ``python tools/make_power_picture.py``."""

from __future__ import annotations

import csv
from pathlib import Path

import matplotlib as mpl
import matplotlib.pyplot as plt

DOCS = Path(__file__).parent.parent / "docs"
SHOWN = {
    "combined": ("combined (default)", "#CC0000", "-"),
    "soft_binned_cdl": ("SCDL", "#D55E00", "-"),
    "cutoff_calibration_error": ("cutoff", "#0072B2", "-"),
    "smooth_calibration_error": ("smCE", "#009E73", "--"),
    "binned_calibration_error": ("binned ECE", "#E69F00", "-."),
    "smooth_ece": ("smooth ECE", "#CC79A7", "--"),
    "calibration_decision_loss": ("CDL", "#000000", ":"),
    "calibration_decision_loss[monotone]": ("CDL, monotone", "#56B4E9", "-."),
    "brier_score": ("Brier score", "0.45", ":"),
}


def main() -> None:
    """Draw one panel for each alternative."""
    with (DOCS / "data" / "power.csv").open(encoding="utf-8") as file:
        lines = list(csv.DictReader(file))
    names = list(dict.fromkeys(x["alternative"] for x in lines))
    figure, axes = plt.subplots(
        2, 3, figsize=(12, 7), sharex=True, sharey=True, layout="constrained"
    )
    for ax, name in zip(axes.flat, names, strict=True):
        for measure in dict.fromkeys(x["measure"] for x in lines):
            some = [x for x in lines if (x["alternative"], x["measure"]) == (name, measure)]
            at = [float(x["strength"]) for x in some]
            power = [int(x["rejected"]) / int(x["draws"]) for x in some]
            if measure in SHOWN:
                label, colour, style = SHOWN[measure]
                ax.plot(
                    at,
                    power,
                    style,
                    color=colour,
                    label=label,
                    linewidth=1.8,
                    marker="o",
                    markersize=3,
                )
            else:
                ax.plot(at, power, color="0.85", linewidth=1, zorder=0)
        ax.axhline(0.05, color="0.6", linewidth=0.8)
        ax.set(title=name, ylim=(0, 1.02), xlim=(0, 1))
        ax.spines[["top", "right"]].set_visible(False)
    for ax in axes[1]:
        ax.set_xlabel("strength of the miscalibration")
    for ax in axes[:, 0]:
        ax.set_ylabel("share of samples rejected")
    handles, labels = axes[0, 0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=10, frameon=False, fontsize=8)
    figure.suptitle("Power of the exact test at level 5%, 1,000 rows", fontsize=11)
    figure.savefig(DOCS / "pictures" / "power.png", dpi=110)


if __name__ == "__main__":
    mpl.use("agg")
    main()
