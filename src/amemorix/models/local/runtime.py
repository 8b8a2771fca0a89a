"""The inference runtime, without its telemetry."""

from __future__ import annotations

import os
from types import ModuleType
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import onnxruntime

__all__ = ["load_runtime", "open_session"]


def load_runtime() -> ModuleType:
    """The module `onnxruntime`; it must be imported nowhere else. Raises ImportError.

    Since 1.29 the runtime's official Linux builds write a device id and report to their maker unless a variable is set
    when they are loaded; its own `disable_telemetry_events` comes too late, for the import has started the uploader by then.
    """
    os.environ["ORT_DISABLE_TELEMETRY"] = "1"
    import onnxruntime

    return onnxruntime


def open_session(model: str | bytes) -> onnxruntime.InferenceSession:
    """A session on the calling thread, without the memory arena, which would keep the largest batch's memory for good."""
    runtime = load_runtime()
    options = runtime.SessionOptions()
    options.intra_op_num_threads = 1
    options.inter_op_num_threads = 1
    options.enable_cpu_mem_arena = False
    options.log_severity_level = 3
    return runtime.InferenceSession(model, options, providers=["CPUExecutionProvider"])
