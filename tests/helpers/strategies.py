"""Samples that break careless code: ties, grid points, the ends of [0, 1], denormals, heavy
weights.
"""

from __future__ import annotations

import numpy as np
from hypothesis import strategies as st

AWKWARD = [
    0.0,
    1.0,
    0.5,
    0.25,
    0.75,
    1 / 3,
    0.1,
    0.9,
    1e-12,
    1e-9,
    5e-324,
    1 - 2**-53,
    2**-16,
    0.5 + 2**-52,
]

probabilities = st.one_of(
    st.floats(0, 1, allow_subnormal=True),
    st.sampled_from(AWKWARD),
    st.integers(0, 16).map(lambda k: k / 16),
    st.integers(0, 10).map(lambda k: k / 10),
)
weights = st.one_of(st.floats(1e-6, 1e6), st.sampled_from([0.0, 1.0, 2.0, 0.1, 1e9, 1e-9]))


@st.composite
def samples(draw, max_size=25, weighted=None):
    """(y, p, w), with w None or not all zero."""
    p = draw(st.lists(probabilities, min_size=1, max_size=max_size))
    n = len(p)
    y = draw(
        st.one_of(
            st.just([0] * n), st.just([1] * n), st.lists(st.integers(0, 1), min_size=n, max_size=n)
        )
    )
    w = None
    if weighted or (weighted is None and draw(st.booleans())):
        w = np.array(draw(st.lists(weights, min_size=n, max_size=n)))
        w[0] = max(w[0], 1e-3)
    return np.array(y), np.array(p), w


powers = st.integers(1, 6).map(lambda k: 2**k)
