"""``rainproof.assess_many``: assess several forecasts and compare every two of them."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from html import escape
from itertools import combinations
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import ArrayLike

from rainproof.assessment.assess import collect_warnings, counter, read, read_groups
from rainproof.assessment.compute import Settings, compute, with_warnings
from rainproof.assessment.ranking import (
    Pair,
    ReferenceCost,
    Standing,
    columns,
    cost_difference,
    headline,
    interval,
    next_step,
    ranked,
    references,
    table,
)
from rainproof.assessment.result import SCHEMA, Assessment, as_json
from rainproof.core.sample.sample import Sample, as_sample
from rainproof.core.sample.segments import Segments
from rainproof.core.text import percent, wrapped
from rainproof.core.version import VERSION
from rainproof.decisions.task import DecisionTask
from rainproof.errors import InputError, RainproofWarning
from rainproof.inference.forecasts import Forecasts
from rainproof.inference.resampling import Progress, Seed, as_seed
from rainproof.inference.switching import switch_guarantee

if TYPE_CHECKING:
    from rainproof.plots import Figure

Forecast = Sample | Segments | tuple[ArrayLike, ArrayLike]


@dataclass(frozen=True, kw_only=True, slots=True, eq=False, repr=False)
class AssessmentSet(Mapping[str, Assessment]):
    """What `assess_many` returns: a mapping from names to assessments; print it for the verdict.

    Attributes
    ----------
    assessments : tuple of Assessment
        The assessments in the order given; ``s["name"]`` is one of them.
    standings : tuple of Standing
        The cost of the user's decision by each forecast, proper scores, discrimination and grade.
    references : tuple of ReferenceCost
        What always acting, never acting and perfect foresight cost, if all forecasts are of the same rows.
    pairs : tuple of Pair
        Every two forecasts compared: the difference in cost, and what anybody gains and loses by switching.
    confidence_level : float
        Of each assessment; of all differences in cost together; and of all bounds on switches together.
    """

    assessments: tuple[Assessment, ...]
    standings: tuple[Standing, ...]
    references: tuple[ReferenceCost, ...]
    pairs: tuple[Pair, ...]
    confidence_level: float

    def __getitem__(self, name: str) -> Assessment:
        return {str(a.name): a for a in self.assessments}[name]

    def __iter__(self) -> Iterator[str]:
        return (str(a.name) for a in self.assessments)

    def __len__(self) -> int:
        return len(self.assessments)

    @property
    def best(self) -> str | None:
        """The forecast that is better than every other (see `Pair.better`); None if there is none."""
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
    forecasts: Mapping[str, Forecast],
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

    Explained in docs/assess.md.

    Parameters
    ----------
    forecasts : mapping
        From names to rows ``(y_true, y_prob)``, or to a `Sample` or `Segments`. Forecasts with the same outcomes in
        the same order are compared on the same rows (paired), which finds smaller differences; others as independent
        samples, by their costs only.
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
    if not isinstance(forecasts, Mapping) or not forecasts:
        raise InputError("forecasts must be a mapping from names to (y_true, y_prob), with at least one")
    generator, seed = as_seed(rng)
    # The same numbers for all. A copy of the generator would not do: before NumPy 2 it forgets how to spawn.
    start = int(generator.integers(2**63)) if seed is None else seed
    settings = Settings.checked(task, confidence_level, tolerance, n_resamples, measures, seed)
    rows = {str(name): _rows(str(name), forecast) for name, forecast in forecasts.items()}
    samples = {name: read(*row, sample_weight, pos_label, by, groups) for name, row in rows.items()}
    couples = list(combinations(rows, 2))
    step = counter(progress, len(couples) + sum(settings.steps(segments) for _, segments in samples.values()))
    assessments, notes = [], dict[str, RainproofWarning]()
    whole = {name: _whole(rows[name], sample, sample_weight, pos_label) for name, (sample, _) in samples.items()}
    everything = {name: Forecasts.all_of(sample, read_groups(groups, sample)) for name, sample in whole.items()}
    for name, (sample, segments) in samples.items():
        group = read_groups(groups, sample)
        with collect_warnings() as own:
            found = compute(sample, segments, group, settings, np.random.default_rng(start), step)
        assessments.append(replace(with_warnings(found, tuple(own)), name=name))
        notes |= own
    standings = [Standing.of(a, whole[str(a.name)], everything[str(a.name)], task) for a in assessments]
    doubt = (1 - settings.confidence_level) / max(1, len(couples))  # so that all statements hold at once
    options: dict[str, Any] = {
        "sample_weight": sample_weight,
        "pos_label": pos_label,
        "groups": groups,
        "confidence_level": 1 - doubt / 4,
        "rng": generator,
    }
    pairs, same = [], {couple: _same_rows(rows[couple[0]], rows[couple[1]]) for couple in couples}
    for (a, b), paired in same.items():
        to_b = to_a = None
        if paired:
            to_b = switch_guarantee(rows[a][0], rows[a][1], rows[b][1], **options)
            to_a = switch_guarantee(rows[a][0], rows[b][1], rows[a][1], **options)
        difference = cost_difference(task, everything[a], everything[b], 1 - doubt, paired=paired)
        pairs.append(Pair(a=a, b=b, cost_difference=difference, to_b=to_b, to_a=to_a))
        step()
    for note in notes.values():
        warnings.warn(note, stacklevel=2)
    return AssessmentSet(
        assessments=tuple(assessments),
        standings=tuple(standings),
        references=references(task, everything[next(iter(rows))], confidence_level) if all(same.values()) else (),
        pairs=tuple(pairs),
        confidence_level=settings.confidence_level,
    )


def _rows(name: str, forecast: Forecast) -> tuple[Any, Any]:
    """Return outcomes and predictions, or a sample and None."""
    if isinstance(forecast, Sample | Segments):
        return forecast, None
    if not isinstance(forecast, tuple | list) or len(forecast) != 2:
        raise InputError(f"forecasts[{name!r}] must be (y_true, y_prob), a Sample or Segments; it is {forecast!r:.60}")
    return forecast[0], forecast[1]


def _whole(row: tuple[Any, Any], sample: Sample, sample_weight: ArrayLike | None, pos_label: Any) -> Sample:
    """Return the rows, also where they are so many that they were compressed: pairs need each of them."""
    if sample.grid is None or row[1] is None:
        return sample
    return as_sample(*row, sample_weight=sample_weight, pos_label=pos_label)


def _same_rows(one: tuple[Any, Any], other: tuple[Any, Any]) -> bool:
    """Whether both forecasts are of the same rows: their outcomes are equal, in order."""
    if one[1] is None or other[1] is None:
        return False
    return one[0] is other[0] or np.array_equal(np.asarray(one[0]), np.asarray(other[0]))
