"""Periods that are sorted as text must be in order of time: others are refused, with what to write
instead.
"""

from __future__ import annotations

import pytest
from helpers.cases import for_each

import rainproof
from rainproof.cli import main

ROWS = 40


def by_period(*labels):
    table = {"p": [0.2, 0.7] * ROWS, "y": [0, 1] * ROWS}
    periods = [labels[row * len(labels) // (2 * ROWS)] for row in range(2 * ROWS)]
    return rainproof.scan({**table, "day": periods}, by="day")


AS_TEXT = "day must be in order as text, such as "


@for_each(
    "labels, message",
    [
        (("Mar 2026", "Apr 2026"), f"{AS_TEXT}2026-03; it has 'Apr 2026' before 'Mar 2026'"),
        (("March", "April"), f"{AS_TEXT}2026-03; it has 'April' before 'March'"),
        (("2026-Mar", "2026-Apr"), f"{AS_TEXT}2026-03; it has '2026-Apr' before '2026-Mar'"),
        (
            ("1 Mar 2026", "2 Feb 2026"),
            f"{AS_TEXT}2026-03-02; it has '1 Mar 2026' before '2 Feb 2026'",
        ),
        (("März 2026", "April 2026"), f"{AS_TEXT}2026-03; it has 'April 2026' before 'März 2026'"),
        (("Mon", "Tue", "Fri"), f"{AS_TEXT}2026-03-02; it has 'Fri' before 'Mon'"),
        (("day 9", "day 10"), f"{AS_TEXT}'day 09'; it has 'day 10' before 'day 9'"),
        (("2026-W9", "2026-W10"), f"{AS_TEXT}'2026-W09'; it has '2026-W10' before '2026-W9'"),
        (("2026-3-2", "2026-10-1"), f"{AS_TEXT}'2026-03-02'; it has '2026-10-1' before '2026-3-2'"),
        (("2026.9", "2026.10"), f"{AS_TEXT}'2026.09'; it has '2026.10' before '2026.9'"),
        (("Q4 2025", "Q1 2026"), f"{AS_TEXT}'2025 Q4'; it has 'Q1 2026' before 'Q4 2025'"),
        (("4Q25", "1Q26"), f"{AS_TEXT}'2025 4Q'; it has '1Q26' before '4Q25'"),
        (("H2 25", "H1 26"), f"{AS_TEXT}'2025 H2'; it has 'H1 26' before 'H2 25'"),
        (("9th", "10th"), f"{AS_TEXT}'09th'; it has '10th' before '9th'"),
        (("1st", "2nd", "10th"), f"{AS_TEXT}'01st'; it has '10th' before '1st'"),
        (("2026-03-02 1:05 pm",), f"{AS_TEXT}2026-03-02 14:05; it has '2026-03-02 1:05 pm'"),
        (
            ("2026-03-02 01:00+09:00", "2026-03-02 02:00+00:00"),
            "day must be in one time zone, such as 2026-03-02 14:05+00:00; "
            "it has '2026-03-02 01:00+09:00' and '2026-03-02 02:00+00:00'",
        ),
        (
            ("2026-03-02T01:00Z", "2026-03-02T02:00"),
            "day must be in one time zone, such as 2026-03-02 14:05+00:00; "
            "it has '2026-03-02T01:00Z' and '2026-03-02T02:00'",
        ),
    ],
)
def test_periods_in_another_order_as_text_are_refused(labels, message):
    with pytest.raises(rainproof.InputError) as caught:
        rainproof.monitor(by_period(*labels))
    assert str(caught.value) == message


@for_each(
    "labels",
    [
        ("2025-12-31", "2026-01-01"),
        ("2026-03-02 01:00Z", "2026-03-02 02:00+00:00"),
        ("2026-03-29 01:00+01:00", "2026-03-29 02:00+01:00"),
        ("2025-Q4", "2026-Q1"),
        ("2026-W09", "2026-W10"),
        ("day 09", "day 10"),
        ("9", "10"),
        ("0.25", "0.5"),
        ("Jan 2026", "Mar 2026"),
        ("a-1", "a1", "a~"),
        ("after", "before"),
        ("week 09", "week 10"),
        ("FY2025", "FY2026"),
        ("1Q25", "2Q25"),
        ("25Q4", "26Q1"),
        ("1st half", "2nd half"),
    ],
)
def test_periods_in_the_order_of_their_text_are_read(labels):
    found = [window.label for window in rainproof.monitor(by_period(*labels)).windows]
    assert found == list(labels)


def test_periods_of_a_mapping_keep_their_order_unless_it_is_that_of_their_text():
    sample = by_period("2026")["2026"]
    named = {"Mar 2026": sample, "Apr 2026": sample}
    assert [window.label for window in rainproof.monitor(named).windows] == ["Mar 2026", "Apr 2026"]
    message = (
        r"samples must be in order as text, such as 2026-03; it has 'Apr 2026' before 'Mar 2026'"
    )
    with pytest.raises(rainproof.InputError, match=message):
        rainproof.monitor(dict(sorted(named.items())))


def test_a_folder_of_stored_samples_is_in_the_order_of_its_names(tmp_path, capsys):
    sample = by_period("2026")["2026"]
    for name in ("day 9", "day 10"):
        sample.save(tmp_path / f"{name}.parquet")
    assert main(["monitor", str(tmp_path)]) == 2
    assert "such as 'day 09'; it has 'day 10' before 'day 9'" in capsys.readouterr().err
