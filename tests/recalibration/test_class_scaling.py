"""Recalibration of several classes: fits against a general optimiser, the mean, its files, and what
is proven.
"""

from __future__ import annotations

import json
import pickle
import sqlite3
from dataclasses import replace

import duckdb
import numpy as np
import pandas as pd
import pytest
from helpers.cases import for_each
from scipy.optimize import minimize
from scipy.special import log_softmax

import rainproof
from rainproof import DecisionTask, Recalibrator
from rainproof.inference.class_bounds import mean_at_least
from rainproof.recalibration.class_scaling import MOST_CLASSES, ClassRows, fit_classes
from rainproof.recalibration.maps import ClassMap, ClassPart
from rainproof.recalibration.method_names import CLASS_METHODS

ANIMALS = ["cat", "dog", "eel"]
COSTS = [[0, 9, 9], [2, 0, 4], [2, 4, 0]]


def rows(n, k, seed, power=0.6, shift=0.3):
    """Overconfident predictions, with a bias towards the first classes."""
    rng = np.random.default_rng(seed)
    said = rng.dirichlet(np.linspace(2, 0.7, k), n)
    true = said**power * np.exp(-shift * np.arange(k))
    true /= true.sum(axis=1, keepdims=True)
    return (rng.random((n, 1)) > true.cumsum(axis=1)).sum(axis=1).clip(max=k - 1), said, true


def fit(method, p, y, w=None, *, times=1.0):
    """Fit one map to rows, whose logarithms may be multiplied."""
    weight = np.ones(len(y)) if w is None else w
    rows = ClassRows.of(p, y, weight)
    return fit_classes(method, rows._replace(logs=times * rows.logs))


def parameters(part):
    """Slopes and intercepts as one array, as `penalized_loss` takes them."""
    if part.method == "temperature":
        return part.slope
    return np.append(np.ravel(part.slope), part.intercept)


def penalized_loss(theta, method, logs, y, w, scale):
    """Minus the logarithm of likelihood and prior, row by row from the definition."""
    k = logs.shape[1]
    slopes = {"temperature": 1, "vector": k, "matrix": k * k}[method]
    slope = theta[:slopes]
    intercept = np.append(theta[slopes:], np.zeros(k - len(theta[slopes:])))
    is_own = np.eye(k).ravel() if method == "matrix" else np.ones(slopes)
    precision = np.where(is_own, 1 / 16, max(1 / 16, 4 * (k - 1))) / scale**2
    loss = precision @ (slope - scale * is_own) ** 2 / 2 + (intercept**2).sum() / 16 / 2
    for row, which, weight in zip(logs, y, w, strict=True):
        score = slope.reshape(k, k) @ row if method == "matrix" else slope * row
        loss -= weight * log_softmax(score + intercept)[which]
    return loss


@for_each("method", ["temperature", "vector", "matrix"])
def test_a_scaling_is_the_most_likely_one(method):
    y, p, _ = rows(150, 3, 1)
    w = np.random.default_rng(2).random(150) + 0.5
    scale = 1.0 if method == "temperature" else fit("temperature", p, y, w).slope.item()
    found = parameters(fit(method, p, y, w))
    data = (method, np.log(p), y, w, scale)
    best = minimize(penalized_loss, found, data, method="BFGS", options={"gtol": 1e-7})
    assert penalized_loss(found, *data) <= best.fun + 1e-6
    np.testing.assert_allclose(found, best.x, atol=2e-3)


@for_each("method", ["temperature", "vector", "matrix"])
def test_many_rows_are_fitted_in_blocks_with_a_curvature_from_some(method, monkeypatch):
    y, p, _ = rows(150, 3, 1)
    part = fit(method, p, y)
    monkeypatch.setattr("rainproof.recalibration.class_scaling.CURVATURE_ROWS", 60)
    monkeypatch.setattr("rainproof.recalibration.maps.BLOCK", 100)
    np.testing.assert_allclose(fit(method, p, y).apply(p), part.apply(p), atol=2e-4)


@for_each("method", ["vector", "matrix"])
def test_a_forecast_that_is_more_confident_is_pulled_as_much(method):
    y, p, _ = rows(60, 4, 5)
    part = fit(method, p, y)
    sharper = fit(method, p, y, times=5)
    np.testing.assert_allclose(5 * sharper.slope, part.slope, atol=0.01)
    np.testing.assert_allclose(sharper.intercept, part.intercept, atol=0.01)


