"""The rounding as docs/reference/formats.md defines it, in Python integers and exact fractions:
slow and obvious.
"""

from __future__ import annotations

import re
from fractions import Fraction

WORD = 2**64
GAMMA = 0x9E3779B97F4A7C15


def splitmix(z):
    """S(z): the first output of SplitMix64 started from state z."""
    z = (z + GAMMA) % WORD
    z = (z ^ z >> 30) * 0xBF58476D1CE4E5B9 % WORD
    z = (z ^ z >> 27) * 0x94D049BB133111EB % WORD
    return z ^ z >> 31


def fnv(data):
    """FNV-1a, 64 bits."""
    x = 0xCBF29CE484222325
    for byte in data:
        x = (x ^ byte) * 0x100000001B3 % WORD
    return x


def name(ident):
    """x: what an id is hashed by."""
    data = ident if isinstance(ident, bytes) else str(ident).encode()
    if re.fullmatch(rb"0|-?[1-9][0-9]*", data) and -(2**63) <= int(data) < WORD:
        return int(data) % WORD
    return fnv(data)


def uniform(ident, seed):
    """u, exactly."""
    return Fraction(splitmix((splitmix(seed) + name(ident) * GAMMA) % WORD) >> 11, 2**53)


def rounded(p, ident, seed, m):
    """p', exactly."""
    low = Fraction(p) * m // 1
    up = uniform(ident, seed) < Fraction(p) * m - low
    return Fraction(low + up, m)
