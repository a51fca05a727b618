"""No command replaces a file that rainproof did not write as such, unless it is told to; nor does
Python.
"""

from __future__ import annotations

import random
import shutil
from pathlib import Path

import pytest
from cli.test_signals import LINES
from helpers.cases import for_each

import rainproof
from rainproof.cli import main

WRITTEN = {name: [word for word in line if word.startswith("new")] for name, line in LINES.items()}
COLUMNS = ["--prob", "p", "--outcome", "y"]


@pytest.fixture(scope="module")
def read(tmp_path_factory):
    folder = tmp_path_factory.mktemp("read")
    rng = random.Random(3)
    rows = [(rng.random(), rng.random(), rng.choice("abc")) for _ in range(300)]
    lines = [
        f"{k},{p:.3f},{q:.3f},{int(rng.random() < p**2)},{s}" for k, (p, q, s) in enumerate(rows)
    ]
    (folder / "a.csv").write_text("\n".join(["id,p,q,y,s", *lines, ""]))
    data = str(folder / "a.csv")
    assert main(["recalibrate", data, *COLUMNS, "-o", str(folder / "map.json"), "--quiet"]) == 0
    policy = str(folder / "policy.json")
    assert main(["policy", data, *COLUMNS, "--threshold", "0.3", "-o", policy, "--quiet"]) == 0
    return folder


@for_each("command", [name for name, paths in WRITTEN.items() if paths and name != "demo"])
def test_what_is_there_stays_unless_it_is_of_the_same_kind(
    command, read, tmp_path, monkeypatch, capsys
):
    monkeypatch.chdir(shutil.copytree(read, tmp_path / "x"))
    line = [command, *("a.csv" if word == "-" else word for word in LINES[command])]
    Path("new").mkdir()
    for path in map(Path, WRITTEN[command]):
        path.write_text("p,y\n0.5,1\n")
        assert main(line) == 2
        error = capsys.readouterr().err
        assert error.startswith(f"rainproof: error: {path} exists and ")
        assert "not overwritten" in error
        assert error.endswith("--force replaces it\n")
        assert path.read_text() == "p,y\n0.5,1\n"
        path.unlink()
    assert main([*line, "--quiet"]) == 0
    # whose copies of data say nothing of rainproof
    again = 2 if command in ("apply", "decide") else 0
    assert main([*line, "--quiet"]) == again
    for path in map(Path, WRITTEN[command]):
        path.write_text("p,y\n0.5,1\n")
    assert main([*line, "--quiet", "--force"]) == 0
    assert all(
        path.read_bytes()[:3] != b"p,y"
        for path in map(Path, WRITTEN[command])
        if path.suffix != ".csv"
    )


def test_the_demo_replaces_its_own_files_alone(tmp_path, capsys):
    folder = tmp_path / "demo"
    assert main(["demo", str(folder), "--quiet"]) == 0
    assert main(["demo", str(folder), "--quiet"]) == 0
    (folder / "rain.csv").write_text("mine")
    assert main(["demo", str(folder), "--quiet"]) == 2
    assert capsys.readouterr().err.endswith(
        "rain.csv exists and is not overwritten: --force replaces it\n"
    )
    assert (folder / "rain.csv").read_text() == "mine"
    assert main(["demo", str(folder), "--quiet", "--force"]) == 0


def test_a_report_replaces_no_data(read, tmp_path):
    rows = rainproof.scan(str(read / "a.csv"), prob="p", outcome="y")
    found = rainproof.assess(rows, measures=[], n_resamples=19, rng=0)
    data = tmp_path / "data.csv"
    data.write_text("p,y\n")
    for write, suffix in ((found.to_html, ".html"), (found.to_json, ".json")):
        with pytest.raises(
            rainproof.InputError, match=rf"path must name a {suffix} file.*data\.csv"
        ):
            write(data)
        other = tmp_path / f"other{suffix}"
        other.write_text("<p>mine</p>")
        with pytest.raises(
            rainproof.InputError,
            match=r"is text, and is not overwritten; overwrite=True replaces it$",
        ):
            write(other)
        assert other.read_text() == "<p>mine</p>"
        write(other, overwrite=True)
        write(other)
    assert data.read_text() == "p,y\n"
