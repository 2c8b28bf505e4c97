"""Who gets in: keys, scopes, books, origins, at every door."""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterator, Sequence
from datetime import timedelta
from pathlib import Path
from typing import Any

import httpx2
import pytest

from doors import ASKED, SESSION, SITE, Doors, a_key, check_problem, closed, every_door, opened
from quoth.domain import Key, Message, ModelEvent, ModelText, ModelTurn, Scope, Tool
from quoth.errors import LibraryUnavailable
from quoth.serve.access import scope_needed
from quoth.testing.library import MemoryKeys, MemoryLibrary
from samples import StillClock


@pytest.fixture
async def doors(tmp_path: Path) -> AsyncIterator[Doors]:
    async with closed(tmp_path) as joined:
        yield joined


# What a stranger may open, listed by hand once more: a newly opened door must be added here too.
KNOWN_TO_BE_OPEN = {
    *("/", "/health", "/healthz", "/readyz", "/openapi.json", "/ingestion/webhook/github", "/widget.js"),
    *("/assets/anything", "/errors/code", "/a/share_id", "/shared/share_id"),
}


async def test_every_door_of_the_application_is_closed_without_a_key(doors: Doors) -> None:
    looked_at = [door for door in every_door(doors.app) if door[1] not in KNOWN_TO_BE_OPEN]
    assert len(looked_at) > 10
    for method, path in looked_at:
        response = await doors.client.request(method, path)
        check_problem(response, 401, "UNAUTHORIZED")
        assert response.headers["www-authenticate"] == 'Bearer realm="quoth"', (method, path)


async def test_only_what_is_known_to_be_open_is_open(doors: Doors) -> None:
    opened_to_all = {path for _, path in every_door(doors.app) if scope_needed(path) is None}
    assert opened_to_all == KNOWN_TO_BE_OPEN


@pytest.mark.parametrize("path", ["/nowhere", "/metrics", "/v1/models", "/mcp", "/llms.txt", "/books/", "/BOOKS"])
async def test_a_path_that_is_not_listed_is_closed_too(doors: Doors, path: str) -> None:
    check_problem(await doors.client.get(path), 401, "UNAUTHORIZED")


@pytest.mark.parametrize(
    "header",
    [
        *["", "Bearer", "Bearer ", "Basic cXVvdGg6cXVvdGg=", "Bearer nonsense", "Bearer qk_", "Bearer \xff", "qk_1_2"],
        *["Bearer qk_0123456789ab_" + "a" * 43, "Bearer eyJhbGciOiJub25lIn0.eyJzdWIiOiJtZSJ9."],
    ],
)
async def test_what_is_not_a_key_opens_nothing(doors: Doors, header: str) -> None:
    await a_key(doors)
    response = await doors.client.get("/books", headers=[(b"authorization", header.encode("latin-1"))])
    check_problem(response, 401, "UNAUTHORIZED")


async def test_a_key_with_another_secret_or_another_id_opens_nothing(doors: Doors) -> None:
    one, other = (await a_key(doors))["authorization"], (await a_key(doors))["authorization"]
    mixed = one[: len("Bearer qk_0123456789ab_")] + other[len("Bearer qk_0123456789ab_") :]
    response = await doors.client.get("/books", headers={"authorization": mixed})
    check_problem(response, 401, "UNAUTHORIZED")
    assert response.headers["www-authenticate"] == 'Bearer realm="quoth", error="invalid_token"'


async def test_a_key_opens_and_a_revoked_or_expired_one_does_not(doors: Doors) -> None:
    good = await a_key(doors)
    assert (await doors.client.get("/books", headers=good)).status_code == 200
    [key] = await doors.quoth.library.keys.all()
    await doors.quoth.library.keys.revoke(key.key_id, at=doors.quoth.clock.now())
    problem = check_problem(await doors.client.get("/books", headers=good), 401, "UNAUTHORIZED")
    assert "revoked" in problem["message"]
    expired = await a_key(doors, expires_at=doors.quoth.clock.now() + timedelta(seconds=1))
    problem = check_problem(await doors.client.get("/books", headers=expired), 401, "UNAUTHORIZED")
    assert "expired" in problem["message"]


