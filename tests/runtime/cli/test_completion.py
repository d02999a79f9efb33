"""The scripts of `fastcam completion`, in the shells that they are for."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest
from fastcam_runtime.cli.main import main


@pytest.fixture
def scripts(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Path:
    for shell in ("bash", "zsh", "fish"):
        assert main(["completion", shell]) == 0
        (tmp_path / shell).write_text(capsys.readouterr().out)
    return tmp_path


def run(*command: str | Path) -> list[str]:
    done = subprocess.run(command, capture_output=True, text=True, timeout=60)
    assert (done.returncode, done.stderr) == (0, "")
    return done.stdout.split()


def in_bash(script: Path, *words: str) -> list[str]:
    """What bash offers for the last of the words."""
    program = """
source "$1"; shift
complete -p fastcam >/dev/null || exit 1
COMP_WORDS=(fastcam "$@"); COMP_CWORD=$#
_fastcam
echo "${COMPREPLY[@]}"
"""
    return run("bash", "--norc", "-c", program, "bash", script, *words)


def test_bash_completes_commands_options_and_words(scripts: Path) -> None:
    script = scripts / "bash"
    assert in_bash(script, "ex") == ["export"]
    assert set(in_bash(script, "")) >= {"run", "export", "check", "inspect", "completion"}
    assert in_bash(script, "--v") == ["--version"]
    assert in_bash(script, "export", "m.onnx", "--pre") == ["--preprocess", "--prepared"]
    assert in_bash(script, "export", "m.onnx", "--preprocess", "") == ["imagenet", "unit", "signed", "raw255"]
    assert in_bash(script, "export", "m.onnx", "--outputs", "fa") == ["fastcam"]
    assert in_bash(script, "run", "m.onnx", "0", "--blend", "f") == ["focus"]
    assert in_bash(script, "run", "m.onnx", "--view", "=", "la") == []
    assert in_bash(script, "run", "m.onnx", "--view", "=", "lo") == ["lovi"]
    assert in_bash(script, "run", "m.onnx", "--view", "=") == in_bash(script, "run", "--view", "")
    assert in_bash(script, "inspect", "m.onnx", "--debu") == ["--debug"]
    assert in_bash(script, "completion", "") == ["bash", "zsh", "fish"]


def test_bash_leaves_files_to_bash(scripts: Path) -> None:
    """Without its own candidates, the script makes bash complete file names."""
    assert in_bash(scripts / "bash", "export", "mod") == []
    assert "complete -o default -F _fastcam fastcam" in (scripts / "bash").read_text()


@pytest.mark.slow
def test_zsh_reads_its_script(scripts: Path) -> None:
    if shutil.which("zsh") is None:
        pytest.skip("no zsh here")
    program = 'autoload -U compinit && compinit -u -D; source "$1"; whence -w _fastcam'
    assert run("zsh", "-f", "-c", program, "zsh", scripts / "zsh") == ["_fastcam:", "function"]


def test_fish_completes_commands_options_and_words(scripts: Path) -> None:
    if shutil.which("fish") is None:
        pytest.skip("no fish here")
    program = f"source {scripts / 'fish'}; complete -C"
    assert run("fish", "-N", "-c", f"{program} 'fastcam ex'")[0] == "export"
    assert run("fish", "-N", "-c", f"{program} 'fastcam export --resi'")[0] == "--resize"
    assert "letterbox" in run("fish", "-N", "-c", f"{program} 'fastcam export --resize '")


def test_an_unknown_shell_is_one_line(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["completion", "tcsh"]) == 2
    assert "invalid choice: 'tcsh'" in capsys.readouterr().err
