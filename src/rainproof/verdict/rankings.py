"""``rainproof.assess_many``: assess several forecasts, and compare every two of them."""

from __future__ import annotations

import math
import warnings
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from itertools import combinations
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from rainproof.core import VERSION
from rainproof.core.arguments import as_sample, with_rate
from rainproof.core.arrays import Floats
from rainproof.core.result import Interval, Result, plain, result_class
from rainproof.core.sample import Sample
from rainproof.core.segments import Segments
from rainproof.core.text import aligned, html_rows, one_line, wrapped
from rainproof.core.validation import BaseRate
from rainproof.decisions.tasks import DecisionTask, ListedTask, if_listed
from rainproof.errors import InputError, RainproofWarning
from rainproof.inference.auroc import auroc
from rainproof.inference.options import Progress, Seed, as_seed, counter
from rainproof.inference.switches import SwitchGuarantee, switch_guarantee
from rainproof.measures.scores import brier_score, log_score
from rainproof.verdict import forecast_statements as said
from rainproof.verdict.assessing import (
    check_options,
    collect_warnings,
    compressed_if_many,
    compute,
    ordered,
    read,
    segments_of,
    steps,
)
from rainproof.verdict.costs import (
    Rule,
    added_by_event,
    differences,
    mean_cost,
    paid,
    rule_cost,
    simple_actions,
)
from rainproof.verdict.renderer import PYTHON, Renderer
from rainproof.verdict.result import SCHEMA, Assessment, Reported


@result_class
class RankedForecast(Result):
    """One of several forecasts, on all rows as it is.

    Attributes
    ----------
    name, grade : str
        The forecast, and the grade of its verdict.
    cost : Interval or None
        The cost per case of the user's own decision; None without a decision, or if it has no list
        of actions.
    cost_recalibrated : Interval or None
        The same on the recalibrated forecast, as in `TaskResult`.
    rule : Rule or None
        The way of acting that its verdict advises.
    brier_score, log_score : float
        Proper scores: lower is better. The Brier score is also the mean cost over all thresholds,
        where a false alarm costs twice the threshold and a miss twice the rest.
    brier_recalibrated : float or None
        The Brier score of the recalibrated forecast, cross-fitted; None where no map can be fitted.
    auroc : float or None
        The area under the ROC curve (discrimination): 0.5 is noise, 1 is perfect. None if all
        outcomes are the same.
    """

    name: str
    grade: str
    cost: Interval | None
    cost_recalibrated: Interval | None
    rule: Rule | None
    brier_score: float
    brier_recalibrated: float | None
    log_score: float
    auroc: float | None

    @classmethod
    def of(
        cls, a: Assessment, sample: Sample, rows: Sample, task: DecisionTask | None
    ) -> RankedForecast:
        """Compute the costs and scores of a forecast."""
        cost = None
        listed = if_listed(task)
        if listed is not None:
            cost = _cost_as_is(listed, rows, a.confidence_level)
        return cls(
            name=str(a.name),
            grade=a.verdict.grade,
            cost=cost,
            cost_recalibrated=None if a.task is None else a.task.cost_recalibrated,
            rule=a.verdict.rule,
            brier_score=(brier := brier_score(sample)),
            brier_recalibrated=None
            if a.evidence.gain is None
            else brier - a.evidence.gain.brier_score,
            log_score=log_score(sample),
            auroc=auroc(sample),
        )

    @property
    def advised_cost(self) -> Interval | None:
        """The cost per case as its verdict advises to act on it; None without costs."""
        return self.cost_recalibrated if self.rule is Rule.RECALIBRATED else self.cost

    @property
    def advised_brier(self) -> float:
        """The Brier score as its verdict advises to act on it."""
        better = self.brier_recalibrated
        return self.brier_score if better is None or self.rule is not Rule.RECALIBRATED else better


