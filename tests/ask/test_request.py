from __future__ import annotations

import uuid
from typing import Any

import pytest
from pydantic import BaseModel

from quoth.ask.request import ChatRequest, RunRequest, Search, SearchRequest, ToolRequest, parse
from quoth.domain import Book, Filters, Question
from quoth.errors import QuothError

BOOK = Book("b", "A book")


def code_of(model: type[BaseModel], fields: Any) -> str:
    with pytest.raises(QuothError) as caught:
        parse(model, fields)
    assert caught.value.message
    return caught.value.code


@pytest.mark.parametrize(
    ("fields", "code"),
    [
        ({}, "EMPTY_QUERY"),
        ({"query": ""}, "EMPTY_QUERY"),
        ({"query": " \n\t "}, "EMPTY_QUERY"),
        ({"query": "x" * 32_001}, "QUERY_TOO_LONG"),
        ({"query": 7}, "INVALID_REQUEST"),
        ({"query": "x", "selected_text": "y" * 64_001}, "SELECTION_TOO_LONG"),
        ({"query": "x", "session_id": "nonsense"}, "INVALID_SESSION_ID"),
        ({"query": "x", "session_id": "6ba7b810-9dad-11d1-80b4-00c04fd430c8"}, "INVALID_SESSION_ID"),
        ({"query": "x", "top_k": 0}, "INVALID_TOP_K"),
        ({"query": "x", "top_k": 21}, "INVALID_TOP_K"),
        ({"query": "x", "top_k": "5"}, "INVALID_TOP_K"),
        ({"query": "x", "top_k": True}, "INVALID_TOP_K"),
        ({"query": "x", "similarity_threshold": 1.5}, "INVALID_THRESHOLD"),
        ({"query": "x", "similarity_threshold": float("nan")}, "INVALID_THRESHOLD"),
        ({"query": "x", "filters": {"hardware_tier": 5}}, "INVALID_FILTER"),
        ({"query": "x", "filters": {"layer": "L9"}}, "INVALID_FILTER"),
        ({"query": "x", "filters": {"proficiency_levels": ["A7"]}}, "INVALID_FILTER"),
        ({"query": "x", "filters": []}, "INVALID_FILTER"),
        ({"query": "x", "filters": {"source_url_prefix": "not a url prefix <>"}}, "INVALID_FILTER"),
        ({"query": "x", "filters": {"source_url_prefix": "docs.example.com/ros2"}}, "INVALID_FILTER"),
        ({"query": "x", "filters": {"source_url_prefix": "javascript:alert(1)"}}, "INVALID_FILTER"),
        ({"query": "x", "filters": {"source_url_prefix": "//docs.example.com"}}, "INVALID_FILTER"),
        ({"query": "x", "filters": {"modul": "ros2"}}, "UNKNOWN_FIELD"),
        ({"query": "x", "nonsense": 1}, "UNKNOWN_FIELD"),
        ({"query": "x", "message": "y"}, "UNKNOWN_FIELD"),
        ([], "INVALID_REQUEST"),
        (None, "INVALID_REQUEST"),
    ],
)
def test_each_wrong_field_of_a_question_has_its_own_code(fields: Any, code: str) -> None:
    assert code_of(ChatRequest, fields) == code


@pytest.mark.parametrize(
    ("fields", "code"),
    [
        ({}, "EMPTY_QUERY"),
        ({"text": "tf2", "limit": 0}, "INVALID_TOP_K"),
        ({"text": "tf2", "hardware_tier_filter": 9}, "INVALID_FILTER"),
        ({"text": "tf2", "layer_filter": "nope"}, "INVALID_FILTER"),
        ({"text": "tf2", "source_url_prefix": "two words"}, "INVALID_FILTER"),
        ({"text": "ab"}, "INVALID_REQUEST"),
        ({"text": " a "}, "INVALID_REQUEST"),
        ({"text": "tf2", "query": "y"}, "UNKNOWN_FIELD"),
    ],
)
def test_each_wrong_field_of_a_search_has_its_own_code(fields: Any, code: str) -> None:
    assert code_of(SearchRequest, fields) == code


def test_a_misspelt_field_is_answered_with_the_right_one() -> None:
    with pytest.raises(QuothError, match="Did you mean `hardware_tier`"):
        parse(ChatRequest, {"query": "x", "filters": {"hardware_teir": 1}})


@pytest.mark.parametrize("name", ["query", "message", "question"])
def test_the_question_may_be_called_by_any_of_its_three_names(name: str) -> None:
    assert parse(ChatRequest, {name: "  What is a node? "}).query == "What is a node?"


