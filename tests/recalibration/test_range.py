"""A map certified for the decisions of a range of thresholds."""

from __future__ import annotations

import json

import numpy as np
import pytest

import rainproof


def rows(n=6000, seed=0):
    """Calibrated up to 1/2, and far too high above."""
    rng = np.random.default_rng(seed)
    p = rng.random(n)
    return p, (rng.random(n) < np.where(p > 0.5, 0.5, p)).astype(int)


def test_the_certificate_is_about_the_decisions_of_the_range():
    p, y = rows()
    everywhere, low, high = (
        rainproof.Recalibrator(threshold_range=some).fit(p, y)
        for some in (None, (0.05, 0.2), (0.6, 0.9))
    )
    assert low.map_.to_dict() == everywhere.map_.to_dict()
    assert everywhere.certificate_.gain_at_least > 0.03
    assert high.certificate_.gain_at_least > 0.03
    assert low.certificate_.gain_at_least == 0
    assert low.certificate_.harm_bound < everywhere.certificate_.harm_bound
    assert low.certificate_.loss_bound < everywhere.certificate_.loss_bound
    assert low.certificate_.gain <= everywhere.certificate_.gain
    said = " ".join(str(low).split())
    assert "No decision with a threshold between 5% and 20% loses more than" in said
    assert (
        "do not prove a gain in any decision with a threshold between 5% and 20%, which is not "
        "to say"
    ) in said
    assert "in any decision with a threshold between 5% and 20%, compared with" in said


def test_the_whole_range_changes_nothing():
    p, y = rows(3000)
    whole = rainproof.Recalibrator(threshold_range=(0, 1)).fit(p, y)
    assert whole.to_dict() == rainproof.Recalibrator().fit(p, y).to_dict()


def test_segments_have_maps_where_decisions_of_the_range_gain():
    p, y = rows(12000, 1)
    by = np.where(np.arange(12000) % 2, "right", "wrong")
    y = np.where(by == "wrong", y, (np.random.default_rng(2).random(12000) < p).astype(int))
    found = rainproof.Recalibrator("none", threshold_range=(0.05, 0.3)).fit(p, y, by=by)
    assert not any(segment.corrected for segment in found.segments_)
    found = rainproof.Recalibrator("none", threshold_range=(0.6, 0.9)).fit(p, y, by=by)
    assert [segment.segment for segment in found.segments_ if segment.corrected] == ["wrong"]
    assert (
        "shares of what is at stake in decisions with a threshold between 60% and 90%"
        in " ".join(str(found).split())
    )


def test_a_range_is_stored_and_a_broken_one_is_refused(tmp_path):
    p, y = rows(3000)
    found = rainproof.Recalibrator(threshold_range=0.1).fit(p, y)
    found.save(tmp_path / "map.json")
    again = rainproof.load(tmp_path / "map.json")
    assert again.threshold_range == (0.1, 0.1)
    assert again.certificate_ == found.certificate_
    assert again.to_dict() == found.to_dict()
    data = json.loads((tmp_path / "map.json").read_text())
    from rainproof.core.documents import document

    for bad in ({"low": 0.5, "high": 0.1}, {"low": 0.1}, "10%", [0.1, 0.2]):
        content = {
            key: value for key, value in data.items() if key not in ("format", "version", "digest")
        }
        broken = document("recalibrator", 1, {**content, "threshold_range": bad})
        with pytest.raises(rainproof.InputError, match="threshold_range"):
            rainproof.Recalibrator.from_dict(broken)


def test_a_range_that_is_none_is_refused_when_fitted():
    with pytest.raises(
        rainproof.InputError, match="threshold_range must be a number above 0 and below 1"
    ):
        rainproof.Recalibrator(threshold_range=(0.2, 0.1)).fit(*rows(100))


def test_several_classes_have_no_range():
    shares = np.full((60, 3), 1 / 3)
    with pytest.raises(
        rainproof.InputError, match="threshold_range is for one event: not for several classes"
    ):
        rainproof.Recalibrator(threshold_range=0.2).fit(shares, np.arange(60) % 3)
