"""`quoth chat`: one question after another in one session, in a terminal or from a pipe.

One event loop and one opened book serve the whole chat. A failed question costs one line, and the chat goes on. Ctrl-C
stops an answer that is being written. At the prompt it ends the chat, as Ctrl-D, `quit`, `exit` and `q` do.
"""

from __future__ import annotations

import io
import signal
import sys
import uuid
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, field
from pathlib import Path
from types import FrameType
from typing import Any, NoReturn

import typer

from quoth.ask.request import ChatRequest, parse
from quoth.bootstrap import Quoth
from quoth.cli.app import (
    BookId,
    DataDir,
    Json,
    Verbose,
    app,
    error_view,
    print_json,
    report,
    settings_for,
    takes_filters,
)
from quoth.cli.ask import Selection, SessionId, TopK, answered_live, given, print_stages, read_selection
from quoth.cli.background import Background, background
from quoth.cli.output import command_line, counted, decorated, harmless, print_answer, styled
from quoth.domain import Answer, Book, Turn
from quoth.errors import QuothError, SessionNotFound
from quoth.serve.views import answer_view
from quoth.settings import Settings

LEAVING = frozenset(("quit", "exit", "q"))
HISTORY = "chat_history"  # in the data directory
REMEMBERED_LINES = 1000


@app.command(epilog="Example: quoth chat --book robotics-book")
@takes_filters
def chat(
    filters: dict[str, Any],
    book: BookId = None,
    top_k: TopK = None,
    selection: Selection = None,
    session: SessionId = None,
    data_dir: DataDir = None,
    json: Json = False,
    verbose: Verbose = False,
) -> None:
    """Ask one question after another; follow-ups are understood. Leave with quit, exit, q, Ctrl-C or Ctrl-D.

    Ctrl-C also stops an answer that is being written. From a pipe, every line is one question."""
    settings = settings_for(data_dir=data_dir, verbose=verbose)
    fields = given(
        book_id=book,
        top_k=top_k,
        selected_text=read_selection(selection) if selection else None,
        filters=filters or None,
        session_id=session or str(uuid.uuid4()),
    )
    parse(
        ChatRequest, {**fields, "query": "…"}
    )  # an option that is wrong for every question is reported before the first
    live = not json and sys.stdin.isatty() and sys.stdout.isatty()
    if isinstance(sys.stdin, io.TextIOWrapper):
        sys.stdin.reconfigure(errors="replace")
    with background(settings) as pipelines:
        talk = Talk(pipelines, settings, fields, live=live, as_json=json, verbose=verbose)
        talk.open(resumed=session is not None)
        with terminated_in_good_order(), line_editing(settings.data_dir / HISTORY) if live else nullcontext():
            talk.go_on()
        talk.close(data_dir)
    if talk.failed and not live:
        raise typer.Exit(1)


@dataclass(slots=True)
class Talk:
    pipelines: Background
    settings: Settings
    fields: dict[str, Any]
    live: bool
    as_json: bool
    verbose: bool
    book: Book | None = None
    failed: int = 0
    said: list[Mapping[str, object]] = field(default_factory=list)  # for --json

    def open(self, *, resumed: bool) -> None:
        """Choose the book, once. On a terminal, say which it is and show the last exchange."""
        self.book = self.pipelines.do(lambda quoth: quoth.choose_book(self.fields.get("book_id")))
        if resumed:
            self._remind()
        if self.live:
            typer.echo(styled(f"{self.book.book_id}. Ask a question; leave with quit, Ctrl-C or Ctrl-D.", dim=True))

    def go_on(self) -> None:
        most = self.settings.max_turns
        for _ in range(most):
            question = self._question()
            if question is None:
                return
            self._turn(question)
        if self.live or self._question() is not None:  # never drop a piped question silently
            self.failed += not self.live
            sys.stderr.write(f"quoth: A chat may have at most {counted(most, 'question')} (QUOTH_MAX_TURNS).\n")

    def close(self, data_dir: Path | None) -> None:
        session = self.fields["session_id"]
        if self.as_json:
            print_json({"session_id": session, "turns": self.said})
        elif self._last_turns():
            line = f"To continue this session: {command_line('chat', '--session', session, data_dir=data_dir)}"
            typer.echo(styled(line, dim=True) if self.live else line, err=not self.live)

    def _turn(self, question: str) -> None:
        try:
            answer = self.pipelines.do(lambda quoth: self._answer(quoth, question))
        except QuothError as error:
            self.failed += 1
            self._complain(error)
            return
        except KeyboardInterrupt:
            if not self.live:
                raise
            typer.echo(styled("(stopped)\n", dim=True))
            return
        if self.verbose:
            print_stages(answer)
        if self.as_json:
            self.said.append(answer_view(answer))
        elif self.live:
            typer.echo()
        else:
            print_answer(answer)
            typer.echo()

    async def _answer(self, quoth: Quoth, text: str) -> Answer:
        assert self.book is not None
        request = parse(ChatRequest, {**self.fields, "query": text})
        question = quoth.question(request, self.book, request_id=str(uuid.uuid4()))
        return await (answered_live(quoth, question) if self.live else quoth.conversations.answer(question))

    def _complain(self, error: QuothError) -> None:
        if self.as_json:
            self.said.append(error_view(error))
        else:
            report(error, as_json=False)

    def _question(self) -> str | None:
        """The next non-empty line; None to leave."""
        while True:
            try:
                line = input(prompt() if self.live else "").strip()
            except (EOFError, KeyboardInterrupt):
                if self.live:
                    typer.echo()
                return None
            if line.lower() in LEAVING:
                return None
            if line:
                return line

    def _remind(self) -> None:
        """Show the last exchange of a resumed session."""
        turns = self._last_turns()
        if not turns:
            sys.stderr.write(f"quoth: There is no session {self.fields['session_id']} yet; this chat starts it.\n")
        for turn in turns if self.live else ():
            typer.echo(f"{styled('> ' + turn.query, bold=True)}\n{harmless(turn.response)}\n")

    def _last_turns(self) -> Sequence[Turn]:
        try:
            turns, _ = self.pipelines.do(lambda quoth: quoth.library.turns(self.fields["session_id"], limit=1))
        except SessionNotFound:
            return ()
        return turns


def prompt() -> str:
    # The marks tell the line editor that these characters take up no space on the screen.
    return "\x01\x1b[1;36m\x02> \x01\x1b[0m\x02" if decorated() else "> "


@contextmanager
def line_editing(history: Path) -> Iterator[None]:
    """Arrow keys and the questions of earlier chats; plain input lines if Python has no readline."""
    try:
        import readline
    except ImportError:
        yield
        return
    try:
        readline.read_history_file(history)
    except OSError:
        readline.clear_history()  # there is none yet, or it cannot be read
    readline.set_history_length(REMEMBERED_LINES)
    try:
        yield
    finally:
        try:
            history.parent.mkdir(parents=True, exist_ok=True)
            history.touch(mode=0o600)  # only its owner may read it
            readline.write_history_file(history)
        except OSError as error:
            sys.stderr.write(f"quoth: Cannot write the history of questions to {history}: {error.strerror}.\n")


@contextmanager
def terminated_in_good_order() -> Iterator[None]:
    """A closed window or a `kill` ends the chat cleanly."""

    def leave(number: int, _: FrameType | None) -> NoReturn:
        sys.exit(128 + number)

    numbers = [getattr(signal, name) for name in ("SIGTERM", "SIGHUP") if hasattr(signal, name)]
    before = {number: signal.signal(number, leave) for number in numbers}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
