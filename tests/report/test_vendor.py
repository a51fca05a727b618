"""What others wrote is here as they published it: the checksums stand beside it."""

import hashlib
import re
from pathlib import Path

from helpers.cases import for_each

ROOT = Path(__file__).parents[2]


@for_each("folder", ["src/rainproof/report/vendor", "tests/report/vendor"])
def test_vendored_files_are_what_their_makers_published(folder):
    folder = ROOT / folder
    said = dict(
        re.findall(
            r"^\| `([\w.]+)` \|.*\| `([0-9a-f]{64})` \|$",
            (folder / "README.md").read_text(),
            re.MULTILINE,
        )
    )
    assert said == {
        file.name: hashlib.sha256(file.read_bytes()).hexdigest() for file in folder.glob("*.js")
    }


def test_the_licences_are_there():
    text = (ROOT / "src/rainproof/report/vendor/LICENCES.txt").read_text()
    assert "Mike Bostock" in text
    assert "Observable, Inc." in text
    assert text.count("Permission to use, copy, modify, and/or distribute") == 2
