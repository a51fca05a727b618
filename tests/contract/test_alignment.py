"""Rows are paired by position: pandas objects whose labels say otherwise are refused, whatever they
are given as.

One table: every public function and method x every argument that has a value for each row. It is
made from the signatures, so that a new function, or a new argument, cannot be forgotten.
"""

from __future__ import annotations

import inspect
import re

import numpy as np
import pandas as pd
from helpers.public import PUBLIC
from helpers.refusals import refuses

import rainproof

N = 40
rng = np.random.default_rng(4)
LABELS = pd.Index([f"case {k}" for k in range(N)])
P = rng.random(N)
Y = rng.random(N) < P
CLASSES = np.stack([1 - P, P / 2, P / 2], axis=1)
TASK = rainproof.DecisionTask.threshold(0.3)


def column(values):
    return pd.Series(values, index=LABELS)


# What has a value for each row, and a good one.
ROWS = {
    "y_true": column(Y.astype(int)),
    "y": column(Y.astype(int)),
    # of assess_many: the outcomes, if y_prob names the forecasts
    "forecasts": column(Y.astype(int)),
    "y_prob": column(P),
    "p": column(P),
    "y_prob_a": column(P),
    "y_prob_b": column(P**2),
    "p_old": column(P),
    "p_new": column(P**2),
    "recalibrated": column(P**2),
    "sample_weight": column(1 + P),
    "groups": column(np.arange(N) // 4),
    "by": column(np.arange(N) % 3),
    "ids": column(np.arange(N)),
    "trials": column(np.full(N, 3)),
    "batch": column(np.arange(N) // 10),
}
# What has not. A new name belongs here or above.
OTHERS = re.findall(
    r"\w+",
    """
    action actions alpha alternative anytime ax base_rate bins capacity classes confidence_level
    confidence_words dependent dialect drop_missing every false_positive_rate fdr folds form fractional grid
    held_out intervals labels like loss max_grid max_weight measure measures method min_rows n_bins n_resamples
    options outcome overwrite paired path per percent pos_label power precision preset prob progress recall
    response rng rounding rows rule samples score seed segments self sep source statistic strategy swaps table
    target task threshold threshold_range thresholds tolerance two_sided view weight where window
""",
)
# Their columns are named, or they take no rows: a query, a source that is read, a table of sums.
WITHOUT_ROWS = {
    "scan",
    "sql",
    "load",
    "read_answers",
    "list_measures",
    "sample_size",
    "monitor",
    "segment_tests",
}
SEVERAL = {"y_prob": pd.DataFrame(CLASSES, index=LABELS), "y_true": column(np.arange(N) % 3)}
MORE = {
    "swap_regret": {"task": TASK},
    "decide": {"task": TASK, "capacity": 0.2},
    "find_threshold": {"recall": 0.5},
    "assess_many": {"y_prob": {"a": column(P), "b": column(P**2)}},
    "measure_classes": SEVERAL,
    "class_guarantee": SEVERAL,
    "grade_table": {"by": column(np.arange(N) % 3)},
}
METHODS = {
    "Accumulator.update": lambda: rainproof.Accumulator().update,
    "OnlineRecalibrator.run": lambda: rainproof.OnlineRecalibrator(rng=0).run,
    "Recalibrator.fit": lambda: rainproof.Recalibrator().fit,
    "Recalibrator.predict": lambda: (
        rainproof.Recalibrator("none").fit(P, Y, by=np.arange(N) % 3).predict
    ),
    "RoundingPolicy.decide": lambda: rainproof.RoundingPolicy(TASK, 8).decide,
    "RoundingPolicy.decide_index": lambda: rainproof.RoundingPolicy(TASK, 8).decide_index,
    "RoundingPolicy.round": lambda: rainproof.RoundingPolicy(TASK, 8).round,
    "Sample": lambda: rainproof.Sample,
    "SequentialTest.update": lambda: rainproof.SequentialTest().update,
}


def callables():
    """Every public function, and every method that takes two columns or more."""
    found = {
        name: (lambda value=value: value)
        for name, value in PUBLIC.items()
        if inspect.isfunction(value)
    }
    return {name: made for name, made in found.items() if name not in WITHOUT_ROWS} | METHODS


def names_of(name):
    rows = [p for p in inspect.signature(callables()[name]()).parameters if p in ROWS]
    # there it is a switch
    return [p for p in rows if (name, p) != ("SequentialTest.update", "batch")]


def reordered(one):
    return one.iloc[np.random.default_rng(0).permutation(N)]


def labelled_anew(one):
    return one.set_axis(pd.Index([f"other {k}" for k in range(N)]))


WRONGS = {"the same index in another order": reordered, "different indexes": labelled_anew}


def arguments(name, wrong, change):
    """What is needed beside the argument that is wrong, all with the same labels; and the wrong
    one, changed.
    """
    parameters = inspect.signature(callables()[name]()).parameters
    needed = [
        p
        for p in names_of(name)
        if parameters[p].default is inspect.Parameter.empty or p in ("y_true", "y_prob")
    ]
    needed += [p for p in ("y_prob_a", "y_prob_b", "p_old", "p_new", "y") if p in parameters]
    given = {p: ROWS[p] for p in dict.fromkeys([names_of(name)[0], *needed, wrong])} | MORE.get(
        name, {}
    )
    one = given[wrong]
    parts = (
        {key: change(part) for key, part in one.items()} if isinstance(one, dict) else change(one)
    )
    return given | {wrong: parts}


def test_rows_with_other_labels_are_refused():
    cases = [(name, wrong) for name in callables() for wrong in names_of(name)[1:]]
    assert len(cases) > 90
    for name, wrong in cases:
        for what, change in WRONGS.items():
            call, given = callables()[name](), arguments(name, wrong, change)
            message = f"{what}: align them first, or pass"
            assert refuses(message, call, **given), (name, wrong, what)


def test_costs_of_cases_with_other_labels_are_refused():
    p, ids, costs = ROWS["y_prob"], ROWS["ids"], column(1 + P)
    acts = {
        "decide": lambda task: rainproof.decisions.decide(p, task),
        "RoundingPolicy.decide": lambda task: rainproof.RoundingPolicy(task, 8).decide(p, ids),
        "RoundingPolicy.probabilities": lambda task: rainproof.RoundingPolicy(
            task, 8
        ).probabilities(p),
        "best_response": lambda task: task.best_response(p),
    }
    right = rainproof.DecisionTask.from_costs(false_positive=1, false_negative=costs)
    for name, act in acts.items():
        act(right)
        for what, change in WRONGS.items():
            wrong = rainproof.DecisionTask.from_costs(
                false_positive=1, false_negative=change(costs)
            )
            assert refuses(f"p and false_negative have {what}", act, wrong), (name, what)


def test_the_table_knows_every_argument():
    known = {*ROWS, *OTHERS}
    functions = {name: value for name, value in PUBLIC.items() if inspect.isfunction(value)}
    unknown = {
        f"{name}({p})"
        for name, value in functions.items()
        for p in inspect.signature(value).parameters
        if p not in known
    }
    assert not unknown, "say in this file whether these have a value for each row"


def test_the_table_knows_every_method_that_takes_columns():
    taking = set()
    for name, kind in PUBLIC.items():
        if inspect.isclass(kind):
            for at, method in inspect.getmembers(kind, inspect.isfunction):
                own = [p for p in inspect.signature(method).parameters if p in ROWS]
                if (not at.startswith("_") or at == "__init__") and len(own) > 1:
                    taking.add(name if at == "__init__" else f"{name}.{at}")
    named = {"Recalibrator.to_sql"}  # it takes names of columns
    assert taking - named == set(METHODS)
