"""What is drawn is what the result holds; the user's axes and settings are theirs."""

from __future__ import annotations

import functools
from dataclasses import replace

import matplotlib as mpl
import matplotlib.pyplot as plt
import numpy as np
import pytest
from helpers.cases import for_each
from helpers.report_cases import quickly
from numpy.testing import assert_allclose, assert_array_equal

import rainproof
from rainproof import plots
from rainproof.core.segments import Segments
from rainproof.verdict.costs import Rule

mpl.use("Agg")
FAST = {
    "rng": 0,
    "measures": ["soft_binned_cdl", "cutoff_calibration_error", "brier_score"],
    "n_resamples": 39,
}


@functools.cache
def assessment(kind="overconfident"):
    """One of each kind that a panel must cope with, all with segments."""
    rng = np.random.default_rng(5)
    n = {"one row": 1, "few": 12}.get(kind, 1500)
    p = rng.random(n)
    y = rng.random(n) < (0.5 + (p - 0.5) / 3 if kind == "overconfident" else p)
    by = rng.choice(
        ["north", "south $x^2$ <b>", "an endless name of a segment of the data"],
        n,
        p=[0.6, 0.38, 0.02],
    )
    task = rainproof.DecisionTask.from_costs(false_positive=35, false_negative=65)
    with quickly():
        if kind == "one class":
            return rainproof.assess(np.zeros(n), p, by=by, **FAST)
        if kind == "compressed":
            return rainproof.assess(
                Segments.from_samples({"all": rainproof.Sample(y, p).compress(64)}, ["s"]), **FAST
            )
        if kind == "perfect":
            return rainproof.assess(
                [0] * 100 + [0, 1] * 50, [0.0] * 100 + [0.5] * 100, by=[1] * 200, **FAST
            )
        return rainproof.assess(y, p, by=by, task=task, **FAST)


@functools.cache
def results():
    """One of every result that can be drawn, by the function of `rainproof.plots` that draws it."""
    rng = np.random.default_rng(7)
    p = rng.random(400)
    y = rng.random(400) < p**2
    days = {f"day {k}": rainproof.Sample(y[k::8], p[k::8]).compress() for k in range(8)}
    return {
        "reliability": rainproof.clinical.reliability_curve(y, p, rng=0),
        "regret": rainproof.regret_curve(y, p, grid=16),
        "forecast_value": rainproof.forecast_value(y, p),
        "net_benefit": rainproof.net_benefit(y, {"one": p, "two": p**2}),
        "risk_coverage": rainproof.decisions.risk_coverage(y, p),
        "grades": rainproof.clinical.grade_table(y, np.ceil(8 * p) / 8),
        "risk_distribution": assessment().histogram,
        "profile": rainproof.measures.soft_binned_profile(y, p),
        "calibration_test": rainproof.calibration_test(y, p, n_resamples=99, rng=0),
        "comparison": rainproof.compare(y, p, p**2, measure="brier_score", n_resamples=99, rng=0),
        "costs": assessment().task,
        "segments": assessment().segments,
        "recalibration": rainproof.Recalibrator(rng=0).fit(p, y),
        "switch": rainproof.switch_guarantee(y, p, p**2, rng=0),
        "threshold": rainproof.find_threshold(y, p, recall=0.6, false_positive_rate=0.6),
        "timeline": rainproof.monitor(days, window=2),
    }


PANELS = ["reliability", "regret", "profile", "calibration_test", "comparison"]
PANELS += [
    "forecast_value",
    "net_benefit",
    "risk_coverage",
    "risk_distribution",
    "costs",
    "recalibration",
    "segments",
    "switch",
    "threshold",
    "timeline",
]


def line(ax, label):
    (found,) = [x for x in ax.get_lines() if x.get_label() == label]
    return found


def band(ax):
    """The corners of the grey band."""
    return {tuple(corner) for corner in ax.collections[0].get_paths()[0].vertices}


