"""Switch onnxruntime's telemetry off before onnxruntime is imported.

From release 1.29 on, onnxruntime's Linux packages report sessions to its vendor and keep a device id and a
database under `~/.cache/Microsoft`. A device that runs this package sends nothing, unless its owner sets
`ORT_DISABLE_TELEMETRY=0` in the environment.
"""

from __future__ import annotations

import os

VARIABLE = "ORT_DISABLE_TELEMETRY"


def switch_off() -> None:
    """Disable telemetry for this process and those that it starts.

    The variable must be set before onnxruntime is imported, because the import starts the reporting. If a
    program has imported onnxruntime first, the call stops further events.
    """
    if os.environ.setdefault(VARIABLE, "1") in ("", "0"):
        return
    import onnxruntime as ort

    disable = getattr(ort, "disable_telemetry_events", None)  # since onnxruntime 1.2
    if disable is not None:
        disable()
