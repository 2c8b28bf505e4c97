"""The words of Quoth, as frozen values.

A Page (one file of a book) is split into Chunks (what is indexed); a search finds Passages (a chunk with scores);
an answer uses Citations (the exact words relied on). This module imports nothing of ours and does no work: every
stage takes these values in and hands these values out.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Literal

ProficiencyLevel = Literal["A1", "A2", "B1", "B2", "C1", "C2"]
Layer = Literal["L1", "L2", "L3", "L4"]
IngestMode = Literal["incremental", "full", "recreate"]
JobStatus = Literal["queued", "running", "completed", "failed"]
AnswerMode = Literal["full", "extractive", "selected_text", "retrieval_only", "no_results"]
ConfidenceLevel = Literal["high", "medium", "low", "insufficient"]
Scope = Literal["ask", "ingest", "admin"]

# What a reader is told when the book does not hold the answer; a setting may change it.
REFUSAL_SENTENCE = "I don't have information about that in the book content"
# What an answer of low confidence carries.
DISCLAIMER = "The book touches on this only loosely: check the sources."

# How a page is written decides which parser reads it.
Markup = Literal["markdown", "mdx", "myst", "rst", "text"]
# Which toolchain publishes the page decides how its headings become anchors.
AnchorRule = Literal[
    "docusaurus",
    "github",
    "honkit",
    "html",  # only ids that stand in the text
    "jupyter",
    "mdbook",
    "mkdocs",
    "mkdocs-unicode",
    "none",
    "pymdownx",
    "pymdownx-cased",
    "sphinx",
]


# --- reading: a book and its pages -----------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Book:
    """One tenant: everything that is stored or searched belongs to exactly one book."""

    book_id: str
    title: str
    base_url: str = ""
    source: str = ""  # where it was last ingested from, for `quoth status`
    toolchain: str = ""  # docusaurus, mdbook, …: who publishes it


@dataclass(frozen=True, slots=True)
class SourceFile:
    """A file that will become a page. `digest` covers everything its chunks depend on (bytes, includes, routing)."""

    source_file: str  # relative to the folder that was ingested, with forward slashes
    digest: str


@dataclass(frozen=True, slots=True)
class Fetched:
    """What a server said to one request. `body` is empty unless the status is 200 and the type was asked for."""

    url: str
    status: int
    content_type: str = ""  # media type, lower case, without parameters
    charset: str = ""
    location: str = ""  # where a redirect leads, as the server wrote it
    robots: str = ""  # X-Robots-Tag
    body: bytes = b""


@dataclass(frozen=True, slots=True)
class Notice:
    """Something an author should know about one file: a default that was taken, a page that could not be read."""

    code: str  # stable and greppable, for example FRONT_MATTER_DEFAULT
    message: str
    source_file: str
    line: int | None = None
    fatal: bool = False  # the page is not in the index because of this

    def __str__(self) -> str:
        place = self.source_file if self.line is None else f"{self.source_file}:{self.line}"
        return f"{place}: {self.message} [{self.code}]"


@dataclass(frozen=True, slots=True)
class Insert:
    """A stretch of `Page.text` that stands in another file, and the directive in the page's own file that shows it."""

    start: int
    end: int
    at: int  # where the directive begins in the file
    until: int  # and ends
    line: int  # in which line of the file it begins
    shift: int  # by how many characters the text behind `end` is further on than in the file
    lines: int  # and by how many lines


@dataclass(frozen=True, slots=True)
class Page:
    """One file as its author wrote it, and where its toolchain publishes it.

    `text` is the whole decoded file, byte order mark and line endings included, so that offsets into it are offsets
    into the file; where the file includes others, their text is in it too, and `inserts` tells where, in order.
    `body_start` is where the front matter ends.
    """

    book_id: str
    source_file: str
    text: str
    file_hash: str  # SHA-256 of the bytes
    url: str  # of the published page, without anchor
    title: str
    markup: Markup = "markdown"
    anchors: AnchorRule = "github"
    body_start: int = 0
    trail: tuple[str, ...] = ()  # labels of the folders above the page, outermost first
    module: str | None = None
    chapter: int | None = None
    lesson: int | None = None
    hardware_tier: int = 1
    proficiency_level: ProficiencyLevel = "A2"
    layer: Layer = "L1"
    language: str | None = None
    version: str | None = None
    notices: tuple[Notice, ...] = ()
    inserts: tuple[Insert, ...] = ()


