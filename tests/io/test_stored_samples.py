"""A stored sample comes back to the last bit, and a damaged one is refused."""

from __future__ import annotations

import json
from contextlib import suppress

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from helpers.cases import for_each

import rainproof

rng = np.random.default_rng(7)
P = np.r_[0.0, 1.0, 0.5, 1e-12, rng.random(500)]
Y = rng.random(504) < P**1.5
W = np.r_[1e-9, 1e6, rng.random(502)]


def same(a, b):
    for name in ("slot", "count", "weight", "rise", "squares"):
        np.testing.assert_array_equal(getattr(a.cells, name), getattr(b.cells, name), strict=True)
    assert repr(a) == repr(b)


@for_each("weight", [None, W])
@for_each("m", [2, 64, 2**16, 2**20])
def test_a_sample_comes_back_to_the_last_bit(tmp_path, weight, m):
    sample = rainproof.Sample(Y, P, sample_weight=weight).compress(m)
    sample.save(tmp_path / "day.parquet")
    same(rainproof.load(tmp_path / "day.parquet"), sample)


def test_rows_are_compressed_on_the_way(tmp_path):
    sample = rainproof.Sample(Y, P)
    sample.save(str(tmp_path / "day.parquet"), grid=128)
    same(rainproof.load(str(tmp_path / "day.parquet")), sample.compress(128))
    # compressed already: stays as it is
    sample.compress(64).save(tmp_path / "day.parquet", grid=128)
    assert rainproof.load(tmp_path / "day.parquet").grid == 64


def test_days_add_up_to_the_whole(tmp_path):
    for day, rows in enumerate(np.array_split(np.arange(504), 5)):
        rainproof.Sample(Y[rows], P[rows], sample_weight=W[rows]).save(tmp_path / f"{day}.parquet")
    (tmp_path / "notes.txt").write_text("not a sample")
    (tmp_path / ".hidden.parquet").write_text("nor this")
    days = rainproof.load(tmp_path)
    assert list(days) == ["0", "1", "2", "3", "4"]
    first, *others = days.values()
    for other in others:
        first = first + other
    same(first, rainproof.Sample(Y, P, sample_weight=W).compress())


def test_the_file_is_small(tmp_path):
    n = 200_000
    p = np.random.default_rng(0).random(n)
    rainproof.Sample(p > 0.5, p).save(tmp_path / "day.parquet", grid=4096)
    assert (tmp_path / "day.parquet").stat().st_size < 100_000


def stored(tmp_path, **changes):
    """A file with some columns changed, or left out where the change is None."""
    path = tmp_path / "day.parquet"
    rainproof.Sample([0, 1, 1], [0.25, 0.75, 1.0]).save(path, grid=8)
    table = pq.read_table(path)
    about = json.loads(table.schema.metadata[b"rainproof"]) | changes.pop("about", {})
    columns = {name: changes.get(name, table[name]) for name in table.column_names}
    table = pa.table({name: column for name, column in columns.items() if column is not None})
    pq.write_table(table.replace_schema_metadata({b"rainproof": json.dumps(about)}), path)
    return path


@for_each(
    "changes, fault",
    [
        ({"count": None}, "its column 'count' is missing or has nulls"),
        ({"rise": pa.array([0.0, None, 0.0])}, "its column 'rise' is missing or has nulls"),
        ({"count": pa.array(["1", "1", "1"])}, "its column 'count' has the type string"),
        ({"cell": pa.array([2, 6, 9])}, "a cell lies outside 0 to 8"),
        ({"cell": pa.array([-2, 6, 8])}, "a cell lies outside 0 to 8"),
        ({"cell": pa.array([6, 2, 8])}, "its cells are not in increasing order"),
        ({"outcome": pa.array([0, 1, 2])}, "a cell lies outside 0 to 8"),
        ({"outcome": pa.array([2, 1, 1])}, "an outcome is neither 0 nor 1"),
        ({"count": pa.array([1, 0, 1])}, "a count is not positive"),
        ({"weight": pa.array([1.0, np.inf, 1.0])}, "a sum is not finite"),
        ({"weight": pa.array([1.0, -1.0, 1.0])}, "a weight is not positive"),
        ({"squares": pa.array([1.0, 0.0, 1.0])}, "a weight is not positive"),
        ({"squares": pa.array([1.0, 2.0, 1.0])}, "squares do not fit weight and count"),
        (
            {"count": pa.array([1, 1, 3]), "weight": pa.array([1.0, 1.0, 3.0])},
            "squares do not fit weight and count",
        ),
        ({"rise": pa.array([0.0, 0.25, 0.0])}, "its content does not match its checksum"),
        ({"about": {"grid": 16}}, "its content does not match its checksum"),
        ({"about": {"digest": None}}, "its content does not match its checksum"),
        ({"rise": pa.array([0.0, 1.5, 0.0])}, "a rise lies outside its cell"),
        ({"rise": pa.array([0.0, 0.0, 0.5])}, "a rise lies outside its cell"),
    ],
)
def test_a_damaged_file_is_refused(tmp_path, changes, fault):
    path = stored(tmp_path, **changes)
    with pytest.raises(rainproof.InputError, match=f"day.parquet is a damaged sample: {fault}"):
        rainproof.load(path)


def test_a_file_without_rows_is_refused(tmp_path):
    path = stored(tmp_path)
    pq.write_table(pq.read_table(path)[:0], path)
    with pytest.raises(rainproof.InputError, match="is a damaged sample: it has no rows"):
        rainproof.load(path)