def references(
    task: DecisionTask | None, rows: Sample, confidence_level: float
) -> dict[Rule, Interval]:
    """What rules without a forecast, and perfect foresight, cost; nothing if the decision has no
    list of actions.
    """
    listed = if_listed(task)
    if listed is None:
        return {}
    own = listed.for_rows(rows)
    actions = simple_actions(own, rows)
    costs = {
        rule: rule_cost(
            own,
            rule,
            paid(own, action, rows),
            rows,
            confidence_level,
            # foresight has another action with the event
            added=None if rule is Rule.PERFECT else added_by_event(own, action, rows),
        )
        for rule, action in actions.items()
        if rule is not Rule.AS_IS
    }
    return {rule: cost for rule, cost in costs.items() if cost is not None}


@result_class
class PairwiseComparison(Result):
    """Two forecasts compared. The intervals of all pairs hold at once, and so do all bounds on
    switches.

    Attributes
    ----------
    a, b : str
        The names of the forecasts.
    cost_difference : Interval or None
        The cost of a minus that of b per case, with an approximate interval, on the same rows where
        they are.
    to_b, to_a : SwitchGuarantee or None
        What any decision loses and gains by switching from a to b, and from b to a. None for
        samples, which do not know which rows belong together.
    """

    a: str
    b: str
    cost_difference: Interval | None
    to_b: SwitchGuarantee | None
    to_a: SwitchGuarantee | None

    @property
    def better(self) -> str | None:
        """The better forecast: the one that costs less, if there are costs; else the one to switch
        to.

        None if the interval contains 0, or if it is not proven that some decision gains more than
        any loses.
        """
        if self.cost_difference is not None:
            low = self.cost_difference.low
            high = self.cost_difference.high
            return self.a if high < 0 else self.b if low > 0 else None
        return self.b if _proven(self.to_b) else self.a if _proven(self.to_a) else None

    def __str__(self) -> str:
        return one_line(PYTHON.passage(said.pair(self)))

    def to_dict(self) -> dict[str, Any]:
        """Return the comparison in built-in types, ready for JSON; of a switch the bounds, not the
        curve.
        """
        bounds = ("harm", "gain", "harm_bound", "gain_at_least", "confidence_level")
        switches = {"to_b": self.to_b, "to_a": self.to_a}
        return {
            "a": self.a,
            "b": self.b,
            "cost_difference": plain(self.cost_difference),
            **{
                name: by and {key: getattr(by, key) for key in bounds}
                for name, by in switches.items()
            },
            "better": self.better,
            "text": str(self),
        }


def _proven(found: SwitchGuarantee | None) -> bool:
    """Whether some decision provably gains more by a switch than any loses."""
    return (
        found is not None
        and found.gain_at_least is not None
        and found.gain_at_least > found.harm_bound
    )


def cost_difference(
    task: DecisionTask | None, a: Sample, b: Sample, confidence_level: float, *, paired: bool
) -> Interval | None:
    """The cost of a minus that of b, row by row where the rows are the same."""
    listed = if_listed(task)
    if listed is None:
        return None
    if paired:
        difference = _costs(listed, a) - _costs(listed, b)
        return mean_cost(difference, differences(listed.for_rows(a)), a, confidence_level)
    first = _cost_as_is(listed, a, confidence_level)
    second = _cost_as_is(listed, b, confidence_level)
    if first is None or second is None:
        return None
    value = first.value - second.value
    low = value - math.hypot(first.value - first.low, second.high - second.value)
    high = value + math.hypot(first.high - first.value, second.value - second.low)
    return Interval(value=value, low=low, high=high, confidence_level=confidence_level)


def _costs(task: ListedTask, rows: Sample) -> Floats:
    """The cost of each row, if the action is taken that is best should the probability be right."""
    own = task.for_rows(rows)
    return paid(own, own.best_index(rows.prob), rows)


