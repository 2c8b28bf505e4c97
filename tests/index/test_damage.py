"""Damage to the files of an index is reported or harmless, never silently wrong; and there is a way out.

Every file of a book is damaged in many ways. After each, a fresh index reads everything that can be read: each result
is that of the undamaged book, or one of our errors.
"""

from __future__ import annotations

import json
import os
import random
import shutil
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest

from contracts.index_contract import BOOK, FINGERPRINT, a_chunk, a_query, indexed, unit, write
from quoth.domain import Filters, IndexedChunk
from quoth.errors import IndexDamaged, IndexMismatch, IndexUnavailable, UnknownBook
from quoth.index.embedded import EmbeddedIndex

pytestmark = pytest.mark.slow

CHUNKS = 60
FILES = [
    "CURRENT",
    "gen-000002.json",
    *(
        f"gen-000001/{name}"
        for name in (
            "codes.npy",
            "ids.npy",
            "inventory.json",
            "payload_starts.npy",
            "payload_sums.npy",
            "payloads.jsonl",
            "row_starts.npy",
            "row_terms.npy",
            "row_weights.npy",
            "signs.npy",
            "term_ids.npy",
            "term_rows.npy",
            "term_starts.npy",
            "term_weights.npy",
            "values.json",
            "vectors.npy",
        )
    ),
]


def points(version: int = 1) -> list[IndexedChunk]:
    dice = random.Random(version)
    return [
        indexed(
            a_chunk(f"c{number}", title=f"Version {version}", chapter=number % 5, module="ab"[number % 2]),
            unit(*(dice.gauss(0, 1) for _ in range(4))),
            {dice.randrange(40): dice.uniform(0.2, 2) for _ in range(8)},
            embed_hash=f"{version}-{number}",
        )
        for number in range(CHUNKS)
    ]


async def written_book(data_dir: Path) -> Path:
    """A base, and the changes since."""
    index = EmbeddedIndex(data_dir, FINGERPRINT)
    await write(index, *points())
    async with index.writer(BOOK) as writer:
        await writer.put(points(version=2)[:7])
        await writer.drop([point.chunk.id for point in points()[7:10]])
        await writer.publish()
    await index.close()
    return data_dir / "index" / BOOK


@pytest.fixture
async def book(data_dir: Path) -> Path:
    return await written_book(data_dir)


async def everything(data_dir: Path) -> dict[str, Any]:
    """Whatever a fresh index reads of the book, or the error that it raises instead."""
    index = EmbeddedIndex(data_dir, FINGERPRINT)
    ids = [point.chunk.id for point in points()]

    async def stated() -> Any:
        status = await index.status(BOOK)
        return status.chunks, status.generation, status.fingerprint, status.bytes_on_disk

    async def planned() -> Any:
        await index.status(BOOK)  # a writer would begin an unknown book anew
        async with index.writer(BOOK) as writer:
            stored = await writer.stored()
            return stored, await writer.vectors(chunk.embed_hash for chunk in stored.values())

    async def listed(chunks: AsyncIterator[Any]) -> list[Any]:
        return [chunk async for chunk in chunks]

    query = a_query(unit(1, 2, 3, 4), dict.fromkeys(range(0, 40, 3), 1.0))
    narrow = a_query(unit(4, 3, 2, 1), {1: 1.0, 2: 2.0}, Filters(chapter_min=2, module="a"))
    reads: dict[str, Callable[[], Awaitable[Any]]] = {
        "status": stated,
        "search": lambda: index.view(BOOK).search(query),
        "filtered search": lambda: index.view(BOOK).search(narrow),
        "idf": lambda: index.view(BOOK).idf(range(40)),
        "count": lambda: index.view(BOOK).count(Filters(chapter_max=1)),
        "chunks": lambda: index.view(BOOK).chunks(ids),
        "vectors": lambda: index.view(BOOK).dense_vectors(ids),
        "page": lambda: index.view(BOOK).page(points()[20].chunk.parent_doc_id),
        "scan": lambda: listed(index.scan(BOOK)),
        "points": lambda: listed(index.points(BOOK)),
        "plan": planned,
    }
    found: dict[str, Any] = {}
    for name, read in reads.items():
        try:
            found[name] = await read()
        except (IndexUnavailable, IndexMismatch, UnknownBook) as error:
            found[name] = error
    await index.close()
    return found


def silently_wrong(found: dict[str, Any], expected: dict[str, Any]) -> list[str]:
    """What was read without an error but differs from the undamaged book."""
    return [what for what, result in found.items() if not isinstance(result, Exception) and result != expected[what]]


