"""The model's turn through the doors: what it is shown, what it may do, and what happens to what it says."""

from __future__ import annotations

import json
from collections.abc import AsyncGenerator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from doors import ASKED, PAGE, REFUSAL, SESSION, UNKNOWN, Doors, opened
from quoth.ask.reply import MODEL_FAILED, MODEL_STOPPED
from quoth.domain import Message, ModelEvent, ModelTurn, Tool, ToolCall
from quoth.errors import ModelUnavailable
from quoth.testing.model import Line, ScriptedModel

TRUE = "Transient local durability keeps the last message for late subscribers [1]."
FALSE = "It was invented in Atlantis in 1977 [1]."
DOWN = ModelUnavailable("it is down")
TOLD = {"content", "url", "page_title", "section", "breadcrumb", "score", "rank", "chunk_index"}


def search(**arguments: Any) -> ToolCall:
    return ToolCall("call_1", "search_book_content", json.dumps(arguments))


def deltas(events: list[tuple[str, dict[str, Any]]]) -> str:
    return "".join(data["delta"] for name, data in events if name == "delta")


class Asked:
    def __init__(self, doors: Doors, model: ScriptedModel) -> None:
        self.doors, self.model = doors, model

    def says(self, *calls: list[Line]) -> None:
        self.model.script = list(calls)


@pytest.fixture
async def asked(tmp_path: Path) -> Any:
    model = ScriptedModel([[TRUE]])
    async with opened(tmp_path, model=model) as doors:
        yield Asked(doors, model)


async def test_a_model_answers_with_checked_citations(asked: Asked) -> None:
    body = await asked.doors.ask()
    assert (body["answer"], body["metadata"]["mode"], body["model"], body["tokens_used"]) == (
        TRUE,
        "full",
        "scripted",
        7,
    )
    [source] = body["sources"]
    assert source["quote"] == "Transient local durability keeps the last message for late subscribers."
    assert PAGE[source["start"] : source["end"]] == source["quote"]
    assert (body["grounding"]["supported"], body["grounding"]["total"]) == (1, 1)


async def test_streamed_or_not_it_is_the_same_answer_and_the_same_stored_turn(asked: Asked) -> None:
    asked.says(
        ["Transient local", " durability keeps the last", " message for late subscribers [", "1].", "\n\nNothing more."]
    )
    events = await asked.doors.stream(session_id=SESSION)
    whole = await asked.doors.ask()
    done = dict(events)["done"]
    assert deltas(events) == done["answer"] == whole["answer"]
    assert done["grounding"] == whole["grounding"]
    turns, _ = await asked.doors.quoth.library.turns(SESSION)
    assert turns[0].response == whole["answer"]


async def test_the_model_is_shown_the_rules_the_passages_and_the_question_and_nothing_is_forced(asked: Asked) -> None:
    await asked.doors.ask()
    [messages] = asked.model.shown
    assert [message.role for message in messages] == ["system", "user"]
    assert REFUSAL in messages[0].content
    assert messages[1].content.endswith(f"\n\nQuestion: {ASKED}")
    assert asked.model.offered == [("search_book_content", "read_section")]


async def test_the_first_search_is_handed_over_as_a_result_of_the_tool(asked: Asked) -> None:
    await asked.doors.ask(top_k=2)
    [[_, given]] = asked.model.shown
    head, found, _ = given.content.split("\n\n")
    assert head == "Result of search_book_content:"
    told = json.loads(found)
    assert (told["total_results"], told["query"]) == (2, ASKED)
    assert [one["rank"] for one in told["results"]] == [1, 2]
    assert set(told["results"][0]) == TOLD
    first = told["results"][0]
    assert "Transient local durability keeps" in first["content"]
    assert (first["page_title"], first["section"], first["breadcrumb"], first["chunk_index"]) == (
        "Topics",
        "Durability",
        "Topics › Durability",
        1,
    )
    assert first["url"] == "https://book.example.com/topics#durability"
    assert 0 < first["score"] <= 1


async def test_the_last_five_exchanges_are_shown_without_their_markers(asked: Asked) -> None:
    for _ in range(7):
        await asked.doors.ask(session_id=SESSION)
    roles = [message.role for message in asked.model.shown[-1]]
    assert roles == ["system", *["user", "assistant"] * 5, "user"]
    assert "[1]" not in asked.model.shown[-1][2].content


