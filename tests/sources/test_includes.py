"""Includes: what is shown in their place, what is refused, and that offsets and lines still lead to the file."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from book_files import digests_of, pages_of, write
from quoth.chunks.split import split
from quoth.domain import Page
from quoth.sources import open_source
from quoth.sources.bounds import bounds_of
from quoth.sources.directives import gitbook_includes, mdbook_includes, mdx_partials, snippets
from quoth.sources.includes import Dialect, Expanded, Includes
from quoth.sources.rst_includes import sphinx_includes
from quoth.testing.embedder import FakeEmbedder
from quoth.text.limits import MAX_INCLUDE_DEPTH
from quoth.text.offsets import end_in_file, line_in_file, start_in_file

LISTING = """// ANCHOR: all
use std::io;

// ANCHOR: main
fn main() {
    // ANCHOR: call
    println!("Hello");
    // ANCHOR_END: call
}
// ANCHOR_END: main
// ANCHOR: again
two
// ANCHOR_END: again
between
// ANCHOR: again
three
// ANCHOR_END: again
// ANCHOR_END: all
"""


def expand(root: Path, dialect: Dialect, text: str, name: str = "src/page.md") -> Expanded:
    return Includes(bounds_of(root), dialect).expand(text, root / name, name)


def shown(root: Path, dialect: Dialect, text: str, name: str = "src/page.md") -> str:
    expanded = expand(root, dialect, text, name)
    assert expanded.notices == ()
    return expanded.text


# --- mdBook --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("directive", "expected"),
    [
        ("{{#include five.txt}}", "1\n2\n3\n4\n5"),
        ("{{ #include five.txt }}", "1\n2\n3\n4\n5"),
        ("{{#include five.txt:2}}", "2"),
        ("{{#include five.txt:2:3}}", "2\n3"),
        ("{{#include five.txt:4:}}", "4\n5"),
        ("{{#include five.txt::2}}", "1\n2"),
        ("{{#include five.txt::}}", "1\n2\n3\n4\n5"),
        ("{{#include five.txt:4:99}}", "4\n5"),
        ('{{#include "with space.txt":1:1}}', "spaced"),
        ("{{#include list.rs:call}}", '    println!("Hello");'),
        ("{{#include list.rs:main}}", 'fn main() {\n    println!("Hello");\n}'),
        ("{{#include list.rs:again}}", "two"),
        ("{{#rustdoc_include list.rs:again}}", "two\nthree"),
        ("{{#rustdoc_include list.rs:main}}", 'fn main() {\n    println!("Hello");\n}'),
        ("{{#rustdoc_include five.txt:2:3}}", "2\n3"),
        ("{{#rustdoc_include hidden.rs}}", "let x = 1;\n#[derive(Debug)]"),
        ("{{#playground five.txt:2 editable}}", None),
        ("{{#playground one.rs}}", "```rust\nfn one() {}\n```"),
        ("{{#playpen one.rs editable no_run}}", "```rust,editable,no_run\nfn one() {}\n```"),
        ("{{#title Another}}", ""),
        ("\\{{#include five.txt}}", "{{#include five.txt}}"),
        ("{{#unknown five.txt}}", "{{#unknown five.txt}}"),
        ("{{#include", "{{#include"),
    ],
)
def test_mdbook_shows_what_the_directive_names(tmp_path: Path, directive: str, expected: str | None) -> None:
    files = {
        "src/five.txt": "1\n2\n3\n4\n5\n",
        "src/with space.txt": "spaced\n",
        "src/list.rs": LISTING,
        "src/hidden.rs": "# use a;\nlet x = 1;\n#\n#[derive(Debug)]\n",
        "src/one.rs": "fn one() {}",
    }
    expanded = expand(write(tmp_path, files), mdbook_includes, f"Before.\n\n{directive}\n\nAfter.\n")
    middle = "" if expected is None else expected  # a playground takes no lines: that file does not exist
    assert expanded.text == f"Before.\n\n{middle}\n\nAfter.\n"
    assert len(expanded.notices) == (expected is None)


def test_the_text_before_an_include_begins_each_of_its_lines(tmp_path: Path) -> None:
    write(tmp_path, {"src/a.txt": "one\ntwo\n"})
    assert shown(tmp_path, mdbook_includes, "> {{#include a.txt}}\n") == "> one\n> two\n"


def test_includes_of_includes_are_relative_to_the_file_they_are_in(tmp_path: Path) -> None:
    files = {"parts/a.md": "a {{#include deep/b.md}}", "parts/deep/b.md": "b {{#include c.md}}", "parts/deep/c.md": "c"}
    assert shown(write(tmp_path, files), mdbook_includes, "{{#include ../parts/a.md}}!") == "a b c!"


@pytest.mark.parametrize(
    ("directive", "code", "named"),
    [
        ("{{#include nowhere.rs}}", "INCLUDE_MISSING", "nowhere.rs"),
        ("{{#include list.rs:nothing}}", "INCLUDE_MISSING", "list.rs:nothing"),
        ("{{#rustdoc_include list.rs:nothing}}", "INCLUDE_MISSING", "list.rs:nothing"),
        ("{{#include list.rs:900}}", "INCLUDE_MISSING", "list.rs:900"),
        ("{{#include ../../secret.txt}}", "INCLUDE_OUTSIDE", "../../secret.txt"),
        ("{{#include /etc/hostname}}", "INCLUDE_OUTSIDE", "/etc/hostname"),
        ("{{#include link.txt}}", "INCLUDE_OUTSIDE", "link.txt"),
        ("{{#include folder}}", "INCLUDE_MISSING", "folder"),
        ("{{#include picture.png}}", "INCLUDE_MISSING", "picture.png"),
        ("{{#include page.md}}", "INCLUDE_CYCLE", "page.md"),
    ],
)
def test_what_cannot_be_shown_is_left_out_and_reported_with_file_and_line(
    tmp_path: Path, directive: str, code: str, named: str
) -> None:
    text = f"One.\nTwo {directive}.\nThree.\n"
    root = write(tmp_path / "book", {"src/page.md": text, "src/list.rs": LISTING, "src/folder/x": ""})
    write(tmp_path, {"secret.txt": "secret words"})
    (root / "src/link.txt").symlink_to(tmp_path / "secret.txt")
    (root / "src/picture.png").write_bytes(b"\x89PNG\0\0")
    expanded = expand(root, mdbook_includes, text)
    assert "secret words" not in expanded.text
    assert "{{" not in expanded.text
    assert {(notice.code, notice.source_file, notice.line) for notice in expanded.notices} == {(code, "src/page.md", 2)}
    assert named in expanded.notices[0].message


def test_a_page_cannot_grow_without_end(tmp_path: Path) -> None:
    """Each file includes the next one ten times; the last is large."""
    files = {f"src/{n}.md": "\n".join([f"{{{{#include {n + 1}.md}}}}"] * 10) for n in range(MAX_INCLUDE_DEPTH - 1)}
    write(tmp_path, {**files, f"src/{MAX_INCLUDE_DEPTH - 1}.md": "x" * 300_000})
    expanded = expand(tmp_path, mdbook_includes, "{{#include 3.md}}")
    assert len(expanded.text) < 5_000_000
    assert "INCLUDE_TOO_LARGE" in {notice.code for notice in expanded.notices}


# --- MkDocs --------------------------------------------------------------------------------------------------------

SECTIONS = (
    "# --8<-- [start:one]\nfirst\n# --8<-- [end:one]\nother\n  # --8<-- [start:two]\n  second\n  # --8<-- [end:two]\n"
)


@pytest.mark.parametrize(
    ("written", "expected"),
    [
        ('--8<-- "five.txt"', "1\n2\n3\n4\n5"),
        ("-8<- 'five.txt'", "1\n2\n3\n4\n5"),
        ('--8<-- "five.txt:2:3"', "2\n3"),
        ('--8<-- "five.txt:4:"', "4\n5"),
        ('--8<-- "five.txt::2"', "1\n2"),
        ('--8<-- "five.txt:1:1,4:5"', "1\n4\n5"),
        ('--8<-- "sections.py:one"', "first"),
        ('--8<-- "sections.py:two"', "  second"),
        ('--8<-- "sections.py"', "first\nother\n  second"),
        ('    --8<-- "five.txt:1:2"', "    1\n    2"),
        ("--8<--\nfive.txt:1:1\n\nsections.py:one\n--8<--", "1\n\nfirst\n"),
        (';--8<-- "five.txt"', '--8<-- "five.txt"'),
        ('Use --8<-- "five.txt" in prose.', 'Use --8<-- "five.txt" in prose.'),
        ('--8<-- "outer.md"', "outer\nfirst"),
    ],
)
def test_snippets_show_what_pymdownx_shows(tmp_path: Path, written: str, expected: str) -> None:
    files = {"five.txt": "1\n2\n3\n4\n5\n", "sections.py": SECTIONS, "outer.md": 'outer\n--8<-- "sections.py:one"\n'}
    write(tmp_path / "snips", files)
    text = shown(tmp_path, snippets((tmp_path / "snips", tmp_path)), f"Before.\n\n{written}\n\nAfter.\n")
    assert re.sub(r"\n+", "\n", text) == re.sub(r"\n+", "\n", f"Before.\n\n{expected}\n\nAfter.\n")


def test_a_missing_snippet_is_reported(tmp_path: Path) -> None:
    expanded = expand(tmp_path, snippets((tmp_path,)), 'One.\n--8<-- "gone.md"\n--8<-- "https://a.example/x.md"\n')
    assert expanded.text == "One.\n\n\n"
    assert [(notice.code, notice.line) for notice in expanded.notices] == [
        ("INCLUDE_MISSING", 2),
        ("INCLUDE_MISSING", 3),
    ]


# --- MDX -----------------------------------------------------------------------------------------------------------


def test_a_partial_takes_the_place_of_its_tag(tmp_path: Path) -> None:
    page = (
        "import Note from './_note.mdx';\nimport Shared from '@site/shared/_s.md';\nimport Tabs from '@theme/Tabs';\n\n"
        '# Page\n\n<Note kind="x" more={1} />\n\n```jsx\n<Note />\n```\n\n'
        "  <Shared></Shared>\n\nA <Note /> in a line.\n"
    )
    write(tmp_path, {"docs/_note.mdx": "---\ntitle: T\n---\nMind the\nfuse.\n", "shared/_s.md": "Shared\nwords.\n"})
    assert shown(tmp_path, mdx_partials(tmp_path), page, "docs/page.mdx").split("# Page\n\n")[1] == (
        "Mind the\nfuse.\n\n```jsx\n<Note />\n```\n\n  Shared\n  words.\n\nA <Note /> in a line.\n"
    )


def test_partials_of_partials_are_shown_and_cycles_are_cut(tmp_path: Path) -> None:
    files = {
        "docs/_a.mdx": "import B from './_b.mdx';\n\nA.\n\n<B />\n",
        "docs/_b.mdx": "import A from './_a.mdx';\n\nB.\n\n<A />\n",
    }
    page = "import A from './_a.mdx';\n\n<A />\n"
    expanded = expand(write(tmp_path, files), mdx_partials(tmp_path), page, "docs/page.mdx")
    assert re.findall(r"[AB]\.", expanded.text) == ["A.", "B."]
    assert expanded.text.count("import") == 1
    assert [notice.code for notice in expanded.notices] == ["INCLUDE_CYCLE"]


def test_a_partial_is_found_beside_named_imports_and_shows_the_text_of_its_props(tmp_path: Path) -> None:
    write(tmp_path, {"docs/_p.mdx": "Charge the {props.part} at {props.volts} volts, {props.gone}.\n"})
    page = "import P, {toc} from './_p.mdx';\n\n<P part=\"arm\" volts={'12'} />\n"
    text = shown(tmp_path, mdx_partials(tmp_path), page, "docs/page.mdx")
    assert text.split("\n\n")[1] == "Charge the arm at 12 volts, {props.gone}.\n"


# --- GitBook -------------------------------------------------------------------------------------------------------


def test_shared_content_of_gitbook_takes_the_place_of_its_tag(tmp_path: Path) -> None:
    write(tmp_path, {".gitbook/includes/safety.md": "---\ntitle: Safety\n---\n\nMind the\nfuse.\n"})
    tag = '{% include "../.gitbook/includes/safety.md" %}'
    text = shown(tmp_path, gitbook_includes, f"One.\n\n{tag}\n\n```\n{tag}\n```\n", "guide/page.md")
    assert text == f"One.\n\nMind the\nfuse.\n\n```\n{tag}\n```\n"


# --- Sphinx --------------------------------------------------------------------------------------------------------


def test_an_option_without_a_value_counts_as_missing(tmp_path: Path) -> None:
    write(tmp_path, {"docs/part.txt": "Mind the fuse.\n"})
    page = ".. include:: part.txt\n   :start-after:\n   :end-before:\n"
    assert "Mind the fuse." in shown(tmp_path, sphinx_includes(tmp_path), page, "docs/page.rst")


def test_options_of_myst_may_be_a_block_of_yaml(tmp_path: Path) -> None:
    write(tmp_path, {"docs/arm.py": "one = 1\ntwo = 2\n"})
    page = "```{literalinclude} arm.py\n---\nlanguage: python\nlines: 2\n---\n```\n"
    assert shown(tmp_path, sphinx_includes(tmp_path), page, "docs/page.md") == "```python\ntwo = 2\n```\n"


# --- offsets, lines, digests ---------------------------------------------------------------------------------------


def book(root: Path, page: str, **files: str) -> Page:
    write(root, {"book.toml": "", "src/SUMMARY.md": "- [Page](page.md)\n", "src/page.md": page, **files})
    return pages_of(open_source(root, book_id="b"))["src/page.md"]


def test_chunks_are_slices_of_the_shown_text_and_know_their_place_in_the_file(tmp_path: Path) -> None:
    own = "# Page\n\nOpening words.\n\n```rust\n{{#include a.rs}}\n```\n\n## Next\n\nClosing words.\n"
    page = book(tmp_path, own, **{"src/a.rs": "fn a() {\n    b();\n}\n"})
    chunks = split(page, FakeEmbedder().tokens)
    assert [page.text[chunk.start : chunk.end] == chunk.text for chunk in chunks] == [True] * len(chunks)
    first, last = chunks[0], chunks[-1]
    assert "b();" in first.text
    assert (first.line, first.shift, first.included) == (1, 0, True)
    code, closing = page.text.index("b();"), page.text.index("```\n\n")
    assert (line_in_file(first, code), own[start_in_file(first, code) :][:10]) == (6, "{{#include")
    assert own[start_in_file(first, code) : end_in_file(first, code + 4)] == "{{#include a.rs}}"
    assert (line_in_file(first, closing), own[start_in_file(first, closing) :][:5]) == (7, "```\n\n")
    assert own[last.start - last.shift : last.end - last.shift] == last.text
    assert (last.line, last.included) == (9, False)


def test_a_chunk_that_begins_inside_an_include_names_the_line_of_the_directive(tmp_path: Path) -> None:
    own = "# Page\n\nWords.\n\n{{#include more.md}}\n\n## End\n\nEnd.\n"
    page = book(tmp_path, own, **{"src/more.md": "## More\n\nMore words.\n\n## Even more\n\nStill more.\n"})
    _, *chunks = split(page, FakeEmbedder().tokens)
    places = {chunk.heading_path[-1]: (chunk.line, start_in_file(chunk, chunk.start)) for chunk in chunks}
    assert places == {"More": (5, 16), "Even more": (5, 16), "End": (7, own.index("## End"))}


def test_every_word_of_the_page_itself_is_found_in_its_file_and_line(tmp_path: Path) -> None:
    own = "# Page\n\n" + "".join(
        f"own{n} words.\n\n```\n{{{{#include {name}}}}} own{n}c\n```\n\nown{n}d.\n\n{heading}"
        for n, (name, heading) in enumerate(
            [("a", ""), ("gone", "## Next\n\n"), ("b", ""), ("a", "## Last\n\n"), ("b", "")]
        )
    )
    page = book(tmp_path, own, **{"src/a": "1\n2\n3\n4\n", "src/b": "one"})
    found = []
    for chunk in split(page, FakeEmbedder().tokens):
        for word in re.finditer(r"own\w+", chunk.text):
            start = start_in_file(chunk, chunk.start + word.start())
            assert own[start : end_in_file(chunk, chunk.start + word.end())] == word[0]
            assert line_in_file(chunk, chunk.start + word.start()) == own.count("\n", 0, start) + 1
            found.append(word[0])
    assert found == re.findall(r"own\w+", page.text)
    assert len(found) == 15


@given(st.lists(st.tuples(st.text(alphabet="ab \n#.", max_size=12), st.sampled_from(["", "one", "two"])), max_size=8))
def test_text_outside_of_includes_is_the_file_itself(pieces: list[tuple[str, str]]) -> None:
    files = {"one": "1", "two": "22\n22\n22\n"}
    text = "".join(own + (f"{{{{#include {name}}}}}" if name else "") for own, name in pieces)

    def dialect(text: str, path: Path, start: int):  # type: ignore[no-untyped-def]
        for directive in mdbook_includes(text, path, start):
            assert directive.target is not None
            yield type(directive)(directive.start, directive.end, files[directive.target.name])

    expanded = Includes(bounds_of(Path("/")), dialect).expand(text, Path("/page.md"), "page.md")
    ends = [*(insert.start for insert in expanded.inserts), len(expanded.text)]
    own = [expanded.text[: ends[0]]]
    for insert, end in zip(expanded.inserts, ends[1:], strict=True):
        assert text.startswith("{{#include", insert.at)
        assert insert.line == text.count("\n", 0, insert.at) + 1
        own.append(expanded.text[insert.end : end])
        assert own[-1] == text[insert.end - insert.shift : end - insert.shift]
        lines = expanded.text.count("\n", 0, insert.end) - insert.lines
        assert lines == text.count("\n", 0, insert.end - insert.shift)
    assert "".join(own) == re.sub(r"\{\{#include (?:one|two)\}\}", "", text)


def test_a_digest_covers_every_included_file_but_only_what_is_shown_of_it(tmp_path: Path) -> None:
    files = {
        "book.toml": "",
        "src/SUMMARY.md": "- [A](a.md)\n- [B](b.md)\n",
        "src/a.md": "# A\n\n{{#include ../parts/x.md}}\n",
        "src/b.md": "# B\n",
        "parts/x.md": "x {{#include y.rs:2:2}}\n",
        "parts/y.rs": "one\ntwo\n",
    }
    root = write(tmp_path, files)
    before = digests_of(open_source(root, book_id="b"))

    def changed(name: str, text: str) -> set[str]:
        write(root, {name: text})
        after = digests_of(open_source(root, book_id="b"))
        return {page for page in before if after[page] != before[page]}

    assert changed("parts/y.rs", "uno\ntwo\n") == set()
    assert changed("parts/y.rs", "one\nzwei\n") == {"src/a.md"}
    (root / "parts/y.rs").unlink()
    assert changed("parts/z.rs", "") == {"src/a.md"}
    assert changed("parts/y.rs", "one\ntwo\n") == set()


def test_the_hash_of_a_page_is_the_hash_of_its_own_file(tmp_path: Path) -> None:
    page = book(tmp_path, "# P\n\n{{#include x.txt}}\n", **{"src/x.txt": "one"})
    again = book(tmp_path, "# P\n\n{{#include x.txt}}\n", **{"src/x.txt": "two"})
    assert (page.file_hash, page.text) != (again.file_hash, again.text)
    assert page.file_hash == again.file_hash
