"""The picture of a timeline shows what the timeline holds."""

from __future__ import annotations

import matplotlib as mpl
import numpy as np
import pytest

import rainproof

mpl.use("agg")


@pytest.fixture(scope="module")
def line():
    rng = np.random.default_rng(1)
    samples = {}
    for day in range(24):
        p = rng.random(200)
        samples[f"day ${day}$"] = rainproof.Sample(
            rng.random(200) < (p**3 if 12 <= day < 18 else p), p
        )
    return rainproof.monitor(samples)


def test_what_is_drawn_is_what_was_found(line):
    import matplotlib.pyplot as plt

    figure, ax = plt.subplots()
    assert line.plot(ax) is ax
    first, below = figure.axes
    assert first is ax
    happens, says, alarm, recovered = ax.lines
    np.testing.assert_array_equal(happens.get_ydata(), [w.event_rate for w in line.windows])
    np.testing.assert_array_equal(says.get_ydata(), [w.mean_prediction for w in line.windows])
    assert (alarm.get_xdata()[0], recovered.get_xdata()[0]) == (12, 18)
    assert [patch.get_x() for patch in ax.patches] == [11.5]
    assert [patch.get_width() for patch in ax.patches] == [6]
    bound, value, *_ = below.lines
    np.testing.assert_array_equal(bound.get_ydata(), [w.bound for w in line.windows])
    np.testing.assert_array_equal(value.get_ydata(), [w.value for w in line.windows])
    assert ax.get_title() == "Each period: no alarm now"
    assert [text.get_text() for text in below.get_xticklabels()][:2] == [r"day \$0\$", r"day \$3\$"]
    named = [text.get_text() for text in ax.get_legend().get_texts()]
    assert named == ["happens", "says", "not calibrated (estimate)", "alarm", "recovered"]


def test_one_period_and_new_axes():
    import matplotlib.pyplot as plt

    sample = rainproof.Sample([0, 1], [0.2, 0.7])
    ax = rainproof.plots.timeline(rainproof.monitor({"Mon": sample}, dependent=True, window=2))
    assert ax.get_title() == "Last 2 periods: no alarm now"
    assert len(ax.lines) == 2
    assert len(ax.figure.axes[-1].lines) == 1  # no bound
    with pytest.raises(rainproof.InputError, match="ax must be of a grid of axes"):
        rainproof.plots.timeline(
            rainproof.monitor({"Mon": sample}), plt.figure().add_axes((0, 0, 1, 1))
        )
