"""Several classes: a sample for each follows the definition, two are one event, and broken rules
are named.
"""

from __future__ import annotations

import copy
import inspect
import pickle

import numpy as np
import pandas as pd
import pytest
from helpers.cases import for_each
from helpers.public import PUBLIC

import rainproof
from rainproof.core.sample import Sample

rng = np.random.default_rng(62)
N, K = 300, 4
P = rng.dirichlet(np.full(K, 0.7), N)
P[0] = [0.25, 0.25, 0.25, 0.25]
P[1] = [0, 0, 1, 0]
Y = np.array([rng.choice(K, p=row) for row in P])
NAMES = np.array(["ant", "bee", "cow", "dog"])


def test_top_label_by_the_definition():
    event, prob = [], []
    for row, y in zip(P.tolist(), Y, strict=True):
        best = row.index(max(row))
        event.append(int(best == y))
        prob.append(row[best])
    expected = rainproof.Sample(event, prob)
    for sample in (
        rainproof.Sample(Y, P).top_label,
        rainproof.Sample(Y.tolist(), P.tolist()).top_label,
        rainproof.Sample(NAMES[Y], P, labels=NAMES).top_label,
        rainproof.Sample(Y, P, labels=NAMES).top_label,
        rainproof.Sample(NAMES[Y], pd.DataFrame(P, columns=NAMES)).top_label,
        rainproof.Sample(Y, pd.DataFrame(P, columns=NAMES)).top_label,
    ):
        np.testing.assert_array_equal(sample.y_true, expected.y_true)
        np.testing.assert_array_equal(sample.y_prob, expected.y_prob)


def test_one_against_the_rest_by_the_definition():
    w, group = rng.random(N), np.arange(N) // 3
    w[4] = 0
    classes = rainproof.Sample(NAMES[Y], P, labels=NAMES.tolist(), sample_weight=w, groups=group)
    assert list(classes) == list(classes.classes) == NAMES.tolist()
    for k, name in enumerate(NAMES.tolist()):
        expected = rainproof.Sample(k == Y, P[:, k], sample_weight=w, groups=group)
        for column in ("y_true", "y_prob", "sample_weight"):
            np.testing.assert_array_equal(getattr(classes[name], column), getattr(expected, column))
        np.testing.assert_array_equal(classes[name].units.unit, expected.units.unit)
        for number in ("n", "n_draws", "groups", "total_weight", "effective_n"):
            assert (
                getattr(classes[name], number)
                == getattr(expected, number)
                == getattr(classes, number)
            )
        assert classes.rates[k] == pytest.approx(expected.event_rate, abs=1e-15)
    assert list(rainproof.Sample(Y, P)) == [0, 1, 2, 3]
    with pytest.raises(KeyError, match="'eel' is not among the classes 'ant', 'bee', 'cow', 'dog'"):
        classes["eel"]
    np.testing.assert_array_equal(classes.y_prob, P)
    np.testing.assert_array_equal(classes.y_true, Y)


def test_the_order_of_rows_does_not_matter():
    w, group = rng.integers(1, 3, N).astype(float), np.arange(N) // 3
    p = P.copy()
    p[10:20] = p[9]
    shuffled = rng.permutation(N)
    one = rainproof.Sample(Y, p, sample_weight=w, groups=group).in_order()
    names = (group * 7 % 100).astype(str)  # whatever groups are called
    other = rainproof.Sample(
        Y[shuffled], p[shuffled], sample_weight=w[shuffled], groups=names[shuffled]
    ).in_order()
    for column in ("which", "prob", "sample_weight"):
        np.testing.assert_array_equal(getattr(one, column), getattr(other, column))
    np.testing.assert_array_equal(one.top_label.units.unit, other.top_label.units.unit)
    again = pickle.loads(pickle.dumps(one))
    np.testing.assert_array_equal(again.prob, one.prob)
    assert repr(again) == "Sample(n=300, classes=(0, 1, 2, 3), groups=100)"


def test_two_columns_are_the_event_to_the_bit():
    p = np.stack([1 - P[:, 1], P[:, 1]], axis=1)
    y = (Y == 1).astype(int)
    words, frame = np.array(["no", "yes"])[y], pd.DataFrame(p, columns=["no", "yes"])
    expected = rainproof.Sample(y, p[:, 1])
    for sample in (
        rainproof.Sample(y, p),
        rainproof.Sample(y, p.tolist()),
        rainproof.Sample(y, frame),
        rainproof.Sample(words, frame),
        rainproof.Sample(words, p, labels=["no", "yes"]),
        rainproof.Sample(words, p, pos_label="yes"),
        rainproof.Sample(words, frame[["yes", "no"]], pos_label="yes"),
        rainproof.Sample(y.astype(float), p, fractional=True).ungrouped(),
    ):
        np.testing.assert_array_equal(sample.y_true, expected.y_true)
        np.testing.assert_array_equal(sample.y_prob, expected.y_prob)
    assert rainproof.guarantee(y, p) == rainproof.guarantee(y, p[:, 1])
    swapped = rainproof.Sample(words, frame, pos_label="no")
    np.testing.assert_array_equal(swapped.y_prob, p[:, 0])
    np.testing.assert_array_equal(swapped.y_true, 1 - y)
    with pytest.raises(
        rainproof.InputError, match=r"y_prob must sum to 1 in each row .*y_prob\[0\] = \[0.1, 0.2\]"
    ):
        rainproof.Sample([0], [[0.1, 0.2]], pos_label=1)


