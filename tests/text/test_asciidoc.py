"""AsciiDoc as blocks: the promises of `quoth.text.blocks` on generated pages, and Asciidoctor's rules."""

from __future__ import annotations

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from quoth.chunks.split import split
from quoth.errors import Unreadable
from quoth.text.asciidoc_ids import SectionIds
from quoth.text.asciidoc_inline import as_markdown, inline
from quoth.text.blocks import Block, leaves
from quoth.text.markdown import first_heading, parse, plain
from quoth.text.sentences import sentences
from splitting import (
    TOKENS,
    LetterTokens,
    WordTokens,
    check_everything_readable_is_in_a_chunk,
    check_no_fence_or_table_is_cut_that_would_have_fitted,
    check_no_heading_ends_a_chunk,
    check_nothing_is_above_the_limit,
    check_text_is_the_slice,
    check_the_chain_holds,
    page,
)
from writings import thorough

_WORD = st.sampled_from(
    (
        *("robot", "node", "--", "snake_case", "`code`", "*bold*", "_em_", "naïve", "日本語", "https://a.b[link]"),
        *("<<id,text>>", "xref:a.adoc[x]", "{attr}", "kbd:[A]", "a*b", "\\*", "::", "end.", "`", "+", "((t))", "[[i]]"),
        *("image:a.png[alt]", "footnote:[n]", "pass:[x]", "+x+", "...", "<1>", "#m#", "term:: text", "|", "x | y"),
    )
) | st.text(alphabet="abcdefgé.!?_-", min_size=1, max_size=12)
_LINE = st.lists(_WORD, min_size=1, max_size=10).map(" ".join)
_PARAGRAPH = st.lists(_LINE, min_size=1, max_size=5).map("\n".join)
_HEADING = st.tuples(st.integers(1, 6), _LINE).map(lambda pair: f"{'=' * pair[0]} {pair[1]}")
_UNDERLINED = st.tuples(_LINE, st.sampled_from("=-~^+")).map(lambda pair: f"{pair[0]}\n{pair[1] * len(pair[0])}")
_DELIMITER = st.sampled_from(["----", "....", "====", "****", "____", "++++", "////", "--", "|===", "```", "-----"])
_CODE = st.lists(_LINE | _DELIMITER | st.just(""), min_size=1, max_size=10).map("\n".join)
_LISTING = _CODE.map(lambda code: f".Title\n[source,python]\n------\n{code}\n------")
_LIST = st.lists(
    st.tuples(st.sampled_from(["*", "**", ".", "..", "-", "1.", "<1>"]), _LINE), min_size=1, max_size=8
).map(lambda items: "\n".join(f"{mark} {line}" for mark, line in items))
_TERMS = st.lists(_LINE, min_size=1, max_size=4).map(lambda lines: "\n".join(f"term:: {line}" for line in lines))
_TABLE = st.lists(st.text("abc ", min_size=1, max_size=9), min_size=1, max_size=8).map(
    lambda cells: "\n".join(["|===", "|Head |Er", "", *(f"|{cell} |x" for cell in cells), "|==="])
)
_MARKUP = st.sampled_from(
    (
        *("// comment", "////\nblock\n////", ":attr: value", "[#id]", "[[id]]", ".Title", "'''", "<<<", "+", "[NOTE]"),
        *("image::a.png[words]", "toc::[]", "NOTE: words", " literal", "[quote, who]", "ifdef::x[]", ":idprefix:"),
    )
)


