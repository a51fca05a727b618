"""The next step of a verdict, in the words of whoever asked: in Python or on the command line."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from brolly.assessment.text import estimate
from brolly.core.text import at_most, percent
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
        return f"Next: {check_event(e.auroc, means.other_event)}"
    own = cheapest(task, recalibrated=e.grade == "recalibrate")
    yours = "" if own is None else f" For your costs {own[1]}"
    if e.grade == "use":
        return _use(task, own)
    if e.grade == "recalibrate":
        return f"Next: apply the map ({e.method}), as below.{yours}"
    if e.grade == "avoid":
        return f"Next: use another forecast, or the event rate, {e.event_rate:.3g}, for everybody.{_without(task)}"
    if e.foresight == 0:
        return "Next: get rows with both outcomes."
    if e.useful and e.safe:
        return (
            f"Next: {_more_rows(e)} Until then use the probabilities as they are: with {percent(e.confidence_level)} "
            f"confidence nobody loses more than {at_most(e.as_is.bound)} of what is at stake.{yours}"
        )
    if e.better_recalibrated:
        assert e.certificate is not None
        gain = estimate(e.certificate.gain_estimate)
        return (
            f"Next: until there are more rows, act on the recalibrated probabilities ({e.method}, as below). They are "
            f"the better guess: an estimated gain of {gain} of what is at stake.{yours}"
        )
    return f"Next: {_more_rows(e)}{yours}"


def check_event(auroc: float | None, option: str) -> str:
    """What to say about a forecast that is reversed (`is_reversed`), given the option that names the event."""
    return (
        f"check which outcome is the event: higher predictions go with fewer events (AUROC {auroc:.2g}). "
        f"{other_event(option)}"
    )


def other_event(option: str) -> str:
    """What may have been meant by reversed labels."""
    return f"Did you mean 1 - p, or the other outcome as the event ({option})?"


def commands(e: Evidence, means: Means = PYTHON) -> tuple[str, ...]:
    """The code or command lines of the next step."""
    return means.recalibrate if (e.grade == "recalibrate" or e.better_recalibrated) and not e.is_reversed else ()


def cheapest(task: TaskResult | None, *, recalibrated: bool) -> tuple[str, str] | None:
    """The rule that costs least, and a sentence about it.

    Where recalibration is not the verdict (`recalibrated`), it must clearly cost less than acting on the forecast as it
    is, if that costs less than no forecast.
    """
    known = _costs(task)
    if task is None or not known:
        return None
    name = _first(known)
    if name == "cost_recalibrated" and not recalibrated and _helps(known) and not _saves(task):
        both = f"{known['cost']:.4g} per case as they are, {known[name]:.4g} recalibrated"
        return "cost", f"acting on the probabilities costs {both} (estimates whose intervals overlap)."
    return name, f"{_RULES[name].format(f'{known[name]:.4g}')} (an estimate)."


def _costs(task: TaskResult | None) -> dict[str, float]:
    """The cost of each rule that has one."""
    return {} if task is None else {name: cost.mean for name in _RULES if (cost := getattr(task, name)) is not None}


def _first(known: dict[str, float]) -> str:
    """The rule that costs least."""
    least = min(known.values())
    return next(name for name, cost in known.items() if cost <= least + 1e-12 * abs(least))


def _helps(known: dict[str, float]) -> bool:
    """Whether acting on the forecast as it is costs less than always and never acting."""
    return _first({name: cost for name, cost in known.items() if name != "cost_recalibrated"}) == "cost"


def _saves(task: TaskResult) -> bool:
    """Whether recalibration clearly costs less: the intervals do not overlap."""
    old, new = task.cost, task.cost_recalibrated
    return old is not None and new is not None and new.high < old.low


def _use(task: TaskResult | None, own: tuple[str, str] | None) -> str:
    """What to do with a forecast that can be used as it is."""
    costs = _costs(task)
    if own is not None and not _helps(costs):
        return f"Next, for your costs: {own[1]}"
    ends = task.task.thresholds if task is not None else ()
    where = f"from {show_threshold(ends[0])} on" if len(ends) == 1 else "from your threshold on"
    found = f"Next: act {where} (threshold = cost of a false alarm / (that + cost of a miss))."
    if own is None or own[0] != "cost_recalibrated":
        return found
    less = f"{costs['cost_recalibrated']:.4g} instead of {costs['cost']:.4g} per case (an estimate)"
    return f"{found} Recalibrated, they would cost you a little less: {less}."


def _without(task: TaskResult | None) -> str:
    """What costs the user less without a forecast."""
    if task is None or task.cost_always is None or task.cost_never is None:
        return ""
    always, never = task.cost_always.mean, task.cost_never.mean
    rules = f"always acting costs {always:.4g} per case, never acting {never:.4g} (an estimate)."
    return f" For your costs, without a forecast: {rules}"


def _more_rows(e: Evidence) -> str:
    what = "rows" if e.groups is None else "rows in new groups"
    if e.rows_needed is None:
        return f"get more {what}. These do not tell how many."
    digits = max(len(str(e.rows_needed)) - 2, 0)
    n = f"{round(e.rows_needed, -digits):,}"
    return f"get {'about' if e.useful else 'more than'} {n} {what} (an estimate)."
