"""The wire format of OpenAI's chat completions, as real servers speak it. Pure: bytes in, meaning out.

Servers differ where the specification is silent, and each difference met here is one that breaks other clients: two
tool calls at one index (Ollama), calls without an index (Gemini), calls without an id, usage repeated or missing,
events without data, a whole completion instead of a stream. What cannot be read at all is `Malformed`.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from quoth.domain import Message, ModelTurn, Tool, ToolCall

DONE = "[DONE]"
LONGEST_EVENT = 8 * 2**20


class Malformed(Exception):
    """The server said something that is not a chat completion."""


class ReportedFault(Exception):
    """The server reported an error inside a stream that had begun well."""


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


def _message(message: Message) -> dict[str, Any]:
    body: dict[str, Any] = {"role": message.role, "content": message.content}
    if message.tool_calls:
        body["tool_calls"] = [
            {"id": call.id, "type": "function", "function": {"name": call.name or "unknown", "arguments": _sound(call)}}
            for call in message.tool_calls
        ]
    if message.tool_call_id is not None:
        body["tool_call_id"] = message.tool_call_id
    return body


def _sound(call: ToolCall) -> str:
    """Arguments as they may be said again: servers refuse a conversation in which a model once wrote no JSON."""
    try:
        return call.arguments if isinstance(json.loads(call.arguments), dict) else "{}"
    except ValueError:
        return "{}"


class EventLines:
    """Bytes as they arrive → the data of each event. Comments, other fields and events without data are nothing."""

    def __init__(self) -> None:
        self._rest = b""
        self._data: list[bytes] = []

    def feed(self, block: bytes) -> Iterator[str]:
        *lines, self._rest = (self._rest + block).replace(b"\r\n", b"\n").split(b"\n")
        if len(self._rest) > LONGEST_EVENT:
            raise Malformed("an event has no end")
        for line in lines:
            if line.startswith(b"data:"):
                self._data.append(line[5:].removeprefix(b" "))
            elif not line.strip():
                yield from self._event()

    def end(self) -> Iterator[str]:
        """Some servers close without the empty line that ends the last event."""
        if self._rest.startswith(b"data:"):
            self._data.append(self._rest[5:].strip())
        yield from self._event()

    def _event(self) -> Iterator[str]:
        if self._data:
            data, self._data = b"\n".join(self._data), []
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
    """Gathers the chunks of one completion. `finished` tells whether it came to an end of its own, `begun` whether the
    model has made a first token, be it one of a call or of its thoughts."""

    begun: bool = False
    finished: bool = False
    truncated: bool = False
    tokens: int = 0
    prompt_tokens: int = 0
    model: str = ""
    _calls: list[_Call] = field(default_factory=list)

    def take_all(self, events: Iterable[str]) -> tuple[str, Malformed | ReportedFault | None]:
        """The events that came together in, their words out, up to one that is wrong."""
        words: list[str] = []
        try:
            for data in events:
                words.append(self.take(data))
        except (Malformed, ReportedFault) as fault:
            return "".join(words), fault
        return "".join(words), None

    def take(self, data: str) -> str:
        """One event in, its words out."""
        if data == DONE:
            self.finished = True
            return ""
        chunk = _object(data)
        if chunk.get("error"):
            raise ReportedFault(fault_message(chunk) or "no reason given")
        self._account(chunk)
        words = ""
        for choice in chunk.get("choices") or ():
            if not isinstance(choice, dict):
                raise Malformed("a choice is not an object")
            message = choice.get("delta") or choice.get("message") or {}
            self.begun = self.begun or any(value for name, value in message.items() if name != "role")
            words += _words(message.get("content"))
            for call in message.get("tool_calls") or ():
                self._take_call(call)
            if reason := choice.get("finish_reason"):
                self.finished = True
                self.truncated = reason == "length"
        return words

    def turn(self) -> ModelTurn:
        calls = tuple(
            ToolCall(id=call.id or f"call_{position}", name=call.name, arguments=call.arguments)
            for position, call in enumerate(self._calls)
        )
        return ModelTurn(
            tool_calls=calls,
            tokens=self.tokens,
            prompt_tokens=self.prompt_tokens,
            truncated=self.truncated,
            model=self.model,
        )

    def _account(self, chunk: Mapping[str, Any]) -> None:
        self.model = chunk.get("model") or self.model
        usage = chunk.get("usage")
        if isinstance(usage, dict):  # repeated by some servers, each time for the whole: the last one counts
            total = usage.get("total_tokens")
            parts = (usage.get("prompt_tokens") or 0) + (usage.get("completion_tokens") or 0)
            self.tokens = total if isinstance(total, int) else parts
            read = usage.get("prompt_tokens")
            self.prompt_tokens = read if isinstance(read, int) else 0

    def _take_call(self, delta: Any) -> None:
        if not isinstance(delta, dict):
            raise Malformed("a tool call is not an object")
        function = delta.get("function") or {}
        index, identity, name = delta.get("index"), delta.get("id") or "", function.get("name") or ""
        call = self._open_call(index, identity, name)
        if call is None:
            call = _Call(index, identity, name)
            self._calls.append(call)
        call.id = call.id or identity
        call.name = call.name or name
        call.arguments += _arguments(function.get("arguments"))

    def _open_call(self, index: int | None, identity: str, name: str) -> _Call | None:
        """The call that a delta continues; None when it begins another. Neither index nor id can be relied on: a new id
        or a name after complete arguments is a new call, whatever its index says."""
        known = [call for call in self._calls if index is None or call.index == index]
        if not known:
            return None
        last = known[-1]
        if identity and last.id and identity != last.id:
            return next((call for call in known if call.id == identity), None)
        if name and last.name and (not identity or identity != last.id) and (index is None or _complete(last)):
            return None
        return last


def _complete(call: _Call) -> bool:
    try:
        json.loads(call.arguments)
    except ValueError:
        return False
    return True


def _arguments(given: object) -> str:
    """A string by the specification; an object from servers that parse it for us."""
    if given is None:
        return ""
    return given if isinstance(given, str) else json.dumps(given)


def _words(content: object) -> str:
    if isinstance(content, str):
        return content
    if isinstance(content, list):  # content parts
        return "".join(part.get("text") or "" for part in content if isinstance(part, dict))
    return ""


def _object(data: str) -> dict[str, Any]:
    try:
        found = json.loads(data)
    except ValueError as error:
        # Half of an event may hold half of an answer, and errors are logged; a page of a proxy tells what is wrong.
        shown = "an event" if '"choices"' in data else repr(data[:80])
        raise Malformed(f"{shown} is not JSON") from error
    if not isinstance(found, dict):
        raise Malformed(f"{data[:80]!r} is not an object")
    return found


def fault_message(body: object) -> str:
    """What a server says went wrong, in any of the shapes they use."""
    if isinstance(body, list) and body:  # Gemini wraps it
        body = body[0]
    if not isinstance(body, dict):
        return ""
    error = body.get("error", body)
    if isinstance(error, str):
        return error
    return str(error.get("message") or "") if isinstance(error, dict) else ""
