"""The names of the methods of recalibration; what they do is in `methods` and `class_scaling`.

Nothing heavy is imported here: options of the command name the methods before anything is computed.
"""

from __future__ import annotations

EVENT_METHODS = (
    "logistic",
    "beta",
    "temperature",
    "intercept",
    "calibrated_prior",
    "overconfident_prior",
    "none",
    "isotonic",
    "bins_8",
    "bins_32",
    "bins_128",
    "constant",
)
"""The methods for one event."""

CLASS_METHODS = ("temperature", "vector", "matrix", "none", "isotonic", "constant")
"""The methods for several classes that "auto" tries."""

ONE_AGAINST_REST = tuple(name for name in EVENT_METHODS if name not in CLASS_METHODS)
"""Methods of one event that can be asked for by name: a map of each class against the rest, divided
by their sum.
"""

KNOWN_METHODS = (*CLASS_METHODS, *ONE_AGAINST_REST)
"""All methods for several classes."""


def has_class_maps(method: str) -> bool:
    """Return whether a method for several classes has a map of each class against the rest."""
    return method == "isotonic" or method in ONE_AGAINST_REST
