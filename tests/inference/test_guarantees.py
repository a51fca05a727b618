"""`guarantee`: what it promises, to whom, how it prints."""

from __future__ import annotations

import json
import math
import warnings
from itertools import product

import numpy as np
import pytest
from helpers.cases import for_each
from helpers.strategies import samples
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose

import rainproof
from rainproof import guarantee
from rainproof.core.text import at_most
from rainproof.inference.bound_inputs import BoundInputs, loss_at_most


def forecasts(seed=0, n=2000, bend=1.0):
    rng = np.random.default_rng(seed)
    p = rng.random(n)
    return rng.random(n) < p**bend, p


@pytest.mark.filterwarnings("ignore::rainproof.FewRowsWarning")
@given(samples(), st.sampled_from(["adaptive", "hoeffding"]), st.floats(0.01, 0.999))
def test_it_is_the_smallest_of_the_bounds_at_the_shared_delta(rows, method, confidence_level):
    y, p, w = rows
    sample = rainproof.Sample(y, p, sample_weight=w)
    g = guarantee(sample, confidence_level=confidence_level, method=method)
    grids, delta = g.grids.tolist(), (1 - confidence_level) / len(g.grids)
    assert g.n == sample.n
    assert g.effective_n == sample.effective_n
    for m, bound, plug_in in zip(grids, g.bounds, g.plug_ins, strict=True):
        loss = rainproof.choose_grid(sample, max_grid=m).losses[-1]
        assert plug_in == pytest.approx(loss, abs=1e-12)
        simple = min(1, loss + math.sqrt(2 * math.log(1 / delta) / sample.effective_n))
        expected = (
            simple if method == "hoeffding" else loss_at_most(BoundInputs.rounded(sample, m), delta)
        )
        assert bound == pytest.approx(expected, abs=1e-12)
    at = grids.index(g.grid)
    assert (g.bound, g.plug_in) == (g.bounds.min(), g.plug_ins[at])
    assert g.slack == g.bound - g.plug_in
    assert 0 <= g.plug_in <= g.bound + 1e-9 <= 1 + 1e-9


@for_each("n, last", [(1, 8), (64, 8), (65, 16), (256, 16), (257, 32), (10_000, 128)])
def test_the_grids_are_fixed_by_the_number_of_rows(n, last):
    with pytest.warns(rainproof.FewRowsWarning) if n == 1 else _nothing():
        g = guarantee(*forecasts(1, n))
    assert g.grids.tolist() == [2**k for k in range(2, last.bit_length())]


class _nothing:  # noqa: N801
    def __enter__(self):
        return None

    def __exit__(self, *_):
        return None


def test_each_grid_costs():
    y, p = forecasts()
    one, many = guarantee(y, p, grid=16), guarantee(y, p, grid=(4, 8, 16, 16, 32))
    assert one.grids.tolist() == [16]
    assert many.grids.tolist() == [4, 8, 16, 32]
    assert one.bound < many.bounds[2]
    fine = guarantee(y, p, grid=[2**14])  # finer than the sums that a sample of so many rows keeps
    assert fine.grid == 2**14
    assert guarantee(y, p, grid=np.int64(16)).bound == one.bound


def test_more_confidence_costs_and_more_rows_help():
    y, p = forecasts(2, 20_000)
    bounds = [guarantee(y, p, confidence_level=c).bound for c in (0.5, 0.9, 0.95, 0.999)]
    assert bounds == sorted(bounds)
    sizes = [guarantee(y[:n], p[:n]).bound for n in (100, 1_000, 20_000)]
    assert sizes == sorted(sizes, reverse=True)


def test_it_is_several_times_sharper_than_hoeffding():
    """What was measured over many samples is in docs/benchmarks/study-bounds.md: a third for
    predictions that are right, an eighth for rare events.
    """
    y, p = forecasts(3, 10_000)
    g = guarantee(y, p)
    assert g.bound < 0.45 * g.hoeffding
    assert g.hoeffding == guarantee(y, p, method="hoeffding").bound
    rng = np.random.default_rng(4)
    rare = rng.exponential(0.01, 10_000).clip(0, 1)
    g = guarantee(rng.random(10_000) < rare, rare)
    assert g.bound < 0.2 * g.hoeffding


