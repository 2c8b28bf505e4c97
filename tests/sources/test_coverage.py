"""Nothing is lost silently: what a folder was recognised as, how much of it was read, and what was not."""

from __future__ import annotations

from pathlib import Path

import pytest

from book_files import pages_of, write
from quoth.domain import Coverage, Share
from quoth.errors import Unreadable
from quoth.sources import open_source

WORDS = "one two three four five six seven eight nine ten\n"


def covered(root: Path) -> Coverage:
    source = open_source(root, book_id="b")
    source.files()
    return source.coverage


def notes(root: Path) -> dict[str, str]:
    source = open_source(root, book_id="b")
    source.files()
    return {notice.code: notice.message for notice in source.notices}


def pages(root: Path) -> list[str]:
    return [file.source_file for file in open_source(root, book_id="b").files()]


def test_the_toolchain_is_named_with_the_file_that_identifies_it(tmp_path: Path) -> None:
    book = write(tmp_path, {"mkdocs.yml": "site_name: A\n", "docs/index.md": f"# A\n\n{WORDS}", "NEWS.md": WORDS})
    assert covered(book) == Coverage(
        "mkdocs",
        "mkdocs.yml",
        (Share("Markdown", 1, 12),),
        (Share("Markdown", 1, 10, "outside docs/"),),
    )
    assert covered(book / "docs").recognised_by == "../mkdocs.yml"


def test_a_book_of_asciidoc_is_named_with_its_longest_document(tmp_path: Path) -> None:
    files = {
        "manuscript/master.adoc": "= Book\n\ninclude::one.asc[]\n",
        "manuscript/one.asc": f"== One\n\n{WORDS * 3}",
        "notes.adoc": WORDS,
        "README.md": WORDS,
    }
    found = covered(write(tmp_path, files))
    assert (found.toolchain, found.recognised_by) == ("asciidoc", "manuscript/master.adoc")


def test_pages_that_the_toolchain_does_not_publish_are_left_out_but_not_lost(tmp_path: Path) -> None:
    files = {"book.toml": "", "src/SUMMARY.md": "- [A](a.md)\n", "src/a.md": "# A\n\ntext", "src/b.md": WORDS * 9}
    found = covered(write(tmp_path, files))
    assert (found.toolchain, found.recognised_by) == ("mdbook", "book.toml")
    assert [(share.kind, share.files, share.words, share.lost) for share in found.left] == [("Markdown", 1, 90, False)]
    assert not found.mostly_lost


@pytest.mark.parametrize(
    ("body", "taken"),
    [
        ("<main>{{ content }}</main>", False),
        ("<pre>{% if a %}</pre><p>{% include 'foot.html' %}</p>", False),
        ("<p>{{ .Title }}</p>", False),
        ("<p>Write <code>{{ content }}</code> in a layout.</p>", True),
        ("<pre><code>{% for page in site.pages %}</code></pre><p>That is a loop.</p>", True),
    ],
)
def test_a_template_is_not_a_page_but_a_page_about_templates_is(tmp_path: Path, body: str, taken: bool) -> None:
    book = write(tmp_path, {"a.md": WORDS, "b.html": f"<html><body>{body}</body></html>"})
    assert pages(book) == (["a.md", "b.html"] if taken else ["a.md"])


def test_text_in_an_unsupported_format_is_reported_as_lost_with_advice(tmp_path: Path) -> None:
    book = write(tmp_path, {"README.md": WORDS, "main.tex": WORDS * 2, "notes.org": WORDS})
    found = covered(book)
    assert [(share.kind, share.words, share.lost) for share in found.left] == [("LaTeX", 20, True), ("Org", 10, True)]
    assert found.mostly_lost
    source = open_source(book, book_id="b")
    source.files()
    said = [notice.message for notice in source.notices if notice.code == "TEXT_LEFT_OUT"]
    assert said[0].startswith("1 LaTeX file is left out (20 words)")
    assert "quoth ingest" in said[0]
    assert "org-publish" in said[1]


def test_less_than_half_of_the_text_may_be_lost_without_failing(tmp_path: Path) -> None:
    assert not covered(write(tmp_path, {"a.md": WORDS * 2, "b.tex": WORDS * 2})).mostly_lost
    assert covered(write(tmp_path, {"c.tex": "one more"})).mostly_lost


