"""Colours, on terminals alone and for those who want them."""

import io
import os
import re
import sys

import pytest
from helpers.cases import for_each

from rainproof.cli import main
from rainproof.cli.help_layout import HEADINGS, MOST_USED
from rainproof.cli.output import coloured, coloured_help, has_colours


class Terminal(io.StringIO):
    encoding = "utf-8"

    def isatty(self):
        return True


@pytest.fixture(autouse=True)
def plain_environment(monkeypatch):
    for name in ("NO_COLOR", "TERM"):
        monkeypatch.delenv(name, raising=False)


def test_a_terminal_has_colours_and_a_file_has_none():
    assert has_colours(Terminal())
    assert not has_colours(io.StringIO())
    assert not has_colours(None)
    assert coloured("no", "red", Terminal()) == "\x1b[1;31mno\x1b[0m"
    assert coloured("no", "red", io.StringIO()) == "no"


@for_each("name, value", [("NO_COLOR", "1"), ("TERM", "dumb")])
def test_whoever_wants_none_gets_none(monkeypatch, name, value):
    monkeypatch.setenv(name, value)
    assert not has_colours(Terminal())
    assert coloured_help("usage: rainproof --help", Terminal()) == "usage: rainproof --help"


def test_no_color_must_say_something(monkeypatch):
    """As no-color.org has it: when present and not an empty string."""
    monkeypatch.setenv("NO_COLOR", "")
    assert has_colours(Terminal())


def test_old_windows_consoles_show_codes_instead_of_colours(monkeypatch):
    monkeypatch.setattr(os, "name", "nt")
    monkeypatch.delenv("WT_SESSION", raising=False)
    assert not has_colours(Terminal())
    monkeypatch.setenv("WT_SESSION", "1")
    assert has_colours(Terminal())


@for_each(
    "arguments",
    [["--help"], *([name, "--help"] for name in ("assess", "measure", "report", "demo"))],
)
def test_help_in_colour_is_the_same_text(monkeypatch, capsys, arguments):
    assert main(arguments) == 0
    plain = capsys.readouterr().out
    terminal = Terminal()
    monkeypatch.setattr(sys, "stdout", terminal)
    assert main(arguments) == 0
    shown = terminal.getvalue()
    assert "\x1b[1musage:\x1b[0m" in shown
    assert "\x1b[36m--help\x1b[0m" in shown
    assert re.sub(r"\x1b\[[\d;]*m", "", shown) == plain
    assert "\x1b" not in plain


def test_every_heading_of_help_is_bold():
    text = "".join(f"{heading}:\n  --help\n" for heading in (MOST_USED, *HEADINGS))
    shown = coloured_help(text, Terminal())
    for heading in (MOST_USED, *HEADINGS):
        assert f"\x1b[1m{heading}:\x1b[0m\n" in shown


def test_without_a_command_help_goes_to_stderr_in_its_colours(monkeypatch, capsys):
    terminal = Terminal()
    monkeypatch.setattr(sys, "stderr", terminal)
    assert main([]) == 2
    assert terminal.getvalue().startswith("\x1b[1musage:\x1b[0m rainproof")
    assert capsys.readouterr().out == ""
