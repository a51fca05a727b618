"""A policy is written whole and read back the same; whatever else a file holds is refused in one
line.
"""

from __future__ import annotations

import json
import re

import numpy as np
import pytest
from helpers.cases import for_each

import rainproof
from rainproof.core.documents import digest_of
from rainproof.decisions.policies import RoundingPolicy

THREE = rainproof.DecisionTask.from_payoffs(
    [[10, -50], [4, 0.1], [-20, 1 / 3]], actions=["go", "Þór's umbrella", "stay"]
)
MAP = rainproof.recalibration.PiecewiseMap.from_ends(
    np.array([0, 0.3, 1]), np.array([0.1, 0.7]), np.array([0.6, 0.5])
)
POLICIES = [
    RoundingPolicy(
        rainproof.DecisionTask.from_costs(false_positive=35, false_negative=65), 32, seed=7
    ),
    RoundingPolicy(THREE, 2**20, rounding="hard"),
    RoundingPolicy(rainproof.DecisionTask.quadratic(), 2, seed=2**64 - 1),
    RoundingPolicy(THREE, 8, recalibration=MAP),
]


@for_each("policy", POLICIES)
def test_what_is_saved_is_loaded(tmp_path, policy):
    file = tmp_path / "policy.json"
    policy.save(file)
    policy.save(str(file))
    again = rainproof.load(str(file))
    assert again == policy
    assert again.to_dict() == policy.to_dict() == json.loads(file.read_text(encoding="utf-8"))
    p, ids = np.linspace(0, 1, 500), np.arange(500)
    np.testing.assert_array_equal(again.decide(p, ids), policy.decide(p, ids))
    assert [path.name for path in tmp_path.iterdir()] == ["policy.json"]


def test_people_can_read_it(tmp_path):
    POLICIES[0].save(tmp_path / "policy.json")
    text = (tmp_path / "policy.json").read_text()
    assert text.startswith(
        '{\n  "format": "rainproof policy",\n  "version": 1,\n  "grid": 32,\n'
        '  "rounding": "soft",\n'
    )
    assert text.endswith("}\n")


def test_where_it_cannot_go(tmp_path):
    with pytest.raises(
        rainproof.InputError, match=r"^cannot write .*no/policy\.json: No such file or directory$"
    ):
        POLICIES[0].save(tmp_path / "no" / "policy.json")
    (tmp_path / "folder").mkdir()
    with pytest.raises(rainproof.InputError, match=r"^cannot write .*folder: Is a directory$"):
        POLICIES[0].save(tmp_path / "folder")
    assert [path.name for path in tmp_path.iterdir()] == ["folder"]


def refuse(file, message):
    with pytest.raises(
        rainproof.InputError, match=f"^{re.escape(message.replace('{}', str(file)))}"
    ) as caught:
        rainproof.load(file)
    assert "\n" not in str(caught.value)


FIRST = '{\n  "format": "rainproof policy",\n'
NOT_JSON = {
    "": "Expecting property name",
    "  grid: 8": "Expecting property name",
    '  "grid": 8': "Expecting ',' delimiter: line 3 column 12 (char 45)",
    '  "grid": 8, "grid": 16}': "a key occurs twice",
    '  "grid": NaN}': "NaN is not a number that JSON allows",
    '  "grid": -Infinity}': "-Infinity is not a number that JSON allows",
    f'  "grid": {"9" * 5000}}}': "Exceeds the limit (4300 digits) for integer string conversion",
    '  "grid": ' + "[" * 100_000: "it is nested too deeply",
}


@for_each("text", NOT_JSON)
def test_files_that_are_not_json(tmp_path, text):
    (tmp_path / "a.json").write_text(FIRST + text)
    refuse(tmp_path / "a.json", f"{{}} is not JSON: {NOT_JSON[text]}")


def test_files_that_are_not_there_or_not_text(tmp_path):
    refuse(tmp_path / "a.json", "cannot read {}: No such file or directory")
    (tmp_path / "b.json").write_bytes(FIRST.encode() + b"\xff\xfe\xfa{}")
    refuse(tmp_path / "b.json", "{} is not JSON: 'utf-")


def test_a_flipped_bit_is_noticed_wherever_it_is(tmp_path):
    file = tmp_path / "policy.json"
    task = rainproof.DecisionTask.from_costs(false_positive=1e-7, false_negative=0.1 + 0.2)
    RoundingPolicy(task, 8, seed=12_345_678_901_234_567_890, recalibration=MAP).save(file)
    whole = file.read_bytes()
    assert b"e-" in whole
    for place in range(len(whole)):
        for bit in {place % 8, (5 * place + 2) % 8}:
            changed = bytearray(whole)
            changed[place] ^= 1 << bit
            file.write_bytes(changed)
            with pytest.raises(rainproof.InputError):
                rainproof.load(file)
    file.write_bytes(whole.replace(b"\n", b"\r\n"))  # as some programs copy text
    rainproof.load(file)


