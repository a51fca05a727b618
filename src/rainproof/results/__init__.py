"""The types of what the functions return."""

from rainproof.core import lazy

__getattr__, __dir__ = lazy(__name__)
