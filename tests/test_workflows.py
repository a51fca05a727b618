"""GitHub's workflows: pinned, with few rights, and running what the Makefile has."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

ROOT = Path(__file__).parent.parent
WORKFLOWS = sorted((ROOT / ".github" / "workflows").glob("*.yml"))


def audit(folder):
    """Run zizmor, which parses the workflows as GitHub does and knows the usual ways to misuse them."""
    zizmor = shutil.which("zizmor", path=os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]]))
    command = [zizmor, "--offline", "--no-progress", "--persona=pedantic", str(folder)]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def test_workflows_pass_the_audit():
    found = audit(ROOT / ".github")
    assert found.returncode == 0, found.stdout + found.stderr


def test_the_audit_finds_an_action_that_is_not_pinned(tmp_path):
    folder = tmp_path / ".github" / "workflows"
    folder.mkdir(parents=True)
    text = (ROOT / ".github" / "workflows" / "test.yml").read_text()
    (folder / "test.yml").write_text(re.sub(r"actions/checkout@\w+ # v[\d.]+", "actions/checkout@v4", text))
    assert "unpinned-uses" in audit(tmp_path).stdout


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.stem)
def test_actions_are_pinned_by_commit_and_name_their_version(path):
    used = re.findall(r"uses: (.*)", path.read_text())
    assert used
    for line in used:
        assert re.fullmatch(r"[\w-]+/[\w-]+@[0-9a-f]{40} # v\d+\.\d+\.\d+", line), line


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.stem)
def test_rights_are_given_job_by_job(path):
    workflow = yaml.safe_load(path.read_text())
    assert workflow["permissions"] == {}
    for name, job in workflow["jobs"].items():
        writes = {right for right, level in job["permissions"].items() if level == "write"}
        assert writes == ({"id-token", "attestations"} if name == "publish" else set())


def test_every_target_that_a_workflow_makes_is_in_the_makefile():
    targets = set(re.findall(r"^([\w-]+):", (ROOT / "Makefile").read_text(), re.MULTILINE))
    text = (ROOT / ".github" / "workflows" / "test.yml").read_text()
    made = set(re.findall(r"(?:run: make|target:) ([\w-]+)", text))
    assert {"test", "demo", "test-bare", "test-minimum", "test-sanitizers"} == made
    assert made <= targets
