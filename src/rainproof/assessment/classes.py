"""The assessment of a forecast for several classes: which are off and how, what it is worth, and what a task costs."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping, Sequence
from typing import Any, ClassVar

import numpy as np

from rainproof.assessment import words
from rainproof.assessment.calibration import Calibration, grouped_test, how_calibrated
from rainproof.assessment.costs import Rule, mean_cost
from rainproof.assessment.evidence import _USELESS, Grade
from rainproof.assessment.result import Reported
from rainproof.assessment.verdict import Verdict
from rainproof.core import VERSION
from rainproof.core.arrays import Floats
from rainproof.core.classes import ClassSample
from rainproof.core.result import Interval, Result, plain
from rainproof.core.text import KEEPS_RANKING, aligned, at_most, html_rows, percent, rows, short
from rainproof.decisions.classes import ClassTask
from rainproof.decisions.swaps import SwapRegret, swap_regret
from rainproof.errors import RainproofWarning
from rainproof.inference.classes import ClassGuarantee, class_guarantee
from rainproof.inference.estimates import Influence
from rainproof.inference.tests import quick_test
from rainproof.recalibration.certificate import HeldOutRates, held_out_rates
from rainproof.recalibration.classes import CLASS_METHODS, ClassCertificate, CrossFitted, folds_of
from rainproof.recalibration.recalibrator import Recalibrator
from rainproof.recalibration.selection import cannot_fit

_EXACT = 20  # classes that are tested by redrawing outcomes; so many resamples cannot tell apart p-values of more
_SHOWN = 12  # classes in a table
_NAMED = 3  # classes in a sentence


class ClassCalibration(Result):
    """What is said of one class, and how often it happens.

    Attributes
    ----------
    label
        The class.
    calibration : Calibration
        Of its probabilities. Its `p_value` allows for the number of classes (Holm): with the stated confidence no class
        of a calibrated forecast is rejected.
    reliability : HeldOutRates or None
        The mean prediction and the event rate in bins of equal weight.
    """

    _shown: ClassVar = ("label", "calibration")
    label: Any
    calibration: Calibration
    reliability: HeldOutRates | None


class ClassTaskResult(Result):
    """The user's own decision about several classes: what it costs by each way of acting.

    Attributes
    ----------
    task : ClassTask
    costs : dict of str to Interval
        The cost per case in the units of the task, with an approximate interval: acting on the forecast "as is", on the
        "recalibrated" one (by maps that were fitted to other rows), by the best "fixed" action, and with "perfect"
        foresight.
    saved : Interval or None
        What recalibration saves per case; below 0 it costs more.
    fixed_action : str
        The action that costs least if it is always taken.
    acted : dict of str to float
        The share of cases that gets each action, acting on the forecast as it is.
    regret : SwapRegret
        By action, with the advice it gives, on these rows.
    """

    _shown: ClassVar = ("costs", "saved", "fixed_action")
    task: ClassTask
    costs: Mapping[str, Interval]
    saved: Interval | None
    fixed_action: str
    acted: Mapping[str, float]
    regret: SwapRegret


class ClassAssessment(Reported):
    """What `assess` returns for several classes: print it for the verdict, draw it with ``plot()``.

    Attributes
    ----------
    classes : tuple of ClassCalibration
        Is each class honest: what is said and what happens; ``a["dog"]`` is one by its label.
    rejected : tuple
        The labels of the classes that are off (not by chance), the smallest p-value first.
    exact : bool
        Whether the tests are exact; with more than 20 classes, or groups, they are approximate.
    n : int
        The number of rows.
    groups : int or None
        The number of groups, if rows depend on each other.
    accuracy : Interval
        How often the most likely class occurred.
    log_loss : Interval
        Minus the logarithm of the probability of the class that occurred, on average (at least 1e-9 counts).
    log_loss_gain : Interval or None
        By how much recalibration lowers it, by maps that were fitted to other rows; below 0 it is worse. None where no
        map can be fitted.
    skill, skill_as_is : Interval or None
        What acting on the recalibrated forecast, and on the forecast as it is, gains over the best fixed action, as a
        share of what perfect foresight would gain: in the `task`, else in naming the class where a hit counts the more
        the rarer its class is (the mean recall of all classes; 0 is chance). None if one class alone occurs.
    guarantee : ClassGuarantee
        A proven upper bound of the loss of every decision about any one class, for all classes at once.
    recalibrator : Recalibrator
        The map to recalibrate with, and its certificate.
    task : ClassTaskResult or None
        What the user's own decision costs.
    confidence_level, tolerance : float
        As for `assess`.
    seed : int or None
        The seed of the random numbers, if one was given.
    warnings : tuple of str
        Reasons to read the result with care.
    """

    classes: tuple[ClassCalibration, ...]
    rejected: tuple[Any, ...]
    exact: bool
    n: int
    groups: int | None
    accuracy: Interval | None
    log_loss: Interval | None
    log_loss_gain: Interval | None
    skill: Interval | None
    skill_as_is: Interval | None
    guarantee: ClassGuarantee
    recalibrator: Recalibrator
    task: ClassTaskResult | None
    confidence_level: float
    tolerance: float
    seed: int | None
    warnings: tuple[str, ...]
    _commands: tuple[str, ...] = ("a.recalibrator.predict(p_new)",)

    def __getitem__(self, label: Any) -> ClassCalibration:
        return {found.label: found for found in self.classes}[label]

    @property
    def grade(self) -> Grade:
        """The verdict in a word: the first that applies of avoid, recalibrate, use, unknown."""
        if self.skill is None:
            return "unknown"
        useful, saved = self.skill.low > 0, None if self.task is None else self.task.saved
        if not useful and self.skill.high < _USELESS and self.log_loss_gain is not None:
            return "avoid"
        better = self.log_loss_gain is not None and self.log_loss_gain.value > 0
        costs_more = saved is not None and saved.high <= 0
        if self.rejected and better and not costs_more:
            return "recalibrate"
        return "use" if useful and (not self.rejected or costs_more) else "unknown"

    @property
    def verdict(self) -> Verdict:
        """The verdict in words."""
        grade = self.grade
        advised = {"recalibrate": Rule.RECALIBRATED, "avoid": None}.get(grade, Rule.AS_IS)
        drawn = "" if self.groups is None else f" in {self.groups:,} groups"
        kept = "" if self._certificate is None else f" (*: from {rows(self._certificate.n)} the map was not fitted to)"
        return Verdict(
            grade=grade,
            rule=advised,
            threshold=None,
            headline=_headline(self),
            reason=_reason(self),
            next_step=_next_step(self),
            commands=self._commands if advised is Rule.RECALIBRATED else (),
            table=tuple(map(tuple, _table(self))),
            basis=f"{rows(self.n)}{drawn}, taken as independent draws from the cases you will act on. Costs, log loss "
            "and skill are estimates. Losses are shares of what is at stake in any decision about one class, proven at "
            f"{percent(self.confidence_level)} confidence for all classes at once{kept}, {KEEPS_RANKING}.",
            answers=(),
            sentences=tuple(words.Statement("note", words.note(warning)) for warning in self.warnings),
        )

    @property
    def _certificate(self) -> ClassCertificate | None:
        found: ClassCertificate | None = self.recalibrator.certificate_
        return found

    def class_table(self, most: int | None = None) -> list[list[str]]:
        """A line for each class, those of the smallest p-value first: what is said, what happens, and how it is off."""
        lines = [["class", "says", "happens", "p", "off"]]
        for found in sorted(self.classes, key=lambda one: one.calibration.p_value)[:most]:
            c = found.calibration
            how = words.how_off(c) if c.rejected else "no sign"
            p = words.p_value(c.p_value).removeprefix("p ").removeprefix("= ")
            lines.append([short(str(found.label), 30), *words.says_and_happens(c), p, how])
        return lines

    def to_dict(self) -> dict[str, Any]:
        """Return the assessment in built-in types, ready for JSON."""
        told = super().to_dict()
        found = self.recalibrator
        told["recalibrator"] = {
            "method": found.method_,
            "map": plain(found.map_),
            "candidates": plain(found.candidates_),
            "certificate": plain(found.certificate_),
        }
        about = {"result": "class_assessment", "rainproof": VERSION, "verdict": plain(self.verdict)}
        return about | {{"recalibrator": "recalibration"}.get(name, name): value for name, value in told.items()}

    def __repr__(self) -> str:
        about = f"bound={self.guarantee.bound:.6g}, classes={len(self.classes)}, n={self.n}"
        return f"ClassAssessment({self.grade!r}, {about})"

    def __str__(self) -> str:
        more = len(self.classes) - _SHOWN
        rest = [f"and {more:,} more classes"] if more > 0 else []
        return "\n".join([str(self.verdict), "", *aligned(self.class_table(_SHOWN), left=(0, 4)), *rest])

    def _repr_html_(self) -> str:
        head, *body = self.class_table()
        return f"<div>{self.verdict._repr_html_()}<table>{html_rows(head, body)}</table></div>"


def compute_classes(
    sample: ClassSample,
    rng: np.random.Generator,
    step: Callable[[], None],
    *,
    task: ClassTask | None,
    confidence_level: float,
    tolerance: float,
    n_resamples: int,
    seed: int | None,
) -> ClassAssessment:
    """Compute an assessment of several classes, calling `step` after each of `STEPS` parts."""
    level, sample = confidence_level, sample._at(np.flatnonzero(sample.mass > 0)).in_order()
    if task is not None:
        task._check(sample)
    guarantee = class_guarantee(sample, confidence_level=level)
    step()
    recalibrator = Recalibrator(confidence_level=level, rng=rng)
    recalibrator._fit_classes(sample, task)
    new = None
    if cannot_fit(sample) is None:
        new = CrossFitted(sample, CLASS_METHODS, sample._parts(folds_of(sample), (), rng)).values()
    step()
    exact = sample.groups is None and len(sample) <= _EXACT
    classes, rejected = _calibrations(sample, level, n_resamples, rng, exact=exact)
    step()
    carrier, each = sample.top_label, np.arange(len(sample.which))
    gain = None
    if new is not None:
        logs = np.log(np.maximum(np.stack([sample.prob[each, sample.which], new[each, sample.which]]), 1e-9))
        gain = _mean(logs[1] - logs[0], carrier, level)
    own = None if task is None else _task_result(sample, task, new, level)
    as_is, better = (None if p is None else _skill(sample, p, task, level) for p in (sample.prob, new))
    found = ClassAssessment(
        classes=classes,
        rejected=rejected,
        exact=exact,
        n=sample.n,
        groups=sample.groups,
        accuracy=mean_cost(carrier.event.astype(np.float64), np.array([[0.0], [1.0]]), carrier, level),
        log_loss=_mean(-np.log(np.maximum(sample.prob[each, sample.which], 1e-9, dtype=np.float64)), carrier, level),
        log_loss_gain=gain,
        skill=as_is if new is None else better,
        skill_as_is=as_is,
        guarantee=guarantee,
        recalibrator=recalibrator,
        task=own,
        confidence_level=level,
        tolerance=tolerance,
        seed=seed,
        warnings=(),
    )
    step()
    return found


STEPS = 4
"""How often `compute_classes` calls `step`."""


def _mean(column: Floats, carrier: Any, level: float) -> Interval | None:
    """The mean of a column without limits that are known: those of these rows."""
    return mean_cost(column, np.array([[column.min()], [column.max()]]), carrier, level)


def _calibrations(
    sample: ClassSample, level: float, n_resamples: int, rng: np.random.Generator, *, exact: bool
) -> tuple[tuple[ClassCalibration, ...], tuple[Any, ...]]:
    """Test each class; p-values allow for all of them, by Holm's method."""
    alone = [sample._of(number) for number in range(len(sample))]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RainproofWarning)
        raw = np.array([quick_test(one, n_resamples, rng).p_value if exact else grouped_test(one) for one in alone])
    order = np.argsort(raw, kind="stable")
    adjusted = np.empty(len(raw))
    adjusted[order] = np.minimum(np.maximum.accumulate(raw[order] * np.arange(len(raw), 0, -1)), 1.0)
    found = []
    for number, one in enumerate(alone):
        calibration = how_calibrated(one, float(adjusted[number]), level)
        rates = held_out_rates(one, level)
        found.append(ClassCalibration(label=sample.classes[number], calibration=calibration, reliability=rates))
    return tuple(found), tuple(found[k].label for k in order if found[k].calibration.rejected)


