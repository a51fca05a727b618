"""Calibration measures and scores: pure functions of a sample."""

from rainproof.core import lazy

__getattr__, __dir__ = lazy(__name__)
