"""Wrong measures: each must break the statements that it breaks in theory."""

from __future__ import annotations

import math

import numpy as np
import pytest
from helpers.cases import for_each

import paper.claims
import rainproof
from paper.claims import MUTANTS, TRUE, Measures, all_claims, check_claim, unexpected
from paper.claims_rates import exponent_of, loss_limit
from paper.constructions import (
    Distribution,
    calibrated_laws,
    deviation_limit,
    exact_distance,
    miscalibrated_laws,
    random_distribution,
    rounds_below,
)

_SCALED = ("x 1.1", "x 0.9", "x 3", "square root")


def every(*names):
    return {f"{name} {how}" for name in names for how in _SCALED}


# Statement: the mutants that break it in theory. Factors break what is attained, square roots break
# rates and upper bounds, CDL is neither continuous nor testable, Cutoff neither continuous nor
# actionable, SCDL_16 neither complete nor actionable, and what is rounded down is not continuous.
BREAKS = {
    "Example 1": {"CDL + 0.01"},
    "Example 2": {"regret x 0.9", "CDL -> SCDL", "CDL -> Cutoff"},
    "Claim 1.1": {"CDL -> SCDL", "CDL -> Cutoff"},
    "Theorem 1.2": {"SCDL square root", "SCDL -> CDL"},
    "Section 1.3 (bECE)": {"ECE x 0.9", "CDL x 1.1", "CDL x 3", "CDL square root"},
    "Section 1.4 (sound and complete)": {"SCDL -> SCDL_16", "SCDL + 0.01"},
    "Section 1.5 (hard-binned)": {"CDL x 1.1", "CDL x 3", "SCDL_m x 0.9", "SCDL_m -> Cutoff", "SCDL -> rounded down"},
    "Lemma 2.1": every("ECE", "CDL"),
    "Lemma 2.2": every("CDL") | {"CDL -> SCDL", "CDL -> Cutoff"},
    "Theorem 2.3": {"smCE x 1.1", "smCE x 3", "smCE square root", "smCE -> Cutoff", "distCal x 0.9", "distCal x 3",
                    "distCal square root"},
    "Lemma 3.1": every("pi_j", "pi_j q_j") | {"pi_j -> rounded down", "pi_j q_j -> rounded down"},
    "Lemma 3.2": {"SCDL_m -> CDL(D_m)"},
    "Lemma 3.3": every("SCDL", "SCDL_m") | {"SCDL -> CDL", "SCDL -> Cutoff", "SCDL_m -> CDL", "SCDL_m -> Cutoff"},
    "Lemma 3.4": {"CDL x 0.9", "SCDL x 1.1", "SCDL x 3", "SCDL square root", "SCDL -> Cutoff", "SCDL_m x 1.1",
                  "SCDL_m x 3", "SCDL_m square root", "SCDL_m -> CDL(D_m)"},
    "Lemma 4.1": {"SCDL_m -> CDL", "SCDL_m -> Cutoff"},
    "Theorem 4.2": every("CDL(D_m)") | {"SCDL x 0.9", "SCDL_m x 1.1", "SCDL_m x 0.9", "SCDL_m x 3", "regret x 1.1",
                                        "regret x 3", "SCDL -> Cutoff", "SCDL -> SCDL_16", "SCDL_m -> Cutoff"},
    "Lemma 4.3": {"CDL x 1.1", "CDL x 3", "CDL square root", "SCDL_m x 0.9", "SCDL_m -> Cutoff"},
    "Theorem 4.4": {"SCDL x 0.9", "SCDL -> Cutoff", "SCDL -> SCDL_16", "CDL(D_m) x 1.1", "CDL(D_m) x 3",
                    "CDL(D_m) square root"},
    "Theorem 5.1": {"SCDL x 1.1", "SCDL x 3", "SCDL square root", "SCDL -> CDL", "SCDL -> Cutoff",
                    "SCDL -> rounded down"},
    "Lemma 5.2": {"SCDL_m x 1.1", "SCDL_m x 3", "SCDL_m square root", "SCDL_m -> CDL", "SCDL_m -> Cutoff",
                  "SCDL_m -> rounded down"},
    "Theorem 6.1": {"SCDL square root", "SCDL -> CDL", "SCDL -> Cutoff", "distCal square root"},
    "Remark 1": every("CDL", "distCal") | {"CDL -> SCDL", "CDL -> Cutoff", "SCDL -> SCDL_16"},
    "Theorem 7.1": {"SCDL square root", "SCDL -> CDL"},
    "Lemma 7.2": {"SCDL_m square root", "SCDL_m -> CDL"},
    "Lemma 7.3": {"SCDL_m -> Cutoff"},
    "Lemma 7.4": {"SCDL_m -> CDL"},
    "Theorem 8.1": {"SCDL -> SCDL_16"},
    "Lemma 8.2": every("regret"),
    "Section 9 (Table 2)": {"SCDL x 3", "SCDL -> CDL"},
    "Section 9 (Figure 3)": {"Cutoff -> smCE"},
    "Theorem A.1": every("smCE"),
    "Theorem B.1": every("Cutoff"),
    "Lemma B.2": every("regret"),
}  # fmt: skip


