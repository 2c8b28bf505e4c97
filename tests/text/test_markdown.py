"""Blocks: what is a heading, a fence, markup; and that no character is in two leaves or in none."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from quoth.domain import Markup
from quoth.text.markdown import Block, first_heading, leaves, parse, plain
from writings import pages, thorough


def kinds(text: str, markup: Markup = "markdown") -> list[str]:
    return [block.kind for block in parse(text, markup=markup)]


def only(text: str, kind: str, markup: Markup = "markdown") -> Block:
    (block,) = [block for block in parse(text, markup=markup) if block.kind == kind]
    return block


def check_every_visible_character_is_in_exactly_one_leaf(text: str, markup: Markup, start: int = 0) -> None:
    at = 0
    for leaf in leaves(parse(text, markup=markup, start=start)):
        assert leaf.start >= at, "two leaves share a character"
        assert not text[at : leaf.start].strip(), "a character is in no leaf"
        assert leaf.end > leaf.start
        at = leaf.end
    assert not text[at:].strip(), "the end of the page is in no leaf"


@thorough
@given(pages(), st.sampled_from(["markdown", "mdx", "text"]))
def test_every_visible_character_is_in_exactly_one_leaf(text: str, markup: Markup) -> None:
    check_every_visible_character_is_in_exactly_one_leaf(text, markup)


@thorough
@given(st.text(alphabet="#`~>-*+1.|:<>{}/=_[]() \t\r\nabi\x0b\x0c\u2028\ufeff\0"), st.sampled_from(["markdown", "mdx"]))
def test_whatever_is_typed_stays_covered(text: str, markup: Markup) -> None:
    check_every_visible_character_is_in_exactly_one_leaf(text, markup)


def test_a_hash_inside_a_fence_is_never_a_heading() -> None:
    assert kinds("```sh\n# not a heading\n## nor this\n```\n") == ["fence"]
    assert kinds("~~~\n```\n# no\n~~~\n\n# yes\n") == ["fence", "heading"]
    assert kinds("- item\n\n  ```\n  # no\n  ```\n") == ["list"]


def test_headings_know_level_words_and_anchor() -> None:
    heading = only("## The `tf2_ros` *buffer* {#buffer}\n", "heading")
    assert (heading.level, heading.text, heading.anchor) == (2, "The tf2_ros buffer", "buffer")
    assert only("## Overview {/* #over-view */}\n", "heading", "mdx").anchor == "over-view"
    setext = only("Two lines\nof a title\n=====\n", "heading")
    assert (setext.level, setext.text) == (1, "Two lines\nof a title")


@pytest.mark.parametrize("newline", ["\n", "\r\n", "\r"])
def test_offsets_are_those_of_the_original_text(newline: str) -> None:
    text = newline.join(["\ufeff# Title", "", "\tcode", "", "- a", "- b", "", "last"])
    blocks = parse(text)
    assert [text[block.start : block.end] for block in blocks] == [
        "\ufeff",
        "# Title",
        "\tcode",
        newline.join(["- a", "- b"]),
        "last",
    ]


def test_front_matter_is_one_block_of_markup() -> None:
    text = "---\ntitle: x\n---\n# Hello\n"
    blocks = parse(text, start=17)
    assert [(block.kind, text[block.start : block.end]) for block in blocks] == [
        ("markup", "---\ntitle: x\n---\n"),
        ("heading", "# Hello"),
    ]


def test_an_admonition_holds_its_title_and_blocks() -> None:
    text = ":::tip[Mind the gap]\n\nOne.\n\n```\n:::\n```\n\n:::\n\nAfter.\n"
    admonition, after = parse(text)
    assert (admonition.kind, admonition.info, after.kind) == ("admonition", "tip", "paragraph")
    assert [child.kind for child in admonition.children] == ["label", "paragraph", "fence", "markup"]
    assert admonition.children[0].plain == "Mind the gap"


def test_admonitions_nest_by_the_number_of_their_colons() -> None:
    text = "::::info\n\n:::note Inner title\nText\n:::\n\n::::\n"
    (outer,) = parse(text)
    assert [child.kind for child in outer.children] == ["label", "admonition", "markup"]
    assert [leaf.plain for leaf in leaves([outer]) if leaf.plain] == ["info", "Inner title", "Text"]


def test_an_admonition_that_is_never_closed_does_not_swallow_the_headings_below() -> None:
    assert kinds(":::note\n\nText\n\n## Next\n") == ["label", "paragraph", "heading"]


def test_a_table_knows_where_its_header_ends() -> None:
    text = "| a | b |\n|---|---|\n| 1 | 2 |\n"
    table = only(text, "table")
    assert text[: table.head_end] == "| a | b |\n|---|---|"
    assert table.plain == "a   b\n1   2"


def test_a_list_keeps_its_items_and_their_blocks() -> None:
    text = "1. one\n\n   ```\n   code\n   ```\n2. two\n"
    listing = only(text, "list")
    assert [item.kind for item in listing.children] == ["item", "item"]
    assert [block.kind for block in listing.children[0].children] == ["paragraph", "fence"]


MDX = """import Tabs from '@theme/Tabs';
import {
  TabItem,
} from '@theme/TabItem';

