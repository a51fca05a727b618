"""A limited number of cases to act on, against all subsets, and a lottery between equals."""

import itertools

import numpy as np
import pytest
from helpers.cases import for_each

import rainproof
from rainproof import DecisionTask, InputError, RoundingPolicy, assess
from rainproof.decisions import decide
from rainproof.verdict.costs import Rule, acts_within


def small(seed):
    """Few cases, with ties of probabilities and of costs."""
    rng = np.random.default_rng(seed)
    n = 9
    p = rng.choice([0.0, 0.1, 0.2, 0.5, 1.0], n)
    fp, fn = rng.choice([1.0, 4.0], n), rng.choice([0.0, 2.0, 6.0], n)
    return p, fp, fn


def best_of_all_subsets(gain, capacity):
    """The largest expected gain of acting on at most so many cases."""
    sizes = range(capacity + 1)
    return max(
        sum(gain[list(some)]) for k in sizes for some in itertools.combinations(range(len(gain)), k)
    )


@for_each("seed, capacity", [(seed, k) for seed in range(5) for k in (1, 2, 4, 9, 100)])
def test_no_other_choice_gains_more(seed, capacity):
    p, fp, fn = small(seed)
    gain = p * fn - (1 - p) * fp
    task = DecisionTask.from_costs(false_positive=fp, false_negative=fn)
    found = decide(p, task, np.arange(len(p)), capacity=capacity)
    acts = found.action == "act"
    assert acts.sum() == found.acted <= capacity
    assert gain[acts].sum() == pytest.approx(
        best_of_all_subsets(gain, min(capacity, len(p))), abs=1e-12
    )
    more = best_of_all_subsets(gain, min(capacity + 1, len(p))) - gain[acts].sum()
    assert found.one_more == pytest.approx(more, abs=1e-12)
    if capacity >= len(p):
        assert found.action.tolist() == task.best_response(p).tolist()


def test_one_threshold_for_all_cases_ranks_by_probability():
    rng = np.random.default_rng(8)
    p, ids = rng.random(200), np.arange(200)
    task = DecisionTask.from_costs(false_positive=1, false_negative=9)
    found = decide(p, task, ids, capacity=20)
    assert np.flatnonzero(found.action == "act").tolist() == np.sort(np.argsort(-p)[:20]).tolist()
    assert found.wanted == (p >= 0.1).sum()
    third = DecisionTask.from_payoffs(
        [[0, -6], [-4, 0], [-3, -9]], actions=["pay", "block", "phone"]
    )
    assert set(decide(p, third, ids, capacity=20).action) == {"pay", "block"}


def test_the_lottery_is_fair_and_depends_on_id_and_seed_alone():
    n, k = 40, 10
    p, ids = np.full(n, 0.4), np.array([f"case {i}" for i in range(n)])
    task = DecisionTask.from_costs(false_positive=1, false_negative=9)
    first = decide(p, task, ids, capacity=k).action
    order = np.random.default_rng(0).permutation(n)
    assert decide(p, task, ids[order], capacity=k).action.tolist() == first[order].tolist()
    assert decide(p, task, ids, capacity=k, seed=1).action.tolist() != first.tolist()
    times = sum(
        (decide(p, task, ids, capacity=k, seed=s).action == "act").astype(int) for s in range(2000)
    )
    assert times.min() > 2000 * k / n - 4 * np.sqrt(2000 * 0.25 * 0.75)
    assert times.max() < 2000 * k / n + 4 * np.sqrt(2000 * 0.25 * 0.75)


def test_the_lottery_of_a_policy_does_not_prefer_those_that_were_rounded_far():
    # All are rounded up to 1/2 or down to 0, with the same number that must not also decide the
    # lottery.
    p = np.repeat([0.1, 0.4], 4000)
    ids = np.arange(len(p))
    policy = RoundingPolicy(DecisionTask.threshold(0.3), 2, seed=4)
    up = policy.round(p, ids) == 0.5
    acts = policy.decide(p, ids, capacity=500) == "act"
    assert acts.sum() == 500
    assert acts[~up].sum() == 0
    expected = 500 * up[:4000].sum() / up.sum()
    assert acts[:4000].sum() == pytest.approx(expected, abs=4 * np.sqrt(500 * 0.2 * 0.8))


