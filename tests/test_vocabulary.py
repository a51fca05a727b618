"""One word for one thing, in every public signature and result."""

from __future__ import annotations

import dataclasses
import inspect

import pytest

import brolly

# A word that must not come back, and the one that stands for it.
INSTEAD = {
    "confidence": "confidence_level",
    "level": "confidence_level",
    "mu": "threshold",
    "m": "grid",
    "largest": "max_grid",
    "few": "min_rows",
    "cluster": "groups",
    "clusters": "groups",
    "segment_by": "by",
    "seed_": "rng",
    "random_state": "rng",
    "n_boot": "n_resamples",
    "bootstraps": "n_resamples",
    "weights": "sample_weight",
}
FUNCTIONS = [name for name in brolly.__all__ if inspect.isfunction(getattr(brolly, name))]
CLASSES = [name for name in brolly.__all__ if inspect.isclass(getattr(brolly, name))]


def callables():
    """Every public function, constructor and method with the names of its parameters."""
    for name in FUNCTIONS:
        yield name, inspect.signature(getattr(brolly, name)).parameters
    for name in CLASSES:
        for member, value in vars(getattr(brolly, name)).items():
            function = getattr(value, "__func__", value)
            if inspect.isfunction(function) and (not member.startswith("_") or member == "__init__"):
                yield f"{name}.{member}", inspect.signature(function).parameters


@pytest.mark.parametrize(
    ("name", "parameters"), list(callables()), ids=lambda value: value if isinstance(value, str) else ""
)
def test_no_parameter_has_a_second_name(name, parameters):
    assert not {old: new for old, new in INSTEAD.items() if old in parameters}


@pytest.mark.parametrize("name", [name for name in CLASSES if dataclasses.is_dataclass(getattr(brolly, name))])
def test_no_field_of_a_result_has_a_second_name(name):
    fields = {field.name for field in dataclasses.fields(getattr(brolly, name))}
    assert not {old: new for old, new in INSTEAD.items() if old in fields}


def test_randomness_comes_from_rng_alone_and_none_is_its_default():
    defaults = {name: parameters["rng"].default for name, parameters in callables() if "rng" in parameters}
    assert len(defaults) > 8
    assert set(defaults.values()) == {None}


def test_levels_default_to_95_percent():
    levels = {n: p["confidence_level"].default for n, p in callables() if "confidence_level" in p and n in FUNCTIONS}
    assert len(levels) > 6
    assert set(levels.values()) == {0.95}


def test_a_false_discovery_rate_is_called_so():
    assert "fdr" in inspect.signature(brolly.segment_tests).parameters


def test_dir_shows_the_api_alone():
    assert set(dir(brolly)) == {*brolly.__all__, "__version__", "paper", "plots"}
