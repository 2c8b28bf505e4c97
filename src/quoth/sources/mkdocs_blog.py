"""The blog of Material for MkDocs: where it publishes its posts.

A post is a page below `post_dir`; its address is made from its date, its title and its categories, not from its path.
In: the plugin's options, a post's front matter and title. Out: the path of the page. The plugin generates lists,
archives and categories; they are not pages of the book.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date, datetime
from posixpath import normpath

from quoth.sources.files import FrontMatter
from quoth.text.anchors import Anchors

_DATE_PART = re.compile(r"y+|M+|d+|[^yMd]+")


@dataclass(frozen=True, slots=True)
class Blog:
    folder: str = "blog"
    posts: str = "blog/posts"
    url: str = "{date}/{slug}"
    date: str = "yyyy/MM/dd"
    most_categories: int = 1

    def holds(self, name: str) -> bool:
        return name.startswith(f"{self.posts}/")

    def path_of(self, front: FrontMatter, title: str) -> str:
        """The path from the root of the site, without an extension; empty if the post has no date and so no page."""
        said = front.values.get("date")
        created = _day(said.get("created") if isinstance(said, dict) else said)
        if created is None:
            return ""
        named = front.values.get("categories")
        categories = [str(one) for one in named] if isinstance(named, list) else []
        parts = {
            "{date}": "".join(_shown(part, created) for part in _DATE_PART.findall(self.date)),
            "{slug}": front.text("slug") or _slug(title),
            "{categories}": "/".join(map(_slug, categories[: self.most_categories])),
        }
        path = re.sub(r"\{\w+\}", lambda match: parts.get(match[0], ""), self.url)
        return normpath(f"{self.folder}/{path.strip('/')}").removeprefix("./")


def blog_of(options: Mapping[str, object]) -> Blog:
    folder = _text(options, "blog_dir", "blog").strip("/")
    most = options.get("post_url_max_categories")
    return Blog(
        folder=folder,
        posts=normpath(_text(options, "post_dir", "{blog}/posts").replace("{blog}", folder)).removeprefix("./"),
        url=_text(options, "post_url_format", "{date}/{slug}"),
        date=_text(options, "post_url_date_format", "yyyy/MM/dd"),
        most_categories=most if isinstance(most, int) else 1,
    )


def _slug(words: str) -> str:
    return Anchors("pymdownx").of(words) if words else ""


def _day(said: object) -> date | None:
    if isinstance(said, datetime):
        return said.date()
    if isinstance(said, date):
        return said
    try:
        return date.fromisoformat(str(said)[:10])
    except ValueError:
        return None


def _shown(part: str, day: date) -> str:
    """A part of a Babel pattern: `yyyy`, `MM`, `d`; anything else stays as it is."""
    number = {"y": day.year, "M": day.month, "d": day.day}.get(part[0])
    return part if number is None else f"{number:0{min(len(part), 4)}d}"


def _text(options: Mapping[str, object], key: str, default: str) -> str:
    found = options.get(key)
    return found if isinstance(found, str) else default
