"""Costs of each case, against sums over rows written from the definition."""

import itertools
import pickle

import numpy as np
import pandas as pd
import pytest
from helpers.cases import for_each

import rainproof
from rainproof import DecisionTask, InputError, RoundingPolicy, Sample, swap_regret

FALSE_POSITIVE = np.array([5.0, 2.0, 0.0, 7.0, 1.0])
FALSE_NEGATIVE = np.array([20.0, 0.0, 3.0, 7.0, 99.0])


def rows(seed, n=60, *, ties=True):
    """Predictions with ties, also at thresholds and at 0 and 1; costs with a few zeros."""
    rng = np.random.default_rng(seed)
    p = rng.choice([0.0, 0.1, 0.25, 0.5, 1.0], n) if ties else rng.random(n)
    y = (rng.random(n) < 0.3).astype(int)
    fp, fn = rng.choice([0.0, 1.0, 3.0, 9.0], n), rng.choice([0.0, 1.0, 3.0, 30.0], n)
    fn[(fp == 0) & (fn == 0)] = 4.0
    return y, p, fp, fn


def by_hand(y, p, fp, fn, weight, per):
    """The swap regret in units: of all rules that replace each action (at each prediction), the
    best.
    """
    act = [pi * b >= (1 - pi) * a for pi, a, b in zip(p, fp, fn, strict=True)]
    keys = [
        (bool(taken), pi if per == "prediction" else None) for taken, pi in zip(act, p, strict=True)
    ]

    def cost(acts):
        each = [
            (0 if yi else a) if do else (b if yi else 0)
            for do, yi, a, b in zip(acts, y, fp, fn, strict=True)
        ]
        return float(np.dot(weight, each)) / weight.sum()

    saved = 0.0
    for key in set(keys):
        swapped = [not do if one == key else do for do, one in zip(act, keys, strict=True)]
        saved += max(0.0, cost(act) - cost(swapped))
    return saved, cost(act)


@for_each("seed, per", list(itertools.product(range(6), ["action", "prediction"])))
def test_swap_regret_is_the_best_change_of_actions(seed, per):
    y, p, fp, fn = rows(seed)
    weight = np.random.default_rng(seed).choice([0.5, 1.0, 4.0], len(y))
    task = DecisionTask.from_costs(false_positive=fp, false_negative=fn)
    found = swap_regret(y, p, task, per=per, sample_weight=weight)
    assert found.in_units == pytest.approx(by_hand(y, p, fp, fn, weight, per)[0], abs=1e-12)
    assert found.value * task.scale == pytest.approx(found.in_units, abs=1e-15)


def test_a_case_is_acted_on_from_its_own_threshold():
    task = DecisionTask.from_costs(false_positive=FALSE_POSITIVE, false_negative=FALSE_NEGATIVE)
    at = FALSE_POSITIVE / (FALSE_POSITIVE + FALSE_NEGATIVE)
    assert task.case_thresholds.tolist() == at.tolist() == [0.2, 1.0, 0.0, 0.5, 0.01]
    assert task.best_response(at).tolist() == ["act"] * 5
    below = np.nextafter(at, -1.0).clip(0)
    assert task.best_response(below).tolist() == ["wait", "wait", "act", "wait", "wait"]
    assert task.payoff(["act", "act", "wait", "act", "wait"], [0, 1, 1, 0, 1]).tolist() == [
        -5,
        0,
        -3,
        -7,
        -99,
    ]
    assert task.thresholds == ()
    assert task.scale == 99
    assert DecisionTask.from_costs(false_positive=[1, 2], false_negative=[3, 6]).thresholds == (
        0.25,
    )


