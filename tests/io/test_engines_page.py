"""The examples of docs/guide/engines.md print what they say, on real engines."""

from __future__ import annotations

import doctest
import re
from pathlib import Path

PAGE = Path(__file__).parents[2] / "docs" / "guide" / "engines.md"


def test_examples(spark, postgresql, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    blocks = re.findall(r"```python\n(.*?)```", PAGE.read_text(), re.DOTALL)
    known = {"spark": spark, "address": postgresql}
    test = doctest.DocTestParser().get_doctest("\n".join(blocks), known, PAGE.name, str(PAGE), 0)
    assert len(test.examples) > 20
    assert doctest.DocTestRunner(optionflags=doctest.NORMALIZE_WHITESPACE).run(test).failed == 0
    assert list(tmp_path.iterdir()) == []
