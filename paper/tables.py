"""Tables 1 and 2: how fast each measure comes to its population value, and its values for a
logistic regression.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from paper.constructions import Floats, middle_third
from paper.model import ExampleModel, population_value
from paper.results import Cell, Chunk, PartResult, Runner, Table, spans
from paper.swap_classes import loss_of_three
from rainproof import Sample, list_measures
from rainproof.measures import Measure, soft_binned_profile

CATALOGUE = list_measures()
SIZES = (100, 316, 1_000, 3_162, 10_000, 31_623, 100_000, 316_228, 1_000_000)
_ROWS = 5_000_000  # the most rows drawn for each population and size
_FEWEST = 8
_WORST = "worst of the calibrated"
_ALPHA = 0.5  # of the population that is not calibrated


def _coin(n: int, rng: np.random.Generator) -> tuple[NDArray[np.bool_], Floats]:
    return rng.random(n) < 0.5, np.full(n, 0.5)


def _uniform(n: int, rng: np.random.Generator) -> tuple[NDArray[np.bool_], Floats]:
    p = rng.random(n)
    return rng.random(n) < p, p


def _example(n: int, rng: np.random.Generator) -> tuple[NDArray[np.bool_], Floats]:
    x, y = ExampleModel(_ALPHA).sample(n, rng)
    return y, ExampleModel(_ALPHA).limit()(x)


POPULATIONS: dict[str, Callable[[int, np.random.Generator], tuple[NDArray[np.bool_], Floats]]] = {
    "a fair coin, p = 1/2": _coin,
    "p uniform on [0, 1]": _uniform,
    "p uniform on [1/3, 2/3]": middle_third,
    f"the example at alpha = {_ALPHA:g}": _example,
}
MISCALIBRATED = f"the example at alpha = {_ALPHA:g}"


@dataclass(frozen=True, slots=True)
class Rate:
    """A row of Table 1: the measure in the catalogue, the power it is raised to, and the
    theoretical exponent.
    """

    measure: str
    theory: float | None
    says: str
    power: float = 1.0
    cube_root_bins: bool = False
    every: int = 1  # evaluate every so many samples: each is a linear program
    function: Callable[..., float] | None = None  # in place of the measure's own
    most: int = SIZES[-1]  # rows, beyond which it is not evaluated

    @property
    def entry(self) -> Measure:
        """The measure."""
        found = CATALOGUE[self.measure]
        return (
            found if self.function is None else replace(found, function=self.function, options={})
        )

    def __call__(self, sample: Sample) -> float:
        bins = {"n_bins": max(1, math.ceil(sample.n ** (1 / 3)))} if self.cube_root_bins else {}
        value = self.entry.function(sample, **{**self.entry.options, **bins})
        return math.pow(value, self.power)


RATES: dict[str, Rate] = {
    "CDL": Rate("calibration_decision_loss", 0.0, "Theta(1)"),
    "ECE": Rate("expected_calibration_error", 0.0, ""),
    "smCE": Rate("smooth_calibration_error", -1 / 2, "Theta(T^-1/2)"),
    "smCE^(1/2)": Rate("smooth_calibration_error", -1 / 4, "Theta(T^-1/4)", power=1 / 2),
    "Cutoff": Rate("cutoff_calibration_error", -1 / 2, "Theta(T^-1/2)"),
    "Cutoff^(2/3)": Rate("cutoff_calibration_error", -1 / 3, "Theta(T^-1/3)", power=2 / 3),
    "Cutoff^(1/2)": Rate("cutoff_calibration_error", -1 / 4, "Theta(T^-1/4)", power=1 / 2),
    "bECE, T^(1/3) bins": Rate(
        "binned_calibration_error[rounded]", -1 / 3, "Theta(T^-1/3)", cube_root_bins=True
    ),
    "binned ECE, T^(1/3) bins": Rate("binned_calibration_error", -1 / 3, "", cube_root_bins=True),
    "smooth ECE": Rate("smooth_ece", -1 / 3, "Theta(T^-1/3)"),
    "SCDL": Rate("soft_binned_cdl", -1 / 2, "O(T^-1/2 log T)"),
    "SCDL, hard rounding": Rate("soft_binned_cdl[hard]", -1 / 2, "O(T^-1/2 log T)"),
    "CDL, monotone swaps": Rate("calibration_decision_loss[monotone]", -1 / 2, ""),
    "CDL, r = 3 intervals": Rate(
        "calibration_decision_loss", -1 / 2, "", every=10, function=loss_of_three, most=100_000
    ),
    "ATB": Rate("two_bin_calibration_error", -1.0, ""),
    "U-cal": Rate("u_calibration_error", -1 / 2, ""),
    "distCal": Rate("lower_distance_to_calibration", -1 / 2, "", every=10),
}
_RATES_WORDS = (
    "For each measure and number of rows T: the mean over samples of |sample value - population "
    "value|. For the three calibrated populations the population value is 0, so this is the "
    "epsilon(T) of the paper's Question 1. The exponent is fitted to the largest of the three "
    "errors at each T (which population is worst differs between measures, see the figure). For "
    "the example at alpha = 0.5 the population value is computed by quadrature. Exponents are "
    "least-squares slopes on log-log axes; the standard error is the larger of that from "
    "sampling and that from the scatter about the line. A log factor shows as a slope slightly "
    "above the power's. 'Theory' is the paper's Table 1, or the measure's literature where the "
    "table has no row. Measures whose bins change with T have no population value, so no "
    "exponent for the example."
)


def table1(
    runner: Runner, *, repeats: int, seed: int, sizes: tuple[int, ...] = SIZES
) -> PartResult:
    """Estimate the testability exponents; also return the errors they are fitted to."""
    chunks, places = [], []
    for k, population in enumerate(POPULATIONS):
        for size in sizes:
            draws = max(_FEWEST, min(repeats, _ROWS // size))
            for a, b in spans(draws, max(2, min(50, 500_000 // size))):
                chunks.append(
                    Chunk(
                        f"seed{seed}-{k}-{size}-{a:05d}-{b:05d}",
                        measure_samples,
                        (seed, population, size, a, b),
                    )
                )
                places.append((population, size))
    found: dict[tuple[str, int, str], list[float]] = {}
    for (population, size), chunk in zip(places, runner("table1", chunks), strict=True):
        for row in chunk:
            for name, value in row.items():
                found.setdefault((population, size, name), []).append(value)
    errors = _errors(found, sizes)
    return PartResult(
        name="table1",
        title="Table 1: testability, measured",
        words=(_RATES_WORDS,),
        tables=(
            Table.of("table1", "Exponents of T", _exponents(errors)),
            Table.of("table1_errors", "Mean error by rows", errors, printed=False),
        ),
        pictures=("table1",),
        settings={"repeats": repeats, "seed": seed, "sizes": list(sizes)},
    )


def measure_samples(
    seed: int, population: str, size: int, start: int, stop: int
) -> list[dict[str, float]]:
    """Compute all measures on samples start..stop of a population."""
    k = list(POPULATIONS).index(population)
    rows = []
    for index in range(start, stop):
        y, p = POPULATIONS[population](size, np.random.default_rng([seed, 5, k, size, index]))
        sample = Sample(y, p)
        rows.append(
            {
                name: rate(sample)
                for name, rate in RATES.items()
                if size <= rate.most and (index % rate.every == 0 or index < _FEWEST // 2)
            }
        )
    return rows


def _truth() -> dict[str, float]:
    model = ExampleModel(_ALPHA)
    entries = {(rate.measure, rate.function): rate.entry for rate in RATES.values()}
    values = {
        key: population_value(model, model.limit(), one, cells=1 << 15).value
        for key, one in entries.items()
    }
    return {
        name: math.nan if rate.cube_root_bins else values[rate.measure, rate.function] ** rate.power
        for name, rate in RATES.items()
    }


def _errors(
    found: dict[tuple[str, int, str], list[float]], sizes: tuple[int, ...]
) -> list[dict[str, Cell]]:
    truth = _truth()
    rows: list[dict[str, Cell]] = []
    for name, rate in RATES.items():
        those = [size for size in sizes if size <= rate.most]
        for population in POPULATIONS:
            true = truth[name] if population == MISCALIBRATED else 0.0
            if math.isnan(true):
                continue
            for size in those:
                values = np.abs(np.array(found[population, size, name]) - true)
                error = (
                    float(values.std(ddof=1)) / math.sqrt(len(values))
                    if len(values) > 1
                    else math.nan
                )
                rows.append(_row(name, population, size, len(values), float(values.mean()), error))
        some = [
            row for row in rows if row["measure"] == name and row["population"] != MISCALIBRATED
        ]
        for size in those:
            worst = max(
                (row for row in some if row["T"] == size),
                key=lambda row: float(row["mean error"] or 0),
            )
            rows.append({**worst, "population": _WORST})
    return rows


def _row(
    name: str, population: str, size: int, samples: int, mean: float, error: float
) -> dict[str, Cell]:
    return {
        "measure": name,
        "population": population,
        "T": size,
        "samples": samples,
        "mean error": mean,
        "standard error": error,
    }


def _exponents(errors: list[dict[str, Cell]]) -> list[dict[str, Cell]]:
    rows: list[dict[str, Cell]] = []
    for name, rate in RATES.items():
        row: dict[str, Cell] = {"measure": name, "the paper says": rate.says, "theory": rate.theory}
        for population, label in ((_WORST, "calibrated, worst"), (MISCALIBRATED, "example")):
            some = [e for e in errors if e["measure"] == name and e["population"] == population]
            columns: list[Any] = [
                [e[c] for e in some] for c in ("T", "mean error", "standard error")
            ]
            slope, error = fit_exponent(*columns) if some else (math.nan, math.nan)
            row |= {f"{label}: exponent": slope, f"{label}: se": error}
        rows.append(row)
    return rows


def fit_exponent(sizes: Any, means: ArrayLike, errors: ArrayLike) -> tuple[float, float]:
    """Fit the slope of log(mean) on log(size) by least squares.

    The standard error is the larger of two: from the standard errors of the means, and from the
    scatter about the line, which is large if the rate is not a power. NaN if a mean is not positive
    or there are fewer than three.

    Examples
    --------
    >>> from paper.tables import fit_exponent
    >>> [round(v, 6) for v in fit_exponent([1, 10, 100], [1.0, 0.1, 0.01], [0, 0, 0])]
    [-1.0, 0.0]
    """
    size, mean, error = (np.asarray(column, np.float64) for column in (sizes, means, errors))
    if len(size) < 3 or not (mean > 0).all():
        return math.nan, math.nan
    x, y = np.log(size) - np.log(size).mean(), np.log(mean) - np.log(mean).mean()
    slope = float(x @ y / (x @ x))
    chance = math.sqrt(float(x**2 @ (error / mean) ** 2)) / float(x @ x)
    scatter = math.sqrt(float(((y - slope * x) ** 2).sum()) / (len(x) - 2) / float(x @ x))
    return slope, max(chance, scatter)


FITTED, EVALUATED = 500, 1000
ALPHAS = (0.0, 0.5, 0.8, 1.0)
_CHUNK = 50
_EVERY = 5  # repeats for each one with population values, which take most of the time
# intervals per population value, of which there are thousands: errors of at most 1e-3
_CELLS = 1 << 10


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
    "SCDL, first crossing": (
        "SCDL",
        replace(CATALOGUE["soft_binned_cdl"], function=first_crossing),
    ),
    "SCDL": ("SCDL", CATALOGUE["soft_binned_cdl"]),
    "SCDL, hard rounding": ("SCDL", CATALOGUE["soft_binned_cdl[hard]"]),
}
# the reading of each row that fits all its cells
FITTING = ("smCE", "Cutoff", "bECE, 10 bins", "SCDL, first crossing")
_READINGS_WORDS = (
    "The paper does not state how often it repeated the experiment, whether it fitted a new "
    "regression each time (here: 500 new rows for the fit and 1,000 new rows for the measures "
    "in every repeat), and whether the regression was penalized (here: no). 'Off by' is the "
    "difference of the means in printed standard deviations. Nothing was tuned.",
    "One reading fits all cells of each row. It is inferred from the numbers; the authors' code "
    "was not seen. bECE as printed is the sum over 10 bins of |mean outcome - mean prediction|; "
    "'11 bins' in the text then counts the edges. It is not 2 ECE(D_m), as section 1.3 defines "
    "bECE. SCDL as printed is not the infimum of Definition 1.1 but SCDL_m, rounded at random, "
    "on the first grid m = 2, 4, 8, ... with SCDL_m >= 1/m ('first crossing'). Definition 1.1 "
    "is the smaller of that and 2/m on the same grid. Hard rounding comes close in two columns "
    "only, by coincidence.",
    "The last two columns, which are not in the paper, compare each estimate with the "
    "population value of the same measure for the same fitted predictor, in every fifth repeat: "
    "the mean of that value, and the root mean square error.",
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
        words=_READINGS_WORDS,
        tables=(Table.of("table2", title, rows),),
        settings={"repeats": repeats, "seed": seed},
    )


def repeat_table2(seed: int, k: int, start: int, stop: int) -> list[dict[str, list[float | None]]]:
    """Compute repeats start..stop at the k-th alpha: for each reading the estimate, in some the
    population value.
    """
    model = ExampleModel(ALPHAS[k])
    rows = []
    for index in range(start, stop):
        rng = np.random.default_rng([seed, 2, k, index])
        f = model.fit(FITTED, rng)
        x, y = model.sample(EVALUATED, rng)
        sample = Sample(y, f(x))
        row: dict[str, list[float | None]] = {}
        for name, (_, measure) in READINGS.items():
            truth = (
                population_value(model, f, measure, cells=_CELLS).value
                if index % _EVERY == 0
                else None
            )
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
