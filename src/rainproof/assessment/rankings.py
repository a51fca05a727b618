"""``rainproof.assess_many``: assess several forecasts, and compare every two of them."""

from __future__ import annotations

import math
import warnings
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from html import escape
from itertools import combinations
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import ArrayLike

from rainproof.assessment.assessing import (
    Settings,
    collect_warnings,
    compressed_if_many,
    compute,
    counter,
    read,
    segments_of,
    with_warnings,
)
from rainproof.assessment.costs import Cost, mean_cost, paid, simple_actions
from rainproof.assessment.result import SCHEMA, Assessment, as_json
from rainproof.assessment.verdict import Verdict
from rainproof.core.arrays import Floats
from rainproof.core.result import Shown
from rainproof.core.sample import Sample
from rainproof.core.segments import Segments
from rainproof.core.text import aligned, at_least, at_most, finite, percent, wrapped
from rainproof.core.version import VERSION
from rainproof.decisions.tasks import DecisionTask, FiniteTask
from rainproof.errors import InputError, RainproofWarning
from rainproof.inference.performance import auroc
from rainproof.inference.resampling import Progress, Seed, as_seed
from rainproof.inference.switches import SwitchGuarantee, switch_guarantee
from rainproof.measures.scores import brier_score, log_score

if TYPE_CHECKING:
    from rainproof.plots import Figure


@dataclass(frozen=True, kw_only=True, slots=True)
class RankedForecast(Shown):
    """One of several forecasts, on all rows as it is.

    Attributes
    ----------
    name, grade : str
        The forecast, and the grade of its verdict.
    cost : Cost or None
        The cost per case of the user's own decision; None without a decision, or if it has no list of actions.
    cost_recalibrated : Cost or None
        The same on the recalibrated forecast, as in `TaskResult`.
    brier_score, log_score : float
        Proper scores: lower is better.
    auroc : float or None
        The area under the ROC curve (discrimination): 0.5 is noise, 1 is perfect. None if all outcomes are the same.
    """

    name: str
    grade: str
    cost: Cost | None
    cost_recalibrated: Cost | None
    brier_score: float
    log_score: float
    auroc: float | None

    @classmethod
    def of(cls, a: Assessment, sample: Sample, rows: Sample, task: DecisionTask | None) -> RankedForecast:
        """Compute the costs and scores of a forecast."""
        cost = None
        if isinstance(task, FiniteTask):
            cost = mean_cost(_costs(task, rows), -task.matrix, rows, a.confidence_level)
        return cls(
            name=str(a.name),
            grade=a.verdict.grade,
            cost=cost,
            cost_recalibrated=None if a.task is None else a.task.cost_recalibrated,
            brier_score=brier_score(sample),
            log_score=log_score(sample),
            auroc=auroc(sample),
        )

    def to_dict(self) -> dict[str, Any]:
        return {
            "name": self.name,
            "grade": self.grade,
            "cost": self.cost and self.cost.to_dict(),
            "cost_recalibrated": self.cost_recalibrated and self.cost_recalibrated.to_dict(),
            "brier_score": self.brier_score,
            "log_score": finite(self.log_score),
            "auroc": self.auroc,
        }


@dataclass(frozen=True, kw_only=True, slots=True)
class ReferenceCost(Shown):
    """A rule that needs no forecast, for comparison.

    Attributes
    ----------
    name : {"always act", "never act", "perfect foresight"}
        The rule.
    cost : Cost
        The cost per case of the user's own decision, on the same rows as that of the forecasts.
    """

    name: str
    cost: Cost

    def to_dict(self) -> dict[str, Any]:
        return {"name": self.name, "cost": self.cost.to_dict()}


_REFERENCES = {"always act": "cost_always", "never act": "cost_never", "perfect foresight": "cost_perfect"}


def references(task: DecisionTask | None, rows: Sample, confidence_level: float) -> tuple[ReferenceCost, ...]:
    """What always and never acting, and perfect foresight, cost; nothing if the decision has no list of actions."""
    if not isinstance(task, FiniteTask):
        return ()
    actions = simple_actions(task, rows)
    found = {
        name: mean_cost(paid(task, actions[rule], rows), -task.matrix, rows, confidence_level)
        for name, rule in _REFERENCES.items()
    }
    return tuple(ReferenceCost(name=name, cost=cost) for name, cost in found.items() if cost is not None)


