"""A page that asks for too much costs one warning with its file name and exit code 3; the others are ingested."""

from __future__ import annotations

import os
import zipfile
from importlib.util import find_spec
from itertools import pairwise
from pathlib import Path

import pytest

from book_files import pages_of, write
from commands import quoth
from quoth.sources import open_source

GOOD = "# Good\n\nA gripper closes with a force of 40 newtons.\n"


def alias_bomb() -> str:
    """Nine aliases of nine aliases of …: less than 500 bytes that expand to gigabytes."""
    letters = "abcdefghi"
    lines = [f"a: &a [{', '.join(['lol'] * 9)}]"]
    for before, name in pairwise(letters):
        lines.append(f"{name}: &{name} [{', '.join([f'*{before}'] * 9)}]")
    return "\n".join(lines)


HOSTILE: dict[bytes, bytes] = {
    b"aliases.md": f"---\ntitle: x\n{alias_bomb()}\n---\n# A\n".encode(),
    b"itself.md": b"---\na: &a [*a]\n---\n# A\n",
    b"brackets.md": b"---\na: " + b"[" * 20_000 + b"\n---\n# A\n",
    b"nested.rst": "".join(f"{' ' * 2 * n}* x\n\n" for n in range(500)).encode(),
    b"directives.rst": "".join(f"{'   ' * n}.. note::\n\n" for n in range(500)).encode() + b" " * 1_500 + b"x\n",
    b"number.ipynb": b'{"cells": [], "metadata": {"n": ' + b"9" * 100_000 + b"}}",
    b"deep.ipynb": b'{"cells": ' + b"[" * 200_000,
    b"name-\xff.md": GOOD.encode(),
}
# Deep nesting that can still be read: such a page is ingested like any other.
HARMLESS: dict[bytes, bytes] = {
    b"colons.md": "".join(f"{':' * (160 - n)}{{note}}\n" for n in range(150)).encode(),
    b"backticks.md": "".join(f"{'`' * (160 - n)}{{note}}\n" for n in range(150)).encode(),
    b"quotes.md": b"> " * 5_000 + b"x\n",
    b"lists.md": "".join(f"{'  ' * n}- x\n" for n in range(150)).encode(),
    b"links.md": b"[" * 2_000 + b"x\n",
    b"deep.html": b"<div>" * 5_000 + b"x",
}


def book_with(root: Path, pages: dict[bytes, bytes]) -> Path:
    root.mkdir()
    (root / "good.md").write_text(GOOD)
    for name, data in pages.items():
        with open(os.path.join(os.fsencode(root), name), "wb") as file:  # noqa: PTH118 - a Path is never bytes
            file.write(data)
    return root


def test_hostile_pages_cost_a_warning_each_and_the_others_are_ingested(tmp_path: Path) -> None:
    docs = book_with(tmp_path / "docs", {**HOSTILE, **HARMLESS})
    run = quoth("ingest", docs, "--data-dir", tmp_path / "data")
    assert run.returncode == 3, run.stderr
    assert "Traceback" not in run.stderr
    assert f"{len(HOSTILE)} pages could not be read; all others were ingested." in run.stderr
    warnings = [line for line in run.stderr.splitlines() if "UNREADABLE_PAGE" in line]
    for name in HOSTILE:
        shown = name.decode("utf-8", "surrogateescape").encode("utf-8", "backslashreplace").decode()
        assert sum(shown in line for line in warnings) == 1, name
    asked = quoth("ask", "With which force does the gripper close?", "--data-dir", tmp_path / "data")
    assert "40 newtons" in asked.stdout


@pytest.mark.parametrize(
    ("config", "text"),
    [
        ("mkdocs.yml", alias_bomb()),
        ("mkdocs.yml", "nav: " + "[" * 20_000),
        (".gitbook.yaml", alias_bomb()),
        ("book.json", "[" * 200_000),
        ("book.toml", "a = " + "[" * 20_000),
        ("_toc.yml", alias_bomb()),
        ("docusaurus.config.js", "docs: {" * 20_000),
        ("conf.py", "project = " + "(" * 20_000),
        ("conf.py", "project = " + "-" * 100_000 + "1"),
    ],
)
def test_a_hostile_configuration_does_not_end_the_ingest(tmp_path: Path, config: str, text: str) -> None:
    pages = {f"{folder}index.md": GOOD for folder in ("", "docs/", "src/")}
    pages |= {"SUMMARY.md": "- [A](index.md)", "src/SUMMARY.md": "- [A](index.md)", config: text}
    source = open_source(write(tmp_path, pages), book_id="b")
    assert any("40 newtons" in page.text for page in pages_of(source).values())


@pytest.mark.slow
@pytest.mark.skipif(find_spec("markitdown") is None, reason="the extra `documents` is not installed")
def test_a_zip_bomb_costs_a_warning(tmp_path: Path) -> None:
    docs = book_with(tmp_path / "docs", {})
    for name in ("bomb.docx", "bomb.epub"):
        with zipfile.ZipFile(docs / name, "w", zipfile.ZIP_DEFLATED) as archive:
            archive.writestr("word/document.xml", b"\0" * 600_000)
            archive.filelist[0].file_size = 600_000_000  # no more is unpacked than the archive declares
    run = quoth("ingest", docs, "--data-dir", tmp_path / "data")
    assert run.returncode == 3, run.stderr
    assert "bomb.docx cannot be converted (it unpacks to 600 MB)" in run.stderr
    assert "bomb.epub cannot be converted (it unpacks to 600 MB)" in run.stderr
    assert "Traceback" not in run.stderr
