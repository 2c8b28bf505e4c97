"""Broken requests made from correct ones: repeatable, from a seed, and without a client in between that would refuse to
send them."""

from __future__ import annotations

import asyncio
import json
import random
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any
from urllib.parse import quote, unquote, urlencode

from fastapi import FastAPI

DEEP = 500
STRANGE: list[Any] = [
    None,
    True,
    False,
    0,
    -1,
    1,
    7,
    10**6,
    2**31,
    -(2**31) - 1,
    2**63,
    2**64,
    10**30,
    10**400,
    0.5,
    -0.0,
    1e308,
    1e-308,
    "",
    " ",
    "\n",
    "\x00",
    "a\x00b",
    "é",
    "\u202e",
    "\ufeff",
    "😀",
    "𝒳" * 40,
    "x" * 5_000,
    "x" * 40_000,
    "null",
    "NaN",
    "'; DROP TABLE books; --",
    "../../etc/passwd",
    "/etc/passwd",
    "quoth://",
    "quoth://book/%2e%2e/x",
    "%00",
    "%s%n",
    "{{7*7}}",
    "<script>alert(1)</script>",
    "6a1f7a9e-2f7e-4c3e-9d57-0d5a3d7b6f10",
    "6A1F7A9E2F7E4C3E9D570D5A3D7B6F10",
    [],
    {},
    [[]],
    [None],
    [{}],
    {"": ""},
    {"a": {"b": [1, {"c": None}]}},
    ["x"] * 2_000,
    list(range(300)),
    {f"k{n}": n for n in range(300)},
    {"__proto__": {"x": 1}},
    {"$ref": "#/"},
    "book",
    "ros2-topics",
]
# Put into a body as is, because no JSON writer would write it.
RAW = [
    "NaN",
    "Infinity",
    "-Infinity",
    '"\\ud800"',
    '"\\udfff\\ud800"',
    '"\\u0000"',
    "1e999",
    "-1e999",
    "01",
    "1.",
    ".5",
    "0x1F",
    "tru",
    "'x'",
    '"\t"',
    '"\\x41"',
    "1" * 5_000,
    "-",
    "[" * DEEP + "]" * DEEP,
    '{"a":' * DEEP + "1" + "}" * DEEP,
    "[" * 100_000,
    '{"a":1,"a":2}',
    "[1,]",
    '{"a":1,}',
    "/* */ 1",
    '"unended',
    "\ufeff{}",
    "",
]
BODIES = [
    b"",
    b" ",
    b"{",
    b"}",
    b"null",
    b"[]",
    b'"x"',
    b"0",
    b"\xff\xfe{\x00}\x00",
    b"\xef\xbb\xbf{}",
    b"{}\x00",
    b'{"query": "\xff"}',
    b'{"query": "\xed\xa0\x80"}',
    b'{"query": "\xc0\xaf"}',
    b"\x1f\x8b\x08\x00",
    b"--x\r\nContent-Disposition: form-data\r\n\r\n",
    b"query=1&book_id=2",
    b"<xml/>",
    b"\x00" * 64,
    b"{}" * 3,
    b'{"a":' * 100_000,
]
HEADERS: list[tuple[bytes, bytes]] = [
    (b"content-type", b"text/plain"),
    (b"content-type", b""),
    (b"content-type", b"application/json; charset=utf-16"),
    (b"content-type", b"application/x-www-form-urlencoded"),
    (b"content-type", b"multipart/form-data"),
    (b"content-type", b"multipart/form-data; boundary="),
    (b"content-type", b"application/problem+json"),
    (b"content-type", b"\xff\xfe"),
    (b"content-type", b"application/json" * 200),
    (b"content-encoding", b"gzip"),
    (b"content-encoding", b"br, deflate"),
    (b"content-length", b"-1"),
    (b"content-length", b"1e9"),
    (b"content-length", b"99999999999999999999"),
    (b"content-length", "²".encode()),
    (b"accept", b"text/html"),
    (b"accept", b""),
    (b"accept", b"\xff"),
    (b"accept", b"application/json;q=0, */*;q=abc"),
    (b"accept-encoding", b"\x01"),
    (b"authorization", b"Bearer"),
    (b"authorization", b"Bearer \xff"),
    (b"authorization", b"Basic Zm9vOmJhcg=="),
    (b"authorization", b"Bearer " + b"x" * 9_000),
    (b"x-request-id", b"\xff"),
    (b"x-request-id", b"x" * 9_000),
    (b"host", b""),
    (b"host", b"\xff"),
    (b"host", b"[::1"),
    (b"host", b"evil.example:99999"),
    (b"host", b"a b"),
    (b"origin", b"null"),
    (b"origin", b"https://evil.example"),
    (b"origin", b"http://[::1"),
    (b"origin", b"\xff"),
    (b"range", b"bytes=0-1"),
    (b"range", b"bytes=5-1,-"),
    (b"if-none-match", b"*"),
    (b"if-modified-since", b"yesterday"),
    (b"expect", b"100-continue"),
    (b"transfer-encoding", b"chunked"),
    (b"cookie", b"a=b; c=\xff"),
    (b"last-event-id", b"7"),
    (b"x-forwarded-for", b"999.1.1.1, \xff"),
    (b"forwarded", b'for="['),
    (b"x-forwarded-host", b"evil.example"),
    (b"mcp-protocol-version", b"2026-07-28"),
    (b"mcp-protocol-version", b"1999-01-01"),
    (b"mcp-session-id", b"\xff"),
    (b"mcp-method", b"tools/call"),
    (b"x-github-event", b"ping"),
    (b"x-github-event", b"\xff"),
    (b"x-hub-signature-256", b"sha256=\xff"),
    (b"x-hub-signature-256", b"sha1=0"),
    (b"x-http-method-override", b"DELETE"),
    (b"access-control-request-method", b"POST"),
    (b"upgrade", b"websocket"),
    (b"x-quoth", b"x" * 60_000),
]
PATHS = [
    "",
    "/",
    "//",
    "/.",
    "/..",
    "/../../x",
    "/%00",
    "/%ff",
    "/%2e%2e/",
    "%",
    "%zz",
    ";a=b",
    "/" + "x" * 9_000,
    "/\u202e",
    "?",
]
METHODS = [
    "GET",
    "POST",
    "PUT",
    "PATCH",
    "DELETE",
    "HEAD",
    "OPTIONS",
    "TRACE",
    "CONNECT",
    "get",
    "FOO",
    "M-SEARCH",
    "\u00e9",
]


