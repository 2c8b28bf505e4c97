"""The form of a sentence: what announces, repeats or exercises a subject does not answer."""

from __future__ import annotations

import pytest

from quoth.ask.asked import absent_identifiers, asks_nothing
from quoth.ask.check import check
from quoth.ask.extract import draft
from quoth.ask.follow_up import readings, rewrite
from quoth.domain import Chunk, Draft, Evidence, Passage, QueryTerm
from quoth.text.terms import query_terms
from samples import chunk


def evidence(query: str, *chunks: Chunk, unknown: str = "") -> Evidence:
    passages = tuple(Passage(one, score=0.8 - at / 20, similarity=0.8 - at / 20) for at, one in enumerate(chunks))
    terms = tuple(QueryTerm(term.text, term.id, 3.0, in_book=term.text != unknown) for term in query_terms(query))
    return Evidence(query=query, passages=passages, total_found=len(chunks), terms=terms)


def answer(query: str, *texts: str | Chunk) -> Draft:
    chunks = [text if isinstance(text, Chunk) else chunk(text, start=100, id=f"c{at}") for at, text in enumerate(texts)]
    made = draft(query, evidence(query, *chunks))
    grounding = check(made.text, made.citations, query)
    assert grounding.supported == grounding.total
    return made


def marked(made: Draft) -> str:
    """The decisive sentence of the first citation."""
    [first, *_] = made.citations
    assert first.highlight is not None
    return first.quote[slice(*first.highlight)]


def section(text: str, *headings: str, **fields: object) -> Chunk:
    return chunk(text, heading_path=headings, breadcrumb=("Book", *headings), **fields)  # type: ignore[arg-type]


# --- sentences that answer nothing ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "announcement",
    [
        "In this lesson you measure the rate of the lidar driver.",
        "This chapter explains the rate of the lidar driver.",
        "Next, we will look at the rate of the lidar driver.",
        "Now let’s see the rate of the lidar driver.",
    ],
)
def test_what_a_lesson_announces_is_not_its_answer(announcement: str) -> None:
    made = answer("What is the rate of the lidar driver?", f"{announcement}\n\nThe lidar driver runs at 10 Hz.")
    assert marked(made) == "The lidar driver runs at 10 Hz."


def test_a_table_of_contents_is_no_list_of_steps() -> None:
    made = answer(
        "How do I install the driver on Linux?",
        "In this chapter, we will discuss:\n\n- Installing the driver on Linux\n- Writing a program",
        "On Linux, enter the following command:\n\n```sh\napt install driver\n```\n",
    )
    assert "apt install driver" in made.text
    assert "In this chapter" not in made.text


def test_a_paragraph_is_quoted_without_what_it_says_about_the_lesson() -> None:
    made = answer("Who reads the laser?", "The driver reads the laser. In this lesson you write one.")
    assert made.text == "The driver reads the laser. [1]"


def test_an_exercise_does_not_answer() -> None:
    exercise = section("## Check yourself\n\nRecord two topics and play them back at half speed.", "Check yourself")
    lesson = section("## Recording\n\nPlay a recording at another speed:\n\n```sh\nplay --rate 0.5\n```\n", "Recording")
    assert "play --rate 0.5" in answer("How do I play topics back at half speed?", exercise, lesson).text


def test_frequent_questions_are_no_exercise() -> None:
    faq = section("## Frequently asked questions\n\nThe battery lasts four hours.", "Frequently asked questions")
    assert marked(answer("How long does the battery last?", "A battery is heavy.", faq)) == (
        "The battery lasts four hours."
    )


def test_a_list_of_questions_does_not_answer() -> None:
    asked = "1. I deleted rows but the file did not shrink. Is this wrong?\n2. How is a file made smaller? Is it easy?"
    answered = "Rows that are deleted leave their pages in the file, which shrinks when it is vacuumed."
    made = answer("Why did the file not shrink after I deleted rows?", asked, answered)
    assert made.text.startswith("Rows that are deleted leave")


def test_the_title_of_a_box_brings_what_is_in_the_box() -> None:
    said = "An image of the robot is made of its disk, its memory and all settings."
    box = "*TOOL* How images of robots are made\n\nThe builder does it."
    assert "The builder does it." in answer("Which image of the robot is made?", f"{said}\n\n{box}").text


