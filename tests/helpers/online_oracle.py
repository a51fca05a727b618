"""An online forecast straight from its definition, one number at a time."""

from __future__ import annotations

import math

WORD = 2**64 - 1


def splitmix(z):
    z = (z + 0x9E3779B97F4A7C15) & WORD
    z = ((z ^ (z >> 30)) * 0xBF58476D1CE4E5B9) & WORD
    z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) & WORD
    return z ^ (z >> 31)


class Oracle:
    """All sums are kept by the value of the prediction, so that a finer grid needs no care."""

    def __init__(self, seed, m, grows=False):
        self.seed, self.m, self.grows = seed, m, grows
        self.coins = self.n = self.events = 0
        self.bias, self.margin, self.number = {}, {}, {}

    def toss(self):
        key = splitmix(self.seed)
        u = (splitmix((key + self.coins * 0x9E3779B97F4A7C15) & WORD) >> 11) / 2**53
        self.coins += 1
        return u

    def beyond(self, v):
        """The bias beyond the margin if it is too large, with its sign; else 0."""
        bias, margin, number = (table.get(v, 0) for table in (self.bias, self.margin, self.number))
        if abs(bias) - margin <= math.sqrt(number + 1):
            return 0.0
        return math.copysign(abs(bias) - margin, bias)

    def weight(self, v):
        r, room = abs(self.beyond(v)), 3 * (self.number[v] + 1)
        return (math.exp((r + 1) ** 2 / room) - math.exp((r - 1) ** 2 / room)) / 2

    def ends(self, i):
        """Where a walk from point i may end: pairs of point and probability."""
        m = self.m
        step = 1 if self.beyond(i / m) > 0 else -1
        if self.beyond(i / m) == 0:
            return [(i, 1.0)]
        while self.beyond(i / m) * step > 0:
            i += step
        if self.beyond(i / m) == 0:
            return [(i, 1.0)]
        low = min(i, i - step)
        below, above = self.weight(low / m), self.weight((low + 1) / m)
        return [(low, above / (below + above)), (low + 1, below / (below + above))]

    def predict(self, x):
        down = math.floor(self.m * x)
        u, v = self.toss(), self.toss()
        found = self.ends(down + (u < self.m * x - down))
        self.tossed = len(found) == 2
        return found[0][0] if v < found[0][1] else found[1][0]

    def shares(self, x):
        down = math.floor(self.m * x)
        up = self.m * x - down
        found = [0.0] * (self.m + 1)
        for start, share in ((down, 1 - up), (down + 1, up)):
            for i, chance in self.ends(start) if share else []:
                found[i] += share * chance
        return found

    def learn(self, i, y):
        v = i / self.m
        self.bias[v] = self.bias.get(v, 0) + y - v
        self.margin[v] = self.margin.get(v, 0) + (0.5 / self.m if self.tossed else 0)
        self.number[v] = self.number.get(v, 0) + 1
        self.n, self.events = self.n + 1, self.events + y
        if self.grows and self.n >= (self.m * math.log2(self.m)) ** 2:
            self.m *= 2

    def base(self):
        return (self.events + 0.5) / (self.n + 1)
