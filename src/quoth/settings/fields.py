"""The settings themselves: the name, type, range, default and meaning of each. docs/settings.md lists the same."""

from __future__ import annotations

import os
import re
from dataclasses import dataclass
from ipaddress import ip_address
from pathlib import Path
from typing import Annotated, Literal, Self

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, PrivateAttr, SecretStr, model_validator

from quoth.domain import REFUSAL_SENTENCE
from quoth.settings.types import Algorithms, Folder, Folders, Names, Networks, Origins, QdrantUrls, RedisUrl, lower

PREFIX = "QUOTH_"
# Second names of variables that a `.env` may already have: from the specifications (docs/contract.md), OpenTelemetry
# and Redis.
SPECIFICATION_NAMES = {
    "database_url": "DATABASE_URL",
    "top_k": "AGENT_TOP_K",
    "similarity_threshold": "AGENT_SCORE_THRESHOLD",
    "max_turns": "AGENT_MAX_TURNS",
    "openai_api_key": "OPENAI_API_KEY",
    "openai_model": "OPENAI_MODEL",
    "openai_base_url": "OPENAI_BASE_URL",
    "gemini_api_key": "GEMINI_API_KEY",
    "cohere_api_key": "COHERE_API_KEY",
    "cohere_model": "COHERE_MODEL",
    "qdrant_url": "QDRANT_URL",
    "qdrant_api_key": "QDRANT_API_KEY",
    "qdrant_collection_name": "QDRANT_COLLECTION_NAME",
    "otel_endpoint": "OTEL_EXPORTER_OTLP_ENDPOINT",
    "redis_url": "REDIS_URL",
}
# Settings of earlier versions that no longer have any effect. Programs that still set them start.
RETIRED = frozenset({"qdrant_prefer_grpc", "qdrant_grpc_port"})
_LOG_LEVELS = Literal["debug", "info", "warning", "error"]


def _default_data_dir() -> Path:
    from platformdirs import user_data_path

    return user_data_path("quoth", appauthor=False)


