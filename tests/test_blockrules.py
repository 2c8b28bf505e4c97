"""The short way through markdown-it's block rules finds what the long way finds."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from markdown_it.parser_block import ParserBlock
from markdown_it.rules_block import StateBlock
from markdown_it.token import Token

from quoth.blockrules import _state, block_tokens
from quoth.domain import Markup
from quoth.markdown import _parser

BITS = (
    "- ", "* ", "1. ", "> ", "# ", "```", "~~~", "\n", "\n\n", "    ", "\t", "word", "|", "---", "===", ":::note",
    "| a | b |\n|---|---|\n", "!!! note", '=== "T"', "{% x %}", "<div>", "<A b={c}/>", "import x from 'y'", "***",
    "export const a", "[a]: b", "(x)=", "%", "+++", "_", "{/* c */}", "<!-- c -->",
)  # fmt: skip


@given(st.lists(st.sampled_from(BITS), max_size=14).map("".join), st.sampled_from(["markdown", "mdx", "myst"]))
def test_asking_fewer_rules_finds_the_same_blocks(text: str, markup: Markup) -> None:
    parser = _parser.__wrapped__(markup)
    found = block_tokens(parser, text)
    every: list[Token] = []
    whole = ParserBlock()
    whole.ruler = parser.block.ruler
    parser.block = whole
    whole.parse(text, parser, {}, every)
    assert found == every


@given(st.text(alphabet="a \t\n\u00a0\x0c", max_size=20))
@pytest.mark.parametrize("name", ["bMarks", "eMarks", "tShift", "sCount", "bsCount", "lineMax", "src"])
def test_the_table_of_lines_is_that_of_markdown_it(name: str, text: str) -> None:
    parser = _parser("markdown")
    assert getattr(_state(parser, text, []), name) == getattr(StateBlock(text, parser, {}, []), name)