@dataclass(frozen=True, slots=True)
class Chunk:
    """A piece of a page that is indexed and found as one: `page.text[start:end] == text`, always.

    Where a fence or a table had to be cut, `lead` repeats its opening line or header row; it belongs before `text`
    when the chunk is read, shown or embedded, but is no part of the slice.
    """

    id: str
    book_id: str
    text: str
    start: int
    end: int
    line: int  # 1-based line of `start` in the file
    source_file: str
    source_file_hash: str
    title: str  # of the page
    url: str  # of the published page with the anchor of the nearest heading
    heading_path: tuple[str, ...]  # headings above and at the chunk, outermost first, without the page title
    breadcrumb: tuple[str, ...]  # folders, page title, headings
    content_hash: str  # SHA-256 of `text`
    parent_doc_id: str
    chunk_index: int
    total_chunks: int
    prev_chunk_id: str | None
    next_chunk_id: str | None
    word_count: int
    token_count: int
    char_count: int
    markup: Markup = "markdown"  # of its page
    lead: str = ""
    # Includes add to the text of a page what its file does not hold; `quoth.text.offsets` leads back to the file.
    shift: int = 0  # `start - shift` is the offset in the file, where the chunk does not begin inside an include
    line_shift: int = 0  # `line + line_shift` is the line in the text
    inserts: tuple[Insert, ...] = ()  # those that the chunk holds or is part of
    module: str | None = None
    chapter: int | None = None
    lesson: int | None = None
    hardware_tier: int = 1
    proficiency_level: ProficiencyLevel = "A2"
    layer: Layer = "L1"
    language: str | None = None
    version: str | None = None

    @property
    def included(self) -> bool:
        """Whether its text differs from that of its own file, because an include stands in it."""
        return bool(self.inserts)

    @property
    def section_title(self) -> str | None:
        return self.heading_path[-1] if self.heading_path else None

    @property
    def shown(self) -> str:
        return f"{self.lead}\n{self.text}" if self.lead else self.text


# --- indexing ----------------------------------------------------------------------------------------------------

Vector = tuple[float, ...]


@dataclass(frozen=True, slots=True)
class TermWeights:
    """A sparse vector: one weight for each term id. Ids are ascending and unique."""

    ids: tuple[int, ...]
    weights: tuple[float, ...]


@dataclass(frozen=True, slots=True)
class IndexedChunk:
    """What goes into the index: the chunk, both its vectors, and the hash of the text that was embedded."""

    chunk: Chunk
    dense: Vector
    sparse: TermWeights
    embed_hash: str
    created_at: datetime
    updated_at: datetime


@dataclass(frozen=True, slots=True)
class StoredChunk:
    """What an ingest needs to know of a chunk that is already in the index."""

    id: str
    source_file: str
    payload_hash: str  # of everything but vectors and timestamps: equal means nothing to write
    embed_hash: str
    created_at: datetime


@dataclass(frozen=True, slots=True)
class Fingerprint:
    """How an index was built. A search with another embedder or another chunker would be silently wrong."""

    embedder: str
    dimensions: int
    chunker: str
    terms: str

    def as_dict(self) -> dict[str, str | int]:
        return {
            "embedder": self.embedder,
            "dimensions": self.dimensions,
            "chunker": self.chunker,
            "terms": self.terms,
        }


@dataclass(frozen=True, slots=True)
class IndexStatus:
    book_id: str
    chunks: int
    generation: int
    fingerprint: Fingerprint
    bytes_on_disk: int  # 0 where the index does not know
    published_at: datetime


@dataclass(frozen=True, slots=True)
class IndexPlan:
    """What has to change so that the index holds exactly the wanted chunks of one page."""

    put: tuple[str, ...]  # ids that are new, or whose text, neighbours or metadata changed
    keep: tuple[str, ...]  # ids already right
    drop: tuple[str, ...]  # ids to delete once the others are in


@dataclass(frozen=True, slots=True)
class PageRecord:
    """What the library remembers of a page that is in the index (S3 IngestionRecord)."""

    book_id: str
    source_file: str
    digest: str
    file_hash: str
    chunk_ids: tuple[str, ...]
    ingested_at: datetime
    title: str = ""
    url: str = ""
    module: str | None = None
    chapter: int | None = None
    lesson: int | None = None


