"""Nothing leaves the device: commands connect only to viewers and the requested source."""

from __future__ import annotations

import os
import re
import shutil
import signal
import subprocess
import sys
import urllib.request
from pathlib import Path

import onnx
import pytest
from support.networks import small_cnn
from support.tiny_grafts import save_graft
from support.waiting import until

STRACE = shutil.which("strace")
_ADDRESS = re.compile(r'inet_addr\("([^"]+)"\)|inet_pton\(AF_INET6, "([^"]+)"')


def outside(trace: str) -> list[str]:
    """The lines of an strace log that name an internet address other than this machine's own."""
    own = ("127.", "::1", "::ffff:127.", "0.0.0.0")
    found = []
    for line in trace.splitlines():
        addresses = [v4 or v6 for v4, v6 in _ADDRESS.findall(line)]
        if any(address != "::" and not address.startswith(own) for address in addresses):
            found.append(line)
    return found


def environment(home: Path) -> dict[str, str]:
    """A new user's: an empty home folder, and neither our variable nor CI's, which onnxruntime obeys too."""
    kept = {k: v for k, v in os.environ.items() if k not in ("ORT_DISABLE_TELEMETRY", "CI", "XDG_CACHE_HOME")}
    return {**kept, "HOME": str(home), "NO_COLOR": "1"}


def test_the_recorder_sees_a_foreign_address() -> None:
    lines = (
        '12 connect(5, {sa_family=AF_INET, sin_port=htons(53), sin_addr=inet_addr("192.0.2.1")}, 16) = 0\n'
        '12 connect(5, {sa_family=AF_INET6, inet_pton(AF_INET6, "2001:db8::1", &sin6_addr)}, 28) = 0\n'
        '12 bind(5, {sa_family=AF_INET, sin_port=htons(0), sin_addr=inet_addr("127.0.0.1")}, 16) = 0\n'
    )
    assert len(outside(lines)) == 2


@pytest.mark.slow
def test_what_the_user_set_is_kept() -> None:
    program = "import os, fastcam_runtime; print(os.environ['ORT_DISABLE_TELEMETRY'])"
    for given, kept in ({}, "1"), ({"ORT_DISABLE_TELEMETRY": "0"}, "0"):
        env = {**{k: v for k, v in os.environ.items() if k != "ORT_DISABLE_TELEMETRY"}, **given}
        done = subprocess.run([sys.executable, "-c", program], env=env, capture_output=True, text=True)
        assert done.stdout.strip() == kept, done.stderr


@pytest.mark.slow
@pytest.mark.parametrize("package", ["fastcam_runtime", "fastcam_export", "fastcam_runtime.cli.main"])
def test_the_variable_is_set_before_onnxruntime_is_imported(package: str) -> None:
    program = f"""
import os, sys
class Watch:
    def find_spec(self, name, path=None, target=None):
        if name == "onnxruntime":
            print(os.environ.get("ORT_DISABLE_TELEMETRY"))
sys.meta_path.insert(0, Watch())
import {package}
"""
    env = {k: v for k, v in os.environ.items() if k != "ORT_DISABLE_TELEMETRY"}
    done = subprocess.run([sys.executable, "-c", program], env=env, capture_output=True, text=True)
    assert done.stdout.split() == ["1"], done.stderr


@pytest.mark.slow
@pytest.mark.skipif(STRACE is None, reason="no strace here")
@pytest.mark.parametrize("command", ["export", "inspect", "run", "bench"])
def test_a_command_talks_to_nobody(command: str, tmp_path: Path) -> None:
    home = tmp_path / "home"
    home.mkdir()
    graft = save_graft(tmp_path / "graft.onnx")
    onnx.save(small_cnn(), tmp_path / "plain.onnx")
    arguments = {
        "export": [tmp_path / "plain.onnx", tmp_path / "out.onnx"],
        "inspect": [graft],
        "run": [graft, "test://?size=160x120", "null://", "--frames", "3"],
        "bench": [graft, "--rounds", "6"],
    }[command]
    log = tmp_path / "network.txt"
    trace = [str(STRACE), "-f", "-qq", "-e", "trace=network", "-o", str(log)]
    program = [sys.executable, "-m", "fastcam_runtime", command, *map(str, arguments)]
    done = subprocess.run(
        [*trace, *program], env=environment(home), capture_output=True, text=True, timeout=240
    )
    assert done.returncode == 0, done.stderr
    assert outside(log.read_text()) == []
    assert not list(home.rglob("Microsoft*"))


@pytest.mark.slow
@pytest.mark.skipif(STRACE is None, reason="no strace here")
def test_the_live_page_talks_to_its_viewers_only(tmp_path: Path) -> None:
    home = tmp_path / "home"
    home.mkdir()
    graft = save_graft(tmp_path / "graft.onnx")
    log, errors = tmp_path / "network.txt", tmp_path / "errors.txt"
    command = [str(STRACE), "-f", "-qq", "-e", "trace=network", "-o", str(log)]
    command += [sys.executable, "-m", "fastcam_runtime", "run", str(graft), "test://?size=160x120"]
    command += ["http://127.0.0.1:0", "--loop"]
    with (
        errors.open("w") as stderr,
        subprocess.Popen(command, env=environment(home), stderr=stderr) as process,
    ):
        try:

            def address() -> str | None:
                found = re.search(r"http://127\.0\.0\.1:[1-9]\d*", errors.read_text())
                return found.group(0) if found else None

            until(lambda: address() is not None, "no page")
            page = urllib.request.urlopen(f"{address()}/", timeout=20)
            assert page.status == 200
            page.close()
        finally:
            child = subprocess.run(
                ["pgrep", "-P", str(process.pid)], capture_output=True, text=True
            ).stdout.split()
            for pid in child:
                os.kill(int(pid), signal.SIGTERM)
            process.wait(timeout=30)
    text = log.read_text()
    assert "accept" in text  # the recorder saw the page
    assert outside(text) == []
    assert not list(home.rglob("Microsoft*"))