def _inside(blocks: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    return st.one_of(
        blocks.map(lambda text: f"[NOTE]\n=====\n{text}\n====="),
        blocks.map(lambda text: f"*****\n{text}\n*****"),
        blocks.map(lambda text: f"* item\n+\n--\n{text}\n--"),
        blocks.map(lambda text: f"_____\n{text}"),
        blocks.map(lambda text: f"* item\n\n{text}"),
    )


_BLOCK = st.recursive(
    st.one_of(_PARAGRAPH, _HEADING, _UNDERLINED, _LISTING, _LIST, _TERMS, _TABLE, _MARKUP, _DELIMITER),
    _inside,
    max_leaves=3,
)


@st.composite
def pages(draw: st.DrawFn) -> str:
    text = draw(st.sampled_from(["\n\n", "\n\n", "\n"])).join(draw(st.lists(_BLOCK, max_size=8)))
    text = text.replace("\n", draw(st.sampled_from(["\n", "\n", "\r\n", "\r"])))
    return draw(st.sampled_from(["", "", "\ufeff", "\n\n", "  ", "\t", "= Doc\n"])) + text


def blocks_of(text: str) -> tuple[Block, ...]:
    return parse(text, markup="asciidoc")


def headings(text: str) -> list[tuple[int, str, str]]:
    return [(leaf.level, leaf.text, leaf.anchor) for leaf in leaves(blocks_of(text)) if leaf.level]


def said(text: str) -> list[tuple[str, str]]:
    return [(leaf.kind, leaf.plain) for leaf in leaves(blocks_of(text)) if leaf.kind != "markup"]


# --- promises --------------------------------------------------------------------------------------------------------


@thorough
@given(pages())
def test_every_visible_character_is_in_exactly_one_leaf(text: str) -> None:
    at = 0
    for leaf in leaves(blocks_of(text)):
        assert leaf.start >= at
        assert not text[at : leaf.start].strip()
        assert leaf.end == len(text[: leaf.end].rstrip())
        at = leaf.end
    assert not text[at:].strip("\ufeff \t\r\n")


@thorough
@given(pages(), st.sampled_from([WordTokens(80), WordTokens(254), LetterTokens()]))
def test_the_promises_of_chunks_hold_for_any_page(text: str, tokens: WordTokens | LetterTokens) -> None:
    written = page(text, markup="asciidoc", source_file="a.adoc", anchors="html")
    chunks = split(written, tokens)
    check_text_is_the_slice(written, chunks)
    check_everything_readable_is_in_a_chunk(written, chunks)
    check_nothing_is_above_the_limit(chunks, tokens)
    check_the_chain_holds(chunks)


@thorough
@given(pages())
def test_code_and_tables_are_cut_only_when_they_must(text: str) -> None:
    written = page(text, markup="asciidoc", source_file="a.adoc", anchors="html")
    check_no_fence_or_table_is_cut_that_would_have_fitted(written, split(written, TOKENS), TOKENS)


@thorough
@given(pages())
def test_a_heading_goes_with_what_follows(text: str) -> None:
    assume(all(len(block.text) < 60 for block in blocks_of(text) if block.level))
    written = page(text, markup="asciidoc", source_file="a.adoc", title="T")
    check_no_heading_ends_a_chunk(written, split(written, WordTokens(254)))


@thorough
@given(pages())
def test_sentences_are_exact_and_in_order(text: str) -> None:
    at = 0
    for unit in sentences(text, markup="asciidoc"):
        assert at <= unit.start < unit.end <= len(text)
        at = unit.end


@thorough
@given(
    st.lists(_WORD, min_size=1, max_size=6).map(" ".join), st.sampled_from(["*{}*", "_{}_", "link:u[{}]", "<<i,{}>>"])
)
def test_no_mark_reaches_the_reader(words: str, written: str) -> None:
    words = " ".join("".join(letter for letter in words if letter.isalnum() or letter == " ").split())
    assume(words)
    assert inline(f"So {written.format(words)} it is.") == f"So {words} it is."


# --- sections and ids ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("title", "id"),
    [
        ("Twice", "_twice"),
        ("It's here -- really...", "_its_herereally"),
        ("1.2.3 Dots.and-dashes_here", "_1_2_3_dots_and_dashes_here"),
        ("`Code` in a _title_ & <tags>", "_code_in_a_title_tags"),
        ("Ünïcödé straße 你好", "_ünïcödé_straße_你好"),
        ("{cpp} (C) -> there", "_c_there"),
        ("!?", ""),
    ],
)
def test_ids_are_made_as_asciidoctor_makes_them(title: str, id: str) -> None:
    assert headings(f"= Doc\n\n== {title}\n")[1][2] == id


