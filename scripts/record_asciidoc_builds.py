"""Builds the tests' small AsciiDoc books with the real tools, and records what they publish.

    python scripts/record_asciidoc_builds.py ANTORA

`asciidoctor` must be on the path; ANTORA is the program of an installed @antora/cli with @antora/site-generator. Run it
when a book in tests/asciidoc_books changes: tests/sources/test_asciidoc.py and test_antora.py compare Quoth with the
recording, without these tools.
"""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
import tempfile
from html.parser import HTMLParser
from pathlib import Path

BOOKS = Path(__file__).resolve().parents[1] / "tests" / "asciidoc_books"
TARGET = BOOKS / "builds.json"
LAYOUT = "<html><body><h1>{{{page.title}}}</h1>{{{page.contents}}}</body></html>\n"
BLOCKS = ("p", "div", "td", "th", "li", "br", "dt", "dd", "pre", "h1", "h2", "h3", "h4", "h5", "h6")
UNSAID = ("details", "conum", "footnote", "icon")  # classes of elements that a converter adds


class Built(HTMLParser):
    """The headings of a page with their ids, and its words."""

    def __init__(self) -> None:
        super().__init__()
        self.headings: list[list[object]] = []
        self.words: list[str] = []
        self._silent: list[str] = []

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        said = {name: value or "" for name, value in attributes}
        added = said.get("id") in ("footer", "footnotes") or set(said.get("class", "").split()) & set(UNSAID)
        if tag not in ("img", "br", "meta", "link", "hr", "col", "input") and (
            self._silent or tag in ("head", "script", "summary") or added
        ):
            self._silent.append(tag)
        if re.fullmatch("h[1-6]", tag) and not self._silent:
            self.headings.append([said.get("id", ""), int(tag[1])])
        if tag == "img":
            self.words.append(f" {said.get('alt', '')} ")
        self._part(tag)

    def handle_endtag(self, tag: str) -> None:
        if self._silent and self._silent[-1] == tag:
            self._silent.pop()
        self._part(tag)

    def _part(self, tag: str) -> None:
        if tag in BLOCKS:
            self.words.append("\n")

    def handle_data(self, data: str) -> None:
        if not self._silent:
            self.words.append(data)


def recorded(folder: Path) -> dict[str, object]:
    pages: dict[str, object] = {}
    for path in sorted(folder.rglob("*.html")):
        if path.name != "404.html":
            built = Built()
            built.feed(path.read_text())
            words = " ".join("".join(built.words).split())
            pages[path.relative_to(folder).as_posix()] = {"headings": built.headings, "words": words}
    return pages


def main(antora: str) -> None:
    def run(*command: str | Path, at: Path = BOOKS) -> str:
        return subprocess.run(list(map(str, command)), cwd=at, check=True, capture_output=True, text=True).stdout

    with tempfile.TemporaryDirectory() as scratch:
        out = Path(scratch) / "out"
        run("asciidoctor", "-S", "unsafe", "-D", out, "book/master.adoc", "book/second.adoc")
        version = run("asciidoctor", "--version").split("\n")[0].split(" [")[0]
        builds = {"asciidoctor": {"tool": version, "pages": recorded(out)}}
        site = Path(scratch) / "antora"
        shutil.copytree(BOOKS / "antora", site)
        (site / "ui" / "layouts").mkdir(parents=True)
        (site / "ui" / "layouts" / "default.hbs").write_text(LAYOUT)
        (site / "ui" / "layouts" / "404.hbs").write_text(LAYOUT)
        run("git", "init", "-q", ".", at=site)
        run("git", "add", "-A", at=site)
        run("git", "-c", "user.name=a", "-c", "user.email=a@example.org", "commit", "-qm", "all", at=site)
        for style in ("default", "drop", "indexify"):
            run(antora, "--html-url-extension-style", style, "antora-playbook.yml", at=site)
            pages = recorded(site / "build" / "site")
            version = " ".join(run(antora, "--version", at=site).split())
            builds[f"antora-{style}"] = {"tool": version, "pages": pages}
            shutil.rmtree(site / "build")
    TARGET.write_text(json.dumps(builds, indent=1, ensure_ascii=False, sort_keys=True) + "\n")


if __name__ == "__main__":
    main(sys.argv[1])