@dataclass(frozen=True, slots=True)
class IngestJob:
    """One run of ingestion over a book (S3 IngestionJob). `job_id` is 0 until the library has numbered it."""

    book_id: str
    mode: IngestMode
    job_id: int = 0
    status: JobStatus = "queued"
    files_discovered: int = 0
    files_processed: int = 0
    files_skipped: int = 0
    files_failed: int = 0  # counted in files_processed too: they were looked at
    files_deleted: int = 0
    chunks_created: int = 0
    chunks_kept: int = 0
    chunks_deleted: int = 0
    chunks_embedded: int = 0
    dry_run: bool = False
    started_at: datetime | None = None
    completed_at: datetime | None = None
    duration_seconds: float | None = None
    error_message: str | None = None
    notices: tuple[Notice, ...] = ()


# --- asking --------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Filters:
    """All AND. Enforced inside the index query; nothing that a model says can widen them."""

    source_url_prefix: str | None = None
    section: str | None = None
    module: str | None = None
    chapter_min: int | None = None
    chapter_max: int | None = None
    lesson: int | None = None
    hardware_tier: int | None = None  # this tier or lower
    proficiency_levels: tuple[ProficiencyLevel, ...] = ()  # any of; empty means all
    layer: Layer | None = None
    parent_doc_id: str | None = None

    def narrowed_by(self, other: Filters) -> Filters | None:
        """What passes both, never more; None when nothing can. Two different headings count as nothing: one may stand
        above the other, but a filter names only one."""
        narrowed: dict[str, Any] = {}
        for name in Filters.__slots__:
            one, two = getattr(self, name), getattr(other, name)
            if one in (None, ()) or two in (None, ()):
                narrowed[name] = two if one in (None, ()) else one
            elif (both := _NARROWER.get(name, _same)(one, two)) is None:
                return None
            else:
                narrowed[name] = both
        return Filters(**narrowed)


def _same(one: Any, two: Any) -> Any:
    return one if one == two else None


def _longer_prefix(one: str, two: str) -> str | None:
    short, long = sorted((one, two), key=len)
    return long if long.startswith(short) else None


def _shared(one: tuple[ProficiencyLevel, ...], two: tuple[ProficiencyLevel, ...]) -> Any:
    return tuple(level for level in one if level in two) or None


_NARROWER: Mapping[str, Callable[[Any, Any], Any]] = {
    "source_url_prefix": _longer_prefix,
    "chapter_min": max,
    "chapter_max": min,
    "hardware_tier": min,
    "proficiency_levels": _shared,
}


@dataclass(frozen=True, slots=True)
class IndexQuery:
    book_id: str
    dense: Vector
    sparse: TermWeights
    filters: Filters = Filters()
    limit: int = 50  # of each list


@dataclass(frozen=True, slots=True)
class IndexHit:
    """A chunk by its id: of the many that are found only the best few are worth reading."""

    chunk_id: str
    score: float


@dataclass(frozen=True, slots=True)
class IndexHits:
    """Both rank lists as the index gave them: raw cosine, raw BM25. Fusing them is retrieval's work."""

    dense: tuple[IndexHit, ...]
    sparse: tuple[IndexHit, ...]
    total_found: int  # chunks of the book that pass the filters


@dataclass(frozen=True, slots=True)
class Passage:
    """A chunk that was found, and how. `similarity` is calibrated: 0.5 means as likely relevant as not."""

    chunk: Chunk
    score: float  # fused; passages are ordered by it
    similarity: float
    dense_score: float | None = None
    dense_rank: int | None = None
    sparse_score: float | None = None
    sparse_rank: int | None = None
    pair_share: float = 0.0  # of the query's neighbouring words, those that stand side by side here too, by rarity
    agreement: float = 0.0  # cosine with the best passages


@dataclass(frozen=True, slots=True)
class Candidate:
    """A chunk near the top of either rank list, whether it became a passage or not: what a trace shows of a search."""

    chunk_id: str
    place: str  # its breadcrumb; empty where the chunk was not read
    score: float  # fused, as far as it was looked at
    dense_score: float | None
    dense_rank: int | None
    sparse_score: float | None
    sparse_rank: int | None


@dataclass(frozen=True, slots=True)
class QueryTerm:
    """A content word of the question, and how rare it is in the book."""

    text: str  # as the reader wrote it
    id: int  # its sparse term id
    idf: float
    in_book: bool


