"""The model's search: it stays within the book and the filters of the reader, whatever the model writes."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any, get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st

from quoth.ask.find import Retriever
from quoth.ask.model_turn import TOOLS
from quoth.ask.tools import SearchBook, format_tool_response
from quoth.domain import Book, Chunk, Filters, Fingerprint, IndexedChunk, Layer, Passage, ProficiencyLevel, passes
from quoth.errors import QuothError
from quoth.testing.embedder import FakeEmbedder
from quoth.testing.index import MemoryIndex
from quoth.text.terms import TERMS_VERSION, passage_weights
from samples import TickingClock, chunk

LEVELS = get_args(ProficiencyLevel)
URLS = ["/docs", "/docs/ros2", "/docs/ros2/nodes", "/blog"]
HEADINGS = ["QoS", "Nodes", "Durability"]


def maybe(values: Any) -> Any:
    return st.none() | st.sampled_from(values)


FIELDS: dict[str, st.SearchStrategy[Any]] = {
    "source_url_prefix": st.sampled_from(URLS),
    "section": st.sampled_from(HEADINGS),
    "module": st.sampled_from(["ros2", "isaac"]),
    "chapter_min": st.integers(0, 2),
    "chapter_max": st.integers(0, 2),
    "lesson": st.integers(0, 1),
    "hardware_tier": st.integers(1, 4),
    "proficiency_levels": st.lists(st.sampled_from(LEVELS[:3]), min_size=1, max_size=2, unique=True).map(tuple),
    "layer": st.sampled_from(get_args(Layer)),
    "parent_doc_id": st.sampled_from(["p", "q"]),
}
assert set(FIELDS) == set(Filters.__dataclass_fields__)
filters = st.fixed_dictionaries({}, optional=FIELDS).map(lambda fields: Filters(**fields))
chunks = st.builds(
    chunk,
    st.just("Nodes keep the last message."),
    url=st.sampled_from(URLS),
    heading_path=st.lists(st.sampled_from(HEADINGS), unique=True).map(tuple),
    module=maybe(["ros2", "isaac"]),
    chapter=maybe([0, 1, 2]),
    lesson=maybe([0, 1]),
    hardware_tier=st.sampled_from([1, 2, 3, 4]),
    proficiency_level=st.sampled_from(LEVELS[:3]),
    layer=st.sampled_from(get_args(Layer)),
    parent_doc_id=st.sampled_from(["p", "q"]),
)


def check_narrowing(one: Filters, other: Filters, tried: list[Chunk]) -> None:
    narrowed = one.narrowed_by(other)
    passed = [chunk for chunk in tried if narrowed is not None and passes(chunk, narrowed)]
    both = [chunk for chunk in tried if passes(chunk, one) and passes(chunk, other)]
    two_headings = None not in (one.section, other.section) and one.section != other.section
    assert passed == ([] if two_headings else both)


@pytest.mark.parametrize("field", FIELDS)
@given(st.data())
def test_what_passes_narrowed_filters_passes_both(field: str, data: st.DataObject) -> None:
    one, other = (Filters(**{field: data.draw(FIELDS[field])}) for _ in range(2))
    check_narrowing(one, other, data.draw(st.lists(chunks, min_size=1, max_size=8)))


@given(filters, filters, st.lists(chunks, max_size=8))
def test_filters_of_several_fields_are_narrowed_field_by_field(
    one: Filters, other: Filters, tried: list[Chunk]
) -> None:
    check_narrowing(one, other, tried)


@given(filters)
def test_filters_narrowed_by_nothing_or_by_themselves_stay_what_they_are(one: Filters) -> None:
    assert one.narrowed_by(Filters()) == Filters().narrowed_by(one) == one.narrowed_by(one) == one


@pytest.fixture
async def tool() -> SearchBook:
    embedder = FakeEmbedder()
    index = MemoryIndex(Fingerprint(embedder.name, embedder.dimensions, "test-1", TERMS_VERSION))
    texts = {"ros2": "A node keeps the last message.", "isaac": "A node renders the last message."}
    now = TickingClock().now()
    for book_id in ("book", "another"):
        async with index.writer(book_id) as writer:
            for module, text in texts.items():
                [vector] = await embedder.embed_passages([text])
                made = chunk(text, id=f"{book_id} {module}", book_id=book_id, module=module)
                await writer.put([IndexedChunk(made, vector, passage_weights(text), module, now, now)])
            await writer.publish()
    return SearchBook(Retriever(index, embedder), Book("book", "A book"), Filters(module="ros2"))


async def test_the_tool_finds_passages_of_the_readers_book_within_the_readers_filters(tool: SearchBook) -> None:
    evidence = await tool({"query": "last message", "top_k": 10})
    assert [passage.chunk.id for passage in evidence.passages] == ["book ros2"]
    assert evidence.total_found == 1


async def test_a_filter_of_the_model_that_contradicts_the_readers_finds_nothing(tool: SearchBook) -> None:
    evidence = await tool({"query": "last message", "filters": {"module": "isaac"}})
    assert (evidence.passages, evidence.total_found) == ((), 0)


async def test_the_readers_threshold_holds_for_the_model_too(tool: SearchBook) -> None:
    assert (await replace(tool, threshold=1.0)({"query": "last message"})).passages == ()


@pytest.mark.parametrize("arguments", [{"query": "x", "book_id": "another"}, "x", None, {"query": ["x"]}, []])
async def test_wrong_arguments_are_an_error_that_the_model_can_read(tool: SearchBook, arguments: Any) -> None:
    with pytest.raises(QuothError):
        await tool(arguments)


def test_the_schema_names_the_query_and_every_filter() -> None:
    schema = SearchBook.parameters()
    assert schema["required"] == ["query"]
    assert set(schema["properties"]) == {"query", "top_k", "similarity_threshold", "filters"}
    assert set(schema["properties"]["filters"]["properties"]) == set(Filters.__dataclass_fields__)
    assert schema["properties"]["top_k"] == {
        "type": "integer",
        "description": "How many passages",
        "minimum": 1,
        "maximum": 20,
    }


def test_the_schema_uses_only_words_that_every_server_takes() -> None:
    def words(schema: Any) -> set[str]:
        below = [*schema.get("properties", {}).values(), *([schema["items"]] if "items" in schema else [])]
        return set(schema).union(*map(words, below))

    taken = {"type", "description", "enum", "minimum", "maximum", "required", "properties", "items"}
    for tool in TOOLS:
        assert words(tool.parameters) <= taken
        assert len(json.dumps(tool.parameters)) < 1_300  # it is read in every turn


def test_passages_are_told_with_their_numbers_and_those_already_read_without_their_text() -> None:
    passages = [
        Passage(chunk(f"Text {name}.", id=name, url=url), 0.5, 0.123456) for name, url in (("a", "/a"), ("b", ""))
    ]
    plain = json.loads(format_tool_response(passages, "q"))
    assert [row["rank"] for row in plain["results"]] == [1, 2]
    assert [row["content"] for row in plain["results"]] == ["Text a.", "Text b."]
    assert [row["url"] for row in plain["results"]] == ["/a", "docs/page.md"]
    assert (plain["total_results"], plain["query"], plain["results"][0]["score"]) == (2, "q", 0.1235)

    again = json.loads(format_tool_response(passages, "q", ranks=(7, 3), known={"b"}))
    assert [row["rank"] for row in again["results"]] == [7, 3]
    assert [row["content"] for row in again["results"]] == ["Text a.", "(You have read it: rank 3.)"]