@dataclass(frozen=True)
class Shot:
    method: str
    path: str  # as it is written in the address
    query: bytes = b""
    headers: tuple[tuple[bytes, bytes], ...] = ()
    body: bytes = b""

    def __str__(self) -> str:
        body = self.body if len(self.body) < 400 else self.body[:400] + b"..."
        return f"{self.method} {self.path[:300]}?{self.query[:300]!r} {self.headers} {body!r}"


@dataclass(frozen=True)
class Reply:
    status: int
    headers: Mapping[str, str]
    body: bytes


@dataclass(frozen=True)
class Target:
    """A door and a correct request."""

    method: str
    path: str
    values: Mapping[str, Any]
    body: Any = None
    headers: tuple[tuple[bytes, bytes], ...] = ()
    sign: Callable[[bytes], tuple[bytes, bytes]] | None = None  # the header that proves who sends a body

    def right(self) -> Shot:
        named = {name for name in self.values if f"{{{name}}}" in self.path}
        path = self.path.format(**{name: quote(str(self.values[name]), safe="/") for name in named})
        query = urlencode([(name, value) for name, value in self.values.items() if name not in named])
        body = b"" if self.body is None else json.dumps(self.body).encode()
        return Shot(self.method, path, query.encode(), self.headers, body)


def shots(target: Target, count: int, seed: int) -> list[Shot]:
    """The correct request first, then broken ones, each spoilt in one to three ways."""
    dice = random.Random(seed)
    ways = [_method, _path, _query, _header, _header]
    ways += (
        [_field, _field, _field, _field, _raw_value, _bytes] if target.body is not None else [_bytes, _value, _query]
    )
    found = {target.right(): None}  # in order, each once
    while len(found) < count:
        shot = target.right()
        for way in dice.choices(ways, k=dice.choice((1, 1, 1, 2, 3))):
            shot = way(target, shot, dice)
        found[shot] = None
    if target.sign is not None:  # sign half of them, so that they get in
        return [
            replace(shot, headers=(*shot.headers, target.sign(shot.body))) if n % 2 else shot
            for n, shot in enumerate(found)
        ]
    return list(found)


def _method(target: Target, shot: Shot, dice: random.Random) -> Shot:
    return replace(shot, method=dice.choice(METHODS))


def _path(target: Target, shot: Shot, dice: random.Random) -> Shot:
    strange = quote(str(dice.choice(STRANGE)), safe=dice.choice(["", "/", "/?#%"]))[:9_000]
    return replace(
        shot,
        path=dice.choice([shot.path + dice.choice(PATHS), shot.path + "/" + strange, shot.path.upper(), "/" + strange]),
    )


def _value(target: Target, shot: Shot, dice: random.Random) -> Shot:
    """Replace one of its parameters."""
    if not target.values:
        return _query(target, shot, dice)
    name = dice.choice(sorted(target.values))
    spoilt = replace(target, values={**target.values, name: dice.choice(STRANGE)}).right()
    return replace(shot, path=spoilt.path, query=spoilt.query)


