"""Rows of trials are so many rows; shares of events."""

from __future__ import annotations

import json
import sqlite3

import numpy as np
import pyarrow as pa
import pytest
from helpers.cases import for_each
from helpers.file_writing import write_csv
from helpers.samples import assert_same

import rainproof
from rainproof.cli import main
from rainproof.io import compressing, text_files
from rainproof.io.kept_rows import keep_rows

rng = np.random.default_rng(19)
N = 60
P = rng.random(N).round(3)
TRIALS = rng.integers(0, 9, N)
TRIALS[:3] = 0, 1, 100
EVENTS = rng.binomial(TRIALS, P)
Q = rng.random(N).round(2)
W = rng.random(N).round(2) + 0.1
TOWN = np.array([f"t{i % 4}" for i in range(N)])
ROW = np.repeat(np.arange(N), TRIALS)
Y = np.concatenate([np.repeat([1, 0], [k, n - k]) for k, n in zip(EVENTS, TRIALS, strict=True)])
ROWS = {"p": P, "k": EVENTS, "n": TRIALS, "q": Q, "w": W, "town": TOWN}
OPTIONS = {"prob": "p", "outcome": "k", "trials": "n"}


@for_each("piece", [1 << 20, 7])
def test_trials_are_rows(tmp_path, monkeypatch, piece):
    monkeypatch.setattr(compressing, "TRIALS_PER_PIECE", piece)
    monkeypatch.setattr(text_files, "BLOCK_BYTES", 256)
    file = write_csv(tmp_path / "a.csv", **ROWS)
    expected = rainproof.Sample(Y, P[ROW]).compress()
    for source in (ROWS, file):
        found = rainproof.scan(source, **OPTIONS)
        assert_same(found, expected)
        assert found.n == TRIALS.sum()
    assert_same(
        rainproof.scan(file, weight="w", **OPTIONS),
        rainproof.Sample(Y, P[ROW], sample_weight=W[ROW]).compress(),
    )
    by = rainproof.scan(file, by="town", **OPTIONS)
    for town, sample in by.items():
        here = TOWN[ROW] == town
        assert_same(sample, rainproof.Sample(Y[here], P[ROW][here]).compress())
    pair = rainproof.scan(file, **{**OPTIONS, "prob": ["q", "p"]})
    rows = {"q": Q[ROW], "p": P[ROW], "y": Y}
    assert pair.n == len(Y)
    found, plain = (
        rainproof.switch_guarantee(one, rng=0).to_dict()
        for one in (pair, rainproof.scan(rows, ["q", "p"], "y"))
    )
    assert found == plain
    kept = keep_rows(file, "p", "k", trials="n", groups="town")
    np.testing.assert_array_equal(kept.y_prob, P[ROW])
    first = dict.fromkeys(TOWN[ROW].tolist())  # numbered as they come
    np.testing.assert_array_equal(kept.units.unit, [list(first).index(name) for name in TOWN[ROW]])