FORMAT = "a policy must be an object with 'format': 'rainproof policy'"
KEYS = "a policy must have 'format', 'version', 'grid', 'rounding', 'seed', 'task', 'digest'"
VERSION = "a policy must have version 1, the only one that this rainproof reads; it has"
GRID = "grid must be a power of two from 2 to 1,048,576; it is"
SEED = "seed must be an integer from 0 to 2**64 - 1; it is"
GOOD = POLICIES[0].to_dict()
NO_POLICY = {
    "a list": ([1, 2], FORMAT),
    "a number": (7, FORMAT),
    "nothing": (None, FORMAT),
    "an empty object": ({}, FORMAT),
    "another format": ({**GOOD, "format": "umbrella"}, FORMAT),
    "a later version": ({**GOOD, "version": 2}, f"{VERSION} 2"),
    "a word for the version": ({**GOOD, "version": "1"}, f"{VERSION} '1'"),
    "true for the version": ({**GOOD, "version": True}, f"{VERSION} True"),
    "no version": ({"format": "rainproof policy"}, f"{VERSION} None"),
    "no grid": ({key: GOOD[key] for key in GOOD if key != "grid"}, f"{KEYS}; it lacks 'grid'"),
    "no task": ({key: GOOD[key] for key in GOOD if key != "task"}, f"{KEYS}; it lacks 'task'"),
    "one more": ({**GOOD, "sead": 8}, f"{KEYS.replace('have', 'have only')}; it has 'sead'"),
    "a grid of 33": ({**GOOD, "grid": 33}, f"{GRID} 33"),
    "no number for the grid": ({**GOOD, "grid": None}, f"{GRID} None"),
    "a float for the grid": ({**GOOD, "grid": 32.0}, f"{GRID} 32.0"),
    "true for the grid": ({**GOOD, "grid": True}, f"{GRID} True"),
    "a huge grid": ({**GOOD, "grid": 2**40}, f"{GRID} {2**40}"),
    "a negative seed": ({**GOOD, "seed": -1}, f"{SEED} -1"),
    "a huge seed": ({**GOOD, "seed": 2**64}, f"{SEED} {2**64}"),
    "a list for a seed": ({**GOOD, "seed": [1]}, f"{SEED} [1]"),
    "rounding up": ({**GOOD, "rounding": "up"}, "rounding must be 'soft' or 'hard'; it is 'up'"),
    "a list for the rounding": (
        {**GOOD, "rounding": ["soft"]},
        "rounding must be 'soft' or 'hard'; it is ['soft']",
    ),
    "a damaged map": (
        {**GOOD, "recalibration": {}},
        "a map must have 'edges', 'start' and 'slope'",
    ),
    "no map": ({**GOOD, "recalibration": None}, "a map must have 'edges', 'start' and 'slope'"),
    "a word for the task": ({**GOOD, "task": "threshold"}, "a task must be"),
    "an empty task": ({**GOOD, "task": {}}, "a task must be"),
}


def sealed(data):
    """The same with a digest that fits, if JSON has one for it."""
    if isinstance(data, dict) and "digest" in data:
        data = data | {
            "digest": digest_of({key: value for key, value in data.items() if key != "digest"})
        }
    return data


@for_each("case", NO_POLICY)
def test_json_that_is_no_policy(case):
    data, message = NO_POLICY[case]
    with pytest.raises(rainproof.InputError, match=f"^{re.escape(message)}"):
        RoundingPolicy.from_dict(sealed(data))


@for_each("key", ["actions", "payoffs", "order", "thresholds"])
@for_each("value", [None, 7, "text", [], {}, [None], [[1, 2, 3]], ["x", "x"], [1e400], [2**70]])
def test_a_task_that_was_tampered_with(key, value):
    """Whatever stands there, the answer is one line, never another kind of error."""
    data = {**GOOD, "task": {**GOOD["task"], key: value}}
    with pytest.raises(rainproof.InputError) as caught:
        RoundingPolicy.from_dict(data if value == [1e400] else sealed(data))
    assert "\n" not in str(caught.value)
    with pytest.raises(rainproof.InputError, match=r"digest|not in types of JSON"):
        RoundingPolicy.from_dict(data)
