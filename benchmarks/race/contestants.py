"""Who is in the race: each package is one entry, with a function of arrays for each part that it
can take part in.

Nothing is imported before it is called: an entry whose package is not installed is left out, and
some run in another Python (`python`). Every function is called as its package documents it, with
the defaults that it has; the exceptions are written beside them. y are outcomes 0 and 1, p
predictions, q the predictions to judge, `miss` the cost of a miss where a false alarm costs 1.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Test = Callable[[Floats, Floats], float]  # (y, p): the p-value of a test of calibration
Map = Callable[[Floats, Floats, Floats], Floats]  # (y, p, q): fit to y and p, apply to q
Interval = Callable[[Floats, Floats], tuple[float, float]]  # (y, p): both ends, at 95%
# (y, p, rate): both ends, and the truth
Band = Callable[[Floats, Floats, Floats], tuple[Floats, Floats, Floats]]
Advice = Callable[[Floats, Floats, Floats, float], NDArray[np.bool_]]  # (y, p, q, miss): act on q?
Number = Callable[[Any, Any], float]  # (y, p): one number about the calibration of the rows

BRIER, INTERCEPT, SLOPE = "Brier score", "calibration intercept", "calibration slope"
SKILL, ECE = "Brier skill", "ECE, 15 bins of equal mass"
NET_BENEFIT, DIAGRAM = "net benefit at 30%", "event rate in a reliability diagram"
THRESHOLD = 0.3
RESAMPLES = 199  # of tests that redraw outcomes, on both sides: 999 are their defaults


@dataclass(frozen=True, kw_only=True, eq=False)
class Contestant:
    """A package, and what it does in each part, by name."""

    name: str  # as pip knows it
    module: str  # as Python imports it
    tests: Mapping[str, Test] = field(default_factory=dict)
    maps: Mapping[str, Map] = field(default_factory=dict)
    intervals: Mapping[str, Interval] = field(default_factory=dict)
    class_maps: Mapping[str, Map] = field(default_factory=dict)  # y is the number of a column of p
    bands: Mapping[str, Band] = field(default_factory=dict)
    advice: Mapping[str, Advice] = field(default_factory=dict)
    numbers: Mapping[str, Number] = field(default_factory=dict)
    python: str | None = None  # the version that it needs, if it is not that of the race

    def of(self, part: str) -> Mapping[str, Callable[..., Any]]:
        """Its functions in a part, by name."""
        found: Mapping[str, Callable[..., Any]] = getattr(self, part)
        return found


def _two(p: Floats) -> Floats:
    return np.column_stack([1 - p, p])


# rainproof
# --------------------------------------------------------------------------------------------------------


def _our_test(statistic: str) -> Test:
    def test(y: Floats, p: Floats) -> float:
        import rainproof

        found = rainproof.calibration_test(y, p, statistic=statistic, n_resamples=RESAMPLES, rng=0)
        return float(found.p_value)

    return test


def _our_map(y: Floats, p: Floats, q: Floats) -> Floats:
    import rainproof

    return rainproof.Recalibrator().fit(p, y).predict(q)


def _our_clinical(field_: str) -> Interval:
    def interval(y: Floats, p: Floats) -> tuple[float, float]:
        import rainproof

        every = rainproof.clinical_performance(y, p)
        found = getattr(every, field_)
        if found is None:
            raise ValueError("; ".join(every.notes))
        return float(found.low), float(found.high)

    return interval


def _our_interval(measure: str) -> Interval:
    def interval(y: Floats, p: Floats) -> tuple[float, float]:
        import rainproof

        found = rainproof.confidence_interval(y, p, measure=measure, n_resamples=RESAMPLES, rng=0)
        return float(found.low), float(found.high)

    return interval


def _our_net_benefit(y: Floats, p: Floats) -> tuple[float, float]:
    import rainproof

    found = rainproof.net_benefit(y, p, [THRESHOLD])
    return float(np.ravel(found.low)[0]), float(np.ravel(found.high)[0])


def _our_band(y: Floats, p: Floats, rate: Floats) -> tuple[Floats, Floats, Floats]:
    """The bins are soft; the truth of a bin is the mean of the rates of its rows, with the same
    weights.
    """
    from rainproof.clinical import reliability_curve

    found = reliability_curve(y, p, n_resamples=19, rng=0)  # the resamples are for the other band
    at = p * found.grid
    low = np.minimum(np.floor(at).astype(int), found.grid - 1)
    part = at - low
    weight, truth = (
        np.bincount(low, (1 - part) * x, found.grid + 1)
        + np.bincount(low + 1, part * x, found.grid + 1)
        for x in (np.ones(len(p)), rate)
    )
    at = np.rint(found.bins.prediction * found.grid).astype(int)
    return found.bins.low, found.bins.high, truth[at] / weight[at]


def _our_advice(y: Floats, p: Floats, q: Floats, miss: float) -> NDArray[np.bool_]:
    import rainproof
    from rainproof.verdict.costs import Rule

    task = rainproof.DecisionTask.from_costs(false_positive=1, false_negative=miss)
    a = rainproof.assess(y, p, task=task, measures=[])
    threshold = 1 / (1 + miss)
    match a.verdict.rule:
        case Rule.ALWAYS:
            return np.ones(len(q), bool)
        case Rule.NEVER:
            return np.zeros(len(q), bool)
        case Rule.RECALIBRATED:
            return a.recalibrator.predict(q) >= threshold
        case Rule.CUTOFF:
            return q >= a.task.best_threshold
        case _:
            return q >= threshold


def _our_number(name: str) -> Number:
    def number(y: Any, p: Any) -> float:
        import rainproof

        return float(rainproof.list_measures()[name].function(y, p))

    return number


def _our_net_benefit_number(y: Any, p: Any) -> float:
    import rainproof

    return float(np.ravel(rainproof.net_benefit(y, p, [THRESHOLD]).value)[0])


# scikit-learn
# -----------------------------------------------------------------------------------------------------


def _forecast(columns: int = 1) -> Any:
    """A fitted classifier whose features are its own predictions: that of the event, or those of
    several classes.
    """
    from sklearn.base import BaseEstimator, ClassifierMixin

    class Forecast(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
        def fit(self, x: Any, y: Any) -> Any:  # noqa: ARG002
            self.classes_ = np.array([0, 1])
            self.n_features_in_ = 1
            return self

        def predict_proba(self, x: Any) -> Floats:
            return _two(np.asarray(x)[:, 0])

        def predict(self, x: Any) -> Any:
            return (np.asarray(x)[:, 0] >= 0.5).astype(int)

    class Classes(Forecast):
        def fit(self, x: Any, y: Any) -> Any:  # noqa: ARG002
            self.classes_ = np.arange(columns)
            self.n_features_in_ = columns
            return self

        def predict_proba(self, x: Any) -> Floats:
            return np.asarray(x)

        def predict(self, x: Any) -> Any:
            return np.asarray(x).argmax(axis=1)

    return (Forecast() if columns == 1 else Classes()).fit(None, None)


def _sklearn_map(method: str) -> Map:
    def fitted(y: Floats, p: Floats, q: Floats) -> Floats:
        from sklearn.calibration import CalibratedClassifierCV
        from sklearn.frozen import FrozenEstimator

        model = CalibratedClassifierCV(FrozenEstimator(_forecast()), method=method).fit(
            p[:, None], y.astype(int)
        )
        return model.predict_proba(q[:, None])[:, 1]

    return fitted


def _sklearn_classes(method: str) -> Map:
    def fitted(y: Floats, p: Floats, q: Floats) -> Floats:
        from sklearn.calibration import CalibratedClassifierCV
        from sklearn.frozen import FrozenEstimator

        model = CalibratedClassifierCV(FrozenEstimator(_forecast(p.shape[1])), method=method).fit(
            p, y
        )
        return model.predict_proba(q)

    return fitted


def _sklearn_chosen(y: Floats, p: Floats, q: Floats, miss: float) -> NDArray[np.bool_]:
    """What its user guide says of the method: isotonic from about 1,000 rows on."""
    return _sklearn_map("isotonic" if len(y) >= 1000 else "sigmoid")(y, p, q) >= 1 / (1 + miss)


def _sklearn_tuned(y: Floats, p: Floats, q: Floats, miss: float) -> NDArray[np.bool_]:
    from sklearn.frozen import FrozenEstimator
    from sklearn.metrics import confusion_matrix, make_scorer
    from sklearn.model_selection import TunedThresholdClassifierCV

    def cost(true: Any, acted: Any) -> float:
        (_, alarms), (misses, _) = confusion_matrix(true, acted, labels=[0, 1])
        return float(alarms + miss * misses)

    scoring = make_scorer(cost, greater_is_better=False)
    model = TunedThresholdClassifierCV(
        FrozenEstimator(_forecast()), scoring=scoring, cv="prefit", refit=False
    )
    return model.fit(p[:, None], y.astype(int)).predict(q[:, None]) == 1


def _sklearn_curve(y: Any, p: Any) -> float:
    from sklearn.calibration import calibration_curve

    true, said = calibration_curve(y, p, n_bins=15)
    return float(np.abs(true - said).sum())


def _sklearn_brier(y: Any, p: Any) -> float:
    from sklearn.metrics import brier_score_loss

    return float(brier_score_loss(y, p))


# probcal
# ----------------------------------------------------------------------------------------------------------


def _probcal_test(name: str) -> Test:
    def test(y: Floats, p: Floats) -> float:
        from probcal import metrics

        return float(getattr(metrics, name)(y, p).p_value)

    return test


def _probcal_belt(y: Floats, p: Floats) -> float:
    from probcal import calibration_belt

    return float(calibration_belt(y, p).p_value)


def _probcal_kernel(y: Floats, p: Floats) -> float:
    """Its bootstrap takes n squared numbers for each draw; from 2,000 rows on the linear test that
    it has for them.
    """
    from probcal.metrics import skce_test

    if len(y) > 2000:
        return float(skce_test(y, p, method="asymptotic").p_value)
    return float(skce_test(y, p, n_boot=RESAMPLES).p_value)


def _probcal_map(y: Floats, p: Floats, q: Floats) -> Floats:
    from probcal import CalibratorSelector

    return CalibratorSelector().fit(p, y).predict_proba(q)


def _probcal_interval(metric: str) -> Interval:
    """Its default keeps the number of events in every draw: `stratify=False` is for that of a
    population.
    """

    def interval(y: Floats, p: Floats) -> tuple[float, float]:
        from probcal.metrics import evaluate

        found = evaluate(y, p, metrics=[metric], n_boot=RESAMPLES, stratify=False)
        return float(found.ci_low[0]), float(found.ci_high[0])

    return interval


def _probcal_band(y: Floats, p: Floats, rate: Floats) -> tuple[Floats, Floats, Floats]:
    """The truth of a bin is the mean of the rates of its rows: its own binning gives it."""
    from probcal import reliability_binned
    from probcal.metrics._binstats import bin_index

    found = reliability_binned(y, p)
    at, count = bin_index(p, 10, "mass")
    rows = np.bincount(at, minlength=count)
    truth = np.bincount(at, rate, count)[rows > 0] / rows[rows > 0]
    return found.ci_low, found.ci_high, truth


def _probcal_number(y: Any, p: Any) -> float:
    from probcal.metrics import ece

    return float(ece(y, p))


# MAPIE
# ------------------------------------------------------------------------------------------------------------


def _mapie_test(name: str) -> Test:
    def test(y: Floats, p: Floats) -> float:
        from mapie.metrics import calibration

        return float(getattr(calibration, f"{name}_p_value")(y.astype(int), p))

    return test


def _mapie_map(y: Floats, p: Floats, q: Floats) -> Floats:
    from mapie.calibration import VennAbersCalibrator

    model = VennAbersCalibrator(_forecast(), cv="prefit").fit(p[:, None], y.astype(int))
    return np.asarray(model.predict_proba(q[:, None]))[:, 1]


def _mapie_classes(y: Floats, p: Floats, q: Floats) -> Floats:
    from mapie.calibration import VennAbersCalibrator

    return np.asarray(
        VennAbersCalibrator(_forecast(p.shape[1]), cv="prefit").fit(p, y).predict_proba(q)
    )


def _mapie_number(y: Any, p: Any) -> float:
    from mapie.metrics.calibration import expected_calibration_error

    return float(expected_calibration_error(y, p))


# mcgrad
# -----------------------------------------------------------------------------------------------------------


def _mcgrad_test(y: Floats, p: Floats) -> float:
    from mcgrad.metrics import ecce_pvalue

    return float(ecce_pvalue(y, p))


def _mcgrad_map(y: Floats, p: Floats, q: Floats) -> Floats:
    """It is made for features; here the prediction is the only one that there is."""
    import pandas as pd
    from mcgrad import methods

    names = {"prediction_column_name": "p", "numerical_feature_column_names": ["x"]}
    model = methods.MCGrad()
    model.fit(pd.DataFrame({"p": p, "x": p, "y": y}), label_column_name="y", **names)
    return np.asarray(model.predict(pd.DataFrame({"p": q, "x": q}), **names))


def _mcgrad_number(y: Any, p: Any) -> float:
    from mcgrad.metrics import ecce

    return float(ecce(y, p))


# netcal, relplot, torchmetrics, uncertainty-calibration
# ------------------------------------------------------------


def _netcal_map(package: str, name: str) -> Map:
    def fitted(y: Floats, p: Floats, q: Floats) -> Floats:
        import importlib

        model = getattr(importlib.import_module(f"netcal.{package}"), name)()
        model.fit(p, y.astype(int))
        return np.asarray(model.transform(q)).ravel()

    return fitted


def _netcal_classes(y: Floats, p: Floats, q: Floats) -> Floats:
    from netcal.scaling import TemperatureScaling

    model = TemperatureScaling()
    model.fit(p, y)
    return np.asarray(model.transform(q))


def _netcal_number(y: Any, p: Any) -> float:
    from netcal.metrics import ECE as NetcalECE  # noqa: N811

    return float(NetcalECE(15).measure(p, y))


def _relplot_number(y: Any, p: Any) -> float:
    from relplot import smECE

    return float(smECE(p, y))


def _torchmetrics_number(y: Any, p: Any) -> float:
    import torch
    from torchmetrics.functional.classification import binary_calibration_error

    torch.set_num_threads(1)
    return float(binary_calibration_error(torch.as_tensor(p), torch.as_tensor(y)))


def _uncertainty_map(y: Floats, p: Floats, q: Floats) -> Floats:
    from calibration import PlattBinnerCalibrator

    model = PlattBinnerCalibrator(len(y), num_bins=10)
    model.train_calibration(p, y.astype(int))
    return np.asarray(model.calibrate(q))


def _uncertainty_interval(y: Floats, p: Floats) -> tuple[float, float]:
    from calibration import get_calibration_error_uncertainties

    np.random.seed(0)  # noqa: NPY002 (it draws from this generator)
    low, _, high = get_calibration_error_uncertainties(p, y.astype(int), p=1, alpha=0.05)
    return float(low), float(high)


def _uncertainty_number(y: Any, p: Any) -> float:
    from calibration import get_calibration_error

    return float(get_calibration_error(p, y))


# betacal, venn-abers, probmetrics, model-diagnostics
# ---------------------------------------------------------------


def _betacal_map(y: Floats, p: Floats, q: Floats) -> Floats:
    from betacal import BetaCalibration

    return np.asarray(
        BetaCalibration("abm").fit(p[:, None], y.astype(int)).predict(q[:, None])
    ).ravel()


def _venn_abers_map(y: Floats, p: Floats, q: Floats) -> Floats:
    from venn_abers import VennAbers

    model = VennAbers().fit(_two(p), y.astype(int))
    return np.asarray(model.predict_proba(_two(q))[0])[:, 1]


def _probmetrics_map(y: Floats, p: Floats, q: Floats) -> Floats:
    from probmetrics.calibrators import get_calibrator

    return np.asarray(
        get_calibrator("logistic").fit(_two(p), y.astype(int)).predict_proba(_two(q))
    )[:, 1]


def _probmetrics_classes(y: Floats, p: Floats, q: Floats) -> Floats:
    from probmetrics.calibrators import get_calibrator

    return np.asarray(get_calibrator("logistic").fit(p, y).predict_proba(q))


def _diagnostics_test(y: Floats, p: Floats) -> float:
    """Of the mean of y - p: it has no test of calibration at each prediction."""
    from model_diagnostics.calibration import compute_bias

    return float(compute_bias(y_obs=y, y_pred=p)["p_value"][0])


def _diagnostics_band(y: Floats, p: Floats, rate: Floats) -> tuple[Floats, Floats, Floats]:
    """Its interval is drawn, not returned: read from the figure, at the points where the fitted
    line has them.
    """
    import matplotlib as mpl

    mpl.use("Agg")
    import matplotlib.pyplot as plt
    from model_diagnostics.calibration import plot_reliability_diagram

    ax = plot_reliability_diagram(
        y_obs=y, y_pred=p, n_bootstrap=RESAMPLES, confidence_level=0.95, ax=plt.figure().gca()
    )
    at = ax.collections[0].get_paths()[0].vertices
    line = np.asarray(ax.lines[-1].get_xdata())
    plt.close("all")
    # The outline of the band goes forth along its lower end and back along the upper one.
    middle = len(at) // 2
    first, second = at[1:middle], at[middle + 1 : -1][::-1]
    low, high = (first, second) if first[:, 1].mean() < second[:, 1].mean() else (second, first)
    order = np.argsort(p)
    truth = np.interp(line, p[order], rate[order])
    return np.interp(line, low[:, 0], low[:, 1]), np.interp(line, high[:, 0], high[:, 1]), truth


def _diagnostics_number(y: Any, p: Any) -> float:
    from model_diagnostics.scoring import SquaredError, decompose

    return float(decompose(y, p, scoring_function=SquaredError())["miscalibration"][0])


# dcurves, empulse, calibre
# -----------------------------------------------------------------------------------------


def _dcurves_advice(y: Floats, p: Floats, q: Floats, miss: float) -> NDArray[np.bool_]:
    """Treat by the model, all or none: whichever has the largest net benefit at the threshold."""
    import pandas as pd
    from dcurves import dca

    threshold = 1 / (1 + miss)
    table = dca(pd.DataFrame({"y": y.astype(int), "p": p}), "y", ["p"], thresholds=[threshold])
    benefit = dict(zip(table["model"], table["net_benefit"], strict=True))
    best = max(("p", "none", "all"), key=lambda name: benefit[name])
    return {"p": q >= threshold, "all": np.ones(len(q), bool), "none": np.zeros(len(q), bool)}[best]


def _dcurves_number(y: Any, p: Any) -> float:
    import pandas as pd
    from dcurves import dca

    table = dca(pd.DataFrame({"y": y, "p": p}), "y", ["p"], thresholds=[THRESHOLD])
    return float(table.loc[table["model"] == "p", "net_benefit"].iloc[0])


def _empulse_advice(y: Floats, p: Floats, q: Floats, miss: float) -> NDArray[np.bool_]:
    from empulse.models import CSThresholdClassifier
    from sklearn.frozen import FrozenEstimator

    model = CSThresholdClassifier(
        FrozenEstimator(_forecast()), random_state=0, fp_cost=1.0, fn_cost=float(miss)
    )
    return np.asarray(model.fit(p[:, None], y.astype(int)).predict(q[:, None])) == 1


def _empulse_number(y: Any, p: Any) -> float:
    from empulse.metrics import expected_cost_loss

    return float(expected_cost_loss(y, p, fp_cost=1.0, fn_cost=4.0))


def _calibre_map(name: str) -> Map:
    """The centred isotonic one is what its guide names first; its spline takes seconds to fit 200
    rows.
    """

    def fitted(y: Floats, p: Floats, q: Floats) -> Floats:
        import calibre

        return np.asarray(getattr(calibre, name)().fit(p, y).transform(q))

    return fitted


def _calibre_classes(y: Floats, p: Floats, q: Floats) -> Floats:
    import calibre

    return np.asarray(calibre.TemperatureScaler().fit(p, y).transform(q))


def _calibre_brier(y: Floats, p: Floats) -> tuple[float, float]:
    import calibre

    found = calibre.bootstrap_ci(calibre.brier_score, y, p, n_resamples=RESAMPLES)
    return float(found["lower"]), float(found["upper"])


def _calibre_net_benefit(y: Floats, p: Floats) -> tuple[float, float]:
    """Net benefit is the payoff over that of no action, with a benefit of 1 / (1 - t) and a cost of
    t / (1 - t).
    """
    import calibre

    task = calibre.DecisionTask(benefit=1 / (1 - THRESHOLD), cost=THRESHOLD / (1 - THRESHOLD))
    policies = {
        "p": calibre.DecisionPolicy(prediction="p"),
        "none": calibre.DecisionPolicy(rule="none"),
    }
    found = calibre.decision_report(
        y, {"p": p}, task=task, policies=policies, reference="none", n_resamples=RESAMPLES
    )
    low, high = found.intervals["p"]
    return float(low), float(high)


def _calibre_band(y: Floats, p: Floats, rate: Floats) -> tuple[Floats, Floats, Floats]:
    import calibre

    found = calibre.confidence_bands(y, p, level=0.95, n_resamples=RESAMPLES)
    order = np.argsort(p)
    return (
        found["lower"],
        found["upper"],
        np.interp(found["prediction_values"], p[order], rate[order]),
    )


def _calibre_advice(y: Floats, p: Floats, q: Floats, miss: float) -> NDArray[np.bool_]:
    """The best of the forecast, its centred isotonic map (out of fold), all and none, by the payoff
    on the rows.
    """
    import calibre

    threshold = 1 / (1 + miss)
    task = calibre.DecisionTask(benefit=1 + miss, cost=1.0)
    policy = calibre.DecisionPolicy
    policies = {
        "p": policy(prediction="p"),
        "map": policy(prediction="map"),
        "all": policy(rule="all"),
        "none": policy(rule="none"),
    }
    out_of_fold = np.asarray(
        calibre.cross_val_calibrate(calibre.CenteredIsotonicCalibrator(), p, y)
    )
    columns = {"p": p, "map": np.clip(out_of_fold, 0, 1)}
    chosen = calibre.select_decision_policy(
        y, columns, task=task, policies=policies, reference="p", case_ids=range(len(y))
    ).selected
    match chosen:
        case "all":
            return np.ones(len(q), bool)
        case "none":
            return np.zeros(len(q), bool)
        case "map":
            return _calibre_map("CenteredIsotonicCalibrator")(y, p, q) > threshold
        case _:
            return q > threshold


def _calibre_number(y: Any, p: Any) -> float:
    import calibre

    return float(calibre.expected_calibration_error(y, p))


def _acts_by(fitted: Map) -> Advice:
    """Act where the recalibrated probability reaches the threshold of the costs."""
    return lambda y, p, q, miss: fitted(y, p, q) >= 1 / (1 + miss)


def _fixed(act: bool) -> Advice:
    return lambda _y, _p, q, _miss: np.full(len(q), act)


OURS, NO_PACKAGE = "rainproof", "no package"
CONTESTANTS = (
    Contestant(
        name=OURS,
        module="rainproof",
        tests={"combined": _our_test("combined"), "SCDL": _our_test("soft_binned_cdl")},
        maps={"Recalibrator": _our_map},
        class_maps={"Recalibrator": _our_map},
        intervals={
            BRIER: _our_clinical("brier_score"),
            SKILL: _our_clinical("brier_skill"),
            INTERCEPT: _our_clinical("calibration_intercept"),
            SLOPE: _our_clinical("calibration_slope"),
            ECE: _our_interval("binned_calibration_error[quantile]"),
            NET_BENEFIT: _our_net_benefit,
        },
        bands={DIAGRAM: _our_band},
        advice={"the verdict of assess": _our_advice},
        numbers={
            **{
                name: _our_number(name)
                for name in (
                    "soft_binned_cdl",
                    "binned_calibration_error",
                    "smooth_ece",
                    "brier_score",
                )
            },
            "net_benefit": _our_net_benefit_number,
        },
    ),
    Contestant(
        name=NO_PACKAGE,
        module="numpy",
        maps={"as they are": lambda _y, _p, q: q},
        class_maps={"as they are": lambda _y, _p, q: q},
        advice={
            "as they are": _acts_by(lambda _y, _p, q: q),
            "always act": _fixed(True),
            "never act": _fixed(False),
        },
    ),
    Contestant(
        name="scikit-learn",
        module="sklearn",
        maps={method: _sklearn_map(method) for method in ("sigmoid", "isotonic", "temperature")},
        class_maps={
            method: _sklearn_classes(method) for method in ("sigmoid", "isotonic", "temperature")
        },
        advice={
            "CalibratedClassifierCV, method by its guide": _sklearn_chosen,
            "TunedThreshold": _sklearn_tuned,
        },
        numbers={"calibration_curve": _sklearn_curve, "brier_score_loss": _sklearn_brier},
    ),
    Contestant(
        name="probcal",
        module="probcal",
        tests={
            "calibration_test": _probcal_test("calibration_test"),
            "spiegelhalter_z": _probcal_test("spiegelhalter_z"),
            "hosmer_lemeshow": _probcal_test("hosmer_lemeshow"),
            "calibration_belt": _probcal_belt,
            "skce_test": _probcal_kernel,
        },
        maps={"CalibratorSelector": _probcal_map},
        intervals={
            BRIER: _probcal_interval("brier"),
            SKILL: _probcal_interval("brier_skill"),
            INTERCEPT: _probcal_interval("intercept"),
            SLOPE: _probcal_interval("slope"),
            ECE: _probcal_interval("ece_debiased"),
        },
        bands={DIAGRAM: _probcal_band},
        advice={"CalibratorSelector": _acts_by(_probcal_map)},
        numbers={"ece": _probcal_number},
    ),
    Contestant(
        name="mcgrad",
        module="mcgrad",
        tests={"ecce_pvalue": _mcgrad_test},
        maps={"MCGrad": _mcgrad_map},
        numbers={"ecce": _mcgrad_number},
    ),
    Contestant(
        name="MAPIE",
        module="mapie",
        tests={
            name: _mapie_test(name) for name in ("kolmogorov_smirnov", "kuiper", "spiegelhalter")
        },
        maps={"VennAbersCalibrator": _mapie_map},
        class_maps={"VennAbersCalibrator": _mapie_classes},
        numbers={"expected_calibration_error": _mapie_number},
    ),
    Contestant(
        name="netcal",
        module="netcal",
        maps={
            "BetaCalibration": _netcal_map("scaling", "BetaCalibration"),
            "BBQ": _netcal_map("binning", "BBQ"),
        },
        class_maps={"TemperatureScaling": _netcal_classes},
        numbers={"ECE": _netcal_number},
    ),
    Contestant(name="relplot", module="relplot", numbers={"smECE": _relplot_number}),
    Contestant(
        name="torchmetrics",
        module="torchmetrics",
        numbers={"binary_calibration_error": _torchmetrics_number},
    ),
    Contestant(
        name="uncertainty-calibration",
        module="calibration",
        maps={"PlattBinnerCalibrator": _uncertainty_map},
        intervals={ECE: _uncertainty_interval},
        numbers={"get_calibration_error": _uncertainty_number},
    ),
    Contestant(name="betacal", module="betacal", maps={"BetaCalibration": _betacal_map}),
    Contestant(name="venn-abers", module="venn_abers", maps={"VennAbers": _venn_abers_map}),
    Contestant(
        name="probmetrics",
        module="probmetrics",
        maps={"logistic": _probmetrics_map},
        class_maps={"logistic": _probmetrics_classes},
        advice={"logistic, as its README recommends": _acts_by(_probmetrics_map)},
    ),
    Contestant(
        name="model-diagnostics",
        module="model_diagnostics",
        tests={"compute_bias": _diagnostics_test},
        bands={DIAGRAM: _diagnostics_band},
        numbers={"decompose": _diagnostics_number},
    ),
    Contestant(
        name="dcurves",
        module="dcurves",
        advice={"the largest net benefit": _dcurves_advice},
        numbers={"dca": _dcurves_number},
    ),
    Contestant(
        name="empulse",
        module="empulse",
        advice={"CSThresholdClassifier": _empulse_advice},
        numbers={"expected_cost_loss": _empulse_number},
    ),
    Contestant(
        name="calibre",
        module="calibre",
        maps={"CenteredIsotonicCalibrator": _calibre_map("CenteredIsotonicCalibrator")},
        class_maps={"TemperatureScaler": _calibre_classes},
        intervals={BRIER: _calibre_brier, NET_BENEFIT: _calibre_net_benefit},
        bands={DIAGRAM: _calibre_band},
        advice={"select_decision_policy": _calibre_advice},
        numbers={"expected_calibration_error": _calibre_number},
        python="3.12",
    ),
)
BY_NAME = {one.name: one for one in CONTESTANTS}
