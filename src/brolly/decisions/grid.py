"""Which grid to act on: the exact loss of rounding to each, and the smallest."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from brolly.core.arrays import Floats, Frozen, freeze
from brolly.core.grid.cells import LARGEST_GRID, check_grid
from brolly.core.sample.sample import Sample, as_sample
from brolly.decisions.curve import check_fine_enough

_ROUNDING = 1e-12  # losses no further apart than this count as equal


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class GridChoice(Frozen):
    """What acting on predictions rounded to each grid costs at most, and the grid where that is least.

    Attributes
    ----------
    grid : int
        The m with the smallest loss (the smallest such m).
    loss : float
        The loss there: nobody gave up a larger share of what was at stake on these rows.
    bound : float
        What the paper promises there.
    grids : ndarray of int
        The grids looked at: 2, 4, 8 and so on.
    losses : ndarray of float
        CDL(S_m) for each: the largest swap regret of any decision maker who rounds to 1/m, exactly.
    bounds : ndarray of float
        The paper's bound for each, ``2 SCDL_m + 2/m`` (at most 1).
    n : int
        The number of rows.
    """

    grid: int
    loss: float
    bound: float
    grids: NDArray[np.int64]
    losses: Floats
    bounds: Floats
    n: int

    def __post_init__(self) -> None:
        freeze(self.grids, self.losses, self.bounds)

    def to_dict(self) -> dict[str, Any]:
        """All of it in built-in types, ready for JSON."""
        return {
            "result": "choose_grid",
            "grid": self.grid,
            "loss": self.loss,
            "bound": self.bound,
            "n": self.n,
            "grids": self.grids.tolist(),
            "losses": self.losses.tolist(),
            "bounds": self.bounds.tolist(),
        }

    def __repr__(self) -> str:
        return f"GridChoice(grid={self.grid}, loss={self.loss:.6g}, bound={self.bound:.6g}, n={self.n})"

    def __str__(self) -> str:
        lines = [f"{'grid':>8}  {'loss':>8}  {'bound':>8}"]
        for m, loss, bound in self._rows():
            lines.append(f"{m:>8}  {loss:8.4f}  {bound:8.4f}{'  <- best' * (m == self.grid)}")
        return "\n".join(lines)

    def _repr_html_(self) -> str:
        rows = "".join(
            f"<tr><td>{m}{' *' * (m == self.grid)}</td><td>{loss:.4f}</td><td>{bound:.4f}</td></tr>"
            for m, loss, bound in self._rows()
        )
        head = "<tr><th>grid</th><th>CDL(S<sub>m</sub>)</th><th>2 SCDL<sub>m</sub> + 2/m</th></tr>"
        return f"<p>Act on multiples of <b>1/{self.grid}</b> ({self.n:,} rows)</p><table>{head}{rows}</table>"

    def _rows(self) -> list[tuple[int, float, float]]:
        return list(zip(self.grids.tolist(), self.losses.tolist(), self.bounds.tolist(), strict=True))


def choose_grid(
    y_true: ArrayLike | Sample,
    y_prob: ArrayLike | None = None,
    *,
    max_grid: int | None = None,
    sample_weight: ArrayLike | None = None,
    pos_label: Any = None,
) -> GridChoice:
    r"""Which grid to round predictions to before acting on them, so that nobody can lose much.

    Coarse rounding adds errors of its own; fine rounding leaves predictions so many values that each has
    too few rows to be right on average. For each grid the loss is computed exactly: the most that any
    decision maker who rounds to it (at random, without bias) and takes the best action there gave up on
    these rows. The best grid has the smallest.

    Parameters
    ----------
    y_true : array_like of shape (n,), or Sample
        The outcomes: 0 or 1, or any two labels with `pos_label`.
    y_prob : array_like of shape (n,)
        The predicted probability of the event, in [0, 1].
    max_grid : int, optional
        The finest grid to look at, a power of two. If not said, the first from :math:`4 \sqrt n` on (at
        least 64; n counts as ``Sample.effective_n`` where there are weights), or that of the compression.
    sample_weight : array_like of shape (n,), optional
        The weight of each row (default: all equal).
    pos_label : object, optional
        The label of the event, if labels are not 0 and 1.

    Returns
    -------
    GridChoice

    Notes
    -----
    :math:`S_m` is the sample with its predictions rounded to :math:`j/m`; it gives
    :math:`\mathrm{CDL}(S_m) = \sup_Z \mathrm{SR}_Z \le 2\,\mathrm{SCDL}_m + 2/m`, over all tasks Z with payoffs in
    [0, 1]. The left side is twice the concave envelope of the regret curve at 1/2, and often several times
    smaller than the right.

    *Where it stops looking.* Beyond :math:`m = 4 \sqrt n` rounding costs at most :math:`2/m \le 1/(2\sqrt n)`, less
    than chance moves the loss, so there is nothing left to gain; while the loss of the rounded rows creeps up
    to that of the rows themselves, which is far from 0 even for a perfect forecaster, as hindsight knows the
    outcome of every prediction that stands alone.

    *What it does not say.* The loss is that of these rows, and the grid was chosen on them. For K grids fixed
    in advance, the loss on the population is, with probability 1 - d, for all of them at once at most
    :math:`\mathrm{CDL}(S_m) + \sqrt{2 \ln(K/d) / n}` (with `Sample.effective_n` for n): choosing costs the K.
    `guarantee` has a sharper bound. And it is regret, compared with what can be done knowing the rounded prediction
    alone: a coarse grid can have a small loss because it says little.

    One pass over the rows and O(m) for each grid. A compressed sample gives the same answer as its rows, on
    the grids up to its own.

    References
    ----------
    arXiv:2605.17749, Theorem 4.2 (the bound). That the loss of each grid can be had exactly is new here.

    Examples
    --------
    >>> import numpy as np, brolly
    >>> rng = np.random.default_rng(0)
    >>> p = rng.random(300)
    >>> y = rng.random(300) < p**1.5
    >>> choice = brolly.choose_grid(y, p)
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
    sample = as_sample(y_true, y_prob, sample_weight=sample_weight, pos_label=pos_label)
    finest = _finest(sample) if max_grid is None else check_fine_enough(sample, check_grid(max_grid, "max_grid"))
    grids = [2**k for k in range(1, finest.bit_length())]
    found = [sample._on_grid(m) for m in grids]
    losses, bounds = np.array([one.loss for one in found]), np.array([one.bound for one in found])
    at = int(np.flatnonzero(losses <= losses.min() + _ROUNDING)[0])
    return GridChoice(
        grid=grids[at],
        loss=float(losses[at]),
        bound=float(bounds[at]),
        grids=np.array(grids, np.int64),
        losses=losses,
        bounds=bounds,
        n=sample.n,
    )


def _finest(sample: Sample) -> int:
    """The first grid whose rounding costs less than half of what chance does, as far as the sample knows it."""
    enough = 1 << math.ceil(math.log2(4 * math.sqrt(sample.effective_n)))
    return min(max(64, enough), sample.grid or LARGEST_GRID)
