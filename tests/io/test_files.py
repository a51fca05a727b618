"""A file gives the same sample as its rows in arrays, for every format, type and batch size."""

from __future__ import annotations

import datetime
import decimal
import sys

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from helpers.cases import for_each
from helpers.file_writing import write_csv, write_parquet
from helpers.samples import assert_same

import rainproof
from rainproof.io import arrow_files, text_files
from rainproof.io.scanning import scan

rng = np.random.default_rng(20260517)
N = 700
P = rng.random(N).round(6)
P[:3] = 0.0, 1.0, 0.5
Y = (rng.random(N) < P**1.5).astype(np.int64)
W = rng.random(N).round(4)
W[5] = 0.0


@pytest.fixture
def small_batches(monkeypatch):
    """About ten rows to a CSV batch, seven to a Parquet batch."""
    monkeypatch.setattr(text_files, "BLOCK_BYTES", 128)
    monkeypatch.setattr(arrow_files, "PARQUET_ROWS_PER_BATCH", 7)


@for_each("name", ["a.csv", "a.CSV", "a.csv.gz", "a.CSV.GZ", "a.tsv", "a.tsv.gz"])
def test_text_files_are_the_arrays(tmp_path, name):
    file = write_csv(
        tmp_path / name.lower(), sep="\t" if "tsv" in name else ",", day=range(N), p=P, y=Y, w=W
    )
    file = file.rename(tmp_path / name)
    assert_same(scan(file, prob="p", outcome="y"), rainproof.Sample(Y, P).compress())
    assert_same(
        scan(str(file), prob="p", outcome="y", weight="w"),
        rainproof.Sample(Y, P, sample_weight=W).compress(),
    )


@for_each("name", ["a.parquet", "a.pq", "A.PARQUET"])
def test_parquet_files_are_the_arrays(tmp_path, name):
    file = write_parquet(tmp_path / name, day=range(N), p=P, y=Y, w=W)
    assert_same(scan(file, prob="p", outcome="y"), rainproof.Sample(Y, P).compress())
    assert_same(
        scan(file, prob="p", outcome="y", weight="w"),
        rainproof.Sample(Y, P, sample_weight=W).compress(),
    )


def test_batches_do_not_show(tmp_path, small_batches):
    expected = rainproof.Sample(Y, P, sample_weight=W).compress(1024)
    for file in (
        write_csv(tmp_path / "a.csv", p=P, y=Y, w=W),
        write_parquet(tmp_path / "a.parquet", p=P, y=Y, w=W),
    ):
        calls = []
        sample = scan(
            file,
            prob="p",
            outcome="y",
            weight="w",
            grid=1024,
            progress=lambda *call: calls.append(call),  # noqa: B023
        )
        seen, totals = zip(*calls, strict=True)
        assert set(totals) == {N if file.suffix == ".parquet" else 0}
        assert rainproof.soft_binned_cdl(sample) == rainproof.soft_binned_cdl(expected)
        assert_same(sample, expected)
        assert len(seen) > 20
        assert list(seen) == sorted(seen)
        assert seen[-1] == N


