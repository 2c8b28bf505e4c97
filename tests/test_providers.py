"""Books with a remote embedder, from the settings to the answer: nothing is paid for twice, and no other embedder ever
takes its place."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

import quoth
from commands import quoth as command
from doors import ASKED, PAGE
from quoth.errors import BadConfiguration, EmbedderUnavailable, IndexMismatch
from quoth.models.minilm import MiniLMEmbedder
from quoth.providers import embedder_of
from quoth.settings import Settings, load_settings
from quoth.testing.embedding_server import EmbeddingServer
from quoth.testing.model_server import fails


@pytest.fixture
async def server() -> AsyncIterator[EmbeddingServer]:
    async with EmbeddingServer(dimensions=256) as made:
        yield made


@pytest.fixture
def book(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr("quoth.bootstrap.reader_of", lambda settings, threads: None)  # irrelevant here
    folder = tmp_path / "topics"
    folder.mkdir()
    (folder / "topics.md").write_text(PAGE, encoding="utf-8")
    return folder


def openai(server: EmbeddingServer) -> dict[str, str]:
    return {
        "QUOTH_EMBEDDER": "openai",
        "QUOTH_EMBEDDING_BASE_URL": server.url,
        "QUOTH_EMBEDDING_MODEL": "scripted",
        "QUOTH_EMBEDDING_DIMENSIONS": "256",
    }


def cohere(server: EmbeddingServer) -> dict[str, str]:
    return {
        "QUOTH_EMBEDDER": "cohere",
        "QUOTH_EMBEDDING_BASE_URL": server.cohere_url,
        "COHERE_API_KEY": "co-secret",
        "COHERE_MODEL": "scripted",
        "QUOTH_EMBEDDING_DIMENSIONS": "256",
    }


def settings_of(environment: dict[str, str], place: Path) -> Settings:
    return load_settings(environ=environment, directory=place)


@pytest.mark.parametrize("provider", [openai, cohere])
async def test_a_book_is_embedded_once_asked_and_ingested_again_for_nothing(
    server: EmbeddingServer, book: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, provider: Any
) -> None:
    for name, value in provider(server).items():
        monkeypatch.setenv(name, value)
    async with quoth.open(tmp_path / "data") as q:
        job = await q.ingest(book)
        paid = len(server.texts)
        assert paid == job.chunks_embedded == job.chunks_created > 0
        assert job.tokens_embedded > job.chunks_embedded
        answer = await q.ask(ASKED)
        assert answer.text is not None
        assert answer.text.startswith("Transient local durability")
        again = await q.ingest(book)
        full = await q.ingest(book, mode="full")
        assert (again.chunks_embedded, full.chunks_embedded, full.tokens_embedded) == (0, 0, 0)
        assert len(server.texts) == paid + 1  # the question


async def test_another_embedder_than_the_books_is_a_mismatch_that_says_the_way_out(
    server: EmbeddingServer, book: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in openai(server).items():
        monkeypatch.setenv(name, value)
    async with quoth.open(tmp_path / "data") as q:
        await q.ingest(book)
    for name, value in cohere(server).items():
        monkeypatch.setenv(name, value)
    async with quoth.open(tmp_path / "data") as q:
        with pytest.raises(IndexMismatch, match=r"openai:scripted.*cohere:scripted") as caught:
            await q.ask(ASKED)
        assert "QUOTH_EMBEDDER" in caught.value.hint
        assert "--mode recreate" in caught.value.hint
        job = await q.ingest(book, mode="recreate")
        assert job.chunks_deleted == job.chunks_created > 0
        assert (await q.ask(ASKED)).text is not None


async def test_an_embedder_that_is_away_is_an_outage_and_never_a_refusal(
    server: EmbeddingServer, book: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in openai(server).items():
        monkeypatch.setenv(name, value)
    async with quoth.open(tmp_path / "data") as q:
        await q.ingest(book)
        server.then([fails(503, "no", retry_after="60")])
        with pytest.raises(EmbedderUnavailable, match="503"):
            await q.ask("Something that was not asked before?")


# --- what the settings name ------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("environment", "missing"),
    [
        ({"QUOTH_EMBEDDER": "openai"}, "OPENAI_API_KEY"),
        ({"QUOTH_EMBEDDER": "cohere"}, "COHERE_API_KEY"),
        ({"QUOTH_EMBEDDER": "cohere", "OPENAI_API_KEY": "sk-x"}, "COHERE_API_KEY"),
        ({"QUOTH_EMBEDDER": "openai", "OPENAI_BASE_URL": "http://127.0.0.1:9/v1"}, "QUOTH_EMBEDDING_MODEL"),
        ({"QUOTH_EMBEDDER": "openai", "QUOTH_EMBEDDING_BASE_URL": "nowhere", "QUOTH_EMBEDDING_MODEL": "m"}, "http://"),
    ],
)
def test_what_is_missing_is_named(environment: dict[str, str], missing: str, tmp_path: Path) -> None:
    with pytest.raises(BadConfiguration) as caught:
        embedder_of(settings_of(environment, tmp_path))
    assert missing in str(caught.value)


def test_the_defaults_are_the_models_of_the_specifications(tmp_path: Path) -> None:
    openai = embedder_of(settings_of({"QUOTH_EMBEDDER": "openai", "OPENAI_API_KEY": "sk-x"}, tmp_path))
    cohere = embedder_of(settings_of({"QUOTH_EMBEDDER": "cohere", "COHERE_API_KEY": "x"}, tmp_path))
    assert (openai.name, openai.dimensions) == ("openai:text-embedding-3-small/1536", 1536)
    assert (cohere.name, cohere.dimensions) == ("cohere:embed-english-v3.0/1024", 1024)


async def test_the_key_of_one_server_is_not_sent_to_another(server: EmbeddingServer, tmp_path: Path) -> None:
    embedder = embedder_of(settings_of({**openai(server), "OPENAI_API_KEY": "sk-for-openai-only"}, tmp_path))
    await embedder.embed_query("who sees the key?")
    assert "authorization" not in server.headers[0]
    await embedder.close()


def test_a_key_of_cohere_that_is_not_used_is_said(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.WARNING):
        assert isinstance(embedder_of(settings_of({"COHERE_API_KEY": "x"}, tmp_path)), MiniLMEmbedder)
    assert "QUOTH_EMBEDDER=cohere" in caplog.text
    caplog.clear()
    embedder_of(settings_of({"COHERE_API_KEY": "x", "QUOTH_EMBEDDER": "minilm"}, tmp_path))
    assert caplog.text == ""


# --- in the terminal -------------------------------------------------------------------------------------------------


@pytest.mark.slow
async def test_the_terminal_says_the_cost_first_and_checks_the_embedder(
    server: EmbeddingServer, book: Path, tmp_path: Path
) -> None:
    async def run(*words: object) -> str:
        done = await asyncio.to_thread(command, *words, "--data-dir", tmp_path / "data", **openai(server))
        assert done.returncode == 0, done.stderr
        return done.stdout + done.stderr

    checked = await run("config", "--check")
    assert f"scripted at {server.url} works: its vectors have 256 dimensions." in checked
    planned = await run("ingest", book, "--dry-run")
    assert "To embed with openai:scripted/256: 3 texts, about " in planned
    assert len(server.texts) == 1  # of the check
    ingested = await run("ingest", book)
    assert "To embed with openai:scripted/256: 3 texts, about " in ingested
    assert len(server.texts) == 4
