"""Everything outside the process, as Protocols. Each states its contract; tests/contracts/ holds one suite for each
port, which every adapter and every shipped fake must pass.

All ports are asynchronous and none may block the event loop. Failures are the errors of `quoth.errors`, never a
foreign exception. `within` bounds how long a caller waits.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Collection, Iterable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from datetime import datetime
from typing import Protocol

from quoth.domain import (
    Allowance,
    Book,
    Chunk,
    Fetched,
    Filters,
    Fingerprint,
    IdSet,
    IndexedChunk,
    IndexHits,
    IndexQuery,
    IndexStatus,
    Message,
    ModelEvent,
    Reading,
    ReadingTask,
    StoredChunk,
    Tool,
    Vector,
)
from quoth.errors import ModelUnavailable, Outage, QuothError
from quoth.ports.library import ABANDONED as ABANDONED
from quoth.ports.library import Keys as Keys
from quoth.ports.library import Library as Library

# Called after every step of long work: steps done, steps in total.
TellSteps = Callable[[int, int], None]


class Clock(Protocol):
    def now(self) -> datetime:
        """The current time, aware, in UTC."""

    def monotonic(self) -> float:
        """Seconds that only ever grow, for measuring time."""


class TokenCounter(Protocol):
    """The embedder's own tokenizer, for chunking. Pure and synchronous: it only computes."""

    @property
    def limit(self) -> int:
        """The most tokens of a text that the embedder reads, not counting special tokens."""

    def spans(self, text: str) -> Sequence[tuple[int, int]]:
        """The (start, end) character offsets of every token, in order, without special tokens; no limit applies."""

    def counts(self, texts: Sequence[str]) -> list[int]:
        """The number of tokens of each text, without special tokens; no limit applies."""


class Embedder(Protocol):
    """Turns text into unit vectors. Query and passage are two verbs, never a mode.

    The same text gives the same vector in any batch and in any order. A text above the limit raises `TextTooLong` and
    is never cut. An empty sequence gives an empty list.
    """

    @property
    def name(self) -> str:
        """Identifies weights and processing; equal names mean comparable vectors."""

    @property
    def dimensions(self) -> int: ...

    @property
    def tokens(self) -> TokenCounter: ...

    @property
    def batch(self) -> int:
        """How many passages are best passed to it at once."""

    @property
    def remote(self) -> bool:
        """Whether texts are sent to another machine, where each may cost something."""

    async def load(self) -> None:
        """Get ready now instead of with the first text. Fails like the first text would; may be called again."""

    async def embed_passages(self, texts: Sequence[str]) -> list[Vector]: ...

    async def embed_query(self, text: str) -> Vector:
        """A query above the limit is cut at a word by the caller, not here."""

    async def ping(self) -> None:
        """Fails if an embedding would, as far as is known. For /health: costs nothing."""

    async def check(self) -> str:
        """Embed one text; returns a sentence that says what embeds. Fails as `embed_query` does."""

    async def close(self) -> None: ...


class IndexWriter(Protocol):
    """The one writer of one book's index. Nothing it does is seen by readers before `publish`."""

    async def files(self) -> dict[str, IdSet]:
        """Every source file that has chunks in the index now, and which ones."""

    async def stored(
        self, *, files: Collection[str] | None = None, ids: Collection[str] = ()
    ) -> dict[str, StoredChunk]:
        """By id, the chunks now in the index that are from one of the files or have one of the ids. Without `files`,
        all."""

    async def vectors(self, embed_hashes: Iterable[str]) -> dict[str, Vector]:
        """Vectors already made for these texts, so that none is made twice. Unknown hashes are left out."""

    async def put(self, chunks: Sequence[IndexedChunk]) -> None:
        """Insert, or replace those with the same id."""

    async def drop(self, ids: Sequence[str]) -> None:
        """Delete by id; unknown ids are not an error."""

    async def publish(self, book: Book | None = None) -> None:
        """Make everything so far durable and visible to all readers, at once. May be called many times. The book's
        record travels with it, so that a machine that finds the index knows the book; without one, the record of the
        previous publication stays."""


class BookView(Protocol):
    """One publication of a book, for as long as a question takes; the first call finds out which. Everything that
    belongs to one question is asked of one view.

    Raises `UnknownBook` if the book was never written, `IndexMismatch` if it was built with another fingerprint. A view
    that is held over two further publications may have lost chunks: they are left out.
    """

    async def search(self, query: IndexQuery) -> IndexHits:
        """The best `limit` chunks by each vector among those that pass the filters, best first; ties by id.
        Chunks without any term of the query are not in the sparse list. IDF is that of the book alone. Fetch the chunks
        with `chunks`."""

    async def idf(self, term_ids: Sequence[int]) -> dict[int, float]:
        """ln(1 + (N - n + 0.5) / (n + 0.5)) over the chunks of the book; terms that no chunk holds are left out."""

    async def count(self, filters: Filters = Filters()) -> int:
        """How many chunks there really are. The hits of a search say how many there should be."""

    async def chunks(self, ids: Sequence[str]) -> list[Chunk]:
        """In the order of `ids`; unknown ids are left out."""

    async def dense_vectors(self, ids: Sequence[str]) -> Mapping[str, Sequence[float]]:
        """The stored dense vectors of these chunks; unknown ids are left out."""

    async def page(self, parent_doc_id: str) -> list[Chunk]:
        """All chunks of one lesson, by position, however many."""


