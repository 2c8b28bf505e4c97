"""One side of `benchmarks/ingestion.py`: a process that ingests a folder of Markdown when told to, and is timed.

    python benchmarks/ingesting.py ours|llamaindex|langchain
    python benchmarks/ingesting.py llamaindex|langchain FOLDER STORE    once: load the store, ingest, store again

It reads a line of JSON for each command and answers with one. Quoth runs in the project's environment, the others in
.venv-bench, so nothing is imported before the side is known. The time runs from the start of reading to the first
search that finds something: loading, splitting, embedding, storing. Every side keeps what it needs to apply an edit
later, as its own documentation describes; the others keep it in memory, Quoth on disk. Run once, as a command, they
load what they persisted, apply the edit and persist it again; Quoth's command is `quoth ingest`.

The others get the best conditions: pages are read with plain read_text if their own loader is slower, chunks have
up to 254 tokens of the model's own tokenizer (so nothing is cut off), no overlap, no metadata in the embedded text,
one call of the embedder for everything, and the batch size that was fastest beforehand.
"""

from __future__ import annotations

import asyncio
import json
import os
import resource
import sys
import time
from pathlib import Path
from typing import Any, Protocol

LIMIT = 254  # tokens of a text, not counting the two that mark its ends
EVERYTHING = 10**9
QUESTION = "What is this about?"


class Ingesting(Protocol):
    def ingest(self, folder: Path, name: str) -> None: ...

    def texts(self, name: str) -> list[str]: ...

    def set_batch(self, size: int) -> None: ...

    def save(self, name: str, store: Path) -> None: ...

    def restore(self, name: str, store: Path) -> None: ...


class Ours:
    """`quoth ingest` without the command line around it."""

    def __init__(self) -> None:
        from quoth.bootstrap import bootstrap
        from quoth.settings import load_settings

        self._loop = asyncio.new_event_loop()
        self._context = bootstrap(load_settings(data_dir=Path(os.environ["BENCH_DATA_DIR"])), warm=True)
        self._quoth = self._loop.run_until_complete(self._context.__aenter__())

    def ingest(self, folder: Path, name: str) -> None:
        self._loop.run_until_complete(self._ingest(folder, name))

    async def _ingest(self, folder: Path, name: str) -> None:
        from quoth.domain import IndexQuery
        from quoth.sources import open_source
        from quoth.text.terms import query_weights

        source = await asyncio.to_thread(open_source, str(folder), book_id=name)
        job = await self._quoth.ingest.run(source)
        assert job.status == "completed", job
        assert not job.files_failed, job
        dense = await self._quoth.embedder.embed_query(QUESTION)
        query = IndexQuery(dense=dense, sparse=query_weights(QUESTION), limit=5)
        assert (await self._quoth.index.view(name).search(query)).dense

    def texts(self, name: str) -> list[str]:
        return self._loop.run_until_complete(self._texts(name))

    async def _texts(self, name: str) -> list[str]:
        from quoth.chunks.split import embedding_text

        return [embedding_text(chunk) async for chunk in self._quoth.index.scan(name)]

    def set_batch(self, size: int) -> None:
        raise NotImplementedError("Quoth chooses its batches itself.")

    def save(self, name: str, store: Path) -> None:
        """Everything is already on disk."""

    def restore(self, name: str, store: Path) -> None:
        raise NotImplementedError("Its command is `quoth ingest`.")


class LlamaIndex:
    """IngestionPipeline with a document store, strategy upserts."""

    def __init__(self) -> None:
        from llama_index.core.node_parser import SentenceSplitter
        from llama_index.embeddings.huggingface import HuggingFaceEmbedding

        self._embedder = HuggingFaceEmbedding(model_name=os.environ["MODEL_DIR"], device="cpu", embed_batch_size=32)
        tokenizer = model_tokenizer()
        self._splitter = SentenceSplitter(chunk_size=LIMIT, chunk_overlap=0, tokenizer=tokenizer.tokenize)
        self._pipelines: dict[str, Any] = {}
        self._texts: dict[str, dict[str, str]] = {}
        self._embedder.get_text_embedding(QUESTION)

    def ingest(self, folder: Path, name: str) -> None:
        from llama_index.core import SimpleDirectoryReader
        from llama_index.core.vector_stores import VectorStoreQuery

        reader = SimpleDirectoryReader(
            str(folder), recursive=True, filename_as_id=True, file_metadata=lambda path: {}, encoding="utf-8"
        )
        if name not in self._pipelines:
            self._pipelines[name] = self._pipeline()
        pipeline = self._pipelines[name]
        nodes = pipeline.run(documents=reader.load_data())
        query = VectorStoreQuery(query_embedding=self._embedder.get_query_embedding(QUESTION), similarity_top_k=5)
        assert pipeline.vector_store.query(query).ids
        self._texts.setdefault(name, {}).update({node.node_id: node.get_content("embed") for node in nodes})

    def _pipeline(self) -> Any:
        from llama_index.core.ingestion import DocstoreStrategy, IngestionPipeline
        from llama_index.core.storage.docstore import SimpleDocumentStore
        from llama_index.core.vector_stores import SimpleVectorStore

        return IngestionPipeline(
            transformations=[self._splitter, self._embedder],
            docstore=SimpleDocumentStore(),
            docstore_strategy=DocstoreStrategy.UPSERTS,
            vector_store=SimpleVectorStore(),
            disable_cache=True,
        )

    def texts(self, name: str) -> list[str]:
        stored = self._pipelines[name].vector_store.data.embedding_dict
        return [text for node_id, text in self._texts[name].items() if node_id in stored]

    def set_batch(self, size: int) -> None:
        self._embedder.embed_batch_size = size

    def save(self, name: str, store: Path) -> None:
        pipeline = self._pipelines[name]
        pipeline.persist(str(store))
        pipeline.vector_store.persist(str(store / "vectors.json"))

    def restore(self, name: str, store: Path) -> None:
        from llama_index.core.vector_stores import SimpleVectorStore

        pipeline = self._pipelines[name] = self._pipeline()
        pipeline.load(str(store))
        pipeline.vector_store = SimpleVectorStore.from_persist_path(str(store / "vectors.json"))


