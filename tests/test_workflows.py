"""GitHub's workflows: pinned, with few rights, and running what the Makefile has."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
import yaml

import rainproof

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
    text = "".join(path.read_text() for path in WORKFLOWS)
    made = set(re.findall(r"(?:run: make|target:) ([\w-]+)", text))
    assert {"audit", "test", "demo", "test-bare", "test-minimum", "test-sanitizers"} == made
    assert made <= targets


def test_wheels_are_tested_with_what_the_makefile_tests_without_extras():
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["cibuildwheel"]
    makefile = (ROOT / "Makefile").read_text().replace("\\\n", "")
    variables = dict(re.findall(r"^([A-Z_]+) := (.*)$", makefile, re.MULTILINE))
    assert settings["test-requires"] == variables["RUNNER"].split()
    command, *words = settings["test-command"].replace("{project}/", "").split()
    assert command == "pytest"
    assert set(words) <= {*variables["KERNEL_TESTS"].split(), *variables["NEEDS_PYARROW"].split()}
    folders = [word for word in words if not word.startswith("-")]
    within = tuple(f"--ignore={folder}/" for folder in folders)
    assert words == folders + [word for word in variables["NEEDS_PYARROW"].split() if word.startswith(within)]


def test_other_platforms_run_the_tests_of_the_wheels():
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["cibuildwheel"]
    job = yaml.safe_load((ROOT / ".github" / "workflows" / "test.yml").read_text())["jobs"]["platforms"]
    assert {name.partition("-")[0] for name in job["strategy"]["matrix"]["os"]} == {"macos", "windows"}
    install, test = (step["run"] for step in job["steps"] if "run" in step)
    assert install == f"python -m pip install . {' '.join(settings['test-requires'])}"
    assert test == f"python -m {settings['test-command'].replace('{project}/', '')}"


def test_a_tag_that_is_not_the_version_is_refused():
    jobs = yaml.safe_load((ROOT / ".github" / "workflows" / "wheels.yml").read_text())["jobs"]
    [line] = [step["run"] for step in jobs["sdist"]["steps"] if step.get("name") == "the tag is the version"]
    version = rainproof.__version__
    for tag, code in ((f"v{version}", 0), (f"v{version}0", 1), ("v0.0.9", 1)):
        done = subprocess.run(["sh", "-c", line], cwd=ROOT, env={**os.environ, "GITHUB_REF_NAME": tag}, check=False)
        assert done.returncode == code
