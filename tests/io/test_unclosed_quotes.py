"""A quote that is never closed swallows rows: it is refused, with its line, wherever text files are
read.
"""

from __future__ import annotations

import gzip
import io
import random
import sys

import pytest
from helpers.cases import for_each

import rainproof
from rainproof.cli import main
from rainproof.io import text_files
from rainproof.io.unclosed_quotes import find_unclosed

HEAD = "p,y,note\n"


def table(rows=1000, **notes):
    """A table whose notes are 'ok', but for those that are given by the number of their row."""
    lines = (f"0.{i % 9 + 1},{i % 2},{notes.get(f'row{i}', 'ok')}\n" for i in range(rows))
    return HEAD + "".join(lines)


def refuse(source, line, name):
    with pytest.raises(rainproof.InputError) as caught:
        rainproof.scan(source)
    assert str(caught.value).startswith(f"line {line:,} of {name} has a quote that is not closed")


@for_each("block", [64, 1 << 20])
@for_each("name", ["q.csv", "q.csv.gz"])
def test_an_unclosed_quote_is_refused_with_its_line(tmp_path, monkeypatch, block, name):
    monkeypatch.setattr(text_files, "BLOCK_BYTES", block)
    path = tmp_path / name
    opener = gzip.open if name.endswith("gz") else open
    with opener(path, "wt") as file:
        file.write(table(row20='"5in'))
    refuse(path, 22, path)


@for_each(
    "notes, line",
    [
        # which would close the first, and be followed by text
        ({"row20": '"5in', "row700": '"6in'}, 22),
        ({"row20": '"5in', "row700": '"a note"'}, 22),
        ({"row5": '"a\nb"', "row20": '"5in', "row30": '"a note"'}, 23),
        ({"row999": '"5in'}, 1001),  # takes in nothing but the end of the last line
        # an odd quote inside of a value does not balance it
        ({"row4": 'a 3" pipe', "row20": '"5in'}, 22),
    ],
)
def test_every_unclosed_quote_is_found(tmp_path, notes, line):
    path = tmp_path / "q.csv"
    path.write_text(table(**notes))
    refuse(path, line, path)


def test_the_second_of_two_files_is_named(tmp_path):
    first, second = tmp_path / "a.csv", tmp_path / "b.csv"
    first.write_text(table())
    second.write_text(table(row20='"5in'))
    refuse([first, second], 22, second)


@for_each(
    "note",
    [
        '"several\nlines"',
        '"a ""word"" quoted"',
        '""',
        '""""',
        'a 3" pipe',
        '"5" x 3"',
        '"of\r\nWindows" ',
        '"a, b"',
    ],
)
@for_each("block", [64, 1 << 20])
def test_quotes_that_belong_are_read(tmp_path, monkeypatch, note, block):
    monkeypatch.setattr(text_files, "BLOCK_BYTES", block)
    path = tmp_path / "q.csv"
    path.write_text(table(100, row20=note, row99=note), newline="")
    assert rainproof.scan(path).n == 100


def test_empty_lines_and_a_byte_order_mark_are_no_quotes(tmp_path):
    path = tmp_path / "q.csv"
    path.write_bytes(b'\xef\xbb\xbf"p","y"\r\n"0.5","1"\r\n\r\n"0.2","0"\r\n\r\n')
    assert rainproof.scan(path).n == 2


@for_each("command", ["measure", "apply"])
def test_commands_refuse_it_from_standard_input_too(tmp_path, capsys, monkeypatch, command):
    text = io.TextIOWrapper(io.BytesIO(table(row20='"5in').encode()))
    monkeypatch.setattr(sys, "stdin", text)
    options = ["--outcome", "y"]
    if command == "apply":
        fitted = rainproof.Recalibrator("logistic", rng=0).fit(
            [0.1, 0.9, 0.4, 0.6] * 50, [0, 1, 1, 0] * 50
        )
        fitted.save(tmp_path / "map.json")
        options = ["--map", str(tmp_path / "map.json"), "-o", str(tmp_path / "out.csv")]
    assert main([command, "-", "--prob", "p", *options]) == 2
    assert "line 22 of standard input has a quote that is not closed" in capsys.readouterr().err
    assert not (tmp_path / "out.csv").exists()


def _followed(text, separator):
    """The place of the quote that is not closed, found one character after the other."""
    at_start, opened, at = True, None, 0
    while at < len(text):
        c = text[at]
        if opened is not None:
            if c == '"' and text[at + 1 : at + 2] == '"':
                at += 1
            elif c == '"':
                rest = text[at + 1 :].lstrip(" \t")
                if (
                    set("\r\n") & set(text[opened:at])
                    and rest
                    and rest[0] not in separator + "\r\n"
                ):
                    return opened
                opened = None
        elif c == '"' and at_start:
            opened = at
        at_start = c in separator + "\r\n"
        at += 1
    return opened


def test_quotes_are_followed_the_same_in_blocks_of_any_size():
    draw = random.Random(0)
    found = []
    for _ in range(4000):
        text = "".join(draw.choices('"",,\n\nab \r', k=draw.randint(1, 24)))
        size = draw.randint(1, 8)
        blocks = [text[at : at + size].encode() for at in range(0, len(text), size)]
        place = find_unclosed(blocks, ",")
        assert place == _followed(text, ","), (text, size)
        found.append(place)
    assert 0.1 < sum(place is None for place in found) / len(found) < 0.9
