"""OpenAI's chat completions on the wire, as real servers speak them. Pure: bytes in, meaning out.

Servers differ where the specification is silent, and each difference here breaks other clients: two tool calls at one
index (Ollama), calls without an index (Gemini), calls without an id, usage repeated or missing, events without data, a
whole completion instead of a stream. Anything unreadable is `Malformed`; anything that does not end is `Endless`, so
that no server can make this process grow. `answer_filter` decides which of a model's words are its answer.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from quoth.domain import Message, ModelTurn, Tool, ToolCall
from quoth.models.answer_filter import AnswerFilter

DONE = "[DONE]"

LONGEST_EVENT = 2**20  # bytes
LONGEST_STREAM = 32 * 2**20  # bytes, including the model's thoughts
LONGEST_ANSWER = 64_000  # characters, of words and of calls
MOST_CALLS = 32
LONGEST_NAME = 200  # characters, of a model or a tool


class Malformed(Exception):
    """The server said something that is not a chat completion."""


class ReportedFault(Exception):
    """The server reported an error inside a stream that began well."""


class Endless(Exception):
    """The answer goes on beyond any limit."""


# --- requests --------------------------------------------------------------------------------------------------------


def request_body(model: str, messages: Sequence[Message], tools: Sequence[Tool], **more: object) -> dict[str, Any]:
    body: dict[str, Any] = {"model": model, "messages": [_message(message) for message in messages], "stream": True}
    if tools:
        body["tools"] = [
            {
                "type": "function",
                "function": {"name": tool.name, "description": tool.description, "parameters": tool.parameters},
            }
            for tool in tools
        ]
        body["tool_choice"] = "auto"
    return {**body, **more}


def without_tools(messages: Sequence[Message]) -> list[Message]:
    """The same conversation for a server without tools: the search results come before the question."""
    told: list[Message] = []
    for message in messages:
        if message.role == "tool":
            found = f"What a search of the book returned:\n{message.content}"
            if told and told[-1].role == "user":
                found = f"{found}\n\n{told.pop().content}"
            told.append(Message("user", found, message.timestamp))
        elif message.content or not message.tool_calls:
            told.append(replace(message, tool_calls=()))
    return told


def _message(message: Message) -> dict[str, Any]:
    return replace(message, tool_calls=tuple(map(_sound, message.tool_calls))).to_openai()


def _sound(call: ToolCall) -> ToolCall:
    """A call that can be sent back: servers refuse a conversation in which a model once wrote broken JSON."""
    try:
        arguments = call.arguments if isinstance(json.loads(call.arguments), dict) else "{}"
    except (ValueError, RecursionError):
        arguments = "{}"
    return ToolCall(call.id, call.name or "unknown", arguments)


# --- refused parameters ----------------------------------------------------------------------------------------------


_REFUSING = frozenset((400, 404, 422, 500, 501))
# The parameters that a request can do without, and the words servers use for them.
_OPTIONAL = {
    "tools": re.compile(r"tool|function|\broles?\b", re.IGNORECASE),  # some know neither tools nor their messages
    "temperature": re.compile("temperature", re.IGNORECASE),
    "stream_options": re.compile("stream_options|include_usage", re.IGNORECASE),
    "max_tokens": re.compile("max_tokens", re.IGNORECASE),
    "max_completion_tokens": re.compile("max_completion_tokens", re.IGNORECASE),
}
# A fault about a prompt that is too long is not a refusal of tools, although it often names them as a part of it.
_TOO_LONG = re.compile(r"context|too long|too many tokens|token limit", re.IGNORECASE)


def refused_parameters(status: int, fault: str, body: Mapping[str, Any], *, guess: bool) -> frozenset[str]:
    """The parameters to leave out of the next request, because this one was refused for them.

    These are the parameters that the fault names, in whatever words. If it names none and the request had tools: all
    of them, because servers refuse tools most often. A 500 that names none may pass, and counts only with `guess`."""
    if status not in _REFUSING or _TOO_LONG.search(fault):
        return frozenset()
    sent = frozenset(name for name in _OPTIONAL if name in body)
    named = frozenset(name for name in sent if _OPTIONAL[name].search(fault))
    if named or "tools" not in sent or (status == 500 and not guess):
        return named
    return sent


def fault_message(body: object) -> str:
    """A server's error message, in any of the shapes they use."""
    if isinstance(body, list) and body:  # Gemini wraps it
        body = body[0]
    if not isinstance(body, dict):
        return ""
    error = body.get("error", body)
    if isinstance(error, str):
        return error
    return str(error.get("message") or "") if isinstance(error, dict) else ""