def test_trials_of_a_database_and_of_no_other_engine(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with sqlite3.connect("a.db") as db:
        db.execute("CREATE TABLE t (p REAL, k INTEGER, n INTEGER)")
        db.executemany(
            "INSERT INTO t VALUES (?, ?, ?)",
            zip(P.tolist(), EVENTS.tolist(), TRIALS.tolist(), strict=True),
        )
    db.close()
    assert_same(
        rainproof.scan("sqlite:///a.db#t", **OPTIONS), rainproof.Sample(Y, P[ROW]).compress()
    )
    for options in ({"trials": "n"}, {"percent": True}, {"confidence_words": {"a": 0.5}}):
        with pytest.raises(
            rainproof.InputError,
            match=r"^view, labels, percent, confidence_words, trials and drop_missing are for rows in this",
        ):
            rainproof.scan(rainproof.io.Table("sqlite:///a.db", "t"), "p", "k", **options)


@for_each(
    "change, options, message",
    [
        (
            {"k": (17, 200)},
            {},
            r"^k must be a whole number of events, at most the number of trials in n; 1 .* k\[17\] = 200 of",
        ),
        ({"k": (17, 0.5)}, {}, r"k\[17\] = 0\.5 of "),
        ({"k": (17, -1)}, {}, r"k\[17\] = -1 of "),
        ({"n": (2, 100.5)}, {}, r"k\[2\] = .* of 100\.5$"),
        ({"n": (2, np.inf)}, {}, r"k\[2\] = .* of inf$"),
        ({"n": (2, np.nan)}, {}, r"k\[2\] = .* of nan$"),
        (
            {"p": (40, 1.2)},
            {},
            r"^p must lie in \[0, 1\]; 1 value does not, the first is p\[40\] = 1\.2",
        ),
        (
            {"w": (41, -1)},
            {"weight": "w"},
            r"^w must be finite and not negative; 1 .* w\[41\] = -1",
        ),
        ({}, {"pos_label": 1}, r"^trials cannot be combined with pos_label"),
        ({}, {"trials": "m"}, r"has no column 'm'"),
        ({}, {"prob": ["p", "q", "w"]}, r"^trials are for one event, not for several classes$"),
    ],
)
def test_trials_that_are_wrong(monkeypatch, change, options, message):
    rows = {
        name: values.astype(float) if name != "town" else values for name, values in ROWS.items()
    }
    for name, (at, value) in change.items():
        rows[name][at] = value
    for batch in (1 << 20, 5):
        monkeypatch.setattr("rainproof.io.containers.ROWS_PER_BATCH", batch)
        with pytest.raises(rainproof.InputError, match=message):
            rainproof.scan(rows, **{**OPTIONS, **options})


def test_wrong_trials_are_counted_over_all_batches(monkeypatch):
    monkeypatch.setattr("rainproof.io.containers.ROWS_PER_BATCH", 5)
    with pytest.raises(
        rainproof.InputError, match=r"; 60 values do not, the first is k\[0\] = 101 of "
    ):
        rainproof.scan({**ROWS, "k": TRIALS + 101}, **OPTIONS)
    holes = pa.table(
        {"p": P, "k": EVENTS, "n": pa.array([None if i % 2 else 200 for i in range(N)])}
    )
    with pytest.raises(
        rainproof.InputError,
        match=r"^n must not contain nulls .*; 30 values do, the first is n\[1\]$",
    ):
        rainproof.scan(holes, **OPTIONS)


def test_trials_and_shares_on_the_command_line(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    write_csv(tmp_path / "counts.csv", p=P, k=EVENTS, n=TRIALS)
    write_csv(tmp_path / "rows.csv", p=P[ROW], y=Y)
    found = []
    for arguments in (
        ["counts.csv", "--outcome", "k", "--trials", "n"],
        ["rows.csv", "--outcome", "y"],
    ):
        assert (
            main(["measure", *arguments, "--prob", "p", "--json", "--drop-missing", "--quiet"]) == 0
        )
        found.append(json.loads(capsys.readouterr().out))
    assert {**found[0], "file": "", "outcome": "", "where": ""} == {
        **found[1],
        "file": "",
        "outcome": "",
        "where": "",
    }
    share = np.round(2 * rng.random(N)) / 2
    write_csv(tmp_path / "chess.csv", p=P, q=Q, y=share, club=TOWN)
    compare = ["assess-many", "chess.csv", "--prob", "p", "q", "--outcome", "y", "--json"]
    assert main(compare) == 2
    assert "if these are shares (a draw is half a win), add --fractional" in capsys.readouterr().err
    for groups in ([], ["--groups", "club"]):
        assert main([*compare, "--fractional", *groups]) == 0
        told = json.loads(capsys.readouterr().out)
        sample = rainproof.Sample(
            share, {"p": P, "q": Q}, groups=TOWN if groups else None, fractional=True
        )
        with pytest.warns(rainproof.RainproofWarning):
            expected = rainproof.assess_many(sample, rng=0)
        known = json.loads(json.dumps(expected.to_dict()))
        for document in (told, known):  # whose next steps are commands in one, Python in the other
            document["verdict"] = [one.pop("verdict")["grade"] for one in document["assessments"]]
        assert told == known
    write_csv(tmp_path / "bad.csv", p=P, y=[-0.5, *share[1:-1], 2])
    monkeypatch.setattr(text_files, "BLOCK_BYTES", 64)
    assert main(["assess", "bad.csv", "--prob", "p", "--outcome", "y", "--fractional"]) == 2
    error = (
        "y must be a share of the event, in [0, 1]; 2 values do not, the first is y[0] = -0.5 "
        "(line 2)"
    )
    assert capsys.readouterr().err == f"rainproof: error: {error}\n"
    assert (
        main(
            [
                "assess",
                "bad.csv",
                "--prob",
                "p",
                "--outcome",
                "y",
                "--fractional",
                "--pos-label",
                "1",
            ]
        )
        == 2
    )
    assert "--fractional cannot be combined with --pos-label or --trials" in capsys.readouterr().err
