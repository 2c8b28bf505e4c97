"""The store on a real PostgreSQL server: the contract, several workers at once, and the server going away."""

from __future__ import annotations

import asyncio
import importlib.util
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from alembic.autogenerate import compare_metadata
from alembic.migration import MigrationContext
from sqlalchemy import Column, Connection, text

from contracts.keys_contract import KeysContract
from contracts.library_contract import NOW, SESSION, a_trace, a_turn
from contracts.sql_contract import SqlContract
from doors import ASKED, opened
from postgres_server import ESCAPED, PASSWORD, PostgresServer
from quoth.errors import BadConfiguration, InternalError, LibraryUnavailable, NotFound
from quoth.ports import Keys
from quoth.store import library as sql_library
from quoth.store import migrations
from quoth.store.library import SqlLibrary, database_at, open_library
from quoth.store.tables import SCHEMA_VERSION, metadata

pytestmark = pytest.mark.slow


@pytest.fixture
def url(postgres_url: str) -> str:
    return postgres_url


@asynccontextmanager
async def store(url: str, **options: Any) -> AsyncIterator[SqlLibrary]:
    library = await open_library(url, now=lambda: NOW, **options)
    try:
        yield library
    finally:
        await library.close()


@pytest.fixture
async def library(url: str) -> AsyncIterator[SqlLibrary]:
    async with store(url) as library:
        yield library


class TestPostgresLibrary(SqlContract):
    """The fixture `library` above is the one under test."""


class TestPostgresKeys(KeysContract):
    @pytest.fixture
    def keys(self, library: SqlLibrary) -> Keys:
        return library.keys


# --- the address ---


@pytest.mark.parametrize("scheme", ["postgresql", "postgres", "postgresql+asyncpg"])
@pytest.mark.parametrize(
    "query", ["", "?sslmode=disable&channel_binding=prefer", "?ssl=disable&application_name=quoth"]
)
async def test_the_addresses_that_people_copy_are_understood(url: str, scheme: str, query: str) -> None:
    async with store(url.replace("postgresql+asyncpg", scheme) + query) as library:
        await library.ping()


def not_listening(server: PostgresServer) -> str:
    return server.url("postgres").replace(f":{server.port}/", ":1/")


@pytest.mark.parametrize(
    ("address", "message", "hint"),
    [
        (lambda server: server.url("postgres", password="hunter2"), "password authentication failed", "user, password"),
        (lambda server: server.url("nowhere"), '"nowhere" does not exist', "createdb"),
        (not_listening, "Connect call failed", "Check that the server is running"),
        (lambda server: server.url("postgres") + "?sslmode=hunter2", "cannot be used", "parameters"),
        (lambda server: server.url("postgres") + "?no_such_parameter=1", "no_such_parameter", "parameters"),
        (lambda server: server.url("postgres") + "?sslmode=require", "SSL", "Check that the server is running"),
    ],
)
async def test_a_server_that_cannot_be_used_is_named_with_a_way_out_and_without_its_password(
    postgres: PostgresServer, address: Callable[[PostgresServer], str], message: str, hint: str
) -> None:
    with pytest.raises(LibraryUnavailable, match=message) as caught:
        await open_library(address(postgres), seconds=2)
    assert "127.0.0.1" in caught.value.message
    assert hint in caught.value.hint
    for secret in ("hunter2", PASSWORD, ESCAPED):
        assert secret not in str(caught.value)


def test_without_the_extra_the_line_to_install_it_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        sql_library, "find_spec", lambda name: None if name == "asyncpg" else importlib.util.find_spec(name)
    )
    with pytest.raises(BadConfiguration, match="not installed") as caught:
        database_at("postgresql://host/database")
    assert "pip install 'quoth[postgres]'" in caught.value.hint


# --- migrations ---


