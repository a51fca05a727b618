"""``brolly.assess_many``: assess several forecasts and compare every two of them."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from html import escape
from importlib.metadata import version
from itertools import combinations
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from brolly.assessment import text
from brolly.assessment.assess import collect_warnings, counter, read, read_groups
from brolly.assessment.compute import Settings, compute, with_warnings
from brolly.assessment.result import SCHEMA, Assessment, as_json
from brolly.assessment.segments import MEASURE
from brolly.core.sample.sample import Sample
from brolly.core.sample.segments import Segments
from brolly.decisions.task import DecisionTask
from brolly.errors import BrollyWarning, InputError
from brolly.inference.comparison import Comparison, compare
from brolly.inference.resampling import Progress, Seed, as_seed

if TYPE_CHECKING:
    from brolly.plots import Figure

Forecast = Sample | Segments | tuple[ArrayLike, ArrayLike]


@dataclass(frozen=True, kw_only=True, slots=True)
class Pair:
    """Two forecasts compared.

    Attributes
    ----------
    a, b : str
        The names of the forecasts.
    comparison : Comparison
        The difference in SCDL, a minus b; the intervals of all pairs hold at once.
    """

    a: str
    b: str
    comparison: Comparison

    @property
    def better(self) -> str | None:
        """The name of the better calibrated forecast; None if the interval contains 0."""
        found = self.comparison
        return self.a if found.high < 0 else self.b if found.low > 0 else None

    def __str__(self) -> str:
        return text.pair(self)

    def to_dict(self) -> dict[str, Any]:
        found = self.comparison
        names = ("difference", "low", "high", "p_value", "paired")
        values = {name: getattr(found, name) for name in names}
        return {"a": self.a, "b": self.b, "measure": MEASURE, **values, "better": self.better, "text": str(self)}


@dataclass(frozen=True, kw_only=True, slots=True, eq=False, repr=False)
class AssessmentSet(Mapping[str, Assessment]):
    """What `assess_many` returns: a mapping from names to assessments; print it for the verdict.

    Attributes
    ----------
    assessments : tuple of Assessment
        The assessments in the order given; ``s["name"]`` is one of them.
    pairs : tuple of Pair
        Every two forecasts compared: the difference in SCDL, its interval and p-value. All intervals hold at once.
    confidence_level : float
        Of each assessment, and of all intervals of pairs together.
    """

    assessments: tuple[Assessment, ...]
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
        """The forecast that is better calibrated than every other, beyond chance; None if there is none."""
        others = len(self) - 1
        wins = [pair.better for pair in self.pairs]
        return next((name for name in self if others and wins.count(name) == others), None)

    @property
    def headline(self) -> str:
        """The comparison in a sentence."""
        return self.assessments[0].verdict.headline if len(self) == 1 else text.best_of(list(self), self.best)

    def plot(self, *, figsize: tuple[float, float] = (11.0, 8.5), dpi: float | None = None) -> dict[str, Figure]:
        """Draw each forecast in a Matplotlib figure of its own (see `Assessment.plot`); return them by name."""
        return {name: a.plot(figsize=figsize, dpi=dpi) for name, a in self.items()}

    def to_html(self, path: str | Path | None = None, *, title: str | None = None) -> str:
        """Return the report as one self-contained HTML page, and write it to `path` if one is given."""
        from brolly.report import to_html

        return to_html(self, path, title=title)

    def to_json(self, path: str | Path | None = None) -> str:
        """Return `to_dict` as JSON, and write it to `path` if one is given (completely or not at all)."""
        return as_json(self.to_dict(), path)

    def to_dict(self) -> dict[str, Any]:
        """Return all assessments and pairs in built-in types, ready for JSON."""
        sentences = [{"about": "pair", "text": sentence} for sentence in self.sentences]
        return {
            "result": "assessment_set",
            "schema": SCHEMA,
            "brolly": version("brolly"),
            "measure": MEASURE,
            "confidence_level": self.confidence_level,
            "names": list(self),
            "best": self.best,
            "assessments": [a.to_dict() for a in self.assessments],
            "pairs": [pair.to_dict() for pair in self.pairs],
            "verdict": {"headline": self.headline, "sentences": sentences, "text": str(self)},
        }

    @property
    def sentences(self) -> tuple[str, ...]:
        """How every two forecasts compare, and the headline of each."""
        own = [f"{a.name}: {a.verdict.headline}" for a in self.assessments] if len(self) > 1 else []
        return (*map(str, self.pairs), *own)

    def __repr__(self) -> str:
        return f"AssessmentSet({', '.join(map(repr, self))}; best={self.best!r})"

    def __str__(self) -> str:
        return "\n".join([text.wrapped(self.headline), "", *map(text.wrapped, self.sentences)]).rstrip()

    def _repr_html_(self) -> str:
        points = "".join(f"<li>{escape(sentence)}</li>" for sentence in self.sentences)
        rows = "".join(
            f"<tr><td>{escape(name)}</td><td>{a.summary.n:,}</td><td>{a.profile.value:.4g}</td>"
            f"<td>{a.guarantee.bound:.4g}</td><td>{a.verdict.grade}</td></tr>"
            for name, a in self.items()
        )
        head = "<tr><th>forecast</th><th>rows</th><th>SCDL</th><th>guarantee</th><th>grade</th></tr>"
        return f"<p><b>{escape(self.headline)}</b></p><ul>{points}</ul><table>{head}{rows}</table>"


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
    """Assess several forecasts, and test which of every two is better calibrated.

    Parameters
    ----------
    forecasts : mapping
        From names to rows ``(y_true, y_prob)``, or to a `Sample` or `Segments`. Forecasts with the same outcomes in
        the same order are compared on the same rows (paired), which finds smaller differences; others as independent
        samples.
    sample_weight, pos_label, groups, by
        As for `assess`, the same for all forecasts; for rows only.
    task, confidence_level, tolerance, rng, n_resamples, measures, progress
        As for `assess`.

    Returns
    -------
    AssessmentSet
        A mapping from name to `Assessment`, with ``pairs`` and ``best``.

    Notes
    -----
    k forecasts make k (k - 1) / 2 pairs. Each interval has a higher confidence level, so that all of them hold at once
    at the one asked for (Bonferroni).

    Examples
    --------
    >>> import numpy as np, brolly
    >>> rng = np.random.default_rng(0)
    >>> p = rng.random(3000)
    >>> y = rng.random(3000) < p
    >>> s = brolly.assess_many({"calibrated": (y, p), "overconfident": (y, p > 0.5)}, measures=["soft_binned_cdl"])
    >>> s.best
    'calibrated'
    """
    if not isinstance(forecasts, Mapping) or not forecasts:
        raise InputError("forecasts must be a mapping from names to (y_true, y_prob), with at least one")
    generator, seed = as_seed(rng)
    settings = Settings.checked(task, confidence_level, tolerance, n_resamples, measures, seed)
    rows = {str(name): _rows(str(name), forecast) for name, forecast in forecasts.items()}
    samples = {name: read(*row, sample_weight, pos_label, by, groups) for name, row in rows.items()}
    couples = list(combinations(rows, 2))
    step = counter(progress, len(couples) + sum(settings.steps(segments) for _, segments in samples.values()))
    assessments, notes = [], dict[str, BrollyWarning]()
    for name, (sample, segments) in samples.items():
        with collect_warnings() as own:
            found = compute(sample, segments, read_groups(groups, sample), settings, generator, step)
        assessments.append(replace(with_warnings(found, tuple(own)), name=name))
        notes |= own
    confidence_level = 1 - (1 - settings.confidence_level) / max(1, len(couples))  # so that all intervals hold at once
    options: dict[str, Any] = {
        "measure": MEASURE,
        "confidence_level": confidence_level,
        "rng": generator,
    }
    pairs = []
    with collect_warnings() as others:
        for a, b in couples:
            if _same_rows(rows[a], rows[b]):
                options_here = {**options, "sample_weight": sample_weight, "pos_label": pos_label}
                comparison = compare(*rows[a], rows[b][1], **options_here)
            else:
                comparison = compare(samples[a][0], samples[b][0], paired=False, **options)
            pairs.append(Pair(a=a, b=b, comparison=comparison))
            step()
    for note in (notes | others).values():
        warnings.warn(note, stacklevel=2)
    return AssessmentSet(assessments=tuple(assessments), pairs=tuple(pairs), confidence_level=settings.confidence_level)


def _rows(name: str, forecast: Forecast) -> tuple[Any, Any]:
    """Return outcomes and predictions, or a sample and None."""
    if isinstance(forecast, Sample | Segments):
        return forecast, None
    if not isinstance(forecast, tuple | list) or len(forecast) != 2:
        raise InputError(f"forecasts[{name!r}] must be (y_true, y_prob), a Sample or Segments; it is {forecast!r:.60}")
    return forecast[0], forecast[1]


def _same_rows(one: tuple[Any, Any], other: tuple[Any, Any]) -> bool:
    """Whether both forecasts are of the same rows: their outcomes are equal, in order."""
    if one[1] is None or other[1] is None:
        return False
    return one[0] is other[0] or np.array_equal(np.asarray(one[0]), np.asarray(other[0]))
