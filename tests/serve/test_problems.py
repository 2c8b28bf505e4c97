from __future__ import annotations

import logging
import uuid
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from doors import ASKED, SESSION, Doors, a_key, check_problem, check_shape, closed, frames, opened
from quoth.bootstrap import fingerprint_of
from quoth.domain import Conversation, Turn
from quoth.errors import IndexMismatch, IndexUnavailable, LibraryUnavailable, QuothError
from quoth.serve.bodies import MAX_BODY
from quoth.serve.problems import Problem
from quoth.testing.embedder import FakeEmbedder
from quoth.testing.index import MemoryIndex
from quoth.testing.library import MemoryLibrary

JSON = {"content-type": "application/json"}
BODY_DOORS = ["/chat", "/chat/stream", "/search"]


@pytest.fixture
async def doors(tmp_path: Path) -> AsyncIterator[Doors]:
    async with opened(tmp_path) as joined:
        yield joined


async def test_an_unknown_field_is_told_with_the_nearest_known_one(doors: Doors) -> None:
    problem = check_problem(await doors.client.post("/chat", json={"query": ASKED, "topk": 3}), 400, "UNKNOWN_FIELD")
    assert problem["hint"] == "Did you mean `top_k`?"


async def test_a_body_that_does_not_say_how_long_it_is_has_the_same_limit(doors: Doors) -> None:
    async def endless() -> AsyncIterator[bytes]:
        for _ in range(MAX_BODY // 1024 + 2):
            yield b" " * 1024

    check_problem(await doors.client.post("/chat", content=endless(), headers=JSON), 413, "BODY_TOO_LARGE")


async def test_the_longest_question_and_selection_fit_into_a_body(doors: Doors) -> None:
    response = await doors.client.post("/chat", json={"query": "é" * 32_000, "selected_text": "é" * 64_000})
    assert response.status_code == 200


@pytest.mark.parametrize("media_type", ["application/json; charset=utf-8", "APPLICATION/JSON", "application/ld+json"])
async def test_json_may_be_announced_in_several_ways(doors: Doors, media_type: str) -> None:
    content = b'{"query": "What is a topic?"}'
    response = await doors.client.post("/chat", content=content, headers={"content-type": media_type})
    assert response.status_code == 200


FRAMEWORK_ERRORS = [
    ("GET", "/assets/nothing.js", 404, "NOT_FOUND"),
    ("GET", "/assets/../api/app.py", 404, "NOT_FOUND"),
    ("GET", "/errors/NO_SUCH_CODE", 404, "NOT_FOUND"),
    ("GET", "/books/", 404, "NOT_FOUND"),
    ("GET", "/ingestion/jobs/9223372036854775808", 400, "INVALID_REQUEST"),
    ("GET", f"/history/{SESSION}?limit=0", 400, "INVALID_REQUEST"),
    ("GET", f"/history/{SESSION}?limit=101", 400, "INVALID_REQUEST"),
    ("GET", f"/history/{SESSION}?limit=many", 400, "INVALID_REQUEST"),
    ("GET", "/context/none?prev=11", 400, "INVALID_REQUEST"),
    ("GET", "/context/none", 404, "UNKNOWN_CHUNK"),
    ("GET", "/lesson/none", 404, "NOT_FOUND"),
]


@pytest.mark.parametrize(("method", "path", "status", "code"), FRAMEWORK_ERRORS)
async def test_the_frameworks_own_errors_have_the_same_shape(
    doors: Doors, method: str, path: str, status: int, code: str
) -> None:
    check_problem(await doors.client.request(method, path), status, code)


@pytest.mark.parametrize(
    ("path", "allowed"),
    [
        ("/chat", "POST"),
        ("/ingestion/jobs", "GET, POST"),
        (f"/session/{SESSION}", "DELETE, GET, PATCH"),
        ("/", "GET, HEAD"),
        ("/assets/page.css", "GET, HEAD"),
        ("/v1/models/quoth/book", "GET"),
    ],
)
async def test_a_wrong_method_is_told_all_that_are_right(doors: Doors, path: str, allowed: str) -> None:
    response = await doors.client.put(path)
    check_problem(response, 405, "METHOD_NOT_ALLOWED")
    assert response.headers["allow"] == allowed
    assert allowed in response.json()["hint"]


async def test_the_type_of_a_problem_can_be_looked_up(doors: Doors) -> None:
    problem = (await doors.client.post("/chat", json={})).json()
    explained = (await doors.client.get(problem["type"])).json()
    assert (explained["error_code"], explained["status"]) == ("EMPTY_QUERY", 400)
    assert explained["hint"] == problem["hint"]


async def test_several_books_and_none_named_is_a_wrong_question(tmp_path: Path) -> None:
    async with opened(tmp_path, books=2) as doors:
        problem = check_problem(await doors.client.post("/chat", json={"query": ASKED}), 400, "INVALID_REQUEST")
        assert "book-2" in problem["message"]
        named = await doors.client.post("/chat", json={"query": ASKED, "book_id": "book-2"})
        assert named.json()["metadata"]["book_id"] == "book-2"


async def test_a_server_without_a_book_says_how_to_add_one(tmp_path: Path) -> None:
    async with opened(tmp_path, books=0) as doors:
        problem = check_problem(await doors.client.post("/chat", json={"query": ASKED}), 404, "UNKNOWN_BOOK")
        assert "quoth ingest" in problem["hint"]


# --- outages and faults ----------------------------------------------------------------------------------------------


class FailingIndex(MemoryIndex):
    """Searching fails with the given error."""

    def __init__(self, error: Exception) -> None:
        super().__init__(fingerprint_of(FakeEmbedder()))
        self._error = error

    async def asked(self, call: str, book_id: str) -> None:
        raise self._error


class FailingLibrary(MemoryLibrary):
    """Storing fails with the given error; everything before it works."""

    def __init__(self, error: Exception) -> None:
        super().__init__()
        self._error = error

    async def add_turn(self, turn: Turn) -> Turn:
        raise self._error

    async def conversation(self, session_id: str, *, owner: str = "") -> Conversation:
        raise self._error


OUTAGES: list[tuple[QuothError, str, str]] = [
    (IndexUnavailable("The index cannot be read."), "QDRANT_UNAVAILABLE", "5"),
    (IndexMismatch("The index was built by another model."), "INDEX_MISMATCH", "60"),
]


@pytest.mark.parametrize("door", BODY_DOORS)
@pytest.mark.parametrize(("error", "code", "wait"), OUTAGES)
async def test_an_outage_is_never_a_refusal(tmp_path: Path, door: str, error: QuothError, code: str, wait: str) -> None:
    async with opened(tmp_path, index=FailingIndex(error)) as doors:
        fields = {"text" if door == "/search" else "query": ASKED}
        response = await doors.client.post(door, json=fields)
        check_problem(response, 503, code)
        assert response.headers["retry-after"] == wait


async def test_a_database_that_is_down_is_an_outage_although_the_answer_was_found(tmp_path: Path) -> None:
    down = FailingLibrary(LibraryUnavailable("The database does not answer."))
    async with opened(tmp_path, library=down) as doors:
        response = await doors.client.post("/chat", json={"query": ASKED})
        check_problem(response, 503, "SERVICE_UNAVAILABLE")
        assert response.headers["retry-after"] == "5"


INSIDE = "/srv/quoth/index on qdrant.internal:6333, table turns"


@pytest.mark.parametrize("door", [*BODY_DOORS, "/v1/chat/completions"])
async def test_an_outage_names_no_path_host_or_table_but_to_operators_and_the_log(
    tmp_path: Path, door: str, caplog: pytest.LogCaptureFixture
) -> None:
    fields: dict[str, object] = {"text" if door == "/search" else "query": ASKED}
    if door.startswith("/v1"):
        fields = {"model": "quoth", "messages": [{"role": "user", "content": ASKED}]}
    async with opened(tmp_path, index=FailingIndex(IndexUnavailable(INSIDE)), settings={"auth": "off"}) as doors:
        response = await doors.client.post(door, json=fields)
        problem = check_problem(response, 503, "QDRANT_UNAVAILABLE")
        assert "internal" not in response.text
        assert problem["message"] == "The index is not available right now."
        assert problem["request_id"] in problem["hint"]
        assert INSIDE in caplog.text
    (tmp_path / "closed").mkdir()
    async with closed(tmp_path / "closed", index=FailingIndex(IndexUnavailable(INSIDE))) as doors:
        reader = await doors.client.post(door, json=fields, headers=await a_key(doors))
        assert "internal" not in reader.text
        operator = await doors.client.post(door, json=fields, headers=await a_key(doors, "admin"))
        assert check_problem(operator, 503, "QDRANT_UNAVAILABLE")["message"] == INSIDE


async def test_an_outage_in_the_middle_of_a_stream_names_nothing_either(tmp_path: Path) -> None:
    async with opened(tmp_path, library=FailingLibrary(LibraryUnavailable(INSIDE))) as doors:
        response = await doors.client.post("/chat/stream", json={"query": ASKED})
        name, problem = frames(response.text)[-1]
        assert (name, problem["message"]) == ("error", "The database is not available right now.")
        assert "internal" not in response.text


async def test_a_failure_after_the_first_byte_is_the_last_event_of_the_stream(tmp_path: Path) -> None:
    down = FailingLibrary(LibraryUnavailable("The database does not answer."))
    async with opened(tmp_path, library=down) as doors:
        response = await doors.client.post("/chat/stream", json={"query": ASKED})
        events = frames(response.text)
        assert response.status_code == 200
        assert [name for name, _ in events][-3:] == ["sources", "grounding", "error"]
        problem = events[-1][1]
        check_shape(Problem, problem)
        assert (problem["error_code"], problem["status"]) == ("SERVICE_UNAVAILABLE", 503)
        assert problem["request_id"] == response.headers["x-request-id"]


SECRET = "the password is swordfish"


@pytest.mark.parametrize("door", BODY_DOORS)
async def test_a_fault_of_ours_tells_nothing_of_the_inside_and_everything_to_the_log(
    tmp_path: Path, door: str, caplog: pytest.LogCaptureFixture
) -> None:
    async with opened(tmp_path, index=FailingIndex(RuntimeError(SECRET))) as doors:
        fields = {"text" if door == "/search" else "query": ASKED}
        with caplog.at_level(logging.ERROR, logger="quoth"):
            response = await doors.client.post(door, json=fields)
        problem = check_problem(response, 500, "INTERNAL_ERROR")
        assert SECRET not in response.text
        assert problem["request_id"] in problem["hint"]
        assert SECRET in caplog.text
        assert "Traceback" in caplog.text


async def test_a_fault_of_ours_within_a_stream_ends_it_with_an_error_event(tmp_path: Path) -> None:
    async with opened(tmp_path, library=FailingLibrary(RuntimeError(SECRET))) as doors:
        response = await doors.client.post("/chat/stream", json={"query": ASKED})
        name, problem = frames(response.text)[-1]
        assert (name, problem["error_code"]) == ("error", "INTERNAL_ERROR")
        assert SECRET not in response.text


# --- what every response carries -------------------------------------------------------------------------------------


@pytest.mark.parametrize("path", ["/", "/assets/page.css", "/books", "/healthz", "/nowhere", "/openapi.json"])
async def test_every_response_has_an_id_of_its_own_and_the_security_headers(doors: Doors, path: str) -> None:
    first, second = await doors.client.get(path), await doors.client.get(path)
    ids = {response.headers["x-request-id"] for response in (first, second)}
    assert len(ids) == 2
    assert {uuid.UUID(value).version for value in ids} == {4}
    assert first.headers["x-content-type-options"] == "nosniff"
    assert first.headers["content-security-policy"].startswith("default-src 'none'")


@pytest.mark.parametrize("path", ["/books", "/healthz", "/nowhere", "/openapi.json"])
async def test_no_other_site_may_read_an_answer_unless_it_was_let_in(doors: Doors, path: str) -> None:
    answer = await doors.client.get(path, headers={"origin": "https://evil.example"})
    assert "access-control-allow-origin" not in answer.headers


async def test_a_client_may_bring_its_own_request_id(doors: Doors) -> None:
    mine = str(uuid.uuid4())
    kept = await doors.client.get("/healthz", headers={"x-request-id": mine})
    assert kept.headers["x-request-id"] == mine


@pytest.mark.parametrize("sent", ["", "mine", "x\tinjected", "6a1f7a9e-2f7e-1c3e-9d57-0d5a3d7b6f10"])
async def test_what_is_not_a_uuid_4_is_replaced(doors: Doors, sent: str) -> None:
    response = await doors.client.get("/healthz", headers={"x-request-id": sent})
    assert response.headers["x-request-id"] != sent
    assert uuid.UUID(response.headers["x-request-id"]).version == 4


async def test_another_origin_is_not_let_in(doors: Doors) -> None:
    headers = {"origin": "https://evil.example", "access-control-request-method": "POST"}
    preflight = await doors.client.options("/chat", headers=headers)
    check_problem(preflight, 403, "FORBIDDEN")
    assert "access-control-allow-origin" not in preflight.headers
