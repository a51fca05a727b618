"""Whatever a name holds, it moves no cursor and begins no line: in text, tables and messages, and
on the terminal.
"""

from __future__ import annotations

import warnings

import numpy as np
import pandas as pd
import pytest

import rainproof
from rainproof.cli import main
from rainproof.cli.output import say
from rainproof.core.text import aligned, one_line, wrapped

HOSTILE = "\x1b]0;title\x07\x1b[31m\x9b\u202e\u2028\t\r\nFAKE: use it "
N = 600


def named(name):
    return f"{HOSTILE}{name}"


def rows():
    rng = np.random.default_rng(0)
    p = rng.random(N)
    return p, (rng.random(N) < p**2).astype(int)


P, Y = rows()
SEGMENT = np.array([named("a"), named("b")], object)[np.arange(N) % 2]
CLASSES = [named("x"), "b", "c"]
THREE = np.random.default_rng(1).dirichlet([1, 1, 1], N)
WHICH = np.array(CLASSES, object)[np.arange(N) % 3]
ACTIONS = (named("wait"), named("act"))


def task():
    return rainproof.DecisionTask.from_costs(false_positive=1, false_negative=2, actions=ACTIONS)


def segments():
    return rainproof.scan({"p": P, "y": Y, named("g"): SEGMENT}, by=named("g"))


def a_map():
    """Enough rows for a segment with a map of its own."""
    p, y, segment = np.tile(P, 10), np.tile(Y, 10), np.tile(SEGMENT, 10)
    y = np.where(segment == named("a"), 1 - y, y)
    return rainproof.Recalibrator("logistic").fit(p, y, by={named("g"): segment})


