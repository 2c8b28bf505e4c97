"""What a user may set, gathered from the environment, `.env` and `quoth.toml` into one frozen `Settings`.

In: variables, two files and whatever the command line overrides. Out: checked values, each of which knows where it
came from. A wrong or unknown setting is `BadConfiguration`, never ignored. There is no global settings object:
whoever starts the program calls `load_settings` and hands the result on. Values are gathered here and not by
pydantic-settings, which can tell neither the origin of a value nor the nearest name to a misspelt one.
"""

from __future__ import annotations

import difflib
import os
import re
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from ipaddress import ip_address
from pathlib import Path
from typing import Annotated, Any, Literal, Self

from annotated_types import Ge, Le
from pydantic import (
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    PrivateAttr,
    SecretStr,
    ValidationError,
    model_validator,
)

from quoth.domain import REFUSAL_SENTENCE
from quoth.errors import BadConfiguration
from quoth.setting_types import Algorithms, Folder, Folders, Names, Networks, Origins, QdrantUrls, RedisUrl, lower

PREFIX = "QUOTH_"
CONFIG_VARIABLE = "QUOTH_CONFIG"
# Variables of our own test suite; no setting may start like this.
TEST_PREFIX = "QUOTH_TEST_"
# The five specifications name these; a `.env` written for them works as it is.
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
    "otel_endpoint": "OTEL_EXPORTER_OTLP_ENDPOINT",  # OpenTelemetry's own name for it
    "redis_url": "REDIS_URL",
}
# Settings of an earlier Quoth that have no effect any more. Programs that still set them start.
RETIRED = frozenset({"qdrant_prefer_grpc", "qdrant_grpc_port"})
_LOG_LEVELS = Literal["debug", "info", "warning", "error"]


def _default_data_dir() -> Path:
    from platformdirs import user_data_path

    return user_data_path("quoth", appauthor=False)


