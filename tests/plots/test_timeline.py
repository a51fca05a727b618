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
    for day in range(20):
        p = rng.random(200)
        samples[f"day ${day}$"] = rainproof.Sample(rng.random(200) < (p if day < 12 else p**3), p).compress(1024)
    return rainproof.monitor(samples, window=3, independent_rows=True)


def test_what_is_drawn_is_what_was_found(line):
    import matplotlib.pyplot as plt

    _, ax = plt.subplots()
    assert line.plot(ax) is ax
    bound, value, change, alarm = ax.lines
    np.testing.assert_array_equal(bound.get_ydata(), [w.bound for w in line.windows])
    np.testing.assert_array_equal(value.get_ydata(), [w.value for w in line.windows])
    assert (change.get_xdata()[0], alarm.get_xdata()[0]) == (11.5, 12)
    assert [text.get_text() for text in ax.texts] == [r"day \$12\$"]
    assert ax.get_title() == "SCDL over the last 3 periods"
    assert [text.get_text() for text in ax.get_xticklabels()][:2] == [r"day \$0\$", r"day \$3\$"]
    plt.close("all")


def test_one_period_and_new_axes():
    import matplotlib.pyplot as plt

    ax = rainproof.plots.timeline(rainproof.monitor({"Mon": rainproof.Sample([0, 1], [0.2, 0.7]).compress()}))
    assert ax.get_title() == "SCDL over one period"
    assert len(ax.lines) == 2
    plt.close("all")
