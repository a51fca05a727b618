"""Logs of lm-evaluation-harness: the confidence in the chosen answer, and whether it was right."""

from __future__ import annotations

import gzip
import itertools
import json
import math
import re
from pathlib import Path

import numpy as np
import pytest
from helpers.cases import for_each

import rainproof
from rainproof.io import read_answers

NUMBERS = itertools.count()


def answer(*logs, acc=1.0, **more):
    return {
        "doc_id": next(NUMBERS),
        "target": "0",
        "filtered_resps": [[log, "False"] for log in logs],
        "acc": acc,
        **more,
    }


def write(path, *records):
    path.write_text("".join(f"{json.dumps(record)}\n" for record in records))
    return path


def test_confidence_is_the_share_of_the_chosen_answer(tmp_path):
    log = write(
        tmp_path / "samples_a.jsonl",
        answer(math.log(0.2), math.log(0.5), acc=0.0),
        answer("-3.5", "-2.25", "-9"),
    )
    sample = read_answers(log)
    exact = np.exp([-3.5, -2.25, -9])
    assert sample.y_prob == pytest.approx([0.5 / 0.7, exact.max() / exact.sum()], rel=1e-15)
    assert sample.y_true.tolist() == [0, 1]


def test_improbable_texts_keep_their_ratio(tmp_path):
    """The probability of a long text is below the smallest double."""
    log = write(
        tmp_path / "a.jsonl",
        answer(-2000.0, -2000.0 + math.log(3)),
        answer(-math.inf, -5.0, acc=0.0),
    )
    assert read_answers(str(log)).y_prob == pytest.approx([0.75, 1.0], rel=1e-12)


def test_separators_within_a_text_end_no_line(tmp_path):
    """The harness writes texts as they are, and other characters than a newline separate lines of
    text.
    """
    doc = {"question": "one\u2028two\x85three\x0c"}
    lines = [json.dumps(answer(-1.0, -2.0, doc=doc), ensure_ascii=False) for _ in range(2)]
    (tmp_path / "a.jsonl").write_text("\n".join(lines), encoding="utf-8")
    assert read_answers(tmp_path / "a.jsonl").n == 2


def test_several_files_are_one_sample(tmp_path):
    logs = [
        write(tmp_path / name, answer(-1.0, -2.0, acc=acc))
        for name, acc in (("b.jsonl", 0.0), ("a.jsonl", 1.0))
    ]
    assert read_answers(logs).y_true.tolist() == [0, 1]

    assert read_answers(str(tmp_path / "[ab].jsonl")).y_true.tolist() == [1, 0]
    assert read_answers(tmp_path.glob("b.*")).n == 1


@for_each("write", [Path.write_bytes, lambda path, raw: path.write_bytes(gzip.compress(raw))])
@for_each("mark", [b"", b"\xef\xbb\xbf"])
def test_compressed_files_blank_lines_and_the_arrays_of_older_versions(tmp_path, write, mark):
    records = [json.dumps(answer(-1.0, -2.0, acc=acc)) for acc in (1, True, 0.0)]
    path = tmp_path / ("a.jsonl.gz" if write is not Path.write_bytes else "a.jsonl")
    for text in ("\n".join([*records, "", " \r\n"]), f"[\n{', '.join(records)}\n]"):
        write(path, mark + text.encode())
        assert read_answers(path).y_true.tolist() == [1, 1, 0]


def refused(tmp_path, *records):
    """The reason why the second line is refused."""
    log = write(tmp_path / "a.jsonl", answer(-1.0, -2.0), *records)
    with pytest.raises(rainproof.InputError) as error:
        read_answers(log)
    place, _, reason = str(error.value).partition(" is no answer to a multiple-choice question: ")
    assert place == f"line 2 of {log}"
    return reason


@for_each(
    "record, reason",
    [
        (
            {"filtered_resps": ["the answer is 42"], "exact_match": 1.0},
            "it has no 'acc', which says whether",
        ),
        (
            {"filtered_resps": ["the answer is 42"], "acc": 1.0},
            "it must have 'filtered_resps', a list of two choices",
        ),
        (
            {"filtered_resps": "42", "acc": 1.0},
            "it must have 'filtered_resps', a list of two choices",
        ),
        (
            {"filtered_resps": {"1a": 1, "2b": 3}, "acc": 1.0},
            "it must have 'filtered_resps', a list of two choices",
        ),
        (
            {"resps": [[["-1.0", "True"]]], "acc": 1.0},
            "it must have 'filtered_resps', a list of two choices",
        ),
        (answer(-1.0), "it must have 'filtered_resps', a list of two choices"),
        (answer(), "it must have 'filtered_resps', a list of two choices"),
        (answer(-math.inf, -math.inf), "no choice of 'filtered_resps' has a probability above 0"),
        (
            answer(-1.0, -2.0, acc_mutual_info=1.0),
            "it has 'acc_mutual_info', for which the choices are logged twice",
        ),
        (
            answer(-1.0, -2.0, acc=0.5),
            "'acc' must be 0 or 1; it is 0.5 (a share, as of truthfulqa_mc2, is no event)",
        ),
        *(
            (answer(-1.0, -2.0, acc=acc), "'acc' must be 0 or 1; it is ")
            for acc in (None, 2, math.nan, math.inf, "1")
        ),
    ],
)
def test_a_line_that_is_no_answer_is_named(tmp_path, record, reason):
    assert refused(tmp_path, record).startswith(reason)