@for_each("method", ["vector", "matrix"])
def test_a_forecast_that_says_nothing_can_be_scaled(method):
    """Its temperature is near 0, or below."""
    y, p, _ = rows(60, 4, 5)
    useless = fit(method, p, np.random.default_rng(6).permutation(y))
    assert np.isfinite(useless.slope).all()


def test_isotonic_is_that_of_each_class_divided_by_the_sum():
    y, p, _ = rows(400, 4, 3)
    value = np.stack(
        [Recalibrator("isotonic").fit(p[:, k], y == k).predict(p[:, k]) for k in range(4)], axis=1
    )
    found = Recalibrator("isotonic").fit(p, y)
    np.testing.assert_allclose(
        found.predict(p), value / value.sum(axis=1, keepdims=True), atol=1e-12
    )


def test_the_mean_of_the_maps_is_weighted_by_likelihood():
    y, p, true = rows(1500, 3, 4)
    found = Recalibrator().fit(p, y, labels=ANIMALS)
    assert [c.method for c in found.candidates_] == list(CLASS_METHODS)
    loss = np.array([c.log_loss for c in found.candidates_]) * 1500
    weight = np.exp(loss.min() - loss)
    weight[weight < 0.01 * weight.sum()] = 0
    np.testing.assert_allclose(
        [c.weight for c in found.candidates_], weight / weight.sum(), atol=1e-9
    )
    value = sum(part.weight * part.apply(p) for part in found.map_.parts)
    np.testing.assert_allclose(found.predict(p), value, atol=1e-12)
    np.testing.assert_allclose(found.predict(p).sum(axis=1), 1, atol=1e-14)
    assert np.abs(found.predict(p) - true).mean() < 0.3 * np.abs(p - true).mean()
    assert found.method_ == "mean"
    assert found.certificate_ is None  # with fewer than 2,000 rows
    assert found.n_ == 1500
    assert "The map is the weighted mean" in str(found)


def test_the_order_of_rows_and_the_container_do_not_matter():
    y, p, _ = rows(600, 3, 5)
    at = np.random.default_rng(0).permutation(600)
    one = Recalibrator().fit(p, y)
    for other in (
        Recalibrator().fit(p[at], y[at]),
        Recalibrator().fit(rainproof.Sample(y, p)),
        Recalibrator().fit(p.tolist(), y.tolist()),
    ):
        np.testing.assert_array_equal(other.predict(p), one.predict(p))


def test_the_columns_of_a_frame_are_found_by_name():
    y, p, _ = rows(600, 3, 5)
    frame = pd.DataFrame(p, columns=ANIMALS)
    named = Recalibrator().fit(frame, np.array(ANIMALS)[y])
    assert named.map_.classes == tuple(ANIMALS)
    without_names = Recalibrator().fit(p, y).predict(p)
    np.testing.assert_array_equal(named.predict(frame[["eel", "cat", "dog"]]), without_names)


def test_weights_of_equal_size_change_nothing():
    y, p, _ = rows(600, 3, 5)
    doubled = Recalibrator("temperature").fit(p, y, sample_weight=np.full(600, 2.0))
    np.testing.assert_allclose(
        doubled.predict(p), Recalibrator("temperature").fit(p, y).predict(p), atol=1e-9
    )


def test_rows_without_weight_are_none():
    y, p, _ = rows(600, 3, 5)
    kept = np.random.default_rng(1).random(600) < 0.7
    ours, theirs = (
        Recalibrator().fit(p, y, sample_weight=kept * 1.0),
        Recalibrator().fit(p[kept], y[kept]),
    )
    np.testing.assert_allclose(ours.predict(p), theirs.predict(p), atol=1e-12)


def test_two_columns_are_the_event():
    y, p, _ = rows(2500, 2, 6)
    one, two = Recalibrator().fit(p[:, 1], y), Recalibrator().fit(p, y)
    assert two.certificate_ == one.certificate_
    np.testing.assert_array_equal(two.predict(p)[:, 1], one.predict(p[:, 1]))
    np.testing.assert_array_equal(two.predict(p)[:, 0], 1 - one.predict(p[:, 1]))
    words = Recalibrator().fit(p, np.array(["no", "yes"])[y], labels=["no", "yes"])
    np.testing.assert_array_equal(words.predict(p), two.predict(p))


