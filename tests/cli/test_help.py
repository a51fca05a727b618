"""The help texts: what comes first, how long they are, and that their examples run."""

from __future__ import annotations

import re
import shlex

import pytest

from rainproof.cli import app, main
from rainproof.cli.help_layout import COMMAND_GROUPS, HEADINGS, MOST_USED

SCREEN_LINES = 24
SCREEN_WIDTH = 80  # characters
ASSESS_WORDS = 560


@pytest.fixture(autouse=True)
def _screen(monkeypatch):
    monkeypatch.setenv("COLUMNS", str(SCREEN_WIDTH))


@pytest.fixture
def help_of(capsys):
    """What --help prints, of the tool or of a command."""

    def printed(*command):
        assert main([*command, "--help"]) == 0
        out, err = capsys.readouterr()
        assert err == ""
        return out

    return printed


def options_under(heading, text):
    """The options that stand under a heading, in their order."""
    _, _, rest = text.partition(f"\n{heading}:\n")
    section = rest.partition("\n\n")[0]
    return re.findall(r"^  (?:-\w [A-Z]+, |-\w, )?(--[a-z-]+)", section, re.MULTILINE)


def option_names(parser):
    """The long names of the options of a command."""
    return {action.option_strings[-1] for action in parser.actions() if action.option_strings}


def test_the_tool_groups_its_commands_on_one_screen(help_of):
    text = help_of()
    lines = text.splitlines()
    assert len(lines) <= SCREEN_LINES
    assert max(map(len, lines)) <= SCREEN_WIDTH
    group = ""
    listed = []
    for line in lines:
        entry = re.match(r"(?:(\w+): +| {10})([a-z-]+)  +\w", line)
        if entry:
            group = entry[1] or group
            listed.append((group, entry[2]))
    expected = [(name, command) for name, names in COMMAND_GROUPS.items() for command in names]
    assert listed == expected
    assert [command for _, command in expected] == list(app.COMMANDS)


@pytest.mark.parametrize("command", app.COMMANDS)
def test_a_command_begins_with_the_options_that_most_people_use(help_of, command):
    text = help_of(command)
    parser = app.make_parsers(command)[1][command]
    options = option_names(parser) - {"--help"}
    most_used = options_under(MOST_USED, text)
    assert most_used == list(parser.most_used)
    assert len(most_used) == min(5, len(options))
    headings = [heading for heading in HEADINGS if f"\n{heading}:\n" in text]
    if most_used:
        assert text.index(f"\n{MOST_USED}:\n") < min(
            text.index(f"\n{name}:\n") for name in headings
        )
    others = [name for heading in headings for name in options_under(heading, text)]
    assert sorted([*most_used, *others]) == sorted(option_names(parser)), "each is listed once"


def test_the_help_of_assess_is_short(help_of):
    assert len(help_of("assess").split()) <= ASSESS_WORDS


@pytest.mark.parametrize("command", app.COMMANDS)
def test_help_fits_the_width_of_a_screen_and_names_its_reference(help_of, command):
    text = help_of(command)
    assert max(map(len, text.splitlines())) <= SCREEN_WIDTH
    assert text.endswith("\nMore: docs/reference/command-line.md\n")


@pytest.mark.parametrize("command", ["", *app.COMMANDS])
def test_the_command_takes_its_examples_as_printed(help_of, command):
    text = help_of(command) if command else help_of()
    parser, _ = app.make_parsers("")
    printed = text.partition("\nexamples:")[2].partition("\n\n")[0].replace("\\\n", "")
    examples = printed.strip().splitlines()
    assert examples
    for example in examples:
        line = re.search(r"\brainproof [^|<>)]*", example)[0]
        words = shlex.split(line)[1:]
        if words[0] not in app.COMMANDS:
            words = ["assess", *words]  # a file alone is assessed
        assert parser.parse_args(words).command == words[0], example


@pytest.mark.parametrize("command", ["policy", "monitor"])
def test_columns_of_costs_are_offered_only_where_they_are_taken(help_of, command):
    columns = "(false alarm): number or column"
    assert columns in " ".join(help_of("assess").split())
    assert columns not in " ".join(help_of(command).split())
