"""rainproof for torchmetrics: a metric with a small state that adds up over batches and processes."""

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
        if form not in get_args(Form):
            raise InputError(
                f"form must be one of {', '.join(map(repr, get_args(Form)))}; it is {form!r}"
            )
        self.grid = check_grid(grid, "grid")
        self.measure = as_statistic(measure).function
        self.num_classes, self.form = num_classes, form
        self._states = 1 if num_classes is None or form == "top_label" else num_classes
        size = 2 * (grid + 1) * self._states
        self.add_state("count", torch.zeros(size, dtype=torch.int64), dist_reduce_fx="sum")
        self.add_state("rise", torch.zeros(size, dtype=torch.float64), dist_reduce_fx="sum")

    def update(self, preds: torch.Tensor, target: torch.Tensor) -> None:
        """Add a batch: probabilities of the event, and outcomes that are 0 or 1, of the same shape.

        Of several classes: probabilities of shape (n, num_classes), and the number of the class of
        each row.
        """
        k = self.num_classes
        if (
            (preds.shape != target.shape)
            if k is None
            else (preds.shape != (*target.shape, k) or target.dim() != 1)
        ):
            rule = "have one shape" if k is None else f"have the shapes (n, {k}) and (n,)"
            raise InputError(
                f"preds and target must {rule}; they have {preds.shape} and {target.shape}"
            )
        shape = (-1,) if k is None else (-1, k)
        prob, event = preds.detach().reshape(shape).double(), target.detach().reshape(-1)
        _check("preds", prob, (prob >= 0) & (prob <= 1), "must lie in [0, 1]")
        if k is None:
            _check("target", event, (event == 0) | (event == 1), "must be 0 or 1")
        else:
            classes = torch.arange(k, device=event.device)
            _check(
                "target",
                event,
                (event[:, None] == classes).any(dim=1),
                f"must be from 0 to {k - 1}",
            )
            total = prob.sum(dim=1)
            _check(
                "preds",
                total,
                (total - 1).abs() <= _TOLERANCE,
                f"must sum to 1 in each row (within {_TOLERANCE})",
            )
            top, both = prob.argmax(dim=1, keepdim=True), (prob, event[:, None] == classes)
            prob, event = (x.gather(1, top) for x in both) if self.form == "top_label" else both
        scaled = prob.reshape(-1) * self.grid  # exact: a power of two
        cell = scaled.floor()
        # of each class in turn
        state = torch.arange(len(scaled), device=cell.device) % self._states
        slot = 2 * ((self.grid + 1) * state + cell.long()) + event.reshape(-1).long()
        self.count += torch.bincount(slot, minlength=len(self.count))
        self.rise += torch.bincount(slot, weights=scaled - cell, minlength=len(self.rise))

    def sample(self, number: int = 0) -> Sample:
        """Return the rows seen so far as a compressed `rainproof.Sample`, for anything else that
        rainproof computes.

        Of several classes it is the class with this number, against the rest; or the top label.
        """
        some = slice(2 * (self.grid + 1) * number, 2 * (self.grid + 1) * (number + 1))
        count, rise = self.count[some].cpu().numpy(), self.rise[some].cpu().numpy()
        slot = np.flatnonzero(count)
        if not slot.size:
            raise InputError("no rows were given yet: call update first")
        n = count[slot]
        columns = {
            "grid": np.full(len(slot), self.grid),
            "cell": slot // 2,
            "outcome": slot % 2,
            "count": n,
        }
        columns |= {"weight": n.astype(float), "rise": rise[slot], "squares": n.astype(float)}
        return Sample.from_table({f"rainproof_{name}": column for name, column in columns.items()})

    def compute(self) -> torch.Tensor:
        """Return the measure of all rows so far; with ``form="by_class"`` that of each class."""
        values = [float(self.measure(self.sample(number))) for number in range(self._states)]
        if self.form == "by_class" and self.num_classes is not None:
            return torch.tensor(values, device=self.count.device)
        value = max(values) if self.form == "class_max" else math.fsum(values) / len(values)
        return torch.tensor(value, device=self.count.device)


_TOLERANCE = 1e-4


def _check(name: str, values: torch.Tensor, good: torch.Tensor, rule: str) -> None:
    """Refuse values that break a rule, counted in the order of rows."""
    if not bool(good.all()):
        place = f"{name}{(~good).nonzero()[0].tolist()}"
        raise InputError.from_offenders(
            f"{name} {rule}", int((~good).sum()), place, values[~good][0].item()
        )
