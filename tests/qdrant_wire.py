"""A Qdrant server for tests: Qdrant's REST calls over loopback, answered by qdrant-client's own local engine.

What the adapter sends is therefore real HTTP with real JSON, and is remembered; what it gets back was computed by an
engine that is not ours. A test may put faults in the way. Where the local engine differs from a server it is simpler:
it searches exactly, keeps no payload index (this file only remembers that they were asked for), and knows no replicas.
"""

from __future__ import annotations

import json
import re
import threading
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qsl, urlsplit

from pydantic import BaseModel, TypeAdapter
from qdrant_client import QdrantClient, models

Body = dict[str, Any]
Answer = Callable[[QdrantClient, str, Body], Any]


@dataclass(frozen=True)
class Asked:
    method: str
    path: str
    query: dict[str, str]
    body: Body


@dataclass(frozen=True)
class Fault:
    """Instead of an answer: a status with a body, or silence, or a connection that is closed."""

    status: int = 500
    body: bytes = b'{"status":{"error":"Service internal error: out of luck"},"time":0.0}'
    headers: dict[str, str] = field(default_factory=dict)
    silent: bool = False
    closed: bool = False
    after: bool = False  # the call is carried out, only its answer is lost


@dataclass
class Wire:
    url: str = ""
    version: str = "1.20.0"
    title: str = "qdrant - vector search engine"
    api_key: str | None = None
    asked: list[Asked] = field(default_factory=list)
    faults: list[Fault] = field(default_factory=list)  # the first is used up by the next call that `strikes` matches
    strikes: str = "."
    engine: QdrantClient = field(default_factory=lambda: QdrantClient(":memory:"))
    indexes: dict[str, dict[str, Any]] = field(default_factory=dict)
    lock: threading.RLock = field(default_factory=threading.RLock)
    released: threading.Event = field(default_factory=threading.Event)
    heard: threading.Condition = field(default_factory=threading.Condition)

    def wait_for(self, count: int, method: str, path: str) -> None:
        """Until so many calls of that kind have come."""
        with self.heard:
            assert self.heard.wait_for(lambda: len(self.calls(method, path)) >= count, timeout=60)

    def calls(self, method: str, path: str) -> list[Asked]:
        return [call for call in self.asked if call.method == method and re.fullmatch(path, call.path)]

    def next_fault(self, call: Asked) -> Fault | None:
        with self.lock:
            struck = self.faults and re.search(self.strikes, f"{call.method} {call.path}")
            return self.faults.pop(0) if struck else None


def _model(kind: Any, body: Any) -> Any:
    return TypeAdapter(kind).validate_python(body)


def _create(engine: QdrantClient, name: str, body: Body) -> Any:
    wanted = models.CreateCollection.model_validate(body)
    vectors = wanted.vectors if wanted.vectors is not None else {}
    return engine.create_collection(name, vectors_config=vectors, sparse_vectors_config=wanted.sparse_vectors)


def _retrieve(engine: QdrantClient, name: str, body: Body) -> Any:
    wanted = models.PointRequest.model_validate(body)
    payload = wanted.with_payload if wanted.with_payload is not None else True
    return engine.retrieve(name, wanted.ids, with_payload=payload, with_vectors=wanted.with_vector or False)


def _scroll(engine: QdrantClient, name: str, body: Body) -> Any:
    wanted = models.ScrollRequest.model_validate(body)
    records, offset = engine.scroll(
        name,
        wanted.filter,
        limit=wanted.limit or 10,
        offset=wanted.offset,
        with_payload=wanted.with_payload if wanted.with_payload is not None else True,
        with_vectors=wanted.with_vector or False,
    )
    return {"points": records, "next_page_offset": offset}


def _upsert(engine: QdrantClient, name: str, body: Body) -> Any:
    wanted = models.PointsList.model_validate(body)
    return engine.upsert(name, wanted.points, update_filter=wanted.update_filter, update_mode=wanted.update_mode)


def _selector(body: Body) -> Any:
    return _model(models.PointsSelector, {key: body[key] for key in ("points", "filter") if body.get(key)})


