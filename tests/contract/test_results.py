"""What every result that users hold must keep to, and every function that takes a source of
randomness.
"""

from __future__ import annotations

import copy
import datetime
import inspect
import json
import math
import pickle
import re
from functools import cache
from html.parser import HTMLParser

import numpy as np
import pytest
from helpers.public import PUBLIC
from helpers.refusals import refuses

import rainproof
from rainproof.inference.bands import soft_bins
from rainproof.recalibration.certificate import HeldOut, certify
from rainproof.recalibration.methods import IDENTITY

FAST = {"n_resamples": 19, "rng": 0}
QUADRATIC = rainproof.DecisionTask.quadratic()


def rows(n, seed=0):
    """Outcomes and predictions that are somewhat overconfident."""
    rng = np.random.default_rng(seed)
    p = rng.random(n)
    return (rng.random(n) < 0.2 + 0.6 * p).astype(int), p


def infinite():
    """A sure prediction that failed: its log score is infinite."""
    y, p = rows(60)
    y[0], p[0] = 0, 1.0
    return y, p


CASES = {
    "usual": rows(60),
    "infinite log score": infinite(),
    "one row": rows(1),
    "one class": (np.zeros(40, int), rows(40)[1]),
    "sure and right": (np.array([0, 1] * 19), np.array([0.0, 1.0] * 19)),
    "sure and wrong": (np.array([1, 0] * 19), np.array([0.0, 1.0] * 19)),
}


def undefined(sample):
    """A measure that is no number."""
    return math.nan if sample.n else 0.0


