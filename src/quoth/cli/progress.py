"""The progress of a long command, on standard error: one bar for `ingest`, `import`, `migrate-index` and `eval`.

In: steps done and total steps. Out: a bar that disappears when the work is done, and nothing at all if there is no
terminal. Knows nothing about the work. Rich is imported only if a bar is shown.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from quoth.cli.output import harmless

if TYPE_CHECKING:
    from rich.progress import Progress


class ProgressBar:
    """Call it after every step: it is the `Tell` of the pipelines. Without a bar it prints nothing."""

    def __init__(self, bar: Progress | None = None) -> None:
        self._bar = bar

    def __call__(self, done: float, total: int, detail: str = "") -> None:
        if self._bar is not None:
            (task,) = self._bar.task_ids
            self._bar.update(task, completed=done, total=total, detail=detail or f"{done:.0f}/{total}")

    @property
    def elapsed(self) -> float:
        """Seconds since the bar appeared."""
        return self._bar.tasks[0].elapsed or 0.0 if self._bar is not None else 0.0

    def say(self, line: str, *, always: bool = False) -> None:
        """Print a permanent line above the bar. With `always`, print it even if there is no bar."""
        if self._bar is not None:
            self._bar.console.print(harmless(line), highlight=False)
        elif always:
            sys.stderr.write(f"{harmless(line)}\n")


@contextmanager
def progress_bar(what: str, *, quiet: bool = False) -> Iterator[ProgressBar]:
    """`quiet`: the command prints a document for programs."""
    if quiet or not sys.stderr.isatty():
        yield ProgressBar()
        return
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        TextColumn("{task.fields[detail]}"),
        TimeRemainingColumn(),
    )
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        bar.add_task(what, total=None, detail="")
        yield ProgressBar(bar)
