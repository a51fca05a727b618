"""One test of many cases."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Iterable
from typing import Any


def for_each(names: str, cases: Iterable[Any]) -> Callable[[Any], Any]:
    """Call a test with each case: a value of its parameter, or of each of several, "y, p".

    In place of `pytest.mark.parametrize` where the cases are about the same thing and need no
    report of their own: a failure names the case.
    """
    cases = list(cases)
    parameters = names.replace(",", " ").split()

    def decorate(test: Any) -> Any:
        @functools.wraps(test)
        def all_of_them(*arguments: Any, **options: Any) -> None:
            for case in cases:
                values = case if len(parameters) > 1 else (case,)
                named = dict(zip(parameters, values, strict=True))
                try:
                    test(*arguments, **named, **options)
                except BaseException as error:  # pytest.fail is no Exception
                    error.add_note(", ".join(f"{name}={value!r}" for name, value in named.items()))
                    raise

        signature = inspect.signature(test)
        others = [value for name, value in signature.parameters.items() if name not in parameters]
        all_of_them.__signature__ = signature.replace(parameters=others)  # type: ignore[attr-defined]
        return all_of_them

    return decorate
