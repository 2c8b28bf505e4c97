"""The OpenAPI document: the doors as the framework describes them, the bodies we read ourselves, examples, problems.

In: the application. Out: its schema. The examples are recorded from real answers (scripts/openapi_examples.py), so
every example works.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from functools import cache
from http import HTTPStatus
from pathlib import Path
from typing import Any

from fastapi import FastAPI
from fastapi.openapi.utils import get_openapi
from pydantic import TypeAdapter

from quoth.ask.request import ChatRequest, RunRequest, SearchRequest
from quoth.errors import (
    BodyTooLarge,
    Conflict,
    EmptyQuery,
    Forbidden,
    IndexUnavailable,
    NotAcceptable,
    QuothError,
    RateLimited,
    Unauthorized,
    UnknownBook,
    UnsupportedMediaType,
)
from quoth.serve.access import scope_needed
from quoth.serve.disclosure import public
from quoth.serve.ingestion import IngestRequest
from quoth.serve.openai_embeddings import EmbeddingRequest
from quoth.serve.openai_protocol import CompletionRequest
from quoth.serve.openai_responses import ResponseRequest
from quoth.serve.opinions import FeedbackRequest, ShareRequest
from quoth.serve.problems import MEDIA_TYPE, RETRY_SOON, OpenAIProblem, Problem, problem
from quoth.serve.sessions import TagsRequest

_EXAMPLES = Path(__file__).parent / "examples.json"
_OURS = (
    ChatRequest,
    RunRequest,
    SearchRequest,
    TagsRequest,
    CompletionRequest,
    ResponseRequest,
    EmbeddingRequest,
    IngestRequest,
    FeedbackRequest,
    ShareRequest,
    Problem,
    OpenAIProblem,
)
_REQUEST_ID = "0b8a1f0e-5a53-4f86-9a40-2f4be1b5a111"

# For each status, one of the errors it may mean.
_PROBLEMS: tuple[QuothError, ...] = (
    EmptyQuery("The question is empty."),
    Unauthorized("The request has no key."),
    Forbidden("This key has scope `ask`; this endpoint needs `ingest`."),
    UnknownBook("There is no book 'atlantis'."),
    RateLimited("You sent more than 100 requests in a minute.", details={"retry_after": 20, "limit": 100}),
    NotAcceptable("The client must accept application/json and text/event-stream."),
    Conflict("Book 'my-book' is being ingested: job 7 is running."),
    BodyTooLarge("The body is larger than 1,048,576 bytes."),
    UnsupportedMediaType("The body was sent with `text/plain`."),
    IndexUnavailable("The index cannot be read."),
)

_KEY = {
    "type": "http",
    "scheme": "bearer",
    "description": "Created with `quoth keys create`; needed once a key exists, and always beyond loopback",
}

_API_KEY = {
    "type": "apiKey",
    "in": "header",
    "name": "X-API-Key",
    "description": "The same key in another header, for clients that send keys this way",
}

_Schema = dict[str, Any]


def document(app: FastAPI) -> None:
    def openapi() -> _Schema:
        if app.openapi_schema is None:
            schema = get_openapi(title=app.title, version=app.version, description=app.description, routes=app.routes)
            _, ours = TypeAdapter.json_schemas(
                [(shape.__name__, "validation", TypeAdapter(shape)) for shape in _OURS],
                ref_template="#/components/schemas/{model}",
            )
            schema.setdefault("components", {}).setdefault("schemas", {}).update(ours["$defs"])
            _describe_defaults(schema["components"]["schemas"])
            for door, path, operation in _operations(schema):
                _add_examples(operation, examples().get(door, {}))
                if scope_needed(path) is not None:
                    _add_key(operation)
                _add_problems(operation, path)
                _add_headers(operation)
            schema["components"]["securitySchemes"] = {"key": _KEY, "api_key": _API_KEY}
            app.openapi_schema = schema
        return app.openapi_schema

    app.openapi = openapi  # type: ignore[method-assign]  # the framework's documented way to extend the schema


@cache
def examples() -> _Schema:
    found: _Schema = json.loads(_EXAMPLES.read_text(encoding="utf-8"))
    return found


def _operations(schema: _Schema) -> Iterator[tuple[str, str, _Schema]]:
    """Each door as `POST /chat`, its path, and its description."""
    for path, methods in schema["paths"].items():
        for method, operation in methods.items():
            yield f"{method.upper()} {path}", path, operation


def _describe_defaults(shapes: _Schema) -> None:
    """Client generators make a field with a default required, so the default goes into the description."""
    for shape in shapes.values():
        for field in shape.get("properties", {}).values():
            default = field.pop("default", None)
            if default is not None:
                field["description"] = f"{field.get('description', '')} (default: {json.dumps(default)})".strip()


def _add_examples(operation: _Schema, example: _Schema) -> None:
    values = example.get("parameters", {})
    for parameter in operation.get("parameters", ()):
        if parameter["name"] in values:
            parameter["example"] = values[parameter["name"]]
    if "request" in example:
        operation["requestBody"]["content"]["application/json"]["example"] = example["request"]
    if "response" in example:
        content = operation["responses"][str(example["status"])]["content"]
        content[example["response"]["type"]]["example"] = example["response"]["body"]


def _add_key(operation: _Schema) -> None:
    """The responses of a door that needs a key. Not every server needs one, so `{}` is allowed too."""
    operation["security"] = [{"key": []}, {"api_key": []}, {}]
    shape = operation["responses"]["default"]["content"]
    for status in (401, 403, 429):
        response = {"description": HTTPStatus(status).phrase, "content": dict(shape)}
        operation["responses"].setdefault(str(status), response)


def _add_problems(operation: _Schema, path: str) -> None:
    for error in _PROBLEMS:
        content = operation["responses"].get(str(error.status), {}).get("content", {})
        if MEDIA_TYPE in content:
            told = problem(public(error, _REQUEST_ID), request_id=_REQUEST_ID, instance=path)
            content[MEDIA_TYPE] = {**content[MEDIA_TYPE], "example": told}


def _add_headers(operation: _Schema) -> None:
    for status, response in operation["responses"].items():
        headers = response.setdefault("headers", {})
        headers["X-Request-ID"] = {
            "description": "The request's own id if it is a UUID v4, otherwise a new one; in every log line",
            "schema": {"type": "string", "format": "uuid"},
        }
        if status in ("429", "503"):
            headers["Retry-After"] = {"description": "Seconds", "schema": {"type": "integer"}, "example": RETRY_SOON}
