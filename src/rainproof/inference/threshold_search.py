"""The search for a threshold that is proven to keep targets: what is tried, in what order.

What proves a target at one threshold is in `rainproof.inference.target_proofs`. The order of the
search is part of the proof: docs/theory/bounds.md.
"""

from __future__ import annotations

import math
from bisect import bisect_left
from dataclasses import dataclass, replace
from decimal import ROUND_CEILING, ROUND_FLOOR, Decimal

import numpy as np

from rainproof.core.arrays import Floats
from rainproof.core.sample import Sample
from rainproof.inference.corrections import correct_by_logistic
from rainproof.inference.target_proofs import (
    CountTable,
    DrawBets,
    FlaggedCounts,
    TargetProof,
    is_counted,
    proves,
)

_CHOOSING = 0.1  # share of the draws that choose where the others prove
_FEWEST_CHOOSING = 20  # draws, if there are as many again
_SURE = 10  # flagged rows of those that choose, from which on they tell how many others will be
_STEPS = 512  # thresholds of a sequence, closer together where few cases are flagged
_THINNED = 8  # one in so many thresholds is tried where each costs a pass over the rows
_MOST_ROWS = 10**9  # that are said to be needed
_NARROW = 1.01  # ratio of the ends of a range in which the number of rows needed is known well
_DIGITS = 4  # of a threshold: decimal places at least, and digits that tell it from 0 and from 1
_MOST_PLACES = 16  # decimal places of a threshold


def find_proven_threshold(
    sample: Sample, proof: TargetProof, rng: np.random.Generator
) -> float | None:
    """The threshold that flags most; for recall alone, the one that flags fewest."""
    others = dict(proof.targets)
    recall = others.pop("recall", None)
    highest: float | None = 1.0
    if recall is not None:
        highest = _last_proven(sample, replace(proof, targets={"recall": recall}))
    if highest is None or not others:
        return highest
    proof = replace(proof, targets=others)
    if "precision" in others:
        threshold = _proven_by_choice(sample, proof, rng)
    else:
        threshold = _last_proven(sample, proof)
    return threshold if threshold is not None and threshold <= highest else None


def rows_needed(sample: Sample, proof: TargetProof) -> int | None:
    """With how many rows about half of the samples prove a threshold, if these rows tell it."""
    expected = _Expected.of(sample)
    if not is_counted(sample):
        bets = DrawBets.on(sample)
        thresholds = expected.thresholds[::_THINNED].tolist()
        evidence = max(bets.evidence(proof, threshold) for threshold in thresholds)
        if not evidence > 0:
            return None
        times = -math.log(proof.delta) / evidence
        if times >= _MOST_ROWS:
            return None
        return math.ceil(sample.n * times / (1 - _CHOOSING))
    counts = expected.counts()

    def is_enough(n: float) -> bool:
        margin = proof.margin(counts, n * (1 - _CHOOSING) / sample.n)
        return bool((margin.gap >= 0).any())

    low = float(sample.n)
    high = float(_MOST_ROWS)
    if not is_enough(high):
        return None
    while high > _NARROW * low:
        middle = math.sqrt(low * high)
        if is_enough(middle):
            high = middle
        else:
            low = middle
    return math.ceil(high)


def _last_proven(sample: Sample, proof: TargetProof) -> float | None:
    """The last threshold that is proven, where each that is easier to prove is proven too."""
    holds = proves(sample, proof)
    prob = sample.distinct().prob
    falls = "recall" in proof.targets  # as the threshold rises
    order = prob if falls else prob[::-1]
    proven = bisect_left(order, True, key=lambda threshold: not holds(float(threshold)))
    if not proven:
        return None
    return short_threshold(float(order[proven - 1]), up=not falls, grid=sample.grid)


