"""An assessment for the decisions of a range of thresholds: what it is about, and what it says."""

from __future__ import annotations

import json

import numpy as np
import pytest

import rainproof
from rainproof.cli import main


def rows(n=4000, seed=0):
    """Calibrated up to 0.3, and above far too extreme."""
    rng = np.random.default_rng(seed)
    p = rng.random(n) ** 2
    return (rng.random(n) < np.where(p > 0.3, 0.3 + (p - 0.3) / 2, p)).astype(int), p


@pytest.fixture(scope="module")
def found():
    y, p = rows()
    ranges = {"every": None, "low": (0.05, 0.2), "high": (0.4, 0.6), "one": 0.2}
    return {name: rainproof.assess(y, p, threshold_range=some) for name, some in ranges.items()}


def test_the_verdict_is_about_the_decisions_of_the_range(found):
    assert found["every"].verdict.grade == found["high"].verdict.grade == "recalibrate"
    assert found["low"].verdict.grade == "use"
    assert (
        found["low"].evidence.gain.share.high
        < 0.01
        < 0.015
        < found["high"].evidence.gain.share.value
    )
    assert 0.4 <= found["high"].evidence.gain.threshold <= 0.6


def test_everything_is_that_of_the_function_with_the_range(found):
    y, p = rows()
    a = found["low"]
    assert a.guarantee == rainproof.guarantee(y, p, response="as_is", threshold_range=(0.05, 0.2))
    assert a.guarantee.bound < found["every"].guarantee.bound / 2
    assert a.rounded_guarantee.bound < found["every"].rounded_guarantee.bound / 2
    assert (
        a.regret.loss
        == rainproof.regret_curve(y, p, grid=a.shown_grid, threshold_range=(0.05, 0.2)).loss
    )
    assert a.recalibrator.certificate_.threshold_range == (0.05, 0.2)
    assert a.value.threshold[[0, -1]].tolist() == [0.05, 0.2]
    assert a.worth.threshold_range == (0.05, 0.2)
    assert 0.05 <= a.worth.relative_threshold <= 0.2
    at = [advice.threshold for advice in a.advice]
    assert (at[0], at[-1]) == (0.05, 0.2)
    assert a.null_band.thresholds.tolist() == at
    assert [advice.threshold for advice in found["one"].advice] == [0.2]


def test_skill_is_at_the_threshold_of_the_range_next_to_the_event_rate(found):
    y, p = rows()
    by_task = rainproof.assess(y, p, task=rainproof.DecisionTask.threshold(0.2))
    assert found["low"].evidence.skill == by_task.evidence.skill
    assert found["low"].evidence.skill_as_is == by_task.evidence.skill_as_is


def test_rare_events_that_are_far_off_are_not_called_good_enough():
    rng = np.random.default_rng(3)
    for _ in range(3):
        q = np.minimum(rng.lognormal(-5, 0.9, 20_000), 0.4)
        found = rainproof.assess(rng.random(20_000) < q, 2 * q, threshold_range=(0.01, 0.05))
        assert found.verdict.grade == "recalibrate"


def test_what_it_says_names_the_decisions(found):
    text = " ".join(f"{found['low']} {found['low'].verdict.details}".split())
    assert text.startswith("For decisions with a threshold between 5% and 20%: use them. They are")
    for words in (
        "at stake in any decision with a threshold between 5% and 20% (95% confidence)",
        "act from your own threshold on, between 5% and 20%.",
        "these decisions lose at most",
        "Losses are shares of what is at stake in decisions with a threshold between 5% and "
        "20%, proven",
        "the expected loss of every decision with a threshold between 5% and 20%, whatever its "
        "costs,",
        "the expected loss of these decisions is at most",
        "in the yes-or-no decision with a threshold between 5% and 20% that gains most",
    ):
        assert words in text
    one = " ".join(str(found["one"]).split())
    assert one.startswith("For decisions with the threshold 20%: use them.")
    assert "act from 20% on." in one
    high = " ".join(str(found["high"]).split())
    assert (
        "In the decision with a threshold between 40% and 60% that gains most, recalibrating "
        "gains about"
    ) in high
    page = found["low"].to_html()
    assert "of what is at stake in any decision with a threshold between 5% and 20%, acting" in page
    assert "there is a decision with a threshold between 5% and 20% for which this forecast" in page


def test_the_whole_range_changes_nothing():
    y, p = rows(600)
    assert (
        rainproof.assess(y, p, threshold_range=(0, 1)).to_dict() == rainproof.assess(y, p).to_dict()
    )


def test_a_task_must_have_its_thresholds_in_the_range():
    y, p = rows(300)
    task = rainproof.DecisionTask.threshold(0.3)
    with pytest.raises(
        rainproof.InputError,
        match=r"threshold_range must contain the threshold of task, 0.3; it is",
    ):
        rainproof.assess(y, p, task=task, threshold_range=(0.05, 0.2))
    assert rainproof.assess(y, p, task=task, threshold_range=(0.05, 0.3)).task is not None
    with pytest.raises(rainproof.InputError, match="threshold_range must be a number above 0"):
        rainproof.assess(y, p, threshold_range="5%")


def test_several_forecasts_are_compared_in_the_range():
    y, p = rows(20_000)
    forecasts = {"a": p, "b": np.where(p > 0.3, 0.3 + (p - 0.3) / 2, p)}
    high, low = (
        rainproof.assess_many(y, forecasts, threshold_range=some)
        for some in ((0.4, 0.6), (0.05, 0.2))
    )
    assert high.best == "b"
    assert low.best is None
    assert low.pairs[0].to_b.threshold_range == (0.05, 0.2)
    assert high.headline == (
        "Take b: a switch to it gains more in one decision with a threshold between 40% and 60% "
        "than it loses in any."
    )
    said = " ".join(str(low).split())
    assert (
        "there is a decision with a threshold between 5% and 20% that gains at least, and none "
        "that loses"
    ) in said
    assert (
        "(the cost averaged over all thresholds, also those outside the range) is the least" in said
    )


def test_segments_and_the_command_line(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    y, p = rows(3000)
    by = np.where(np.arange(3000) % 2, "odd", "even")
    lines = "\n".join(f"{a:.6f},{b},{c}" for a, b, c in zip(p, y, by, strict=True))
    (tmp_path / "rows.csv").write_text(f"p,y,side\n{lines}\n")
    assert (
        main(["assess", "rows.csv", "--by", "side", "--threshold-range", "40%,60%", "--json"]) == 0
    )
    told = json.loads(capsys.readouterr().out)
    for part in (told["guarantee"], told["regret"], told["recalibration"]["certificate"]):
        assert part["threshold_range"] == {"low": 0.4, "high": 0.6}
    q = np.round(p, 6)
    bounds = {
        side: rainproof.guarantee(
            y[by == side], q[by == side], response="as_is", threshold_range=(0.4, 0.6)
        ).bound
        for side in ("odd", "even")
    }
    assert {s["label"]: s["loss_bound"] for s in told["segments"]["rows"]} == pytest.approx(bounds)
    assert "--threshold-range 0.4,0.6" in told["verdict"]["commands"][0]


def test_several_classes_have_no_range():
    shares = np.full((60, 3), 1 / 3)
    with pytest.raises(
        rainproof.InputError, match="threshold_range is for one event: not for several classes"
    ):
        rainproof.assess(np.arange(60) % 3, shares, threshold_range=0.2)