@cache
def results(case):
    """One result, or several, of every type that has `to_dict`."""
    y, p = CASES[case]
    task = rainproof.DecisionTask.threshold(0.2)
    sample, other = rainproof.Sample(y, p), (p + 0.5) / 2
    days = {f"day {k}": sample.compress(64) for k in range(8)}
    by = np.arange(len(p)) % 2
    some = {"measures": ["soft_binned_cdl", "log_score"], **FAST}
    both = rainproof.assess_many(
        {"a": (y, p), "b": (y, other)}, task=QUADRATIC, by={"half": by}, **some
    )
    found = [
        both,
        *both.pairs,
        *both.standings,
        both["a"],
        rainproof.assess(sample, task=task, **some),
        rainproof.measure_all(sample),
    ]
    for a in found[-3:-1]:
        found += [
            a.summary,
            a.verdict,
            *a.measures,
            a.histogram,
            a.reliability,
            *a.advice,
            a.task,
            a.task.regret,
        ]
    found += [both["a"].segments, *both["a"].segments.rows]
    for measure in ("soft_binned_cdl", "log_score", undefined):
        found.append(rainproof.calibration_test(sample, measure=measure, **FAST))
        found.append(rainproof.calibration_test(sample, statistic=measure, measure=measure, **FAST))
        found += [
            rainproof.confidence_interval(sample, measure=measure, method=m, **FAST)
            for m in ("auto", "basic")
        ]
        found.append(rainproof.compare(y, p, other, measure=measure, **FAST))
        found.append(rainproof.compare(sample, sample, paired=False, measure=measure, **FAST))
        halves = {
            (math.inf, None): rainproof.Sample(y[::2], p[::2]),
            (datetime.date(2026, 1, 1), 0.5): sample,
        }
        found.append(
            rainproof.inference.segment_tests(
                halves, measure=measure, min_rows=2, intervals=1, **FAST
            )
        )
    several = rainproof.measures.measure_classes(
        y, np.stack([1 - p, p / 2, p / 2], axis=1), measures=["log_score"]
    )
    found += [
        several,
        *several.measures,
        rainproof.DecisionTask.from_cost_matrix(1 - np.eye(3)),
        *of_classes(),
    ]
    found += [rainproof.inference.class_guarantee(y, np.stack([1 - p, p / 2, p / 2], axis=1))]
    found += [
        rainproof.measures.score_decomposition(sample, score=score) for score in ("brier", "log")
    ]
    found += [
        rainproof.inference.null_band(sample, **FAST),
        rainproof.guarantee(sample),
        rainproof.inference.loss_at_least(sample, rng=0),
    ]
    found += [rainproof.guarantee(y, p, groups=by), rainproof.switch_guarantee(y, p, other, rng=0)]
    found += [
        rainproof.find_threshold(
            np.append(y, [0, 1]), np.append(p, [0.2, 0.4]), recall=0.3, precision=0.5
        )
    ]
    dependent = rainproof.monitor(days, dependent=True)
    found += [dependent, dependent.detectable]
    line = rainproof.monitor(days)
    found += [line, *line.windows[:1], soft_bins(sample, 4)]
    found += [rainproof.results.ActionChange(low=0.0, high=0.5, action="a", replacement="b")]
    found += [rainproof.inference.Bet(slope=1.0, shift=0.2, low=0.0, high=0.5)]
    found += [rainproof.SequentialTest().update(y, p), rainproof.sample_size()]
    found += [rainproof.regret_curve(sample), rainproof.regret_curve(sample, grid=4)]
    found += [rainproof.clinical_performance(sample, rng=0), rainproof.net_benefit(y, p, groups=by)]
    grades = rainproof.clinical.grade_table(y, p)
    found += [grades, grades.total]
    found += [
        rainproof.results.Interval(value=1.0, low=-math.inf, high=math.inf, confidence_level=0.95)
    ]
    found += [
        rainproof.choose_grid(sample),
        rainproof.measures.soft_binned_profile(sample),
        task,
        QUADRATIC,
        rainproof.DecisionTask.from_costs(false_positive=1, false_negative=1 + p),
        rainproof.decisions.decide(p, task, np.arange(len(p)), capacity=1),
    ]
    found += rainproof.swap_regret([1, 0], [0.1, 0.9], task).swaps
    fitted = rainproof.Recalibrator(rng=0).fit(p, y)
    found += [
        fitted,
        certify([HeldOut(sample, IDENTITY)], None, 0.95),
        rainproof.results.Candidate(method="none", weight=0.1, log_loss=0.3, brier_score=0.2),
        rainproof.results.SegmentMap(
            segment=(1,), corrected=False, gain_at_least=0.0, harm_bound=1.0, n=3
        ),
        fitted.map_,
        rainproof.forecast_value(sample),
        rainproof.decisions.risk_coverage(sample),
    ]
    found += [
        rainproof.OnlineRecalibrator(rng=0),
        *surprises(),
    ]
    certain = rainproof.results.Interval(value=0.1, low=0.0, high=0.2, confidence_level=0.95)
    found += [
        *both["a"].verdict.answers,
        both["a"].evidence,
        both["a"].calibration,
        rainproof.results.Interval(value=1.0, low=-math.inf, high=math.inf, confidence_level=0.95),
        rainproof.results.PredictionSwap(
            low=0.25, high=0.5, says="act", do="wait", share=0.1, saves=0.01
        ),
        *(w for w in [both["a"].worth] if w is not None),
        rainproof.results.PredictionRange(
            low=0.1, high=0.3, mean_prediction=0.2, event_rate=0.1, n=10.0, events=1.0
        ),
        rainproof.results.Gain(
            share=certain, threshold=0.3, mean_prediction=0.2, log_score=math.inf, brier_score=0.01
        ),
        rainproof.results.RangeCosts(
            costs={"as is": certain},
            saved={},
            saved_recalibrated={"always": certain},
            without_forecast=certain,
        ),
    ]
    return [*found, rainproof.RoundingPolicy(task, 8)]


@cache
def of_classes():
    """What is the same in every case: results of three classes."""
    fitted = rainproof.Recalibrator("none").fit(
        np.tile([[0.2, 0.3, 0.5]], (2100, 1)), np.arange(2100) % 3
    )
    found = rainproof.assess(
        np.arange(60) % 3,
        np.tile([[0.2, 0.3, 0.5], [0.6, 0.3, 0.1]], (30, 1)),
        task=rainproof.DecisionTask.from_cost_matrix(1 - np.eye(3)),
        n_resamples=19,
    )
    parts = [fitted.certificate_, fitted.map_, *fitted.map_.parts]
    return [*parts, found, *found.classes, found.task, found.classes[0].reliability]


@cache
def surprises():
    """Events that were predicted to be nearly impossible: the evidence against the forecast is
    infinite.
    """
    sample = rainproof.Sample([1] * 4000, [1e-9] * 4000).compress()
    line = rainproof.monitor({str(day): sample for day in range(8)})
    return [line, *line.changes, *line.changes[0].rates]


@pytest.mark.filterwarnings("ignore::rainproof.RainproofWarning")
@pytest.mark.parametrize("case", CASES)
def test_every_result_is_json_without_infinity_or_nan(case):
    found = results(case)
    held = {kind for result in found for kind in type(result).__mro__}
    public = list(PUBLIC.values())
    assert not [
        kind
        for kind in public
        if inspect.isclass(kind) and hasattr(kind, "to_dict") and kind not in held
    ]
    for result in found:
        told = result.to_dict()
        assert json.loads(json.dumps(told, allow_nan=False)) == told, type(result)
        repr(result), str(result)