async def test_a_key_may_come_in_the_header_x_api_key(doors: Doors) -> None:
    words = (await a_key(doors))["authorization"].removeprefix("Bearer ")
    for headers in (
        {"x-api-key": words},
        {"x-api-key": f" {words} ", "authorization": "Basic dXNlcjpwYXNz"},  # a proxy's own login
        {"x-api-key": "of another service", "authorization": f"Bearer {words}"},
    ):
        assert (await doors.client.get("/books", headers=headers)).status_code == 200, headers
    for headers in ({"x-api-key": "qk_0123456789ab_" + "a" * 43}, {"x-api-key": ""}):
        check_problem(await doors.client.get("/books", headers=headers), 401, "UNAUTHORIZED")


async def test_a_page_of_an_allowed_site_may_send_the_header_x_api_key(doors: Doors) -> None:
    await a_key(doors, origins=[SITE])
    wants = {"access-control-request-method": "POST", "access-control-request-headers": "x-api-key"}
    preflight = await doors.client.options("/chat", headers={"origin": SITE, **wants})
    assert "x-api-key" in preflight.headers["access-control-allow-headers"].split(", ")


DOORS_OF: list[tuple[str, str, Scope]] = [
    ("GET", "/books", "ask"),
    ("POST", "/chat", "ask"),
    ("POST", "/chat/stream", "ask"),
    ("POST", "/search", "ask"),
    ("GET", "/context/none", "ask"),
    ("GET", "/lesson/none", "ask"),
    ("GET", f"/history/{SESSION}", "ask"),
    ("DELETE", f"/session/{SESSION}", "ask"),
    ("POST", "/v1/chat/completions", "ask"),
    ("POST", "/v1/responses", "ask"),
    ("POST", "/v1/embeddings", "ask"),
    ("GET", "/v1/models", "ask"),
    ("POST", "/mcp", "ask"),
    ("GET", "/llms.txt", "ask"),
    ("GET", "/ingestion/jobs", "ingest"),
    ("POST", "/ingestion/jobs", "ingest"),
    ("GET", "/ingestion/jobs/1", "ingest"),
    ("GET", "/ingestion/jobs/1/events", "ingest"),
    ("GET", "/ingestion/changes", "ingest"),
    ("GET", "/metrics", "admin"),
    ("GET", "/metrics/", "admin"),
]


@pytest.mark.parametrize(("method", "path", "needed"), DOORS_OF)
@pytest.mark.parametrize("scope", ["ask", "ingest", "admin"])
async def test_each_scope_opens_its_own_doors_and_admin_opens_all(
    doors: Doors, method: str, path: str, needed: Scope, scope: Scope
) -> None:
    response = await doors.client.request(method, path, headers=await a_key(doors, scope))
    assert (response.status_code == 403) == (scope not in (needed, "admin"))
    assert response.status_code != 401


async def test_a_wrong_scope_is_told_which_one_is_needed(doors: Doors) -> None:
    response = await doors.client.get("/ingestion/jobs", headers=await a_key(doors))
    problem = check_problem(response, 403, "FORBIDDEN")
    assert problem["details"] == {"scope": "ask", "needed": "ingest"}
    assert "--scope ingest" in problem["hint"]


async def test_keys_are_looked_at_once_a_second_and_new_ones_open_at_once(tmp_path: Path) -> None:
    clock = StillClock()
    async with closed(tmp_path, clock=clock) as doors:
        first = await a_key(doors)
        assert (await doors.client.get("/books", headers=first)).status_code == 200
        second = await a_key(doors)
        assert (await doors.client.get("/books", headers=second)).status_code == 200
        for key in await doors.quoth.library.keys.all():
            await doors.quoth.library.keys.revoke(key.key_id, at=clock.now())
        clock.pass_by(1)
        for headers in (first, second):
            check_problem(await doors.client.get("/books", headers=headers), 401, "UNAUTHORIZED")


