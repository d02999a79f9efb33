"""Fuzz one target with atheris, guided by coverage.

`python -m fuzz.coverage_guided TARGET [libFuzzer's options]`; TARGET is models, metadata, ort, http or
uris. atheris is not installed by default: `pip install atheris`.
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

try:
    import atheris
except ModuleNotFoundError:
    sys.exit("fuzzing with coverage needs atheris: pip install atheris")


def main() -> None:
    """Fuzz until something is raised, or libFuzzer's options say to stop."""
    with atheris.instrument_imports(include=["fastcam_runtime", "fastcam_export"]):
        from . import seeds
        from .targets import TARGETS

    if len(sys.argv) < 2 or sys.argv[1] not in TARGETS:
        sys.exit(f"name one of {', '.join(TARGETS)}")
    name = sys.argv.pop(1)
    corpus = {
        "models": lambda: (*seeds.plain_models(), *seeds.grafted_models()),
        "metadata": lambda: [text.encode() for text in seeds.metadata_texts()],
        "ort": seeds.ort_models,
        "http": lambda: seeds.HTTP_REQUESTS,
        "uris": lambda: [uri.encode() for uri in seeds.URIS],
    }[name]()
    with tempfile.TemporaryDirectory() as folder:
        for number, data in enumerate(corpus):
            (Path(folder) / str(number)).write_bytes(data)
        atheris.Setup([*sys.argv, folder], TARGETS[name])
        atheris.Fuzz()


if __name__ == "__main__":
    main()