@dataclass(frozen=True, kw_only=True, slots=True)
class PairwiseComparison(Shown):
    """Two forecasts compared. The intervals of all pairs hold at once, and so do all bounds on switches.

    Attributes
    ----------
    a, b : str
        The names of the forecasts.
    cost_difference : Cost or None
        The cost of a minus that of b per case, with an approximate interval, on the same rows where they are.
    to_b, to_a : SwitchGuarantee or None
        What anybody loses and gains by switching from a to b, and from b to a. None on different rows.
    """

    a: str
    b: str
    cost_difference: Cost | None
    to_b: SwitchGuarantee | None
    to_a: SwitchGuarantee | None

    @property
    def better(self) -> str | None:
        """The better forecast: the one that costs less, if there are costs; else the one to switch to.

        None if the interval contains 0, or if it is not proven that somebody gains more than anybody loses.
        """
        if self.cost_difference is not None:
            low, high = self.cost_difference.low, self.cost_difference.high
            return self.a if high < 0 else self.b if low > 0 else None
        return self.b if _proven(self.to_b) else self.a if _proven(self.to_a) else None

    def __str__(self) -> str:
        switches = [_switch(x, y, s) for x, y, s in ((self.a, self.b, self.to_b), (self.b, self.a, self.to_a)) if s]
        return " ".join([*self._cost_words(), *(switches or [f"{self.a} and {self.b} are on different rows."])])

    def _cost_words(self) -> list[str]:
        cost = self.cost_difference
        if cost is None:
            return []
        if self.better is None:
            return [
                f"{self.a} and {self.b} do not differ in cost beyond chance: the difference is {cost.mean:.4g} per "
                f"case ({cost.low:.4g} to {cost.high:.4g})."
            ]
        less, more = (self.a, self.b) if self.better == self.a else (self.b, self.a)
        low, high = sorted((abs(cost.low), abs(cost.high)))
        return [f"{less} costs {abs(cost.mean):.4g} less per case than {more} ({low:.4g} to {high:.4g})."]

    def to_dict(self) -> dict[str, Any]:
        return {
            "a": self.a,
            "b": self.b,
            "cost_difference": self.cost_difference and self.cost_difference.to_dict(),
            "to_b": self.to_b and _bounds(self.to_b),
            "to_a": self.to_a and _bounds(self.to_a),
            "better": self.better,
            "text": str(self),
        }


def _bounds(found: SwitchGuarantee) -> dict[str, Any]:
    names = ("harm", "gain", "harm_bound", "gain_at_least", "confidence_level")
    return {name: getattr(found, name) for name in names}


def _proven(found: SwitchGuarantee | None) -> bool:
    """Whether somebody provably gains more by a switch than anybody loses."""
    return found is not None and found.gain_at_least is not None and found.gain_at_least > found.harm_bound


def _switch(old: str, new: str, found: SwitchGuarantee) -> str:
    gain = (
        f"some decision gains at least {at_least(found.gain_at_least)} of what is at stake"
        if found.gain_at_least
        else "no gain is proven"
    )
    return f"From {old} to {new}: {gain}, none loses more than {at_most(found.harm_bound)}."


def cost_difference(
    task: DecisionTask | None, a: Sample, b: Sample, confidence_level: float, *, paired: bool
) -> Cost | None:
    """The cost of a minus that of b, row by row where the rows are the same."""
    if not isinstance(task, FiniteTask):
        return None
    one, other = _costs(task, a), _costs(task, b)
    if paired:
        most = float(np.ptp(task.matrix, axis=0).max())
        return mean_cost(one - other, np.array([-most, most]), a, confidence_level)
    found = [mean_cost(cost, -task.matrix, rows, confidence_level) for cost, rows in ((one, a), (other, b))]
    if found[0] is None or found[1] is None:
        return None
    mean = found[0].mean - found[1].mean
    half = math.hypot(*(max(cost.high - cost.mean, cost.mean - cost.low) for cost in found if cost is not None))
    return Cost(mean=mean, low=mean - half, high=mean + half)


def _costs(task: FiniteTask, rows: Sample) -> Floats:
    """The cost of each row, if the action is taken that is best should the probability be right."""
    return paid(task, task.best_index(rows.prob), rows)


def ranked(standings: tuple[RankedForecast, ...], pairs: tuple[PairwiseComparison, ...]) -> tuple[str, ...]:
    """The names from best to worst: by cost; without costs by proven switches, and then by the Brier score."""

    def place(one: RankedForecast) -> tuple[float, float]:
        if one.cost is not None:
            return one.cost.mean, one.brier_score
        wins = sum(pair.better == one.name for pair in pairs)
        losses = sum(pair.better not in (None, one.name) for pair in pairs if one.name in (pair.a, pair.b))
        return losses - wins, one.brier_score

    return tuple(one.name for one in sorted(standings, key=place))


