"""Chunks: the promises of the contract, each as a named check, on generated and on hand-written pages."""

from __future__ import annotations

import uuid
from collections.abc import Callable

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from quoth.chunks.split import ID_NAMESPACE, embedding_text, split, term_text
from quoth.domain import Insert, Markup, Page
from quoth.text.markdown import parse
from splitting import (
    TOKENS,
    LetterTokens,
    WordTokens,
    check_everything_readable_is_in_a_chunk,
    check_no_chunk_has_nothing_but_headings,
    check_no_fence_or_table_is_cut_that_would_have_fitted,
    check_no_heading_ends_a_chunk,
    check_nothing_is_above_the_limit,
    check_text_is_the_slice,
    check_the_chain_holds,
    page,
)
from writings import pages, thorough


@thorough
@given(pages(), st.sampled_from(["markdown", "mdx", "text"]), st.sampled_from([WordTokens(80), WordTokens(254)]))
def test_the_promises_hold_for_any_page(text: str, markup: Markup, tokens: WordTokens) -> None:
    source_file = "a.txt" if markup == "text" else "a.md"
    written = page(text, markup=markup, source_file=source_file)
    chunks = split(written, tokens)
    check_text_is_the_slice(written, chunks)
    check_everything_readable_is_in_a_chunk(written, chunks)
    check_nothing_is_above_the_limit(chunks, tokens)
    check_the_chain_holds(chunks)


@thorough
@given(pages())
def test_a_tokenizer_that_does_not_stop_at_spaces_gets_no_text_above_its_limit(text: str) -> None:
    written = page(text)
    chunks = split(written, LetterTokens())
    check_text_is_the_slice(written, chunks)
    check_everything_readable_is_in_a_chunk(written, chunks)
    check_nothing_is_above_the_limit(chunks, LetterTokens())


@thorough
@given(pages())
def test_fences_and_tables_are_cut_only_when_they_must(text: str) -> None:
    written = page(text)
    check_no_fence_or_table_is_cut_that_would_have_fitted(written, split(written, TOKENS), TOKENS)


@thorough
@given(pages())
def test_a_heading_goes_with_what_follows(text: str) -> None:
    headings = [block for block in parse(text) if block.level]
    # A heading as long as a chunk has to be cut, and the titles of a page cannot be longer than a chunk.
    assume(all(len(heading.text) < 60 for heading in headings))
    written = page(text, title="T")
    check_no_heading_ends_a_chunk(written, split(written, WordTokens(254)))


