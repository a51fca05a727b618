"""`monitor`: the state now, the history, what is off in plain words, from rows or from what was
stored.
"""

from __future__ import annotations

import json
import math
from itertools import product

import numpy as np
import pytest
from helpers.cases import for_each

import rainproof
from rainproof.inference.bets import COUNT, RangeSums, bet
from rainproof.inference.detector import Detector, periods_to_alarm
from rainproof.inference.monitoring import _sliding


def shifted(rng, n=400, shift=0.0, low=2, high=5):
    """Rows whose log odds are off by a shift."""
    p = rng.beta(low, high, n)
    odds = np.log(p) - np.log1p(-p) + shift
    return rng.random(n) < 1 / (1 + np.exp(-odds)), p


def days(shifts, n=400, seed=0):
    """A sample for each day, with rows."""
    rng = np.random.default_rng(seed)
    return {
        f"2026-{1 + k // 28:02}-{1 + k % 28:02}": rainproof.Sample(*shifted(rng, n, s))
        for k, s in enumerate(shifts)
    }


CHANGED = [0.0] * 12 + [0.8] * 6 + [0.0] * 6


@for_each("length", [1, 2, 3, 5, 12, 40])
def test_windows_are_the_merged_periods(length):
    samples = [sample.compress(1024) for sample in days([0] * 12, n=20).values()]
    for last, merged in enumerate(_sliding(samples, length)):
        first, *others = samples[max(0, last + 1 - length) : last + 1]
        for other in others:
            first = first + other
        for name in ("slot", "count", "weight", "rise"):
            np.testing.assert_array_equal(getattr(merged.cells, name), getattr(first.cells, name))


def test_each_line_is_what_its_rows_say():
    samples = days([0, 0.1, 0.1, 0], n=200)
    first, second, third, _ = (sample.compress() for sample in samples.values())
    task = rainproof.DecisionTask.from_costs(false_positive=1, false_negative=4)
    line = rainproof.monitor(samples, window=2, confidence_level=0.9, task=task).windows[2]
    merged = second + third
    found = rainproof.guarantee(merged, confidence_level=0.9)
    assert (line.label, line.n, line.in_alarm) == ("2026-01-03", 400, False)
    assert (line.mean_prediction, line.event_rate) == (merged.mean_prediction, merged.event_rate)
    assert (line.value, line.bound, line.grid) == (found.plug_in, found.bound, found.grid)
    y, p = (
        np.concatenate([getattr(s, name) for s in list(samples.values())[1:3]])
        for name in ("y_true", "y_prob")
    )
    assert line.cost == pytest.approx(np.mean(np.where(p > 0.2, y == 0, 4 * y)))
    test = rainproof.SequentialTest()
    for sample in (first, second, third):
        test.update(sample)
    dependent = rainproof.monitor(samples, dependent=True).windows[2]
    assert dependent.e_value == pytest.approx(test.e_value)
    assert (dependent.bound, dependent.cost) == (None, None)


def test_no_loss_is_above_its_bound():
    for dependent in (False, True):
        for line in rainproof.monitor(days(CHANGED, n=60), window=3, dependent=dependent).windows:
            assert line.bound is None or line.value <= line.bound


