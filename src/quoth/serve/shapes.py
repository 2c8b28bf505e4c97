"""What the shapes of all responses share, and how they get into OpenAPI.

A shape is a TypedDict: the view that returns it, mypy and OpenAPI all read the same lines. Each one is next to the
views that make it. In: shapes and status codes. Out: the `responses` of a route. Knows no framework, so that the
terminal can use the views as well.
"""

from __future__ import annotations

from datetime import datetime
from http import HTTPStatus
from typing import Annotated, Any, overload

from pydantic import ConfigDict, Field, with_config
from typing_extensions import TypedDict

Responses = dict[int | str, dict[str, Any]]
Score = Annotated[float, Field(ge=0, le=1)]
Uuid = Annotated[str, Field(json_schema_extra={"format": "uuid"})]
Moment = Annotated[str, Field(json_schema_extra={"format": "date-time"})]


@with_config(ConfigDict(extra="forbid"))
class Shape(TypedDict):
    """A JSON object with exactly these keys."""


@overload
def timestamp(moment: datetime) -> str: ...
@overload
def timestamp(moment: None) -> None: ...
def timestamp(moment: datetime | None) -> str | None:
    return None if moment is None else moment.isoformat(timespec="milliseconds").replace("+00:00", "Z")


def problems(*statuses: int, shape: str = "Problem") -> Responses:
    """The known errors of a route, and the shape of all others."""
    content = {"application/problem+json": {"schema": {"$ref": f"#/components/schemas/{shape}"}}}
    named: Responses = {status: {"description": HTTPStatus(status).phrase, "content": content} for status in statuses}
    return {**named, "default": {"description": "Any other error, in the same shape", "content": content}}


def answers(shape: object, *errors: int) -> Responses:
    """The `responses` of a route that succeeds with this shape."""
    return {200: {"model": shape}, **problems(*errors)}


def event_content(*names: str) -> dict[str, Any]:
    """Server-sent events with these names, or without a name. `itemSchema` is OpenAPI 3.2's word for one event."""
    data = {"type": "string", "contentMediaType": "application/json"}
    item = {"type": "object", "properties": {"data": data}, "required": ["data"]}
    if names:
        properties = {"id": {"type": "string"}, "event": {"enum": list(names)}, "data": data}
        item = {"type": "object", "properties": properties, "required": ["event", "data"]}
    return {"text/event-stream": {"itemSchema": item}}
