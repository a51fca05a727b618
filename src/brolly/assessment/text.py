"""Words that more than one text is made of: numbers rounded to the safe side, and what a result means."""

from __future__ import annotations

import textwrap
from decimal import ROUND_CEILING, ROUND_FLOOR, Context, Decimal

from brolly.decisions.task import DecisionTask
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


def who(task: DecisionTask) -> str:
    """Whom the worst task stands for, to people who have never seen a payoff matrix."""
    ends = [f"{round(mu, 12):.3g}" for mu in task.thresholds]
    if len(ends) == 2:
        return f"those with three options, who change what they do at {ends[0]} and at {ends[1]}"
    return f"those who act from a probability of {ends[0]} on{_costs(task.thresholds[0])}"


def _costs(threshold: float) -> str:
    if not 0 < threshold < 1:
        return ""
    ratio = threshold / (1 - threshold)
    if 0.98 < ratio < 1.02:
        return " (a false alarm costs as much as a miss)"
    if ratio > 1:
        return f" (a false alarm costs {ratio:.2g} times a miss)"
    return f" (a miss costs {1 / ratio:.2g} times a false alarm)"


def at_most(share: float) -> str:
    """A bound in percent to three digits: rounded up, so that it stays a bound."""
    return _percent(share, ROUND_CEILING)


def at_least(share: float) -> str:
    """A lower bound in percent to three digits: rounded down, so that it stays one."""
    return _percent(share, ROUND_FLOOR)


def chance(p_value: float) -> str:
    """A p-value to two digits, rounded up."""
    return f"{Decimal(str(p_value)).normalize(Context(prec=2, rounding=ROUND_CEILING)):f}"


def rows(n: float) -> str:
    """A number of rows."""
    return "1 row" if n == 1 else f"{n:,.0f} rows"


def wrapped(text: str) -> str:
    """The text in lines that fit a terminal."""
    return textwrap.fill(text, WIDTH, break_long_words=False, break_on_hyphens=False)


def _percent(share: float, rounding: str) -> str:
    return f"{Decimal(100 * share).normalize(Context(prec=3, rounding=rounding)):f}%"
