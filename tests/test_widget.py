"""The widget on somebody else's page, in a real browser: another origin, another style sheet, a strict policy."""

from __future__ import annotations

import asyncio
import shutil
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from playwright.async_api import Page, async_playwright, expect

from doors import ASKED, REFUSAL, UNKNOWN, opened, served
from test_web_page import CHROMIUM, FLAGS

pytestmark = [pytest.mark.slow, pytest.mark.skipif(CHROMIUM is None, reason="chromium is not installed")]

SITE = """<!doctype html><html><head><meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="script-src {quoth}; connect-src {quoth}; style-src 'self'">
<script src="{quoth}/widget.js" data-book="book" defer></script></head>
<body><h1>A page of the site</h1>
<p id="paragraph">The zyxomat rests for nine seconds before each start. A second run needs no rest.</p>
<p><a href="/other">Another page</a></p></body></html>"""


@asynccontextmanager
async def site(html: str) -> AsyncIterator[str]:
    """A web server that knows one page and hands it out at every path."""

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        head = "HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: {}\r\nConnection: close\r\n\r\n"
        body = html.encode()
        writer.write(head.format(len(body)).encode() + body)
        await writer.drain()
        writer.close()

    server = await asyncio.start_server(answer, "127.0.0.1", 0)
    async with server:
        yield f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