def test_other_formats_and_grids_are_refused(tmp_path):
    with pytest.raises(
        rainproof.InputError, match="was stored in format 9; this rainproof reads format 1"
    ):
        rainproof.load(stored(tmp_path, about={"format": 9}))
    with pytest.raises(
        rainproof.InputError,
        match=r"^the grid of .*day\.parquet must be a power of two from 2 to 1,048,576; it is 12$",
    ):
        rainproof.load(stored(tmp_path, about={"grid": 12}))


@for_each("about", ["", "[", "3", "[1]", "null", '{"format": 1}', "[" * 100_000])
def test_damaged_metadata_is_an_input_error(tmp_path, about):
    path = stored(tmp_path)
    pq.write_table(pq.read_table(path).replace_schema_metadata({b"rainproof": about}), path)
    with pytest.raises(
        rainproof.InputError, match="is a damaged sample: its metadata cannot be read"
    ):
        rainproof.load(path)


def test_no_flipped_bit_changes_a_number(tmp_path):
    """A bit of every eleventh byte of a file in turn is flipped: refused, or the same sample."""
    path = tmp_path / "day.parquet"
    rainproof.Sample(Y, P, sample_weight=W).save(path, grid=8)
    whole, sample = path.read_bytes(), rainproof.load(path)
    refused = 0
    for place in range(0, len(whole), 11):
        flipped = bytearray(whole)
        flipped[place] ^= 1 << place % 8
        path.write_bytes(flipped)
        try:
            same(rainproof.load(path), sample)
        except rainproof.InputError:
            refused += 1
    assert refused > len(whole) / 33


def test_other_files_are_refused(tmp_path):
    pq.write_table(pa.table({"p": [0.5]}), tmp_path / "rows.parquet")
    with pytest.raises(
        rainproof.InputError,
        match=r"rows.parquet is not a stored sample: it is a Parquet file of other columns",
    ):
        rainproof.load(tmp_path / "rows.parquet")
    (tmp_path / "text.parquet").write_text("p,y\n0.5,1\n")
    with pytest.raises(
        rainproof.InputError,
        match=r"text.parquet holds nothing that rainproof.load reads: it is text",
    ):
        rainproof.load(tmp_path / "text.parquet")
    with pytest.raises(
        rainproof.InputError, match=r"cannot read .*gone.parquet: No such file or directory"
    ):
        rainproof.load(tmp_path / "gone.parquet")


def test_folders_without_samples_are_refused(tmp_path):
    with pytest.raises(
        rainproof.InputError, match=r"holds no .parquet files: write some with 'rainproof store'"
    ):
        rainproof.load(tmp_path)
    with pytest.raises(
        rainproof.InputError, match=r"cannot read .*gone: No such file or directory"
    ):
        rainproof.load(tmp_path / "gone")


def test_a_place_that_cannot_be_written_to_is_said(tmp_path):
    with pytest.raises(rainproof.InputError, match=r"cannot write .*no-folder"):
        rainproof.Sample([0, 1], [0.1, 0.9]).save(tmp_path / "no-folder" / "day.parquet")


def test_segments_come_back_to_the_last_bit(tmp_path):
    label = np.array(["n\u00f6rd", None, 3, 2.5, True, "3x"], object)[np.arange(504) % 6]
    rows = {"p": P, "y": Y, "w": W, "a": np.arange(504) % 2, "b": np.repeat(["x", "y"], 252)}
    for segments in (
        rainproof.io.Segments.from_samples(
            {k: rainproof.Sample(Y[label == k], P[label == k]) for k in set(label)}, "s"
        ),
        rainproof.scan(rows, weight="w", by=["a", "b"], grid=64),
    ):
        path = tmp_path / "segments.parquet"
        segments.save(path)
        segments.save(path, grid=64)
        again = rainproof.load(path)
        assert again.by == segments.by
        assert again.counts == segments.counts
        assert list(again) == list(segments)
        for key, sample in segments.items():
            same(again[key], sample.compress(64))
        assert again.pooled.n == segments.pooled.n


def test_segments_that_cannot_be_stored(tmp_path):
    sample = rainproof.Sample(Y, P)
    dates = rainproof.io.Segments.from_samples({np.datetime64("2026-01-01"): sample}, "day")
    with pytest.raises(
        rainproof.InputError, match="text, finite numbers, bools or None to be stored; one is"
    ):
        dates.save(tmp_path / "a.parquet")
    grids = rainproof.io.Segments.from_samples({1: sample.compress(8), 2: sample.compress(16)}, "s")
    with pytest.raises(rainproof.InputError, match="segments must be on one grid to be saved"):
        grids.save(tmp_path / "a.parquet")
    assert list(tmp_path.iterdir()) == []
    rainproof.io.Segments.from_samples({1: sample}, "s").save(tmp_path / "a.parquet")
    with pytest.raises(
        rainproof.InputError, match=r"a\.parquet holds segments, not a sample: load it by itself"
    ):
        rainproof.load(tmp_path)


def test_no_flipped_bit_changes_a_segment(tmp_path):
    path = tmp_path / "segments.parquet"
    rainproof.scan(
        {"p": P, "y": Y, "s": np.where(np.arange(504) % 2, "n", "s")}, by="s", grid=4
    ).save(path)
    whole, segments = path.read_bytes(), rainproof.load(path)
    for place in range(0, len(whole), 11):
        flipped = bytearray(whole)
        flipped[place] ^= 1 << place % 8
        path.write_bytes(flipped)
        with suppress(rainproof.InputError):
            again = rainproof.load(path)
            assert dict(again.counts) == dict(segments.counts)
            assert again.by == segments.by
            for key, sample in segments.items():
                same(again[key], sample)


def test_two_forecasts_are_not_one_sample(tmp_path):
    sample = rainproof.Sample(Y, {"a": P, "b": P**2})
    with pytest.raises(rainproof.InputError, match="forecasts"):
        sample.save(tmp_path / "a.parquet")
