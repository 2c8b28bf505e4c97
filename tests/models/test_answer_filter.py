"""What a model thinks does not reach readers, however the stream is cut; what it says does, unchanged."""

from __future__ import annotations

import time
from collections.abc import Sequence
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from quoth.domain import Message
from quoth.models.answer_filter import AnswerFilter

PROMPT = [Message("system", "Rules."), Message("user", "Passages:\n\n[1] Topics\n<<<1a0278\nA topic.\n1a0278>>>\n")]

# What the model writes, and what readers see.
ANSWERS = {
    "no thought": ("It is two [1].", "It is two [1]."),
    "a thought first": ("<think>Hm.</think>\n\nIt is two [1].", "It is two [1]."),
    "an empty thought": ("<think>\n\n</think>\n\nIt is two.", "It is two."),
    "a thought in the middle": ("It is <think>one? no</think>two.", "It is two."),
    "two thoughts": ("<think>a</think>One. <think>b</think>Two.", "One. Two."),
    "other names": ("<thinking>a</thinking><thought>b</thought><reasoning>c</reasoning>[THINK]d[/THINK]Two.", "Two."),
    "another tag inside": ("<think>a</reasoning> <b> b</think>Two.", "Two."),
    "a thought without an end": ("Two. <think>But wait", "Two. "),
    "nothing but a thought without an end": ("<think>The answer is two.", ""),
    "an end without a beginning": ("It is</think> two.", "It is two."),
    "a tag in a fenced block": (
        "Run:\n```xml\n<think>\nx\n</think>\n```\n<think>done</think>Two.",
        "Run:\n```xml\n<think>\nx\n</think>\n```\nTwo.",
    ),
    "a tag in a block of tildes": ("~~~\n<think>\n~~~\nTwo.", "~~~\n<think>\n~~~\nTwo."),
    "a tag in inline code": ("Models write `<think>` first.", "Models write `<think>` first."),
    "a tag after inline code": ("Use `a`. <think>b</think>Two.", "Use `a`. Two."),
    "backticks of the line before": ("It's a ` tick\n<think>b</think>Two.", "It's a ` tick\nTwo."),
    "what only looks like a tag": ("1 < 2, <thin air>, a<b, [TH], <<<", "1 < 2, <thin air>, a<b, [TH], <<<"),
    "delimiters of the prompt": ("<<<1a0278\nA topic.\n1a0278>>>\nTwo [1].", "\nA topic.\n\nTwo [1]."),
    "delimiters of no prompt": ("kernel<<<100000, 256>>>() and <<<abcdef", "kernel<<<100000, 256>>>() and <<<abcdef"),
}


def shown(pieces: Sequence[str], **options: bool) -> str:
    reader = AnswerFilter(PROMPT, **options)
    return "".join([reader.feed(piece) for piece in pieces]) + reader.finish()


def cut(text: str, places: Sequence[int]) -> list[str]:
    return [text[start:end] for start, end in pairwise([0, *sorted(places), len(text)])]


@pytest.mark.parametrize(("written", "seen"), ANSWERS.values(), ids=ANSWERS)
def test_readers_see_the_answer_and_not_the_thoughts(written: str, seen: str) -> None:
    assert shown([written]) == seen
    assert shown(list(written)) == seen


@given(st.sampled_from(sorted(ANSWERS.values())), st.data())
def test_the_cuts_between_pieces_change_nothing(answer: tuple[str, str], draw: st.DataObject) -> None:
    written, seen = answer
    assert shown(cut(written, draw.draw(st.lists(st.integers(0, len(written)), max_size=8)))) == seen


@given(st.text(st.characters(exclude_characters="<[`~")), st.data())
def test_an_answer_without_tags_comes_out_as_it_went_in(text: str, draw: st.DataObject) -> None:
    assert shown(cut(text, draw.draw(st.lists(st.integers(0, len(text)), max_size=8)))) == text


@pytest.mark.parametrize(
    ("pieces", "at_once"),
    [
        (["It", " is", " two"], ["It", " is", " two"]),
        (["a <", "b"], ["a ", "<b"]),
        (["a <thin", "g"], ["a ", "<thing"]),
        (["x 1a02", "9"], ["x ", "1a029"]),
    ],
)
def test_only_what_may_become_a_tag_is_held_back(pieces: Sequence[str], at_once: Sequence[str]) -> None:
    reader = AnswerFilter(PROMPT)
    assert [reader.feed(piece) for piece in pieces] == at_once


@pytest.mark.parametrize(
    ("written", "seen", "unopened"),
    [
        ("Hm, let me see.</think>\n\nIt is two.", "It is two.", True),
        ("<think>Hm.</think>\n\nIt is two.", "It is two.", False),
        ("It is two.", "It is two.", False),
        ("It is `two`. <<<1a0278", "It is `two`. ", False),
        ("Hm.</think>Two <think>or three</think>.", "Two .", True),
    ],
)
def test_an_answer_may_begin_inside_a_thought(written: str, seen: str, unopened: bool) -> None:
    for pieces in ([written], list(written)):
        reader = AnswerFilter(PROMPT, thinks_first=True)
        assert "".join([reader.feed(piece) for piece in pieces]) + reader.finish() == seen
        assert reader.unopened is unopened


def test_it_tells_what_it_met() -> None:
    reader = AnswerFilter()
    assert reader.feed("<think>Hm.") == ""
    assert (reader.thought, reader.shown, reader.unopened) == (True, False, False)
    reader.feed("</think>Two</think>.")
    assert (reader.thought, reader.shown, reader.unopened) == (True, True, True)


@pytest.mark.parametrize(
    "piece", ["</think>", "<think></think>", "`<think>`", "1a0278>>>", "abcdef>>>", "<<<", "<", "a"]
)
def test_twice_the_words_take_about_twice_the_time(piece: str) -> None:
    """No server can hold the process up with an answer made of tags."""

    def spent(times: int) -> float:
        reader, began = AnswerFilter(PROMPT), time.process_time()
        reader.feed(piece * times)
        return time.process_time() - began

    once, twice = (min(spent(times) for _ in range(3)) for times in (20_000, 40_000))
    assert twice < 3 * once + 0.005
