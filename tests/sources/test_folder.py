"""Folders as books: which toolchain, which pages, which URLs, and what is reported about the rest."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from quoth.domain import Page
from quoth.errors import Unreadable
from quoth.sources import BookSource, open_source
from quoth.sources.bounds import bounds_of
from quoth.sources.docusaurus import without_prefix
from quoth.sources.docusaurus_config import read_config


def write(root: Path, files: dict[str, str | bytes]) -> Path:
    for name, content in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content.encode() if isinstance(content, str) else content)
    return root


def read_all(source: BookSource) -> dict[str, Page]:
    return {file.source_file: source.read(file) for file in source.files()}


def urls(source: BookSource) -> dict[str, str]:
    return {name: page.url for name, page in read_all(source).items()}


def digests(source: BookSource) -> dict[str, str]:
    return {file.source_file: file.digest for file in source.files()}


CONFIG = """// comment with url: 'https://wrong.example'
import {themes} from 'prism-react-renderer';
const config = {
  title: 'My Site',
  url: "https://site.example",
  baseUrl: '/base/',
  /* trailingSlash: true, */
  i18n: {defaultLocale: 'en'},
  presets: [['classic', {docs: {routeBasePath: 'handbook', path: 'content', sidebarPath: './sidebars.js'}}]],
  themeConfig: {navbar: {title: 'Wrong', items: [{label: 'x', href: 'https://nav.example'}]}},
};
export default config;
"""


# --- Docusaurus ----------------------------------------------------------------------------------------------------


def test_the_configuration_is_read_without_running_it(tmp_path: Path) -> None:
    config = write(tmp_path, {"docusaurus.config.js": CONFIG}) / "docusaurus.config.js"
    site = read_config(tmp_path, config, bounds_of(tmp_path))
    docs = site.docs
    assert (site.title, site.url, site.base_path, docs.route, docs.path, site.trailing_slash, site.language) == (
        "My Site",
        "https://site.example",
        "/base/",
        "handbook",
        "content",
        None,
        "en",
    )


@pytest.mark.parametrize(
    ("below", "name"),
    [
        ("", "content/01-guides/02-start.md"),
        ("content", "01-guides/02-start.md"),
        ("content/01-guides", "02-start.md"),
    ],
)
def test_a_site_is_recognised_from_its_root_its_docs_or_a_folder_of_them(tmp_path: Path, below: str, name: str) -> None:
    page = {"content/01-guides/02-start.md": "# Start\n"}
    source = open_source(write(tmp_path, {"docusaurus.config.js": CONFIG, **page}) / below, book_id="b")
    assert source.toolchain == "docusaurus"
    assert source.book.title == "My Site"
    assert urls(source) == {name: "https://site.example/base/handbook/guides/start"}


def test_a_folder_beside_the_docs_of_a_site_is_not_its_docs(tmp_path: Path) -> None:
    write(tmp_path, {"docusaurus.config.js": CONFIG, "content/a.md": "x", "notes/b.md": "y"})
    assert open_source(tmp_path / "notes", book_id="b").toolchain == "plain"


@pytest.mark.parametrize(
    ("name", "bare"),
    [
        ("01-intro", "intro"),
        ("1_intro", "intro"),
        ("01. Intro", "Intro"),
        ("003 - intro", "intro"),
        ("2021-11-foo", "2021-11-foo"),
        ("7.0-foo", "7.0-foo"),
        ("01-02-foo", "01-02-foo"),
        ("intro", "intro"),
        ("10", "10"),
    ],
)
def test_number_prefixes_are_dropped_but_dates_and_versions_stay(name: str, bare: str) -> None:
    assert without_prefix(name) == bare


DOCS: dict[str, str | bytes] = {
    "docusaurus.config.ts": "export default {title: 'S', url: 'https://s.io', baseUrl: '/'};",
    "docs/intro.md": "---\nslug: /\n---\n# Intro\n",
    "docs/01-guides/_category_.json": json.dumps({"label": "The Guides", "link": {"type": "generated-index"}}),
    "docs/01-guides/index.md": "# Index\n",
    "docs/01-guides/02-second.mdx": "---\nid: two\n---\n# Second\n",
    "docs/01-guides/relative.md": "---\nslug: other/name\n---\n# R\n",
    "docs/01-guides/up.md": "---\nslug: ../up-here\n---\n# U\n",
    "docs/01-guides/absolute.md": "---\nslug: /anywhere/else\n---\n# A\n",
    "docs/01-guides/03-kept.md": "---\nparse_number_prefixes: false\n---\n# K\n",
    "docs/api/README.mdx": "# Api\n",
    "docs/tools/Tools.md": "# Tools\n",
    "docs/api/v1.0-notes.md": "# Notes\n",
    "docs/a b/c d.md": "# Spaces\n",
}


def test_pages_have_the_urls_that_docusaurus_gives_them(tmp_path: Path) -> None:
    assert urls(open_source(write(tmp_path, DOCS), book_id="b")) == {
        "docs/intro.md": "https://s.io/docs/",
        "docs/01-guides/index.md": "https://s.io/docs/guides/",
        "docs/01-guides/02-second.mdx": "https://s.io/docs/guides/two",
        "docs/01-guides/relative.md": "https://s.io/docs/guides/other/name",
        "docs/01-guides/up.md": "https://s.io/docs/up-here",
        "docs/01-guides/absolute.md": "https://s.io/docs/anywhere/else",
        "docs/01-guides/03-kept.md": "https://s.io/docs/01-guides/03-kept",
        "docs/api/README.mdx": "https://s.io/docs/api/",
        "docs/tools/Tools.md": "https://s.io/docs/tools/",
        "docs/api/v1.0-notes.md": "https://s.io/docs/api/v1.0-notes",
        "docs/a b/c d.md": "https://s.io/docs/a%20b/c%20d",
    }


@pytest.mark.parametrize(
    ("base_url", "url"),
    [
        ("https://x.org", "https://x.org/docs/api/"),
        ("https://x.org/docs/", "https://x.org/docs/api/"),
        ("https://x.org/site", "https://x.org/site/docs/api/"),
    ],
)
def test_a_base_url_replaces_the_site_and_the_route_is_never_doubled(tmp_path: Path, base_url: str, url: str) -> None:
    source = open_source(write(tmp_path, DOCS), book_id="b", base_url=base_url)
    assert urls(source)["docs/api/README.mdx"] == url


def test_trailing_slashes_follow_the_configuration(tmp_path: Path) -> None:
    config = (
        "export default {url: 'https://s.io', baseUrl: '/', trailingSlash: %s,"
        " presets: [['classic', {docs: {routeBasePath: '/'}}]]}"
    )
    files = {"docs/a/index.md": "# A\n", "docs/b.md": "# B\n"}
    for setting, wanted in (("true", ["/a/", "/b/"]), ("false", ["/a", "/b"])):
        root = write(tmp_path / setting, {"docusaurus.config.js": config % setting, **files})
        assert list(urls(open_source(root, book_id="b")).values()) == [f"https://s.io{path}" for path in wanted]


def test_labels_of_folders_are_the_trail(tmp_path: Path) -> None:
    pages = read_all(open_source(write(tmp_path, DOCS), book_id="b"))
    assert pages["docs/01-guides/02-second.mdx"].trail == ("The Guides",)
    assert pages["docs/api/README.mdx"].trail == ("api",)
    assert pages["docs/intro.md"].trail == ()


def test_drafts_unlisted_pages_and_partials_are_skipped_and_reported(tmp_path: Path) -> None:
    files: dict[str, str | bytes] = {
        "docusaurus.config.js": CONFIG,
        "content/a.md": "# A\n",
        "content/draft.md": "---\ndraft: true\n---\n# D\n",
        "content/hidden.md": "---\nunlisted: true\n---\n# H\n",
        "content/_partial.mdx": "words",
        "content/_folder/x.md": "# X\n",
    }
    source = open_source(write(tmp_path, files), book_id="b")
    assert [file.source_file for file in source.files()] == ["content/a.md"]
    assert [str(notice) for notice in source.skipped] == [
        "content/_folder/x.md: a partial, not a page [PAGE_SKIPPED]",
        "content/_partial.mdx: a partial, not a page [PAGE_SKIPPED]",
        "content/draft.md: draft: true [PAGE_SKIPPED]",
        "content/hidden.md: unlisted: true [PAGE_SKIPPED]",
    ]


def test_titles_come_from_front_matter_then_heading_then_file(tmp_path: Path) -> None:
    files: dict[str, str | bytes] = {
        "docusaurus.config.js": CONFIG,
        "content/a.md": "---\ntitle: Front\n---\n# Heading\n",
        "content/b.md": "import X from 'x';\n\n# The `code` heading {#x}\n",
        "content/01-c.md": "Only text.\n",
    }
    titles = {name: page.title for name, page in read_all(open_source(write(tmp_path, files), book_id="b")).items()}
    assert titles == {"content/01-c.md": "c", "content/a.md": "Front", "content/b.md": "The code heading"}


def test_markdown_files_are_mdx_unless_the_site_detects(tmp_path: Path) -> None:
    files: dict[str, str | bytes] = {"content/a.md": "# A\n", "content/b.mdx": "# B\n"}
    for name, config, wanted in (
        ("default", CONFIG, ["mdx", "mdx"]),
        ("detect", CONFIG.replace("i18n", "markdown: {format: 'detect'}, i18n"), ["markdown", "mdx"]),
    ):
        root = write(tmp_path / name, {"docusaurus.config.js": config, **files})
        assert [page.markup for page in read_all(open_source(root, book_id="b")).values()] == wanted


def test_a_docs_folder_without_configuration_is_known_by_its_categories(tmp_path: Path) -> None:
    files: dict[str, str | bytes] = {"docs/01-a/_category_.yml": "label: First", "docs/01-a/01-b.md": "# B\n"}
    source = open_source(write(tmp_path, files) / "docs", book_id="b", base_url="https://x.org/guide")
    (page,) = read_all(source).values()
    assert (page.url, page.trail, source.toolchain) == ("https://x.org/guide/a/b", ("First",), "docusaurus")


# --- what a digest covers ------------------------------------------------------------------------------------------


def test_a_digest_changes_with_everything_that_its_chunks_depend_on(tmp_path: Path) -> None:
    files: dict[str, str | bytes] = {
        "docusaurus.config.js": CONFIG,
        "content/a/x.mdx": "import P from './_p.mdx';\n\n# X\n\n<P />\n",
        "content/a/_p.mdx": "shared words",
        "content/b.md": "# B\n",
    }
    root = write(tmp_path, files)
    before = digests(open_source(root, book_id="b"))
    assert digests(open_source(root, book_id="b")) == before

    def changed(base_url: str = "", title: str = "") -> set[str]:
        after = digests(open_source(root, book_id="b", base_url=base_url, title=title))
        return {name for name in before if after[name] != before[name]}

    assert changed(base_url="https://else.where") == {"content/a/x.mdx", "content/b.md"}
    write(root, {"content/a/_p.mdx": "other words"})
    assert changed() == {"content/a/x.mdx"}
    write(root, {"content/a/_p.mdx": "shared words", "content/a/_category_.json": '{"label": "New"}'})
    assert changed() == {"content/a/x.mdx"}
    write(root, {"content/a/_category_.json": "{}", "docusaurus.config.js": CONFIG.replace("/base/", "/new/")})
    assert changed() == {"content/a/x.mdx", "content/b.md"}


def test_all_files_that_claim_one_lesson_lose_its_number(tmp_path: Path) -> None:
    head = "---\nmodule: ros2\nchapter: 1\nlesson: 1\n---\n"
    root = write(tmp_path, {"a.md": f"{head}# A\n", "c.md": "# C\n"})
    alone = digests(open_source(root, book_id="b"))
    assert read_all(open_source(root, book_id="b"))["a.md"].labels.lesson == 1
    write(root, {"b.md": f"{head}# B\n"})
    source = open_source(root, book_id="b")
    pages = read_all(source)
    labels = [pages[name].labels for name in ("a.md", "b.md")]
    assert [(one.module, one.chapter, one.lesson) for one in labels] == [("ros2", 1, None)] * 2
    assert [notice.code for notice in pages["a.md"].notices if "several" in notice.message] == ["LESSON_NOT_UNIQUE"]
    assert digests(source)["a.md"] != alone["a.md"]
    assert digests(source)["c.md"] == alone["c.md"]


# --- plain folders -------------------------------------------------------------------------------------------------

PLAIN: dict[str, str | bytes] = {
    "README.md": "# Home\n",
    "guide/02-quick_start.md": "Words.\n",
    "guide/index.markdown": "# Guide\n",
    "notes.txt": "# not a heading\n",
    "widget.mdx": "# Widget\n",
    ".git/x.md": "no",
    "node_modules/pkg/readme.md": "no",
    ".venv/y.md": "no",
    "picture.png": b"\x89PNG",
}


@pytest.mark.parametrize(
    ("base_url", "wanted"),
    [
        ("", ["README.md", "guide/02-quick_start.md", "guide/index.markdown", "notes.txt", "widget.mdx"]),
        ("https://x.org/docs/", ["", "guide/02-quick_start", "guide/", "notes", "widget"]),
        (
            "https://github.com/o/r/blob/main",
            ["README.md", "guide/02-quick_start.md", "guide/index.markdown", "notes.txt", "widget.mdx"],
        ),
    ],
)
def test_plain_pages_are_published_as_plain_sites_do(tmp_path: Path, base_url: str, wanted: list[str]) -> None:
    source = open_source(write(tmp_path, PLAIN), book_id="b", base_url=base_url)
    assert source.toolchain == "plain"
    prefix = base_url.rstrip("/") + "/" if base_url else ""
    assert list(urls(source).values()) == [f"{prefix}{path}" for path in wanted]


def test_plain_pages_know_their_markup_title_and_trail(tmp_path: Path) -> None:
    pages = read_all(open_source(write(tmp_path, PLAIN), book_id="b"))
    assert {name: (page.markup, page.title, page.trail) for name, page in pages.items()} == {
        "README.md": ("markdown", "Home", ()),
        "guide/02-quick_start.md": ("markdown", "quick start", ("guide",)),
        "guide/index.markdown": ("markdown", "Guide", ("guide",)),
        "notes.txt": ("text", "not a heading", ()),
        "widget.mdx": ("mdx", "Widget", ()),
    }


def test_a_book_without_grades_gets_one_notice(tmp_path: Path) -> None:
    source = open_source(write(tmp_path, PLAIN), book_id="b")
    assert [notice for page in read_all(source).values() for notice in page.notices] == []
    assert [notice.code for notice in source.notices] == ["FRONT_MATTER_DEFAULT"]


def test_missing_grades_are_reported_in_a_book_that_has_some(tmp_path: Path) -> None:
    source = open_source(write(tmp_path, {"a.md": "---\nlayer: L2\n---\n# A\n", "b.md": "# B\n"}), book_id="b")
    assert [str(notice) for page in read_all(source).values() for notice in page.notices] == [
        "b.md:1: the front matter lacks fields that other pages have; used instead: layer L1 [FRONT_MATTER_DEFAULT]"
    ]
    assert source.notices == []


# --- bad input -----------------------------------------------------------------------------------------------------


def test_one_bad_page_is_listed_and_fails_alone(tmp_path: Path) -> None:
    source = open_source(write(tmp_path, {"a.md": b"\xff\xfe\x00", "b.md": b"x \xe9\n", "c.md": "# C\n"}), book_id="b")
    files = {file.source_file: file for file in source.files()}
    assert list(files) == ["a.md", "b.md", "c.md"]
    for name, reason in (("a.md", "UTF-16"), ("b.md", "offset 2, line 1")):
        with pytest.raises(Unreadable, match=reason):
            source.read(files[name])
    assert source.read(files["c.md"]).title == "C"


def test_a_page_that_vanished_since_the_survey_is_unreadable(tmp_path: Path) -> None:
    source = open_source(write(tmp_path, {"a.md": "# A\n"}), book_id="b")
    (file,) = source.files()
    (tmp_path / "a.md").unlink()
    with pytest.raises(Unreadable, match=r"a\.md cannot be read"):
        source.read(file)


def test_the_error_for_a_path_that_holds_no_book_says_what_to_do(tmp_path: Path) -> None:
    write(tmp_path, {"file.png": b"x", "empty/x.png": b"x"})
    for path, reason, hint in (
        ("missing", "does not exist", "Give the folder that holds the book."),
        ("file.png", "is not in a format that Quoth reads", "It reads .adoc .asc .asciidoc .docx .epub "),
    ):
        with pytest.raises(Unreadable, match=reason) as caught:
            open_source(tmp_path / path, book_id="b")
        assert (caught.value.hint or "").startswith(hint)
    with pytest.raises(Unreadable, match="has no pages"):
        open_source(tmp_path / "empty", book_id="b").files()


def test_one_file_is_read_by_itself(tmp_path: Path) -> None:
    root = write(tmp_path, {"my-guide.md": "# A\n\ntext\n", "other.md": "# B\n", "in/a.md": "# In\n"})
    source = open_source(root / "my-guide.md", book_id="b", base_url="https://x.org")
    assert urls(source) == {"my-guide.md": "https://x.org/my-guide"}
    assert source.book.title == "my guide"
    assert source.notices == [notice for notice in source.notices if notice.code == "FRONT_MATTER_DEFAULT"]
    assert open_source(root / "in" / "a.md", book_id="b", roots=[root / "in"]).files()
    (root / "in" / "link.md").symlink_to(root / "other.md")
    with pytest.raises(Unreadable, match="leads out of QUOTH_INGEST_ROOTS"):
        open_source(root / "in" / "link.md", book_id="b", roots=[root / "in"])


def test_a_folder_with_only_drafts_says_why_it_is_empty(tmp_path: Path) -> None:
    source = open_source(write(tmp_path, {"a.md": "---\ndraft: true\n---\n"}), book_id="b")
    with pytest.raises(Unreadable, match="drafts"):
        source.files()


def test_a_folder_that_may_not_be_read_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "access", lambda path, mode: False)  # root may read everything, in CI too
    with pytest.raises(Unreadable, match="cannot be read"):
        open_source(tmp_path, book_id="b")


def test_links_that_leave_the_folder_or_lead_back_are_not_followed(tmp_path: Path) -> None:
    write(tmp_path, {"outside/secret.md": "# S\n", "book/a.md": "# A\n", "book/sub/b.md": "# B\n"})
    (tmp_path / "book/out").symlink_to(tmp_path / "outside")
    (tmp_path / "book/secret.md").symlink_to(tmp_path / "outside/secret.md")
    (tmp_path / "book/sub/loop").symlink_to(tmp_path / "book")
    (tmp_path / "book/alias.md").symlink_to(tmp_path / "book/a.md")
    (tmp_path / "book/broken.md").symlink_to(tmp_path / "nowhere.md")
    files = open_source(tmp_path / "book", book_id="b").files()
    assert [file.source_file for file in files] == ["a.md", "alias.md", "sub/b.md"]


def test_a_page_with_damaged_front_matter_is_not_lost(tmp_path: Path) -> None:
    source = open_source(write(tmp_path, {"a.md": "---\ntitle: [\n---\n# Heading\n"}), book_id="b")
    page = read_all(source)["a.md"]
    assert (page.title, page.labels.hardware_tier) == ("Heading", 1)
    assert [notice.code for notice in page.notices] == ["FRONT_MATTER_UNREADABLE"]
