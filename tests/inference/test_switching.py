"""Switching forecasts: exact harm and gain against a linear program over all tasks, and how often
the bounds fail.
"""

from __future__ import annotations

import json

import numpy as np
import pandas as pd
import pytest
from helpers.cases import for_each
from helpers.seeds import for_seeds
from scipy.optimize import linprog

import rainproof


def difference(y, a, b, w, mu, side):
    """D(mu) by its definition; `side` says whether predictions equal to the threshold act."""
    act_a, act_b = ((p >= mu) if side else (p > mu) for p in (a, b))
    return float(np.sum(w * (y - mu) * (act_a.astype(float) - act_b)) / np.sum(w))


def worst_by_program(y, a, b, w):
    """The largest loss over all mixtures of thresholds, at both sides of every breakpoint."""
    places = np.unique(np.r_[0.0, a, b, 1.0])
    points = [(mu, difference(y, a, b, w, mu, side)) for mu in places for side in (False, True)]
    mu, value = np.array(points).T
    found = linprog(-value, A_ub=np.stack([1 - mu, mu]), b_ub=[1, 1], method="highs")
    return -found.fun


PLACES = [0.0, 5e-324, 1e-12, 0.1, 0.25, 0.5, 0.75, 0.9, 1.0]


def draw(rng, n):
    places = rng.choice(PLACES, (2, n)) if rng.random() < 0.5 else rng.random((2, n))
    a, b = np.where(rng.random(n) < 0.2, places[0], places)  # ties between the two
    return rng.integers(0, 2, n), a, b, rng.choice([0.0, 0.5, 1.0, 7.0], n) + (np.arange(n) == 0)


@for_seeds(60)
def test_harm_and_gain_are_those_of_a_linear_program(seed):
    rng = np.random.default_rng(seed)
    y, a, b, w = draw(rng, int(rng.integers(1, 25)))
    found = rainproof.switch_guarantee(y, a, b, sample_weight=w, rng=0)
    assert found.harm == pytest.approx(worst_by_program(y, a, b, w), abs=1e-9)
    assert found.gain == pytest.approx(worst_by_program(y, b, a, w), abs=1e-9)
    for task, value, (first, second) in (
        (found.worst_task, found.harm, (a, b)),
        (found.best_task, found.gain, (b, a)),
    ):
        if task is None:
            assert value < 1e-9
        else:
            lost = task.payoff(task.best_response(first), y) - task.payoff(
                task.best_response(second), y
            )
            assert np.sum(w * lost) / np.sum(w) == pytest.approx(value, abs=1e-9)


@for_seeds(20)
def test_the_curve_and_its_standard_error_are_those_of_their_definition(seed):
    rng = np.random.default_rng(seed)
    y, a, b, w = draw(rng, int(rng.integers(2, 30)))
    groups = rng.integers(0, 5, len(y)) if seed % 2 else None
    found = rainproof.switch_guarantee(
        y, a, b, sample_weight=w if seed % 4 > 1 else None, groups=groups, rng=0
    )
    w = w if seed % 4 > 1 else np.ones(len(y))
    band, v = found.band(), w / w.sum()
    together = v if groups is None else np.array([v[groups == g].sum() for g in groups])
    for k, mu in enumerate(band["threshold"]):
        side = k % 2 == 1  # the end of a piece: predictions equal to it act
        assert band["loss"][k] == pytest.approx(difference(y, a, b, w, mu, side), abs=1e-12)
        act = (((p >= mu) if side else (p > mu)).astype(float) for p in (a, b))
        lost = (y - mu) * (next(act) - next(act))
        error = np.sqrt(np.sum(v * together * (lost - band["loss"][k]) ** 2))
        assert (band["high"][k] - band["low"][k]) / 2 == pytest.approx(1.959964 * error, abs=1e-6)
    at = np.r_[0.0, 1.0, rng.random(5), a, b]
    expected = [difference(y, a, b, w, mu, True) for mu in at]
    assert found.curve(at) == pytest.approx(expected, abs=1e-12)


POPULATIONS = {
    "to the truth": (lambda x: x**1.5, lambda x: x, lambda x: x**1.5),
    "from the truth": (lambda x: x**1.5, lambda x: x**1.5, lambda x: x),
    "inverted": (lambda x: x, lambda x: x, lambda x: 1 - x),
    "constant": (lambda x: x, lambda x: x, lambda x: 0 * x + 0.5),
    "rare": (lambda x: x / 50, lambda x: x / 20, lambda x: x / 50),
}


