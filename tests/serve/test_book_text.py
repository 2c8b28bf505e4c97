from __future__ import annotations

import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from doors import PAGE, opened
from quoth.chunks.split import split
from quoth.domain import Book, Chunk, PageRecord
from quoth.serve.book_text import PageLink, as_document, llms_txt, pages_of, trail_of, whole
from quoth.sources import open_source
from quoth.testing.embedder import FakeEmbedder
from quoth.testing.library import MemoryLibrary
from samples import TickingClock, chunk

BOOK = Path(__file__).resolve().parents[2] / "examples" / "robotics-book"
TEXT = "".join(chr(0x4E00 + number) for number in range(400))  # every character once


@given(st.lists(st.tuples(st.integers(0, 399), st.integers(1, 60)), min_size=1, max_size=30))
def test_every_character_of_the_chunks_stands_once_and_in_order(slices: list[tuple[int, int]]) -> None:
    chunks = [chunk(TEXT[start : start + length], start=start) for start, length in slices]
    covered = {position for start, length in slices for position in range(start, min(start + length, len(TEXT)))}
    assert whole(chunks).replace("\n", "") == "".join(TEXT[position] for position in sorted(covered))


def test_what_stands_between_two_chunks_is_a_break() -> None:
    assert whole([chunk("ab", start=0), chunk("cd", start=3), chunk("ef", start=9)]) == "ab\ncd\n\nef"


def test_no_chunks_are_no_text() -> None:
    assert whole([]) == ""


def test_a_page_of_the_sample_book_is_put_together_without_loss_and_without_repetition() -> None:
    source = open_source(BOOK, book_id="book", base_url="https://book.example.com")
    tokens = FakeEmbedder().tokens
    looked_at = 0
    for file in source.files():
        page = source.read(file)
        chunks = split(page, tokens)
        text = whole(chunks)
        assert all(chunk.text in text for chunk in chunks), file.source_file
        covered = {position for chunk in chunks for position in range(chunk.start, chunk.end)}
        kept = "".join(page.text[position] for position in sorted(covered))
        assert re.sub(r"\s", "", text) == re.sub(r"\s", "", kept), file.source_file
        looked_at += len(chunks)
    assert looked_at > 50


def record(source_file: str, **fields: object) -> PageRecord:
    values = {"digest": "d", "file_hash": "h", "chunk_ids": ("1",), "ingested_at": TickingClock().now(), **fields}
    return PageRecord(book_id="book", source_file=source_file, **values)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("records", "order"),
    [
        (
            [
                record("docs/glossary.md"),
                record("docs/02-b/x.md"),
                record("docs/intro.md"),
                record("docs/01-a/index.md"),
            ],
            ["docs/intro.md", "docs/01-a/index.md", "docs/02-b/x.md", "docs/glossary.md"],
        ),
        (
            [record("10-end.md"), record("2-middle.md"), record("1-begin.md")],
            ["1-begin.md", "2-middle.md", "10-end.md"],
        ),
        (
            [
                record("z.md", chapter=1, lesson=0),
                record("a.md", chapter=2, lesson=1),
                record("b.md", chapter=2, lesson=0),
            ],
            ["z.md", "b.md", "a.md"],
        ),
        (
            [record("02-b/1.md", module="b", chapter=1), record("01-z/1.md", module="z", chapter=2)],
            ["01-z/1.md", "02-b/1.md"],
        ),
        ([record("empty.md", chunk_ids=()), record("full.md")], ["full.md"]),
    ],
)
async def test_pages_come_in_reading_order(records: list[PageRecord], order: list[str]) -> None:
    library = MemoryLibrary()
    await library.put_page_records(records)
    assert [page.source_file for page in await pages_of(library, "book")] == order


def test_the_trail_is_what_stands_above_the_page() -> None:
    breadcrumb = ("ROS 2", "Basics", "Topics", "Durability", "Kinds")
    assert trail_of(chunk(breadcrumb=breadcrumb, heading_path=("Durability", "Kinds"))) == ("ROS 2", "Basics")
    assert trail_of(chunk(breadcrumb=("Topics",), heading_path=())) == ()


