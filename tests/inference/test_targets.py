"""A threshold with a proven target: what it claims, when it is false, and what it refuses."""

from __future__ import annotations

import csv
import math
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from helpers.cases import for_each
from scipy.stats import beta, binom

from benchmarks.studies import targets as study
from rainproof import InputError, Sample, find_threshold
from rainproof.inference.target_proofs import CountTable, DrawBets, FlaggedCounts, TargetProof
from rainproof.inference.threshold_search import short_threshold

DATA = Path(__file__).parents[2] / "docs" / "data"


def rows(n, seed=0, power=1.0):
    rng = np.random.default_rng(seed)
    p = rng.beta(0.7, 0.9, n)
    return rng.random(n) < p**power, p


def last_recall(y, p, share, delta):
    """The largest prediction at which recall is proven, one after the other."""
    passed = [t for t in np.unique(p) if binom.sf((p[y] >= t).sum() - 1, y.sum(), share) <= delta]
    return max(passed, default=None)


def test_recall_is_the_last_threshold_that_an_exact_test_proves():
    y, p = rows(700)
    found = find_threshold(y, p, recall=0.9, confidence_level=0.9)
    expected = last_recall(y, p, 0.9, 0.1)
    assert found.threshold == pytest.approx(expected, abs=1e-3)
    assert found.threshold <= expected
    assert found.recall == np.mean(p[y] >= found.threshold)
    assert found.precision == np.mean(y[p >= found.threshold])
    assert found.false_positive_rate == np.mean(p[~y] >= found.threshold)
    assert found.flagged == np.mean(p >= found.threshold)
    assert (found.targets, found.rows_needed, found.n) == ({"recall": 0.9}, None, 700)


def test_a_false_positive_rate_is_the_recall_of_the_other_event():
    y, p = rows(700)
    found = find_threshold(y, p, false_positive_rate=0.1)
    # flags what is not flagged: from 1 - p on, and not p itself
    mirrored = last_recall(~y, 1 - p, 0.9, 0.05)
    assert 1 - mirrored < found.threshold <= 1 - mirrored + 0.02
    assert find_threshold(y, p, false_positive_rate=0.2).threshold < found.threshold


def test_precision_is_proven_at_the_threshold_by_an_exact_test():
    y, p = rows(3000)
    found = find_threshold(y, p, precision=0.85)
    flagged = p >= found.threshold
    # of all rows, a tenth of which only chose
    assert binom.sf(y[flagged].sum() - 1, flagged.sum(), 0.85) < 0.06
    assert 0.85 < found.precision < 0.93
    assert found == find_threshold(Sample(y, p), precision=0.85)
    order = np.random.default_rng(5).permutation(3000)
    assert found == find_threshold(y[order], p[order], precision=0.85)
    assert find_threshold(y, p, precision=0.85, confidence_level=0.999).threshold >= found.threshold
    strict, lax = (find_threshold(y, p, precision=share).threshold for share in (0.88, 0.7))
    assert strict > found.threshold > lax


def test_few_flagged_cases_are_proven_by_their_number():
    """Of 60 rows 20 choose; among the 40 others the largest prediction but k fixes the
    threshold.
    """
    p = (np.arange(60) + 0.5) / 60
    y = p > 0.4
    found = find_threshold(y, p, precision=0.7)
    assert found.threshold is not None
    assert np.all(y[p >= found.threshold])
    assert (p >= found.threshold).sum() >= math.log(0.05) / math.log(0.7)


def test_one_target_of_several_can_forbid_what_the_other_allows():
    y, p = rows(4000)
    alone, both = (
        find_threshold(y, p, precision=0.8),
        find_threshold(y, p, precision=0.8, recall=0.3),
    )
    assert both.threshold >= alone.threshold
    assert both.targets == {"precision": 0.8, "recall": 0.3}
    assert find_threshold(y, p, precision=0.8, false_positive_rate=0.01).threshold > alone.threshold
    never = find_threshold(y, p, precision=0.9, recall=0.95)
    assert (never.threshold, never.precision, never.flagged) == (None, None, None)
    assert "On these 4,000 rows no threshold has all of that at once." in str(never)
    narrow = find_threshold(y, p, recall=0.9, false_positive_rate=0.5)
    assert np.mean(p[y] >= narrow.threshold) > 0.9 > 0.5 > np.mean(p[~y] >= narrow.threshold)


