from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import cast

import pytest

from quoth.bootstrap import fingerprint_of
from quoth.chunks.plan import FilePlan
from quoth.domain import Book, Chunk, IngestJob, IngestMode, JobStatus, Page, PageRecord, SourceFile
from quoth.errors import Conflict, IndexUnavailable, LibraryUnavailable, QuothError
from quoth.ingest import Ingest, IngestOptions, Progress
from quoth.ports import ABANDONED
from quoth.sources import BookSource, open_source
from quoth.testing.embedder import FakeEmbedder, FakeTokens
from quoth.testing.index import MemoryIndex, _MemoryWriter
from quoth.testing.library import MemoryLibrary
from samples import TickingClock

NODES = "# Nodes\n\nA node is a process that computes.\n\n## Names\n\nEvery node has a name that is unique.\n"
TOPICS = "# Topics\n\nA topic carries messages from publishers to subscribers.\n"


class ForgetfulLibrary(MemoryLibrary):
    """Dies between the publication of the index and its record, as a killed process would."""

    dead = False

    async def put_page_records(self, records: Sequence[PageRecord]) -> None:
        if self.dead and records:
            raise LibraryUnavailable("gone")
        await super().put_page_records(records)


@dataclass
class Workshop:
    folder: Path
    embedder: FakeEmbedder
    index: MemoryIndex
    library: ForgetfulLibrary
    options: IngestOptions = IngestOptions()
    clock: TickingClock = field(default_factory=TickingClock)

    def ingest(self) -> Ingest:
        return Ingest(self.index, self.library, self.embedder, self.clock, self.options)

    def source(self) -> BookSource:
        return open_source(self.folder, book_id="book")

    async def run(self, mode: IngestMode = "incremental", *, dry_run: bool = False) -> IngestJob:
        self.embedder.calls.clear()
        return await self.ingest().run(self.source(), mode=mode, dry_run=dry_run)

    async def chunks(self) -> list[Chunk]:
        return [chunk async for chunk in self.index.scan("book")]

    def write(self, name: str, text: str) -> None:
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")


@pytest.fixture
def workshop(tmp_path: Path) -> Workshop:
    embedder = FakeEmbedder()
    shop = Workshop(tmp_path / "docs", embedder, MemoryIndex(fingerprint_of(embedder)), ForgetfulLibrary())
    shop.write("nodes.md", NODES)
    shop.write("topics.md", TOPICS)
    return shop


async def fresh_index(workshop: Workshop) -> list[Chunk]:
    embedder = FakeEmbedder()
    other = Workshop(workshop.folder, embedder, MemoryIndex(fingerprint_of(embedder)), ForgetfulLibrary())
    await other.run()
    return await other.chunks()


async def test_a_folder_of_pages_becomes_a_searchable_book(workshop: Workshop) -> None:
    job = await workshop.run()
    assert (job.status, job.files_discovered, job.files_processed, job.files_skipped) == ("completed", 2, 2, 0)
    chunks = await workshop.chunks()
    assert job.chunks_created == len(chunks) == job.chunks_embedded
    assert {chunk.source_file for chunk in chunks} == {"nodes.md", "topics.md"}
    assert (await workshop.library.book("book")).book_id == "book"


class _FailingSource:
    """Our own code fails on one page: an unforeseen bug."""

    def __init__(self, inner: BookSource, page: str) -> None:
        self._inner, self._page = inner, page

    def __getattr__(self, name: str) -> object:
        return getattr(self._inner, name)

    def read(self, file: SourceFile) -> Page:
        page = self._inner.read(file)
        return replace(page, body_start="?") if file.source_file == self._page else page  # type: ignore[arg-type]


async def test_a_page_at_which_our_own_code_fails_is_one_notice_and_the_others_are_ingested(
    workshop: Workshop, caplog: pytest.LogCaptureFixture
) -> None:
    source = cast(BookSource, _FailingSource(workshop.source(), "nodes.md"))
    seen: list[Progress] = []
    job = await workshop.ingest().run(source, tell=seen.append)
    assert (job.status, job.files_processed, job.files_failed) == ("completed", 2, 1)
    assert [one.pages_done for one in seen if one.source_file] == [1, 2]
    (notice,) = [notice for notice in job.notices if notice.fatal]
    assert (notice.code, notice.source_file) == ("UNREADABLE_PAGE", "nodes.md")
    assert "TypeError" in notice.message
    assert "TypeError" in caplog.text
    assert {chunk.source_file for chunk in await workshop.chunks()} == {"topics.md"}