def periods(by=None):
    days = [np.arange(N) < N // 2, np.arange(N) >= N // 2]
    some = None if by is None else [{named("g"): SEGMENT[day]} for day in days]
    samples = [
        rainproof.Sample(
            Y[day] if k == 0 else 1 - Y[day], P[day], by=None if some is None else some[k]
        )
        for k, day in enumerate(days)
    ]
    return {named(str(k)): sample for k, sample in enumerate(samples)}


RESULTS = {
    "segments": segments,
    "segment tests": lambda: rainproof.inference.segment_tests(segments(), rng=0),
    "a map with segments": a_map,
    "an assessment": lambda: rainproof.assess(
        Y, P, by={named("g"): SEGMENT}, task=task(), n_resamples=99
    ),
    "an assessment of classes": lambda: rainproof.assess(
        WHICH, THREE, labels=CLASSES, n_resamples=99
    ),
    "several": lambda: rainproof.assess_many(Y, {named("a"): P, named("b"): P**2}, n_resamples=99),
    "several with costs": lambda: rainproof.assess_many(
        Y, {named("a"): P, named("b"): P**2}, task=task(), n_resamples=99
    ),
    "a sample of several": lambda: rainproof.Sample(Y, {named("a"): P, named("b"): P}),
    "a sample of classes": lambda: rainproof.Sample(WHICH, THREE, labels=CLASSES),
    "monitoring": lambda: rainproof.monitor(periods()),
    "monitoring segments": lambda: rainproof.monitor(periods(by=True)),
    "a task": task,
    "a policy": lambda: rainproof.RoundingPolicy(task(), 16),
    "a segment": lambda: RESULTS["an assessment"]().segments.rows[0],
    "a ranked forecast": lambda: RESULTS["several"]().standings[0],
    "an assessment of several": lambda: RESULTS["several"]().assessments[0],
    "a class": lambda: RESULTS["an assessment of classes"]().classes[0],
    "a map of a segment": lambda: a_map().segments_[0],
    "a period": lambda: rainproof.monitor(periods()).windows[0],
    "grades": lambda: rainproof.clinical.grade_table(Y, P, by=SEGMENT),
}
ERRORS = {
    "a forecast": lambda: rainproof.Sample([0, 1], {named("a"): [0.5, 2]}),
    "a column": lambda: rainproof.scan({named("p"): [0.5, 2], "y": [0, 1]}, prob=named("p")),
    "no such column": lambda: rainproof.scan({"p": [0.5, 0.2], "y": [0, 1]}, by=named("y")),
    "a file": lambda: rainproof.load(named("a.json")),
    "a measure": lambda: rainproof.assess(Y, P, measures=[named("a")]),
    "labels": lambda: rainproof.Sample(np.where(Y, named("a"), "b"), P),
    "a segment": lambda: a_map().predict([0.1], by={named("g"): [named("c")]}),
}


def check(text):
    assert not [c for c in text if not c.isprintable() and c != "\n"]
    assert not [line for line in text.split("\n") if line.lstrip().startswith("FAKE")]


@pytest.mark.filterwarnings("ignore::rainproof.RainproofWarning")
@pytest.mark.parametrize("make", RESULTS.values(), ids=RESULTS)
def test_names_are_escaped_where_they_are_printed(make):
    found = make()
    page = found._repr_html_() if hasattr(found, "_repr_html_") else ""
    for text in (str(found), repr(found), page):
        check(text)
    assert "\\x1b" in str(found) + repr(found) + page  # the names are shown
    for method in ("table", "body"):
        if callable(getattr(found, method, None)):
            check(getattr(found, method)())
    for part in ("headline", "next_step"):
        check(getattr(found, part, ""))
    for sentence in (
        *getattr(getattr(found, "verdict", None), "asides", ()),
        *getattr(found, "commands", ()),
    ):
        assert sentence.isprintable()


@pytest.mark.filterwarnings("ignore::rainproof.RainproofWarning")
@pytest.mark.parametrize("make", ERRORS.values(), ids=ERRORS)
def test_names_are_escaped_in_messages(make):
    with pytest.raises(rainproof.InputError) as caught:
        make()
    error = caught.value
    assert str(error).isprintable()
    assert "\\x1b" in str(error)
    assert all(
        part.isprintable() for part in (error.problem, error.hint, error.remedy, error.rule or "")
    )


def test_names_are_escaped_in_warnings():
    with pytest.warns(rainproof.RainproofWarning) as notes:
        warnings.warn(rainproof.FewRowsWarning(named("a")), stacklevel=1)
    assert str(notes[0].message).isprintable()


def test_json_keeps_the_names():
    with warnings.catch_warnings(action="ignore"):
        found = RESULTS["several"]().to_dict()
    assert found["names"] == [named("a"), named("b")]


@pytest.fixture
def files(tmp_path, monkeypatch):
    """A folder with a file whose names and labels are hostile."""
    monkeypatch.chdir(tmp_path)
    frame = pd.DataFrame({"p": P, "y": Y, named("q"): P**2, named("g"): SEGMENT, "kind": WHICH})
    frame[named("day")] = [named(f"{k:02}") for k in np.arange(N) // 100]
    for k, name in enumerate(CLASSES):
        frame[name] = THREE[:, k]
    frame.to_parquet("rows.parquet")


ROWS = ["rows.parquet", "--prob", "p", "--outcome", "y"]
BOTH = ["rows.parquet", "--prob", "p", named("q"), "--outcome", "y"]
OF_CLASSES = ["rows.parquet", "--classes", *CLASSES, "--outcome", "kind"]
COMMANDS = {
    "assess": ["assess", *ROWS, "--by", named("g"), "--verbose"],
    "assess classes": ["assess", *OF_CLASSES],
    "assess-many": ["assess-many", *BOTH],
    "assess-many with costs": ["assess-many", *BOTH, "--cost-fp", "1", "--cost-fn", "5"],
    "measure": ["measure", *ROWS, "--by", named("g")],
    "monitor": ["monitor", *ROWS, "--by", named("day"), "--segments", named("g")],
    "report": ["report", *ROWS, "--by", named("g"), "-o", "report.html"],
    "no such column": ["assess", *ROWS, "--by", named("h")],
    "no such file": ["assess", named("a.csv")],
}


@pytest.mark.filterwarnings("ignore::rainproof.RainproofWarning")
@pytest.mark.parametrize("command", COMMANDS.values(), ids=COMMANDS)
def test_names_are_escaped_on_the_terminal(files, capsys, command):
    main(command)
    out, err = capsys.readouterr()
    check(out)
    check(err)
    assert "\\x1b" in out + err


def test_the_last_guard_lets_line_ends_and_our_colors_pass(capsys):
    class Terminal:
        encoding = "utf-8"
        text = ""

        def write(self, text):
            self.text += text

        def isatty(self):
            return True

    with pytest.MonkeyPatch.context() as patch:
        patch.delenv("NO_COLOR", raising=False)
        patch.setenv("TERM", "xterm")
        terminal = Terminal()
        say(terminal, "\x1b[1;31mred\x1b[0m\n\x1b[2J\x07")
    assert terminal.text == "\x1b[1;31mred\x1b[0m\n\\x1b[2J\\x07"


def test_cells_names_and_paragraphs_are_one_line():
    assert one_line("a\nb\x1b\u202e") == "a\\nb\\x1b\\u202e"
    assert one_line("K\u00f6ln \u4eac\u90fd") == "K\u00f6ln \u4eac\u90fd"
    assert aligned([["a\nb", "c"]], left=1) == ["a\\nb  c"]
    assert wrapped("a\nb") == "a\\nb"