def slow_detector(samples, alpha, dependent):
    """The definition: where alarms seem to begin, when they are raised, where they seem to end,
    when that is known.
    """
    sums = [RangeSums.of(sample) for sample in samples]
    each = [one.bets(dependent=dependent) for one in sums]
    found, first, t = [], 0, 0
    while t < len(sums):
        since = np.array([np.sum(each[j : t + 1], axis=0) for j in range(first, t + 1)])
        best = since.max(axis=0)
        if np.exp(best).mean() >= 1 / alpha:
            k = int(best.argmax())
            score = np.array([one.score(k, dependent=dependent) for one in sums[first : t + 1]])
            starts = [score[j:, 0].sum() / math.sqrt(score[j:, 1].sum()) for j in range(len(score))]
            start = first + int(np.argmax(starts))
            fits = np.sum([one.bets(dependent=False) for one in sums[start : t + 1]], axis=0)
            k = int(fits.argmax())
            alarm, recovered, ended = t, None, None
            fitted, after = k, t + 1
            for s in range(t + 1, len(sums)):
                won = [
                    sum(
                        one.favours_forecast(fitted, dependent=dependent) for one in sums[j : s + 1]
                    )
                    for j in range(after, s + 1)
                ]
                if max(won) >= -math.log(alpha):
                    good = after + int(np.argmax(won))
                    if np.exp(np.sum(each[good : s + 1], axis=0)).mean() < 1 / alpha:
                        recovered, ended = s, good - 1
                        break
                    fits = np.sum([one.bets(dependent=False) for one in sums[good : s + 1]], axis=0)
                    fitted, after = int(fits.argmax()), s + 1
            found.append((start, alarm, ended, recovered, k))
            if recovered is None:
                break
            first = t = recovered + 1
            continue
        t += 1
    return found


@for_each("dependent", [False, True])
def test_alarms_begin_and_end_as_the_definition_says(dependent):
    shifts = [0] * 5 + [1.2] * 9 + [0] * 14 + [-0.9] * 12
    samples = days(shifts, n=60, seed=3)
    expected = slow_detector([s.compress() for s in samples.values()], 0.2, dependent)
    line = rainproof.monitor(samples, alpha=0.2, dependent=dependent)
    told = [(c.index, c.alarm_index, c.ended_index, c.recovered_index) for c in line.changes]
    assert told == [one[:4] for one in expected]
    assert [c.bet for c in line.changes] == [bet(one[4]) for one in expected]
    assert len(told) >= 2
    inside = {
        at for _, alarm, _, end in told for at in range(alarm, len(shifts) if end is None else end)
    }
    assert [w.in_alarm for w in line.windows] == [at in inside for at in range(len(shifts))]


def test_the_state_is_about_now():
    calm, now, after = (rainproof.monitor(days(CHANGED[:k])) for k in (12, 15, 24))
    assert (calm.in_alarm, calm.since, calm.recovered, calm.changes) == (False, None, None, ())
    assert (now.in_alarm, now.is_new, now.since, now.recovered) == (True, False, "2026-01-13", None)
    assert rainproof.monitor(days(CHANGED[:13])).is_new
    (change,) = after.changes
    assert (after.in_alarm, after.since, after.recovered) == (False, None, change.recovered)
    assert (change.label, change.alarm_index, change.ended) == ("2026-01-13", 12, "2026-01-18")
    assert change.recovered_index == 18
    assert after.windows[-1].evidence < 100 <= after.windows[16].evidence
    assert json.loads(json.dumps(after.to_dict()))["recovered"] == change.recovered


def test_it_says_what_is_off_and_what_to_do():
    samples = days(CHANGED[:16])
    line = rainproof.monitor(samples)
    since = sum(sample.compress() for day, sample in samples.items() if day >= "2026-01-13")
    whole = line.changes[0].rates[0]
    assert (whole.low, whole.high, whole.n) == (0, 1, 1600)
    assert whole.mean_prediction == pytest.approx(since.mean_prediction)
    assert whole.event_rate == pytest.approx(since.event_rate)
    text = " ".join(line.sentences(commands=["do this"]))
    says, happens = (f"{100 * share:.3g}%" for share in (since.mean_prediction, since.event_rate))
    words = f"since about 2026-01-13 it says {says} and it happens {happens}"
    assert text.startswith(f"In alarm: {words} (1,600 rows)")
    assert "Next: recalibrate on the rows since then, and monitor the result:     do this" in text
    assert "Assumed: rows are drawn one after the other" in text
    assert "dependent=True takes a period as one observation" in text
    assert "one storm is no change" in " ".join(
        rainproof.monitor(samples, dependent=True).sentences()
    )
    over = str(rainproof.monitor(days(CHANGED)))
    assert "No alarm now, since 2026-01-19: from about 2026-01-13 to 2026-01-18 it said" in over
    head, *lines = over.splitlines()
    assert head.split() == ["period", "rows", "says", "happens", "loss", "at", "most", "evidence"]
    assert lines[12].endswith("  alarm")
    assert [one.endswith("in alarm") for one in lines[13:18]] == [True] * 5
    assert lines[18].endswith("recovered")


