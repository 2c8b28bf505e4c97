"""`/v1/chat/completions`, `/v1/responses` and `/v1/models`: every OpenAI client can ask the book, unmodified.

A book is a model. The answer comes from the one pipeline, word for word; its sources, confidence and grounding are in
an extra key, `quoth`, of the response or of the last chunk. Errors have OpenAI's shape beside ours in one body.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, Iterable
from contextlib import aclosing
from dataclasses import replace

from fastapi import APIRouter, Request, Response
from fastapi.responses import JSONResponse

from quoth.bootstrap import Quoth
from quoth.domain import AnswerEvent, Book, Delta, Done, Question, Retrieved
from quoth.errors import UnknownPath
from quoth.index import status_of
from quoth.serve.asking import answer_question, stream_answer
from quoth.serve.bodies import body_schema, read_body
from quoth.serve.deps import owner_of, quoth_of
from quoth.serve.openai_answers import (
    PREFIX,
    Chunks,
    Completion,
    ModelResponse,
    ModelsResponse,
    completion_view,
    model_view,
    told,
)
from quoth.serve.openai_protocol import CompletionRequest
from quoth.serve.openai_responses import (
    ResponseBase,
    ResponseEvents,
    ResponseObject,
    ResponseRequest,
    response_id,
    response_view,
)
from quoth.serve.problems import OpenAIProblem, request_id_of
from quoth.serve.shapes import Responses, event_content, problems
from quoth.serve.sse import Event

router = APIRouter(prefix="/v1", tags=["openai"])

_END = b"data: [DONE]\n\n"
_UNNAMED = ""  # OpenAI names no events


def _problems(*statuses: int) -> Responses:
    return problems(*statuses, shape=OpenAIProblem.__name__)


_COMPLETION: Responses = {
    200: {
        "description": "One completion; with `stream`, chunks as server-sent events (`data: {…}`), then `data: [DONE]`",
        "model": Completion,
        "content": event_content(),
    },
    **_problems(400, 404, 413, 415, 503),
}


_RESPONSE: Responses = {
    200: {
        "description": "One response; with `stream`, its events, named by their `type`",
        "model": ResponseObject,
        "content": event_content(
            "response.created",
            "response.in_progress",
            "response.output_item.added",
            "response.content_part.added",
            "response.output_text.delta",
            "response.output_text.annotation.added",
            "response.output_text.done",
            "response.content_part.done",
            "response.output_item.done",
            "response.completed",
            "response.incomplete",
            "error",
        ),
    },
    **_problems(400, 404, 413, 415, 503),
}


async def _question_of(request: Request, asked: CompletionRequest | ResponseRequest) -> Question:
    quoth = quoth_of(request)
    question = asked.to_question(
        book=await _book_of(quoth, asked.model),
        request_id=request_id_of(request),
        top_k=quoth.settings.top_k,
        similarity_threshold=quoth.settings.similarity_threshold,
        refusal=quoth.settings.refusal_sentence,
    )
    return replace(question, owner=owner_of(request))


async def _book_of(quoth: Quoth, model: str) -> Book:
    """The book that a model's name refers to; `quoth` alone means the configured book, or the only one."""
    if model == PREFIX:
        return await quoth.choose_book(None)
    book_id = model.removeprefix(f"{PREFIX}/")
    return await quoth.book(book_id)


@router.post("/chat/completions", openapi_extra=body_schema(CompletionRequest), responses=_COMPLETION)
async def completions(request: Request) -> Response:
    """Ask a book through OpenAI's chat completions API; with `stream`, the same answer comes in chunks."""
    quoth = quoth_of(request)
    asked = await read_body(request, CompletionRequest)
    question = await _question_of(request, asked)
    name, listed = f"chatcmpl-{question.request_id}", quoth.settings.openai_sources
    if not asked.stream:
        answer = await answer_question(request, question)
        return JSONResponse(
            completion_view(answer, completion_id=name, model=asked.model, listed=listed, ignored=asked.ignored)
        )
    chunks = Chunks(name, asked.model, quoth.clock.now(), asked.with_usage, listed, asked.ignored)
    return await stream_answer(
        request, question, to_events=lambda happened: _events(happened, chunks), found=_UNNAMED, farewell=_END
    )


@router.post("/responses", openapi_extra=body_schema(ResponseRequest), responses=_RESPONSE)
async def responses(request: Request) -> Response:
    """Ask a book through OpenAI's responses API; with `stream`, the same answer comes as events."""
    quoth = quoth_of(request)
    asked = await read_body(request, ResponseRequest)
    question = await _question_of(request, asked)
    listed = quoth.settings.openai_sources
    base = ResponseBase(
        response_id(question),
        asked.model,
        int(quoth.clock.now().timestamp()),
        asked.previous_response_id,
        asked.ignored,
    )
    if not asked.stream:
        answer = await answer_question(request, question)
        return JSONResponse(response_view(base, answer, told(answer, listed=listed)))
    events = ResponseEvents(base, listed)
    return await stream_answer(
        request, question, to_events=lambda happened: _events(happened, events), found="response.created"
    )


@router.post("/completions", include_in_schema=False)
async def old_completions(request: Request) -> Response:
    """Not supported: ask a book with messages."""
    raise UnknownPath(
        "A book does not continue a text, so there is no /v1/completions.",
        hint="Use POST /v1/chat/completions or /v1/responses. In LlamaIndex's OpenAILike, set `is_chat_model=True`.",
    )


async def _events(happened: AsyncGenerator[AnswerEvent], voice: Chunks | ResponseEvents) -> AsyncGenerator[Event]:
    """The name of an event is its type; chunks have none."""
    async with aclosing(happened):
        async for event in happened:
            said: Iterable[dict[str, object]] = ()
            if isinstance(event, Retrieved):
                said = voice.opening()
            elif isinstance(event, Delta):
                said = (voice.words(event.text),)
            elif isinstance(event, Done):
                said = voice.closing(event.answer)
            for one in said:
                yield str(one.get("type", _UNNAMED)), one


@router.get("/models", responses={200: {"model": ModelsResponse}, **_problems(503)})
async def models(request: Request) -> JSONResponse:
    """Every book as a model."""
    quoth = quoth_of(request)
    known = await quoth.books()
    body: ModelsResponse = {"object": "list", "data": [await _view_of(quoth, book) for book in known]}
    return JSONResponse(body)


@router.get("/models/{model:path}", responses={200: {"model": ModelResponse}, **_problems(404, 503)})
async def model(request: Request, model: str) -> JSONResponse:
    """One book as a model: `quoth/<book_id>`."""
    quoth = quoth_of(request)
    return JSONResponse(await _view_of(quoth, await _book_of(quoth, model)))


async def _view_of(quoth: Quoth, book: Book) -> ModelResponse:
    status = await status_of(quoth.index, book.book_id)
    return model_view(book, status.published_at if status else None)
