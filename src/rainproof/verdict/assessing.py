"""``rainproof.assess``: assess a forecast in one call."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from typing import Any, cast

import numpy as np
from numpy.typing import ArrayLike

from rainproof.core.arguments import as_classes, as_sample
from rainproof.core.arrays import Floats
from rainproof.core.sample import Sample
from rainproof.core.segments import Segments
from rainproof.core.validation import BaseRate, ThresholdRange, check_capacity, check_range
from rainproof.decisions.class_tasks import check_class_task
from rainproof.decisions.grid_choice import choose_grid
from rainproof.decisions.regret_curves import regret_curve
from rainproof.decisions.tasks import DecisionTask, as_two_actions
from rainproof.errors import FewRowsWarning, InputError, RainproofWarning
from rainproof.inference.auroc import auroc
from rainproof.inference.calibration_tests import quick_test
from rainproof.inference.guarantees import Guarantee, guarantee
from rainproof.inference.options import Progress, Seed, as_seed, counter, spawned
from rainproof.measures.catalogue import CATALOGUE, Measure
from rainproof.measures.scdl import soft_binned_profile
from rainproof.recalibration.division import cannot_fit
from rainproof.recalibration.recalibrator import Recalibrator
from rainproof.verdict.advice import thresholds
from rainproof.verdict.calibration import few_clusters, grouped_test, how_calibrated
from rainproof.verdict.classes import STEPS, compute_classes
from rainproof.verdict.clinical import is_reversed
from rainproof.verdict.costs import Rule, TaskResult, range_costs
from rainproof.verdict.evidence import MANY_ROWS as MANY_ROWS
from rainproof.verdict.evidence import (
    RARE,
    Crossed,
    CrossFitted,
    Evidence,
    gain_by_recalibration,
    next_to_none,
    skill,
    skill_at_best,
)
from rainproof.verdict.result import BAND_DRAWS, Assessment
from rainproof.verdict.segments import judge_segments
from rainproof.verdict.summaries import GRIDS, DataSummary, shown_grid

_FINE = 1 << 16  # a grid in one cell of which predictions are equal for all purposes
_ROUNDING = 1e-12  # of mean predictions: a smaller spread is none
_STEPS = 5  # of the computation beside segments
_FEW_TO_BALANCE = 30  # rows that are as many of either outcome by chance, too often
_NEARLY_HALF = 0.4  # event rate from which on rows may have been chosen to have both outcomes
# So many times the odds of the rows: predictions, or costs, belong to another event rate.
_OTHER_PREDICTIONS = 3.0
_OTHER_COSTS = 9.0


def check_options(
    task: DecisionTask | None,
    confidence_level: float,
    tolerance: float,
    n_resamples: int,
    measures: Iterable[str] | None,
    capacity: float | None = None,
    threshold_range: float | tuple[float, float] | None = None,
    max_weight: float | None = None,
) -> dict[str, Any]:
    """Check the options of `assess`, and return them as `compute` takes them."""
    if task is not None and not isinstance(task, DecisionTask):
        raise InputError(f"task must be a DecisionTask; it is {task!r}")
    for name, value in {"confidence_level": confidence_level, "tolerance": tolerance}.items():
        if not isinstance(value, int | float | np.number) or not 0 < value < 1:
            raise InputError(f"{name} must lie in (0, 1); it is {value!r}")
    if capacity is not None:
        if task is None:
            raise InputError("capacity needs a task: which cases to act on depends on the costs")
        as_two_actions(task, "capacity")
        capacity = check_capacity(capacity)
    within = check_range(threshold_range)
    low, high = within or (0.0, 1.0)
    outside = [mu for mu in (() if task is None else task.thresholds) if not low <= mu <= high]
    if outside and within is not None:
        raise InputError(
            f"threshold_range must contain the threshold of task, {outside[0]:.6g}; it is "
            f"{threshold_range!r}"
        )
    every = {measure.name: measure for measure in CATALOGUE.entries}
    names = (
        [measures] if isinstance(measures, str) else every if measures is None else list(measures)
    )
    unknown = [name for name in names if name not in every]
    if unknown:
        rule = "measures must be names that rainproof.list_measures() lists"
        raise InputError.from_offenders(rule, len(unknown), repr(unknown[0]))
    return {
        "task": task,
        "confidence_level": float(confidence_level),
        "tolerance": float(tolerance),
        "n_resamples": n_resamples,
        **({} if capacity is None else {"capacity": capacity}),
        "measures": tuple(measure for name, measure in every.items() if name in names),
        "within": within,
        "max_weight": max_weight,
    }


def steps(segments: Segments | None) -> int:
    """Count the steps of `compute`, for progress."""
    return _STEPS + (0 if segments is None else len(segments))


def compute(
    sample: Sample,
    segments: Segments | None,
    rng: np.random.Generator,
    step: Callable[[], None],
    *,
    task: DecisionTask | None,
    confidence_level: float,
    tolerance: float,
    n_resamples: int,
    measures: tuple[Measure, ...],
    within: ThresholdRange | None,
    max_weight: float | None,
    seed: int | None,
    capacity: float | None = None,
) -> Assessment:
    """Compute an assessment, calling `step` after each part; its warnings are added by the
    caller.
    """
    # several forecasts are in an order of their own
    level = confidence_level
    sample = sample.with_max_weight(max_weight).in_order()
    summary = DataSummary.of(sample)
    how: dict[str, Any] = {
        "confidence_level": level,
        "threshold_range": within,
    }
    as_is = guarantee(sample, response="as_is", **how)
    rounded = _rounded(sample, how)
    # of a range of base rates; bounds and the map take all of it
    base_rates = sample
    sample = sample.middle()
    assert rounded.grid is not None
    curve = regret_curve(sample, grid=rounded.grid, threshold_range=within)
    step()
    recalibrator = None
    if sample.units.divisible:  # rows of unequal weight that are compressed are not
        # With a seed: the same as by itself.
        recalibrator = Recalibrator(confidence_level=level, threshold_range=within, rng=rng)
        recalibrator.fit_rows(base_rates)  # not by segments
    crossed = None
    if recalibrator is not None and cannot_fit(sample) is None:
        marks = np.unique(
            [*thresholds((), sample.event_rate, within), sample.event_rate, *(within or ())]
        )
        crossed = Crossed.of(sample, rng, marks if task is None else None)
    step()
    test = None if sample.units.unit is not None else quick_test(sample, n_resamples, rng, level)
    p_value = grouped_test(sample) if test is None else test.p_value
    if (few := few_clusters(sample)) is not None:
        warnings.warn(FewRowsWarning(few), stacklevel=2)
    step()
    streams = spawned(rng, BAND_DRAWS)
    profile = soft_binned_profile(sample)
    table = None
    if sample.store.segment is not None:  # in the order of these rows, and with their groups
        segments = segments_of(sample)
    if segments is not None:
        table = judge_segments(
            segments,
            sample,
            crossed,
            miscalibrated=p_value <= 1 - level,
            fdr=round(1 - level, 12),
            task=task,
            bounds={"threshold_range": within, "max_weight": max_weight},
            rng=rng,
            step=step,
        )
    if capacity is not None and capacity >= 1:
        capacity = min(capacity / sample.n, 1.0)
    deployed = None if recalibrator is None else recalibrator.map_
    own = (
        None
        if task is None
        else TaskResult.of(sample, task, rounded.grid, crossed, level, capacity, deployed)
    )
    step()
    rare = min(summary.event_rate, 1 - summary.event_rate)
    evidence = Evidence(
        n=summary.n,
        groups=as_is.groups,
        confidence_level=level,
        tolerance=tolerance,
        calibration=how_calibrated(sample, p_value, level),
        auroc=(area := auroc(sample)),
        guarantee=as_is,
        rounded_guarantee=rounded,
        certificate=None if recalibrator is None else recalibrator.certificate_,
        saved=None if own is None else own.saved.get(Rule.RECALIBRATED),
        # Where costs differ between cases, a constant tells the cases to act on from others.
        constant=(task is None or not task.profile.per_case) and _is_constant(sample),
        is_reversed=is_reversed(sample, area),
        events=None
        if summary.weighted or rare >= RARE
        else round(min(summary.events, summary.n - summary.events)),
        base_rate=summary.base_rate,
        by_rank=own is not None and own.by_rank,
        chosen=_chosen(sample, task),
        **_estimates(sample, crossed, task, level, within),
    )
    if within is not None and task is None and sample.units.divisible:
        evidence = replace(evidence, range_costs=range_costs(sample, crossed, within, level))
    if own is not None and own.skills:
        original = own.skills[Rule.AS_IS]
        recalibrated = own.skills.get(Rule.RECALIBRATED, original)
        evidence = replace(evidence, skill=recalibrated, skill_as_is=original, skill_at_best=None)
    step()
    return Assessment(
        name=None,
        summary=summary,
        evidence=evidence,
        regret=curve,
        profile=profile,
        guarantee=as_is,
        rounded_guarantee=rounded,
        recalibrator=recalibrator,
        test=test,
        task=own,
        segments=table,
        confidence_level=level,
        tolerance=tolerance,
        n_resamples=n_resamples,
        seed=seed,
        warnings=(),
        _sample=sample,
        _measures=measures,
        _streams=streams,
        _crossed=None if crossed is None else CrossFitted.of(crossed),
    )


def _estimates(
    sample: Sample,
    crossed: Crossed | None,
    task: DecisionTask | None,
    level: float,
    within: ThresholdRange | None,
) -> dict[str, Any]:
    """The skill, recalibrated and as it is, and what recalibration gains, as far as they can be
    estimated.
    """
    one = task.thresholds if task is not None and len(task.thresholds) == 1 else ()
    low, high = within or (0.0, 1.0)
    # the threshold of the range at which most is at stake
    near = min(max(sample.event_rate, low), high)
    own: float | Floats | None = one[0] if one else None if near == sample.event_rate else near
    stake: float | Floats = 1.0
    found: dict[str, Any] = {"skill": None, "skill_as_is": None, "gain": None}
    if not sample.units.divisible:
        return found
    of_cases = None if task is None else task.case_stakes(sample)
    if of_cases is not None:
        own, stake = of_cases
    rows = sample.at_cell_means() if crossed is None else crossed.rows
    acts = (rows.prob >= (sample.event_rate if own is None else own)).astype(np.float64)
    found["skill_as_is"] = skill(rows.units, acts, own, level, stake)
    if crossed is None:
        return found | {"skill": found["skill_as_is"]}
    found["skill"] = skill(rows.units, crossed.acts(own), own, level, stake)
    if isinstance(own, float | None) and next_to_none(found["skill"], found["skill_as_is"]):
        found["skill_at_best"] = skill_at_best(rows.units, rows.prob, own, level)
    found["gain"] = gain_by_recalibration(
        crossed, thresholds(one, sample.event_rate, within), level
    )
    return found


def _rounded(sample: Sample, how: dict[str, Any]) -> Guarantee:
    """The guarantee for rounding to the grid that is shown: the bounds hold for all grids at
    once.
    """
    alone = sample.ungrouped().middle()
    grid = shown_grid(choose_grid(alone), alone)
    finest = min(sample.grid or GRIDS[-1], GRIDS[-1])
    tried = [m for m in GRIDS if m <= finest] or [finest]
    found = guarantee(sample, grid=tried, **how)
    at = tried.index(grid)
    return replace(
        found, grid=grid, bound=float(found.bounds[at]), plug_in=float(found.plug_ins[at])
    )


def assess(
    y_true: ArrayLike | Sample | Segments,
    y_prob: ArrayLike | None = None,
    *,
    sample_weight: ArrayLike | None = None,
    pos_label: Any = None,
    task: DecisionTask | None = None,
    capacity: float | None = None,
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
    labels: Sequence[Any] | None = None,
    progress: Progress | None = None,
) -> Assessment:
    r"""Assess a forecast: is it useful, is it honest, what would recalibration gain, and what to do
    next.

    Print the result for the verdict. Draw it with ``.plot()``, write a report with
    ``.to_html(path)``.

    Explained in docs/guide/assess.md.

    Parameters
    ----------
    y_true : array_like of shape (n,), or Sample, or Segments
        The outcomes: 0 or 1, or any two labels with `pos_label`. Or outcomes and predictions
        together, as a `Sample` or, by segment, as `Segments`.
    y_prob : array_like of shape (n,) or (n, k)
        The predicted probability of the event, in [0, 1]; or of each of k classes. With more than
        two the result is a `ClassAssessment` (see docs/guide/classes.md).
    sample_weight : array_like of shape (n,), optional
        The weight of each row: fixed weights, as for `guarantee`.
    pos_label : object, optional
        The label of the event, if labels are not 0 and 1.
    task : DecisionTask, optional
        Your own decision: the assessment then also has what it costs per case, now, recalibrated
        and by simple rules. Its costs may be those of each case, as many as there are rows and in
        their order.
    capacity : float or int, optional
        The largest share of the cases that can be acted on, such as 0.02 if 200 of 10,000 can be
        reviewed a day, or the number of these rows: costs are then those of acting where it gains
        most, and one more case has a price. For a `task` with two actions.
    groups : array_like of shape (n,), optional
        The group of each row (patient, site, day): rows of a group may depend on each other, groups
        must be independent. Their sizes must not depend on predictions or outcomes, unless
        `max_weight` is stated.
    max_weight : float, optional
        As for `guarantee`: the largest weight that a row can have (with `groups`, a whole group:
        how many rows, if they have no weights), known beforehand. Guarantees, certificate, `worth`
        and `advice` then hold whatever weights and sizes depend on. Estimates, their intervals and
        the test are as without it. Not for more than two classes.
    by : array_like of shape (n,), or mapping of such, optional
        The segment of each row; a mapping from names to arrays for several columns. Every segment
        is tested.
    base_rate : float or pair of float, optional
        The event rate of the population in which the forecast will be used, if these rows have
        another one: rows were undersampled, or the event is rarer there. Everything is then about
        that population, if predictions, given the outcome, are distributed as in these rows. For a
        range of rates the guarantees hold for all of it; the test, the map and the estimates are
        for its middle in log odds. Not together with weights, `groups` or `by`.
    threshold_range : float or (float, float), optional
        The decisions that you make: those with this threshold, or whose thresholds all lie in this
        range, ends included, such as (0.05, 0.2) if you act from 5% to 20% on. The verdict,
        guarantees, certificate, curves and advice are then about these alone. Choose it before you
        see the rows. Default: every decision.
    confidence_level : float
        Of each statement by itself.
    tolerance : float
        The expected loss, as a share of what is at stake, that is acceptable.
    rng : None, int or numpy.random.Generator
        The source of randomness. The same rows in any order, with the same seed, give the same
        result.
    n_resamples : int
        The number of resamples of the test. Several classes are tested approximately if so many
        could reject none.
    measures : iterable of str, optional
        Names of the measures to offer (see `list_measures`). Default: all.
    labels : sequence of length k, optional
        The labels of the classes, if `y_prob` has a column for each. Default: names of a frame's
        columns, or 0, 1, ...
    progress : callable, optional
        Called now and then with the number of steps done and the number of all steps.

    Returns
    -------
    Assessment
        With more than two classes a `ClassAssessment`.

    Warns
    -----
    RainproofWarning
        Where a result needs care; the assessment keeps the text.

    Notes
    -----
    *The grade* is the first that applies:

    - "avoid": the predictions are a constant, or no skill is shown and the upper end of its
      interval is below 0.1, as are those of the forecast as it is, and of the best single threshold
      on it (and with a `task`, recalibrated probabilities cost no less than the best fixed action);
    - "recalibrate": the test rejects calibration (a calibrated forecast in at most 5% of samples),
      and recalibrated probabilities have a better log score; unless the upper end of the interval
      of what recalibration gains is negligible (a twentieth of the tolerance, times twice the share
      of the rarer outcome), or it surely costs more in the `task`;
    - "use": skill is shown (its interval is above 0), and calibration is not rejected; or it is,
      but recalibration gains a negligible amount and the guarantee is within the tolerance, or it
      surely costs more in the `task`, or only the order of the probabilities counts (a `capacity`
      that is used up) and it is not shown to improve that;
    - "unknown": none of these.

    With a `threshold_range`, probabilities may be off where none of its decisions is made. So
    "recalibrate" needs, in place of the log score, that the interval of what recalibration gains in
    these decisions is above 0; where it is not and the guarantee is within the tolerance, they are
    good enough to "use".

    *Skill* is what acting on the recalibrated forecast gains over no forecast (the better of always
    and never acting), as a share of what perfect foresight would gain, at the threshold of the
    `task`, else at the event rate; with a `threshold_range`, at the threshold of the range that is
    nearest to it. Measures and the test of calibration are about all predictions, whatever the
    range.

    *Estimates* of skill, gains and costs are cross-fitted: rows (or whole groups) are put into an
    order that does not depend on how they came, dealt to five folds with the seed, and each fold is
    judged by maps, cut-offs and decisions that were chosen on the others. They say what fitting a
    map to such rows gains. *The map* itself is fitted to all rows or, from 2,000 on, to three
    quarters, and certified on the rest.

    *One grid* is used throughout, that of `rounded_guarantee`: from 8 to 128.

    *Advice* against the forecast is right at all thresholds at once with the stated confidence: it
    rests on intervals of event rates that hold for every range of predictions at once
    (Clopper-Pearson and Bonferroni; Hoeffding for unequal weights and groups). It is about the
    average over a range of predictions, not about each one in it.

    More than 262,144 rows are compressed to 65,536 cells first (not with `groups`), so 1e8 rows
    cost little more than 1e5. CDL and ECE then compare cells, not predictions; the map is certified
    for predictions rounded to cells.

    References
    ----------
    arXiv:2605.17749 (SCDL). Clopper, Pearson (1934), doi:10.1093/biomet/26.4.404. Benjamini,
    Hochberg (1995), doi:10.1111/j.2517-6161.1995.tb02031.x (segments).

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
    several = None
    columns = {"sample_weight": sample_weight, "pos_label": pos_label, "groups": groups, "by": by}
    if not isinstance(y_true, Segments):
        several = as_classes(y_true, y_prob, **columns, labels=labels, base_rate=base_rate)
    run: partial[Any]
    if several is not None:
        if capacity is not None:
            raise InputError("capacity is for one event: assess the sample of one class with it")
        for name, given in {
            "threshold_range": check_range(threshold_range),
            "max_weight": max_weight,
        }.items():
            if given is not None:
                raise InputError(f"{name} is for one event: not for several classes")
        if measures is not None:
            has = "rainproof.measures.measure_classes has those of several classes"
            raise InputError(f"measures are for one event: {has}")
        class_task = check_class_task(task, len(several.classes))
        options = check_options(None, confidence_level, tolerance, n_resamples, [])
        options = {
            name: options[name] for name in ("confidence_level", "tolerance", "n_resamples")
        } | {"task": class_task}
        generator, seed = as_seed(rng, several)
        run = partial(compute_classes, several, generator, counter(progress, STEPS))
    else:
        if labels is not None:
            y_true = Sample(y_true, y_prob, sample_weight=sample_weight, labels=labels)  # type: ignore[arg-type]
            y_prob = columns["sample_weight"] = None
        about = (measures, capacity, threshold_range, max_weight)
        options = check_options(task, confidence_level, tolerance, n_resamples, *about)
        sample, segments = read(y_true, y_prob, columns, task, base_rate)
        sample = compressed_if_many(sample)
        generator, seed = as_seed(rng, sample)
        run = partial(compute, sample, segments, generator, counter(progress, steps(segments)))
    with collect_warnings() as notes:
        found = run(seed=seed, **options)
    for note in notes.values():
        warnings.warn(note, stacklevel=2)
    return cast("Assessment", replace(found, warnings=tuple(notes)))


