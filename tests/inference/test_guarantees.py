"""`guarantee`: what it promises, to whom, how it prints."""

from __future__ import annotations

import json
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from strategies import samples

import brolly
from brolly import guarantee
from brolly.inference.bounds import Evidence, adaptive


def forecasts(seed=0, n=2000, bend=1.0):
    rng = np.random.default_rng(seed)
    p = rng.random(n)
    return rng.random(n) < p**bend, p


@pytest.mark.filterwarnings("ignore::brolly.FewRowsWarning")
@given(samples(), st.sampled_from(["adaptive", "hoeffding"]), st.floats(0.01, 0.999))
def test_it_is_the_smallest_of_the_bounds_at_the_shared_delta(rows, method, confidence):
    y, p, w = rows
    sample = brolly.Sample(y, p, sample_weight=w)
    g = guarantee(sample, confidence=confidence, method=method)
    grids, delta = g.grid_sizes.tolist(), (1 - confidence) / len(g.grid_sizes)
    assert g.n == sample.n
    assert g.effective_n == sample.effective_n
    for m, bound, plug_in in zip(grids, g.bounds, g.plug_ins, strict=True):
        loss = brolly.choose_grid(sample, largest=m).losses[-1]
        assert plug_in == pytest.approx(loss, abs=1e-12)
        simple = min(1, loss + math.sqrt(2 * math.log(1 / delta) / sample.effective_n))
        expected = simple if method == "hoeffding" else adaptive(Evidence.from_cells(sample.cell_table(m), m), delta)
        assert bound == pytest.approx(expected, abs=1e-12)
    at = grids.index(g.m)
    assert (g.bound, g.plug_in) == (g.bounds.min(), g.plug_ins[at])
    assert g.slack == g.bound - g.plug_in
    assert 0 <= g.plug_in <= g.bound + 1e-9 <= 1 + 1e-9


@pytest.mark.parametrize(("n", "last"), [(1, 8), (64, 8), (65, 16), (256, 16), (257, 32), (10_000, 128)])
def test_the_grids_are_fixed_by_the_number_of_rows(n, last):
    with pytest.warns(brolly.FewRowsWarning) if n == 1 else _nothing():
        g = guarantee(*forecasts(1, n))
    assert g.grid_sizes.tolist() == [2**k for k in range(2, last.bit_length())]


class _nothing:  # noqa: N801
    def __enter__(self):
        return None

    def __exit__(self, *_):
        return None


def test_each_grid_costs():
    y, p = forecasts()
    one, many = guarantee(y, p, grids=16), guarantee(y, p, grids=(4, 8, 16, 16, 32))
    assert one.grid_sizes.tolist() == [16]
    assert many.grid_sizes.tolist() == [4, 8, 16, 32]
    assert one.bound < many.bounds[2]
    fine = guarantee(y, p, grids=[2**14])  # finer than the sums that a sample of so many rows keeps
    assert fine.m == 2**14
    assert guarantee(y, p, grids=np.int64(16)).bound == one.bound


def test_more_confidence_costs_and_more_rows_help():
    y, p = forecasts(2, 20_000)
    bounds = [guarantee(y, p, confidence=c).bound for c in (0.5, 0.9, 0.95, 0.999)]
    assert bounds == sorted(bounds)
    sizes = [guarantee(y[:n], p[:n]).bound for n in (100, 1_000, 20_000)]
    assert sizes == sorted(sizes, reverse=True)


def test_it_is_several_times_sharper_than_hoeffding():
    """What was measured over many samples is in docs/inference.md: a third for predictions that are right, an eighth
    for rare events.
    """
    y, p = forecasts(3, 10_000)
    g = guarantee(y, p)
    assert g.bound < 0.45 * g.hoeffding
    assert g.hoeffding == guarantee(y, p, method="hoeffding").bound
    rng = np.random.default_rng(4)
    rare = rng.exponential(0.01, 10_000).clip(0, 1)
    g = guarantee(rng.random(10_000) < rare, rare)
    assert g.bound < 0.2 * g.hoeffding


@pytest.mark.parametrize("method", ["adaptive", "hoeffding"])
def test_a_compressed_sample_promises_the_same(method):
    y, p = forecasts(5, 3000, bend=1.5)
    rows, cells = guarantee(y, p, method=method), guarantee(brolly.Sample(y, p).compress(2**10), method=method)
    assert (rows.m, rows.n, rows.effective_n) == (cells.m, cells.n, cells.effective_n)
    assert_allclose(cells.bounds, rows.bounds, atol=1e-9)
    assert guarantee(brolly.Sample(y, p).compress(2), method=method).grid_sizes.tolist() == [2]


