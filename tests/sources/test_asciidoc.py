"""Books of AsciiDoc: pages, includes, conditions and attributes, compared with what Asciidoctor has published."""

from __future__ import annotations

import json
import re
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from book_files import pages_of, urls_of, write
from quoth.chunks.split import split
from quoth.domain import Page
from quoth.sources import open_source
from quoth.sources.asciidoc_attributes import Attributes
from quoth.sources.asciidoc_includes import AsciidocIncludes
from quoth.sources.asciidoc_parts import part_of
from quoth.sources.bounds import bounds_of
from quoth.testing.embedder import FakeEmbedder
from quoth.text.markdown import leaves, parse
from quoth.text.offsets import line_in_file

BOOKS = Path(__file__).parents[1] / "asciidoc_books"
BUILDS: dict[str, Any] = json.loads((BOOKS / "builds.json").read_text())


def headings_of(page: Page) -> list[list[object]]:
    blocks = parse(page.text, markup=page.markup, start=page.body_start)
    return [[leaf.anchor, leaf.level] for leaf in leaves(blocks) if leaf.level]


def words_of(page: Page) -> Counter[str]:
    blocks = parse(page.text, markup=page.markup, start=page.body_start)
    return tokens("\n".join(leaf.plain for leaf in leaves(blocks)))


def tokens(text: str) -> Counter[str]:
    return Counter(re.findall(r"\w+", text.lower()))


def text_of(root: Path, name: str = "a.adoc", **attributes: str) -> str:
    source = open_source(root, book_id="b")
    return pages_of(source)[name].text


def expanded(text: str) -> str:
    return AsciidocIncludes(bounds_of(Path("/nonexistent"))).expand(text, Path("/nonexistent/a.adoc"), "a.adoc").text


# --- against a real build --------------------------------------------------------------------------------------------


def test_pages_and_their_ids_are_those_that_asciidoctor_publishes() -> None:
    source = open_source(BOOKS / "book", book_id="b", base_url="https://x.org")
    assert source.toolchain == "asciidoc"
    built = BUILDS["asciidoctor"]["pages"]
    pages = {page.url.removeprefix("https://x.org/"): page for page in pages_of(source).values()}
    assert set(pages) == set(built)
    assert {url: headings_of(page) for url, page in pages.items()} == {
        url: page["headings"] for url, page in built.items()
    }


def test_the_words_are_those_that_asciidoctor_publishes() -> None:
    source = open_source(BOOKS / "book", book_id="b", base_url="https://x.org")
    page = pages_of(source)["master.adoc"]
    ours, built = words_of(page), tokens(BUILDS["asciidoctor"]["pages"]["master.html"]["words"])
    # Asciidoctor numbers tables and appendices; the words at the icons of admonitions and in footnotes were not
    # recorded.
    assert built - ours == Counter(["table", "1", "appendix", "a"])
    assert ours - built == Counter(["tip", "the", "note", "note"])


def test_a_book_is_one_page_with_everything_it_includes() -> None:
    source = open_source(BOOKS / "book", book_id="b")
    assert [file.source_file for file in source.files()] == ["master.adoc", "second.adoc"]
    assert source.coverage.left == ()
    page = pages_of(source)["master.adoc"]
    assert page.title == "The Nasty Book: A Test"
    assert page.notices == ()


def test_a_chunk_leads_back_to_the_line_of_its_file() -> None:
    page = pages_of(open_source(BOOKS / "book", book_id="b"))["master.adoc"]
    lines = (BOOKS / "book" / "master.adoc").read_text().split("\n")
    chunks = split(page, FakeEmbedder().tokens)
    assert all(page.text[chunk.start : chunk.end] == chunk.text for chunk in chunks)
    last = next(chunk for chunk in chunks if "Last words." in chunk.text)
    at = last.start + last.text.index("Last words.")
    assert lines[line_in_file(last, at) - 1] == "Last words."
    included = next(chunk for chunk in chunks if "A sidebar." in chunk.text)
    assert lines[included.line - 1] == "include::chapters/two.adoc[leveloffset=+1]"