def test_a_folder_without_any_page_says_what_it_has(tmp_path: Path) -> None:
    with pytest.raises(Unreadable, match="has no pages") as caught:
        open_source(write(tmp_path, {"main.typ": WORDS}), book_id="b").files()
    assert "Quoth does not read Typst" in (caught.value.hint or "")


@pytest.mark.parametrize(
    ("files", "name", "advice"),
    [
        ({"theme.config.tsx": ""}, "a Nextra project (theme.config.tsx)", "quoth ingest out --base-url"),
        ({"package.json": '{"dependencies": {"nextra": "4"}}'}, "a Nextra project (package.json)", "quoth ingest out"),
        ({"_Sidebar.md": "* [Home](Home)"}, "a GitHub wiki project (_Sidebar.md)", "links may not open"),
        ({"index.html": "<script>window.$docsify = {}</script>"}, "a Docsify project", "links may not open"),
        ({"docs/.vitepress/config.ts": ""}, "a VitePress project in this folder", "Run quoth ingest on docs"),
        ({".eleventy.js": ""}, "an Eleventy project (.eleventy.js)", "npx @11ty/eleventy"),
        ({"antora-playbook.yml": "site: {}\n"}, "in other repositories", "run quoth ingest on build/site"),
        ({"index.rst": "A\n=\n\n.. toctree::\n\n   b\n"}, "a Sphinx project without its conf.py", "conf.py"),
    ],
)
def test_a_project_of_an_unknown_toolchain_is_named(
    tmp_path: Path, files: dict[str, str], name: str, advice: str
) -> None:
    said = notes(write(tmp_path, {**files, "a.md": "# A\n\ntext\n"}))["TOOLCHAIN_UNKNOWN"]
    assert name in said
    assert advice in said


def test_a_folder_of_plain_files_is_not_a_project(tmp_path: Path) -> None:
    assert "TOOLCHAIN_UNKNOWN" not in notes(write(tmp_path, {"a.md": "# A\n", "index.html": "<p>Hello</p>"}))


def test_a_page_of_quarto_needs_no_project(tmp_path: Path) -> None:
    book = write(tmp_path, {"a.qmd": "# A\n\nText.\n\n```{r}\n#| label: x\nprint(1)\n```\n", "b.md": "# B\n"})
    source = open_source(book, book_id="b", base_url="https://x.org")
    pages_of_it = pages_of(source)
    assert pages_of_it["a.qmd"].url == "https://x.org/a.html"
    assert "#| label" not in pages_of_it["a.qmd"].text
    assert source.coverage.left == ()


def test_files_for_machines_are_not_pages(tmp_path: Path) -> None:
    redirect = '<html><head><meta http-equiv="refresh" content="0; url=b.html"></head></html>'
    template = "<html>{% block body %}{% endblock %}</html>"
    files = {
        "a.html": "<h1>A</h1><p>Text.</p>",
        "old.html": redirect,
        "base.html": template,
        "layouts/list.html": "<p>{{ .Title }}</p>",
        "_sources/a.rst.txt": "A\n=\n",
        "_sidebar.md": "* [A](a.md)",
        "robots.txt": "User-agent: *",
        "requirements-dev.txt": "pytest",
        "404.html": "<p>Not found</p>",
        "notes.txt": "Real text.",
    }
    assert pages(write(tmp_path, files)) == ["a.html", "notes.txt"]


def test_a_long_page_that_also_reloads_itself_is_a_page(tmp_path: Path) -> None:
    live = f'<meta http-equiv="refresh" content="30"><h1>Live</h1><p>{WORDS * 100}</p>'
    assert pages(write(tmp_path, {"live.html": live})) == ["live.html"]


def test_included_files_are_not_left_out(tmp_path: Path) -> None:
    files = {
        "mkdocs.yml": "site_name: A\nmarkdown_extensions: [pymdownx.snippets]\n",
        "docs/index.md": '# A\n\n--8<-- "part.md"\n',
        "part.md": WORDS,
    }
    found = covered(write(tmp_path, files))
    assert found.taken == (Share("Markdown", 1, 12),)
    assert found.left == ()
