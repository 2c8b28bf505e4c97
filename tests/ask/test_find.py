"""Retrieval: both lists on one scale, honest probabilities, nothing found twice."""

from __future__ import annotations

import asyncio
import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from quoth.ask.calibration import sigmoid
from quoth.ask.find import Retriever, diversity, prepare
from quoth.ask.fuse import FusionOptions
from quoth.domain import Evidence, Filters, IndexedChunk
from quoth.errors import IndexUnavailable
from quoth.models.minilm import MiniLMEmbedder
from quoth.testing.embedder import FakeEmbedder, FakeTokens
from quoth.text.terms import passage_weights
from samples import TickingClock, chunk
from small_index import an_index

FITTED = "all-MiniLM-L6-v2/53aa5117/1"
TEXTS = {
    "init": "Call `rclpy.init()` before you create a node.",
    "pip": "Install with `pip install --no-deps` so that torch stays out.",
    "tf": "The package tf2_ros broadcasts transforms.",
    "lidar": "A lidar measures distance with light.",
    "camera": "A camera measures colour with light.",
}


async def found(query: str, *, texts: dict[str, str] | None = None, name: str = "", limit: int = 5) -> Evidence:
    embedder = FakeEmbedder(name=name)
    retriever = Retriever(await an_index(embedder, texts or TEXTS), embedder)
    return await retriever.find(query, book_id="book", limit=limit)


@pytest.mark.parametrize(
    ("query", "wanted"),
    [
        ("--no-deps", "pip"),
        ("What is tf2_ros for?", "tf"),
        ("rclpy.init()", "init"),
        ("measuring distances", "lidar"),
    ],
)
async def test_the_right_passage_comes_first(query: str, wanted: str) -> None:
    evidence = await found(query)
    assert evidence.passages[0].chunk.id == wanted


IDENTIFIERS = [
    "--no-deps", "--no-cache", "tf2_ros", "tf2_echo", "E0382", "E0383", "std::collections::HashMap",
    "std::collections::HashSet", "0x68", "0x69", "v1.2.3", "v1.2.4", "/etc/hosts", "/etc/host.conf", "Content-Type",
    "Content-Length", "@Input()", "@Output()", "#[derive(Debug)]", "#[derive(Clone)]", ".env", ".env.local", "C++",
    "C#", "node:fs", "node:path", "--flag=value", "--flag=other", "getUserById", "get_user_by_name", "rclpy.init()",
]  # fmt: skip


@pytest.mark.parametrize("name", ["", FITTED])
@pytest.mark.parametrize("identifier", IDENTIFIERS)
async def test_an_identifier_is_found_among_its_likes_in_any_case(identifier: str, name: str) -> None:
    texts = {other: f"There is a page that tells how to use `{other}` and when." for other in IDENTIFIERS}
    for query in (identifier, identifier.lower(), f"What does {identifier} do?"):
        evidence = await found(query, texts=texts, name=name)
        assert evidence.passages[0].chunk.id == identifier, query


QUERIES_OF_NOTHING = ["the", "what is it", "...", "?!", "🤖🤖", "机器人 传感器", "робот", "a\x00b", "x" * 30_000]


@pytest.mark.parametrize("query", QUERIES_OF_NOTHING)
async def test_a_query_without_a_word_of_the_book_finds_nothing_likely_and_is_not_an_error(query: str) -> None:
    evidence = await found(query, name=FITTED)
    assert len(evidence.passages) == 5
    assert all(passage.similarity < 0.5 for passage in evidence.passages)
    assert all(passage.sparse_score is None for passage in evidence.passages)


@pytest.mark.parametrize("name", ["", FITTED])
async def test_passages_are_ordered_by_score_and_by_similarity_alike(name: str) -> None:
    evidence = await found("a camera measures light", name=name)
    scores = [passage.score for passage in evidence.passages]
    similarities = [passage.similarity for passage in evidence.passages]
    assert scores == sorted(scores, reverse=True)
    assert similarities == sorted(similarities, reverse=True)
    assert all(0 <= similarity <= 1 for similarity in similarities)