def _without_forecast(
    first: RankedForecast, standings: tuple[RankedForecast, ...], others: tuple[ReferenceCost, ...]
) -> str | None:
    """What to say if always or never acting costs no more than the cheapest forecast."""
    without = min(others[:2], key=lambda rule: rule.cost.mean, default=None)
    if without is None or first.cost is None or without.cost.mean > first.cost.mean:
        return None
    rule = "Always acting" if without.name == "always act" else "Never acting"
    known = [(one.cost_recalibrated.mean, one.name) for one in standings if one.cost_recalibrated is not None]
    cost, name = min(known, default=(math.inf, ""))
    better = f" Recalibrated, {name} costs {cost:.4g} (an estimate)." if cost < without.cost.mean else ""
    return (
        f"{rule} costs least on these rows, {without.cost.mean:.4g} per case: no forecast as it is gains you anything; "
        f"the cheapest is {first.name}, {first.cost.mean:.4g}.{better}"
    )


def headline(
    best: str | None, first: RankedForecast, standings: tuple[RankedForecast, ...], others: tuple[ReferenceCost, ...]
) -> str:
    """Which forecast, in a sentence; `first` is the first of the ranking, `others` are rules without a forecast."""
    names = [one.name for one in standings]
    if first.cost is not None:
        span = f"{first.cost.mean:.4g} per case"
        without = _without_forecast(first, standings, others)
        if without is not None:
            return without
        if best is not None:
            return f"For your costs the best of {len(names)} forecasts is {best}: {span}."
        return f"No forecast is proven to cost least; on these rows it is {first.name}, {span}."
    if best is not None:
        return (
            f"{best} is the best of {len(names)} forecasts: by switching to it some decision gains more than any loses."
        )
    rest = "the other" if len(names) == 2 else "all others"
    return f"No forecast is proven better than {rest} for all costs: state your costs to rank them."


def next_step(
    best: str | None,
    name: str,
    verdict: Verdict,
    standings: tuple[RankedForecast, ...],
    others: tuple[ReferenceCost, ...],
) -> str | None:
    """What to do with the first forecast of the ranking; None if nothing tells it from the others."""
    own = next(one for one in standings if one.name == name)
    if best is None and own.cost is None:
        return None
    if _without_forecast(own, standings, others) is not None:
        return f"{name}: {verdict.next_step}"
    found = f"{name}: {verdict.headline} {verdict.next_step}"
    known = [(one.cost_recalibrated.mean, one.name) for one in standings if one.cost_recalibrated is not None]
    cost, other = min(known, default=(math.inf, ""))
    if own.cost is None or other == name or cost >= own.cost.mean:
        return found
    return f"{found} Recalibrated, {other} may cost less: {cost:.4g} per case (an estimate)."


def table(standings: tuple[RankedForecast, ...], ranking: tuple[str, ...], others: tuple[ReferenceCost, ...]) -> str:
    """The standings as lines of text, best first, and below them the rules without a forecast."""
    by_name = {one.name: one for one in standings}
    shown = columns(standings)
    lines = [("forecast", *(head for head, _ in shown))]
    lines += [(name, *(show(by_name[name]) for _, show in shown)) for name in ranking]
    lines += [(f"({rule.name})", interval(rule.cost), *("" for _ in shown[1:])) for rule in others]
    return "\n".join(aligned(lines, left=1))


def interval(cost: Cost | None) -> str:
    """A cost with its interval."""
    return "" if cost is None else f"{cost.mean:.4g} ({cost.low:.4g} to {cost.high:.4g})"


def columns(standings: tuple[RankedForecast, ...]) -> list[tuple[str, Any]]:
    """The columns of the table beside the names: heads, and how to show a cell; the cost comes first."""
    costs = [
        ("cost per case", lambda s: interval(s.cost)),
        ("recalibrated", lambda s: "" if s.cost_recalibrated is None else f"{s.cost_recalibrated.mean:.4g}"),
    ]
    return [
        *(costs if any(s.cost is not None for s in standings) else []),
        ("Brier", lambda s: f"{s.brier_score:.4g}"),
        ("log", lambda s: f"{s.log_score:.4g}"),
        ("AUROC", lambda s: "" if s.auroc is None else f"{s.auroc:.3f}"),
        ("grade", lambda s: s.grade),
    ]


