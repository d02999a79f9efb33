"""The whole evaluation on a file whose maps follow from the picture's colours, and the command."""

from __future__ import annotations

import json
import signal
import time
from pathlib import Path

import cv2
import fastcam_export
import numpy as np
import onnx
import onnxruntime
import pytest
from fastcam_export.evaluate import evaluation
from fastcam_export.evaluate.controls import CONTROLS
from fastcam_export.evaluate.evaluation import EvaluationRequest, begin, evaluate
from fastcam_export.evaluate.objects import Objects
from fastcam_export.evaluate.report import page, table
from fastcam_export.evaluate.results import Evaluation
from fastcam_export.evaluate.subject import Subject
from fastcam_export.save import interruption
from fastcam_runtime.cli.main import main
from fastcam_runtime.errors import ModelError
from support.networks import small_cnn
from support.processes import terminal_signals
from support.tiny_grafts import make_graft


@pytest.fixture
def photos(tmp_path: Path) -> Path:
    """Red squares on gray, at different places."""
    folder = tmp_path / "photos"
    folder.mkdir()
    for k in range(4):
        picture = np.full((64, 96, 3), 60, np.uint8)
        picture[8 + 8 * k : 24 + 8 * k, 10 + 16 * k : 34 + 16 * k, 2] = 255
        cv2.imwrite(str(folder / f"{k}.png"), picture)
    return folder


def _save(model: onnx.ModelProto, folder: Path) -> Path:
    path = folder / "model.onnx"
    path.write_bytes(model.SerializeToString())
    return path


def _evaluate(path: Path, photos: Path, **more: object) -> Evaluation:
    subject = Subject(path, threads=1)
    request = EvaluationRequest(sorted(photos.glob("*.png")), **more)  # type: ignore[arg-type]
    found = begin(subject, "model.onnx", request)
    evaluate(subject, request, found, path.parent, lambda *_: None)
    return found


def test_a_network_that_answers_yes_or_no_has_a_probability(tmp_path: Path) -> None:
    path = tmp_path / "model.onnx"
    fastcam_export.export(small_cnn(classes=1), path)
    subject = Subject(path, threads=1)
    tensors = list(np.random.default_rng(0).standard_normal((3, 3, 64, 64)).astype(np.float32))
    session = onnxruntime.InferenceSession(path, providers=["CPUExecutionProvider"])
    logits = np.array([session.run(["logits"], {"input": tensor[None]})[0][0, 0] for tensor in tensors])
    np.testing.assert_allclose(subject.probabilities(tensors)[:, 0], 1 / (1 + np.exp(-logits)), rtol=1e-6)


@pytest.mark.slow
@pytest.mark.parametrize("layout", ["NCHW", "NHWC"])
def test_a_map_of_what_the_network_counts_beats_all_controls(
    tmp_path: Path, photos: Path, layout: str
) -> None:
    path = _save(make_graft(layout=layout), tmp_path)
    found = _evaluate(path, photos, sanity=False)
    assert found.maps == ("saliency_map", "cam", "fastcam")
    assert [picture.label for picture in found.pictures] == ["red"] * 4
    for control in ("random", "blobs", "centre"):
        assert found.difference("score_mean", control).high < 0
        assert found.difference("score_blur", control).mean < 0


@pytest.mark.slow
def test_the_batch_of_a_file_does_not_change_its_figures(tmp_path: Path, photos: Path) -> None:
    results = []
    for batch in (1, 5, "N"):
        folder = tmp_path / str(batch)
        folder.mkdir()
        graft = fastcam_export.graft(small_cnn(f"float[{batch},3,64,64] input"), outputs="saliency_map,cam")
        found = _evaluate(_save(graft, folder), photos, sanity=False)
        results.append([found.mean(metric, "saliency_map").mean for metric in found.measured()])
    assert results[0] == pytest.approx(results[1], abs=1e-5)
    assert results[0] == pytest.approx(results[2], abs=1e-5)


@pytest.mark.slow
def test_a_real_graft_has_sanity_checks_and_class_dependence(tmp_path: Path, photos: Path) -> None:
    path = tmp_path / "plain.onnx"
    onnx.save(small_cnn(), path)
    assert main(["export", str(path), str(tmp_path / "g.onnx"), "--outputs", "saliency_map,cam"]) == 0
    found = _evaluate(tmp_path / "g.onnx", photos)
    assert list(found.sanity) == ["classifier", "last quarter", "last half", "all"]
    # A class map reads the classifier, the map without a class does not.
    assert found.sanity["classifier"]["saliency_map"] == pytest.approx([1.0] * 4, abs=1e-3)
    assert max(found.sanity["classifier"]["cam"]) < 0.999
    assert np.mean(found.sanity["all"]["saliency_map"]) < np.mean(found.sanity["last half"]["saliency_map"])
    assert found.class_dependence("saliency_map") is None
    assert found.class_dependence("cam") is not None
    assert not list(tmp_path.glob("shuffled*"))


