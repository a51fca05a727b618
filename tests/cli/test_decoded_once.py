"""Every command decodes each file once; columns and ids are guessed from the head of the first."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path

import numpy as np
import pytest
from helpers.cases import for_each

import rainproof
from rainproof.cli import main
from rainproof.io import formats, new_columns, sources, text_files

N = 300
rng = np.random.default_rng(11)
P = rng.random(N).round(3)
Q = (0.1 + 0.8 * P).round(3)
Y = (rng.random(N) < P).astype(int)
CITY = np.array(["Rome", "Oslo", "Bern"])[np.arange(N) % 3]
WHO = np.arange(N) // 2
DAY = np.array([f"2026-03-{1 + k // 60:02d}" for k in range(N)])
HOLES = np.arange(N) % 50 == 7

ONE = ["--prob", "p", "--outcome", "y"]
COMMANDS = {
    "assess": ONE,
    "report": [*ONE, "-o", "report.html"],
    "recalibrate": [*ONE, "-o", "map.json"],
    "policy": [*ONE, "--threshold", "0.3", "-o", "policy.json"],
    "threshold": [*ONE, "--recall", "0.5"],
    "measure": ONE,
    "store": [*ONE, "-o", "sums.parquet"],
    "monitor": [*ONE, "--by", "day"],
    "assess-many": ["--prob", "p", "q", "--outcome", "y"],
    "switch": ["--old", "p", "--new", "q", "--outcome", "y"],
}
BY, GROUPS, DROP = ["--by", "city"], ["--groups", "who"], ["--drop-missing"]
TAKEN = {
    "assess": [BY, GROUPS, [*GROUPS, *BY]],
    "report": [BY],
    "recalibrate": [BY, GROUPS, [*GROUPS, *BY]],
    "policy": [GROUPS],
    "threshold": [GROUPS],
    "measure": [BY],
    "assess-many": [GROUPS],
    "switch": [GROUPS],
}
COMPRESS = ("assess", "report", "recalibrate", "policy", "threshold")  # many rows
# Every pair of a command's options, whether rows are dropped, and whether they are many.
CASES = [
    (
        command,
        [*options, *(DROP if (place + drop) % 2 else [])],
        100 if many and command in COMPRESS else 1 << 18,
    )
    for command in COMMANDS
    for place, options in enumerate(([], *TAKEN.get(command, [])))
    for drop, many in enumerate((False, True))
]

pytestmark = pytest.mark.filterwarnings("ignore::rainproof.FewRowsWarning")


def write(name, part, holes=False):
    lines = [
        f"{'' if holes and HOLES[k] else P[k]},{Q[k]},{Y[k]},{CITY[k]},{WHO[k]},{DAY[k]}\n"
        for k in np.arange(N)[part]
    ]
    Path(name).write_text("p,q,y,city,who,day\n" + "".join(lines))


@pytest.fixture
def decoded(tmp_path, monkeypatch):
    """Count how often each file is decoded to its end, or its head alone."""
    monkeypatch.chdir(tmp_path)
    for holes, stem in enumerate(("whole", "holes")):
        write(f"{stem}-1.csv", slice(200), bool(holes))
        write(f"{stem}-2.csv", slice(200, None), bool(holes))
    monkeypatch.setattr(text_files, "BLOCK_BYTES", 1024)  # many batches
    found = Counter()

    def counted(file, columns, *, others=False):
        for taken, batch in enumerate(formats.file_batches(file, columns, others=others)):
            if taken < 2:
                found[file.path, ("head", "more")[taken]] += 1
            yield batch
        found[file.path, "end"] += 1

    for module in (sources, new_columns):
        monkeypatch.setattr(module, "file_batches", counted)
    return found


@pytest.mark.parametrize(
    ("command", "options", "many"),
    CASES,
    ids=lambda case: "".join(case) if isinstance(case, list) else str(case),
)
def test_rows_are_read_once(decoded, monkeypatch, capsys, command, options, many):
    monkeypatch.setattr("rainproof.verdict.assessing.MANY_ROWS", many)
    stem = "holes" if "--drop-missing" in options else "whole"
    names = [f"{stem}-{k}.csv" for k in (1, 2)]
    assert main([command, *names, *COMMANDS[command], *options]) == 0
    told = ("assess", "report", "recalibrate", "assess-many", "switch", "threshold")
    heads = command in told and "--groups" not in options
    for k, name in enumerate(names):
        assert decoded[name, "end"] == decoded[name, "more"] == 1
        assert decoded[name, "head"] == 1 + (heads and k == 0)  # for the ids that repeat
    note = f"rainproof: note: {HOLES.sum()} of {N} rows have a missing value and are left out\n"
    assert capsys.readouterr().err.count(note) == ("--drop-missing" in options)


def test_guessing_looks_at_the_head(decoded):
    assert (
        main(["measure", "whole-1.csv", "whole-2.csv", "--prob", "p", "--drop-missing", "--quiet"])
        == 0
    )
    assert (
        decoded["whole-1.csv", "end"]
        == decoded["whole-2.csv", "end"]
        == decoded["whole-2.csv", "head"]
        == 1
    )
    assert (decoded["whole-1.csv", "head"], decoded["whole-1.csv", "more"]) == (2, 1)


def test_copies_are_made_in_one_pass(decoded):
    fitted = [*ONE, "--quiet"]
    assert main(["recalibrate", "whole-1.csv", *fitted, *BY, "-o", "map.json"]) == 0
    assert main(["policy", "whole-1.csv", *fitted, "--threshold", "0.3", "-o", "policy.json"]) == 0
    for command in (
        ["apply", "--map", "map.json"],
        ["decide", "--policy", "policy.json", "--id", "who"],
    ):
        decoded.clear()
        assert (
            main(
                [
                    command[0],
                    "whole-2.csv",
                    *command[1:],
                    "--prob",
                    "p",
                    "-o",
                    f"{command[0]}.csv",
                    "--quiet",
                ]
            )
            == 0
        )
        assert decoded == {
            ("whole-2.csv", "head"): 1,
            ("whole-2.csv", "more"): 1,
            ("whole-2.csv", "end"): 1,
        }


@for_each("groups", [None, WHO])
def test_segments_of_kept_rows_are_those_of_python(decoded, capsys, groups):
    named = [] if groups is None else GROUPS
    assert main(["assess", "whole-1.csv", "whole-2.csv", *ONE, *BY, *named, "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    expected = rainproof.assess(Y, P, by={"city": CITY}, groups=groups, rng=0).to_dict()
    # ids, command lines
    del found["warnings"], expected["warnings"], found["verdict"], expected["verdict"]
    assert found == json.loads(json.dumps(expected))
    fit = [*ONE, *BY, *named, "-o", "map.json", "--quiet"]
    assert main(["recalibrate", "whole-1.csv", "whole-2.csv", *fit]) == 0
    fitted = rainproof.Recalibrator(rng=0).fit(P, Y, by={"city": CITY}, groups=groups)
    assert json.loads(Path("map.json").read_text()) == json.loads(json.dumps(fitted.to_dict()))


@for_each("options", [[], BY, ["--weight", "q", *BY]])
def test_many_rows_without_holes_are_those_of_scan(decoded, capsys, monkeypatch, options):
    """Rows that were kept at first are in the sums, and those with missing values are not."""
    monkeypatch.setattr("rainproof.verdict.assessing.MANY_ROWS", 100)
    assert (
        main(["assess", "holes-1.csv", "holes-2.csv", *ONE, *options, "--drop-missing", "--json"])
        == 0
    )
    found = json.loads(capsys.readouterr().out)
    weight = "q" if "--weight" in options else None
    given = rainproof.scan(
        "holes-*.csv", weight=weight, by="city" if BY[0] in options else None, where="p is not null"
    )
    expected = json.loads(json.dumps(rainproof.assess(given, rng=0).to_dict()))
    for one in (found, expected):
        del one["warnings"], one["verdict"]
    assert found == expected


def test_no_count_of_rows_that_could_not_be_read(decoded, capsys):
    assert main(["measure", "holes-1.csv", "--prob", "p", "--outcome", "z", "--drop-missing"]) == 2
    assert capsys.readouterr().err.startswith("rainproof: error: holes-1.csv has no column 'z'")
