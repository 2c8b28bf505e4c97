"""Coding agents at /mcp and over stdio, through the SDK's own client."""

from __future__ import annotations

import asyncio
import gc
import json
import os
import re
import signal
import socket
import subprocess
import sys
import tempfile
import warnings
from collections.abc import AsyncGenerator, AsyncIterator, Iterator, Sequence
from pathlib import Path
from typing import Any

import httpx2
import pytest
from mcp import Client, StdioServerParameters
from mcp.client.streamable_http import streamable_http_client
from mcp.shared.exceptions import MCPError
from mcp_types import CallToolResult, TextContent

from commands import quoth
from doors import ASKED, PAGE, REFUSAL, SESSION, UNKNOWN, Doors, a_key, check_shape, closed, opened, served
from quoth.bootstrap import fingerprint_of
from quoth.domain import Message, ModelEvent, ModelText, PageRecord, Tool
from quoth.errors import IndexUnavailable, QuothError, WrongUsage
from quoth.serve import mcp_calls
from quoth.serve.mcp_tools import PAGE_SIZE, address, place_of
from quoth.serve.problems import Problem
from quoth.testing.embedder import FakeEmbedder
from quoth.testing.index import MemoryIndex
from quoth.testing.model import ScriptedModel

pytestmark = pytest.mark.slow

MODES = ["legacy", "2026-07-28"]  # with the handshake of older clients, and without
HERE = {"host": "localhost"}
ACCEPT = {**HERE, "accept": "application/json, text/event-stream"}
PING = {"jsonrpc": "2.0", "id": 1, "method": "ping"}


@pytest.fixture
async def doors(tmp_path: Path) -> AsyncIterator[Doors]:
    async with opened(tmp_path) as joined:
        yield joined


@pytest.fixture(autouse=True)
def _left_open() -> Iterator[None]:
    """A client that is cancelled in the middle leaves its connection to the garbage: no fault of the next test."""
    yield
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ResourceWarning)
        gc.collect()


def text_of(result: CallToolResult) -> str:
    (content,) = result.content
    assert isinstance(content, TextContent)
    return content.text


# --- over streamable HTTP, on a real port -----------------------------------------------------------------------------


@pytest.mark.parametrize("mode", MODES)
async def test_an_agent_searches_and_reads_the_page_it_found(doors: Doors, mode: str) -> None:
    async with served(doors.quoth) as at, Client(f"{at}/mcp", mode=mode) as client:
        assert [tool.name for tool in (await client.list_tools()).tools] == ["search", "fetch", "ask"]
        found = await client.call_tool("search", {"query": ASKED})
        assert json.loads(text_of(found)) == found.structured_content
        first = found.structured_content["results"][0]
        assert set(first) == {"id", "title", "url", "text"}
        assert first["url"] == "https://book.example.com/topics#durability"
        assert first["title"] == "Topics › Durability"
        assert first["text"] in PAGE
        fetched = await client.call_tool("fetch", {"id": first["id"]})
        assert json.loads(text_of(fetched)) == fetched.structured_content
        page = fetched.structured_content
        assert set(page) == {"id", "title", "text", "url", "metadata"}
        assert (page["id"], page["text"]) == (first["id"], PAGE.strip())
        assert page["metadata"]["source_file"] == "topics.md"


@pytest.mark.parametrize("mode", MODES)
async def test_what_an_agent_asks_goes_through_the_one_pipeline(doors: Doors, mode: str) -> None:
    plain = await doors.ask()
    async with served(doors.quoth) as at, Client(f"{at}/mcp", mode=mode) as client:
        asked = await client.call_tool("ask", {"query": ASKED, "session_id": SESSION})
    view = asked.structured_content
    assert (view["answer"], view["sources"], view["grounding"]) == (
        plain["answer"],
        plain["sources"],
        plain["grounding"],
    )
    assert text_of(asked).startswith(plain["answer"])
    assert "https://book.example.com/topics#durability (topics.md:7)" in text_of(asked)
    history = (await doors.client.get(f"/history/{SESSION}")).json()
    assert history["entries"][0]["response"] == plain["answer"]


async def test_a_refusal_is_a_result_with_the_nearest_sections(doors: Doors) -> None:
    async with served(doors.quoth) as at, Client(f"{at}/mcp") as client:
        asked = await client.call_tool("ask", {"query": UNKNOWN})
    assert not asked.is_error
    assert asked.structured_content["should_answer"] is False
    assert text_of(asked).startswith(REFUSAL)
    assert "Nearest: " in text_of(asked)


