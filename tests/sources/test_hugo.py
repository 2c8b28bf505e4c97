"""Hugo: shortcodes, languages, permalinks, and what cannot be followed. Addresses and ids are compared with a real
build in test_built_books.py; those of `uglyURLs` were built with hugo 0.168.0 too."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from book_files import heading_ids, pages_of, urls_of, write
from linear import SMALL, grows_too_fast, surveyed
from quoth.sources import open_source
from quoth.text.plain import plain

BOOK = Path(__file__).parent / "books" / "hugo"
SAID = """Note:
The note has words.
What comes next
Linux
Use pods and a Pod.
A pod is the smallest unit of the book.
pods/simple.yaml
kind: Pod
Shared part
Shared words, twice deep value.
fmt.Println("hello")
See the bundle for version v1.36 by Ada.
The picture says more
Write {{< note >}} for a note.
Classes and ids
Only a class
Tip
An alert."""


def test_readers_see_the_words_and_none_of_the_shortcodes() -> None:
    source = open_source(BOOK, book_id="b")
    page = pages_of(source)["content/docs/setup/start.md"]
    assert plain(page.text[page.body_start :]) == SAID
    assert page.trail == ("Docs", "Setting up")
    assert page.notices == ()
    told = [notice.message for notice in source.notices if notice.code == "SHORTCODES_LEFT_OUT"]
    assert told == ["shortcodes that only Hugo's templates can show are left out: unheard-of (1)"]


def test_parts_of_pages_and_drafts_are_not_pages_and_are_named() -> None:
    skipped = {notice.source_file: notice.message for notice in open_source(BOOK, book_id="b").skipped}
    assert skipped == {
        "content/docs/README.md": "excluded by ignoreFiles",
        "content/docs/bundle/part.md": "a part of the page content/docs/bundle/index.md",
        "content/docs/draft.md": "draft: true",
        "content/docs/glossary/pod.md": "a part of the page content/docs/glossary/index.md",
        "content/examples/index.md": "headless: parts of other pages",
        "content/includes/index.md": "headless: parts of other pages",
        "content/includes/shared.md": "a part of the page content/includes/index.md",
    }


def test_a_folder_of_one_language_keeps_its_addresses() -> None:
    source = open_source(BOOK / "content_fr", book_id="b")
    assert urls_of(source) == {"docs/start.md": "https://x.org/book/fr/docs/start/"}
    assert {page.labels.language for page in pages_of(source).values()} == {"fr"}


def test_ugly_addresses(tmp_path: Path) -> None:
    shutil.copytree(BOOK, tmp_path / "b")
    config = (tmp_path / "b" / "hugo.toml").read_text()
    (tmp_path / "b" / "hugo.toml").write_text(f"uglyURLs = true\n{config}")
    urls = urls_of(open_source(tmp_path / "b", book_id="b", base_url="https://x.org"))
    assert sorted(url.removeprefix("https://x.org/") for url in urls.values()) == [
        "",
        "blog/2024/03/hello-world.html",
        "blog/2024/11/the-second.html",
        "docs/bundle.html",
        "docs/glossary.html",
        "docs/headings.html",
        "docs/index.html",
        "docs/my-notes--c++-v1.2-%C3%BCn%C3%AF.html",
        "docs/setup/begin.html",
        "docs/setup/index.html",
        "elsewhere/file.html",
        "elsewhere/moved/",
        "fr/docs/start.html",
    ]


KINDS = {"github-ascii": "h2 cafe-ab", "blackfriday": "h2 café-a-b", "github": "h2 café-ab"}


@pytest.mark.parametrize("kind", KINDS)
def test_the_configuration_decides_the_kind_of_ids(tmp_path: Path, kind: str) -> None:
    config = {"baseURL": "https://x.org/", "markup": {"goldmark": {"parser": {"autoHeadingIDType": kind}}}}
    write(tmp_path, {"hugo.json": json.dumps(config), "content/a.md": "## Café a.b\n"})
    assert heading_ids(pages_of(open_source(tmp_path, book_id="b"))["content/a.md"]) == [KINDS[kind]]


def test_languages_in_names_and_settings_in_several_files(tmp_path: Path) -> None:
    write(
        tmp_path,
        {
            "config/_default/hugo.yaml": "baseURL: https://x.org/\ndefaultContentLanguageInSubdir: true\n",
            "config/_default/languages.yaml": "en: {}\nde: {}\n",
            "config/_default/params.toml": 'colour = "red"\n',
            "content/docs/a.md": "# A\n\n{{< param colour >}}\n",
            "content/docs/a.de.md": "# A\n",
        },
    )
    source = open_source(tmp_path, book_id="b")
    assert urls_of(source) == {
        "content/docs/a.md": "https://x.org/en/docs/a/",
        "content/docs/a.de.md": "https://x.org/de/docs/a/",
    }
    assert plain(pages_of(source)["content/docs/a.md"].text) == "A\nred"


def test_names_may_begin_with_a_date(tmp_path: Path) -> None:
    """As hugo 0.168.0 built them."""
    config = (
        '[frontmatter]\ndate = ["date", ":filename"]\n[permalinks.page]\nblog = "/:section/:year/:month/:day/:slug/"\n'
    )
    write(
        tmp_path,
        {
            "hugo.toml": config,
            "content/blog/2024-03-05-my-post.md": "---\ntitle: Some Title\n---\n",
            "content/blog/2024-03-06-x.md": "---\ntitle: T\nslug: own\ndate: 2020-01-02\n---\n",
            "content/2024-03-07-top.md": "---\ntitle: T\n---\n",
        },
    )
    assert sorted(urls_of(open_source(tmp_path, book_id="b")).values()) == [
        "/blog/2020/01/02/own/",
        "/blog/2024/03/05/my-post/",
        "/top/",
    ]


def test_headings_are_in_the_language_of_their_page(tmp_path: Path) -> None:
    languages = '[languages.en]\ncontentDir = "content/en"\n[languages.de]\ncontentDir = "content/de"\n'
    write(
        tmp_path,
        {
            "hugo.toml": languages,
            "i18n/de.toml": '[whatsnext_heading]\nother = "Nächste Schritte"\n',
            "content/en/a.md": '## {{% heading "whatsnext" %}}\n',
            "content/de/a.md": '## {{% heading "whatsnext" %}}\n',
        },
    )
    texts = {name: page.text for name, page in pages_of(open_source(tmp_path, book_id="b")).items()}
    assert texts == {"content/en/a.md": "## What's next\n", "content/de/a.md": "## Nächste Schritte\n"}


def test_bad_input_costs_warnings_only(tmp_path: Path) -> None:
    book = tmp_path / "book"
    text = (
        '# A\n\n{{< readfile file="/../../secret.md" >}}\n\n{{< include "loop.md" >}}\n\n'
        '{{% code_sample file="none.yaml" %}}\n\n{{< never closed\n\n{{< glossary_definition term_id="gone" >}}\n'
    )
    write(tmp_path, {"secret.md": "secret words\n"})
    write(
        book,
        {
            "hugo.toml": "baseURL = [broken",
            "content/a.md": text,
            "content/loop.md": '{{< include "loop.md" >}}\n',
            "content/b.md": "+++\ntitle = broken\n+++\n# B\n",
        },
    )
    source = open_source(book, book_id="b")
    pages = pages_of(source)
    assert "secret words" not in pages["content/a.md"].text
    codes = [notice.code for notice in pages["content/a.md"].notices]
    assert codes.count("INCLUDE_OUTSIDE") == 1
    assert codes.count("INCLUDE_CYCLE") == 1
    assert codes.count("INCLUDE_MISSING") == 1
    assert [notice.code for notice in pages["content/b.md"].notices] == ["FRONT_MATTER_UNREADABLE"]
    told = [notice.message for notice in source.notices if notice.code != "FRONT_MATTER_DEFAULT"]
    assert len(told) == 2
    assert "hugo.toml cannot be read" in told[0]
    assert 'glossary_definition "gone"' in told[1]


@pytest.mark.parametrize(
    "piece", ["{{<", "{{< a ", '{{% tab "', "{{< comment >}}", "{{< highlight x >}}", "## {", "> [!"]
)
def test_shortcodes_take_linear_time(tmp_path: Path, piece: str) -> None:
    assert grows_too_fast(surveyed(tmp_path, "content/a.md", {"hugo.toml": ""}), f"{piece}\n", 4 * SMALL) == ""