def test_ids_that_are_taken_get_a_number() -> None:
    text = "== A\n\n[#_a_2]\nAn id of a paragraph.\n\n== A\n\n[[mine]]\n== A\n\n== A [[own]]\n\n== A\n"
    assert [anchor for _, _, anchor in headings(text)] == ["_a", "_a_3", "mine", "own", "_a_4"]


def test_the_document_says_how_ids_are_made() -> None:
    text = "= Doc\n:idprefix:\n:idseparator: -\n\n== First one\n\n:sectids!:\n\n== Second one\n\n"
    text += ":leveloffset: +1\n\n== Third\n"
    assert headings(text) == [
        (1, "Doc", ""),
        (2, "First one", "first-one"),
        (2, "Second one", ""),
        (3, "Third", ""),
    ]


def test_many_equal_titles_are_numbered_in_linear_time() -> None:
    ids = SectionIds()
    assert [ids.of("a") for _ in range(20_000)][-1] == "_a_20000"


def test_underlined_titles_are_titles_and_listings_are_not() -> None:
    assert headings("First\n-----\n\nA longer paragraph\n----\n== code\n----\n") == [(2, "First", "_first")]


def test_a_title_in_a_block_is_none_unless_it_is_discrete() -> None:
    text = "====\n== Not\n\n[discrete]\n== Yes\n====\n"
    assert headings(text) == [(2, "Yes", "_yes")]


def test_the_title_of_a_page_is_that_of_its_header() -> None:
    assert first_heading("// c\n:a: b\n= The *Title*\nAuthor\n\n== S\n", markup="asciidoc") == "The Title"


# --- blocks ----------------------------------------------------------------------------------------------------------


def test_a_header_has_no_words_but_its_title() -> None:
    assert said("= T\nJane Doe <j@x.org>\nv1.0\n:a: b\n\nText.\n") == [("heading", "T"), ("paragraph", "Text.")]


def test_a_listing_is_a_fence_with_its_language_and_without_callouts() -> None:
    text = ".Cap\n[source,ruby]\n----\nputs 1 # <1>\n\n== no title\n----\n<1> One.\n"
    fence = next(leaf for leaf in leaves(blocks_of(text)) if leaf.kind == "fence")
    assert (fence.info, fence.plain) == ("ruby", "puts 1\n\n== no title")
    assert text[fence.start : fence.head_end] == "[source,ruby]\n----"
    assert said(text)[0] == ("label", "Cap")
    assert said(text)[-1] == ("paragraph", "One.")


def test_a_cut_listing_repeats_its_opening() -> None:
    code = "\n".join(f"line {number}" for number in range(120))
    chunks = split(page(f"[source,sh]\n----\n{code}\n----\n", markup="asciidoc"), WordTokens(80))
    assert {chunk.lead for chunk in chunks[1:]} == {"[source,sh]\n----"}
    assert [unit.kind for unit in sentences(chunks[1].text, lead=chunks[1].lead, markup="asciidoc")] == ["code"]


@pytest.mark.parametrize("mark", ["....", "```", "-----"])
def test_text_that_is_shown_as_it_is_keeps_its_marks(mark: str) -> None:
    assert said(f"{mark}\n*a* {{b}}\n{mark}\n") == [("fence", "*a* {b}")]


def test_admonitions_keep_kind_title_and_text() -> None:
    text = "[WARNING]\n.Mind\n====\nThe gap.\n\n* or the step\n====\n\nTIP: Jump.\n"
    assert said(text) == [
        ("label", "Mind"),
        ("label", "Warning"),
        ("paragraph", "The gap."),
        ("paragraph", "or the step"),
        ("paragraph", "TIP: Jump."),
    ]