def _proven_by_choice(sample: Sample, proof: TargetProof, rng: np.random.Generator) -> float | None:
    """The last threshold of a sequence, or the one threshold, that some draws choose and all others
    prove.
    """
    share = max(_CHOOSING, min(0.5, _FEWEST_CHOOSING / max(sample.n_draws, 1)))
    judge, chooser = sample.split(folds=1, held_out=(share,), rng=rng.spawn(1)[0])
    if not chooser.total_weight > 0 or not judge.total_weight > 0:
        return None
    scale = judge.n / chooser.n
    expected = _Expected.of(chooser)
    margin = proof.margin(expected.counts(), scale)
    likeliest = int(np.argmax(margin.gap / (margin.spread * math.sqrt(1 + 1 / scale))))
    # A number of rows to flag is proof for independent rows, and at their own event rate.
    by_number = (
        is_counted(judge) and proof.base_rate is None and set(proof.targets) == {"precision"}
    )
    flagged = expected.flagged[likeliest]
    if by_number and flagged < _SURE and flagged == likeliest + 1:  # each of them at a threshold
        return _proven_by_number(judge, proof, expected, scale)
    return _last_of_sequence(judge, proof, expected.thresholds[likeliest:])


def _last_of_sequence(judge: Sample, proof: TargetProof, thresholds: Floats) -> float | None:
    """The last threshold that is proven before the first that is not."""
    holds = proves(judge, proof)
    last = None
    for threshold in thresholds.tolist():
        rounded = short_threshold(threshold, up=False, grid=judge.grid)
        if not holds(rounded):
            break
        last = rounded
    return last


def _proven_by_number(
    judge: Sample, proof: TargetProof, expected: _Expected, scale: float
) -> float | None:
    """The threshold above which there are as many rows as the chooser asks for, if it is proven."""
    number = np.arange(1.0, max(2.0, _SURE * scale))
    flagged = number / scale
    hits = np.interp(flagged, np.append(0.0, expected.flagged), np.append(0.0, expected.hits))
    share_of_hits = hits * scale / number
    hits = flagged * share_of_hits
    counts = FlaggedCounts(hits, flagged - hits, expected.hits[-1], expected.others[-1])
    margin = proof.margin(counts, scale)
    best = number[np.argmax(margin.gap / margin.spread)]
    table = CountTable.of(judge)
    flagged_from_last = (table.events + table.others)[::-1]
    place = int(np.searchsorted(flagged_from_last, best, "right"))
    if place > len(table.prob):  # there are not as many
        return None
    threshold = short_threshold(float(table.prob[-place]), up=True, grid=judge.grid, above=True)
    return threshold if proves(judge, proof)(threshold) else None


@dataclass(frozen=True, slots=True, eq=False)
class _Expected:
    """What is expected from each threshold on, by a logistic regression; from the largest down."""

    thresholds: Floats
    flagged: Floats  # rows
    hits: Floats  # events among them

    @classmethod
    def of(cls, sample: Sample) -> _Expected:
        """Fit the regression to a sample."""
        table = sample.distinct()
        # Rows of unequal weight choose where to begin as if they were as many as they tell of.
        rows = float(sample.n) if sample.units.unit is not None else sample.effective_n
        scale = rows / sample.total_weight
        weight = np.stack([table.negative * scale, table.positive * scale])
        total = weight.sum(axis=0)
        (rate,) = correct_by_logistic(table.prob, weight[np.newaxis])
        flagged = np.cumsum(total[::-1])
        hits = np.cumsum((total * rate)[::-1])
        steps = np.unique(np.geomspace(1, len(total), _STEPS).astype(np.int64)) - 1
        return cls(table.prob[::-1][steps], flagged[steps], hits[steps])

    @property
    def others(self) -> Floats:
        """The rows without the event."""
        return self.flagged - self.hits

    def counts(self) -> FlaggedCounts:
        """Return the numbers of cases that are expected."""
        return FlaggedCounts(self.hits, self.others, self.hits[-1], self.others[-1])


def short_threshold(threshold: float, *, up: bool, grid: int | None, above: bool = False) -> float:
    """A threshold with few digits, a little larger or smaller; `above` asks for a larger one.

    That of a compressed sample stays a multiple of 1 over its grid.
    """
    if grid is not None:
        step = 1 / grid if above else 0.0
        return min(threshold + step, 1.0)
    near = min(threshold, 1 - threshold)
    places = _DIGITS
    if near > 0:
        places = max(_DIGITS, _DIGITS - 1 - math.floor(math.log10(near)))
    unit = Decimal(1).scaleb(-min(places, _MOST_PLACES))
    short = Decimal(threshold).quantize(unit, ROUND_CEILING if up else ROUND_FLOOR)
    # the double nearest to a short number can be below it
    if not up and float(short + unit) == threshold:
        short += unit
    if above and float(short) <= threshold:
        short += unit
    return float(short)
