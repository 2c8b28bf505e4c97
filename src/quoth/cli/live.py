"""An answer on a terminal while it is being written: what is under way, the words as they come, then what they rest on.

In: the events of one answer. Out: text for people. A pipe never gets here: it reads the finished answer (`output`).
"""

from __future__ import annotations

import sys
from contextlib import aclosing

from quoth.bootstrap import Quoth
from quoth.cli.output import decorated, harmless, print_basis, print_unsupported, styled
from quoth.domain import Answer, AnswerEvent, Delta, Done, Question, Status

UNDER_WAY = {"retrieving": "searching the book …", "generating": "answering …"}
CLEAR_LINE = "\r\x1b[2K"


async def answered_live(quoth: Quoth, question: Question) -> Answer:
    """Ask and show. Whoever stops it finds the terminal at the beginning of a line, in no colour."""
    screen = Screen()
    try:
        async with aclosing(quoth.conversations.ask(question)) as events:
            async for event in events:
                screen.take(event)
                if isinstance(event, Done):
                    return event.answer
    finally:
        screen.leave()
    raise AssertionError("the stream of an answer ends with Done")


class Screen:
    def __init__(self) -> None:
        self._note = False  # that something is under way stands on the line
        self._open = False  # the line has words on it
        self._spoke = False

    def take(self, event: AnswerEvent) -> None:
        if isinstance(event, Status) and decorated():
            self._write(styled(UNDER_WAY[event.stage], dim=True))
            self._note = True
        elif isinstance(event, Delta) and event.text:
            self._write(harmless(event.text))
            self._spoke, self._open = True, not event.text.endswith("\n")
        elif isinstance(event, Done):
            self.leave()
            self._close(event.answer)

    def leave(self) -> None:
        self._write("\n" if self._open else "")
        self._open = False

    def _close(self, answer: Answer) -> None:
        if answer.fallback_message:
            sys.stdout.write(("\n" if self._spoke else "") + styled(answer.fallback_message, fg="yellow") + "\n")
        print_unsupported(answer.grounding)
        print_basis(answer)
        sys.stdout.flush()

    def _write(self, text: str) -> None:
        sys.stdout.write(f"{CLEAR_LINE if self._note else ''}{text}")
        sys.stdout.flush()
        self._note = False