@thorough
@given(pages(), st.sampled_from([WordTokens(80), WordTokens(254)]))
def test_no_chunk_has_nothing_but_headings(text: str, tokens: WordTokens) -> None:
    # Unless so many headings follow each other that they fill half a chunk.
    headings = " ".join(heading.text for heading in parse(text) if heading.level)
    assume(tokens.counts([headings])[0] <= tokens.limit // 2)
    written = page(text, title="T")
    check_no_chunk_has_nothing_but_headings(written, split(written, tokens))


def test_a_fence_that_fills_a_chunk_does_not_leave_its_heading_alone() -> None:
    fence = "```\n" + "\n".join("call it now" for _ in range(26)) + "\n```"
    chunks = split(page(f"Words before.\n\n## One\n\n### Two three four\n\n{fence}\n"), TOKENS)
    assert [chunk.text.splitlines()[0] for chunk in chunks] == ["Words before.", "## One", "call it now"]
    assert chunks[2].lead == "```"


def test_a_heading_and_a_fence_that_fill_a_chunk_exactly_are_one() -> None:
    fence = "```\n" + "\n".join("call it now" for _ in range(26)) + "\n```"
    chunks = split(page(f"## One two\n\n{fence}\n"), WordTokens(80), target=40)
    assert [(chunk.token_count, chunk.text.splitlines()[0]) for chunk in chunks] == [(80, "## One two")]


def test_headings_at_the_end_of_a_page_go_with_the_text_before_them() -> None:
    chunks = split(page("## One\n\n" + "word " * 78 + "\n\n## Two\n\n### Three\n"), TOKENS)
    assert len(chunks) == 2
    assert chunks[1].text.endswith("word \n\n## Two\n\n### Three")
    check_nothing_is_above_the_limit(chunks, TOKENS)


def test_two_headings_that_do_not_fit_into_one_chunk_are_each_kept_whole() -> None:
    """Even if it shows only when they are together: their words are short, and the spaces between them count."""
    headings = ["## " + "One " * 49 + "one", "### " + "Two " * 49 + "two"]
    for tokens in (TOKENS, LetterTokens(120)):
        assert [chunk.text for chunk in split(page("\n\n".join(headings)), tokens)] == headings


def test_a_page_of_a_thousand_headings_is_split() -> None:
    for text in ("# A\n\n" + "## B c d\n\n" * 1000, "Words.\n\n" + "## B c d\n\n" * 1000):
        chunks = split(page(text), TOKENS)
        check_everything_readable_is_in_a_chunk(page(text), chunks)
        check_nothing_is_above_the_limit(chunks, TOKENS)


def test_cards_in_a_row_are_packed_like_everything_else() -> None:
    cards = "\n".join(f'<Card title="Card number {n} of many" />' for n in range(60))
    chunks = split(page(f"## Cards\n\n{cards}\n", markup="mdx"), TOKENS)
    assert len(chunks) < 8
    assert chunks[0].text.startswith("## Cards\n\n<Card")


_SENTENCES = st.lists(
    st.sampled_from(
        (
            "Dr. Ada e.g. likes robots, cf. Fig. 3 and pp. 4 ff.",
            "Use approx. 3.5 V, i.e. the usual voltage, etc. as needed!",
            "Prof. B. A. Smith vs. the U.S. robot: no. 5 won?",
            "It is plain.",
        )
    ),
    min_size=20,
    max_size=40,
)


@thorough
@given(_SENTENCES)
def test_a_paragraph_is_cut_where_a_sentence_ends_and_not_at_an_abbreviation(sentences: list[str]) -> None:
    chunks = split(page(" ".join(sentences)), TOKENS)
    assert len(chunks) > 1
    assert {chunk.text.endswith(tuple(sentences)) for chunk in chunks} == {True}


def _drawn_table(width: int) -> str:
    border = f"{'=' * width}  {'=' * width}"
    rows = "\n".join(f"{f'key {n}':{width}}  value {n}" for n in range(60))
    return f"{border}\n{'Key':{width}}  Value\n{border}\n{rows}\n{border}\n"


def _grid_table(width: int) -> str:
    border = f"+{'-' * width}+{'-' * width}+"
    rows = "".join(f"|{f' key {n}':{width}}|{f' value {n}':{width}}|\n{border}\n" for n in range(60))
    return f"{border}\n|{' Key':{width}}|{' Value':{width}}|\n{border.replace('-', '=')}\n{rows}"


@pytest.mark.parametrize("width", [12, 90, 400])
@pytest.mark.parametrize("draw", [_drawn_table, _grid_table])
def test_the_borders_of_a_table_take_no_room_however_wide_it_is(draw: Callable[[int], str], width: int) -> None:
    written = page(f"Table\n=====\n\n{draw(width)}", markup="rst", source_file="a.rst")
    chunks = split(written, TOKENS)
    check_text_is_the_slice(written, chunks)
    check_everything_readable_is_in_a_chunk(written, chunks)
    check_nothing_is_above_the_limit(chunks, TOKENS)
    assert 3 <= len(chunks) <= 5  # 240 words
    assert {"Key" in chunk.shown and "Value" in chunk.shown for chunk in chunks} == {True}
    assert not any("==" in embedding_text(chunk) or "--" in embedding_text(chunk) for chunk in chunks)


def test_a_header_that_would_fill_a_chunk_is_shortened_or_left_out() -> None:
    long = "| " + " | ".join(f"column {n}" for n in range(30)) + " |"
    table = f"{long}\n{'|---' * 30}|\n" + "\n".join("| " + " | ".join("x" * 30) + " |" for _ in range(9))
    chunks = split(page(table), TOKENS)
    check_nothing_is_above_the_limit(chunks, TOKENS)
    assert {chunk.lead for chunk in chunks} == {""}
    fence = "`" * 50 + "\n" + "\n".join(f"call {n} now" for n in range(60)) + "\n" + "`" * 50
    chunks = split(page(fence), TOKENS)
    assert {chunk.lead for chunk in chunks} == {"", "```"}
    check_nothing_is_above_the_limit(chunks, TOKENS)


@thorough
@given(pages())
def test_splitting_again_gives_the_same_chunks(text: str) -> None:
    assert split(page(text), WordTokens()) == split(page(text), WordTokens())


@thorough
@given(st.lists(st.text("abc def.", min_size=20, max_size=300), min_size=3, max_size=8), st.integers(0, 7), st.data())
def test_an_edit_changes_only_the_chunks_of_its_section(bodies: list[str], which: int, data: st.DataObject) -> None:
    assume(all(body.strip() for body in bodies))
    which %= len(bodies)

    def written(texts: list[str]) -> Page:
        return page("".join(f"## Part {n}\n\nThis is part {n}. {body.strip()}\n\n" for n, body in enumerate(texts)))

    edited = [*bodies]
    edited[which] = data.draw(st.text("xyz uvw.", min_size=20, max_size=300))
    before, after = split(written(bodies), TOKENS), split(written(edited), TOKENS)
    elsewhere = [[c.id for c in chunks if c.heading_path != (f"Part {which}",)] for chunks in (before, after)]
    assert elsewhere[0] == elsewhere[1]


def test_ids_follow_the_formula_of_the_specification() -> None:
    (chunk,) = split(page("Some text that is long enough.\n", module="ros2", chapter=2, lesson=3), TOKENS)
    name = f"book:ros2:2:3:{chunk.content_hash[:16]}"
    assert chunk.id == str(uuid.uuid5(ID_NAMESPACE, name))
    assert chunk.parent_doc_id == str(uuid.uuid5(ID_NAMESPACE, "book:ros2:2:3:parent"))


def test_the_path_takes_the_place_of_an_unknown_lesson() -> None:
    (chunk,) = split(page("Some text that is long enough.\n", module="ros2", chapter=2), TOKENS)
    assert chunk.id == str(uuid.uuid5(ID_NAMESPACE, f"book:guide/intro.md:{chunk.content_hash[:16]}"))
    assert chunk.parent_doc_id == str(uuid.uuid5(ID_NAMESPACE, "book:guide/intro.md:parent"))


def test_repeated_text_gets_an_ordinal() -> None:
    section = "## Note\n\nThe same words every time.\n\n"
    chunks = split(page(section * 3), TOKENS)
    assert len({chunk.content_hash for chunk in chunks}) == 1
    first = f"book:guide/intro.md:{chunks[0].content_hash[:16]}"
    assert [chunk.id for chunk in chunks] == [
        str(uuid.uuid5(ID_NAMESPACE, name)) for name in (first, f"{first}:2", f"{first}:3")
    ]
    assert [chunk.url for chunk in chunks] == [f"https://a.b/intro#note{number}" for number in ("", "-1", "-2")]
    check_the_chain_holds(chunks)


def test_every_section_is_cited_at_its_own_heading() -> None:
    text = "# Intro\n\nAt the top.\n\n## Setup {#set-up}\n\nInstall it.\n\n### Linux\n\nUse apt.\n\n"
    text += "## Empty\n\n### Child\n\nText.\n"
    chunks = split(page(text, trail=("Guides",)), TOKENS)
    assert [(chunk.url.partition("#")[2], chunk.heading_path) for chunk in chunks] == [
        ("", ()),
        ("set-up", ("Setup",)),
        ("linux", ("Setup", "Linux")),
        ("child", ("Empty", "Child")),
    ]
    assert chunks[2].breadcrumb == ("Guides", "Intro", "Setup", "Linux")
    assert chunks[3].text.startswith("## Empty")
    assert embedding_text(chunks[2]) == "Linux\nUse apt."
    assert term_text(chunks[2]) == "Guides > Intro > Setup > Linux\nLinux\nUse apt."
    assert [chunk.line for chunk in chunks] == [1, 5, 9, 13]


def test_a_first_heading_that_is_not_the_title_stays_in_the_path_without_anchor() -> None:
    (chunk,) = split(page("# Another title\n\nWords to read.\n"), TOKENS)
    assert (chunk.heading_path, chunk.url) == (("Another title",), "https://a.b/intro")


def test_a_long_fence_is_cut_at_lines_and_repeats_its_opening_line() -> None:
    lines = [f"    call number {n}" for n in range(60)]
    text = "# Intro\n\n```py title='x.py'\n" + "\n".join(lines) + "\n```\n"
    chunks = split(page(text), TOKENS)
    assert len(chunks) > 2
    assert chunks[0].lead == ""
    assert {chunk.lead for chunk in chunks[1:]} == {"```py title='x.py'"}
    assert [line for chunk in chunks for line in chunk.text.split("\n") if line.startswith("    call")] == lines
    assert chunks[1].shown.startswith("```py title='x.py'\n    call")
    assert chunks[-1].text.endswith("\n```")
    check_nothing_is_above_the_limit(chunks, TOKENS)


def test_a_long_table_is_cut_at_rows_and_repeats_its_header() -> None:
    rows = [f"| row {n} | value |" for n in range(40)]
    chunks = split(page("| key | is |\n|---|---|\n" + "\n".join(rows) + "\n"), TOKENS)
    assert {chunk.lead for chunk in chunks[1:]} == {"| key | is |\n|---|---|"}
    assert [line for chunk in chunks for line in chunk.text.split("\n") if "row" in line] == rows


def test_a_long_paragraph_is_cut_between_sentences() -> None:
    sentences = [f"This is sentence number {n} of a long paragraph." for n in range(30)]
    chunks = split(page(" ".join(sentences)), TOKENS)
    assert len(chunks) > 1
    assert all(chunk.text.endswith("paragraph.") for chunk in chunks)


def test_a_word_longer_than_a_chunk_is_cut_anywhere() -> None:
    text = "-" * 3000 + "a"
    written = page(text, markup="text", source_file="a.txt")
    chunks = split(written, TOKENS)
    check_everything_readable_is_in_a_chunk(written, chunks)
    check_nothing_is_above_the_limit(chunks, TOKENS)


def test_a_sentence_that_looks_like_a_fence_when_it_is_cut_off_is_not_lost() -> None:
    text = "A word. " * 30 + "Why? ``` robot robot\nrobot. ``` " + "A word. " * 30
    written = page(text)
    check_everything_readable_is_in_a_chunk(written, split(written, TOKENS))


def test_a_list_is_cut_between_its_items() -> None:
    items = [f"- item {n} with some words to fill it" for n in range(30)]
    chunks = split(page("\n".join(items)), TOKENS)
    assert [line for chunk in chunks for line in chunk.text.split("\n")] == items


def test_an_admonition_that_fits_is_kept_whole() -> None:
    filler = "word " * 60
    admonition = ":::danger[Hot]\n\n" + "burn " * 30 + "\n\nMore.\n\n:::"
    chunks = split(page(f"{filler}\n\n{admonition}\n"), TOKENS)
    assert admonition in [chunk.text for chunk in chunks]


def test_a_paragraph_that_announces_a_list_goes_with_it() -> None:
    text = "word " * 60 + "\n\nThe options are:\n\n" + "\n".join(f"- option {n} does it" for n in range(10))
    chunks = split(page(text), TOKENS)
    assert chunks[1].text.startswith("The options are:")


def test_a_short_tail_is_evened_out() -> None:
    text = "\n\n".join("word " * 19 + f"{n}" for n in range(4)) + "\n\nThe end is near.\n"
    counts = [chunk.token_count for chunk in split(page(text), TOKENS)]
    assert min(counts) > 20


def test_chunks_below_the_minimum_join_a_neighbour() -> None:
    chunks = split(page("## A\n\nHi\n\n## B\n\nA longer text that stands.\n"), TOKENS)
    assert [chunk.heading_path for chunk in chunks] == [("B",)]
    assert chunks[0].text.startswith("## A\n\nHi")


def test_a_page_of_nothing_but_markup_has_no_chunk() -> None:
    assert split(page("---\n\n<br/>\n\n[a]: https://b.c\n"), TOKENS) == []
    assert split(page(""), TOKENS) == []


def test_front_matter_is_in_no_chunk() -> None:
    text = "---\ntitle: Secret\n---\n\nThe text of the page.\n"
    (chunk,) = split(page(text, body_start=22), TOKENS)
    assert chunk.text == "The text of the page."


def test_the_target_holds_where_the_embedder_reads_more() -> None:
    text = "\n\n".join("word " * 30 for _ in range(40))
    chunks = split(page(text), WordTokens(8000), target=100)
    assert max(chunk.token_count for chunk in chunks) <= 101


def test_a_fence_longer_than_the_target_stays_whole_where_the_embedder_can_read_it() -> None:
    fence = "```\n" + "\n".join("a b c d" for _ in range(50)) + "\n```"
    chunks = split(page(f"Intro words.\n\n{fence}\n"), WordTokens(8000), target=100)
    assert fence in [chunk.text for chunk in chunks]


def test_long_titles_take_no_room_from_the_text() -> None:
    chunks = split(page("## one two three four\n\nText.\n"), WordTokens(6))
    assert [chunk.text for chunk in chunks] == ["## one two three four\n\nText."]


def test_chunks_before_in_and_after_an_include_know_their_line_and_offset_in_the_file() -> None:
    before, included, after = (f"## {name}\n\n{'word ' * 40}end.\n\n" for name in ("Before", "Included", "After"))
    directive = "{{#include other.md}}\n"
    start, end = len(before), len(before) + len(included)
    added, lines = len(included) - len(directive), 3
    insert = Insert(start, end, start, start + len(directive), 5, added, lines)
    chunks = split(page(before + included + after, inserts=(insert,)), TOKENS)
    assert [(chunk.text.split()[1], chunk.line, chunk.shift, chunk.inserts) for chunk in chunks] == [
        ("Before", 1, 0, ()),
        ("Included", 5, 0, (insert,)),
        ("After", 9 - lines, added, ()),
    ]
