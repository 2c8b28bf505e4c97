"""What a passage explains: the names that a question about their meaning finds it by."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from quoth.text.definitions import explained_in, mark_of, without_its_kind, without_its_number


def explains(name: str, text: str, *, heading: str = "", above: str = "") -> bool:
    return mark_of(name) in explained_in(text, text, heading, above)


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("celery beat", "Beware of the clock. Celery beat is a scheduler."),
        ("watchdog", "A watchdog (or timer) is what stops the motors."),
        ("QoS", "QoS stands for quality of service."),
        ("signature", "A signature wraps the arguments of one call."),
        ("acks late", "- **Acks late**: the message is acknowledged afterwards."),
        ("max_retries", "``max_retries`` - how often it is tried."),
        ("max_retries", "**`max_retries`**\n: How often it is tried."),
    ],
)
def test_a_sentence_or_an_entry_in_bold_explains_its_name(name: str, text: str) -> None:
    assert explains(name, text)
    assert not explains("scheduler", text)


def test_entries_explain_where_the_section_is_a_glossary() -> None:
    text = "Broker\n    Carries messages.\n"
    assert explains("broker", text, above="Guide\nGlossary")
    assert not explains("broker", text, above="Guide\nSetup")


def test_the_passage_that_opens_a_section_explains_its_name() -> None:
    assert explains("Closures", "Functions may keep what is around them.", heading="Closures")
    assert explains("closure", "Functions may keep what is around them.", heading="Closures (advanced)")


@pytest.mark.parametrize(
    "heading",
    [
        *(
            "3.6 Closures",
            "3.6.6. Closures",
            "A.2.1. Closures",
            "Chapter 4. Closures",
            "Appendix C Closures",
            "(5) closures",
        ),
        *("4 Closures", "Chapter 4 — Closures", "lang.closures — Closures", "Closures - what they keep"),
    ],
)
def test_the_number_of_a_section_is_not_a_part_of_its_name(heading: str) -> None:
    assert explains("closure", "Functions may keep what is around them.", heading=heading)


@pytest.mark.parametrize("heading", ["2D plots", "404 Not found", "C closures", "3 closures"])
def test_a_number_that_belongs_to_the_name_stays(heading: str) -> None:
    assert without_its_number(heading) == heading


def test_the_kind_of_a_name_does_not_count() -> None:
    assert without_its_kind("acks_late option") == "acks_late"
    assert without_its_kind("option") == "option"
    assert explains("the acks_late setting", "Late.", heading="acks_late")


@pytest.mark.parametrize(
    "text", ["This is a test.", "It means the end.", "Note that there is one.", "You are the user."]
)
def test_what_only_points_is_no_name(text: str) -> None:
    assert explained_in(text, text, "") == frozenset()


@pytest.mark.parametrize("heading", ["How to write a page about anything at all", "of the"])
def test_a_long_heading_or_one_without_content_names_nothing(heading: str) -> None:
    assert explained_in("", "", heading) == frozenset()


@pytest.mark.parametrize("text", ["**  **:", "``  ``:", "\u2003"])
def test_a_blank_name_is_none(text: str) -> None:
    assert explained_in(text, text, text, "Glossary") == frozenset()


@given(text=st.text(st.sampled_from("ab*_`:-. \n\t(\u2003"), max_size=40))
def test_no_text_is_too_strange(text: str) -> None:
    assert None not in explained_in(text, text, text, "Glossary")
