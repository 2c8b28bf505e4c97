"""No markup that only a renderer understands reaches a reader: not in an answer's sentences, not in a breadcrumb, not
in what is searched."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from quoth.ask import extract
from quoth.ask.quotes import spoken
from quoth.ask.weigh import quotable
from quoth.chunks.split import embedding_text, split
from quoth.domain import Chunk, Evidence, Markup, Passage
from quoth.testing.embedder import FakeEmbedder
from quoth.text.markdown import first_heading
from quoth.text.sentences import sentences
from splitting import page
from writings import thorough

_MARKS = re.compile(
    r"\{\{|\}\}|\{%|%\}|<!--|-->|\{/\*|</?[a-z]+\b|:[a-z:]+:`|\{[a-z:]+\}`|\{:?\s*[.#]|data-|^\s*(?::::|///|\.\. )",
    re.M,
)
_DRESSED = {
    "markdown": (
        "{w}",
        '<font color="red">{w}</font>',
        "<kbd>{w}</kbd>",
        "{w} <!-- note to self -->",
        '{{{{< glossary_tooltip text="pod" >}}}} {w}',
        "[{w}](a.md){{ .md-button .wide }}",
        "![{w}](b.png){{ width=300 }}",
        "**{w}**",
    ),
    "rst": (
        "{w}",
        ":ref:`{w} <the-label>`",
        ":py:func:`~pkg.{w}`",
        "`{w} <https://x.org>`_",
        "**{w}**",
        "|{w}|",
        "{w} [1]_",
    ),
    "myst": ("{w}", "{{ref}}`{w} <the-label>`", "<font>{w}</font>", "{w} <!-- c -->", "{{py:func}}`~pkg.{w}`"),
}
_HEADINGS = {
    "markdown": (
        "## {w} {{ #id .cls }}",
        "## {w} {{ .cls }}",
        '## {w} {{ data-toc-label="x" }}',
        "## {w} <!-- c -->",
        "## {w}",
    ),
    "rst": ("{w} :ref:`lab`\n=================", "{w}\n======="),
    "myst": ("## {w}", "## {w} {{ref}}`that <lab>`"),
}
_AROUND = {
    "markdown": (
        "{t}",
        "/// tip | Mind\n\n{t}\n\n///",
        ":::note\n\n{t}\n\n:::",
        "{t}\n{{: .cls }}",
        "{{{{% notice %}}}}\n\n{t}\n\n{{{{% /notice %}}}}",
    ),
    "rst": ("{t}", ".. note::\n\n   {t}", ".. _label:\n\n{t}"),
    "myst": ("{t}", "(label)=\n\n{t}", ":::{{note}}\n\n{t}\n\n:::"),
}
_WORD = st.sampled_from(("robot", "node", "topic", "message", "arm"))


@st.composite
def _pages(draw: st.DrawFn, markup: Markup) -> str:
    parts = []
    for _ in range(draw(st.integers(1, 3))):
        parts.append(draw(st.sampled_from(_HEADINGS[markup])).format(w=draw(_WORD)))
        for _ in range(draw(st.integers(1, 3))):
            words = [draw(st.sampled_from(_DRESSED[markup])).format(w=draw(_WORD)) for _ in range(4)]
            sentence = f"The {' and the '.join(words)} move."
            parts.append(draw(st.sampled_from(_AROUND[markup])).format(t=sentence))
    return "\n\n".join(parts) + "\n"


def _seen(chunk: Chunk) -> list[str]:
    units = sentences(chunk.text, markup=chunk.markup)
    said = [spoken(chunk.text[unit.start : unit.end], chunk) for unit in units if unit.kind != "code"]
    return [*said, *chunk.breadcrumb, embedding_text(chunk)]


def _check(text: str, markup: Markup) -> None:
    written = replace(page(text, markup=markup), title=first_heading(text, markup=markup))
    for chunk in split(written, FakeEmbedder().tokens):
        assert [shown for shown in _seen(chunk) if _MARKS.search(shown)] == []


@thorough
@given(_pages("markdown"))
def test_no_markup_of_markdown_reaches_a_reader(text: str) -> None:
    _check(text, "markdown")


@thorough
@given(_pages("rst"))
def test_no_markup_of_restructured_text_reaches_a_reader(text: str) -> None:
    _check(text, "rst")


@thorough
@given(_pages("myst"))
def test_no_markup_of_myst_reaches_a_reader(text: str) -> None:
    _check(text, "myst")


def evidence_of(chunk: Chunk) -> Evidence:
    return Evidence("", (Passage(chunk=chunk, score=1.0, similarity=1.0),), None)


def _chunk(text: str, markup: Markup = "rst") -> Chunk:
    (chunk,) = split(page(text, markup=markup), FakeEmbedder().tokens)
    return chunk


@pytest.mark.parametrize(
    ("written", "shown"),
    [
        ("Call it like this::", "Call it like this:"),
        ("Call it like this ::", "Call it like this"),
        ("Call :func:`run` like this::", "Call run like this:"),
        ("::", ""),
        (r"Here :math:`\hat{x}_i` grows.", r"Here $\hat{x}_i$ grows."),
        ("Use ``std::`` names", "Use `std::` names"),
    ],
)
def test_the_mark_that_announces_a_literal_block_is_one_colon_or_none(written: str, shown: str) -> None:
    assert spoken(written, _chunk("A page.\n")) == shown


def test_a_backslash_that_breaks_a_line_is_not_shown() -> None:
    text = "**Tokens** \\\nA token belongs to a user."
    assert spoken(text, _chunk(f"{text}\n", "markdown")) == "**Tokens** A token belongs to a user."


def test_roles_and_links_in_a_row_of_a_table_are_not_shown() -> None:
    text = "=====  ==========================\nName   Use\n=====  ==========================\n"
    text += "match  :meth:`~Model.match` finds `docs <https://x.org>`_\n=====  ==========================\n"
    chunk = _chunk(text)
    found = extract.draft("What does match find?", evidence_of(chunk))
    assert "match finds docs" in found.text
    assert not re.search(r":meth:|`_", found.text)


@pytest.mark.parametrize(
    "text",
    [
        '{{ install_from("tool") }}',
        '<div class="row" role="row"><strong role="cell"><a href="https://x.org/a">Tool</a></strong></div>',
    ],
)
def test_a_macro_or_html_with_a_word_in_it_is_not_quoted(text: str) -> None:
    assert not quotable(text)


def test_words_with_a_tag_or_a_macro_in_them_are_quoted() -> None:
    assert quotable("For version {{ release }} press <kbd>Enter</kbd> to install the tool.")
    assert quotable("Use `{{ value }}` and `<div>`.")