def test_errors_on_both_sides_are_told_apart():
    """A forecast that is too extreme says too little below and too much above; in all it may be
    right.
    """
    rng = np.random.default_rng(2)
    p = rng.random(3000)
    line = rainproof.monitor({"a": rainproof.Sample(rng.random(3000) < 0.25 + p / 2, p)})
    whole, low, high = line.changes[0].rates
    assert (low.high, low.low, high.high) == (high.low, 0, 1)
    assert low.n + high.n == whole.n == 3000
    assert abs(whole.event_rate - whole.mean_prediction) < 0.03
    assert low.event_rate > low.mean_prediction + 0.05
    assert high.event_rate < high.mean_prediction - 0.05


def test_rows_with_a_time_column_are_monitored_from_any_source():
    samples = days(CHANGED[:15], n=100)
    y, p = (
        np.concatenate([getattr(s, name) for s in samples.values()])
        for name in ("y_true", "y_prob")
    )
    day = np.repeat(list(samples), 100)
    order = np.random.default_rng(0).permutation(len(y))
    expected = rainproof.monitor({label: s.compress() for label, s in samples.items()}).to_dict()
    table = {"p": p[order], "y": y[order], "day": day[order]}
    for source in (
        samples,
        list(samples.items()),
        rainproof.Sample(y[order], p[order], by={"day": day[order]}),
        rainproof.scan(table, "p", "y", by="day"),
        rainproof.scan({**table, "day": day[order].astype("M8[D]")}, "p", "y", by="day"),
    ):
        assert rainproof.monitor(source).to_dict() == expected
    numbers = {**table, "day": [str(int(x[-2:])) for x in day[order]]}  # "10" comes after "9"
    labels = [
        w.label for w in rainproof.monitor(rainproof.scan(numbers, "p", "y", by="day")).windows
    ]
    assert labels == [str(k) for k in range(1, 16)]


def test_times_are_merged_into_periods():
    times = ["2026-03-01 10:00", "2026-03-01T23:59", "2026-03-02 00:00", "2026-04-06 07:30"]
    sample = rainproof.Sample([0, 1, 1, 0], [0.2, 0.6, 0.7, 0.3], by={"time": times})
    found = {
        every: rainproof.monitor(sample, every=every).windows
        for every in ("hour", "day", "week", "month")
    }
    assert [w.label for w in found["day"]] == ["2026-03-01", "2026-03-02", "2026-04-06"]
    assert [w.n for w in found["day"]] == [2, 1, 1]
    assert [w.label for w in found["week"]] == ["2026-02-23", "2026-03-02", "2026-04-06"]
    assert [w.label for w in found["month"]] == ["2026-03", "2026-04"]
    assert [w.label for w in found["hour"]][1] == "2026-03-01 23"
    with pytest.raises(
        rainproof.InputError,
        match="every='day' needs times such as 2026-03-02 14:05; 'Mon' is none",
    ):
        rainproof.monitor({"Mon": rainproof.Sample([0, 1], [0.2, 0.7])}, every="day")
    with pytest.raises(rainproof.InputError, match="every must be"):
        rainproof.monitor(sample, every="year")


