"""A guarantee for the population: an upper bound on the expected loss of every decision, at a stated confidence."""

from __future__ import annotations

import math
import warnings
from collections.abc import Iterable
from dataclasses import dataclass
from html import escape
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from brolly.core.arrays import Floats, freeze
from brolly.core.grid.cells import LARGEST_GRID, CellTable, check_grid
from brolly.core.sample.sample import Sample, as_sample
from brolly.core.text import at_most, percent
from brolly.decisions.payoffs import is_number
from brolly.errors import FewRowsWarning, InputError
from brolly.inference.bounds import BoundInputs, adaptive, adaptive_weighted, hoeffding
from brolly.inference.clusters import clustered, numbered_groups
from brolly.inference.resampling import check_share

Method = Literal["adaptive", "hoeffding"]


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class Guarantee:
    """An upper bound on the expected loss of everybody who acts on rounded predictions.

    Attributes
    ----------
    grid : int
        The grid to act on: round predictions at random, without bias, to multiples of ``1/grid``.
    bound : float
        The upper bound on the expected loss in the population, as a share of the range of the payoffs, compared with
        the best fixed change of actions.
    plug_in : float
        The loss on the sample, CDL(S_m).
    slack : float
        The allowance for chance: ``bound - plug_in``.
    hoeffding : float
        The bound by Hoeffding's inequality alone, at the same confidence, on its own best grid. For comparison only:
        the confidence does not cover the smaller of the two.
    method : {"adaptive", "hoeffding"}
        The inequality of `bound`.
    confidence_level : float
        The probability, at least, that the bound holds for a sample drawn as stated.
    n : int
        The number of rows.
    groups : int or None
        The number of groups, if rows of a group depend on each other.
    max_weight : float or None
        The largest weight that a row (with groups, a group) can have, if it was stated.
    effective_n : float
        The number of independent rows of equal weight that carry as much information.
    grids : ndarray of int
        The grids considered. The bounds hold for all of them at once.
    bounds, plug_ins : ndarray of float
        The bound and the loss on the sample for each of them.
    warnings : tuple of str
        Reasons to read the result with care.
    """

    grid: int
    bound: float
    plug_in: float
    hoeffding: float
    method: Method
    confidence_level: float
    n: int
    groups: int | None
    max_weight: float | None
    effective_n: float
    grids: NDArray[np.int64]
    bounds: Floats
    plug_ins: Floats
    warnings: tuple[str, ...]

    def __post_init__(self) -> None:
        freeze(self.grids, self.bounds, self.plug_ins)

    @property
    def slack(self) -> float:
        """The allowance for chance: ``bound - plug_in``."""
        return self.bound - self.plug_in

    def to_dict(self) -> dict[str, Any]:
        """Return everything in built-in types, ready for JSON."""
        return {
            "result": "guarantee",
            "method": self.method,
            "confidence_level": self.confidence_level,
            "grid": self.grid,
            "bound": self.bound,
            "plug_in": self.plug_in,
            "slack": self.slack,
            "hoeffding": self.hoeffding,
            "n": self.n,
            "groups": self.groups,
            "max_weight": self.max_weight,
            "effective_n": self.effective_n,
            "grids": self.grids.tolist(),
            "bounds": self.bounds.tolist(),
            "plug_ins": self.plug_ins.tolist(),
            "warnings": list(self.warnings),
        }

    def __repr__(self) -> str:
        how = f"confidence_level={self.confidence_level:g}, method={self.method!r}, n={self.n}"
        return f"Guarantee(bound={self.bound:.6g}, grid={self.grid}, plug_in={self.plug_in:.6g}, {how})"

    def __str__(self) -> str:
        return "\n".join([self._promise(), self._meaning(), self._assumption(), *self.warnings])

    def _promise(self) -> str:
        return (
            f"With {percent(self.confidence_level)} confidence, the expected loss of everybody who acts on these "
            f"predictions, rounded at random to multiples of 1/{self.grid}, is at most {at_most(self.bound)} of the "
            "range of their payoffs."
        )

    def _meaning(self) -> str:
        return (
            "This holds for all decision makers at once, whatever their actions and payoffs. The loss is compared with "
            "the best fixed change of actions ('where I would do this, do that') that uses the rounded predictions. "
            f"On the {self.n:,} rows it is {self.plug_in:.2%}; {self.slack:.2%} is the allowance for chance."
        )

    def _assumption(self) -> str:
        one, what = ("row", "rows") if self.groups is None else ("group", f"{self.groups:,} groups of rows")
        grids = "the grid" if len(self.grids) == 1 else f"the {len(self.grids)} grids tried"
        tried = f"{grids} ({', '.join(f'1/{m}' for m in self.grids.tolist())}) did not depend on them"
        fails = f"It fails for at most {percent(1 - self.confidence_level)} of such samples."
        if self.max_weight is not None:
            return (
                f"It is about the population in which each {one} counts with its weight. It assumes that the {what} "
                f"were drawn independently, that no {one} can weigh more than {self.max_weight:g}, and that {tried}. "
                f"Weights may depend on the predictions. {fails}"
            )
        drawn = f"the {what} were drawn independently from the population in which the predictions will be used"
        if self.effective_n >= (self.groups or self.n) * (1 - 1e-12):
            return f"It assumes that {drawn}, and that {tried}. {fails}"
        given, void = (
            ("weights, such as survey or cost weights", "weights that depend on the predictions (importance weights)")
            if self.groups is None
            else ("sizes and weights of the groups", "groups whose size or weight depends on their rows")
        )
        return (
            f"It assumes that, given fixed {given}, {drawn}, and that {tried}. It does not hold for {void}, unless "
            f"max_weight is stated. {fails}"
        )

    def _repr_html_(self) -> str:
        rows = "".join(
            f"<tr><td>{m}{' *' * (m == self.grid)}</td><td>{plug_in:.4f}</td><td>{bound:.4f}</td></tr>"
            for m, plug_in, bound in zip(self.grids.tolist(), self.plug_ins.tolist(), self.bounds.tolist(), strict=True)
        )
        head = "<tr><th>grid</th><th>loss on the rows</th><th>bound</th></tr>"
        return f"{''.join(f'<p>{escape(line)}</p>' for line in str(self).splitlines())}<table>{head}{rows}</table>"


