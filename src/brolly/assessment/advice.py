"""Advice for whoever acts from some probability on: where the other action was better, and how sure that is."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from brolly.core.arrays import Floats
from brolly.core.text import at_most
from brolly.inference.soft_bins import SoftBins

Action = Literal["act", "wait"]

_STEPS = 200
_NEAR_THE_ENDS = (0.0005, 0.001, 0.002, 0.003, 0.004)  # where events, or their absence, are rare
_ROUNDING = 1e-12  # a smaller gain is none
_SPOKEN = 3  # runs that a sentence can carry


@dataclass(frozen=True, kw_only=True, slots=True)
class PredictionSwap:
    """Predictions next to each other where the other action was better.

    Attributes
    ----------
    low, high : float
        Between which predictions.
    says, do : {"act", "wait"}
        What the forecast says, and what was better.
    sure : bool
        Whether the intervals of all bins taken together leave no doubt about it.
    share : float
        The share of rows there.
    saves : float
        What it saves per row, in the units of the regret curve.
    """

    low: float
    high: float
    says: Action
    do: Action
    sure: bool
    share: float
    saves: float


@dataclass(frozen=True, kw_only=True, slots=True)
class ThresholdAdvice:
    """What to change for whoever acts from one threshold on.

    Attributes
    ----------
    threshold : float
        The probability from which on they act: a false alarm costs it, a miss one minus it.
    regret : float
        What following the forecast gave up per row, in these units; the swaps add up to it.
    null_high : float
        What a perfectly calibrated forecast would stay below at this threshold.
    swaps : tuple of PredictionSwap
        Where the other action was better, by increasing prediction.
    """

    threshold: float
    regret: float
    null_high: float
    swaps: tuple[PredictionSwap, ...]

    @property
    def share_of_stakes(self) -> float:
        """The regret as a share of what is at stake."""
        return self.regret / max(self.threshold, 1 - self.threshold)

    @property
    def beyond_chance(self) -> bool:
        """Whether a perfectly calibrated forecast would give up less, at the confidence of `null_high`."""
        return self.regret > self.null_high

    def __str__(self) -> str:
        sure = [swap for swap in self.swaps if swap.sure]
        if not self.swaps:
            return "Follow the forecast: on these rows no other action would have been better."
        if not sure:
            return (
                "Follow the forecast: another action would have been better at some predictions (by "
                f"{at_most(self.share_of_stakes)} of what is at stake), but which is not sure."
            )
        spoken = " ".join(map(_sentence, sure[:_SPOKEN]))
        more = len(sure) - _SPOKEN
        rest = f" And {more} more such place{'s' * (more > 1)}." if more > 0 else ""
        return f"{spoken}{rest} Elsewhere follow the forecast."

    def to_dict(self) -> dict[str, Any]:
        """All of it in built-in types, ready for JSON."""
        return {
            "threshold": self.threshold,
            "cost_ratio": self.threshold / (1 - self.threshold),
            "regret": self.regret,
            "share_of_stakes": self.share_of_stakes,
            "null_high": self.null_high,
            "beyond_chance": self.beyond_chance,
            "swaps": [
                {
                    "from": s.low,
                    "to": s.high,
                    "says": s.says,
                    "do": s.do,
                    "sure": s.sure,
                    "share": s.share,
                    "saves": s.saves,
                }
                for s in self.swaps
            ],
            "text": str(self),
        }


def thresholds(own: Iterable[float] = ()) -> Floats:
    """The thresholds that advice is given for: every half percent, some near 0 and 1, and one's own."""
    near = np.array(_NEAR_THE_ENDS)
    inner = [mu for mu in own if 0 < mu < 1]
    return np.unique(np.concatenate([np.arange(1, _STEPS) / _STEPS, near, 1 - near, inner]))


def advise(bins: SoftBins, threshold: float, null_high: float) -> ThresholdAdvice:
    """Compare what the forecast says in each bin with what was better there.

    Who is given ``j/m`` acts if it is at least the threshold; acting was better if the event rate there is above it.
    """
    acts = bins.prediction >= threshold
    gain = np.where(acts, threshold - bins.event_rate, bins.event_rate - threshold)
    sure = np.where(acts, bins.high_all < threshold, bins.low_all > threshold)
    gains = gain > _ROUNDING
    saves = np.where(gains, bins.share * gain, 0.0)
    # Empty bins between two others separate nothing; bins kept in order are neighbours.
    kind = np.where(gains, 1 + 2 * acts + sure, 0)
    cuts = np.flatnonzero(np.diff(kind)) + 1
    runs = [run for run in np.split(np.arange(len(kind)), cuts) if kind[run[0]]]
    swaps = tuple(_swap(bins, run, threshold, bool(acts[run[0]]), bool(sure[run[0]]), saves) for run in runs)
    return ThresholdAdvice(threshold=threshold, regret=float(saves.sum()), null_high=null_high, swaps=swaps)


def _swap(bins: SoftBins, run: Any, threshold: float, acts: bool, sure: bool, saves: Floats) -> PredictionSwap:
    half = 0.5 / bins.grid
    low = max(0.0, float(bins.prediction[run[0]]) - half)
    high = min(1.0, float(bins.prediction[run[-1]]) + half)
    return PredictionSwap(
        low=max(low, threshold) if acts else low,
        high=high if acts else min(high, threshold),
        says="act" if acts else "wait",
        do="wait" if acts else "act",
        sure=sure,
        share=float(bins.share[run].sum()),
        saves=float(saves[run].sum()),
    )


def _sentence(swap: PredictionSwap) -> str:
    where = f"Between {swap.low:.3g} and {swap.high:.3g}"
    if swap.do == "wait":
        return f"{where} you should not act, though the forecast says so."
    return f"{where} you should act, though the forecast says not to."
