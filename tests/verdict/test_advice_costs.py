"""What is advised never costs more, by our own estimates, than another column of the table without
saying so.
"""

from __future__ import annotations

import numpy as np
import pytest
from helpers.cases import for_each

import rainproof
from rainproof.verdict.costs import Rule

pytestmark = pytest.mark.filterwarnings("ignore::rainproof.RainproofWarning")
NAMES = {
    Rule.AS_IS: "as they are",
    Rule.RECALIBRATED: "recalibrated",
    Rule.ALWAYS: "always acting",
    Rule.NEVER: "never acting",
}
RANGES = [(0.05, 0.2), (0.3, 0.6), (0.02, 0.9), 0.1, 0.5]


def drawn(seed):
    """Rows of one of many populations: few or many, rare events or not, calibrated or far off,
    noise too.
    """
    rng = np.random.default_rng(seed)
    n = int(rng.choice([25, 40, 80, 200, 600]))
    spread = rng.choice([0.0, 0.3, 1.0, 2.0])
    chance = 1 / (1 + np.exp(-(rng.choice([-3.5, -2.0, 0.0, 1.0]) + spread * rng.normal(size=n))))
    odds = np.log(chance / (1 - chance)) * rng.choice([-0.5, 0.4, 1.0, 2.5]) + rng.choice(
        [-1.5, 0.0, 1.5]
    )
    prob = np.round(1 / (1 + np.exp(-odds - rng.choice([0.0, 1.5]) * rng.normal(size=n))), 2)
    return (rng.random(n) < chance).astype(int), prob, rng


def names_of_cheaper(costs, own, named):
    """The columns that cost less than `own`, and are not named."""
    less = [
        rule
        for rule, cost in costs.items()
        if rule is not Rule.PERFECT and cost.value < own * (1 - 1e-9)
    ]
    return [rule for rule in less if named(rule) is False]


def is_named(said, best_threshold=None):
    def named(rule):
        if rule is Rule.CUTOFF:
            return "best cut-off" in said or "Without a map: acting from" in said
        return NAMES[rule] in said or f"{rule.value} act." in said

    return named


@for_each("part", range(2))
def test_with_costs_a_cheaper_column_is_named(part):
    dearer = 0
    for seed in range(60 * part, 60 * part + 60):
        y, p, rng = drawn(seed)
        mu = float(rng.choice([0.05, 0.2, 0.5, 0.8]))
        task = rainproof.DecisionTask.from_costs(false_positive=mu, false_negative=1 - mu)
        a = rainproof.assess(y, p, task=task, measures=[], n_resamples=19)
        if a.task.costs and a.verdict.rule is not None:
            said = f"{a.verdict.reason} {a.verdict.next_step}"
            own = a.task.costs[a.verdict.rule].value
            assert not names_of_cheaper(a.task.costs, own, is_named(said)), (seed, a.verdict.text)
            dearer += bool(names_of_cheaper(a.task.costs, own, lambda _: False))
    assert dearer > 0  # it happens


@for_each("part", range(2))
def test_in_a_range_a_cheaper_column_is_named_and_no_map_of_negative_skill_is_advised(part):
    dearer = 0
    for seed in range(60 * part, 60 * part + 60):
        y, p, _ = drawn(1000 + seed)
        a = rainproof.assess(
            y, p, threshold_range=RANGES[seed % len(RANGES)], measures=[], n_resamples=19
        )
        known, rule = a.evidence.range_costs, a.verdict.rule
        assert rule is not Rule.RECALIBRATED or a.evidence.skill.value >= 0, (seed, a.verdict.text)
        if known is None or a.evidence.rarer == 0 or a.evidence.constant or a.evidence.is_reversed:
            continue
        said = f"{a.verdict.reason} {a.verdict.next_step}"
        own = known.without_forecast.value if rule is None else known.costs[rule].value
        assert not names_of_cheaper(known.costs, own, is_named(said)), (seed, a.verdict.text)
        dearer += bool(names_of_cheaper(known.costs, own, lambda _: False))
    assert dearer > 0


@for_each(
    "prob, happens, share, threshold, n",
    [
        # the original never acts, the maps often always do
        ([0.01, 0.02], [0.03, 0.5], [0.35, 0.65], 0.06, 120),
        ([0.05, 0.1, 0.15, 0.2, 0.25], [0.1, 0.3, 0.5, 0.6, 0.8], [0.2] * 5, 0.2, 60),
    ],
)
def test_where_the_best_monotone_recalibration_has_skill_few_samples_are_told_to_avoid(
    prob, happens, share, threshold, n
):
    """Its skill is 0.26 and 0.18; 9% and 13% of these samples were graded "avoid", at most 5% are
    promised.
    """
    task = rainproof.DecisionTask.from_costs(false_positive=threshold, false_negative=1 - threshold)
    avoided = 0
    for seed in range(100):
        rng = np.random.default_rng([seed, n, 7])
        k = rng.choice(len(prob), n, p=share)
        y = (rng.random(n) < np.array(happens)[k]).astype(int)
        found = rainproof.assess(y, np.array(prob)[k], task=task, measures=[], n_resamples=19)
        avoided += found.verdict.grade == "avoid"
    assert avoided <= 9  # 5% and two standard errors