def test_reliability_draws_the_bins():
    a = assessment()
    ax = a.reliability.plot()
    bins, off = a.reliability.bins, a.reliability.off
    assert 0 < off.sum() < len(off)
    for label, at in (("event rate", ~off), ("event rate, beyond chance", off)):
        assert_array_equal(
            line(ax, label).get_xydata(),
            np.column_stack([bins.mean_prediction, bins.event_rate])[at],
        )
    (bars,) = [c for c in ax.collections if hasattr(c, "get_segments")]
    ends = np.array([s[:, 1] for s in bars.get_segments()])
    assert_allclose(ends, np.column_stack([bins.low, bins.high]), atol=1e-12)
    assert {*zip(bins.mean_prediction, a.reliability.null_low, strict=True)} <= band(ax)
    assert {*zip(bins.mean_prediction, a.reliability.null_high, strict=True)} <= band(ax)
    (under,) = ax.child_axes
    assert_allclose([bar.get_height() for bar in under.patches], bins.share)
    assert_allclose(
        [bar.get_x() + bar.get_width() / 2 for bar in under.patches], bins.mean_prediction
    )
    assert ax.get_title() == f"Reliability diagram, grid 1/{bins.grid}"


def test_reliability_draws_the_recalibration_map():
    a = assessment()
    ax, found = (
        plots.reliability(a.reliability, recalibration=a.recalibrator.map_),
        a.recalibrator.map_,
    )
    x, y = line(ax, "recalibration map").get_xydata().T
    assert_array_equal(x[::2], found.edges[:-1])
    assert_array_equal(x[1::2], found.edges[1:])
    assert_array_equal(y[::2], found(found.edges[:-1]))
    assert "recalibration map" not in [x.get_label() for x in a.reliability.plot().get_lines()]


@for_each("outcome", [0, 1])
def test_the_reliability_of_rare_events_is_on_logit_axes(outcome):
    y = np.arange(2000) % 100 == 0
    p = np.where(y, 0.2, 0.01) + np.arange(2000) / 1e5
    ax = rainproof.clinical.reliability_curve(
        y == outcome, p if outcome else 1 - p, n_resamples=19, rng=0
    ).plot()
    assert (ax.get_xscale(), ax.get_yscale()) == ("logit", "logit")
    assert ax.child_axes == []
    low, high = ax.get_xlim()
    assert low < 0.01 + 0.98 * (not outcome) < high
    ax.figure.canvas.draw()


def test_regret_draws_the_curve_its_band_the_worst_and_ones_own_thresholds():
    a = assessment()
    ax = plots.regret(a.regret, band=a.null_band, thresholds=a.task.task.thresholds)
    assert_array_equal(
        line(ax, "forecast").get_xydata(), np.column_stack([a.regret.threshold, a.regret.regret])
    )
    assert_allclose(
        line(ax, f"largest, at {a.regret.worst.threshold:.3g}").get_xydata(), [a.regret.worst]
    )
    assert_allclose(line(ax, "your decision").get_xdata(), [0.35, 0.35])
    assert {*zip(a.null_band.thresholds, a.null_band.regret_high, strict=True)} <= band(ax)


def test_every_threshold_of_a_task_is_marked_and_named_once():
    task = rainproof.DecisionTask.from_payoffs([[10, -50], [4, 0], [-20, 30]])
    ax = plots.regret(results()["regret"], thresholds=task.thresholds)
    marked = [x.get_xdata()[0] for x in ax.get_lines() if x.get_linestyle() == ":"]
    assert_allclose(marked, task.thresholds)
    assert [t.get_text() for t in ax.get_legend().get_texts()].count("your decision") == 1


