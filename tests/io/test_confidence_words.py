"""Words for probabilities in a column of predictions, beside numbers and percentages."""

from __future__ import annotations

import json
import math

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from helpers.cases import for_each
from helpers.file_writing import write_csv
from helpers.samples import assert_same

import rainproof
from rainproof.cli import main

WORDS = {"Almost certain": 0.95, "likely": 0.7, "unlikely": 0.2}
SAID = ["almost certain ", "LIKELY", "unlikely", "0.5", "likely"]
MEANT = [0.95, 0.7, 0.2, 0.5, 0.7]


def test_confidence_in_words(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    y = [1, 1, 0, 0, 1]
    expected = rainproof.Sample(y, MEANT).compress()
    pq.write_table(pa.table({"p": SAID, "y": y}), "a.parquet")
    (tmp_path / "a.jsonl").write_text(
        "".join(json.dumps({"p": p, "y": x}) + "\n" for p, x in zip(SAID, y, strict=True))
    )
    for source in (
        write_csv(tmp_path / "a.csv", p=SAID, y=y),
        "a.parquet",
        "a.jsonl",
        {"p": SAID, "y": y},
    ):
        assert_same(rainproof.scan(source, confidence_words=WORDS), expected)
    with pytest.raises(
        rainproof.InputError,
        match=r"^p must hold numbers or words of the table; 1 .* p\[2\] = 'unlikely'$",
    ):
        rainproof.scan(
            {"p": SAID, "y": y}, confidence_words={"likely": 0.7, "almost certain": 0.95}
        )
    (tmp_path / "words.json").write_text(json.dumps(WORDS))
    options = ["--prob", "p", "--outcome", "y", "--confidence-words"]
    assert main(["measure", "a.jsonl", *options, "words.json", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["measures"]["brier_score"] == pytest.approx(
        rainproof.measures.brier_score(expected)
    )
    (tmp_path / "twice.json").write_text('{"likely": 0.8, "Likely ": 0.7}')
    assert main(["measure", "a.jsonl", *options, "twice.json"]) == 2
    assert capsys.readouterr().err.startswith(
        "rainproof: error: --confidence-words must have each word once"
    )
    for text in ("[1]", "{}", '{"a": "b"}'):
        (tmp_path / "bad.json").write_text(text)
        assert main(["measure", "a.jsonl", *options, "bad.json"]) == 2
        assert (
            "bad.json holds no table of words: it must be one object of words and numbers"
            in capsys.readouterr().err
        )


def test_words_stand_for_probabilities_beside_percentages(tmp_path, monkeypatch, capsys):
    rows = {"p": ["likely", "80", "unlikely", "7%"], "y": [1, 1, 0, 0]}
    words = {"likely": 0.8, "unlikely": np.float64(0.2)}
    expected = rainproof.Sample(rows["y"], [0.8, 0.8, 0.2, 0.07])
    assert_same(rainproof.scan(rows, confidence_words=words, percent=True), expected.compress())
    monkeypatch.chdir(tmp_path)
    write_csv(tmp_path / "a.csv", **rows)
    (tmp_path / "words.json").write_text(json.dumps(words))
    options = [
        "--prob",
        "p",
        "--outcome",
        "y",
        "--percent",
        "--confidence-words",
        "words.json",
        "--json",
    ]
    assert main(["measure", "a.csv", *options]) == 0
    told = json.loads(capsys.readouterr().out)["measures"]
    assert told["brier_score"] == pytest.approx(rainproof.measures.brier_score(expected), rel=1e-12)


KEYS = "must have words for keys, no numbers and no blanks"
VALUES = r"must map words to probabilities, numbers in \[0, 1\]"


@for_each(
    "words, problem",
    [
        (
            {"likely": 0.8, "Likely ": 0.7},
            "must have each word once, whatever its capitals and the spaces around it; "
            r"1 value does not, the first is confidence_words\['Likely '\] = 0.7",
        ),
        (
            {"likely": 0.8, "0.5": 0.9},
            rf"{KEYS}; 1 value does not, the first is confidence_words\['0.5'\] = 0.9",
        ),
        (
            {"50%": 0.9, " .5 % ": 0.9},
            rf"{KEYS}; 2 values do not, the first is confidence_words\['50%'\] = 0.9",
        ),
        ({"0,5": 0.9}, KEYS),
        ({"1e-3": 0.9}, KEYS),
        ({1: 0.8}, rf"{KEYS}; 1 value does not, the first is confidence_words\[1\] = 0.8"),
        ({" ": 0.8}, KEYS),
        (
            {"likely": True},
            rf"{VALUES}; 1 value does not, the first is confidence_words\['likely'\] = True",
        ),
        (
            {"likely": "80%"},
            rf"{VALUES}; 1 value does not, the first is confidence_words\['likely'\] = '80%'",
        ),
        ({"likely": None}, VALUES),
        ({"likely": 80}, VALUES),
        ({"likely": 10**400}, VALUES),
        ({"likely": math.nan}, VALUES),
        (["likely"], rf"{VALUES}; it is of type list"),
        ([], rf"{VALUES}; it is of type list"),
    ],
)
def test_a_table_of_words_means_one_thing(words, problem):
    for percent in (False, True):
        with pytest.raises(rainproof.InputError, match=f"^confidence_words {problem}"):
            rainproof.scan({"p": ["likely"], "y": [1]}, confidence_words=words, percent=percent)
