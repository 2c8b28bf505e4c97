"""Small books on disk for the tests of sources."""

from __future__ import annotations

from pathlib import Path

from quoth.chunks.sections import heading_anchors
from quoth.domain import Page
from quoth.sources import BookSource
from quoth.text.markdown import leaves, parse


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


def heading_ids(page: Page) -> list[str]:
    """Of all headings, in order, each with its level: `h2 id`. Those without an id are left out, as in a recording."""
    blocks = parse(page.text, markup=page.markup, start=page.body_start)
    headings = [leaf for leaf in leaves(blocks) if leaf.level]
    ids = zip(headings, heading_anchors(page, headings), strict=True)
    return [f"h{heading.level} {anchor}" for heading, anchor in ids if anchor]
