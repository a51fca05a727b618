"""How a recalibrator is fitted: rows are divided, a map is fitted to some and certified on others.

Here is the order of the steps, for one event and for several classes. What is kept of the rows is
a `Fitted`; none of the rows is.
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from rainproof.core.labels import spelled_key
from rainproof.core.piecewise import PiecewiseMap
from rainproof.core.sample import Sample
from rainproof.core.segments import Segments
from rainproof.core.validation import ThresholdRange
from rainproof.decisions.class_tasks import ClassTask
from rainproof.inference.options import Seed, as_seed
from rainproof.recalibration.certificate import (
    Certificate,
    ClassCertificate,
    HeldOut,
    HeldOutRates,
    certify,
    certify_classes,
    held_out_rates,
)
from rainproof.recalibration.division import (
    cannot_fit,
    divide,
    divide_classes,
    fitted_range,
    is_certified,
)
from rainproof.recalibration.maps import UNCHANGED, ClassMap, Map
from rainproof.recalibration.methods import IDENTITY
from rainproof.recalibration.segment_maps import (
    SegmentMap,
    SpelledKey,
    check_spelling,
    correct_segments,
)
from rainproof.recalibration.selection import Candidate, mean_class_map, mean_map

MEAN = "mean"
"""The method of a map that is the mean of several."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Fitted:
    """A map, how it was chosen, and what is proven of it."""

    map: Map
    method: str
    candidates: tuple[Candidate, ...]
    certificate: Certificate | ClassCertificate | None
    n: int  # rows that the map is fitted to
    groups: int | None  # of these rows
    by: tuple[str, ...] | None = None  # the columns of segments
    segments: tuple[SegmentMap, ...] = ()
    segment_maps: Mapping[SpelledKey, PiecewiseMap] = field(default_factory=dict)
    held_out_rates: HeldOutRates | None = None


def fit_event(
    rows: Sample | Segments,
    methods: Sequence[str],
    *,
    confidence_level: float,
    threshold_range: ThresholdRange | None,
    rng: Seed,
) -> Fitted:
    """Fit the map of one event, and those of segments."""
    if isinstance(rows, Segments):
        by = rows.by
        sample = rows.pooled
    else:
        by = None
        sample = rows
    stream = own_stream(rng, rows)
    if (reason := cannot_fit(rows)) is not None:
        warnings.warn(reason, stacklevel=4)
        # No map was fitted to any row, so all of them can certify the original probabilities.
        held_out = [HeldOut(sample.at_edges() if sample.units.divisible else sample, IDENTITY)]
        return Fitted(
            map=IDENTITY,
            method="none",
            candidates=(),
            certificate=certify(held_out, None, confidence_level, threshold_range),
            n=sample.n,
            groups=sample.groups,
            by=by,
        )
    whole, segments = divide(rows, stream, hold_out=is_certified(sample))
    check_spelling(segments)
    mean, candidates = mean_map(whole, methods)
    maps, judged = correct_segments(mean, segments, confidence_level, threshold_range)
    certificate = None
    rates = None
    if whole.held_out:
        held_out = [
            HeldOut(part.held_out[0], maps.get(key, mean)) for key, part in segments.items()
        ]
        chooser = None  # where nothing changes, no decision gains: there is nothing to choose
        if mean is not IDENTITY or maps:
            chooser = whole.pairs(IDENTITY, mean)
        certificate = certify(
            held_out or [HeldOut(whole.held_out[0], mean)],
            chooser,
            confidence_level,
            threshold_range,
        )
        rates = held_out_rates(whole.held_out[0], confidence_level)
    if mean is not IDENTITY:
        mean = replace(mean, fitted_range=fitted_range(sample))
    segment_maps = {}
    for key, own in maps.items():
        own_range = fitted_range(rows[key])
        segment_maps[spelled_key(key)] = replace(own, fitted_range=own_range)
    groups = sample.groups
    if groups is not None:  # no group is both fitted and held out
        groups -= sum(part.groups or 0 for part in whole.held_out)
    return Fitted(
        map=mean,
        method=_method_of(candidates),
        candidates=candidates,
        certificate=certificate,
        n=sample.n - sum(part.n for part in whole.held_out),
        groups=groups,
        by=by,
        segments=judged,
        segment_maps=segment_maps,
        held_out_rates=rates,
    )


def _method_of(candidates: Sequence[Candidate]) -> str:
    """Return the name of a map: that of the only method, or that it is a mean."""
    if len(candidates) == 1:
        return candidates[0].method
    return MEAN


def own_stream(rng: Seed, rows: Sample | Segments) -> np.random.Generator:
    """Return the stream that deals rows: not the generator itself, which may have drawn them."""
    (stream,) = as_seed(rng, rows)[0].spawn(1)
    return stream


def fit_several_classes(
    sample: Sample,
    methods: Sequence[str],
    *,
    confidence_level: float,
    task: ClassTask | None,
    rng: Seed,
) -> Fitted:
    """Fit the map of several classes."""
    stream = own_stream(rng, sample)
    if task is not None:
        task.check_classes(sample)
    if (reason := cannot_fit(sample)) is not None:
        warnings.warn(reason, stacklevel=4)
        return Fitted(
            map=ClassMap(classes=sample.classes, parts=(UNCHANGED,)),
            method="none",
            candidates=(),
            certificate=None,
            n=sample.n,
            groups=sample.groups,
        )
    fitted, fold, held_out = divide_classes(sample, stream)
    mean, candidates = mean_class_map(fitted, methods, fold)
    certificate = None
    if held_out is not None:
        certificate = certify_classes(held_out, fitted, mean, confidence_level, task)
    return Fitted(
        map=mean,
        method=_method_of(candidates),
        candidates=candidates,
        certificate=certificate,
        n=fitted.n,
        groups=fitted.groups,
    )
