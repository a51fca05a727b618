"""Every option in the help of a command is one that the command takes."""

from __future__ import annotations

import csv
import sys
from io import BytesIO, TextIOWrapper

import numpy as np
import pytest
from helpers.cases import for_each

import rainproof
from rainproof.cli import app, main

pytestmark = pytest.mark.filterwarnings("ignore::rainproof.RainproofWarning")

OF = {"--prob": ["p"], "--outcome": ["y"]}
PHOTOS = {"": ["photos.csv"], "--classes": ["cat", "dog", "eel"], "--outcome": ["animal"]}
COSTS = {"--cost-fp": ["1"], "--cost-fn": ["4"]}
PLAIN = {
    "assess": {"": ["d.csv"], **OF},
    "assess-many": {"": ["d.csv"], "--prob": ["p", "q"], "--outcome": ["y"]},
    "measure": {"": ["d.csv"], **OF},
    "report": {"": ["d.csv"], **OF, "--output": ["out.html"]},
    "recalibrate": {"": ["d.csv"], **OF, "--output": ["out.json"]},
    "apply": {"": ["d.csv"], "--map": ["map.json"], "--prob": ["p"], "--output": ["out.csv"]},
    "policy": {"": ["d.csv"], **OF, **COSTS, "--output": ["out.json"]},
    "decide": {"": ["d.csv"], "--prob": ["p"], **COSTS, "--output": ["out.csv"]},
    "switch": {"": ["d.csv"], "--old": ["p"], "--new": ["q"], "--outcome": ["y"]},
    "threshold": {"": ["d.csv"], **OF, "--recall": ["10%"]},
    "store": {"": ["d.csv"], **OF, "--output": ["out.parquet"]},
    "monitor": {"": ["d.csv"], **OF, "--by": ["day"]},
    "stream": {"": ["state.json"]},
    "demo": {"": ["demo"]},
    "completion": {"": ["bash"]},
}
NEEDS = {  # what an option is tried with; None in place of a value takes one away
    "--prob": {},
    "--old": {},
    "--new": {},
    "--outcome": {},
    "--output": {},
    "--map": {"--map": ["map.json"]},
    "--classes": {"--prob": None, **PHOTOS},
    "--cost-matrix": {
        "--prob": None,
        **PHOTOS,
        "--cost-matrix": ["costs.json"],
        "--cost-fp": None,
        "--cost-fn": None,
    },
    "--weight": {"--weight": ["w"]},
    "--trials": {"--trials": ["n"], "--outcome": ["hits"]},
    "--pos-label": {"--pos-label": ["yes"], "--outcome": ["lab"]},
    "--base-rate": {"--base-rate": ["20%"]},
    "--where": {"--where": ["w = 1"]},
    "--drop-missing": {"--drop-missing": []},
    "--keep-missing": {"--keep-missing": []},
    "--sep": {"--sep": [","]},
    "--percent": {
        "--percent": [],
        "--prob": ["percent"],
        "--old": ["percent"],
        "--new": ["percent"],
    },
    "--confidence-words": {
        "--confidence-words": ["words.json"],
        "--prob": ["words"],
        "--old": ["words"],
        "--new": ["words"],
    },
    "--by": {"--by": ["day"]},
    "--groups": {"--groups": ["patient"]},
    "--max-weight": {"--max-weight": ["9"], "--groups": ["patient"]},
    "--fractional": {"--fractional": [], "--outcome": ["share"]},
    "--cost-fp": COSTS,
    "--cost-fn": COSTS,
    "--capacity": {**COSTS, "--capacity": ["10"], "--id": ["case"]},
    "--threshold-range": {"--threshold-range": ["5%,60%"]},
    "--confidence-level": {"--confidence-level": ["0.9"]},
    "--seed": {"--seed": ["3"]},
    "--plot": {"--plot": ["out.svg"]},
    "--json": {"--json": []},
    "--force": {"--force": []},
    "--quiet": {"--quiet": []},
    "--verbose": {"--verbose": []},
    "--fail-on": {"--fail-on": ["avoid"]},
    "--fail-above": {"--fail-above": ["0.4"]},
    "--rounding": {"--rounding": ["hard"]},
    "--preset": {"--preset": ["clinical"]},
    "--open": {"--open": []},
    "--methods": {"--methods": ["logistic", "beta"]},
    "--unseen": {"--unseen": ["pooled"], "--map": ["map-by.json"]},
    "--threshold": {"--threshold": ["0.3"], "--cost-fp": None, "--cost-fn": None},
    "--actions": {"--actions": ["wait", "act"]},
    "--grid": {"--grid": ["16"]},
    "--policy": {"--policy": ["policy.json"], "--id": ["case"]},
    "--id": {"--id": ["case"]},
    "--rounded": {"--rounded": [], "--policy": ["policy.json"], "--id": ["case"]},
    "--precision": {"--precision": ["10%"], "--recall": None},
    "--recall": {},
    "--false-positive-rate": {"--false-positive-rate": ["99%"], "--recall": None},
    "--every": {"--every": ["day"], "--by": ["time"]},
    "--segments": {"--segments": ["city"]},
    "--window": {"--window": ["2"]},
    "--alpha": {"--alpha": ["0.05"]},
    "--dependent-rows": {"--dependent-rows": []},
    "--state": {"--state": ["told.json"]},
}
APART = {  # where a command means something else by an option, or needs something else for it
    ("monitor", "--fail-on"): {"--fail-on": ["new"]},
    ("threshold", "--weight"): {"--weight": ["w"], "--max-weight": ["9"]},
    ("monitor", "--weight"): {"--weight": ["w"], "--dependent-rows": []},
    ("apply", "--by"): {"--by": ["day"], "--map": ["map-by.json"]},
    ("apply", "--classes"): {
        "--prob": None,
        "": ["photos.csv"],
        "--map": ["classes.json"],
        **PHOTOS,
        "--outcome": None,
    },
    ("decide", "--classes"): {
        "--prob": None,
        **PHOTOS,
        **NEEDS["--cost-matrix"],
        "--outcome": None,
    },
    ("decide", "--cost-matrix"): {**NEEDS["--cost-matrix"], "--outcome": None},
    ("apply", "--confidence-words"): {"--prob": ["words"], "--confidence-words": ["words.json"]},
    ("apply", "--percent"): {"--prob": ["percent"], "--percent": []},
    ("decide", "--confidence-words"): {"--prob": ["words"], "--confidence-words": ["words.json"]},
    ("decide", "--percent"): {"--prob": ["percent"], "--percent": []},
    ("assess", "--capacity"): {**COSTS, "--capacity": ["10"]},
    ("report", "--capacity"): {**COSTS, "--capacity": ["10"]},
    ("assess-many", "--percent"): {"--percent": [], "--prob": ["percent", "w"]},
    ("assess-many", "--confidence-words"): {
        "--prob": ["words", "others"],
        "--confidence-words": ["words.json"],
    },
    ("assess-many", "--prob"): {},
    ("switch", "--percent"): {"--percent": [], "--old": ["percent"], "--new": ["w"]},
    ("switch", "--confidence-words"): {
        "--old": ["words"],
        "--new": ["others"],
        "--confidence-words": ["words.json"],
    },
}


