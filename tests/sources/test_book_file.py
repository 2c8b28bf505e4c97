"""`quoth-book.toml`, the styles of addresses, places by path, and includes from the project around a book."""

from __future__ import annotations

from pathlib import Path

import pytest

from book_files import digests_of, pages_of, urls_of, write
from quoth.errors import Unreadable
from quoth.sources import open_source
from quoth.sources.front_matter import Place, place_by_path
from quoth.sources.url_style import styled

FILE = """title = "The Book"
base_url = "https://x.org/book"
url_style = "slash"
modules = ["ROS 2", "Simulation"]
default_tier = 3
language = "de"
"""
PAGES = {
    "index.md": "# Home\n",
    "a.md": "---\nmodule: ros2\nchapter: 1\nlesson: 1\n---\n# A\n",
    "b.md": "---\ntitle: B\nmodule: Cooking\nhardware_tier: 2\nlang: en\n---\nWords.\n",
    "module-1/chapter-2/03-c.md": "# C\n",
    "01-simulation/02-x/03-d.md": "---\nmodule: Wrong\n---\n# D\n",
}


def told(source: object, code: str = "BOOK_FILE") -> list[str]:
    return [f"{n.source_file}:{n.line} {n.message}" for n in source.notices if n.code == code]  # type: ignore[attr-defined]


def test_what_the_file_says_counts_for_every_page(tmp_path: Path) -> None:
    source = open_source(write(tmp_path, {"quoth-book.toml": FILE, **PAGES}), book_id="b")
    pages = pages_of(source)
    assert (source.book.title, source.book.base_url, told(source)) == ("The Book", "https://x.org/book", [])
    assert (pages["index.md"].url, pages["a.md"].url) == ("https://x.org/book/", "https://x.org/book/a/")
    labels = {name: (p.labels.module, p.labels.hardware_tier, p.labels.language) for name, p in pages.items()}
    assert labels == {
        "index.md": (None, 3, "de"),
        "a.md": ("ROS 2", 3, "de"),
        "b.md": (None, 2, "en"),
        "module-1/chapter-2/03-c.md": (None, 3, "de"),
        "01-simulation/02-x/03-d.md": ("Simulation", 3, "de"),
    }
    modules = [str(notice) for page in pages.values() for notice in page.notices if notice.code == "MODULE_UNKNOWN"]
    assert modules == [
        "01-simulation/02-x/03-d.md:2: module is 'Wrong', which is not among the modules in quoth-book.toml;"
        " 'Simulation' from the path is used [MODULE_UNKNOWN]",
        "b.md:3: module is 'Cooking', which is not among the modules in quoth-book.toml; it is ignored"
        " [MODULE_UNKNOWN]",
        "module-1/chapter-2/03-c.md:1: module is 'module-1', which is not among the modules in quoth-book.toml;"
        " it is ignored [MODULE_UNKNOWN]",
    ]


def test_options_override_the_file(tmp_path: Path) -> None:
    write(tmp_path, {"quoth-book.toml": FILE, **PAGES})
    source = open_source(tmp_path, book_id="b", title="Mine", base_url="https://y.org", url_style="html")
    assert (source.book.title, source.book.url_style) == ("Mine", "html")
    assert urls_of(source)["a.md"] == "https://y.org/a.html"


def test_keys_that_make_no_sense_are_named_with_their_line(tmp_path: Path) -> None:
    file = "title = 5\nbase_url = 'ftp://x'\n\nurl_style = 'pretty'\nmodules = []\ndefault_tier = 9\ncolour = 'red'\n"
    source = open_source(write(tmp_path, {"quoth-book.toml": file, "a.md": "# A\n"}), book_id="b")
    source.files()
    assert told(source) == [
        "quoth-book.toml:1 title is 5, not text; it is ignored",
        "quoth-book.toml:2 base_url is 'ftp://x', not an http:// or https:// address; it is ignored",
        "quoth-book.toml:4 url_style is 'pretty', not html or slash or bare; it is ignored",
        "quoth-book.toml:5 modules is [], not a list of names; it is ignored",
        "quoth-book.toml:6 default_tier is 9, not 1, 2, 3 or 4; it is ignored",
        "quoth-book.toml:7 colour is not a known key and is ignored; use title, base_url, url_style, modules,"
        " default_tier, language",
    ]


def test_a_file_that_is_not_toml_counts_as_empty(tmp_path: Path) -> None:
    source = open_source(write(tmp_path, {"quoth-book.toml": "title = 'A'\ntitle =\n", "a.md": "# A\n"}), book_id="b")
    source.files()
    assert [line.split(" cannot be read")[0] for line in told(source)] == ["quoth-book.toml:2 quoth-book.toml"]


def test_the_file_is_found_beside_the_docs_up_to_the_repository(tmp_path: Path) -> None:
    write(tmp_path, {"quoth-book.toml": "title = 'Outside'\n", "repo/docs/a.md": "# A\n", "repo/.git/HEAD": ""})
    assert open_source(tmp_path / "repo/docs", book_id="b").book.title == "docs"
    write(tmp_path, {"repo/quoth-book.toml": "title = 'Inside'\n"})
    assert open_source(tmp_path / "repo/docs", book_id="b").book.title == "Inside"


def test_a_file_above_the_roots_is_not_read(tmp_path: Path) -> None:
    write(tmp_path, {"quoth-book.toml": "title = 'Secret'\n", "roots/docs/a.md": "# A\n"})
    source = open_source(tmp_path / "roots/docs", book_id="b", roots=(tmp_path / "roots",))
    assert source.book.title == "docs"