def guarantee(
    y_true: ArrayLike | Sample,
    y_prob: ArrayLike | None = None,
    *,
    sample_weight: ArrayLike | None = None,
    pos_label: Any = None,
    confidence_level: float = 0.95,
    grid: int | Iterable[int] | None = None,
    groups: ArrayLike | None = None,
    max_weight: float | None = None,
    method: Method = "adaptive",
) -> Guarantee:
    r"""Bound the expected loss of everybody who acts on these predictions, in the population.

    A value measured on a sample is about the sample. This bound is about the population that the rows came from: at
    any sample size, for any distribution of predictions and outcomes, at the confidence level asked for. It
    holds for all decision makers at once who round predictions at random, without bias, to multiples of
    ``1/m`` and take the best action there (as `RoundingPolicy` does). Their expected loss is compared with the best
    fixed change of actions, such as "where I would act, wait".

    Parameters
    ----------
    y_true : array_like of shape (n,), or Sample
        The outcomes: 0 or 1, or any two labels with `pos_label`.
    y_prob : array_like of shape (n,)
        The predicted probability of the event, in [0, 1].
    sample_weight : array_like of shape (n,), optional
        The weight of each row. Given the weights, rows must be drawn independently from the population: fixed
        weights such as survey or cost weights. Importance weights for another population, which depend on the
        predictions, need `max_weight`.
    pos_label : object, optional
        The label of the event, if labels are not 0 and 1.
    confidence_level : float
        The probability, at least, that the bound holds for a sample drawn as stated.
    grid : int or iterable of int, optional
        The grids to choose from, powers of two, chosen before the rows were seen. Every grid makes the bound a little
        larger. Default: 4, 8, ... up to the first that is at least :math:`\sqrt n` (at least 8; n counts as
        ``Sample.effective_n``), or up to that of the compression.
    groups : array_like of shape (n,), optional
        The group of each row (patient, site, day): rows of a group may depend on each other, groups must be
        independent. A group counts as one draw, so the bound is larger. Its size must not depend on its predictions or
        outcomes, unless `max_weight` is stated. Not for compressed samples.
    max_weight : float, optional
        The largest weight that a row can have (with `groups`: a whole group), known before the rows were seen. Needed
        where weights depend on the predictions, as importance weights for another population do, or where the size of
        a group is informative. The bound is then about the population in which rows count with their weight.
    method : {"adaptive", "hoeffding"}
        "adaptive" is far smaller if few predictions are close to a threshold, and never much larger; "hoeffding" can
        be checked by hand.

    Returns
    -------
    Guarantee
        `bound` on the best `grid`; prints the guarantee and its assumptions.

    Warns
    -----
    FewRowsWarning
        If there are so few rows that the bound is 1.

    Notes
    -----
    With K grids and :math:`\delta = (1 - \text{confidence})/K`, Hoeffding's bound is :math:`\mathrm{CDL}(D_m)
    \le \mathrm{CDL}(S_m) + \sqrt{2 \ln(1/\delta) / n}`: of all tasks and swaps only the population's worst
    matters: one function g with values in [-1, 1], whose mean on the rows is at most :math:`\mathrm{CDL}(S_m)`.

    The adaptive bound uses that a row with :math:`g = 0` contributes no chance:

    .. math:: e^{-x g} (\cosh x)^{-|g|} \le 1 - g \tanh x \qquad (|g| \le 1)

    turns into a bound on the mean of g in terms of :math:`\sup \frac1n \sum_i \lambda g_i + \ln\cosh(\lambda) |g_i|`,
    which is a CDL that counts gains a little more and losses a little less, and as easy to compute. It is averaged over
    five values of :math:`\lambda` that depend on n alone; half of the error probability goes to Hoeffding's, so the
    bound is at most Hoeffding's with :math:`\ln(2/\delta)`. Where predictions have a density its slack shrinks like
    :math:`n^{-2/3}`; for rare events it is many times smaller than Hoeffding's. Proofs: docs/inference-bounds.md.

    It is a bound, not an estimate: the loss is likely much smaller. It does not hold if rows depend on each other in a
    way that `groups` does not describe, if the population changes, or if the forecast was fitted on these rows. It is
    about expectations: in a batch of new rows, chance comes on top.

    One pass over the rows, then O(m) for each grid. A compressed sample gives the same bound if weights are equal; if
    not, the bound uses squared weights by cell, and finer cells make it a little smaller.

    References
    ----------
    Hoeffding (1963), doi:10.1080/01621459.1963.10500830. The use of a single g, and the adaptive bound, are new here.

    Examples
    --------
    >>> import numpy as np, brolly
    >>> rng = np.random.default_rng(0)
    >>> p = rng.random(5000)
    >>> y = rng.random(5000) < p
    >>> g = brolly.guarantee(y, p)
    >>> g
    Guarantee(bound=0.0163948, grid=32, plug_in=0.0034561, confidence_level=0.95, method='adaptive', n=5000)
    >>> round(g.hoeffding, 4)
    0.0472
    """
    sample = as_sample(y_true, y_prob, sample_weight=sample_weight, pos_label=pos_label)
    check_share(confidence_level, "confidence_level")
    if method not in ("adaptive", "hoeffding"):
        raise InputError(f"method must be 'adaptive' or 'hoeffding'; it is {method!r}")
    cells, draws = _table(sample, 2, groups)
    effective_n = sample.total_weight**2 / float(cells.squares.sum())
    if max_weight is not None:
        max_weight = check_max_weight(max_weight, _largest_weight(sample, cells, groups))
        effective_n = (sample.total_weight / max_weight) ** 2 / (draws or sample.n)
    # With a stated largest weight the grids must depend on the number of draws alone.
    chosen = _grids(sample, grid, effective_n if max_weight is None else float(draws or sample.n))
    if chosen[-1] > cells.m:
        cells, draws = _table(sample, chosen[-1], groups)
    delta = (1 - confidence_level) / len(chosen)
    evidence = [BoundInputs.of(sample, m, cells, draws) for m in chosen]
    plug_ins = np.array([e.plug_in() for e in evidence])
    simple = np.array([hoeffding(loss, effective_n, delta) for loss in plug_ins.tolist()])
    if method == "hoeffding":
        bounds = simple
    elif max_weight is None:
        bounds = np.array([adaptive(e, delta) for e in evidence])
    else:
        bounds = np.array([adaptive_weighted(e, max_weight, delta) for e in evidence])
    best = int(bounds.argmin())
    notes = _notes(sample, draws, float(bounds[best]))
    for note in notes:
        warnings.warn(note, stacklevel=2)
    return Guarantee(
        grid=chosen[best],
        bound=float(bounds[best]),
        plug_in=float(plug_ins[best]),
        hoeffding=float(simple.min()),
        method=method,
        confidence_level=float(confidence_level),
        n=sample.n,
        groups=draws,
        max_weight=max_weight,
        effective_n=effective_n,
        grids=np.array(chosen, np.int64),
        bounds=bounds,
        plug_ins=plug_ins,
        warnings=tuple(map(str, notes)),
    )