async def test_the_migrated_schema_is_exactly_that_of_the_tables(library: SqlLibrary) -> None:
    def differences(connection: Connection) -> list[Any]:
        context = MigrationContext.configure(connection, opts={"compare_type": True, "compare_server_default": unlike})
        return list(compare_metadata(context, metadata))

    def unlike(context: Any, found: Any, column: Column[Any], *defaults: Any) -> bool | None:
        """Defaults that only this database has: SQLite cannot add them later."""
        return False if (column.table.name, column.name) in DEFAULTS else None

    assert await library._database.write(differences) == []


DEFAULTS = {
    ("sessions", "created_at"): "now()",
    ("sessions", "last_active"): "now()",
    ("conversations", "timestamp"): "now()",
    ("conversations", "sources"): "'[]'::jsonb",
    ("conversations", "metadata"): "'{}'::jsonb",
    ("conversations", "created_at"): "now()",
}


async def test_columns_have_the_types_and_defaults_that_were_specified(library: SqlLibrary) -> None:
    query = text(
        "SELECT table_name, column_name, data_type, column_default FROM information_schema.columns "
        "WHERE table_name IN ('sessions', 'conversations', 'traces')"
    )
    rows = await library._database.read(lambda connection: connection.execute(query).all())
    types = {(table, column): kind for table, column, kind, _ in rows}
    assert {types[table, "session_id"] for table in ("sessions", "conversations", "traces")} == {"uuid"}
    assert {types[place] for place in DEFAULTS} == {"timestamp with time zone", "jsonb"}
    assert {(table, column): default for table, column, _, default in rows if (table, column) in DEFAULTS} == DEFAULTS
    index = text("SELECT indexdef FROM pg_indexes WHERE indexname = 'idx_conversations_timestamp'")
    made = await library._database.read(lambda connection: connection.execute(index).scalar_one())
    assert made.endswith("DESC)")


async def test_turns_of_a_database_from_before_are_kept_when_ids_become_uuids(library: SqlLibrary, url: str) -> None:
    await library.add_turn(a_turn(0, owner="key-1"))
    await library.put_traces([a_trace()], keep_since=NOW, most=10)
    await library._database.write(lambda connection: migrations.downgrade(connection, "0006"))
    again = await open_library(url)
    assert [turn.query for turn in (await again.turns(SESSION, owner="key-1"))[0]] == ["question 0"]
    assert (await again.trace()).session_id == SESSION
    await again.delete_conversation(SESSION, owner="key-1")  # the references still hold
    with pytest.raises(NotFound):
        await again.trace()
    await again.close()


async def test_the_index_that_keeps_jobs_apart_covers_active_jobs_only(library: SqlLibrary) -> None:
    query = "SELECT indexdef FROM pg_indexes WHERE indexname = 'one_active_job_per_book'"
    made = await library._database.read(lambda connection: connection.exec_driver_sql(query).scalar_one())
    assert made.startswith("CREATE UNIQUE INDEX")
    assert "WHERE" in made
    assert "'queued'" in made
    assert "'running'" in made


async def test_down_and_up_again_works_here_too(library: SqlLibrary) -> None:
    await library.add_turn(a_turn())
    await library._database.write(lambda connection: migrations.downgrade(connection, "base"))
    await library._database.write(migrations.upgrade)
    assert await library.books() == []