@dataclass(frozen=True, slots=True)
class Evidence:
    """All that a search brought back, and what the judge needs to know about it."""

    query: str  # the query really searched
    passages: tuple[Passage, ...]
    total_found: int
    terms: tuple[QueryTerm, ...] = ()
    diversity: float = 0.0  # 1 - mean pairwise cosine of the passages' vectors; 0 for fewer than two
    exclude_quotes: tuple[str, ...] = ()  # what the reader was quoted already and asks to hear more than
    previous_quotes: tuple[str, ...] = ()  # what he was quoted just before he asked on
    rules: tuple[str, ...] = ()  # why the query differs from the question's words
    carried: tuple[str, ...] = ()  # the words taken over from the conversation
    candidates: tuple[Candidate, ...] = ()  # the heads of both rank lists, best fused first

    @property
    def missing_terms(self) -> tuple[str, ...]:
        return tuple(term.text for term in self.terms if not term.in_book)


@dataclass(frozen=True, slots=True)
class ConfidenceMetrics:
    """S4's figures over the calibrated similarities of the passages."""

    average_similarity: float
    min_similarity: float
    max_similarity: float
    num_chunks: int
    chunk_diversity: float

    @property
    def has_sufficient_context(self) -> bool:
        """S4: similar enough on average, and more than two passages say so."""
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
    """May this evidence be answered from? "I don't know" is a verdict; an outage is an error and never gets here."""

    confidence: float
    level: ConfidenceLevel
    should_answer: bool
    metrics: ConfidenceMetrics
    basis: Basis | None = None  # None where nothing was weighed: a table decided, or there was nothing to judge


@dataclass(frozen=True, slots=True)
class Citation:
    """The exact words relied on: `quote` stands at `start:end` in the source file."""

    index: int  # the n of [n] in the answer
    chunk: Chunk
    quote: str
    start: int
    end: int
    similarity: float


@dataclass(frozen=True, slots=True)
class CheckedSentence:
    text: str
    supported: bool
    sources: tuple[int, ...]
    score: float = 1.0  # 0–1: the chance that the sources say this
    reason: str = ""  # why it is not supported, for the reader
    start: int | None = None  # where it stands word for word in the file of its source
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
    similarity_threshold: float | None = None  # None: the calibrated one of the index
    owner: str = ""  # the key that asked, to which its session belongs; empty where nobody needs one
    history: tuple[Turn, ...] | None = None  # what was said before, by a client that keeps it; None: the store knows


@dataclass(frozen=True, slots=True)
class CitedSource:
    """A source as the reader of an earlier answer saw it: what a later question may point at."""

    index: int  # the n of [n]
    chunk_id: str = ""  # empty where the source was a selected text
    title: str = ""
    section: str = ""
    quote: str = ""


@dataclass(frozen=True, slots=True)
class PastTurn:
    """An earlier question of the conversation and what came of it. `searched` is empty where it is not known."""

    question: str
    answer: str = ""
    searched: str = ""
    sources: tuple[CitedSource, ...] = ()


@dataclass(frozen=True, slots=True)
class SearchQuery:
    """What is really searched for a question, and why it differs from its words."""

    text: str
    rules: tuple[str, ...] = ()  # what in the question points back; none: it stands alone
    carried: tuple[str, ...] = ()  # the words taken over from the conversation
    pinned: CitedSource | None = None  # the source that the question points at
    exclude_quotes: tuple[str, ...] = ()  # quotes to go beyond, where it asks for nothing but more
    previous_quotes: tuple[str, ...] = ()  # quotes of the answer that it follows

    @property
    def stands_alone(self) -> bool:
        return not self.rules


@dataclass(frozen=True, slots=True)
class Draft:
    """An answer before it is checked: text with [n] markers and what each marker points at."""

    text: str
    citations: tuple[Citation, ...]
    removed: int = 0  # sentences that were taken out because nothing supports them


@dataclass(frozen=True, slots=True)
class ModelWork:
    """What a model did for an answer, for its trace."""

    rounds: int = 0  # calls of the model
    tools: tuple[ToolCall, ...] = ()  # what it wanted done, as it wrote it
    prompt_tokens: int = 0  # of the answer's tokens, those that it read


@dataclass(frozen=True, slots=True)
class Answer:
    """The one answer that every door shows."""

    text: str | None
    mode: AnswerMode
    question: Question
    searched_query: str
    citations: tuple[Citation, ...]
    verdict: Verdict
    grounding: Grounding
    retrieval_count: int
    created_at: datetime
    query_time_ms: float
    fallback_message: str | None = None
    suggestions: tuple[Suggestion, ...] = ()
    missing_terms: tuple[str, ...] = ()
    model: str | None = None
    tokens_used: int = 0
    stage_ms: Mapping[str, float] = field(default_factory=dict)
    interrupted: bool = False  # the reader left, or the model broke off, before it was whole
    work: ModelWork = ModelWork()

    @property
    def disclaimer(self) -> str | None:
        return DISCLAIMER if self.verdict.level == "low" else None


