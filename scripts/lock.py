"""Resolve pyproject.toml into requirements/*.lock, complete and hashed, for every platform: `run` is the default
install, `cluster` is for the container, `dev` is everything.

Needs `uv`. Leaves out the packages in requirements/exclude.txt; writes no index host.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
LOCKS = {
    "run.lock": ["--group", "weights"],
    "cluster.lock": [
        "--group",
        "weights",
        *(f"--extra={name}" for name in ("postgres", "redis", "telemetry")),
    ],
    "dev.lock": ["--group", "weights", "--group", "dev"],
}


def main() -> None:
    uv = shutil.which("uv")
    if uv is None:
        sys.exit("uv is not on the PATH: pip install uv, in any environment, and run this again.")
    for name, parts in LOCKS.items():
        command = [uv, "pip", "compile", "pyproject.toml", "--universal", "--python-version", "3.11"]
        command += ["--generate-hashes", "--no-emit-index-url", "--no-header", "--quiet", "--upgrade"]
        command += ["--excludes", "requirements/exclude.txt", "-o", f"requirements/{name}"]
        command += parts
        if name != "run.lock":
            command += ["--constraints", "requirements/run.lock"]
        subprocess.run(command, cwd=ROOT, check=True)


if __name__ == "__main__":
    main()