Forecast = Sample | Segments | tuple[ArrayLike, ArrayLike]


@dataclass(frozen=True, kw_only=True, slots=True, eq=False, repr=False)
class AssessmentSet(Mapping[str, Assessment]):
    """What `assess_many` returns: a mapping from names to assessments; print it for the verdict.

    Attributes
    ----------
    assessments : tuple of Assessment
        The assessments in the order given; ``s["name"]`` is one of them.
    standings : tuple of RankedForecast
        The cost of the user's decision by each forecast, proper scores, discrimination and grade.
    references : tuple of ReferenceCost
        What always acting, never acting and perfect foresight cost, if all forecasts are of the same rows.
    pairs : tuple of PairwiseComparison
        Every two forecasts compared: the difference in cost, and what anybody gains and loses by switching.
    confidence_level : float
        Of each assessment; of all differences in cost together; and of all bounds on switches together.
    """

    assessments: tuple[Assessment, ...]
    standings: tuple[RankedForecast, ...]
    references: tuple[ReferenceCost, ...]
    pairs: tuple[PairwiseComparison, ...]
    confidence_level: float

    def __getitem__(self, name: str) -> Assessment:
        return {str(a.name): a for a in self.assessments}[name]

    def __iter__(self) -> Iterator[str]:
        return (str(a.name) for a in self.assessments)

    def __len__(self) -> int:
        return len(self.assessments)

    @property
    def best(self) -> str | None:
        """The forecast that is better than every other (see `PairwiseComparison.better`); None if there is none."""
        others = len(self) - 1
        wins = [pair.better for pair in self.pairs]
        return next((name for name in self if others and wins.count(name) == others), None)

    @property
    def ranking(self) -> tuple[str, ...]:
        """The names from best to worst on these rows: by cost; without costs by proven switches, then Brier score."""
        return ranked(self.standings, self.pairs)

    @property
    def headline(self) -> str:
        """The comparison in a sentence."""
        if len(self) == 1:
            return self.assessments[0].verdict.headline
        first = {one.name: one for one in self.standings}[self.ranking[0]]
        return headline(self.best, first, self.standings, self.references)

    @property
    def next_step(self) -> str | None:
        """What to do with the first forecast of the ranking; None if neither costs nor proofs tell it from others."""
        first = self.ranking[0]
        verdict = self.assessments[[one.name for one in self.standings].index(first)].verdict
        if len(self) == 1:
            return verdict.next_step
        return next_step(self.best, first, verdict, self.standings, self.references)

    def plot(self, *, figsize: tuple[float, float] = (11.0, 8.5), dpi: float | None = None) -> dict[str, Figure]:
        """Draw each forecast in a Matplotlib figure of its own (see `Assessment.plot`); return them by name."""
        return {name: a.plot(figsize=figsize, dpi=dpi) for name, a in self.items()}

    def to_html(
        self, path: str | Path | None = None, *, title: str | None = None, preset: Literal["clinical"] | None = None
    ) -> str:
        """Return the report as one self-contained HTML page, and write it to `path` if one is given.

        The preset "clinical" has the core set of measures for clinical prediction models first.
        """
        from rainproof.report import to_html

        return to_html(self, path, title=title, preset=preset)

    def to_json(self, path: str | Path | None = None) -> str:
        """Return `to_dict` as JSON, and write it to `path` if one is given (completely or not at all)."""
        return as_json(self.to_dict(), path)

    def to_dict(self) -> dict[str, Any]:
        """Return all assessments and pairs in built-in types, ready for JSON."""
        sentences = [{"about": "pair", "text": sentence} for sentence in self.sentences]
        return {
            "result": "assessment_set",
            "schema": SCHEMA,
            "rainproof": VERSION,
            "confidence_level": self.confidence_level,
            "names": list(self),
            "best": self.best,
            "ranking": list(self.ranking),
            "standings": [one.to_dict() for one in self.standings],
            "references": [one.to_dict() for one in self.references],
            "assessments": [a.to_dict() for a in self.assessments],
            "pairs": [pair.to_dict() for pair in self.pairs],
            "verdict": {
                "headline": self.headline,
                "next_step": self.next_step,
                "sentences": sentences,
                "text": str(self),
            },
        }

    @property
    def sentences(self) -> tuple[str, ...]:
        """How every two forecasts compare, and what that rests on."""
        return (*map(str, self.pairs), self._limits()) if self.pairs else ()

    def _limits(self) -> str:
        level = percent(self.confidence_level)
        costs = f"all intervals of differences in cost hold at once with about {level} confidence; "
        return (
            f"Over all pairs, {costs if self.pairs[0].cost_difference else ''}all bounds on switches hold at once with "
            f"{level} confidence. Rows (or groups) must be independent, and no forecast fitted on them."
        )

    def __repr__(self) -> str:
        return f"AssessmentSet({', '.join(map(repr, self))}; best={self.best!r})"

    def __str__(self) -> str:
        if len(self) == 1:
            return str(self.assessments[0])
        parts = [wrapped(self.headline), "", self.table(), "", *map(wrapped, self.sentences)]
        return "\n".join(parts)

    def table(self) -> str:
        """The costs, scores and grades as lines of text, best first."""
        return table(self.standings, self.ranking, self.references)

    def _repr_html_(self) -> str:
        points = "".join(f"<li>{escape(sentence)}</li>" for sentence in self.sentences)
        shown = [("forecast", lambda one: one.name), *columns(self.standings)]
        head = "".join(f"<th>{name}</th>" for name, _ in shown)
        rows = "".join(
            f"<tr>{''.join(f'<td>{escape(show(one))}</td>' for _, show in shown)}</tr>" for one in self.standings
        )
        rows += "".join(
            f"<tr><td>({escape(rule.name)})</td><td>{interval(rule.cost)}</td></tr>" for rule in self.references
        )
        return f"<p><b>{escape(self.headline)}</b></p><table><tr>{head}</tr>{rows}</table><ul>{points}</ul>"


