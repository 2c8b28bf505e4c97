"""`quoth ingest --report FILE`: the author's page is complete, even after an ingest that read one page."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from html.parser import HTMLParser
from pathlib import Path

import pytest

from book_files import write
from commands import one_line, quoth
from quoth.domain import IngestJob, Notice, PageRecord
from quoth.serve.author_page import standing_notices

BEGIN = datetime(2026, 1, 1, tzinfo=UTC)


class Elements(HTMLParser):
    def __init__(self, page: str) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.attributes: list[str] = []
        self.texts: list[str] = []
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: Sequence[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.attributes += [name for name, _ in attrs]

    def handle_data(self, data: str) -> None:
        if data.strip():
            self.texts.append(data)


def ingested(book: Path, tmp_path: Path, *options: str) -> Elements:
    file = tmp_path / "report.html"
    run = quoth("ingest", book, "--report", file, "--data-dir", tmp_path / "data", *options)
    assert run.returncode in (0, 3), run.stderr
    return Elements(file.read_text("utf-8"))


def draft(name: str) -> str:
    return f"---\ntitle: {name}\nhardware_tier: nine\n---\n# {name}\n\nThe page {name} is about pumps.\n"


def test_every_note_is_there_with_its_file_and_line_and_what_was_read_and_left(tmp_path: Path) -> None:
    pages = {f"docs/p{number:02}.md": draft(f"p{number:02}") for number in range(30)}
    book = write(
        tmp_path / "book", {**pages, "mkdocs.yml": "site_name: Pumps\n", "docs/x.tex": "a b c\n", "o.md": "# o"}
    )
    page = ingested(book, tmp_path)
    assert page.texts[0] == "Notes for the author of Pumps"
    assert "Recognised mkdocs by mkdocs.yml" in page.texts
    assert {"Markdown", "LaTeX", "30", "not read", "left out"} <= set(page.texts)
    assert [text for text in page.texts if text.startswith("docs/p")] == [f"docs/p{n:02}.md:3" for n in range(30)]
    assert "TEXT_LEFT_OUT: 1" in page.texts


def test_the_notes_on_pages_that_did_not_change_stay_and_those_that_were_mended_go(tmp_path: Path) -> None:
    book = write(tmp_path / "book", {"a.md": draft("a"), "b.md": draft("b"), "c.md": draft("c")})
    assert {"a.md:3", "b.md:3", "c.md:3"} <= set(ingested(book, tmp_path).texts)
    write(book, {"b.md": "# b\n\nThe page is mended.\n"})
    (book / "c.md").unlink()
    page = ingested(book, tmp_path)
    assert "a.md:3" in page.texts
    assert not {"b.md:3", "c.md:3"} & set(page.texts)
    assert any("2 pages: 1 read, 1 unchanged, 1 deleted" in text for text in page.texts)


def test_names_and_texts_of_a_hostile_book_are_only_text(tmp_path: Path) -> None:
    evil = '<img src=x onerror="alert(1)">'
    book = write(tmp_path / "book", {f"{evil}.md": draft("x"), "a\u202egnp.md": draft(evil), "b\x1b[2J.md": draft("y")})
    (book / "quoth-book.toml").write_text(f"title = '<script>alert(2)</script>{evil}'\n")
    page = ingested(book, tmp_path)
    assert not {"img", "script"} & set(page.tags)
    assert not {"onerror", "src"} & set(page.attributes)
    assert page.texts[0] == f"Notes for the author of <script>alert(2)</script>{evil}"
    assert {f"{evil}.md:3", r"a\u202egnp.md:3", r"b\u001b[2J.md:3"} <= set(page.texts)


def test_a_dry_run_has_a_page_too(tmp_path: Path) -> None:
    page = ingested(write(tmp_path / "book", {"a.md": draft("a")}), tmp_path, "--dry-run")
    assert "a.md:3" in page.texts
    assert any(text.startswith("book · dry run of ") for text in page.texts)


@pytest.mark.parametrize("file", ["missing/report.html", "."])
def test_a_file_that_cannot_be_written_is_wrong_usage(tmp_path: Path, file: str) -> None:
    book = write(tmp_path / "book", {"a.md": draft("a")})
    run = quoth("ingest", book, "--report", tmp_path / file, "--data-dir", tmp_path / "data")
    assert run.returncode == 2
    assert "cannot be written" in run.stderr


def test_a_watch_writes_no_page(tmp_path: Path) -> None:
    run = quoth("ingest", tmp_path, "--watch", "--report", tmp_path / "r.html", "--data-dir", tmp_path / "data")
    assert run.returncode == 2
    assert "--watch and --report cannot be combined" in one_line(run)


def job(number: int, *notices: Notice, dry_run: bool = False) -> IngestJob:
    begun = BEGIN + timedelta(hours=number)
    return IngestJob(
        "b", "incremental", number, started_at=begun, completed_at=begun + timedelta(minutes=9), notices=notices,
        dry_run=dry_run,
    )  # fmt: skip


def test_only_the_job_that_read_a_page_last_speaks_for_it() -> None:
    old, new, failed = Notice("OLD", "o", "a.md"), Notice("NEW", "n", "a.md"), Notice("X", "x", "b.md", fatal=True)
    read = PageRecord("b", "a.md", "", "", (), BEGIN + timedelta(hours=2, minutes=1))
    stale = PageRecord("b", "b.md", "", "", (), BEGIN + timedelta(hours=1, minutes=1))
    earlier = [
        job(4, failed),
        job(3, Notice("DRY", "d", "a.md"), dry_run=True),
        job(2, new),
        job(1, old, Notice("B", "b", "b.md")),
    ]
    assert standing_notices(earlier[0], earlier, {"a.md": read, "b.md": stale}) == (failed, new)
    assert standing_notices(earlier[0], earlier, {}) == (failed,)
