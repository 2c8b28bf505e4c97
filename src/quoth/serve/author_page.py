"""The author's page: what Quoth made of a book, and every note on it, as one self-contained HTML page.

In: the last job of a book; the library, which remembers earlier jobs and the pages. Out: HTML that loads nothing and
runs no script. An incremental job reads only what changed; for all other pages it shows the notes of the job that last
read them, so the page is complete after every ingest. File names and all other text from a book are escaped, and
characters that would hide or reorder them are shown by their numbers.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from html import escape

from quoth.domain import Coverage, IngestJob, Notice, PageRecord, Share
from quoth.evals.html import framed, table
from quoth.ports import Library
from quoth.serve.shapes import timestamp

JOBS = 100  # earlier jobs to search for notes on pages that have not changed since
_UNSEEN = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff\ud800-\udfff]")


async def author_page(library: Library, job: IngestJob) -> str:
    """The page after this job, which may be a dry run of a book that is not in the library yet."""
    books = {book.book_id: book.title for book in await library.books()}
    earlier = await library.jobs(job.book_id, limit=JOBS)
    notices = standing_notices(job, earlier, await library.page_records(job.book_id))
    return framed(_visible(f"Notes for the author of {books.get(job.book_id, job.book_id)}"), _body(job, notices))


def standing_notices(
    job: IngestJob, earlier: Iterable[IngestJob], records: Mapping[str, PageRecord]
) -> tuple[Notice, ...]:
    """The notices of this job, then those of earlier jobs on pages not read since. `earlier`: newest first."""
    found = dict.fromkeys(job.notices)
    read = {notice.source_file for notice in job.notices if notice.fatal}
    for before in earlier:
        if not before.dry_run and before.job_id != job.job_id:
            kept = (notice for notice in before.notices if notice.source_file not in read)
            found.update(dict.fromkeys(notice for notice in kept if _read_by(before, records.get(notice.source_file))))
    return tuple(found)


def _read_by(job: IngestJob, record: PageRecord | None) -> bool:
    """Whether this job was the last to read the page."""
    if record is None or job.started_at is None or job.completed_at is None:
        return False
    return job.started_at <= record.ingested_at <= job.completed_at


def _body(job: IngestJob, notices: Sequence[Notice]) -> Iterator[str]:
    yield f'<p class="about">{escape(" · ".join(map(_visible, _facts(job))))}</p>'
    if job.error_message:
        yield f'<p class="missed">{escape(_visible(job.error_message))}</p>'
    if job.coverage is not None:
        yield from _coverage(job.coverage)
    kinds: dict[str, list[Notice]] = {}
    for notice in sorted(notices, key=lambda notice: not notice.fatal):
        kinds.setdefault(notice.code, []).append(notice)
    yield f"<h2>{_counted(len(notices), 'note')}</h2>"
    if not notices:
        yield "<p>There is nothing to fix.</p>"
    for code, alike in kinds.items():
        yield from _kind(code, alike)


def _facts(job: IngestJob) -> Iterator[str]:
    yield job.book_id
    ended = job.completed_at or job.started_at
    yield f"{'dry run' if job.dry_run else 'ingest'} of {timestamp(ended) if ended else 'now'}"
    yield f"{job.mode}, {job.status}"
    yield (
        f"{_counted(job.files_discovered, 'page')}: {job.files_processed} read, {job.files_skipped} unchanged,"
        f" {job.files_deleted} deleted, {job.files_failed} failed"
    )
    yield f"{_counted(job.chunks_created + job.chunks_kept, 'chunk')}"


def _coverage(coverage: Coverage) -> Iterator[str]:
    by = f" by {coverage.recognised_by}" if coverage.recognised_by else ""
    known = "Read as plain files" if coverage.toolchain == "plain" else f"Recognised {coverage.toolchain}{by}"
    yield f"<h2>{escape(_visible(known))}</h2>"
    if coverage.mostly_lost:
        yield '<p class="missed">Most of the text in this folder could not be read.</p>'
    rows = [_row("read", share) for share in coverage.taken]
    rows += [_row("not read" if share.lost else "left out", share) for share in coverage.left]
    yield table(("", "kind", "files", "words", ""), rows, last_class="meaning")


def _row(what: str, share: Share) -> tuple[str, ...]:
    return (what, share.kind, f"{share.files:,}", f"{share.words:,}" if share.words else "", _visible(share.reason))


def _kind(code: str, alike: Sequence[Notice]) -> Iterator[str]:
    """Each message once, with every file and line it is about."""
    yield f"<h3>{escape(_visible(code))}: {len(alike):,}</h3>"
    said: dict[tuple[str, bool], list[Notice]] = {}
    for notice in alike:
        said.setdefault((notice.message, notice.fatal), []).append(notice)
    for (message, fatal), notices in said.items():
        style = ' class="missed"' if fatal else ""
        places = "\n".join(f"<li>{escape(_place(notice))}</li>" for notice in notices)
        yield f"<article><p{style}>{escape(_visible(message))}</p>\n<ul>{places}</ul></article>"


def _place(notice: Notice) -> str:
    if notice.source_file in (".", ""):
        return "the book as a whole"
    return _visible(notice.source_file if notice.line is None else f"{notice.source_file}:{notice.line}")


def _counted(number: int, thing: str) -> str:
    return f"{number:,} {thing}{'' if number == 1 else 's'}"


def _visible(text: str) -> str:
    """The text without characters that are invisible or reverse the text around them."""
    return _UNSEEN.sub(lambda found: f"\\u{ord(found[0]):04x}", text)
