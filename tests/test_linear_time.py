"""Whatever a reader or a book writes, the time to read it grows with its length and not faster.

Each entry for a stranger's text reads texts that repeat a short unit, chosen to make a pattern or a parser start over
again and again: once at some length and once at four times that length. Linear work takes four times as long, quadratic
work sixteen times. Only this process's CPU time counts, the best of several runs, and only the ratio.
"""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from linear import SMALL, Read, grows_too_fast
from quoth.ask.asked import asked, identifiers
from quoth.ask.blocks import layout
from quoth.ask.claims import claims
from quoth.ask.expand import Expansion
from quoth.ask.extract import draft
from quoth.ask.items import items, named
from quoth.ask.kinds import kind_asked
from quoth.ask.other_languages import read_elsewhere
from quoth.ask.quotes import Piece, composed
from quoth.ask.redaction import redacted
from quoth.ask.references import pointed_at, rules_of, without_pointing
from quoth.ask.selection import evidence_of_selection, judge_selection
from quoth.ask.sides import sides_of
from quoth.ask.suited import is_record
from quoth.ask.weigh import Candidate, weighing
from quoth.chunks.split import split
from quoth.domain import Chunk, Evidence, Markup, Page, Passage, PastTurn
from quoth.sources.asciidoc_includes import AsciidocIncludes
from quoth.sources.asciidoc_parts import part_of
from quoth.sources.bounds import bounds_of
from quoth.sources.directives import gitbook_includes, mdbook_includes, mdx_partials, snippets
from quoth.sources.files import front_matter
from quoth.sources.html import page_from_html
from quoth.sources.includes import Dialect, Includes
from quoth.sources.javascript import exported
from quoth.sources.loading import load_json, load_toml, load_yaml
from quoth.sources.mdbook import parse_summary
from quoth.sources.mkdocs import IgnorePatterns
from quoth.sources.notebooks import notebook_text
from quoth.sources.rst_includes import sphinx_includes
from quoth.sources.sphinx_conf import read_conf
from quoth.testing.embedder import FakeEmbedder
from quoth.text.definitions import explained_in
from quoth.text.markdown_inline import as_markdown as markdown_shown
from quoth.text.markers import markers, renumbered, without_unfinished
from quoth.text.rst_inline import as_markdown as rst_shown
from quoth.text.rst_tables import lost_borders
from quoth.text.sentences import sentences
from quoth.text.terms import content_terms, passage_weights, query_pairs, query_weights, side_by_side
from samples import chunk

TOKENS = FakeEmbedder().tokens
NOWHERE = Path("/nonexistent")


def _page(markup: Markup) -> Read:
    def read(text: str) -> object:
        page = Page(
            "b", "a.md", text, "hash", "https://x.org/a", "A", markup, "sphinx" if markup == "rst" else "github"
        )
        return split(page, TOKENS)

    return read


def _included(dialect: Dialect) -> Read:
    includes = Includes(bounds_of(NOWHERE), dialect)
    return lambda text: includes.expand(text, NOWHERE / "page.md", "page.md")


def _asciidoc_included(text: str) -> object:
    includes = AsciidocIncludes(bounds_of(NOWHERE))
    return includes.expand(f":a: b\n{text}", NOWHERE / "page.adoc", "page.adoc")


def _notebook(text: str) -> object:
    cells = [
        {"cell_type": kind, "source": text, "outputs": [{"output_type": "stream", "text": text}]}
        for kind in ("markdown", "code")
    ]
    return notebook_text(json.dumps({"cells": cells}).encode(), "a.ipynb")


def _follow(text: str) -> object:
    return rules_of(text, ()), pointed_at(text, ()), without_pointing(text), read_elsewhere(text)


def _quoted(markup: Markup) -> Read:
    """A passage, all of it and by its parts, as answers to questions of several kinds quote it."""
    wanted = [asked(question) for question in ("How do I move?", "List the arms.", "What is an arm?")]

    def read(text: str) -> None:
        one = chunk(text, markup=markup)
        here = layout(one)
        places = [(0, position) for position in range(len(here.units))]
        for what in wanted if places else ():
            expansion = Expansion([here], what, "in python")
            around = [expansion.around(0, position) for _, position in (places[0], places[-1])]
            fits = [expansion.fits(0, position) for _, position in places]
            composed([Piece(frozenset(places).union(*around), places[0], max(fits))], [_passage(one)], [here], 8)

    return read


def _passage(one: Chunk) -> Passage:
    return Passage(chunk=one, score=1.0, similarity=1.0)


