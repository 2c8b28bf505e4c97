"""`POST /mcp`: coding agents over streamable HTTP, behind the same doorway as all other doors.

The server comes from `quoth.serve.mcp_tools`; `quoth mcp` runs it too. Requests are independent (stateless), so any
worker can answer any of them. There is no stream to listen to, so GET is not allowed. A client cancels a call by
closing its connection or by the protocol's message, which may arrive at any worker of this server. The SDK is loaded on
the first request.
"""

from __future__ import annotations

import asyncio
import json
import uuid
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from fastapi import APIRouter, Request, Response
from starlette.datastructures import MutableHeaders
from starlette.types import Message, Receive, Scope, Send

from quoth.errors import (
    BodyTooLarge,
    InternalError,
    InvalidJson,
    NotAcceptable,
    NotFound,
    QuothError,
    WrongUsage,
)
from quoth.serve.bodies import check_media_type, decode
from quoth.serve.deps import owner_of, quoth_of
from quoth.serve.mcp_calls import SESSION_HEADER, CallKey, Calls, connection_key, session_keys
from quoth.serve.problems import problem_response
from quoth.serve.shapes import Responses, event_content, problems
from quoth.serve.siblings import Siblings
from quoth.serve.sse import cancel, wait_for_disconnect

if TYPE_CHECKING:
    from mcp.server.streamable_http_manager import StreamableHTTPSessionManager

router = APIRouter(tags=["agents"])

_RPC = {"type": "object", "properties": {"jsonrpc": {"const": "2.0"}}, "required": ["jsonrpc"]}
_CALL = {
    "type": "object",
    "properties": {
        "jsonrpc": {"const": "2.0"},
        "id": {"type": ["integer", "string"], "description": "A message without an id is a notification"},
        "method": {"type": "string", "examples": ["tools/call"]},
        "params": {"type": "object"},
    },
    "required": ["jsonrpc", "method"],
}
_REQUEST = {"requestBody": {"required": True, "content": {"application/json": {"schema": _CALL}}}}


def _responses() -> Responses:
    found: Responses = {
        200: {
            "description": "JSON-RPC 2.0 for the Model Context Protocol, as one document or as server-sent events",
            "content": {"application/json": {"schema": _RPC}, **event_content("message")},
        },
        202: {"description": "A notification was received"},
        **problems(400, 403, 404, 406, 413, 415),
    }
    for status in (400, 404, 406):  # a JSON-RPC error and a problem in one body, of the type MCP clients look for
        found[status]["content"] = {**found[status]["content"], "application/json": {"schema": _RPC}}
    return found


class AgentSessions:
    """The SDK's session manager, started on the first request and kept in its own task until the server ends."""

    def __init__(self, workers: Path | None) -> None:
        """`workers`: the folder through which the workers of one server reach each other."""
        self._starting = asyncio.Lock()
        self._manager: StreamableHTTPSessionManager | None = None
        self._running: asyncio.Task[None] | None = None
        self.calls = Calls()
        self._siblings = Siblings(workers, self._heard) if workers else None

    def cancel(self, key: CallKey) -> None:
        """Cancel the call, in this worker or in the one that runs it."""
        if not self.calls.cancel(key) and self._siblings is not None:
            self._siblings.tell(json.dumps(key).encode())

    def _heard(self, word: bytes) -> None:
        self.calls.cancel(tuple(json.loads(word)))

    async def manager(self) -> StreamableHTTPSessionManager:
        async with self._starting:
            if self._manager is None:
                self._manager = manager = await asyncio.to_thread(self._make)
                started = asyncio.Event()
                self._running = asyncio.create_task(_run(manager, started))
                await started.wait()
            return self._manager

    def _make(self) -> StreamableHTTPSessionManager:
        from mcp.server.streamable_http_manager import StreamableHTTPSessionManager

        from quoth.serve.mcp_tools import Agents

        return StreamableHTTPSessionManager(Agents(quoth_of, owner_of, self.calls).server(), stateless=True)

    async def close(self) -> None:
        if self._siblings is not None:
            self._siblings.close()
        if self._running is not None:
            self._running.cancel()
            await asyncio.wait([self._running])


async def _run(manager: StreamableHTTPSessionManager, started: asyncio.Event) -> None:
    """Run it in one task from beginning to end, as the SDK's task group requires."""
    async with manager.run():
        started.set()
        await asyncio.Event().wait()


