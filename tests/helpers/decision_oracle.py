"""Decisions row by row and swap function by swap function, in fractions: slow, and straight from
the definitions.
"""

from __future__ import annotations

from fractions import Fraction
from itertools import product

import numpy as np
from hypothesis import strategies as st

import rainproof


def best_action(payoffs, p):
    """The best action at p; of several the one that a higher p would choose (at 1 a lower), of
    equal ones the first.
    """
    p = Fraction(float(p))
    lines = [[Fraction(float(u)) for u in row] for row in payoffs]
    value = [(1 - p) * low + p * high for low, high in lines]
    rise = [(high - low) * (1 if p < 1 else -1) for low, high in lines]
    return max(range(len(lines)), key=lambda a: (value[a], rise[a], -a))


def brute_regret(y, taken, w, payoffs, labels=None):
    """The largest gain over ALL swap functions, in the payoffs' units, for actions taken with these
    probabilities.

    A swap function maps (label, action) to an action; with one label for all it is a swap of
    actions.
    """
    k, labels = len(payoffs), [0] * len(y) if labels is None else list(labels)
    w = [1.0] * len(y) if w is None else w
    total = sum(Fraction(float(x)) for x in w)
    best = Fraction(0)
    for label in sorted(set(labels)):
        gains = []
        for swap in product(range(k), repeat=k):
            gain = Fraction(0)
            for row in (t for t in range(len(y)) if labels[t] == label):
                for a in range(k):
                    change = Fraction(float(payoffs[swap[a]][int(y[row])])) - Fraction(
                        float(payoffs[a][int(y[row])])
                    )
                    gain += Fraction(float(w[row])) * Fraction(float(taken[row][a])) * change
            gains.append(gain)
        best += max(gains)
    return best / total


def best_taken(p, payoffs):
    """The best response as probabilities of actions."""
    return np.eye(len(payoffs))[[best_action(payoffs, x) for x in p]]


def rounded_taken(p, payoffs, m):
    """The rounded response: p goes to the next multiples of 1/m, on average to itself, and then
    acts.
    """
    taken = np.zeros((len(p), len(payoffs)))
    for row, x in enumerate(np.asarray(p, float)):
        low = int(np.floor(x * m))
        up = x * m - low
        for j, share in ((low, 1 - up), (low + 1, up)):
            if share > 0:
                taken[row, best_action(payoffs, j / m)] += share
    return taken


class Rounded:
    """The rounded response as an object that `swap_regret` takes."""

    def __init__(self, task, m):
        self.task, self.m = task, m

    def probabilities(self, p):
        return rounded_taken(p, self.task.payoffs, self.m)


numbers = st.one_of(st.integers(-8, 8).map(float), st.floats(-1e3, 1e3).map(lambda x: round(x, 3)))


@st.composite
def tasks(draw, max_actions=3):
    """Tasks with ties, dominated and equal actions; integer payoffs often cross at a prediction."""
    k = draw(st.integers(2, max_actions))
    payoffs = draw(
        st.lists(st.tuples(numbers, numbers), min_size=k, max_size=k).filter(
            lambda u: len(set(u)) > 1
        )
    )
    return rainproof.DecisionTask.from_payoffs(payoffs)


def mixture_weights(task):
    """The weight of each threshold in the mixture that a task is, as a share of its scale."""
    chosen = np.array([task.payoffs[a] for a in task.order])
    return np.diff(chosen[:, 1] - chosen[:, 0]) / task.scale
