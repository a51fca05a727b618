"""A stated largest weight: what is proven holds for groups whose size depends on their rows."""

import itertools
import math

import numpy as np
import pytest
from helpers.cases import for_each

import rainproof
from rainproof import Sample, guarantee, switch_guarantee
from rainproof.core.segments import Segments
from rainproof.inference.proven_gains import worth
from rainproof.inference.rate_slack import rate_slack, slack_of_groups
from rainproof.verdict.advice import rate_intervals
from rainproof.verdict.advice_statements import advice_limits
from rainproof.verdict.renderer import PYTHON, SHELL

pytestmark = pytest.mark.filterwarnings("ignore::rainproof.FewRowsWarning")
HEAVY = 400


def informative(seed, n=400):
    """One group in 400 has 400 rows, in which high predictions mean no event; the others are one
    calibrated row.
    """
    rng = np.random.default_rng(seed)
    group = np.repeat(np.arange(n), np.where(rng.random(n) < 1 / HEAVY, HEAVY, 1))
    p = rng.choice([0.1, 0.9], len(group))
    heavy = np.bincount(group)[group] > 1
    return rng.random(len(group)) < np.where(heavy, 1 - p, p), p, group


def test_what_is_proven_holds_for_groups_of_informative_size():
    """In the population half of the rows are in large groups, so the event rate is 1/2 whatever the
    prediction.
    """
    half = Sample([0, 1] * 2, [0.1, 0.1, 0.9, 0.9])
    harm = switch_guarantee(half.y_true, np.full(4, 0.5), half.y_prob).harm
    missed = {}
    for most, seed in itertools.product((None, HEAVY), range(8)):
        y, p, group = informative(seed)
        sample = Sample(y, p, groups=group).with_max_weight(most)
        switch = switch_guarantee(y, np.full(len(p), 0.5), p, groups=group, max_weight=most)
        *_, at_least, at_most = rate_intervals(sample, confidence_level=0.95)
        found = {
            "harm": switch.harm_bound < harm,
            "gain": switch.gain_at_least > 0,
            "worth": worth(sample, 0.95).proven,
            "advice": at_least.max() > 0.5 or at_most[0, 0] < 0.5,
            "loss": guarantee(sample, response="as_is", max_weight=most).bound
            < guarantee(half, response="as_is").plug_in,
        }
        for name, failed in found.items():
            missed[name, most] = missed.get((name, most), 0) + failed
    # so that it is needed
    assert all(count > 1 for (_, most), count in missed.items() if most is None), missed
    assert not any(count for (_, most), count in missed.items() if most is not None), missed


def test_the_slack_of_rates_by_enumeration():
    """Draws of weight 0, 1/4 or 1 of the largest, with mean outcomes that go with the weight: all
    samples of nine.
    """
    chance, weight, outcome = (
        np.array([0.5, 0.2, 0.3]),
        np.array([0.0, 0.25, 1.0]),
        np.array([0.0, 0.1, 0.9]),
    )
    rate, doubt, above, below = float(chance * weight @ outcome / (chance @ weight)), 0.4, 0.0, 0.0
    for a, b in itertools.product(range(10), repeat=2):
        count = np.array([a, b, 9 - a - b])
        if count[2] < 0 or not count @ weight > 0:
            continue
        seen = math.factorial(9) * math.prod(
            c**k / math.factorial(k) for c, k in zip(chance, count, strict=True)
        )
        (slack,) = rate_slack(np.array([count @ weight]), doubt)
        mean = float(count * weight @ outcome / (count @ weight))
        above += seen * (mean - rate > slack)
        below += seen * (rate - mean > slack)
    assert above + below <= doubt
    # as Hoeffding's, about
    assert rate_slack(np.array([1e4]), 0.05)[0] < 1.5 * math.sqrt(math.log(2 / 0.05) / 2e4)


def test_the_slack_of_groups_of_fixed_sizes_by_enumeration():
    """Groups of 1 and of 4 rows; of each size some are all in the range, some a quarter, with rates
    of their own.
    """
    share, outcome, doubt = np.array([0.0, 0.25, 1.0]), np.array([0.0, 0.9, 0.1]), 0.4
    chances, sizes = np.array([0.4, 0.4, 0.2]), np.repeat([1.0, 4.0], [4, 5])
    # for both sizes, which tell nothing of the rows
    rate = float(chances * share @ outcome / (chances @ share))
    missed = 0.0
    for kinds in itertools.product(range(15), range(21)):
        seen, inside, events = 1.0, 0.0, 0.0
        products = 0.0
        for kind, (size, n) in zip(kinds, ((1.0, 4), (4.0, 5)), strict=True):
            every = [(a, b, n - a - b) for a in range(n + 1) for b in range(n + 1 - a)]
            count = np.array(every[kind])
            ways = math.factorial(n) / math.prod(map(math.factorial, every[kind]))
            seen *= ways * math.prod(chances**count)
            inside += size * count @ share
            events += size * count @ (share * outcome)
            products += size * size * count @ share
        if inside > 0:
            (slack,) = slack_of_groups(np.array([inside]), np.array([products]), sizes, doubt)
            missed += seen * (abs(events / inside - rate) > slack)
    assert missed <= doubt
    many = np.full(4000, 3.0)
    (slack,) = slack_of_groups(np.array([12000.0]), np.array([36000.0]), many, 0.05)
    assert slack < 1.3 * math.sqrt(math.log(2 / 0.05) / 8000)  # as Hoeffding's, about


