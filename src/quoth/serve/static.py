"""`GET /`, `/widget.js` and their assets: the reader's page and the button for other sites.

Out: files of the package. Nothing is loaded from another server.
"""

from __future__ import annotations

from pathlib import Path

from fastapi import FastAPI, Request
from starlette.responses import Response
from starlette.staticfiles import StaticFiles
from starlette.types import Scope

_WEB = Path(__file__).parent.parent / "web"

# No inline script, no foreign origin: a book's text can never run.
_PAGE_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self'; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)


class _PageFiles(StaticFiles):
    """Static files that browsers revalidate each time, with an ETag, so that a new version is seen at once. Any site
    may load them: they hold nothing private."""

    async def get_response(self, path: str, scope: Scope) -> Response:
        # They are small and sent whole; the framework would answer a wrong range in a shape of its own.
        scope["headers"] = [header for header in scope["headers"] if header[0] != b"range"]
        response = await super().get_response(path, scope)
        response.headers["cache-control"] = "no-cache"
        response.headers["content-security-policy"] = _PAGE_POLICY
        response.headers["access-control-allow-origin"] = "*"
        response.headers["cross-origin-resource-policy"] = "cross-origin"
        return response


def install_pages(app: FastAPI) -> None:
    files = _PageFiles(directory=_WEB)

    async def page(request: Request) -> Response:
        return await files.get_response("index.html", request.scope)

    async def widget(request: Request) -> Response:
        return await files.get_response("widget.js", request.scope)

    app.add_route("/", page, methods=["GET"], include_in_schema=False)
    app.add_route("/widget.js", widget, methods=["GET"], include_in_schema=False)
    app.mount("/assets", files)