def _compared(text: str) -> object:
    """Sentences that are weighed alike, to find the sides of a comparison among them."""
    one = chunk(f"Arms and hands.\n\n{text}")
    here = layout(one)
    found = [Candidate(1.0, (0, position), frozenset(), here.text(position)) for position in range(len(here.units))]
    evidence = Evidence(query="arms hands", passages=(_passage(one),), total_found=None)
    return sides_of(found, [here], weighing("What is the difference between arms and hands?", evidence, [here]))


def _selected(text: str) -> object:
    return judge_selection(evidence_of_selection("How does it work?", text, book_id="b"))


def _answered_from_selection(text: str) -> object:
    questions = ("How do I do a?", "List the a.", "What is an a?", "Give me an example of a.", "Summarise this.")
    return [draft(question, evidence_of_selection(question, text, book_id="b")) for question in questions]


ENTRIES: dict[str, Read] = {
    "question: terms": lambda text: (query_weights(text), content_terms(text), query_pairs(text), side_by_side(text)),
    "question: kind": kind_asked,
    "question: form": lambda text: (asked(text), identifiers(text)),
    "question: references": _follow,
    "question: redaction": redacted,
    "selection": _selected,
    "selection: answered": _answered_from_selection,
    "passage: terms": passage_weights,
    "passage: sentences": sentences,
    "passage: sentences of rst": lambda text: sentences(text, markup="rst"),
    "passage: sentences of asciidoc": lambda text: sentences(text, markup="asciidoc"),
    "passage: sentences of myst": lambda text: sentences(text, markup="myst"),
    "passage: what it explains": lambda text: explained_in(text, text, text),
    "passage: a record of changes": lambda text: is_record(chunk(f"- {text}")),
    "passage: shown": lambda text: (markdown_shown(text, text), rst_shown(text), lost_borders(text)),
    "passage: quoted": _quoted("markdown"),
    "passage: quoted from rst": _quoted("rst"),
    "passage: quoted from asciidoc": _quoted("asciidoc"),
    "passage: compared": _compared,
    "answer: markers": lambda text: (markers(text), without_unfinished(text), renumbered(text, (1, 2, 3))),
    "answer: claims": claims,
    "answer: items": items,
    "question before: two things": lambda text: named("and the latter?", [PastTurn(text, "")]),
    "markdown": _page("markdown"),
    "mdx": _page("mdx"),
    "myst": _page("myst"),
    "rst": _page("rst"),
    "asciidoc": _page("asciidoc"),
    "text": _page("text"),
    "html": lambda text: page_from_html(text, "https://x.org/"),
    "notebook": _notebook,
    "front matter": lambda text: front_matter(f"---\n{text}\n---\n# A\n"),
    "no front matter": lambda text: front_matter(f"---\n{text}"),
    "yaml": load_yaml,
    "json": load_json,
    "toml": load_toml,
    "docusaurus.config.js": lambda text: exported(f"export default {{docs: {{{text}"),
    "JavaScript": lambda text: exported(f"const a = [{text}]; const b = `{text}`; {text}"),
    "SUMMARY.md": lambda text: list(parse_summary(text)),
    "conf.py": read_conf,
    "exclude_docs": lambda text: IgnorePatterns(text).match("a/b/c.md"),
    "includes of mdBook": _included(mdbook_includes),
    "includes of MkDocs": _included(snippets([NOWHERE])),
    "includes of Docusaurus": _included(mdx_partials(NOWHERE)),
    "includes of GitBook": _included(gitbook_includes),
    "includes of Sphinx": _included(sphinx_includes(NOWHERE)),
    "includes of AsciiDoc": _asciidoc_included,
    "parts of AsciiDoc includes": lambda text: (part_of(text, {"tags": "a;!b"}), part_of("a\nb", {"lines": text})),
}

