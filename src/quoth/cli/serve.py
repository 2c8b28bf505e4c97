"""`quoth serve`: the page and the HTTP doors on one port."""

from __future__ import annotations

import ipaddress
from typing import Annotated

import typer

from quoth.cli.app import DataDir, Verbose, app, settings_for
from quoth.errors import BadConfiguration

Host = Annotated[str | None, typer.Option(help="Address to listen on.", show_default="127.0.0.1")]
Port = Annotated[int | None, typer.Option(help="Port to listen on; 0 takes a free one.", show_default="8000")]
Workers = Annotated[int | None, typer.Option(help="Processes that answer.", show_default="1")]


def is_loopback(host: str) -> bool:
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


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
    if not is_loopback(settings.host) and not allow_open:
        raise BadConfiguration(
            f"{settings.host} can be reached from other machines and no key is required.",
            hint="Listen on 127.0.0.1, or say --allow-open.",
        )
    from quoth.api.server import serve_forever  # brings FastAPI and uvicorn along

    serve_forever(settings)
