"""Jobs and changes behind the real doors, with the work done in this process instead of a child process."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from doors import PAGE, Doors, check_problem, frames, opened
from foremen import QUEUES, Foreman, ended, events, start, write
from quoth.domain import IngestJob
from quoth.errors import Conflict, Outage
from quoth.ports import ABANDONED
from quoth.serve import ingestion
from quoth.serve.ingestion import follow
from quoth.serve.jobs import STOPPED, IngestOrder, Jobs
from quoth.testing.library import MemoryLibrary


@pytest.fixture(autouse=True)
def _look_often(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ingestion, "FOLLOW_POLL", 0.001)


@pytest.fixture
async def foreman() -> Foreman:
    return Foreman()


@pytest.fixture
async def doors(tmp_path: Path, foreman: Foreman) -> AsyncIterator[Doors]:
    settings = {"ingest_roots": (tmp_path / "books",)}
    (tmp_path / "books").mkdir()
    async with opened(tmp_path, settings=settings, launch=foreman.launch) as joined:
        yield joined


# --- a job and its progress ---


async def test_a_job_is_queued_at_once_and_its_end_is_the_last_event(doors: Doors, tmp_path: Path) -> None:
    write(tmp_path / "docs", "queues.md", QUEUES)
    job = await start(doors)
    assert (job["status"], job["started_at"], job["book_id"]) == ("queued", None, "book")
    told = await events(doors, job["job_id"])
    assert [name for name, _ in told[:-1]] == ["progress"] * (len(told) - 1)
    name, last = told[-1]
    assert (name, last["status"], last["files_discovered"]) == ("completed", "completed", 2)
    assert last["files_processed"] + last["files_skipped"] == 2
    assert (await doors.client.get(f"/ingestion/jobs/{job['job_id']}")).json() == last


async def test_a_reader_of_the_progress_who_has_the_end_is_told_to_stop(doors: Doors, tmp_path: Path) -> None:
    write(tmp_path / "docs", "queues.md", QUEUES)
    path = f"/ingestion/jobs/{(await start(doors))['job_id']}/events"
    first = (await doors.client.get(path)).text
    known = [line.removeprefix("id: ") for line in first.split("\n") if line.startswith("id: ")]
    again = await doors.client.get(path, headers={"last-event-id": known[-1]})
    assert (again.status_code, again.content) == (204, b"")
    missed = await doors.client.get(path, headers={"last-event-id": known[0]})  # it broke before the end
    assert [name for name, _ in frames(missed.text)] == ["completed"]


async def test_the_book_answers_from_a_page_that_a_job_brought_in(doors: Doors, tmp_path: Path) -> None:
    write(tmp_path / "docs", "queues.md", QUEUES)
    await ended(doors, (await start(doors))["job_id"])
    answer = await doors.ask("What does a bounded queue drop when it is full?")
    assert "queues.md" in {source["source_file"] for source in answer["sources"]}


async def test_progress_is_told_while_the_job_is_at_work(doors: Doors, foreman: Foreman) -> None:
    foreman.go.clear()
    job = await start(doors, mode="full")
    following = asyncio.create_task(events(doors, job["job_id"]))
    await foreman.at_work.wait()
    foreman.go.set()
    states = [data["status"] for _, data in await following]
    assert (states[0], states[-1]) == ("queued", "completed")


async def test_a_job_of_another_process_is_followed_too(doors: Doors) -> None:
    library = doors.quoth.library
    job = await library.start_job(IngestJob("elsewhere", "full", status="running", files_discovered=3))
    following = asyncio.create_task(events(doors, job.job_id))
    await asyncio.sleep(0)
    for processed in (1, 3):
        await library.save_job(
            IngestJob("elsewhere", "full", job.job_id, "running", files_discovered=3, files_processed=processed)
        )
        await asyncio.sleep(0.01)
    await library.save_job(IngestJob("elsewhere", "full", job.job_id, "failed", error_message="no more paper"))
    name, last = (await following)[-1]
    assert (name, last["error_message"]) == ("failed", "no more paper")


async def test_jobs_are_listed_newest_first_and_by_book(doors: Doors, tmp_path: Path) -> None:
    write(tmp_path / "books" / "other", "a.md", PAGE)
    first = await start(doors)
    await ended(doors, first["job_id"])
    second = await start(doors, path="other", book_id="other")
    await ended(doors, second["job_id"])
    listed = (await doors.client.get("/ingestion/jobs")).json()
    assert [job["job_id"] for job in listed["jobs"]][:2] == [second["job_id"], first["job_id"]]
    of_other = (await doors.client.get("/ingestion/jobs", params={"book_id": "other"})).json()["jobs"]
    assert [job["job_id"] for job in of_other] == [second["job_id"]]
    assert len((await doors.client.get("/ingestion/jobs", params={"limit": 1})).json()["jobs"]) == 1


async def test_a_dry_run_counts_and_changes_nothing(doors: Doors, tmp_path: Path) -> None:
    before = [chunk async for chunk in doors.quoth.index.scan("book")]
    write(tmp_path / "docs", "queues.md", QUEUES)
    last = await ended(doors, (await start(doors, dry_run=True))["job_id"])
    assert (last["status"], last["dry_run"], last["chunks_created"]) == ("completed", True, 1)
    assert [chunk async for chunk in doors.quoth.index.scan("book")] == before


async def test_a_book_is_ingested_again_under_the_address_it_had(doors: Doors, tmp_path: Path) -> None:
    write(tmp_path / "docs", "queues.md", QUEUES)
    last = await ended(doors, (await start(doors))["job_id"])
    assert last["files_skipped"] == 1  # another address would have touched every page
    urls = {chunk.url.partition("#")[0] async for chunk in doors.quoth.index.scan("book")}
    assert urls == {"https://book.example.com/topics", "https://book.example.com/queues"}


async def test_another_address_is_taken_when_it_is_given(doors: Doors) -> None:
    await ended(doors, (await start(doors, base_url="https://moved.example.com"))["job_id"])
    assert (await doors.quoth.library.book("book")).base_url == "https://moved.example.com"


# --- one at a time ---


async def test_a_second_job_of_the_book_is_a_conflict_that_names_the_first(doors: Doors, foreman: Foreman) -> None:
    foreman.go.clear()
    job = await start(doors)
    problem = check_problem(await doors.client.post("/ingestion/jobs", json={}), 409, "JOB_CONFLICT")
    assert f"job {job['job_id']} is queued" in problem["message"]
    foreman.go.set()
    assert (await ended(doors, job["job_id"]))["status"] == "completed"
    again = await start(doors)
    assert (await ended(doors, again["job_id"]))["status"] == "completed"


async def test_a_job_of_another_book_waits_for_its_turn(doors: Doors, foreman: Foreman, tmp_path: Path) -> None:
    write(tmp_path / "books" / "other", "a.md", PAGE)
    foreman.go.clear()
    first, second = await asyncio.gather(start(doors), start(doors, path="other", book_id="other"))
    for _ in range(10):
        await asyncio.sleep(0)
    assert len(foreman.begun) == 1
    foreman.go.set()
    assert (await ended(doors, second["job_id"]))["status"] == "completed"
    assert (await ended(doors, first["job_id"]))["status"] == "completed"


async def test_a_writer_that_is_not_ours_is_a_conflict_and_nothing_is_recorded(doors: Doors) -> None:
    before = await doors.quoth.library.jobs()
    async with doors.quoth.index.writer("book"):
        check_problem(await doors.client.post("/ingestion/jobs", json={}), 409, "JOB_CONFLICT")
    assert await doors.quoth.library.jobs() == before


# --- jobs that do not end well ---


async def test_a_child_that_dies_leaves_a_failed_job_with_its_last_words(doors: Doors, foreman: Foreman) -> None:
    foreman.words = "its process was ended by SIGKILL"
    last = await ended(doors, (await start(doors))["job_id"])
    assert (last["status"], last["error_message"]) == ("failed", foreman.words)
    assert last["completed_at"] is not None
    foreman.words = ""
    assert (await ended(doors, (await start(doors))["job_id"]))["status"] == "completed"


async def test_jobs_that_died_with_their_process_are_failed_when_the_server_starts(tmp_path: Path) -> None:
    library = MemoryLibrary()
    running = await library.start_job(IngestJob("book", "full", status="running"))
    queued = await library.start_job(IngestJob("other", "full"))
    async with opened(tmp_path, library=library, books=0):
        for job in (running, queued):
            assert ((await library.job(job.job_id)).status, (await library.job(job.job_id)).error_message) == (
                "failed",
                ABANDONED,
            )


async def test_a_job_whose_writer_may_be_alive_is_left_alone(doors: Doors) -> None:
    job = await doors.quoth.library.start_job(IngestJob("book", "full", status="running"))
    jobs: Jobs = doors.app.state.jobs
    async with doors.quoth.index.writer("book"):
        await jobs.bury_the_dead()
        assert (await doors.quoth.library.job(job.job_id)).status == "running"
    await jobs.bury_the_dead()
    assert (await doors.quoth.library.job(job.job_id)).status == "failed"


async def test_who_follows_a_dead_job_is_told_so_after_a_while(doors: Doors) -> None:
    library = doors.quoth.library
    job = await library.start_job(IngestJob("book", "full", status="running"))
    told = [event async for event in follow(library, doors.app.state.jobs, job.job_id, poll=0.001, quiet=0.002)]
    assert [name for name, _ in told] == ["progress", "failed"]
    assert told[-1][1]["error_message"] == ABANDONED


async def test_a_job_that_died_does_not_stand_in_the_way_of_the_next(doors: Doors) -> None:
    dead = await doors.quoth.library.start_job(IngestJob("book", "full", status="running"))
    job = await start(doors)
    assert (await doors.quoth.library.job(dead.job_id)).status == "failed"
    assert (await ended(doors, job["job_id"]))["status"] == "completed"


async def test_a_server_that_stops_stops_its_jobs_and_says_why(tmp_path: Path, foreman: Foreman) -> None:
    foreman.go.clear()
    async with opened(tmp_path, books=2, launch=foreman.launch) as doors:
        at_work = await start(doors, book_id="book")
        waiting = await start(doors, book_id="book-2")
        await foreman.at_work.wait()
        library, jobs = doors.quoth.library, doors.app.state.jobs
    for job in (at_work, waiting):
        stored = await library.job(job["job_id"])
        assert (stored.status, stored.error_message) == ("failed", STOPPED)
    with pytest.raises(Outage, match="stopping"):
        await jobs.start(IngestOrder("book", str(tmp_path)))


# --- what may be ingested ---

WRONG: list[tuple[dict[str, object], int, str]] = [
    ({"path": "/etc", "book_id": "etc"}, 403, "FORBIDDEN"),
    ({"path": "..", "book_id": "up"}, 403, "FORBIDDEN"),
    ({"path": "a/../../docs", "book_id": "up"}, 403, "FORBIDDEN"),
    ({"path": "leads-out", "book_id": "link"}, 403, "FORBIDDEN"),
    ({"path": "leads-out/inner", "book_id": "link"}, 403, "FORBIDDEN"),
    ({"path": "/no/such/place", "book_id": "x"}, 403, "FORBIDDEN"),  # what is there is not told either
    ({"path": "missing", "book_id": "x"}, 400, "UNREADABLE_SOURCE"),
    ({"path": "page.md", "book_id": "x"}, 400, "UNREADABLE_SOURCE"),
    ({"path": "."}, 400, "INVALID_REQUEST"),
    ({"path": ".", "book_id": "../x"}, 400, "INVALID_REQUEST"),
    ({"path": "", "book_id": "x"}, 400, "INVALID_REQUEST"),
    ({"path": "a\x00b", "book_id": "x"}, 400, "INVALID_REQUEST"),
    ({"path": 7, "book_id": "x"}, 400, "INVALID_REQUEST"),
    ({"book_id": "atlantis"}, 404, "UNKNOWN_BOOK"),
    ({"mode": "partial"}, 400, "INVALID_REQUEST"),
    ({"dry_run": "yes"}, 400, "INVALID_REQUEST"),
    ({"base_url": "javascript:alert(1)"}, 400, "INVALID_REQUEST"),
    ({"folder": "x"}, 400, "UNKNOWN_FIELD"),
]


@pytest.mark.parametrize(("body", "status", "code"), WRONG)
async def test_every_wrong_order_has_its_code_and_starts_nothing(
    doors: Doors, tmp_path: Path, body: dict[str, object], status: int, code: str
) -> None:
    write(tmp_path / "secret" / "inner", "page.md", PAGE)
    write(tmp_path / "books", "page.md", PAGE)
    (tmp_path / "books" / "leads-out").symlink_to(tmp_path / "secret", target_is_directory=True)
    before = await doors.quoth.library.jobs()
    check_problem(await doors.client.post("/ingestion/jobs", json=body), status, code)
    assert await doors.quoth.library.jobs() == before


async def test_a_folder_of_a_root_is_named_from_it_or_in_full(doors: Doors, tmp_path: Path) -> None:
    folder = write(tmp_path / "books" / "robots", "page.md", PAGE)
    for path in ("robots", str(folder)):
        job = await start(doors, path=path, book_id="robots")
        assert (await ended(doors, job["job_id"]))["status"] == "completed"
    assert (await doors.quoth.library.book("robots")).source == str(folder)


async def test_without_roots_only_known_books_are_ingested_again(tmp_path: Path, foreman: Foreman) -> None:
    async with opened(tmp_path, launch=foreman.launch) as doors:
        source = (await doors.quoth.library.book("book")).source
        refused = await doors.client.post("/ingestion/jobs", json={"path": source, "book_id": "mine"})
        assert "QUOTH_INGEST_ROOTS" in check_problem(refused, 403, "FORBIDDEN")["hint"]
        for fields in ({"book_id": "book"}, {"path": source, "book_id": "book"}):
            assert (await ended(doors, (await start(doors, **fields))["job_id"]))["status"] == "completed"


async def test_a_known_book_whose_folder_is_gone_says_so(doors: Doors, tmp_path: Path) -> None:
    (tmp_path / "docs").rename(tmp_path / "elsewhere")
    problem = check_problem(await doors.client.post("/ingestion/jobs", json={}), 400, "UNREADABLE_SOURCE")
    assert "does not exist" in problem["message"]


@pytest.mark.parametrize("door", ["/ingestion/jobs/4711", "/ingestion/jobs/4711/events"])
async def test_an_unknown_job_is_404(doors: Doors, door: str) -> None:
    check_problem(await doors.client.get(door), 404, "NOT_FOUND")


async def test_a_job_number_that_is_none_is_told(doors: Doors) -> None:
    check_problem(await doors.client.get("/ingestion/jobs/last"), 400, "INVALID_REQUEST")


# --- changes ---


async def test_changes_are_told_and_not_made(doors: Doors, tmp_path: Path) -> None:
    write(tmp_path / "docs", "queues.md", QUEUES)
    await ended(doors, (await start(doors))["job_id"])
    quiet = (await doors.client.get("/ingestion/changes")).json()
    assert (quiet["new"], quiet["modified"], quiet["deleted"], quiet["unchanged"]) == ([], [], [], 2)

    write(tmp_path / "docs", "new.md", QUEUES)
    write(tmp_path / "docs", "queues.md", QUEUES + "\nMore.\n")
    (tmp_path / "docs" / "topics.md").unlink()
    for _ in range(2):
        told = (await doors.client.get("/ingestion/changes", params={"book_id": "book"})).json()
        assert (told["new"], told["modified"], told["deleted"]) == (["new.md"], ["queues.md"], ["topics.md"])
        assert (told["unchanged"], told["source"]) == (0, "docs")


async def test_changes_of_an_unknown_book_are_404(doors: Doors) -> None:
    check_problem(await doors.client.get("/ingestion/changes?book_id=atlantis"), 404, "UNKNOWN_BOOK")


# --- several workers on one data directory ---


async def test_a_job_that_another_worker_has_queued_is_neither_buried_nor_doubled(
    doors: Doors, foreman: Foreman
) -> None:
    other = Jobs(doors.quoth, foreman.launch)
    foreman.go.clear()
    job = await start(doors)
    with pytest.raises(Conflict, match=f"job {job['job_id']} is queued"):
        await other.start(IngestOrder("book", "anywhere"))
    await other.bury_the_dead()
    assert (await doors.quoth.library.job(job["job_id"])).status == "queued"
    foreman.go.set()
    assert (await ended(doors, job["job_id"]))["status"] == "completed"
    await other.close()


async def test_jobs_of_two_workers_take_turns(doors: Doors, foreman: Foreman, tmp_path: Path) -> None:
    write(tmp_path / "books" / "other", "a.md", PAGE)
    other = Jobs(doors.quoth, foreman.launch)
    foreman.go.clear()
    first = await start(doors)
    await foreman.at_work.wait()
    second = await other.start(IngestOrder("other", str(tmp_path / "books" / "other")))
    await asyncio.sleep(0.3)
    assert [order.book_id for order in foreman.begun] == ["book"]
    foreman.go.set()
    assert (await ended(doors, second.job_id))["status"] == "completed"
    assert (await ended(doors, first["job_id"]))["status"] == "completed"
    await other.close()


async def test_a_worker_that_stops_gives_up_waiting_for_its_turn(
    doors: Doors, foreman: Foreman, tmp_path: Path
) -> None:
    write(tmp_path / "books" / "other", "a.md", PAGE)
    other = Jobs(doors.quoth, foreman.launch)
    foreman.go.clear()
    await start(doors)
    await foreman.at_work.wait()
    waiting = await other.start(IngestOrder("other", str(tmp_path / "books" / "other")))
    await other.close()
    stored = await doors.quoth.library.job(waiting.job_id)
    assert (stored.status, stored.error_message) == ("failed", STOPPED)
    foreman.go.set()
