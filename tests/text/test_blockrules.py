"""The short way through markdown-it's block rules finds what the long way finds."""

from __future__ import annotations

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from markdown_it.rules_block import StateBlock
from markdown_it.token import Token

from quoth.domain import Markup
from quoth.text.blockrules import Blocks, _state, block_tokens
from quoth.text.markdown import _rules
from writings import pages

BITS = (
    "- ", "* ", "1. ", "2) ", "> ", "# ", "## x ##", "```", "~~~", "\n", "\n\n", "    ", "  ", "\t", "word", "|", "---",
    "===", ":::note", "| a | b |\n|---|---|\n", "| c |\n", "a | b\n--|--\n", "!!! note", '=== "T"', "{% x %}",
    "<div>", "<A b={c}/>", "import x from 'y'", "***", "export const a", "[a]: b", "(x)=", "%", "+++", "_", "{/* c */}",
    "<!-- c -->", "=", "-", "``` a`b", "```` x", "####### seven", "#", "\\|",
)  # fmt: skip
Found = tuple[str, list[int] | None, str, str, str]


def short(parser_tokens: list[Token]) -> list[Found]:
    """Markdown-it's own tokens as the short rules would make them: one for a paragraph, a heading, a table."""
    found: list[Found] = []
    inside = ""
    for at, token in enumerate(parser_tokens):
        if inside:
            inside = "" if token.type == inside else inside
        elif token.type == "paragraph_open":
            found.append(("prose", token.map, "", "", ""))
            inside = "paragraph_close"
        elif token.type == "heading_open":
            found.append(("heading", token.map, token.tag, parser_tokens[at + 1].content, ""))
            inside = "heading_close"
        elif token.type == "table_open":
            found.append(("table", token.map, "", "", ""))
            inside = "table_close"
        else:
            found.append(seen(token))
    return found


def seen(token: Token) -> Found:
    tag, content = (token.tag if token.type == "heading" else "", "" if token.type == "fence" else token.content)
    return (token.type, token.map, tag, content, token.info)


@example("text\n   - item\n    - more\n", "markdown")
@example("text\n   # heading\n", "mdx")
@example("| a |\n|---|\n| b |\nc\n> quote\n", "markdown")
@example("text\na | b\n--|--\nc\n\n    d\n", "mdx")
@given(
    st.lists(st.sampled_from(BITS), max_size=14).map("".join) | pages(),
    st.sampled_from(["markdown", "mdx", "myst"]),
)
def test_the_short_way_finds_the_same_blocks(text: str, markup: Markup) -> None:
    source = text.replace("\r\n", "\n").replace("\r", "\n")
    whole = _rules(markup)
    every: list[Token] = []
    whole.block.parse(source, whole, {}, every)
    parser = _rules(markup)
    parser.block = Blocks(parser.block.ruler)
    assert [seen(token) for token in block_tokens(parser, source)] == short(every)


@given(st.text(alphabet="a \t\n\u00a0\x0c", max_size=20))
@pytest.mark.parametrize("name", ["bMarks", "eMarks", "tShift", "sCount", "bsCount", "lineMax", "src"])
def test_the_table_of_lines_is_that_of_markdown_it(name: str, text: str) -> None:
    parser = _rules("markdown")
    assert getattr(_state(parser, text, []), name) == getattr(StateBlock(text, parser, {}, []), name)