async def test_a_passage_tells_its_raw_scores_and_ranks() -> None:
    evidence = await found("lidar light")
    best = evidence.passages[0]
    assert (best.dense_rank, best.sparse_rank) == (1, 1)
    assert best.dense_score is not None
    assert best.sparse_score is not None
    unrelated = next(passage for passage in evidence.passages if passage.chunk.id == "tf")
    assert unrelated.sparse_score is None
    assert unrelated.sparse_rank is None


async def test_equal_texts_are_found_once_where_the_book_says_it_first() -> None:
    evidence = await found("lidar", texts={**TEXTS, "copy": TEXTS["lidar"]})
    assert [p.chunk.id for p in evidence.passages if p.chunk.text == TEXTS["lidar"]] == ["lidar"]
    assert evidence.total_found == len(TEXTS) + 1


async def test_of_equal_texts_the_best_one_is_kept_wherever_it_is() -> None:
    embedder = FakeEmbedder()
    index = await an_index(embedder, {"early": TEXTS["lidar"]})
    [vector] = await embedder.embed_passages([TEXTS["lidar"]])
    late = chunk(TEXTS["lidar"], id="late", chunk_index=1)
    # Its headings hold the word too, so it weighs more there.
    weights = passage_weights(f"Choosing a lidar\n{TEXTS['lidar']}")
    async with index.writer("book") as writer:
        await writer.put([IndexedChunk(late, vector, weights, "late", TickingClock().now(), TickingClock().now())])
        await writer.publish()
    evidence = await Retriever(index, embedder).find("choosing lidar", book_id="book")
    assert [passage.chunk.id for passage in evidence.passages] == ["late"]


async def test_the_limit_is_kept_after_duplicates_are_gone() -> None:
    evidence = await found("light", texts={**TEXTS, "copy": TEXTS["lidar"]}, limit=3)
    assert len({passage.chunk.content_hash for passage in evidence.passages}) == 3


async def test_words_that_are_nowhere_in_the_book_are_named() -> None:
    evidence = await found("Does the lidar need Kubernetes?")
    assert evidence.missing_terms == ("need", "Kubernetes")
    lidar = next(term for term in evidence.terms if term.text == "lidar")
    assert lidar.in_book
    assert lidar.idf == pytest.approx(math.log(1 + (5 - 1 + 0.5) / 1.5))


async def test_a_compound_is_in_the_book_when_its_parts_are() -> None:
    evidence = await found("ros2", texts={"a": "ROS 2 runs nodes.", "b": "Nothing else."})
    assert evidence.missing_terms == ()


async def test_filters_reach_the_index_and_rarity_stays_that_of_the_book() -> None:
    embedder = FakeEmbedder()
    retriever = Retriever(await an_index(embedder, TEXTS), embedder)
    evidence = await retriever.find("lidar light Kubernetes", book_id="book", filters=Filters(module="camera"))
    assert [passage.chunk.id for passage in evidence.passages] == ["camera"]
    assert evidence.total_found == 1
    everywhere = await retriever.find("lidar light Kubernetes", book_id="book")
    assert evidence.terms == everywhere.terms


async def test_a_query_longer_than_the_embedder_reads_is_cut_but_searched_whole_by_words() -> None:
    embedder = FakeEmbedder(limit=18)
    retriever = Retriever(await an_index(embedder, TEXTS), embedder)
    query = "please " * 20 + "lidar"
    evidence = await retriever.find(query, book_id="book")
    assert embedder.calls[-1] == ("please " * 18).strip()
    assert evidence.query == query
    assert evidence.passages[0].chunk.id == "lidar"


