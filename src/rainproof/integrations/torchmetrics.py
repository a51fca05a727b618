"""rainproof for torchmetrics: a metric with a small state that adds up over batches and processes.

The state is a sample compressed to a grid; measures are computed from it by rainproof's functions.
"""

from __future__ import annotations

import math
from typing import Any, Literal, get_args

import numpy as np

from rainproof.core.cells import check_grid
from rainproof.core.sample import Sample
from rainproof.errors import InputError, MissingExtraError
from rainproof.inference.statistics import Measuring, as_statistic

try:
    import torch
    from torchmetrics import Metric
except ImportError as error:
    raise MissingExtraError(
        "rainproof.integrations.torchmetrics", "torchmetrics", "torchmetrics"
    ) from error


Form = Literal["class_max", "class_mean", "by_class", "top_label"]

_Columns = tuple[torch.Tensor, torch.Tensor]  # probabilities, and outcomes of the same rows

_SUM_TOLERANCE = 1e-4  # a thousand probabilities in single precision sum to 1 within 6e-5


class CalibrationMetric(Metric):  # type: ignore[misc]
    """Any measure of rainproof over batches of predictions, with a state of ``4 (grid + 1)``
    numbers.

    The state holds sums by cell of a grid, which batches and processes add. SCDL from it is exact
    on every grid up to `grid`; other measures have the bounds that their docstrings state for
    compressed samples.

    Parameters
    ----------
    measure : str or callable
        The name of a measure of `rainproof.list_measures`, or a function of a `rainproof.Sample`.
    grid : int
        A power of two: the number of cells.
    num_classes : int, optional
        The number of classes, if there are more than two: each has such a state.
    form : {"class_max", "class_mean", "by_class", "top_label"}
        Of several classes: the measure of the worst class against the rest, the mean over classes,
        that of each class, or of the top label alone (with one state). They answer different
        questions: see `measure_classes`.
    **options
        Options of `torchmetrics.Metric`, such as ``dist_sync_on_step``.

    Examples
    --------
    >>> from rainproof.integrations.torchmetrics import CalibrationMetric  # doctest: +SKIP
    >>> metric = CalibrationMetric("soft_binned_cdl")  # doctest: +SKIP
    >>> metric.update(torch.tensor([0.2, 0.8]), torch.tensor([0, 1]))  # doctest: +SKIP
    >>> metric.compute()  # doctest: +SKIP
    """

    full_state_update = False
    is_differentiable = False
    higher_is_better = False
    count: torch.Tensor
    rise: torch.Tensor

    def __init__(
        self,
        measure: str | Measuring = "soft_binned_cdl",
        grid: int = 1024,
        num_classes: int | None = None,
        form: Form = "class_max",
        **options: Any,
    ) -> None:
        super().__init__(**options)
        if num_classes is not None and num_classes < 3:
            raise InputError(
                f"num_classes must be 3 or more: two classes are one event; it is {num_classes!r}"
            )
        forms = get_args(Form)
        if form not in forms:
            raise InputError(f"form must be one of {', '.join(map(repr, forms))}; it is {form!r}")
        self.grid = check_grid(grid, "grid")
        self.measure = as_statistic(measure).function
        self.num_classes = num_classes
        self.form = form
        self._states = 1 if num_classes is None or form == "top_label" else num_classes
        size = 2 * (grid + 1) * self._states
        self.add_state("count", torch.zeros(size, dtype=torch.int64), dist_reduce_fx="sum")
        self.add_state("rise", torch.zeros(size, dtype=torch.float64), dist_reduce_fx="sum")

    def update(self, preds: torch.Tensor, target: torch.Tensor) -> None:
        """Add a batch: probabilities of the event, and outcomes that are 0 or 1, of the same shape.

        Of several classes: probabilities of shape (n, num_classes), and the number of the class of
        each row.
        """
        classes = self.num_classes
        if classes is None:
            prob, event = _event_rows(preds, target)
        else:
            prob, event = _class_rows(preds, target, classes)
            if self.form == "top_label":
                top = prob.argmax(dim=1, keepdim=True)
                prob = prob.gather(1, top)
                event = event.gather(1, top)
        # of each class in turn, as rows are flattened
        scaled = prob.reshape(-1) * self.grid  # exact: a power of two
        cell = scaled.floor()
        state = torch.arange(len(scaled), device=cell.device) % self._states
        slot = 2 * ((self.grid + 1) * state + cell.long()) + event.reshape(-1).long()
        self.count += torch.bincount(slot, minlength=len(self.count))
        self.rise += torch.bincount(slot, weights=scaled - cell, minlength=len(self.rise))

    def sample(self, number: int = 0) -> Sample:
        """Return the rows seen so far as a compressed `rainproof.Sample`, for anything else that
        rainproof computes.

        Of several classes it is the class with this number, against the rest; or the top label.
        """
        size = 2 * (self.grid + 1)
        state = slice(size * number, size * (number + 1))
        counts = self.count[state].cpu().numpy()
        slot = np.flatnonzero(counts)
        if not slot.size:
            raise InputError("no rows were given yet: call update first")
        count = counts[slot]
        columns = {
            "grid": np.full(len(slot), self.grid),
            "cell": slot // 2,
            "outcome": slot % 2,
            "count": count,
            "weight": count.astype(float),
            "rise": self.rise[state].cpu().numpy()[slot],
            "squares": count.astype(float),
        }
        return Sample.from_table({f"rainproof_{name}": column for name, column in columns.items()})

    def compute(self) -> torch.Tensor:
        """Return the measure of all rows so far; with ``form="by_class"`` that of each class."""
        values = [float(self.measure(self.sample(number))) for number in range(self._states)]
        if self.form == "by_class" and self.num_classes is not None:
            return torch.tensor(values, device=self.count.device)
        if self.form == "class_max":
            value = max(values)
        else:
            value = math.fsum(values) / len(values)
        return torch.tensor(value, device=self.count.device)


