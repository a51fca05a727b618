"""Smooth ECE against relplot 1.0.3, the package of its inventors, within what relplot itself can
resolve.
"""

from __future__ import annotations

import json
import math
from pathlib import Path

import pytest
from helpers.cases import for_each
from helpers.relplot_cases import cases

import rainproof
from rainproof.measures.smooth import _cosine_coefficients, _smoothed_error

# see make_relplot_values.py
RELPLOT = json.loads(Path(__file__).with_name("relplot_values.json").read_text())
CASES = {name: (y, p) for name, y, p in cases()}


def test_every_case_has_its_value():
    assert RELPLOT.keys() == CASES.keys()


@for_each("name", CASES)
def test_relplot(name):
    """relplot cuts its kernel off at a distance of 1/2, and searches widths in steps of 2^-10.

    On its own mesh, of 200 points or 10 for each width, its integral is a mean that counts the ends
    as whole, good to 2% here; on a mesh of 20,000 points that hardly matters.
    """
    sample = rainproof.Sample(*CASES[name])
    theirs = RELPLOT[name]
    cut_off = math.erfc(0.5 / theirs["width"] / math.sqrt(2))
    ours = _smoothed_error(_cosine_coefficients(sample, 1 << 14), theirs["width"], 1e-6)
    assert ours == pytest.approx(theirs["fine"], abs=2e-5 + cut_off)
    mesh = 0.02 * theirs["value"]
    assert ours == pytest.approx(theirs["value"], abs=mesh + cut_off)
    assert rainproof.measures.smooth_ece(sample) == pytest.approx(
        theirs["width"], abs=2.0**-10 + mesh + cut_off
    )
