"""rainproof for torchmetrics: a metric with a small state that adds up over batches and processes."""

from __future__ import annotations

from typing import Any

import numpy as np

from rainproof.core.cells import check_grid
from rainproof.core.sample import Sample
from rainproof.errors import InputError, MissingExtraError
from rainproof.inference.statistics import Measuring, as_statistic

try:
    import torch
    from torchmetrics import Metric
except ImportError as error:
    raise MissingExtraError("rainproof.integrations.torchmetrics", "torchmetrics", "torchmetrics") from error


class CalibrationMetric(Metric):  # type: ignore[misc]
    """Any measure of rainproof over batches of predictions, with a state of ``4 (grid + 1)`` numbers.

    The state holds sums by cell of a grid, which batches and processes add. SCDL from it is exact on every grid up to
    `grid`; other measures have the bounds that their docstrings state for compressed samples.

    Parameters
    ----------
    measure : str or callable
        The name of a measure of `rainproof.list_measures`, or a function of a `rainproof.Sample`.
    grid : int
        A power of two: the number of cells.
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

    def __init__(self, measure: str | Measuring = "soft_binned_cdl", grid: int = 1024, **options: Any) -> None:
        super().__init__(**options)
        self.grid = check_grid(grid, "grid")
        self.measure = as_statistic(measure).function
        self.add_state("count", torch.zeros(2 * (grid + 1), dtype=torch.int64), dist_reduce_fx="sum")
        self.add_state("rise", torch.zeros(2 * (grid + 1), dtype=torch.float64), dist_reduce_fx="sum")

    def update(self, preds: torch.Tensor, target: torch.Tensor) -> None:
        """Add a batch: probabilities of the event, and outcomes that are 0 or 1, of the same shape."""
        if preds.shape != target.shape:
            raise InputError(f"preds and target must have one shape; they have {preds.shape} and {target.shape}")
        prob, event = preds.detach().reshape(-1).double(), target.detach().reshape(-1)
        for name, values, good, rule in (
            ("preds", prob, (prob >= 0) & (prob <= 1), "must lie in [0, 1]"),
            ("target", event, (event == 0) | (event == 1), "must be 0 or 1"),
        ):
            if not bool(good.all()):
                first = int((~good).nonzero()[0])
                count = int((~good).sum())
                raise InputError.from_offenders(f"{name} {rule}", count, f"{name}[{first}]", values[first].item())
        scaled = prob * self.grid  # exact: a power of two
        cell = scaled.floor()
        slot = 2 * cell.long() + event.long()
        self.count += torch.bincount(slot, minlength=len(self.count))
        self.rise += torch.bincount(slot, weights=scaled - cell, minlength=len(self.rise))

    def sample(self) -> Sample:
        """Return the rows seen so far as a compressed `rainproof.Sample`, for anything else that rainproof computes."""
        count, rise = self.count.cpu().numpy(), self.rise.cpu().numpy()
        slot = np.flatnonzero(count)
        if not slot.size:
            raise InputError("no rows were given yet: call update first")
        n = count[slot]
        columns = {"grid": np.full(len(slot), self.grid), "cell": slot // 2, "outcome": slot % 2, "count": n}
        columns |= {"weight": n.astype(float), "rise": rise[slot], "squares": n.astype(float)}
        return Sample.from_table({f"rainproof_{name}": column for name, column in columns.items()})

    def compute(self) -> torch.Tensor:
        """Return the measure of all rows so far."""
        return torch.tensor(float(self.measure(self.sample())), device=self.count.device)
