"""Read-only arrays stay read-only in copies and in other processes."""

from __future__ import annotations

import copy
import pickle
from dataclasses import fields, is_dataclass

import numpy as np
import pytest
from helpers.cases import for_each

import rainproof

Y, P = np.array([0, 1, 1, 0, 1]), np.array([0.1, 0.8, 0.6, 0.3, 1.0])
SAMPLE = rainproof.Sample(Y, P, sample_weight=[1, 2, 3, 4, 5])
TASK = rainproof.DecisionTask.threshold(0.35)


def arrays(thing):
    """All arrays of an object of ours that users can see."""
    if isinstance(thing, np.ndarray):
        yield thing
    elif type(thing).__module__.startswith("rainproof"):
        # What a dataclass keeps beside its fields is computed again in a copy.
        if isinstance(thing, rainproof.Sample):
            names = ["y_true", "y_prob", "sample_weight", "grid"]
        elif is_dataclass(thing):
            names = [field.name for field in fields(thing)]
        else:
            names = list(getattr(thing, "__dict__", ()))
        for name in names:
            yield from arrays(getattr(thing, name))


@pytest.mark.filterwarnings("ignore::rainproof.RainproofWarning")
@for_each("travel", [lambda thing: pickle.loads(pickle.dumps(thing)), copy.copy, copy.deepcopy])
@for_each(
    "make",
    [
        lambda: rainproof.Sample(Y, P, sample_weight=[1, 2, 3, 4, 5]),
        lambda: SAMPLE.compress(8),
        lambda: rainproof.measures.soft_binned_profile(SAMPLE),
        lambda: rainproof.regret_curve(SAMPLE, grid=8),
        lambda: rainproof.choose_grid(SAMPLE),
        lambda: rainproof.RoundingPolicy(TASK, 8, seed=5),
    ],
)
def test_copies_are_the_same_and_read_only(make, travel):
    thing = make()
    arrived = travel(thing)
    assert repr(arrived) == repr(thing)
    before, after = list(arrays(thing)), list(arrays(arrived))
    assert len(before) == len(after) > 0
    for old, new in zip(before, after, strict=True):
        np.testing.assert_array_equal(new, old)
        assert not new.flags.writeable


def test_a_sample_is_sent_with_its_rows_once():
    p = np.random.default_rng(0).random(100_000)
    sample = rainproof.Sample(p > 0.5, p)
    # which sorts, and keeps what it sorted
    loss = rainproof.measures.calibration_decision_loss(sample)
    sent = pickle.dumps(sample)
    assert len(sent) < 1.5 * (p.nbytes + len(p))
    assert rainproof.measures.calibration_decision_loss(pickle.loads(sent)) == loss
