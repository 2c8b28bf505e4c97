"""Things that are made once for all test processes, by the first one that needs them."""

from __future__ import annotations

import fcntl
import os
from collections.abc import Callable
from pathlib import Path


class Once:
    def __init__(self, folder: Path) -> None:
        self._folder = folder  # of this run of all tests

    def __call__(self, name: str, make: Callable[[Path], object]) -> Path:
        """The folder with this name, made by `make` if it does not exist yet. Tests must not change it."""
        place = self._folder / name
        with place.with_suffix(".lock").open("a") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            if os.fstat(lock.fileno()).st_size == 0:
                make(place)
                lock.write("made")
        return place
