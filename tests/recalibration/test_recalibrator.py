"""The recalibrator: divides rows as it says, takes the mean of maps, certifies, and refuses what it
cannot do.
"""

from __future__ import annotations

import pickle
import warnings

import numpy as np
import pandas as pd
import pytest
from helpers.cases import for_each

import rainproof
from rainproof.core.digests import stream_for
from rainproof.core.distinct import DistinctTable
from rainproof.errors import FewRowsWarning, InputError, OneClassWarning
from rainproof.recalibration.division import divide, read_rows
from rainproof.recalibration.methods import METHODS, log_odds
from rainproof.recalibration.selection import mean_map, mean_weights


def draw(n, seed=0, power=1.5):
    rng = np.random.default_rng(seed)
    p = rng.beta(0.8, 1.6, n)
    return p, (rng.random(n) < p**power).astype(int)


def read(p, y, **options):
    names = ("sample_weight", "pos_label", "groups", "by")
    return read_rows(p, y, {name: options.get(name) for name in names}, None)


@pytest.fixture(scope="module")
def fitted():
    return rainproof.Recalibrator(rng=0).fit(*draw(16_000, power=2.0))


def test_it_finds_the_truth_and_proves_it(fitted):
    p = np.linspace(0, 1, 101)
    # beta regression is not exact, but no decision loses 0.1%
    assert np.abs(fitted.map_(p) - p**2).max() < 0.06
    certificate = fitted.certificate_
    assert certificate.n == 4000
    assert 0 < certificate.harm <= certificate.harm_bound < 0.02
    assert 0.005 < certificate.gain_at_least < certificate.gain
    assert certificate.loss_bound < 0.05


def test_the_certificate_is_that_of_switch_guarantee_on_the_rows_held_out():
    p, y = draw(4000, power=2.0)
    weight, groups = 1 + np.arange(4000) % 3, np.arange(4000) // 2
    r = rainproof.Recalibrator(rng=1).fit(p, y, sample_weight=weight, groups=groups)
    sample = read(p, y, sample_weight=weight, groups=groups)
    (rng,) = stream_for(1, sample).spawn(1)
    held = divide(sample, rng)[0].held_out[0]
    found = rainproof.switch_guarantee(
        held.event,
        held.prob,
        r.predict(held.prob),
        sample_weight=held.sample_weight,
        groups=held.units.unit,
    )
    names = ("harm_bound", "harm", "gain", "n", "groups")
    assert [getattr(r.certificate_, name) for name in names] == [
        getattr(found, name) for name in names
    ]
    promise = rainproof.guarantee(
        held.event,
        r.predict(held.prob),
        sample_weight=held.sample_weight,
        groups=held.units.unit,
        response="as_is",
    )
    assert r.certificate_.loss_bound == promise.bound


def test_a_compressed_sample_gives_the_certificate_of_its_rows_rounded_down():
    p, y = draw(4000, power=2.0)
    sample = rainproof.Sample(y, p).compress(256)
    r = rainproof.Recalibrator("logistic", rng=1).fit(sample)
    (rng,) = stream_for(1, sample).spawn(1)
    held = divide(read(sample, None), rng)[0].held_out[0]
    assert (held.prob * 256 % 1 == 0).all()
    each = np.repeat(np.arange(len(held.prob)), held.counts)
    found = rainproof.switch_guarantee(
        held.event[each], held.prob[each], r.predict(held.prob)[each]
    )
    names = ("harm_bound", "harm", "gain", "n")
    assert [getattr(r.certificate_, name) for name in names] == pytest.approx(
        [getattr(found, name) for name in names]
    )


def test_the_map_is_the_mean_by_the_weights_of_the_table(fitted):
    assert fitted.method_ == "mean"
    assert [c.method for c in fitted.candidates_] == list(METHODS)
    assert sum(c.weight for c in fitted.candidates_) == pytest.approx(1)
    loss = 12_000 * np.array([c.log_loss for c in fitted.candidates_])
    np.testing.assert_allclose(
        [c.weight for c in fitted.candidates_], mean_weights(loss), atol=1e-9
    )
    p, y = draw(700, seed=4)
    r = rainproof.Recalibrator(["none", "isotonic", "bins_8", "logistic"], rng=2).fit(p, y)
    (rng,) = stream_for(2, read(p, y)).spawn(1)
    table = divide(read(p, y), rng, hold_out=False)[0].table()
    low, high = r.map_.fitted_range
    at = np.linspace(low, high, 201)
    used = [c for c in r.candidates_ if c.weight]
    assert len(used) > 1
    expected = sum(c.weight * METHODS[c.method](table)(at) for c in used)
    np.testing.assert_allclose(r.map_(at), expected, atol=1e-8)
    assert rainproof.Recalibrator("isotonic", rng=2).fit(p, y).method_ == "isotonic"


