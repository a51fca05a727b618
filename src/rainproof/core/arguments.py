"""Arguments: outcomes and predictions, or one `Sample`, as public functions take them.

The first line of a public function is one of these. Options that are no columns are checked in
`rainproof.core.validation`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from numpy.typing import ArrayLike

from rainproof.core.classes import class_columns, refuse_for_classes
from rainproof.core.columns import USUAL_NAMES, ColumnNames
from rainproof.core.reading import attach
from rainproof.core.sample import Sample
from rainproof.core.validation import as_columns
from rainproof.errors import InputError

REFUSED = object()
"""The base rate of a function that takes none."""


def as_sample(
    y_true: ArrayLike | Sample,
    y_prob: ArrayLike | None = None,
    *,
    sample_weight: ArrayLike | None = None,
    pos_label: Any = None,
    groups: ArrayLike | None = None,
    by: ArrayLike | Mapping[str, ArrayLike] | None = None,
    names: ColumnNames = USUAL_NAMES,
    base_rate: Any = REFUSED,
    rates: bool = False,
) -> Sample:
    """Return a `Sample` as it is, or make one of the rows.

    A function that hands on no `base_rate` takes none; with `rates` it also takes a range of them.
    """
    if isinstance(y_true, Sample):
        if y_prob is not None or sample_weight is not None or pos_label is not None:
            raise InputError(
                "a Sample holds predictions, weights and labels already: pass it alone"
            )
        # what it holds was checked when it was made
        y_true.require_one_event()
        y_true.require_one_forecast()
        if groups is not None and y_true.design.clustered:
            raise InputError("the Sample has groups already: pass it alone")
        sample = y_true
        columns: tuple[tuple[str, Any], ...] = ()
    else:
        if y_prob is None:
            raise InputError("y_prob is missing: pass y_true and y_prob, or one Sample")
        sample = Sample.from_columns(
            as_columns(y_true, y_prob, sample_weight, pos_label, names=names)
        )
        columns = ((names.label, y_true), (names.prob, y_prob))
    if groups is not None or by is not None:
        # they are paired with rows by place
        sample.require_rows("by needs" if groups is None else "groups need")
        if sample.design.strata is not None:
            raise InputError(
                "groups and by cannot be combined with base_rate: given the outcomes, rows must "
                "be independent"
            )
        sample = sample.with_columns(*attach(sample.rows, sample.design, groups, by, *columns))
    return with_rate(sample, base_rate, rates=rates)


def with_rate(sample: Sample, base_rate: Any, *, rates: bool = False) -> Sample:
    """State the base rate of a sample, or refuse one that it has."""
    if base_rate is not REFUSED and base_rate is not None:
        # two rates of one population would contradict each other
        if sample.design.strata is not None:
            raise InputError("the Sample has a base_rate already: pass it alone")
        sample = sample.with_base_rate(base_rate)
    if sample.design.strata is not None:
        # the Sample may have come with a rate, or with a range of them
        sample.design.require("this", unstratified=base_rate is REFUSED, one_rate=not rates)
    return sample


def as_paired(
    y_true: Any,
    forecasts: Mapping[str, Any],
    *,
    base_rate: Any = REFUSED,
    rates: bool = False,
    **columns: Any,
) -> Sample:
    """Return a sample of two forecasts as it is, or make one of the rows; `columns` are other
    arguments of `Sample`.
    """
    if isinstance(y_true, Sample):
        y_true.require_one_event()
        _refuse_beside_sample({**forecasts, **columns})
        if len(y_true.forecasts) != 2:
            raise InputError(
                f"the Sample must have two forecasts; it has {len(y_true.forecasts) or 1}"
            )
        return with_rate(y_true, base_rate, rates=rates)
    for name, prob in forecasts.items():
        if prob is None:
            raise InputError(
                f"{name} is missing: pass outcomes and two forecasts, or one Sample of two "
                "forecasts"
            )
    return with_rate(Sample(y_true, forecasts, **columns), base_rate, rates=rates)


def _refuse_beside_sample(columns: Mapping[str, Any]) -> None:
    for name, value in columns.items():
        if value is not None:
            raise InputError(f"{name} must not be given with a Sample, which holds it already")


def as_classes(
    y_true: Any,
    y_prob: Any = None,
    *,
    names: ColumnNames = USUAL_NAMES,
    sample_weight: ArrayLike | None = None,
    groups: ArrayLike | None = None,
    labels: Sequence[Any] | None = None,
    **for_one_event: Any,
) -> Sample | None:
    """Return a sample of several classes as it is, or make one of the rows; None if they are about
    one event.

    What is for one event alone, such as `pos_label`, is refused with several classes.
    """
    if isinstance(y_true, Sample):
        if not y_true.classes:
            return None
        columns = {"sample_weight": sample_weight, "groups": groups, "labels": labels}
        _refuse_beside_sample({"y_prob": y_prob, **columns, **for_one_event})
        return y_true
    classes = class_columns(y_prob)
    if classes < 3:  # of two classes the second is the event
        return None
    refuse_for_classes(for_one_event, classes)
    return Sample.from_classes(
        y_true, y_prob, sample_weight=sample_weight, groups=groups, labels=labels, names=names
    )
