"""The foreign things that the settings name: the embedder and the reader, which work on the texts, and a Qdrant server.

In: settings. Out: adapters from `models/` that have loaded nothing yet, or the options for one. A missing key or name
is `BadConfiguration`. A named model is never replaced by another one. `bootstrap` joins them with the rest.
"""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

from quoth.errors import BadConfiguration
from quoth.ports import Embedder, Reader
from quoth.settings import Settings

if TYPE_CHECKING:
    from quoth.index.qdrant_server import QdrantOptions

OPENAI = "https://api.openai.com/v1"
COHERE = "https://api.cohere.com"

logger = logging.getLogger(__name__)

# Adapters are imported where they are built: each imports a large library.


def embedder_of(settings: Settings, threads: int | None = None) -> Embedder:
    """The embedder that the settings name, and never another."""
    if settings.embedder == "cohere":
        return _cohere(settings)
    if settings.embedder == "openai":
        return _openai(settings)
    if settings.cohere_api_key is not None and not settings.is_set("embedder"):
        logger.warning("COHERE_API_KEY is set but not used: QUOTH_EMBEDDER=cohere uses it, =minilm ends this warning")
    from quoth.models.minilm import MiniLMEmbedder

    return MiniLMEmbedder(settings.model_dir, threads=threads)


def _cohere(settings: Settings) -> Embedder:
    from quoth.models.embedding_wire import CohereEmbeddings
    from quoth.models.embeddings import EmbeddingOptions, RemoteEmbedder

    key = settings.embedding_api_key or settings.cohere_api_key
    if key is None:
        raise BadConfiguration("QUOTH_EMBEDDER is cohere, but there is no key.", hint="Set COHERE_API_KEY.")
    return RemoteEmbedder(
        EmbeddingOptions(
            settings.embedding_base_url or COHERE,
            settings.cohere_model or "embed-english-v3.0",
            CohereEmbeddings(),
            key.get_secret_value(),
            dimensions=settings.embedding_dimensions,
            tokens=settings.embedding_tokens,
            key_setting=_key_setting(settings, "COHERE_API_KEY"),
            url_setting="QUOTH_EMBEDDING_BASE_URL",
            model_setting="COHERE_MODEL",
        )
    )


def _openai(settings: Settings) -> Embedder:
    """OpenAI, or any server that speaks its protocol."""
    from quoth.models.embedding_wire import OpenAIEmbeddings
    from quoth.models.embeddings import EmbeddingOptions, RemoteEmbedder

    own_key, own_url = settings.embedding_api_key, settings.embedding_base_url
    # One server's key is never sent to another.
    key = own_key if own_url else own_key or settings.openai_api_key
    base_url = own_url or settings.openai_base_url
    if key is None and base_url is None:
        raise BadConfiguration(
            "QUOTH_EMBEDDER is openai, but there is neither a key nor a server.",
            hint="Set OPENAI_API_KEY, or QUOTH_EMBEDDING_BASE_URL for your own server.",
        )
    if base_url and not settings.embedding_model:
        raise BadConfiguration(
            "QUOTH_EMBEDDER is openai with a server of its own, but no model is named.",
            hint="Set QUOTH_EMBEDDING_MODEL to an embedding model of that server.",
        )
    return RemoteEmbedder(
        EmbeddingOptions(
            base_url or OPENAI,
            settings.embedding_model or "text-embedding-3-small",
            OpenAIEmbeddings(settings.embedding_query_prefix, settings.embedding_document_prefix),
            key.get_secret_value() if key else "",
            dimensions=settings.embedding_dimensions,
            tokens=settings.embedding_tokens,
            key_setting=_key_setting(settings, "OPENAI_API_KEY"),
            url_setting="QUOTH_EMBEDDING_BASE_URL" if own_url else "OPENAI_BASE_URL",
        )
    )


def _key_setting(settings: Settings, usual: str) -> str:
    """The variable that holds the key, for messages."""
    return "QUOTH_EMBEDDING_API_KEY" if settings.embedding_api_key else usual


def reader_of(settings: Settings, threads: int | None) -> Reader | None:
    """None if its data wheel is not installed."""
    from quoth.models.reader import PassageReader, find_reader_dir

    folder = find_reader_dir()
    return PassageReader(folder, settings.model_dir, threads=threads) if folder else None


def qdrant_options(settings: Settings) -> QdrantOptions:
    if not settings.qdrant_url:
        raise BadConfiguration("No Qdrant server is named.", hint="Set QDRANT_URL, for example http://localhost:6333.")
    from quoth.index.qdrant_server import QdrantOptions

    key = settings.qdrant_api_key
    return QdrantOptions(
        urls=settings.qdrant_url,
        api_key=key.get_secret_value() if key else None,
        collection=settings.qdrant_collection_name,
        replicas=settings.qdrant_replication_factor,
        shards=settings.qdrant_shard_number,
        write_consistency=settings.qdrant_write_consistency,
        int8=settings.qdrant_int8,
        on_disk=settings.qdrant_on_disk,
        batch=settings.qdrant_batch_size,
        timeout=settings.qdrant_timeout,
    )
