"""What a fitted recalibrator says of itself, and the event rates that its picture shows."""

from __future__ import annotations

import numpy as np
import pytest

import rainproof
from rainproof.errors import FewRowsWarning
from rainproof.recalibration.certificate import held_out_rates
from rainproof.recalibration.segment_maps import SegmentMap
from rainproof.recalibration.summary import segment_table


def draw(n, seed=0):
    rng = np.random.default_rng(seed)
    p = rng.beta(0.8, 1.6, n)
    return p, (rng.random(n) < p**1.7).astype(int)


def test_what_the_map_is_and_why():
    r = rainproof.Recalibrator(["none", "logistic"], rng=0).fit(*draw(4000))
    said = str(r)
    assert said.startswith(
        "The map is the weighted mean of the maps of 2 methods. The better a method predicts rows"
    )
    assert "\nlogistic    100%" in said
    assert "\nnone          0%" in said
    assert said.endswith(str(r.certificate_))
    only = str(rainproof.Recalibrator("beta", rng=0).fit(*draw(400)))
    assert only.startswith("Method 'beta', the only one that was tried.")
    with pytest.warns(FewRowsWarning):
        none = str(rainproof.Recalibrator().fit([0.2, 0.8], [0, 1]))
    assert none.startswith("Method 'none': nothing could be fitted to these rows")
    assert str(rainproof.Recalibrator()) == "Recalibrator('auto')"


def test_segments_are_listed():
    parts = [
        SegmentMap(
            segment=(f"\x1b{k}", None),
            corrected=k > 18,
            gain_at_least=k / 200,
            harm_bound=0.0125,
            n=1000 + k,
        )
        for k in range(20)
    ]
    lines = segment_table(["region", "year"], parts).splitlines()
    words = ["region, year  uses  gain at least  loss at most  rows held out"]
    words += [
        r"\x1b19, (none)  own map  9.5%  1.25%  1,019",
        r"\x1b18, (none)  map of all rows  1.25%  1,018",
    ]
    assert [line.split() for line in lines[:3]] == [line.split() for line in words]
    assert lines[-4] == "and 8 more segments"
    assert " ".join(lines[-3:]).endswith("Each column holds for all segments at once.")
    assert max(map(len, lines)) <= 80
    p, y = draw(2000)
    r = rainproof.Recalibrator(rng=0).fit(p, y, by=np.where(np.arange(2000) % 2, "<b>", "c"))
    assert "rows held out\n" in str(r)
    assert "\n<b> " in str(r)
    assert "\n&lt;b&gt; " in r._repr_html_()


def test_event_rates_of_bins():
    rng = np.random.default_rng(0)
    p = rng.permutation(np.repeat(np.arange(20) / 20, 10))
    event = rng.random(200) < p
    found = held_out_rates(rainproof.Sample(event, p), 0.95)
    pairs = np.sort(np.unique(p)).reshape(10, 2)
    np.testing.assert_allclose(found.prediction, pairs.mean(axis=1))
    rate = np.array([event[np.isin(p, pair)].mean() for pair in pairs])
    np.testing.assert_allclose(found.event_rate, rate)
    for k in range(10):  # the Wilson interval, by its definition
        for end in (found.low[k], found.high[k]):
            if abs(end - rate[k]) > 1e-12:
                assert abs(end - rate[k]) == pytest.approx(
                    1.959964 * np.sqrt(end * (1 - end) / 20), rel=1e-5
                )
    assert found.overall == event.mean()
    assert not found.grouped
    cells = rainproof.Sample(event, p).compress(64)  # one for each prediction and outcome
    assert len(cells.counts) == len(np.unique(np.stack([p, event]), axis=1).T)
    pooled = held_out_rates(cells, 0.95)
    weighted = held_out_rates(rainproof.Sample(event, p, sample_weight=np.full(200, 7.0)), 0.95)
    for other in (pooled, weighted):
        np.testing.assert_allclose(other.low, found.low)
        np.testing.assert_allclose(other.event_rate, found.event_rate)


def test_few_rows_and_none():
    assert held_out_rates(rainproof.Sample([0], [0.5]).take(np.zeros(0, int)), 0.95) is None
    one = held_out_rates(rainproof.Sample([True], [0.5], groups=[0]), 0.95)
    assert (one.prediction, one.event_rate, one.high, one.grouped) == (0.5, 1.0, 1.0, True)
    constant = held_out_rates(rainproof.Sample(np.arange(9) < 3, np.full(9, 0.25)), 0.95)
    assert constant.event_rate.tolist() == [pytest.approx(1 / 3)]