UNITS = (
    *(".", "/", "@", "$~", "a.", "a-", "_", "'", "a'", "1.", "1,", "é", "e\u0301", " ", "\t", "\n", "\r", "a ", "A "),
    *(
        "`",
        "``a ",
        "```\n",
        "~~~\n",
        ":::\n",
        "````{note}\n",
        "[",
        "[a](",
        "![",
        "[1]",
        "[1, ",
        "](",
        "<",
        "<a ",
        "<!--",
    ),
    *(
        "<a id=",
        "# <a id=\n",
        "{/*",
        "{#",
        "{{#include ",
        "{%",
        "*",
        "**a",
        "*a ",
        "_a ",
        "__a",
        "~~",
        "|",
        "|a|\n",
        "| -",
    ),
    *(
        "# a\n",
        "# a\n\nb\n\n",
        "a\n=\n",
        "a\n-\n",
        "> ",
        ">\n",
        "- ",
        "- a\n",
        "1. ",
        "  - a\n",
        "    a\n",
        "\\",
        "\\\n",
    ),
    *(":a:", ":a:`", ":ref:`b`  ", "`a <", "a_ ", "|a", ".. a::\n", ".. _a:\n", "..\n", "::\n\n", ".. include:: a\n"),
    *(
        "&",
        "&amp;",
        "&#",
        "http://a",
        "http://",
        "a@a",
        "key=",
        "<div>",
        "</div>",
        "<p",
        "<![CDATA[",
        "<?",
        "<!",
        '<a b="',
    ),
    *(
        "import a from 'b';\n",
        "<A />\n",
        "export ",
        '--8<-- "a"\n',
        "--8<--\n",
        "a: b\n",
        "- a: ",
        "{",
        '{"a":',
        "[[",
        "a = ",
    ),
    *(
        "(",
        "((",
        "-",
        "+",
        "//",
        "/*",
        "**/",
        "*/",
        "?",
        '"',
        '"""',
        "that ",
        "it ",
        "the first one ",
        "and the second ",
    ),
    *(
        "# a" + " " * 50 + "b\n",
        "!!! note\n    a\n",
        "=== a\n",
        "\u200b",
        "\ufeff",
        "\u00a0",
        "。",
        "字",
        "...",
        "? ",
        "! ",
    ),
)


# Growth shows only beyond what some parsers look at or remember: 2,000 characters for AsciiDoc's patterns, paragraphs
# of 4,000 for plain text.
LONGER = dict.fromkeys(("asciidoc", "markdown", "mdx", "myst"), 4 * SMALL)

# Found by an attack on an earlier version: each held a processor for seconds or minutes.
KNOWN = (
    *(("question: terms", unit) for unit in (".", "/", "@", "$~")),
    *(("question: form", unit) for unit in ("how is a ", "what is ", "should i use a ", "a_", "a_b")),
    *(("selection", unit) for unit in (".", "`")),
    *(("passage: what it explains", unit) for unit in ("(", "a ", "**", "- **a", "a\n", "(a) ")),
    *(("passage: a record of changes", unit) for unit in ("[]", "[", "``", "**")),
    *(("passage: quoted", unit) for unit in ("`", "~", "- a\n", '=== "a"\n\n    b\n\n')),
    *(
        ("passage: quoted from rst", unit)
        for unit in ("a\n  b\n", ".. a:: b\n\n   c\n", "| a\n", "\n  \n", "and:\n\n    a\n\n")
    ),
    *(("passage: quoted from asciidoc", unit) for unit in ("a:: b\n", "a::\n\n", "|===\n|a\n", "2+|a ", "//a\n")),
    *(("passage: compared", unit) for unit in ("arm\n\n", "- arm\n")),
    *(("selection: answered", unit) for unit in ("- a\n", "1. a b\n", "```\na\n```\n", "a b.\n\n", "- [a](b)\n")),
    *(("answer: claims", unit) for unit in ("- a\n", "|a|\n")),
    *(("answer: items", unit) for unit in ("- a\n", "|a|\n", "|  ", "- [a](", "```\n", "~~~`")),
    *(("markdown", unit) for unit in ("# a" + " " * 50 + "b\n", "# a\n\nb\n\n", "# <a id=\n", "`")),
    *(("mdx", unit) for unit in ("{/*", "<a ")),
    ("myst", "````{note}\n"),
    *(("rst", unit) for unit in (":ref:`b`  ", "**a")),
    *(("asciidoc", unit) for unit in ("*a ", "<<a,", "link:a[", "====\n", "* a\n+\n", "a:: b\n")),
    *(("includes of AsciiDoc", unit) for unit in ("{a} ", "ifdef::a[]\n")),
    *(("html", unit) for unit in ("<a ", '<a b="')),
    ("toml", "a."),
    ("exclude_docs", "["),
)


@pytest.mark.parametrize(("entry", "unit"), KNOWN)
def test_known_attacks_take_time_that_grows_with_their_length(entry: str, unit: str) -> None:
    assert grows_too_fast(ENTRIES[entry], unit, LONGER.get(entry, 2 * SMALL)) == ""


@pytest.mark.slow
@pytest.mark.parametrize("entry", ENTRIES)
def test_no_text_takes_time_that_grows_faster_than_its_length(entry: str) -> None:
    slow = [grows_too_fast(ENTRIES[entry], unit, LONGER.get(entry, SMALL)) for unit in UNITS]
    assert [words for words in slow if words] == []


def test_quadratic_work_is_noticed() -> None:
    def compare_all(text: str) -> int:
        return sum(one == other for one in text for other in text)

    assert grows_too_fast(compare_all, "a", 200) != ""