def test_losses_of_candidates_are_those_of_cross_validation():
    p, y = draw(60, seed=3)
    whole, _ = divide(read(p, y), np.random.default_rng(0), hold_out=False)
    methods = ["none", "isotonic", "bins_8", "constant"]
    _, candidates = mean_map(whole, methods)
    expected = np.zeros((2, len(methods)))
    for own in whole.weight:
        rest = whole.weight.sum(axis=0) - own
        seen = rest.sum(axis=0) > 0
        table = DistinctTable(whole.prob[seen], rest[0, seen], rest[1, seen])
        for k, method in enumerate(methods):
            value = METHODS[method](table)(whole.prob)
            inside = np.clip(value, 0.5 / 61, 1 - 0.5 / 61)
            expected[0, k] -= own[0] @ np.log(1 - inside) + own[1] @ np.log(inside)
            expected[1, k] += own[0] @ value**2 + own[1] @ (1 - value) ** 2
    np.testing.assert_allclose([c.log_loss for c in candidates], expected[0] / 60)
    np.testing.assert_allclose([c.brier_score for c in candidates], expected[1] / 60)


def test_it_prints_what_it_did(fitted):
    assert repr(fitted) == f"Recalibrator('auto', method_={fitted.method_!r})"
    assert "From 4,000 rows that the map was not fitted to" in str(fitted.certificate_)
    assert "Some decision gains at least" in str(fitted.certificate_)
    assert fitted.certificate_.to_dict()["harm_bound"] == fitted.certificate_.harm_bound


def test_the_same_rows_in_any_order_give_the_same_map(fitted):
    p, y = draw(16_000, power=2.0)
    order = np.random.default_rng(1).permutation(16_000)
    again = rainproof.Recalibrator().fit(p[order], y[order])
    assert (again.map_.start == fitted.map_.start).all()
    assert again.certificate_ == fitted.certificate_
    assert again.candidates_ == fitted.candidates_