def test_weights_cost_and_compression_of_them_a_little_more():
    y, p = forecasts(6, 4000)
    w = np.random.default_rng(6).exponential(size=4000)
    sample = brolly.Sample(y, p, sample_weight=w)
    plain, weighted = guarantee(y, p), guarantee(sample)
    assert weighted.effective_n < 0.6 * weighted.n
    assert weighted.slack > plain.slack
    fine, coarse = guarantee(sample.compress(2**14)), guarantee(sample.compress(2**7))
    assert_allclose(fine.plug_ins, weighted.plug_ins, atol=1e-9)
    assert fine.bound <= weighted.bound + 1e-9 <= coarse.bound + 1e-9
    assert coarse.bound < 1.3 * fine.bound
    assert guarantee(y, p, sample_weight=7 * w).bound == pytest.approx(weighted.bound, abs=1e-9)


def test_labels_are_labels():
    y, p = forecasts()
    assert guarantee(np.where(y, "yes", "no"), p, pos_label="yes").bound == guarantee(y, p).bound


def test_what_it_says():
    y, p = [0, 0, 0, 1, 1, 1, 1, 0] * 125, [0.25, 0.25, 0.25, 0.25, 0.75, 0.75, 0.75, 0.75] * 125
    g = guarantee(y, p, grids=(4, 8), confidence=0.9)
    assert repr(g) == (
        f"Guarantee(bound={g.bound:.6g}, m=4, plug_in=0, confidence=0.9, method='adaptive', n=1000)"
    )  # fmt: skip
    assert str(g) == (
        "With 90% confidence, nobody who acts on these predictions, rounded at random to multiples of 1/4, loses on "
        f"average more than {g.bound:.2%} of the range of their payoffs by trusting them.\n"
        "Promised to every decision maker at once, whatever their actions and payoffs; 'loses' is against the best "
        "fixed change of habits ('where I would do this, do that') that the rounded predictions allow. On the 1,000 "
        f"rows the loss is 0.00%; {g.bound:.2%} is the allowance for chance.\n"
        "It assumes that the rows were drawn independently from the population on which the predictions will be used, "
        "and that the 2 grids tried (1/4, 1/8) did not depend on them. It fails for at most 10% of such samples."
    )
    weighted = guarantee(y, p, grids=4, sample_weight=np.arange(1000) + 1.0)
    assert "used, and that the weights were fixed in advance, and that the grid (1/4) did not" in str(weighted)
    html = g._repr_html_()
    assert html.count("<p>") == 3
    assert html.count("<tr>") == 3
    assert "<td>4 *</td><td>0.0000</td>" in html
    assert "&#x27;where I would do this" in html


def test_it_goes_into_json():
    g = guarantee(*forecasts())
    data = json.loads(json.dumps(g.to_dict()))
    assert data["result"] == "guarantee"
    for name in ("m", "bound", "plug_in", "slack", "hoeffding", "method", "confidence", "n", "effective_n"):
        assert data[name] == getattr(g, name)
    for name in ("grid_sizes", "bounds", "plug_ins", "warnings"):
        assert data[name] == list(getattr(g, name))
    assert not any(array.flags.writeable for array in (g.grid_sizes, g.bounds, g.plug_ins))


@pytest.mark.parametrize(("n", "words"), [(1, "1 row promises"), (2, "2 rows promise")])
def test_too_few_rows_promise_nothing(n, words):
    message = f"{words} nothing at this confidence: nobody can lose more than all"
    with pytest.warns(brolly.FewRowsWarning, match=message):
        g = guarantee([0] * n, [0.5] * n)
    assert g.bound == 1
    assert g.warnings == (message,)
    assert str(g).endswith(message)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"confidence": 1.0}, "confidence must lie between 0 and 1; it is 1.0"),
        ({"confidence": 95}, "confidence must lie between 0 and 1; it is 95"),
        ({"method": "magic"}, "method must be 'adaptive' or 'hoeffding'; it is 'magic'"),
        ({"grids": []}, "grids must name at least one grid"),
        ({"grids": 12}, "m must be a power of two from 2 to 1,048,576; it is 12"),
        ({"grids": (4, 128)}, "the sample is compressed to m = 64, which says nothing exact of a grid of 128"),
    ],
)
def test_bad_options_are_told_what_is_wrong(options, message):
    sample = brolly.Sample([0, 1], [0.25, 0.5]).compress(64)
    with pytest.raises(brolly.InputError) as caught:
        guarantee(sample, **options)
    assert str(caught.value) == message
