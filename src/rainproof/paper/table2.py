"""Table 2: mean and standard deviation of each measure for a logistic regression."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from rainproof.core.sample.sample import Sample
from rainproof.measures.catalogue import CATALOGUE
from rainproof.measures.measure import Measure
from rainproof.measures.soft_binned import soft_binned_profile
from rainproof.paper.chunks import Chunk, Runner, spans
from rainproof.paper.model import ExampleModel
from rainproof.paper.population import population_value
from rainproof.paper.results import Cell, PartResult, Table

FITTED, EVALUATED = 500, 1000
ALPHAS = (0.0, 0.5, 0.8, 1.0)
_CHUNK = 50
_EVERY = 5  # repeats for each one with population values, which take most of the time
_CELLS = 1 << 10  # intervals per population value, of which there are thousands: errors of at most 1e-3


def first_crossing(y_true: Any, y_prob: Any = None) -> float:
    """Compute SCDL_m on the first grid with SCDL_m >= 1/m."""
    return soft_binned_profile(y_true, y_prob, rule="first_crossing").value


def _bins(name: str, number: int) -> Measure:
    measure = CATALOGUE[name]
    return replace(measure, options={**measure.options, "n_bins": number})


# The printed values (mean, standard deviation), and the possible readings of each row.
PRINTED: Mapping[str, tuple[tuple[float, float], ...]] = {
    "smCE": ((0.021, 0.014), (0.028, 0.013), (0.027, 0.016), (0.025, 0.016)),
    "Cutoff": ((0.030, 0.012), (0.068, 0.016), (0.110, 0.016), (0.136, 0.015)),
    "bECE": ((0.043, 0.011), (0.117, 0.015), (0.140, 0.054), (0.064, 0.065)),
    "SCDL": ((0.016, 0.003), (0.036, 0.006), (0.080, 0.014), (0.076, 0.034)),
}
READINGS: Mapping[str, tuple[str, Measure]] = {
    "smCE": ("smCE", CATALOGUE["smooth_calibration_error"]),
    "Cutoff": ("Cutoff", CATALOGUE["cutoff_calibration_error"]),
    "bECE, 10 bins": ("bECE", _bins("binned_calibration_error", 10)),
    "bECE, 11 bins": ("bECE", _bins("binned_calibration_error", 11)),
    "bECE, 2 ECE(D_11)": ("bECE", _bins("binned_calibration_error[rounded]", 11)),
    "SCDL, first crossing": ("SCDL", replace(CATALOGUE["soft_binned_cdl"], function=first_crossing)),
    "SCDL": ("SCDL", CATALOGUE["soft_binned_cdl"]),
    "SCDL, hard rounding": ("SCDL", CATALOGUE["soft_binned_cdl[hard]"]),
}
FITTING = ("smCE", "Cutoff", "bECE, 10 bins", "SCDL, first crossing")  # the reading of each row that fits all its cells
_WORDS = (
    "The paper does not state how often it repeated the experiment, whether it fitted a new regression each time "
    "(here: 500 new rows for the fit and 1,000 new rows for the measures in every repeat), and whether the regression "
    "was penalized (here: no). 'Off by' is the difference of the means in printed standard deviations. Nothing was "
    "tuned.",
    "One reading fits all cells of each row. It is inferred from the numbers; the authors' code was not seen. bECE as "
    "printed is the sum over 10 bins of |mean outcome - mean prediction|; '11 bins' in the text then counts the edges. "
    "It is not 2 ECE(D_m), as section 1.3 defines bECE. SCDL as printed is not the infimum of Definition 1.1 but "
    "SCDL_m, rounded at random, on the first grid m = 2, 4, 8, ... with SCDL_m >= 1/m ('first crossing'). Definition "
    "1.1 is the smaller of that and 2/m on the same grid. Hard rounding comes close in two columns only, by "
    "coincidence.",
    "The last two columns, which are not in the paper, compare each estimate with the population value of the same "
    "measure for the same fitted predictor, in every fifth repeat: the mean of that value, and the root mean square "
    "error.",
)


def table2(runner: Runner, *, repeats: int, seed: int) -> PartResult:
    """Compute all cells of Table 2, in each reading that the text allows."""
    chunks = [
        Chunk(f"seed{seed}-alpha{k}-{a:06d}-{b:06d}", repeat_table2, (seed, k, a, b))
        for k in range(len(ALPHAS))
        for a, b in spans(repeats, _CHUNK)
    ]
    found = runner("table2", chunks)
    per_alpha = len(chunks) // len(ALPHAS)
    rows: list[dict[str, Cell]] = []
    for k, alpha in enumerate(ALPHAS):
        draws = [row for chunk in found[k * per_alpha : (k + 1) * per_alpha] for row in chunk]
        rows.extend(_cell(name, k, alpha, draws) for name in READINGS)
    rows.sort(key=lambda row: list(READINGS).index(str(row["measure"])))
    title = f"Mean and standard deviation over {repeats:,} repeats, beside what the paper prints"
    return PartResult(
        name="table2",
        title="Table 2: calibration error estimates for the predictor f",
        words=_WORDS,
        tables=(Table.of("table2", title, rows),),
        settings={"repeats": repeats, "seed": seed},
    )


def repeat_table2(seed: int, k: int, start: int, stop: int) -> list[dict[str, list[float | None]]]:
    """Compute repeats start..stop at the k-th alpha: for each reading the estimate, in some the population value."""
    model = ExampleModel(ALPHAS[k])
    rows = []
    for index in range(start, stop):
        rng = np.random.default_rng([seed, 2, k, index])
        f = model.fit(FITTED, rng)
        x, y = model.sample(EVALUATED, rng)
        sample = Sample(y, f(x))
        row: dict[str, list[float | None]] = {}
        for name, (_, measure) in READINGS.items():
            truth = population_value(model, f, measure, cells=_CELLS).value if index % _EVERY == 0 else None
            row[name] = [measure(sample), truth]
        rows.append(row)
    return rows


def _cell(name: str, k: int, alpha: float, draws: list[dict[str, Any]]) -> dict[str, Cell]:
    estimate, truth = np.array([row[name] for row in draws], np.float64).T
    mean, sd = float(estimate.mean()), float(estimate.std(ddof=1)) if len(draws) > 1 else math.nan
    paper_mean, paper_sd = PRINTED[READINGS[name][0]][k]
    return {
        "measure": name,
        "alpha": alpha,
        "mean": mean,
        "sd": sd,
        "standard error": sd / math.sqrt(len(draws)),
        "paper mean": paper_mean,
        "paper sd": paper_sd,
        "off by (printed sd)": (mean - paper_mean) / paper_sd,
        "population mean": float(np.nanmean(truth)),
        "rms error": float(np.sqrt(np.nanmean((estimate - truth) ** 2))),
    }