def _cost_as_is(task: ListedTask, rows: Sample, confidence_level: float) -> Interval | None:
    """The mean of these costs."""
    own = task.for_rows(rows)
    added = added_by_event(own, own.best_index(rows.prob), rows)
    return rule_cost(own, Rule.AS_IS, _costs(own, rows), rows, confidence_level, added=added)


Forecast = Sample | Segments | tuple[ArrayLike, ArrayLike]


@result_class
class AssessmentSet(Reported, Mapping[str, Assessment]):
    """What `assess_many` returns: a mapping from names to assessments; print it for the verdict.

    Attributes
    ----------
    assessments : tuple of Assessment
        The assessments in the order given; ``s["name"]`` is one of them.
    standings : tuple of RankedForecast
        The cost of the user's decision by each forecast, proper scores, discrimination and grade.
    references : dict of Rule to Interval
        What acting "always", acting "never" (of more than two actions: "always the same", the
        best), and "perfect" foresight cost, if the forecasts are of rows, or of one sample.
    pairs : tuple of PairwiseComparison
        Every two forecasts compared: the difference in cost, and what any decision gains and loses
        by switching. None where samples are compared without a task.
    confidence_level : float
        Of each assessment; of all differences in cost together; and of all bounds on switches
        together.
    """

    _kind: ClassVar = "assessment_set"

    assessments: tuple[Assessment, ...]
    standings: tuple[RankedForecast, ...]
    references: Mapping[Rule, Interval]
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
        """The forecast that is better than every other (see `PairwiseComparison.better`); None if
        there is none.
        """
        others = len(self) - 1
        wins = [pair.better for pair in self.pairs]
        return next((name for name in self if others and wins.count(name) == others), None)

    @property
    def ranking(self) -> tuple[str, ...]:
        """The names from best to worst on these rows: by cost; without costs by proven switches,
        then Brier score.
        """

        def place(one: RankedForecast) -> tuple[float, float]:
            if one.cost is not None:
                return one.cost.value, one.brier_score
            own = [pair.better for pair in self.pairs if one.name in (pair.a, pair.b)]
            losses = sum(better not in (None, one.name) for better in own)
            return losses - own.count(one.name), one.brier_score

        return tuple(one.name for one in sorted(self.standings, key=place))

    @property
    def first(self) -> RankedForecast:
        """The first of the ranking."""
        return next(one for one in self.standings if one.name == self.ranking[0])

    @property
    def taken(self) -> RankedForecast | None:
        """The forecast to take: the one that costs least, acting as its own verdict advises, by the
        estimate.

        Without costs it is the one with the smallest Brier score; in a range of thresholds, `best`
        if there is one, to be used as it is. None where each is to be avoided, or where a rule
        without a forecast costs no more.
        """
        known = [one for one in self.standings if one.rule in (Rule.AS_IS, Rule.RECALIBRATED)]
        if any(one.advised_cost is None for one in known):
            first = min(known, key=lambda one: one.advised_brier)
            if self.assessments[0].evidence.within is None:
                return first
            return next(
                (one for one in known if one.name == self.best and one.rule is Rule.AS_IS), first
            )
        simple = [cost.value for rule, cost in self.references.items() if rule is not Rule.PERFECT]

        def cost(one: RankedForecast) -> tuple[float, float]:
            return (
                one.advised_cost.value if one.advised_cost is not None else math.inf,
                one.advised_brier,
            )

        least = min(known, key=cost, default=None)
        return (
            least if least is not None and cost(least)[0] < min(simple, default=math.inf) else None
        )

    def rendered_by(self, renderer: Renderer) -> RankingVerdict:
        """Return what is printed, in other words: those of a shell, say."""
        return RankingVerdict(self, renderer)

    @property
    def headline(self) -> str:
        """The comparison in a sentence."""
        return self.rendered_by(PYTHON).headline

    @property
    def next_step(self) -> str:
        """What to do, with the forecast to take."""
        return self.rendered_by(PYTHON).next_step

    @property
    def commands(self) -> tuple[str, ...]:
        """The code that does it."""
        return self.rendered_by(PYTHON).commands

    @property
    def sentences(self) -> tuple[str, ...]:
        """How every two forecasts compare, and what that rests on."""
        return self.rendered_by(PYTHON).sentences

    def table(self) -> str:
        """The costs, scores and grades as lines of text, best first."""
        return self.rendered_by(PYTHON).table()

    def body(self) -> str:
        """What follows the headline: the next step, the table, and what a switch between every two
        brings.
        """
        return self.rendered_by(PYTHON).body()

    def plot(self, ax: Any = None, **options: Any) -> dict[str, Any]:
        """Draw each forecast in a figure of its own (see `rainproof.plots.overview`), and return
        them by name.
        """
        return {name: a.plot(ax, **options) for name, a in self.items()}

    def to_dict(self) -> dict[str, Any]:
        """Return all assessments and pairs in built-in types, ready for JSON."""
        return self.to_dict_by(PYTHON)

    def to_dict_by(self, renderer: Renderer) -> dict[str, Any]:
        """Return the same in the words of a renderer."""
        taken = None
        if self.taken is not None:
            taken = {"name": self.taken.name, "rule": str(self.taken.rule)}
        assessments = []
        for name, one in self.items():
            assessments.append(one.to_dict_by(renderer.of_forecast(name)))
        return {
            "result": self._kind,
            "assessments": assessments,
            "standings": plain(self.standings),
            "references": plain(self.references),
            "pairs": plain(self.pairs),
            "confidence_level": plain(self.confidence_level),
            "schema": SCHEMA,
            "rainproof": VERSION,
            "names": list(self),
            "best": self.best,
            "taken": taken,
            "ranking": list(self.ranking),
            "verdict": self.rendered_by(renderer).to_dict(),
        }

    def __repr__(self) -> str:
        return f"AssessmentSet({', '.join(map(repr, self))}; best={self.best!r})"

    def __str__(self) -> str:
        return self.rendered_by(PYTHON).text

    def _repr_html_(self) -> str:
        return self.rendered_by(PYTHON).html()


