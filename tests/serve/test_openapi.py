from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator
from syrupy.assertion import SnapshotAssertion
from syrupy.extensions.json import JSONSnapshotExtension

from quoth.ask.request import ChatRequest, parse
from quoth.errors import InvalidSessionId
from quoth.serve.app import create_app
from quoth.serve.openapi import examples
from quoth.settings import load_settings


@pytest.fixture
def schema(tmp_path: Path) -> dict[str, Any]:
    return create_app(load_settings(data_dir=tmp_path)).openapi()


def operations(schema: dict[str, Any]) -> Iterator[tuple[str, dict[str, Any]]]:
    for path, methods in schema["paths"].items():
        for method, operation in methods.items():
            yield f"{method.upper()} {path}", operation


def test_the_doors_of_the_contract_are_documented(schema: dict[str, Any]) -> None:
    assert {name for name, _ in operations(schema)} == {
        "POST /chat",
        "POST /chat/stream",
        "GET /history/{session_id}",
        "POST /chat/run",
        "GET /session/{session_id}",
        "GET /session/{session_id}/history",
        "DELETE /session/{session_id}",
        "PATCH /session/{session_id}",
        "POST /search",
        "GET /context/{chunk_id}",
        "GET /lesson/{parent_doc_id}",
        "GET /books",
        "GET /books/{book_id}/contents",
        "GET /books/{book_id}/questions",
        "POST /feedback",
        "POST /share",
        "GET /shared/{share_id}",
        "GET /books/{book_id}/page",
        "GET /books/{book_id}/figure",
        "GET /llms.txt",
        "GET /llms-full.txt",
        "GET /books/{book_id}/llms.txt",
        "GET /books/{book_id}/llms-full.txt",
        "POST /v1/chat/completions",
        "POST /v1/responses",
        "POST /v1/embeddings",
        "GET /v1/models",
        "GET /v1/models/{model}",
        "POST /mcp",
        "POST /ingestion/jobs",
        "GET /ingestion/jobs",
        "GET /ingestion/jobs/{job_id}",
        "GET /ingestion/jobs/{job_id}/events",
        "GET /ingestion/changes",
        "POST /ingestion/webhook/github",
        "GET /health",
        "GET /healthz",
        "GET /metrics",
        "GET /readyz",
    }


def test_every_reference_leads_to_a_schema(schema: dict[str, Any]) -> None:
    text = json.dumps(schema)
    referred = {piece.split('"')[0] for piece in text.split('"#/components/schemas/')[1:]}
    assert referred <= set(schema["components"]["schemas"])
    assert {"ChatRequest", "SearchRequest", "ChatResponse", "Problem", "FilterFields"} <= referred


def test_every_door_documents_its_success_and_the_one_shape_of_its_errors(schema: dict[str, Any]) -> None:
    for name, operation in operations(schema):
        responses = operation["responses"]
        assert {"200", "202", "204"} & set(responses), name
        assert "422" not in responses, name
        shape = "OpenAIProblem" if " /v1/" in name else "Problem"
        problem = responses["default"]["content"]["application/problem+json"]["schema"]
        assert problem == {"$ref": f"#/components/schemas/{shape}"}, name


def test_the_bodies_have_examples_and_allow_no_unknown_field(schema: dict[str, Any]) -> None:
    for door, model in [
        ("/chat", "ChatRequest"),
        ("/search", "SearchRequest"),
        ("/v1/chat/completions", "CompletionRequest"),
        ("/v1/responses", "ResponseRequest"),
        ("/v1/embeddings", "EmbeddingRequest"),
        ("/ingestion/jobs", "IngestRequest"),
    ]:
        body = schema["paths"][door]["post"]["requestBody"]
        assert body["content"]["application/json"]["schema"] == {"$ref": f"#/components/schemas/{model}"}
        described = schema["components"]["schemas"][model]
        assert described["additionalProperties"] is False
        assert any("examples" in field for field in described["properties"].values())


def validator(schema: dict[str, Any], part: dict[str, Any]) -> Draft202012Validator:
    return Draft202012Validator({**part, "components": schema["components"]})


def test_every_door_has_an_example_of_what_is_sent_and_what_comes_back(schema: dict[str, Any]) -> None:
    for name, operation in operations(schema):
        body = operation.get("requestBody", {}).get("content", {}).get("application/json", {})
        assert not body or "example" in body, name
        for parameter in operation.get("parameters", ()):
            assert not parameter.get("required") or "example" in parameter, (name, parameter["name"])
        success = [response for status, response in operation["responses"].items() if status.startswith("2")]
        contents = [content for response in success for content in response.get("content", {}).values()]
        assert not contents or any("example" in content for content in contents), name