@pytest.fixture(scope="module")
def certified():
    y, p, _ = rows(6000, 3, 7, power=0.4)
    task = DecisionTask.from_cost_matrix(COSTS, actions=ANIMALS, abstain=1)
    return y, p, task, Recalibrator().fit(p, y, labels=ANIMALS, task=task)


def test_what_is_certified(certified):
    y, p, task, found = certified
    proof = found.certificate_
    assert (proof.n, found.n_, proof.groups) == (1500, 4500, None)
    assert 0 <= proof.harm < proof.harm_bound < 0.1
    assert proof.loss_bound < 0.1
    assert 0 < proof.gain_at_least < 0.5
    assert proof.gain_class in ANIMALS
    assert 0 < proof.saving_at_least < proof.saving

    def cost(q):
        return -task.payoff(task.best_response(q), y).mean()

    assert cost(p) - cost(found.predict(p)) == pytest.approx(proof.saving, abs=0.1)
    for words in (
        "No decision about any one class loses more than",
        "In the task it saves",
        "for all classes",
    ):
        assert words in str(found)


def test_what_is_certified_of_groups(certified):
    y, p, _, found = certified
    groups = np.arange(6000) // 2
    grouped = Recalibrator().fit(p, y, groups=groups).certificate_
    assert (grouped.groups, grouped.saving) == (750, None)
    assert grouped.harm_bound > found.certificate_.harm_bound
    assert "750 groups of rows were drawn independently" in str(grouped)
    assert str(grouped).endswith(
        "will be used, and their sizes do not depend on predictions or outcomes."
    )


def test_the_harm_bound_is_that_of_the_worst_class():
    """With one class that decides, the bound is that of the class alone, at the full error."""
    y, p, _ = rows(3000, 3, 8)
    found = Recalibrator("temperature").fit(p, y)
    new = found.predict(p)
    alone = [rainproof.switch_guarantee(y == k, p[:, k], new[:, k]) for k in range(3)]
    bound, harm = rainproof.inference.class_bounds.harm_bound(rainproof.Sample(y, p), new, 0.05)
    assert harm == pytest.approx(max(one.harm for one in alone), abs=1e-12)
    assert bound >= max(one.harm_bound for one in alone) - 1e-12
    assert bound <= max(one.harm_bound for one in alone) + 0.002


def test_files(certified, tmp_path):
    y, p, _, found = certified
    again = Recalibrator.from_dict(json.loads(json.dumps(found.to_dict())))
    np.testing.assert_array_equal(again.predict(p), found.predict(p))
    assert again.certificate_ == found.certificate_
    assert again.candidates_ == found.candidates_
    found.save(tmp_path / "map.json")
    np.testing.assert_array_equal(
        rainproof.load(tmp_path / "map.json").predict(p), found.predict(p)
    )
    every = Recalibrator(["isotonic"]).fit(p[:300], y[:300])
    read = Recalibrator.from_dict(json.loads(json.dumps(every.to_dict())))
    np.testing.assert_array_equal(read.predict(p), every.predict(p))
    assert len(pickle.dumps(found)) < 10_000  # no rows
    for change in ({"classes": ["a"]}, {"parts": [{}]}, {"parts": 3}):
        data = found.to_dict()
        data["map"] = {**data["map"], **change}
        with pytest.raises(rainproof.InputError):
            Recalibrator.from_dict(data)


def test_onnx(certified):
    import onnxruntime as runtime

    y, p, _, _ = certified
    q = np.vstack([p[:500], [[0, 0, 1], [1, 0, 0], [1e-12, 0.5, 0.5 - 1e-12]]])
    for methods in (*CLASS_METHODS, ["isotonic", "vector", "none"]):
        found = Recalibrator(methods).fit(p[:900], y[:900])
        session = runtime.InferenceSession(found.to_onnx().SerializeToString())
        np.testing.assert_allclose(
            session.run(None, {"p": q})[0], found.predict(q), rtol=1e-12, atol=1e-15
        )


