"""Each kind of bad input, with its exact message; nothing is clipped, guessed or lost."""

from __future__ import annotations

import re
from fractions import Fraction

import numpy as np
import pandas as pd
import pytest
from helpers.cases import for_each

import rainproof

NAN, INF = float("nan"), float("inf")
LABEL = "y_true must be 0 or 1 (pos_label names the event among other labels)"
SHARES = "; if these are shares (a draw is half a win), make a Sample with fractional=True"

CASES = {
    "NaN prediction": (
        ([0, 1, 1], [0.1, NAN, NAN]),
        {},
        "y_prob must not contain NaN; 2 values do, the first is y_prob[1]",
    ),
    "above one": (
        ([0, 1, 1], [0.1, 0.2, 1.2]),
        {},
        "y_prob must lie in [0, 1]; 1 value does not, the first is y_prob[2] = 1.2",
    ),
    "percent": (
        ([0, 1, 1], [50, 1.5, 0.2]),
        {},
        "y_prob must lie in [0, 1]; 2 values do not, the first is y_prob[0] = 50.0; if it is in "
        "percent, divide by 100",
    ),
    "below zero": (
        ([0, 1, 1], [-1e-300, 0.2, -3]),
        {},
        "y_prob must lie in [0, 1]; 2 values do not, the first is y_prob[0] = -1e-300",
    ),
    "infinite prediction": (
        ([0, 1], [0.5, INF]),
        {},
        "y_prob must lie in [0, 1]; 1 value does not, the first is y_prob[1] = inf",
    ),
    "labels 1 and 2": (
        ([1, 2], [0.5, 0.5]),
        {},
        f"{LABEL}; 1 value does not, the first is y_true[1] = 2; the labels are 1 and 2: "
        "if 2 is the event, pass pos_label=2",
    ),
    "label -1": (
        ([-1, 1], [0.5, 0.5]),
        {},
        f"{LABEL}; 1 value does not, the first is y_true[0] = -1; the labels are -1 and 1: if 1 "
        "is the event, pass pos_label=1",
    ),
    "label 0.5": (
        ([0.5, 1], [0.5, 0.5]),
        {},
        f"{LABEL}; 1 value does not, the first is y_true[0] = 0.5{SHARES}",
    ),
    "label NaN": (
        ([0, NAN], [0.5, 0.5]),
        {},
        f"{LABEL}; 1 value does not, the first is y_true[1] = nan",
    ),
    "swapped": (
        ([0.3, 0.7], [0, 1]),
        {},
        f"{LABEL}; 2 values do not, the first is y_true[0] = 0.3; were y_true and y_prob swapped?",
    ),
    "swapped, in percent": (
        ([30.0, 70.0, 1.0], [0, 0.01, 0]),
        {},
        f"{LABEL}; 2 values do not, the first is y_true[0] = 30.0; were y_true and y_prob swapped?",
    ),
    "NaN beside classes": (
        ([0, NAN], [0, 1]),
        {},
        f"{LABEL}; 1 value does not, the first is y_true[1] = nan",
    ),
    "lengths": (
        ([0, 1], [0.5]),
        {},
        "y_true and y_prob must have the same length; they have 2 and 1",
    ),
    "weight length": (
        ([0, 1], [0.5, 0.5]),
        {"sample_weight": [1]},
        "y_true and sample_weight must have the same length; they have 2 and 1",
    ),
    "negative weight": (
        ([0, 1], [0.5, 0.5]),
        {"sample_weight": [1, -2]},
        "sample_weight must be finite and not negative; 1 value does not, the first is "
        "sample_weight[1] = -2.0",
    ),
    "NaN weight": (
        ([0, 1], [0.5, 0.5]),
        {"sample_weight": [NAN, 1]},
        "sample_weight must be finite and not negative; 1 value does not, the first is "
        "sample_weight[0] = nan",
    ),
    "infinite weight": (
        ([0, 1], [0.5, 0.5]),
        {"sample_weight": [1, INF]},
        "sample_weight must be finite and not negative; 1 value does not, the first is "
        "sample_weight[1] = inf",
    ),
    "zero weights": (
        ([0, 1], [0.5, 0.5]),
        {"sample_weight": [0, 0]},
        "sample_weight must not be zero for every row",
    ),
    "huge weights": (
        ([0, 1], [0.5, 0.5]),
        {"sample_weight": [1e200, 1]},
        "sample_weight must have a sum between 1e-150 and 1e+150; it is 1e+200: "
        "only the ratios of weights matter, so rescale them",
    ),
    "overflowing weights": (
        ([0, 0], [0.5, 0.5]),
        {"sample_weight": [1.7e308, 1.7e308]},
        "sample_weight must have a sum between 1e-150 and 1e+150; it is inf: "
        "only the ratios of weights matter, so rescale them",
    ),
    "empty": (([], []), {}, "y_true and y_prob must not be empty"),
    "three dimensions": (
        ([0, 1], [[[0.5]], [[0.1]]]),
        {},
        "y_prob must be one-dimensional; its shape is (2, 1, 1)",
    ),
    "two columns of outcomes": (
        ([[0, 1], [1, 0]], [0.5, 0.1]),
        {},
        "y_true must be one-dimensional; its shape is (2, 2); of two columns pass the event's, "
        "y_true[:, 1]",
    ),
    "a number": ((1, [0.5]), {}, "y_true must be one-dimensional; its shape is ()"),
    "a cube": (
        ([0], np.zeros((1, 1, 1))),
        {},
        "y_prob must be one-dimensional; its shape is (1, 1, 1)",
    ),
    "ragged": (([0, 1], [[0.5], [0.1, 0.9]]), {}, "y_prob must be readable as an array: "),
    "string predictions": (
        ([0, 1], ["0.1", "0.2"]),
        {},
        "y_prob must hold numbers; it holds strings",
    ),
    "bytes": (([0, 1], [b"a", b"b"]), {}, "y_prob must hold numbers; it holds bytes"),
    "complex": (([0, 1], [0.1j, 0.2]), {}, "y_prob must hold numbers; it holds complex numbers"),
    "dates": (
        ([0, 1], np.array(["2020-01-01"] * 2, "M8[D]")),
        {},
        "y_prob must hold numbers; it holds dates",
    ),
    "structured": (
        ([0, 1], np.zeros(2, [("a", "f8")])),
        {},
        "y_prob must hold numbers; it holds values of type [('a', '<f8')]",
    ),
    "objects": (([0, 1], np.array([0.1, object()], object)), {}, "y_prob must hold numbers; "),
    "pandas NA": (
        (pd.array([0, None], "Int64"), [0.5, 0.5]),
        {},
        "y_true must",
    ),
    "masked": (
        ([0, 1], np.ma.masked_array([0.5, 0.5], [False, True])),
        {},
        "y_prob must not contain masked values; 1 value does, the first is y_prob[1]",
    ),
    "string labels": (
        (["no", "yes"], [0.5, 0.5]),
        {},
        "y_true must be 0 or 1; it holds strings such as 'no': pass pos_label to say which "
        "label is the event",
    ),
    "strings in objects": (
        ([0, 1], np.array(["0.1", 0.2], object)),
        {},
        "y_prob must hold numbers; it holds strings",
    ),
    "string labels in objects": (
        (np.array(["0", "1"], object), [0.5, 0.5]),
        {},
        "y_true must be 0 or 1; it holds strings such as '0': pass pos_label to say which label "
        "is the event",
    ),
    "no string labels": (
        (np.array([], str), []),
        {},
        "y_true must be 0 or 1; it holds strings: pass pos_label to say which label is the event",
    ),
    "missing labels": (
        (["yes", None, "yes", None], [0.5] * 4),
        {"pos_label": "yes"},
        "y_true must not contain missing labels; 2 values do, the first is y_true[1]",
    ),
    "unknown labels": (
        (np.array(["yes", pd.NA, "no"], object), [0.5] * 3),
        {"pos_label": "yes"},
        "y_true must not contain missing labels; 1 value does, the first is y_true[1]",
    ),
    "two events": (
        ([0, 1], [0.5, 0.5]),
        {"pos_label": [0, 1]},
        "pos_label must be one label; it is [0, 1]",
    ),
    "labels that will not compare": (
        (np.zeros(2, [("a", "f8")]), [0.5, 0.5]),
        {"pos_label": 1},
        "y_true could not be compared with pos_label: ",
    ),
    "a huge integer": (([0, 1], [10**400, 0.5]), {}, "y_prob must hold numbers; "),
    "three labels": (
        (["no", "yes", "maybe", "maybe"], [0.5] * 4),
        {"pos_label": "yes"},
        "y_true must hold 'yes' and one other label ('no'); 2 values do not, the first is "
        "y_true[2] = 'maybe'",
    ),
    "missing y_prob": (([0, 1],), {}, "y_prob is missing: pass y_true and y_prob, or one Sample"),
    "rounding": (
        ([0, 1], [0.5, 0.5]),
        {"rounding": "up"},
        "rounding must be 'soft' or 'hard'; it is 'up'",
    ),
}