def test_every_example_is_what_its_schema_promises(schema: dict[str, Any]) -> None:
    compared = 0
    for name, operation in operations(schema):
        responses = [content for one in operation["responses"].values() for content in one.get("content", {}).values()]
        bodies = operation.get("requestBody", {}).get("content", {}).values()
        parts = (*responses, *bodies, *operation.get("parameters", ()))
        for part in [part for part in parts if "example" in part]:
            faults = validator(schema, part.get("schema", {})).iter_errors(part["example"])
            assert [fault.message for fault in faults] == [], name
            compared += 1
    assert compared > 100


def test_no_example_is_kept_of_a_door_that_is_gone(schema: dict[str, Any]) -> None:
    assert set(examples()) == {name for name, _ in operations(schema)}


def pieces(value: Any) -> Iterator[dict[str, Any]]:
    """Every object in the document."""
    if isinstance(value, dict):
        yield value
    for one in value.values() if isinstance(value, dict) else value if isinstance(value, list) else ():
        yield from pieces(one)


def test_an_optional_field_stays_optional_in_generated_clients(schema: dict[str, Any]) -> None:
    """openapi-typescript and others make a field with a default required."""
    fields = [
        (name, field, described)
        for name, shape in schema["components"]["schemas"].items()
        for field, described in shape.get("properties", {}).items()
    ]
    assert len(fields) > 200
    assert [(name, field) for name, field, described in fields if "default" in described] == []
    limit = schema["components"]["schemas"]["SearchRequest"]["properties"]["limit"]
    assert limit["description"].endswith("(default: 5)")


def test_patterns_mean_the_same_to_every_engine(schema: dict[str, Any]) -> None:
    """Engines disagree about anchors other than ^ and $, and about groups with a question mark."""
    patterns = {piece["pattern"] for piece in pieces(schema) if isinstance(piece.get("pattern"), str)}
    assert len(patterns) >= 3
    for pattern in patterns:
        re.compile(pattern)
        assert not re.search(r"\\[AzZ]|\(\?", pattern), pattern


SESSION_IDS = {
    "6a1f7a9e-2f7e-4c3e-9d57-0d5a3d7b6f10": True,
    "6A1F7A9E-2F7E-4C3E-9D57-0D5A3D7B6F10": True,
    "6a1f7a9e-2f7e-1c3e-9d57-0d5a3d7b6f10": False,  # version 1
    "6a1f7a9e-2f7e-4c3e-cd57-0d5a3d7b6f10": False,  # another variant
    "6a1f7a9e-2f7e-4c3e-9d57-0d5a3d7b6f1": False,
}


def accepted(session_id: str) -> bool:
    try:
        parse(ChatRequest, {"query": "x", "session_id": session_id})
    except InvalidSessionId:
        return False
    return True


@pytest.mark.parametrize(("session_id", "right"), SESSION_IDS.items())
def test_a_session_id_that_fits_the_schema_is_one_that_the_server_takes(
    schema: dict[str, Any], session_id: str, right: bool
) -> None:
    in_path = schema["paths"]["/history/{session_id}"]["get"]["parameters"][0]["schema"]
    chat = schema["components"]["schemas"]["ChatRequest"]
    assert validator(schema, in_path).is_valid(session_id) is right
    assert validator(schema, chat).is_valid({"query": "x", "session_id": session_id}) is right
    assert accepted(session_id) is right


def test_every_operation_has_a_name_of_its_own(schema: dict[str, Any]) -> None:
    names = [operation["operationId"] for _, operation in operations(schema)]
    assert len(names) == len(set(names))


def test_a_change_of_the_schema_is_seen(schema: dict[str, Any], snapshot: SnapshotAssertion) -> None:
    """Clients are built on this. After an intended change: pytest tests/serve/test_openapi.py --snapshot-update."""
    shown = without({**schema, "info": {}}, "example", "headers")
    assert shown == snapshot(extension_class=JSONSnapshotExtension)


def without(value: Any, *names: str) -> Any:
    if isinstance(value, list):
        return [without(one, *names) for one in value]
    if isinstance(value, dict):
        return {name: without(one, *names) for name, one in value.items() if name not in names}
    return value


def test_making_the_application_opens_nothing(tmp_path: Path) -> None:
    create_app(load_settings(data_dir=tmp_path / "data"))
    assert not (tmp_path / "data").exists()
