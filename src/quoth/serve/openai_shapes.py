"""What the doors of OpenAI's protocol answer, for OpenAPI only: `quoth.serve.openai_protocol` makes the JSON."""

from __future__ import annotations

from typing import Literal

from pydantic import BaseModel, Field

from quoth.serve.shapes import AnswerDetails, Documented, Problem, Responses, events, problems


class OpenAIError(Documented):
    message: str = Field(examples=["The question is empty. Ask a question of at least one character."])
    type: str = Field(examples=["invalid_request_error"])
    param: str | None = Field(examples=["messages"])
    code: str = Field(examples=["EMPTY_QUERY"])


class OpenAIProblem(Problem):
    """The one problem of every door, and OpenAI's error in the same body."""

    error: OpenAIError


class AssistantMessage(Documented):
    role: Literal["assistant"]
    content: str
    refusal: None


class Choice(Documented):
    index: int
    message: AssistantMessage
    logprobs: None
    finish_reason: Literal["stop", "length"]


class Usage(Documented):
    prompt_tokens: int = Field(description="Of all calls of a language model; 0 where none is configured")
    completion_tokens: int
    total_tokens: int


class Completion(Documented):
    id: str = Field(examples=["chatcmpl-6a1f7a9e-2f7e-4c3e-9d57-0d5a3d7b6f10"])
    object: Literal["chat.completion"]
    created: int
    model: str = Field(examples=["quoth/my-book"])
    choices: list[Choice]
    usage: Usage
    quoth: AnswerDetails = Field(description="Sources, confidence, grounding: what `POST /chat` says beside the text")


class ModelResponse(Documented):
    """A book."""

    id: str = Field(examples=["quoth/my-book"])
    object: Literal["model"]
    created: int = Field(description="When its index was last published")
    owned_by: str = Field(examples=["quoth"])
    title: str = Field(examples=["My book"])


class ModelsResponse(Documented):
    object: Literal["list"]
    data: list[ModelResponse]


def openai_answers(model: type[BaseModel], *errors: int) -> Responses:
    return {200: {"model": model}, **problems(*errors, shape=OpenAIProblem.__name__)}


COMPLETION: Responses = {
    200: {
        "description": "One completion; with `stream` chunks as server-sent events (`data: {…}`), then `data: [DONE]`",
        "model": Completion,
        "content": events(),
    },
    **problems(400, 404, 413, 415, 503, shape=OpenAIProblem.__name__),
}
