"""What every test shares. With QUOTH_TEST_NO_SKIP=1 (CI) a skipped test is a failure."""

from __future__ import annotations

import gc
import logging
import os
import re
import tempfile
from collections.abc import AsyncIterator, Generator, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import hypothesis
import pytest
import pytest_asyncio

from commands import OUR_VARIABLES, give_children_their_signals, quoth
from postgres_server import PostgresServer, binaries
from sharing import Once

if TYPE_CHECKING:
    from playwright.async_api import Browser

# The same examples each time, so that a failure comes from the latest change. `make coverage`, and so CI, tries as many
# as Hypothesis does by default; `--hypothesis-profile=explore` looks for new ones.
hypothesis.settings.register_profile("repeatable", derandomize=True, max_examples=50, deadline=None)
hypothesis.settings.register_profile("all", derandomize=True, max_examples=100, deadline=None)
hypothesis.settings.register_profile("fast", derandomize=True, max_examples=15, deadline=None)
hypothesis.settings.register_profile("explore", max_examples=500, deadline=None)
hypothesis.settings.load_profile("repeatable")

SAMPLE_BOOK = Path(__file__).resolve().parents[1] / "examples" / "robotics-book"
ALL_SLOW = re.compile(r"^pytestmark = (\[\s*)?pytest\.mark\.slow", re.MULTILINE)


def pytest_configure() -> None:
    give_children_their_signals()


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """If slow tests are left out, do not import a file that has nothing else."""
    if config.getoption("markexpr") != "not slow" or collection_path.suffix != ".py":
        return None
    return bool(ALL_SLOW.search(collection_path.read_text(encoding="utf-8"))) or None


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, object, object]:
    """What is imported stays: no look for garbage goes through it, neither while it is imported nor later."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.freeze()
        gc.enable()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item, call: pytest.CallInfo[None]
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    report = yield
    if report.skipped and os.environ.get("QUOTH_TEST_NO_SKIP") == "1" and not hasattr(report, "wasxfail"):
        report.outcome = "failed"
        report.longrepr = f"skipped, and here a skip is a failure: {report.longrepr}"
    return report


@pytest.fixture(autouse=True)
def _no_settings_from_outside(monkeypatch: pytest.MonkeyPatch) -> None:
    """A test sees only its own settings."""
    for name in list(os.environ):
        if name.startswith(OUR_VARIABLES) and not name.startswith("QUOTH_TEST_"):
            monkeypatch.delenv(name)


@pytest.fixture(autouse=True)
def _level_of_our_logs() -> Iterator[None]:
    """A command that runs in the tests' own process sets it for good."""
    ours = logging.getLogger("quoth")
    level = ours.level
    yield
    ours.setLevel(level)


@pytest.fixture
def data_dir(tmp_path: Path) -> Iterator[Path]:
    """In memory if possible: the engine syncs every file, and tests do not need that."""
    memory = Path("/dev/shm")
    if not os.access(memory, os.W_OK):
        yield tmp_path
        return
    with tempfile.TemporaryDirectory(dir=memory, prefix="quoth-test-") as folder:
        yield Path(folder)


@pytest.fixture(scope="session")
def once(tmp_path_factory: pytest.TempPathFactory) -> Once:
    own = tmp_path_factory.getbasetemp()
    return Once(own.parent if "PYTEST_XDIST_WORKER" in os.environ else own)


@pytest.fixture(scope="session")
def sample_data(once: Once) -> Path:
    """The data directory of the sample book, with the real model. A text file beside it has the ingest's output."""

    def ingest(place: Path) -> None:
        run = quoth("ingest", SAMPLE_BOOK, "--data-dir", place)
        assert run.returncode == 0, run.stderr
        place.with_suffix(".txt").write_text(run.stdout)

    return once("sample-data", ingest)


@pytest_asyncio.fixture(scope="session", loop_scope="session")
async def chromium() -> AsyncIterator[Browser]:
    import browsing  # only tests of pages need it

    async with browsing.started() as browser:
        yield browser


def postgres_servers() -> Iterator[PostgresServer]:
    """One, until its test or fixture is done with it."""
    found = binaries()
    if found is None:
        pytest.skip("PostgreSQL's initdb and pg_ctl are not installed")
    server = PostgresServer(found)
    try:
        server.start()
        yield server
    finally:
        server.remove()


@pytest.fixture(scope="session")
def postgres() -> Iterator[PostgresServer]:
    yield from postgres_servers()


@pytest.fixture
def postgres_url(postgres: PostgresServer) -> str:
    """An empty database on a real server."""
    return postgres.new_database()


@pytest.fixture
def own_postgres() -> Iterator[PostgresServer]:
    """A server that a test may stop and start."""
    yield from postgres_servers()
