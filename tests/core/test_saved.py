"""One `save`, one `load`: what a file holds is known, kept and checked; what is left of killed
writers is swept.
"""

from __future__ import annotations

import signal
import subprocess
import sys

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from helpers.cases import for_each

import rainproof
from rainproof.core import files
from rainproof.core.files import atomic_output, write_atomic

SAMPLE = rainproof.Sample([0, 1, 1], [0.2, 0.8, 0.6]).compress(8)
THINGS = {
    "sample": (SAMPLE, "a.parquet"),
    "segments": (rainproof.io.Segments.from_samples({1: SAMPLE, "x": SAMPLE}, "s"), "b.parquet"),
    "policy": (rainproof.RoundingPolicy(rainproof.DecisionTask.threshold(0.3), 8), "c.json"),
    "recalibrator": (
        rainproof.Recalibrator(["logistic"], rng=0).fit([0.2, 0.4, 0.7] * 20, [0, 1, 1] * 20),
        "d.json",
    ),
    "online recalibrator": (rainproof.OnlineRecalibrator(8, rng=0), "e.json"),
}


@for_each("kind", THINGS)
def test_a_file_says_what_it_holds(tmp_path, kind):
    thing, name = THINGS[kind]
    for _ in range(2):  # one of the same kind is replaced
        assert thing.save(tmp_path / name) is None
    again = rainproof.load(str(tmp_path / name))
    assert type(again) is type(thing)
    assert repr(again) == repr(thing)
    assert [path.name for path in tmp_path.iterdir()] == [name]


@for_each("kind", THINGS)
def test_other_files_are_not_overwritten(tmp_path, kind):
    thing, _ = THINGS[kind]
    table = tmp_path / "rows.parquet"
    pq.write_table(pa.table({"p": [0.5]}), table)
    others = {
        "rows.csv": b"p,y\n0.5,1\n",
        "a.json": b'{"a": 1}',
        "b.bin": b"\0\1",
        "rows.parquet": table.read_bytes(),
    }
    others["cut.parquet"] = others["rows.parquet"][:20]
    for other, (something, _) in THINGS.items():
        if other != kind and {other, kind} != {"sample", "segments"}:
            something.save(tmp_path / "other")
            others[f"a {other}"] = (tmp_path / "other").read_bytes()
            (tmp_path / "other").unlink()
    for other, raw in others.items():
        path = tmp_path / other
        path.write_bytes(raw)
        with pytest.raises(
            rainproof.InputError,
            match=rf"{other} exists and holds no .*, and is not overwritten; overwrite=True",
        ):
            thing.save(path)
        assert path.read_bytes() == raw
        thing.save(path, overwrite=True)
        assert type(rainproof.load(path)) is type(thing)
    (tmp_path / "empty").touch()
    thing.save(tmp_path / "empty")


def test_what_is_no_such_file_is_named(tmp_path):
    path = tmp_path / "x"
    for raw, what in {
        b"p,y\n0.5,1\n": "text",
        b"": "empty",
        b"\x7fELF\0\0": "binary",
        b'{"format": "rainproof policy"}': "JSON of another kind, or was changed since it was written",
        b'{\n  "format": "rainproof umbrella",\n': "an umbrella",
        b'{\n  "format": "rainproof stream",\n': "the state of 'rainproof stream', which that command reads",
    }.items():
        path.write_bytes(raw)
        with pytest.raises(
            rainproof.InputError, match=f"x holds nothing that rainproof.load reads: it is {what}$"
        ):
            rainproof.load(path)


def test_no_file_is_read_whole_to_see_what_it_is(tmp_path):
    path = tmp_path / "huge.csv"
    with path.open("wb") as file:
        file.truncate(1 << 40)
    with pytest.raises(rainproof.InputError, match="it is binary"):
        rainproof.load(path)


KILLED = """
import sys
from pathlib import Path
from rainproof.core.files import atomic_output
with atomic_output(Path(sys.argv[1])):
    print("ready", flush=True)
    sys.stdin.read()
"""


def start(path):
    command = [sys.executable, "-c", KILLED, str(path)]
    process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    assert process.stdout.readline() == b"ready\n"
    return process


def left(folder):
    return [path.name for path in folder.iterdir() if path.name.startswith(".rainproof-")]


def test_what_a_killed_process_left_is_removed_by_the_next_that_writes(tmp_path):
    others = [".rainproof-notes.tmp", ".rainproof-0123456789abcdef.tmp.bak", "0123456789abcdef.tmp"]
    for name in others:
        (tmp_path / name).touch()
    (tmp_path / ".rainproof-0123456789abcdef.tmp").symlink_to(others[-1])
    (tmp_path / ".rainproof-0123456789abcde0.tmp").mkdir()
    kept = set(left(tmp_path))
    with start(tmp_path / "a.json") as killed, start(tmp_path / "b.json") as alive:
        assert len(left(tmp_path)) == len(kept) + 2
        killed.send_signal(signal.SIGKILL)
        killed.wait()
        write_atomic(tmp_path / "c.json", "whole")
        assert len(left(tmp_path)) == len(kept) + 1  # that of the process that is alive
        alive.communicate()
    assert alive.returncode == 0
    assert (tmp_path / "b.json").exists()
    assert set(left(tmp_path)) == kept
    assert not (tmp_path / "a.json").exists()


def test_many_writers_in_one_folder_do_not_sweep_each_other(tmp_path):
    code = """
import sys
from pathlib import Path
from rainproof.core.files import write_atomic
for k in range(40):
    write_atomic(Path(f"{sys.argv[1]}-{k}"), "whole")
"""
    processes = [
        subprocess.Popen([sys.executable, "-c", code, str(k)], cwd=tmp_path) for k in range(4)
    ]
    assert [process.wait() for process in processes] == [0] * 4
    assert len(list(tmp_path.iterdir())) == 160


def test_a_file_that_is_swept_before_it_is_held_is_made_again(tmp_path, monkeypatch):
    fcntl = files._unix_locks()

    class Late:
        LOCK_EX, LOCK_NB = fcntl.LOCK_EX, fcntl.LOCK_NB
        swept = 0

        def flock(self, descriptor, how):
            if not how & fcntl.LOCK_NB and not Late.swept:
                Late.swept = len(left(tmp_path))
                for name in left(tmp_path):
                    (tmp_path / name).unlink()
            fcntl.flock(descriptor, how)

    monkeypatch.setattr(files, "_unix_locks", Late)
    write_atomic(tmp_path / "a", "whole")
    assert Late.swept == 1
    assert [path.name for path in tmp_path.iterdir()] == ["a"]


def test_without_locks_of_unix(tmp_path, monkeypatch):
    """Windows: what is open cannot be removed there, and need not be locked."""
    monkeypatch.setitem(sys.modules, "fcntl", None)
    (tmp_path / ".rainproof-0123456789abcdef.tmp").touch()
    with atomic_output(tmp_path / "a") as temporary:
        assert left(tmp_path) == [temporary.name]
        temporary.write_text("whole")
    assert [path.name for path in tmp_path.iterdir()] == ["a"]


def test_a_folder_that_cannot_be_listed_is_written_to(tmp_path):
    (tmp_path / "drop").mkdir(mode=0o300)
    write_atomic(tmp_path / "drop" / "a", "whole")
    assert (tmp_path / "drop" / "a").read_text() == "whole"