def harms(content: bytes) -> dict[str, bytes | None]:
    """What a file may hold afterwards; None: the file is gone."""
    size = len(content)
    places = sorted({0, 1, size // 4, size // 2, size // 2 + 1, 3 * size // 4, size - 9, size - 1} & set(range(size)))
    dice = random.Random(size)
    return {
        "removed": None,
        "emptied": b"",
        "halved": content[: size // 2],
        "one byte short": content[:-1],
        "one byte longer": content + b"\0",
        "zeroed": bytes(size),
        "zeroed from the middle on": content[: size // 2] + bytes(size - size // 2),
        "scrambled": dice.randbytes(size),
        **{
            f"bit {bit} of byte {place} flipped": flipped(content, place, bit)
            for place in places
            for bit in (0, dice.randrange(1, 8))
        },
    }


def flipped(content: bytes, place: int, bit: int) -> bytes:
    return content[:place] + bytes([content[place] ^ (1 << bit)]) + content[place + 1 :]


def harm(file: Path, content: bytes | None) -> None:
    """In a new file: what is mapped right now must not change under its reader."""
    file.unlink(missing_ok=True)
    if content is not None:
        file.write_bytes(content)


async def test_every_file_of_a_book_is_harmed_below(book: Path) -> None:
    live = json.loads((book / "CURRENT").read_text())
    assert sorted(["CURRENT", *live["files"]]) == sorted(FILES)
    assert sorted(str(file.relative_to(book)) for file in book.rglob("*") if file.is_file()) == sorted(FILES)


@pytest.mark.parametrize("name", FILES)
async def test_damage_is_told_or_harmless_but_never_silently_wrong(book: Path, data_dir: Path, name: str) -> None:
    file, saved = book / name, data_dir / "saved"
    content = file.read_bytes()
    expected = await everything(data_dir)
    shutil.copytree(book, saved)
    assert not [error for error in expected.values() if isinstance(error, Exception)]
    wrong, told = [], 0
    for how, harmed in harms(content).items():
        harm(file, harmed)
        found = await everything(data_dir)
        wrong += [(how, what) for what in silently_wrong(found, expected)]
        told += any(isinstance(result, Exception) for result in found.values())
        shutil.rmtree(book, ignore_errors=True)  # a writer may have swept away what a lost pointer named
        shutil.copytree(saved, book)
    assert wrong == []
    assert told >= 10
    assert await everything(data_dir) == expected


@pytest.mark.parametrize("name", FILES[1:])
async def test_a_verification_names_the_damaged_file(book: Path, data_dir: Path, name: str) -> None:
    file = book / name
    content = file.read_bytes()
    index = EmbeddedIndex(data_dir, FINGERPRINT)
    verified = await index.verify(BOOK)
    assert (verified.files, verified.bytes) == (len(FILES) - 1, (await index.status(BOOK)).bytes_on_disk)
    for harmed in harms(content).values():
        harm(file, harmed)
        with pytest.raises(IndexDamaged, match="quoth ingest PATH --mode recreate") as raised:
            await index.verify(BOOK)
        assert [one["file"] for one in raised.value.details["damage"]] == [f"index/{BOOK}/{name}"]
    await index.close()


async def test_scores_stay_what_they_were_when_the_signs_or_vectors_are_zeroed(book: Path, data_dir: Path) -> None:
    """Sizes alone do not show it: the book would answer with other scores."""
    for name in ("vectors.npy", "signs.npy", "term_weights.npy", "term_starts.npy"):
        file = book / "gen-000001" / name
        content = file.read_bytes()
        harm(file, content[:128] + bytes(len(content) - 128))
        index = EmbeddedIndex(data_dir, FINGERPRINT)
        with pytest.raises(IndexDamaged, match=rf"index/{BOOK}/gen-000001/{name} is not what was published.*recreate"):
            await index.view(BOOK).search(a_query())
        await index.close()
        harm(file, content)


async def test_a_damaged_payload_is_told_when_its_chunk_is_read_and_the_others_can_be_read(
    book: Path, data_dir: Path
) -> None:
    file = book / "gen-000001" / "payloads.jsonl"
    content = file.read_bytes()
    harm(file, content.replace(b"The text of c30.", b"The text of c3X."))
    index = EmbeddedIndex(data_dir, FINGERPRINT)
    assert len((await index.view(BOOK).search(a_query(limit=100))).dense) == CHUNKS - 3
    assert await index.view(BOOK).chunks([points()[31].chunk.id]) == [points()[31].chunk]
    with pytest.raises(IndexDamaged, match=r"payloads.jsonl is not what was published, from byte \d+ to \d+"):
        await index.view(BOOK).chunks([points()[30].chunk.id])
    await index.close()


@pytest.mark.parametrize("name", ["gen-000001/payloads.jsonl", "gen-000001/inventory.json", "gen-000001/vectors.npy"])
async def test_damage_is_never_copied_into_a_new_base(book: Path, data_dir: Path, name: str) -> None:
    content = (book / name).read_bytes()
    harm(book / name, flipped(content, len(content) // 2, 1))
    index = EmbeddedIndex(data_dir, FINGERPRINT, most_changes=0)
    before = (book / "CURRENT").read_bytes()
    with pytest.raises(IndexDamaged):
        await write(index, indexed(a_chunk("new")))
    assert (book / "CURRENT").read_bytes() == before
    assert not (book / "gen-000003").exists()
    await index.close()


@pytest.mark.parametrize("name", FILES)
@pytest.mark.parametrize("how", ["removed", "scrambled"])
async def test_a_damaged_book_can_be_built_again(book: Path, data_dir: Path, name: str, how: str) -> None:
    harm(book / name, harms((book / name).read_bytes())[how])
    index = EmbeddedIndex(data_dir, FINGERPRINT)
    await write(index, *points(version=3), recreate=True)
    await index.verify(BOOK)
    assert {chunk.title async for chunk in index.scan(BOOK)} == {"Version 3"}
    assert len(list(book.glob("gen-*"))) <= 3
    await index.close()


@pytest.mark.parametrize("content", ["", "{", "[]", "7", '{"format": 99}', '{"format": 1}', '{"format": "x"}'])
async def test_a_damaged_pointer_is_told_and_the_book_can_be_built_again(
    book: Path, data_dir: Path, content: str
) -> None:
    (book / "CURRENT").write_text(content)
    index = EmbeddedIndex(data_dir, FINGERPRINT)
    for read in (index.view(BOOK).search(a_query()), index.status(BOOK), index.verify(BOOK), write(index, *points())):
        with pytest.raises(IndexDamaged, match=rf"index/{BOOK}/CURRENT cannot be read.*recreate"):
            await read
    await write(index, *points(version=3), recreate=True)
    assert {chunk.title async for chunk in index.scan(BOOK)} == {"Version 3"}
    await index.close()


async def test_a_file_that_cannot_be_read_is_an_outage_that_names_it(
    book: Path, data_dir: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The disk itself fails after the book was opened."""
    index = EmbeddedIndex(data_dir, FINGERPRINT)
    await index.view(BOOK).count()

    def fail(*_: int) -> bytes:
        raise OSError(5, "Input/output error")

    monkeypatch.setattr(os, "pread", fail)
    with pytest.raises(IndexUnavailable, match="Input/output error"):
        await index.view(BOOK).chunks([points()[30].chunk.id])
    await index.close()


# --- an index of an earlier Quoth ------------------------------------------------------------------------------------


@pytest.fixture
def earlier(data_dir: Path) -> Path:
    """As it was when a base was a shard of Qdrant Edge: the names, and the content of the pointer."""
    book = data_dir / "index" / BOOK
    base = book / "gen-000004"
    (base / "segments").mkdir(parents=True)
    (base / "edge_config.json").write_text("{}")
    (base / "files.json").write_text(json.dumps({"edge_config.json": 2}))
    (book / "gen-000005.json").write_text('{"gone": {}, "points": []}')
    content = {"format": 2, "generation": 5, "base": 4, "chunks": 12, "fingerprint": FINGERPRINT.as_dict()}
    (book / "CURRENT").write_text(json.dumps(content, indent=1) + "\n")
    return book


async def test_an_index_of_an_earlier_quoth_is_refused_with_the_way_out(earlier: Path, data_dir: Path) -> None:
    index = EmbeddedIndex(data_dir, FINGERPRINT)
    way_out = rf"'{BOOK}' was built by an earlier Quoth .*Build it again: `quoth ingest PATH --mode recreate`"
    for read in (
        index.view(BOOK).search(a_query()),
        index.view(BOOK).count(),
        index.view(BOOK).chunks(["x"]),
        index.verify(BOOK),
    ):
        with pytest.raises(IndexMismatch, match=way_out):
            await read
    status = await index.status(BOOK)
    assert (status.outdated, status.chunks, status.generation) == (True, 12, 5)
    await index.close()


@pytest.mark.parametrize("recreate", [False, True])
async def test_any_ingest_builds_an_index_of_an_earlier_quoth_again(
    earlier: Path, data_dir: Path, recreate: bool, caplog: pytest.LogCaptureFixture
) -> None:
    index = EmbeddedIndex(data_dir, FINGERPRINT)
    async with index.writer(BOOK, recreate=recreate) as writer:
        assert await writer.stored() == {}
        with pytest.raises(IndexMismatch):
            await index.view(BOOK).count()
        await writer.put(points())
        await writer.publish()
    assert await index.view(BOOK).count() == CHUNKS
    status = await index.status(BOOK)
    assert (status.outdated, status.generation) == (False, 6)
    assert (sum("earlier Quoth" in line for line in caplog.messages), recreate) in [(1, False), (0, True)]
    await write(index, *points(version=2), recreate=True)
    assert not (earlier / "gen-000004").exists()
    await index.close()


async def test_an_ingest_that_builds_otherwise_leaves_an_index_of_an_earlier_quoth_alone(
    earlier: Path, data_dir: Path
) -> None:
    """Another embedder may be a mistake in the settings, so it has to be asked for explicitly."""
    from contracts.index_contract import OTHER_FINGERPRINT

    index = EmbeddedIndex(data_dir, OTHER_FINGERPRINT)
    with pytest.raises(IndexMismatch, match="contract-other"):
        await write(index, *points())
    assert (earlier / "gen-000004").exists()
    await index.close()


async def test_a_deleted_book_of_an_earlier_quoth_is_gone(earlier: Path, data_dir: Path) -> None:
    index = EmbeddedIndex(data_dir, FINGERPRINT)
    await index.delete_book(BOOK)
    assert not earlier.exists()
    await index.close()
