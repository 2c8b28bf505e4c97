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
        ("Installing Isaac Sim", "How do I go about installing Isaac Sim?"),
        ("String formatting", "What should I know about String formatting?"),
        ("Parameters", "How do Parameters work?"),
        ("Physics", "What should I know about Physics?"),
        ("Worlds and robots", "How do Worlds and robots go together?"),
        ("Dienstgüte für Themen", "Dienstgüte für Themen"),
        ("服务质量", "服务质量"),
        ("3.2 `tf2` frames {#tf2}", "How do tf2 frames work?"),
    ],
)
def test_a_heading_becomes_a_question(heading: str, question: str) -> None:
    assert question in questions([a_page("Overview", heading)])


def test_a_word_that_the_page_writes_small_is_small_in_the_question() -> None:
    assert questions([a_page("Services", text="a service answers")]) == ["How do services work?"]


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


def test_only_what_differs_can_be_chosen() -> None:
    found = choices([entry("a", module="x", chapter=2, layer="L1"), entry("b", module="y", chapter=1, layer="L1")])
    assert (found.modules, found.chapters, found.layers) == (("x", "y"), (1, 2), ())
