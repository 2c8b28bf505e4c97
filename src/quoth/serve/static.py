"""`GET /`, `/a/{share_id}`, `/widget.js` and their assets: the reader's page, a shared answer, the widget.

Out: files of the package, read and compressed once, when the server starts. Nothing is loaded from another server. The
page and the widget address their assets by a hash of all of them (`/assets/0a1b2c…/talk.js`). So browsers may keep the
assets forever, and still see a new version at once, because they check the page and the widget each time. Files refer
to each other by relative paths and never see the hash. Scripts are sent without their comments.
"""

from __future__ import annotations

import gzip
import hashlib
import mimetypes
import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from html import escape
from importlib.util import find_spec
from pathlib import Path

from fastapi import FastAPI, Request
from starlette.datastructures import Headers
from starlette.exceptions import HTTPException
from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from quoth.domain import Turn
from quoth.errors import NotFound
from quoth.serve.bundle import bundle
from quoth.serve.deps import quoth_of
from quoth.serve.opinions import find_shared

_WEB = Path(__file__).parent.parent / "web"
_FONTS = "quoth_fonts"  # a data-only wheel; without it the page uses the fonts of the reader's system
_NAMES_ASSETS = ("index.html", "answer.html", "widget.js")
_ASSETS = b"assets/"
# The widget's panel is sent as one script; the button has already loaded these two.
_WHOLE = "corner.js"
_BEFORE = ("texts/index.js", "storage.js")
_VERSION = re.compile(r"[0-9a-f]{12}")
_TYPES = {".js": "text/javascript", ".woff2": "font/woff2"}  # systems differ in these
# Comments are a fifth of the scripts, even compressed. These forms can be found without parsing the language: whole
# lines, blocks of types, types within a line, comments after the end of a statement; and indentation, so no text in a
# script may rely on its own.
_SPARE = {
    ".js": re.compile(
        r"^[ \t]*/\*\*(?:[^*]|\*(?!/))*\*/[ \t]*\n|^[ \t]*//.*\n|/\*\* @type .*?\*/ ?|(?<=[;,{}])[ \t]+// .*$"
        r"|^[ \t]+|^\n",
        re.MULTILINE,
    ),
    ".css": re.compile(r"/\*(?:[^*]|\*(?!/))*\*/|^[ \t]+|\n| +(?=[{}])|(?<=[{};,]) +|;(?=\s*})", re.MULTILINE),
}
_CSS_IMPORT = re.compile(r'@import "(\w+\.css)";')
_WORTH_IT = 0.9  # compress only if at most this much is left: fonts and pictures are already compressed

# No inline script, no foreign origin: a book's text can never run.
_PAGE_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self'; font-src 'self'; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'; "
    "require-trusted-types-for 'script'; trusted-types 'none'"
)


@dataclass(frozen=True)
class _File:
    media_type: str
    plain: bytes
    packed: bytes | None  # with gzip
    tag: str

    def response(self, request: Headers, *, keep: bool) -> Response:
        """`keep`: the address contains the version, so browsers need not ask again. Any site may load the files: they
        hold nothing private."""
        packed = self.packed if _takes_gzip(request) else None
        headers = {
            "cache-control": "public, max-age=31536000, immutable" if keep else "no-cache",
            "etag": f'"{self.tag}{"-gzip" if packed else ""}"',
            "content-security-policy": _PAGE_POLICY,
            "access-control-allow-origin": "*",
            "cross-origin-resource-policy": "cross-origin",
        }
        if self.packed:
            headers["vary"] = "accept-encoding"
        if headers["etag"] in {tag.strip().removeprefix("W/") for tag in request.get("if-none-match", "").split(",")}:
            return Response(status_code=304, headers=headers)
        if packed:
            headers["content-encoding"] = "gzip"
        return Response(packed or self.plain, headers=headers, media_type=self.media_type)


def _takes_gzip(request: Headers) -> bool:
    wanted = [coding.strip().partition(";") for coding in request.get("accept-encoding", "").lower().split(",")]
    return any(name.strip() == "gzip" and not re.fullmatch(r"q=0(\.0*)?", q.strip()) for name, _, q in wanted)