@for_each("method", ["adaptive", "hoeffding"])
def test_a_compressed_sample_promises_the_same(method):
    y, p = forecasts(5, 3000, bend=1.5)
    rows, cells = (
        guarantee(y, p, method=method),
        guarantee(rainproof.Sample(y, p).compress(2**10), method=method),
    )
    assert (rows.grid, rows.n, rows.effective_n) == (cells.grid, cells.n, cells.effective_n)
    assert_allclose(cells.bounds, rows.bounds, atol=1e-9)
    assert guarantee(rainproof.Sample(y, p).compress(2), method=method).grids.tolist() == [2]


def test_weights_cost_and_compression_of_them_a_little_more():
    y, p = forecasts(6, 4000)
    w = np.random.default_rng(6).exponential(size=4000)
    sample = rainproof.Sample(y, p, sample_weight=w)
    plain, weighted = guarantee(y, p), guarantee(sample)
    assert weighted.effective_n < 0.6 * weighted.n
    assert weighted.slack > plain.slack
    fine, coarse = guarantee(sample.compress(2**14)), guarantee(sample.compress(2**7))
    assert_allclose(fine.plug_ins, weighted.plug_ins, atol=1e-9)
    assert fine.bound <= weighted.bound + 1e-9 <= coarse.bound + 1e-9
    assert coarse.bound < 1.3 * fine.bound
    assert guarantee(y, p, sample_weight=7 * w).bound == pytest.approx(weighted.bound, abs=1e-9)


@for_each("method", ["adaptive", "hoeffding"])
def test_rows_that_are_groups_of_their_own(method):
    y, p = forecasts(7, 3000)
    w = np.random.default_rng(7).exponential(size=3000) * (np.arange(3000) % 7 > 0)
    for weight in (None, w):
        options = {"sample_weight": weight, "method": method}
        alone, none = (
            guarantee(y, p, groups=np.arange(3000)[::-1], **options),
            guarantee(y, p, **options),
        )
        assert_allclose(alone.bounds, none.bounds, atol=1e-9)
        assert alone.groups == none.n
        assert none.groups is None
    fine = {"grid": 2**14, "method": method}
    assert guarantee(y, p, groups=np.arange(3000), **fine).bound == pytest.approx(
        guarantee(y, p, **fine).bound
    )


def test_copies_of_rows_are_no_new_rows():
    """Each row ten times: with groups it is what it was; without, the bound is too small."""
    y, p = forecasts(8, 300)
    once, copied = guarantee(y, p), (np.repeat(y, 10), np.repeat(p, 10))
    grouped = guarantee(*copied, groups=np.repeat([f"case {k}" for k in range(300)], 10))
    assert_allclose(grouped.bounds, once.bounds, atol=1e-9)
    assert (grouped.n, grouped.groups, grouped.effective_n) == (3000, 300, pytest.approx(300))
    assert guarantee(*copied).bound < once.bound / 2
    assert "the 300 groups of rows were drawn independently" in str(grouped)
    with pytest.warns(
        rainproof.FewRowsWarning, match="1 group is too few for a guarantee at this confidence"
    ):
        guarantee([0, 0], [0.5, 0.5], groups=["a", "a"])
    uneven = guarantee(y, p, groups=np.minimum(np.arange(300), 290))
    assert "given fixed sizes and weights of the groups, the 291 groups of rows were drawn" in str(
        uneven
    )
    for found in (grouped, uneven):
        assert (
            "not hold for groups whose size or weight depends on predictions or outcomes, "
            "unless max"
        ) in str(found)


def test_groups_of_informative_size_need_a_largest_weight():
    """Large groups have no events: their share of the rows is half, and the loss in the population
    a half.
    """
    missed = 0
    for seed in range(20):
        rng = np.random.default_rng(seed)
        heavy = rng.random(400) < 1 / 400
        size = np.where(heavy, 2000, 5)
        group = np.repeat(np.arange(400), size)
        y = ~np.repeat(heavy, size) & (rng.random(len(group)) < 0.5)
        given = {"groups": group, "response": "as_is"}
        with warnings.catch_warnings(action="ignore", category=rainproof.FewRowsWarning):
            missed += guarantee(y, np.full(len(group), 0.5), **given).bound < 0.5
            assert guarantee(y, np.full(len(group), 0.5), max_weight=2000, **given).bound >= 0.5
    assert missed > 1  # so that the condition is needed