def test_lists_nest_by_their_marks_and_hold_what_is_attached() -> None:
    text = "* a\n** b\n+\n----\ncode\n----\n. one\n* c\ngoes on\n\nAfter.\n"
    (outer, after) = blocks_of(text)
    assert outer.kind == "list"
    assert [item.children[0].plain for item in outer.children] == ["a", "c\ngoes on"]
    nested = outer.children[0].children[1]
    assert [child.kind for child in nested.children[0].children] == ["paragraph", "markup", "fence", "list"]
    assert after.plain == "After."


def test_terms_go_with_their_meaning() -> None:
    text = "One:: first\nTwo::\n  second\nThree::\n\nthird\n\nNot a meaning.\n"
    assert said(text) == [
        ("paragraph", "One: first"),
        ("label", "Two"),
        ("paragraph", "second"),
        ("label", "Three"),
        ("paragraph", "third"),
        ("paragraph", "Not a meaning."),
    ]


def test_tables_are_read_by_lines_and_keep_their_header() -> None:
    text = '[cols="1,a"]\n|===\n|Name |Value\n\n|a \\| b\n2+^.>s|_c_\n// no\n|===\n'
    table = next(leaf for leaf in leaves(blocks_of(text)) if leaf.kind == "table")
    assert table.plain == "Name Value\na | b\nc"
    assert text[: table.head_end].endswith("|Name |Value")
    assert said(',===\na,"b, c"\n,===\n') == [("table", "a b, c")]
    assert [unit.kind for unit in sentences(text, markup="asciidoc")] == ["header", "row", "row"]


def test_comments_and_attributes_are_markup() -> None:
    assert said("// one\n\n////\ntwo\n////\n\n:a: b \\\n  c\n\nA // b\n// gone\nc\n") == [("paragraph", "A // b\nc")]


@pytest.mark.parametrize(
    ("written", "read"),
    [
        ("*b* _i_ `m` #k# [.r]#s# H~2~O x^2^", "b i m k s H2O x2"),
        ("**b**old __i__t ``m``n", "bold it mn"),
        ("snake_case_name 2 * 3 * 4 C# C#", "snake_case_name 2 * 3 * 4 C# C#"),
        ("see <<a_b>>, <<a,the _a_>>, xref:m:p.adoc[] and xref:p.adoc#x-y[P^]", "see a b, the a, p and P"),
        ("https://a.b[A^,role=x] https://c.d, link:e[] mailto:f@g.h[mail]", "A https://c.d, e mail"),
        ("kbd:[Ctrl+T] btn:[OK] menu:File[Save > As]", "Ctrl+T OK File > Save > As"),
        ("image:a.png[Alt,100] word.footnote:[Note *it*.]", "Alt word. (Note it.)"),
        ("((shown)) (((a,b))) indexterm2:[also] [[here]]here", "shown also here"),
        ("+*x*+ `+*y*+` pass:[<u>z</u>] +++<b>w</b>+++ $$v$$", "*x* *y* z w v"),
        ("\\*x* \\{y} \\<<z>>", "*x* {y} <<z>>"),
        ("\"`a`\" '`b`' it`'s -- c--d ... (C)", "“a” ‘b’ it’s — c—d … ©"),
        ("{nbsp}{plus}{cpp}{unknown} &amp; &#167;", "\u00a0+C++{unknown} & §".strip()),
        ("stem:[x^2] latexmath:[y]", "x^2 y"),
    ],
)
def test_inline_marks_go_and_their_words_stay(written: str, read: str) -> None:
    assert inline(written) == read


def test_an_answer_keeps_the_marks_that_markdown_shares() -> None:
    assert as_markdown("*b* _i_ `m` https://a.b[A]") == "**b** *i* `m` A"


def test_blocks_too_deep_inside_each_other_are_refused_with_their_line() -> None:
    deep = "\n".join("=" * (number + 4) for number in range(150))
    with pytest.raises(Unreadable, match="nested more than 100 levels deep"):
        blocks_of(f"{deep}\ntext\n")
    lists = "\n".join(f"{'*' * (number + 1)} a" for number in range(150))
    with pytest.raises(Unreadable, match="nested more than 100 levels deep"):
        blocks_of(lists)
    assert "text" in plain(f"{deep}\ntext\n", "asciidoc")
