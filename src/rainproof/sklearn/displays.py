"""Displays in the manner of scikit-learn, from predictions or from a fitted classifier."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, ClassVar, Self

from numpy.typing import ArrayLike

from rainproof.assessment.reliability import reliability_curve
from rainproof.decisions.curve import regret_curve
from rainproof.errors import InputError
from rainproof.inference.net_benefit import net_benefit

if TYPE_CHECKING:
    from rainproof.plots import Axes


class _Display:
    """A result of rainproof with the methods of scikit-learn's displays.

    Attributes
    ----------
    result
        The result that is drawn.
    estimator_name : str or None
        The name of the classifier: the title of the picture begins with it.
    ax_, figure_
        Where it was drawn last.
    """

    _compute: ClassVar[Callable[..., Any]]
    ax_: Any
    figure_: Any

    def __init__(self, result: Any, *, estimator_name: str | None = None) -> None:
        self.result = result
        self.estimator_name = estimator_name

    @classmethod
    def from_predictions(
        cls,
        y_true: ArrayLike,
        y_prob: ArrayLike,
        *,
        sample_weight: ArrayLike | None = None,
        pos_label: Any = None,
        name: str | None = None,
        ax: Axes | None = None,
        **options: Any,
    ) -> Self:
        """Compute and draw it from outcomes and predicted probabilities.

        Parameters
        ----------
        y_true : array_like of shape (n,)
        y_prob : array_like of shape (n,)
            The predicted probability of the event.
        sample_weight : array_like of shape (n,), optional
        pos_label : object, optional
            The label of the event, if labels are not 0 and 1.
        name : str, optional
            What the classifier is called.
        ax : matplotlib Axes, optional
            Where to draw. Default: new axes.
        **options
            Options of the function behind it: see the class.
        """
        result = cls._compute(y_true, y_prob, sample_weight=sample_weight, pos_label=pos_label, **options)
        return cls(result, estimator_name=name).plot(ax)

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        X: ArrayLike,
        y: ArrayLike,
        *,
        sample_weight: ArrayLike | None = None,
        pos_label: Any = None,
        name: str | None = None,
        ax: Axes | None = None,
        **options: Any,
    ) -> Self:
        """Compute and draw it from a fitted classifier of two classes and rows to judge it by.

        The parameters are those of `from_predictions`; the event is `pos_label`, or the second class.
        """
        classes = list(estimator.classes_)
        if len(classes) != 2:
            raise InputError(f"estimator must have two classes; it has {len(classes)}")
        event = classes[1] if pos_label is None else pos_label
        if event not in classes:
            raise InputError(f"pos_label must be a class of the estimator, one of {classes}; it is {pos_label!r}")
        prob = estimator.predict_proba(X)[:, classes.index(event)]
        options |= {"sample_weight": sample_weight, "pos_label": event, "ax": ax}
        return cls.from_predictions(y, prob, name=name or type(estimator).__name__, **options)

    def plot(self, ax: Axes | None = None) -> Self:
        """Draw it into axes (default: new ones)."""
        self.ax_ = self.result.plot(ax)
        self.figure_ = self.ax_.figure
        if self.estimator_name:
            self.ax_.set_title(f"{self.estimator_name}: {self.ax_.get_title()}")
        return self


class ReliabilityDisplay(_Display):
    """A reliability diagram with intervals and the band of chance. Options: `rainproof.reliability_curve`."""

    _compute = staticmethod(reliability_curve)


class DecisionCurveDisplay(_Display):
    """A decision curve: net benefit beside treating all and none, with intervals. Options: `rainproof.net_benefit`."""

    _compute = staticmethod(net_benefit)


class RegretDisplay(_Display):
    """A regret curve: what acting on the predictions loses at each threshold. Options: `rainproof.regret_curve`."""

    _compute = staticmethod(regret_curve)