def parsers():
    """The parser of each command, as its help is made from it."""
    return app.make_parsers("")[1]


def options_of(command):
    """The options in the help of a command."""
    actions = parsers()[command]._actions
    return [
        action.option_strings[-1]
        for action in actions
        if action.option_strings and action.dest != "help"
    ]


@pytest.fixture(scope="module")
def written(tmp_path_factory):
    """A folder with files of rows, maps and a policy."""
    folder = tmp_path_factory.mktemp("written")
    rng = np.random.default_rng(2)
    n = 240
    p = rng.uniform(0.05, 0.95, n).round(3)
    y = (rng.random(n) < p) * 1
    k = np.arange(n)
    columns = {
        "p": p,
        "q": (p**1.5).round(3),
        "y": y,
        "lab": np.where(y == 1, "yes", "no"),
        "w": 1 + k % 2,
        "hits": 2 * y,
        "n": 2 + 0 * k,
        "share": y / 2,
        "percent": (100 * p).round(1),
        "day": k // 40,
        "words": np.where(p > 0.5, "likely", "no"),
        "others": np.where(p > 0.3, "likely", "no"),
        "time": [f"2026-03-{1 + i // 40:02} {i % 24:02}:05" for i in k],
        "city": np.where(k % 2, "Bonn", "Rome"),
        "patient": k // 2,
        "case": k,
    }
    with (folder / "d.csv").open("w", newline="") as file:
        csv.writer(file).writerows([list(columns), *zip(*columns.values(), strict=True)])
    three = rng.dirichlet([1, 1, 1], n)
    with (folder / "photos.csv").open("w", newline="") as file:
        rows = [[*row, rng.choice(["cat", "dog", "eel"], p=row)] for row in three]
        rows = [[*row, i // 2, 1 + i % 2] for i, row in enumerate(rows)]
        csv.writer(file).writerows([["cat", "dog", "eel", "animal", "patient", "w"], *rows])
    (folder / "words.json").write_text('{"likely": 0.8, "no": 0.3}')
    (folder / "costs.json").write_text(
        '{"costs": [[0, 9, 4], [1, 0, 2]], "actions": ["wait", "act"]}'
    )
    rainproof.Recalibrator().fit(p, y).save(folder / "map.json")
    rainproof.Recalibrator().fit(p, y, by={"day": columns["day"].astype(str)}).save(
        folder / "map-by.json"
    )
    fitted = rainproof.scan(folder / "photos.csv", classes=["cat", "dog", "eel"], outcome="animal")
    rainproof.Recalibrator().fit(fitted).save(folder / "classes.json")
    task = rainproof.DecisionTask.from_costs(false_positive=1, false_negative=4)
    rainproof.RoundingPolicy(task, 16).save(folder / "policy.json")
    return folder


def enter(folder, written, monkeypatch):
    """Fill a folder with links to those files, and run commands there; a browser is never
    opened.
    """
    for path in written.iterdir():
        (folder / path.name).symlink_to(path)
    monkeypatch.chdir(folder)
    monkeypatch.setattr("webbrowser.open", lambda _: True)
    monkeypatch.setattr(sys, "stdin", TextIOWrapper(BytesIO()))


@pytest.fixture
def here(written, tmp_path, monkeypatch):
    """A folder with links to those files, where a command runs."""
    enter(tmp_path, written, monkeypatch)
    return tmp_path


def arguments(command, option):
    """A command that tries an option."""
    taken = {
        action.option_strings[-1] for action in parsers()[command]._actions if action.option_strings
    }
    needed = APART.get((command, option), NEEDS[option])
    words = {
        **PLAIN[command],
        **{name: value for name, value in needed.items() if name in taken | {""}},
    }
    given = [[name, *value] for name, value in words.items() if name and value is not None]
    assert option in words or not needed, "the table says what an option is tried with"
    return [command, *words[""], *(word for one in given for word in one)]


@pytest.mark.parametrize("command", PLAIN)
def test_a_command_takes_every_option_of_its_help(written, tmp_path, monkeypatch, capsys, command):
    for option in options_of(command):
        folder = tmp_path / option
        folder.mkdir()
        enter(folder, written, monkeypatch)
        status = main(arguments(command, option))
        error = capsys.readouterr().err.partition("error:")[2]
        assert (status, error) in [(0, ""), (1, "")], option


NAMES = [(name, action) for name, parser in parsers().items() for action in parser._actions]
FILES = [(name, action) for name, action in NAMES if action.metavar in ("FILE", "FOLDER", "SOURCE")]


@for_each("command, file", FILES)
def test_an_empty_name_of_a_file_is_a_wrong_argument(here, capsys, command, file):
    """It is that of a variable that is not set, and would be the current folder."""
    words = dict(PLAIN[command])
    words[file.option_strings[-1] if file.option_strings else ""] = [""]
    given = [word for name, values in words.items() if name for word in (name, *values)]
    assert main([command, *words[""], *given]) == 2
    named = "/".join(file.option_strings) or file.metavar
    what = "folder" if file.metavar == "FOLDER" else "file"
    where = "" if file.dest in ("file", "source") else " on this machine"
    expected = (
        f"argument {named}: must be the name of a {what}{where}; it is '' (see 'rainproof "
        f"{command} --help')"
    )
    assert capsys.readouterr() == ("", f"rainproof: error: {expected}\n")


ADDRESSES = [
    "postgresql://me:hunter2@127.0.0.1:1/rain#drops",
    "postgresql://127.0.0.1:1/rain?user=me&password=hunter2#drops",
    "http://me:hunter2@127.0.0.1/rain.csv",
    "abfs://rain@127.0.0.1/drops.csv?account_key=hunter2",
    "abfs://rain@127.0.0.1/drops.csv?sv=2024&sig=hunter2",
]


@for_each("address", ADDRESSES)
@pytest.mark.parametrize("command", PLAIN)
def test_no_message_shows_the_password_of_an_address(here, capsys, command, address):
    """Wherever it is typed: as a file, as the value of any option, or as an option."""
    for option in ["", "--nope", *options_of(command)]:
        words = {**PLAIN[command], option: [address]}
        given = [word for name, values in words.items() if name for word in (name, *values)]
        main([command, *words[""], *given])
        shown = "".join(capsys.readouterr())
        assert "hunter2" not in shown, option
    assert not [path for path in here.rglob("*") if "hunter2" in path.name]
