"""A timeline merges what its windows say, and marks the changes that the test finds."""

from __future__ import annotations

import json

import numpy as np
import pytest

import brolly
from brolly.inference.monitoring import _sliding


def days(n_days=12, n=150, change=None, seed=0):
    rng = np.random.default_rng(seed)
    out = {}
    for day in range(n_days):
        p = rng.random(n)
        q = p if change is None or day < change else p**3
        out[f"2026-03-{day + 1:02}"] = brolly.Sample(rng.random(n) < q, p).compress(1024)
    return out


@pytest.mark.parametrize("length", [1, 2, 3, 5, 12, 40])
def test_windows_are_the_merged_periods(length):
    samples = list(days(n=20).values())
    for last, merged in enumerate(_sliding(samples, length)):
        first, *others = samples[max(0, last + 1 - length) : last + 1]
        for other in others:
            first = first + other
        for name in ("slot", "count", "weight", "rise"):
            np.testing.assert_array_equal(getattr(merged._cells, name), getattr(first._cells, name))


def test_each_line_is_what_its_rows_say():
    samples = days(4)
    first, second, third, _ = samples.values()
    line = brolly.monitor(samples, window=3, confidence_level=0.9).windows[2]
    merged = first + second + third
    promise = brolly.guarantee(merged, confidence_level=0.9)
    assert line.label == "2026-03-03"
    assert (line.n, line.event_rate) == (450, merged.event_rate)
    assert line.value == brolly.soft_binned_cdl(merged)
    assert (line.bound, line.grid) == (promise.bound, promise.grid)


def test_changes_do_not_depend_on_the_window():
    samples = days(12, change=7)
    lines = [brolly.monitor(samples, window=window, rng=3) for window in (1, 5)]
    assert [change.label for change in lines[0].changes] == ["2026-03-08"]
    assert lines[0].changes == lines[1].changes


def test_it_prints_a_table_with_the_changes_in_it():
    text = str(brolly.monitor(days(8, change=4, n=300), shuffle="rows"))
    head, *lines = text.splitlines()
    assert head.split() == ["period", "rows", "SCDL", "at", "most", "(95%)", "rounding"]
    assert lines[3].startswith("2026-03-04")
    assert lines[4].split()[:2] == ["change:", "by"]
    assert lines[5].startswith("2026-03-05")
    assert len(lines) == 9


def test_the_result_is_small_and_ready_for_json():
    line = brolly.monitor(days(3, change=1, n=400), shuffle="rows", rng=5, n_resamples=199)
    assert repr(line).startswith("Timeline(3 periods, 1 changes, last=0.")
    told = json.loads(json.dumps(line.to_dict(), allow_nan=False))
    assert (told["seed"], told["shuffle"]) == (5, "rows")
    assert (told["length"], told["n_resamples"]) == (1, 199)
    assert told["windows"][0] == {
        name: getattr(line.windows[0], name) for name in ("label", "n", "event_rate", "value", "bound", "grid")
    }
    assert told["changes"][0]["index"] == 1
    assert brolly.monitor(days(1), rng=np.random.default_rng(0)).seed is None


def test_progress_is_told():
    calls = []
    brolly.monitor(days(3), progress=lambda done, total: calls.append((done, total)))
    assert calls[-3:] == [(1, 3), (2, 3), (3, 3)]


def test_refusals():
    for wrong in (0, True, "a"):
        message = f"window must be a whole number of periods, at least 1; it is {wrong!r}"
        with pytest.raises(brolly.InputError, match=message):
            brolly.monitor(days(2), window=wrong, rng=0)
    with pytest.raises(brolly.InputError, match="samples must not be empty"):
        brolly.monitor({})
