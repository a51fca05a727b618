"""An online recalibrator that answers one record at a time and survives being killed at any point.

Every record is written to a journal before it is answered. The state file has all that happened up
to some record; the journal has the records since. After a kill the records of the journal are done
again, with the same coins and the same result. Whoever got no answer sends the record again: it is
answered, and nothing is learnt twice.
"""

from __future__ import annotations

import errno
import json
import os
from collections import OrderedDict
from glob import escape
from pathlib import Path
from types import TracebackType
from typing import Any, BinaryIO, Self

import numpy as np

from rainproof.core import documents, files
from rainproof.errors import InputError
from rainproof.inference.options import Seed
from rainproof.recalibration.online import MOST_WAITING, OnlineRecalibrator

_KIND = "stream"
_VERSION = 2
_KEYS = ("journal", "asked", "learnt", "recalibrator")
MOST_LEARNT = 100_000
"""Ids whose outcome is remembered, so that it can be sent again."""

JOURNAL = 10_000
"""Records after which the state file is written anew."""

Name = str | int


class Stream:
    """Answer predictions ``{"id", "p"}`` and outcomes ``{"id", "y"}``, with a state file that one
    process may use.

    Where there are several models, ``p`` is an object with a number for each.
    """

    def __init__(
        self, path: str | os.PathLike[str], grid: int | None = None, rng: Seed = None
    ) -> None:
        self._path = Path(path)
        # Lock and journal stand beside the file, whatever name it was called by: also if a link to
        # its folder leads to another one before all is written.
        behind = files.behind_links(self._path)
        if behind != self._path.absolute():
            self._path = behind
        if self._path.is_dir():  # as the empty name is
            raise InputError(f"path must name the file of the state; {str(path)!r} is a folder")
        if self._path.exists() and not self._path.is_file():
            raise InputError(
                f"path must name the file of the state; {str(path)!r} is no regular file"
            )
        self._asked: dict[Name, Any] = {}  # the p of each id that waits for its outcome
        # p, what was predicted, and y
        self._learnt: OrderedDict[Name, tuple[Any, float, int]] = OrderedDict()
        # Of the journal:
        self._number = 0
        self._records = 0
        self._size = 0  # bytes
        self._file: BinaryIO | None = None
        secret = np.random.default_rng()
        self._recalibrator = OnlineRecalibrator(grid, secret if rng is None else rng)
        self._lock = files.locked(self._path.with_name(f"{self._path.name}.lock"))
        try:
            self._open()
            if grid is not None:
                self._check_grid(grid)
        except BaseException:
            self._lock.close()
            raise

    def _open(self) -> None:
        """Go on where the files are, or begin with none."""
        if self._path.exists():
            documents.read_json(self._path, _KIND, self._restore, saved=True)
            self._replay()
            self._journal(self._number - 1).unlink(missing_ok=True)  # a kill may have left it
            return
        left = sorted(self._path.parent.glob(f"{escape(self._path.name)}.journal-*"))
        if left:
            raise InputError(
                f"{left[0]} has no state file {self._path}: without it, it cannot be done again"
            )
        self._snapshot(self._number)

    def _check_grid(self, grid: int) -> None:
        """Refuse a grid that is not that of the state."""
        grows = self._recalibrator.grows
        if grows or grid != self._recalibrator.grid:
            has = "which grows" if grows else self._recalibrator.grid
            raise InputError(f"grid must be that of {self._path}, {has}; it is {grid}")

    def _journal(self, number: int) -> Path:
        return self._path.with_name(f"{self._path.name}.journal-{number}")

    def answer(self, record: Any) -> dict[str, Any]:
        """Do what a record asks for, once, and return the answer."""
        _check(record)
        known = self._known(record)
        if known is not None:
            return known
        # Refuse first what would be refused: the journal has only what can be done again.
        if "p" in record:
            self._recalibrator.check(record["p"])
            if self._recalibrator.waiting >= MOST_WAITING:
                raise InputError(f"{MOST_WAITING:,} predictions wait for their outcome already")
        if "y" in record and record["id"] not in self._asked:
            raise InputError(
                f"id must be that of a prediction that waits for its outcome; {record['id']!r} is "
                "not"
            )
        if self._records >= JOURNAL:
            self._turn()
        self._note(json.dumps(record, allow_nan=False).encode() + b"\n")
        self._records += 1
        return self._do(record)

    def _note(self, line: bytes) -> None:
        """Append a line to the journal. What a full disk leaves of it is overwritten by the next
        one, or cut off.
        """
        path = self._journal(self._number)
        with files.file_errors(path):
            if self._file is None:
                self._file = path.open("r+b" if path.exists() else "xb", buffering=0)
            self._file.seek(self._size)
            if self._file.write(line) != len(line):
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        self._size += len(line)

    def _known(self, record: dict[str, Any]) -> dict[str, Any] | None:
        """The answer to a record that was done before."""
        name = record["id"]
        y: int | None = None
        if name in self._learnt:
            p, probability, y = self._learnt[name]
        elif name in self._asked:
            p = self._asked[name]
            probability = self._recalibrator.prediction(name)
        else:
            return None
        if "p" in record:
            if record["p"] != p:
                raise InputError(
                    f"id must be new for each prediction; {name!r} was that of p = {p!r}"
                )
            return {"id": name, "probability": probability}
        if y is None:
            return None
        if y != record["y"]:
            raise InputError(
                f"y must be what it was; the outcome {y} of {name!r} is learnt already"
            )
        return {"id": name, "learnt": True}

    def _do(self, record: dict[str, Any]) -> dict[str, Any]:
        """Predict or learn."""
        name = record["id"]
        if "p" in record:
            self._asked[name] = record["p"]
            return {"id": name, "probability": self._recalibrator.predict(record["p"], id=name)}
        probability = self._recalibrator.prediction(name)
        self._learnt[name] = (self._asked.pop(name), probability, record["y"])
        self._recalibrator.update(record["y"], id=name)
        if len(self._learnt) > MOST_LEARNT:
            self._learnt.popitem(last=False)
        return {"id": name, "learnt": True}

    def _replay(self) -> None:
        """Do again what the journal has; a last line without its end was never answered, and is
        overwritten.
        """
        journal = self._journal(self._number)
        raw = journal.read_bytes() if journal.exists() else b""
        self._size = raw.rfind(b"\n") + 1
        for number, line in enumerate(raw[: self._size].splitlines(), 1):
            try:
                self._do(json.loads(line))
            except (InputError, ValueError, KeyError, TypeError) as error:
                raise InputError(
                    f"{journal} is damaged: line {number:,} cannot be done again ({error})"
                ) from error
            self._records += 1

    def _turn(self) -> None:
        """Write the state file, and begin a new journal. The state names its journal: a kill in
        between is no harm.
        """
        with files.file_errors(self._path):
            self._journal(self._number + 1).unlink(missing_ok=True)  # of a state that was replaced
        self._snapshot(self._number + 1)
        self._end_journal()
        self._journal(self._number).unlink(missing_ok=True)
        self._number += 1
        self._records = 0
        self._size = 0

    def _end_journal(self) -> None:
        if self._file is not None:
            self._file.close()
            self._file = None

    def _snapshot(self, number: int) -> None:
        """Write the state file; it names the journal of what comes after it."""
        content = {
            "journal": number,
            "asked": [list(pair) for pair in self._asked.items()],
            "learnt": [[name, *rest] for name, rest in self._learnt.items()],
            "recalibrator": self._recalibrator.to_dict(),
        }
        text = documents.as_text(documents.document(_KIND, _VERSION, content))
        files.write_atomic(self._path, text, now=True)

    def _restore(self, data: Any) -> None:
        data = documents.check_document(data, _KIND, version=_VERSION, keys=_KEYS)
        self._number = data["journal"]
        self._asked = dict(data["asked"])
        self._learnt = OrderedDict(
            (name, (p, probability, y)) for name, p, probability, y in data["learnt"]
        )
        self._recalibrator = OnlineRecalibrator.from_dict(data["recalibrator"])

    def close(self) -> None:
        """Write the state file, if anything happened; nothing is left in a journal then."""
        try:
            if self._records:
                self._turn()
        finally:
            self._leave()

    def _leave(self) -> None:
        """Let others use the files, as they are now."""
        self._end_journal()
        self._lock.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        at: TracebackType | None,
    ) -> None:
        if kind is None:
            self.close()
        else:  # a record may be half done: the journal has all of it
            self._leave()


def _check(record: Any) -> None:
    """Refuse a record that can never be done."""
    if not isinstance(record, dict) or set(record) not in ({"id", "p"}, {"id", "y"}):
        raise InputError("a record must be an object with 'id' and 'p', or with 'id' and 'y'")
    if type(record["id"]) not in (str, int):
        raise InputError(f"id must be text or an integer; it is {record['id']!r}")
    p = record.get("p", 0)
    for prediction in p.values() if isinstance(p, dict) else [p]:
        if type(prediction) not in (int, float) or not 0 <= prediction <= 1:
            raise InputError(
                f"p must be a number in [0, 1], or an object of such by model; it is {p!r}"
            )
    y = record.get("y", 0)
    if type(y) is not int or y not in (0, 1):
        raise InputError(f"y must be 0 or 1; it is {y!r}")
