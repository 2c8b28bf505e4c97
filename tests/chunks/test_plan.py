from __future__ import annotations

from datetime import UTC, datetime

from hypothesis import given
from hypothesis import strategies as st

from quoth.chunks.plan import WantedChunk, changed_files, plan_files, plan_page
from quoth.domain import IdSet, PageRecord, SourceFile, StoredChunk
from samples import chunk

NOW = datetime(2026, 1, 1, tzinfo=UTC)

ids = st.integers(0, 12).map(lambda number: f"id-{number}")
hashes = st.sampled_from(["a", "b", "c"])
stored_chunks = st.dictionaries(ids, st.tuples(st.sampled_from(["one.md", "two.md"]), hashes, hashes), max_size=12).map(
    lambda raw: {id: StoredChunk(id, file, payload, embed, NOW) for id, (file, payload, embed) in raw.items()}
)
wanted_chunks = st.dictionaries(ids, st.tuples(hashes, hashes), max_size=12).map(
    lambda raw: [WantedChunk(chunk(id=id), payload, embed) for id, (payload, embed) in raw.items()]
)


def record(source_file: str, digest: str, *chunk_ids: str) -> PageRecord:
    return PageRecord("book", source_file, digest, "hash", chunk_ids, NOW)


def stored(id: str, source_file: str, payload: str = "p", embed: str = "e") -> StoredChunk:
    return StoredChunk(id, source_file, payload, embed, NOW)


@given(wanted_chunks, stored_chunks)
def test_applying_a_page_plan_leaves_exactly_the_wanted_chunks_under_the_page(
    wanted: list[WantedChunk], before: dict[str, StoredChunk]
) -> None:
    filed = {id for id, one in before.items() if one.source_file == "one.md"}
    plan = plan_page(wanted, before, filed)

    after = dict(before)
    for item in wanted:
        if item.chunk.id in plan.put:
            after[item.chunk.id] = StoredChunk(item.chunk.id, "one.md", item.payload_hash, item.embed_hash, NOW)
    for id in plan.drop:
        del after[id]

    for item in wanted:
        assert (after[item.chunk.id].payload_hash, after[item.chunk.id].embed_hash) == (
            item.payload_hash,
            item.embed_hash,
        )
    left = {id for id in filed if id in after} - {item.chunk.id for item in wanted}
    assert left == set()


@given(wanted_chunks, stored_chunks)
def test_a_second_plan_after_the_first_has_nothing_to_do(
    wanted: list[WantedChunk], before: dict[str, StoredChunk]
) -> None:
    now = {item.chunk.id: stored(item.chunk.id, "one.md", item.payload_hash, item.embed_hash) for item in wanted}
    plan = plan_page(wanted, {**before, **now}, now)
    assert (plan.put, plan.drop) == ((), ())
    assert set(plan.keep) == set(now)


def test_a_chunk_whose_neighbours_changed_is_written_again() -> None:
    plan = plan_page([WantedChunk(chunk(id="x"), "new", "e")], {"x": stored("x", "one.md", "old", "e")}, {"x"})
    assert plan.put == ("x",)


def test_an_unchanged_file_is_skipped_only_when_the_index_holds_its_chunks() -> None:
    file = SourceFile("one.md", "d1")
    records = {"one.md": record("one.md", "d1", "x", "y")}
    whole = {"one.md": IdSet.of("xy")}
    assert plan_files([file], records, whole, force=False).unchanged == (file,)
    half = {"one.md": IdSet.of("x")}
    assert plan_files([file], records, half, force=False).changed == (file,)


def test_a_changed_digest_means_the_file_is_read_again() -> None:
    file = SourceFile("one.md", "d2")
    plan = plan_files([file], {"one.md": record("one.md", "d1", "x")}, {"one.md": IdSet.of("x")}, force=False)
    assert (plan.changed, plan.unchanged) == ((file,), ())


def test_chunks_without_a_record_make_their_file_changed_not_new() -> None:
    file = SourceFile("one.md", "d1")
    plan = plan_files([file], {}, {"one.md": IdSet.of("x")}, force=False)
    assert (plan.new, plan.changed) == ((), (file,))


def test_files_that_are_gone_are_found_in_the_records_and_in_the_index() -> None:
    plan = plan_files([], {"a.md": record("a.md", "d", "x")}, {"b.md": IdSet.of("y")}, force=False)
    assert plan.deleted == ("a.md", "b.md")


def test_force_reads_everything_again() -> None:
    file = SourceFile("one.md", "d1")
    plan = plan_files([file], {"one.md": record("one.md", "d1", "x")}, {"one.md": IdSet.of("x")}, force=True)
    assert plan.changed == (file,)


def test_changed_files_are_told_from_the_records_alone() -> None:
    files = [SourceFile("new.md", "1"), SourceFile("same.md", "2"), SourceFile("edited.md", "3")]
    records = {
        "same.md": record("same.md", "2", "a"),
        "edited.md": record("edited.md", "old", "b"),
        "gone.md": record("gone.md", "4", "c"),
    }
    plan = changed_files(files, records)
    assert [file.source_file for file in plan.new] == ["new.md"]
    assert [file.source_file for file in plan.changed] == ["edited.md"]
    assert [file.source_file for file in plan.unchanged] == ["same.md"]
    assert plan.deleted == ("gone.md",)


def test_a_file_that_neither_the_records_nor_the_index_know_is_new_and_is_read() -> None:
    file = SourceFile("new.md", "d")
    plan = plan_files([file], {}, {}, force=False)
    assert (plan.new, plan.changed, plan.to_read) == ((file,), (), (file,))
