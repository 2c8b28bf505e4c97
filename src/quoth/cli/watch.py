"""`quoth ingest --watch`: after the first ingest, every edit of the folder is taken over, until Ctrl-C.

The model and the database stay open, so that an edit is in the book a moment later; the right to write is held only
while something is written, so that other commands and a server find their turn.
"""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Awaitable, Callable
from contextlib import aclosing
from pathlib import Path
from typing import TYPE_CHECKING

from quoth.bootstrap import Quoth
from quoth.cli.output import print_notices
from quoth.domain import IngestJob
from quoth.errors import Conflict, Outage, QuothError, Unreadable

if TYPE_CHECKING:
    from quoth.chunks.plan import FilePlan
    from quoth.sources import BookSource
    from quoth.sources.watching import Look

PATIENCE = 2.0  # seconds before another try, when somebody else is writing or something is down
Say = Callable[[str], None]
Sleep = Callable[[float], Awaitable[None]]


def say_line(line: str) -> None:
    sys.stdout.write(f"{line}\n")
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
    """Do `first`, then ingest incrementally after every edit of the folder, with a line for each. Ends only by being
    cancelled, or when `first` fails."""
    from quoth.sources.watching import changes, look_at

    async def look() -> Look:
        return await asyncio.to_thread(look_at, folder, (quoth.settings.data_dir,))

    async with aclosing(changes(look, sleep, quoth.clock)) as moments:
        await anext(moments)
        await first()
        say(f"Watching {folder}; Ctrl-C ends it.")
        async for _ in moments:
            await take_over(quoth, reopen, say=say, sleep=sleep)


async def take_over(quoth: Quoth, reopen: Callable[[], BookSource], *, say: Say, sleep: Sleep) -> None:
    """One edit. What may pass by itself is waited for; a folder that cannot be read waits for the next edit."""
    waiting = False
    while True:
        plans: list[FilePlan] = []
        try:
            source = await asyncio.to_thread(reopen)
            job = await quoth.ingest.run(source, planned=plans.append)
        except Unreadable as error:
            say(told(error))
            return
        except (Conflict, Outage) as error:
            if not waiting:
                say(told(error))
            waiting = True
            await sleep(PATIENCE)
            continue
        print_notices([notice for notice in job.notices if notice.fatal])
        if touched := line_of(plans[0], job):
            say(touched)
        return


def told(error: QuothError) -> str:
    return f"quoth: {' '.join(str(error).split())}"


def line_of(plan: FilePlan, job: IngestJob) -> str:
    """Which pages, and what became of them; empty when the edit was none of the book's."""
    names = [f"+{file.source_file}" for file in plan.new]
    names += [file.source_file for file in plan.changed] + [f"-{name}" for name in plan.deleted]
    if not names:
        return ""
    shown = ", ".join(names[:3]) + (f" and {len(names) - 3} more" if len(names) > 3 else "")
    chunks = f"{job.chunks_created} chunks added, {job.chunks_deleted} dropped, {job.chunks_embedded} embedded"
    return f"{shown}: {chunks} in {job.duration_seconds or 0.0:.1f} s"
