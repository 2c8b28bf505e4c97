"""Every request passes here first and every response last: request id, security headers, and the last error handler.

In: the ASGI application. Out: the same application, whose responses all have `X-Request-ID` and which never fails
without an answer. Plain ASGI rather than the framework's middleware, so that streams pass through untouched.
"""

from __future__ import annotations

import asyncio
import logging
import time
import uuid
from collections.abc import Mapping

from starlette.datastructures import Headers, MutableHeaders
from starlette.requests import ClientDisconnect, Request
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from quoth import logs
from quoth.errors import InternalError, Outage, QuothError
from quoth.serve.bodies import StalledReader
from quoth.serve.problems import problem_of, problem_response
from quoth.serve.sse import frame

logger = logging.getLogger(__name__)

# A door that needs more (the page needs its own script) sets its own value; these fill in the rest.
_SECURITY_HEADERS: Mapping[str, str] = {
    "content-security-policy": "default-src 'none'; frame-ancestors 'none'",
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
    "referrer-policy": "no-referrer",
    "cross-origin-resource-policy": "same-origin",
    "cache-control": "no-store",
}


def _choose_request_id(sent: str | None) -> str:
    """The client's own id if it is a UUID v4, so that its logs and ours can be matched; otherwise a new one."""
    try:
        parsed = uuid.UUID(sent or "")
    except ValueError:
        return str(uuid.uuid4())
    return str(parsed) if parsed.version == 4 else str(uuid.uuid4())


class _Outgoing:
    """The outgoing response to one request."""

    def __init__(self, send: Send, request_id: str) -> None:
        self._send = send
        self._request_id = request_id
        self.status: int | None = None
        self.streams_events = False

    async def send(self, message: Message) -> None:
        if message["type"] == "http.response.start":
            self.status = message["status"]
            headers = MutableHeaders(scope=message)
            headers["x-request-id"] = self._request_id
            for name, value in _SECURITY_HEADERS.items():
                headers.setdefault(name, value)
            self.streams_events = headers.get("content-type", "").startswith("text/event-stream")
        await self._send(message)


class Doorway:
    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        request_id = _choose_request_id(Headers(scope=scope).get("x-request-id"))
        scope.setdefault("state", {})["request_id"] = request_id
        token = logs.request_id.set(request_id)
        outgoing, started = _Outgoing(send, request_id), time.perf_counter()
        try:
            await self._app(scope, receive, outgoing.send)
        except StalledReader:
            logger.warning("the client stopped reading; its answer was stopped: %s", scope["path"])
        except ClientDisconnect:
            logger.info("the client left before its request was read")
        except asyncio.CancelledError:
            # The server cancels a request only when it was told to stop and its grace period is over.
            logger.warning("cut off because the server is stopping: %s", scope["path"])
            await self._fail(Request(scope, receive), outgoing, Outage("The server is stopping.", hint="Ask again."))
        except Exception as error:
            logger.exception("unhandled %s at %s", type(error).__name__, scope["path"])
            await self._fail(Request(scope, receive), outgoing, InternalError("unhandled"))
        finally:
            spent = round((time.perf_counter() - started) * 1000, 2)
            line = {"method": scope["method"], "path": scope["path"], "status": outgoing.status, "ms": spent}
            logger.info("request", extra=line)
            logs.request_id.reset(token)

    @staticmethod
    async def _fail(request: Request, outgoing: _Outgoing, fault: QuothError) -> None:
        if outgoing.status is None:
            await problem_response(fault, request)(request.scope, request.receive, outgoing.send)
        elif outgoing.streams_events:
            told = problem_of(fault, request)
            await outgoing.send({"type": "http.response.body", "body": frame("error", told), "more_body": False})
        else:
            raise fault  # part of the body is sent: only closing the connection tells the client
