"""A book goes out as JSON Lines and comes back the same; a wrong line changes nothing and is named."""

from __future__ import annotations

import io
import json
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from quoth.bootstrap import fingerprint_of
from quoth.domain import Book, IngestJob
from quoth.errors import IndexMismatch, Unreadable
from quoth.export import Importer, line_of, read_contents
from quoth.index.embedded import EmbeddedIndex
from quoth.ingest import Ingest
from quoth.sources import open_source
from quoth.testing.embedder import FakeEmbedder
from quoth.testing.index import MemoryIndex
from quoth.testing.library import MemoryLibrary
from samples import TickingClock, chunk

PAGES = {
    "topics.md": "---\ntitle: Topics\n---\n# Topics\n\nIt carries.\n\n## Durability\n\nTransient local keeps them.\n",
    "nodes.md": "# Nodes 🤖\n\nOne.\n\n```sh\nros2 run demo --no-deps\n```\n\n## More\n\nAnother subscribes.\n",
    "empty.md": "---\ntitle: Nothing\n---\n",
}


class CountingEmbedder(FakeEmbedder):
    embedded = 0

    async def embed_passages(self, texts: Any) -> Any:
        self.embedded += len(texts)
        return await super().embed_passages(texts)


@dataclass
class Place:
    """A separate index, library and embedder."""

    embedder: CountingEmbedder = field(default_factory=CountingEmbedder)
    library: MemoryLibrary = field(default_factory=MemoryLibrary)
    index: MemoryIndex = field(init=False)

    def __post_init__(self) -> None:
        self.index = MemoryIndex(fingerprint_of(self.embedder))

    async def ingest(self, folder: Path) -> IngestJob:
        source = open_source(folder, book_id="robots", base_url="https://book.example")
        return await Ingest(self.index, self.library, self.embedder, TickingClock()).run(source)

    async def exported(self, *, vectors: bool = False) -> str:
        book = await self.library.book("robots")
        pages = await self.library.page_records("robots")
        lines = [
            line_of(
                point.chunk,
                book,
                pages.get(point.chunk.source_file),
                point.dense if vectors else None,
                self.embedder.name,
            )
            async for point in self.index.points("robots")
        ]
        return "".join(f"{line}\n" for line in lines)

    async def take(self, text: str | bytes) -> Any:
        content = text.encode() if isinstance(text, str) else text
        importer = Importer(self.index, self.library, self.embedder, TickingClock())
        return await importer.run(io.BytesIO(content))

    async def state(self) -> tuple[Any, ...]:
        points = [point async for point in self.index.points("robots")]
        status = await self.index.status("robots")
        return points, status.generation, await self.library.books(), await self.library.page_records("robots")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for name, text in PAGES.items():
        (tmp_path / name).write_text(text, encoding="utf-8")
    return tmp_path


@pytest.mark.parametrize("vectors", [False, True])
async def test_a_book_that_went_out_and_came_back_goes_out_the_same(folder: Path, vectors: bool) -> None:
    here, there = Place(), Place()
    await here.ingest(folder)
    text = await here.exported(vectors=vectors)
    done = await there.take(text)
    assert await there.exported(vectors=vectors) == text
    assert (done.chunks, done.written, done.dropped) == (len(text.splitlines()), done.chunks, 0)
    assert there.embedder.embedded == done.embedded == (0 if vectors else done.chunks)
    mine, theirs = [[point async for point in place.index.points("robots")] for place in (here, there)]
    assert [point.chunk for point in mine] == [point.chunk for point in theirs]
    assert [point.sparse for point in mine] == [point.sparse for point in theirs]
    for one, other in zip(mine, theirs, strict=True):
        assert one.dense == pytest.approx(other.dense, abs=1e-6)  # an export has 32 bits per number


async def test_an_ingest_after_an_import_finds_nothing_to_do(folder: Path) -> None:
    here, there = Place(), Place()
    await here.ingest(folder)
    await there.take(await here.exported())
    before = there.embedder.embedded
    job = await there.ingest(folder)
    assert (job.files_skipped, job.chunks_created, job.chunks_deleted) == (2, 0, 0)  # only the page without text is new
    assert there.embedder.embedded == before
    assert (await there.library.book("robots")).source == str(folder)


