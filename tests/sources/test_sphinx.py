"""A Sphinx project: its pages, URLs, trails, includes; conf.py is read and never run."""

from __future__ import annotations

from pathlib import Path

import pytest

from quoth.chunks.split import split
from quoth.domain import Page
from quoth.sources import BookSource, open_source
from quoth.sources.sphinx_conf import read_conf
from splitting import TOKENS

CONF = """
import os, sys
raise SystemExit("conf.py must never run")
project = "Robots"
release = "2.1"
version = release
language = 'en'
extensions = ["sphinx.ext.autodoc"]
extensions.append("myst_parser")
exclude_patterns = ["_build", "drafts/*.rst"]
html_baseurl = "https://robots.example/en/"
"""
INDEX = """
======
Robots
======

.. toctree::
   :caption: Guides
   :hidden:

   guide/start
   Named <guide/more>

.. toctree::
   :glob:

   api/*
   missing
   self
   Elsewhere <https://a.b>

.. code-block:: rst

   .. toctree::

      only/an/example
"""


def write(root: Path, files: dict[str, str]) -> Path:
    for name, text in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    return root


@pytest.fixture
def project(tmp_path: Path) -> Path:
    return write(
        tmp_path,
        {
            "docs/conf.py": CONF,
            "docs/index.rst": INDEX,
            "docs/guide/start.rst": "Start\n=====\n\nHow to start it.\n\n.. toctree::\n\n   deep\n",
            "docs/guide/deep.rst": "Deep\n====\n\nFurther down.\n",
            "docs/guide/more.md": "(lab)=\n# More\n\nIn MyST.\n\n## Twice\n\nOne.\n\n## Twice\n\nTwo times.\n",
            "docs/api/one.rst": "One\n===\n\n.. automodule:: robots\n\nWords about it.\n",
            "docs/orphan.rst": ":orphan:\n\nAlone\n=====\n\nStill published.\n",
            "docs/drafts/later.rst": "Later\n=====\n",
            "docs/_build/html/_sources/index.rst": "Built\n=====\n",
            "docs/notes.txt": "No page.",
            "README.rst": "Readme\n======\n",
        },
    )


def pages(source: BookSource) -> dict[str, Page]:
    return {file.source_file: source.read(file) for file in source.files()}


def test_the_project_is_found_and_described_without_running_conf_py(project: Path) -> None:
    source = open_source(project, book_id="robots")
    assert (source.toolchain, source.book.title) == ("sphinx", "Robots")
    assert source.book.base_url == "https://robots.example/en/"
    found = pages(source)
    assert set(found) == {
        *("docs/index.rst", "docs/guide/start.rst", "docs/guide/deep.rst", "docs/guide/more.md"),
        *("docs/api/one.rst", "docs/orphan.rst"),
    }
    page = found["docs/guide/start.rst"]
    assert (page.markup, page.anchors, page.title) == ("rst", "sphinx", "Start")
    assert (page.labels.language, page.labels.version) == ("en", "2.1")
    assert found["docs/guide/more.md"].markup == "myst"


def test_urls_are_paths_with_html_below_the_base_url(project: Path) -> None:
    urls = {name: page.url for name, page in pages(open_source(project, book_id="robots")).items()}
    assert urls["docs/index.rst"] == "https://robots.example/en/index.html"
    assert urls["docs/guide/more.md"] == "https://robots.example/en/guide/more.html"
    other = pages(open_source(project / "docs", book_id="robots", base_url="https://o.t/x"))
    assert other["guide/deep.rst"].url == "https://o.t/x/guide/deep.html"


def test_urls_are_folders_if_read_the_docs_builds_folders(project: Path) -> None:
    write(project, {".readthedocs.yaml": "version: 2\nsphinx:\n  builder: dirhtml\n  configuration: docs/conf.py\n"})
    urls = {name: page.url for name, page in pages(open_source(project, book_id="r", base_url="https://a.b")).items()}
    assert urls["docs/index.rst"] == "https://a.b/"
    assert urls["docs/guide/deep.rst"] == "https://a.b/guide/deep/"


def test_the_trail_is_the_chain_of_toctrees(project: Path) -> None:
    trails = {name: page.trail for name, page in pages(open_source(project, book_id="robots")).items()}
    assert trails == {
        "docs/index.rst": (),
        "docs/guide/start.rst": ("Guides",),
        "docs/guide/deep.rst": ("Guides", "Start"),
        "docs/guide/more.md": ("Guides",),
        "docs/api/one.rst": (),
        "docs/orphan.rst": (),
    }