class RankingVerdict(NamedTuple):
    """What is printed of several forecasts, in the words of a renderer."""

    found: AssessmentSet
    renderer: Renderer

    @property
    def headline(self) -> str:
        """The comparison in a sentence."""
        return one_line(self.renderer.passage(said.best_forecast(self.found)))

    @property
    def next_step(self) -> str:
        """What to do, with the forecast to take."""
        return one_line(self.renderer.passage(said.next_step(self.found)))

    @property
    def commands(self) -> tuple[str, ...]:
        """The code, or the command lines, that do it."""
        return self.renderer.commands(said.steps(self.found))

    @property
    def sentences(self) -> tuple[str, ...]:
        """How every two forecasts compare, and what that rests on."""
        pairs = self.found.pairs
        return (*map(str, pairs), self.pair_limits) if pairs else ()

    @property
    def pair_limits(self) -> str:
        """What the comparisons of all pairs rest on."""
        return self.renderer.passage(said.pair_limits(self.found))

    @property
    def standings(self) -> tuple[tuple[str, ...], ...]:
        """The costs, scores and grades with their head, best first."""
        return self.renderer.table(said.standings(self.found))

    @property
    def about_standings(self) -> list[str]:
        """What the numbers of that table are."""
        return [self.renderer.text(statement) for statement in said.about_standings(self.found)]

    @property
    def pairs(self) -> tuple[tuple[str, ...], ...]:
        """What a switch between every two brings, with the head of the table."""
        return self.renderer.table(said.pairs(self.found))

    def table(self) -> str:
        """The costs, scores and grades as lines of text, best first."""
        return "\n".join(aligned(self.standings, left=1))

    def body(self) -> str:
        """What follows the headline: the next step, the table, and what a switch between every two
        brings.
        """
        code = [f"    {command}" for command in self.commands]
        lines = [wrapped(self.next_step), *code, "", self.table()]
        lines += map(wrapped, self.about_standings)
        if self.found.pairs:
            lines += ["", *aligned(self.pairs, left=2), wrapped(self.pair_limits)]
        return "\n".join(lines)

    @property
    def text(self) -> str:
        """Headline and body; of one forecast all that its verdict says."""
        if len(self.found) == 1:
            return self.found.assessments[0].verdict.rendered_by(self.renderer).text
        return "\n".join([wrapped(self.headline), self.body()])

    def to_dict(self) -> dict[str, Any]:
        """Return it in built-in types, ready for JSON."""
        return {
            "headline": self.headline,
            "next_step": self.next_step,
            "commands": list(self.commands),
            "sentences": [{"about": "pair", "text": sentence} for sentence in self.sentences],
            "text": self.text,
        }

    def html(self) -> str:
        """Return it as HTML, for a notebook."""
        shown = RankingVerdict(self.found, self.renderer.as_html())
        code = f"<pre>{chr(10).join(shown.commands)}</pre>" if shown.commands else ""
        tables = [shown.standings]
        points = shown.about_standings
        if self.found.pairs:
            tables.append(shown.pairs)
            points.append(shown.pair_limits)
        drawn = "".join(f"<table>{html_rows(head, body)}</table>" for head, *body in tables)
        listed = "".join(f"<li>{point}</li>" for point in points)
        headline = f"<p><b>{shown.headline}</b></p><p>{shown.next_step}</p>"
        return f"{headline}{code}{drawn}<ul>{listed}</ul>"


