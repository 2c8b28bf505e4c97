"""From a folder that a documentation tool has built to its pages and the ids of their headings, as JSON.

The recordings in tests/sources/books are made with it: build one of the small books there with the real tool, in a
folder outside the repository, then

    python scripts/record_built_book.py --tool "vitepress 1.6.4" --command "npx vitepress build ." DIST > vitepress.json

A page is named by its path in the built folder. Headings without an id are left out, and so are those that the theme
adds and that `--ignore` matches.
"""

from __future__ import annotations

import argparse
import json
import re
from html.parser import HTMLParser
from pathlib import Path

_HEADING = re.compile(r"h[1-6]")


class _Headings(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.ids: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        anchor = dict(attrs).get("id")
        if _HEADING.fullmatch(tag) and anchor:
            self.ids.append(f"{tag} {anchor}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("site", type=Path)
    parser.add_argument("--tool", required=True)
    parser.add_argument("--command", required=True)
    parser.add_argument("--ignore", default="(?!)", help="ids that the theme adds, as a regular expression")
    parser.add_argument("--leave", default="(?!)", help="pages that are not part of the book, as a regular expression")
    asked = parser.parse_args()
    pages: dict[str, list[str]] = {}
    for path in sorted(asked.site.rglob("*.html")):
        name = path.relative_to(asked.site).as_posix()
        found = _Headings()
        found.feed(path.read_text("utf-8"))
        if not re.fullmatch(asked.leave, name):
            pages[name] = [id for id in found.ids if not re.fullmatch(asked.ignore, id.split(" ", 1)[1])]
    recorded = {"tool": asked.tool, "command": asked.command, "pages": pages}
    print(json.dumps(recorded, ensure_ascii=False, indent=1))


if __name__ == "__main__":
    main()
