"""One word for one thing: the names of parameters and fields that users meet."""

from __future__ import annotations

import dataclasses
import inspect
import re
import sys
from pathlib import Path

import pytest
from helpers.cases import for_each
from helpers.public import PUBLIC

import rainproof

SOURCE = str(Path(rainproof.__file__).parent)
# What must not be the name of a parameter or a field, and the name to use.
WRONG = {
    "confidence": "confidence_level",
    "level": "confidence_level",
    "conf": "confidence_level",
    "q": "fdr",
    "false_discovery_rate": "fdr",
    "m": "grid",
    "n_bins_grid": "grid",
    "largest": "max_grid",
    "bound_grid": "grid",
    "mu": "threshold",
    "cutoff": "threshold",
    "group": "groups",
    "cluster": "groups",
    "clusters": "groups",
    "segment_by": "by",
    "segments_by": "by",
    "few": "min_rows",
    "few_rows": "min_rows",
    "n_min": "min_rows",
    "random_state": "rng",
    "n_boot": "n_resamples",
    "n_draws": "n_resamples",
    "weights": "sample_weight",
    "words": "text",
}
# Parameters only: a result may have an array of them.
WRONG_PARAMETERS = {**WRONG, "grids": "grid", "seed": "rng", "weight": "sample_weight"}
# Names that mean something else there, and why.
ALLOWED = {
    ("RoundingPolicy.__init__", "seed"): "part of the policy: the same seed gives the same actions",
    ("decide", "seed"): "as of a policy: the same seed draws the same lottery",
    ("scan", "weight"): "the name of a column, as prob and outcome are",
    ("sql", "weight"): "the name of a column, as prob and outcome are",
}


def methods(name, kind):
    """The public methods of a class that are written by hand in rainproof, and its `__init__`
    likewise.
    """
    names = [n for n in dir(kind) if not n.startswith("_") or n == "__init__"]
    code = {n: getattr(getattr(kind, n), "__code__", None) for n in names}
    return [
        (f"{name}.{n}", getattr(kind, n))
        for n in names
        if code[n] and SOURCE in code[n].co_filename
    ]


def callables():
    """Every public function and method by its name."""
    for name, value in PUBLIC.items():
        yield from methods(name, value) if inspect.isclass(value) else [(name, value)]
    for name in rainproof.plots.__all__:
        yield f"plots.{name}", getattr(rainproof.plots, name)


def parameters():
    """Every parameter of a public function or method, with where it is."""
    for where, function in callables():
        for name, parameter in inspect.signature(function).parameters.items():
            yield where, name, parameter


def results():
    """Every exported dataclass, by name."""
    return {
        n: kind
        for n, kind in PUBLIC.items()
        if inspect.isclass(kind) and dataclasses.is_dataclass(kind)
    }


def fields():
    """Every public field or property of an exported result, with where it is."""
    for name, kind in results().items():
        public = {field.name for field in dataclasses.fields(kind)}
        public |= {n for n, value in inspect.getmembers(kind) if isinstance(value, property)}
        yield from ((name, field) for field in sorted(public) if not field.startswith("_"))


def test_there_is_something_to_look_at():
    assert len(list(parameters())) > 300
    assert len(list(fields())) > 200
    assert ("guarantee", "confidence_level") in {(where, name) for where, name, _ in parameters()}


def test_parameters_use_the_vocabulary():
    wrong = [
        f"{where}({name}): say {WRONG_PARAMETERS[name]}"
        for where, name, _ in parameters()
        if name in WRONG_PARAMETERS and (where, name) not in ALLOWED
    ]
    assert wrong == []


def test_fields_use_the_vocabulary():
    assert [f"{where}.{name}: say {WRONG[name]}" for where, name in fields() if name in WRONG] == []


def test_every_exception_is_needed():
    assert set(ALLOWED) <= {(where, name) for where, name, _ in parameters()}


@for_each(
    "name, default",
    [
        ("rng", None),
        ("sample_weight", None),
        ("pos_label", None),
        ("groups", None),
        ("progress", None),
        ("ax", None),
    ],
)
def test_defaults_are_the_same_everywhere(name, default):
    found = {where: parameter.default for where, n, parameter in parameters() if n == name}
    assert found
    same = {
        "assess",
        "assess_many",
        "find_threshold",
        "loss_at_least",
        "switch_guarantee",
        "Recalibrator.__init__",
    }
    fixed = same if name == "rng" else set()  # the same rows give the same verdict, bounds and map
    assert {where for where, value in found.items() if value is not default} == fixed


def test_confidence_levels_are_95_percent_unless_they_must_be_given():
    found = {
        where: parameter.default for where, n, parameter in parameters() if n == "confidence_level"
    }
    assert len(found) > 8
    assert {value for value in found.values() if value is not inspect.Parameter.empty} == {0.95}


def test_options_are_keywords():
    """Only the data, and the axes of a plot, are passed by position."""
    options = {
        "confidence_level",
        "rng",
        "n_resamples",
        "sample_weight",
        "pos_label",
        "groups",
        "progress",
        "fdr",
    }
    wrong = [
        (where, name)
        for where, name, parameter in parameters()
        if name in options
        and parameter.kind is inspect.Parameter.POSITIONAL_OR_KEYWORD
        and "." not in where
    ]
    assert wrong == []


def test_no_option_vanishes():
    """``**options`` would swallow a misspelt one; those of these are refused, here or where they
    go.

    Those of ``plot`` go to a function of `rainproof.plots`.
    """
    every = {
        where
        for where, _, parameter in parameters()
        if parameter.kind is inspect.Parameter.VAR_KEYWORD
    }
    taking = {where for where in every if not where.endswith(".plot")}
    with pytest.raises(TypeError, match="unexpected keyword argument 'colour'"):
        rainproof.decisions.risk_coverage([0, 1], [0.2, 0.7]).plot(colour="red")
    assert taking == {
        "InputError.from_offenders",
        "InputError.revised",
        "Recalibrator.set_params",
        "Sample.with_forecasts",  # whose names are those of forecasts
        "Segments.map",
    }


def mentioned(annotation, module):
    """The classes of rainproof that an annotation names."""
    for word in set(re.findall(r"[A-Za-z_]\w*", str(annotation))):
        found = getattr(sys.modules[module], word, None)
        if inspect.isclass(found) and found.__module__.startswith("rainproof"):
            yield word


def test_what_users_hold_is_exported():
    """The types of public fields, and what public functions return."""
    held = [
        (f"{name}.{field.name}", field.type, kind.__module__)
        for name, kind in results().items()
        for field in dataclasses.fields(kind)
        if not field.name.startswith("_")
    ]
    functions = [(name, value) for name, value in PUBLIC.items() if name[0].islower()]
    held += [(name, f.__annotations__["return"], f.__module__) for name, f in functions]
    hidden = {(where, word) for where, kind, module in held for word in mentioned(kind, module)}
    assert {(where, word) for where, word in hidden if word not in PUBLIC} == set()
    assert ("assess", "Assessment") in hidden
