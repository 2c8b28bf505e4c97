"""Reads a JSON body so that each kind of fault has its own error code, and still describes the body in OpenAPI.

In: a request. Out: a validated model of `quoth.ask.request`. The framework's own body parsing is not used: it answers
422 for everything and limits neither size nor time. The limits are a separate layer around all doors, since some doors
(MCP) read their bodies themselves.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, TypeVar

from fastapi import Request
from pydantic import BaseModel
from pydantic_core import from_json
from starlette.requests import ClientDisconnect
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from quoth.ask.request import parse
from quoth.errors import BodyTooLarge, BodyTooSlow, InvalidJson, UnsupportedMediaType
from quoth.serve.problems import problem_response

MAX_BODY = 1_048_576  # bytes
BODY_TIMEOUT = 30.0  # seconds for the whole body to arrive
WRITE_TIMEOUT = 30.0  # seconds for a reader to take what was sent

Model = TypeVar("Model", bound=BaseModel)


async def read_body(request: Request, model: type[Model]) -> Model:
    check_media_type(request.headers.get("content-type", ""))
    fields = decode(await request.body())
    if not isinstance(fields, dict):
        raise InvalidJson("The body is JSON, but not an object.")
    return parse(model, fields)


def check_media_type(content_type: str) -> None:
    """JSON must be declared: a page of another origin cannot send that header without a preflight (CORS)."""
    media_type = content_type.partition(";")[0].strip().lower()
    if media_type != "application/json" and not (
        media_type.startswith("application/") and media_type.endswith("+json")
    ):
        declared = f"`{media_type}`" if media_type else "no content type"
        raise UnsupportedMediaType(f"The body was sent with {declared}.")


def decode(body: bytes) -> Any:
    try:
        text = body.decode("utf-8")
    except UnicodeDecodeError as error:
        raise InvalidJson(f"The body is not UTF-8 (byte {error.start}).") from None
    try:
        # Unlike json.loads: no NaN, no lone surrogates, and deep nesting is an error rather than a full stack.
        return from_json(text, allow_inf_nan=False)
    except ValueError as error:
        raise InvalidJson(f"The body is not JSON: {error}.") from None


def body_schema(model: type[BaseModel]) -> dict[str, Any]:
    """The `openapi_extra` for a route that reads its body here."""
    schema = {"$ref": f"#/components/schemas/{model.__name__}"}
    return {"requestBody": {"required": True, "content": {"application/json": {"schema": schema}}}}


# --- size and time limits --------------------------------------------------------------------------------------------


class StalledReader(ClientDisconnect):
    """The client is connected but does not read its answer."""


class TransferLimits:
    """How large a request may be, how slowly it may arrive, and how slowly its answer may be read. A client that
    exceeds a time limit stops holding anything: neither a slot for answers nor the model."""

    def __init__(self, app: ASGIApp, largest: int = MAX_BODY, larger: Mapping[str, int] = MappingProxyType({})) -> None:
        """`larger` maps paths to limits of their own."""
        self._app = app
        self._largest = largest
        self._larger = larger

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        largest = self._larger.get(scope["path"], self._largest)
        request = Request(scope, receive)
        declared = request.headers.get("content-length", "")
        if declared.isascii() and declared.isdigit() and int(declared) > largest:
            await problem_response(_too_large(largest), request)(scope, receive, send)
            return
        reader = _BoundedWriter(send)
        try:
            await self._app(scope, _BoundedReader(receive, largest).receive, reader.send)
        finally:
            if reader.stalled:  # whatever a foreign door made of it
                raise StalledReader


class _BoundedReader:
    """The body of one request, limited in size and time."""

    def __init__(self, receive: Receive, largest: int) -> None:
        self._receive = receive
        self._largest = largest
        self._read = 0
        self._whole = False
        self._deadline: float | None = None

    async def receive(self) -> Message:
        if self._whole:  # the only message left is the client's disconnect, however late
            return await self._receive()
        if self._deadline is None:
            self._deadline = asyncio.get_running_loop().time() + BODY_TIMEOUT
        try:
            async with asyncio.timeout_at(self._deadline):
                message = await self._receive()
        except TimeoutError:
            raise BodyTooSlow(f"The body did not arrive within {BODY_TIMEOUT:g} seconds.") from None
        self._read += len(message.get("body", b""))
        if self._read > self._largest:
            raise _too_large(self._largest)
        self._whole = not message.get("more_body", False)
        return message


class _BoundedWriter:
    """The answer to one request: `send` waits while the client's buffers are full, but not forever."""

    def __init__(self, send: Send) -> None:
        self._send = send
        self.stalled = False

    async def send(self, message: Message) -> None:
        if self.stalled:
            raise StalledReader
        try:
            async with asyncio.timeout(WRITE_TIMEOUT):
                await self._send(message)
        except TimeoutError:
            self.stalled = True
            raise StalledReader from None


def _too_large(largest: int) -> BodyTooLarge:
    return BodyTooLarge(f"The body is larger than {largest:,} bytes.", hint="Send a shorter question or selection.")
