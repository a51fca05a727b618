"""What is proven of a recalibration, from rows that no map was fitted to."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from rainproof.core.arrays import Floats
from rainproof.core.grid.cells import CellTable
from rainproof.core.sample.sample import Sample
from rainproof.core.shown import Shown
from rainproof.core.text import KEEPS_RANKING, at_least, at_most, percent, rows
from rainproof.inference.forecasts import Forecasts
from rainproof.inference.guarantee import guarantee
from rainproof.inference.switch_gain import ChosenGain, PairDraws, gain_of_choice
from rainproof.inference.switching import harm_bound


@dataclass(frozen=True, kw_only=True, slots=True)
class Certificate(Shown):
    """What is proven of acting on the recalibrated probabilities, from rows that no map was fitted to.

    All losses and gains are shares of what is at stake (a task's best minus its worst payoff), for every decision task
    at once.

    Attributes
    ----------
    harm_bound : float
        In the population nobody loses more than this by acting on the recalibrated probabilities in place of the
        original ones, in expectation.
    gain_at_least : float
        In the population somebody gains at least this, in expectation; 0 if the rows prove no gain.
    gain_estimate : float
        An estimate, without bias, of what that decision maker gains: whom the rows that the map was fitted to name.
    harm, gain : float
        On these rows, exactly: the most that anybody loses, and gains.
    loss_bound : float
        In the population nobody who acts on the recalibrated probabilities as they are loses more than this, in
        expectation, compared with any monotone recalibration of them (`guarantee` with ``response="as_is"``).
    confidence_level : float
        Of each of the three bounds by itself.
    n : int
        The number of rows behind the certificate.
    groups : int or None
        The number of groups, if rows depend on each other.
    grid : int or None
        From a compressed sample: the bounds are for predictions rounded down to multiples of ``1/grid`` before the map
        is applied. None if they are for the predictions themselves.
    """

    harm_bound: float
    gain_at_least: float
    gain_estimate: float
    harm: float
    gain: float
    loss_bound: float
    confidence_level: float
    n: int
    groups: int | None
    grid: int | None

    def to_dict(self) -> dict[str, Any]:
        """Return the certificate in built-in types, ready for JSON."""
        return asdict(self)

    def __str__(self) -> str:
        gains = (
            f"Some decision gains at least {at_least(self.gain_at_least)}."
            if self.gain_at_least > 0
            else "These rows do not prove a gain in any decision."
        )
        if self.harm_bound == 0:
            switched = "The probabilities stay as they are: no decision loses or gains."
        else:
            switched = (
                f"No decision loses more than {at_most(self.harm_bound)} by acting on the recalibrated probabilities "
                f"instead of the original ones. {gains}"
            )
        drawn = "rows" if self.groups is None else f"{self.groups:,} groups of rows"
        return (
            f"From {rows(self.n)} that the map was not fitted to, in expectation, in shares of what is at stake:\n"
            f"{switched}\n"
            "Acting on the recalibrated probabilities as they are loses at most "
            f"{at_most(self.loss_bound)} in any decision, {KEEPS_RANKING}.\n"
            f"Each statement holds with {percent(self.confidence_level)} confidence, if the {drawn} were drawn "
            f"independently from the population in which the map will be used{_rounded(self.grid)}."
        )


def certify(
    held: Forecasts, recalibrated: Floats | None, chooser: PairDraws | None, confidence_level: float
) -> Certificate:
    """Prove what the recalibrated predictions of the rows held out do; None if the map changes nothing anywhere.

    The task that gains is named by the rows that the map was fitted to, so all rows held out bound its gain.
    """
    doubt = 1 - confidence_level
    new = held.prob if recalibrated is None else recalibrated
    promise = guarantee(_sample(held, new), response="as_is", confidence_level=confidence_level, groups=held.group)
    pairs = held.pairs(held.prob, new)
    curve = pairs.curve()
    gain = ChosenGain(0.0, 0.0) if chooser is None else gain_of_choice(chooser, pairs.draws(), doubt)
    return Certificate(
        harm_bound=0.0 if recalibrated is None else harm_bound(curve, *pairs.sizes(), doubt),
        gain_at_least=gain.at_least,
        gain_estimate=gain.estimate,
        harm=min(2 * curve.chord().value, 1.0),
        gain=min(2 * curve.chord(back=True).value, 1.0),
        loss_bound=promise.bound,
        confidence_level=confidence_level,
        n=held.n,
        groups=promise.groups,
        grid=held.grid,
    )


def _rounded(grid: int | None) -> str:
    return "" if grid is None else f", for probabilities rounded down to multiples of 1/{grid} before the map"


def _sample(held: Forecasts, prob: Floats) -> Sample:
    if held.counts is None:
        return Sample(held.event, prob, sample_weight=held.weight)
    grid, weight = 1 << 16, held.counts.astype(np.float64)
    cell = np.floor(grid * prob)
    zero = np.zeros_like(weight)
    rise = np.stack([weight * (grid * prob - cell), zero])
    slot = 2 * cell.astype(np.int64) + held.event
    return Sample._from_cells(CellTable.pooled(grid, slot, held.counts, np.stack([weight, zero]), rise, weight))