@for_each("threshold, n", [(0.06, 120), (0.6, 60)])
def test_a_calibrated_forecast_with_skill_is_not_one_to_avoid(threshold, n):
    share, prob = (0.35, [0.03, 0.5]) if threshold < 0.5 else (0.92, [0.12, 0.75])
    task = rainproof.DecisionTask.from_costs(false_positive=threshold, false_negative=1 - threshold)
    avoided = 0
    for seed in range(60):
        rng = np.random.default_rng([seed, n])
        p = np.where(rng.random(n) < share, *prob)
        y = (rng.random(n) < p).astype(int)
        avoided += (
            rainproof.assess(y, p, task=task, measures=[], n_resamples=19).verdict.grade == "avoid"
        )
    assert avoided <= 6  # 5% and two standard errors


def test_noise_is_still_one_to_avoid():
    """With 3,000 rows, in most samples."""
    avoided = 0
    for seed in range(10):
        rng = np.random.default_rng(seed)
        y = rng.random(3000) < 0.3
        avoided += (
            rainproof.assess(y, rng.random(3000), measures=[], n_resamples=19).verdict.grade
            == "avoid"
        )
    assert avoided >= 8


def test_the_costs_of_a_range_are_means_over_its_thresholds():
    """By numerical integration over the thresholds, of the costs of each."""
    rng = np.random.default_rng(3)
    p = np.round(rng.random(500), 2)
    y = rng.random(500) < 0.1 + 0.6 * p
    found = rainproof.assess(
        y, p, threshold_range=(0.1, 0.45), measures=[], n_resamples=19
    ).evidence.range_costs
    at = 0.1 + 0.35 * (np.arange(35_000) + 0.5) / 35_000
    rate = y.mean()
    always = at * (1 - rate)
    never = (1 - at) * rate
    acts = np.searchsorted(np.sort(p[~y]), at), np.searchsorted(np.sort(p[y]), at)
    original = (at * ((~y).sum() - acts[0]) + (1 - at) * acts[1]) / 500
    expected = {Rule.AS_IS: original, Rule.ALWAYS: always, Rule.NEVER: never, Rule.PERFECT: 0 * at}
    for rule, column in expected.items():
        assert found.costs[rule].value == pytest.approx(column.mean(), abs=1e-5)
    assert found.without_forecast.value == pytest.approx(np.minimum(always, never).mean(), abs=1e-5)
    for rule, saved in found.saved.items():
        assert saved.value == pytest.approx(found.costs[Rule.AS_IS].value - found.costs[rule].value)
    for rule, saved in found.saved_recalibrated.items():
        assert saved.value == pytest.approx(
            found.costs[Rule.RECALIBRATED].value - found.costs[rule].value
        )


def test_the_costs_at_one_threshold_are_those_of_the_task():
    rng = np.random.default_rng(3)
    p = np.round(rng.random(500), 2)
    y = rng.random(500) < 0.1 + 0.6 * p
    task = rainproof.DecisionTask.from_costs(false_positive=0.3, false_negative=0.7)
    own = rainproof.assess(y, p, task=task, measures=[], n_resamples=19)
    one = rainproof.assess(
        y, p, threshold_range=0.3, measures=[], n_resamples=19
    ).evidence.range_costs
    for rule, cost in one.costs.items():
        assert cost.value == pytest.approx(own.task.costs[rule].value)
    for rule, saved in one.saved_recalibrated.items():
        assert saved.value == pytest.approx(own.task.saved_recalibrated[rule].value)


def test_always_and_never_stand_in_the_table_of_a_range():
    rng = np.random.default_rng(8)
    p = rng.random(800)
    y = rng.random(800) < 0.4 + 0.6 * p
    found = rainproof.assess(y, p, threshold_range=(0.05, 0.2), measures=[], n_resamples=19)
    assert found.verdict.table[0] == (
        "",
        "as they are",
        "recalibrated",
        "always",
        "never",
        "perfect",
    )
    assert found.verdict.table[1][0] == "cost per case, mean over the range"
    # events are far more frequent than every threshold of the range
    assert found.verdict.rule is Rule.ALWAYS
    assert "always act." in found.verdict.next_step
    assert found.to_dict()["range_costs"]["costs"]["always"]["value"] == pytest.approx(
        0.125 * (1 - y.mean())
    )


@for_each(
    "within, rule, step",
    [
        ((0.05, 0.2), Rule.ALWAYS, "Until then always act."),
        ((0.5, 0.9), Rule.NEVER, "Until then never act."),
        (
            (0.2, 0.5),
            None,
            "Until then act always if you act from less than 30% (the event rate) on, else never.",
        ),
    ],
)
def test_of_a_constant_the_better_of_always_and_never_is_advised_if_it_is_one_for_the_whole_range(
    within, rule, step
):
    y = np.arange(500) % 10 < 3
    found = rainproof.assess(
        y, np.full(500, 0.3), threshold_range=within, measures=[], n_resamples=19
    ).verdict
    assert (found.grade, found.rule) == ("avoid", rule)
    assert found.next_step.endswith(step)
    assert found.table[0] == ("", "always", "never", "perfect")