def _query(target: Target, shot: Shot, dice: random.Random) -> Shot:
    names = [*target.values, "book_id", "limit", "prev", "next", "explain", "x", "", "\x00"]
    pairs = [(dice.choice(names), str(dice.choice(STRANGE))[:5_000]) for _ in range(dice.randint(1, 4))]
    written = urlencode(pairs, errors="surrogatepass").encode()
    return replace(
        shot, query=dice.choice([written, shot.query + b"&" + written, b"\xff=\xfe", b"&&=&%&%zz=%", b"x" * 9_000])
    )


def _header(target: Target, shot: Shot, dice: random.Random) -> Shot:
    name, value = dice.choice(HEADERS)
    others = shot.headers if dice.random() < 0.2 else tuple(one for one in shot.headers if one[0] != name)
    return replace(shot, headers=(*others, (name, value)))


def _field(target: Target, shot: Shot, dice: random.Random) -> Shot:
    """Replace, add or remove something somewhere in the body."""
    try:
        body = json.loads(shot.body)
    except (ValueError, RecursionError):
        body = target.body
    return replace(
        shot, body=json.dumps(_spoilt(body, dice), ensure_ascii=dice.random() < 0.5).encode("utf-8", "surrogatepass")
    )


def _spoilt(value: Any, dice: random.Random) -> Any:
    if isinstance(value, dict) and value and dice.random() < 0.85:
        name = dice.choice(sorted(value, key=str))
        kind = dice.random()
        if kind < 0.15:
            return {key: one for key, one in value.items() if key != name}
        if kind < 0.3:
            return {**value, str(dice.choice(STRANGE))[:300]: dice.choice(STRANGE)}
        return {**value, name: _spoilt(value[name], dice)}
    if isinstance(value, list) and value and dice.random() < 0.7:
        at = dice.randrange(len(value))
        return [*value[:at], _spoilt(value[at], dice), *value[at + (dice.random() < 0.8) :]]
    return dice.choice(STRANGE)


def _raw_value(target: Target, shot: Shot, dice: random.Random) -> Shot:
    """Replace a value with something that is not, or hardly, JSON."""
    if not isinstance(target.body, dict):
        return _bytes(target, shot, dice)
    name = dice.choice(sorted(target.body))
    parts = [
        f"{json.dumps(key)}: {dice.choice(RAW) if key == name else json.dumps(one)}" for key, one in target.body.items()
    ]
    return replace(shot, body=("{" + ", ".join(parts) + "}").encode("utf-8", "surrogatepass"))


def _bytes(target: Target, shot: Shot, dice: random.Random) -> Shot:
    kind = dice.random()
    if kind < 0.5 or not shot.body:
        return replace(shot, body=dice.choice(BODIES))
    at = dice.randrange(len(shot.body))
    if kind < 0.75:
        return replace(shot, body=shot.body[:at])
    return replace(shot, body=shot.body[:at] + dice.randbytes(dice.randint(1, 8)) + shot.body[at + 1 :])


async def fire(app: FastAPI, shot: Shot, *, patience: float = 20.0) -> Reply:
    """Straight into the application, as a server would hand it over."""
    unread = [{"type": "http.request", "body": shot.body, "more_body": False}]
    over = asyncio.Event()
    heads: list[tuple[bytes, bytes]] = []
    status, body = 0, bytearray()

    async def receive() -> dict[str, Any]:
        if unread:
            return unread.pop()
        await over.wait()
        return {"type": "http.disconnect"}

    async def send(message: Any) -> None:
        nonlocal status
        if message["type"] == "http.response.start":
            status = message["status"]
            heads.extend(message["headers"])
        else:
            body.extend(message.get("body", b""))

    path, _, more = shot.path.partition("?")
    scope = {
        "type": "http", "asgi": {"version": "3.0"}, "http_version": "1.1", "scheme": "http", "method": shot.method,
        "path": _unquoted(path), "raw_path": path.encode("utf-8", "replace"), "root_path": "",
        "query_string": more.encode("utf-8", "replace") + shot.query, "headers": list(shot.headers),
        "client": ("127.0.0.1", 1), "server": ("127.0.0.1", 8000), "app": app,
    }  # fmt: skip
    async with asyncio.timeout(patience):
        await app(scope, receive, send)
    over.set()
    return Reply(
        status, {name.decode("latin-1").lower(): value.decode("latin-1") for name, value in heads}, bytes(body)
    )


def _unquoted(path: str) -> str:
    """As uvicorn does it: bytes that are not UTF-8 are kept as well as possible."""
    return unquote(path)
