"""Passages that suit the question: explanations for those who ask what a term means, change logs only for those who ask
for changes, and the opening of the book for those who ask what it is about."""

from __future__ import annotations

import pytest

from quoth.ask.find import Retriever
from quoth.ask.suited import opening_for, suits
from quoth.domain import Chunk, QueryTerm
from quoth.testing.embedder import FakeEmbedder
from quoth.text.terms import query_terms
from samples import chunk
from small_index import an_index

USED = chunk("Pass the closure to the thread. The thread runs the closure.", id="used")
DEFINED = chunk("A closure is a function that keeps what is around it.", id="defined")
NAMED = chunk(
    "Functions may keep what is around them.", id="named", heading_path=("Closures",), breadcrumb=("Book", "Closures")
)


def added(question: str, *chunks: Chunk) -> list[float]:
    words = query_terms(question)
    found = suits(question, words, {word.id: 3.0 for word in words}, {one.id: one for one in chunks})
    return [found[one.id] for one in chunks]


# --- definitions -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("explains", [DEFINED, NAMED])
def test_a_passage_that_explains_the_term_is_favoured(explains: Chunk) -> None:
    used, explained = added("What is a closure?", USED, explains)
    assert explained > used == 0.0


def test_other_questions_favour_nothing() -> None:
    assert added("How do I pass a closure to a thread?", USED, DEFINED) == [0.0, 0.0]


@pytest.mark.parametrize(
    "text",
    [
        "A thread is a path of execution.",
        "Closure-Extras is a package of helpers.",
        "A closure is not always needed.",
        "The thread that the closure is passed to runs it.",
    ],
)
def test_a_sentence_that_defines_something_else_counts_for_less(text: str) -> None:
    other, defined = added("What is a closure?", chunk(text, id="other"), DEFINED)
    assert other < defined


def test_a_definition_is_looked_for_in_the_nearest_passages_only() -> None:
    many = [chunk("A closure is a function that keeps what is around it.", id=str(at)) for at in range(25)]
    assert [found > 0 for found in added("What is a closure?", *many)] == [True] * 20 + [False] * 5


def test_a_definition_where_the_book_opens_counts_for_more() -> None:
    opening = chunk("A closure is a function that keeps what is around it.", id="opening", source_file="docs/index.md")
    later, first = added("What is a closure?", DEFINED, opening)
    assert first > later


# --- records of changes ----------------------------------------------------------------------------------------------

RECORDS = [
    chunk("Add `middleware` to routes.", id="notes", source_file="docs/release-notes.md"),
    chunk("Add `middleware` to routes.", id="log", source_file="CHANGELOG.md"),
    chunk("Add `middleware` to routes.", id="blog", source_file="docs/blog/announcing-2.md"),
    chunk("Add `middleware` to routes.", id="version", heading_path=("0.33.0 (December 1, 2023)", "Added")),
    chunk("Middleware is paid for by them.", id="thanks", heading_path=("Sponsors",)),
    chunk("Middleware has moved.", id="guide-to-2", source_file="docs/migration-v2.md"),
    chunk("Middleware has moved.", id="v", heading_path=("Version 2.1: middleware",)),
    chunk("Middleware has moved.", id="history", source_file="docs/versionhistory.rst"),
    chunk("- Added middleware\n- [routes] Fixed a loop\n- **API:** Dropped `run`", id="items", source_file="docs/1.md"),
]
GUIDES = [
    chunk("Add middleware to routes.", id="guide", source_file="docs/middleware.md"),
    chunk("Add middleware to routes.", id="like", source_file="docs/changing-routes.md"),
    chunk("Add middleware to routes.", id="heading", heading_path=("2. Middleware",)),
    chunk("Add middleware to routes.", id="words", heading_path=("How changes are seen",)),
    chunk("Add middleware to routes.", id="numbered", heading_path=("3.1 Middleware", "3.1.2 Routes")),
    chunk("Add middleware to routes.", id="sentence", heading_path=("Changes of middleware", "V8 engine")),
    chunk("Add middleware to routes.", id="subject", source_file="docs/database/migrations.md"),
    chunk("Add middleware to routes.", id="past", source_file="docs/history/news-of-robots.md"),
    chunk(
        "- Added middleware runs first\n- Order counts\n- Fixed routes come\n- Dropped ones too\n- Two more\n- Last",
        id="facts",
    ),
    chunk("- Fixed middleware stays\n- Added middleware runs", id="few"),
]