@for_each("weight", [[1, 1, 1, 1, 1, 1], [1, 2, 3, 1, 1, 5]])
def test_groups_by_enumeration(weight):
    """Three groups of 1, 2 and 3 rows that are copies of each other: all samples with their
    chances.
    """
    group, delta, truth, wrong = [0, 1, 1, 2, 2, 2], 0.3, None, {"adaptive": 0.0, "hoeffding": 0.0}
    atoms = [(0.25, 1, 0.4), (0.25, 0, 0.1), (0.6, 1, 0.1), (0.6, 0, 0.4)]
    population = rainproof.Sample(
        [y for _, y, _ in atoms], [x for x, *_ in atoms], sample_weight=[c for *_, c in atoms]
    )
    truth = rainproof.choose_grid(population, max_grid=4).losses[-1]
    for rows in product(atoms, repeat=3):
        chance = math.prod(c for *_, c in rows)
        y, p = [rows[k][1] for k in group], [rows[k][0] for k in group]
        for method in wrong:
            options = {
                "grid": 4,
                "confidence_level": 1 - delta,
                "method": method,
                "sample_weight": weight,
            }
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", rainproof.FewRowsWarning)
                wrong[method] += chance * (guarantee(y, p, groups=group, **options).bound < truth)
    assert truth > 0.2
    assert max(wrong.values()) <= delta


def test_labels_are_labels():
    y, p = forecasts()
    assert guarantee(np.where(y, "yes", "no"), p, pos_label="yes").bound == guarantee(y, p).bound


def test_what_it_says():
    y, p = [0, 0, 0, 1, 1, 1, 1, 0] * 125, [0.25, 0.25, 0.25, 0.25, 0.75, 0.75, 0.75, 0.75] * 125
    g = guarantee(y, p, grid=(4, 8), confidence_level=0.9)
    assert repr(g) == (
        f"Guarantee(bound={g.bound:.6g}, response='rounded', grid=4, plug_in=0, confidence_level=0.9, "
        "method='adaptive', n=1000, anytime=False)"
    )  # fmt: skip
    assert str(g) == (
        "With 90% confidence, every decision that acts on these predictions, rounded at random "
        f"to multiples of 1/4, loses at most {at_most(g.bound)} of what is at stake (its best "
        "minus its worst payoff), in expectation.\n"
        "This holds for all decisions at once, whatever their actions and payoffs. The loss is "
        "compared with the best fixed change of actions ('where I would do this, do that') that "
        f"uses the rounded predictions. On the 1,000 rows it is 0.00%; {g.bound:.2%} is the "
        "allowance for chance.\n"
        "It assumes that the rows were drawn independently from the population in which the "
        "predictions will be used, and that the 2 grids tried (1/4, 1/8) did not depend on "
        "them. It fails for at most 10% of such samples."
    )
    weighted = guarantee(y, p, grid=4, sample_weight=np.arange(1000) + 1.0)
    assert str(weighted).splitlines()[-1] == (
        "It assumes that, given fixed weights, such as survey or cost weights, the rows were "
        "drawn independently from the population in which the predictions will be used, and "
        "that the grid (1/4) did not depend on them. It does not hold for weights that depend "
        "on predictions (as importance weights do) or outcomes, unless max_weight is stated. It "
        "fails for at most 5% of such samples."
    )
    html = g._repr_html_()
    assert html.count("<p>") == 3
    assert html.count("<tr>") == 3
    assert "<td>4 *</td><td>0.0000</td>" in html
    assert "&#x27;where I would do this" in html


def test_it_goes_into_json():
    g = guarantee(*forecasts())
    data = json.loads(json.dumps(g.to_dict()))
    assert data["result"] == "guarantee"
    for name in (
        "grid",
        "bound",
        "plug_in",
        "slack",
        "hoeffding",
        "method",
        "confidence_level",
        "n",
        "groups",
        "effective_n",
    ):
        assert data[name] == getattr(g, name)
    for name in ("grids", "bounds", "plug_ins", "warnings"):
        assert data[name] == list(getattr(g, name))
    assert not any(array.flags.writeable for array in (g.grids, g.bounds, g.plug_ins))


