"""Segments: rows put where their labels say, small ones not judged, chance allowed for."""

from __future__ import annotations

import json

import numpy as np
import pytest
from helpers.cases import for_each

import rainproof
from rainproof.core.segments import Segments
from rainproof.verdict.calibration import grouped_test

FAST = {"rng": 0, "measures": [], "n_resamples": 199}


def rows(n=3000, seed=0):
    rng = np.random.default_rng(seed)
    p = rng.random(n)
    return rng, p, rng.random(n) < p


def test_every_segment_is_the_sample_of_its_rows():
    rng, p, y = rows()
    by, w = rng.choice(["a", "b"], 3000), rng.random(3000)
    found = rainproof.assess(y, p, sample_weight=w, by=by, **FAST).segments
    assert found.by == ("segment",)
    assert [s.label for s in found.rows] == ["a", "b"]
    for segment in found.rows:
        at = by == segment.label
        own = rainproof.Sample(y[at], p[at], sample_weight=w[at])
        assert (segment.n, segment.event_rate) == (own.n, own.event_rate)
        assert segment.value == rainproof.soft_binned_cdl(own)
        assert segment.share == pytest.approx(w[at].sum() / w.sum())
    assert sum(s.share for s in found.rows) == pytest.approx(1)


def test_costs_of_a_segment_are_those_of_its_rows():
    """A false alarm costs 1, a miss 3; without a forecast there are two rules."""
    rng, p, y = rows(600)
    by, w = rng.choice(["a", "b", "c"], 600, p=[0.9, 0.09, 0.01]), rng.random(600)
    task = rainproof.DecisionTask.from_costs(false_positive=1, false_negative=3)
    found = rainproof.assess(y, p, sample_weight=w, by=by, task=task, **FAST).segments
    for segment in found.rows:
        at = by == segment.label
        cost = [np.where(acts, 1.0 * ~y, 3.0 * y) for acts in (p >= 0.25, True, False)]
        forecast, always, never = (np.average(c[at], weights=w[at]) for c in cost)
        assert segment.cost == pytest.approx(forecast)
        assert segment.cost_without == pytest.approx(min(always, never))
    quadratic = rainproof.assess(
        y, p, by=by, task=rainproof.DecisionTask.quadratic(), **FAST
    ).segments
    assert {(s.cost, s.cost_without) for s in quadratic.rows} == {(None, None)}


def test_several_columns_have_names_and_missing_labels_are_a_segment():
    _, p, y = rows(400)
    month = np.where(np.arange(400) % 2, 1.0, np.nan)
    found = rainproof.assess(
        y, p, by={"region": ["n"] * 200 + ["s"] * 200, "month": month}, **FAST
    ).segments
    assert found.by == ("region", "month")
    assert {s.label for s in found.rows} == {"n / 1.0", "n / None", "s / 1.0", "s / None"}
    assert all(s.n == 100 for s in found.rows)


def test_rows_of_weight_zero_are_in_no_segment():
    _, p, y = rows(300)
    found = rainproof.assess(
        y, p, sample_weight=[1.0] * 200 + [0.0] * 100, by=["a"] * 200 + ["b"] * 100, **FAST
    )
    assert [s.label for s in found.segments.rows] == ["a"]


def test_segments_given_as_samples():
    _, p, y = rows(600)
    parts = {
        "a": rainproof.Sample(y[:300], p[:300]).compress(),
        "b": rainproof.Sample(y[300:], p[300:]).compress(),
    }
    found = rainproof.assess(Segments.from_samples(parts, ["region"]), **FAST)
    assert found.summary.n == 600
    assert found.segments.by == ("region",)
    assert found.profile.value == rainproof.soft_binned_cdl(rainproof.Sample(y, p).compress())


