from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from doors import Doors, a_key, check_shape, closed, opened
from quoth.serve.search import ContextResponse, LessonResponse
from quoth.serve.search_views import SearchResponse


@pytest.fixture
async def doors(tmp_path: Path) -> AsyncIterator[Doors]:
    async with opened(tmp_path) as joined:
        yield joined


async def search(doors: Doors, path: str = "/search", **fields: object) -> dict[str, Any]:
    response = await doors.client.post(path, json={"text": "durability of late subscribers", **fields})
    assert response.status_code == 200, response.text
    body: dict[str, Any] = response.json()
    check_shape(SearchResponse, body)
    return body


async def test_a_search_gives_passages_best_first_with_their_confidence(doors: Doors) -> None:
    body = await search(doors)
    assert body["results"][0]["section_title"] == "Durability"
    scores = [result["score"] for result in body["results"]]
    assert scores[0] == max(scores)
    assert body["metrics"]["num_chunks"] == len(body["results"])
    assert "explain" not in body["results"][0]


def by_the_table(similarities: list[float]) -> str:
    """The table of the policy `spec`."""
    average = sum(similarities) / len(similarities)
    for level, least, passages in (("high", 0.85, 5), ("medium", 0.75, 3), ("low", 0.60, 2)):
        if average >= least and len(similarities) >= passages:
            return level
    return "insufficient"


@pytest.mark.parametrize("text", ["durability of late subscribers", "durability", "football in Vienna"])
async def test_under_the_policy_of_the_spec_the_table_decides_over_the_similarities(tmp_path: Path, text: str) -> None:
    async with opened(tmp_path, settings={"confidence": "spec"}) as doors:
        body = await search(doors, text=text)
        similarities = [result["similarity_score"] for result in body["results"]]
        metrics = body["metrics"]
        assert metrics["confidence"] == metrics["average_similarity"]
        assert metrics["confidence"] == pytest.approx(sum(similarities) / len(similarities), abs=1e-3)
        assert metrics["confidence_level"] == by_the_table(similarities)
        assert metrics["should_answer"] == (metrics["confidence_level"] != "insufficient")
        assert metrics["has_sufficient_context"] == (metrics["confidence"] >= 0.75 and len(similarities) >= 3)


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
    check_shape(ContextResponse, body)
    positions = [chunk["chunk_index"] for chunk in body["chunks"]]
    at = found["chunk_index"]
    assert positions == [one for one in (at - 1, at, at + 1) if 0 <= one < found["total_chunks"]]
    assert len(positions) > 1
    alone = (await doors.client.get(f"/context/{found['chunk_id']}", params={"prev": 0, "next": 0})).json()
    assert [chunk["chunk_id"] for chunk in alone["chunks"]] == [found["chunk_id"]]


async def test_a_lesson_is_all_its_chunks_in_order(doors: Doors) -> None:
    found = (await search(doors))["results"][0]
    body = (await doors.client.get(f"/lesson/{found['parent_doc_id']}")).json()
    check_shape(LessonResponse, body)
    assert [chunk["chunk_index"] for chunk in body["chunks"]] == list(range(found["total_chunks"]))
    assert body["title"] == "Topics"


async def test_every_book_is_listed_with_the_state_of_its_index(tmp_path: Path) -> None:
    async with opened(tmp_path, books=2) as doors:
        body = (await doors.client.get("/books")).json()
        assert [book["book_id"] for book in body["books"]] == ["book", "book-2"]
        assert all(book["chunks"] > 0 for book in body["books"])


async def test_the_folder_of_a_book_is_named_whole_to_operators_only(tmp_path: Path) -> None:
    async with opened(tmp_path, settings={"auth": "off"}) as doors:
        for path in ("/books", "/ingestion/changes"):
            assert str(tmp_path) not in (await doors.client.get(path)).text
    (tmp_path / "closed").mkdir()
    async with closed(tmp_path / "closed") as doors:

        async def sources(headers: dict[str, str]) -> list[str]:
            return [book["source"] for book in (await doors.client.get("/books", headers=headers)).json()["books"]]

        assert await sources(await a_key(doors)) == ["docs"]
        operator = await a_key(doors, "admin")
        assert await sources(operator) == [str(tmp_path / "closed" / "docs")]
        book = await doors.quoth.library.book("book")
        await doors.quoth.library.put_book(replace(book, source="https://book.example.com/sitemap.xml"))
        assert await sources(await a_key(doors)) == ["https://book.example.com/sitemap.xml"]