# --- which files are pages -------------------------------------------------------------------------------------------


def test_addresses_end_in_html_but_keep_their_extension_in_a_repository(tmp_path: Path) -> None:
    book = write(tmp_path, {"a.adoc": "= A\n", "b/c d.adoc": "= C\n", "_part.adoc": "part", "NOTES.md": "# N\n"})
    assert urls_of(open_source(book, book_id="b", base_url="https://x.org/docs/")) == {
        "a.adoc": "https://x.org/docs/a.html",
        "b/c d.adoc": "https://x.org/docs/b/c%20d.html",
    }
    hosted = open_source(book, book_id="b", base_url="https://git.example/o/r/blob/main")
    assert urls_of(hosted)["a.adoc"] == "https://git.example/o/r/blob/main/a.adoc"


def test_a_folder_with_more_of_another_format_reads_both(tmp_path: Path) -> None:
    files = {"a.adoc": "= A\n\ninclude::part.adoc[]\n", "part.adoc": "text", "b.md": "# B\n\n" + "words " * 50}
    source = open_source(write(tmp_path, files), book_id="b")
    assert source.toolchain == "plain"
    assert {name: page.markup for name, page in pages_of(source).items()} == {"a.adoc": "asciidoc", "b.md": "markdown"}


def test_one_file_is_a_book(tmp_path: Path) -> None:
    book = write(tmp_path, {"a.adoc": "= A\n\ninclude::part.adoc[]\n", "part.adoc": "== P\n\ntext", "b.adoc": "= B\n"})
    source = open_source(book / "a.adoc", book_id="b", base_url="https://x.org")
    assert urls_of(source) == {"a.adoc": "https://x.org/a.html"}
    assert "text" in pages_of(source)["a.adoc"].text
    assert source.coverage.left == ()


# --- includes --------------------------------------------------------------------------------------------------------


def test_includes_that_cannot_be_followed_are_reported_with_their_line(tmp_path: Path) -> None:
    secret = write(tmp_path, {"secret.adoc": "secret"})
    book = write(secret / "book", {"a.adoc": "= A\n\ninclude::none.adoc[]\ninclude::../secret.adoc[]\n\nEnd.\n"})
    page = pages_of(open_source(book, book_id="b"))["a.adoc"]
    assert "secret" not in page.text.replace("secret.adoc", "")
    assert [(notice.code, notice.line) for notice in page.notices] == [("INCLUDE_MISSING", 3), ("INCLUDE_OUTSIDE", 4)]


def test_an_edit_of_an_included_file_changes_the_page(tmp_path: Path) -> None:
    book = write(tmp_path, {"a.adoc": "= A\n\ninclude::part.adoc[]\n", "part.adoc": "one"})
    before = open_source(book, book_id="b").files()
    write(tmp_path, {"part.adoc": "two"})
    assert open_source(book, book_id="b").files() != before


def test_documents_that_include_each_other_end(tmp_path: Path) -> None:
    book = write(
        tmp_path,
        {"m.adoc": "= M\n\ninclude::a.adoc[]\n", "a.adoc": "a\n\ninclude::b.adoc[]\n", "b.adoc": "include::a.adoc[]\n"},
    )
    page = pages_of(open_source(book, book_id="b"))["m.adoc"]
    assert "INCLUDE_CYCLE" in {notice.code for notice in page.notices}


CODE = "zero\n# tag::a[]\none\n# tag::b[]\ntwo\n# end::b[]\nthree\n# end::a[]\nfour"