def _task_result(sample: ClassSample, task: ClassTask, new: Floats | None, level: float) -> ClassTaskResult:
    matrix, carrier = -task.matrix, sample.top_label
    fixed = int((matrix @ sample.rates).argmin())
    best = task._best(sample.prob)
    cost = {"as is": matrix[best, sample.which], "fixed": matrix[fixed, sample.which]}
    if new is not None:
        cost["recalibrated"] = matrix[task._best(new), sample.which]
    cost["perfect"] = matrix.min(axis=0)[sample.which]
    possible = {"fixed": matrix[fixed], "perfect": matrix.min(axis=0)}
    costs = {
        name: mean_cost(cost[name], possible.get(name, matrix).reshape(-1, 1), carrier, level)
        for name in ("as is", "recalibrated", "fixed", "perfect")
        if name in cost
    }
    saved = None
    if new is not None:
        saved = mean_cost(cost["as is"] - cost["recalibrated"], np.array([[-task.scale], [task.scale]]), carrier, level)
    share = np.bincount(best, sample.mass, len(task.actions)) / sample.total_weight
    return ClassTaskResult(
        task=task,
        costs={name: found for name, found in costs.items() if found is not None},
        saved=saved,
        fixed_action=task.actions[fixed],
        acted=dict(zip(task.actions, share.tolist(), strict=True)),
        regret=swap_regret(sample, task=task),
    )