def test_a_question_gets_a_fresh_session_when_it_names_none() -> None:
    request = parse(ChatRequest, {"query": "x"})
    first = request.to_question(book=BOOK, request_id="r", top_k=5)
    second = request.to_question(book=BOOK, request_id="r", top_k=5)
    assert uuid.UUID(first.session_id).version == 4
    assert first.session_id != second.session_id


def test_blank_selected_text_is_not_a_selection() -> None:
    request = parse(ChatRequest, {"query": "x", "selected_text": "  \n"})
    assert request.to_question(book=BOOK, request_id="r", top_k=5).selected_text is None


@pytest.mark.parametrize(
    ("own", "operators", "used"),
    [({}, 0.0, 0.0), ({}, 0.4, 0.4), ({"similarity_threshold": 0.2}, 0.4, 0.2), ({"similarity_threshold": 0}, 0.4, 0)],
)
def test_a_request_without_its_own_threshold_gets_the_operators(
    own: dict[str, float], operators: float, used: float
) -> None:
    for request in (parse(ChatRequest, {"query": "x", **own}), parse(RunRequest, {"query": "x", **own})):
        question = request.to_question(book=BOOK, request_id="r", top_k=5, similarity_threshold=operators)
        assert question.similarity_threshold == used
    search = parse(SearchRequest, {"query": "tf2", **own})
    assert search.to_search(book=BOOK, similarity_threshold=operators).similarity_threshold == used


def test_where_nobody_sets_a_threshold_nothing_is_dropped() -> None:
    searches = [
        Search("tf2", "b", Filters(), limit=5),
        parse(SearchRequest, {"query": "tf2"}).to_search(book=BOOK),
        parse(ToolRequest, {"query": "tf2"}).to_search(book=BOOK, within=Filters()),
    ]
    questions = [
        parse(model, {"query": "tf2"}).to_question(book=BOOK, request_id="r", top_k=5)
        for model in (ChatRequest, RunRequest)
    ]
    assert [one and one.similarity_threshold for one in (*searches, *questions)] == [0.0] * 5


def test_every_filter_of_a_question_reaches_the_index_query() -> None:
    fields: dict[str, Any] = {
        "source_url_prefix": "/docs",
        "section": "QoS",
        "module": "ros2",
        "chapter_min": 1,
        "chapter_max": 3,
        "lesson": 2,
        "hardware_tier": 2,
        "proficiency_levels": ["A2", "B1"],
        "layer": "L1",
        "parent_doc_id": "p",
    }
    question = parse(ChatRequest, {"query": "x", "filters": fields}).to_question(book=BOOK, request_id="r", top_k=5)
    assert question.filters == Filters(**{**fields, "proficiency_levels": ("A2", "B1")})


def test_every_filter_of_a_search_reaches_the_index_query() -> None:
    request = parse(
        SearchRequest,
        {
            "text": "tf2",
            "source_url_prefix": "/docs",
            "section": "QoS",
            "module_filter": "ros2",
            "chapter_min": 1,
            "chapter_max": 3,
            "lesson_filter": 2,
            "hardware_tier_filter": 2,
            "proficiency_levels": ["A2"],
            "layer_filter": "L1",
            "parent_doc_id": "p",
            "limit": 7,
        },
    )
    search = request.to_search(book=BOOK)
    assert search.limit == 7
    assert search.filters == Filters("/docs", "QoS", "ros2", 1, 3, 2, 2, ("A2",), "L1", "p")


@pytest.mark.parametrize(
    ("base_url", "prefix", "wanted"),
    [
        ("https://book.example.com/", "/docs/ros2", "https://book.example.com/docs/ros2"),
        ("https://site.example.com/manual/", "/docs", "https://site.example.com/docs"),
        ("https://book.example.com", "https://book.example.com/docs", "https://book.example.com/docs"),
        ("", "/docs/ros2", "/docs/ros2"),
    ],
)
def test_a_prefix_that_is_a_path_is_taken_on_the_site_of_the_book(base_url: str, prefix: str, wanted: str) -> None:
    book = Book("b", "A book", base_url=base_url)
    search = parse(SearchRequest, {"text": "tf2", "source_url_prefix": prefix}).to_search(book=book)
    chat = parse(ChatRequest, {"query": "x", "filters": {"source_url_prefix": prefix}})
    question = chat.to_question(book=book, request_id="r", top_k=5)
    assert search.filters.source_url_prefix == question.filters.source_url_prefix == wanted


@pytest.mark.parametrize("text", ["tf2", "C", "Go", "-v", "&&", "主题", "a b", "é"])
def test_a_search_of_fewer_than_three_characters_is_for_an_identifier(text: str) -> None:
    assert parse(SearchRequest, {"text": f" {text} "}).text == text