def test_sql(certified):
    y, p, _, _ = certified
    q = np.vstack([p[:60], [[0, 0, 1], [1, 0, 0], [1e-14, 0.5, 0.5 - 1e-14], [0.30004, 0.3, 0.4]]])
    wrong = [[None, 0.5, 0.5], [0.5, 0.6, 0.1], [-0.1, 0.6, 0.5], [float("nan"), 0.5, 0.5]]
    duck, lite = duckdb.connect(), sqlite3.connect(":memory:")
    for db in (duck, lite):
        db.execute(
            'CREATE TABLE t (i INTEGER, "a b" DOUBLE PRECISION, b DOUBLE PRECISION, c DOUBLE '
            "PRECISION)"
        )
        db.executemany(
            "INSERT INTO t VALUES (?, ?, ?, ?)",
            [(i, *row) for i, row in enumerate([*q.tolist(), *wrong])],
        )
    for methods in (*CLASS_METHODS, ["isotonic", "vector", "none"], "auto"):
        found = Recalibrator(methods).fit(p[:500], y[:500], labels=ANIMALS)
        if methods == "auto":  # weights of all kinds
            parts = [
                Recalibrator(method).fit(p[:500], y[:500]).map_.parts[0] for method in CLASS_METHODS
            ]
            found.map_ = ClassMap(
                classes=tuple(ANIMALS), parts=tuple(replace(part, weight=1 / 6) for part in parts)
            )
        for db, dialects in ((duck, ["ansi", "duckdb", "postgresql"]), (lite, ["sqlite"])):
            for dialect in dialects:
                told = found.to_sql(["a b", "b", "c"], dialect=dialect)
                assert list(told) == ANIMALS
                got = db.execute(f"SELECT {', '.join(told.values())} FROM t ORDER BY i").fetchall()
                np.testing.assert_allclose(
                    np.array(got[: len(q)], float), found.predict(q), rtol=1e-12, atol=1e-15
                )
                assert got[len(q) :] == [(None,) * 3] * 4
    duck.close()
    lite.close()


def test_sql_that_cannot_be_written_is_refused(certified):
    y, p, _, _ = certified
    found = Recalibrator().fit(p[:500], y[:500])
    steep = ClassPart(method="vector", weight=1.0, slope=np.full(3, 60.0), intercept=np.zeros(3))
    found.map_ = ClassMap(classes=(0, 1, 2), parts=(steep,))
    for call, message in (
        (lambda: found.to_sql(["a", "b", "c"]), "to_sql needs a map with smaller slopes"),
        (lambda: found.to_sql("abc"), "p must name 3 columns, one for each class; it is 'abc'"),
        (lambda: found.to_sql(["a", "b"]), "p must name 3 columns, one for each class"),
        (lambda: found.to_sql(["a", "b", "c"], by="s"), "by must name nothing"),
        (
            lambda: Recalibrator().fit(p[:99, 0], y[:99] == 0).to_sql(["a"]),
            "p must name one column, of the event",
        ),
    ):
        with pytest.raises(rainproof.InputError, match=message):
            call()


def test_many_classes_leave_out_what_has_too_many_parameters(monkeypatch):
    y, p, _ = rows(1200, 25, 9)
    assert "matrix" not in {c.method for c in Recalibrator().fit(p, y).candidates_}
    monkeypatch.setitem(MOST_CLASSES, "vector", 10)
    found = Recalibrator().fit(p, y)
    assert [c.method for c in found.candidates_] == ["temperature", "none", "isotonic", "constant"]


def test_methods_that_are_for_fewer_classes_are_refused():
    y, p, _ = rows(300, 25, 9)
    message = "methods must name one for 25 classes; matrix: up to 20"
    with pytest.raises(rainproof.InputError, match=message):
        Recalibrator("matrix").fit(p, y)
    assert Recalibrator(["matrix", "none"]).fit(p, y).method_ == "none"


def test_sure_predictions_and_classes_that_never_occur():
    y, p, _ = rows(300, 4, 10)
    p[:20] = np.eye(4)[y[:20]]
    p[20:24] = np.eye(4)[(y[20:24] + 1) % 4]  # impossible, and it happened
    y[y == 3] = 0
    found = Recalibrator().fit(p, y)
    q = found.predict(p)
    assert np.isfinite(q).all()
    assert (q[np.arange(300), y] > 0).all()
    np.testing.assert_allclose(q.sum(axis=1), 1, atol=1e-14)


