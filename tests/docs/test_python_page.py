"""The examples of docs/python.md, run in order."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import fastcam_runtime
import pytest
from fastcam_models import default_model
from support.paths import ROOT


@pytest.mark.slow
def test_the_examples_of_the_python_page_run(tmp_path: Path) -> None:
    from fastcam_export import export

    outputs = ["saliency_map", "cam", "fastcam"]
    export(default_model(), tmp_path / "model-classes.onnx", outputs=outputs)
    clip = Path(fastcam_runtime.__file__).parent / "sources" / "clip"
    shutil.copy(clip / "chelsea.jpg", tmp_path / "photo.jpg")
    page = (ROOT / "docs" / "python.md").read_text(encoding="utf-8")
    blocks = re.findall(r"^```python\n(.*?)^```$", page, re.DOTALL | re.MULTILINE)
    assert len(blocks) == 3
    script = "\n".join([*blocks, "print(cat.label, cup.label, len(quick.maps), picture.shape)"])
    environment = {**os.environ, "XDG_CACHE_HOME": str(tmp_path)}
    command = [sys.executable, "-c", script]
    done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines()[-1] == "Egyptian cat espresso 0 (300, 451, 3)"
