"""No door reads more than it should: announced or not, ours or not, in process and over a real connection."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import httpx2
import pytest
from starlette.requests import Request
from starlette.responses import PlainTextResponse
from starlette.types import Receive, Scope, Send

from doors import ASKED, check_problem, opened, served
from quoth.serve.bodies import MAX_BODY, LimitedBody
from quoth.serve.doorway import Doorway


async def pieces(size: int, piece: int = 1000) -> AsyncIterator[bytes]:
    for start in range(0, size, piece):
        yield b"x" * min(piece, size - start)


async def foreign(scope: Scope, receive: Receive, send: Send) -> None:
    """An application that is not ours: it makes something of its own out of every error."""
    try:
        body = await Request(scope, receive).body()
    except Exception as error:  # noqa: BLE001 - as such applications do
        response = PlainTextResponse(f"oh dear: {error}", status_code=500)
    else:
        response = PlainTextResponse(str(len(body)))
    await response(scope, receive, send)


@pytest.fixture
async def client() -> AsyncIterator[httpx2.AsyncClient]:
    app = Doorway(LimitedBody(foreign, most=10_000, more={"/large": 20_000}))
    async with httpx2.AsyncClient(transport=httpx2.ASGITransport(app), base_url="http://quoth.test") as client:
        yield client


@pytest.mark.parametrize(("path", "most"), [("/", 10_000), ("/large", 20_000)])
async def test_a_body_may_be_as_large_as_its_path_allows_and_no_byte_more(
    client: httpx2.AsyncClient, path: str, most: int
) -> None:
    for content in (b"x" * most, pieces(most)):
        response = await client.post(path, content=content)
        assert (response.status_code, response.text) == (200, str(most))
    for content in (b"x" * (most + 1), pieces(most + 1)):
        problem = check_problem(await client.post(path, content=content), 413, "BODY_TOO_LARGE")
        assert f"{most:,}" in problem["message"]


async def test_what_is_announced_too_large_is_not_read_at_all() -> None:
    received = 0

    async def receive() -> dict[str, object]:
        nonlocal received
        received += 1
        return {"type": "http.request", "body": b"", "more_body": True}

    sent: list[dict[str, object]] = []

    async def send(message: object) -> None:
        assert isinstance(message, dict)
        sent.append(message)

    scope = {
        **{"type": "http", "method": "POST", "path": "/chat", "query_string": b"", "state": {"request_id": "1"}},
        **{"headers": [(b"content-length", b"10001")], "server": ("quoth.test", 80), "scheme": "http"},
    }
    await LimitedBody(foreign, most=10_000)(scope, receive, send)
    assert (received, sent[0]["status"]) == (0, 413)


@pytest.mark.slow
async def test_over_a_real_connection_too(tmp_path: Path) -> None:
    async with opened(tmp_path) as doors, served(doors.quoth) as address:
        async with httpx2.AsyncClient(base_url=address) as client:
            json = {"content-type": "application/json"}
            response = await client.post("/chat", content=pieces(MAX_BODY + 1), headers=json)
            check_problem(response, 413, "BODY_TOO_LARGE")
            assert (await client.post("/chat", json={"query": ASKED})).status_code == 200
        host, _, port = address.removeprefix("http://").partition(":")
        reader, writer = await asyncio.open_connection(host, int(port))
        writer.write(
            b"POST /chat HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\ncontent-length: 99999999\r\n\r\n"
        )
        assert (await reader.readline()).startswith(b"HTTP/1.1 413")  # before a byte of it was sent
        writer.close()


@pytest.mark.slow
async def test_nobody_chooses_his_own_address_on_a_real_connection(tmp_path: Path) -> None:
    """uvicorn believes X-Forwarded-For from loopback unless it is told not to."""
    async with (
        opened(tmp_path, settings={"rate_limit": 1}) as doors,
        served(doors.quoth) as address,
        httpx2.AsyncClient(base_url=address) as client,
    ):
        status = [
            (await client.get("/books", headers={"x-forwarded-for": f"192.0.2.{number}"})).status_code
            for number in range(2)
        ]
        assert status == [200, 429]
