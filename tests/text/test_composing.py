"""What is put together from blocks is what `plain` says of the whole stretch."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from quoth.domain import Markup
from quoth.text.composing import Composer
from quoth.text.markdown import leaves, parse, plain

BITS = (
    "word", "`code`", "`", "[a](b)", "[a](", ")", "*", "**b**", "<b>", "<b", "<!-- c -->", "<!--", "-->", "{/* #id */}",
    "{/*", "*/}", "import x from 'y'", "export const a = 1", "<script>", "</script>", "```", "~~~", "```py", "&amp;",
    "&#12;", "\ufeff", "\n", "\n\n", "\n \n", "\n- ", "\n> ", "\n# ", "\n    ", "| a |\n|---|", ":::note", "(x)=", " ",
)  # fmt: skip


def count(texts: list[str] | tuple[str, ...]) -> list[int]:
    return [len(text.split()) for text in texts]


def composer_of(text: str, markup: Markup) -> Composer:
    every = list(leaves(parse(text, markup=markup)))
    tokens = {leaf.start: count([leaf.plain])[0] for leaf in every}
    return Composer(text, markup, every, tokens, lambda texts: count(list(texts)))


@given(st.lists(st.sampled_from(BITS), max_size=14).map("".join), st.sampled_from(["markdown", "mdx"]), st.data())
def test_a_stretch_says_the_same_as_when_it_is_read_anew(text: str, markup: Markup, data: st.DataObject) -> None:
    every = list(leaves(parse(text, markup=markup)))
    if not every:
        return
    first = data.draw(st.integers(0, len(every) - 1))
    last = data.draw(st.integers(first, len(every) - 1))
    begin, end = every[first].start, every[last].end
    start = end - len(text[begin:end].lstrip("\ufeff \t\r\n\f\v"))
    said = composer_of(text, markup).said(begin, start, end)
    expected = plain(text[start:end], markup)
    assert said is None or said == (expected, count([expected])[0])


def test_ordinary_prose_lists_and_fences_are_put_together() -> None:
    text = "# Title {/* #id */}\n\nSome *words* and `code`.\n\n- one\n- two <!-- aside -->\n\n```py\nimport os\n```"
    said = composer_of(text, "mdx").said(0, 0, len(text))
    assert said == ("Title\nSome words and code.\none\ntwo\nimport os", 9)


def test_a_comment_that_stays_open_is_left_to_the_whole_text() -> None:
    text = "before <!-- open\n\nhidden"
    assert composer_of(text, "mdx").said(0, 0, len(text)) is None


def test_a_fence_that_stays_open_is_left_to_the_whole_text() -> None:
    text = "- ```py\n  a\n\nbehind"
    assert composer_of(text, "markdown").said(0, 0, len(text)) is None
