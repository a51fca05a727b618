"""The package itself: what is exported, which way imports point, what `import rainproof` costs."""

from __future__ import annotations

import ast
import doctest
import importlib
import inspect
import pkgutil
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from helpers.cases import for_each
from helpers.public import PACKAGES, PUBLIC

import rainproof
from rainproof.measures.catalogue import CATALOGUE

ROOT = Path(__file__).parent.parent
MODULES = [
    m.name
    for m in pkgutil.walk_packages(rainproof.__path__, "rainproof.")
    if not m.name.endswith("__main__")
]
PAPER = [f"paper.{file.stem}" for file in sorted((ROOT / "paper").glob("[!_]*.py"))]


def run(*command, **options):
    return subprocess.run(
        [sys.executable, *command], capture_output=True, text=True, check=False, **options
    )


def packages_with_examples():
    """The modules of each package of rainproof, and those of the paper."""
    packages = {"paper": PAPER, "rainproof": ["rainproof"]}
    for name in MODULES:
        packages.setdefault(name.split(".")[1], []).append(name)
    return packages


@for_each("package", packages_with_examples())
def test_examples_in_docstrings(package):
    for name in packages_with_examples()[package]:
        module = importlib.import_module(name)
        result = doctest.testmod(module, optionflags=doctest.NORMALIZE_WHITESPACE)
        assert result.failed == 0, name


def test_there_are_examples_to_run():
    finder = doctest.DocTestFinder(recurse=False)
    found = [
        test
        for name, value in PUBLIC.items()
        if inspect.isfunction(value)
        for test in finder.find(value, name)
    ]
    assert sum(bool(test.examples) for test in found) >= 15


def pages_with_examples():
    """All but the one whose examples need real engines, which tests/io starts."""
    elsewhere = {"docs/guide/engines.md"}
    pages = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
    names = [str(page.relative_to(ROOT)) for page in pages if "```python" in page.read_text()]
    return [name for name in names if name not in elsewhere]


@pytest.mark.parametrize("page", pages_with_examples())
def test_examples_on_a_page_print_what_they_say(page, tmp_path, monkeypatch):
    """The blocks of a page are one session: a later one may use what an earlier one made. Files are
    temporary ones.
    """
    blocks = re.findall(r"```python\n(.*?)```", (ROOT / page).read_text(), re.DOTALL)
    monkeypatch.chdir(tmp_path)
    for block in blocks:
        assert ">>> " in block, f"nobody runs this block:\n{block}"
    test = doctest.DocTestParser().get_doctest("\n".join(blocks), {}, page, page, 0)
    assert doctest.DocTestRunner(optionflags=doctest.NORMALIZE_WHITESPACE).run(test).failed == 0
    assert list(tmp_path.iterdir()) == []


def test_every_page_has_its_place_in_the_site():
    nav = (ROOT / "mkdocs.yml").read_text()
    missing = [
        str(p)
        for p in (ROOT / "docs").rglob("*.md")
        if f" {p.relative_to(ROOT / 'docs')}\n" not in nav
    ]
    assert not missing


def test_everything_exported_exists_is_documented_and_is_in_the_reference():
    for package in (rainproof, *(getattr(rainproof, name) for name in PACKAGES)):
        assert sorted(package.__all__) == list(package.__all__)
    for name, value in PUBLIC.items():
        assert value.__doc__, name
    # a line of its table beside each docstring
    for page in (ROOT / "docs" / "reference").glob("*.md"):
        text = page.read_text()
        table = "".join(re.findall(r"^\| (.*?) \|", text, re.MULTILINE))
        for name in re.findall(r"^::: rainproof\.(?:\w+\.)?(\w+)$", text, re.MULTILINE):
            assert f"`{name}`" in table, f"{name} is not in the table of {page.name}"


def test_a_user_sees_forty_names_and_the_packages():
    shown = set(dir(rainproof)) - set(PACKAGES) - {"plots"}
    assert len(shown) <= 45
    assert shown == set(rainproof.__all__)


def test_a_public_name_has_one_place():
    places = [*rainproof.__all__]
    for package in PACKAGES:
        places += getattr(rainproof, package).__all__
    assert sorted(places) == sorted(set(places))


def test_no_module_has_the_name_of_a_public_function():
    modules = {name.rpartition(".")[2] for name in MODULES}
    assert not modules & {name for name, value in PUBLIC.items() if inspect.isfunction(value)}


def test_every_exported_function_names_a_page_that_explains_it():
    """So does help(); the site makes it a link. Classes are in docs/reference, which the test above
    checks.
    """
    for name, value in PUBLIC.items():
        if inspect.isfunction(value):
            pages = re.findall(r"docs/([\w/-]+\.md)", inspect.getdoc(value))
            assert pages, f"the docstring of {name} names no page: docs/.../....md"
            texts = [(ROOT / "docs" / page).read_text() for page in pages]
            assert any(re.search(rf"\b{name}\b", text) for text in texts), (
                f"{pages} do not mention {name}"
            )


