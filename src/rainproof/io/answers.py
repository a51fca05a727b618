"""Logs of evaluation harnesses for language models: how sure a model was of each answer, and whether it was right."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from os import PathLike
from pathlib import Path

from rainproof.core.sample import Sample
from rainproof.errors import InputError


def _answer(record: dict[str, object]) -> tuple[float, float]:
    """Return the confidence in the chosen answer, and whether it was right."""
    choices = [float(choice[0]) for choice in record["filtered_resps"]]  # type: ignore[attr-defined]
    top = max(choices)
    if len(choices) < 2 or not math.isfinite(top) or "acc_mutual_info" in record:
        raise ValueError
    return 1 / math.fsum(math.exp(choice - top) for choice in choices), float(record["acc"])  # type: ignore[arg-type]


def read_answers(source: str | PathLike[str] | Sequence[str | PathLike[str]]) -> Sample:
    """Read the answers to multiple-choice questions that lm-evaluation-harness logs: ``samples_*.jsonl``.

    The event is *the chosen answer is right*. Its predicted probability is that of the chosen answer among the choices:
    with the logged log-probabilities :math:`l_i` it is :math:`\\exp(\\max_i l_i) / \\sum_i \\exp(l_i)`. It is relative
    to the choices, and long choices have smaller ones: whether it can be taken for a probability is what to assess.
    Explained in docs/guide/language-models.md.

    Parameters
    ----------
    source : path, or sequence of paths
        Files that ``lm_eval --log_samples`` wrote. Each line is an answer with ``filtered_resps``, the log-probability
        of each choice, and ``acc``, 1 if the most probable choice was right.

    Returns
    -------
    Sample
        A row for each answer, in order.

    Examples
    --------
    >>> import tempfile, rainproof
    >>> with tempfile.NamedTemporaryFile("w", suffix=".jsonl") as log:
    ...     _ = log.write('{"doc_id": 0, "filtered_resps": [["-1.5", "False"], ["-0.4", "True"]], "acc": 1.0}\\n')
    ...     log.flush()
    ...     rainproof.io.read_answers(log.name).y_prob.round(3)
    array([0.75])
    """
    paths = [source] if isinstance(source, str | PathLike) else list(source)
    answers = []
    for path in paths:
        with Path(path).open(encoding="utf-8") as lines:
            for number, line in enumerate(lines, 1):
                try:
                    answers.append(_answer(json.loads(line)))
                except (KeyError, TypeError, ValueError, IndexError):
                    problem = f"line {number} of {path} is no answer to a multiple-choice question: it must have"
                    raise InputError(
                        f"{problem} 'filtered_resps' with the log-probability of two choices or more, and 'acc' "
                        "(logs with a confidence: scan)"
                    ) from None
    return Sample([right for _, right in answers], [sure for sure, _ in answers])
