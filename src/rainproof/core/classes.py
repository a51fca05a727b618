"""Rows of several classes: the outcome is one of them, and a forecast has a probability for each."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rainproof.core import digests, validation
from rainproof.core.arrays import Floats, Ints, places_of_groups, read_only
from rainproof.core.rows import Rows
from rainproof.core.sample import Sample, attach
from rainproof.errors import InputError


class ClassSample(Mapping[Any, Sample]):
    """Predicted probabilities of several classes, and the class that occurred: a binary `Sample`
    for each class.

    ``Sample(y_true, y_prob)`` makes one where `y_prob` has more than two columns. ``sample[label]``
    has the rows with the event "the class is `label`", and `top_label` with the event "the most
    likely class occurred".

    Parameters
    ----------
    y_true : array_like of shape (n,)
        The class of each row: one of `labels`, or the number of its column.
    y_prob : array_like of shape (n, k)
        The predicted probability of each class; every row sums to 1 (within 1e-4).
    sample_weight, groups : array_like of shape (n,), optional
        As for `Sample`.
    labels : sequence of length k, optional
        The labels of the classes, in the order of the columns. Default: the names of a frame's
        columns, or 0, 1, ...

    Attributes
    ----------
    classes : tuple
        The labels.
    which : ndarray of shape (n,)
        The number of the class that occurred.
    prob : ndarray of shape (n, k)
        The predicted probabilities.
    n, n_draws, groups, total_weight, effective_n, sample_weight, mass, digest
        As for `Sample`.
    rates : ndarray of shape (k,)
        The weighted share of rows of each class.
    top_label : Sample
        The largest probability of each row (the first of equals), and whether that class occurred.

    Examples
    --------
    >>> import rainproof
    >>> p = [[0.7, 0.2, 0.1], [0.5, 0.3, 0.2], [0.1, 0.1, 0.8]]
    >>> s = rainproof.Sample(["cat", "dog", "eel"], p, labels=["cat", "dog", "eel"])
    >>> s
    ClassSample(n=3, classes=('cat', 'dog', 'eel'))
    >>> s["dog"], s.top_label
    (Sample(n=3, events=1), Sample(n=3, events=2))
    """

    top_label: Sample
    classes: tuple[Any, ...]
    which: Ints
    prob: NDArray[Any]
    n: int
    n_draws: int
    groups: int | None
    total_weight: float
    effective_n: float
    sample_weight: NDArray[Any] | None
    mass: Floats
    _weighted: bool

    def __init__(
        self,
        y_true: ArrayLike,
        y_prob: ArrayLike,
        *,
        sample_weight: ArrayLike | None = None,
        groups: ArrayLike | None = None,
        labels: Sequence[Any] | None = None,
        names: validation.ColumnNames = validation.ColumnNames(),  # noqa: B008 - frozen
    ) -> None:
        validation.check_aligned(
            (names.label, y_true), (names.prob, y_prob), (names.weight, sample_weight)
        )
        which, prob, called = validation.read_classes(y_true, y_prob, labels, names)
        label, top = validation.top_label(which, prob)
        columns = validation.as_rows(label, top, sample_weight, names=names)
        self.top_label = Sample.from_columns(columns)
        if groups is not None:
            given = (names.label, y_true), (names.prob, y_prob)
            self.top_label = attach(self.top_label, groups, None, *given)
        self.classes, self.which, self.prob = tuple(called), read_only(which), read_only(prob)

    @classmethod
    def _from_columns(cls, y_true: Any, y_prob: Any, **columns: Any) -> ClassSample:
        """Make one of what was given to `Sample`."""
        taken = {
            name: columns.pop(name)
            for name in ("sample_weight", "groups", "labels", "names")
            if name in columns
        }
        for name, value in columns.items():
            if value is not None and value is not False:
                classes = validation.class_columns(y_prob)
                raise InputError(
                    f"{name} is for predictions of one event; y_prob has {classes:,} classes"
                )
        return cls(y_true, y_prob, **taken)

    def __getattr__(self, name: str) -> Any:
        if name not in _OF_TOP_LABEL:
            which = ": choose a class, sample[label], or sample.top_label" * hasattr(Sample, name)
            raise AttributeError(f"a ClassSample has no attribute {name!r}{which}")
        return getattr(self.top_label, name)

    def __getitem__(self, label: Any) -> Sample:
        if label not in self.classes:
            raise KeyError(
                f"{label!r} is not among the classes {', '.join(map(repr, self.classes))}"
            )
        return self._of(self.classes.index(label))

    def __iter__(self) -> Iterator[Any]:
        return iter(self.classes)

    def __len__(self) -> int:
        return len(self.classes)

    def _of(self, number: int, prob: NDArray[Any] | None = None) -> Sample:
        """Return the sample of the class with this number; with other predictions, if they are
        given.
        """
        column = np.ascontiguousarray(self.prob[:, number]) if prob is None else prob
        top = self.top_label
        rows = Rows(
            (self.which == number).view(np.uint8), column, self.sample_weight, unit=top.rows.unit
        )
        return Sample.from_rows(rows, top.design, n=self.n, total_weight=self.total_weight)

    @cached_property
    def rates(self) -> Floats:
        """The weighted share of rows of each class."""
        return np.bincount(self.which, self.sample_weight, len(self.classes)) / self.total_weight

    def _at(self, places: Any) -> ClassSample:
        """Return some of the rows; none of them changes its group."""
        found = object.__new__(ClassSample)
        found.top_label, found.classes = self.top_label.take(places), self.classes
        found.which, found.prob = self.which[places], self.prob[places]
        return found

    @cached_property
    def digest(self) -> int:
        """One number for the rows, in whatever order they come: as for `Sample`, of all columns;
        not of the labels.
        """
        some, group = np.flatnonzero(self.mass), self.top_label.units.unit
        rows = self._hashes[some]
        return digests.of_all(rows if group is None else digests.of_units(rows, group[some]))

    @cached_property
    def _hashes(self) -> digests.Codes:
        """One number for each row, of its class, its predictions and its relative weight, which are
        rounded.
        """
        return digests.of_rows(
            self.which, list(self.prob.T), self.top_label.units.relative_weight()
        )

    def in_order(self) -> ClassSample:
        """Return the same rows in an order that does not depend on how they came, and so does
        nothing drawn from them.

        Rows are sorted by a number that is made of class, weight and predictions, first rounded to
        25 binary digits, then to the last bit; groups by their rows, as `Sample.in_order` does.
        """
        exact, group = (
            digests.of_rows(self.which, list(self.prob.T), self.mass, to_the_bit=True),
            self.top_label.units.unit,
        )
        if group is None:
            return self._at(np.lexsort([exact, self._hashes]))
        kinds = [np.unique(each, return_inverse=True)[1] for each in (self._hashes, exact)]
        group = places_of_groups(group, *kinds)[group]
        found = self._at(order := np.lexsort([*kinds[::-1], group]))
        top = found.top_label
        found.top_label = top.with_columns(top.rows.replace(unit=group[order]))
        return found

    def _parts(self, folds: int, held_out: Sequence[float], rng: np.random.Generator) -> Ints:
        """Deal whole draws to folds, and hold out shares of them: the number of the part of each
        row.
        """
        part = self.top_label.deal(folds=folds, held_out=held_out, rng=rng).part
        assert part is not None
        return part

    def __repr__(self) -> str:
        more = "" if self.groups is None else f", groups={self.groups}"
        some = repr(self.classes) if len(self) <= _SHOWN else f"{len(self):,}"
        return f"ClassSample(n={self.n}, classes={some}{more})"


_OF_TOP_LABEL = (
    "n",
    "n_draws",
    "groups",
    "total_weight",
    "effective_n",
    "sample_weight",
    "mass",
    "_weighted",
)
_SHOWN = 10


def as_classes(
    y_true: Any,
    y_prob: Any = None,
    *,
    names: validation.ColumnNames = validation.ColumnNames(),  # noqa: B008 - frozen
    **columns: Any,
) -> ClassSample | None:
    """Return a sample of several classes as it is, or make one of the rows; None if they are about
    one event.

    What is for one event alone, such as `pos_label`, is refused with several classes.
    """
    given = [name for name, value in columns.items() if value is not None]
    if isinstance(y_true, ClassSample):
        if given or y_prob is not None:
            raise InputError(
                f"{(given or ['y_prob'])[0]} must not be given with a ClassSample, which holds it already"
            )
        return y_true
    if validation.class_columns(y_prob) < 3:
        return None
    return ClassSample._from_columns(y_true, y_prob, names=names, **columns)
