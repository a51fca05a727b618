"""Logs of lm-evaluation-harness: the confidence in the chosen answer, and whether it was right."""

from __future__ import annotations

import json
import math

import numpy as np
import pytest

import rainproof
from rainproof.io import read_answers


def answer(*logs, acc=1.0, **more):
    return {"doc_id": 7, "target": "0", "filtered_resps": [[log, "False"] for log in logs], "acc": acc, **more}


def write(path, *records):
    path.write_text("".join(f"{json.dumps(record)}\n" for record in records))
    return path


def test_confidence_is_the_share_of_the_chosen_answer(tmp_path):
    log = write(
        tmp_path / "samples_a.jsonl", answer(math.log(0.2), math.log(0.5), acc=0.0), answer("-3.5", "-2.25", "-9")
    )
    sample = read_answers(log)
    exact = np.exp([-3.5, -2.25, -9])
    assert sample.y_prob == pytest.approx([0.5 / 0.7, exact.max() / exact.sum()], rel=1e-15)
    assert sample.y_true.tolist() == [0, 1]


def test_improbable_texts_keep_their_ratio(tmp_path):
    """The probability of a long text is below the smallest double."""
    log = write(tmp_path / "a.jsonl", answer(-2000.0, -2000.0 + math.log(3)), answer(-math.inf, -5.0, acc=0.0))
    assert read_answers(str(log)).y_prob == pytest.approx([0.75, 1.0], rel=1e-12)


def test_separators_within_a_text_end_no_line(tmp_path):
    """The harness writes texts as they are, and other characters than a newline separate lines of text."""
    record = json.dumps(answer(-1.0, -2.0, doc={"question": "one\u2028two\x85three\x0c"}), ensure_ascii=False)
    (tmp_path / "a.jsonl").write_text(f"{record}\n{record}\n", encoding="utf-8")
    assert read_answers(tmp_path / "a.jsonl").n == 2


def test_several_files_are_one_sample(tmp_path):
    logs = [write(tmp_path / name, answer(-1.0, -2.0, acc=acc)) for name, acc in (("b.jsonl", 0.0), ("a.jsonl", 1.0))]
    assert read_answers(logs).y_true.tolist() == [0, 1]


@pytest.mark.parametrize(
    "record",
    [
        {"filtered_resps": ["the answer is 42"], "acc": 1.0},
        {"filtered_resps": [["-1.0", "True"], ["-2.0", "False"]]},
        {"resps": [[["-1.0", "True"]]], "acc": 1.0},
        answer(-1.0),
        answer(),
        answer(-math.inf, -math.inf),
        answer(-1.0, -2.0, acc_mutual_info=1.0),
        answer(-1.0, -2.0, acc=None),
        ["a list"],
    ],
    ids=[
        "text",
        "no acc",
        "other names",
        "one choice",
        "no choice",
        "impossible",
        "mutual information",
        "null",
        "no object",
    ],
)
def test_a_line_that_is_no_answer_is_named(tmp_path, record):
    log = write(tmp_path / "a.jsonl", answer(-1.0, -2.0), record)
    with pytest.raises(rainproof.InputError, match=r"line 2 of .*a\.jsonl is no answer to a multiple-choice question"):
        read_answers(log)


def test_a_line_that_is_no_json_is_named(tmp_path):
    (tmp_path / "a.jsonl").write_text("{")
    with pytest.raises(rainproof.InputError, match="line 1 of"):
        read_answers(tmp_path / "a.jsonl")


def test_a_share_that_is_right_in_part_is_refused(tmp_path):
    with pytest.raises(rainproof.InputError, match=r"y_true must be 0 or 1"):
        read_answers(write(tmp_path / "a.jsonl", answer(-1.0, -2.0, acc=0.5)))
