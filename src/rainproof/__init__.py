"""rainproof: what can anyone lose by acting on these predicted probabilities?

>>> import rainproof
>>> y = [0, 0, 1, 0, 1, 1, 0, 1]
>>> p = [0.1, 0.2, 0.3, 0.4, 0.6, 0.7, 0.8, 0.9]
>>> rainproof.soft_binned_cdl(y, p)
0.125
"""

import ast
from importlib import import_module
from pkgutil import get_data
from typing import Any

from rainproof.core.version import VERSION

__version__ = VERSION

# Names are loaded when first asked for: `import rainproof` stays light, and the command is ready for Ctrl-C at once.
# They are listed once, in the stub beside this file, as SPEC 1 of the scientific Python projects has it.
_STUB = ast.parse(get_data(__name__, "__init__.pyi") or b"")
_IMPORTS = [node for node in _STUB.body if isinstance(node, ast.ImportFrom)]
_MODULES = {alias.name: str(node.module) for node in _IMPORTS for alias in node.names}
_INNER_PACKAGES = ("assessment", "core", "decisions", "inference", "io", "measures", "report")

__all__ = sorted(name for name, module in _MODULES.items() if module != "rainproof")


def __getattr__(name: str) -> Any:
    if name in _INNER_PACKAGES or _MODULES.get(name) == "rainproof":
        return import_module(f"rainproof.{name}")
    if name in _MODULES:
        value = globals()[name] = getattr(import_module(_MODULES[name]), name)
        return value
    raise AttributeError(f"module 'rainproof' has no attribute {name!r}")


def __dir__() -> list[str]:
    return [*_MODULES, "__version__"]
