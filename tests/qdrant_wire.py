"""A Qdrant server or cluster for tests: Qdrant's REST calls over loopback, on one address for each node.

What the adapter sends is real HTTP with real JSON, and is remembered; what it gets back was computed by an engine that
is not ours (`qdrant_copies`). Every node holds a copy of everything. A test may put faults in the way, and may make a
node go away, hang, be slow, be cut off from its peers, or lag behind. Reads and writes then answer as a cluster of
Qdrant 1.19 was seen to answer: a read asks the copy at hand; `majority` asks every copy and fails when one does not
answer; `quorum` asks as many as make a majority, and what they disagree on is left out; a write needs
`write_consistency_factor` copies, and what it could not reach is "Dead" until it has caught up; a write with `medium`
ordering goes through one leader, and fails once when that has gone.
"""

from __future__ import annotations

import json
import re
import socket
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Literal
from urllib.parse import parse_qsl, urlsplit

from qdrant_client import models

from qdrant_copies import DONE, READS, Body, Copy, agreed, described

State = Literal["up", "gone", "hangs", "cut off"]
# All that may stand behind the "?" of a call.
QUERIES = {("wait", "true"), ("ordering", "medium"), ("consistency", "quorum"), ("consistency", "majority")}


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


class Unreachable(Exception):
    """A peer does not answer."""


class Failed(Exception):
    """The node says 500."""