def assess_many(
    forecasts: Mapping[str, Forecast] | Sample | ArrayLike,
    y_prob: Mapping[str, ArrayLike] | None = None,
    *,
    sample_weight: ArrayLike | None = None,
    pos_label: Any = None,
    task: DecisionTask | None = None,
    groups: ArrayLike | None = None,
    by: ArrayLike | Mapping[str, ArrayLike] | None = None,
    confidence_level: float = 0.95,
    tolerance: float = 0.05,
    rng: Seed = None,
    n_resamples: int = 999,
    measures: Iterable[str] | None = None,
    progress: Progress | None = None,
) -> AssessmentSet:
    """Assess several forecasts, and find the best: for your costs, or for everybody.

    A calibration error alone never ranks: a constant can be perfectly calibrated.

    Explained in docs/guide/assess.md.

    Parameters
    ----------
    forecasts : array_like of shape (n,), Sample or mapping
        The outcomes, with `y_prob`; or a `Sample` of several forecasts. Or a mapping from names to rows ``(y_true,
        y_prob)``, `Sample` or `Segments`. Forecasts of one sample, and rows with the very same object as `y_true`, are
        compared on the same rows (paired), which finds smaller differences; others as independent samples, by their
        costs only.
    y_prob : mapping of names to array_like of shape (n,), optional
        The predictions of each forecast for the same rows.
    sample_weight, pos_label, groups, by
        As for `assess`, the same for all forecasts; for rows only.
    task : DecisionTask, optional
        Your own decision: forecasts are then ranked by what it costs per case, acting on them as they are.
    confidence_level, tolerance, rng, n_resamples, measures, progress
        As for `assess`. Each forecast is assessed with the same random numbers, so on the same rows held out.

    Returns
    -------
    AssessmentSet
        A mapping from name to `Assessment`, with ``standings``, ``pairs``, ``ranking`` and ``best``.

    Notes
    -----
    With a task a forecast is better than another if it costs less: an interval of the difference on all rows (none was
    fitted on them), approximate (Student). Without one it is better if a switch to it is proven to gain somebody more
    than anybody loses (`switch_guarantee`). k forecasts make k (k - 1) / 2 pairs, of one interval and four bounds on
    switches each; every one has a higher confidence level, so that all intervals hold at once at the one asked for,
    and so do all bounds (Bonferroni).

    Examples
    --------
    >>> import numpy as np, rainproof
    >>> rng = np.random.default_rng(0)
    >>> p = rng.random(3000)
    >>> y = rng.random(3000) < p
    >>> task = rainproof.DecisionTask.from_costs(false_positive=1, false_negative=3)
    >>> forecasts = {"calibrated": (y, p), "constant": (y, np.full(3000, 0.5))}
    >>> s = rainproof.assess_many(forecasts, task=task, measures=[], rng=0)
    >>> s.best
    'calibrated'
    """
    generator, seed = as_seed(rng)
    # The same numbers for all. A copy of the generator would not do: before NumPy 2 it forgets how to spawn.
    start = int(generator.integers(2**63)) if seed is None else seed
    settings = Settings.checked(task, confidence_level, tolerance, n_resamples, measures, seed)
    columns = {"sample_weight": sample_weight, "pos_label": pos_label, "groups": groups, "by": by}
    whole, segmented, paired = _read(forecasts, y_prob, columns)
    couples = list(combinations(whole, 2))
    step = counter(progress, len(couples) + sum(settings.steps(segmented.get(name)) for name in whole))
    assessments, notes = [], dict[str, RainproofWarning]()
    # Compressed rows of unequal weight have no costs: the spread of their weights within cells is not known.
    even = all(sample._divisible for sample in whole.values())
    everything = {name: sample._floor() if even else sample for name, sample in whole.items()}
    own_task = task if even else None
    for name, sample in whole.items():
        with collect_warnings() as own:
            rows = compressed_if_many(sample)
            found = compute(rows, segmented.get(name), settings, np.random.default_rng(start), step)
        assessments.append(replace(with_warnings(found, tuple(own)), name=name))
        notes |= own
    standings = [RankedForecast.of(a, whole[str(a.name)], everything[str(a.name)], own_task) for a in assessments]
    doubt = (1 - settings.confidence_level) / max(1, len(couples))  # so that all statements hold at once
    options: dict[str, Any] = {"confidence_level": 1 - doubt / 4, "rng": generator}
    pairs = []
    for a, b in couples:
        to_b = to_a = None
        if paired:
            one, other = whole[a].prob, whole[b].prob
            to_b = switch_guarantee(whole[a]._pair(one, other), **options)
            to_a = switch_guarantee(whole[a]._pair(other, one), **options)
        difference = cost_difference(own_task, everything[a], everything[b], 1 - doubt, paired=paired)
        pairs.append(PairwiseComparison(a=a, b=b, cost_difference=difference, to_b=to_b, to_a=to_a))
        step()
    for note in notes.values():
        warnings.warn(note, stacklevel=2)
    return AssessmentSet(
        assessments=tuple(assessments),
        standings=tuple(standings),
        references=references(own_task, everything[next(iter(whole))], confidence_level) if paired else (),
        pairs=tuple(pairs),
        confidence_level=settings.confidence_level,
    )