def assess_many(
    forecasts: Mapping[str, Forecast] | Sample | ArrayLike,
    y_prob: Mapping[str, ArrayLike] | None = None,
    *,
    sample_weight: ArrayLike | None = None,
    pos_label: Any = None,
    task: DecisionTask | None = None,
    groups: ArrayLike | None = None,
    max_weight: float | None = None,
    by: ArrayLike | Mapping[str, ArrayLike] | None = None,
    base_rate: BaseRate | None = None,
    threshold_range: float | tuple[float, float] | None = None,
    confidence_level: float = 0.95,
    tolerance: float = 0.05,
    rng: Seed = 0,
    n_resamples: int = 999,
    measures: Iterable[str] | None = None,
    progress: Progress | None = None,
) -> AssessmentSet:
    """Assess several forecasts, and find the best: for your costs, or for every decision.

    A calibration error alone never ranks: a constant can be perfectly calibrated.

    Explained in docs/guide/assess.md.

    Parameters
    ----------
    forecasts : array_like of shape (n,), Sample or mapping
        The outcomes, with `y_prob`; or a `Sample` of several forecasts. Or a mapping from names to
        rows ``(y_true, y_prob)``, `Sample` or `Segments`. All must be about the same outcomes:
        costs and scores of different events cannot be compared, and are refused. Rows are compared
        one by one (paired), which finds smaller differences; samples as if they were independent,
        by their costs only.
    y_prob : mapping of names to array_like of shape (n,), optional
        The predictions of each forecast for the same rows.
    sample_weight, pos_label, groups, by, base_rate
        As for `assess`, the same for all forecasts; for rows only, but for `base_rate`.
    task : DecisionTask, optional
        Your own decision: forecasts are then ranked by what it costs per case, acting on them as
        they are.
    max_weight, threshold_range, confidence_level, tolerance, rng, n_resamples, measures, progress
        As for `assess`; `max_weight` also for what a switch gains and loses. Each forecast is
        assessed with the same random numbers, so on the same rows held out.

    Returns
    -------
    AssessmentSet
        A mapping from name to `Assessment`, with ``standings``, ``pairs``, ``ranking`` and
        ``best``.

    Notes
    -----
    With a task a forecast is better than another if it costs less: an interval of the difference on
    all rows (none was fitted on them), approximate. Without one it is better if by a switch to it
    some decision provably gains more than any loses (`switch_guarantee`). k forecasts make k (k -
    1) / 2 pairs, of one interval and four bounds on switches each; every one has a higher
    confidence level, so that all intervals hold at once at the one asked for, and so do all bounds
    (Bonferroni).

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
    # Without a seed the same numbers for all. A copy of the generator would not do: before NumPy 2
    # it forgets how to spawn. With one, each forecast and each pair has those of its own rows,
    # whatever is beside it.
    start = int(generator.integers(2**63)) if seed is None else 0
    about: dict[str, Any] = {"threshold_range": threshold_range, "max_weight": max_weight}
    chosen = check_options(task, confidence_level, tolerance, n_resamples, measures, **about)
    columns = {"sample_weight": sample_weight, "pos_label": pos_label, "groups": groups, "by": by}
    whole, segmented, paired = _read(forecasts, y_prob, columns, task, base_rate)
    # Compressed rows of unequal weight have no costs: the spread of their weights within cells is
    # not known.
    even = all(sample.units.divisible for sample in whole.values())
    everything = {
        name: sample.at_cell_means() if even else sample for name, sample in whole.items()
    }
    own_task = task if even else None
    # else nothing compares them
    couples = list(combinations(whole, 2)) if paired or own_task is not None else []
    step = counter(progress, len(couples) + sum(steps(segmented.get(name)) for name in whole))
    assessments = []
    notes = dict[str, RainproofWarning]()
    for name, sample in whole.items():
        with collect_warnings() as own:
            rows = compressed_if_many(sample)
            own_generator = np.random.default_rng(start) if seed is None else as_seed(seed, rows)[0]
            found = compute(rows, segmented.get(name), own_generator, step, seed=seed, **chosen)
        assessments.append(replace(found, warnings=tuple(own), name=name))
        notes |= own
    standings = [
        RankedForecast.of(a, whole[str(a.name)].middle(), everything[str(a.name)], own_task)
        for a in assessments
    ]
    doubt = (1 - confidence_level) / max(1, len(couples))  # so that all statements hold at once
    options: dict[str, Any] = {
        "confidence_level": 1 - doubt / 4,
        "rng": generator if seed is None else seed,
        **about,
    }
    pairs = []
    for a, b in couples:
        to_b = to_a = None
        if paired:
            one = whole[a].prob
            other = whole[b].prob
            to_b = switch_guarantee(whole[a].with_forecasts(old=one, new=other), **options)
            to_a = switch_guarantee(whole[a].with_forecasts(old=other, new=one), **options)
        difference = cost_difference(
            own_task, everything[a], everything[b], 1 - doubt, paired=paired
        )
        pairs.append(PairwiseComparison(a=a, b=b, cost_difference=difference, to_b=to_b, to_a=to_a))
        step()
    for note in notes.values():
        warnings.warn(note, stacklevel=2)
    return AssessmentSet(
        assessments=tuple(assessments),
        standings=tuple(standings),
        references=references(own_task, everything[next(iter(whole))], confidence_level)
        if paired
        else {},
        pairs=tuple(pairs),
        confidence_level=float(confidence_level),
    )


def _read(
    forecasts: Any,
    y_prob: Any,
    columns: dict[str, Any],
    task: DecisionTask | None,
    base_rate: BaseRate | None,
) -> tuple[dict[str, Sample], dict[str, Segments], bool]:
    """Return the sample of each forecast, its segments, and whether rows can be compared one by
    one.
    """
    if not isinstance(forecasts, Mapping) and not isinstance(forecasts, Sample) and y_prob is None:
        raise InputError(
            "forecasts must be a mapping from names to (y_true, y_prob), or outcomes with "
            "y_prob, or a Sample"
        )
    if isinstance(forecasts, Mapping):
        if not forecasts or y_prob is not None:
            raise InputError(
                "forecasts must be a mapping from names to (y_true, y_prob), with at least one, "
                "alone"
            )
        names = list(map(str, forecasts))
        if len(set(names)) < len(names):
            raise InputError(
                f"forecasts must have different names; they are {', '.join(map(repr, forecasts))}"
            )
        rows = {str(name): _rows(str(name), forecast) for name, forecast in forecasts.items()}
        _check_same_outcomes(rows, columns["pos_label"])
        first = next(iter(rows.values()))[0]
        if any(prob is None for _, prob in rows.values()):
            read_ = {name: read(*row, columns, task, base_rate) for name, row in rows.items()}
            found = {name: sample for name, (sample, _) in read_.items()}
            return (
                found,
                {name: own for name, (_, own) in read_.items() if own is not None},
                len(rows) == 1,
            )
        forecasts = first
        y_prob = {name: prob for name, (_, prob) in rows.items()}
    if isinstance(forecasts, Sample):
        if (
            y_prob is not None
            or not forecasts.forecasts
            or any(value is not None for value in columns.values())
        ):
            raise InputError(
                "a Sample must have several forecasts, and is passed with no other rows"
            )
        sample = forecasts
    else:
        sample = Sample(forecasts, y_prob, **columns)
    sample = with_rate(sample, base_rate, rates=True)
    if task is not None:
        sample = task.add_costs(sample, ("y_true", forecasts), *(y_prob or {}).items())
    sample = ordered(sample)
    found = {name: sample[name] for name in sample.forecasts}
    segments = {name: own for name, one in found.items() if (own := segments_of(one)) is not None}
    return found, segments, True


def _check_same_outcomes(rows: Mapping[str, tuple[Any, Any]], pos_label: Any) -> None:
    """Refuse forecasts of different outcomes: the cheaper forecast may then just be about the
    cheaper event.
    """
    (one, first), *others = rows.items()
    different = [(name, row) for name, row in others if row[0] is not first[0]]
    if not different:
        return
    known = _unordered(*first, pos_label)
    for name, row in different:
        other = _unordered(*row, pos_label)
        if (how := _outcomes_differ(known, other)) is not None:
            raise InputError(
                f"forecasts must be about the same outcomes; those of {one!r} and {name!r} {how}",
                hint=": costs and scores of different events cannot be compared",
                remedy="; pass one y_true for all, or assess each forecast by itself",
            )


def _unordered(outcomes: Any, prob: Any, pos_label: Any) -> Sample:
    """The rows of a forecast in the order in which they came."""
    if isinstance(outcomes, Segments):
        return outcomes.pooled
    return (
        outcomes if isinstance(outcomes, Sample) else as_sample(outcomes, prob, pos_label=pos_label)
    )


def _outcomes_differ(a: Sample, b: Sample) -> str | None:
    """How the outcomes of two samples differ; None if they are the same, as far as compressed
    samples can tell.
    """
    if a.n != b.n:
        return f"are of {a.n:,} and {b.n:,} rows"
    if all(sample.grid is None and not sample.design.shares for sample in (a, b)):
        apart = np.flatnonzero(a.event != b.event)
        return (
            f"differ in {len(apart):,} of {a.n:,} rows, the first is row {apart[0]:,}"
            if len(apart)
            else None
        )
    if not a.design.shares and not b.design.shares and a.events != b.events:
        return f"have {a.events:,} and {b.events:,} events in {a.n:,} rows"
    if not math.isclose(a.event_rate, b.event_rate, rel_tol=1e-9):  # by weight
        return f"have event rates of {a.event_rate:.6g} and {b.event_rate:.6g}"
    return None


def _rows(name: str, forecast: Forecast) -> tuple[Any, Any]:
    """Return outcomes and predictions, or a sample and None."""
    if isinstance(forecast, Sample | Segments):
        return forecast, None
    if not isinstance(forecast, tuple | list) or len(forecast) != 2:
        raise InputError(
            f"forecasts[{name!r}] must be (y_true, y_prob), a Sample or Segments; it is "
            f"{forecast!r:.60}"
        )
    return forecast[0], forecast[1]
