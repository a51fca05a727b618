"""The torchmetrics metric: batches, processes, bad input."""

from __future__ import annotations

import pickle

import numpy as np
import pytest

import rainproof

EDGES = [0.0, 1.0, 1e-12, 0.5, 1 - 2**-53, 1 / 64]


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


@pytest.mark.parametrize("measure", ["soft_binned_cdl", "brier_score", "binned_calibration_error"])
def test_batches_give_what_the_compressed_sample_gives(measure):
    p, y = rows()
    metric = calibration_metric(measure, grid=64)
    for part in np.array_split(np.arange(len(p)), 7):
        metric.update(tensor(p[part]), tensor(y[part]))
    found = rainproof.list_measures()[measure](rainproof.Sample(y, p).compress(64))
    assert float(metric.compute()) == pytest.approx(found, abs=1e-6)  # a float32, as torchmetrics returns them
    assert metric.sample().n == len(p)
    assert metric.sample().y_prob == pytest.approx(rainproof.Sample(y, p).compress(64).y_prob, abs=1e-12)


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


@pytest.mark.parametrize(
    ("preds", "target", "match"),
    [
        ([0.5, 1.5], [0, 1], r"preds must lie in \[0, 1\]; 1 value does not, the first is preds\[1\] = 1.5"),
        ([0.5, float("nan")], [0, 1], "preds must lie"),
        ([0.5, 0.5], [0, 2], r"target must be 0 or 1; 1 value does not, the first is target\[1\] = 2"),
        ([0.5, 0.5], [[0, 1]], "one shape"),
    ],
)
def test_bad_batches_are_refused_whole(preds, target, match):
    metric = calibration_metric(grid=8)
    with pytest.raises(rainproof.InputError, match=match):
        metric.update(tensor(preds), tensor(target))
    assert int(metric.count.sum()) == 0


@pytest.mark.parametrize("options", [{"grid": 12}, {"measure": "ece"}])
def test_bad_options_are_refused(options):
    with pytest.raises(rainproof.InputError):
        calibration_metric(**options)


def one_process(rank, port, answers):
    from torch import distributed

    distributed.init_process_group("gloo", init_method=f"file://{port}", rank=rank, world_size=2)
    p, y = rows()
    metric = calibration_metric(grid=64)
    metric.update(tensor(p[rank::2]), tensor(y[rank::2]))
    answers.put(float(metric.compute()))
    distributed.destroy_process_group()


def test_two_processes_add_their_states(tmp_path):
    from torch import multiprocessing

    context = multiprocessing.get_context("spawn")
    answers = context.SimpleQueue()
    started = [context.Process(target=one_process, args=(rank, tmp_path / "meet", answers)) for rank in range(2)]
    for process in started:
        process.start()
    for process in started:
        process.join(120)
        assert process.exitcode == 0
    p, y = rows()
    whole = rainproof.soft_binned_cdl(rainproof.Sample(y, p).compress(64))
    assert [answers.get(), answers.get()] == pytest.approx([whole, whole], abs=1e-6)
