"""The files and the table of `fastcam evaluate` where one of them cannot be written."""

from __future__ import annotations

import io
import json
import sys
from pathlib import Path

import pytest
from fastcam_export.cli import delivery
from fastcam_export.cli.progress import Progress
from fastcam_export.evaluate.report import page, table
from fastcam_runtime.cli.main import main
from support.networks import small_cnn
from support.tiny_grafts import save_graft


class Full(io.StringIO):
    """A stream of which nothing can be written, as that of a pipe whose reader has gone."""

    def __init__(self, error: type[OSError]) -> None:
        super().__init__()
        self._error = error

    def write(self, text: str) -> int:
        raise self._error(28, "No space left on device")


def _files(tmp_path: Path, photos: Path) -> tuple[list[str], Path, Path]:
    """The command line, and the files that it writes."""
    model, out, shown = save_graft(tmp_path / "model.onnx"), tmp_path / "out.json", tmp_path / "out.html"
    command = ["evaluate", str(model), str(photos), "--count", "1", "--no-sanity"]
    return [*command, "--json", str(out), "--html", str(shown)], out, shown


@pytest.mark.parametrize(("error", "code"), [(BrokenPipeError, 0), (OSError, 2)])
def test_a_closed_or_full_output_loses_no_file(
    tmp_path: Path, photos: Path, monkeypatch: pytest.MonkeyPatch, error: type[OSError], code: int
) -> None:
    command, out, shown = _files(tmp_path, photos)
    monkeypatch.setattr(sys, "stdout", Full(error))
    monkeypatch.setattr("fastcam_runtime.cli.main._drop_output", lambda: None)
    assert main(command) == code
    assert len(json.loads(out.read_text())["pictures"]) == 1
    assert "</html>" in shown.read_text()


@pytest.mark.parametrize("stream", [None, Full(OSError)])
def test_a_closed_or_full_standard_error_does_not_end_the_work(
    tmp_path: Path, photos: Path, monkeypatch: pytest.MonkeyPatch, stream: io.StringIO | None
) -> None:
    command, out, shown = _files(tmp_path, photos)
    monkeypatch.setattr(sys, "stderr", stream)
    assert main(command) == 0
    assert out.exists()
    assert shown.exists()


@pytest.mark.parametrize("broken", ["json", "html", "table"])
def test_a_failure_of_one_keeps_the_others(
    tmp_path: Path, photos: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str],
    broken: str,
) -> None:  # fmt: skip
    command, out, shown = _files(tmp_path, photos)

    def fail(*_: object) -> None:
        raise OSError(28, "No space left on device")

    places = {"json": (delivery, "write_json"), "html": (page, "html"), "table": (table, "text")}
    module, name = places[broken]
    monkeypatch.setattr(module, name, fail)
    assert main(command) == 2
    assert (out.exists(), shown.exists()) == (broken != "json", broken != "html")
    captured = capsys.readouterr()
    assert ("Conclusions" in captured.out) == (broken != "table")
    assert "No space left on device" in captured.err


def test_progress_without_a_stream_is_silent() -> None:
    with Progress(None) as progress:
        progress.begin("pictures")
        progress.update(1, 2)


@pytest.mark.parametrize("closed", [False, True])
def test_json_to_standard_output_is_alone_there(
    tmp_path: Path, photos: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str],
    closed: bool,
) -> None:  # fmt: skip
    """The table goes to standard error; where that is closed, it does not go to standard output instead."""
    monkeypatch.chdir(tmp_path)
    model, shown = tmp_path / "plain.onnx", tmp_path / "out.html"
    model.write_bytes(small_cnn().SerializeToString())
    if closed:
        monkeypatch.setattr(sys, "stderr", None)
    command = ["evaluate", str(model), str(photos), "--count", "1", "--no-sanity", "--json", "-"]
    assert main([*command, "--html", str(shown)]) == 0
    captured = capsys.readouterr()
    assert len(json.loads(captured.out)["pictures"]) == 1
    assert ("Conclusions:" in captured.err) != closed
    assert shown.exists()
    assert not Path("-").exists()
