"""The one shape of every error at every door: problem details (RFC 9457) with an error code, a hint and details.

In: an error of `quoth.errors`, or one of the framework's. Out: `application/problem+json`.
"""

from __future__ import annotations

import logging
import re
from collections.abc import Callable, Iterator, Mapping
from functools import cache
from typing import Annotated, Any

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse
from fastapi.routing import iter_route_contexts
from pydantic import Field
from starlette.exceptions import HTTPException
from starlette.routing import compile_path

from quoth.errors import InternalError, InvalidSessionId, MethodNotAllowed, QuothError, UnknownPath, WrongUsage
from quoth.serve.disclosure import is_admin, public
from quoth.serve.shapes import Shape, Uuid

logger = logging.getLogger(__name__)

MEDIA_TYPE = "application/problem+json"
RETRY_SOON = 5  # seconds, after an outage that may pass by itself
_RETRY_LATE = 60  # seconds, if an operator has to act first
_OPENAI = "/v1/"  # the doors of OpenAI's protocol
_OPENAI_TYPES = {401: "authentication_error", 403: "permission_error", 429: "rate_limit_error"}


class Problem(Shape):
    """RFC 9457 problem details with an error code, a hint and details."""

    type: Annotated[str, Field(examples=["/errors/EMPTY_QUERY"])]
    title: Annotated[str, Field(examples=["Empty query"])]
    status: Annotated[int, Field(examples=[400])]
    detail: Annotated[str, Field(examples=["The question is empty."])]
    instance: Annotated[str, Field(examples=["/chat"])]
    error_code: Annotated[str, Field(examples=["EMPTY_QUERY"])]
    message: Annotated[str, Field(examples=["The question is empty."])]
    request_id: Uuid
    details: dict[str, Any]
    hint: Annotated[str, Field(examples=["Ask a question of at least one character."])]


class OpenAIError(Shape):
    message: Annotated[str, Field(examples=["The question is empty. Ask a question of at least one character."])]
    type: Annotated[str, Field(examples=["invalid_request_error"])]
    param: Annotated[str | None, Field(examples=["messages"])]
    code: Annotated[str, Field(examples=["EMPTY_QUERY"])]


class OpenAIProblem(Problem):
    """The problem of every door, with OpenAI's error in the same body."""

    error: OpenAIError


def request_id_of(request: Request) -> str:
    return str(request.state.request_id)  # set by the doorway, before anything else


def path_of(request: Request) -> str:
    """The path that the router uses. `request.url` also contains the query and the Host header, which may not even be
    text."""
    return str(request.scope["path"])


def _title(code: str) -> str:
    return code.replace("_", " ").capitalize()


def problem_of(error: QuothError, request: Request) -> Problem | OpenAIProblem:
    """Operators see an outage in full; the details of our own faults are only in the log."""
    request_id = request_id_of(request)
    whole = is_admin(request) and error.status != 500
    told = problem(error if whole else public(error, request_id), request_id=request_id, instance=path_of(request))
    if whole and error.inside:
        told["details"] = {**told["details"], "inside": error.inside}
    return told


def problem(told: QuothError, *, request_id: str, instance: str) -> Problem | OpenAIProblem:
    ours: Problem = {
        "type": f"/errors/{told.code}",
        "title": _title(told.code),
        "status": told.status,
        "detail": told.message,
        "instance": instance,
        "error_code": told.code,
        "message": told.message,
        "request_id": request_id,
        "details": told.details,
        "hint": told.hint,
    }
    if not instance.startswith(_OPENAI):
        return ours
    both: OpenAIProblem = {"error": _openai_error(told), **ours}
    return both


def _openai_error(error: QuothError) -> OpenAIError:
    """The shape that OpenAI's clients look for, beside ours in the same body."""
    field = error.details.get("field")
    return {
        "message": str(error),
        "type": _OPENAI_TYPES.get(error.status, "invalid_request_error" if error.status < 500 else "server_error"),
        "param": "messages" if field == "query" else field,
        "code": error.code,
    }