def test_a_file_without_class_scores_or_maps_is_refused(tmp_path: Path, photos: Path) -> None:
    path = _save(make_graft(head="places", outputs=("saliency_map",)), tmp_path)
    with pytest.raises(ModelError, match="no class scores"):
        _evaluate(path, photos)
    with pytest.raises(ModelError, match="has none of saliency_map, cam, fastcam"):
        Subject(_save(make_graft(outputs=("lovi",)), tmp_path))


def test_a_video_that_cannot_be_opened_is_refused_before_the_pictures(
    tmp_path: Path, photos: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    path = _save(make_graft(), tmp_path)
    monkeypatch.setattr("fastcam_export.cli.evaluate.Subject", None)
    assert main(["evaluate", str(path), str(photos), "--video", str(tmp_path / "none.mp4")]) == 2
    assert "none.mp4" in capsys.readouterr().err


def test_boxes_of_other_pictures_are_told(tmp_path: Path, photos: Path) -> None:
    (tmp_path / "boxes.json").write_text(
        json.dumps({
            "images": [{"id": 1, "file_name": "other.png"}],
            "annotations": [{"image_id": 1, "bbox": [0, 0, 9, 9]}],
        })
    )  # fmt: skip
    path = _save(make_graft(), tmp_path)
    found = _evaluate(path, photos, objects=Objects(tmp_path / "boxes.json"), sanity=False)
    assert [note for note in found.notes if "no picture has objects" in note] == found.notes != []


def test_a_mask_of_another_size_is_told_and_does_not_end_the_measurement(
    tmp_path: Path, photos: Path
) -> None:
    masks = tmp_path / "masks"
    masks.mkdir()
    cv2.imwrite(str(masks / "0.png"), np.eye(9, dtype=np.uint8))
    found = _evaluate(_save(make_graft(), tmp_path), photos, objects=Objects(masks), sanity=False)
    assert len(found.pictures) == 4
    assert any("0.png: not a mask of 96×64" in note for note in found.notes)


@pytest.mark.slow
def test_the_command_prints_a_table_and_writes_json_and_a_page(
    tmp_path: Path, photos: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = _save(make_graft(), tmp_path)
    cv2.imwrite(
        str(photos / "0_mask.png"), (cv2.imread(str(photos / "0.png"))[..., 2] == 255) * np.uint8(255)
    )
    out, shown = tmp_path / "out.json", tmp_path / "out.html"
    command = ["evaluate", str(path), str(photos), "--boxes", str(photos), "--json", str(out)]
    assert main([*command, "--html", str(shown), "--no-sanity", "--video", "test://?frames=3"]) == 0
    printed = capsys.readouterr().out
    assert "4 of 4 pictures" in printed
    assert "Conclusions:" in printed
    assert "4 pictures are few" in printed
    content = json.loads(out.read_text())
    assert set(content["summary"]) == {"saliency_map", "cam", "fastcam", *CONTROLS}
    assert len(content["pictures"]) == 4
    assert "pointing" in content["pictures"][0]["methods"]["cam"]
    assert "pointing" not in content["pictures"][1]["methods"]["cam"]
    assert content["flicker"]["saliency_map"]["frames"] == 3
    text = shown.read_text()
    assert "http-equiv" not in text
    assert 'src="http' not in text
    assert text.count("data:image/jpeg;base64,") == 16


@pytest.mark.slow
def test_a_plain_network_is_grafted_first(
    tmp_path: Path, photos: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = _save(small_cnn(), tmp_path)
    assert main(["evaluate", str(path), str(photos), "--count", "2", "--no-sanity"]) == 0
    assert "2 of 2 pictures" in capsys.readouterr().out
    assert sorted(p.name for p in tmp_path.iterdir()) == ["model.onnx", "photos"]


@pytest.mark.slow
def test_control_c_prints_what_is_done_so_far(
    tmp_path: Path, photos: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    path = _save(make_graft(), tmp_path)
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
    path = _save(make_graft(), tmp_path)
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


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (["nowhere/"], "nowhere/: no such folder of pictures"),
        (["{photos}", "--count", "0"], "--count 0: at least 1"),
        (["{photos}", "--boxes", "{photos}/none.json"], "none.json: cannot be read"),
        (["{photos}", "--html", "{photos}/0.png"], "not an .html file"),
    ],
)
def test_mistakes_are_told_in_one_line(
    tmp_path: Path, photos: Path, arguments: list[str], complaint: str, capsys: pytest.CaptureFixture[str]
) -> None:
    path = _save(make_graft(), tmp_path)
    given = [argument.format(photos=photos) for argument in arguments]
    assert main(["evaluate", str(path), *given]) == 2
    error = capsys.readouterr().err.strip().splitlines()[-1]
    assert complaint in error


@pytest.mark.slow
def test_pictures_that_cannot_be_read_are_named_and_left_out(tmp_path: Path, photos: Path) -> None:
    (photos / "5.png").write_bytes(b"no picture")
    found = _evaluate(_save(make_graft(), tmp_path), photos, sanity=False)
    assert len(found.pictures) == 4
    assert "5.png" in table.text(found)
    assert "5.png" in page.html(found)
