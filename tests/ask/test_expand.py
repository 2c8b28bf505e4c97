"""What is quoted together with a sentence."""

from __future__ import annotations

from quoth.ask.asked import Asked
from quoth.ask.blocks import layout
from quoth.ask.expand import Expansion
from quoth.domain import Chunk
from samples import chunk


def around(text: str | Chunk, position: int, asked: Asked = Asked("fact"), question: str = "") -> list[str]:
    here = layout(chunk(text) if isinstance(text, str) else text)
    places = Expansion([here], asked, question).around(0, position)
    return [here.text(at) for _, at in sorted(places)]


def test_sentences_about_the_text_are_left_out_at_both_ends() -> None:
    text = "In this part we begin. Topics carry messages. Nodes publish them. Next, let's go on. We will see more."
    kept = ["Topics carry messages.", "Nodes publish them."]
    assert around(text, 1) == kept
    assert around(text, 2) == kept
    assert around("Topics carry messages. Nodes publish them. We will see more.", 0) == kept


def test_a_sentence_about_the_text_that_was_chosen_stays() -> None:
    text = "Topics carry messages. Nodes publish them. We will see more later."
    assert around(text, 2)[-1] == "We will see more later."
    assert around("We will see more later. Topics carry messages.", 0)[0] == "We will see more later."


def test_an_entry_that_is_too_long_is_quoted_with_its_term_around_the_sentence() -> None:
    more = "\n\n".join(f"  Remark number {at} has so many words, ten in all." for at in range(30))
    text = f"**set**\n: Sets an option.\n\n{more}\n\n**shift**\n: Shifts."
    kept = around(text, 20)
    assert kept[0] == "**set**\n: Sets an option."
    assert "Remark number 19 has so many words, ten in all." in kept
    assert len(" ".join(kept).split()) < 130


def test_entries_for_other_terms_are_no_steps() -> None:
    text = (
        "**back**\n: Moves to the line before this one.\n\n**search**\n: Searches for a line. " + "It is quick. " * 15
    )
    assert around(text, 0, Asked("how_to")) == ["**back**\n: Moves to the line before this one."]
    assert len(around(text, 0, Asked("list"))) > 2


def test_a_paragraph_that_announces_a_list_brings_it_and_nothing_else() -> None:
    text = "A profile has two policies:\n\n- Durability keeps messages.\n- Deadline names a time.\n\nBread needs flour."
    assert around(text, 0) == ["A profile has two policies:", "Durability keeps messages.", "Deadline names a time."]
    alone = "A profile is small. It has two policies:\n\n- Durability keeps.\n\nBread needs flour."
    assert around(alone, 1)[-1] == "Durability keeps."


TABS = """<Tabs>
<TabItem value="py" label="Python">

```python
import rclpy
```

</TabItem>
<TabItem value="cpp" label="C++">

```cpp
rclcpp::init();
```

</TabItem>
</Tabs>

Plain text stands here.
"""


def fits(question: str) -> list[int]:
    here = layout(chunk(TABS, markup="mdx"))
    expansion = Expansion([here], Asked("how_to"), question)
    return [expansion.fits(0, block.first) for block in here.blocks]


def test_a_variant_that_the_question_names_fits_and_the_others_do_not() -> None:
    assert fits("How do I start in Python?") == [1, -1, 0]
    assert fits("How do I start in C++?") == [-1, 1, 0]
    assert fits("How do I start?") == [0, 0, 0]


def test_of_the_code_that_is_announced_only_the_variant_that_is_asked_for_comes_along() -> None:
    announced = chunk(f"Start it like this:\n\n{TABS}", markup="mdx")
    python, cpp = "```python\nimport rclpy\n```", "```cpp\nrclcpp::init();\n```"
    assert around(announced, 0, question="How do I start in Python?") == ["Start it like this:", python]
    assert around(announced, 0, question="How do I start in C++?") == ["Start it like this:", cpp]