async def test_passages_that_are_less_similar_than_wanted_are_dropped() -> None:
    embedder = FakeEmbedder(name=FITTED)
    retriever = Retriever(await an_index(embedder, TEXTS), embedder)
    everything = await retriever.find("a camera measures light", book_id="book")
    second, third = everything.passages[1:3]
    assert second.similarity > third.similarity
    some = await retriever.find("a camera measures light", book_id="book", threshold=second.similarity)
    assert some.passages == everything.passages[:2]
    assert (some.total_found, some.terms, some.candidates) == (5, everything.terms, everything.candidates)
    assert some.diversity == (await retriever.find("a camera measures light", book_id="book", limit=2)).diversity
    assert (await retriever.find("a camera measures light", book_id="book", threshold=1.0)).passages == ()


async def test_an_outage_of_the_index_is_an_error_and_no_empty_evidence() -> None:
    embedder = FakeEmbedder()
    index = await an_index(embedder, TEXTS)
    index.outage = IndexUnavailable("gone")
    with pytest.raises(IndexUnavailable):
        await Retriever(index, embedder).find("lidar", book_id="book")


async def test_many_questions_at_once_get_the_answers_they_get_alone() -> None:
    embedder = FakeEmbedder()
    retriever = Retriever(await an_index(embedder, TEXTS), embedder)
    queries = ["lidar", "tf2_ros", "--no-deps", "camera"] * 4
    together = await asyncio.gather(*(retriever.find(query, book_id="book") for query in queries))
    assert together == [await retriever.find(query, book_id="book") for query in queries]


# --- the pure parts --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("query", "kept"),
    [("one two three four", "one two three"), ("one two", "one two"), ("one two, three four", "one two,")],
)
def test_a_long_query_is_cut_between_words(query: str, kept: str) -> None:
    assert prepare(query, FakeTokens(limit=3)).readable == kept


@given(st.text(max_size=80))
def test_what_is_left_of_a_query_is_never_above_the_limit(query: str) -> None:
    tokens = FakeTokens(limit=4)
    kept = prepare(query, tokens).readable
    assert query.startswith(kept)
    assert len(tokens.spans(kept)) <= 4


def test_diversity_is_one_minus_the_mean_cosine_of_all_pairs() -> None:
    assert diversity([(1.0, 0.0), (0.0, 1.0), (1.0, 0.0)]) == pytest.approx(1 - 1 / 3)
    assert diversity([(1.0, 0.0)]) == diversity([]) == 0.0
    assert diversity([(1.0, 0.0), (-1.0, 0.0)]) == 1.0


def test_a_query_in_a_script_of_several_tokens_a_sign_is_cut_too() -> None:
    tokens = MiniLMEmbedder().tokens
    korean = "한국어로 " * 40
    assert tokens.counts([korean]) == [400]
    assert 0 < tokens.counts([prepare(korean, tokens).readable])[0] <= tokens.limit
    assert tokens.counts([prepare("図" * 1000, tokens).readable]) == [tokens.limit]


async def test_a_trace_has_the_first_ten_of_each_list() -> None:
    texts = {f"c{n:02}": f"Sentence number {n} of a long page." for n in range(30)}
    evidence = await found("zyzzyva", texts=texts)
    assert sorted(one.dense_rank for one in evidence.candidates if one.dense_rank) == list(range(1, 11))


async def test_without_fitted_numbers_the_nearest_passage_counts_as_near() -> None:
    """However far away it is; a fitted embedder's cosines count as they are."""
    query = "How far is light?"
    unfitted, fitted = [
        (await found(query, name=name, texts={"a": "A lidar.", "b": "Light."})) for name in ("", FITTED)
    ]
    near = next(one for one in unfitted.passages if one.dense_rank == 1)
    same = next(one for one in fitted.passages if one.dense_rank == 1)
    assert near.dense_score is not None
    assert near.dense_score == pytest.approx(same.dense_score)
    assert near.score - same.score >= FusionOptions().cosine * (1.0 - near.dense_score) - 1e-9 > 0
    assert near.similarity == pytest.approx(sigmoid(8.0 * near.score - 6.0))