async def test_a_page_that_cannot_be_cut_small_enough_is_one_notice(workshop: Workshop) -> None:
    workshop.embedder.tokens = FakeTokens(limit=0)
    job = await workshop.run()
    assert (job.status, job.files_failed) == ("completed", 2)
    assert [notice.code for notice in job.notices if notice.fatal] == ["UNREADABLE_PAGE"] * 2


async def test_nothing_is_embedded_when_nothing_changed(workshop: Workshop) -> None:
    await workshop.run()
    job = await workshop.run()
    assert workshop.embedder.calls == []
    assert (job.files_processed, job.files_skipped, job.chunks_created, job.chunks_deleted) == (0, 2, 0, 0)
    assert job.chunks_kept == len(await workshop.chunks())


async def test_an_edit_embeds_only_the_text_that_changed(workshop: Workshop) -> None:
    await workshop.run()
    workshop.write("nodes.md", NODES.replace("unique", "unique in its namespace"))
    job = await workshop.run()
    assert len(workshop.embedder.calls) == 1
    assert "namespace" in workshop.embedder.calls[0]
    assert (job.chunks_created, job.chunks_deleted, job.files_skipped) == (1, 1, 1)
    assert await workshop.chunks() == await fresh_index(workshop)


async def test_a_chunk_knows_its_writings_and_when_it_was_embedded(workshop: Workshop) -> None:
    await workshop.run()
    before = {chunk.id: chunk.stamps for chunk in await workshop.chunks()}
    workshop.write("nodes.md", NODES.replace("unique", "unique in its namespace"))
    await workshop.run()
    after = {chunk.id: chunk for chunk in await workshop.chunks()}
    neighbours = [id for id, chunk in after.items() if chunk.source_file == "nodes.md" and id in before]
    assert neighbours
    for id in neighbours:  # the same text, at another place or with another neighbour
        old, new = before[id], after[id].stamps
        assert old is not None
        assert new is not None
        assert (new.version, new.created_at, new.embedded_at) == (old.version + 1, old.created_at, old.embedded_at)
        assert new.updated_at > new.created_at
    untouched = [id for id, chunk in after.items() if chunk.source_file == "topics.md"]
    assert [after[id].stamps for id in untouched] == [before[id] for id in untouched]


async def test_a_deleted_page_leaves_nothing_behind(workshop: Workshop) -> None:
    await workshop.run()
    (workshop.folder / "topics.md").unlink()
    job = await workshop.run()
    assert (job.files_deleted, job.files_discovered) == (1, 1)
    assert {chunk.source_file for chunk in await workshop.chunks()} == {"nodes.md"}
    assert set(await workshop.library.page_records("book")) == {"nodes.md"}


async def test_a_renamed_page_moves_without_being_embedded_again(workshop: Workshop) -> None:
    await workshop.run()
    (workshop.folder / "topics.md").rename(workshop.folder / "messages.md")
    job = await workshop.run()
    assert workshop.embedder.calls == []
    assert job.files_deleted == 1
    assert await workshop.chunks() == await fresh_index(workshop)


async def test_text_that_moves_to_another_page_is_not_embedded_again(workshop: Workshop) -> None:
    await workshop.run()
    section = "\n## Names\n\nEvery node has a name that is unique.\n"
    workshop.write("nodes.md", NODES.replace(section, ""))
    workshop.write("topics.md", TOPICS + section)
    await workshop.run()
    assert workshop.embedder.calls == []
    assert await workshop.chunks() == await fresh_index(workshop)


async def test_text_that_moves_to_a_page_that_is_read_much_later_is_not_embedded_again(workshop: Workshop) -> None:
    await workshop.run()
    section = "\n## Names\n\nEvery node has a name that is unique.\n"
    workshop.write("nodes.md", NODES.replace(section, ""))
    workshop.write("zoo.md", "# Nodes\n\nA node is a process that computes.\n" + section)
    workshop.options = IngestOptions(batch_chunks=1, publish_seconds=0.0)
    await workshop.run()
    assert workshop.embedder.calls == []
    assert await workshop.chunks() == await fresh_index(workshop)


async def test_two_lessons_that_swap_their_numbers_are_both_still_whole(workshop: Workshop) -> None:
    lesson = "---\nmodule: ros2\nchapter: 1\nlesson: {}\nhardware_tier: 1\nproficiency: A1\nlayer: L1\n---\n\n{}"
    same = "# Safety\n\nKeep the emergency stop within reach.\n"
    workshop.write("nodes.md", lesson.format(1, same))
    workshop.write("topics.md", lesson.format(2, same))
    await workshop.run()
    workshop.write("nodes.md", lesson.format(2, same))
    workshop.write("topics.md", lesson.format(1, same))
    await workshop.run()
    assert await workshop.chunks() == await fresh_index(workshop)
    assert {chunk.source_file for chunk in await workshop.chunks()} == {"nodes.md", "topics.md"}