def test_one_bad_segment_among_forty_is_flagged_and_small_ones_are_not_judged():
    """199 draws alone could not: the smallest p-value of 1/200 times 40 is above 0.05."""
    rng, p, y = rows(8000, seed=4)
    by = np.arange(8000) % 40
    y = np.where(by == 7, rng.random(8000) < 1 - p, y)
    by = np.where(np.arange(8000) < 30, -1, by)
    a = rainproof.assess(y, p, by=by, **(FAST | {"rng": 1}))
    assert [s.label for s in a.segments.flagged] == ["7"]
    (small,) = [s for s in a.segments.rows if s.small]
    assert (small.label, small.n, small.p_value, small.q_value) == ("-1", 30, None, None)
    assert small.status == "too few rows to be tested"
    assert a.segments.small == 1
    (said,) = [s.text for s in a.verdict.sentences if s.about == "segments"]
    assert said == (
        "1 of 40 segments (segment) is off beyond chance (false discovery rate 5%), most 7: "
        "says 49%, happens 46%. If it were recalibrated, 1 of 40 segments (segment) would still "
        "be off: 7 (predicted 49% on average, observed 46%). 1 segment has too few rows to be "
        "tested. To fit a map of its own to each that gains by it: Recalibrator().fit(p, y, "
        "by=...)."
    )
    assert repr(a.segments) == "SegmentTable(41 segments, 1 flagged, 1 small)"


def test_q_values_are_benjamini_and_hochbergs():
    rng, p, y = rows(2000, seed=5)
    found = rainproof.assess(y, p, by=rng.integers(0, 8, 2000), **FAST).segments
    p_values = np.sort([s.p_value for s in found.rows])
    for s in found.rows:
        ratios = [len(p_values) * x / (k + 1) for k, x in enumerate(p_values) if x >= s.p_value]
        assert s.q_value == pytest.approx(min([1.0, *ratios]))
        assert s.flagged == (s.q_value <= 0.05)
        assert s.status == (
            "miscalibrated beyond chance" if s.flagged else "no sign of miscalibration"
        )


def test_nothing_large_enough():
    _, p, y = rows(150)
    a = rainproof.assess(y, p, by=np.arange(150) % 3, **FAST)
    assert a.segments.flagged == ()
    assert "3 segments have too few rows to be tested." in [s.text for s in a.verdict.sentences]
    assert json.loads(json.dumps(a.segments.to_dict())) == a.segments.to_dict()


def test_the_largest_are_kept_by_p_value_and_shown_by_value():
    rng, p, y = rows(2000, seed=6)
    found = rainproof.assess(y, p, by=np.r_[rng.integers(0, 6, 1950), [9] * 50], **FAST).segments
    three = found.first(3)
    kept = sorted((s for s in found.rows if not s.small), key=lambda s: (s.p_value, -s.value))[:3]
    assert {s.label for s in three} == {s.label for s in kept}
    assert [s.value for s in three] == sorted((s.value for s in three), reverse=True)
    assert found.first(100)[-1].label == "9"


def test_shares_of_the_event_have_segments_too():
    """A row is one draw: its two parts count once, and the p-value is that of whole rows."""
    rng, p, _ = rows(1200, seed=7)
    by = np.repeat(["calm", "off", "few"], [600, 550, 50])
    share = np.clip(np.where(by == "off", p**3, p) + rng.normal(0, 0.1, 1200), 0, 1).round(2)
    sample = rainproof.Sample(share, p, fractional=True, by={"kind": by})
    a = rainproof.assess(
        sample, task=rainproof.DecisionTask.from_costs(false_positive=1, false_negative=2), **FAST
    )
    found = {s.label: s for s in a.segments.rows}
    assert {name: s.n for name, s in found.items()} == {"calm": 600, "off": 550, "few": 50}
    assert [s.label for s in a.segments.flagged] == ["off"]
    assert found["few"].small
    assert (found["few"].p_value, found["few"].loss) == (None, None)
    for name in ("calm", "off"):
        own, s = rainproof.Sample(share[by == name], p[by == name], fractional=True), found[name]
        assert s.event_rate == pytest.approx(share[by == name].mean())
        assert s.value == rainproof.soft_binned_cdl(own)
        assert s.p_value == pytest.approx(grouped_test(own), rel=1e-9, abs=0)
        assert s.loss_bound == pytest.approx(rainproof.guarantee(own, response="as_is").bound)
        assert s.cost < 1
    assert found["off"].q_value == pytest.approx(2 * found["off"].p_value)
    assert json.loads(json.dumps(a.to_dict()))["segments"]["rows"][0]["label"] == "calm"
    assert ">off<" in a.to_html()
    again = rainproof.assess(rainproof.Sample(share, p, fractional=True), by={"kind": by}, **FAST)
    assert [s.p_value for s in again.segments.rows] == [s.p_value for s in a.segments.rows]


