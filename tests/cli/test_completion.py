"""Completion after Tab, made from the parser itself."""

import subprocess
import sys

import pytest
from helpers.cases import for_each

from rainproof.cli import main


def completions(script, *words):
    """What bash offers for the last of these words."""
    line = " ".join(f"'{word}'" for word in words)
    code = f'source "$0"; COMP_WORDS=({line}); COMP_CWORD={len(words) - 1}; '
    code += (
        f"_shtab_rainproof rainproof '{words[-1]}' '{words[-2]}'; printf \"%s\\n\" "
        '"${COMPREPLY[@]}"'
    )
    done = subprocess.run(
        ["bash", "-c", code, script], capture_output=True, text=True, check=True, cwd=script.parent
    )
    return set(done.stdout.split())


@pytest.fixture
def script(tmp_path, capsys):
    assert main(["completion", "bash"]) == 0
    path = tmp_path / "rainproof.bash"
    path.write_text(capsys.readouterr().out)
    return path


def test_commands_and_options(script):
    assert completions(script, "rainproof", "") >= {
        "assess",
        "report",
        "policy",
        "decide",
        "demo",
        "completion",
    }
    assert completions(script, "rainproof", "re") == {"recalibrate", "report"}
    assert completions(script, "rainproof", "report", "--cost-f") == {"--cost-fp", "--cost-fn"}
    assert completions(script, "rainproof", "completion", "") >= {"bash", "zsh", "fish"}


def test_files(script):
    (script.parent / "rain.csv").touch()
    assert "rain.csv" in completions(script, "rainproof", "report", "ra")
    assert "rain.csv" in completions(script, "rainproof", "report", "x.csv", "-o", "ra")


@for_each("shell", ["zsh", "fish"])
def test_other_shells(capsys, shell):
    assert main(["completion", shell]) == 0
    out, err = capsys.readouterr()
    assert err == ""
    assert out.count("rainproof") > 3
    assert "cost-fp" in out


def test_a_shell_that_is_not_known(capsys):
    assert main(["completion", "cmd"]) == 2
    assert "invalid choice: 'cmd'" in capsys.readouterr().err


def test_without_shtab_the_error_names_the_command(capsys, monkeypatch):
    monkeypatch.setitem(sys.modules, "shtab", None)
    assert main(["completion", "bash"]) == 2
    assert (
        capsys.readouterr().err == "rainproof: error: completion needs shtab: pip install shtab\n"
    )