ANSWERS: dict[tuple[str, str], Answer] = {
    ("GET", ""): lambda engine, name, body: engine.get_collection(name),
    ("PUT", ""): _create,
    ("DELETE", ""): lambda engine, name, body: engine.delete_collection(name),
    ("POST", "/points"): _retrieve,
    ("PUT", "/points"): _upsert,
    ("POST", "/points/scroll"): _scroll,
    ("POST", "/points/count"): lambda engine, name, body: engine.count(
        name, _model(models.Filter, body["filter"]), exact=body["exact"]
    ),
    ("POST", "/points/query/batch"): lambda engine, name, body: engine.query_batch_points(
        name, [models.QueryRequest.model_validate(search) for search in body["searches"]]
    ),
    ("POST", "/points/delete"): lambda engine, name, body: engine.delete(name, _selector(body)),
    ("POST", "/points/payload"): lambda engine, name, body: engine.set_payload(name, body["payload"], _selector(body)),
    ("POST", "/points/payload/delete"): lambda engine, name, body: engine.delete_payload(
        name, body["keys"], _selector(body)
    ),
}


def answer(wire: Wire, call: Asked) -> Any:
    if call.path == "/":
        return {"title": wire.title, "version": wire.version}
    found = re.fullmatch(r"/collections/([^/]+)(.*)", call.path)
    assert found is not None, call.path
    name, rest = found[1], found[2]
    if rest == "/index":
        wire.engine.get_collection(name)
        wire.indexes.setdefault(name, {})[call.body["field_name"]] = call.body["field_schema"]
        return {"operation_id": 0, "status": "completed"}
    if rest.startswith("/vectors/"):
        config = _model(models.VectorNameConfig, call.body)
        return wire.engine.create_vector_name(name, rest.removeprefix("/vectors/"), config)
    result = ANSWERS[call.method, rest](wire.engine, name, call.body)
    if (call.method, rest) == ("GET", ""):
        schema = {
            field: {"data_type": params["type"], "points": 0} for field, params in wire.indexes.get(name, {}).items()
        }
        return {**_plain(result), "payload_schema": schema}
    return result


def _plain(value: Any) -> Any:
    if isinstance(value, BaseModel):
        return value.model_dump(mode="json", exclude_none=True)
    if isinstance(value, dict):
        return {key: _plain(item) for key, item in value.items()}
    return [_plain(item) for item in value] if isinstance(value, list) else value


@contextmanager
def qdrant_wire(**settings: Any) -> Iterator[Wire]:
    wire = Wire(**settings)

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self) -> None:
            where = urlsplit(self.path)
            length = int(self.headers.get("Content-Length") or 0)
            body = json.loads(self.rfile.read(length)) if length else {}
            call = Asked(self.command, where.path, dict(parse_qsl(where.query)), body)
            with wire.heard:
                wire.asked.append(call)
                wire.heard.notify_all()
            fault = wire.next_fault(call)
            if fault is not None and fault.after:
                self.carried_out(call)
            if fault is not None and fault.silent:
                wire.released.wait(60)
            if fault is not None and (fault.silent or fault.closed):
                self.close_connection = True
            elif fault is not None:
                self.reply(fault.status, fault.body, fault.headers)
            elif wire.api_key is not None and self.headers.get("api-key") != wire.api_key:
                self.reply(401, b"Must provide an API key or an Authorization bearer token")
            else:
                self.reply(*self.carried_out(call))

        def carried_out(self, call: Asked) -> tuple[int, bytes]:
            with wire.lock, warnings.catch_warnings():
                warnings.simplefilter("ignore")  # of the local engine: what it does not need
                try:
                    result = answer(wire, call)
                except ValueError as error:
                    status = 409 if "already exists" in str(error) else 404 if "not found" in str(error) else 400
                    return status, json.dumps({"status": {"error": str(error)}, "time": 0.0}).encode()
            bare = call.path == "/"
            document = result if bare else {"result": _plain(result), "status": "ok", "time": 0.0}
            return 200, json.dumps(document).encode()

        def reply(self, status: int, body: bytes, headers: dict[str, str] | None = None) -> None:
            self.send_response(status)
            for name, value in {"Content-Type": "application/json", **(headers or {})}.items():
                self.send_header(name, value)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        do_POST = do_PUT = do_DELETE = do_GET

        def log_message(self, *_: object) -> None:
            """Tests are quiet."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    wire.url = f"http://127.0.0.1:{server.server_address[1]}"
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    try:
        yield wire
    finally:
        wire.released.set()
        server.shutdown()
        thread.join()
        server.server_close()
