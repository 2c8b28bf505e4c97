"""What is said between Quoth and a language model."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal


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
class Message:
    """One entry of what a model is shown."""

    role: Literal["system", "user", "assistant", "tool"]
    content: str
    tool_calls: tuple[ToolCall, ...] = ()
    tool_call_id: str | None = None


@dataclass(frozen=True, slots=True)
class ModelText:
    """The next words of a model."""

    text: str


@dataclass(frozen=True, slots=True)
class ModelTurn:
    """The end of one call: what the model wants done, if anything, and what the call cost."""

    tool_calls: tuple[ToolCall, ...] = ()
    tokens: int = 0
    prompt_tokens: int = 0  # of them, those that were read rather than written
    truncated: bool = False  # it was cut off: by the model's own limit of words, or by ours of words and time
    model: str = ""  # as the server names it


ModelEvent = ModelText | ModelTurn