async def test_the_folder_that_a_book_came_from_does_not_go_out_and_is_not_forgotten(folder: Path) -> None:
    here = Place()
    await here.ingest(folder)
    text = await here.exported()
    assert str(folder) not in text
    await here.take(text)
    assert (await here.library.book("robots")).source == str(folder)


async def test_importing_the_same_again_changes_nothing(folder: Path) -> None:
    here, there = Place(), Place()
    await here.ingest(folder)
    text = await here.exported()
    for place in (here, there):
        await place.take(text)
        before = await place.state()
        again = await place.take(text)
        assert (again.written, again.dropped, again.embedded) == (0, 0, 0)
        assert await place.state() == before


async def test_a_newer_export_replaces_what_is_there_and_embeds_only_what_is_new(folder: Path) -> None:
    here, there = Place(), Place()
    await here.ingest(folder)
    await there.take(await here.exported())
    (folder / "nodes.md").unlink()
    (folder / "topics.md").write_text(
        PAGES["topics.md"] + "\n## Timing\n\nThe deadline is a policy.\n", encoding="utf-8"
    )
    await here.ingest(folder)
    before = there.embedder.embedded
    done = await there.take(await here.exported())
    assert await there.exported() == await here.exported()
    assert there.embedder.embedded - before == done.embedded == 1
    assert done.dropped > 0
    assert set(await there.library.page_records("robots")) == {"topics.md"}


async def test_an_index_with_another_fingerprint_is_built_again(folder: Path, data_dir: Path) -> None:
    here = Place()
    await here.ingest(folder)
    text = await here.exported()
    for name in ("one", "other"):
        embedder = CountingEmbedder(name=name)
        index = EmbeddedIndex(data_dir, fingerprint_of(embedder))
        done = await Importer(index, here.library, embedder, TickingClock()).run(io.BytesIO(text.encode()))
        assert (await index.view("robots").count(), done.embedded) == (done.chunks, done.chunks)
        assert (await index.status("robots")).fingerprint.embedder == name
        await index.close()


async def test_vectors_of_another_embedder_are_made_again(folder: Path) -> None:
    here, there = Place(), Place(CountingEmbedder(name="another"))
    await here.ingest(folder)
    done = await there.take(await here.exported(vectors=True))
    assert there.embedder.embedded == done.chunks


# --- wrong lines ------------------------------------------------------------------------------------------------------


def changed(**fields: Any) -> Callable[[list[dict[str, Any]]], None]:
    def change(records: list[dict[str, Any]]) -> None:
        records[1].update(fields)

    return change


def without(name: str) -> Callable[[list[dict[str, Any]]], None]:
    return lambda records: records[1].pop(name)


WRONG: dict[str, tuple[Callable[[list[dict[str, Any]]], Any], str]] = {
    "no id": (without("id"), "lacks the field `id`"),
    "no digest": (without("page_digest"), "lacks the field `page_digest`"),
    "a field of its own": (changed(colour="red"), "an unknown field `colour`"),
    "an id that is none": (changed(id="one"), "`id` is not a UUID"),
    "an id that is a number": (changed(id=7), "`id`"),
    "a text that is a number": (changed(text=7), "text"),
    "another text": (changed(text="Forged."), "`char|`text|fit"),
    "a chapter in words": (changed(chapter="one"), "`chapter`"),
    "a chapter that is true": (changed(chapter=True), "`chapter`"),
    "a tier that no reader holds": (changed(hardware_tier=10**30), "`hardware_tier` is too large"),
    "a layer that is none": (changed(layer="L9"), "`layer`"),
    "a level that is none": (changed(proficiency_level="Z1"), "`proficiency_level`"),
    "headings as one text": (changed(heading_path="abc"), "`heading_path`|section_title"),
    "inserts as numbers": (changed(inserts=[1]), "argument|iterable"),
    "a place that does not fit": (changed(shown_end=10_000), "`end`|place"),
    "a file offset that does not fit": (changed(start=3), "`start` contradicts"),
    "half a letter": (changed(title="\ud83d"), "half of a surrogate pair"),
    "half a letter in the book": (
        changed(book={"title": "\ud83d", "base_url": "", "toolchain": ""}),
        "half of a surrogate pair",
    ),
    "another book": (changed(book_id="birds"), "birds"),
    "a book id that leads elsewhere": (changed(book_id="../birds"), "1 to 64"),
    "a book without a title": (changed(book={"base_url": "", "toolchain": ""}), "`book` must hold title"),
    "a book that is a text": (changed(book="robots"), "`book` must hold"),
    "a digest that is a number": (changed(page_digest=7), "`page_digest`"),
    "a page that is named twice": (changed(module="other"), "contradicts earlier lines"),
    "a chunk twice": (lambda records: records.insert(1, records[0]), "appears twice"),
    "a chunk left out": (lambda records: records.pop(0), "is missing"),
}


