"""The trace of an answer: how it came about, as `quoth explain` prints it. Pure.

In: a question, the evidence found for it, and the answer. Out: a `Trace` of plain JSON: the query and why it differs
from the question, the heads of both rank lists, how they were fused, what the judge weighed, what the model was told
and did, and the support of every sentence. It names passages and copies only the words in which the reader model saw
the answer; it is never larger than `LARGEST_TRACE`. Others decide when and where to store it.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from quoth.ask.calibration import sigmoid
from quoth.ask.gaps import shown
from quoth.ask.prompts import PROMPT_VERSION
from quoth.ask.redaction import redacted
from quoth.domain import (
    Answer,
    Basis,
    Candidate,
    Chunk,
    Evidence,
    Filters,
    Grounding,
    Passage,
    Question,
    Reading,
    Trace,
    Verdict,
)
from quoth.text.terms import content_terms

VERSION = 1  # of the record
HIDDEN = "[hidden]"  # in place of a redacted word
LARGEST_TRACE = 20_000  # bytes
# How long the texts and lists of an oversized record may be. The first pair that makes it small enough is used.
_ROOM = ((1_000, 40), (300, 20), (100, 12), (40, 6), (20, 3))


def trace_of(answer: Answer, evidence: Evidence, *, first_word_ms: float | None = None) -> Trace:
    asked = answer.question
    record: dict[str, Any] = {
        "version": VERSION,
        "question": _question(asked),
        "query": _query(evidence),
        "dense": _head(evidence.candidates, "dense"),
        "sparse": _head(evidence.candidates, "sparse"),
        "fused": [_passage(rank, passage, answer) for rank, passage in enumerate(evidence.passages, start=1)],
        "verdict": _verdict(answer.verdict),
        "answer": _answer(answer),
        "grounding": _grounding(answer.grounding),
        "times": {
            "stages": {stage: _rounded(spent) for stage, spent in answer.stage_ms.items()},
            "first_word": None if first_word_ms is None else _rounded(first_word_ms),
            "total": _rounded(answer.query_time_ms),
        },
    }
    return Trace(
        request_id=asked.request_id,
        session_id=asked.session_id,
        book_id=asked.book_id,
        created_at=answer.created_at,
        record=shorten(hide(record)),
    )


def hide(record: Mapping[str, Any]) -> dict[str, Any]:
    """The record as an operator may see it: the reader's words, and anything a model may have repeated of them, are
    redacted as in recorded questions."""
    question, query, answer, grounding = (record[name] for name in ("question", "query", "answer", "grounding"))
    asked, searched = shown(question["text"]), shown(query["searched"])
    said = {term.text for term in content_terms(f"{asked}\n{searched}")}
    return {
        **record,
        "question": {**question, "text": asked},
        "query": {
            **query,
            "searched": searched,
            "carried": [word if word in searched else HIDDEN for word in query["carried"]],
            "terms": [{**term, "text": term["text"] if term["text"] in said else HIDDEN} for term in query["terms"]],
        },
        "answer": {**answer, "tools": [{**call, "arguments": redacted(call["arguments"])} for call in answer["tools"]]},
        "grounding": {**grounding, "sentences": [_hidden(sentence) for sentence in grounding["sentences"]]},
    }


def _hidden(sentence: dict[str, Any]) -> dict[str, Any]:
    return {**sentence, "text": redacted(sentence["text"]), "reason": redacted(sentence["reason"])}


def _question(asked: Question) -> dict[str, Any]:
    return {
        "text": asked.query,
        "selected_text": None if asked.selected_text is None else len(asked.selected_text),
        "filters": _filters(asked.filters),
        "top_k": asked.top_k,
    }


def _query(evidence: Evidence) -> dict[str, Any]:
    """The query, and why it is not the question itself."""
    return {
        "searched": evidence.query,
        "rules": list(evidence.rules),
        "carried": list(evidence.carried),
        "terms": [{"text": term.text, "idf": _rounded(term.idf), "in_book": term.in_book} for term in evidence.terms],
        "chunks": evidence.total_found,
    }


def _grounding(grounding: Grounding) -> dict[str, Any]:
    return {
        "supported": grounding.supported,
        "total": grounding.total,
        "removed": grounding.removed,
        "sentences": [
            {
                "text": sentence.text,
                "supported": sentence.supported,
                "score": _rounded(sentence.score),
                "sources": list(sentence.sources),
                "reason": sentence.reason,
            }
            for sentence in grounding.sentences
        ],
    }


def shorten(record: dict[str, Any]) -> dict[str, Any]:
    """The record with as much of its texts and lists as fits."""
    cut = record
    for width, length in _ROOM:
        if _size(cut) <= LARGEST_TRACE:
            break
        cut = _cut(record, width, length)
    return cut


def _size(record: dict[str, Any]) -> int:
    return len(json.dumps(record, ensure_ascii=False).encode("utf-8", "replace"))


def _cut(value: Any, width: int, length: int) -> Any:
    match value:
        case str():
            return value if len(value) <= width else value[: width - 1] + "…"
        case list():
            return [_cut(item, width, length) for item in value[:length]]
        case dict():
            return {name: _cut(item, width, length) for name, item in value.items()}
    return value


def _filters(filters: Filters) -> dict[str, Any]:
    values = ((name, getattr(filters, name)) for name in Filters.__slots__)
    return {
        name: list(value) if isinstance(value, tuple) else value for name, value in values if value not in (None, ())
    }


def _head(candidates: Sequence[Candidate], side: str) -> list[dict[str, Any]]:
    """The best of one rank list, in order, without candidates that only the other list ranks high."""
    by_rank = {getattr(one, f"{side}_rank"): one for one in candidates}
    rows: list[dict[str, Any]] = []
    while one := by_rank.get(len(rows) + 1):
        score = _rounded(getattr(one, f"{side}_score"))
        rows.append({"rank": len(rows) + 1, "chunk_id": one.chunk_id, "score": score, "place": one.place})
    return rows


def _passage(rank: int, passage: Passage, answer: Answer) -> dict[str, Any]:
    return {
        "rank": rank,
        "chunk_id": passage.chunk.id,
        "place": " › ".join(passage.chunk.breadcrumb),
        "score": _rounded(passage.score),
        "similarity": _rounded(passage.similarity),
        "dense_rank": passage.dense_rank,
        "sparse_rank": passage.sparse_rank,
        "dense_score": _rounded(passage.dense_score),
        "sparse_score": _rounded(passage.sparse_score),
        "pair_share": _rounded(passage.pair_share),
        "agreement": _rounded(passage.agreement),
        "read": None if passage.reading is None else _reading(passage.reading, passage.chunk),
        "cited_as": [one.index for one in answer.citations if one.chunk.id == passage.chunk.id],
    }


def _reading(reading: Reading, chunk: Chunk) -> dict[str, Any]:
    """The reader model's view of a passage: probabilities, and the words in which it sees the answer."""
    return {
        "answers": _rounded(sigmoid(reading.answerable)),
        "relevant": _rounded(sigmoid(reading.relevance)),
        "margin": _rounded(reading.margin),
        "words": chunk.text[reading.start : reading.end],
    }


