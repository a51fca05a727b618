"""One test of many cases."""

from __future__ import annotations

import functools
import inspect
import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest


def for_each(names: str, cases: Iterable[Any]) -> Callable[[Any], Any]:
    """Call a test with each case: a value of its parameter, or of each of several, "y, p".

    In place of `pytest.mark.parametrize` where the cases are about the same thing and need no
    report of their own: a failure names the case. As with it, each case has a `tmp_path` and a
    `monkeypatch` of its own, and what was printed before is no part of its `capsys`.
    """
    cases = list(cases)
    parameters = names.replace(",", " ").split()

    def decorate(test: Any) -> Any:
        @functools.wraps(test)
        def all_of_them(*arguments: Any, **options: Any) -> None:
            for number, case in enumerate(cases):
                values = case if len(parameters) > 1 else (case,)
                named = dict(zip(parameters, values, strict=True))
                try:
                    with _fixtures_of_its_own(options, number) as own:
                        test(*arguments, **named, **own)
                except BaseException as error:  # pytest.fail is no Exception
                    shown = ", ".join(f"{name}={value!r:.300}" for name, value in named.items())
                    error.add_note(f"case {number}: {shown}")
                    raise

        signature = inspect.signature(test)
        others = [value for name, value in signature.parameters.items() if name not in parameters]
        all_of_them.__signature__ = signature.replace(parameters=others)  # type: ignore[attr-defined]
        return all_of_them

    return decorate


@contextmanager
def _fixtures_of_its_own(options: dict[str, Any], number: int) -> Iterator[dict[str, Any]]:
    """The fixtures of a test, made anew for a case where cases would meet in them."""
    own = dict(options)
    if "tmp_path" in own:
        own["tmp_path"] = options["tmp_path"] / f"case{number}"
        own["tmp_path"].mkdir()
    if "capsys" in own:
        own["capsys"].readouterr()
    with pytest.MonkeyPatch.context() as patches:
        if "monkeypatch" in own:
            own["monkeypatch"] = patches
        yield own
    if "matplotlib.pyplot" in sys.modules:  # it warns where many figures are open
        sys.modules["matplotlib.pyplot"].close("all")
