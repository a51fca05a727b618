"""An online recalibrator that answers one record at a time and survives being killed at any point.

Every record is written to a journal before it is answered. The state file has all that happened up to some record; the
journal has the records since. After a kill the records of the journal are done again, with the same coins and the same
result. Whoever got no answer sends the record again: it is answered, and nothing is learnt twice.
"""

from __future__ import annotations

import json
import os
from collections import OrderedDict
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from brolly.core.atomic_write import write_atomic, write_errors
from brolly.core.json_file import check_document, digest_of, read_json
from brolly.errors import InputError
from brolly.inference.resampling import Seed
from brolly.recalibration.online import MOST_WAITING, OnlineRecalibrator
from brolly.recalibration.storage import as_text

_VERSION = 1
_KEYS = ("journal", "learnt", "recalibrator", "digest")
MOST_LEARNT = 100_000  # ids whose outcome is remembered, so that it can be sent again
JOURNAL = 10_000  # records after which the state file is written anew


class Stream:
    """Answer predictions ``{"id", "p"}`` and outcomes ``{"id", "y"}``, with a state file."""

    def __init__(self, path: str | os.PathLike[str], grid: int = 32, rng: Seed = None) -> None:
        self._path = Path(path)
        self._learnt: OrderedDict[str | int, float] = OrderedDict()  # what was predicted, by id
        self._number = 0
        self._recalibrator = OnlineRecalibrator(grid, rng)
        self._records = 0
        if self._path.exists():
            read_json(self._path, "stream", lambda data, _: self._restore(data))
            self._replay()
        elif self._journal().exists():
            raise InputError(f"{self._journal()} has no state file {self._path}: without it, it cannot be done again")
        else:
            self._snapshot()
        self._remove_old()

    def _journal(self) -> Path:
        return self._path.with_name(f"{self._path.name}.journal-{self._number}")

    def _remove_old(self) -> None:
        self._path.with_name(f"{self._path.name}.journal-{self._number - 1}").unlink(missing_ok=True)

    def answer(self, record: Any) -> dict[str, Any]:
        """Do what a record asks for, once, and return the answer."""
        known = self._known(record)
        if known is not None:
            return known
        # Refuse first what would be refused: the journal has only what can be done again.
        self._check(record)
        with write_errors(self._journal()), self._journal().open("ab", buffering=0) as file:
            file.write(json.dumps(record, allow_nan=False).encode() + b"\n")
        found = self._do(record)
        self._records += 1
        if self._records >= JOURNAL:
            self._turn()
        return found

    def _known(self, record: Any) -> dict[str, Any] | None:
        """The answer to a record that was done before."""
        if not isinstance(record, dict) or set(record) not in ({"id", "p"}, {"id", "y"}):
            raise InputError("a record must be an object with 'id' and 'p', or with 'id' and 'y'")
        name = record["id"]
        if isinstance(name, bool) or not isinstance(name, str | int):
            raise InputError(f"id must be text or an integer; it is {name!r}")
        if "p" in record and name in self._recalibrator._waiting:
            point = self._recalibrator._waiting[name]
            return {"id": name, "probability": point[0] / point[1]}
        if name in self._learnt:
            return {"id": name, "probability": self._learnt[name]} if "p" in record else {"id": name, "learnt": True}
        return None

    def _check(self, record: dict[str, Any]) -> None:
        if "p" in record:
            p = record["p"]
            if isinstance(p, bool) or not isinstance(p, int | float) or not 0 <= p <= 1:
                raise InputError(f"p must be a number in [0, 1]; it is {p!r}")
            if self._recalibrator.waiting >= MOST_WAITING:
                raise InputError(f"{MOST_WAITING:,} predictions wait for their outcome already")
        elif type(record["y"]) is not int or record["y"] not in (0, 1):
            raise InputError(f"y must be 0 or 1; it is {record['y']!r}")
        elif record["id"] not in self._recalibrator._waiting:
            raise InputError(f"id must be that of a prediction that waits for its outcome; {record['id']!r} is not")

    def _do(self, record: dict[str, Any]) -> dict[str, Any]:
        name = record["id"]
        if "p" in record:
            return {"id": name, "probability": self._recalibrator.predict(float(record["p"]), id=name)}
        point = self._recalibrator._waiting[name]
        self._recalibrator.update(record["y"], id=name)
        self._learnt[name] = point[0] / point[1]
        if len(self._learnt) > MOST_LEARNT:
            self._learnt.popitem(last=False)
        return {"id": name, "learnt": True}

    def _replay(self) -> None:
        """Do again what the journal has; a last line without its end was never answered, and is cut off."""
        journal = self._journal()
        raw = journal.read_bytes() if journal.exists() else b""
        whole = raw.rfind(b"\n") + 1
        for number, line in enumerate(raw[:whole].splitlines(), 1):
            try:
                self._do(json.loads(line))
            except (InputError, ValueError, KeyError, TypeError) as error:
                raise InputError(f"{journal} is damaged: line {number:,} cannot be done again ({error})") from error
            self._records += 1
        if whole < len(raw):
            os.truncate(journal, whole)

    def _turn(self) -> None:
        """Write the state file, and begin a new journal. The state names its journal: a kill in between is no harm."""
        self._number += 1
        self._snapshot()
        self._remove_old()
        self._records = 0

    def _snapshot(self) -> None:
        content = {
            "format": "brolly stream",
            "version": _VERSION,
            "journal": self._number,
            "learnt": [list(pair) for pair in self._learnt.items()],
            "recalibrator": self._recalibrator.to_dict(),
        }
        write_atomic(self._path, as_text({**content, "digest": digest_of(content)}))

    def _restore(self, data: Any) -> None:
        data = check_document(data, "stream", version=_VERSION, keys=_KEYS)
        if digest_of({key: value for key, value in data.items() if key != "digest"}) != data["digest"]:
            raise InputError("it is damaged: its digest does not fit its content")
        self._number = data["journal"]
        self._learnt = OrderedDict((name, probability) for name, probability in data["learnt"])
        self._recalibrator = OnlineRecalibrator.from_dict(data["recalibrator"])

    def close(self) -> None:
        """Write the state file; nothing is left in a journal then."""
        self._turn()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.close()
