"""GitHub's workflows: pinned, with few rights, and running what the Makefile has."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import yaml
from helpers.cases import for_each

import rainproof

ROOT = Path(__file__).parent.parent
WORKFLOWS = sorted((ROOT / ".github" / "workflows").glob("*.yml"))


def run(program, *arguments):
    """Run a program of the environment of the tests."""
    found = shutil.which(
        program, path=os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    )
    return subprocess.run(
        [found, *map(str, arguments)], capture_output=True, text=True, check=False
    )


def audit(folder):
    """Run zizmor, which parses the workflows as GitHub does and knows the usual ways to misuse
    them.
    """
    return run("zizmor", "--offline", "--no-progress", "--persona=pedantic", folder)


def test_workflows_pass_the_audit():
    found = audit(ROOT / ".github")
    assert found.returncode == 0, found.stdout + found.stderr


def test_the_audit_finds_an_action_that_is_not_pinned(tmp_path):
    folder = tmp_path / ".github" / "workflows"
    folder.mkdir(parents=True)
    text = (ROOT / ".github" / "workflows" / "test.yml").read_text()
    (folder / "test.yml").write_text(
        re.sub(r"actions/checkout@\w+ # v[\d.]+", "actions/checkout@v4", text)
    )
    assert "unpinned-uses" in audit(tmp_path).stdout


@for_each("path", WORKFLOWS)
def test_actions_are_pinned_by_commit_and_name_their_version(path):
    used = re.findall(r"uses: (.*)", path.read_text())
    assert used
    for line in used:
        assert re.fullmatch(r"[\w-]+/[\w-]+@[0-9a-f]{40} # v\d+\.\d+\.\d+", line), line


@for_each("path", WORKFLOWS)
def test_rights_are_given_job_by_job(path):
    workflow = yaml.safe_load(path.read_text())
    assert workflow["permissions"] == {}
    for name, job in workflow["jobs"].items():
        writes = {right for right, level in job["permissions"].items() if level == "write"}
        needed = {"publish": {"id-token", "attestations"}, "deploy": {"id-token", "pages"}}
        assert writes == needed.get(name, set())


def test_every_target_that_a_workflow_makes_is_in_the_makefile():
    targets = set(re.findall(r"^([\w-]+):", (ROOT / "Makefile").read_text(), re.MULTILINE))
    text = "".join(path.read_text() for path in WORKFLOWS)
    made = set(re.findall(r"(?:run: make|target:) ([\w-]+)", text))
    assert {
        "audit",
        "test",
        "coverage",
        "demo",
        "docs",
        "test-bare",
        "test-minimum",
        "test-sanitizers",
    } == made
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
    assert words == folders + [
        word for word in variables["NEEDS_PYARROW"].split() if word.startswith(within)
    ]


def test_wheels_for_musl_are_tested_without_the_package_that_has_none():
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["cibuildwheel"]
    [musl] = settings["overrides"]
    assert musl["select"] == "*-musllinux_*"
    assert musl["test-requires"] == [
        name for name in settings["test-requires"] if name != "scikit-learn"
    ]
    words = [word.replace("{project}/", "") for word in musl["test-command"].split()]
    usual = [word.replace("{project}/", "") for word in settings["test-command"].split()]
    left_out = [word.removeprefix("--ignore=") for word in words[len(usual) :]]
    assert words[: len(usual)] == usual
    folders = [ROOT / word for word in usual[1:] if not word.startswith("-")]
    needing = [
        file for folder in folders for file in folder.rglob("*.py") if "sklearn" in file.read_text()
    ]
    assert {ROOT / name for name in left_out} == set(needing)


PYTHONS = {"cp311", "cp312", "cp313", "cp314", "cp314t"}
WHEELS = {
    ("linux", "x86_64"): {"manylinux_x86_64", "musllinux_x86_64"},
    ("linux", "aarch64"): {"manylinux_aarch64", "musllinux_aarch64"},
    ("macos", None): {"macosx_x86_64", "macosx_arm64"},
    ("windows", "AMD64"): {"win_amd64"},
}


@for_each("platform, arch", WHEELS)
def test_wheels_are_built_for_every_python_and_platform(platform, arch):
    """As cibuildwheel reads the configuration; Linux and Windows build for the machine they run
    on.
    """
    options = [
        "--print-build-identifiers",
        "--platform",
        platform,
        *(["--archs", arch] if arch else []),
    ]
    done = run("cibuildwheel", *options, ROOT)
    assert done.returncode == 0, done.stderr
    assert set(done.stdout.split()) == {
        f"{python}-{kind}" for python in PYTHONS for kind in WHEELS[platform, arch]
    }


def test_the_classifiers_are_the_pythons_of_the_wheels():
    classifiers = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["classifiers"]
    named = {
        f"cp3{minor}" for minor in re.findall(r":: 3\.(\d+)$", "\n".join(classifiers), re.MULTILINE)
    }
    assert named == {python for python in PYTHONS if not python.endswith("t")}
    assert "Programming Language :: Python :: Free Threading :: 2 - Beta" in classifiers  # cp314t


def test_the_machines_that_build_wheels_are_those_of_the_platforms():
    workflow = yaml.safe_load((ROOT / ".github" / "workflows" / "wheels.yml").read_text())
    machines = workflow["jobs"]["wheels"]["strategy"]["matrix"]["os"]
    assert machines == ["ubuntu-24.04", "ubuntu-24.04-arm", "macos-15", "windows-2025"]


def test_releases_are_built_with_pinned_tools():
    pins = dict(
        re.findall(
            r"^([\w-]+)==([\d.]+)$",
            (ROOT / ".github" / "requirements.txt").read_text(),
            re.MULTILINE,
        )
    )
    assert set(pins) == {"build", "cibuildwheel"}
    # it audits, and repairs wheels for Windows too
    assert pins["cibuildwheel"].split(".")[0] == "4"
    text = (ROOT / ".github" / "workflows" / "wheels.yml").read_text()
    assert set(re.findall(r"pip install (.*)", text)) == {"-r .github/requirements.txt"}


def test_other_platforms_run_the_tests_of_the_wheels():
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["cibuildwheel"]
    job = yaml.safe_load((ROOT / ".github" / "workflows" / "test.yml").read_text())["jobs"][
        "platforms"
    ]
    assert {name.partition("-")[0] for name in job["strategy"]["matrix"]["os"]} == {
        "macos",
        "windows",
    }
    install, test = (step["run"] for step in job["steps"] if "run" in step)
    assert install == f"python -m pip install . {' '.join(settings['test-requires'])}"
    assert test == f"python -m {settings['test-command'].replace('{project}/', '')}"


def test_the_site_that_is_published_is_the_one_that_make_builds():
    jobs = yaml.safe_load((ROOT / ".github" / "workflows" / "docs.yml").read_text())["jobs"]
    built = jobs["build"]["steps"][-2:]
    assert built[0]["run"] == "make docs"
    assert (
        built[1]["with"]["path"]
        == re.search(r"^site_dir: (.*)", (ROOT / "mkdocs.yml").read_text(), re.MULTILINE)[1]
    )
    assert jobs["deploy"]["if"] == "github.ref == 'refs/heads/main'"


def test_a_tag_that_is_not_the_version_is_refused():
    jobs = yaml.safe_load((ROOT / ".github" / "workflows" / "wheels.yml").read_text())["jobs"]
    [line] = [
        step["run"]
        for step in jobs["sdist"]["steps"]
        if step.get("name") == "the tag is the version"
    ]
    version = rainproof.__version__
    for tag, code in ((f"v{version}", 0), (f"v{version}0", 1), ("v0.0.9", 1)):
        done = subprocess.run(
            ["sh", "-c", line], cwd=ROOT, env={**os.environ, "GITHUB_REF_NAME": tag}, check=False
        )
        assert done.returncode == code