async def test_a_sentence_that_no_passage_supports_is_marked(asked: Asked) -> None:
    asked.says([f"{TRUE} {FALSE}"])
    grounding = (await asked.doors.ask())["grounding"]
    assert [one["supported"] for one in grounding["sentences"]] == [True, False]


async def test_in_strict_mode_it_never_reaches_the_reader(tmp_path: Path) -> None:
    model = ScriptedModel([[TRUE, " ", FALSE]])
    async with opened(tmp_path, settings={"grounding": "strict"}, model=model) as doors:
        events = await doors.stream()
    assert "Atlantis" not in deltas(events)
    assert "Transient local" in deltas(events)
    assert dict(events)["done"]["answer"] == deltas(events)


async def test_markers_are_numbered_in_order_of_appearance(asked: Asked) -> None:
    asked.says(["The deadline policy names the longest time between two messages [2]. ", TRUE])
    body = await asked.doors.ask(query="Which durability and deadline policy is there for messages?")
    assert [source["index"] for source in body["sources"]] == list(range(1, len(body["sources"]) + 1))
    assert body["answer"].index("[1]") < body["answer"].index("[2]")


async def test_what_the_judge_refuses_is_never_shown_to_a_model(asked: Asked) -> None:
    body = await asked.doors.ask(UNKNOWN)
    assert (body["answer"], body["metadata"]["mode"], body["should_answer"]) == (REFUSAL, "no_results", False)
    assert asked.model.shown == []


async def test_a_model_that_finds_nothing_in_the_passages_refuses_in_the_same_words(asked: Asked) -> None:
    asked.says([f"{REFUSAL}."])
    body = await asked.doors.ask()
    assert (body["metadata"]["mode"], body["should_answer"], body["sources"]) == ("no_results", False, [])
    assert body["metadata"]["suggestions"]


@pytest.mark.parametrize(
    "said",
    [
        "I don’t have information about that in the book content.",
        "Sorry, the passages do not say this [1].",
        "The book doesn't cover the price. It covers durability [1].",
        "Das Buch enthält dazu keine Informationen [1].",
        "抱歉，书中没有提到价格 [1]。",
    ],
)
async def test_a_refusal_in_any_words_is_a_refusal_at_every_door(asked: Asked, said: str) -> None:
    asked.says([said[:9], said[9:]])
    body = await asked.doors.ask()
    asked.says([said[:9], said[9:]])
    events = await asked.doors.stream()
    for one in (body, dict(events)["done"]):
        assert (one["metadata"]["mode"], one["should_answer"], one["sources"]) == ("no_results", False, [])
        assert (one["confidence_level"], one["grounding"]["total"]) == ("insufficient", 0)
        assert one["metadata"]["suggestions"]
        assert "[1]" not in one["answer"]
    assert dict(events)["sources"]["sources"] == []
    assert deltas(events) == dict(events)["done"]["answer"]


async def test_a_refusal_of_a_part_is_told_with_the_part_that_is_answered(asked: Asked) -> None:
    asked.says([f"{TRUE} The passages do not say what it costs."])
    body = await asked.doors.ask()
    assert (body["should_answer"], body["metadata"]["partial"], len(body["sources"])) == (True, True, 1)
    assert body["confidence_level"] != "high"
    assert body["grounding"]["total"] == 1


async def test_an_answer_that_nothing_supports_is_never_high(asked: Asked) -> None:
    asked.says([f"{FALSE} It is painted green by seven sailors [1]."])
    body = await asked.doors.ask()
    assert (body["should_answer"], body["confidence_level"]) == (True, "low")


UNSURE = "What is durability for guests?"  # some of its words are in the book


async def test_what_the_evidence_leaves_open_is_left_to_the_model(asked: Asked) -> None:
    body = await asked.doors.ask(UNSURE)
    assert (body["should_answer"], body["confidence_level"], len(asked.model.shown)) == (True, "low", 1)


async def test_without_a_model_the_same_is_refused(tmp_path: Path) -> None:
    async with opened(tmp_path) as doors:
        body = await doors.ask(UNSURE)
    assert (body["should_answer"], body["answer"]) == (False, REFUSAL)


async def test_a_model_that_fails_leaves_the_passages(asked: Asked) -> None:
    asked.says([DOWN])
    body = await asked.doors.ask()
    assert (body["metadata"]["mode"], body["answer"], body["fallback_message"]) == (
        "retrieval_only",
        None,
        MODEL_FAILED,
    )
    assert body["sources"]
    assert REFUSAL not in json.dumps(body)


