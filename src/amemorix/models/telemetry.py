"""The refusal of the inference runtime's telemetry."""

from __future__ import annotations

import os

__all__ = ["refuse_telemetry"]


def refuse_telemetry() -> None:
    """Keep onnxruntime from writing a device id and sending events; call it before every import of onnxruntime.

    Since 1.29 its official Linux builds report to their maker unless this variable is set when they are loaded;
    its own `disable_telemetry_events` comes too late, for the import has started the uploader by then.
    """
    os.environ["ORT_DISABLE_TELEMETRY"] = "1"
