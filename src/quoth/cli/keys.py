"""`quoth keys create|list|revoke`: who may use a server.

In: what a key opens and for how long. Out: the key itself, once; later only its id and what it opens.
"""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta
from enum import StrEnum
from typing import Annotated

import typer

from quoth import keys
from quoth.bootstrap import Quoth
from quoth.cli.app import DataDir, Json, Verbose, app, print_json, run, settings_for
from quoth.domain import Key
from quoth.errors import WrongUsage
from quoth.serve.library_views import KeyFields, key_view

commands = typer.Typer(
    help="Create, list and revoke server keys.",
    epilog="Example: quoth keys create --name docs-site --scope ask --public --origin https://docs.example.org",
    no_args_is_help=True,
    rich_markup_mode=None,
)
app.add_typer(commands, name="keys")

ONCE = "This key is not shown again. Send it as: Authorization: Bearer KEY"


class Scope(StrEnum):
    ask = "ask"
    ingest = "ingest"
    admin = "admin"


@commands.command(epilog="Example: quoth keys create --name ci --scope ingest --book my-docs --expires 90d")
def create(
    name: Annotated[str, typer.Option(help="Who it is for; `quoth keys list` shows it.")],
    scope: Annotated[Scope, typer.Option(help="What it opens; admin opens everything.")] = Scope.ask,
    book: Annotated[str | None, typer.Option("--book", help="The only book it opens.", show_default="all")] = None,
    public: Annotated[bool, typer.Option("--public", help="The key is visible in a web page; needs --origin.")] = False,
    origin: Annotated[
        list[str] | None,
        typer.Option(help="A site that may use the public key, such as https://docs.example.org; may be repeated."),
    ] = None,
    daily: Annotated[
        int | None,
        typer.Option(min=0, help="Model answers per day, at most; after that the book answers in its own words."),
    ] = None,
    expires: Annotated[str | None, typer.Option(help="When it expires: 90d, 12h, or 2030-12-31.")] = None,
    data_dir: DataDir = None,
    json: Json = False,
    verbose: Verbose = False,
) -> None:
    """Create a key and show it once."""
    if public != bool(origin):
        raise WrongUsage("A public key needs the sites that may use it.", hint="Give both --public and --origin URL.")
    settings = settings_for(data_dir=data_dir, verbose=verbose)

    async def work(quoth: Quoth) -> tuple[Key, str]:
        if book is not None:
            await quoth.book(book)
        now = quoth.clock.now()
        key, words = keys.make(
            name,
            scope.value,
            now=now,
            book_id=book or "",
            origins=origin or (),
            daily=daily,
            expires_at=None if expires is None else end_of(expires, now),
        )
        await quoth.library.keys.add(key)
        return key, words

    key, words = run(settings, work)
    if json:
        print_json({**key_view(key, key.created_at), "key": words})
    else:
        typer.echo(words)
        typer.echo(ONCE, err=True)


@commands.command("list", epilog="Example: quoth keys list --json")
def list_keys(data_dir: DataDir = None, json: Json = False, verbose: Verbose = False) -> None:
    """List the keys and what each opens."""

    async def work(quoth: Quoth) -> list[KeyFields]:
        return [key_view(key, quoth.clock.now()) for key in await quoth.library.keys.all()]

    rows = run(settings_for(data_dir=data_dir, verbose=verbose), work)
    if json:
        print_json({"keys": rows})
    elif not rows:
        typer.echo("There is no key. Create one: quoth keys create --name me --scope admin")
    for row in () if json else rows:
        typer.echo(line_of(row))


@commands.command(epilog="Example: quoth keys revoke 3f9c0a51b2d4")
def revoke(
    key_id: Annotated[str, typer.Argument(help="The key's id, as `quoth keys list` shows it.")],
    data_dir: DataDir = None,
    json: Json = False,
    verbose: Verbose = False,
) -> None:
    """Revoke a key, at once and for good."""

    async def work(quoth: Quoth) -> KeyFields:
        now = quoth.clock.now()
        return key_view(await quoth.library.keys.revoke(key_id, at=now), now)

    row = run(settings_for(data_dir=data_dir, verbose=verbose), work)
    if json:
        print_json(row)
    else:
        typer.echo(f"Revoked {row['key_id']} ({row['name']}).")


def end_of(written: str, now: datetime) -> datetime:
    """90d or 12h from now, or the end of a day in UTC."""
    if span := re.fullmatch(r"(\d{1,5})([dh])", written):
        return now + (timedelta(days=int(span[1])) if span[2] == "d" else timedelta(hours=int(span[1])))
    try:
        day = datetime.strptime(written, "%Y-%m-%d").replace(tzinfo=UTC)
    except ValueError:
        raise WrongUsage(
            f"--expires {written!r} is not a time.", hint="Write 90d, 12h, or a day like 2030-12-31."
        ) from None
    if (end := day + timedelta(days=1)) <= now:
        raise WrongUsage(f"--expires {written} is in the past.", hint="Give a day in the future.")
    return end


def line_of(row: KeyFields) -> str:
    facts = [row["key_id"], row["status"], row["scope"], row["name"]]
    facts += [f"book {row['book_id']}"] if row["book_id"] else []
    facts += [f"from {', '.join(row['origins'])}"] if row["origins"] else []
    facts += [f"{row['daily']} answers a day"] if row["daily"] is not None else []
    facts += [f"until {row['expires_at'][:10]}"] if row["expires_at"] else []
    return "  ".join(facts)
