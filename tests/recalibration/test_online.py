"""OnlineRecalibrator and OnlineForecaster: against the definition, against adversaries, and as files."""

from __future__ import annotations

import copy
import json
import math
import pickle

import numpy as np
import pytest
from helpers.online_oracle import Oracle
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

import rainproof
from rainproof import InputError, OnlineRecalibrator
from rainproof.core.files import digest_of
from rainproof.recalibration import OnlineForecaster, online

SPECIAL = [0.0, 1.0, 0.5, 0.25, 1e-12, 1 - 1e-12, 1 / 3]


def bases(n, seed):
    """Predictions with ties, points of the grid and extreme values, and outcomes that have little to do with them."""
    rng = np.random.default_rng(seed)
    p = np.where(rng.random(n) < 0.3, rng.choice(SPECIAL, n), rng.random(n))
    return p, (rng.random(n) < (1 - p if seed % 2 else p**2)).astype(np.uint8)


@pytest.mark.parametrize("grid", [2, 8, 32])
@pytest.mark.parametrize("seed", range(4))
def test_it_predicts_what_the_definition_says(grid, seed):
    p, y = bases(800, seed)
    r = OnlineRecalibrator(grid, rng=seed)
    oracle = Oracle(r._walk.seed, grid)
    for x, outcome in zip(p.tolist(), y.tolist(), strict=True):
        assert_allclose(r.probabilities(x), oracle.shares(x), atol=1e-12)
        i = oracle.predict(x)
        assert r.predict(x) == i / grid
        oracle.learn(i, outcome)
        r.update(outcome)
    assert_allclose(r._walk.bias, [oracle.bias.get(i / grid, 0) for i in range(grid + 1)], atol=1e-12)


@pytest.mark.parametrize("grid", [2, 8, 32])
def test_it_does_so_where_an_adversary_makes_it_toss(grid):
    r = OnlineRecalibrator(grid, rng=1)
    oracle = Oracle(r._walk.seed, grid)
    for _ in range(800):
        shares = oracle.shares(0.5)
        assert_allclose(r.probabilities(0.5), shares, atol=1e-12)
        i = oracle.predict(0.5)
        assert r.predict(0.5) == i / grid
        y = int(np.dot(shares, range(grid + 1)) / grid < 0.5)
        oracle.learn(i, y)
        r.update(y)
    assert_allclose(r._walk.margin, [oracle.margin.get(i / grid, 0) for i in range(grid + 1)])
    assert r._walk.margin.max() > 0  # a coin chose sometimes


@pytest.mark.parametrize("seed", range(4))
def test_a_forecast_without_a_model_is_the_definition_on_a_grid_that_grows(seed):
    y = np.random.default_rng(seed).random(1500) < [0.1, 0.9, 0.5, 0.3][seed]
    f = OnlineForecaster(rng=seed)
    oracle = Oracle(f._walk.seed, 4, grows=True)
    for outcome in y.tolist():
        assert_allclose(f.probabilities(), oracle.shares(oracle.base()), atol=1e-12)
        i = oracle.predict(oracle.base())
        assert f.predict() == i / oracle.m
        oracle.learn(i, outcome)
        f.update(outcome)
    assert f.grid == oracle.m == 16


def test_run_is_row_by_row():
    p, y = bases(3000, 7)
    whole, each = OnlineRecalibrator(rng=1), OnlineRecalibrator(rng=1)
    found = whole.run(p, y)
    for x, outcome, prediction in zip(p.tolist(), y.tolist(), found.tolist(), strict=True):
        assert each.predict(x) == prediction
        each.update(outcome)
    assert whole.to_dict() == each.to_dict()
    once, again = OnlineForecaster(rng=5).run(y), OnlineForecaster(rng=5).run(y)
    assert_array_equal(once, again)
    assert not np.array_equal(once, OnlineForecaster(rng=6).run(y))


def opposite_of_mean(f, past):
    return int(f.probabilities() @ np.arange(f.grid + 1) / f.grid < 0.5)


def opposite_of_likeliest(f, past):
    return int(f.probabilities().argmax() / f.grid < 0.5)


def opposite_of_last(f, past):
    return 0 if past and past[-1] else 1


