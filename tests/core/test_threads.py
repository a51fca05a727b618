"""Every part runs exactly once, with or without its own thread."""

from __future__ import annotations

import os
import threading

import numpy as np
import pytest
from helpers.cases import for_each

import rainproof
from rainproof.core import arrays as threads


@pytest.fixture
def no_threads():
    """A stack larger than any memory: the system refuses to start a thread."""
    before = threading.stack_size(2**46)
    yield
    threading.stack_size(before)


def count(parts):
    done = [0] * parts

    def work(part):
        done[part] += 1
        return True

    assert threads.run_in_threads(work, parts)
    return done


def test_every_part_is_done_once():
    assert count(1) == [1]
    assert count(5) == [1] * 5


@pytest.mark.usefixtures("no_threads")
def test_without_threads_all_parts_are_done_here():
    with pytest.raises(RuntimeError, match="can't start new thread"):
        threading.Thread(target=print).start()
    assert count(4) == [1] * 4


@pytest.mark.usefixtures("no_threads")
def test_samples_and_policies_do_without_threads(monkeypatch):
    p = np.random.default_rng(0).random(2**20)
    policy = rainproof.RoundingPolicy(rainproof.DecisionTask.threshold(0.35), 8)
    answers = []
    for parts in (1, 3):
        for module in ("rainproof.core.cells", "rainproof.decisions.policies"):
            monkeypatch.setattr(f"{module}.available_threads", lambda parts=parts: parts)
        small = rainproof.Sample(p > 0.5, p).compress(4)
        answers.append((small.counts.tolist(), policy.decide_index(p, np.arange(len(p))).tobytes()))
    assert answers[0] == answers[1]


@for_each("bad", range(3))
def test_one_part_that_fails_is_enough(bad):
    assert not threads.run_in_threads(lambda part: part != bad, 3)


@for_each("bad", range(3))
def test_an_error_in_a_part_is_raised(bad):
    done = []

    def work(part):
        if part == bad:
            raise MemoryError("no room")
        done.append(part)
        return True

    with pytest.raises(MemoryError, match="no room"):
        threads.run_in_threads(work, 3)
    assert {1, 2} - {bad} <= set(done)  # nobody is still at work


def test_processors_are_counted_where_there_is_no_affinity(monkeypatch):
    monkeypatch.delattr(os, "sched_getaffinity", raising=False)
    monkeypatch.setattr(os, "cpu_count", lambda: None)
    assert threads.available_threads() == 1