def check_max_weight(max_weight: float | None, largest: float) -> float:
    """Return the largest possible weight: as stated, or the largest in the sample."""
    if max_weight is None:
        return largest
    if not is_number(max_weight) or not largest * (1 - 1e-12) <= max_weight < math.inf:
        raise InputError(
            f"max_weight must be finite, and at least the largest weight {largest:.6g}; it is {max_weight!r}"
        )
    return float(max_weight)


def _largest_weight(sample: Sample, cells: CellTable, groups: ArrayLike | None) -> float:
    """The largest weight of a row or group; for a compressed sample the largest that its sums prove."""
    if sample.grid is not None:
        return float((cells.squares / cells.weight[0]).max())
    if groups is None:
        return 1.0 if sample.sample_weight is None else float(sample.sample_weight.max())
    n = len(sample.y_prob)
    weight = np.ones(n) if sample.sample_weight is None else np.asarray(sample.sample_weight, np.float64)
    return float(np.bincount(numbered_groups(groups, n), weight).max())


def default_grids(n: float, finest: int = LARGEST_GRID) -> list[int]:
    """Return the grids tried on n rows: a function of n (and of the compression) alone."""
    last = max(8, 1 << math.ceil(math.log2(math.sqrt(n))))
    return [m for m in (2**k for k in range(2, last.bit_length())) if m <= finest] or [finest]


def _table(sample: Sample, m: int, groups: ArrayLike | None) -> tuple[CellTable, int | None]:
    """The sums on some grid at least that fine, and the number of groups."""
    cells = sample._cell_table(m)
    return (cells, None) if groups is None else clustered(sample, cells, groups)


def _grids(sample: Sample, grid: int | Iterable[int] | None, effective_n: float) -> list[int]:
    """The grids asked for, increasing and distinct; or the default."""
    if grid is None:
        return default_grids(effective_n, sample.grid or LARGEST_GRID)
    asked = [grid] if isinstance(grid, int | np.integer) else list(grid)
    if not asked:
        raise InputError("grid must name at least one grid")
    return sorted({check_grid(m, compressed=sample.grid) for m in asked})


def _notes(sample: Sample, groups: int | None, bound: float) -> list[FewRowsWarning]:
    if bound < 1:
        return []
    what, count = ("row", sample.n) if groups is None else ("group", groups)
    many = f"1 {what} is" if count == 1 else f"{count:,} {what}s are"
    return [FewRowsWarning(f"{many} too few for a guarantee at this confidence: the bound is 100%")]
