"""Another process over the same data directory, for the tests of the embedded index.

`python index_process.py COMMAND DATA_DIR [ARGUMENT]`. Publication v of the book holds the same chunks as every other,
all with the title `v`, and one chunk of its own: a reader that finds two titles at once has seen half a publication.
"""

from __future__ import annotations

import asyncio
import resource
import sys
from pathlib import Path

from contracts.index_contract import BOOK, FINGERPRINT, a_chunk, a_query, indexed
from quoth.domain import IndexedChunk
from quoth.errors import QuothError
from quoth.index.embedded import EmbeddedIndex
from quoth.ports import ChunkIndex

SHARED = 20
MOST_CHANGES = 30  # so that publications are now changes over a base, now a new base


def publication(version: int) -> list[IndexedChunk]:
    names = [*(f"shared-{n}" for n in range(SHARED)), f"only-{version}"]
    return [indexed(a_chunk(name, title=str(version))) for name in names]


async def publish(index: ChunkIndex, first: int, last: int) -> None:
    """Publish every version of the range in one writer, page by page as an ingest would."""
    async with index.writer(BOOK) as writer:
        for version in range(first, last + 1):
            chunks = publication(version)
            say(f"begin {version}")
            await writer.put(chunks[:7])
            await writer.put(chunks[7:])
            stale = set(await writer.stored()) - {point.chunk.id for point in chunks}
            await writer.drop(sorted(stale))
            await writer.publish()
            say(f"published {version}")


async def seen(index: ChunkIndex) -> int:
    """The version that is live; an assertion fails when it is not whole."""
    titles = [chunk.title async for chunk in index.scan(BOOK)]
    assert len(titles) == SHARED + 1, titles
    assert len(set(titles)) == 1, titles
    hits = await index.view(BOOK).search(a_query(limit=100))
    assert {hit.chunk_id for hit in hits.dense} == {hit.chunk_id for hit in hits.sparse}
    assert len(hits.dense) == len(hits.sparse) == hits.total_found == SHARED + 1
    return int(titles[0])


async def follow(index: ChunkIndex, last: int) -> None:
    versions = [await seen(index)]
    say(f"seen {versions[0]}")
    while versions[-1] < last:
        versions.append(await seen(index))
        assert versions[-1] >= versions[-2], versions
    say(f"distinct {len(set(versions))}")


async def hold(index: ChunkIndex) -> None:
    async with index.writer(BOOK):
        say("holding")
        await asyncio.to_thread(sys.stdin.read)


async def full(data_dir: Path, mode: str, limit: int) -> None:
    """The disk is full when changes are written, when a base is copied, when a new one is begun: no file can be longer
    than `limit` bytes."""
    index = EmbeddedIndex(data_dir, FINGERPRINT, most_changes=MOST_CHANGES if mode == "changes" else 0)
    await seen(index)
    resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))
    try:
        async with index.writer(BOOK, recreate=mode == "recreate") as writer:
            await writer.put(publication(99))
            await writer.publish()
    except QuothError as error:
        say(f"{type(error).__name__}: {error}")


def say(line: str) -> None:
    print(line, flush=True)


async def main(command: str, data_dir: str, *arguments: str) -> None:
    index = EmbeddedIndex(Path(data_dir), FINGERPRINT, most_changes=MOST_CHANGES)
    match command:
        case "publish":
            await publish(index, int(arguments[0]), int(arguments[1]))
        case "follow":
            await follow(index, int(arguments[0]))
        case "seen":
            say(f"seen {await seen(index)}")
        case "hold":
            await hold(index)
        case "full":
            await full(Path(data_dir), arguments[0], int(arguments[1]))
        case _:
            raise SystemExit(f"unknown command {command}")
    await index.close()


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:]))