# --- responses -------------------------------------------------------------------------------------------------------


class EventLines:
    """Bytes as they arrive → the data of each event. Comments, other fields and events without data are dropped."""

    def __init__(self) -> None:
        self._line: list[bytes] = []  # pieces of an incomplete line
        self._data: list[bytes] = []  # lines of an incomplete event
        self._size = 0  # of both, in bytes
        self._read = 0

    def feed(self, block: bytes) -> Iterator[str]:
        *lines, rest = block.split(b"\n")
        if lines:
            lines[0] = b"".join((*self._line, lines[0]))
            self._line.clear()
        for line in lines:
            if line.startswith(b"data:"):
                self._data.append(line[5:])
                self._size += len(line)
            elif not line.strip():
                yield from self._event()
        self._line.append(rest)
        self._size += len(rest)
        self._read += len(block)
        if self._size > LONGEST_EVENT or self._read > LONGEST_STREAM:
            raise Endless("an event of its stream" if self._size > LONGEST_EVENT else "its stream")

    def end(self) -> Iterator[str]:
        """The last event, which some servers do not end with an empty line."""
        yield from self.feed(b"\n\n")

    def _event(self) -> Iterator[str]:
        data, self._data, self._size = b"\n".join(self._data), [], 0
        if text := data.decode("utf-8", errors="replace").strip():
            yield text


@dataclass(slots=True)
class _Call:
    index: int | None
    id: str
    name: str
    arguments: str = ""


