"""A timeline merges what its windows say, and marks the changes that the test finds."""

from __future__ import annotations

import json
from itertools import product

import numpy as np
import pytest

import rainproof
from rainproof.inference import sequential as bets
from rainproof.inference.monitoring import _sliding
from rainproof.inference.sequential import Detector


def days(n_days=12, n=150, change=None, seed=0):
    rng = np.random.default_rng(seed)
    out = {}
    for day in range(n_days):
        p = rng.random(n)
        q = p if change is None or day < change else p**3
        out[f"2026-03-{day + 1:02}"] = rainproof.Sample(rng.random(n) < q, p).compress(1024)
    return out


@pytest.mark.parametrize("length", [1, 2, 3, 5, 12, 40])
def test_windows_are_the_merged_periods(length):
    samples = list(days(n=20).values())
    for last, merged in enumerate(_sliding(samples, length)):
        first, *others = samples[max(0, last + 1 - length) : last + 1]
        for other in others:
            first = first + other
        for name in ("slot", "count", "weight", "rise"):
            np.testing.assert_array_equal(getattr(merged._cells, name), getattr(first._cells, name))


def test_each_line_is_what_its_rows_say():
    samples = days(4)
    first, second, third, _ = samples.values()
    line = rainproof.monitor(samples, window=2, confidence_level=0.9).windows[2]
    promise = rainproof.guarantee(first + second + third, confidence_level=0.9, anytime=True)
    assert line.label == "2026-03-03"
    assert (line.n, line.event_rate) == (300, (second + third).event_rate)
    assert line.value == rainproof.soft_binned_cdl(second + third)
    assert (line.bound, line.grid) == (promise.bound, promise.grid)
    test = rainproof.SequentialTest()
    for sample in (first, second, third):
        test.update(sample)
    assert line.e_value == pytest.approx(test.e_value)


def slow_detector(factors, alpha):
    """The definition: for each bet the largest product since any start; alarms, starts and bets."""
    alarms, first = [], 0
    for t in range(len(factors)):
        since = [np.exp(np.sum(factors[j : t + 1], axis=0)) for j in range(first, t + 1)]
        total = np.max(since, axis=0)
        if total.mean() >= 1 / alpha:
            alarms.append((t, first + int(np.argmax([one.sum() for one in since])), int(total.argmax())))
            first = t + 1
    return alarms


@pytest.mark.parametrize("independent", [False, True])
def test_alarms_are_those_of_the_definition(independent):
    samples = days(24, n=60, change=8, seed=3)
    one = bets.independent_bets if independent else bets.batch_bets
    expected = slow_detector([one(sample) for sample in samples.values()], 0.2)
    detector, found = Detector(0.2), []
    for t, sample in enumerate(samples.values()):
        alarm = detector.update(one(sample))
        if alarm is not None:
            found.append((t, t + 1 - alarm[1], alarm[2]))
    assert found == expected
    assert found
    line = rainproof.monitor(samples, alpha=0.2, independent_rows=independent)
    assert (line.changes[0].alarm_index, line.changes[0].index) == expected[0][:2]
    assert line.changes[0].bet == bets.bet(expected[0][2])
    assert sum(change.alarms for change in line.changes) == len(expected)


def test_where_nothing_is_won_there_is_no_alarm_however_long_it_takes():
    """Predictions of 1 that always come true, and of 1/2 that are right every other time."""
    for y, p in (([1, 1], [1.0, 1.0]), ([0, 1], [0.5, 0.5])):
        sample = rainproof.Sample(y, p).compress(64)
        line = rainproof.monitor([(str(day), sample) for day in range(60)], alpha=0.05)
        assert line.changes == ()
        assert line.windows[-1].evidence == pytest.approx(1)


def test_alarms_in_a_row_are_one_change_and_the_guarantee_starts_anew():
    line = rainproof.monitor(days(14, change=6, n=400), independent_rows=True)
    (change,) = line.changes
    assert (change.label, change.alarm, change.last_alarm) == ("2026-03-07", "2026-03-07", "2026-03-14")
    assert change.alarms == 8
    assert line.windows[7].bound == rainproof.guarantee(list(days(14, change=6, n=400).values())[7], anytime=True).bound
    far = {**days(2, change=0, n=400), **{f"x{k}": sample for k, sample in enumerate(days(12, n=60, seed=9).values())}}
    far |= {f"y{k}": sample for k, sample in enumerate(days(2, change=0, n=400).values())}
    assert [c.label for c in rainproof.monitor(far, alpha=0.1, independent_rows=True).changes] == ["2026-03-01", "y0"]