export const Shout = ({children}) => {

  return <b>{children}</b>;
};

# Title

{/* a comment */}

<Tabs
  groupId="os"
  values={[{label: 'Linux', value: 'l'}]}>
<TabItem value="l" label="On Linux">

    Indented prose, not code.

</TabItem>
</Tabs>

Text with <b>bold</b> words.
"""


def test_mdx_statements_tags_and_comments_are_markup_and_their_text_stays() -> None:
    said = [(leaf.kind, leaf.plain) for leaf in leaves(parse(MDX, markup="mdx")) if leaf.kind != "markup"]
    assert said == [
        ("heading", "Title"),
        ("label", "Linux"),
        ("label", "On Linux"),
        ("paragraph", "Indented prose, not code."),
        ("paragraph", "Text with bold words."),
    ]


def test_prose_that_looks_like_code_is_not_swallowed_by_mdx() -> None:
    for text in (
        "import duties are high",
        "exported goods",
        "<- an arrow",
        "a < b and c > d",
        "{braces} here",
        "<https://a.b>",
    ):
        assert [leaf.kind for leaf in leaves(parse(text, markup="mdx"))] == ["paragraph"], text


def test_text_files_have_paragraphs_and_nothing_else() -> None:
    assert [(b.kind, b.plain) for b in parse("# a\n* b\n\n<c>\n", markup="text")] == [
        ("paragraph", "# a\n* b"),
        ("paragraph", "<c>"),
    ]


def test_what_has_nothing_to_read_is_markup() -> None:
    for text in ("---", "[a]: https://x.y 'z'", "<!-- note -->", "![](picture.png)", "<br/>", "<a name='x'></a>", ">"):
        assert {leaf.kind for leaf in leaves(parse(text))} == {"markup"}, text


def test_text_nested_deeper_than_any_parser_goes_is_still_text() -> None:
    text = "> " * 200 + "deep"
    assert "deep" in "".join(leaf.plain for leaf in leaves(parse(text)))


@pytest.mark.parametrize(
    ("source", "words"),
    [
        ("## The *first* step {#one}", "The first step"),
        ('See [the **docs**](https://a.b/c_(d) "t") now', "See the docs now"),
        ("[`Vec<T>`][vec] and ![a robot](r.png)", "Vec<T> and a robot"),
        ("use `--no-deps` and `a*b*c`", "use --no-deps and a*b*c"),
        ("snake_case and __init__ and 2 * 3 * 4", "snake_case and init and 2 * 3 * 4"),
        ("这是**粗体**文字", "这是粗体文字"),
        ("> quoted\n> again", "quoted\nagain"),
        ("- [x] done\n* open\n1. first", "done\nopen\n1. first"),
        (":::danger Stop\nwords\n:::", "Stop\nwords"),
        (":::note\nwords\n:::", "note\nwords"),
        ("a&nbsp;b &lt;c&gt; &amp; d", "a\xa0b <c> & d"),
        ("<td>a</td><td>b</td>", "a  b"),
        ("<https://a.b/c>", "<https://a.b/c>"),
        ("foo<sub>2</sub>", "foo2"),
        ("text[^1] more\n\n[^1]: The note.", "text more\nThe note."),
        ("[ref]: https://example.com", ""),
        ("\\*not emphasis\\*", "*not emphasis*"),
        ('```py title="a.py"\nx = [1](2)\n```', "a.py\nx = [1](2)"),
        ("before\n```rust\nfn main() {}", "before\nfn main() {}"),
        ("```\na\n> ```\nb\n```\nc", "a\n> ```\nb\nc"),
        ("> ```\n> a\n> ```\n> c", "a\nc"),
        ("<style>\nb { c: d }\n</style>", ""),
    ],
)
def test_plain_keeps_the_words_and_lets_the_marks_go(source: str, words: str) -> None:
    assert plain(source) == words


def test_plain_mdx_keeps_labels() -> None:
    source = (
        'import X from \'./x.mdx\'\n\n<TabItem value="a" label="Apple">An apple</TabItem>\n<X onClick={() => 1 > 0} />'
    )
    assert plain(source, "mdx").split() == ["Apple", "An", "apple"]


@thorough
@given(pages())
def test_plain_is_the_same_for_every_line_ending(text: str) -> None:
    normal = text.replace("\r\n", "\n").replace("\r", "\n")
    assert plain(normal) == plain(normal.replace("\n", "\r\n"))


@pytest.mark.parametrize(
    ("text", "title"),
    [
        ("intro\n\n```\n# no\n```\n# The `real` title {#x}\n", "The real title"),
        ("Title\n=====\n", "Title"),
        ("\n## Only a section\n\ntext", "Only a section"),
        ("text\n\n## later\n", ""),
        ("#hashtag\n", ""),
    ],
)
def test_the_first_heading_is_found_without_parsing(text: str, title: str) -> None:
    assert first_heading(text) == title


@pytest.mark.parametrize(
    "source", ["`" * 3000 + "a", "[" * 3000, "*" * 3000, "<a " * 2000, "![](" * 2000, "> " * 2000, "{" * 3000]
)
def test_hostile_markup_does_not_take_forever(source: str) -> None:
    plain(source, "mdx")
    parse(source, markup="mdx")
