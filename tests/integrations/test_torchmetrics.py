"""The torchmetrics metric: batches, processes, bad input."""

from __future__ import annotations

import pickle
from datetime import timedelta
from multiprocessing import get_context

import numpy as np
import pytest
from helpers.cases import for_each

import rainproof

EDGES = [0.0, 1.0, 1e-12, 0.5, 1 - 2**-53, 1 / 64]
PATIENCE = timedelta(seconds=120)


def tensor(values):
    import torch  # not above: that takes seconds, in every worker

    return torch.tensor(values)


def calibration_metric(*arguments, **options):
    from rainproof.integrations.torchmetrics import CalibrationMetric

    return CalibrationMetric(*arguments, **options)


def rows(n=500, seed=0):
    rng = np.random.default_rng(seed)
    p = np.concatenate([EDGES, rng.random(n - len(EDGES))])
    return p, (rng.random(n) < p**2).astype(int)


@for_each("measure", ["soft_binned_cdl", "brier_score", "binned_calibration_error"])
def test_batches_give_what_the_compressed_sample_gives(measure):
    p, y = rows()
    metric = calibration_metric(measure, grid=64)
    for part in np.array_split(np.arange(len(p)), 7):
        metric.update(tensor(p[part]), tensor(y[part]))
    found = rainproof.list_measures()[measure](rainproof.Sample(y, p).compress(64))
    # a float32, as torchmetrics returns them
    assert float(metric.compute()) == pytest.approx(found, abs=1e-6)
    assert metric.sample().n == len(p)
    assert metric.sample().y_prob == pytest.approx(
        rainproof.Sample(y, p).compress(64).y_prob, abs=1e-12
    )


def test_scdl_is_exact_where_its_grid_is_coarser():
    p, y = rows()
    metric = calibration_metric()
    metric.update(tensor(p).reshape(50, 10), tensor(y.astype(bool)).reshape(50, 10))
    assert float(metric.compute()) == pytest.approx(rainproof.soft_binned_cdl(y, p), abs=1e-6)


def test_a_reset_forgets_and_a_copy_remembers():
    p, y = rows()
    metric = calibration_metric(lambda sample: sample.event_rate, grid=16)
    metric.update(tensor(p), tensor(y))
    value = float(metric.compute())
    assert value == pytest.approx(y.mean(), abs=1e-6)
    named = calibration_metric(grid=16)
    named.update(tensor(p), tensor(y))
    assert float(pickle.loads(pickle.dumps(named)).compute()) == float(named.compute())
    metric.reset()
    with pytest.raises(rainproof.InputError, match="no rows were given yet"):
        metric.sample()


@for_each(
    "preds, target, match",
    [
        (
            [0.5, 1.5],
            [0, 1],
            r"preds must lie in \[0, 1\]; 1 value does not, the first is preds\[1\] = 1.5",
        ),
        ([0.5, float("nan")], [0, 1], "preds must lie"),
        (
            [0.5, 0.5],
            [0, 2],
            r"target must be 0 or 1; 1 value does not, the first is target\[1\] = 2",
        ),
        ([0.5, 0.5], [[0, 1]], "one shape"),
    ],
)
def test_bad_batches_are_refused_whole(preds, target, match):
    metric = calibration_metric(grid=8)
    with pytest.raises(rainproof.InputError, match=match):
        metric.update(tensor(preds), tensor(target))
    assert int(metric.count.sum()) == 0


@for_each("measure", ["soft_binned_cdl", "brier_score"])
def test_several_classes(measure):
    rng = np.random.default_rng(3)
    p = rng.dirichlet([2, 1, 0.5, 0.5], 400)
    p[:4] = np.eye(4)
    y = rng.integers(0, 3, 400)  # one of them never occurs
    which = np.arange(4)[:, None]
    each = [
        rainproof.list_measures()[measure](rainproof.Sample(y == k, p[:, k]).compress(64))
        for k in range(4)
    ]
    top = rainproof.Sample(p.argmax(axis=1) == y, p.max(axis=1)).compress(64)
    expected = {"class_max": max(each), "class_mean": np.mean(each), "by_class": each}
    expected["top_label"] = rainproof.list_measures()[measure](top)
    for form, value in expected.items():
        metric = calibration_metric(measure, grid=64, num_classes=4, form=form)
        for part in np.array_split(np.arange(400), 3):
            metric.update(tensor(p[part]), tensor(y[part]))
        assert metric.compute().numpy() == pytest.approx(value, abs=1e-6)
        assert metric.sample().n == 400
    assert metric.sample().event_rate == pytest.approx(top.event_rate)
    by_class = calibration_metric(grid=64, num_classes=4, form="by_class")
    by_class.update(tensor(p), tensor(y))
    assert [by_class.sample(k).event_rate for k in range(4)] == pytest.approx(
        (y == which).mean(axis=1)
    )
    for preds, target, match in (
        (p[:, :3], y, r"preds and target must have the shapes \(n, 4\) and \(n,\)"),
        (p, y + 2, r"target must be from 0 to 3; \d+ values do not"),
        (
            p / 2,
            y,
            r"preds must sum to 1 in each row \(within 0.0001\); 400 values do not, the first is "
            r"preds\[0\]",
        ),
        (p - 0.5, y, r"preds must lie in \[0, 1\]"),
    ):
        with pytest.raises(rainproof.InputError, match=match):
            by_class.update(tensor(preds), tensor(target))


@for_each("options", [{"grid": 12}, {"measure": "ece"}, {"num_classes": 2}, {"form": "max"}])
def test_bad_options_are_refused(options):
    with pytest.raises(rainproof.InputError):
        calibration_metric(**options)


def one_process(rank, meet):
    from torch import distributed

    distributed.init_process_group(
        "gloo", init_method=f"file://{meet}", rank=rank, world_size=2, timeout=PATIENCE
    )
    p, y = rows()
    metric = calibration_metric(grid=64)
    metric.update(tensor(p[rank::2]), tensor(y[rank::2]))
    found = float(metric.compute())
    distributed.destroy_process_group()
    assert found == pytest.approx(
        rainproof.soft_binned_cdl(rainproof.Sample(y, p).compress(64)), abs=1e-6
    )


def test_two_processes_add_their_states(tmp_path):
    """One of them is this: to import torch takes long."""
    other = get_context("spawn").Process(target=one_process, args=(1, tmp_path / "meet"))
    other.start()
    one_process(0, tmp_path / "meet")
    other.join(120)
    assert other.exitcode == 0