@pytest.mark.parametrize("mode", MODES)
async def test_pages_are_resources(doors: Doors, mode: str) -> None:
    async with served(doors.quoth) as at, Client(f"{at}/mcp", mode=mode) as client:
        listed = await client.list_resources()
        (resource,) = listed.resources
        assert (resource.uri, resource.title, listed.next_cursor) == ("quoth://book/topics.md", "Topics", None)
        templates = (await client.list_resource_templates()).resource_templates
        assert [template.uri_template for template in templates] == ["quoth://{book_id}/{+source_file}"]
        (read,) = (await client.read_resource(resource.uri)).contents
        assert read.model_dump()["text"] == PAGE.strip()
        fetched = await client.call_tool("fetch", {"id": resource.uri})
        assert fetched.structured_content["text"] == PAGE.strip()


async def test_many_pages_are_listed_in_portions_without_loss(doors: Doors) -> None:
    files = [f"part {number // 50}/page #{number}.md" for number in range(2 * PAGE_SIZE + 10)]
    await doors.quoth.library.put_page_records(
        [
            PageRecord("book", name, "d", "h", ("none",), doors.quoth.clock.now(), title=f"Page of {name}")
            for name in files
        ]
    )
    seen: list[str] = []
    async with served(doors.quoth) as at, Client(f"{at}/mcp") as client:
        listed = await client.list_resources()
        seen += [resource.name for resource in listed.resources]
        while listed.next_cursor:
            listed = await client.list_resources(cursor=listed.next_cursor)
            seen += [resource.name for resource in listed.resources]
    assert seen == sorted([*files, "topics.md"])


async def test_several_books_are_searched_together_and_asked_one_by_one(tmp_path: Path) -> None:
    async with opened(tmp_path, books=2) as doors, served(doors.quoth) as at, Client(f"{at}/mcp") as client:
        tools = {tool.name: tool.description or "" for tool in (await client.list_tools()).tools}
        assert "book-2" in tools["ask"]
        found = (await client.call_tool("search", {"query": ASKED})).structured_content
        assert {result["id"].partition("/")[0] for result in found["results"]} == {"book", "book-2"}
        assert [book["book_id"] for book in found["books"]] == ["book", "book-2"]
        one = (await client.call_tool("search", {"query": ASKED, "book_id": "book-2"})).structured_content
        assert {result["id"].partition("/")[0] for result in one["results"]} == {"book-2"}
        undecided = await client.call_tool("ask", {"query": ASKED})
        assert undecided.is_error
        assert "book, book-2" in text_of(undecided)
        named = await client.call_tool("ask", {"query": ASKED, "book_id": "book-2"})
        assert named.structured_content["metadata"]["book_id"] == "book-2"


WRONG: list[tuple[str, dict[str, Any], str]] = [
    ("search", {}, "EMPTY_QUERY"),
    ("search", {"query": "x" * 32_001}, "QUERY_TOO_LONG"),
    ("search", {"query": ASKED, "top_k": 99}, "INVALID_TOP_K"),
    ("search", {"query": ASKED, "book_id": "atlantis"}, "UNKNOWN_BOOK"),
    ("search", {"query": ASKED, "filters": {"layer": "L9"}}, "INVALID_FILTER"),
    ("search", {"query": ASKED, "k": 1}, "UNKNOWN_FIELD"),
    ("fetch", {}, "INVALID_REQUEST"),
    ("fetch", {"id": "none"}, "UNKNOWN_BOOK"),
    ("fetch", {"id": "book/none"}, "UNKNOWN_CHUNK"),
    ("fetch", {"id": "quoth://book/none.md"}, "NOT_FOUND"),
    ("fetch", {"id": "quoth://"}, "INVALID_REQUEST"),
    ("ask", {"query": " "}, "EMPTY_QUERY"),
    ("ask", {"query": ASKED, "session_id": "me"}, "INVALID_SESSION_ID"),
]


@pytest.mark.parametrize(("tool", "arguments", "code"), WRONG)
async def test_a_wrong_argument_is_a_result_that_the_agent_can_read(
    doors: Doors, tool: str, arguments: dict[str, Any], code: str
) -> None:
    async with client_of(doors) as client:
        result = await client.call_tool(tool, arguments)
    assert result.is_error
    assert text_of(result).endswith(f"[{code}]")