def _event_rows(preds: torch.Tensor, target: torch.Tensor) -> _Columns:
    """Return checked probabilities and outcomes of one event."""
    if preds.shape != target.shape:
        raise _wrong_shapes(preds, target, "have one shape")
    prob = preds.detach().reshape(-1).double()
    event = target.detach().reshape(-1)
    _check("preds", prob, (prob >= 0) & (prob <= 1), "must lie in [0, 1]")
    _check("target", event, (event == 0) | (event == 1), "must be 0 or 1")
    return prob, event


def _class_rows(preds: torch.Tensor, target: torch.Tensor, classes: int) -> _Columns:
    """Return checked probabilities of each class, and whether it occurred."""
    if preds.shape != (*target.shape, classes) or target.dim() != 1:
        raise _wrong_shapes(preds, target, f"have the shapes (n, {classes}) and (n,)")
    prob = preds.detach().reshape(-1, classes).double()
    target = target.detach()
    occurs = target[:, None] == torch.arange(classes, device=target.device)
    _check("preds", prob, (prob >= 0) & (prob <= 1), "must lie in [0, 1]")
    _check("target", target, occurs.any(dim=1), f"must be from 0 to {classes - 1}")
    total = prob.sum(dim=1)
    rule = f"must sum to 1 in each row (within {_SUM_TOLERANCE})"
    _check("preds", total, (total - 1).abs() <= _SUM_TOLERANCE, rule)
    return prob, occurs


def _wrong_shapes(preds: torch.Tensor, target: torch.Tensor, rule: str) -> InputError:
    """Return the error of predictions and outcomes that do not belong together."""
    return InputError(f"preds and target must {rule}; they have {preds.shape} and {target.shape}")


def _check(name: str, values: torch.Tensor, good: torch.Tensor, rule: str) -> None:
    """Refuse values that break a rule, counted in the order of rows."""
    bad = ~good
    if bool(bad.any()):
        place = f"{name}{bad.nonzero()[0].tolist()}"
        raise InputError.from_offenders(
            f"{name} {rule}", int(bad.sum()), place, values[bad][0].item()
        )
