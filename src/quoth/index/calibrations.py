"""The judge's numbers that were fitted to one book, in a small readable file beside its index.

`quoth eval --calibrate` writes the file; the judge of every process reads it, and notices when it changes. A file that
is damaged, was fitted for another index, or weighs a feature that this Quoth does not compute is named in the log and
not used: wrong numbers are worse than the shipped ones.
"""

from __future__ import annotations

import json
import logging
from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Any

from quoth.ask.calibration import OUTSIDE, Calibration, Logistic
from quoth.chunks.payload import is_book_id
from quoth.domain import Fingerprint
from quoth.index.generations import checksum, disk_errors, unavailable

log = logging.getLogger(__name__)

NAME = "calibration.json"
Stamp = tuple[int, int]
Fitted = tuple[Calibration, Mapping[str, Any]]  # and what it was fitted on


class CalibrationFiles:
    """`known` are the features that the judge computes."""

    def __init__(self, data_dir: Path, fingerprint: Fingerprint, known: Collection[str]) -> None:
        self._root = data_dir / "index"
        self._fingerprint = fingerprint
        self._known = frozenset(known)
        self._read: dict[str, tuple[Stamp, Fitted | None]] = {}

    def path(self, book_id: str) -> Path:
        return self._root / book_id / NAME

    def __call__(self, book_id: str) -> Calibration | None:
        fitted = self._fitted(book_id)
        return None if fitted is None else fitted[0]

    def provenance(self, book_id: str) -> Mapping[str, Any] | None:
        """What the numbers in use were fitted on."""
        fitted = self._fitted(book_id)
        return None if fitted is None else fitted[1]

    def _fitted(self, book_id: str) -> Fitted | None:
        """Each question looks at the file's time; the file is read only when that has changed."""
        if not is_book_id(book_id):
            return None
        try:
            stat = self.path(book_id).stat()
        except (FileNotFoundError, NotADirectoryError):
            return None
        except OSError as error:
            raise unavailable(error, self.path(book_id)) from error
        stamp = (stat.st_mtime_ns, stat.st_size)
        known = self._read.get(book_id)
        if known is None or known[0] != stamp:
            known = self._read[book_id] = (stamp, self._checked(self.path(book_id)))
        return known[1]

    def write(self, book_id: str, calibration: Calibration, provenance: Mapping[str, Any]) -> Path:
        """In one step: a reader finds the old numbers or the new ones."""
        path = self.path(book_id)
        document: dict[str, Any] = {
            "book_id": book_id,
            "provenance": provenance,
            "fingerprint": self._fingerprint.as_dict(),
            "judge": {"bias": calibration.judge.bias, "weights": dict(calibration.judge.weights)},
            "levels": {
                "outside": calibration.outside,
                "low": calibration.threshold,
                "medium": calibration.medium,
                "high": calibration.high,
            },
        }
        new = path.with_suffix(".new")
        with disk_errors(path.parent):
            path.parent.mkdir(parents=True, exist_ok=True)
            sealed = {**document, "sha256": checksum(document)}
            new.write_text(json.dumps(sealed, indent=2, ensure_ascii=False) + "\n", "utf-8")
            new.replace(path)
        return path

    def _checked(self, path: Path) -> Fitted | None:
        try:
            found = json.loads(path.read_text("utf-8"))
            # An earlier Quoth wrote no checksum.
            if "sha256" in found and found.pop("sha256") != checksum(found):
                raise ValueError("its checksum does not match")
            judge, levels = found["judge"], found["levels"]
            weights = {str(name): float(weight) for name, weight in judge["weights"].items()}
            calibration = Calibration(
                similarity=Logistic(0.0),  # only the judge is fitted; a passage's similarity stays the embedder's
                judge=Logistic(float(judge["bias"]), weights),
                threshold=float(levels["low"]),
                medium=float(levels["medium"]),
                high=float(levels["high"]),
                outside=float(levels.get("outside", OUTSIDE)),
            )
            fits = found["fingerprint"] == self._fingerprint.as_dict() and weights.keys() <= self._known
            fitted = calibration, dict(found["provenance"])
        except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
            log.warning("%s is damaged (%s); the shipped numbers are used instead", path, error)
            return None
        if not fits:
            log.warning("%s is not used: it was fitted for another index or judge; run `quoth eval --calibrate`", path)
        return fitted if fits else None
