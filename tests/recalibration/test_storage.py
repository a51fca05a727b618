"""A recalibrator is written whole and read back the same; a file that was changed in any way is refused."""

from __future__ import annotations

import datetime
import json
import pickle
import re
from decimal import Decimal

import numpy as np
import pytest

import rainproof
from rainproof.core.files import digest_of, load_kind
from rainproof.errors import FewRowsWarning, InputError
from rainproof.recalibration.methods import METHODS


def draw(n, seed=0, power=1.5):
    rng = np.random.default_rng(seed)
    p = rng.beta(0.8, 1.6, n)
    return p, (rng.random(n) < p**power).astype(int)


def by_region(labels, n=12_000):
    """Fitted with segments, the last of which has a map of its own."""
    p, y = draw(n)
    at = np.arange(n) % len(labels)
    y = np.where(at == len(labels) - 1, 1 - y, y)
    column = np.empty(n, object)
    column[:] = [labels[i] for i in at]
    return rainproof.Recalibrator("logistic", rng=0).fit(p, y, by={"region": column})


@pytest.fixture(scope="module")
def segmented():
    return by_region(["n\u00f6rd \x1f", None, 3, 2.5, True])


@pytest.mark.filterwarnings("ignore::rainproof.ExtrapolationWarning")
@pytest.mark.parametrize(("methods", "n"), [*((name, 3000) for name in METHODS), ("auto", 3000), ("auto", 300)])
def test_what_is_saved_is_loaded(tmp_path, methods, n):
    r = rainproof.Recalibrator(methods, rng=1).fit(*draw(n))
    r.save(tmp_path / "map.json")
    for again in (rainproof.load(str(tmp_path / "map.json")), pickle.loads(pickle.dumps(r))):
        p = np.concatenate(
            [r.map_.edges, np.nextafter(r.map_.edges[1:], 0), [1e-300], np.random.default_rng(0).random(999)]
        )
        np.testing.assert_array_equal(again.predict(p), r.predict(p), strict=True)
        assert again.method_ == ("mean" if methods == "auto" else methods)
        assert again.candidates_ == r.candidates_
        assert again.certificate_ == r.certificate_
        assert str(again) == str(r)
        assert again.segments_ == ()
        assert again.to_dict() == r.to_dict()
    assert [path.name for path in tmp_path.iterdir()] == ["map.json"]


def test_a_map_of_an_earlier_version_has_no_fitted_range():
    data = rainproof.Recalibrator("logistic", rng=0).fit(*draw(300)).to_dict()
    del data["map"]["fitted_range"], data["digest"]
    again = rainproof.Recalibrator.from_dict({**data, "digest": digest_of(data)})
    assert again.map_.fitted_range is None
    assert again.predict([0.0, 1.0]).shape == (2,)  # without a warning, as nothing is known


def test_segments_are_kept(tmp_path, segmented):
    assert segmented.segments_[-1].corrected
    segmented.save(tmp_path / "map.json")
    p, by = np.tile([0.1, 0.5], 5), {"region": np.array(["n\u00f6rd \x1f", None, 3, 2.5, True] * 2, object)}
    for again in (rainproof.load(tmp_path / "map.json"), pickle.loads(pickle.dumps(segmented))):
        assert again.segments_ == segmented.segments_
        np.testing.assert_array_equal(again.predict(p, by=by), segmented.predict(p, by=by), strict=True)


def test_several_columns_and_methods(tmp_path):
    p, y = draw(2000)
    by = {"a": np.arange(2000) % 2, "b": np.tile(["x", "y"], 1000)}
    r = rainproof.Recalibrator(["none", "isotonic"], confidence_level=0.9, rng=0).fit(p, y, by=by)
    r.save(tmp_path / "map.json")
    again = rainproof.load(tmp_path / "map.json")
    assert again.segments_ == r.segments_
    assert [s.segment for s in again.segments_] == [(0, "x"), (1, "y")]
    assert (again.methods, again.confidence_level) == (["none", "isotonic"], 0.9)


def test_where_nothing_was_fitted(tmp_path):
    with pytest.warns(FewRowsWarning):
        r = rainproof.Recalibrator().fit([0.1, 0.9], [0, 1], groups=[1, 2])
    r.save(tmp_path / "map.json")
    assert rainproof.load(tmp_path / "map.json").certificate_ == r.certificate_
    with pytest.raises(InputError, match=r"no map yet: call fit\(p, y\) first"):
        rainproof.Recalibrator().save(tmp_path / "no.json")


@pytest.mark.parametrize("label", [datetime.date(2026, 1, 1), datetime.datetime(2026, 1, 1, 8), Decimal("2.50")])
def test_labels_are_stored_as_what_they_say(tmp_path, label):
    r = by_region([label], 200)
    r.save(tmp_path / "map.json")
    loaded = rainproof.load(tmp_path / "map.json")
    assert loaded.predict([0.3], by={"region": [label]}) == r.predict([0.3], by={"region": [label]})
    with pytest.raises(InputError, match="segments that the map has not seen"):
        loaded.predict([0.3], by={"region": ["another"]})


