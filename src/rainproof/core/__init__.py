"""The sample and its compression, curves, results; no measures.

Here: the version, and how packages list their public names.
"""

import sys
from collections.abc import Callable
from functools import cache
from importlib import import_module
from typing import Any

VERSION = "0.1.0"
"""For results that carry it: the name under which rainproof is installed may be another."""


def lazy(package: str) -> tuple[Callable[[str], Any], Callable[[], list[str]]]:
    """Return `__getattr__` and `__dir__` of a package whose public names are listed once, in the
    stub beside it.

    Names are loaded when first asked for, as SPEC 1 of the scientific Python projects has it:
    `import rainproof` stays light, and the command is ready for Ctrl-C at once.
    """

    @cache
    def modules() -> dict[str, str]:
        import ast  # the command line, which needs no public name, does not wait for these
        from pkgutil import get_data

        stub = ast.parse(get_data(package, "__init__.pyi") or b"")
        module_of: dict[str, str] = {}
        for node in stub.body:
            if isinstance(node, ast.ImportFrom):
                module_of |= {alias.name: str(node.module) for alias in node.names}
        return module_of

    def getattr_(name: str) -> Any:
        if name == "__all__":
            return sorted(name for name, module in modules().items() if module != package)
        if name.startswith("_") or name not in modules():
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        module = modules()[name]
        if module == package:
            inner = import_module(f"{package}.{name}")
        else:
            inner = getattr(import_module(module), name)
        setattr(sys.modules[package], name, inner)  # so that this is asked once
        return inner

    return getattr_, lambda: list(modules())
