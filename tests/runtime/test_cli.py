"""The command itself: help, dispatch, and what is imported."""

from __future__ import annotations

import shlex
import subprocess
import sys
from pathlib import Path

import pytest
from fastcam_runtime import cli
from tiny_grafts import save_graft

WORKSTATION_ONLY = {"onnx", "onnx_ir", "onnxscript", "torch", "fastcam_export"}


def test_help_lists_every_command(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as stop:
        cli.main(["--help"])
    assert stop.value.code == 0
    printed = capsys.readouterr().out
    for command in ("run", "bench", "export", "inspect", "demo", "tune"):
        assert f"\n    {command} " in printed


@pytest.mark.parametrize("command", ["run", "bench"])
def test_help_has_examples(command: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        cli.main([command, "--help"])
    assert f"fastcam {command} model" in capsys.readouterr().out


def test_version(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        cli.main(["--version"])
    assert capsys.readouterr().out.startswith("fastcam ")


@pytest.mark.parametrize("argv", [[], ["fly"], ["run"], ["bench"]])
def test_usage_errors_exit_with_2(argv: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as stop:
        cli.main(argv)
    assert stop.value.code == 2


def test_export_commands_are_passed_on_whole(monkeypatch: pytest.MonkeyPatch) -> None:
    import fastcam_export.cli

    passed = []
    monkeypatch.setattr(fastcam_export.cli, "main", lambda argv: passed.append(argv))
    assert cli.main(["export", "a.onnx", "--help"]) == 0
    assert passed == [["export", "a.onnx", "--help"]]


@pytest.mark.parametrize("missing", ["onnx", "onnx_ir"])
def test_a_device_without_the_exporter(missing: str) -> None:
    program = f"""
import sys
sys.modules[{missing!r}] = None
from fastcam_runtime.cli import main
sys.exit(main(["export", "a.onnx"]))
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=60)
    assert done.returncode == 2
    assert done.stderr == f"fastcam: error: export needs {missing}: pip install 'fastcam-edge[export]'\n"


def test_neither_onnx_nor_torch_is_imported(tmp_path: Path) -> None:
    graft = save_graft(tmp_path / "graft.onnx")
    program = f"""
import sys
from fastcam_runtime.cli import main
for argv in (["run", {str(graft)!r}, "test://", {str(tmp_path / "o.mp4")!r}, "--frames", "5", "--every", "2"],
             ["bench", {str(graft)!r}, "--rounds", "3"]):
    assert main(argv) == 0
print(*sorted({{name.partition(".")[0] for name in sys.modules}}))
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    imported = set(done.stdout.splitlines()[-1].split())
    assert imported >= {"numpy", "cv2", "onnxruntime", "fastcam_runtime"}
    assert not imported & WORKSTATION_ONLY


def test_a_reader_that_has_gone_is_no_error(tmp_path: Path) -> None:
    graft = save_graft(tmp_path / "graft.onnx")
    program = f"{shlex.quote(sys.executable)} -m fastcam_runtime.cli"
    command = f"{program} bench {graft} --rounds 3 | true; echo ${{PIPESTATUS[0]}}"
    done = subprocess.run(["bash", "-c", command], capture_output=True, text=True, timeout=60)
    assert "Traceback" not in done.stderr
    assert "Exception" not in done.stderr
    assert done.stdout == "0\n"


def test_ctrl_c_before_the_loop(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    from fastcam_runtime import cli_run

    def interrupt(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(cli_run, "Model", interrupt)
    assert cli.main(["run", "m.onnx", "test://", "null://"]) == 130