@for_each("case", CASES)
def test_message(case):
    arguments, options, message = CASES[case]
    with pytest.raises(rainproof.InputError, match=re.escape(message)):
        rainproof.soft_binned_cdl(*arguments, **options)


def test_every_message_ends_where_it_is_expected_to():
    """`match` looks for a part; only messages that quote another library may go on."""
    for case, (arguments, options, message) in CASES.items():
        with pytest.raises(rainproof.InputError, match=r"must|missing|compared") as caught:
            rainproof.soft_binned_cdl(*arguments, **options)
        if case not in (
            "ragged",
            "objects",
            "pandas NA",
            "labels that will not compare",
            "a huge integer",
        ):
            assert str(caught.value) == message, case


def test_errors_are_value_errors_with_rule_and_count():
    with pytest.raises(ValueError, match="2 values") as caught:
        rainproof.Sample([0, 1, 1], [0.1, NAN, NAN])
    assert str(caught.value).endswith("the first is y_prob[1]")
    assert caught.value.rule == "y_prob must not contain NaN"
    assert caught.value.count == 2
    assert caught.value.first == "y_prob[1]"


def test_a_bad_row_is_found_wherever_it_is():
    """In the first block, the last, on a block's edge, and past the part one thread takes."""
    rng = np.random.default_rng(5)
    n = 700_001
    p, y = rng.random(n), rng.integers(0, 2, n)
    for row in (0, 63, 64, 350_000, 350_001, n - 1):
        spoiled = p.copy()
        spoiled[row] = 2
        with pytest.raises(
            rainproof.InputError,
            match=re.escape(f"1 value does not, the first is y_prob[{row}] = 2.0"),
        ):
            rainproof.Sample(y, spoiled)


