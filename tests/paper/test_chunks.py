"""Pieces of work: stored, resumed, shared out, and the same whatever happens."""

from __future__ import annotations

import json
import multiprocessing
import signal
import time
from pathlib import Path

import pytest

from paper import results
from paper.results import Chunk, Runner, fingerprint, spans
from paper.tables import repeat_table2


def count_up(path, value):
    """Work that leaves a trace."""
    with Path(path).open("a") as file:
        file.write("x")
    return {"value": value / 3}


def stop_at(path, value, last):
    if value == last:
        raise KeyboardInterrupt
    return count_up(path, value)


def pieces(path, n=5):
    return [Chunk(f"piece-{k}", count_up, (str(path), k)) for k in range(n)]


def test_what_is_done_is_not_done_again(tmp_path):
    said = []
    runner = Runner(folder=tmp_path / "pieces", progress=lambda *what: said.append(what))
    first = runner("part", pieces(tmp_path / "trace", 3))
    more = runner("part", pieces(tmp_path / "trace", 5))
    assert (tmp_path / "trace").read_text() == "xxxxx"
    assert more[:3] == first == [{"value": k / 3} for k in range(3)]
    assert said == [("part", k, 3) for k in range(4)] + [("part", k, 5) for k in (3, 4, 5)]


def test_a_run_that_was_stopped_goes_on(tmp_path):
    runner = Runner(folder=tmp_path / "pieces")
    trace = tmp_path / "trace"
    with pytest.raises(KeyboardInterrupt):
        runner("part", [Chunk(f"piece-{k}", stop_at, (str(trace), k, 3)) for k in range(5)])
    assert trace.read_text() == "xxx"
    assert runner("part", pieces(trace)) == [{"value": k / 3} for k in range(5)]
    assert trace.read_text() == "xxxxx"


def test_parts_do_not_mix(tmp_path):
    runner = Runner(folder=tmp_path / "pieces")
    runner("one", pieces(tmp_path / "trace", 1))
    runner("two", pieces(tmp_path / "trace", 1))
    assert (tmp_path / "trace").read_text() == "xx"


def test_other_code_does_not_mix(tmp_path, monkeypatch):
    runner = Runner(folder=tmp_path / "pieces")
    runner("part", pieces(tmp_path / "trace", 1))
    assert len(fingerprint()) == 12
    monkeypatch.setattr(results, "fingerprint", lambda: "other")
    runner("part", pieces(tmp_path / "trace", 1))
    assert (tmp_path / "trace").read_text() == "xx"


def test_two_processes_and_one_give_the_same(tmp_path):
    work = [Chunk(f"piece-{a}", repeat_table2, (3, 1, a, a + 1)) for a in range(4)]
    one = Runner(folder=tmp_path / "one")("part", work)
    two = Runner(folder=tmp_path / "two", jobs=2)("part", work)
    assert one == two
    files = [
        {p.name: p.read_text() for p in (tmp_path / who).rglob("*.json")} for who in ("one", "two")
    ]
    assert files[0] == files[1]
    assert len(files[0]) == 4


def test_a_failure_in_another_process_comes_back(tmp_path):
    wrong = [Chunk("a", repeat_table2, (0, 9, 0, 1)), Chunk("b", repeat_table2, (0, 0, 0, 1))]
    with pytest.raises(IndexError):
        Runner(folder=tmp_path, jobs=2)("part", wrong)


def test_stopping_does_not_wait_for_the_rest(tmp_path):
    """Ctrl-C comes while a worker sleeps for days; what is stored stays, and no worker is left
    behind.
    """

    def stop(part, done, total):
        if done:
            raise KeyboardInterrupt

    work = [
        Chunk("quick", max, (1, 2)),
        *(Chunk(f"slow-{k}", time.sleep, (10**6,)) for k in range(3)),
    ]
    started = set(multiprocessing.active_children())
    with pytest.raises(KeyboardInterrupt):
        Runner(folder=tmp_path, jobs=2, progress=stop)("part", work)
    assert [file.name for file in tmp_path.rglob("*.json")] == ["quick.json"]
    assert not set(multiprocessing.active_children()) - started


def test_workers_leave_ctrl_c_to_the_parent():
    before = signal.getsignal(signal.SIGINT)
    try:
        results._leave_stopping_to_the_parent()
        assert signal.getsignal(signal.SIGINT) is signal.SIG_IGN
    finally:
        signal.signal(signal.SIGINT, before)


def test_repeats_do_not_depend_on_their_piece():
    whole = repeat_table2(0, 1, 0, 4)
    assert whole == repeat_table2(0, 1, 0, 2) + repeat_table2(0, 1, 2, 4)
    assert whole != repeat_table2(1, 1, 0, 4)
    assert json.loads(json.dumps(whole)) == whole


def test_spans():
    assert spans(7, 3) == [(0, 3), (3, 6), (6, 7)]
    assert spans(0, 3) == []