# --- definitions -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("heading", ["Lidar", "3.2 Lidar", "A.2.1. Lidar", "Chapter 3. Lidar", "sensors.lidar - LIDAR"])
def test_the_section_that_is_named_after_a_term_explains_it_whatever_its_number(heading: str) -> None:
    beside = section("`lidar-mount` contains brackets for every lidar.", "3.1 Mounts", id="mount")
    named = section(f"## {heading}\n\nMeasures distances by light. It turns ten times a second.", heading, id="named")
    assert answer("What is lidar?", beside, named).citations[0].chunk.id == "named"


def test_an_entry_for_the_term_comes_before_what_uses_it() -> None:
    used = "If the `nocase` option is set, the patterns match without regard to case."
    entry = "**`dotglob`**\n: Dots match.\n\n**`nocase`**, **`-n`**\n: Names match in any case."
    made = answer("What does the nocase option do?", used, entry)
    assert marked(made).endswith("Names match in any case.")


def test_only_the_beginning_of_a_section_is_introduced_by_its_heading() -> None:
    note = section(
        "(Historical note: the affinity NONE is now called BLOB.)", "3. Affinity", id="note", prev_chunk_id="x"
    )
    opens = section("## 3. Affinity\n\nColumns prefer a type, which is recommended.", "3. Affinity", id="opens")
    assert answer("What is affinity?", note, opens).citations[0].chunk.id == "opens"


def test_a_section_that_says_how_or_when_does_not_say_what() -> None:
    when = section("## When and how to do an NMU\n\nGive some time first.", "When and how to do an NMU", id="when")
    what = section("An NMU is an upload by somebody else.", "Uploads", id="what")
    assert answer("What is an NMU?", when, what).citations[0].chunk.id == "what"


def test_a_judgement_is_no_definition() -> None:
    text = "The log is a better solution to it.\n\nThe log is a file of changes."
    assert marked(answer("What is the log?", text)) == "The log is a file of changes."


def test_a_term_in_another_spelling_is_the_same_term() -> None:
    other = "bcrypt is often compared with a slow hash. Passwords go through bcrypt."
    assert marked(answer("What is bcrypt?", f"{other}\n\nBCrypt is a hash for passwords.")).startswith(
        "BCrypt is a hash"
    )


def test_a_paragraph_that_explains_is_quoted_from_its_beginning() -> None:
    more = "It weighs little and turns ten times a second, so that a map is never old. " * 6
    text = f"A lidar, unlike a camera, measures with light. A lidar is a sensor of distances. {more}"
    assert answer("What is a lidar?", text).text.startswith("A lidar, unlike a camera, measures with light.")


def test_the_entry_of_a_part_of_the_term_defines_it() -> None:
    entry = chunk(
        "## QoS\n\nQuality of service: the settings that both sides must agree on.",
        id="entry",
        heading_path=("QoS",),
        breadcrumb=("Glossary", "QoS"),
        title="Glossary",
    )
    lesson = "Ready-made profiles exist. In Python it is `rclpy.qos.qos_profile_sensor_data`."
    assert answer("What is a QoS profile?", lesson, entry).text.startswith("Quality of service: the settings")


@pytest.mark.parametrize(
    "definition",
    [
        "_Ownership_ is a set of rules for memory.",
        "**Ownership** governs memory.",
        "Ownership (of values, not of books) is a set of rules for memory.",
        "Ownership: a set of rules for memory.",
    ],
)
def test_the_sentence_that_defines_a_term_comes_before_others_about_it(definition: str) -> None:
    others = "The features of ownership cost nothing.\n\nBecause ownership is new, it takes time."
    text = f"{others}\n\n{definition}"
    assert marked(answer("What is ownership?", text)) == definition


def test_a_remark_with_a_colon_is_no_definition() -> None:
    text = "Lifetime annotations have an unusual syntax: names begin with an apostrophe.\n\nLifetimes are generics."
    assert marked(answer("What are lifetimes?", text)) == "Lifetimes are generics."


def test_something_of_a_thing_is_not_asked_as_a_definition() -> None:
    text = "A bag is a file.\n\nBags are used for debugging."
    assert marked(answer("What are bags used for?", text)) == "Bags are used for debugging."


# --- steps, values, messages -----------------------------------------------------------------------------------------


