"""OnlineRecalibrator: against the definition, against adversaries, and as files."""

from __future__ import annotations

import copy
import itertools
import json
import math
import pickle

import numpy as np
import pytest
from helpers.cases import for_each
from helpers.online_oracle import Oracle, points
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

import rainproof
from rainproof import InputError, OnlineRecalibrator
from rainproof.core.documents import digest_of
from rainproof.measures import brier_score, calibration_decision_loss, log_score
from rainproof.recalibration import online
from rainproof.recalibration._online import Mixture, Walk

SPECIAL = [0.0, 1.0, 0.5, 0.25, 1e-12, 1 - 1e-12, 1 / 3]


def bases(n, seed):
    """Predictions with ties, points of the grid and extreme values, and outcomes that have little
    to do with them.
    """
    rng = np.random.default_rng(seed)
    p = np.where(rng.random(n) < 0.3, rng.choice(SPECIAL, n), rng.random(n))
    return p, (rng.random(n) < (1 - p if seed % 2 else p**2)).astype(np.uint8)


def assert_same_state(walk, oracle):
    for name in ("bias", "margin", "spread"):
        table = getattr(oracle, name)
        assert_allclose(getattr(walk, name), [table.get(v, 0) for v in walk.points], atol=1e-9)
    assert_allclose(walk.mixture.weight.ravel(), oracle.weight, atol=1e-9)
    lines = [one for _, one in oracle.members if hasattr(one, "matrix")]
    expected = [[*one.at, one.matrix[0, 0], one.matrix[0, 1], one.matrix[1, 1]] for one in lines]
    assert_allclose(walk.mixture.line.reshape(-1, 5), expected, rtol=1e-7, atol=1e-9)
    assert (walk.grid, walk.mixture.scale, walk.mixture.batches) == (
        oracle.m,
        oracle.scale,
        oracle.batches,
    )


@for_each("grid", [2, 8, 64])
@for_each("seed", range(2))
def test_it_predicts_what_the_definition_says(grid, seed):
    p, y = bases(300, seed)
    r = OnlineRecalibrator(grid, rng=seed)
    assert r.points.tolist() == points(grid)
    oracle = Oracle(r._walk.seed, grid)
    for x, outcome in zip(p.tolist(), y.tolist(), strict=True):
        assert r.mixture(x) == pytest.approx(oracle.mean((x,)), abs=1e-9)
        made = oracle.predict((x,))
        assert r.predict(x) == made[0]
        oracle.learn(*made, outcome)
        r.update(outcome)
    assert_same_state(r._walk, oracle)


@for_each("grid", [2, 8, 64])
def test_it_does_so_where_an_adversary_makes_it_toss(grid):
    f = OnlineRecalibrator(grid, rng=1)
    oracle = Oracle(f._walk.seed, grid)
    for _ in range(400):
        expected = dict(oracle.ends(oracle.mean((0.5,))))
        shares = f.probabilities(0.5)
        assert_allclose(shares[shares > 0], list(expected.values()), atol=1e-9)
        assert f.points[shares > 0].tolist() == list(expected)
        made = oracle.predict((0.5,))
        assert f.predict(0.5) == made[0]
        y = int(shares @ f.points < 0.5)
        oracle.learn(*made, y)
        f.update(y)
    assert_same_state(f._walk, oracle)
    assert f._walk.margin.max() > 0  # a coin chose sometimes


def test_several_models_are_the_definition_in_any_order_of_their_names():
    p, y = bases(400, 1)
    q, _ = bases(400, 2)
    r = OnlineRecalibrator(16, rng=3)
    oracle = Oracle(r._walk.seed, 16, models=2)
    for a, b, outcome in zip(p.tolist(), q.tolist(), y.tolist(), strict=True):
        made = oracle.predict((a, b))
        named = {"old": a, "new": b} if r.n % 2 == 0 else {"new": b, "old": a}
        assert r.predict(named) == made[0]
        oracle.learn(*made, outcome)
        r.update(outcome)
    assert_same_state(r._walk, oracle)
    assert_array_equal(OnlineRecalibrator(16, rng=3).run({"old": p, "new": q}, y)[-1], made[0])


