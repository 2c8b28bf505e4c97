"""What kind of thing a question asks for, and whether a sentence holds one."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from quoth.ask.kinds import kind_asked


@pytest.mark.parametrize(
    ("question", "holding", "lacking"),
    [
        ("How much does the board cost?", "It is sold for 12 €.", "It is found on cheap boards with 2 sensors."),
        ("How long may a stop take?", "A stop takes 300 ms.", "A stop removes power in 2 steps."),
        ("How many seconds of history are kept?", "The buffer keeps 10 seconds.", "The buffer is empty at 0."),
        ("How often is it sent?", "It is sent twice.", "It is sent by the node."),
        ("At what rate does it publish?", "It publishes at 50 Hz.", "It publishes all 12 of them."),
        ("What percentage of the runs failed?", "A third of them failed.", "12 runs failed."),
        ("When was the standard published?", "It was published in 2011.", "It was published by a committee."),
        ("Which year did it begin?", "It began during the war.", "It began with a small grant."),
        ("What is the maximum load?", "It carries up to 5 kg.", "It carries a load of 5 kg."),
        ("Who wrote the planner?", "It was written by Steve Macenski.", "It was written by a student."),
        ("Which company built RT-1?", "It was built by Google.", "It was built for RT-1."),
        ("How many threads does it start?", "It starts 4 threads.", "It starts threads."),
        ("How many threads does it start?", "It starts four threads.", "It starts many threads."),
        ("What queue depth does it use?", "It uses a depth of 5.", "It uses a queue."),
        ("Which I²C address has the chip?", "The chip answers at 0x68.", "The chip has an address."),
    ],
)  # fmt: skip
def test_a_sentence_holds_what_is_asked_for_or_lacks_it(question: str, holding: str, lacking: str) -> None:
    holds = kind_asked(question)
    assert holds is not None
    assert (holds(holding), holds(lacking)) == (True, False)


@pytest.mark.parametrize("named", ["the MPU-6050", "on ROS 2", "an RTX 4080", "the v2 model", "section-3"])
def test_the_number_in_a_name_counts_nothing(named: str) -> None:
    holds = kind_asked("How many threads does it start?")
    assert holds is not None
    assert not holds(f"It starts threads {named}.")
    assert holds(f"It starts 8 threads {named}.")


def test_what_the_question_says_itself_does_not_answer_it() -> None:
    threads, who = kind_asked("How many of the 8 threads are free?"), kind_asked("Who calls Gazebo?")
    assert threads is not None
    assert who is not None
    assert (threads("Of 8 threads some are free."), threads("Of 8 threads 3 are free.")) == (False, True)
    assert (who("The bridge calls Gazebo."), who("The bridge and Rviz call Gazebo.")) == (False, True)


@pytest.mark.parametrize(
    "question",
    ["Why does it jump?", "What is a node?", "How do I start it?", "Welche Rate hat der Sensor?", "", "rate"],
)
def test_where_any_sentence_may_answer_nothing_is_asked_for(question: str) -> None:
    assert kind_asked(question) is None


@given(st.sampled_from(["How many?", "Who?", "How long?", "What is the cost?"]), st.text())
def test_any_text_can_be_looked_at(question: str, text: str) -> None:
    holds = kind_asked(question)
    assert holds is not None
    assert holds(text) in (True, False)


def test_what_is_said_beside_the_question_is_not_asked_for() -> None:
    assert kind_asked("Which package tells me how far away something is?") is None
    assert kind_asked("Why does it matter which address it has?") is None


def test_a_bound_of_an_amount_may_be_the_amount() -> None:
    holds = kind_asked("How much disk space do I need at least?")
    assert holds is not None
    assert holds("| Disk | 50 GB on an SSD |")
    assert holds("The minimum is the size of the image.")
    assert not holds("The disk should be fast.")