def test_missing_excluded_and_generated_pages_are_reported_once(project: Path) -> None:
    source = open_source(project, book_id="robots")
    source.files()
    assert [(notice.code, notice.source_file) for notice in source.skipped] == [
        ("PAGE_SKIPPED", "docs/drafts/later.rst")
    ]
    told = {notice.code: notice.message for notice in source.notices}
    assert "missing" in told["TOCTREE_MISSING"]
    assert told["AUTODOC_NOT_RUN"].startswith("1 page has")
    assert [notice.code for notice in source.notices].count("TOCTREE_MISSING") == 1
    places = {notice.code: (notice.source_file, notice.line) for notice in source.notices}
    line = INDEX.split("\n").index("   missing") + 1
    assert places["TOCTREE_MISSING"] == ("docs/index.rst", line)
    assert places["AUTODOC_NOT_RUN"] == ("docs/conf.py", None)


def test_citations_open_at_the_ids_of_sphinx_also_in_myst(project: Path) -> None:
    page = pages(open_source(project, book_id="robots"))["docs/guide/more.md"]
    urls = [chunk.url for chunk in split(page, TOKENS)]
    base = "https://robots.example/en/guide/more.html"
    assert urls == [base, f"{base}#twice", f"{base}#id1"]


def test_a_folder_of_the_docs_is_read_as_part_of_its_project(project: Path) -> None:
    found = pages(open_source(project / "docs" / "guide", book_id="robots"))
    assert set(found) == {"start.rst", "deep.rst", "more.md"}
    assert found["deep.rst"].url == "https://robots.example/en/guide/deep.html"


def test_django_s_txt_files_are_pages_if_conf_py_says_so(tmp_path: Path) -> None:
    write(
        tmp_path,
        {
            "conf.py": 'source_suffix = {".txt": "restructuredtext"}\nroot_doc = "contents"\n',
            "contents.txt": "All\n===\n\nSee ``this`` and more.\n\n.. note:: Mind it.\n",
        },
    )
    (page,) = pages(open_source(tmp_path, book_id="d")).values()
    assert (page.markup, page.title, page.url) == ("rst", "All", "contents.html")
    (chunk,) = split(page, TOKENS)
    assert chunk.markup == "rst"


def test_the_file_is_shown_where_a_page_includes_it(project: Path) -> None:
    write(
        project,
        {
            "docs/guide/deep.rst": (
                "Deep\n====\n\n.. include:: /parts/intro.inc\n   :start-after: BEGIN\n   :end-before:\n\n"
                ".. literalinclude:: ../../src/robot.py\n   :pyobject: Robot.run\n   :dedent:\n   :caption: Runs\n\n"
                ".. literalinclude:: ../../src/robot.py\n   :lines: 1, 5-\n\n"
                ".. include:: ../../../outside.rst\n\n::\n\n   .. include:: /parts/intro.inc\n\nLast.\n"
            ),
            "docs/parts/intro.inc": "skipped BEGIN\n\nThe shared *intro*.\n",
            "src/robot.py": "import os\n\nclass Robot:\n    def run(self):\n        return 'ran'\n",
        },
    )
    page = pages(open_source(project, book_id="robots"))["docs/guide/deep.rst"]
    assert "The shared *intro*." in page.text
    assert "skipped" not in page.text
    assert ".. code-block:: python\n   :caption: Runs\n\n   def run(self):\n       return 'ran'\n" in page.text
    assert ".. code-block:: python\n\n   import os\n           return 'ran'\n" in page.text
    assert "::\n\n   .. include:: /parts/intro.inc\n\nLast." in page.text
    assert [notice.code for notice in page.notices] == ["INCLUDE_OUTSIDE"]
    last = split(page, TOKENS)[-1]
    assert page.text[last.start : last.end] == last.text


def test_myst_includes_quote_their_options(project: Path) -> None:
    files = {"docs/guide/more.md": "# More\n\n```{include} ../../README.md\n:start-after: 'BEGIN -->'\n```\n"}
    write(project, {**files, "README.md": "# R\n\n<!-- BEGIN -->\n\nThe teaser.\n"})
    page = pages(open_source(project, book_id="robots"))["docs/guide/more.md"]
    assert page.text == "# More\n\n\n\nThe teaser.\n"


def test_an_edit_of_an_included_file_or_of_conf_py_is_seen(project: Path) -> None:
    write(project, {"docs/guide/deep.rst": "Deep\n====\n\n.. include:: x.inc\n", "docs/guide/x.inc": "one"})
    source = open_source(project, book_id="robots")
    before = {file.source_file: file.digest for file in source.files()}
    write(project, {"docs/guide/x.inc": "two"})
    after = {file.source_file: file.digest for file in source.files()}
    assert {name for name in before if before[name] != after[name]} == {"docs/guide/deep.rst"}
    write(project, {"docs/conf.py": CONF.replace("2.1", "2.2")})
    again = {file.source_file: file.digest for file in open_source(project, book_id="robots").files()}
    assert all(after[name] != again[name] for name in after)


