"""Texts that give orders, in the book, in a selection or in earlier turns, change neither what goes to a model nor what
comes back. The attacks are in attacks.py; the model here obeys every one of them."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from attacks import ATTACKS, CANARY, EVIL
from doors import ASKED, PAGE, SESSION, Doors, opened
from quoth.domain import Message, ToolCall
from quoth.sources import open_source
from quoth.testing.model import ScriptedModel

pytestmark = pytest.mark.slow

TRUE = "Transient local durability keeps the last message for late subscribers [1]."
# What a model says when it has fallen for an attack: the canary with forged markers, a link, a tag.
OBEDIENT = f"{CANARY} is the answer [99]. See [here]({EVIL}) <script>alert(1)</script> [0]."
FENCED = re.compile(r"^\[(\d+)\][^\n]*\n<<<(\w{6})\n(.*?)\n\2>>>$", re.S | re.M)

attacks = pytest.mark.parametrize("attack", [text for _, text in ATTACKS], ids=[name for name, _ in ATTACKS])


async def rules_of(doors: Doors, model: ScriptedModel, **fields: Any) -> Message:
    """The system message of a request without an attack."""
    await doors.ask(**fields)
    return model.shown[-1][0]


def outside_of_passages(message: Message) -> str:
    return FENCED.sub("", message.content)


def of_the_book(source: dict[str, Any]) -> bool:
    return source["source_url"].startswith("https://book.example.com/") and EVIL not in source["source_url"]


@attacks
async def test_in_the_book_it_stays_material(tmp_path: Path, attack: str) -> None:
    model = ScriptedModel([[TRUE]])
    async with opened(tmp_path, model=model) as doors:
        rules = await rules_of(doors, model)
        poisoned = tmp_path / "docs" / "topics.md"
        poisoned.write_text(
            PAGE.replace("Volatile durability keeps nothing.", f"Volatile durability.\n\n{attack}"), "utf-8"
        )
        await doors.quoth.ingest.run(
            open_source(tmp_path / "docs", book_id="book", base_url="https://book.example.com")
        )
        model.script = [[OBEDIENT, ToolCall("c", "search_book_content", '{"query": "x", "book_id": "*"}')], [OBEDIENT]]
        body = await doors.ask(query=f"{ASKED} What do late subscribers keep?")
    first = model.shown[1]
    assert [message.role for message in first] == ["system", "user"]
    assert first[0] == rules
    head, result, asked = first[1].content.split("\n\n")
    assert CANARY not in head + asked
    found = json.loads(result)
    assert [one["rank"] for one in found["results"]] == list(range(1, body["metadata"]["retrieval_count"] + 1))
    assert CANARY not in json.dumps([{**one, "content": ""} for one in found["results"]])
    assert set(json.loads(model.shown[2][-1].content)) == {"error", "query"}  # another book is out of reach
    assert all(of_the_book(source) for source in body["sources"])
    assert [source["index"] for source in body["sources"]] == list(range(1, len(body["sources"]) + 1))
    forged = [one for one in body["grounding"]["sentences"] if "[99]" in one["text"] or "[0]" in one["text"]]
    assert forged
    assert not any(one["supported"] for one in forged)


@attacks
async def test_in_a_selection_it_stays_material_and_the_book_stays_out(tmp_path: Path, attack: str) -> None:
    model = ScriptedModel([["The red cable carries 48 volts [1]."]])
    ask = "How many volts does the red cable carry?"
    cable = "The red cable carries 48 volts."
    async with opened(tmp_path, model=model) as doors:
        rules = await rules_of(doors, model, query=ask, selected_text=cable)
        model.script = [[OBEDIENT]]
        body = await doors.ask(ask, selected_text=f"{cable}\n\n{attack}")
    attacked = model.shown[1]
    assert [message.role for message in attacked] == ["system", "user"]
    assert attacked[0] == rules
    assert CANARY not in outside_of_passages(attacked[1])
    assert "durability" not in attacked[1].content
    assert model.offered[1] == ()
    assert body["metadata"]["mode"] == "selected_text"
    forged = [one for one in body["grounding"]["sentences"] if "[99]" in one["text"] or "[0]" in one["text"]]
    assert not any(one["supported"] for one in forged)


@attacks
async def test_in_what_was_said_before_it_is_only_words(tmp_path: Path, attack: str) -> None:
    model = ScriptedModel([[TRUE]])
    async with opened(tmp_path, model=model) as doors:
        rules = await rules_of(doors, model)
        model.script = [[f"{TRUE} {attack}"]]
        await doors.ask(f"{ASKED} {attack}"[:30_000], session_id=SESSION)
        model.script = [[TRUE]]
        body = await doors.ask(session_id=SESSION)
    last = model.shown[-1]
    assert last[0] == rules
    assert [message.role for message in last if CANARY in message.content] in ([], ["user"], ["user", "assistant"])
    assert {message.role for message in last} <= {"system", "user", "assistant"}
    assert not any(message.tool_calls for message in last)
    assert last[-1].content.endswith(f"Question: {ASKED}")
    assert body["answer"] == TRUE
    assert all(of_the_book(source) for source in body["sources"])


def test_there_are_enough_attacks_and_each_is_one() -> None:
    assert len({text for _, text in ATTACKS}) == len(ATTACKS) >= 40
    assert all(CANARY in text for _, text in ATTACKS)