async def test_a_migration_that_fails_leaves_nothing_behind(url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    real = migrations.upgrade

    def stops_half_way(connection: Connection, version: str = "head") -> None:
        real(connection, version)
        raise BadConfiguration("the power went out")

    monkeypatch.setattr(migrations, "upgrade", stops_half_way)
    with pytest.raises(BadConfiguration, match="power"):
        await open_library(url)
    monkeypatch.setattr(migrations, "upgrade", real)
    async with store(url) as library:
        assert await library.books() == []


async def test_a_database_of_a_newer_quoth_is_refused_and_left_alone(library: SqlLibrary, url: str) -> None:
    def set_version(version: str) -> Callable[[Connection], object]:
        return lambda connection: connection.exec_driver_sql(f"UPDATE alembic_version SET version_num = '{version}'")

    await library._database.write(set_version("9999"))
    with pytest.raises(BadConfiguration, match="newer Quoth") as caught:
        await open_library(url)
    assert "Upgrade Quoth" in caught.value.hint
    await library._database.write(set_version(SCHEMA_VERSION))
    assert (await library.books()) == []


# --- waiting ---


async def works_again(library: SqlLibrary) -> bool:
    """A new connection may take longer than these tests give a statement, so it is tried a few times."""
    for _ in range(40):
        try:
            await library.ping()
        except LibraryUnavailable:
            await asyncio.sleep(0.1)
        else:
            return True
    return False


async def test_a_statement_that_takes_too_long_is_an_outage_and_the_store_works_on(url: str) -> None:
    async with store(url, pool_size=1, seconds=0.3) as library:
        for verb in (library._database.read, library._database.write):
            with pytest.raises(LibraryUnavailable, match=r"did not answer within 0\.3 s"):
                await verb(lambda connection: connection.exec_driver_sql("SELECT pg_sleep(30)"))
        assert await works_again(library)


async def test_when_no_connection_comes_free_the_error_says_so(url: str) -> None:
    async with store(url, pool_size=1, seconds=0.3) as library:

        async def ask() -> Exception | None:
            try:
                await library._database.read(lambda connection: connection.exec_driver_sql("SELECT pg_sleep(0.2)"))
            except LibraryUnavailable as outage:
                return outage
            return None

        outcomes = await asyncio.gather(*(ask() for _ in range(8)))
        assert any(outcomes)
        assert None in outcomes
        assert await works_again(library)


async def test_what_the_server_cannot_understand_is_a_fault_of_ours(library: SqlLibrary) -> None:
    with pytest.raises(InternalError, match="cannot run a statement"):
        await library._database.read(lambda connection: connection.exec_driver_sql("SELEKT 1"))
    with pytest.raises(InternalError, match="cannot run a statement"):
        await library._database.read(lambda connection: connection.exec_driver_sql("SELECT 1/0"))


# --- the server goes away and comes back ---


async def test_connections_that_were_cut_while_unused_cost_no_error(
    library: SqlLibrary, postgres: PostgresServer
) -> None:
    await asyncio.gather(*(library.add_turn(a_turn(number)) for number in range(10)))
    cut = f"SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity WHERE datname = '{database_of(library)}'"
    assert int(postgres.sql(cut)) >= 1
    await library.add_turn(a_turn(10))
    assert int(postgres.sql(cut)) >= 1
    assert (await library.turns(SESSION))[1] == 11


def database_of(library: SqlLibrary) -> str:
    return str(library._database._database._dsn).rsplit("/", 1)[1]  # type: ignore[attr-defined]  # PostgresDatabase has it


@pytest.mark.slow
async def test_a_server_that_stops_is_a_503_and_when_it_is_back_nothing_is_lost(
    own_postgres: PostgresServer, tmp_path: Path
) -> None:
    async with (
        store(own_postgres.new_database(), seconds=2) as library,
        opened(tmp_path, library=library) as doors,
    ):
        asked = [await doors.ask(session_id=SESSION) for _ in range(3)]
        await asyncio.to_thread(own_postgres.stop)
        for door in ("/chat", "/chat/stream"):
            refused = await doors.client.post(door, json={"query": ASKED, "session_id": SESSION})
            assert (refused.status_code, refused.json()["error_code"]) == (503, "SERVICE_UNAVAILABLE")
            assert int(refused.headers["retry-after"]) > 0
            assert PASSWORD not in refused.text
        health = (await doors.client.get("/health")).json()
        assert health["services"]["database"]["status"] == "unavailable"

        await asyncio.to_thread(own_postgres.start)
        asked.append(await doors.ask(session_id=SESSION))
        history = (await doors.client.get(f"/history/{SESSION}")).json()
        assert history["total_entries"] == len(asked)
        health = (await doors.client.get("/health")).json()
        assert health["services"]["database"]["status"] == "healthy"
