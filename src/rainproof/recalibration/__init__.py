"""Recalibration: maps from predictions to better ones, how they are fitted and chosen, and what is
proven of them.
"""

from rainproof.core import lazy

__getattr__, __dir__ = lazy(__name__)