def clustered(seed, *, clusters=120, size=10, segments=3):
    """Calibrated predictions whose outcomes share one coin in each cluster; a cluster is in one
    segment.
    """
    rng = np.random.default_rng(seed)
    cluster = np.repeat(np.arange(clusters), size)
    p = rng.beta(2, 4, clusters)[cluster]
    y = rng.random(clusters)[cluster] < p
    return y, p, cluster, cluster % segments


def test_calibrated_segments_of_clustered_rows_are_seldom_flagged():
    """Rows of a cluster share one coin: taken as independent, some segment was flagged in every
    sample.
    """
    found = []
    for seed in range(40):
        y, p, cluster, by = clustered(seed, clusters=300, size=6)
        found.append(
            len(rainproof.assess(y, p, groups=cluster, by=by, **FAST).segments.flagged) > 0
        )
    assert sum(found) <= 5


def test_segments_get_the_test_and_the_bound_of_their_own_clusters():
    y, p, cluster, by = clustered(1, clusters=240)
    a = rainproof.assess(y, p, groups=cluster, by=by, **FAST)
    for k, segment in enumerate(a.segments.rows):
        own = rainproof.Sample(y[by == k], p[by == k], groups=cluster[by == k])
        assert (segment.n, segment.groups) == (800, 80)
        assert segment.p_value == pytest.approx(grouped_test(own), rel=1e-9)
        assert segment.loss_bound == pytest.approx(rainproof.guarantee(own, response="as_is").bound)
    assert "independent" not in " ".join(
        s.text for s in a.verdict.sentences if s.about == "segments"
    )
    again = rainproof.assess(rainproof.Sample(y, p, by=by).by_segment(), groups=cluster, **FAST)
    assert [s.p_value for s in again.segments.rows] == [s.p_value for s in a.segments.rows]


def test_the_largest_weight_holds_for_the_bounds_of_segments():
    y, p, cluster, by = clustered(2)
    stated = rainproof.assess(y, p, groups=cluster, by=by, max_weight=20, **FAST).segments.rows[0]
    at = by == 0
    own = rainproof.Sample(y[at], p[at], groups=cluster[at])
    assert stated.loss_bound == pytest.approx(
        rainproof.guarantee(own, response="as_is", max_weight=20).bound
    )


def test_a_miscalibrated_segment_of_clustered_rows_is_flagged():
    y, p, cluster, by = clustered(3, clusters=600)
    said = np.where(by == 1, np.minimum(p + 0.25, 1), p)
    found = rainproof.assess(y, said, groups=cluster, by=by, **FAST).segments
    assert [s.label for s in found.flagged] == ["1"]


def test_clusters_that_have_one_row_in_each_segment_are_none_there():
    """Each day is in every city once: rows of a city are independent, and get the exact test, which
    finds any error.
    """
    rng, p, _ = rows(1800, seed=8)
    day, city = np.arange(1800) // 3, np.arange(1800) % 3
    rate = np.where(city == 2, np.clip(p + 0.3 * np.sin(10 * np.pi * p), 0, 1), p)
    y = rng.random(1800) < rate
    found = rainproof.assess(y, p, groups=day, by=city, **FAST).segments
    assert [s.groups for s in found.rows] == [None, None, None]
    assert [s.label for s in found.flagged] == ["2"]
    for k, segment in enumerate(found.rows):
        own = rainproof.Sample(y[city == k], p[city == k], groups=day[city == k])
        assert segment.p_value != pytest.approx(grouped_test(own))


