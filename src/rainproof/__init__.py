"""rainproof: what can a decision lose by acting on these predicted probabilities?

>>> import rainproof
>>> y = [0, 0, 1, 0, 1, 1, 0, 1]
>>> p = [0.1, 0.2, 0.3, 0.4, 0.6, 0.7, 0.8, 0.9]
>>> rainproof.soft_binned_cdl(y, p)
0.125

What most users need is here. All else is in `rainproof.measures`, `.decisions`, `.inference`,
`.recalibration`, `.clinical`, `.io` and `.plots`; the types of what functions return are in
`.results`. Each name has one place.
"""

from rainproof.core import VERSION, lazy

__version__ = VERSION
__getattr__, __dir__ = lazy(__name__)
