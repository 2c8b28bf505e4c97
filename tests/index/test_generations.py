"""Folders, pointer, checksums and lock of the embedded index, whatever is in the files."""

from __future__ import annotations

import errno
import hashlib
import json
import os
from pathlib import Path

import pytest

from contracts.index_contract import BOOK, FINGERPRINT
from quoth.errors import Conflict, DiskFull, IndexDamaged, IndexMismatch, IndexUnavailable, UnknownBook
from quoth.index.generations import FileSum, Generations, Pointer, disk_errors, published_books
from quoth.index.writer_lock import WriterLock


@pytest.fixture
def generations(tmp_path: Path) -> Generations:
    return Generations(tmp_path / "index", BOOK)


def publish(generations: Generations, number: int, text: str = "content") -> Pointer:
    building = generations.begin(number)
    (building / "file").write_text(text)
    return generations.publish_base(number, FINGERPRINT, 3, None)


def sum_of(text: str) -> FileSum:
    return FileSum(len(text), hashlib.sha256(text.encode()).hexdigest())


def names(generations: Generations) -> list[str]:
    return sorted(path.name for path in generations.root.iterdir())


def test_a_publication_moves_the_pointer_and_keeps_only_the_one_before(generations: Generations) -> None:
    stamps = set()
    for number in (1, 2, 3):
        published = publish(generations, number)
        stamps.add(generations.stamp())
        files = {f"gen-{number:06}/file": sum_of("content")}
        assert generations.pointer() == published == Pointer(number, number, FINGERPRINT, 3, files)
        generations.check(published)
    assert len(stamps) == 3
    assert names(generations) == ["CURRENT", "gen-000002", "gen-000003"]


def test_changes_are_published_over_their_base_and_the_one_before_is_kept(generations: Generations) -> None:
    live = publish(generations, 1)
    for number in (2, 3, 4):
        live = generations.publish_changes(number, live, 3, f"changes {number}".encode(), None)
        assert generations.pointer() == live
        assert generations.read(live, generations.changes_file(number)) == f"changes {number}".encode()
        assert live.files == {
            "gen-000001/file": sum_of("content"),
            f"gen-{number:06}.json": sum_of(f"changes {number}"),
        }
    assert names(generations) == ["CURRENT", "gen-000001", "gen-000003.json", "gen-000004.json"]
    publish(generations, 5)
    assert names(generations) == ["CURRENT", "gen-000001", "gen-000004.json", "gen-000005"]
    publish(generations, 6)
    assert names(generations) == ["CURRENT", "gen-000005", "gen-000006"]


def test_changes_that_were_never_published_are_swept(generations: Generations) -> None:
    live = generations.publish_changes(2, publish(generations, 1), 3, b"changes", None)
    (generations.root / "gen-000003.json").write_text("killed before the pointer was replaced")
    assert generations.sweep() == 2
    assert names(generations) == ["CURRENT", "gen-000001", "gen-000002.json"]
    generations.read(live, generations.changes_file(2))


@pytest.mark.parametrize(("content", "problem"), [(None, "is missing"), ("other", "is not what was published")])
def test_a_file_is_read_only_if_it_is_what_was_published(
    generations: Generations, content: str | None, problem: str
) -> None:
    live = generations.publish_changes(2, publish(generations, 1), 3, b"changes", None)
    file = generations.changes_file(2)
    if content is None:
        file.unlink()
    else:
        file.write_text(content)
    with pytest.raises(IndexDamaged, match=rf"index/robots/gen-000002.json {problem}.*recreate"):
        generations.read(live, file)


def test_nothing_published_is_an_unknown_book(generations: Generations) -> None:
    with pytest.raises(UnknownBook, match=BOOK):
        generations.stamp()
    generations.begin(1)
    with pytest.raises(UnknownBook):
        generations.pointer()
    assert published_books(generations.root.parent) == []


def test_an_id_that_is_none_never_reaches_the_disk(tmp_path: Path) -> None:
    inside = Generations(tmp_path / "index", BOOK)
    publish(inside, 1)
    with pytest.raises(UnknownBook):
        Generations(tmp_path / "index" / "x", f"../{BOOK}").stamp()


def test_what_killed_writers_left_is_swept_and_the_live_one_kept(generations: Generations) -> None:
    for number in (1, 2, 3):
        publish(generations, number)
    generations.begin(4)
    assert generations.sweep() == 3
    assert names(generations) == ["CURRENT", "gen-000002", "gen-000003"]


def test_what_a_killed_first_build_left_is_swept(generations: Generations) -> None:
    (generations.begin(1) / "file").write_text("half")
    assert generations.sweep() == 0
    assert names(generations) == []


def test_a_damaged_pointer_loses_no_generation(generations: Generations) -> None:
    publish(generations, 1)
    publish(generations, 2)
    (generations.root / "CURRENT").write_text("?")
    assert generations.sweep() == 2
    assert names(generations) == ["CURRENT", "gen-000001", "gen-000002"]


