"""The assessment: every part is what its own function says, and the verdict is of the right
kind.
"""

from __future__ import annotations

import json
import pickle
import warnings
from html import escape

import numpy as np
import pytest
from helpers.cases import for_each
from numpy.testing import assert_array_equal

import rainproof
from rainproof.core.digests import stream_for
from rainproof.verdict.assessing import collect_warnings

FAST = {"rng": 0, "measures": ["soft_binned_cdl"], "n_resamples": 99}


def forecasts(n, bend=lambda p: p, seed=0):
    rng = np.random.default_rng(seed)
    p = rng.random(n)
    return rng.random(n) < bend(p), p


def overconfident(p):
    return 0.5 + (p - 0.5) / 2


def test_the_parts_are_what_their_functions_say():
    y, p = forecasts(2000, overconfident)
    task = rainproof.DecisionTask.threshold(0.3)
    a = rainproof.assess(y, p, task=task, n_resamples=99, rng=0)
    every = rainproof.measure_all(y, p)
    assert {e.measure.name: e.value for e in a.measures} == dict(every)
    assert a["cutoff_calibration_error"].value == every["cutoff_calibration_error"]
    sample = rainproof.Sample(y, p)
    assert a.profile.to_dict() == rainproof.measures.soft_binned_profile(sample).to_dict()
    assert a.guarantee.to_dict() == rainproof.guarantee(sample, response="as_is").to_dict()
    rounded = rainproof.guarantee(sample, grid=[8, 16, 32, 64, 128])
    at = rounded.grids.tolist().index(a.rounded_guarantee.grid)
    assert a.rounded_guarantee.bound == rounded.bounds[at]  # they hold for all grids at once
    assert a.shown_grid == a.rounded_guarantee.grid == a.regret.grid
    assert a.regret.to_dict() == rainproof.regret_curve(sample, grid=a.shown_grid).to_dict()
    assert a.test.value == every["soft_binned_cdl"]
    assert a.task.regret == rainproof.swap_regret(sample, task=task)
    assert a.recalibrator.certificate_.n == 500
    assert a.evidence.certificate == a.recalibrator.certificate_
    assert a.value(0.3) == pytest.approx(rainproof.forecast_value(y, p)(0.3))
    found = a.advice_at(0.3)
    assert found.regret == a.regret(0.3)
    assert (
        str(found)
        in a.to_dict()["advice"]["thresholds"][[x.threshold for x in a.advice].index(0.3)]["text"]
    )
    assert a.summary.n == 2000
    assert 0.3 in [found.threshold for found in a.advice]


