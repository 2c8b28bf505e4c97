"""A folder → a signal each time it changes, for `quoth ingest --watch`.

It looks at names, times and sizes, and never into a file: the ingest decides whether a change means anything to the
book. It polls rather than being told by the operating system, because that also works on network mounts and in
containers, and a look at a thousand files takes milliseconds; the pause grows with the cost of a look.
"""

from __future__ import annotations

import os
from collections.abc import AsyncGenerator, Awaitable, Callable, Collection, Mapping
from dataclasses import dataclass
from pathlib import Path

from quoth.ports import Clock
from quoth.sources.files import IGNORED

Look = Mapping[str, tuple[int, int, int]]


@dataclass(frozen=True, slots=True)
class WatchOptions:
    pause: float = 0.5  # seconds between two looks
    share: float = 0.05  # the share of the time that may be spent looking
    still: int = 20  # looks to wait, at most, until the writer has finished


def look_at(root: Path, leave_out: Collection[Path] = ()) -> Look:
    """Every file below the folder, with what changes when it is written. A missing folder has no files."""
    found: dict[str, tuple[int, int, int]] = {}
    hidden = {os.path.realpath(path) for path in leave_out}
    waiting = [os.path.realpath(root)]
    while waiting:
        try:
            entries = list(os.scandir(waiting.pop()))
        except OSError:
            continue  # it vanished while we looked, or may not be read, which the ingest will report
        for entry in entries:
            if entry.name.startswith("."):
                continue
            if entry.is_dir(follow_symlinks=False):
                if entry.name not in IGNORED and entry.path not in hidden:
                    waiting.append(entry.path)
                continue
            try:
                stat = entry.stat()
            except OSError:
                continue
            found[entry.path] = (stat.st_mtime_ns, stat.st_size, stat.st_ino)
    return found


async def changes(
    look: Callable[[], Awaitable[Look]],
    sleep: Callable[[float], Awaitable[None]],
    clock: Clock,
    options: WatchOptions = WatchOptions(),
) -> AsyncGenerator[None, None]:
    """Yields once at the beginning, and then each time the folder has changed and come to rest. Changes made while the
    caller is at work are not missed: each look is compared with the one before the work."""
    seen = await look()
    yield
    while True:
        started = clock.monotonic()
        now = await look()
        pause = max(options.pause, (clock.monotonic() - started) / options.share)
        if now != seen:
            for _ in range(options.still):
                await sleep(pause)
                before, now = now, await look()
                if now == before:
                    break
            seen = now
            yield
        await sleep(pause)
