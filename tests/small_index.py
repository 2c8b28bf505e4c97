"""An index in memory of a few named texts, for tests of what is found."""

from __future__ import annotations

from quoth.chunks.weights import chunk_weights
from quoth.domain import Fingerprint, IndexedChunk
from quoth.testing.embedder import FakeEmbedder
from quoth.testing.index import MemoryIndex
from quoth.text.terms import TERMS_VERSION
from samples import TickingClock, chunk


async def an_index(embedder: FakeEmbedder, texts: dict[str, str], *, own_pages: bool = False) -> MemoryIndex:
    """With `own_pages` each text is a page of its name."""
    index = MemoryIndex(Fingerprint(embedder.name, embedder.dimensions, "test-1", TERMS_VERSION))
    now = TickingClock().now()
    vectors = await embedder.embed_passages(list(texts.values()))
    chunks = [
        chunk(
            text,
            id=name,
            module=name,
            chunk_index=at,
            source_file=f"docs/{name}.md" if own_pages else "docs/page.md",
        )
        for at, (name, text) in enumerate(texts.items())
    ]
    async with index.writer("book") as writer:
        await writer.put(
            [
                IndexedChunk(one, vector, chunk_weights(one), one.id, now, now)
                for one, vector in zip(chunks, vectors, strict=True)
            ]
        )
        await writer.publish()
    return index
