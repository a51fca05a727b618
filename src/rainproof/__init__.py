"""rainproof: what can anyone lose by acting on these predicted probabilities?

>>> import rainproof
>>> y = [0, 0, 1, 0, 1, 1, 0, 1]
>>> p = [0.1, 0.2, 0.3, 0.4, 0.6, 0.7, 0.8, 0.9]
>>> rainproof.soft_binned_cdl(y, p)
0.125
"""

from functools import cache
from importlib import import_module
from typing import Any

from rainproof.core.version import VERSION

__version__ = VERSION

_INNER_PACKAGES = ("assessment", "core", "decisions", "inference", "io", "measures", "report")


# Names are loaded when first asked for: `import rainproof` stays light, and the command is ready for Ctrl-C at once.
# They are listed once, in the stub beside this file, as SPEC 1 of the scientific Python projects has it.
@cache
def _modules() -> dict[str, str]:
    """Return the module of each public name."""
    import ast  # the command line, which needs no public name, does not wait for these
    from pkgutil import get_data

    stub = ast.parse(get_data(__name__, "__init__.pyi") or b"")
    imports = [node for node in stub.body if isinstance(node, ast.ImportFrom)]
    return {alias.name: str(node.module) for node in imports for alias in node.names}


def __getattr__(name: str) -> Any:
    if name in _INNER_PACKAGES:
        return import_module(f"rainproof.{name}")
    if name == "__all__":
        return sorted(name for name, module in _modules().items() if module != "rainproof")
    if not name.startswith("_") and name in _modules():
        if _modules()[name] == "rainproof":
            return import_module(f"rainproof.{name}")
        value = globals()[name] = getattr(import_module(_modules()[name]), name)
        return value
    raise AttributeError(f"module 'rainproof' has no attribute {name!r}")


def __dir__() -> list[str]:
    return [*_modules(), "__version__"]
