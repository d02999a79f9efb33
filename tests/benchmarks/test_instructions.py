"""Counting instructions on the emulated board: the plugin, and what is made of its output."""

from __future__ import annotations

import itertools
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from benchmarks.arm.instructions import PLUGIN, _costs, text

PROGRAM = """
#define _GNU_SOURCE
#include <unistd.h>
int main(void)
{
    getsid(0);
    for (volatile int i = 0; i < 1000; i++)
        ;
    getsid(0);
    for (volatile int i = 0; i < 2000; i++)
        ;
    getsid(0);
    return 0;
}
"""


def test_costs_are_in_percent_of_the_plain_network() -> None:
    found = _costs({"plain": 200.0, "native": 203.0})
    assert found["forms"]["native"] == {"instructions": 203.0, "percent": pytest.approx(1.5)}
    assert "+1.50 %" in text({"networks": {"net": found}})


@pytest.mark.arm
def test_the_plugin_counts_between_marks(tmp_path: Path) -> None:
    tools = ("gcc", "aarch64-linux-gnu-gcc", "qemu-aarch64")
    missing = [tool for tool in tools if shutil.which(tool) is None]
    if missing or sys.platform != "linux":
        pytest.skip(f"no {', '.join(missing)} here")
    plugin, program = tmp_path / "count.so", tmp_path / "program"
    (tmp_path / "program.c").write_text(PROGRAM)
    subprocess.run(["gcc", "-shared", "-fPIC", "-Wall", "-Werror", "-o", plugin, PLUGIN], check=True)
    command = ["aarch64-linux-gnu-gcc", "-O1", "-static", tmp_path / "program.c", "-o", program]
    subprocess.run(command, check=True)
    done = subprocess.run(["qemu-aarch64", "-plugin", plugin, program], capture_output=True, text=True)
    if "version" in done.stderr:
        pytest.skip(f"another plugin interface: {done.stderr.strip()}")
    marks = [int(number) for number in re.findall(r"^instructions (\d+)$", done.stderr, re.MULTILINE)]
    first, second = (after - before for before, after in itertools.pairwise(marks))
    # The same loop twice as often; the call itself is a few instructions.
    assert first > 4000
    assert second - 2 * first == pytest.approx(0, abs=30)