def test_no_bet_on_independent_rows_gains_in_expectation():
    """All outcomes of five rows, by their probabilities; two rows share a cell, where the bound is not tight."""
    p = np.array([0.02, 0.251, 0.26, 0.9, 1.0])
    total = np.zeros(bets.COUNT)
    for y in product((0, 1), repeat=5):
        chance = np.prod(np.where(y, p, 1 - p))
        if chance:
            total += chance * np.exp(bets.independent_bets(rainproof.Sample(np.array(y), p).compress(256)))
    assert total.max() <= 1 + 1e-12
    assert total.min() > 0.98
    single = rainproof.Sample([1], [0.26]).compress(256)
    shifts = [k for k in range(bets.COUNT) if bets.bet(k).slope == 1]
    expected = bets.row_bets(np.array([0.26]), np.ones(1))[0]
    np.testing.assert_allclose(bets.independent_bets(single)[shifts], expected[shifts], rtol=1e-9, atol=1e-12)


def test_one_storm_is_no_change():
    """One day on which everything happens, whatever was predicted: dependent rows, a single batch."""
    rng = np.random.default_rng(4)
    samples = {}
    for day in range(30):
        p = rng.beta(2, 8, 200)
        samples[f"{day:02}"] = rainproof.Sample(np.ones(200, int) if day == 15 else rng.random(200) < p, p).compress(
            1024
        )
    assert rainproof.monitor(samples).changes == ()
    assert rainproof.monitor(samples, independent_rows=True).changes != ()  # as if the storm were 200 surprises


def test_unequal_weights_have_no_guarantee():
    rng = np.random.default_rng(0)
    p = rng.random(50)
    sample = rainproof.Sample(rng.random(50) < p, p, sample_weight=1 + p).compress(64)
    line = rainproof.monitor({"a": sample})
    assert (line.windows[0].bound, line.windows[0].grid) == (None, None)
    assert " - " in str(line)
    with pytest.raises(rainproof.InputError, match="unequal weights, as in a"):
        rainproof.monitor({"a": sample}, independent_rows=True)


def test_it_prints_a_table_with_the_alarms_in_it():
    text = str(rainproof.monitor(days(8, change=4, n=300), independent_rows=True))
    head, *lines = text.splitlines()
    assert head.split() == ["period", "rows", "SCDL", "loss", "at", "most", "evidence"]
    assert lines[4].startswith("2026-03-05")
    assert lines[4].endswith(" alarm")
    assert lines[5].split()[:3] == ["since", "about", "2026-03-05:"]
    assert len(lines) == 9


def test_the_result_is_small_and_ready_for_json():
    line = rainproof.monitor(days(3, change=1, n=400), independent_rows=True)
    assert repr(line) == "MonitoringResult(length=1, confidence_level=0.95, alpha=0.01, independent_rows=True)"
    told = json.loads(json.dumps(line.to_dict(), allow_nan=False))
    assert (told["length"], told["alpha"], told["independent_rows"]) == (1, 0.01, True)
    assert told["windows"][0]["evidence"] == line.windows[0].evidence
    assert told["changes"][0]["index"] == 1
    assert set(told["changes"][0]["bet"]) == {"slope", "shift", "low", "high"}


def test_progress_is_told():
    calls = []
    rainproof.monitor(days(3), progress=lambda done, total: calls.append((done, total)))
    assert calls == [(1, 3), (2, 3), (3, 3)]


def test_refusals():
    for wrong in (0, True, "a"):
        message = f"window must be a whole number of periods, at least 1; it is {wrong!r}"
        with pytest.raises(rainproof.InputError, match=message):
            rainproof.monitor(days(2), window=wrong)
    with pytest.raises(rainproof.InputError, match="samples must not be empty"):
        rainproof.monitor({})
    with pytest.raises(rainproof.InputError, match="alpha must be"):
        rainproof.monitor(days(1), alpha=0)
    with pytest.raises(rainproof.InputError, match="independent_rows must be True or False"):
        rainproof.monitor(days(1), independent_rows="yes")


def test_alarms_belong_together_up_to_the_mean_time_to_a_false_one():
    """At alpha = 1/4 that is four periods: an alarm after four belongs to the change before, one after five not."""
    good, bad = (rainproof.Sample([1] * k + [0] * (40 - k), [0.25] * 40).compress(64) for k in (10, 40))
    for apart, expected in ((4, [2]), (5, [1, 1])):
        line = rainproof.monitor(
            [(str(day), bad if day in (0, apart) else good) for day in range(apart + 2)],
            alpha=0.25,
            independent_rows=True,
        )
        assert [change.alarms for change in line.changes] == expected


def test_the_detector_raises_an_alarm_where_it_reaches_the_limit():
    for alpha in (0.25, 0.01):
        exactly = np.full(bets.COUNT, -np.log(alpha))
        assert Detector(alpha).update(exactly)[0] == pytest.approx(1 / alpha)
        assert Detector(alpha).update(exactly - 1e-12) is None