def test_segments_share_the_rate_of_false_alarms():
    rng = np.random.default_rng(4)
    rows = [
        (day, region, *shifted(rng, 150, 0.9 * (region == "s" and day >= 6)))
        for day in range(10)
        for region in "nsw"
    ]
    day, region = (np.repeat([row[k] for row in rows], 150) for k in (0, 1))
    y, p = (np.concatenate([row[k] for row in rows]) for k in (2, 3))
    line = rainproof.monitor(rainproof.Sample(y, p, by={"day": day, "region": region}))
    assert line.windows == rainproof.monitor(rainproof.Sample(y, p, by={"day": day})).windows
    assert list(line.segments) == ["n", "s", "w"]
    assert list(line.segments_in_alarm) == ["s"]
    assert line.segments["s"][0].label == "6"
    text = " ".join(line.sentences())
    assert "Segment s: since about 6 it says" in text
    assert (
        "1 of 3 segments are in alarm. While all are calibrated, 100 periods or more pass" in text
    )
    south = region == "s"
    alone = rainproof.monitor(
        rainproof.Sample(y[south], p[south], by={"day": day[south]}), alpha=0.01 / 3
    )
    assert alone.changes == line.segments["s"]
    stored = {
        str(k): rainproof.Sample(y[day == k], p[day == k], by={"r": region[day == k]}).by_segment()
        for k in range(10)
    }
    assert rainproof.monitor(stored).segments == line.segments


def test_a_segment_that_is_not_always_there_is_placed_among_all_periods():
    rng = np.random.default_rng(4)
    day = np.repeat([1, 2, 3, 5, 5], 300)
    region = np.repeat(["n", "n", "n", "n", "s"], 300)
    parts = [shifted(rng, 300, 2.0 * (k == 4)) for k in range(5)]
    y, p = (np.concatenate([part[k] for part in parts]) for k in (0, 1))
    (change,) = rainproof.monitor(
        rainproof.Sample(y, p, by={"day": day, "region": region})
    ).segments["s"]
    assert (change.label, change.index, change.alarm_index) == ("5", 3, 3)


def test_no_bet_on_rows_one_after_the_other_gains_in_expectation():
    """All outcomes of five rows, by their probabilities; two rows share a range, where the bound is
    not tight.
    """
    p = np.array([0.02, 0.251, 0.26, 0.9, 1.0])
    for grid in (8, 1024, 1 << 16):
        total = np.zeros(COUNT)
        for y in product((0, 1), repeat=5):
            chance = np.prod(np.where(y, p, 1 - p))
            if chance:
                total += chance * np.exp(
                    RangeSums.of(rainproof.Sample(np.array(y), p).compress(grid)).bets(
                        dependent=False
                    )
                )
        assert total.max() <= 1 + 1e-12
        assert total.min() > (0.98 if grid > 8 else 0.7)


def test_bets_on_rows_stored_or_not_are_nearly_the_products_of_single_rows():
    """What is lost: predictions within a quarter of log odds are taken at their mean."""
    rng = np.random.default_rng(6)
    y, p = shifted(rng, 500, 0.4)
    sample = rainproof.Sample(y, p)
    rows = rainproof.SequentialTest().update(y, p)._log_worth
    found = RangeSums.of(sample).bets(dependent=False)
    np.testing.assert_array_equal(found, RangeSums.of(sample.compress()).bets(dependent=False))
    shifts = [k for k in range(COUNT) if bet(k).slope == 1 and (bet(k).low, bet(k).high) == (0, 1)]
    assert (found[shifts] <= rows[shifts] + 1e-9).all()  # never more than the rows would win
    np.testing.assert_allclose(found[shifts], rows[shifts], rtol=0.005, atol=0.04)


def test_the_forecast_wins_against_a_recalibration_by_the_inverse_ratio():
    sums = RangeSums.of(rainproof.Sample(*shifted(np.random.default_rng(7), 300)))
    forward = sums.bets(dependent=False)
    for k in (3, 20, 40, 282):
        assert sums.favours_forecast(k, dependent=False) == pytest.approx(-forward[k], abs=1e-9)