def test_many_offenders_are_counted():
    p = np.full(200_000, 0.5)
    p[100_000:] = 7
    with pytest.raises(
        rainproof.InputError,
        match=re.escape("100,000 values do not, the first is y_prob[100000] = 7.0"),
    ):
        rainproof.Sample(np.zeros(200_000), p)


@for_each("dtype", ["i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8", "f4", "f8"])
def test_a_label_of_two_is_refused_in_every_type(dtype):
    with pytest.raises(rainproof.InputError, match="y_true must be 0 or 1"):
        rainproof.Sample(np.array([0, 1, 2], dtype), [0.1, 0.2, 0.3])


@for_each("value", [INF, -INF, NAN, 1e-310, 1 + 2**-52, 1 - 2**-53, -1.0, 1e300])
@for_each("dtype", ["f4", "f8"])
def test_a_float_label_must_be_zero_or_one_to_the_last_bit(value, dtype):
    with np.errstate(over="ignore"):
        label = np.array([0, 1, value], dtype)
    if label[2] in (0, 1):  # rounded to it by float32
        rainproof.Sample(label, [0.1, 0.2, 0.3])
    else:
        with pytest.raises(rainproof.InputError, match="y_true must be 0 or 1"):
            rainproof.Sample(label, [0.1, 0.2, 0.3])


@for_each("value", [NAN, -NAN, INF, -INF, 1 + 2**-52, -5e-324, -1.0])
def test_predictions_are_checked_to_the_last_bit(value):
    with pytest.raises(rainproof.InputError, match="y_prob must"):
        rainproof.Sample([0, 1], [0.5, value])


def test_a_sample_comes_alone():
    sample = rainproof.Sample([0, 1], [0.2, 0.8])
    for extra in ({"y_prob": [0.2, 0.8]}, {"sample_weight": [1, 1]}, {"pos_label": 1}):
        with pytest.raises(
            rainproof.InputError, match="a Sample holds predictions, weights and labels already"
        ):
            rainproof.soft_binned_cdl(sample, **extra)