def _is_constant(sample: Sample) -> bool:
    """Whether all predictions are equal: for cells, whether there is one, fine or with the same
    mean by outcome.
    """
    spread = np.ptp(sample.y_prob)
    if sample.grid is None:
        return bool(spread == 0)
    return len(sample.distinct().prob) == 1 and bool(sample.grid >= _FINE or spread < _ROUNDING)


def _chosen(sample: Sample, task: DecisionTask | None) -> bool:
    """Whether rows may have been chosen by outcome, as in undersampling.

    Exactly as many events as other rows hardly ever come by themselves. Nearly as many often do:
    then the predictions, or the threshold of the task, must belong to another event rate.
    """
    rate = sample.event_rate
    if (
        sample.design.strata is not None
        or sample.units.has_weights
        or sample.design.shares
        or sample.units.unit is not None
    ):
        return False
    if sample.n < _FEW_TO_BALANCE or not _NEARLY_HALF <= rate <= 1 - _NEARLY_HALF:
        return False

    def apart(share: float, times: float) -> bool:
        odds = sorted((share * (1 - rate), (1 - share) * rate))
        return odds[1] >= times * odds[0]

    own = () if task is None else task.thresholds
    return (
        2 * sample.events == sample.n
        or apart(sample.mean_prediction, _OTHER_PREDICTIONS)
        or (len(own) == 1 and apart(own[0], _OTHER_COSTS))
    )


