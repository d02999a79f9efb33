"""`python -m fastcam_runtime` is `fastcam`."""

from .cli.main import entry

entry()
