"""`quoth serve`: the page and the HTTP doors on one port. `quoth mcp`: the books for a coding agent, over stdio."""

from __future__ import annotations

import signal
from typing import Annotated

import typer

from quoth.bootstrap import Quoth
from quoth.cli.app import BookId, DataDir, Verbose, app, run, settings_for
from quoth.errors import BadConfiguration
from quoth.settings import Settings

Host = Annotated[str | None, typer.Option(help="Address to listen on.", show_default="127.0.0.1")]
Port = Annotated[int | None, typer.Option(help="Port to listen on; 0 takes a free one.", show_default="8000")]
Workers = Annotated[int | None, typer.Option(help="Processes that answer.", show_default="1")]


async def has_keys(quoth: Quoth) -> bool:
    return await quoth.library.keys.any()


def is_closed(settings: Settings) -> bool:
    """Whether nobody gets in without a key."""
    if settings.auth != "auto":
        return settings.auth == "keys"
    return settings.jwt_jwks_url is not None or run(settings, has_keys)


@app.command(epilog="Example: quoth serve --port 8000 --workers 2")
def serve(
    host: Host = None,
    port: Port = None,
    workers: Workers = None,
    allow_open: Annotated[
        bool, typer.Option("--allow-open", help="Listen beyond this machine although nobody needs a key.")
    ] = False,
    data_dir: DataDir = None,
    verbose: Verbose = False,
) -> None:
    """Start the page and the API."""
    settings = settings_for(data_dir=data_dir, verbose=verbose, host=host, port=port, workers=workers)
    if not settings.is_local and not allow_open and not is_closed(settings):
        raise BadConfiguration(
            f"{settings.host} can be reached from other machines and no key is required.",
            hint="Make one: `quoth keys create --name me --scope admin`; or listen on 127.0.0.1, or say --allow-open.",
        )
    from quoth.serve.server import serve_forever  # brings FastAPI and uvicorn along

    serve_forever(settings)


@app.command(epilog="Example: quoth mcp --book my-book   An agent: claude mcp add my-book -- quoth mcp --book my-book")
def mcp(book: BookId = None, data_dir: DataDir = None, verbose: Verbose = False) -> None:
    """Serve coding agents (Model Context Protocol) on standard input and output; `quoth serve` does at /mcp."""
    settings = settings_for(data_dir=data_dir, verbose=verbose, book=book)

    async def work(quoth: Quoth) -> None:
        from mcp.server.stdio import stdio_server

        from quoth.serve.mcp_tools import Agents

        for number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(number, signal.SIG_DFL)  # a thread waits for input and cannot be told to stop
        server = Agents(lambda request: quoth).server()
        async with stdio_server() as (incoming, outgoing):
            await server.run(incoming, outgoing, server.create_initialization_options())

    run(settings, work)
