"""An index in memory of a few named texts, for tests of what is found."""

from __future__ import annotations

from quoth.domain import Fingerprint, IndexedChunk
from quoth.testing.embedder import FakeEmbedder
from quoth.testing.index import MemoryIndex
from quoth.text.terms import TERMS_VERSION, passage_weights
from samples import TickingClock, chunk


async def an_index(embedder: FakeEmbedder, texts: dict[str, str]) -> MemoryIndex:
    index = MemoryIndex(Fingerprint(embedder.name, embedder.dimensions, "test-1", TERMS_VERSION))
    now = TickingClock().now()
    vectors = await embedder.embed_passages(list(texts.values()))
    async with index.writer("book") as writer:
        await writer.put(
            [
                IndexedChunk(
                    chunk(text, id=name, module=name, chunk_index=at), vector, passage_weights(text), name, now, now
                )
                for at, ((name, text), vector) in enumerate(zip(texts.items(), vectors, strict=True))
            ]
        )
        await writer.publish()
    return index
