"""The next step of a verdict, in the words of whoever asked: in Python or on the command line."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from rainproof.assessment.text import RULES, at_threshold, estimate, rarer
from rainproof.core.text import at_most, percent

if TYPE_CHECKING:
    from rainproof.assessment.costs import TaskResult
    from rainproof.assessment.verdict import Evidence


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
_THRESHOLD = "false-alarm cost / (false-alarm + miss cost)"
_MEANWHILE = {
    "cost_always": "always act, whatever the probability",
    "cost_never": "never act, whatever the probability",
    "cost": "use the probabilities as they are{act}",
    "cost_recalibrated": "recalibrate ({method}, as below){act}",
    "without": "decide without these probabilities{simple}",
}


def next_step(e: Evidence, task: TaskResult | None, means: Means = PYTHON) -> str:
    """What to do now."""
    if e.is_reversed:
        return f"Next: {check_event(e.auroc, means.other_event)}"
    own = cheapest(task, recalibrated=e.grade == "recalibrate")
    if e.grade == "use":
        return _use(task, own)
    if e.grade == "recalibrate":
        return f"Next: apply the map ({e.method}), as below{_with_map(e, task, own)}"
    if e.grade == "avoid":
        return f"Next: use another forecast. Without one, {_simple(e)}.{_without(task)}"
    rule = meanwhile(e, task)
    act, simple = _act(task, recalibrated=rule == "cost_recalibrated"), f": {_simple(e)}" * (e.foresight > 0)
    do = _MEANWHILE[rule].format(method=e.method, act=act, simple=simple)
    if not e.useful and rule != "cost_recalibrated" and not _priced(e, task):  # a guess: data come first
        return f"Next: get more data. {_more_data(e)} Until then {do}{_why(e, task, rule)}"
    return f"Next: until there is more data, {do}{_why(e, task, rule)} {_more_data(e)}"


def check_event(auroc: float | None, option: str) -> str:
    """What to say about a forecast that is reversed (`is_reversed`), given the option that names the event."""
    return (
        f"check which outcome is the event: higher predictions go with fewer events (AUROC {auroc:.2g}). "
        f"{other_event(option)}"
    )


def other_event(option: str) -> str:
    """What may have been meant by reversed labels."""
    return f"Did you mean 1 - p, or the other outcome as the event ({option})?"


def commands(e: Evidence, task: TaskResult | None, means: Means = PYTHON) -> tuple[str, ...]:
    """The code or command lines of the next step."""
    applies = e.grade == "recalibrate" or (e.grade == "unknown" and meanwhile(e, task) == "cost_recalibrated")
    return means.recalibrate if applies and not e.is_reversed else ()


def meanwhile(e: Evidence, task: TaskResult | None) -> str:
    """The rule to follow until there is a verdict, by the name of its cost; "without" is to ignore the forecast.

    With costs it is the rule that costs least by the estimate, which for recalibration comes from few rows: it must
    clearly cost less, or the test reject calibration. A forecast that is proven useful and safe gives way only
    to a rule that clearly costs less. Without costs it is a forecast that is proven useful, or whose Brier score on
    these rows is below that of the event rate; recalibrated, if it is miscalibrated and that seems to gain.
    """
    known, safe = _costs(task), e.useful and e.safe
    if task is not None and _priced(e, task):
        if not e.miscalibrated and not _clearly_saves(task, "cost_recalibrated"):
            known.pop("cost_recalibrated", None)
        name = _first(known)
        return "cost" if safe and not _clearly_saves(task, name) else name
    if safe:
        return "cost"
    if e.better_recalibrated:
        return "cost_recalibrated"
    return "cost" if e.useful or e.brier_score < e.brier_without else "without"


def _act(task: TaskResult | None, *, recalibrated: bool = False) -> str:
    """From which probability on to act: the one threshold of the task, or the rule for it."""
    if task is not None and len(task.task.thresholds) != 1:
        return ""
    threshold = _THRESHOLD if task is None else f"{task.task.thresholds[0]:.3g}"
    return f", and act on cases with a {'recalibrated ' * recalibrated}probability of at least {threshold}"


def _simple(e: Evidence) -> str:
    """What to do without a forecast."""
    rate = f"{100 * e.event_rate:.3g}% (the event rate)"
    return f"always act if your threshold ({_THRESHOLD}) is below {rate}, otherwise never"


def _with_map(e: Evidence, task: TaskResult | None, own: tuple[str, str] | None) -> str:
    """What the user's costs say where recalibration is proven to gain."""
    act = _act(task, recalibrated=True)
    if task is None or own is None:
        return f"{act}."
    return f"{act}. {_own_costs(e, task, own[0])}" if own[0] == "cost_recalibrated" else f". For your costs {own[1]}"


def _why(e: Evidence, task: TaskResult | None, rule: str) -> str:
    """What speaks for the rule, as far as it is known."""
    if task is not None and _priced(e, task):
        return f". {_own_costs(e, task, rule)}"
    if rule == "cost_recalibrated":
        assert e.certificate is not None
        gain = estimate(e.certificate.gain_estimate)
        return f". That is the better guess, with an estimated gain of {gain} of what is at stake."
    if e.useful and e.safe:
        return (
            f". With {percent(e.confidence_level)} confidence that loses at most {at_most(e.as_is.bound)} of what is "
            "at stake in any decision."
        )
    if e.useful:
        assert e.worth is not None
        return f". They are proven useful {at_threshold(e.worth.relative_threshold)}; elsewhere that is a guess."
    if e.foresight == 0:
        return "."
    than = "closer" if rule == "cost" else "no closer"
    scores = f"Brier score {e.brier_score:.3g} against {e.brier_without:.3g}"
    rate = "the event rate of the other rows"  # for each row
    return f". That is a guess: on these rows they come {than} to the outcomes than {rate} does ({scores})."


