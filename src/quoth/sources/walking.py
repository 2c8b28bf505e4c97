"""A folder → the files in it that may be pages, in a fixed order.

Hidden folders and those that hold dependencies or builds are left alone. A link is followed only where it stays in
the folder and does not lead back to a folder above it. Knows nothing of what the files hold.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

from quoth.errors import Unreadable

IGNORED = frozenset(("node_modules", "bower_components", "__pycache__", "venv", "site-packages"))


def existing_folder(path: Path) -> Path:
    """The folder itself, resolved, or an error that says why it cannot be read."""
    try:
        resolved = path.expanduser().resolve(strict=True)
    except FileNotFoundError:
        raise Unreadable(f"{path} does not exist.", hint="Give the folder that holds the book.") from None
    except (OSError, RuntimeError) as error:
        raise Unreadable(f"{path} cannot be opened: {error}.", hint="Give the folder that holds the book.") from error
    if not resolved.is_dir():
        raise Unreadable(f"{path} is a file, not a folder.", hint="Give the folder that holds the book.")
    if not os.access(resolved, os.R_OK | os.X_OK):
        raise Unreadable(f"{path} may not be read.", hint="Check its permissions.")
    return resolved


def folders(root: Path) -> list[Path]:
    """The folders in `root` that may hold pages."""
    found = [path for path in root.iterdir() if path.is_dir() and not path.is_symlink()]
    return sorted(path for path in found if path.name not in IGNORED and not path.name.startswith("."))


def walk(root: Path, suffixes: frozenset[str]) -> Iterator[Path]:
    """Every file below `root` with one of the suffixes, folder by folder in the order of names."""
    yield from _walk(root, root, suffixes, frozenset((os.path.realpath(root),)))


def _walk(folder: Path, root: Path, suffixes: frozenset[str], above: frozenset[str]) -> Iterator[Path]:
    try:
        entries = sorted(os.scandir(folder), key=lambda entry: entry.name)
    except OSError as error:
        raise Unreadable(f"{folder} may not be read: {error.strerror}.", hint="Check its permissions.") from error
    for entry in entries:
        if entry.name.startswith("."):
            continue
        path = folder / entry.name
        real = os.path.realpath(path)
        if entry.is_symlink() and not Path(real).is_relative_to(root):
            continue
        if entry.is_dir():
            if entry.name not in IGNORED and real not in above:
                yield from _walk(path, root, suffixes, above | {real})
        elif path.suffix.lower() in suffixes and entry.is_file():
            yield path
