"""A book to browse and to read: its contents, its pages, its pictures."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from doors import ASKED, Doors, check_problem, opened
from quoth.bootstrap import Quoth
from quoth.domain import Book
from quoth.errors import IndexUnavailable
from quoth.serve import proposals, reading
from quoth.sources import open_source

PNG = b"\x89PNG\r\n\x1a\n" + b"\0" * 20
SVG = "<svg xmlns='http://www.w3.org/2000/svg'><script>alert(1)</script></svg>"
FIGURES = """# Figures

![A robot](img/robot.png "The robot") and ![a drawing](/img/plan.svg) and ![not one](img/notes.png).

![outside](../outside.png) ![linked](img/link.png) ![hidden](.secret/key.png) ![remote](https://example.com/a.png)
"""


@pytest.fixture
async def doors(tmp_path: Path) -> AsyncIterator[Doors]:
    async with opened(tmp_path) as joined:
        yield joined


@pytest.fixture
async def pictures(doors: Doors, tmp_path: Path) -> str:
    """A book with pictures; gives the id of its chunk."""
    book = tmp_path / "pictures"
    for folder in ("img", "static/img", ".secret"):
        (book / folder).mkdir(parents=True)
    (book / "figures.md").write_text(FIGURES, encoding="utf-8")
    for name in ("img/robot.png", ".secret/key.png", "img/unused.png", "../outside.png"):
        (book / name).write_bytes(PNG)
    (book / "static/img/plan.svg").write_text(SVG, encoding="utf-8")
    (book / "img/notes.png").write_text("my diary", encoding="utf-8")
    (book / "img/link.png").symlink_to(tmp_path / "outside.png")
    await doors.quoth.ingest.run(open_source(book, book_id="pictures"))
    return next(iter([chunk.id async for chunk in doors.quoth.index.scan("pictures")]))


async def get(doors: Doors, path: str, **params: str) -> dict[str, Any]:
    response = await doors.client.get(path, params=params)
    assert response.status_code == 200, response.text
    body: dict[str, Any] = response.json()
    return body


async def test_the_contents_of_a_book_are_a_tree_with_questions_that_it_answers(doors: Doors, tmp_path: Path) -> None:
    faq = (
        f"# {ASKED}\n\nTransient local durability keeps the last message for late subscribers.\n\n## Zyxomats\n\nNo.\n"
    )
    (tmp_path / "docs" / "faq.md").write_text(faq, encoding="utf-8")
    await doors.quoth.ingest.run(open_source(tmp_path / "docs", book_id="book"))
    body = await get(doors, "/books/book/contents")
    assert [page["title"] for page in body["contents"]["pages"]] == [ASKED, "Topics"]
    while not (found := await get(doors, "/books/book/questions"))["complete"]:
        pass
    assert found["questions"] == [ASKED]
    assert (await doors.ask(ASKED))["should_answer"]


async def test_questions_that_take_long_are_told_as_they_are_found(
    doors: Doors, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tried: list[str] = []
    free = asyncio.Event()

    async def slow(quoth: Quoth, book: Book, question: str) -> bool:
        tried.append(question)
        if len(tried) > 1:
            await free.wait()
        return True

    monkeypatch.setattr(proposals, "_is_answered", slow)
    monkeypatch.setattr(proposals, "_PATIENCE", 0.1)
    while not (first := await get(doors, "/books/book/questions"))["questions"]:
        pass
    assert first == {"book_id": "book", "questions": tried[:1], "complete": False}
    free.set()
    while not (last := await get(doors, "/books/book/questions"))["complete"]:
        pass
    assert last["questions"] == tried
    assert len(tried) > 1


async def test_the_next_question_is_told_at_once(doors: Doors, monkeypatch: pytest.MonkeyPatch) -> None:
    free = asyncio.Event()
    tried: list[str] = []

    async def slow(quoth: Quoth, book: Book, question: str) -> bool:
        tried.append(question)
        if len(tried) > 1:
            await free.wait()
        return True

    monkeypatch.setattr(proposals, "_is_answered", slow)
    monkeypatch.setattr(proposals, "_PATIENCE", 3600.0)  # whoever waited for all of them would never be answered
    first = await get(doors, "/books/book/questions", known="0")
    assert (len(first["questions"]), first["complete"]) == (1, False)
    free.set()
    second = await get(doors, "/books/book/questions", known="1")
    assert len(second["questions"]) > 1


async def test_a_server_that_is_started_again_knows_the_questions(
    doors: Doors, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = doors.quoth.settings.data_dir / "index" / "book"
    folder.mkdir(parents=True)
    tried: list[str] = []

    async def answered(quoth: Quoth, book: Book, question: str) -> bool:
        tried.append(question)
        return True

    async def asked() -> list[str]:
        doors.app.state.outlines = reading.Outlines()
        found = await get(doors, "/books/book/questions")
        assert found["complete"]
        questions: list[str] = found["questions"]
        return questions

    monkeypatch.setattr(proposals, "_is_answered", answered)
    monkeypatch.setattr(proposals, "_PATIENCE", 3600.0)
    first = await asked()
    searches = len(tried)
    assert (await asked(), len(tried)) == (first, searches)
    (folder / proposals.NAME).write_text("{}", encoding="utf-8")  # damaged
    assert (await asked(), len(tried)) == (first, 2 * searches)
    (tmp_path / "docs" / "services.md").write_text("# Services\n\nA service answers requests.\n", encoding="utf-8")
    await doors.quoth.ingest.run(open_source(tmp_path / "docs", book_id="book"))
    assert len(await asked()) > len(first)
    assert [path.name for path in folder.iterdir()] == [proposals.NAME]


async def test_questions_are_looked_for_again_after_an_outage(doors: Doors, monkeypatch: pytest.MonkeyPatch) -> None:
    async def down(quoth: Quoth, book: Book, question: str) -> bool:
        raise IndexUnavailable("The index cannot be read.")

    with monkeypatch.context() as outage:
        outage.setattr(proposals, "_is_answered", down)
        assert (await doors.client.get("/books/book/questions")).status_code == 503
    assert "questions" in await get(doors, "/books/book/questions")


async def test_contents_are_made_again_when_the_book_has_changed(doors: Doors, tmp_path: Path) -> None:
    await get(doors, "/books/book/contents")
    (tmp_path / "docs" / "services.md").write_text("# Services\n\nA service answers requests.\n", encoding="utf-8")
    await doors.quoth.ingest.run(open_source(tmp_path / "docs", book_id="book"))
    body = await get(doors, "/books/book/contents")
    assert [page["title"] for page in body["contents"]["pages"]] == ["Services", "Topics"]


async def test_filters_are_offered_where_the_book_has_several_values(doors: Doors, tmp_path: Path) -> None:
    book = tmp_path / "graded"
    book.mkdir()
    for number, level in enumerate(("A1", "B2")):
        front = f"---\nmodule: m{number}\nproficiency_level: {level}\nlayer: L2\n---\n"
        (book / f"{number}.md").write_text(f"{front}# Lesson {number}\n\nWords of a lesson.\n", encoding="utf-8")
    await doors.quoth.ingest.run(open_source(book, book_id="graded"))
    filters = (await get(doors, "/books/graded/contents"))["filters"]
    assert (filters["module"], filters["proficiency_levels"]) == (["m0", "m1"], ["A1", "B2"])
    assert filters["layer"] == filters["hardware_tier"] == []


async def test_a_page_is_its_text_and_says_where_each_chunk_begins(doors: Doors) -> None:
    source = (await doors.ask(ASKED))["sources"][0]
    body = await get(doors, "/books/book/page", chunk_id=source["chunk_id"])
    at = {place["chunk_id"]: place["at"] for place in body["places"]}[source["chunk_id"]]
    assert body["text"].index(source["quote"], at) >= at
    assert body["text"].startswith("# Topics\n\nA topic carries")
    assert (body["breadcrumb"], body["cut"]) == (["Topics"], False)
    assert body["before"] is body["after"] is None


async def test_a_page_leads_to_the_pages_around_it(doors: Doors, tmp_path: Path) -> None:
    for name in ("a", "z"):
        (tmp_path / "docs" / f"{name}.md").write_text(f"# Page {name}\n\nWords.\n", encoding="utf-8")
    await doors.quoth.ingest.run(open_source(tmp_path / "docs", book_id="book"))
    source = (await doors.ask(ASKED))["sources"][0]
    body = await get(doors, "/books/book/page", chunk_id=source["chunk_id"])
    assert (body["before"]["title"], body["after"]["title"]) == ("Page a", "Page z")


async def test_of_a_long_page_the_part_around_the_chunk_is_sent(
    doors: Doors, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(reading, "_LONGEST_PAGE", 1000)
    text = "\n\n".join(f"## Part {number}\n\n{'Words of it. ' * 20}" for number in range(40))
    (tmp_path / "docs" / "long.md").write_text(f"# Long\n\n{text}\n", encoding="utf-8")
    await doors.quoth.ingest.run(open_source(tmp_path / "docs", book_id="book"))
    chunks = [chunk async for chunk in doors.quoth.index.scan("book") if chunk.source_file == "long.md"]
    asked = chunks[len(chunks) // 2]
    body = await get(doors, "/books/book/page", chunk_id=asked.id)
    assert body["cut"]
    assert asked.text in body["text"]
    assert 0 < len(body["text"]) <= 1010


async def test_what_is_not_there_is_not_found(doors: Doors) -> None:
    check_problem(await doors.client.get("/books/atlantis/contents"), 404, "UNKNOWN_BOOK")
    check_problem(await doors.client.get("/books/book/page?chunk_id=x"), 404, "UNKNOWN_CHUNK")


@pytest.mark.parametrize(("src", "media_type"), [("img/robot.png", "image/png"), ("/img/plan.svg", "image/svg+xml")])
async def test_a_picture_of_the_page_is_shown_and_can_do_nothing(
    doors: Doors, pictures: str, src: str, media_type: str
) -> None:
    response = await doors.client.get("/books/pictures/figure", params={"chunk_id": pictures, "src": src})
    assert (response.status_code, response.headers["content-type"]) == (200, media_type)
    assert "sandbox" in response.headers["content-security-policy"]
    assert "default-src 'none'" in response.headers["content-security-policy"]
    assert response.headers["x-content-type-options"] == "nosniff"


@pytest.mark.parametrize(
    "src",
    [
        *["img/notes.png", "../outside.png", "img/link.png", ".secret/key.png", "https://example.com/a.png"],
        *["img/unused.png", "figures.md", "/etc/passwd", "img/robot.png\0", "", "img", "%2e%2e/outside.png"],
    ],
)
async def test_nothing_else_of_the_disk_is_shown(doors: Doors, pictures: str, src: str) -> None:
    response = await doors.client.get("/books/pictures/figure", params={"chunk_id": pictures, "src": src})
    check_problem(response, 404, "NOT_FOUND")
