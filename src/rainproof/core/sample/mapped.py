"""A sample whose predictions went through a map."""

from __future__ import annotations

import numpy as np

from rainproof.core.grid.cells import CellTable
from rainproof.core.piecewise import PiecewiseMap
from rainproof.core.sample.sample import Sample


def mapped(sample: Sample, pieces: PiecewiseMap) -> Sample:
    """Apply a map to the predictions of a sample.

    Of a compressed sample it is applied to the mean prediction of each cell and outcome, as rows are pooled there.
    """
    if sample.grid is None:
        return Sample(sample.y_true, pieces(sample.y_prob), sample_weight=sample.sample_weight)
    cells = sample._cells
    event, prob, weight, count = cells.rows()
    value = cells.m * pieces.apply(prob)
    cell = np.floor(value).astype(np.int64)
    zero = np.zeros_like(weight)
    rise = np.stack([weight * (value - cell), zero])
    table = CellTable.pooled(cells.m, 2 * cell + event, count, np.stack([weight, zero]), rise, cells.squares)
    return Sample._from_cells(table)