def test_batches_are_the_definition_and_ids_are_batches():
    p, y = bases(400, 3)
    sizes = [1, 1, 5, 4, 5, 30, 20, 17, 3, 1, 1, 1, 60, 40, 33, 64, 100, 14]
    assert sum(sizes) == len(p)
    day = np.repeat(np.arange(len(sizes)), sizes)
    whole, r = OnlineRecalibrator(16, rng=3), OnlineRecalibrator(16, rng=3)
    made = whole.run(p, y, day)
    oracle = Oracle(r._walk.seed, 16)
    scales = []
    for k in range(len(sizes)):
        rows = np.flatnonzero(day == k)
        expected = [oracle.predict((x,)) for x in p[rows].tolist()]
        assert (
            made[rows].tolist()
            == [one[0] for one in expected]
            == [r.predict(p[row], id=row) for row in rows]
        )
        for row, one in zip(rows, expected, strict=True):
            oracle.learn(*one, int(y[row]))
            r.update(y[row], id=row)
        scales.append(oracle.scale)
    assert scales == [1, 1, 8, 8, 8, 32, 32, 32, 32, 16, 8, 4, 64, 64, 64, 64, 128, 128]
    assert_same_state(r._walk, oracle)
    assert whole.to_dict() == r.to_dict()


def test_outcomes_that_are_late_in_other_ways_are_the_definition():
    p, y = bases(300, 4)
    r = OnlineRecalibrator(16, rng=3)
    oracle = Oracle(r._walk.seed, 16)
    waiting, scales = [], []
    for row, x in enumerate(p.tolist()):
        waiting.append((row, oracle.predict((x,))))
        assert r.predict(x, id=row) == waiting[-1][1][0]
        late = 0 if row < 50 else 20 if row < 150 else 3
        while len(waiting) > late:
            at, made = waiting.pop(0 if row % 7 else -1)
            oracle.learn(*made, int(y[at]))
            r.update(y[at], id=at)
        scales.append(oracle.scale)
    assert (scales[40], max(scales), scales[-1]) == (1, 32, 4)
    assert_same_state(r._walk, oracle)


def test_a_grid_that_grows_is_the_definition():
    y = np.random.default_rng(2).random(600) < 0.3
    walk = Walk(4, True, 11, Mixture(1))
    oracle = Oracle(11, 4, grows=True)
    for outcome in y.tolist():
        made, expected = walk.predict((0.5,)), oracle.predict((0.5,))
        assert made[0] == expected[0]
        walk.update(*made, outcome)
        oracle.learn(*expected, outcome)
    assert walk.grid == 16
    assert_same_state(walk, oracle)


def test_run_is_row_by_row():
    p, y = bases(3000, 7)
    whole, each = OnlineRecalibrator(), OnlineRecalibrator(rng=0)
    found = whole.run(p, y)
    for x, outcome, prediction in zip(p.tolist(), y.tolist(), found.tolist(), strict=True):
        assert each.predict(x) == prediction
        each.update(outcome)
    assert whole.to_dict() == each.to_dict()


def test_the_same_seed_gives_the_same_numbers():
    def attacked(rng):
        f = OnlineRecalibrator(8, rng)
        return [
            (f.predict(0.5), f.update(f.probabilities(0.5) @ f.points < 0.5))[0]
            for _ in range(2000)
        ]

    assert attacked(5) == attacked(5) != attacked(6)
    assert attacked(0) == [*attacked(0)]
    assert (
        OnlineRecalibrator()._walk.seed
        == OnlineRecalibrator()._walk.seed
        != OnlineRecalibrator(rng=np.random.default_rng())._walk.seed
    )


def test_points_stay_when_the_grid_grows_and_are_at_most_twice_as_far_from_the_ends_as_their_neighbours():
    for m in (2, 4, 16, 64, 256):
        v = np.array(points(m))
        assert set(points(m)) <= set(points(2 * m))
        assert np.all(v[1:] <= 2 * v[:-1])
        assert_array_equal(v, 1 - v[::-1])
        assert np.diff(v).max() == (1 / m if m > 2 else 0.25)
        step, middle = np.diff(v), (v[1:] + v[:-1]) / 2
        assert np.all(step <= 3 * np.sqrt(middle * (1 - middle)) / m)