@for_each("name", POPULATIONS)
def test_the_bounds_fail_as_rarely_as_they_say(name):
    """At 80%, against the exact harm and gain of 200 predictions that are drawn with equal
    chance.
    """
    rate, old, new = POPULATIONS[name]
    x = (np.arange(200) + 0.5) / 200
    weight = np.r_[1 - rate(x), rate(x)]
    truth = rainproof.switch_guarantee(
        np.repeat([0, 1], 200), np.tile(old(x), 2), np.tile(new(x), 2), sample_weight=weight
    )
    rng, wrong = np.random.default_rng(1), np.zeros(2)
    for _ in range(25):
        z = rng.choice(x, 400)
        y = rng.random(400) < rate(z)
        found = rainproof.switch_guarantee(y, old(z), new(z), confidence_level=0.8, rng=rng)
        wrong += found.harm_bound < truth.harm, found.gain_at_least > truth.gain
    assert (wrong <= 10).all()  # 5 expected at most; more than 10 has a chance of 1 in 180


def test_groups_and_weights():
    rng = np.random.default_rng(2)
    p = rng.random(2000)
    y = rng.random(2000) < p**2
    plain = rainproof.switch_guarantee(y, p, p**2, rng=0)
    groups = np.repeat(np.arange(2000), 3)
    grouped = rainproof.switch_guarantee(
        np.repeat(y, 3), np.repeat(p, 3), np.repeat(p, 3) ** 2, groups=groups, rng=0
    )
    assert (grouped.groups, grouped.effective_n) == (2000, pytest.approx(2000))
    assert grouped.harm_bound == pytest.approx(plain.harm_bound, rel=1e-6)
    assert grouped.gain_at_least > 0.01
    rows = np.r_[np.arange(2000), 0]
    w = np.r_[np.ones(2000), 0.0]
    zero = rainproof.switch_guarantee(y[rows], p[rows], p[rows] ** 2, sample_weight=w, rng=0)
    assert zero.harm_bound == pytest.approx(plain.harm_bound, rel=1e-6)
    assert (
        rainproof.switch_guarantee(y, p, p**2, sample_weight=rng.exponential(size=2000)).effective_n
        < 1200
    )


EDGES = {  # rows, then harm and gain by hand
    "one row, better": (([1], [0.2], [0.7]), (0, 1)),
    "one row, worse": (([0], [0.2], [0.7]), (1, 0)),
    "one row, same": (([1], [0.2], [0.2]), (0, 0)),
    "one class": (([0, 0], [0.5, 0.0], [0.0, 0.25]), (0, 0.5)),
    "constants": (([0, 1, 0, 0], [0.2] * 4, [0.6] * 4), (7 / 12, 1 / 16)),
    "certain and wrong": (([0, 1], [0.0, 1.0], [1.0, 0.0]), (1, 0)),
    "both zeros": (([0, 1], [0.0, -0.0], [-0.0, 0.0]), (0, 0)),
    "next to zero": (([1, 1], [5e-324, 0.0], [0.0, 1e-12]), (0, 0.5)),
}


@for_each("name", EDGES)
def test_edge_cases(name):
    rows, expected = EDGES[name]
    found = rainproof.switch_guarantee(*rows, rng=0)
    assert (found.harm, found.gain) == pytest.approx(expected, abs=1e-12)
    assert found.gain_at_least == 0
    assert found.harm <= found.harm_bound <= 1
    json.dumps(found.to_dict(), allow_nan=False)


def test_weights_count_by_their_ratio():
    rng = np.random.default_rng(5)
    y, a, b, w = draw(rng, 40)
    plain = rainproof.switch_guarantee(y, a, b, sample_weight=w, rng=0)
    for factor in (1e-140, 1e140, 3.0):
        scaled = rainproof.switch_guarantee(y, a, b, sample_weight=w * factor, rng=0)
        for name in ("harm", "gain", "harm_bound", "gain_at_least", "effective_n"):
            assert getattr(scaled, name) == pytest.approx(getattr(plain, name), rel=1e-9, abs=1e-12)
    equal = rainproof.switch_guarantee(y, a, b, sample_weight=np.full(40, 1e-140), rng=0)
    assert equal.harm_bound == pytest.approx(
        rainproof.switch_guarantee(y, a, b, rng=0).harm_bound, abs=1e-9
    )
    with pytest.raises(
        rainproof.InputError, match="only the ratios of weights matter, so rescale them"
    ):
        rainproof.switch_guarantee(y, a, b, sample_weight=np.full(40, 1e-310), rng=0)
    heavy = rainproof.switch_guarantee(
        [1, 0, 1], [0.9, 0.2, 0.3], [0.1, 0.2, 0.4], sample_weight=[1e140, 1e120, 1.0]
    )
    assert (heavy.harm, heavy.harm_bound) == (pytest.approx(1), 1)


@for_each("weighted", [False, True])
def test_threads_give_the_same_bits(weighted, monkeypatch):
    rng = np.random.default_rng(9)
    y, a, b, w = draw(rng, 500)
    options = {"sample_weight": w if weighted else None, "rng": 0}
    one = rainproof.switch_guarantee(y, a, b, **options)
    monkeypatch.setattr("rainproof.core.switch_curve._ROWS_PER_THREAD", 1)
    two = rainproof.switch_guarantee(y, a, b, **options)
    assert one.to_dict() == two.to_dict()


