"""Spans: nothing without a collector, the conventions' names with one, and never a word of a reader."""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
import threading
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import Any

import pytest
from opentelemetry import trace
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.trace import SpanKind, StatusCode

from doors import ASKED, Doors, opened
from quoth.ask.spans import SILENT
from quoth.bootstrap import bootstrap, fingerprint_of
from quoth.domain import Answer, Delta, ToolCall
from quoth.errors import IndexUnavailable, ModelUnavailable
from quoth.insight.telemetry import Telemetry
from quoth.settings import load_settings
from quoth.testing.embedder import FakeEmbedder
from quoth.testing.index import MemoryIndex
from quoth.testing.library import MemoryLibrary
from quoth.testing.model import ScriptedModel
from samples import question

WORDS = "Transient local durability keeps the last message for late subscribers. [1]"
PARENT = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"


@pytest.fixture
def exporter() -> InMemorySpanExporter:
    return InMemorySpanExporter()


@asynccontextmanager
async def traced(folder: Path, exporter: InMemorySpanExporter, **parts: Any) -> AsyncIterator[Doors]:
    provider = TracerProvider(shutdown_on_exit=False)
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    async with opened(folder, spans=Telemetry(provider), **parts) as doors:
        exporter.clear()
        yield doors


def by_name(exporter: InMemorySpanExporter) -> dict[str, ReadableSpan]:
    return {span.name: span for span in exporter.get_finished_spans()}


def parent_of(span: ReadableSpan, spans: dict[str, ReadableSpan]) -> str:
    ids = {one.context.span_id: name for name, one in spans.items() if one.context}
    return "" if span.parent is None else ids.get(span.parent.span_id, "elsewhere")


def facts(span: ReadableSpan) -> dict[str, Any]:
    return dict(span.attributes or {})


async def test_an_answer_is_an_agent_with_its_searches_inside_a_request(
    tmp_path: Path, exporter: InMemorySpanExporter
) -> None:
    async with traced(tmp_path, exporter) as doors:
        await doors.ask()
    spans = by_name(exporter)
    assert set(spans) == {"POST /chat", "invoke_agent quoth", "retrieval book", f"embeddings {FakeEmbedder().name}"}
    assert parent_of(spans["POST /chat"], spans) == ""
    assert parent_of(spans["invoke_agent quoth"], spans) == "POST /chat"
    assert parent_of(spans["retrieval book"], spans) == "invoke_agent quoth"
    assert parent_of(spans[f"embeddings {FakeEmbedder().name}"], spans) == "retrieval book"
    agent, served = facts(spans["invoke_agent quoth"]), spans["POST /chat"]
    assert agent["gen_ai.operation.name"] == "invoke_agent"
    assert (agent["gen_ai.agent.name"], agent["gen_ai.data_source.id"]) == ("quoth", "book")
    assert (agent["quoth.mode"], agent["quoth.confidence_level"]) == ("extractive", "high")
    assert 0.5 < agent["quoth.confidence"] <= 1.0
    assert facts(spans["retrieval book"])["gen_ai.operation.name"] == "retrieval"
    assert served.kind is SpanKind.SERVER
    assert facts(served) == {
        "http.request.method": "POST",
        "http.route": "/chat",
        "http.response.status_code": 200,
    }


async def test_a_model_s_calls_and_tools_are_spans_with_their_tokens(
    tmp_path: Path, exporter: InMemorySpanExporter
) -> None:
    model = ScriptedModel([[ToolCall("c1", "search_book_content", '{"query": "deadline"}')], [WORDS]])
    async with traced(tmp_path, exporter, model=model) as doors:
        await doors.stream()
    finished = exporter.get_finished_spans()
    chats = [span for span in finished if span.name == "chat scripted"]
    assert len(chats) == 2
    assert {span.kind for span in chats} == {SpanKind.CLIENT}
    assert facts(chats[0])["gen_ai.response.finish_reasons"] == ("tool_calls",)
    last = facts(chats[1])
    assert last["gen_ai.operation.name"] == "chat"
    assert (last["gen_ai.request.model"], last["gen_ai.response.model"]) == ("scripted", "scripted")
    assert (last["gen_ai.usage.input_tokens"], last["gen_ai.usage.output_tokens"]) == (0, 7)
    assert last["gen_ai.response.time_to_first_chunk"] >= 0
    spans = by_name(exporter)
    tool = spans["execute_tool search_book_content"]
    assert facts(tool)["gen_ai.tool.call.id"] == "c1"
    assert parent_of(tool, spans) == parent_of(chats[1], spans) == "invoke_agent quoth"
    inner = [span for span in finished if span.name == "retrieval book" and parent_of(span, spans) == tool.name]
    assert len(inner) == 1
    assert facts(spans["invoke_agent quoth"])["gen_ai.usage.output_tokens"] == 14


