"""A process that ingests a folder with the real index and database and the fake embedder, to be killed by a test.

Usage: python ingest_process.py DATA FOLDER. Publishes after every few chunks, so that a kill falls between two
publications, inside one, and between the index and the library; now changes over a base, now a new base.
"""

from __future__ import annotations

import asyncio
import os
import sys
from pathlib import Path

from quoth.bootstrap import bootstrap
from quoth.index.embedded import EmbeddedIndex
from quoth.ingest import Ingest, IngestOptions
from quoth.settings import load_settings
from quoth.sources import open_source
from quoth.testing.embedder import FakeEmbedder

BOOK = "book"
DIMENSIONS = 16


async def main(data: Path, folder: Path) -> None:
    environ = {name: value for name, value in os.environ.items() if name == "DATABASE_URL"}
    settings = load_settings(environ=environ, directory=folder, data_dir=data)
    async with bootstrap(settings, embedder=FakeEmbedder(dimensions=DIMENSIONS)) as quoth:
        options = IngestOptions(batch_chunks=4, publish_seconds=0.0)
        index = EmbeddedIndex(data, quoth.index.fingerprint, most_changes=8)
        ingest = Ingest(index, quoth.library, quoth.embedder, quoth.clock, options)
        print("ready", flush=True)
        await ingest.run(open_source(folder, book_id=BOOK))
        await index.close()


if __name__ == "__main__":
    asyncio.run(main(Path(sys.argv[1]), Path(sys.argv[2])))
