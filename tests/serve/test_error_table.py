"""Every error code of docs/contract.md, on every door where it can happen, in the one shape.

`DOORS` lists the doors, each with a request that works and its traits; `CASES` lists what can go wrong, for which
doors, in which world. A door of the application that is not listed is a failure, and so is a code without a case.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import httpx2
import pytest
from fastapi.routing import iter_route_contexts

from doors import ASKED, SESSION, Doors, a_key, check_problem, opened
from quoth.bootstrap import fingerprint_of
from quoth.errors import IndexMismatch, IndexUnavailable, LibraryUnavailable
from quoth.serve.bodies import MAX_BODY
from quoth.serve.problems import known_errors
from quoth.testing.embedder import FakeEmbedder
from quoth.testing.index import MemoryIndex
from quoth.testing.library import MemoryLibrary
from samples import StillClock

pytestmark = pytest.mark.slow

JSON = {"content-type": "application/json"}
SECRET = "the password is swordfish"


@dataclass(frozen=True)
class Door:
    method: str
    path: str  # as the router knows it
    like: frozenset[str] = frozenset()
    body: Mapping[str, Any] | None = None
    at: Mapping[str, str] = field(default_factory=dict)  # the values of the path's parameters
    query: Mapping[str, Any] = field(default_factory=dict)
    headers: Mapping[str, str] = field(default_factory=dict)
    content: bytes | None = None  # sent as is, instead of the body

    def __str__(self) -> str:
        return f"{self.method} {self.path}"

    @property
    def url(self) -> str:
        url = self.path.replace(":path", "")
        for name, value in self.at.items():
            url = url.replace(f"{{{name}}}", value)
        return url

    async def knock(self, client: httpx2.AsyncClient) -> httpx2.Response:
        given: dict[str, Any] = {"json": dict(self.body)} if self.body is not None else {}
        given = {"content": self.content} if self.content is not None else given
        return await client.request(self.method, self.url, params=self.query, headers=self.headers, **given)

    def saying(self, **fields: Any) -> Door:
        return replace(self, body={**(self.body or {}), **fields})

    def asking(self, what: object) -> Door:
        if "responses" in self.like:
            return self.saying(input=what)
        if "openai" in self.like:
            return self.saying(messages=[{"role": "user", "content": what}])
        return self.saying(**{"text" if "text" in (self.body or {}) else "query": what})

    def sending(self, content: bytes, headers: Mapping[str, str] = JSON) -> Door:
        return replace(self, content=content, headers={**self.headers, **headers})

    def of_book(self, book_id: str) -> Door:
        """The same request for another book, wherever this door reads it."""
        if "book_id" in self.at:
            return replace(self, at={**self.at, "book_id": book_id})
        if "model" in self.at:
            return replace(self, at={**self.at, "model": f"quoth/{book_id}"})
        if "openai" in self.like:
            return self.saying(model=f"quoth/{book_id}")
        return replace(self, query={"book_id": book_id}) if self.body is None else self.saying(book_id=book_id)


def door(method: str, path: str, like: str = "", body: Mapping[str, Any] | None = None, **more: Any) -> Door:
    return Door(method, path, frozenset(like.split()), body, **more)


# open: needs no key · ingest, admin: needs such a key · uncounted: knows no limit · json: reads a JSON object ·
# question: takes all fields of a chat request · top10: at most ten passages · book: is about a book ·
# session: names one in its path · index, library: cannot do without
TALK = "json question book answer index library"
DOORS = [
    door("POST", "/chat", TALK, {"query": ASKED}),
    door("POST", "/chat/stream", TALK, {"query": ASKED}),
    door("POST", "/chat/run", f"{TALK} top10", {"query": ASKED}),
    door("POST", "/search", "json book index library", {"text": ASKED}),
    door("GET", "/context/{chunk_id}", "book index library", at={"chunk_id": "none"}),
    door("GET", "/lesson/{parent_doc_id}", "book index library", at={"parent_doc_id": "none"}),
    door("GET", "/books", "index library"),
    door("GET", "/history/{session_id}", "session library", at={"session_id": SESSION}),
    door("GET", "/session/{session_id}", "session library", at={"session_id": SESSION}),
    door("GET", "/session/{session_id}/history", "session library", at={"session_id": SESSION}),
    door("DELETE", "/session/{session_id}", "session library", at={"session_id": SESSION}),
    door("PATCH", "/session/{session_id}", "session json library", {"tags": []}, at={"session_id": SESSION}),
    door("POST", "/ingestion/jobs", "ingest json book library", {}),
    door("GET", "/ingestion/jobs", "ingest library"),
    door("GET", "/ingestion/jobs/{job_id}", "ingest library", at={"job_id": "1"}),
    door("GET", "/ingestion/jobs/{job_id}/events", "ingest library", at={"job_id": "1"}),
    door("GET", "/ingestion/changes", "ingest book library"),
    door("POST", "/ingestion/webhook/github", "open", {}),
    door(
        "POST",
        "/v1/chat/completions",
        "json openai book answer index library",
        {"model": "quoth", "messages": [{"role": "user", "content": ASKED}]},
    ),
    door(
        "POST",
        "/v1/responses",
        "json openai responses book answer index library",
        {"model": "quoth", "input": ASKED},
    ),
    door("POST", "/v1/embeddings", "json openai book", {"model": "quoth", "input": "Bread."}),
    door("POST", "/v1/completions", "", {"model": "quoth", "prompt": "Bread is"}),
    door("GET", "/v1/models", "index library"),
    door("GET", "/v1/models/{model:path}", "book index library", at={"model": "quoth"}),
    door("POST", "/mcp", "mcp answer", {"jsonrpc": "2.0", "id": 1, "method": "tools/list"}),
    door("GET", "/llms.txt", "book library"),
    door("GET", "/llms-full.txt", "book index library"),
    door("GET", "/books/{book_id}/llms.txt", "book library", at={"book_id": "book"}),
    door("GET", "/books/{book_id}/llms-full.txt", "book index library", at={"book_id": "book"}),
    door("GET", "/books/{book_id}/contents", "book library", at={"book_id": "book"}),
    door("GET", "/books/{book_id}/questions", "book library", at={"book_id": "book"}),
    door("GET", "/books/{book_id}/page", "book library", at={"book_id": "book"}, query={"chunk_id": "none"}),
    door(
        "GET",
        "/books/{book_id}/figure",
        "book library",
        at={"book_id": "book"},
        query={"chunk_id": "none", "src": "none.png"},
    ),
    door("POST", "/feedback", "json library", {"session_id": SESSION, "request_id": "x", "rating": "up"}),
    door("POST", "/share", "", {"session_id": SESSION, "request_id": "x"}),  # 404 before it reads: sharing is off
    door("GET", "/shared/{share_id}", "open", at={"share_id": "1-none"}),
    door("GET", "/a/{share_id}", "open uncounted", at={"share_id": "1-none"}),
    door("GET", "/metrics", "admin"),
    door("GET", "/health", "open uncounted"),
    door("GET", "/healthz", "open uncounted"),
    door("GET", "/readyz", "open uncounted"),
    door("GET", "/errors/{code}", "open", at={"code": "EMPTY_QUERY"}),
    door("GET", "/openapi.json", "open"),
    door("GET", "/", "open uncounted"),
    door("GET", "/widget.js", "open uncounted"),
]
FILES = "/assets"  # a folder, not a door


def doors_of(app: Any) -> list[tuple[str, str]]:
    routes = [route for route in iter_route_contexts(app.routes) if route.path != FILES]
    return [
        (method, str(route.path)) for route in routes for method in sorted(route.methods or {"GET"}) if method != "HEAD"
    ]


def here(doors: Doors, *like: str) -> list[Door]:
    """The doors that have all these traits."""
    built = set(doors_of(doors.app))
    return [one for one in DOORS if (one.method, one.path) in built and one.like.issuperset(like)]


# --- worlds ----------------------------------------------------------------------------------------------------------


class Breakable:
    """Wraps a real part; once it is broken, every call fails."""

    def __init__(self, part: object) -> None:
        self._part = part
        self.error: Exception | None = None

    def __getattr__(self, name: str) -> Any:
        found = getattr(self._part, name)
        if self.error is None or not callable(found) or name == "close":
            return found

        def fails(*arguments: object, **named: object) -> None:
            assert self.error is not None
            raise self.error

        return fails


class Idle:
    """Replaces the process that ingests: it runs until it is stopped."""

    def __init__(self) -> None:
        self._stopped = asyncio.Event()

    async def wait(self) -> str:
        await self._stopped.wait()
        return "stopped"

    def stop(self) -> None:
        self._stopped.set()

    def kill(self) -> None:
        return


@asynccontextmanager
async def world(folder: Path, kind: str) -> AsyncIterator[Doors]:
    """An open server, a closed one, a limited one, or one with a broken part."""
    index, library = Breakable(MemoryIndex(fingerprint_of(FakeEmbedder()))), Breakable(MemoryLibrary())
    settings: dict[str, Any] = {"auth": "keys" if kind in ("closed", "asking", "reading") else "off"}
    settings |= {"limited": {"rate_limit": 1}, "busy": {"max_answers": 1}}.get(kind, {})
    parts: dict[str, Any] = {
        "index": index,
        "library": library,
        "launch": lambda quoth, order, job_id: Idle(),
        "clock": StillClock(),
    }
    async with opened(folder, settings=settings, **parts) as doors:
        if kind in ("asking", "reading"):
            doors.client.headers.update(await a_key(doors, "ask" if kind == "asking" else "ingest"))
        broken: dict[str, tuple[Breakable, Exception]] = {
            "no index": (index, IndexUnavailable("The index cannot be read.")),
            "another index": (index, IndexMismatch("The index was built by another model.")),
            "no library": (library, LibraryUnavailable("The database does not answer.")),
            "a fault": (library, RuntimeError(SECRET)),
        }
        if kind in broken:
            part, error = broken[kind]
            part.error = error
        if kind == "busy":
            with doors.app.state.guard.places.take("another caller"):
                yield doors
        elif kind == "at work":
            assert (await doors.client.post("/ingestion/jobs", json={})).status_code == 202
            yield doors
        else:
            yield doors


# --- cases -----------------------------------------------------------------------------------------------------------

Change = Callable[[Door], Door]


@dataclass(frozen=True)
class Case:
    name: str
    code: str
    like: str = ""  # for the doors with all these traits
    change: Change = lambda door: door
    world: str = "open"
    but: str = ""  # not for those with any of these traits
    headers: tuple[str, ...] = ()  # that the answer must have

    def __str__(self) -> str:
        return f"{self.code}: {self.name}"


def body(name: str, code: str, like: str = "question", **fields: object) -> Case:
    return Case(name, code, like, lambda door: door.saying(**fields))


def raw(name: str, code: str, content: bytes, headers: Mapping[str, str] = JSON) -> Case:
    return Case(name, code, "json", lambda door: door.sending(content, headers))


def long(door: Door) -> Door:
    return replace(door, headers={**door.headers, "content-length": str(30 * 2**20)}, content=b"", body=None)


def by(**parameters: object) -> Change:
    return lambda door: replace(door, query={**door.query, **parameters})


QUESTIONS = [
    Case("no question", "EMPTY_QUERY", "question", lambda door: replace(door, body={})),
    Case("a blank question", "EMPTY_QUERY", "json index", lambda door: door.asking("  \n ")),
    Case("a very long question", "QUERY_TOO_LONG", "json index", lambda door: door.asking("x" * 32_001)),
    Case("a question that is a number", "INVALID_REQUEST", "json index", lambda door: door.asking(7)),
    body("a very long selection", "SELECTION_TOO_LONG", selected_text="x" * 64_001),
    body("a session that is not a UUID", "INVALID_SESSION_ID", session_id="me"),
    body("a session that is a UUID of version 1", "INVALID_SESSION_ID", session_id=SESSION.replace("-4c", "-1c")),
    body("a session that is a number", "INVALID_SESSION_ID", session_id=7),
    body("a layer that there is not", "INVALID_FILTER", filters={"layer": "L9"}),
    body("a chapter below zero", "INVALID_FILTER", filters={"chapter_min": -1}),
    body("filters that are a list", "INVALID_FILTER", filters=[1]),
    body("a filter that there is not", "UNKNOWN_FIELD", filters={"chapters": 1}),
    body("no passages", "INVALID_TOP_K", top_k=0),
    body("too many passages", "INVALID_TOP_K", top_k=21),
    body("half a passage", "INVALID_TOP_K", top_k=1.5),
    body("more than ten passages", "INVALID_TOP_K", "top10", top_k=11),
    body("a threshold above one", "INVALID_THRESHOLD", similarity_threshold=1.5),
    body("a field that there is not", "UNKNOWN_FIELD", "json", topk=3),
]
BODIES = [
    raw("nothing", "INVALID_JSON", b""),
    raw("half of an object", "INVALID_JSON", b"{"),
    raw("no JSON", "INVALID_JSON", b"query=1"),
    raw("NaN", "INVALID_JSON", b'{"query": NaN}'),
    raw("half of a surrogate pair", "INVALID_JSON", b'{"query": "\\ud800"}'),
    raw("no UTF-8", "INVALID_JSON", b'{"query": "\xff"}'),
    raw("UTF-16", "INVALID_JSON", '{"query": "x"}'.encode("utf-16")),
    raw("very deep", "INVALID_JSON", b"[" * 200_000),
    raw("a list", "INVALID_JSON", b'["query"]'),
    raw("null", "INVALID_JSON", b"null"),
    raw("a key twice over", "INVALID_JSON", b'{"query": "x"} {"query": "x"}'),
    raw("text", "UNSUPPORTED_MEDIA_TYPE", b"{}", {"content-type": "text/plain"}),
    raw("a form", "UNSUPPORTED_MEDIA_TYPE", b"{}", {"content-type": "application/x-www-form-urlencoded"}),
    raw("nothing said", "UNSUPPORTED_MEDIA_TYPE", b"{}", {}),
    raw("a megabyte too much", "BODY_TOO_LARGE", b'"' + b"x" * MAX_BODY + b'"'),
    Case("a body that is announced too large", "BODY_TOO_LARGE", change=long),
]
PLACES = [
    Case("another book", "UNKNOWN_BOOK", "book", lambda door: door.of_book("atlantis")),
    Case(
        "a session that is not a UUID",
        "INVALID_SESSION_ID",
        "session",
        lambda door: replace(door, at={"session_id": "me"}),
    ),
    Case("a session that there is not", "SESSION_NOT_FOUND", "session"),
    Case("another method", "METHOD_NOT_ALLOWED", change=lambda door: replace(door, method="PUT"), headers=("allow",)),
    Case("another path", "NOT_FOUND", change=lambda door: replace(door, path=f"/nowhere{door.path}")),
    Case("a book already at work", "JOB_CONFLICT", "ingest json", world="at work"),
]
WORLDS = [
    Case("no key", "UNAUTHORIZED", world="closed", but="open", headers=("www-authenticate",)),
    Case("a key for asking", "FORBIDDEN", "ingest", world="asking"),
    Case("a key for asking", "FORBIDDEN", "admin", world="asking"),
    Case("a key for ingesting", "FORBIDDEN", world="reading", but="open ingest"),
    Case("one request too many", "RATE_LIMITED", world="limited", but="uncounted", headers=("retry-after",)),
    Case("one answer too many", "RATE_LIMITED", "answer", world="busy", headers=("retry-after",)),
    Case("an index that is down", "QDRANT_UNAVAILABLE", "index", world="no index", headers=("retry-after",)),
    Case("another index", "INDEX_MISMATCH", "index", world="another index", headers=("retry-after",)),
    Case("a database that is down", "SERVICE_UNAVAILABLE", "library", world="no library", headers=("retry-after",)),
    Case("a fault of ours", "INTERNAL_ERROR", "library", world="a fault"),
    Case(
        "a page of another site",
        "FORBIDDEN",
        change=lambda door: replace(
            door, method="OPTIONS", headers={"origin": "https://evil.example", "access-control-request-method": "POST"}
        ),
        but="open",
    ),
]
CASES = [*QUESTIONS, *BODIES, *PLACES, *WORLDS]
STATUS = {kind.code: kind.status for kind in known_errors()}


@pytest.mark.parametrize("case", CASES, ids=str)
async def test_every_code_on_every_door(tmp_path: Path, case: Case) -> None:
    async with world(tmp_path, case.world) as doors:
        asked = [one for one in here(doors, *case.like.split()) if not one.like & set(case.but.split())]
        for one in asked:
            if case.world == "limited":
                await one.knock(doors.client)
            response = await case.change(one).knock(doors.client)
            told = f"{one}: {response.status_code} {response.text[:200]}"
            assert (response.status_code, response.headers["content-type"]) == (
                STATUS[case.code],
                "application/problem+json",
            ), told
            problem = check_problem(response, STATUS[case.code], case.code)
            assert problem["message"], told
            assert SECRET not in response.text, told
            assert [name for name in case.headers if name not in response.headers] == [], told


async def test_every_door_stands_in_the_table(tmp_path: Path) -> None:
    async with world(tmp_path, "open") as doors:
        listed = {(one.method, one.path) for one in DOORS}
        assert set(doors_of(doors.app)) - listed == set()


async def test_the_request_of_every_door_works_or_fails_for_what_is_not_there(tmp_path: Path) -> None:
    """Otherwise a case might only prove that the door was always shut."""
    known = {"NOT_FOUND", "UNKNOWN_CHUNK", "SESSION_NOT_FOUND", "UNAUTHORIZED", "NOT_ACCEPTABLE", "FORBIDDEN"}
    async with world(tmp_path, "open") as doors:
        for one in here(doors):
            response = await one.knock(doors.client)
            if one.path == "/a/{share_id}":  # a page for people, even if there is no answer
                continue
            told = {} if response.status_code < 400 else response.json()
            assert response.status_code < 400 or told["error_code"] in known, f"{one}: {told}"


def test_every_code_of_the_contract_has_a_case() -> None:
    contract = {
        *(
            "EMPTY_QUERY",
            "QUERY_TOO_LONG",
            "SELECTION_TOO_LONG",
            "INVALID_SESSION_ID",
            "UNKNOWN_BOOK",
            "INVALID_FILTER",
        ),
        *("INVALID_TOP_K", "INVALID_THRESHOLD", "UNKNOWN_FIELD", "SESSION_NOT_FOUND", "UNAUTHORIZED", "FORBIDDEN"),
        *("RATE_LIMITED", "BODY_TOO_LARGE", "JOB_CONFLICT", "INDEX_MISMATCH", "INTERNAL_ERROR"),
        *("QDRANT_UNAVAILABLE", "SERVICE_UNAVAILABLE", "METHOD_NOT_ALLOWED", "UNSUPPORTED_MEDIA_TYPE", "INVALID_JSON"),
    }
    assert contract <= {case.code for case in CASES}