@pytest.fixture
def remembered(monkeypatch):
    """Compute a measure of a distribution once: the search for what breaks a statement starts from
    the same ones.
    """
    known = {}

    def once(function):
        def value(dist, *rest):
            key = (
                function,
                *(column.tobytes() for column in (dist.at, dist.weight, dist.frequency)),
                *rest,
            )
            if key not in known:
                known[key] = function(dist, *rest)
            return known[key]

        return value

    monkeypatch.setattr(paper.claims, "exact_distance", once(exact_distance))
    # a task is no key; the distance is remembered above
    for name in set(TRUE) - {"regret", "distCal"}:
        monkeypatch.setitem(TRUE, name, once(TRUE[name]))


@for_each("name", BREAKS)
def test_wrong_measures_break_a_statement(name, remembered):
    noticed = {mutant for mutant in BREAKS[name] if unexpected(check_claim(name, 0, 6, mutant))}
    assert noticed == BREAKS[name]


def test_every_statement_can_fail_and_every_mutant_is_noticed():
    assert set(BREAKS) == set(all_claims())
    noticed = set().union(*BREAKS.values())
    assert set(MUTANTS) == noticed


def test_a_mutant_replaces_one_measure():
    dist = Distribution.of([0.3], [1], [0.6])
    right, wrong = Measures(), Measures("SCDL x 3")
    assert wrong("SCDL", dist) == 3 * right("SCDL", dist)
    assert wrong("CDL", dist) == right("CDL", dist)
    assert wrong.used == {"SCDL", "CDL"}
    assert set(right.mutants()) == {
        mutant for mutant, (name, _) in MUTANTS.items() if name in ("SCDL", "CDL")
    }
    assert {name for name, _ in MUTANTS.values()} == set(TRUE)


@for_each("seed", range(6))
def test_the_exact_distance_agrees_with_the_grid(seed):
    dist = random_distribution(np.random.default_rng(seed))
    low, high = exact_distance(dist)
    assert 0 <= high - low < 1e-8
    grid = rainproof.measures.lower_distance_to_calibration(dist.sample(), grid=256)
    assert grid - 1 / 256 - 1e-8 <= high
    assert low <= grid + 0.5 / 256 + 1e-8


def test_the_exact_distance_by_hand():
    assert exact_distance(Distribution.of([0.0], [1], [1.0]))[1] == pytest.approx(1)
    assert exact_distance(Distribution.of([0.5, 0.5], [1, 3], [0.0, 1.0]))[1] == pytest.approx(0.25)
    assert exact_distance(Distribution.of([0.2, 0.8], [1, 1], [0.2, 0.8]))[1] == pytest.approx(
        0, abs=1e-9
    )


def test_the_exact_distance_of_300_rows_is_below_that_on_a_grid():
    rng = np.random.default_rng(3)
    p = rng.random(300)
    y = rng.random(300) < p**2
    low, high = exact_distance(Distribution.of(p, np.ones(300), y))
    assert high - low < 1e-8
    assert high == pytest.approx(
        rainproof.measures.lower_distance_to_calibration(y, p, grid=1024), abs=1 / 1024
    )


@for_each("m, rows", [(2, 3), (4, 4)])
def test_the_deviation_limit_holds_for_all_samples(m, rows):
    """All samples of a few rows, with their probabilities: the mean and the tail stay within the
    limit.
    """
    dist = Distribution.of([0.3, 0.8], [0.4, 0.6], [0.7, 0.2])
    truth, chances, offs = dist.soft_loss(m), [], []
    cells = [
        (p, y, w * (q if y else 1 - q))
        for p, w, q in zip(dist.at, dist.weight, dist.frequency, strict=True)
        for y in (0, 1)
    ]
    for index in np.ndindex(*[len(cells)] * rows):
        p, y, chance = zip(*(cells[k] for k in index), strict=True)
        chances.append(math.prod(chance))
        offs.append(Distribution.of(p, np.ones(rows), y).soft_loss(m) - truth)
    chances, offs = np.array(chances), np.array(offs)
    assert chances.sum() == pytest.approx(1)
    assert chances @ offs <= deviation_limit(dist.rounded(m), rows, None)
    for delta in (0.5, 0.1, 0.01):
        above = deviation_limit(dist.rounded(m), rows, delta)
        assert chances[offs > above].sum() <= delta
        both = deviation_limit(dist.rounded(m), rows, delta, both=True)
        assert both > above
        assert chances[np.abs(offs) > both].sum() <= delta


def test_the_limit_of_scdl_falls_with_the_rows():
    for law in (*calibrated_laws().values(), *miscalibrated_laws().values()):
        limits = [loss_limit(law.population(), size, None) for size in (10, 1_000, 100_000)]
        assert 1 >= limits[0] > limits[1] > limits[2] > 0
        assert loss_limit(law.population(), 1_000, 1e-3) > limits[1] / 2


def test_laws_are_what_they_draw():
    rng = np.random.default_rng(0)
    for law in (*calibrated_laws().values(), *miscalibrated_laws().values()):
        population, drawn = law.population(), law.draw(20_000, rng)
        assert population.weight.sum() == pytest.approx(1)
        for m in (2, 8):
            assert drawn.soft_loss(m) == pytest.approx(population.soft_loss(m), abs=0.02)
    tight = rounds_below(8, 0.8, 0.3).population()
    assert tight.decision_loss(8) == pytest.approx(2 * tight.soft_loss(8) + 2 / 8)
    assert rainproof.soft_binned_cdl(tight.sample()) == pytest.approx(tight.soft_loss(8))


def test_an_exponent_of_what_vanishes():
    assert exponent_of({10: 1.0, 100: 0.1, 1000: 0.01}) == pytest.approx(-1)
    assert exponent_of({10: 1.0, 100: 0.1, 1000: 0.0}) == -math.inf
