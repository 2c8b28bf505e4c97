"""The blocks of a passage: what belongs together, in any markup."""

from __future__ import annotations

import pytest

from quoth.ask.blocks import Layout, layout
from quoth.domain import Markup
from samples import chunk


def kinds(text: str, markup: Markup = "markdown") -> list[tuple[str, int]]:
    """Each block with the number of its sentences."""
    return [(block.kind, len(block.positions)) for block in of(text, markup).blocks]


def of(text: str, markup: Markup = "markdown") -> Layout:
    return layout(chunk(text, markup=markup))


def test_sentences_of_a_paragraph_a_list_and_a_table_belong_together() -> None:
    text = (
        "# Head\n\nOne. Two.\n\nThree:\n\n- A b c. D e f.\n- g h i\n\n| x | y |\n|---|---|\n| 1 | 2 |\n\n```sh\nls\n```"
    )
    assert kinds(text) == [("heading", 1), ("paragraph", 2), ("paragraph", 1), ("list", 3), ("table", 2), ("code", 1)]


def test_what_is_indented_in_a_list_belongs_to_its_item() -> None:
    text = "1. First do this:\n\n   ```sh\n   ls\n   ```\n\n   Then look.\n2. Second do that.\n\nAfterwards rest."
    here = of(text)
    assert [block.kind for block in here.blocks] == ["list", "paragraph"]
    assert [here.text(at) for at in here.item(0)][-1] == "Then look."
    assert here.blocks[0].ordered


def test_an_item_brings_what_is_nested_in_it() -> None:
    here = of("- Images dominate:\n  - raw is large;\n  - zipped is small.\n- Sound is small.")
    assert len(here.item(0)) == 3
    assert len(here.item(1)) == 1


def test_a_colon_or_a_number_announces_what_follows() -> None:
    here = of("Look at this:\n\n- one thing\n- two things\n\nThere are three of these.\n\n- four\n\nHello.\n\n- five")
    announced = [here.introduces(block) for block in here.blocks if block.kind == "paragraph"]
    assert announced == [here.blocks[1], here.blocks[3], None]
    assert here.introduces(here.blocks[4], loosely=True) == here.blocks[5]
    assert here.introduction(here.blocks[1]) == here.blocks[0]


TABS = {
    "mdx": '<Tabs>\n<TabItem value="py" label="Python">\n\n```py\na\n```\n\n</TabItem>\n'
    '<TabItem value="cpp" label="C++">\n\n```cpp\nb\n```\n\n</TabItem>\n</Tabs>\n\nDone now.',
    "markdown": '=== "Python"\n\n    Use a snake.\n\n=== "C++"\n\n    Use a plus.\n\nDone now.',
    "rst": ".. tab-item:: Python\n\n   Use a snake.\n\n.. tab-item:: C++\n\n   Use a plus.\n\nDone now.",
}


def test_a_block_knows_its_tab() -> None:
    for markup, text in TABS.items():
        here = of(text, markup)  # type: ignore[arg-type]
        assert [block.tab for block in here.blocks] == ["Python", "C++", ""], markup
        assert here.blocks[0].group == here.blocks[1].group != here.blocks[2].group


def test_code_knows_its_language_and_a_row_its_header() -> None:
    assert of("```python title='x'\na\n```").blocks[0].language == "python"
    assert layout(chunk("b = 1\n```", lead="```rust")).blocks[0].language == "rust"
    assert of("| Flag | Meaning |\n|---|---|\n| `-v` | verbose |").header(1).startswith("| Flag | Meaning |")
    assert layout(chunk("| `-v` | verbose |", lead="| Flag |\n|---|")).header(0) == "| Flag |\n|---|"


@pytest.mark.parametrize("markup", ["markdown", "rst"])
def test_a_paragraph_beside_a_list_that_is_indented_is_none_of_its_items(markup: Markup) -> None:
    text = "Uses:\n\n   - one\n   - two\n\n   To use them, go.\n\n- three\n\n  It is the last.\n"
    here = of(text, markup)
    assert [here.text(position) for position in here.item(2)] == ["two"]
    assert [here.text(position) for position in here.item(4)] == ["three", "It is the last."]


def test_an_entry_that_lost_its_margin_with_its_chunk_is_beside_the_next_one() -> None:
    text = "**pipefail**\n  : Fails.\n\n  More of it.\n\n  **posix**\n  : Conforms."
    cut, whole = layout(chunk(text, prev_chunk_id="before")), layout(chunk(text))
    assert [list(here.item(0)) for here in (cut, whole)] == [[0, 1], [0, 1, 2]]


def test_definitions_and_fields_explain_terms_and_a_list_of_steps_does_not() -> None:
    written = {"**a**\n: One.": "markdown", ":param speed: How fast it turns.": "rst", "1. Turn it.": "markdown"}
    found = [layout(chunk(text, markup=markup)) for text, markup in written.items()]
    assert [here.explains_terms(here.blocks[0]) for here in found] == [True, True, False]
