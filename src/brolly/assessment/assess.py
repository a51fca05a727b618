"""``brolly.assess``: everything there is to say about a forecast, in one call."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from brolly.assessment.compute import Settings, compute_parts
from brolly.assessment.result import Assessment
from brolly.assessment.segments import split
from brolly.core.sample.sample import Sample, as_sample
from brolly.core.sample.segments import Segments
from brolly.decisions.task import DecisionTask
from brolly.errors import BrollyWarning, InputError

Progress = Callable[[int, int], None]

_MANY_ROWS = 1 << 18  # more are compressed first: resampling rows would take minutes and tell no more


def assess(
    y_true: ArrayLike | Sample | Segments,
    y_prob: ArrayLike | None = None,
    *,
    sample_weight: ArrayLike | None = None,
    pos_label: Any = None,
    task: DecisionTask | None = None,
    by: ArrayLike | Mapping[str, ArrayLike] | None = None,
    confidence_level: float = 0.95,
    tolerance: float = 0.05,
    rng: int | np.random.Generator | None = None,
    n_resamples: int = 999,
    measures: Iterable[str] | None = None,
    progress: Progress | None = None,
) -> Assessment:
    r"""Can these probabilities be trusted for decisions? A verdict in words, and all that it rests on.

    Print the result for the verdict: whether to trust the probabilities, to which precision, what it costs at worst
    and for whom, and what is not known yet because the rows are few. It holds every measure with an interval, the
    regret curve, the guarantee, the test, advice for every threshold; draw it with ``.plot()``, write the report
    with ``.to_html(path)``.

    Parameters
    ----------
    y_true : array_like of shape (n,), or Sample, or Segments
        The outcomes: 0 or 1, or any two labels with `pos_label`. Or all rows, perhaps compressed, as a `Sample`; or by
        segment as `Segments`.
    y_prob : array_like of shape (n,)
        The predicted probability of the event, in [0, 1].
    sample_weight : array_like of shape (n,), optional
        How much each row counts.
    pos_label : object, optional
        Which label is the event, where labels are not 0 and 1.
    task : DecisionTask, optional
        Your own decision: what acting on the probabilities cost you, and which change of habit would have saved it.
    by : array_like of shape (n,), or mapping of such, optional
        The segment of each row, for rows; a mapping from names to arrays for several columns. Every segment is assessed
        too.
    confidence_level : float
        Of the guarantee, the intervals and the test.
    tolerance : float
        The share of what is at stake that may be lost before it matters: "trust" is said if nobody can lose more,
        "do not act" if somebody surely does.
    rng : int, Generator or None
        The seed of the random numbers, or where they come from.
    n_resamples : int
        How many perfectly calibrated forecasts the test is made of.
    measures : iterable of str, optional
        Which measures of the catalogue to work out; all if not said.
    progress : callable, optional
        Called with the number of steps done and of all, now and then.

    Returns
    -------
    Assessment

    Warns
    -----
    BrollyWarning
        Where a result needs care; the assessment keeps the text.

    Notes
    -----
    *No word is stronger than the evidence.* The grade is "trust" if the `guarantee` is at most `tolerance`;
    "distrust" if the test rejects perfect calibration and the lower end of the interval of the worst loss is above
    `tolerance`; "care" if the test rejects and neither is so; else "unknown".

    *The grid that is shown.* `choose_grid` gives the loss on every grid. A row moves it by at most 2/n, so its standard
    error is at most :math:`1/\sqrt n` (Efron and Stein). Shown is the coarsest grid whose loss is within one standard
    error of the smallest (from 8 to 128 bins): fewer bins say more each.

    *The intervals* are about the population, and chance is on both of their sides: near calibration the value on the
    rows, to which chance adds, can lie above its interval. But for SCDL they are drawn from a compression to 2048
    cells, if there are more rows than that. That of the lower distance would take minutes and is left out.

    Of more than 262,144 rows the assessment is that of their compression to 65,536 cells, which SCDL, the
    regret curve, the guarantee and the soft bins cannot tell from the rows; so 1e8 rows cost little more than 1e5, or
    as much if they come compressed. CDL and ECE then tell apart cells, not predictions.

    References
    ----------
    arXiv:2605.17749 (SCDL and what it promises). Efron, Stein (1981), doi:10.1214/aos/1176345462. Benjamini, Hochberg
    (1995), doi:10.1111/j.2517-6161.1995.tb02031.x (segments).

    Examples
    --------
    >>> import numpy as np, brolly
    >>> rng = np.random.default_rng(1)
    >>> p = rng.random(2000)
    >>> y = rng.random(2000) < 0.5 + (p - 0.5) / 4       # far too sure of itself
    >>> a = brolly.assess(y, p, measures=["soft_binned_cdl"])
    >>> a.verdict.headline
    'Do not act on these probabilities as they are.'
    >>> print(a.advice_at(0.3))
    Between 0.0625 and 0.3 you should act, though the forecast says not to. Elsewhere follow the forecast.
    """
    settings = Settings.checked(task, confidence_level, tolerance, n_resamples, measures, rng)
    sample, segments = read(y_true, y_prob, sample_weight, pos_label, by)
    with collect_warnings() as notes:
        step = counter(progress, settings.steps(segments))
        found = compute_parts(sample, segments, settings, np.random.default_rng(rng), step)
    for note in notes.values():
        warnings.warn(note, stacklevel=2)
    return found.assessment(tuple(notes))


def read(
    y_true: ArrayLike | Sample | Segments,
    y_prob: ArrayLike | None,
    sample_weight: ArrayLike | None,
    pos_label: Any,
    by: ArrayLike | Mapping[str, ArrayLike] | None,
) -> tuple[Sample, Segments | None]:
    """All rows, and by segment if there are any; compressed if there are many."""
    if isinstance(y_true, Segments):
        if any(given is not None for given in (y_prob, sample_weight, pos_label, by)):
            raise InputError("Segments bring their own predictions, weights, labels and names: pass them alone")
        return y_true.pooled, y_true
    sample = as_sample(y_true, y_prob, sample_weight=sample_weight, pos_label=pos_label)
    segments = None
    if by is not None:
        if isinstance(y_true, Sample):
            raise InputError(
                "by is for rows: a Sample does not know which row is which; pass y_true and y_prob, or Segments"
            )
        columns = (np.asarray(y_true), np.asarray(y_prob), None if sample_weight is None else np.asarray(sample_weight))
        segments = split(columns, pos_label, by)
    return sample.compress() if sample.grid is None and sample.n > _MANY_ROWS else sample, segments


@contextmanager
def collect_warnings() -> Iterator[dict[str, BrollyWarning]]:
    """Keep what brolly warns of, each text once; other warnings are given as ever."""
    notes: dict[str, BrollyWarning] = {}
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", BrollyWarning)
        yield notes
    for warning in caught:
        if isinstance(warning.message, BrollyWarning):
            notes.setdefault(str(warning.message), warning.message)
        else:
            warnings.warn_explicit(warning.message, warning.category, warning.filename, warning.lineno)


def counter(progress: Progress | None, total: int) -> Callable[[], None]:
    """A function to call after each step."""
    done = 0

    def step() -> None:
        nonlocal done
        done += 1
        if progress is not None:
            progress(done, total)

    return step
