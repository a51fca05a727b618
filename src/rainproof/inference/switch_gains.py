"""Proven gains by a switch from one forecast to another: some decision gains at least this.

Also how the decision is chosen that each block of rows bets on; a forecast and a correction of it
are two such forecasts (`rainproof.inference.proven_losses`). How the choice is made needs no proof:
docs/theory/bounds.md, "Lower bounds".
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from rainproof.core._switch import sum_cells
from rainproof.core.curve import Chord
from rainproof.core.sample import Sample
from rainproof.core.switch_curve import SwitchCurve
from rainproof.core.validation import ThresholdRange
from rainproof.inference.lower_bounds import lower_bound
from rainproof.inference.options import Seed
from rainproof.inference.wagers import (
    Betting,
    Cells,
    Gains,
    Places,
    Rule,
    Tally,
    Wagers,
    reached_by,
)

# Of a task with two thresholds there are 18 kinds of rows: how many thresholds the old and the new
# prediction reach, and the outcome.
_OLD_REACHED, _NEW_REACHED, _OUTCOME = np.unravel_index(np.arange(18), (3, 3, 2))
_EACH_THRESHOLD = np.arange(2)
# Whether the new prediction acts in place of the old one (1), or the old one alone acts (-1), by
# kind of row and threshold.
_NEW_ACTS = (_NEW_REACHED[:, np.newaxis] > _EACH_THRESHOLD) * 1.0
_SWITCHED = _NEW_ACTS - (_OLD_REACHED[:, np.newaxis] > _EACH_THRESHOLD)


class GainOfChoice(NamedTuple):
    """What some decision gains by the second forecast in place of the first."""

    estimate: float  # the mean gain of the chosen task on rows that did not choose it: unbiased
    at_least: float  # the lower bound, of some task


def gain_at_least(
    sample: Sample,
    delta: float,
    rng: Seed,
    within: ThresholdRange | None = None,
) -> float | None:
    """There is a decision that gains at least this by the second forecast of a sample in place of
    the first.

    None if compressed rows of unequal weights cannot be divided.
    """
    if not sample.units.divisible:
        return None
    return _proven_gain(Wagers.of(sample, rng, within), delta, rng)


def gain_of_choice(
    chooser: Sample,
    judge: Sample,
    delta: float,
    rng: Seed = 0,
    within: ThresholdRange | None = None,
) -> GainOfChoice:
    """Estimate, and bound from below, what some decision gains by the second forecast in place of
    the first.

    The estimate is of the task that the chooser's rows name, on the judge's rows. For the lower
    bound the judge's rows that come first choose as well. The chooser's rows must be independent of
    them. Of a range of base rates nothing is proven, as its ends do not bound the gain between
    them.
    """
    if not judge.n or not chooser.total_weight > 0:
        return GainOfChoice(0.0, 0.0)
    wagers = Wagers.of(judge, rng, within)
    old, new = reached_by(chooser, wagers.edges)
    event = chooser.event.view(np.uint8)
    sums = sum_cells(old, new, event, chooser.mass, len(wagers.edges) - 1)
    known = Tally(sums, chooser.total_weight)
    chord = best_task(wagers, known, wagers.betting(delta))
    rule = switch_rule(wagers, chord, wagers.cells[1])
    estimate = 0.0
    if rule is not None:
        gains = rule(slice(None))
        estimate = float(np.average(gains.gain[0, gains.kind], weights=wagers.mass))
    strata = judge.design.strata
    if strata is not None and strata.is_range:
        return GainOfChoice(estimate, 0.0)
    return GainOfChoice(estimate, _proven_gain(wagers, delta, rng, known))


def _proven_gain(wagers: Wagers, delta: float, rng: Seed, known: Tally | None = None) -> float:
    """The lower bound on the gain by the second forecast in place of the first."""
    betting = wagers.betting(delta)

    def choose(before: Sequence[Tally]) -> Sequence[Sequence[Rule | None]]:
        new = wagers.cells[1]
        chords = [best_task(wagers, tally, betting) for tally in before]
        return [[switch_rule(wagers, chord, new) for chord in chords]]

    (chains,) = wagers.chains(choose, delta, rng, known)
    return lower_bound(chains, delta, betting.bets)


def best_task(wagers: Wagers, before: Tally, betting: Betting) -> Chord | None:
    """The task with the largest gain by a switch, less what chance costs; None if none gains.

    Gains count ``1 - bet/2`` times and losses ``1 + bet/2`` times, as in the logarithm of the bet
    to second order.
    """
    curve = SwitchCurve(wagers.edges, before.sums / before.total, None, closed=True)
    curve = curve.restricted(wagers.within)
    chords = []
    values = []
    for bet in betting.bets.tolist():
        chord = curve.chord(-bet / 2, back=True)
        chords.append(chord)
        values.append(2 * chord.value - betting.price / bet)
    best = chords[values.index(max(values))]
    return best if best.value > 0 else None


def switch_rule(wagers: Wagers, chord: Chord | None, new: Cells) -> Rule | None:
    """What entries gain for the task of a chord, if there is one, by acting on new cells in place
    of those of the first forecast.
    """
    if chord is None:
        return None
    old = wagers.cells[0]
    thresholds = np.array([chord.mu_a, chord.mu_b])
    payoff = 2 * np.array([chord.share, 1 - chord.share])  # of an event, at each threshold
    gain = (_SWITCHED * (_OUTCOME[:, np.newaxis] - thresholds)) @ payoff
    scale = np.ones((1, len(gain)))
    first, second = np.searchsorted(wagers.edges, thresholds)

    def gains(places: Places) -> Gains:
        old_reached = _count_reached(old[places], first, second)
        new_reached = _count_reached(new[places], first, second)
        # the number of the kind, in the order of `_OLD_REACHED`
        kind = 6 * old_reached + 2 * new_reached + wagers.event[places]
        return Gains(kind, gain[np.newaxis], scale, threshold=0.0)

    return gains


def _count_reached(cells: Cells, first: int, second: int) -> np.ndarray:
    """How many of two thresholds each prediction reaches."""
    return (cells >= first).astype(np.int64) + (cells >= second)
