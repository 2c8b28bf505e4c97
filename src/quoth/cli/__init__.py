"""The terminal door: each command parses its arguments, calls one pipeline and prints the result.

Exit codes: 0 ok · 1 failed · 2 wrong usage or configuration · 3 the book could not be read. An error is one line that
says what to do next; only --verbose shows a traceback. `main` is the one place here that catches everything.
"""

from __future__ import annotations

import os
import sys
import traceback
from typing import NoReturn

import typer

from quoth.cli import (
    ask,
    books,
    chat,
    check_links,
    config,
    demo,
    eval,
    explain,
    ingest,
    keys,
    questions,
    serve,
    transfer,
)
from quoth.cli.app import app, report
from quoth.errors import InternalError, QuothError, WrongUsage

# Importing a command's module registers it on `app`.
__all__ = [
    "app",
    "ask",
    "books",
    "chat",
    "check_links",
    "config",
    "demo",
    "eval",
    "explain",
    "ingest",
    "keys",
    "main",
    "questions",
    "serve",
    "transfer",
]

INTERRUPTED = 130  # what typer makes of Ctrl-C


def main() -> None:
    """Run the command line; every failure becomes one line and an exit code."""
    as_json, verbose = "--json" in sys.argv, bool({"-v", "--verbose"} & set(sys.argv))
    try:
        code = app(standalone_mode=False)
        if code == INTERRUPTED:
            raise KeyboardInterrupt
        leave(code)
    except KeyboardInterrupt:
        sys.stderr.write("quoth: Interrupted; everything published before is intact.\n")
        sys.exit(1)
    except BrokenPipeError:
        sys.stderr.close()  # the reader of the pipe is gone
        sys.exit(1)
    except Exception as error:  # noqa: BLE001 - the last handler: nothing may leave as a traceback
        if verbose:
            traceback.print_exc()
        known = as_quoth_error(error)
        report(known, as_json=as_json)
        sys.exit(known.exit_code)


def leave(code: int | None) -> NoReturn:
    """Leave at once. Everything is closed and printed by now; the interpreter would only spend a fifth of a second
    freeing the model."""
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(code or 0)


def as_quoth_error(error: Exception) -> QuothError:
    if isinstance(error, QuothError):
        return error
    if isinstance(error, typer.Abort):
        return QuothError("Cancelled; nothing was changed.")
    complaint = getattr(error, "format_message", None)  # typer's own: an unknown option, a missing argument
    if complaint is None:
        return InternalError(f"{type(error).__name__}: {error}")
    context = getattr(error, "ctx", None)
    command = "quoth" if context is None else context.command_path
    return WrongUsage(str(complaint()), hint=f"See `{command} --help`.")
