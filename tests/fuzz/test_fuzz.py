"""Random input to what reads files and words: an answer or an `InputError`, never anything else.

The suite draws the same 150 cases of each kind in every run: enough for what goes wrong in one case
of thirty. What is rarer than that takes `make fuzz`, which draws as many cases as one has patience
for: ``CASES=1000000``.
"""

from __future__ import annotations

import json
import os
from contextlib import chdir, redirect_stderr, redirect_stdout, suppress
from io import StringIO

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import rainproof
from rainproof.cli import main
from rainproof.core.documents import digest_of
from rainproof.io.conditions import columns_of, parse
from rainproof.io.dialects import DIALECTS
from rainproof.io.filtering import filter_batch

CASES = int(os.environ.get("RAINPROOF_FUZZ_CASES", "150"))
SHARED = HealthCheck.function_scoped_fixture  # the folder may be the same for all cases
many = settings(
    max_examples=CASES,
    suppress_health_check=[SHARED, HealthCheck.too_slow, HealthCheck.data_too_large],
)


def answer(function, *arguments, **options):
    """What a function gives, or None where it refuses its input in one line; anything else fails
    the test.
    """
    with suppress(rainproof.InputError):
        return function(*arguments, **options)
    return None


RNG = np.random.default_rng(0)
SAMPLE = rainproof.Sample(RNG.integers(0, 2, 60), RNG.random(60), sample_weight=RNG.random(60))


@pytest.fixture(scope="module")
def stored(tmp_path_factory):
    path = tmp_path_factory.mktemp("fuzz") / "day.parquet"
    SAMPLE.save(path, grid=16)
    return path, path.read_bytes()


@many
@given(
    damage=st.lists(st.tuples(st.integers(0, 5000), st.integers(0, 255)), min_size=1, max_size=6),
    cut=st.one_of(st.none(), st.integers(0, 5000)),
)
def test_stored_samples(stored, damage, cut):
    """A damaged file is refused, or holds the same sample to the last bit."""
    path, whole = stored
    changed = bytearray(whole)
    for place, byte in damage:
        changed[place % len(whole)] ^= byte
    path.write_bytes(changed[:cut])
    found = answer(rainproof.load, path)
    if found is not None:
        expected = SAMPLE.compress(16)
        np.testing.assert_array_equal(found.y_prob, expected.y_prob)
        np.testing.assert_array_equal(found.sample_weight, expected.sample_weight)


WORDS = [
    "p",
    "y",
    "r",
    '"a b"',
    "and",
    "or",
    "not",
    "in",
    "is",
    "null",
    "nan",
    "true",
    "false",
    "(",
    ")",
    ",",
    "=",
    "!=",
]
WORDS += [
    "<",
    "<=",
    ">",
    ">=",
    "<>",
    "==",
    "1",
    "-2.5",
    "1e999",
    "'x'",
    "'it''s'",
    "9" * 30,
    "\\",
    "'",
    '"',
    ";",
    "--",
    "\0",
]
conditions = st.one_of(
    st.lists(st.sampled_from(WORDS), max_size=25).map(" ".join), st.text(max_size=40)
)


@many
@given(conditions)
def test_conditions(text):
    """What is read can be written in every dialect, and run on rows."""
    import pyarrow as pa

    condition = answer(parse, text)
    if condition is None or not columns_of(condition) <= {"p", "y", "r", "a b"}:
        return
    rows = pa.RecordBatch.from_pydict(
        {"p": [0.5, None], "y": [1, 0], "r": ["x", None], "a b": [True, None]}
    )
    for dialect in DIALECTS.values():
        assert "\0" not in (answer(dialect.condition, condition) or "")
    assert len(answer(filter_batch, condition, rows) or ()) <= 2


POLICY = rainproof.RoundingPolicy(
    rainproof.DecisionTask.from_costs(false_positive=1, false_negative=3), 8
).to_dict()
values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=8), inner, max_size=4)
    ),
    max_leaves=8,
)


def places(document, path=()):
    """Every place in a JSON document."""
    yield path
    for key, value in document.items() if isinstance(document, dict) else enumerate(document):
        if isinstance(value, dict | list):
            yield from places(value, (*path, key))
        else:
            yield (*path, key)


def changed_at(document, place, value):
    """A copy of a JSON document with another value at one place."""
    if not place:
        return value
    changed = json.loads(json.dumps(document))
    parent = changed
    for key in place[:-1]:
        parent = parent[key]
    parent[place[-1]] = value
    return changed


