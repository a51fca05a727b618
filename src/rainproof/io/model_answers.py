"""Answers of language models to multiple-choice questions, as evaluation harnesses log them: how
sure a model was of each answer, and whether it was right.
"""

from __future__ import annotations

import math
import os
import reprlib
from collections.abc import Iterable, Mapping
from contextlib import suppress
from typing import Any, NamedTuple

from rainproof.core.sample import Sample
from rainproof.errors import InputError
from rainproof.io.json_files import json_objects
from rainproof.io.locations import Location, expand
from rainproof.io.source_errors import need_pyarrow

# By these a question is told from those of other files.
_HASHES = ("doc_hash", "prompt_hash", "target_hash")
_ROUNDING = 1e-6  # by which rounding may lift a log-probability above 0
_CHOICE = 'a log-probability, at most 0, and a flag, such as ["-1.5", "False"]'


def read_answers(source: str | os.PathLike[str] | Iterable[str | os.PathLike[str]]) -> Sample:
    """Read the answers to multiple-choice questions that lm-evaluation-harness logs:
    ``samples_*.jsonl``.

    The event is *the chosen answer is right*. Its predicted probability is that of the chosen
    answer among the choices: with the logged log-probabilities :math:`l_i` it is
    :math:`\\exp(\\max_i l_i) / \\sum_i \\exp(l_i)`. It is relative to the choices, and long choices
    have smaller ones: whether it can be taken for a probability is what to assess. Explained in
    docs/guide/language-models.md.

    Parameters
    ----------
    source : path, or sequence of paths
        Files that ``lm_eval --log_samples`` wrote. Each line is an answer with ``filtered_resps``,
        the log-probability of each choice, and ``acc``, 1 if the most probable choice was right.
        Patterns (``samples_mmlu_*.jsonl``), compressed files (``.gz``) and addresses are read as
        `scan` reads them.

    Returns
    -------
    Sample
        A row for each answer, in order.

    Raises
    ------
    InputError
        If a file cannot be read, a line is no such answer, or a question comes twice: in the files
        of two runs, or in a line for each filter.
    MissingExtraError
        If PyArrow is not installed.

    Examples
    --------
    >>> import tempfile, rainproof
    >>> with tempfile.NamedTemporaryFile("w", suffix=".jsonl") as log:
    ...     choices = '[["-1.5", "False"], ["-0.4", "True"]]'
    ...     _ = log.write(f'{{"doc_id": 0, "filtered_resps": {choices}, "acc": 1.0}}\\n')
    ...     log.flush()
    ...     rainproof.io.read_answers(log.name).y_prob.round(3)
    array([0.75])
    """
    need_pyarrow()
    right: list[float] = []
    confidence: list[float] = []
    questions = _Questions()
    for file in _files(source):
        answers_before = len(right)
        questions.begin(file)
        with file.errors(), file.stream() as stream:
            for record, place in json_objects(file, stream):
                answer = _answer(record, place)
                questions.add(record, place)
                right.append(answer.right)
                confidence.append(answer.confidence)
        if len(right) == answers_before:
            raise InputError(f"{file.name} holds no answers")
    return Sample(right, confidence)


def _files(source: Any) -> list[Location]:
    """Return the files, each of which must be given once."""
    is_several = isinstance(source, Iterable) and not isinstance(source, str | os.PathLike | bytes)
    names = list(source) if is_several else [source]
    rule = "source must name one file or several"
    if not names:
        raise InputError(f"{rule}; it is empty")
    wrong = [place for place, name in enumerate(names) if not isinstance(name, str | os.PathLike)]
    if wrong:
        first = f"source[{wrong[0]}]" if is_several else "source"
        raise InputError.from_offenders(rule, len(wrong), first, reprlib.repr(names[wrong[0]]))
    return [Location(path) for path in expand([os.fspath(name) for name in names])]


class _Questions:
    """Refuses a question that comes twice."""

    def __init__(self) -> None:
        self._path = ""
        self._places_in_file: dict[str, str] = {}  # of each question
        self._first_places: dict[str, tuple[str, str]] = {}  # file and line of each in all files

    def begin(self, file: Location) -> None:
        """Start with the next file."""
        self._path = file.path
        self._places_in_file = {}

    def add(self, record: Mapping[str, Any], place: str) -> None:
        """Take the question of a record."""
        question_id = record.get("doc_id")
        hashes = [record.get(name) for name in _HASHES]
        first_place = place
        if question_id is not None:
            question = repr((question_id, hashes[0]))
            first_place = self._places_in_file.setdefault(question, place)
        if None not in hashes:
            here = (self._path, place)
            other_path, other_place = self._first_places.setdefault(repr(hashes), here)
            # Within a file, a dataset may have a question twice.
            if other_path != self._path:
                first_place = other_place
        if first_place != place:
            raise InputError(
                f"each question must come once; {place} has that of {first_place} "
                "(of several runs, models or filters, give one)"
            )


class _Answer(NamedTuple):
    """The answer to one question."""

    right: float  # whether the chosen answer was right
    confidence: float  # the probability of the chosen answer among the choices


def _answer(record: Mapping[str, Any], place: str) -> _Answer:
    """Read the answer in a record, or refuse the record."""

    def refused(reason: str) -> InputError:
        return InputError(f"{place} is no answer to a multiple-choice question: {reason}")

    if "acc" not in record:
        meaning = "which says whether the chosen answer was right (logs with a confidence: scan)"
        raise refused(f"it has no 'acc', {meaning}")
    right = record["acc"]
    if right not in (0, 1):
        meaning = "(a share, as of truthfulqa_mc2, is no event)"
        raise refused(f"'acc' must be 0 or 1; it is {reprlib.repr(right)} {meaning}")
    if "acc_mutual_info" in record:
        raise refused("it has 'acc_mutual_info', for which the choices are logged twice")
    choices = record.get("filtered_resps")
    if not isinstance(choices, list) or len(choices) < 2:
        raise refused("it must have 'filtered_resps', a list of two choices or more")
    logs = [_log_probability(choice) for choice in choices]
    # NaN is not at most 0 either.
    wrong = [choice for choice, log in zip(choices, logs, strict=True) if not log <= _ROUNDING]
    if wrong:
        rule = f"each of 'filtered_resps' must be {_CHOICE}"
        counts = f"{len(wrong):,} of {len(logs):,} are not"
        raise refused(f"{rule}; {counts}, the first is {reprlib.repr(wrong[0])}")
    largest = max(logs)
    if largest == -math.inf:
        raise refused("no choice of 'filtered_resps' has a probability above 0")
    # Relative to the largest, so that no exponential underflows to a sum of 0.
    relative = [math.exp(log - largest) for log in logs]
    return _Answer(float(right), 1 / math.fsum(relative))


def _log_probability(choice: Any) -> float:
    """Return the log-probability of a choice; NaN if it is none."""
    if not isinstance(choice, list) or len(choice) != 2:
        return math.nan
    log, flag = choice
    if str(flag) not in ("True", "False") or isinstance(log, bool):
        return math.nan
    with suppress(TypeError, ValueError, OverflowError):
        return float(log)
    return math.nan
