"""The recalibrator: divides rows as it says, chooses by the worst task, certifies, and refuses what it cannot do."""

from __future__ import annotations

import warnings

import numpy as np
import pandas as pd
import pytest

import rainproof
from rainproof.errors import FewRowsWarning, InputError, OneClassWarning
from rainproof.recalibration.methods import METHODS
from rainproof.recalibration.selection import (
    FOLDS,
    Candidate,
    choose,
    compared,
    cross_validated,
    divide,
    read_rows,
    thresholds_between,
)


def draw(n, seed=0, power=1.5):
    rng = np.random.default_rng(seed)
    p = rng.beta(0.8, 1.6, n)
    return p, (rng.random(n) < p**power).astype(int)


def read(p, y, **options):
    names = ("sample_weight", "pos_label", "groups", "by")
    return read_rows(p, y, *(options.get(name) for name in names))


@pytest.fixture(scope="module")
def fitted():
    return rainproof.Recalibrator(rng=0).fit(*draw(16_000, power=2.0))


def test_it_finds_the_truth_and_proves_it(fitted):
    p = np.linspace(0, 1, 101)
    assert np.abs(fitted.predict(p) - p**2).max() < 0.06  # "logistic" is not exact, but nobody loses 0.1% by it
    certificate = fitted.certificate_
    assert certificate.n == 4000
    assert 0 < certificate.harm <= certificate.harm_bound < 0.02
    assert 0.005 < certificate.gain_at_least < certificate.gain
    assert certificate.loss_bound < 0.05


def test_the_certificate_is_that_of_switch_guarantee_on_the_rows_held_out():
    p, y = draw(2000, power=2.0)
    weight, groups = 1 + np.arange(2000) % 3, np.arange(2000) // 2
    r = rainproof.Recalibrator(rng=1).fit(p, y, sample_weight=weight, groups=groups)
    (rng,) = np.random.default_rng(1).spawn(1)
    held = divide(read(p, y, sample_weight=weight, groups=groups), rng)[0].held_out[0]
    found = rainproof.switch_guarantee(
        held.event, held.prob, r.predict(held.prob), sample_weight=held.sample_weight, groups=held._group
    )
    names = ("harm_bound", "harm", "gain", "n", "groups")
    assert [getattr(r.certificate_, name) for name in names] == [getattr(found, name) for name in names]
    promise = rainproof.guarantee(
        held.event, r.predict(held.prob), sample_weight=held.sample_weight, groups=held._group, response="as_is"
    )
    assert r.certificate_.loss_bound == promise.bound


def test_a_compressed_sample_gives_the_certificate_of_its_rows_rounded_down():
    p, y = draw(4000, power=2.0)
    sample = rainproof.Sample(y, p).compress(256)
    r = rainproof.Recalibrator("logistic", rng=1).fit(sample)
    (rng,) = np.random.default_rng(1).spawn(1)
    held = divide(read(sample, None), rng)[0].held_out[0]
    assert (held.prob * 256 % 1 == 0).all()
    each = np.repeat(np.arange(len(held.prob)), held.counts)
    found = rainproof.switch_guarantee(held.event[each], held.prob[each], r.predict(held.prob)[each])
    names = ("harm_bound", "harm", "gain", "n")
    assert [getattr(r.certificate_, name) for name in names] == pytest.approx([getattr(found, name) for name in names])


def test_the_choice_is_the_one_of_the_table(fitted):
    assert [c.method for c in fitted.candidates_] == list(METHODS)
    assert fitted.method_ == choose(fitted.candidates_).method
    assert fitted.method_ in ("logistic", "beta", "isotonic")


def test_it_prints_what_it_did(fitted):
    assert repr(fitted) == f"Recalibrator('auto', method_={fitted.method_!r})"
    assert "From 4,000 rows that the map was not fitted to" in str(fitted.certificate_)
    assert "Some decision gains at least" in str(fitted.certificate_)
    assert fitted.certificate_.to_dict()["harm_bound"] == fitted.certificate_.harm_bound