def test_nothing_is_fitted_to_few_rows_or_one_class():
    y, p, _ = rows(300, 4, 10)
    with pytest.warns(rainproof.FewRowsWarning, match="nothing is fitted to fewer than 20"):
        few = Recalibrator().fit(p[:10], y[:10])
    np.testing.assert_allclose(few.predict(p), p, atol=1e-15)
    with pytest.warns(rainproof.OneClassWarning, match="y holds one outcome only"):
        assert Recalibrator().fit(p[:100], np.zeros(100, int)).method_ == "none"


def test_what_is_refused(certified):
    y, p, task, found = certified
    cases = {
        "p must have 3 columns, one for each class": lambda: found.predict(p[:, :2]),
        "p must sum to 1 in each row": lambda: found.predict(p / 2),
        "by was not given to fit": lambda: found.predict(p, by=y),
        "plot is for one event": found.plot,
        "by is for predictions of one event; y_prob has 3 classes": lambda: Recalibrator().fit(
            p, y, by=y
        ),
        "methods must be 'auto' or among 'temperature', 'vector'": lambda: Recalibrator(
            "gamma"
        ).fit(p, y),
        "task must have a payoff for each of 4 classes": lambda: Recalibrator().fit(
            *rows(99, 4, 1)[1::-1], task=task
        ),
        "task is for more than two classes": lambda: Recalibrator().fit(p[:, 0], y == 0, task=task),
        "labels are for predictions with a column for each": lambda: Recalibrator().fit(
            p[:, 0], y == 0, labels=["a"]
        ),
        "pos_label is for one column": lambda: Recalibrator().fit(
            rows(99, 2, 1)[1], rows(99, 2, 1)[0], pos_label=1
        ),
        "y must be from 0 to 2": lambda: Recalibrator().fit(p, y + 1),
        "y_prob must not be given with a Sample": lambda: Recalibrator().fit(
            rainproof.Sample(y, p), y
        ),
    }
    for message, call in cases.items():
        with pytest.raises(rainproof.InputError, match=message):
            call()


def test_a_proven_mean():
    rng = np.random.default_rng(11)
    y, p, _ = rows(800, 3, 11)
    sample = rainproof.Sample(y, p)
    gain = rng.choice([-1, 0, 0.5, 1], 800, p=[0.05, 0.6, 0.2, 0.15])
    bound = mean_at_least(gain, sample, 0.05)
    assert 0.1 < bound < gain.mean()
    assert mean_at_least(-gain, sample, 0.05) == 0
    grouped = rainproof.Sample(y, p, groups=np.arange(800) // 8)
    assert mean_at_least(gain, grouped, 0.05) < bound
    wrong = sum(
        mean_at_least(
            rng.choice([-1.0, 1.0], 100, p=[0.45, 0.55]), rainproof.Sample(y[:100], p[:100]), 0.2
        )
        > 0.1
        for _ in range(200)
    )
    assert wrong <= 40


@for_each("method", ["logistic", "beta", "bins_8"])
def test_a_method_of_one_event_is_asked_for_by_name(tmp_path, method):
    y, p, _ = rows(1500, 3, 2)
    found = Recalibrator(method).fit(p, y)
    (part,) = found.map_.parts
    assert part.method == found.method_ == method
    maps = [Recalibrator(method).fit(p[:, k], y == k).map_ for k in range(3)]
    one = np.stack([own.apply(p[:, k]) for k, own in enumerate(maps)], axis=1)
    np.testing.assert_allclose(found.predict(p), one / one.sum(axis=1, keepdims=True), atol=1e-9)
    found.save(tmp_path / "map.json")
    assert (rainproof.load(tmp_path / "map.json").predict(p) == found.predict(p)).all()
    together = Recalibrator([method, "temperature", "constant"]).fit(p, y)
    assert [c.method for c in together.candidates_] == ["temperature", "constant", method]


def test_auto_does_not_try_methods_of_one_event():
    y, p, _ = rows(300, 3, 2)
    assert {c.method for c in Recalibrator().fit(p, y).candidates_} <= set(CLASS_METHODS)