def _verdict(verdict: Verdict) -> dict[str, Any]:
    basis = verdict.basis
    return {
        "confidence": _rounded(verdict.confidence),
        "level": verdict.level,
        "should_answer": verdict.should_answer,
        "threshold": None if basis is None else _rounded(basis.threshold),
        "fitted": None if basis is None else basis.fitted,
        "bias": None if basis is None else _rounded(basis.bias),
        "features": [] if basis is None else _features(basis),
    }


def _features(basis: Basis) -> list[dict[str, Any]]:
    """Features with a weight, the heaviest first; then the others."""
    rows = [
        {"name": name, "value": _rounded(value), "weight": _rounded(weight), "adds": _rounded(weight * value)}
        for name, value in basis.features.items()
        for weight in (basis.weights.get(name, 0.0),)
    ]
    return sorted(rows, key=lambda row: -abs(row["adds"] or 0.0))


def _answer(answer: Answer) -> dict[str, Any]:
    by_model = answer.model is not None
    return {
        "mode": answer.mode,
        "characters": len(answer.text or ""),
        "fallback_message": answer.fallback_message,
        "model": answer.model,
        "prompt_version": PROMPT_VERSION if by_model else None,
        "tokens": answer.tokens_used,
        "prompt_tokens": answer.work.prompt_tokens,
        "rounds": answer.work.rounds,
        "tools": [{"name": call.name, "arguments": call.arguments} for call in answer.work.tools],
        "citations": [
            {"index": one.index, "chunk_id": one.chunk.id, "start": one.start, "end": one.end}
            for one in answer.citations
        ],
    }


def _rounded(number: float | None) -> Any:
    return None if number is None else round(number, 4) + 0.0  # never -0.0
