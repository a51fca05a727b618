"""The picture of a recalibrator shows its map, and event rates where there are rows."""

from __future__ import annotations

import matplotlib as mpl
import matplotlib.pyplot as plt
import numpy as np
import pytest

import rainproof

mpl.use("Agg")


def fit(p, seed=0, factor=0.7, **options):
    y = np.random.default_rng(seed).random(len(p)) < factor * p
    return rainproof.Recalibrator("bins_8", rng=0).fit(p, y, **options)


def lines(ax):
    return {line.get_label(): line.get_xydata() for line in ax.get_lines()}


def test_the_map_and_the_rows_held_out():
    r = fit(np.random.default_rng(1).random(2000))
    ax = rainproof.plots.recalibration(r)
    assert ax.get_xscale() == "linear"
    xy = lines(ax)["map (bins_8)"]
    np.testing.assert_array_equal(r.map_(xy[:, 0]), xy[:, 1])
    labels = [text.get_text() for text in ax.get_legend().get_texts()]
    assert labels == [
        "unchanged",
        "map (bins_8)",
        "event rate, rows held out (95%, each by itself)",
    ]
    again = rainproof.Recalibrator.from_dict(r.to_dict()).plot()
    assert len(again.get_legend().get_texts()) == 2
    figure = plt.figure()
    own = figure.add_subplot()
    assert r.plot(own) is own


def test_rare_events_have_logit_axes():
    ax = fit(np.random.default_rng(1).beta(0.5, 40, 20_000)).plot()
    assert (ax.get_xscale(), ax.get_yscale()) == ("logit", "logit")
    assert 0 < ax.get_xlim()[0] < ax.get_xlim()[1] < 0.5
    ax.figure.canvas.draw()


def test_segments_and_groups():
    p = np.random.default_rng(1).random(12_000)
    side = np.arange(12_000) % 2
    r = fit(np.where(side, p, p), by=np.array(["a", "b"])[side], groups=np.arange(12_000) // 2)
    r.segment_maps_ = {"a": r.map_, "b": r.map_}
    labels = [text.get_text() for text in r.plot().get_legend().get_texts()]
    assert labels == ["unchanged", "maps of segments", "map (bins_8)", "event rate, rows held out"]


def test_nothing_to_draw_yet():
    with pytest.raises(rainproof.InputError, match="no map yet"):
        rainproof.Recalibrator().plot()
