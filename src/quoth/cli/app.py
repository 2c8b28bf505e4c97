"""The `quoth` command: the options that its commands share, and how they reach settings and pipelines."""

from __future__ import annotations

import asyncio
import json
import signal
import sys
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Annotated, Any, TypeVar

import typer

from quoth import __version__
from quoth.bootstrap import Quoth, bootstrap
from quoth.errors import QuothError
from quoth.logs import set_up_logging
from quoth.settings import Settings, load_settings

T = TypeVar("T")

app = typer.Typer(
    name="quoth",
    help="Ask a technical book and trust the reply: its own words, cited at the right line, or an honest refusal.",
    epilog="Start: quoth ingest my-docs/   then: quoth ask 'How do I …?'   or: quoth serve",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    context_settings={"help_option_names": ["-h", "--help"]},
)

DataDir = Annotated[
    Path | None,
    typer.Option("--data-dir", help="Where books are kept (QUOTH_DATA_DIR).", show_default="the user's data directory"),
]
BookId = Annotated[str | None, typer.Option("--book", help="Which book.", show_default="the only one")]
Json = Annotated[bool, typer.Option("--json", help="One JSON document on standard output, nothing else.")]
Verbose = Annotated[bool, typer.Option("--verbose", "-v", help="[DEBUG] lines on standard error, tracebacks too.")]


def _version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"quoth {__version__}")
        raise typer.Exit


@app.callback()
def options(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version and exit.")
    ] = False,
) -> None:
    """Options before the command."""


def settings_for(*, data_dir: Path | None, verbose: bool = False, **overrides: Any) -> Settings:
    given = {name: value for name, value in {"data_dir": data_dir, **overrides}.items() if value is not None}
    settings = load_settings(**given)
    level = "debug" if verbose else settings.log_level
    set_up_logging(level, format=settings.log_format, log_questions=settings.log_questions)
    return settings


def run(settings: Settings, work: Callable[[Quoth], Awaitable[T]], *, warm: bool = False) -> T:
    """Join everything, do one thing, close everything. `warm` when the model will be needed. SIGTERM ends it as Ctrl-C
    does, in good order. (Raising SIGINT would not do: it is ignored where a shell started us in the background.)"""

    async def joined() -> T:
        task = asyncio.current_task()
        if task is not None and sys.platform != "win32":
            asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, task.cancel)
        async with bootstrap(settings, warm=warm) as quoth:
            return await work(quoth)

    try:
        return asyncio.run(joined())
    except asyncio.CancelledError:
        raise KeyboardInterrupt from None


def print_json(document: Any) -> None:
    sys.stdout.write(json.dumps(document, ensure_ascii=False, indent=2) + "\n")


def report(error: QuothError, *, as_json: bool) -> None:
    if as_json:
        print_json({"error_code": error.code, "message": error.message, "hint": error.hint, "details": error.details})
    else:
        line = " ".join(str(error).split())
        sys.stderr.write(f"quoth: {line}\n")
