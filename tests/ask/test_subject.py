"""Which words of a conversation readers are shown as the subject of their follow-up."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from quoth.ask.subject import antecedent, noun_phrases, subject
from quoth.domain import CitedSource, PastTurn


@pytest.mark.parametrize(
    ("question", "phrases"),
    [
        ("How do I write a launch file?", ["launch file"]),
        ("What is the kinetic energy of a body?", ["kinetic energy of a body"]),
        ("What does the energy function return?", ["energy function"]),
        ("What is the difference between a service and an action?", ["difference", "service and an action"]),
        ("How do I record a bag and play it back?", ["bag"]),
        ("How does the TF tree relate to frames?", ["TF tree"]),
        ("Where is the map kept?", ["map"]),
        ("Which publisher drops samples?", ["publisher"]),
        ("Which sensors publish data?", ["sensors"]),
        ("Which durability keeps the last message?", ["durability", "last message"]),
        ("How many legs does Spot have?", ["Spot"]),
        ("What does converge do?", ["converge"]),
        ("What compression filters are available?", ["compression filters"]),
        ("What databases are supported?", ["databases"]),
        ("Which of them is best for me?", []),
        ("Can timeouts be cancelled?", ["timeouts"]),
        ("How long does a timeout last by default?", ["timeout"]),
        ("How do I do a join?", ["join"]),
        ("What does the ? operator do?", ["operator"]),
        ("what r peer dependencies", ["peer dependencies"]),
        ("String and str", ["String and str"]),
        ("What does --symlink-install do?", ["--symlink-install"]),
        ("What is a hook used for?", ["hook"]),
        ("How do I roll one back?", []),
        ("Which is faster?", []),
        ("What about Vagrant instead?", ["Vagrant"]),
        ("wht is a virtual dataset", ["virtual dataset"]),
        ("Was she trained by Ada Lovelace?", ["Ada Lovelace"]),
        ("How was he linked to Ada Lovelace?", ["Ada Lovelace"]),
        ("Where was she born?", []),
        ("What is Salt and Straw?", ["Salt and Straw"]),
        ("Does that cancel its jobs?", ["jobs"]),
        ("What happened after leaving the old project?", ["old project"]),
        ("What comes after leaving orbit?", ["orbit"]),
        ("How do I put my changes aside?", ["changes"]),
        ("Does it support Windows?", ["Windows"]),
        ("launch file parameters", ["launch file parameters"]),
        # A verb may be in it, and nothing around it shows where.
        ("Does a node publish messages?", []),
        ("Wie schreibe ich eine Launch-Datei?", []),
        ("", []),
    ],
)
def test_noun_phrases_of_a_question(question: str, phrases: list[str]) -> None:
    assert list(noun_phrases(question)) == phrases


@given(st.text(alphabet="ab I.?ofthe and", max_size=80))
def test_a_phrase_is_a_part_of_the_question_and_short(text: str) -> None:
    for phrase in noun_phrases(text):
        assert phrase in text
        assert 0 < len(phrase.split()) <= 6


def test_a_very_long_chain_of_things_is_read_without_a_fault() -> None:
    assert list(noun_phrases("How large is a " + "bag of " * 5_000)) == []


def test_the_subject_holds_the_word_that_is_most_meant() -> None:
    turns = [PastTurn("How do I write a launch file?"), PastTurn("Where is the map kept?")]
    assert subject(turns, ["launch", "file"]) == "launch file"
    assert subject(turns, ["map", "launch"]) == "map"


def test_without_a_phrase_that_reads_well_a_heading_of_the_last_answer_is_the_subject() -> None:
    sources = (CitedSource(1, "a", "Topics", "Late subscribers"), CitedSource(2, "b", "Topics", "Dropped samples"))
    asked = PastTurn("Does a node publish samples?", "The fast one. [1]", sources=sources)
    assert subject([asked], ["samples", "node"]) == "Dropped samples"
    assert subject([asked], ["node", "samples"]) == ""


@pytest.mark.parametrize(
    "heading",
    [
        "What is supported?",
        "Appendix: Creating a file",
        "Reference",
        "Usage example",
        "How samples are lost",
        "FAQ (old)",
    ],
)
def test_a_heading_that_does_not_read_well_before_a_question_is_not_shown(heading: str) -> None:
    asked = PastTurn("Does a node publish samples?", "The fast one. [1]", sources=(CitedSource(1, "a", "", heading),))
    words = heading.split()
    assert subject([asked], words) == ""


def test_a_verb_that_is_rarer_than_its_thing_does_not_hide_the_thing() -> None:
    assert subject([PastTurn("Where is the config stored?")], ["stored", "config"]) == "config"
    assert subject([PastTurn("Does a node publish messages?"), PastTurn("What is a bag?")], ["publish", "bag"]) == ""


def test_an_identifier_counts_once_and_not_for_each_of_its_parts() -> None:
    turns = [PastTurn("How do I publish to PyPI?"), PastTurn("Do I need a token?")]
    assert subject(turns, ["token", "PyPI"]) == "token"


@pytest.mark.parametrize(
    ("question", "asked", "meant"),
    [
        ("Where are they stored?", ["What is a nursery?", "What are memory channels?"], "memory channels"),
        ("Where is it stored?", ["How do I publish to PyPI?", "Do I need a token for that?"], "token"),
        ("When are they called?", ["What does the prefix do?", "Can I use it for hooks?"], "hooks"),
        ("Is it async?", ["What does the prefix do?", "Can I use it for hooks?"], "prefix"),
        ("Where are they stored?", ["What are attributes?", "What are groups?"], "groups"),
        ("Where is its log?", ["What is a process?"], "process"),
        ("Can I change it?", ["How large is bodyLimit?", "What is the default?"], "bodyLimit"),
        ("Are they related?", ["What is the difference between a service and an action?"], "service and an action"),
        ("What else?", ["What is a nursery?"], None),
        ("Can it be interrupted?", ["How do I create a process?", "and in Docker?"], "process"),
        ("Where are they stored?", ["What is a nursery?"], ""),
        ("How do I remove one?", ["Which is for scripts?", "And the packages themselves?"], "packages"),
        ("How do I remove one?", ["What is a nursery?"], "nursery"),
    ],
)
def test_a_pronoun_means_the_thing_last_spoken_of_that_agrees_with_it(
    question: str, asked: list[str], meant: str | None
) -> None:
    assert antecedent(question, [PastTurn(one) for one in asked]) == meant


def test_nothing_taken_over_is_no_subject() -> None:
    assert subject([PastTurn("What is a bag?")], []) == ""
    assert subject([], ["bag"]) == ""
