"""Logs of evaluation harnesses for language models: how sure a model was of each answer, and
whether it was right.
"""

from __future__ import annotations

import math
import os
import reprlib
from collections.abc import Iterable, Mapping
from contextlib import suppress
from typing import Any

from rainproof.core.sample import Sample
from rainproof.errors import InputError
from rainproof.io.files import Location, expand, json_objects, need_pyarrow

# which tell a question from those of other files
_HASHES = ("doc_hash", "prompt_hash", "target_hash")
_SLACK = 1e-6  # by which rounding may lift a log-probability above 0
_PAIR = 'a log-probability, at most 0, and a flag, such as ["-1.5", "False"]'


def _logarithm(choice: Any) -> float:
    """Return the log-probability of a choice; NaN if it is none."""
    if isinstance(choice, list) and len(choice) == 2 and str(choice[1]) in ("True", "False"):
        with suppress(TypeError, ValueError, OverflowError):
            return math.nan if isinstance(choice[0], bool) else float(choice[0])
    return math.nan


def _answer(record: Mapping[str, Any], place: str) -> tuple[float, float]:
    """Return whether the chosen answer was right, and the confidence in it."""

    def refused(reason: str) -> InputError:
        return InputError(f"{place} is no answer to a multiple-choice question: {reason}")

    if "acc" not in record:
        raise refused(
            "it has no 'acc', which says whether the chosen answer was right (logs with a confidence: scan)"
        )
    right, choices = record["acc"], record.get("filtered_resps")
    if right not in (0, 1):
        raise refused(
            f"'acc' must be 0 or 1; it is {reprlib.repr(right)} (a share, as of truthfulqa_mc2, is no event)"
        )
    if "acc_mutual_info" in record:
        raise refused("it has 'acc_mutual_info', for which the choices are logged twice")
    if not isinstance(choices, list) or len(choices) < 2:
        raise refused("it must have 'filtered_resps', a list of two choices or more")
    logs = [_logarithm(choice) for choice in choices]
    bad = [choice for choice, log in zip(choices, logs, strict=True) if not log <= _SLACK]
    if bad:
        rule = f"each of 'filtered_resps' must be {_PAIR}"
        raise refused(
            f"{rule}; {len(bad):,} of {len(logs):,} are not, the first is {reprlib.repr(bad[0])}"
        )
    top = max(logs)
    if top == -math.inf:
        raise refused("no choice of 'filtered_resps' has a probability above 0")
    return float(right), 1 / math.fsum(math.exp(log - top) for log in logs)


def _files(source: Any) -> list[Location]:
    """Return the files, each of which must be given once."""
    several = isinstance(source, Iterable) and not isinstance(source, str | os.PathLike | bytes)
    names = list(source) if several else [source]
    bad = [at for at, name in enumerate(names) if not isinstance(name, str | os.PathLike)]
    rule = "source must name one file or several"
    if not names:
        raise InputError(f"{rule}; it is empty")
    if bad:
        first = f"source[{bad[0]}]" if several else "source"
        raise InputError.from_offenders(rule, len(bad), first, reprlib.repr(names[bad[0]]))
    return [Location(path) for path in expand([os.fspath(name) for name in names])]


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
    ...     _ = log.write('{"doc_id": 0, "filtered_resps": [["-1.5", "False"], ["-0.4", "True"]], "acc": 1.0}\\n')
    ...     log.flush()
    ...     rainproof.io.read_answers(log.name).y_prob.round(3)
    array([0.75])
    """
    need_pyarrow()
    answers: list[tuple[float, float]] = []
    questions: dict[str, tuple[str, str]] = {}  # the file and the line of each
    for file in _files(source):
        inside, before = dict[str, str](), len(answers)
        with file.errors(), file.stream() as stream:
            for record, place in json_objects(file, stream):
                answers.append(_answer(record, place))
                number, hashes = record.get("doc_id"), [record.get(name) for name in _HASHES]
                first = (
                    place if number is None else inside.setdefault(repr((number, hashes[0])), place)
                )
                if None not in hashes:  # a dataset may have a question twice
                    other, earlier = questions.setdefault(repr(hashes), (file.path, place))
                    first = first if other == file.path else earlier
                if first != place:
                    raise InputError(
                        f"each question must come once; {place} has that of {first} "
                        "(of several runs, models or filters, give one)"
                    )
        if len(answers) == before:
            raise InputError(f"{file.name} holds no answers")
    return Sample([right for right, _ in answers], [sure for _, sure in answers])