def test_the_value_of_a_forecast_draws_its_curves():
    v = results()["forecast_value"]
    ax, upper = v.plot(), "recalibrated on these rows (isotonic), an upper estimate"
    drawn = {
        "forecast as it is": "value",
        upper: "value_recalibrated",
        "perfect foresight": "value_perfect",
    }
    for label, name in drawn.items():
        assert_array_equal(
            line(ax, label).get_xydata(), np.column_stack([v.threshold, getattr(v, name)])
        )
    assert (ax.get_xlim(), ax.get_title()) == ((0, 1), "Value of the forecast")
    y, p = [0, 1, 1, 0], [0.1, 0.3, 0.6, 0.8]
    line(rainproof.forecast_value(y, p, recalibrated=p).plot(), "recalibrated")
    ax = rainproof.forecast_value(rainproof.Sample(np.zeros(4), p).compress(16)).plot()
    assert ax.get_title() == "Value of the forecast, compressed to 1/16"
    assert ax.get_ylim()[1] > 0
    many = np.arange(1, 9001) / 9001
    drawn = line(rainproof.forecast_value(many > 0.3, many).plot(), "forecast as it is").get_xdata()
    assert 2048 < len(drawn) <= 4097
    assert (drawn[0], drawn[-1]) == (0, 1)


@for_each("outcome", [0, 1])
def test_the_value_for_rare_events_is_on_a_logit_axis(outcome):
    y = np.arange(1000) >= 990
    p = np.where(y, 0.05, 0.005)
    v = rainproof.forecast_value(y == 1, p) if outcome else rainproof.forecast_value(y == 0, 1 - p)
    ax = v.plot()
    assert ax.get_xscale() == "logit"
    low, high = ax.get_xlim()
    assert low < v.event_rate < high
    drawn = line(ax, "forecast as it is").get_xydata()
    assert {*zip(v.threshold, v.value, strict=True)} <= {*map(tuple, drawn)}
    between = drawn[(drawn[:, 0] > low) & (drawn[:, 0] < high) & ~np.isin(drawn[:, 0], v.threshold)]
    assert len(between) > 100
    assert_allclose(between[:, 1], v(between[:, 0]), atol=1e-15)


def test_balance_draws_both_sides_and_where_they_meet():
    a = assessment()
    ax = a.profile.plot()
    m, some = a.profile.grids, a.profile.losses > 0
    assert_array_equal(line(ax, "1/m, from rounding").get_xydata(), np.column_stack([m, 1 / m]))
    drawn = line(ax, "SCDL on the grid 1/m").get_xydata()
    assert_array_equal(drawn, np.column_stack([m, a.profile.losses])[some])
    mark = line(ax, f"SCDL {a.profile.value:.3g}, m* = {a.profile.m_star}")
    assert_array_equal(mark.get_xydata(), [[a.profile.m_star, a.profile.value]])


def test_balance_says_where_the_value_is_a_bound_and_where_there_is_none():
    a = assessment("compressed")
    assert not a.profile.resolved
    line(a.profile.plot(), f"SCDL at most {a.profile.value:.3g}, m* = {a.profile.m_star}")
    ax = assessment("perfect").profile.plot()
    assert ax.get_title() == "SCDL by grid: perfectly calibrated rows"
    assert not any(str(x.get_label()).endswith("m*") for x in ax.get_lines())


def points_and_spans(ax):
    points = [x.get_xdata()[0] for x in ax.get_lines() if len(x.get_xdata()) == 1]
    return points, [list(x.get_xdata()) for x in ax.get_lines() if len(x.get_xdata()) == 2]


def test_measures_draws_values_but_no_scores():
    a = assessment()
    ax = plots.measures(a.measures)
    shown = [e for e in a.measures if not e.score]
    assert [t.get_text() for t in ax.get_yticklabels()] == [e.measure.symbol for e in shown]
    assert points_and_spans(ax) == ([e.value for e in shown], [])


def test_costs_draws_what_each_rule_costs():
    found = assessment().task
    ax = plots.costs(found)
    costs = list(found.costs.values())
    assert points_and_spans(ax) == (
        [cost.value for cost in costs],
        [[cost.low, cost.high] for cost in costs],
    )
    assert [t.get_text() for t in ax.get_yticklabels()][::5] == [
        "Forecast as it is",
        "Perfect foresight",
    ]
    without = plots.costs(
        replace(found, costs={k: v for k, v in found.costs.items() if k is not Rule.CUTOFF})
    )
    assert "Best cut-off" not in [t.get_text() for t in without.get_yticklabels()]
    assert found.costs[Rule.PERFECT].value == 0
    # half of its mark
    assert ax.transData.transform((0, 0))[0] > ax.bbox.x0 + 2.5 * ax.figure.dpi / 72