@for_each(
    "spelling, pos_label",
    [
        (Y.astype(float), None),
        (Y == 1, None),
        (np.where(Y, "TRUE", "false"), None),
        (np.where(Y, " 1", "0.0 "), None),
        ([str(y) if row < N // 2 else f"{y}.00" for row, y in enumerate(Y)], None),
        (np.where(Y, "yes", "no"), "yes"),
        (np.where(Y, "yes", " no"), "yes"),
        (np.where(Y, "no", "yes"), "no"),
        (Y + 1, "2"),
        (Y + 1, 2),
        (Y + 1, 2.0),
        ([f"{y}.50" if row < N // 2 else f"{y}.5" for row, y in enumerate(Y)], 1.5),
        (np.where(Y, "01", "1"), "01"),
        (np.where(Y, "1", "01"), 1),
        (np.where(Y, "true", "False"), True),
        (['"quoted, yes"' if y else '"line\nbreak"' for y in Y], "quoted, yes"),
    ],
)
def test_outcomes_in_text_files_are_read_for_what_they_say(
    tmp_path, small_batches, spelling, pos_label
):
    file = write_csv(tmp_path / "a.csv", p=P, y=spelling)
    assert_same(
        scan(file, prob="p", outcome="y", pos_label=pos_label), rainproof.Sample(Y, P).compress()
    )


@for_each(
    "column, pos_label",
    [
        (Y == 1, None),
        (Y.astype(np.int8), None),
        (Y.astype(np.uint64), None),
        (Y.astype(np.float32), None),
        (Y.astype(np.float16), None),
        (pa.array([decimal.Decimal(int(y)) for y in Y]), None),
        (pa.array(Y).dictionary_encode(), None),
        (Y == 1, "true"),
        (Y == 0, False),
        (Y + 1, "2"),
        (Y + 1, 2),
        ((Y + 1).astype(np.float32), "2"),
        (pa.array([decimal.Decimal(int(y) + 1) for y in Y]), "2"),
        (pa.array(np.where(Y, "yes", "no")), "yes"),
        (pa.array(np.where(Y, "yes", "no").tolist(), pa.large_string()), "yes"),
        (pa.array(np.where(Y, b"yes", b"no"), pa.binary()), "yes"),
        (pa.DictionaryArray.from_arrays(Y.astype(np.int8), ["no", "yes", "never used"]), "yes"),
        (pa.array([datetime.date(2026, 5, 17 + y) for y in Y]), "2026-05-18"),
    ],
)
def test_outcomes_of_every_type(tmp_path, small_batches, column, pos_label):
    file = write_parquet(tmp_path / "a.parquet", p=P, y=column)
    assert_same(
        scan(file, prob="p", outcome="y", pos_label=pos_label), rainproof.Sample(Y, P).compress()
    )


@for_each(
    "column, values",
    [
        (P.astype(np.float32), P.astype(np.float32)),
        (P.astype(np.float16), P.astype(np.float16)),
        (P > 0.5, P > 0.5),
        (np.round(P).astype(np.int16), np.round(P)),
        (pa.array([decimal.Decimal(str(p)) for p in P]), P),
        (pa.array(P).dictionary_encode(), P),
    ],
)
def test_predictions_of_every_type(tmp_path, column, values):
    file = write_parquet(tmp_path / "a.parquet", p=column, y=Y)
    assert_same(scan(file, prob="p", outcome="y"), rainproof.Sample(Y, values).compress())


def test_predictions_in_text_that_change_their_spelling(tmp_path, small_batches):
    """Integers first, then decimals, then spaces and exponents: types are not guessed from the
    first rows.
    """
    p = [
        *(["0", "1"] * 30),
        *(["0.5", ".25"] * 30),
        *([" 0.125", "5e-1 "] * 30),
        *(["+1.", "1E-3"] * 30),
    ]
    y = [0, 1, 1] * 80
    sample = scan(write_csv(tmp_path / "a.csv", p=p, y=y), prob="p", outcome="y")
    assert_same(sample, rainproof.Sample(y, [float(text) for text in p]).compress())


def test_names_and_text_around_the_columns_do_not_disturb(tmp_path, small_batches):
    """A byte order mark, quoted line breaks, awkward names, columns that are no UTF-8 and not
    needed.
    """
    rows = b"".join(b'"a\nb",%a,%d,\xe9\n' % (float(p), y) for p, y in zip(P, Y, strict=True))
    (tmp_path / "a.csv").write_bytes(b'\xef\xbb\xbftext,"p, of y",y[0],latin\n' + rows)
    sample = scan(tmp_path / "a.csv", prob="p, of y", outcome="y[0]")
    assert_same(sample, rainproof.Sample(Y, P).compress())
    dots = write_parquet(
        tmp_path / "a.parquet", **{"a.p": P, "a": [{"p": 2, "y": 2}] * N, "a.y": Y}
    )
    assert_same(scan(dots, prob="a.p", outcome="a.y"), rainproof.Sample(Y, P).compress())


def test_memory_follows_the_batch_and_not_the_file(tmp_path):
    """One row group of 4 million rows: 36 MB of columns, never held at once."""
    n = 4_000_000
    p = np.random.default_rng(0).random(n)
    file = tmp_path / "a.parquet"
    pq.write_table(pa.table({"p": p, "y": (p > 0.4).astype(np.int8)}), file, row_group_size=n)
    before, most = pa.total_allocated_bytes(), 0

    def watch(rows, total):
        nonlocal most
        most = max(most, pa.total_allocated_bytes() - before)

    assert scan(file, prob="p", outcome="y", progress=watch).n == n
    assert 0 < most < 24e6  # the batches read ahead depend on how busy the machine is


def test_without_pyarrow_the_error_says_what_to_install(monkeypatch, tmp_path):
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    message = r"^reading data frames and files needs PyArrow: pip install pyarrow$"
    with pytest.raises(rainproof.MissingExtraError, match=message):
        scan(tmp_path / "a.csv", prob="p", outcome="y")
