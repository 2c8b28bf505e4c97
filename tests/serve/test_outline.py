from __future__ import annotations

import pytest

from quoth.domain import Chunk, Labels
from quoth.serve.outline import CANDIDATES, PageEntry, choices, questions, spread, tree
from samples import chunk


def a_page(title: str, *headings: str, text: str = "words") -> list[Chunk]:
    return [chunk(text, title=title, heading_path=(heading,)) for heading in headings or (title,)]


@pytest.mark.parametrize(
    ("heading", "question"),
    [
        ("Why is the sky blue?", "Why is the sky blue?"),
        ("How to write a launch file", "How do I write a launch file?"),
        ("What a quaternion is", "What is a quaternion?"),
        ("When to use a service", "When should I use a service?"),
        ("Installing Isaac Sim", "How do I install Isaac Sim?"),
        ("Controlling how tests are run", "How do I control how tests are run?"),
        ("Running your first node", "How do I run my first node?"),
        ("Testing your site", "How do I go about testing my site?"),
        ("Write a launch file", "How do I write a launch file?"),
        ("Write speed", "What should I know about Write speed?"),
        ("Who it is for", "What is “Who it is for” about?"),
        ("From speech to a plan", "What is “From speech to a plan” about?"),
        ("Features: iterators", "What is “Features: iterators” about?"),
        ("create-react-app", "What is create-react-app?"),
        ("📦 plugin-pages ⏱️", "What is plugin-pages?"),
        ("String formatting", "What should I know about String formatting?"),
        ("Parameters", "How do Parameters work?"),
        ("Physics", "What should I know about Physics?"),
        ("Worlds and robots", "How do Worlds and robots work?"),
        ("Worlds and light", "What should I know about Worlds and light?"),
        ("Dienstgüte für Themen", "Dienstgüte für Themen"),
        ("服务质量", "服务质量"),
        ("3.2 `tf2` frames {#tf2}", "How do tf2 frames work?"),
    ],
)
def test_a_heading_becomes_a_question(heading: str, question: str) -> None:
    assert question in questions([a_page("Overview", heading)])


def test_a_word_that_the_page_writes_small_is_small_in_the_question() -> None:
    assert questions([a_page("Services", text="a service answers")]) == ["How do services work?"]


def test_of_a_title_only_the_names_stay_large() -> None:
    words = "Rust has variables. In Rust mutability is chosen. ```rust\nrust rust rust rust\n```"
    assert questions([a_page("Variables and Mutability in Rust", text=words)]) == [
        "What should I know about variables and mutability in Rust?"
    ]


def test_a_verb_of_a_title_is_small() -> None:
    words = "Structs _structure_ data. Structure Structure Structure Structure structs data"
    assert questions([a_page("Using Structs to Structure Data", text=words)]) == [
        "How do I use structs to structure data?"
    ]


def test_headings_of_a_book_that_is_not_english_stay_as_they_are() -> None:
    text = "Ein Knoten schickt Nachrichten an einen anderen Knoten. " * 10
    assert questions([a_page("Dienste", text=text)]) == ["Dienste"]


def test_the_glossary_is_asked_for_what_its_words_mean() -> None:
    glossary = a_page("Glossary", "Glossary", text="**Node**: a process.\n\n- **Topic:** a channel.")
    assert questions([glossary]) == ["What does “Node” mean?", "What does “Topic” mean?"]


def test_headings_that_name_no_subject_make_no_question() -> None:
    assert questions([a_page("Introduction", "Summary", "Exercises", "Next steps", "x" * 90)]) == []


def test_there_are_not_too_many_and_all_pages_have_their_turn() -> None:
    pages = [a_page(f"Page number {number}", *(f"Heading {number} {part}" for part in "abcdef")) for number in range(9)]
    found = questions(pages)
    assert len(found) == CANDIDATES == len(set(found))
    assert all(any(str(number) in question for question in found) for number in range(9))
    assert found == questions(pages)
    assert questions([[], []]) == []


def test_spreading_keeps_the_order_and_the_number() -> None:
    assert spread(range(10), 3) == [0, 3, 6]
    assert spread([1, 2], 3) == [1, 2]


def entry(title: str, *trail: str, **labels: object) -> PageEntry:
    return PageEntry(title, title, "", trail, Labels(**labels))  # type: ignore[arg-type]


def test_pages_hang_below_their_folders_in_reading_order() -> None:
    top = tree([entry("Start"), entry("One", "A"), entry("Two", "A", "B"), entry("Three", "A")])
    assert [page.title for page in top.pages] == ["Start"]
    (folder,) = top.sections
    assert ([page.title for page in folder.pages], [below.title for below in folder.sections]) == (
        ["One", "Three"],
        ["B"],
    )


def test_a_page_with_the_name_of_a_folder_opens_it_and_all_know_their_place() -> None:
    top = tree([entry("Start"), entry("A"), entry("One", "A"), entry("Later"), entry("B", "A"), entry("Two", "A", "B")])
    assert [(page.title, page.at) for page in top.pages] == [("Start", 0), ("Later", 3)]
    (folder,) = top.sections
    assert (folder.title, folder.at) == ("A", 1)
    assert [(page.title, page.at) for page in folder.pages] == [("A", 1), ("One", 2)]
    (inner,) = folder.sections
    assert (inner.at, [page.title for page in inner.pages]) == (4, ["B", "Two"])


def test_only_what_differs_can_be_chosen() -> None:
    found = choices([entry("a", module="x", chapter=2, layer="L1"), entry("b", module="y", chapter=1, layer="L1")])
    assert (found.modules, found.chapters, found.layers) == (("x", "y"), (1, 2), ())
