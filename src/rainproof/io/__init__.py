"""Rows from any engine and of any size: read, compressed, stored."""

from rainproof.core import lazy

__getattr__, __dir__ = lazy(__name__)
