"""`quoth export`, `quoth import`, `quoth explain` as a person meets them: real processes, real index, real model."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from commands import BOOK, document, one_line, quoth

pytestmark = pytest.mark.slow
ASKED = "How do late subscribers get the last message that was published?"


@pytest.fixture(scope="module")
def data(sample_data: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return Path(shutil.copytree(sample_data, tmp_path_factory.mktemp("insight") / "data"))


def test_the_sample_book_goes_out_comes_back_and_is_the_same(data: Path, tmp_path: Path) -> None:
    exported = tmp_path / "book.jsonl"
    exported.write_text(quoth("export", "--vectors", "--data-dir", data).stdout, encoding="utf-8")
    place = tmp_path / "there"
    done = document(quoth("import", exported, "--json", "--data-dir", place))
    assert (done["book_id"], done["embedded"], done["dropped"]) == ("robotics-book", 0, 0)
    assert done["written"] == done["chunks"] == len(exported.read_text(encoding="utf-8").splitlines())
    assert quoth("export", "--vectors", "--data-dir", place).stdout == exported.read_text(encoding="utf-8")
    assert quoth("export", "--data-dir", place).stdout == quoth("export", "--data-dir", data).stdout

    again = quoth("import", exported, "--data-dir", place)
    assert "0 of " in again.stdout
    assert "0 embedded" in again.stdout
    job = document(quoth("ingest", BOOK, "--json", "--data-dir", place))
    assert (job["files_processed"], job["chunks_embedded"], job["chunks_deleted"]) == (0, 0, 0)
    mine, theirs = (document(quoth("ask", ASKED, "--json", "--data-dir", one)) for one in (data, place))
    assert (mine["answer"], mine["sources"]) == (theirs["answer"], theirs["sources"])


def test_a_wrong_file_is_exit_code_3_with_its_line(data: Path, tmp_path: Path) -> None:
    lines = quoth("export", "--data-dir", data).stdout.splitlines()
    lines[4] = lines[4].replace('"line": ', '"line": "x", "was": ', 1)
    (tmp_path / "wrong.jsonl").write_text("\n".join(lines), encoding="utf-8")
    run = quoth("import", tmp_path / "wrong.jsonl", "--data-dir", tmp_path / "there")
    assert run.returncode == 3
    assert "Line 5 is not a chunk of an export" in one_line(run)
    missing = quoth("import", tmp_path / "nowhere.jsonl", "--data-dir", tmp_path / "there")
    assert missing.returncode == 3
    assert "nowhere.jsonl cannot be read" in one_line(missing)


def test_an_answer_is_explained_by_its_request_id_or_as_the_last_one(data: Path) -> None:
    answer = document(quoth("ask", ASKED, "--json", "--data-dir", data))
    request_id = answer["metadata"]["request_id"]
    shown = quoth("explain", request_id, "--data-dir", data)
    assert (shown.returncode, shown.stderr) == (0, "")
    assert shown.stdout.startswith(ASKED)
    for heading in (
        "By meaning (cosine)",
        "By words (BM25)",
        "Combined",
        "Judged: confidence",
        "Checked:",
        "Times",
    ):
        assert heading in shown.stdout
    assert quoth("explain", "--data-dir", data).stdout == shown.stdout

    record = document(quoth("explain", request_id, "--json", "--data-dir", data))
    assert (record["request_id"], record["session_id"]) == (request_id, answer["session_id"])
    assert record["verdict"]["confidence"] == pytest.approx(answer["confidence"], abs=1e-3)
    assert record["verdict"]["fitted"] is True
    cited = {source["index"]: source["chunk_id"] for source in answer["sources"]}
    assert {n: row["chunk_id"] for row in record["fused"] for n in row["cited_as"]} == cited
    assert len(json.dumps(record).encode()) < 30_000  # escaped; stored, it is less than 20,000


def test_a_request_without_a_trace_is_reported(data: Path, tmp_path: Path) -> None:
    run = quoth("explain", "0b8a1f0e-5a53-4f86-9a40-2f4be1b5a111", "--data-dir", data)
    assert run.returncode == 2
    assert "There is no trace of 0b8a1f0e" in one_line(run)
    assert "no trace yet" in one_line(quoth("explain", "--data-dir", tmp_path / "new"))
    quiet = tmp_path / "quiet"
    exported = tmp_path / "book.jsonl"
    exported.write_text(quoth("export", "--vectors", "--data-dir", data).stdout, encoding="utf-8")
    assert quoth("import", exported, "--data-dir", quiet).returncode == 0
    assert quoth("ask", ASKED, "--data-dir", quiet, QUOTH_TRACES="false").returncode == 0
    assert "no trace yet" in one_line(quoth("explain", "--data-dir", quiet))
