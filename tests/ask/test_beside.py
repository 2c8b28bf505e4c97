"""A list, a table or code that goes on in a chunk which the search did not find."""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from doors import Doors, opened
from quoth.ask import extract
from quoth.domain import Chunk, Draft, Evidence, Passage, QueryTerm
from quoth.text.terms import query_terms
from samples import chunk

ASKED = "What are the rules of the arena?"


def linked(*texts: str) -> list[Chunk]:
    names = [chr(ord("a") + at) for at in range(len(texts))]
    return [
        chunk(
            text,
            id=names[at],
            start=1000 * at,
            chunk_index=at,
            prev_chunk_id=names[at - 1] if at else None,
            next_chunk_id=names[at + 1] if at + 1 < len(texts) else None,
        )
        for at, text in enumerate(texts)
    ]


def evidence(found: Chunk, *beside: Chunk, query: str = ASKED) -> Evidence:
    terms = tuple(QueryTerm(term.text, term.id, 3.0, in_book=True) for term in query_terms(query))
    return Evidence(query, (Passage(found, 0.8, 0.8),), 1, terms, beside=beside)


def items(first: int, last: int, words: int = 3) -> str:
    return "\n".join(f"- Rule {n} {' '.join(['says'] * words)}." for n in range(first, last + 1))


def test_a_list_goes_on_where_the_search_did_not_look() -> None:
    one, two, three = linked(f"The rules of the arena are:\n\n{items(1, 3)}", items(4, 6), f"{items(7, 8)}\n\nBread.")
    made = extract.draft(ASKED, evidence(one, two, three))
    assert [citation.chunk.id for citation in made.citations] == ["a", "b", "c"]
    assert "Rule 8" in made.text
    assert "Bread" not in made.text


def test_a_list_brings_its_beginning_with_what_announces_it() -> None:
    one, two = linked(f"Bread. The rules of the arena are:\n\n{items(1, 3)}", f"{items(4, 5)}\n- Of the arena: rules.")
    made = extract.draft(ASKED, evidence(two, one))
    assert made.text.startswith("Bread. The rules of the arena are: [1]\n\n- Rule 1")
    assert "Of the arena" in made.text


def test_code_goes_on_where_the_search_did_not_look() -> None:
    text = "To enter the arena, write this:\n\n```python\nenter()\n"
    one, two = linked(text, "leave()\n```")
    two = replace(two, lead="```python")
    made = extract.draft("How do I enter the arena?", evidence(one, two, query="How do I enter the arena?"))
    assert made.text.endswith("```python\nenter()\nleave()\n```\n\n[1][2]")


def test_of_a_long_list_the_first_items_are_read() -> None:
    one, two = linked(f"The rules of the arena are:\n\n{items(1, 20, 7)}", items(21, 40, 7))
    text = extract.draft(ASKED, evidence(one, two)).text
    assert "Rule 27" in text
    assert "Rule 28" not in text


def test_a_list_that_is_not_asked_for_stays_as_short_as_its_passage_has_it() -> None:
    one, two = linked(f"The arena has rules:\n\n{items(1, 3)}\n- Rule 4 names the arena red.", items(5, 25))
    text = extract.draft("Who names the arena red?", evidence(one, two, query="Who names the arena red?")).text
    assert "red" in text
    assert "Rule 5" not in text


def test_nothing_is_chosen_in_a_neighbour() -> None:
    one, two = linked("The arena is round.\n\n- It has walls.", "The rules of the arena are strict and old.")
    assert "strict" not in extract.draft(ASKED, evidence(one, two)).text


def test_a_chunk_that_is_no_neighbour_is_not_used() -> None:
    one, two = linked(f"The rules of the arena are:\n\n{items(1, 3)}", items(4, 6))
    stranger = replace(two, id="z")
    assert "Rule 4" not in extract.draft(ASKED, evidence(replace(one, next_chunk_id="b"), stranger)).text


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("Plain words.\n\n- One.\n- Two.", ["c"]),
        ("- One.\n- Two.\n\nPlain words.", ["a"]),
        ("Plain words.", []),
        ("These are the rules:", ["c"]),
        ("## Heading\n\nPlain words.", []),
    ],
)
def test_only_what_may_go_on_is_fetched(text: str, wanted: list[str]) -> None:
    _, middle, _ = linked("Before.", text, "After.")
    assert extract.unfinished(evidence(middle)) == wanted


def test_a_neighbour_leads_on_only_if_it_is_inside_the_block_as_a_whole() -> None:
    one, two, _ = linked(f"The rules:\n\n{items(1, 3)}", items(4, 6), items(7, 9))
    assert extract.unfinished(evidence(one, two)) == ["c"]
    ended = replace(two, text=f"{items(4, 6)}\n\nBread.\n\n- Flour.")
    assert extract.unfinished(evidence(one, ended)) == []


# --- through the doors -----------------------------------------------------------------------------------------------

RULES = "\n".join(f"- Rule {n} of the game says what a player does in round {n}, and what not." for n in range(1, 40))
BOOK = (
    f"# Arena\n\nWalls are red.\n\n## Rules\n\nThe arena has these rules:\n\n{RULES}\n\n## Prizes\n\nA cup of gold.\n"
)


@pytest.fixture
async def doors(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Doors]:
    monkeypatch.setattr("doors.PAGE", BOOK)
    async with opened(tmp_path) as joined:
        yield joined


async def test_a_whole_answer_reads_on(doors: Doors) -> None:
    body = await doors.ask("What are the rules of the arena?", top_k=1)
    assert body["metadata"]["retrieval_count"] == 1
    [first, second, *_] = body["sources"]
    assert (first["chunk_id"] != second["chunk_id"], first["end"] <= second["start"]) == (True, True)
    for source in body["sources"]:
        assert BOOK[source["start"] : source["end"]] == source["quote"]


@pytest.mark.parametrize(("filters", "read"), [({}, True), ({"section": "Rules"}, False)])
async def test_filters_hold_for_what_is_read_on(
    doors: Doors, monkeypatch: pytest.MonkeyPatch, filters: dict[str, str], read: bool
) -> None:
    seen: list[Evidence] = []

    def watched(question: str, evidence: Evidence) -> Draft:
        seen.append(evidence)
        return Draft("", ())

    monkeypatch.setattr(extract, "draft", watched)
    fields: dict[str, Any] = {"filters": filters} if filters else {}
    await doors.ask("Which rule says what a player does in round 39 of the game?", top_k=1, **fields)
    [looked] = seen
    assert looked.beside
    assert any(chunk.section_title == "Prizes" for chunk in looked.beside) is read
