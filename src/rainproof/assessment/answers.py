"""The four answers of a verdict, each a value and what it means: the tiles of the report and a table in a terminal."""

from __future__ import annotations

import textwrap
from typing import TYPE_CHECKING

from rainproof.assessment.text import RULES, at_threshold, estimate
from rainproof.core.text import KEEPS_RANKING, WIDTH, at_least, at_most, percent

if TYPE_CHECKING:
    from rainproof.assessment.costs import TaskResult
    from rainproof.assessment.verdict import Evidence

_COLUMN = 22  # where the answers of the table begin


def answer_line(question: str, value: str, meaning: str) -> str:
    """One line of the table of answers, wrapped under its own column."""
    head = f"{question:<{_COLUMN}}"
    filled = f"{value} {meaning}"
    return textwrap.fill(
        filled,
        WIDTH,
        initial_indent=head,
        subsequent_indent=" " * _COLUMN,
        break_long_words=False,
        break_on_hyphens=False,
    )


def worth_answer(e: Evidence, task: TaskResult | None = None) -> dict[str, str]:
    """Is it useful?"""
    own = _useful_to_you(task)
    if e.worth is None:
        return {"value": "unknown:", "meaning": "compressed rows of unequal weight cannot be divided."}
    if not e.worth.proven:
        return {"value": "not proven:", "meaning": f"no gain over no forecast is proven at any threshold.{own}"}
    where = f"where it helps most ({at_threshold(e.worth.relative_threshold).removeprefix('at a ')})"
    return {
        "value": f"at least {at_least(e.worth.relative_at_least)}",
        "meaning": f"of perfect foresight's gain over no forecast, {where}.{own}",
    }


def _useful_to_you(task: TaskResult | None) -> str:
    """Whether the forecast as it is costs the user less than no forecast, as far as an approximate interval tells."""
    plain = None if task is None else task.simplest
    saved = None if task is None or plain is None else task.saved(plain)
    if plain is None or saved is None:
        return ""
    rule = RULES[plain]
    if saved.low <= 0 <= saved.high:
        return f" For your costs, {rule} may cost no more."
    return f" As it is, {rule} costs you less." if saved.low > 0 else f" For your costs, {rule} costs more."


def loss_answer(e: Evidence) -> dict[str, str]:
    """What does miscalibration cost?"""
    lost = f"of what is at stake, {KEEPS_RANKING}."
    rates = f"Mean prediction {_share(e.mean_prediction)}, event rate {_share(e.event_rate)}."
    return {"value": f"at most {at_most(min(e.as_is.bound, 1.0))}", "meaning": lost, "detail": rates}


def recalibration_answer(e: Evidence) -> dict[str, str]:
    """What would recalibration gain?"""
    c = e.certificate
    if c is None:
        return {"value": "unknown:", "meaning": "compressed rows of unequal weight cannot be divided."}
    if e.method == "none":
        return {"value": "no change:", "meaning": "no map did better than the probabilities as they are."}
    if e.grade == "avoid" and e.ignored is not None:
        over = f"; over the forecast as it is at least {at_least(c.gain_at_least)} in some decision"
        most = f"of what is at stake in any decision{over if c.gain_at_least > 0 else ''}."
        return {"value": f"at most {at_most(e.ignored)} over no forecast,", "meaning": most}
    if e.grade == "use":
        most = (
            f"no decision gains more than about {estimate(c.gain_estimate)} of what is at stake ({e.method}, estimate)."
        )
        return {"value": "not needed:", "meaning": most}
    if c.gain_at_least == 0:
        harm = f"it loses at most {at_most(c.harm_bound)} of what is at stake in any decision ({e.method})."
        return {"value": "nothing proven;", "meaning": harm}
    gain = (
        f"of what is at stake in some decision (estimate; at least {at_least(c.gain_at_least)} proven); none loses "
        f"over {at_most(c.harm_bound)} ({e.method})."
    )
    return {"value": f"about {estimate(c.gain_estimate)}", "meaning": gain}


def cost_answer(task: TaskResult) -> dict[str, str]:
    """What does it cost you?"""
    assert task.cost is not None
    better = task.cost_recalibrated
    recalibrated = "" if better is None else f" recalibrated {better.mean:.4g} ({better.low:.4g} to {better.high:.4g});"
    others = {"always acting": task.cost_always, "never": task.cost_never}
    named = ", ".join(f"{name} {cost.mean:.4g}" for name, cost in others.items() if cost is not None)
    entered = "" if task.errors is None else " False alarm {:g}, miss {:g}.".format(*task.errors)
    return {
        "value": f"{task.cost.mean:.4g} per case",
        "meaning": f"as it is ({task.cost.low:.4g} to {task.cost.high:.4g});{recalibrated} {named}.{entered}",
    }


def _share(share: float) -> str:
    """A share of rows in percent, to three digits."""
    return percent(float(f"{share:.3g}"))
