"""`quoth ingest --watch`: after the first ingest, ingests every edit of the folder until Ctrl-C.

The model and the database stay open, so an edit is in the book a moment later. The writer lock is held only while
something is written, so other commands and a server can write too.
"""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Awaitable, Callable
from contextlib import aclosing
from pathlib import Path
from typing import TYPE_CHECKING

from quoth.bootstrap import Quoth
from quoth.cli.output import counted, harmless, print_notices
from quoth.domain import IngestJob
from quoth.errors import Conflict, Outage, QuothError, Unreadable

if TYPE_CHECKING:
    from quoth.chunks.plan import FilePlan
    from quoth.sources import BookSource
    from quoth.sources.watching import Look

RETRY_SECONDS = 2.0  # while another process writes, or something is down
Say = Callable[[str], None]
Sleep = Callable[[float], Awaitable[None]]


def say_line(line: str) -> None:
    sys.stdout.write(f"{harmless(line)}\n")
    sys.stdout.flush()


async def follow_edits(
    quoth: Quoth,
    folder: Path,
    first: Callable[[], Awaitable[object]],
    reopen: Callable[[], BookSource],
    *,
    say: Say = say_line,
    sleep: Sleep = asyncio.sleep,
) -> None:
    """Do `first`, then ingest incrementally after every edit and print a line for it. Ends only when it is cancelled or
    `first` fails."""
    from quoth.sources.watching import changes, look_at

    async def look() -> Look:
        return await asyncio.to_thread(look_at, folder, (quoth.settings.data_dir,))

    async with aclosing(changes(look, sleep, quoth.clock)) as moments:
        await anext(moments)
        await first()
        say(f"Watching {folder}; press Ctrl-C to stop.")
        async for _ in moments:
            await ingest_edit(quoth, reopen, say=say, sleep=sleep)


async def ingest_edit(quoth: Quoth, reopen: Callable[[], BookSource], *, say: Say, sleep: Sleep) -> None:
    """Ingest one edit. Retry while another process writes or something is down, but not if the folder is unreadable."""
    waiting = False
    while True:
        plans: list[FilePlan] = []
        try:
            source = await asyncio.to_thread(reopen)
            job = await quoth.ingest.run(source, planned=plans.append)
        except Unreadable as error:
            say(error_line(error))
            return
        except (Conflict, Outage) as error:
            if not waiting:
                say(error_line(error))
            waiting = True
            await sleep(RETRY_SECONDS)
            continue
        print_notices([notice for notice in job.notices if notice.fatal])
        if touched := line_of(plans[0], job):
            say(touched)
        return


def error_line(error: QuothError) -> str:
    return f"quoth: {' '.join(str(error).split())}"


def line_of(plan: FilePlan, job: IngestJob) -> str:
    """Which pages the edit touched, and the chunks added and dropped; empty if it touched no page."""
    names = [f"+{file.source_file}" for file in plan.new]
    names += [file.source_file for file in plan.changed] + [f"-{name}" for name in plan.deleted]
    if not names:
        return ""
    shown = ", ".join(names[:3]) + (f" and {len(names) - 3} more" if len(names) > 3 else "")
    chunks = (
        f"{counted(job.chunks_created, 'chunk')} added, {job.chunks_deleted} dropped, {job.chunks_embedded} embedded"
    )
    return f"{shown}: {chunks} in {job.duration_seconds or 0.0:.1f} s"