@for_each("m", [0, 1, 3, 2**21, -4, 2.0, True, "8", None])
def test_a_grid_is_a_power_of_two(m):
    message = f"grid must be a power of two from 2 to 1,048,576; it is {m!r}"
    with pytest.raises(rainproof.InputError, match=re.escape(message)):
        rainproof.Accumulator(m)
    with pytest.raises(rainproof.InputError, match=re.escape(message)):
        rainproof.Sample([0], [0.5]).compress(m)


def test_rows_that_changed_while_they_were_read():
    """The kernel saw a bad row that is no longer there: nothing is wrong with what is."""
    from rainproof.core.validation import as_columns

    assert (
        str(as_columns([0, 1], [0.2, 0.7], None).explain())
        == "the rows changed while they were read"
    )
    assert "changed" in str(as_columns([0, 1], [0.2, 0.7], [1, 1]).explain())


ABOVE = np.longdouble(1) + np.finfo(np.longdouble).eps
TINY = Fraction(1, 10**400)


@for_each(
    "p, message",
    [
        (
            [0.5, 1 + TINY],
            r"y_prob must lie in \[0, 1\]; 1 value does not, the first is y_prob\[1\] = 1\.0000000000000002",
        ),
        (
            [-TINY, 0.5],
            r"y_prob must lie in \[0, 1\]; 1 value does not, the first is y_prob\[0\] = -5e-324",
        ),
        (
            np.array([0.5, ABOVE]),
            r"y_prob must lie in \[0, 1\]; 1 value does not, the first is y_prob\[1\] = 1\.0000",
        ),
    ],
)
def test_what_a_double_would_round_into_the_range_is_refused(p, message):
    with pytest.raises(rainproof.InputError, match=message):
        rainproof.Sample([0, 1], p)


def test_what_a_double_rounds_to_the_ends_from_inside_is_taken():
    sample = rainproof.Sample([0, 1], [TINY, 1 - TINY])
    assert sample.y_prob.tolist() == [0.0, 1.0]


def test_series_in_another_order_are_refused():
    import pandas as pd

    y, p = (
        pd.Series([0, 1, 1], index=["a", "b", "c"]),
        pd.Series([0.2, 0.7, 0.9], index=["c", "b", "a"]),
    )
    with pytest.raises(
        rainproof.InputError,
        match="y_true and y_prob have the same index in another order: align them first",
    ):
        rainproof.Sample(y, p)
    with pytest.raises(
        rainproof.InputError, match="y_true and sample_weight have the same index in another order"
    ):
        rainproof.Sample(y, p[::-1], sample_weight=p)
    assert rainproof.Sample(y, p.reindex(y.index)).n == 3
    # the default index: paired by place, as arrays are
    assert rainproof.Sample(y, p.reset_index(drop=True)).n == 3
    assert rainproof.Sample(y, pd.Series([0.2, 0.7, 0.9], index=[2, 5, 7]).to_numpy()).n == 3
    with pytest.raises(
        rainproof.InputError,
        match=r"y_true and y_prob have different indexes: .* y_prob.to_numpy\(\)",
    ):
        rainproof.Sample(y, pd.Series([0.2, 0.7, 0.9], index=["a", 1, None]))


@for_each("late, hint", [(2, ""), (np.nan, ""), (0.5, "; if these are shares .*"), (-np.inf, "")])
def test_a_hint_is_of_all_rows_not_of_the_first(late, hint):
    y = np.arange(200_000) % 2.0
    y[-1] = late
    with pytest.raises(
        rainproof.InputError, match=rf"1 value does not, .* y_true\[199999\] = {late}(\.0)?{hint}$"
    ):
        rainproof.Sample(y, np.full(200_000, 0.5))


def test_three_labels_are_not_taken_for_two():
    y = np.repeat([0, 1, 2], 150_000)
    with pytest.raises(rainproof.InputError, match=r"y_true\[300000\] = 2$"):
        rainproof.Sample(y, np.full(450_000, 0.5))
    with pytest.raises(rainproof.InputError, match=r"y_true\[0\] = 2$"):
        rainproof.Sample(y[::-1], np.full(450_000, 0.5))
    with pytest.raises(rainproof.InputError, match=r"the labels are 1 and 2: .*pass pos_label=2$"):
        rainproof.Sample(y[200_000:], np.full(250_000, 0.5))


