"""A sentence that its sources do not support is never shown as if they did, at no door and not in the terminal."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from doors import ASKED, SESSION, Doors, invents, opened
from quoth.ask import extract
from quoth.cli.output import marked
from quoth.domain import CheckedSentence, Grounding

TRUE = "Transient local durability keeps the last message for late subscribers. [1]"


@pytest.fixture
async def doors(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Doors]:
    monkeypatch.setattr(extract, "draft", invents)
    async with opened(tmp_path) as joined:
        yield joined


@pytest.fixture
async def strict_doors(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Doors]:
    monkeypatch.setattr(extract, "draft", invents)
    async with opened(tmp_path, settings={"grounding": "strict"}) as joined:
        yield joined


async def test_the_stream_names_what_is_not_supported_and_why(doors: Doors) -> None:
    events = dict(await doors.stream())
    report = events["grounding"]
    assert (report["supported"], report["total"], report["removed"]) == (1, 5, 0)
    assert [sentence["reason"] for sentence in report["sentences"]][:3] == [
        None,
        "Atlantis is not in the source",
        "this code is not in the source",
    ]
    assert report == events["done"]["grounding"]


async def test_a_turn_that_is_read_again_still_tells_what_was_not_supported(doors: Doors) -> None:
    await doors.ask(session_id=SESSION)
    history = (await doors.client.get(f"/history/{SESSION}")).json()
    assert history["entries"][0]["unsupported"][0] == {
        "text": "It was invented in Atlantis. [1]",
        "reason": "Atlantis is not in the source",
    }


async def test_strict_removes_it_before_it_is_streamed_or_stored(strict_doors: Doors) -> None:
    events = await strict_doors.stream(session_id=SESSION)
    done = events[-1][1]
    assert done["answer"].strip() == TRUE
    assert "".join(data["delta"] for name, data in events if name == "delta") == done["answer"]
    assert (done["grounding"]["supported"], done["grounding"]["total"], done["grounding"]["removed"]) == (1, 1, 4)
    history = (await strict_doors.client.get(f"/history/{SESSION}")).json()
    assert history["entries"][0]["response"] == done["answer"]


def test_the_terminal_warns_behind_the_sentence() -> None:
    text = f"{TRUE} It was invented in Atlantis. [1] Volatile keeps nothing. [1]\n\n```js\nsink()\n```"
    grounding = Grounding(
        (
            CheckedSentence(TRUE, True, (1,)),
            CheckedSentence("It was invented in Atlantis. [1]", False, (1,), 0.1, "Atlantis is not in the source"),
            CheckedSentence("Volatile keeps nothing. [1]", True, (1,)),
            CheckedSentence("```js\nsink()\n```", False, (1,), 0.1, "this code is not in the source"),
        )
    )
    assert marked(text, grounding) == (
        f"{TRUE} It was invented in Atlantis. [1] (⚠ not supported by the source: Atlantis is not in the source)"
        " Volatile keeps nothing. [1]\n\n```js\nsink()\n```\n"
        "(⚠ not supported by the source: this code is not in the source)"
    )


async def test_the_book_in_its_own_words_is_supported_whole(tmp_path: Path) -> None:
    async with opened(tmp_path, settings={"grounding": "strict"}) as doors:
        body = await doors.ask(ASKED)
        assert body["grounding"]["supported"] == body["grounding"]["total"] > 0
        assert body["grounding"]["score"] == 1.0