@many
@given(
    place=st.sampled_from(sorted(places(POLICY), key=repr)),
    value=values,
    raw=st.one_of(st.none(), st.binary(max_size=30)),
)
def test_policies(tmp_path_factory, place, value, raw):
    """A changed policy is refused, or is a policy that decides."""
    path = tmp_path_factory.getbasetemp() / "policy.json"
    path.write_bytes(raw or b"")
    assert answer(rainproof.load, path) is None
    changed = changed_at(POLICY, place, value)
    if isinstance(changed, dict) and "digest" in changed:
        with suppress(ValueError):  # NaN and infinity
            changed["digest"] = digest_of({key: changed[key] for key in changed if key != "digest"})
    policy = answer(rainproof.RoundingPolicy.from_dict, changed)
    assert policy is None or len(policy.decide([0.1, 0.9], ids=[1, 2])) == 2


RECALIBRATOR = rainproof.Recalibrator(["temperature", "bins_8"], rng=0).fit(
    RNG.random(400) ** 2,
    RNG.integers(0, 2, 400),
    by={"g": RNG.integers(0, 2, 400), "h": np.tile(["n", "s"], 200)},
)
FITTED = RECALIBRATOR.to_dict()


@many
@given(place=st.sampled_from(sorted(places(FITTED), key=repr)), value=values)
def test_recalibrators(place, value):
    """A changed recalibrator is refused; even with a new digest it is refused, or one that
    predicts.
    """
    changed = changed_at(FITTED, place, value)
    found = answer(rainproof.Recalibrator.from_dict, changed)
    assert found is None or found.to_dict() == FITTED
    if isinstance(changed, dict) and "digest" in changed:
        with suppress(ValueError):  # NaN and infinity
            changed["digest"] = digest_of({key: changed[key] for key in changed if key != "digest"})
        found = answer(rainproof.Recalibrator.from_dict, changed)
        if found is not None and found.by_ is not None:
            predicted = found.predict(
                [0.1, 0.9], by={name: [1, 0] for name in found.by_}, unseen="pooled"
            )
            assert ((predicted >= 0) & (predicted <= 1)).all()


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("commands")
    (folder / "a.csv").write_text("p,y,g,w\n0.25,0,n,1\n0.75,1,s,2\n0.5,1,n,0.5\n")
    (folder / "bad.csv").write_text("p,y\n2,0\n0.5,maybe\n")
    rainproof.RoundingPolicy.from_dict(POLICY).save(folder / "policy.json")
    RECALIBRATOR.save(folder / "map.json")
    SAMPLE.save(folder / "day.parquet", grid=16)
    return folder


FILES = ["a.csv", "bad.csv", "gone.csv", "day.parquet", "policy.json", "map.json", ".", "*.csv", ""]
OPTIONS = [
    "--prob",
    "--outcome",
    "--weight",
    "--by",
    "--where",
    "--pos-label",
    "--json",
    "--quiet",
    "-o",
    "--cost-fp",
]
OPTIONS += [
    "--cost-fn",
    "--threshold",
    "--actions",
    "--seed",
    "--policy",
    "--id",
    "--window",
    "--fail-above",
    "--map",
    "--x",
]
TEXTS = [
    "p",
    "y",
    "g",
    "w",
    "1",
    "0",
    "-1",
    "0.5",
    "nan",
    "1e400",
    "n",
    "p > 0.3",
    "(((",
    "out.csv",
    "out.json",
    "\ud800",
]
words = st.sampled_from([*FILES, *OPTIONS, *TEXTS]) | st.text(max_size=6)
COMMANDS = ["recalibrate", "apply", "policy", "decide", "store", "monitor"]
GIVEN = {
    "measure": ["a.csv", "--prob", "p", "--outcome", "y"],
    "recalibrate": ["a.csv", "--prob", "p", "--outcome", "y", "-o", "out.json"],
    "apply": ["a.csv", "--map", "map.json", "--prob", "p", "--by", "g", "w", "-o", "out.csv"],
    "policy": ["a.csv", "--prob", "p", "--outcome", "y", "--threshold", "0.3", "-o", "out.json"],
    "decide": ["a.csv", "--policy", "policy.json", "--prob", "p", "--id", "g", "-o", "out.csv"],
    "store": ["a.csv", "--prob", "p", "--outcome", "y", "-o", "out.parquet"],
    "monitor": ["."],
}


@settings(many, max_examples=max(1, CASES // 5))
@given(command=st.sampled_from(COMMANDS), more=st.lists(words, max_size=6), start=st.booleans())
def test_the_command_line(folder, command, more, start):
    """Exit code 0 to 2, and with 2 one line that says why."""
    out, err = StringIO(), StringIO()
    with chdir(folder), redirect_stdout(out), redirect_stderr(err):
        status = main([command, *(GIVEN[command] if start else []), *more])
    assert status in (0, 1, 2)
    lines = err.getvalue().splitlines()
    if status == 2:
        assert len(lines) == 1
        assert lines[0].startswith("rainproof: error: ")
    assert not list(folder.glob(".rainproof-*"))
