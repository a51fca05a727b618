"""`rainproof stream`: one line in, one line out, and a kill at any point loses and repeats
nothing.
"""

from __future__ import annotations

import io
import json
import os
import resource
import signal
import subprocess
import sys
from contextlib import contextmanager

import numpy as np
import pytest
from helpers.cases import for_each

import rainproof
from rainproof import InputError
from rainproof.cli import main
from rainproof.recalibration import stream
from rainproof.recalibration.stream import Stream


def records(n, seed=0):
    """Predictions and outcomes, some of them late."""
    rng = np.random.default_rng(seed)
    waiting, out = [], []
    for k in range(n):
        out.append({"id": f"row {k}", "p": round(float(rng.random()), 3)})
        waiting.append((f"row {k}", int(rng.random() < 0.3)))
        while waiting and rng.random() < 0.6:
            name, y = waiting.pop(int(rng.integers(len(waiting))))
            out.append({"id": name, "y": y})
    return out


def done(path, lines, **options):
    with Stream(path, 8, 5, **options) as one:
        return [one.answer(line) for line in lines], one._recalibrator.to_dict()


def test_it_is_the_recalibrator(tmp_path):
    lines = records(300)
    answers, state = done(tmp_path / "s.json", lines)
    r = rainproof.OnlineRecalibrator(8, rng=5)
    for line, answer in zip(lines, answers, strict=True):
        if "p" in line:
            assert answer == {"id": line["id"], "probability": r.predict(line["p"], id=line["id"])}
        else:
            r.update(line["y"], id=line["id"])
            assert answer == {"id": line["id"], "learnt": True}
    assert state == r.to_dict()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["s.json", "s.json.lock"]


def test_lines_sent_again_are_answered_and_not_learnt_again(tmp_path):
    lines = records(100)
    answers, state = done(tmp_path / "once.json", lines)
    path = tmp_path / "twice.json"
    with Stream(path, 8, 5) as one:
        for line, answer in zip(lines, answers, strict=True):
            assert one.answer(line) == answer
            assert one.answer(line) == answer
        assert one._recalibrator.to_dict() == state


def state_of(path):
    with Stream(path) as one:
        return one._recalibrator.to_dict()


@for_each("seed", range(3))
def test_stopping_anywhere_changes_nothing(tmp_path, monkeypatch, seed):
    """The process ends without a word before or after any write, and is started again; also while
    the journal turns.
    """
    monkeypatch.setattr(stream, "JOURNAL", 7)
    lines = records(60, seed)
    answers, state = done(tmp_path / "calm.json", lines)
    rng = np.random.default_rng(seed)
    path = tmp_path / "killed.json"

    class Killed(BaseException):
        pass

    def maybe(method):
        def call(*arguments):
            if rng.random() < 0.05:
                raise Killed
            found = method(*arguments)
            if rng.random() < 0.05:
                raise Killed
            return found

        return call

    for name in ("_do", "_snapshot", "_turn", "_note"):
        monkeypatch.setattr(Stream, name, maybe(getattr(Stream, name)))
    at, one, kills = 0, None, 0
    while at < len(lines):
        try:
            one = one or Stream(path, 8, 5)
            assert one.answer(lines[at]) == answers[at]
            at += 1
        except Killed:
            if one is not None:
                one._leave()
            one, kills = None, kills + 1
    one._leave()
    monkeypatch.undo()
    assert kills > 5
    assert state_of(path) == state


def killed(path, *lines, **options):
    """The state after a process was killed that had answered these lines."""
    one = Stream(path, **options)
    for line in lines:
        one.answer(line)
    one._leave()
    return one._recalibrator.to_dict()


def test_a_torn_line_at_the_end_was_never_answered(tmp_path):
    path = tmp_path / "s.json"
    killed(path, {"id": "a", "p": 0.5})
    journal = tmp_path / "s.json.journal-0"
    with journal.open("ab") as file:
        file.write(b'{"id": "another one, which is longer than the next", "p"')
    assert killed(path, {"id": "a", "y": 1})["waiting"] == []
    with Stream(path) as again:
        assert (again._recalibrator.n, again._recalibrator.waiting) == (1, 0)
    assert not journal.exists()


