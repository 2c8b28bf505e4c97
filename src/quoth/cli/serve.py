"""`quoth serve`: the page and the HTTP doors on one port. `quoth mcp`: the books for a coding agent over stdio.

In: settings. Out: a server that runs until a signal, or an MCP session until its input ends. An address that other
machines can reach needs keys or --allow-open.
"""

from __future__ import annotations

import signal
from typing import Annotated

import typer

from quoth.bootstrap import Quoth
from quoth.cli.app import BookId, DataDir, Verbose, app, run, settings_for
from quoth.errors import BadConfiguration
from quoth.settings import Settings

Host = Annotated[str | None, typer.Option(help="Address to listen on.", show_default="127.0.0.1")]
Port = Annotated[int | None, typer.Option(help="Port to listen on; 0 picks a free one.", show_default="8000")]
Workers = Annotated[int | None, typer.Option(help="Number of processes.", show_default="1")]


async def has_keys(quoth: Quoth) -> bool:
    return await quoth.library.keys.any()


def is_closed(settings: Settings) -> bool:
    """Whether every caller needs a key."""
    if settings.auth != "auto":
        return settings.auth == "keys"
    return settings.jwt_jwks_url is not None or run(settings, has_keys)


@app.command(epilog="Example: quoth serve --port 8000 --workers 2")
def serve(
    host: Host = None,
    port: Port = None,
    workers: Workers = None,
    allow_open: Annotated[
        bool, typer.Option("--allow-open", help="Allow other machines to connect without a key.")
    ] = False,
    data_dir: DataDir = None,
    verbose: Verbose = False,
) -> None:
    """Start the reader's page and the HTTP API."""
    settings = settings_for(data_dir=data_dir, verbose=verbose, host=host, port=port, workers=workers)
    if not settings.is_local and not allow_open and not is_closed(settings):
        raise BadConfiguration(
            f"Other machines can reach {settings.host}, and no key is required.",
            hint="Create one (`quoth keys create --name me --scope admin`), listen on 127.0.0.1, or add --allow-open.",
        )
    from quoth.serve.server import serve_forever  # imports FastAPI and uvicorn

    serve_forever(settings)


@app.command(epilog="Example: quoth mcp --book my-book   An agent: claude mcp add my-book -- quoth mcp --book my-book")
def mcp(book: BookId = None, data_dir: DataDir = None, verbose: Verbose = False) -> None:
    """Serve coding agents over MCP, on standard input and output. `quoth serve` offers the Model Context Protocol at
    /mcp."""
    settings = settings_for(data_dir=data_dir, verbose=verbose, book=book)

    async def work(quoth: Quoth) -> None:
        from mcp.server.stdio import stdio_server

        from quoth.serve.mcp_tools import Agents

        for number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(number, signal.SIG_DFL)  # the thread that waits for input cannot be stopped
        server = Agents(lambda request: quoth).server()
        async with stdio_server() as (incoming, outgoing):
            await server.run(incoming, outgoing, server.create_initialization_options())

    run(settings, work)