@pytest.mark.parametrize("label", [float("inf"), b"x"])
def test_labels_that_json_has_not(tmp_path, label):
    r = by_region([label], 200)
    with pytest.raises(
        InputError, match=f"text, finite numbers, bools or None to be stored; one is {re.escape(repr(label))}"
    ):
        r.save(tmp_path / "map.json")
    assert list(tmp_path.iterdir()) == []


def test_a_flipped_bit_is_noticed_wherever_it_is(tmp_path):
    """Also those that leave the content alone: 'e' and 'E' in a number or in an escaped character."""
    path = tmp_path / "map.json"
    p, y = draw(400)
    by = np.where(np.arange(400) % 2, "\x1f", "\u00e9")
    rainproof.Recalibrator(["temperature", "bins_8"], rng=0).fit(p * 1e-4, y * 0 + (p > 0.9), by=by).save(path)
    whole = path.read_bytes()
    assert b"e-0" in whole
    assert rb"\u00e9" in whole
    for place in range(len(whole)):
        for bit in range(8) if whole[place] in b"eE" else [place % 8]:
            changed = bytearray(whole)
            changed[place] ^= 1 << bit
            path.write_bytes(changed)
            with pytest.raises(InputError, match=r"holds no recalibrator|is not JSON|holds nothing that"):
                rainproof.load(path)
    for cut in range(0, len(whole), 97):
        path.write_bytes(whole[:cut])
        with pytest.raises(InputError):
            rainproof.load(path)
    path.write_bytes(whole.replace(b"\n", b"\r\n"))
    rainproof.load(path)


def test_other_files_are_refused(tmp_path):
    with pytest.raises(InputError, match=r"cannot read .*no\.json: No such file"):
        rainproof.load(tmp_path / "no.json")
    rainproof.RoundingPolicy(rainproof.DecisionTask.threshold(0.3), 8).save(tmp_path / "policy.json")
    with pytest.raises(InputError, match=r"policy\.json holds no recalibrator: it holds a RoundingPolicy"):
        load_kind(tmp_path / "policy.json", "recalibrator")


def changes():
    """What a wrong document may hold, and what is said of it."""
    segment = {"segment": [1], "corrected": True, "gain_at_least": 0.1, "harm_bound": 0.1, "n": 5, "map": None}
    return {
        "version": ({"version": 2}, "must have version 1"),
        "key": ({"sead": 1}, "must have only"),
        "by": ({"by": [1]}, "'by' must be a list of text"),
        "segments": ({"segments": [1]}, "'segments' must be a list of objects"),
        "method": ({"method": ["none"]}, "methods must be among logistic, beta.*is not"),
        "methods": ({"methods": ["platt"]}, "'platt' is not"),
        "candidates": ({"candidates": [{"method": "none"}]}, "a Candidate must have 'method', 'weight'"),
        "no map": ({"by": ["g"], "segments": [{"segment": [1]}]}, "a segment must have 'map'"),
        "labels": ({"by": ["g", "h"], "segments": [segment]}, "one label for each name in 'by'"),
        "no by": ({"segments": [segment | {"segment": []}]}, "one label for each name in 'by'"),
        "a list": ({"by": ["g"], "segments": [segment | {"segment": [[1]]}]}, "one label for each name"),
        "corrected": ({"by": ["g"], "segments": [segment]}, "a map if it is corrected"),
        "type": (
            {"by": ["g"], "segments": [segment | {"n": 5.0}]},
            "'n' of a SegmentMap must be of type int",
        ),
        "certificate": ({"certificate": {}}, "a Certificate must have"),
        "level": ({"confidence_level": 95}, "confidence_level must be a number between 0 and 1"),
        "n": ({"n": 3.0}, "'n' must be a whole number; it is 3.0"),
        "groups": ({"groups": "3"}, "'groups' must be a whole number; it is '3'"),
        "one segment twice": (
            {"by": ["g"], "segments": [segment | {"corrected": False, "segment": [label]} for label in (1, "1")]},
            "by must spell each segment in one way; 1 and '1' mean the same",
        ),
    }


@pytest.mark.parametrize(("change", "message"), changes().values(), ids=changes())
def test_wrong_content_with_a_right_digest(change, message):
    data = rainproof.Recalibrator("none", rng=0).fit(*draw(200)).to_dict() | change
    data["digest"] = digest_of({key: value for key, value in data.items() if key != "digest"})
    with pytest.raises(InputError, match=message):
        rainproof.Recalibrator.from_dict(json.loads(json.dumps(data)))


def test_values_that_json_has_not():
    data = rainproof.Recalibrator("none", rng=0).fit(*draw(200)).to_dict()
    for value in (float("nan"), {1}):
        with pytest.raises(InputError, match="it is not in types of JSON"):
            rainproof.Recalibrator.from_dict(data | {"by": value})
    with pytest.raises(InputError, match="its digest does not fit"):
        rainproof.Recalibrator.from_dict(data | {"method": "isotonic"})
