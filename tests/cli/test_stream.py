"""`brolly stream`: one line in, one line out, and a kill at any point loses and repeats nothing."""

from __future__ import annotations

import io
import json
import signal
import subprocess
import sys

import numpy as np
import pytest

import brolly
from brolly import InputError
from brolly.cli import main
from brolly.recalibration import stream
from brolly.recalibration.stream import Stream


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
    r = brolly.OnlineRecalibrator(8, rng=5)
    for line, answer in zip(lines, answers, strict=True):
        if "p" in line:
            assert answer == {"id": line["id"], "probability": r.predict(line["p"], id=line["id"])}
        else:
            r.update(line["y"], id=line["id"])
            assert answer == {"id": line["id"], "learnt": True}
    assert state == r.to_dict()
    assert [path.name for path in tmp_path.iterdir()] == ["s.json"]


def test_lines_sent_again_are_answered_and_not_learnt_again(tmp_path):
    lines = records(100)
    answers, state = done(tmp_path / "once.json", lines)
    path = tmp_path / "twice.json"
    with Stream(path, 8, 5) as one:
        for line, answer in zip(lines, answers, strict=True):
            assert one.answer(line) == answer
            assert one.answer(line) == answer
        assert one._recalibrator.to_dict() == state


@pytest.mark.parametrize("seed", range(3))
def test_stopping_anywhere_changes_nothing(tmp_path, monkeypatch, seed):
    """The process ends without a word before or after any write, and is started again; also while the journal turns."""
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

    for name in ("_do", "_snapshot", "_turn", "_check"):
        monkeypatch.setattr(Stream, name, maybe(getattr(Stream, name)))
    at, one, kills = 0, None, 0
    while at < len(lines):
        try:
            one = one or Stream(path, 8, 5)
            assert one.answer(lines[at]) == answers[at]
            at += 1
        except Killed:
            one, kills = None, kills + 1
    monkeypatch.undo()
    assert kills > 5
    assert Stream(path)._recalibrator.to_dict() == state


def test_a_torn_line_at_the_end_was_never_answered(tmp_path):
    path = tmp_path / "s.json"
    one = Stream(path, 8, 5)
    one.answer({"id": "a", "p": 0.5})
    journal = tmp_path / "s.json.journal-0"
    with journal.open("ab") as file:
        file.write(b'{"id": "a", "y"')
    again = Stream(path)
    assert again._recalibrator.waiting == 1
    again.answer({"id": "a", "y": 1})
    assert Stream(path)._recalibrator.n == 1


def test_killed_for_real(tmp_path):
    lines = records(2000, 4)
    answers, state = done(tmp_path / "calm.json", lines)
    path = tmp_path / "killed.json"
    command = [sys.executable, "-c", "import sys; from brolly.cli import main; sys.exit(main(sys.argv[1:]))", "stream"]
    command += [str(path), "--grid", "8", "--seed", "5"]
    at = 0
    for stop in (137, 1500, None):  # answers to read before the kill, with as many lines under way as the pipe holds
        process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
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
    assert Stream(path)._recalibrator.to_dict() == state


def test_as_it_is_typed(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    lines = ['{"id": "a", "p": 0.7}', '{"id": "a", "y": 1}', "not JSON", '{"id": "b", "y": 1}', "[" * 100_000]
    monkeypatch.setattr(sys, "stdin", io.StringIO("\n".join(lines) + "\n"))
    assert main(["stream", "s.json", "--seed", "1"]) == 1
    out = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert [set(one) for one in out] == [{"id", "probability"}, {"id", "learnt"}, {"error"}, {"error"}, {"error"}]
    assert out[2]["error"].startswith("a line must be JSON: ")
    assert out[3]["error"] == "id must be that of a prediction that waits for its outcome; 'b' is not"
    monkeypatch.setattr(sys, "stdin", io.StringIO('{"id": 7, "p": 0.7}\n'))
    assert main(["stream", "s.json"]) == 0
    (tmp_path / "s.json").write_text("{}")
    assert main(["stream", "s.json"]) == 2
    assert capsys.readouterr().err.startswith("brolly: error: s.json holds no stream")


@pytest.mark.parametrize(
    ("record", "message"),
    [
        ([], "a record must be an object"),
        ({"id": "a"}, "a record must be an object"),
        ({"id": "a", "p": 0.5, "y": 1}, "a record must be an object"),
        ({"id": 1.5, "p": 0.5}, "id must be text or an integer"),
        ({"id": "a", "p": 1.5}, r"p must be a number in \[0, 1\]"),
        ({"id": "a", "p": True}, "p must be a number"),
        ({"id": "a", "y": 1}, "waits for its outcome; 'a' is not"),
        ({"id": "a", "y": 2}, "y must be 0 or 1"),
    ],
)
def test_what_is_refused_is_not_in_the_journal(tmp_path, record, message):
    one = Stream(tmp_path / "s.json", rng=0)
    with pytest.raises(InputError, match=message):
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


def test_damage_is_noticed(tmp_path):
    path = tmp_path / "s.json"
    Stream(path, rng=0).answer({"id": "a", "p": 0.5})
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
