"""A question, its verdict, its answer, and the events of its stream."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Literal

from quoth.domain.books import Chunk
from quoth.domain.filters import Filters
from quoth.domain.messages import ToolCall, ToolUse
from quoth.domain.searching import CitedSource, Evidence, PastTurn

AnswerMode = Literal["full", "extractive", "selected_text", "retrieval_only", "no_results"]
ConfidenceLevel = Literal["high", "medium", "low", "insufficient"]
Refusal = Literal["none", "part", "whole"]  # how much of what was asked an answer refuses

# What a reader is told when the book does not hold the answer; a setting may change it.
REFUSAL_SENTENCE = "I don't have information about that in the book content"
# What an answer of low confidence carries.
DISCLAIMER = "The book touches on this only loosely: check the sources."


@dataclass(frozen=True, slots=True)
class ConfidenceMetrics:
    """Figures over the calibrated similarities of the passages."""

    average_similarity: float
    min_similarity: float
    max_similarity: float
    num_chunks: int
    chunk_diversity: float

    @property
    def has_sufficient_context(self) -> bool:
        """Similar enough on average, over at least three passages."""
        return self.average_similarity >= 0.75 and self.num_chunks >= 3


@dataclass(frozen=True, slots=True)
class Basis:
    """What a confidence was computed from: sigmoid(bias + sum of weight * feature), compared with the threshold."""

    features: Mapping[str, float]
    weights: Mapping[str, float]
    bias: float
    threshold: float
    fitted: bool  # on measured data, or only a rule of thumb


@dataclass(frozen=True, slots=True)
class Verdict:
    """Is this evidence enough to answer from? "I don't know" is a verdict; an outage is an error, never a verdict."""

    confidence: float
    level: ConfidenceLevel
    should_answer: bool
    metrics: ConfidenceMetrics
    basis: Basis | None = None  # None if nothing was weighed: a table decided, or there was nothing to judge
    outside: bool = False  # plainly not in the book: not even a language model is asked
    partial: bool = False  # the answer itself says that a part of what was asked is not in the book


@dataclass(frozen=True, slots=True)
class Citation:
    """The exact words relied on: `quote` is at `start:end` in the source file."""

    index: int  # the n of [n] in the answer
    chunk: Chunk
    quote: str
    start: int
    end: int
    similarity: float
    highlight: tuple[int, int] | None = None  # start and end of the decisive sentence in the quote; None: all of it


@dataclass(frozen=True, slots=True)
class CheckedSentence:
    text: str
    supported: bool
    sources: tuple[int, ...]
    score: float = 1.0  # 0–1: the chance that the sources say this
    reason: str = ""  # why it is not supported, for the reader
    start: int | None = None  # where its exact words are in the file of its source
    end: int | None = None


@dataclass(frozen=True, slots=True)
class Grounding:
    """Each sentence of the answer, checked against the passages it cites."""

    sentences: tuple[CheckedSentence, ...] = ()
    removed: int = 0  # sentences that were not supported and are no longer in the answer

    @property
    def supported(self) -> int:
        return sum(sentence.supported for sentence in self.sentences)

    @property
    def total(self) -> int:
        return len(self.sentences)

    @property
    def score(self) -> float:
        """The chance that the sources say even the two sentences that are least like them."""
        weakest = sorted(sentence.score for sentence in self.sentences)[:2]
        return math.prod(weakest)


@dataclass(frozen=True, slots=True)
class Suggestion:
    """A nearby section, offered with a refusal."""

    title: str
    url: str
    breadcrumb: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Question:
    """One turn's request, validated, whichever door it came through."""

    query: str
    book_id: str
    session_id: str
    request_id: str
    selected_text: str | None = None
    filters: Filters = Filters()
    top_k: int = 5
    similarity_threshold: float = 0.0  # passages below it are dropped before judging and answering
    owner: str = ""  # the key that asked, to which its session belongs; empty if no key is needed
    history: tuple[PastTurn, ...] | None = None  # kept by the client; None: the store has it


@dataclass(frozen=True, slots=True)
class Draft:
    """The text of an answer with [n] markers, and what each marker points at."""

    text: str
    citations: tuple[Citation, ...]
    note: str = ""  # what its reader should know, if it is not quite what was asked for


@dataclass(frozen=True, slots=True)
class ModelWork:
    """What a model did for an answer. All of it is empty if no model wrote."""

    model: str = ""  # as its server names it
    rounds: int = 0  # calls of the model
    tools: tuple[ToolCall, ...] = ()  # what it wanted done, as it wrote it
    tokens: int = 0  # of all calls
    prompt_tokens: int = 0  # the part of them that it read
    searches: tuple[ToolUse, ...] = ()  # the outcome of its calls
    retrieved: int = 0  # passages that its calls brought besides those of the first search


@dataclass(frozen=True, slots=True)
class Reply:
    """What is said to a question: a checked draft, and how it came about."""

    draft: Draft
    grounding: Grounding
    mode: AnswerMode
    fallback_message: str = ""
    refusal: Refusal = "none"  # by the model, after reading
    complete: bool = True
    work: ModelWork = ModelWork()


@dataclass(frozen=True, slots=True)
class Answer:
    """The one answer that every door shows."""

    text: str | None
    mode: AnswerMode
    question: Question
    searched_query: str
    citations: tuple[Citation, ...]
    sources: tuple[CitedSource, ...]  # the citations, as readers see them
    verdict: Verdict
    grounding: Grounding
    retrieval_count: int
    created_at: datetime
    query_time_ms: float
    fallback_message: str | None = None
    suggestions: tuple[Suggestion, ...] = ()
    missing_terms: tuple[str, ...] = ()
    stage_ms: Mapping[str, float] = field(default_factory=dict)
    interrupted: bool = False  # the reader left, or the model broke off, before it was complete
    searches: tuple[ToolUse, ...] = ()  # the first, and those of a model; none for a selection
    work: ModelWork = ModelWork()

    @property
    def model(self) -> str | None:
        return self.work.model or None

    @property
    def tokens_used(self) -> int:
        return self.work.tokens

    @property
    def disclaimer(self) -> str | None:
        return DISCLAIMER if self.verdict.level == "low" else None


# The stream of one answer, in this order (docs/contract.md).


@dataclass(frozen=True, slots=True)
class Status:
    stage: Literal["retrieving", "generating"]


@dataclass(frozen=True, slots=True)
class Retrieved:
    evidence: Evidence
    session_id: str = ""  # sent before the first word, so a reader who stops the answer can still go on


@dataclass(frozen=True, slots=True)
class Delta:
    text: str


@dataclass(frozen=True, slots=True)
class Sourced:
    answer: Answer


@dataclass(frozen=True, slots=True)
class Grounded:
    grounding: Grounding


@dataclass(frozen=True, slots=True)
class Done:
    answer: Answer


AnswerEvent = Status | Retrieved | Delta | Sourced | Grounded | Done
