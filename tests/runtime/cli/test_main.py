"""The command itself: help, dispatch, and imports."""

from __future__ import annotations

import json
import os
import shlex
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import cv2
import numpy as np
import pytest
from fastcam_runtime import installation, native
from fastcam_runtime.cli import main as cli
from fastcam_runtime.installation import requirement
from support.paths import ROOT
from support.processes import fastcam
from support.tiny_grafts import save_graft

WORKSTATION = ("onnx", "onnx_ir", "onnxscript", "torch")
WORKSTATION_ONLY = {*WORKSTATION, "fastcam_export"}


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
    first, second = capsys.readouterr().out.splitlines()
    assert first.startswith("fastcam ")
    assert second == native.status()


def test_version_says_that_kernels_are_missing(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(native, "_LIBRARY", tmp_path / "none.so")
    with pytest.raises(SystemExit):
        cli.main(["--version"])
    assert "no compiled kernels: none.so is missing" in capsys.readouterr().out


@pytest.mark.parametrize(
    "argv",
    [
        ["tune", "a", "--budget", "5%", "--frame-input", "64x64"],
        ["evaluate", "a", "b", "--frame-input", "64x64"],
        ["evaluate", "a", "b", "--map-output", "rgba"],
    ],
)
def test_options_whose_file_a_command_cannot_measure_are_unknown(
    argv: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert cli.main(argv) == 2
    assert f"{argv[-2]}: no such option; closest: " in capsys.readouterr().err


@pytest.mark.parametrize(
    "argv",
    [
        ["fly"],
        ["run"],
        ["bench"],
        ["bench", "m.onnx", "--threads", "x"],
        ["tune"],
        ["tune", "a", "b"],
    ],
)
def test_usage_errors_are_one_line(argv: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(argv) == 2
    printed = capsys.readouterr()
    assert printed.out == ""
    assert len(printed.err.splitlines()) == 1
    assert printed.err.endswith(" --help\n")


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("bench m.onnx --thread 2", "--thread: no such option; closest: --threads"),
        ("run m.onnx test:// null:// --veiw map", "--veiw: no such option; closest: --view"),
        ("run m.onnx --veiw=map", "--veiw: no such option; closest: --view"),
        ("run m.onnx test:// -view map", "-view: no such option; closest: --view"),
        ("run m.onnx test:// null:// --no-captions", "--no-captions: no such option; closest: --no-caption"),
        ("tune m.onnx --budgt 5%", "--budgt: no such option; closest: --budget"),
        ("export m.onnx --label labels.txt", "--label: no such option; closest: --labels"),
        ("inspect m.onnx --tap x", "--tap: no such option; closest: --taps"),
        ("demo --frame 3", "--frame: no such option; closest: --frames"),
        ("--verson", "--verson: no such option before a command; closest: --version"),
    ],
)
def test_a_mistyped_option(line: str, message: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(line.split()) == 2
    assert capsys.readouterr() == ("", f"fastcam: error: {message}\n")


def test_what_only_looks_like_a_mistyped_option(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """These are not options; they are refused only if their value is invalid."""
    monkeypatch.chdir(tmp_path)
    graft = str(save_graft(tmp_path / "graft.onnx"))
    save_graft(tmp_path / "--odd.onnx")
    assert cli.main(["run", graft, "test://", "null://", "--frames=1", "--class=0"]) == 0
    assert cli.main(["bench", "--rounds", "6", "--", "--odd.onnx"]) == 0
    capsys.readouterr()
    assert cli.main(["run", graft, "test://", "null://", "--class", "-1"]) == 2
    assert "no class -1" in capsys.readouterr().err
    assert cli.main(["run", graft, "test://", "null://", "--class", "--no such class"]) == 2
    assert "no class '--no such class'" in capsys.readouterr().err


def test_export_commands_are_passed_on_whole(monkeypatch: pytest.MonkeyPatch) -> None:
    import fastcam_export.cli.main

    passed = []
    monkeypatch.setattr(fastcam_export.cli.main, "main", lambda argv: passed.append(argv))
    assert cli.main(["export", "a.onnx", "--help"]) == 0
    assert passed == [["export", "a.onnx", "--help"]]


COMMANDS = ("run", "bench", "inspect", "web", "cache", "recover", "completion")
OF_EXPORTER = ("export", "check", "demo", "tune", "quantize", "evaluate")


def on_a_device(
    *commands: Sequence[str | Path], missing: Sequence[str] = WORKSTATION
) -> list[tuple[int, str, str]]:
    """The exit code, output and errors of each command in a process that cannot import these packages."""
    program = f"""
import io, json, sys
from contextlib import redirect_stderr, redirect_stdout
sys.modules.update(dict.fromkeys({list(missing)!r}))
from fastcam_runtime.cli.main import main
found = []
for argv in json.loads(sys.argv[1]):
    with redirect_stdout(io.StringIO()) as out, redirect_stderr(io.StringIO()) as errors:
        try:
            code = main(argv)
        except SystemExit as end:
            code = end.code
    found.append((code, out.getvalue(), errors.getvalue()))
print(json.dumps(found))
"""
    words = json.dumps([list(map(str, command)) for command in commands])
    done = subprocess.run([sys.executable, "-c", program, words], capture_output=True, text=True, timeout=60)
    assert (done.returncode, done.stderr) == (0, "")
    return [(code, out, errors) for code, out, errors in json.loads(done.stdout)]


@pytest.mark.slow
@pytest.mark.parametrize("missing", ["onnx", "onnx_ir"])
def test_a_device_without_the_exporter(missing: str) -> None:
    ((code, _, errors),) = on_a_device(("export", "a.onnx"), missing=[missing])
    assert code == 2
    assert errors == f"fastcam: error: export needs {missing}: pip install {requirement('export')}\n"


@pytest.mark.slow
def test_a_device_shows_the_help_of_every_command() -> None:
    commands = [*COMMANDS, *OF_EXPORTER]
    for command, (code, out, errors) in zip(
        commands, on_a_device(*((command, "--help") for command in commands)), strict=True
    ):
        assert (code or 0, errors) == (0, ""), command
        assert out.startswith(f"usage: fastcam {command} ")


@pytest.mark.slow
def test_a_device_tells_a_mistyped_option_of_the_exporter() -> None:
    ((_, _, errors),) = on_a_device(("export", "a.onnx", "--label", "x"))
    assert errors == "fastcam: error: --label: no such option; closest: --labels\n"


def test_the_words_of_options_are_those_of_the_functions() -> None:
    """The choices are in their own module, so that devices can show them without the exporter."""
    from fastcam_export import choices
    from fastcam_export.method import normalize, statistics

    assert tuple(statistics._BUILDERS) == choices.STATISTICS
    assert tuple(normalize._BUILDERS) == choices.NORMALIZATIONS


def test_the_hint_is_true_in_a_source_tree(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(installation, "_is_installed", lambda: True)
    assert requirement("export") == "'fastcam-edge[export]'"
    monkeypatch.setattr(installation, "_is_installed", lambda: False)
    monkeypatch.chdir("/")
    assert shlex.split(requirement("torch")) == ["-e", f"{ROOT}[torch]"]
    monkeypatch.chdir(ROOT)
    assert requirement("export") == "-e '.[export]'"
    project = (ROOT / "pyproject.toml").read_text()
    assert "\nexport = [" in project
    assert "\ntorch = [" in project


@pytest.mark.slow
def test_inspect_on_a_device_without_the_exporter(tmp_path: Path) -> None:
    """The content of a grafted file, or its damage, can be shown without onnx; scales cannot."""
    graft = save_graft(tmp_path / "graft.onnx")
    plain = save_graft(tmp_path / "plain.onnx", graft=False)
    ((code, out, errors),) = on_a_device(("inspect", graft))
    assert (code, errors) == (0, "")
    assert out.startswith(f"{graft} is grafted (format 1, plain operators)\nimage       image  3 channels")
    junk, short = tmp_path / "junk.onnx", tmp_path / "short.onnx"
    junk.write_bytes(b"GIF89a")
    short.write_bytes(plain.read_bytes()[:-100])
    needs_onnx = "inspect of a plain network needs onnx: pip install " + requirement("export")
    expected = {
        plain: needs_onnx,
        "torchvision:resnet18": needs_onnx,
        tmp_path / "none" / "m.onnx": f"{tmp_path}/none/m.onnx: no such file",
        f"{plain}x": f"{plain}x: no such file; closest: plain.onnx, junk.onnx, graft.onnx",
        tmp_path: f"{tmp_path} is a folder, not a model's file",
        junk: f"{junk}: not an ONNX model",
        short: f"{short}: not an ONNX model, or cut short",
    }
    found = on_a_device(*(("inspect", model) for model in expected), missing=["onnx"])
    assert found == [(2, "", f"fastcam: error: {message}\n") for message in expected.values()]


@pytest.mark.slow
def test_neither_onnx_nor_torch_is_imported(tmp_path: Path) -> None:
    graft = save_graft(tmp_path / "graft.onnx")
    program = f"""
import sys
from fastcam_runtime.cli.main import main
for argv in (["run", {str(graft)!r}, "test://", {str(tmp_path / "o.mp4")!r}, "--frames", "5", "--every", "2"],
             ["bench", {str(graft)!r}, "--rounds", "6"],
             ["inspect", {str(graft)!r}]):
    assert main(argv) == 0
print(*sorted({{name.partition(".")[0] for name in sys.modules}}))
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    imported = set(done.stdout.splitlines()[-1].split())
    assert imported >= {"numpy", "cv2", "onnxruntime", "fastcam_runtime"}
    assert not imported & WORKSTATION_ONLY


@pytest.mark.slow
@pytest.mark.parametrize("package", ["fastcam_runtime", "fastcam_export"])
def test_the_packages_can_be_run(package: str) -> None:
    done = subprocess.run([sys.executable, "-m", package, "--version"], capture_output=True, text=True)
    assert done.stdout.startswith("fastcam ")


@pytest.mark.slow
def test_a_reader_that_has_gone_is_no_error(tmp_path: Path) -> None:
    graft = save_graft(tmp_path / "graft.onnx")
    program = f"{shlex.quote(sys.executable)} -m fastcam_runtime.cli.main"
    command = f"{program} bench {graft} --rounds 6 | true; echo ${{PIPESTATUS[0]}}"
    done = subprocess.run(["bash", "-c", command], capture_output=True, text=True, timeout=60)
    assert "Traceback" not in done.stderr
    assert "Exception" not in done.stderr
    assert done.stdout == "0\n"


def test_ctrl_c_before_the_loop(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    from fastcam_runtime.cli import run as cli_run

    def interrupt(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(cli_run, "Model", interrupt)
    assert cli.main(["run", "m.onnx", "test://", "null://"]) == 130


@pytest.mark.slow
def test_an_import_that_fails_is_one_line(tmp_path: Path) -> None:
    """For example OpenCV without a library of the system, or with too little memory."""
    (tmp_path / "cv2.py").write_text("raise ImportError('libGL.so.1: cannot open\\nshared object file')")
    environment = {"PYTHONPATH": f"{tmp_path}:{os.environ.get('PYTHONPATH', '')}"}
    with fastcam("--version", environment=environment) as process:
        out, errors = process.communicate(timeout=60)
    assert (process.returncode, out) == (2, "")
    assert errors == "fastcam: error: cannot start: ImportError: libGL.so.1: cannot open shared object file\n"


@pytest.mark.slow
def test_the_fault_handler_of_python_is_left_alone() -> None:
    with fastcam("cache", "list", environment={"PYTHONFAULTHANDLER": "1"}) as process:
        _, errors = process.communicate(timeout=60)
    assert (process.returncode, errors) == (0, "")


@pytest.mark.slow
def test_a_current_folder_that_was_removed(tmp_path: Path) -> None:
    model = save_graft(tmp_path / "model.onnx")
    program = "import os, sys; os.rmdir(os.getcwd()); from fastcam_runtime.cli.main import entry; entry()"
    (tmp_path / "gone").mkdir()
    done = subprocess.run(
        [sys.executable, "-c", program, "run", str(model), "test://?frames=1", "out.png"],
        cwd=tmp_path / "gone",
        capture_output=True,
        text=True,
    )
    assert done.returncode == 2
    assert done.stderr.splitlines()[-1] == "fastcam: error: the current folder: No such file or directory"


@pytest.mark.parametrize("value", ["relative", "/not\udcffUTF-8"])
def test_a_cache_folder_that_cannot_be_used(value: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", value)
    monkeypatch.setenv("HOME", "/home/somebody")
    expected = "/home/somebody/.cache" if value == "relative" else "/nonexistent"
    assert installation.user_cache("web") == Path(expected, "fastcam", "web")


@pytest.mark.slow
def test_the_exporters_commands_have_our_warnings_and_refuse_pictures_that_none_can_read(
    tmp_path: Path,
) -> None:
    model, folder = save_graft(tmp_path / "model.onnx"), tmp_path / "photos"
    folder.mkdir()
    photo = folder / "empty.jpg"
    photo.touch()
    with fastcam("evaluate", model, photo) as process:
        out, errors = process.communicate(timeout=60)
    assert (process.returncode, out) == (2, "")
    assert errors.splitlines()[-1] == f"fastcam: error: {photo}: no picture could be read"
    cv2.imwrite(str(folder / "readable.png"), np.zeros((32, 32, 3), np.uint8))
    with fastcam("evaluate", model, folder) as process:
        out, errors = process.communicate(timeout=60)
    assert process.returncode == 0
    assert f"note: {photo} is not a picture that can be read; left out" in out.splitlines()
    assert photo.name not in errors  # it is told once
