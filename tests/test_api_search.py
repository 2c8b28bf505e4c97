from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from doors import Doors, opened
from quoth.api.schemas import BooksResponse, ContextResponse, LessonResponse, SearchResponse


@pytest.fixture
async def doors(tmp_path: Path) -> AsyncIterator[Doors]:
    async with opened(tmp_path) as joined:
        yield joined


async def search(doors: Doors, path: str = "/search", **fields: object) -> dict[str, Any]:
    response = await doors.client.post(path, json={"text": "durability of late subscribers", **fields})
    assert response.status_code == 200, response.text
    body: dict[str, Any] = response.json()
    SearchResponse.model_validate(body)
    return body


async def test_a_search_gives_passages_best_first_with_their_confidence(doors: Doors) -> None:
    body = await search(doors)
    assert body["results"][0]["section_title"] == "Durability"
    scores = [result["score"] for result in body["results"]]
    assert scores[0] == max(scores)
    assert body["metrics"]["num_chunks"] == len(body["results"])
    assert "explain" not in body["results"][0]


@pytest.mark.parametrize(("path", "fields"), [("/search?explain=true", {}), ("/search", {"explain": True})])
async def test_raw_scores_are_given_when_asked_for_in_either_way(
    doors: Doors, path: str, fields: dict[str, object]
) -> None:
    explained = (await search(doors, path, **fields))["results"][0]["explain"]
    assert explained["dense_rank"] == 1
    assert explained["sparse_rank"] == 1


async def test_a_filter_narrows_the_search_and_its_count(doors: Doors) -> None:
    body = await search(doors, section="Timing")
    assert [result["section_title"] for result in body["results"]] == ["Timing"]
    assert body["total_found"] == 1


async def test_a_chunk_is_read_with_its_neighbours_in_order(doors: Doors) -> None:
    found = (await search(doors))["results"][0]
    body = (await doors.client.get(f"/context/{found['chunk_id']}", params={"prev": 1, "next": 1})).json()
    ContextResponse.model_validate(body)
    positions = [chunk["chunk_index"] for chunk in body["chunks"]]
    at = found["chunk_index"]
    assert positions == [one for one in (at - 1, at, at + 1) if 0 <= one < found["total_chunks"]]
    assert len(positions) > 1
    alone = (await doors.client.get(f"/context/{found['chunk_id']}", params={"prev": 0, "next": 0})).json()
    assert [chunk["chunk_id"] for chunk in alone["chunks"]] == [found["chunk_id"]]


async def test_a_lesson_is_all_its_chunks_in_order(doors: Doors) -> None:
    found = (await search(doors))["results"][0]
    body = (await doors.client.get(f"/lesson/{found['parent_doc_id']}")).json()
    LessonResponse.model_validate(body)
    assert [chunk["chunk_index"] for chunk in body["chunks"]] == list(range(found["total_chunks"]))
    assert body["title"] == "Topics"


async def test_every_book_is_listed_with_the_state_of_its_index(tmp_path: Path) -> None:
    async with opened(tmp_path, books=2) as doors:
        body = (await doors.client.get("/books")).json()
        BooksResponse.model_validate(body)
        assert [book["book_id"] for book in body["books"]] == ["book", "book-2"]
        assert all(book["chunks"] > 0 for book in body["books"])


async def test_a_reading_door_needs_the_book_when_there_are_several(tmp_path: Path) -> None:
    async with opened(tmp_path, books=2) as doors:
        found = (await search(doors, book_id="book-2"))["results"][0]
        unnamed = await doors.client.get(f"/context/{found['chunk_id']}")
        named = await doors.client.get(f"/context/{found['chunk_id']}", params={"book_id": "book-2"})
        assert (unnamed.status_code, named.status_code) == (400, 200)
