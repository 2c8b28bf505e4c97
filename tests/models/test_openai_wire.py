"""Bytes of real servers → words and tool calls, however they are cut."""

from __future__ import annotations

import json
from collections.abc import Iterable
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from quoth.domain import Message, Tool, ToolCall
from quoth.models import openai_wire
from quoth.models.openai_wire import (
    Completion,
    Endless,
    EventLines,
    Malformed,
    ReportedFault,
    fault_message,
    refused_parameters,
    request_body,
)
from quoth.testing.model_server import DONE, calls, chunk, says, usage

SEARCH = Tool("search_book_content", "Searches.", {"type": "object", "properties": {}})


def read(blocks: Iterable[bytes]) -> tuple[str, Completion]:
    lines, completion, words = EventLines(), Completion(), ""
    for events in (*(lines.feed(block) for block in blocks), lines.end()):
        said, fault = completion.take_all(events)
        words += said
        if fault is not None:
            raise fault
    return words + completion.finish(), completion


def frames(*deltas: dict[str, Any]) -> list[bytes]:
    return [*(chunk({"tool_calls": [delta]}) for delta in deltas), chunk({}, finish="tool_calls")]


def named(name: str, arguments: str, **more: object) -> dict[str, Any]:
    return {"function": {"name": name, "arguments": arguments}, **more}


def test_words_come_out_in_order_with_the_usage_of_the_last_report() -> None:
    words, completion = read([*says("It ", "is ", "two [1].").steps[:-2], usage(5, 1), usage(90, 7), DONE])  # type: ignore[list-item]
    assert words == "It is two [1]."
    assert (completion.finished, completion.turn().tokens, completion.model) == (True, 97, "scripted")


@given(st.data())
def test_the_cuts_between_packets_change_nothing(draw: st.DataObject) -> None:
    whole = b"".join(
        step for step in calls("search_book_content", {"query": "naïve — ünïcode"}).steps if isinstance(step, bytes)
    )
    cuts = sorted(draw.draw(st.lists(st.integers(0, len(whole)), max_size=12)))
    bounds = [0, *cuts, len(whole)]
    words, completion = read(whole[start:end] for start, end in pairwise(bounds))
    assert words == ""
    assert completion.turn().tool_calls == (
        ToolCall("call_a", "search_book_content", '{"query": "na\\u00efve \\u2014 \\u00fcn\\u00efcode"}'),
    )


def test_lines_may_end_with_carriage_returns_and_hold_comments_and_events_without_data() -> None:
    block = (
        b": hello\r\nevent: ping\r\n\r\ndata:\r\n\r\n"
        + chunk({"content": "a"}).replace(b"\n", b"\r\n")
        + b"data: [DONE]"
    )
    words, completion = read([block])
    assert (words, completion.finished) == ("a", True)


def test_two_complete_calls_at_index_0_are_two_calls() -> None:
    _, completion = read(frames(named("a", '{"x":1}', index=0, id="1"), named("b", '{"y":2}', index=0, id="2")))
    assert [(c.id, c.name, c.arguments) for c in completion.turn().tool_calls] == [
        ("1", "a", '{"x":1}'),
        ("2", "b", '{"y":2}'),
    ]


def test_two_complete_calls_at_index_0_without_ids_are_two_calls_with_ids_of_ours() -> None:
    _, completion = read(frames(named("a", '{"x":1}', index=0), named("a", '{"x":2}', index=0)))
    turn = completion.turn()
    assert [c.arguments for c in turn.tool_calls] == ['{"x":1}', '{"x":2}']
    assert len({c.id for c in turn.tool_calls}) == 2
    assert all(c.id for c in turn.tool_calls)


def test_calls_without_an_index_are_told_apart_by_their_names() -> None:
    _, completion = read(frames(named("a", '{"x":1}', id="1"), named("b", "{}", id="2")))
    assert [c.name for c in completion.turn().tool_calls] == ["a", "b"]


def test_a_call_whose_name_is_repeated_in_every_delta_stays_one_call() -> None:
    deltas = [named("a", piece, index=0, id="1") for piece in ('{"x"', ":1", "}")]
    _, completion = read(frames(*deltas))
    assert [c.arguments for c in completion.turn().tool_calls] == ['{"x":1}']


def test_a_call_without_an_id_whose_name_is_repeated_is_another_only_once_the_first_is_complete() -> None:
    deltas = [named("a", piece, index=0) for piece in ('{"x"', ":1", "}", '{"x":2}')]
    _, completion = read(frames(*deltas))
    assert [c.arguments for c in completion.turn().tool_calls] == ['{"x":1}', '{"x":2}']


