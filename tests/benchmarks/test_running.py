"""The parts of `make bench`: they end with it, and it tells their time and memory."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from support.paths import ROOT
from support.waiting import until

from benchmarks import __main__ as bench
from benchmarks.measuring import running

FAMILY = """
import subprocess, sys, time
child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(100)"])
print(child.pid, flush=True)
time.sleep(100)
"""

PARENT = """
import sys
from benchmarks.measuring.running import Stopped, run, stopped_by_signals
try:
    with stopped_by_signals():
        run([sys.executable, "-c", sys.argv[1]], lambda seconds: None)
except Stopped as error:
    sys.exit(f"stopped by {error}")
"""


def lives(pid: int) -> bool:
    """Whether the process runs; one that has ended and waits for its parent does not."""
    try:
        state = Path(f"/proc/{pid}/stat").read_text()
    except OSError:
        return False
    return state.rpartition(")")[2].split()[0] != "Z"


@pytest.mark.slow
@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="processes are looked up in /proc")
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_children_and_their_children_end_with_the_benchmark(number: signal.Signals) -> None:
    path = os.pathsep.join([str(ROOT), os.environ.get("PYTHONPATH", "")])
    parent = subprocess.Popen(
        [sys.executable, "-c", PARENT, FAMILY],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONPATH": path},
        cwd=ROOT,
    )
    assert parent.stdout is not None
    grandchild = int(parent.stdout.readline())
    child = int(Path(f"/proc/{grandchild}/stat").read_text().rpartition(")")[2].split()[1])
    assert lives(child)
    assert lives(grandchild)
    parent.send_signal(number)
    _, said = parent.communicate(timeout=30)
    assert said.strip() == f"stopped by {number.name}"
    until(lambda: not lives(child) and not lives(grandchild))


@pytest.mark.slow
@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="memory is read from /proc")
def test_memory_is_that_of_the_whole_family() -> None:
    """Two processes of 60 MB each, at the same time."""
    hold = "import time; x = bytearray(60_000_000); time.sleep(1)"
    both = f"import subprocess, sys\np = subprocess.Popen([sys.executable, '-c', {hold!r}])\n{hold}\np.wait()"
    ended = running.run([sys.executable, "-c", both], lambda seconds: None)
    assert ended.code == 0
    assert 120e6 < ended.peak_bytes < 250e6
    assert ended.seconds >= 1


def test_a_failure_is_told() -> None:
    assert running.run([sys.executable, "-c", "import sys; sys.exit(3)"], lambda seconds: None).code == 3


def test_the_remaining_time_follows_the_pace() -> None:
    remaining = running.Remaining({"a": 4, "b": 2, "c": 1})
    assert remaining.text("a") == "about 7 min left"
    assert remaining.text("a", 60) == "about 6 min left"
    remaining.finish("a", 8 * 60)  # twice as long as usual
    assert remaining.text("b") == "about 6 min left"
    remaining.finish("b", 4 * 60)
    assert remaining.text("c", 60) == "about 60 s left"
    assert remaining.text("c", 3600) == "about 6 min left"  # far too long: it is not said to be over


def test_every_part_has_a_usual_time_and_quick_options() -> None:
    assert set(bench.MINUTES) == set(bench.PARTS)
    assert set(bench.commands(quick=True, clock="cpu")) == set(bench.QUICK) < set(bench.PARTS)
    assert sum(quick for _, quick in bench.MINUTES.values()) < 10


@pytest.mark.slow
def test_parts_are_told_with_time_and_memory(capfd: pytest.CaptureFixture[str]) -> None:
    broken = bench.run_parts({"overhead": ["--help"], "loop": ["--nonsense"]}, quick=True)
    assert broken == ["loop"]
    told = capfd.readouterr().out
    assert re.search(r"=== 1 of 2: overhead --help \(about \d+ min left\)", told)
    assert re.search(r"\nloop +0\.\d +0\.\d\d", told)
