"""Only the selection grounds an answer about it: the index is not asked, and nothing from the book gets out."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from pathlib import Path
from typing import Any

import httpx2
import pytest

from doors import PAGE, REFUSAL, SESSION, Doors, frames, opened
from quoth.ask.reply import NOT_IN_SELECTION
from quoth.bootstrap import fingerprint_of
from quoth.errors import IndexUnavailable
from quoth.testing.embedder import FakeEmbedder
from quoth.testing.index import MemoryIndex
from quoth.testing.model import ScriptedModel

CANARY = "zanzibar-heliotrope"
BOOK = f"{PAGE}\n## Gripper\n\nThe gripper of the {CANARY} closes in 90 milliseconds and opens in 70.\n"
SELECTION = "The gripper closes in 40 milliseconds. Its jaws are made of rubber."
IN_THE_BOOK = f"In how many milliseconds does the gripper of the {CANARY} close and open?"
FAST = "How fast does the gripper close?"
DOORS = ["/chat", "/chat/stream"]

# The selection lacks these, although the book has them: none of it may be said or guessed.
TOO_LITTLE = [
    ("How fast does the gripper open?", "rubber"),
    ("How fast does the gripper close?", "The"),
    ("How fast does the gripper close?", "…"),
    ("How fast does the gripper close?", "40"),
    ("How fast does the gripper close?", "# \n\n- \n"),
    ("How fast does the gripper close?", "Bananas are yellow, and so are some lemons."),
    ("Which durability keeps the last message for late subscribers?", SELECTION),
    (f"What does {CANARY} do?", SELECTION),
]


class Silent(FakeEmbedder):
    """Once the book is in, nothing more may be embedded: a question about a selection is not searched."""

    closed = False

    async def embed_query(self, text: str) -> Any:
        assert not self.closed, "a question about a selection was embedded"
        return await super().embed_query(text)


Asked = Callable[..., AbstractAsyncContextManager[tuple[Doors, list[str]]]]


@pytest.fixture
def asked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Asked:
    """The book with its canary is in, and from then on every call to the index fails and is noted."""
    monkeypatch.setattr("doors.PAGE", BOOK)

    @asynccontextmanager
    async def doors(model: ScriptedModel | None = None) -> AsyncIterator[tuple[Doors, list[str]]]:
        embedder = Silent()
        index = MemoryIndex(fingerprint_of(embedder))
        async with opened(tmp_path, embedder=embedder, index=index, model=model) as joined:
            embedder.closed = True
            calls: list[str] = []

            def fails(name: str) -> Callable[..., Any]:
                def call(*given: object, **named: object) -> None:
                    calls.append(name)
                    raise IndexUnavailable(f"{name} was called")

                return call

            for name in ("view", "scan", "points", "status"):
                monkeypatch.setattr(index, name, fails(name))
            yield joined, calls

    return doors


async def whole(doors: Doors, door: str, query: str, selection: str) -> tuple[dict[str, Any], httpx2.Response]:
    fields = {"query": query, "selected_text": selection, "session_id": SESSION}
    response = await doors.client.post(door, json=fields)
    assert response.status_code == 200, response.text
    return (response.json() if door == "/chat" else dict(frames(response.text))["done"]), response


async def nothing_leaked(doors: Doors, response: httpx2.Response, model: ScriptedModel | None) -> None:
    [turn], _ = await doors.quoth.library.turns(SESSION)
    written = [
        response.text,
        repr(turn),
        *(message.content for call in (model.shown if model else []) for message in call),
    ]
    for text in written:
        for word in ("heliotrope.", "90 milliseconds", "opens in 70", "Transient local"):
            assert word not in text


async def test_the_canary_is_really_in_the_book(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("doors.PAGE", BOOK)
    async with opened(tmp_path) as doors:
        assert CANARY in (await doors.ask(IN_THE_BOOK))["answer"]


@pytest.mark.parametrize("door", DOORS)
async def test_without_a_model_the_selection_answers_in_its_own_words(asked: Asked, door: str) -> None:
    async with asked() as (doors, calls):
        body, response = await whole(doors, door, FAST, SELECTION)
        await nothing_leaked(doors, response, None)
    assert calls == []
    assert "The gripper closes in 40 milliseconds." in body["answer"]
    assert {source["source_type"] for source in body["sources"]} == {"selected_text"}
    assert (body["metadata"]["mode"], body["metadata"]["retrieval_count"]) == ("selected_text", 0)
    assert (body["metadata"]["suggestions"], body["metadata"]["missing_terms"]) == ([], [])


@pytest.mark.parametrize("door", DOORS)
async def test_a_model_sees_only_the_selection_and_has_no_tools(asked: Asked, door: str) -> None:
    model = ScriptedModel([["The gripper closes in 40 milliseconds. [1]"]])
    async with asked(model) as (doors, calls):
        body, response = await whole(doors, door, FAST, SELECTION)
        await nothing_leaked(doors, response, model)
    assert calls == []
    assert model.offered == [()]
    assert any(SELECTION in message.content for message in model.shown[0])
    assert body["answer"] == "The gripper closes in 40 milliseconds. [1]"
    assert body["metadata"]["mode"] == "selected_text"


@pytest.mark.parametrize("door", DOORS)
@pytest.mark.parametrize(("query", "selection"), TOO_LITTLE)
async def test_too_little_in_the_selection_is_said_and_nothing_guessed(
    asked: Asked, door: str, query: str, selection: str
) -> None:
    async with asked(None) as (doors, calls):
        body, response = await whole(doors, door, query, selection)
        await nothing_leaked(doors, response, None)
    assert calls == []
    assert (body["answer"], body["should_answer"], body["sources"]) == (NOT_IN_SELECTION, False, [])
    assert body["metadata"]["mode"] == "selected_text"
    assert body["confidence_level"] == "insufficient"
    assert (body["metadata"]["suggestions"], body["metadata"]["missing_terms"]) == ([], [])
    assert REFUSAL not in response.text


@pytest.mark.parametrize("door", DOORS)
@pytest.mark.parametrize(("query", "selection"), TOO_LITTLE)
async def test_a_model_is_asked_whatever_is_selected_and_its_guess_is_marked(
    asked: Asked, door: str, query: str, selection: str
) -> None:
    model = ScriptedModel([["It was welded in Atlantis in 1977. [1]"]])
    async with asked(model) as (doors, calls):
        body, response = await whole(doors, door, query, selection)
        await nothing_leaked(doors, response, model)
    has_words = any(char.isalnum() for char in selection)
    assert (calls, len(model.shown)) == ([], int(has_words))
    assert body["confidence_level"] == ("low" if has_words else "insufficient")
    assert body["grounding"]["supported"] == 0


@pytest.mark.parametrize(
    "request_",
    [
        "Explain this in simple words",
        "Translate this to Urdu",
        "What is the main idea?",
        "Summarise this",
        "Quiz me on this",
        "Give me an example",
        "Make it shorter",
        "What does this mean?",
        "Who wrote this?",
    ],
)
async def test_every_request_on_a_selection_reaches_the_model(asked: Asked, request_: str) -> None:
    model = ScriptedModel([["The gripper closes in 40 milliseconds. [1]"]])
    async with asked(model) as (doors, _):
        body, _ = await whole(doors, "/chat", request_, SELECTION)
    assert len(model.shown) == 1
    assert (body["should_answer"], body["answer"]) == (True, "The gripper closes in 40 milliseconds. [1]")


@pytest.mark.parametrize("door", DOORS)
async def test_a_model_that_does_not_find_it_in_the_selection_says_so_and_cites_nothing(
    asked: Asked, door: str
) -> None:
    model = ScriptedModel([[NOT_IN_SELECTION]])
    async with asked(model) as (doors, _):
        body, response = await whole(doors, door, FAST, SELECTION)
        await nothing_leaked(doors, response, model)
    assert (body["answer"], body["should_answer"], body["sources"]) == (NOT_IN_SELECTION, False, [])


async def test_what_was_said_before_about_the_book_does_not_reach_a_model_beside_a_selection(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("doors.PAGE", BOOK)
    model = ScriptedModel([[f"The gripper of the {CANARY} closes in 90 milliseconds. [1]"], ["It closes. [1]"]])
    async with opened(tmp_path, model=model) as doors:
        before = await doors.ask(IN_THE_BOOK, session_id=SESSION)
        await doors.ask(FAST, session_id=SESSION, selected_text=SELECTION)
    assert CANARY in before["answer"]
    assert all(CANARY not in message.content for message in model.shown[1])
