from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from quoth.ask.instructions import instruction_in


@pytest.mark.parametrize(
    ("request_", "kind", "searched"),
    [
        ("Give me a code example of a publisher", "example", "publisher code example"),
        ("Show me an example of a launch file, please", "example", "launch file example"),
        ("Show the code for a subscriber", "example", "subscriber code example"),
        ("Can you give me an example?", "example", "example"),
        ("explain tf2 to a beginner", "simplify", "tf2"),
        ("Explain quaternions in plain English", "simplify", "quaternions"),
        ("Explain like I'm five how tf2 works", "simplify", "tf2"),
        ("Explain the deadline policy simply", "simplify", "deadline policy"),
        ("Explain in simple terms what an action is", "simplify", "action"),
        ("Explain this in simple words", "simplify", ""),
        ("Make it shorter", "simplify", ""),
        ("Please rephrase the selection", "simplify", ""),
        ("Explain this", "explain", ""),
        ("What does this mean?", "explain", ""),
        ("Translate this to Urdu", "translate", ""),
        ("Could you translate the section on topics into German?", "translate", "topics"),
        ("What is the main idea?", "summarise", ""),
        ("What is this text about?", "summarise", ""),
        ("tl;dr", "summarise", ""),
        ("Summarise what you said", "summarise", ""),
        ("sum up what you have told me so far", "summarise", ""),
        ("Summarize our conversation", "summarise", ""),
        ("Translate your last answer into French", "translate", ""),
        ("explain the reply object in simple words", "simplify", "reply object"),
        ("Summarize the chapter on QoS", "summarise", "QoS"),
        ("Give me a summary of the navigation chapter", "summarise", "navigation"),
        ("What are the key points?", "summarise", ""),
        ("Quiz me", "quiz", ""),
        ("What is an overlay, in Urdu?", "translate", "overlay"),
        ("What is a node in simple words?", "simplify", "node"),
        ("quiz me on services", "quiz", "services: check yourself, exercise"),
        ("Write three practice questions about QoS", "quiz", "QoS: check yourself, exercise"),
        ("I'd love an example of a blueprint", "example", "blueprint example"),
        ("Can I see some sample code for cancel scopes?", "example", "cancel scopes code example"),
        ("Any example of using npm link?", "example", "npm link example"),
        ("Please illustrate the request context with an example", "example", "request context example"),
        ("Provide a code example demonstrating teardown handlers", "example", "teardown handlers code example"),
        ("Give me a real-life analogy for nurseries", "example", "nurseries example"),
        ("explain nurseries like I am twelve", "simplify", "nurseries"),
        ("Explain like I'm five: what is a cancel scope?", "simplify", "cancel scope"),
        ("ELI5 cancel scopes", "simplify", "cancel scopes"),
        ("Break down how fixtures work for a newbie", "simplify", "fixtures"),
        ("Put the section on environments in your own words", "simplify", "environments"),
        ("Dumb it down: application contexts", "simplify", "application contexts"),
        ("explain nurseries to someone coming from asyncio", "simplify", "nurseries"),
        ("Explain this to my grandmother", "simplify", ""),
        ("Rewrite this paragraph for a twelve year old", "simplify", ""),
        ("Make this easier to read", "simplify", ""),
        ("Help me understand contexts", "simplify", "contexts"),
        ("Pretend you are a pirate and explain workspaces", "simplify", "workspaces"),
        ("Paraphrase the paragraph about lockfiles", "simplify", "lockfiles"),
        ("Explain to me in Urdu what a nursery is", "translate", "nursery"),
        ("Explain workspaces in German", "translate", "workspaces"),
        ("Translate to German: what is a fixture?", "translate", "fixture"),
        ('How do you say "cancel scope" in French?', "translate", "cancel scope"),
        ("Summarise the chapter on cancellation in three bullets", "summarise", "cancellation"),
        ("Summarise workspaces in French", "summarise", "workspaces"),
        ("Sum up what the book says about package locks", "summarise", "package locks"),
        ("Shorten this to one sentence", "summarise", ""),
        ("Turn this into bullet points", "summarise", ""),
        ("What's the bottom line of this paragraph?", "summarise", ""),
        ("Draft a quick overview of hatch environments", "summarise", "hatch environments"),
        ("make a cheat sheet for hatch commands", "summarise", "hatch commands"),
        ("What should I remember from this?", "summarise", ""),
        ("Test my knowledge of fixtures", "quiz", "fixtures: check yourself, exercise"),
        ("Make me three flashcards about cancel scopes", "quiz", "cancel scopes: check yourself, exercise"),
        ("Come up with a quiz about nurseries", "quiz", "nurseries: check yourself, exercise"),
        ("Give me five interview questions on package.json", "quiz", "package.json: check yourself, exercise"),
        ("What would be a good exercise about semver?", "quiz", "semver: check yourself, exercise"),
        ("Compare topics and services", "compare", "topics and services"),
        ("What is the difference between topics and services?", "compare", "topics and services"),
    ],
)
def test_an_instruction_is_searched_for_by_its_object(request_: str, kind: str, searched: str) -> None:
    found = instruction_in(request_)
    assert found is not None
    assert (found.kind, found.searched) == (kind, searched)


@pytest.mark.parametrize(
    "question",
    [
        "How do I write a launch file?",
        "What does the deadline policy name?",
        "What is tf2?",
        "Which example shows a publisher?",
        "Which difference is larger?",
        "Who wrote this?",
        "Explain why the node needs a name",
        "Tell me about the executor",
        "Make a publisher that sends at 10 Hz",
        "Can you show me how to write a publisher?",
        "Wie viel Volt führt das rote Kabel?",
        "Write a small test that uses monkeypatch",
        "Is there an option for scoped packages?",
        "How do I explain a failure to my users?",
        "What should I remember to install?",
        "rewrite an old manifest for a newer API version",
        "Is there a codemod that rewrites my config?",
        "",
    ],
)
def test_a_question_is_not_an_instruction(question: str) -> None:
    assert instruction_in(question) is None


@pytest.mark.parametrize(
    "request_", ["Summarise the book", "What is this book about?", "Give me an overview of the whole documentation"]
)
def test_the_book_itself_is_no_word_to_look_for_in_it(request_: str) -> None:
    found = instruction_in(request_)
    assert found is not None
    assert (found.object, found.whole_book) == ("", True)


@given(st.text(max_size=200))
def test_the_object_is_never_longer_than_the_request(request_: str) -> None:
    found = instruction_in(request_)
    assert found is None or len(found.object) <= len(request_)