async def test_what_is_not_there_is_an_error_of_the_protocol(doors: Doors) -> None:
    async with client_of(doors) as client:
        with pytest.raises(MCPError, match="UNKNOWN_BOOK"):
            await client.read_resource("quoth://atlantis/topics.md")
        with pytest.raises(MCPError, match="has no page"):
            await client.read_resource("quoth://book/../topics.md")
        with pytest.raises(MCPError, match="not the address of a page"):
            await client.read_resource("file:///etc/passwd")
        with pytest.raises(MCPError, match="There is no tool 'delete'"):
            await client.call_tool("delete", {})
        with pytest.raises(MCPError, match="cursor"):
            await client.list_resources(cursor="7")


class FailingIndex(MemoryIndex):
    def __init__(self, error: Exception) -> None:
        super().__init__(fingerprint_of(FakeEmbedder()))
        self._error = error

    async def asked(self, call: str, book_id: str) -> None:
        raise self._error


@pytest.mark.parametrize(
    ("error", "told"),
    [
        (IndexUnavailable("/swordfish cannot be read."), r"The index cannot be used now\. .* \[QDRANT_UNAVAILABLE\]"),
        (QuothError("the password is swordfish"), r"Something went wrong inside Quoth\. \[INTERNAL_ERROR\]"),
    ],
)
async def test_an_outage_is_told_and_a_fault_of_ours_tells_nothing(tmp_path: Path, error: Exception, told: str) -> None:
    async with opened(tmp_path, index=FailingIndex(error)) as doors, client_of(doors) as client:
        result = await client.call_tool("ask", {"query": ASKED})
        assert result.is_error
        assert re.fullmatch(told, text_of(result))
        assert "swordfish" not in text_of(result)


async def test_over_http_an_outage_names_nothing_of_the_server(tmp_path: Path) -> None:
    index = FailingIndex(IndexUnavailable("/srv/quoth cannot be read."))
    call = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "ask", "arguments": {"query": ASKED}}}
    async with opened(tmp_path, index=index) as doors:
        response = await doors.client.post("/mcp", json=call, headers=ACCEPT)
    assert "The index cannot be used now." in response.text
    assert "/srv/quoth" not in response.text


async def test_an_unforeseen_fault_leaks_nothing(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    index = FailingIndex(RuntimeError("the password is swordfish"))
    async with opened(tmp_path, index=index) as doors, client_of(doors) as client:
        with pytest.raises(MCPError) as raised:
            await client.call_tool("ask", {"query": ASKED})
        assert "swordfish" not in str(raised.value)
        assert "swordfish" in caplog.text


def client_of(doors: Doors) -> Client:
    http = httpx2.AsyncClient(transport=httpx2.ASGITransport(doors.app), headers={})
    return Client(streamable_http_client("http://localhost/mcp", http_client=http), mode="legacy")


# --- behind the doorway -----------------------------------------------------------------------------------------------


async def rpc(doors: Doors, message: object, **headers: str) -> httpx2.Response:
    return await doors.client.post("/mcp", json=message, headers={**ACCEPT, **headers})


async def test_every_answer_has_a_request_id(doors: Doors) -> None:
    mine = "6a1f7a9e-2f7e-4c3e-9d57-0d5a3d7b6f10"
    response = await rpc(doors, PING, **{"x-request-id": mine})
    assert (response.status_code, response.headers["x-request-id"]) == (200, mine)


async def test_the_request_id_of_the_http_request_is_that_of_the_answer(doors: Doors) -> None:
    mine = "6a1f7a9e-2f7e-4c3e-9d57-0d5a3d7b6f10"
    call = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "ask", "arguments": {"query": ASKED}}}
    response = await rpc(doors, call, **{"x-request-id": mine})
    (line,) = [line for line in response.text.splitlines() if line.startswith("data: {")]
    assert json.loads(line[6:])["result"]["structuredContent"]["metadata"]["request_id"] == mine