TAKEN = {"assess", "class_guarantee", "measure_classes", "swap_regret"}
MORE = {
    "compare": {"y_prob_b": P},
    "switch_guarantee": {"p_new": P},
    "find_threshold": {"recall": 0.9},
}
OF_ONE_EVENT = {
    name: function
    for name, function in PUBLIC.items()
    if inspect.isfunction(function)
    and next(iter(inspect.signature(function).parameters), "") == "y_true"
    if name not in TAKEN
}


@for_each("name", OF_ONE_EVENT)
def test_a_function_takes_several_classes_or_says_what_to_do(name):
    function, more = OF_ONE_EVENT[name], MORE.get(name, {})
    with pytest.raises(
        rainproof.InputError, match="has 4 classes, but this is about one event: choose a class"
    ):
        function(Y, P, **more)
    if name not in ("compare", "grade_table", "switch_guarantee"):  # which take no such sample
        with pytest.raises(
            rainproof.InputError, match="the sample has 4 classes, but this is about one event"
        ):
            function(rainproof.Sample(Y, P), **more)


def test_what_is_about_one_event_refuses_several_classes():
    sample = rainproof.Sample(Y, P)
    for call in (
        lambda: rainproof.calibration_test(Y, P.tolist()),
        lambda: rainproof.Accumulator().update(Y, P),
        lambda: rainproof.assess_many(Y, {"a": P, "b": P}),
    ):
        with pytest.raises(
            rainproof.InputError, match="has 4 classes, but this is about one event: choose a class"
        ):
            call()
    for call in (
        lambda: sample.compress(16),
        sample.distinct,
        lambda: sample.on_grid(8),
        lambda: sample.event_rate,
        lambda: sample.events,
        lambda: sample.event,
        lambda: sample.mean_prediction,
        lambda: sample.map(np.sqrt),
        lambda: sample.with_base_rate(0.1),
        lambda: sample.save("never.parquet"),
        lambda: sample + sample,
        lambda: rainproof.compare(sample, sample, paired=False),
        lambda: rainproof.switch_guarantee(sample),
    ):
        with pytest.raises(
            rainproof.InputError, match="the sample has 4 classes, but this is about one event"
        ):
            call()
    task = rainproof.DecisionTask.from_cost_matrix(1 - np.eye(4))
    with pytest.raises(rainproof.InputError, match=r"of several classes use task.best_response"):
        rainproof.decisions.decide(P, task)
    for option in ({"by": Y}, {"pos_label": 1}, {"fractional": True}):
        with pytest.raises(
            rainproof.InputError, match="is for predictions of one event; y_prob has 4 classes"
        ):
            rainproof.Sample(Y, P, **option)
    with pytest.raises(
        rainproof.InputError, match="labels name the classes of predictions with a column for each"
    ):
        rainproof.Sample(Y > 1, P[:, 0], labels=["a", "b"])
    moved = pd.Series(Y).iloc[::-1]
    with pytest.raises(rainproof.InputError, match="have the same index in another order"):
        rainproof.Sample(moved, pd.DataFrame(P))


def test_integers_and_single_precision():
    sure = np.eye(K, dtype=np.int8)[Y]
    assert rainproof.soft_binned_cdl(rainproof.Sample(Y, sure).top_label) == 0
    assert rainproof.Sample(Y, P.astype(np.float32))[2].y_prob.dtype == np.float32


def put(row, *values):
    changed = P.copy()
    changed[row, : len(values)] = values
    return changed