def read(
    y_true: Any,
    y_prob: Any,
    columns: Mapping[str, Any],
    task: DecisionTask | None,
    base_rate: BaseRate | None,
) -> tuple[Sample, Segments | None]:
    """Return the sample of all rows, with the costs of each if the task has them, and the segments
    if there are any.
    """
    if isinstance(y_true, Segments):
        if task is not None and task.profile.per_case:
            raise InputError(
                "costs of each case go with rows: pass y_true, y_prob and by, not Segments"
            )
        if y_prob is not None or any(
            columns[name] is not None for name in ("sample_weight", "pos_label", "by")
        ):
            raise InputError(
                "Segments hold predictions, weights, labels and names: pass nothing else with them"
            )
        if base_rate is not None:
            raise InputError(
                "base_rate cannot be combined with segments: that of a segment is not that of "
                "all rows"
            )
        return ordered(as_sample(y_true.pooled, groups=columns["groups"])), y_true
    sample = as_sample(y_true, y_prob, **columns, base_rate=base_rate, rates=True)
    if task is not None:
        sample = task.add_costs(sample, ("y_true", y_true), ("y_prob", y_prob))
    sample = ordered(sample)
    return sample, segments_of(sample)


def ordered(sample: Sample) -> Sample:
    """The rows in an order that does not depend on how they came; those that will be compressed
    stay as they are.

    Groups of one row each are independent rows.
    """
    sample = sample.with_single_cases()
    return sample if _too_many(sample) else sample.in_order()