ROWS = {
    "few": {"n": 300},
    "many": {"n": 3000},
    "cells": {"n": 3000, "most": 1000},
    "cells of another population": {"n": 3000, "most": 1000, "base_rate": 0.1},
    "clusters": {"n": 1200, "groups": np.arange(1200) // 3},
    "weights": {"n": 1200, "sample_weight": 1.0 + np.arange(1200) % 4},
    "a range": {"n": 1200, "threshold_range": (0.2, 0.7)},
}


@for_each("mu", [0.25, 0.6])
@for_each("given", ROWS.values())
def test_the_recalibrated_curve_costs_what_the_cross_validated_estimate_says(
    given, mu, monkeypatch
):
    """At every threshold: of all maps that a row is recalibrated by, none was fitted to it."""
    options = dict(given)
    y, p = forecasts(options.pop("n"), overconfident, seed=8)
    monkeypatch.setattr("rainproof.verdict.assessing.MANY_ROWS", options.pop("most", 1 << 18))
    task = rainproof.DecisionTask.from_costs(false_positive=mu, false_negative=1 - mu)
    a = rainproof.assess(y, p, task=task, n_resamples=19, **options)
    v = a.value
    assert v.recalibration == "cross-fitted"
    none = min(mu * (1 - v.event_rate), (1 - mu) * v.event_rate)
    cost = none - v.interpolated(np.array(mu), v.value_recalibrated)
    assert cost == pytest.approx(a.task.cost_recalibrated.value, abs=1e-12)


@pytest.mark.filterwarnings("ignore::rainproof.FewRowsWarning")
def test_where_no_map_can_be_fitted_the_curves_are_one():
    y, p = forecasts(12)
    v = rainproof.assess(y, p).value
    assert v.recalibration == "given"
    assert_array_equal(v.value_recalibrated, v.value)


@for_each(
    "n, bend, grade",
    [
        (10_000, lambda p: p, "use"),
        (10_000, lambda p: p + 0.02 * (1 - p), "recalibrate"),  # slightly, but not by chance
        (5000, overconfident, "recalibrate"),
        (5000, lambda p: 1 - p, "recalibrate"),
        (5000, lambda p: (1 - 2 * p) ** 2, "recalibrate"),
        (20_000, lambda p: 0 * p + 0.4, "avoid"),
        (150, lambda p: p, "use"),
        (300, overconfident, "recalibrate"),
    ],
)
def test_known_populations_get_the_grade_they_deserve(n, bend, grade):
    a = rainproof.assess(*forecasts(n, bend, seed=1), **FAST)
    assert a.verdict.grade == grade
    assert str(a).startswith(a.verdict.headline[:40])


def test_rare_events_are_judged_by_what_foresight_is_worth():
    rng = np.random.default_rng(0)
    p = rng.beta(0.5, 30, 30_000)
    good = rainproof.assess(rng.random(30_000) < p, p, **FAST)
    off = rainproof.assess(rng.random(30_000) < np.minimum(1, 4 * p), p, **FAST)
    constant = rainproof.assess(rng.random(30_000) < 0.02, np.full(30_000, 0.02), **FAST)
    assert [a.verdict.grade for a in (good, off, constant)] == ["use", "recalibrate", "avoid"]


def test_groups_are_one_draw_each():
    y, p = forecasts(2000)
    a = rainproof.assess(y, p, groups=np.arange(2000) // 4, **FAST)
    assert a.guarantee.groups == 500
    assert a.guarantee.bound > rainproof.assess(y, p, **FAST).guarantee.bound
    assert a.test is None
    assert a.to_dict()["test"] is None
    with pytest.raises(rainproof.InputError, match="groups need rows"):
        rainproof.assess(rainproof.Sample(y, p).compress(), groups=np.arange(2000) // 4, **FAST)


def of_rows(told):
    """What an assessment told, without its words and without what is counted over groups."""
    if isinstance(told, dict):
        return {
            key: of_rows(value)
            for key, value in told.items()
            if key not in ("groups", "effective_clusters", "verdict", "text")
        }
    return [of_rows(value) for value in told] if isinstance(told, list) else told


def test_a_group_for_each_row_changes_no_number():
    rng = np.random.default_rng(5)
    p = rng.random(600)
    y, w, by = rng.random(600) < p**1.3, rng.choice([1.0, 3.0], 600), rng.integers(0, 2, 600)
    few = {"measures": [], "n_resamples": 19}
    task = rainproof.DecisionTask.from_costs(false_positive=1, false_negative=3)
    for columns in ({}, {"sample_weight": w}, {"by": by}):
        alone = rainproof.assess(y, p, task=task, **few, **columns)
        grouped = rainproof.assess(y, p, task=task, groups=rng.permutation(600), **few, **columns)
        assert of_rows(grouped.to_dict()) == of_rows(alone.to_dict())
        assert "approximately, over" not in str(grouped.verdict.details)
    both = {"a": (y, p), "b": (y, p**2)}
    several = [
        rainproof.assess_many(both, task=task, groups=g, **few) for g in (None, np.arange(600))
    ]
    assert of_rows(several[0].to_dict()) == of_rows(several[1].to_dict())


def test_a_group_for_each_row_is_said_to_assume_what_groups_do():
    """Other samples may have larger groups: that none is in these rows does not prove that there
    are none.
    """
    y, p = forecasts(600, overconfident)
    needs = "must not depend on predictions or outcomes"
    found = rainproof.assess(y, p, groups=np.arange(600), **FAST)
    assert (
        f"600 rows in 600 groups, taken as independent; sizes {needs}, else state max_weight=."
        in found.verdict.basis
    )
    assert "It does not hold for groups whose size or weight depends on predictions or" in str(
        found.guarantee
    )
    weighted = rainproof.assess(y, p, groups=np.arange(600), sample_weight=1 + p, **FAST)
    assert f"; sizes and weights {needs}, else state max_weight=." in weighted.verdict.basis


def test_a_compressed_sample_says_the_same():
    y, p = forecasts(3000, overconfident)
    a, b = (
        rainproof.assess(y, p, **FAST),
        rainproof.assess(rainproof.Sample(y, p).compress(), **FAST),
    )
    assert b.summary.compressed == 2**16
    assert a.profile.value == pytest.approx(b.profile.value)
    assert a.guarantee.bound == pytest.approx(b.guarantee.bound, rel=1e-3)
    np.testing.assert_allclose(a.reliability.bins.event_rate, b.reliability.bins.event_rate)
    np.testing.assert_allclose(a.regret.regret, b.regret.regret, atol=1e-12)


def test_rows_of_unequal_weight_that_are_compressed_cannot_be_divided():
    y, p = forecasts(3000, overconfident)
    w = np.random.default_rng(1).random(3000)
    assert rainproof.assess(y, p, sample_weight=w, **FAST).recalibrator.certificate_.n < 3000
    a = rainproof.assess(
        rainproof.Sample(y, p, sample_weight=w).compress(),
        task=rainproof.DecisionTask.threshold(0.2),
        **FAST,
    )
    assert a.recalibrator is None
    assert (a.to_dict()["recalibration"], a.to_dict()["worth"]) == (None, None)
    assert a.verdict.grade == "unknown"
    assert "compressed rows of unequal weight cannot be divided" in a.verdict.details.replace(
        "\n", " "
    )
    assert a.task.cost is None
    equal = rainproof.assess(
        rainproof.Sample(y, p, sample_weight=np.full(3000, 2.0)).compress(), **FAST
    )
    assert equal.recalibrator is not None


def test_many_rows_are_compressed_first():
    y, p = forecasts(2**18 + 1)
    a = rainproof.assess(y, p, measures=[], n_resamples=19, rng=0)
    assert a.summary.compressed == 2**16
    assert a.summary.n == 2**18 + 1
    assert a.verdict.grade == "use"


def test_the_same_seed_gives_the_same_numbers():
    y, p = forecasts(500)
    a, b = (rainproof.assess(y, p, **(FAST | {"rng": 3})).to_dict() for _ in range(2))
    assert a == b
    assert a["seed"] == 3
    drawn = rainproof.assess(
        y, p, **(FAST | {"rng": stream_for(3, rainproof.Sample(y, p))})
    ).to_dict()
    assert drawn["seed"] is None
    assert {**drawn, "seed": 3} == a
    assert rainproof.assess(y, p, **(FAST | {"rng": 4})).to_dict() != a


def test_progress_counts_up_to_the_end():
    y, p = forecasts(300)
    seen = []
    rainproof.assess(
        y, p, by=np.arange(300) % 2, progress=lambda done, total: seen.append((done, total)), **FAST
    )
    assert [done for done, _ in seen] == list(range(1, len(seen) + 1))
    assert {total for _, total in seen} == {len(seen)}


def test_confidence_and_tolerance_have_their_effect():
    y, p = forecasts(20_000, overconfident)
    a, b = (
        rainproof.assess(y, p, **FAST),
        rainproof.assess(y, p, confidence_level=0.8, tolerance=0.8, **FAST),
    )
    assert (a.verdict.grade, b.verdict.grade) == ("recalibrate", "use")
    assert b.guarantee.bound < a.guarantee.bound
    assert "80% confidence" in " ".join(str(b).split())
    assert np.all(b.reliability.bins.high <= a.reliability.bins.high)
    wide, narrow = (np.mean(x.reliability.null_high - x.reliability.null_low) for x in (a, b))
    assert narrow < wide


def test_labels_and_weights_are_passed_on():
    y, p = forecasts(400)
    w = np.random.default_rng(1).random(400)
    a = rainproof.assess(
        np.where(y, "yes", "no"), p, sample_weight=w, pos_label="yes", by=["x"] * 400, **FAST
    )
    assert a.profile.value == rainproof.soft_binned_cdl(y, p, sample_weight=w)
    assert a.summary.weighted
    assert a.segments.rows[0].value == a.profile.value


def test_doubts_are_warned_of_once_and_kept():
    with pytest.warns(rainproof.FewRowsWarning, match="20 rows") as caught:
        a = rainproof.assess([0, 1] * 10, [0.4, 0.6] * 10, **FAST)
    assert len({str(w.message) for w in caught}) == len(caught) == len(a.warnings)
    assert caught[0].filename == __file__
    assert [s.text for s in a.verdict.sentences if s.about == "note"] == [
        f"Note: {text}." for text in a.warnings
    ]


@pytest.mark.filterwarnings("ignore::rainproof.RainproofWarning")
@for_each("y, p", [([1], [0.3]), ([0], [0.0]), ([1] * 30, [0.2] * 30), ([0, 1], [1.0, 1e-12])])
def test_hardly_any_rows(y, p):
    a = rainproof.assess(y, p, n_resamples=19, task=rainproof.DecisionTask.threshold(0.5))
    assert a.verdict.grade == "unknown"
    json.loads(a.to_json())
    assert a._repr_html_()


@pytest.mark.filterwarnings("ignore::rainproof.RainproofWarning")
def test_one_class_is_said():
    assert "All outcomes on these 30 rows are 1." in str(
        rainproof.assess([1] * 30, np.linspace(0, 1, 30), **FAST)
    ).replace("\n", " ")


def doubtful():
    warnings.warn("old", DeprecationWarning, stacklevel=1)
    for _ in range(2):
        warnings.warn(rainproof.FewRowsWarning("few"), stacklevel=1)


def test_other_warnings_are_given_as_ever():
    kept = {}

    def work():
        with collect_warnings() as notes:
            doubtful()
        kept.update(notes)

    with pytest.warns(DeprecationWarning, match="old"):
        work()
    assert list(kept) == ["few"]


KEYS = [
    (
        "result schema rainproof name n events event_rate base_rate total_weight effective_n "
        "weighted compressed"
    ),
    "confidence_level tolerance n_resamples seed warnings verdict measures reliability "
    "histogram regret profile",
    "value guarantee rounded_guarantee test advice task segments worth calibration skill "
    "skill_as_is auroc gain",
    "range_costs recalibration",
]


def test_the_dict_is_the_schema_and_ready_for_json(tmp_path):
    y, p = forecasts(1000)
    a = rainproof.assess(
        y, p, task=rainproof.DecisionTask.quadratic(), by=np.arange(1000) % 3, **FAST
    )
    found = a.to_dict()
    assert sorted(found) == sorted(" ".join(KEYS).split())
    assert json.loads(a.to_json(tmp_path / "a.json")) == found
    assert json.loads((tmp_path / "a.json").read_text()) == found
    lengths = {
        len(found["reliability"][key])
        for key in found["reliability"]
        if key not in ("grid", "method")
    }
    assert lengths == {len(a.reliability.bins.prediction)}
    assert found["profile"]["reciprocals"] == [1 / m for m in found["profile"]["grids"]]
    assert found["profile"]["resolved"] is True
    # of 1,000 rows
    assert found["recalibration"]["certificate"] is a.recalibrator.certificate_ is None
    assert len(found["value"]["threshold"]) == len(found["value"]["value"]) <= 801
    assert found["advice"]["method"].startswith(
        "Advice against the forecast is right for all thresholds at once"
    )
    assert (
        len(found["regret"]["null_threshold"])
        == len(found["regret"]["null_high"])
        == len(found["advice"]["thresholds"])
    )


def test_what_notebooks_show():
    y, p = forecasts(300)
    a = rainproof.assess(y, p, **FAST)
    html = a._repr_html_()
    assert escape(a.verdict.headline) in html
    assert "<th>recalibrated</th>" in html
    assert repr(a).startswith("Assessment('use', bound=")
    assert "\n" not in repr(a)


def test_arrays_cannot_be_changed():
    y, p = forecasts(200)
    a = rainproof.assess(y, p, **FAST)
    for array in (
        a.reliability.null_low,
        a.histogram.share,
        a.null_band.regret_high,
        a.reliability.bins.low,
    ):
        with pytest.raises(ValueError, match="read-only"):
            array[0] = 1
    assert_array_equal(a.null_band.thresholds, [found.threshold for found in a.advice])


@for_each(
    "options, message",
    [
        ({"confidence_level": 1.0}, r"confidence_level must lie in \(0, 1\); it is 1.0"),
        ({"confidence_level": "high"}, r"confidence_level must lie in \(0, 1\); it is 'high'"),
        ({"tolerance": 0}, r"tolerance must lie in \(0, 1\); it is 0"),
        ({"task": 0.3}, "task must be a DecisionTask; it is 0.3"),
        (
            {"measures": ["ece", "x"]},
            r"measures must be names that rainproof.list_measures\(\) lists; 2 values do not, the first is 'ece'",
        ),
        ({"y_prob": None}, "y_prob is missing: pass y_true and y_prob, or one Sample"),
    ],
)
def test_bad_settings(options, message):
    y, p = forecasts(200)
    with pytest.raises(rainproof.InputError, match=message):
        rainproof.assess(y, **{"y_prob": p, **options})


def test_one_measure_may_be_named_alone():
    y, p = forecasts(200)
    a = rainproof.assess(y, p, measures="brier_score", n_resamples=19, rng=0)
    assert [e.measure.name for e in a.measures] == ["brier_score"]


def test_measures_are_computed_when_asked_for_and_survive_pickling():
    y, p = forecasts(200)
    a = rainproof.assess(y, p, measures=["brier_score"], n_resamples=19, rng=0)
    assert not a._found
    again = pickle.loads(pickle.dumps(a))
    assert again.measures == a.measures
    assert again._sample is None


@for_each("weighted", [False, True])
def test_an_assessment_stays_what_it_was_when_the_arrays_are_used_again(weighted):
    """Measures, the core set and the SCDL of calibrated forecasts are computed when they are asked
    for.
    """
    y, p = forecasts(600, lambda p: p**1.3)
    w = np.random.default_rng(2).exponential(size=600) if weighted else None
    used = [y.copy(), p.copy(), None if w is None else w.copy()]
    kept = rainproof.assess(y, p, sample_weight=w, rng=0, n_resamples=19)
    found = rainproof.assess(used[0], used[1], sample_weight=used[2], rng=0, n_resamples=19)
    used[0][:], used[1][:] = ~used[0], used[1] / 100
    if weighted:
        used[2][:] = 1.0
    assert found.to_dict() == kept.to_dict()
    assert found.clinical.to_dict() == kept.clinical.to_dict()
    assert found.test.null.tolist() == kept.test.null.tolist()


def test_the_names_of_groups_change_nothing():
    rng = np.random.default_rng(1)
    c = 0.3 + 0.1 * rng.random(500)
    y, group = rng.random(500) < c, rng.integers(0, 120, 500)
    one, other = (
        rainproof.assess(y, c, groups=names, measures=[]) for names in (group, group.astype(str))
    )
    assert one.to_dict() == other.to_dict()


@pytest.mark.filterwarnings("ignore::rainproof.ResolutionWarning")
def test_a_compressed_constant_is_one():
    rng = np.random.default_rng(2)
    y = rng.random(1000) < 0.25
    for p, grid, constant in (
        (np.full(1000, 0.2), 2**16, True),
        (np.full(1000, 0.2), 8, True),
        (0.2 + 1e-6 * rng.random(1000), 2**16, True),
        (0.13 + 0.1 * rng.random(1000), 8, False),  # in one cell, but outcomes have different means
        (rng.choice([0.2, 0.3], 1000), 2**16, False),
    ):
        a = rainproof.assess(rainproof.Sample(y, p).compress(grid), measures=[])
        assert a.evidence.constant == constant
        assert ("for every case" in a.verdict.headline) == constant


@pytest.mark.filterwarnings("ignore::rainproof.RainproofWarning")
def test_skill_is_in_its_interval():
    y = np.tile([0, 0, 0, 1, 1], 5)
    skill = rainproof.assess(y, y * 1.0, measures=[]).evidence.skill
    assert (skill.value, skill.high) == (1.0, 1.0)


@pytest.mark.filterwarnings("ignore::rainproof.FewRowsWarning")
def test_a_skill_of_one_group_has_no_interval():
    rng = np.random.default_rng(3)
    p = rng.random(100)
    a = rainproof.assess(rng.random(100) < p, p, groups=np.zeros(100), measures=[])
    assert "(no interval: all weight is on one group or row)" in a.verdict.reason
    assert "inf" not in f"{a.verdict} {a.verdict.details} {a.verdict.answers}"


@pytest.mark.filterwarnings("ignore::rainproof.OneClassWarning")
def test_no_map_of_segments_is_named_where_there_is_one_outcome():
    rng = np.random.default_rng(4)
    a = rainproof.assess(np.zeros(400), rng.random(400), by=rng.integers(0, 2, 400), measures=[])
    assert next(s.text for s in a.verdict.sentences if s.about == "segments").endswith(
        "happens 0%."
    )
