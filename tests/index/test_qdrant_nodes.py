"""Which address is asked, which one next, and which is skipped for a while: with nodes that answer when the test says
so, and a clock that it moves."""

from __future__ import annotations

import asyncio
from collections import defaultdict
from typing import Any

import pytest
from aiohttp import web
from aiohttp.test_utils import TestServer

from quoth.errors import IndexUnavailable
from quoth.index.qdrant_health import cluster_fault
from quoth.index.qdrant_nodes import NoAnswer, Node, Nodes, Reply, Request
from quoth.index.qdrant_server import QdrantOptions, Server

QUESTION = Request("POST", "/collections/quoth/points", b"{}")


class Clock:
    def __init__(self) -> None:
        self.now = 1_000.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    clock = Clock()
    monkeypatch.setattr("quoth.index.qdrant_nodes._now", clock)
    return clock


class Played(Nodes):
    """Three nodes; each gives the answers that the test puts into its queue, in order."""

    def __init__(self, clock: Clock) -> None:
        super().__init__(["http://a:1", "http://b:1", "http://c:1"], None)
        self._turn = -1  # start with the first one
        self._clock = clock
        self.asked: list[str] = []
        self.said: dict[str, asyncio.Queue[int | NoAnswer]] = defaultdict(asyncio.Queue)
        self._heard = asyncio.Condition()

    async def was_asked(self, *names: str) -> None:
        async with self._heard:
            await self._heard.wait_for(lambda: self.asked == list(names))

    async def ask_one(self, node: Node, request: Request) -> Reply:
        async with self._heard:
            self.asked.append(node.name[0])
            self._heard.notify_all()
        said = await self.said[node.name[0]].get()
        if isinstance(said, NoAnswer):
            raise said
        node.heard = self._clock.now
        return Reply(said, b"", node)

    def say(self, node: str, *answers: int | NoAnswer) -> None:
        for answer in answers:
            self.said[node].put_nowait(answer)

    def node(self, name: str) -> Node:
        return next(node for node in self.all if node.name[0] == name)


@pytest.fixture
def nodes(clock: Clock) -> Played:
    return Played(clock)


async def ask(nodes: Nodes, *, wait: float | None = 0.01, first: Node | None = None) -> Reply:
    return await nodes.ask(QUESTION, limit=60, wait=wait, first=first)


async def until_asked(nodes: Played, *names: str) -> None:
    async with asyncio.timeout(60):
        await nodes.was_asked(*names)


async def test_those_that_are_well_take_turns(nodes: Played) -> None:
    for name in "abc":
        nodes.say(name, 200, 200)
    assert [(await ask(nodes, wait=60)).node.name[0] for _ in range(6)] == [*"abcabc"]


async def test_those_that_are_left_share_the_work_of_one_that_is_lost(nodes: Played) -> None:
    nodes.say("a", 503)
    nodes.say("b", *[200] * 9)
    nodes.say("c", *[200] * 9)
    await ask(nodes, wait=60)
    nodes.asked.clear()
    for _ in range(6):
        await ask(nodes, wait=60)
    assert (nodes.asked.count("b"), nodes.asked.count("c")) == (3, 3)


@pytest.mark.parametrize("fault", [NoAnswer("refused"), 500, 502, 503])
async def test_the_next_one_is_asked_at_once_when_one_refuses_or_has_a_fault(
    nodes: Played, fault: int | NoAnswer
) -> None:
    nodes.say("a", fault)
    nodes.say("b", 200)
    assert (await ask(nodes, wait=10_000)).status == 200
    assert nodes.asked == ["a", "b"]


async def test_the_next_one_is_asked_after_a_short_silence_and_the_first_answer_is_taken(nodes: Played) -> None:
    nodes.say("b", 200)
    assert (await ask(nodes)).node.name == "b:1"
    assert nodes.asked == ["a", "b"]
    nodes.asked.clear()
    nodes.say("b", 200, 200, 200)
    nodes.say("c", 200, 200, 200)
    for _ in range(3):  # and the silent one is skipped
        await ask(nodes, wait=10_000)
    assert "a" not in nodes.asked


async def test_where_every_node_is_slow_none_is_left_alone(nodes: Played, clock: Clock) -> None:
    first = asyncio.create_task(ask(nodes))
    await until_asked(nodes, "a", "b")
    clock.now += 1.0
    nodes.node("a").heard = clock.now  # it answers others
    clock.now += 1.0
    nodes.say("b", 200)
    await first
    assert [node.pause for node in nodes.all] == [0, 0, 0]


async def test_a_node_that_others_outrun_by_far_is_left_alone_though_it_answers(nodes: Played, clock: Clock) -> None:
    first = asyncio.create_task(ask(nodes, wait=0.3))
    await until_asked(nodes, "a")
    clock.now += 0.3
    nodes.node("a").heard = clock.now
    nodes.say("b", 200)  # at once
    await first
    assert nodes.node("a").pause > 0


