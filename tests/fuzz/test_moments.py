"""Signals while modules are imported, while a library computes, and at some random moments."""

from __future__ import annotations

import signal
from pathlib import Path
from random import Random

import pytest
from support.processes import started

from fuzz.moments import LONGEST, PYTHON, commands, try_once

# Sends the process Ctrl-C when it imports a module.
INTERRUPTED = """
import os, signal, sys
class Finder:
    module = sys.argv[1]
    def find_spec(self, name, path=None, target=None):
        if name == self.module:
            os.kill(os.getpid(), signal.SIGINT)
sys.meta_path.insert(0, Finder())
sys.argv = ["fastcam", "inspect", sys.argv[2]]
from fastcam_runtime.cli.main import entry
entry()
"""


@pytest.mark.slow
@pytest.mark.parametrize("module", ["onnxruntime", "cv2", "fastcam_runtime.explainer"])
def test_ctrl_c_during_imports(module: str, tmp_path: Path) -> None:
    with started("-c", INTERRUPTED, module, tmp_path / "none.onnx") as process:
        out, errors = process.communicate(timeout=60)
    assert (process.returncode, out, errors) == (-signal.SIGINT, "", "")


@pytest.mark.slow
def test_nothing_that_takes_time_is_imported_before_ctrl_c_is_quiet() -> None:
    with started("-X", "importtime", "-m", "fastcam_runtime.cli.main", "--version") as process:
        _, errors = process.communicate(timeout=60)
    names = [line.rpartition("|")[2].strip() for line in errors.splitlines()]
    first = names[names.index("runpy") + 1 : names.index("fastcam_runtime.start")]
    assert set(first) == set()


@pytest.mark.slow
def test_a_program_that_imports_the_package_keeps_its_ctrl_c() -> None:
    program = "import signal, fastcam_runtime; print(signal.getsignal(2) is signal.default_int_handler)"
    with started("-c", program) as process:
        assert process.communicate(timeout=60) == ("True\n", "")


@pytest.mark.slow  # two processes that import onnx
@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_a_library_that_computes_for_long(number: int, code: int, tmp_path: Path) -> None:
    """The handler cannot run in the main thread; the process ends all the same, and its folder goes."""
    program = (
        "import os, sys, threading\n"
        "from pathlib import Path\n"
        "import numpy as np, onnxruntime as ort\n"
        "from fastcam_export.save import interruption\n"
        "sys.path.insert(0, sys.argv[3])\n"
        "from fuzz.regressions import endless_loop\n"
        "interruption._PATIENCE = 0.2\n"
        "session = ort.InferenceSession(endless_loop().SerializeToString())\n"
        "with interruption.interrupted_once(), interruption.temporary_folder('a-', Path(sys.argv[1])):\n"
        "    threading.Timer(0.2, os.kill, (os.getpid(), int(sys.argv[2]))).start()\n"
        "    session.run(None, {'input': np.zeros((1, 3, 64, 64), np.float32)})\n"
    )
    tests = Path(__file__).parents[1]
    with started("-c", program, tmp_path, int(number), tests) as process:
        _, errors = process.communicate(timeout=60)
    assert process.returncode == code, errors
    assert "Traceback" not in errors
    assert list(tmp_path.iterdir()) == []


@pytest.mark.slow
def test_some_random_moments(tmp_path: Path) -> None:
    random = Random(3)
    for command in commands(tmp_path):
        number = random.choice((signal.SIGINT, signal.SIGTERM))
        delay = random.uniform(0.1, LONGEST / 2)
        assert try_once(command, number, delay, tmp_path) in ("", PYTHON), (command, number, delay)
