"""What has to be done before any other import: quiet Ctrl-C, and onnxruntime's telemetry switched off.

This module is the first one, so it imports only what Python itself has imported already: until
`start_quietly` is called, Ctrl-C shows a traceback.
"""

import os
import sys

TYPE_CHECKING = False  # as in `typing`, whose import takes time
if TYPE_CHECKING:
    import signal
    from types import TracebackType
else:
    import _signal as signal  # the part in C: the other part imports `enum`

TELEMETRY_VARIABLE = "ORT_DISABLE_TELEMETRY"


class _Start:
    """Whether this process is the command `fastcam`, and its modules are still being imported."""

    quiet = False


def start_quietly() -> None:
    """Let Ctrl-C end the command `fastcam` at once while its modules are imported, without a traceback.

    Python would raise KeyboardInterrupt somewhere in onnxruntime or OpenCV. Nothing is open yet, so the
    system's own way of ending a process is the right one. A failed import is one line and exit code 2.
    A program that imports this package is left alone.
    """
    if not is_command():
        return
    sys.excepthook = _cannot_start
    if signal.getsignal(signal.SIGINT) is not signal.default_int_handler:
        return
    try:
        signal.signal(signal.SIGINT, signal.SIG_DFL)
    except ValueError:  # not the main thread: this is no command
        return
    _Start.quiet = True


def started() -> None:
    """From here on, Ctrl-C is raised as KeyboardInterrupt again, and errors are `main`'s to report."""
    if sys.excepthook is _cannot_start:
        sys.excepthook = sys.__excepthook__
    if _Start.quiet:
        _Start.quiet = False
        signal.signal(signal.SIGINT, signal.default_int_handler)


def is_command() -> bool:
    """Whether Python was started as `fastcam` or `python -m fastcam_runtime…`."""
    words = sys.orig_argv
    module = words[words.index("-m") + 1] if "-m" in words[:-1] else ""
    program = os.path.basename(sys.argv[0] if sys.argv else "")
    named = os.path.splitext(program)[0] == "fastcam"
    return named or module.partition(".")[0] in ("fastcam_runtime", "fastcam_export")


def _cannot_start(kind: "type[BaseException]", error: BaseException, trace: "TracebackType | None") -> None:
    """Report an error of an import in one line: a library of the system is missing, or memory is short."""
    if "--debug" in sys.argv:
        sys.__excepthook__(kind, error, trace)
    said = " ".join(str(error).split()) or "no reason given"
    print(f"fastcam: error: cannot start: {kind.__name__}: {said}", file=sys.stderr, flush=True)
    os._exit(2)


def switch_telemetry_off() -> None:
    """Disable onnxruntime's telemetry for this process and those that it starts.

    From release 1.29 on, onnxruntime's Linux packages report sessions to its vendor and keep a device id and
    a database under `~/.cache/Microsoft`. A device that runs this package sends nothing, unless its owner
    sets `ORT_DISABLE_TELEMETRY=0` in the environment. The variable must be set before onnxruntime is
    imported, because the import starts the reporting. If a program has imported onnxruntime first, the call
    stops further events.
    """
    if os.environ.setdefault(TELEMETRY_VARIABLE, "1") in ("", "0"):
        return
    import onnxruntime as ort

    disable = getattr(ort, "disable_telemetry_events", None)  # since onnxruntime 1.2
    if disable is not None:
        disable()