async def test_many_requests_that_fail_at_once_count_once(nodes: Played, clock: Clock) -> None:
    nodes.say("a", *[NoAnswer("gone")] * 8)
    nodes.say("c", *[200] * 8)
    asking = [asyncio.create_task(ask(nodes, wait=60, first=nodes.node("a"))) for _ in range(8)]
    await asyncio.gather(*asking)
    pause = nodes.node("a").pause
    clock.now += pause + 0.001
    nodes.say("a", NoAnswer("gone"))
    for name in "bc":
        nodes.say(name, *[200] * 3)
    for _ in range(3):
        await ask(nodes, wait=60)
    assert nodes.node("a").pause == 2 * pause


async def test_a_node_that_failed_is_tried_by_one_request_and_is_back_when_it_answers(
    nodes: Played, clock: Clock
) -> None:
    nodes.say("a", 503)
    nodes.say("b", 200)
    await ask(nodes, wait=60)
    clock.now += nodes.node("a").pause + 0.001
    nodes.asked.clear()
    picked = [nodes.next().name[0] for _ in range(3)]
    assert picked.count("a") == 1  # while one tries it, the others go elsewhere
    nodes.say("a", 200)
    assert (await ask(nodes, wait=60, first=nodes.node("a"))).node.name == "a:1"
    assert nodes.node("a").pause == 0


async def test_the_one_to_ask_first_is_asked_first_unless_it_has_failed_or_is_behind(nodes: Played) -> None:
    chosen = nodes.node("c")
    nodes.say("c", 200, 503)
    nodes.say("a", 200, 200, 200)
    nodes.say("b", 200, 200, 200)
    assert (await ask(nodes, wait=60, first=chosen)).node is chosen
    await ask(nodes, wait=60, first=chosen)  # answers 503
    assert (await ask(nodes, wait=60, first=chosen)).node is not chosen
    nodes.answered(chosen)
    nodes.behind(chosen)
    assert (await ask(nodes, wait=60, first=chosen)).node is not chosen


async def test_second_questions_are_a_small_part_of_all(nodes: Played, monkeypatch: pytest.MonkeyPatch) -> None:
    """An overloaded cluster must not be asked everything twice."""
    monkeypatch.setattr("quoth.index.qdrant_nodes._MOST_ALLOWED", 2.0)
    patience = nodes._patience
    nodes._usual = 10.0
    usual = patience()
    for _ in range(30):
        nodes.asked_another()
    assert patience() > usual
    for name in "abc":
        nodes.say(name, *[200] * 10)
    for _ in range(11):
        await ask(nodes, wait=None)
    nodes._usual = 10.0
    assert patience() == usual


async def test_a_node_that_says_nothing_until_the_end_is_left_alone(nodes: Played) -> None:
    with pytest.raises(NoAnswer, match=r"no answer within 0\.05 s"):
        await nodes.ask(QUESTION, limit=0.05, wait=60)
    assert [(node.name[0], node.fault) for node in nodes.all if node.fault] == [("a", "no answer within 0.05 s")]


async def test_one_session_serves_all_questions_and_is_closed() -> None:
    """Over a real connection, to a server that knows one path."""
    asked: list[tuple[str, str | None]] = []

    async def answer(request: web.Request) -> web.Response:
        asked.append((request.path, request.headers.get("api-key")))
        return web.Response(status=404 if request.path == "/nothing" else 200, body=b"found")

    application = web.Application()
    application.router.add_get("/{path}", answer)
    async with TestServer(application) as server:
        nodes = Nodes([str(server.make_url("/"))], "secret")
        replies = [await nodes.ask_one(nodes.all[0], Request("GET", path, None)) for path in ("/points", "/nothing")]
        session = nodes._session
        await nodes.close()
        await nodes.close()  # a second time does no harm
        with pytest.raises(NoAnswer, match="closed"):  # nobody would close another session
            await nodes.ask_one(nodes.all[0], Request("GET", "/points", None))
    assert [(reply.status, reply.body) for reply in replies] == [(200, b"found"), (404, b"found")]
    assert asked == [("/points", "secret"), ("/nothing", "secret")]
    assert session is not None
    assert session.closed
    assert nodes._session is None


async def test_a_health_check_that_fails_asks_nothing_more() -> None:
    """What it goes on asking may come after the index was closed."""
    asked, given_up = asyncio.Event(), asyncio.Event()

    class Unwell(Server):
        async def state(self, path: str) -> Any:
            if path != "/collections/quoth/cluster":
                await asked.wait()
                raise IndexUnavailable("No node answers.")
            try:
                asked.set()
                await asyncio.Event().wait()
            finally:
                given_up.set()

    with pytest.raises(IndexUnavailable):
        await cluster_fault(Unwell(QdrantOptions(urls=("http://a:1",))))
    assert given_up.is_set()


async def test_not_found_counts_when_a_second_node_says_so_too(nodes: Played) -> None:
    nodes.say("a", 404)
    nodes.say("b", 200)
    assert (await ask(nodes, wait=60)).status == 200
    nodes.asked.clear()
    nodes.say("b", 404)
    nodes.say("c", 404)
    assert (await ask(nodes, wait=60)).status == 404
    assert nodes.asked == ["b", "c"]