def test_no_bet_on_the_forecast_gains_in_expectation_if_the_recalibration_is_right():
    p, k = np.array([0.2, 0.5, 0.7]), 34
    assert (bet(k).slope, bet(k).shift) == (2.5, 0.8)
    odds = 2.5 * np.log(p / (1 - p)) + 0.8
    q = 1 / (1 + np.exp(-odds))
    for dependent in (False, True):
        total = sum(
            np.prod(np.where(y, q, 1 - q))
            * math.exp(
                RangeSums.of(rainproof.Sample(np.array(y), p)).favours_forecast(
                    k, dependent=dependent
                )
            )
            for y in product((0, 1), repeat=3)
        )
        assert total == pytest.approx(1, rel=1e-9)


def test_one_storm_is_no_change_if_rows_may_depend_on_each_other():
    """One day on which everything happens, whatever was predicted."""
    rng = np.random.default_rng(4)
    samples = {}
    for day in range(30):
        p = rng.beta(2, 8, 200)
        samples[f"{day:02}"] = rainproof.Sample(
            np.ones(200, int) if day == 15 else rng.random(200) < p, p
        )
    assert rainproof.monitor(samples, dependent=True).changes == ()
    assert rainproof.monitor(samples).changes != ()  # as if the storm were 200 surprises


def constant_periods(said, happens, periods, n, seed=0):
    """Periods of rows with one prediction, and numbers of events that are drawn."""
    events = np.random.default_rng(seed).binomial(n, happens, periods)
    y = [np.arange(n) < k for k in events]
    return [(str(t), rainproof.Sample(y[t], np.full(n, said)).compress()) for t in range(periods)]


def monitor_of(samples):
    return rainproof.monitor(samples, dependent=True)


@for_each(
    "said, happens, n, periods", [(0.3, 0.2, 1000, 90), (0.01, 0.025, 400, 40), (0.3, 0.4, 300, 60)]
)
def test_how_soon_a_change_is_found_is_computed(said, happens, n, periods):
    """Nothing is drawn for it: the alarm comes when the bets that gain by the change have won
    enough.
    """
    runs = [monitor_of(constant_periods(said, happens, periods, n, seed)) for seed in range(5)]
    alarms = [run.changes[0].alarm_index + 1 for run in runs]
    shift = np.log(happens / (1 - happens)) - np.log(said / (1 - said))
    period = RangeSums.of(constant_periods(said, said, 1, n)[0][1])
    expected = periods_to_alarm(period, float(shift), 0.01, 1000)
    assert expected == pytest.approx(np.median(alarms), rel=0.1)
    assert periods_to_alarm(period, float(shift), 0.01, expected - 1) is None


def test_a_rare_event_that_is_predicted_too_high_is_found_late_and_the_output_says_so():
    """2.5% for 1% took 597 days, and nothing said so."""
    line = monitor_of(constant_periods(0.025, 0.025, 30, 1000))
    found = line.detectable
    assert (found.periods, found.mean_prediction) == (30, pytest.approx(0.025))
    assert found.rate_halved == pytest.approx(0.0125 / (0.975 + 0.0125))
    assert found.rate_doubled == pytest.approx(0.05 / (0.975 + 0.05))
    assert found.low is None
    assert 0.025 < found.high < found.rate_doubled
    assert found.periods_halved > 600
    assert 5 < found.periods_doubled < 30
    text = " ".join(line.sentences())
    assert "What could be found: within the 30 periods of this run, an event rate above " in text
    assert (
        f"an alarm takes about {found.periods_halved:,} periods; where it has twice the odds (4.9%)"
        in text
    )
    assert line.to_dict()["detectable"]["periods_halved"] == found.periods_halved
    more = monitor_of(constant_periods(0.025, 0.025, 400, 50)).detectable
    assert 0 < more.low < 0.025 < more.high < found.high or more.low is None
    strict = rainproof.monitor(
        constant_periods(0.025, 0.025, 30, 1000), dependent=True, alpha=1e-4
    ).detectable
    assert strict.periods_doubled > found.periods_doubled