def test_advice_brings_the_command_of_its_section() -> None:
    first = section(
        "## Recording\n\nA bag is a file.\n\n```sh\nbag record -a\nbag play run1\n```\n", "Recording", id="a"
    )
    second = section(
        "Some advice on a bag:\n\n1. Record a bag of all frames.\n2. When you play a bag back, use its clock.",
        "Recording",
        id="b",
        start=200,
    )
    made = answer("How do I record a bag and play it back?", second, first)
    assert "bag play run1" in made.text
    assert "2. When you play a bag back, use its clock. [2]" in made.text


def test_numbered_steps_of_something_else_are_not_the_steps() -> None:
    steps = "The loop repeats this until it ends:\n\n1. Read the input.\n2. Stop redirected output.\n3. Show a prompt."
    told = "Users cannot redirect any output after `set redirect off` was run."
    loop = section(steps, "Loop", id="loop")
    made = answer("How do I stop users from redirecting the output?", section(told, "Output", id="told"), loop)
    assert marked(made) == told


def test_a_sentence_that_breaks_off_goes_on_in_the_code_below() -> None:
    text = (
        "A substitution refers to the output of a process. It takes the form of\n\n```\n<(list)\n```\n\nAnd no space."
    )
    assert "```\n<(list)\n```" in answer("What form does a process substitution take?", text).text


def test_a_tab_that_a_chunk_cut_off_is_taken_where_the_question_names_it() -> None:
    first = section(
        "## Files\n\nLaunch files can be written in XML or YAML:\n\n<Tabs>\n"
        '<TabItem value="xml" label="XML">\n\n```xml\n<launch/>\n```\n\n</TabItem>\n',
        "Files",
        id="a",
        source_file="x.md",
    )
    second = section(
        '<TabItem value="yaml" label="YAML">\n\n```yaml\nlaunch: []\n```\n\n</TabItem>\n</Tabs>\n',
        "Files",
        id="b",
        start=300,
        source_file="x.md",
    )
    made = answer("How do I write a launch file in YAML?", first, second)
    assert "launch: []" in made.text
    assert "<launch/>" not in made.text


def test_the_facts_that_open_a_section_are_about_its_heading() -> None:
    option = section("## server.port\n\n- **Type:** `number`\n- **Default:** `5173`\n\nSpecify it.", "server.port")
    other = "The server listens on the port that a server forwards."
    made = answer("What is the default server port?", other, option)
    assert "5173" in made.text
    assert marked(made) == "**Default:** `5173`"


def test_an_error_message_is_found_in_the_output_that_has_it() -> None:
    made = answer(
        "error[E0382]: borrow of moved value",
        "Values are moved. You get an error like this:\n\n```console\nerror[E0382]: borrow of moved value: `s1`\n```\n",
    )
    assert "error[E0382]: borrow of moved value: `s1`" in made.text


def test_a_sentence_that_repeats_the_question_brings_what_follows() -> None:
    text = "> Failed to fetch the module\n\nThis happens when the network is down."
    assert "the network is down" in answer("Failed to fetch the module", text).text


def test_code_that_was_cut_into_chunks_is_one_block() -> None:
    first = section(
        "## Proxy\n\nConfigure a proxy like this:\n\n```js\nconst proxy = {\n",
        "Proxy",
        id="a",
        next_chunk_id="b",
        source_file="x.md",
    )
    second = section("  target: 1,\n}\n```\n", "Proxy", id="b", start=300, source_file="x.md", lead="```js")
    made = answer("How do I configure a proxy?", first, second)
    assert made.text.count("```") == 2
    assert "const proxy = {\n  target: 1,\n}" in made.text
    assert made.text.endswith("[1][2]")


def test_a_list_of_definitions_is_a_list() -> None:
    entries = "`ClusterIP`\n: Inside only. It is the default.\n\n`NodePort`\n: On each node."
    text = f"The service types are:\n\n{entries}\n\nBye."
    made = answer("What are the service types?", text)
    assert "- `ClusterIP`: Inside only. It is the default. [1]\n- `NodePort`: On each node. [1]" in made.text
    assert "Bye" not in made.text


def test_a_link_whose_target_is_elsewhere_on_the_page_is_shown_as_its_words() -> None:
    made = answer("Where are types explained?", "Types are explained in [“Data Types”][types] and in `a[0][1]`.")
    assert made.text == "Types are explained in “Data Types” and in `a[0][1]`. [1]"


def test_the_example_is_in_the_format_that_the_question_names() -> None:
    shell = "Start a world:\n\n```sh\nsim world.txt\n```\n"
    world = 'A world is a file.\n\n```xml title="field.sdf"\n<world/>\n```\n'
    assert "<world/>" in answer("Give me an example of a world in SDF.", shell, world).text