# The stream of one answer, in this order (CONTRACT section 4).


@dataclass(frozen=True, slots=True)
class Status:
    stage: Literal["retrieving", "generating"]


@dataclass(frozen=True, slots=True)
class Retrieved:
    evidence: Evidence
    session_id: str = ""  # told before the first word, so that who stops the answer can still ask on


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


# --- talking to a language model -------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class ToolCall:
    """What a model wants done. `arguments` is JSON as the model wrote it: nothing about it is certain."""

    id: str
    name: str
    arguments: str


@dataclass(frozen=True, slots=True)
class Tool:
    name: str
    description: str
    parameters: Mapping[str, Any]  # JSON Schema


@dataclass(frozen=True, slots=True)
class Message:
    """S2 Message: one entry of what a model is shown."""

    role: Literal["system", "user", "assistant", "tool"]
    content: str
    tool_calls: tuple[ToolCall, ...] = ()
    tool_call_id: str | None = None


@dataclass(frozen=True, slots=True)
class ModelText:
    """The next words of a model."""

    text: str


@dataclass(frozen=True, slots=True)
class ModelTurn:
    """The end of one call: what the model wants done, if anything, and what the call cost."""

    tool_calls: tuple[ToolCall, ...] = ()
    tokens: int = 0
    prompt_tokens: int = 0  # of them, those that were read rather than written
    truncated: bool = False  # it was cut off: by the model's own limit of words, or by ours of words and time
    model: str = ""  # as the server names it


ModelEvent = ModelText | ModelTurn


# --- remembering -----------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Conversation:
    """S0 session, S4 thread: created by its first question, belongs to the key that opened it."""

    session_id: str
    created_at: datetime
    last_active: datetime
    owner: str = ""
    topic_summary: str = ""  # what a model made of it; empty where none has
    turns: int = 0


@dataclass(frozen=True, slots=True)
class Turn:
    """One stored exchange (S0 ConversationRecord). `turn_id` is 0 until the library has numbered it."""

    session_id: str
    timestamp: datetime
    query: str
    response: str
    sources: tuple[Mapping[str, Any], ...] = ()
    metadata: Mapping[str, Any] = field(default_factory=dict)
    turn_id: int = 0
    owner: str = ""  # of its conversation


@dataclass(frozen=True, slots=True)
class RecordedQuestion:
    """What readers asked and the book does not hold, or holds only loosely: for its author, who should not learn who
    asked. Texts are redacted before they get here; there is no session and no key."""

    book_id: str
    asked_at: datetime
    question: str
    searched: str
    level: ConfidenceLevel
    confidence: float
    missing_terms: tuple[str, ...] = ()
    nearest: tuple[str, ...] = ()  # the breadcrumb of the nearest section
    nearest_url: str = ""


@dataclass(frozen=True, slots=True)
class Trace:
    """How one answer came about, for `quoth explain`. Belongs to its conversation and is deleted with it."""

    request_id: str
    session_id: str
    book_id: str
    created_at: datetime
    record: Mapping[str, Any]  # JSON; `quoth.insight.trace` writes it


# --- who may ask -----------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Key:
    """What lets somebody in. Its secret was shown once; all that is kept is a digest."""

    key_id: str
    name: str
    scope: Scope
    digest: str
    created_at: datetime
    book_id: str = ""  # the only book it opens; empty: all
    origins: tuple[str, ...] = ()  # of the sites that show it to everybody; none: it is secret
    daily: int | None = None  # answers a day that a language model may write for it
    expires_at: datetime | None = None
    revoked_at: datetime | None = None

    @property
    def public(self) -> bool:
        return bool(self.origins)

    def opens(self, scope: Scope) -> bool:
        return self.scope in (scope, "admin")

    def in_force(self, now: datetime) -> bool:
        return self.revoked_at is None and (self.expires_at is None or now < self.expires_at)


@dataclass(frozen=True, slots=True)
class Allowance:
    """How one more request stands against the limit."""

    allowed: bool
    limit: int
    remaining: int
    reset: float  # seconds until the oldest request that counts is forgotten