def segments_of(sample: Sample) -> Segments | None:
    """The segments of a sample, if it has any, each with the groups that its own rows are in.

    Where no segment has two rows of a group, the rows of each are independent, as groups of one row
    are no groups.
    """
    if sample.store.segment is None:
        return None
    segments = sample.by_segment()
    group = sample.units.unit
    if group is None or sample.design.shares:
        return segments
    if all(len(np.unique(group[rows])) == len(rows) for rows in segments.places.values()):
        return sample.ungrouped().by_segment()
    return segments


def compressed_if_many(sample: Sample) -> Sample:
    """Compress rows that are so many that resampling them would take minutes, and tell nothing
    more.
    """
    return sample.compress() if _too_many(sample) else sample


def _too_many(sample: Sample) -> bool:
    """Whether there are so many rows that they are compressed; groups, and costs of each case, need
    the rows.
    """
    return (
        sample.grid is None
        and sample.n > MANY_ROWS
        and sample.units.unit is None
        and sample.store.costs is None
    )


@contextmanager
def collect_warnings() -> Iterator[dict[str, RainproofWarning]]:
    """Collect the warnings of rainproof, each text once; other warnings are issued as usual."""
    notes: dict[str, RainproofWarning] = {}
    with warnings.catch_warnings(record=True, action="always", category=RainproofWarning) as caught:
        yield notes
    for warning in caught:
        if isinstance(warning.message, RainproofWarning):
            notes.setdefault(str(warning.message), warning.message)
        else:
            warnings.warn_explicit(
                warning.message, warning.category, warning.filename, warning.lineno
            )
