"""A recalibrator is written whole and read back the same; a file that was changed in any way is
refused.
"""

from __future__ import annotations

import datetime
import json
import pickle
import re
from decimal import Decimal

import numpy as np
import pytest
from helpers.cases import for_each

import rainproof
from rainproof.core.documents import as_text, digest_of, load_kind
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
@for_each("methods, n", [*((name, 3000) for name in METHODS), ("auto", 3000), ("auto", 300)])
def test_what_is_saved_is_loaded(tmp_path, methods, n):
    r = rainproof.Recalibrator(methods, rng=1).fit(*draw(n))
    r.save(tmp_path / "map.json")
    for again in (rainproof.load(str(tmp_path / "map.json")), pickle.loads(pickle.dumps(r))):
        p = np.concatenate(
            [
                r.map_.edges,
                np.nextafter(r.map_.edges[1:], 0),
                [1e-300],
                np.random.default_rng(0).random(999),
            ]
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
    p, by = (
        np.tile([0.1, 0.5], 5),
        {"region": np.array(["n\u00f6rd \x1f", None, 3, 2.5, True] * 2, object)},
    )
    for again in (rainproof.load(tmp_path / "map.json"), pickle.loads(pickle.dumps(segmented))):
        assert again.segments_ == segmented.segments_
        np.testing.assert_array_equal(
            again.predict(p, by=by), segmented.predict(p, by=by), strict=True
        )


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


@for_each("label", [datetime.date(2026, 1, 1), datetime.datetime(2026, 1, 1, 8), Decimal("2.50")])
def test_labels_are_stored_as_what_they_say(tmp_path, label):
    r = by_region([label], 200)
    r.save(tmp_path / "map.json")
    loaded = rainproof.load(tmp_path / "map.json")
    assert loaded.predict([0.3], by={"region": [label]}) == r.predict([0.3], by={"region": [label]})
    with pytest.raises(InputError, match="segments that the map has not seen"):
        loaded.predict([0.3], by={"region": ["another"]})


@for_each("label", [float("inf"), b"x"])
def test_labels_that_json_has_not(tmp_path, label):
    r = by_region([label], 200)
    with pytest.raises(
        InputError,
        match=f"text, finite numbers, bools or None to be stored; one is {re.escape(repr(label))}",
    ):
        r.save(tmp_path / "map.json")
    assert list(tmp_path.iterdir()) == []


def test_a_flipped_bit_is_noticed_wherever_it_is(tmp_path):
    """Also those that leave the content alone: 'e' and 'E' in a number or in an escaped
    character.
    """
    path = tmp_path / "map.json"
    p, y = draw(400)
    by = np.where(np.arange(400) % 2, "\x1f", "\u00e9")
    rainproof.Recalibrator(["temperature", "bins_8"], rng=0).fit(
        p * 1e-4, y * 0 + (p > 0.9), by=by
    ).save(path)
    whole = path.read_bytes()
    assert b"e-0" in whole
    assert rb"\u00e9" in whole
    for place in range(len(whole)):
        for bit in range(8) if whole[place] in b"eE" else [place % 8]:
            changed = bytearray(whole)
            changed[place] ^= 1 << bit
            path.write_bytes(changed)
            with pytest.raises(
                InputError, match=r"holds no recalibrator|is not JSON|holds nothing that"
            ):
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
    rainproof.RoundingPolicy(rainproof.DecisionTask.threshold(0.3), 8).save(
        tmp_path / "policy.json"
    )
    with pytest.raises(
        InputError, match=r"policy\.json holds no recalibrator: it holds a RoundingPolicy"
    ):
        load_kind(tmp_path / "policy.json", "recalibrator")


def changes():
    """What a wrong document may hold, and what is said of it."""
    candidate = {"method": "none", "weight": 1.0, "log_loss": 0.5, "brier_score": 0.2}
    level = {"edges": [0.0, 1.0], "start": [0.5], "slope": [0.0], "fitted_range": None}
    falling = level | {"start": [1.0], "slope": [-0.5]}
    turning = {
        "edges": [0.0, 0.5, 1.0],
        "start": [0.0, 0.5],
        "slope": [1.0, -0.5],
        "fitted_range": None,
    }
    segment = {
        "segment": [1],
        "corrected": True,
        "gain_at_least": 0.1,
        "harm_bound": 0.1,
        "n": 5,
        "map": None,
    }
    return {
        "version": ({"version": 2}, "must have version 1"),
        "key": ({"sead": 1}, "must have only"),
        "by": ({"by": [1]}, "'by' must be a list of text"),
        "segments": ({"segments": [1]}, "'segments' must be a list of objects"),
        "method": ({"method": ["none"]}, "'method' must be among logistic, beta.*is not"),
        "an unknown method": (
            {"method": "platt"},
            "'method' must be among logistic, beta.*; 'platt' is not",
        ),
        "a method of classes": (
            {"method": "matrix"},
            "'method' must be among logistic, beta.*; 'matrix' is not",
        ),
        "an unknown candidate": (
            {"candidates": [candidate | {"method": "platt"}]},
            "'method' of a Candidate must be",
        ),
        "a weight": (
            {"candidates": [candidate | {"weight": 1.5}]},
            "'weight' of a Candidate must be from 0 to 1",
        ),
        "weights": (
            {"candidates": [candidate | {"weight": 0.5}]},
            "must sum to 1; they sum to 0.5",
        ),
        "a loss": (
            {"candidates": [candidate | {"log_loss": -1.0}]},
            "'log_loss' of a Candidate must be 0 or more",
        ),
        "a score": (
            {"candidates": [candidate | {"brier_score": 3.0}]},
            "'brier_score' of a Candidate must be from 0",
        ),
        "a level map": (
            {"map": level},
            "'map' must be p itself everywhere, as the method is 'none'",
        ),
        "a falling map": (
            {"map": falling, "method": "isotonic"},
            "'map' must rise everywhere, as the method is 'iso",
        ),
        "a map that turns": (
            {"map": turning, "method": "beta"},
            "'map' must rise or fall everywhere",
        ),
        "a constant that rises": ({"method": "constant"}, "'map' must be level everywhere"),
        "no rows": ({"n": 0}, "'n' must be 1 or more; it is 0"),
        "fewer rows than none": ({"n": -1}, "'n' must be 1 or more; it is -1"),
        "no groups": ({"groups": 0}, "'groups' must be 1 or more; it is 0"),
        "a segment of -1 rows": (
            {"by": ["g"], "segments": [segment | {"corrected": False, "n": -1}]},
            "'n' of a SegmentMap must be 0 or more; it is -1",
        ),
        "a segment that loses more than all": (
            {"by": ["g"], "segments": [segment | {"corrected": False, "harm_bound": 1.5}]},
            "'harm_bound' of a SegmentMap must be from 0 to 1; it is 1.5",
        ),
        "methods": ({"methods": ["platt"]}, "'platt' is not"),
        "candidates": (
            {"candidates": [{"method": "none"}]},
            "a Candidate must have 'method', 'weight'",
        ),
        "no map": ({"by": ["g"], "segments": [{"segment": [1]}]}, "a segment must have 'map'"),
        "labels": ({"by": ["g", "h"], "segments": [segment]}, "one label for each name in 'by'"),
        "no by": ({"segments": [segment | {"segment": []}]}, "one label for each name in 'by'"),
        "a list": (
            {"by": ["g"], "segments": [segment | {"segment": [[1]]}]},
            "one label for each name",
        ),
        "corrected": ({"by": ["g"], "segments": [segment]}, "a map if it is corrected"),
        "type": (
            {"by": ["g"], "segments": [segment | {"n": 5.0}]},
            "'n' of a SegmentMap must be of type int",
        ),
        "certificate": ({"certificate": {}}, "a Certificate must have"),
        "level": ({"confidence_level": 95}, "confidence_level must be a number between 0 and 1"),
        "n": ({"n": 3.0}, "'n' must be a whole number; it is 3.0"),
        "groups": ({"groups": "3"}, "'groups' must be a whole number; it is '3'"),
        "many rows": ({"n": 10**400}, "'n' must be 9,007,199,254,740,992 or less"),
        "more groups than rows": ({"groups": 201}, "'groups' must be 200 or less"),
        "no methods": ({"methods": []}, "'methods' must name at least one method"),
        "more rows held out than rows": (
            {
                "by": ["g"],
                "segments": [
                    segment | {"corrected": False, "segment": [label], "n": 101} for label in "ab"
                ],
            },
            "'n' must be the number of all rows; it is 200, and 202 are held out",
        ),
        "Brier score": (
            {"candidates": [candidate | {"brier_score": 1.5}]},
            "'brier_score' of a Candidate must be from 0 to 1; it is 1.5",
        ),
        "one segment twice": (
            {
                "by": ["g"],
                "segments": [
                    segment | {"corrected": False, "segment": [label]} for label in (1, "1")
                ],
            },
            "by must spell each segment in one way; 1 and '1' mean the same",
        ),
    }


@for_each("change, message", changes().values())
def test_wrong_content_with_a_right_digest(change, message):
    data = rainproof.Recalibrator("none", rng=0).fit(*draw(200)).to_dict() | change
    data["digest"] = digest_of({key: value for key, value in data.items() if key != "digest"})
    with pytest.raises(InputError, match=message):
        rainproof.Recalibrator.from_dict(json.loads(json.dumps(data)))


CERTIFICATE = {
    "harm_bound": (-0.1, "'harm_bound' of a Certificate must be from 0 to 1; it is -0.1"),
    "gain_at_least": (1.1, "'gain_at_least' of a Certificate must be from 0 to 1"),
    "gain_estimate": (-1.5, "'gain_estimate' of a Certificate must be from -1 to 1"),
    "n": (-1, "'n' of a Certificate must be 0 or more"),
    "groups": (0, "'groups' of a Certificate must be 1 or more"),
    "grid": (0, "'grid' of a Certificate must be 1 or more"),
    "confidence_level": (
        1.5,
        "'confidence_level' of a Certificate must be a number between 0 and 1",
    ),
    "base_rate": (1.5, "base_rate must"),
    "max_weight": (-2.0, "'max_weight' of a Certificate must be 0 or more"),
}


@pytest.fixture(scope="module")
def certified():
    return rainproof.Recalibrator("logistic", rng=0).fit(*draw(2000)).to_dict()


@for_each("field", CERTIFICATE)
def test_impossible_numbers_of_a_certificate_name_file_and_field(tmp_path, certified, field):
    value, message = CERTIFICATE[field]
    data = {**certified, "certificate": certified["certificate"] | {field: value}}
    data["digest"] = digest_of({key: value for key, value in data.items() if key != "digest"})
    (tmp_path / "map.json").write_text(as_text(data))
    with pytest.raises(InputError, match=f"map\\.json holds no recalibrator: {message}"):
        rainproof.load(tmp_path / "map.json")


PARTS = {
    "an unknown method": ("temperature", {"method": "platt"}, "of a method that is known"),
    "a weight": (
        "temperature",
        {"weight": 2.0},
        "'weight' of a part of a map must be a number from 0 to 1; it is 2.0",
    ),
    "weights": ("temperature", {"weight": 0.5}, "must sum to 1; they sum to 0.5"),
    "text": ("vector", {"slope": ["1", "1", "1"]}, "'slope' must hold numbers; it holds strings"),
    "a short slope": ("vector", {"slope": [1.0, 1.0]}, "a part of a map must be about 3 classes"),
    "no slope": ("vector", {"slope": None}, "a part of a map must be about 3 classes"),
    "rates": ("constant", {"intercept": [0.5, 0.7, -0.2]}, "must be probabilities that sum to 1"),
    "no maps": ("isotonic", {"maps": []}, "a part of a map must be about 3 classes"),
    "a falling map": (
        "isotonic",
        {
            "maps": [{"edges": [0.0, 1.0], "start": [1.0], "slope": [-0.5], "fitted_range": None}]
            * 3
        },
        "'map' must rise everywhere, as the method is 'isotonic'",
    ),
}


@for_each("method, change, message", PARTS.values())
def test_impossible_maps_of_classes_are_refused(method, change, message):
    rng = np.random.default_rng(0)
    data = (
        rainproof.Recalibrator(method)
        .fit(rng.dirichlet([1, 1, 1], 300), rng.integers(0, 3, 300))
        .to_dict()
    )
    data["map"]["parts"][0] |= change
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