async def test_a_server_is_open_until_there_is_a_key_and_never_again(tmp_path: Path) -> None:
    async with opened(tmp_path) as doors:
        assert (await doors.client.get("/books")).status_code == 200
        await a_key(doors)
        check_problem(await doors.client.get("/books"), 401, "UNAUTHORIZED")
        [key] = await doors.quoth.library.keys.all()
        await doors.quoth.library.keys.revoke(key.key_id, at=doors.quoth.clock.now())
        check_problem(await doors.client.get("/books"), 401, "UNAUTHORIZED")


async def test_a_server_that_was_told_to_be_open_is_open_and_ignores_what_is_shown(tmp_path: Path) -> None:
    async with opened(tmp_path, settings={"auth": "off"}) as doors:
        await a_key(doors)
        for headers in ({}, {"authorization": "Bearer sk-of-some-openai-client"}):
            assert (await doors.client.get("/books", headers=headers)).status_code == 200


# --- one book --------------------------------------------------------------------------------------------------------


@pytest.fixture
async def two_books(tmp_path: Path) -> AsyncIterator[Doors]:
    async with closed(tmp_path, books=2) as joined:
        yield joined


BOOK_DOORS: list[tuple[str, str, dict[str, object]]] = [
    ("POST", "/chat", {"query": ASKED}),
    ("POST", "/chat/stream", {"query": ASKED}),
    ("POST", "/search", {"text": ASKED}),
]
READING_DOORS = ["/context/any", "/lesson/any", "/llms.txt", "/llms-full.txt"]


@pytest.mark.parametrize(("method", "path", "body"), BOOK_DOORS)
async def test_a_key_of_one_book_sees_no_other(two_books: Doors, method: str, path: str, body: dict[str, Any]) -> None:
    bound = await a_key(two_books, book_id="book-2")
    ask = two_books.client.request
    check_problem(await ask(method, path, json={**body, "book_id": "book"}, headers=bound), 404, "UNKNOWN_BOOK")
    check_problem(await ask(method, path, json={**body, "book_id": "none"}, headers=bound), 404, "UNKNOWN_BOOK")
    own = await ask(method, path, json={**body, "book_id": "book-2"}, headers=bound)
    unnamed = await ask(method, path, json=body, headers=bound)
    assert (own.status_code, unnamed.status_code) == (200, 200)
    assert '"book_id":"book-2"' in unnamed.text


async def test_a_key_of_one_book_reads_no_chunk_and_no_page_of_another(two_books: Doors) -> None:
    bound = await a_key(two_books, book_id="book-2")
    others = [*(f"{path}?book_id=book" for path in READING_DOORS), "/books/book/llms.txt", "/v1/models/quoth/book"]
    for path in others:
        check_problem(await two_books.client.get(path, headers=bound), 404, "UNKNOWN_BOOK")


async def test_a_key_of_one_book_is_told_of_no_other(two_books: Doors) -> None:
    bound = await a_key(two_books, book_id="book-2")
    listed = (await two_books.client.get("/books", headers=bound)).json()
    assert [book["book_id"] for book in listed["books"]] == ["book-2"]
    everything = (await two_books.client.get("/books", headers=await a_key(two_books))).json()
    assert len(everything["books"]) == 2


async def test_the_configured_book_is_not_a_way_around_the_key(tmp_path: Path) -> None:
    async with closed(tmp_path, books=2, settings={"book": "book"}) as doors:
        bound = await a_key(doors, book_id="book-2")
        answer = await doors.client.post("/chat", json={"query": ASKED}, headers=bound)
        assert answer.json()["metadata"]["book_id"] == "book-2"


async def test_an_ingest_key_of_one_book_sees_and_starts_jobs_of_no_other(two_books: Doors) -> None:
    bound = await a_key(two_books, "ingest", book_id="book-2")
    client = two_books.client
    listed = (await client.get("/ingestion/jobs", headers=bound)).json()["jobs"]
    assert {job["book_id"] for job in listed} == {"book-2"}
    every = (await client.get("/ingestion/jobs", headers=await a_key(two_books, "ingest"))).json()["jobs"]
    [foreign] = [job["job_id"] for job in every if job["book_id"] == "book"]
    check_problem(await client.get(f"/ingestion/jobs/{foreign}", headers=bound), 404, "NOT_FOUND")
    check_problem(await client.get(f"/ingestion/jobs/{foreign}/events", headers=bound), 404, "NOT_FOUND")
    check_problem(await client.get("/ingestion/jobs?book_id=book", headers=bound), 404, "UNKNOWN_BOOK")
    check_problem(await client.get("/ingestion/changes?book_id=book", headers=bound), 404, "UNKNOWN_BOOK")
    for body in ({"book_id": "book"}, {"book_id": "book", "path": "docs"}, {"book_id": "new", "path": "docs"}):
        check_problem(await client.post("/ingestion/jobs", json=body, headers=bound), 404, "UNKNOWN_BOOK")