def test_the_way_out_is_said_without_a_command_line():
    """A program with options of its own can name them instead of what to do in Python."""
    with pytest.raises(
        rainproof.InputError, match=r"if 2 is the event, pass pos_label=2$"
    ) as caught:
        rainproof.Sample([1, 2, 2], [0.1, 0.2, 0.3])
    found = caught.value
    assert (found.option, found.remedy) == (("pos_label", "2"), "pass pos_label=2")
    assert str(found) == f"{found.problem}{found.hint}{found.remedy}"
    assert found.place == ("y_true", 1, "")
    with pytest.raises(rainproof.InputError, match=r"in percent, divide by 100$") as caught:
        rainproof.Sample([0, 1], [50, 20])
    assert caught.value.option == ("percent", "")
    with pytest.raises(rainproof.InputError, match="NaN") as caught:
        rainproof.Sample([0, 1], [NAN, 0.5])
    assert caught.value.missing
    recounted = caught.value.revised(count=7)
    assert str(recounted) == "y_prob must not contain NaN; 7 values do, the first is y_prob[0]"
    assert (recounted.place, recounted.missing) == (("y_prob", 0, ""), True)


@for_each(
    "labels, message",
    [
        (
            ["yes", "no", "yes"],
            r"y_true must hold 'Yes' and one other label \('yes'\); 1 value does not, the first is y_true\[1\] = 'no'; "
            "'Yes' never occurs$",
        ),
        (["yes ", "yes "], "^y_true must hold 'Yes', which never occurs; every label is 'yes '$"),
        (["Yes", "yes", "no"], r"\[2\] = 'no'$"),
    ],
)
def test_a_label_of_the_event_that_never_occurs(labels, message):
    with pytest.raises(rainproof.InputError, match=message):
        rainproof.Sample(labels, np.full(len(labels), 0.5), pos_label="Yes")


def test_a_sample_of_one_label_need_not_have_the_event():
    assert rainproof.Sample(["no", "no"], [0.5, 0.6], pos_label="yes").event_rate == 0
    assert rainproof.Sample([2, 2], [0.5, 0.6], pos_label=3).event_rate == 0


@for_each(
    "columns", [{"groups": [[1], [2, 3]]}, {"by": [[1], [2, 3]]}, {"by": {"a": [[1], [2, 3]]}}]
)
def test_ragged_groups_and_segments(columns):
    with pytest.raises(
        rainproof.InputError, match=r"must be readable as an array: .*inhomogeneous"
    ):
        rainproof.Sample([0, 1], [0.2, 0.7], **columns)


def test_a_frame_is_no_forecast():
    frame = pd.DataFrame({"old": [0.2, 0.7, 0.1], "new": [0.1, 0.9, 0.2]})
    hint = r"must sum to 1 in each row .*; several forecasts of one event go into a mapping of names to columns$"
    for function in (rainproof.Sample, rainproof.assess_many):
        with pytest.raises(rainproof.InputError, match=hint):
            function([0, 1, 0], frame)


def test_a_table_of_one_column_is_a_column():
    """As scikit-learn takes them: ``frame[["p"]]`` is often meant."""
    rng = np.random.default_rng(0)
    p, y, weight, group = (
        rng.random(400),
        rng.integers(0, 2, 400),
        rng.integers(1, 4, 400),
        np.arange(400) // 2,
    )

    def table(column):
        return np.asarray(column)[:, None]

    expected = rainproof.Sample(y, p, sample_weight=weight, groups=group, by=group % 3)
    found = rainproof.Sample(
        table(y),
        table(p),
        sample_weight=table(weight),
        groups=table(group),
        by=[[label] for label in group % 3],
    )
    assert found.event_rate == expected.event_rate
    assert rainproof.assess(found).to_dict() == rainproof.assess(expected).to_dict()
    r = rainproof.Recalibrator("logistic").fit(table(p), table(y))
    assert r.predict(table(p)).shape == (400,)
    policy = rainproof.RoundingPolicy(rainproof.DecisionTask.threshold(0.3), 8)
    assert (policy.decide(table(p), table(group)) == policy.decide(p, group)).all()
    assert (rainproof.Sample(table(y), {"a": table(p), "b": p})["a"].prob == p).all()


def test_costs_of_each_case_may_be_a_table_of_one_column():
    task = rainproof.DecisionTask.from_costs(
        false_positive=1, false_negative=np.array([[2.0], [3.0]])
    )
    assert task.best_response([0.3, 0.3]).tolist() == ["wait", "act"]