ADVERSARIES = [opposite_of_mean, opposite_of_likeliest, opposite_of_last, lambda f, past: len(past) // 100 % 2]


def proven(f, delta=0.01):
    """The bound on the bias of each point, beyond its margin."""
    t, m = f.n, f.grid
    room = 2 * (m + 1) + 3 * (m + 1) * (1 + math.log(t)) + 5.6 * math.sqrt((m + 1) * t)
    return f._walk.margin + np.sqrt(3 * f._walk.number * math.log(room / delta))


@pytest.mark.parametrize("adversary", ADVERSARIES)
@pytest.mark.parametrize("grid", [None, 8])
def test_no_adversary_makes_a_point_more_biased_than_proven(adversary, grid):
    f = OnlineForecaster(grid, rng=3)
    past, predictions = [], []
    for _ in range(4000):
        y = adversary(f, past)
        predictions.append(f.predict())
        f.update(y)
        past.append(y)
    limit = proven(f)
    assert np.all(np.abs(f._walk.bias) <= limit)
    loss, c2 = rainproof.measures.calibration_decision_loss(past, predictions), 3 * math.log(1e6)
    assert loss <= 2 * f._walk.margin.sum() / 4000 + 2 * math.sqrt(2 * c2 / 4000) + c2 * f.grid * 4 / 4000
    assert loss < 0.15  # measured; a forecast of 1/2 against a coin that always lands on the other side has 1


def test_the_lemma_of_the_potential():
    """(Phi(R + 1, C + 1) + Phi(R - 1, C + 1)) / 2 <= Phi(R, C) + 3 / (2 (C + 1)) for all R <= C."""
    for c in [*range(1, 40), 1000, 10**6]:
        r = np.linspace(-2, min(c, 30 * math.sqrt(c)), 4001)
        log = [np.maximum(x, 0) ** 2 / (3 * k) for x, k in ((r + 1, c + 1), (r - 1, c + 1), (r, c))]
        top = np.max(log, axis=0)
        above, below, now = (np.exp(x - top) for x in log)
        assert np.all((above + below) / 2 <= now + 1.5 / (c + 1) * np.exp(-top) + 1e-12)


def test_the_weight_at_the_edge_is_at_most_what_the_proof_says():
    n = np.arange(10**5, dtype=float)
    edge = np.exp(1 / 3 + 1 / (3 * (n + 1))) * np.sinh(2 / (3 * np.sqrt(n + 1)))
    assert np.all(edge <= 1.4 / np.sqrt(n + 1))


def test_a_flipped_model_becomes_useful_again_and_a_calibrated_one_stays_so():
    rng = np.random.default_rng(0)
    p = rng.random(20_000)
    y = rng.random(20_000) < p
    calm = OnlineRecalibrator(rng=1).run(p, y)
    assert rainproof.measures.brier_score(y, calm) < rainproof.measures.brier_score(y, p) + 0.001
    flipped = np.where(np.arange(20_000) < 10_000, p, 1 - p)
    kept = OnlineRecalibrator(rng=1).run(flipped, y)
    assert rainproof.measures.brier_score(y, kept) < 0.23 < 0.32 < rainproof.measures.brier_score(y, flipped)
    assert rainproof.measures.calibration_decision_loss(y, kept) < 0.01


def test_late_outcomes_by_id_in_any_order():
    p, y = bases(500, 2)
    r = OnlineRecalibrator(rng=0)
    made = [r.predict(x, id=k) for k, x in enumerate(p.tolist())]
    assert r.waiting == 500
    assert set(np.round(32 * np.array(made), 9)) <= set(range(33))
    for k in np.random.default_rng(0).permutation(500).tolist():
        r.update(int(y[k]), id=k)
    expected = np.bincount(np.rint(32 * np.array(made)).astype(int), y - np.array(made), 33)
    assert_allclose(r._walk.bias, expected, atol=1e-12)
    assert (r.n, r.waiting) == (500, 0)


def test_an_outcome_that_comes_after_the_grid_has_grown_counts_at_its_value():
    f = OnlineForecaster(rng=0)
    value = f.predict(id="late")
    f.run(np.arange(700) % 2)
    assert f.grid == 16
    before = f._walk.number.copy()
    f.update(1, id="late")
    assert f._walk.number[round(16 * value)] == before[round(16 * value)] + 1


def test_a_prediction_that_is_given_up_teaches_nothing():
    r = OnlineRecalibrator(rng=0)
    r.predict(0.5, id="x")
    r.forget("x")
    assert (r.n, r.waiting) == (0, 0)


@pytest.mark.parametrize("bad", [[1], (1, 2), 1.0, True, {}, b"a"])
def test_an_id_is_text_or_an_integer_everywhere(bad):
    r = OnlineRecalibrator(rng=0)
    r.predict(0.5, id=1)
    for call in (lambda: r.predict(0.5, id=bad), lambda: r.update(1, id=bad), lambda: r.forget(bad)):
        with pytest.raises(InputError, match="id must be text or an integer"):
            call()
    assert r.waiting == 1


def test_an_id_from_numpy_is_a_plain_integer(tmp_path):
    r = OnlineRecalibrator(rng=0)
    r.predict(0.5, id=np.int64(7))
    with pytest.raises(InputError, match="7 waits for its outcome already"):
        r.predict(0.5, id=7)
    r.save(tmp_path / "state.json")
    r = rainproof.load(tmp_path / "state.json")
    with pytest.raises(InputError, match="y must be 0 or 1"):
        r.update(np.array([0, 1]), id=np.int64(7))
    r.update(np.True_, id=np.uint8(7))
    assert (r.n, r.waiting) == (1, 0)


@pytest.mark.parametrize("copied", [copy.copy, copy.deepcopy, lambda r: pickle.loads(pickle.dumps(r))])
def test_a_copy_continues_on_its_own(copied):
    r = OnlineRecalibrator(8, rng=3)
    r.run(*bases(200, 1))
    r.predict(0.3, id="a")
    other = copied(r)
    assert other.to_dict() == r.to_dict()
    r.update(1, id="a")
    assert (other.n, other.waiting) == (200, 1)
    other.update(1, id="a")
    assert [other.predict(0.4, id=k) for k in range(50)] == [r.predict(0.4, id=k) for k in range(50)]


@given(st.lists(st.tuples(st.sampled_from(["predict", "update", "save"]), st.floats(0, 1)), max_size=40))
@settings(deadline=None)
def test_a_stored_state_continues_as_if_nothing_had_happened(steps):
    one = other = OnlineRecalibrator(8, rng=4)
    other = OnlineRecalibrator.from_dict(one.to_dict())
    for k, (step, x) in enumerate(steps):
        if step == "predict":
            assert one.predict(x, id=k) == other.predict(x, id=k)
        elif step == "update" and one._waiting:
            first = next(iter(one._waiting))
            one.update(x < 0.5, id=first)
            other.update(x < 0.5, id=first)
        else:
            other = OnlineRecalibrator.from_dict(json.loads(json.dumps(other.to_dict())))
    assert one.to_dict() == other.to_dict()


def test_files(tmp_path):
    path = tmp_path / "state.json"
    f = OnlineForecaster(rng=0)
    f.run(np.arange(100) % 3 == 0)
    f.predict()
    f.save(path)
    g = rainproof.load(path)
    assert g.to_dict() == f.to_dict()
    assert repr(g) == "OnlineForecaster(grid=8, n=100, waiting=1)"
    g.update(1)
    with pytest.raises(InputError, match="exists and holds no online recalibrator: it is an online forecaster"):
        OnlineRecalibrator().save(path)
    with pytest.raises(InputError, match="cannot read"):
        rainproof.load(tmp_path / "none.json")


def broken(**changes):
    r = OnlineRecalibrator(4, rng=0)
    r.predict(0.5, id="a")
    data = {**r.to_dict(), **changes}
    return {**data, "digest": digest_of({key: value for key, value in data.items() if key != "digest"})}


@pytest.mark.parametrize(
    ("data", "message"),
    [
        ({**broken(), "n": 3}, "it is damaged"),
        (broken(version=2), "must have version 1"),
        (broken(grid=3), "'grid' must be a power of two"),
        (broken(grows=1), "'grows' true or false"),
        (broken(n=-1), "'n' must be a non-negative integer"),
        (broken(seed=2**64), "'seed' must be"),
        (broken(bias=[0.0] * 4), "'bias' must be a list of 5 numbers"),
        (broken(number=[0.5] * 5), "'number' must be a list of 5 numbers"),
        (broken(bias=[-9.0, 0.0, 0.0, 0.0, 0.0]), "'bias' must have numbers that outcomes can lead to"),
        (broken(margin=[0, 0, 0, 0, -1]), "'margin' must have numbers"),
        (broken(open=[9, 4, False]), "a point must be"),
        (broken(open=[1, 4, 0]), "a point must be"),
        (broken(waiting=None), "'waiting' must be a list"),
        (broken(waiting=[["a", 1, 3, True]]), "a point must be"),
        (broken(waiting=[["a", 1]]), "must have an id"),
        (broken(waiting=[["a", 1, 4, True]] * 2), "an id twice"),
        ({**broken(), "waiting": [[b"a", 1, 4, True]]}, "not in types of JSON"),
    ],
)
def test_what_was_not_written_by_rainproof_is_refused(data, message):
    with pytest.raises(InputError, match=message):
        OnlineRecalibrator.from_dict(data)


def test_bad_calls(monkeypatch):
    r = OnlineRecalibrator(rng=0)
    for p in (-0.1, 1.1, math.nan, "x", None, [0.1, 0.2]):
        with pytest.raises(InputError, match=r"p must be a number in \[0, 1\]"):
            r.predict(p)
    with pytest.raises(InputError, match="predict first"):
        r.update(1)
    r.predict(0.5)
    with pytest.raises(InputError, match="has no outcome yet"):
        r.predict(0.5)
    with pytest.raises(InputError, match="y must be 0 or 1; it is 2"):
        r.update(2)
    r.update(1)
    with pytest.raises(InputError, match="id must be text or an integer"):
        r.predict(0.5, id=1.5)
    r.predict(0.5, id="a")
    with pytest.raises(InputError, match="'a' waits for its outcome already"):
        r.predict(0.5, id="a")
    with pytest.raises(InputError, match="'b' is not"):
        r.update(1, id="b")
    monkeypatch.setattr(online, "MOST_WAITING", 1)
    with pytest.raises(InputError, match="wait for their outcome: update or forget some"):
        r.predict(0.5, id="c")
    with pytest.raises(InputError, match=r"p must lie in \[0, 1\]; 1 value does not"):
        r.run([0.5, 2.0], [0, 1])
    with pytest.raises(InputError, match="y must be"):
        OnlineForecaster(rng=0).run([0, 3])
    with pytest.raises(InputError, match="grid"):
        OnlineRecalibrator(5)
