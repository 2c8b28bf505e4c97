"""The one verdict on an answer: what the search found, what the model said about it, and what the check found. Pure.

In: the verdict on the evidence, and the reply. Out: the verdict that every door shows. Before the answer, `judge` says
how likely the passages hold it. The model has then read them, and the check has compared its sentences with them; both
know more than the search did. A refusal ends it, an answer that its passages do not support is never `high`, and one
that they do support is an answer even if the search alone would not have dared.
"""

from __future__ import annotations

from dataclasses import replace

from quoth.domain import ConfidenceLevel, Grounding, Reply, Verdict

_LEVELS: tuple[ConfidenceLevel, ...] = ("insufficient", "low", "medium", "high")


def conclude(verdict: Verdict, reply: Reply) -> Verdict:
    if reply.refusal == "whole":
        return replace(verdict, should_answer=False, level="insufficient", confidence=0.0)
    if not reply.work.model or reply.draft.text == "":  # the book's own words: the verdict on the evidence holds
        return verdict
    level: ConfidenceLevel = verdict.level if verdict.should_answer else "low"
    if reply.refusal == "part":
        level = _at_most(level, "medium")
    share = _supported(reply.grounding)
    level = _at_most(level, "low" if share <= 1 / 2 else "medium" if share <= 3 / 4 else "high")
    partial = reply.refusal == "part"
    return replace(verdict, confidence=verdict.confidence * share, level=level, should_answer=True, partial=partial)


def _supported(grounding: Grounding) -> float:
    """The supported share of all sentences that the model wrote, including those that a strict check has removed."""
    total = grounding.total + grounding.removed
    return grounding.supported / total if total else 1.0


def _at_most(level: ConfidenceLevel, highest: ConfidenceLevel) -> ConfidenceLevel:
    return min(level, highest, key=_LEVELS.index)