def _read(forecasts: Any, y_prob: Any, columns: dict[str, Any]) -> tuple[dict[str, Sample], dict[str, Segments], bool]:
    """Return the sample of each forecast, its segments, and whether all are of the same rows."""
    if not isinstance(forecasts, Mapping) and not isinstance(forecasts, Sample) and y_prob is None:
        raise InputError(
            "forecasts must be a mapping from names to (y_true, y_prob), or outcomes with y_prob, or a Sample"
        )
    if isinstance(forecasts, Mapping):
        if not forecasts or y_prob is not None:
            raise InputError("forecasts must be a mapping from names to (y_true, y_prob), with at least one, alone")
        names = list(map(str, forecasts))
        if len(set(names)) < len(names):
            raise InputError(f"forecasts must have different names; they are {', '.join(map(repr, forecasts))}")
        rows = {str(name): _rows(str(name), forecast) for name, forecast in forecasts.items()}
        first = next(iter(rows.values()))[0]
        if any(prob is None or outcomes is not first for outcomes, prob in rows.values()):
            read_ = {name: read(*row, **columns) for name, row in rows.items()}
            found = {name: sample for name, (sample, _) in read_.items()}
            return found, {name: own for name, (_, own) in read_.items() if own is not None}, len(rows) == 1
        forecasts, y_prob = first, {name: prob for name, (_, prob) in rows.items()}
    if isinstance(forecasts, Sample):
        if y_prob is not None or not forecasts.forecasts or any(value is not None for value in columns.values()):
            raise InputError("a Sample must have several forecasts, and is passed with no other rows")
        sample = forecasts
    else:
        sample = Sample(forecasts, y_prob, **columns)
    found = {name: sample[name] for name in sample.forecasts}
    segments = {name: own for name, one in found.items() if (own := segments_of(one)) is not None}
    return found, segments, True


def _rows(name: str, forecast: Forecast) -> tuple[Any, Any]:
    """Return outcomes and predictions, or a sample and None."""
    if isinstance(forecast, Sample | Segments):
        return forecast, None
    if not isinstance(forecast, tuple | list) or len(forecast) != 2:
        raise InputError(f"forecasts[{name!r}] must be (y_true, y_prob), a Sample or Segments; it is {forecast!r:.60}")
    return forecast[0], forecast[1]