def _skill(sample: ClassSample, prob: Floats, task: ClassTask | None, level: float) -> Interval | None:
    r"""The value of acting on predictions over the best fixed action, as a share of what perfect foresight gains.

    Without a task a hit counts 1 over the share of its class: the value is :math:`(\sum_c r_c - 1)/(k - 1)` with the
    recall r of each class that occurs; with two classes it is that of `assess` for one event.
    """
    rate, which, influence = sample.rates, sample.which, Influence.of(sample.top_label, pool=False)
    some = np.flatnonzero(rate > 0)
    if len(some) < 2:
        return None
    if task is None:
        hit = (some[(prob[:, some] / rate[some]).argmax(axis=1)] == which) * 1.0
        recall = np.bincount(which, sample.mass * hit, len(rate)) / np.maximum(rate * sample.total_weight, 1e-300)
        value = float(recall[some].sum() - 1) / (len(some) - 1)
        adds = (hit - recall[which]) / rate[which] / (len(some) - 1)
    else:
        matrix = task.matrix
        paid, fixed = matrix[task._best(prob), which], matrix[int((matrix @ rate).argmax()), which]
        most = float(influence.share @ (matrix.max(axis=0)[which] - fixed))
        if not most > 0:
            return None
        value = float(influence.share @ (paid - fixed)) / most
        adds = ((paid - fixed) - value * (matrix.max(axis=0)[which] - fixed)) / most
    ends = (float(adds.min()), float(adds.max()))
    return influence.interval(value, adds, ends, level).within(-np.inf, 1.0)