@dataclass(slots=True)
class Completion:
    """Gathers the chunks of one completion. `begun`: the model has made its first token, even of a call or a thought.
    `finished`: it came to its end; `truncated`: it was cut off."""

    filter: AnswerFilter = field(default_factory=AnswerFilter)
    begun: bool = False
    finished: bool = False
    truncated: bool = False
    tokens: int = 0
    prompt_tokens: int = 0
    model: str = ""
    _size: int = 0  # of the answer so far, in characters
    _calls: list[_Call] = field(default_factory=list)

    def take_all(self, events: Iterable[str]) -> tuple[str, Malformed | ReportedFault | Endless | None]:
        """In: events that arrived together. Out: their words for the reader, up to the first broken event, and its
        fault."""
        words: list[str] = []
        fault: Malformed | ReportedFault | Endless | None = None
        try:
            for data in events:
                words.append(self._take(data))
        except (Malformed, ReportedFault, Endless) as error:
            fault = error
        shown = self._fitting(self.filter.feed("".join(words)))
        return shown, fault or (Endless("its answer") if self._size > LONGEST_ANSWER else None)

    def _take(self, data: str) -> str:
        if data == DONE:
            self.finished = True
            return ""
        chunk = _object(data)
        if chunk.get("error"):
            raise ReportedFault(fault_message(chunk) or "no reason given")
        self._account(chunk)
        return "".join([self._take_choice(choice) for choice in _items(chunk.get("choices"), "choices")])

    def finish(self) -> str:
        """The last words, which were held back until it was clear that they are for the reader."""
        return self._fitting(self.filter.finish())

    def turn(self) -> ModelTurn:
        """The end of the call. A tool call that was cut off is dropped: the rest of it is unknown."""
        calls = tuple(
            ToolCall(id=call.id or f"call_{position}", name=call.name, arguments=call.arguments)
            for position, call in enumerate(self._calls)
        )
        cut_off = not self.finished or self._size > LONGEST_ANSWER
        return ModelTurn(
            tool_calls=() if cut_off else calls,
            tokens=self.tokens,
            prompt_tokens=self.prompt_tokens,
            truncated=self.truncated or cut_off,
            model=self.model,
        )

    def _fitting(self, text: str) -> str:
        """As much of it as fits. All of it counts, so that the overflow is noticed."""
        fits = text[: max(0, LONGEST_ANSWER - self._size)]
        self._size += len(text)
        return fits

    def _account(self, chunk: Mapping[str, Any]) -> None:
        self.model = _text(chunk.get("model"))[:LONGEST_NAME] or self.model
        usage = chunk.get("usage")
        if isinstance(usage, dict):  # some servers repeat it, each time for the whole: the last one counts
            self.prompt_tokens = _count(usage.get("prompt_tokens"))
            parts = self.prompt_tokens + _count(usage.get("completion_tokens"))
            self.tokens = _count(usage.get("total_tokens")) or parts

    def _take_choice(self, choice: object) -> str:
        if not isinstance(choice, dict):
            raise Malformed("a choice is not an object")
        message = choice.get("delta") or choice.get("message") or {}
        if not isinstance(message, dict):
            raise Malformed("a delta is not an object")
        self.begun = self.begun or any(value for name, value in message.items() if name != "role")
        for call in _items(message.get("tool_calls"), "tool calls"):
            self._take_call(call)
        if reason := choice.get("finish_reason"):
            self.finished = True
            self.truncated = reason == "length"
        return _words(message.get("content"))

    def _take_call(self, delta: object) -> None:
        if not isinstance(delta, dict):
            raise Malformed("a tool call is not an object")
        function = delta.get("function") or {}
        if not isinstance(function, dict):
            raise Malformed("a function is not an object")
        index, identity, name = delta.get("index"), _text(delta.get("id")), _text(function.get("name"))[:LONGEST_NAME]
        call = self._open_call(index, identity, name)
        if call is None:
            if len(self._calls) == MOST_CALLS:
                raise Endless("the list of its calls")
            call = _Call(index, identity, name)
            self._calls.append(call)
        call.id = call.id or identity
        call.name = call.name or name
        call.arguments += self._fitting(_arguments(function.get("arguments")))

    def _open_call(self, index: int | None, identity: str, name: str) -> _Call | None:
        """The call that a delta continues; None if it begins another. Neither index nor id is reliable: a new id, or a
        name after complete arguments, is a new call, whatever its index says."""
        known = [call for call in self._calls if index is None or call.index == index]
        if not known:
            return None
        last = known[-1]
        if identity and last.id:
            return last if last.id == identity else next((call for call in known if call.id == identity), None)
        begins_another = name and last.name and (index is None or _complete(last))
        return None if begins_another else last


def _complete(call: _Call) -> bool:
    try:
        json.loads(call.arguments)
    except (ValueError, RecursionError):
        return False
    return True


def _items(given: object, what: str) -> Sequence[object]:
    if given is None:
        return ()
    if not isinstance(given, list):
        raise Malformed(f"its {what} are not a list")
    return given


def _text(given: object) -> str:
    return given if isinstance(given, str) else ""


def _count(given: object) -> int:
    return given if isinstance(given, int) and 0 <= given < 2**31 else 0


def _arguments(given: object) -> str:
    """A string by the specification; an object from servers that parse it for us."""
    if given is None:
        return ""
    return given if isinstance(given, str) else json.dumps(given)


def _words(content: object) -> str:
    """A string, or the text among its parts: some servers send thoughts as parts."""
    if isinstance(content, list):
        parts = (part for part in content if isinstance(part, dict) and part.get("type", "text") == "text")
        return "".join(_text(part.get("text")) for part in parts)
    return _text(content)


def _object(data: str) -> dict[str, Any]:
    try:
        found = json.loads(data)
    except (ValueError, RecursionError) as error:
        # Errors are logged, and part of an event may hold part of an answer; a proxy's page says what is wrong.
        shown = "an event" if '"choices"' in data else repr(data[:80])
        raise Malformed(f"{shown} is not JSON") from error
    if not isinstance(found, dict):
        raise Malformed(f"{data[:80]!r} is not an object")
    return found