@pytest.mark.filterwarnings("ignore::rainproof.RainproofWarning")
def test_a_pickle_is_the_same_before_and_after_use():
    """It holds no rows and no cache, and what comes back is equal."""
    for result in [*results("usual"), *of_classes()]:
        unused = copy.copy(result)
        before = pickle.dumps(unused)
        str(unused), repr(unused), unused.to_dict(), unused._repr_html_()
        after = pickle.dumps(unused)
        assert len(after) == len(before), type(result)
        again = pickle.loads(after)
        assert again.to_dict() == result.to_dict(), type(result)


class Balance(HTMLParser):
    """Which elements of a piece of HTML are not closed in order, and all names of elements."""

    def __init__(self, text):
        super().__init__()
        self.open, self.faults, self.names = [], [], set()
        self.feed(text)
        self.close()

    def handle_starttag(self, tag, attrs):
        self.names.add(tag)
        self.open.append(tag)

    def handle_endtag(self, tag):
        if not self.open or self.open.pop() != tag:
            self.faults.append(tag)


HOSTILE = "<script>alert(1)</script> &amp; <b>"
PLAIN_TAGS = {"b", "caption", "div", "h4", "li", "p", "pre", "sub", "table", "td", "th", "tr", "ul"}


def named():
    """Results that show names which users give."""
    y, p = rows(60)
    sample, task = (
        rainproof.Sample(y, p),
        rainproof.DecisionTask.threshold(0.2, actions=[HOSTILE, "act"]),
    )
    some = {"measures": [], "task": task, "by": {HOSTILE: [HOSTILE] * 60}, **FAST}
    both = rainproof.assess_many({HOSTILE: (y, p), "b": (y, 1 - p)}, **some)
    line = rainproof.monitor(
        {f"{HOSTILE}{k}": rainproof.Sample([1] * 400, [1e-9] * 400).compress() for k in range(8)}
    )
    found = [
        both,
        *both.pairs,
        *both.standings,
        *both.values(),
        both[HOSTILE].segments,
        *both[HOSTILE].segments.rows,
    ]
    found += [
        both[HOSTILE].task,
        task,
        rainproof.swap_regret(y, p, task),
        rainproof.RoundingPolicy(task, 8),
    ]
    found += [
        rainproof.inference.segment_tests({HOSTILE: sample}, min_rows=2, **FAST),
        line,
        *line.changes,
    ]
    found += [
        rainproof.net_benefit(y, {HOSTILE: p}),
        rainproof.clinical.grade_table(y, p, by=[HOSTILE] * 60),
    ]
    return [*found, rainproof.list_measures()]


@pytest.mark.filterwarnings("ignore::rainproof.RainproofWarning")
def test_every_result_is_shown_in_notebooks_as_plain_balanced_html():
    for result in [*results("usual"), *results("one row"), *named()]:
        shown = result._repr_html_()
        found = Balance(shown)
        assert shown, type(result)
        assert (found.open, found.faults) == ([], []), type(result)
        assert found.names <= PLAIN_TAGS, (type(result), found.names)


Y, P = rows(30)
SAMPLE = rainproof.Sample(Y, P)
RANDOM = {
    "assess": (Y, P),
    "assess_many": ({"a": (Y, P)},),
    "calibration_test": (Y, P),
    "clinical_performance": (Y, P),
    "compare": (Y, P, P),
    "confidence_interval": (Y, P),
    "find_threshold": (Y, P),
    "loss_at_least": (Y, P),
    "null_band": (Y, P),
    "reliability_curve": (Y, P),
    "segment_tests": ({"a": SAMPLE},),
    "switch_guarantee": (Y, P, P),
}


def test_every_function_that_takes_rng_is_listed():
    functions = {name: value for name, value in PUBLIC.items() if inspect.isfunction(value)}
    taking = {
        name for name, value in functions.items() if "rng" in inspect.signature(value).parameters
    }
    assert taking == set(RANDOM)


def test_rng_is_a_seed_or_a_generator():
    rule = r"rng must be None, a non-negative integer or a numpy\.random\.Generator; it is "
    for wrong in (-1, "a", 1.5, True, [1], np.random.RandomState(0)):
        for name, rows_given in RANDOM.items():
            message = rule + re.escape(repr(wrong))
            assert refuses(message, PUBLIC[name], *rows_given, rng=wrong), (name, wrong)