REFUSED: list[tuple[str, bytes, dict[str, str], int, str]] = [
    ("POST", b"{", {}, 400, "INVALID_JSON"),
    ("POST", b"\xff", {}, 400, "INVALID_JSON"),
    ("POST", b"[]", {}, 400, "INVALID_JSON"),
    ("POST", b"{}", {}, 400, "INVALID_REQUEST"),
    ("POST", b'{"jsonrpc": "2.0", "method": "ping", "id": 1, "params": 7}', {}, 400, "INVALID_REQUEST"),
    ("POST", json.dumps(PING).encode(), {"content-type": "text/plain"}, 415, "UNSUPPORTED_MEDIA_TYPE"),
    ("POST", json.dumps(PING).encode(), {"accept": "text/html"}, 406, "NOT_ACCEPTABLE"),
    ("POST", json.dumps(PING).encode(), {"host": "evil.example"}, 403, "FORBIDDEN"),
    ("POST", json.dumps(PING).encode(), {"origin": "https://evil.example"}, 403, "FORBIDDEN"),
    ("POST", b" " * 1_048_577, {}, 413, "BODY_TOO_LARGE"),
    ("GET", b"", {}, 405, "METHOD_NOT_ALLOWED"),
    ("DELETE", b"", {}, 405, "METHOD_NOT_ALLOWED"),
]


@pytest.mark.parametrize(("method", "body", "headers", "status", "code"), REFUSED)
async def test_what_is_refused_has_the_one_shape(
    doors: Doors, method: str, body: bytes, headers: dict[str, str], status: int, code: str
) -> None:
    sent = {"content-type": "application/json", **ACCEPT, **headers}
    response = await doors.client.request(method, "/mcp", content=body, headers=sent)
    told = response.json()
    check_shape(Problem, {name: value for name, value in told.items() if name in Problem.__annotations__})
    assert (response.status_code, told["status"], told["error_code"]) == (status, status, code)
    assert told["request_id"] == response.headers["x-request-id"]


async def test_an_agent_sees_no_more_than_its_key(tmp_path: Path) -> None:
    async with closed(tmp_path, books=2) as doors, served(doors.quoth) as at:
        http = httpx2.AsyncClient(headers=await a_key(doors, book_id="book-2"))
        async with Client(streamable_http_client(f"{at}/mcp", http_client=http), mode="legacy") as client:
            assert [one.uri for one in (await client.list_resources()).resources] == ["quoth://book-2/topics.md"]
            found = (await client.call_tool("search", {"query": ASKED})).structured_content
            assert {result["id"].partition("/")[0] for result in found["results"]} == {"book-2"}
            asked = (await client.call_tool("ask", {"query": ASKED})).structured_content
            assert asked["metadata"]["book_id"] == "book-2"
            for tool, arguments in [
                ("search", {"query": ASKED, "book_id": "book"}),
                ("ask", {"query": ASKED, "book_id": "book"}),
                ("fetch", {"id": found["results"][0]["id"].replace("book-2/", "book/")}),
                ("fetch", {"id": "quoth://book/topics.md"}),
            ]:
                assert text_of(await client.call_tool(tool, arguments)).endswith("[UNKNOWN_BOOK]"), tool


async def test_a_key_does_not_open_a_foreign_name(tmp_path: Path) -> None:
    async with closed(tmp_path, settings={"allowed_hosts": "books.example.com"}) as doors:
        key = await a_key(doors)
        assert (await rpc(doors, PING, **key, host="books.example.com")).status_code == 200
        assert (await rpc(doors, PING, host="books.example.com")).status_code == 401
        assert (await rpc(doors, PING, **key, host="evil.example")).status_code == 403


class SlowModel(ScriptedModel):
    """Says a sentence each tenth of a second, for ever; tells when it was asked and when it was left."""

    def __init__(self) -> None:
        super().__init__([[]])
        self.begun, self.left = asyncio.Event(), asyncio.Event()

    async def reply(self, messages: Sequence[Message], tools: Sequence[Tool] = ()) -> AsyncGenerator[ModelEvent]:
        self.begun.set()
        try:
            while True:
                yield ModelText("Transient local durability keeps the last message [1]. ")
                await asyncio.sleep(0.1)
        finally:
            self.left.set()


async def test_an_agent_that_hangs_up_stops_the_work(tmp_path: Path) -> None:
    model = SlowModel()
    call = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "ask", "arguments": {"query": ASKED}}}
    async with opened(tmp_path, model=model) as doors, served(doors.quoth) as at, httpx2.AsyncClient() as client:
        posting = asyncio.create_task(client.post(f"{at}/mcp", json=call, headers={"accept": ACCEPT["accept"]}))
        await asyncio.wait_for(model.begun.wait(), timeout=60)
        posting.cancel()
        assert await asyncio.wait_for(model.left.wait(), timeout=60)