async def test_what_a_model_wrote_before_it_broke_off_is_kept_streamed_or_not(
    asked: Asked, caplog: pytest.LogCaptureFixture
) -> None:
    asked.says(["Transient local durability keeps the last message ", DOWN])
    events = await asked.doors.stream()
    done = dict(events)["done"]
    assert deltas(events) == done["answer"] == "Transient local durability keeps the last message "
    whole = await asked.doors.ask()
    for body in (done, whole):
        assert (body["answer"], body["fallback_message"]) == (done["answer"], MODEL_STOPPED)
        assert (body["metadata"]["mode"], body["metadata"]["interrupted"]) == ("full", True)
        assert body["sources"]
    assert caplog.text.count("an answer is kept although it is incomplete: it is down") == 2


async def test_what_a_model_spent_before_it_failed_is_counted(asked: Asked) -> None:
    asked.says([search(query="deadline policy")], [DOWN])
    body = await asked.doors.ask(top_k=1)
    assert (body["metadata"]["mode"], body["model"], body["tokens_used"]) == ("retrieval_only", None, 7)


class CutShort(ScriptedModel):
    """A limit of words or time cuts it off."""

    async def reply(self, messages: Sequence[Message], tools: Sequence[Tool] = ()) -> AsyncGenerator[ModelEvent]:
        async for event in super().reply(messages, tools):
            yield replace(event, truncated=True) if isinstance(event, ModelTurn) else event


async def test_an_answer_that_a_limit_cuts_off_is_kept_and_marked_streamed_or_not(tmp_path: Path) -> None:
    async with opened(tmp_path, model=CutShort([[TRUE]])) as doors:
        done = dict(await doors.stream())["done"]
        whole = await doors.ask()
    for body in (done, whole):
        assert (body["answer"], body["fallback_message"]) == (TRUE, MODEL_STOPPED)
        assert body["metadata"]["interrupted"]
        assert (body["metadata"]["mode"], body["tokens_used"]) == ("full", 7)


@pytest.mark.parametrize("words", [[], [""], [REFUSAL[:12]]])
async def test_a_model_that_is_cut_off_before_it_says_anything_leaves_the_passages(
    tmp_path: Path, words: list[Line]
) -> None:
    async with opened(tmp_path, model=CutShort([words])) as doors:
        for body in (dict(await doors.stream())["done"], await doors.ask()):
            assert (body["answer"], body["fallback_message"]) == (None, MODEL_FAILED)
            assert body["sources"]


# --- tools -----------------------------------------------------------------------------------------------------------


async def test_the_model_may_search_again_and_cite_what_it_finds(asked: Asked) -> None:
    asked.says(
        [search(query="deadline policy")], ["The deadline policy names the longest time between two messages [3]."]
    )
    body = await asked.doors.ask(top_k=1)
    tool = asked.model.shown[1][-1]
    assert (tool.role, tool.tool_call_id) == ("tool", "call_1")
    told = json.loads(tool.content)
    new = [one["rank"] for one in told["results"] if not one["content"].startswith("(You have read it")]
    assert new == list(range(2, 2 + len(new)))
    assert told["total_results"] == len(told["results"])
    assert body["tokens_used"] == 14
    assert body["metadata"]["retrieval_count"] == 1 + len(new) > 1


@pytest.mark.parametrize("name", ["search_book_content", "retrieve_documentation", "search_textbook", "search_book"])
async def test_the_search_answers_to_each_of_its_names(asked: Asked, name: str) -> None:
    call = ToolCall("c", name, json.dumps({"query": "deadline policy", "top_k": 20, "similarity_threshold": 0}))
    asked.says([call], [TRUE])
    await asked.doors.ask(top_k=1)
    assert "longest time" in asked.model.shown[1][-1].content


async def test_the_model_can_raise_the_threshold_and_not_lower_it(asked: Asked) -> None:
    asked.says([search(query="deadline policy", similarity_threshold=1)], [TRUE])
    await asked.doors.ask(top_k=1)
    assert json.loads(asked.model.shown[1][-1].content)["results"] == []
    asked.says([search(query="deadline policy", similarity_threshold=0)], [TRUE])
    await asked.doors.ask(top_k=1, similarity_threshold=0.7)
    scores = [one["score"] for one in json.loads(asked.model.shown[3][-1].content)["results"]]
    assert all(score >= 0.7 for score in scores)


