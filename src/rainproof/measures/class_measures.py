"""The measures of the catalogue for several classes: of each class, and of the top label."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from numpy.typing import ArrayLike

from rainproof.core.arguments import as_classes
from rainproof.core.result import Result
from rainproof.core.sample import Sample
from rainproof.core.text import aligned, html_rows, rows
from rainproof.errors import InputError
from rainproof.measures.catalogue import CATALOGUE

_HEAD = ("measure", "top label", "class mean", "class max", "worst class")


@dataclass(frozen=True, kw_only=True, slots=True, eq=False, repr=False)
class ClassMeasure(Result):
    """One measure of a forecast for several classes, in its three forms. They answer different
    questions.

    Attributes
    ----------
    measure : str
        The name of the measure, as in `list_measures`.
    top_label : float
        Of the largest probability of each row alone: is the class that is named as often right as
        its probability says? It says nothing about the other probabilities, and can be lowered by
        changing them.
    class_mean : float
        The mean over classes of the measure of each class against the rest, all classes alike.
    class_max : float
        The largest of these.
    worst_class : label
        The class that has it.
    by_class : tuple of float
        The measure of each class against the rest, in the order of the classes.
    """

    measure: str
    top_label: float
    class_mean: float
    class_max: float
    worst_class: Any
    by_class: tuple[float, ...]


@dataclass(frozen=True, kw_only=True, slots=True, eq=False, repr=False)
class ClassMeasurements(Result):
    """Every measure of a forecast for several classes; prints as a table.

    Attributes
    ----------
    measures : tuple of ClassMeasure
        ``m["soft_binned_cdl"]`` is one by name.
    classes : tuple
        The labels of the classes.
    n : int
        The number of rows.
    """

    _kind = "measure_classes"
    _shown: ClassVar = ("classes", "n")
    measures: tuple[ClassMeasure, ...]
    classes: tuple[Any, ...]
    n: int

    def __getitem__(self, name: str) -> ClassMeasure:
        return {measure.measure: measure for measure in self.measures}[name]

    def _rows(self) -> list[tuple[str, ...]]:
        """Return a row of the table for each measure."""
        table: list[tuple[str, ...]] = []
        for measure in self.measures:
            row = (
                measure.measure,
                f"{measure.top_label:.6f}",
                f"{measure.class_mean:.6f}",
                f"{measure.class_max:.6f}",
                str(measure.worst_class),
            )
            table.append(row)
        return table

    def table(self) -> str:
        """A line for each measure."""
        return "\n".join(aligned([_HEAD, *self._rows()], left=(0, 4)))

    def __str__(self) -> str:
        return f"{self.table()}\n{rows(self.n)}, {len(self.classes)} classes"

    def _repr_html_(self) -> str:
        return f"<table>{html_rows(_HEAD, self._rows())}</table>"


def measure_classes(
    y_true: ArrayLike | Sample,
    y_prob: ArrayLike | None = None,
    *,
    measures: Iterable[str] | None = None,
    sample_weight: ArrayLike | None = None,
    labels: Sequence[Any] | None = None,
) -> ClassMeasurements:
    """Compute measures of a forecast for several classes, each by class, for the worst class and
    for the top label.

    Explained in docs/guide/classes.md.

    Parameters
    ----------
    y_true : array_like of shape (n,), or Sample
        The class of each row: one of `labels`, or the number of its column.
    y_prob : array_like of shape (n, k)
        The predicted probability of each of k > 2 classes; every row sums to 1.
    measures : iterable of str, optional
        Names of measures (see `list_measures`). Default: all.
    sample_weight : array_like of shape (n,), optional
        The weights of the rows.
    labels : sequence of length k, optional
        The labels of the classes. Default: the names of a frame's columns, or 0, 1, ...

    Returns
    -------
    ClassMeasurements

    Notes
    -----
    Two numbers that are both called "the calibration error of a classifier" may be different forms:
    packages report the top label (also "confidence"), or the mean over classes, which is small
    where there are many rare classes.

    *The truthful one* is `class_mean` of "two_bin_calibration_error": a forecaster who knows the
    probabilities of all classes expects the smallest value by reporting them, as each class by
    itself is then at its smallest expectation. (So it is for `class_mean` of the two scores.) The
    top label of the same measure is not truthful: a forecaster can lower it by calling an unlikely
    class the most likely one.

    References
    ----------
    Hartline, Hu, Wu (2025), "A Perfectly Truthful Calibration Measure", arXiv:2508.13100.

    Examples
    --------
    >>> import numpy as np, rainproof
    >>> rng = np.random.default_rng(0)
    >>> p = rng.dirichlet([1, 1, 2], 1000)
    >>> y = (rng.random((1000, 1)) > p.cumsum(axis=1)).sum(axis=1)  # calibrated
    >>> names = ["soft_binned_cdl", "two_bin_calibration_error"]
    >>> print(rainproof.measures.measure_classes(y, p, measures=names))
    measure                    top label  class mean  class max  worst class
    soft_binned_cdl             0.015625    0.013655   0.015625  0
    two_bin_calibration_error   0.000120    0.000296   0.000544  1
    1,000 rows, 3 classes
    """
    sample = as_classes(y_true, y_prob, sample_weight=sample_weight, labels=labels)
    if sample is None:
        raise InputError(
            "y_prob must have a column for each of more than two classes: two are one event"
        )
    names = list(CATALOGUE if measures is None else measures)
    for name in names:
        if name not in CATALOGUE:
            raise InputError(
                f"measures must be names that rainproof.list_measures() lists; {name!r} is not"
            )
    by_class: dict[str, list[float]] = {name: [] for name in names}
    for label in sample.classes:  # one class at a time: its sums are not kept
        one_class = sample[label]
        for name in names:
            by_class[name].append(CATALOGUE[name](one_class))
    results = []
    for name, values in by_class.items():
        worst = values.index(max(values))  # the first of equals
        result = ClassMeasure(
            measure=name,
            top_label=CATALOGUE[name](sample.top_label),
            class_mean=math.fsum(values) / len(values),
            class_max=values[worst],
            worst_class=sample.classes[worst],
            by_class=tuple(values),
        )
        results.append(result)
    return ClassMeasurements(measures=tuple(results), classes=sample.classes, n=sample.n)
