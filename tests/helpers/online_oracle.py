"""An online forecast straight from its definition, one number at a time."""

from __future__ import annotations

import math
from fractions import Fraction
from functools import lru_cache

import numpy as np

WORD = 2**64 - 1
FORGETTING = (0, 1 / 3000, 1 / 300)


def splitmix(z):
    z = (z + 0x9E3779B97F4A7C15) & WORD
    z = ((z ^ (z >> 30)) * 0xBF58476D1CE4E5B9) & WORD
    z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) & WORD
    return z ^ (z >> 31)


@lru_cache
def points(m):
    found = {Fraction(1, 2)}
    for k in range(1, 30):
        at, end = Fraction(1, 2 ** (k + 1)), Fraction(1, 2**k)
        step = min(Fraction(1, m * 2 ** (k // 2)), at)
        while at < end:
            found |= {at, 1 - at}
            at += step
    return sorted(map(float, found))


def cut(z):
    return min(max(z, -30 * math.log(2)), 30 * math.log(2))


def log_odds(p):
    return math.copysign(30 * math.log(2), p - 0.5) if p in (0, 1) else cut(math.log(p / (1 - p)))


class Line:
    """A logistic regression on the log odds, by Newton steps; the matrix starts from the
    identity.
    """

    def __init__(self, forgetting):
        self.forgetting = forgetting
        self.at, self.matrix = np.array([0.0, 1.0]), np.eye(2)

    def predict(self, p):
        return 1 / (1 + math.exp(-cut(self.at @ [1, log_odds(p)])))

    def learn(self, p, y):
        q, x = self.predict(p), np.array([1, log_odds(p)])
        old = (1 - self.forgetting) * self.matrix + self.forgetting * np.eye(2)
        self.matrix = old + q * (1 - q) * np.outer(x, x)
        self.at = self.at + np.linalg.solve(self.matrix, (y - q) * x)


class Rates:
    """The event rates of 16 cells, each with one outcome at its centre before the first."""

    def __init__(self, recent):
        self.recent = recent
        self.seen = {}

    def _cell(self, p):
        return min(int(16 * p), 15)

    def predict(self, p):
        cell = self._cell(p)
        rate = (cell + 0.5) / 16
        for number, y in enumerate(self.seen.get(cell, []), 1):
            rate += max(1 / (number + 1), self.recent) * (y - rate)
        return rate

    def learn(self, p, y):
        self.seen.setdefault(self._cell(p), []).append(y)


class Itself:
    def predict(self, p):
        return p

    def learn(self, p, y):
        pass


class Oracle:
    """All sums are kept by the value of the prediction, so that a finer grid needs no care."""

    def __init__(self, seed, m, grows=False, models=1):
        self.seed, self.m, self.grows, self.models = seed, m, grows, models
        self.coins = self.n = self.batches = self.made = self.oldest = 0
        self.scale, self.fresh = 1, True
        self.bias, self.margin, self.spread = {}, {}, {}
        self.members = [
            (k, member)
            for k in range(models)
            for member in (Itself(), *map(Line, FORGETTING), Rates(0), Rates(1 / 60))
        ]
        self.prior = np.array(
            [(0.5 if isinstance(one, Itself) else 0.1) / models for _, one in self.members]
        )
        self.weight = self.prior.copy()

    def toss(self):
        key = splitmix(self.seed)
        u = (splitmix((key + self.coins * 0x9E3779B97F4A7C15) & WORD) >> 11) / 2**53
        self.coins += 1
        return u

    def said(self, p):
        return np.array([one.predict(p[k]) for k, one in self.members])

    def shared(self):
        """The weights of the next prediction."""
        share = 1 / (self.batches + 1) if self.fresh else 0
        return (1 - share) * self.weight + share * self.prior

    def mean(self, p):
        return float(self.shared() @ self.said(p))

    def beyond(self, v):
        """The bias beyond the margin if it is too large, in units of the scale, with its sign; else
        0.
        """
        bias, margin, spread = (table.get(v, 0) for table in (self.bias, self.margin, self.spread))
        r, c = (abs(bias) - margin) / self.scale, spread / self.scale
        lowest, highest = 2.0**-30, 1 - 2.0**-30
        if r <= math.sqrt(c + 1) or (bias < 0 and v == lowest) or (bias > 0 and v == highest):
            return 0.0
        return math.copysign(r, bias)

    def weigh(self, v):
        r, room = abs(self.beyond(v)), 6 * (self.spread[v] / self.scale + 1)
        return (math.exp((r + 1) ** 2 / room) - math.exp((r - 1) ** 2 / room)) / 2

    def ends(self, start):
        """Where a walk may end: pairs of point and probability."""
        at = points(self.m)
        i = min(range(len(at)), key=lambda i: abs(at[i] - start))
        step = 1 if self.beyond(at[i]) > 0 else -1
        while self.beyond(at[i]) * step > 0:
            i += step
        if self.beyond(at[i]) == 0:
            return [(at[i], 1.0)]
        low = min(i, i - step)
        below, above = self.weigh(at[low]), self.weigh(at[low + 1])
        return [(at[low], above / (below + above)), (at[low + 1], below / (below + above))]

    def predict(self, p):
        u = self.toss()
        if self.fresh:
            self.weight = self.shared()
            self.batches += 1
            if max(self.made, self.oldest) <= self.scale / 2:
                self.scale = max(self.scale // 2, 1)
            self.made, self.oldest, self.fresh = 0, 0, False
        self.made += 1
        if self.made > self.scale:
            self.scale *= 2
        found = self.ends(self.mean(p))
        margin = 0 if len(found) == 1 else (found[1][0] - found[0][0]) / 2
        return (
            (found[0][0] if u < found[0][1] else found[1][0]),
            margin,
            self.coins,
            p,
            self.said(p),
        )

    def learn(self, value, margin, coins, p, said, y):
        age = self.coins - coins + 1
        self.oldest = max(self.oldest, age)
        if age > self.scale:
            self.scale *= 2
        for table, more in (
            (self.bias, y - value),
            (self.margin, margin),
            (self.spread, abs(y - value) + margin),
        ):
            table[value] = table.get(value, 0) + more
        self.weight = self.weight * (said if y else 1 - said) ** (1 / self.scale)
        self.weight = np.maximum(self.weight / self.weight.sum(), 1e-100)
        for k, one in self.members:
            one.learn(p[k], y)
        self.n, self.fresh = self.n + 1, True
        if self.grows and self.n >= self.scale * (self.m * math.log2(self.m)) ** 2:
            self.m *= 2