async def test_a_tool_that_does_not_exist_gives_no_span_its_name(
    tmp_path: Path, exporter: InMemorySpanExporter
) -> None:
    model = ScriptedModel([[ToolCall("c" * 500, "rm -rf /", "{}")], [WORDS]])
    async with traced(tmp_path, exporter, model=model) as doors:
        await doors.ask()
    tool = by_name(exporter)["execute_tool unknown"]
    assert len(facts(tool)["gen_ai.tool.call.id"]) == 64


async def test_a_request_that_comes_from_elsewhere_goes_on_with_its_trace(
    tmp_path: Path, exporter: InMemorySpanExporter
) -> None:
    async with traced(tmp_path, exporter) as doors:
        await doors.client.post("/chat", json={"query": ASKED}, headers={"traceparent": PARENT})
        await doors.client.get("/healthz", headers={"traceparent": "nonsense"})
    spans = by_name(exporter)
    assert {f"{spans[name].context.trace_id:032x}" for name in ("POST /chat", "retrieval book")} == {PARENT[3:35]}
    assert f"{spans['POST /chat'].parent.span_id:016x}" == PARENT[36:52]  # type: ignore[union-attr]  # it has one
    assert spans["GET /healthz"].parent is None


class DeafIndex(MemoryIndex):
    deaf = False

    async def asked(self, call: str, book_id: str) -> None:
        if self.deaf and call == "search":
            raise IndexUnavailable(f"What about {ASKED}?")
        await super().asked(call, book_id)


async def test_a_fault_is_named_by_its_code_in_every_span_that_it_passed(
    tmp_path: Path, exporter: InMemorySpanExporter
) -> None:
    index = DeafIndex(fingerprint_of(FakeEmbedder()))
    async with traced(tmp_path, exporter, index=index) as doors:
        index.deaf = True
        await doors.client.post("/chat", json={"query": ASKED})
    spans = by_name(exporter)
    for name, kind in (
        ("retrieval book", "QDRANT_UNAVAILABLE"),
        ("invoke_agent quoth", "QDRANT_UNAVAILABLE"),
        ("POST /chat", "503"),
    ):
        assert spans[name].status.status_code is StatusCode.ERROR, name
        assert facts(spans[name])["error.type"] == kind


async def test_a_model_that_fails_ends_its_span_with_its_code(tmp_path: Path, exporter: InMemorySpanExporter) -> None:
    async with traced(tmp_path, exporter, model=ScriptedModel([[ModelUnavailable("down")]])) as doors:
        assert (await doors.ask())["metadata"]["mode"] == "retrieval_only"
    spans = by_name(exporter)
    assert facts(spans["chat scripted"])["error.type"] == "SERVICE_UNAVAILABLE"
    assert spans["invoke_agent quoth"].status.status_code is StatusCode.UNSET


async def test_no_word_of_a_reader_or_of_an_answer_is_in_any_span(
    tmp_path: Path, exporter: InMemorySpanExporter
) -> None:
    canary = "canary-81c2"
    model = ScriptedModel([[ToolCall("c1", "search_book_content", f'{{"query": "{canary}"}}')], [f"{canary} {WORDS}"]])
    async with traced(tmp_path, exporter, model=model) as doors:
        await doors.ask(f"{ASKED} {canary}")
        await doors.ask(f"tell me more, {canary}")
        await doors.client.get(f"/nowhere/{canary}?q={canary}")
        await doors.client.post("/chat", json={canary: canary})
    spans = exporter.get_finished_spans()
    assert len(spans) > 6
    assert not [span for span in spans if canary in span.to_json()]


async def test_a_reader_who_leaves_ends_every_span_and_finds_none_in_their_context(
    tmp_path: Path, exporter: InMemorySpanExporter
) -> None:
    model = ScriptedModel([["Transient local durability keeps ", "the last message. [1] ", "More. [1]"]])
    async with traced(tmp_path, exporter, model=model) as doors:
        events = doors.quoth.conversations.ask(question(ASKED))
        async for event in events:
            assert trace.get_current_span() is trace.INVALID_SPAN
            if isinstance(event, Delta):
                break
        await events.aclose()
    assert {"invoke_agent quoth", "chat scripted", "retrieval book"} <= set(by_name(exporter))