@pytest.mark.parametrize(
    ("options", "taken"),
    [
        ({"lines": "1;3..4"}, "zero\none\n# tag::b[]"),
        ({"lines": "8.."}, "# end::a[]\nfour"),
        ({"tag": "b"}, "two"),
        ({"tags": "a"}, "one\ntwo\nthree"),
        ({"tags": "a;!b"}, "one\nthree"),
        ({"tags": "!a"}, "zero\nfour"),
        ({"tags": "**"}, "zero\none\ntwo\nthree\nfour"),
        ({"tags": "*"}, "one\ntwo\nthree"),
        ({"tags": "**;!*"}, "zero\nfour"),
        ({"tags": "none"}, None),
        ({}, CODE),
    ],
)
def test_parts_are_taken_by_asciidoctors_rules(options: dict[str, str], taken: str | None) -> None:
    assert part_of(CODE, options) == taken


# --- conditions and attributes ---------------------------------------------------------------------------------------


def test_attributes_hold_from_where_they_are_set() -> None:
    text = "= T\n:a: one\n\n{a} {b}\n\n:b: two {a}\n\n{b} {A}\n\n:!a:\n\n{a}\n"
    assert expanded(text) == "= T\n:a: one\n\none {b}\n\n:b: two {a}\n\ntwo one one\n\n:!a:\n\n{a}\n"


def test_what_only_looks_like_an_attribute_stays() -> None:
    text = ":a: x\n\n\\{a} +{a}+ `+{a}+` pass:[{a}] `{a}`\n\n----\n{a}\n----\n\n"
    text += "....\n{a}\n....\n\n {a}\n\n////\n{a}\n////\n"
    assert expanded(text) == text.replace("`{a}`", "`x`")


def test_a_listing_may_ask_for_attributes() -> None:
    assert "x" in expanded(':a: x\n\n[source,subs="attributes+"]\n----\n{a}\n----\n').split("----")[1]


def test_an_entry_in_a_paragraph_is_text() -> None:
    assert expanded("text\n:a: x\n\n{a}\n") == "text\n:a: x\n\n{a}\n"


@pytest.mark.parametrize(
    ("condition", "holds"),
    [
        ("ifdef::set[]", True),
        ("ifdef::unset[]", False),
        ("ifndef::unset[]", True),
        ("ifdef::unset,set[]", True),
        ("ifdef::unset+set[]", False),
        ("ifndef::unset,set[]", False),
        ("ifndef::unset+set[]", True),
        ('ifeval::["{set}" == "yes"]', True),
        ('ifeval::["{set}" != "yes"]', False),
        ("ifeval::[{number} >= 2]", True),
        ("ifeval::[{number} < 2]", False),
        ("ifeval::[{set} > 2]", False),
        ("ifeval::[nonsense]", False),
    ],
)
def test_conditions_are_asciidoctors(condition: str, holds: bool) -> None:
    text = f":set: yes\n:number: 2\n\n{condition}\nkept\nendif::[]\nend\n"
    assert ("kept" in expanded(text)) is holds
    assert expanded(text).endswith("end\n")


def test_conditions_nest_and_hide_what_is_in_them() -> None:
    text = "ifdef::no[]\na\nifndef::no[]\nb\nendif::[]\n:c: set\nc\nendif::[]\n{c} d\n"
    assert expanded(text) == "{c} d\n"


def test_a_reference_without_words_says_the_title_of_its_section() -> None:
    text = "== The *First* One\n\n[#two]\n== Second\n\nSee <<two>>, <<_the_first_one>>, <<two,2>> and xref:#two[].\n"
    shown = "See <<two,Second>>, <<_the_first_one,The First One>>, <<two,2>> and xref:#two[Second]."
    assert shown in expanded(text)
    assert "<<none>>" in expanded("== A\n\n<<none>>\n\n----\n<<_a>>\n----\n")
    assert "<<_a>>" in expanded("== A\n\n----\n<<_a>>\n----\n")


def test_counters_count() -> None:
    assert expanded("{counter:n} {counter:n} {counter2:n}{n} {counter:l:a} {counter:l}\n") == "1 2 3 a b\n"


def test_an_attribute_cannot_grow_without_end() -> None:
    attributes = Attributes()
    attributes.set("a", "x" * 1000)
    for _ in range(30):
        attributes.set("a", "{a}{a}")
    assert len(attributes.values["a"]) <= 10_000