def test_who_asks_how_is_not_sent_to_the_change_log() -> None:
    values = added("How do I add middleware?", *RECORDS, *GUIDES)
    assert all(value < 0 for value in values[: len(RECORDS)])
    assert values[len(RECORDS) :] == [0.0] * len(GUIDES)


@pytest.mark.parametrize(
    ("heading", "text"),
    [
        ("Appendix C GNU Free Documentation License", "The closure is licensed to you."),
        ("9. Release notes", "The closure is faster."),
        ("D.3 Parameter and Variable Index", "| `closure`: | Functions |"),
        ("Index of functions", "closure, 4"),
        ("Keyword cross-reference", "- closure - functions.html#closure"),
    ],
)
def test_licences_and_indexes_explain_nothing(heading: str, text: str) -> None:
    beside, explained = added("What is a closure?", chunk(text, id="beside", heading_path=(heading,)), DEFINED)
    assert beside < 0 < explained


@pytest.mark.parametrize("heading", ["Index", "Unique index", "Choosing a license"])
def test_what_is_written_about_an_index_or_a_licence_is_read(heading: str) -> None:
    [found] = added("What is an index?", chunk("An index is a copy of a column, sorted.", heading_path=(heading,)))
    assert found > 0


@pytest.mark.parametrize(
    "question",
    [
        "What changed in middleware?",
        "When was middleware added?",
        "Is middleware deprecated?",
        "How do I migrate my middleware to 2.0?",
        "Who are the sponsors of the middleware?",
    ],
)
def test_who_asks_for_changes_is(question: str) -> None:
    assert added(question, *RECORDS) == [0.0] * len(RECORDS)


# --- the book itself -------------------------------------------------------------------------------------------------


def term(text: str, idf: float) -> QueryTerm:
    [found] = query_terms(text)
    return QueryTerm(found.text, found.id, idf, in_book=True)


def test_what_is_on_every_page_is_looked_for_where_the_book_opens() -> None:
    assert opening_for("What is Quay?", [term("Quay", 0.4)], 500) == "introduction overview of Quay"


@pytest.mark.parametrize(
    ("question", "idf"), [("What is Quay?", 1.5), ("How do I install Quay?", 0.4), ("Why is Quay fast?", 0.4)]
)
def test_other_questions_are_looked_for_as_they_are(question: str, idf: float) -> None:
    assert opening_for(question, [term("Quay", idf)], 500) == ""


def test_a_book_of_a_few_passages_is_seen_whole_anyway() -> None:
    assert opening_for("What is Quay?", [term("Quay", 0.1)], 20) == ""
    assert opening_for("What is Quay?", [term("Quay", 0.1)], 21) != ""


async def test_the_opening_of_the_book_is_found() -> None:
    embedder = FakeEmbedder()
    texts = {f"page{at}": f"Quay has option {at}. Set it before Quay starts." for at in range(30)}
    texts["first"] = "Introduction and overview. Quay is a small server for harbours."
    index = await an_index(embedder, texts)
    evidence = await Retriever(index, embedder).find("What is Quay?", book_id="book")
    assert evidence.passages[0].chunk.id == "first"
    assert [one.text for one in evidence.terms] == ["Quay"]


async def test_a_passage_is_found_by_what_it_explains_although_a_hundred_repeat_the_word() -> None:
    embedder = FakeEmbedder()
    texts = {f"used{at}": f"Start broker {at}, then stop that broker." for at in range(120)}
    texts["explained"] = (
        "A broker is a server that hands messages over, one by one, to a worker that is ready for more."
    )
    index = await an_index(embedder, texts)
    retriever = Retriever(index, embedder)
    found = await retriever.find("What is a broker?", book_id="book", limit=20)
    assert "explained" in [passage.chunk.id for passage in found.passages]
    used = await retriever.find("How do I start the broker?", book_id="book", limit=20)
    assert "explained" not in [passage.chunk.id for passage in used.passages]
