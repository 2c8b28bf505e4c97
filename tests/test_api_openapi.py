from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from quoth.api import create_app
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
        "DELETE /session/{session_id}",
        "POST /search",
        "GET /context/{chunk_id}",
        "GET /lesson/{parent_doc_id}",
        "GET /books",
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
        problem = responses["default"]["content"]["application/problem+json"]["schema"]
        assert problem == {"$ref": "#/components/schemas/Problem"}, name


def test_the_bodies_have_examples_and_allow_no_unknown_field(schema: dict[str, Any]) -> None:
    for door, model in [("/chat", "ChatRequest"), ("/search", "SearchRequest"), ("/ingestion/jobs", "IngestRequest")]:
        body = schema["paths"][door]["post"]["requestBody"]
        assert body["content"]["application/json"]["schema"] == {"$ref": f"#/components/schemas/{model}"}
        described = schema["components"]["schemas"][model]
        assert described["additionalProperties"] is False
        assert any("examples" in field for field in described["properties"].values())


def test_making_the_application_opens_nothing(tmp_path: Path) -> None:
    create_app(load_settings(data_dir=tmp_path / "data"))
    assert not (tmp_path / "data").exists()