# --- comparisons and greetings ---------------------------------------------------------------------------------------


def test_a_name_is_held_only_as_it_is_written() -> None:
    made = answer(
        "What is the difference between a Deployment and a StatefulSet?",
        "When Pods of a StatefulSet are deployed, they are created in order.",
        "A StatefulSet keeps an identity. This is different from a Deployment, whose Pods are interchangeable.",
    )
    assert marked(made) == "This is different from a Deployment, whose Pods are interchangeable."


def test_each_side_is_shown_by_the_sentence_that_defines_it() -> None:
    made = answer(
        "topic vs action",
        "An action can be slow.\n\nA topic has a name.\n\nA **topic** is a stream.",
        "An **action** is a long task with feedback.",
    )
    assert "A **topic** is a stream." in made.text
    assert "An **action** is a long task with feedback." in made.text


@pytest.mark.parametrize(
    "both",
    [
        "It runs on a service, an action and a topic alike.",
        "There are several ways:\n\n- Service\n- Action\n- Topic",
        "The service and the action were written by the same people.",
    ],
)
def test_what_only_names_both_sides_does_not_compare_them(both: str) -> None:
    service = chunk("A service is a call that answers once.", id="service")
    action = chunk("An action is a goal that reports progress.", id="action")
    made = answer("service vs action", chunk(both, id="both"), service, action)
    assert [citation.chunk.id for citation in made.citations] == ["service", "action"]


@pytest.mark.parametrize(
    "both",
    [
        "A service answers once, but an action reports progress.",
        "- **Service**: it is called and answers only once.\n- **Action**: it is started and then reports progress.",
    ],
)
def test_what_sets_both_sides_apart_is_the_comparison(both: str) -> None:
    service = chunk("A service is a call.", id="service")
    made = answer("service vs action", service, chunk("An action is a goal.", id="action"), chunk(both, id="both"))
    assert {citation.chunk.id for citation in made.citations} == {"both"}


def test_a_comparison_with_something_unknown_is_about_something_absent() -> None:
    question = "What is the difference between a service and a croissant?"
    text = chunk("A service answers.")
    assert absent_identifiers(question, evidence(question, text, unknown="croissant")) == ("croissant",)
    assert absent_identifiers(question, evidence(question, text)) == ()


@pytest.mark.parametrize("name", ["local_setup.bash", "sensor_msgs/msg/Imu", "`ros2 bag`", "setup.bash"])
def test_a_name_that_is_written_in_a_passage_is_not_absent(name: str) -> None:
    question = f"What is {name}?"
    text = chunk("Source /opt/setup.bash or `local_setup.bash`, then send sensor_msgs/msg/Imu with `ros2 bag`.")
    assert absent_identifiers(question, evidence(question, text)) == ()


def test_what_is_compared_is_searched_for_by_name_and_meant_as_asked() -> None:
    query = rewrite("What is the difference between a service and an action?", [])
    assert (query.text, query.phrase) == (
        "service and an action",
        "What is the difference between a service and an action?",
    )


@pytest.mark.parametrize("said", ["hello", "Hi there!", "Thank you very much.", "who are you?", "Hola", "ok, thanks"])
def test_a_greeting_asks_for_nothing(said: str) -> None:
    assert asks_nothing(said)
    [nothing] = readings(said, evidence(said, chunk("Run hello_sim.")))
    assert nothing.passages == ()


@pytest.mark.parametrize(
    "said", ["hello world example", "What does help print?", "test", "thanks, and for parameters?"]
)
def test_a_question_that_begins_like_a_greeting_is_one(said: str) -> None:
    assert asks_nothing(said) is (said == "test")


# --- where a term is explained ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "explained",
    [
        "Every reference has a lease, which is the time for which it may be used.",
        "The time for which a reference may be used is called its owner's word, also known as a lease.",
        "The time for which a reference may be used is called a lease.",
    ],
)
def test_the_meaning_may_stand_beside_the_term(explained: str) -> None:
    made = answer("What is a lease?", f"Write the lease before the type.\n\n{explained}\n\nEvery lease ends one day.")
    assert marked(made) == explained


def test_what_only_uses_a_term_explains_nothing() -> None:
    made = answer(
        "What is a lease?", "Take the box, which is called a crate, with its lease.\n\nA lease is a time limit."
    )
    assert marked(made) == "A lease is a time limit."