async def test_answers_side_by_side_keep_their_spans_apart(tmp_path: Path, exporter: InMemorySpanExporter) -> None:
    async with traced(tmp_path, exporter) as doors:
        await asyncio.gather(*(doors.ask() for _ in range(8)))
    finished = exporter.get_finished_spans()
    traces = [
        {span.name for span in finished if span.context.trace_id == one}
        for one in {s.context.trace_id for s in finished}
    ]
    assert len(traces) == 8
    assert all(len(names) == 4 for names in traces)


# --- a collector ------------------------------------------------------------------------------------------------------


@contextmanager
def collector() -> Iterator[tuple[str, list[ExportTraceServiceRequest]]]:
    """Listens on loopback for OTLP over HTTP."""
    received: list[ExportTraceServiceRequest] = []

    class Receiver(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            assert self.path == "/v1/traces"
            received.append(ExportTraceServiceRequest.FromString(self.rfile.read(int(self.headers["content-length"]))))
            self.send_response(200)
            self.end_headers()

        def log_message(self, format: str, *args: object) -> None:
            return

    with HTTPServer(("127.0.0.1", 0), Receiver) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_port}", received
        finally:
            server.shutdown()
            thread.join()


async def ask_with(folder: Path, endpoint: str) -> Answer:
    embedder = FakeEmbedder()
    from quoth.sources import open_source

    (folder / "docs").mkdir()
    (folder / "docs" / "page.md").write_text("# Topics\n\nTransient local durability keeps the last message.\n")
    async with bootstrap(
        load_settings(data_dir=folder / "data", otel_endpoint=endpoint),
        embedder=embedder,
        index=MemoryIndex(fingerprint_of(embedder)),
        library=MemoryLibrary(),
    ) as quoth:
        await quoth.ingest.run(open_source(folder / "docs", book_id="book"))
        return await quoth.conversations.answer(question("What does transient local durability keep?"))


@pytest.mark.slow
async def test_spans_reach_a_collector_before_the_program_ends(tmp_path: Path) -> None:
    with collector() as (endpoint, received):
        await ask_with(tmp_path, endpoint)
    [resource] = [one for request in received for one in request.resource_spans]
    names = {span.name for scope in resource.scope_spans for span in scope.spans}
    assert {"invoke_agent quoth", "retrieval book"} <= names
    described = {fact.key: fact.value.string_value for fact in resource.resource.attributes}
    assert described["service.name"] == "quoth"


@pytest.mark.slow
async def test_a_collector_that_is_not_there_delays_no_reader(tmp_path: Path) -> None:
    async with asyncio.timeout(60):
        answer = await ask_with(tmp_path, "http://127.0.0.1:9")
    assert "keeps the last message" in (answer.text or "")


# --- and without one --------------------------------------------------------------------------------------------------


async def test_without_a_collector_the_pipelines_are_what_they_were(tmp_path: Path) -> None:
    model = ScriptedModel([[WORDS]])
    async with opened(tmp_path, model=model) as doors:
        assert doors.quoth.spans is SILENT
        assert doors.quoth.model is model


@pytest.mark.slow
def test_nothing_of_opentelemetry_is_imported_without_a_collector() -> None:
    """FastAPI imports the API itself; the SDK and the exporter, which are heavy, must not be imported."""
    program = (
        "import sys, quoth.bootstrap, quoth.cli\n"
        "heavy = lambda: [name for name in sys.modules if name.startswith('opentelemetry')]\n"
        "print(heavy())\n"
        "import quoth.serve.app\n"
        "print([name for name in heavy() if name.startswith(('opentelemetry.sdk', 'opentelemetry.exporter'))])\n"
    )
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(entry for entry in sys.path if entry)}
    run = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True, env=environment)
    assert run.stdout.split() == ["[]", "[]"]


async def test_a_collector_without_the_extra_is_a_warning_and_no_failure(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr("quoth.bootstrap.find_spec", lambda name: None)
    async with opened(tmp_path, settings={"otel_endpoint": "http://127.0.0.1:9"}) as doors:
        assert doors.quoth.spans is SILENT
    assert "pip install 'quoth[telemetry]'" in caplog.text
