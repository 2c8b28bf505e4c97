"""`quoth ingest --url-style` and `--base-url`: given once, remembered with the book."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from book_files import write
from commands import quoth

pytestmark = pytest.mark.slow


def address(data: Path) -> str:
    found = json.loads(quoth("search", "robots move their arms", "--json", "--data-dir", data).stdout)
    return str(found["results"][0]["source_url"])


def test_the_style_is_remembered_until_it_is_told_otherwise(tmp_path: Path) -> None:
    files = {"conf.py": "project = 'P'\nhtml_baseurl = 'https://x.org/'\n", "index.rst": "P\n=\n\nHome.\n"}
    book = write(tmp_path / "book", {**files, "arms.rst": "Arms\n====\n\nRobots move their arms.\n"})
    data = tmp_path / "data"
    ingest = ("ingest", book, "--book", "b", "--data-dir", data)
    assert quoth(*ingest, "--url-style", "slash").returncode == 0
    assert address(data) == "https://x.org/arms/"
    assert quoth(*ingest).returncode == 0
    assert address(data) == "https://x.org/arms/"
    assert quoth(*ingest, "--url-style", "auto").returncode == 0
    assert address(data) == "https://x.org/arms.html"
    wrong = quoth(*ingest, "--url-style", "pretty")
    assert wrong.returncode == 2
    assert "is not one of html, slash, bare, auto" in wrong.stderr


def test_where_it_is_published_is_remembered_until_the_project_says_so(tmp_path: Path) -> None:
    book = write(tmp_path / "book", {"arms.md": "# Arms\n\nRobots move their arms.\n"})
    data = tmp_path / "data"
    ingest = ("ingest", book, "--book", "b", "--data-dir", data)
    assert quoth(*ingest, "--base-url", "https://x.org").returncode == 0
    assert address(data).startswith("https://x.org/arms")
    write(book, {"arms.md": "# Arms\n\nRobots move their arms. They are long.\n"})
    assert quoth(*ingest).returncode == 0
    assert address(data).startswith("https://x.org/arms")
    write(book, {"quoth-book.toml": 'base_url = "https://y.org"\n'})
    assert quoth(*ingest).returncode == 0
    assert address(data).startswith("https://y.org/arms")