@for_each(
    "choices, count, first",
    [
        ([[0.9, "T"], [0.1, "F"]], "2 of 2", "[0.9, 'T']"),
        ([[50, "True"], [0.1, "False"]], "2 of 2", "[50, 'True']"),
        ([[-1.0, "False"], [1e-5, "True"]], "1 of 2", "[1e-05, 'True']"),
        ([[True, "True"], [False, "False"]], "2 of 2", "[True, 'True']"),
        (["7", "8", "8"], "3 of 3", "'7'"),
        ([[-1, -2], [-3, -4]], "2 of 2", "[-1, -2]"),  # a number for each token
        ([["-1", "False"], ["nan", "False"]], "1 of 2", "['nan', 'False']"),
        ([["-1", "False"], ["-1"], [None, "False"], ["low", "False"]], "3 of 4", "['-1']"),
    ],
)
def test_what_is_no_log_probability_is_refused(tmp_path, choices, count, first):
    reason = refused(tmp_path, {"filtered_resps": choices, "acc": 1.0})
    assert reason == (
        'each of \'filtered_resps\' must be a log-probability, at most 0, and a flag, such as ["-1.5", "False"]; '
        f"{count} are not, the first is {first}"
    )


def test_rounding_may_lift_a_log_probability_above_0(tmp_path):
    record = {"filtered_resps": [["1e-7", "True"], [-math.inf, False]], "acc": 1.0}
    assert read_answers(write(tmp_path / "a.jsonl", record)).y_prob.tolist() == [1]
    (tmp_path / "a.jsonl").write_text(json.dumps(record).replace('"1e-7"', "-" + "9" * 400))
    with pytest.raises(rainproof.InputError, match=r"line 1 of .* 1 of 2 are not, the first is"):
        read_answers(tmp_path / "a.jsonl")


def hashed(doc, *, prompt="p", **more):
    return answer(-1.0, -2.0, doc_hash=doc, prompt_hash=prompt, target_hash="t", **more)


def test_a_question_comes_once(tmp_path):
    """A file for each run of the harness, a line for each filter; but a dataset may have a question
    twice.
    """
    again = hashed("c", doc_id=4)
    first = write(
        tmp_path / "2026-01.jsonl", hashed("a"), hashed("a"), hashed("b", doc_id=4), again
    )
    other = write(tmp_path / "2026-02.jsonl", hashed("a", prompt="q"), hashed("d"))
    assert read_answers([first, other]).n == 6
    second = write(tmp_path / "2026-03.jsonl", hashed("e"), hashed("b"))
    filters = write(tmp_path / "filters.jsonl", again, hashed("c", prompt="q", doc_id=4))
    plain = write(
        tmp_path / "plain.jsonl", answer(-1.0, -2.0, doc_id=0), answer(-1.0, -2.0, doc_id=0)
    )
    for source, place, earlier in (
        ([first, second], f"line 2 of {second}", f"line 3 of {first}"),
        (filters, f"line 2 of {filters}", f"line 1 of {filters}"),
        (plain, f"line 2 of {plain}", f"line 1 of {plain}"),
    ):
        with pytest.raises(rainproof.InputError) as error:
            read_answers(source)
        assert str(error.value) == (
            f"each question must come once; {place} has that of {earlier} "
            "(of several runs, models or filters, give one)"
        )


def test_a_file_is_given_once(tmp_path, monkeypatch):
    log = write(tmp_path / "a.jsonl", answer(-1.0, -2.0))
    monkeypatch.chdir(tmp_path)
    with pytest.raises(rainproof.InputError, match=rf"^{log} and a\.jsonl are the same file"):
        read_answers([log, "a.jsonl"])


@for_each(
    "raw, problem",
    [
        (b"{", "line 1 of {} must be JSON"),
        (b'[{"acc": 1', "{} must be JSON"),
        (b'["a list"]', "entry 0 of {} must be a JSON object"),
        (b"[" * 100_000, "{} must be JSON"),
        (b'{"acc":' * 100_000, "line 1 of {} must be JSON"),
        ((json.dumps(answer(-1.0, -2.0)) + "\n").encode("utf-16"), "line 1 of {} must be JSON"),
        ('{"doc": "\u00e9"}'.encode("latin-1"), "line 1 of {} must be JSON"),
        (b"", "{} is empty"),
        (b" \n\n", "{} holds no answers"),
    ],
)
def test_a_file_of_anything_else_is_named(tmp_path, raw, problem):
    path = tmp_path / "a.jsonl"
    path.write_bytes(raw)
    with pytest.raises(rainproof.InputError, match=f"^{problem.format(re.escape(str(path)))}"):
        read_answers(path)


@for_each(
    "source, problem",
    [
        ("nowhere.jsonl", "cannot read nowhere.jsonl: No such file or directory"),
        (".", "cannot read .: Is a directory"),
        ("a\0.jsonl", "cannot read a\\x00.jsonl: embedded null byte"),
        ("no*.jsonl", "no file matches 'no*.jsonl'"),
        (5, "source must name one file or several; 1 value does not, the first is source = 5"),
        (
            None,
            "source must name one file or several; 1 value does not, the first is source = None",
        ),
        (
            b"x",
            "source must name one file or several; 1 value does not, the first is source = b'x'",
        ),
        (
            ["a", 1, 2],
            "source must name one file or several; 2 values do not, the first is source[1] = 1",
        ),
        ([], "source must name one file or several; it is empty"),
    ],
)
def test_what_is_no_file_is_an_input_error(tmp_path, monkeypatch, source, problem):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(rainproof.InputError, match=f"^{re.escape(problem)}"):
        read_answers(source)
    if isinstance(source, str) and "*" not in source:
        with pytest.raises(rainproof.InputError):
            rainproof.scan(f"{source}.jsonl", "p", "y")