def test_segments_with_few_clusters_are_named():
    y, p, cluster, by = clustered(4, clusters=90)
    a = rainproof.assess(y, p, groups=cluster, by=by, **FAST)
    few = min(a.segments.rows, key=lambda s: s.effective_clusters)
    assert few.by_bets
    assert few.effective_clusters < 20
    assert few.status == (
        f"too few clusters to tell: events in only {few.effective_clusters:.0f} effective clusters"
    )
    (said,) = [s.text for s in a.verdict.sentences if s.about == "segments"]
    assert (
        "segments have too few clusters to tell anything but a very large difference: "
        f"{few.label} has"
    ) in said


def test_shares_in_segments_that_are_all_small():
    _, p, _ = rows(120)
    by = ["a"] * 60 + ["b"] * 60
    found = rainproof.assess(
        rainproof.Sample(p.round(1), p, fractional=True, by=by), **FAST
    ).segments
    assert (found.rows[0].small, found.rows[0].q_value) == (True, None)


@for_each(
    "by, message",
    [
        (["a"] * 3, r"by must hold one label for each of the 150 rows; its shape is \(3,\)"),
        (
            {"x": [["a"] * 150]},
            r"by\['x'\] must hold one label for each of the 150 rows; its shape is \(1, 150\)",
        ),
    ],
)
def test_labels_that_do_not_fit(by, message):
    _, p, y = rows(150)
    with pytest.raises(rainproof.InputError, match=message):
        rainproof.assess(y, p, by=by, **FAST)


def test_by_is_for_rows():
    _, p, y = rows(150)
    label = ["a"] * 100 + ["b"] * 50
    with pytest.raises(
        rainproof.InputError, match="by needs rows: a compressed sample does not keep"
    ):
        rainproof.assess(rainproof.Sample(y, p).compress(), by=label, **FAST)
    expected = rainproof.assess(y, p, by=label, **FAST).to_dict()
    assert rainproof.assess(rainproof.Sample(y, p), by=label, **FAST).to_dict() == expected
    assert rainproof.assess(rainproof.Sample(y, p, by=label), **FAST).to_dict() == expected
    parts = Segments.from_samples({"a": rainproof.Sample(y, p)}, ["region"])
    with pytest.raises(
        rainproof.InputError, match="Segments hold predictions, weights, labels and names"
    ):
        rainproof.assess(parts, by=["a"] * 150, **FAST)


CITIES = ("Berlin", "Bonn", "Hamburg", "Köln", "Mainz")


def biased(seed, *, exception=None, n=6000, values=None):
    """Predictions that are too high in the same way in five cities, but for one in which they are
    too low.
    """
    rng = np.random.default_rng(seed)
    city = rng.choice(CITIES, n, p=[0.24, 0.24, 0.24, 0.04, 0.24])
    p = rng.beta(2, 3, n) if values is None else rng.choice(values, n)
    rate = np.where(city == exception, np.sqrt(p), p**2)
    return (rng.random(n) < rate).astype(int), p, {"city": city}


def said_of_segments(a):
    return next(s.text for s in a.verdict.sentences if s.about == "segments")


def test_the_segment_that_recalibration_leaves_off_is_named():
    """Four cities share one bias that the map removes."""
    y, p, by = biased(1, exception="Köln")
    a = rainproof.assess(y, p, by=by, **FAST)
    assert a.verdict.grade == "recalibrate"
    assert len(a.segments.flagged) == 5
    assert [s.label for s in a.segments.flagged_recalibrated] == ["Köln"]
    off = next(s for s in a.segments.rows if s.label == "Köln")
    assert off.q_value_recalibrated <= 0.05
    assert off.mean_recalibrated < off.event_rate
    assert off.status == "miscalibrated beyond chance, also after recalibration"
    said = said_of_segments(a)
    assert said.startswith("All 5 segments (city) are off beyond chance")
    assert "After recalibration, 1 of 5 segments (city) is still off: Köln (predicted " in said
    assert "Recalibrator().fit(p, y, by=...)" in said
    assert "q after" in str(a.segments).splitlines()[0]
    assert a.to_dict()["segments"]["rows"][0]["flagged_recalibrated"] is False
    assert "q after recalibration" in a.to_html()


