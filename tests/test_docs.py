"""The documents are executed: their claims are compared with reality."""

from __future__ import annotations

import importlib.util
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from quoth import errors
from quoth.errors import QuothError

ROOT = Path(__file__).resolve().parents[1]
SOURCE = ROOT / "src" / "quoth"


def every_error() -> Iterator[type[QuothError]]:
    waiting = [QuothError]
    while waiting:
        kind = waiting.pop()
        yield kind
        waiting.extend(kind.__subclasses__())


def test_every_error_code_is_documented_as_it_behaves() -> None:
    rows = re.findall(
        r"^\| `(\w+)` \| (\d+) \| (\d) \| (yes|no) \|", (ROOT / "docs/errors.md").read_text(), re.MULTILINE
    )
    documented = {code: (int(status), int(exit_code), retry == "yes") for code, status, exit_code, retry in rows}
    ours = [kind for kind in every_error() if kind.__module__ == errors.__name__]
    assert {kind.code for kind in ours} == set(documented)
    for kind in ours:
        status, exit_code, _ = documented[kind.code]
        assert (kind.status, kind.exit_code) == (status, exit_code), kind
    for code, (_, _, retry) in documented.items():
        assert retry == any(kind.retryable for kind in ours if kind.code == code), code


def test_every_error_stands_in_the_drawing() -> None:
    drawing = errors.__doc__ or ""
    for kind in every_error():
        assert kind.__module__ != errors.__name__ or kind.__name__ in drawing


def test_every_module_has_its_place_in_the_architecture() -> None:
    text = (ROOT / "ARCHITECTURE.md").read_text()
    modules = {path.stem for path in SOURCE.glob("*.py")} - {"__init__", "__main__"}
    packages = {path.name for path in SOURCE.iterdir() if (path / "__init__.py").is_file()}
    missing = {name for name in modules if f"`{name}.py`" not in text} | {
        name for name in packages if f"`{name}/" not in text
    }
    assert missing == set()


def test_every_module_opens_with_its_place_in_the_flow() -> None:
    for path in SOURCE.rglob("*.py"):
        assert path.read_text().lstrip().startswith('"""'), path


def readme() -> str:
    return (ROOT / "README.md").read_text()


def test_the_readme_is_short() -> None:
    assert len(readme().splitlines()) <= 150


@pytest.mark.parametrize("name", ["README.md", "CONTRIBUTING.md", "ARCHITECTURE.md"])
def test_links_lead_somewhere_and_every_make_target_exists(name: str) -> None:
    text = (ROOT / name).read_text()
    for target in re.findall(r"\]\(([^)#:]+)\)", text):
        assert (ROOT / target).exists(), target
    targets = re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(), re.MULTILINE)
    for target in re.findall(r"(?:^|`|\$ )make ([a-z-]*[a-z])(?![a-z-]*…)", text, re.MULTILINE):
        assert target in targets, target


def test_the_figures_of_the_readme_are_those_that_were_measured() -> None:
    path = ROOT / "scripts" / "figures.py"
    spec = importlib.util.spec_from_file_location("figures", path)
    assert spec is not None
    assert spec.loader is not None
    figures = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(figures)
    assert figures.filled(readme()) == readme()


def typed(lines: str, place: Path) -> str:
    """What a shell prints for these lines, with no settings and nothing of ours on its path."""
    environment = {name: os.environ[name] for name in ("HOME", "LANG") if name in os.environ}
    done = subprocess.run(
        ["bash", "-ec", lines], cwd=place, env={**environment, "PATH": "/usr/bin:/bin"}, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.fixture
def checkout(sample_data: Path, tmp_path: Path) -> Path:
    """A folder in which everything is installed and the sample book was read, as after `make demo`."""
    (tmp_path / "path/to/docs").mkdir(parents=True)
    (tmp_path / "path/to/docs/gripper.md").write_text("# Gripper\n\nThe gripper closes with a force of 40 newtons.\n")
    (tmp_path / ".venv").symlink_to(sys.prefix)
    shutil.copytree(sample_data, tmp_path / ".quoth")
    return tmp_path


@pytest.mark.slow
def test_the_demo_prints_what_the_readme_shows_and_a_command_to_type_next(checkout: Path, sample_data: Path) -> None:
    """Its first line is compared with the ingest that made the data: here the demo finds the book already read."""
    recipe = subprocess.run(["make", "-n", "demo"], cwd=ROOT, capture_output=True, text=True, check=True).stdout
    (command,) = [line for line in recipe.splitlines() if " demo" in line]
    first, _, said = typed(command, checkout).partition("\n")
    (ingested, shown), *_ = re.findall(r"^\$ make demo\n([^\n]*)\n(.*?)```", readme(), re.MULTILINE | re.DOTALL)
    assert first.startswith("Ingested robotics-book: 24 pages (0 read, 24 unchanged, ")
    assert ingested.rpartition(" in ")[0] in sample_data.with_suffix(".txt").read_text()
    assert said == shown
    following = said.partition("\nAsk it:")[2].partition("\n")[0]
    assert "[1]" in typed(following, checkout)


@pytest.mark.slow
def test_a_reader_of_the_readme_asks_a_book_of_their_own(checkout: Path) -> None:
    (block,) = re.findall(r"^```sh\n(export .*?)```", readme(), re.MULTILINE | re.DOTALL)
    *lines, last = block.splitlines()
    assert last.startswith("quoth serve ")  # it would not end
    asked = "\n".join(lines).replace("How do I …?", "With which force does the gripper close?")
    assert "40 newtons. [1]" in typed(asked, checkout)


@pytest.mark.slow
def test_the_program_of_the_readme_prints_an_answer_and_its_sources(checkout: Path) -> None:
    (program,) = re.findall(r"^```python\n(.*?)```", readme(), re.MULTILINE | re.DOTALL)
    (checkout / "program.py").write_text(program)
    *answer, sources = typed(".venv/bin/python program.py", checkout).splitlines()  # an answer may have paragraphs
    assert "[1]" in "\n".join(answer)
    assert "https://book.example.com/docs/" in sources


def committed_files() -> list[Path]:
    listed = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=True).stdout
    return [ROOT / line for line in listed.splitlines() if (ROOT / line).is_file()]


def test_nothing_committed_names_a_registry_or_a_path_of_somebodys_machine() -> None:
    registry = re.compile(r"https?://[\w.-]*(?:py" + r"pi|pythonh" + r"osted|npm" + r"js)")
    place = re.compile(r"(?<![\w.])/(?:ro" + r"ot|wo" + r"rk)/")
    for path in committed_files():
        text = path.read_text(encoding="utf-8", errors="ignore")
        assert not registry.search(text), path
        assert not place.search(text), path


def test_every_requirement_names_a_test_that_there_is() -> None:
    text = (ROOT / "docs" / "requirements.md").read_text(encoding="utf-8")
    rows = [line for line in text.splitlines() if line.startswith("| ") and not line.startswith("| requirement ")]
    named = [re.findall(r"`(tests/[\w/]+\.py)::(test_\w+)`", row) for row in rows]
    assert len(rows) > 60
    assert [row for row, tests in zip(rows, named, strict=True) if len(tests) != 1] == []
    sources = {file: (ROOT / file).read_text(encoding="utf-8") for [(file, _)] in named}
    assert [name for [(file, name)] in named if f"def {name}(" not in sources[file]] == []