def test_groups_weights_and_shares_are_bets_on_draws():
    y, p = rows(3000)
    each = find_threshold(y, p, precision=0.75, groups=np.arange(3000))
    exact = find_threshold(y, p, precision=0.75)
    assert each.groups == 3000
    assert exact.threshold <= each.threshold < exact.threshold + 0.2
    copied = find_threshold(
        np.repeat(y, 3), np.repeat(p, 3), precision=0.75, groups=np.repeat(np.arange(3000), 3)
    )
    # a row three times is one draw, not three
    assert copied.threshold == pytest.approx(each.threshold, abs=0.1)
    assert (
        find_threshold(np.repeat(y, 3), np.repeat(p, 3), precision=0.75).threshold
        < copied.threshold
    )
    rng = np.random.default_rng(3)
    weight = 1 + rng.random(3000)
    assert (
        find_threshold(y, p, precision=0.75, sample_weight=weight, max_weight=2).threshold
        > exact.threshold
    )
    shares = Sample(np.where(rng.random(3000) < 0.3, 0.5, y), p, fractional=True)
    assert find_threshold(shares, recall=0.8).threshold is not None


def test_weights_need_a_stated_largest_one():
    """Also equal ones: a sample can lack the heavy rows by chance."""
    y, p = rows(400)
    rule = "must have a largest possible value that is stated.*; state max_weight, the"
    for weight in (1 + p, np.full(400, 7.0), np.ones(400), np.arange(400) % 2.0):
        for columns in ({}, {"groups": np.arange(400) // 4}):
            with pytest.raises(InputError, match=rule):
                find_threshold(y, p, precision=0.7, sample_weight=weight, **columns)
    for sample in (
        Sample(y, p, sample_weight=1 + p).compress(64),
        Sample(y, p, sample_weight=np.full(400, 7.0)).compress(64),
        Sample(y, p, sample_weight=1 + p),
        Sample(y, p, sample_weight=np.ones(400)),
    ):
        with pytest.raises(InputError, match=rule):
            find_threshold(sample, recall=0.7)
    same = find_threshold(y, p, recall=0.7, sample_weight=np.full(400, 7.0), max_weight=7)
    assert same.threshold == find_threshold(y, p, recall=0.7, groups=np.arange(400)).threshold
    with pytest.raises(
        InputError, match="max_weight must be finite, and at least the largest weight"
    ):
        find_threshold(y, p, precision=0.7, sample_weight=1 + p, max_weight=1)
    with pytest.raises(InputError, match="base_rate cannot be combined with max_weight"):
        find_threshold(y, p, precision=0.7, base_rate=0.1, max_weight=1)


def test_nothing_is_proven_of_a_sample_that_lacks_the_heavy_rows():
    """Of the confident cases, right in half, one in 500 is looked up, of the others all: most
    samples have weights of 1 alone.
    """
    for seed in range(40):
        rng = np.random.default_rng(seed)
        confident = rng.random(300) < 0.5
        y = rng.random(300) < np.where(confident, 0.5, 0.995)
        chance = np.where(confident, 1 / 500, 1.0)
        seen = rng.random(300) < chance
        p = np.where(confident, 0.9, 0.8)
        with pytest.raises(InputError, match="state max_weight"):
            find_threshold(y[seen], p[seen], precision=0.95, sample_weight=1 / chance[seen])


def test_with_weights_that_depend_on_predictions_few_thresholds_are_false():
    """Of the most confident of three predictions, right in 60%, one case in 60 is looked up; of the
    others all are.
    """
    false = 0
    for seed in range(150):
        rng = np.random.default_rng(seed)
        which = rng.integers(3, size=600)
        seen = rng.random(600) < np.array([1, 1, 1 / 60])[which]
        p, right = np.array([0.5, 0.8, 0.95])[which[seen]], np.array([0.97, 0.97, 0.6])[which[seen]]
        y, weight = rng.random(len(p)) < right, np.array([1.0, 1.0, 60.0])[which[seen]]
        false += (
            find_threshold(y, p, precision=0.9, sample_weight=weight, max_weight=60).threshold
            is not None
        )
    assert false <= 0.05 * 150


def test_a_stated_largest_weight_proves_what_is_true():
    """One case in five is looked up where the model is sure: each of those counts as five."""
    rng = np.random.default_rng(0)
    p = np.where(
        rng.random(9000) < 0.8, rng.uniform(0.9, 1, 9000), rng.uniform(0.2, 0.9, 9000)
    ).round(3)
    y, chance = rng.random(9000) < np.where(p >= 0.9, 0.99, 0.6), np.where(p >= 0.9, 0.2, 1.0)
    seen = rng.random(9000) < chance
    found = find_threshold(
        y[seen], p[seen], precision=0.95, sample_weight=1 / chance[seen], max_weight=5
    )
    assert 0.6 < found.threshold <= 0.95  # below 0.59 the precision is smaller than 95%
    assert found.max_weight == 5
    assert (
        "and no row can weigh more than 5. All of this is about the population in which each "
        "row counts"
    ) in str(found)
    heavier = find_threshold(
        y[seen], p[seen], precision=0.95, sample_weight=1 / chance[seen], max_weight=500
    )
    assert heavier.threshold is None
    assert heavier.rows_needed > 9000


def test_what_bets_make_of_draws_is_what_the_definition_says():
    y, p, group = (
        np.array([1, 0, 1, 1, 0]),
        np.array([0.9, 0.8, 0.7, 0.2, 0.1]),
        np.array([0, 0, 1, 1, 1]),
    )
    weight = np.array([1.0, 2.0, 1.0, 1.0, 3.0])
    bets = DrawBets.on(Sample(y, p, groups=group, sample_weight=weight))
    for name, share in (("precision", 0.6), ("recall", 0.3), ("false_positive_rate", 0.4)):
        value = (
            {
                "precision": (p >= 0.5) * (y - 0.6),
                "recall": y * ((p >= 0.5) - 0.3),
                "false_positive_rate": (1 - y) * ((p < 0.5) - 0.6),
            }[name]
            * weight
            / 5
        )
        part = 0.3 if name == "recall" else 0.6
        wealth = np.prod([1 + 0.98 / part * value[group == k].sum() for k in range(2)])
        proof = TargetProof({name: share}, 0.05, None)
        assert bets.evidence(proof, 0.5) == pytest.approx(math.log(wealth))


def test_at_a_base_rate_two_exact_limits_prove_the_precision():
    y, p = rows(3000)
    found = find_threshold(y, p, precision=0.5, base_rate=0.2)
    hits, alarms = (p[y] >= found.threshold).sum(), (p[~y] >= found.threshold).sum()
    assert found.precision == pytest.approx(
        0.2 * found.recall / (0.2 * found.recall + 0.8 * found.false_positive_rate)
    )
    assert (found.recall, found.base_rate) == (pytest.approx(hits / y.sum()), 0.2)
    assert (
        find_threshold(y, p, recall=0.8, base_rate=0.2).threshold
        == find_threshold(y, p, recall=0.8).threshold
    )
    assert find_threshold(y, p, precision=0.5, base_rate=(0.2, 0.4)) == found
    counts = FlaggedCounts(hits, alarms, y.sum(), (~y).sum())
    least = beta.ppf(0.025, hits, counts.events - hits + 1)
    most = beta.ppf(0.975, alarms + 1, counts.others - alarms)
    for rate in (0.1, 0.15, 0.2, 0.25):
        expected = least >= 0.5 / 0.5 * (1 - rate) / rate * most
        proof = TargetProof({"precision": 0.5}, 0.05, rate)
        assert proof.holds_by_counts("precision", counts) == expected
    assert "at the base rate 20%" in str(found)
    cells = find_threshold(Sample(y, p, base_rate=0.2).compress(256), precision=0.5)
    assert cells.threshold == pytest.approx(found.threshold, abs=0.1)


def test_a_compressed_sample_has_thresholds_at_the_edges_of_its_cells():
    y, p = rows(4000)
    cells = Sample(y, p).compress(64)
    for target in ({"precision": 0.8}, {"recall": 0.9}, {"false_positive_rate": 0.1}):
        found, exact = find_threshold(cells, **target), find_threshold(y, p, **target)
        assert 64 * found.threshold == round(64 * found.threshold)
        assert found.threshold == pytest.approx(exact.threshold, abs=0.05)
        assert found.flagged == pytest.approx(np.mean(p >= found.threshold))
    with pytest.raises(InputError, match="max_weight needs rows"):
        find_threshold(Sample(y, p, sample_weight=1 + p).compress(64), precision=0.8, max_weight=2)


def test_counts_know_how_many_rows_are_above():
    table = CountTable.of(Sample([0, 1, 1, 0, 1], [0.2, 0.5, 0.5, 0.7, 0.9]))
    assert table.prob.tolist() == [0.2, 0.5, 0.7, 0.9]
    assert (table.events.tolist(), table.others.tolist()) == ([3, 3, 1, 1, 0], [2, 1, 1, 0, 0])


@for_each(
    "value, up, above, expected",
    [
        (0.123456, False, False, 0.1234),
        (0.123456, True, False, 0.1235),
        (0.85, False, False, 0.85),
        (0.85, True, True, 0.8501),
        (0.00012345678, False, False, 0.0001234),
        (0.99987654321, True, False, 0.9998766),
        (0.0, False, False, 0.0),
        (1.0, True, False, 1.0),
        (1e-30, False, False, 0.0),
    ],
)
def test_thresholds_have_few_digits(value, up, above, expected):
    assert short_threshold(value, up=up, grid=None, above=above) == expected
    assert short_threshold(value, up=up, grid=64, above=False) == value


def test_ties_and_extreme_predictions():
    rng = np.random.default_rng(0)
    p = rng.choice([0.0, 1e-12, 0.5, 1.0], 2000)
    y = rng.random(2000) < np.where(p == 1, 0.99, np.where(p == 0.5, 0.6, 0.01))
    assert find_threshold(y, p, precision=0.9).threshold == 1.0
    assert find_threshold(y, p, precision=0.7).threshold == 0.5
    assert find_threshold(y, p, recall=0.95).threshold == 0.5
    assert find_threshold(y, p, false_positive_rate=0.5).threshold == pytest.approx(0.5, abs=1e-9)
    constant = find_threshold(y, np.full(2000, 0.3), precision=0.2)
    assert (constant.threshold, constant.flagged) == (0.3, 1.0)
    single = find_threshold([1, 0], [0.9, 0.1], precision=0.5)
    assert single.threshold is None


def test_rows_needed_is_where_half_of_the_samples_succeed():
    needed, found = [], 0
    for k in range(30):
        y, p = rows(300, seed=k)
        asked = find_threshold(y, p, precision=0.93)
        assert "About half of the samples with" in str(asked) or asked.threshold is not None
        if asked.rows_needed is not None:
            more = rows(asked.rows_needed, seed=1000 + k)
            needed.append(asked.rows_needed)
            found += find_threshold(*more, precision=0.93).threshold is not None
    assert len(needed) > 20
    assert 0.3 < found / len(needed) < 0.8
    grouped = find_threshold(*rows(200), precision=0.9, groups=np.arange(200) // 2)
    assert grouped.rows_needed > 200
    assert find_threshold(*rows(400), precision=0.9999, recall=0.99).rows_needed is None


@for_each(
    "options, match",
    [
        ({}, "^state a target: precision, recall, false_positive_rate, or several of them$"),
        (
            {"precision": 1.0},
            "^precision must be a number between 0 and 1, both excluded; it is 1.0$",
        ),
        ({"recall": 0}, "^recall must be a number between 0 and 1, both excluded; it is 0$"),
        (
            {"recall": math.nan},
            "^recall must be a number between 0 and 1, both excluded; it is nan$",
        ),
        ({"false_positive_rate": "5%"}, "^false_positive_rate must be a number"),
        ({"precision": 0.9, "confidence_level": 1}, "^confidence_level must be"),
        ({"precision": 0.9, "base_rate": 0.1, "groups": np.arange(100)}, "base_rate"),
        ({"precision": 0.9, "rng": -1}, "^rng must be"),
        ({"precision": 0.9, "groups": np.arange(99)}, "groups"),
    ],
)
def test_it_refuses(options, match):
    with pytest.raises(InputError, match=match):
        find_threshold(*rows(100), **options)


def test_it_refuses_rows():
    y, p = rows(100)
    with pytest.raises(
        InputError, match=r"^y_true must have both outcomes; all rows with weight have 1$"
    ):
        find_threshold(np.ones(100), p, precision=0.9)
    with pytest.raises(InputError, match="y_prob must not contain NaN"):
        find_threshold(y, np.where(p > 0.5, np.nan, p), precision=0.9)
    with pytest.raises(InputError, match="the same index in another order"):
        find_threshold(pd.Series(y), pd.Series(p).sample(frac=1, random_state=0), precision=0.9)


def test_the_claim_is_rarely_false(tmp_path):
    """In short; the table of the documentation has 2,000 samples a line."""
    path = tmp_path / "targets.csv"
    study.main([str(path), "--repeats", "6", "--fewer", "2"])
    with path.open(encoding="utf-8") as file:
        lines = list(csv.DictReader(file))
    assert len(lines) == len(study.CASES)
    assert sum(int(line["ours_false"]) for line in lines) <= 0.08 * 6 * len(lines)
    assert sum(int(line["ours_found"]) for line in lines) > 0.4 * 6 * len(lines)


def test_the_committed_counts():
    with (DATA / "targets.csv").open(encoding="utf-8") as file:
        lines = list(csv.DictReader(file))
    assert len(lines) == len(study.CASES)
    for line in lines:
        # 5% and two standard errors
        assert (int(line["ours_repeats"]), int(line["ours_false"]) <= 122) == (2000, True)
        if line["mapie_repeats"] != "0":
            assert int(line["same_found"]) >= int(line["mapie_found"])
