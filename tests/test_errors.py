"""Errors travel between processes."""

from __future__ import annotations

import copy
import pickle

import pytest

import brolly


@pytest.mark.parametrize("travel", [lambda error: pickle.loads(pickle.dumps(error)), copy.copy])
@pytest.mark.parametrize(
    "error",
    [
        brolly.MissingExtraError("reading Parquet", "PyArrow", "files"),
        brolly.InputError.from_offenders("p must lie in [0, 1]", 2, "p[3]", 1.5),
    ],
    ids=lambda error: type(error).__name__,
)
def test_an_error_arrives_whole(error, travel):
    arrived = travel(error)
    assert type(arrived) is type(error)
    assert str(arrived) == str(error)
    assert vars(arrived) == vars(error)