def _found() -> Iterator[tuple[str, bytes]]:
    for path in sorted(_WEB.rglob("*")):
        if path.is_file():
            yield path.relative_to(_WEB).as_posix(), path.read_bytes()
    spec = find_spec(_FONTS)
    for folder in (spec.submodule_search_locations or []) if spec else []:
        for path in sorted(Path(folder).iterdir()):
            if path.suffix in (".css", ".woff2"):
                yield f"fonts/{path.name}", path.read_bytes()


def _file(name: str, content: bytes) -> _File:
    kind = _TYPES.get(Path(name).suffix) or mimetypes.guess_type(name)[0] or "application/octet-stream"
    packed = gzip.compress(content, mtime=0)
    smaller = packed if len(packed) < _WORTH_IT * len(content) else None
    return _File(kind, content, smaller, hashlib.sha256(content).hexdigest()[:16])


@cache
def _files() -> tuple[str, dict[str, _File]]:
    """The version of all files, and each file by its name."""
    contents = dict(_found())
    texts = {name: text.decode() for name, text in contents.items() if Path(name).suffix in _SPARE}
    texts = {name: _SPARE[Path(name).suffix].sub("", text) for name, text in texts.items()}
    texts[_WHOLE] = bundle(texts, _WHOLE, separate=_BEFORE)
    texts |= {
        name: _CSS_IMPORT.sub(lambda one: texts[one[1]], text) for name, text in texts.items() if "@import" in text
    }
    contents |= {name: text.encode() for name, text in texts.items()}
    listed = "".join(f"{name} {hashlib.sha256(content).hexdigest()}\n" for name, content in contents.items())
    version = hashlib.sha256(listed.encode()).hexdigest()[:12]
    for name in _NAMES_ASSETS:
        contents[name] = contents[name].replace(_ASSETS, _ASSETS + f"{version}/".encode())
    return version, {name: _file(name, content) for name, content in contents.items()}


class _Assets:
    """The folder of files, with and without their version. A page loaded from an older server gets the files of this
    one."""

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http" or scope["method"] not in ("GET", "HEAD"):
            raise HTTPException(405, headers={"Allow": "GET, HEAD"})
        version, files = _files()
        path: str = scope["path"].removeprefix(scope.get("root_path", "")).removeprefix("/")
        first, _, rest = path.partition("/")
        file = files.get(rest if _VERSION.fullmatch(first) else path)
        if file is None:
            raise HTTPException(404)
        await file.response(Headers(scope=scope), keep=first == version)(scope, receive, send)


async def _shared_answer(request: Request) -> Response:
    """The page of one answer. Its head holds the card that other sites show for a link."""
    try:
        turn, title = await find_shared(quoth_of(request), request.path_params["share_id"])
        card, status = _card(turn, title), 200
    except NotFound:
        card, status = "", 404
    page = _files()[1]["answer.html"].plain.replace(b"<!-- card -->", card.encode())
    headers = {"content-security-policy": _PAGE_POLICY, "cache-control": "no-store", "x-robots-tag": "noindex"}
    return Response(page, status, headers=headers, media_type="text/html")


def _card(turn: Turn, title: str) -> str:
    said = " ".join(re.sub(r"\[\d+\]|[*`#]", "", turn.response).split())
    fields = {"og:type": "article", "og:site_name": title, "og:title": turn.query[:200], "og:description": said[:200]}
    return "".join(f'<meta property="{name}" content="{escape(value)}">' for name, value in fields.items())


def install_pages(app: FastAPI) -> None:
    async def page(request: Request) -> Response:
        return _files()[1]["index.html"].response(request.headers, keep=False)

    async def widget(request: Request) -> Response:
        return _files()[1]["widget.js"].response(request.headers, keep=False)

    app.add_route("/", page, methods=["GET"], include_in_schema=False)
    app.add_route("/widget.js", widget, methods=["GET"], include_in_schema=False)
    app.add_route("/a/{share_id}", _shared_answer, methods=["GET"], include_in_schema=False)
    app.mount("/assets", _Assets())
