"""Answer or abstain: how often one answers at each threshold, and how often the answer is wrong."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from rainproof.core.arrays import Floats, Frozen, freeze
from rainproof.core.sample.sample import Sample, as_sample
from rainproof.core.shown import Shown

if TYPE_CHECKING:
    from rainproof.plots import Axes


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class RiskCoverage(Shown, Frozen):
    """Risk against coverage, on these rows, for whoever answers from a threshold on and abstains below it.

    Attributes
    ----------
    threshold : ndarray
        The distinct predictions, from the largest down.
    coverage : ndarray
        The share of rows that are answered: those with a prediction of at least the threshold.
    risk : ndarray
        The share of the answered rows whose answer is wrong.
    area : float
        The area under the curve (AURC): the average risk over all coverages. It is small if few answers are wrong, or
        if the wrong ones have the smallest predictions; a calibrated forecast can have a large one.
    n : int
        The number of rows.
    """

    threshold: Floats
    coverage: Floats
    risk: Floats
    area: float
    n: int

    def __post_init__(self) -> None:
        freeze(self.threshold, self.coverage, self.risk)

    def plot(self, ax: Axes | None = None) -> Axes:
        """Draw the curve into axes (default: new ones) and return them; see `rainproof.plots.risk_coverage`."""
        from rainproof.plots import risk_coverage

        return risk_coverage(self, ax)

    def to_dict(self) -> dict[str, Any]:
        """Return built-in types, ready for JSON."""
        arrays = {name: getattr(self, name).tolist() for name in ("threshold", "coverage", "risk")}
        return {"result": "risk_coverage", "area": self.area, "n": self.n, **arrays}

    def __repr__(self) -> str:
        return f"RiskCoverage(area={self.area:.6g}, n={self.n})"


def risk_coverage(
    y_true: ArrayLike | Sample,
    y_prob: ArrayLike | None = None,
    *,
    sample_weight: ArrayLike | None = None,
    pos_label: Any = None,
) -> RiskCoverage:
    r"""Compute how often one answers, and how often the answer is wrong, at each threshold of confidence.

    The event is that the answer is right, and the prediction is the stated confidence in it. The curve describes these
    rows; it says how well confidence orders the answers, not whether it is calibrated. To choose the threshold from
    what a wrong answer costs, state the decision:
    ``DecisionTask.from_costs(false_positive=penalty, false_negative=1, actions=["abstain", "answer"])``.

    Explained in docs/language-models.md.

    Parameters
    ----------
    y_true : array_like of shape (n,), or Sample
        Whether the answer is right: 0 or 1, or any two labels with `pos_label`.
    y_prob : array_like of shape (n,)
        The stated probability that it is, in [0, 1].
    sample_weight : array_like of shape (n,), optional
        The weight of each row.
    pos_label : object, optional
        The label of a right answer, if labels are not 0 and 1.

    Returns
    -------
    RiskCoverage

    Notes
    -----
    With weights :math:`w_i`, the coverage at t is :math:`\phi(t) = \sum_{p_i \ge t} w_i / \sum_i w_i`, and the risk
    is :math:`\sum_{p_i \ge t} w_i (1 - y_i) / \sum_{p_i \ge t} w_i`. Rows with equal predictions are answered together.
    The area is :math:`\sum_t (\phi(t) - \phi(t+))\, \mathrm{risk}(t)` over the distinct predictions t. A compressed
    sample answers cell by cell.

    References
    ----------
    Geifman, El-Yaniv (2017), arXiv:1705.08500. Geifman, Uziel, El-Yaniv (2019), arXiv:1805.08206 (the area).

    Examples
    --------
    >>> import rainproof
    >>> curve = rainproof.risk_coverage([1, 1, 0, 1, 0], [0.9, 0.8, 0.8, 0.6, 0.3])
    >>> curve.coverage.tolist()
    [0.2, 0.6, 0.8, 1.0]
    >>> curve.risk.round(3).tolist()
    [0.0, 0.333, 0.25, 0.4]
    """
    sample = as_sample(y_true, y_prob, sample_weight=sample_weight, pos_label=pos_label)
    table = sample._distinct_table()
    wrong, right = np.cumsum(table.negative[::-1]), np.cumsum(table.positive[::-1])
    answered = wrong + right
    coverage, risk = answered / answered[-1], wrong / answered
    return RiskCoverage(
        threshold=table.prob[::-1].copy(),
        coverage=coverage,
        risk=risk,
        area=float(np.diff(coverage, prepend=0.0) @ risk),
        n=sample.n,
    )