def _own_costs(e: Evidence, task: TaskResult, rule: str) -> str:
    """What the rule costs the user beside simpler ones, and what it saves."""
    known, saved = _costs(task), task.saved(rule)
    best = _first(known)
    if rule == "cost" != best:
        both = f"{known[rule]:.4g} per case, {RULES[best]} {known[best]:.4g}"
        return f"For your costs that costs {both} (estimates that do not tell which is less)."
    if saved is None:
        return f"For your costs that costs least, {known[rule]:.4g} per case (an estimate)."
    compared = sorted({rule, "cost", task.simplest or rule}, key=lambda name: (known[name], name != rule))
    costs = ", ".join(f"{RULES[name]} {known[name]:.4g}" for name in compared)
    # An interval above 0 can stand beside a verdict that nothing is proven.
    about = ", for these costs; a verdict must hold for all" if e.grade == "unknown" and saved.low > 0 else ""
    doubt = "" if saved.low > 0 else ", so perhaps nothing"
    return (
        f"Your cost per case: {costs}. That saves {saved.low:.3g} to {saved.high:.3g} over as it is (approximate"
        f"{about}){doubt}.{_not_cheaper(task, rule)}"
    )


def _not_cheaper(task: TaskResult, rule: str) -> str:
    """That recalibration may cost as much as the better of always and never acting."""
    saved, plain = task.saved_over_simple, task.simplest
    if rule != "cost_recalibrated" or plain is None or saved is None or saved.low > 0:
        return ""
    return f" Recalibrated is not proven cheaper than {RULES[plain]}."


def cheapest(task: TaskResult | None, *, recalibrated: bool) -> tuple[str, str] | None:
    """The rule that costs least, and a sentence about it.

    Where recalibration is not the verdict (`recalibrated`), it must clearly cost less than acting on the forecast as it
    is, if that costs less than no forecast.
    """
    known = _costs(task)
    if task is None or not known:
        return None
    name = _first(known)
    if name == "cost_recalibrated" and not recalibrated and _helps(known) and not _clearly_saves(task, name):
        both = f"{known['cost']:.4g} per case as they are, {known[name]:.4g} recalibrated"
        return "cost", f"acting on the probabilities costs {both} (estimates that do not tell which is less)."
    return name, f"{_RULES[name].format(f'{known[name]:.4g}')} (an estimate)."


def _priced(e: Evidence, task: TaskResult | None) -> bool:
    """Whether the user's costs tell rules apart."""
    return bool(_costs(task)) and e.foresight > 0


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


def _clearly_saves(task: TaskResult, rule: str) -> bool:
    """Whether a rule clearly costs less than acting on the forecast as it is: the interval of the saving is above 0."""
    saved = task.saved(rule)
    return saved is not None and saved.low > 0


def _use(task: TaskResult | None, own: tuple[str, str] | None) -> str:
    """What to do with a forecast that can be used as it is."""
    costs = _costs(task)
    if own is not None and not _helps(costs):
        return f"Next, for your costs: {own[1]}"
    own_threshold = _act(task).removeprefix(", and ")
    rule = f" ({_THRESHOLD})" * bool(own_threshold)
    rule = ": 10% if a miss costs 9 times a false alarm" if task is None else rule
    found = f"Next: {own_threshold or 'act on these probabilities'}{rule}."
    if own is None or own[0] != "cost_recalibrated":
        return found
    less = f"{costs['cost_recalibrated']:.4g} instead of {costs['cost']:.4g} per case (an estimate)"
    return f"{found} Recalibrated, they would cost you a little less: {less}."


def _without(task: TaskResult | None) -> str:
    """What costs the user less without a forecast."""
    if task is None or task.cost_always is None or task.cost_never is None:
        return ""
    (least, rule), (more, other) = sorted([(task.cost_always.mean, "always"), (task.cost_never.mean, "never")])
    return f" For your costs {rule} acting costs {least:.4g} per case, {other} acting {more:.4g} (estimates)."


def _more_data(e: Evidence) -> str:
    """How much data a verdict needs, as far as these rows tell."""
    if e.foresight == 0:
        return "A verdict needs rows with both outcomes."
    if e.rows_needed is None:
        what = "rows" if e.rarer is None else rarer(e, 2)
        where = "" if e.groups is None else ", in new groups"
        return f"A verdict needs more {what}{where}; these do not tell how many."
    most = "about" if e.useful else "more than"
    groups = "" if e.groups is None else f" in {_rounded(e.groups * e.rows_needed / e.n)} groups"
    now = f"{e.n:,}" if e.groups is None else f"{e.n:,} in {e.groups:,}"
    return f"A verdict needs {most} {_rounded(e.rows_needed)} rows{groups} in all (an estimate; there are {now})."


def _rounded(number: float) -> str:
    """A number to two digits."""
    return f"{float(f'{number:.2g}'):,.0f}"