@dataclass
class Cluster:
    nodes: list[Wire] = field(default_factory=list)
    gives_up: float = 0.5  # seconds after which a node gives up a peer that hangs
    lock: threading.RLock = field(default_factory=threading.RLock)

    def copies(self) -> list[Wire]:
        return [node for node in self.nodes if node.copy_state == "Active"]

    def reach(self, caller: Wire, peer: Wire) -> Wire:
        if peer is caller:
            return peer
        if peer.state == "hangs":
            peer.awake.wait(self.gives_up)
        if peer.state in ("hangs", "gone", "cut off") or caller.state == "cut off":
            raise Unreachable("Tonic status error: code: 'The service is currently unavailable', tcp connect error")
        return peer

    def read(self, caller: Wire, consistency: str | None, name: str, rest: str, body: Body) -> Any:
        # A node that is cut off has not heard that its copy has missed a write.
        copies = [caller] if caller.state == "cut off" and caller.copy_state == "Dead" else self.copies()
        copies = sorted(copies, key=lambda node: node is not caller)
        wanted = {None: 1, "quorum": len(copies) // 2 + 1}.get(consistency, len(copies))
        found: list[Any] = []
        failures: list[str] = []
        for node in copies:
            if len(found) == wanted:
                break
            try:
                peer = self.reach(caller, node)
            except Unreachable as fault:
                failures.append(str(fault))
                if consistency not in (None, "quorum"):
                    break
            else:
                with self.lock:
                    found.append(peer.copy.answer("POST", name, rest, body))
        if len(found) < wanted:
            said = "\n  ".join(failures)
            raise Failed(f"Service internal error: {len(failures)} of {len(copies)} read operations failed:\n  {said}")
        return found[0] if wanted == 1 else agreed(found, rest, len(found) if consistency == "quorum" else wanted)

    def write(self, caller: Wire, ordering: str | None, method: str, name: str, rest: str, body: Body) -> Any:
        if caller.state == "cut off":
            raise Failed("Service internal error: Failed to reach enough copies")
        leader = self.copies()[-1] if ordering in ("medium", "strong") else caller
        try:
            leader = self.reach(caller, leader)
        except Unreachable as fault:
            leader.copy_state = "Dead"
            raise Failed(f"Service internal error: Failed to apply update via leader peer: {fault}") from fault
        reached, lost = [], []
        for node in self.copies():
            try:
                reached.append(self.reach(leader, node))
            except Unreachable:
                lost.append(node)
        with self.lock:
            for node in reached:
                node.receive(method, name, rest, body)
            factor = self.nodes[0].copy.made.get(name, {}).get("write_consistency_factor", 1)
            if len(reached) < min(factor, len(self.nodes)):
                raise Failed(
                    f"Service internal error: {len(lost)} of {len(reached) + len(lost)} copies failed to apply"
                )
            for node in lost:
                node.copy_state = "Dead"
        return DONE

    def change(self, method: str, name: str, rest: str, body: Body) -> Any:
        """Collections and their indexes: a node that is away hears of it when it is back."""
        with self.lock:
            answers = [node.copy.answer(method, name, rest, body) for node in self.nodes]
            return answers[0]

    def recover(self, node: Wire) -> None:
        """It is back, and has caught up."""
        node.come_back()
        with self.lock:
            node.copy.take_over(next(other for other in self.copies() if other is not node).copy)
            node.copy_state = "Active"


@dataclass
class Wire:
    """One node."""

    cluster: Cluster = field(default_factory=Cluster)
    url: str = ""
    version: str = "1.20.0"
    title: str = "qdrant - vector search engine"
    api_key: str | None = None
    asked: list[Asked] = field(default_factory=list)
    faults: list[Fault] = field(default_factory=list)  # the first is used up by the next call that `strikes` matches
    strikes: str = "."
    copy: Copy = field(default_factory=Copy)
    copy_state: str = "Active"
    state: State = "up"
    delay: float = 0.0  # seconds before every answer
    late: list[tuple[str, str, str, Body]] | None = None  # writes that this copy has not carried out yet
    awake: threading.Event = field(default_factory=threading.Event)
    heard: threading.Condition = field(default_factory=threading.Condition)
    connections: set[socket.socket] = field(default_factory=set)
    server: ThreadingHTTPServer | None = None
    thread: threading.Thread | None = None

    # --- what a test asks -----------------------------------------------------------------------------------------

    def wait_for(self, count: int, method: str, path: str) -> None:
        """Until so many calls of that kind have come."""
        with self.heard:
            assert self.heard.wait_for(lambda: len(self.calls(method, path)) >= count, timeout=60)

    def wait_until_left(self) -> None:
        """Until nobody holds a connection any more."""
        with self.heard:
            assert self.heard.wait_for(lambda: not self.connections, timeout=60)

    def calls(self, method: str, path: str) -> list[Asked]:
        return [call for call in self.asked if call.method == method and re.fullmatch(path, call.path)]

    def go_away(self) -> None:
        """Its process is killed: connections break, new ones are refused."""
        self.state = "gone"
        self.stop()

    def hang(self) -> None:
        """Its process is stopped: connections are accepted, nothing is answered."""
        self.state = "hangs"
        self.awake.clear()

    def come_back(self) -> None:
        if self.state == "gone":
            self.start()
        self.state = "up"
        self.awake.set()

    def lag(self) -> None:
        self.late = []

    def catch_up(self) -> None:
        with self.cluster.lock:
            late, self.late = self.late or [], None
            for write in late:
                self.copy.answer(*write)

    # --- what the server does -------------------------------------------------------------------------------------

    def receive(self, *write: Any) -> None:
        if self.late is not None:
            self.late.append(write)
        else:
            self.copy.answer(*write)

    def next_fault(self, call: Asked) -> Fault | None:
        with self.cluster.lock:
            struck = self.faults and re.search(self.strikes, f"{call.method} {call.path}")
            return self.faults.pop(0) if struck else None

    def answer(self, call: Asked) -> Any:
        assert set(call.query.items()) <= QUERIES, call.query
        if call.path == "/":
            return {"title": self.title, "version": self.version}
        if call.path == "/collections":
            return {"collections": [{"name": name} for name in self.copy.parts]}
        if call.path == "/cluster":
            return self._peers()
        found = re.fullmatch(r"/collections/([^/]+)(.*)", call.path)
        assert found is not None, call.path
        name, rest = found[1], found[2]
        if rest == "/cluster":
            return self._shards(name)
        if call.method == "GET":
            return self.copy.answer("GET", name, rest, {})
        if call.method == "POST" and rest in READS:
            return self.cluster.read(self, call.query.get("consistency"), name, rest, call.body)
        if rest.startswith("/points"):
            return self.cluster.write(self, call.query.get("ordering"), call.method, name, rest, call.body)
        return self.cluster.change(call.method, name, rest, call.body)

    def _peers(self) -> Body:
        if len(self.cluster.nodes) == 1:
            return {"status": "disabled"}
        failures = {}
        for node in self.cluster.nodes:
            if node is not self and node.state != "up":
                failures[f"{node.url}/"] = {
                    "count": 3,
                    "latest_error": "Error in closure supplied to transport channel",
                }
        peers = {str(number): {"uri": node.url} for number, node in enumerate(self.cluster.nodes)}
        raft = {"term": 1, "commit": 9, "pending_operations": 0, "is_voter": True}
        return described(
            models.ClusterStatusOneOf1,
            {
                "status": "enabled",
                "peer_id": self.number,
                "peers": peers,
                "raft_info": raft,
                "consensus_thread_status": {
                    "consensus_thread_status": "working",
                    "last_update": "2026-01-01T00:00:00Z",
                },
                "message_send_failures": failures,
            },
        )

    @property
    def number(self) -> int:
        return next(number for number, node in enumerate(self.cluster.nodes) if node is self)

    def _shards(self, name: str) -> Body:
        shards = range(len(self.copy.answer("GET", name, "", {}) and self.copy.parts[name]))
        found: Body = {
            "peer_id": self.number,
            "shard_count": len(shards),
            "shard_transfers": [],
            "local_shards": [{"shard_id": shard, "points_count": 0, "state": self.copy_state} for shard in shards],
            "remote_shards": [
                {"shard_id": shard, "peer_id": number, "state": node.copy_state}
                for number, node in enumerate(self.cluster.nodes)
                for shard in shards
                if node is not self
            ],
        }
        return described(models.CollectionClusterInfo, found)

    def start(self) -> None:
        address = ("127.0.0.1", urlsplit(self.url).port or 0)
        self.server = ThreadingHTTPServer(address, handler_of(self))
        self.server.daemon_threads = True
        self.url = f"http://127.0.0.1:{self.server.server_address[1]}"
        self.thread = threading.Thread(target=self.server.serve_forever, kwargs={"poll_interval": 0.01})
        self.thread.start()

    def stop(self) -> None:
        if self.server is None or self.thread is None:
            return
        self.server.shutdown()
        self.thread.join()
        self.server.server_close()
        self.server = None
        for connection in list(self.connections):
            with suppress(OSError):
                connection.shutdown(socket.SHUT_RDWR)


def handler_of(wire: Wire) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        disable_nagle_algorithm = True  # head and body are two writes: the second would wait 40 ms

        def setup(self) -> None:
            super().setup()
            wire.connections.add(self.connection)

        def finish(self) -> None:
            with wire.heard:
                wire.connections.discard(self.connection)
                wire.heard.notify_all()
            with suppress(OSError):
                super().finish()

        def do_GET(self) -> None:
            where = urlsplit(self.path)
            length = int(self.headers.get("Content-Length") or 0)
            body = json.loads(self.rfile.read(length)) if length else {}
            call = Asked(self.command, where.path, dict(parse_qsl(where.query)), body)
            with wire.heard:
                wire.asked.append(call)
                wire.heard.notify_all()
            if wire.state == "hangs":
                wire.awake.wait(60)
            if wire.delay:
                time.sleep(wire.delay)
            fault = wire.next_fault(call)
            if fault is not None and fault.after:
                self.carried_out(call)
            if fault is not None and fault.silent:
                wire.awake.wait(60)
            if fault is not None and (fault.silent or fault.closed):
                self.close_connection = True
            elif fault is not None:
                self.reply(fault.status, fault.body, fault.headers)
            elif wire.api_key is not None and self.headers.get("api-key") != wire.api_key:
                self.reply(401, b"Must provide an API key or an Authorization bearer token")
            else:
                self.reply(*self.carried_out(call))

        def carried_out(self, call: Asked) -> tuple[int, bytes]:
            try:
                result = wire.answer(call)
            except (Failed, ValueError) as error:
                said = str(error)
                status = 409 if "already exists" in said else 404 if "doesn't exist" in said else 400
                status = 500 if isinstance(error, Failed) else status
                return status, json.dumps({"status": {"error": said}, "time": 0.0}).encode()
            document = result if call.path == "/" else {"result": result, "status": "ok", "time": 0.0}
            return 200, json.dumps(document).encode()

        def reply(self, status: int, body: bytes, headers: dict[str, str] | None = None) -> None:
            with suppress(OSError):  # it was stopped, or the caller has gone
                self.send_response(status)
                for name, value in {"Content-Type": "application/json", **(headers or {})}.items():
                    self.send_header(name, value)
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

        do_POST = do_PUT = do_PATCH = do_DELETE = do_GET

        def log_message(self, *_: object) -> None:
            """Tests are quiet."""

    return Handler


@contextmanager
def qdrant_wire() -> Iterator[Wire]:
    """A server alone."""
    with qdrant_cluster(1) as cluster:
        yield cluster.nodes[0]


@contextmanager
def qdrant_cluster(nodes: int = 3) -> Iterator[Cluster]:
    cluster = Cluster()
    cluster.nodes = [Wire(cluster) for _ in range(nodes)]
    with ExitStack() as stack:
        for node in cluster.nodes:
            node.start()
            stack.callback(node.stop)
        for node in cluster.nodes:
            stack.callback(node.awake.set)
        yield cluster