def test_the_same_seed_gives_the_same_map(fitted):
    again = rainproof.Recalibrator(rng=0).fit(*draw(16_000, power=2.0))
    assert (again.map_.start == fitted.map_.start).all()
    assert again.certificate_ == fitted.certificate_


def test_the_certificate_is_from_rows_that_the_map_has_not_seen():
    p, y = draw(400)
    whole, _ = divide(read(p, y), np.random.default_rng(1))
    held = whole.held_out[0]
    assert held.n == 100
    assert whole.weight.sum() == 300
    seen = np.sort(np.concatenate([held.prob, np.repeat(whole.prob, whole.weight.sum(axis=(0, 1)).astype(int))]))
    assert (seen == np.sort(p)).all()
    assert held.event.sum() + whole.weight[:, 1].sum() == y.sum()
    sizes = whole.weight.sum(axis=(1, 2))
    assert np.ptp(sizes) <= 1


def test_groups_stay_together():
    p, y = draw(600)
    groups = np.arange(600) // 6
    whole, segments = divide(read(p, y, groups=groups, by=np.arange(600) % 2), np.random.default_rng(1))
    fold_of = {}
    for held in whole.held_out:
        for q, g in zip(held.prob, held._group, strict=True):
            assert q in p[groups == g]
            fold_of.setdefault(g, id(held))
            assert fold_of[g] == id(held)
        assert held.n == 150
    fitted_groups = set(groups[np.isin(p, whole.prob)])
    assert not fitted_groups & set(fold_of)
    assert sum(part.held_out[0].n for part in segments.values()) == 150


def test_rows_of_a_compressed_sample_are_divided_without_losing_any():
    p, y = draw(20_000)
    sample = rainproof.Sample(y, p).compress(1024)
    whole, none = divide(read(sample, None), np.random.default_rng(0))
    assert none == {}
    held = whole.held_out[0]
    assert held.n + whole.weight.sum() == 20_000
    assert held.n == pytest.approx(5000, abs=300)
    assert held.counts[held.event == 1].sum() + whole.weight[:, 1].sum() == y.sum()
    assert (np.diff(whole.prob) > 0).all()


def test_unequal_weights_count_as_rows_of_the_effective_number():
    p, y = draw(1000)
    weight = np.where(np.arange(1000) % 2, 3.0, 0.0)
    whole, _ = divide(read(p, y, sample_weight=weight), np.random.default_rng(0))
    assert whole.weight.sum() + whole.held_out[0].n == pytest.approx(500)


def test_many_rows_are_pooled():
    rng = np.random.default_rng(0)
    p = rng.random(60_000)
    whole, _ = divide(read(p, (rng.random(60_000) < p).astype(int)), rng)
    assert len(whole.prob) <= 1 << 15
    assert whole.weight.sum() == 45_000
    assert (np.diff(whole.prob) > 0).all()


def slow_shortfalls(value, weight):
    """The largest loss over all pairs of thresholds and all other methods, by the definition of a task."""
    found = []
    mu = thresholds_between(value)
    for own in value:
        worst = 0.0
        for other in value:
            loss = np.zeros(len(mu))
            for j, t in enumerate(mu):
                sides = (other > t).astype(float) - (own > t)
                loss[j] = sum((sides * (y - t) * weight[:, y]).sum() for y in (0, 1)) / weight.sum()
            loss = np.maximum(loss, 0)
            for a in range(len(mu)):
                for b in range(len(mu)):
                    if mu[a] <= 0.5 <= mu[b] and mu[a] < mu[b]:
                        share = (mu[b] - 0.5) / (mu[b] - mu[a])
                        worst = max(worst, 2 * (share * loss[a] + (1 - share) * loss[b]))
        found.append(worst)
    return found