async def test_a_reading_door_needs_the_book_when_there_are_several(tmp_path: Path) -> None:
    async with opened(tmp_path, books=2) as doors:
        found = (await search(doors, book_id="book-2"))["results"][0]
        unnamed = await doors.client.get(f"/context/{found['chunk_id']}")
        named = await doors.client.get(f"/context/{found['chunk_id']}", params={"book_id": "book-2"})
        assert (unnamed.status_code, named.status_code) == (400, 200)


RESULT_FIELDS = {
    "text", "score", "source_file", "section_title", "module", "chapter", "lesson", "hardware_tier",
    "proficiency_level", "layer", "chunk_index", "total_chunks", "parent_doc_id", "prev_chunk_id", "next_chunk_id",
    "content_hash",
}  # fmt: skip
RESPONSE_FIELDS = {"query", "results", "total_found", "hardware_tier_filter", "module_filter", "book_id"}


async def test_a_search_result_has_every_field_a_breadcrumb_and_a_link_to_the_heading(doors: Doors) -> None:
    body = await search(doors, limit=20)
    assert set(body) >= RESPONSE_FIELDS
    assert all(set(result) >= RESULT_FIELDS for result in body["results"])
    best = body["results"][0]
    assert best["breadcrumb"][-2:] == ["Topics", "Durability"]
    assert best["source_url"].startswith("https://book.example.com/")
    assert best["source_url"].endswith("#durability")


@pytest.mark.parametrize("text", ["durability", "the", "…", "主题", "🤖", "Durability of late subscribers? " * 900])
async def test_results_come_by_score_between_0_and_1_whatever_is_asked(doors: Doors, text: str) -> None:
    body = await search(doors, text=text, limit=20)
    scores = [result["similarity_score"] for result in body["results"]]
    assert scores == sorted(scores, reverse=True)
    assert all(0 <= score <= 1 for score in scores)
    assert len(scores) == body["total_found"] == 3


async def test_every_part_of_a_score_is_explained(doors: Doors) -> None:
    explained = [result["explain"] for result in (await search(doors, explain=True, limit=20))["results"]]
    fused = [one["fused_score"] for one in explained]
    assert fused == sorted(fused, reverse=True)
    assert [one["dense_rank"] for one in explained if one["dense_rank"] == 1] == [1]
    assert explained[0]["pair_share"] > explained[-1]["pair_share"]
    assert explained[0]["agreement"] > explained[-1]["agreement"]


@pytest.mark.parametrize(
    ("prefix", "found"), [("/topics", 3), ("https://book.example.com/topics", 3), ("/elsewhere", 0)]
)
async def test_a_prefix_may_be_a_path_of_the_books_site(doors: Doors, prefix: str, found: int) -> None:
    body = await search(doors, source_url_prefix=prefix)
    assert (body["total_found"], len(body["results"])) == (found, found)


async def test_a_chunk_and_a_lesson_of_one_book_are_unknown_to_another(tmp_path: Path) -> None:
    async with opened(tmp_path, books=2) as doors:
        found = (await search(doors, book_id="book-2"))["results"][0]
        for path in (f"/context/{found['chunk_id']}", f"/lesson/{found['parent_doc_id']}"):
            codes = [
                (await doors.client.get(path, params={"book_id": book})).status_code for book in ("book", "book-2")
            ]
            assert codes == [404, 200]


async def test_a_search_says_its_ranks_its_filters_and_when_chunks_were_written(doors: Doors) -> None:
    body = await search(doors, section="Durability", explain=True)
    assert [result["rank"] for result in body["results"]] == list(range(1, len(body["results"]) + 1))
    assert body["filter_applied"] == {"section": "Durability"}
    assert len(body["query_embedding"]) == doors.quoth.embedder.dimensions
    first = body["results"][0]
    assert first["version"] == 1
    assert first["created_at"] == first["updated_at"] == first["embedded_at"] != None  # noqa: E711
    plain = await search(doors)
    assert plain["filter_applied"] == {}
    assert "query_embedding" not in plain
    assert plain["query_id"] != body["query_id"]
