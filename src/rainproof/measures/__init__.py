"""Calibration measures and scores: pure functions of a sample.

`soft_binned_cdl`, `measure_all` and `list_measures` are in `rainproof` itself.
"""

from rainproof.core import lazy

__getattr__, __dir__ = lazy(__name__)
