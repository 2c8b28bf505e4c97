"""`quoth mcp`: the books for a coding agent on this machine, over standard input and output."""

from __future__ import annotations

import signal

from quoth.bootstrap import Quoth
from quoth.cli.app import BookId, DataDir, Verbose, app, run, settings_for


@app.command(epilog="Example: quoth mcp --book my-book   An agent: claude mcp add my-book -- quoth mcp --book my-book")
def mcp(book: BookId = None, data_dir: DataDir = None, verbose: Verbose = False) -> None:
    """Serve coding agents (Model Context Protocol) on standard input and output; `quoth serve` does at /mcp."""
    settings = settings_for(data_dir=data_dir, verbose=verbose, book=book)

    async def work(quoth: Quoth) -> None:
        from mcp.server.stdio import stdio_server

        from quoth.agents import Agents

        for number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(number, signal.SIG_DFL)  # a thread waits for input and cannot be told to stop
        server = Agents(lambda request: quoth).server()
        async with stdio_server() as (incoming, outgoing):
            await server.run(incoming, outgoing, server.create_initialization_options())

    run(settings, work)
