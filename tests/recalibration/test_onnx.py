"""A recalibrator as an ONNX model gives the bits of `predict` in onnxruntime."""

from __future__ import annotations

import sys

import numpy as np
import onnx
import onnxruntime
import pytest
from helpers.cases import for_each

import rainproof
from rainproof.core.piecewise import PiecewiseMap
from rainproof.recalibration.export_onnx import as_onnx
from rainproof.recalibration.methods import METHODS


def draw(n, seed=0):
    rng = np.random.default_rng(seed)
    p = rng.beta(0.8, 1.6, n)
    return p, (rng.random(n) < p**1.7).astype(int)


def run(model, p):
    session = onnxruntime.InferenceSession(
        model.SerializeToString(), providers=["CPUExecutionProvider"]
    )
    (found,) = session.run(["probability"], {"p": np.asarray(p, np.float64)})
    return found


def predictions(edges):
    random = np.random.default_rng(1).random(500)
    near = [
        edges,
        np.nextafter(edges, 0),
        np.nextafter(edges, 1),
        random,
        random**30,
        random * 1e-309,
    ]
    return np.unique(np.concatenate([*near, [0.0, 1.0, 1e-300, 5e-324]]))


@pytest.mark.filterwarnings("ignore::rainproof.ExtrapolationWarning")
@for_each("method", METHODS)
def test_it_gives_the_same_bits(method):
    r = rainproof.Recalibrator(method, rng=0).fit(*draw(3000))
    model = r.to_onnx()
    onnx.checker.check_model(model, full_check=True)
    p = predictions(r.map_.edges)
    np.testing.assert_array_equal(run(model, p), r.predict(p), strict=True)


@for_each("pieces", [1, 2, 3, 4, 5, 8, 9, 1000])
def test_any_number_of_pieces(pieces):
    rng = np.random.default_rng(pieces)
    edges = np.concatenate([[0.0], np.sort(rng.random(pieces - 1)), [1.0]])
    found = PiecewiseMap.from_ends(edges, rng.random(pieces), rng.random(pieces))
    p = predictions(found.edges)
    np.testing.assert_array_equal(run(as_onnx(found), p), found(p), strict=True)


def test_what_is_no_probability_is_nan():
    model = rainproof.Recalibrator("isotonic", rng=0).fit(*draw(1000)).to_onnx()
    assert np.isnan(run(model, [np.nan, -1e-300, np.nextafter(1, 2), np.inf, -np.inf])).all()
    assert run(model, []).shape == (0,)


def test_segments_are_refused():
    p, y = draw(400)
    r = rainproof.Recalibrator(rng=0).fit(p, y, by=np.arange(400) % 2)
    with pytest.raises(rainproof.InputError, match="to_onnx needs a map without segments"):
        r.to_onnx()
    with pytest.raises(rainproof.InputError, match="no map yet"):
        rainproof.Recalibrator().to_onnx()


def test_without_the_package(monkeypatch):
    monkeypatch.setitem(sys.modules, "onnx", None)
    with pytest.raises(rainproof.MissingExtraError, match=r"to_onnx needs onnx: pip install onnx"):
        rainproof.Recalibrator("none", rng=0).fit(*draw(100)).to_onnx()