@for_each("n, words", [(1, "1 row is"), (2, "2 rows are")])
def test_too_few_rows_guarantee_nothing(n, words):
    message = f"{words} too few for a guarantee at this confidence: the bound is 100%"
    with pytest.warns(rainproof.FewRowsWarning, match=message):
        g = guarantee([0] * n, [0.5] * n)
    assert g.bound == 1
    assert g.warnings == (message,)
    assert str(g).endswith(message)


@for_each(
    "options, message",
    [
        (
            {"confidence_level": 1.0},
            "confidence_level must be a number between 0 and 1, both excluded; it is 1.0",
        ),
        (
            {"confidence_level": 95},
            "confidence_level must be a number between 0 and 1, both excluded; it is 95",
        ),
        ({"method": "magic"}, "method must be 'adaptive' or 'hoeffding'; it is 'magic'"),
        ({"grid": []}, "grid must name at least one grid"),
        ({"groups": [1, 2]}, "groups need rows: a compressed sample does not keep them"),
        ({"grid": 12}, "grid must be a power of two from 2 to 1,048,576; it is 12"),
        (
            {"grid": (4, 128)},
            "grid must not exceed 64, the grid of the compressed sample; it is 128",
        ),
    ],
)
def test_bad_options_are_told_what_is_wrong(options, message):
    sample = rainproof.Sample([0, 1], [0.25, 0.5]).compress(64)
    with pytest.raises(rainproof.InputError) as caught:
        guarantee(sample, **options)
    assert str(caught.value) == message


@for_each(
    "groups, message",
    [
        ([1, 2, 3], "groups must have one entry for each of the 2 rows; its shape is (3,)"),
        ([1, None], "groups must not contain missing values; 1 value does, the first is groups[1]"),
        (
            [math.nan, 2.0],
            "groups must not contain missing values; 1 value does, the first is groups[0]",
        ),
    ],
)
def test_bad_groups_are_told_what_is_wrong(groups, message):
    with pytest.raises(rainproof.InputError) as caught:
        guarantee([0, 1], [0.25, 0.5], groups=groups)
    assert str(caught.value) == message


def test_importance_weights_need_their_largest_value():
    """0.5% of the rows weigh 200 and are wrong: most samples of 100 do not contain one."""
    rng, failed = np.random.default_rng(0), {None: 0, 200.0: 0}
    for _ in range(40):
        heavy = rng.random(100) < 0.005
        p = np.where(heavy, 0.9, rng.random(100) / 2)
        y = rng.random(100) < np.where(heavy, 0.0, p)
        truth = 0.5  # the heavy rows are half of the weight, and no decision should act on them
        for cap in failed:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", rainproof.FewRowsWarning)  # an honest bound of 1
                found = guarantee(
                    y, p, sample_weight=np.where(heavy, 200.0, 1.0), max_weight=cap, grid=8
                )
            failed[cap] += found.bound < truth * 0.9
    assert failed[200.0] == 0
    assert failed[None] > 15


def test_a_largest_weight_of_one_costs_equal_rows_little():
    rng = np.random.default_rng(1)
    p = rng.random(4000)
    y = rng.random(4000) < p
    plain, capped = guarantee(y, p), guarantee(y, p, max_weight=1)
    assert plain.bound <= capped.bound < 1.1 * plain.bound
    assert capped.max_weight == 1
    assert guarantee(rainproof.Sample(y, p).compress(), max_weight=1).bound == pytest.approx(
        capped.bound, abs=1e-9
    )
    assert guarantee(y, p, max_weight=1, method="hoeffding").bound == pytest.approx(
        guarantee(y, p).hoeffding
    )
    assert "no row can weigh more than 1" in str(capped)
    grouped = guarantee(y, p, groups=np.arange(4000) // 4, max_weight=4)
    assert "no group can weigh more than 4" in str(grouped)
    assert grouped.bound > capped.bound


def test_a_largest_weight_that_is_too_small_is_refused():
    with pytest.raises(
        rainproof.InputError, match="must be finite, and at least the largest weight 2; it is 1"
    ):
        guarantee([0, 1], [0.5, 0.5], sample_weight=[1, 2], max_weight=1)
    with pytest.raises(rainproof.InputError, match=r"at least the largest weight 2; it is 1.5"):
        guarantee([0, 1], [0.5, 0.5], groups=[1, 1], max_weight=1.5)