async def initialized(client: httpx2.AsyncClient, at: str) -> dict[str, str]:
    """The headers of a client that has shaken hands."""
    params = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}}
    hello = {"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": params}
    headers = {"accept": ACCEPT["accept"], "mcp-protocol-version": "2025-06-18"}
    response = await client.post(f"{at}/mcp", json=hello, headers=headers)
    return {**headers, "mcp-session-id": response.headers["mcp-session-id"]}


def asking(session: str, **meta: object) -> dict[str, Any]:
    arguments = {"query": ASKED, "session_id": session}
    params = {"name": "ask", "arguments": arguments, "_meta": meta}
    return {"jsonrpc": "2.0", "id": 7, "method": "tools/call", "params": params}


async def test_a_call_over_http_can_be_cancelled_by_its_own_session_and_by_no_other(tmp_path: Path) -> None:
    model = SlowModel()
    cancel = {"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 7}}
    async with (
        opened(tmp_path, model=model) as doors,
        served(doors.quoth) as at,
        httpx2.AsyncClient(timeout=30) as client,
    ):
        mine, theirs = await initialized(client, at), await initialized(client, at)
        call = asyncio.create_task(client.post(f"{at}/mcp", json=asking(SESSION), headers=mine))
        await model.begun.wait()
        assert (await client.post(f"{at}/mcp", json=cancel, headers=theirs)).status_code == 202
        await asyncio.sleep(0.3)
        assert (model.left.is_set(), call.done()) == (False, False)
        assert (await client.post(f"{at}/mcp", json=cancel, headers=mine)).status_code == 202
        response = await asyncio.wait_for(call, timeout=10)
        assert model.left.is_set()
        assert json.loads(response.text.partition("data: ")[2])["error"]["message"] == "The call was cancelled."
        turns, _ = await doors.quoth.library.turns(SESSION)
        assert [turn.interrupted for turn in turns] == [True]


@pytest.fixture
def workers() -> Iterator[Path]:
    """Not below `tmp_path`, which is too long for the path of a socket."""
    with tempfile.TemporaryDirectory(prefix="quoth-workers-") as folder:
        yield Path(folder)


async def test_a_call_is_cancelled_by_a_message_that_reaches_another_worker(tmp_path: Path, workers: Path) -> None:
    model = SlowModel()
    cancel = {"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 7}}
    gone = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
    with gone:
        gone.bind(str(workers / "killed"))  # a worker that could not tidy up
    async with (
        opened(tmp_path, model=model) as doors,
        served(doors.quoth, workers=workers) as one,
        served(doors.quoth, workers=workers) as other,
        httpx2.AsyncClient(timeout=30) as client,
    ):
        mine = await initialized(client, one)
        call = asyncio.create_task(client.post(f"{one}/mcp", json=asking(SESSION), headers=mine))
        await model.begun.wait()
        too_long = {**cancel, "params": {"requestId": "7" * 5000}}
        assert (await client.post(f"{other}/mcp", json=too_long, headers=mine)).status_code == 202
        assert (await client.post(f"{other}/mcp", json=cancel, headers=mine)).status_code == 202
        response = await asyncio.wait_for(call, timeout=10)
        assert json.loads(response.text.partition("data: ")[2])["error"]["message"] == "The call was cancelled."
        assert len(list(workers.iterdir())) == 2
    assert list(workers.iterdir()) == []


async def test_workers_in_a_folder_with_a_very_long_name_serve_all_the_same(tmp_path: Path) -> None:
    (workers := tmp_path / ("w" * 120)).mkdir()
    async with (
        opened(tmp_path) as doors,
        served(doors.quoth, workers=workers) as at,
        httpx2.AsyncClient(timeout=30) as client,
    ):
        mine = await initialized(client, at)
        cancel = {"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 7}}
        assert (await client.post(f"{at}/mcp", json=cancel, headers=mine)).status_code == 202


@pytest.mark.parametrize("mode", MODES)
async def test_a_client_that_leaves_stops_the_model_within_a_second(tmp_path: Path, mode: str) -> None:
    model = SlowModel()
    async with (
        opened(tmp_path, model=model) as doors,
        served(doors.quoth) as at,
        Client(f"{at}/mcp", mode=mode) as client,
    ):
        call = asyncio.create_task(client.call_tool("ask", {"query": ASKED}))
        await model.begun.wait()
        call.cancel()
        await asyncio.wait_for(model.left.wait(), timeout=20)  # a second on a machine that has nothing else to do


@pytest.mark.parametrize("mode", MODES)
async def test_a_client_that_wants_to_know_is_told_how_far_the_answer_is(
    tmp_path: Path, mode: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(mcp_calls, "PROGRESS_SECONDS", 0.02)
    said = [f"Transient local durability keeps the last message for late subscribers [1].{' ' * at}" for at in range(3)]
    told: list[tuple[float, str | None]] = []

    async def tell(progress: float, total: float | None, message: str | None) -> None:
        told.append((progress, message))

    class Paced(ScriptedModel):
        async def reply(self, messages: Sequence[Message], tools: Sequence[Tool] = ()) -> AsyncGenerator[ModelEvent]:
            async for event in super().reply(messages, tools):
                await asyncio.sleep(0.1)
                yield event

    async with opened(tmp_path, model=Paced([[*said]])) as doors, served(doors.quoth) as at:
        async with Client(f"{at}/mcp", mode=mode) as client:
            result = await client.call_tool("ask", {"query": ASKED}, progress_callback=tell)
        assert text_of(result).startswith("Transient local")
    seconds = [one for one, _ in told]
    assert seconds == sorted(set(seconds))
    assert any("words so far" in (message or "") for _, message in told)


# --- over standard input and output -----------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def data_dir(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("agents")
    (folder / "docs").mkdir()
    (folder / "docs" / "topics.md").write_text(PAGE, encoding="utf-8")
    run = quoth("ingest", folder / "docs", "--book", "book", "--data-dir", folder / "data")
    assert run.returncode == 0, run.stderr
    return folder / "data"


@pytest.mark.slow
@pytest.mark.parametrize("mode", MODES)
async def test_a_real_process_serves_an_agent_over_stdio(data_dir: Path, mode: str) -> None:
    command = ["-m", "quoth", "mcp", "--data-dir", str(data_dir), "--verbose"]
    process = StdioServerParameters(command=sys.executable, args=command, env=dict(os.environ))
    async with Client(process, mode=mode) as client:
        asked = await client.call_tool("ask", {"query": ASKED})
        assert text_of(asked).startswith("Transient local durability keeps the last message")
        (resource,) = (await client.list_resources()).resources
        (read,) = (await client.read_resource(resource.uri)).contents
        assert read.model_dump()["text"] == PAGE.strip()


@pytest.mark.slow
@pytest.mark.parametrize("leave", ["end of input", "SIGTERM"])
def test_nothing_but_the_protocol_is_on_standard_output_and_it_ends_when_told(data_dir: Path, leave: str) -> None:
    command = [sys.executable, "-m", "quoth", "mcp", "--data-dir", str(data_dir), "--verbose"]
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        assert process.stdin
        assert process.stdout
        call = {"name": "search", "arguments": {"query": ASKED}}
        hello = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}}
        for number, (method, params) in enumerate([("initialize", hello), ("tools/call", call)], start=1):
            process.stdin.write(json.dumps({"jsonrpc": "2.0", "id": number, "method": method, "params": params}) + "\n")
            process.stdin.flush()
            answer = json.loads(process.stdout.readline())
            assert (answer["jsonrpc"], answer["id"]) == ("2.0", number)
        if leave == "SIGTERM":
            process.send_signal(signal.SIGTERM)
            process.wait(timeout=60)
        rest, said = process.communicate(timeout=60)
    assert rest == ""
    assert "Traceback" not in said


# --- addresses --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["a.md", "a b/c#1.md", "ä/ö?.md", "50%.md", "quoth://x/y.md", "[x].md"])
def test_an_address_leads_back_to_its_file(name: str) -> None:
    assert place_of(address("book", name)) == ("book", name)


@pytest.mark.parametrize("uri", ["", "quoth:", "quoth://book", "http://book/a.md"])
def test_what_is_not_an_address_is_refused(uri: str) -> None:
    with pytest.raises(WrongUsage):
        place_of(uri)
