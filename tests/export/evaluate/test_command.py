"""The command `fastcam evaluate`."""

from __future__ import annotations

import json
import signal
import time
from pathlib import Path

import cv2
import numpy as np
import pytest
from fastcam_export.evaluate import evaluation
from fastcam_export.evaluate.controls import CONTROLS
from fastcam_export.evaluate.report import table
from fastcam_export.evaluate.results import Evaluation
from fastcam_export.save import interruption
from fastcam_runtime.cli.main import main
from support.networks import small_cnn
from support.processes import terminal_signals
from support.tiny_grafts import save_graft


def test_a_video_that_cannot_be_opened_is_refused_before_the_pictures(
    tmp_path: Path, photos: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    path = save_graft(tmp_path / "model.onnx")
    monkeypatch.setattr("fastcam_export.cli.evaluate.Subject", None)
    assert main(["evaluate", str(path), str(photos), "--video", str(tmp_path / "none.mp4")]) == 2
    assert "none.mp4" in capsys.readouterr().err


@pytest.mark.slow
def test_the_command_prints_a_table_and_writes_json_and_a_page(
    tmp_path: Path, photos: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = save_graft(tmp_path / "model.onnx")
    cv2.imwrite(
        str(photos / "0_mask.png"), (cv2.imread(str(photos / "0.png"))[..., 2] == 255) * np.uint8(255)
    )
    out, shown = tmp_path / "out.json", tmp_path / "out.html"
    command = ["evaluate", str(path), str(photos), "--boxes", str(photos), "--json", str(out)]
    assert main([*command, "--html", str(shown), "--no-sanity", "--video", "test://?frames=3"]) == 0
    printed = capsys.readouterr().out
    assert ": 4 pictures\n" in printed
    assert "Conclusions:" in printed
    assert "4 pictures are too few" in printed
    content = json.loads(out.read_text())
    assert set(content["summary"]) == {"saliency_map", "cam", "fastcam", *CONTROLS}
    assert len(content["pictures"]) == 4
    assert "pointing" in content["pictures"][0]["methods"]["cam"]
    assert "pointing" not in content["pictures"][1]["methods"]["cam"]
    assert content["flicker"]["saliency_map"]["frames"] == 3
    assert len(content["edges"]["cam"]["values"]) == 4
    assert len(content["pictures"][0]["curves"]["insertion_blur"]["cam"]) == 6
    text = shown.read_text()
    assert "http-equiv" not in text
    assert 'src="http' not in text
    assert text.count("data:image/jpeg;base64,") == 8


@pytest.mark.slow
def test_a_plain_network_is_grafted_first(
    tmp_path: Path, photos: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "model.onnx"
    path.write_bytes(small_cnn().SerializeToString())
    assert main(["evaluate", str(path), str(photos), "--count", "2", "--no-sanity"]) == 0
    assert ": 2 pictures\n" in capsys.readouterr().out
    assert sorted(p.name for p in tmp_path.iterdir()) == ["model.onnx", "photos"]


@pytest.mark.slow
def test_control_c_prints_what_is_done_so_far(
    tmp_path: Path, photos: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    path = save_graft(tmp_path / "model.onnx")
    read = evaluation.read_picture

    def stop_at_the_third(picture: Path) -> object:
        if picture.stem == "2":
            raise KeyboardInterrupt
        return read(picture)

    monkeypatch.setattr(evaluation, "read_picture", stop_at_the_third)
    out = tmp_path / "out.json"
    assert main(["evaluate", str(path), str(photos), "--json", str(out)]) == 130
    assert "2 of 4 pictures (stopped" in capsys.readouterr().out
    assert json.loads(out.read_text())["stopped"] is True


def test_after_control_c_the_table_may_take_its_time(
    tmp_path: Path, photos: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    path = save_graft(tmp_path / "model.onnx")
    read, text = evaluation.read_picture, table.text
    ends: list[int] = []

    def stop_at_the_third(picture: Path) -> object:
        if picture.stem == "2":
            signal.raise_signal(signal.SIGINT)
        return read(picture)

    def slow(found: Evaluation) -> str:
        time.sleep(5 * interruption._PATIENCE)
        return text(found)

    monkeypatch.setattr(interruption, "_PATIENCE", 0.1)
    monkeypatch.setattr(interruption, "end_at_once", ends.append)
    monkeypatch.setattr(evaluation, "read_picture", stop_at_the_third)
    monkeypatch.setattr(table, "text", slow)
    with terminal_signals():
        assert main(["evaluate", str(path), str(photos), "--no-sanity"]) == 130
    assert "2 of 4 pictures (stopped" in capsys.readouterr().out
    assert ends == []


def test_options_without_effect_are_refused(
    tmp_path: Path, photos: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A file that has its maps keeps them: also an option with its default value would change nothing."""
    path = save_graft(tmp_path / "model.onnx")
    given = [
        "--cam",
        "gradcam",
        "--statistic",
        "smoe",
        "--labels",
        "/nonexistent",
        "--paper",
        "--taps",
        "auto",
    ]
    assert main(["evaluate", str(path), str(photos), *given]) == 2
    (error,) = capsys.readouterr().err.splitlines()
    assert "has its maps already" in error
    assert "give the plain network" in error
    for option in given:
        assert not option.startswith("--") or option in error
    assert "--preprocess" not in error


def test_the_help_states_the_defaults(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(["evaluate", "--help"])
    printed = capsys.readouterr().out
    assert "default: smoe" in printed
    assert "%(default)s" not in printed


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (["nowhere/"], "nowhere/: no such folder of pictures"),
        (["{photos}", "--count", "0"], "--count 0: at least 1"),
        (["{photos}", "--seed", "-1"], "--seed -1: 0 or more"),
        (["{photos}", "--boxes", "{photos}/none.json"], "none.json: cannot be read"),
        (["{photos}", "--html", "{photos}/0.png"], "0.png: name a .html file for the report"),
        (["{photos}", "--json", "{photos}/new.txt"], "new.txt: name a .json file for the figures"),
        (["{photos}", "--html", "{photos}/new.json"], "new.json: name a .html file for the report"),
        (["{photos}/0.png", "{photos}/1.png", "--seed", "2"], "quotes, such as '{photos}/*.png'"),
    ],
)
def test_mistakes_are_told_in_one_line(
    tmp_path: Path, photos: Path, arguments: list[str], complaint: str, capsys: pytest.CaptureFixture[str]
) -> None:
    path = save_graft(tmp_path / "model.onnx")
    given = [argument.format(photos=photos) for argument in arguments]
    assert main(["evaluate", str(path), *given]) == 2
    error = capsys.readouterr().err.strip().splitlines()[-1]
    assert complaint.format(photos=photos) in error


def test_a_mask_is_a_picture_unless_there_are_boxes(
    tmp_path: Path, photos: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = save_graft(tmp_path / "model.onnx")
    mask = np.zeros((64, 96), np.uint8)
    mask[10:30, 20:60] = 255
    cv2.imwrite(str(photos / "0_mask.png"), mask)
    command = ["evaluate", str(path), str(photos), "--no-sanity"]
    assert main(command) == 0
    assert "model.onnx: 5 pictures" in capsys.readouterr().out
    assert main([*command, "--boxes", str(photos)]) == 0
    assert "model.onnx: 4 pictures" in capsys.readouterr().out


def test_an_unreadable_picture_is_told_once(
    tmp_path: Path, photos: Path, capfd: pytest.CaptureFixture[str], caplog: pytest.LogCaptureFixture
) -> None:
    path = save_graft(tmp_path / "model.onnx")
    (photos / "damaged.png").write_text("no picture")
    assert main(["evaluate", str(path), str(photos), "--no-sanity"]) == 0
    captured = capfd.readouterr()
    assert captured.out.count("damaged.png") == 1
    assert "damaged.png" not in captured.err
    assert caplog.records == []


def test_the_number_of_pictures_is_told_first(
    tmp_path: Path, photos: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = save_graft(tmp_path / "model.onnx")
    assert main(["evaluate", str(path), str(photos), "--no-sanity", "--count", "1"]) == 0
    assert capsys.readouterr().err.splitlines()[0] == "evaluating 1 picture"
