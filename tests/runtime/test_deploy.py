"""The service file and the guide: accepted by systemd, and naming only options that exist."""

from __future__ import annotations

import argparse
import configparser
import re
import shlex
import shutil
import subprocess
from pathlib import Path

import pytest
from fastcam_runtime.cli import run as cli_run
from support.paths import ROOT

DEPLOY = ROOT / "runtime/deploy"
SERVICE = DEPLOY / "fastcam.service"
COMMAND = "/opt/fastcam/bin/fastcam"


def parse(words: list[str]) -> argparse.Namespace:
    """What the command line makes of the words after `fastcam`."""
    parser = argparse.ArgumentParser()
    cli_run.add_parser(parser.add_subparsers())
    return parser.parse_args(words)


def environment() -> dict[str, str]:
    lines = (DEPLOY / "fastcam.env").read_text().splitlines()
    return dict(line.split("=", 1) for line in lines if line and not line.startswith("#"))


def test_service_runs_a_command_that_exists_with_settings_that_exist() -> None:
    unit = configparser.RawConfigParser(strict=False)
    unit.optionxform = str  # type: ignore[assignment,method-assign]
    unit.read(SERVICE)
    command = unit["Service"]["ExecStart"]
    settings = environment()
    for name in re.findall(r"\$\{?(\w+)", command):
        command = re.sub(rf"\$\{{{name}\}}|\${name}\b", settings[name], command)
    program, *words = shlex.split(command)
    assert program == COMMAND
    args = parse(words)
    assert str(args.model) == settings["FASTCAM_MODEL"]
    assert args.outputs == [settings["FASTCAM_OUTPUT"]]
    assert (args.size, args.every) == ((640, 480), 2)
    assert unit["Service"]["Restart"] == "on-failure"
    assert unit["Service"]["EnvironmentFile"] == "/etc/fastcam.env"


def test_systemd_accepts_the_service(tmp_path: Path) -> None:
    if shutil.which("systemd-analyze") is None:
        pytest.skip("no systemd-analyze")
    installed = tmp_path / "fastcam.service"
    installed.write_text(SERVICE.read_text().replace(COMMAND, "/bin/true"))
    verify = ["systemd-analyze", "verify", "--man=no", str(installed)]
    done = subprocess.run(verify, capture_output=True, text=True, timeout=60)
    assert (done.returncode, done.stderr) == (0, "")


def test_commands_of_the_guide_exist() -> None:
    guide = (DEPLOY / "README.md").read_text()
    commands = re.findall(rf"^{COMMAND} (run .*)$", guide, re.MULTILINE)
    assert len(commands) == 3
    for command in commands:
        assert parse(shlex.split(command)).outputs == ["http://0.0.0.0:8000"]