def test_segments_draws_the_largest_loss_first_and_names_as_text():
    a = assessment()
    ax = a.segments.plot()
    shown = a.segments.first(40)
    tested = [s for s in shown if s.loss is not None]
    assert points_and_spans(ax) == (
        [s.loss for s in tested],
        [[s.loss, s.loss_bound] for s in tested],
    )
    names = [t.get_text() for t in ax.get_yticklabels()]
    assert any(name.startswith(r"south \$x^2\$ <b>") for name in names)
    assert names[-1] == f"an endless name of ... ({shown[-1].n})"
    assert shown[-1].small
    ax.figure.canvas.draw()  # an unescaped dollar sign would fail here


def test_too_many_segments_are_said_to_be_left_out():
    rng = np.random.default_rng(1)
    p = rng.random(450)
    a = rainproof.assess(rng.random(450) < p, p, by=np.arange(450) % 45, **FAST)
    ax = a.segments.plot()
    assert len(ax.get_yticklabels()) == 40
    assert ax.get_title() == "Segments (5 more not shown)"


def test_grades_have_a_marker_for_each_light():
    found = rainproof.clinical.grade_table(
        [2, 40, 60], [0.001, 0.01, 0.5], by=["A", "B", "C"], trials=[1000, 800, 60]
    )
    assert [text.get_text() for text in found.plot().get_legend().get_texts()] == [
        "as predicted",
        "green",
        "red",
    ]
    assert rainproof.clinical.grade_table([0], [0.0], trials=[5]).plot().get_xscale() == "logit"


def test_several_decision_curves_share_the_lines_of_treating_all_and_none():
    found = results()["net_benefit"]
    ax = found.plot()
    labels = ["treat all", "treat none", "one", "two"]
    assert [text.get_text() for text in ax.get_legend().get_texts()] == labels
    assert ax.lines[3].get_ydata() == pytest.approx(found.value[1])
    assert len(ax.collections) == 2  # a band for each model


def test_the_risk_distribution_has_a_side_for_each_outcome():
    ax = rainproof.plots.risk_distribution(results()["risk_distribution"])
    heights = [bar.get_height() for bar in ax.patches]
    assert (max(heights), min(heights)) == (1.0, -1.0)


def test_the_clinical_figure_has_its_three_panels():
    y, p = [0, 1, 1, 0, 1, 0], [0.2, 0.7, 0.6, 0.4, 0.3, 0.5]
    figure = rainproof.clinical_performance(y, p, rng=0).plot()
    titles = [ax.get_title() for ax in figure.axes]
    assert titles[1:] == ["Decision curve", "Risk distribution by outcome"]
    assert titles[0].startswith("Reliability diagram")


def test_switch_draws_the_loss_its_band_and_who_loses_and_gains():
    found = results()["switch"]
    ax, shown = found.plot(), found.band()
    assert_array_equal(
        line(ax, "loss by the switch").get_xydata(),
        np.column_stack([shown["threshold"], shown["loss"]]),
    )
    for end in (shown["low"], shown["high"]):
        assert {*zip(shown["threshold"], end, strict=True)} <= band(ax)
    for name, task in (("largest loss", found.worst_task), ("largest gain", found.best_task)):
        (drawn,) = [x for x in ax.get_lines() if str(x.get_label()).startswith(name)]
        assert_array_equal(drawn.get_xdata(), task.thresholds)
        assert_array_equal(drawn.get_ydata(), found.curve(task.thresholds))
    texts = [text.get_text() for text in ax.get_legend().get_texts()]
    assert "95% for each threshold (estimate)" in texts


def test_switch_shows_the_thresholds_that_matter_and_few_points_of_many():
    rng = np.random.default_rng(8)
    p = rng.random(9000) / 50
    y = rng.random(9000) < p
    ax = rainproof.switch_guarantee(y, 2 * p, p, rng=0).plot()
    assert 0.03 < ax.get_xlim()[1] < 0.05
    assert len(line(ax, "loss by the switch").get_xdata()) < 5000
    same = rainproof.switch_guarantee(y, p, p, rng=0).plot()
    assert same.get_xlim() == (0, 1)
    assert len(same.get_legend().get_texts()) == 2


