"""Doors: what is hung is called, what is not is said."""

from __future__ import annotations

import pytest

import brolly
from brolly.assessment import doors


def test_what_is_behind_a_door_is_called_with_what_is_given():
    doors.hang("test", lambda *values, **options: (values, options))
    try:
        assert doors.through("test", 1, 2, x=3) == ((1, 2), {"x": 3})
    finally:
        del doors._DOORS["test"]


def test_a_door_that_nobody_hung_is_named():
    with pytest.raises(brolly.BrollyError, match="nothing is behind the door 'cellar': import brolly opens them"):
        doors.through("cellar")


def test_the_front_door_hangs_plot_and_report():
    assert {"plot", "to_html"} <= set(doors._DOORS)
