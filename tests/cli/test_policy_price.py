"""`rainproof policy` states where it acts at random, what that costs, and what the verdict
recommends.
"""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

import rainproof
from rainproof.cli import main
from rainproof.core.text import at_most
from rainproof.decisions.policies import policy_cost

N = 5000
POLICY = ["policy", "rows.csv", "--prob", "p", "--outcome", "y", "-o", "policy.json"]
COSTS = [*POLICY, "--cost-fp", "1", "--cost-fn", "20"]


def saved(p, y):
    lines = [f"{a},{b:d},{1 + i % 2}\n" for i, (a, b) in enumerate(zip(p, y, strict=True))]
    Path("rows.csv").write_text("p,y,w\n" + "".join(lines))


@pytest.fixture
def calibrated(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(16)
    p = (1 / (1 + np.exp(-rng.normal(-2, 1.5, N)))).round(4)
    y = (rng.random(N) < p).astype(int)
    saved(p, y)
    return p, y


def said(capsys, command):
    assert main(command) == 0
    out, err = capsys.readouterr()
    assert err == ""
    assert max(map(len, out.splitlines())) <= 80
    return " ".join(out.split())


def test_the_price_of_the_guarantee(calibrated, capsys):
    p, y = calibrated
    text = said(capsys, COSTS)
    policy, sample = rainproof.load("policy.json"), rainproof.Sample(y, p)
    assert policy.grid == 16  # wider than the threshold
    acted = p >= 1 / 21
    plain = np.where(acted, 1 - y, 20 * y).mean()
    cost, losses = policy_cost(policy, sample), rainproof.choose_grid(sample).losses
    assert cost.policy > plain
    assert (
        "between 0 and 0.0625 may get either action, depending on its id. That is "
        f"{100 * (p < 0.0625).mean():.3g}%"
    ) in text
    assert f"this policy, on average over its rounding {cost.policy:.4g}" in text
    assert f"'act' from 0.04762 on, without rounding {plain:.4g}" in text
    assert f"always 'act' {1 - y.mean():.4g} always 'wait' {20 * y.mean():.4g}" in text
    assert (
        f"Rounding costs {cost.policy - plain:.4g} per case here. It buys the guarantee above"
        in text
    )
    finer = policy_cost(rainproof.RoundingPolicy(policy.task, 32), sample).policy
    assert losses[4] > losses[3] == losses.min()
    assert f"but its guarantee is no better: --grid 32 costs {finer:.4g} per case, with " in text
    assert (
        "grades these probabilities \"use\" and recommends 'act' from 0.04762 on, which needs "
        "no policy."
    ) in text


def test_a_grid_of_ones_own(calibrated, capsys):
    p, y = calibrated
    text = said(capsys, [*COSTS, "--grid", "256"])
    assert rainproof.load("policy.json").grid == 256
    loss = rainproof.choose_grid(y, p, max_grid=256).losses[-1]
    assert "Grid 1/256: on these rows" in text
    assert f"loses more than {at_most(loss)} of" in text
    assert "may get either action" in text
    assert "A finer grid" not in text


def test_the_same_numbers_as_json(calibrated, capsys):
    p, y = calibrated
    weighted = [*COSTS, "--weight", "w"]
    assert "of these rows by weight." in said(capsys, weighted)
    before = Path("policy.json").read_bytes()
    assert main([*weighted, "--json"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert Path("policy.json").read_bytes() == before
    policy = rainproof.load("policy.json")
    sample = rainproof.Sample(y, p, sample_weight=1 + np.arange(N) % 2)
    choice = rainproof.choose_grid(sample)
    assert document.pop("policy") == policy.to_dict()
    cost, expected = document.pop("cost"), policy_cost(policy, sample).to_dict()
    assert cost.pop("always") == pytest.approx(expected.pop("always"))
    assert cost == pytest.approx(expected)
    assert document.pop("loss") == pytest.approx(choice.loss)
    assert document.pop("finer")["grid"] == 2 * policy.grid
    assert document == {
        "rainproof": rainproof.__version__,
        "n": N,
        "grade": "use",
        "grid": choice.grid,
        "random_between": [
            np.floor(choice.grid / 21) / choice.grid,
            np.ceil(choice.grid / 21) / choice.grid,
        ],
    }


def test_rounding_that_costs_nothing_or_less(calibrated, capsys):
    y = np.arange(N) % 5 == 0
    saved(np.full(N, 0.25), y)
    assert main(COSTS) == 0
    assert "That is 0% of these rows." in (out := " ".join(capsys.readouterr().out.split()))
    assert (
        "On these rows rounding costs nothing. Always 'act' costs no more than either on these "
        "rows."
    ) in out
    saved(np.where(y, 0.24, 0.26), y)
    assert main([*POLICY, "--threshold", "0.25", "--grid", "2"]) == 0
    assert (
        "per case less than no rounding. If the probabilities are calibrated this is chance,"
        in " ".join(capsys.readouterr().out.split())
    )


def test_acting_alike_may_cost_least(calibrated, capsys):
    rng = np.random.default_rng(0)
    saved(rng.random(N).round(4), rng.random(N) < 0.5)
    assert main(COSTS) == 0
    out = " ".join(capsys.readouterr().out.split())
    assert "Always 'act' costs no more than either on these rows." in out
    assert "needs no policy" not in out


def test_many_rows_are_pooled(calibrated, capsys, monkeypatch):
    """Which changes no loss, but costs; after a map it changes both."""
    few = said(capsys, COSTS)
    monkeypatch.setattr("rainproof.verdict.assessing.MANY_ROWS", 100)
    many = said(capsys, COSTS)
    assert "Cost per case on these rows pooled to 1/65536, an estimate" in many
    assert many.split("Cost per case")[0] == few.split("Cost per case")[0]
    p, y = calibrated
    rainproof.Recalibrator("logistic", rng=0).fit(p, y).save("map.json")
    assert "on these rows, pooled to 1/65536, no decision that rests on" in said(
        capsys, [*COSTS, "--map", "map.json"]
    )


def test_a_threshold_of_zero_in_double_precision(calibrated, capsys):
    text = said(capsys, [*POLICY, "--cost-fp", "1e-300", "--cost-fn", "1e300"])
    assert "The rounding is random, but it changes no action at this threshold." in text
