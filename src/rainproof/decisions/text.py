"""Decisions in words, for people who have never seen a payoff matrix."""

from __future__ import annotations

from collections.abc import Sequence


def decision_with(thresholds: Sequence[float]) -> str:
    """Describe a decision by its thresholds: "a decision with threshold 0.2 (a miss costs 4 times a false alarm)"."""
    ends = list(map(show_threshold, thresholds))
    if len(ends) == 1:
        return f"a decision with threshold {ends[0]}{_cost_ratio(thresholds[0])}"
    return f"a decision among {len(ends) + 1} actions with thresholds {' and '.join(ends)}"


def show_threshold(threshold: float) -> str:
    """Format a threshold; it may lie a last bit beside the prediction that it stands for."""
    return f"{round(threshold, 12):.4g}"


def _cost_ratio(threshold: float) -> str:
    """A false alarm costs the threshold, a miss 1 minus it."""
    if not 1e-12 < threshold < 1 - 1e-12:
        return ""
    ratio = threshold / (1 - threshold)
    if 0.98 < ratio < 1.02:
        return " (a false alarm costs as much as a miss)"
    if ratio > 1:
        return f" (a false alarm costs {ratio:.2g} times a miss)"
    return f" (a miss costs {1 / ratio:.2g} times a false alarm)"