class Settings(BaseModel):
    """Each field is a variable `QUOTH_<NAME>` and a key in quoth.toml; some have a second variable."""

    model_config = ConfigDict(frozen=True, extra="forbid", validate_default=True, protected_namespaces=())

    data_dir: Folder = Field(
        default_factory=_default_data_dir, description="Where indexes and the database are stored."
    )
    database_url: str = Field(
        default="",
        repr=False,  # it may contain a password
        description="The database; default: the file quoth.db in data_dir.",
    )
    database_pool_size: int = Field(
        default=5, ge=1, le=1000, description="Maximum number of connections from one worker to a PostgreSQL server."
    )
    database_timeout: float = Field(default=5.0, ge=0.1, le=600, description="Seconds to wait for the database.")
    index_timeout: float = Field(default=10.0, ge=0.1, le=600, description="Seconds to wait for the index.")
    model_dir: Folder | None = Field(default=None, description="Folder with the weights of the embedding model.")
    book: str | None = Field(default=None, min_length=1, description="The book to ask if none is named.")
    host: str = Field(default="127.0.0.1", min_length=1, description="The address `quoth serve` listens on.")
    port: int = Field(default=8000, ge=0, le=65535, description="The port `quoth serve` listens on.")
    workers: int = Field(default=1, ge=1, le=256, description="How many processes `quoth serve` starts.")
    auth: Annotated[Literal["auto", "keys", "off"], BeforeValidator(lower)] = Field(
        default="auto",
        description="Who needs a key: `auto`: every caller once a key exists; `keys`: every caller; `off`: nobody.",
    )
    rate_limit: int | None = Field(
        default=None,
        ge=0,
        le=1_000_000,
        description="Requests per minute for each key, and for each address without a key; 0: no limit; default: 100, "
        "but no limit on loopback while no key is needed.",
    )
    max_answers: int = Field(
        default=128,
        ge=1,
        le=100_000,
        description="Maximum number of answers that one process writes at once; a single caller gets at most half of "
        "them.",
    )
    redis_url: RedisUrl | None = Field(
        default=None,
        repr=False,
        description="A Redis server that counts requests for all workers; default: each worker counts alone.",
    )
    trusted_proxies: Networks = Field(
        default=(), description="Addresses or networks of proxies whose X-Forwarded-For is trusted."
    )
    cors_origins: Origins = Field(
        default=(), description="Sites whose pages may use any key; `*`: all. Public keys name their own sites."
    )
    jwt_jwks_url: str | None = Field(
        default=None,
        pattern=r"^https?://\S+$",
        description="Published keys (JWKS) of a site's own login; its tokens may ask questions.",
    )
    jwt_issuer: str | None = Field(default=None, min_length=1, description="The issuer of those tokens (`iss`).")
    jwt_audience: str | None = Field(default=None, min_length=1, description="The audience of those tokens (`aud`).")
    jwt_algorithms: Algorithms = Field(
        default=("RS256", "ES256", "EdDSA"), description="Signature algorithms that those tokens may use."
    )
    jwt_leeway: float = Field(default=30.0, ge=0, le=600, description="Seconds by which the clocks may differ.")
    ingest_roots: Folders = Field(
        default=(),
        description="Folders that may be ingested over HTTP; default: none, only known books may be ingested again.",
    )
    github_webhook_secret: SecretStr | None = Field(
        default=None, description="The secret of GitHub's webhooks; without it, webhooks are refused."
    )
    webhook_pull: bool = Field(
        default=False, description="Run `git pull --ff-only` in the book's folder when a webhook arrives?"
    )
    top_k: int = Field(default=5, ge=1, le=20, description="Maximum number of passages that an answer may use.")
    refusal_threshold: float | None = Field(
        default=None,
        ge=0,
        le=1,
        description="A question is refused if its confidence is lower; default: as measured for the models in use.",
    )
    similarity_threshold: float = Field(
        default=0.0, ge=0, le=1, description="Passages that are less similar to the question are not used."
    )
    openai_sources: bool = Field(
        default=True, description="List the sources below answers to OpenAI clients, which show only text?"
    )
    max_turns: int = Field(default=50, ge=1, le=10_000, description="Maximum number of questions in one `quoth chat`.")
    refusal_sentence: str = Field(
        default=REFUSAL_SENTENCE, min_length=1, description="The answer if the book does not hold one."
    )
    confidence: Annotated[Literal["calibrated", "spec"], BeforeValidator(lower)] = Field(
        default="calibrated",
        description="How confidence is judged: `calibrated`: by a fitted model; `spec`: by a table of similarities.",
    )
    grounding: Annotated[Literal["mark", "strict"], BeforeValidator(lower)] = Field(
        default="mark",
        description="What happens to sentences that the sources do not support: `mark` marks them, `strict` removes "
        "them.",
    )
    record_questions: bool = Field(
        default=False, description="Record refused and low-confidence questions, redacted, for the author?"
    )
    record_days: int = Field(default=90, ge=1, le=3650, description="Days after which a recorded question is deleted.")
    sharing: bool = Field(
        default=False, description="May readers share an answer by a link that anyone can open without a key?"
    )
    traces: bool = Field(default=True, description="Keep a trace of each answer for `quoth explain`?")
    trace_days: int = Field(default=14, ge=1, le=3650, description="Days after which a trace is deleted.")
    max_pages: int = Field(default=5_000, ge=1, le=1_000_000, description="Maximum number of pages that a crawl reads.")
    max_page_mb: float = Field(
        default=5.0, ge=0.001, le=1_000, description="The largest page that a crawl reads, in MB."
    )
    max_crawl_mb: float = Field(
        default=500.0, ge=0.001, le=1e6, description="Maximum size of all downloads in a crawl, in MB."
    )
    crawl_timeout: float = Field(default=10.0, ge=0.1, le=600, description="Seconds for one request in a crawl.")
    crawl_requests: int = Field(default=8, ge=1, le=64, description="Requests that a crawl makes at once.")
    allow_private: bool = Field(
        default=False, description="May a crawl reach private addresses, and ports other than 80 and 443?"
    )
    allowed_hosts: Names = Field(
        default=(),
        description="Host names that the server answers to; default: `localhost` and its addresses on loopback, all "
        "names elsewhere.",
    )
    log_level: Annotated[_LOG_LEVELS, BeforeValidator(lower)] = Field(
        default="warning", description="The lowest level of log lines to write."
    )
    log_format: Annotated[Literal["text", "json"], BeforeValidator(lower)] = Field(
        default="text", description="Log lines as text for people, or as one JSON object each."
    )
    otel_endpoint: str | None = Field(
        default=None,
        pattern=r"^https?://\S+$",
        description="An OpenTelemetry collector (OTLP over HTTP) for spans; needs quoth[telemetry].",
    )
    log_questions: bool = Field(default=False, description="May log lines contain readers' questions?")

    openai_api_key: SecretStr | None = Field(
        default=None, description="API key for OpenAI, or for the server at openai_base_url."
    )
    openai_model: str | None = Field(default=None, description="The language model that writes answers.")
    openai_base_url: str | None = Field(default=None, description="Any other server that speaks OpenAI's protocol.")
    temperature: float = Field(default=0.0, ge=0, le=2, description="How freely the language model chooses its words.")
    max_tokens: int | None = Field(
        default=None,
        ge=1,
        le=1_000_000,
        description="Maximum number of tokens in one answer of the language model; default: the server's limit.",
    )
    model_first_token_timeout: float = Field(
        default=30.0, ge=0.1, le=3_600, description="Seconds within which the language model must begin to answer."
    )
    model_timeout: float = Field(
        default=60.0,
        ge=0.1,
        le=3_600,
        description="Seconds for one call to the language model, up to its last word; later words are cut off.",
    )
    gemini_api_key: SecretStr | None = Field(
        default=None, description="API key for Gemini, used if no key for OpenAI is set."
    )
    embedder: Annotated[Literal["minilm", "openai", "cohere"], BeforeValidator(lower)] = Field(
        default="minilm",
        description="What turns texts into vectors: `minilm`: a model on this machine; `openai`: any server with "
        "OpenAI's embeddings endpoint; `cohere`. After a change, books must be ingested again.",
    )
    embedding_model: str | None = Field(
        default=None, description="The embedding model for `openai`; default: text-embedding-3-small."
    )
    embedding_base_url: str | None = Field(
        default=None, description="The embedder's server; default: openai_base_url, or the provider's own."
    )
    embedding_api_key: SecretStr | None = Field(
        default=None, description="API key for the embedder's server; default: openai_api_key."
    )
    embedding_dimensions: int | None = Field(
        default=None,
        ge=2,
        le=65_536,
        description="Dimensions of a vector; default: those of the model, if it is a known one.",
    )
    embedding_tokens: int = Field(
        default=400,
        ge=32,
        le=8_000,
        description="Maximum number of tokens, cautiously estimated, in one text for `openai` or `cohere`; chunks are "
        "up to this long.",
    )
    embedding_query_prefix: str = Field(
        default="", description="For `openai`: put before each question, if the model was trained with it (`query: `)."
    )
    embedding_document_prefix: str = Field(
        default="", description="For `openai`: put before each text of a book (`passage: `)."
    )
    cohere_api_key: SecretStr | None = Field(default=None, description="API key for Cohere, for embedder = cohere.")
    cohere_model: str | None = Field(
        default=None, description="The embedding model for `cohere`; default: embed-english-v3.0."
    )
    qdrant_url: QdrantUrls = Field(
        default=(),
        repr=False,
        description="The Qdrant server for the index, or several nodes of a cluster; default: files in data_dir.",
    )
    qdrant_api_key: SecretStr | None = Field(default=None, description="API key for Qdrant.")
    qdrant_collection_name: str = Field(
        default="quoth",
        pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]{0,199}$",
        description="Collection on the Qdrant server; a small second one has the same name and -books.",
    )
    qdrant_replication_factor: int = Field(
        default=1, ge=1, le=64, description="Replicas of a new collection in a Qdrant cluster."
    )
    qdrant_shard_number: int = Field(
        default=1, ge=1, le=1024, description="Shards of a new collection in a Qdrant cluster."
    )
    qdrant_write_consistency: int | None = Field(
        default=None, ge=1, le=64, description="Replicas that must confirm a write; default: a majority."
    )
    qdrant_int8: bool = Field(
        default=False, description="Also keep the vectors of a new collection as bytes, which are compared first?"
    )
    qdrant_on_disk: bool = Field(
        default=False, description="Keep the vectors of a new collection on disk instead of in memory?"
    )
    qdrant_batch_size: int = Field(default=128, ge=1, le=10_000, description="Chunks in one write to Qdrant.")
    qdrant_timeout: float = Field(default=10.0, ge=0.1, le=600, description="Seconds for one call to Qdrant.")

    _origins: dict[str, str] = PrivateAttr(default_factory=dict)

    @model_validator(mode="after")
    def _place_the_database(self) -> Self:
        if not self.database_url:
            object.__setattr__(self, "database_url", f"sqlite:///{(self.data_dir / 'quoth.db').as_posix()}")
        return self

    @property
    def is_local(self) -> bool:
        """Whether only this machine can reach the server."""
        if self.host == "localhost":
            return True
        try:
            return ip_address(self.host).is_loopback
        except ValueError:
            return False

    def is_set(self, name: str) -> bool:
        """Whether this value was set rather than left at its default."""
        return name in self._origins

    def describe(self) -> list[SettingRow]:
        """Every setting as `quoth config` shows it, with secrets as "(set)"."""
        return [
            SettingRow(
                name=name,
                value=_shown(name, getattr(self, name)),
                source=self._origins.get(name, "default"),
                default="" if field.default_factory else _shown(name, field.default),
                help=field.description or "",
                variables=variables_of(name),
            )
            for name, field in Settings.model_fields.items()
        ]


@dataclass(frozen=True, slots=True)
class SettingRow:
    """One line of `quoth config`."""

    name: str
    value: str
    source: str
    default: str
    help: str
    variables: tuple[str, ...]


def variables_of(field: str) -> tuple[str, ...]:
    """The variables that set this field; the first one wins."""
    own = PREFIX + field.upper()
    return (own, SPECIFICATION_NAMES[field]) if field in SPECIFICATION_NAMES else (own,)


def is_secret(name: str) -> bool:
    return name in ("database_url", "qdrant_url", "redis_url") or "SecretStr" in str(
        Settings.model_fields[name].annotation
    )


def _shown(name: str, value: object) -> str:
    if value is None or value in ("", ()):
        return ""
    if isinstance(value, tuple):
        return (os.pathsep if isinstance(value[0], Path) else ", ").join(map(str, value))
    if isinstance(value, SecretStr):
        return "(set)"
    if name in ("database_url", "redis_url"):
        return re.sub(r"(?<=://)([^:/@]*):.*@", r"\1:***@", str(value))
    return str(value)
