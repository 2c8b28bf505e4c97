"""What every `ports.Embedder` promises, fake or real. A test file inherits this class and gives the `embedder`."""

from __future__ import annotations

import asyncio
import math
import random

import pytest

from quoth.errors import QuothError, TextTooLong
from quoth.ports import Embedder

TEXTS = (
    "A node is a process that performs computation.",
    "Topics carry messages between nodes.",
    "",
    "ros2 topic echo /scan --once",
    "Gazebo simulates sensors, actuators and physics; `--no-deps` and 0x68 stay whole.",
    "日本語の文章 and naïve café — mixed scripts",
    "x",
)


def cosine(a: tuple[float, ...], b: tuple[float, ...]) -> float:
    return sum(x * y for x, y in zip(a, b, strict=True))


def text_of(embedder: Embedder, tokens: int) -> str:
    """A text of exactly so many tokens: one-letter words are one token to any tokenizer."""
    text = " ".join("a" for _ in range(tokens))
    assert embedder.tokens.counts([text]) == [tokens]
    return text


class EmbedderContract:
    @pytest.fixture
    def embedder(self) -> Embedder:
        raise NotImplementedError("give the embedder under test")

    async def test_every_vector_is_of_unit_length_and_of_the_stated_size(self, embedder: Embedder) -> None:
        vectors = await embedder.embed_passages(TEXTS)
        assert [len(vector) for vector in vectors] == [embedder.dimensions] * len(TEXTS)
        assert [math.hypot(*vector) for vector in vectors] == pytest.approx([1.0] * len(TEXTS), abs=1e-5)

    async def test_a_vector_is_a_tuple_of_plain_floats(self, embedder: Embedder) -> None:
        (passage,) = await embedder.embed_passages(["A node."])
        query = await embedder.embed_query("A node.")
        assert (type(passage), {type(number) for number in passage}) == (tuple, {float})
        assert (type(query), {type(number) for number in query}) == (tuple, {float})

    async def test_no_texts_give_no_vectors(self, embedder: Embedder) -> None:
        assert await embedder.embed_passages([]) == []

    async def test_a_text_has_the_same_vector_in_any_batch_and_any_order(self, embedder: Embedder) -> None:
        together = dict(zip(TEXTS, await embedder.embed_passages(TEXTS), strict=True))
        alone = {text: (await embedder.embed_passages([text]))[0] for text in TEXTS}
        shuffled = random.Random(7).sample(TEXTS, len(TEXTS))
        mixed = dict(zip(shuffled, await embedder.embed_passages(shuffled), strict=True))
        assert together == alone == mixed

    async def test_a_repeated_text_is_answered_each_time(self, embedder: Embedder) -> None:
        first, other, again = await embedder.embed_passages(["one", "two", "one"])
        assert first == again != other

    async def test_different_texts_have_different_vectors(self, embedder: Embedder) -> None:
        assert len(set(await embedder.embed_passages(TEXTS))) == len(TEXTS)

    async def test_a_query_is_nearest_to_the_passage_that_speaks_of_it(self, embedder: Embedder) -> None:
        passages = (
            "A publisher sends messages on a topic.",
            "Bake the bread for forty minutes in a hot oven.",
            "The license of this book permits copying.",
        )
        vectors = await embedder.embed_passages(passages)
        query = await embedder.embed_query("which topic do messages of the publisher go to")
        best = max(zip(passages, vectors, strict=True), key=lambda pair: cosine(query, pair[1]))
        assert best[0] == passages[0]

    async def test_a_text_at_the_limit_is_read(self, embedder: Embedder) -> None:
        text = text_of(embedder, embedder.tokens.limit)
        (vector,) = await embedder.embed_passages([text])
        query = await embedder.embed_query(text)
        assert len(vector) == len(query) == embedder.dimensions

    async def test_a_passage_above_the_limit_is_an_error_that_gives_both_numbers(self, embedder: Embedder) -> None:
        limit = embedder.tokens.limit
        with pytest.raises(TextTooLong, match=rf"\b{limit + 1}\b.*\b{limit}\b") as caught:
            await embedder.embed_passages(["fine", text_of(embedder, limit + 1), "fine"])
        assert caught.value.hint

    async def test_a_query_above_the_limit_is_an_error_too(self, embedder: Embedder) -> None:
        with pytest.raises(TextTooLong):
            await embedder.embed_query(text_of(embedder, embedder.tokens.limit + 1))

    async def test_the_last_word_at_the_limit_counts(self, embedder: Embedder) -> None:
        text = text_of(embedder, embedder.tokens.limit)
        first, second = await embedder.embed_passages([text, text[:-1] + "b"])
        assert first != second

    async def test_many_callers_at_once_get_what_each_asked_for(self, embedder: Embedder) -> None:
        alone = await embedder.embed_passages(TEXTS)
        queries = [await embedder.embed_query(text) for text in TEXTS]
        passages_at_once = await asyncio.gather(*(embedder.embed_passages([text]) for text in TEXTS))
        queries_at_once = await asyncio.gather(*(embedder.embed_query(text) for text in TEXTS))
        assert [vectors[0] for vectors in passages_at_once] == alone
        # Queries may run together, where float numbers are added in another order.
        assert [pytest.approx(query, abs=1e-6) for query in queries] == queries_at_once

    async def test_spans_are_slices_in_order_and_as_many_as_counted(self, embedder: Embedder) -> None:
        for text in TEXTS:
            spans = embedder.tokens.spans(text)
            assert len(spans) == embedder.tokens.counts([text])[0]
            assert all(0 <= start < end <= len(text) for start, end in spans)
            assert list(spans) == sorted(spans)

    async def test_counting_knows_no_limit(self, embedder: Embedder) -> None:
        many = embedder.tokens.limit * 5
        assert embedder.tokens.counts([text_of(embedder, many), "", "a"]) == [many, 0, 1]
        assert len(embedder.tokens.spans(text_of(embedder, many))) == many
        assert embedder.tokens.counts([]) == []

    async def test_a_name_says_what_makes_the_vectors(self, embedder: Embedder) -> None:
        assert embedder.name.strip() == embedder.name != ""

    async def test_a_closed_embedder_says_so_and_may_be_closed_again(self, embedder: Embedder) -> None:
        await embedder.close()
        await embedder.close()
        with pytest.raises(QuothError, match="closed"):
            await embedder.embed_query("anyone there?")
