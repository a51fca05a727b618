"""Reading ahead changes neither the items nor the errors, and ends with its reader."""

from __future__ import annotations

import threading

import pytest

from rainproof.io import prefetching
from rainproof.io.prefetching import prefetch


@pytest.fixture(autouse=True)
def all_the_time_it_needs(monkeypatch):
    """The reader always ends in these tests, but on a busy machine not within a second."""
    monkeypatch.setattr(prefetching, "SECONDS_TO_CLOSE", None)


def readers():
    return [thread for thread in threading.enumerate() if thread.name == "rainproof-read"]


def test_the_items_in_order():
    for items in (list(range(50)), [], [None, None]):
        assert list(prefetch(item for item in items)) == items
    assert not readers()


def test_an_error_comes_after_the_items_before_it():
    def items():
        yield 1
        raise ValueError("broken")

    seen = []
    with pytest.raises(ValueError, match=r"^broken$"):
        seen.extend(iter(prefetch(items())))
    found = prefetch(items())
    assert next(found) == 1
    with pytest.raises(ValueError, match=r"^broken$"):
        next(found)
    assert not readers()


def test_who_leaves_early_leaves_nothing_open():
    closed = threading.Event()

    def items():
        try:
            yield from range(1000)
        finally:
            closed.set()

    found = prefetch(items())
    assert next(found) == 0
    found.close()
    assert closed.is_set()
    assert not readers()
