"""At least 500 broken requests at every door: no 5xx, and every answer has our shape."""

from __future__ import annotations

import hashlib
import hmac
import json
import os
import random
import tempfile
import uuid
import zlib
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio

from doors import Doors, Idler, a_key, check_shape, closed, opened
from fuzzing import Reply, Shot, Target, fire, shots
from quoth.bootstrap import SystemClock
from quoth.serve.openapi import examples
from quoth.serve.problems import OpenAIProblem, Problem
from quoth.sources import open_source

COUNT = 500
SECRET = b"It's a Secret to Everybody"
JSON_BODY = ((b"host", b"localhost"), (b"content-type", b"application/json"))
OF_AN_ANSWER = ("POST /feedback", "POST /share")  # they name an answer that does not exist
PAGES = ["GET /", "GET /widget.js", "GET /assets/page.css", "GET /errors/EMPTY_QUERY"]


def signature(body: bytes) -> tuple[bytes, bytes]:
    return b"x-hub-signature-256", b"sha256=" + hmac.new(SECRET, body, hashlib.sha256).hexdigest().encode()


def target_of(door: str) -> Target:
    method, path = door.split(" ")
    known = examples().get(door, {})
    headers: tuple[tuple[bytes, bytes], ...] = JSON_BODY
    if path == "/mcp":
        headers = (*JSON_BODY, (b"accept", b"application/json, text/event-stream"))
    if path.endswith("/github"):
        headers = (*JSON_BODY, (b"x-github-event", b"push"))
    body = known.get("request")
    if path == "/mcp":
        body = {
            "jsonrpc": "2.0",
            "id": 1,
            "method": "tools/call",
            "params": {"name": "ask", "arguments": {"query": "x"}},
        }
    sign = signature if path.endswith("/github") else None
    return Target(method, path, known.get("parameters", {}), body, headers, sign)


@dataclass(frozen=True)
class Field:
    """Where the shots land, and the real things they can name."""

    doors: Doors
    values: dict[str, Any]


@asynccontextmanager
async def fuzz_field(folder: Path) -> AsyncIterator[Field]:
    """Over the real database and the real index: they have limits that no fake has. With the real clock, the keys are
    read once a second, as in production; a clock that ticks at each look has them read for every request."""
    settings = {"github_webhook_secret": SECRET.decode(), "rate_limit": 0, "ingest_roots": (folder,)}
    real = {"index": None, "library": None, "clock": SystemClock()}
    async with opened(folder, books=0, settings=settings, **real, launch=Idler) as doors:
        source = open_source(folder / "docs", book_id="ros2-topics", base_url="https://book.example.com")
        job = await doors.quoth.ingest.run(source)
        session = (await doors.ask())["session_id"]
        chunks = [chunk async for chunk in doors.quoth.index.scan("ros2-topics")]
        named = {"chunk_id": chunks[0].id, "parent_doc_id": chunks[0].parent_doc_id, "job_id": job.job_id}
        yield Field(doors, {**named, "session_id": session})


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def field(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Field]:
    memory = Path("/dev/shm")
    place = memory if os.access(memory, os.W_OK) else tmp_path_factory.mktemp("fuzz")
    with tempfile.TemporaryDirectory(dir=place, prefix="quoth-test-") as folder:
        async with fuzz_field(Path(folder)) as made:
            yield made


@pytest.mark.slow
@pytest.mark.asyncio(loop_scope="module")
@pytest.mark.parametrize("door", [*examples(), *PAGES])
async def test_nothing_that_is_sent_breaks_a_door(field: Field, door: str) -> None:
    target = target_of(door)
    real = {name: field.values.get(name, value) for name, value in target.values.items()}
    answered: Counter[int] = Counter()
    for shot in shots(replace(target, values=real), COUNT, zlib.crc32(door.encode())):
        reply = await fire(field.doors.app, shot)
        check(shot, reply)
        answered[reply.status // 100] += 1
    assert answered.total() == COUNT
    assert answered[2] > 0 or door in OF_AN_ANSWER
    assert answered[4] > 0


MESSAGES: dict[str, dict[str, Any]] = {
    "initialize": {
        "protocolVersion": "2025-11-25",
        "capabilities": {},
        "clientInfo": {"name": "somebody", "version": "1"},
    },
    "tools/list": {"cursor": "x"},
    "tools/call": {"name": "search", "arguments": {"query": "x", "book_id": "ros2-topics", "top_k": 3, "filters": {}}},
    "resources/list": {"cursor": "quoth://ros2-topics/a.md"},
    "resources/read": {"uri": "quoth://ros2-topics/topics.md"},
    "resources/templates/list": {},
    "ping": {},
}


@pytest.mark.slow
@pytest.mark.asyncio(loop_scope="module")
@pytest.mark.parametrize("method", MESSAGES)
async def test_nothing_that_an_agent_says_breaks_its_door(field: Field, method: str) -> None:
    message = {"jsonrpc": "2.0", "id": 1, "method": method, "params": MESSAGES[method]}
    target = replace(target_of("POST /mcp"), body=message)
    answered: Counter[int] = Counter()
    for shot in shots(target, 150, zlib.crc32(method.encode())):
        reply = await fire(field.doors.app, shot)
        check(shot, reply)
        answered[reply.status // 100] += 1
    assert answered.total() == 150
    assert answered[2] > 0
    assert answered[4] > 0


@pytest.mark.slow
async def test_no_strange_key_opens_a_door(tmp_path: Path) -> None:
    dice = random.Random(7)
    async with closed(tmp_path) as doors:
        known = (await a_key(doors))["authorization"].encode()
        right = target_of("POST /chat").right()
        entered = await fire(doors.app, replace(right, headers=(*right.headers, (b"authorization", known))))
        assert entered.status == 200
        for _ in range(COUNT):
            at = dice.randrange(len(known))
            spoilt = known[:at] + dice.randbytes(dice.randint(0, 3)) + known[at + 1 :]
            shot = replace(right, headers=(*right.headers, (b"authorization", spoilt)))
            reply = await fire(doors.app, shot)
            check(shot, reply)
            assert reply.status == 401 or spoilt.lower() == known.lower(), str(shot)


def check(shot: Shot, reply: Reply) -> None:
    assert 200 <= reply.status < 500, f"{reply.status} to {shot}: {reply.body[:500]!r}"
    assert uuid.UUID(reply.headers["x-request-id"]).version == 4, str(shot)
    if reply.status < 400:
        assert reply.status in (200, 202, 204, 304), f"{reply.status} to {shot}"
        hidden = [word for word in (b"-32603", b"INTERNAL_ERROR", b"event: error") if word in reply.body]
        assert not hidden, f"{hidden} within a success to {shot}"
        return
    if shot.method == "HEAD":
        return
    told = json.loads(reply.body)
    shape = OpenAIProblem if told["instance"].startswith("/v1/") else Problem
    media_type = reply.headers["content-type"]
    if "jsonrpc" in told:  # MCP clients look for the error of a request under this type only
        assert (media_type, told["instance"]) == ("application/json", "/mcp"), str(shot)
        told = {name: value for name, value in told.items() if name not in ("jsonrpc", "id", "error")}
    else:
        assert media_type == "application/problem+json", str(shot)
    check_shape(shape, told)
    assert (told["status"], told["request_id"]) == (reply.status, reply.headers["x-request-id"]), str(shot)


def test_the_same_door_is_always_shot_at_in_the_same_way() -> None:
    target = target_of("POST /chat")
    assert shots(target, 50, 1) == shots(target, 50, 1)
    assert len(set(shots(target, COUNT, 1))) == COUNT