@for_each("said, n", [(0.002, 50), (0.005, 60)])
def test_a_period_without_an_event_is_not_taken_for_a_large_loss(said, n):
    """A tenth of an event a period: twice as many took 150 periods, and "more than a million" was
    told.
    """
    rng = np.random.default_rng(3)
    rate = 2 * said / (1 + said)
    alarms = []
    for _ in range(21):
        detector = Detector(0.01, dependent=True)
        periods = 1
        while not detector.update(one_range(said, n, rng.binomial(n, rate))):
            periods += 1
        alarms.append(periods)
    expected = periods_to_alarm(one_range(said, n, 0), float(np.log(2)), 0.01, 10**6)
    assert np.mean(alarms) <= expected < 2 * np.mean(alarms)


def one_range(said, n, events):
    """The sums of a period whose predictions are all equal."""
    return RangeSums(n, np.ones(1), np.array([said]), np.array([events / n]))


def test_what_takes_too_long_to_be_told_is_not_told():
    found = {n: monitor_of(constant_periods(0.0001, 0.0001, 3, n)).detectable for n in (20, 2000)}
    assert 100_000 < found[20].periods_halved < 1_000_000
    assert found[20].periods_doubled is None  # a thousand periods for two events
    assert "it has twice the odds (0.02%), a number of periods that cannot be told" in str(
        found[20]
    )
    assert periods_to_alarm(one_range(1e-5, 1000, 0), -float(np.log(2)), 0.01, 10**6) is None
    assert found[2000].periods_doubled < 1000


def test_a_change_within_the_limits_is_found_and_one_outside_is_not():
    found = monitor_of(constant_periods(0.3, 0.3, 60, 5000)).detectable
    for rate, alarmed in (
        (found.high + 0.01, True),
        (found.low - 0.01, True),
        (found.high - 0.02, False),
    ):
        assert bool(monitor_of(constant_periods(0.3, rate, 60, 5000)).changes) == alarmed


def test_ranges_of_periods_are_pooled_by_their_log_odds():
    samples = days([0.0] * 12)
    one = RangeSums.pooled([RangeSums.of(sample.compress()) for sample in samples.values()])
    whole = sum(sample.compress() for sample in samples.values())
    assert one.n == 400
    assert one.weight.sum() == pytest.approx(1)
    assert float(one.weight @ one.mean) == pytest.approx(whole.mean_prediction)
    assert one.events.sum() == pytest.approx(whole.event_rate)
    assert rainproof.monitor(samples).detectable is None


def test_where_nothing_is_won_there_is_no_alarm_however_long_it_takes():
    """Predictions of 1 that always come true, and of 1/2 that are right every other time."""
    for y, p in (([1, 1], [1.0, 1.0]), ([0, 1], [0.5, 0.5])):
        sample = rainproof.Sample(y, p)
        line = rainproof.monitor([(str(day), sample) for day in range(60)], alpha=0.05)
        assert line.changes == ()
        assert line.windows[-1].evidence <= 1 + 1e-9


def test_the_detector_raises_an_alarm_where_it_reaches_the_limit():
    class Won(RangeSums):
        def bets(self, *, dependent):
            return np.full(COUNT, self.n / 1000)

    sums = RangeSums.of(rainproof.Sample([1, 0], [0.5, 0.6]))
    for alpha in (0.25, 0.01):
        exactly = math.ceil(-1000 * math.log(alpha))
        detector = Detector(alpha, dependent=False)
        assert detector.update(Won(exactly, *sums[1:]))
        assert detector.evidence == pytest.approx(1 / alpha, rel=0.01)
        assert not Detector(alpha, dependent=False).update(Won(exactly - 1, *sums[1:]))


def test_the_guarantee_is_from_the_rows_since_the_last_turn():
    samples = [sample.compress() for sample in days(CHANGED).values()]
    for stop, start in ((12, 0), (16, 13), (24, 19)):
        found = rainproof.monitor(days(CHANGED[:stop])).guarantee
        expected = rainproof.guarantee(sum(samples[start:stop]), anytime=True)
        assert (found.bound, found.n) == (expected.bound, 400 * (stop - start))
    # the newest period raised the alarm
    assert rainproof.monitor(days(CHANGED[:13])).guarantee is None
    assert rainproof.monitor(days(CHANGED), dependent=True).guarantee is None


