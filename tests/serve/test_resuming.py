"""A broken stream resumes where it broke, without asking again."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Sequence
from pathlib import Path
from typing import Any

import httpx2
import pytest

from doors import ASKED, SESSION, UNKNOWN, Doors, a_key, closed, frames, opened, served
from quoth.domain import Message, ModelEvent, ModelText, ModelTurn, Tool
from quoth.testing.model import ScriptedModel

WORDS = ["Transient local durability ", "keeps the last message ", "for late subscribers [1]."]


@pytest.fixture
async def doors(tmp_path: Path) -> AsyncIterator[Doors]:
    async with opened(tmp_path, model=ScriptedModel([[*WORDS]])) as joined:
        yield joined


async def ask(doors: Doors, last: str = "", path: str = "/chat/stream", **fields: Any) -> httpx2.Response:
    headers = {"last-event-id": last} if last else {}
    return await doors.client.post(path, json={"query": ASKED, **fields}, headers=headers)


def ids(text: str) -> list[str]:
    return [line.removeprefix("id: ") for line in text.split("\n") if line.startswith("id: ")]


def asked(doors: Doors) -> int:
    model = doors.quoth.model
    assert isinstance(model, ScriptedModel)
    return len(model.shown)


def read(events: list[tuple[str, dict[str, Any]]]) -> str:
    return "".join(data["delta"] for name, data in events if name == "delta")


@pytest.mark.parametrize("fields", [{}, {"session_id": SESSION}])
@pytest.mark.parametrize(("path", "more"), [("/chat/stream", {}), ("/chat/run", {"stream": True})])
async def test_wherever_a_stream_broke_the_rest_is_what_was_missing(
    doors: Doors, path: str, more: dict[str, Any], fields: dict[str, Any]
) -> None:
    first = await ask(doors, path=path, **fields, **more)
    events, known = frames(first.text), ids(first.text)
    assert len(known) == len(events)
    done = dict(events)["done"]
    for at, last in enumerate(known[:-1]):
        rest = frames((await ask(doors, last, path=path, **fields, **more)).text)
        assert read(events[: at + 1]) + read(rest) == done["answer"]
        assert rest[-1][0] == "done"
        for name in ("answer", "sources", "session_id", "confidence", "tokens_used", "metadata"):
            assert rest[-1][1][name] == done[name], name
    assert asked(doors) == 1
    entries = (await doors.client.get(f"/history/{done['session_id']}")).json()["entries"]
    assert len(entries) == 1


async def test_a_reader_who_has_the_end_is_told_to_stop(doors: Doors) -> None:
    first = await ask(doors)
    again = await ask(doors, ids(first.text)[-1])
    assert (again.status_code, again.content) == (204, b"")
    assert asked(doors) == 1


async def test_the_rest_can_break_too(doors: Doors) -> None:
    known = ids((await ask(doors)).text)
    rest = await ask(doors, known[3])
    assert (await ask(doors, ids(rest.text)[-1])).status_code == 204
    assert read(frames((await ask(doors, ids(rest.text)[0])).text)) == ""


async def test_a_refusal_is_read_on_as_well(doors: Doors) -> None:
    first = await ask(doors, query=UNKNOWN)
    rest = frames((await ask(doors, ids(first.text)[0], query=UNKNOWN)).text)
    assert rest[-1][1]["should_answer"] is False
    assert rest[-1][1]["metadata"]["suggestions"] == dict(frames(first.text))["done"]["metadata"]["suggestions"]


async def test_what_is_not_an_id_of_ours_asks_anew_and_what_is_gone_is_not_found(doors: Doors) -> None:
    assert dict(frames((await ask(doors, "7")).text))["done"]["answer"]
    known = ids((await ask(doors, session_id=SESSION)).text)
    await doors.client.delete(f"/session/{SESSION}")
    gone = await ask(doors, known[0])
    assert (gone.status_code, gone.json()["error_code"]) == (404, "NOT_FOUND")
    assert asked(doors) == 2


async def test_nobody_reads_on_with_another_key(tmp_path: Path) -> None:
    async with closed(tmp_path) as doors:
        mine, theirs = await a_key(doors), await a_key(doors)
        body = {"query": ASKED}
        first = await doors.client.post("/chat/stream", json=body, headers=mine)
        last = {"last-event-id": ids(first.text)[0]}
        assert (await doors.client.post("/chat/stream", json=body, headers={**theirs, **last})).status_code == 404
        assert (await doors.client.post("/chat/stream", json=body, headers={**mine, **last})).status_code == 200


class Slow:
    """Says one word, and the rest when it is allowed to."""

    name = "slow"

    def __init__(self) -> None:
        self.calls = 0
        self.let = asyncio.Event()

    async def reply(self, messages: Sequence[Message], tools: Sequence[Tool] = ()) -> AsyncGenerator[ModelEvent]:
        self.calls += 1
        yield ModelText("Transient local durability ")
        await self.let.wait()
        yield ModelText("keeps the last message for late subscribers [1].")
        yield ModelTurn(tokens=7, model="slow")

    async def check(self, tools: Sequence[Tool] = ()) -> str:
        return "here"

    async def close(self) -> None:
        return


@pytest.mark.slow
async def test_a_reader_whose_connection_broke_gets_what_had_been_written(tmp_path: Path) -> None:
    model = Slow()
    async with (
        opened(tmp_path, model=model) as doors,
        served(doors.quoth) as address,
        httpx2.AsyncClient(base_url=address) as client,
    ):
        body = {"query": ASKED, "session_id": SESSION}
        async with client.stream("POST", "/chat/stream", json=body) as stream:
            got = ""
            async for piece in stream.aiter_text():
                got += piece
                if "event: delta" in got:
                    break
        last = ids(got)[-1]
        again = await client.post("/chat/stream", json=body, headers={"last-event-id": last})
    rest = frames(again.text)
    assert [name for name, _ in rest] == ["sources", "grounding", "done"]
    assert rest[-1][1]["answer"] == "Transient local durability "
    assert rest[-1][1]["metadata"]["interrupted"] is True
    assert model.calls == 1
