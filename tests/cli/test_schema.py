"""The published JSON Schemas describe what the commands print, and what `to_dict` returns."""

from __future__ import annotations

import io
import json
from contextlib import chdir, redirect_stdout
from functools import cache
from pathlib import Path

import numpy as np
import pytest
from contract.test_results import results
from helpers.cases import for_each
from jsonschema import Draft202012Validator, ValidationError
from referencing import Registry, Resource

import rainproof
from rainproof.cli import app, main
from tools import make_schemas

FOLDER = Path(__file__).parents[2] / "docs" / "schema"
SCHEMAS = {path.stem: json.loads(path.read_text()) for path in FOLDER.glob("*.json")}
REGISTRY = Registry().with_resources(
    [(schema["$id"], Resource.from_contents(schema)) for schema in SCHEMAS.values()]
)
COLUMNS = ["--prob", "p", "--outcome", "y"]
FORECASTS = ["--prob", "p", "q", "--outcome", "y"]
CLASSES = ["--classes", "a", "b", "c", "--outcome", "what"]
COSTS = ["--cost-fp", "1", "--cost-fn", "3"]


def validate(name, document):
    Draft202012Validator(SCHEMAS[name], registry=REGISTRY).validate(document)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Files that make as many fields as possible unusual."""
    path = tmp_path_factory.mktemp("schema")
    rng = np.random.default_rng(5)
    for name, n, rate in (
        ("usual", 400, lambda p: p),
        ("reversed", 400, lambda p: 1 - p),
        ("one", 25, lambda p: p + 2),
        ("tiny", 2, lambda p: p),
        ("sure", 60, lambda p: p > 0.5),
    ):
        p = rng.random(n).round(3)
        y = (rng.random(n) < rate(p)).astype(int)
        q = y if name == "sure" else 1 - p.round()
        rows = [
            f"{a},{b},{c},{1 + i % 3},{i // 2},{i % 3}"
            for i, (a, b, c) in enumerate(zip(p, q, y, strict=True))
        ]
        if name == "usual":
            rainproof.Recalibrator("logistic", rng=0).fit(p, y).save(path / "fitted.json")
        (path / f"{name}.csv").write_text("\n".join(["p,q,y,w,day,city", *rows]))
    for name, n, some in (
        ("", 60, "abc"),
        ("-tiny", 2, "ab"),
        ("-one", 30, "c"),
        ("-many", 2000, "abc"),
    ):
        said = rng.dirichlet([2, 1, 1], n).round(3)
        said[:, 0] = 1 - said[:, 1:].sum(axis=1)
        lines = [
            ",".join(map(str, [*row, some[i % len(some)]])) for i, row in enumerate(said.tolist())
        ]
        (path / f"classes{name}.csv").write_text("\n".join(["a,b,c,what", *lines]))
    (path / "costs.json").write_text('{"costs": [[0, 1, 2], [1, 0, 1]], "abstain": 0.4}')
    (path / "days").mkdir()
    for k in range(8):
        p = rng.random(60)
        rainproof.Sample(rng.random(60) < p, p).compress(64).save(path / "days" / f"{k}.parquet")
    return path


@cache
def printed(folder, *command):
    """The JSON that a command prints."""
    with chdir(folder), redirect_stdout(io.StringIO()) as text:
        assert main([*command, "--json"]) == 0
    return json.loads(text.getvalue())


FILES = ("usual", "reversed", "one", "tiny", "sure")
RUNS = [
    *(("assess", ["assess", f"{file}.csv", *COLUMNS, *COSTS, "--by", "city"]) for file in FILES),
    ("assess", ["assess", "usual.csv", *COLUMNS, "--groups", "day", "--weight", "w"]),
    ("assess", ["assess", "sure.csv", "--prob", "q", "--outcome", "y"]),
    ("assess", ["report", "usual.csv", *COLUMNS, "-o", "report.html"]),
    ("assess", ["report", "one.csv", *COLUMNS, "-o", "clinical.html", "--preset", "clinical"]),
    ("assess", ["demo", "demo"]),
    *(("assess-many", ["assess-many", f"{file}.csv", *FORECASTS]) for file in FILES),
    ("assess-many", ["assess-many", "usual.csv", *FORECASTS, *COSTS, "--groups", "day"]),
    *(("measure", ["measure", f"{file}.csv", *COLUMNS, "--by", "city"]) for file in FILES),
    (
        "measure",
        ["measure", "usual.csv", "tiny.csv", *COLUMNS, "--fail-above", "0.9", "--weight", "w"],
    ),
    ("measure-classes", ["measure", "classes.csv", *CLASSES]),
    *(("assess-classes", ["assess", f"classes{k}.csv", *CLASSES]) for k in ("", "-tiny", "-one")),
    (
        "assess-classes",
        ["report", "classes.csv", *CLASSES, "--cost-matrix", "costs.json", "-o", "classes.html"],
    ),
    *(
        ("recalibrate", ["recalibrate", f"classes{k}.csv", *CLASSES, "-o", "map.json"])
        for k in ("", "-tiny", "-many")
    ),
    ("measure", ["measure", "sure.csv", "--prob", "q", "--outcome", "y", "--rounding", "hard"]),
    *(
        ("switch", ["switch", f"{file}.csv", "--old", "p", "--new", "q", "--outcome", "y"])
        for file in FILES
    ),
    (
        "switch",
        ["switch", "usual.csv", "--old", "p", "--new", "q", "--outcome", "y", "--weight", "w"],
    ),
    (
        "switch",
        ["switch", "usual.csv", "--old", "p", "--new", "q", "--outcome", "y", "--groups", "day"],
    ),
    ("threshold", ["threshold", "usual.csv", *COLUMNS, "--recall", "60%"]),
    (
        "threshold",
        [
            "threshold",
            "usual.csv",
            *COLUMNS,
            "--precision",
            "0.6",
            "--groups",
            "day",
            "--weight",
            "w",
            "--max-weight",
            "6",
        ],
    ),
    ("monitor", ["monitor", "days"]),
    ("monitor", ["monitor", "days", "--dependent-rows", "--window", "2"]),
    (
        "monitor",
        ["monitor", "usual.csv", *COLUMNS, "--by", "day", "--weight", "w", "--dependent-rows"],
    ),
    ("recalibrate", ["recalibrate", "usual.csv", *COLUMNS, "--by", "city", "-o", "map.json"]),
    (
        "recalibrate",
        [
            "recalibrate",
            "reversed.csv",
            *COLUMNS,
            "--by",
            "city",
            "--groups",
            "day",
            "-o",
            "map.json",
        ],
    ),
    ("recalibrate", ["recalibrate", "tiny.csv", *COLUMNS, "-o", "map.json"]),
    *(
        ("policy", ["policy", f"{file}.csv", *COLUMNS, *COSTS, "-o", "policy.json"])
        for file in FILES
    ),
    (
        "policy",
        [
            "policy",
            "usual.csv",
            *COLUMNS,
            "--threshold",
            "0.3",
            "--map",
            "fitted.json",
            "-o",
            "policy.json",
        ],
    ),
    (
        "policy",
        [
            "policy",
            "usual.csv",
            *COLUMNS,
            "--cost-fp",
            "1e-300",
            "--cost-fn",
            "1e300",
            "-o",
            "policy.json",
        ],
    ),
]


@for_each("name, command", RUNS)
def test_what_a_command_prints(folder, name, command):
    validate(name, printed(folder, *command))


@pytest.mark.filterwarnings("ignore::rainproof.RainproofWarning")
def test_what_to_dict_returns():
    rng = np.random.default_rng(0)
    p = rng.random(200)
    y = rng.random(200) < p
    some = {"measures": ["log_score"], "n_resamples": 99}
    quadratic = rainproof.DecisionTask.quadratic()
    by = {"a": np.arange(200) % 2, "b": np.where(p > 0.5, 1.5, np.nan)}
    validate("assess", rainproof.assess(y, p.round(), task=quadratic, by=by, **some).to_dict())
    validate(
        "assess",
        rainproof.assess(
            rainproof.Sample(y, p, sample_weight=p).compress(64), rng=1, **some
        ).to_dict(),
    )
    split = {"a": (y, p), "b": rainproof.Sample(y, p / 2)}
    validate(
        "assess-many",
        rainproof.assess_many(split, task=rainproof.DecisionTask.threshold(0.2), **some).to_dict(),
    )
    validate(
        "switch",
        {
            "rainproof": "",
            **rainproof.switch_guarantee(y, p, p, groups=np.arange(200) // 2).to_dict(),
        },
    )


def test_every_command_with_json_has_a_schema():
    """Asked of the parser: a command that learns --json needs a run above."""
    _, commands = app.make_parsers("")
    printing = {name for name, parser in commands.items() if "--json" in parser.format_help()}
    assert printing == {command[0] for _, command in RUNS}


def test_schemas_of_results_are_what_their_fields_say():
    """To write them anew: make schemas."""
    assert make_schemas.schemas() == {name: SCHEMAS[name] for name in make_schemas.schemas()}


@pytest.mark.filterwarnings("ignore::rainproof.RainproofWarning")
@for_each("case", ["usual", "infinite log score", "one class"])
def test_results_are_as_their_schemas_say(case):
    for result in results(case):
        name = type(result).__name__
        if name in SCHEMAS["results"]["$defs"]:
            Draft202012Validator(
                {"$ref": f"results.json#/$defs/{name}"}, registry=REGISTRY
            ).validate(result.to_dict())


def test_every_schema_is_tested_and_strict(folder):
    assert {name for name, _ in RUNS} == set(SCHEMAS) - {"results"}
    for name, command in dict(RUNS).items():
        Draft202012Validator.check_schema(SCHEMAS[name])
        document = printed(folder, *command)
        for wrong in ({**document, "surprise": 1}, {**document, next(iter(document)): None}, {}):
            with pytest.raises(ValidationError):
                validate(name, wrong)
