"""Several classes: the views follow their definitions, and broken rules are named."""

from __future__ import annotations

import numpy as np
import pytest

import rainproof

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
        rainproof.Sample.from_multiclass(Y, P, view="top-label"),
        rainproof.Sample.from_multiclass(Y.tolist(), P.tolist(), view="top-label"),
        rainproof.Sample.from_multiclass(NAMES[Y], P, view="top-label", labels=NAMES),
    ):
        np.testing.assert_array_equal(sample.y_true, expected.y_true)
        np.testing.assert_array_equal(sample.y_prob, expected.y_prob)


def test_one_against_the_rest_by_the_definition():
    w = rng.random(N)
    classes = rainproof.Sample.from_multiclass(NAMES[Y], P, view="one-vs-rest", labels=NAMES.tolist(), sample_weight=w)
    assert isinstance(classes, rainproof.io.Segments)
    assert classes.by == ("class",)
    assert list(classes) == NAMES.tolist()
    for k, name in enumerate(NAMES.tolist()):
        np.testing.assert_array_equal(classes[name].y_true, np.equal(Y, k))
        np.testing.assert_array_equal(classes[name].y_prob, P[:, k])
        np.testing.assert_array_equal(classes[name].sample_weight, w)
    assert list(rainproof.Sample.from_multiclass(Y, P, view="one-vs-rest")) == [0, 1, 2, 3]
    assert classes.pooled.n == K * N


def test_integers_and_single_precision():
    sure = np.eye(K, dtype=np.int8)[Y]
    assert rainproof.soft_binned_cdl(rainproof.Sample.from_multiclass(Y, sure, view="top-label")) == 0
    single = rainproof.Sample.from_multiclass(Y, P.astype(np.float32), view="top-label")
    assert single.y_prob.dtype == np.float32


def put(row, *values):
    changed = P.copy()
    changed[row, : len(values)] = values
    return changed


DIMENSIONS = "y_prob must have two dimensions, a column for each class; its shape is "
WRONG = {
    "one dimension": (Y, P[:, 0], {}, rf"{DIMENSIONS}\(300,\)"),
    "one column": (Y, P[:, :1], {}, rf"{DIMENSIONS}\(300, 1\)"),
    "text": (Y, P.astype(str), {}, "y_prob must hold numbers; it holds values of type <U32"),
    "two-dimensional labels": (Y[:, None], P, {}, r"y_true must be one-dimensional; its shape is \(300, 1\)"),
    "lengths": (Y[:9], P, {}, "y_true and y_prob must have the same length; they have 9 and 300"),
    "nan": (Y, put(7, np.nan), {}, r"y_prob must not contain NaN; 1 value does, the first is y_prob\[7\] = \[nan.*"),
    "outside": (Y, put(9, -0.5, 0.5, 0.5, 0.5), {}, r"y_prob must lie in \[0, 1\]; 1 value does not, the first is "
                r"y_prob\[9\] = \[-0.5, 0.5, 0.5, 0.5\]"),
    "sum": (Y, 0.9 * P, {}, r"y_prob must sum to 1 in each row \(within 0.0001\); 300 values do not, the first is "
            r"y_prob\[0\] = \[0.225, 0.225, 0.225, 0.225\]"),
    "labels": (Y + 1, P, {}, r"y_true must be from 0 to 3; \d+ values do not, the first is y_true\[\d+\] = 4; "
               "pass labels to name the classes"),
    "names": (["eel"] * N, P, {"labels": NAMES}, r"y_true must be one of the 4 labels; 300 values do not, the first is "
              r"y_true\[0\] = 'eel'"),
    "few names": (Y, P, {"labels": ["a", "b"]}, r"labels must name each of the 4 classes once; they are \['a', 'b'\]"),
    "equal names": (Y, P, {"labels": [1, 1, 2, 3]}, "labels must name each of the 4 classes once; they are .*"),
    "view": (Y, P, {"view": "all"}, "view must be one of 'top-label', 'one-vs-rest'; it is 'all'"),
    "masked": (Y, np.ma.masked_greater(P, 0.9), {}, "y_prob must not contain masked values; .*"),
}  # fmt: skip


@pytest.mark.parametrize("case", WRONG)
def test_what_breaks_a_rule_is_named(case):
    y, p, options, message = WRONG[case]
    with pytest.raises(rainproof.InputError, match=f"^{message}$"):
        rainproof.Sample.from_multiclass(y, p, **{"view": "top-label", **options})


def test_many_classes_are_not_all_shown():
    with pytest.raises(rainproof.InputError, match=r"= \[0.5, 0.5, 0.5, 0.5, ...\]$"):
        rainproof.Sample.from_multiclass([0], [[0.5] * 6], view="top-label")


def test_rows_are_counted_over_all_blocks(monkeypatch):
    monkeypatch.setattr("rainproof.core.door._BLOCK", 64)
    p = P.copy()
    p[[70, 200, 290]] = 0.3
    with pytest.raises(rainproof.InputError, match=r"; 3 values do not, the first is y_prob\[70\] = "):
        rainproof.Sample.from_multiclass(Y, p, view="top-label")