@for_each("per", ["action", "prediction"])
def test_equal_costs_are_the_same_as_one_number(per):
    y, p, *_ = rows(9)
    task = DecisionTask.from_costs(false_positive=35, false_negative=65)
    same = DecisionTask.from_costs(false_positive=35, false_negative=np.full(len(y), 65))
    assert same.best_response(p).tolist() == task.best_response(p).tolist()
    one, other = swap_regret(y, p, task, per=per), swap_regret(y, p, same, per=per)
    assert other.value == pytest.approx(one.value, abs=1e-12)
    assert one.value > 0
    assert [(s.action, s.weight, s.share) for s in other.swaps] == [
        (s.action, s.weight, s.share) for s in one.swaps
    ]
    policy, theirs = (RoundingPolicy(t, 8, seed=3) for t in (task, same))
    ids = np.arange(len(p))
    assert policy.decide(p, ids).tolist() == theirs.decide(p, ids).tolist()
    assert policy.probabilities(p).tolist() == theirs.probabilities(p).tolist()
    rounded = [swap_regret(y, p, t, response=r).value for t, r in ((task, policy), (same, theirs))]
    assert rounded[1] == pytest.approx(rounded[0], abs=1e-12)


def test_a_policy_compares_the_rounded_probability_with_the_threshold_of_the_case():
    _, p, fp, fn = rows(4, ties=False)
    task = DecisionTask.from_costs(false_positive=fp, false_negative=fn, actions=("pay", "review"))
    policy, ids = RoundingPolicy(task, 4, seed=1), np.arange(len(p))
    rounded = policy.round(p, ids)
    assert policy.decide(p, ids).tolist() == [
        "review" if r >= a / (a + b) else "pay" for r, a, b in zip(rounded, fp, fn, strict=True)
    ]
    chance = np.mean(
        [RoundingPolicy(task, 4, seed=s).decide(p, ids) == "review" for s in range(4000)], axis=0
    )
    assert policy.probabilities(p)[:, 1] == pytest.approx(chance, abs=0.05)