def test_a_discarded_build_leaves_nothing_not_even_the_folder_of_a_new_book(generations: Generations) -> None:
    generations.begin(1)
    generations.discard(1)
    assert not generations.root.exists()
    publish(generations, 1)
    generations.begin(2)
    generations.discard(2)
    assert names(generations) == ["CURRENT", "gen-000001"]


def test_a_deleted_book_is_gone(generations: Generations) -> None:
    publish(generations, 1)
    assert published_books(generations.root.parent) == [BOOK]
    generations.delete()
    assert not generations.root.exists()
    with pytest.raises(UnknownBook):
        generations.delete()


def test_damaged_files_are_named_with_what_is_wrong(generations: Generations) -> None:
    building = generations.begin(1)
    for name in ("flipped", "short", "gone", "whole"):
        (building / name).write_text("content")
    live = generations.publish_base(1, FINGERPRINT, 3, None)
    generations.check(live)
    (building / "flipped").write_text("cOntent")
    generations.check(live, whole=lambda name: name != "flipped")
    (building / "short").write_text("cont")
    (building / "gone").unlink()
    with pytest.raises(
        IndexDamaged, match=r"The index of 'robots' is damaged: index/robots/gen-.*more files\)"
    ) as raised:
        generations.check(live)
    assert raised.value.details["damage"] == [
        {"file": "index/robots/gen-000001/flipped", "problem": "is not what was published"},
        {"file": "index/robots/gen-000001/gone", "problem": "is missing"},
        {"file": "index/robots/gen-000001/short", "problem": "has 4 bytes instead of 7"},
    ]


def test_every_other_character_of_the_pointer_is_noticed(generations: Generations) -> None:
    generations.publish_changes(2, publish(generations, 1), 3, b"changes", None)
    pointer = generations.root / "CURRENT"
    content = pointer.read_text()
    unnoticed = []
    for place, letter in enumerate(content.strip()):
        pointer.write_text(content[:place] + ("7" if letter != "7" else "8") + content[place + 1 :])
        try:
            generations.check_format(generations.pointer())
        except (IndexDamaged, IndexMismatch):
            continue
        unnoticed.append((place, letter))
    assert {letter for _, letter in unnoticed} <= {" ", "\n"}


@pytest.mark.parametrize(("format", "when"), [(2, "an earlier Quoth"), (4, "a later Quoth")])
def test_the_pointer_of_another_format_can_be_read_and_is_refused(
    generations: Generations, format: int, when: str
) -> None:
    generations.root.mkdir(parents=True)
    content = {"format": format, "generation": 7, "base": 5, "chunks": 3, "fingerprint": FINGERPRINT.as_dict()}
    (generations.root / "CURRENT").write_text(json.dumps(content))
    pointer = generations.pointer()
    assert (pointer.generation, pointer.chunks, pointer.fingerprint) == (7, 3, FINGERPRINT)
    with pytest.raises(IndexMismatch, match=rf"'robots' was built by {when}.*ingest PATH --mode recreate"):
        generations.check_format(pointer)


def test_what_was_replaced_while_it_was_read_is_read_again(generations: Generations) -> None:
    publish(generations, 1)
    seen = []

    def read(pointer: Pointer, stamp: object) -> int:
        seen.append(pointer.generation)
        if len(seen) < 3:
            publish(generations, pointer.generation + 1)
            raise IndexUnavailable("a file has vanished")
        return pointer.generation

    assert generations.steadily(read) == 3
    assert seen == [1, 2, 3]

    def fail(pointer: Pointer, stamp: object) -> int:
        raise IndexUnavailable("a file is gone for good")

    with pytest.raises(IndexUnavailable, match="for good"):
        generations.steadily(fail)

    def follow(pointer: Pointer, stamp: object) -> int:
        publish(generations, pointer.generation + 1)
        raise IndexUnavailable("a file has vanished")

    with pytest.raises(IndexUnavailable, match="changes faster than it can be read"):
        generations.steadily(follow)


@pytest.mark.parametrize("number", [errno.ENOSPC, errno.EDQUOT, errno.EFBIG])
def test_a_full_disk_is_named(tmp_path: Path, number: int) -> None:
    with pytest.raises(DiskFull, match=r"The disk of .* is full.*intact"), disk_errors(tmp_path):
        raise OSError(number, os.strerror(number))
    with pytest.raises(IndexUnavailable, match=r"Permission denied.*permissions"), disk_errors(tmp_path):
        raise OSError(errno.EACCES, os.strerror(errno.EACCES))


def test_a_folder_that_cannot_be_made_is_an_outage_that_names_it(tmp_path: Path) -> None:
    (tmp_path / "index").write_text("a file where a folder should be")
    with pytest.raises(IndexUnavailable, match="index"):
        Generations(tmp_path / "index", BOOK).begin(1)


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


def test_what_a_dead_holder_wrote_does_not_block_the_next_one(tmp_path: Path) -> None:
    (tmp_path / "writer.lock").write_text(json.dumps({"pid": 1, "since": "2026-01-01T00:00:00+00:00"}))
    with WriterLock(tmp_path, BOOK):
        assert json.loads((tmp_path / "writer.lock").read_text())["pid"] == os.getpid()