def test_a_policy_with_costs_of_each_case_and_a_capacity():
    p, fp, fn = small(3)
    task = DecisionTask.from_costs(false_positive=fp, false_negative=fn)
    policy, ids = RoundingPolicy(task, 8, seed=5), np.arange(len(p))
    expected = decide(policy.round(p, ids), task, ids, capacity=3, seed=5)
    assert policy.decide(p, ids, capacity=3).tolist() == expected.action.tolist()


def test_a_capacity_is_a_share_or_a_number():
    p, fp, fn = small(4)
    task, ids, n = (
        DecisionTask.from_costs(false_positive=fp, false_negative=fn),
        np.arange(len(p)),
        len(p),
    )
    acts = decide(p, task, ids, capacity=2).action.tolist()
    assert decide(p, task, ids, capacity=2.9 / n).action.tolist() == acts
    assert decide(p, task, ids, capacity=np.int64(2)).action.tolist() == acts
    assert (
        decide(
            np.full(10_000, 0.5), DecisionTask.threshold(0.3), np.arange(10_000), capacity=0.07
        ).acted
        == 700
    )
    y = [0, 1] * 50 + [0] * 50
    prob, cost = (
        np.linspace(0.01, 0.9, 150),
        DecisionTask.from_costs(false_positive=1, false_negative=3),
    )
    shares = [
        assess(y, prob, task=cost, capacity=capacity, measures=[]).task
        for capacity in (15, 0.1, 1000)
    ]
    assert shares[0].capacity == shares[1].capacity == 0.1
    assert shares[0].costs == shares[1].costs
    assert shares[2].capacity == 1


def test_bad_capacities_are_told_what_is_wrong():
    task, p, ids = DecisionTask.threshold(0.3), [0.2, 0.6], [1, 2]
    for capacity in (0, -0.1, 1.5, True, "2%", np.nan, np.inf):
        with pytest.raises(
            InputError,
            match="capacity must be a share of the cases, above 0 and below 1, or a whole",
        ):
            decide(p, task, ids, capacity=capacity)
        with pytest.raises(
            InputError,
            match="capacity must be a share of the cases, above 0 and below 1, or a whole",
        ):
            assess([0, 1], [0.2, 0.6], task=task, capacity=capacity)
    with pytest.raises(InputError, match="ids is missing: with a capacity"):
        decide(p, task, capacity=1)
    with pytest.raises(InputError, match="p and ids must have the same length; they have 2 and 3"):
        decide(p, task, [1, 2, 3], capacity=1)
    with pytest.raises(InputError, match="ids must be integers"):
        decide(p, task, [1, None], capacity=1)
    with pytest.raises(InputError, match="seed must be an integer"):
        decide(p, task, ids, capacity=1, seed=-1)
    with pytest.raises(InputError, match="decide needs a task with two actions"):
        decide(p, DecisionTask.quadratic(), ids, capacity=1)
    with pytest.raises(InputError, match="capacity needs a task: "):
        assess([0, 1], [0.2, 0.6], capacity=0.1)
    three = DecisionTask.from_payoffs([[10, -50], [4, 0], [-20, 30]])
    with pytest.raises(InputError, match="capacity needs a task with two actions"):
        assess([0, 1], [0.2, 0.6], task=three, capacity=0.1)


def greedy(gain, weight, capacity):
    """Act on rows one after the other, and on equal ones in equal parts."""
    acts, left = np.zeros(len(gain)), capacity * weight.sum()
    for value in sorted({g for g in gain if g >= 0}, reverse=True):
        same = gain == value
        part = min(1.0, left / weight[same].sum())
        acts[same] = part
        left -= part * weight[same].sum()
        if left <= 1e-12 * weight.sum():
            break
    return acts


@for_each("capacity", [0.001, 0.1, 0.25, 0.7, 1.0])
def test_acts_within_a_capacity(capacity):
    rng = np.random.default_rng(2)
    gain, weight = (
        rng.choice([-2.0, -0.5, 0.0, 0.25, 3.0, 8.0], 50),
        rng.choice([0.0, 1.0, 3.0], 50),
    )
    acts, one_more = acts_within(gain, weight / weight.sum(), capacity)
    some = weight > 0
    assert acts[some] == pytest.approx(greedy(gain[some], weight[some], capacity))
    assert weight @ acts <= capacity * weight.sum() + 1e-9
    waiting = gain[some & (gain >= 0) & (acts < 1)]
    assert one_more == (waiting.max() if len(waiting) else 0.0)


