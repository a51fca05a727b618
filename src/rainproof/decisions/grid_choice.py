"""The grid to round predictions to before acting on them: the one on which decisions lose least."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rainproof.core.arguments import as_sample
from rainproof.core.arrays import Floats
from rainproof.core.cells import LARGEST_GRID, check_grid
from rainproof.core.result import Result
from rainproof.core.sample import Sample

_SMALLEST_FINEST_GRID = 64  # cells; the finest grid that is tried has at least as many
_EQUAL_LOSSES = 1e-12  # shares of what is at stake that only rounding makes different


@dataclass(frozen=True, kw_only=True, slots=True, eq=False, repr=False)
class GridChoice(Result):
    """The largest loss of any decision on predictions rounded to each grid, and the grid with the
    smallest.

    Attributes
    ----------
    grid : int
        The grid m with the smallest loss (the coarsest, if there are several).
    loss : float
        The loss there: no decision lost a larger share of what is at stake on these rows.
    bound : float
        The paper's bound there.
    grids : ndarray of int
        The grids: 2, 4, 8 and so on.
    losses : ndarray of float
        CDL(S_m) for each grid: the largest expected swap regret of any decision maker who rounds to
        1/m, exactly.
    bounds : ndarray of float
        The paper's bound for each grid, ``2 SCDL_m + 2/m`` (at most 1).
    n : int
        The number of rows.
    """

    _kind = "choose_grid"
    grid: int
    loss: float
    bound: float
    grids: NDArray[np.int64]
    losses: Floats
    bounds: Floats
    n: int

    def __str__(self) -> str:
        lines = [f"{'grid':>8}  {'loss':>8}  {'bound':>8}"]
        columns = zip(self.grids.tolist(), self.losses.tolist(), self.bounds.tolist(), strict=True)
        for grid, loss, bound in columns:
            mark = "  <- best" if grid == self.grid else ""
            lines.append(f"{grid:>8}  {loss:8.4f}  {bound:8.4f}{mark}")
        return "\n".join(lines)


def choose_grid(
    y_true: ArrayLike | Sample,
    y_prob: ArrayLike | None = None,
    *,
    max_grid: int | None = None,
    sample_weight: ArrayLike | None = None,
    pos_label: Any = None,
    base_rate: float | None = None,
) -> GridChoice:
    r"""Choose the grid to round predictions to before acting on them.

    Coarse rounding adds error; after fine rounding each value has too few rows for its event rate
    to be close to it. For each grid the loss is computed exactly: the largest expected loss on
    these rows of any decision maker who rounds to it (at random, without bias) and takes the best
    action there. The best grid has the smallest loss.

    Explained in docs/guide/policy.md.

    Parameters
    ----------
    y_true : array_like of shape (n,), or Sample
        The outcomes: 0 or 1, or any two labels with `pos_label`.
    y_prob : array_like of shape (n,)
        The predicted probability of the event, in [0, 1].
    max_grid : int, optional
        The finest grid to try, a power of two (default: the first of at least :math:`4 \sqrt n` and
        64, where n is ``Sample.effective_n``; at most the grid of a compressed sample).
    sample_weight : array_like of shape (n,), optional
        The weight of each row (default: all equal).
    pos_label : object, optional
        The label of the event, if labels are not 0 and 1.
    base_rate : float, optional
        The event rate of the population, if these rows have another one (see `Sample`).

    Returns
    -------
    GridChoice

    Notes
    -----
    :math:`S_m` is the sample with its predictions rounded to :math:`j/m`; it gives
    :math:`\mathrm{CDL}(S_m) = \sup_Z \mathrm{SR}_Z \le 2\,\mathrm{SCDL}_m + 2/m`, over all tasks Z
    with payoffs in [0, 1]. The left side is twice the concave envelope of the regret curve at 1/2,
    and often several times smaller than the right.

    *The finest grid.* Beyond :math:`m = 4 \sqrt n` rounding costs at most :math:`2/m \le 1/(2\sqrt
    n)`, which is less than the variation of the loss by chance, so finer grids gain nothing.
    Meanwhile the loss of the rounded rows approaches that of the rows themselves, which is far from
    0 even for a perfectly calibrated forecaster: hindsight knows the outcome of every prediction
    that occurs once.

    *Limits.* The loss is that of these rows, and the grid was chosen on them. For K grids fixed in
    advance, the loss in the population is, with probability 1 - d, for all of them at once at most
    :math:`\mathrm{CDL}(S_m) + \sqrt{2 \ln(K/d) / n}` (with `Sample.effective_n` for n). `guarantee`
    has a sharper bound. Regret compares with the best that can be done knowing only the rounded
    prediction: a coarse grid can have a small loss because it carries little information.

    One pass over the rows and O(m) for each grid. A compressed sample gives the same result as its
    rows, on the grids up to its own.

    References
    ----------
    arXiv:2605.17749, Theorem 4.2 (the bound). The exact loss of each grid is new here.

    Examples
    --------
    >>> import numpy as np, rainproof
    >>> rng = np.random.default_rng(0)
    >>> p = rng.random(300)
    >>> y = rng.random(300) < p**1.5
    >>> choice = rainproof.choose_grid(y, p)
    >>> choice
    GridChoice(grid=16, loss=0.0456906, bound=0.161056, n=300)
    >>> print(choice)
        grid      loss     bound
           2    0.1255    1.0000
           4    0.0783    0.5000
           8    0.0484    0.2643
          16    0.0457    0.1611  <- best
          32    0.0496    0.1062
          64    0.0687    0.0978
         128    0.0943    0.1070
    """
    sample = as_sample(
        y_true, y_prob, sample_weight=sample_weight, pos_label=pos_label, base_rate=base_rate
    )
    if max_grid is None:
        finest = _finest_grid(sample)
    else:
        finest = check_grid(max_grid, "max_grid", sample.grid)
    grids = [2**k for k in range(1, finest.bit_length())]
    rounded = [sample.on_grid(grid) for grid in grids]
    losses = np.array([on_grid.loss for on_grid in rounded])
    bounds = np.array([on_grid.bound for on_grid in rounded])
    # The first of equal losses: a coarser grid pools more rows.
    best = int(np.flatnonzero(losses <= losses.min() + _EQUAL_LOSSES)[0])
    return GridChoice(
        grid=grids[best],
        loss=float(losses[best]),
        bound=float(bounds[best]),
        grids=np.array(grids, np.int64),
        losses=losses,
        bounds=bounds,
        n=sample.n,
    )


def _finest_grid(sample: Sample) -> int:
    """Return the finest grid to try: the first of at least 4 sqrt(n) cells (see `choose_grid`)."""
    cells = 4 * math.sqrt(sample.effective_n)
    finest = max(_SMALLEST_FINEST_GRID, 1 << math.ceil(math.log2(cells)))
    return min(finest, sample.grid or LARGEST_GRID)