# --- sessions --------------------------------------------------------------------------------------------------------

SESSION_DOORS = [
    ("GET", f"/history/{SESSION}"),
    ("GET", f"/session/{SESSION}"),
    ("GET", f"/session/{SESSION}/history"),
    ("DELETE", f"/session/{SESSION}"),
]
TALKING = ["/chat", "/chat/stream", "/chat/run"]


async def test_a_session_belongs_to_the_key_that_opened_it_and_is_not_there_for_others(doors: Doors) -> None:
    mine, other, admin = await a_key(doors), await a_key(doors), await a_key(doors, "admin")
    said = {"query": ASKED, "session_id": SESSION}
    assert (await doors.client.post("/chat", json=said, headers=mine)).status_code == 200
    for stranger in (other, admin):
        for method, path in SESSION_DOORS:
            response = await doors.client.request(method, path, headers=stranger)
            check_problem(response, 404, "SESSION_NOT_FOUND")
        for path in TALKING:
            response = await doors.client.post(path, json=said, headers=stranger)
            check_problem(response, 404, "SESSION_NOT_FOUND")
    told = (await doors.client.get(f"/history/{SESSION}", headers=mine)).json()
    assert told["total_entries"] == 1
    assert (await doors.client.delete(f"/session/{SESSION}", headers=mine)).status_code == 204


# --- public keys -----------------------------------------------------------------------------------------------------


async def test_a_public_key_asks_from_its_own_site_only(doors: Doors) -> None:
    public = await a_key(doors, origins=[SITE, "http://localhost:3000"])

    async def asked(**headers: str) -> httpx2.Response:
        return await doors.client.post("/chat", json={"query": ASKED}, headers={**public, **headers})

    assert (await asked(origin=SITE)).status_code == 200
    assert (await asked(origin="http://localhost:3000")).status_code == 200
    for elsewhere in ("https://evil.example", "http://docs.example.org", "null", f"{SITE}.evil.example", ""):
        problem = check_problem(await asked(origin=elsewhere), 403, "FORBIDDEN")
        assert SITE in problem["hint"]
    check_problem(await asked(), 403, "FORBIDDEN")


async def test_a_browser_on_the_site_of_a_public_key_is_told_that_it_may_ask(doors: Doors) -> None:
    public = await a_key(doors, origins=[SITE])
    wants = {"access-control-request-method": "POST", "access-control-request-headers": "authorization,content-type"}
    wants["access-control-request-headers"] = "authorization, X-Stainless-OS,x-stainless-lang, not a name"
    preflight = await doors.client.options("/chat", headers={"origin": SITE, **wants})
    assert (preflight.status_code, preflight.content) == (204, b"")
    allowed = preflight.headers["access-control-allow-headers"].split(", ")
    assert {"x-stainless-os", "x-stainless-lang"} <= set(allowed)
    assert "not a name" not in allowed
    assert len(allowed) == len(set(allowed))
    assert preflight.headers["access-control-allow-origin"] == SITE
    assert "POST" in preflight.headers["access-control-allow-methods"]
    assert {"authorization", "content-type"} <= set(preflight.headers["access-control-allow-headers"].split(", "))
    assert preflight.headers["vary"] == "Origin"
    assert "access-control-allow-credentials" not in preflight.headers

    answer = await doors.client.post("/chat", json={"query": ASKED}, headers={"origin": SITE, **public})
    assert answer.headers["access-control-allow-origin"] == SITE
    assert "retry-after" in answer.headers["access-control-expose-headers"]
    problem = await doors.client.post("/chat", json={}, headers={"origin": SITE, **public})
    check_problem(problem, 400, "EMPTY_QUERY")
    assert problem.headers["access-control-allow-origin"] == SITE  # or the page could not read why