def test_interleaved_calls_are_kept_apart_by_their_index() -> None:
    deltas = [
        named("a", "", index=0, id="1"),
        named("b", "", index=1, id="2"),
        {"index": 0, "function": {"arguments": '{"x":1}'}},
        {"index": 1, "function": {"arguments": '{"y":2}'}},
    ]
    _, completion = read(frames(*deltas))
    assert [(c.name, c.arguments) for c in completion.turn().tool_calls] == [("a", '{"x":1}'), ("b", '{"y":2}')]


def test_arguments_given_as_an_object_become_json() -> None:
    _, completion = read(frames({"function": {"name": "a", "arguments": {"x": 1}}}))
    assert json.loads(completion.turn().tool_calls[0].arguments) == {"x": 1}


def test_a_whole_completion_instead_of_a_stream_is_read_too() -> None:
    body = {
        "choices": [{"message": {"content": "two"}, "finish_reason": "stop"}],
        "usage": {"prompt_tokens": 3, "completion_tokens": 1},
    }
    words, completion = read([b"data: " + json.dumps(body).encode()])
    assert (words, completion.turn().tokens, completion.finished) == ("two", 4, True)


def test_content_in_parts_is_joined() -> None:
    words, _ = read([chunk({"content": [{"type": "text", "text": "a"}, {"type": "text", "text": "b"}]})])
    assert words == "ab"


def test_thoughts_are_not_words_whether_in_a_field_a_part_or_between_tags() -> None:
    words, completion = read(
        [
            chunk({"reasoning_content": "Hm."}),
            chunk({"reasoning": "Hm.", "content": None}),
            chunk({"content": [{"type": "thinking", "thinking": "Hm.", "text": "Hm."}]}),
            chunk({"content": "<th"}),
            chunk({"content": "ink>Hm.</thi"}),
            chunk({"content": "nk>\n"}),
            chunk({"content": [{"type": "text", "text": "two"}]}),
        ]
    )
    assert (words, completion.begun) == ("two", True)


def test_a_completion_that_ran_into_its_limit_says_so() -> None:
    _, completion = read([chunk({}, finish="length")])
    assert completion.turn().truncated


def test_one_that_was_cut_off_is_truncated_and_makes_no_half_call() -> None:
    _, completion = read([chunk({"tool_calls": [named("a", '{"x"')]})])
    assert (completion.turn().truncated, completion.turn().tool_calls) == (True, ())


@pytest.mark.parametrize(
    ("bad", "said"),
    [
        (b"data: {oops\n\n", "'{oops' is not JSON"),
        (b'data: {"choices":[{"delta":{"content":"half of a sec\n\n', "an event is not JSON"),
        (b"data: 3\n\n", "'3' is not an object"),
        (b"data: " + b"[" * 100_000 + b"\n\n", "'" + "[" * 80 + "' is not JSON"),
        (b'data: {"choices":3}\n\n', "its choices are not a list"),
        (b'data: {"choices":[3]}\n\n', "a choice is not an object"),
        (b'data: {"choices":[{"delta":"x"}]}\n\n', "a delta is not an object"),
        (b'data: {"choices":[{"delta":{"tool_calls":{"x":1}}}]}\n\n', "its tool calls are not a list"),
        (b'data: {"choices":[{"delta":{"tool_calls":[{"function":"a"}]}}]}\n\n', "a function is not an object"),
        (b'data: {"choices":[{"delta":{"tool_calls":[1]}}]}\n\n', "a tool call is not an object"),
    ],
)
def test_what_is_not_a_completion_is_named_without_words_that_may_be_an_answer(bad: bytes, said: str) -> None:
    with pytest.raises(Malformed) as caught:
        read([bad])
    assert str(caught.value) == said


ANYTHING = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
    max_leaves=5,
)


def shaped(**parts: st.SearchStrategy[object]) -> st.SearchStrategy[object]:
    """An object with some of these parts, or something else in its place."""
    return ANYTHING | st.fixed_dictionaries({}, optional={name: ANYTHING | part for name, part in parts.items()})


WORDS = st.text(max_size=5)
FUNCTION = shaped(name=WORDS, arguments=WORDS)
CALLS = st.lists(shaped(index=st.integers(0, 2), id=WORDS, function=FUNCTION), max_size=3)
DELTA = shaped(role=WORDS, content=WORDS | st.lists(shaped(type=WORDS, text=WORDS), max_size=2), tool_calls=CALLS)
CHOICES = st.lists(shaped(delta=DELTA, message=DELTA, finish_reason=WORDS), max_size=2)
USAGE = shaped(prompt_tokens=st.integers(), completion_tokens=st.integers(), total_tokens=st.integers())
EVENT = shaped(choices=CHOICES, usage=USAGE, model=WORDS, error=shaped(message=WORDS))


