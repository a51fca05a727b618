"""`sample_size`: consistent with `guarantee`, and monotone."""

from __future__ import annotations

import json
import operator
import warnings

import numpy as np
import pytest
from helpers.cases import for_each
from hypothesis import given, settings
from hypothesis import strategies as st

import rainproof
from rainproof import guarantee, sample_size
from rainproof.inference import bounds
from rainproof.inference import planning as module
from rainproof.inference.guarantees import default_grids


def bound(n, loss, confidence_level, which):
    return bounds.extremes(n, loss, (1 - confidence_level) / len(default_grids(n)))[which]


@settings(max_examples=10)
@given(st.floats(0.01, 0.5), st.floats(0.5, 0.999), st.sampled_from([0.0, 0.005]))
def test_it_is_where_the_bounds_cross_the_target(target, confidence_level, loss):
    found = sample_size(target, confidence_level=confidence_level, loss=loss)
    for n in {
        found.n,
        found.n + 1,
        2 * found.n,
        *(4**k + 1 for k in range(3, 20) if 4**k >= found.n),
    }:
        assert bound(n, loss, confidence_level, 1) <= target
    assert found.n == 1 or bound(found.n - 1, loss, confidence_level, 1) > target
    assert bounds.extremes(found.minimum, 0.0, 1 - confidence_level)[0] <= target
    for n in {found.minimum - 1, found.minimum // 2, 64, 256} & set(range(1, found.minimum)):
        assert bounds.extremes(n, 0.0, 1 - confidence_level)[0] > target
    assert found.minimum <= found.n


@for_each("target, confidence_level", [(0.1, 0.95), (0.05, 0.9), (0.3, 0.99)])
def test_what_it_says_of_rows_is_what_guarantee_says(target, confidence_level):
    """At `n` rows the hardest forecast just makes it; below `minimum` even a perfect one does
    not.
    """
    found = sample_size(target, confidence_level=confidence_level)
    n = found.n + found.n % 2
    hardest = guarantee([0, 1] * (n // 2), [0.5] * n, confidence_level=confidence_level)
    assert target * 0.99 < hardest.bound <= target
    few = found.minimum - 1
    perfect = np.arange(few) % 2
    for options in ({}, {"grid": 4}, {"grid": 2}, {"grid": 4, "method": "hoeffding"}):
        assert (
            guarantee(perfect, perfect, confidence_level=confidence_level, **options).bound > target
        )
    perfect = np.arange(found.minimum) % 2
    assert guarantee(perfect, perfect, confidence_level=confidence_level, grid=4).bound <= target
    hoeffding = guarantee(
        [0, 1] * found.hoeffding,
        [0.5] * 2 * found.hoeffding,
        confidence_level=confidence_level,
        method="hoeffding",
    )
    assert hoeffding.bound <= target


@given(st.integers(1, 10**6), st.floats(0.001, 0.5))
def test_the_smallest_bound_falls_with_the_number_of_rows(n, delta):
    assert bounds.extremes(n + 1, 0.0, delta)[0] <= bounds.extremes(n, 0.0, delta)[0] + 1e-11


@given(
    st.lists(st.floats(0.01, 10), min_size=2, max_size=80),
    st.booleans(),
    st.sampled_from([0.05, 0.3]),
)
def test_weights_and_groups_do_not_make_the_smallest_bound_smaller(weight, grouped, delta):
    n = len(weight)
    perfect = np.arange(n) % 2
    options = {"sample_weight": weight, "groups": np.arange(n) // 2 if grouped else None, "grid": 4}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", rainproof.FewRowsWarning)
        found = guarantee(perfect, perfect, confidence_level=1 - delta, **options).bound
    assert found >= bounds.extremes(n, 0.0, delta)[0] - 1e-9


def test_the_minimum_is_that_of_one_grid():
    found = sample_size(0.05)
    assert found.minimum == 77
    perfect = np.arange(77) % 2
    assert (
        guarantee(perfect, perfect, grid=4).bound
        <= 0.05
        < guarantee(perfect[1:], perfect[1:], grid=4).bound
    )


def test_it_is_monotone():
    by_target = [int(sample_size(t)) for t in (0.5, 0.1, 0.05, 0.02, 0.01)]
    by_confidence = [
        int(sample_size(0.05, confidence_level=c)) for c in (0.5, 0.9, 0.95, 0.99, 0.999)
    ]
    by_loss = [int(sample_size(0.05, loss=x)) for x in (0, 0.01, 0.03)]
    for numbers in (by_target, by_confidence, by_loss):
        assert numbers == sorted(numbers)
        assert len(set(numbers)) == len(numbers)


def test_rows_like_these_need_fewer():
    rng = np.random.default_rng(0)
    p = rng.random(40_000)
    y = rng.random(40_000) < p
    pilot = rainproof.Sample(y[:4000], p[:4000])
    found = sample_size(0.02, like=pilot)
    assert found.minimum < found.n < sample_size(0.02).n / 4
    assert found.like == 4000
    assert found.loss == guarantee(pilot, grid=default_grids(4000)).plug_ins.min()
    assert guarantee(y[: 2 * found.n], p[: 2 * found.n]).bound < 0.02
    assert sample_size(0.02, like=pilot.compress(2**12)).n == found.n
    assert sample_size(0.1, like=pilot.compress(4)).like == 4000


def test_how_it_prints():
    found = sample_size(0.05, loss=0.01)
    assert int(found) == operator.index(found) == found.n
    assert str(found) == (
        f"{found.n:,} rows are enough to guarantee an expected loss of at most 5.00% with 95% "
        "confidence and the default grids, if the loss on the rows is at most 1.00%, whatever "
        f"the predictions. With fewer than {found.minimum} rows no choice of grids can guarantee "
        "it, however good the forecast."
    )
    assert "\n" not in repr(found)
    data = json.loads(json.dumps(found.to_dict()))
    assert data == {
        "result": "sample_size",
        "n": found.n,
        "minimum": found.minimum,
        "hoeffding": found.hoeffding,
        "target": 0.05,
        "confidence_level": 0.95,
        "loss": 0.01,
        "like": None,
    }
    pilot = rainproof.Sample([0, 1] * 50, [0.0, 1.0] * 50)
    words = (
        "if they are like the 100 rows given, whose loss is 0.00% (an estimate). With fewer than"
    )
    assert words in str(sample_size(0.05, like=pilot))


@for_each(
    "options, message",
    [
        (
            {"confidence_level": 0},
            "confidence_level must be a number between 0 and 1, both excluded; it is 0",
        ),
        ({"loss": 1}, "loss must lie in [0, 1); it is 1"),
        ({"target": "x"}, "target must lie above the loss of the rows, 0, and below 1; it is 'x'"),
        (
            {"confidence_level": None},
            "confidence_level must be a number between 0 and 1, both excluded; it is None",
        ),
        ({"target": 1.0}, "target must lie above the loss of the rows, 0, and below 1; it is 1.0"),
        (
            {"target": 0.05, "loss": 0.1},
            "target must lie above the loss of the rows, 0.1, and below 1; it is 0.05",
        ),
        (
            {"target": 1e-7},
            f"target must be larger: {4**20:,} rows would not be enough; it is 1e-07",
        ),
        (
            {"target": 1e-13},
            f"target must be larger: {4**20:,} rows would not be enough; it is 1e-13",
        ),
    ],
)
def test_bad_options_are_told_what_is_wrong(options, message):
    with pytest.raises(rainproof.InputError) as caught:
        sample_size(**options)
    assert str(caught.value) == message


def test_the_search_on_made_up_bounds():
    """One that falls, one that never does, one that is always met, and one that jumps up where the
    grids change.
    """
    for search in (module._smallest, module._from_which_on):
        assert search(lambda n: 1 / n, 0.001) == 1000
        assert search(lambda _: 0.0, 0.001) == 1
        assert search(lambda n: float(n <= 256), 0.5) == 257
        with pytest.raises(rainproof.InputError, match=r"rows would not be enough; it is 1e-13"):
            search(lambda _: 1.0, 1e-13)
    assert module._smallest(lambda n: float(n < 200 or 256 < n < 300), 0.5) == 200
    assert module._from_which_on(lambda n: float(n < 200 or 256 < n < 300), 0.5) == 300