async def test_a_page_that_cannot_be_read_is_reported_and_the_others_go_in(workshop: Workshop) -> None:
    (workshop.folder / "broken.md").write_bytes(b"# Broken\n\n\xff\xfe not UTF-8\n")
    job = await workshop.run()
    assert (job.status, job.files_failed, job.files_processed) == ("completed", 1, 3)
    fatal = [notice for notice in job.notices if notice.fatal]
    assert [notice.source_file for notice in fatal] == ["broken.md"]
    assert {chunk.source_file for chunk in await workshop.chunks()} == {"nodes.md", "topics.md"}


async def test_a_page_that_became_unreadable_keeps_its_old_text(workshop: Workshop) -> None:
    await workshop.run()
    before = await workshop.chunks()
    (workshop.folder / "topics.md").write_bytes(b"\xff\xfe\x00")
    job = await workshop.run()
    assert job.files_failed == 1
    assert await workshop.chunks() == before


async def test_a_run_that_died_before_the_library_knew_is_healed_without_embedding(workshop: Workshop) -> None:
    workshop.library.dead = True
    with pytest.raises(LibraryUnavailable):
        await workshop.run()
    assert await workshop.library.page_records("book") == {}
    assert await workshop.chunks() != []  # published all the same
    workshop.library.dead = False
    job = await workshop.run()
    assert workshop.embedder.calls == []
    assert job.status == "completed"
    assert await workshop.chunks() == await fresh_index(workshop)
    assert set(await workshop.library.page_records("book")) == {"nodes.md", "topics.md"}


async def test_a_failed_run_is_recorded_as_failed_with_its_reason(workshop: Workshop) -> None:
    workshop.library.dead = True
    with pytest.raises(LibraryUnavailable):
        await workshop.run()
    (job,) = await workshop.library.jobs("book")
    assert (job.status, job.error_message) == ("failed", "gone")
    assert job.completed_at is not None


async def test_a_dry_run_changes_nothing_and_counts_everything(workshop: Workshop) -> None:
    await workshop.run()
    before, records = await workshop.chunks(), await workshop.library.page_records("book")
    workshop.write("topics.md", TOPICS + "\n## Queues\n\nA queue holds messages that wait.\n")
    (workshop.folder / "nodes.md").unlink()
    job = await workshop.run(dry_run=True)
    assert (job.chunks_created, job.chunks_embedded, job.files_deleted) == (1, 1, 1)
    assert job.chunks_deleted == len([chunk for chunk in before if chunk.source_file == "nodes.md"])
    assert workshop.embedder.calls == []
    assert await workshop.chunks() == before
    assert await workshop.library.page_records("book") == records
    assert len(await workshop.library.jobs("book")) == 1


async def test_full_reads_every_page_again_but_embeds_nothing_twice(workshop: Workshop) -> None:
    await workshop.run()
    job = await workshop.run("full")
    assert (job.files_processed, job.files_skipped, workshop.embedder.calls) == (2, 0, [])


async def test_recreate_counts_the_chunks_of_before_as_deleted(workshop: Workshop) -> None:
    first = await workshop.run()
    again = await workshop.run("recreate")
    assert (first.chunks_deleted, again.chunks_deleted) == (0, first.chunks_created)
    assert again.chunks_created == first.chunks_created
    assert again.tokens_embedded == first.tokens_embedded == sum(c.token_count for c in await workshop.chunks())


async def test_recreate_starts_from_nothing(workshop: Workshop) -> None:
    await workshop.run()
    job = await workshop.run("recreate")
    assert job.chunks_embedded == len(workshop.embedder.calls) == len(await workshop.chunks())


async def test_a_second_writer_is_told_to_wait(workshop: Workshop) -> None:
    async with workshop.index.writer("book"):
        with pytest.raises(Conflict):
            await workshop.run()


async def test_small_batches_give_the_same_book_as_large_ones(workshop: Workshop) -> None:
    for number in range(7):
        workshop.write(f"more/{number}.md", f"# Page {number}\n\nText of page number {number}.\n")
    workshop.options = IngestOptions(batch_chunks=1, publish_seconds=0.0)
    await workshop.run()
    assert await workshop.chunks() == await fresh_index(workshop)


