"""Files that only their owner may read: a directory for Quoth's data, and the database in it.

In: a path. Out: the same path with permissions 0700 or 0600, whatever the umask. What was there before is changed only
if it is ours. On systems without these permissions only the directory is made. Knows nothing of what is stored.
"""

from __future__ import annotations

import os
import stat
from pathlib import Path

_DIRECTORY, _FILE = 0o700, 0o600
_OTHERS = 0o077  # what group and others may do

# What Quoth puts into a data directory. A directory that holds anything else may serve others too.
_DATABASE = ("quoth.db", "quoth.db-wal", "quoth.db-shm", "quoth.db-journal")
_OURS = {"chat_history", "index", "jobs-turn.lock", "jobs-waiting.lock", "writer.lock", *_DATABASE}


def private_directory(path: Path) -> None:
    """Make it, for its owner alone. An existing one is tightened only if it is ours: it belongs to this user and holds
    nothing but what Quoth puts there."""
    try:
        path.mkdir(mode=_DIRECTORY, parents=True)
    except FileExistsError:
        if not path.is_dir():
            raise
        if _may_tighten(path) and {entry.name for entry in path.iterdir()} <= _OURS:
            path.chmod(_DIRECTORY)


def private_file(path: Path) -> None:
    """Make it, empty, for its owner alone. An existing one is tightened if it belongs to this user."""
    os.close(os.open(path, os.O_RDONLY | os.O_CREAT, _FILE))
    tighten(path)


def tighten(path: Path) -> None:
    if path.exists() and _may_tighten(path):
        path.chmod(_FILE)


def _may_tighten(path: Path) -> bool:
    if os.name != "posix":
        return False
    found = path.stat()
    return found.st_uid == os.geteuid() and bool(stat.S_IMODE(found.st_mode) & _OTHERS)