@pytest.mark.parametrize(
    ("text", "values"),
    [
        ("project = 'A' + 'B'\nversion = f'{project}.1'", {"project": "AB", "version": "AB.1"}),
        ("release, version = '1.2', '1'", {"release": "1.2", "version": "1"}),
        ("release, version = get()", {}),
        (
            "project: str = 'A'\nexclude_patterns = []\nexclude_patterns += ['x']",
            {"project": "A", "exclude_patterns": ["x"]},
        ),
        ("try:\n    project = 'A'\nexcept ImportError:\n    project = 'B'", {"project": "A"}),
        ("extensions = ['a']\nextensions.extend(['b', c])", {"extensions": ["a", "b"]}),
        ("project = 'A'\nproject = compute()", {}),
        ("this is no python", {}),
        ("project = 'a\0'", {}),
    ],
)
def test_values_that_are_written_out_are_read_and_computed_ones_are_not(text: str, values: dict[str, object]) -> None:
    assert read_conf(text) == values


def test_a_conf_py_without_pages_is_not_a_sphinx_project(tmp_path: Path) -> None:
    write(tmp_path, {"conf.py": "project = 'x'", "a.md": "# A\n\nText.\n"})
    assert open_source(tmp_path, book_id="a").toolchain == "plain"


def test_a_plain_folder_reads_rst_html_and_notebooks(tmp_path: Path) -> None:
    write(
        tmp_path,
        {
            "a.rst": "Title A\n=======\n\nText.\n\nHead\n----\n\nMore.\n",
            "b.html": "<html><title>x</title><body><h1>Title B</h1><h2 id='Hd'>Head</h2><p>Text.</p></body></html>",
            "c.ipynb": '{"cells": [{"cell_type": "markdown", "source": "# Title C\\n\\n## My Head\\n\\nText."}]}',
            "d.ipynb": "{",
            "_site/e.html": "<p>built</p>",
        },
    )
    source = open_source(tmp_path, book_id="p", base_url="https://a.b")
    files = {file.source_file: file for file in source.files()}
    assert set(files) == {"a.rst", "b.html", "c.ipynb", "d.ipynb"}
    found = {name: source.read(file) for name, file in files.items() if name != "d.ipynb"}
    assert [page.title for page in found.values()] == ["Title A", "Title B", "Title C"]
    urls = [split(page, TOKENS)[-1].url for page in found.values()]
    assert urls == ["https://a.b/a#head", "https://a.b/b.html#Hd", "https://a.b/c.ipynb#My-Head"]
    with pytest.raises(Exception, match="JSON"):
        source.read(files["d.ipynb"])


BOOK = {
    "_config.yml": "title: Field Book\nonly_build_toc_files: true\nhtml:\n  baseurl: https://f.example/\n",
    "_toc.yml": (
        "format: jb-book\nroot: intro\nparts:\n  - caption: Basics\n    chapters:\n      - file: a/arm\n"
        "        sections:\n          - file: a/hand.md\n      - url: https://x.example\n      - file: a/gone\n"
    ),
    "intro.md": "# Intro\n\n```{note}\nMind the fuse.\n```\n",
    "a/arm.md": "# The arm\n\nIt lifts.\n",
    "a/hand.md": "# The hand\n\nIt grips.\n",
    "a/lost.md": "# Lost\n\nNobody leads here.\n",
}


def test_a_jupyter_book_is_a_sphinx_project_with_its_own_table_of_contents(tmp_path: Path) -> None:
    source = open_source(write(tmp_path, BOOK), book_id="b")
    found = pages(source)
    assert (source.toolchain, source.book.title) == ("sphinx", "Field Book")
    assert {name: (page.url, page.trail) for name, page in found.items()} == {
        "intro.md": ("https://f.example/intro.html", ()),
        "a/arm.md": ("https://f.example/a/arm.html", ("Basics",)),
        "a/hand.md": ("https://f.example/a/hand.html", ("Basics", "The arm")),
    }
    assert {page.markup for page in found.values()} == {"myst"}
    assert [str(notice) for notice in source.skipped] == ["a/lost.md: not in the table of contents [PAGE_SKIPPED]"]
    (missing,) = [notice for notice in source.notices if notice.code == "TOCTREE_MISSING"]
    assert (missing.source_file, missing.line) == ("_toc.yml", 10)


def test_a_table_of_contents_of_something_else_does_not_make_a_jupyter_book(tmp_path: Path) -> None:
    source = open_source(write(tmp_path, {"_toc.yml": "- title: x\n", "a.md": "# A\n"}), book_id="b")
    assert source.toolchain == "plain"