async def test_the_same_text_on_two_pages_is_embedded_once(workshop: Workshop) -> None:
    workshop.write("a/notes.md", "# Notes\n\nMind the gap.\n")
    workshop.write("b/notes.md", "# Notes\n\nMind the gap.\n")
    await workshop.run()
    texts = workshop.embedder.calls
    assert len(texts) == len(set(texts))
    twins = [chunk for chunk in await workshop.chunks() if "Mind the gap." in chunk.text]
    assert len(twins) == 2
    assert len({chunk.id for chunk in twins}) == 2


async def test_progress_reaches_the_end(workshop: Workshop) -> None:
    seen: list[Progress] = []
    ingest = Ingest(workshop.index, workshop.library, workshop.embedder, TickingClock())
    await ingest.run(open_source(workshop.folder, book_id="book"), tell=seen.append)
    assert (seen[0].pages_done, seen[-1].pages_done, seen[-1].pages_total) == (0, 2, 2)


async def test_an_index_that_fails_leaves_the_old_book_and_a_failed_job(workshop: Workshop) -> None:
    await workshop.run()
    before = await workshop.chunks()
    workshop.write("nodes.md", NODES.replace("unique", "changed"))

    class Broken(FakeEmbedder):
        async def embed_passages(self, texts: Sequence[str]) -> list[tuple[float, ...]]:
            raise IndexUnavailable("the machine is on fire")

    ingest = Ingest(workshop.index, workshop.library, Broken(), TickingClock())
    with pytest.raises(QuothError, match="on fire"):
        await ingest.run(open_source(workshop.folder, book_id="book"))
    assert await workshop.chunks() == before
    assert (await workshop.library.jobs("book"))[0].status == "failed"


# --- the job, as others see it ---


class WatchedLibrary(ForgetfulLibrary):
    """Keeps every saved state of a job."""

    def __init__(self) -> None:
        super().__init__()
        self.saved: list[IngestJob] = []

    async def save_job(self, job: IngestJob) -> None:
        await super().save_job(job)
        self.saved.append(job)


class StoppedClock(TickingClock):
    def monotonic(self) -> float:
        return 100.0


async def test_the_counters_are_saved_while_the_job_runs(workshop: Workshop) -> None:
    workshop.library = WatchedLibrary()
    workshop.options = IngestOptions(embed_slice=1)
    job = await workshop.run()
    assert [saved.status for saved in workshop.library.saved[:-1]] == ["running"] * (len(workshop.library.saved) - 1)
    embedded = [saved.chunks_embedded for saved in workshop.library.saved]
    assert embedded == sorted(embedded)
    assert set(range(job.chunks_embedded + 1)) <= set(embedded)  # every piece was seen
    assert workshop.library.saved[-1] == job


async def test_they_are_saved_no_more_often_than_somebody_can_read(workshop: Workshop) -> None:
    library = WatchedLibrary()
    ingest = Ingest(workshop.index, library, workshop.embedder, StoppedClock(), IngestOptions(embed_slice=1))
    await ingest.run(open_source(workshop.folder, book_id="book"))
    assert [job.status for job in library.saved] == ["running", "completed"]


async def test_progress_moves_while_a_batch_is_being_embedded(workshop: Workshop) -> None:
    seen: list[Progress] = []
    options = IngestOptions(embed_slice=1)
    ingest = Ingest(workshop.index, workshop.library, workshop.embedder, TickingClock(), options)
    await ingest.run(open_source(workshop.folder, book_id="book"), tell=seen.append)
    shares = [progress.share for progress in seen if progress.pages_done == 0]
    assert shares == sorted(shares)
    assert (shares[0], shares[-1]) == (0.0, 2.0)
    assert len(set(shares)) == 1 + seen[-1].chunks_embedded


async def test_slices_of_any_size_give_the_same_book(workshop: Workshop) -> None:
    workshop.options = IngestOptions(embed_slice=1)
    await workshop.run()
    assert await workshop.chunks() == await fresh_index(workshop)


async def test_a_queued_job_is_taken_over(workshop: Workshop) -> None:
    waiting = await workshop.library.start_job(IngestJob("book", "full", status="queued"))
    job = await workshop.ingest().run(workshop.source(), mode="full", job_id=waiting.job_id)
    assert (job.job_id, job.status, job.started_at is None) == (waiting.job_id, "completed", False)
    assert await workshop.library.jobs() == [job]


