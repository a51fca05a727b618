"""What would be published: built, installed where nothing else is, run, and read by type
checkers.
"""

from __future__ import annotations

import importlib.util
import json
import os
import re
import shutil
import subprocess
import sys
import tarfile
import tomllib
import zipfile
from pathlib import Path

import pytest
import yaml

from tools.readme import with_addresses

ROOT = Path(__file__).parent.parent
README = (ROOT / "README.md").read_text()
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
CONSUMER = ROOT / "tests" / "helpers" / "typed_consumer.py"
HERE = str(Path(sys.executable).parent)
KEPT = ROOT / "build" / "release"  # what another run need not do again

# it compiles all kernels, and a busy machine may take ten minutes for that
pytestmark = pytest.mark.timeout(1200)


def run(*command, **options):
    done = subprocess.run(
        [str(word) for word in command], capture_output=True, text=True, check=False, **options
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def unpack(archive, folder):
    """Make a folder what a source distribution holds; a file that is the same keeps its time, by
    which ninja goes.
    """
    with tarfile.open(archive) as files:
        wanted = {
            folder / member.name.partition("/")[2]: (files.extractfile(member).read(), member.mode)
            for member in files
            if member.isfile()
        }
    for file in folder.rglob("*"):
        if file.is_file() and file not in wanted:
            file.unlink()
    for file, (content, mode) in wanted.items():
        if not file.exists() or file.read_bytes() != content:
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_bytes(content)
            file.chmod(mode)


@pytest.fixture(scope="module")
def dist(tmp_path_factory):
    """A source distribution of the last commit, and the wheel that `make test` has installed.

    Is there none of these sources, one is made from the source distribution: without optimisation,
    to save time. What was compiled is kept: another run compiles the kernels that have changed
    since.
    """
    folder = tmp_path_factory.mktemp("dist")
    clone = folder / "clone"  # the build writes beside what it builds
    run("git", "clone", "--quiet", "--depth=1", f"file://{ROOT}", clone)
    build = [sys.executable, "-m", "build", "--no-isolation", "--skip-dependency-check"]
    build += ["--config-setting=setup-args=-Dbuildtype=plain", "--outdir", folder]
    env = {**os.environ, "PATH": os.pathsep.join([HERE, os.environ["PATH"]])}
    run(*build, "--sdist", clone, env=env)
    changed = max(
        file.stat().st_mtime for file in [ROOT / "meson.build", *(ROOT / "src").rglob("*.*")]
    )
    for wheel in (ROOT / "build" / "wheel").glob("*.whl"):
        if wheel.stat().st_mtime > changed:
            shutil.copy(wheel, folder)
            return folder
    [archive] = folder.glob("*.tar.gz")
    unpack(archive, KEPT / "source")
    run(
        *build,
        "--wheel",
        f"--config-setting=builddir={KEPT / 'compiled'}",
        KEPT / "source",
        env=env,
    )
    return folder


@pytest.fixture(scope="module")
def python(dist):
    """An interpreter with the wheel, NumPy and SciPy alone, always in the same place, by which mypy
    knows its cache.
    """
    env = KEPT / "environment"
    run(sys.executable, "-m", "venv", "--without-pip", "--clear", env)
    [site] = env.glob("lib/python*/site-packages")
    for name in ("numpy", "scipy"):
        home = Path(importlib.util.find_spec(name).origin).parent
        # the libraries beside it, and what describes it
        for part in home.parent.glob(f"{name}[.-]*"):
            (site / part.name).symlink_to(part)
        (site / name).symlink_to(home)
    [wheel] = dist.glob("*.whl")
    run(
        sys.executable,
        "-m",
        "pip",
        "--python",
        env / "bin" / "python",
        "install",
        "--no-index",
        wheel,
    )
    return env / "bin" / "python"


def test_the_source_distribution_has_what_a_packager_needs(dist):
    [file] = dist.glob("*.tar.gz")
    with tarfile.open(file) as archive:
        names = {name.partition("/")[2] for name in archive.getnames()}
    assert {
        "PKG-INFO",
        "LICENSE",
        "README.md",
        "pyproject.toml",
        "meson.build",
        "tests/test_release.py",
    } <= names
    assert {"src/rainproof/core/_scan.pyx", "src/rainproof/core/_rows.h"} <= names
    committed = run("git", "ls-tree", "-r", "--name-only", "HEAD", cwd=ROOT).splitlines()
    assert set(committed) <= names  # so that it can be built: the wheel is made of the same files


def test_the_wheel_has_all_modules_and_no_sources_of_kernels(dist):
    [wheel] = dist.glob("*.whl")
    with zipfile.ZipFile(wheel) as archive:
        names = set(archive.namelist())
    source = ROOT / "src"
    kept = {".py", ".pyi", ".typed", ".html", ".css", ".js"}
    wanted = {str(path.relative_to(source)) for path in source.rglob("*") if path.suffix in kept}
    kernels = {str(path.relative_to(source).with_suffix("")) for path in source.rglob("*.pyx")}
    assert wanted <= names
    [home] = {name.partition("/")[0] for name in names if ".dist-info/" in name}
    assert {f"{home}/licenses/{file}" for file in PROJECT["license-files"]} <= names
    kernels.add("rainproof/_cyutility")  # what they share
    assert kernels == {name.partition(".")[0] for name in names if name.endswith((".so", ".pyd"))}
    assert not [name for name in names if name.endswith((".pyx", ".c", ".build"))]


def test_the_demo_runs_where_nothing_else_is_installed(python, tmp_path):
    """Without a compiler, or any other program, in reach."""
    alone = {"env": {"PATH": ""}, "cwd": tmp_path}
    code = (
        "import rainproof as r, importlib.metadata as m; print(r.__file__, *sorted(d.name for d in "
        "m.distributions()))"
    )
    where, *others = run(python, "-c", code, **alone).split()
    assert Path(where).is_relative_to(python.parent.parent)
    assert others == ["numpy", "rainproof", "scipy"]
    said = json.loads(run(python.parent / "rainproof", "demo", "--quiet", "--json", **alone))
    assert said["verdict"]["grade"] == "recalibrate"
    assert (tmp_path / "rainproof-demo" / "report.html").stat().st_size > 100_000


def check_types(checker, python, file):
    """Read a file as somebody who has rainproof installed does, by strict rules."""
    options = {
        "mypy": [
            "--strict",
            "--config-file=",
            f"--python-executable={python}",
            f"--cache-dir={KEPT / 'mypy'}",
        ],
        "pyright": [f"--pythonpath={python}"],  # strict: the first line of the file says so
    }
    command = [sys.executable, "-m", checker, *options[checker], str(file)]
    env = {**os.environ, "PYRIGHT_PYTHON_IGNORE_WARNINGS": "1"}
    return subprocess.run(
        command, cwd=file.parent, env=env, capture_output=True, text=True, check=False
    )


@pytest.mark.parametrize("checker", ["mypy", "pyright"])
def test_a_consumer_is_checked_against_our_types(checker, python, tmp_path):
    """One file of right lines and, at its end, two wrong ones: errors in these, and in no other."""
    file = tmp_path / "consumer.py"
    wrong = 'rainproof.guarantee(y, p, confidence="high")\nassert_type(bound.bound, str)\n'
    file.write_text(CONSUMER.read_text() + wrong)
    found = check_types(checker, python, file)
    assert found.returncode == 1, found.stdout + found.stderr
    last = len(file.read_text().splitlines())
    errors = {int(line) for line in re.findall(r"consumer\.py:(\d+):.* error: ", found.stdout)}
    assert errors == {last - 1, last}, found.stdout


def test_the_badges_are_true():
    badges = re.findall(
        r"^\[!\[(.*?)\]\(https://img\.shields\.io/badge/(.*?)-\w+\)\]", README, re.MULTILINE
    )
    for text, address in badges:  # what is read aloud is what is drawn
        assert re.sub(r"\W+", "", address.replace("_", "")) == re.sub(r"\W+", "", text)
    assert [text for text, _ in badges] == [
        f"Python {PROJECT['requires-python'].removeprefix('>=')} or newer",
        f"license: {PROJECT['license'].partition(' AND ')[0]}",  # of our files
        "types: mypy and pyright, strict",  # the test above
        "status: "
        f"{next(text for text in PROJECT['classifiers'] if 'Status' in text).split()[-1].lower()}",
    ]


def test_every_file_has_the_same_addresses():
    """Of the repository and of the site: pyproject.toml has them, and who moves the project finds
    the others here.
    """
    urls = PROJECT["urls"]
    owner = re.fullmatch(r"https://github\.com/([\w-]+)/rainproof", urls["Repository"])[1]
    assert urls["Homepage"] == f"https://{owner}.github.io/rainproof/"
    named = r"(?:github\.com/|--repo )([\w-]+)(?=/rainproof\b)|\b([\w-]+)\.github\.io\b"
    owners = {}
    for name in run("git", "ls-files", cwd=ROOT).splitlines():
        if name.endswith((".cff", ".json", ".md", ".py", ".toml", ".yaml", ".yml")):
            owners[name] = {
                "".join(found) for found in re.findall(named, (ROOT / name).read_text())
            }
    assert {name: found for name, found in owners.items() if not found <= {owner}} == {}
    assert sum(map(bool, owners.values())) >= 6


def test_the_readme_on_pypi_has_whole_addresses():
    """There are no files of the repository beside it."""
    links = re.findall(r"\]\(([^)]+)\)", README)
    pictures = re.findall(r"!\[[^\]]*\]\(([^)]+)\)", README)
    written = with_addresses(README)
    repository = PROJECT["urls"]["Repository"]
    for link in links:
        if not link.startswith("https:"):
            assert (ROOT / link.partition("#")[0]).exists(), link
            kind = "raw" if link in pictures else "blob"
            assert f"]({repository}/{kind}/main/{link})" in written
    assert len(re.findall(r"\]\(https://", written)) == len(links)


def test_the_conda_recipe_needs_what_the_package_needs():
    recipe = yaml.safe_load((ROOT / "conda" / "recipe.yaml").read_text())
    needs = {
        kind: {line.replace(" ", "").lower() for line in lines}
        for kind, lines in recipe["requirements"].items()
    }
    backend = tomllib.loads((ROOT / "pyproject.toml").read_text())["build-system"]["requires"]
    assert needs["run"] == {"python", *PROJECT["dependencies"]}
    assert needs["host"] == {"python", "pip", *(line.lower() for line in backend)}
    assert (
        recipe["build"]["skip"]
        == f'match(python, "<{PROJECT["requires-python"].removeprefix(">=")}")'
    )
    cited = yaml.safe_load((ROOT / "CITATION.cff").read_text())
    assert recipe["context"]["version"] == cited["version"]
    assert (
        recipe["about"]["license"] == PROJECT["license"] == f"{cited['license']} AND ISC"
    )  # of our files, and others'
    assert recipe["about"]["license_file"] == PROJECT["license-files"]
    assert recipe["about"]["summary"] == PROJECT["description"]
    assert recipe["about"]["homepage"] == PROJECT["urls"]["Homepage"]
    assert recipe["about"]["repository"] == PROJECT["urls"]["Repository"]
    assert recipe["about"]["documentation"] == PROJECT["urls"]["Documentation"]


def test_the_conda_recipe_is_one():
    """rattler-build reads and renders it; conda-forge's linter asks for these sections in order,
    and these entries.
    """
    from rattler_build import Stage0Recipe, VariantConfig

    path = ROOT / "conda" / "recipe.yaml"
    variants = VariantConfig({"python": ["3.11"], "c_compiler": ["gcc"], "c_stdlib": ["sysroot"]})
    [rendered] = Stage0Recipe.from_file(path).render(variants)
    recipe = yaml.safe_load(path.read_text())
    assert str(rendered.recipe.package.version) == recipe["context"]["version"]
    order = [
        "schema_version",
        "context",
        "package",
        "source",
        "build",
        "requirements",
        "tests",
        "about",
        "extra",
    ]
    assert list(recipe) == order
    assert {"homepage", "license", "license_file", "summary"} <= recipe["about"].keys()
    assert isinstance(recipe["extra"]["recipe-maintainers"], list)


def test_zenodo_is_told_what_is_cited():
    zenodo = json.loads((ROOT / ".zenodo.json").read_text())
    cited = yaml.safe_load((ROOT / "CITATION.cff").read_text())
    assert zenodo["title"] == cited["title"]
    assert zenodo["license"] == cited["license"]
    assert zenodo["creators"] == cited["authors"] == PROJECT["authors"]
    assert zenodo["keywords"] == PROJECT["keywords"]
    [paper] = zenodo["related_identifiers"]
    assert paper["identifier"] == cited["references"][0]["identifiers"][0]["value"]
    assert PROJECT["urls"]["Paper"].endswith(paper["identifier"].removeprefix("arXiv:"))