def test_the_costs_stay_with_their_rows():
    y, p, fp, fn = rows(2, 40)
    task = DecisionTask.from_costs(false_positive=fp, false_negative=fn)
    sample = task.add_costs(Sample(y, p, groups=np.arange(40) // 2, by=np.arange(40) % 3))
    known = {(yi, pi, a, b) for yi, pi, a, b in zip(y, p, fp, fn, strict=True)}
    parts = [
        sample.in_order(),
        *sample.split(folds=3),
        sample.ungrouped(),
        pickle.loads(pickle.dumps(sample)),
    ]
    for part in [*parts, *sample.by_segment().values(), Sample.concat(sample.split(folds=2))]:
        found = [
            (*row, *costs)
            for *row, costs in zip(part.y_true, part.prob, part.rows.costs.tolist(), strict=True)
        ]
        assert set(found) <= known
    assert sorted(parts[0].rows.costs.tolist()) == sorted(sample.rows.costs.tolist())
    backwards = DecisionTask.from_costs(false_positive=fp[::-1], false_negative=fn[::-1])
    other = backwards.add_costs(Sample(y[::-1], p[::-1])).in_order()
    assert other.rows.costs.tolist() == task.add_costs(Sample(y, p)).in_order().rows.costs.tolist()


def test_a_row_with_a_share_of_the_event_has_its_cost_once():
    y, p, amount = [0.5, 1.0, 0.0], [0.6, 0.1, 0.2], [10.0, 20.0, 30.0]
    task = DecisionTask.from_costs(false_positive=5, false_negative=amount)
    found = swap_regret(Sample(y, p, fractional=True), task=task)
    # Acted on: 0.6 >= 1/3 and 0.2 >= 1/7; never acting saves half a false alarm and one, and costs
    # half a miss.
    assert found.in_units == pytest.approx(max(0, (2.5 + 5 - 5) / 3) + max(0, 20 / 3))


def _frame(**columns):
    return pd.DataFrame(
        {"y": [0, 1, 0], "p": [0.1, 0.8, 0.3], "amount": [10.0, 20.0, 30.0], **columns},
        index=list("abc"),
    )


def test_series_must_have_the_index_of_the_rows():
    frame = _frame()
    task = DecisionTask.from_costs(false_positive=5, false_negative=frame["amount"])
    plain = DecisionTask.from_costs(false_positive=5, false_negative=frame["amount"].to_numpy())
    assert (
        swap_regret(frame["y"], frame["p"], task).value
        == swap_regret(frame["y"], frame["p"], plain).value
    )
    turned = DecisionTask.from_costs(false_positive=5, false_negative=frame["amount"][::-1])
    with pytest.raises(
        InputError, match="y_true and false_negative have the same index in another order"
    ):
        swap_regret(frame["y"], frame["p"], turned)
    with pytest.raises(
        InputError, match="y_true and false_negative have the same index in another order"
    ):
        rainproof.assess(frame["y"], frame["p"], task=turned)
    with pytest.raises(
        InputError, match="false_positive and false_negative have different indexes"
    ):
        DecisionTask.from_costs(
            false_positive=frame["amount"], false_negative=frame["amount"].set_axis(list("xyz"))
        )


@for_each(
    "costs, message",
    [
        (
            {"false_negative": [1, -2, 3]},
            r"false_negative must be finite and not negative; 1 value does not.*\[1\] = -2",
        ),
        (
            {"false_negative": [1, np.nan, np.inf]},
            r"false_negative must be finite.*2 values.*\[1\]",
        ),
        ({"false_negative": [None, 1, 2]}, "false_negative must be finite"),
        ({"false_negative": ["a", "b"]}, "false_negative must hold numbers; it holds strings"),
        (
            {"false_negative": "amount"},
            "false_negative must be a positive, finite cost; it is 'amount'",
        ),
        (
            {"false_negative": [[1, 2], [3, 4]]},
            "false_negative must be a number, or one-dimensional",
        ),
        ({"false_negative": []}, "false_negative must be a number, or one-dimensional"),
        (
            {"false_negative": [1, 2], "false_positive": 0},
            "false_positive must be a positive, finite cost; it is 0",
        ),
        (
            {"false_negative": [1, 2], "false_positive": [1, 2, 3]},
            "must have the same length; they have 3 and 2",
        ),
        (
            {"false_negative": [1, 0, 0], "false_positive": [0, 2, 0]},
            "not both be 0 in a case.*the first is case 2",
        ),
        ({"false_negative": [1e308], "false_positive": [1e308]}, "less than the largest double"),
    ],
)
def test_bad_costs_are_told_what_is_wrong(costs, message):
    with pytest.raises(InputError, match=message):
        DecisionTask.from_costs(**{"false_positive": 5, **costs})


def test_what_cannot_keep_costs_says_so():
    y, p, fp, fn = rows(1)
    task = DecisionTask.from_costs(false_positive=fp, false_negative=fn)
    sample = Sample(y, p)
    for refused, message in [
        (
            lambda: swap_regret(sample.compress(), task=task),
            "a compressed sample does not keep them",
        ),
        (lambda: task.add_costs(sample).compress(), "costs of each case need rows"),
        (lambda: swap_regret(sample.in_order(), task=task), "go with the rows as they came"),
        (lambda: swap_regret(y[1:], p[1:], task), "there are 60 for 59 rows"),
        (lambda: DecisionTask.from_dict(task.to_dict()), "is not stored: make it again"),
        (lambda: RoundingPolicy(task, 8).to_dict(), "cannot be stored"),
        (lambda: RoundingPolicy(task, 8).decide_index(p, np.arange(60)), "the same in every case"),
        (
            lambda: task.best_response(p[:3]),
            r"one value for each of the 60 cases.*its shape is \(3,\)",
        ),
        (lambda: task.best_response(0.3), r"its shape is \(\)"),
        (lambda: rainproof.monitor([("a", y, p)], task=task), "the same in every case"),
        (
            lambda: rainproof.assess(Sample(y, p, by=y * 0).by_segment(), task=task),
            "pass y_true, y_prob and by",
        ),
    ]:
        with pytest.raises(InputError, match=message):
            refused()


def test_the_task_says_what_it_is():
    task = DecisionTask.from_costs(false_positive=5, false_negative=[20.0, 495.0])
    assert str(task) == (
        "2 actions, costs of 2 cases, a false alarm 5 and a miss 20 to 495: "
        "'wait' below the threshold of the case "
        "(0.01 to 0.2), 'act' from it on."
    )
    assert repr(task) == "DecisionTask(actions=('wait', 'act'), costs of 2 cases, scale=495)"
    assert task.to_dict() == {
        "actions": ["wait", "act"],
        "n": 2,
        "false_positive": {"least": 5.0, "mean": 5.0, "most": 5.0},
        "false_negative": {"least": 20.0, "mean": 257.5, "most": 495.0},
        "thresholds": [],
        "task": "cases",
    }
