"""Whether the time to read a text grows with its length and not faster; for every test of a parser."""

from __future__ import annotations

import gc
from collections.abc import Callable
from pathlib import Path
from time import process_time

from book_files import write
from quoth.errors import Unreadable
from quoth.sources import open_source
from quoth.sources.loading import Damaged

SMALL = 2_000  # characters
GROWTH = 4
MOST = 2.2 * GROWTH  # linear work with room for caches and noise; quadratic work is GROWTH * GROWTH
NOTHING = 0.01  # seconds of CPU for the large text: too short to judge, and short enough

Read = Callable[[str], object]


def surveyed(folder: Path, page: str, files: dict[str, str], before: str = "") -> Read:
    """Looks through a project of these files, with the text as a page of it."""

    def read(text: str) -> object:
        write(folder, {**files, page: before + text})
        return open_source(folder, book_id="b").files()

    return read


def seconds(read: Read, text: str) -> float:
    gc.disable()  # it looks at everything that tests have made, at moments of its own
    started = process_time()
    try:
        read(text)
    except (Unreadable, Damaged):
        pass  # refused, which has to be quick as well
    finally:
        gc.enable()
    return process_time() - started


def grows_too_fast(read: Read, unit: str, small: int) -> str:
    """Empty if the work is linear. Where it seems not to be, texts of four times the lengths are read as well: a limit
    beyond which a text is cut or no longer remembered is one step, and shows only once."""
    return _grows(read, unit, small) and _grows(read, unit, small * GROWTH)


def _grows(read: Read, unit: str, small: int) -> str:
    """Measured again while it seems so: a busy machine disturbs only upwards. Each time with another end, because short
    paragraphs are remembered and long ones are not."""
    texts = [(unit * (length // len(unit) + 1))[:length] for length in (small, small * GROWTH)]
    long = seconds(read, texts[1])
    if long <= NOTHING:  # most texts: their short half need not be read
        return ""
    short = seconds(read, texts[0])
    for attempt in range(4):
        if long <= NOTHING or long <= MOST * short:
            return ""
        again = [seconds(read, f"{text}{attempt}") for text in texts]
        short, long = min(short, again[0]), min(long, again[1])
    return f"{unit!r} × {GROWTH}: {short:.4f} s became {long:.4f} s"