def test_everything_exported_has_its_docstring_on_one_page_of_the_site():
    pages = "".join(page.read_text() for page in (ROOT / "docs" / "reference").glob("*.md"))
    shown = re.findall(r"^::: rainproof\.(?:\w+\.)?(\w+)$", pages, re.MULTILINE)
    assert sorted(shown) == sorted(PUBLIC)


def test_every_exported_measure_is_catalogued():
    """All functions of the package are measures, but for those that give a result object."""
    functions = {name for name in rainproof.measures.__all__ if name[0].islower()}
    functions |= {"soft_binned_cdl"}
    functions -= {"measure_classes", "score_decomposition", "soft_binned_profile"}
    assert functions == {measure.function.__name__ for measure in CATALOGUE.values()}
    assert all(
        PUBLIC[measure.function.__name__] is measure.function for measure in CATALOGUE.values()
    )


def test_the_version_stands_in_one_file():
    """The build reads it there; the citation has it too, with a date, and is the same."""
    read = run(ROOT / "tools" / "version.py").stdout.strip()
    cited = re.search(r"^version: (.*)", (ROOT / "CITATION.cff").read_text(), re.MULTILINE)[1]
    assert read == cited == rainproof.__version__
    released = re.search(
        r"^date-released: (.*)", (ROOT / "CITATION.cff").read_text(), re.MULTILINE
    )[1]
    top = re.search(r"^## (.*)", (ROOT / "CHANGELOG.md").read_text(), re.MULTILINE)[1]
    assert top in (f"{rainproof.__version__} ({released})", "Unreleased")


def test_no_page_says_of_a_release_that_there_is_none():
    """The steps of a release say which sentences go; before the first release all of them are
    there.
    """
    steps = "docs/contributing/release.md"
    until = "Until its first upload to PyPI"
    said = {"README.md": until, "docs/index.md": until, "SECURITY.md": "nothing is released yet"}
    words = {page: " ".join((ROOT / page).read_text().split()) for page in (steps, *said)}
    left = [page for page, sentence in said.items() if sentence in words[page]]
    top = re.search(r"^## (.*)", (ROOT / "CHANGELOG.md").read_text(), re.MULTILINE)[1]
    assert left == [] or (top == "Unreleased" and left == list(said))
    for page, sentence in said.items():
        assert f"`{page}`" in words[steps]
        assert f'"{sentence}"' in words[steps]


def test_every_source_file_is_installed():
    """The build lists its files by name; one forgotten would be missing from the wheel."""
    kinds = (".py", ".pyi", ".typed", ".html", ".css", ".js", ".txt")
    source = {p.relative_to(ROOT / "src") for p in (ROOT / "src").rglob("*") if p.suffix in kinds}
    home = Path(rainproof.__file__).parent.parent
    missing = {str(p) for p in source if not (home / p).exists()}
    assert not missing


def test_import_is_light():
    """It loads nothing, not even NumPy, until a name is asked for: then what that name needs, and
    no other package.
    """
    code = """
import sys, rainproof
print(*sorted({m.partition(".")[0] for m in sys.modules}))
rainproof.soft_binned_cdl
print(*sorted({m.partition(".")[0] for m in sys.modules}))
print(*sorted(sys.modules))
"""
    at_first, then, modules = (set(line.split()) for line in run("-c", code).stdout.splitlines())
    heavy = {
        "pandas",
        "polars",
        "pyarrow",
        "matplotlib",
        "scipy",
        "sklearn",
        "dask",
        "duckdb",
        "pyspark",
        "torch",
    }
    assert "numpy" not in at_first
    assert "numpy" in then
    assert not then & heavy
    assert not modules & {"rainproof.cli", "rainproof.io"}


@for_each(
    "arguments",
    [["--help"], ["--version"], ["assess", "--help"], ["assess", "a.csv", "--surprise"]],
)
def test_help_and_wrong_arguments_do_not_wait_for_numpy(arguments):
    code = f"import sys; from rainproof.cli import main; main({arguments}); print(*sys.modules)"
    modules = set(run("-c", code).stdout.splitlines()[-1].split())
    assert not modules & {"numpy", "scipy", "pyarrow", "webbrowser"}
    if arguments[0] == "assess":
        assert not modules & {"rainproof.cli.measuring", "rainproof.cli.deciding"}  # other commands