class LangChain:
    """The indexing API with a record manager, cleanup incremental."""

    def __init__(self) -> None:
        from langchain_huggingface import HuggingFaceEmbeddings
        from langchain_text_splitters import RecursiveCharacterTextSplitter

        self._embedder = HuggingFaceEmbeddings(
            model_name=os.environ["MODEL_DIR"], model_kwargs={"device": "cpu"}, encode_kwargs={"batch_size": 32}
        )
        self._splitter = RecursiveCharacterTextSplitter.from_huggingface_tokenizer(
            model_tokenizer(), chunk_size=LIMIT, chunk_overlap=0
        )
        self._stores: dict[str, tuple[Any, Any]] = {}
        self._embedder.embed_query(QUESTION)

    def ingest(self, folder: Path, name: str) -> None:
        from langchain_core.documents import Document
        from langchain_core.indexing import InMemoryRecordManager, index
        from langchain_core.vectorstores import InMemoryVectorStore

        if name not in self._stores:
            manager = InMemoryRecordManager(namespace=name)
            manager.create_schema()
            self._stores[name] = manager, InMemoryVectorStore(self._embedder)
        manager, store = self._stores[name]
        pages = [
            Document(page_content=path.read_text(encoding="utf-8"), metadata={"source": str(path)})
            for path in sorted(folder.rglob("*.md"))
        ]
        index(
            self._splitter.split_documents(pages),
            manager,
            store,
            batch_size=EVERYTHING,
            cleanup="incremental",
            source_id_key="source",
            key_encoder="blake2b",
        )
        assert store.similarity_search(QUESTION, k=5)

    def texts(self, name: str) -> list[str]:
        return [entry["text"] for entry in self._stores[name][1].store.values()]

    def set_batch(self, size: int) -> None:
        self._embedder.encode_kwargs["batch_size"] = size

    def save(self, name: str, store: Path) -> None:
        """The persistent record manager needs a database; a file of its records costs less."""
        manager, vectors = self._stores[name]
        store.mkdir(exist_ok=True)
        vectors.dump(str(store / "vectors.json"))
        (store / "records.json").write_text(json.dumps(manager.records), encoding="utf-8")

    def restore(self, name: str, store: Path) -> None:
        from langchain_core.indexing import InMemoryRecordManager
        from langchain_core.vectorstores import InMemoryVectorStore

        manager = InMemoryRecordManager(namespace=name)
        manager.records = json.loads((store / "records.json").read_text(encoding="utf-8"))
        self._stores[name] = manager, InMemoryVectorStore.load(str(store / "vectors.json"), self._embedder)


def model_tokenizer() -> Any:
    from transformers import AutoTokenizer

    return AutoTokenizer.from_pretrained(os.environ["MODEL_DIR"])


def cpu() -> float:
    usage = resource.getrusage(resource.RUSAGE_SELF)
    return usage.ru_utime + usage.ru_stime


def main() -> None:
    answers, sys.stdout = sys.stdout, sys.stderr  # nothing that a library prints may look like an answer
    kinds: dict[str, type[Ingesting]] = {"ours": Ours, "llamaindex": LlamaIndex, "langchain": LangChain}
    side = kinds[sys.argv[1]]()
    if sys.argv[2:]:
        folder, store = map(Path, sys.argv[2:])
        side.restore("once", store)
        side.ingest(folder, "once")
        side.save("once", store)
        return
    print(json.dumps({"cpu": cpu()}), file=answers, flush=True)
    for line in sys.stdin:
        command = json.loads(line)
        wall, busy = time.perf_counter(), cpu()
        answer: dict[str, object] = {}
        if "batch" in command:
            side.set_batch(command["batch"])
        elif "ingest" in command:
            side.ingest(Path(command["ingest"]), command["name"])
        elif "save" in command:
            side.save(command["name"], Path(command["save"]))
        else:
            answer["texts"] = side.texts(command["texts"])
        answer |= {"wall": time.perf_counter() - wall, "cpu": cpu() - busy}
        print(json.dumps(answer), file=answers, flush=True)


if __name__ == "__main__":
    main()
