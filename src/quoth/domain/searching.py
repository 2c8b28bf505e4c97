"""A search: what is asked of the index, what comes back, what the judge sees."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from quoth.domain.books import Chunk
from quoth.domain.filters import Filters
from quoth.domain.indexing import TermWeights, Vector
from quoth.domain.reading import Reading


@dataclass(frozen=True, slots=True)
class IndexQuery:
    dense: Vector
    sparse: TermWeights
    filters: Filters = Filters()
    limit: int = 50  # of each list
    count: bool = True  # whether somebody wants to know how many chunks pass the filters


@dataclass(frozen=True, slots=True)
class IndexHit:
    """A chunk by its id: only the best few of the many that are found are read."""

    chunk_id: str
    score: float


@dataclass(frozen=True, slots=True)
class IndexHits:
    """Both rank lists as the index gave them: raw cosine, raw BM25. `quoth.ask.fuse` joins them."""

    dense: tuple[IndexHit, ...]
    sparse: tuple[IndexHit, ...]
    size: int  # chunks of the book
    total_found: int | None  # of them, those that pass the filters; None if it was not counted


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
    pair_share: float = 0.0  # share of the query's word pairs that are side by side here too, by rarity
    agreement: float = 0.0  # cosine with the best passages
    reading: Reading | None = None  # of `chunk.text`, with the question in mind; None if no reader looked at it


@dataclass(frozen=True, slots=True)
class Candidate:
    """A chunk near the top of either rank list, whether it became a passage or not: what a trace shows of a search."""

    chunk_id: str
    place: str  # its breadcrumb; empty if the chunk was not read
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
    """Everything that a search brought back, and what the judge needs to know about it."""

    query: str  # the query really searched
    passages: tuple[Passage, ...]
    total_found: int | None  # chunks that pass the filters; None if it was not counted
    terms: tuple[QueryTerm, ...] = ()
    beside: tuple[Chunk, ...] = ()  # neighbours of the best passages, in which a list, a table or code goes on
    diversity: float = 0.0  # 1 - mean pairwise cosine of the passages' vectors; 0 for fewer than two
    exclude_quotes: tuple[str, ...] = ()  # quotes that the reader already has, if they ask for more
    previous_quotes: tuple[str, ...] = ()  # what the last answer quoted
    rules: tuple[str, ...] = ()  # why the query differs from the question's words
    carried: tuple[str, ...] = ()  # the words carried over from the conversation
    phrase: str = ""  # what the query means, in readable words; empty: `query` itself
    shown: str = ""  # what readers see of it, as a person could have typed it; empty: `asked`
    candidates: tuple[Candidate, ...] = ()  # the heads of both rank lists, best fused first
    query_vector: Vector = field(default=(), repr=False)  # what `query` was embedded as

    @property
    def asked(self) -> str:
        """What is meant, in words that can be read."""
        return self.phrase or self.query

    @property
    def searched(self) -> str:
        """What is shown and stored of the search."""
        return self.shown or self.asked

    @property
    def missing_terms(self) -> tuple[str, ...]:
        return tuple(term.text for term in self.terms if not term.in_book)


@dataclass(frozen=True, slots=True)
class CitedSource:
    """A source as the reader of an answer saw it: stored with its turn, and what a later question may point at."""

    index: int  # the n of [n]
    chunk_id: str = ""  # empty if the source is a selected text
    title: str = ""
    section: str = ""
    quote: str = ""  # the exact words relied on
    start: int = 0  # where the quote is in the source file, or in the selected text
    end: int = 0
    snippet: str = ""
    url: str = ""
    breadcrumb: tuple[str, ...] = ()
    position: int = 0  # of the chunk in its page
    similarity: float = 0.0
    source_file: str = ""
    line: int = 0
    selection_length: int | None = None  # of the selected text that it quotes; None: a passage of the book
    highlight: tuple[int, int] | None = None  # start and end of the decisive sentence in the quote; None: not known

    @property
    def decisive(self) -> str:
        """The words that answered; the rest of the quote is their context."""
        return self.quote if self.highlight is None else self.quote[self.highlight[0] : self.highlight[1]]


@dataclass(frozen=True, slots=True)
class PastTurn:
    """An earlier question of the conversation and what came of it. `searched` is empty if it is not known."""

    question: str
    answer: str = ""
    searched: str = ""
    sources: tuple[CitedSource, ...] = ()
    refused: bool = False

    @property
    def content(self) -> str:
        """What the answer says about the book. A refusal says nothing."""
        return "" if self.refused else self.answer


@dataclass(frozen=True, slots=True)
class SearchQuery:
    """What is actually searched for a question, and why it differs from its words."""

    text: str
    rules: tuple[str, ...] = ()  # what in the question points back; none: it needs no history
    phrase: str = ""  # what it means, in readable words; empty: `text` itself
    shown: str = ""  # what readers see of it, as a person could have typed it; empty: the phrase
    carried: tuple[str, ...] = ()  # the words carried over from the conversation
    pages: Mapping[str, float] = field(default_factory=dict)  # source file → how much the conversation is on it, to 1
    pinned: CitedSource | None = None  # the source that the question points at
    exclude_quotes: tuple[str, ...] = ()  # quotes to leave out, if it asks for nothing but more
    previous_quotes: tuple[str, ...] = ()  # quotes of the answer that it follows