def test_a_table_of_contents_has_the_form_of_llmstxt_org() -> None:
    book = Book("book", "The  Book\nof [things]", base_url="https://book.example.com")
    entries = [
        PageLink("One [1]", "https://b/1", "Part"),
        PageLink("Two", "https://b/2", "Other"),
        PageLink("3", "", "Part"),
    ]
    text = llms_txt(book, entries, whole_text="/books/book/llms-full.txt")
    lines = text.splitlines()
    assert lines[0] == "# The Book of [things]"
    assert lines[2].startswith("> The Book of [things], published at https://book.example.com: 3 pages.")
    assert [line for line in lines if line.startswith("## ")] == ["## Part", "## Other", "## Optional"]
    assert lines[lines.index("## Part") + 2] == r"- [One \[1\]](https://b/1)"
    assert text.endswith("- [The text of all pages](/books/book/llms-full.txt)\n")


def test_a_page_without_a_heading_of_its_own_gets_its_title() -> None:
    page = record("a.md", title="Title", url="https://b/a")
    assert as_document(page, "Words.") == "Source: https://b/a\n\n# Title\n\nWords.\n\n"
    assert as_document(page, "# Own\n\nWords.\n") == "Source: https://b/a\n\n# Own\n\nWords.\n\n"


# --- the doors --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("path", ["/llms.txt", "/llms.txt?book_id=book", "/books/book/llms.txt"])
async def test_the_only_book_and_a_named_one_have_their_table_of_contents(tmp_path: Path, path: str) -> None:
    async with opened(tmp_path) as doors:
        response = await doors.client.get(path)
        assert (response.status_code, response.headers["content-type"]) == (200, "text/plain; charset=utf-8")
        assert "- [Topics](https://book.example.com/topics)" in response.text
        full = re.search(r"\[The text of all pages\]\((.+)\)", response.text)
        assert full is not None
        assert (
            await doors.client.get(full[1])
        ).text == f"Source: https://book.example.com/topics\n\n{PAGE.strip()}\n\n"


async def test_all_pages_of_a_book_are_in_its_whole_text(tmp_path: Path) -> None:
    async with opened(tmp_path) as doors:
        await doors.quoth.ingest.run(open_source(BOOK, book_id="robots", base_url="https://robots.example.com"))
        text = (await doors.client.get("/books/robots/llms-full.txt")).text
        records = await pages_of(doors.quoth.library, "robots")
        assert len(records) > 10
        places = [text.index(f"Source: {record.url}\n") for record in records]
        assert places == sorted(places)
        chunks: list[Chunk] = [one async for one in doors.quoth.index.scan("robots")]
        assert all(one.text.strip() in text for one in chunks)
        contents = (await doors.client.get("/books/robots/llms.txt")).text
        assert all(f"]({record.url})" in contents for record in records)
        assert contents.count("\n## ") > 3


@pytest.mark.parametrize("name", ["llms.txt", "llms-full.txt"])
async def test_an_unknown_book_and_an_undecided_one_are_problems(tmp_path: Path, name: str) -> None:
    async with opened(tmp_path, books=2) as doors:
        for path, status, code in [
            (f"/books/atlantis/{name}", 404, "UNKNOWN_BOOK"),
            (f"/{name}?book_id=atlantis", 404, "UNKNOWN_BOOK"),
            (f"/{name}", 400, "INVALID_REQUEST"),
        ]:
            response = await doors.client.get(path)
            assert (response.status_code, response.json()["error_code"]) == (status, code)


async def test_a_book_without_pages_has_an_empty_text(tmp_path: Path) -> None:
    async with opened(tmp_path, books=0) as doors:
        await doors.quoth.library.put_book(Book("empty", "Empty"))
        assert (await doors.client.get("/llms-full.txt")).text == ""
        assert "0 pages" in (await doors.client.get("/llms.txt")).text
