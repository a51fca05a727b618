"""Every numbered statement of the paper, in a reduced search."""

from __future__ import annotations

import itertools
import math
import re

import numpy as np
import pytest
from helpers.cases import for_each

import paper.claims
import rainproof
from paper.claims import (
    KNOWN_SLIPS,
    all_claims,
    at_most,
    check_claim,
    claims,
    open_constant,
    unexpected,
)
from paper.claims_actions import Guess, least_error, least_sure_regret
from paper.constructions import (
    Distribution,
    changed,
    coins,
    level_bias,
    one_moved,
    paired,
    random_distribution,
    ratio,
    regret_of_guessing,
    round_rows,
    umbrella,
    worst_distribution,
)
from paper.results import Runner


@for_each("name", all_claims())
def test_every_statement(name):
    for row in check_claim(name, seed=1, effort=10):
        expected = (row["statement"], row["quantity"]) not in KNOWN_SLIPS
        assert row["held"] is expected, row
        assert math.isfinite(row["observed"])


def test_every_numbered_statement_is_there():
    """Sections 1 to 8 and both appendices, as the paper's counters run."""
    numbered = {
        "Claim 1.1", "Theorem 1.2", "Lemma 2.1", "Lemma 2.2", "Theorem 2.3", "Lemma 3.1", "Lemma 3.2", "Lemma 3.3",
        "Lemma 3.4", "Lemma 4.1", "Theorem 4.2", "Lemma 4.3", "Theorem 4.4", "Theorem 5.1", "Lemma 5.2", "Theorem 6.1",
        "Theorem 7.1", "Lemma 7.2", "Lemma 7.3", "Lemma 7.4", "Theorem 8.1", "Lemma 8.2", "Theorem A.1", "Theorem B.1",
        "Lemma B.2", "Example 1", "Example 2", "Remark 1",
    }  # fmt: skip
    assert numbered == {name for name in all_claims() if not name.startswith("Section")}
    sections = [
        re.search(r"[\dAB]", name.replace("Example ", "1").replace("Remark ", "6"))[0]
        for name in all_claims()
    ]
    assert sections == sorted(sections)


def test_a_known_slip_is_expected_and_another_failure_is_not():
    known = {"statement": "Lemma 8.2", "quantity": "how many T fail", "held": False}
    assert unexpected([known, {**known, "statement": "Lemma 2.1", "held": True}]) == []
    assert unexpected([known, {**known, "statement": "Lemma 2.1"}]) == [
        {**known, "statement": "Lemma 2.1"}
    ]


def test_same_seed_same_numbers_and_another_seed_others():
    first = check_claim("Lemma B.2", 3, 30)
    assert first == check_claim("Lemma B.2", 3, 30)
    assert first != check_claim("Lemma B.2", 4, 30)


def test_a_statement_can_be_checked_alone(tmp_path, monkeypatch):
    monkeypatch.setattr(paper.claims, "_MUTANT_EFFORT", 6)  # as in test_mutants.py
    result = claims(Runner(folder=tmp_path), repeats=20, seed=0, only=["Lemma 4.3"])
    assert {row["statement"] for row in result.tables[0].records()} == {"Lemma 4.3"}
    (row,) = result.tables[1].records()
    assert (row["statement"], row["held"], row["tightest"]) == ("Lemma 4.3", True, pytest.approx(1))
    assert row["fails for"] == "CDL: x 1.1, x 3, square root, + 0.01. SCDL_m: x 0.9, -> Cutoff"
    assert row["holds for"].startswith("CDL: x 0.9, ")
    with pytest.raises(
        rainproof.InputError,
        match=r"^there is no statement 'Lemma 9\.9'; there are: Example 1, Example 2, ",
    ):
        claims(Runner(folder=tmp_path), repeats=20, seed=0, only=["Lemma 9.9"])


def test_a_false_statement_is_caught():
    """Were the factor of Lemma 2.1 not 2 but 1.5, the search would find out."""

    def objective(dist):
        sample = dist.sample()
        return ratio(
            rainproof.measures.calibration_decision_loss(sample),
            rainproof.measures.expected_calibration_error(sample),
        )

    value, dist = worst_distribution(objective, np.random.default_rng(0), 200)
    assert value == objective(dist)
    assert not at_most("CDL / ECE", value, 1.5, "").held
    assert at_most("CDL / ECE", value, 2, "").held
    assert not open_constant("", math.inf, "").held


