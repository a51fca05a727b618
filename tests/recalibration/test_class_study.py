"""The study of several classes, in short: what its lines say is what a reader would compute."""

from __future__ import annotations

import csv
from pathlib import Path

import numpy as np
import pytest
from helpers.cases import for_each

from benchmarks.studies import classes

ROOT = Path(__file__).parent.parent.parent


def test_a_way_is_judged_on_rows_that_it_has_not_seen():
    rng = np.random.default_rng(0)
    p = rng.dirichlet([1, 1, 1], 300)
    y = (rng.random((300, 1)) > p.cumsum(axis=1)).sum(axis=1)
    ways = {"no recalibration": lambda *_: np.asarray, "one map": classes.chosen}
    lines = classes.judged(ways, p[:200], y[:200], p[200:], y[200:], np.random.default_rng(1))
    assert [line["way"] for line in lines] == list(ways)
    assert lines[0]["log_loss"] == pytest.approx(
        -np.log(p[np.arange(200, 300), y[200:]]).mean(), abs=1e-4
    )
    assert lines[0]["brier"] == pytest.approx(
        ((p - np.eye(3)[y]) ** 2)[200:].sum(axis=1).mean(), abs=1e-4
    )
    found = classes.summary([{"n": 200, **line} for line in lines])
    assert [line["draws"] for line in found] == [1, 1]


@for_each("name", ["classes", "classes-torch"])
def test_what_is_committed_is_best_or_close_to_it(name):
    with (ROOT / "docs" / "data" / f"{name}.csv").open() as file:
        lines = list(csv.DictReader(file))
    for n in {line["n"] for line in lines}:
        for key in ("log_loss", "brier", "cost"):
            value = {line["way"]: float(line[key]) for line in lines if line["n"] == n}
            assert value[classes.OURS] <= 1.02 * min(value.values())
            assert value[classes.OURS] < value["no recalibration"]


def test_a_network_of_torch_learns_the_classes():
    rng = np.random.default_rng(2)
    y = rng.integers(0, 3, 300)
    x = rng.normal(size=(300, 4)) + 2 * np.eye(4)[y]
    model = classes.TorchNetwork()
    model.fit(x[:200], y[:200])
    prob = model.predict_proba(x[200:])
    np.testing.assert_allclose(prob.sum(axis=1), 1, atol=1e-12)
    assert (prob.argmax(axis=1) == y[200:]).mean() > 0.7
