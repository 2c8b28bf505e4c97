"""`quoth config`: every setting, its value and where the value comes from. Secrets are never printed."""

from __future__ import annotations

import asyncio
from dataclasses import asdict
from typing import Annotated

import typer

from quoth.ask.model_turn import TOOLS
from quoth.bootstrap import Quoth
from quoth.cli.app import DataDir, Json, Verbose, app, print_json, run, settings_for
from quoth.providers import embedder_of
from quoth.settings import Settings

Check = Annotated[bool, typer.Option("--check", help="Embed one text and ask the language model for one word.")]


@app.command(epilog="Example: OPENAI_BASE_URL=http://localhost:11434/v1 OPENAI_MODEL=llama3.2 quoth config --check")
def config(data_dir: DataDir = None, check: Check = False, json: Json = False, verbose: Verbose = False) -> None:
    """Show the settings in force and where each comes from. With --check, test the models."""
    settings = settings_for(data_dir=data_dir, verbose=verbose)
    if check:
        _check(settings, json=json)
        return
    rows = settings.describe()
    if json:
        print_json({"settings": [asdict(row) for row in rows]})
        return
    width = max(len(row.name) for row in rows)
    for row in rows:
        typer.echo(f"{row.name:<{width}}  {row.value}  ({row.source})")


def _check(settings: Settings, *, json: bool) -> None:
    async def embeds() -> str:
        embedder = embedder_of(settings)
        try:
            return await embedder.check()
        finally:
            await embedder.close()

    async def work(quoth: Quoth) -> str:
        if quoth.model is None:
            return "No language model is configured; the book answers in its own sentences."
        return await quoth.model.check(TOOLS)

    # First and on its own: everything else needs to know how long its vectors are.
    embedder = asyncio.run(embeds())
    if not json:
        typer.echo(embedder)
    said = run(settings, work)
    if json:
        print_json({"embedder": embedder, "model": said})
    else:
        typer.echo(said)
