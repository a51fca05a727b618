"""The catalogue: complete, callable, and it prints as a table."""

from __future__ import annotations

import importlib
import json
import math

import numpy as np
import pytest

import rainproof

Y, P = np.array([0, 0, 1, 0, 1, 1, 0, 1]), np.array([0.1, 0.2, 0.3, 0.4, 0.6, 0.7, 0.8, 0.9])


def test_measure_all_is_each_measure_on_its_own():
    w = np.arange(1, 9)
    every = rainproof.measure_all(Y, P, sample_weight=w)
    assert list(every) == list(rainproof.list_measures())
    assert len(every) == len(rainproof.list_measures())
    for name, measure in rainproof.list_measures().items():
        assert every[name] == measure.function(Y, P, sample_weight=w, **measure.options)
    assert every.to_dict() == {"result": "measure_all", "n": 8, "values": dict(every)}
    words = np.where(Y, "yes", "no")
    assert dict(rainproof.measure_all(words, P, pos_label="yes")) == dict(
        rainproof.measure_all(rainproof.Sample(Y, P))
    )


def test_rows_are_sorted_once_for_all(monkeypatch):
    from rainproof.core import distinct

    calls = []
    pool = distinct.pool
    monkeypatch.setattr(distinct, "pool", lambda *args: calls.append(1) or pool(*args))
    rainproof.measure_all(Y, P)
    assert len(calls) == 1


def test_every_entry_is_told_in_full():
    for name, measure in rainproof.list_measures().items():
        assert measure.name == name
        assert name.partition("[")[0] == measure.function.__name__
        assert measure.range[0] < measure.range[1] <= math.inf
        for text in (
            measure.symbol,
            measure.cost,
            measure.actionable,
            measure.testable,
            measure.reference,
        ):
            assert text, name
    with pytest.raises(KeyError, match="nonsense"):
        rainproof.list_measures()["nonsense"]


def test_traits_say_what_a_measure_is():
    """A measure of calibration is 0 where every prediction is its event rate; a score is not."""
    y, p = [1, 0, 0, 0, 0, 1, 1, 1, 1, 0], [0.2] * 5 + [0.8] * 5
    for name, measure in rainproof.list_measures().items():
        assert (measure(y, p) < 2e-3) == (measure.kind == "calibration"), name
        assert (measure.bounds is None) == (not measure.actionable.startswith("every decision")), (
            name
        )
    pooling = {
        name for name, measure in rainproof.list_measures().items() if measure.pools_predictions
    }
    rng = np.random.default_rng(5)
    p = rng.random(2000)
    every = rainproof.measure_all(rng.random(2000) < p, p)
    assert pooling == {name for name in every if every[name] > 0.1} - {"brier_score", "log_score"}


def test_a_function_is_found_by_what_it_computes():
    catalogue = rainproof.list_measures()
    assert catalogue.of(rainproof.soft_binned_cdl) is catalogue["soft_binned_cdl"]
    assert catalogue.of(len) is None


def test_tables_show_every_measure():
    every = rainproof.measure_all(Y, P)
    for text in (
        repr(rainproof.list_measures()),
        rainproof.list_measures()._repr_html_(),
        repr(every),
        every._repr_html_(),
    ):
        for name in rainproof.list_measures():
            assert name in text
    assert repr(every).endswith("\n8 rows")
    assert max(map(len, repr(every).splitlines())) <= 120
    assert "&lt;" in rainproof.list_measures()._repr_html_()


def test_the_package_of_measures_is_a_package():
    assert importlib.import_module("rainproof.measures") is rainproof.measures
    assert rainproof.measures.scdl.soft_binned_cdl is rainproof.soft_binned_cdl


def test_an_infinite_score_is_ready_for_json():
    sure = rainproof.measure_all([0, 1], [1.0, 0.5])
    words = "(infinite: an outcome happened that was predicted with probability 0)"
    assert [line.split()[0] for line in repr(sure).splitlines() if words in line] == ["log_score"]
    assert words in sure._repr_html_()
    assert sure["log_score"] == math.inf
    assert json.loads(json.dumps(sure.to_dict(), allow_nan=False))["values"]["log_score"] is None