def opposite_of_mean(f, past):
    return int(f.probabilities(0.5) @ f.points < 0.5)


def opposite_of_likeliest(f, past):
    return int(f.points[f.probabilities(0.5).argmax()] < 0.5)


def opposite_of_last(f, past):
    return 0 if past and past[-1] else 1


def largest_potential(f, past):
    def potential(y):
        at = np.flatnonzero(shares := f.probabilities(0.5))
        beyond = np.maximum(np.abs(f._walk.bias[at] + y - f.points[at]) - f._walk.margin[at], 0)
        return shares[at] @ np.exp(beyond**2 / (6 * (f._walk.spread[at] + 1)))

    return int(potential(1) > potential(0))


ADVERSARIES = [opposite_of_mean, opposite_of_likeliest, opposite_of_last, largest_potential]
ADVERSARIES += [lambda f, past: len(past) // 100 % 2, lambda f, past: len(past) % 50 == 0]


def proven(walk, delta=0.01):
    """The square of the factor of the proof, for the bias beyond the margin."""
    t, k = walk.n, len(walk.points)
    return (
        6
        * walk.mixture.scale
        * math.log((2 * k + 2.2 * k * math.log(1 + t) + 2.4 * math.sqrt(k * t)) / delta)
    )


def assert_proven(walk):
    """The bound on the bias of each point, and what the proof says about points with many
    rounds.
    """
    c2 = proven(walk)
    # the first point may be too high by 2^-30 a round, and the last one too low
    inner = slice(1, -1)
    assert np.all(np.abs(walk.bias) <= walk.margin + np.sqrt(c2 * walk.spread) + 1e-9)
    assert np.all(np.abs(walk.bias[inner]) <= walk.spread[inner])


@for_each("adversary", ADVERSARIES)
@for_each("grid", [None, 8])
def test_no_adversary_makes_a_point_more_biased_than_proven(adversary, grid):
    f = OnlineRecalibrator(grid, rng=3)
    past, predictions = [], []
    for _ in range(4000):
        y = adversary(f, past)
        predictions.append(f.predict(0.5))
        f.update(y)
        past.append(y)
    assert_proven(f._walk)
    loss, c2 = calibration_decision_loss(past, predictions), proven(f._walk)
    bound = (
        3 * f._walk.margin.sum()
        + 2.5 * math.sqrt(c2 * 2 * 4000)
        + c2 * (4 * len(f.points) + 1.6 * far(f.points))
    )
    assert loss <= bound / 4000
    # measured; a forecast of 1/2 against a coin that always lands on the other side has 1
    assert loss < 0.1
    # few enough points for 1,000 rounds
    assert calibration_decision_loss(past[:1000], predictions[:1000]) < 0.144


def far(v):
    """The largest sum of min(v, 1 - v) / |mu - v| over the points that are not next to mu."""
    least, found = np.minimum(v, 1 - v), []
    for i in range(len(v) - 1):
        for mu in (v[i], v[i + 1]):
            away = np.delete(np.abs(v - mu), [i, i + 1])
            found.append((np.delete(least, [i, i + 1]) / away).sum())
    return max(found)


@for_each("m", [64, 256, 512])
def test_the_sum_over_points_that_the_loss_of_every_decision_has(m):
    v = np.array(points(m))
    assert 4 * len(v) + 1.6 * far(v) <= 3 * m * (1 + math.log(m))


@for_each("steering", [(0.0, 1.0), (1e-9, 1 - 1e-9), (0.45, 0.55)])
@for_each("against", ["mean", "model"])
def test_any_start_will_do(steering, against):
    """The adversary also chooses what two models say, and with them where the walk starts."""
    rng = np.random.default_rng(4)
    r = OnlineRecalibrator(16, rng=5)
    for _ in range(4000):
        p = {"a": float(rng.choice(steering)), "b": float(rng.choice([*steering, 0.5]))}
        mean = r.probabilities(p) @ r.points
        r.predict(p)
        r.update(int(mean < 0.5 if against == "mean" else p["a"] < 0.5))
    assert_proven(r._walk)


@for_each("size", [7, 64])
def test_batches_are_as_biased_as_proven_at_most(size):
    """All outcomes of a batch are alike: there is one coin for each prediction, and none for the
    batch.
    """
    rng = np.random.default_rng(6)
    for outcome in (lambda day: day % 2, lambda day: rng.random() < 0.5, lambda day: day // 10 % 2):
        r = OnlineRecalibrator(16, rng=5)
        for day in range(6000 // size):
            r.run(
                rng.choice([0.2, 0.5, 0.9], size), np.full(size, int(outcome(day))), np.zeros(size)
            )
        assert r._walk.mixture.scale == 2 ** math.ceil(math.log2(size))
        assert_proven(r._walk)


def test_the_lemma_of_the_potential():
    """(Phi(R + 1, C + 1) + Phi(R - 1, C + 1)) / 2 <= Phi(R, C) + 3 / (4 (C + 1)) for all R <= C."""
    for c in [0.01, 0.3, 0.9, *range(1, 40), 1000, 10**6]:
        r = np.linspace(-2, min(c, 30 * math.sqrt(c)), 4001)
        log = [np.maximum(x, 0) ** 2 / (6 * k) for x, k in ((r + 1, c + 1), (r - 1, c + 1), (r, c))]
        top = np.max(log, axis=0)
        above, below, now = (np.exp(x - top) for x in log)
        assert np.all((above + below) / 2 <= now + 0.75 / (c + 1) * np.exp(-top) + 1e-12)


def test_the_weight_at_the_edge_is_at_most_what_the_proof_says():
    c = np.concatenate([np.linspace(0, 10, 1001), np.arange(10.0, 10**5)])
    edge = np.exp(1 / 6 + 1 / (6 * (c + 1))) * np.sinh(np.sqrt(1 / (c + 1)) / 3)
    assert np.all(edge <= 0.48 / np.sqrt(c + 1))


def losses(r, rounds):
    """The log losses of the mixture and of each model, and how far the first may be above the least
    of the others.
    """
    own, models, t = 0.0, None, 0
    for p, y in rounds(r):
        q = r.mixture(p)
        r.predict(p)
        r.update(y)
        with np.errstate(divide="ignore"):
            said = np.array(list(p.values()) if isinstance(p, dict) else [p])
            models = (0 if models is None else models) - np.log(said if y else 1 - said)
        own, t = own - math.log(q if y else 1 - q), t + 1
    b = 1 - 1 / (2 * len(models))
    return own, models, math.log(2 * len(models)) + b * math.log(t)


@given(
    st.lists(
        st.tuples(st.one_of(st.floats(0, 1), st.sampled_from(SPECIAL)), st.booleans()), min_size=1
    )
)
@settings(deadline=None)
def test_the_mixture_is_not_much_worse_than_the_model(sequence):
    own, (model,), more = losses(OnlineRecalibrator(), lambda _: sequence)
    assert own <= model + more + 1e-9


@given(st.lists(st.tuples(st.floats(0, 1), st.floats(0, 1), st.booleans()), min_size=1))
@settings(deadline=None)
def test_the_mixture_is_not_much_worse_than_the_best_of_two(sequence):
    own, models, more = losses(
        OnlineRecalibrator(), lambda _: [({"a": a, "b": b}, y) for a, b, y in sequence]
    )
    assert own <= min(models) + more + 1e-9


@for_each("right", [0.51, 0.7, 0.99])
@for_each("wrong", [0, 100, 1000])
def test_nor_against_outcomes_that_are_opposite_to_it(right, wrong):
    """The model is wrong for some rounds and right from then on; the outcome is what the mixture
    thinks less likely.
    """

    def rounds(r):
        for t in range(3000):
            for y in (0, 1):  # the model knows it
                p = right if (y == 1) == (t >= wrong) else 1 - right
                if (r.mixture(p) < 0.5) == (y == 1):
                    break
            yield p, y

    own, (model,), more = losses(OnlineRecalibrator(), rounds)
    assert own <= model + more


def test_nor_in_batches_with_the_size_of_a_batch_as_a_factor():
    rng = np.random.default_rng(0)
    for size, of in itertools.product(
        (5, 32), (lambda d, p: np.full(len(p), d % 2), lambda d, p: rng.random(len(p)) < p)
    ):
        r, own, model, days = OnlineRecalibrator(), 0.0, 0.0, 1000 // size
        for day in range(days):
            p = rng.uniform(0.05, 0.95, size)
            y = of(day, p).astype(bool)
            q = np.array([r.mixture(x) for x in p.tolist()])
            own, model = (
                own - np.log(np.where(y, q, 1 - q)).sum(),
                model - np.log(np.where(y, p, 1 - p)).sum(),
            )
            r.run(p, y, np.zeros(size))
        assert own <= model + r._walk.mixture.scale * (math.log(2) + math.log(days) / 2)


def streams(n=20_000):
    rng = np.random.default_rng(0)
    p, u, time = rng.random(n), rng.random(n), np.arange(n) / n
    rare = np.exp(rng.normal(math.log(0.008), 0.7, n))
    return {
        "calibrated": (p, u < p, 1.005),
        "rare": (rare, u < rare, 1.005),
        "seasonal": (p, u < np.clip(p + 0.15 * np.sin(16 * math.pi * time), 0, 1), 0.98),
        "overconfident": (p, u < 0.25 + p / 2, 0.94),
        "drifting": (p, u < p ** (0.5 + 1.5 * time), 0.94),
        "flipping": (np.where(time < 0.5, p, 1 - p), u < p, 0.52),
        "alternating": (
            p,
            u < np.clip(p + np.where(np.floor(16 * p) % 2 == 0, 0.1, -0.1), 0, 1),
            0.96,
        ),
    }


@for_each("name", streams())
def test_it_is_never_much_worse_than_the_model_and_better_where_that_is_wrong(name):
    p, y, factor = streams()[name]
    made = OnlineRecalibrator().run(p, y)
    assert brier_score(y, made) < factor * brier_score(y, p)
    assert calibration_decision_loss(y, made) < 0.025


def test_events_that_are_rare_are_never_predicted_at_0():
    p, y, _ = streams()["rare"]
    made = OnlineRecalibrator().run(np.where(np.arange(len(p)) % 100 == 0, 0.0, p), y)
    assert 0 < made.min() < 0.001
    assert log_score(y, made) < 1.02 * log_score(y, p)


def test_two_models_of_which_one_fails():
    rng = np.random.default_rng(1)
    p = rng.random(20_000)
    y = rng.random(20_000) < p
    models = {
        "first": np.where(np.arange(20_000) < 5000, p, rng.random(20_000)),
        "second": np.clip(p + 0.2, 0, 1),
    }
    made = OnlineRecalibrator().run(models, y)
    assert (
        brier_score(y, made)
        < 1.02 * brier_score(y, p)
        < 0.9 * min(brier_score(y, q) for q in models.values())
    )


@for_each("size", [10, 100])
def test_outcomes_that_come_in_batches_cost_little(size):
    for name, (p, y, _) in streams().items():
        made = OnlineRecalibrator().run(p, y, np.arange(len(p)) // size)
        assert brier_score(y, made) < 1.005 * brier_score(y, p), name


def test_late_outcomes_by_id_in_any_order():
    p, y = bases(500, 2)
    r = OnlineRecalibrator(rng=0)
    made = np.array([r.predict(x, id=k) for k, x in enumerate(p.tolist())])
    assert r.waiting == 500
    assert set(made) <= set(r.points)
    for k in np.random.default_rng(0).permutation(500).tolist():
        r.update(int(y[k]), id=k)
    assert_allclose(r._walk.bias, [(y - made)[made == v].sum() for v in r.points], atol=1e-12)
    assert (r.n, r.waiting) == (500, 0)


def test_an_outcome_that_comes_after_the_grid_has_grown_counts_at_its_value():
    walk = Walk(4, True, 0, Mixture(1))
    late = walk.predict((0.3,))
    for y in np.arange(700) % 2:
        walk.update(*walk.predict((0.5,)), y)
    assert walk.grid == 16
    before = walk.spread.copy()
    walk.update(*late, 1)
    assert_allclose((walk.spread - before)[walk.points == late[0]], 1 - late[0])


def test_a_prediction_that_is_given_up_teaches_nothing():
    r = OnlineRecalibrator(rng=0)
    r.predict(0.5, id="x")
    r.forget("x")
    assert (r.n, r.waiting) == (0, 0)


@for_each("bad", [[1], (1, 2), 1.0, True, {}, b"a"])
def test_an_id_is_text_or_an_integer_everywhere(bad):
    r = OnlineRecalibrator(rng=0)
    r.predict(0.5, id=1)
    for call in (
        lambda: r.predict(0.5, id=bad),
        lambda: r.update(1, id=bad),
        lambda: r.forget(bad),
    ):
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


@for_each("copied", [copy.copy, copy.deepcopy, lambda r: pickle.loads(pickle.dumps(r))])
def test_a_copy_continues_on_its_own(copied):
    r = OnlineRecalibrator(8, rng=3)
    r.run(*bases(200, 1))
    r.predict(0.3, id="a")
    other = copied(r)
    assert other.to_dict() == r.to_dict()
    r.update(1, id="a")
    assert (other.n, other.waiting) == (200, 1)
    other.update(1, id="a")
    assert [other.predict(0.4, id=k) for k in range(50)] == [
        r.predict(0.4, id=k) for k in range(50)
    ]


@given(
    st.lists(
        st.tuples(st.sampled_from(["predict", "update", "save"]), st.floats(0, 1)), max_size=40
    ),
    st.booleans(),
)
@settings(deadline=None)
def test_a_stored_state_continues_as_if_nothing_had_happened(steps, several):
    one = OnlineRecalibrator(8, rng=4)
    other = OnlineRecalibrator.from_dict(one.to_dict())
    for k, (step, x) in enumerate(steps):
        if step == "predict":
            p = {"a": x, "b": 1 - x} if several else x
            assert one.predict(p, id=k) == other.predict(p, id=k)
        elif step == "update" and one._waiting:
            first = next(iter(one._waiting))
            one.update(x < 0.5, id=first)
            other.update(x < 0.5, id=first)
        else:
            other = OnlineRecalibrator.from_dict(json.loads(json.dumps(other.to_dict())))
    assert one.to_dict() == other.to_dict()


def test_files(tmp_path):
    path = tmp_path / "state.json"
    f = OnlineRecalibrator(rng=0)
    f.run(np.full(100, 0.5), np.arange(100) % 3 == 0)
    f.predict(0.5)
    f.save(path)
    g = rainproof.load(path)
    assert g.to_dict() == f.to_dict()
    assert repr(g) == "OnlineRecalibrator(grid=256, n=100, waiting=1)"
    g.update(1)
    rainproof.RoundingPolicy(rainproof.DecisionTask.threshold(0.35), 32).save(path, overwrite=True)
    with pytest.raises(InputError, match="exists and holds no online recalibrator: it is a policy"):
        OnlineRecalibrator().save(path)
    with pytest.raises(InputError, match="cannot read"):
        rainproof.load(tmp_path / "none.json")


def broken(**changes):
    r = OnlineRecalibrator(2, rng=0)
    r.predict(0.5, id="a")
    data = {**r.to_dict(), **changes}
    return {
        **data,
        "digest": digest_of({key: value for key, value in data.items() if key != "digest"}),
    }


POINT = [0.5, 0.0, 0, [0.5] * 6]


@for_each(
    "data, message",
    [
        ({**broken(), "n": 3}, "it is damaged"),
        (
            broken(version=1),
            "must have version 2, the only one that this rainproof reads; it has 1",
        ),
        (broken(models=[]), "'models' must be null or a list of different names"),
        (broken(models=["a", "a"]), "'models' must be null"),
        (broken(models=["a", "b"]), "'weight' must have 2 x 6 numbers"),
        (broken(grid=3), "'grid' must be a power of two"),
        (broken(grows=1), "'grows' must be true or false"),
        (broken(n=-1), "'n' must be a non-negative integer"),
        (broken(scale=0), "'scale' must be"),
        (broken(seed=2**64), "'seed' must be"),
        (broken(bias=[0.0] * 4), "'bias' must have 59 numbers"),
        (broken(bias=[[0.0], [1.0, 2.0]]), "'bias' must have 59 numbers"),
        (broken(visits=[["x"] * 16]), "'visits' must have 1 x 16 numbers"),
        (broken(margin=[-1] * 59), "'margin' must have numbers that outcomes can lead to"),
        (broken(weight=[[0.5] * 6]), "'weight' must have numbers"),
        (broken(line=[[[0, 1, 1, 1, 1]] * 3]), "'line' must have numbers"),
        (broken(table=[[[1.0] * 16] * 2]), "'table' must have numbers"),
        (
            broken(open=[0.3, 0.0, 0, [0.5] * 6]),
            "a prediction must be a point, a margin, a coin and what 6 members said",
        ),
        (broken(open=[0.5, 0.0, 0, [0.5] * 5]), "a prediction must be"),
        (broken(open=[0.5, -1.0, 0, [0.5] * 6]), "a prediction must be"),
        (broken(open=[0.5, 0.0, 1, [0.5] * 6]), "a prediction must be"),
        (broken(open=[0.5, 0.0, 0, [1.5] * 6]), "a prediction must be"),
        (broken(waiting=None), "'waiting' must be a list"),
        (broken(waiting=[["a", *POINT[:3], 3]]), "a prediction must be"),
        (broken(waiting=[["a", 1]]), "must have an id"),
        (broken(waiting=[["a", *POINT]] * 2), "an id twice"),
        ({**broken(), "waiting": [[b"a", *POINT]]}, "not in types of JSON"),
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
        OnlineRecalibrator(rng=0).run([0.5, 0.5], [0, 3])
    with pytest.raises(InputError, match="batch must have a value for each of the 2 rows"):
        r.run([0.5, 0.2], [0, 1], [1])
    with pytest.raises(InputError, match="batch must not contain masked values"):
        r.run([0.5, 0.2], [0, 1], np.ma.masked_array([1, 1], [True, False]))
    with pytest.raises(InputError, match="grid"):
        OnlineRecalibrator(5)


def test_models_must_stay_the_same():
    r = OnlineRecalibrator()
    same = "the predictions of the same models by name each time"
    for bad in ({}, {1: 0.5}):
        with pytest.raises(InputError, match=same):
            r.predict(bad)
    with pytest.raises(InputError, match=r"p\['b'\] must be a number in \[0, 1\]; it is 2"):
        r.predict({"a": 0.5, "b": 2})
    with pytest.raises(InputError, match=r"p\['b'\] must lie in \[0, 1\]; 1 value does not"):
        r.run({"a": [0.5, 0.5], "b": [0.5, 2]}, [0, 1])
    r.predict({"a": 0.5, "b": 0.25}, id=1)
    for bad in (0.5, {"a": 0.5}, {"a": 0.5, "c": 0.5}, {"a": 0.5, "b": 0.5, "c": 0.5}):
        with pytest.raises(InputError, match=same):
            r.predict(bad)
    r = OnlineRecalibrator()
    r.predict(0.5, id=1)
    with pytest.raises(InputError, match=same):
        r.predict({"a": 0.5})


def test_a_prediction_can_be_asked_for_while_it_waits():
    r = OnlineRecalibrator()
    first, second = r.predict(0.7, id="a"), r.predict(0.2, id=np.int64(5))
    assert (r.prediction("a"), r.prediction(5)) == (first, second)
    r.update(1, id="a")
    with pytest.raises(InputError, match="waits for its outcome; 'a' is not"):
        r.prediction("a")
    with pytest.raises(InputError, match="id must be text or an integer; it is None"):
        r.prediction(None)


def test_checking_a_prediction_changes_nothing():
    r = OnlineRecalibrator()
    r.check({"old": 0.3, "new": 0.4})
    r.check(0.3)
    state = r.to_dict()
    for wrong in (1.5, "a", None, {}, {"old": 2.0}, {1: 0.5}):
        with pytest.raises(InputError, match="must be a number"):
            r.check(wrong)
    assert r.to_dict() == state
    r.predict({"old": 0.3, "new": 0.4})
    with pytest.raises(InputError, match="same models by name"):
        r.check(0.3)


def test_a_grid_that_is_stated_does_not_grow():
    assert OnlineRecalibrator().grows
    assert not OnlineRecalibrator(64).grows
    assert OnlineRecalibrator.from_dict(OnlineRecalibrator().to_dict()).grows
