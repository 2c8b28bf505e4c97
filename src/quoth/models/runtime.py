"""onnxruntime, imported in one place, so that it reports its use to nobody.

From version 1.29 on it reports to its maker: it writes a device id and events below the user's cache folder and sends
them, unless the environment forbids it before the library is loaded. (It keeps quiet where `CI` is set, so tests do not
see it.) Everything that needs it, also through another library, asks here first. See docs/security.md.
"""

from __future__ import annotations

import os
from functools import cache
from typing import Any


def forbid_telemetry() -> None:
    """Before onnxruntime is loaded, by whatever imports it."""
    os.environ["ORT_DISABLE_TELEMETRY"] = "1"


@cache
def load_onnxruntime() -> Any:
    forbid_telemetry()
    import onnxruntime  # type: ignore[import-untyped]

    return onnxruntime
