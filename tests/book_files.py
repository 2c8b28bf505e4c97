"""Small books on disk for the tests of sources."""

from __future__ import annotations

from pathlib import Path

from quoth.domain import Page
from quoth.sources import BookSource


def write(root: Path, files: dict[str, str]) -> Path:
    for name, text in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(text.encode())
    return root


def pages_of(source: BookSource) -> dict[str, Page]:
    return {file.source_file: source.read(file) for file in source.files()}


def urls_of(source: BookSource) -> dict[str, str]:
    return {name: page.url for name, page in pages_of(source).items()}


def digests_of(source: BookSource) -> dict[str, str]:
    return {file.source_file: file.digest for file in source.files()}