@for_each("n", [600, 2400])
def test_order_does_not_matter_with_weights_groups_and_segments(n):
    p, y = draw(n)
    order = np.random.default_rng(1).permutation(n)
    columns = {"sample_weight": 1 + np.arange(n) % 3, "by": np.arange(n) % 2}
    for more in ({}, {"groups": np.array([f"g{k}" for k in np.arange(n) // 2])}):
        all_ = columns | more
        one = rainproof.Recalibrator().fit(p, y, **all_)
        other = rainproof.Recalibrator().fit(
            p[order], y[order], **{name: v[order] for name, v in all_.items()}
        )
        assert one.to_dict() == other.to_dict()


def test_few_rows_are_all_fitted_and_nothing_is_certified():
    p, y = draw(1999)
    r = rainproof.Recalibrator().fit(p, y)
    assert (r.certificate_, r.n_, r.groups_) == (None, 1999, None)
    assert (
        "No certificate: the map is fitted to all 1,999 rows. With fewer than 2,000 rows a "
        "certificate"
    ) in str(r)
    p, y = draw(2000)
    r = rainproof.Recalibrator().fit(p, y)
    assert (r.certificate_.n, r.n_) == (500, 1500)
    r = rainproof.Recalibrator().fit(p, y, groups=np.arange(2000) // 4, by=np.arange(2000) % 2)
    assert (r.certificate_, r.n_, r.groups_) == (None, 2000, 500)
    assert "all 500 groups of rows. With fewer than 2,000 groups" in str(r)
    assert [(s.corrected, s.harm_bound, s.n) for s in r.segments_] == [(False, 1.0, 0)] * 2
    assert "Every segment uses the map of all rows: they are too few to prove" in str(r)
    assert (r.predict(p, by=np.arange(2000) % 2) == r.map_(p)).all()


@for_each("n", [900, 90_000])
def test_a_fitted_recalibrator_is_small_and_holds_no_rows(n):
    p, y = draw(n)
    assert len(pickle.dumps(rainproof.Recalibrator().fit(p, y))) < 60_000


def test_a_constant_counts_for_nothing_where_a_forecast_is_good():
    for seed in range(5):
        p, y = draw(2000, seed=seed, power=1.0)
        assert rainproof.Recalibrator(rng=seed).fit(p, y).candidates_[-1].weight == 0


def test_useless_predictions_become_the_event_rate_and_calibrated_ones_hardly_move():
    rng = np.random.default_rng(3)
    p = rng.random(1500)
    useless = rainproof.Recalibrator().fit(p, rng.random(1500) < 0.3)
    assert np.ptp(useless.predict(np.linspace(0.05, 0.95, 19))) < 0.1
    honest = rainproof.Recalibrator().fit(p, rng.random(1500) < p)
    assert np.abs(honest.predict(p) - p).mean() < 0.03


@pytest.mark.filterwarnings("ignore::rainproof.ExtrapolationWarning")
def test_a_mean_continues_as_its_formulas_do():
    """A candidate that is level where no rows were took a calibrated 0.001 to 0.05 where it had
    most of the weight.
    """
    rng = np.random.default_rng(4)
    p = rng.uniform(0.1, 0.6, 1500)
    y = (rng.random(1500) < p).astype(np.uint8)
    r = rainproof.Recalibrator(["isotonic", "logistic"], rng=0).fit(p, y)
    assert {c.method: c.weight > 0.01 for c in r.candidates_} == {
        "isotonic": True,
        "logistic": True,
    }
    low, high = r.map_.fitted_range
    outside = np.concatenate(
        [np.geomspace(1e-6, low, 30)[:-1], 1 - np.geomspace(1 - high, 1e-6, 30)[1:]]
    )
    formula = METHODS["logistic"](DistinctTable.from_rows(y, p, None))
    moved = log_odds(r.predict(outside)) - log_odds(formula.apply(outside))
    below = outside < low
    assert np.ptp(moved[below]) < 0.01
    assert np.ptp(moved[~below]) < 0.01
    for end in (low, high):  # without a jump
        near = r.predict([end * (1 - 1e-9), end, end * (1 + 1e-9)])
        assert np.ptp(near) < 1e-6
    assert r.map_.rises
    kept = rainproof.Recalibrator("isotonic", rng=0).fit(p, y)
    # alone, straight pieces are level beyond their ends
    assert np.ptp(kept.predict(outside[below])) == 0


@pytest.mark.filterwarnings("ignore::rainproof.ExtrapolationWarning")
@for_each("methods", ["auto", "temperature"])
def test_a_calibrated_forecast_stays_as_it_is_also_where_no_rows_were(methods):
    """Rows in [0.1, 0.6]: a straight piece to half-way between 0 and 0.1 took 0.001 to 0.02 and
    more in all samples.
    """
    found = []
    for seed in range(12):
        rng = np.random.default_rng(seed)
        p = rng.uniform(0.1, 0.6, 5000)
        y = rng.random(5000) < p
        found.append(rainproof.Recalibrator(methods, rng=0).fit(p, y).predict([0.001, 0.999]))
    low, high = np.array(found).T
    near = (low > 0.0005) & (low < 0.002) & (high > 0.998) & (high < 0.9995)
    assert near.sum() >= 9  # a slope that is fitted to 5,000 rows is extrapolated far
    assert (low < 0.02).all()


def test_predictions_outside_of_those_that_were_fitted_are_noted():
    rng = np.random.default_rng(0)
    p = rng.uniform(0.1, 0.6, 1000)
    y = rng.random(1000) < p
    r = rainproof.Recalibrator("logistic", rng=0).fit(p, y)
    assert r.map_.fitted_range == (p.min(), p.max())
    r.predict(np.append(np.full(99, 0.5), 0.7))  # 1%: no warning
    outside = r"^2 rows \(2%\) have predictions outside of those that the map was fitted to \(0\.1\d* to 0\.\d+\)$"
    rows = np.append(np.full(98, 0.5), [0.01, 0.7])
    with pytest.warns(rainproof.ExtrapolationWarning, match=outside) as notes:
        r.predict(rows)
    assert notes[0].filename == __file__
    policy = rainproof.RoundingPolicy(
        rainproof.DecisionTask.threshold(0.3), 32, recalibration=r.map_
    )
    with pytest.warns(rainproof.ExtrapolationWarning, match=outside) as notes:
        policy.decide(rows, np.arange(100))
    assert notes[0].filename == __file__


def test_a_compressed_sample_has_seen_the_whole_of_its_cells():
    p, y = draw(3000)
    sample = rainproof.Sample(y, p).compress(64)
    low, high = rainproof.Recalibrator("logistic", rng=0).fit(sample).map_.fitted_range
    assert (low, high) == (np.floor(64 * p.min()) / 64, np.floor(64 * p.max() + 1) / 64)


def test_segments_with_a_map_of_their_own_have_a_range_of_their_own():
    rng = np.random.default_rng(0)
    south = np.arange(40_000) % 2 == 0
    p = np.where(south, rng.uniform(0.3, 0.9, 40_000), rng.uniform(0.01, 0.5, 40_000))
    y = rng.random(40_000) < np.where(south, p**3, p)
    by = np.where(south, "south", "north")
    r = rainproof.Recalibrator(rng=0).fit(p, y, by=by)
    assert {s.segment: s.corrected for s in r.segments_} == {"north": True, "south": True}
    r.predict([0.1, 0.8], by=["north", "south"])
    for p, segment in ((0.1, "south"), (0.8, "north")):
        with pytest.warns(rainproof.ExtrapolationWarning):
            r.predict([p], by=[segment])


def test_segments_are_corrected_only_where_a_gain_is_proven():
    rng = np.random.default_rng(5)
    n = 40_000
    p, segment = rng.random(n), rng.choice(3, n, p=[0.45, 0.4, 0.15])
    truth = np.where(segment == 2, 0.5 + 0.2 * (p - 0.5), p)
    y = rng.random(n) < truth
    alike = rainproof.Recalibrator(rng=0).fit(p, rng.random(n) < p, by={"region": segment})
    assert [(s.segment, s.corrected) for s in alike.segments_] == [
        (0, False),
        (1, False),
        (2, False),
    ]
    r = rainproof.Recalibrator(rng=0).fit(p, y, by={"region": segment})
    assert [s.segment for s in r.segments_] == [0, 1, 2]
    assert r.segments_[2].corrected
    assert r.segments_[2].gain_at_least > 0
    assert all(0 < s.harm_bound < 0.2 for s in r.segments_)
    own = r.predict(p, by={"region": segment})
    whole = r.map_(p)
    assert np.abs(own - truth)[segment == 2].mean() < np.abs(whole - truth)[segment == 2].mean() / 2
    for key in (0, 1):
        pieces = r.segment_maps_.get((str(key),), r.map_)
        assert (own[segment == key] == pieces(p[segment == key])).all()
        assert (own[segment == key] == whole[segment == key]).all() == (
            not r.segments_[key].corrected
        )


def test_segments_of_compressed_rows_are_corrected_too():
    rng = np.random.default_rng(5)
    p, segment = rng.random(40_000), rng.choice(3, 40_000, p=[0.45, 0.4, 0.15])
    y = rng.random(40_000) < np.where(segment == 2, 0.5 + 0.2 * (p - 0.5), p)
    samples = rainproof.scan({"p": p, "y": y, "region": segment}, by="region")
    r = rainproof.Recalibrator(rng=0).fit(samples)
    assert [(s.segment, s.corrected) for s in r.segments_][2] == (2, True)
    assert [s.segment for s in r.segments_] == [0, 1, 2]


def test_predictions_need_the_segments_that_were_fitted():
    p, y = draw(400)
    r = rainproof.Recalibrator(rng=0).fit(p, y, by={"region": np.arange(400) % 3})
    with pytest.raises(
        InputError,
        match=r"by has 1 row of segments that the map has not seen \(7\): unseen='pooled'",
    ):
        r.predict([0.5], by={"region": [7]})
    assert (r.predict([0.5], by={"region": [7]}, unseen="pooled") == r.map_([0.5])).all()
    with pytest.raises(InputError, match="unseen must be 'error' or 'pooled'; it is 'ignore'"):
        r.predict([0.5], by={"region": [2]}, unseen="ignore")
    with pytest.raises(InputError, match="by is missing: the map was fitted with segments"):
        r.predict(p)
    with pytest.raises(InputError, match="by must name region; it names segment"):
        r.predict(p, by=np.arange(400) % 3)


@pytest.mark.filterwarnings("ignore::rainproof.errors.RainproofWarning")
def test_nothing_is_fitted_to_a_handful_of_rows():
    p, y = draw(12)
    with pytest.warns(FewRowsWarning, match="p has 12 rows: nothing is fitted to fewer than 20"):
        r = rainproof.Recalibrator(rng=0).fit(p, y)
    assert r.method_ == "none"
    assert (r.predict(p) == p).all()
    assert r.certificate_.n == 12
    assert (r.certificate_.harm_bound, r.certificate_.gain_at_least) == (0.0, 0.0)
    assert "The probabilities stay as they are" in str(r.certificate_)


@for_each("outcome", [0, 1])
def test_nothing_is_fitted_to_one_class(outcome):
    p, _ = draw(100)
    with pytest.warns(OneClassWarning, match="y holds one outcome only"):
        r = rainproof.Recalibrator(rng=0).fit(p, np.full(100, outcome))
    assert r.method_ == "none"


def test_a_constant_forecast_is_moved_to_the_event_rate():
    rng = np.random.default_rng(0)
    r = rainproof.Recalibrator(rng=0).fit(np.full(4000, 0.2), rng.random(4000) < 0.35)
    assert r.predict([0.2])[0] == pytest.approx(0.35, abs=0.03)


def test_an_inverted_forecast_is_turned_round():
    rng = np.random.default_rng(0)
    p = rng.random(4000)
    r = rainproof.Recalibrator(rng=0).fit(p, rng.random(4000) < 1 - p)
    assert r.predict([0.1])[0] == pytest.approx(0.9, abs=0.05)
    assert r.certificate_.gain_at_least > 0.3


def test_samples_are_fitted_like_their_rows():
    p, y = draw(3000)
    rows = rainproof.Recalibrator(rng=0).fit(p, y)
    sample = rainproof.Recalibrator(rng=0).fit(rainproof.Sample(y, p))
    assert (sample.map_.start == rows.map_.start).all()
    compressed = rainproof.Recalibrator("logistic", rng=0).fit(rainproof.Sample(y, p).compress())
    grid = np.linspace(0.05, 0.95, 19)
    np.testing.assert_allclose(compressed.predict(grid), grid**1.5, atol=0.05)


BAD = {
    "methods": (
        lambda p, y: rainproof.Recalibrator("platt").fit(p, y),
        "methods must be 'auto' or among 'logistic', ",
    ),
    "no methods": (
        lambda p, y: rainproof.Recalibrator([]).fit(p, y),
        "methods must name at least one method",
    ),
    "level": (
        lambda p, y: rainproof.Recalibrator(confidence_level=95).fit(p, y),
        "confidence_level must",
    ),
    "rng": (lambda p, y: rainproof.Recalibrator(rng=-1).fit(p, y), "rng must be"),
    "y missing": (
        lambda p, y: rainproof.Recalibrator().fit(p),
        "y is missing: pass p and y, or one Sample",
    ),
    "p": (lambda p, y: rainproof.Recalibrator().fit(p + 1, y), r"p must lie in \[0, 1\]"),
    "y": (lambda p, y: rainproof.Recalibrator().fit(p, y + 1), "y must be 0 or 1"),
    "length": (
        lambda p, y: rainproof.Recalibrator().fit(p[1:], y),
        "y and p must have the same length",
    ),
    "twice": (
        lambda p, y: rainproof.Recalibrator().fit(rainproof.Sample(y, p), y),
        "pass it alone",
    ),
    "groups": (
        lambda p, y: rainproof.Recalibrator().fit(rainproof.Sample(y, p).compress(), groups=y),
        "groups and by need rows",
    ),
    "weights": (
        lambda p, y: rainproof.Recalibrator().fit(
            rainproof.Sample(y, p, sample_weight=1 + p).compress()
        ),
        "unequal weights need rows",
    ),
    "by": (
        lambda p, y: rainproof.Recalibrator().fit(p, y, by=y[1:]),
        "by must hold one label for each of the 50 rows",
    ),
    "no fit": (lambda p, y: rainproof.Recalibrator().predict(p), r"call fit\(p, y\) first"),
    "by later": (
        lambda p, y: rainproof.Recalibrator("none").fit(p, y).predict(p, by=y),
        "by was not given to fit",
    ),
}


@for_each("call, message", BAD.values())
def test_bad_input_is_refused(call, message):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FewRowsWarning)
        with pytest.raises(InputError, match=message):
            call(*draw(50))


def test_a_failed_fit_leaves_the_fitted_map_alone():
    p, y = draw(400)
    r = rainproof.Recalibrator(rng=0).fit(p, y)
    before = r.map_, r.certificate_
    with pytest.raises(InputError):
        r.fit(1 - p, y[1:])
    assert (r.map_, r.certificate_) == before


@for_each("groups", [1, 2, 4])
def test_nothing_is_fitted_to_a_handful_of_groups(groups):
    p, y = draw(400)
    with pytest.warns(
        FewRowsWarning, match=f"groups has {groups} groups?: nothing is fitted to fewer than 5"
    ):
        r = rainproof.Recalibrator(rng=0).fit(
            p, y, groups=np.arange(400) % groups, by=np.arange(400) % 2
        )
    assert r.method_ == "none"
    assert r.certificate_.groups == groups


def test_a_certificate_of_a_compressed_sample_says_what_it_is_for():
    p, y = draw(4000)
    rows = rainproof.Recalibrator(rng=0).fit(p, y).certificate_
    cells = rainproof.Recalibrator(rng=0).fit(rainproof.Sample(y, p).compress(64)).certificate_
    assert (rows.grid, cells.grid) == (None, 64)
    assert "for probabilities rounded down to multiples of 1/64 before the map" in str(cells)
    assert "rounded" not in str(rows)


def test_series_in_another_order_are_refused():
    p, y = draw(50)
    p, y = pd.Series(p), pd.Series(y)
    other = pd.Series(np.arange(50) % 2)[::-1]
    for options in ({"groups": other}, {"by": other}, {"by": {"s": other}}):
        with pytest.raises(InputError, match="have the same index in another order"):
            rainproof.Recalibrator(rng=0).fit(p, y, **options)
    r = rainproof.Recalibrator(rng=0).fit(p, y, by={"s": other.to_numpy()})
    with pytest.raises(InputError, match="have the same index in another order"):
        r.predict(p, by={"s": other})
    with pytest.raises(InputError, match="have the same index in another order"):
        rainproof.forecast_value(y, p, recalibrated=p[::-1])


def test_labels_of_several_types_stay_as_they_are():
    rng = np.random.default_rng(0)
    p = rng.random(8000)
    label = [1 if k % 2 else "a" for k in range(8000)]
    y = rng.random(8000) < np.where(np.arange(8000) % 2, 0.05, 0.95)
    r = rainproof.Recalibrator("logistic", rng=0).fit(p, y, by={"s": label, "t": label})
    assert {s.segment for s in r.segments_ if s.corrected} == {(1, 1), ("a", "a")}
    one = {"s": [1], "t": [1]}
    both = {"t": [1, "a"], "s": [1, "a"]}  # in another order
    assert r.predict([0.3], by=one)[0] == r.predict([0.3, 0.3], by=both)[0] < 0.2


@pytest.mark.filterwarnings("ignore::rainproof.FewRowsWarning")
def test_heavy_weights_do_not_hide_an_outcome():
    p, y = draw(60)
    weight = np.ones(60)
    weight[np.flatnonzero(y == 0)[0]] = 1e17
    assert rainproof.Recalibrator(rng=0).fit(p, y, sample_weight=weight).candidates_


@for_each("methods", [None, 5])
def test_methods_are_names(methods):
    with pytest.raises(InputError, match="methods must be 'auto', a name or a list of names"):
        rainproof.Recalibrator(methods).fit(*draw(30))
