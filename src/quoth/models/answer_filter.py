"""Which words of a language model are its answer: not its thoughts, and not repeated delimiters of the prompt.

In: words as they arrive, cut anywhere. Out: the words for readers, as soon as that is certain. A thought is the text
between `<think>` and `</think>` (or similar tags), or after a `<think>` that is never closed. A tag in code is code: in
a fenced block, or after an odd number of backticks on its line. Pure; knows nothing about servers.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from quoth.domain import Message

_ENDS = {f"<{name}>": f"</{name}>" for name in ("think", "thinking", "thought", "reasoning")} | {"[THINK]": "[/THINK]"}
_TAGS = (*_ENDS, *_ENDS.values())
_LONGEST_END = max(map(len, _ENDS.values()))
_DELIMITER = re.compile(r"^<<<([0-9a-f]{6})$", re.MULTILINE)  # how a prompt sets passages apart
# One pattern for all tags and all possible delimiters: any text is read in one pass.
_MARK = re.compile("|".join((*map(re.escape, _TAGS), "<<<[0-9a-f]{6}", "[0-9a-f]{6}>>>")))
_BEGIN = re.compile("|".join(map(re.escape, _ENDS)))
_END = re.compile("|".join(map(re.escape, _ENDS.values())))
_LINE_START = 40  # characters, enough to tell whether a line opens or closes a fenced block


class AnswerFilter:
    def __init__(self, messages: Sequence[Message] = (), *, thinks_first: bool = False) -> None:
        """`messages`: the prompt. With `thinks_first` the answer is expected to begin inside a thought, because some
        servers swallow the opening tag; without a closing tag, all of it is the answer after all."""
        delimiters = {found for message in messages for found in _DELIMITER.findall(message.content)}
        self._marks = (*_TAGS, *(f"<<<{one}" for one in delimiters), *(f"{one}>>>" for one in delimiters))
        self._firsts = frozenset(mark[0] for mark in self._marks)
        self._first_thought: list[str] | None = [] if thinks_first else None
        self._held = ""  # text that may become a mark
        self._end = ""  # the tag that ends the current thought
        self._line, self._ticks, self._fenced = "", 0, False  # the position in the answer's Markdown
        self.shown = False  # readers got a word
        self.thought = False  # the model had a thought
        self.unopened = False  # a thought ended that never began

    def feed(self, words: str) -> str:
        if self._first_thought is not None:
            words = self._past_first_thought(self._first_thought, words)
        if not self._held and not self._end and self._firsts.isdisjoint(words):
            return self._show(words)
        text, shown, at = self._held + words, [], 0
        while found := self._next_mark(text, at):
            start, mark = found
            shown += [self._show(text[at:start]), self._meet(mark)]
            at = start + len(mark)
        rest = _beginning_of((self._end,) if self._end else self._marks, text, at)
        self._held = text[rest:]
        return "".join((*shown, self._show(text[at:rest])))

    def finish(self) -> str:
        """The text that was held back and is not a tag after all."""
        unfinished, self._first_thought = self._first_thought or [], None
        shown = self.feed("".join(unfinished))
        rest, self._held = self._held, ""
        return shown + self._show(rest)

    def _past_first_thought(self, thought: list[str], words: str) -> str:
        """The text after the first thought; nothing until the thought has ended."""
        recent = (thought[-1] if thought else "") + words
        end = _END.search(recent)
        if end is None:
            thought[-1:] = [recent[:-_LONGEST_END], recent[-_LONGEST_END:]]
            return ""
        before = "".join(thought[:-1]) + recent[: end.start()]
        self.thought, self.unopened, self._first_thought = True, _BEGIN.search(before) is None, None
        return recent[end.end() :]

    def _next_mark(self, text: str, at: int) -> tuple[int, str] | None:
        if self._end:
            start = text.find(self._end, at)
            return (start, self._end) if start >= 0 else None
        found = _MARK.search(text, at)
        return (found.start(), found[0]) if found else None

    def _meet(self, mark: str) -> str:
        if self._end:
            self._end = ""
        elif mark not in self._marks or (mark in _TAGS and (self._fenced or self._ticks % 2)):
            return self._show(mark)
        elif mark in _ENDS:
            self._end, self.thought = _ENDS[mark], True
        elif mark in _TAGS:
            self.unopened = True
        return ""

    def _show(self, text: str) -> str:
        if self._end:
            return ""
        if self.thought and not self.shown:
            text = text.lstrip()
        self.shown = self.shown or bool(text)
        *lines, last = (self._line + text).split("\n")
        for line in lines:
            self._fenced ^= line.lstrip().startswith(("```", "~~~"))
        self._ticks = last.count("`") if lines else self._ticks + text.count("`")
        self._line = last[:_LINE_START]
        return text


def _beginning_of(marks: Sequence[str], text: str, at: int) -> int:
    """Where a mark may have begun at the end of the text, from `at` on; the text's length if nowhere."""
    longest = max(map(len, marks))
    for start in range(max(at, len(text) - longest + 1), len(text)):
        if any(mark.startswith(text[start:]) for mark in marks):
            return start
    return len(text)