def _advice(error: QuothError) -> Mapping[str, str]:
    """The headers that tell a program what to do next."""
    if error.status == 503:
        return {"Retry-After": str(RETRY_SOON if error.retryable else _RETRY_LATE)}
    if error.status == 429:
        return {"Retry-After": str(error.details["retry_after"])}
    if error.status == 408:
        return {"Connection": "close"}  # we do not want the rest of the body
    if error.status == 401:
        wrong = ', error="invalid_token"' if error.details.get("error") == "invalid_token" else ""
        return {"WWW-Authenticate": f'Bearer realm="quoth"{wrong}'}
    return {}


def problem_response(error: QuothError, request: Request, headers: Mapping[str, str] | None = None) -> JSONResponse:
    request.state.error = error  # for the metrics
    return JSONResponse(
        problem_of(error, request),
        status_code=error.status,
        headers={**_advice(error), **(headers or {})},
        media_type=MEDIA_TYPE,
    )


def problem_teller(request: Request) -> Callable[[QuothError], Problem]:
    """For errors in the middle of a stream: notes and logs each one, and returns the problem to send."""

    def explain(error: QuothError) -> Problem:
        request.state.error = error  # for the metrics
        log_fault(error)
        return problem_of(error, request)

    return explain


def log_fault(error: QuothError) -> None:
    """A wrong request is the client's to fix and is not logged; an outage is the operator's, a fault is ours."""
    if error.status == 500:
        logger.error("%s: %s", error.code, error.message, exc_info=error)
    elif error.status > 500:
        logger.warning("%s: %s", error.code, error.in_full())


async def _on_quoth_error(request: Request, error: Exception) -> JSONResponse:
    assert isinstance(error, QuothError)
    log_fault(error)
    return problem_response(error, request)


async def _on_http_exception(request: Request, error: Exception) -> JSONResponse:
    assert isinstance(error, HTTPException)
    headers = {"Allow": _allowed_methods(request, error)} if error.status_code == 405 else error.headers
    return problem_response(_of_http(request, error), request, headers)


def _of_http(request: Request, error: HTTPException) -> QuothError:
    if error.status_code == 404:
        return UnknownPath(f"There is nothing at {path_of(request)}.")
    if error.status_code == 405:
        return MethodNotAllowed(
            f"{path_of(request)} does not accept {request.method}.", hint=f"Use {_allowed_methods(request, error)}."
        )
    if error.status_code < 500:
        return WrongUsage(str(error.detail))
    return InternalError(str(error.detail))


def _allowed_methods(request: Request, error: HTTPException) -> str:
    """The framework names the methods of the first route at this path; another route there may have more."""
    methods = set((error.headers or {}).get("Allow", "").split(", ")) - {""}
    for route in iter_route_contexts(request.app.routes):
        if route.methods and _pattern_of(str(route.path)).match(path_of(request)):
            methods |= set(route.methods)
    return ", ".join(sorted(methods))


@cache  # there are as many as routes
def _pattern_of(path: str) -> re.Pattern[str]:
    return compile_path(path)[0]


async def _on_invalid_parameter(request: Request, error: Exception) -> JSONResponse:
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


async def _explain_error(code: str, request: Request) -> JSONResponse:
    """The document that a problem's `type` links to."""
    kind = next((kind for kind in known_errors() if kind.code == code), None)
    if kind is None:
        raise UnknownPath(f"There is nothing at {path_of(request)}.")
    return JSONResponse(
        {
            "error_code": code,
            "title": _title(code),
            "status": kind.status,
            "retryable": kind.retryable,
            "hint": kind.default_hint,
        }
    )


def install_problems(app: FastAPI) -> None:
    app.add_exception_handler(QuothError, _on_quoth_error)
    app.add_exception_handler(HTTPException, _on_http_exception)
    app.add_exception_handler(RequestValidationError, _on_invalid_parameter)
    app.add_api_route("/errors/{code}", _explain_error, methods=["GET"], include_in_schema=False)
