"""The next step of a verdict, in the words of whoever asked: in Python or on the command line."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from brolly.decisions.text import show_threshold

if TYPE_CHECKING:
    from brolly.assessment.costs import TaskResult
    from brolly.assessment.verdict import Evidence


@dataclass(frozen=True, kw_only=True, slots=True)
class Means:
    """How to take a next step.

    Attributes
    ----------
    recalibrate : tuple of str
        Code, or command lines, that recalibrate the forecast.
    other_event : str
        The option that makes the other outcome the event.
    """

    recalibrate: tuple[str, ...]
    other_event: str


PYTHON = Means(recalibrate=("a.recalibrator.predict(p)",), other_event="pos_label")
_RULES = {  # of equals, the simplest comes first
    "cost_always": "always acting costs least, {} per case: the forecast gains you nothing",
    "cost_never": "never acting costs least, {} per case: the forecast gains you nothing",
    "cost": "acting on the probabilities as they are costs least, {} per case",
    "cost_recalibrated": "acting on the recalibrated probabilities costs least, {} per case",
}


def next_step(e: Evidence, task: TaskResult | None, means: Means = PYTHON) -> str:
    """What to do now."""
    if e.is_reversed:
        return (
            f"Next: check which outcome is the event: higher predictions go with fewer events (AUROC {e.auroc:.2g}). "
            f"Did you mean 1 - p, or the other outcome as the event ({means.other_event})?"
        )
    own = cheapest(task)
    yours = "" if own is None else f" For your costs {own[1]}"
    if e.grade == "use":
        if own is not None and own[0] != "cost":
            return f"Next, for your costs: {own[1]}"
        ends = task.task.thresholds if task is not None else ()
        where = f"from {show_threshold(ends[0])} on" if len(ends) == 1 else "from your threshold on"
        return f"Next: act {where} (threshold = cost of a false alarm / (that + cost of a miss))."
    if e.grade == "recalibrate":
        return f"Next: apply the map ({e.method}), as below.{yours}"
    if e.grade == "avoid":
        return f"Next: use another forecast, or the event rate, {e.event_rate:.3g}, for everybody."
    if e.foresight == 0:
        return "Next: get rows with both outcomes."
    return f"Next: {_more_rows(e)}{yours}"


def commands(e: Evidence, means: Means = PYTHON) -> tuple[str, ...]:
    """The code or command lines of the next step."""
    return means.recalibrate if e.grade == "recalibrate" and not e.is_reversed else ()


def cheapest(task: TaskResult | None) -> tuple[str, str] | None:
    """The rule that costs least, and a sentence about it."""
    if task is None:
        return None
    known = {name: cost.mean for name in _RULES if (cost := getattr(task, name)) is not None}
    if not known:
        return None
    least = min(known.values())
    name = next(name for name, cost in known.items() if cost <= least + 1e-12 * abs(least))
    return name, f"{_RULES[name].format(f'{least:.4g}')} (an estimate)."


def _more_rows(e: Evidence) -> str:
    what = "rows" if e.groups is None else "rows, in as many more groups"
    if e.rows_needed is None:
        return f"get more {what}. These do not tell how many."
    digits = max(len(str(e.rows_needed)) - 2, 0)
    n = f"{round(e.rows_needed, -digits):,}"
    return f"get {'about' if e.useful else 'more than'} {n} {what} (an estimate)."