def test_comparison_draws_the_difference_with_its_interval():
    found = results()["comparison"]
    ax = found.plot()
    spans = [list(x.get_xdata()) for x in ax.get_lines() if len(x.get_xdata()) == 2]
    assert spans == [[0, 0], [found.low, found.high]]
    points = [x.get_xdata()[0] for x in ax.get_lines() if len(x.get_xdata()) == 1]
    assert points == [found.value_a, found.value_b, found.difference]
    assert ax.get_title().startswith("b is better (95% interval, p = ")


@for_each("kind", ["overconfident", "one row", "few", "one class", "compressed", "perfect"])
def test_every_kind_can_be_drawn(kind):
    a = assessment(kind)
    a.plot().canvas.draw()
    a.segments.plot().figure.canvas.draw()


@for_each("panel", PANELS)
def test_the_users_axes_are_used_and_new_ones_made_otherwise(panel):
    figure, (left, right) = plt.subplots(1, 2)
    result = results()[panel]
    assert result.plot(right) is right
    assert right.has_data()
    assert not left.has_data()
    assert plt.get_fignums() == [figure.number]
    assert getattr(plots, panel)(result).figure is not figure


@for_each("panel", PANELS)
def test_nothing_is_cut_off_at_400_pixels(panel):
    figure, ax = plt.subplots(figsize=(4, 3.2), dpi=100, layout="constrained")
    results()[panel].plot(ax)
    figure.canvas.draw()
    names = ax.get_yticklabels() if panel == "segments" else []
    parts = [
        ax.title,
        ax.xaxis.label,
        ax.yaxis.label,
        *([ax.get_legend()] if ax.get_legend() else []),
        *names,
    ]
    for part in parts:
        box = part.get_window_extent()
        assert -2 <= box.x0 <= box.x1 <= 402, part
        assert -2 <= box.y0 <= box.y1 <= 322, part


@for_each("panel", PANELS)
def test_in_grey_marks_differ_by_more_than_colour(panel):
    """Whatever has a name in the legend has a marker, a line style or a filling of its own."""
    ax = results()[panel].plot()
    styles = [
        (x.get_marker(), x.get_linestyle(), x.get_markerfacecolor() == "white")
        for x in ax.get_lines()
        if not str(x.get_label()).startswith("_")
    ]
    assert len(styles) == len(set(styles))


def test_no_global_setting_is_changed_and_the_users_are_followed():
    with mpl.rc_context(
        {"font.size": 17, "axes.titlesize": 19, "figure.dpi": 55, "axes.facecolor": "#eeeeee"}
    ):
        before = dict(mpl.rcParams)
        figure = assessment().plot()
        figure.canvas.draw()
        assert dict(mpl.rcParams) == before
        assert figure.axes[0].title.get_fontsize() == 19
        assert figure.dpi == 55
        assert mpl.colors.to_hex(figure.axes[1].get_facecolor()) == "#eeeeee"


def test_the_overview_has_four_panels_the_headline_and_the_users_options():
    a = assessment()
    figure = plots.overview(a, figsize=(8, 6), dpi=60)
    titles = [ax.get_title().partition(",")[0] for ax in figure.axes]
    assert titles == [
        "Reliability diagram",
        "Value of the forecast",
        "Regret curve",
        "Cost of your decision",
    ]
    line(figure.axes[0], "recalibration map")
    assert plots.overview(replace(a, task=None)).axes[3].get_title() == "Measures"
    assert figure.get_suptitle() == a.verdict.headline
    assert (figure.get_size_inches() == (8, 6)).all()
    assert figure.dpi == 60


def test_a_name_is_in_the_title():
    p = np.linspace(0, 1, 200)
    several = rainproof.assess_many({"a $b": (p > 0.5, p)}, **FAST)
    (figure,) = several.plot().values()
    assert figure.get_suptitle().startswith(r"a \$b: ")
    figure.canvas.draw()