def test_a_change_of_the_file_makes_pages_new(tmp_path: Path) -> None:
    before = digests_of(open_source(write(tmp_path, PAGES), book_id="b"))
    for said in ("default_tier = 2", "language = 'fr'", "url_style = 'html'\nbase_url = 'https://x.org'"):
        after = digests_of(open_source(write(tmp_path, {"quoth-book.toml": said}), book_id="b"))
        assert before["index.md"] != after["index.md"]


@pytest.mark.parametrize(
    ("path", "place"),
    [
        ("module-1/chapter-1/01-lesson.md", Place("module-1", 1, 1)),
        ("docs/module-1/chapter-1/01-lesson.md", Place("module-1", 1, 1)),
        ("Module 2/chapter_03-topics/lesson-4-qos.mdx", Place("Module 2", 3, 4)),
        ("part1/02/index.md", Place("part1", 2, 0)),
        ("module-1-ros/chapter-1/01-lesson.md", Place("ros", 1, 1)),
        ("01/02/03.md", Place()),
        ("module/chapter/lesson.md", Place()),
    ],
)
def test_module_chapter_and_lesson_come_from_the_path(path: str, place: Place) -> None:
    assert place_by_path(path) == place


@pytest.mark.parametrize(
    ("name", "html", "slash", "bare"),
    [
        (
            "guide/start.rst",
            "https://x.org/d/guide/start.html",
            "https://x.org/d/guide/start/",
            "https://x.org/d/guide/start",
        ),
        ("guide/index.rst", "https://x.org/d/guide/index.html", "https://x.org/d/guide/", "https://x.org/d/guide"),
        ("index.rst", "https://x.org/d/index.html", "https://x.org/d/", "https://x.org/d"),
    ],
)
def test_each_style_can_be_made_from_any_other(name: str, html: str, slash: str, bare: str) -> None:
    styles = {"html": html, "slash": slash, "bare": bare}
    assert {styled(url, name, style) for url in styles.values() for style in ("",)} == set(styles.values())
    for style, wanted in styles.items():
        assert {styled(url, name, style) for url in styles.values()} == {wanted}


@pytest.mark.parametrize(
    ("url", "name", "style", "wanted"),
    [
        ("https://x.org/", "index.md", "html", "https://x.org/index.html"),
        ("https://x.org/", "index.md", "bare", "https://x.org/"),
        ("https://x.org/v1.0", "v1.0.md", "html", "https://x.org/v1.0.html"),
        ("guide/a.md", "guide/a.md", "html", "guide/a.md"),
        ("https://x.org/a.pdf", "a.pdf", "slash", "https://x.org/a.pdf"),
        ("index.html", "index.rst", "slash", "."),
        ("https://x.org/a/README.html", "a/README.rst", "slash", "https://x.org/a/README/"),
        ("https://x.org/a/", "a/README.md", "html", "https://x.org/a/index.html"),
        ("guide/a.html", "guide/a.rst", "bare", "guide/a"),
    ],
)
def test_styles_know_homes_and_files(url: str, name: str, style: str, wanted: str) -> None:
    assert styled(url, name, style) == wanted


def test_sphinx_pages_can_be_folders_outside_of_read_the_docs(tmp_path: Path) -> None:
    conf = "project = 'P'\nhtml_baseurl = 'https://x.org/'\n"
    files = {"conf.py": conf, "index.rst": "P\n=\n", "a/b.rst": "B\n=\n", "quoth-book.toml": "url_style = 'slash'\n"}
    urls = urls_of(open_source(write(tmp_path, files), book_id="b"))
    assert urls == {"index.rst": "https://x.org/", "a/b.rst": "https://x.org/a/b/"}


INCLUDED = ("src/a.py", ".env", ".secret/b.py", "../outside.py")
PROJECT = {
    "repo/.git/HEAD": "",
    "repo/.env": "TOKEN = 'hidden'\n",
    "repo/src/a.py": "print('shown')\n",
    "repo/.secret/b.py": "print('hidden')\n",
    "outside.py": "print('outside')\n",
    "repo/docs/conf.py": "project = 'P'\n",
    "repo/docs/index.rst": "P\n=\n\n"
    + "".join(
        f".. literalinclude:: {name}\n\n" for name in ("../src/a.py", "../.env", "../.secret/b.py", "../../outside.py")
    ),
}


def test_includes_are_followed_within_the_checkout_but_hidden_files_are_not(tmp_path: Path) -> None:
    (page,) = pages_of(open_source(write(tmp_path, PROJECT) / "repo/docs", book_id="b")).values()
    assert "print('shown')" in page.text
    assert "hidden" not in page.text
    assert "outside')" not in page.text
    assert [notice.code for notice in page.notices] == ["INCLUDE_OUTSIDE"] * 3


def test_the_project_can_be_given_and_must_hold_the_book(tmp_path: Path) -> None:
    write(tmp_path, PROJECT)
    (tmp_path / "repo/.git/HEAD").unlink()
    (tmp_path / "repo/.git").rmdir()
    docs = tmp_path / "repo/docs"
    (page,) = pages_of(open_source(docs, book_id="b")).values()
    assert "shown" not in page.text
    (page,) = pages_of(open_source(docs, book_id="b", project=tmp_path)).values()
    assert "print('shown')" in page.text
    assert "print('outside')" in page.text
    with pytest.raises(Unreadable, match="does not hold the book"):
        open_source(docs, book_id="b", project=tmp_path / "repo/src")


def test_no_project_is_wider_than_the_roots_that_may_be_ingested(tmp_path: Path) -> None:
    write(tmp_path, PROJECT)
    docs = tmp_path / "repo/docs"
    (page,) = pages_of(open_source(docs, book_id="b", roots=(docs,))).values()
    assert "shown" not in page.text
    with pytest.raises(Unreadable, match="may not be read"):
        open_source(docs, book_id="b", roots=(docs,), project=tmp_path / "repo")