# Words.


def _off(a: ClassAssessment) -> str:
    """Which classes are off, and how the first of them is."""
    names = ", ".join(repr(str(label)) for label in a.rejected[:_NAMED])
    more = f" and {len(a.rejected) - _NAMED} more" * (len(a.rejected) > _NAMED)
    first = a[a.rejected[0]].calibration
    are = "are" if len(a.rejected) > 1 else "is"
    many = f"{len(a.rejected)} of {len(a.classes)} classes {are} off ({names}{more})"
    return f"{many}. {str(a.rejected[0])!r} is {words.how_off(first)} (not chance: {words.p_range(first.p_value)})"


def _headline(a: ClassAssessment) -> str:
    grade = a.grade
    if a.skill is None:
        return "There is one outcome only: no verdict."
    if grade == "recalibrate" and a.task is not None and a.task.saved is not None and a.task.saved.low <= 0:
        return f"{_off(a)}. For your costs it is not clear whether recalibrating pays."
    if grade == "recalibrate":
        return f"Recalibrate first: {_off(a)}."
    if grade == "avoid":
        return "Do without them. They hardly tell the classes apart, even recalibrated."
    if grade == "use" and not a.rejected:
        return f"Use them. {rows(a.n)} show no clear sign of miscalibration in any of {len(a.classes)} classes."
    if grade == "use":
        return f"Use them. {_off(a)}, but correcting that does not lower your cost."
    if a.rejected:
        return f"{_off(a)}, but {rows(a.n)} are too few to find a correction that helps."
    drawn = f"rows to be sure ({a.n:,})" if a.groups is None else f"groups to be sure ({a.groups:,})"
    return f"Too few {drawn}: no class is clearly off, and no skill is shown."