def test_rates_of_groups_hold_for_sizes_that_tell_nothing_of_their_rows():
    """In one group in 20, of 1 or 12 rows, all rows are in one range, without the event; else 30%
    are, with it.
    """
    truth, false = 0.95 * 0.3 / (0.95 * 0.3 + 0.05), 0
    for seed in range(60):
        rng = np.random.default_rng(seed)
        group = np.repeat(np.arange(300), rng.choice([1, 12], 300))
        dense, some = (rng.random(300) < 0.05)[group], rng.random(len(group)) < 0.3
        p = np.where(dense, 0.548, np.where(some, 0.552, 0.01))
        low, *_, at_least, at_most = rate_intervals(
            Sample(some & ~dense, p, groups=group), confidence_level=0.9
        )
        cell = int(np.searchsorted(low, 0.55)) - 1
        false += not at_least[cell, cell] <= truth <= at_most[cell, cell]
    assert false <= 6


def test_groups_of_the_largest_weight_lose_little():
    rng = np.random.default_rng(1)
    p = rng.random(4000)
    y = rng.random(4000) < p**2
    groups = np.arange(4000) // 4
    both = Sample(y, {"old": p, "new": p**2}, groups=groups)
    old = switch_guarantee(both)
    new = switch_guarantee(both, max_weight=4)
    assert new.harm_bound == pytest.approx(old.harm_bound, rel=0.1)
    assert old.gain_at_least == new.gain_at_least
    assert new.gain_at_least > switch_guarantee(both, max_weight=8).gain_at_least
    sample = Sample(y, p, groups=groups)
    assert worth(sample.with_max_weight(4), 0.95) == worth(sample, 0.95)
    assert (new.max_weight, old.max_weight) == (4.0, None)


@pytest.fixture(scope="module")
def overconfident():
    rng = np.random.default_rng(3)
    p = rng.random(6000)
    return {
        "y_true": rng.random(6000) < 0.5 + (p - 0.5) / 2,
        "y_prob": p,
        "groups": np.arange(6000) // 2,
    }


def test_assess_passes_it_to_all_that_it_proves(overconfident):
    plain = rainproof.assess(**overconfident, measures=[])
    found = rainproof.assess(**overconfident, max_weight=8, measures=[])
    assert found.guarantee == guarantee(**overconfident, max_weight=8, response="as_is")
    assert found.rounded_guarantee.max_weight == found.recalibrator.certificate_.max_weight == 8
    by_itself = rainproof.Recalibrator().fit(
        overconfident["y_prob"],
        overconfident["y_true"],
        groups=overconfident["groups"],
        max_weight=8,
    )
    assert found.recalibrator.certificate_.harm_bound == by_itself.certificate_.harm_bound
    assert by_itself.predict([0.9]) == plain.recalibrator.predict([0.9])
    for name in ("loss_bound", "harm_bound"):
        assert getattr(found.recalibrator.certificate_, name) > getattr(
            plain.recalibrator.certificate_, name
        )
    assert 0 < found.worth.relative_at_least < plain.worth.relative_at_least
    assert sum(bool(one.swaps) for one in found.advice) < sum(
        bool(one.swaps) for one in plain.advice
    )
    assert found.evidence.gain == plain.evidence.gain
    assert type(by_itself).from_dict(by_itself.to_dict()).certificate_ == by_itself.certificate_


def test_compressed_rows_weigh_one_each():
    rng = np.random.default_rng(4)
    p = rng.random(4000)
    cells = Sample(rng.random(4000) < p**2, p).compress(64)
    found = rainproof.Recalibrator().fit(cells, max_weight=1).certificate_
    plain = rainproof.Recalibrator().fit(cells).certificate_
    assert (found.max_weight, found.gain_at_least) == (1.0, plain.gain_at_least)
    assert plain.gain_at_least > 0
    assert found.harm_bound == pytest.approx(plain.harm_bound, rel=0.1)
    with pytest.raises(rainproof.InputError, match="at least the largest weight 1;"):
        rainproof.Recalibrator().fit(cells, max_weight=0.5)


