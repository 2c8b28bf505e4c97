"""Imports onnxruntime in one place, so that it reports its use to nobody.

Since version 1.29 it reports to its maker: it writes a device id and events below the user's cache folder and sends
them, unless the environment forbids it before the library is loaded. (It keeps quiet if `CI` is set, so tests do not
see it.) Everything that needs it, even through another library, calls this module first. See docs/security.md.
"""

from __future__ import annotations

import os
from functools import cache
from typing import Any


def forbid_telemetry() -> None:
    """Call it before anything imports onnxruntime."""
    os.environ["ORT_DISABLE_TELEMETRY"] = "1"


@cache
def load_onnxruntime() -> Any:
    forbid_telemetry()
    import onnxruntime  # type: ignore[import-untyped]

    return onnxruntime