@pytest.mark.parametrize("status", ["running", "completed", "failed"])
async def test_a_job_that_is_not_waiting_is_not_taken_over(workshop: Workshop, status: JobStatus) -> None:
    other = await workshop.library.start_job(IngestJob("book", "full", status=status))
    with pytest.raises(Conflict, match=f"Job 1 of book 'book' is {status}"):
        await workshop.ingest().run(workshop.source(), job_id=other.job_id)
    assert await workshop.library.jobs() == [other]
    assert await workshop.index.books() == []


async def test_a_job_of_another_book_is_not_taken_over(workshop: Workshop) -> None:
    other = await workshop.library.start_job(IngestJob("other", "full"))
    with pytest.raises(Conflict):
        await workshop.ingest().run(workshop.source(), job_id=other.job_id)


async def test_a_dry_run_that_was_asked_for_as_a_job_is_remembered(workshop: Workshop) -> None:
    waiting = await workshop.library.start_job(IngestJob("book", "incremental", dry_run=True))
    job = await workshop.ingest().run(workshop.source(), dry_run=True, job_id=waiting.job_id)
    assert await workshop.library.jobs() == [job]
    assert (job.status, job.dry_run, job.files_processed) == ("completed", True, 2)
    assert await workshop.index.books() == []


async def test_the_next_ingest_fails_the_job_of_a_process_that_died(workshop: Workshop) -> None:
    dead = await workshop.library.start_job(IngestJob("book", "full", status="running"))
    await workshop.run()
    buried = await workshop.library.job(dead.job_id)
    assert (buried.status, buried.error_message) == ("failed", ABANDONED)


async def test_a_run_that_is_cancelled_is_failed_as_interrupted_and_publishes_nothing(workshop: Workshop) -> None:
    await workshop.run()
    before = await workshop.chunks()
    workshop.write("nodes.md", NODES.replace("unique", "changed"))
    workshop.write("more.md", "# More\n\nAnother page.\n")
    stuck = asyncio.Event()

    class Slow(FakeEmbedder):
        async def embed_passages(self, texts: Sequence[str]) -> list[tuple[float, ...]]:
            if self.calls:
                stuck.set()
                await asyncio.Event().wait()
            return await super().embed_passages(texts)

    options = IngestOptions(embed_slice=1)
    ingest = Ingest(workshop.index, workshop.library, Slow(), TickingClock(), options)
    task = asyncio.create_task(ingest.run(workshop.source()))
    await stuck.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    job = (await workshop.library.jobs())[0]
    assert (job.status, job.error_message, job.chunks_embedded) == ("failed", "interrupted", 1)
    assert await workshop.chunks() == before
    async with workshop.index.writer("book"):
        pass  # and the lock is free


async def test_the_plan_is_told_before_anything_is_done(workshop: Workshop) -> None:
    await workshop.run()
    workshop.write("topics.md", TOPICS + "\nMore.\n")
    workshop.write("new.md", "# New\n\nA new page.\n")
    (workshop.folder / "nodes.md").unlink()
    told: list[tuple[list[str], list[str], tuple[str, ...], int]] = []

    def planned(plan: FilePlan) -> None:
        names = [file.source_file for file in plan.new], [file.source_file for file in plan.changed]
        told.append((*names, plan.deleted, len(workshop.embedder.calls)))

    workshop.embedder.calls.clear()
    await workshop.ingest().run(workshop.source(), planned=planned)
    assert told == [(["new.md"], ["topics.md"], ("nodes.md",), 0)]


async def test_a_long_run_publishes_now_and_then(workshop: Workshop, monkeypatch: pytest.MonkeyPatch) -> None:
    """Published work is not lost when the run is killed."""
    published: list[Book | None] = []
    publish = _MemoryWriter.publish

    async def counted(writer: _MemoryWriter, book: Book | None = None) -> None:
        published.append(book)
        await publish(writer, book)

    monkeypatch.setattr(_MemoryWriter, "publish", counted)
    workshop.options = IngestOptions(batch_chunks=1, publish_seconds=0.0)
    job = await workshop.run()
    assert len(published) == job.files_processed + 1 == 3

    published.clear()
    workshop.options = IngestOptions(batch_chunks=1, publish_seconds=1e9)
    await workshop.run("recreate")
    assert len(published) == 1


async def test_what_a_source_says_of_itself_is_told_with_the_job(workshop: Workshop) -> None:
    workshop.write("_category_.json", "{ not json")
    workshop.write("blog/draft.md", "---\ndraft: true\n---\n# Draft\n\nNot yet.\n")
    source = workshop.source()
    await asyncio.to_thread(source.files)
    known = {str(notice) for notice in (*source.skipped, *source.notices)}
    assert known
    assert known <= {str(notice) for notice in (await workshop.run()).notices}