def _reason(a: ClassAssessment) -> str:
    if a.task is not None and "recalibrated" in a.task.costs:
        cost = {name: found.value for name, found in a.task.costs.items()}
        saved = cost["as is"] - cost["recalibrated"]
        as_is, better, fixed = (words.money(cost[name], saved) for name in ("as is", "recalibrated", "fixed"))
        return (
            f"Acting on them costs {as_is} per case, recalibrated {better}, always {a.task.fixed_action!r} {fixed} "
            "(estimates)."
        )
    if a.log_loss_gain is None or a.log_loss is None:
        return "No map can be fitted to these rows."
    gain = a.log_loss_gain.value
    change = f"Recalibrating {'lowers' if gain > 0 else 'raises'} the log loss by {abs(gain):.3g}"
    return f"{change} from {a.log_loss.value:.4g}, by maps that were fitted to other rows."


def _next_step(a: ClassAssessment) -> str:
    best = "take the action of the lowest expected cost" if a.task is not None else "act on them"
    if a.skill is None:
        return "Next: get rows of several classes."
    hint = ""
    if a.task is not None and a.task.regret.swaps:
        swap = a.task.regret.swaps[0]
        hint = f" On these rows {swap.replacement!r} would have cost less wherever they said {swap.action!r}."
    if a.grade == "recalibrate":
        return f"Next: apply the map to new cases, then {best}."
    if a.grade == "avoid":
        fixed = f"always {a.task.fixed_action!r}" if a.task is not None else "do without"
        return f"Next: use another forecast. Until then {fixed}."
    return f"Next: {'until there are more rows, ' * (a.grade == 'unknown')}{best}.{hint}"


def _table(a: ClassAssessment) -> list[list[str]]:
    fixed = "Best fixed action" if a.task is None else f"Always {a.task.fixed_action!r}"
    lines: list[Sequence[str]] = [["", "As it is", "Recalibrated", fixed, "Perfect"]]
    if a.task is not None:
        shown = [a.task.costs.get(name) for name in ("as is", "recalibrated", "fixed", "perfect")]
        lines.append(["Cost per case", *("" if cost is None else f"{cost.value:.4g}" for cost in shown)])
        lines.append(["  interval", *("" if c is None else f"{c.low:.4g} to {c.high:.4g}" for c in shown)])
    if a.skill is not None and a.skill_as_is is not None:
        lines.append(["Skill", words.share(a.skill_as_is.value), words.share(a.skill.value), "0%", "100%"])
    if a.log_loss is not None:
        gain = None if a.log_loss_gain is None else a.log_loss.value - a.log_loss_gain.value
        lines.append(["Log loss", f"{a.log_loss.value:.4g}", "" if gain is None else f"{gain:.4g}", "", "0"])
    proof = "" if a._certificate is None else f"{at_most(a._certificate.loss_bound)}*"
    lines.append(["Any decision about one class loses at most", at_most(a.guarantee.bound), proof, "", ""])
    return [list(line) for line in lines]