def test_shortfalls_are_those_of_the_definition():
    p, y = draw(60, seed=3)
    whole, _ = divide(read(p, y), np.random.default_rng(0))
    methods = ["none", "logistic", "isotonic", "bins_8"]
    found, value = compared(whole, methods), cross_validated(whole, methods)
    assert [c.shortfall for c in found] == pytest.approx(slow_shortfalls(value, whole.weight), abs=1e-12)
    squares = [sum(((own - y) ** 2 * whole.weight[:, y]).sum() for y in (0, 1)) for own in value]
    assert [c.brier_score for c in found] == pytest.approx(np.array(squares) / whole.weight.sum())


def test_each_fold_is_predicted_by_maps_that_have_not_seen_it():
    p, y = draw(200)
    whole, _ = divide(read(p, y), np.random.default_rng(0))
    value = cross_validated(whole, ["isotonic"])
    for fold in range(FOLDS):
        seen = whole.weight[np.arange(FOLDS) != fold].sum(axis=(0, 1)) > 0
        table = whole.table(without=fold)
        assert (table.prob == whole.prob[seen]).all()
        assert (value[0, fold] == METHODS["isotonic"](table)(whole.prob)).all()


def test_the_first_within_one_standard_error_is_chosen():
    def candidate(method, shortfall, error):
        return Candidate(method=method, shortfall=shortfall, standard_error=error, brier_score=0.0)

    table = [candidate("none", 0.03, 0.01), candidate("beta", 0.02, 0.012), candidate("isotonic", 0.01, 0.0)]
    assert choose(table).method == "beta"
    assert choose(table[::2]).method == "isotonic"


def test_a_constant_is_never_chosen_for_a_good_forecast():
    for seed in range(5):
        p, y = draw(2000, seed=seed, power=1.0)
        assert rainproof.Recalibrator(rng=seed).fit(p, y).method_ != "constant"


def test_segments_are_corrected_only_where_a_gain_is_proven():
    rng = np.random.default_rng(5)
    n = 40_000
    p, segment = rng.random(n), rng.choice(3, n, p=[0.45, 0.4, 0.15])
    truth = np.where(segment == 2, 0.5 + 0.2 * (p - 0.5), p)
    y = rng.random(n) < truth
    r = rainproof.Recalibrator(rng=0).fit(p, y, by={"region": segment})
    assert [(s.segment, s.corrected) for s in r.segments_] == [(0, False), (1, False), (2, True)]
    assert r.segments_[2].gain_at_least > 0
    assert all(0 < s.harm_bound < 0.2 for s in r.segments_)
    own = r.predict(p, by={"region": segment})
    whole = r.map_(p)
    assert np.abs(own - truth)[segment == 2].mean() < np.abs(whole - truth)[segment == 2].mean() / 2
    assert (own[segment < 2] == whole[segment < 2]).all()
    with pytest.raises(InputError, match=r"by has 1 row of segments that the map has not seen \(7\): unseen='pooled'"):
        r.predict([0.5], by={"region": [7]})
    assert (r.predict([0.5], by={"region": [7]}, unseen="pooled") == r.map_([0.5])).all()
    with pytest.raises(InputError, match="unseen must be 'error' or 'pooled'; it is 'ignore'"):
        r.predict([0.5], by={"region": [2]}, unseen="ignore")
    samples = rainproof.scan({"p": p, "y": y, "region": segment}, by="region")
    again = rainproof.Recalibrator(rng=0).fit(samples)
    assert [(s.segment, s.corrected) for s in again.segments_] == [(0, False), (1, False), (2, True)]
    with pytest.raises(InputError, match="by is missing: the map was fitted with segments"):
        r.predict(p)
    with pytest.raises(InputError, match="by must name region; it names segment"):
        r.predict(p, by=segment)


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


