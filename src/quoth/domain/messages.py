"""What is said between Quoth and a language model."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any, Literal, get_args

Role = Literal["system", "user", "assistant", "tool"]


@dataclass(frozen=True, slots=True)
class ToolCall:
    """What a model wants done. `arguments` is JSON as the model wrote it: it may be anything."""

    id: str
    name: str
    arguments: str


@dataclass(frozen=True, slots=True)
class Tool:
    name: str
    description: str
    parameters: Mapping[str, Any]  # JSON Schema


@dataclass(frozen=True, slots=True)
class ToolUse:
    """A search that was made for an answer: by the model's call, or before its first word. What it found is not here:
    that is the book's text, which may change."""

    call: ToolCall
    query: str  # what was searched
    results: int  # passages that were found
    average: float  # their average similarity; 0 if there are none
    timestamp: datetime
    error: str = ""  # why nothing was searched


@dataclass(frozen=True, slots=True)
class Message:
    """One entry of what a model is shown. Raises `ValueError` for one that no model may be shown."""

    role: Role
    content: str
    timestamp: datetime = field(default_factory=lambda: datetime.now(UTC), compare=False)
    tool_calls: tuple[ToolCall, ...] = ()
    tool_call_id: str | None = None

    def __post_init__(self) -> None:
        if self.role not in get_args(Role):
            raise ValueError(f"A message's role is {', '.join(get_args(Role))}; {self.role!r} is none of them.")
        if self.role == "user" and not self.content.strip():
            raise ValueError("A user's message cannot be empty.")
        if self.tool_calls and self.role != "assistant":
            raise ValueError(f"Only an assistant calls tools; this message is the {self.role}'s.")
        if self.tool_call_id is not None and self.role != "tool":
            raise ValueError(f"Only a tool answers a call; this message is the {self.role}'s.")

    def to_openai(self) -> dict[str, Any]:
        """In the format of OpenAI's chat completions."""
        body: dict[str, Any] = {"role": self.role, "content": self.content}
        if self.tool_calls:
            body["tool_calls"] = [
                {"id": call.id, "type": "function", "function": {"name": call.name, "arguments": call.arguments}}
                for call in self.tool_calls
            ]
        if self.tool_call_id is not None:
            body["tool_call_id"] = self.tool_call_id
        return body


@dataclass(frozen=True, slots=True)
class ModelText:
    """The next words of a model."""

    text: str


@dataclass(frozen=True, slots=True)
class ModelTurn:
    """The end of one call: what the model wants done, if anything, and what the call cost."""

    tool_calls: tuple[ToolCall, ...] = ()
    tokens: int = 0
    prompt_tokens: int = 0  # the part of them that was read rather than written
    truncated: bool = False  # it was cut off: by the model's own limit of words, or by ours of words and time
    model: str = ""  # as the server names it


ModelEvent = ModelText | ModelTurn