@pytest.mark.parametrize("fault", WRONG)
async def test_a_wrong_line_is_named_and_nothing_is_changed(folder: Path, fault: str) -> None:
    here, there = Place(), Place()
    await here.ingest(folder)
    await there.ingest(folder)
    before = await there.state()
    records = [json.loads(line) for line in (await here.exported()).splitlines()]
    change, says = WRONG[fault]
    change(records)
    with pytest.raises(Unreadable, match=says) as caught:
        await there.take("".join(json.dumps(record) + "\n" for record in records))
    assert caught.value.exit_code == 3
    assert caught.value.details["line"] in (1, 2)
    assert await there.state() == before


@pytest.mark.parametrize(
    ("content", "says"),
    [
        (b"", "no chunk"),
        (b"\n", "Line 1 .* not JSON"),
        (b"[]\n", "Line 1 .* not an object"),
        (b'{"id": \n', "Line 1 .* not JSON"),
        (b"\xff\xfe{}\n", "Line 1 .* not UTF-8"),
        (b"[" * 100_000 + b"\n", "Line 1 .* not JSON"),
        (b"{}\n", "Line 1 .* lacks the field"),
    ],
)
async def test_what_is_no_export_is_refused_by_line(content: bytes, says: str) -> None:
    with pytest.raises(Unreadable, match=says):
        await Place().take(content)


async def test_a_file_that_was_cut_off_is_refused(folder: Path) -> None:
    here = Place()
    await here.ingest(folder)
    lines = (await here.exported()).splitlines(keepends=True)
    with pytest.raises(Unreadable, match=r"topics\.md has 1 of 2 chunks"):
        await Place().take("".join(lines[:-1]))
    with pytest.raises(Unreadable, match=rf"Line {len(lines)} "):
        await Place().take("".join(lines)[:-20])


@pytest.mark.parametrize("vector", ["?", "AAAA", "AAA=", 7, None])
async def test_a_vector_that_is_none_is_refused_and_nothing_is_published(folder: Path, vector: object) -> None:
    here, there = Place(), Place()
    await here.ingest(folder)
    records = [json.loads(line) for line in (await here.exported(vectors=True)).splitlines()]
    records[2]["vector"] = vector
    with pytest.raises(Unreadable, match=r"Line 3 .*vector"):
        await there.take("".join(json.dumps(record) + "\n" for record in records))
    assert await there.index.books() == []
    assert await there.library.books() == []


async def test_chunks_of_another_splitter_are_refused_as_such(folder: Path) -> None:
    here = Place()
    await here.ingest(folder)
    records = [json.loads(line) for line in (await here.exported()).splitlines()]
    records[0]["chunker"] = "0"
    with pytest.raises(IndexMismatch, match="splitter"):
        await Place().take(json.dumps(records[0]))


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=6,
)


ID = "6a1f7a9e-2f7e-5c3e-9d57-0d5a3d7b6f10"
SAMPLE = line_of(chunk(id=ID), Book("book", "Book"), None)


@given(data=st.data())
def test_whatever_stands_in_a_field_it_is_taken_whole_or_refused_by_line(data: st.DataObject) -> None:
    record = json.loads(SAMPLE)
    name = data.draw(st.sampled_from(sorted(record)))
    record[name] = data.draw(JSON)
    taken: set[str] = set()
    with suppress(Unreadable, IndexMismatch):
        taken = read_contents(io.BytesIO(json.dumps(record).encode())).ids
    assert taken in (set(), {ID})


def test_the_sample_itself_is_taken() -> None:
    assert read_contents(io.BytesIO(SAMPLE.encode())).book.title == "Book"
