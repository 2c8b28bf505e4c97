"""A conversation stays on its pages: what was said last counts most, and one stray answer does not take it along."""

from __future__ import annotations

import pytest

from quoth.ask.find import Retriever
from quoth.ask.follow_up import rewrite
from quoth.ask.pages import leaves_pages, pages_of
from quoth.domain import CitedSource, PastTurn
from quoth.testing.embedder import FakeEmbedder
from small_index import an_index


def turn(question: str, *pages: str, answer: str = "It is so. [1]") -> PastTurn:
    sources = (CitedSource(number, f"chunk-{page}", source_file=page) for number, page in enumerate(pages, start=1))
    return PastTurn(question, answer, sources=tuple(sources))


LATHE = turn("What is a lathe?", "lathe.md", answer="A lathe turns wood. [1]")
CHUCK = turn("How does it hold the wood?", "lathe.md", answer="With a chuck. [1]")
STRAY = turn("Is it dangerous?", "saw.md", answer="A guillotine may cut fingers. [1]")


def test_the_last_answer_counts_most_but_not_alone() -> None:
    assert pages_of([LATHE]) == {"lathe.md": 1.0}
    shares = pages_of([LATHE, CHUCK, STRAY])
    assert shares["saw.md"] > shares["lathe.md"] > 0.45
    assert sum(shares.values()) == pytest.approx(1)


def test_an_answer_without_a_page_says_nothing_about_where_the_conversation_is() -> None:
    assert pages_of([LATHE, turn("Thanks!")]) == {"lathe.md": 1.0}
    assert pages_of([turn("Thanks!")]) == pages_of([]) == {}


def test_an_answer_leaves_the_pages_if_it_shares_none_with_those_before() -> None:
    assert leaves_pages([LATHE, CHUCK, STRAY])
    assert not leaves_pages([LATHE, turn("And its bed?", "bed.md", "lathe.md")])
    assert not leaves_pages([LATHE])
    assert not leaves_pages([LATHE, turn("Thanks!")])


def test_the_words_of_an_answer_that_strayed_are_not_taken_over() -> None:
    assert "chuck" in rewrite("Who invented it?", [LATHE, CHUCK]).carried
    query = rewrite("Who invented it?", [LATHE, CHUCK, STRAY])
    assert "lathe" in query.carried
    assert not {"guillotine", "fingers"} & set(query.carried)


def test_a_question_that_makes_sense_alone_takes_the_conversation_to_its_own_pages() -> None:
    saw = turn("What is a guillotine?", "saw.md", answer="A guillotine shears paper. [1]")
    assert "paper" in rewrite("Who invented it?", [LATHE, CHUCK, saw]).carried


def test_a_question_that_makes_sense_alone_is_rather_about_the_pages_of_the_conversation() -> None:
    query = rewrite("Did the album receive any awards?", [LATHE])
    assert query.text == "Did the album receive any awards?"
    assert 0 < query.pages["lathe.md"] < rewrite("Why?", [LATHE]).pages["lathe.md"]


def test_a_question_about_the_book_is_about_none_of_its_pages() -> None:
    assert not rewrite("Summarise this book", [LATHE]).pages


async def test_of_passages_that_fit_alike_the_one_on_the_page_of_the_conversation_comes_first() -> None:
    embedder = FakeEmbedder()
    texts = {"first": "The album sold well in May.", "second": "The album sold well in June.", "third": "It rains."}
    retriever = Retriever(await an_index(embedder, texts, own_pages=True), embedder)
    for name in ("first", "second"):
        found = await retriever.find("Did the album sell well?", book_id="book", pages={f"docs/{name}.md": 1.0})
        assert found.passages[0].chunk.id == name


async def test_where_a_question_makes_sense_alone_the_pages_put_in_order_and_make_nothing_likelier() -> None:
    embedder = FakeEmbedder()
    texts = {"first": "The album sold well in May.", "second": "The album sold well in June.", "third": "It rains."}
    retriever = Retriever(await an_index(embedder, texts, own_pages=True), embedder)

    async def similarities(pages: dict[str, float], *, alone: bool = True) -> dict[str, float]:
        found = await retriever.find("Did the album sell well?", book_id="book", pages=pages, alone=alone)
        return {passage.chunk.id: passage.similarity for passage in found.passages}

    plain, preferred = await similarities({}), await similarities({"docs/second.md": 1.0})
    assert preferred == plain
    assert list(preferred) != list(plain)
    assert (await similarities({"docs/second.md": 1.0}, alone=False))["second"] > plain["second"]