DIMENSIONS = "y_prob must have two dimensions, a column for each class; its shape is "
WRONG = {
    "one dimension": (Y, P[:, 0], {}, rf"{DIMENSIONS}\(300,\)"),
    "one column": (Y, P[:, :1], {}, rf"{DIMENSIONS}\(300, 1\)"),
    "text": (Y, P.astype(str), {}, "y_prob must hold numbers; it holds strings"),
    "two-dimensional labels": (
        np.stack([Y, Y, Y], axis=1),
        P,
        {},
        r"y_true must be one-dimensional; its shape is \(300, 3\)",
    ),
    "lengths": (Y[:9], P, {}, "y_true and y_prob must have the same length; they have 9 and 300"),
    "nan": (Y, put(7, np.nan), {}, r"y_prob must not contain NaN; 1 value does, the first is y_prob\[7\] = \[nan.*"),
    "outside": (Y, put(9, -0.5, 0.5, 0.5, 0.5), {}, r"y_prob must lie in \[0, 1\]; 1 value does not, the first is "
                r"y_prob\[9\] = \[-0.5, 0.5, 0.5, 0.5\]"),
    "sum": (Y, 0.9 * P, {}, r"y_prob must sum to 1 in each row \(within 0.0001\); 300 values do not, the first is "
            r"y_prob\[0\] = \[0.225, 0.225, 0.225, 0.225\]; several forecasts of one event go into a mapping .*"),
    "numbers": (Y, P, {"labels": [1, 2, 3, 4]}, r"y_true must be one of the 4 labels; .* the first is .* = 0"),
    "labels": (Y + 1, P, {}, r"y_true must be from 0 to 3; \d+ values do not, the first is y_true\[\d+\] = 4; "
               "pass labels to name the classes"),
    "names": (["eel"] * N, P, {"labels": NAMES}, r"y_true must be one of the 4 labels; 300 values do not, the first is "
              r"y_true\[0\] = 'eel'"),
    "few names": (Y, P, {"labels": ["a", "b"]}, r"labels must name each of the 4 classes once; they are \['a', 'b'\]"),
    "equal names": (Y, P, {"labels": [1, 1, 2, 3]}, "labels must name each of the 4 classes once; they are .*"),
    "masked": (Y, np.ma.masked_greater(P, 0.9), {}, "y_prob must not contain masked values; .*"),
}  # fmt: skip


@for_each("case", WRONG)
def test_what_breaks_a_rule_is_named(case):
    y, p, options, message = WRONG[case]
    with pytest.raises(rainproof.InputError, match=f"^{message}$"):
        Sample.from_classes(y, p, **options)


def test_many_classes_are_not_all_shown():
    with pytest.raises(rainproof.InputError, match=r"= \[0.5, 0.5, 0.5, 0.5, ...\];"):
        rainproof.Sample([0], [[0.5] * 6])


def test_rows_are_counted_over_all_blocks(monkeypatch):
    monkeypatch.setattr("rainproof.core.columns.ROWS_AT_ONCE", 64)
    p = P.copy()
    p[[70, 200, 290]] = 0.3
    with pytest.raises(
        rainproof.InputError, match=r"; 3 values do not, the first is y_prob\[70\] = "
    ):
        rainproof.Sample(Y, p)


def test_columns_of_classes_go_through_every_operation():
    """The predictions of each row, and its class, stay together; nothing is stale."""
    weight = np.random.default_rng(1).choice([0.5, 2.0], N)
    group = np.arange(N) // 3
    place = {tuple(row): k for k, row in enumerate(P.tolist())}
    before = rainproof.Sample(NAMES[Y], P, labels=NAMES, sample_weight=weight, groups=group)
    for make in (
        lambda s: s.take(group % 2 == 0),
        lambda s: s.split(folds=2, rng=np.random.default_rng(0))[1],
        lambda s: s.in_order(),
        lambda s: Sample.concat(s.split(folds=2, rng=np.random.default_rng(0))),
        copy.deepcopy,
        lambda s: pickle.loads(pickle.dumps(s)),
    ):
        after = make(before)
        at = [place[tuple(row)] for row in after.prob.tolist()]
        assert after.classes == before.classes
        np.testing.assert_array_equal(after.which, Y[at])
        np.testing.assert_array_equal(after.sample_weight, weight[at])
        assert after.n == len(set(at)) == len(at)
        assert after.groups == len(set(group[at]))
        assert after.total_weight == pytest.approx(weight[at].sum())
        for number, label in enumerate(NAMES.tolist()):
            one = after[label]
            np.testing.assert_array_equal(one.y_true, Y[at] == number)
            np.testing.assert_array_equal(one.y_prob, P[at, number])
            assert one.event_rate == pytest.approx(after.rates[number])
        np.testing.assert_array_equal(after.top_label.y_prob, P[at].max(axis=1))
        fresh = rainproof.Sample(
            NAMES[Y[at]], P[at], labels=NAMES, sample_weight=weight[at], groups=group[at]
        )
        assert after.digest == fresh.digest
        assert after.effective_n == pytest.approx(fresh.effective_n)
    moved = before.with_predictions(P[:, ::-1])
    np.testing.assert_array_equal(moved["ant"].y_prob, P[:, 3])
    np.testing.assert_array_equal(moved.top_label.y_prob, P.max(axis=1))
    assert (moved.total_weight, moved.effective_n) == (before.total_weight, before.effective_n)


def test_a_sample_of_one_event_has_no_classes():
    sample = rainproof.Sample(Y == 1, P[:, 1])
    assert sample.classes == ()
    for name in ("top_label", "which", "rates"):
        with pytest.raises(AttributeError, match=f"one event has no attribute '{name}'"):
            getattr(sample, name)
