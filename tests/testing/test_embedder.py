"""The shipped fake keeps the promises of the port, and those that tests rely on beyond them."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from contracts.embedder_contract import EmbedderContract, cosine
from quoth.errors import TextTooLong
from quoth.testing.embedder import FakeEmbedder, FakeTokens


class TestContract(EmbedderContract):
    @pytest.fixture
    def embedder(self) -> FakeEmbedder:
        return FakeEmbedder()


async def test_it_remembers_every_text_that_it_embedded() -> None:
    embedder = FakeEmbedder()
    await embedder.embed_passages(["one", "two"])
    await embedder.embed_query("three")
    assert embedder.calls == ["one", "two", "three"]


async def test_a_text_that_was_refused_is_not_among_the_calls() -> None:
    embedder = FakeEmbedder(limit=1)
    with pytest.raises(TextTooLong):
        await embedder.embed_passages(["one", "two words"])
    assert embedder.calls == []


async def test_sharing_a_rare_word_brings_texts_nearer_than_sharing_small_words() -> None:
    embedder = FakeEmbedder()
    query = await embedder.embed_query("the quaternion of it")
    rare, small = await embedder.embed_passages(["a quaternion rotates", "the cat of it"])
    assert cosine(query, rare) > cosine(query, small)


async def test_words_are_compared_without_regard_to_case() -> None:
    embedder = FakeEmbedder()
    assert await embedder.embed_query("Publisher NODE") == await embedder.embed_query("publisher node")


def test_the_limit_is_settable() -> None:
    assert (FakeTokens(limit=12).limit, FakeEmbedder(limit=12).tokens.limit) == (12, 12)


def test_embedders_of_different_sizes_have_different_names() -> None:
    assert FakeEmbedder(dimensions=8).name != FakeEmbedder(dimensions=16).name


@given(st.text())
def test_tokens_cover_everything_but_space(text: str) -> None:
    covered = "".join(text[start:end] for start, end in FakeTokens().spans(text))
    assert covered == "".join(text.split())
