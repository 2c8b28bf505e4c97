"""The one shape of every error of every door: RFC 9457 problem details that are also S0's ErrorResponse.

In: an error of `quoth.errors`, or one of the framework's. Out: `application/problem+json`.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse
from starlette.exceptions import HTTPException

from quoth.errors import (
    InternalError,
    InvalidSessionId,
    MethodNotAllowed,
    QuothError,
    UnknownPath,
    WrongUsage,
)

logger = logging.getLogger(__name__)

MEDIA_TYPE = "application/problem+json"
RETRY_SOON = 5  # seconds: an outage that may pass by itself
RETRY_LATE = 60  # seconds: somebody has to do something first
OPENAI = "/v1/"  # the doors of OpenAI's protocol
_OPENAI_TYPES = {401: "authentication_error", 403: "permission_error", 429: "rate_limit_error"}


def request_id_of(request: Request) -> str:
    return str(request.state.request_id)  # set by the doorway, before anything else


def path_of(request: Request) -> str:
    """What the router goes by; `request.url` is put together from the query and the Host header too, which may be no
    text at all."""
    return str(request.scope["path"])


def title(code: str) -> str:
    return code.replace("_", " ").capitalize()


def public(error: QuothError, request_id: str) -> QuothError:
    """What a stranger may know: faults of ours keep their inside to the log."""
    if error.status != 500:
        return error
    return InternalError("Something went wrong inside Quoth.", hint=f"Report it with the request id {request_id}.")


def problem(error: QuothError, *, request_id: str, instance: str) -> dict[str, Any]:
    told = public(error, request_id)
    foreign = {"error": openai_error(told)} if instance.startswith(OPENAI) else {}
    return {
        **foreign,
        "type": f"/errors/{told.code}",
        "title": title(told.code),
        "status": told.status,
        "detail": told.message,
        "instance": instance,
        "error_code": told.code,
        "message": told.message,
        "request_id": request_id,
        "details": told.details,
        "hint": told.hint,
    }


def openai_error(error: QuothError) -> dict[str, Any]:
    """The shape that OpenAI's clients look for, beside ours in the same body."""
    field = error.details.get("field")
    return {
        "message": str(error),
        "type": _OPENAI_TYPES.get(error.status, "invalid_request_error" if error.status < 500 else "server_error"),
        "param": "messages" if field == "query" else field,
        "code": error.code,
    }


def advice(error: QuothError) -> Mapping[str, str]:
    """The headers that say what a program should do next."""
    if error.status == 503:
        return {"Retry-After": str(RETRY_SOON if error.retryable else RETRY_LATE)}
    if error.status == 429:
        return {"Retry-After": str(error.details["retry_after"])}
    if error.status == 401:
        wrong = ', error="invalid_token"' if error.details.get("error") == "invalid_token" else ""
        return {"WWW-Authenticate": f'Bearer realm="quoth"{wrong}'}
    return {}


def problem_response(error: QuothError, request: Request, headers: Mapping[str, str] | None = None) -> JSONResponse:
    request.state.error = error  # for the figures
    return JSONResponse(
        problem(error, request_id=request_id_of(request), instance=path_of(request)),
        status_code=error.status,
        headers={**advice(error), **(headers or {})},
        media_type=MEDIA_TYPE,
    )


def explained(request: Request) -> Callable[[QuothError], dict[str, Any]]:
    """For errors in the middle of a stream: takes note of each and gives the problem to send."""

    def explain(error: QuothError) -> dict[str, Any]:
        request.state.error = error  # for the figures
        log_fault(error)
        return problem(error, request_id=request_id_of(request), instance=path_of(request))

    return explain


def log_fault(error: QuothError) -> None:
    """A wrong request is the client's business; an outage is the operator's, and a fault of ours is ours."""
    if error.status == 500:
        logger.error("%s: %s", error.code, error.message, exc_info=error)
    elif error.status > 500:
        logger.warning("%s: %s", error.code, error)


async def on_quoth_error(request: Request, error: Exception) -> JSONResponse:
    assert isinstance(error, QuothError)
    log_fault(error)
    return problem_response(error, request)


async def on_http_exception(request: Request, error: Exception) -> JSONResponse:
    assert isinstance(error, HTTPException)
    return problem_response(_of_http(request, error), request, error.headers)


def _of_http(request: Request, error: HTTPException) -> QuothError:
    if error.status_code == 404:
        return UnknownPath(f"There is nothing at {path_of(request)}.")
    if error.status_code == 405:
        allowed = (error.headers or {}).get("Allow", "another method")
        return MethodNotAllowed(
            f"{request.method} is not possible at {path_of(request)}.", hint=f"It answers to {allowed}."
        )
    if error.status_code < 500:
        return WrongUsage(str(error.detail))
    return InternalError(str(error.detail))


async def on_invalid_parameter(request: Request, error: Exception) -> JSONResponse:
    """A path or query parameter; bodies are read by `quoth.serve.bodies`."""
    assert isinstance(error, RequestValidationError)
    first = error.errors()[0]
    name = str(first["loc"][-1])
    details = {"field": name, "reason": str(first["msg"])}
    if name == "session_id":
        return problem_response(InvalidSessionId("session_id is not a UUID version 4.", details=details), request)
    return problem_response(WrongUsage(f"`{name}` is wrong: {first['msg']}.", details=details), request)


def known_errors(error: type[QuothError] = QuothError) -> Iterator[type[QuothError]]:
    yield error
    for kind in error.__subclasses__():
        yield from known_errors(kind)


async def explain_error(code: str, request: Request) -> JSONResponse:
    """What the `type` of a problem points at."""
    kind = next((kind for kind in known_errors() if kind.code == code), None)
    if kind is None:
        raise UnknownPath(f"There is nothing at {path_of(request)}.")
    return JSONResponse(
        {
            "error_code": code,
            "title": title(code),
            "status": kind.status,
            "retryable": kind.retryable,
            "hint": kind.default_hint,
        }
    )


def install_problems(app: FastAPI) -> None:
    app.add_exception_handler(QuothError, on_quoth_error)
    app.add_exception_handler(HTTPException, on_http_exception)
    app.add_exception_handler(RequestValidationError, on_invalid_parameter)
    app.add_api_route("/errors/{code}", explain_error, methods=["GET"], include_in_schema=False)
