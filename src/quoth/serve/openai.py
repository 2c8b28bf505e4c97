"""`/v1/chat/completions` and `/v1/models`: every OpenAI client can ask the book, unmodified.

A book is a model. The answer is the one pipeline's, word for word; its sources, confidence and grounding are in an
extra key, `quoth`, of the response or of the last chunk. Errors have OpenAI's shape beside ours in one body.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import aclosing
from dataclasses import replace

from fastapi import APIRouter, Request, Response
from fastapi.responses import JSONResponse

from quoth.bootstrap import Quoth
from quoth.domain import AnswerEvent, Book, Delta, Done, Question, Retrieved
from quoth.index import status_of
from quoth.serve.asking import answer_question, stream_answer
from quoth.serve.bodies import body_schema, read_body
from quoth.serve.deps import owner_of, quoth_of
from quoth.serve.openai_protocol import (
    PREFIX,
    Chunks,
    Completion,
    CompletionRequest,
    ModelResponse,
    ModelsResponse,
    completion_view,
    model_view,
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
        "description": "One completion; with `stream` chunks as server-sent events (`data: {…}`), then `data: [DONE]`",
        "model": Completion,
        "content": event_content(),
    },
    **_problems(400, 404, 413, 415, 503),
}


async def _read_completion(request: Request) -> tuple[CompletionRequest, Question]:
    quoth = quoth_of(request)
    asked = await read_body(request, CompletionRequest)
    question = asked.to_question(
        book=await _book_of(quoth, asked.model),
        request_id=request_id_of(request),
        top_k=quoth.settings.top_k,
        similarity_threshold=quoth.settings.similarity_threshold,
        refusal=quoth.settings.refusal_sentence,
    )
    return asked, replace(question, owner=owner_of(request))


async def _book_of(quoth: Quoth, model: str) -> Book:
    """The book that a model's name refers to; `quoth` alone is the only book, or the configured one."""
    if model == PREFIX:
        return await quoth.choose_book(None)
    book_id = model.removeprefix(f"{PREFIX}/")
    return await quoth.book(book_id)


@router.post("/chat/completions", openapi_extra=body_schema(CompletionRequest), responses=_COMPLETION)
async def completions(request: Request) -> Response:
    """Ask a book in OpenAI's words; with `stream` the same answer in chunks."""
    quoth = quoth_of(request)
    asked, question = await _read_completion(request)
    name = f"chatcmpl-{question.request_id}"
    if not asked.stream:
        answer = await answer_question(request, question)
        return JSONResponse(completion_view(answer, completion_id=name, model=asked.model))
    chunks = Chunks(completion_id=name, model=asked.model, created=quoth.clock.now(), with_usage=asked.with_usage)
    return await stream_answer(
        request, question, to_events=lambda happened: _chunk_events(happened, chunks), found=_UNNAMED, farewell=_END
    )


async def _chunk_events(events: AsyncGenerator[AnswerEvent], chunks: Chunks) -> AsyncGenerator[Event]:
    async with aclosing(events):
        async for event in events:
            if isinstance(event, Retrieved):
                yield _UNNAMED, chunks.opening()
            elif isinstance(event, Delta):
                yield _UNNAMED, chunks.words(event.text)
            elif isinstance(event, Done):
                for chunk in chunks.closing(event.answer):
                    yield _UNNAMED, chunk


@router.get("/models", responses={200: {"model": ModelsResponse}, **_problems(503)})
async def models(request: Request) -> JSONResponse:
    """Every book, as a model."""
    quoth = quoth_of(request)
    known = await quoth.books()
    body: ModelsResponse = {"object": "list", "data": [await _view_of(quoth, book) for book in known]}
    return JSONResponse(body)


@router.get("/models/{model:path}", responses={200: {"model": ModelResponse}, **_problems(404, 503)})
async def model(request: Request, model: str) -> JSONResponse:
    """One book, as a model: `quoth/<book_id>`."""
    quoth = quoth_of(request)
    return JSONResponse(await _view_of(quoth, await _book_of(quoth, model)))


async def _view_of(quoth: Quoth, book: Book) -> ModelResponse:
    status = await status_of(quoth.index, book.book_id)
    return model_view(book, status.published_at if status else None)
