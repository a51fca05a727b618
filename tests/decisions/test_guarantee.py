"""The actionability theorem, in the mean and with actual rounding."""

from __future__ import annotations

import csv
import runpy
import sys
from pathlib import Path

import numpy as np
import pytest
from helpers.cases import for_each
from helpers.strategies import powers, samples
from hypothesis import given
from hypothesis import strategies as st

import rainproof
from rainproof.decisions.policies import RoundingPolicy

SCRIPT = Path(__file__).parent.parent.parent / "examples" / "deviation.py"
GOOD = 1e-12


def swap_regret(task, y, shares, w):
    """sum over actions of the best replacement's gain, as a share of the scale."""
    payoff = task.matrix[:, y]  # (actions, rows)
    gains = (
        np.einsum("na,bn,n->ab", shares, payoff, w)
        - np.einsum("na,an,n->a", shares, payoff, w)[:, None]
    )
    return gains.max(axis=1).sum() / w.sum() / task.scale


def loss_and_bound(y, p, w, m):
    """CDL(D_m), and 2 SCDL_m + 2/m."""
    grid = rainproof.choose_grid(y, p, sample_weight=w, max_grid=m)
    return grid.losses[-1], grid.bounds[-1]


payoffs = st.lists(
    st.tuples(*[st.floats(-5, 5).map(lambda x: round(x, 3))] * 2),
    min_size=2,
    max_size=5,
    unique=True,
).filter(lambda rows: max(np.ptp(rows, axis=0)) > 0.01)


@given(samples(), powers, payoffs)
def test_no_task_loses_more_than_the_guarantee(rows, m, table):
    """SR_Z(policy) <= CDL(D_m) <= 2 SCDL_m + 2/m (Theorem 4.2), for any sample and task."""
    y, p, w = rows
    task = rainproof.DecisionTask.from_payoffs(table)
    w = np.ones(len(y)) if w is None else w
    regret = swap_regret(task, y, RoundingPolicy(task, m).probabilities(p), w)
    loss, bound = loss_and_bound(y, p, w, m)
    assert regret <= loss + GOOD
    assert loss <= bound + GOOD


@given(samples(), powers, payoffs)
def test_swap_regret_takes_the_policy_for_a_response(rows, m, table):
    y, p, w = rows
    task = rainproof.DecisionTask.from_payoffs(table)
    policy = RoundingPolicy(task, m)
    found = rainproof.swap_regret(y, p, task, response=policy, sample_weight=w)
    expected = swap_regret(task, y, policy.probabilities(p), np.ones(len(y)) if w is None else w)
    assert found.value == pytest.approx(expected, abs=1e-9)


@for_each("size", [200, 5_000])
@for_each("m", [4, 32])
def test_actual_decisions_come_close_to_the_mean(size, m):
    """For one task of k actions: each of the k^k swaps is a mean of independent values in [-1, 1],
    so by Hoeffding the regret of actual decisions exceeds that in the mean by t with chance at most
    k^k exp(-T t^2 / 2), whatever the sample.
    """
    rng = np.random.default_rng(size + m)
    p = rng.random(size)
    y = (rng.random(size) < p**1.5).astype(int)
    task = rainproof.DecisionTask.from_payoffs([[1, 0], [0.8, 0.7], [0, 1]])
    ids = np.char.add("case ", np.arange(size).astype(str))
    mean = swap_regret(task, y, RoundingPolicy(task, m).probabilities(p), np.ones(size))
    _, bound = loss_and_bound(y, p, None, m)
    # for all 50 seeds at once, but for one in a million
    chance = np.sqrt(2 * np.log(27 * 50 / 1e-6) / size)
    for seed in range(50):
        index = RoundingPolicy(task, m, seed=seed).decide_index(p, ids)
        actual = swap_regret(task, y, np.eye(3)[index], np.ones(size))
        assert actual <= mean + chance
        assert actual <= bound + chance


def test_the_deviation_of_the_worst_task_shrinks_like_the_root(tmp_path, monkeypatch):
    """Theorem 4.4: sup over tasks, with actual rounding, is at most 2 SCDL + 2/m + O(sqrt(log(1/d)
    / T) log m).
    """
    monkeypatch.setattr(sys, "argv", [str(SCRIPT), str(tmp_path / "a.csv")])
    script = runpy.run_path(str(SCRIPT), run_name="__main__")
    text = (tmp_path / "a.csv").read_text()
    again = script["deviations"](250)  # the same numbers every time
    assert text.splitlines()[1].startswith(
        f"250,16,{again[0]:.6f},{again[1]:.6f},{(again[2] - again[0]).mean():.6f},"
    )
    lines = [
        {key: float(value) for key, value in line.items()}
        for line in csv.DictReader(text.splitlines())
    ]
    assert [line["T"] for line in lines] == [250, 1_000, 4_000, 16_000, 64_000]
    for line in lines:
        assert line["loss"] <= line["bound"]
        # with log m = 4 to spare
        assert line["worst_deviation"] <= np.sqrt(np.log(40 / 0.01) / line["T"])
        assert line["loss"] + line["worst_deviation"] <= line["bound"]
    size, worst = (np.log([line[key] for line in lines]) for key in ("T", "worst_deviation"))
    assert -0.75 < np.polyfit(size, worst, 1)[0] < -0.35
    monkeypatch.setattr(sys, "argv", [str(SCRIPT)])
    with pytest.raises(SystemExit, match=r"^usage: python examples/deviation\.py FILE$"):
        runpy.run_path(str(SCRIPT), run_name="__main__")
