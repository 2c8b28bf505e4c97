"""Text that MkDocs indents is text; lines of template tags are markup."""

from __future__ import annotations

import pytest

from quoth.text.markdown import Block, leaves, parse, plain

PAGE = """Before.

!!! note "Mind this"
    First paragraph
    of the note.

    - an item

        ??? warning
            Deep text.

    ```python
    # no heading
    ```

=== "Python"

    Tab text.

=== "Rust"
    More.
After.
"""


def kinds(blocks: tuple[Block, ...]) -> list[object]:
    return [[block.info, kinds(block.children)] if block.kind == "admonition" else block.kind for block in blocks]


def test_an_admonition_holds_its_title_and_its_indented_blocks() -> None:
    assert kinds(parse(PAGE)) == [
        "paragraph",
        ["note", ["label", "paragraph", "list", "fence"]],
        ["tab", ["label", "paragraph"]],
        ["tab", ["label", "paragraph"]],
        "paragraph",
    ]
    texts = [leaf.plain.strip() for leaf in leaves(parse(PAGE))]
    assert texts == [
        "Before.",
        "Mind this",
        "First paragraph\nof the note.",
        "an item",
        "warning",
        "Deep text.",
        "# no heading",
        "Python",
        "Tab text.",
        "Rust",
        "More.",
        "After.",
    ]


def test_every_visible_character_is_in_exactly_one_leaf() -> None:
    covered = "".join(PAGE[leaf.start : leaf.end] for leaf in leaves(parse(PAGE)))
    assert "".join(covered.split()) == "".join(PAGE.split())


@pytest.mark.parametrize(
    ("opening", "said"),
    [
        ('!!! note "A title"', "A title"),
        ("!!! note", "note"),
        ("!!!note", "note"),
        ('!!! note inline end "Side"', "Side"),
        ('???+ tip "Open"', "Open"),
        ('=== "One tab"', "One tab"),
        ('===+ "Chosen"', "Chosen"),
        ('> !!! note "Quoted"', "Quoted"),
    ],
)
def test_the_title_of_an_admonition_or_tab_is_what_is_read(opening: str, said: str) -> None:
    assert plain(opening) == said


def test_an_admonition_without_title_says_nothing() -> None:
    (block,) = parse('!!! note ""\n    Words.\n')
    assert [child.kind for child in block.children] == ["markup", "paragraph"]


@pytest.mark.parametrize("text", ["!!!\n", "??? what is this?\n", "===\n", "Wow!!! note\n", '    !!! note "code"\n'])
def test_what_only_looks_like_an_admonition_is_none(text: str) -> None:
    assert "admonition" not in {block.kind for block in parse(text)}


def test_an_underlined_heading_is_still_a_heading() -> None:
    assert [block.level for block in parse("Title\n===\n\nOther\n=====\n")] == [1, 1]


def test_headings_inside_keep_their_place_among_the_anchors() -> None:
    headings = [leaf.text for leaf in leaves(parse("# A\n\n!!! note\n    ## B\n\n# C\n")) if leaf.level]
    assert headings == ["A", "B", "C"]


@pytest.mark.parametrize(
    ("line", "kind", "said"),
    [
        ('{% hint style="info" %}', "markup", ""),
        ('{% tabs %}{% tab title="Shell" %}', "label", "Shell"),
        ("{% endtabs %}", "markup", ""),
        ("Text with {% a tag %} inside.", "paragraph", "Text with {% a tag %} inside."),
    ],
)
def test_a_line_of_nothing_but_template_tags_is_markup(line: str, kind: str, said: str) -> None:
    (block,) = parse(line)
    assert (block.kind, block.plain, plain(line)) == (kind, said, said)


def test_template_tags_in_code_are_code() -> None:
    fence = "```jinja\n{% if x %}\n```"
    assert plain(fence) == "{% if x %}"
    assert [block.kind for block in parse(fence)] == ["fence"]


def test_words_between_two_template_tags_are_words() -> None:
    text = '{% hint style="info" %} Mind the fuse. {% endhint %}\n'
    (leaf,) = leaves(parse(text))
    assert "Mind the fuse." in leaf.plain
    assert plain('{% if a %}{% tab title="50% off" %}\n') == "50% off"