def test_weights_and_groups_need_the_dependent_choice():
    y, p = shifted(np.random.default_rng(0), 50)
    for sample, message in (
        (
            rainproof.Sample(y, p, sample_weight=1 + p),
            "rows of unequal weights, as in a, need dependent=True",
        ),
        (rainproof.Sample(y, p, groups=np.arange(50) // 2), "groups need rows"),
    ):
        with pytest.raises(rainproof.InputError, match=message):
            rainproof.monitor({"a": sample})
        line = rainproof.monitor({"a": sample}, dependent=True)
        assert line.windows[0].bound is None
        assert " - " in str(line)


def test_grids_may_differ():
    samples = list(days([0, 0]).values())
    mixed = rainproof.monitor(
        [("a", samples[0].compress(64)), ("b", samples[1].compress(256))], window=2
    )
    same = rainproof.monitor(
        [("a", samples[0].compress(64)), ("b", samples[1].compress(64))], window=2
    )
    assert mixed.to_dict() == same.to_dict()


def test_the_result_is_small_and_ready_for_json():
    line = rainproof.monitor(days([0, 1.5, 1.5], n=200))
    state = "in_alarm=True, since='2026-01-02'"
    assert repr(line) == (
        f"MonitoringResult({state}, length=1, confidence_level=0.95, alpha=0.01, dependent=False)"
    )
    told = json.loads(json.dumps(line.to_dict(), allow_nan=False))
    assert (told["length"], told["alpha"], told["dependent"], told["in_alarm"]) == (
        1,
        0.01,
        False,
        True,
    )
    assert told["windows"][0]["evidence"] == line.windows[0].evidence
    assert told["changes"][0]["index"] == 1
    assert set(told["changes"][0]["bet"]) == {"slope", "shift", "low", "high"}
    assert told["changes"][0]["rates"][0]["n"] == 400


def test_progress_is_told():
    calls = []
    rainproof.monitor(days([0] * 3, n=20), progress=lambda done, total: calls.append((done, total)))
    assert calls == [(1, 3), (2, 3), (3, 3)]


def test_refusals():
    two = days([0, 0], n=20)
    for wrong in (0, True, "a"):
        message = f"window must be a whole number of periods, at least 1; it is {wrong!r}"
        with pytest.raises(rainproof.InputError, match=message):
            rainproof.monitor(two, window=wrong)
    for wrong, message in (
        ({"samples": {}}, "samples must not be empty"),
        (
            {"samples": "days"},
            "samples must be segments, or have a label and a Sample for each period; it is 'days'",
        ),
        (
            {"samples": [("a", 1)]},
            r"samples must have a label and a Sample for each period; period 0 is \('a', 1\)",
        ),
        ({"samples": next(iter(two.values()))}, "the sample has no segments"),
        ({"alpha": 0}, "alpha must be"),
        ({"dependent": "yes"}, "dependent must be True or False; it is 'yes'"),
        (
            {"task": rainproof.DecisionTask.quadratic()},
            "monitor needs a task with a list of actions",
        ),
    ):
        with pytest.raises(rainproof.InputError, match=message):
            rainproof.monitor(**({"samples": two} | wrong))
    missing = rainproof.scan({"p": [0.2, 0.5], "y": [0, 1], "day": ["a", None]}, "p", "y", by="day")
    with pytest.raises(rainproof.InputError, match="day must not be missing; it is in 1 row"):
        rainproof.monitor(missing)
    unordered = rainproof.scan(
        {"p": [0.2, 0.5], "y": [0, 1], "day": ["3/2/2026", "12/1/2025"]}, "p", "y", by="day"
    )
    with pytest.raises(
        rainproof.InputError, match="day must be in order as text, such as 2026-03-02; it has '12/1"
    ):
        rainproof.monitor(unordered)
