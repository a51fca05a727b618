"""All samples of a few rows, with their chances: exact answers where a simulation would only
estimate.
"""

from __future__ import annotations

import math
from collections import Counter
from itertools import product


def all_samples(atoms, weight):
    """Yield predictions, outcomes, weights and chance of each sample, one for all orders of the
    same rows.

    An atom is a prediction, an outcome and its chance; a sample has as many rows as there are
    weights.
    """
    chances = Counter()
    for rows in product(atoms, repeat=len(weight)):
        weighted = sorted((p, y, float(w)) for (p, y, _), w in zip(rows, weight, strict=True))
        chances[tuple(weighted)] += math.prod(chance for *_, chance in rows)
    for rows, chance in chances.items():
        yield *zip(*rows, strict=True), chance
