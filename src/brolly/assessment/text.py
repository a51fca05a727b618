"""Words that more than one text is made of: numbers rounded to the safe side, and what a result means."""

from __future__ import annotations

import textwrap
from decimal import ROUND_CEILING, Context, Decimal

from brolly.core.text import at_most
from brolly.measures.soft_binned import SoftBinnedProfile

WIDTH = 80
STAKES = "what is at stake per case (best minus worst outcome)"
HINDSIGHT = "compared with the best change of actions in hindsight"
SCOPE = (
    "This describes these rows only. Part of it is chance (the fewer the rows, the larger the part), "
    "and new rows can differ."
)
_CALIBRATED = (
    "The probabilities match what happened on these rows, as closely as this can be measured: nobody who acts "
    "on them, whatever the decision and its costs, would gain by changing actions in hindsight."
)
_NO_PROMISE = (
    "That is too far off to promise anything: somebody who acts on these probabilities may lose up to all that "
    f"is at stake per case, {HINDSIGHT}."
)


def meaning(profile: SoftBinnedProfile) -> str:
    """What the value of SCDL promises on these rows, and no more."""
    if profile.m_star == float("inf"):
        return _CALIBRATED
    if profile.regret_bound >= 1:
        return _NO_PROMISE
    how = "at random to a neighbouring" if profile.rounding == "soft" else "down to a"
    return (
        f"Round each probability {how} multiple of 1/{profile.m_star}, and act on the rounded value: then, on "
        f"these rows, no decision, whatever its costs, loses more than {at_most(profile.regret_bound)} of {STAKES}, "
        f"{HINDSIGHT}."
    )


def hurt_most(profile: SoftBinnedProfile, low: float, high: float) -> str:
    """Between which thresholds the loss is largest."""
    digits = max(2, len(str(profile.m_star)))
    return f"Hurt most: those who act above a probability between {low:.{digits}f} and {high:.{digits}f}."


def chance(p_value: float) -> str:
    """A p-value to two digits, rounded up."""
    return f"{Decimal(str(p_value)).normalize(Context(prec=2, rounding=ROUND_CEILING)):f}"


def wrapped(text: str) -> str:
    """The text in lines that fit a terminal."""
    return textwrap.fill(text, WIDTH, break_long_words=False, break_on_hyphens=False)
