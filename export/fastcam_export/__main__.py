"""`python -m fastcam_export` is `fastcam`."""

from fastcam_runtime.cli.main import entry

entry()