def test_the_command_line_loads_no_package_that_takes_longer_than_rainproof(tmp_path):
    """Importing scipy.stats takes as long as an assessment; scipy.special has all that is needed of
    it.
    """
    # a certificate proves a gain
    (tmp_path / "a.csv").write_text("p,y\n" + "0.9,0\n0.9,0\n0.9,1\n0.2,0\n" * 600)
    command = ["assess", str(tmp_path / "a.csv"), "--prob", "p", "--outcome", "y", "--quiet"]
    code = (
        f"import sys; from rainproof.cli import main; sys.argv[1:] = {command}; main(); "
        "print(*sys.modules)"
    )
    modules = set(run("-c", code).stdout.splitlines()[-1].split())
    assert "scipy.special" in modules
    assert not modules & {
        "scipy.stats",
        "scipy.optimize",
        "matplotlib",
        "pandas",
        "pyarrow.dataset",
        "sklearn",
    }


def lint_imports(folder):
    command = [str(Path(sys.executable).parent / "lint-imports"), "--no-cache"]
    options = {"capture_output": True, "text": True, "check": False}
    return subprocess.run(command, cwd=folder, env={"PYTHONPATH": str(folder)}, **options)


def copy_package(folder):
    """The package under another name, so that the linter cannot find the installed one instead."""
    shutil.copytree(ROOT / "src" / "rainproof", folder / "copied")
    shutil.copy(ROOT / "pyproject.toml", folder)
    for file in [folder / "pyproject.toml", *folder.glob("copied/**/*.py")]:
        file.write_text(re.sub(r"\brainproof\b", "copied", file.read_text()))
    return folder / "copied"


PLANTED = [
    ("core/cells.py", "import copied.measures"),
    ("core/cells.py", "import pandas"),
    ("core/cells.py", "import copied.fits"),
    ("fits/bins.py", "import copied.measures"),
    ("measures/catalogue.py", "import copied.cli"),
    ("decisions/tasks.py", "from copied.measures import catalogue"),
    ("measures/catalogue.py", "from copied.io import formats"),
    ("errors.py", "import copied.core"),
    ("inference/__init__.py", "import copied.verdict"),
    ("verdict/__init__.py", "import matplotlib"),
    ("plots/__init__.py", "import copied.report"),
    ("decisions/tasks.py", "import copied.report"),
]


def test_imports_that_point_up_are_caught(tmp_path):
    """All at once: a run of the linter takes seconds, and it names each."""
    package = copy_package(tmp_path)
    clean = lint_imports(tmp_path)
    assert clean.returncode == 0, clean.stdout + clean.stderr
    for file, line in PLANTED:
        with (package / file).open("a") as planted:
            planted.write(f"\n{line}\n")
    broken = lint_imports(tmp_path)
    assert broken.returncode == 1
    for file, line in PLANTED:
        importer = ".".join(("copied", *Path(file).with_suffix("").parts)).removesuffix(".__init__")
        imported = re.sub(r"from (\S+) import (\S+)", r"\1.\2", line).removeprefix("import ")
        assert f"{importer} -> {imported} (l." in broken.stdout, (file, line)


def imports_of(file):
    for node in ast.walk(ast.parse(file.read_text())):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            yield node.module


@for_each(
    "package",
    [
        "core",
        "fits",
        "measures",
        "decisions",
        "io",
        "inference",
        "recalibration",
        "verdict",
        "plots",
        "report",
    ],
)
def test_packages_import_from_packages_never_from_rainproof_itself(package):
    assert (ROOT / "src" / "rainproof" / package).is_dir()
    for file in (ROOT / "src" / "rainproof" / package).rglob("*.py"):
        assert "rainproof" not in set(imports_of(file)), f"{file} imports the whole package"


def upward_imports(source):
    """Imports of plots and reports, but for type checking and for those inside the methods `plot`
    and `to_html`.
    """
    tree = ast.parse(source)
    allowed = [
        n
        for n in ast.walk(tree)
        if isinstance(n, ast.FunctionDef) and n.name in ("plot", "to_html")
    ]
    allowed += [
        n
        for n in ast.walk(tree)
        if isinstance(n, ast.If) and ast.unparse(n.test) == "TYPE_CHECKING"
    ]
    inside = {id(node) for part in allowed for node in ast.walk(part)}
    found = (
        n
        for n in ast.walk(tree)
        if isinstance(n, ast.Import | ast.ImportFrom) and id(n) not in inside
    )
    return [
        line for line in map(ast.unparse, found) if re.search(r"rainproof\.(plots|report)\b", line)
    ]


def test_results_import_plots_and_reports_only_to_draw_themselves():
    """The exception that pyproject.toml states for import-linter is used for nothing else."""
    for package in (
        "core",
        "fits",
        "measures",
        "decisions",
        "io",
        "inference",
        "recalibration",
        "verdict",
    ):
        for file in (ROOT / "src" / "rainproof" / package).rglob("*.py"):
            assert upward_imports(file.read_text()) == [], file
    assert upward_imports("from rainproof.plots import regret") == [
        "from rainproof.plots import regret"
    ]
    assert upward_imports("def f():\n    import rainproof.report") == ["import rainproof.report"]
    assert upward_imports("def plot(self):\n    from rainproof.plots import regret") == []
