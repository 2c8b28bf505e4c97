"""Folders, pointer and lock of the embedded index, without an engine."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from contracts.index_contract import BOOK, FINGERPRINT
from quoth.errors import Conflict, DiskFull, IndexUnavailable, UnknownBook
from quoth.index.generations import Generations, Pointer, copy_sparse, published_books
from quoth.index.writer_lock import WriterLock


@pytest.fixture
def generations(tmp_path: Path) -> Generations:
    return Generations(tmp_path / "index", BOOK)


def publish(generations: Generations, number: int, text: str = "content") -> None:
    building = generations.begin(number, copy_of=None)
    (building / "deep").mkdir()
    (building / "deep" / "file").write_text(text)
    generations.publish(Pointer(number, number, FINGERPRINT, 3))


def names(generations: Generations) -> list[str]:
    return sorted(path.name for path in generations.root.iterdir())


def test_a_publication_moves_the_pointer_and_keeps_only_the_one_before(generations: Generations) -> None:
    stamps = set()
    for number in (1, 2, 3):
        publish(generations, number)
        stamps.add(generations.stamp())
        assert generations.pointer() == Pointer(number, number, FINGERPRINT, 3)
        generations.check(generations.pointer())
    assert len(stamps) == 3
    assert names(generations) == ["CURRENT", "gen-000002", "gen-000003"]


def test_changes_are_published_over_their_base_and_the_one_before_is_kept(generations: Generations) -> None:
    publish(generations, 1)
    for number in (2, 3, 4):
        pointer = Pointer(number, 1, FINGERPRINT, 3)
        generations.publish(pointer, f"changes {number}".encode())
        assert generations.pointer() == pointer
        assert generations.changes(pointer) == f"changes {number}".encode()
    assert names(generations) == ["CURRENT", "gen-000001", "gen-000003.json", "gen-000004.json"]
    publish(generations, 5)
    assert names(generations) == ["CURRENT", "gen-000001", "gen-000004.json", "gen-000005"]
    publish(generations, 6)
    assert names(generations) == ["CURRENT", "gen-000005", "gen-000006"]


def test_changes_that_were_never_published_are_swept(generations: Generations) -> None:
    publish(generations, 1)
    generations.publish(Pointer(2, 1, FINGERPRINT, 3), b"changes")
    (generations.root / "gen-000003.json").write_text("killed before the pointer was replaced")
    assert generations.sweep() == 2
    assert names(generations) == ["CURRENT", "gen-000001", "gen-000002.json"]
    generations.changes(generations.pointer())
    (generations.root / "gen-000002.json").unlink()
    with pytest.raises(IndexUnavailable, match=r"gen-000002.json is missing.*recreate"):
        generations.changes(generations.pointer())


def test_nothing_published_is_an_unknown_book(generations: Generations) -> None:
    with pytest.raises(UnknownBook, match=BOOK):
        generations.stamp()
    generations.begin(1, copy_of=None)
    with pytest.raises(UnknownBook):
        generations.pointer()
    assert published_books(generations.root.parent) == []


def test_an_id_that_is_none_never_reaches_the_disk(tmp_path: Path) -> None:
    inside = Generations(tmp_path / "index", BOOK)
    publish(inside, 1)
    with pytest.raises(UnknownBook):
        Generations(tmp_path / "index" / "x", f"../{BOOK}").stamp()


def test_a_build_begins_as_a_copy_that_leaves_the_original_alone(generations: Generations) -> None:
    publish(generations, 1, "old")
    building = generations.begin(2, copy_of=1)
    (building / "deep" / "file").write_text("new")
    assert (generations.folder(1) / "deep" / "file").read_text() == "old"
    generations.publish(Pointer(2, 2, FINGERPRINT, 4))
    assert (generations.folder(2) / "deep" / "file").read_text() == "new"


def test_what_readers_put_beside_the_published_files_is_not_copied(generations: Generations) -> None:
    publish(generations, 1)
    (generations.folder(1) / "deep" / "of-a-reader.tmp").symlink_to("gone")  # listed, and not there when it is opened
    building = generations.begin(2, copy_of=1)
    assert [file.name for file in building.rglob("*") if file.is_file()] == ["file"]


def test_what_killed_writers_left_is_swept_and_the_live_one_kept(generations: Generations) -> None:
    for number in (1, 2, 3):
        publish(generations, number)
    generations.begin(4, copy_of=3)
    assert generations.sweep() == 3
    assert names(generations) == ["CURRENT", "gen-000002", "gen-000003"]


def test_a_damaged_pointer_loses_no_generation(generations: Generations) -> None:
    publish(generations, 1)
    publish(generations, 2)
    (generations.root / "CURRENT").write_text("?")
    assert generations.sweep() == 2
    assert names(generations) == ["CURRENT", "gen-000001", "gen-000002"]


def test_a_discarded_build_leaves_nothing_not_even_the_folder_of_a_new_book(generations: Generations) -> None:
    generations.begin(1, copy_of=None)
    generations.discard(1)
    assert not generations.root.exists()
    publish(generations, 1)
    generations.begin(2, copy_of=1)
    generations.discard(2)
    assert names(generations) == ["CURRENT", "gen-000001"]


def test_a_deleted_book_is_gone(generations: Generations) -> None:
    publish(generations, 1)
    assert published_books(generations.root.parent) == [BOOK]
    generations.delete()
    assert not generations.root.exists()
    with pytest.raises(UnknownBook):
        generations.delete()


def test_a_file_that_is_gone_or_short_is_found_before_it_is_mapped(generations: Generations) -> None:
    publish(generations, 1)
    file = generations.folder(1) / "deep" / "file"
    file.write_text("cont")
    with pytest.raises(IndexUnavailable, match=r"file has 4 bytes instead of 7.*recreate"):
        generations.check(generations.pointer())
    file.unlink()
    with pytest.raises(IndexUnavailable, match=r"file is missing.*recreate"):
        generations.check(generations.pointer())


def test_room_that_is_not_there_is_a_full_disk(generations: Generations) -> None:
    publish(generations, 1)
    generations.reserve(0)
    with pytest.raises(DiskFull, match=r"MB are needed.*intact"):
        generations.reserve(2**60)


def test_a_folder_that_cannot_be_made_is_an_outage_that_names_it(tmp_path: Path) -> None:
    (tmp_path / "index").write_text("a file where a folder should be")
    with pytest.raises(IndexUnavailable, match="index"):
        Generations(tmp_path / "index", BOOK).begin(1, copy_of=None)


def test_a_second_lock_is_refused_and_names_the_first(tmp_path: Path) -> None:
    with WriterLock(tmp_path, "cooking"):
        with pytest.raises(Conflict, match=rf"pid {os.getpid()} on .*, since \d\d:\d\d:\d\d\).*'cooking'"):
            WriterLock(tmp_path, BOOK).acquire()
        holder = json.loads((tmp_path / "writer.lock").read_text())
        assert set(holder) == {"pid", "host", "command", "since", "book"}
    with WriterLock(tmp_path, BOOK):
        assert json.loads((tmp_path / "writer.lock").read_text())["book"] == BOOK


@pytest.mark.parametrize("content", ["", "{", '{"pid": 1}', "[]"])
def test_a_lock_that_is_held_but_not_yet_signed_is_still_a_conflict(tmp_path: Path, content: str) -> None:
    with WriterLock(tmp_path, BOOK):
        (tmp_path / "writer.lock").write_text(content)
        with pytest.raises(Conflict, match="Another process is writing"):
            WriterLock(tmp_path, BOOK).acquire()


def test_what_a_dead_holder_wrote_blocks_nobody(tmp_path: Path) -> None:
    (tmp_path / "writer.lock").write_text(json.dumps({"pid": 1, "since": "2026-01-01T00:00:00+00:00"}))
    with WriterLock(tmp_path, BOOK):
        assert json.loads((tmp_path / "writer.lock").read_text())["pid"] == os.getpid()


@given(
    runs=st.lists(st.tuples(st.integers(0, 40), st.binary(min_size=1, max_size=40)), max_size=5),
    tail=st.integers(0, 2**19),
)
def test_a_sparse_copy_is_equal_to_the_byte(
    tmp_path_factory: pytest.TempPathFactory, runs: list[tuple[int, bytes]], tail: int
) -> None:
    folder = tmp_path_factory.mktemp("sparse")
    source, target = folder / "source", folder / "target"
    with source.open("wb") as file:
        for block, content in runs:
            file.seek(block * 65_536 + len(content))
            file.write(content)
        file.truncate(max(file.seek(0, os.SEEK_END), tail))
    copy_sparse(source, target)
    assert target.read_bytes() == source.read_bytes()


def test_a_sparse_copy_keeps_the_holes(tmp_path: Path) -> None:
    source, target = tmp_path / "source", tmp_path / "target"
    with source.open("wb") as file:
        file.seek(2**25)
        file.write(b"end")
    copy_sparse(source, target)
    assert target.stat().st_size == 2**25 + 3
    assert target.stat().st_blocks * 512 < 2**20