async def test_a_revoked_public_key_lets_its_site_in_no_longer(doors: Doors) -> None:
    await a_key(doors, origins=[SITE])
    [key] = await doors.quoth.library.keys.all()
    await doors.quoth.library.keys.revoke(key.key_id, at=doors.quoth.clock.now())
    preflight = await doors.client.options("/chat", headers={"origin": SITE, "access-control-request-method": "POST"})
    check_problem(preflight, 403, "FORBIDDEN")
    assert "access-control-allow-origin" not in preflight.headers


async def test_sites_are_let_in_by_a_setting_too(tmp_path: Path) -> None:
    async with opened(tmp_path, settings={"cors_origins": SITE}) as doors:
        answer = await doors.client.get("/books", headers={"origin": SITE})
        assert answer.headers["access-control-allow-origin"] == SITE
        other = await doors.client.get("/books", headers={"origin": "https://evil.example"})
        assert "access-control-allow-origin" not in other.headers
        assert other.headers["vary"] == "Origin"


async def test_every_site_is_let_in_only_where_the_operator_says_so(tmp_path: Path) -> None:
    async with opened(tmp_path, settings={"cors_origins": "*"}) as doors:
        answer = await doors.client.get("/books", headers={"origin": "https://any.example"})
        assert answer.headers["access-control-allow-origin"] == "https://any.example"


# --- budgets ---------------------------------------------------------------------------------------------------------


class Parrot:
    """A model that quotes the first passage."""

    name = "parrot"
    calls = 0

    async def reply(self, messages: Sequence[Message], tools: Sequence[Tool] = ()) -> AsyncGenerator[ModelEvent]:
        self.calls += 1
        yield ModelText("Transient local durability keeps the last message for late subscribers [1].")
        yield ModelTurn(tokens=7, model="parrot")

    async def check(self) -> str:
        return "here"

    async def close(self) -> None:
        return


async def test_a_budget_that_is_used_up_leaves_the_book_in_its_own_words(tmp_path: Path) -> None:
    parrot = Parrot()
    async with closed(tmp_path, model=parrot) as doors:
        thrifty, rich = await a_key(doors, daily=2), await a_key(doors)

        async def mode(headers: dict[str, str], query: str = ASKED) -> tuple[str, str | None]:
            answer = (await doors.client.post("/chat", json={"query": query}, headers=headers)).json()
            assert answer["answer"]
            return answer["metadata"]["mode"], answer["fallback_message"]

        assert await mode(thrifty) == ("full", None)
        assert (await mode(thrifty, "Who won the football championship?"))[0] == "no_results"  # costs nothing
        assert await mode(thrifty) == ("full", None)
        spent, why = await mode(thrifty)
        assert spent == "extractive"
        assert "used up" in str(why)
        assert await mode(rich) == ("full", None)
        assert parrot.calls == 3
        stream = await doors.client.post("/chat/stream", json={"query": ASKED}, headers=thrifty)
        assert '"mode":"extractive"' in stream.text


async def test_without_a_model_nothing_is_spent(tmp_path: Path) -> None:
    async with closed(tmp_path) as doors:
        thrifty = await a_key(doors, daily=0)
        answer = (await doors.client.post("/chat", json={"query": ASKED}, headers=thrifty)).json()
        assert (answer["metadata"]["mode"], answer["fallback_message"]) == ("extractive", None)


# --- outages ---------------------------------------------------------------------------------------------------------


class DownKeys(MemoryKeys):
    async def all(self) -> list[Key]:
        raise LibraryUnavailable("The database does not answer.")


class DownLibrary(MemoryLibrary):
    def __init__(self) -> None:
        super().__init__()
        self._keys = DownKeys()


async def test_while_the_database_is_down_no_key_is_let_in_and_the_answer_says_why(tmp_path: Path) -> None:
    async with closed(tmp_path, library=DownLibrary()) as doors:
        response = await doors.client.get("/books", headers=await a_key(doors))
        check_problem(response, 503, "SERVICE_UNAVAILABLE")
        assert (await doors.client.get("/healthz")).status_code == 200
