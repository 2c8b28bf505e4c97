"""`quoth config`: every setting, its value, and where it came from. Secrets are never printed."""

from __future__ import annotations

from dataclasses import asdict

import typer

from quoth.cli.app import DataDir, Json, Verbose, app, print_json, settings_for


@app.command(epilog="Example: QUOTH_TOP_K=8 quoth config")
def config(data_dir: DataDir = None, json: Json = False, verbose: Verbose = False) -> None:
    """Show the settings in force and where each comes from."""
    rows = settings_for(data_dir=data_dir, verbose=verbose).describe()
    if json:
        print_json({"settings": [asdict(row) for row in rows]})
        return
    width = max(len(row.name) for row in rows)
    for row in rows:
        typer.echo(f"{row.name:<{width}}  {row.value}  ({row.source})")
