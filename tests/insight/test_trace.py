"""What a trace says about an answer, and how large it may become."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from doors import ASKED, PAGE, UNKNOWN
from quoth.ask.prompts import PROMPT_VERSION
from quoth.bootstrap import bootstrap, fingerprint_of
from quoth.domain import Question, ToolCall
from quoth.errors import ModelUnavailable
from quoth.insight.trace import HIDDEN, LARGEST_TRACE, shorten
from quoth.settings import load_settings
from quoth.sources import open_source
from quoth.testing.embedder import FakeEmbedder
from quoth.testing.index import MemoryIndex
from quoth.testing.library import MemoryLibrary
from quoth.testing.model import Line, ScriptedModel
from samples import TickingClock, question


async def traced(folder: Path, *asked: Question, script: list[list[Line]] | None = None) -> dict[str, Any]:
    """The stored record of the last of these questions to a tiny book."""
    (folder / "docs").mkdir()
    (folder / "docs" / "topics.md").write_text(PAGE, encoding="utf-8")
    embedder, library = FakeEmbedder(), MemoryLibrary()
    async with bootstrap(
        load_settings(data_dir=folder / "data"),
        clock=TickingClock(),
        embedder=embedder,
        index=MemoryIndex(fingerprint_of(embedder)),
        library=library,
        model=ScriptedModel(script) if script else None,
    ) as quoth:
        await quoth.ingest.run(open_source(folder / "docs", book_id="book"))
        for one in asked:
            await quoth.conversations.answer(one)
    trace = await library.trace(asked[-1].request_id)
    return json.loads(json.dumps(dict(trace.record)))  # type: ignore[no-any-return]


async def test_a_trace_tells_what_was_searched_found_and_fused(tmp_path: Path) -> None:
    record = await traced(tmp_path, question(ASKED))
    assert record["question"]["text"] == record["query"]["searched"] == ASKED
    assert (record["query"]["rules"], record["query"]["chunks"]) == ([], 3)
    assert {term["text"] for term in record["query"]["terms"]} >= {"durability", "late", "subscribers"}
    for side in ("dense", "sparse"):
        assert [row["rank"] for row in record[side]] == list(range(1, len(record[side]) + 1))
        scores = [row["score"] for row in record[side]]
        assert scores == sorted(scores, reverse=True)
        assert all(row["place"] for row in record[side])
    assert len(record["dense"]) == 3
    best = record["fused"][0]
    assert best["place"].endswith("Durability")
    assert best["cited_as"] == [1]
    assert best["chunk_id"] == record["dense"][best["dense_rank"] - 1]["chunk_id"]
    assert best["chunk_id"] == record["sparse"][best["sparse_rank"] - 1]["chunk_id"]


async def test_the_features_and_their_weights_add_up_to_the_confidence(tmp_path: Path) -> None:
    verdict = (await traced(tmp_path, question(ASKED)))["verdict"]
    logit = verdict["bias"] + sum(row["weight"] * row["value"] for row in verdict["features"])
    assert sum(row["adds"] for row in verdict["features"]) + verdict["bias"] == pytest.approx(logit, abs=0.01)
    assert 1 / (1 + 2.718281828**-logit) == pytest.approx(verdict["confidence"], abs=0.001)
    assert verdict["should_answer"] is (verdict["confidence"] >= verdict["threshold"])
    assert verdict["fitted"] is False


async def test_a_refusal_leaves_a_trace_too(tmp_path: Path) -> None:
    record = await traced(tmp_path, question(UNKNOWN))
    assert (record["answer"]["mode"], record["verdict"]["should_answer"]) == ("no_results", False)
    assert "football" in [term["text"] for term in record["query"]["terms"] if not term["in_book"]]


async def test_passages_below_the_reader_s_threshold_are_not_among_those_used(tmp_path: Path) -> None:
    record = await traced(tmp_path, question(ASKED, similarity_threshold=0.999))
    assert (record["fused"], record["verdict"]["should_answer"]) == ([], False)
    assert record["dense"]


async def test_a_follow_up_tells_its_rules_and_what_it_took_over(tmp_path: Path) -> None:
    first, then = question(ASKED), question("And what does the other one keep?", request_id="second")
    record = await traced(tmp_path, first, then)
    assert record["query"]["rules"]
    assert "durability" in [word.lower() for word in record["query"]["carried"]]
    assert record["query"]["searched"] != record["question"]["text"]


async def test_what_a_model_was_told_and_did_is_in_the_trace(tmp_path: Path) -> None:
    call = ToolCall("c1", "search_book_content", '{"query": "deadline policy"}')
    script: list[list[Line]] = [[call], ["Transient local durability keeps the last message for late subscribers. [1]"]]
    answer = (await traced(tmp_path, question(ASKED), script=script))["answer"]
    assert (answer["mode"], answer["model"], answer["prompt_version"]) == ("full", "scripted", PROMPT_VERSION)
    assert (answer["rounds"], answer["tokens"]) == (2, 14)
    assert answer["tools"] == [{"name": "search_book_content", "arguments": '{"query": "deadline policy"}'}]


async def test_a_model_that_failed_is_told_as_such(tmp_path: Path) -> None:
    answer = (await traced(tmp_path, question(ASKED), script=[[ModelUnavailable("down")]]))["answer"]
    assert answer["mode"] == "retrieval_only"
    assert "gave no answer" in answer["fallback_message"]


MAIL, KEY, PHONE = "bob.smith@example.org", "sk-proj-4f9a8b7c6d5e4f3a2b1c0d9e", "+49 171 2345678"


async def test_a_trace_hides_what_recorded_questions_hide(tmp_path: Path) -> None:
    record = await traced(tmp_path, question(f"{ASKED} I am {MAIL}, my key is {KEY}, call {PHONE}."))
    stored = json.dumps(record)
    assert [secret for secret in (MAIL, KEY, *PHONE.split()[1:]) if secret in stored] == []
    assert "[email]" in record["question"]["text"]
    assert "[email]" in record["query"]["searched"]
    assert {"durability", "subscribers", HIDDEN} <= {term["text"] for term in record["query"]["terms"]}


async def test_a_trace_hides_what_a_model_repeats(tmp_path: Path) -> None:
    call = ToolCall("c1", "search_book_content", json.dumps({"query": f"durability for {MAIL}"}))
    script: list[list[Line]] = [[call], [f"Transient local keeps the last message for {MAIL}. [1]"]]
    record = await traced(tmp_path, question(ASKED), script=script)
    assert MAIL not in json.dumps(record)
    assert "[email]" in record["answer"]["tools"][0]["arguments"]
    assert "[email]" in record["grounding"]["sentences"][0]["text"]


async def test_every_sentence_is_there_with_its_support(tmp_path: Path) -> None:
    script: list[list[Line]] = [
        ["Transient local durability keeps the last message for late subscribers. [1] It runs on Atlantis 7. [1]"]
    ]
    grounding = (await traced(tmp_path, question(ASKED), script=script))["grounding"]
    assert (grounding["supported"], grounding["total"]) == (1, 2)
    assert [row["supported"] for row in grounding["sentences"]] == [True, False]
    assert grounding["sentences"][1]["reason"]


async def test_the_text_of_the_book_and_of_a_selection_is_not_copied(tmp_path: Path) -> None:
    selected = "Volatile durability keeps nothing at all, said the selected text."
    record = await traced(tmp_path, question("What does volatile keep?", selected_text=selected))
    assert record["question"]["selected_text"] == len(selected)
    assert "The deadline policy names" not in json.dumps(await traced(_in(tmp_path), question(ASKED)))


def _in(folder: Path) -> Path:
    (folder / "more").mkdir()
    return folder / "more"


TEXT = st.text(max_size=3000)


@given(rows=st.lists(st.dictionaries(st.sampled_from("abcdef"), TEXT, max_size=6), max_size=100), text=TEXT)
def test_a_record_never_grows_beyond_its_limit_and_keeps_its_shape(rows: list[dict[str, str]], text: str) -> None:
    record = {"question": {"text": text}, **dict.fromkeys(("dense", "sparse", "fused", "sentences"), rows)}
    cut = shorten(record)
    assert len(json.dumps(cut, ensure_ascii=False).encode("utf-8", "replace")) <= LARGEST_TRACE
    assert cut.keys() == record.keys()
    assert all(len(cut[name]) <= len(rows) for name in ("dense", "sparse", "fused", "sentences"))


def test_a_small_record_is_not_touched() -> None:
    record = {"question": {"text": "What?"}, "rows": [{"score": 0.5, "rank": None}]}
    assert shorten(record) == record


async def test_the_largest_question_makes_a_trace_within_the_limit(tmp_path: Path) -> None:
    record = await traced(tmp_path, question("Which durability keeps 🤖 " * 1_300))
    assert len(json.dumps(record, ensure_ascii=False).encode()) <= LARGEST_TRACE
    assert record["question"]["text"].startswith("Which durability keeps")
    assert len(record["question"]["text"]) <= 1_000
