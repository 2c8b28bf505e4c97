"""Remote embedders against scripted servers in both wire formats: what they request, what they accept, what costs a
call, and what errors must not reveal."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest

from contracts.embedder_contract import EmbedderContract
from quoth.errors import BadConfiguration, EmbedderRejected, EmbedderUnavailable
from quoth.models import embeddings
from quoth.models.embedding_wire import CohereEmbeddings, OpenAIEmbeddings
from quoth.models.embeddings import EmbeddingOptions, RemoteEmbedder
from quoth.models.rough_tokens import RoughTokens
from quoth.ports import Embedder
from quoth.testing.embedding_server import EmbeddingServer, answers, openai_answer
from quoth.testing.model_server import Reply, fails, stalls

KEY = "sk-very-secret-0123456789"


class Pauses:
    """A clock that does not wait, but remembers how long it would have."""

    def __init__(self) -> None:
        self.seconds: list[float] = []

    async def __call__(self, seconds: float) -> None:
        self.seconds.append(seconds)


@asynccontextmanager
async def openai_at(
    server: EmbeddingServer, *, prefixes: tuple[str, str] = ("", ""), pauses: Pauses | None = None, **options: Any
) -> AsyncIterator[RemoteEmbedder]:
    given = {"model": "scripted", "dimensions": 64, "api_key": KEY, **options}
    embedder = RemoteEmbedder(
        EmbeddingOptions(server.url, provider=OpenAIEmbeddings(*prefixes), **given), sleep=pauses or Pauses()
    )
    try:
        yield embedder
    finally:
        await embedder.close()


@asynccontextmanager
async def cohere_at(server: EmbeddingServer, **options: Any) -> AsyncIterator[RemoteEmbedder]:
    given = {"model": "scripted", "dimensions": 64, "api_key": KEY, **options}
    embedder = RemoteEmbedder(
        EmbeddingOptions(server.cohere_url, provider=CohereEmbeddings(), key_setting="COHERE_API_KEY", **given),
        sleep=Pauses(),
    )
    try:
        yield embedder
    finally:
        await embedder.close()


class TestOpenAI(EmbedderContract):
    @pytest.fixture
    async def embedder(self) -> AsyncIterator[Embedder]:
        async with EmbeddingServer() as server, openai_at(server) as made:
            yield made


class TestCohere(EmbedderContract):
    @pytest.fixture
    async def embedder(self) -> AsyncIterator[Embedder]:
        async with EmbeddingServer() as server, cohere_at(server) as made:
            yield made


# --- requests --------------------------------------------------------------------------------------------------------


async def test_openai_is_asked_for_floats_with_the_prefix_of_the_kind() -> None:
    async with EmbeddingServer() as server, openai_at(server, prefixes=("query: ", "passage: ")) as embedder:
        await embedder.embed_passages(["A node."])
        await embedder.embed_query("What is a node?")
        assert server.bodies == [
            {"model": "scripted", "input": ["passage: A node."], "encoding_format": "float"},
            {"model": "scripted", "input": ["query: What is a node?"], "encoding_format": "float"},
        ]
        assert server.paths == ["/v1/embeddings"] * 2
        assert server.headers[0]["authorization"].endswith(KEY)


async def test_cohere_is_told_which_text_is_a_document_and_to_cut_nothing() -> None:
    async with EmbeddingServer() as server, cohere_at(server) as embedder:
        await embedder.embed_passages(["A node."])
        await embedder.embed_query("What is a node?")
        assert [body["input_type"] for body in server.bodies] == ["search_document", "search_query"]
        assert {body["truncate"] for body in server.bodies} == {"NONE"}
        assert server.paths == ["/v2/embed"] * 2


async def test_fewer_dimensions_are_asked_for_where_the_model_can_give_fewer() -> None:
    async with EmbeddingServer() as server:
        async with openai_at(server, model="text-embedding-3-small", dimensions=256) as embedder:
            assert len(await embedder.embed_query("short")) == 256 == embedder.dimensions
        async with cohere_at(server, model="embed-v4.0", dimensions=512) as embedder:
            assert len(await embedder.embed_query("short")) == 512
        assert server.bodies[0]["dimensions"] == 256
        assert server.bodies[1]["output_dimension"] == 512
        with pytest.raises(BadConfiguration, match="1024 dimensions"):
            async with cohere_at(server, model="embed-english-v3.0", dimensions=512):
                pass


@pytest.mark.parametrize(
    ("model", "dimensions"),
    [("text-embedding-3-small", 1536), ("text-embedding-3-large", 3072), ("nomic-embed-text:latest", 768)],
)
async def test_known_models_need_no_dimensions(model: str, dimensions: int) -> None:
    async with EmbeddingServer() as server, openai_at(server, model=model, dimensions=None) as embedder:
        assert embedder.dimensions == dimensions


async def test_an_unknown_model_needs_its_dimensions_and_the_check_says_how_many() -> None:
    async with EmbeddingServer() as server, openai_at(server, dimensions=None) as embedder:
        with pytest.raises(BadConfiguration, match="QUOTH_EMBEDDING_DIMENSIONS"):
            _ = embedder.dimensions
        assert "64 dimensions" in await embedder.check()
        assert "QUOTH_EMBEDDING_DIMENSIONS=64" in await embedder.check()


async def test_the_name_says_model_dimensions_and_prefixes_but_not_the_server() -> None:
    async with EmbeddingServer() as one, EmbeddingServer() as other:
        async with openai_at(one) as a, openai_at(other) as b, openai_at(one, prefixes=("q: ", "")) as c:
            assert a.name == b.name == "openai:scripted/64"
            assert c.name.startswith("openai:scripted/64/")
        async with cohere_at(one, model="embed-english-v3.0", dimensions=None) as d:
            assert d.name == "cohere:embed-english-v3.0/1024"


# --- batches and what costs a call -----------------------------------------------------------------------------------


async def test_texts_go_in_batches_of_the_providers_size_and_come_back_in_order() -> None:
    texts = [f"text number {number}" for number in range(200)]
    async with EmbeddingServer() as server, cohere_at(server) as embedder:
        together = await embedder.embed_passages(texts)
        assert sorted(len(body["texts"]) for body in server.bodies) == [8, 96, 96]
        alone = [(await embedder.embed_passages([text]))[0] for text in texts[::50]]
        assert together[::50] == alone


async def test_a_batch_is_closed_when_its_tokens_are_enough(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(embeddings, "MOST_TOKENS", 10)
    async with EmbeddingServer() as server, openai_at(server) as embedder:
        await embedder.embed_passages(["a b c d e f", "g h i j k", "l m n", "o"])
        assert sorted(len(body["input"]) for body in server.bodies) == [1, 3]


async def test_a_server_that_takes_fewer_texts_gets_fewer_from_then_on() -> None:
    async with EmbeddingServer(most_texts=10) as server, openai_at(server) as embedder:
        texts = [f"text {number}" for number in range(40)]
        assert len(await embedder.embed_passages(texts)) == 40
        refused = len(server.bodies)
        await embedder.embed_passages([f"more {number}" for number in range(20)])
        assert all(len(body["input"]) <= 10 for body in server.bodies[refused:])


async def test_a_repeated_passage_and_a_known_query_cost_no_call() -> None:
    async with EmbeddingServer() as server, openai_at(server) as embedder:
        await embedder.embed_passages(["same", "other", "same"])
        assert server.texts == ["same", "other"]
        first = await embedder.embed_query("asked before")
        assert await embedder.embed_query("asked before") == first
        assert server.texts.count("asked before") == 1


# --- faults ----------------------------------------------------------------------------------------------------------


async def test_a_busy_server_is_asked_again_after_as_long_as_it_says() -> None:
    pauses = Pauses()
    async with EmbeddingServer(fails(429, "slow down", retry_after="7"), fails(503)) as server:
        async with openai_at(server, pauses=pauses) as embedder:
            await embedder.embed_passages(["A node."])
        assert len(server.bodies) == 3
        assert pauses.seconds[0] == 7.0
        assert 0 < pauses.seconds[1] != 7.0


async def test_a_query_does_not_wait_for_a_minute() -> None:
    async with EmbeddingServer(fails(429, "slow down", retry_after="60")) as server, openai_at(server) as embedder:
        with pytest.raises(EmbedderUnavailable, match="429: slow down"):
            await embedder.embed_query("A node?")
        assert len(server.bodies) == 1


@pytest.mark.parametrize(("status", "hint"), [(401, "COHERE_API_KEY"), (404, "'scripted'"), (400, "EMBEDDING_TOKENS")])
async def test_a_refusal_is_not_tried_again_and_says_what_to_check(status: int, hint: str) -> None:
    async with EmbeddingServer(fails(status, "no")) as server, cohere_at(server) as embedder:
        with pytest.raises(EmbedderRejected) as caught:
            await embedder.embed_passages(["A node."])
        assert len(server.bodies) == 1
    assert hint in str(caught.value)
    assert not caught.value.retryable


async def test_errors_hold_neither_the_key_nor_the_texts() -> None:
    secret_text = "the confidential words of an unpublished book"
    faults = [fails(400, f"your key {KEY} is bad"), fails(400, f"cannot embed: {secret_text}")]
    async with EmbeddingServer(*faults) as server, openai_at(server) as embedder:
        for _ in faults:
            with pytest.raises(EmbedderRejected) as caught:
                await embedder.embed_passages([secret_text])
            assert KEY not in caught.value.in_full()
            assert "confidential" not in caught.value.in_full()
    assert KEY not in repr(EmbeddingOptions("http://127.0.0.1:9/v1", "m", api_key=KEY))


@pytest.mark.parametrize(
    ("reply", "reason"),
    [
        (answers({"data": []}), "0 vectors for 1 texts"),
        (answers({"something": "else"}), "no list `data`"),
        (Reply((b"<html>",), content_type="text/html"), "not JSON"),
        (openai_answer([["a"] * 64]), "something other than a vector"),  # type: ignore[list-item]
        (openai_answer([[0.0] * 64]), "without a direction"),
        (openai_answer([[float("nan")] * 64]), "without a direction"),
    ],
)
async def test_an_answer_that_makes_no_sense_is_never_a_vector(reply: Reply, reason: str) -> None:
    async with EmbeddingServer(*[reply] * 3) as server, openai_at(server) as embedder:
        with pytest.raises(EmbedderUnavailable, match=reason):
            await embedder.embed_query("A node?")


async def test_vectors_of_another_length_are_a_wrong_setting() -> None:
    async with EmbeddingServer(dimensions=32) as server, openai_at(server) as embedder:
        with pytest.raises(BadConfiguration, match="have 32 dimensions, not 64"):
            await embedder.embed_query("A node?")


async def test_a_server_that_is_away_or_silent_is_an_outage(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(embeddings, "QUERY_SECONDS", 0.1)
    async with EmbeddingServer(stalls()) as server, openai_at(server) as embedder:
        with pytest.raises(EmbedderUnavailable, match="in time"):
            await embedder.embed_query("A node?")
    nowhere = RemoteEmbedder(EmbeddingOptions("http://127.0.0.1:9/v1", "m", dimensions=8), sleep=Pauses())
    with pytest.raises(EmbedderUnavailable, match="Is the server running"):
        await nowhere.embed_query("A node?")
    with pytest.raises(EmbedderUnavailable):
        await nowhere.ping()
    await nowhere.close()


async def test_health_asks_nothing_and_knows_how_the_last_call_went() -> None:
    async with EmbeddingServer() as server, openai_at(server) as embedder:
        await embedder.ping()
        assert server.bodies == []
        server.then([fails(401, "no")])
        with pytest.raises(EmbedderRejected):
            await embedder.embed_query("first")
        with pytest.raises(EmbedderRejected):
            await embedder.ping()
        await embedder.embed_query("second")
        await embedder.ping()


async def test_after_a_fault_the_other_batches_are_given_up() -> None:
    async with EmbeddingServer(fails(401, "no")) as server, openai_at(server) as embedder:
        with pytest.raises(EmbedderRejected):
            await embedder.embed_passages([f"text {number}" for number in range(2000)])
        assert len(server.bodies) < 21


# --- counting --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "least"),
    [
        ("The quick brown fox jumps over the lazy dog.", 10),
        ("aGVsbG8gd29ybGQgYmFzZTY0", 12),
        ("0123456789" * 3, 10),
        ("日本語の文章", 6),
        ("🤖🤖", 4),
        ("naïve café", 4),
    ],
)
def test_the_guess_is_not_below_what_byte_pair_tokenizers_count(text: str, least: int) -> None:
    assert RoughTokens(400).counts([text])[0] >= least
