"""The names of the methods of recalibration; what they do is in `methods` and `classes`.

Nothing heavy is imported here: options of the command name the methods before anything is computed.
"""

from __future__ import annotations

EVENT_METHODS = (
    "logistic",
    "beta",
    "temperature",
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