class _McpResponse(Response):
    """Hands the request to the SDK; the SDK's answer is the response."""

    def __init__(self, manager: StreamableHTTPSessionManager, calls: Calls, body: bytes, *, opens: bool) -> None:
        """With `opens` the client gets a session id, which identifies its calls when it cancels one. Nothing is stored
        for it: any worker answers any request, whatever its id."""
        super().__init__()
        self._manager = manager
        self._calls = calls
        self._body = body
        self._opens = opens

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        unread = [{"type": "http.request", "body": self._body, "more_body": False}]
        request = Request(scope)
        request.state.mcp_connection = uuid.uuid4().hex
        left = asyncio.Event()

        async def again() -> Message:
            if unread:
                return unread.pop()
            await left.wait()
            return {"type": "http.disconnect"}

        async def leave() -> None:  # the SDK listens only once it has something to send
            await wait_for_disconnect(receive)
            left.set()
            self._calls.cancel(connection_key(request))

        async def named(message: Message) -> None:
            if message["type"] == "http.response.start" and message["status"] == 200:
                MutableHeaders(scope=message)[SESSION_HEADER] = uuid.uuid4().hex
            await send(message)

        sender = _ProblemSender(Request(scope, again), named if self._opens else send)
        leaving = asyncio.create_task(leave())
        try:
            await self._manager.handle_request(scope, again, sender.send)
        finally:
            await cancel(leaving)


class _ProblemSender:
    """Gives the SDK's refusals our shape. A JSON-RPC error keeps its media type and, beside ours, its own fields: MCP
    clients look for them."""

    def __init__(self, request: Request, send: Send) -> None:
        self._request = request
        self._send = send
        self._refused: Message | None = None
        self._body = b""

    async def send(self, message: Message) -> None:
        if message["type"] == "http.response.start" and message["status"] >= 400:
            self._refused = message
        elif self._refused is None:
            await self._send(message)
        else:
            self._body += message.get("body", b"")
            if not message.get("more_body", False):
                response = self._response(self._refused["status"])
                await response(self._request.scope, self._request.receive, self._send)

    def _response(self, status: int) -> Response:
        rpc = _rpc_error(self._body)
        told = str(rpc["error"].get("message", "")) if rpc else self._body.decode("utf-8", "replace")
        told = told.partition("\n")[0][:200]
        response = problem_response(_refusal(status, told), self._request)
        if rpc is None:
            return response
        both = {**json.loads(bytes(response.body)), **rpc, "error": {**rpc["error"], "message": told}}
        return Response(json.dumps(both), status_code=response.status_code, media_type="application/json")


def _rpc_error(body: bytes) -> dict[str, Any] | None:
    try:
        found = json.loads(body)
    except ValueError:
        return None
    return found if isinstance(found, dict) and isinstance(found.get("error"), dict) else None


def _refusal(status: int, told: str) -> QuothError:
    kinds: dict[int, type[QuothError]] = {404: NotFound, 406: NotAcceptable, 413: BodyTooLarge}
    if status >= 500:
        return InternalError(told)
    return kinds.get(status, WrongUsage)(told or "The message was refused.")


def _check_message(message: object) -> dict[str, Any]:
    """Refuse, in readable words, a body that is not a message at all; the SDK judges the rest."""
    if not isinstance(message, dict):
        raise InvalidJson("The body is JSON, but not an object.")
    known = message.get("jsonrpc") == "2.0" and isinstance(message.get("method"), str)
    number = message.get("id", 0)  # a notification has none
    if not known or type(number) not in (int, str) or not isinstance(message.get("params", {}), dict):
        raise WrongUsage("The body is not a JSON-RPC 2.0 request.", hint="See https://modelcontextprotocol.io.")
    return message


@router.post("/mcp", responses=_responses(), openapi_extra=_REQUEST)
async def mcp(request: Request) -> Response:
    """The Model Context Protocol: tools `search`, `fetch` and `ask`, and the pages of the books as resources."""
    check_media_type(request.headers.get("content-type", ""))
    body = await request.body()
    message = _check_message(decode(body))
    sessions = cast(AgentSessions, request.app.state.agents)
    if message["method"] == "notifications/cancelled":
        cancelled = message.get("params", {}).get("requestId")
        for key in session_keys(request, owner_of(request), cancelled):
            sessions.cancel(key)
    manager = await sessions.manager()
    return _McpResponse(manager, sessions.calls, body, opens=message["method"] == "initialize")