@for_each("amounts", ["one", "each"])
def test_costs_within_a_capacity(amounts):
    rng = np.random.default_rng(6)
    n = 800
    p = rng.beta(1, 6, n).round(2)
    y = rng.random(n) < p
    fn = np.exp(rng.normal(3, 1, n)) if amounts == "each" else np.full(n, 30.0)
    weight = 1.0 + np.arange(n) % 2
    task = DecisionTask.from_costs(false_positive=5, false_negative=fn if amounts == "each" else 30)
    a = assess(y, p, task=task, sample_weight=weight, capacity=0.05, measures=[])
    gain = p * fn - (1 - p) * 5
    acts = greedy(np.where(gain >= 0, gain, -1), weight, 0.05)
    cost = np.where(y, fn * (1 - acts), 5 * acts)
    assert a.task.cost.value == pytest.approx(np.average(cost, weights=weight))
    assert a.task.acted[Rule.AS_IS] == pytest.approx(0.05)
    assert a.task.one_more[Rule.AS_IS] == pytest.approx(gain[(gain > 0) & (acts < 1)].max())
    perfect = greedy(np.where(y, fn, -5), weight, 0.05)
    assert a.task.cost_perfect.value == pytest.approx(
        np.average(np.where(y, fn * (1 - perfect), 0), weights=weight)
    )
    at_random = np.where(y, fn * 0.95, 5 * 0.05)
    assert a.task.cost_always.value == pytest.approx(np.average(at_random, weights=weight))
    simple = min(a.task.cost_always.value, a.task.cost_never.value)
    skill = (simple - a.task.cost.value) / (simple - a.task.cost_perfect.value)
    assert a.evidence.skill_as_is.value == pytest.approx(skill)
    assert a.task.cost_best_cutoff is None
    assert a.verdict.threshold is None
    first = "with the highest probabilities" if amounts == "one" else "where it gains most"
    assert f"act on the 5.0% of the cases {first}" in a.verdict.next_step
    assert "act at random" in str(a.task).lower()


def test_a_capacity_that_is_enough_changes_no_cost():
    rng = np.random.default_rng(7)
    p = rng.beta(1, 6, 600).round(2)
    y = rng.random(600) < p
    task = DecisionTask.from_costs(false_positive=5, false_negative=30)
    with_limit, free = (
        assess(y, p, task=task, measures=[], capacity=c).task for c in (len(y), None)
    )
    for rule in (Rule.AS_IS, Rule.RECALIBRATED, Rule.NEVER):
        for end in ("value", "low", "high"):
            assert getattr(with_limit.costs[rule], end) == pytest.approx(
                getattr(free.costs[rule], end), abs=1e-12
            )
    assert set(with_limit.one_more.values()) == {0.0}
    assert with_limit.acted[Rule.AS_IS] == free.acted[Rule.AS_IS]


def test_a_ranking_is_worth_something_where_acting_is_nearly_free_but_limited():
    # Without the limit one would always act, whatever the forecast says.
    y = np.arange(200) % 5 == 0
    task = DecisionTask.from_costs(false_positive=1e-9, false_negative=9)
    p = np.where(y, 0.6, 0.1) + np.arange(200) % 2 / 10
    free, limited = (
        assess(y, p, task=task, measures=[], n_resamples=99, capacity=c) for c in (None, 0.1)
    )
    assert free.evidence.skill.value == pytest.approx(0)
    assert limited.evidence.skill.value == pytest.approx(1)
    assert limited.verdict.grade != "avoid"
    assert "within the capacity" in " ".join(s.text for s in limited.verdict.sentences)


def test_huge_costs_have_intervals():
    y, p = np.arange(120) % 3 == 0, np.linspace(0.05, 0.9, 120)
    with np.errstate(over="ignore", invalid="ignore"):
        for miss in (4e300, np.linspace(1e300, 4e300, 120)):
            a = assess(
                y,
                p,
                task=DecisionTask.from_costs(false_positive=1e300, false_negative=miss),
                measures=[],
            )
            assert 0 < a.task.cost.value < 4e300


def test_a_compressed_sample_has_a_capacity_too():
    rng = np.random.default_rng(9)
    p = rng.integers(0, 1024, 3000) / 1024
    y = rng.random(3000) < p
    task = DecisionTask.from_costs(false_positive=5, false_negative=5)
    rows, cells = (
        assess(s, task=task, capacity=0.1, measures=[]).task
        for s in (rainproof.Sample(y, p), rainproof.Sample(y, p).compress(2**10))
    )
    assert cells.cost.value == pytest.approx(rows.cost.value)
    assert cells.acted[Rule.AS_IS] == pytest.approx(0.1)