@for_each("values", [None, [0.1, 0.2, 0.35, 0.5, 0.8], [0.3, 0.6]])
def test_a_bias_that_all_segments_share_is_gone_after_recalibration(values):
    """With few distinct predictions, too, where those of different folds differ a little."""
    flagged = 0
    for seed in range(10):
        a = rainproof.assess(
            *biased(seed, n=3000, values=values)[:2],
            by=biased(seed, n=3000, values=values)[2],
            **FAST,
        )
        assert len(a.segments.flagged) >= 4
        assert a.segments.recalibrated
        flagged += len(a.segments.flagged_recalibrated) > 0
    assert flagged <= 2
    if not a.segments.flagged_recalibrated:
        assert "After recalibration, none is off beyond chance." in said_of_segments(a)
        assert "by=..." not in said_of_segments(a)


def test_compressed_segments_are_tested_after_recalibration_as_rows_are():
    y, p, by = biased(1, exception="Köln")
    rows_ = rainproof.assess(y, p, by=by, **FAST).segments
    parts = rainproof.scan({"p": p, "y": y, **by}, by="city")
    cells = rainproof.assess(parts, **FAST).segments
    assert [s.label for s in cells.flagged_recalibrated] == ["Köln"]
    for one, other in zip(rows_.rows, cells.rows, strict=True):
        assert other.mean_recalibrated == pytest.approx(one.mean_recalibrated, abs=0.01)
    total = sum(s.share * s.mean_recalibrated for s in cells.rows)
    assert total == pytest.approx(y.mean(), abs=0.005)


def test_clusters_are_tested_after_recalibration_over_clusters():
    y, p, cluster, by = clustered(6, clusters=900, size=5)
    found = rainproof.assess(y, p**0.5, groups=cluster, by=by, **FAST).segments
    assert len(found.flagged) == 3
    assert found.flagged_recalibrated == ()


def test_where_all_rows_together_are_off_small_segments_are_tested_after_recalibration_too():
    """A bias that no segment by itself has enough rows to show."""
    rng, p, _ = rows(6000, seed=2)
    y = rng.random(6000) < p**1.1
    a = rainproof.assess(y, p, by=np.arange(6000) % 50, **FAST)
    assert a.segments.small == 0
    assert a.evidence.calibration.rejected
    assert a.segments.flagged == ()
    assert a.segments.recalibrated
    assert all(s.p_value_recalibrated is not None for s in a.segments.rows)


def test_nothing_is_recalibrated_where_nothing_is_off():
    rng, p, y = rows(1200, seed=3)
    a = rainproof.assess(y, p, by=rng.integers(0, 3, 1200), **FAST)
    assert not a.evidence.calibration.rejected
    assert not a.segments.recalibrated
    assert {
        (s.flagged_recalibrated, s.p_value_recalibrated, s.mean_recalibrated)
        for s in a.segments.rows
    } == {(None, None, None)}
    assert "recalibration" not in said_of_segments(a)
    assert "q after" not in str(a.segments)


def test_recalibration_is_conditional_where_the_grade_does_not_advise_it():
    """Two halves are off against each other, all rows together are not: a map for all corrects
    neither.
    """
    rng = np.random.default_rng(5)
    half = np.arange(4000) % 2
    p = rng.uniform(0.2, 0.8, 4000)
    y = rng.random(4000) < p + np.where(half, 0.1, -0.1)
    a = rainproof.assess(y, p, by=half, **FAST)
    assert a.verdict.grade == "use"
    said = said_of_segments(a)
    assert "If it were recalibrated, all 2 segments (segment) would still be off: " in said
    assert "After recalibration" not in said
