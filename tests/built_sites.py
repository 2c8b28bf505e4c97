"""The sites that `make sites` builds with real toolchains, served from another origin than Quoth's: the built pages,
with a real URL and a real key instead of the recipe's."""

from __future__ import annotations

import shutil
import threading
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from doors import a_key, closed, served
from quoth.sources import open_source
from site_projects import TOOLCHAINS, Toolchain

BOOK = "my-docs"  # as in the recipes
ADDRESS = "https://quoth.example.com"
KEY = "qp_…"


@dataclass(frozen=True)
class BuiltSite:
    name: str
    url: str


def toolchains() -> list[object]:
    """Parameters for a test; sites that were not built are skipped."""
    return [pytest.param(one, id=one.name, marks=_is_built(one)) for one in TOOLCHAINS]


def _is_built(toolchain: Toolchain) -> pytest.MarkDecorator:
    noted = toolchain.folder / "RECIPE"
    current = noted.exists() and noted.read_text(encoding="utf-8") == toolchain.state()
    return pytest.mark.skipif(not current, reason=f"{toolchain.name} was not built from today's recipe: run make sites")


@asynccontextmanager
async def published(toolchain: Toolchain, folder: Path) -> AsyncIterator[BuiltSite]:
    """The site, and a Quoth that has read its sources by the toolchain's rules."""
    pages = folder / "site"
    shutil.copytree(toolchain.folder / toolchain.built, pages)
    with _serving(pages) as url:
        async with closed(folder) as doors, served(doors.quoth) as quoth:
            sources = folder / "project"
            shutil.copytree(
                toolchain.folder, sources, ignore=shutil.ignore_patterns("node_modules", toolchain.built, "RECIPE")
            )
            await doors.quoth.ingest.run(open_source(sources, book_id=BOOK, title="Robots", base_url=url))
            key = (await a_key(doors, origins=(url,)))["authorization"].removeprefix("Bearer ")
            changed = [_put(page, quoth, key) for page in pages.rglob("*.html")]
            assert any(changed)
            tag = f'<script src="{quoth}/widget.js" data-book="{BOOK}" data-key="{key}" defer></script>'
            plain = f"<!doctype html><html lang=en><title>Plain</title>{tag}<body><p>A plain page.</p>"
            (pages / "plain.html").write_text(plain, encoding="utf-8")
            yield BuiltSite(toolchain.name, url)


def _put(page: Path, quoth: str, key: str) -> bool:
    built = page.read_text(encoding="utf-8")
    page.write_text(built.replace(ADDRESS, quoth).replace(KEY, key), encoding="utf-8")
    return ADDRESS in built and KEY in built


class _Silent(SimpleHTTPRequestHandler):
    def log_message(self, *_: object) -> None:
        pass


@contextmanager
def _serving(folder: Path) -> Iterator[str]:
    with ThreadingHTTPServer(("127.0.0.1", 0), partial(_Silent, directory=str(folder))) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        try:
            yield f"http://127.0.0.1:{server.server_address[1]}"
        finally:
            server.shutdown()
