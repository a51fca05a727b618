"""Measures of several classes: each form by its definition, and which of them is truthful."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

import rainproof
from rainproof.measures import measure_classes, two_bin_calibration_error

rng = np.random.default_rng(5)
P = rng.dirichlet([0.5, 1, 2], 400)
Y = (rng.random((400, 1)) > P.cumsum(axis=1)).sum(axis=1)
W = rng.random(400)
ATB = "two_bin_calibration_error"


def test_every_form_by_its_definition():
    found = measure_classes(Y, P, sample_weight=W, labels=["a", "b", "c"])
    assert [m.measure for m in found.measures] == list(rainproof.list_measures())
    for name, measure in rainproof.list_measures().items():
        each = [measure(k == Y, P[:, k], sample_weight=W) for k in range(3)]
        top = measure(P.argmax(axis=1) == Y, P.max(axis=1), sample_weight=W)
        m = found[name]
        assert (m.top_label, m.class_max) == pytest.approx((top, max(each)), rel=1e-13)
        assert m.worst_class == "abc"[int(np.argmax(each))]
        assert m.by_class == pytest.approx(each, rel=1e-13)
        assert m.class_mean == pytest.approx(np.mean(each), rel=1e-13)
    few = measure_classes(rainproof.Sample(Y, P), measures=["brier_score"])
    assert few["brier_score"].class_mean == pytest.approx(
        ((P - np.eye(3)[Y]) ** 2).mean(), rel=1e-13
    )
    assert few.to_dict()["measures"][0]["by_class"][2] == rainproof.measures.brier_score(
        Y == 2, P[:, 2]
    )
    assert str(few).splitlines()[0] == "measure      top label  class mean  class max  worst class"
    assert "<th>class max</th>" in few._repr_html_()


def expected(q, p, value):
    """The expectation of a measure of the forecast p, where the rows have the probabilities q."""
    total = 0.0
    for y in itertools.product(range(3), repeat=len(q)):
        total += np.prod(q[np.arange(len(q)), y]) * value(np.array(y), p)
    return total


def test_the_class_mean_is_truthful_and_the_top_label_is_not():
    q = np.array([[0.5, 0.3, 0.2], [0.2, 0.2, 0.6], [0.1, 0.7, 0.2]])
    lies = [q + t * (lie - q) for t in (0.01, 0.1, 1) for lie in rng.dirichlet([1, 1, 1], (50, 3))]

    def mean(y, p):
        return np.mean([two_bin_calibration_error(y == k, p[:, k]) for k in range(3)])

    def top(y, p):
        return two_bin_calibration_error(p.argmax(axis=1) == y, p.max(axis=1))

    honest = expected(q, q, mean)
    assert min(expected(q, lie, mean) for lie in lies) > honest
    assert expected(q[:1], np.array([[0.3, 0.34, 0.36]]), top) < 0.8 * expected(q[:1], q[:1], top)


def test_what_is_refused():
    with pytest.raises(rainproof.InputError, match=r"measures must be names .*; 'ECE' is not"):
        measure_classes(Y, P, measures=["ECE"])
    with pytest.raises(
        rainproof.InputError, match="y_prob must have a column for each of more than two classes"
    ):
        measure_classes(Y > 1, P[:, 0])
    with pytest.raises(rainproof.InputError, match="labels must not be given with a Sample"):
        measure_classes(rainproof.Sample(Y, P), labels=["a", "b", "c"])