class ChunkIndex(Protocol):
    """Chunks of many books, each book sealed off from the others.

    Reading a book that was never written raises `UnknownBook`; reading one built with another fingerprint raises
    `IndexMismatch`. A reader sees either all of a publication or none of it, whichever process made it.
    """

    @property
    def fingerprint(self) -> Fingerprint:
        """How this process would build an index."""

    def view(self, book_id: str) -> BookView:
        """The newest publication. Nothing is asked before its first call."""

    def scan(self, book_id: str) -> AsyncIterator[Chunk]:
        """Every chunk of a book, ordered by source file and position."""

    def points(self, book_id: str) -> AsyncIterator[IndexedChunk]:
        """The same with vectors and timestamps, for another index."""

    async def books(self) -> list[str]: ...

    async def status(self, book_id: str) -> IndexStatus:
        """Works for an index of another fingerprint too, so that it can be named and rebuilt."""

    async def fault(self) -> QuothError | None:
        """What is wrong with the index as a whole although it answers; None if nothing is. For /health."""

    def writer(self, book_id: str, *, recreate: bool = False) -> AbstractAsyncContextManager[IndexWriter]:
        """Open the book for writing; raises `Conflict`, which names the other writer. With `recreate` it starts empty
        and the old index stays readable until `publish`. Leaving without `publish` changes nothing."""

    async def delete_book(self, book_id: str) -> None:
        """Remove everything of the book; raises `UnknownBook` if there is none."""

    async def close(self) -> None: ...


class Reader(Protocol):
    """Reads passages with a question or a claim in mind: does this passage answer, and where?

    Raises `ModelFilesUnavailable` if its files are missing or damaged. What is read for one task does not depend on
    others.
    """

    @property
    def name(self) -> str: ...

    async def load(self) -> None:
        """Read the files now instead of with the first task."""

    async def read(self, tasks: Sequence[ReadingTask]) -> list[Reading]:
        """One reading for each task, in their order. Long passages are read in overlapping windows."""

    async def close(self) -> None: ...


class ChatModel(Protocol):
    """A language model behind any OpenAI-compatible endpoint.

    Raises `ModelUnavailable` if it does not answer in time, after the attempts that make sense; `ModelRejected` if
    trying again would not help. After the first word nothing is tried again: a failure is then passed on.
    """

    @property
    def name(self) -> str: ...

    def reply(self, messages: Sequence[Message], tools: Sequence[Tool] = ()) -> AsyncGenerator[ModelEvent]:
        """Words as they come, then exactly one `ModelTurn`. Closing the generator stops the model."""

    async def check(self, tools: Sequence[Tool] = ()) -> str:
        """Make the shortest call, with the tools of a question; returns a sentence that says what answered, and what
        was refused. Fails as `reply` does."""

    async def fault(self) -> ModelUnavailable | None:
        """What is known to be wrong with it, without asking it for a word; None if nothing is. For /health: it answers
        within a second and costs nothing."""

    async def close(self) -> None: ...


class RateLimiter(Protocol):
    async def hit(self, who: str) -> Allowance:
        """Count one more request of theirs. A request that is not allowed does not count."""

    async def close(self) -> None: ...


class Tokens(Protocol):
    """Tokens of a site that has its own login."""

    async def subject(self, token: str) -> str:
        """Whom it was given to. Raises `Unauthorized` if something is wrong with it, `Outage` if it cannot be checked
        now."""

    async def close(self) -> None: ...


class Fetcher(Protocol):
    """Gets documents from the web. Redirects are returned, never followed; after a temporary fault it tries again."""

    async def get(self, url: str, *, limit: int, types: Collection[str] = ()) -> Fetched:
        """What the server said, with any status. The body is read only if the media type is one of `types` (none named:
        any). Raises `Unreadable` if there is nothing to read: an address that is not allowed, no answer in time, a
        lasting fault of the server, more than `limit` bytes."""


# A fetcher belongs to one event loop, and a source crawls in a loop of its own; so it opens one itself.
OpenFetcher = Callable[[], AbstractAsyncContextManager[Fetcher]]


@asynccontextmanager
async def within(seconds: float, late: Outage) -> AsyncIterator[None]:
    """Give up a call to the outside that takes longer, and raise `late`. Never put it around a `yield`: the clock would
    run while the reader reads."""
    try:
        async with asyncio.timeout(seconds) as clock:
            yield
    except TimeoutError:
        if not clock.expired():
            raise
        raise late from None
