"""A small website on a free port of this machine, for tests of what reads from the web.

Each path has an answer, which a test may change while the site is up; and it remembers what was asked for.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


@dataclass(frozen=True)
class Reply:
    body: bytes = b""
    status: int = 200
    headers: Mapping[str, str] = field(default_factory=dict)
    type: str = "text/html; charset=utf-8"
    drip: float = 0.0  # seconds between single bytes


@dataclass
class Website:
    url: str
    replies: dict[str, Reply | list[Reply]]  # of a list, the first is used up unless it is the last
    asked: list[str] = field(default_factory=list)
    agents: set[str] = field(default_factory=set)
    cookies: list[str] = field(default_factory=list)
    under_way: int = 0
    most_at_once: int = 0
    on_request: Callable[[str], None] = lambda path: None

    def page(self, path: str, title: str, text: str = "", *, head: str = "", **reply: object) -> None:
        body = text or f"The page {title} explains {title.lower()} in a sentence."
        html = (
            f"<!doctype html><html lang=en><head><title>{title} | Sample</title>{head}</head><body><nav>Menu</nav>"
            f"<main><h1 id=top>{title}</h1><p>{body}</p><h2 id=more>More</h2><p>And more of {title}.</p></main>"
            "</body></html>"
        )
        self.replies[path] = Reply(html.encode(), **reply)  # type: ignore[arg-type]

    def sitemap(self, *paths: str, at: str = "/sitemap.xml") -> None:
        self.replies[at] = Reply(sitemap_of(self.url + path for path in paths), type="application/xml")

    def next_reply(self, path: str) -> Reply:
        reply = self.replies.get(path, Reply(b"not here", 404))
        if isinstance(reply, list):
            return reply.pop(0) if len(reply) > 1 else reply[0]
        return reply


def sitemap_of(addresses: Iterator[str], *, kind: str = "urlset", item: str = "url") -> bytes:
    items = "".join(f"<{item}><loc>{address}</loc></{item}>" for address in addresses)
    space = "http://www.sitemaps.org/schemas/sitemap/0.9"
    return f'<?xml version="1.0" encoding="UTF-8"?><{kind} xmlns="{space}">{items}</{kind}>'.encode()


@contextmanager
def website() -> Iterator[Website]:
    lock = threading.Lock()

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self) -> None:
            with lock:
                site.asked.append(self.path)
                site.agents.add(self.headers.get("User-Agent", ""))
                site.cookies.extend(self.headers.get_all("Cookie") or [])
                site.under_way += 1
                site.most_at_once = max(site.most_at_once, site.under_way)
                reply = site.next_reply(self.path)
            try:
                site.on_request(self.path)
                self._send(reply)
            except (BrokenPipeError, ConnectionResetError):
                self.close_connection = True  # the reader had enough
            finally:
                with lock:
                    site.under_way -= 1

        def _send(self, reply: Reply) -> None:
            self.send_response(reply.status)
            if reply.type:
                self.send_header("Content-Type", reply.type)
            self.send_header("Content-Length", str(len(reply.body)))
            for name, value in reply.headers.items():
                self.send_header(name, value)
            self.end_headers()
            if not reply.drip:
                self.wfile.write(reply.body)
                return
            for byte in reply.body:
                self.wfile.write(bytes((byte,)))
                self.wfile.flush()
                time.sleep(reply.drip)

        def log_message(self, format: str, *args: object) -> None:
            """Nothing: a test says what went wrong."""

    class Server(ThreadingHTTPServer):
        daemon_threads = True

        def handle_error(self, request: object, client_address: object) -> None:
            """A client that hangs up is what some tests are about."""

    with Server(("127.0.0.1", 0), Handler) as server:
        site = Website(f"http://127.0.0.1:{server.server_address[1]}", {})
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
        thread.start()
        try:
            yield site
        finally:
            server.shutdown()
            thread.join()
