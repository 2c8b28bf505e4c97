"""Reads a JSON body, so that each way it can be wrong has its own code, and documents it in OpenAPI all the same.

In: a request. Out: a validated model of `quoth.ask.request`. The framework's own body parsing is not used: it answers
422 for everything and has no limit on the size. The limit is a layer of its own around all doors, since some of them
(MCP) read their bodies themselves.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, TypeVar

from fastapi import Request
from pydantic import BaseModel
from pydantic_core import from_json
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from quoth.ask.request import parse
from quoth.errors import BodyTooLarge, InvalidJson, UnsupportedMediaType
from quoth.serve.problems import problem_response

MAX_BODY = 1_048_576

Model = TypeVar("Model", bound=BaseModel)


async def read_body(request: Request, model: type[Model]) -> Model:
    check_media_type(request.headers.get("content-type", ""))
    fields = decode(await request.body())
    if not isinstance(fields, dict):
        raise InvalidJson("The body is JSON, but not an object.")
    return parse(model, fields)


def check_media_type(content_type: str) -> None:
    """JSON must be announced: a page of another origin cannot send that header without asking first (CORS)."""
    media_type = content_type.partition(";")[0].strip().lower()
    if media_type != "application/json" and not (
        media_type.startswith("application/") and media_type.endswith("+json")
    ):
        told = f"`{media_type}`" if media_type else "no content type"
        raise UnsupportedMediaType(f"The body was sent with {told}.")


def _too_large(most: int) -> BodyTooLarge:
    return BodyTooLarge(f"The body is larger than {most:,} bytes.", hint="Send a shorter question or selection.")


class LimitedBody:
    """No door reads more than it should, whether the length was announced or not."""

    def __init__(self, app: ASGIApp, most: int = MAX_BODY, more: Mapping[str, int] = MappingProxyType({})) -> None:
        """`more` names the paths with a limit of their own."""
        self._app = app
        self._most = most
        self._more = more

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        request = Request(scope, receive)
        most = self._more.get(scope["path"], self._most)
        error = _too_large(most)
        announced = request.headers.get("content-length", "")
        if announced.isascii() and announced.isdigit() and int(announced) > most:
            await problem_response(error, request)(scope, receive, send)
            return
        read, replaced = 0, False

        async def counted() -> Message:
            nonlocal read
            message = await receive()
            read += len(message.get("body", b""))
            if read > most:
                raise error
            return message

        async def sending(message: Message) -> None:
            """Whatever a door that is not ours makes of the error, the answer to it is one of ours."""
            nonlocal replaced
            if message["type"] == "http.response.start" and read > most:
                replaced = True
                await problem_response(error, request)(scope, receive, send)
            elif not replaced:
                await send(message)

        await self._app(scope, counted, sending)


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
    """The `openapi_extra` of a route that reads its body here."""
    schema = {"$ref": f"#/components/schemas/{model.__name__}"}
    return {"requestBody": {"required": True, "content": {"application/json": {"schema": schema}}}}
