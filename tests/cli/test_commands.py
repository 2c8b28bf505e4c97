"""The command line as a person meets it: real processes, the real model, the sample book."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from commands import BOOK, document, one_line, quoth
from quoth.index.generations import Generations

ROOT = Path(__file__).resolve().parents[2]
ASKED = "How do late subscribers get the last message that was published?"

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def data(sample_data: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return Path(shutil.copytree(sample_data, tmp_path_factory.mktemp("cli") / "data"))


@pytest.fixture
def copied(data: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(data, tmp_path / "data"))


def test_an_answer_comes_with_its_sources_in_the_promised_format(data: Path) -> None:
    run = quoth("ask", ASKED, "--data-dir", data)
    assert (run.returncode, run.stderr) == (0, "")
    answer, _, sources = run.stdout.partition("\n---\n**Sources:**\n")
    assert "[1]" in answer
    assert re.match(r"\[1\] \S+ \(score: 0\.\d\d\)\n", sources)


def test_a_question_off_the_book_is_refused_with_exit_code_0(data: Path) -> None:
    run = quoth("ask", "Which train leaves Vienna for Prague at noon?", "--data-dir", data)
    assert run.returncode == 0
    assert run.stdout.startswith("I don't have information about that in the book content\n")
    missing, nearest = run.stdout.index("\nNowhere in the book: "), run.stdout.index("\nThe nearest sections:\n- ")
    assert "Vienna, Prague" in run.stdout[missing:nearest]


def test_json_of_ask_is_one_document_with_quotes_that_are_in_the_files(data: Path) -> None:
    body = document(quoth("ask", ASKED, "--json", "--data-dir", data))
    assert body["metadata"]["mode"] == "extractive"
    assert body["sources"]
    for source in body["sources"]:
        text = (BOOK / source["source_file"]).read_bytes().decode("utf-8")
        assert text[source["start"] : source["end"]] == source["quote"]
        assert text.count("\n", 0, source["start"]) + 1 == source["line"]


def test_exact_identifiers_are_found(data: Path) -> None:
    for identifier in ("tf2_ros", "0x68", "--symlink-install"):
        body = document(quoth("search", "--json", "--data-dir", data, "-k", "3", "--", identifier))
        assert any(identifier in result["text"] for result in body["results"]), identifier


def test_filters_narrow_a_search(data: Path) -> None:
    body = document(quoth("search", "simulation", "--module", "gazebo", "--json", "--data-dir", data))
    assert {result["module"] for result in body["results"]} == {"gazebo"}
    assert body["module_filter"] == "gazebo"


def test_a_second_ingest_finds_nothing_to_do(data: Path) -> None:
    job = document(quoth("ingest", BOOK, "--json", "--data-dir", data))
    assert (job["files_processed"], job["chunks_embedded"], job["status"]) == (0, 0, "completed")
    assert job["files_skipped"] == job["files_discovered"] > 16


def test_every_exported_chunk_is_an_exact_slice_of_its_file(data: Path) -> None:
    run = quoth("export", "--data-dir", data)
    records = [json.loads(line) for line in run.stdout.splitlines()]
    assert len(records) > 100
    own = [record for record in records if not record["included"]]
    assert len(records) - 5 < len(own) < len(records)  # one page shows a partial
    for record in own:
        text = (BOOK / record["source_file"]).read_bytes().decode("utf-8")
        assert text[record["start"] : record["end"]] == record["text"]


def test_books_and_status_show_what_is_stored(data: Path) -> None:
    (book,) = document(quoth("books", "--json", "--data-dir", data))["books"]
    assert (book["book_id"], book["toolchain"]) == ("robotics-book", "docusaurus")
    status = document(quoth("status", "--json", "--data-dir", data))
    assert status["books"][0]["chunks"] == book["chunks"] > 0
    assert status["books"][0]["last_job"]["status"] == "completed"


def test_a_deleted_book_is_gone(copied: Path) -> None:
    assert quoth("delete-book", "robotics-book", "--yes", "--data-dir", copied).returncode == 0
    run = quoth("ask", ASKED, "--data-dir", copied)
    assert run.returncode == 2
    assert "quoth ingest PATH" in one_line(run)


@pytest.mark.parametrize(
    ("arguments", "code", "says"),
    [
        (["ingest", "nowhere"], 3, "nowhere"),
        (["ingest", "empty"], 3, "empty"),
        (["ingest", "picture.png"], 3, "picture.png"),
        (["ingest", "loop"], 3, "loop"),
        (["ingest", "docs", "--mode", "sideways"], 2, "incremental"),
        (["ask", "  "], 2, "empty"),
        (["ask", "x", "--top-k", "99"], 2, "1 to 20"),
        (["ask", "x", "--layer", "L9"], 2, "layer"),
        (["ask"], 2, "--help"),
        (["ask", "x"], 2, "quoth ingest PATH"),
        (["ask", "x", "--book", "unknown"], 2, "quoth books"),
        (["nonsense"], 2, "nonsense"),
        (["books", "--nonsense"], 2, "--nonsense"),
        (["serve", "--host", "0.0.0.0"], 2, "--allow-open"),
        (["delete-book", "unknown", "--yes"], 2, "unknown"),
    ],
)
def test_wrong_usage_is_one_line_that_says_what_to_do(
    arguments: list[str], code: int, says: str, tmp_path: Path
) -> None:
    (tmp_path / "empty").mkdir()
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs" / "page.md").write_text("# Page\n\nSome text.\n")
    (tmp_path / "picture.png").write_bytes(b"\x89PNG\r\n\x1a\n\x00\x00")
    (tmp_path / "loop").symlink_to("loop")
    run = quoth(*arguments, "--data-dir", "data", cwd=tmp_path)
    assert run.returncode == code, run.stderr
    assert says in one_line(run)


def test_an_unknown_setting_is_named(tmp_path: Path) -> None:
    run = quoth("books", "--data-dir", tmp_path, QUOTH_TOPK="3")
    assert run.returncode == 2
    assert "QUOTH_TOPK" in one_line(run)
    assert "QUOTH_TOP_K" in one_line(run)


def test_errors_are_json_when_json_is_wanted(tmp_path: Path) -> None:
    run = quoth("ask", "x", "--json", "--data-dir", tmp_path)
    assert run.returncode == 2
    assert json.loads(run.stdout)["error_code"] == "UNKNOWN_BOOK"


def test_pages_that_cannot_be_read_are_named_and_the_others_are_ingested(tmp_path: Path) -> None:
    docs = tmp_path / "docs"
    docs.mkdir()
    (docs / "good.md").write_text("# Good\n\nA gripper closes with a force of 40 newtons.\n")
    (docs / "binary.md").write_bytes(b"\x00\x01\x02" * 100)
    (docs / "latin.md").write_bytes("# Größe\n\nÜber alles.\n".encode("latin-1"))
    run = quoth("ingest", docs, "--data-dir", tmp_path / "data")
    assert run.returncode == 3
    assert "binary.md" in run.stderr
    assert "latin.md" in run.stderr
    assert "Traceback" not in run.stderr
    asked = quoth("ask", "With which force does the gripper close?", "--data-dir", tmp_path / "data")
    assert "40 newtons" in asked.stdout


def damage_nothing(model: Path) -> None:
    (model / "model.safetensors").unlink()


def damage_weights(model: Path) -> None:
    with (model / "model.safetensors").open("r+b") as file:
        file.seek(5_000_000)
        file.write(b"\x00" * 64)


def damage_tokenizer(model: Path) -> None:
    (model / "tokenizer.json").write_text("{}")


@pytest.mark.parametrize("damage", [damage_nothing, damage_weights, damage_tokenizer])
def test_a_missing_or_damaged_model_file_is_named_and_nothing_is_lost(
    damage: Callable[[Path], None], copied: Path, tmp_path: Path
) -> None:
    from quoth.models.minilm import find_model_dir

    model = tmp_path / "model"
    model.mkdir()
    for name in ("model.safetensors", "tokenizer.json"):
        shutil.copy(find_model_dir() / name, model / name)
    damage(model)
    run = quoth("ask", ASKED, "--data-dir", copied, QUOTH_MODEL_DIR=str(model))
    assert run.returncode == 1
    assert str(model) in one_line(run)
    assert "don't have information" not in run.stdout
    assert "[1]" in quoth("ask", ASKED, "--data-dir", copied).stdout


def test_an_index_of_another_version_is_refused_and_recreate_repairs_it(tmp_path: Path) -> None:
    book, place = tmp_path / "book", tmp_path / "data"
    book.mkdir()
    (book / "gripper.md").write_text("# Gripper\n\nA gripper closes with a force of 40 newtons.\n")
    assert quoth("ingest", book, "--data-dir", place).returncode == 0
    asked = "With which force does the gripper close?"
    generations = Generations(place / "index", "book")
    live = generations.pointer()
    generations.publish_base(live.generation, replace(live.fingerprint, chunker="of-long-ago"), live.chunks, live.book)
    for arguments in (["ask", asked], ["ingest", str(book)]):
        run = quoth(*arguments, "--data-dir", place)
        assert run.returncode == 2, run.stdout
        assert "--mode recreate" in one_line(run)
    assert quoth("ingest", book, "--mode", "recreate", "--data-dir", place).returncode == 0
    assert "40 newtons. [1]" in quoth("ask", asked, "--data-dir", place).stdout


@pytest.mark.parametrize("mode", ["incremental", "recreate"])
def test_an_index_of_an_earlier_quoth_is_refused_and_any_ingest_mends_it(tmp_path: Path, mode: str) -> None:
    book, place = tmp_path / "book", tmp_path / "data"
    book.mkdir()
    (book / "gripper.md").write_text("# Gripper\n\nA gripper closes with a force of 40 newtons.\n")
    assert quoth("ingest", book, "--data-dir", place).returncode == 0
    pointer = place / "index" / "book" / "CURRENT"
    live = json.loads(pointer.read_text())
    old = {name: live[name] for name in ("generation", "base", "chunks", "fingerprint")}
    pointer.write_text(json.dumps({"format": 2, **old}))
    question = "With which force does the gripper close?"
    asked = quoth("ask", question, "--data-dir", place)
    assert asked.returncode == 2
    assert "was built by an earlier Quoth" in one_line(asked)
    assert "quoth ingest PATH --mode recreate" in one_line(asked)
    way_out = f"quoth ingest {book} --book book --mode recreate\n"
    assert f"built by an earlier Quoth; build it again: {way_out}" in quoth("status", "--data-dir", place).stdout
    verified = quoth("verify", "--data-dir", place)
    assert (verified.returncode, verified.stdout) == (1, "")
    assert verified.stderr.endswith(way_out)
    assert document(quoth("ingest", book, "--mode", mode, "--json", "--data-dir", place))["chunks_created"] == 1
    assert "40 newtons. [1]" in quoth("ask", question, "--data-dir", place).stdout
    assert quoth("verify", "--data-dir", place).returncode == 0


def test_a_verification_tells_that_all_is_well_or_names_the_damaged_file_and_the_way_out(copied: Path) -> None:
    well = quoth("verify", "--data-dir", copied)
    assert (well.returncode, well.stderr) == (0, "")
    assert re.fullmatch(r"robotics-book: \d+ files, \d+\.\d MB, all as published\n", well.stdout)
    (row,) = document(quoth("verify", "--book", "robotics-book", "--json", "--data-dir", copied))["books"]
    assert row["files"] > 10
    assert row["bytes"] > 100_000
    assert (row["problem"], row["damage"]) == ("", [])

    [file] = copied.rglob("term_weights.npy")
    with file.open("r+b") as opened:
        opened.seek(200)
        opened.write(bytes(64))
    name = str(file.relative_to(copied))
    told = quoth("verify", "--data-dir", copied)
    assert (told.returncode, told.stdout) == (1, "")
    assert told.stderr == (
        f"The index of 'robotics-book' is damaged: {name} is not what was published. "
        f"Build it again: quoth ingest {BOOK} --book robotics-book --mode recreate\n"
    )
    asked = quoth("ask", ASKED, "--data-dir", copied)
    assert asked.returncode == 1
    assert name in one_line(asked)
    listed = quoth("verify", "--json", "--data-dir", copied)
    assert listed.returncode == 1
    (row,) = json.loads(listed.stdout)["books"]
    assert row["damage"] == [{"file": name, "problem": "is not what was published"}]

    shutil.rmtree(copied / "index")
    gone = quoth("verify", "--data-dir", copied)
    assert gone.returncode == 1
    assert gone.stderr.startswith("The index of 'robotics-book' is missing. Build it again: quoth ingest ")
    assert quoth("verify", "--book", "unknown", "--data-dir", copied).returncode == 2


@pytest.mark.parametrize("content", ["", "?"])
def test_a_book_whose_index_is_damaged_can_be_deleted(copied: Path, content: str) -> None:
    (copied / "index" / "robotics-book" / "CURRENT").write_text(content)
    assert quoth("delete-book", "robotics-book", "--yes", "--data-dir", copied).returncode == 0
    assert list((copied / "index").iterdir()) == []


def test_a_second_writer_is_told_who_the_first_is(copied: Path) -> None:
    holder = (
        "import asyncio, sys; from pathlib import Path\n"
        "from quoth.bootstrap import bootstrap; from quoth.settings import load_settings\n"
        "async def main():\n"
        "    async with bootstrap(load_settings(data_dir=Path(sys.argv[1]))) as quoth:\n"
        "        async with quoth.index.writer('robotics-book'):\n"
        "            print('holding', flush=True); sys.stdin.readline()\n"
        "asyncio.run(main())\n"
    )
    with subprocess.Popen(
        [sys.executable, "-c", holder, str(copied)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as first:
        assert first.stdout is not None
        assert first.stdout.readline() == "holding\n"
        run = quoth("ingest", BOOK, "--data-dir", copied)
        readable = quoth("ask", ASKED, "--data-dir", copied)
        first.communicate("done\n", timeout=30)
    assert run.returncode == 1
    assert f"pid {first.pid}" in one_line(run)
    assert "[1]" in readable.stdout


def test_every_command_has_help_with_an_example() -> None:
    listed = quoth("--help")
    commands = re.findall(r"^  ([a-z-]+)  ", listed.stdout.partition("Commands:")[2], flags=re.MULTILINE)
    assert {"ingest", "ask", "search", "serve", "status", "books", "delete-book", "config", "demo"} <= set(commands)
    assert {"export", "import", "explain", "verify"} <= set(commands)
    for command in commands:
        helped = quoth(command, "--help")
        assert helped.returncode == 0
        assert f"Example: {'' if command == 'config' else 'quoth '}" in helped.stdout


def test_a_dry_run_shows_the_plan_page_by_page_and_changes_nothing(tmp_path: Path) -> None:
    book, place = tmp_path / "book", tmp_path / "data"
    book.mkdir()
    for name in ("kept", "edited", "gone"):
        (book / f"{name}.md").write_text(f"# {name}\n\nThe page {name} is about {name} things.\n")
    assert quoth("ingest", book, "--data-dir", place).returncode == 0
    (book / "edited.md").write_text("# edited\n\nAll of it is other words now.\n")
    (book / "gone.md").unlink()
    for number in range(22):
        (book / f"new{number:02}.md").write_text("# New\n\nThe page kept is about kept things.\n")

    shown = quoth("ingest", book, "--dry-run", "--data-dir", place).stdout
    assert shown.startswith("Plan: 22 new, 1 changed, 1 deleted, 1 unchanged page\n")
    assert "  new     new19.md\n  new     … and 2 more (--json lists all)\n" in shown
    assert "  changed edited.md\n  deleted gone.md\n" in shown
    assert "Would change book: 24 pages" in shown

    job = document(quoth("ingest", book, "--dry-run", "--json", "--data-dir", place))
    plan = job["plan"]
    assert (len(plan["new"]), plan["changed"], plan["deleted"], plan["unchanged"]) == (
        22,
        ["edited.md"],
        ["gone.md"],
        1,
    )
    assert plan["embeddings_saved"] == job["chunks_created"] + job["chunks_kept"] - job["chunks_embedded"] > 0
    again = document(quoth("ingest", book, "--dry-run", "--json", "--data-dir", place))
    assert again["plan"] == plan
    assert "plan" not in document(quoth("ingest", book, "--json", "--data-dir", place))


def test_a_command_that_is_interrupted_says_so_in_one_line(tmp_path: Path) -> None:
    book = tmp_path / "book"
    book.mkdir()
    for number in range(600):
        words = " ".join(f"word{number}x{place}" for place in range(25))
        (book / f"{number}.md").write_text(f"# Page {number}\n\n{words}\n")
    with subprocess.Popen(
        [sys.executable, "-m", "quoth", "ingest", str(book), "--data-dir", str(tmp_path / "data")],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        lock = tmp_path / "data" / "writer.lock"
        while not lock.exists() or not lock.stat().st_size:  # until it has started
            assert process.poll() is None
            time.sleep(0.05)
        process.terminate()
        _, said = process.communicate(timeout=60)
    assert process.returncode == 1
    assert said == "quoth: Interrupted; everything published before is intact.\n"
    last = document(quoth("ingest", book, "--dry-run", "--json", "--data-dir", tmp_path / "data"))
    assert last["files_discovered"] == 600


def test_the_next_command_is_the_one_to_type_here(tmp_path: Path) -> None:
    """For a program that is not on the path, and a data directory that is not the default one."""
    for name, content in (("docs", "The gripper closes with 40 newtons."), ("other docs", "The lid is made of oak.")):
        (tmp_path / name).mkdir()
        (tmp_path / name / "page.md").write_text(f"# Page\n\n{content}\n")
    (tmp_path / "bin").mkdir()
    program = tmp_path / "bin" / "quoth"
    program.symlink_to(Path(sys.prefix) / "bin" / "quoth")

    def typed(line: str, path: str = "/usr/bin:/bin") -> str:
        done = subprocess.run(["bash", "-c", line], cwd=tmp_path, env={"PATH": path}, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        return done.stdout

    said = typed("bin/quoth ingest docs --data-dir 'my data'")
    assert said.endswith("Ask it: bin/quoth ask --data-dir 'my data' \"…\"\n")
    following = said.rpartition("Ask it: ")[2].replace("…", "With which force does the gripper close?")
    assert "40 newtons. [1]" in typed(following)
    # It is found by its name; with a second book, the book must be named.
    said = typed("quoth ingest 'other docs' --data-dir 'my data'", path=f"{program.parent}:/usr/bin:/bin")
    assert said.endswith("Ask it: quoth ask --data-dir 'my data' --book other-docs \"…\"\n")


def test_an_ingest_that_loses_most_of_the_text_says_so_with_its_exit_code_and_groups_its_notes(tmp_path: Path) -> None:
    docs = tmp_path / "docs"
    docs.mkdir()
    (docs / "main.tex").write_text("A gripper closes with a force of 40 newtons. " * 100)
    for number in range(5):
        (docs / f"{number}.md").write_text("---\nhardware_tier: 99\n---\n# A page\n\nWith little text.\n")
    run = quoth("ingest", docs, "--data-dir", tmp_path / "data")
    assert run.returncode == 3
    assert "Read as plain files: 5 Markdown (" in run.stderr
    assert "Not read: 1 LaTeX (900 words)" in run.stderr
    assert run.stderr.count("FRONT_MATTER_INVALID") == 1
    assert "and 4 more of this kind" in run.stderr
    job = json.loads(quoth("ingest", docs, "--mode", "full", "--json", "--data-dir", tmp_path / "data").stdout)
    assert [notice["code"] for notice in job["warnings"]].count("FRONT_MATTER_INVALID") == 5
    assert job["coverage"]["left"][0]["lost"]