def test_a_tool_can_narrow_the_filters_of_the_reader_and_not_widen_them() -> None:
    within = Filters(module="ros2", hardware_tier=2)
    narrower = parse(ToolRequest, {"query": "x", "filters": {"hardware_tier": 1, "lesson": 3}}).to_search(
        book=BOOK, within=within
    )
    assert narrower is not None
    assert narrower.filters == Filters(module="ros2", hardware_tier=1, lesson=3)
    wider = parse(ToolRequest, {"query": "x", "filters": {"hardware_tier": 4}}).to_search(book=BOOK, within=within)
    assert wider is not None
    assert wider.filters == within
    assert (
        parse(ToolRequest, {"query": "x", "filters": {"module": "gazebo"}}).to_search(book=BOOK, within=within) is None
    )


@pytest.mark.parametrize(
    ("fields", "code"),
    [
        ({}, "EMPTY_QUERY"),
        ({"query": "x", "filters": {"module": ""}}, "INVALID_FILTER"),
        ({"query": "x", "filters": {"hardware_tier": 9}}, "INVALID_FILTER"),
        ({"query": "x", "top_k": 100}, "INVALID_TOP_K"),
        ({"query": "x", "book_id": "another"}, "UNKNOWN_FIELD"),
        ({"query": "x", "filters": {"tenant": "a"}}, "UNKNOWN_FIELD"),
    ],
)
def test_a_tool_is_told_what_is_wrong_with_its_arguments(fields: Any, code: str) -> None:
    assert code_of(ToolRequest, fields) == code


def test_a_search_may_be_written_in_the_words_of_a_question() -> None:
    asked = parse(SearchRequest, {"query": "tf2_ros", "top_k": 3}).to_search(book=BOOK)
    assert (asked.text, asked.limit) == ("tf2_ros", 3)
    assert code_of(SearchRequest, {"query": ""}) == "EMPTY_QUERY"
    assert code_of(SearchRequest, {"query": "tf2", "top_k": 0}) == "INVALID_TOP_K"


def question_of(fields: dict[str, Any], model: type[ChatRequest] = ChatRequest, **given: Any) -> Question:
    request = parse(model, {"query": "What?", **fields})
    return request.to_question(book=BOOK, request_id="r", **{"top_k": 5, **given})


@pytest.mark.parametrize("model", [ChatRequest, RunRequest])
def test_a_threshold_is_the_request_s_own_or_the_operator_s(model: type[ChatRequest]) -> None:
    assert question_of({}, model).similarity_threshold == 0.0
    assert question_of({}, model, similarity_threshold=0.4).similarity_threshold == 0.4
    assert question_of({"similarity_threshold": 0.0}, model, similarity_threshold=0.4).similarity_threshold == 0.0


def test_a_run_reads_at_most_ten_passages() -> None:
    assert question_of({"top_k": 10}, RunRequest).top_k == 10
    assert code_of(RunRequest, {"query": "What?", "top_k": 11}) == "INVALID_TOP_K"
    assert question_of({}, RunRequest, top_k=20).top_k == 10


def test_chapters_are_counted_from_zero() -> None:
    assert question_of({"filters": {"chapter_min": 0}}).filters.chapter_min == 0
    assert code_of(ChatRequest, {"query": "What?", "filters": {"chapter_min": -1}}) == "INVALID_FILTER"


def message_of(model: type[BaseModel], fields: Any) -> str:
    with pytest.raises(QuothError) as caught:
        parse(model, fields)
    return f"{caught.value.message} {caught.value.hint}"


def test_a_text_that_is_too_short_to_search_for_is_told_as_such() -> None:
    assert "too short" in message_of(SearchRequest, {"text": "ab"})
    assert "too short" not in message_of(SearchRequest, {"text": 7})


def test_a_filter_that_is_no_address_is_told_as_such() -> None:
    wrong, long = ({"query": "What?", "filters": {"source_url_prefix": value}} for value in ("a b", "/" + "x" * 600))
    assert "not the beginning of an address" in message_of(ChatRequest, wrong)
    assert "not the beginning of an address" not in message_of(ChatRequest, long)


class Foreign(BaseModel):
    """A request of another shape, with our fields inside."""

    quoth: ChatRequest


def test_a_misspelt_field_inside_a_foreign_request_is_corrected() -> None:
    said = message_of(Foreign, {"quoth": {"query": "What?", "topk": 3}})
    assert "`quoth.topk`" in said
    assert "`top_k`" in said
    said = message_of(Foreign, {"quoth": {"query": "What?", "filters": {"lesso": 3}}})
    assert "Did you mean `lesson`?" in said