def test_one_group_proves_nothing():
    rng = np.random.default_rng(6)
    p = rng.random(500)
    found = rainproof.switch_guarantee(rng.random(500) < p**2, p, p**2, groups=["all"] * 500, rng=0)
    assert (found.groups, found.effective_n, found.gain_at_least) == (1, 1, 0)
    assert found.harm_bound > 0.9


def test_nothing_changes_where_the_forecasts_agree():
    found = rainproof.switch_guarantee([0, 1], [0.2, 0.7], [0.2, 0.7], rng=0)
    assert (found.harm, found.gain, found.gain_at_least, found.worst_task) == (0, 0, 0, None)
    assert "do not prove a gain in any decision" in str(found)


def test_the_result_is_ready_for_json():
    rng = np.random.default_rng(3)
    p = rng.random(3000)
    y = rng.random(3000) < p**2
    found = rainproof.switch_guarantee(y, p, p**2, rng=4)
    told = json.loads(json.dumps(found.to_dict(), allow_nan=False))
    assert (told["seed"], told["n"], told["harm_bound"]) == (4, 3000, found.harm_bound)
    assert len(told["threshold"]) == len(told["loss"])
    assert repr(found).startswith("SwitchGuarantee(harm=")
    assert "there is a decision that gains at least" in str(found)


@for_each(
    "arguments, message",
    [
        (
            ([0, 1], [0.5, 1.2], [0.5, 0.5]),
            r"p_old must lie in \[0, 1\]; 1 value does not, the first is p_old\[1\] = 1.2",
        ),
        (([0, 1], [0.5, 0.5], [0.5, float("nan")]), "p_new must not contain NaN"),
        (([0, 2], [0.5, 0.5], [0.5, 0.5]), "y_true must be 0 or 1"),
        (([0, 1], [0.5, 0.5], [0.5]), "y_true and p_new must have the same length"),
        (([], [], []), "y_true and p_old must not be empty"),
        (
            ([0, 1], np.ma.array([0.5, 0.5], mask=[0, 1]), [0.5, 0.5]),
            r"p_old must not contain masked values; 1 value",
        ),
        (
            ([0, 1], pd.Series([0.5, 0.6]), pd.Series([0.5, 0.5], index=[1, 0])),
            "p_old and p_new have the same index in another order: align them first",
        ),
    ],
)
def test_bad_rows_are_named(arguments, message):
    with pytest.raises(rainproof.InputError, match=message):
        rainproof.switch_guarantee(*arguments)


@for_each(
    "options, message",
    [
        ({"sample_weight": [0, 0]}, "sample_weight must not be zero for every row"),
        (
            {"sample_weight": [1, -1]},
            r"sample_weight must be finite and not negative; 1 value does not",
        ),
        (
            {"groups": [1]},
            r"groups must have one entry for each of the 2 rows; its shape is \(1,\)",
        ),
        (
            {"groups": ["a", None]},
            r"groups must not contain missing values; 1 value does, the first is groups\[1\]",
        ),
        (
            {"groups": pd.Series([1, 2], index=[1, 0])},
            "y_true and groups have the same index in another order",
        ),
        *(
            ({"confidence_level": bad}, "confidence_level must be a number between 0 and 1")
            for bad in (0, 1, "x", True)
        ),
        ({"rng": -1}, "rng must be None, a non-negative integer"),
    ],
)
def test_bad_options_are_named(options, message):
    with pytest.raises(rainproof.InputError, match=message):
        rainproof.switch_guarantee(
            pd.Series([0, 1]), pd.Series([0.5, 0.6]), pd.Series([0.5, 0.7]), **options
        )


def test_confidence_may_be_as_large_as_a_double_allows():
    found = rainproof.switch_guarantee(
        [0, 1], [0.2, 0.7], [0.3, 0.4], confidence_level=1 - 2**-53, rng=0
    )
    assert found.harm_bound == 1
    json.dumps(found.to_dict(), allow_nan=False)


def test_the_curve_of_cells_at_round_thresholds_is_that_of_round_predictions():
    """Whoever acts from 0.35 on acts on a prediction of 0.35, which lies inside a cell."""
    rng = np.random.default_rng(4)
    old, new = rng.choice(np.arange(21) / 20, (2, 500))
    y = rng.random(500) < old
    cells = rainproof.scan({"a": old, "b": new, "y": y.astype(int)}, ["a", "b"], grid=64)
    mu = np.arange(21) / 20
    expected = rainproof.switch_guarantee(y, old, new, rng=0).curve(mu)
    np.testing.assert_allclose(
        rainproof.switch_guarantee(cells, rng=0).curve(mu), expected, atol=1e-12
    )