def test_segments_of_compressed_rows_keep_the_largest_weight():
    rng = np.random.default_rng(5)
    p = rng.random(6000)
    y = rng.random(6000) < p**2
    halves = {k: Sample(y[k::2], p[k::2]).compress(64) for k in (0, 1)}
    found = rainproof.Recalibrator().fit(Segments.from_samples(halves, "half"), max_weight=3)
    assert found.certificate_.max_weight == 3


def limits(verdict):
    """What the sentence says on which statements hold."""
    return next(sentence.text for sentence in verdict.sentences if sentence.about == "limits")


def test_what_is_assumed_of_sizes_is_said(overconfident):
    plain = rainproof.assess(**overconfident, measures=[])
    stated = rainproof.assess(**overconfident, max_weight=2000, measures=[])
    needs = "sizes must not depend on predictions or outcomes, else state"
    for renderer, name in ((PYTHON, "max_weight="), (SHELL, "--max-weight")):
        verdict = plain.verdict.rendered_by(renderer)
        assert f"({needs} {name})" in limits(verdict)
        assert f"3,000 groups, taken as independent; {needs} {name}. " in verdict.basis
    most = "no group can weigh more than 2,000"
    assert f"taken as independent; {most}, as stated." in stated.verdict.basis
    said = limits(stated.verdict)
    assert (
        f"drawn independently ({most}, as stated); intervals do so approximately, where weights "
        "are such"
    ) in said
    counts = "All of this is about the population in which each {} counts with its weight."
    assert str(stated.recalibrator.certificate_).endswith(
        f"independently, and {most}. {counts.format('group')}"
    )
    assert "and their sizes do not depend on predictions or outcomes." in str(
        plain.recalibrator.certificate_
    )
    rows = {name: overconfident[name] for name in ("y_true", "y_prob")}
    weighted = rainproof.assess(
        **rows, sample_weight=1 + rows["y_prob"], max_weight=2.5, measures=[]
    )
    assert (
        "6,000 rows, taken as independent; no row can weigh more than 2.5, as stated."
        in weighted.verdict.basis
    )
    certificate = str(weighted.recalibrator.certificate_)
    assert certificate.endswith(f"and no row can weigh more than 2.5. {counts.format('row')}")
    assert "will be used" not in certificate
    fixed = rainproof.assess(**rows, sample_weight=1 + rows["y_prob"], measures=[])
    needs = (
        "weights, such as survey or cost weights, must not depend on predictions or outcomes, else "
        "state max_weight="
    )
    assert f"(rows that belong together: groups=); {needs}. " in fixed.verdict.basis
    assert f"the cases that will be acted on ({needs});" in limits(fixed.verdict)
    same = rainproof.assess(**rows, sample_weight=np.full(6000, 3.0), measures=[])
    assert needs in same.verdict.basis  # other cases may have other weights
    assert "weights" not in rainproof.assess(**rows, measures=[]).verdict.basis


def test_what_advice_assumes_is_said(overconfident):
    """In the report, beside the table."""
    rows = {name: overconfident[name] for name in ("y_true", "y_prob")}
    fixed, few = "do not depend on predictions or outcomes.", {"measures": [], "n_resamples": 19}
    weight = 1 + rows["y_prob"]
    for given, said in (
        (
            {},
            "if the rows were drawn independently from the population in which the forecast "
            "will be used.",
        ),
        ({"groups": overconfident["groups"]}, f"will be used, and their sizes {fixed}"),
        ({"sample_weight": weight}, f"will be used, and their weights {fixed}"),
        (
            {"sample_weight": weight, "max_weight": 3},
            "and no row can weigh more than 3. All of this is about the",
        ),
        (
            {"base_rate": 0.1},
            "given their outcomes. All of this is about a population with a base rate of 10%, and",
        ),
    ):
        found = rainproof.assess(**rows, **given, **few)
        text = PYTHON.text(advice_limits(found.evidence))
        assert text.startswith(
            "The better action is proven for all thresholds at once with 95% confidence, on average"
        )
        assert said in text
        assert (fixed in said) == (fixed in text)
    assert f"<p>{text}</p>" in found.to_html()


def test_what_proofs_assume_is_printed(overconfident):
    y, p = overconfident["y_true"], overconfident["y_prob"]

    def proofs(**given):
        yield switch_guarantee(y, p, 0.25 + p / 2, **given)
        yield rainproof.inference.loss_at_least(y, p, **given)
        yield rainproof.find_threshold(y, p, recall=0.5, **given)

    grouped = {"groups": overconfident["groups"]}
    for given, said in (
        ({}, "if the rows were drawn independently from the population in which the"),
        (
            grouped,
            "if the 3,000 groups of rows were drawn independently from the population in which the",
        ),
        (grouped, "will be used, and their sizes do not depend on predictions or outcomes."),
        (
            {**grouped, "max_weight": 4},
            "drawn independently, and no group can weigh more than 4. All of this is about",
        ),
        (
            {"base_rate": 0.1},
            "drawn independently given their outcomes. All of this is about a population with a "
            "base",
        ),
    ):
        for found in proofs(**given):
            assert said in str(found)
            assert ("sizes" in str(found)) == (given == grouped)