def test_killed_for_real(tmp_path):
    lines = records(900, 4)
    answers, state = done(tmp_path / "calm.json", lines)
    path = tmp_path / "killed.json"
    command = [
        sys.executable,
        "-c",
        "import sys; from rainproof.cli import main; sys.exit(main(sys.argv[1:]))",
        "stream",
    ]
    command += [str(path), "--grid", "8", "--seed", "5"]
    at = 0
    # answers to read before the kill, with as many lines under way as the pipe holds
    for stop in (137, 500, None):
        process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        rest = lines[at:] if stop is None else lines[at : at + stop + 200]
        process.stdin.write("".join(json.dumps(line) + "\n" for line in rest))
        process.stdin.flush()
        if stop is None:
            process.stdin.close()
        for _ in rest if stop is None else range(stop):
            assert json.loads(process.stdout.readline()) == answers[at]
            at += 1
        if stop is not None:
            process.send_signal(signal.SIGKILL)
        assert process.wait(60) == (0 if stop is None else -signal.SIGKILL)
        for pipe in (process.stdin, process.stdout):
            pipe.close()
    assert at == len(lines)
    assert state_of(path) == state


def type_in(monkeypatch, raw):
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(raw)))


def test_as_it_is_typed(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    lines = [
        '{"id": "a", "p": 0.7}',
        '{"id": "a", "y": 1}',
        "not JSON",
        '{"id": "b", "y": 1}',
        "[" * 100_000,
    ]
    type_in(monkeypatch, "\n".join(lines).encode() + b"\n")
    assert main(["stream", "s.json", "--seed", "1"]) == 1
    out = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert [set(one) for one in out] == [
        {"id", "probability"},
        {"id", "learnt"},
        {"error"},
        {"error"},
        {"error"},
    ]
    assert out[2]["error"].startswith("a line must be JSON: ")
    assert (
        out[3]["error"] == "id must be that of a prediction that waits for its outcome; 'b' is not"
    )
    type_in(monkeypatch, b'{"id": 7, "p": 0.7}\n')
    assert main(["stream", "s.json"]) == 0
    assert main(["stream", "s.json", "--grid", "64"]) == 2
    assert (
        capsys.readouterr().err
        == "rainproof: error: grid must be that of s.json, which grows; it is 64\n"
    )
    (tmp_path / "s.json").write_text("{}")
    assert main(["stream", "s.json"]) == 2
    assert capsys.readouterr().err.startswith("rainproof: error: s.json holds no stream")


def test_a_key_twice_in_a_record_is_refused(tmp_path, monkeypatch, capsys):
    """Which of two predictions was meant cannot be known."""
    lines = [
        b'{"id": "a", "p": 0.2, "p": 0.4}',
        b'{"id": "a", "id": "b", "p": 0.4}',
        b'{"id": "c", "p": {"m": 0.2, "m": 0.4}}',
        b'{"id": "d", "p": 0.4}',
    ]
    type_in(monkeypatch, b"\n".join(lines))
    assert main(["stream", str(tmp_path / "s.json"), "--seed", "1"]) == 1
    out = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert out[:3] == [{"error": "a line must be JSON: a key occurs twice"}] * 3
    assert out[3]["id"] == "d"


def test_lines_from_windows_with_a_mark_and_with_bytes_that_are_no_text(
    tmp_path, monkeypatch, capsys
):
    lines = [
        b'\xef\xbb\xbf{"id": "a", "p": 0.5}\r',
        b'{"id": "\xff", "p": 0.5}',
        b'{"id": "b", "p":\r0.5}',
        b"",
        b'{"id": "a", "y": 1}',
    ]
    type_in(monkeypatch, b"\n".join(lines))
    assert main(["stream", str(tmp_path / "s.json"), "--seed", "1"]) == 1
    out = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert [next(iter(one)) for one in out] == ["id", "error", "id", "error", "id"]
    assert out[4] == {"id": "a", "learnt": True}


@for_each("closed", ["stdin", "stdout"])
def test_a_closed_stream_is_an_error_in_a_line(tmp_path, monkeypatch, capsys, closed):
    monkeypatch.setattr(sys, closed, None)
    assert main(["stream", str(tmp_path / "s.json")]) == 2
    assert capsys.readouterr().err == "rainproof: error: standard input and output must be open\n"
    assert list(tmp_path.iterdir()) == []


def test_a_folder_is_no_state(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for folder in ("", ".", "/", tmp_path):
        with pytest.raises(
            rainproof.InputError, match=r"path must name the file of the state; .* is a folder"
        ):
            Stream(folder)
    assert not list(tmp_path.iterdir())


def test_one_process_at_a_time(tmp_path):
    path = tmp_path / "s.json"
    with Stream(path, 8, 5):
        with pytest.raises(
            InputError, match=r"cannot lock .*s\.json\.lock: is another process at work"
        ):
            Stream(path)
        code = f"from rainproof.cli import main; raise SystemExit(main(['stream', {str(path)!r}]))"
        other = subprocess.run(
            [sys.executable, "-c", code], input="", capture_output=True, text=True, check=False
        )
        assert other.returncode == 2
        assert other.stderr.startswith("rainproof: error: cannot lock")
    with Stream(path):
        pass


@contextmanager
def full_disk(monkeypatch, size):
    """No file may become larger: what fits of a write is written, as on a full disk."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    old = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
        signal.signal(signal.SIGXFSZ, old)


def test_a_full_disk_refuses_lines_and_loses_none_that_it_answered(tmp_path, monkeypatch):
    path, journal = tmp_path / "s.json", tmp_path / "s.json.journal-0"
    with Stream(path, 8, 5) as one:
        for k in range(3):
            one.answer({"id": f"row {k}", "p": 0.5})
        size = journal.stat().st_size
        with full_disk(monkeypatch, size + 10):  # ten bytes of the next line
            for k in range(3, 6):
                with pytest.raises(InputError, match="cannot write"):
                    one.answer({"id": f"row {k}", "p": 0.5})
        one.answer({"id": 6, "p": 0.5})  # shorter than what is left of the line before
        state = one._recalibrator.to_dict()
        one._leave()
        assert killed(path) == state
        assert one._recalibrator.waiting == 4


def test_a_state_that_cannot_be_written_changes_nothing(tmp_path, monkeypatch):
    monkeypatch.setattr(stream, "JOURNAL", 3)
    path = tmp_path / "s.json"
    one = Stream(path, 8, 5)
    for k in range(3):
        one.answer({"id": k, "p": 0.5})
    with full_disk(monkeypatch, 100), pytest.raises(InputError, match="cannot write"):
        one.answer({"id": 3, "p": 0.5})
    state = one._recalibrator.to_dict()
    assert one._recalibrator.waiting == 3
    one._leave()
    assert killed(path) == state
    with Stream(path) as again:
        again.answer({"id": 3, "p": 0.5})
        assert [path.name for path in tmp_path.glob("*journal*")] == ["s.json.journal-1"]


def test_a_record_that_was_interrupted_half_way_is_done_once(tmp_path, monkeypatch):
    learn = rainproof.OnlineRecalibrator.update

    def interrupted(self, y, id):  # noqa: A002
        learn(self, y, id)
        raise KeyboardInterrupt

    path = tmp_path / "s.json"
    killed(path, {"id": "a", "p": 0.5})
    monkeypatch.setattr(rainproof.OnlineRecalibrator, "update", interrupted)
    with pytest.raises(KeyboardInterrupt), Stream(path) as one:
        one.answer({"id": "a", "y": 1})
    assert one._recalibrator.n == 1
    monkeypatch.undo()
    with Stream(path) as again:
        assert again._recalibrator.n == 1
        assert again.answer({"id": "a", "y": 1}) == {"id": "a", "learnt": True}
        assert again._recalibrator.n == 1


def test_an_id_that_is_used_for_something_else_is_refused(tmp_path):
    path = tmp_path / "s.json"
    for _ in range(2):  # also after a restart
        with Stream(path, 8, 5) as one:
            one.answer({"id": "Oslo", "p": 0.25})
            one.answer({"id": "Rome", "p": 0.5})
            one.answer({"id": "Rome", "y": 1})
            for name, p in (("Oslo", 0.25), ("Rome", 0.5)):
                with pytest.raises(
                    InputError,
                    match=f"must be new for each prediction; '{name}' was that of p = {p}",
                ):
                    one.answer({"id": name, "p": 0.75})
            with pytest.raises(
                InputError, match="y must be what it was; the outcome 1 of 'Rome' is learnt already"
            ):
                one.answer({"id": "Rome", "y": 0})


def test_a_journal_of_another_state_is_not_taken_up(tmp_path, monkeypatch):
    monkeypatch.setattr(stream, "JOURNAL", 1)
    (tmp_path / "s.json.journal-2").write_bytes(b'{"id": "old", "p": 0.5}\n')
    with pytest.raises(InputError, match=r"s\.json\.journal-2 has no state file"):
        Stream(tmp_path / "s.json")
    (tmp_path / "s.json.journal-2").rename(tmp_path / "kept")
    one = Stream(tmp_path / "s.json", 8, 5)
    (tmp_path / "kept").rename(tmp_path / "s.json.journal-2")
    for name in "abc":
        one.answer({"id": name, "p": 0.5})
    one._leave()
    assert [entry[0] for entry in killed(tmp_path / "s.json")["waiting"]] == ["a", "b", "c"]


@for_each(
    "record, message",
    [
        ([], "a record must be an object"),
        ({"id": "a"}, "a record must be an object"),
        ({"id": "a", "p": 0.5, "y": 1}, "a record must be an object"),
        ({"id": 1.5, "p": 0.5}, "id must be text or an integer"),
        ({"id": "a", "p": 1.5}, r"p must be a number in \[0, 1\]"),
        ({"id": "a", "p": True}, "p must be a number"),
        (
            {"id": "a", "p": {"x": 0.5, "y": 2}},
            r"p must be a number in \[0, 1\], or an object of such by model",
        ),
        ({"id": "a", "p": {}}, "the predictions of the same models"),
        ({"id": "a", "y": 1}, "waits for its outcome; 'a' is not"),
        ({"id": "a", "y": 2}, "y must be 0 or 1"),
    ],
)
def test_what_is_refused_is_not_in_the_journal(tmp_path, record, message):
    with Stream(tmp_path / "s.json", rng=0) as one, pytest.raises(InputError, match=message):
        one.answer(record)
    assert not (tmp_path / "s.json.journal-0").exists()


def test_few_ids_are_remembered_and_few_may_wait(tmp_path, monkeypatch):
    monkeypatch.setattr(stream, "MOST_LEARNT", 2)
    monkeypatch.setattr(stream, "MOST_WAITING", 3)
    one = Stream(tmp_path / "s.json", rng=0)
    for name in "abc":
        one.answer({"id": name, "p": 0.5})
    with pytest.raises(InputError, match="3 predictions wait"):
        one.answer({"id": "d", "p": 0.5})
    for name in "abc":
        one.answer({"id": name, "y": 1})
    assert list(one._learnt) == ["b", "c"]
    one.close()


def test_several_models(tmp_path):
    path = tmp_path / "s.json"
    r = rainproof.OnlineRecalibrator(rng=5)
    both = {"old": 0.25, "new": 1}
    killed(path, {"id": "a", "p": both}, rng=5)
    made = r.predict(both, id="a")
    with Stream(path) as one:
        assert one.answer({"id": "a", "p": {"new": 1, "old": 0.25}}) == {
            "id": "a",
            "probability": made,
        }
        for bad in (0.5, {"old": 0.5}):
            with pytest.raises(InputError, match="the predictions of the same models by name"):
                one.answer({"id": "b", "p": bad})
        one.answer({"id": "a", "y": 1})
    r.update(1, id="a")
    assert state_of(path) == r.to_dict()


def test_a_state_of_before_is_refused_by_its_version(tmp_path):
    path = tmp_path / "s.json"
    killed(path)
    path.write_text(path.read_text().replace('"version": 2', '"version": 1'))
    with pytest.raises(
        InputError,
        match="a stream must have version 2, the only one that this rainproof reads; it has 1",
    ):
        Stream(path)


def test_damage_is_noticed(tmp_path):
    path = tmp_path / "s.json"
    killed(path, {"id": "a", "p": 0.5}, rng=0)
    journal = tmp_path / "s.json.journal-0"
    journal.write_bytes(b"{}\n")
    with pytest.raises(InputError, match="line 1 cannot be done again"):
        Stream(path)
    data = json.loads(path.read_text())
    path.write_text(json.dumps({**data, "learnt": ["x"]}))
    with pytest.raises(InputError, match="it is damaged"):
        Stream(path)
    path.unlink()
    with pytest.raises(InputError, match="has no state file"):
        Stream(path)
    with pytest.raises(InputError, match="cannot write"):
        Stream(tmp_path / "gone" / "s.json")


NAMES = [("s.json", "link.json"), ("link.json", "s.json"), ("link.json", "folder/again.json")]


@for_each("names", NAMES)
def test_a_symbolic_link_is_the_file_that_it_leads_to(tmp_path, names):
    """By another name the journal of a killed process was not found, and its records were lost."""
    (tmp_path / "folder").mkdir()
    (tmp_path / "link.json").symlink_to("s.json")  # to a file that is made later
    (tmp_path / "folder" / "again.json").symlink_to("../link.json")
    first, second = (tmp_path / name for name in names)
    lines = records(60)
    killed = Stream(first, 8, 5)
    answers = [killed.answer(line) for line in lines[:40]]
    with pytest.raises(InputError, match="is another process at work"):
        Stream(second, 8, 5)
    killed._leave()  # as the end of a process does: nothing is written
    rest, state = done(second, lines[40:])
    assert (answers + rest, state) == done(tmp_path / "other.json", lines)
    assert (tmp_path / "link.json").is_symlink()
    left = {"s.json", "s.json.lock", "link.json", "other.json", "other.json.lock", "folder"}
    assert {path.name for path in tmp_path.iterdir()} == left
    assert [path.name for path in (tmp_path / "folder").iterdir()] == ["again.json"]


def test_a_link_to_the_folder_that_is_changed_meanwhile_changes_no_other_state(tmp_path):
    """A folder "current" leads to the newest version."""
    for version in ("v1", "v2"):
        (tmp_path / version).mkdir()
    current = tmp_path / "current"
    current.symlink_to("v1")
    other = done(tmp_path / "v2" / "s.json", records(10, seed=1))
    lines = records(30)
    one = Stream(current / "s.json", 8, 5)
    answers = [one.answer(line) for line in lines]
    current.unlink()
    current.symlink_to("v2")
    state = one._recalibrator.to_dict()
    one.close()
    assert (answers, state) == done(tmp_path / "v1" / "s.json", lines)
    assert done(tmp_path / "v2" / "s.json", [])[1] == other[1]


def test_what_is_no_regular_file_is_no_state(tmp_path):
    os.mkfifo(tmp_path / "s.json")
    with pytest.raises(InputError, match=r"path must name the file of the state; .* regular file"):
        Stream(tmp_path / "s.json")
    assert [path.name for path in tmp_path.iterdir()] == ["s.json"]


def test_a_loop_of_links_is_refused(tmp_path):
    (tmp_path / "a.json").symlink_to("b.json")
    (tmp_path / "b.json").symlink_to("a.json")
    with pytest.raises(InputError, match=r"^cannot (read|write|lock) .*\.json"):
        Stream(tmp_path / "a.json")
