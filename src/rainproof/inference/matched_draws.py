"""Draws with the mean of the population, of rows that were chosen by their outcome.

Bets need draws of which each has the mean of the population: docs/theory/bounds.md, "Another base
rate". Upper bounds take such rows as they are.
"""

from __future__ import annotations

import numpy as np

from rainproof.core.arrays import Floats, Ints
from rainproof.core.design import Design
from rainproof.core.rows import Rows
from rainproof.core.sample import Sample

MOST_DRAWN = 1 << 17  # cases of an outcome in cells; matched, each is an entry of its own


def matched_draws(sample: Sample, rng: np.random.Generator) -> Sample:
    """Return draws of equal weight, each with the mean of the population: rows of either outcome,
    matched at random.

    There are as many as rows of the rarer outcome. Given the outcomes they are independent, and
    each is one unit of rows, of which those with the event weigh the base rate. Of cells, a number
    of rows is drawn of each outcome, at the lower edges.
    """
    sample = sample.in_order()
    rows = _at_lower_edges(sample)
    event = sample.event
    if sample.counts is not None:
        drawn = _drawn_counts(sample.counts, event, rng)
        rows = rows.take(np.repeat(np.arange(len(rows)), drawn))
        event = np.repeat(event, drawn)
    events = int(np.count_nonzero(event))
    others = len(event) - events
    draws = min(others, events)
    # Each of the rarer rows has a unit of its own; the others are dealt to these units evenly.
    unit = np.empty(len(event), np.int64)
    unit[~event] = rng.permutation(others) % draws
    unit[event] = rng.permutation(events) % draws
    draw_and_outcome = 2 * unit + event  # rows of one draw with one outcome share its weight
    rows_alike = np.bincount(draw_and_outcome, minlength=2 * draws)
    share = np.where(event, sample.event_rate, 1 - sample.event_rate)
    weight = share / rows_alike[draw_and_outcome]
    return Sample.from_rows(
        rows.replace(outcome=event.view(np.uint8), weight=weight, unit=unit),
        Design(clusters="cases"),
        n=len(event),
        total_weight=float(draws),
        forecasts=sample.forecasts,
    )


def _at_lower_edges(sample: Sample) -> Rows:
    """The rows without weights; of cells an entry each, at the lower edges of their predictions."""
    rows = sample.entries.replace(weight=None, cases=None)
    if sample.grid is None:
        return rows
    first, *further = sample.lower_edges()
    others: dict[str, Floats] = dict(zip(sample.forecasts[1:], further, strict=True))
    return rows.replace(prob=first, others=others or None)


def _drawn_counts(counts: Ints, event: np.ndarray, rng: np.random.Generator) -> Ints:
    """How many cases of each entry are drawn, if those of an outcome are too many for all."""
    drawn = np.zeros(len(counts), np.int64)
    for outcome in (False, True):
        count = np.where(event == outcome, counts, 0)
        size = min(int(count.sum()), MOST_DRAWN)
        drawn += rng.multivariate_hypergeometric(count, size, method="marginals")
    return drawn