async def test_a_turn_keeps_its_searches_with_the_calls_that_made_them(asked: Asked) -> None:
    asked.says([search(query="deadline policy", top_k=2), ToolCall("c", "rm_rf", "{}")], [TRUE])
    await asked.doors.ask(session_id=SESSION, top_k=1)
    turns, _ = await asked.doors.quoth.library.turns(SESSION)
    first, second, wrong = turns[0].searches
    assert (first.query, first.results) == (ASKED, 1)
    assert (second.call.id, second.query, second.results) == ("call_1", "deadline policy", 2)
    assert 0 < second.average <= 1
    assert "There is no tool" in wrong.error
    assert (wrong.query, wrong.results, wrong.average) == ("", 0, 0.0)
    assert first.timestamp <= turns[0].timestamp


async def test_after_three_rounds_it_has_to_answer(asked: Asked) -> None:
    asked.says([search(query="more")])
    await asked.doors.ask()
    assert [bool(offered) for offered in asked.model.offered] == [True, True, True, False]


@pytest.mark.parametrize(
    ("call", "said"),
    [
        (ToolCall("c", "rm_rf", "{}"), "There is no tool 'rm_rf'"),
        (ToolCall("c", "search_book_content", "{oops"), "not JSON"),
        (ToolCall("c", "search_book_content", "[]"), "must be an object"),
        (ToolCall("c", "search_book_content", '{"query": ""}'), "is empty"),
        (ToolCall("c", "search_book_content", '{"query": "x", "book_id": "other"}'), "book_id"),
        (ToolCall("c", "search_book_content", '{"query": "x", "filters": {"tenant": 1}}'), "tenant"),
        (ToolCall("c", "read_section", '{"chunk_id": "77"}'), "1 to"),
    ],
)
async def test_wrong_calls_come_back_as_a_message(asked: Asked, call: ToolCall, said: str) -> None:
    asked.says([call], [TRUE])
    body = await asked.doors.ask()
    told = json.loads(asked.model.shown[1][-1].content)
    assert set(told) == {"error", "query"}
    assert said in told["error"]
    assert body["answer"] == TRUE


async def test_the_model_cannot_leave_the_readers_filters(asked: Asked) -> None:
    asked.says([search(query="deadline policy messages", filters={"section": "Timing"})], [TRUE])
    await asked.doors.ask(filters={"section": "Durability"})
    assert "longest time" not in asked.model.shown[1][-1].content


async def test_it_can_read_around_a_passage_but_not_out_of_the_filters(asked: Asked) -> None:
    read = ToolCall("c", "read_section", '{"chunk_id": "1"}')
    asked.says([read], [TRUE])
    await asked.doors.ask(filters={"section": "Durability"})
    assert "longest time" not in asked.model.shown[1][-1].content


# --- a selection -----------------------------------------------------------------------------------------------------


async def test_beside_a_selection_the_model_sees_only_the_selection(asked: Asked) -> None:
    await asked.doors.ask(session_id=SESSION)
    selected = "The red cable carries 48 volts and must not be cut."
    asked.says(["The red cable carries 48 volts [1]."])
    body = await asked.doors.ask("How many volts does the red cable carry?", selected_text=selected, session_id=SESSION)
    [*_, messages] = asked.model.shown
    assert [message.role for message in messages] == ["system", "user"]
    assert "durability" not in json.dumps([message.content for message in messages]).lower()
    assert asked.model.offered[-1] == ()
    assert body["metadata"]["mode"] == "selected_text"


async def test_a_turn_to_something_unknown_is_left_to_a_model(asked: Asked) -> None:
    await asked.doors.ask(session_id=SESSION)
    before = len(asked.model.shown)
    await asked.doors.ask("And in Airflow?", session_id=SESSION)
    assert len(asked.model.shown) == before + 1


async def test_without_a_model_a_turn_to_something_unknown_is_refused(tmp_path: Path) -> None:
    async with opened(tmp_path) as doors:
        await doors.ask(session_id=SESSION)
        body = await doors.ask("And in Airflow?", session_id=SESSION)
    assert not body["should_answer"]
    assert body["metadata"]["missing_terms"] == ["Airflow"]