@given(st.lists(EVENT, max_size=5))
def test_whatever_json_a_server_sends_it_is_read_or_malformed(events: list[object]) -> None:
    completion = Completion()
    words, _ = completion.take_all([json.dumps(event) for event in events])
    turn = completion.turn()
    assert isinstance(words + completion.finish() + turn.model, str)
    assert all(isinstance(part, str) for call in turn.tool_calls for part in (call.id, call.name, call.arguments))
    assert min(turn.tokens, turn.prompt_tokens) >= 0


@given(st.lists(st.binary(max_size=50) | st.sampled_from([b"data:", b"data: {}", b"\n", b"\r\n", b"[" * 5_000])))
def test_whatever_bytes_a_server_sends_they_are_read_or_malformed(blocks: list[bytes]) -> None:
    lines, completion = EventLines(), Completion()
    for events in (*(lines.feed(block) for block in blocks), lines.end()):
        words, fault = completion.take_all(events)
        assert words == ""
        assert fault is None or isinstance(fault, Malformed)


@pytest.mark.parametrize(("limit", "block"), [("LONGEST_STREAM", b"\n"), ("LONGEST_EVENT", b"x")])
def test_a_stream_may_be_as_long_as_its_limit_and_no_longer(
    limit: str, block: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(openai_wire, limit, 10)
    lines = EventLines()
    assert [*lines.feed(block * 4), *lines.feed(block * 6)] == []
    with pytest.raises(Endless):
        list(lines.feed(block))


def test_an_error_inside_the_stream_is_reported_with_its_reason() -> None:
    with pytest.raises(ReportedFault, match="overloaded"):
        read([b'data: {"error":{"message":"overloaded"}}\n\n'])


def test_a_stream_that_just_ends_is_not_finished() -> None:
    assert not read([chunk({"content": "a"})])[1].finished


@pytest.mark.parametrize(
    ("body", "said"),
    [
        ({"error": "no"}, "no"),
        ([{"error": {"message": "quota"}}], "quota"),
        ({"message": "flat"}, "flat"),
        ("x", ""),
        ({"error": None}, ""),
    ],
)
def test_servers_say_what_went_wrong_in_many_shapes(body: object, said: str) -> None:
    assert fault_message(body) == said


SENT = {"model": "m", "tools": [SEARCH], "temperature": 0.0, "max_tokens": 9}


@pytest.mark.parametrize("status", [400, 404, 422, 500, 501])
def test_what_a_server_refuses_by_name_is_left_out_of_the_next_request(status: int) -> None:
    assert refused_parameters(status, "no TEMPERATURE here", SENT, guess=False) == {"temperature"}
    assert refused_parameters(status, "no functions, no max_tokens", SENT, guess=False) == {"tools", "max_tokens"}


@pytest.mark.parametrize("status", [401, 403, 429, 502, 503])
def test_what_is_no_refusal_of_a_parameter_changes_nothing(status: int) -> None:
    assert refused_parameters(status, "no temperature here", SENT, guess=True) == frozenset()
    assert refused_parameters(400, "the tools are too long", SENT, guess=True) == frozenset()


def test_a_refusal_that_names_nothing_is_about_tools_and_all_that_is_optional() -> None:
    everything = {"tools", "temperature", "max_tokens"}
    assert refused_parameters(400, "bad request", SENT, guess=False) == everything
    assert refused_parameters(500, "bad moment", SENT, guess=True) == everything
    assert refused_parameters(500, "bad moment", SENT, guess=False) == frozenset()
    assert refused_parameters(400, "bad request", {"temperature": 0.0}, guess=True) == frozenset()


def test_tools_and_calls_leave_in_the_shape_the_wire_wants() -> None:
    call = ToolCall("c1", "search_book_content", "{}")
    body = request_body(
        "m",
        [Message("assistant", "", tool_calls=(call,)), Message("tool", "found", tool_call_id="c1")],
        [SEARCH],
        temperature=0.0,
    )
    assert body["tools"][0]["function"]["name"] == "search_book_content"
    assert body["tool_choice"] == "auto"
    assert body["messages"][0]["tool_calls"] == [
        {"id": "c1", "type": "function", "function": {"name": "search_book_content", "arguments": "{}"}}
    ]
    assert body["messages"][1] == {"role": "tool", "content": "found", "tool_call_id": "c1"}
    assert "tools" not in request_body("m", [], [])


@pytest.mark.parametrize("arguments", ["", "{oops", "[]", "3"])
def test_a_call_that_was_not_json_is_sent_back_without_arguments(arguments: str) -> None:
    said = Message("assistant", "", tool_calls=(ToolCall("c1", "", arguments),))
    [call] = request_body("m", [said], [])["messages"][0]["tool_calls"]
    assert call["function"] == {"name": "unknown", "arguments": "{}"}