def test_a_calibrated_distribution_has_no_best_grid():
    """SCDL_m never balances 1/m there, and no m has the infimum: meeting one in a search is no
    failure.
    """
    rows = {row["quantity"]: row for row in check_claim("Lemma 3.3", 0, 200)}
    assert rows["|SCDL - infimum over m|, |max(SCDL_m*, 1/m*) - it|"]["observed"] < 1e-15


def test_search_climbs():
    def objective(dist):
        return -abs(dist.at[0] - 0.123456) if len(dist.at) > 2 else math.nan

    rng = np.random.default_rng(1)
    first = max(objective(random_distribution(rng)) for _ in range(10))
    found, dist = worst_distribution(objective, rng, 600)
    assert found > max(first, -1e-3)
    assert len(dist.at) > 2


def test_random_distributions_are_distributions():
    rng = np.random.default_rng(2)
    for _ in range(300):
        dist = changed(random_distribution(rng), rng)
        assert dist.weight.sum() == pytest.approx(1)
        assert (dist.weight > 0).all()
        for column in (dist.at, dist.frequency):
            assert ((column >= 0) & (column <= 1)).all()
        for pairs in (paired, one_moved):
            first, second, moved = pairs(dist)
            assert np.array_equal(first.frequency, second.frequency)
            assert np.array_equal(first.weight, second.weight)
            assert moved == pytest.approx(float(first.weight @ np.abs(first.at - second.at)))
            assert pairs is paired or np.array_equal(first.at[1:], second.at[1:])


def test_a_distribution_is_its_weighted_sample():
    dist = Distribution.of([0.25, 0.5, 0.5], [1, 1, 2], [1.0, 0.0, 0.5])
    pooled = dist.pooled()
    assert pooled.at.tolist() == [0.25, 0.5]
    assert pooled.frequency.tolist() == [1.0, pytest.approx(1 / 3)]
    for each in (dist, pooled):
        assert rainproof.measures.expected_calibration_error(each.sample()) == pytest.approx(
            0.75 * 0.25 + 0.75 / 6
        )
        for m in (2, 8, 32):
            grid = rainproof.choose_grid(each.sample(), max_grid=m)
            assert each.decision_loss(m) == pytest.approx(grid.losses[-1], abs=1e-15)
            assert 2 * each.soft_loss(m) + 2 / m == pytest.approx(2 * each.soft_loss(m) + 2 / m)
            assert each.rounded(m).fixed_losses().max() == pytest.approx(
                each.soft_loss(m), abs=1e-15
            )
    y, p = dist.draw(20_000, np.random.default_rng(0))
    assert y[p == 0.25].all()
    assert (p == 0.25).mean() == pytest.approx(0.25, abs=0.02)


def test_hard_and_soft_rounding_by_hand():
    dist = Distribution.of([0.6], [1], [1.0])
    soft, hard = dist.rounded(2), dist.rounded(2, soft=False)
    assert soft.index.tolist() == [1, 2]
    assert soft.weight.tolist() == pytest.approx([0.8, 0.2])
    assert hard.index.tolist() == [1]
    rounded = round_rows(np.ones(10_000), np.full(10_000, 0.6), 2, np.random.default_rng(0))
    assert rounded.weight.tolist() == pytest.approx([0.8, 0.2], abs=0.02)


def test_coins_by_hand():
    chance, lead = coins(2)
    assert chance.tolist() == [0.25, 0.5, 0.25]
    assert lead.tolist() == [-1, 0, 1]
    assert regret_of_guessing(lead, 0.25).tolist() == [0.75, 0, 0.25]
    assert least_sure_regret(2) == least_sure_regret(4) == 0
    assert least_sure_regret(1) == pytest.approx(0.5)
    assert Guess(0.25).probabilities([0.5, 0.5]).tolist() == [[0.25, 0.75], [0.25, 0.75]]


@for_each("rows", [1, 2, 3, 4, 5])
def test_the_least_error_is_that_of_the_best_order(rows):
    """Every order in which samples can be admitted, by brute force."""
    chance, lead = coins(rows)
    best = math.inf
    for order in itertools.permutations(np.flatnonzero(lead)):
        cost = ahead = behind = alpha = 0.0
        for k in order:
            ahead, behind = max(ahead, lead[k]), max(behind, -lead[k])
            alpha = max(alpha, ahead * behind / (ahead + behind))
            cost += chance[k] * alpha
        best = min(best, cost)
    assert least_error(rows) == pytest.approx(best, abs=1e-15)


def test_constructions_by_hand():
    assert rainproof.soft_binned_cdl(umbrella().sample()) == 0
    dist = level_bias(0.1, 1000)
    assert rainproof.measures.calibration_decision_loss(dist.sample()) == pytest.approx(
        0.01 / 0.9, rel=0.02
    )