@pytest.mark.parametrize("outcome", [0, 1])
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
    "methods": (lambda p, y: rainproof.Recalibrator("platt").fit(p, y), "methods must be 'auto' or among 'logistic', "),
    "no methods": (lambda p, y: rainproof.Recalibrator([]).fit(p, y), "methods must name at least one method"),
    "level": (lambda p, y: rainproof.Recalibrator(confidence_level=95).fit(p, y), "confidence_level must"),
    "rng": (lambda p, y: rainproof.Recalibrator(rng=-1).fit(p, y), "rng must be"),
    "y missing": (lambda p, y: rainproof.Recalibrator().fit(p), "y is missing: pass p and y, or one Sample"),
    "p": (lambda p, y: rainproof.Recalibrator().fit(p + 1, y), r"p must lie in \[0, 1\]"),
    "y": (lambda p, y: rainproof.Recalibrator().fit(p, y + 1), "y must be 0 or 1"),
    "length": (lambda p, y: rainproof.Recalibrator().fit(p[1:], y), "y and p must have the same length"),
    "twice": (lambda p, y: rainproof.Recalibrator().fit(rainproof.Sample(y, p), y), "pass it alone"),
    "groups": (
        lambda p, y: rainproof.Recalibrator().fit(rainproof.Sample(y, p).compress(), groups=y),
        "groups and by need rows",
    ),
    "weights": (
        lambda p, y: rainproof.Recalibrator().fit(rainproof.Sample(y, p, sample_weight=1 + p).compress()),
        "unequal weights need rows",
    ),
    "by": (lambda p, y: rainproof.Recalibrator().fit(p, y, by=y[1:]), "by must hold one label for each of the 50 rows"),
    "no fit": (lambda p, y: rainproof.Recalibrator().predict(p), r"call fit\(p, y\) first"),
    "by later": (lambda p, y: rainproof.Recalibrator("none").fit(p, y).predict(p, by=y), "by was not given to fit"),
}


@pytest.mark.parametrize(("call", "message"), BAD.values(), ids=BAD)
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


@pytest.mark.parametrize("groups", [1, 2, 19])
def test_nothing_is_fitted_to_a_handful_of_groups(groups):
    p, y = draw(400)
    with pytest.warns(FewRowsWarning, match=f"groups has {groups} groups?: nothing is fitted to fewer than 20"):
        r = rainproof.Recalibrator(rng=0).fit(p, y, groups=np.arange(400) % groups, by=np.arange(400) % 2)
    assert r.method_ == "none"
    assert r.certificate_.groups == groups


def test_a_certificate_of_a_compressed_sample_says_what_it_is_for():
    p, y = draw(4000)
    rows = rainproof.Recalibrator(rng=0).fit(p, y).certificate_
    cells = rainproof.Recalibrator(rng=0).fit(rainproof.Sample(y, p).compress(64)).certificate_
    assert (rows.grid, cells.grid) == (None, 64)
    assert "for probabilities rounded down to multiples of 1/64 before the map" in str(cells)
    assert "rounded" not in str(rows)


def test_rows_held_out_do_not_move_the_cells_of_a_compressed_fit():
    p, y = draw(2000)
    whole, _ = divide(read(rainproof.Sample(y, p).compress(32), None), np.random.default_rng(0))
    assert (whole.prob * 64 % 2 == 1).all()  # the middles of cells


def test_segments_that_share_cells_are_pooled():
    rng = np.random.default_rng(0)
    p = rng.integers(0, 8, 400) / 8
    samples = rainproof.scan({"p": p, "y": rng.random(400) < p, "s": np.arange(400) % 2}, by="s", grid=8)
    whole, parts = divide(read(samples, None), rng)
    assert (np.diff(whole.prob) > 0).all()
    assert whole.weight.sum() == sum(part.weight.sum() for part in parts.values())


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


@pytest.mark.parametrize("methods", [None, 5])
def test_methods_are_names(methods):
    with pytest.raises(InputError, match="methods must be 'auto', a name or a list of names"):
        rainproof.Recalibrator(methods).fit(*draw(30))
