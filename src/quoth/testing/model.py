"""A language model that follows a script and remembers its input. The port `ChatModel`, for tests."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Sequence
from dataclasses import dataclass, field

from quoth.domain import Message, ModelEvent, ModelText, ModelTurn, Tool, ToolCall
from quoth.errors import ModelUnavailable

Line = str | ToolCall | ModelUnavailable  # words, a call, or a failure


@dataclass(slots=True)
class ScriptedModel:
    """Each list is one call; the last one is repeated."""

    script: list[list[Line]]
    name: str = "scripted"
    tokens: int = 7  # per call
    shown: list[list[Message]] = field(default_factory=list)
    offered: list[tuple[str, ...]] = field(default_factory=list)
    closed: int = 0  # calls that the reader left
    down: str = ""  # what is wrong with it

    async def reply(self, messages: Sequence[Message], tools: Sequence[Tool] = ()) -> AsyncGenerator[ModelEvent]:
        self.shown.append(list(messages))
        self.offered.append(tuple(tool.name for tool in tools))
        lines = self.script.pop(0) if len(self.script) > 1 else self.script[0]
        calls: list[ToolCall] = []
        try:
            for line in lines:
                if isinstance(line, ModelUnavailable):
                    raise line
                if isinstance(line, ToolCall):
                    calls.append(line)
                else:
                    yield ModelText(line)
        except GeneratorExit:
            self.closed += 1
            raise
        yield ModelTurn(tuple(calls), tokens=self.tokens, model=self.name)

    async def check(self, tools: Sequence[Tool] = ()) -> str:
        return f"{self.name} answers."

    async def fault(self) -> ModelUnavailable | None:
        return ModelUnavailable(self.down) if self.down else None

    async def close(self) -> None:
        return