def test_every_proof_from_weights_says_that_they_must_not_depend_on_predictions():
    """Also from equal ones: a sample can lack the heavy rows."""
    rng = np.random.default_rng(4)
    y, p, weight = rng.random(4000) < 0.5, np.repeat([0.1, 0.9], 2000), np.tile([1.0, 3.0], 2000)
    needs = "and their weights do not depend on predictions or outcomes."
    classes = {"y_true": rng.integers(0, 3, 4000), "y_prob": np.tile([0.8, 0.1, 0.1], (4000, 1))}

    def proofs(weight):
        yield switch_guarantee(y, p, 1 - p, sample_weight=weight)
        yield rainproof.inference.loss_at_least(y, p, sample_weight=weight)
        yield rainproof.Recalibrator().fit(p, y, sample_weight=weight).certificate_
        yield rainproof.inference.class_guarantee(**classes, sample_weight=weight)
        yield (
            rainproof.Recalibrator()
            .fit(classes["y_prob"], classes["y_true"], sample_weight=weight)
            .certificate_
        )

    for given in (weight, np.full(4000, 3.0), np.ones(4000)):
        for found in proofs(given):
            assert needs in str(found), found
    for found in proofs(None):
        assert "weights" not in str(found)
    needs = (
        "does not hold for weights that depend on predictions (as importance weights do) or "
        "outcomes, unless"
    )
    assert needs in str(guarantee(y, p, sample_weight=weight))
    basis = rainproof.assess(**classes, sample_weight=weight).verdict.basis
    assert "; weights must not depend on predictions or outcomes. " in basis


def test_a_guarantee_of_nothing_names_the_stated_weight():
    y, p, group = informative(0)
    for most, said in (
        (2000, "confidence with max_weight 2,000: the bound is 100%"),
        (None, "confidence: the bound"),
    ):
        (note,) = guarantee(
            y[:400], p[:400], groups=group[:400], confidence_level=0.9999, max_weight=most
        ).warnings
        assert note.startswith("270 groups are too few for a guarantee at this ")
        assert said in note


def test_several_forecasts():
    rng = np.random.default_rng(5)
    p = rng.random(900)
    given = {"groups": np.arange(900) // 3, "measures": [], "n_resamples": 19}
    y, both = rng.random(900) < p, {"a": p, "b": p**3}
    plain, found = (rainproof.assess_many(y, both, **given, max_weight=most) for most in (None, 9))
    (pair,) = found.pairs
    assert pair.to_a.max_weight == pair.to_b.max_weight == found["a"].guarantee.max_weight == 9
    assert pair.to_a.harm_bound > plain.pairs[0].to_a.harm_bound
    assert "No group can weigh more than 9, as stated." in found.sentences[-1]
    assert (
        "Sizes must not depend on predictions or outcomes, else state max_weight=."
        in plain.sentences[-1]
    )


def test_a_weight_that_no_row_comes_near():
    y, p, group = informative(0)
    found = rainproof.assess(y, p, groups=group, max_weight=1e300, measures=[])
    assert (found.guarantee.bound, found.rounded_guarantee.bound, found.worth.proven) == (
        1.0,
        1.0,
        False,
    )
    assert not any(one.swaps for one in found.advice)


@for_each(
    "given, message",
    [
        (
            {"max_weight": 3, "groups": [0] * 4 + [1] * 36},
            "max_weight must be finite, and at least the largest weight 36",
        ),
        (
            {"max_weight": "big"},
            "max_weight must be finite, and at least the largest weight 1; it is 'big'",
        ),
        ({"max_weight": 2, "base_rate": 0.1}, "base_rate cannot be combined with max_weight"),
        (
            {"max_weight": 2, "y_prob": np.full((40, 3), 1 / 3)},
            "max_weight is for one event: not for several classes",
        ),
    ],
)
def test_refused(given, message):
    rows = {"y_true": [0, 1, 1, 0] * 10, "y_prob": np.linspace(0.1, 0.9, 40)} | given
    with pytest.raises(rainproof.InputError, match=message):
        rainproof.assess(**rows)
    rows["p"], rows["y"] = rows.pop("y_prob"), rows.pop("y_true")
    with pytest.raises(rainproof.InputError, match=message):
        rainproof.Recalibrator().fit(**rows)
