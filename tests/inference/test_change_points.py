"""A change is found where there is one, seldom where there is none, and for the right reason."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

import rainproof
from rainproof.inference import monitoring as change_points
from rainproof.inference.monitoring import find_changes


def periods(rates, *, n=150, seed=0, m=1024, draw=None):
    """One sample a period: predictions as `draw` gives them, the event as often as the period's function says."""
    rng = np.random.default_rng(seed)
    out = []
    for period, rate in enumerate(rates):
        p = rng.random(n) if draw is None else draw(rng, period, n)
        out.append((f"day {period}", rainproof.Sample(rng.random(n) < rate(p), p).compress(m)))
    return out


def honest(p):
    return p


def squared(p):
    return p**2


def statistic_of_rows(samples):
    """The statistic straight from its definition, one date and one cell at a time."""
    n = sum(s.n for _, s in samples)
    m = min(128, max(16, 1 << (n.bit_length() // 2)))
    best = (0.0, None)
    counts = np.zeros((len(samples), m + 1))
    events, sums = counts.copy(), counts.copy()
    for d, (_, s) in enumerate(samples):
        for y, p, c in zip(s.y_true, s.y_prob, s.counts, strict=True):
            k = int(np.floor(p * m))
            counts[d, k] += c
            events[d, k] += c * y
            sums[d, k] += c * p
    for t in range(1, len(samples)):
        walk, low, high, variance = 0.0, 0.0, 0.0, 0.0
        for k in range(m + 1):
            total = counts[:, k].sum()
            if not total:
                continue
            before = counts[:t, k].sum()
            mean, rate = sums[:, k].sum() / total, events[:, k].sum() / total
            explained = (sums[:t, k].sum() - before * mean) * rate * (1 - rate) / (mean * (1 - mean))
            walk += events[:t, k].sum() - before * events[:, k].sum() / total - explained
            low, high = min(low, walk), max(high, walk)
            if total > 1:
                variance += before * (total - before) * rate * (1 - rate) / (total - 1)
        if variance > 0:
            best = max(best, ((high - low) / variance**0.5, t))
    return best


@pytest.mark.parametrize("seed", range(5))
def test_the_statistic_is_its_definition(seed, monkeypatch):
    samples = periods([honest] * 4 + [squared] * 3, n=40, seed=seed)
    value, split = statistic_of_rows(samples)
    seen, statistics = [], change_points._statistics
    monkeypatch.setattr(change_points, "_statistics", lambda *args: seen.append(statistics(*args)) or seen[-1])
    by_period = change_points._by_period([s for _, s in samples])
    assert change_points._divide(*by_period, 1, 1, np.random.default_rng(0), None)[0] == split
    assert seen[0].max() == pytest.approx(value, rel=1e-10)


@pytest.mark.parametrize("shuffle", ["periods", "rows"])
def test_one_change_is_found_and_dated(shuffle):
    (found,) = find_changes(periods([honest] * 12 + [squared] * 8), shuffle=shuffle, rng=0)
    assert found.label == "day 12"
    assert found.index == 12
    assert found.p_value == 0.001
    assert found.to_dict() == {"label": "day 12", "index": 12, "p_value": 0.001}


def test_two_changes_are_found():
    found = find_changes(periods([honest] * 10 + [squared] * 10 + [honest] * 10, n=300), shuffle="rows", rng=0)
    assert [c.index for c in found] == [10, 20]


def test_a_change_back_and_forth_across_predictions_is_found():
    """On average nothing changes; below 1/2 events became rarer, above it more frequent."""
    sharper = [honest] * 10 + [lambda p: np.clip(p + 0.6 * (p - 0.5), 0, 1)] * 10
    assert [c.index for c in find_changes(periods(sharper, n=400), rng=0)] == [10]


def test_where_nothing_changes_little_is_found():
    """At most alpha of the time, but for the luck of 200 draws."""
    hits = sum(
        bool(find_changes(periods([squared] * 6, n=60, seed=s), alpha=0.1, n_resamples=99, rng=s)) for s in range(200)
    )
    assert hits <= 0.1 * 200 + 3 * np.sqrt(0.1 * 0.9 * 200)


def test_other_predictions_are_no_change():
    """The weather changes within and across cells; what a prediction means does not."""

    def draw(rng, period, n):
        return rng.beta(2, 6, n) if period < 5 else rng.beta(6, 2, n)

    hits = sum(
        bool(find_changes(periods([honest] * 10, n=3000, seed=s, draw=draw), alpha=0.05, n_resamples=99, rng=s))
        for s in range(60)
    )
    assert hits <= 0.05 * 60 + 3 * np.sqrt(0.05 * 0.95 * 60)


def test_same_seed_same_answer_and_progress_is_told():
    samples = periods([honest] * 5 + [squared] * 5)
    calls = []
    first = find_changes(samples, rng=5, progress=lambda done, total: calls.append((done, total)))
    assert first == find_changes(samples, rng=5)
    assert calls[-1] == (999, 999)
    assert [done for done, _ in calls[:3]] == [32, 64, 96]


def test_cells_of_a_billion_rows_are_dealt_in_packs(monkeypatch):
    samples = periods([honest] * 6 + [squared] * 6, n=500)
    monkeypatch.setattr(change_points, "_MOST", 60)
    assert [c.index for c in find_changes(samples, shuffle="rows", rng=0)] == [6]


def stormy_days(seed, n_days=20, n=200):
    """Some days are bad for all, and no day is like the next, but nothing changes."""
    rng = np.random.default_rng(seed)
    out = []
    for day in range(n_days):
        p = rng.random(n)
        q = np.clip(p + rng.normal(0, 0.15), 0, 1)
        out.append((f"day {day}", rainproof.Sample(rng.random(n) < q, p).compress(1024)))
    return out


def test_days_whose_rows_depend_on_each_other_are_no_change():
    """Single rows in another order would be one; whole days are not."""
    quiet = [stormy_days(seed) for seed in range(60)]
    options = {"alpha": 0.05, "n_resamples": 99, "rng": 0}
    hits = sum(bool(find_changes(samples, **options)) for samples in quiet)
    assert hits <= 0.05 * 60 + 3 * np.sqrt(0.05 * 0.95 * 60)
    assert all(find_changes(samples, shuffle="rows", **options) for samples in quiet[:10])


def test_one_period_is_a_block_of_one():
    samples = periods([honest] * 6 + [squared] * 6)
    assert find_changes(samples, shuffle=1, rng=0) == find_changes(samples, shuffle="periods", rng=0)
    more = dict(periods([honest] * 12 + [squared] * 12))
    assert [c.index for c in find_changes(more, shuffle=2, rng=0)] == [12]


def test_blocks_stay_together_in_order_of_time():
    """Seven periods in blocks of three: the first has one, and every order has the periods of a block side by side."""
    orders = set(map(tuple, change_points._orders(7, 3, 200, np.random.default_rng(0)).tolist()))
    blocks = [(0,), (1, 2, 3), (4, 5, 6)]
    assert orders == {sum(order, ()) for order in itertools.permutations(blocks)}


def days_like_the_day_before(seed, rho, n_days=40, n=80):
    rng = np.random.default_rng(seed)
    effect, out = rng.normal(0, 0.1), []
    for day in range(n_days):
        effect = rho * effect + np.sqrt(1 - rho**2) * rng.normal(0, 0.1)
        p = rng.random(n)
        out.append((f"day {day}", rainproof.Sample(rng.random(n) < np.clip(p + effect, 0, 1), p).compress(64)))
    return out


def test_blocks_allow_days_that_resemble_the_day_before():
    """16 series at 5% without a change: single days find one in most of them, blocks of eight in hardly any."""
    options = {"alpha": 0.05, "n_resamples": 59, "rng": 0}
    series = [days_like_the_day_before(seed, 0.8) for seed in range(16)]
    assert sum(bool(find_changes(samples, **options)) for samples in series) > 6
    assert sum(bool(find_changes(samples, shuffle=8, **options)) for samples in series) <= 3


def test_few_periods_say_little_but_rows_may():
    samples = periods([honest] * 2 + [squared] * 2, n=500)
    assert find_changes(samples, rng=0) == ()
    assert [c.index for c in find_changes(samples, shuffle="rows", rng=0)] == [2]


def test_nothing_to_divide():
    assert find_changes(periods([honest]), rng=0) == ()
    assert find_changes(periods([lambda p: 0 * p] * 5), rng=0) == ()
    assert find_changes(periods([honest] * 3, n=1), rng=0) == ()


def test_refusals():
    samples = periods([honest] * 2)
    with pytest.raises(rainproof.InputError, match="alpha must be a number between 0 and 1, both excluded; it is 1"):
        find_changes(samples, alpha=1)
    for wrong in ("days", 0, True, 1.5):
        message = f"shuffle must be 'periods', 'rows' or a number of periods, at least 1; it is {wrong!r}"
        with pytest.raises(rainproof.InputError, match=message):
            find_changes(samples, shuffle=wrong)
    with pytest.raises(rainproof.InputError, match=r"n_resamples must be at least 99 for a test at alpha = 0\.01"):
        find_changes(samples, n_resamples=50)
    with pytest.raises(rainproof.InputError, match=r"samples must be compressed: call compress\(\) on each first"):
        find_changes([("a", rainproof.Sample([0, 1], [0.1, 0.9]))])


COMPRESSED = rainproof.Sample([0, 1], [0.1, 0.9]).compress(8)


@pytest.mark.parametrize("function", [find_changes, rainproof.monitor])
@pytest.mark.parametrize("wrong", [None, 5, COMPRESSED, iter([("a", COMPRESSED)])])
def test_samples_are_a_mapping_or_a_sequence(function, wrong):
    with pytest.raises(
        rainproof.InputError, match=r"samples must be a mapping of labels to Samples, or .* pairs; it is "
    ):
        function(wrong)


@pytest.mark.parametrize("function", [find_changes, rainproof.monitor])
@pytest.mark.parametrize(
    "wrong", [{"a": 1}, {"a": ([0, 1], [0.1, 0.9])}, [COMPRESSED], ["ab"], [("a", COMPRESSED, 1)], "ab"]
)
def test_each_period_has_a_label_and_a_sample(function, wrong):
    with pytest.raises(
        rainproof.InputError, match="samples must have a label and a Sample for each period; period 0 is "
    ):
        function(wrong)


@pytest.mark.parametrize("wrong", ["a", 99.5, True, 10**9])
def test_resamples_are_a_whole_number(wrong):
    with pytest.raises(rainproof.InputError, match="n_resamples must be an integer from 1 to 10,000,000; it is "):
        find_changes({"a": COMPRESSED}, n_resamples=wrong)


def test_labels_become_text():
    samples = {index: sample for index, (_, sample) in enumerate(periods([honest] * 12 + [squared] * 8))}
    assert [change.to_dict()["label"] for change in find_changes(samples, rng=0)] == ["12"]


def test_a_p_value_of_alpha_is_a_change():
    """No order of 99 is as clear: the p-value is 1/100, which is alpha."""
    days = [rainproof.Sample([day >= 10, 0] * 15, [0.5] * 30).compress(64) for day in range(20)]
    (found,) = find_changes([(str(day), sample) for day, sample in enumerate(days)], alpha=0.01, n_resamples=99, rng=1)
    assert (found.index, found.p_value) == (10, 0.01)
