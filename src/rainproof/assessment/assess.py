"""``rainproof.assess``: assess a forecast in one call."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from rainproof.assessment.compute import Settings, compute, with_warnings
from rainproof.assessment.result import Assessment
from rainproof.assessment.segments import split
from rainproof.core.arrays import Ints
from rainproof.core.sample.sample import Sample, as_sample
from rainproof.core.sample.segments import Segments
from rainproof.decisions.task import DecisionTask
from rainproof.errors import InputError, RainproofWarning
from rainproof.inference.clusters import numbered_groups
from rainproof.inference.resampling import Progress, Seed, as_seed

MANY_ROWS = 1 << 18  # more are compressed first: resampling rows would take minutes and tell nothing more


def assess(
    y_true: ArrayLike | Sample | Segments,
    y_prob: ArrayLike | None = None,
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
) -> Assessment:
    r"""Assess a forecast: is it useful, is it honest, what would recalibration gain, and what to do next.

    Print the result for the verdict. Draw it with ``.plot()``, write a report with ``.to_html(path)``.

    Explained in docs/assess.md.

    Parameters
    ----------
    y_true : array_like of shape (n,), or Sample, or Segments
        The outcomes: 0 or 1, or any two labels with `pos_label`. Or outcomes and predictions together, as a `Sample`
        or, by segment, as `Segments`.
    y_prob : array_like of shape (n,)
        The predicted probability of the event, in [0, 1].
    sample_weight : array_like of shape (n,), optional
        The weight of each row: fixed weights, as for `guarantee`.
    pos_label : object, optional
        The label of the event, if labels are not 0 and 1.
    task : DecisionTask, optional
        Your own decision: the assessment then also has what it costs per case, now, recalibrated and by simple rules.
    groups : array_like of shape (n,), optional
        The group of each row (patient, site, day): rows of a group may depend on each other, groups must be
        independent.
    by : array_like of shape (n,), or mapping of such, optional
        The segment of each row; a mapping from names to arrays for several columns. Every segment is tested.
    confidence_level : float
        Of each statement by itself.
    tolerance : float
        The expected loss, as a share of what is at stake, that is acceptable.
    rng : None, int or numpy.random.Generator
        The source of randomness; the same seed gives the same result.
    n_resamples : int
        The number of resamples of the test.
    measures : iterable of str, optional
        Names of the measures to offer (see `list_measures`). Default: all.
    progress : callable, optional
        Called now and then with the number of steps done and the number of all steps.

    Returns
    -------
    Assessment

    Warns
    -----
    RainproofWarning
        Where a result needs care; the assessment keeps the text.

    Notes
    -----
    Three forecasts are compared: *none* (the event rate), *as it is*, and *recalibrated*. *The grade* is

    - "avoid" if the forecast provably gains at no threshold, as it is or recalibrated, and no decision can gain more
      than a quarter of what perfect foresight is worth;
    - else, if recalibration gains in some decision more than a fifth of the tolerance (less for rare events) by the
      estimate: "recalibrate" if a gain is proven, and the forecast, as it is or recalibrated, provably gains at some
      threshold;
    - else "use" if the forecast as it is provably gains at some threshold, and no decision loses more than `tolerance`
      by acting on it;
    - "unknown" where nothing of that is proven. So less evidence never turns "recalibrate" into "use".

    Each of these statements is wrong with probability ``1 - confidence_level`` at most. Recalibration is judged on a
    quarter of the rows that neither map nor cut-off was fitted to; so is what they change in your costs.

    *One grid* is used throughout, that of `rounded_guarantee`: from 8 to 128.

    *Advice* against the forecast is right at all thresholds at once with the stated confidence: it rests on intervals
    of event rates that hold for every range of predictions at once (Clopper-Pearson and Bonferroni; Hoeffding for
    unequal weights and groups). It is about the average over a range of predictions, not about each one in it.

    More than 262,144 rows are compressed to 65,536 cells first (not with `groups`), so 1e8 rows cost little more than
    1e5. CDL and ECE then compare cells, not predictions; the map is certified for predictions rounded to cells.

    References
    ----------
    arXiv:2605.17749 (SCDL). Clopper, Pearson (1934), doi:10.1093/biomet/26.4.404. Benjamini, Hochberg (1995),
    doi:10.1111/j.2517-6161.1995.tb02031.x (segments).

    Examples
    --------
    >>> import numpy as np, rainproof
    >>> rng = np.random.default_rng(1)
    >>> p = rng.random(20_000)
    >>> y = rng.random(20_000) < 0.5 + (p - 0.5) / 2     # overconfident
    >>> a = rainproof.assess(y, p, measures=["soft_binned_cdl"], rng=0)
    >>> a.verdict.grade
    'recalibrate'
    """
    generator, seed = as_seed(rng)
    settings = Settings.checked(task, confidence_level, tolerance, n_resamples, measures, seed)
    sample, segments = read(y_true, y_prob, sample_weight, pos_label, by, groups)
    with collect_warnings() as notes:
        step = counter(progress, settings.steps(segments))
        found = compute(sample, segments, read_groups(groups, sample), settings, generator, step)
    for note in notes.values():
        warnings.warn(note, stacklevel=2)
    return with_warnings(found, tuple(notes))


def read(
    y_true: ArrayLike | Sample | Segments,
    y_prob: ArrayLike | None,
    sample_weight: ArrayLike | None,
    pos_label: Any,
    by: ArrayLike | Mapping[str, ArrayLike] | None,
    groups: ArrayLike | None,
) -> tuple[Sample, Segments | None]:
    """Return the sample of all rows, compressed if they are many, and the segments if there are any."""
    if isinstance(y_true, Segments):
        if any(given is not None for given in (y_prob, sample_weight, pos_label, by)):
            raise InputError("Segments hold predictions, weights, labels and names: pass nothing else with them")
        return y_true.pooled, y_true
    sample = as_sample(y_true, y_prob, sample_weight=sample_weight, pos_label=pos_label)
    segments = None
    if by is not None:
        if isinstance(y_true, Sample):
            raise InputError("by needs rows: a Sample does not keep their order; pass y_true and y_prob, or Segments")
        columns = (np.asarray(y_true), np.asarray(y_prob), None if sample_weight is None else np.asarray(sample_weight))
        segments = split(columns, pos_label, by)
    many = sample.grid is None and sample.n > MANY_ROWS and groups is None
    return sample.compress() if many else sample, segments


def read_groups(groups: ArrayLike | None, sample: Sample) -> Ints | None:
    """Return the number of each row's group."""
    if groups is not None and sample.grid is not None:
        raise InputError("groups need rows: a compressed sample does not keep them")
    return None if groups is None else numbered_groups(groups, len(sample.y_prob))


@contextmanager
def collect_warnings() -> Iterator[dict[str, RainproofWarning]]:
    """Collect the warnings of rainproof, each text once; other warnings are issued as usual."""
    notes: dict[str, RainproofWarning] = {}
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", RainproofWarning)
        yield notes
    for warning in caught:
        if isinstance(warning.message, RainproofWarning):
            notes.setdefault(str(warning.message), warning.message)
        else:
            warnings.warn_explicit(warning.message, warning.category, warning.filename, warning.lineno)


def counter(progress: Progress | None, total: int) -> Callable[[], None]:
    """Return a function to call after each step."""
    done = 0

    def step() -> None:
        nonlocal done
        done += 1
        if progress is not None:
            progress(done, total)

    return step
