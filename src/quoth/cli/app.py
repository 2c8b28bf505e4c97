"""The `quoth` command: options that several commands share, and the path from a command to settings and pipelines.

In: what the user typed. Out: `Settings`, and a pipeline that runs to its end on one event loop. Knows no particular
command."""

from __future__ import annotations

import asyncio
import functools
import inspect
import json
import re
import signal
import sys
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Annotated, Any, TypeVar

import typer

from quoth.bootstrap import Quoth, bootstrap
from quoth.cli.output import harmless
from quoth.domain import Filters
from quoth.domain.versions import __version__
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
    typer.Option(
        "--data-dir", help="Where books are stored (QUOTH_DATA_DIR).", show_default="the user's data directory"
    ),
]
BookId = Annotated[str | None, typer.Option("--book", help="The book's id.", show_default="QUOTH_BOOK or the only one")]
AnyBookId = Annotated[str | None, typer.Option("--book", help="Only the book with this id.", show_default="all books")]
Json = Annotated[bool, typer.Option("--json", help="Print one JSON document and nothing else.")]
Verbose = Annotated[bool, typer.Option("--verbose", "-v", help="Print [DEBUG] lines and tracebacks on standard error.")]


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
    """Open everything, do one thing, close everything. `warm`: the embedding model will be needed. SIGTERM ends the
    work cleanly, as Ctrl-C does. (It does not raise SIGINT, because a shell may have started us with that signal
    ignored.)"""

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
    text = json.dumps(document, ensure_ascii=False, indent=2)
    # JSON does not escape these, and terminals take some of them for commands.
    sys.stdout.write(re.sub(r"[\x7f-\x9f]", lambda sign: f"\\u{ord(sign[0]):04x}", text) + "\n")


def error_view(error: QuothError) -> dict[str, Any]:
    return {"error_code": error.code, "message": error.message, "hint": error.hint, "details": dict(error.details)}


def report(error: QuothError, *, as_json: bool) -> None:
    if as_json:
        print_json(error_view(error))
    else:
        line = " ".join(error.in_full().split())
        sys.stderr.write(f"quoth: {harmless(line)}\n")


# --- the filters of a question as options, the same for every command that searches ----------------------------------


OPTIONS: dict[str, Any] = {
    "url_prefix": Annotated[str | None, typer.Option("--url-prefix", help="Only pages whose URL starts with this.")],
    "section": Annotated[str | None, typer.Option("--section", help="Only below this heading, exactly as written.")],
    "module": Annotated[str | None, typer.Option("--module", help="Only this module.")],
    "chapter_min": Annotated[int | None, typer.Option("--chapter-min", help="Only from this chapter on.")],
    "chapter_max": Annotated[int | None, typer.Option("--chapter-max", help="Only up to this chapter.")],
    "lesson": Annotated[int | None, typer.Option("--lesson", help="Only this lesson.")],
    "hardware_tier": Annotated[
        int | None, typer.Option("--hardware-tier", help="Only this hardware tier, 1 to 4, or lower.")
    ],
    "proficiency_levels": Annotated[
        list[str] | None, typer.Option("--level", help="Only this level, A1 to C2; may be repeated.")
    ],
    "layer": Annotated[str | None, typer.Option("--layer", help="Only this layer, L1 to L4.")],
}

# Options whose name differs from the field they set.
FIELDS = {"url_prefix": "source_url_prefix"}


def takes_filters(command: Callable[..., None]) -> Callable[..., None]:
    """Give a command all filter options. It receives those in use as one dict, `filters`."""

    @functools.wraps(command)
    def wrapper(**values: Any) -> None:
        used = {FIELDS.get(name, name): values.pop(name) for name in OPTIONS}
        filters = {name: value for name, value in used.items() if value is not None and value != []}
        command(**values, filters=filters)

    signature = inspect.signature(command, eval_str=True)
    own = [parameter for parameter in signature.parameters.values() if parameter.name != "filters"]
    extra = [
        inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=None, annotation=option)
        for name, option in OPTIONS.items()
    ]
    keyword_only = [parameter.replace(kind=inspect.Parameter.KEYWORD_ONLY) for parameter in own]
    wrapper.__signature__ = signature.replace(parameters=[*keyword_only, *extra])  # type: ignore[attr-defined]
    wrapper.__annotations__ = {parameter.name: parameter.annotation for parameter in [*own, *extra]}
    return wrapper


assert {FIELDS.get(name, name) for name in OPTIONS} | {"parent_doc_id"} == set(Filters.__dataclass_fields__)