class Settings(BaseModel):
    """Each field is a variable `QUOTH_<NAME>` and a key of quoth.toml; some have a name of the specifications too."""

    model_config = ConfigDict(frozen=True, extra="forbid", validate_default=True, protected_namespaces=())

    data_dir: Folder = Field(default_factory=_default_data_dir, description="Where indexes and the database live.")
    database_url: str = Field(
        default="",
        repr=False,  # it may hold a password
        description="The relational store; default: the file quoth.db in data_dir.",
    )
    database_pool_size: int = Field(
        default=5, ge=1, le=1000, description="Connections of each worker to a PostgreSQL server, at most."
    )
    database_timeout: float = Field(default=5.0, ge=0.1, le=600, description="Seconds to wait for the database.")
    index_timeout: float = Field(default=10.0, ge=0.1, le=600, description="Seconds to wait for the index.")
    model_dir: Folder | None = Field(default=None, description="Folder of the embedding model's weights.")
    book: str | None = Field(default=None, min_length=1, description="The book that is asked when none is named.")
    host: str = Field(default="127.0.0.1", min_length=1, description="Address that `quoth serve` listens on.")
    port: int = Field(default=8000, ge=0, le=65535, description="Port that `quoth serve` listens on.")
    workers: int = Field(default=1, ge=1, le=256, description="Processes that `quoth serve` starts.")
    auth: Annotated[Literal["auto", "keys", "off"], BeforeValidator(lower)] = Field(
        default="auto",
        description="Who needs a key: `auto` everybody once there is one, `keys` everybody, `off` nobody.",
    )
    rate_limit: int | None = Field(
        default=None,
        ge=0,
        le=1_000_000,
        description="Requests a minute for a key, and for an address without one; 0: no limit; default: 100, but no "
        "limit on loopback while nobody needs a key.",
    )
    max_answers: int = Field(default=128, ge=1, le=100_000, description="Answers under way at once in one process.")
    redis_url: RedisUrl | None = Field(
        default=None, repr=False, description="Redis that counts requests for all workers; default: each in its memory."
    )
    trusted_proxies: Networks = Field(
        default=(), description="Addresses or networks of proxies whose X-Forwarded-For is believed."
    )
    cors_origins: Origins = Field(
        default=(), description="Sites whose pages may ask with any key; `*`: all. Public keys bring their own."
    )
    jwt_jwks_url: str | None = Field(
        default=None, pattern=r"^https?://\S+$", description="Keys of a site's own login (JWKS); its tokens may ask."
    )
    jwt_issuer: str | None = Field(default=None, min_length=1, description="Who issues those tokens (`iss`).")
    jwt_audience: str | None = Field(default=None, min_length=1, description="For whom those tokens are (`aud`).")
    jwt_algorithms: Algorithms = Field(default=("RS256", "ES256", "EdDSA"), description="How they may be signed.")
    jwt_leeway: float = Field(default=30.0, ge=0, le=600, description="Seconds by which clocks may differ.")
    ingest_roots: Folders = Field(
        default=(), description="Folders that may be named over HTTP; without any, only known books are ingested again."
    )
    github_webhook_secret: SecretStr | None = Field(
        default=None, description="What GitHub signs its webhooks with; without it they are refused."
    )
    webhook_pull: bool = Field(
        default=False, description="Should a webhook run `git pull --ff-only` in the book's folder?"
    )
    top_k: int = Field(default=5, ge=1, le=20, description="Passages an answer may use.")
    similarity_threshold: float | None = Field(
        default=None,
        ge=0,
        le=1,
        description="Least similarity of a passage; default: the calibrated one of the index.",
    )
    max_turns: int = Field(default=50, ge=1, le=10_000, description="Questions in one `quoth chat`.")
    refusal_sentence: str = Field(
        default=REFUSAL_SENTENCE, min_length=1, description="Said when the book does not hold the answer."
    )
    confidence: Annotated[Literal["calibrated", "spec"], BeforeValidator(lower)] = Field(
        default="calibrated",
        description="What is answered: `calibrated` by measured probability, `spec` by a table of similarities.",
    )
    grounding: Annotated[Literal["mark", "strict"], BeforeValidator(lower)] = Field(
        default="mark",
        description="Sentences that the sources do not support: `mark` them, or `strict`: take them out.",
    )
    record_questions: bool = Field(
        default=False, description="Should refused and low-confidence questions be kept, redacted, for the author?"
    )
    record_days: int = Field(default=90, ge=1, le=3650, description="Days after which a kept question is deleted.")
    traces: bool = Field(default=True, description="Should each answer leave a trace for `quoth explain`?")
    trace_days: int = Field(default=14, ge=1, le=3650, description="Days after which a trace is deleted.")
    max_pages: int = Field(default=5_000, ge=1, le=1_000_000, description="Pages that a crawl reads at most.")
    max_page_mb: float = Field(default=5.0, ge=0.001, le=1_000, description="Size of a crawled page at most, in MB.")
    max_crawl_mb: float = Field(default=500.0, ge=0.001, le=1e6, description="All that a crawl downloads, in MB.")
    crawl_timeout: float = Field(default=10.0, ge=0.1, le=600, description="Seconds for one request of a crawl.")
    crawl_requests: int = Field(default=8, ge=1, le=64, description="Requests of a crawl under way at once.")
    allow_private: bool = Field(
        default=False, description="May a crawl reach private addresses, and ports other than 80 and 443?"
    )
    allowed_hosts: Names = Field(
        default=(), description="Host names by which agents reach `/mcp` of a server on loopback, through a proxy."
    )
    log_level: Annotated[_LOG_LEVELS, BeforeValidator(lower)] = Field(
        default="warning", description="Least important log line that is written."
    )
    log_format: Annotated[Literal["text", "json"], BeforeValidator(lower)] = Field(
        default="text", description="Log lines for people, or one JSON object a line."
    )
    otel_endpoint: str | None = Field(
        default=None,
        pattern=r"^https?://\S+$",
        description="A collector of OpenTelemetry (OTLP over HTTP) that spans are sent to; needs quoth[telemetry].",
    )
    log_questions: bool = Field(default=False, description="May log lines hold what readers asked?")

    openai_api_key: SecretStr | None = Field(default=None, description="Key for OpenAI.")
    openai_model: str | None = Field(default=None, description="Model that writes answers.")
    openai_base_url: str | None = Field(default=None, description="Any server that speaks OpenAI's protocol.")
    temperature: float = Field(default=0.0, ge=0, le=2, description="How freely the language model chooses its words.")
    max_tokens: int | None = Field(
        default=None, ge=1, le=1_000_000, description="Tokens of one answer of the model; default: the server's limit."
    )
    model_first_token_timeout: float = Field(
        default=30.0, ge=0.1, le=3_600, description="Seconds until the language model must have begun to answer."
    )
    model_timeout: float = Field(
        default=60.0,
        ge=0.1,
        le=3_600,
        description="Seconds for one call of the model, from the request to its last word; later words are cut off.",
    )
    gemini_api_key: SecretStr | None = Field(default=None, description="Key for Gemini.")
    cohere_api_key: SecretStr | None = Field(default=None, description="Key for Cohere.")
    cohere_model: str | None = Field(default=None, description="Embedding model of Cohere.")
    qdrant_url: QdrantUrls = Field(
        default=(),
        repr=False,
        description="The Qdrant server that holds the index, or several nodes of its cluster; default: files in "
        "data_dir.",
    )
    qdrant_api_key: SecretStr | None = Field(default=None, description="Key for Qdrant.")
    qdrant_collection_name: str = Field(
        default="quoth",
        pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]{0,199}$",
        description="Collection on the Qdrant server; a small one beside it ends in -books.",
    )
    qdrant_replication_factor: int = Field(
        default=1, ge=1, le=64, description="Copies of a new collection in a Qdrant cluster."
    )
    qdrant_shard_number: int = Field(
        default=1, ge=1, le=1024, description="Parts of a new collection in a Qdrant cluster."
    )
    qdrant_write_consistency: int | None = Field(
        default=None, ge=1, le=64, description="Copies that must have a write before it counts; default: a majority."
    )
    qdrant_int8: bool = Field(
        default=False, description="Shall a new collection keep vectors also as bytes, which are compared first?"
    )
    qdrant_on_disk: bool = Field(
        default=False, description="Shall a new collection keep vectors on disk instead of in memory?"
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
        """Whether nobody but this machine can reach the server."""
        if self.host == "localhost":
            return True
        try:
            return ip_address(self.host).is_loopback
        except ValueError:
            return False

    def describe(self) -> list[SettingRow]:
        """Every setting as `quoth config` shows it; secrets only as "(set)"."""
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


@dataclass(frozen=True, slots=True)
class _Found:
    """A value that somebody wrote down, and where."""

    field: str
    value: object
    name: str  # as it is written there
    origin: str  # environment, .env, quoth.toml, option


def load_settings(
    *, environ: Mapping[str, str] | None = None, directory: Path | None = None, **overrides: object
) -> Settings:
    """Overrides (None means not given), then the environment, `.env`, `quoth.toml`, defaults.

    `QUOTH_X` wins over the specifications' name of the same setting wherever either stands, so that a key exported
    for other programs never beats the one that was written for Quoth."""
    directory = directory or Path.cwd()
    environment = os.environ if environ is None else environ
    layers = [("environment", _named(environment)), (".env", _named(_dotenv(directory / ".env")))]
    for origin, variables in layers:
        _refuse_unknown_variables(origin, variables)

    found: dict[str, _Found] = {}
    for item in (*_from_overrides(overrides), *_from_variables(layers), *_from_toml(directory, layers)):
        found.setdefault(item.field, item)
    return _validated(found)


def variables_of(field: str) -> tuple[str, ...]:
    """The variables that set this field, the strongest first."""
    own = PREFIX + field.upper()
    return (own, SPECIFICATION_NAMES[field]) if field in SPECIFICATION_NAMES else (own,)


# --- gathering ---


def _from_overrides(overrides: Mapping[str, object]) -> Iterator[_Found]:
    for name, value in overrides.items():
        if name not in Settings.model_fields:
            raise BadConfiguration(f"There is no setting {name!r}.", hint=_did_you_mean(name, Settings.model_fields))
        if value is not None:
            yield _Found(name, value, f"--{name.replace('_', '-')}", "option")


def _from_variables(layers: list[tuple[str, dict[str, str]]]) -> Iterator[_Found]:
    own_names = {field: PREFIX + field.upper() for field in Settings.model_fields}
    for names in (own_names, SPECIFICATION_NAMES):
        for origin, variables in layers:
            for field, name in names.items():
                if variables.get(name):  # NAME= with nothing behind it means not set
                    yield _Found(field, variables[name], name, origin)


def _from_toml(directory: Path, layers: list[tuple[str, dict[str, str]]]) -> Iterator[_Found]:
    chosen = next((variables[CONFIG_VARIABLE] for _, variables in layers if variables.get(CONFIG_VARIABLE)), None)
    path = directory / Path(chosen).expanduser() if chosen else directory / "quoth.toml"
    for name, value in _toml(path, required=chosen is not None).items():
        if name in RETIRED:
            continue
        if name not in Settings.model_fields:
            raise BadConfiguration(
                f"{path} sets {name!r}, which is no setting.", hint=_did_you_mean(name, Settings.model_fields)
            )
        yield _Found(name, value, name, path.name)


def _named(variables: Mapping[str, str | None]) -> dict[str, str]:
    """By upper-case name; a variable without a value counts as empty, and the exact spelling wins."""
    plain = {name.upper(): value or "" for name, value in variables.items() if not name.isupper()}
    return plain | {name: value or "" for name, value in variables.items() if name.isupper()}


def _refuse_unknown_variables(origin: str, variables: Mapping[str, str]) -> None:
    known = {PREFIX + field.upper() for field in (*Settings.model_fields, *RETIRED)} | {CONFIG_VARIABLE}
    for name in sorted(variables):
        if name.startswith(PREFIX) and not name.startswith(TEST_PREFIX) and name not in known:
            where = "in the environment" if origin == "environment" else f"in {origin}"
            raise BadConfiguration(f"{name} {where} is no setting of Quoth.", hint=_did_you_mean(name, known))


def _dotenv(path: Path) -> dict[str, str | None]:
    text = _read(path, required=False)
    if text is None:
        return {}
    from io import StringIO

    from dotenv import dotenv_values

    values = dotenv_values(stream=StringIO(text))
    for number, line in enumerate(text.splitlines(), start=1):
        ours = re.match(rf"\s*(?:export\s+)?({PREFIX}\w+)", line)
        if ours and ours[1] not in values:
            raise BadConfiguration(f"Line {number} of {path} cannot be read.", hint=f"Write {ours[1]}=value.")
    return values


def _toml(path: Path, *, required: bool) -> dict[str, Any]:
    text = _read(path, required=required)
    try:
        return tomllib.loads(text or "")
    except tomllib.TOMLDecodeError as fault:
        raise BadConfiguration(f"{path} is no TOML: {fault}.", hint='Write one key = "value" a line.') from fault


def _read(path: Path, *, required: bool) -> str | None:
    try:
        return path.read_text(encoding="utf-8-sig")
    except FileNotFoundError as fault:
        if not required:
            return None
        raise BadConfiguration(f"{path} does not exist.", hint=f"{CONFIG_VARIABLE} must name a TOML file.") from fault
    except UnicodeDecodeError as fault:
        raise BadConfiguration(f"{path} is not UTF-8 text.", hint="Save it as UTF-8.") from fault
    except OSError as fault:
        raise BadConfiguration(f"{path} cannot be read: {fault.strerror}.", hint="Check the file's rights.") from fault


# --- judging ---


def _validated(found: Mapping[str, _Found]) -> Settings:
    given = {item.field: item.value for item in found.values()}
    try:
        settings = Settings.model_validate(given)
    except ValidationError as fault:
        raise _bad_value(fault, found) from None  # pydantic's message repeats the value, and it may be a secret
    settings._origins.update({item.field: f"{item.origin} ({item.name})" for item in found.values()})
    return settings


def _bad_value(fault: ValidationError, found: Mapping[str, _Found]) -> BadConfiguration:
    problem = fault.errors(include_url=False, include_context=False)[0]
    field = str(problem["loc"][0])
    item = found[field]
    shown = "" if _is_secret(field) else f" {str(item.value)!r}"
    return BadConfiguration(
        f"{item.name} ({item.origin}) has a value that is not allowed{':' if shown else ''}{shown}.",
        hint=f"{problem['msg'].removeprefix('Value error, ')}{_range(field)}.",
    )


def _range(field: str) -> str:
    """Both ends of what is allowed; pydantic names only the one that was crossed."""
    limits = Settings.model_fields[field].metadata
    low = next((limit.ge for limit in limits if isinstance(limit, Ge)), None)
    high = next((limit.le for limit in limits if isinstance(limit, Le)), None)
    return "" if low is None or high is None else f"; allowed is {low} to {high}"


def _did_you_mean(name: str, known: Mapping[str, object] | set[str]) -> str:
    near = difflib.get_close_matches(name, sorted(known), n=1)
    return f"Did you mean {near[0]}?" if near else "`quoth config` lists the settings."


def _is_secret(name: str) -> bool:
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
