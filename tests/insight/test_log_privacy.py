"""No word of a reader's question, selection or answer is in any log line, whatever is logged and whatever fails."""

from __future__ import annotations

import io
import json
import logging
from collections.abc import Iterator
from pathlib import Path
from typing import Literal

import pytest

from contracts.library_contract import a_turn
from doors import ASKED, PAGE, Doors, opened
from quoth.bootstrap import fingerprint_of
from quoth.domain import Turn
from quoth.errors import InternalError, LibraryUnavailable
from quoth.logs import set_up_logging
from quoth.models.openai import ModelOptions, OpenAIChat
from quoth.store.library import open_library
from quoth.testing.embedder import FakeEmbedder
from quoth.testing.index import MemoryIndex
from quoth.testing.library import MemoryLibrary
from quoth.testing.model_server import ModelServer, Reply, chunk, data, fails, says

CANARY = "canary-7f3a-of-the-reader"
QUESTION = f"{ASKED} {CANARY}"
SAID = f"Transient local durability keeps the last message for late subscribers, {CANARY}. [1]"


@pytest.fixture
def log() -> Iterator[io.StringIO]:
    root, ours = logging.getLogger(), logging.getLogger("quoth")
    before = root.handlers[:], root.level, ours.level
    stream = io.StringIO()
    set_up_logging("debug", format="json", stream=stream)
    yield stream
    root.handlers[:], root.level, ours.level = before[0], before[1], before[2]


async def use_every_door(doors: Doors) -> None:
    body = {"query": QUESTION}
    session = (await doors.client.post("/chat", json=body)).json().get("session_id")
    await doors.client.post("/chat", json={**body, "session_id": session})
    await doors.client.post("/chat", json={"query": "tell me more", "session_id": session})
    await doors.client.post("/chat/stream", json=body)
    await doors.client.post("/chat", json={**body, "selected_text": f"{PAGE} {CANARY}"})
    await doors.client.post("/search", json={"text": QUESTION})
    await doors.client.post("/chat", json={**body, CANARY: 1})
    await doors.client.post("/chat", json={**body, "top_k": CANARY})
    await doors.client.post("/chat", json={"query": CANARY * 2_000})
    await doors.client.post(
        "/chat", content=f'{{"query": "{CANARY}'.encode(), headers={"content-type": "application/json"}
    )
    await doors.client.get(f"/history/{session}")


def model_at(server: ModelServer) -> OpenAIChat:
    async def at_once(seconds: float) -> None:
        return

    return OpenAIChat(ModelOptions(server.url, "scripted"), sleep=at_once)


ECHO = f"Invalid content in messages: Question: {QUESTION}"
MODELS: dict[str, Reply] = {
    "answers": says(*SAID.split(" ")),
    "refuses with an echo": fails(400, ECHO),
    "fails with an echo": fails(500, ECHO),
    "reports an echo in its stream": Reply((data({"error": {"message": ECHO}}),)),
    "breaks off": Reply((chunk({"content": SAID}),), cut=True),
    "sends half a frame": Reply(
        (chunk({"content": "The"}), b'data: {"choices": [{"delta": {"content": "' + b"canary-of-the-answer" + b"\n\n")
    ),
}


@pytest.mark.parametrize("model", MODELS)
async def test_a_model_that_answers_or_fails_leaves_no_word_in_the_log(
    tmp_path: Path, log: io.StringIO, model: str
) -> None:
    async with ModelServer(MODELS[model]) as server, opened(tmp_path, model=model_at(server)) as doors:
        await use_every_door(doors)
    written = log.getvalue()
    assert written.count('"message": "answer"') >= 4  # it was listening
    assert "canary-" not in written


class DeafIndex(MemoryIndex):
    deaf = False

    async def asked(self, call: str, book_id: str) -> None:
        if self.deaf and call == "search":
            raise InternalError("The index was asked something impossible.")
        await super().asked(call, book_id)


class LostLibrary(MemoryLibrary):
    async def add_turn(self, turn: Turn) -> Turn:
        raise LibraryUnavailable("The database does not answer.")


@pytest.mark.parametrize("part", ["index", "library"])
async def test_a_part_that_fails_leaves_no_word_in_the_log(
    tmp_path: Path, log: io.StringIO, part: Literal["index", "library"]
) -> None:
    index = DeafIndex(fingerprint_of(FakeEmbedder()))
    library = LostLibrary() if part == "library" else MemoryLibrary()
    async with opened(tmp_path, index=index, library=library) as doors:
        index.deaf = part == "index"
        await use_every_door(doors)
    assert "quoth.serve.problems" in log.getvalue()
    assert CANARY not in log.getvalue()


async def test_the_database_s_own_errors_do_not_repeat_what_was_asked(tmp_path: Path, log: io.StringIO) -> None:
    library = await open_library(f"sqlite:///{tmp_path / 'quoth.db'}")
    with pytest.raises(InternalError) as caught:
        await library.add_turn(a_turn(query=QUESTION, model=object()))
    logging.getLogger("quoth.serve").error("failed", exc_info=caught.value)
    await library.close()
    assert "Traceback" in log.getvalue()
    assert CANARY not in log.getvalue()


async def test_an_operator_who_allows_it_sees_the_question_and_only_there(tmp_path: Path, log: io.StringIO) -> None:
    set_up_logging("debug", format="json", log_questions=True, stream=log)
    async with opened(tmp_path) as doors:
        await doors.ask(QUESTION)
    telling = [json.loads(line) for line in log.getvalue().splitlines() if CANARY in line]
    assert [line["question"] for line in telling] == [QUESTION]
